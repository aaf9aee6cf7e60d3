-- Rows of money that are wrong in themselves are made again what their sources say, by a correction of kind repair_rows:
-- one super administrator proposes, another administrator confirms. Nobody types what is written. A request, its decision
-- and a correction follow from their entries of the audit log, a journal row from its request, a bonus's journal rows from
-- the bonus and the decisions whose numbers and times they have. What is missing is added; what was changed is set back;
-- what the product never wrote is taken out, and stays whole in the correction and its entry, for no row that is added
-- could make one of two equal rows be the only one.
-- Sums stay as they are, because they never followed the damage: only what is derived from the journal follows it here. A
-- bonus that tree and packages do not explain is the reconciliation's and is left alone with its journal.

create view private.sound_entries as
select
    l.object_id,
    l.action,
    l.at,
    l.actor,
    l.payload - array['actor_role', 'request_id'] as facts
from private.audit_log as l
cross join private.earlier_entries as s
where l.id > s.last_id and l.hash = private.entry_hash(l);
comment on view private.sound_entries is 'Entries of the audit log that are as they were written, and what they say beside role and request.';

create view private.due_request_rows as
select
    'deposit'::public.transaction_type as transaction_type,
    d.id as reference_id,
    d.user_id,
    d.amount::numeric as amount,
    (case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end)::public.transaction_status as status,
    d.created_at,
    d.decision_no
from public.deposits as d
union all
select
    'withdrawal',
    w.id,
    w.user_id,
    -w.amount,
    (case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end)::public.transaction_status,
    w.created_at,
    w.decision_no
from public.withdrawals as w
union all
select
    (case c.kind when 'void_deposit' then 'deposit' else 'withdrawal' end)::public.transaction_type,
    c.id,
    c.user_id,
    coalesce(-d.amount, w.amount),
    'completed',
    c.confirmed_at,
    c.decision_no
from private.corrections as c
left join public.deposits as d on c.kind = 'void_deposit' and c.target_id = d.id
left join public.withdrawals as w on c.kind = 'void_withdrawal' and c.target_id = w.id
where c.kind in ('void_deposit', 'void_withdrawal') and c.confirmed_by is not null;
comment on view private.due_request_rows is 'The journal row that each request has, and each correction that voids one.';

create function private.money_as_text(p_row jsonb) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_object_agg(f.key, case
        when pg_catalog.jsonb_typeof(f.value) = 'number' and f.key in ('amount', 'volume', 'value', 'reentry_amount', 'balance_after')
            then pg_catalog.to_jsonb(private.money((f.value #>> '{}')::numeric))
        else f.value
    end)
    from pg_catalog.jsonb_each(p_row) as f
$$;
comment on function private.money_as_text(jsonb) is 'A row of money as JSON, with its amounts as text.';

create function private.write_row(p_table regclass, p_id uuid, p_old jsonb, p_new jsonb) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_columns text;
begin
    if p_old is null then
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        select t.user_id, t.amount, t.transaction_type, t.status, t.reference_id, t.created_at, t.decision_no
        from pg_catalog.jsonb_populate_record(null::public.transactions, p_new) as t;
    elsif p_new is null then
        execute pg_catalog.format('delete from %s as t where t.id = $1', p_table) using p_id;
    else
        select pg_catalog.string_agg(pg_catalog.quote_ident(f.key), ', ') into v_columns
        from pg_catalog.jsonb_object_keys(private.changed_fields(p_new, p_old)) as f (key);
        execute pg_catalog.format(
            'update %1$s as t set (%2$s) = (select %2$s from pg_catalog.jsonb_populate_record(null::%1$s, $1)) where t.id = $2', p_table, v_columns
        ) using p_new, p_id;
    end if;
    return pg_catalog.jsonb_build_object(
        'table', p_table::text, 'id', p_id,
        'old', private.money_as_text(case when p_new is null then p_old else private.changed_fields(p_old, p_new) end),
        'new', private.money_as_text(case when p_old is null then p_new else private.changed_fields(p_new, p_old) end)
    );
end
$$;
comment on function private.write_row(regclass, uuid, jsonb, jsonb) is
'Adds a journal row (no old one), takes a row out (no new one) or sets back what differs; returns what was and what is. Call with app.repair set to rows.';

create function private.restore_requests(p_user_id uuid) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_row record;
    v_done jsonb := '[]'::jsonb;
begin
    for v_row in
        select r.*
        from (
            select
                'public.deposits' as name, d.id, pg_catalog.to_jsonb(d) as old,
                pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(
                    d, a.facts || coalesce(b.facts, '{}') || pg_catalog.jsonb_build_object('voided_at', v.confirmed_at)
                )) as new
            from public.deposits as d
            cross join lateral (
                select (pg_catalog.array_agg(e.facts))[1] || pg_catalog.jsonb_build_object('created_at', min(e.at)) as facts
                from private.sound_entries as e where e.object_id = d.id and e.action = 'deposit.requested' having count(*) = 1
            ) as a
            left join lateral (
                select pg_catalog.jsonb_build_object(
                    'admin_notes', (pg_catalog.array_agg(e.facts))[1] -> 'reason', 'decision_no', (pg_catalog.array_agg(e.facts))[1] -> 'decision_no',
                    'decided_at', min(e.at), 'decided_by', min(pg_catalog.substr(e.actor, 7)) filter (where e.action <> 'deposit.cancelled'),
                    'received_amount', (pg_catalog.array_agg(e.facts))[1] -> 'received_amount'
                ) as facts
                from private.sound_entries as e
                where e.object_id = d.id and e.action in ('deposit.' || d.status, case d.status when 'rejected' then 'deposit.cancelled' end)
                having count(*) = 1
            ) as b on true
            left join private.confirmed_voids as v on d.id = v.target_id
            where d.user_id = p_user_id
            union all
            select
                'public.withdrawals', w.id, pg_catalog.to_jsonb(w),
                pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(
                    w, a.facts || coalesce(b.facts, '{}') || pg_catalog.jsonb_build_object('voided_at', v.confirmed_at)
                ))
            from public.withdrawals as w
            cross join lateral (
                select (pg_catalog.array_agg(e.facts))[1] || pg_catalog.jsonb_build_object('created_at', min(e.at)) as facts
                from private.sound_entries as e where e.object_id = w.id and e.action = 'withdrawal.requested' having count(*) = 1
            ) as a
            left join lateral (
                select pg_catalog.jsonb_build_object(
                    'admin_notes', (pg_catalog.array_agg(e.facts))[1] -> 'reason', 'decision_no', (pg_catalog.array_agg(e.facts))[1] -> 'decision_no',
                    'decided_at', min(e.at), 'decided_by', min(pg_catalog.substr(e.actor, 7)) filter (where e.action <> 'withdrawal.cancelled')
                ) as facts
                from private.sound_entries as e
                where e.object_id = w.id and e.action in ('withdrawal.' || w.status, case w.status when 'rejected' then 'withdrawal.cancelled' end)
                having count(*) = 1
            ) as b on true
            left join private.confirmed_voids as v on w.id = v.target_id
            where w.user_id = p_user_id
            union all
            select
                'private.corrections', c.id, pg_catalog.to_jsonb(c),
                pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(c, a.facts))
            from private.corrections as c
            cross join lateral (
                select
                    (pg_catalog.array_agg(e.facts))[1]
                    || pg_catalog.jsonb_build_object('confirmed_at', min(e.at), 'confirmed_by', min(pg_catalog.substr(e.actor, 7))) as facts
                from private.sound_entries as e where e.object_id = c.id and e.action = 'correction.confirmed' having count(*) = 1
            ) as a
            where c.user_id = p_user_id and c.confirmed_by is not null
        ) as r
        where r.old <> r.new
        order by r.name, r.id
    loop
        v_done := v_done || private.write_row(v_row.name::regclass, v_row.id, v_row.old, v_row.new);
    end loop;
    return v_done;
end
$$;
comment on function private.restore_requests(uuid) is
'Sets a member''s requests and corrections back to what their entries of the audit log say, their status excepted; returns the changes.';

create function private.restore_request_rows(p_user_id uuid) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_row record;
    v_done jsonb := '[]'::jsonb;
begin
    for v_row in
        select
            t.id,
            case when t.id is not null then pg_catalog.to_jsonb(t) end as old,
            -- The one that is as it should be, otherwise the first, is the request's.
            case when row_number() over (
                partition by d.transaction_type, d.reference_id order by (to_jsonb(t) @> d.row) desc, t.id
            ) = 1 then coalesce(pg_catalog.to_jsonb(t), '{}') || d.row end as new
        from (
            select
                q.transaction_type, q.reference_id,
                pg_catalog.to_jsonb(q) || pg_catalog.jsonb_build_object('amount', q.amount::public.usd) as row
            from private.due_request_rows as q
            where q.user_id = p_user_id
        ) as d
        left join public.transactions as t on d.reference_id = t.reference_id
        union all
        select t.id, pg_catalog.to_jsonb(t), null
        from public.transactions as t
        where t.user_id = p_user_id and t.transaction_type <> 'bonus'
            and not exists (select from private.due_request_rows as q where q.reference_id = t.reference_id)
        order by 1
    loop
        if v_row.old is distinct from v_row.new then
            v_done := v_done || private.write_row('public.transactions', v_row.id, v_row.old, v_row.new);
        end if;
    end loop;
    return v_done;
end
$$;
comment on function private.restore_request_rows(uuid) is
'Makes the journal rows of a member''s requests what the requests say, one for each; returns the changes.';

-- Of two rows of one bonus the one is kept that the journal has from the first decision.
create function private.remove_double_bonuses(p_user_id uuid) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_row record;
    v_done jsonb := '[]'::jsonb;
begin
    for v_row in
        select b.id, pg_catalog.to_jsonb(b) as old
        from (
            select
                r as bonus,
                row_number() over (
                    partition by r.bonus_type, r.subject_no, r.pair_number
                    order by j.decision_no nulls last, r.created_at, r.id
                ) as place
            from public.bonuses as r
            cross join lateral (
                select min(t.decision_no) as decision_no from public.transactions as t
                where t.reference_id = r.id and t.transaction_type = 'bonus'
            ) as j
            where (r.bonus_type, r.subject_no, coalesce(r.pair_number, 0)) in (
                select o.bonus_type, o.subject_no, coalesce(o.pair_number, 0) from public.bonuses as o
                where (o.bonus_type, o.subject_no, coalesce(o.pair_number, 0)) in (
                    select m.bonus_type, m.subject_no, coalesce(m.pair_number, 0) from public.bonuses as m where m.user_id = p_user_id
                )
                group by o.bonus_type, o.subject_no, coalesce(o.pair_number, 0)
                having count(*) > 1
            )
        ) as k
        inner join public.bonuses as b on (k.bonus).id = b.id
        where k.place > 1
        order by b.id
    loop
        v_done := v_done || (
            select coalesce(pg_catalog.jsonb_agg(private.write_row('public.transactions', t.id, pg_catalog.to_jsonb(t), null) order by t.id), '[]')
            from public.transactions as t where t.reference_id = v_row.id
        ) || private.write_row('public.bonuses', v_row.id, v_row.old, null);
    end loop;
    return v_done;
end
$$;
comment on function private.remove_double_bonuses(uuid) is
'Takes out second rows of a member''s bonuses, with their journal rows; returns the changes.';

create view private.numbered_decisions as
select
    d.decision_no,
    d.decided_at as at
from public.deposits as d
where d.decision_no is not null
union all
select
    w.decision_no,
    w.decided_at
from public.withdrawals as w
where w.decision_no is not null
union all
select
    c.decision_no,
    c.confirmed_at
from private.corrections as c
where c.decision_no is not null
union all
select
    r.decision_no,
    r.at
from private.numbered_repairs as r;
comment on view private.numbered_decisions is 'Decisions, corrections and repairs: their numbers and times.';

create function private.is_as_planned(p_bonus public.bonuses) returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return exists (
        select from private.positions as s
        left join private.positions as u on s.referrer_no = u.no
        left join private.due_referrals as r on (p_bonus).bonus_type = 'referral' and s.no = r.subject_no
        left join private.due_pairings as p on (p_bonus).bonus_type = 'pairing' and s.no = p.subject_no and (p_bonus).pair_number = p.pair_no
        left join private.due_overrides as o on (p_bonus).bonus_type = 'override' and s.no = o.subject_no and (p_bonus).pair_number = o.pair_no
        where s.no = (p_bonus).subject_no
            and (p_bonus).user_id = case (p_bonus).bonus_type when 'pairing' then s.user_id else u.user_id end
            and (p_bonus).amount_cents = coalesce(r.cents, p.cents, o.cents, 0)
    );
end
$$;
comment on function private.is_as_planned(public.bonuses) is
'Whether a bonus has the owner and the amount that tree and packages say; what has not is the reconciliation''s.';

create function private.restore_bonus_rows(p_user_id uuid) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_wrong uuid[];
    v_row record;
    v_done jsonb := '[]'::jsonb;
begin
    v_wrong := array(
        select b.id
        from public.bonuses as b
        cross join lateral (
            select
                coalesce(sum(t.amount) filter (where t.user_id = b.user_id and t.status = 'completed'), 0) <> b.amount
                or (min(array[t.decision_no, (extract(epoch from t.created_at) * 1000000)::bigint]) filter (where t.user_id = b.user_id))[2]
                    <> extract(epoch from b.created_at) * 1000000
                or bool_or(t.decision_no is null or t.status <> 'completed')
                or bool_or(t.user_id <> b.user_id and not private.is_booked_back(b.id, t.user_id)) as is_wrong
            from public.transactions as t
            where t.transaction_type = 'bonus' and t.reference_id = b.id
        ) as j
        where (
            b.user_id = p_user_id
            or b.id in (select r.reference_id from public.transactions as r where r.user_id = p_user_id and r.transaction_type = 'bonus')
        )
            and j.is_wrong
            and private.is_as_planned(b)
        order by b.id
    );
    for v_row in
        with numbers as materialized (
            select distinct d.decision_no from private.numbered_decisions as d
        ), sourced as materialized (
            select
                t.id, t as entry, b.id as bonus_id, b.user_id, b.created_at as earned_at, b.amount as due, t.amount,
                coalesce(n.decision_no, a.decision_no) as decision_no
            from public.bonuses as b
            inner join public.transactions as t on b.id = t.reference_id and t.transaction_type = 'bonus'
            left join numbers as n on t.decision_no = n.decision_no
            -- A decision writes rows whose times begin with its own.
            left join lateral (
                select d.decision_no from private.numbered_decisions as d
                where n.decision_no is null and d.at <= t.created_at and d.at > t.created_at - interval '10 seconds'
                order by d.at desc, d.decision_no desc limit 1
            ) as a on true
            where b.id = any(v_wrong) and not private.is_booked_back(b.id, t.user_id)
        ), summed as (
            select
                j.*,
                row_number() over (partition by j.bonus_id order by j.decision_no, j.id) = 1
                and not private.is_booked_elsewhere_first(j.bonus_id, j.user_id) as is_first,
                count(*) over same > 1 as is_shared,
                j.due - sum(j.amount) over (partition by j.bonus_id) + sum(j.amount) over same as share
            from sourced as j
            where j.decision_no is not null
            window same as (partition by j.bonus_id, j.decision_no)
        ), placed as (
            -- One decision changes a bonus once: of more rows that have its number, the one stays that fits.
            select
                s.id, s.user_id, s.decision_no, s.is_first, s.earned_at,
                s.is_shared and (
                    s.share = 0
                    or row_number() over (partition by s.bonus_id, s.decision_no, s.amount = s.share order by s.id) > 1
                    or (s.amount <> s.share and bool_or(s.amount = s.share) over (partition by s.bonus_id, s.decision_no))
                ) as is_second
            from summed as s
        )
        select
            j.id, pg_catalog.to_jsonb(j.entry) as old,
            case when not p.is_second then pg_catalog.to_jsonb(j.entry) || pg_catalog.jsonb_build_object(
                'user_id', p.user_id, 'decision_no', p.decision_no, 'status', 'completed',
                'created_at', case when p.is_first then p.earned_at else (j.entry).created_at end
            ) end as new
        from sourced as j left join placed as p on j.id = p.id
        union all
        select t.id, pg_catalog.to_jsonb(t), null
        from public.transactions as t
        where t.user_id = p_user_id and t.transaction_type = 'bonus'
            and not exists (select from public.bonuses as b where b.id = t.reference_id)
        order by 1
    loop
        if v_row.old is distinct from v_row.new then
            v_done := v_done || private.write_row('public.transactions', v_row.id, v_row.old, v_row.new);
        end if;
    end loop;
    for v_row in
        select
            b.id, b.user_id, b.created_at, b.amount - coalesce(j.amount, 0) as amount, j.amount is null as is_first
        from public.bonuses as b
        cross join lateral (
            select sum(t.amount) as amount from public.transactions as t
            where t.transaction_type = 'bonus' and t.reference_id = b.id and t.user_id = b.user_id
        ) as j
        where b.id = any(v_wrong) and b.amount <> coalesce(j.amount, 0)
        order by b.id
    loop
        v_done := v_done || (private.write_row('public.transactions', null, null, pg_catalog.jsonb_build_object(
            'user_id', v_row.user_id, 'amount', v_row.amount, 'transaction_type', 'bonus', 'status', 'completed', 'reference_id', v_row.id,
            'created_at', case when v_row.is_first then v_row.created_at else private.clock() end,
            'decision_no', coalesce(private.current_decision_no(), private.last_decision_no())
        )) #- '{new,decision_no}' #- '{new,created_at}');
    end loop;
    return v_done;
end
$$;
comment on function private.restore_bonus_rows(uuid) is
'Makes the journal rows of a member''s bonuses what the bonuses say: rows of no decision are taken out, numbers and times are those of the decisions, and what is lacking then is booked. Bonuses with another owner or amount than tree and packages say are left. Returns the changes.';

create function private.restore_rows(p_user_id uuid) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_done jsonb;
    v_user uuid;
    v_users uuid[];
    v_found jsonb;
begin
    perform private.lock_members(array[p_user_id]);
    begin
        -- No roll-up moves deltas meanwhile.
        perform pg_catalog.pg_advisory_xact_lock(private.lock_key('networks'));
    exception when lock_not_available then
        perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
    end;
    perform pg_catalog.set_config('app.repair', 'rows', true);
    v_done := private.restore_requests(p_user_id);
    -- Also of whom a request, or the request of a journal row, is really.
    for v_user in
        select p_user_id
        union
        select (d.value #>> '{new,user_id}')::uuid from pg_catalog.jsonb_array_elements(v_done) as d (value) where d.value #>> '{new,user_id}' is not null
        union
        select q.user_id
        from public.transactions as t inner join private.due_request_rows as q on t.reference_id = q.reference_id
        where t.user_id = p_user_id and t.transaction_type <> 'bonus'
        order by 1
    loop
        v_done := v_done || private.restore_request_rows(v_user);
    end loop;
    v_done := v_done || private.remove_double_bonuses(p_user_id);
    v_done := v_done || private.restore_bonus_rows(p_user_id);
    v_users := array(
        select p_user_id
        union
        select v.id::uuid
        from pg_catalog.jsonb_array_elements(v_done) as d (value)
        cross join lateral (values (d.value #>> '{old,user_id}'), (d.value #>> '{new,user_id}')) as v (id)
        where v.id is not null
    );
    -- Balances and days of earnings are derived from the journal.
    perform private.rebuild_balances(v_users);
    perform private.rebuild_earning_days(array(select o.no from private.positions as o where o.user_id = any(v_users)));
    insert into private.counter_deltas (name, delta)
    select f.name, f.value - c.value
    from (
        select count(*) as entries, coalesce(sum(pg_catalog.abs(t.amount)), 0) as volume
        from public.transactions as t where t.transaction_type = 'bonus'
    ) as s
    cross join lateral (values ('bonus_transactions', s.entries), ('bonus_volume', s.volume)) as f (name, value)
    inner join private.counter_values() as c on f.name = c.name
    where c.value <> f.value;
    insert into private.ledger_changes (user_id) select u.id from pg_catalog.unnest(v_users) as u (id);
    perform pg_catalog.set_config('app.repair', '', true);
    select pg_catalog.jsonb_agg(f.value) into v_found
    from pg_catalog.jsonb_array_elements(private.check_members(v_users)) as f (value)
    where f.value ->> 'rule' in ('I01', 'I03', 'I04', 'I05', 'I06', 'I10', 'I17', 'I35', 'I36', 'I43', 'I44', 'I45', 'I46', 'I48')
        -- The reconciliation's: then the journal goes with the bonus.
        and not exists (
            select from public.bonuses as b
            where not private.is_as_planned(b)
                and (
                    b.id::text = f.value ->> 'object'
                    or b.id = (select t.reference_id from public.transactions as t where t.id::text = f.value ->> 'object' and f.value ->> 'rule' = 'I05')
                )
        )
        -- Its own entry is written last.
        and not private.is_being_confirmed(f.value ->> 'object');
    if v_found is not null then
        perform private.raise_rows_wrong(v_found);
    end if;
    return v_done;
end
$$;
comment on function private.restore_rows(uuid) is
'Makes the rows of a member what their sources say and returns what was and what is; changes nothing where rows would stay wrong. Call under the money lock. Errors: rows_wrong, try_again.';

create function private.is_being_confirmed(p_object text) returns boolean
language sql stable set search_path = '' as $$
    select exists (
        select from private.corrections as c
        where c.confirmed_in = pg_catalog.pg_current_xact_id_if_assigned() and starts_with(p_object, c.id::text)
    )
$$;
comment on function private.is_being_confirmed(text) is 'Whether a violation names the correction that this transaction confirms.';

-- What a correction would do is what it does: it is done, and taken back.
create function private.rows_to_restore(p_user_id uuid) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_done jsonb;
begin
    begin
        v_done := private.restore_rows(p_user_id);
        raise exception 'taken back' using errcode = 'HL001';
    exception when sqlstate 'HL001' then
        return v_done;
    end;
end
$$;
comment on function private.rows_to_restore(uuid) is
'What private.restore_rows() would change. Changes nothing. Errors: rows_wrong, try_again.';

create function private.require_rows_to_restore(p_user_id uuid) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_restores jsonb;
begin
    if exists (
        select from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null and pg_catalog.left(a.object, 3) = 'I26'
    ) then
        perform private.raise_error(
            409, 'not_correctable', 'The audit log itself was changed, so nothing says what the rows were. Compare it with a backup.'
        );
    end if;
    v_restores := private.rows_to_restore(p_user_id);
    if v_restores = '[]' then
        perform private.raise_error(409, 'not_correctable', 'The rows of this member are what their sources say. Where an alarm about the member stays, restore the moment before.');
    end if;
    return v_restores;
end
$$;
comment on function private.require_rows_to_restore(uuid) is
'What a repair of this member''s rows would change. Errors: not_correctable, rows_wrong, try_again.';
