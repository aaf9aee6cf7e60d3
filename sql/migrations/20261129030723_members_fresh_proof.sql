-- A proof is what the token says and the rows of its session still do; the level of a session is its row's. Sessions end.
-- squawk-ignore-file ban-drop-function
SET local check_function_bodies = off;

DROP FUNCTION "private"."require_recent_sign_in"(text);

DROP FUNCTION "private"."signed_in_recently"();

CREATE OR REPLACE FUNCTION edge.start_closing (
  p_user_id   uuid,
  p_confirmed boolean
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform private.require_fresh_proof('close your account');
    if not exists (select from private.profiles as p where p.user_id = p_user_id) then
        perform private.raise_error(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    perform private.require_nothing_left(p_user_id, p_confirmed);
    return pg_catalog.jsonb_build_object('user_id', p_user_id);
end
$function$;

CREATE OR REPLACE FUNCTION edge.start_data_download (
  p_user_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles;
begin
    perform private.require_fresh_proof('download your data');
    select p.* into v_member from private.profiles as p where p.user_id = p_user_id;
    if v_member.id is null then
        perform private.raise_error(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    return private.note_data_download('member:' || p_user_id, v_member, 'A file with everything that is stored about your account was made for you.');
end
$function$;

CREATE OR REPLACE FUNCTION private.check_member_session (
  p_claims jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION private.entered_at (
  p_claims jsonb,
  p_method text
)
  RETURNS timestamp WITH time zone
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return pg_catalog.to_timestamp((pg_catalog.jsonb_path_query_first(
        p_claims, '$.amr[*] ? (@.method == $method && @.timestamp.type() == "number").timestamp', pg_catalog.jsonb_build_object('method', p_method)
    ))::double precision);
end
$function$;

CREATE OR REPLACE FUNCTION private.member_session (
  p_claims jsonb,
  OUT      user_id uuid,
  OUT      has_factor boolean,
  OUT      is_aal2 boolean,
  OUT      needs_password boolean,
  OUT      needs_code boolean
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
begin
    select
        s.user_id, f.has_factor, l.is_aal2,
        not (e.password or f.has_factor and f.is_proven),
        f.has_factor and not (l.is_aal2 and e.code)
    into member_session.user_id, member_session.has_factor, member_session.is_aal2, member_session.needs_password, member_session.needs_code
    from auth.sessions as s
    cross join lateral (select s.aal >= 'aal2' and coalesce(p_claims ->> 'aal' in ('aal2', 'aal3'), false) as is_aal2) as l
    cross join lateral (
        select
            count(*) > 0 as has_factor,
            -- updated_at is when it was verified: one that was begun can wait for its first code.
            coalesce(bool_or(f.id = s.factor_id and f.updated_at <= v_now - interval '24 hours'), false) as is_proven
        from auth.mfa_factors as f where f.user_id = s.user_id and f.status = 'verified'
    ) as f
    cross join lateral (
        select
            coalesce(bool_or(a.authentication_method = 'password'), false) as password,
            coalesce(bool_or(a.authentication_method = 'totp'), false) as code
        from auth.mfa_amr_claims as a
        where a.session_id = s.id
            and a.updated_at > v_now - interval '10 minutes' and a.updated_at <= v_now
            and private.entered_at(p_claims, a.authentication_method) > v_now - interval '10 minutes'
            and private.entered_at(p_claims, a.authentication_method) <= a.updated_at
    ) as e
    where s.id = private.uuid_claim(p_claims, 'session_id')
        and s.user_id = private.uuid_claim(p_claims, 'sub')
        and private.session_ends_at(s.created_at, s.refreshed_at, s.not_after) > v_now;
end
$function$;

CREATE OR REPLACE FUNCTION private.mfa_factors_notify_added()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform private.notify_security_change(new.user_id, 'factor_added', 'An authenticator was added to your account', 'factor');
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_fresh_proof (
  p_for text
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_session record := private.member_session(nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::jsonb);
begin
    if v_session.has_factor and v_session.needs_password then
        perform private.raise_error(
            403, 'reauthentication_needed', pg_catalog.format('Sign in again with your password and the code from your authenticator app to %s.', p_for)
        );
    elsif v_session.needs_code then
        perform private.raise_error(
            403, 'reauthentication_needed', pg_catalog.format('Enter the code from your authenticator app again to %s.', p_for)
        );
    elsif v_session.needs_password is distinct from false then
        perform private.raise_error(403, 'reauthentication_needed', pg_catalog.format('Sign in again to %s.', p_for));
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.session_ends_at (
  p_created_at   timestamp with time zone,
  p_refreshed_at timestamp without time zone,
  p_not_after    timestamp with time zone
)
  RETURNS timestamp WITH time zone
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    -- supabase/services/auth.env tells the auth service the same. The last refresh is stored in UTC, without saying so.
    return least(
        p_not_after, p_created_at + interval '4320 hours', greatest(p_created_at, p_refreshed_at at time zone 'UTC') + interval '720 hours'
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.validate_wallet (
  p_wallet text,
  p_member private.profiles
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_wallet text := pg_catalog.btrim(p_wallet);
begin
    if coalesce(v_wallet, '') = '' then
        perform private.raise_error(400, 'wallet_required', 'Wallet address required');
    end if;
    if pg_catalog.length(v_wallet) > 128 or not private.is_readable(v_wallet) then
        perform private.raise_error(400, 'invalid_wallet', 'This is not a wallet address. Check it and try again.');
    end if;
    if private.setting('wallet.strict') = 'true' and not private.is_trc20_address(v_wallet) then
        perform private.raise_error(422, 'invalid_wallet', 'This is not a TRC20 address. Check it character by character.');
    end if;
    if (p_member).trc20_wallet_address <> v_wallet then
        perform private.require_fresh_proof('change your wallet address');
    end if;
    return v_wallet;
end
$function$;

CREATE OR REPLACE FUNCTION public.get_my_sessions()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
    v_current uuid := private.uuid_claim(auth.jwt(), 'session_id');
begin
    return (
        select coalesce(
            pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object(
                    'id', o.id, 'user_agent', o.user_agent, 'created_at', o.created_at, 'last_used_at', o.last_used_at, 'ends_at', o.ends_at,
                    'is_current', o.is_current
                ) order by o.is_current desc, o.last_used_at desc, o.id
            ), '[]'
        )
        from (
            select
                s.id, s.user_agent, s.created_at, s.id = v_current as is_current,
                -- Stored in UTC, without saying so.
                greatest(s.created_at, s.refreshed_at at time zone 'UTC') as last_used_at,
                private.session_ends_at(s.created_at, s.refreshed_at, s.not_after) as ends_at
            from auth.sessions as s
            where s.user_id = v_user_id
                and private.session_ends_at(s.created_at, s.refreshed_at, s.not_after) > pg_catalog.clock_timestamp()
            order by is_current desc, last_used_at desc, s.id
            limit 50
        ) as o
    );
end
$function$;

COMMENT ON FUNCTION "private"."check_member_session"(jsonb) IS 'The pre-request check of members. Errors: session_ended, account_suspended, account_disabled, aal2_required, insufficient_aal.';

COMMENT ON FUNCTION "private"."entered_at"(jsonb, text) IS 'When a member''s token says that a password or code was entered, in whole seconds; null when it does not.';

COMMENT ON FUNCTION "private"."member_session"(jsonb) IS 'The session of a member''s token, as far as token and rows agree: whether the account has a second factor and the session showed it, and which entry of the last ten minutes a fresh proof lacks: without a factor the password, with one its code, in the first 24 hours of a factor both. All null when the session has ended.';

COMMENT ON FUNCTION "private"."require_fresh_proof"(text) IS 'Raises unless private.member_session() lacks nothing. Errors: reauthentication_needed.';

COMMENT ON FUNCTION "private"."session_ends_at"(timestamp with time zone, timestamp without time zone, timestamp with time zone) IS 'When a member''s session ends: 30 days after its last refresh, 180 days after the sign-in at the latest.';

COMMENT ON FUNCTION "private"."validate_wallet"(text, private.profiles) IS 'Validates a member''s new wallet. Replacing one needs a fresh proof. Errors: wallet_required, invalid_wallet, reauthentication_needed.';

COMMENT ON FUNCTION "public"."get_my_sessions"() IS 'The caller''s sessions, the current one first, then the 50 used last: device as the browser names itself, sign-in, last refresh, end when it is not used again.';

REVOKE ALL ON FUNCTION "private"."entered_at"(jsonb, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."entered_at"(jsonb, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."entered_at"(jsonb, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."member_session"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."member_session"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."member_session"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_fresh_proof"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_fresh_proof"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_fresh_proof"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."session_ends_at"(timestamp WITH time zone, timestamp WITHOUT time zone, timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."session_ends_at"(timestamp WITH time zone, timestamp WITHOUT time zone, timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."session_ends_at"(timestamp WITH time zone, timestamp WITHOUT time zone, timestamp WITH time zone) TO "postgres";
