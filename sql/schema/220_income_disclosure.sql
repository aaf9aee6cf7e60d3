-- Income disclosure: what members received, net of what they paid in the same period, including those who received
-- nothing. Counting all members takes seconds with a million: too slow for, and too easily abused by, anonymous
-- clients. So the worker publishes it once a day after midnight (UTC) and clients read the last one. A request
-- computes it only when none was ever published or the last one is two days old. Groups of fewer than ten members are
-- suppressed, so that no single result can be derived.
-- A row has the last decision that it saw, by which the ledger checks derive its sums again: what was decided or voided
-- since has a later number, whatever its time says. Who had joined has no number, nor which package a member had:
-- of those figures they verify that they agree with each other.
-- Rules: specification S19.3 and S19.4.

create table private.income_disclosures (
    computed_at timestamptz primary key,
    body jsonb not null,
    decision_no bigint
);
-- Unknown for rows older than this column. Not validated, so that only those may lack it.
alter table private.income_disclosures add constraint a_disclosure_says_what_it_saw check (decision_no is not null) not valid;
comment on table private.income_disclosures is 'Every published disclosure.';
comment on column private.income_disclosures.decision_no is 'The last decision that the figures include; null in rows from before, which nothing verifies.';
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
        -- One statement, so that figures and number are those of one snapshot.
        insert into private.income_disclosures (computed_at, body, decision_no)
        values (
            v_now, private.compute_disclosure(v_from, v_to) || pg_catalog.jsonb_build_object('computed_at', v_now), private.last_decision_no()
        )
        returning * into v_published;
    end if;
    return v_published;
end
$$;
comment on function private.publish_disclosure() is
'Computes and publishes the last year until midnight (UTC); a null row when there is nothing to report.';

create function private.published_time(p_text text) returns timestamptz
language plpgsql stable set search_path = '' as $$
begin
    return p_text::timestamptz;
exception when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
    return null;
end
$$;
comment on function private.published_time(text) is 'A time of a disclosure; null when it is none, so that a damaged row stops no check.';

create function private.published_count(p_text text) returns bigint
language plpgsql immutable set search_path = '' as $$
begin
    return case when p_text ~ '\A[0-9]{1,15}\Z' then p_text::bigint end;
end
$$;
comment on function private.published_count(text) is 'A number of members of a disclosure; null when it is none, so that a damaged row stops no check.';

-- All disclosures in one pass, as the days of coverage. Times are numbered by the beginnings and ends of all periods: a
-- period holds what has a number from that of its beginning to one below that of its end. What no disclosure lacks is
-- summed up along these numbers; what one does lack, having been decided or voided since, is added row by row.
create function private.disclosure_discrepancies() returns table (computed_at timestamptz, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = ''
-- The planner may expect few rows where nothing was analysed yet, and would compare each with each.
set enable_nestloop = 'off' as $$
declare
    v_bounds timestamptz[] := array(
        select distinct b.at from private.income_disclosures as d
        cross join lateral (
            values (private.published_time(d.body ->> 'from')), (private.published_time(d.body ->> 'to'))
        ) as b (at)
        where d.decision_no is not null and b.at is not null order by b.at
    );
begin
    return query
    with stated as materialized (
        select
            d.computed_at,
            d.body,
            d.decision_no,
            p.first_at,
            p.last_at,
            pg_catalog.array_position(v_bounds, p.first_at) as first_no,
            pg_catalog.array_position(v_bounds, p.last_at) as last_no,
            pg_catalog.row_number() over (order by d.computed_at) as place
        from private.income_disclosures as d
        cross join lateral (
            select private.published_time(d.body ->> 'from') as first_at, private.published_time(d.body ->> 'to') as last_at
        ) as p
        where d.decision_no is not null
    ),

    -- Of each span between two bounds: the number that no disclosure ending after it lacks.
    spans as materialized (
        select s.no, min(min(d.decision_no)) over (order by s.no desc rows between unbounded preceding and 1 preceding) as safe_no
        from pg_catalog.generate_series(0, pg_catalog.cardinality(v_bounds)) as s (no)
        left join stated as d on s.no = d.last_no
        group by s.no
    ),

    events as materialized (
        select
            pg_catalog.width_bucket(e.at, v_bounds) as no,
            pg_catalog.width_bucket(greatest(e.at, e.joined_at), v_bounds) as joined_no,
            coalesce(e.decision_no, 0) as decision_no,
            sum(e.credited) as credited,
            sum(e.withdrawn) as withdrawn,
            sum(e.members) as members
        from (
            -- A bonus of a member who joined, by the clock, after the period is in no member's sum.
            select t.created_at as at, p.created_at as joined_at, t.decision_no, t.amount::numeric as credited, 0::numeric as withdrawn, 0 as members
            from public.transactions as t inner join private.profiles as p on t.user_id = p.user_id
            where t.transaction_type = 'bonus' and t.status = 'completed'
            union all
            select w.decided_at, null, w.decision_no, 0, w.amount, 0
            from public.withdrawals as w where w.status = 'approved'
            union all
            -- What is void when the period is published is not in it, whenever it was voided.
            select w.decided_at, null, c.decision_no, 0, -w.amount, 0
            from public.withdrawals as w
            left join private.corrections as c on c.kind = 'void_withdrawal' and w.id = c.target_id and c.confirmed_by is not null
            where w.status = 'approved' and w.voided_at is not null
            union all
            select p.created_at, null, 0, 0, 0, 1
            from private.profiles as p
        ) as e
        where pg_catalog.cardinality(v_bounds) > 0
        group by 1, 2, 3
    ),

    due as materialized (
        select e.*, e.decision_no <= s.safe_no and e.no = e.joined_no as is_plain
        from events as e inner join spans as s on e.no = s.no
    ),

    -- What happened before each bound.
    before as materialized (
        select
            s.no + 1 as bound_no,
            sum(coalesce(sum(u.credited), 0)) over w as credited,
            sum(coalesce(sum(u.withdrawn), 0)) over w as withdrawn,
            sum(coalesce(sum(u.members), 0)) over w as members
        from spans as s
        left join due as u on s.no = u.no and u.is_plain
        group by s.no
        window w as (order by s.no)
    ),

    compared as (
        select
            d.*,
            private.money(l.credited - f.credited + coalesce(x.credited, 0)) as credited,
            private.money(l.withdrawn - f.withdrawn + coalesce(x.withdrawn, 0)) as withdrawn,
            l.members as joined,
            private.published_count(d.body ->> 'members') as members,
            private.published_count(d.body #>> '{received_nothing,members}') as nothing,
            private.published_count(d.body #>> '{below_paid,members}') as below
        from stated as d
        left join before as f on d.first_no = f.bound_no
        left join before as l on d.last_no = l.bound_no
        left join lateral (
            select sum(u.credited) as credited, sum(u.withdrawn) as withdrawn
            from due as u
            where not u.is_plain and u.no >= d.first_no and u.joined_no < d.last_no and u.decision_no <= d.decision_no
        ) as x on true
    ),

    wrong as (
        select c.*, c.place - pg_catalog.row_number() over (order by c.place) as run
        from compared as c
        where private.published_time(c.body ->> 'computed_at') is distinct from c.computed_at
            or c.last_at is distinct from pg_catalog.date_trunc('day', c.computed_at at time zone 'UTC') at time zone 'UTC'
            -- A year has no more days, in whatever zone it was worked out.
            or (c.first_at < c.last_at and c.last_at - c.first_at < interval '367 days') is not true
            or c.body ->> 'credited' is distinct from c.credited
            or c.body ->> 'withdrawn' is distinct from c.withdrawn
            or (c.members <= c.joined and c.nothing <= c.members and c.below <= c.members) is not true
            or c.body -> 'too_few' is distinct from pg_catalog.to_jsonb(c.members < 10)
            or c.body #>> '{received_nothing,percent}' is distinct from private.disclosure_percent(c.members, c.nothing)
            or c.body #>> '{below_paid,percent}' is distinct from private.disclosure_percent(c.members, c.below)
    )

    select
        r.computed_at,
        pg_catalog.jsonb_build_object('disclosures', r.rows)
        || case
            when r.body ->> 'credited' is distinct from r.credited
                then pg_catalog.jsonb_build_object('stored_credited', r.body ->> 'credited', 'due_credited', r.credited) else '{}'
        end
        || case
            when r.body ->> 'withdrawn' is distinct from r.withdrawn
                then pg_catalog.jsonb_build_object('stored_withdrawn', r.body ->> 'withdrawn', 'due_withdrawn', r.withdrawn) else '{}'
        end
    from (
        select distinct on (w.run) w.*, count(*) over (partition by w.run) as rows
        from wrong as w
        order by w.run, w.place
    ) as r;
end
$$;
comment on function private.disclosure_discrepancies() is
'Disclosures whose period, credits or withdrawals are not what the decisions that they saw say, or whose numbers of members do not agree: the first of each run of such disclosures, how many they are, and the sums of the first one. All disclosures, but those from before decisions were noted.';

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
