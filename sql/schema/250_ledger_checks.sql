-- Ledger checks: invariants as queries that return no row. They run every minute and after every fault test; a row is
-- an alarm, not a repair. Each has a test that plants the corruption it detects. What a confirmed correction explains
-- is no violation. A row names the member whose money it concerns: decisions about that member's money wait, and when it
-- names nobody, all decisions do.
-- The checks read every table once or twice instead of once per invariant: queries on the same rows share a
-- materialised pass that keeps only discrepancies. Three invariants cover the values of charts and networks: with
-- very many members they check a random sample each time; all others, and these in small networks, read everything.

create table private.ledger_check_state (
    only_row boolean primary key default true check (only_row),
    checked_at timestamptz,
    violations integer not null default 0,
    rules jsonb not null default '{}',
    check_duration interval not null default '0',
    anchored_seq bigint,
    anchored_hash bytea,
    whole_at timestamptz,
    seen_since timestamptz,
    seen_seq bigint,
    sums_at timestamptz,
    sums_duration interval not null default '0'
);
comment on table private.ledger_check_state is 'The last ledger check: number of violations, by rule.';
comment on column private.ledger_check_state.check_duration is
'Duration of the last check. When above three seconds, the next one waits nine times as long.';
comment on column private.ledger_check_state.anchored_seq is
'Number of the link that the worker anchored externally last; null when there is none.';
comment on column private.ledger_check_state.anchored_hash is 'Hash of that link.';
comment on column private.ledger_check_state.whole_at is
'When everything was last looked at: the last check of a ledger that is read whole, else the end of the last round of the sweep.';
comment on column private.ledger_check_state.seen_since is 'Every row was looked at since then.';
comment on column private.ledger_check_state.seen_seq is 'The last link of the audit chain whose entry was looked at as a new one.';
comment on column private.ledger_check_state.sums_at is 'When the rules about sums over everybody were last looked at.';
comment on column private.ledger_check_state.sums_duration is 'How long that took.';
alter table private.ledger_check_state enable row level security;

insert into private.ledger_check_state default values;

create function private.ledger_check_sample(out first_no integer, out last_no integer)
language plpgsql volatile set search_path = '' as $$
declare
    v_members bigint := (select count(*) from private.positions);
    v_skip bigint := pg_catalog.floor(pg_catalog.random() * ((v_members + 9999) / 10000))::bigint * 10000;
begin
    select o.no into first_no from private.positions as o order by o.no offset v_skip limit 1;
    select o.no into last_no from private.positions as o where o.no >= first_no order by o.no offset 9999 limit 1;
    last_no := coalesce(last_no, 2147483647);
end
$$;
comment on function private.ledger_check_sample() is
'The random sample of members whose daily values and totals this check compares: 10,000, or all where there are fewer.';

-- What was found wrong once is looked at until it is right: another sample would not find it.
create function private.positions_with_alarm(p_rule text) returns setof integer
language sql stable rows 1 set search_path = '' as $$
    select distinct pg_catalog.split_part(a.object, ' ', 2)::integer
    from private.alarms as a
    where a.kind = 'ledger_violation' and a.ended_at is null and a.object ~ ('\A' || p_rule || ' [0-9]{1,9}( |\Z)')
$$;
comment on function private.positions_with_alarm(text) is 'Numbers of the members that open alarms of a sampled rule name.';

create function private.earning_day_differences(p_first_no integer, p_last_no integer, p_nos integer[] default null)
returns table (no integer, day date, referral numeric, pairing numeric, override numeric)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    select e.no, e.day, sum(e.referral), sum(e.pairing), sum(e.override)
    from (
        select d.no, d.day, -d.referral as referral, -d.pairing as pairing, -d.override as override
        from private.earning_days as d where d.no between p_first_no and p_last_no and (p_nos is null or d.no = any(p_nos))
        union all
        select c.no, c.day, -c.referral, -c.pairing, -c.override
        from private.network_deltas as c where c.no between p_first_no and p_last_no and (p_nos is null or c.no = any(p_nos))
        union all
        select
            o.no,
            (t.created_at at time zone 'UTC')::date,
            case b.bonus_type when 'referral' then t.amount else 0 end,
            case b.bonus_type when 'pairing' then t.amount else 0 end,
            case b.bonus_type when 'override' then t.amount else 0 end
        from private.positions as o
        inner join public.transactions as t on o.user_id = t.user_id and t.transaction_type = 'bonus'
        inner join public.bonuses as b on t.reference_id = b.id
        where o.no between p_first_no and p_last_no and (p_nos is null or o.no = any(p_nos))
    ) as e
    group by e.no, e.day
    having sum(e.referral) <> 0 or sum(e.pairing) <> 0 or sum(e.override) <> 0;
end
$$;
comment on function private.earning_day_differences(integer, integer, integer[]) is
'What the materialised earnings of the members from one number to another, or those of them who are named, lack of the journal, by day; negative: what they have too much.';

create function private.earning_day_discrepancies(p_part private.ledger_part) returns table (no integer, day date)
language plpgsql volatile set search_path = '' as $$
begin
    return query
    select distinct d.no, d.day
    from (
        select c.first_no, c.last_no from private.ledger_check_sample() as c
        where private.is_everybody(p_part)
        union all
        select a.no, a.no from private.positions_with_alarm('I28') as a (no)
        where private.is_everybody(p_part)
        union all
        select coalesce((p_part).first_no, 0), coalesce((p_part).until_no - 1, 2147483647)
        where not private.is_everybody(p_part)
    ) as s
    cross join lateral private.earning_day_differences(s.first_no, s.last_no, (p_part).nos) as d;
end
$$;
comment on function private.earning_day_discrepancies(private.ledger_part) is
'Days of the members at these positions, or of a sample of all (null), on which the materialised earnings differ from the journal.';

create function private.network_differences(p_first_no integer, p_last_no integer, p_nos integer[] default null)
returns table (
    no integer, members integer, package_cents bigint, referral numeric, pairing numeric, override numeric, direct_cents bigint,
    direct_funded integer
)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    with changed as materialized (
        select
            c.no,
            sum(c.members) as members,
            sum(c.package_cents) as package_cents,
            sum(c.funded) as funded,
            sum(c.referral) as referral,
            sum(c.pairing) as pairing,
            sum(c.override) as override
        from private.network_deltas as c
        group by c.no
    ),
    due as (
        select
            o.no,
            1 + b.members - coalesce(n.members, 0) - coalesce(h.members, 0) as members,
            o.package_cents + b.package_cents - coalesce(n.package_cents, 0) - coalesce(h.package_cents, 0) as package_cents,
            t.referral_amount + b.referral - coalesce(n.referral, 0) - coalesce(h.referral, 0) as referral,
            t.pairing_amount + b.pairing - coalesce(n.pairing, 0) - coalesce(h.pairing, 0) as pairing,
            t.override_amount + b.override - coalesce(n.override, 0) - coalesce(h.override, 0) as override,
            b.direct_cents - coalesce(n.direct_cents, 0) - coalesce(d.package_cents, 0) as direct_cents,
            b.direct_funded - coalesce(n.direct_funded, 0) - coalesce(d.funded, 0) as direct_funded
        from private.positions as o
        inner join private.totals as t on o.user_id = t.user_id
        left join private.networks as n on o.no = n.no
        left join changed as h on o.no = h.no
        left join (
            select p.referrer_no, sum(c.package_cents) as package_cents, sum(c.funded) as funded
            from changed as c inner join private.positions as p on c.no = p.no
            group by p.referrer_no
        ) as d on o.no = d.referrer_no
        cross join lateral (
            select
                coalesce(sum(k.members), 0) as members,
                coalesce(sum(k.package_cents), 0) as package_cents,
                coalesce(sum(k.referral), 0) as referral,
                coalesce(sum(k.pairing), 0) as pairing,
                coalesce(sum(k.override), 0) as override,
                coalesce(sum(c.package_cents), 0) as direct_cents,
                count(*) filter (where c.paid_cents > 0) as direct_funded
            from private.positions as c left join private.networks as k on c.no = k.no
            where c.referrer_no = o.no
        ) as b
        where o.no between p_first_no and p_last_no and (p_nos is null or o.no = any(p_nos))
    )
    select
        u.no, u.members::integer, u.package_cents::bigint, u.referral::numeric, u.pairing::numeric, u.override::numeric,
        u.direct_cents::bigint, u.direct_funded::integer
    from due as u
    where (u.members, u.package_cents, u.referral, u.pairing, u.override, u.direct_cents, u.direct_funded) is distinct from (0, 0, 0, 0, 0, 0, 0);
end
$$;
comment on function private.network_differences(integer, integer, integer[]) is
'What the network totals of the members from one number to another, or those of them who are named, lack of their own values plus their direct referrals'' networks. One level of the tree is enough: if it holds for every member, it holds for the whole downline.';

create function private.network_discrepancies(p_part private.ledger_part) returns setof integer
language plpgsql volatile set search_path = '' as $$
begin
    return query
    select distinct d.no
    from (
        select c.first_no, c.last_no from private.ledger_check_sample() as c
        where private.is_everybody(p_part)
        union all
        select a.no, a.no from private.positions_with_alarm('I29') as a (no)
        where private.is_everybody(p_part)
        union all
        select coalesce((p_part).first_no, 0), coalesce((p_part).until_no - 1, 2147483647)
        where not private.is_everybody(p_part)
    ) as s
    cross join lateral private.network_differences(s.first_no, s.last_no, (p_part).nos) as d;
end
$$;
comment on function private.network_discrepancies(private.ledger_part) is
'Of the members at these positions, or of a sample of all (null), those whose network totals are not their own values plus their direct referrals'' networks.';

create function private.team_day_discrepancies(p_teams integer, p_part private.ledger_part default null) returns table (no integer, day date)
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = ''
-- A recursive walk: the planner overestimates its rows.
set enable_hashjoin = 'off' set enable_mergejoin = 'off'
-- Its steps are look-ups, even where the calling check scans whole tables.
set enable_indexscan = 'on' as $$
begin
    return query
    with recursive teams as materialized (
        (
            select n.no from private.networks as n
            -- The large teams first, which are few: the offset keeps the planner from reading all members of a range of ids.
            cross join lateral (select p.user_id from private.positions as p where p.no = n.no offset 0) as o
            where n.has_days and private.is_asked(p_part, o.user_id)
            order by pg_catalog.random() limit case when private.is_everybody(p_part) then p_teams end
        )
        union
        select n.no from private.networks as n inner join private.positions_with_alarm('I30') as a (no) on n.no = a.no
        where n.has_days and private.is_everybody(p_part)
    ),

    downline as (
        select t.no as top_no, t.no, null::timestamptz as joined_at, true as has_children, false as is_funded, false as has_days
        from teams as t
        union all
        select b.top_no, c.no, c.joined_at, c.children > 0, c.paid_cents > 0, n.no is not null
        from downline as b
        inner join private.positions as c on b.no = c.referrer_no
        left join private.networks as n on c.no = n.no and n.has_days
        -- A large team within it has its own days, checked separately.
        where b.has_children and not b.has_days
    ),

    found as (
        -- I23 compares it with the profile and the direct referrals, I11 the bonuses with who is funded.
        select b.top_no, (b.joined_at at time zone 'UTC')::date as day, 1 as members, 0 as funded
        from downline as b
        where b.no <> b.top_no
        union all
        select b.top_no, (r.created_at at time zone 'UTC')::date, 0, 1
        from downline as b inner join public.bonuses as r on r.bonus_type = 'referral' and b.no = r.subject_no and r.amount > 0
        where b.is_funded
        union all
        select b.top_no, d.day, d.members, d.funded from downline as b inner join private.team_days as d on b.no = d.no where b.has_days
        union all
        select b.top_no, c.day, -c.members, -c.funded
        from downline as b inner join private.network_deltas as c on b.no = c.no where b.no <> b.top_no
        union all
        select t.no, d.day, -d.members, -d.funded from teams as t inner join private.team_days as d on t.no = d.no
    )
    select f.top_no, f.day
    from found as f group by f.top_no, f.day having sum(f.members) <> 0 or sum(f.funded) <> 0;
end
$$;
comment on function private.team_day_discrepancies(integer, private.ledger_part) is
'Days on which the materialised growth of a large team differs from tree and bonuses: of those of these members that are large, or of a sample of as many; null, null: all. By member: the first positions have most of the large teams.';

-- The rules. Each function has those that look at the same rows, and takes whose (155_ledger_parts.sql): null for
-- everybody's, or the members whom a sweep or a change names. So a rule is written once, and what it says of one member
-- depends on no other member's being looked at. With null, tables are read from end to end, otherwise by their indexes.
-- A part that names members names their positions too: a rule may look for these by member or by number.

create function private.journal_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    with entries as materialized (
        select t.id, t.user_id, t.transaction_type, t.reference_id, t.amount, t.status, t.decision_no, t.created_at
        from public.transactions as t
        where private.is_asked(p_part, t.user_id)
    ),

    -- Sources and journal rows that do not match. A row is its source's when it is of the same member.
    bonus_entries as materialized (
        select
            b.id as source_id,
            coalesce(b.user_id, j.user_id) as user_id,
            j.reference_id,
            (coalesce(j.amount, 0) <> b.amount) as wrong_amount,
            -- The first is the one of the first decision: a clock can step back.
            (j.first_at <> extract(epoch from b.created_at) * 1000000) as wrong_time
        from (
            select s.* from public.bonuses as s
            where private.is_asked(p_part, s.user_id)
        ) as b
        full join (
            select
                t.reference_id,
                t.user_id,
                coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
                (min(array[t.decision_no, (extract(epoch from t.created_at) * 1000000)::bigint]))[2] as first_at
            from entries as t
            where t.transaction_type = 'bonus'
            group by t.reference_id, t.user_id
        ) as j on b.id = j.reference_id and b.user_id = j.user_id
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
                (t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                    d.amount::numeric,
                    d.decision_no,
                    case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
                )
            ) as wrong_entry
        from (
            select s.* from public.deposits as s
            where private.is_asked(p_part, s.user_id)
        ) as d
        full join (
            select * from entries as j where j.transaction_type = 'deposit'
        ) as t on d.id = t.reference_id and d.user_id = t.user_id
        where (t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
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
                (t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                    -w.amount::numeric,
                    w.decision_no,
                    case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
                )
            ) as wrong_entry
        from (
            select s.* from public.withdrawals as s
            where private.is_asked(p_part, s.user_id)
        ) as w
        full join (
            select * from entries as j where j.transaction_type = 'withdrawal'
        ) as t on w.id = t.reference_id and w.user_id = t.user_id
        where (t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
            -w.amount::numeric,
            w.decision_no,
            case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
            w.created_at
        )
    )

    -- I01 The journal rows of a bonus sum to its amount.
    select 'I01', e.source_id::text, e.user_id, null::jsonb
    from bonus_entries as e
    where e.source_id is not null and e.wrong_amount
    union all
    -- I03 An approved deposit has its completed journal row, a pending one a pending row, a rejected one a failed row, with
    -- the number of the same decision.
    select 'I03', e.source_id::text, e.user_id, null
    from deposit_entries as e
    where e.source_id is not null and e.wrong_entry
    union all
    -- I04 The same for withdrawals, negative.
    select 'I04', e.source_id::text, e.user_id, null
    from withdrawal_entries as e
    where e.source_id is not null and e.wrong_entry
    union all
    -- I05 Every journal row has a source.
    select 'I05', o.entry_id::text, o.user_id, null
    from (
        select d.entry_id, d.user_id
        from deposit_entries as d
        where d.source_id is null
        union all
        select w.entry_id, w.user_id
        from withdrawal_entries as w
        where w.source_id is null
        union all
        select t.id, t.user_id
        from bonus_entries as b
        inner join entries as t
            on t.transaction_type = 'bonus' and b.reference_id = t.reference_id and b.user_id = t.user_id
        where b.source_id is null
    ) as o
    inner join entries as t on o.entry_id = t.id
    where
        not exists (
            select 1 from private.due_request_rows as q
            where q.reference_id = t.reference_id
                and (q.transaction_type, q.user_id, q.amount, q.status, q.decision_no, q.created_at)
                    is not distinct from (t.transaction_type, t.user_id, t.amount::numeric, t.status, t.decision_no, t.created_at)
        )
        and not private.is_booked_back(t.reference_id, t.user_id)
    union all
    -- I06 One journal row per deposit and withdrawal.
    select 'I06', t.reference_id::text, t.user_id, null
    from entries as t
    where t.transaction_type <> 'bonus'
    group by t.transaction_type, t.reference_id, t.user_id
    having count(*) > 1
    union all
    -- I36 A bonus has the time of its first journal row, and the journal row of a request the time of the request.
    select 'I36', e.source_id::text, e.user_id, null
    from (
        select b.source_id, b.user_id
        from bonus_entries as b
        where b.wrong_time and not private.is_booked_elsewhere_first(b.source_id, b.user_id)
        union all
        select d.source_id, d.user_id
        from deposit_entries as d
        where d.wrong_time
        union all
        select w.source_id, w.user_id
        from withdrawal_entries as w
        where w.wrong_time
    ) as e
    union all
    -- I50 No decision, correction or repair has a number that is yet to be given; the highest such number stands for all.
    select 'I50', n.object, null::uuid, null
    from (
        select g.object
        from (
            select e.id::text as object, e.decision_no from entries as e
            union all
            select c.id::text, c.decision_no from private.corrections as c where private.is_asked(p_part, c.user_id)
            union all
            select r.decision_no::text, r.decision_no from private.numbered_repairs as r
        ) as g
        where g.decision_no > coalesce(private.last_decision_no(), -1)
        order by g.decision_no desc limit 1
    ) as n;
end
$$;
comment on function private.journal_violations(private.ledger_part) is
'Rules about the journal rows of these members (null: all) and what they are of. I01, I03 to I06, I36, I50.';

create function private.bonus_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    with bonus_rows as materialized (
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
            where private.is_asked(p_part, b.user_id)
        ) as r
        where r.wrong_owner or r.from_oneself or r.wrong_amount
    )

    -- I10 One row per natural key; I11 checks owner and source.
    select 'I10', b.bonus_type || ' ' || b.subject_no || ' ' || coalesce(b.pair_number::text, ''), b.user_id, null::jsonb
    from public.bonuses as b
    where private.is_asked(p_part, b.user_id)
    group by b.bonus_type, b.subject_no, b.pair_number, b.user_id
    having count(*) > 1
    union all
    -- I11 Bonuses match tree and packages, and are paid to the right members.
    select 'I11', w.bonus_type || ' ' || w.subject_no || ' ' || coalesce(w.pair_number::text, ''), o.user_id, null
    from pg_catalog.unnest(
        case when private.is_everybody(p_part) then private.all_bonus_discrepancies() else private.bonus_discrepancies(p_part) end
    ) as w
    left join private.positions as s on w.subject_no = s.no
    -- A bonus that is no longer due has no owner in the comparison.
    left join private.positions as o on coalesce(w.user_no, case w.bonus_type when 'pairing' then s.no else s.referrer_no end) = o.no
    union all
    select 'I11', b.id::text, b.user_id, null
    from bonus_rows as b
    where b.wrong_owner
    union all
    -- I12 Nobody earns a bonus from oneself.
    select 'I12', b.id::text, b.user_id, null
    from bonus_rows as b
    where b.from_oneself
    union all
    -- I16 A bonus is in range, and zero only when a correction or a repair was the last to change it.
    select 'I16', b.id::text, b.user_id, null
    from bonus_rows as b
    where
        b.wrong_amount
        and not (b.amount = 0 and exists (
            select 1
            from (
                select t.amount, t.decision_no
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
                and a.action collate "C" = 'books.repaired'
                and a.payload -> 'repairs' @> pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('bonus_id', b.id, 'new_amount', '0.00'))
        )
    union all
    -- I33 The source of a pairing is the child that completed the pair.
    -- The owner is not joined: with it pairs are looked up by owner alone, where a hub has hundreds of thousands.
    select 'I33', b.id::text, (select o.user_id from private.positions as o where o.no = b.subject_no), null
    from public.bonuses as b
    inner join private.positions as l on b.subject_no = l.referrer_no and b.pair_number = l.pair_no and l.is_left and l.paid_cents > 0
    inner join private.positions as r on b.subject_no = r.referrer_no and b.pair_number = r.pair_no and not r.is_left and r.paid_cents > 0
    where
        b.bonus_type = 'pairing' and b.amount_cents > 0
        and b.source_user_id <> case when l.paid_order > r.paid_order then l.user_id else r.user_id end
        and private.is_asked(p_part, b.subject_no);
end
$$;
comment on function private.bonus_violations(private.ledger_part) is
'Rules about the bonuses that these members (null: all) earn or are at their positions the subject of. I10 to I12, I16, I33.';

create function private.is_decision_wrong(
    p_status public.request_status, p_decided_at timestamptz, p_decided_by uuid, p_notes text
) returns boolean
language sql immutable parallel safe as $$
    select (p_status = 'pending') <> (p_decided_at is null)
        or (p_status = 'pending' and p_decided_by is not null)
        or (p_status <> 'pending' and p_decided_by is null and coalesce(p_notes, '') not in ('Cancelled by the member', 'Account closed'))
$$;
comment on function private.is_decision_wrong(public.request_status, timestamptz, uuid, text) is
'Whether a request is pending with a decision, or decided without a time, or without a decider although no member''s cancellation or closed account explains it.';

create function private.request_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    with wrong_deposits as materialized (
        select f.*
        from (
            select
                d.id,
                d.user_id,
                d.amount not between 1 and 10000000
                or (d.kind <> 'cash_in' and not exists (select 1 from private.packages as p where p.value = d.amount)) as wrong_amount,
                (
                    private.is_decision_wrong(d.status, d.decided_at, d.decided_by, d.admin_notes)
                    or d.voided_at is distinct from v.confirmed_at
                    or exists (
                        select 1 from private.deposit_rests as s
                        where s.deposit_id = d.id and s.ended_at is distinct from coalesce(
                            (select min(n.asked_at) from private.deposit_rests as n where n.deposit_id = s.deposit_id and n.no > s.no), d.decided_at
                        )
                    )
                ) as wrong_decision,
                (
                    o.owner_id is distinct from d.user_id::text or pg_catalog.split_part(r.name, '/', 1) <> d.user_id::text
                    or o.metadata ->> 'eTag' is distinct from r.etag
                ) as wrong_receipt,
                -- Most are a hash as it is written: to take each apart would cost more than all other rules.
                case
                    when k.keys = 1 and k.kind = 'hash' and k.key = d.reference_number and d.reference_number ~ '\A[0-9a-f]{64}\Z'
                        then exists (select 1 from private.deposit_rests as s where s.deposit_id = d.id and s.reference_number is not null)
                    else private.are_keys_wrong(d.id, d.reference_number, false)
                end as wrong_keys
            from public.deposits as d
            left join private.deposit_receipts as r on d.id = r.deposit_id
            left join storage.objects as o on o.bucket_id = 'receipts' and r.name = o.name
            left join private.confirmed_voids as v on d.id = v.target_id
            cross join lateral (
                select count(*) as keys, min(t.key) as key, min(t.kind) as kind from private.transfer_keys as t
                where t.request_id = d.id and not t.is_payout
            ) as k
            where private.is_asked(p_part, d.user_id)
        ) as f
        where f.wrong_amount or f.wrong_decision or f.wrong_receipt or f.wrong_keys
    ),

    wrong_withdrawals as materialized (
        select f.*
        from (
            select
                w.id,
                w.user_id,
                w.amount not between 100 and 10000000 as wrong_amount,
                (
                    private.is_decision_wrong(w.status, w.decided_at, w.decided_by, w.admin_notes)
                    or w.voided_at is distinct from v.confirmed_at
                ) as wrong_decision,
                private.are_keys_wrong(w.id, w.payout_reference, true) as wrong_keys
            from public.withdrawals as w
            left join private.confirmed_voids as v on w.id = v.target_id
            where private.is_asked(p_part, w.user_id)
        ) as f
        where f.wrong_amount or f.wrong_decision or f.wrong_keys
    )

    -- I16 Amounts are finite and in range, and packages sizes; bonus_violations has the bonuses.
    select 'I16', r.id::text, r.user_id, null::jsonb
    from (
        select d.id, d.user_id
        from wrong_deposits as d
        where d.wrong_amount
        union all
        select w.id, w.user_id
        from wrong_withdrawals as w
        where w.wrong_amount
    ) as r
    union all
    -- I17 Decided rows have a time and a decider; a member's own cancellation and a closed account have no decider. A
    -- confirmed correction voids a request, and nothing else does.
    select 'I17', r.id::text, r.user_id, null
    from (
        select d.id, d.user_id
        from wrong_deposits as d
        where d.wrong_decision
        union all
        select w.id, w.user_id
        from wrong_withdrawals as w
        where w.wrong_decision
    ) as r
    union all
    -- I19 A transfer is approved once.
    select 'I19', t.deposit_id::text, t.user_id, null
    from private.transfers_credited_twice as t
    where private.is_asked(p_part, t.user_id)
    union all
    -- I20 The receipt exists, in the member's folder, owned by the member, and is the file that was sent.
    select 'I20', d.id::text, d.user_id, null
    from wrong_deposits as d
    where d.wrong_receipt
    union all
    -- I24 One active or suspended subscription per member and bot.
    select 'I24', min(s.id::text), s.user_id, null
    from public.bot_subscriptions as s
    where s.status <> 'cancelled' and private.is_asked(p_part, s.user_id)
    group by s.user_id, s.bot_name
    having count(*) > 1
    union all
    -- I31 A deposit and a payout have their keys: without them I19 is blind.
    select 'I31', r.id::text, r.user_id, null
    from (
        select d.id, d.user_id
        from wrong_deposits as d
        where d.wrong_keys
        union all
        select w.id, w.user_id
        from wrong_withdrawals as w
        where w.wrong_keys
    ) as r;
end
$$;
comment on function private.request_violations(private.ledger_part) is
'Rules about what these members (null: all) asked for: deposits, withdrawals, bots. I16, I17, I19, I20, I24, I31.';

create function private.place_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    with places as materialized (
        select l.*
        from (
            select
                p.id,
                p.user_id,
                o.no,
                o.no is null as lacks_position,
                p.depth <> coalesce(s.depth + 1, 0) as wrong_depth,
                s.created_at >= p.created_at as older_than_referrer,
                (r.user_id is distinct from s.user_id)
                or o.joined_at <> p.created_at
                or o.package_cents <> p.package_value * 100
                or o.paid_cents <> case when p.cash_in_amount >= p.package_value then p.package_value * 100 else 0 end
                or ((o.children, o.children) is distinct from (coalesce(c.children, 0)::integer, coalesce(c.last, 0))) as wrong_place
            from (
                select m.* from private.profiles as m
                where private.is_asked(p_part, m.user_id)
            ) as p
            left join (
                select n.* from private.positions as n
                where private.is_asked(p_part, n.no)
            ) as o
                on p.user_id = o.user_id
            left join private.profiles as s on p.referrer_id = s.id
            left join private.positions as r on o.referrer_no = r.no
            left join (
                select
                    c.referrer_no,
                    count(*) as children,
                    max(c.child_no) as last
                from private.positions as c
                where c.referrer_no is not null and private.is_asked(p_part, c.referrer_no)
                group by c.referrer_no
            ) as c on o.no = c.referrer_no
        ) as l
        where l.lacks_position or l.wrong_depth or l.older_than_referrer or l.wrong_place
    )

    -- I14 A member's depth is the referrer's plus one, a root's 0: so there is no cycle.
    select 'I14', l.id::text, l.user_id, null::jsonb
    from places as l
    where l.wrong_depth
    union all
    -- I15 A referrer is older than the referred member.
    select 'I15', l.id::text, l.user_id, null
    from places as l
    where l.older_than_referrer
    union all
    -- I18 Usernames are unique ignoring case.
    select 'I18', p.user_id::text, p.user_id, null
    from private.profiles as p
    where
        private.is_asked(p_part, p.user_id)
        and exists (
            select 1 from private.profiles as q
            where pg_catalog.lower(q.username) = pg_catalog.lower(p.username) and q.id <> p.id
        )
    union all
    -- I23 Child numbers are unique and have no gap, and a position has the member's package.
    select 'I23', l.no::text, l.user_id, null
    from places as l
    where l.wrong_place and not l.lacks_position
    union all
    select 'I23', l.id::text, l.user_id, null
    from places as l
    -- None in this part, and none anywhere.
    where l.lacks_position and not exists (select 1 from private.positions as o where o.user_id = l.user_id)
    union all
    -- I41 Direct referrals are numbered in the order of joining, which decides who is paired with whom.
    select 'I41', s.no::text, o.user_id, null
    from private.sibling_discrepancies as s left join private.positions as o on s.referrer_no = o.no
    where private.is_asked(p_part, s.referrer_no);
end
$$;
comment on function private.place_violations(private.ledger_part) is
'Rules about the places of these members (null: all) in the tree, and of their direct referrals. I14, I15, I18, I23, I41.';

create function private.network_violations(
    p_networks private.ledger_part, p_earners private.ledger_part, p_teams private.ledger_part
)
returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    -- I28 A member's daily earnings match the journal (of all members a sample of 10,000).
    select 'I28', d.no || ' ' || d.day, o.user_id, null::jsonb
    from private.earning_day_discrepancies(p_earners) as d left join private.positions as o on d.no = o.no
    union all
    -- I29 Network totals equal the member's own values plus the networks of the direct referrals (of all members a
    -- sample of 10,000).
    select 'I29', n.no::text, o.user_id, null
    from private.network_discrepancies(p_networks) as n (no) left join private.positions as o on n.no = o.no
    union all
    -- I30 The daily growth of a large team matches its members' joining and funding (of all teams a sample of 20).
    select 'I30', d.no || ' ' || d.day, o.user_id, null
    from private.team_day_discrepancies(20, p_teams) as d left join private.positions as o on d.no = o.no;
end
$$;
comment on function private.network_violations(private.ledger_part, private.ledger_part, private.ledger_part) is
'Rules about what is rolled up: the networks of these positions, the earnings by day of these, the growth of these members'' large teams; of null a sample. I28 to I30.';

create function private.due_counters() returns table (name text, value numeric)
language plpgsql stable set search_path = '' as $$
begin
    return query
    select f.name, f.value
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
            ('profiles', p.members::numeric), ('active_profiles', p.active), ('package_investment', p.packages),
            ('verified_profiles', p.verified)
        ) as f (name, value)
    union all
    select f.name, coalesce(f.value, 0)
    from (
        select
            count(*) filter (where d.status = 'pending') as pending,
            sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null) as recounted,
            count(*) filter (where d.status = 'approved') as approved,
            count(*) filter (where d.status = 'rejected') as rejected
        from public.deposits as d
    ) as d
    cross join
        lateral (
            values
            ('pending_deposits', d.pending::numeric), ('deposits_approved', d.recounted), ('deposits_approved_count', d.approved),
            ('deposits_rejected_count', d.rejected)
        ) as f (name, value)
    union all
    select f.name, coalesce(f.value, 0)
    from (
        select
            count(*) filter (where w.status = 'pending') as pending,
            sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null) as recounted,
            count(*) filter (where w.status = 'approved') as approved,
            count(*) filter (where w.status = 'rejected') as rejected,
            count(w.payout_reference) as paid,
            sum(w.amount) filter (where w.status = 'pending') as reserved
        from public.withdrawals as w
    ) as w
    cross join
        lateral (
            values
            ('pending_withdrawals', w.pending::numeric), ('withdrawals_approved', w.recounted), ('withdrawals_approved_count', w.approved),
            ('withdrawals_rejected_count', w.rejected), ('withdrawals_paid_count', w.paid), ('reserved', w.reserved)
        ) as f (name, value)
    union all
    select f.name, coalesce(f.value, 0)
    from (
        select
            sum(b.amount_cents) * 0.01 as total,
            count(*) filter (where b.amount_cents > 0) as bonus_rows
        from public.bonuses as b
    ) as b
    cross join lateral (values ('bonuses', b.total), ('bonus_rows', b.bonus_rows::numeric)) as f (name, value)
    union all
    select 'shortfall', coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0)
    from private.totals as s
    where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    union all
    select f.name, coalesce(f.value, 0)
    from (
        select
            count(*) as bonus_rows,
            sum(abs(t.amount)) as bonus_volume
        from public.transactions as t
        where t.transaction_type = 'bonus'
    ) as t
    cross join lateral (values ('bonus_transactions', t.bonus_rows::numeric), ('bonus_volume', t.bonus_volume)) as f (name, value)
    union all
    select 'subscriptions_' || e.status, coalesce(b.subscriptions, 0)
    from pg_catalog.unnest(pg_catalog.enum_range(null::public.subscription_status)) as e (status)
    left join (
        select s.status, count(*) as subscriptions
        from public.bot_subscriptions as s
        group by s.status
    ) as b on e.status = b.status;
end
$$;
comment on function private.due_counters() is 'What each counter counts, counted in the rows.';

create function private.sum_violations() returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set search_path = '' as $$
begin
    return query
    -- I21 Bonuses never exceed 56% of funded packages.
    select 'I21', 'all', null::uuid, null::jsonb
    where
        (select coalesce(sum(b.amount_cents), 0) * 0.01 from public.bonuses as b)
        > 0.56 * (select coalesce(sum(p.paid_cents), 0) * 0.01 from private.positions as p)
    union all
    -- I22 No more is paid out than was received, including deposits voided later, which counted at the time.
    select 'I22', 'all', null, null
    where
        (select coalesce(sum(w.amount), 0) from public.withdrawals as w where w.status = 'approved' and w.voided_at is null)
        > (select coalesce(sum(d.amount), 0) from public.deposits as d where d.status = 'approved')
    union all
    -- I27 Counters equal the values they count.
    select 'I27', f.name, null, null
    from private.due_counters() as f left join private.counter_values() as c on f.name = c.name
    where c.value is distinct from f.value
    union all
    -- I27 So do the daily totals of deposits and withdrawals.
    select 'I27', 'flow of ' || coalesce(f.day::text, 'no day'), null, null
    from (
        select k.day, k.deposits, k.withdrawals, k.decided_deposits
        from private.flows_since('-infinity') as k
        union all
        select v.day, -v.deposits, 0, -v.decided_deposits
        from public.deposits as d
        cross join
            lateral (
                values ((d.created_at at time zone 'UTC')::date, d.amount, 0), ((d.decided_at at time zone 'UTC')::date, 0, d.amount)
            ) as v (day, deposits, decided_deposits)
        where d.status = 'approved' and d.voided_at is null
        union all
        select (w.created_at at time zone 'UTC')::date, 0, -w.amount, 0
        from public.withdrawals as w
        where w.status = 'approved' and w.voided_at is null
    ) as f
    group by f.day
    having sum(f.deposits) <> 0 or sum(f.withdrawals) <> 0 or sum(f.decided_deposits) <> 0
    union all
    -- I38 The coverage of a past day is what the decisions that it saw say, with the requests that were pending then.
    select 'I38', c.day::text, null, c.details
    from private.coverage_discrepancies() as c
    union all
    -- I39 A published disclosure has the credits and withdrawals of its period, by the decisions that it saw, and its
    -- numbers of members agree with each other.
    select 'I39', (d.computed_at at time zone 'UTC')::text, null, d.details
    from private.disclosure_discrepancies() as d;
end
$$;
comment on function private.sum_violations() is
'Rules about sums over everybody: what all earned and paid, counters, stored days, disclosures. They read whole tables. I21, I22, I27, I38, I39.';

create function private.standing_violations() returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set search_path = '' as $$
begin
    return query
    -- I25 No administrator session lasts longer than eight hours.
    select 'I25', s.session_token::text, null::uuid, null::jsonb
    from public.admin_sessions as s
    left join private.admin_session_activity as a on s.session_token = a.session_token
    where a.session_token is null or s.expires_at > a.started_at + interval '8 hours 1 second'
    union all
    -- I40 Package sizes, pairing rates and percentages are those of the compensation plan.
    select 'I40', c.object, null, null
    from private.plan_discrepancies as c
    union all
    -- I49 An administrator is what the last entry of the audit log says.
    select 'I49', a.id::text, null, a.details
    from private.administrator_discrepancies as a
    union all
    -- I52 And so is a setting.
    select 'I52', s.key, null, s.details
    from private.setting_discrepancies as s;
end
$$;
comment on function private.standing_violations() is
'Rules about what stays small: administrators, their sessions, the plan, settings. I25, I40, I49, I52.';

create function private.member_violations(p_part private.ledger_part, p_objects uuid[])
returns table (rule text, object text, user_id uuid, details jsonb)
language sql stable set search_path = '' as $$
    select v.* from private.balance_violations(p_part) as v
    union all
    select v.* from private.journal_violations(p_part) as v
    union all
    select v.* from private.bonus_violations(p_part) as v
    union all
    select v.* from private.request_violations(p_part) as v
    union all
    select v.* from private.place_violations(p_part) as v
    union all
    select v.* from private.member_state_violations(p_part) as v
    union all
    -- I43 to I48 A request, its decision, a payout and a correction have one entry of the audit log each, which says the
    -- same.
    select v.* from private.audit_discrepancies(p_objects) as v
$$;
comment on function private.member_violations(private.ledger_part, uuid[]) is
'The rules about these members (null: all), these positions, and these requests and corrections.';

create view private.ledger_violations as
select
    m.rule,
    m.object,
    m.user_id,
    m.details
from private.member_violations(null, null) as m
union all
select
    n.rule,
    n.object,
    n.user_id,
    n.details
from private.network_violations(null, null, null) as n
union all
-- I26 The audit chain is intact.
select
    'I26' as rule,
    c.object,
    null as user_id,
    null as details
from private.verify_audit_chain() as c (object)
union all
select
    s.rule,
    s.object,
    s.user_id,
    s.details
from private.sum_violations() as s
union all
select
    t.rule,
    t.object,
    t.user_id,
    t.details
from private.standing_violations() as t;
comment on view private.ledger_violations is
'Violations of the ledger''s invariants: the rule, the violating object, the member whose money it concerns (null: everybody''s), and figures that change when the violation does. Empty when there are none.';

create function private.check_ledger() returns table (rule text, object text, user_id uuid, details jsonb)
language sql stable set search_path = '' as $$
    select v.rule, v.object, v.user_id, v.details from private.ledger_violations as v
$$;
comment on function private.check_ledger() is 'Violations of the ledger''s invariants; none when all hold.';

-- An alarm for each violation, but at most 300: with more, those that are open already stay, the others are shared out
-- among the rules, and a rule that has more than its alarms has one more, which names the rule and nobody.
create function private.violation_alarms(p_found jsonb, p_is_part boolean default false) returns table (object text, user_id uuid, details jsonb)
language sql stable set search_path = '' as $$
    with found as materialized (
        select distinct on (o.object)
            v.rule,
            o.object,
            v.user_id,
            coalesce(v.details, '{}') as details
        from jsonb_to_recordset(p_found) as v (rule text, object text, user_id uuid, details jsonb)
        cross join lateral (select left(v.rule || ' ' || v.object, 200) as object) as o
        order by o.object
    ),

    ranked as (
        select
            f.*,
            row_number() over (partition by f.rule order by a.id is null, f.object) as place
        from found as f
        left join private.alarms as a on a.kind = 'ledger_violation' and f.object = a.object and a.ended_at is null
    ),

    listed as materialized (
        select r.* from ranked as r order by r.place, r.rule limit 300
    )

    select
        l.object,
        l.user_id,
        l.details
    from listed as l
    union all
    select
        f.rule,
        null,
        -- A sample has another number each time, and so has a part.
        case when p_is_part or f.rule in ('I28', 'I29', 'I30') then '{}' else jsonb_build_object('violations', count(*)) end
    from found as f
    group by f.rule
    having count(*) > (select count(*) from listed as l where l.rule = f.rule)
    order by 1
$$;
comment on function private.violation_alarms(jsonb, boolean) is
'The alarms of what a check found, as an array: object, member, figures; p_is_part: it did not look at everything.';

-- What a check has not looked at stays open: an alarm ends when a check that looked at its row finds it mended.
create function private.record_violations(p_found jsonb, p_is_part boolean default false, p_unseen_rules text[] default '{}') returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_alarm record;
    v_seen text[] := array[]::text[];
begin
    perform from private.alarm_mail_state as s for no key update;
    update private.alarms as a set acknowledged_at = null, acknowledged_by = null, reason = null
    where a.kind in ('ledger_violation', 'restored') and a.ended_at is null and a.acknowledged_at is not null
        and not exists (select from private.audit_log as l where l.object_id = a.id and l.action = 'alarm.acknowledged');
    for v_alarm in select v.object, v.user_id, v.details from private.violation_alarms(p_found, p_is_part) as v loop
        perform private.raise_alarm('ledger_violation', v_alarm.object, v_alarm.user_id, v_alarm.details);
        v_seen := v_seen || v_alarm.object;
    end loop;
    update private.alarms as a set ended_at = pg_catalog.clock_timestamp()
    where a.kind = 'ledger_violation' and a.ended_at is null and a.object <> all(v_seen)
        and pg_catalog.left(a.object, 3) <> all(p_unseen_rules)
        -- A rule as a whole may be violated elsewhere.
        and not (p_is_part and pg_catalog.length(a.object) = 3)
        -- The next sample may have fewer: a sampled rule as a whole is over when nothing of it is found.
        and not (
            a.object in ('I28', 'I29', 'I30')
            and exists (select 1 from pg_catalog.unnest(v_seen) as s (object) where pg_catalog.starts_with(s.object, a.object))
        );
    perform private.announce_alarms();
end
$$;
comment on function private.record_violations(jsonb, boolean, text[]) is
'Raises an alarm for each violation found, ends those of violations that are not there any more, and notifies administrators. p_is_part: it did not look at everything, but at the rows of all open alarms, those of p_unseen_rules excepted.';
