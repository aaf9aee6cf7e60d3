-- Reconciliation of bonuses. Every approval posts its own bonuses; this compares all of them with the tree and
-- changes nothing when they match. It never deletes: it inserts missing rows, corrects different ones and sets those
-- no longer due to zero, and gives those of another member back; journal, sums and counters then agree with the rows, or
-- nothing is changed. One run at a time, at most one in ten seconds; concurrent callers wait for it or get the last
-- summary, and are never rejected.
-- Rules: specification S6.9 and S6.10.

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

-- The two members of a bonus are compared by hashes, not in the merges above: a referrer's id is in no index by
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
'What differs from the compensation plan (specification S2.1, S6.1, S6.3, S6.7), whose numbers are written here: package sizes with their pairing rates, and the other percentages. Empty when nothing does.';

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
