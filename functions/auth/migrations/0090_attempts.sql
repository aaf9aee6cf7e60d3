-- This service's own tables (a real GoTrue ignores them): failed passwords, TOTP codes and mail codes per account and
-- per address, kept in the log so that a restart clears nothing. `subject` is a user id or the SHA-256 of an e-mail or
-- network address, so that unknown accounts are counted exactly like known ones and the table names no person.
-- Not part of a data move: leave them out.

create table if not exists auth.attempts (
    kind text not null,
    subject text not null,
    failures integer not null,
    started_at timestamptz not null,
    primary key (kind, subject)
);
alter table auth.attempts drop constraint if exists attempts_kind_check;
alter table auth.attempts add constraint attempts_kind_check
check (kind in ('password', 'address', 'totp', 'code', 'mail'));
alter table auth.attempts enable row level security;
create index if not exists attempts_started_at_idx on auth.attempts (started_at);

-- From where an account was signed in to: `address` is the SHA-256 of account and network.
create table if not exists auth.known_addresses (
    user_id uuid not null references auth.users (id) on delete cascade,
    address text not null,
    seen_at timestamptz not null,
    primary key (user_id, address)
);
alter table auth.known_addresses enable row level security;
create index if not exists known_addresses_seen_at_idx on auth.known_addresses (seen_at);
