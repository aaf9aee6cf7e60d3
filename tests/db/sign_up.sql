-- Becoming a member: what the auth service asks before an account is made, what a confirmation makes, looking up referrers
-- and names.
-- threats: T87
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- From the form to the member
-- =====================================================================================================================
create function actors.asks(p_data jsonb, p_email text default 'new@people.test') returns text language sql as $$
    select coalesce(a #>> '{error,http_code}' || ' ' || (a #>> '{error,message}'), a::text)
    from hooks.before_user_created(jsonb_build_object('user', jsonb_build_object('email', p_email, 'user_metadata', p_data))) as a
$$;
create function actors.form(p_more jsonb default '{}') returns jsonb language sql as $$
    select jsonb_build_object('username', 'newcomer', 'display_name', 'New Comer', 'referrer_id', profile_id('freya'), 'package_value', 1000) || p_more
$$;
grant execute on all functions in schema actors to public;

-- The auth service asks the hook
set local role supabase_auth_admin;
select is(asks(form()), '{}', 'a complete form is allowed');
select is(asks(form('{"referrer_id": ""}')), '400 Referral code is required for registration', 'without a code');
select is(asks('{}'), '400 Referral code is required for registration', 'without anything');
select is(asks(form(jsonb_build_object('referrer_id', r))), '400 Invalid referral code', 'with the code ' || r)
from unnest(array['x', '1', gen_random_uuid()::text, 'freya', ''' or 1=1']) as r;
select is(asks(form('{"username": null}')), '400 Please fill in all required fields', 'without a username');
select is(asks(form('{"display_name": " "}')), '400 Please fill in all required fields', 'without a name');
select is(asks(form(), ''), '400 Please fill in all required fields', 'without an address');
select is(asks(form('{"username": "FREYA"}'), 'other@people.test'), '400 Username already exists. Please choose a different username.', 'with a taken name');
select is(asks(form(), 'other@people.test'), '400 Username already exists. Please choose a different username.', 'with a name that another sign-up reserved');
select is(asks(form('{"username": "NewComer"}')), '{}', 'the same address may ask again');
select ok(asks(form(jsonb_build_object('username', n))) like '400 %', 'not a username: ' || n)
from unnest(array['ab', 'a b', 'аdmin', 'x-y', 'Admin', 'closed_12345678', '____', repeat('a', 31), E'abc\n', 'naïve', 'a@b']) as n;
reset role;
update private.username_reservations set until = until - interval '23 hours 59 minutes' where username = 'NewComer';
set local role supabase_auth_admin;
select is(asks(form(), 'other@people.test'), '400 Username already exists. Please choose a different username.', 'a reservation lasts nearly a day');
reset role;
update private.username_reservations set until = until - interval '1 minute' where username = 'NewComer';
set local role supabase_auth_admin;
select is(asks(form(), 'other@people.test'), '{}', 'and lapses after it');
reset role;
update private.profiles set account_status = 'suspended' where user_id = user_id('freya');
select is(asks(form('{"username": "second"}')), '{}', 'a suspended referrer still refers');
update private.profiles set account_status = 'disabled' where user_id = user_id('freya');
select is(asks(form('{"username": "third"}')), '400 Invalid referral code', 'a disabled one does not');
update private.profiles set account_status = 'active' where user_id = user_id('freya');

-- What a mail about a sign-up says
create function actors.mail_data(p_referral_code text) returns jsonb language sql as $$
    select hooks.mail_data(jsonb_build_object('user', jsonb_build_object('user_metadata', jsonb_build_object(
        'referrer_id', p_referral_code, 'referrer_username', 'forged'
    ))))
$$;
grant execute on all functions in schema actors to public;
create temporary table referrer as select username from private.profiles where user_id = user_id('freya');
grant select on referrer to public;
set local role supabase_auth_admin;
select is(mail_data(profile_id('freya')::text), (select jsonb_build_object('referrer_username', username) from referrer), 'it names the referrer, by no text of their own');
select is(mail_data(code), '{"referrer_username": null}', 'and nobody without one')
from unnest(array[null, '', 'freya', gen_random_uuid()::text]) as code;
reset role;

-- Confirmation makes the profile
create function actors.sign_up(p_email text, p_data jsonb, p_confirmed timestamptz default null) returns uuid language sql as $$
    insert into auth.users (id, instance_id, aud, role, email, email_confirmed_at, created_at, updated_at, raw_app_meta_data, raw_user_meta_data)
    values (gen_random_uuid(), '00000000-0000-0000-0000-000000000000', 'authenticated', 'authenticated', p_email, p_confirmed, now(), now(), '{}', p_data) returning id
$$;
create temporary table squatters as select sign_up('squatter' || n || '@people.test', form(jsonb_build_object('username', 'squatter_' || n))) as id
from generate_series(1, 100) as n;
create temporary table made as select
    sign_up('first@people.test', form('{"username": "first", "account_status": "disabled", "cash_in_amount": 5, "id": "x", "role": "service_role", "available_balance": 9}')) as first,
    sign_up('late@people.test', form('{"username": "buri"}')) as late,
    sign_up('plain@people.test', '{}', now()) as plain,
    sign_up('lost@people.test', form(jsonb_build_object('username', 'lost', 'referrer_id', gen_random_uuid()))) as lost;
select is_empty($$ select 1 from private.profiles where user_id in (select first from made) $$, 'an unconfirmed account has no profile and no place');
select is_empty($$ select 1 from private.profiles where user_id in (select id from squatters) $$, 'nor has one of a hundred');
update auth.users set email_confirmed_at = now() where id in (select first from made);
update auth.users set email_confirmed_at = now() where id in (select late from made union select lost from made);
select results_eq($$ select username, display_name, email, package_value::numeric, cash_in_amount::numeric, account_status::text from private.profiles where user_id = (select first from made) $$,
    $$ values ('first', 'New Comer', 'first@people.test', 0.0, 0.0, 'active') $$, 'a confirmed one has, with nothing of what it wished for itself');
update auth.users set email_confirmed_at = now() + interval '1 second' where id = (select first from made);
select is((select count(*) from private.profiles where user_id = (select first from made)), 1::bigint, 'a second confirmation changes nothing');
select ok((select username from private.profiles where user_id = (select late from made)) like 'buri\_%', 'a name that was taken meanwhile gets a distinct form');
select is_empty($$ select 1 from private.profiles where user_id in ((select plain from made), (select lost from made)) $$, 'without metadata or referrer there is no profile, and no failure');
insert into private.username_reservations (username, email, until)
values ('chosen', 'several@people.test', now() + interval '1 day'), ('not_chosen', 'several@people.test', now() + interval '1 day');
select sign_up('several@people.test', form('{"username": "chosen"}'), now());
select is_empty($$ select 1 from private.username_reservations where email = 'several@people.test' $$, 'one confirmed, no sign-up of the address reserves a name');
select is((select child_no from private.positions where user_id = (select first from made)), 4, 'the place is the next one at confirmation, whoever signed up before');

-- Looking up a member
select act_as('anonymous');
select is(get_sponsor(' Freya ') #>> '{0,username}', 'freya', 'a referrer is found by exact name');
select is(get_sponsor('frey'), '[]', 'not by a part of it');
select is(get_sponsor('%'), '[]', 'nor by a pattern');
select is((select is_username_available('freya')), false, 'a taken name');
select is((select is_username_available('fresh_name')), true, 'a free name');
select throws_ok($$ select private.referrer_by_code('x') $$, '42501', null, 'helpers are closed');
select act_as_owner();
select is(
    get_sponsor(profile_id('ask')::text), jsonb_build_array(jsonb_build_object('id', profile_id('ask'), 'username', 'ask', 'display_name', 'Ask')),
    'a referrer is found by the code'
);
select set_config('request.headers', '{"x-real-ip": "203.0.113.7", "accept": "application/vnd.pgrst.object+json;nulls=stripped"}', true);
select is(get_sponsor('ask') ->> 'username', 'ask', 'who asks for one object gets it');
select is(
    get_sponsor('nobody'), '{"code": "PGRST116", "details": "The result contains 0 rows", "hint": null, "message": "JSON object requested, multiple (or no) rows returned"}',
    'or PostgREST''s error'
);
select is(current_setting('response.status'), '406', 'with its status, and nothing is rolled back');
select set_config('request.headers', '{"x-real-ip": "203.0.113.7"}', true);

-- Unconfirmed accounts
update auth.users set created_at = now() - interval '8 days', email_confirmed_at = null where email = 'plain@people.test';
select ok(jobs.delete_unconfirmed_users() >= 1, 'what was not confirmed for a week is removed');
select is_empty($$ select 1 from auth.users where email = 'plain@people.test' $$, 'it is deleted');
select isnt_empty($$ select 1 from auth.users where email = 'first@people.test' $$, 'and nobody else');

-- What a sign-up must not be
set local role supabase_auth_admin;
select is(asks(form(jsonb_build_object('username', 'fourth', 'display_name', d))), '400 A name has at most 80 characters, on one line.', 'with too long or hostile a name')
from unnest(array[repeat('x', 81), E'two\nlines']) as d;
reset role;
select is((select title from public.notifications where user_id = (select late from made) and kind = 'username_changed'), 'Your username was taken meanwhile', 'who got another name is notified');

-- The referrer learns of it
select results_eq(
    $$ select title, amount, link from public.notifications where kind = 'referral_joined' and title like 'first %' and user_id = user_id('freya') $$,
    $$ values ('first joined your team', null::public.usd, '/dashboard?view=advanced&tab=tree') $$, 'Freya is notified of a new direct referral'
);
select is_empty($$ select 1 from public.notifications where title like 'first %' and user_id <> user_id('freya') $$, 'and nobody above her');
select is_empty($$ select 1 from public.notifications where title like 'squatter%' $$, 'a sign-up that nobody confirmed is not notified');
select is_empty($$ select 1 from private.outbox where template = 'referral_joined' $$, 'and no mail leaves that she did not ask for');
select is(
    (hooks.before_user_created(jsonb_build_object('user', jsonb_build_object('email', 'new@people.test', 'user_metadata', form(change)))) #>> '{error,code}'), code,
    'the error of a form has the code ' || code
)
from (
    values ('{"referrer_id": ""}'::jsonb, 'referral_code_required'), ('{"referrer_id": "x"}', 'invalid_referral_code'), ('{"display_name": ""}', 'fields_required'),
    ('{"username": "a b"}', 'invalid_username'), ('{"username": "freya"}', 'username_taken'), (jsonb_build_object('display_name', repeat('x', 81)), 'invalid_display_name')
) as f (change, code);

-- A confirmation never fails: what could not be made then is made later
create function actors.fails() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$;
create trigger _000_fails before insert on private.profiles for each row execute function actors.fails();
create temporary table retried as select sign_up('retried@people.test', form('{"username": "retried"}'), now()) as id;
select is_empty($$ select 1 from private.profiles where user_id = (select id from retried) $$, 'a profile that could not be made is missing');
drop trigger _000_fails on private.profiles;
select ok(jobs.create_missing_profiles() >= 1, 'the job makes what is missing');
select is((select username from private.profiles where user_id = (select id from retried)), 'retried', 'with the name of the sign-up');
select is(private.create_profile_from_sign_up((select id from retried), 'x@people.test', form()), null, 'once');

-- Not too often
select act_as('anonymous');
select set_config('request.headers', '{"x-real-ip": "203.0.113.99"}', true);
select get_sponsor('freya') from generate_series(1, 60);
select raises($$ select get_sponsor('freya') $$, 429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.', 'referrers are not guessed');
select is_username_available('x') from generate_series(1, 30);
select raises($$ select is_username_available('x') $$, 429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.', 'nor names');

select act_as_owner();
select sign_up('confirmed@people.test', '{}', now()), sign_up('young@people.test', '{}');
update auth.users set created_at = now() - interval '8 days' where email = 'confirmed@people.test';
select jobs.delete_unconfirmed_users();
select is((select count(*) from auth.users where email in ('confirmed@people.test', 'young@people.test')), 2::bigint, 'neither a confirmed account nor a young one is removed');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Names that show what they are
-- =====================================================================================================================
\ir ../support/unreadable_texts.sql
create function actors.signs_up(p_name text) returns text language sql security definer as $$
    select coalesce(a #>> '{error,message}', 'allowed') from hooks.before_user_created(jsonb_build_object('user', jsonb_build_object(
        'email', 'new@people.test',
        'user_metadata', jsonb_build_object('username', 'newcomer', 'display_name', p_name, 'referrer_id', profile_id('freya'))
    ))) as a
$$;
grant execute on all functions in schema actors to public;

select act_as('freya');
select is(signs_up(text), 'A name has at most 80 characters, on one line.', 'no sign-up with ' || name) from hidden;

-- Names that show nothing.
select is(signs_up(text), 'A name has at most 80 characters, on one line.', 'a new name shows something') from blanks;

select act_as_owner();
select is_empty($$ select 1 from private.username_reservations where username = 'newcomer' $$, 'no name was reserved');

-- Names of the world stay possible, with the accents and joiners that they are written with.
select act_as('freya');
select is(signs_up('علی' || chr(8204) || 'رضا'), 'allowed', 'a name of the world is allowed');
select * from finish();
rollback;
