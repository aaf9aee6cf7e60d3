-- Purge old rows: expired rate limits, old failures, administrators' former addresses, uploads that no limit counts any
-- more, and e-mail and webhook messages of long ago (they hold names and addresses). Once a night what only told
-- somebody of something: the journal and the audit log say it for ever. Rows of money, the journal, the audit log and the
-- days made from them are never purged: the ledger checks compare each with the others, whatever its age.
-- Rule: specification S24.4, decision D34.

create function jobs.purge() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    v_rows integer;
    v_all integer;
begin
    delete from private.rate_limits as r where r.window_start < v_now - interval '1 day';
    get diagnostics v_all = row_count;
    delete from private.sign_in_failures as f where f.at < v_now - interval '1 day';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.known_admin_addresses as k where k.seen_at < v_now - interval '90 days';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.receipt_uploads as u
    where not exists (
        select 1 from storage.objects as o
        where o.bucket_id = 'receipts' and o.name = u.name and (
            o.created_at > v_now - interval '1 day'
            or not exists (select 1 from private.deposit_receipts as d where d.name = o.name)
        )
    );
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.alarm_webhooks as w where w.created_at < v_now - interval '30 days';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.outbox as o where o.sent_at < v_now - interval '30 days';
    get diagnostics v_rows = row_count;
    return v_all + v_rows;
end
$$;
comment on function jobs.purge() is
'Deletes expired rate limits, failures older than a day, addresses that no administrator used for 90 days, uploads that no limit counts any more, webhook messages and e-mail sent more than 30 days ago; returns how many rows.';
grant execute on function jobs.purge() to worker;

create function jobs.purge_messages(p_limit integer default 50000) returns integer
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
grant execute on function jobs.purge_messages(integer) to worker;
