-- Administrators have accounts separate from members. A session token names a row and is no credential: the signed
-- access token is valid only while the row exists. public.admin_sessions has exactly the three columns that the panel
-- reads; everything else about a session is private.
--
-- PostgREST verifies members' and administrators' tokens with one set of keys and does not say which key signed. So an
-- administrator's token also holds a secret of its own (`jti`), which functions/edge draws at the sign-in and sends here
-- as a hash. Who has the members' key, the rows of this database, or a login that may become platform_admin still lacks
-- the secret, and neither a token nor claims made without it are a session.
-- Roles and proofs: specification S14, decision D24 and D25.

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
    revision bigint not null default 1,
    constraint admin_users_email_key unique (email),
    constraint totp_secret_has_key_id check ((totp_secret is null) = (totp_key_id is null)),
    constraint totp_confirmed_has_secret check (totp_confirmed_at is null or totp_secret is not null)
);
comment on table private.admin_users is 'Administrators. totp_secret is encrypted before it reaches SQL.';
comment on column private.admin_users.revision is
'Number of changes of email, role, activity, password or second step, whoever made them. The entries of the audit log say it.';
alter table private.admin_users enable row level security;

create trigger _200_count_revision before update on private.admin_users for each row
when (
    old.email is distinct from new.email
    or old.role is distinct from new.role
    or old.is_active is distinct from new.is_active
    or old.password_hash is distinct from new.password_hash
    or old.totp_confirmed_at is distinct from new.totp_confirmed_at
    or (new.totp_confirmed_at is not null and old.totp_secret is distinct from new.totp_secret)
    or old.revision is distinct from new.revision
) execute function private.count_revision();

-- The digests of a password's hash and of an encrypted secret verify nothing. A secret that waits for its first code
-- decides nothing.
create function private.administrator_state(p_admin private.admin_users) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'email', (p_admin).email, 'role', (p_admin).role, 'is_active', (p_admin).is_active,
        'password', private.digest_text((p_admin).password_hash),
        'two_step', private.digest_text(
            private.utc_text((p_admin).totp_confirmed_at) || ' ' || (p_admin).totp_key_id || ' ' || pg_catalog.encode((p_admin).totp_secret, 'hex')
        )
    )
$$;
comment on function private.administrator_state(private.admin_users) is 'What the audit log must say of an administrator.';

create function private.administrator_entry(p_admin_id uuid, p_changed text[] default null) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select private.state_entry(a.id, a.revision, private.administrator_state(a), p_changed) from private.admin_users as a where a.id = p_admin_id
    );
end
$$;
comment on function private.administrator_entry(uuid, text[]) is
'For the payload of an entry: the state of an administrator after a change of these parts (null: of a new one).';

create table public.admin_sessions (
    session_token uuid primary key default gen_random_uuid(),
    admin_id uuid not null references private.admin_users (id) on delete cascade,
    expires_at timestamptz not null
);
comment on table public.admin_sessions is 'Active administrator sessions. The token names the row; it is no credential.';
alter table public.admin_sessions enable row level security;
create index admin_sessions_admin_id_idx on public.admin_sessions (admin_id);

-- Only the session of this request, not another session of the same administrator.
create policy select_own on public.admin_sessions for select to platform_admin
using (admin_id = (select auth.uid()) and session_token::text = ((select auth.jwt()) ->> 'sid'));
create policy delete_own on public.admin_sessions for delete to platform_admin
using (admin_id = (select auth.uid()) and session_token::text = ((select auth.jwt()) ->> 'sid'));
grant select, delete on public.admin_sessions to platform_admin;

create table private.admin_session_activity (
    session_token uuid primary key references public.admin_sessions (session_token) on delete cascade,
    started_at timestamptz not null default now(),
    last_seen_at timestamptz not null default now(),
    address text,
    user_agent text,
    jti_hash bytea not null constraint jti_hash_is_sha256 check (length(jti_hash) = 32)
);
comment on table private.admin_session_activity is 'Start and last use of an administrator session; it ends after 30 idle minutes.';
alter table private.admin_session_activity enable row level security;

create table private.known_admin_addresses (
    admin_id uuid not null references private.admin_users (id) on delete cascade,
    address_hash text not null,
    seen_at timestamptz not null,
    primary key (admin_id, address_hash)
);
comment on table private.known_admin_addresses is 'From where an administrator signed in, as hashes; for 90 days.';
alter table private.known_admin_addresses enable row level security;
-- The purge.
create index known_admin_addresses_seen_at_idx on private.known_admin_addresses (seen_at);

-- With real money, require TOTP of finance and super administrators. require_admin() checks it together with the
-- role; where functions/edge passes the caller's id, or every role may act, check it separately. An attacker with
-- only the password then cannot reveal an MT5 password, create an account or disable a member. Signing in, reading
-- and enrolling in TOTP stay open without it.
create function private.require_totp(p_admin private.admin_users) returns void
language plpgsql stable set search_path = '' as $$
begin
    if (p_admin).role <> 'support_admin' and (p_admin).totp_confirmed_at is null and not private.is_demo() then
        perform private.raise_error(403, 'two_step_required', 'Your role needs two-step sign-in. Set it up in your settings first.');
    end if;
end
$$;
comment on function private.require_totp(private.admin_users) is
'With real money, raises unless a finance or super administrator has TOTP. Errors: two_step_required.';

create function private.is_live_admin_session(p_claims jsonb) returns boolean
language plpgsql stable set search_path = '' as $$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    -- Once, and not for each row and condition.
    v_session_token uuid := private.uuid_claim(p_claims, 'sid');
    v_admin_id uuid := private.uuid_claim(p_claims, 'sub');
begin
    return exists (
        select 1
        from public.admin_sessions as s
        inner join private.admin_users as u on u.id = s.admin_id and u.is_active
        inner join private.admin_session_activity as a on a.session_token = s.session_token
        where s.session_token = v_session_token and s.admin_id = v_admin_id
            and a.jti_hash = pg_catalog.sha256(pg_catalog.convert_to(p_claims ->> 'jti', 'UTF8'))
            and s.expires_at > v_now and a.started_at > v_now - interval '8 hours' and a.last_seen_at > v_now - interval '30 minutes'
    );
end
$$;
comment on function private.is_live_admin_session(jsonb) is
'Whether these claims are of an active administrator''s live session: its secret, at most 30 idle minutes and 8 hours.';

create function private.require_admin(p_roles public.admin_role[] default null) returns private.admin_users
language plpgsql stable set search_path = '' as $$
declare
    v_admin private.admin_users;
begin
    if private.my_role() is distinct from 'platform_admin' then
        perform private.raise_error(403, 'forbidden', 'Only administrators can do this.');
    end if;
    -- The session itself, not only the role: whoever may take the role could write any claims.
    select * into v_admin from private.admin_users as a where a.id = auth.uid() and private.is_live_admin_session(auth.jwt());
    if not found then
        perform private.raise_error(401, 'session_ended', 'Your session has ended. Sign in again.');
    end if;
    if p_roles is not null and v_admin.role <> all(p_roles) then
        perform private.raise_error(403, 'forbidden', pg_catalog.format('A %s cannot do this.', pg_catalog.replace(v_admin.role::text, '_', ' ')));
    end if;
    if p_roles is not null then
        perform private.require_totp(v_admin);
    end if;
    return v_admin;
end
$$;
comment on function private.require_admin(public.admin_role[]) is
'The calling administrator in a live session, read from the tables; with p_roles, only those roles. Errors: forbidden, session_ended, two_step_required.';

create function private.require_super_admin(p_admin_id uuid) returns private.admin_users
language plpgsql stable set search_path = '' as $$
declare
    v_admin private.admin_users;
begin
    select * into v_admin from private.admin_users as a where a.id = p_admin_id and a.is_active;
    if v_admin.role is distinct from 'super_admin' then
        perform private.raise_error(403, 'forbidden', 'Only a super admin can do this.');
    end if;
    perform private.require_totp(v_admin);
    return v_admin;
end
$$;
comment on function private.require_super_admin(uuid) is 'The super_admin with this id. Errors: forbidden, two_step_required.';

-- A stolen token lasts eight hours. So what hands out, replaces or removes a credential, or decides where money and data
-- go, needs the person: a sign-in less than ten minutes old, which took password and, where it is set up, code. Its
-- time is the session's start: signing in again begins another session.
create function private.require_fresh_admin_proof(p_for text) returns void
language plpgsql stable set search_path = '' as $$
begin
    if exists (
        select 1 from private.alarms as a
        where a.kind = 'ledger_violation' and a.object = 'I49 ' || auth.uid() and a.ended_at is null and a.acknowledged_at is null
    ) then
        perform private.raise_error(409, 'ledger_alarm', 'You can change this only once your account is again what the audit log says. Another super admin sets it right.');
    end if;
    if not private.is_live_admin_session(auth.jwt()) or not exists (
        select 1 from private.admin_session_activity as a
        where a.session_token = private.uuid_claim(auth.jwt(), 'sid') and private.is_recent(a.started_at, interval '10 minutes')
    ) then
        perform private.raise_error(403, 'reauthentication_needed', pg_catalog.format('Sign in again to %s: your last sign-in is more than ten minutes old.', p_for));
    end if;
end
$$;
comment on function private.require_fresh_admin_proof(text) is
'Raises unless the administrator''s session of this request began less than ten minutes ago; p_for ends "Sign in again to"; also while a check finds the account changed past the product. Errors: ledger_alarm, reauthentication_needed.';

create function public.touch_admin_session() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_session uuid := (auth.jwt() ->> 'sid')::uuid;
begin
    update private.admin_session_activity as a set last_seen_at = pg_catalog.clock_timestamp()
    where a.session_token = v_session and a.last_seen_at < pg_catalog.clock_timestamp() - interval '1 minute';
    return (
        select pg_catalog.jsonb_build_object('success', true, 'admin_id', v_admin.id, 'expires_at', s.expires_at)
        from public.admin_sessions as s where s.session_token = v_session
    );
end
$$;
comment on function public.touch_admin_session() is
'Extends the administrator''s session. Sent while the person is active. Errors: forbidden, session_ended.';
grant execute on function public.touch_admin_session() to platform_admin;

create function jobs.expire_admin_sessions() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_rows integer;
begin
    delete from public.admin_sessions as s
    where s.expires_at <= pg_catalog.clock_timestamp()
        or exists (
            select 1 from private.admin_session_activity as a
            where a.session_token = s.session_token and a.last_seen_at < pg_catalog.clock_timestamp() - interval '30 minutes'
        );
    get diagnostics v_rows = row_count;
    return v_rows;
end
$$;
comment on function jobs.expire_admin_sessions() is 'Deletes expired and idle administrator sessions; returns how many.';
grant execute on function jobs.expire_admin_sessions() to worker;

-- Sign-in of administrators for functions/edge. Only role edge_functions may execute these.

create function edge.admin_by_email(p_email text) returns setof private.admin_users
language sql stable security definer set search_path = '' as $$
    select * from private.admin_users as a where a.email = pg_catalog.lower(p_email)
$$;
comment on function edge.admin_by_email(text) is
'The account with this e-mail, with password hash and encrypted TOTP secret; no row when unknown.';
grant execute on function edge.admin_by_email(text) to edge_functions;

create function edge.admin_by_id(p_admin_id uuid) returns setof private.admin_users
language sql stable security definer set search_path = '' as $$
    select * from private.admin_users as a where a.id = p_admin_id
$$;
comment on function edge.admin_by_id(uuid) is 'The account with this id, with password hash and encrypted TOTP secret.';
grant execute on function edge.admin_by_id(uuid) to edge_functions;

-- A mistyped email may be a password, so an unknown one is not stored. More than these in an hour say nothing new: a
-- spray from many addresses must not fill the audit log.
create function edge.audit_failed_admin_sign_in(p_email text, p_address text, p_user_agent text, p_wrong text) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users;
begin
    select * into v_admin from private.admin_users as a where a.email = pg_catalog.lower(p_email);
    if private.consume_rate_limit(
        'admin_failures_audited', coalesce(v_admin.id::text, 'unknown'), case when v_admin.id is null then 60 else 30 end, interval '1 hour'
    ) then
        perform private.audit(
            'system', 'admin.sign_in_failed', 'admin_user', v_admin.id, pg_catalog.jsonb_build_object(
                'account', coalesce(v_admin.email, 'unknown'), 'wrong', p_wrong, 'address', p_address,
                'user_agent', pg_catalog.left(p_user_agent, 400)
            )
        );
    end if;
end
$$;
comment on function edge.audit_failed_admin_sign_in(text, text, text, text) is
'Audits a failed sign-in with its account, or with none where the email is unknown; p_wrong is password or code. In an hour at most 30 of an account and 60 of unknown emails.';
grant execute on function edge.audit_failed_admin_sign_in(text, text, text, text) to edge_functions;

create function edge.start_admin_session(
    p_admin_id uuid, p_address text, p_user_agent text, p_jti_hash bytea, p_replaces jsonb default null
)
returns table (session_token uuid, expires_at timestamptz)
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_session public.admin_sessions;
begin
    if not exists (select 1 from private.admin_users as a where a.id = p_admin_id and a.is_active) then
        perform private.raise_error(401, 'invalid_credentials', 'Authentication failed');
    end if;
    -- Only with its own secret, and never another account's.
    delete from public.admin_sessions as s
    where s.session_token = private.uuid_claim(p_replaces, 'sid') and s.admin_id = p_admin_id and private.is_live_admin_session(p_replaces);
    insert into public.admin_sessions (admin_id, expires_at)
    values (p_admin_id, pg_catalog.clock_timestamp() + interval '8 hours')
    returning * into v_session;
    insert into private.admin_session_activity (session_token, started_at, last_seen_at, address, user_agent, jti_hash)
    values (
        v_session.session_token, pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp(), p_address,
        pg_catalog.left(p_user_agent, 400), p_jti_hash
    );
    if p_address is not null then
        insert into private.known_admin_addresses (admin_id, address_hash, seen_at)
        values (p_admin_id, private.admin_address_hash(p_admin_id, p_address), pg_catalog.clock_timestamp())
        on conflict (admin_id, address_hash) do update set seen_at = excluded.seen_at;
    end if;
    return query select v_session.session_token, v_session.expires_at;
end
$$;
comment on function edge.start_admin_session(uuid, text, text, bytea, jsonb) is
'Starts an 8-hour session for an active administrator, whose address is known from then on; p_jti_hash is the SHA-256 of the secret in its token, p_replaces the claims of a session of the same account that ends with it. Errors: invalid_credentials.';
grant execute on function edge.start_admin_session(uuid, text, text, bytea, jsonb) to edge_functions;

create function edge.set_admin_password(p_admin_id uuid, p_hash text, p_keep_session uuid) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
    update private.admin_users as a set password_hash = p_hash, updated_at = pg_catalog.clock_timestamp() where a.id = p_admin_id;
    delete from public.admin_sessions as s where s.admin_id = p_admin_id and s.session_token is distinct from p_keep_session;
    perform private.audit(
        'admin:' || p_admin_id, 'admin.password_changed', 'admin_user', p_admin_id, private.administrator_entry(p_admin_id, array['password'])
    );
    perform private.mail_admin_change(p_admin_id, 'The password was changed.', p_admin_id);
end
$$;
comment on function edge.set_admin_password(uuid, text, uuid) is 'Stores a new Argon2id hash and ends the administrator''s other sessions.';
grant execute on function edge.set_admin_password(uuid, text, uuid) to edge_functions;

create function edge.set_totp_secret(p_admin_id uuid, p_key_id text, p_secret bytea) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.require_fresh_admin_proof('set up two-step sign-in');
    update private.admin_users as a set totp_key_id = p_key_id, totp_secret = p_secret, totp_last_step = null, updated_at = pg_catalog.clock_timestamp()
    where a.id = p_admin_id and a.totp_confirmed_at is null;
end
$$;
comment on function edge.set_totp_secret(uuid, text, bytea) is
'Stores an encrypted TOTP secret, which is active after its first valid code; never replaces a confirmed one. Errors: reauthentication_needed.';
grant execute on function edge.set_totp_secret(uuid, text, bytea) to edge_functions;

create function edge.confirm_totp(p_admin_id uuid) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.require_fresh_admin_proof('turn two-step sign-in on');
    update private.admin_users as a set totp_confirmed_at = pg_catalog.clock_timestamp()
    where a.id = p_admin_id and a.totp_secret is not null and a.totp_confirmed_at is null;
    if not found then
        return;
    end if;
    delete from public.admin_sessions as s
    where s.admin_id = p_admin_id and s.session_token is distinct from private.uuid_claim(auth.jwt(), 'sid');
    perform private.audit(
        'admin:' || p_admin_id, 'admin.two_step_on', 'admin_user', p_admin_id, private.administrator_entry(p_admin_id, array['two_step'])
    );
    perform private.mail_admin_change(p_admin_id, 'Two-step sign-in was turned on.', p_admin_id);
end
$$;
comment on function edge.confirm_totp(uuid) is
'Enables two-step sign-in and ends the administrator''s other sessions; nothing where it is on already. Errors: reauthentication_needed.';
grant execute on function edge.confirm_totp(uuid) to edge_functions;

create function edge.remove_totp(p_admin_id uuid) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
    if not private.is_demo() and (select a.role from private.admin_users as a where a.id = p_admin_id) <> 'support_admin' then
        perform private.raise_error(403, 'two_step_required', 'Your role needs two-step sign-in.');
    end if;
    perform private.require_fresh_admin_proof('turn two-step sign-in off');
    update private.admin_users as a set totp_key_id = null, totp_secret = null, totp_confirmed_at = null, totp_last_step = null
    where a.id = p_admin_id;
    perform private.audit(
        'admin:' || p_admin_id, 'admin.two_step_off', 'admin_user', p_admin_id, private.administrator_entry(p_admin_id, array['two_step'])
    );
    perform private.mail_admin_change(p_admin_id, 'Two-step sign-in was turned off.', p_admin_id);
end
$$;
comment on function edge.remove_totp(uuid) is
'Disables two-step sign-in; with real money only a support_admin may. Errors: two_step_required, reauthentication_needed.';
grant execute on function edge.remove_totp(uuid) to edge_functions;

create function edge.use_totp_step(p_admin_id uuid, p_step bigint) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
    update private.admin_users as a set totp_last_step = p_step
    where a.id = p_admin_id and (a.totp_last_step is null or a.totp_last_step < p_step);
    return found;
end
$$;
comment on function edge.use_totp_step(uuid, bigint) is 'Consumes a TOTP time step: true once, and never for an earlier step.';
grant execute on function edge.use_totp_step(uuid, bigint) to edge_functions;
