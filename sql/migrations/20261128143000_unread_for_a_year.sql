-- A notification is deleted after a year, whether it was read or not: unread ones stayed for two.
create or replace function jobs.purge_messages(p_limit integer default 50000) returns integer
language plpgsql volatile security definer set search_path = '' as $$
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
$$;
comment on function jobs.purge_messages(integer) is
'Deletes notifications, read or not, administrators'' notices and e-mail that was given up, all of more than a year, at most so many of each; returns how many rows. Call again until it is 0.';
