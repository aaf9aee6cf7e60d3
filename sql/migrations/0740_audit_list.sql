-- Reading the audit trail. Finance and super administrators read everything, support what it did itself. Exports
-- are noted in the trail before the first row leaves.

create function private.actor_name(p_actor text) returns text
language sql stable set search_path = '' as $$
    select case pg_catalog.split_part(p_actor, ':', 1)
        when 'admin' then (select coalesce(a.full_name, a.email) from private.admin_users as a where a.id::text = pg_catalog.split_part(p_actor, ':', 2))
        when 'member' then (select p.username from private.profiles as p where p.user_id::text = pg_catalog.split_part(p_actor, ':', 2))
        else p_actor
    end
$$;
comment on function private.actor_name(text) is 'Who an actor of the audit trail is, as a person reads it; null when the account is gone.';

create function private.audit_page(p_actor text, p_action text, p_object uuid, p_limit integer, p_offset integer)
returns setof private.audit_log
language sql stable set search_path = '' as $$
    select a.* from private.audit_log as a
    where (p_actor is null or a.actor = p_actor)
        and (p_action is null or a.action = p_action or pg_catalog.starts_with(a.action, p_action || '.'))
        and (p_object is null or a.object_id = p_object)
    order by a.seq desc
    limit p_limit offset p_offset
$$;
comment on function private.audit_page(text, text, uuid, integer, integer) is 'Rows of the trail, newest first.';

create function public.list_audit(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
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
    v_total bigint;
begin
    select count(*) into v_total from private.audit_page(v_actor, v_action, v_object, 10001, 0);
    return pg_catalog.jsonb_build_object(
        'entries', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'seq', a.seq, 'at', a.at, 'actor', a.actor, 'actor_name', private.actor_name(a.actor), 'action', a.action,
                        'object_type', a.object_type, 'object_id', a.object_id, 'payload', a.payload
                    ) order by a.seq desc
                ), '[]'
            )
            from private.audit_page(v_actor, v_action, v_object, v_size, (v_page - 1) * v_size) as a
        ),
        'total', least(v_total, 10000)
    ) || case when v_total > 10000 then '{"more": true}' else '{}' end::jsonb;
end
$$;
comment on function public.list_audit(jsonb) is
'The audit trail, newest first; filters page, pageSize, adminId, action (also the part before a dot), objectId. Support reads its own rows. Errors: forbidden, session_ended.';

create function public.note_export(p_list text, p_filters jsonb) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
begin
    if v_admin.role = 'support_admin' and p_list <> 'audit' then
        perform private.refuse(403, 'forbidden', 'A support admin can export the own actions only.');
    end if;
    perform private.audit('admin:' || v_admin.id, 'list.exported', null, null, pg_catalog.jsonb_build_object('list', p_list, 'filters', p_filters));
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.note_export(text, jsonb) is 'Asked before a list leaves as a file: who may, and a row of the trail. Errors: forbidden.';
grant execute on function public.list_audit(jsonb), public.note_export(text, jsonb) to platform_admin;
