-- A client is an IPv4 address or a /64 of IPv6 for every limit, and a /48 has ten times as much.

SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION edge.admin_sign_in_way (
  p_email   text,
  p_address text
)
  RETURNS text
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_account text := pg_catalog.left(pg_catalog.lower(p_email), 255);
    v_known text := private.known_admin_address(p_email, p_address);
begin
    if v_known is not null then
        return case when private.count_sign_in_failures('admin_known', v_known) < 10 then 'password' else 'closed' end;
    elsif exists (
        select from private.networks_of(p_address) as n where private.count_sign_in_failures('admin_address', n.network) >= 20 * n.allowance
    ) then
        return 'closed';
    elsif private.count_sign_in_failures('admin_account', v_account) < 10 then
        return 'password';
    elsif private.count_sign_in_failures('admin_code', v_account) < 10 then
        return 'second_factor';
    end if;
    return 'closed';
end
$function$;

CREATE OR REPLACE FUNCTION edge.lock_login_attempt (
  p_email   text,
  p_address text
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('login_to_account'), pg_catalog.hashtext(pg_catalog.lower(p_email)));
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('login_from_address'), pg_catalog.hashtext(private.network_of(p_address)));
end
$function$;

CREATE OR REPLACE FUNCTION edge.record_admin_sign_in (
  p_email      text,
  p_address    text,
  p_ok         boolean,
  p_user_agent text    DEFAULT NULL::text
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_account text := pg_catalog.left(pg_catalog.lower(p_email), 255);
    v_known text := private.known_admin_address(p_email, p_address);
    v_admin_id uuid;
begin
    if not p_ok then
        insert into private.sign_in_failures (kind, key, at)
        select f.kind, f.key, pg_catalog.clock_timestamp()
        from (
            select 'admin_address', n.network from private.networks_of(p_address) as n
            union all
            values (case when v_known is null then 'admin_account' else 'admin_known' end, coalesce(v_known, v_account))
        ) as f (kind, key)
        -- A full count ends 15 minutes after what filled it, whatever else is tried.
        where f.kind = 'admin_address' or private.count_sign_in_failures(f.kind, f.key) < 10;
        return;
    end if;
    delete from private.sign_in_failures as f
    where (v_known is null and f.kind in ('admin_account', 'admin_code') and f.key = v_account) or (f.kind = 'admin_known' and f.key = v_known);
    update private.admin_users as a set last_login = pg_catalog.clock_timestamp()
    where a.email = pg_catalog.lower(p_email) returning a.id into v_admin_id;
    perform private.audit(
        'admin:' || v_admin_id, 'admin.signed_in', 'admin_user', v_admin_id,
        pg_catalog.jsonb_build_object('address', p_address, 'user_agent', pg_catalog.left(p_user_agent, 400))
    );
end
$function$;

CREATE OR REPLACE FUNCTION edge.record_wrong_admin_code (
  p_email   text,
  p_address text
)
  RETURNS void
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    insert into private.sign_in_failures (kind, key, at)
    select 'admin_code', pg_catalog.left(pg_catalog.lower(p_email), 255), pg_catalog.clock_timestamp()
    union all
    select 'admin_address', n.network, pg_catalog.clock_timestamp() from private.networks_of(p_address) as n
$function$;

CREATE OR REPLACE FUNCTION private.consume_client_limit (
  p_bucket text,
  p_max    integer,
  p_window interval
)
  RETURNS boolean
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
    select pg_catalog.bool_and(private.consume_rate_limit(p_bucket, n.network, p_max * n.allowance, p_window))
    from private.networks_of(private.client_address()) as n
$function$;

CREATE OR REPLACE FUNCTION private.network_of (
  p_address text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
    -- An address of a local network may name its interface.
    v_text constant text := pg_catalog.regexp_replace(p_address, '^([^%]*:[^%]*)%[^%/]+$', '\1');
    v_address inet;
begin
    if v_text not like '%/%' then
        v_address := v_text::inet;
    end if;
    if v_address operator(pg_catalog.<<=) inet '::ffff:0:0/96' then
        return pg_catalog.regexp_replace(pg_catalog.host(v_address), '^.*:', '');
    elsif pg_catalog.family(v_address) = 6 then
        return pg_catalog.network(pg_catalog.set_masklen(v_address, 64))::text;
    elsif pg_catalog.host(v_address) = v_text then
        return v_text;
    end if;
    return 'unknown';
exception when invalid_text_representation then
    return 'unknown';
end
$function$;

CREATE OR REPLACE FUNCTION private.networks_of (
  p_address text
)
  RETURNS TABLE (
    network   text,
    allowance integer
  )
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    with client as (select private.network_of(p_address) as network)
    select c.network, 1 from client as c
    union all
    select pg_catalog.network(pg_catalog.set_masklen(c.network::inet, 48))::text, 10 from client as c where c.network like '%/64'
$function$;

CREATE OR REPLACE FUNCTION public.get_sponsor (
  p_referral_code text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member jsonb;
begin
    if not private.consume_client_limit('sponsor', private.operator_limit('referrer_limit', 60), interval '5 minutes') then
        perform private.raise_error(429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.');
    end if;
    select pg_catalog.jsonb_build_object('id', p.id, 'username', p.username, 'display_name', p.display_name) into v_member
    from private.profiles as p
    where p.account_status <> 'disabled'
        and p.id = coalesce(
            (private.referrer_by_code(pg_catalog.btrim(p_referral_code))).id,
            (select q.id from private.profiles as q where pg_catalog.lower(q.username) = pg_catalog.lower(pg_catalog.btrim(p_referral_code)))
        );
    if not private.wants_one_object() then
        return case when v_member is null then '[]'::pg_catalog.jsonb else pg_catalog.jsonb_build_array(v_member) end;
    end if;
    if v_member is null then
        perform pg_catalog.set_config('response.status', '406', true);
        return '{"code": "PGRST116", "details": "The result contains 0 rows", "hint": null, "message": "JSON object requested, multiple (or no) rows returned"}'::pg_catalog.jsonb;
    end if;
    return v_member;
end
$function$;

CREATE OR REPLACE FUNCTION public.is_username_available (
  p_username text
)
  RETURNS boolean
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    if not private.consume_client_limit('username', private.operator_limit('username_limit', 30), interval '5 minutes') then
        perform private.raise_error(429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.');
    end if;
    return private.username_error(p_username) is null
        and not private.username_taken(p_username, (select p.email from private.profiles as p where p.user_id = auth.uid()));
end
$function$;

COMMENT ON FUNCTION "private"."consume_client_limit"(text, integer, interval) IS 'Counts one hit of the client of this request; false when its network, or the wider one around it, has used up its limit in this window.';

COMMENT ON FUNCTION "private"."network_of"(text) IS 'What one client can hold of addresses, by which all limits count: an IPv4 address, the /64 of an IPv6 address; unknown of anything else.';

COMMENT ON FUNCTION "private"."networks_of"(text) IS 'The networks that a client counts in, its own first, then the /48 of IPv6, which one customer may hold; allowance says how many times a limit each may use.';

REVOKE ALL ON FUNCTION "private"."consume_client_limit"(text, integer, interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."consume_client_limit"(text, integer, interval) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."consume_client_limit"(text, integer, interval) TO "postgres";

REVOKE ALL ON FUNCTION "private"."network_of"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."network_of"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."network_of"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."networks_of"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."networks_of"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."networks_of"(text) TO "postgres";
