begin;
\ir ../support/actors.sql
select * from no_plan();
select family();

-- An administrator sees and ends the own session, no other
select act_as('elin');
select is((select count(*) from admin_sessions), 1::bigint, 'one row is visible: the own session');
select is((select array_agg(column_name::text order by ordinal_position) from information_schema.columns where table_schema = 'public' and table_name = 'admin_sessions'),
    array['session_token', 'admin_id', 'expires_at'], 'with exactly these columns');
select is((touch_admin_session() ->> 'success')::boolean, true, 'the session can be kept alive');
delete from admin_sessions;
select is((select count(*) from admin_sessions), 0::bigint, 'signing out removes it');
select refuses($$ select gate.check_request() $$, 401, 'session_ended', 'Your session has ended. Sign in again.', 'and nothing more is answered');
select act_as_owner();
select is((select count(*) from public.admin_sessions where admin_id in (user_id('sam'), user_id('olga'))), 2::bigint, 'the others are still signed in');

-- Members and visitors
select act_as('freya');
select throws_ok($$ select * from admin_sessions $$, '42501', null, 'a member sees no session');
select throws_ok($$ select touch_admin_session() $$, '42501', null, 'a member cannot call administrators'' functions');
select act_as('anonymous');
select throws_ok($$ select * from admin_sessions $$, '42501', null, 'a visitor sees no session');

-- Sign-in as functions/edge does it
select act_as_owner();
set local role edge_functions;
select is((select email from edge.admin_by_email('SAM@admins.test')), 'sam@admins.test', 'an account is found whatever the spelling');
select is((select count(*) from generate_series(1, 10), lateral (select edge.record_admin_sign_in('sam@admins.test', '198.51.100.' || generate_series, false)) as r), 10::bigint, 'ten failures');
select is(edge.admin_sign_in_allowed('sam@admins.test', '198.51.100.200'), false, 'lock the account for a while, from any address');
select is(edge.admin_sign_in_allowed('olga@admins.test', '198.51.100.200'), true, 'and no other account');
select is((select count(*) from generate_series(1, 20), lateral (select edge.record_admin_sign_in('nobody' || generate_series || '@x.test', '192.0.2.1', false)) as r), 20::bigint, 'twenty failures from one address');
select is(edge.admin_sign_in_allowed('olga@admins.test', '192.0.2.1'), false, 'lock the address');
select lives_ok($$ select edge.record_admin_sign_in('sam@admins.test', '198.51.100.10', true) $$, 'a success');
select is(edge.admin_sign_in_allowed('sam@admins.test', '198.51.100.200'), true, 'clears the account');
select is(edge.use_totp_step(actors.user_id('olga'), 100), true, 'a code counts');
select is(edge.use_totp_step(actors.user_id('olga'), 100), false, 'once');
select is(edge.use_totp_step(actors.user_id('olga'), 99), false, 'and never an earlier one');
select lives_ok(format('select edge.set_admin_password(%L, %L, null)', actors.user_id('olga'), '$argon2id$new'), 'a new password');
select throws_ok($$ select * from private.admin_users $$, '42501', null, 'the table itself is closed to the service');
reset role;
select is((select count(*) from public.admin_sessions where admin_id = user_id('olga')), 0::bigint, 'ends the other sessions');
select throws_ok($$ update private.admin_users set password_hash = 'plain' $$, '23514', null, 'only Argon2id hashes are stored');
update private.admin_users set is_active = false where id = user_id('sam');
select refuses(format('select * from edge.start_admin_session(%L, null, null)', user_id('sam')), 401, 'invalid_credentials', 'Authentication failed', 'a deactivated account starts no session');
select is((jobs.expire_admin_sessions() >= 0), true, 'the sweep runs');

-- The second step
select edge.set_totp_secret(user_id('elin'), 'k', 'sealed');
select edge.confirm_totp(user_id('elin'));
select isnt((select totp_confirmed_at from private.admin_users where id = user_id('elin')), null, 'a second step is confirmed');
select edge.remove_totp(user_id('elin'));
select is((select totp_secret from private.admin_users where id = user_id('elin')), null, 'and in demo mode taken off again');
select audited(a, 'what an administrator does with the own account') from unnest(array['admin.signed_in', 'admin.password_changed', 'admin.two_step_on', 'admin.two_step_off']) as a;
update private.settings set value = 'false' where key = 'demo';
select refuses(format('select edge.remove_totp(%L)', user_id('elin')), 403, 'two_step_required', 'Your role needs two-step sign-in.', 'with real money finance keeps it');
select lives_ok(format('select edge.remove_totp(%L)', user_id('sam')), 'support may take it off');

-- Every function that only administrators may call asks the table, not the token alone
select refuses('select private.require_admin()', 403, 'forbidden', 'Only administrators can do this.', 'no other role is an administrator');
create temporary table doors as
select p.oid::regproc::text || '(' || coalesce((select string_agg('null::' || t::regtype, ', ') from unnest(p.proargtypes::oid[]) as t), '') || ')' as call
from pg_proc as p
where p.pronamespace = 'public'::regnamespace and has_function_privilege('platform_admin', p.oid, 'execute') and not has_function_privilege('authenticated', p.oid, 'execute');
grant select on doors to public;
select cmp_ok((select count(*) from doors), '>', 20::bigint, 'there are many such doors');
select act_as('sam');
select refuses('select ' || call, 401, 'session_ended', 'Your session has ended. Sign in again.', 'an administrator who was switched off does not get through ' || call) from doors;
select * from finish();
rollback;
