-- Days of coverage and disclosures say which decisions they saw, and the ledger checks derive them again by these
-- numbers. Of the rows that are there nobody knows which: they keep null, and nothing verifies them.
SET local check_function_bodies = off;

-- squawk-ignore ban-drop-view
DROP VIEW "private"."ledger_violations";

ALTER TABLE "private"."coverage_days"
  ADD COLUMN "decision_no" bigint;

ALTER TABLE "private"."coverage_days"
  ADD COLUMN "pending_ids" uuid[];

ALTER TABLE "private"."income_disclosures"
  ADD COLUMN "decision_no" bigint;

CREATE OR REPLACE FUNCTION jobs.snapshot_coverage()
  RETURNS integer
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_days integer;
begin
    -- One statement, so that figures, number and requests are those of one snapshot.
    with seen as materialized (select private.last_decision_no() as decision_no)

    insert into private.coverage_days (day, figures, taken_at, decision_no, pending_ids)
    select m.day, private.coverage_at(e.at), private.clock(), n.decision_no, private.pending_at(e.at)
    from (
        select s.day::date as day
        from pg_catalog.generate_series(
            (select min(p.created_at at time zone 'UTC')::date from private.profiles as p),
            (private.clock() at time zone 'UTC')::date - 1, interval '1 day'
        ) as s (day)
        where not exists (select 1 from private.coverage_days as c where c.day = s.day::date)
        -- The rest is for the next runs.
        order by s.day desc limit 31
    ) as m
    cross join lateral (select (m.day + 1)::timestamp at time zone 'UTC' as at) as e
    cross join seen as n
    on conflict (day) do nothing;
    get diagnostics v_days = row_count;
    return v_days;
end
$function$;

CREATE OR REPLACE FUNCTION private.coverage_discrepancies()
  RETURNS TABLE (
    day     date,
    details jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  SET enable_nestloop TO 'off'
  AS $function$
begin
    return query
    with days as materialized (
        select
            c.day,
            c.figures,
            c.decision_no,
            c.pending_ids,
            pg_catalog.row_number() over (order by c.day) as place
        from private.coverage_days as c
        where c.decision_no is not null
    ),

    -- Of each date: the first row that can include it, and the number that no row from there on lacks.
    calendar as materialized (
        select
            s.day,
            min(d.place) over (order by s.day desc) as place,
            min(d.decision_no) over (order by s.day desc) as safe_no
        from (
            select f.first_day + pg_catalog.generate_series(0, f.last_day - f.first_day) as day
            from (select min(e.day) as first_day, max(e.day) as last_day from days as e) as f
        ) as s
        left join days as d on s.day = d.day
    ),

    events as materialized (
        select
            greatest((e.at at time zone 'UTC')::date, (select min(d.day) from days as d)) as day,
            coalesce(e.decision_no, 0) as decision_no,
            e.user_id,
            e.cash_in,
            e.withdrawn,
            e.earned
        from (
            select d.decided_at as at, d.decision_no, d.user_id, d.amount::numeric as cash_in, 0::numeric as withdrawn, 0::numeric as earned
            from public.deposits as d where d.status = 'approved'
            union all
            select greatest(d.decided_at, d.voided_at), c.decision_no, d.user_id, -d.amount, 0, 0
            from public.deposits as d
            left join private.corrections as c on c.kind = 'void_deposit' and d.id = c.target_id and c.confirmed_by is not null
            where d.status = 'approved' and d.voided_at is not null
            union all
            select greatest(w.created_at, w.decided_at), w.decision_no, w.user_id, 0, w.amount, 0
            from public.withdrawals as w where w.status = 'approved'
            union all
            select greatest(w.created_at, w.decided_at, w.voided_at), c.decision_no, w.user_id, 0, -w.amount, 0
            from public.withdrawals as w
            left join private.corrections as c on c.kind = 'void_withdrawal' and w.id = c.target_id and c.confirmed_by is not null
            where w.status = 'approved' and w.voided_at is not null
            union all
            select t.created_at, t.decision_no, t.user_id, 0, 0, t.amount
            from public.transactions as t where t.transaction_type = 'bonus'
        ) as e
        where e.at < ((select max(d.day) from days as d) + 1)::timestamp at time zone 'UTC'
    ),

    -- Who may claim more than is left.
    claimants as materialized (
        select w.user_id from public.withdrawals as w
        union
        select e.user_id from events as e where e.earned < 0
    ),

    due as materialized (
        select
            e.user_id,
            k.place,
            k.safe_no,
            e.decision_no,
            case when e.decision_no > k.safe_no then e.day end as day,
            e.cash_in,
            e.withdrawn,
            e.earned
        from (
            select v.day, v.decision_no, q.user_id, sum(v.cash_in) as cash_in, sum(v.withdrawn) as withdrawn, sum(v.earned) as earned
            from events as v left join claimants as q on v.user_id = q.user_id
            group by v.day, v.decision_no, q.user_id
        ) as e
        inner join calendar as k on e.day = k.day
    ),

    steps as materialized (
        select s.place, s.user_id, sum(s.cash_in) as cash_in, sum(s.withdrawn) as withdrawn, sum(s.earned) as earned
        from (
            select u.place, u.user_id, u.cash_in, u.withdrawn, u.earned from due as u where u.day is null
            union all
            select d.place + n.later, u.user_id, n.sign * u.cash_in, n.sign * u.withdrawn, n.sign * u.earned
            from due as u
            inner join days as d on u.day <= d.day and u.decision_no <= d.decision_no
            cross join (values (0, 1), (1, -1)) as n (later, sign)
            where u.day is not null
        ) as s
        group by s.place, s.user_id
    ),

    pending as materialized (
        select d.place, w.user_id, sum(w.amount)::numeric as amount
        from days as d
        cross join pg_catalog.unnest(d.pending_ids) as p (id)
        inner join public.withdrawals as w on p.id = w.id
        group by d.place, w.user_id
    ),

    -- What members claim beyond what is left of their bonuses: how that changes with each row.
    excess as (
        select x.place, sum(x.amount) as amount
        from (
            select
                b.place,
                greatest(b.pending - b.available, 0) - lag(greatest(b.pending - b.available, 0), 1, 0) over (partition by b.user_id order by b.place) as amount
            from (
                select
                    m.user_id,
                    m.place,
                    sum(sum(m.available)) over (partition by m.user_id order by m.place) as available,
                    sum(sum(m.pending)) over (partition by m.user_id order by m.place) as pending
                from (
                    select s.user_id, s.place, s.earned - s.withdrawn as available, 0::numeric as pending
                    from steps as s where s.user_id is not null
                    union all
                    select p.user_id, p.place + n.later, 0, n.sign * p.amount
                    from pending as p cross join (values (0, 1), (1, -1)) as n (later, sign)
                ) as m
                group by m.user_id, m.place
            ) as b
        ) as x
        group by x.place
    ),

    compared as (
        select
            d.day,
            d.place,
            d.figures,
            private.coverage_figures(
                sum(coalesce(s.cash_in, 0)) over w, sum(coalesce(s.withdrawn, 0)) over w, coalesce(p.amount, 0),
                sum(coalesce(s.earned, 0) - coalesce(s.withdrawn, 0) + coalesce(x.amount, 0)) over w
            ) as due_figures
        from days as d
        left join (
            select t.place, sum(t.cash_in) as cash_in, sum(t.withdrawn) as withdrawn, sum(t.earned) as earned from steps as t group by t.place
        ) as s on d.place = s.place
        left join excess as x on d.place = x.place
        left join (select g.place, sum(g.amount) as amount from pending as g group by g.place) as p on d.place = p.place
        window w as (order by d.place)
    ),

    -- A row that was lost or changed is in every later day: that is one violation.
    wrong as (
        select c.day, c.place, c.figures, c.due_figures, c.place - pg_catalog.row_number() over (order by c.place) as run
        from compared as c where c.figures is distinct from c.due_figures
    )

    select
        r.day,
        pg_catalog.jsonb_build_object('days', r.days) || (
            select coalesce(pg_catalog.jsonb_object_agg(v.name, v.value), '{}')
            from pg_catalog.jsonb_each(r.due_figures) as f
            cross join lateral (values ('stored_' || f.key, r.figures -> f.key), ('due_' || f.key, f.value)) as v (name, value)
            where f.value is distinct from r.figures -> f.key
        )
    from (
        select distinct on (w.run) w.day, w.figures, w.due_figures, count(*) over (partition by w.run) as days
        from wrong as w
        order by w.run, w.place
    ) as r;
end
$function$;

CREATE OR REPLACE FUNCTION private.disclosure_discrepancies()
  RETURNS TABLE (
    computed_at timestamp with time zone,
    details     jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  SET enable_nestloop TO 'off'
  AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION private.last_decision_no()
  RETURNS bigint
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return greatest(
        (select max(d.decision_no) from public.deposits as d),
        (select max(w.decision_no) from public.withdrawals as w),
        (select max(c.decision_no) from private.corrections as c),
        (select max(t.decision_no) from public.transactions as t),
        0
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.pending_at (
  p_at timestamp with time zone
)
  RETURNS uuid[]
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select coalesce(pg_catalog.array_agg(w.id order by w.id), '{}')
    from public.withdrawals as w
    where w.created_at < p_at and coalesce(w.decided_at >= p_at, true)
$function$;

CREATE OR REPLACE FUNCTION private.publish_disclosure()
  RETURNS private.income_disclosures
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION private.published_count (
  p_text text
)
  RETURNS bigint
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
    return case when p_text ~ '\A[0-9]{1,15}\Z' then p_text::bigint end;
end
$function$;

CREATE OR REPLACE FUNCTION private.published_time (
  p_text text
)
  RETURNS timestamp WITH time zone
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return p_text::timestamptz;
exception when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.rule_texts()
  RETURNS TABLE (
    rule    text,
    problem text,
    advice  text
  )
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    values
    ('I01', 'A bonus has journal rows that do not sum to its amount.', 'Compare the bonus with its rows under Transactions; find out who changed which.'),
    ('I02', 'A member''s journal does not sum to deposits plus bonuses minus withdrawals.', 'Compare the member''s transactions with the deposits, bonuses and withdrawals.'),
    ('I03', 'A deposit and its journal row do not say the same.', 'Compare the deposit with its transaction and with the audit log.'),
    ('I04', 'A withdrawal and its journal row do not say the same.', 'Compare the withdrawal with its transaction and with the audit log. Pay nothing meanwhile.'),
    ('I05', 'A journal row has no bonus, deposit, withdrawal or correction behind it.', 'Find out who wrote the row: nothing of the product does.'),
    ('I06', 'A deposit or withdrawal has more than one journal row.', 'Find out who wrote the second row: the product writes one.'),
    ('I07', 'A member''s totals are not the sums of the bonuses and withdrawals, so the balance is wrong.', 'Rebuild the counters once it is known who changed what.'),
    ('I08', 'A member withdrew more than was earned, and no correction explains it.', 'Compare bonuses and withdrawals of the member; void what was not paid.'),
    ('I09', 'A member''s cash-in is not the sum of the approved deposits.', 'Compare the member''s deposits with the audit log; rebuild the counters.'),
    ('I10', 'A bonus is stored twice.', 'Find out who wrote the second row: the product writes one.'),
    ('I11', 'A bonus does not follow from the referral tree and the packages, or is paid to another member.', 'Find out who changed the bonus, the tree or a package. The next run of the bonus comparison repairs the amount.'),
    ('I12', 'A member earns a bonus from the own package.', 'Find out who changed the bonus or the tree.'),
    ('I13', 'A member''s package does not follow from the deposits and corrections.', 'Compare the package with the deposits; a correction sets another one.'),
    ('I14', 'A member''s level is not one below the sponsor''s.', 'Find out who moved the member: the product moves nobody.'),
    ('I15', 'A member joined before the own sponsor.', 'Find out who changed a sponsor or a date: the product changes neither.'),
    ('I16', 'An amount is out of range.', 'Find out who changed it: the product accepts no such amount.'),
    ('I17', 'A decided request has no decider or no time, or a pending one has.', 'Compare the request with the audit log.'),
    ('I18', 'Two members have the same username.', 'Rename one of them.'),
    ('I19', 'A transfer was approved twice.', 'Compare the receipts; void the deposit that did not arrive.'),
    ('I20', 'A receipt is missing, is another file than was sent, or is not the member''s.', 'Compare the receipt with a backup; find out who replaced it.'),
    ('I21', 'All bonuses together exceed 56% of the funded packages, which the plan cannot pay.', 'Find out which bonuses or packages were changed.'),
    ('I22', 'More was paid out than came in.', 'Pay nothing more before it is known why.'),
    ('I23', 'A member''s place among the sponsor''s referrals is wrong, or differs from the own package.', 'Find out who changed the tree; rebuild the counters.'),
    ('I24', 'A member has two running subscriptions of one bot.', 'Cancel one of them.'),
    ('I25', 'An administrator''s session lasts longer than eight hours.', 'Sign this administrator out everywhere and find out who made the session.'),
    ('I26', 'The audit log was changed, or its end was cut off.', 'Compare it with a backup: who changed it hides something.'),
    ('I27', 'A total on the dashboards is not the sum of its rows.', 'Rebuild the counters once it is known who changed what.'),
    ('I28', 'A member''s daily earnings differ from the journal.', 'The chart is wrong, not the balance. Rebuild the counters.'),
    ('I29', 'A member''s team totals differ from the members of the team.', 'The figures of the team are wrong, not the balance. Rebuild the counters.'),
    ('I30', 'The daily growth of a large team differs from its members.', 'The chart is wrong, not the balance. Rebuild the counters.'),
    ('I31', 'A deposit lacks the keys by which a second claim of its transfer is found.', 'Compare its reference with all other deposits by hand.'),
    ('I33', 'A pairing bonus names another member than the one who completed the pair.', 'Find out who changed the bonus or the order of the fundings.'),
    ('I34', 'A member''s place in the order of fundings is not that of the decision that funded the member.', 'Compare the member''s first approved deposit with the audit log.'),
    ('I35', 'A completed journal row has no decision behind it.', 'Find out who wrote or completed the row: the product does so in a decision only.'),
    ('I36', 'A bonus or a journal row has another time than what it was made from.', 'Compare the times with the audit log; find out who changed one.'),
    ('I37', 'The number of a member''s bonuses is wrong in the totals.', 'Rebuild the counters once it is known who changed what.'),
    ('I38', 'The stored coverage of a past day is not what had been decided when it was computed.', 'Find out who changed the day, or a deposit, withdrawal or bonus from before it. The day stays as it is: acknowledge this once it is known why.'),
    ('I39', 'A published income disclosure is not what had been decided when it was published, or contradicts itself.', 'Find out who changed it, or a withdrawal or bonus of its period, before anybody relies on it. It stays as it is: acknowledge this once it is known why.'),
    ('I40', 'A package size, a pairing rate or a percentage is not that of the compensation plan.', 'Set it back at once: every bonus is worked out with it.'),
    ('I41', 'The referrals of a member are not numbered in the order of joining, which decides who is paired with whom.', 'Find out who changed the order; rebuild the counters.'),
    ('I42', 'A request or a bonus is older than what it follows from, or lies in the future.', 'Compare the times with the audit log.'),
    ('I43', 'A deposit has no entry in the audit log, more than one, or one that says something else.', 'Compare the deposit with the audit log and the receipt before it is decided.'),
    ('I44', 'A withdrawal has no entry in the audit log, more than one, or one that says something else.', 'Compare amount and address with the audit log, and ask the member. Pay nothing meanwhile.'),
    ('I45', 'A decided deposit has no decision in the audit log, or one that says something else.', 'Find out who decided it: the product writes both at once.'),
    ('I46', 'A decided withdrawal has no decision in the audit log, or one that says something else.', 'Find out who decided it: the product writes both at once. Pay nothing meanwhile.'),
    ('I47', 'A payout has no entry in the audit log, or one that says something else.', 'Compare the payout reference with the wallet''s own list of transfers.'),
    ('I48', 'A correction has no entry in the audit log, or one that says something else.', 'Compare the correction with the audit log and ask who proposed and confirmed it.'),
    ('I49', 'An administrator''s role is not the one of the last entry in the audit log.', 'Take the role away and find out who gave it.')
$function$;

ALTER TABLE "private"."coverage_days"
  ADD CONSTRAINT "a_day_says_what_it_saw" CHECK (((decision_no IS NOT NULL) AND (pending_ids IS NOT NULL))) NOT VALID;

ALTER TABLE "private"."income_disclosures"
  ADD CONSTRAINT "a_disclosure_says_what_it_saw" CHECK ((decision_no IS NOT NULL)) NOT VALID;

create view private.ledger_violations as
with earned as materialized (
    select
        b.user_id,
        sum(b.amount_cents) * 0.01 as total,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'referral'), 0) * 0.01 as referral,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'pairing'), 0) * 0.01 as pairing,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'override'), 0) * 0.01 as override,
        sum(b.reentry_amount) as reentry,
        count(*) filter (where b.bonus_type = 'referral' and b.amount_cents > 0) as referrals,
        count(*) filter (where b.bonus_type = 'pairing' and b.amount_cents > 0) as pairings,
        count(*) filter (where b.bonus_type = 'override' and b.amount_cents > 0) as overrides
    from public.bonuses as b
    group by b.user_id
),

claimed as materialized (
    select
        d.user_id,
        coalesce(sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null), 0) as recounted,
        coalesce(sum(d.amount) filter (where d.status = 'approved'), 0) as approved,
        coalesce(max(k.value) filter (where d.status = 'approved' and d.voided_at is null), 0) as package,
        min(d.decision_no) filter (where d.status = 'approved') as first_decision_no,
        count(*) filter (where d.status = 'pending') as pending_rows,
        count(*) filter (where d.status = 'approved') as approved_rows,
        count(*) filter (where d.status = 'rejected') as rejected_rows
    from public.deposits as d left join private.packages as k on d.amount = k.value
    group by d.user_id
),

drawn as materialized (
    select
        w.user_id,
        coalesce(sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null), 0) as recounted,
        coalesce(sum(w.amount) filter (where w.status = 'pending'), 0) as reserved,
        count(*) filter (where w.status = 'pending') as pending_rows,
        count(*) filter (where w.status = 'approved') as approved_rows,
        count(*) filter (where w.status = 'rejected') as rejected_rows
    from public.withdrawals as w
    group by w.user_id
),

journal as materialized (
    select
        t.user_id,
        coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
        count(*) filter (where t.status = 'completed' and t.decision_no is null) as undecided_rows,
        count(*) filter (where t.transaction_type = 'bonus') as bonus_rows,
        min(t.created_at) as first_at,
        max(t.created_at) as last_at,
        coalesce(sum(abs(t.amount)) filter (where t.transaction_type = 'bonus'), 0) as bonus_volume
    from public.transactions as t
    group by t.user_id
),

-- Members with any discrepancy.
members as materialized (
    select m.*
    from (
        select
            p.user_id,
            coalesce(j.amount, 0) <> p.cash_in_amount + coalesce(b.total, 0) - coalesce(w.recounted, 0) as wrong_journal,
            (
                (s.referral_amount, s.pairing_amount, s.override_amount, s.reentry_amount, s.withdrawn_amount, s.reserved_amount)
                is distinct from (
                    coalesce(b.referral, 0), coalesce(b.pairing, 0), coalesce(b.override, 0), coalesce(b.reentry, 0),
                    coalesce(w.recounted, 0), coalesce(w.reserved, 0)
                )
            ) as wrong_totals,
            (
                (s.referral_count, s.pairing_count, s.override_count)
                is distinct from (coalesce(b.referrals, 0), coalesce(b.pairings, 0), coalesce(b.overrides, 0))
            ) as wrong_counts,
            -- A clock may step back, and is days ahead at most.
            coalesce(j.first_at < '2020-01-01 00:00+00' or j.last_at > clock_timestamp() + interval '7 days', false) as wrong_times,
            p.cash_in_amount <> coalesce(d.recounted, 0) as wrong_cash_in,
            p.package_value <> coalesce(d.package, 0) as wrong_package
        from private.profiles as p
        left join private.totals as s on p.user_id = s.user_id
        left join journal as j on p.user_id = j.user_id
        left join earned as b on p.user_id = b.user_id
        left join claimed as d on p.user_id = d.user_id
        left join drawn as w on p.user_id = w.user_id
    ) as m
    where m.wrong_journal or m.wrong_totals or m.wrong_counts or m.wrong_times or m.wrong_cash_in or m.wrong_package
),

-- Sources and journal rows that do not match.
bonus_entries as materialized (
    select
        b.id as source_id,
        b.user_id,
        j.reference_id,
        (coalesce(j.amount, 0) <> b.amount) as wrong_amount,
        -- The first is the one of the first decision: a clock can step back.
        (j.first_at <> extract(epoch from b.created_at) * 1000000) as wrong_time
    from public.bonuses as b
    full join (
        select
            t.reference_id,
            coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
            (min(array[t.decision_no, (extract(epoch from t.created_at) * 1000000)::bigint]))[2] as first_at
        from public.transactions as t
        where t.transaction_type = 'bonus'
        group by t.reference_id
    ) as j on b.id = j.reference_id
    where b.id is null or coalesce(j.amount, 0) <> b.amount or j.first_at <> extract(epoch from b.created_at) * 1000000
),

deposit_entries as materialized (
    select
        d.id as source_id,
        t.id as entry_id,
        t.reference_id,
        coalesce(d.user_id, t.user_id) as user_id,
        (t.created_at <> d.created_at) as wrong_time,
        (
            (t.user_id, t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                d.user_id,
                d.amount::numeric,
                d.decision_no,
                case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
            )
        ) as wrong_entry
    from public.deposits as d
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'deposit'
    ) as t
        on d.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
        d.user_id,
        d.amount::numeric,
        d.decision_no,
        case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
        d.created_at
    )
),

withdrawal_entries as materialized (
    select
        w.id as source_id,
        t.id as entry_id,
        t.reference_id,
        coalesce(w.user_id, t.user_id) as user_id,
        (t.created_at <> w.created_at) as wrong_time,
        (
            (t.user_id, t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                w.user_id,
                -w.amount::numeric,
                w.decision_no,
                case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
            )
        ) as wrong_entry
    from public.withdrawals as w
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'withdrawal'
    ) as t
        on w.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
        w.user_id,
        -w.amount::numeric,
        w.decision_no,
        case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
        w.created_at
    )
),

bonus_rows as materialized (
    select r.*
    from (
        select
            b.id,
            b.user_id,
            (b.user_id is distinct from case when b.bonus_type = 'pairing' then s.user_id else u.user_id end)
            or (b.bonus_type <> 'pairing' and b.source_user_id is distinct from s.user_id)
            or (b.amount > 0 and (b.rate is distinct from case b.bonus_type
                when 'referral' then private.referral_percent()
                when 'override' then private.override_percent()
                else k.pairing_percent
            end)) as wrong_owner,
            b.user_id = b.source_user_id as from_oneself,
            b.amount not between 0.01 and 10000000 as wrong_amount,
            b.amount
        from public.bonuses as b
        left join private.positions as s on b.subject_no = s.no
        left join private.positions as u on s.referrer_no = u.no
        left join private.packages as k on s.package_cents = k.value_cents
    ) as r
    where r.wrong_owner or r.from_oneself or r.wrong_amount
),

places as materialized (
    select l.*
    from (
        select
            p.id,
            p.user_id,
            o.no,
            p.depth <> coalesce(s.depth + 1, 0) as wrong_depth,
            s.created_at >= p.created_at as older_than_referrer,
            o.user_id <> p.user_id
            or (r.profile_id is distinct from p.referrer_id)
            or o.package_cents <> p.package_value * 100
            or o.paid_cents <> case when p.cash_in_amount >= p.package_value then p.package_value * 100 else 0 end
            or ((o.children, o.children) is distinct from (coalesce(c.children, 0)::integer, coalesce(c.last, 0))) as wrong_place
        from private.profiles as p
        left join private.profiles as s on p.referrer_id = s.id
        left join private.positions as o on p.id = o.profile_id
        left join private.positions as r on o.referrer_no = r.no
        left join (
            select
                c.referrer_no,
                count(*) as children,
                max(c.child_no) as last
            from private.positions as c
            where c.referrer_no is not null
            group by c.referrer_no
        ) as c on o.no = c.referrer_no
    ) as l
    where l.wrong_depth or l.older_than_referrer or l.wrong_place or l.no is null
)

-- I01 The journal rows of a bonus sum to its amount.
select
    'I01' as rule,
    e.source_id::text as object,
    e.user_id,
    null::jsonb as details
from bonus_entries as e
where e.source_id is not null and e.wrong_amount
union all
-- I02 The completed journal of a member is cash-in + bonuses - approved withdrawals.
select
    'I02',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_journal
union all
-- I03 An approved deposit has its completed journal row, a pending one a pending row, a rejected one a failed row, with
-- the number of the same decision.
select
    'I03',
    e.source_id::text,
    e.user_id,
    null
from deposit_entries as e
where e.source_id is not null and e.wrong_entry
union all
-- I04 The same for withdrawals, negative.
select
    'I04',
    e.source_id::text,
    e.user_id,
    null
from withdrawal_entries as e
where e.source_id is not null and e.wrong_entry
union all
-- I05 Every journal row has a source.
select
    'I05',
    o.entry_id::text,
    o.user_id,
    null
from (
    select
        d.entry_id,
        d.reference_id,
        d.user_id
    from deposit_entries as d
    where d.source_id is null
    union all
    select
        w.entry_id,
        w.reference_id,
        w.user_id
    from withdrawal_entries as w
    where w.source_id is null
    union all
    select
        t.id,
        t.reference_id,
        t.user_id
    from bonus_entries as b inner join public.transactions as t on t.transaction_type = 'bonus' and b.reference_id = t.reference_id
    where b.source_id is null
) as o
where
    not exists (
        select 1 from private.corrections as c
        where c.id = o.reference_id and c.confirmed_by is not null
    )
union all
-- I06 One journal row per deposit and withdrawal.
select
    'I06',
    t.reference_id::text,
    min(t.user_id::text)::uuid,
    null
from public.transactions as t
where t.transaction_type <> 'bonus'
group by t.transaction_type, t.reference_id
having count(*) > 1
union all
-- I07 Totals equal the sums of their rows (I37: the counts), so the balance is max(0, bonuses - approved withdrawals).
select
    'I07',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_totals
union all
-- I08 The balance before max(0, ...) is not negative, unless corrections made it so: the maximum would hide a loss.
select
    'I08',
    s.user_id::text,
    s.user_id,
    jsonb_build_object('shortfall', s.shortfall, 'caused_by_corrections', s.excused)
from private.shortfall_discrepancies as s
union all
-- I09 Cash-in equals the approved deposits that count.
select
    'I09',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_cash_in
union all
-- I10 One row per natural key; I11 checks owner and source.
select
    'I10',
    b.bonus_type || ' ' || b.subject_no || ' ' || coalesce(b.pair_number::text, ''),
    min(b.user_id::text)::uuid,
    null
from public.bonuses as b
group by b.bonus_type, b.subject_no, b.pair_number
having count(*) > 1
union all
-- I11 Bonuses match tree and packages, and are paid to the right members.
select
    'I11',
    w.bonus_type || ' ' || w.subject_no || ' ' || coalesce(w.pair_number::text, ''),
    o.user_id,
    null
from unnest(private.all_bonus_discrepancies()) as w
left join private.positions as s on w.subject_no = s.no
-- A bonus that is no longer due has no owner in the comparison.
left join private.positions as o on coalesce(w.user_no, case w.bonus_type when 'pairing' then s.no else s.referrer_no end) = o.no
union all
select
    'I11',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where b.wrong_owner
union all
-- I12 Nobody earns a bonus from oneself.
select
    'I12',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where b.from_oneself
union all
-- I13 A package follows from the approved deposits, and after a correction from that.
select
    'I13',
    m.user_id::text,
    m.user_id,
    null
from (
    select w.user_id from members as w
    where w.wrong_package
    union
    select c.user_id from private.corrections as c
    where c.confirmed_by is not null
) as m
inner join private.profiles as p on m.user_id = p.user_id
where p.package_value <> private.due_package(m.user_id)
union all
-- I14 A member's depth is the referrer's plus one, a root's 0: so there is no cycle.
select
    'I14',
    l.id::text,
    l.user_id,
    null
from places as l
where l.wrong_depth
union all
-- I15 A referrer is older than the referred member.
select
    'I15',
    l.id::text,
    l.user_id,
    null
from places as l
where l.older_than_referrer
union all
-- I16 Amounts are finite and in range. A bonus is zero only when a correction or a repair was the last to change it.
select
    'I16',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
where d.amount not between 1 and 10000000
union all
select
    'I16',
    w.id::text,
    w.user_id,
    null
from public.withdrawals as w
where w.amount not between 100 and 10000000
union all
select
    'I16',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where
    b.wrong_amount
    and not (b.amount = 0 and exists (
        select 1
        from (
            select
                t.amount,
                t.decision_no
            from public.transactions as t
            where t.transaction_type = 'bonus' and t.reference_id = b.id
            order by t.decision_no desc nulls last
            limit 1
        ) as l
        inner join private.corrections as c on l.decision_no = c.decision_no and c.confirmed_by is not null
        where l.amount < 0
    ))
    -- Or a repair set it to zero, because it was never due.
    and not exists (
        select 1 from private.audit_log as a
        where
            a.actor = 'system'
            and a.action = 'books.repaired'
            and a.payload -> 'repairs' @> jsonb_build_array(jsonb_build_object('bonus_id', b.id, 'new_amount', '0.00'))
    )
union all
-- I17 Decided rows have a time and a decider; a member's own cancellation and a closed account have no decider.
select
    'I17',
    r.id::text,
    r.user_id,
    null
from (
    select
        d.id,
        d.user_id,
        d.status,
        d.decided_at,
        d.decided_by,
        d.admin_notes
    from public.deposits as d
    union all
    select
        w.id,
        w.user_id,
        w.status,
        w.decided_at,
        w.decided_by,
        w.admin_notes
    from public.withdrawals as w
) as r
where
    (r.status = 'pending') <> (r.decided_at is null)
    or (r.status = 'pending' and r.decided_by is not null)
    or (r.status <> 'pending' and r.decided_by is null and coalesce(r.admin_notes, '') not in ('Cancelled by the member', 'Account closed'))
union all
-- I18 Usernames are unique ignoring case.
select
    'I18',
    p.user_id::text,
    p.user_id,
    null
from (
    select lower(q.username) as username from private.profiles as q
    group by lower(q.username)
    having count(*) > 1
) as u inner join private.profiles as p on u.username = lower(p.username)
union all
-- I19 A transfer is approved once.
select
    'I19',
    t.deposit_id::text,
    t.user_id,
    null
from private.transfers_credited_twice as t
union all
-- I20 The receipt exists, in the member's folder, owned by the member, and is the file that was sent.
select
    'I20',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
left join storage.objects as o on o.bucket_id = 'receipts' and d.receipt_name = o.name
where
    o.owner_id is distinct from d.user_id::text or split_part(d.receipt_name, '/', 1) <> d.user_id::text
    or o.metadata ->> 'eTag' is distinct from d.receipt_etag
union all
-- I21 Bonuses never exceed 56% of funded packages.
select
    'I21',
    'all',
    null,
    null
where
    (select coalesce(sum(e.total), 0) from earned as e)
    > 0.56 * (select coalesce(sum(p.paid_cents), 0) * 0.01 from private.positions as p)
union all
-- I22 No more is paid out than was received, including deposits voided later, which counted at the time.
select
    'I22',
    'all',
    null,
    null
where (select coalesce(sum(w.recounted), 0) from drawn as w) > (select coalesce(sum(d.approved), 0) from claimed as d)
union all
-- I23 Child numbers are unique and have no gap, and a position has the member's package.
select
    'I23',
    l.no::text,
    l.user_id,
    null
from places as l
where l.no is not null and l.wrong_place
union all
select
    'I23',
    l.id::text,
    l.user_id,
    null
from places as l
where l.no is null
union all
-- I24 One active or suspended subscription per member and bot.
select
    'I24',
    min(s.id::text),
    s.user_id,
    null
from public.bot_subscriptions as s
where s.status <> 'cancelled'
group by s.user_id, s.bot_name
having count(*) > 1
union all
-- I25 No administrator session lasts longer than eight hours.
select
    'I25',
    s.session_token::text,
    null,
    null
from public.admin_sessions as s
left join private.admin_session_activity as a on s.session_token = a.session_token
where a.session_token is null or s.expires_at > a.started_at + interval '8 hours 1 second'
union all
-- I26 The audit chain is intact.
select
    'I26',
    a.object,
    null,
    null
from private.verify_audit_chain() as a (object)
union all
-- I27 Counters equal the values they count.
select
    'I27',
    f.name,
    null,
    null
from (
    select
        f.name,
        f.value
    from (
        select
            count(*) as members,
            count(*) filter (where p.package_value > 0) as active,
            coalesce(sum(p.package_value), 0) as packages,
            count(*) filter (where p.account_verified) as verified
        from private.profiles as p
    ) as p
    cross join
        lateral (
            values
            ('profiles', p.members::numeric),
            ('active_profiles', p.active),
            ('package_investment', p.packages),
            ('verified_profiles', p.verified)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (
        select
            sum(d.pending_rows) as pending,
            sum(d.recounted) as recounted,
            sum(d.approved_rows) as approved,
            sum(d.rejected_rows) as rejected
        from claimed as d
    ) as d
    cross join
        lateral (
            values
            ('pending_deposits', d.pending), ('deposits_approved', d.recounted), ('deposits_approved_count', d.approved),
            ('deposits_rejected_count', d.rejected)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (
        select
            sum(w.pending_rows) as pending,
            sum(w.recounted) as recounted,
            sum(w.approved_rows) as approved,
            sum(w.rejected_rows) as rejected,
            sum(w.reserved) as reserved
        from drawn as w
    ) as w
    cross join
        lateral (
            values
            ('pending_withdrawals', w.pending), ('withdrawals_approved', w.recounted), ('withdrawals_approved_count', w.approved),
            ('withdrawals_rejected_count', w.rejected), ('reserved', w.reserved)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (select
        sum(e.total) as total,
        sum(e.referrals + e.pairings + e.overrides) as bonus_rows
    from earned as e) as e
    cross join lateral (values ('bonuses', e.total), ('bonus_rows', e.bonus_rows)) as f (name, value)
    union all
    select
        'shortfall',
        coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0)
    from private.totals as s
    where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (select
        sum(j.bonus_rows) as bonus_rows,
        sum(j.bonus_volume) as bonus_volume
    from journal as j) as j
    cross join lateral (values ('bonus_transactions', j.bonus_rows), ('bonus_volume', j.bonus_volume)) as f (name, value)
    union all
    select
        'subscriptions_' || e.status,
        coalesce(b.subscriptions, 0)
    from unnest(enum_range(null::public.subscription_status)) as e (status)
    left join (
        select
            s.status,
            count(*) as subscriptions
        from public.bot_subscriptions as s
        group by s.status
    ) as b on e.status = b.status
) as f left join private.counter_values() as c on f.name = c.name
where c.value is distinct from f.value
union all
-- I27 So do the daily totals of deposits and withdrawals.
select
    'I27',
    'flow of ' || f.day,
    null,
    null
from (
    select
        k.day,
        k.deposits,
        k.withdrawals,
        k.decided_deposits
    from private.flows_since('-infinity') as k
    union all
    select
        v.day,
        -v.deposits,
        0,
        -v.decided_deposits
    from public.deposits as d
    cross join
        lateral (
            values ((d.created_at at time zone 'UTC')::date, d.amount, 0), ((d.decided_at at time zone 'UTC')::date, 0, d.amount)
        ) as v (day, deposits, decided_deposits)
    where d.status = 'approved' and d.voided_at is null
    union all
    select
        (w.created_at at time zone 'UTC')::date,
        0,
        -w.amount,
        0
    from public.withdrawals as w
    where w.status = 'approved' and w.voided_at is null
) as f
group by f.day
having sum(f.deposits) <> 0 or sum(f.withdrawals) <> 0 or sum(f.decided_deposits) <> 0
union all
-- I28 A member's daily earnings match the journal (sample of 10,000 members).
select
    'I28',
    d.no || ' ' || d.day,
    o.user_id,
    null
from private.earning_day_discrepancies as d left join private.positions as o on d.no = o.no
union all
-- I29 Network totals equal the member's own values plus the networks of the direct referrals (sample of 10,000
-- members).
select
    'I29',
    n.no::text,
    o.user_id,
    null
from private.network_discrepancies as n left join private.positions as o on n.no = o.no
union all
-- I30 The daily growth of a large team matches its members' joining and funding (sample of 20 teams).
select
    'I30',
    d.no || ' ' || d.day,
    o.user_id,
    null
from private.team_day_discrepancies(20) as d left join private.positions as o on d.no = o.no
union all
-- I31 A deposit has its keys: without them I19 is blind.
select
    'I31',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
left join private.deposit_keys as k on d.id = k.deposit_id and d.reference_key = k.key
where k.key is null
union all
-- I33 The source of a pairing is the child that completed the pair.
select
    'I33',
    b.id::text,
    b.user_id,
    null
from private.pairs as q
inner join public.bonuses as b on b.bonus_type = 'pairing' and q.owner_no = b.subject_no and q.pair_no = b.pair_number
inner join private.positions as l on q.left_no = l.no
inner join private.positions as r on q.right_no = r.no
where b.amount_cents > 0 and b.source_user_id <> case when l.paid_order > r.paid_order then l.user_id else r.user_id end
union all
-- I34 A member's place in the order of fundings is the decision that made the member funded.
select
    'I34',
    o.user_id::text,
    o.user_id,
    null
from private.positions as o
left join claimed as d on o.user_id = d.user_id
left join private.corrected_fundings as f on o.user_id = f.user_id
where o.paid_order is distinct from case when o.paid_cents > 0 then coalesce(f.decision_no, d.first_decision_no) end
union all
-- I35 Whatever completed a journal row has its number.
select
    'I35',
    j.user_id::text,
    j.user_id,
    jsonb_build_object('rows', j.undecided_rows)
from journal as j
where j.undecided_rows > 0
union all
-- I36 A bonus has the time of its first journal row, and the journal row of a request the time of the request.
select
    'I36',
    e.source_id::text,
    e.user_id,
    null
from (
    select
        b.source_id,
        b.user_id
    from bonus_entries as b
    where b.wrong_time
    union all
    select
        d.source_id,
        d.user_id
    from deposit_entries as d
    where d.wrong_time
    union all
    select
        w.source_id,
        w.user_id
    from withdrawal_entries as w
    where w.wrong_time
) as e
union all
-- I37 The counts in totals are those of the bonuses, each type's its own.
select
    'I37',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_counts
union all
-- I38 The coverage of a past day is what the decisions that it saw say, with the requests that were pending then.
select
    'I38',
    c.day::text,
    null,
    c.details
from private.coverage_discrepancies() as c
union all
-- I39 A published disclosure has the credits and withdrawals of its period, by the decisions that it saw, and its
-- numbers of members agree with each other.
select
    'I39',
    (d.computed_at at time zone 'UTC')::text,
    null,
    d.details
from private.disclosure_discrepancies() as d
union all
-- I40 Package sizes, pairing rates and percentages are those of the compensation plan.
select
    'I40',
    c.object,
    null,
    null
from private.plan_discrepancies as c
union all
-- I41 Direct referrals are numbered in the order of joining, which decides who is paired with whom.
select
    'I41',
    s.no::text,
    o.user_id,
    null
from private.sibling_discrepancies as s left join private.positions as o on s.referrer_no = o.no
union all
-- I42 Nobody asked for or earned anything before there was anything to ask for, or in the future. I28 has the days.
select
    'I42',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_times
union all
-- I43 to I48 A request, its decision, a payout and a correction have one entry of the audit log each, which says the
-- same. I49 An administrator has the role of the last entry.
select
    a.rule,
    a.object,
    a.user_id,
    a.details
from private.audit_discrepancies as a;

COMMENT ON COLUMN "private"."coverage_days"."decision_no" IS 'The last decision that the figures include; null in rows from before, which nothing verifies.';

COMMENT ON COLUMN "private"."coverage_days"."pending_ids" IS 'The withdrawals that the figures count as pending; null in rows from before.';

COMMENT ON COLUMN "private"."income_disclosures"."decision_no" IS 'The last decision that the figures include; null in rows from before, which nothing verifies.';

COMMENT ON FUNCTION "private"."coverage_discrepancies"() IS 'Stored days whose coverage is not what the decisions that they saw and the requests that they name say: the first day of each run of such days, how many they are, and the figures of the first one. All days, but those from before decisions were noted.';

COMMENT ON FUNCTION "private"."disclosure_discrepancies"() IS 'Disclosures whose period, credits or withdrawals are not what the decisions that they saw say, or whose numbers of members do not agree: the first of each run of such disclosures, how many they are, and the sums of the first one. All disclosures, but those from before decisions were noted.';

COMMENT ON FUNCTION "private"."last_decision_no"() IS 'The last decision that the statement which calls this sees; 0 before the first. It sees all decisions up to this number and none after it: a number is taken under the money lock, which is held until the commit. The sequence itself counts decisions that nobody sees yet.';

COMMENT ON FUNCTION "private"."pending_at"(timestamp with time zone) IS 'Withdrawals that were pending at a moment of the past, by their times.';

COMMENT ON FUNCTION "private"."published_count"(text) IS 'A number of members of a disclosure; null when it is none, so that a damaged row stops no check.';

COMMENT ON FUNCTION "private"."published_time"(text) IS 'A time of a disclosure; null when it is none, so that a damaged row stops no check.';

COMMENT ON VIEW "private"."ledger_violations" IS 'Violations of the ledger''s invariants: the rule, the violating object, the member whose money it concerns (null: everybody''s), and figures that change when the violation does. Empty when there are none.';

REVOKE ALL ON FUNCTION "private"."coverage_discrepancies"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."coverage_discrepancies"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."coverage_discrepancies"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."disclosure_discrepancies"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."disclosure_discrepancies"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."disclosure_discrepancies"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."last_decision_no"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."last_decision_no"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."last_decision_no"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."pending_at"(timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."pending_at"(timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."pending_at"(timestamp WITH time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."published_count"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."published_count"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."published_count"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."published_time"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."published_time"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."published_time"(text) TO "postgres";
