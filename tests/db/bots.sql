-- Bot subscriptions and their encrypted passwords: who subscribes, who sees what, who may have a password opened.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Rights
-- =====================================================================================================================
insert into public.bot_subscriptions (user_id, bot_name, mt5_server, mt5_login, mt5_password_length) values (user_id('freya'), 'Scout', 'srv', '1001', 12);
insert into public.bot_subscriptions (user_id, bot_name, status, mt5_server, mt5_login) values (user_id('freya'), 'Ranger', 'cancelled', 'srv', '1001');

select act_as('freya');
select is((select bot_name from get_user_bot_subscriptions(auth.uid())), 'Scout', 'a member sees the running subscriptions');
select is_empty(format('select * from get_user_bot_subscriptions(%L)', user_id('ask')), 'another member''s id returns nothing');
select throws_ok($$ insert into bot_subscriptions (user_id, bot_name, mt5_server, mt5_login) values (auth.uid(), 'Sentinel', 's', 'l') $$, '42501', null, 'subscribing goes through the function');
select throws_ok($$ select * from private.bot_secrets $$, '42501', null, 'no API role reads a secret');
select act_as('ask');
select is_empty($$ select 1 from bot_subscriptions $$, 'a member does not see another''s');
select is_empty(format('select * from get_user_bot_subscriptions(%L)', user_id('freya')), 'not even by the function');
select act_as('anonymous');
select throws_ok($$ select 1 from bot_subscriptions $$, '42501', null, 'an anonymous client has no table');
select throws_ok(format('select * from get_user_bot_subscriptions(%L)', user_id('freya')), '42501', null, 'and no function');
select act_as('sam');
select is((select count(*) from bot_subscriptions where user_id = user_id('freya')), 2::bigint, 'an administrator sees the list');
select act_as_owner();
select throws_ok($$ insert into public.bot_subscriptions (user_id, bot_name, mt5_server, mt5_login) select user_id, bot_name, 's', 'l' from public.bot_subscriptions where status = 'active' limit 1 $$,
    '23505', null, 'one running subscription per member and bot');
select throws_ok($$ insert into public.bot_subscriptions (user_id, bot_name, mt5_server, mt5_login) values (user_id('ask'), 'Crawler', 's', 'l') $$, '23514', null, 'there are three bots');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Subscribing, opening a password, suspending, ending
-- =====================================================================================================================
create temporary table stored as select
    edge.subscribe_bot(user_id('freya'), '11111111-1111-4111-8111-111111111111', 'Scout', 'Demo-Server', '1001', 12, 'k1', '\x0102') as response;

-- Freya subscribed.
select is((select response #>> '{subscription,status}' from stored), 'active', 'a subscription is active at once');
select is((select response -> 'subscription' ? 'secret' from stored), false, 'and returns no secret');
select is((select secret from private.bot_secrets where subscription_id = '11111111-1111-4111-8111-111111111111'), '\x0102'::bytea, 'the encrypted password is kept as it came');
select is((select title from private.admin_notices order by created_at desc limit 1), 'Scout: new subscription', 'the administrators are notified');
select is((select action from private.audit_log order by id desc limit 1), 'bot.subscribed', 'it is audited');
select raises(
    $$ select edge.subscribe_bot(user_id('freya'), gen_random_uuid(), 'Scout', 's', 'l', 1, 'k1', '\x00') $$,
    409, 'already_subscribed', 'You are already subscribed to Scout.', 'twice is rejected'
);
select is((select count(*) from public.bot_subscriptions where user_id = user_id('freya')), 1::bigint, 'and leaves one');
select raises(
    $$ select edge.subscribe_bot(gen_random_uuid(), gen_random_uuid(), 'Scout', 's', 'l', 1, 'k1', '\x00') $$,
    403, 'profile_not_found', 'Complete your profile first.', 'an account without a profile cannot subscribe'
);

-- Only the role of the functions comes in here.
select act_as('freya');
select throws_ok(
    format($$ select edge.unsubscribe_bot(%L, 'Scout') $$, user_id('freya')), '42501', null, 'a member cannot call the endpoints directly'
);
select act_as('olga');
select throws_ok(
    $$ select edge.encrypted_mt5_password(auth.uid(), '11111111-1111-4111-8111-111111111111') $$, '42501', null, 'nor can an administrator'
);
select act_as_owner();

-- Who may have a password opened.
select is(
    (select s.key_id from edge.encrypted_mt5_password(user_id('elin'), '11111111-1111-4111-8111-111111111111') as s), 'k1', 'finance may'
);
select is((select action from private.audit_log order by id desc limit 1), 'bot.password_revealed', 'each look is audited');
select raises(
    $$ select edge.encrypted_mt5_password(user_id('sam'), '11111111-1111-4111-8111-111111111111') $$,
    403, 'forbidden', 'Only finance and super administrators can see MT5 passwords.', 'support may not'
);
select raises($$ select edge.encrypted_mt5_password(user_id('elin'), gen_random_uuid()) $$, 404, 'not_found', 'This subscription keeps no password any more.', 'an unknown one is unknown');

-- Sam suspends and reactivates.
select act_as('sam');
select is(
    update_subscription('11111111-1111-4111-8111-111111111111', 'suspended', 'Wrong server') #>> '{subscription,status}', 'suspended',
    'any administrator suspends'
);
select raises(
    $$ select update_subscription('11111111-1111-4111-8111-111111111111', 'active', '  ') $$, 400, 'reason_required', 'Give a reason.', 'with a reason'
);
select raises(
    $$ select update_subscription('11111111-1111-4111-8111-111111111111', 'cancelled', 'x') $$, 400, 'invalid_input', 'A subscription can be made active or suspended.', 'cancelling is the member''s'
);
select raises($$ select update_subscription(gen_random_uuid(), 'active', 'x') $$, 404, 'not_found', 'There is no running subscription like this.', 'an unknown one is unknown');
select act_as_owner();
select is((select body from public.notifications where user_id = user_id('freya') and kind = 'bot_suspended'), 'Wrong server', 'the member reads why');

-- Freya ends it.
select is(edge.unsubscribe_bot(user_id('freya'), 'Scout') #>> '{subscription,status}', 'cancelled', 'unsubscribing cancels, also what is suspended');
select is_empty($$ select 1 from private.bot_secrets where subscription_id = '11111111-1111-4111-8111-111111111111' $$, 'and erases the password');
select is((select mt5_password_length from public.bot_subscriptions where user_id = user_id('freya')), null, 'with its length');
select raises(
    $$ select edge.unsubscribe_bot(user_id('freya'), 'Scout') $$, 404, 'not_subscribed', 'You are not subscribed to Scout.', 'once'
);
select lives_ok(
    $$ select edge.subscribe_bot(user_id('freya'), gen_random_uuid(), 'Scout', 's', 'l', 1, 'k1', '\x00') $$, 'and may subscribe again'
);

select audited(a, 'what happens to a subscription') from unnest(array['bot.unsubscribed', 'bot.status_changed']) as a;
select ok(exists (select 1 from private.admin_notices where kind = 'bot_unsubscribed' and title = 'Scout: subscription ended'), 'the administrators are notified of the end');
select raises(
    $$ select edge.encrypted_mt5_password(gen_random_uuid(), '11111111-1111-4111-8111-111111111111') $$,
    403, 'forbidden', 'Only finance and super administrators can see MT5 passwords.', 'nor may who is no administrator'
);
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The administrators' list, without passwords
-- =====================================================================================================================
select join_as('root');
select join_as('ann', 'root');
insert into public.bot_subscriptions (user_id, bot_name, mt5_server, mt5_login, mt5_password_length, subscribed_at)
values
(user_id('root'), 'Scout', 'Harbor-Live', '1001', 8, now() - interval '1 day'),
(user_id('ann'), 'Ranger', 'Harbor-Demo', '1002', 12, now());
update public.bot_subscriptions set status = 'suspended' where user_id = user_id('root');

create function pg_temp.names(p_list jsonb) returns text language sql as $$
    select string_agg((i.item ->> 'username') || ' ' || (i.item ->> 'bot_name'), ', ' order by i.place)
    from jsonb_array_elements(p_list -> 'items') with ordinality as i (item, place)
$$;
grant execute on function pg_temp.names(jsonb) to public;

select act_as('sam');
select is(pg_temp.names(public.list_subscriptions()), 'ann Ranger, root Scout', 'newest first');
select is(public.list_subscriptions() -> 'counts', '{"active": 1, "suspended": 1, "cancelled": 0}'::jsonb, 'counted by status');
select is(
    (public.list_subscriptions() #> '{items,0}') - array['id', 'user_id', 'profile_id', 'subscribed_at', 'updated_at'],
    '{
        "username": "ann", "email": "ann@people.test", "display_name": "Ann", "bot_name": "Ranger", "status": "active",
        "mt5_server": "Harbor-Demo", "mt5_login": "1002", "mt5_password_length": 12
    }'::jsonb,
    'with the length of the password only'
);
select is(pg_temp.names(public.list_subscriptions('{"search": "scout"}')), 'root Scout', 'searched by bot');
select is(pg_temp.names(public.list_subscriptions('{"search": "harbor-demo"}')), 'ann Ranger', 'by server');
select is(pg_temp.names(public.list_subscriptions('{"status": "suspended"}')), 'root Scout', 'filtered by status');
select act_as('ann');
select throws_ok($$ select public.list_subscriptions() $$, '42501', null, 'a member is rejected');
select act_as('anonymous');
select throws_ok($$ select public.list_subscriptions() $$, '42501', null, 'an anonymous client is rejected');

select act_as('sam');
select raises($$ select public.list_subscriptions('{"status": "lost"}') $$, 400, 'invalid_filter', 'There is no such status.', 'a status is one of ours');
select * from finish();
rollback;
