-- The log is counted to ten thousand for each page: along an index, without its rows.
SET local check_function_bodies = off;

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."audit_page"(text, text, uuid, integer, integer);

CREATE OR REPLACE FUNCTION private.audit_conditions (
  p_actor  text,
  p_action text,
  p_object uuid
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return pg_catalog.concat(
        ' and a.actor = ' || pg_catalog.quote_literal(p_actor),
        case when p_action is not null then pg_catalog.format(
            -- An index range that contains the action and, for the part before a dot, all actions of that group.
            ' and a.action collate "C" between %1$L and %2$L and (a.action = %1$L or pg_catalog.starts_with(a.action, %3$L))',
            p_action, p_action || '/', p_action || '.'
        ) end,
        ' and a.object_id = ' || pg_catalog.quote_literal(p_object)
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.list_audit (
  p_filters jsonb DEFAULT '{}'::jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin();
    v_page integer := least(greatest(coalesce((p_filters ->> 'page')::integer, 1), 1), 100000);
    v_size integer := least(greatest(coalesce((p_filters ->> 'pageSize')::integer, 50), 1), 500);
    v_actor text := case
        when v_admin.role = 'support_admin' then 'admin:' || v_admin.id
        else 'admin:' || nullif(p_filters ->> 'adminId', '')
    end;
    v_action text := nullif(pg_catalog.btrim(p_filters ->> 'action'), '');
    v_object uuid := nullif(p_filters ->> 'objectId', '')::uuid;
    v_from text := 'from private.audit_log as a where true' || private.audit_conditions(v_actor, v_action, v_object);
    v_total bigint;
    v_entries jsonb;
begin
    -- Of what is only counted no row is read.
    execute pg_catalog.format('select count(*) from (select a.id %s limit 10001) as c', v_from) into v_total;
    execute pg_catalog.format(
        $query$
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'seq', e.id, 'at', e.at, 'actor', e.actor, 'actor_name', private.actor_name(e.actor), 'action', e.action,
                'object_type', e.object_type, 'object_id', e.object_id, 'payload', e.payload
            ) order by e.id desc
        )
        from (select a.* %s order by a.id desc limit $1 offset $2) as e
        $query$, v_from
    ) into v_entries using v_size, (v_page - 1) * v_size;
    return pg_catalog.jsonb_build_object(
        'entries', coalesce(v_entries, '[]'),
        'total', least(v_total, 10000)
    ) || case when v_total > 10000 then '{"more": true}' else '{}' end::jsonb;
end
$function$;

COMMENT ON FUNCTION "private"."audit_conditions"(text, text, uuid) IS 'The conditions on rows of the audit log, as SQL; a null asks for all.';

REVOKE ALL ON FUNCTION "private"."audit_conditions"(text, text, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_conditions"(text, text, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_conditions"(text, text, uuid) TO "postgres";
