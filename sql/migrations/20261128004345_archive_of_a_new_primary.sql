-- With a database elsewhere, another primary raised the alarm of a late backup until it had archived its first segment.

SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION jobs.check_backups (
  p_report jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
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
$function$;
