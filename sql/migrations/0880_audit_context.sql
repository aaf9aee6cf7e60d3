-- Who acted may hold another role tomorrow, and what was logged of a request is found by its number. From here on each
-- row of the trail keeps both in its payload, which the chain covers: `actor_role`, an administrator's role at the time,
-- and `request_id`, the x-request-id under which the services logged the request. Rows written before stay as they are.

create or replace function private.audit(p_actor text, p_action text, p_object_type text, p_object_id uuid, p_payload jsonb default '{}') returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.audit_log (seq, at, actor, action, object_type, object_id, payload, hash)
    values (
        0, private.clock(), p_actor, p_action, p_object_type, p_object_id,
        coalesce(p_payload, '{}') || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
            'actor_role', case
                when pg_catalog.starts_with(p_actor, 'admin:')
                    then (select a.role from private.admin_users as a where a.id = pg_catalog.substr(p_actor, 7)::uuid)
            end,
            -- What a client may choose is cut to the length that the services accept.
            'request_id', pg_catalog.left(nullif(pg_catalog.current_setting('request.headers', true), '')::jsonb ->> 'x-request-id', 64)
        )),
        ''
    );
end
$$;
comment on function private.audit(text, text, text, uuid, jsonb) is
'Writes one audit row, with the role of an administrator and the number of the request. Call it last in a transaction: it holds the audit lock until the end.';
