begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
insert into public.bot_subscriptions (user_id, bot_name, mt5_server, mt5_login, mt5_password_length) values (user_id('freya'), 'Scout', 'srv', '1001', 12);
insert into public.bot_subscriptions (user_id, bot_name, status, mt5_server, mt5_login) values (user_id('freya'), 'Ranger', 'cancelled', 'srv', '1001');

select act_as('freya');
select is((select bot_name from get_user_bot_subscriptions(auth.uid())), 'Scout', 'a member sees the running subscriptions');
select is_empty(format('select * from get_user_bot_subscriptions(%L)', user_id('ask')), 'another member''s id answers nothing');
select throws_ok($$ insert into bot_subscriptions (user_id, bot_name, mt5_server, mt5_login) values (auth.uid(), 'Sentinel', 's', 'l') $$, '42501', null, 'subscribing goes through the function');
select throws_ok($$ select * from private.bot_secrets $$, '42501', null, 'no API role reads a secret');
select act_as('ask');
select is_empty($$ select 1 from bot_subscriptions $$, 'nobody sees another''s');
select is_empty(format('select * from get_user_bot_subscriptions(%L)', user_id('freya')), 'not even by the function');
select act_as('anonymous');
select throws_ok($$ select 1 from bot_subscriptions $$, '42501', null, 'a visitor has no table');
select throws_ok(format('select * from get_user_bot_subscriptions(%L)', user_id('freya')), '42501', null, 'and no function');
select act_as('sam');
select is((select count(*) from bot_subscriptions where user_id = user_id('freya')), 2::bigint, 'an administrator sees the list');
select act_as_owner();
select throws_ok($$ insert into public.bot_subscriptions (user_id, bot_name, mt5_server, mt5_login) select user_id, bot_name, 's', 'l' from public.bot_subscriptions where status = 'active' limit 1 $$,
    '23505', null, 'one running subscription per member and bot');
select throws_ok($$ insert into public.bot_subscriptions (user_id, bot_name, mt5_server, mt5_login) values (user_id('ask'), 'Crawler', 's', 'l') $$, '23514', null, 'there are three bots');
select * from finish();
rollback;
