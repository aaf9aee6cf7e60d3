begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
create temporary table kept as select
    edge.subscribe_bot(user_id('freya'), '11111111-1111-4111-8111-111111111111', 'Scout', 'Demo-Server', '1001', 12, 'k1', '\x0102') as answer;

-- Freya subscribed.
select is((select answer #>> '{subscription,status}' from kept), 'active', 'a subscription is active at once');
select is((select answer -> 'subscription' ? 'secret' from kept), false, 'and answers no secret');
select is((select secret from private.bot_secrets where subscription_id = '11111111-1111-4111-8111-111111111111'), '\x0102'::bytea, 'the sealed password is kept as it came');
select is((select title from private.admin_notices order by created_at desc limit 1), 'Scout: new subscription', 'the administrators are told');
select is((select action from private.audit_log order by seq desc limit 1), 'bot.subscribed', 'it is audited');
select refuses(
    $$ select edge.subscribe_bot(user_id('freya'), gen_random_uuid(), 'Scout', 's', 'l', 1, 'k1', '\x00') $$,
    409, 'already_subscribed', 'You are already subscribed to Scout.', 'twice is refused'
);
select is((select count(*) from public.bot_subscriptions where user_id = user_id('freya')), 1::bigint, 'and leaves one');
select refuses(
    $$ select edge.subscribe_bot(gen_random_uuid(), gen_random_uuid(), 'Scout', 's', 'l', 1, 'k1', '\x00') $$,
    403, 'profile_not_found', 'Complete your profile first.', 'nobody without a profile subscribes'
);

-- Only the role of the functions comes in here.
select act_as('freya');
select throws_ok(
    format($$ select edge.unsubscribe_bot(%L, 'Scout') $$, user_id('freya')), '42501', null, 'a member cannot call the doors directly'
);
select act_as('olga');
select throws_ok(
    $$ select edge.sealed_mt5_password(auth.uid(), '11111111-1111-4111-8111-111111111111') $$, '42501', null, 'nor can an administrator'
);
select act_as_owner();

-- Who may have a password opened.
select is(
    (select s.key_id from edge.sealed_mt5_password(user_id('elin'), '11111111-1111-4111-8111-111111111111') as s), 'k1', 'finance may'
);
select is((select action from private.audit_log order by seq desc limit 1), 'bot.password_revealed', 'each look is audited');
select refuses(
    $$ select edge.sealed_mt5_password(user_id('sam'), '11111111-1111-4111-8111-111111111111') $$,
    403, 'forbidden', 'Only finance and super administrators can see MT5 passwords.', 'support may not'
);
select refuses($$ select edge.sealed_mt5_password(user_id('elin'), gen_random_uuid()) $$, 404, 'not_found', 'This subscription keeps no password any more.', 'an unknown one is unknown');

-- Sam suspends and reactivates.
select act_as('sam');
select is(
    update_subscription('11111111-1111-4111-8111-111111111111', 'suspended', 'Wrong server') #>> '{subscription,status}', 'suspended',
    'any administrator suspends'
);
select refuses(
    $$ select update_subscription('11111111-1111-4111-8111-111111111111', 'active', '  ') $$, 400, 'reason_required', 'Give a reason.', 'with a reason'
);
select refuses(
    $$ select update_subscription('11111111-1111-4111-8111-111111111111', 'cancelled', 'x') $$, 400, 'invalid_input', 'A subscription can be made active or suspended.', 'cancelling is the member''s'
);
select refuses($$ select update_subscription(gen_random_uuid(), 'active', 'x') $$, 404, 'not_found', 'There is no running subscription like this.', 'an unknown one is unknown');
select act_as_owner();
select is((select body from public.notifications where user_id = user_id('freya') and kind = 'bot_suspended'), 'Wrong server', 'the member reads why');

-- Freya ends it.
select is(edge.unsubscribe_bot(user_id('freya'), 'Scout') #>> '{subscription,status}', 'cancelled', 'unsubscribing cancels, also what is suspended');
select is_empty($$ select 1 from private.bot_secrets where subscription_id = '11111111-1111-4111-8111-111111111111' $$, 'and erases the password');
select is((select mt5_password_length from public.bot_subscriptions where user_id = user_id('freya')), null, 'with its length');
select refuses(
    $$ select edge.unsubscribe_bot(user_id('freya'), 'Scout') $$, 404, 'not_subscribed', 'You are not subscribed to Scout.', 'once'
);
select lives_ok(
    $$ select edge.subscribe_bot(user_id('freya'), gen_random_uuid(), 'Scout', 's', 'l', 1, 'k1', '\x00') $$, 'and may subscribe again'
);

select audited(a, 'what happens to a subscription') from unnest(array['bot.unsubscribed', 'bot.status_changed']) as a;
select ok(exists (select 1 from private.admin_notices where kind = 'bot_unsubscribed' and title = 'Scout: subscription ended'), 'the administrators are told of the end');
select refuses(
    $$ select edge.sealed_mt5_password(gen_random_uuid(), '11111111-1111-4111-8111-111111111111') $$,
    403, 'forbidden', 'Only finance and super administrators can see MT5 passwords.', 'nor may who is no administrator'
);
select * from finish();
rollback;
