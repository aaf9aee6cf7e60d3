-- What people are told, written in the transaction that did it: a notification the member reads in the app, an
-- outbox row the worker mails. Nothing is sent from inside a transaction, and nothing that was rolled back is told.

create table public.notifications (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    kind text not null check (kind ~ '\A[a-z][a-z0-9_]{1,62}\Z'),
    title text not null check (length(title) between 1 and 200),
    body text not null check (length(body) between 1 and 4000),
    amount public.usd,
    link text check (link ~ '\A/[a-z0-9/?=&_-]*\Z'),
    read_at timestamptz,
    created_at timestamptz not null default now()
);
alter table public.notifications enable row level security;
create index notifications_user_idx on public.notifications (user_id, created_at desc, id desc);
create index notifications_unread_idx on public.notifications (user_id) where read_at is null;
comment on table public.notifications is 'What a member is told in the app.';
create policy select_own on public.notifications for select to authenticated using (user_id = (select auth.uid()));
grant select on public.notifications to authenticated, service_role;

create table private.admin_notices (
    id uuid primary key default gen_random_uuid(),
    kind text not null check (kind ~ '\A[a-z][a-z0-9_]{1,62}\Z'),
    title text not null check (length(title) between 1 and 200),
    body text not null check (length(body) between 1 and 4000),
    link text,
    created_at timestamptz not null default now()
);
alter table private.admin_notices enable row level security;
create index admin_notices_created_idx on private.admin_notices (created_at desc, id desc);
comment on table private.admin_notices is 'What all administrators are told in the panel.';

create table private.outbox (
    id bigint generated always as identity primary key,
    template text not null check (template ~ '\A[a-z][a-z0-9_]{1,62}\Z'),
    recipient text not null check (recipient ~ '\A[^\s@]+@[^\s@]+\Z'),
    data jsonb not null default '{}',
    created_at timestamptz not null default now(),
    attempts integer not null default 0,
    next_attempt_at timestamptz not null default now(),
    claimed_until timestamptz,
    sent_at timestamptz,
    failed_at timestamptz,
    last_error text
);
alter table private.outbox enable row level security;
create index outbox_due_idx on private.outbox (next_attempt_at) where sent_at is null and failed_at is null;
comment on table private.outbox is 'Mail to send. data holds what the template prints (username, title, body, amount as text, link).';
