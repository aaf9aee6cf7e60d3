-- Corrections, the only way to undo. One super_admin proposes, another finance or super administrator confirms; the
-- effect is one transaction under the money lock. A voided deposit or withdrawal keeps its status but no longer
-- counts; the journal gets a reversing row and bonuses are recomputed. Nothing is deleted, except rows that the product
-- never wrote: a correction of kind repair_rows makes rows again what their sources say (265_row_repairs.sql).
-- Rules: specification S10.

create table private.corrections (
    id uuid primary key default gen_random_uuid(),
    kind text not null check (kind in ('void_deposit', 'void_withdrawal', 'set_package', 'repair_rows')),
    target_id uuid not null,
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    value public.usd,
    reason text not null check (length(reason) between 1 and 1000),
    proposed_by uuid not null references private.admin_users (id) on delete restrict,
    proposed_at timestamptz not null,
    confirmed_by uuid references private.admin_users (id) on delete restrict,
    confirmed_at timestamptz,
    confirmed_in xid8,
    discarded_by uuid references private.admin_users (id) on delete restrict,
    discarded_at timestamptz,
    decision_no bigint,
    based_on_package public.usd,
    based_on_cash_in public.usd,
    restores jsonb,
    constraint confirmer_is_not_proposer check (confirmed_by is distinct from proposed_by),
    constraint only_packages_have_a_value check ((kind = 'set_package') = (value is not null)),
    constraint confirmation_is_complete check (
        (confirmed_by is null) = (confirmed_at is null) and (confirmed_by is null) = (confirmed_in is null)
        and (confirmed_by is null) = (decision_no is null)
    ),
    constraint discard_is_complete check ((discarded_by is null) = (discarded_at is null)),
    constraint confirmed_or_discarded check (confirmed_by is null or discarded_by is null),
    constraint only_repairs_restore_rows check ((kind = 'repair_rows') = (restores is not null))
);
comment on table private.corrections is
'Proposed, confirmed and discarded corrections. target_id: the deposit, the withdrawal, or the member''s profile.';
comment on column private.corrections.based_on_package is
'The member''s package when it was proposed: null where it does not matter, and of earlier proposals.';
comment on column private.corrections.based_on_cash_in is 'The member''s cash-in at that time, or null.';
comment on column private.corrections.restores is
'What a repair of rows changes: of each row the table, its id and what differs, before and after; whole where it is added or taken out.';
comment on column private.corrections.decision_no is 'Place of the confirmation in the order of all decisions; its journal rows carry it.';
alter table private.corrections enable row level security;
create index corrections_user_idx on private.corrections (user_id);
create index corrections_proposed_idx on private.corrections (proposed_at desc);
create index corrections_proposed_by_idx on private.corrections (proposed_by);
create index corrections_confirmed_by_idx on private.corrections (confirmed_by) where confirmed_by is not null;
create index corrections_discarded_by_idx on private.corrections (discarded_by) where discarded_by is not null;
create unique index corrections_waiting_key on private.corrections (kind, target_id) where confirmed_by is null and discarded_by is null;
create index corrections_waiting_idx on private.corrections (proposed_at, id) where confirmed_by is null and discarded_by is null;
-- The latest ones, and the correction that caused a journal row.
create unique index corrections_decision_no_key on private.corrections (decision_no desc) where confirmed_by is not null;
create trigger _100_reject_change before delete or truncate on private.corrections for each statement execute function private.reject_change();

create function private.is_being_corrected(p_user_id uuid) returns boolean
language sql stable set search_path = '' as $$
    select exists (
        select 1 from private.corrections as c
        where c.user_id = p_user_id and c.confirmed_in = pg_catalog.pg_current_xact_id_if_assigned()
    )
$$;
comment on function private.is_being_corrected(uuid) is 'True only within the transaction that confirms a correction of this member.';

create function private.correctable_member(p_kind text, p_target_id uuid) returns uuid
language sql stable set search_path = '' as $$
    select d.user_id from public.deposits as d
    where p_kind = 'void_deposit' and d.id = p_target_id and d.status = 'approved' and d.voided_at is null
    union all
    select w.user_id from public.withdrawals as w
    where p_kind = 'void_withdrawal' and w.id = p_target_id and w.status = 'approved' and w.voided_at is null and w.payout_reference is null
    union all
    select p.user_id from private.profiles as p
    where p.id = p_target_id and (p_kind = 'repair_rows' or (p_kind = 'set_package' and p.closed_at is null))
$$;
comment on function private.correctable_member(text, uuid) is
'User id of the member whom a correction would affect; null when there is nothing to correct.';

create function private.require_correctable_member(p_kind text, p_target_id uuid) returns uuid
language plpgsql stable set search_path = '' as $$
declare
    v_user_id uuid := private.correctable_member(p_kind, p_target_id);
begin
    if p_kind is null or p_kind not in ('void_deposit', 'void_withdrawal', 'set_package', 'repair_rows') then
        perform private.raise_error(400, 'invalid_input', 'The kind must be void_deposit, void_withdrawal, set_package or repair_rows.');
    end if;
    if v_user_id is null then
        perform private.raise_error(
            409, 'not_correctable', case p_kind
                when 'void_deposit' then 'Only an approved deposit that still counts can be voided.'
                when 'void_withdrawal' then 'Only an approved withdrawal that was not paid can be voided.'
                else 'There is no such member.'
            end
        );
    end if;
    return v_user_id;
end
$$;
comment on function private.require_correctable_member(text, uuid) is
'User id of the member whom a correction affects. Errors: invalid_input, not_correctable.';

create function private.correction_facts(p_correction private.corrections) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_correction).user_id, 'kind', (p_correction).kind, 'target_id', (p_correction).target_id,
        'value', private.money((p_correction).value), 'reason', (p_correction).reason, 'proposed_by', (p_correction).proposed_by,
        'decision_no', (p_correction).decision_no
    ) || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
        'based_on_package', private.money((p_correction).based_on_package), 'based_on_cash_in', private.money((p_correction).based_on_cash_in)
    )) || case when (p_correction).restores is not null then pg_catalog.jsonb_build_object('restores', (p_correction).restores) else '{}' end
$$;
comment on function private.correction_facts(private.corrections) is
'Payload of correction.proposed, correction.confirmed and correction.discarded.';

create function private.audit_correction(p_action text, p_admin_id uuid, p_correction private.corrections, p_at timestamptz) returns jsonb
language plpgsql volatile set search_path = '' as $$
begin
    perform private.audit('admin:' || p_admin_id, p_action, 'correction', (p_correction).id, private.correction_facts(p_correction), p_at);
    return pg_catalog.jsonb_build_object('success', true, 'correction', pg_catalog.to_jsonb(p_correction) - 'confirmed_in')
        || private.audit_entries();
end
$$;
comment on function private.audit_correction(text, uuid, private.corrections, timestamptz) is
'Audits what happened to a correction and when; returns the response.';

-- A correction's effect, as a sentence about the member.
create function private.correction_text(p_correction private.corrections) returns text
language sql stable set search_path = '' as $$
    select case (p_correction).kind
        when 'void_deposit' then (select 'To void the deposit of ' || private.dollars(d.amount) from public.deposits as d where d.id = (p_correction).target_id)
        when 'void_withdrawal' then (select 'To void the withdrawal of ' || private.dollars(w.amount) from public.withdrawals as w where w.id = (p_correction).target_id)
        when 'repair_rows' then 'To make rows again what their sources say, ' || pg_catalog.jsonb_array_length((p_correction).restores) || ' in all,'
        else 'To set the package to ' || private.dollars((p_correction).value)
    end || (select ' of member ' || p.username || '.' from private.profiles as p where p.user_id = (p_correction).user_id)
$$;
comment on function private.correction_text(private.corrections) is 'What a correction does and for whom, for administrators.';

create function private.mail_correction(p_correction private.corrections, p_done text, p_by private.admin_users) returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform private.mail_administrators(
        'correction_' || p_done, 'A correction was ' || p_done,
        pg_catalog.format(
            E'%s %s it.\n%s\nReason: %s\n%s', coalesce((p_by).full_name, (p_by).email), p_done, private.correction_text(p_correction),
            (p_correction).reason,
            case p_done when 'proposed' then 'Nothing has changed yet: another administrator confirms or discards it.' else 'It has taken effect.' end
        ),
        '/admin/corrections', 'super_admin'
    );
end
$$;
comment on function private.mail_correction(private.corrections, text, private.admin_users) is
'E-mails every super administrator that a correction was proposed or confirmed (p_done), and by whom.';

create function private.change_since_proposal(p_correction private.corrections) returns text
language plpgsql volatile set search_path = '' as $$
begin
    return (
        select pg_catalog.format(
            'Package and cash-in were %s and %s when this was proposed, and are %s and %s now. Discard it, and propose again what is right now.',
            private.dollars((p_correction).based_on_package), private.dollars((p_correction).based_on_cash_in),
            private.dollars(p.package_value), private.dollars(p.cash_in_amount)
        )
        from private.profiles as p
        where p.user_id = (p_correction).user_id
            and (p_correction).based_on_package is not null
            and (p.package_value, p.cash_in_amount) is distinct from ((p_correction).based_on_package, (p_correction).based_on_cash_in)
    );
end
$$;
comment on function private.change_since_proposal(private.corrections) is
'In words, how the member differs from what a correction was proposed on; null when not. Volatile, so that it reads what the locks waited for.';

create function public.propose_correction(p_kind text, p_target_id uuid, p_value numeric, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_user_id uuid;
    v_restores jsonb;
    v_correction private.corrections;
begin
    if v_reason is null or pg_catalog.length(v_reason) > 1000 then
        perform private.raise_error(400, 'invalid_reason', 'Give a reason of at most 1,000 characters.');
    end if;
    if p_kind = 'set_package' and (
        p_value is null or not (p_value = 0 or exists (select 1 from private.packages as k where k.value = p_value))
    ) then
        perform private.raise_error(400, 'invalid_input', 'The package must be 0 or one of the package sizes.');
    end if;
    v_user_id := private.require_correctable_member(p_kind, p_target_id);
    if p_kind = 'repair_rows' then
        perform private.lock_money();
        v_restores := private.require_rows_to_restore(v_user_id);
    end if;
    begin
        insert into private.corrections (
            kind, target_id, user_id, value, reason, proposed_by, proposed_at, based_on_package, based_on_cash_in, restores
        )
        select
            p_kind, p_target_id, p.user_id, case when p_kind = 'set_package' then p_value end, v_reason, v_admin.id, private.clock(),
            case when p_kind in ('void_deposit', 'set_package') then p.package_value end,
            case when p_kind in ('void_deposit', 'set_package') then p.cash_in_amount end, v_restores
        from private.profiles as p where p.user_id = v_user_id
        returning * into strict v_correction;
    exception when unique_violation then
        perform private.raise_error(409, 'already_proposed', 'This correction is already waiting for its confirmation.');
    end;
    perform private.mail_correction(v_correction, 'proposed', v_admin);
    return private.audit_correction('correction.proposed', v_admin.id, v_correction, v_correction.proposed_at);
end
$$;
comment on function public.propose_correction(text, uuid, numeric, text) is
'Super administrators: proposes to void a deposit or an unpaid withdrawal, to set a package, or to make the rows of a member''s money again what their sources say. Changes nothing until confirmed. Errors: forbidden, invalid_reason, invalid_input, not_correctable, rows_wrong, already_proposed, try_again.';
grant execute on function public.propose_correction(text, uuid, numeric, text) to platform_admin;

-- A set package replaces the earlier ones: only deposits approved later raise it, so voiding another deposit does not
-- restore a package that a correction lowered.
create function private.due_package(p_user_id uuid) returns numeric
language sql stable set search_path = '' as $$
    with correction as (
        select c.value, c.decision_no from private.corrections as c
        where c.user_id = p_user_id and c.kind = 'set_package' and c.confirmed_by is not null
        order by c.decision_no desc limit 1
    )
    select greatest(
        coalesce((select c.value from correction as c), 0),
        coalesce((
            select max(d.amount) from public.deposits as d inner join private.packages as k on k.value = d.amount and d.kind <> 'cash_in'
            where d.user_id = p_user_id and d.status = 'approved' and d.voided_at is null
                and d.decision_no > coalesce((select c.decision_no from correction as c), 0)
        ), 0)
    )
$$;
comment on function private.due_package(uuid) is
'A member''s package recomputed: the last correction''s value or the largest counting package deposit approved since, whichever is larger.';

-- Shortfalls that a correction explains, for the ledger checks. Nothing is kept for it: the journal has the order and the cause of
-- every change.

create view private.shortfall_discrepancies as
select
    s.user_id,
    s.withdrawn_amount - s.bonus_amount as shortfall,
    x.excused
from private.totals as s
cross join
    lateral (
        -- What corrections caused, less what was earned back since.
        select coalesce(sum(r.caused) + least(min(r.shortfall - r.caused_so_far), 0), 0) as excused
        from (
            select
                q.shortfall,
                q.caused,
                sum(q.caused) over (order by q.decision_no nulls first) as caused_so_far
            from (
                select
                    e.decision_no,
                    greatest(-e.balance, 0) as shortfall,
                    case
                        when c.id is not null then greatest(greatest(-e.balance, 0) - greatest(e.amount - e.balance, 0), 0) else 0
                    end as caused
                from (
                    select
                        t.decision_no,
                        sum(t.amount) as amount,
                        sum(sum(t.amount)) over (order by t.decision_no nulls first) as balance
                    from public.transactions as t
                    where t.user_id = s.user_id and t.status = 'completed' and t.transaction_type <> 'deposit'
                    group by t.decision_no
                ) as e
                left join private.corrections as c on e.decision_no = c.decision_no and c.confirmed_by is not null
            ) as q
        ) as r
    ) as x
where s.bonus_amount < s.withdrawn_amount and s.withdrawn_amount - s.bonus_amount > x.excused;
comment on view private.shortfall_discrepancies is
'Members whose withdrawals exceed their bonuses by more than corrections caused, the part that they earned back left out.';

create view private.corrected_fundings as
with cash as (
    select
        d.user_id,
        d.decision_no,
        d.amount::numeric as amount
    from public.deposits as d
    where
        d.status = 'approved'
        and d.user_id in (
            select c.user_id from private.corrections as c
            where c.confirmed_by is not null and c.kind <> 'void_withdrawal'
        )
    union all
    select
        c.user_id,
        c.decision_no,
        coalesce(-d.amount, 0)
    from private.corrections as c
    left join public.deposits as d on c.kind = 'void_deposit' and c.target_id = d.id
    where c.confirmed_by is not null and c.kind <> 'void_withdrawal'
),

steps as (
    select
        e.user_id,
        e.decision_no,
        p.package > 0 and sum(e.amount) over (partition by e.user_id order by e.decision_no) >= p.package as funded
    from cash as e
    left join
        lateral (
            select
                c.value,
                c.decision_no
            from private.corrections as c
            where c.user_id = e.user_id and c.kind = 'set_package' and c.decision_no <= e.decision_no
            order by c.decision_no desc
            limit 1
        ) as s
        on true
    cross join
        lateral (
            select greatest(coalesce(s.value, 0), coalesce(max(k.value), 0)) as package
            from public.deposits as d
            inner join private.packages as k on d.amount = k.value and d.kind <> 'cash_in'
            where
                d.user_id = e.user_id
                and d.status = 'approved'
                and d.decision_no > coalesce(s.decision_no, 0)
                and d.decision_no <= e.decision_no
                and not exists (
                    select 1 from private.corrections as v
                    where v.kind = 'void_deposit' and v.target_id = d.id and v.decision_no <= e.decision_no
                )
        ) as p
)

select
    f.user_id,
    max(f.decision_no) as decision_no
from (
    select
        g.user_id,
        g.decision_no,
        g.funded and not lag(g.funded, 1, false) over (partition by g.user_id order by g.decision_no) as begins
    from steps as g
) as f
where f.begins
group by f.user_id;
comment on view private.corrected_fundings is
'Of members whose deposits or package were corrected: the last decision that made them funded, from deposits and corrections alone.';

create view private.confirmed_voids as
select
    c.target_id,
    c.confirmed_at
from private.corrections as c
where c.kind in ('void_deposit', 'void_withdrawal') and c.confirmed_by is not null;
comment on view private.confirmed_voids is 'Requests that a correction voided, and since when.';

create function private.apply_correction(p_correction private.corrections) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_amount numeric;
    v_balance numeric;
    v_position integer;
begin
    if (p_correction).kind = 'void_withdrawal' then
        update public.withdrawals as w set voided_at = (p_correction).confirmed_at where w.id = (p_correction).target_id returning w.amount into v_amount;
        update private.totals as t set withdrawn_amount = t.withdrawn_amount - v_amount where t.user_id = (p_correction).user_id
        returning t.bonus_amount - t.withdrawn_amount into v_balance;
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no, balance_after)
        values (
            (p_correction).user_id, v_amount, 'withdrawal', 'completed', (p_correction).id, (p_correction).confirmed_at, (p_correction).decision_no,
            v_balance
        );
        perform private.increment_counter('withdrawals_approved', -v_amount);
        return;
    end if;
    if (p_correction).kind = 'repair_rows' then
        if private.restore_rows((p_correction).user_id) <> (p_correction).restores then
            perform private.raise_error(
                409, 'changed_since', 'Other rows are wrong than when this was proposed. Discard it, and propose again what is right now.'
            );
        end if;
        return;
    end if;
    if (p_correction).kind = 'void_deposit' then
        update public.deposits as d set voided_at = (p_correction).confirmed_at where d.id = (p_correction).target_id returning d.amount into v_amount;
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        values (
            (p_correction).user_id, -v_amount, 'deposit', 'completed', (p_correction).id, (p_correction).confirmed_at, (p_correction).decision_no
        );
        perform private.increment_counter('deposits_approved', -v_amount);
        if (select p.cash_in_amount < v_amount from private.profiles as p where p.user_id = (p_correction).user_id) then
            perform private.raise_error(
                409, 'rows_wrong', 'This deposit never counted as cash-in, so nobody approved it through the product. Propose a repair of rows.'
            );
        end if;
    end if;
    update private.profiles as p set
        cash_in_amount = p.cash_in_amount - coalesce(v_amount, 0),
        package_value = case when (p_correction).kind = 'set_package' then (p_correction).value else private.due_package(p.user_id) end
    where p.user_id = (p_correction).user_id;
    select o.no into v_position from private.positions as o where o.user_id = (p_correction).user_id;
    perform private.post_bonuses(v_position, (p_correction).confirmed_at);
    perform private.write_bonuses(array(select l from private.lapsed_bonuses(v_position) as l), (p_correction).confirmed_at);
end
$$;
comment on function private.apply_correction(private.corrections) is 'Applies a confirmed correction, under the locks. Errors: changed_since, rows_wrong.';

create function private.lock_waiting_correction(p_correction_id uuid) returns private.corrections
language plpgsql volatile set search_path = '' as $$
declare
    v_correction private.corrections;
begin
    perform private.lock_money();
    select * into v_correction from private.corrections as c where c.id = p_correction_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such correction.');
    end if;
    if v_correction.confirmed_by is not null then
        perform private.raise_error(409, 'already_decided', 'This correction was already confirmed.');
    end if;
    if v_correction.discarded_by is not null then
        perform private.raise_error(409, 'already_decided', 'This correction was discarded.');
    end if;
    -- A repair of rows is what ends an alarm of theirs.
    perform private.require_no_alarm(v_correction.user_id, case when v_correction.kind = 'repair_rows' then 'repair' else 'correction' end);
    return v_correction;
end
$$;
comment on function private.lock_waiting_correction(uuid) is
'Takes the money lock and returns a pending correction: no other transaction can confirm or discard it. Errors: not_found, already_decided, try_again.';

-- Names five at most: the sentence is read.
create function private.two_people_text(p_correction private.corrections, p_admin private.admin_users) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_names text[] := array(
        select coalesce(a.full_name, a.email) from private.admin_users as a
        where a.is_active and a.role in ('super_admin', 'finance_admin')
            and a.id not in (select private.joined_administrators((p_correction).proposed_by))
            and pg_catalog.lower(a.email) is distinct from (
                select pg_catalog.lower(p.email) from private.profiles as p where p.user_id = (p_correction).user_id
            )
        order by coalesce(a.full_name, a.email), a.id
        limit 6
    );
    v_can text := pg_catalog.array_to_string(v_names[:5], ', ') || case when pg_catalog.cardinality(v_names) > 5 then ' and others' else '' end;
begin
    return pg_catalog.concat_ws(
        ' ',
        case
            when (p_correction).proposed_by = (p_admin).id then 'Another administrator must confirm a correction.'
            else pg_catalog.format(
                'You cannot confirm this: you and %s count as one person, because one of your accounts was created, reset, activated or given a role from the other in the last 30 days.',
                (select coalesce(a.full_name, a.email) from private.admin_users as a where a.id = (p_correction).proposed_by)
            )
        end,
        case when v_can <> '' then 'Who can: ' || v_can || '.' else 'At present nobody can. The operator can make another administrator on the server.' end
    );
end
$$;
comment on function private.two_people_text(private.corrections, private.admin_users) is
'Why an administrator who is one person with the proposer may not confirm a correction, and who may.';

create function public.confirm_correction(p_correction_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_correction private.corrections := private.lock_waiting_correction(p_correction_id);
    v_changed text;
begin
    if private.are_one_person(v_correction.proposed_by, v_admin.id) then
        perform private.raise_error(403, 'two_people', private.two_people_text(v_correction, v_admin));
    end if;
    perform private.require_not_own_account(v_admin, v_correction.user_id);
    perform private.require_fresh_admin_proof('confirm a correction');
    perform private.require_correctable_member(v_correction.kind, v_correction.target_id);
    perform private.lock_members(private.upline_ids(v_correction.user_id));
    v_changed := private.change_since_proposal(v_correction);
    if v_changed is not null then
        perform private.raise_error(409, 'changed_since', v_changed);
    end if;
    update private.corrections as c set
        confirmed_by = v_admin.id, confirmed_at = private.clock(), confirmed_in = pg_catalog.pg_current_xact_id(),
        decision_no = private.next_decision_no()
    where c.id = p_correction_id
    returning * into v_correction;
    perform pg_catalog.set_config('app.allow_bonus_decrease', 'on', true);
    perform private.apply_correction(v_correction);
    perform pg_catalog.set_config('app.allow_bonus_decrease', '', true);
    perform private.notify_member(
        v_correction.user_id, 'correction', 'Your account was corrected',
        pg_catalog.format('%s Reason: %s', case v_correction.kind
            when 'void_deposit' then 'A deposit no longer counts.'
            when 'void_withdrawal' then 'A withdrawal that was not paid counts as available again.'
            when 'repair_rows' then 'Entries of your history are again what they were. Your balance does not change.'
            else 'Your package was set to ' || private.dollars(v_correction.value) || '.'
        end, v_correction.reason), v_correction.value, '/transactions'
    );
    perform private.mail_correction(v_correction, 'confirmed', v_admin);
    return private.audit_correction('correction.confirmed', v_admin.id, v_correction, v_correction.confirmed_at);
end
$$;
comment on function public.confirm_correction(uuid) is
'Finance and super administrators, never one person with the proposer: applies a correction. Errors: forbidden, not_found, already_decided, ledger_alarm, two_people, own_account, reauthentication_needed, not_correctable, changed_since, rows_wrong, try_again.';
grant execute on function public.confirm_correction(uuid) to platform_admin;

-- Discard a correction proposed by mistake or no longer confirmable: it would stay pending and block every other
-- proposal for its target. Whoever may propose or confirm may discard. Nothing else changes, and the row stays.
create function public.discard_correction(p_correction_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_correction private.corrections := private.lock_waiting_correction(p_correction_id);
begin
    perform private.require_not_own_account(v_admin, v_correction.user_id);
    if not private.restore_proposal(p_correction_id) then
        perform private.audit('admin:' || v_admin.id, 'correction.taken_out', 'correction', p_correction_id, private.correction_facts(v_correction));
        return '{"success": true}'::jsonb || private.audit_entries();
    end if;
    update private.corrections as c set discarded_by = v_admin.id, discarded_at = private.clock()
    where c.id = p_correction_id
    returning * into v_correction;
    return private.audit_correction('correction.discarded', v_admin.id, v_correction, v_correction.discarded_at);
end
$$;
comment on function public.discard_correction(uuid) is
'Finance and super administrators, also the proposer: discards a pending correction, as it was proposed; one that nobody proposed is taken out. Changes nothing else. Errors: forbidden, not_found, already_decided, ledger_alarm, own_account, try_again.';
grant execute on function public.discard_correction(uuid) to platform_admin;
