begin;
\ir ../support/actors.sql
select plan(8);
select family();
select act_as('freya');
select refuses('select cancel_email_change()', 404, 'not_found', 'No change of your e-mail address is waiting.', 'nothing waits');
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
select refuses('select cancel_email_change()', 404, 'not_found', null, 'once');
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
select throws_ok('select cancel_email_change()', '42501', null, 'a visitor has none');

select * from finish();
rollback;
