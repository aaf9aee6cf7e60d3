-- The audit log lies in partitions by id: the table of before is the first of them, as it is. What names its row type is
-- made again, and so is the key of the chain, which reads both tables once: about two seconds for a million entries.
-- No service names what is dropped here: only functions do, and they find what is made in its place.
-- squawk-ignore-file ban-drop-view, ban-drop-function, ban-drop-constraint, renaming-table, renaming-object
-- squawk-ignore-file constraint-missing-not-valid, adding-foreign-key-constraint
set local check_function_bodies = off;

-- With the tables that they read, as those do who use them: nobody waits for half of it.
do $$
begin
    lock table private.unlinked_entries, private.money_audit_entries, private.administrator_discrepancies in access exclusive mode;
end
$$;
drop view private.unlinked_entries, private.money_audit_entries, private.administrator_discrepancies;
drop function private.credited_decisions(bigint, bigint, integer);
drop function private.entry_hash(private.audit_log), private.link_hash(bytea, bigint, private.audit_log);
alter table private.audit_chain drop constraint audit_chain_entry_id_fkey;

-- The first partition has the names of one that private.add_audit_partition() makes.
drop trigger _100_set_hash on private.audit_log;
drop trigger _100_reject_change on private.audit_log;
drop trigger _100_reject_delete on private.audit_log;
alter sequence private.audit_log_id_seq rename to earlier_audit_log_id_seq;
alter table private.audit_log rename to audit_log_1;
alter index private.audit_log_pkey rename to audit_log_1_pkey;
alter index private.audit_log_object_idx rename to audit_log_1_object_id_id_idx;
alter index private.audit_log_actor_idx rename to audit_log_1_actor_id_idx;
alter index private.audit_log_at_idx rename to audit_log_1_at_idx;
alter index private.audit_log_action_idx rename to audit_log_1_action_id_idx;
alter index private.audit_log_settings_idx rename to audit_log_1_id_idx;
comment on index private.audit_log_1_id_idx is null;
comment on column private.audit_log_1.id is null;
comment on column private.audit_log_1.hash is null;

create table private.audit_log (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    actor text not null constraint audit_log_actor_check check (actor ~ '\A(admin|member|system|service)(:[0-9a-f-]{36})?\Z'),
    action text not null constraint audit_log_action_check check (action ~ '\A[a-z][a-z0-9_.]{1,62}\Z'),
    object_type text,
    object_id uuid,
    payload jsonb not null default '{}',
    hash bytea not null
) partition by range (id);
comment on table private.audit_log is 'Audited actions. Append-only; linked by private.audit_chain. In partitions, which the worker makes ahead.';
comment on column private.audit_log.id is 'The order of writing; commits may come in another.';
comment on column private.audit_log.hash is 'Of everything else in the row.';
alter table private.audit_log enable row level security;
create index audit_log_object_idx on private.audit_log (object_id, id desc) where object_id is not null;
create index audit_log_actor_idx on private.audit_log (actor, id desc);
create index audit_log_at_idx on private.audit_log (at);
-- Collate "C" (bytes): a group of actions is then one range of the index.
create index audit_log_action_idx on private.audit_log (action collate "C", id desc);
create index audit_log_settings_idx on private.audit_log (id) where action = 'setting.changed';
comment on index private.audit_log_settings_idx is 'Finds the last change of a setting, queried every minute.';

alter table private.audit_state add column partitioned_until bigint not null default 0;
comment on column private.audit_state.partitioned_until is 'There are partitions for every id before this one.';

create trigger _100_set_hash before insert on private.audit_log for each row execute function private.audit_log_set_hash();
create trigger _100_reject_change before update or delete or truncate on private.audit_log
for each statement execute function private.reject_change();
create trigger _100_reject_change before update or delete or truncate on private.audit_log_1
for each statement execute function private.reject_change();

create function private.audit_partition_size() returns bigint
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return 50000000;
end
$$;
comment on function private.audit_partition_size() is 'Ids in one partition of the audit log: 30 GB with its indexes.';

create function private.add_audit_partition() returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_from bigint := (select s.partitioned_until from private.audit_state as s);
    v_until bigint := v_from + private.audit_partition_size();
    v_name text := pg_catalog.format('audit_log_%s', v_until / private.audit_partition_size());
begin
    -- Attached, not created in its place: that would wait for every reader, and every writer for it.
    execute pg_catalog.format('create table private.%I (like private.audit_log including constraints)', v_name);
    execute pg_catalog.format('comment on table private.%I is %L', v_name, 'Entries of the audit log from id ' || v_from || '.');
    execute pg_catalog.format('alter table private.%I enable row level security', v_name);
    -- A trigger of statements is not inherited, and who writes to a partition itself goes around the one of the whole.
    execute pg_catalog.format(
        'create trigger _100_reject_change before update or delete or truncate on private.%I '
        'for each statement execute function private.reject_change()', v_name
    );
    execute pg_catalog.format(
        'alter table private.audit_log attach partition private.%I for values from (%s) to (%s)', v_name, v_from, v_until
    );
    update private.audit_state as s set partitioned_until = v_until;
end
$$;
comment on function private.add_audit_partition() is
'Makes the next partition of the audit log. Nobody waits for it but the linker, and that for milliseconds. Call under the audit lock.';

-- Ids go on where they were. The first partition has room for all that were drawn, be they more than one usually holds.
do $$
declare
    v_last record;
    v_until bigint;
begin
    select * into v_last from private.earlier_audit_log_id_seq;
    perform pg_catalog.setval('private.audit_log_id_seq', v_last.last_value, v_last.is_called);
    v_until := private.audit_partition_size() * (v_last.last_value / private.audit_partition_size() + 1);
    alter table private.audit_log_1 alter id drop identity;
    alter table private.audit_log_1 alter payload drop default;
    comment on table private.audit_log_1 is 'Entries of the audit log from id 0.';
    execute pg_catalog.format('alter table private.audit_log attach partition private.audit_log_1 for values from (0) to (%s)', v_until);
    update private.audit_state as s set partitioned_until = v_until;
    perform private.add_audit_partition();
end
$$;
alter table private.audit_chain add foreign key (entry_id) references private.audit_log (id) on delete restrict;
analyze private.audit_log;

-- Without a search_path both hashes are inlined: a check of the chain computes millions.
create function private.entry_hash(p_entry private.audit_log) returns bytea
language sql stable as $$
    select pg_catalog.sha256(pg_catalog.convert_to(
        pg_catalog.concat_ws(
            '|', (p_entry).id, extract(epoch from (p_entry).at), (p_entry).actor, (p_entry).action,
            coalesce((p_entry).object_type, ''), coalesce((p_entry).object_id::text, ''), (p_entry).payload::text
        ), 'UTF8'
    ))
$$;
comment on function private.entry_hash(private.audit_log) is 'Hash of an entry: covers every other column.';

create function private.link_hash(p_prev bytea, p_seq bigint, p_entry private.audit_log) returns bytea
language sql stable as $$
    select pg_catalog.sha256(
        coalesce(p_prev, ''::bytea) || pg_catalog.convert_to(
            pg_catalog.concat_ws(
                -- An id that is the number is left out: links from before entries had ids are still what they were.
                '|', p_seq, nullif((p_entry).id, p_seq), extract(epoch from (p_entry).at), (p_entry).actor, (p_entry).action,
                coalesce((p_entry).object_type, ''), coalesce((p_entry).object_id::text, ''), (p_entry).payload::text
            ), 'UTF8'
        )
    )
$$;
comment on function private.link_hash(bytea, bigint, private.audit_log) is
'Hash of a link: covers the hash of the link before it, its number and every column of its entry.';

comment on function private.lock_audit_log() is
'Takes the audit lock: one linker at a time, and none while a partition is made. Nobody else takes it. Errors: try_again.';

create function jobs.prepare_audit_log() returns integer
language plpgsql volatile security definer set search_path = ''
set lock_timeout = '3s' as $$
declare
    v_made integer := 0;
begin
    -- Autovacuum analyses each partition, never the whole, of which a join is estimated.
    analyze private.audit_log;
    perform private.lock_audit_log();
    while (
        select q.last_value + private.audit_partition_size() >= s.partitioned_until
        from private.audit_log_id_seq as q cross join private.audit_state as s
    ) loop
        perform private.add_audit_partition();
        v_made := v_made + 1;
    end loop;
    return v_made;
end
$$;
comment on function jobs.prepare_audit_log() is
'Makes partitions of the audit log until one is empty behind the one that is written to; returns how many. Analyses the whole first. Errors: try_again.';
grant execute on function jobs.prepare_audit_log() to worker;

create view private.unlinked_entries as
select
    l.id,
    l.at,
    l.actor,
    l.action,
    l.object_type,
    l.object_id,
    l.payload,
    l.hash
from private.audit_log as l
cross join private.audit_state as s
where
    l.id >= s.final_id
    and not exists (
        select 1 from private.audit_chain as c
        where c.entry_id = l.id
    );
comment on view private.unlinked_entries is 'Committed entries that are not linked yet.';

create function private.credited_decisions(p_after bigint, p_until bigint, p_limit integer) returns setof private.audit_log
language sql stable set search_path = '' as $$
    -- Each action is one range of an index.
    (
        select * from private.audit_log as a
        where a.action collate "C" = 'deposit.approved' and a.id > p_after and a.id <= p_until
        order by a.id
        limit p_limit
    )
    union all
    (
        select * from private.audit_log as a
        where a.action collate "C" = 'correction.confirmed' and a.id > p_after and a.id <= p_until
        order by a.id
        limit p_limit
    )
    order by id
    limit p_limit
$$;
comment on function private.credited_decisions(bigint, bigint, integer) is
'The entries of decisions that may have brought bonuses, after one and up to another, in the order of the decisions.';

create view private.money_audit_entries as
select
    r.rule,
    l.id,
    l.at,
    l.actor,
    l.action,
    l.object_id,
    l.payload ->> 'user_id' as user_text,
    l.payload ->> 'actor_role' as actor_role,
    l.id <= s.earlier_id as is_earlier,
    l.id <= s.earlier_id and l.payload ? 'backfilled' as is_backfilled,
    -- Entries of earlier corrections have a value where there is none.
    case
        when l.id <= s.earlier_id then l.payload - array['actor_role', 'request_id', 'backfilled', 'value']
        else l.payload - array['actor_role', 'request_id']
    end as facts
from private.audit_log as l
inner join (
    values
    ('I43', 'deposit.requested'),
    ('I44', 'withdrawal.requested'),
    ('I45', 'deposit.approved'), ('I45', 'deposit.rejected'), ('I45', 'deposit.cancelled'),
    ('I46', 'withdrawal.approved'), ('I46', 'withdrawal.rejected'), ('I46', 'withdrawal.cancelled'),
    ('I47', 'withdrawal.paid'),
    ('I48', 'correction.proposed'), ('I48', 'correction.confirmed'), ('I48', 'correction.discarded')
) as r (rule, action) on l.action = r.action
cross join private.audit_state as s;
comment on view private.money_audit_entries is 'The entries that private.due_audit_entries asks for, and what they say beside role and request.';

create view private.administrator_discrepancies as
select
    coalesce(a.id, e.object_id) as id,
    jsonb_build_object('entry', e.id, 'role', a.role, 'is_active', a.is_active) as details
from private.admin_users as a
full join (
    select distinct on (l.object_id)
        l.object_id,
        l.id,
        l.payload ->> 'role' as role,
        coalesce(l.payload ->> 'is_active', 'true') as is_active,
        not starts_with(l.actor, 'admin:') or l.payload ->> 'actor_role' = 'super_admin' as is_allowed
    from private.audit_log as l
    -- As in the index.
    where l.action collate "C" in ('admin.created', 'admin.updated')
    order by l.object_id asc, l.id desc
) as e on a.id = e.object_id
where
    a.role::text is distinct from e.role
    or a.is_active::text is distinct from e.is_active
    or e.is_allowed is distinct from true;
comment on view private.administrator_discrepancies is
'Administrators who have not the role that their last entry of the audit log gives them, and such entries without an administrator.';
