-- Administrators' accounts: sessions, sign-in, two-step sign-in, what a super admin does to other accounts.
-- threats: T64
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Sessions and sign-in
-- =====================================================================================================================
-- An administrator sees and ends the own session, no other
select act_as('elin');
select is((select count(*) from admin_sessions), 1::bigint, 'one row is visible: the own session');
select is((select array_agg(column_name::text order by ordinal_position) from information_schema.columns where table_schema = 'public' and table_name = 'admin_sessions'),
    array['session_token', 'admin_id', 'expires_at'], 'with exactly these columns');
select is((touch_admin_session() ->> 'success')::boolean, true, 'the session can be kept alive');
delete from admin_sessions;
select is((select count(*) from admin_sessions), 0::bigint, 'signing out removes it');
select raises($$ select pre_request.check_request() $$, 401, 'session_ended', 'Your session has ended. Sign in again.', 'and nothing more is answered');
select act_as_owner();
select is((select count(*) from public.admin_sessions where admin_id in (user_id('sam'), user_id('olga'))), 2::bigint, 'the others are still signed in');

-- Members and anonymous clients
select act_as('freya');
select throws_ok($$ select * from admin_sessions $$, '42501', null, 'a member sees no session');
select throws_ok($$ select touch_admin_session() $$, '42501', null, 'a member cannot call administrators'' functions');
select act_as('anonymous');
select throws_ok($$ select * from admin_sessions $$, '42501', null, 'an anonymous client sees no session');

-- Sign-in as functions/edge does it
select act_as_owner();
set local role edge_functions;
select is((select email from edge.admin_by_email('SAM@admins.test')), 'sam@admins.test', 'an account is found whatever the spelling');
select lives_ok($$ select edge.lock_login_attempt('SAM@admins.test', '198.51.100.200') $$, 'an attempt');
set local role none;
select is(
    (select array_agg(l.classid::integer order by l.classid) from pg_locks as l where l.pid = pg_backend_pid() and l.locktype = 'advisory' and l.objsubid = 2),
    array[private.lock_key('login_to_account'), private.lock_key('login_from_address')], 'holds the locks of its account and its address'
);
select throws_ok($$ select private.lock_key('mony') $$, '20000', null, 'a lock without a name is an error');
set local role edge_functions;
select is((select count(*) from generate_series(1, 10), lateral (select edge.record_admin_sign_in('sam@admins.test', '198.51.100.' || generate_series, false)) as r), 10::bigint, 'ten failures');
select is(edge.admin_sign_in_way('sam@admins.test', '198.51.100.200'), 'second_factor', 'leave the account to who shows the second factor too, from any address');
select is(edge.admin_sign_in_way('olga@admins.test', '198.51.100.200'), 'password', 'and no other account');
select is((select count(*) from generate_series(1, 20), lateral (select edge.record_admin_sign_in('nobody' || generate_series || '@x.test', '192.0.2.1', false)) as r), 20::bigint, 'twenty failures from one address');
select is(edge.admin_sign_in_way('olga@admins.test', '192.0.2.1'), 'closed', 'lock the address');
select is((select count(*) from generate_series(0, 199) as n, lateral (select edge.record_admin_sign_in('nobody' || n || '@x.test', format('2001:db8:a:%s::%s', n % 11, n), false)) as r), 200::bigint, 'two hundred from eleven networks of one site');
select is(edge.admin_sign_in_way('olga@admins.test', '2001:db8:a:ff::1'), 'closed', 'lock all networks of it');
select is(edge.admin_sign_in_way('olga@admins.test', '2001:db8:b:1::1'), 'password', 'and no other site');
select lives_ok($$ select edge.record_admin_sign_in('sam@admins.test', '198.51.100.10', true, 'Browser') $$, 'a success');
select is(edge.admin_sign_in_way('sam@admins.test', '198.51.100.200'), 'password', 'clears the account');
select is(edge.use_totp_step(actors.user_id('olga'), 100), true, 'a code counts');
select is(edge.use_totp_step(actors.user_id('olga'), 100), false, 'once');
select is(edge.use_totp_step(actors.user_id('olga'), 99), false, 'and never an earlier one');
select lives_ok(format('select edge.set_admin_password(%L, %L, null)', actors.user_id('olga'), '$argon2id$new'), 'a new password');
select throws_ok($$ select * from private.admin_users $$, '42501', null, 'the table itself is closed to the service');
reset role;
select is((select count(*) from public.admin_sessions where admin_id = user_id('olga')), 0::bigint, 'ends the other sessions');
select throws_ok($$ update private.admin_users set password_hash = 'plain' $$, '23514', null, 'only Argon2id hashes are stored');
update private.admin_users set is_active = false where id = user_id('sam');
select raises(format('select * from edge.start_admin_session(%L, null, null, sha256(''''))', user_id('sam')), 401, 'invalid_credentials', 'Authentication failed', 'a deactivated account starts no session');
select is((jobs.expire_admin_sessions() >= 0), true, 'the sweep runs');

-- An address that signed in to the account has a count of its own
select is((select count(*) from edge.start_admin_session(user_id('olga'), '2001:db8:1:2::7', 'test', sha256('olga'))), 1::bigint, 'Olga signs in at home');
set local role edge_functions;
select is((select count(*) from generate_series(1, 30), lateral (select edge.record_admin_sign_in('olga@admins.test', '203.0.113.' || generate_series, false)) as r), 30::bigint, 'thirty failures from elsewhere');
select is(edge.admin_sign_in_way('olga@admins.test', '203.0.113.200'), 'second_factor', 'fill the count of all others');
select is(edge.admin_sign_in_way('OLGA@admins.test', '2001:db8:1:2::7'), 'password', 'and not that of her address');
select is(edge.admin_sign_in_way('olga@admins.test', '2001:db8:1:2:ffff::1'), 'password', 'which is her whole network');
select is(edge.admin_sign_in_way('olga@admins.test', '2001:db8:1:3::7'), 'second_factor', 'and not the one beside it');
select is((select count(*) from generate_series(1, 20), lateral (select edge.record_admin_sign_in('nobody' || generate_series || '@x.test', '2001:db8:1:2::' || generate_series, false)) as r), 20::bigint, 'twenty failures of her neighbours');
select is(edge.admin_sign_in_way('olga@admins.test', '2001:db8:1:2::7'), 'password', 'do not slow her');
select is(edge.admin_sign_in_way('elin@admins.test', '2001:db8:1:2::7'), 'closed', 'but whoever was never there');
select is((select count(*) from generate_series(1, 10), lateral (select edge.record_admin_sign_in('olga@admins.test', '2001:db8:1:2::' || generate_series, false)) as r), 10::bigint, 'ten failures of her own');
select is(edge.admin_sign_in_way('olga@admins.test', '2001:db8:1:2::7'), 'closed', 'are the end of it');
select lives_ok($$ select edge.record_admin_sign_in('olga@admins.test', '2001:db8:1:2::7', true) $$, 'a success from there');
select is(edge.admin_sign_in_way('olga@admins.test', '2001:db8:1:2::7'), 'password', 'clears her count');
select is(edge.admin_sign_in_way('olga@admins.test', '203.0.113.200'), 'second_factor', 'and not that of the others');
select is((select count(*) from generate_series(1, 10), lateral (select edge.record_wrong_admin_code('olga@admins.test', '203.0.113.' || generate_series)) as r), 10::bigint, 'ten wrong codes with her password');
select is(edge.admin_sign_in_way('olga@admins.test', '203.0.113.200'), 'closed', 'end that way too');
select is(edge.admin_sign_in_way('olga@admins.test', '2001:db8:1:2::7'), 'password', 'and not hers');
reset role;
select is_empty($$ select 1 from private.known_admin_addresses where address_hash like '%2001:db8%' $$, 'addresses are kept as hashes');
update private.known_admin_addresses set seen_at = now() - interval '91 days';
select is(edge.admin_sign_in_way('olga@admins.test', '2001:db8:1:2::7'), 'closed', 'and known for 90 days');
update private.sign_in_failures set at = now() - interval '16 minutes';
select is(edge.admin_sign_in_way('olga@admins.test', '203.0.113.200'), 'password', 'a quarter of an hour later all begin anew');

-- The second step
select edge.set_totp_secret(user_id('elin'), 'k', 'encrypted');
select edge.confirm_totp(user_id('elin'));
select isnt((select totp_confirmed_at from private.admin_users where id = user_id('elin')), null, 'a second step is confirmed');
select edge.remove_totp(user_id('elin'));
select is((select totp_secret from private.admin_users where id = user_id('elin')), null, 'and in demo mode taken off again');
select audited(a, 'what an administrator does with the own account') from unnest(array['admin.signed_in', 'admin.password_changed', 'admin.two_step_on', 'admin.two_step_off']) as a;
update private.settings set value = 'false' where key = 'demo';
select raises(format('select edge.remove_totp(%L)', user_id('elin')), 403, 'two_step_required', 'Your role needs two-step sign-in.', 'with real money finance keeps it');
select lives_ok(format('select edge.remove_totp(%L)', user_id('sam')), 'support may take it off');

-- Every function that only administrators may call asks the table, not the token alone
select raises('select private.require_admin()', 403, 'forbidden', 'Only administrators can do this.', 'no other role is an administrator');
create temporary table endpoints as
select p.oid::regproc::text || '(' || coalesce((select string_agg('null::' || t::regtype, ', ') from unnest(p.proargtypes::oid[]) as t), '') || ')' as call
from pg_proc as p
where p.pronamespace = 'public'::regnamespace and has_function_privilege('platform_admin', p.oid, 'execute') and not has_function_privilege('authenticated', p.oid, 'execute');
grant select on endpoints to public;
select cmp_ok((select count(*) from endpoints), '>', 20::bigint, 'there are many such endpoints');
select act_as('sam');
select raises('select ' || call, 401, 'session_ended', 'Your session has ended. Sign in again.', 'an administrator who was switched off does not get through ' || call) from endpoints;
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Accounts
-- =====================================================================================================================
select act_as('elin');
select raises($$ select list_administrators() $$, 403, 'forbidden', 'A finance admin cannot do this.', 'accounts are the super admin''s');
select raises(format($$ select reset_two_step(%L, 'x') $$, user_id('sam')), 403, 'forbidden', 'A finance admin cannot do this.', 'finance resets nobody''s second step');
select raises(format($$ select end_admin_sessions(%L) $$, user_id('sam')), 403, 'forbidden', 'A finance admin cannot do this.', 'and ends nobody''s sessions');
select raises(format($$ select update_administrator(%L, null, 'super_admin', null) $$, user_id('elin')), 403, 'forbidden', 'A finance admin cannot do this.', 'nobody makes herself more');
select act_as_owner();
select raises(
    format($$ select edge.create_administrator(%L, 'x@admins.test', 'X', 'super_admin', '$argon2id$x') $$, user_id('elin')),
    403, 'forbidden', 'Only a super admin can do this.', 'nor anybody else'
);
select is(
    edge.create_administrator(user_id('olga'), 'New@Admins.test', 'New', 'support_admin', '$argon2id$x') #>> '{administrator,email}',
    'new@admins.test', 'Olga makes an account'
);
select is(
    (select actor from private.audit_log where action = 'admin.created' order by id desc limit 1), 'admin:' || user_id('olga'), 'and is on record with it'
);
select raises(
    format($$ select edge.create_administrator(%L, 'NEW@admins.test', 'New', 'support_admin', '$argon2id$x') $$, user_id('olga')),
    409, 'email_taken', 'There is already an administrator with this email.', 'once'
);
select act_as('olga');
select ok(not (list_administrators() -> 'administrators' -> 0 ? 'password_hash'), 'lists carry no hash');
select is(update_administrator(user_id('sam'), null, 'finance_admin', null) #>> '{administrator,role}', 'finance_admin', 'another role');
select raises(
    format($$ select update_administrator(%L, null, 'support_admin', null) $$, user_id('olga')),
    403, 'forbidden', 'You cannot change your own role or switch your own account off.', 'not for oneself'
);
select raises(format($$ select update_administrator(%L, null, null, false) $$, user_id('olga')), 403, 'forbidden', 'You cannot change your own role or switch your own account off.', 'nor off');
select lives_ok(format($$ select update_administrator(%L, 'Olga P.', null, null) $$, user_id('olga')), 'but a name');
select raises($$ select update_administrator(gen_random_uuid(), 'x', null, null) $$, 404, 'not_found', 'There is no such administrator.', 'an unknown one is unknown');
select raises(format($$ select update_administrator(%L, null, 'owner', null) $$, user_id('sam')), 400, 'invalid_input', 'There is no such role.', 'so is an unknown role');
select raises(format($$ select reset_two_step(%L, ' ') $$, user_id('sam')), 400, 'reason_required', 'Give a reason.', 'a lost device needs a reason');
select lives_ok(format($$ select reset_two_step(%L, 'Called back') $$, user_id('elin')), 'and is removed');
select act_as_owner();
select is_empty(
    format('select 1 from public.admin_sessions where admin_id in (%L, %L)', user_id('sam'), user_id('elin')), 'with the sessions of both'
);
select raises(
    format($$ select edge.reset_admin_password(%L, %L, '$argon2id$x') $$, user_id('olga'), user_id('olga')),
    403, 'forbidden', 'Change your own password with the current one.', 'one''s own password is changed, not reset'
);
select is(
    (select action from private.audit_log where object_id = user_id('elin') order by id desc limit 1), 'admin.two_step_reset', 'the audit log knows'
);

select act_as('olga');
select raises(format($$ select reset_two_step(%L, 'Lost') $$, user_id('olga')), 403, 'forbidden', 'Turn your own two-step sign-in off with a code.', 'an administrator cannot remove the own second step like this');
select raises($$ select reset_two_step(gen_random_uuid(), 'Lost') $$, 404, 'not_found', 'There is no such administrator.', 'nor that of an unknown administrator');
select act_as_owner();
select raises(
    format($$ select edge.reset_admin_password(%L, %L, '$argon2id$x') $$, user_id('olga'), gen_random_uuid()),
    404, 'not_found', 'There is no such administrator.', 'an unknown administrator has no password'
);
select edge.start_admin_session(user_id('sam'), '127.0.0.1', 'test', sha256('sam'));
select is(
    edge.reset_admin_password(user_id('olga'), user_id('sam'), '$argon2id$reset') #>> '{administrator,email}', 'sam@admins.test', 'another one''s password is reset'
);
select is((select password_hash from private.admin_users where id = user_id('sam')), '$argon2id$reset', 'to the new hash');
select is_empty(format('select 1 from public.admin_sessions where admin_id = %L', user_id('sam')), 'and the sessions end');

select edge.start_admin_session(user_id(name), '198.51.100.9', 'Browser', sha256('elsewhere')) from unnest(array['sam', 'sam', 'olga']) as name;
select act_as('olga');
create temporary table listed as
select item ->> 'email' as email, session - array['started_at', 'last_seen_at'] as session
from jsonb_array_elements(list_administrators() -> 'administrators') as item, jsonb_array_elements(item -> 'sessions') as session;
select is(
    (select array_agg(session) from listed where email = 'sam@admins.test'),
    array_fill('{"address": "198.51.100.9", "user_agent": "Browser", "is_current": false}'::jsonb, array[2]), 'lists say where an account is signed in'
);
select is((select count(*) filter (where (session ->> 'is_current')::boolean) from listed), 1::bigint, 'and which session asks');
select raises($$ select end_admin_sessions(gen_random_uuid()) $$, 404, 'not_found', 'There is no such administrator.', 'an unknown administrator has no sessions');
select is(end_admin_sessions(user_id('sam')), '{"success": true, "sessions": 2}', 'sessions are ended');
select is(end_admin_sessions(user_id('sam')), '{"success": true, "sessions": 0}', 'once');
select is(end_admin_sessions(user_id('olga')) -> 'sessions', (select to_jsonb(count(*) - 1) from listed where email = 'olga@admins.test'), 'of one''s own the others');
select lives_ok('select list_administrators()', 'the present one goes on');
select act_as_owner();
select is_empty(format('select 1 from public.admin_sessions where admin_id = %L', user_id('sam')), 'no other is left');
select is(
    (select payload -> 'sessions' from private.audit_log where action = 'admin.sessions_ended' and object_id = user_id('sam') order by id limit 1), '2', 'and how many is on record'
);
select audited(a, 'what a super admin does to an account')
from unnest(array['admin.created', 'admin.updated', 'admin.password_reset', 'admin.sessions_ended']) as a;
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- With real money the roles that decide need the second step
-- =====================================================================================================================
select edge.subscribe_bot(user_id('freya'), '11111111-1111-4111-8111-111111111111', 'Scout', 'Demo-Server', '1001', 12, 'k1', '\x0102');

create function actors.wants_two_step(p_sql text, p_description text) returns text language sql as $$
    select raises(p_sql, 403, 'two_step_required', 'Your role needs two-step sign-in. Set it up in your settings first.', p_description)
$$;
create function actors.reveal(p_name text) returns text language sql as $$
    select format('select edge.encrypted_mt5_password(%L, %L)', user_id(p_name), '11111111-1111-4111-8111-111111111111')
$$;
create function actors.creation(p_name text) returns text language sql as $$
    select format('select edge.create_administrator(%L, %L, %L, %L, %L)', user_id(p_name), p_name || '2@admins.test', 'Two', 'super_admin', '$argon2id$x')
$$;
create function actors.reset(p_name text) returns text language sql as $$
    select format('select edge.reset_admin_password(%L, %L, %L)', user_id(p_name), user_id('sam'), '$argon2id$reset')
$$;
create function actors.disabling(p_name text) returns text language sql as $$
    select format('select update_member(%L, %L, null, %L)', profile_id(p_name), 'suspended', 'Reason')
$$;
grant execute on all functions in schema actors to public;

-- In demo mode it is not needed.
select lives_ok(reveal('elin'), 'in demo mode Elin opens a password without the second step');
select lives_ok(creation('olga'), 'and Olga makes an account');
select act_as('olga');
select lives_ok(disabling('ask'), 'and suspends a member');

-- With real money Elin and Olga have not set it up.
select act_as_owner();
update private.settings set value = 'false' where key = 'demo';
create temporary table before as select
    (select count(*) from private.audit_log) as audit_entries, (select count(*) from private.admin_users) as accounts;
select wants_two_step(reveal(n), n || ' opens no password without the second step') from unnest(array['elin', 'olga']) as n;
select wants_two_step(creation('olga'), 'nor does Olga make an account');
select wants_two_step(reset('olga'), 'or reset a password');
select raises(creation('elin'), 403, 'forbidden', 'Only a super admin can do this.', 'who may not in any case is notified so');
select raises(reveal('sam'), 403, 'forbidden', 'Only finance and super administrators can see MT5 passwords.', 'in both places');
select act_as('olga');
select wants_two_step(disabling('embla'), 'or block a member');
select wants_two_step(format('select update_member(%L, null, %L, null)', profile_id('embla'), 'A note'), 'or write a note');
select act_as('elin');
select wants_two_step($$ select update_subscription('11111111-1111-4111-8111-111111111111', 'suspended', 'Reason') $$, 'Elin stops no bot');
select wants_two_step($$ select note_export('members', '{}') $$, 'and takes no list away');
select lives_ok($$ select list_deposits('{"page": 1}') $$, 'but reads');
select act_as_owner();
select is((select count(*) from private.audit_log), (select audit_entries from before), 'nothing of it is on the record');
select is((select count(*) from private.admin_users), (select accounts from before), 'there is no new account');
select is((select password_hash from private.admin_users where id = user_id('sam')), '$argon2id$test', 'no other password');
select results_eq(
    $$ select account_status::text, admin_notes from private.profiles where user_id = user_id('embla') $$, $$ values ('active', null::text) $$,
    'no other member'
);
select is((select status::text from public.bot_subscriptions where id = '11111111-1111-4111-8111-111111111111'), 'active', 'and no other subscription');

-- Support may do without.
select act_as('sam');
select lives_ok(disabling('embla'), 'Sam suspends a member without it');
select lives_ok($$ select update_subscription('11111111-1111-4111-8111-111111111111', 'suspended', 'Reason') $$, 'and stops a bot');
select lives_ok($$ select note_export('audit', '{}') $$, 'and takes the own actions away');

-- Setting it up needs none, and so does the first account.
select act_as_owner();
set local role edge_functions;
select lives_ok(format('select * from edge.start_admin_session(%L, null, null, sha256(''''))', user_id('olga')), 'Olga signs in');
select lives_ok(format('select edge.set_totp_secret(%L, %L, %L)', user_id('olga'), 'k', '\x00'), 'and sets the second step up');
reset role;
select wants_two_step(reveal('olga'), 'which counts');
set local role edge_functions;
select lives_ok(format('select edge.confirm_totp(%L)', user_id('olga')), 'once she showed a code');
reset role;
select lives_ok(reveal('olga'), 'then she opens a password');
select lives_ok(reset('olga'), 'and resets one');
select act_as('olga');
select lives_ok(disabling('buri'), 'and block a member');
select act_as_owner();
select isnt(private.create_administrator('first@admins.test', 'First', 'super_admin', '$argon2id$x'), null, 'an account is made on the machine itself as ever');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- On the machine itself the only super admin comes in again
-- =====================================================================================================================
update private.admin_users set totp_key_id = 'k', totp_secret = '\x00', totp_confirmed_at = now(), totp_last_step = 1 where id = user_id('olga');
create temporary table before as select count(*) from private.audit_log;
select raises($$ select private.recover_administrator('olga@admins.test', '', '$argon2id$new', ' ') $$, 400, 'reason_required', 'Give a reason.', 'not without a reason');
select raises($$ select private.recover_administrator('nobody@admins.test', '', '$argon2id$new', 'Lost') $$, 404, 'not_found', 'There is no such administrator.', 'nobody else');
select raises($$ select private.recover_administrator('olga@admins.test', 'SAM@admins.test', '$argon2id$new', 'Lost') $$, 409, 'email_taken', 'There is already an administrator with this email.', 'not with another''s email');
update private.admin_users set is_active = false where id = user_id('elin');
select raises($$ select private.recover_administrator('elin@admins.test', '', '$argon2id$new', 'Lost') $$, 409, 'invalid_state', 'This account is switched off. A super admin switches it on in the panel.', 'and nobody who was switched off');
select is((select count(*) from private.audit_log), (select count from before), 'none of it is on the record');
select results_eq(
    $$ select a.email, a.password_hash, a.totp_secret from private.admin_users as a where a.id = user_id('olga') $$,
    $$ values ('olga@admins.test', '$argon2id$test', '\x00'::bytea) $$, 'and Olga''s account is what it was'
);
select is(private.recover_administrator('OLGA@admins.test', ' New@admins.test ', '$argon2id$new', ' Phone lost, called back '), user_id('olga'), 'who owns the database lets her in');
select results_eq(
    $$ select a.email, a.password_hash, a.totp_key_id, a.totp_secret, a.totp_confirmed_at, a.totp_last_step from private.admin_users as a where a.id = user_id('olga') $$,
    $$ values ('new@admins.test', '$argon2id$new', null::text, null::bytea, null::timestamptz, null::bigint) $$, 'with a new password and email, without two-step sign-in'
);
select is((select count(*) from public.admin_sessions where admin_id = user_id('olga')), 0::bigint, 'and without open sessions');
select isnt((select count(*) from public.admin_sessions where admin_id = user_id('sam')), 0::bigint, 'others'' go on');
select results_eq(
    $$ select a.actor, a.action, a.object_id, a.payload from private.audit_log as a order by a.id desc limit 1 $$,
    $$ values ('system', 'admin.recovered', user_id('olga'), '{"reason": "Phone lost, called back", "email_changed": true}'::jsonb) $$, 'the audit log says so'
);
select is(private.recover_administrator('new@admins.test', null, '$argon2id$again', 'Again'), user_id('olga'), 'the email may stay');
select is((select payload ->> 'email_changed' from private.audit_log order by id desc limit 1), 'false', 'which is said too');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A successful sign-in forgives no failures of its address
-- =====================================================================================================================
set local role edge_functions;
select is((select count(*) from generate_series(1, 20), lateral (select edge.record_admin_sign_in('nobody' || generate_series || '@x.test', '192.0.2.1', false)) as r), 20::bigint, 'twenty failures from one address');
select lives_ok($$ select edge.record_admin_sign_in('sam@admins.test', '192.0.2.1', true) $$, 'a success from there');
select is(edge.admin_sign_in_way('olga@admins.test', '192.0.2.1'), 'closed', 'forgives none of them');
reset role;
select is((select a.payload ->> 'address' from private.audit_log as a where a.action = 'admin.signed_in' order by a.id desc limit 1), '192.0.2.1', 'and is on record');
select * from finish();
rollback;
