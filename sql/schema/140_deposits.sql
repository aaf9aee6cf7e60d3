-- A member claims a USDT transfer; an administrator approves or rejects it, once. The amount alone decides what a
-- deposit is: the first package, an upgrade at the full price, or cash-in that changes no package. No member updates
-- a row, and nobody deletes one.
-- 142_deposit_decisions.sql has the decision.
-- Rules: specification S4 and S8.

create table public.deposits (
    -- New ids stand together in every index that has one, also in that of what the audit log is about.
    id uuid primary key default private.time_ordered_id(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    amount public.usd not null check (amount between 1 and private.largest_amount()),
    reference_number text not null check (length(reference_number) between 1 and 200),
    receipt_url text not null check (length(receipt_url) between 1 and 2000),
    status public.request_status not null default 'pending',
    admin_notes text check (length(admin_notes) <= 1000),
    created_at timestamptz not null default now(),
    decided_at timestamptz,
    decided_by uuid references private.admin_users (id) on delete restrict,
    -- Computed by the validation trigger; no role may write them.
    kind text not null check (kind in ('first', 'upgrade', 'cash_in')),
    reference_key text not null check (length(reference_key) between 1 and 200),
    voided_at timestamptz,
    decision_no bigint,
    received_amount public.usd,
    constraint pending_is_undecided check ((status = 'pending') = (decided_at is null)),
    constraint deposits_decided_by_matches_status check (
        (status = 'pending' and decided_by is null) or (status = 'approved' and decided_by is not null) or status = 'rejected'
    ),
    constraint an_administrators_decision_has_a_number check ((decided_by is null) = (decision_no is null)),
    constraint a_rejection_has_a_reason check (status <> 'rejected' or length(admin_notes) > 0),
    constraint only_approved_is_voided check (voided_at is null or status = 'approved'),
    constraint only_approved_has_arrived check (received_amount is null or status = 'approved'),
    -- Whatever the setting says.
    constraint what_arrived_is_near_the_claim check (received_amount > 0 and abs(received_amount - amount) <= least(10, amount / 10))
) with (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02
);
comment on table public.deposits is 'Claimed USDT transfers. An approved row that is not voided counts as cash-in.';
comment on column public.deposits.reference_key is
'The first of the reference''s keys when it was requested; private.transfer_keys has all.';
comment on column public.deposits.received_amount is
'What arrived, where the approval said so. It changes nothing of what is credited: the amount counts.';
comment on column public.deposits.kind is
'Decided when it was requested: a package size that completes a package of which less was paid is cash_in, and changes no package.';
comment on column public.deposits.decision_no is
'Place of an administrator''s decision in the order of all; null while pending and when taken back.';
alter table public.deposits enable row level security;
-- A member's deposits, newest first; also the foreign key.
create index deposits_user_idx on public.deposits (user_id, created_at desc, id desc);
create index deposits_effect_idx on public.deposits (user_id, (coalesce(decided_at, created_at)) desc, id desc);
-- The admin list by status, newest first, and the pending counts.
create index deposits_status_idx on public.deposits (status, created_at desc, id desc);
create index deposits_created_idx on public.deposits (created_at desc, id desc);
-- With the time, as in the index of amounts below: a decision then writes a page that the one before has written.
create index deposits_decided_by_idx on public.deposits (decided_by, decided_at) where decided_by is not null;
-- A member's pending deposits, for the form and the limit.
create index deposits_pending_idx on public.deposits (user_id, created_at) where status = 'pending';
-- Lists sorted by amount.
create index deposits_amount_idx on public.deposits (amount, created_at, id);
-- The partial first day of "approved in the last 30 days" is summed row by row.
create index deposits_decided_flow_idx on public.deposits (decided_at) include (amount) where status = 'approved' and voided_at is null;

create policy select_own on public.deposits for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on public.deposits for select to platform_admin using (true);
create policy insert_own on public.deposits for insert to authenticated
with check (user_id = (select auth.uid()) and status = 'pending');
grant select on public.deposits to authenticated, platform_admin;
grant insert (id, user_id, amount, reference_number, receipt_url, status) on public.deposits to authenticated;
grant select on public.deposits to service_role;
grant insert (id, user_id, amount, reference_number, receipt_url, status) on public.deposits to service_role;
-- Not granted: update and delete, to any role. Decisions are made by a function.

-- The file sent with a deposit, in a table of its own: an approval would write each index of it.
create table private.deposit_receipts (
    deposit_id uuid primary key references public.deposits (id) on delete restrict,
    name text not null unique,
    etag text
);
comment on table private.deposit_receipts is 'The receipt of each deposit: a file in the bucket receipts, and of no other deposit.';
comment on column private.deposit_receipts.etag is 'Hash of the file when the deposit was requested.';
alter table private.deposit_receipts enable row level security;
-- Finds the same file elsewhere, for the flag.
create index deposit_receipts_etag_idx on private.deposit_receipts (etag);

create function private.deposit_kind(p_amount numeric, p_package numeric, p_cash_in numeric) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_is_size boolean := exists (select 1 from private.packages as k where k.value = p_amount);
begin
    if p_amount not between 1 and private.largest_amount() then
        perform private.raise_error(400, 'invalid_amount', 'Enter an amount from $1.00 to $10,000,000.00.');
    end if;
    if p_amount <= private.missing_cash_in(p_package, p_cash_in) then
        return 'cash_in';
    end if;
    if p_package = 0 and not v_is_size then
        perform private.raise_error(
            400, 'package_required', pg_catalog.format(
                'Choose a package for your first deposit: %s.',
                (select pg_catalog.string_agg('$' || k.value::text, ', ' order by k.value) from private.packages as k)
            )
        );
    end if;
    if p_package > 0 and v_is_size and p_amount <= p_package then
        perform private.raise_error(400, 'downgrade', 'You can only upgrade to a higher package. Downgrades are not allowed.');
    end if;
    return case when not v_is_size then 'cash_in' when p_package = 0 then 'first' else 'upgrade' end;
end
$$;
comment on function private.deposit_kind(numeric, numeric, numeric) is
'Kind of a deposit of this amount (USD) given the current package and cash-in: first, upgrade or cash_in. Errors: invalid_amount, package_required, downgrade.';

-- A retried request is recognised by its id and compared with the stored, trimmed reference.
create function private.deposits_validate() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles;
    v_existing public.deposits;
    v_pending integer;
    v_limit integer := private.setting_text('deposit.pending_limit')::integer;
begin
    if private.is_restoring_rows() then
        return new;
    end if;
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    perform private.lock_request(new.id);
    -- Copied text brings a line break; a retry brings it again and is compared with the stored value.
    new.reference_number := pg_catalog.btrim(new.reference_number, E' \t\r\n');
    -- Look for a retry first: triggers run before ON CONFLICT.
    select * into v_existing from public.deposits as d where d.id = new.id;
    if found then
        -- The server's columns; all others are the client's and must be equal.
        new.status := v_existing.status;
        new.kind := v_existing.kind;
        new.reference_key := v_existing.reference_key;
        new.created_at := v_existing.created_at;
        new.admin_notes := v_existing.admin_notes;
        new.decided_at := v_existing.decided_at;
        new.decided_by := v_existing.decided_by;
        new.decision_no := v_existing.decision_no;
        new.received_amount := v_existing.received_amount;
        new.voided_at := v_existing.voided_at;
        if new is not distinct from v_existing then
            return null;
        end if;
        perform private.raise_error(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.require_new_request(new.id);
    perform private.require_active_status(v_member.account_status);
    if not private.are_deposits_open() then
        perform private.raise_error(
            403, 'deposits_closed', 'Deposits are closed at the moment. Send no USDT. If you already have, submit the request once they open again.'
        );
    end if;
    if v_member.id is null or v_member.email is null or v_member.trc20_wallet_address is null then
        perform private.raise_error(403, 'profile_incomplete', 'Please complete your profile and settings first');
    end if;
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    new.kind := private.deposit_kind(new.amount, v_member.package_value, v_member.cash_in_amount);
    new.reference_key := private.validate_reference(new.reference_number);
    select count(*) into v_pending from public.deposits as d where d.user_id = new.user_id and d.status = 'pending';
    if v_pending >= v_limit then
        perform private.raise_error(
            409, 'too_many_pending', pg_catalog.format('You have %s deposits waiting for review. Wait for a decision or cancel one.', v_pending)
        );
    end if;
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.voided_at := null;
    new.decision_no := null;
    new.received_amount := null;
    return new;
end
$$;
comment on function private.deposits_validate() is
'Trigger: validates a new deposit under the member''s lock, in the order of the form. Errors: not_yours, duplicate_request, account_*, deposits_closed, profile_incomplete, forbidden, invalid_amount, package_required, downgrade, invalid_reference, too_many_pending.';

create function private.deposits_immutable() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_allowed public.deposits := old;
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
        v_allowed.received_amount := new.received_amount;
    end if;
    if old.voided_at is null and new.voided_at is not null and private.is_being_corrected(old.user_id) then
        v_allowed.voided_at := new.voided_at;
    end if;
    if new is distinct from v_allowed then
        perform private.raise_error(403, 'append_only', 'A deposit is decided once and never changed.');
    end if;
    return new;
end
$$;
comment on function private.deposits_immutable() is
'Trigger: a claim never changes; it is decided once; only a confirmed correction voids it. Errors: append_only.';

-- A transfer is approved once. The money lock makes the other approval visible: decide_deposit took it before.
create function private.deposits_credit_once() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_error text := private.transfer_error(new.id);
begin
    if v_error is not null and not private.is_restoring_rows() then
        perform private.raise_error(409, 'reference_used', v_error);
    end if;
    return new;
end
$$;
comment on function private.deposits_credit_once() is
'Trigger: rejects the approval of a transfer that was approved with another deposit, or that went out. Errors: reference_used.';

-- Facts of a deposit in the entries of the audit log.
create function private.deposit_request_facts(p_deposit public.deposits) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_deposit).user_id, 'amount', private.money((p_deposit).amount), 'reference_number', (p_deposit).reference_number,
        'kind', (p_deposit).kind
    )
$$;
comment on function private.deposit_request_facts(public.deposits) is 'Payload of deposit.requested, where the receipt is added.';

create function private.deposit_decision_facts(p_deposit public.deposits) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_deposit).user_id, 'amount', private.money((p_deposit).amount),
        'reason', (p_deposit).admin_notes, 'decision_no', (p_deposit).decision_no
    ) || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('received_amount', private.money((p_deposit).received_amount)))
$$;
comment on function private.deposit_decision_facts(public.deposits) is
'Payload of deposit.approved, deposit.rejected and deposit.cancelled; it has the amount that arrived where one was given.';

create function private.deposits_record_request() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_receipt text := private.receipt_name(new.receipt_url);
    v_etag text;
begin
    if private.is_restoring_rows() then
        return null;
    end if;
    v_etag := private.check_receipt(new.user_id, v_receipt, new.kind = 'first');
    insert into private.deposit_receipts (deposit_id, name, etag) values (new.id, v_receipt, v_etag);
    perform private.register_transfer(new.id, new.reference_number, false);
    insert into private.request_texts (request_id, text) values (new.id, pg_catalog.lower(new.reference_number));
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, new.amount, 'deposit', 'pending', new.id, new.created_at);
    perform private.increment_counter('pending_deposits', 1);
    perform private.audit(
        private.requester(), 'deposit.requested', 'deposit', new.id,
        private.deposit_request_facts(new) || pg_catalog.jsonb_build_object('receipt', private.receipt_facts(new.receipt_url, v_etag)), new.created_at
    );
    return null;
end
$$;
comment on function private.deposits_record_request() is 'Trigger: receipt, keys, search text, journal row, counter and audit entry of a new deposit. Errors: invalid_receipt, receipt_used, receipt_must_be_image.';

create function private.record_deposit_flow(p_deposit public.deposits, p_sign integer) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.flow_deltas (day, deposits, decided_deposits)
    values
    (((p_deposit).created_at at time zone 'UTC')::date, p_sign * (p_deposit).amount, 0),
    (((p_deposit).decided_at at time zone 'UTC')::date, 0, p_sign * (p_deposit).amount);
end
$$;
comment on function private.record_deposit_flow(public.deposits, integer) is
'Adds an approved deposit to the daily totals of its two days; with -1 subtracts a voided one.';

create function private.deposits_record_decision() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if private.is_restoring_rows() then
        return null;
    end if;
    update public.transactions as t set
        status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status,
        decision_no = new.decision_no
    where t.transaction_type = 'deposit' and t.reference_id = new.id;
    update private.deposit_rests as r set ended_at = new.decided_at where r.deposit_id = new.id and r.ended_at is null;
    if new.status = 'approved' then
        insert into private.counter_deltas (name, delta)
        values ('pending_deposits', -1), ('deposits_approved', new.amount), ('deposits_approved_count', 1);
        perform private.record_deposit_flow(new, 1);
    else
        insert into private.counter_deltas (name, delta)
        values ('pending_deposits', -1), ('deposits_rejected_count', 1);
    end if;
    return null;
end
$$;
comment on function private.deposits_record_decision() is
'Trigger: finalises the journal row of a deposit, ends its rest and updates counters when its status changes.';

create function private.deposits_record_void() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if not private.is_repairing() then
        perform private.record_deposit_flow(new, -1);
    end if;
    return null;
end
$$;
comment on function private.deposits_record_void() is 'Trigger: subtracts a voided deposit from the daily totals.';

create trigger _100_validate before insert on public.deposits for each row execute function private.deposits_validate();
create trigger _100_immutable before update on public.deposits for each row execute function private.deposits_immutable();
create trigger _100_reject_change before delete or truncate on public.deposits for each statement execute function private.reject_change();
create trigger _200_credit_once before update of status on public.deposits
for each row when (old.status <> 'approved' and new.status = 'approved') execute function private.deposits_credit_once();
create trigger _500_record_request after insert on public.deposits for each row execute function private.deposits_record_request();
create trigger _500_record_decision after update of status on public.deposits
for each row when (old.status is distinct from new.status) execute function private.deposits_record_decision();
create trigger _500_record_void after update of voided_at on public.deposits
for each row when (old.voided_at is null and new.voided_at is not null) execute function private.deposits_record_void();
create trigger _100_reject_change before update or delete or truncate on private.deposit_receipts
for each statement execute function private.reject_change();

create view private.transfers_credited_twice as
select distinct
    k.request_id as deposit_id,
    d.user_id
from private.transfer_keys as k
inner join public.deposits as d on k.request_id = d.id
where
    d.status = 'approved' and d.voided_at is null
    and exists (
        select 1
        from private.transfer_keys as o
        left join public.deposits as c on o.request_id = c.id
        where
            o.key = k.key and o.request_id <> k.request_id
            and (
                (c.status = 'approved' and c.voided_at is null and o.kind <> 'look_alike' and k.kind <> 'look_alike')
                or (o.is_payout and o.kind = 'hash' and k.kind = 'hash')
            )
    );
comment on view private.transfers_credited_twice is
'Approved deposits that share a key with another one, or a hash with a payout; each of them is a row. None while every transfer is approved once.';
