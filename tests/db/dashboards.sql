-- The first screens: a member's figures to the cent, and what administrators see first.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Who reads the totals
-- =====================================================================================================================
select act_as('anonymous');
select throws_ok('select * from get_admin_dashboard_stats()', '42501', null, 'an anonymous client reads no figures');
select act_as('sam');
select is((select total_users - active_users from get_admin_dashboard_stats()), (select inactive_users from get_admin_dashboard_stats()), 'any administrator reads the totals');
select act_as_owner();
create temporary table before as select value + 250 as value from private.counter_values() where name = 'package_investment';
grant select on before to public;
select pays('freya', 250);
select act_as('sam');
select is((select total_package_investment from get_admin_dashboard_stats()), (select value from before), 'which follow what happens');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- An account without a member
-- =====================================================================================================================
select set_config('request.jwt.claims', json_build_object('sub', gen_random_uuid(), 'role', 'authenticated')::text, true);
set local role authenticated;
select raises('select public.get_member_dashboard()', 404, 'profile_not_found', 'Failed to load profile data', 'an account without a member has no dashboard');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A member's figures
-- =====================================================================================================================
-- An example of the formulas (specification S6, S18): Mara's children pay 500, 250 (pair 1), 50 and nothing (pair 2),
-- 100, 100 (pair 3) and 50; the two children of Erik pay 100 each.
select join_as('root');
select join_as('mara', 'root');
select complete('mara');
select pays('mara', 500);
select join_as(name, 'mara') from unnest(array['erik', 'lena', 'priya', 'ben', 'tomas', 'aiko', 'gustav']) as name;
select join_as(name, 'erik') from unnest(array['marta', 'hugo']) as name;
select complete(name) from unnest(array['erik', 'lena', 'priya', 'tomas', 'aiko', 'gustav', 'marta', 'hugo']) as name;
select pays('erik', 500);
select pays('lena', 250);
select pays('priya', 50);
select pays('tomas', 100);
select pays('aiko', 100);
select pays('gustav', 50);
select pays('marta', 100);
select pays('hugo', 100);
select act_as('mara');
insert into public.withdrawals (id, user_id, amount, wallet_address)
values ('00000000-0000-4000-8000-000000000001', user_id('mara'), 150, wallets.of('mara'));
select act_as('elin');
select public.decide_withdrawal('00000000-0000-4000-8000-000000000001', 'approve');
select act_as('mara');
insert into public.withdrawals (user_id, amount, wallet_address) values (user_id('mara'), 100, wallets.of('mara'));

select is(
    public.get_member_dashboard() -> 'bonuses',
    '{
        "referral": {"amount": "52.50", "reentry": "5.25", "count": 6},
        "pairing": {"amount": "380.00", "reentry": "38.00", "count": 2},
        "override": {"amount": "2.00", "reentry": "0.20", "count": 1},
        "total": "434.50", "reentry": "43.45"
    }'::jsonb,
    '5% of each package, 40% of the paying pairs, 1% of a child''s pair, and 10% of each that re-enters'
);
select is(
    public.get_member_dashboard() -> 'balance',
    '{"available": "284.50", "reserved": "100.00", "requestable": "184.50", "approved_withdrawals": "150.00", "hold_until": null}'::jsonb,
    'the balance is bonuses less approved withdrawals; what is pending is reserved beside it'
);
select is(
    public.get_member_dashboard() -> 'team',
    '{
        "direct_referrals": 7, "funded_referrals": 6, "active_pairs": 3, "paying_pairs": 2,
        "package_rate": "40.00", "total_team_volume": "1050.00"
    }'::jsonb,
    'seven referrals make three pairs; the one with an unfunded member does not pay'
);
select is(public.get_member_dashboard() ->> 'roi', '-13.10', 'ROI is negative while the package is not earned back');
select is(public.get_member_dashboard() ->> 'net_profit', '-65.50', 'and so is the net profit');
select is(jsonb_array_length(public.get_member_dashboard() -> 'latest'), 5, 'the latest five movements');
select claims_deposit('mara', 1000);
select act_as('mara');
select is(
    (
        select jsonb_agg(r - array['id', 'created_at'] order by o)
        from jsonb_array_elements(public.get_member_dashboard() -> 'pending') with ordinality as e (r, o)
    ),
    '[{"source": "withdrawal", "amount": "100.00", "rest": null}, {"source": "deposit", "amount": "1000.00", "rest": null}]'::jsonb,
    'what waits for a decision, the oldest first, and nothing that was decided'
);
select is(
    (public.get_member_dashboard() -> 'profile') - array['id', 'user_id', 'created_at', 'sponsor'],
    '{
        "username": "mara", "display_name": "Mara", "email": "mara@people.test", "account_status": "active", "account_verified": true,
        "wallet_checksum_ok": true,
        "package_value": "500.00", "package_label": "Premium", "package_rate": "40.00", "cash_in_amount": "500.00"
    }'::jsonb || jsonb_build_object('trc20_wallet_address', wallets.of('mara')),
    'the own profile in full'
);
select is(public.get_member_dashboard() #>> '{profile,sponsor,username}', 'root', 'and the referrer by name');

-- Earnings over time.
select is(
    public.get_earnings('30d') -> 'totals',
    '{"referral": "52.50", "pairing": "380.00", "override": "2.00", "total": "434.50"}'::jsonb, 'the chart adds up to the bonuses'
);
select is(jsonb_array_length(public.get_earnings('30d') -> 'points'), 30, 'thirty days are thirty bars');
select is(public.get_earnings('90d') ->> 'bucket', 'week', 'ninety days are drawn by week');
select is(public.get_earnings('12m') #>> '{points,11,pairing}', '380.00', 'twelve months end with this one');
select is(jsonb_array_length(public.get_earnings('12m') -> 'points'), 12, 'and are twelve');
select is(jsonb_array_length(public.get_earnings('90d') -> 'points'), 13, 'ninety days are twelve whole weeks and the running one');
select is(
    (select (e ->> 'from') || ' ' || extract(isodow from (e ->> 'from')::date) || ' ' || (e #>> '{points,0,start}') from public.get_earnings('90d') as e),
    (select d.day || ' 1 ' || d.day from (select (date_trunc('week', now() at time zone 'UTC') - interval '84 days')::date as day) as d),
    'they begin on a Monday, and chart and caption say the same'
);
select is(
    (select (e ->> 'from') || ' ' || (e #>> '{points,0,start}') from public.get_earnings('12m') as e),
    (select d.day || ' ' || d.day from (select (date_trunc('month', now() at time zone 'UTC') - interval '11 months')::date as day) as d),
    'months begin on a first'
);
select is(public.get_earnings(r) -> 'previous', 'null'::jsonb, 'who has just joined has no period before to compare with: ' || r)
from unnest(array['30d', '90d', '12m', 'all']) as r;
select raises(
    $$ select public.get_earnings('1d') $$, 400, 'invalid_range', 'Choose 30 days, 90 days, 12 months or all.', 'other ranges are rejected'
);

-- Somebody without a package, and an anonymous client.
select act_as('ben');
select is(
    (public.get_member_dashboard() -> 'profile' ->> 'package_rate') || ' ' || (public.get_member_dashboard() ->> 'roi'),
    '0.00 0.00', 'without a package rate and ROI are 0'
);
select act_as('anonymous');
select throws_ok($$ select public.get_member_dashboard() $$, '42501', null, 'an anonymous client is rejected');

select act_as('mara');
select is(public.get_earnings('all') #>> '{totals,total}', '434.50', 'all of it');
select is(public.get_earnings('all') ->> 'bucket', 'day', 'in days while it is little');
select act_as_owner();

-- The period before has run as long.
select set_config('app.demo_clock', (now() - interval '400 days')::text, true);
select join_as('vera');
select join_as('otto', 'vera');
select join_as('nora', 'vera');
select complete(n) from unnest(array['vera', 'otto', 'nora']) as n;
select set_config('app.demo_clock', (now() - interval '45 days')::text, true);
select pays('otto', 100);
select set_config('app.demo_clock', '', true);
select pays('nora', 50);
select act_as('vera');
select is(
    public.get_earnings('30d') -> 'previous', jsonb_build_object(
        'from', (now() at time zone 'UTC')::date - 59, 'to', (now() at time zone 'UTC')::date - 30, 'total', '5.00'
    ), 'thirty days are compared with the thirty before'
);
select is(public.get_earnings('30d') #>> '{totals,total}', '2.50', 'which are not in the chart');
select is(
    (public.get_earnings('90d') #>> '{previous,to}')::date, (now() at time zone 'UTC')::date - 91, 'weeks with the thirteen before, up to the same weekday'
);
select is(
    (public.get_earnings('12m') #>> '{previous,to}')::date, null, 'a year before one has joined is no year to compare with'
);
select is(
    (public.get_team_growth('30d') -> 'previous') - array['from', 'to'],
    '{"members": 0, "funded": 1}'::jsonb, 'the team''s growth has its period before, too'
);
select is(public.get_team_growth('30d') -> 'joined', '{"members": 0, "funded": 1}'::jsonb, 'and counts its own days');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The administrators' first screen
-- =====================================================================================================================
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
values ('00000000-0000-4000-8000-000000000001', user_id('root'), 150, wallets.of('root'));
select act_as('elin');
select public.decide_withdrawal('00000000-0000-4000-8000-000000000001', 'approve');
select act_as('root');
insert into public.withdrawals (user_id, amount, wallet_address) values (user_id('root'), 100, wallets.of('root'));

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
select is(jsonb_array_length(public.get_admin_overview() -> 'recent'), 6, 'the newest movements');
select is(
    public.get_flows('30d') -> 'totals', '{"deposits": "1500.00", "withdrawals": "150.00", "net": "1350.00"}'::jsonb,
    'deposits and withdrawals over time are those that were approved'
);
select is(
    public.get_flows('30d') #> '{points,29}',
    jsonb_build_object('start', (now() at time zone 'UTC')::date, 'deposits', '1500.00', 'withdrawals', '150.00'), 'today last'
);
select is(
    (
        select string_agg(r || ' ' || (f ->> 'bucket') || ' ' || jsonb_array_length(f -> 'points') || ' ' || coalesce(f ->> 'previous', '-'), ', ')
        from unnest(array['30d', '90d', '12m', 'all']) as r, public.get_flows(r) as f
    ),
    '30d day 30 -, 90d week 13 -, 12m month 12 -, all day 1 -', 'by day, week or month, and no period to compare with on the first day'
);
select raises(
    $$ select public.get_flows('1d') $$, 400, 'invalid_range', 'Choose 30 days, 90 days, 12 months or all.', 'other ranges are rejected'
);
select act_as_owner();
select set_config('app.demo_clock', (now() - interval '400 days')::text, true);
select pays('freya', 50);
select set_config('app.demo_clock', (now() - interval '45 days')::text, true);
select pays('freya', 100);
select set_config('app.demo_clock', '', true);
select act_as('sam');
select is(
    public.get_flows('30d') -> 'previous', jsonb_build_object(
        'from', (now() at time zone 'UTC')::date - 59, 'to', (now() at time zone 'UTC')::date - 30, 'net', '100.00'
    ), 'thirty days are compared with the thirty before'
);
select is(
    public.get_flows(r) -> 'totals' ->> 'deposits', a, 'of the oldest day only where it is in the range: ' || r
)
from (values ('30d', '1500.00'), ('90d', '1600.00'), ('12m', '1600.00'), ('all', '1650.00')) as e (r, a);
select is(
    (select (f ->> 'bucket') || ' ' || (f ->> 'from') || ' ' || (f #>> '{points,0,deposits}') from public.get_flows('all') as f),
    'month ' || date_trunc('month', now() at time zone 'UTC' - interval '400 days')::date || ' 50.00', 'all begins with the month of the first'
);
select act_as('ann');
select throws_ok($$ select public.get_admin_overview() $$, '42501', null, 'a member is rejected');
select throws_ok($$ select public.get_flows('30d') $$, '42501', null, 'of the flows too');
select act_as('anonymous');
select throws_ok($$ select public.get_admin_overview() $$, '42501', null, 'an anonymous client is rejected');
select * from finish();
rollback;
