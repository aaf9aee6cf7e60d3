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
select is((select hold_reason from private.profiles where user_id = user_id('ask')), null, 'and holds nothing');
delete from auth.mfa_factors where user_id = user_id('ask');
select notified('ask', 'factor_removed', 'so is its removal');
select is((select hold_reason from private.profiles where user_id = user_id('ask')), 'factor', 'which holds withdrawals');
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
select v.id, v.user_id, now() - interval '3 days', now(), 'aal1', v.agent, v.used at time zone 'UTC', v.not_after
from elsewhere as e
cross join lateral (values
    (e.phone, user_id('freya'), 'A phone', now() - interval '2 hours', null),
    (e.laptop, user_id('freya'), 'A laptop', null, null),
    (e.ended, user_id('freya'), 'Too old', now(), now() - interval '1 minute'),
    (e.others, user_id('ask'), 'Another member''s', now(), null)
) as v (id, user_id, agent, used, not_after);
grant select on elsewhere to authenticated;
select act_as('freya');
select results_eq(
    $$ select (o ->> 'is_current')::boolean, o ->> 'user_agent', now() - (o ->> 'last_used_at')::timestamptz from jsonb_array_elements(get_my_sessions()) as o $$,
    $$ values (true, null, interval '0'), (false, 'A phone', interval '2 hours'), (false, 'A laptop', interval '3 days') $$,
    'Freya sees her own that live, the current one first, then the one used last'
);
select raises(format('select end_session(%L)', (select others from elsewhere)), 404, 'not_found', 'This session has already ended.', 'another member''s session is not hers to end');
select lives_ok(format('select end_session(%L)', (select phone from elsewhere)), 'her phone''s is');
select raises(format('select end_session(%L)', (select phone from elsewhere)), 404, 'not_found', null, 'once');
select act_as_owner();
select is_empty('select 1 from auth.sessions where id = (select phone from elsewhere)', 'it is deleted');
select is((select count(*) from auth.sessions where id = (select others from elsewhere)), 1::bigint, 'and nobody else''s');
select audited('member.session_ended', 'the end of a session');
select act_as('freya');
select is(end_other_sessions(), '{"ended": 2}', 'she ends the others');
select is(end_other_sessions(), '{"ended": 0}', 'twice is once');
select is(jsonb_array_length(get_my_sessions()), 1, 'this one goes on');
select act_as_owner();
select is((select count(*) from auth.sessions where user_id <> user_id('freya') and id = (select others from elsewhere)), 1::bigint, 'so do another member''s');
select is(
    (select array_agg(a.payload ->> 'ended') from private.audit_log as a where a.action = 'member.sessions_ended' and a.actor = 'member:' || user_id('freya')),
    array['2'], 'recorded once, with how many'
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
