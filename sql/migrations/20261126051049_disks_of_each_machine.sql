-- Each worker looks at the disks of its own machine; what any worker does each minute, no matter on which machine, is no longer
-- told of disks: of two machines one would end the alarm that the other has raised.
SET local check_function_bodies = off;

-- squawk-ignore ban-drop-function
DROP FUNCTION "jobs"."check_alarms"(jsonb, numeric, numeric);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."check_disks"(jsonb, numeric, numeric);

CREATE OR REPLACE FUNCTION jobs.check_alarms()
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform from private.alarm_mail_state as s for no key update;
    perform private.check_dead_jobs();
    perform private.check_failed_mail();
    perform private.announce_alarms();
    return (
        select coalesce(pg_catalog.jsonb_object_agg(o.kind, o.alarms), '{}')
        from (
            select a.kind, count(*) as alarms from private.alarms as a
            where a.ended_at is null and a.acknowledged_at is null group by a.kind
        ) as o
    );
end
$function$;

CREATE OR REPLACE FUNCTION jobs.check_disks (
  p_disks  jsonb,
  p_full   numeric DEFAULT 80,
  p_urgent numeric DEFAULT 90
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_disk record;
    v_above numeric;
begin
    perform from private.alarm_mail_state as s for no key update;
    for v_disk in
        select d.folder, d.percent, (a.details ->> 'above')::numeric as above
        from pg_catalog.jsonb_to_recordset(p_disks) as d (folder text, percent numeric)
        left join private.alarms as a on a.kind = 'disk' and a.object = d.folder and a.ended_at is null
        order by d.folder
    loop
        -- Two percent below its limit: what comes and goes around the limit is one alarm.
        v_above := case
            when v_disk.percent >= p_urgent - case when v_disk.above = p_urgent then 2 else 0 end then p_urgent
            when v_disk.percent >= p_full - case when v_disk.above is not null then 2 else 0 end then p_full
        end;
        if v_above is null then
            perform private.end_alarm('disk', v_disk.folder);
        else
            perform private.raise_alarm(
                'disk', v_disk.folder, null, pg_catalog.jsonb_build_object('above', v_above, 'urgent', v_above = p_urgent)
            );
        end if;
    end loop;
end
$function$;

COMMENT ON FUNCTION "jobs"."check_alarms"() IS 'Looks at given-up jobs and e-mails, and notifies administrators of all alarms that are new; returns the number of open ones by kind.';

COMMENT ON FUNCTION "jobs"."check_disks"(jsonb, numeric, numeric) IS 'Raises or ends the alarm of each disk of one machine: [{folder, percent}], full above the first percentage, urgent above the second. Names of folders are unique among all machines.';

REVOKE ALL ON FUNCTION "jobs"."check_alarms"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."check_alarms"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."check_alarms"() TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."check_alarms"() TO "worker";

REVOKE ALL ON FUNCTION "jobs"."check_disks"(jsonb, numeric, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."check_disks"(jsonb, numeric, numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."check_disks"(jsonb, numeric, numeric) TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."check_disks"(jsonb, numeric, numeric) TO "worker";
