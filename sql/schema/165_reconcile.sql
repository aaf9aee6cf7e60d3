-- Reconciliation of bonuses. Every approval posts its own bonuses; this compares all of them with the tree and
-- changes nothing when they match. It never deletes: it inserts missing rows, corrects different ones and sets those
-- no longer due to zero, and gives those of another member back; journal, sums and counters then agree with the rows, or
-- nothing is changed. One run at a time, at most one in ten seconds; concurrent callers wait for it or get the last
-- summary, and are never rejected.

create table private.reconcile_state (
    only_row boolean primary key default true check (only_row),
    bonus_revision bigint not null default -1,
    ran_at timestamptz,
    repaired bigint not null default 0
);
comment on table private.reconcile_state is
'The last clean run and the bonus revision it saw. repaired counts all rows that were ever repaired.';
alter table private.reconcile_state enable row level security;

insert into private.reconcile_state default values;

create function private.pairing_percents() returns integer[]
language plpgsql stable set search_path = '' as $$
begin
    return array(
        select s.pairing_percent
        from pg_catalog.generate_series(1, (select max(k.value_cents) / 5000 from private.packages as k)) as u (units)
        left join private.packages as s on u.units * 5000 = s.value_cents
        order by u.units
    );
end
$$;
comment on function private.pairing_percents() is 'The pairing rates by packages in multiples of $50; null where there is no such package.';

-- The comparison is two merges from end to end: of the referral bonuses, and of both bonuses of each pair, which are
-- taken apart only where they differ. The rates are those of private.due_pair_bonuses, looked up in an array by
-- multiples of $50: a join with the packages would sort all pairs by package, and back.
-- Without a search_path and stable it is inlined where it is called: so the comparison of all is planned once for a
-- session and has no condition on subjects, and that of some is planned for them. Were it not parallel safe, no second
-- process would help, inlined or not.
create function private.compared_bonuses(p_part private.ledger_part, p_percents integer[]) returns setof private.due_bonus
language sql stable parallel safe as $$
    with stored_pairs as (
        select
            coalesce(p.subject_no, o.subject_no) as owner_no,
            coalesce(p.pair_number, o.pair_number) as pair_no,
            p.amount_cents as pairing_cents,
            o.amount_cents as override_cents
        from (
            select b.* from public.bonuses as b
            where b.bonus_type = 'pairing' and private.is_asked(p_part, b.subject_no)
        ) as p
        full join (
            select b.* from public.bonuses as b
            where b.bonus_type = 'override' and private.is_asked(p_part, b.subject_no)
        ) as o
            on p.subject_no = o.subject_no and p.pair_number = o.pair_number
    ),

    owned_pairs as (
        select
            q.*,
            o.referrer_no,
            case when o.package_cents % 5000 = 0 then p_percents[o.package_cents / 5000] end as pairing_percent
        from private.pairs as q
        inner join private.positions as o on q.owner_no = o.no
        where private.is_asked(p_part, q.owner_no)
    ),

    due_pairs as (
        select
            q.*,
            q.volume_cents::bigint * q.pairing_percent / 100 as pairing_cents,
            case when q.referrer_no is not null then q.volume_cents::bigint * private.override_percent() / 100 end as override_cents
        from owned_pairs as q
    ),

    -- Where nothing is due, a stored bonus is zero, or there is none.
    different_pairs as (
        select
            coalesce(d.owner_no, s.owner_no) as owner_no,
            coalesce(d.pair_no, s.pair_no) as pair_no,
            d.left_no,
            d.right_no,
            d.volume_cents,
            d.referrer_no,
            d.pairing_percent,
            d.pairing_cents,
            d.override_cents,
            s.pairing_cents as stored_cents,
            (coalesce(d.pairing_cents, s.pairing_cents * 0) is distinct from s.pairing_cents) as pairing_differs,
            (coalesce(d.override_cents, s.override_cents * 0) is distinct from s.override_cents) as override_differs
        from due_pairs as d
        full join stored_pairs as s on d.owner_no = s.owner_no and d.pair_no = s.pair_no
        where
            coalesce(d.pairing_cents, s.pairing_cents * 0) is distinct from s.pairing_cents
            or coalesce(d.override_cents, s.override_cents * 0) is distinct from s.override_cents
    )

    select (f.due).*
    from (
        select row(
            null, 'referral'::public.bonus_type, coalesce(d.subject_no, b.subject_no), null::integer, d.user_no, d.subject_no,
            coalesce(d.volume_cents, 0)::bigint, coalesce(d.rate, 0), coalesce(d.cents, 0)
        )::private.due_bonus as due
        from (
            select * from private.due_referrals as e
            where private.is_asked(p_part, e.subject_no)
        ) as d
        full join (
            select
                r.subject_no,
                r.amount_cents as cents
            from public.bonuses as r
            where r.bonus_type = 'referral' and private.is_asked(p_part, r.subject_no)
        ) as b
            on d.subject_no = b.subject_no
        where coalesce(d.cents, 0) is distinct from b.cents
        union all
        select pg_catalog.unnest(pg_catalog.array_remove(array[
            case when d.pairing_differs then row(
                null, 'pairing'::public.bonus_type, d.owner_no, d.pair_no,
                case when d.pairing_cents is not null then d.owner_no end,
                case when d.pairing_cents is not null and coalesce(d.stored_cents, 0) = 0 then private.pair_source(d.left_no, d.right_no) end,
                case when d.pairing_cents is not null then d.volume_cents else 0 end::bigint,
                coalesce(d.pairing_percent, 0), coalesce(d.pairing_cents, 0)
            )::private.due_bonus end,
            case when d.override_differs then row(
                null, 'override'::public.bonus_type, d.owner_no, d.pair_no, d.referrer_no,
                case when d.override_cents is not null then d.owner_no end,
                case when d.override_cents is not null then d.volume_cents else 0 end::bigint,
                case when d.override_cents is not null then private.override_percent() else 0 end, coalesce(d.override_cents, 0)
            )::private.due_bonus end
        ], null))
        from different_pairs as d
    ) as f
$$;
comment on function private.compared_bonuses(private.ledger_part, integer[]) is
'Bonuses of the subjects at these positions (null: of all) that differ from tree and packages: missing, different, or no longer due; without the ids of the stored rows, and with the source of a pairing only where none is paid. p_percents is private.pairing_percents().';

create function private.bonus_discrepancies(p_part private.ledger_part) returns private.due_bonus[]
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_percents integer[] := private.pairing_percents();
begin
    return array(select d from private.compared_bonuses(p_part, v_percents) as d);
end
$$;
comment on function private.bonus_discrepancies(private.ledger_part) is
'Bonuses of the subjects at these positions that differ from tree and packages, as private.compared_bonuses() says. Empty when all match.';

-- The planner cannot know how many pairs are complete or how many bonuses differ: it expects a hundred times too many
-- and then looks up each left member separately (twice as slow at a million members), joins the owners first, or
-- materialises what it reads in order anyway. So this function may only merge, in the order written. From some ten
-- thousand bonuses on, a second process does one of the merges; no scan is divided, because half a merge reads its other
-- side to the end.
create function private.all_bonus_discrepancies() returns private.due_bonus[]
language plpgsql stable set plan_cache_mode = 'force_generic_plan' set search_path = ''
set enable_nestloop = off set enable_hashjoin = off set enable_material = off set join_collapse_limit = 1
set min_parallel_table_scan_size = '4TB' set min_parallel_index_scan_size = '4TB'
set parallel_setup_cost = 2000 set parallel_tuple_cost = 0 set max_parallel_workers_per_gather = 1
-- The pairs of a million members are sorted in memory; one reconciliation runs at a time.
set work_mem = '64MB' as $$
declare
    v_percents integer[] := private.pairing_percents();
begin
    return array(select d from private.compared_bonuses(null, v_percents) as d);
end
$$;
comment on function private.all_bonus_discrepancies() is
'Bonuses that differ from tree and packages, as private.compared_bonuses() says, of all subjects. Empty when all match.';

-- Whom a bonus is paid to and from is compared by hashes, not in the merges above: a referrer's id is in no index by
-- number. That takes twice as long again, and the ledger checks look at it anyway: so the job and whoever asks for the sync
-- do it where they have found such a bonus.
create function private.misplaced_bonuses() returns private.due_bonus[]
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' set work_mem = '64MB' as $$
declare
    v_misplaced private.due_bonus[] := array(
        select row(null, b.bonus_type, b.subject_no, b.pair_number, null, null, null, null, null)::private.due_bonus
        from public.bonuses as b
        left join private.positions as s on b.subject_no = s.no
        left join private.positions as u on s.referrer_no = u.no
        where b.user_id is distinct from case when b.bonus_type = 'pairing' then s.user_id else u.user_id end
            or (b.bonus_type <> 'pairing' and b.source_user_id is distinct from s.user_id)
            -- With the right amount another rate is another volume.
            or (b.bonus_type = 'referral' and b.amount_cents > 0 and b.rate <> private.referral_percent())
            or (b.bonus_type = 'override' and b.amount_cents > 0 and b.rate <> private.override_percent())
        union
        select row(null, b.bonus_type, b.subject_no, b.pair_number, null, null, null, null, null)::private.due_bonus
        from public.bonuses as b
        inner join private.positions as l on b.subject_no = l.referrer_no and b.pair_number = l.pair_no and l.is_left and l.paid_cents > 0
        inner join private.positions as r on b.subject_no = r.referrer_no and b.pair_number = r.pair_no and not r.is_left and r.paid_cents > 0
        where b.bonus_type = 'pairing' and b.amount_cents > 0
            and (
                b.source_user_id <> case when l.paid_order > r.paid_order then l.user_id else r.user_id end
                or b.volume <> (l.paid_cents + r.paid_cents) * 0.01
            )
    );
begin
    -- A few are looked up.
    return array(
        select row(
            null, m.bonus_type, m.subject_no, m.pair_number, coalesce(r.user_no, p.user_no, o.user_no),
            case m.bonus_type when 'pairing' then private.pair_source(p.left_no, p.right_no) else m.subject_no end,
            coalesce(r.volume_cents, p.volume_cents, o.volume_cents, 0), coalesce(r.rate, p.rate, o.rate, 0),
            coalesce(r.cents, p.cents, o.cents, 0)
        )::private.due_bonus
        from pg_catalog.unnest(v_misplaced) as m
        left join private.due_referrals as r on m.bonus_type = 'referral' and m.subject_no = r.subject_no
        left join private.due_pairings as p on m.bonus_type = 'pairing' and m.subject_no = p.subject_no and m.pair_number = p.pair_no
        left join private.due_overrides as o on m.bonus_type = 'override' and m.subject_no = o.subject_no and m.pair_number = o.pair_no
    );
end
$$;
comment on function private.misplaced_bonuses() is
'Stored bonuses of another member, or from another, than the tree says, as they are due; without the ids of the rows. Empty when all match.';

-- A bonus that was another member's keeps the journal rows of both.
create function private.is_booked_back(p_bonus_id uuid, p_user_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return exists (
        select from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = p_bonus_id and t.user_id = p_user_id
        having sum(t.amount) = 0 and exists (
            select from private.audit_log as a
            where a.actor = 'system' and a.action collate "C" = 'books.repaired'
                and a.payload -> 'decision_no' = pg_catalog.to_jsonb(max(t.decision_no))
        )
    );
end
$$;
comment on function private.is_booked_back(uuid, uuid) is 'Whether a repair took this bonus back from the member, so that the journal rows sum to nothing.';

create function private.is_booked_elsewhere_first(p_bonus_id uuid, p_user_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return exists (
        select from public.transactions as t inner join public.bonuses as b on t.reference_id = b.id
        where t.reference_id = p_bonus_id and t.user_id <> p_user_id and t.created_at = b.created_at
    );
end
$$;
comment on function private.is_booked_elsewhere_first(uuid, uuid) is 'Whether the first journal row of this bonus is of another member.';

create function private.is_misplacement_known() returns boolean
language sql stable set search_path = '' as $$
    select exists (
        select from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null and left(a.object, 3) in ('I11', 'I12', 'I33')
    )
$$;
comment on function private.is_misplacement_known() is 'Whether a check of the ledger has found bonuses that may be of another member, or from another.';

create function private.lapsed_bonuses(p_no integer) returns setof private.due_bonus
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_member private.positions;
begin
    select * into v_member from private.positions as p where p.no = p_no;
    return query
    select b.id, b.bonus_type, b.subject_no, b.pair_number, null::integer, null::integer, 0::bigint, b.rate::integer, 0::bigint
    from (
        select r.* from public.bonuses as r where r.bonus_type = 'referral' and r.subject_no = p_no
        union all
        select q.* from public.bonuses as q where q.bonus_type = 'pairing' and q.subject_no = p_no
        union all
        select q.* from public.bonuses as q
        where q.bonus_type = 'pairing' and q.subject_no = v_member.referrer_no and q.pair_number = v_member.pair_no
        union all
        select o.* from public.bonuses as o
        where o.bonus_type = 'override' and o.subject_no = v_member.referrer_no and o.pair_number = v_member.pair_no
    ) as b
    left join private.due_referrals as r on b.bonus_type = 'referral' and b.subject_no = r.subject_no
    left join private.pairs as q on b.bonus_type <> 'referral' and b.subject_no = q.owner_no and b.pair_number = q.pair_no
    left join private.positions as o on b.bonus_type = 'pairing' and b.subject_no = o.no and o.package_cents > 0
    where b.amount_cents > 0
        and case b.bonus_type
            when 'referral' then r.subject_no is null
            when 'pairing' then q.owner_no is null or o.no is null
            else q.owner_no is null
        end;
end
$$;
comment on function private.lapsed_bonuses(integer) is
'Stored bonuses around one member that are no longer due. Only a correction causes them.';

-- A repair makes everything agree. The triggers of bonuses add the difference to what the row said: right where only the
-- tree has changed, wrong where the row itself was damaged, because the journal and the sums never followed the damage.
-- Then the triggers of bonuses, positions and totals keep nothing up, and journal and sums are compared with the rows
-- afterwards instead.
create function private.is_repairing() returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return coalesce(pg_catalog.current_setting('app.repair', true), '') in ('on', 'rows');
end
$$;
comment on function private.is_repairing() is
'True while sums are derived from the rows in this transaction, so that no trigger keeps them up. No API role can set app.repair.';

create view private.numbered_repairs as
select
    a.object::bigint as decision_no,
    a.raised_at as at
from private.alarms as a
where a.kind = 'repair' and a.object ~ '\A[0-9]{1,18}\Z';
comment on view private.numbered_repairs is 'Repairs of bonuses: their numbers and times.';

-- The plan and the order of siblings are not trusted: with another percentage, or children who changed places, a repair
-- would pay wrong amounts and leave nothing to see.
create view private.plan_discrepancies as
select 'packages' as object
where (
    select pg_catalog.array_agg((k.value::numeric, k.pairing_percent)::text order by k.value) from private.packages as k
) is distinct from array['(50,10)', '(100,20)', '(250,30)', '(500,40)', '(1000,50)']
union all
select c.object
from (
    values
    ('referral_percent', private.referral_percent(), 5),
    ('override_percent', private.override_percent(), 1),
    ('reentry_percent', private.reentry_percent(), 10)
) as c (object, percent, specified)
where c.percent is distinct from c.specified;
comment on view private.plan_discrepancies is
'What differs from the compensation plan of the specification, whose numbers are written here: package sizes with their pairing rates, and the other percentages. Empty when nothing does.';

create view private.sibling_discrepancies as
select
    s.no,
    s.referrer_no
from (
    select
        c.no,
        c.referrer_no,
        c.child_no,
        pg_catalog.row_number() over (partition by c.referrer_no order by p.created_at, p.id) as due_no
    from private.positions as c inner join private.profiles as p on c.user_id = p.user_id
    where c.referrer_no is not null
) as s
where s.child_no <> s.due_no;
comment on view private.sibling_discrepancies is
'Direct referrals whose number is not their place in the order of joining. Empty when all are in order.';

-- Of a member's direct referrals only those up to the pair matter, and both orders are read along an index.
create function private.sound_discrepancies(p_due private.due_bonus[]) returns private.due_bonus[]
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_disordered integer[];
    v_unlike integer[];
begin
    if exists (select 1 from private.plan_discrepancies) then
        return '{}'::private.due_bonus[];
    end if;
    -- A package that only the position has is none: it is derived again first.
    v_unlike := array(
        select o.no
        from (
            select s.no, s.user_id, s.package_cents, s.paid_cents
            from private.positions as s
            where s.no in (select d.subject_no from pg_catalog.unnest(p_due) as d)
            union
            select c.no, c.user_id, c.package_cents, c.paid_cents
            from pg_catalog.unnest(p_due) as d
            inner join private.positions as c on d.subject_no = c.referrer_no and d.pair_number = c.pair_no
        ) as o
        inner join private.profiles as p on o.user_id = p.user_id
        where (o.package_cents, o.paid_cents) is distinct from (
            (p.package_value * 100)::integer, case when p.cash_in_amount >= p.package_value then (p.package_value * 100)::integer else 0 end
        )
            -- Nor is one that nobody paid for.
            or p.package_value <> private.due_package(p.user_id)
            or p.cash_in_amount <> (
                select coalesce(sum(d.amount), 0) from public.deposits as d
                where d.user_id = p.user_id and d.status = 'approved' and d.voided_at is null
            )
    );
    v_disordered := array(
        select o.no
        from (
            select
                w.subject_no,
                2 * max(w.pair_number) as referrals
            from pg_catalog.unnest(p_due) as w
            where w.bonus_type <> 'referral'
            group by w.subject_no
        ) as d
        inner join private.positions as o on d.subject_no = o.no
        where array(
            select c.user_id from private.positions as c
            where c.referrer_no = o.no and c.child_no <= d.referrals
            order by c.child_no
        ) is distinct from array(
            select p.user_id from private.profiles as p
            where p.referrer_id = (select s.id from private.profiles as s where s.user_id = o.user_id)
            order by p.created_at, p.id limit d.referrals
        )
    );
    return array(
        select d from pg_catalog.unnest(p_due) as d
        where ((d).bonus_type = 'referral' or (d).subject_no <> all(v_disordered))
            and (d).subject_no <> all(v_unlike)
            and not exists (
                select from private.positions as c
                where c.no = any(v_unlike) and c.referrer_no = (d).subject_no and c.pair_no = (d).pair_number
            )
    );
end
$$;
comment on function private.sound_discrepancies(private.due_bonus[]) is
'Of these, what a repair may write: nothing with a damaged plan, no pair of a member whose direct referrals up to a pair of these are out of order, and nothing that follows from a position with another package than its member.';

-- Each kind is looked up by its own key: one join with three conditions looks up each bonus three times.
create function private.find_stored_bonuses(
    p_due private.due_bonus[], out due private.due_bonus[], out earners uuid[], out in_journal boolean, out in_place boolean
)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    select
        pg_catalog.array_agg(row(
            f.id, f.bonus_type, f.subject_no, f.pair_number, f.user_no, f.source_no, f.volume_cents, f.rate, f.cents
        )::private.due_bonus),
        pg_catalog.array_agg(distinct coalesce(f.user_id, o.owner_id)),
        bool_and(f.amount is not distinct from j.amount and j.elsewhere is not true),
        bool_and(f.id is null or (f.user_id is not distinct from o.owner_id and f.source_user_id = coalesce(o.source_id, f.source_user_id)))
    into due, earners, in_journal, in_place
    from (
        select w.*, b.id, b.user_id, b.source_user_id, b.amount
        from pg_catalog.unnest(p_due) as w
        left join public.bonuses as b on b.bonus_type = 'referral' and w.subject_no = b.subject_no
        where w.bonus_type = 'referral'
        union all
        select w.*, b.id, b.user_id, b.source_user_id, b.amount
        from pg_catalog.unnest(p_due) as w
        left join public.bonuses as b on b.bonus_type = 'pairing' and w.subject_no = b.subject_no and w.pair_number = b.pair_number
        where w.bonus_type = 'pairing'
        union all
        select w.*, b.id, b.user_id, b.source_user_id, b.amount
        from pg_catalog.unnest(p_due) as w
        left join public.bonuses as b on b.bonus_type = 'override' and w.subject_no = b.subject_no and w.pair_number = b.pair_number
        where w.bonus_type = 'override'
    ) as f
    left join private.positions as s on f.subject_no = s.no
    left join private.positions as u on s.referrer_no = u.no
    left join private.positions as c on case when f.bonus_type = 'pairing' then f.source_no end = c.no
    cross join lateral (
        select
            case when f.bonus_type = 'pairing' then s.user_id else u.user_id end as owner_id,
            case when f.bonus_type = 'pairing' then c.user_id else s.user_id end as source_id
    ) as o
    cross join lateral (
        select sum(t.amount) filter (where t.user_id = f.user_id) as amount, bool_or(t.user_id <> f.user_id) as elsewhere
        from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = f.id
    ) as j;
end
$$;
comment on function private.find_stored_bonuses(private.due_bonus[]) is
'Expected bonuses with the ids of the stored rows, who earns them, whether the journal says what the rows say, and whether they are of and from whom the tree says.';

-- The rows of all earners are read in the order of the table, not member by member.
create function private.totals_follow_rows(p_earners uuid[]) returns boolean
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = ''
set enable_indexscan = off set parallel_tuple_cost = 0 as $$
begin
    return (
        with sums as materialized (
            select
                b.user_id,
                sum(b.amount_cents) as cents
            from public.bonuses as b
            where b.user_id = any(p_earners)
            group by b.user_id
        )

        select bool_and(t.bonus_amount = coalesce(s.cents, 0) * 0.01)
        from private.totals as t
        left join sums as s on t.user_id = s.user_id
        where t.user_id = any(p_earners)
    );
end
$$;
comment on function private.totals_follow_rows(uuid[]) is 'Whether the totals of these members say what their bonuses say.';

create function private.repair_items(p_due private.due_bonus[]) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'bonus_id', b.id,
            'bonus_type', d.bonus_type,
            'user_id', coalesce(o.owner_id, b.user_id),
            'subject_no', d.subject_no,
            'pair_number', d.pair_number,
            'old_amount', private.money(coalesce(b.amount, 0)),
            'new_amount', private.money(d.cents * 0.01)
        )
        || case when j.amount <> coalesce(b.amount, 0) then pg_catalog.jsonb_build_object('journal_amount', private.money(j.amount)) else '{}' end
        || case when b.user_id <> o.owner_id then pg_catalog.jsonb_build_object('taken_from', b.user_id) else '{}' end
        || case when b.source_user_id <> o.source_id then pg_catalog.jsonb_build_object('old_source', b.source_user_id) else '{}' end
        order by d.subject_no, d.bonus_type, d.pair_number
    )
    from pg_catalog.unnest(p_due) as d
    left join public.bonuses as b on d.bonus_id = b.id
    left join private.positions as s on d.subject_no = s.no
    left join private.positions as u on s.referrer_no = u.no
    left join private.positions as c on case when d.bonus_type = 'pairing' then d.source_no end = c.no
    cross join lateral (
        select
            case when d.bonus_type = 'pairing' then s.user_id else u.user_id end as owner_id,
            case when d.bonus_type = 'pairing' then c.user_id else s.user_id end as source_id
    ) as o
    cross join lateral (
        select coalesce(sum(t.amount), 0) as amount from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = b.id
    ) as j
$$;
comment on function private.repair_items(private.due_bonus[]) is
'What a repair of these bonuses changes, for the alarm and the audit log: whose it is, old and new amounts as text, what the journal says where that is a third one, and who had it or was its source before where that changes. Call before writing; bonus_id is null where the row is missing.';

create type private.sum_change as (
    kind text,
    object text,
    user_id uuid,
    old jsonb,
    new jsonb
);
comment on type private.sum_change is 'A stored sum that was not what the rows say: where it is, whose it is (null: nobody''s alone), the figures before and after.';

create function private.place_bonuses(p_due private.due_bonus[]) returns void
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    update public.bonuses as b set
        user_id = coalesce(o.owner_id, b.user_id), source_user_id = coalesce(o.source_id, b.source_user_id)
    from pg_catalog.unnest(p_due) as d
    inner join private.positions as s on d.subject_no = s.no
    left join private.positions as u on s.referrer_no = u.no
    left join private.positions as c on case when d.bonus_type = 'pairing' then d.source_no end = c.no
    cross join lateral (
        select
            case when d.bonus_type = 'pairing' then s.user_id else u.user_id end as owner_id,
            case when d.bonus_type = 'pairing' then c.user_id else s.user_id end as source_id
    ) as o
    where b.id = d.bonus_id and (b.user_id <> o.owner_id or b.source_user_id <> o.source_id);
end
$$;
comment on function private.place_bonuses(private.due_bonus[]) is
'Gives stored bonuses to whom, and says from whom, they are due by the tree. Call with app.repair on.';

create function private.require_repaired(p_due private.due_bonus[]) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_found jsonb := coalesce(private.wrong_rows(), '[]') || coalesce((
        select pg_catalog.jsonb_agg(u.value)
        from pg_catalog.jsonb_array_elements(private.unlike_rows()) as u (value)
        -- Bonuses that sound_discrepancies() has left stay wrong.
        where u.value ->> 'rule' not in ('I11', 'I33', 'I41')
    ), '[]');
begin
    if (private.find_stored_bonuses(p_due)).in_place is not true then
        v_found := v_found || '{"rule": "I11"}';
    end if;
    if v_found <> '[]' then
        perform private.raise_rows_wrong(v_found);
    end if;
end
$$;
comment on function private.require_repaired(private.due_bonus[]) is
'After a repair of these: ends the transaction where rows from which the sums were made are wrong, or one of these still is. Errors: rows_wrong.';

create function private.repair_bonuses(p_due private.due_bonus[]) returns void
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set work_mem = '64MB' set search_path = '' as $$
declare
    v_at timestamptz := private.clock();
    v_stored record;
    v_damaged boolean;
    v_decision_no bigint;
    v_details jsonb;
    v_changes private.sum_change[] := '{}'::private.sum_change[];
begin
    select * into v_stored from private.find_stored_bonuses(p_due);
    perform private.lock_members(v_stored.earners);
    v_details := pg_catalog.jsonb_build_object(
        'rows', pg_catalog.cardinality(p_due), 'repairs', private.repair_items(v_stored.due[1:100])
    );
    -- Otherwise only the tree has changed.
    v_damaged := (v_stored.in_place and v_stored.in_journal and private.totals_follow_rows(v_stored.earners)) is not true;
    v_decision_no := private.next_decision_no();
    perform pg_catalog.set_config('app.allow_bonus_decrease', 'on', true);
    perform pg_catalog.set_config('app.repair', case when v_damaged then 'on' else '' end, true);
    if v_damaged then
        perform private.place_bonuses(v_stored.due);
    end if;
    perform private.write_bonuses(v_stored.due, v_at);
    insert into private.ledger_changes (user_id) select e.user_id from pg_catalog.unnest(v_stored.earners) as e (user_id) where e.user_id is not null;
    if v_damaged then
        v_changes := private.book_repairs(array(
            select (d).bonus_id from pg_catalog.unnest((private.find_stored_bonuses(p_due)).due) as d
        ), v_at) || private.rebuild_sums();
    end if;
    perform pg_catalog.set_config('app.repair', '', true);
    perform pg_catalog.set_config('app.allow_bonus_decrease', '', true);
    perform private.raise_alarm('repair', v_decision_no::text, null, v_details);
    perform private.audit(
        'system', 'books.repaired', 'bonuses', null,
        v_details || pg_catalog.jsonb_build_object('decision_no', v_decision_no) || private.changes_json(v_changes)
    );
    -- Last, because the entry explains what was set to zero or booked back.
    if v_damaged then
        perform private.require_repaired(p_due);
    end if;
end
$$;
comment on function private.repair_bonuses(private.due_bonus[]) is
'Writes the bonuses that are due to whom they are due, the journal rows that are missing and the sums that differ, raises an alarm and audits what it did. Call under the money lock. Errors: rows_wrong, try_again.';

create function private.reconcile(p_owners boolean default true) returns integer
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_revision bigint;
    v_discrepancies private.due_bonus[];
    v_found integer := 0;
begin
    perform private.lock_money();
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    v_discrepancies := private.all_bonus_discrepancies();
    if p_owners then
        v_discrepancies := v_discrepancies || array(
            select m from pg_catalog.unnest(private.misplaced_bonuses()) as m
            where not exists (
                select from pg_catalog.unnest(v_discrepancies) as d
                where d.bonus_type = m.bonus_type and d.subject_no = m.subject_no and d.pair_number is not distinct from m.pair_number
            )
        );
    end if;
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        v_found := pg_catalog.cardinality(v_discrepancies);
        v_discrepancies := private.sound_discrepancies(v_discrepancies);
    end if;
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        perform private.repair_bonuses(v_discrepancies);
        select q.last_value into v_revision from private.bonus_revision_seq as q;
    end if;
    update private.reconcile_state as s set
        -- Bonuses that were left are compared again by whoever asks next.
        bonus_revision = case when v_found = pg_catalog.cardinality(v_discrepancies) then v_revision else s.bonus_revision end,
        ran_at = pg_catalog.clock_timestamp(), repaired = s.repaired + pg_catalog.cardinality(v_discrepancies);
    return pg_catalog.cardinality(v_discrepancies);
end
$$;
comment on function private.reconcile(boolean) is
'Compares all bonuses with tree and packages, p_owners: also whom they are paid to and from, and repairs differences, with an alarm and an audit row; returns how many. Leaves bonuses whose basis is damaged, as sound_discrepancies() says: the ledger checks report both. Changes nothing where rows would stay wrong. Errors: rows_wrong, try_again.';

create function private.reconcile_if_stale() returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_state private.reconcile_state;
    v_revision bigint;
begin
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    select * into v_state from private.reconcile_state;
    if v_state.bonus_revision = v_revision or private.is_recent(v_state.ran_at, interval '10 seconds') then
        return;
    end if;
    -- A second caller waits here for the first run and then finds it done.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('reconcile'));
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    select * into v_state from private.reconcile_state;
    if v_state.bonus_revision = v_revision or private.is_recent(v_state.ran_at, interval '10 seconds') then
        return;
    end if;
    perform private.reconcile(private.is_misplacement_known());
exception when lock_not_available or sqlstate 'PGRST' then
    -- Another run takes long, or nothing can be repaired before other rows are: return the last summary.
    if sqlerrm like '%"rows_wrong"%' then
        update private.reconcile_state as s set ran_at = pg_catalog.clock_timestamp();
    end if;
    return;
end
$$;
comment on function private.reconcile_if_stale() is
'Reconciles unless nothing was posted since the last run or it ended less than ten seconds ago; concurrent callers share one run.';

create function public.sync_bonuses() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
begin
    if private.my_role() not in ('authenticated', 'platform_admin') then
        perform private.raise_error(401, 'not_authenticated', 'Not authenticated');
    end if;
    perform private.reconcile_if_stale();
    return pg_catalog.jsonb_build_object(
        'success', true,
        'summary', pg_catalog.jsonb_build_object(
            'totalBonuses', private.counter_value('bonus_rows')::bigint, 'totalProfiles', private.counter_value('profiles')::bigint
        )
    );
end
$$;
comment on function public.sync_bonuses() is
'Members and administrators: reconciles all bonuses and returns the number of rows. Errors: not_authenticated.';
grant execute on function public.sync_bonuses() to authenticated, platform_admin;

create function jobs.reconcile() returns integer
language sql volatile security definer set search_path = '' as $$
    select private.reconcile(private.is_misplacement_known())
$$;
comment on function jobs.reconcile() is
'Runs a full reconciliation, of owners and sources too where a check of the ledger has found wrong ones; returns how many rows were repaired. Errors: rows_wrong, try_again.';
grant execute on function jobs.reconcile() to worker;
