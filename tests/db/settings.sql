-- The packages and the settings of the installation: types and limits, who changes them, readiness, the end of demo mode,
-- and the watch over the deposit address.
-- threats: T18 T121
begin;
\ir ../support/actors.sql
select * from no_plan();
savepoint start;

-- =====================================================================================================================
-- Packages, types and limits, addresses
-- =====================================================================================================================
select results_eq($$ select value::numeric, label, pairing_percent from private.packages order by value $$,
    $$ values (50.0, 'Starter', 10), (100, 'Basic', 20), (250, 'Standard', 30), (500, 'Premium', 40), (1000, 'VIP Package', 50) $$, 'the five packages');
select throws_ok($$ insert into private.packages values (2000, 'Half and more', 51) $$, '23514', null, 'a pair always leaves the company half');

-- In demo mode the sample story tells the time
select set_config('app.demo_clock', '2026-03-16 13:02+00', true);
select is(private.clock(), '2026-03-16 13:02+00'::timestamptz, 'the sample story tells the time');
select set_config('app.demo_clock', '', true);

-- Types and limits
select raises(format('update private.settings set value = %L where key = %L', v, k), 400, 'invalid_setting', t, k || ' cannot be ' || v)
from (values ('review.due_hours', '"48"', 'review.due_hours must be of type integer.'), ('review.due_hours', '0', 'review.due_hours must be from 1 to 720.'),
    ('review.due_hours', '721', 'review.due_hours must be from 1 to 720.'), ('demo', '"yes"', 'demo must be of type boolean.'),
    ('deposit.tolerance', '5', 'deposit.tolerance must be an amount with at most two decimals, such as "5.00".'),
    ('deposit.tolerance', '"5.001"', 'deposit.tolerance must be an amount with at most two decimals, such as "5.00".'),
    ('deposit.tolerance', '"-1"', 'deposit.tolerance must be an amount with at most two decimals, such as "5.00".'),
    ('deposit.tolerance', '"10.01"', 'deposit.tolerance must be from 0 to 10.'),
    ('product.name', '""', 'product.name must be from 1 to 60.'), ('operator.countries', '"DE"', 'operator.countries must be of type list.'),
    ('deposit.address', '"T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwc"', 'This is not a TRC20 address. Check it character by character.')) as w (k, v, t);
select lives_ok($$ update private.settings set value = '24' where key = 'review.due_hours' $$, 'a setting within its limits is taken');
select raises($$ update private.settings set key = 'other' where key = 'demo' $$, 403, 'forbidden', 'Only the value of a setting can change.', 'only the value changes');
update private.settings set value = 'true' where key = 'demo.seeded';
select raises($$ update private.settings set value = 'false' where key = 'demo.seeded' $$, 409, 'demo_is_over', 'Sample data was loaded here; that cannot be undone.', 'the mark of sample data stays');
update private.settings set value = 'false' where key = 'demo';
select raises($$ update private.settings set value = 'true' where key = 'demo' $$, 409, 'demo_is_over', 'Demo mode cannot be switched back on.', 'demo mode ends once');
select is(private.is_demo(), false, 'demo mode is read from the row');

-- TRC20 addresses
select is(private.is_trc20_address(a), true, 'an address: ' || a)
from unnest(array['T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb', 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t']) as a;
select is(private.is_trc20_address(a), false, 'no address: ' || coalesce(a, 'null'))
from unnest(array[null, '', 'T', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u', 'tR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6',
    '0xdAC17F958D2ee523a2206206994597C13D831ec7', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj60', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t ']) as a;

-- The clock of the sample story counts in demo mode only
select set_config('app.demo_clock', '2026-03-16 13:02+00', true);
select isnt(private.clock(), '2026-03-16 13:02+00'::timestamptz, 'with real money the clock cannot be set');
rollback to savepoint start;

-- =====================================================================================================================
-- The operator changes settings and leaves demo mode
-- =====================================================================================================================
-- As on a fresh installation, whatever this database has been through.
alter table private.settings disable trigger _100_validate;
update private.settings set value = 'false' where key in ('demo.seeded', 'mail.ready');
alter table private.settings enable trigger _100_validate;
update private.admin_users set is_active = false where email not like '%@admins.test';

select act_as('sam');
select raises($$ select list_settings() $$, 403, 'forbidden', 'A support admin cannot do this.', 'settings are the super admin''s');
select raises($$ select leave_demo() $$, 403, 'forbidden', 'A support admin cannot do this.', 'so is the way out of demo mode');
select act_as('elin');
select raises($$ select change_setting('review.due_hours', '24') $$, 403, 'forbidden', 'A finance admin cannot do this.', 'finance does not set them either');

select act_as('olga');
select is(change_setting('review.due_hours', '24') #>> '{setting,value}', '24', 'Olga sets a value');
select act_as_owner();
select is_empty($$ select * from private.setting_discrepancies where key = 'review.due_hours' $$, 'the audit log says so');
set local session_replication_role = replica;
update private.settings set revision = 0 where key = 'review.due_hours';
set local session_replication_role = origin;
select isnt_empty($$ select * from private.setting_discrepancies where key = 'review.due_hours' $$, 'not what happened past it');
select act_as('olga');
select change_setting('review.due_hours', '24');
select act_as_owner();
select is_empty($$ select * from private.setting_discrepancies where key = 'review.due_hours' $$, 'until the same value is entered again');
select act_as('olga');
select raises($$ select change_setting('review.due_hours', '"soon"') $$, 400, 'invalid_setting', 'review.due_hours must be of type integer.', 'of its type');
select raises($$ select change_setting('review.due_hours', '0') $$, 400, 'invalid_setting', 'review.due_hours must be from 1 to 720.', 'within its limits');
select raises($$ select change_setting('no.such', '1') $$, 404, 'not_found', 'There is no such setting.', 'if it exists');
select raises($$ select change_setting('demo', 'false') $$, 403, 'forbidden', 'This changes through readiness only.', 'demo mode is no ordinary setting');
select raises(
    $$ select change_setting('deposit.address', '"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u"') $$,
    400, 'invalid_setting', 'This is not a TRC20 address. Check it character by character.', 'one wrong letter is found'
);
select raises(
    format('select change_setting(%L, %L)', 'explorer.url', to_json(v)), 400, 'invalid_setting',
    'Enter an https address with {hash} in place of the transaction hash.', v || ' is no address of an explorer'
)
from unnest(array[
    'http://explorer.example/tx/{hash}', 'javascript:alert(1)//{hash}', 'https://explorer.example/tx/', 'https:///{hash}', 'https://{hash}.example/',
    'https://explorer.example/{hash}/{hash}', 'https://explorer.example/"{hash}', 'https://explorer.example/ {hash}', 'see https://explorer.example/{hash}',
    'https://someone@explorer.example/{hash}'
]) as v;
select is(
    change_setting('explorer.url', coalesce(to_jsonb(v), 'null')) #> '{setting,value}', coalesce(to_jsonb(v), 'null'), coalesce(v, 'nothing') || ' is taken'
) from unnest(array['https://explorer.example/#/transaction/{hash}', 'https://explorer.example:8443/tx?id={hash}&lang=en', null]) as v;
select raises(
    format('select change_setting(%L, %L)', 'support.url', to_json(v)), 400, 'invalid_setting', 'Enter an https address.', v || ' is no page of support'
)
from unnest(array[
    'javascript:alert(1)', 'data:text/html,x', '//host/x', 'http://support.example/', 'https://me@support.example/', 'https://support.example/"x', 'support', 'https://'
]) as v;
select is(
    change_setting('support.url', coalesce(to_jsonb(v), 'null')) #> '{setting,value}', coalesce(to_jsonb(v), 'null'), coalesce(v, 'nothing') || ' is taken'
) from unnest(array['https://support.example', 'https://support.example:8443/help?lang=en#top', '', null]) as v;
select raises(
    format('select change_setting(%L, %L)', key, to_json(v)), 400, 'invalid_setting', key || ' must be one line.', format('%s has no %s', key, v::bytea)
)
from unnest(array['product.name', 'support.name', 'support.email', 'operator.name', 'terms.version']) as key,
    unnest(array[E'a\r\nBcc: x@y.test', E'a\nb', E'a\tb', U&'a\0085b', U&'a\2028b', E'a\x7fb']) as v;
select lives_ok(format('select change_setting(%L, %L)', key, to_json(E'One\nTwo'::text)), key || ' may have lines') from unnest(array['terms.text', 'risk.text', 'operator.address']) as key;
select raises(
    format('select change_setting(%L, %L)', 'alarm.webhook_url', to_json(v)), 400, 'invalid_setting',
    'Enter an https address. In demo mode http on this machine is taken too.', v || ' is no address for alarms'
)
from unnest(array[
    'http://hooks.example/x', 'ftp://hooks.example/x', 'https://', 'https://user@hooks.example/', 'https://hooks.example/a b', 'see https://hooks.example/',
    'http://127.0.0.1.hooks.example/', 'http://127.0.0.1@hooks.example/', 'https://[::1]/'
]) as v;
select is(
    change_setting('alarm.webhook_url', coalesce(to_jsonb(v), 'null')) #> '{setting,value}', coalesce(to_jsonb(v), 'null'), coalesce(v, 'nothing') || ' is taken for alarms'
) from unnest(array['https://hooks.example:8443/x?y=z', 'http://127.0.0.1:9000/x', 'http://localhost', 'https://hooks.example', null]) as v;
select is(change_setting('deposit.address', '"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"') ->> 'success', 'true', 'a right one is taken');
select act_as_owner();
select is((select kind from private.admin_notices order by created_at desc limit 1), 'deposit_address_changed', 'and every administrator is notified');
select is(
    (select payload ->> 'key' from private.audit_log where action = 'setting.changed' order by id desc limit 1), 'deposit.address', 'with a row of the audit log'
);

-- Readiness names what is missing.
select act_as('olga');
select is((get_readiness() ->> 'ready')::boolean, false, 'a fresh installation is not ready');
select raises($$ select leave_demo() $$, 409, 'not_ready', 'Set the operator''s legal name and postal address. Set the address of support. Serve the site by HTTPS: name its domain in SITE_DOMAIN, or its https address in SITE_URL where a proxy has the certificate. Set wallet.strict: a wallet address with a wrong letter is rejected then, and a payout cannot be lost to it. Publish terms of use: at least 500 characters with 50 different words, and their version. Publish the risk notice: at least 100 characters with 15 different words, and its version. List the countries whose residents may sign up. Emails go to the mail catcher of development. Name your mail server in SMTP_HOST. Send a test email and confirm that it arrived. Every finance and super administrator needs two-step sign-in. Switch backups on (BACKUP_REPOSITORY), wait for the first one and prove it: make restore-drill.', 'and stays in demo mode');
select raises($$ select confirm_test_mail() $$, 409, 'not_sent', 'No test email has been sent to you yet.', 'a mail that never left is not confirmed');
do $$
begin
    perform change_setting(k, v) from (values
        ('operator.name', '"Harborline OU"'::jsonb), ('operator.address', '"Sadama 1, Tallinn"'), ('support.email', '"help@harborline.example"'),
        ('terms.text', (select to_jsonb(string_agg('clause ' || n, ' ')) from generate_series(1, 60) as n)), ('terms.version', '"1"'),
        ('risk.text', (select to_jsonb(string_agg('hazard ' || n, ' ')) from generate_series(1, 20) as n)), ('risk.version', '"1"'),
        ('operator.countries', '["EE"]'), ('wallet.strict', 'true')
    ) as s (k, v);
    perform send_test_mail();
end
$$;
select act_as_owner();
select jobs.report_installation('https://example.org', 'mail.example.org:587');
update private.outbox set sent_at = now() where template = 'test_mail';
select jobs.check_backups(jsonb_build_object('at', now(), 'database_at', now(), 'files_at', now(), 'proven_at', now()));
update private.admin_users set totp_key_id = 'k', totp_secret = '\x00', totp_confirmed_at = now() where role <> 'support_admin';
create function actors.said_settings() returns text language sql security definer as $$
    select string_agg(s.key, ' ' order by s.key) from private.settings as s
    where s.key in ('demo', 'mail.ready', 'mail.server', 'site.url') and not exists (select 1 from private.setting_discrepancies as d where d.key = s.key)
$$;
grant execute on function actors.said_settings() to public;
select act_as('olga');
select lives_ok($$ select confirm_test_mail() $$, 'the mail arrived');
select is(said_settings(), 'demo mail.ready mail.server site.url', 'the audit log says where mail is sent, and that it arrives');
select is(
    (select jsonb_agg(i ->> 'item') from jsonb_array_elements(get_readiness() -> 'items') as i where not (i ->> 'ok')::boolean),
    (select case when (select count(*) from deposits) + (select count(*) from withdrawals) > 0 then '["no_money"]'::jsonb end), 'nothing of what can be set is missing'
);

-- Who confirmed what stands beside it, while it is done.
create function pg_temp.item(name text) returns jsonb language sql as $$
    select i from jsonb_array_elements(get_readiness() -> 'items') as i where i ->> 'item' = name
$$;
select is(pg_temp.item('terms') ->> 'confirmed_by', 'Olga', 'Olga published the terms');
select is(pg_temp.item('mail') ->> 'confirmed_by', 'Olga', 'and confirmed the mail');
select isnt(pg_temp.item('mail') ->> 'confirmed_at', null, 'at a time');
select is(pg_temp.item('https') - array['item', 'ok'], '{"missing": null, "confirmed_by": null, "confirmed_at": null}', 'nobody confirms HTTPS');

-- Each alone keeps real money out.
create function pg_temp.open_items() returns text language sql as $$
    select string_agg(i ->> 'item', ' ') from jsonb_array_elements(get_readiness() -> 'items') as i
    where not (i ->> 'ok')::boolean and i ->> 'item' <> 'no_money'
$$;
savepoint ready;
select change_setting('terms.text', to_jsonb(t)) from (values ('Terms')) as v (t);
select is(pg_temp.open_items(), 'terms', 'a word is no terms of use');
select is(pg_temp.item('terms') ->> 'confirmed_by', null, 'and nobody is named for what is missing');
select change_setting('terms.text', to_jsonb(repeat('All is well. ', 50)));
select is(pg_temp.open_items(), 'terms', 'nor is a sentence said again and again');
select change_setting('terms.text', (select to_jsonb(string_agg(n::text, ' ')) from generate_series(1, 60) as n));
select is(pg_temp.open_items(), 'terms', 'nor are sixty short words');
select change_setting('terms.text', 'null');
select is(pg_temp.open_items(), 'terms', 'nor is nothing');
rollback to savepoint ready;
select change_setting('risk.text', '"Risk"');
select is(pg_temp.open_items(), 'risk', 'a word is no risk notice');
rollback to savepoint ready;
select change_setting('wallet.strict', 'false');
select is(pg_temp.open_items(), 'wallets', 'wallet addresses must be checked');
rollback to savepoint ready;
select act_as_owner();
select jobs.report_installation('http://example.org', 'mail.example.org:587');
select act_as('olga');
select is(pg_temp.open_items(), 'https', 'plain http is not enough');
rollback to savepoint ready;
select act_as_owner();
update private.settings set value = 'null' where key in ('site.url', 'mail.server');
select act_as('olga');
select is(pg_temp.open_items(), 'https mail_server', 'nor is what nobody reported');
rollback to savepoint ready;
select act_as_owner();
select jobs.report_installation('https://example.org', 'catcher');
select act_as('olga');
select is(pg_temp.open_items(), 'mail_server mail', 'the mail catcher reaches nobody, and its test is no test');
select act_as_owner();
select is(
    (select actor || ' ' || (payload ->> 'after') from private.audit_log where action = 'setting.changed' order by id desc limit 1), 'system false',
    'the audit log says that the mail is to be tested anew'
);
select jobs.report_installation('https://example.org', 'mail.example.org:587');
select act_as('olga');
select is(pg_temp.open_items(), 'mail', 'as with another server');
rollback to savepoint ready;
select raises(format('select change_setting(%L, %L)', k, '"https://example.org"'), 403, 'forbidden', 'This changes through readiness only.', k || ' is no ordinary setting')
from unnest(array['site.url', 'mail.server']) as k;
select act_as_owner();
alter table public.deposits disable trigger user;
alter table public.withdrawals disable trigger user;
alter table public.transactions disable trigger user;
delete from public.withdrawals;
delete from public.deposits;
select act_as('olga');
select is(said_settings(), 'demo mail.ready mail.server site.url', 'whatever was reported and confirmed, the audit log says so');
select lives_ok($$ select leave_demo() $$, 'demo mode ends');
select is(said_settings(), 'demo mail.ready mail.server site.url', 'the end of demo mode too');
select raises($$ select leave_demo() $$, 409, 'demo_is_over', 'Demo mode has ended already.', 'once');
select act_as_owner();
select raises($$ update private.settings set value = 'true' where key = 'demo' $$, 409, 'demo_is_over', 'Demo mode cannot be switched back on.', 'and for good');
select raises(
    $$ update private.settings set value = '"http://127.0.0.1:9000/x"' where key = 'alarm.webhook_url' $$,
    400, 'invalid_setting', 'Enter an https address. In demo mode http on this machine is taken too.', 'with real money alarms go to https alone'
);

-- With real money the roles that decide need the second step.
update private.admin_users set totp_key_id = null, totp_secret = null, totp_confirmed_at = null where id = user_id('elin');
select act_as('elin');
select raises(
    $$ select confirm_correction(gen_random_uuid()) $$,
    403, 'two_step_required', 'Your role needs two-step sign-in. Set it up in your settings first.', 'Elin decides nothing without it'
);
select lives_ok($$ select list_deposits('{"page": 1}') $$, 'and still reads');

select act_as_owner();
select audited(a, 'a step towards real money') from unnest(array['setting.changed', 'demo.left']) as a;
select is((select count(*) from private.audit_log where action = 'setting.changed' and payload @> '{"key": "mail.ready", "after": "true"}'), 1::bigint, 'so is the test mail');
select act_as('olga');
select send_test_mail() from generate_series(1, 4);
select raises($$ select send_test_mail() $$, 429, 'too_many_requests', 'Five test emails an hour. Try again later.', 'the sixth test mail of an hour');
select ok(jsonb_array_length(list_settings()) > 10, 'Olga sees all settings');
select act_as('sam');
select raises('select ' || call, 403, 'forbidden', 'A support admin cannot do this.', 'Sam is kept from ' || call)
from unnest(array['get_readiness()', 'send_test_mail()', 'confirm_test_mail()']) as call;
rollback to savepoint start;

-- =====================================================================================================================
-- The deposit address is watched
-- =====================================================================================================================
update private.admin_users set is_active = false where email not like '%@admins.test';
update private.settings set value = '"T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"' where key = 'deposit.address';
delete from private.admin_notices;
delete from private.outbox;

select act_as('elin');
select raises(
    $$ select change_setting('deposit.address', '"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"') $$,
    403, 'forbidden', null, 'finance does not change the address'
);
select act_as('olga');
select signed_in_before('olga', '10 minutes 1 second');
select raises(
    format('select change_setting(%L, %L)', k, v), 403, 'reauthentication_needed',
    'Sign in again to change ' || k || ': your last sign-in is more than ten minutes old.', 'a token alone does not change ' || k
) from (values
    ('deposit.tolerance', '"10"'), ('deposit.address', '"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"'), ('alarm.webhook_url', 'null'),
    ('explorer.url', 'null'), ('support.email', '"help@example.com"'), ('support.url', 'null')
) as t (k, v);
select lives_ok($$ select change_setting('wallet.strict', 'true') $$, 'it changes what decides nothing about where money goes');
select signed_in_before('olga', '9 minutes 55 seconds');
select lives_ok($$ select change_setting('deposit.address', '"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"') $$, 'Olga does');
select act_as_owner();
select is(
    (select array_agg(o.recipient order by o.recipient) from private.outbox as o where o.template = 'deposit_address_changed'),
    (select array_agg(a.email order by a.email) from private.admin_users as a where a.is_active), 'and every administrator has a mail of it'
);
select is(jobs.check_deposit_address(), '{}', 'what is shown is what was recorded');
select is(jobs.check_deposit_address('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'), '{}', 'and what is kept elsewhere');
select is(
    jobs.check_deposit_address('TJRabPrwbZy45sbavfcjinPJC18kjpRTv8') ->> 'expected', 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8',
    'another one kept elsewhere is an alarm'
);
delete from private.admin_notices;
delete from private.outbox;

update private.settings set value = '"TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"' where key = 'deposit.address';
select is(
    (select count(*) from private.outbox as o where o.template = 'deposit_address_changed'),
    (select count(*) from private.admin_users as a where a.is_active), 'a change past the function is mailed too'
);
select is(
    jobs.check_deposit_address(),
    '{"recorded": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "shown": "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"}', 'and found, because it is not on the record'
);
select ok(jobs.check_deposit_address() <> '{}', 'as long as it stays');
select is((select count(*) from private.admin_notices where kind = 'deposit_address_unexpected'), 1::bigint, 'notified once an hour');
select is(
    (select count(*) from private.outbox where template = 'deposit_address_unexpected'),
    (select count(*) from private.admin_users as a where a.is_active), 'to every administrator'
);
rollback to savepoint start;

-- =====================================================================================================================
-- What the platform publishes about itself
-- =====================================================================================================================
select act_as('anonymous');
select is(get_platform() -> 'packages' -> 1, '{"value": "100.00", "label": "Basic", "rate": "20"}', 'an anonymous client reads the packages');
select is(get_platform() -> 'explorer_url', 'null'::jsonb, 'no block explorer is set at first');
select is(get_platform() -> 'rates', '{"referral": "5", "override": "1", "reentry": "10"}', 'and the rates');
select is(get_platform() -> 'limits', '{"min_withdrawal": "100.00", "min_deposit": "1.00", "max_amount": "10000000.00", "receipt_max_bytes": 5242880}', 'and the limits');
-- =====================================================================================================================
-- The right value brings back all of a setting
-- =====================================================================================================================
select act_as_owner();
create temporary table limits as select s.* from private.settings as s where s.key in ('deposit.address', 'deposit.tolerance');
grant select on limits to public;
set local session_replication_role = replica;
update private.settings set needs_proof = false, maximum = 5 where key = 'deposit.address';
delete from private.settings where key = 'deposit.tolerance';
set local session_replication_role = origin;
select is((select array_agg(key order by key) from private.setting_discrepancies), array['deposit.address', 'deposit.tolerance'], 'other limits are seen, and a setting that is gone');
savepoint deleted;
select private.restore_limits(l.key, l.value) from limits as l where l.key = 'deposit.tolerance';
select is((select array_agg(key order by key) from private.setting_discrepancies), array['deposit.address'], 'the runbook''s statement brings it back');
rollback to savepoint deleted;
select act_as('olga');
select change_setting(l.key, l.value) from limits as l;
select act_as_owner();
select ok(not private.is_restoring_rows(), 'no row can be changed afterwards');
select is_empty('select * from private.setting_discrepancies', 'the value that was there sets both right');
select results_eq(
    $$ select to_jsonb(s) - array['revision', 'updated_at', 'updated_by'] from private.settings as s where s.key in (select l.key from limits as l) order by s.key $$,
    $$ select to_jsonb(l) - array['revision', 'updated_at', 'updated_by'] from limits as l order by l.key $$, 'with all that nobody types'
);
select * from finish();
rollback;
