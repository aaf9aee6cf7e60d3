-- The check before each request: PostgREST calls it as its pre-request function, functions and storage call it in
-- their transactions. It has a schema of its own because the calling role needs USAGE there. It queries the current
-- state, so that a sign-out, a block, a new second factor or a deactivation takes effect with the next request.
-- Rules: specification S12.3, S12.5 and S15.2, decision D24.

create function pre_request.check_request() returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_role text := pg_catalog.current_setting('role', true);
    v_claims jsonb;
begin
    if v_role = 'service_role' then
        return;
    end if;
    perform private.require_exact_count();
    if v_role = 'anon' then
        perform private.check_anonymous_request(pg_catalog.current_setting('request.path', true));
        return;
    end if;
    v_claims := nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::jsonb;
    -- PostgREST accepts a token without an audience.
    if v_claims -> 'aud' is null or not (v_claims -> 'aud' ? 'authenticated') then
        perform private.raise_error(401, 'invalid_token', 'Your sign-in is not valid here. Sign in again.');
    end if;
    if v_role = 'authenticated' then
        perform private.check_member_session(v_claims);
    elsif v_role = 'platform_admin' then
        perform private.check_administrator_session(v_claims);
    else
        perform private.raise_error(403, 'forbidden', 'You are not allowed to do this.');
    end if;
    if session_user = 'authenticator' then
        perform private.take_place(v_claims ->> 'sub');
        perform private.limit_read();
    end if;
-- A lock on what it reads, such as a migration's: PostgREST has a 500 for it, with the database's words.
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function pre_request.check_request() is
'Raises for what anonymous clients may not call (401 42501), ended sessions (401 session_ended), blocked members (403 account_suspended, account_disabled), a missing second factor (403 aal2_required), tokens without audience (401 invalid_token), the planner''s counts (400 invalid_input) and, of PostgREST, a fourth request of a person while three are under way (429 too_many_requests), and while it waits in vain for a lock (503 try_again). A blocked member may still call rpc/get_my_account_status.';
grant execute on function pre_request.check_request() to anon, authenticated, platform_admin, service_role;

-- Grants to role anon as paths of PostgREST: read from the grants themselves, so that a table or function of a migration
-- is there with it. The gateway asks functions/edge for it, and knows the product's own functions by `make generate`.
create function private.open_to_anyone(p_path text default null) returns table (path text, methods text[])
language plpgsql stable set search_path = '' as $$
begin
    return query
    select '/rpc/' || p.proname, array['GET', 'HEAD', 'POST']
    from pg_catalog.pg_proc as p
    where p.pronamespace = 'public'::regnamespace
        and (p_path is null or p.proname = pg_catalog.substring(p_path, '\A/rpc/(.*)\Z'))
        and pg_catalog.has_function_privilege('anon', p.oid, 'execute');
    return query
    select '/' || c.relname, pg_catalog.array_agg(v.method)
    from pg_catalog.pg_class as c
    cross join (values
        ('GET', 'select'), ('HEAD', 'select'), ('POST', 'insert'), ('PUT', 'insert'), ('PATCH', 'update'), ('DELETE', 'delete')
    ) as v (method, privilege)
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
        and (p_path is null or c.relname = pg_catalog.substring(p_path, '\A/(.*)\Z'))
        and case
            when v.privilege = 'delete' then pg_catalog.has_table_privilege('anon', c.oid, 'delete')
            else pg_catalog.has_any_column_privilege('anon', c.oid, v.privilege)
        end
    group by c.relname;
end
$$;
comment on function private.open_to_anyone(text) is
'The functions, tables and views that role anon may use, each with the methods of HTTP for which it has a grant.';

create function edge.open_to_anyone() returns jsonb
language sql stable security definer set search_path = '' as $$
    select coalesce(pg_catalog.jsonb_object_agg(o.path, o.methods), '{}') from private.open_to_anyone() as o
$$;
comment on function edge.open_to_anyone() is 'Methods of HTTP by path of PostgREST: what role anon may use.';
grant execute on function edge.open_to_anyone() to edge_functions;

-- Grants are checked only after a statement is planned, and that can take seconds. The gateway rejects what has no
-- token or the public key; this is for any other token of role anon. Storage asks with paths of its own.
create function private.check_anonymous_request(p_path text) returns void
language plpgsql stable set search_path = '' as $$
begin
    if session_user = 'authenticator' and not exists (
        select from private.open_to_anyone(p_path) as o where pg_catalog.current_setting('request.method', true) = any (o.methods)
    ) then
        perform private.raise_error(401, '42501', 'permission denied for ' || coalesce(
            'function ' || pg_catalog.substring(p_path, '\A/rpc/(.*)\Z'), 'table ' || pg_catalog.ltrim(p_path, '/')
        ));
    end if;
end
$$;
comment on function private.check_anonymous_request(text) is
'The pre-request check of anonymous clients: only what role anon is granted. Errors: 42501.';

-- The planner counts the rows of everybody: its estimate with a filter on somebody else is what row-level security hides.
create function private.require_exact_count() returns void
language plpgsql stable set search_path = '' as $$
begin
    if nullif(pg_catalog.current_setting('request.headers', true), '')::jsonb ->> 'prefer' ~* 'count\s*=\s*"?(planned|estimated)' then
        perform private.raise_error(400, 'invalid_input', 'Rows are counted exactly here: ask for count=exact.');
    end if;
end
$$;
comment on function private.require_exact_count() is 'Raises when a person asks for the planner''s count. Errors: invalid_input.';

-- PostgREST has ten connections, and a person holds three of them at most. A fourth request waits behind one of the three
-- for a tenth of a second: of many short requests sent at once each has its turn, and of long ones no more than three are
-- under way. The place is free when the transaction ends.
create function private.take_place(p_person text) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_key constant integer := private.lock_key('place');
begin
    for v_try in 1..2 loop
        for v_place in 1..3 loop
            if pg_catalog.pg_try_advisory_xact_lock(v_key, pg_catalog.hashtext(p_person || v_place)) then
                return;
            end if;
        end loop;
        exit when v_try = 2;
        if private.wait_for_place(v_key, pg_catalog.hashtext(p_person || (1 + pg_catalog.pg_backend_pid() % 3))) then
            return;
        end if;
    end loop;
    perform private.raise_error(
        429, 'too_many_requests', 'Too many of your requests are under way. Try again in a moment.', null, '{"Retry-After": "1"}'
    );
end
$$;
comment on function private.take_place(text) is
'Takes one of the three places that a person has among the connections of PostgREST. Errors: too_many_requests.';

create function private.wait_for_place(p_key integer, p_place integer) returns boolean
language plpgsql volatile set search_path = '' set lock_timeout = '100ms' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(p_key, p_place);
    return true;
exception when lock_not_available then
    return false;
end
$$;
comment on function private.wait_for_place(integer, integer) is 'Waits for a place for a tenth of a second; whether it was taken.';

-- The statement that follows only reads: a person is looking at a screen.
create function private.limit_read() returns void
language plpgsql volatile set search_path = '' as $$
begin
    if pg_catalog.current_setting('transaction_read_only') = 'on' then
        perform pg_catalog.set_config('statement_timeout', '3s', true);
        perform pg_catalog.set_config('lock_timeout', '2s', true);
    end if;
end
$$;
comment on function private.limit_read() is 'Gives a transaction that only reads 3 s for each statement and 2 s for each lock.';

create function private.check_member_session(p_claims jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
    v_path text := pg_catalog.current_setting('request.path', true);
    v_found record;
begin
    select m.user_id, m.has_factor, m.is_aal2, p.account_status into v_found
    from private.member_session(p_claims) as m
    left join private.profiles as p on m.user_id = p.user_id;
    if v_found.user_id is null then
        perform private.raise_error(401, 'session_ended', 'Your session has ended. Sign in again.');
    end if;
    if v_path = '/rpc/get_my_account_status' then
        return;
    end if;
    if v_found.account_status in ('suspended', 'disabled') then
        perform private.require_active_status(v_found.account_status);
    end if;
    if v_found.has_factor and not v_found.is_aal2 then
        -- As the auth service calls it where a session ends others.
        if v_path in ('/rpc/end_session', '/rpc/end_other_sessions') then
            perform private.raise_error(403, 'insufficient_aal', 'Enter the code from your authenticator app to end other sessions.');
        end if;
        perform private.raise_error(403, 'aal2_required', 'Enter the code from your authenticator app to continue.');
    end if;
end
$$;
comment on function private.check_member_session(jsonb) is
'The pre-request check of members. Errors: session_ended, account_suspended, account_disabled, aal2_required, insufficient_aal.';

create function private.check_administrator_session(p_claims jsonb) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
begin
    if not private.is_live_admin_session(p_claims) then
        perform private.raise_error(401, 'session_ended', 'Your session has ended. Sign in again.');
    end if;
    -- A read-only transaction cannot update it, and of two concurrent requests one is enough.
    if pg_catalog.current_setting('transaction_read_only') = 'off' then
        update private.admin_session_activity as a set last_seen_at = v_now
        where a.session_token = (
            select b.session_token from private.admin_session_activity as b
            where b.session_token = private.uuid_claim(p_claims, 'sid') and b.last_seen_at < v_now - interval '1 minute'
            for update skip locked
        );
    end if;
end
$$;
comment on function private.check_administrator_session(jsonb) is
'The pre-request check of administrators: active account, live session, at most 30 idle minutes and 8 hours. Errors: session_ended.';

create function pre_request.check_account(p_user_id uuid) returns void
language plpgsql stable security definer set search_path = '' as $$
declare
    v_status public.account_status;
begin
    select p.account_status into v_status from private.profiles as p where p.user_id = p_user_id;
    if v_status is null or v_status in ('suspended', 'disabled') then
        perform private.require_active_status(coalesce(v_status, 'disabled'));
    end if;
end
$$;
comment on function pre_request.check_account(uuid) is
'Asked by storage when a member''s signed URL is used: raises when the account is suspended, closed or deleted. Errors: account_suspended, account_disabled.';
grant execute on function pre_request.check_account(uuid) to service_role;

do $$ begin execute $set$alter role authenticator set pgrst.db_pre_request = 'pre_request.check_request'$set$; end $$;
notify pgrst, 'reload config';

create function public.get_my_account_status() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_status public.account_status;
begin
    select p.account_status into v_status from private.profiles as p where p.user_id = auth.uid();
    return pg_catalog.jsonb_build_object(
        'account_status', v_status,
        'message', case
            when v_status is null then 'Unable to verify account status. Please contact support.'
            when v_status = 'disabled' then 'Your account has been disabled. Please contact support for assistance.'
            when v_status = 'suspended' then 'Your account has been suspended. Please contact support for assistance.'
        end,
        'code', case
            when v_status is null then 'account_unknown'
            when v_status = 'disabled' then 'account_disabled'
            when v_status = 'suspended' then 'account_suspended'
        end
    );
end
$$;
comment on function public.get_my_account_status() is
'The caller''s account status, with a message when it is blocked. The only call open to a blocked member.';
grant execute on function public.get_my_account_status() to authenticated;
