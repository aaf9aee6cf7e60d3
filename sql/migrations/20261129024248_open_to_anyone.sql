-- The public key reaches what role anon is granted, also in a migration of one's own: the list that the gateway kept by hand is read
-- from the grants.
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION edge.open_to_anyone()
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select coalesce(pg_catalog.jsonb_object_agg(o.path, o.methods), '{}') from private.open_to_anyone() as o
$function$;

CREATE OR REPLACE FUNCTION private.check_anonymous_request (
  p_path text
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    if session_user = 'authenticator' and not exists (
        select from private.open_to_anyone(p_path) as o where pg_catalog.current_setting('request.method', true) = any (o.methods)
    ) then
        perform private.raise_error(401, '42501', 'permission denied for ' || coalesce(
            'function ' || pg_catalog.substring(p_path, '\A/rpc/(.*)\Z'), 'table ' || pg_catalog.ltrim(p_path, '/')
        ));
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.open_to_anyone (
  p_path text DEFAULT NULL::text
)
  RETURNS TABLE (
    path    text,
    methods text[]
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
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
$function$;

COMMENT ON FUNCTION "edge"."open_to_anyone"() IS 'Methods of HTTP by path of PostgREST: what role anon may use.';

COMMENT ON FUNCTION "private"."check_anonymous_request"(text) IS 'The pre-request check of anonymous clients: only what role anon is granted. Errors: 42501.';

COMMENT ON FUNCTION "private"."open_to_anyone"(text) IS 'The functions, tables and views that role anon may use, each with the methods of HTTP for which it has a grant.';

REVOKE ALL ON FUNCTION "edge"."open_to_anyone"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "edge"."open_to_anyone"() TO "edge_functions";

REVOKE ALL ON FUNCTION "edge"."open_to_anyone"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "edge"."open_to_anyone"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."open_to_anyone"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."open_to_anyone"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."open_to_anyone"(text) TO "postgres";
