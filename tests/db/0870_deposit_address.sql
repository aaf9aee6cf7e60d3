begin;
\ir ../support/actors.sql
select plan(11);
-- threats: T121
update private.admin_users set is_active = false where email not like '%@admins.test';
update private.settings set value = '"T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"' where key = 'deposit.address';
delete from private.admin_notices;
delete from private.outbox;

select act_as('elin');
select refuses(
    $$ select change_setting('deposit.address', '"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"') $$,
    403, 'forbidden', null, 'finance does not change the address'
);
select act_as('olga');
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
select is((select count(*) from private.admin_notices where kind = 'deposit_address_unexpected'), 1::bigint, 'told once an hour');
select is(
    (select count(*) from private.outbox where template = 'deposit_address_unexpected'),
    (select count(*) from private.admin_users as a where a.is_active), 'to everybody'
);

select * from finish();
rollback;
