-- How often somebody may do something, in one place for RPCs and functions. The counters are unlogged: a crash
-- of the database forgives them. Failed sign-ins are logged rows: restarting a service must not forgive those.

create unlogged table private.rate_limits (
    bucket text not null check (length(bucket) <= 63),
    key text not null check (length(key) <= 255),
    window_start timestamptz not null,
    hits integer not null,
    primary key (bucket, key)
);
alter table private.rate_limits enable row level security;
create index rate_limits_window_idx on private.rate_limits (window_start);
comment on table private.rate_limits is 'Hits of one key in its present window.';

create table private.sign_in_failures (
    id bigint generated always as identity primary key,
    kind text not null check (kind in ('admin_account', 'admin_address', 'member_account')),
    key text not null check (length(key) <= 255),
    at timestamptz not null default now()
);
alter table private.sign_in_failures enable row level security;
create index sign_in_failures_key_idx on private.sign_in_failures (kind, key, at);
comment on table private.sign_in_failures is 'Failed sign-ins per account and per address. A success clears those of the account.';
