-- What a network brought, by the specification's formulas.
begin;
\ir ../support/actors.sql
select plan(11);

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
-- The sums are kept; folding changes nothing that is seen.
select act_as_owner();
create function pg_temp.summary(p_name text) returns jsonb language sql as $$
    select to_jsonb(s) - array['has_days', 'direct_cents', 'direct_funded'] from private.network_sums((select p from private.profiles as p where p.user_id = actors.user_id(p_name))) as s
$$;
create function pg_temp.walked(p_name text) returns jsonb language sql as $$
    select jsonb_build_object(
        'no', actors.position_no(p_name), 'members', count(*), 'package_cents', sum(o.package_cents),
        'referral', sum(t.referral_amount), 'pairing', sum(t.pairing_amount), 'override', sum(t.override_amount)
    )
    from private.network(actors.position_no(p_name)) as n
    inner join private.positions as o on n.no = o.no
    inner join private.totals as t on o.user_id = t.user_id
$$;
select is(pg_temp.summary('root'), pg_temp.walked('root'), 'before a fold the changes are added up');
select ok(jobs.fold_networks() > 0, 'a fold takes them');
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
select refuses($$ select public.get_team_growth('week') $$, 400, 'invalid_range', 'Choose 30 days, 90 days, 12 months or all.', 'ranges are known');
select act_as('anonymous');
select throws_ok($$ select public.get_network_summary() $$, '42501', null, 'a visitor is refused');

select * from finish();
rollback;
