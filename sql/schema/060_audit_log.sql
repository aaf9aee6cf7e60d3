-- The audit log: actions of administrators and the system, as a hash chain: each row's hash covers the row before it.
-- Insert only through private.audit(), whose trigger takes the audit lock last of all locks; without the lock nine
-- links in ten would be wrong under load. Rows are never updated, deleted or truncated, not even by the owner.

create table private.audit_log (
    seq bigint primary key,
    at timestamptz not null,
    actor text not null check (actor ~ '\A(admin|member|system|service)(:[0-9a-f-]{36})?\Z'),
    action text not null check (action ~ '\A[a-z][a-z0-9_.]{1,62}\Z'),
    object_type text,
    object_id uuid,
    payload jsonb not null default '{}',
    prev bytea,
    hash bytea not null
);
comment on table private.audit_log is 'Hash chain of audited actions. Append-only.';
alter table private.audit_log enable row level security;
create index audit_log_object_idx on private.audit_log (object_id, seq desc) where object_id is not null;
create index audit_log_actor_idx on private.audit_log (actor, seq desc);
create index audit_log_at_idx on private.audit_log (at);
-- Collate "C" (bytes): a group of actions is then one range of the index.
create index audit_log_action_idx on private.audit_log (action collate "C", seq desc);
create index audit_log_settings_idx on private.audit_log (seq) where action = 'setting.changed';
comment on index private.audit_log_settings_idx is 'Finds the last change of a setting, queried every minute.';

create function private.lock_audit_log() returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('audit_log'));
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_audit_log() is 'Takes the audit lock. Always the last lock: take none after it. Errors: try_again.';

create function private.audit_hash(p_prev bytea, p_row private.audit_log) returns bytea
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.sha256(
            coalesce(p_prev, ''::bytea) || pg_catalog.convert_to(
                pg_catalog.concat_ws(
                    '|', (p_row).seq, extract(epoch from (p_row).at), (p_row).actor, (p_row).action,
                    coalesce((p_row).object_type, ''), coalesce((p_row).object_id::text, ''), (p_row).payload::text
                ), 'UTF8'
            )
        )
    );
end
$$;
comment on function private.audit_hash(bytea, private.audit_log) is 'Hash of a row: covers the previous hash and every column.';

create function private.audit_log_set_hash() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_prev bytea;
    v_seq bigint;
begin
    perform private.lock_audit_log();
    select a.hash, a.seq into v_prev, v_seq from private.audit_log as a order by a.seq desc limit 1;
    new.seq := coalesce(v_seq, 0) + 1;
    new.prev := v_prev;
    new.hash := private.audit_hash(v_prev, new);
    return new;
end
$$;
comment on function private.audit_log_set_hash() is 'Trigger: sets number, previous hash and hash of a new row, under the audit lock.';

create trigger _100_set_hash before insert on private.audit_log for each row execute function private.audit_log_set_hash();
create trigger _100_reject_change before update on private.audit_log for each row execute function private.reject_change();
create trigger _100_reject_delete before delete or truncate on private.audit_log
for each statement execute function private.reject_change();

-- Store the administrator's role and the request id in the payload, which the chain covers, because roles change:
-- `actor_role` is the role at the time, `request_id` the x-request-id under which the services logged the request.
create function private.audit(p_actor text, p_action text, p_object_type text, p_object_id uuid, p_payload jsonb default '{}') returns void
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
            -- Truncate what a client may choose to the length that the services accept.
            'request_id', pg_catalog.left(nullif(pg_catalog.current_setting('request.headers', true), '')::jsonb ->> 'x-request-id', 64)
        )),
        ''
    );
end
$$;
comment on function private.audit(text, text, text, uuid, jsonb) is
'Writes one audit row, with the administrator''s role and the request id. Call it last in a transaction: it holds the audit lock until the end.';

-- Detect a truncated chain: whoever bypasses the triggers can delete the newest rows and leave a valid chain. So the
-- worker stores the chain head outside the database every hour (functions/worker/audit_heads.py) and passes its last
-- external anchor here; that row must still exist. The anchor is stored, so that every ledger check verifies it.
create function private.verify_audit_chain() returns setof bigint
language plpgsql stable set search_path = '' as $$
begin
    return query
    select a.seq
    from (
        select
            l.seq,
            l.hash,
            l.prev,
            pg_catalog.lag(l.hash) over w as before,
            pg_catalog.lag(l.seq) over w as seq_before,
            private.audit_hash(l.prev, l.*) as expected
        from private.audit_log as l
        window w as (order by l.seq)
    ) as a
    where a.hash <> a.expected or a.prev is distinct from a.before or a.seq <> coalesce(a.seq_before, 0) + 1
    union all
    select s.anchored_seq
    from private.ledger_check_state as s
    left join private.audit_log as l on s.anchored_seq = l.seq and s.anchored_hash = l.hash
    where s.anchored_seq is not null and l.seq is null;
end
$$;
comment on function private.verify_audit_chain() is
'Numbers of the audit rows at which the chain is broken, and of the externally anchored row when it is missing or different; none when the chain is intact.';

create function jobs.audit_head() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object('seq', l.seq, 'hash', pg_catalog.encode(l.hash, 'hex'))
        from private.audit_log as l order by l.seq desc limit 1
    );
end
$$;
comment on function jobs.audit_head() is 'Number and hash of the newest audit row; null when there is none.';
grant execute on function jobs.audit_head() to worker;

create function jobs.check_audit_anchor(p_seq bigint, p_hash text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
begin
    update private.ledger_check_state as s set anchored_seq = p_seq, anchored_hash = pg_catalog.decode(p_hash, 'hex');
    if p_seq is null or exists (
        select 1 from private.audit_log as l where l.seq = p_seq and l.hash = pg_catalog.decode(p_hash, 'hex')
    ) then
        return '{}'::jsonb;
    end if;
    return pg_catalog.jsonb_build_object('audit_row', p_seq);
end
$$;
comment on function jobs.check_audit_anchor(bigint, text) is
'Stores the worker''s last external anchor (null for none) for the ledger check. Returns {}, or the number of the anchored row when it is missing or different.';
grant execute on function jobs.check_audit_anchor(bigint, text) to worker;

-- Read the audit log. Finance and super administrators read everything, support administrators their own actions. An
-- export is audited before its first row is sent.

-- Compare the id as a uuid, so that its index is used.
create function private.actor_name(p_actor text) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_kind text := pg_catalog.split_part(p_actor, ':', 1);
    v_id uuid := nullif(pg_catalog.split_part(p_actor, ':', 2), '')::uuid;
begin
    return case v_kind
        when 'admin' then (select coalesce(a.full_name, a.email) from private.admin_users as a where a.id = v_id)
        when 'member' then (select p.username from private.profiles as p where p.user_id = v_id)
        else p_actor
    end;
end
$$;
comment on function private.actor_name(text) is 'Name of an actor of the audit log; null when the account is deleted.';

-- Each filter is an index range; combined with the order they stay selective.
create function private.audit_page(p_actor text, p_action text, p_object uuid, p_limit integer, p_offset integer)
returns setof private.audit_log
language plpgsql stable set search_path = '' as $$
begin
    return query execute pg_catalog.concat(
        'select a.* from private.audit_log as a where true',
        ' and a.actor = ' || pg_catalog.quote_literal(p_actor),
        case when p_action is not null then pg_catalog.format(
            -- An index range that contains the action and, for the part before a dot, all actions of that group.
            ' and a.action collate "C" between %1$L and %2$L and (a.action = %1$L or pg_catalog.starts_with(a.action, %3$L))',
            p_action, p_action || '/', p_action || '.'
        ) end,
        ' and a.object_id = ' || pg_catalog.quote_literal(p_object),
        ' order by a.seq desc limit $1 offset $2'
    ) using p_limit, p_offset;
end
$$;
comment on function private.audit_page(text, text, uuid, integer, integer) is 'Rows of the audit log, newest first.';

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
'The audit log, newest first; filters page, pageSize, adminId, action (also the part before a dot), objectId. Support administrators read their own rows. Errors: forbidden, session_ended.';
grant execute on function public.list_audit(jsonb) to platform_admin;

create function public.note_export(p_list text, p_filters jsonb) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
begin
    perform private.require_totp(v_admin);
    if v_admin.role = 'support_admin' and p_list <> 'audit' then
        perform private.raise_error(403, 'forbidden', 'A support admin can export the own actions only.');
    end if;
    perform private.audit('admin:' || v_admin.id, 'list.exported', null, null, pg_catalog.jsonb_build_object('list', p_list, 'filters', p_filters));
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.note_export(text, jsonb) is
'Call before exporting a list: checks who may, and writes an audit row. Errors: forbidden, two_step_required.';
grant execute on function public.note_export(text, jsonb) to platform_admin;
