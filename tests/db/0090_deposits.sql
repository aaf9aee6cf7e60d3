begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
select join_as('newling', 'freya');

create function actors.deposit_sql(p_name text, p_amount text, p_reference text default 'ref-1', p_receipt text default null, p_id uuid default gen_random_uuid())
returns text language sql as $$
    select format(
        'insert into public.deposits (id, user_id, amount, reference_number, receipt_url, status) values (%L, %L, %L, %L, %L, ''pending'')',
        p_id, user_id(p_name), p_amount, p_reference, coalesce(p_receipt, upload(p_name))
    )
$$;
grant execute on function actors.deposit_sql(text, text, text, text, uuid) to public;

-- A member, first deposit: exactly a package
select act_as('freya');
select lives_ok(deposit_sql('freya', v), 'a first deposit may be ' || v) from unnest(array['50', '100', '250', '500']) as v;
select refuses(deposit_sql('freya', v), 400, 'package_required', 'Choose a package for your first deposit: $50, $100, $250, $500, $1000.', 'a first deposit cannot be ' || v)
from unnest(array['1', '51', '999.99', '10000000']) as v;
select refuses(deposit_sql('freya', v), 400, 'invalid_amount', 'Enter an amount from $1.00 to $10,000,000.00.', 'an amount cannot be ' || v)
from unnest(array['0', '-5', '0.99', '10000001', '1e308']) as v;
select throws_ok(deposit_sql('freya', v), s, null, 'an amount is no ' || v)
from (values ('NaN', '23514'), ('Infinity', '23514'), ('50.001', '23514'), ('x', '22P02')) as w (v, s);
select lives_ok(deposit_sql('freya', '1000'), 'five may wait');
select refuses(deposit_sql('freya', '50'), 409, 'too_many_pending', 'You have 5 deposits waiting for review. Wait for a decision or cancel one.', 'the sixth is refused');
select is((select count(*) from deposits), 5::bigint, 'a member sees the own deposits');
select is((select count(*) from transactions where transaction_type = 'deposit' and status = 'pending'), 5::bigint, 'each is in the journal from the moment it is requested');

-- What else is refused
select act_as('ask');
select refuses(deposit_sql('embla', '50'), 403, 'not_yours', 'You can only make requests for yourself.', 'nobody deposits for another');
select refuses(replace(deposit_sql('ask', '50'), '''pending'')', '''approved'')'), 403, 'forbidden', 'A new request is pending until an administrator decides it.', 'nobody approves an own deposit');
select refuses(deposit_sql('ask', '50', r), 400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.', 'no reference: ' || r) from unnest(array['', '  ', '-- / --', repeat('9', 201)]) as r;
select refuses(deposit_sql('ask', '50', 'r', u), 400, 'invalid_receipt', 'Upload your receipt again: the file was not found.', 'no receipt: ' || u)
from unnest(array['https://evil/x.png', 'javascript:alert(1)', '../x', 'http://h/storage/v1/object/public/receipts/../secret.png', 'http://h/storage/v1/object/public/other/a.png',
    'http://h/storage/v1/object/public/receipts/' || user_id('ask') || '/9999999999.png', 'http://h/storage/v1/object/public/receipts/' || user_id('ask') || '/9999999999.svg',
    'http://h/storage/v1/object/public/receipts/' || user_id('ask') || '/9999999999.png?x=1']) as u;
select refuses(deposit_sql('ask', '50', 'r', upload('embla')), 400, 'invalid_receipt', 'Upload your receipt again: the file was not found.', 'another member''s receipt');
select refuses(deposit_sql('ask', '50', 'r', upload('ask', 'pdf')), 400, 'receipt_must_be_image', 'The receipt of a first package must be an image: PNG, JPEG or WebP.', 'no PDF for a first package');
select act_as('newling');
select refuses(deposit_sql('newling', '50'), 403, 'profile_incomplete', 'Please complete your profile and settings first', 'a wallet comes first');
select throws_ok(format('insert into deposits (user_id, amount, reference_number, receipt_url, %I) values (auth.uid(), 50, %L, %L, null)', c, 'r', 'u'), '42501', null, 'a member cannot write ' || c)
from unnest(array['admin_notes', 'created_at', 'decided_at', 'decided_by', 'kind', 'reference_key', 'receipt_name', 'voided_at']) as c;

-- Retries
select act_as('ask');
create temporary table retry as select gen_random_uuid() as id, upload('ask') as receipt;
grant select on retry to public;
select lives_ok((select deposit_sql('ask', '100', 'once', receipt, id) || ' on conflict (id) do nothing' from retry), 'a request');
select lives_ok((select deposit_sql('ask', '100', 'once', receipt, id) || ' on conflict (id) do nothing' from retry), 'and its retry');
select is((select count(*) from deposits), 1::bigint, 'make one row');
select is((select count(*) from transactions), 1::bigint, 'and one journal row');
select refuses((select deposit_sql('ask', '250', 'once', receipt, id) || ' on conflict (id) do nothing' from retry), 409, 'duplicate_request', 'This request was already made with other values.', 'the same id with other values is refused');
select refuses(deposit_sql('ask', '100', 'r', (select receipt from retry)), 409, 'receipt_used', 'This receipt belongs to another deposit. Upload a new one.', 'a receipt serves one deposit');
select throws_ok($$ update deposits set amount = 1000 $$, '42501', null, 'a member cannot change a request');
select throws_ok($$ delete from deposits $$, '42501', null, 'or delete it');
select act_as('loke');
select is_empty($$ select 1 from deposits $$, 'a stranger sees none');
select act_as('anonymous');
select throws_ok($$ select 1 from deposits $$, '42501', null, 'a visitor has no table');
select act_as('sam');
select isnt_empty($$ select 1 from deposits $$, 'an administrator sees them');
select throws_ok($$ update deposits set status = 'approved' $$, '42501', null, 'and decides only through the function');

-- With a package: 5 x 5 sizes and other amounts
select act_as_owner();
select pays('embla', 250);
select act_as('embla');
select refuses(deposit_sql('embla', v), 400, 'downgrade', 'You can only upgrade to a higher package. Downgrades are not allowed.', 'with 250, a deposit of ' || v) from unnest(array['50', '100', '250']) as v;
select lives_ok(deposit_sql('embla', v, 'r' || v, upload('embla', 'pdf')), 'with 250, a deposit of ' || v) from unnest(array['500', '1000', '1', '300.55']) as v;
select results_eq($$ select amount::numeric, kind from deposits where status = 'pending' order by amount $$,
    $$ values (1.0, 'cash_in'), (300.55, 'cash_in'), (500, 'upgrade'), (1000, 'upgrade') $$, 'the amount alone decides what it is');

-- Blocked and pending members
select act_as_owner();
update private.profiles set account_status = 'pending' where user_id = user_id('buri');
select act_as('buri');
select refuses(deposit_sql('buri', '50'), 403, 'account_pending', 'Your account is pending. Deposits and withdrawals open once it is active.', 'a pending account cannot deposit');
select act_as_owner();
update private.profiles set account_status = 'suspended' where user_id = user_id('buri');
select act_as('buri');
select refuses(deposit_sql('buri', '50'), 403, 'account_suspended', 'Your account has been suspended. Please contact support for assistance.', 'nor a suspended one');

-- References
select act_as_owner();
select is(private.reference_key(r), k, 'reference: ' || r) from (values
    ('0xABCDEF' || repeat('0', 58), 'abcdef' || repeat('0', 58)), ('tx ' || repeat('aB', 32) || ' !', repeat('ab', 32)), (' Order-No. 77 ', 'orderno77'),
    ('ＡＢ１', 'ab1'), ('№ 5', 'no5'), ('--', '')) as v (r, k);

-- Even the owner of the database
select act_as_owner();
select refuses($$ update public.deposits set amount = 1 $$, 403, 'append_only', 'A deposit is decided once and never changed.', 'a claim is not changed');
select refuses($$ update public.deposits set admin_notes = 'x' where status = 'approved' $$, 403, 'append_only', 'A deposit is decided once and never changed.', 'a decision is not changed');
select refuses($$ update public.deposits set voided_at = now() where status = 'approved' $$, 403, 'append_only', 'A deposit is decided once and never changed.', 'nothing is voided without a correction');
select refuses($$ delete from public.deposits $$, 403, 'append_only', 'Rows of deposits are kept as they are.', 'nothing is deleted');
select refuses($$ truncate public.deposits cascade $$, 403, 'append_only', 'Rows of deposits are kept as they are.', 'nothing is emptied');
select is_empty($$ select * from private.check_books() where rule <> 'I20' $$, 'the books agree');

-- A file of one's own in another member's folder is no receipt of one's own
select act_as_owner();
alter table storage.objects disable trigger harborline_receipts;
insert into storage.objects (bucket_id, name, owner_id, metadata) values ('receipts', user_id('ask') || '/1999999999.png', user_id('loke')::text, '{"mimetype": "image/png"}');
alter table storage.objects enable trigger harborline_receipts;
select act_as('loke');
select refuses(
    format('insert into deposits (user_id, amount, reference_number, receipt_url, status) values (auth.uid(), 50, %L, %L, %L)', 'folder',
        'http://localhost/storage/v1/object/public/receipts/' || user_id('ask') || '/1999999999.png', 'pending'),
    400, 'invalid_receipt', 'Upload your receipt again: the file was not found.', 'a receipt lies in the own folder'
);

-- Behind the trigger stands a policy
select act_as_owner();
alter table public.deposits disable trigger _100_guard;
select act_as('loke');
select throws_ok(
    format('insert into deposits (user_id, amount, reference_number, receipt_url, status) values (%L, 50, %L, %L, %L)', user_id('ask'), 'policy', 'x', 'pending'),
    '42501', 'new row violates row-level security policy for table "deposits"', 'the policy alone refuses a deposit of another'
);
select throws_ok(
    format('insert into deposits (user_id, amount, reference_number, receipt_url, status) values (%L, 50, %L, %L, %L)', user_id('loke'), 'policy', 'x', 'approved'),
    '42501', 'new row violates row-level security policy for table "deposits"', 'and one that is approved already'
);
select * from finish();
rollback;
