-- Withdrawals. A member requests money; an administrator approves (it will be paid) or rejects it, once. Row-level
-- security cannot protect the balance (fifty concurrent requests would all see it unchanged): the validation trigger
-- locks the member's row before it reads. The wallet address is immutable once requested.

create table public.withdrawals (
    id uuid primary key default private.time_ordered_id(),
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
    if new.amount is null or new.amount <= 0 or new.amount > 10000000 then
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

-- What the entries of the audit log say of a withdrawal.
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

-- The decision.

create function private.check_payable(p_withdrawal public.withdrawals, p_member private.profiles) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_available numeric;
begin
    if (p_member).account_status in ('suspended', 'disabled') then
        perform private.raise_error(409, 'account_blocked', 'This member is blocked. A withdrawal of a blocked member cannot be approved.');
    end if;
    if (p_member).hold_until > pg_catalog.clock_timestamp() then
        perform private.raise_error(
            409, 'on_hold', pg_catalog.format(
                'On hold until %s UTC, 24 hours after a change of %s.',
                pg_catalog.to_char((p_member).hold_until at time zone 'UTC', 'YYYY-MM-DD HH24:MI'),
                case (p_member).hold_reason when 'factor' then 'second factor' else (p_member).hold_reason end
            )
        );
    end if;
    -- Sum the rows, not the totals: the last check before money is paid out.
    select coalesce((select sum(b.amount) from public.bonuses as b where b.user_id = (p_withdrawal).user_id), 0)
        - coalesce((
            select sum(w.amount) from public.withdrawals as w
            where w.user_id = (p_withdrawal).user_id and w.status = 'approved' and w.voided_at is null
        ), 0) into v_available;
    if (p_withdrawal).amount > v_available then
        perform private.raise_error(409, 'insufficient_available_balance', 'Insufficient available balance');
    end if;
end
$$;
comment on function private.check_payable(public.withdrawals, private.profiles) is
'Under the member''s lock: raises when the member is blocked, on hold, or the balance does not cover the amount. Errors: account_blocked, on_hold, insufficient_available_balance.';

-- One transfer may pay several withdrawals, so a reference may come again; but only when the administrator says so. What
-- came in did not go out. The money lock makes the other decisions visible.
create function private.require_new_payout(p_withdrawal_id uuid, p_reference text, p_shared boolean) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_ids uuid[];
    v_hashes uuid[];
    v_deposit record;
    v_others jsonb;
    v_paid text;
begin
    select array_agg(o.request_id), array_agg(o.request_id) filter (where k.kind = 'hash' and o.kind = 'hash') into v_ids, v_hashes
    from private.due_transfer_keys(p_reference) as k
    inner join private.transfer_keys as o on k.key = o.key
    where o.request_id <> p_withdrawal_id and k.kind <> 'look_alike' and o.kind <> 'look_alike';
    if v_ids is null then
        return;
    end if;
    select d.amount, p.username into v_deposit
    from public.deposits as d
    inner join private.profiles as p on d.user_id = p.user_id
    where d.id = any(v_hashes) and d.status = 'approved' and d.voided_at is null
    limit 1;
    if found then
        perform private.raise_error(
            409, 'reference_used', pg_catalog.format(
                'This is the hash of a transfer to us: the deposit of %s of %s.', private.dollars(v_deposit.amount), v_deposit.username
            )
        );
    end if;
    if p_shared is true then
        return;
    end if;
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object('username', o.username, 'amount', private.money(o.amount), 'payout_at', o.payout_at) order by o.at desc
        ),
        pg_catalog.string_agg(o.text, ', ' order by o.at desc)
    into v_others, v_paid
    from (
        select r.*, p.username, private.dollars(r.amount) || r.what || p.username as text
        from (
            select w.user_id, w.amount, w.payout_at, w.payout_at as at, ' of ' as what
            from public.withdrawals as w where w.id = any(v_ids) and w.payout_reference is not null
            union all
            select d.user_id, d.amount, null, d.created_at, ', a deposit of '
            from public.deposits as d where d.id = any(v_ids)
        ) as r
        inner join private.profiles as p on r.user_id = p.user_id
        order by r.at desc
        limit 3
    ) as o;
    if v_others is not null then
        perform private.raise_error(
            409, 'payout_reference_used', pg_catalog.format('This payout reference is already recorded for %s.', v_paid), v_others::text
        );
    end if;
end
$$;
comment on function private.require_new_payout(uuid, text, boolean) is
'Raises when an approved deposit has this hash, and, unless shared, when another payout or deposit has this reference, in whatever spelling; details name the latest three. Errors: reference_used, payout_reference_used.';

-- Shown with a deposit whose reference is that of a payout.
create function private.payout_texts(p_ids uuid[]) returns setof text
language sql stable set search_path = '' as $$
    select pg_catalog.format(
        'This is our payout of %s to %s, %s', private.dollars(w.amount), p.username,
        pg_catalog.to_char(w.payout_at at time zone 'UTC', 'FMDD Mon YYYY')
    )
    from public.withdrawals as w
    inner join private.profiles as p on w.user_id = p.user_id
    where w.id = any(p_ids) and w.payout_reference is not null
    order by w.payout_at desc
    limit 3
$$;
comment on function private.payout_texts(uuid[]) is 'Says which of our payouts a deposit names, the latest three.';

-- What is said at an approval stands until the money is sent, with all that came since. Other requests of the member say
-- nothing against this one, and what was approved before an account was closed is paid.
create function private.require_payout_reason(p_withdrawal public.withdrawals, p_member private.profiles, p_reason text) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_reason text := nullif(pg_catalog.btrim(p_reason, E' \t\r\n'), '');
    v_flags jsonb := pg_catalog.jsonb_path_query_array(
        private.withdrawal_flags(p_withdrawal, p_member), '$[*] ? (@.kind != "other_requests" && @.kind != "closed")'
    );
begin
    if v_flags = '[]' then
        return '{}'::jsonb;
    end if;
    if v_reason is null then
        perform private.raise_error(
            409, 'payout_warned', 'This withdrawal has warnings. Give a reason to record its payout all the same.', v_flags::text
        );
    end if;
    return pg_catalog.jsonb_build_object(
        'payout_reason', private.validate_reason(v_reason), 'warnings', pg_catalog.jsonb_path_query_array(v_flags, '$[*].text')
    );
end
$$;
comment on function private.require_payout_reason(public.withdrawals, private.profiles, text) is
'Raises when the member is blocked or on hold, or the withdrawal is flagged, and there is no reason; the details have the flags. Returns what withdrawal.paid says beside the row: reason and warnings. Call under the member''s lock. Errors: payout_warned, invalid_reason.';

-- The member reads the payout reference, so it must be readable, whether it is recorded with the approval or later. The
-- reason is for administrators: it stands in the audit log alone.
create function private.add_payout_reference(
    p_withdrawal public.withdrawals, p_member private.profiles, p_admin private.admin_users, p_reference text, p_shared boolean, p_reason text
)
returns public.withdrawals
language plpgsql volatile set search_path = '' as $$
declare
    v_reference text := nullif(pg_catalog.btrim(p_reference, E' \t\r\n'), '');
    v_withdrawal public.withdrawals := p_withdrawal;
    v_warned jsonb;
begin
    if v_reference is null or v_reference is not distinct from (p_withdrawal).payout_reference then
        return p_withdrawal;
    end if;
    if pg_catalog.length(v_reference) > 200 or not private.is_readable(v_reference) then
        perform private.raise_error(400, 'invalid_reference', 'A payout reference has at most 200 characters, on one line.');
    end if;
    perform private.require_plausible_reference(v_reference);
    if (p_withdrawal).payout_reference is not null then
        perform private.raise_error(409, 'payout_recorded', 'A payout reference was already recorded for this withdrawal.');
    end if;
    if (p_withdrawal).voided_at is not null then
        perform private.raise_error(409, 'voided', 'This withdrawal was voided.');
    end if;
    perform private.require_new_payout((p_withdrawal).id, v_reference, p_shared);
    v_warned := private.require_payout_reason(p_withdrawal, p_member, p_reason);
    update public.withdrawals as w set payout_reference = v_reference, payout_at = private.clock()
    where w.id = (p_withdrawal).id
    returning w.* into v_withdrawal;
    perform private.audit(
        'admin:' || (p_admin).id, 'withdrawal.paid', 'withdrawal', v_withdrawal.id, private.payout_facts(v_withdrawal) || v_warned,
        v_withdrawal.payout_at
    );
    return v_withdrawal;
end
$$;
comment on function private.add_payout_reference(public.withdrawals, private.profiles, private.admin_users, text, boolean, text) is
'Records once how an approved withdrawal was paid; p_shared: by a transfer that paid others too; p_reason: why, although there are warnings. Errors: invalid_reference, payout_recorded, voided, reference_used, payout_reference_used, payout_warned, invalid_reason.';

create function public.decide_withdrawal(
    p_withdrawal_id uuid, p_action text, p_reason text default null, p_payout_reference text default null,
    p_shared_payout boolean default false, p_payout_reason text default null
)
returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_status public.request_status := private.parse_action(p_action);
    v_reason text := case when v_status = 'rejected' then private.validate_reason(p_reason) end;
    v_withdrawal public.withdrawals;
    v_member private.profiles;
    v_paid text;
begin
    select * into v_withdrawal from public.withdrawals as w where w.id = p_withdrawal_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such withdrawal.');
    end if;
    perform private.require_not_own_account(v_admin, v_withdrawal.user_id);
    perform private.lock_money();
    v_member := private.lock_member(v_withdrawal.user_id);
    select * into v_withdrawal from public.withdrawals as w where w.id = p_withdrawal_id for no key update;
    v_paid := case when v_status = 'approved' then nullif(pg_catalog.btrim(p_payout_reference), '') end;
    if v_withdrawal.status <> 'pending' then
        -- Any administrator who may decide may record the payout later.
        if v_withdrawal.status is distinct from v_status or (v_paid is null and v_withdrawal.decided_by is distinct from v_admin.id) then
            perform private.raise_already_decided(pg_catalog.to_jsonb(v_withdrawal));
        end if;
        v_withdrawal := private.add_payout_reference(v_withdrawal, v_member, v_admin, v_paid, p_shared_payout, p_payout_reason);
        return pg_catalog.jsonb_build_object(
            'success', true, 'already', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal))
        ) || private.audit_entries();
    end if;
    perform private.require_no_alarm(v_withdrawal.user_id, 'withdrawal');
    if v_status = 'approved' then
        perform private.check_payable(v_withdrawal, v_member);
    end if;
    update public.withdrawals as w set
        status = v_status, admin_notes = v_reason, decided_at = private.clock(), decided_by = v_admin.id, decision_no = private.next_decision_no()
    where w.id = p_withdrawal_id and w.status = 'pending'
    returning w.* into v_withdrawal;
    perform private.notify_decision('withdrawal', v_withdrawal.user_id, v_withdrawal.amount, v_status, v_reason);
    perform private.audit(
        'admin:' || v_admin.id, 'withdrawal.' || v_status, 'withdrawal', v_withdrawal.id,
        private.withdrawal_decision_facts(v_withdrawal), v_withdrawal.decided_at
    );
    v_withdrawal := private.add_payout_reference(v_withdrawal, v_member, v_admin, v_paid, p_shared_payout, p_payout_reason);
    return pg_catalog.jsonb_build_object('success', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal)))
        || private.audit_entries();
end
$$;
comment on function public.decide_withdrawal(uuid, text, text, text, boolean, text) is
'Finance and super administrators: approves (it will be paid) or rejects a pending withdrawal, once; a payout reference may be added once later. p_shared_payout confirms that the reference is of a transfer that paid others too; p_payout_reason says why it was paid although the member is blocked or on hold, or the withdrawal is flagged, and stands in the audit log. Errors: forbidden, invalid_action, invalid_reason, not_found, own_account, already_decided, ledger_alarm, account_blocked, on_hold, insufficient_available_balance, invalid_reference, payout_recorded, voided, reference_used, payout_reference_used, payout_warned, try_again.';
grant execute on function public.decide_withdrawal(uuid, text, text, text, boolean, text) to platform_admin;

-- Options of the withdrawal form. The validation trigger decides again on submission.
create function public.get_withdraw_options() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
    v_totals private.totals;
begin
    select t.* into v_totals from private.totals as t where t.user_id = v_member.user_id;
    return pg_catalog.jsonb_build_object(
        'verification', private.verification_result(v_member),
        'balance', private.balance_figures(v_totals, v_member),
        'wallet_address', v_member.trc20_wallet_address,
        'wallet_checksum_ok', case
            when v_member.trc20_wallet_address is not null then private.is_trc20_address(v_member.trc20_wallet_address)
        end,
        'minimum', private.money(100),
        'hold_until', case when v_member.hold_until > pg_catalog.now() then v_member.hold_until end,
        'pending', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'id', w.id,
                        'amount', private.money(w.amount),
                        'wallet_address', w.wallet_address,
                        'created_at', w.created_at
                    ) order by w.created_at
                ), '[]'
            )
            from public.withdrawals as w where w.user_id = v_member.user_id and w.status = 'pending'
        )
    );
end
$$;
comment on function public.get_withdraw_options() is
'What the caller can withdraw now, to which wallet, and the pending withdrawals. Errors: profile_not_found.';
grant execute on function public.get_withdraw_options() to authenticated;

-- The admin list, as for deposits.

create function private.withdrawal_flags(p_withdrawal public.withdrawals, p_member private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select coalesce(
            pg_catalog.jsonb_agg(pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text, 'until', f.until))), '[]'
        )
        from (
            select 'checksum' as kind, 'This does not look like a TRC20 address' as text, null::timestamptz as until
            where not private.is_trc20_address((p_withdrawal).wallet_address)
            union all
            (
                select
                    'address_changed',
                    pg_catalog.format(
                        'Wallet address changed on %s', pg_catalog.to_char(l.at at time zone 'UTC', 'FMDD Mon YYYY')
                    ),
                    null
                from private.audit_log as l
                where
                    l.object_id = (p_member).id
                    and l.action = 'member.wallet_changed'
                    and l.payload ->> 'from' is not null
                    and l.at > pg_catalog.now() - interval '7 days'
                order by l.id desc
                limit 1
            )
            union all
            select 'address_shared', pg_catalog.format('Also the wallet of %s', s.usernames), null
            from private.wallet_sharers((p_withdrawal).wallet_address, (p_member).id) as s (usernames)
            where s.usernames is not null
            union all
            select 'hold', pg_catalog.format(
                'On hold until %s UTC, 24 hours after a change of %s',
                pg_catalog.to_char((p_member).hold_until at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'),
                case (p_member).hold_reason when 'factor' then 'second factor' else (p_member).hold_reason end
            ), (p_member).hold_until
            where (p_member).hold_until > pg_catalog.now()
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status), null
            where (p_member).account_status in ('suspended', 'disabled') and (p_member).closed_at is null
            union all
            select 'closed', 'This account is closed', null
            where (p_member).closed_at is not null
            union all
            select
                'other_requests',
                pg_catalog.format(
                    case count(*)
                        when 1 then '%s more withdrawal of this member waits, %s' else '%s more withdrawals of this member wait, %s in all'
                    end, count(*), private.dollars(sum(o.amount))
                ),
                null
            from public.withdrawals as o
            where o.user_id = (p_withdrawal).user_id and o.status = 'pending' and o.id <> (p_withdrawal).id
            having count(*) > 0
        ) as f
    );
end
$$;
comment on function private.withdrawal_flags(public.withdrawals, private.profiles) is
'Flags of a withdrawal that is pending or unpaid: no TRC20 address, wallet changed within 7 days or shared with other members, on hold and until when, blocked or closed, others of the member that wait.';

create function private.withdrawal_items(p_ids uuid[]) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_agg(
        pg_catalog.to_jsonb(w) || pg_catalog.jsonb_build_object(
            'amount', private.money(w.amount),
            'profile_id', p.id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'account_status', p.account_status,
            'available_balance', private.money(t.available_balance),
            'cash_in_amount', private.money(p.cash_in_amount),
            'package_value', private.money(p.package_value),
            'trc20_wallet_address', p.trc20_wallet_address,
            'joined_at', p.created_at,
            'decided_by_name', coalesce(a.full_name, a.email),
            'cancelled', w.status = 'rejected' and w.decided_by is null,
            'available_after', case when w.status = 'pending' then private.money(t.available_balance - w.amount) end,
            'due_at', w.created_at + e.due_after,
            -- A flag warns until the money has gone.
            'flags', case
                when w.status = 'pending' or (w.status = 'approved' and w.payout_reference is null and w.voided_at is null)
                    then private.withdrawal_flags(w, p)
                else '[]'
            end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join public.withdrawals as w on u.id = w.id
    inner join private.profiles as p on w.user_id = p.user_id
    inner join private.totals as t on w.user_id = t.user_id
    left join private.admin_users as a on w.decided_by = a.id
    cross join (select private.review_interval() as due_after) as e
$$;
comment on function private.withdrawal_items(uuid[]) is
'Withdrawals as items of the admin list. available_after is negative when the balance does not cover the amount. Money as text.';

create function public.list_withdrawals(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['created_at', 'amount', 'status', 'username']);
    v_counts jsonb := private.request_counts('withdrawals');
    v_page record;
begin
    perform private.require_admin();
    v_page := private.request_page('withdrawals', 'wallet_address', v_request, v_counts);
    return pg_catalog.jsonb_build_object('items', coalesce(private.withdrawal_items(v_page.ids), '[]'), 'total', v_page.total, 'counts', v_counts)
        || case when v_page.more then '{"more": true}' else '{}' end::jsonb;
end
$$;
comment on function public.list_withdrawals(jsonb) is
'Administrators: withdrawals with their members. Filters as in list_deposits, status also paid and unpaid; search matches member and wallet address. Errors: forbidden, session_ended, invalid_filter, unknown_field.';
grant execute on function public.list_withdrawals(jsonb) to platform_admin;
