-- Bot subscriptions without their passwords.
begin;
\ir ../support/actors.sql
select * from no_plan();

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
    (public.list_subscriptions() #> '{items,0}') - array['id', 'user_id', 'subscribed_at', 'updated_at'],
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
select throws_ok($$ select public.list_subscriptions() $$, '42501', null, 'a member is refused');
select act_as('anonymous');
select throws_ok($$ select public.list_subscriptions() $$, '42501', null, 'a visitor is refused');

select act_as('sam');
select refuses($$ select public.list_subscriptions('{"status": "lost"}') $$, 400, 'invalid_filter', 'There is no such status.', 'a status is one of ours');
select * from finish();
rollback;
