-- Bonuses and their journal rows, made again what the decisions say; and the run of a repair, which restores requests first,
-- because a bonus follows from them.

-- When a bonus has two rows, the one with the time of its decision is kept, else the first.
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
                    order by j.is_timely desc nulls last, j.decision_no nulls last, r.created_at, r.id
                ) as place
            from public.bonuses as r
            cross join lateral (
                select
                    min(t.decision_no) as decision_no,
                    bool_or(exists (select from private.numbered_decisions as n where n.decision_no = t.decision_no and n.at = r.created_at)) as is_timely
                from public.transactions as t
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
        v_done := v_done || private.write_rows(array(
            select row('public.transactions', pg_catalog.jsonb_build_object('id', t.id), pg_catalog.to_jsonb(t), null)::private.row_change
            from public.transactions as t where t.reference_id = v_row.id order by t.id
        ) || row('public.bonuses', pg_catalog.jsonb_build_object('id', v_row.id), v_row.old, null)::private.row_change);
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

create function private.bonuses_with_wrong_rows(p_user_id uuid) returns uuid[]
language plpgsql stable set search_path = '' as $$
begin
    return array(
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
end
$$;
comment on function private.bonuses_with_wrong_rows(uuid) is
'Bonuses of a member, or with a journal row of the member, that are as tree and packages say and whose journal rows are not as the bonuses say.';

create function private.book_missing_amounts(p_ids uuid[]) returns jsonb
language plpgsql volatile set search_path = '' as $$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(w.change #- '{new,decision_no}' #- '{new,created_at}'), '[]')
        from pg_catalog.jsonb_array_elements(private.write_rows(array(
            select row('public.transactions', '{}', null, pg_catalog.jsonb_build_object(
                'user_id', b.user_id, 'amount', b.amount - coalesce(j.amount, 0), 'transaction_type', 'bonus', 'status', 'completed', 'reference_id', b.id,
                'created_at', case when j.amount is null then b.created_at else private.clock() end,
                'decision_no', coalesce(private.current_decision_no(), private.last_decision_no())
            ))::private.row_change
            from public.bonuses as b
            cross join lateral (
                select sum(t.amount) as amount from public.transactions as t
                where t.transaction_type = 'bonus' and t.reference_id = b.id and t.user_id = b.user_id
            ) as j
            where b.id = any(p_ids) and b.amount <> coalesce(j.amount, 0)
            order by b.id
        ))) as w (change)
    );
end
$$;
comment on function private.book_missing_amounts(uuid[]) is
'Books the difference between each of these bonuses and its journal rows; returns the changes.';

create function private.restore_bonus_rows(p_user_id uuid) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_wrong uuid[] := private.bonuses_with_wrong_rows(p_user_id);
    v_done jsonb;
begin
    v_done := private.write_rows(array(
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
        select row('public.transactions', pg_catalog.jsonb_build_object('id', r.id), r.old, r.new)::private.row_change
        from (
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
        ) as r
        order by r.id
    ));
    return v_done || private.book_missing_amounts(v_wrong);
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
        select u.id from pg_catalog.unnest(private.users_in(v_done)) as u (id)
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
    v_users := array(select p_user_id union select u.id from pg_catalog.unnest(private.users_in(v_done)) as u (id));
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
    where f.value ->> 'rule' in ('I01', 'I03', 'I04', 'I05', 'I06', 'I10', 'I17', 'I31', 'I35', 'I36', 'I43', 'I44', 'I45', 'I46', 'I47', 'I48')
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

-- The preview of a correction is the correction itself, taken back afterwards.
create function private.rows_to_restore(p_user_id uuid) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_done jsonb;
begin
    begin
        v_done := private.restore_rows(p_user_id);
        raise exception 'taken back' using errcode = 'HL001';
    exception
        when sqlstate 'HL001' then
            return v_done;
        -- As where the administrator who decided is gone, or an entry is nobody's of the product.
        when integrity_constraint_violation or data_exception then
            perform private.raise_error(
                409, 'not_correctable', pg_catalog.format('Something else stands in the way of what the audit log says: %s. Mend that first.', sqlerrm)
            );
    end;
end
$$;
comment on function private.rows_to_restore(uuid) is
'What private.restore_rows() would change. Changes nothing. Errors: not_correctable, rows_wrong, try_again.';

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

create function private.restore_proposal(p_correction_id uuid) returns boolean
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.set_config('app.repair', 'rows', true);
    perform private.write_rows(private.correction_changes(array[p_correction_id]));
    perform pg_catalog.set_config('app.repair', '', true);
    return exists (select from private.corrections as c where c.id = p_correction_id);
end
$$;
comment on function private.restore_proposal(uuid) is
'Makes a pending correction what its entry of the audit log says; false where it was taken out, because no entry says that it was proposed.';
