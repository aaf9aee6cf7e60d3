-- This service's own tables as well: how much mail was asked for, and the notifications that wait to be sent.
-- `subject` is the SHA-256 of a budget with a network address, a recipient or nothing; `level` the part of its share
-- that was used at that time. Not part of a data move: leave them out.

create table if not exists auth.mail_counts (
    subject text primary key,
    level double precision not null,
    counted_at timestamptz not null
);
alter table auth.mail_counts enable row level security;
create index if not exists mail_counts_counted_at_idx on auth.mail_counts (counted_at);

create table if not exists auth.notices (
    id bigint generated always as identity primary key,
    notice text not null,
    recipient text not null,
    data jsonb not null,
    instance uuid not null,
    attempts integer not null default 0,
    created_at timestamptz not null default now(),
    next_attempt_at timestamptz not null default now()
);
alter table auth.notices enable row level security;
create index if not exists notices_next_attempt_at_idx on auth.notices (next_attempt_at);
-- What waits already is not said twice.
create unique index if not exists notices_content_key on auth.notices (notice, recipient, md5(data::text));
