-- Income disclosure: what members received, net of what they paid in the same period, including those who received
-- nothing. Counting all members takes seconds with a million: too slow for, and too easily abused by, anonymous
-- clients. So the worker publishes it once a day after midnight (UTC) and clients read the last one. A request
-- computes it only when none was ever published or the last one is two days old. Groups of fewer than ten members are
-- suppressed, so that no single result can be derived.

create table private.income_disclosures (
    computed_at timestamptz primary key,
    body jsonb not null
);
comment on table private.income_disclosures is 'Every published disclosure.';
alter table private.income_disclosures enable row level security;
create trigger _100_reject_change before update or delete or truncate on private.income_disclosures
for each statement execute function private.reject_change();

create function private.income_by_member(p_from timestamptz, p_to timestamptz)
returns table (package_value numeric, received numeric, paid numeric)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    select p.package_value::numeric, coalesce(r.amount, 0), coalesce(d.amount, 0)
    from private.profiles as p
    left join (
        select t.user_id, sum(t.amount)::numeric as amount from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.created_at >= p_from and t.created_at < p_to
        group by t.user_id
    ) as r on p.user_id = r.user_id
    left join (
        select e.user_id, sum(e.amount)::numeric as amount from public.deposits as e
        where e.status = 'approved' and e.voided_at is null and e.decided_at >= p_from and e.decided_at < p_to
        group by e.user_id
    ) as d on p.user_id = d.user_id
    where p.created_at < p_to;
end
$$;
comment on function private.income_by_member(timestamptz, timestamptz) is
'Bonuses received and deposits approved (USD) of every member who had joined by the end of the period.';

create function private.disclosure_percent(p_members bigint, p_part bigint) returns text
language sql immutable set search_path = '' as $$
    select case when p_members > 0 then pg_catalog.to_char(100.0 * p_part / p_members, 'FM990.00') end
$$;
comment on function private.disclosure_percent(bigint, bigint) is 'Share of members in percent, as text with two decimals.';

create function private.compute_disclosure(p_from timestamptz, p_to timestamptz) returns jsonb
language sql stable set search_path = '' as $$
    with results as materialized (
        select r.package_value, r.received, r.paid, r.received - r.paid as net from private.income_by_member(p_from, p_to) as r
    ), everybody as (
        select
            count(*) as members,
            count(*) filter (where r.received = 0) as nothing,
            count(*) filter (where r.received < r.paid) as below,
            pg_catalog.percentile_disc(array[0.25, 0.5, 0.75, 0.9, 0.99]) within group (order by r.net) as net
        from results as r
    ), packages as (
        select
            k.value, k.label, count(r.*) as members,
            count(r.*) filter (where r.received = 0) as nothing,
            count(r.*) filter (where r.received < r.paid) as below,
            pg_catalog.percentile_disc(0.5) within group (order by r.net) as median
        from (
            select w.value, w.label from private.packages as w union all select 0, 'No package'
        ) as k
        left join results as r on r.package_value = k.value
        group by k.value, k.label
    )
    select pg_catalog.jsonb_build_object(
        'from', p_from, 'to', p_to, 'members', e.members, 'too_few', e.members < 10,
        'received_nothing', pg_catalog.jsonb_build_object('members', e.nothing, 'percent', private.disclosure_percent(e.members, e.nothing)),
        'below_paid', pg_catalog.jsonb_build_object('members', e.below, 'percent', private.disclosure_percent(e.members, e.below)),
        'net', case when e.members >= 10 then pg_catalog.jsonb_build_object(
            'p25', private.money(e.net[1]), 'median', private.money(e.net[2]), 'p75', private.money(e.net[3]),
            'p90', private.money(e.net[4]), 'p99', private.money(e.net[5])
        ) end,
        'packages', (
            select pg_catalog.jsonb_agg(
                case when k.members >= 10 then pg_catalog.jsonb_build_object(
                    'value', private.money(k.value), 'label', k.label, 'members', k.members, 'too_few', false,
                    'received_nothing_percent', private.disclosure_percent(k.members, k.nothing),
                    'below_paid_percent', private.disclosure_percent(k.members, k.below), 'median_net', private.money(k.median)
                ) else pg_catalog.jsonb_build_object('value', private.money(k.value), 'label', k.label, 'too_few', true) end
                order by k.value
            ) from packages as k
        ),
        'credited', private.money((select coalesce(sum(r.received), 0) from results as r)),
        'withdrawn', private.money((
            select coalesce(sum(w.amount), 0) from public.withdrawals as w
            where w.status = 'approved' and w.voided_at is null and w.decided_at >= p_from and w.decided_at < p_to
        ))
    )
    from everybody as e
$$;
comment on function private.compute_disclosure(timestamptz, timestamptz) is
'The income disclosure of a period as JSON; money and percentages as text.';

create function private.publish_disclosure() returns private.income_disclosures
language plpgsql volatile set search_path = '' as $$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    v_to timestamptz := pg_catalog.date_trunc('day', v_now at time zone 'UTC') at time zone 'UTC';
    v_from timestamptz;
    v_published private.income_disclosures;
begin
    select greatest(min(p.created_at), v_to - interval '1 year') into v_from from private.profiles as p;
    if v_from < v_to then
        insert into private.income_disclosures (computed_at, body)
        values (v_now, private.compute_disclosure(v_from, v_to) || pg_catalog.jsonb_build_object('computed_at', v_now))
        returning * into v_published;
    end if;
    return v_published;
end
$$;
comment on function private.publish_disclosure() is
'Computes and publishes the last year until midnight (UTC); a null row when there is nothing to report.';

create function jobs.publish_disclosure() returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
    if exists (
        select 1 from private.income_disclosures as d
        where d.computed_at >= pg_catalog.date_trunc('day', pg_catalog.clock_timestamp() at time zone 'UTC') at time zone 'UTC'
    ) then
        return false;
    end if;
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('income_disclosure'));
    return (private.publish_disclosure()).computed_at is not null;
end
$$;
comment on function jobs.publish_disclosure() is
'Publishes today''s income disclosure once; false when it exists or there is nothing to report.';
grant execute on function jobs.publish_disclosure() to worker;

create function public.get_income_disclosure() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_latest private.income_disclosures;
    v_published private.income_disclosures;
begin
    select * into v_latest from private.income_disclosures as d order by d.computed_at desc limit 1;
    -- The first caller computes; concurrent ones read the last one.
    if (v_latest.computed_at is null or v_latest.computed_at < pg_catalog.clock_timestamp() - interval '2 days')
        and pg_catalog.pg_try_advisory_xact_lock(private.lock_key('income_disclosure')) then
        v_published := private.publish_disclosure();
        if v_published.computed_at is not null then
            v_latest := v_published;
        end if;
    end if;
    return v_latest.body;
end
$$;
comment on function public.get_income_disclosure() is
'Open to anonymous clients: what all members received and paid in the last year (or since the first member), until midnight UTC. Null when there is nothing to report.';
grant execute on function public.get_income_disclosure() to anon, authenticated, platform_admin;
