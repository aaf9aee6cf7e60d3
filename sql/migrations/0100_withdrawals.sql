-- A member asks for money; an administrator records that it will be paid, or refuses, once. The balance cannot
-- be guarded by row-level security (fifty parallel requests would all see it untouched): the guard locks the
-- member's row before it reads. The address is frozen with the request.

create table public.withdrawals (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    amount public.usd not null check (amount between 100 and 10000000),
    wallet_address text not null check (length(wallet_address) between 1 and 128),
    status public.request_status not null default 'pending',
    admin_notes text check (length(admin_notes) <= 1000),
    created_at timestamptz not null default now(),
    decided_at timestamptz,
    decided_by uuid references private.admin_users (id) on delete restrict,
    payout_reference text check (length(payout_reference) between 1 and 200),
    payout_at timestamptz,
    voided_at timestamptz,
    constraint pending_is_undecided check ((status = 'pending') = (decided_at is null)),
    constraint withdrawals_decider check (
        (status = 'pending' and decided_by is null) or (status = 'approved' and decided_by is not null) or status = 'rejected'
    ),
    constraint a_rejection_has_a_reason check (status <> 'rejected' or length(admin_notes) > 0),
    constraint only_approved_is_paid check (payout_reference is null or status = 'approved'),
    constraint a_payout_has_its_time check ((payout_reference is null) = (payout_at is null)),
    constraint only_unpaid_is_voided check (voided_at is null or (status = 'approved' and payout_reference is null))
);
alter table public.withdrawals enable row level security;
create index withdrawals_user_idx on public.withdrawals (user_id, created_at desc, id desc);
create index withdrawals_status_idx on public.withdrawals (status, created_at desc, id desc);
create index withdrawals_created_idx on public.withdrawals (created_at desc, id desc);
create index withdrawals_decided_by_idx on public.withdrawals (decided_by) where decided_by is not null;
comment on table public.withdrawals is 'Requests for payment. Pending rows reserve balance, approved ones that are not voided reduce it.';

create policy select_own on public.withdrawals for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on public.withdrawals for select to platform_admin using (true);
create policy insert_own on public.withdrawals for insert to authenticated
with check (user_id = (select auth.uid()) and status = 'pending');
grant select on public.withdrawals to authenticated, platform_admin;
grant insert (id, user_id, amount, wallet_address, status) on public.withdrawals to authenticated;
grant select on public.withdrawals to service_role;
grant insert (id, user_id, amount, wallet_address, status) on public.withdrawals to service_role;
-- Not granted: update and delete, to anyone. A decision is a function.

create function private.requestable(p_user_id uuid) returns numeric
language plpgsql volatile set search_path = '' as $$
begin
    return (
        -- Pending rows are read from the table, not from the kept sum: within one array of requests the sum is not there yet.
        select t.bonus_amount - t.withdrawn_amount - coalesce(
            (select sum(w.amount) from public.withdrawals as w where w.user_id = p_user_id and w.status = 'pending'), 0
        )
        from private.totals as t where t.user_id = p_user_id
    );
end
$$;
comment on function private.requestable(uuid) is 'What a member could ask for now: bonuses - approved - pending withdrawals. Volatile, so that it sees what the lock waited for.';

create function private.withdrawal_guard() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles;
    v_twin public.withdrawals;
    v_available numeric;
begin
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    -- A retry is looked for first: triggers run before ON CONFLICT.
    select * into v_twin from public.withdrawals as w where w.id = new.id;
    if found then
        if (v_twin.user_id, v_twin.amount, v_twin.wallet_address)
            is not distinct from (new.user_id, new.amount, new.wallet_address) then
            return null;
        end if;
        perform private.refuse(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.status_refusal(v_member.account_status);
    if new.status <> 'pending' then
        perform private.refuse(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    if new.amount is null or new.amount <= 0 or new.amount > 10000000 then
        perform private.refuse(400, 'invalid_amount', 'Enter an amount above $0.00 and up to $10,000,000.00.');
    end if;
    v_available := greatest(0, private.requestable(new.user_id));
    if v_available is null or new.amount > v_available then
        perform private.refuse(400, 'insufficient_balance', 'Insufficient balance. Available: ' || private.dollars(coalesce(v_available, 0)));
    end if;
    if new.amount < 100 then
        perform private.refuse(400, 'below_minimum', 'Minimum withdrawal amount is $100');
    end if;
    if not v_member.account_verified then
        perform private.refuse(403, 'not_verified', 'Please complete your profile, settings, and account verification first');
    end if;
    if new.wallet_address is distinct from v_member.trc20_wallet_address then
        perform private.refuse(409, 'wallet_changed', 'Your wallet address has changed. Check it and try again.');
    end if;
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.payout_reference := null;
    new.payout_at := null;
    new.voided_at := null;
    return new;
end
$$;
comment on function private.withdrawal_guard() is
'Every rule of a new withdrawal, under the member''s lock: valid amount, balance, minimum, verified, unchanged wallet. Errors: not_yours, duplicate_request, account_*, forbidden, invalid_amount, insufficient_balance, below_minimum, not_verified, wallet_changed.';

create function private.withdrawal_frozen() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.id, new.user_id, new.amount, new.wallet_address, new.created_at)
        is distinct from (old.id, old.user_id, old.amount, old.wallet_address, old.created_at)
        or (old.status <> 'pending' and (new.status, new.admin_notes, new.decided_at, new.decided_by)
            is distinct from (old.status, old.admin_notes, old.decided_at, old.decided_by))
        or (old.payout_reference is not null and (new.payout_reference, new.payout_at) is distinct from (old.payout_reference, old.payout_at))
        or (old.voided_at is not null and new.voided_at is distinct from old.voided_at)
        or (new.voided_at is distinct from old.voided_at and not private.correction_of(new.user_id)) then
        perform private.refuse(403, 'append_only', 'A withdrawal is decided once and never changed.');
    end if;
    return new;
end
$$;
comment on function private.withdrawal_frozen() is
'What was asked never changes; a decision is made once; a payout reference is added once; only a confirmed correction voids. Errors: append_only.';

create function private.withdrawal_requested() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, -new.amount, 'withdrawal', 'pending', new.id, new.created_at);
    update private.totals as t set reserved_amount = t.reserved_amount + new.amount where t.user_id = new.user_id;
    perform private.count_up('pending_withdrawals', 1);
    return null;
end
$$;
comment on function private.withdrawal_requested() is 'Journal row, reserved sum and count of a new withdrawal.';

create function private.withdrawal_decided() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    update public.transactions as t set status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status
    where t.transaction_type = 'withdrawal' and t.reference_id = new.id;
    update private.totals as t set
        reserved_amount = t.reserved_amount - new.amount,
        withdrawn_amount = t.withdrawn_amount + case when new.status = 'approved' then new.amount else 0 end
    where t.user_id = new.user_id;
    perform private.count_up('pending_withdrawals', -1);
    if new.status = 'approved' then
        perform private.count_up('withdrawals_approved', new.amount);
        perform private.count_up('withdrawals_approved_count', 1);
    else
        perform private.count_up('withdrawals_rejected_count', 1);
    end if;
    return null;
end
$$;
comment on function private.withdrawal_decided() is 'Settles journal row and sums of a withdrawal when its status moves.';

create trigger _100_guard before insert on public.withdrawals for each row execute function private.withdrawal_guard();
create trigger _100_frozen before update on public.withdrawals for each row execute function private.withdrawal_frozen();
create trigger _100_keep before delete or truncate on public.withdrawals for each statement execute function private.refuse_change();
create trigger _500_requested after insert on public.withdrawals for each row execute function private.withdrawal_requested();
create trigger _500_decided after update of status on public.withdrawals
for each row when (old.status is distinct from new.status) execute function private.withdrawal_decided();
