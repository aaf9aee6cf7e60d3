-- A decision happens once: pending to approved or rejected by compare-and-set, in one transaction with the
-- journal row, cash-in, package, bonuses, notice and audit row. Asked again by the same administrator it answers
-- the first result; anybody else, or another decision, is told who decided and when.
-- Locks: money, then the members by id, then the audit row last.

create function private.checked_reason(p_reason text) returns text
language plpgsql immutable set search_path = '' as $$
declare
    v_reason text := coalesce(nullif(pg_catalog.btrim(p_reason), ''), 'No reason provided');
begin
    if pg_catalog.length(v_reason) > 1000 then
        perform private.refuse(400, 'invalid_reason', 'A reason has at most 1,000 characters.');
    end if;
    return v_reason;
end
$$;
comment on function private.checked_reason(text) is 'Trimmed; ''No reason provided'' when empty. Errors: invalid_reason.';

create function private.checked_action(p_action text) returns public.request_status
language plpgsql immutable set search_path = '' as $$
begin
    if p_action is null or p_action not in ('approve', 'reject') then
        perform private.refuse(400, 'invalid_action', 'The action must be approve or reject.');
    end if;
    return case p_action when 'approve' then 'approved'::public.request_status else 'rejected'::public.request_status end;
end
$$;
comment on function private.checked_action(text) is 'approve or reject. Errors: invalid_action.';

create function private.money_json(p_row jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
    return (select p_row || pg_catalog.jsonb_build_object('amount', private.money((p_row ->> 'amount')::numeric)));
end
$$;
comment on function private.money_json(jsonb) is 'A deposit or withdrawal as JSON, its amount as text.';

create function private.refuse_decided(p_row jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
    v_status text := p_row ->> 'status';
    v_decided_at timestamptz := (p_row ->> 'decided_at')::timestamptz;
    v_decider text;
    v_verb text;
begin
    select coalesce(a.full_name, a.email) into v_decider from private.admin_users as a where a.id = (p_row ->> 'decided_by')::uuid;
    v_verb := case
        when v_decider is not null then pg_catalog.format('%s by %s', v_status, v_decider)
        when p_row ->> 'admin_notes' = 'Account closed' then 'rejected because the account was closed'
        else 'cancelled by the member'
    end;
    perform private.refuse(
        409, 'already_decided', pg_catalog.format('Already %s %s.', v_verb, private.ago(v_decided_at, private.clock())),
        pg_catalog.jsonb_build_object(
            'status', v_status, 'decided_by', v_decider, 'decided_at', v_decided_at, 'reason', p_row ->> 'admin_notes'
        )::text
    );
end
$$;
comment on function private.refuse_decided(jsonb) is 'Says who decided what and when. Errors: already_decided.';

create function private.check_not_own(p_admin private.admin_users, p_user_id uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
    if exists (
        select 1 from private.profiles as p
        where p.user_id = p_user_id and pg_catalog.lower(p.email) = pg_catalog.lower((p_admin).email)
    ) then
        perform private.refuse(403, 'own_account', 'You cannot decide a request of your own member account.');
    end if;
end
$$;
comment on function private.check_not_own(private.admin_users, uuid) is 'Nobody decides for a member with the same e-mail. Errors: own_account.';

create function private.credit_deposit(p_deposit public.deposits) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_position private.positions;
begin
    if exists (
        select 1 from public.deposits as d
        where d.reference_key = (p_deposit).reference_key and d.id <> (p_deposit).id and d.status = 'approved' and d.voided_at is null
    ) then
        perform private.refuse(409, 'reference_used', 'This reference was already approved with another deposit.');
    end if;
    update private.profiles as p set
        cash_in_amount = p.cash_in_amount + (p_deposit).amount,
        -- The larger of the two, in whatever order pending deposits are decided.
        package_value = greatest(p.package_value, coalesce((select k.value from private.packages as k where k.value = (p_deposit).amount), 0))
    where p.user_id = (p_deposit).user_id;
    select * into v_position from private.positions as o where o.user_id = (p_deposit).user_id;
    perform private.post_bonuses(v_position.no, (p_deposit).decided_at);
end
$$;
comment on function private.credit_deposit(public.deposits) is
'What an approval is worth: cash-in, package, bonuses. Called under the locks, before the row is marked approved. Errors: reference_used.';

create function private.line_of(p_user_id uuid) returns uuid[]
language plpgsql stable set search_path = '' as $$
begin
    return (
        select array[m.user_id, r.user_id, g.user_id]
        from private.profiles as m
        left join private.profiles as r on m.referrer_id = r.id
        left join private.profiles as g on r.referrer_id = g.id
        where m.user_id = p_user_id
    );
end
$$;
comment on function private.line_of(uuid) is 'Whose balances a deposit of this member can change: member, referrer, referrer''s referrer.';

create function public.decide_deposit(p_deposit_id uuid, p_action text, p_reason text default null) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_status public.request_status := private.checked_action(p_action);
    v_reason text := case when v_status = 'rejected' then private.checked_reason(p_reason) end;
    v_deposit public.deposits;
begin
    select * into v_deposit from public.deposits as d where d.id = p_deposit_id;
    if not found then
        perform private.refuse(404, 'not_found', 'There is no such deposit.');
    end if;
    perform private.check_not_own(v_admin, v_deposit.user_id);
    perform private.money_lock();
    perform private.lock_members(private.line_of(v_deposit.user_id));
    select * into v_deposit from public.deposits as d where d.id = p_deposit_id for no key update;
    if v_deposit.status <> 'pending' then
        if v_deposit.status is distinct from v_status or v_deposit.decided_by is distinct from v_admin.id then
            perform private.refuse_decided(pg_catalog.to_jsonb(v_deposit));
        end if;
        return pg_catalog.jsonb_build_object('success', true, 'already', true, 'deposit', private.money_json(pg_catalog.to_jsonb(v_deposit)));
    end if;
    v_deposit.decided_at := private.clock();
    if v_status = 'approved' then
        perform private.credit_deposit(v_deposit);
    end if;
    update public.deposits as d set status = v_status, admin_notes = v_reason, decided_at = v_deposit.decided_at, decided_by = v_admin.id
    where d.id = p_deposit_id and d.status = 'pending'
    returning d.* into v_deposit;
    perform private.tell_decided('deposit', v_deposit.user_id, v_deposit.amount, v_status, v_reason);
    perform private.audit(
        'admin:' || v_admin.id, 'deposit.' || v_status, 'deposit', v_deposit.id,
        pg_catalog.jsonb_build_object('user_id', v_deposit.user_id, 'amount', private.money(v_deposit.amount), 'reason', v_reason)
    );
    return pg_catalog.jsonb_build_object('success', true, 'deposit', private.money_json(pg_catalog.to_jsonb(v_deposit)));
end
$$;
comment on function public.decide_deposit(uuid, text, text) is
'Finance and super administrators. Approves or rejects a pending deposit, once; approval credits cash-in, package and bonuses. Errors: forbidden, invalid_action, invalid_reason, not_found, own_account, reference_used, already_decided, try_again.';

create function private.tell_decided(p_noun text, p_user_id uuid, p_amount numeric, p_status public.request_status, p_reason text) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_body text := case
        when p_status = 'rejected' then pg_catalog.format('Your %s of %s was rejected. Reason: %s', p_noun, private.dollars(p_amount), p_reason)
        when p_noun = 'deposit' then pg_catalog.format('Your deposit of %s was approved and counts from now on.', private.dollars(p_amount))
        else pg_catalog.format('Your withdrawal of %s was approved and will be paid to the wallet you named.', private.dollars(p_amount))
    end;
begin
    perform private.tell(
        p_user_id, p_noun || '_' || p_status, pg_catalog.initcap(p_noun) || ' ' || p_status, v_body, p_amount, '/transactions'
    );
end
$$;
comment on function private.tell_decided(text, uuid, numeric, public.request_status, text) is 'Tells a member what was decided, with the reason of a rejection.';

create function private.check_payable(p_withdrawal public.withdrawals, p_member private.profiles) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_available numeric;
begin
    if (p_member).account_status in ('suspended', 'disabled') then
        perform private.refuse(409, 'account_blocked', 'This member is blocked. A withdrawal of a blocked member cannot be approved.');
    end if;
    if (p_member).hold_until > pg_catalog.clock_timestamp() then
        perform private.refuse(
            409, 'on_hold', pg_catalog.format(
                'On hold until %s UTC, 24 hours after a change of %s.',
                pg_catalog.to_char((p_member).hold_until at time zone 'UTC', 'YYYY-MM-DD HH24:MI'),
                case (p_member).hold_reason when 'email' then 'e-mail' when 'factor' then 'second factor' else (p_member).hold_reason end
            )
        );
    end if;
    -- From the rows, not from the kept sums: this is the last look before money leaves.
    select coalesce((select sum(b.amount) from public.bonuses as b where b.user_id = (p_withdrawal).user_id), 0)
        - coalesce((
            select sum(w.amount) from public.withdrawals as w
            where w.user_id = (p_withdrawal).user_id and w.status = 'approved' and w.voided_at is null
        ), 0) into v_available;
    if (p_withdrawal).amount > v_available then
        perform private.refuse(409, 'insufficient_available_balance', 'Insufficient available balance');
    end if;
end
$$;
comment on function private.check_payable(public.withdrawals, private.profiles) is
'Under the member''s lock: not blocked, no hold, and the balance still covers it. Errors: account_blocked, on_hold, insufficient_available_balance.';

create function private.add_payout_reference(p_withdrawal public.withdrawals, p_admin private.admin_users, p_reference text) returns public.withdrawals
language plpgsql volatile set search_path = '' as $$
declare
    v_reference text := nullif(pg_catalog.btrim(p_reference), '');
    v_withdrawal public.withdrawals := p_withdrawal;
begin
    if v_reference is null or v_reference is not distinct from (p_withdrawal).payout_reference then
        return p_withdrawal;
    end if;
    if pg_catalog.length(v_reference) > 200 then
        perform private.refuse(400, 'invalid_reference', 'A payout reference has at most 200 characters.');
    end if;
    if (p_withdrawal).payout_reference is not null then
        perform private.refuse(409, 'payout_recorded', 'A payout reference was already recorded for this withdrawal.');
    end if;
    if (p_withdrawal).voided_at is not null then
        perform private.refuse(409, 'voided', 'This withdrawal was voided.');
    end if;
    update public.withdrawals as w set payout_reference = v_reference, payout_at = private.clock()
    where w.id = (p_withdrawal).id
    returning w.* into v_withdrawal;
    perform private.audit(
        'admin:' || (p_admin).id, 'withdrawal.paid', 'withdrawal', v_withdrawal.id,
        pg_catalog.jsonb_build_object('payout_reference', v_reference)
    );
    return v_withdrawal;
end
$$;
comment on function private.add_payout_reference(public.withdrawals, private.admin_users, text) is
'Records once how an approved withdrawal was paid. Errors: invalid_reference, payout_recorded, voided.';

create function public.decide_withdrawal(p_withdrawal_id uuid, p_action text, p_reason text default null, p_payout_reference text default null)
returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_status public.request_status := private.checked_action(p_action);
    v_reason text := case when v_status = 'rejected' then private.checked_reason(p_reason) end;
    v_withdrawal public.withdrawals;
    v_member private.profiles;
    v_paid text;
begin
    select * into v_withdrawal from public.withdrawals as w where w.id = p_withdrawal_id;
    if not found then
        perform private.refuse(404, 'not_found', 'There is no such withdrawal.');
    end if;
    perform private.check_not_own(v_admin, v_withdrawal.user_id);
    perform private.money_lock();
    v_member := private.lock_member(v_withdrawal.user_id);
    select * into v_withdrawal from public.withdrawals as w where w.id = p_withdrawal_id for no key update;
    v_paid := case when v_status = 'approved' then nullif(pg_catalog.btrim(p_payout_reference), '') end;
    if v_withdrawal.status <> 'pending' then
        -- How it was paid may be told later, by any administrator who may decide.
        if v_withdrawal.status is distinct from v_status or (v_paid is null and v_withdrawal.decided_by is distinct from v_admin.id) then
            perform private.refuse_decided(pg_catalog.to_jsonb(v_withdrawal));
        end if;
        v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid);
        return pg_catalog.jsonb_build_object('success', true, 'already', true, 'withdrawal', private.money_json(pg_catalog.to_jsonb(v_withdrawal)));
    end if;
    if v_status = 'approved' then
        perform private.check_payable(v_withdrawal, v_member);
    end if;
    update public.withdrawals as w set status = v_status, admin_notes = v_reason, decided_at = private.clock(), decided_by = v_admin.id
    where w.id = p_withdrawal_id and w.status = 'pending'
    returning w.* into v_withdrawal;
    perform private.tell_decided('withdrawal', v_withdrawal.user_id, v_withdrawal.amount, v_status, v_reason);
    perform private.audit(
        'admin:' || v_admin.id, 'withdrawal.' || v_status, 'withdrawal', v_withdrawal.id,
        pg_catalog.jsonb_build_object('user_id', v_withdrawal.user_id, 'amount', private.money(v_withdrawal.amount), 'reason', v_reason)
    );
    v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid);
    return pg_catalog.jsonb_build_object('success', true, 'withdrawal', private.money_json(pg_catalog.to_jsonb(v_withdrawal)));
end
$$;
comment on function public.decide_withdrawal(uuid, text, text, text) is
'Finance and super administrators. Approves (records that it will be paid) or rejects a pending withdrawal, once; a payout reference may be added once later. Errors: forbidden, invalid_action, invalid_reason, not_found, own_account, already_decided, account_blocked, on_hold, insufficient_available_balance, invalid_reference, payout_recorded, voided, try_again.';

create function public.cancel_request(p_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_row jsonb;
    v_noun text;
begin
    perform private.status_refusal((private.lock_member(auth.uid())).account_status);
    update public.deposits as d set status = 'rejected', admin_notes = 'Cancelled by the member', decided_at = private.clock()
    where d.id = p_id and d.user_id = auth.uid() and d.status = 'pending';
    if found then
        v_noun := 'deposit';
    else
        update public.withdrawals as w set status = 'rejected', admin_notes = 'Cancelled by the member', decided_at = private.clock()
        where w.id = p_id and w.user_id = auth.uid() and w.status = 'pending';
        v_noun := case when found then 'withdrawal' end;
    end if;
    if v_noun is not null then
        perform private.audit('member:' || auth.uid(), v_noun || '.cancelled', v_noun, p_id);
        return pg_catalog.jsonb_build_object('success', true);
    end if;
    select pg_catalog.to_jsonb(r) into v_row from (
        select d.status, d.decided_at, d.decided_by, d.admin_notes from public.deposits as d where d.id = p_id and d.user_id = auth.uid()
        union all
        select w.status, w.decided_at, w.decided_by, w.admin_notes from public.withdrawals as w where w.id = p_id and w.user_id = auth.uid()
    ) as r;
    if v_row is null then
        perform private.refuse(404, 'not_found', 'There is no such request of yours.');
    end if;
    if v_row ->> 'admin_notes' is distinct from 'Cancelled by the member' then
        perform private.refuse(
            409, 'already_decided', pg_catalog.format('Already %s %s.', v_row ->> 'status', private.ago((v_row ->> 'decided_at')::timestamptz, private.clock()))
        );
    end if;
    return pg_catalog.jsonb_build_object('success', true, 'already', true);
end
$$;
comment on function public.cancel_request(uuid) is
'A member takes back an own pending deposit or withdrawal; it counts as rejected, ''Cancelled by the member''. Errors: not_found, already_decided, account_*.';

grant execute on function public.decide_deposit(uuid, text, text), public.decide_withdrawal(uuid, text, text, text) to platform_admin;
grant execute on function public.cancel_request(uuid) to authenticated;
