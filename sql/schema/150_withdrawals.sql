-- Withdrawals. A member requests money; an administrator approves (it will be paid) or rejects it, once. Row-level
-- security cannot protect the balance (fifty concurrent requests would all see it unchanged): the validation trigger
-- locks the member's row before it reads. The wallet address is immutable once requested. 152_withdrawal_decisions.sql has the
-- decision and the payout.
-- Rules: specification S7 and S8, decision D5.

create table public.withdrawals (
    id uuid primary key default private.time_ordered_id(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    amount public.usd not null check (amount between 100 and private.largest_amount()),
    wallet_address text not null check (length(wallet_address) between 1 and 128),
    status public.request_status not null default 'pending',
    admin_notes text check (length(admin_notes) <= 1000),
    created_at timestamptz not null default now(),
    decided_at timestamptz,
    decided_by uuid references private.admin_users (id) on delete restrict,
    payout_reference text check (length(payout_reference) between 1 and 200),
    payout_at timestamptz,
    voided_at timestamptz,
    decision_no bigint,
    constraint pending_is_undecided check ((status = 'pending') = (decided_at is null)),
    constraint withdrawals_decided_by_matches_status check (
        (status = 'pending' and decided_by is null) or (status = 'approved' and decided_by is not null) or status = 'rejected'
    ),
    constraint an_administrators_decision_has_a_number check ((decided_by is null) = (decision_no is null)),
    constraint a_rejection_has_a_reason check (status <> 'rejected' or length(admin_notes) > 0),
    constraint only_approved_is_paid check (payout_reference is null or status = 'approved'),
    constraint a_payout_has_its_time check ((payout_reference is null) = (payout_at is null)),
    constraint only_unpaid_is_voided check (voided_at is null or (status = 'approved' and payout_reference is null))
);
comment on table public.withdrawals is 'Withdrawal requests. Pending rows reserve balance; approved and not voided ones reduce it.';
comment on column public.withdrawals.decision_no is
'Place of an administrator''s decision in the order of all; null while pending and when taken back.';
alter table public.withdrawals enable row level security;
create index withdrawals_user_idx on public.withdrawals (user_id, created_at desc, id desc);
create index withdrawals_effect_idx on public.withdrawals (user_id, (coalesce(decided_at, created_at)) desc, id desc);
create index withdrawals_status_idx on public.withdrawals (status, created_at desc, id desc);
create index withdrawals_created_idx on public.withdrawals (created_at desc, id desc);
create index withdrawals_decided_by_idx on public.withdrawals (decided_by, decided_at) where decided_by is not null;
-- A member's pending withdrawals, for the form.
create index withdrawals_pending_idx on public.withdrawals (user_id, created_at) where status = 'pending';
-- When approved ones were taken from the balance, read without the table.
create index withdrawals_taken_idx on public.withdrawals (user_id, decided_at) include (id, amount, decision_no) where status = 'approved';
create index withdrawals_amount_idx on public.withdrawals (amount, created_at, id);
-- The admin list of what is to be paid, and of what was.
create index withdrawals_unpaid_idx on public.withdrawals (created_at desc, id desc)
where status = 'approved' and payout_reference is null and voided_at is null;
create index withdrawals_paid_idx on public.withdrawals (created_at desc, id desc) where payout_reference is not null;

create policy select_own on public.withdrawals for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on public.withdrawals for select to platform_admin using (true);
create policy insert_own on public.withdrawals for insert to authenticated
with check (user_id = (select auth.uid()) and status = 'pending');
grant select on public.withdrawals to authenticated, platform_admin;
grant insert (id, user_id, amount, wallet_address, status) on public.withdrawals to authenticated;
grant select on public.withdrawals to service_role;
grant insert (id, user_id, amount, wallet_address, status) on public.withdrawals to service_role;
-- Not granted: update and delete, to any role. Decisions are made by a function.

create function private.requestable_amount(p_user_id uuid) returns numeric
language plpgsql volatile set search_path = '' as $$
begin
    return (
        -- Read pending rows from the table, not from the totals: within one multi-row insert the totals are not
        -- updated yet.
        select t.bonus_amount - t.withdrawn_amount - coalesce(
            (select sum(w.amount) from public.withdrawals as w where w.user_id = p_user_id and w.status = 'pending'), 0
        )
        from private.totals as t where t.user_id = p_user_id
    );
end
$$;
comment on function private.requestable_amount(uuid) is
'What a member could request now: bonuses - approved - pending withdrawals. Volatile, so that it reads what the lock waited for.';

create function private.withdrawals_validate() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles;
    v_existing public.withdrawals;
    v_available numeric;
begin
    if private.is_restoring_rows() then
        return new;
    end if;
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    perform private.lock_request(new.id);
    -- Look for a retry first: triggers run before ON CONFLICT.
    select * into v_existing from public.withdrawals as w where w.id = new.id;
    if found then
        -- The server's columns; all others are the client's and must be equal.
        new.status := v_existing.status;
        new.created_at := v_existing.created_at;
        new.admin_notes := v_existing.admin_notes;
        new.decided_at := v_existing.decided_at;
        new.decided_by := v_existing.decided_by;
        new.decision_no := v_existing.decision_no;
        new.payout_reference := v_existing.payout_reference;
        new.payout_at := v_existing.payout_at;
        new.voided_at := v_existing.voided_at;
        if new is not distinct from v_existing then
            return null;
        end if;
        perform private.raise_error(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.require_new_request(new.id);
    perform private.require_active_status(v_member.account_status);
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    if new.amount is null or new.amount <= 0 or new.amount > private.largest_amount() then
        perform private.raise_error(400, 'invalid_amount', 'Enter an amount above $0.00 and up to $10,000,000.00.');
    end if;
    v_available := greatest(0, private.requestable_amount(new.user_id));
    if v_available is null or new.amount > v_available then
        perform private.raise_error(400, 'insufficient_balance', 'Insufficient balance. Available: ' || private.dollars(coalesce(v_available, 0)));
    end if;
    if new.amount < 100 then
        perform private.raise_error(400, 'below_minimum', 'Minimum withdrawal amount is $100');
    end if;
    if not v_member.account_verified then
        perform private.raise_error(403, 'not_verified', 'Please complete your profile, settings, and account verification first');
    end if;
    if new.wallet_address is distinct from v_member.trc20_wallet_address then
        perform private.raise_error(409, 'wallet_changed', 'Your wallet address has changed. Check it and try again.');
    end if;
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.payout_reference := null;
    new.payout_at := null;
    new.voided_at := null;
    new.decision_no := null;
    return new;
end
$$;
comment on function private.withdrawals_validate() is
'Trigger: validates a new withdrawal under the member''s lock: amount, balance, minimum, verified account, unchanged wallet. Errors: not_yours, duplicate_request, account_*, forbidden, invalid_amount, insufficient_balance, below_minimum, not_verified, wallet_changed.';

create function private.withdrawals_immutable() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_allowed public.withdrawals := old;
begin
    if private.is_restoring_rows() and new.id = old.id then
        return new;
    end if;
    if old.status = 'pending' then
        v_allowed.status := new.status;
        v_allowed.admin_notes := new.admin_notes;
        v_allowed.decided_at := new.decided_at;
        v_allowed.decided_by := new.decided_by;
        v_allowed.decision_no := new.decision_no;
    end if;
    if old.payout_reference is null then
        v_allowed.payout_reference := new.payout_reference;
        v_allowed.payout_at := new.payout_at;
    end if;
    if old.voided_at is null and new.voided_at is not null and private.is_being_corrected(old.user_id) then
        v_allowed.voided_at := new.voided_at;
    end if;
    if new is distinct from v_allowed then
        perform private.raise_error(403, 'append_only', 'A withdrawal is decided once and never changed.');
    end if;
    return new;
end
$$;
comment on function private.withdrawals_immutable() is
'Trigger: a request never changes; it is decided once; a payout reference is added once; only a confirmed correction voids it. Errors: append_only.';

-- Facts of a withdrawal in the entries of the audit log.
create function private.withdrawal_request_facts(p_withdrawal public.withdrawals) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_withdrawal).user_id, 'amount', private.money((p_withdrawal).amount), 'wallet_address', (p_withdrawal).wallet_address
    )
$$;
comment on function private.withdrawal_request_facts(public.withdrawals) is 'Payload of withdrawal.requested.';

create function private.withdrawal_decision_facts(p_withdrawal public.withdrawals) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_withdrawal).user_id, 'amount', private.money((p_withdrawal).amount), 'wallet_address', (p_withdrawal).wallet_address,
        'reason', (p_withdrawal).admin_notes, 'decision_no', (p_withdrawal).decision_no
    )
$$;
comment on function private.withdrawal_decision_facts(public.withdrawals) is
'Payload of withdrawal.approved, withdrawal.rejected and withdrawal.cancelled.';

create function private.payout_facts(p_withdrawal public.withdrawals) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_withdrawal).user_id, 'amount', private.money((p_withdrawal).amount), 'wallet_address', (p_withdrawal).wallet_address,
        'payout_reference', (p_withdrawal).payout_reference
    )
$$;
comment on function private.payout_facts(public.withdrawals) is 'Payload of withdrawal.paid.';

create function private.withdrawals_record_request() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if private.is_restoring_rows() then
        return null;
    end if;
    insert into private.request_texts (request_id, text) values (new.id, pg_catalog.lower(new.wallet_address));
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, -new.amount, 'withdrawal', 'pending', new.id, new.created_at);
    update private.totals as t set reserved_amount = t.reserved_amount + new.amount where t.user_id = new.user_id;
    perform private.increment_counter('pending_withdrawals', 1);
    perform private.increment_counter('reserved', new.amount);
    perform private.audit(
        private.requester(), 'withdrawal.requested', 'withdrawal', new.id, private.withdrawal_request_facts(new), new.created_at
    );
    return null;
end
$$;
comment on function private.withdrawals_record_request() is 'Trigger: search text, journal row, reserved amount, counters and audit entry of a new withdrawal.';

create function private.record_withdrawal_flow(p_withdrawal public.withdrawals, p_sign integer) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.flow_deltas (day, withdrawals)
    values (((p_withdrawal).created_at at time zone 'UTC')::date, p_sign * (p_withdrawal).amount);
end
$$;
comment on function private.record_withdrawal_flow(public.withdrawals, integer) is
'Adds an approved withdrawal to the daily totals of its day; with -1 subtracts a voided one.';

create function private.withdrawals_record_decision() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_balance numeric;
begin
    if private.is_restoring_rows() then
        return null;
    end if;
    update private.totals as t set
        reserved_amount = t.reserved_amount - new.amount,
        withdrawn_amount = t.withdrawn_amount + case when new.status = 'approved' then new.amount else 0 end
    where t.user_id = new.user_id
    returning t.bonus_amount - t.withdrawn_amount into v_balance;
    update public.transactions as t set
        status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status,
        decision_no = new.decision_no,
        balance_after = case when new.status = 'approved' then v_balance end
    where t.transaction_type = 'withdrawal' and t.reference_id = new.id;
    perform private.increment_counter('pending_withdrawals', -1);
    perform private.increment_counter('reserved', -new.amount);
    if new.status = 'approved' then
        perform private.increment_counter('withdrawals_approved', new.amount);
        perform private.increment_counter('withdrawals_approved_count', 1);
        perform private.record_withdrawal_flow(new, 1);
    else
        perform private.increment_counter('withdrawals_rejected_count', 1);
    end if;
    return null;
end
$$;
comment on function private.withdrawals_record_decision() is
'Trigger: finalises the journal row of a withdrawal and updates totals and counters when its status changes.';

create function private.withdrawals_record_payout() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if private.is_restoring_rows() then
        return null;
    end if;
    perform private.register_transfer(new.id, new.payout_reference, true);
    perform private.increment_counter('withdrawals_paid_count', 1);
    return null;
end
$$;
comment on function private.withdrawals_record_payout() is 'Trigger: keys and counter of a payout that was recorded.';

create function private.withdrawals_record_void() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if not private.is_repairing() then
        perform private.record_withdrawal_flow(new, -1);
    end if;
    return null;
end
$$;
comment on function private.withdrawals_record_void() is 'Trigger: subtracts a voided withdrawal from the daily totals.';

create trigger _100_validate before insert on public.withdrawals for each row execute function private.withdrawals_validate();
create trigger _100_immutable before update on public.withdrawals for each row execute function private.withdrawals_immutable();
create trigger _100_reject_change before delete or truncate on public.withdrawals for each statement execute function private.reject_change();
create trigger _500_record_request after insert on public.withdrawals for each row execute function private.withdrawals_record_request();
create trigger _500_record_decision after update of status on public.withdrawals
for each row when (old.status is distinct from new.status) execute function private.withdrawals_record_decision();
create trigger _500_record_payout after update of payout_reference on public.withdrawals
for each row when (old.payout_reference is null and new.payout_reference is not null) execute function private.withdrawals_record_payout();
create trigger _500_record_void after update of voided_at on public.withdrawals
for each row when (old.voided_at is null and new.voided_at is not null) execute function private.withdrawals_record_void();
