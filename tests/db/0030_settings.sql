-- threats: T18
begin;
\ir ../support/actors.sql
select * from no_plan();
select results_eq($$ select value::numeric, label, pairing_percent from private.packages order by value $$,
    $$ values (50.0, 'Starter', 10), (100, 'Basic', 20), (250, 'Standard', 30), (500, 'Premium', 40), (1000, 'VIP Package', 50) $$, 'the five packages');
select throws_ok($$ insert into private.packages values (2000, 'Half and more', 51) $$, '23514', null, 'a pair always leaves the company half');

-- In demo mode the sample story tells the time
select set_config('app.demo_clock', '2026-03-16 13:02+00', true);
select is(private.clock(), '2026-03-16 13:02+00'::timestamptz, 'the sample story tells the time');
select set_config('app.demo_clock', '', true);

-- Types and limits
select refuses(format('update private.settings set value = %L where key = %L', v, k), 400, 'invalid_setting', t, k || ' cannot be ' || v)
from (values ('review.due_hours', '"48"', 'review.due_hours must be of type integer.'), ('review.due_hours', '0', 'review.due_hours must be from 1 to 720.'),
    ('review.due_hours', '721', 'review.due_hours must be from 1 to 720.'), ('demo', '"yes"', 'demo must be of type boolean.'),
    ('product.name', '""', 'product.name must be from 1 to 60.'), ('operator.countries', '"DE"', 'operator.countries must be of type list.'),
    ('deposit.address', '"T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwc"', 'This is not a TRC20 address. Check it character by character.')) as w (k, v, t);
select lives_ok($$ update private.settings set value = '24' where key = 'review.due_hours' $$, 'a setting within its limits is taken');
select refuses($$ update private.settings set key = 'other' where key = 'demo' $$, 403, 'forbidden', 'Only the value of a setting can change.', 'only the value changes');
update private.settings set value = 'true' where key = 'demo.seeded';
select refuses($$ update private.settings set value = 'false' where key = 'demo.seeded' $$, 409, 'demo_is_over', 'Sample data was loaded here; that cannot be undone.', 'the mark of sample data stays');
update private.settings set value = 'false' where key = 'demo';
select refuses($$ update private.settings set value = 'true' where key = 'demo' $$, 409, 'demo_is_over', 'Demo mode cannot be switched back on.', 'demo mode ends once');
select is(private.is_demo(), false, 'demo mode is read from the row');

-- TRC20 addresses
select is(private.wallet_ok(a), true, 'an address: ' || a)
from unnest(array['T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb', 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t']) as a;
select is(private.wallet_ok(a), false, 'no address: ' || coalesce(a, 'null'))
from unnest(array[null, '', 'T', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u', 'tR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6',
    '0xdAC17F958D2ee523a2206206994597C13D831ec7', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj60', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t ']) as a;

-- The clock of the sample story counts in demo mode only
select set_config('app.demo_clock', '2026-03-16 13:02+00', true);
select isnt(private.clock(), '2026-03-16 13:02+00'::timestamptz, 'with real money nobody tells the time');
select * from finish();
rollback;
