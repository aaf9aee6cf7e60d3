-- The runs of the ledger checks: what each minute looks at, when sums over everybody are due, and since when every row has
-- been seen. A run looks at a slice or at sums, never at both.

-- Sums over everybody.

create function private.sum_rules() returns text[]
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return array['I21', 'I22', 'I27', 'I38', 'I39'];
end
$$;
comment on function private.sum_rules() is 'The rules of private.sum_violations().';

-- Not in the run of a slice: both together take too long.
create function private.are_sums_due(p_slice private.ledger_slices) returns boolean
language plpgsql stable set search_path = '' as $$
declare
    v_state private.ledger_check_state;
begin
    if private.are_members_done(p_slice) and (p_slice).entries_done then
        return true;
    end if;
    select * into v_state from private.ledger_check_state;
    return not private.is_recent(v_state.sums_at, v_state.sums_duration * 9) and exists (
        select 1 from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null and pg_catalog.left(a.object, 3) = any(private.sum_rules())
    );
end
$$;
comment on function private.are_sums_due(private.ledger_slices) is
'Whether nothing but sums is left of the round, or one of the rules about sums is violated and was not looked at just now.';

-- The duration says when the next check may run, so a clock that is set meanwhile must not: checks that take longer and
-- longer are believed within a few.
create function private.believable_duration(p_started timestamptz, p_last interval) returns interval
language sql volatile set search_path = '' as $$
    select greatest(least(pg_catalog.clock_timestamp() - p_started, greatest(p_last * 2, interval '4 seconds'), interval '10 minutes'), interval '0')
$$;
comment on function private.believable_duration(timestamptz, interval) is
'How long a check has taken since it began: at most twice as long as the last one, or four seconds.';

create function private.check_sums() returns jsonb
language plpgsql volatile set work_mem = '64MB' set search_path = '' as $$
declare
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_found jsonb := (select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.sum_violations() as v);
begin
    update private.ledger_check_state as s set
        sums_at = v_started, sums_duration = private.believable_duration(v_started, s.sums_duration);
    return v_found;
end
$$;
comment on function private.check_sums() is 'What the rules about sums over everybody find: an array.';

-- The parts checked so far, with their times.

create function private.end_round(p_slice private.ledger_slices) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.ledger_slices
    select (p_slice).round, (p_slice).no + 1, s.sums_at, null, null, (p_slice).entry_id, true, true from private.ledger_check_state as s;
    delete from private.ledger_slices as s where s.round < (p_slice).round;
    update private.ledger_check_state as s set whole_at = pg_catalog.clock_timestamp();
    -- A rule as a whole is over when a round has found no more than its alarms.
    update private.alarms as a set ended_at = pg_catalog.clock_timestamp()
    where a.kind = 'ledger_violation' and a.ended_at is null and pg_catalog.length(a.object) = 3
        and a.last_seen < (select min(s.seen_at) from private.ledger_slices as s where s.round = (p_slice).round);
end
$$;
comment on function private.end_round(private.ledger_slices) is 'Ends a round of the sweep after its last slice and the sums: everything was looked at.';

create function private.all_seen_since() returns timestamptz
language plpgsql stable set search_path = '' as $$
declare
    v_slice private.ledger_slices;
    v_first timestamptz;
    v_user timestamptz;
    v_no timestamptz;
    v_entry timestamptz;
    v_sums timestamptz;
begin
    select * into v_slice from private.ledger_slices as s order by s.round desc, s.no desc limit 1;
    select min(s.seen_at) into v_first from private.ledger_slices as s where s.round = v_slice.round;
    -- What this round has not come to yet was looked at by the last one.
    select
        min(s.seen_at) filter (where s.next_user is null or s.next_user > v_slice.next_user),
        min(s.seen_at) filter (where s.next_no is null or s.next_no > v_slice.next_no),
        min(s.seen_at) filter (where s.entries_done or s.entry_id > v_slice.entry_id),
        min(s.seen_at) filter (where s.is_last)
    into v_user, v_no, v_entry, v_sums
    from private.ledger_slices as s
    where s.round = v_slice.round - 1;
    v_user := case when v_slice.next_user is null then v_first else v_user end;
    v_no := case when v_slice.next_no is null then v_first else v_no end;
    v_entry := case when v_slice.entries_done then v_first else v_entry end;
    v_sums := case when v_slice.is_last then v_slice.seen_at else v_sums end;
    return case when num_nulls(v_user, v_no, v_entry, v_sums) = 0 then least(v_user, v_no, v_entry, v_sums) end;
end
$$;
comment on function private.all_seen_since() is
'The oldest time at which a row was last looked at; null before the end of the first round.';

-- The runs.

create function private.check_ledger_in_parts() returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_found jsonb;
    v_slice private.ledger_slices;
    v_sums boolean;
    v_rules jsonb;
begin
    -- One run at a time. What waited for it would keep a worker from its other jobs.
    if not pg_catalog.pg_try_advisory_xact_lock(private.lock_key('ledger_check')) then
        return (select s.rules from private.ledger_check_state as s);
    end if;
    v_slice := private.last_slice();
    v_sums := private.are_sums_due(v_slice);
    v_found := case when v_sums then private.check_sums() else private.check_slice() end;
    -- The changes come last: reading them locks the row of the last check, for which the anchor of the audit log would wait.
    v_found := v_found || private.check_changes();
    perform private.record_violations(v_found, true, case when v_sums then '{}' else private.sum_rules() end);
    if private.are_members_done(v_slice) and (v_slice).entries_done then
        perform private.end_round(v_slice);
    end if;
    select coalesce(pg_catalog.jsonb_object_agg(r.rule, r.rows), '{}') into v_rules
    from (
        select pg_catalog.left(a.object, 3) as rule, count(*) as rows from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null
        group by 1
    ) as r;
    update private.ledger_check_state as s set
        checked_at = v_started,
        check_duration = private.believable_duration(v_started, s.check_duration),
        rules = v_rules,
        violations = (select coalesce(sum(r.rows::integer), 0) from pg_catalog.jsonb_each_text(v_rules) as r (rule, rows)),
        seen_since = coalesce(private.all_seen_since(), s.seen_since);
    return v_rules;
end
$$;
comment on function private.check_ledger_in_parts() is
'Looks at what changed, at what open alarms name and at the next slice of everything, and records it: open alarms by rule.';

-- The check reads everything: one second with ten thousand members, half a minute and more with several hundred
-- thousand, when the next run would start as the last ends. So it throttles itself: up to three seconds it runs
-- whenever called; above, it waits nine times its last duration and so takes at most a tenth of the time. Until then
-- the last result stands, alarms included, with its time.
create function private.check_whole_ledger() returns jsonb
language plpgsql volatile
-- Hash aggregates over all members in memory.
set work_mem = '64MB' set search_path = ''
-- Scan whole tables sequentially: the same sums in index order, a row a page, take five times as long.
set enable_indexscan = 'off' as $$
declare
    v_state private.ledger_check_state;
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_rules jsonb;
    v_found jsonb;
    v_seq bigint;
begin
    select * into v_state from private.ledger_check_state;
    if v_state.check_duration > interval '3 seconds' and (
        -- No check counts as longer: private.believable_duration().
        private.is_recent(v_state.checked_at, least(v_state.check_duration, interval '10 minutes') * 9)
        or not pg_catalog.pg_try_advisory_xact_lock(private.lock_key('ledger_check'))
    ) then
        return v_state.rules;
    end if;
    perform private.take_changes();
    delete from private.ledger_slices;
    select max(c.seq) into v_seq from private.audit_chain as c;
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(c)), '[]') into v_found from private.check_ledger() as c;
    select coalesce(pg_catalog.jsonb_object_agg(r.rule, r.rows), '{}') into v_rules
    from (select f.value ->> 'rule' as rule, count(*) as rows from pg_catalog.jsonb_array_elements(v_found) as f group by 1) as r;
    update private.ledger_check_state as s set
        -- checked_at is the start: rows written while it ran were not checked.
        checked_at = v_started,
        check_duration = private.believable_duration(v_started, s.check_duration),
        rules = v_rules,
        violations = pg_catalog.jsonb_array_length(v_found),
        whole_at = v_started,
        seen_since = v_started,
        seen_seq = v_seq;
    perform private.record_violations(v_found);
    return v_rules;
end
$$;
comment on function private.check_whole_ledger() is
'Reads the whole ledger, stores the result and raises and ends its alarms, or returns the last one while a long check is throttled: violations by rule.';

create function jobs.check_ledger() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
begin
    return case when private.is_swept() then private.check_ledger_in_parts() else private.check_whole_ledger() end;
end
$$;
comment on function jobs.check_ledger() is
'Runs the ledger checks, on everything or, with very many members, on what changed and the next slice: violations by rule, {} when there are none. Stores the result and raises and ends their alarms.';
grant execute on function jobs.check_ledger() to worker;
