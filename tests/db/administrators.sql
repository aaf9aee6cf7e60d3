-- Administrators' accounts: sessions, sign-in, two-step sign-in, what a super admin does to other accounts.
-- threats: T64 T69
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
set local role none;
select throws_ok($$ select private.lock_key('mony') $$, '20000', null, 'a lock without a name is an error');
set local role edge_functions;
select lives_ok($$ select edge.record_admin_sign_in('sam@admins.test', '198.51.100.10', true, 'Browser') $$, 'a success is recorded');
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

-- The second step
update private.admin_users set is_active = true where id = user_id('sam');
select signs_in_again(n) from unnest(array['elin', 'sam']) as n;
select edge.start_admin_session(user_id('elin'), '127.0.0.1', 'elsewhere', sha256('elsewhere'));
select serve('elin');
select edge.set_totp_secret(actors.user_id('elin'), 'k', 'encrypted');
select edge.confirm_totp(actors.user_id('elin'));
select act_as_owner();
select results_eq(
    $$ select session_token from public.admin_sessions where admin_id = user_id('elin') $$,
    $$ select session_id from actors.people where name = 'elin' $$, 'which ends the other sessions'
);
select lives_ok(format('select edge.confirm_totp(%L)', user_id('elin')), 'again') from serve('elin');
select act_as_owner();
select is((select count(*) from private.audit_log where action = 'admin.two_step_on' and object_id = user_id('elin')), 1::bigint, 'it is on the record once');
select isnt((select totp_confirmed_at from private.admin_users where id = user_id('elin')), null, 'a second step is confirmed');
select serve('elin');
select edge.remove_totp(actors.user_id('elin'));
select act_as_owner();
select is((select totp_secret from private.admin_users where id = user_id('elin')), null, 'and in demo mode taken off again');
select audited(a, 'what an administrator does with the own account') from unnest(array['admin.signed_in', 'admin.password_changed', 'admin.two_step_on', 'admin.two_step_off']) as a;
update private.settings set value = 'false' where key = 'demo';
select raises(format('select edge.remove_totp(%L)', user_id('elin')), 403, 'two_step_required', 'Your role needs two-step sign-in.', 'with real money finance keeps it');
select lives_ok(format('select edge.remove_totp(%L)', user_id('sam')), 'support may take it off') from serve('sam');
select act_as_owner();
update private.admin_users set is_active = false where id = user_id('sam');

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
select serve('elin');
select raises(
    format($$ select edge.create_administrator(%L, 'x@admins.test', 'X', 'super_admin', '$argon2id$x') $$, user_id('elin')),
    403, 'forbidden', 'Only a super admin can do this.', 'nor anybody else'
);
select serve('olga');
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
select serve('olga');
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
select lives_ok(creation('olga'), 'and Olga makes an account') from serve('olga');
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
select serve('olga');
select lives_ok(format('select edge.set_totp_secret(%L, %L, %L)', user_id('olga'), 'k', '\x00'), 'and sets the second step up');
select wants_two_step(reveal('olga'), 'which counts');
select lives_ok(format('select edge.confirm_totp(%L)', user_id('olga')), 'once she showed a code');
select lives_ok(reveal('olga'), 'then she opens a password');
select lives_ok(reset('olga'), 'and resets one');
select act_as('olga');
select lives_ok(disabling('buri'), 'and block a member');
select act_as_owner();
select isnt(private.create_administrator('first@admins.test', 'First', 'super_admin', '$argon2id$x'), null, 'an account is made on the machine itself as ever');
select is(private.put_administrator('First@admins.test', 'Other', 'support_admin', '$argon2id$y'), (select id from private.admin_users where email = 'first@admins.test'), 'or gets another password');
select results_eq($$ select role::text, password_hash from private.admin_users where email = 'first@admins.test' $$, $$ values ('super_admin', '$argon2id$y') $$, 'and nothing else');
select isnt(private.put_administrator('second@admins.test', 'Second', 'support_admin', '$argon2id$z'), null, 'one that is not there is made');
select is_empty($$ select * from private.administrator_discrepancies where id in (select id from private.admin_users where email in ('first@admins.test', 'second@admins.test')) $$, 'the audit log says so');
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
    $$ select a.actor, a.action, a.object_id, a.payload - 'state' from private.audit_log as a order by a.id desc limit 1 $$,
    $$ values ('system', 'admin.recovered', user_id('olga'), '{"reason": "Phone lost, called back", "email_changed": true}'::jsonb) $$, 'the audit log says so'
);
select is(private.recover_administrator('new@admins.test', null, '$argon2id$again', 'Again'), user_id('olga'), 'the email may stay');
select is((select payload ->> 'email_changed' from private.audit_log order by id desc limit 1), 'false', 'which is said too');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A token alone makes no account and no second step
-- =====================================================================================================================
create function actors.asks(p_what text, p_sql text) returns text language sql as $$
    select raises(
        p_sql, 403, 'reauthentication_needed', 'Sign in again to ' || p_what || ': your last sign-in is more than ten minutes old.', 'needs a sign-in: ' || p_what
    )
$$;
create temporary table acts (what text, sql text);
insert into acts values
('set up two-step sign-in', format('select edge.set_totp_secret(%L, %L, %L)', user_id('olga'), 'k', '\x00')),
('turn two-step sign-in on', format('select edge.confirm_totp(%L)', user_id('olga'))),
('turn two-step sign-in off', format('select edge.remove_totp(%L)', user_id('olga'))),
('create an administrator', format('select edge.create_administrator(%L, %L, %L, %L, %L)', user_id('olga'), 'new@admins.test', 'New', 'super_admin', '$argon2id$x')),
('reset a password', format('select edge.reset_admin_password(%L, %L, %L)', user_id('olga'), user_id('sam'), '$argon2id$x')),
('reset two-step sign-in', format('select reset_two_step(%L, %L)', user_id('sam'), 'Lost')),
('change an administrator', format('select update_administrator(%L, null, %L, null)', user_id('sam'), 'finance_admin')),
('end the sessions of another administrator', format('select end_admin_sessions(%L)', user_id('sam')));
grant all on acts to public;
grant execute on all functions in schema actors to public;
select signed_in_before('olga', '10 minutes 1 second');
select serve('olga');
select asks(what, sql) from acts where sql like '%edge.%';
select act_as('olga');
select asks(what, sql) from acts where sql not like '%edge.%';
select lives_ok(format('select end_admin_sessions(%L)', user_id('olga')), 'one''s own sessions end without one');
-- A clock that was set back: the session seems to begin later.
select signed_in_before('olga', '-2 minutes');
select asks(what, sql) from acts where what = 'change an administrator';
select signed_in_before('olga', '9 minutes 55 seconds');
select serve('olga');
select lives_ok(sql, 'within ten minutes: ' || what) from acts where sql like '%edge.%';
select act_as('olga');
select lives_ok(sql, 'within ten minutes: ' || what) from acts where sql not like '%edge.%';
-- Claims without what is needed, and a session that is no more.
select act_as_owner();
create function actors.asks_without(p_claim text) returns text language plpgsql as $$
begin
    perform set_config('request.jwt.claims', (actors.claims('olga') - p_claim)::text, true);
    return (select actors.asks(what, sql) from acts where what = 'turn two-step sign-in on');
end
$$;
select asks_without(claim) from unnest(array['jti', 'sid', 'sub']) as claim;
select serve('olga');
delete from public.admin_sessions where admin_id = user_id('olga');
select asks(what, sql) from acts where what = 'turn two-step sign-in on';
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A sign-in replaces the session that asks for it
-- =====================================================================================================================
select act_as_owner();
create temporary table sessions as select p.name, p.session_id, actors.claims(p.name) as claims from actors.people as p where p.role = 'platform_admin';
create function actors.replaces(p_claims jsonb) returns bigint language sql as $$
    with started as materialized (select * from edge.start_admin_session(user_id('olga'), '127.0.0.1', 'test', sha256('new'), p_claims))
    select count(*) from started
$$;
select is(replaces(claims - 'jti' || '{"jti": "wrong"}'), 1::bigint, 'a session without its secret') from sessions where name = 'olga';
select is(replaces(claims), 1::bigint, 'or another account''s') from sessions where name = 'elin';
select results_eq(
    $$ select count(*) from public.admin_sessions as s inner join sessions as b on s.session_token = b.session_id $$,
    $$ select count(*) from sessions $$, 'is not ended'
);
select is(replaces(claims), 1::bigint, 'her own') from sessions where name = 'olga';
select is((select count(*) from public.admin_sessions as s inner join sessions as b on s.session_token = b.session_id and b.name = 'olga'), 0::bigint, 'is');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Failed sign-ins are on the record, with their account
-- =====================================================================================================================
create temporary table failures as select 0::bigint as before;
update failures set before = coalesce((select max(id) from private.audit_log), 0);
create function actors.failed_sign_ins() returns setof private.audit_log language sql as $$
    select a.* from private.audit_log as a, failures as f where a.action = 'admin.sign_in_failed' and a.id > f.before
$$;
set local role edge_functions;
select edge.audit_failed_admin_sign_in(e, '192.0.2.1', 'Browser', 'password') from unnest(array['SAM@admins.test', 'Passw0rd-typed-here']) as e;
reset role;
select results_eq(
    $$ select actor, object_type, object_id, payload from failed_sign_ins() order by id $$,
    $$ values
        ('system', 'admin_user', user_id('sam'), '{"account": "sam@admins.test", "wrong": "password", "address": "192.0.2.1", "user_agent": "Browser"}'::jsonb),
        ('system', 'admin_user', null, '{"account": "unknown", "wrong": "password", "address": "192.0.2.1", "user_agent": "Browser"}') $$,
    'the account where the email is known, and never what was typed in its place'
);
select count(edge.audit_failed_admin_sign_in(e, '192.0.2.' || n, 'Browser', 'code'))
from generate_series(1, 70) as n, unnest(array['sam@admins.test', 'nobody@x.test']) as e;
select results_eq(
    $$ select object_id is not null, count(*) from failed_sign_ins() group by 1 order by 1 $$, $$ values (false, 60::bigint), (true, 30) $$,
    'thirty an hour of an account, sixty of unknown emails, however many there are'
);
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Accounts that one person made are one person
-- =====================================================================================================================
select administrator(n, 'finance_admin') from unnest(array['ada', 'bo', 'cy']) as n;
create function actors.joined(p_name text) returns text[] language sql as $$
    select array_agg(p.name order by p.name) from private.joined_administrators(user_id(p_name)) as j inner join actors.people as p on p.user_id = j
$$;
select is(joined(n), array[n], 'made on the server, ' || n || ' is nobody else') from unnest(array['olga', 'elin', 'ada']) as n;
select act_as('olga');
select update_administrator(user_id('ada'), 'Ada', null, null);
select update_administrator(user_id('bo'), null, null, false);
select act_as_owner();
select is(joined('olga'), array['olga'], 'a name, or switching off, joins nobody');
select act_as('olga');
select update_administrator(user_id('bo'), null, null, true);
select act_as_owner();
select is(joined('olga'), array['bo', 'olga'], 'switching on does');
select serve('olga');
select edge.reset_admin_password(user_id('olga'), user_id('ada'), '$argon2id$x');
select act_as_owner();
select is(joined('bo'), array['ada', 'bo', 'olga'], 'a reset password too, and through the one who did both');
select administrator('orm', 'super_admin');
select act_as('orm');
select reset_two_step(user_id('cy'), 'Lost');
select update_administrator(user_id('elin'), null, 'support_admin', null);
select act_as_owner();
select is(joined('cy'), array['cy', 'elin', 'orm'], 'a second step that was removed, and a role');
select is(private.are_one_person(user_id('elin'), user_id('orm')), true, 'in both directions');
select is(private.are_one_person(user_id('cy'), user_id('ada')), false, 'not with those of another one');
select serve('orm');
select edge.create_administrator(user_id('orm'), 'olga2@admins.test', 'Olga 2', 'super_admin', '$argon2id$x');
select act_as_owner();
select is((select count(*) from private.joined_administrators(user_id('orm'))), 4::bigint, 'a new account is its maker''s');
select private.recover_administrator('olga@admins.test', '', '$argon2id$new', 'Lost');
select is(joined('olga'), array['ada', 'bo', 'olga'], 'what was done on the server changes nothing');
-- Thirty days later.
insert into private.audit_log (at, actor, action, object_type, object_id, payload)
select clock_timestamp() - age, 'admin:' || user_id('sam'), 'admin.password_reset', 'admin_user', user_id(n), '{}'
from (values (interval '30 days 1 minute', 'orm'), (interval '29 days 23 hours', 'olga')) as v (age, n);
select is(joined('sam'), array['ada', 'bo', 'olga', 'sam'], 'for thirty days');
-- An entry from before it said whether the account was active.
insert into private.audit_log (at, actor, action, object_type, object_id, payload)
select now(), 'admin:' || user_id('orm'), 'admin.updated', 'admin_user', user_id('sam'), '{"role": "support_admin", "role_before": "support_admin", "is_active": true}';
select is(private.are_one_person(user_id('sam'), user_id('orm')), true, 'an earlier entry that may have switched on joins');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Changes of an account are mailed to its person and to every super admin
-- =====================================================================================================================
update private.admin_users set is_active = false where email not like '%@admins.test';
select administrator(n, 'super_admin') from unnest(array['orm', 'off']) as n;
update private.admin_users set is_active = false where id = user_id('off');
create function actors.mails() returns table (recipient text, title text, body text) language plpgsql as $$
begin
    return query
    with sent as (delete from private.outbox as o where o.template = 'admin_account_changed' returning o.*)
    select split_part(s.recipient, '@', 1), s.data ->> 'title', s.data ->> 'body' from sent as s order by s.id;
end
$$;
delete from private.outbox;
select edge.set_admin_password(user_id('sam'), '$argon2id$x', null);
select results_eq(
    'select * from mails()',
    $$ values
        ('sam', 'Your administrator account was changed', E'The password was changed.\nThis was done from the account itself.\nIf you did not expect this, tell a super administrator immediately.'),
        ('olga', 'An administrator''s account was changed', E'Account: Sam (sam@admins.test)\nThe password was changed.\nThis was done from the account itself.\nIf this was not agreed, deactivate the account and find out who did it.'),
        ('orm', 'An administrator''s account was changed', E'Account: Sam (sam@admins.test)\nThe password was changed.\nThis was done from the account itself.\nIf this was not agreed, deactivate the account and find out who did it.') $$,
    'in words'
);
create function actors.mailed(p_sql text, p_words text, p_description text, p_by text default 'This was done by Olga (olga@admins.test).') returns setof text language plpgsql as $$
begin
    perform actors.act_as('olga');
    if p_sql like '%edge.%' then
        perform actors.serve('olga');
    end if;
    execute p_sql;
    perform actors.act_as_owner();
    return next results_eq(
        $q$ select string_agg(recipient, ' ' order by recipient), max(split_part(replace(replace(body, E'Account: Sam (sam@admins.test)\n', ''), E'Account: Olga (olga@admins.test)\n', ''), E'\n', 1)),
            bool_and(body like '%' || $q$ || quote_literal(p_by) || $q$ || '%') from mails() $q$,
        format('values (%L, %L, true)', split_part(p_words, ': ', 1), split_part(p_words, ': ', 2)), p_description
    );
end
$$;
select mailed(format('select update_administrator(%L, null, %L, false)', user_id('sam'), 'finance_admin'),
    'olga orm sam: The role was changed from support admin to finance admin. The account was deactivated.', 'role and activity');
select mailed(format('select update_administrator(%L, null, null, true)', user_id('sam')), 'olga orm sam: The account was activated.', 'activity');
select mailed(format('select edge.reset_admin_password(%L, %L, %L)', user_id('olga'), user_id('sam'), '$argon2id$x'), 'olga orm sam: The password was reset.', 'a reset password');
select mailed(format('select reset_two_step(%L, %L)', user_id('sam'), 'Lost'), 'olga orm sam: Two-step sign-in was removed, as for a lost device.', 'a second step that was removed');
select mailed(format('select edge.set_totp_secret(%1$L, %2$L, %3$L), edge.confirm_totp(%1$L)', user_id('olga'), 'k', '\x00'),
    'olga orm: Two-step sign-in was turned on.', 'one''s own second step', 'from the account itself');
select mailed(format('select edge.remove_totp(%L)', user_id('olga')), 'olga orm: Two-step sign-in was turned off.', 'without it', 'from the account itself');
select act_as('olga');
select update_administrator(user_id('sam'), null, null, true);
select serve('olga');
select is_empty('select * from mails()', 'nothing changed, no mail');
select edge.create_administrator(user_id('olga'), 'new@admins.test', 'New', 'finance_admin', '$argon2id$x');
select results_eq($$ select recipient, split_part(body, E'\n', 1) from mails() where recipient = 'new' $$, $$ values ('new', 'The account was created, with the role finance admin.') $$, 'a new account');
select act_as_owner();
select private.recover_administrator('sam@admins.test', 'sam.new@admins.test', '$argon2id$new', 'Lost');
select results_eq('select recipient from mails() order by 1', $$ values ('elin'), ('new'), ('olga'), ('orm'), ('sam'), ('sam.new') $$, 'what is done on the server all are mailed, the former address too');
select isnt(private.add_administrator('Server@admins.test', 'Server', 'super_admin', '$argon2id$x'), null, 'the server makes another one');
select results_eq('select recipient from mails() order by 1', $$ values ('elin'), ('new'), ('olga'), ('orm'), ('sam.new'), ('server') $$, 'and all are mailed');
select results_eq($$ select actor, payload - 'state' from private.audit_log where action = 'admin.created' order by id desc limit 1 $$, $$ values ('system', '{"role": "super_admin", "is_active": true}'::jsonb) $$, 'on the record');
select raises($$ select private.add_administrator('SERVER@admins.test', 'Server', 'super_admin', '$argon2id$x') $$, 409, 'email_taken', 'There is already an administrator with this email.', 'once');

-- =====================================================================================================================
-- What was done to an account past the product is seen, and has one way back
-- =====================================================================================================================
create function actors.odd(p_name text) returns bigint language sql volatile security definer set search_path = actors, public, extensions as $$
    select count(*) from private.administrator_discrepancies as d where d.id = user_id(p_name)
$$;
select serve('olga');
select edge.set_totp_secret(user_id('olga'), 'k', '\x01'), edge.confirm_totp(user_id('olga'));
select act_as_owner();
select is(odd('olga'), 0::bigint, 'a second step that was set up is on the record');
savepoint sound;
update private.admin_users set totp_secret = '\x02' where id = user_id('olga');
select is(odd('olga'), 1::bigint, 'another secret is seen');
select serve('olga');
select edge.use_totp_step(user_id('olga'), 1);
select act_as_owner();
select is(odd('olga'), 1::bigint, 'also after it was used');
select private.recover_administrator('olga@admins.test', '', '$argon2id$new', 'Another secret.');
select is(odd('olga'), 0::bigint, 'and not once the administrator was let in again');
rollback to savepoint sound;
set local session_replication_role = replica;
update private.admin_users set role = 'super_admin' where id = user_id('sam');
set local session_replication_role = origin;
select private.recover_administrator('sam.new@admins.test', '', '$argon2id$new', 'Lost.');
select is(odd('sam'), 1::bigint, 'a role that nobody gave stays seen');
rollback to savepoint sound;
-- One who is gone comes back with the role, and not with a password that somebody knows.
set local session_replication_role = replica;
delete from private.admin_users where id = user_id('olga');
set local session_replication_role = origin;
select is(odd('olga'), 1::bigint, 'an administrator who is gone is seen');
select is(private.recover_administrator('OLGA@admins.test', '', '$argon2id$new', 'Deleted.'), user_id('olga'), 'who owns the database makes the account again');
select results_eq(
    $$ select role::text, is_active, password_hash, totp_confirmed_at from private.admin_users where id = user_id('olga') $$,
    $$ values ('super_admin', true, '$argon2id$new', null::timestamptz) $$, 'with the role that the audit log says'
);
select is(odd('olga'), 0::bigint, 'and nothing is odd');
rollback to savepoint sound;
-- Nor does what it makes, and it makes nothing more once the check has named it.
insert into private.admin_users (id, email, role, password_hash) values ('00000000-0000-4000-8000-000000000009', 'ghost@admins.test', 'super_admin', '$argon2id$x');
insert into private.admin_users (id, email, role, password_hash) values ('00000000-0000-4000-8000-00000000000a', 'ghosts@admins.test', 'super_admin', '$argon2id$x');
select private.audit('admin:00000000-0000-4000-8000-000000000009', 'admin.created', 'admin_user', '00000000-0000-4000-8000-00000000000a', private.administrator_entry('00000000-0000-4000-8000-00000000000a'));
select private.audit('admin:00000000-0000-4000-8000-00000000000a', 'admin.updated', 'admin_user', '00000000-0000-4000-8000-000000000009', private.administrator_entry('00000000-0000-4000-8000-000000000009'));
select is((select count(*) from private.administrator_discrepancies where id in ('00000000-0000-4000-8000-000000000009', '00000000-0000-4000-8000-00000000000a')), 2::bigint, 'two accounts that nobody made cannot make each other');
rollback to savepoint sound;
insert into private.alarms (kind, object) values ('ledger_violation', 'I49 ' || user_id('olga'));
select act_as('olga');
select raises(format('select update_administrator(%L, null, %L, null)', user_id('sam'), 'super_admin'), 409, 'ledger_alarm', 'You can change this only once your account is again what the audit log says. Another super admin sets it right.', 'an account that was changed changes no other');
select act_as_owner();
rollback to savepoint sound;
-- One whom nobody made stays seen, whatever the account does itself.
insert into private.admin_users (id, email, role, password_hash) values ('00000000-0000-4000-8000-000000000009', 'ghost@admins.test', 'super_admin', '$argon2id$x');
select private.audit('admin:00000000-0000-4000-8000-000000000009', 'admin.password_changed', 'admin_user', '00000000-0000-4000-8000-000000000009', private.administrator_entry('00000000-0000-4000-8000-000000000009', array['password']));
select isnt_empty($$ select from private.administrator_discrepancies where id = '00000000-0000-4000-8000-000000000009' $$, 'an account that nobody made is seen, also after it changed its password');
select private.recover_administrator('ghost@admins.test', '', '$argon2id$new', 'To switch it off.');
select is_empty($$ select from private.administrator_discrepancies where id = '00000000-0000-4000-8000-000000000009' $$, 'who owns the database takes its password');
select act_as('olga');
select lives_ok($$ select update_administrator('00000000-0000-4000-8000-000000000009', null, null, false) $$, 'a super admin switches it off');
select act_as_owner();
select is_empty($$ select from private.administrator_discrepancies where id = '00000000-0000-4000-8000-000000000009' $$, 'and nothing is odd');
select * from finish();
rollback;
