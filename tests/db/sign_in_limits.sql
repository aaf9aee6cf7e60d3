-- Limits of administrators' failed sign-ins: of an account, of a client, and of an address that is known to the account.
-- threats: T64
begin;
\ir ../support/actors.sql
select * from no_plan();
select act_as_owner();
savepoint no_failures;

-- =====================================================================================================================
-- Each account and each client
-- =====================================================================================================================
set local role edge_functions;
select lives_ok($$ select edge.lock_login_attempt('SAM@admins.test', '198.51.100.200') $$, 'an attempt');
reset role;
select is(
    (select array_agg(l.classid::integer order by l.classid) from pg_locks as l where l.pid = pg_backend_pid() and l.locktype = 'advisory' and l.objsubid = 2),
    array[private.lock_key('login_to_account'), private.lock_key('login_from_address')], 'holds the locks of its account and its address'
);
set local role edge_functions;
select is((select count(*) from generate_series(1, 10), lateral (select edge.record_admin_sign_in('sam@admins.test', '198.51.100.' || generate_series, false)) as r), 10::bigint, 'ten failures');
select is(edge.admin_sign_in_way('SAM@admins.test', '198.51.100.200'), 'second_factor', 'leave the account to a password with the second factor, from any address');
select is(edge.admin_sign_in_way('olga@admins.test', '198.51.100.200'), 'password', 'and no other account');
select is((select count(*) from generate_series(1, 20), lateral (select edge.record_admin_sign_in('nobody' || generate_series || '@x.test', '192.0.2.1', false)) as r), 20::bigint, 'twenty failures from one address');
select is(edge.admin_sign_in_way('olga@admins.test', '192.0.2.1'), 'closed', 'lock the address');
select is((select count(*) from generate_series(0, 199) as n, lateral (select edge.record_admin_sign_in('nobody' || n || '@x.test', format('2001:db8:a:%s::%s', n % 11, n), false)) as r), 200::bigint, 'two hundred from eleven networks of one site');
select is(edge.admin_sign_in_way('olga@admins.test', '2001:db8:a:ff::1'), 'closed', 'lock all networks of it');
select is(edge.admin_sign_in_way('olga@admins.test', '2001:db8:b:1::1'), 'password', 'and no other site');
select lives_ok($$ select edge.record_admin_sign_in('sam@admins.test', '192.0.2.1', true, 'Browser') $$, 'a success');
select is(edge.admin_sign_in_way('sam@admins.test', '198.51.100.200'), 'password', 'clears the account');
select is(edge.admin_sign_in_way('olga@admins.test', '192.0.2.1'), 'closed', 'and not the address that it came from');
reset role;
select is((select a.payload ->> 'address' from private.audit_log as a where a.action = 'admin.signed_in' order by a.id desc limit 1), '192.0.2.1', 'which is on record');
rollback to savepoint no_failures;

-- =====================================================================================================================
-- An address that signed in to the account has a count of its own, here as in functions/auth
-- =====================================================================================================================
create temporary table vectors ("case" text, signed_in_to text, signed_in_from text, days_since integer, comes_from text, filled text, passes boolean, counts_as text);
\copy vectors from 'tests/support/known_addresses.csv' with (format csv, header)
-- Whether Olga's password alone is verified, and what a failure counts as.
create function actors.sign_in_result(p_vector vectors) returns text language plpgsql as $$
declare
    v_passes boolean;
    v_counts_as text;
    v_last bigint;
begin
    delete from private.sign_in_failures;
    delete from private.known_admin_addresses;
    insert into private.known_admin_addresses (admin_id, address_hash, seen_at)
    select a.id, private.admin_address_hash(a.id, (p_vector).signed_in_from), clock_timestamp() - make_interval(days => (p_vector).days_since)
    from (values (case (p_vector).signed_in_to when 'this' then user_id('olga') when 'other' then user_id('sam') end)) as a (id)
    where a.id is not null;
    insert into private.sign_in_failures (kind, key)
    select c.kind, c.key
    from (
        values ('account', 'admin_account', 'olga@admins.test', 10),
            ('own', 'admin_known', private.admin_address_hash(user_id('olga'), coalesce((p_vector).signed_in_from, '')), 10)
        union all
        select case n.allowance when 1 then 'network' else 'site' end, 'admin_address', n.network, 20 * n.allowance
        from private.networks_of((p_vector).comes_from) as n
    ) as c (what, kind, key, failures), generate_series(1, c.failures)
    where c.what = any(string_to_array((p_vector).filled, ' '));
    v_passes := edge.admin_sign_in_way('olga@admins.test', (p_vector).comes_from) = 'password';
    select coalesce(max(f.id), 0) into v_last from private.sign_in_failures as f;
    perform edge.record_admin_sign_in('olga@admins.test', (p_vector).comes_from, false);
    select case f.kind when 'admin_known' then 'own' else 'account' end into v_counts_as
    from private.sign_in_failures as f where f.id > v_last and f.kind <> 'admin_address';
    return concat_ws(' ', v_passes, case when v_passes then v_counts_as end);
end
$$;
select is(sign_in_result(v), concat_ws(' ', v.passes, v.counts_as), v."case") from vectors as v;
rollback to savepoint no_failures;

-- =====================================================================================================================
-- The count of a known address is its own
-- =====================================================================================================================
select is((select count(*) from edge.start_admin_session(user_id('olga'), '2001:db8:1:2::7', 'test', sha256('olga'))), 1::bigint, 'Olga signs in at home');
select is_empty($$ select 1 from private.known_admin_addresses where address_hash like '%2001:db8%' $$, 'which is kept as a hash');
set local role edge_functions;
select is((select count(*) from generate_series(1, 30), lateral (select edge.record_admin_sign_in('olga@admins.test', '203.0.113.' || generate_series, false)) as r), 30::bigint, 'thirty failures from elsewhere');
select is(edge.admin_sign_in_way('OLGA@admins.test', '2001:db8:1:2::7'), 'password', 'do not slow her');
select is((select count(*) from generate_series(1, 10), lateral (select edge.record_admin_sign_in('olga@admins.test', '2001:db8:1:2::' || generate_series, false)) as r), 10::bigint, 'ten failures of her own');
select is(edge.admin_sign_in_way('olga@admins.test', '2001:db8:1:2::7'), 'closed', 'do');
select lives_ok($$ select edge.record_admin_sign_in('olga@admins.test', '2001:db8:1:2::7', true) $$, 'a success from there');
select is(edge.admin_sign_in_way('olga@admins.test', '2001:db8:1:2::7'), 'password', 'clears her count');
select is(edge.admin_sign_in_way('olga@admins.test', '203.0.113.200'), 'second_factor', 'and not that of the others');
select is((select count(*) from generate_series(1, 10), lateral (select edge.record_wrong_admin_code('olga@admins.test', '203.0.113.' || generate_series)) as r), 10::bigint, 'ten wrong codes with her password');
select is(edge.admin_sign_in_way('olga@admins.test', '203.0.113.200'), 'closed', 'end that way too');
select is(edge.admin_sign_in_way('olga@admins.test', '2001:db8:1:2::7'), 'password', 'and not hers');
reset role;
update private.sign_in_failures set at = now() - interval '16 minutes';
select is(edge.admin_sign_in_way('olga@admins.test', '203.0.113.200'), 'password', 'a quarter of an hour later all begin anew');
select is((select relpersistence from pg_class where oid = 'private.sign_in_failures'::regclass), 'p'::"char", 'failures survive a crash');
select * from finish();
rollback;
