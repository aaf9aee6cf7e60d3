-- An administrator's failed sign-in used to be counted before the password was looked at, and taken back when it was
-- right: a database that failed in between left a failure that nobody had judged. It is counted now in the transaction
-- that judges it, so a success has none of its own to take back from the address: it would forgive another's.

create or replace function edge.record_admin_sign_in(p_email text, p_address text, p_ok boolean) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin_id uuid;
begin
    if not p_ok then
        insert into private.sign_in_failures (kind, key, at) values
        ('admin_account', pg_catalog.left(pg_catalog.lower(p_email), 255), pg_catalog.clock_timestamp()),
        ('admin_address', pg_catalog.left(p_address, 255), pg_catalog.clock_timestamp());
        return;
    end if;
    delete from private.sign_in_failures as f where f.kind = 'admin_account' and f.key = pg_catalog.left(pg_catalog.lower(p_email), 255);
    update private.admin_users as a set last_login = pg_catalog.clock_timestamp()
    where a.email = pg_catalog.lower(p_email) returning a.id into v_admin_id;
    perform private.audit('admin:' || v_admin_id, 'admin.signed_in', 'admin_user', v_admin_id, pg_catalog.jsonb_build_object('address', p_address));
end
$$;
