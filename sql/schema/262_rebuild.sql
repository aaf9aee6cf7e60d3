-- Stored sums and counters, derived from the rows again: cash-in and packages from deposits and corrections, positions
-- from members, totals from bonuses and withdrawals, counters and daily totals from everything, and what is rolled up
-- from the journal and the tree. Only damage behind the triggers makes a difference; a repair of bonuses and
-- rebuild_counters() call this. No row of money changes, and sums are made of sound rows or not at all.
-- Each statement compares sums and rows in one snapshot. What transactions append (counters, daily totals, networks)
-- may change meanwhile: there the difference is appended or added, never the value set. Values of a member are set
-- under the member's lock, which everybody else who changes them holds, too.

create view private.member_discrepancies as
select
    m.user_id,
    pg_catalog.jsonb_build_object('cash_in_amount', private.money(m.cash_in_amount), 'package_value', private.money(m.package_value)) as old,
    pg_catalog.jsonb_build_object('cash_in_amount', private.money(m.due_cash_in), 'package_value', private.money(m.due_package)) as new
from (
    select
        p.user_id,
        p.cash_in_amount,
        p.package_value,
        coalesce(d.cash_in, 0) as due_cash_in,
        case when c.user_id is null then coalesce(d.package, 0) else private.due_package(p.user_id) end as due_package
    from private.profiles as p
    left join (
        select
            a.user_id,
            sum(a.amount) as cash_in,
            max(k.value) as package
        from public.deposits as a left join private.packages as k on a.amount = k.value and a.kind <> 'cash_in'
        where a.status = 'approved' and a.voided_at is null
        group by a.user_id
    ) as d on p.user_id = d.user_id
    left join (
        select distinct s.user_id from private.corrections as s
        where s.kind = 'set_package' and s.confirmed_by is not null
    ) as c on p.user_id = c.user_id
) as m
-- Without the right package sizes no package can be derived.
where
    (m.cash_in_amount, m.package_value) is distinct from (m.due_cash_in, m.due_package)
    and not exists (select 1 from private.plan_discrepancies);
comment on view private.member_discrepancies is 'Members whose cash-in or package is not what deposits and corrections say.';

create view private.position_discrepancies as
select
    q.no,
    q.user_id,
    pg_catalog.jsonb_build_object(
        'package_cents', q.package_cents, 'paid_cents', q.paid_cents, 'children', q.children, 'paid_order', q.paid_order
    ) as old,
    pg_catalog.jsonb_build_object(
        'package_cents', q.due_package, 'paid_cents', q.due_paid, 'children', q.due_children, 'paid_order', q.due_order
    ) as new
from (
    select
        o.no,
        o.user_id,
        o.package_cents,
        o.paid_cents,
        o.children,
        o.paid_order,
        n.package_cents as due_package,
        n.paid_cents as due_paid,
        coalesce(c.children, 0)::integer as due_children,
        case when n.paid_cents > 0 then coalesce(f.decision_no, d.decision_no) end as due_order
    from private.positions as o
    inner join private.profiles as p on o.user_id = p.user_id
    cross join
        lateral (
            select
                (p.package_value * 100)::integer as package_cents,
                case when p.cash_in_amount >= p.package_value then (p.package_value * 100)::integer else 0 end as paid_cents
        ) as n
    left join (
        select
            r.referrer_no,
            count(*) as children
        from private.positions as r
        group by r.referrer_no
    ) as c on o.no = c.referrer_no
    left join (
        select
            a.user_id,
            min(a.decision_no) as decision_no
        from public.deposits as a
        where a.status = 'approved'
        group by a.user_id
    ) as d on o.user_id = d.user_id
    left join private.corrected_fundings as f on o.user_id = f.user_id
) as q
where (q.package_cents, q.paid_cents, q.children, q.paid_order) is distinct from (q.due_package, q.due_paid, q.due_children, q.due_order);
comment on view private.position_discrepancies is
'Positions whose package, payment, number of direct referrals or place in the order of fundings is not what members, deposits and corrections say.';

create view private.total_discrepancies as
select
    t.user_id,
    pg_catalog.jsonb_build_object(
        'referral_amount', private.money(t.referral_amount), 'referral_count', t.referral_count,
        'pairing_amount', private.money(t.pairing_amount), 'pairing_count', t.pairing_count,
        'override_amount', private.money(t.override_amount), 'override_count', t.override_count,
        'reentry_amount', private.money(t.reentry_amount), 'withdrawn_amount', private.money(t.withdrawn_amount),
        'reserved_amount', private.money(t.reserved_amount)
    ) as old,
    pg_catalog.jsonb_build_object(
        'referral_amount', private.money(coalesce(b.referral, 0)), 'referral_count', coalesce(b.referrals, 0),
        'pairing_amount', private.money(coalesce(b.pairing, 0)), 'pairing_count', coalesce(b.pairings, 0),
        'override_amount', private.money(coalesce(b.override, 0)), 'override_count', coalesce(b.overrides, 0),
        'reentry_amount', private.money(coalesce(b.reentry, 0)), 'withdrawn_amount', private.money(coalesce(w.withdrawn, 0)),
        'reserved_amount', private.money(coalesce(w.reserved, 0))
    ) as new
from private.totals as t
left join (
    select
        r.user_id,
        coalesce(sum(r.amount) filter (where r.bonus_type = 'referral'), 0) as referral,
        count(*) filter (where r.bonus_type = 'referral' and r.amount > 0) as referrals,
        coalesce(sum(r.amount) filter (where r.bonus_type = 'pairing'), 0) as pairing,
        count(*) filter (where r.bonus_type = 'pairing' and r.amount > 0) as pairings,
        coalesce(sum(r.amount) filter (where r.bonus_type = 'override'), 0) as override,
        count(*) filter (where r.bonus_type = 'override' and r.amount > 0) as overrides,
        sum(r.reentry_amount) as reentry
    from public.bonuses as r
    group by r.user_id
) as b on t.user_id = b.user_id
left join (
    select
        o.user_id,
        coalesce(sum(o.amount) filter (where o.status = 'approved' and o.voided_at is null), 0) as withdrawn,
        coalesce(sum(o.amount) filter (where o.status = 'pending'), 0) as reserved
    from public.withdrawals as o
    group by o.user_id
) as w on t.user_id = w.user_id
where (
    t.referral_amount, t.referral_count, t.pairing_amount, t.pairing_count, t.override_amount, t.override_count,
    t.reentry_amount, t.withdrawn_amount, t.reserved_amount
) is distinct from (
    coalesce(b.referral, 0), coalesce(b.referrals, 0), coalesce(b.pairing, 0), coalesce(b.pairings, 0), coalesce(b.override, 0),
    coalesce(b.overrides, 0), coalesce(b.reentry, 0), coalesce(w.withdrawn, 0), coalesce(w.reserved, 0)
);
comment on view private.total_discrepancies is 'Members whose totals are not the sums and counts of their bonuses and withdrawals.';

create function private.changed_fields(p_figures jsonb, p_others jsonb) returns jsonb
language sql immutable set search_path = '' as $$
    select coalesce(pg_catalog.jsonb_object_agg(f.key, f.value), '{}')
    from pg_catalog.jsonb_each(p_figures) as f
    where f.value is distinct from p_others -> f.key
$$;
comment on function private.changed_fields(jsonb, jsonb) is 'The figures that are not the same in the other object.';

create function private.changes_json(p_changes private.sum_change[]) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'changes', coalesce(pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'kind', c.kind, 'object', c.object, 'user_id', c.user_id,
                'old', private.changed_fields(c.old, c.new), 'new', private.changed_fields(c.new, c.old)
            )
        ), '[]'),
        'count', pg_catalog.cardinality(p_changes)
    )
    from pg_catalog.unnest(p_changes[1:100]) as c
$$;
comment on function private.changes_json(private.sum_change[]) is 'The first hundred changes, each with the figures that differ, and how many there are.';

create function private.row_rules() returns text[]
language sql immutable set search_path = '' as $$
    select array[
        'I01', 'I02', 'I03', 'I04', 'I05', 'I06', 'I10', 'I11', 'I12', 'I14', 'I15', 'I16', 'I17', 'I23', 'I33', 'I35', 'I36', 'I40', 'I41',
        'I42', 'I43', 'I44', 'I45', 'I46', 'I47', 'I48', 'I50', 'I54'
    ]
$$;
comment on function private.row_rules() is
'Rules of the ledger checks about rows that sums are made of: while one of them is violated a sum of these rows would be wrong, too, and I02, which rows alone violate once the sums are derived. The others say that a stored sum differs, or nothing about figures.';

create function private.raise_rows_wrong(p_found jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
    -- I02 only follows, where another rule names the row.
    v_causes jsonb := pg_catalog.jsonb_path_query_array(p_found, '$[*] ? (@.rule != "I02")');
    v_found jsonb := case when v_causes = '[]' then p_found else v_causes end;
begin
    perform private.raise_error(
        409, 'rows_wrong', (
            select pg_catalog.format(
                'Nothing was changed: sums made of wrong rows would be wrong, too. Mend the rows first. %s',
                pg_catalog.string_agg(pg_catalog.format(
                    '%s (%s): %s %s', w.rule, case w.violations when 1 then 'one row' else w.violations || ' rows' end,
                    coalesce(r.problem, 'A check of the ledger fails.'), coalesce(r.advice, '')
                ), ' ' order by w.rule)
            )
            from (
                select v.rule, count(*) as violations
                from pg_catalog.jsonb_to_recordset(v_found) as v (rule text) group by v.rule
            ) as w
            left join private.rule_texts() as r on w.rule = r.rule
        ), pg_catalog.jsonb_build_object('rows', (
            select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('rule', v.rule, 'object', v.object, 'user_id', v.user_id))
            from pg_catalog.jsonb_to_recordset(pg_catalog.jsonb_path_query_array(v_found, '$[0 to 19]')) as v (rule text, object text, user_id uuid)
        ))::text
    );
end
$$;
comment on function private.raise_rows_wrong(jsonb) is
'Raises what is violated: each rule in words, with what to do; details have the first twenty rows. Errors: rows_wrong.';

create function private.wrong_rows() returns jsonb
language plpgsql volatile set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v) order by v.rule, v.object)
        from (
            select j.rule, j.object, j.user_id from private.journal_violations(null) as j
            union all
            select r.rule, r.object, r.user_id from private.request_violations(null) as r
            union all
            select a.rule, a.object, a.user_id from private.audit_discrepancies() as a
            union all
            select s.rule, s.object, s.user_id from private.standing_violations() as s
            union all
            select m.rule, m.object, m.user_id from private.member_state_violations(null) as m
        ) as v
        where v.rule = any(private.row_rules())
    );
end
$$;
comment on function private.wrong_rows() is
'What is wrong in the journal, requests, corrections and the plan, whatever is stored of them elsewhere; null when nothing is. Looks at everything, whatever alarms say.';

create function private.unlike_rows() returns jsonb
language plpgsql volatile set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v) order by v.rule, v.object)
        from (
            select m.rule, m.object, m.user_id from private.balance_violations(null) as m
            union all
            select b.rule, b.object, b.user_id from private.bonus_violations(null) as b
            union all
            select p.rule, p.object, p.user_id from private.place_violations(null) as p
        ) as v
        where v.rule = any(private.row_rules())
    );
end
$$;
comment on function private.unlike_rows() is
'What is wrong in bonuses and the tree, compared with the packages that are stored; null when nothing is. What only follows from a wrong package is over when that was derived again.';

create function private.book_repairs(p_bonuses uuid[], p_at timestamptz) returns private.sum_change[]
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_decision_no bigint := private.current_decision_no();
    v_changes private.sum_change[];
begin
    with journal as materialized (
        select t.reference_id, t.user_id, sum(t.amount) as amount
        from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = any(p_bonuses)
        group by t.reference_id, t.user_id
    ), due as (
        select b.id, b.user_id, b.amount, b.created_at from public.bonuses as b where b.id = any(p_bonuses)
    ), lacking as materialized (
        select
            coalesce(d.id, j.reference_id) as id,
            coalesce(d.user_id, j.user_id) as user_id,
            coalesce(j.amount, 0) as old,
            coalesce(d.amount, 0) as new,
            -- The first journal row of a bonus has its time.
            case when j.amount is null then d.created_at else p_at end as created_at
        from due as d full join journal as j on d.id = j.reference_id and d.user_id = j.user_id
        where coalesce(d.amount, 0) <> coalesce(j.amount, 0)
    ), booked as (
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        select l.user_id, l.new - l.old, 'bonus', 'completed', l.id, l.created_at, v_decision_no from lacking as l
        returning amount
    ), counters as (
        insert into private.counter_deltas (name, delta)
        select c.name, c.delta
        from (select count(*) as entries, sum(pg_catalog.abs(b.amount)) as volume from booked as b) as s
        cross join lateral (values ('bonus_transactions', s.entries), ('bonus_volume', s.volume)) as c (name, delta)
        where s.entries > 0
    )
    select coalesce(pg_catalog.array_agg(
        row(
            'journal', l.id, l.user_id, pg_catalog.jsonb_build_object('amount', private.money(l.old)),
            pg_catalog.jsonb_build_object('amount', private.money(l.new))
        )::private.sum_change order by l.id, l.user_id
    ), '{}')
    into v_changes from lacking as l;
    return v_changes;
end
$$;
comment on function private.book_repairs(uuid[], timestamptz) is
'Books for each member what the journal of these bonuses lacks, or has too much, under the number of the repair, with the counters; returns the changes.';

create function private.rebuild_members() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_changes private.sum_change[];
begin
    with rebuilt as (
        update private.profiles as p set
            cash_in_amount = (d.new ->> 'cash_in_amount')::numeric, package_value = (d.new ->> 'package_value')::numeric
        from private.member_discrepancies as d
        where p.user_id = d.user_id
        returning d.user_id, d.old, d.new
    )
    select pg_catalog.array_agg(
        row('member', r.user_id, r.user_id, r.old, r.new)::private.sum_change order by r.user_id
    )
    into v_changes from rebuilt as r;
    return v_changes;
end
$$;
comment on function private.rebuild_members() is 'Derives cash-in and packages from deposits and corrections; returns the changes.';

create function private.rebuild_positions() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_wrong private.position_discrepancies[] := array(select d from private.position_discrepancies as d order by d.no);
begin
    if pg_catalog.cardinality(v_wrong) > 0 then
        update private.positions as p set
            package_cents = (d.new ->> 'package_cents')::integer,
            paid_cents = (d.new ->> 'paid_cents')::integer,
            children = (d.new ->> 'children')::integer,
            paid_order = (d.new ->> 'paid_order')::bigint
        from pg_catalog.unnest(v_wrong) as d
        where p.no = d.no;
        -- Other bonuses may be due.
        perform pg_catalog.nextval('private.bonus_revision_seq');
    end if;
    return array(
        select row('position', d.no, d.user_id, d.old, d.new)::private.sum_change from pg_catalog.unnest(v_wrong) as d
    );
end
$$;
comment on function private.rebuild_positions() is
'Derives package, payment, number of direct referrals and order of fundings of all positions; returns the changes. The number of a direct referral is no sum and stays.';

create function private.rebuild_totals() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_changes private.sum_change[];
begin
    insert into private.totals (user_id)
    select p.user_id from private.profiles as p where not exists (select 1 from private.totals as t where t.user_id = p.user_id);
    with rebuilt as (
        update private.totals as t set
            referral_amount = (d.new ->> 'referral_amount')::numeric, referral_count = (d.new ->> 'referral_count')::integer,
            pairing_amount = (d.new ->> 'pairing_amount')::numeric, pairing_count = (d.new ->> 'pairing_count')::integer,
            override_amount = (d.new ->> 'override_amount')::numeric, override_count = (d.new ->> 'override_count')::integer,
            reentry_amount = (d.new ->> 'reentry_amount')::numeric, withdrawn_amount = (d.new ->> 'withdrawn_amount')::numeric,
            reserved_amount = (d.new ->> 'reserved_amount')::numeric
        from private.total_discrepancies as d
        where t.user_id = d.user_id
        returning d.user_id, d.old, d.new
    )
    select pg_catalog.array_agg(
        row('totals', r.user_id, r.user_id, r.old, r.new)::private.sum_change order by r.user_id
    )
    into v_changes from rebuilt as r;
    return v_changes;
end
$$;
comment on function private.rebuild_totals() is 'Derives all totals from bonuses and withdrawals; returns the changes.';

create function private.rebuild_balances(p_users uuid[]) returns private.sum_change[]
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_changes private.sum_change[];
begin
    with wrong as materialized (
        select
            b.id,
            b.user_id,
            b.balance_after,
            b.due_balance,
            row_number() over (partition by b.user_id order by b.decision_no, b.id) as place,
            count(*) over (partition by b.user_id) as rows
        from private.running_balances as b
        where (p_users is null or b.user_id = any(p_users)) and b.balance_after is distinct from b.due_balance
    ), rebuilt as (
        update public.transactions as t set balance_after = w.due_balance from wrong as w where t.id = w.id
    )
    select pg_catalog.array_agg(
        row(
            'balance', w.id, w.user_id, pg_catalog.jsonb_build_object('balance_after', private.money(w.balance_after)),
            pg_catalog.jsonb_build_object('balance_after', private.money(w.due_balance), 'rows', w.rows)
        )::private.sum_change order by w.user_id
    )
    into v_changes from wrong as w where w.place = 1;
    return v_changes;
end
$$;
comment on function private.rebuild_balances(uuid[]) is
'Derives the balance beside each journal row of these members (null: all) from the rows; returns of each member the first that was wrong, and how many were. Call with app.repair on.';

create function private.lock_sums() returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform private.lock_members(array(
        select d.user_id from private.member_discrepancies as d
        union
        select d.user_id from private.position_discrepancies as d
        union
        select d.user_id from private.total_discrepancies as d
        union
        select b.user_id from private.running_balances as b where b.balance_after is distinct from b.due_balance
    ));
    -- No roll-up moves deltas meanwhile.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('networks'));
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_sums() is 'Locks the members whose sums differ, and the roll-up. Errors: try_again.';

create function private.rebuild_sums() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_changes private.sum_change[] := '{}'::private.sum_change[];
begin
    perform private.lock_sums();
    -- In this order: each is derived from those before it.
    v_changes := v_changes || private.rebuild_members();
    v_changes := v_changes || private.rebuild_positions();
    v_changes := v_changes || private.rebuild_totals();
    v_changes := v_changes || private.rebuild_balances(null);
    v_changes := v_changes || private.rebuild_counter_values();
    v_changes := v_changes || private.rebuild_flows();
    v_changes := v_changes || private.rebuild_earning_days();
    v_changes := v_changes || private.rebuild_networks();
    v_changes := v_changes || private.rebuild_team_days();
    insert into private.ledger_changes (user_id) select distinct c.user_id from pg_catalog.unnest(v_changes) as c where c.user_id is not null;
    return v_changes;
end
$$;
comment on function private.rebuild_sums() is
'Derives all stored sums and counters from the rows; returns the changes. Call under the money lock, with app.repair on. Errors: try_again.';

create function public.rebuild_counters(p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := private.validate_reason(p_reason);
    v_before jsonb;
    v_found jsonb;
    v_changes private.sum_change[];
    v_response jsonb;
begin
    if nullif(pg_catalog.btrim(p_reason), '') is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    perform private.lock_money();
    v_found := private.wrong_rows();
    if v_found is not null then
        perform private.raise_rows_wrong(v_found || coalesce(private.unlike_rows(), '[]'));
    end if;
    v_before := coalesce(private.unlike_rows(), '[]');
    perform pg_catalog.set_config('app.repair', 'on', true);
    v_changes := private.rebuild_sums();
    v_found := private.unlike_rows();
    -- Bonuses that fitted a package which nobody paid for follow it back.
    if v_found @? '$[*] ? (@.rule == "I11")' and not v_before @? '$[*] ? (@.rule == "I11")' then
        perform private.reconcile();
        v_changes := v_changes || private.rebuild_sums();
        v_found := private.unlike_rows();
    end if;
    v_response := private.changes_json(v_changes);
    if v_found is not null then
        perform private.raise_rows_wrong(v_found);
    end if;
    perform pg_catalog.set_config('app.repair', '', true);
    perform private.audit(
        'admin:' || v_admin.id, 'books.rebuilt', 'counters', null, pg_catalog.jsonb_build_object('reason', v_reason) || v_response
    );
    return v_response || '{"success": true}';
end
$$;
comment on function public.rebuild_counters(text) is
'Super administrators: derives every stored sum and counter from the rows, with an audit row. Changes nothing while rows are wrong in themselves: a correction or the next comparison of the bonuses mends these first. Returns the first hundred changes, each with its kind, object, member and figures before and after, and their count; 0 when all agreed. Errors: forbidden, session_ended, two_step_required, invalid_reason, reason_required, rows_wrong, try_again.';
grant execute on function public.rebuild_counters(text) to platform_admin;
