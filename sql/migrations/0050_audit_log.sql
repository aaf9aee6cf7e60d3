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
