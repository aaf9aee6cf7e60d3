-- Backups, as far as the database knows of them: what their schedule reports each minute, the alarms when they are late,
-- and a copy that was restored from one. A copy makes no decision and sends no email until a super administrator
-- acknowledges it: its original may be alive.

create table private.backup_state (
    only_row boolean primary key default true check (only_row),
    since timestamptz,
    reported_at timestamptz,
    database_at timestamptz,
    files_at timestamptz,
    proven_at timestamptz
);
comment on table private.backup_state is 'What was last reported of the backups; all null while they are off.';
comment on column private.backup_state.since is 'When the first report came.';
comment on column private.backup_state.files_at is 'When receipts and keys were last known to be in the backups.';
comment on column private.backup_state.proven_at is 'When a backup was last restored and its ledger found in order.';
alter table private.backup_state enable row level security;

insert into private.backup_state default values;

create function private.are_backups_made() returns boolean
language sql stable set search_path = '' as $$
    select private.is_recent(s.reported_at, interval '10 minutes')
        and private.is_recent(s.database_at, interval '36 hours')
        and private.is_recent(s.files_at, interval '15 minutes')
        and private.is_recent(s.proven_at, interval '40 days')
    from private.backup_state as s
$$;
comment on function private.are_backups_made() is 'Whether backups are made and one was tried: a condition for accepting real money.';

create function private.set_backup_alarm(p_object text, p_late boolean, p_last timestamptz) returns void
language plpgsql volatile set search_path = '' as $$
begin
    if p_late then
        perform private.raise_alarm(
            'backup', p_object, null, pg_catalog.jsonb_build_object('last', pg_catalog.to_char(p_last at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'))
        );
    else
        perform private.end_alarm('backup', p_object);
    end if;
end
$$;
comment on function private.set_backup_alarm(text, boolean, timestamptz) is 'Raises or ends the alarm of one part of the backups; p_last: how far it came.';

create function jobs.check_backups(p_report jsonb) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_state private.backup_state;
    v_on boolean := p_report is not null;
    v_archiver record;
begin
    perform from private.alarm_mail_state as s for no key update;
    update private.backup_state as s set
        since = case when v_on then coalesce(s.since, pg_catalog.clock_timestamp()) end,
        reported_at = (p_report ->> 'at')::timestamptz,
        -- Elsewhere its owner backs it up: that its WAL is archived can be seen from here.
        database_at = case
            when (p_report ->> 'database_elsewhere')::boolean then greatest(
                -- A server that has just become the primary has archived nothing yet, or something long ago.
                case when private.is_recent(s.database_at, interval '10 minutes') then s.database_at end,
                (select a.last_archived_time from pg_catalog.pg_stat_archiver as a)
            )
            else (p_report ->> 'database_at')::timestamptz
        end,
        files_at = (p_report ->> 'files_at')::timestamptz,
        proven_at = (p_report ->> 'proven_at')::timestamptz
    returning * into v_state;
    select * into v_archiver from pg_catalog.pg_stat_archiver;
    perform private.set_backup_alarm('off', not v_on and not private.is_demo(), null);
    perform private.set_backup_alarm(
        'database', v_on and not private.is_recent(coalesce(v_state.database_at, v_state.since), interval '36 hours'), v_state.database_at
    );
    perform private.set_backup_alarm(
        'files', v_on and not private.is_recent(coalesce(v_state.files_at, v_state.since), interval '15 minutes'), v_state.files_at
    );
    perform private.set_backup_alarm(
        'wal',
        v_on and v_archiver.last_failed_time > coalesce(v_archiver.last_archived_time, '-infinity')
        and not private.is_recent(coalesce(v_archiver.last_archived_time, v_archiver.stats_reset), interval '5 minutes'),
        coalesce(v_archiver.last_archived_time, v_archiver.stats_reset)
    );
    perform private.set_backup_alarm('proof', v_on and not private.is_recent(coalesce(v_state.proven_at, v_state.since), interval '40 days'), v_state.proven_at);
    perform private.announce_alarms();
    return p_report -> 'failures';
end
$$;
comment on function jobs.check_backups(jsonb) is
'Stores what the schedule of the backups reports ({at, database_at or database_elsewhere, files_at, proven_at, failures}; null: backups are off), and raises or ends the alarms about it; returns the failures.';
grant execute on function jobs.check_backups(jsonb) to worker;

-- A restored copy. The launcher calls these two as superuser, before any service is connected.

create function private.mark_restored() returns void
language sql volatile set search_path = '' as $$
    select private.raise_alarm('restored', 'copy', null, '{}')
$$;
comment on function private.mark_restored() is 'Marks this database as a restored copy: no decision and no email until that is acknowledged.';

create function private.last_moment() returns timestamptz
language sql stable set search_path = '' as $$
    select max(a.at) from private.audit_log as a
$$;
comment on function private.last_moment() is 'When the last thing in this database was done: of a copy, how far back it goes.';

create function private.is_copy() returns boolean
language sql stable set search_path = '' as $$
    select exists (select 1 from private.alarms as a where a.kind = 'restored' and a.ended_at is null and a.acknowledged_at is null)
$$;
comment on function private.is_copy() is 'Whether this is a restored copy that has not taken over.';
