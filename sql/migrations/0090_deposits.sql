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
