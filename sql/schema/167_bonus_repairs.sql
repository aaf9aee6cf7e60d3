-- Repairs that a reconciliation makes. Under the money lock it leaves alone what it cannot explain, writes the bonuses
-- that are due, and undoes everything if journal, sums and counters do not agree with the rows afterwards.

-- Only a member's direct referrals up to the pair matter, and both orders are read along an index.
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
