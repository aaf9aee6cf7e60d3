-- The audit log: actions of administrators, members and the system, and what each said at the time. An entry is written
-- in the transaction of what it records and takes no lock: its hash covers it alone. The worker links committed entries
-- to a hash chain, each link covering the link before it and its entry, within two seconds. So neither entry nor order
-- can change, and a response or a log line that names an entry by its hash proves it for ever. Insert only through
-- private.audit(). Entries and links are never updated, deleted or truncated, not even by the owner.
-- It grows for ever, faster than anything else that does, so it lies in partitions by id: a new entry has its place in
-- indexes of the newest ones alone, and what is full is never written again and may lie on a cheaper disk.
-- Rules: specification S22.1 and S22.2, decision D26.

create table private.audit_log (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    actor text not null check (actor ~ '\A(admin|member|system|service)(:[0-9a-f-]{36})?\Z'),
    action text not null check (action ~ '\A[a-z][a-z0-9_.]{1,62}\Z'),
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
-- The last entry with the state of a member or an administrator.
create index audit_log_state_idx on private.audit_log (object_id, id desc) where object_id is not null and payload ? 'state';
comment on index private.audit_log_settings_idx is 'Finds the last change of a setting, queried every minute.';

create table private.audit_chain (
    seq bigint primary key,
    entry_id bigint not null references private.audit_log (id) on delete restrict,
    hash bytea not null,
    constraint audit_chain_entry_key unique (entry_id)
);
comment on table private.audit_chain is 'The hash chain of the audit log, in the order in which the entries were found committed. Append-only.';
comment on column private.audit_chain.hash is 'Of the link before it, its number and its entry.';
alter table private.audit_chain enable row level security;

create table private.audit_state (
    only_row boolean primary key default true check (only_row),
    final_id bigint not null default 0,
    seen_id bigint not null default 0,
    seen_until xid8,
    earlier_id bigint not null default 0,
    partitioned_until bigint not null default 0
);
comment on table private.audit_state is 'How far the audit log is linked.';
comment on column private.audit_state.final_id is 'Every entry before this id that will ever be there is linked.';
comment on column private.audit_state.seen_id is 'The last id drawn when the linker looked; it becomes final_id when every transaction before seen_until has ended.';
comment on column private.audit_state.earlier_id is
'Entries up to this one are from before entries said all that the ledger checks compare; what they say must hold, and backfilled ones are among them.';
comment on column private.audit_state.partitioned_until is 'There are partitions for every id before this one.';
alter table private.audit_state enable row level security;

insert into private.audit_state default values;

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

create function private.audit_log_set_hash() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    new.hash := private.entry_hash(new);
    return new;
end
$$;
comment on function private.audit_log_set_hash() is 'Trigger: sets the hash of a new entry.';

create trigger _100_set_hash before insert on private.audit_log for each row execute function private.audit_log_set_hash();
create trigger _100_reject_change before update or delete or truncate on private.audit_log
for each statement execute function private.reject_change();
create trigger _100_reject_change before update or delete or truncate on private.audit_chain
for each statement execute function private.reject_change();

-- The partitions. Each has room for so many entries that most installations never fill one: whatever is not asked by id is
-- looked for in every partition.

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

-- So that there is room when the worker first looks, and for as many entries again.
select private.add_audit_partition() from generate_series(1, 2);

-- Store the administrator's role and the request id in the payload, which the hash covers, because roles change:
-- `actor_role` is the role at the time, `request_id` the x-request-id under which the services logged the request.
create function private.audit(
    p_actor text, p_action text, p_object_type text, p_object_id uuid, p_payload jsonb default '{}', p_at timestamptz default null
) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_id bigint;
    v_hash bytea;
begin
    -- Before the id is drawn, so that who has drawn one is a transaction that others see running: by these the linker
    -- knows which entries may still come.
    perform pg_catalog.pg_current_xact_id();
    insert into private.audit_log (at, actor, action, object_type, object_id, payload)
    values (
        coalesce(p_at, private.clock()), p_actor, p_action, p_object_type, p_object_id,
        coalesce(p_payload, '{}') || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
            'actor_role', case
                when pg_catalog.starts_with(p_actor, 'admin:')
                    then (select a.role from private.admin_users as a where a.id = pg_catalog.substr(p_actor, 7)::uuid)
            end,
            -- Truncate what a client may choose to the length that the services accept.
            'request_id', pg_catalog.left(nullif(pg_catalog.current_setting('request.headers', true), '')::jsonb ->> 'x-request-id', 64)
        ))
    )
    returning id, hash into v_id, v_hash;
    if pg_catalog.starts_with(p_actor, 'admin:') then
        perform pg_catalog.set_config(
            'app.audit_entries', pg_catalog.concat_ws(
                ' ', nullif(pg_catalog.current_setting('app.audit_entries', true), ''), v_id || ':' || pg_catalog.encode(v_hash, 'hex')
            ), true
        );
    end if;
end
$$;
comment on function private.audit(text, text, text, uuid, jsonb, timestamptz) is
'Writes one entry, with the administrator''s role and the request id; p_at is the time of what it records, now by default. Takes no lock.';

-- A ledger check compares whoever decides, and everything that decides where money goes, with the audit log. A change
-- says so, in an entry with the state that follows: what was said before, and of the row only what this change is about.
-- A change that nobody spoke of is not said by the next entry, which is about something else.
-- An entry that somebody wrote past the product may have no number there, and then says nothing.
create function private.state_revision(p_payload jsonb) returns bigint
language sql immutable parallel safe as $$
    select case
        when p_payload #>> '{state,revision}' ~ '\A[0-9]{1,18}\Z' then (p_payload #>> '{state,revision}')::bigint
    end
$$;
comment on function private.state_revision(jsonb) is 'The revision that an entry says of a state; null where it says none.';

create function private.last_state(p_object_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select l.payload -> 'state' from private.audit_log as l
        where l.object_id = p_object_id and l.payload operator(pg_catalog.?) 'state' and private.state_revision(l.payload) is not null
        order by private.state_revision(l.payload) desc, l.id desc limit 1
    );
end
$$;
comment on function private.last_state(uuid) is 'The state that the audit log says of a member or an administrator: that of the highest revision.';

create function private.state_entry(p_object_id uuid, p_revision bigint, p_state jsonb, p_changed text[]) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.jsonb_build_object(
        'state', coalesce(private.last_state(p_object_id), '{}') || (
            select pg_catalog.jsonb_object_agg(e.key, e.value) from pg_catalog.jsonb_each(p_state) as e
            where p_changed is null or e.key = any(p_changed)
        ) || pg_catalog.jsonb_build_object('revision', p_revision)
    );
end
$$;
comment on function private.state_entry(uuid, bigint, jsonb, text[]) is
'For the payload of an entry: the state of an object whose row was just changed in these parts (null: is new). Call under the lock of the row.';

-- plpgsql, because it runs with every decision: an SQL function with a fixed search_path is parsed and planned each time.
create function private.audit_entries() returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object('audit_entries', coalesce(pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object('id', pg_catalog.split_part(e.entry, ':', 1)::bigint, 'hash', pg_catalog.split_part(e.entry, ':', 2))
        ), '[]'))
        from pg_catalog.string_to_table(nullif(pg_catalog.current_setting('app.audit_entries', true), ''), ' ') as e (entry)
    );
end
$$;
comment on function private.audit_entries() is
'{audit_entries: [{id, hash}]}: what an administrator''s transaction wrote, for its response. Whoever keeps that proves the entry.';

-- The chain.

create function private.lock_audit_log() returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('audit_log'));
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
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

create function private.link_entries() returns integer
language plpgsql volatile set search_path = '' as $$
declare
    v_seen_id bigint;
    v_snapshot pg_snapshot;
    v_last private.audit_chain;
    v_entry private.audit_log;
    v_linked integer := 0;
begin
    perform private.lock_audit_log();
    -- Before the snapshot and before a transaction id of one's own: whoever drew an id so far has an earlier one.
    select q.last_value into v_seen_id from private.audit_log_id_seq as q;
    select pg_catalog.pg_current_snapshot() into v_snapshot;
    select * into v_last from private.audit_chain as c order by c.seq desc limit 1;
    for v_entry in select u.* from private.unlinked_entries as u order by u.id loop
        v_last.seq := coalesce(v_last.seq, 0) + 1;
        v_last.hash := private.link_hash(v_last.hash, v_last.seq, v_entry);
        insert into private.audit_chain (seq, entry_id, hash) values (v_last.seq, v_entry.id, v_last.hash);
        v_linked := v_linked + 1;
    end loop;
    update private.audit_state as s set
        final_id = case when s.seen_until <= pg_catalog.pg_snapshot_xmin(v_snapshot) then s.seen_id else s.final_id end,
        seen_id = v_seen_id,
        seen_until = pg_catalog.pg_current_xact_id()
    where s.final_id <> v_seen_id and (
        s.seen_until is null or s.seen_until <= pg_catalog.pg_snapshot_xmin(v_snapshot)
        -- Of the server that a backup was made on.
        or s.seen_until > pg_catalog.pg_snapshot_xmax(v_snapshot)
    );
    return v_linked;
end
$$;
comment on function private.link_entries() is
'Links what is committed and not linked yet, in the order of writing; returns how many. Errors: try_again.';

create function jobs.link_audit_entries() returns jsonb
language plpgsql volatile security definer set search_path = ''
-- So that the alarm is raised whoever holds the lock.
set lock_timeout = '3s' as $$
declare
    v_result jsonb := '{}'::jsonb;
    v_late private.audit_log;
begin
    begin
        if private.link_entries() > 0 then
            v_result := pg_catalog.jsonb_build_object('audit_head', jobs.audit_head());
        end if;
    -- Whatever it is, entries stay unlinked, and the alarm says so.
    exception when others then
        v_result := pg_catalog.jsonb_build_object('error', sqlstate);
    end;
    -- What is unlinked although linking went well was committed just now, however long ago it was written.
    if v_result ? 'error' then
        select u.* into v_late from private.unlinked_entries as u
        where u.at < pg_catalog.clock_timestamp() - interval '10 seconds' order by u.id limit 1;
    end if;
    if v_late.id is not null then
        perform private.raise_alarm('audit_entry', 'not linked', null, pg_catalog.jsonb_build_object('entry', v_late.id, 'since', v_late.at));
    else
        perform private.end_alarm('audit_entry', 'not linked');
    end if;
    return v_result;
end
$$;
comment on function jobs.link_audit_entries() is
'Links new entries; raises the alarm audit_entry while one is unlinked for more than 10 seconds. Returns {}, {audit_head} when it linked any, or {error: SQLSTATE}.';
grant execute on function jobs.link_audit_entries() to worker;

-- Detect a truncated chain: whoever bypasses the triggers can delete the newest entries with their links and leave a
-- valid chain. So the worker stores the chain head outside the database every hour (functions/worker/audit_heads.py)
-- and passes its last external anchor here; that link must still exist. The anchor is stored, so that every ledger
-- check verifies it. In between, logs and responses tell: `make audit-log-check`.
create function private.verify_audit_chain(p_after bigint default null, p_until bigint default null) returns setof text
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    select coalesce(a.seq::text, 'entry ' || a.id)
    from (
        select
            c.seq,
            l.id,
            (l.entry).hash is distinct from private.entry_hash(l.entry) as wrong_entry,
            c.hash is distinct from private.link_hash(b.hash, c.seq, l.entry) as wrong_link,
            b.seq as seq_before,
            s.final_id
        from (
            select e.id, e as entry from private.audit_log as e
            where p_until is null or (e.id > p_after and e.id <= p_until)
        ) as l
        full join (
            select * from private.audit_chain as k
            where p_until is null or (k.entry_id > p_after and k.entry_id <= p_until)
        ) as c on l.id = c.entry_id
        left join private.audit_chain as b on c.seq - 1 = b.seq
        cross join private.audit_state as s
    ) as a
    where a.id is null or a.wrong_entry
        or (a.seq is not null and (a.wrong_link or a.seq <> coalesce(a.seq_before, 0) + 1))
        or (a.seq is null and a.id < a.final_id)
    union
    select s.anchored_seq::text
    from private.ledger_check_state as s
    left join private.audit_chain as c on s.anchored_seq = c.seq and s.anchored_hash = c.hash
    where s.anchored_seq is not null and c.seq is null;
end
$$;
comment on function private.verify_audit_chain(bigint, bigint) is
'Of the entries after one id up to another (null: of all), the numbers of their links at which the chain is broken, and those that were changed or have lost their link; and the number of the externally anchored link when it is missing or different. None when the chain is intact. What is not linked yet is no error.';

create function jobs.audit_head() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object('seq', c.seq, 'hash', pg_catalog.encode(c.hash, 'hex'))
        from private.audit_chain as c order by c.seq desc limit 1
    );
end
$$;
comment on function jobs.audit_head() is 'Number and hash of the newest link; null when there is none.';
grant execute on function jobs.audit_head() to worker;

create function jobs.check_audit_anchor(p_seq bigint, p_hash text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
begin
    update private.ledger_check_state as s set anchored_seq = p_seq, anchored_hash = pg_catalog.decode(p_hash, 'hex');
    if p_seq is null or exists (
        select 1 from private.audit_chain as c where c.seq = p_seq and c.hash = pg_catalog.decode(p_hash, 'hex')
    ) then
        return '{}'::jsonb;
    end if;
    return pg_catalog.jsonb_build_object('audit_row', p_seq);
end
$$;
comment on function jobs.check_audit_anchor(bigint, text) is
'Stores the worker''s last external anchor (null for none) for the ledger check. Returns {}, or the number of the anchored link when it is missing or different.';
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

-- A search is the beginning of an id or of a username, or the number of an entry. It never is an error: the next
-- character may complete it.
create function private.audit_matches(p_search text) returns bigint[]
language plpgsql stable set search_path = '' as $$
declare
    v_search text := pg_catalog.lower(pg_catalog.btrim(p_search));
    v_range record := private.id_range(p_search);
    -- Cast here and not in the query, where a condition before it promises nothing.
    v_number bigint := case when v_search ~ '\A[0-9]{1,18}\Z' then v_search::bigint end;
    v_pattern text := pg_catalog.regexp_replace(pg_catalog.left(v_search, 200), '([\\%_])', '\\\1', 'g') || '%';
    v_members uuid[];
    v_users uuid[];
begin
    select pg_catalog.array_agg(m.id), pg_catalog.array_agg(m.user_id) into v_members, v_users
    from (
        select p.id, p.user_id from private.profiles as p
        where private.member_search_text(p.username, p.display_name, p.email) like '%' || v_pattern and pg_catalog.lower(p.username) like v_pattern
        limit 100
    ) as m;
    return array(
        select f.id
        from (
            (
                select a.id from private.audit_log as a
                where a.object_id between v_range.first and v_range.last
                order by a.id desc
                limit 10001
            )
            union
            (
                select a.id from private.audit_log as a
                where a.object_id = any(
                    v_members || v_users
                    || array(select d.id from public.deposits as d where d.user_id = any(v_users))
                    || array(select w.id from public.withdrawals as w where w.user_id = any(v_users))
                    || array(select c.id from private.corrections as c where c.user_id = any(v_users))
                    || array(select s.id from public.bot_subscriptions as s where s.user_id = any(v_users))
                )
                order by a.id desc
                limit 10001
            )
            union
            (
                select a.id from private.audit_log as a
                where a.actor = any(array(select 'member:' || u.id from pg_catalog.unnest(v_users) as u (id)))
                order by a.id desc
                limit 10001
            )
            union
            select a.id from private.audit_log as a where a.id = v_number
        ) as f
        order by f.id desc
        limit 10001
    );
end
$$;
comment on function private.audit_matches(text) is
'Ids of the newest entries, 10,001 at most, of what is searched: the beginning of an id (four digits or more), an entry''s number, or a username, of at most 100 members.';

-- Each filter is an index range; combined with the order they stay selective.
create function private.audit_conditions(p_actor text, p_action text, p_object uuid, p_from date, p_to date, p_searched boolean) returns text
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.concat(
        ' and a.actor = ' || pg_catalog.quote_literal(p_actor),
        case when p_action is not null then pg_catalog.format(
            -- An index range that contains the action and, for the part before a dot, all actions of that group.
            ' and a.action collate "C" between %1$L and %2$L and (a.action = %1$L or pg_catalog.starts_with(a.action, %3$L))',
            p_action, p_action || '/', p_action || '.'
        ) end,
        ' and a.object_id = ' || pg_catalog.quote_literal(p_object),
        ' and a.at >= ' || pg_catalog.quote_literal(p_from::timestamp at time zone 'UTC'),
        ' and a.at < ' || pg_catalog.quote_literal((p_to + 1)::timestamp at time zone 'UTC'),
        case when p_searched then ' and a.id = any($3)' end
    );
end
$$;
comment on function private.audit_conditions(text, text, uuid, date, date, boolean) is
'The conditions on rows of the audit log, as SQL; a null asks for all. Days are UTC, both included. $3 is what a search found.';

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
    v_from_day date := nullif(p_filters ->> 'from', '')::date;
    v_to_day date := nullif(p_filters ->> 'to', '')::date;
    v_found bigint[] := case when pg_catalog.btrim(p_filters ->> 'search') <> '' then private.audit_matches(p_filters ->> 'search') end;
    v_from text := 'from private.audit_log as a where true'
    || private.audit_conditions(v_actor, v_action, v_object, v_from_day, v_to_day, v_found is not null);
    -- Within days by their index: by the id alone all that is newer would be read first.
    v_order text := case when coalesce(v_from_day, v_to_day) is null then 'id desc' else 'at desc, id desc' end;
    v_total bigint;
    v_entries jsonb;
begin
    perform private.require_known_filters(p_filters, array['page', 'pageSize', 'adminId', 'action', 'objectId', 'from', 'to', 'search']);
    -- Of what is only counted no row is read.
    execute pg_catalog.format('select count(*) from (select a.id %s limit 10001) as c', v_from)
    into v_total using v_size, (v_page - 1) * v_size, v_found;
    execute pg_catalog.format(
        $query$
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'seq', e.id, 'at', e.at, 'actor', e.actor, 'actor_name', private.actor_name(e.actor), 'action', e.action,
                'object_type', e.object_type, 'object_id', e.object_id, 'payload', e.payload
            ) order by %2$s
        )
        from (select a.* %1$s order by %2$s limit $1 offset $2) as e
        $query$, v_from, v_order
    ) into v_entries using v_size, (v_page - 1) * v_size, v_found;
    return pg_catalog.jsonb_build_object(
        'entries', coalesce(v_entries, '[]'),
        -- Whose actions can be asked for.
        'administrators', (
            select coalesce(
                pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', a.id, 'name', coalesce(a.full_name, a.email)) order by coalesce(a.full_name, a.email)), '[]'
            )
            from private.admin_users as a where v_admin.role <> 'support_admin' or a.id = v_admin.id
        ),
        'total', least(v_total, 10000)
    ) || case when v_total > 10000 then '{"more": true}' else '{}' end::jsonb;
end
$$;
comment on function public.list_audit(jsonb) is
'The audit log, newest first; seq is the entry''s id; filters page, pageSize, adminId, action (also the part before a dot), objectId, from and to (days of UTC, both included), search (the beginning of an id or a username, or seq). Support administrators read their own rows. Errors: forbidden, session_ended, invalid_filter, unknown_field.';
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
