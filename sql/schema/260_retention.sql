-- Purge old rows: expired rate limits, old failures, administrators' former addresses, uploads that no limit counts any
-- more, and e-mail and webhook messages of long ago (they hold names and addresses). Rows of money, the journal and the
-- audit log are never purged.

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
