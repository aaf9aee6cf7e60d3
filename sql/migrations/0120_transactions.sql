-- The journal of all movements: one row for each deposit and withdrawal from the moment it is requested, one
-- for each bonus credit or change. Amounts never change, rows are never deleted, a status moves once.

create table public.transactions (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    amount public.usd not null check (amount between -10000000 and 10000000 and amount <> 0),
    transaction_type public.transaction_type not null,
    status public.transaction_status not null,
    -- The deposit, withdrawal or bonus the row belongs to; of a correction's rows, the correction.
    reference_id uuid not null,
    created_at timestamptz not null default now()
);
alter table public.transactions enable row level security;
create unique index transactions_source_key on public.transactions (transaction_type, reference_id) where transaction_type <> 'bonus';
create index transactions_reference_idx on public.transactions (reference_id);
create index transactions_user_idx on public.transactions (user_id, created_at desc, id desc);
create index transactions_created_idx on public.transactions (created_at desc, id desc);
comment on table public.transactions is 'Journal. Signed: a withdrawal is negative. Bonus rows are deltas: their sum per reference is the bonus.';

create policy select_own on public.transactions for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on public.transactions for select to platform_admin using (true);
grant select on public.transactions to authenticated, platform_admin, service_role;
-- Not granted: insert, update, delete to anyone.

create function private.transactions_frozen() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.id, new.user_id, new.amount, new.transaction_type, new.reference_id, new.created_at)
        is distinct from (old.id, old.user_id, old.amount, old.transaction_type, old.reference_id, old.created_at)
        or (old.status <> 'pending' and new.status is distinct from old.status) then
        perform private.refuse(403, 'append_only', 'The journal is kept as it is.');
    end if;
    return new;
end
$$;
comment on function private.transactions_frozen() is 'A journal row only moves once, from pending to completed or failed. Errors: append_only.';
create trigger _100_frozen before update on public.transactions for each row execute function private.transactions_frozen();
create trigger _100_keep before delete or truncate on public.transactions for each statement execute function private.refuse_change();
