-- A change of e-mail address, password or second factor: the member is notified and withdrawals wait a day; an administrator
-- helps who lost a device.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- What follows the auth service
-- =====================================================================================================================
create function actors.sign_up(p_email text, p_data jsonb, p_confirmed timestamptz default null) returns uuid language sql as $$
    insert into auth.users (id, instance_id, aud, role, email, email_confirmed_at, created_at, updated_at, raw_app_meta_data, raw_user_meta_data)
    values (gen_random_uuid(), '00000000-0000-0000-0000-000000000000', 'authenticated', 'authenticated', p_email, p_confirmed, now(), now(), '{}', p_data) returning id
$$;
-- A member who has no password yet, and an account that never became a member.
create temporary table made as select
    sign_up('first@people.test', jsonb_build_object('username', 'first', 'display_name', 'New Comer', 'referrer_id', profile_id('freya')), now()) as first,
    sign_up('lost@people.test', jsonb_build_object('username', 'lost', 'display_name', 'Lost', 'referrer_id', gen_random_uuid()), now()) as lost;
insert into private.username_reservations (username, email, until) values ('strangers', 'moved@people.test', now() + interval '1 day'), ('others', 'other@people.test', now() + interval '1 day');
update auth.users set email = 'moved@people.test' where id = (select first from made);
select results_eq($$ select username from private.username_reservations where username in ('strangers', 'others') $$, $$ values ('others') $$, 'what sign-ups of the address reserved is free again');
select results_eq($$ select email, hold_reason from private.profiles where user_id = (select first from made) $$, $$ values ('moved@people.test', 'email') $$, 'the confirmed address is carried over and holds withdrawals');
update auth.users set encrypted_password = 'one' where id = (select first from made);
select is((select hold_reason from private.profiles where user_id = (select first from made)), 'email', 'a first password is no change');
update auth.users set encrypted_password = 'two' where id = (select first from made);
select is((select hold_reason from private.profiles where user_id = (select first from made)), 'password', 'a changed one is');
select is((select count(*) from private.outbox where recipient = 'moved@people.test' and template = 'password_changed'), 1::bigint, 'and is mailed');
select is((select count(*) from public.notifications where user_id = (select first from made) and kind = 'email_changed'), 1::bigint, 'the member is notified of another address');
select results_eq(
    $$ select l.action from private.audit_log as l inner join private.profiles as p on l.object_id = p.id where p.user_id = (select first from made) order by l.id $$,
    $$ values ('member.joined'), ('member.email_changed'), ('member.held') $$, 'each is in the audit log'
);
select is_empty($$ select * from private.member_state_violations(null) where user_id = (select first from made) $$, 'which says what the member is');

-- The auth service is never stopped.
create function actors.fails() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$;
create trigger _000_fails before update on private.profiles for each row execute function actors.fails();
select lives_ok($$ update auth.users set email = 'again@people.test' where id = (select first from made) $$, 'a change of address does not fail either');
select lives_ok($$ update auth.users set encrypted_password = 'three' where id = (select first from made) $$, 'nor does one of the password');
drop trigger _000_fails on private.profiles;
update auth.users set encrypted_password = 'one' where id = (select lost from made);
select lives_ok($$ update auth.users set encrypted_password = 'two' where id = (select lost from made) $$, 'who has no profile is notified nothing');

-- Second factors
insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) values (gen_random_uuid(), user_id('ask'), 'totp', 'unverified', now(), now());
select is_empty($$ select 1 from public.notifications where kind like 'factor\_%' $$, 'an unverified factor sends no notification');
update auth.mfa_factors set status = 'verified' where user_id = user_id('ask');
select notified('ask', 'factor_added', 'a verified one is notified');
select is((select hold_reason from private.profiles where user_id = user_id('ask')), 'factor', 'and holds withdrawals');
select ok(
    (select body from public.notifications where user_id = user_id('ask') and kind = 'factor_added') like '%it cannot be approved for 24 hours.%', 'which the member reads'
);
update private.profiles set hold_until = null, hold_reason = null where user_id = user_id('ask');
delete from auth.mfa_factors where user_id = user_id('ask');
select notified('ask', 'factor_removed', 'so is its removal');
select is((select hold_reason from private.profiles where user_id = user_id('ask')), 'factor', 'which holds withdrawals');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A fresh proof: an entry that the token and the session's row both know
-- =====================================================================================================================
-- How long before now each is said to be entered; a row without an age is deleted.
create function actors.entered(p_name text, p_method text, p_row interval, p_token interval default null, p_aal text default 'aal1') returns void language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_session uuid := (select p.session_id from actors.people as p where p.name = p_name);
    v_others jsonb := jsonb_path_query_array(
        coalesce(nullif(current_setting('request.jwt.claims', true), '')::jsonb, '{}'), '$.amr[*] ? (@.method != $method)', jsonb_build_object('method', p_method)
    );
begin
    delete from auth.mfa_amr_claims as a where a.session_id = v_session and a.authentication_method = p_method;
    insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
    select gen_random_uuid(), v_session, v_now, v_now - p_row, p_method where p_row is not null;
    perform set_config('request.jwt.claims', (actors.claims(p_name) || jsonb_build_object(
        'aal', p_aal,
        'amr', v_others || jsonb_build_object('method', p_method, 'timestamp', extract(epoch from v_now - coalesce(p_token, p_row)))
    ))::text, true);
end
$$;
create function actors.lacks() returns text language sql as $$
    select case
        when m.user_id is null then 'session'
        else concat_ws(' and ', case when m.needs_password then 'password' end, case when m.needs_code then 'code' end)
    end
    from private.member_session(current_setting('request.jwt.claims')::jsonb) as m
$$;
select is(lacks(), expected, description)
from (values
    (interval '9:59', interval '9:59', '', 'a password is proof for ten minutes'),
    ('10:01', '10:01', 'password', 'and no longer'),
    ('0', '10:01', 'password', 'an older token of a session that was proved later is none'),
    ('10:01', '0', 'password', 'nor a token whose row says otherwise'),
    ('0:02', '0:01', 'password', 'nor one that is newer than its row'),
    ('2:00', '2:00', '', 'a clock that is two minutes slow makes it older'),
    ('-2:00', '-2:00', 'password', 'a clock that is two minutes fast does not make it last longer'),
    (null, '0', 'password', 'nor is an entry whose row is deleted')
) as c (row_age, token_age, expected, description)
cross join lateral (select entered('freya', 'password', row_age / 60, token_age / 60)) as e;
select entered('freya', 'password', '0');
select is(lacks(), 'password', description)
from (values
    ('{"amr": null}'::jsonb, 'a token without amr proves nothing'),
    ('{"amr": ["password"]}', 'nor one whose entries have no time'),
    ('{"amr": [{"method": "password", "timestamp": "now"}]}', 'or one that is none'),
    ('{"amr": [{"method": "otp", "timestamp": 9999999999}]}', 'or came by a link')
) as c (change, description)
cross join lateral set_config('request.jwt.claims', (claims('freya') || c.change)::text, true);
select raises('select private.require_fresh_proof(''do this'')', 403, 'reauthentication_needed', 'Sign in again to do this.', 'the password is asked for');

-- With a second factor
insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
values (gen_random_uuid(), user_id('freya'), 'totp', 'verified', now() - interval '3 days', now() - interval '2 days');
update auth.sessions as s set aal = 'aal2', factor_id = f.id from auth.mfa_factors as f where f.user_id = user_id('freya') and s.user_id = f.user_id;
select entered('freya', 'password', '0', p_aal => 'aal2');
select is(lacks(), 'code', 'a password does not replace the code');
select raises(
    'select private.require_fresh_proof(''do this'')', 403, 'reauthentication_needed', 'Enter the code from your authenticator app again to do this.', 'the code is asked for'
);
select entered('freya', 'totp', '11 minutes', p_aal => 'aal2');
select is(lacks(), 'code', 'nor does a session that is aal2 since longer');
select entered('freya', 'password', '1 day', p_aal => 'aal2'), entered('freya', 'totp', '0', p_aal => 'aal2');
select is(lacks(), '', 'a code is proof');
select entered('freya', 'totp', '0');
select is(lacks(), 'code', 'not in a token from before');
update auth.sessions set aal = 'aal1' where user_id = user_id('freya');
select entered('freya', 'totp', '0', p_aal => 'aal2');
select is(lacks(), 'code', 'nor in a session that is not aal2 any more');
update auth.sessions set aal = 'aal2' where user_id = user_id('freya');
-- Begun three days ago, and verified an hour ago.
update auth.mfa_factors set updated_at = now() - interval '1 hour' where user_id = user_id('freya');
select is(lacks(), 'password', 'the code of a factor that is new needs the password too');
select raises(
    'select private.require_fresh_proof(''do this'')', 403, 'reauthentication_needed',
    'Sign in again with your password and the code from your authenticator app to do this.', 'which is asked for'
);
select entered('freya', 'password', '1 minute', p_aal => 'aal2');
select is(lacks(), '', 'and has it then');
delete from auth.mfa_factors where user_id = user_id('freya');
select entered('freya', 'password', '1 day', p_aal => 'aal2'), entered('freya', 'totp', '0', p_aal => 'aal2');
select is(lacks(), 'password', 'the code of a factor that was removed is none');
delete from auth.sessions where user_id = user_id('freya');
select is(lacks(), 'session', 'nor is any entry of a session that is deleted');
select raises('select private.require_fresh_proof(''do this'')', 403, 'reauthentication_needed', 'Sign in again to do this.', 'which proves nothing');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A change of address is taken back
-- =====================================================================================================================
select act_as('freya');
select raises('select cancel_email_change()', 404, 'not_found', 'No change of your email address is waiting.', 'nothing waits');
select act_as_owner();
set local role supabase_auth_admin;
update auth.users set email_change = 'new@people.test', email_change_token_new = 'new' || id, email_change_token_current = 'current' || id, email_change_confirm_status = 1
where id in (actors.user_id('freya'), actors.user_id('ask'));
insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to)
select gen_random_uuid(), u.id, t::auth.one_time_token_type, t || u.id, 'new@people.test'
from auth.users as u, unnest(array['email_change_token_new', 'email_change_token_current', 'recovery_token']) as t
where u.id in (actors.user_id('freya'), actors.user_id('ask'));
reset role;
select act_as('freya');
select lives_ok('select cancel_email_change()', 'Freya takes hers back');
select raises('select cancel_email_change()', 404, 'not_found', null, 'once');
select act_as_owner();
select results_eq(
    format($$ select email_change::text, email_change_token_new::text, email_change_token_current::text, email_change_confirm_status from auth.users where id = %L $$, user_id('freya')),
    $$ values ('', '', '', 0::smallint) $$, 'nothing is left of it'
);
select results_eq(
    format('select token_type::text from auth.one_time_tokens where user_id = %L', user_id('freya')), $$ values ('recovery_token') $$, 'nor of its links; others stay'
);
select is((select email_change::text from auth.users where id = user_id('ask')), 'new@people.test', 'another member''s change waits on');
select is((select count(*) from auth.one_time_tokens where user_id = user_id('ask')), 3::bigint, 'with its links');
select act_as('anonymous');
select throws_ok('select cancel_email_change()', '42501', null, 'an anonymous client has none');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Which of its two links is still to be opened
-- =====================================================================================================================
select act_as('freya');
select is(get_email_change(), null, 'no change waits');
select act_as_owner();
set local role supabase_auth_admin;
update auth.users set email_change = 'new@people.test', email_change_token_new = 'new' || id, email_change_token_current = 'current' || id
where id in (actors.user_id('freya'), actors.user_id('ask'));
reset role;
select act_as('freya');
select is(
    get_email_change(),
    '{"old_email": "freya@people.test", "new_email": "new@people.test", "old_confirmed": false, "new_confirmed": false}', 'both links wait'
);
select act_as_owner();
set local role supabase_auth_admin;
update auth.users set email_change_confirm_status = 1, email_change_token_new = '' where id = actors.user_id('freya');
update auth.users set email_change_confirm_status = 1, email_change_token_current = '' where id = actors.user_id('ask');
reset role;
select act_as('freya');
select is(get_email_change() - 'old_email' - 'new_email', '{"old_confirmed": false, "new_confirmed": true}', 'Freya opened the one to the new address');
select act_as('ask');
select is(get_email_change() - 'old_email' - 'new_email', '{"old_confirmed": true, "new_confirmed": false}', 'Ask the one to the old address');
select act_as('embla');
select is(get_email_change(), null, 'a change of others is theirs');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A member's own sessions
-- =====================================================================================================================
create temporary table elsewhere as select gen_random_uuid() as phone, gen_random_uuid() as laptop, gen_random_uuid() as ended, gen_random_uuid() as others;
insert into auth.sessions (id, user_id, created_at, updated_at, aal, user_agent, refreshed_at, not_after)
select v.id, v.user_id, now() - v.age, now(), 'aal1', v.agent, v.used at time zone 'UTC', v.not_after
from elsewhere as e
cross join lateral (values
    (e.phone, user_id('freya'), 'A phone', interval '179 days', now() - interval '2 hours', null),
    (e.laptop, user_id('freya'), 'A laptop', interval '3 days', null, null),
    (e.ended, user_id('freya'), 'Ended', interval '3 days', now(), now() - interval '1 minute'),
    (gen_random_uuid(), user_id('freya'), 'Too old', interval '180 days 1 second', now(), null),
    (gen_random_uuid(), user_id('freya'), 'Not used', interval '31 days', now() - interval '30 days 1 second', null),
    (e.others, user_id('ask'), 'Another member''s', interval '3 days', now(), null)
) as v (id, user_id, agent, age, used, not_after);
grant select on elsewhere to authenticated;
select act_as('freya');
select results_eq(
    $$ select (o ->> 'is_current')::boolean, o ->> 'user_agent', now() - (o ->> 'last_used_at')::timestamptz, (o ->> 'ends_at')::timestamptz - now()
    from jsonb_array_elements(get_my_sessions()) as o $$,
    $$ values (true, null, interval '0', interval '720 hours'), (false, 'A phone', '2 hours', '24 hours'), (false, 'A laptop', '3 days', '648 hours') $$,
    'Freya sees her own that live and when each ends, the current one first, then the one used last'
);
select raises(format('select end_session(%L)', (select others from elsewhere)), 404, 'not_found', 'This session has already ended.', 'another member''s session is not hers to end');
select lives_ok(format('select end_session(%L)', (select phone from elsewhere)), 'her phone''s is');
select raises(format('select end_session(%L)', (select phone from elsewhere)), 404, 'not_found', null, 'once');
select act_as_owner();
select is_empty('select 1 from auth.sessions where id = (select phone from elsewhere)', 'it is deleted');
select is((select count(*) from auth.sessions where id = (select others from elsewhere)), 1::bigint, 'and nobody else''s');
select audited('member.session_ended', 'the end of a session');
select act_as('freya');
select is(end_other_sessions(), '{"ended": 4}', 'she ends the others');
select is(end_other_sessions(), '{"ended": 0}', 'twice is once');
select is(jsonb_array_length(get_my_sessions()), 1, 'this one goes on');
select act_as_owner();
select is((select count(*) from auth.sessions where user_id <> user_id('freya') and id = (select others from elsewhere)), 1::bigint, 'so do another member''s');
select is(
    (select array_agg(a.payload ->> 'ended') from private.audit_log as a where a.action = 'member.sessions_ended' and a.actor = 'member:' || user_id('freya')),
    array['4'], 'recorded once, with how many'
);
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A member without a device
-- =====================================================================================================================
select act_as('sam');
select raises(
    format($$ select start_factor_removal(%L, 'x') $$, profile_id('embla')), 403, 'forbidden', 'A support admin cannot do this.', 'only a super admin helps there'
);
select act_as('olga');
select signed_in_before('olga', '10 minutes 1 second');
select raises(
    format($$ select start_factor_removal(%L, 'x') $$, profile_id('embla')), 403, 'reauthentication_needed',
    'Sign in again to remove a member''s two-step sign-in: your last sign-in is more than ten minutes old.', 'who signed in recently'
);
select signed_in_before('olga', '9 minutes');
select raises(format($$ select start_factor_removal(%L, '') $$, profile_id('embla')), 400, 'reason_required', 'Give a reason.', 'with a reason');
select is(
    start_factor_removal(profile_id('embla'), 'Passport seen') ->> 'user_id', user_id('embla')::text, 'the removal names the account to the auth service'
);
select act_as_owner();
select is_empty(format('select 1 from auth.sessions where user_id = %L', user_id('embla')), 'the sign-ins end');
select is((select hold_reason from private.profiles where id = profile_id('embla')), 'factor', 'withdrawals wait a day');

select act_as('freya');
select throws_ok(format($$ select start_factor_removal(%L, 'x') $$, profile_id('freya')), '42501', null, 'a member cannot call it');

select act_as_owner();
select audited('member.factors_removed', 'the removal of a factor');
select act_as('olga');
select raises($$ select start_factor_removal(gen_random_uuid(), 'x') $$, 404, 'not_found', 'There is no such member.', 'an unknown member has no device');
select act_as_owner();
delete from auth.users where id = user_id('buri');
select act_as('olga');
select raises(format($$ select start_factor_removal(%L, 'x') $$, profile_id('buri')), 404, 'not_found', 'There is no such member.', 'a closed account has no device');
select * from finish();
rollback;
