-- An administrator's token holds a secret of its own, of which the session has the hash, and functions of
-- administrators ask for the live session themselves: neither the members' signing key nor a login that may become
-- platform_admin is enough. Storage needs that role no more. Sessions from before have no secret: they end, and
-- administrators sign in again.

SET local check_function_bodies = off;

REVOKE platform_admin FROM supabase_storage_admin;

COMMENT ON ROLE platform_admin IS 'Role of a signed-in administrator, through PostgREST or functions. pre_request.check_request() checks that the session is still valid, and so does every function of administrators.';

DELETE FROM public.admin_sessions;

-- squawk-ignore ban-drop-function
DROP FUNCTION "edge"."start_admin_session"(uuid, text, text);

-- The table was emptied above.
ALTER TABLE "private"."admin_session_activity"
  -- squawk-ignore adding-required-field
  ADD COLUMN "jti_hash" bytea NOT NULL;

CREATE OR REPLACE FUNCTION edge.start_admin_session (
  p_admin_id   uuid,
  p_address    text,
  p_user_agent text,
  p_jti_hash   bytea
)
  RETURNS TABLE (
    session_token uuid,
    expires_at    timestamp with time zone
  )
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_session public.admin_sessions;
begin
    if not exists (select 1 from private.admin_users as a where a.id = p_admin_id and a.is_active) then
        perform private.raise_error(401, 'invalid_credentials', 'Authentication failed');
    end if;
    insert into public.admin_sessions (admin_id, expires_at)
    values (p_admin_id, pg_catalog.clock_timestamp() + interval '8 hours')
    returning * into v_session;
    insert into private.admin_session_activity (session_token, started_at, last_seen_at, address, user_agent, jti_hash)
    values (
        v_session.session_token, pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp(), p_address,
        pg_catalog.left(p_user_agent, 400), p_jti_hash
    );
    return query select v_session.session_token, v_session.expires_at;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_administrator_session (
  p_claims jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION private.is_live_admin_session (
  p_claims jsonb
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
begin
    return exists (
        select 1
        from public.admin_sessions as s
        inner join private.admin_users as u on u.id = s.admin_id and u.is_active
        inner join private.admin_session_activity as a on a.session_token = s.session_token
        where s.session_token = private.uuid_claim(p_claims, 'sid') and s.admin_id = private.uuid_claim(p_claims, 'sub')
            and a.jti_hash = pg_catalog.sha256(pg_catalog.convert_to(p_claims ->> 'jti', 'UTF8'))
            and s.expires_at > v_now and a.started_at > v_now - interval '8 hours' and a.last_seen_at > v_now - interval '30 minutes'
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.require_admin (
  p_roles public.admin_role[] DEFAULT NULL::public.admin_role[]
)
  RETURNS private.admin_users
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
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
$function$;

ALTER TABLE "private"."admin_session_activity"
  -- squawk-ignore constraint-missing-not-valid
  ADD CONSTRAINT "jti_hash_is_sha256" CHECK ((length(jti_hash) = 32));

COMMENT ON FUNCTION "edge"."start_admin_session"(uuid, text, text, bytea) IS 'Starts an 8-hour session for an active administrator; p_jti_hash is the SHA-256 of the secret in its token. Errors: invalid_credentials.';

COMMENT ON FUNCTION "private"."is_live_admin_session"(jsonb) IS 'Whether these claims are of an active administrator''s live session: its secret, at most 30 idle minutes and 8 hours.';

COMMENT ON FUNCTION "private"."require_admin"(public.admin_role[]) IS 'The calling administrator in a live session, read from the tables; with p_roles, only those roles. Errors: forbidden, session_ended, two_step_required.';

REVOKE ALL ON FUNCTION "edge"."start_admin_session"(uuid, text, text, bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "edge"."start_admin_session"(uuid, text, text, bytea) TO "edge_functions";

REVOKE ALL ON FUNCTION "edge"."start_admin_session"(uuid, text, text, bytea) FROM "postgres";

GRANT EXECUTE ON FUNCTION "edge"."start_admin_session"(uuid, text, text, bytea) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_live_admin_session"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_live_admin_session"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_live_admin_session"(jsonb) TO "postgres";
