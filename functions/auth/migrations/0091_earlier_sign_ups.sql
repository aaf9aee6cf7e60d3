-- This service's own table (a real GoTrue ignores it). While an address is not confirmed, anybody may sign up with it,
-- and each sign-up stands by itself: auth.users holds the newest, this table those that it replaced. A mailed link
-- confirms the one whose mail it was in; the others are deleted then.
-- Flows of PKCE (auth.flow_state) of an earlier sign-up name its id instead of the user's.
-- Not part of a data move: leave it out.

create table if not exists auth.earlier_sign_ups (
    id uuid primary key default gen_random_uuid(),
    number bigint generated always as identity,
    user_id uuid not null references auth.users (id) on delete cascade,
    role text,
    encrypted_password text,
    raw_app_meta_data jsonb,
    raw_user_meta_data jsonb,
    identity_data jsonb not null,
    invited_at timestamptz,
    created_at timestamptz not null,
    confirmation_hash text,
    confirmation_sent_at timestamptz,
    recovery_hash text,
    recovery_sent_at timestamptz
);
alter table auth.earlier_sign_ups enable row level security;
create index if not exists earlier_sign_ups_user_id_idx on auth.earlier_sign_ups (user_id);
create index if not exists earlier_sign_ups_confirmation_hash_idx on auth.earlier_sign_ups (confirmation_hash);
create index if not exists earlier_sign_ups_recovery_hash_idx on auth.earlier_sign_ups (recovery_hash);
