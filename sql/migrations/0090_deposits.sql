-- A member claims a USDT transfer; an administrator accepts or refuses it, once. The amount alone decides what
-- a deposit is: the first package, an upgrade at the full price, or cash-in that changes no package.
-- A row is never updated by its member and never deleted by anyone.

create table public.deposits (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    amount public.usd not null check (amount between 1 and 10000000),
    reference_number text not null check (length(reference_number) between 1 and 200),
    receipt_url text not null check (length(receipt_url) between 1 and 2000),
    status public.request_status not null default 'pending',
    admin_notes text check (length(admin_notes) <= 1000),
    created_at timestamptz not null default now(),
    decided_at timestamptz,
    decided_by uuid references private.admin_users (id) on delete restrict,
    -- Worked out by the guard; nobody may write them.
    kind text not null check (kind in ('first', 'upgrade', 'cash_in')),
    reference_key text not null check (length(reference_key) between 1 and 200),
    receipt_name text not null,
    receipt_etag text,
    voided_at timestamptz,
    constraint pending_is_undecided check ((status = 'pending') = (decided_at is null)),
    constraint deposits_decider check (
        (status = 'pending' and decided_by is null) or (status = 'approved' and decided_by is not null) or status = 'rejected'
    ),
    constraint a_rejection_has_a_reason check (status <> 'rejected' or length(admin_notes) > 0),
    constraint only_approved_is_voided check (voided_at is null or status = 'approved')
);
alter table public.deposits enable row level security;
-- A member's own, newest first; also the foreign key.
create index deposits_user_idx on public.deposits (user_id, created_at desc, id desc);
-- The administrators' list by status, newest first, and the pending counts.
create index deposits_status_idx on public.deposits (status, created_at desc, id desc);
create index deposits_created_idx on public.deposits (created_at desc, id desc);
create index deposits_decided_by_idx on public.deposits (decided_by) where decided_by is not null;
-- One transfer counts once.
create unique index deposits_reference_approved_key on public.deposits (reference_key)
where status = 'approved' and voided_at is null;
-- "The same reference elsewhere" for the flag.
create index deposits_reference_idx on public.deposits (reference_key);
-- One receipt serves one deposit.
create unique index deposits_receipt_key on public.deposits (receipt_name);
comment on table public.deposits is 'Claimed USDT transfers. An approved row that is not voided counts as cash-in.';
comment on column public.deposits.reference_key is 'The reference without spelling: 64 hex digits if it holds them, else lower-case letters and digits.';

create policy select_own on public.deposits for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on public.deposits for select to platform_admin using (true);
create policy insert_own on public.deposits for insert to authenticated
with check (user_id = (select auth.uid()) and status = 'pending');
grant select on public.deposits to authenticated, platform_admin;
grant insert (id, user_id, amount, reference_number, receipt_url, status) on public.deposits to authenticated;
grant select on public.deposits to service_role;
grant insert (id, user_id, amount, reference_number, receipt_url, status) on public.deposits to service_role;
-- Not granted: update and delete, to anyone. A decision is a function.

create function private.reference_key(p_reference text) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return (
        -- A transaction hash counts by itself, whatever stands around it.
        select coalesce(
            pg_catalog.lower(substring(p_reference from '[0-9A-Fa-f]{64}')),
            pg_catalog.left(pg_catalog.regexp_replace(pg_catalog.lower(normalize(p_reference, nfkc)), '[^[:alnum:]]', '', 'g'), 200)
        )
    );
end
$$;
comment on function private.reference_key(text) is 'A reference without its spelling; empty when it holds no letter and no digit.';

create function private.receipt_name(p_receipt_url text) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return (select substring(p_receipt_url from '\Ahttps?://[^\s/?#]+(?:/[^\s?#]*)?/object/public/receipts/([0-9a-f-]{36}/[0-9]{10,16}\.(?:png|jpg|jpeg|webp|pdf))\Z'));
end
$$;
comment on function private.receipt_name(text) is 'Name of the object that a receipt address stands for, null when it stands for none. The address is never opened.';

create function private.status_refusal(p_status public.account_status) returns void
language plpgsql immutable set search_path = '' as $$
begin
    case p_status
        when 'disabled' then
            perform private.refuse(403, 'account_disabled', 'Your account has been disabled. Please contact support for assistance.');
        when 'suspended' then
            perform private.refuse(403, 'account_suspended', 'Your account has been suspended. Please contact support for assistance.');
        when 'pending' then
            perform private.refuse(403, 'account_pending', 'Your account is pending. Deposits and withdrawals open once it is active.');
        else null;
    end case;
end
$$;
comment on function private.status_refusal(public.account_status) is 'Refuses unless the account is active. Errors: account_disabled, account_suspended, account_pending.';

create function private.require_owner(p_user_id uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
    -- Before anything is read or locked: BEFORE triggers run ahead of the policy's check.
    if auth.uid() is not null and p_user_id is distinct from auth.uid() then
        perform private.refuse(403, 'not_yours', 'You can only make requests for yourself.');
    end if;
end
$$;
comment on function private.require_owner(uuid) is 'A signed-in caller acts for nobody else. Errors: not_yours.';

create function private.deposit_kind(p_amount numeric, p_package numeric) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_is_size boolean := exists (select 1 from private.packages as k where k.value = p_amount);
begin
    if p_amount not between 1 and 10000000 then
        perform private.refuse(400, 'invalid_amount', 'Enter an amount from $1.00 to $10,000,000.00.');
    end if;
    if p_package = 0 and not v_is_size then
        perform private.refuse(
            400, 'package_required', pg_catalog.format(
                'Choose a package for your first deposit: %s.',
                (select pg_catalog.string_agg('$' || k.value::text, ', ' order by k.value) from private.packages as k)
            )
        );
    end if;
    if p_package > 0 and v_is_size and p_amount <= p_package then
        perform private.refuse(400, 'downgrade', 'You can only upgrade to a higher package. Downgrades are not allowed.');
    end if;
    return case when not v_is_size then 'cash_in' when p_package = 0 then 'first' else 'upgrade' end;
end
$$;
comment on function private.deposit_kind(numeric, numeric) is
'What an amount in USD means beside the present package: first, upgrade or cash_in. Errors: invalid_amount, package_required, downgrade.';

create function private.check_receipt(p_user_id uuid, p_name text, p_first boolean) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_object record;
begin
    if p_name is null or pg_catalog.split_part(p_name, '/', 1) <> p_user_id::text then
        perform private.refuse(400, 'invalid_receipt', 'Upload your receipt again: the file was not found.');
    end if;
    select o.owner_id, o.metadata into v_object from storage.objects as o where o.bucket_id = 'receipts' and o.name = p_name;
    if not found or v_object.owner_id is distinct from p_user_id::text then
        perform private.refuse(400, 'invalid_receipt', 'Upload your receipt again: the file was not found.');
    end if;
    if exists (select 1 from public.deposits as d where d.receipt_name = p_name) then
        perform private.refuse(409, 'receipt_used', 'This receipt belongs to another deposit. Upload a new one.');
    end if;
    if p_first and (p_name like '%.pdf' or v_object.metadata ->> 'mimetype' = 'application/pdf') then
        perform private.refuse(400, 'receipt_must_be_image', 'The receipt of a first package must be an image: PNG, JPEG or WebP.');
    end if;
    return v_object.metadata ->> 'eTag';
end
$$;
comment on function private.check_receipt(uuid, text, boolean) is
'The uploaded file of a receipt: there, the member''s own, unused, an image for a first package. Answers its etag. Errors: invalid_receipt, receipt_used, receipt_must_be_image.';

create function private.deposit_guard() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles;
    v_twin public.deposits;
    v_pending integer;
    v_limit integer := private.setting_text('deposit.pending_limit')::integer;
begin
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    -- A retry is looked for first: triggers run before ON CONFLICT.
    select * into v_twin from public.deposits as d where d.id = new.id;
    if found then
        if (v_twin.user_id, v_twin.amount, v_twin.reference_number, v_twin.receipt_url)
            is not distinct from (new.user_id, new.amount, new.reference_number, new.receipt_url) then
            return null;
        end if;
        perform private.refuse(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.status_refusal(v_member.account_status);
    if v_member.id is null or v_member.email is null or v_member.trc20_wallet_address is null then
        perform private.refuse(403, 'profile_incomplete', 'Please complete your profile and settings first');
    end if;
    if new.status <> 'pending' then
        perform private.refuse(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    new.kind := private.deposit_kind(new.amount, v_member.package_value);
    new.reference_number := pg_catalog.btrim(new.reference_number);
    new.reference_key := private.reference_key(new.reference_number);
    if coalesce(new.reference_key, '') = '' or pg_catalog.length(new.reference_number) > 200 then
        perform private.refuse(400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.');
    end if;
    select count(*) into v_pending from public.deposits as d where d.user_id = new.user_id and d.status = 'pending';
    if v_pending >= v_limit then
        perform private.refuse(
            409, 'too_many_pending', pg_catalog.format('You have %s deposits waiting for review. Wait for a decision or cancel one.', v_pending)
        );
    end if;
    new.receipt_name := private.receipt_name(new.receipt_url);
    new.receipt_etag := private.check_receipt(new.user_id, new.receipt_name, new.kind = 'first');
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.voided_at := null;
    return new;
end
$$;
comment on function private.deposit_guard() is
'Every rule of a new deposit, under the member''s lock, in the order of the form. Errors: not_yours, duplicate_request, account_*, profile_incomplete, forbidden, invalid_amount, package_required, downgrade, invalid_reference, too_many_pending, invalid_receipt, receipt_used, receipt_must_be_image.';

create function private.deposit_frozen() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.id, new.user_id, new.amount, new.reference_number, new.receipt_url, new.created_at, new.kind, new.reference_key, new.receipt_name)
        is distinct from (old.id, old.user_id, old.amount, old.reference_number, old.receipt_url, old.created_at, old.kind, old.reference_key, old.receipt_name)
        or (old.status <> 'pending' and (new.status, new.admin_notes, new.decided_at, new.decided_by)
            is distinct from (old.status, old.admin_notes, old.decided_at, old.decided_by))
        or (old.voided_at is not null and new.voided_at is distinct from old.voided_at)
        or (new.voided_at is distinct from old.voided_at and not private.correction_of(new.user_id)) then
        perform private.refuse(403, 'append_only', 'A deposit is decided once and never changed.');
    end if;
    return new;
end
$$;
comment on function private.deposit_frozen() is 'What was claimed never changes; a decision is made once; only a confirmed correction voids. Errors: append_only.';

create function private.deposit_requested() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, new.amount, 'deposit', 'pending', new.id, new.created_at);
    perform private.count_up('pending_deposits', 1);
    return null;
end
$$;
comment on function private.deposit_requested() is 'Journal row and count of a new deposit.';

create function private.deposit_decided() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    update public.transactions as t set status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status
    where t.transaction_type = 'deposit' and t.reference_id = new.id;
    perform private.count_up('pending_deposits', -1);
    if new.status = 'approved' then
        perform private.count_up('deposits_approved', new.amount);
        perform private.count_up('deposits_approved_count', 1);
    else
        perform private.count_up('deposits_rejected_count', 1);
    end if;
    return null;
end
$$;
comment on function private.deposit_decided() is 'Settles the journal row of a deposit when its status moves.';

create trigger _100_guard before insert on public.deposits for each row execute function private.deposit_guard();
create trigger _100_frozen before update on public.deposits for each row execute function private.deposit_frozen();
create trigger _100_keep before delete or truncate on public.deposits for each statement execute function private.refuse_change();
create trigger _500_requested after insert on public.deposits for each row execute function private.deposit_requested();
create trigger _500_decided after update of status on public.deposits
for each row when (old.status is distinct from new.status) execute function private.deposit_decided();
