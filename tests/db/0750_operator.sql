begin;
\ir ../support/actors.sql
select * from no_plan();
-- As on a fresh installation, whatever this database has been through.
alter table private.settings disable trigger _100_guard;
update private.settings set value = 'false' where key in ('demo.seeded', 'mail.ready');
alter table private.settings enable trigger _100_guard;
update private.admin_users set is_active = false where email not like '%@admins.test';

select act_as('sam');
select refuses($$ select list_settings() $$, 403, 'forbidden', 'A support admin cannot do this.', 'settings are the super admin''s');
select refuses($$ select leave_demo() $$, 403, 'forbidden', 'A support admin cannot do this.', 'so is the way out of demo mode');
select act_as('elin');
select refuses($$ select change_setting('review.due_hours', '24') $$, 403, 'forbidden', 'A finance admin cannot do this.', 'finance does not set them either');

select act_as('olga');
select is(change_setting('review.due_hours', '24') #>> '{setting,value}', '24', 'Olga sets a value');
select refuses($$ select change_setting('review.due_hours', '"soon"') $$, 400, 'invalid_setting', 'review.due_hours must be of type integer.', 'of its type');
select refuses($$ select change_setting('review.due_hours', '0') $$, 400, 'invalid_setting', 'review.due_hours must be from 1 to 720.', 'within its limits');
select refuses($$ select change_setting('no.such', '1') $$, 404, 'not_found', 'There is no such setting.', 'if it exists');
select refuses($$ select change_setting('demo', 'false') $$, 403, 'forbidden', 'This changes through readiness only.', 'demo mode is no ordinary setting');
select refuses(
    $$ select change_setting('deposit.address', '"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u"') $$,
    400, 'invalid_setting', 'This is not a TRC20 address. Check it character by character.', 'one wrong letter is found'
);
select is(change_setting('deposit.address', '"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"') ->> 'success', 'true', 'a right one is taken');
select act_as_owner();
select is((select kind from private.admin_notices order by created_at desc limit 1), 'deposit_address_changed', 'and every administrator is told');
select is(
    (select payload ->> 'key' from private.audit_log where action = 'setting.changed' order by seq desc limit 1), 'deposit.address', 'with a row of the trail'
);

-- Readiness names what is missing.
select act_as('olga');
select is((get_readiness() ->> 'ready')::boolean, false, 'a fresh installation is not ready');
select refuses($$ select leave_demo() $$, 409, 'not_ready', 'Set the operator''s legal name and postal address. Set the address of support. Publish terms of use. Publish the risk notice. List the countries whose residents may sign up. Send a test mail and confirm that it arrived. Every finance and super administrator needs two-step sign-in.', 'and stays in demo mode');
select refuses($$ select confirm_test_mail() $$, 409, 'not_sent', 'No test mail to you has left yet.', 'a mail that never left is not confirmed');
do $$
begin
    perform change_setting(k, v) from (values
        ('operator.name', '"Harborline OU"'::jsonb), ('operator.address', '"Sadama 1, Tallinn"'), ('support.email', '"help@harborline.example"'),
        ('terms.text', '"Terms"'), ('terms.version', '"1"'), ('risk.text', '"Risk"'), ('risk.version', '"1"'), ('operator.countries', '["EE"]')
    ) as s (k, v);
    perform send_test_mail();
end
$$;
select act_as_owner();
update private.outbox set sent_at = now() where template = 'test_mail';
update private.admin_users set totp_key_id = 'k', totp_secret = '\x00', totp_confirmed_at = now() where role <> 'support_admin';
select act_as('olga');
select lives_ok($$ select confirm_test_mail() $$, 'the mail arrived');
select is(
    (select jsonb_agg(i ->> 'item') from jsonb_array_elements(get_readiness() -> 'items') as i where not (i ->> 'ok')::boolean),
    (select case when (select count(*) from deposits) + (select count(*) from withdrawals) > 0 then '["no_money"]'::jsonb end), 'nothing of what can be set is missing'
);
select act_as_owner();
alter table public.deposits disable trigger user;
alter table public.withdrawals disable trigger user;
alter table public.transactions disable trigger user;
delete from public.withdrawals;
delete from public.deposits;
select act_as('olga');
select lives_ok($$ select leave_demo() $$, 'demo mode ends');
select refuses($$ select leave_demo() $$, 409, 'demo_is_over', 'Demo mode has ended already.', 'once');
select act_as_owner();
select refuses($$ update private.settings set value = 'true' where key = 'demo' $$, 409, 'demo_is_over', 'Demo mode cannot be switched back on.', 'and for good');


-- With real money the roles that decide need the second step.
update private.admin_users set totp_key_id = null, totp_secret = null, totp_confirmed_at = null where id = user_id('elin');
select act_as('elin');
select refuses(
    $$ select confirm_correction(gen_random_uuid()) $$,
    403, 'two_step_required', 'Your role needs two-step sign-in. Set it up in your settings first.', 'Elin decides nothing without it'
);
select lives_ok($$ select list_deposits('{"page": 1}') $$, 'and still reads');

select act_as_owner();
select audited(a, 'a step towards real money') from unnest(array['setting.changed', 'demo.left']) as a;
select is((select count(*) from private.audit_log where action = 'setting.changed' and payload @> '{"key": "mail.ready", "after": "true"}'), 1::bigint, 'so is the test mail');
select act_as('olga');
select send_test_mail() from generate_series(1, 4);
select refuses($$ select send_test_mail() $$, 429, 'too_many_requests', 'Five test mails an hour. Wait a while.', 'the sixth test mail of an hour');
select ok(jsonb_array_length(list_settings()) > 10, 'Olga sees all settings');
select act_as('sam');
select refuses('select ' || call, 403, 'forbidden', 'A support admin cannot do this.', 'Sam is kept from ' || call)
from unnest(array['get_readiness()', 'send_test_mail()', 'confirm_test_mail()']) as call;
select * from finish();
rollback;
