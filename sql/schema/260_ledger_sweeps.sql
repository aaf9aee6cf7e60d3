-- When the ledger checks look at what. Up to private.whole_check_limit() members the whole ledger is read each minute.
-- Above, a minute looks at what that minute changed, at what open alarms name, and at the next slice of everything: a
-- sweep, which has seen every row within the hour. The rules are the same ones (250_ledger_checks.sql), for other members.
--
-- What changed is noted by the transaction that changes it, and a check deletes the notes that it sees: a transaction
-- that commits late is found by the next check, whatever was noted after it. New entries of the audit log are those
-- linked since the last check, which the linker numbers in the order in which it finds them committed.
-- What is written past every trigger is noted by nobody. The sweep finds it.
--
-- Rules about sums over everybody read whole tables. The sweep ends each round with them, and they are read again, a
-- tenth of the time at most, while one of them is violated.

create table private.ledger_changes (
    user_id uuid,
    no integer,
    is_earner boolean not null default false,
    constraint ledger_changes_one_check check (num_nonnulls(user_id, no) = 1)
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
comment on table private.ledger_changes is
'Members whose journal, package or name changed since the last ledger check, and positions whose networks a roll-up changed. Appended; a check deletes what it has looked at.';
comment on column private.ledger_changes.user_id is 'A member. No foreign key: only triggers write here.';
comment on column private.ledger_changes.no is 'A position of which only what is rolled up has changed.';
comment on column private.ledger_changes.is_earner is 'The earnings by day of the position, not only its network.';
alter table private.ledger_changes enable row level security;

create function private.transactions_note_change() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    insert into private.ledger_changes (user_id) select distinct n.user_id from after as n;
    return null;
end
$$;
comment on function private.transactions_note_change() is 'Trigger: notes whose journal changed. Whatever moves money writes the journal.';

create trigger _500_note_insert after insert on public.transactions
referencing new table as after for each statement execute function private.transactions_note_change();
create trigger _500_note_update after update on public.transactions
referencing new table as after for each statement execute function private.transactions_note_change();

create function private.profiles_note_change() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    insert into private.ledger_changes (user_id) values (new.user_id);
    return null;
end
$$;
comment on function private.profiles_note_change() is 'Trigger: notes a new member, and one with another package, cash-in, name, wallet, email, status, hold or end.';

create trigger _500_note_change
after insert or update
of package_value, cash_in_amount, username, trc20_wallet_address, email, account_status, hold_until, closed_at on private.profiles
for each row execute function private.profiles_note_change();

create table private.ledger_slices (
    round bigint not null,
    no integer not null,
    seen_at timestamptz not null,
    next_user uuid,
    next_no integer,
    entry_id bigint not null,
    entries_done boolean not null,
    is_last boolean not null,
    primary key (round, no)
);
comment on table private.ledger_slices is
'How far the sweep had come after each run of the present round and of the last one. The next run goes on from the last row.';
comment on column private.ledger_slices.seen_at is 'When the run began that looked at what lies between the slice before and this one.';
comment on column private.ledger_slices.next_user is
'Where the next run goes on in the order of ids; null when no member is left. Who joins behind it is looked at as a change, and by the next round.';
comment on column private.ledger_slices.next_no is 'The same of positions, in the order of their numbers.';
comment on column private.ledger_slices.entry_id is 'The last entry of the audit log looked at.';
comment on column private.ledger_slices.is_last is 'The run that looked at sums over everybody after the last slice, and ended the round.';
alter table private.ledger_slices enable row level security;

-- The one place that says from which size on the ledger is swept.
create function private.whole_check_limit() returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return 1000000;
end
$$;
comment on function private.whole_check_limit() is 'Up to this number of members each check reads the whole ledger.';

create function private.is_swept() returns boolean
language plpgsql stable set search_path = '' as $$
begin
    -- Numbers are given in the order of joining and never given again.
    return coalesce((select max(o.no) from private.positions as o) > private.whole_check_limit(), false);
end
$$;
comment on function private.is_swept() is 'Whether there are too many members to read the whole ledger each minute.';

-- A fiftieth a minute leaves ten minutes of the hour for sums and for late runs. What takes longer than a run may is left
-- to the next: a run ends within its minute, or the next minute's is left out.
create function private.slice_size(out members integer, out entries bigint, out at_once integer, out at_most interval)
language plpgsql stable set search_path = '' as $$
begin
    members := pg_catalog.ceil(coalesce((select max(o.no) from private.positions as o), 0) / 50.0);
    entries := pg_catalog.ceil(coalesce((select max(l.id) from private.audit_log as l), 0) / 50.0);
    at_once := 5000;
    at_most := interval '50 seconds';
end
$$;
comment on function private.slice_size() is
'How many members, positions and entries of the audit log one run of the sweep looks at: so many members at once, and no more of them after this time.';

-- The members that a check looks at.

create function private.take_changes(out users uuid[], out nos integer[], out earners integer[])
language plpgsql volatile set search_path = '' as $$
begin
    with taken as (
        delete from private.ledger_changes as c returning c.user_id, c.no, c.is_earner
    )
    select
        coalesce(pg_catalog.array_agg(distinct t.user_id) filter (where t.user_id is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct t.no) filter (where t.no is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct t.no) filter (where t.is_earner), '{}')
    into users, nos, earners
    from taken as t;
end
$$;
comment on function private.take_changes() is 'Members and positions that committed transactions have changed since the last call; earners are those of the positions whose earnings by day have changed.';

create function private.alarm_places(out users uuid[], out nos integer[], out objects uuid[], out entries bigint[])
language plpgsql stable set search_path = '' as $$
begin
    select
        coalesce(pg_catalog.array_agg(distinct p.user_id) filter (where p.user_id is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct p.no) filter (where p.no is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct p.object_id) filter (where p.object_id is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct coalesce(p.entry_id, c.entry_id)) filter (where coalesce(p.entry_id, c.entry_id) is not null), '{}')
    into users, nos, objects, entries
    from (
        select
            a.user_id,
            pg_catalog.substring(a.object, '\AI(?:1[01] [a-z]+|23|28|29|30|41) ([0-9]{1,9})(?: |\Z)')::integer as no,
            pg_catalog.substring(a.object, '\AI4[3-8] ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) ')::uuid as object_id,
            pg_catalog.substring(a.object, '\AI26 entry ([0-9]{1,18})\Z')::bigint as entry_id,
            pg_catalog.substring(a.object, '\AI26 ([0-9]{1,18})\Z')::bigint as seq
        from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null
    ) as p
    left join private.audit_chain as c on p.seq = c.seq;
end
$$;
comment on function private.alarm_places() is 'What open alarms of the ledger name: members, positions, requests and corrections, entries of the audit log.';

create function private.concerned_users(p_users uuid[], p_nos integer[]) returns uuid[]
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return array(
        select u.user_id from pg_catalog.unnest(p_users) as u (user_id)
        union
        select o.user_id from private.positions as o where o.no = any(p_nos)
        union
        select r.user_id
        from private.positions as o inner join private.positions as r on o.referrer_no = r.no
        where o.user_id = any(p_users)
        union
        select r.user_id
        from private.positions as o inner join private.positions as r on o.referrer_no = r.no
        where o.no = any(p_nos)
    );
end
$$;
comment on function private.concerned_users(uuid[], integer[]) is
'These members, those at these positions, and who referred them: a bonus that was never written is missing there.';

create function private.orphaned_objects(p_after bigint, p_until bigint) returns uuid[]
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return array(
        select distinct e.object_id
        from private.money_audit_entries as e
        where
            e.id > p_after and e.id <= p_until
            and not exists (select 1 from public.deposits as d where d.id = e.object_id)
            and not exists (select 1 from public.withdrawals as w where w.id = e.object_id)
            and not exists (select 1 from private.corrections as c where c.id = e.object_id)
    );
end
$$;
comment on function private.orphaned_objects(bigint, bigint) is
'What entries of the audit log name although it is not there. What is there is looked at with its member.';

-- Looking at it. A few thousand at once: more would be planned as if all were read.

create function private.listed_part(p_users uuid[], p_nos integer[]) returns private.ledger_part
language plpgsql immutable set search_path = '' as $$
begin
    return row(p_users, null, null, p_nos, null, null)::private.ledger_part;
end
$$;
comment on function private.listed_part(uuid[], integer[]) is 'These members and these positions.';

create function private.check_part(p_part private.ledger_part) returns jsonb
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = ''
-- Look-ups of a few rows each: what a second process would read is not worth starting it.
set max_parallel_workers_per_gather = 0 as $$
declare
    v_objects uuid[] := array(
        select d.id from public.deposits as d where private.is_asked(p_part, d.user_id)
        union all
        select w.id from public.withdrawals as w where private.is_asked(p_part, w.user_id)
        union all
        select c.id from private.corrections as c where private.is_asked(p_part, c.user_id)
    );
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.member_violations(p_part, v_objects) as v
    );
end
$$;
comment on function private.check_part(private.ledger_part) is 'What the rules about members find of these: an array.';

create function private.check_members(p_users uuid[]) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_found jsonb := '[]'::jsonb;
    v_users uuid[];
begin
    for i in 1..pg_catalog.cardinality(p_users) by 2000 loop
        v_users := p_users[i:i + 1999];
        v_found := v_found || private.check_part(
            private.listed_part(v_users, array(select o.no from private.positions as o where o.user_id = any(v_users)))
        );
    end loop;
    return v_found;
end
$$;
comment on function private.check_members(uuid[]) is 'What the rules about members find of these, also at their positions: an array.';

create function private.check_networks(
    p_networks private.ledger_part, p_earners private.ledger_part, p_teams private.ledger_part
) returns jsonb
language plpgsql volatile set search_path = '' set max_parallel_workers_per_gather = 0 as $$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.network_violations(p_networks, p_earners, p_teams) as v
    );
end
$$;
comment on function private.check_networks(private.ledger_part, private.ledger_part, private.ledger_part) is
'What the rules about rolled-up sums find: of the networks of some positions, the earnings by day of others, and the large teams of others: an array.';

create function private.check_changed_networks(p_nos integer[], p_earners integer[], p_teams integer[]) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_found jsonb := '[]'::jsonb;
begin
    for i in 1..greatest(pg_catalog.cardinality(p_nos), pg_catalog.cardinality(p_earners), pg_catalog.cardinality(p_teams)) by 2000 loop
        v_found := v_found || private.check_networks(
            private.listed_part('{}', p_nos[i:i + 1999]),
            private.listed_part('{}', p_earners[i:i + 1999]),
            private.listed_part(array(select o.user_id from private.positions as o where o.no = any(p_teams[i:i + 1999])), '{}')
        );
    end loop;
    return v_found;
end
$$;
comment on function private.check_changed_networks(integer[], integer[], integer[]) is
'The same of positions in any number, a few thousand at once.';

create function private.check_chain(p_after bigint, p_until bigint) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('rule', 'I26', 'object', c.object)), '[]')
        from private.verify_audit_chain(p_after, p_until) as c (object)
    );
end
$$;
comment on function private.check_chain(bigint, bigint) is 'What is wrong with the chain of the audit log, from one entry to another: an array.';

create function private.check_objects(p_objects uuid[]) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.audit_discrepancies(p_objects) as v
    );
end
$$;
comment on function private.check_objects(uuid[]) is 'What the audit log says otherwise of these requests and corrections: an array.';

create function private.check_entries(p_after bigint, p_until bigint) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_found jsonb := '[]'::jsonb;
    v_after bigint := p_after;
    v_last bigint;
begin
    while v_after < p_until loop
        v_last := least(v_after + 5000, p_until);
        v_found := v_found || private.check_chain(v_after, v_last) || private.check_objects(private.orphaned_objects(v_after, v_last));
        v_after := v_last;
    end loop;
    return v_found;
end
$$;
comment on function private.check_entries(bigint, bigint) is
'What is wrong with the chain of the audit log from one entry to another, and with entries of what is not there: an array.';

create function private.check_changes() returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_changed record := private.take_changes();
    v_alarmed record := private.alarm_places();
    v_first bigint;
    v_last bigint;
    v_seq bigint;
    v_users uuid[];
    v_nos integer[];
    v_found jsonb;
    v_entry bigint;
begin
    -- What was linked before the first run is left to the sweep.
    update private.ledger_check_state as s set seen_seq = (select max(c.seq) from private.audit_chain as c) where s.seen_seq is null;
    -- Without the offset the least entry would be looked for from the first one on.
    select min(c.entry_id) - 1, max(c.entry_id), max(c.seq) into v_first, v_last, v_seq
    from (
        select k.entry_id, k.seq from private.audit_chain as k
        where k.seq > (select s.seen_seq from private.ledger_check_state as s) offset 0
    ) as c;
    v_users := private.concerned_users(v_changed.users || v_alarmed.users, v_alarmed.nos);
    v_nos := array(
        select o.no from private.positions as o where o.user_id = any(v_users)
        union
        select u.no from pg_catalog.unnest(v_alarmed.nos) as u (no)
    );
    v_found := private.check_members(v_users)
        || private.check_changed_networks(v_nos || v_changed.nos, v_nos || v_changed.earners, v_alarmed.nos)
        || private.check_entries(coalesce(v_first, 0), coalesce(v_last, 0))
        || private.check_objects(v_alarmed.objects || array(
            select distinct e.object_id from private.money_audit_entries as e where e.id > v_first and e.id <= v_last
        ))
        || (select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.standing_violations() as v);
    foreach v_entry in array v_alarmed.entries loop
        v_found := v_found || private.check_chain(v_entry - 1, v_entry);
    end loop;
    update private.ledger_check_state as s set seen_seq = v_seq where v_seq is not null;
    return v_found;
end
$$;
comment on function private.check_changes() is
'What the rules find of what changed since the last call and of what open alarms name: an array. The large teams of others are left to the sweep.';

create function private.last_slice() returns private.ledger_slices
language plpgsql stable set search_path = '' as $$
declare
    v_slice private.ledger_slices;
begin
    select * into v_slice from private.ledger_slices as s order by s.round desc, s.no desc limit 1;
    if coalesce(v_slice.is_last, true) then
        v_slice := row(coalesce(v_slice.round, 0) + 1, 0, null, '00000000-0000-0000-0000-000000000000', 0, 0, false, false);
    end if;
    return v_slice;
end
$$;
comment on function private.last_slice() is 'Where the sweep goes on: its last slice, or the beginning of the next round.';

-- Ranges of the indexes, without a gap between them: what belongs to no member lies in one too. Members are looked at with
-- their positions. The range of members has those without one, and whose large teams are looked at.
create function private.next_part(p_slice private.ledger_slices, p_members integer) returns private.ledger_part
language plpgsql stable set search_path = '' as $$
declare
    v_part private.ledger_part := private.listed_part('{}', '{}');
begin
    if (p_slice).next_user is not null then
        v_part.users := null;
        v_part.first_user := (p_slice).next_user;
        v_part.until_user := (
            select p.user_id from private.profiles as p where p.user_id >= (p_slice).next_user
            order by p.user_id offset p_members limit 1
        );
    end if;
    if (p_slice).next_no is not null then
        v_part.nos := null;
        v_part.first_no := (p_slice).next_no;
        v_part.until_no := (
            select o.no from private.positions as o where o.no >= (p_slice).next_no
            order by o.no offset p_members limit 1
        );
    end if;
    return v_part;
end
$$;
comment on function private.next_part(private.ledger_slices, integer) is
'As many members and positions from where the next run goes on; nobody where none is left.';

create function private.placed_part(p_part private.ledger_part) returns private.ledger_part
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return row(
        array(select o.user_id from private.positions as o where private.is_asked(p_part, o.no)) || array(
            (
                select p.user_id from private.profiles as p where private.is_asked(p_part, p.user_id)
                union all
                select t.user_id from public.transactions as t where private.is_asked(p_part, t.user_id)
                union all
                select b.user_id from public.bonuses as b where private.is_asked(p_part, b.user_id)
                union all
                select d.user_id from public.deposits as d where private.is_asked(p_part, d.user_id)
                union all
                select w.user_id from public.withdrawals as w where private.is_asked(p_part, w.user_id)
                union all
                select c.user_id from private.corrections as c where private.is_asked(p_part, c.user_id)
                union all
                select s.user_id from public.bot_subscriptions as s where private.is_asked(p_part, s.user_id)
            )
            except
            select o.user_id from private.positions as o where private.is_asked(p_part, o.user_id)
        ),
        null, null, (p_part).nos, (p_part).first_no, (p_part).until_no
    )::private.ledger_part;
end
$$;
comment on function private.placed_part(private.ledger_part) is
'These positions with their members, and those of these members who have none. Who joined together has rows side by side on the disk; in the order of ids each row would be a page of its own.';

create function private.are_members_done(p_slice private.ledger_slices) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
    return (p_slice).next_user is null and (p_slice).next_no is null;
end
$$;
comment on function private.are_members_done(private.ledger_slices) is 'Whether a round has come to the last member and position.';

create function private.check_slice() returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_size record := private.slice_size();
    v_slice private.ledger_slices := private.last_slice();
    v_part private.ledger_part;
    v_after bigint := (v_slice).entry_id;
    v_found jsonb := '[]'::jsonb;
begin
    v_slice.no := v_slice.no + 1;
    v_slice.seen_at := pg_catalog.clock_timestamp();
    for i in 1..v_size.members by v_size.at_once loop
        exit when private.are_members_done(v_slice) or (i > 1 and pg_catalog.clock_timestamp() > v_slice.seen_at + v_size.at_most);
        v_part := private.next_part(v_slice, least(v_size.members - i + 1, v_size.at_once));
        v_found := v_found || private.check_part(private.placed_part(v_part)) || private.check_networks(v_part, v_part, v_part);
        v_slice.next_user := v_part.until_user;
        v_slice.next_no := v_part.until_no;
    end loop;
    v_slice.entry_id := v_after + v_size.entries;
    v_slice.entries_done := v_slice.entry_id >= coalesce((select max(l.id) from private.audit_log as l), 0);
    insert into private.ledger_slices select (v_slice).*;
    return v_found || private.check_entries(v_after, v_slice.entry_id);
end
$$;
comment on function private.check_slice() is 'What the rules find of the next slice of members and of the audit log: an array.';
