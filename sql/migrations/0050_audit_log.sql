-- What administrators and the system did, in a chain: each row's hash covers the row before it. Filled only by
-- private.audit(), whose trigger takes the audit lock last of all locks; without that lock nine links in ten
-- would be wrong under load. Never updated, deleted or truncated, not even by the owner.

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
alter table private.audit_log enable row level security;
create index audit_log_object_idx on private.audit_log (object_id, seq desc) where object_id is not null;
create index audit_log_actor_idx on private.audit_log (actor, seq desc);
create index audit_log_at_idx on private.audit_log (at);
comment on table private.audit_log is 'Hash chain of what was done by whom. Append-only.';

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
comment on function private.audit_hash(bytea, private.audit_log) is 'The link of a row: a hash over the link before it and everything the row says.';

create function private.audit_seal() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_prev bytea;
    v_seq bigint;
begin
    perform private.audit_lock();
    select a.hash, a.seq into v_prev, v_seq from private.audit_log as a order by a.seq desc limit 1;
    new.seq := coalesce(v_seq, 0) + 1;
    new.prev := v_prev;
    new.hash := private.audit_hash(v_prev, new);
    return new;
end
$$;
comment on function private.audit_seal() is 'Number and link of a new row, taken under the audit lock.';
create trigger _100_seal before insert on private.audit_log for each row execute function private.audit_seal();
create trigger _100_keep before update on private.audit_log for each row execute function private.refuse_change();
create trigger _100_keep_rows before delete or truncate on private.audit_log
for each statement execute function private.refuse_change();

create function private.audit(p_actor text, p_action text, p_object_type text, p_object_id uuid, p_payload jsonb default '{}') returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.audit_log (seq, at, actor, action, object_type, object_id, payload, hash)
    values (0, private.clock(), p_actor, p_action, p_object_type, p_object_id, coalesce(p_payload, '{}'), '');
end
$$;
comment on function private.audit(text, text, text, uuid, jsonb) is
'Writes one audit row. Call it last in a transaction: it holds the audit lock until the end.';
