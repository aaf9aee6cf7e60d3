-- Administrators have accounts of their own, apart from members. A session row's token is a public name and
-- grants nothing by itself: the signed access token counts only while the row stands. public.admin_sessions
-- has exactly the three columns the panel reads; what else is known of a session lies in private.

create table private.admin_users (
    id uuid primary key default gen_random_uuid(),
    email text not null check (email = lower(email) and email ~ '\A[^\s@]+@[^\s@]+\Z' and length(email) <= 255),
    full_name text check (length(full_name) between 1 and 120),
    role public.admin_role not null,
    is_active boolean not null default true,
    password_hash text not null check (password_hash like '$argon2id$%'),
    totp_key_id text,
    totp_secret bytea,
    totp_confirmed_at timestamptz,
    totp_last_step bigint,
    last_login timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint admin_users_email_key unique (email),
    constraint totp_secret_names_its_key check ((totp_secret is null) = (totp_key_id is null)),
    constraint totp_confirmed_has_secret check (totp_confirmed_at is null or totp_secret is not null)
);
alter table private.admin_users enable row level security;
comment on table private.admin_users is 'Administrators. totp_secret is encrypted before it reaches SQL.';

create table public.admin_sessions (
    session_token uuid primary key default gen_random_uuid(),
    admin_id uuid not null references private.admin_users (id) on delete cascade,
    expires_at timestamptz not null
);
alter table public.admin_sessions enable row level security;
create index admin_sessions_admin_id_idx on public.admin_sessions (admin_id);
comment on table public.admin_sessions is 'Live administrator sessions. The token is a public name of the row; it is no credential.';

create table private.admin_session_activity (
    session_token uuid primary key references public.admin_sessions (session_token) on delete cascade,
    started_at timestamptz not null default now(),
    last_seen_at timestamptz not null default now(),
    address text,
    user_agent text
);
alter table private.admin_session_activity enable row level security;
comment on table private.admin_session_activity is 'When an administrator session began and was last used; 30 minutes idle end it.';

create policy select_own on public.admin_sessions for select to platform_admin
using (admin_id = (select auth.uid()));
create policy delete_own on public.admin_sessions for delete to platform_admin
using (admin_id = (select auth.uid()) and session_token::text = (select auth.jwt() ->> 'sid'));
grant select, delete on public.admin_sessions to platform_admin;
