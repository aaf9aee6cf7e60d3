-- The panel's first screen.
begin;
\ir ../support/actors.sql
select plan(10);

select join_as('root');
select complete('root');
select join_as('ann', 'root');
select join_as('ben', 'root');
select complete('ann');
select complete('ben');
select pays('root', 1000);
select pays('ann', 250);
select pays('ben', 250);
select claims_deposit('ben', 500);
select act_as('root');
insert into public.withdrawals (id, user_id, amount, wallet_address)
values ('00000000-0000-4000-8000-000000000001', user_id('root'), 150, 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb');
select act_as('elin');
select public.decide_withdrawal('00000000-0000-4000-8000-000000000001', 'approve');
select act_as('root');
insert into public.withdrawals (user_id, amount, wallet_address) values (user_id('root'), 100, 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb');

-- Root earned 25.00 + 250.00, took 150.00, asks for 100.00; 1,500.00 came in.
select act_as('sam');
select is(
    (public.get_admin_overview() -> 'admin') - 'id', '{"email": "sam@admins.test", "full_name": "Sam", "role": "support_admin"}'::jsonb,
    'it says who is signed in, with the role as it is now'
);
select is(public.get_admin_overview() -> 'pending', '{"deposits": 1, "withdrawals": 1}'::jsonb, 'what waits');
select is(
    (public.get_admin_overview() #>> '{oldest_pending,deposit,username}') || ' '
    || (public.get_admin_overview() #>> '{oldest_pending,withdrawal,amount}'), 'ben 100.00', 'and for whom longest'
);
select is(public.get_admin_overview() ->> 'net_cash_flow', '1350.00', 'deposits less withdrawals');
select is(
    public.get_admin_overview() -> 'coverage',
    '{"approved_cash_in": "1500.00", "approved_withdrawals": "150.00", "withdrawable": "25.00", "pending": "100.00", "ratio": "1080.00"}'::jsonb,
    'what came in and stayed, against what members could ask for plus what they asked for'
);
select is(
    (public.get_admin_overview() #> '{flows,89}') - 'day', '{"deposits": "1500.00", "withdrawals": "150.00"}'::jsonb, 'today''s flows'
);
select is(jsonb_array_length(public.get_admin_overview() -> 'flows'), 90, 'of ninety days');
select is(jsonb_array_length(public.get_admin_overview() -> 'recent'), 6, 'the newest movements');
select act_as('ann');
select throws_ok($$ select public.get_admin_overview() $$, '42501', null, 'a member is refused');
select act_as('anonymous');
select throws_ok($$ select public.get_admin_overview() $$, '42501', null, 'a visitor is refused');

select * from finish();
rollback;
