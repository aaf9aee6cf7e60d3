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
-- What a new request must leave alone.
create index withdrawals_pending_idx on public.withdrawals (user_id) include (amount) where status = 'pending';
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
