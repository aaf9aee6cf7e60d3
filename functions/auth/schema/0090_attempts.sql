-- This service's own table (a real GoTrue ignores it): failed passwords, TOTP codes and mail codes per account,
-- kept in the log so that a restart clears nothing. `subject` is a user id or the SHA-256 of an address, so that
-- unknown addresses are counted exactly like known ones and the table names no person.
-- Not part of a data move: leave it out.

create table if not exists auth.attempts (
    kind text not null check (kind in ('password', 'totp', 'code', 'mail')),
    subject text not null,
    failures integer not null,
    started_at timestamptz not null,
    primary key (kind, subject)
);
alter table auth.attempts enable row level security;
create index if not exists attempts_started_at_idx on auth.attempts (started_at);
