-- What only told somebody of something goes after a year, by a job of each night: notifications grow by one for each decision
-- and each bonus, and the journal and the audit log say the same for ever.
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION jobs.purge_messages (
  p_limit integer DEFAULT 50000
)
  RETURNS integer
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    -- Of whole days: nothing becomes old enough while the worker repeats this.
    v_old timestamptz := pg_catalog.date_trunc('day', pg_catalog.clock_timestamp(), 'UTC') - interval '1 year';
    v_rows integer;
    v_all integer;
begin
    -- Their ids begin with the time: an index by the time alone would be written by each decision.
    delete from public.notifications as n where n.id in (
        select o.id from public.notifications as o
        where o.id < private.first_id_at(v_old) and o.created_at < v_old
            -- Nobody who comes back after some months misses what was not read.
            and (o.read_at is not null or o.created_at < v_old - interval '1 year')
        order by o.id
        limit p_limit
    );
    get diagnostics v_all = row_count;
    delete from private.admin_notices as n where n.id in (
        select o.id from private.admin_notices as o where o.created_at < v_old order by o.created_at limit p_limit
    );
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.outbox as o where o.id in (
        select f.id from private.outbox as f where f.failed_at < v_old order by f.failed_at limit p_limit
    );
    get diagnostics v_rows = row_count;
    return v_all + v_rows;
end
$function$;

CREATE OR REPLACE FUNCTION private.first_id_at (
  p_at timestamp with time zone
)
  RETURNS uuid
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.rpad(
        pg_catalog.encode(pg_catalog.substr(pg_catalog.int8send((extract(epoch from p_at) * 1000)::bigint), 3), 'hex'), 32, '0'
    )::uuid
$function$;

COMMENT ON FUNCTION "jobs"."purge_messages"(integer) IS 'Deletes notifications read and more than a year old, unread ones of more than two years, administrators'' notices and e-mail that was given up of more than a year, at most so many of each; returns how many rows. Call again until it is 0.';

COMMENT ON FUNCTION "private"."first_id_at"(timestamp with time zone) IS 'The smallest id that private.time_ordered_id() can have made then: every id from before is smaller.';

REVOKE ALL ON FUNCTION "jobs"."purge_messages"(integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."purge_messages"(integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."purge_messages"(integer) TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."purge_messages"(integer) TO "worker";

REVOKE ALL ON FUNCTION "private"."first_id_at"(timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."first_id_at"(timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."first_id_at"(timestamp WITH time zone) TO "postgres";
