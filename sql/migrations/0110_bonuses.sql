-- What members earned. One row per reason, found by a natural key, so that posting twice is impossible and an
-- upgrade raises the row it belongs to. Rows keep their id and created_at; nothing is deleted and inserted
-- again. Only the compensation engine writes here; over REST nobody does.

create function private.referral_percent() returns numeric
language sql immutable set search_path = '' as $$ select 5.00 $$;
comment on function private.referral_percent() is 'Share of a direct referral''s package.';
create function private.override_percent() returns numeric
language sql immutable set search_path = '' as $$ select 1.00 $$;
comment on function private.override_percent() is 'Share of a pair''s volume for the referrer of the pair''s owner.';
create function private.reentry_percent() returns numeric
language sql immutable set search_path = '' as $$ select 10.00 $$;
comment on function private.reentry_percent() is 'Share of each bonus that auto-reenters: a memo, never deducted from the balance.';

create table public.bonuses (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    source_user_id uuid not null references private.profiles (user_id) on delete restrict,
    bonus_type public.bonus_type not null,
    amount public.usd not null check (amount between 0 and 10000000),
    created_at timestamptz not null default now(),
    pair_number integer check (pair_number > 0),
    rate numeric(5, 2) not null check (rate between 0 and 100),
    volume public.usd not null check (volume >= 0),
    reentry_amount public.usd generated always as (round(amount * private.reentry_percent() / 100, 2)) stored,
    -- Whose the natural key is: the child of a referral bonus, the pair's owner of the others.
    subject_no integer not null references private.positions (no) on delete restrict,
    constraint amount_is_rate_of_volume check (amount = round(volume * rate / 100, 2)),
    constraint pairs_have_a_number check ((bonus_type = 'referral') = (pair_number is null)),
    constraint nobody_earns_from_themselves check (user_id <> source_user_id)
);
alter table public.bonuses enable row level security;
-- The natural keys, each in the order in which the engine computes its rows, with what the comparison reads.
create unique index bonuses_referral_key on public.bonuses (subject_no) include (amount, rate) where bonus_type = 'referral';
create unique index bonuses_pairing_key on public.bonuses (subject_no, pair_number) include (amount, rate) where bonus_type = 'pairing';
create unique index bonuses_override_key on public.bonuses (subject_no, pair_number) include (amount, rate) where bonus_type = 'override';
create index bonuses_user_idx on public.bonuses (user_id, created_at desc, id desc);
create index bonuses_source_idx on public.bonuses (source_user_id);
create index bonuses_subject_idx on public.bonuses (subject_no);
comment on table public.bonuses is 'Current amount of every bonus. Source: the child of a referral, the child that completed the pair of a pairing, the pair''s owner of an override.';

create policy select_own on public.bonuses for select to authenticated
using (user_id = (select auth.uid()) or source_user_id = (select auth.uid()));
create policy select_all on public.bonuses for select to platform_admin using (true);
grant select on public.bonuses to authenticated, platform_admin, service_role;
-- Not granted: insert, update, delete to anyone. The sync function replaces a client's delete and insert.
