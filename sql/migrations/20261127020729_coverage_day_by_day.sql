-- Days that a worker missed were stored in one statement: with ten million members a week of them took longer than its
-- statements may, and the next run began anew. Now each day is a statement of a run that has half a minute.
SET local check_function_bodies = off;

-- A worker that still runs calls the new one, in the same words: its argument has a default.
-- squawk-ignore ban-drop-function
DROP FUNCTION "jobs"."snapshot_coverage"();

CREATE OR REPLACE FUNCTION jobs.snapshot_coverage (
  p_seconds integer DEFAULT 30
)
  RETURNS integer
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_end timestamptz := pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => p_seconds);
    v_days integer := 0;
begin
    loop
        -- One statement, so that figures, number and requests are those of one snapshot.
        insert into private.coverage_days (day, figures, taken_at, decision_no, pending_ids)
        select m.day, private.coverage_at(e.at), private.clock(), private.last_decision_no(), private.pending_at(e.at)
        from (
            select s.day::date as day
            from pg_catalog.generate_series(
                (select min(p.created_at at time zone 'UTC')::date from private.profiles as p),
                (private.clock() at time zone 'UTC')::date - 1, interval '1 day'
            ) as s (day)
            where not exists (select 1 from private.coverage_days as c where c.day = s.day::date)
            order by s.day desc limit 1
        ) as m
        cross join lateral (select (m.day + 1)::timestamp at time zone 'UTC' as at) as e
        on conflict (day) do nothing;
        exit when not found;
        v_days := v_days + 1;
        -- The rest is for the next runs.
        exit when pg_catalog.clock_timestamp() >= v_end;
    end loop;
    return v_days;
end
$function$;

COMMENT ON FUNCTION "jobs"."snapshot_coverage"(integer) IS 'Stores the coverage of each ended day that has none, the last days first, for so many seconds and at least one day; returns how many.';

REVOKE ALL ON FUNCTION "jobs"."snapshot_coverage"(integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."snapshot_coverage"(integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."snapshot_coverage"(integer) TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."snapshot_coverage"(integer) TO "worker";
