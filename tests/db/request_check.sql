-- What is checked before every request: the token, the session behind it, the status of the account, the second factor.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();

create function actors.with_claims(p_name text, p_change jsonb) returns void language sql as $$
    select set_config('request.jwt.claims', (actors.claims(p_name) || p_change)::text, true)
$$;
grant execute on all functions in schema actors to public;

-- An anonymous client
select act_as('anonymous');
select set_config('request.path', '/object/list/receipts', true);
select lives_ok('select pre_request.check_request()', 'an anonymous client of storage passes: policies decide there');
set local session authorization authenticator;
set local role anon;
select set_config('request.path', '/rpc/get_platform', true), set_config('request.method', 'POST', true);
select lives_ok('select pre_request.check_request()', 'PostgREST lets one call what anyone may');
select set_config('request.path', '/deposits', true);
select raises('select pre_request.check_request()', 401, '42501', 'permission denied for table deposits', 'no table');
select set_config('request.path', '/rpc/get_member_dashboard', true);
select raises('select pre_request.check_request()', 401, '42501', 'permission denied for function get_member_dashboard', 'no function of members');
reset session authorization;
-- of a developer
create table public.notices (id integer, hidden integer);
create function public.count_notices() returns bigint language sql as 'select count(*) from public.notices';
grant select (id), delete on public.notices to anon;
grant execute on function public.count_notices() to public;
select bag_eq(
    $$ select o.path, m.method from private.open_to_anyone() as o cross join unnest(o.methods) as m (method) where o.path ~ 'notices' $$,
    $$ values ('/notices', 'GET'), ('/notices', 'HEAD'), ('/notices', 'DELETE'), ('/rpc/count_notices', 'GET'), ('/rpc/count_notices', 'HEAD'), ('/rpc/count_notices', 'POST') $$,
    'what is granted to anon, by column too, is open with its methods'
);
select bag_eq(
    $$ select o.path from private.open_to_anyone() as o where o.path !~ 'notices' $$,
    $$ values ('/rpc/get_income_disclosure'), ('/rpc/get_platform'), ('/rpc/get_sponsor'), ('/rpc/is_username_available') $$,
    'of the product four functions and no table'
);
set local session authorization authenticator;
set local role anon;
select set_config('request.path', '/notices', true), set_config('request.method', 'GET', true);
select lives_ok('select pre_request.check_request()', 'PostgREST lets anyone read it');
select set_config('request.method', 'POST', true);
select raises('select pre_request.check_request()', 401, '42501', 'permission denied for table notices', 'and not write it');
reset role;
reset session authorization;
drop function public.count_notices();
drop table public.notices;
select set_config('request.path', '', true), set_config('request.method', '', true);

-- A person at PostgREST
savepoint places;
set local session authorization authenticator;
set local statement_timeout = '8s';
set local lock_timeout = '3s';
select act_as('freya');
select lives_ok('select pre_request.check_request()', 'a member''s request takes a place');
select is(current_setting('statement_timeout') || ' ' || current_setting('lock_timeout'), '8s 3s', 'what may write has the time of its role');
set local transaction_read_only = on;
select lives_ok('select pre_request.check_request()', 'what only reads passes too');
select is(current_setting('statement_timeout') || ' ' || current_setting('lock_timeout'), '3s 2s', 'with less time');
select act_as('elin');
select lives_ok('select pre_request.check_request()', 'an administrator is a person');
reset role;
reset session authorization;
select is((select count(*) from pg_locks where locktype = 'advisory' and classid = private.lock_key('place') and pid = pg_backend_pid()), 2::bigint, 'each holds a place until the end');
rollback to savepoint places;
select act_as('freya');
select lives_ok('select pre_request.check_request()', 'functions and storage ask');
select act_as_owner();
select is((select count(*) from pg_locks where locktype = 'advisory' and classid = private.lock_key('place') and pid = pg_backend_pid()), 0::bigint, 'without a place at PostgREST');

-- A member
select act_as('freya');
select lives_ok('select pre_request.check_request()', 'a signed-in member passes');
select set_config('request.jwt.claims', (claims('freya') - 'aud')::text, true);
select raises('select pre_request.check_request()', 401, 'invalid_token', 'Your sign-in is not valid here. Sign in again.', 'a token without audience');
select with_claims('freya', '{"aud": "else"}');
select raises('select pre_request.check_request()', 401, 'invalid_token', 'Your sign-in is not valid here. Sign in again.', 'a token for another audience');
select with_claims('freya', '{"aud": ["authenticated"]}');
select lives_ok('select pre_request.check_request()', 'an audience may be a list');
select with_claims('freya', '{"session_id": "nonsense"}');
select raises('select pre_request.check_request()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'a session that is none');
select with_claims('freya', jsonb_build_object('session_id', (select p.session_id from people as p where p.name = 'ask')));
select raises('select pre_request.check_request()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'another member''s session');
select act_as_owner();
update private.profiles set account_status = 'suspended' where user_id = user_id('freya');
select act_as('freya');
select raises('select pre_request.check_request()', 403, 'account_suspended', 'Your account has been suspended. Please contact support for assistance.', 'a suspended member');
select set_config('request.path', '/rpc/get_my_account_status', true);
select lives_ok('select pre_request.check_request()', 'may ask for the own status');
select is(get_my_account_status(), '{"account_status": "suspended", "message": "Your account has been suspended. Please contact support for assistance.", "code": "account_suspended"}', 'and is notified');
select set_config('request.path', '/rpc/get_my_account_status/', true);
select raises('select pre_request.check_request()', 403, 'account_suspended', 'Your account has been suspended. Please contact support for assistance.', 'by that path alone');
select act_as_owner();
update private.profiles set account_status = 'disabled' where user_id = user_id('freya');
select act_as('freya');
select raises('select pre_request.check_request()', 403, 'account_disabled', 'Your account has been disabled. Please contact support for assistance.', 'a disabled member');
select act_as_owner();
update private.profiles set account_status = 'active' where user_id = user_id('freya');
insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) values (gen_random_uuid(), user_id('freya'), 'totp', 'verified', now(), now());
select act_as('freya');
select raises('select pre_request.check_request()', 403, 'aal2_required', 'Enter the code from your authenticator app to continue.', 'a password alone, with a second factor set up');
select raises(
    'select pre_request.check_request()', 403, 'insufficient_aal', 'Enter the code from your authenticator app to end other sessions.', 'nor does it end others: ' || f
) from unnest(array['end_session', 'end_other_sessions']) as f cross join lateral set_config('request.path', '/rpc/' || f, true);
select set_config('request.path', '', true);
select with_claims('freya', '{"aal": "aal2"}');
select raises('select pre_request.check_request()', 403, 'aal2_required', 'Enter the code from your authenticator app to continue.', 'a token that says aal2, of a session that is not');
select act_as_owner();
update auth.sessions set aal = 'aal2' where user_id = user_id('freya');
select act_as('freya');
select raises('select pre_request.check_request()', 403, 'aal2_required', 'Enter the code from your authenticator app to continue.', 'a token from before the second factor');
select with_claims('freya', '{"aal": "aal2"}');
select lives_ok('select pre_request.check_request()', 'both factors pass');
select act_as_owner();
delete from auth.sessions where user_id = user_id('freya');
select act_as('freya');
select with_claims('freya', '{"aal": "aal2"}');
select raises('select pre_request.check_request()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'after signing out');
select set_config('request.path', '/rpc/get_my_account_status', true);
select raises('select pre_request.check_request()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'not even the own status');

-- An administrator
select act_as('elin');
select lives_ok('select pre_request.check_request()', 'a live administrator passes');
select with_claims('elin', jsonb_build_object('sid', (select p.session_id from people as p where p.name = 'sam'), 'jti', 'sam'));
select raises('select pre_request.check_request()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'another administrator''s session');
select with_claims('elin', '{"jti": "sam"}');
select raises('select pre_request.check_request()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'without the secret of the session''s token');
select raises('select public.list_administrators()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'and the functions themselves ask for it too');
select act_as_owner();
update private.admin_session_activity set last_seen_at = now() - interval '29 minutes' where session_token = (select p.session_id from people as p where p.name = 'elin');
select act_as('elin');
select lives_ok('select pre_request.check_request()', 'idle for 29 minutes');
select act_as_owner();
select ok((select last_seen_at > now() - interval '1 minute' from private.admin_session_activity where session_token = (select p.session_id from people as p where p.name = 'elin')), 'the visit is noted');
update private.admin_session_activity set last_seen_at = now() - interval '31 minutes' where session_token = (select p.session_id from people as p where p.name = 'elin');
select act_as('elin');
select raises('select pre_request.check_request()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'idle for 31 minutes');
select act_as_owner();
update private.admin_session_activity set last_seen_at = now();
update public.admin_sessions set expires_at = now() - interval '1 second' where admin_id = user_id('sam');
update private.admin_users set is_active = false where id = user_id('olga');
select act_as('sam');
select raises('select pre_request.check_request()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'beyond the session''s end');
select act_as('olga');
select raises('select pre_request.check_request()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'deactivated');
select act_as('elin');
select set_config('request.jwt.claims', (claims('elin') - 'aud')::text, true);
select raises('select pre_request.check_request()', 401, 'invalid_token', 'Your sign-in is not valid here. Sign in again.', 'an administrator''s token without audience');

select act_as_owner();
select set_config('request.jwt.claims', '{"aud": "authenticated"}', true);
select raises('select pre_request.check_request()', 403, 'forbidden', 'You are not allowed to do this.', 'a role that no request has');

select act_as_owner();
select set_config('request.path', '', true);
select act_as('embla');
select lives_ok('select pre_request.check_request()', 'a member whose session has no end');
select act_as_owner();
update auth.sessions set not_after = now() - interval '1 second' where user_id = user_id('embla');
select act_as('embla');
select raises('select pre_request.check_request()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'a member whose session has ended');
select act_as_owner();
update auth.sessions set not_after = null, created_at = now() - interval '180 days 1 minute', refreshed_at = now() at time zone 'UTC' where user_id = user_id('embla');
select act_as('embla');
select raises('select pre_request.check_request()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'or is older than it may become');

select act_as_owner();
update private.admin_session_activity set started_at = now() - interval '8 hours 1 second', last_seen_at = now() where session_token = (select p.session_id from people as p where p.name = 'elin');
select act_as('elin');
select raises('select pre_request.check_request()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'eight hours after the sign-in');
-- The planner's counts, which include the rows of others
select act_as_owner();
select act_as('anonymous');
select set_config('request.headers', '{"prefer": "return=minimal, count=planned"}', true);
select raises('select pre_request.check_request()', 400, 'invalid_input', 'Rows are counted exactly here: ask for count=exact.', 'an estimate for an anonymous client');
select act_as('freya');
select set_config('request.headers', '{"prefer": "count = \"Estimated\""}', true);
select raises('select pre_request.check_request()', 400, 'invalid_input', 'Rows are counted exactly here: ask for count=exact.', 'an estimate for a member, however spelt');
select act_as_owner();
set local role service_role;
select lives_ok('select pre_request.check_request()', 'the service key may estimate');

-- Whose signed URL is used
select lives_ok(format('select pre_request.check_account(%L)', actors.user_id('ymir')), 'an active member''s signed URL works');
reset role;
update private.profiles set account_status = 'suspended' where user_id = user_id('ymir');
select raises(format('select pre_request.check_account(%L)', user_id('ymir')), 403, 'account_suspended', 'Your account has been suspended. Please contact support for assistance.', 'a suspended one''s does not');
select raises('select pre_request.check_account(gen_random_uuid())', 403, 'account_disabled', 'Your account has been disabled. Please contact support for assistance.', 'nor that of an account that is deleted');
select * from finish();
rollback;
