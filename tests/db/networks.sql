-- The sums and days that are kept of whole networks: rolled up level by level, and always what a walk of the tree says.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- The roll-up level by level: sums, order and locks as before, nothing left over
-- =====================================================================================================================
select join_as('deep1', 'ask'); select join_as('deep2', 'deep1'); select join_as('deep3', 'deep2');
select complete(n) from unnest(array['deep1', 'deep2', 'deep3']) as n;
select pays('deep3', 100); select pays('freya', 500); select pays('ask', 250); select pays('embla', 50);
create function pg_temp.walked() returns table (no integer, members bigint, package_cents bigint, earned numeric) language sql as $$
    select o.no, count(*), sum(b.package_cents)::bigint, sum(t.referral_amount + t.pairing_amount + t.override_amount)
    from private.positions as o
    cross join lateral private.network_positions(o.no) as n
    inner join private.positions as b on n.no = b.no
    inner join private.totals as t on b.user_id = t.user_id
    where o.no in (select actors.position_no(p.name) from actors.people as p)
    group by o.no
$$;
create function pg_temp.rolled_up() returns table (no integer, members bigint, package_cents bigint, earned numeric) language sql as $$
    select n.no, n.members::bigint, n.package_cents, n.referral + n.pairing + n.override
    from private.networks as n
    where n.no in (select actors.position_no(p.name) from actors.people as p)
$$;
create temporary table waiting as select count(*)::integer as rows from private.network_deltas;
select is(jobs.roll_up_networks(), (select rows from waiting), 'a roll-up takes all changes');
select set_eq('select * from pg_temp.rolled_up()', 'select * from pg_temp.walked()', 'every member has the sums of all below');
select is_empty('select 1 from private.network_rollup_staging', 'nothing is left on its way');
select is(jobs.roll_up_networks(), 0, 'a roll-up without changes takes none');
select pays('deep3', 1000); select pays('deep1', 50);
select cmp_ok(jobs.roll_up_networks(), '>', 0, 'later changes are carried');
select set_eq('select * from pg_temp.rolled_up()', 'select * from pg_temp.walked()', 'up to the root and down to members without referrals');
select throws_ok('set local role authenticated; select 1 from private.network_rollup_staging', '42501', null, 'no role reads the staging table');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The figures of a network (specification S18.4)
-- =====================================================================================================================
select join_as('root');
select join_as('mara', 'root');
select join_as('erik', 'mara');
select join_as('lena', 'mara');
select join_as('marta', 'erik');
select complete(name) from unnest(array['mara', 'erik', 'lena', 'marta']) as name;
select pays('mara', 500);
select pays('erik', 500);
select pays('lena', 250);
select pays('marta', 100);

-- Mara 37.50 + 300.00, Erik 5.00, of packages worth 1,350.00.
select act_as('mara');
select is(
    public.get_network_summary() - 'as_of',
    '{
        "member_count": 4, "team_count": 3, "total_packages": "1350.00", "total_referral": "42.50", "total_pairing": "300.00",
        "total_override": "0.00", "total_user": "342.50", "total_company_profit": "1007.50", "profit_percentage": "74.63"
    }'::jsonb,
    'company profit is packages less everything that members earned'
);
-- The sums are kept; rolling up changes nothing that is seen.
select act_as_owner();
create function pg_temp.summary(p_name text) returns jsonb language sql as $$
    select to_jsonb(s) - array['has_days', 'direct_cents', 'direct_funded'] from private.network_sums((select p from private.profiles as p where p.user_id = actors.user_id(p_name))) as s
$$;
create function pg_temp.walked(p_name text) returns jsonb language sql as $$
    select jsonb_build_object(
        'no', actors.position_no(p_name), 'members', count(*), 'package_cents', sum(o.package_cents),
        'referral', sum(t.referral_amount), 'pairing', sum(t.pairing_amount), 'override', sum(t.override_amount)
    )
    from private.network_positions(actors.position_no(p_name)) as n
    inner join private.positions as o on n.no = o.no
    inner join private.totals as t on o.user_id = t.user_id
$$;
select is(pg_temp.summary('root'), pg_temp.walked('root'), 'before a roll-up the changes are added up');
select ok(jobs.roll_up_networks() > 0, 'a roll-up takes them');
select is(pg_temp.summary('root'), pg_temp.walked('root'), 'after it the sums are the same');
select join_as('hugo', 'erik');
select complete('hugo');
select pays('hugo', 100);
select is(pg_temp.summary('mara'), pg_temp.walked('mara'), 'sums and later changes together, a pair below included');
select is(pg_temp.summary('lena'), pg_temp.walked('lena'), 'and nothing of what happens beside');

select act_as('mara');
select is(
    (public.get_team_growth('30d') #> '{points,29}') - 'start', '{"members": 4, "funded": 4}'::jsonb, 'the team as it is today'
);
select is((public.get_team_growth('30d') #> '{points,0}') - 'start', '{"members": 0, "funded": 0}'::jsonb, 'and as it was');
select act_as('marta');
select is(
    (public.get_network_summary() ->> 'total_company_profit') || ' ' || (public.get_network_summary() ->> 'profit_percentage'),
    '100.00 100.00', 'alone one earns nothing'
);
select raises($$ select public.get_team_growth('week') $$, 400, 'invalid_range', 'Choose 30 days, 90 days, 12 months or all.', 'ranges are known');
select act_as('anonymous');
select throws_ok($$ select public.get_network_summary() $$, '42501', null, 'an anonymous client is rejected');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Charts from kept days say what walking the network and adding up the journal say
-- =====================================================================================================================
select administrator('orm', 'super_admin');
select pays('ask', 500);
select pays('freya', 500);

create function pg_temp.grown(p_name text) returns setof text language sql as $$
    select format('%s %s %s', g.day, sum(g.members), sum(g.funded))
    from private.team_growth((select p from private.profiles as p where p.user_id = user_id(p_name)), position_no(p_name)) as g
    group by g.day having sum(g.members) <> 0 or sum(g.funded) <> 0 order by 1
$$;
create function pg_temp.walked(p_name text) returns setof text language sql as $$
    select format('%s %s %s', e.day, sum(e.members), sum(e.funded))
    from (
        select (p.created_at at time zone 'UTC')::date as day, 1 as members, 0 as funded
        from private.network_positions(position_no(p_name)) as n
        inner join private.positions as o on n.no = o.no inner join private.profiles as p on o.user_id = p.user_id where n.level > 0
        union all
        select (b.created_at at time zone 'UTC')::date, 0, 1
        from private.network_positions(position_no(p_name)) as n
        inner join public.bonuses as b on b.bonus_type = 'referral' and n.no = b.subject_no and b.amount > 0 where n.level > 0
    ) as e
    group by e.day order by 1
$$;
create function pg_temp.earned() returns setof text language sql as $$
    select format('%s %s %s %s %s', e.no, e.day, sum(e.referral)::numeric(14, 2), sum(e.pairing)::numeric(14, 2), sum(e.override)::numeric(14, 2))
    from (
        select no, day, referral, pairing, override from private.earning_days
        union all
        select no, day, referral, pairing, override from private.network_deltas
    ) as e
    group by e.no, e.day having (sum(e.referral), sum(e.pairing), sum(e.override)) <> (0, 0, 0) order by 1
$$;
create function pg_temp.journal() returns setof text language sql as $$
    select format(
        '%s %s %s %s %s', o.no, (t.created_at at time zone 'UTC')::date,
        coalesce(sum(t.amount) filter (where b.bonus_type = 'referral'), 0)::numeric(14, 2),
        coalesce(sum(t.amount) filter (where b.bonus_type = 'pairing'), 0)::numeric(14, 2),
        coalesce(sum(t.amount) filter (where b.bonus_type = 'override'), 0)::numeric(14, 2)
    )
    from public.transactions as t
    inner join public.bonuses as b on t.reference_id = b.id
    inner join private.positions as o on t.user_id = o.user_id
    where t.transaction_type = 'bonus'
    group by o.no, (t.created_at at time zone 'UTC')::date having sum(t.amount) <> 0 order by 1
$$;

-- A day that is not today, so that days can differ; a team whose sums are kept, and changes that no roll-up has seen.
select jobs.roll_up_networks();
set local app.demo_clock = '2020-05-05 23:59:59+00';
select join_as('sif', 'freya');
select complete('sif');
select pays('sif', 100);
set local app.demo_clock = '';

select is(private.backfill_team_days(array[position_no('freya')], 1), 1, 'the days of a team begin');
select is(private.backfill_team_days(array[position_no('freya')], 1), 0, 'once');
select results_eq($$ select * from pg_temp.grown('freya') $$, $$ select * from pg_temp.walked('freya') $$, 'before a roll-up they are what a walk finds');
select jobs.roll_up_networks();
select results_eq($$ select * from pg_temp.grown('freya') $$, $$ select * from pg_temp.walked('freya') $$, 'and after it');

-- A larger team above is made of the smaller one and of what is left.
select join_as('vali', 'ymir');
select is(private.backfill_team_days(array[position_no('ymir')], 1), 1, 'Ymir''s team begins with a member on the way');
select results_eq($$ select * from pg_temp.grown('ymir') $$, $$ select * from pg_temp.walked('ymir') $$, 'who is counted once');
select jobs.roll_up_networks();
select results_eq($$ select * from pg_temp.grown('ymir') $$, $$ select * from pg_temp.walked('ymir') $$, 'also when rolled up');

select pays('embla', 1000);
select pays('ask', 1000);
select join_as('magni', 'embla');
select complete('magni');
select pays('magni', 50);
select results_eq($$ select * from pg_temp.grown('freya') $$, $$ select * from pg_temp.walked('freya') $$, 'sign-ups and packages are there at once');
select results_eq($$ select * from pg_temp.grown('ymir') $$, $$ select * from pg_temp.walked('ymir') $$, 'for the whole upline');
select results_eq($$ select * from pg_temp.earned() $$, $$ select * from pg_temp.journal() $$, 'what was earned stands at its day, an upgrade''s increase at the upgrade''s');
select jobs.roll_up_networks();
select results_eq($$ select * from pg_temp.grown('ymir') $$, $$ select * from pg_temp.walked('ymir') $$, 'rolled up, nothing changes');
select results_eq($$ select * from pg_temp.earned() $$, $$ select * from pg_temp.journal() $$, 'of earnings neither');
select is((select count(*) from private.network_deltas), 0::bigint, 'and nothing is left to roll up');

-- A correction takes a member's package away.
select act_as('olga');
create temporary table proposed as
select (propose_correction('set_package', profile_id('magni'), 0, 'Returned.') #>> '{correction,id}')::uuid as id;
select act_as('orm');
select is(confirm_correction(id) ->> 'success', 'true', 'a correction') from proposed;
select act_as_owner();
select results_eq($$ select * from pg_temp.grown('ymir') $$, $$ select * from pg_temp.walked('ymir') $$, 'who lost the package is not funded on any day');
select results_eq($$ select * from pg_temp.earned() $$, $$ select * from pg_temp.journal() $$, 'and what was earned by it is taken back today');
select jobs.roll_up_networks();
select results_eq($$ select * from pg_temp.grown('ymir') $$, $$ select * from pg_temp.walked('ymir') $$, 'the same when rolled up');

-- The charts themselves.
select act_as('freya');
select is((get_team_growth('30d') #> '{points,0}') - 'start', '{"members": 0, "funded": 1}'::jsonb, 'what happened before the chart begins stands in its first bar');
-- Sif's story was told of a time before Freya joined.
select is((get_earnings('all') #>> '{totals,total}')::numeric + 5, (get_member_dashboard() #>> '{bonuses,total}')::numeric, 'all earnings since the member joined');

select act_as_owner();
select throws_ok(format($$ set local role %I; select * from private.%I $$, r, t), '42501', null, r || ' cannot read ' || t)
from unnest(array['authenticated', 'platform_admin']) as r, unnest(array['team_days', 'earning_days']) as t;

-- =====================================================================================================================
-- Stored days lie in partitions of a year
-- =====================================================================================================================
create function pg_temp.in_years(p_years integer) returns timestamptz language sql as $$
    select date_trunc('year', clock_timestamp() at time zone 'UTC') at time zone 'UTC' + make_interval(years => p_years)
$$;
create function pg_temp.partitions(p_of text) returns bigint language sql as $$
    select count(*) from pg_inherits as i where i.inhparent = to_regclass('private.' || p_of)
$$;
create function pg_temp.place(p_table text, p_day date) returns text language plpgsql as $$
declare
    v_place text;
begin
    execute format('insert into private.%I (no, day) values (position_no(''freya''), %L) returning tableoid::regclass::text', p_table, p_day)
    into v_place;
    return v_place;
end
$$;
select is(jobs.prepare_days(), 0, 'this year and the next have their partitions');
select results_eq(
    $$ select number, until from private.day_partitions order by number $$,
    $$ values (1, (pg_temp.in_years(1) at time zone 'UTC')::date), (2, (pg_temp.in_years(2) at time zone 'UTC')::date) $$, 'which is stored'
);
select is(pg_temp.place(t, '1999-12-31'), format('private.%s_1', t), t || ': the first has all that was before')
from unnest(array['team_days', 'earning_days']) as t;
select is(pg_temp.place(t, (pg_temp.in_years(1) at time zone 'UTC')::date - 1), format('private.%s_1', t), t || ': to the last day of this year')
from unnest(array['team_days', 'earning_days']) as t;
select is(pg_temp.place(t, (pg_temp.in_years(1) at time zone 'UTC')::date), format('private.%s_2', t), t || ': and the next goes on')
from unnest(array['team_days', 'earning_days']) as t;
select set_config('app.demo_clock', (pg_temp.in_years(1) - interval '1 second')::text, true);
select is(jobs.prepare_days(), 0, 'in the last second of the year there are as many');
select set_config('app.demo_clock', pg_temp.in_years(1)::text, true);
select is(jobs.prepare_days(), 1, 'with the new year the one of the year after it is made');
select is(jobs.prepare_days(), 0, 'once');
select is(pg_temp.partitions(t), 3::bigint, t || ' has it') from unnest(array['team_days', 'earning_days']) as t;

-- The worker was away for years.
select set_config('app.demo_clock', (pg_temp.in_years(5) + interval '12 hours')::text, true);
select join_as('njord', 'freya');
select complete('njord');
select pays('njord', 100);
select cmp_ok(jobs.roll_up_networks(), '>', 0, 'a roll-up makes what it needs');
select is((select max(number) from private.day_partitions), 6, 'up to its day');
select results_eq($$ select * from pg_temp.grown('ymir') $$, $$ select * from pg_temp.walked('ymir') $$, 'what grew stands at its day, in whatever partition');
select results_eq($$ select * from pg_temp.earned() $$, $$ select * from pg_temp.journal() $$, 'and what was earned');
select is(
    (select d.tableoid::regclass::text from private.earning_days as d where d.no = position_no('freya') and d.day = (pg_temp.in_years(5) at time zone 'UTC')::date),
    'private.earning_days_6', 'in the newest one'
);
select is(jobs.prepare_days(), 1, 'the job makes the rest of it');
select set_config('app.demo_clock', '', true);
create temporary table partitions as
select i.inhrelid::regclass as partition from pg_inherits as i where i.inhparent in ('private.team_days'::regclass, 'private.earning_days'::regclass);
select is((select count(*) from partitions), 14::bigint, 'of all partitions');
select is_empty($$ select p.partition from partitions as p inner join pg_class as c on c.oid = p.partition where not c.relrowsecurity $$, 'each has row-level security');
select is_empty(
    $$ select p.partition, r.rolname from partitions as p cross join pg_roles as r
    where r.rolname in ('anon', 'authenticated', 'service_role', 'platform_admin', 'edge_functions', 'worker')
        and has_table_privilege(r.oid, p.partition, 'select, insert, update, delete, truncate, references, trigger') $$, 'and no role has a right to one'
);
select throws_ok(
    format('insert into private.%I (no, day) values (0, %L)', t, (pg_temp.in_years(y) at time zone 'UTC')::date), '23503', null, format('%s: none has days of a member who is not there (year %s)', t, y)
) from unnest(array['team_days', 'earning_days']) as t cross join generate_series(-1, 6) as y;
select * from finish();
rollback;
