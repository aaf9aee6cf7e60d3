-- Limits of administrators' failed sign-ins; functions/auth counts those of members. Logged rows: neither a crash nor a
-- restart resets them.
-- Rules: specification S13.4, S13.5 and S14.6, decision D27.

create table private.sign_in_failures (
    id bigint generated always as identity primary key,
    kind text not null check (kind in ('admin_account', 'admin_address', 'admin_code', 'admin_known', 'member_account')),
    key text not null check (length(key) <= 255),
    at timestamptz not null default now()
);
comment on table private.sign_in_failures is
'Failed sign-ins per account and per address; those from an address that is known for the account, and wrong codes after a full count, apart. A success deletes those that it was counted with.';
alter table private.sign_in_failures enable row level security;
create index sign_in_failures_key_idx on private.sign_in_failures (kind, key, at);

create function edge.lock_login_attempt(p_email text, p_address text) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('login_to_account'), pg_catalog.hashtext(pg_catalog.lower(p_email)));
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('login_from_address'), pg_catalog.hashtext(private.network_of(p_address)));
end
$$;
comment on function edge.lock_login_attempt(text, text) is
'One attempt on an account, and from an address, at a time: a hundred at once would all see few failures.';
grant execute on function edge.lock_login_attempt(text, text) to edge_functions;

create function private.admin_address_hash(p_admin_id uuid, p_address text) returns text
language sql immutable set search_path = '' as $$
    select pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(p_admin_id || ' ' || private.network_of(p_address), 'utf8')), 'hex')
$$;
comment on function private.admin_address_hash(uuid, text) is 'What stands for an administrator''s sign-ins from a network.';

create function private.known_admin_address(p_email text, p_address text) returns text
language plpgsql stable set search_path = '' as $$
begin
    return (
        select k.address_hash
        from private.admin_users as a
        inner join private.known_admin_addresses as k on k.admin_id = a.id
        where a.email = pg_catalog.lower(p_email) and k.address_hash = private.admin_address_hash(a.id, p_address)
            and k.seen_at > pg_catalog.clock_timestamp() - interval '90 days'
    );
end
$$;
comment on function private.known_admin_address(text, text) is
'The hash of an address that signed in to this account in the last 90 days; null for any other.';

create function private.count_sign_in_failures(p_kind text, p_key text) returns bigint
language sql stable set search_path = '' as $$
    select count(*) from private.sign_in_failures as f
    where f.kind = p_kind and f.key = p_key and f.at > pg_catalog.clock_timestamp() - interval '15 minutes'
$$;
comment on function private.count_sign_in_failures(text, text) is 'Failures of an account, or of an address, in the last 15 minutes.';

-- Guessing slows the client that guesses, not the owner: an address that signed in to the account before has a count
-- of its own, as for members (functions/auth/limits/passwords.py; tests/support/known_addresses.csv holds for both).
-- Beyond the count that all others share the password passes together with a code. Wrong codes with the right password
-- have a count too, which only those with the password can fill.
create function edge.admin_sign_in_way(p_email text, p_address text) returns text
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_account text := pg_catalog.left(pg_catalog.lower(p_email), 255);
    v_known text := private.known_admin_address(p_email, p_address);
begin
    if v_known is not null then
        return case when private.count_sign_in_failures('admin_known', v_known) < 10 then 'password' else 'closed' end;
    elsif exists (
        select from private.networks_of(p_address) as n where private.count_sign_in_failures('admin_address', n.network) >= 20 * n.allowance
    ) then
        return 'closed';
    elsif private.count_sign_in_failures('admin_account', v_account) < 10 then
        return 'password';
    elsif private.count_sign_in_failures('admin_code', v_account) < 10 then
        return 'second_factor';
    end if;
    return 'closed';
end
$$;
comment on function edge.admin_sign_in_way(text, text) is
'How this address may sign in to this account now: by password, only by password and second_factor at once, or not at all (closed).';
grant execute on function edge.admin_sign_in_way(text, text) to edge_functions;

-- Record a failure in the transaction that verifies the password, never before: if the database fails in between, no
-- unverified failure remains, and a success need not delete a failure of its own, which could delete another
-- client's.
create function edge.record_admin_sign_in(p_email text, p_address text, p_ok boolean, p_user_agent text default null) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_account text := pg_catalog.left(pg_catalog.lower(p_email), 255);
    v_known text := private.known_admin_address(p_email, p_address);
    v_admin_id uuid;
begin
    if not p_ok then
        insert into private.sign_in_failures (kind, key, at)
        select f.kind, f.key, pg_catalog.clock_timestamp()
        from (
            select 'admin_address', n.network from private.networks_of(p_address) as n
            union all
            values (case when v_known is null then 'admin_account' else 'admin_known' end, coalesce(v_known, v_account))
        ) as f (kind, key)
        -- A full count ends 15 minutes after what filled it, whatever else is tried.
        where f.kind = 'admin_address' or private.count_sign_in_failures(f.kind, f.key) < 10;
        return;
    end if;
    delete from private.sign_in_failures as f
    where (v_known is null and f.kind in ('admin_account', 'admin_code') and f.key = v_account) or (f.kind = 'admin_known' and f.key = v_known);
    update private.admin_users as a set last_login = pg_catalog.clock_timestamp()
    where a.email = pg_catalog.lower(p_email) returning a.id into v_admin_id;
    perform private.audit(
        'admin:' || v_admin_id, 'admin.signed_in', 'admin_user', v_admin_id,
        pg_catalog.jsonb_build_object('address', p_address, 'user_agent', pg_catalog.left(p_user_agent, 400))
    );
end
$$;
comment on function edge.record_admin_sign_in(text, text, boolean, text) is
'Records a login attempt: a failure counts against address and account; a success deletes the account''s failures, of a known address those that it made, and writes an audit row with address and device.';
grant execute on function edge.record_admin_sign_in(text, text, boolean, text) to edge_functions;

create function edge.record_wrong_admin_code(p_email text, p_address text) returns void
language sql volatile security definer set search_path = '' as $$
    insert into private.sign_in_failures (kind, key, at)
    select 'admin_code', pg_catalog.left(pg_catalog.lower(p_email), 255), pg_catalog.clock_timestamp()
    union all
    select 'admin_address', n.network, pg_catalog.clock_timestamp() from private.networks_of(p_address) as n
$$;
comment on function edge.record_wrong_admin_code(text, text) is
'Records a wrong code that came with the right password when only both at once could pass.';
grant execute on function edge.record_wrong_admin_code(text, text) to edge_functions;
