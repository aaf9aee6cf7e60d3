-- Deposits: what a member may claim, who decides what and once, what the form offers, and the list that administrators
-- decide from.
-- threats: T17 T56 T43
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Requests
-- =====================================================================================================================
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
select raises(deposit_sql('freya', v), 400, 'package_required', 'Choose a package for your first deposit: $50, $100, $250, $500, $1000.', 'a first deposit cannot be ' || v)
from unnest(array['1', '51', '999.99', '10000000']) as v;
select raises(deposit_sql('freya', v), 400, 'invalid_amount', 'Enter an amount from $1.00 to $10,000,000.00.', 'an amount cannot be ' || v)
from unnest(array['0', '-5', '0.99', '10000001', '1e308']) as v;
select throws_ok(deposit_sql('freya', v), s, null, 'an amount is no ' || v)
from (values ('NaN', '23514'), ('Infinity', '23514'), ('50.001', '23514'), ('x', '22P02')) as w (v, s);
select lives_ok(deposit_sql('freya', '1000'), 'five may wait');
select act_as_owner();
update private.settings set value = 'false' where key = 'deposit.open';
select act_as('freya');
select raises(
    deposit_sql('freya', '50'), 403, 'deposits_closed',
    'Deposits are closed at the moment. Send no USDT. If you already have, submit the request once they open again.', 'nothing is taken while deposits are closed'
);
select is(get_deposit_options() -> 'deposit_address', 'null', 'nobody is shown where to send');
select is(get_deposit_options() -> 'deposits_open', 'false', 'and whoever would pay is told');
select is(get_platform() -> 'deposits_open', 'false', 'everybody is told');
select act_as_owner();
update private.settings set value = 'true' where key = 'deposit.open';
select act_as('freya');
select isnt(get_deposit_options() -> 'deposit_address', 'null', 'when they open again, the address is back');
select raises(deposit_sql('freya', '50'), 409, 'too_many_pending', 'You have 5 deposits waiting for review. Wait for a decision or cancel one.', 'the sixth is rejected');
select is((select count(*) from deposits), 5::bigint, 'a member sees the own deposits');
select is((select count(*) from transactions where transaction_type = 'deposit' and status = 'pending'), 5::bigint, 'each is in the journal from the moment it is requested');

-- What else is rejected
select act_as('ask');
select raises(deposit_sql('embla', '50'), 403, 'not_yours', 'You can only make requests for yourself.', 'a member cannot deposit for another');
select raises(replace(deposit_sql('ask', '50'), '''pending'')', '''approved'')'), 403, 'forbidden', 'A new request is pending until an administrator decides it.', 'an administrator cannot approve an own deposit');
select raises(deposit_sql('ask', '50', r), 400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.', 'no reference: ' || r) from unnest(array['', '  ', '-- / --', repeat('9', 201)]) as r;
select raises(deposit_sql('ask', '50', 'r', u), 400, 'invalid_receipt', 'Upload your receipt again: the file was not found.', 'no receipt: ' || u)
from unnest(array['https://evil/x.png', 'javascript:alert(1)', '../x', 'http://h/storage/v1/object/public/receipts/../secret.png', 'http://h/storage/v1/object/public/other/a.png',
    'http://h/storage/v1/object/public/receipts/' || user_id('ask') || '/9999999999.png', 'http://h/storage/v1/object/public/receipts/' || user_id('ask') || '/9999999999.svg',
    'http://h/storage/v1/object/public/receipts/' || user_id('ask') || '/9999999999.png?x=1']) as u;
select raises(deposit_sql('ask', '50', 'r', upload('embla')), 400, 'invalid_receipt', 'Upload your receipt again: the file was not found.', 'another member''s receipt');
select raises(deposit_sql('ask', '50', 'r', upload('ask', 'pdf')), 400, 'receipt_must_be_image', 'The receipt of a first package must be an image: PNG, JPEG or WebP.', 'no PDF for a first package');
select act_as('newling');
select raises(deposit_sql('newling', '50'), 403, 'profile_incomplete', 'Please complete your profile and settings first', 'a wallet comes first');
select throws_ok(format('insert into deposits (user_id, amount, reference_number, receipt_url, %I) values (auth.uid(), 50, %L, %L, null)', c, 'r', 'u'), '42501', null, 'a member cannot write ' || c)
from unnest(array['admin_notes', 'created_at', 'decided_at', 'decided_by', 'kind', 'reference_key', 'voided_at', 'decision_no', 'received_amount']) as c;

-- Retries
select act_as('ask');
create temporary table retry as select gen_random_uuid() as id, upload('ask') as receipt;
grant select on retry to public;
select lives_ok((select deposit_sql('ask', '100', 'once', receipt, id) || ' on conflict (id) do nothing' from retry), 'a request');
select lives_ok((select deposit_sql('ask', '100', 'once', receipt, id) || ' on conflict (id) do nothing' from retry), 'and its retry');
select is((select count(*) from deposits), 1::bigint, 'make one row');
select is((select count(*) from transactions), 1::bigint, 'and one journal row');
select raises((select deposit_sql('ask', '250', 'once', receipt, id) || ' on conflict (id) do nothing' from retry), 409, 'duplicate_request', 'This request was already made with other values.', 'the same id with other values is rejected');
select act_as_owner();
insert into private.request_texts (request_id, text) values ('00000000-0000-4000-8000-000000000001', 'of a withdrawal');
select act_as('ask');
select raises(deposit_sql('ask', '100', 'r', upload('ask'), '00000000-0000-4000-8000-000000000001'), 409, 'duplicate_request', 'This id belongs to another request. Use a new one.', 'nor has it the id of a withdrawal');
select raises(deposit_sql('ask', '100', 'r', (select receipt from retry)), 409, 'receipt_used', 'This receipt belongs to another deposit. Upload a new one.', 'a receipt serves one deposit');
select throws_ok($$ update deposits set amount = 1000 $$, '42501', null, 'a member cannot change a request');
select throws_ok($$ delete from deposits $$, '42501', null, 'or delete it');
select act_as('loke');
select is_empty($$ select 1 from deposits $$, 'a stranger sees none');
select act_as('anonymous');
select throws_ok($$ select 1 from deposits $$, '42501', null, 'an anonymous client has no table');
select act_as('sam');
select isnt_empty($$ select 1 from deposits $$, 'an administrator sees them');
select throws_ok($$ update deposits set status = 'approved' $$, '42501', null, 'and decides only through the function');

-- With a package: 5 x 5 sizes and other amounts
select act_as_owner();
select pays('embla', 250);
select act_as('embla');
select raises(deposit_sql('embla', v), 400, 'downgrade', 'You can only upgrade to a higher package. Downgrades are not allowed.', 'with 250, a deposit of ' || v) from unnest(array['50', '100', '250']) as v;
select lives_ok(deposit_sql('embla', v, 'r' || v, upload('embla', 'pdf')), 'with 250, a deposit of ' || v) from unnest(array['500', '1000', '1', '300.55']) as v;
select results_eq($$ select amount::numeric, kind from deposits where status = 'pending' order by amount $$,
    $$ values (1.0, 'cash_in'), (300.55, 'cash_in'), (500, 'upgrade'), (1000, 'upgrade') $$, 'the amount alone decides what it is');

-- Blocked and pending members
select act_as_owner();
update private.profiles set account_status = 'pending' where user_id = user_id('buri');
select act_as('buri');
select raises(deposit_sql('buri', '50'), 403, 'account_pending', 'Your account is pending. Deposits and withdrawals open once it is active.', 'a pending account cannot deposit');
select act_as_owner();
update private.profiles set account_status = 'suspended' where user_id = user_id('buri');
select act_as('buri');
select raises(deposit_sql('buri', '50'), 403, 'account_suspended', 'Your account has been suspended. Please contact support for assistance.', 'nor a suspended one');

-- References
select act_as_owner();
select is(private.reference_keys(r), k, 'reference: ' || r) from (values
    ('0xABCDEF' || repeat('0', 58), array['abcdef' || repeat('0', 58), '0abcdef' || repeat('0', 57)]), ('tx ' || repeat('aB', 32) || ' !', array[repeat('ab', 32)]),
    ('1' || repeat('a', 64) || 'x', array['1' || repeat('a', 63), repeat('a', 64)]), (' Order-No. 77 ', array['orderno77']),
    ('ＡＢ１', array['ab1']), ('№ 5', array['no5']), (repeat('㌔', 200), array[repeat('キロ', 100)]), ('--', '{}'::text[])) as v (r, k);
select is(cardinality(private.reference_keys(left(string_agg(md5(i::text), ''), 200))), 137, 'no reference has more keys than 200 digits have')
from generate_series(1, 7) as i;

-- Even the owner of the database
select act_as_owner();
select raises($$ update public.deposits set amount = 1 $$, 403, 'append_only', 'A deposit is decided once and never changed.', 'a claim is not changed');
select raises($$ update public.deposits set admin_notes = 'x' where status = 'approved' $$, 403, 'append_only', 'A deposit is decided once and never changed.', 'a decision is not changed');
select raises($$ update public.deposits set voided_at = now() where status = 'approved' $$, 403, 'append_only', 'A deposit is decided once and never changed.', 'nothing is voided without a correction');
select raises($$ delete from public.deposits $$, 403, 'append_only', 'Rows of deposits are kept as they are.', 'nothing is deleted');
select raises($$ truncate public.deposits cascade $$, 403, 'append_only', 'Rows of deposits are kept as they are.', 'nothing is emptied');
select record_states();
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'the ledger checks pass');

-- A file of one's own in another member's folder is no receipt of one's own
select act_as_owner();
alter table storage.objects disable trigger harborline_receipts_validate;
insert into storage.objects (bucket_id, name, owner_id, metadata) values ('receipts', user_id('ask') || '/1999999999.png', user_id('loke')::text, '{"mimetype": "image/png"}');
alter table storage.objects enable trigger harborline_receipts_validate;
select act_as('loke');
select raises(
    format('insert into deposits (user_id, amount, reference_number, receipt_url, status) values (auth.uid(), 50, %L, %L, %L)', 'folder',
        'http://localhost/storage/v1/object/public/receipts/' || user_id('ask') || '/1999999999.png', 'pending'),
    400, 'invalid_receipt', 'Upload your receipt again: the file was not found.', 'a receipt lies in the own folder'
);
select act_as('ask');
select raises(
    format('insert into deposits (user_id, amount, reference_number, receipt_url, status) values (auth.uid(), 50, %L, %L, %L)', 'folder',
        'http://localhost/storage/v1/object/public/receipts/' || user_id('ask') || '/1999999999.png', 'pending'),
    400, 'invalid_receipt', 'Upload your receipt again: the file was not found.', 'and is one''s own there'
);

-- Behind the trigger stands a policy
select act_as_owner();
alter table public.deposits disable trigger _100_validate;
select act_as('loke');
select throws_ok(
    format('insert into deposits (user_id, amount, reference_number, receipt_url, status) values (%L, 50, %L, %L, %L)', user_id('ask'), 'policy', 'x', 'pending'),
    '42501', 'new row violates row-level security policy for table "deposits"', 'the policy alone rejects a deposit of another'
);
select throws_ok(
    format('insert into deposits (user_id, amount, reference_number, receipt_url, status) values (%L, 50, %L, %L, %L)', user_id('loke'), 'policy', 'x', 'approved'),
    '42501', 'new row violates row-level security policy for table "deposits"', 'and one that is approved already'
);
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- References that show what they are
-- =====================================================================================================================
\ir ../support/unreadable_texts.sql
-- A reference is looked at before its receipt, so one serves all that are rejected.
create table actors.paper as select upload('freya') as receipt;
grant select on actors.paper to public;
create function actors.sends(p_reference text, p_id uuid default gen_random_uuid(), p_receipt text default null) returns text language sql as $$
    select format(
        'insert into deposits (id, user_id, amount, reference_number, receipt_url, status) values (%L, auth.uid(), 50, %L, %L, %L) on conflict (id) do nothing',
        p_id, p_reference, coalesce(p_receipt, (select p.receipt from actors.paper as p)), 'pending'
    )
$$;
grant execute on all functions in schema actors to public;

select act_as('freya');
select raises(sends(text), 400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.', 'no reference with ' || name) from hidden;
select raises(sends(text), 400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.', 'a reference has no joiner') from joiners;
select act_as_owner();
select is_empty($$ select 1 from public.deposits where user_id = user_id('freya') $$, 'no deposit was made');
select act_as('freya');

-- A request that is repeated as it was sent.
create temporary table sent as select gen_random_uuid() as id, upload('freya') as receipt, E'  Order 77\t\r\n' as reference;
grant select on sent to public;
select lives_ok((select sends(reference, id, receipt) from sent), 'a reference as it was copied');
select is((select reference_number from deposits), 'Order 77', 'is stored without what stands around it');
select lives_ok((select sends(reference, id, receipt) from sent), 'its retry is the same request');
select lives_ok((select sends('Order 77', id, receipt) from sent), 'with and without');
select raises((select sends('Order 78', id, receipt) from sent), 409, 'duplicate_request', 'This request was already made with other values.', 'another reference is another request');
select is((select array_agg(reference_number) from deposits), array['Order 77'], 'one row in the end');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Decisions
-- =====================================================================================================================
create temporary table requests (name text primary key, id uuid);
grant all on requests to public;
create function actors.id_of(p_name text) returns uuid language sql stable as $$ select r.id from requests as r where r.name = p_name $$;
grant execute on all functions in schema actors to public;
insert into requests values ('first', claims_deposit('freya', 500, 'tx-1')), ('bad', claims_deposit('ask', 500, 'tx-2')), ('duplicate', claims_deposit('embla', 50, 'TX 1'));

-- Who may decide
select act_as('freya');
select throws_ok(format('select decide_deposit(%L, %L)', id_of('first'), 'approve'), '42501', null, 'a member decides nothing');
select act_as('anonymous');
select throws_ok(format('select decide_deposit(%L, %L)', id_of('first'), 'approve'), '42501', null, 'an anonymous client neither');
select act_as('sam');
select raises(format('select decide_deposit(%L, %L)', id_of('first'), 'approve'), 403, 'forbidden', 'A support admin cannot do this.', 'support decides no money');

-- What cannot be decided
select act_as('elin');
select raises(format('select decide_deposit(%L, %L)', id_of('first'), a), 400, 'invalid_action', 'The action must be approve or reject.', 'not an action: ' || a) from unnest(array['', 'delete', 'Approve']) as a;
select raises(format('select decide_deposit(%L, null)', id_of('first')), 400, 'invalid_action', 'The action must be approve or reject.', 'no action');
select raises(format('select decide_deposit(%L, %L)', gen_random_uuid(), 'approve'), 404, 'not_found', 'There is no such deposit.', 'no deposit');
select raises(format('select decide_deposit(%L, %L, %L)', id_of('first'), 'reject', repeat('x', 1001)), 400, 'invalid_reason', 'A reason has at most 1,000 characters.', 'too long a reason');

-- Approve: once
select is(decide_deposit(id_of('first'), 'approve') #>> '{deposit,status}', 'approved', 'a deposit is approved');
select is(decide_deposit(id_of('first'), 'approve') ->> 'already', 'true', 'asked again, the first result');
select raises(format('select decide_deposit(%L, %L)', id_of('first'), 'reject'), 409, 'already_decided', 'Already approved by Elin just now.', 'another decision is rejected');
select act_as('olga');
select raises(format('select decide_deposit(%L, %L)', id_of('first'), 'approve'), 409, 'already_decided', 'Already approved by Elin just now.', 'another administrator is notified who decided');
select act_as_owner();
select results_eq($$ select cash_in_amount::numeric, package_value::numeric, account_verified from private.profiles where user_id = user_id('freya') $$, $$ values (500.0, 500.0, true) $$, 'cash-in and package count once');
select is((select status::text from public.transactions where reference_id = id_of('first')), 'completed', 'the journal row is completed');
select is((select body from public.notifications where user_id = user_id('freya') order by created_at desc limit 1), 'Your deposit of $500.00 was approved and counts from now on.', 'the member is notified');
select is((select count(*) from private.outbox where recipient = 'freya@people.test' and template = 'deposit_approved'), 1::bigint, 'once, by mail too');
select is((select array_agg(action order by id) from private.audit_log where object_id = id_of('first')), array['deposit.requested', 'deposit.approved'], 'and the audit log has one entry of the request and one of the decision');
select is((select decided_by from public.deposits where id = id_of('first')), user_id('elin'), 'with the one who decided');

-- One transfer counts once
select act_as('elin');
select raises(format('select decide_deposit(%L, %L)', id_of('duplicate'), 'approve'), 409, 'reference_used', 'This reference was already approved with another deposit.', 'the same reference in another spelling');

-- Reject
select is(decide_deposit(id_of('bad'), 'reject', '   ') #>> '{deposit,admin_notes}', 'No reason provided', 'a rejection has a reason');
select is(decide_deposit(id_of('duplicate'), 'reject', ' blurred ') #>> '{deposit,admin_notes}', 'blurred', 'trimmed');
select act_as('ask');
select is((select admin_notes from deposits), 'No reason provided', 'which the member reads');
select act_as_owner();
select is((select status::text from public.transactions where reference_id = id_of('bad')), 'failed', 'the journal row failed');
select is((select package_value::numeric from private.profiles where user_id = user_id('ask')), 0.0, 'and nothing counts');

-- The own account
update private.profiles set email = 'ELIN@admins.test' where user_id = user_id('buri');
insert into requests values ('own', claims_deposit('buri', 50));
select act_as('elin');
select raises(format('select decide_deposit(%L, %L)', id_of('own'), 'approve'), 403, 'own_account', 'You cannot decide a request of your own member account.', 'an administrator cannot decide for the own account');
select act_as('olga');
select is(decide_deposit(id_of('own'), 'approve') ->> 'success', 'true', 'another administrator does');

select act_as_owner();
select audited(a, 'every decision') from unnest(array['deposit.approved', 'deposit.rejected']) as a;

-- Of two first deposits the larger one makes the package, in whatever order they are decided
select join_as('vali', 'ymir');
select complete('vali');
insert into requests values ('large', claims_deposit('vali', 250)), ('small', claims_deposit('vali', 50));
select act_as('elin');
select is(decide_deposit(id_of(n), 'approve') ->> 'success', 'true', 'approved: ' || n) from unnest(array['large', 'small']) as n;
select act_as_owner();
select results_eq($$ select package_value::numeric, cash_in_amount::numeric from private.profiles where user_id = user_id('vali') $$, $$ values (250.0, 300.0) $$, 'a later smaller deposit keeps the package');
select is_empty($$ select * from private.check_ledger() where rule = 'I27' $$, 'the counters followed');

-- An approval moves the member's row, the journal row and a raised bonus in no index, whether the member becomes
-- verified or not: they are heap-only updates.
insert into requests values ('upgrade', claims_deposit('vali', 500)), ('funding', claims_deposit('loke', 50));
create function actors.updates(p_table regclass, out updated bigint, out in_place bigint) language sql volatile as $$
    select pg_stat_get_xact_tuples_updated(p_table), pg_stat_get_xact_tuples_hot_updated(p_table)
$$;
create temporary table updates_before as
select t.name, u.updated, u.in_place from (values ('private.profiles'), ('public.bonuses'), ('public.transactions')) as t (name) cross join lateral updates(t.name) as u;
select act_as('elin');
select is(decide_deposit(id_of('upgrade'), 'approve') ->> 'success', 'true', 'an upgrade is approved');
select is(decide_deposit(id_of('funding'), 'approve') ->> 'success', 'true', 'a first package is approved');
select act_as_owner();
select ok(account_verified, 'which verifies the member') from private.profiles where user_id = user_id('loke');
-- One of the two members may stand on a page that is full, whose rows can only be written elsewhere.
select results_eq(
    $$ select b.name, a.updated - b.updated, a.in_place - b.in_place >= case b.name when 'private.profiles' then 1 else a.updated - b.updated end
        from updates_before as b cross join lateral updates(b.name) as a order by b.name $$,
    $$ values ('private.profiles', 2::bigint, true), ('public.bonuses', 1, true), ('public.transactions', 2, true) $$,
    'the rows of members, raised bonuses and requests in the journal are written once each, and none of their indexes'
);
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The amount that arrived
-- =====================================================================================================================
create temporary table requests (name text primary key, id uuid);
grant all on requests to public;
create function actors.id_of(p_name text) returns uuid language sql stable as $$ select r.id from requests as r where r.name = p_name $$;
create function actors.decision(p_name text, p_action text, p_received text, p_reason text default null) returns text language sql as $$
    select format('select decide_deposit(%L, %L, %L, %L)', id_of(p_name), p_action, p_reason, p_received)
$$;
grant execute on all functions in schema actors to public;
insert into requests values
('exact', claims_deposit('freya', 500)), ('less', claims_deposit('ask', 100)), ('more', claims_deposit('embla', 250)), ('small', claims_deposit('buri', 50)),
('plain', claims_deposit('loke', 50));
select pays('ymir', 1000);
insert into requests values ('twelve', claims_deposit('ymir', 12.34));

select act_as('elin');
select raises(
    decision('less', a, v), 400, 'invalid_amount', 'Enter the amount that arrived: from $0.01 to $10,000,000.00, with at most two decimals.',
    format('%s: nothing of %s arrives', a, v)
) from unnest(array['approve', 'reject', 'ask_rest']) as a cross join unnest(array['0', '-5', '99.999', '10000000.01', 'NaN', 'Infinity', '1e300']) as v;
select raises(
    decision('less', 'reject', '60'), 400, 'invalid_input',
    'The amount that arrived belongs to an approval. Name both amounts in the reason of a rejection.', 'a rejection has no such amount'
);
select raises(
    decision('less', 'approve', v), 409, 'amount_differs',
    format('The member claimed $100.00, and $%s arrived. An approval allows a difference of $5.00 at most. %s', v, t), 'too different: ' || v
) from (values
    ('94.99', 'Ask for the rest, or reject the deposit with a reason that names both amounts.'), ('105.01', 'Reject the deposit with a reason that names both amounts.')
) as w (v, t);
select raises(
    decision('twelve', 'approve', v), 409, 'amount_differs', null, 'never by more than a tenth of the claim: ' || v
) from unnest(array['11.10', '13.58']) as v;
select act_as_owner();
select results_eq(
    $$ select distinct d.status::text, d.received_amount::numeric from public.deposits as d inner join requests as r on d.id = r.id $$,
    $$ values ('pending', null::numeric) $$, 'all of them wait as before'
);
create temporary table credited as select user_id, cash_in_amount, package_value from private.profiles;
select act_as('elin');
select is(decide_deposit(id_of('exact'), 'approve', null, 500.00) #>> '{deposit,received_amount}', '500.00', 'an approval says that all arrived');
select is(decide_deposit(id_of('less'), 'approve', null, 95) #>> '{deposit,received_amount}', '95.00', 'or a little less');
select is(decide_deposit(id_of('more'), 'approve', null, 255) #>> '{deposit,received_amount}', '255.00', 'or more');
select is(decide_deposit(id_of('twelve'), 'approve', null, 11.11) #>> '{deposit,received_amount}', '11.11', 'of a small claim less than a tenth');
select is(decide_deposit(id_of('plain'), 'approve') #> '{deposit,received_amount}', 'null'::jsonb, 'or says nothing');
select is(decide_deposit(id_of('less'), 'approve', null, 95) ->> 'already', 'true', 'the same again is the first result');
select raises(decision('less', 'approve', v), 409, 'already_decided', 'Already approved by Elin just now.', 'another amount is another decision: ' || coalesce(v, 'none'))
from unnest(array['96', null]) as v;
select raises(decision('plain', 'approve', '50'), 409, 'already_decided', 'Already approved by Elin just now.', 'nor is an amount added later');
select act_as_owner();
select results_eq(
    $$ select r.name, p.cash_in_amount - c.cash_in_amount, p.package_value::numeric from private.profiles as p
        inner join credited as c on p.user_id = c.user_id inner join public.deposits as d on p.user_id = d.user_id inner join requests as r on d.id = r.id
        where r.name <> 'small' order by r.name $$,
    $$ values ('exact', 500.0, 500.0), ('less', 100, 100), ('more', 250, 250), ('plain', 50, 50), ('twelve', 12.34, 1000) $$, 'the claim counts, whatever arrived'
);
select is(
    (select body from public.notifications where user_id = user_id(n) and kind = 'deposit_approved' order by created_at desc limit 1),
    format('Your deposit of %s was approved and counts from now on.%s', a, t), 'the member reads what arrived where it was another amount: ' || n
) from (values ('freya', '$500.00', ''), ('ask', '$100.00', ' $95.00 arrived.'), ('loke', '$50.00', '')) as v (n, a, t);
select is(
    (select payload -> 'received_amount' from private.audit_log where action = 'deposit.approved' and object_id = id_of(n)), a, 'the audit log has it: ' || n
) from (values ('less', '"95.00"'::jsonb), ('plain', null)) as v (n, a);
select act_as('sam');
select is(
    (select i ->> 'received_amount' from jsonb_array_elements(list_deposits() -> 'items') as i where i ->> 'id' = id_of('less')::text), '95.00', 'and the list'
);
select is(get_request_changes('deposits', array[id_of('less')]) #>> '{decided,0,received_amount}', '95.00', 'also whoever looks at it meanwhile');
select act_as('ask');
select is(get_transaction_history() #>> '{items,0,received_amount}', '95.00', 'and the member');
select is((select received_amount::numeric from deposits), 95.0, 'in the row too');
select act_as_owner();
select raises(
    $$ update public.deposits set received_amount = 96 where received_amount = 95 $$, 403, 'append_only', 'A deposit is decided once and never changed.', 'it is not changed'
);
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'the ledger checks pass');
-- Another tolerance
update private.settings set value = '"0"' where key = 'deposit.tolerance';
select act_as('elin');
select raises(
    decision('small', 'approve', '49.99'), 409, 'amount_differs',
    'The member claimed $50.00, and $49.99 arrived. An approval allows a difference of $0.00 at most. Ask for the rest, or reject the deposit with a reason that names both amounts.',
    'the operator may allow none'
);
select act_as_owner();
update private.settings set value = '"10.00"' where key = 'deposit.tolerance';
select act_as('elin');
select raises(decision('small', 'approve', '44.99'), 409, 'amount_differs', null, 'or more, up to a tenth');
select is(decide_deposit(id_of('small'), 'approve', null, 45) #>> '{deposit,status}', 'approved', 'which is enough here');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Cash-in that completes a package
-- =====================================================================================================================
create function actors.missing(p_name text) returns text language plpgsql as $$
declare
    v_missing text;
begin
    perform act_as(p_name);
    v_missing := get_deposit_options() #>> '{verification,missingCashIn}';
    perform act_as_owner();
    return v_missing;
end
$$;
create function actors.kinds(p_name text) returns text language sql as $$
    select string_agg(amount || ' ' || kind, ', ' order by amount) from public.deposits where user_id = user_id(p_name) and status = 'pending'
$$;
grant execute on all functions in schema actors to public;
select is(missing('ask'), null, 'nothing is missing without a package');
select pays('ask', 500);
select is(missing('ask'), null, 'nor when it is paid');
select corrects('set_package', profile_id('ask'), 1000);
select is(missing('ask'), '500.00', 'after a correction the difference is');
select act_as('ask');
select is(get_deposit_options() #>> '{verification,stepMessage}', 'Complete your package deposit ($500.00/$1,000.00)', 'as the text says');
select is(get_member_dashboard() #>> '{verification,missingCashIn}', '500.00', 'on the dashboard too');
select act_as_owner();
select claims_deposit('ask', a) from unnest(array[500, 100, 50, 1]) as a;
select is(kinds('ask'), '1 cash_in, 50 cash_in, 100 cash_in, 500 cash_in', 'any amount up to it is cash-in');
select raises(
    'select claims_deposit(''ask'', 1000)', 400, 'downgrade', 'You can only upgrade to a higher package. Downgrades are not allowed.', 'above it the sizes are packages'
);
select act_as_owner();
select claims_deposit('ask', 500.01);
select is(kinds('ask'), '1 cash_in, 50 cash_in, 100 cash_in, 500 cash_in, 500.01 cash_in', 'and other amounts cash-in');
select act_as('sam');
select results_eq(
    $$ select i ->> 'package_after', i ->> 'cash_in_after' from jsonb_array_elements(list_deposits('{"status": "pending", "search": "ask"}') -> 'items') as i
        where i ->> 'amount' = '500.00' $$,
    $$ values ('1000.00', '1000.00') $$, 'the list says what an approval would change'
);
select act_as('elin');
select decide_deposit(id, 'approve') from deposits where user_id = user_id('ask') and amount = 500 and status = 'pending';
select act_as_owner();
select results_eq(
    $$ select package_value::numeric, cash_in_amount::numeric, account_verified from private.profiles where user_id = user_id('ask') $$,
    $$ values (1000.0, 1000.0, true) $$, 'it completes the package'
);
select is((select amount::numeric from public.bonuses where user_id = user_id('freya') and bonus_type = 'referral'), 50.0, 'and the referrer earns from it');
select is(missing('ask'), null, 'nothing is missing then');
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'the ledger checks pass');

-- What was cash-in when it was requested stays cash-in, whatever the package is when it is approved.
select corrects('set_package', profile_id('embla'), 1000);
create temporary table requested as select claims_deposit('embla', a) as id from unnest(array[500, 250]) as a;
select pays('embla', 100);
select corrects('set_package', profile_id('embla'), 50);
grant select on requested to public;
select act_as('elin');
select decide_deposit(id, 'approve') from requested;
select act_as_owner();
select results_eq(
    $$ select package_value::numeric, cash_in_amount::numeric from private.profiles where user_id = user_id('embla') $$, $$ values (50.0, 850.0) $$,
    'sizes that were to complete a package make none'
);
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'the ledger checks pass');
select is_empty($$ select * from private.member_discrepancies $$, 'a rebuild finds nothing');
select is_empty($$ select * from private.position_discrepancies $$, 'nor in the order of fundings');
select corrects('void_deposit', (select id from requested inner join public.deposits using (id) where amount = 250));
select results_eq(
    $$ select package_value::numeric, cash_in_amount::numeric from private.profiles where user_id = user_id('embla') $$, $$ values (50.0, 600.0) $$,
    'nor when the package is derived again'
);
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'the ledger checks pass');
-- Less than a dollar is missing.
select pays('freya', 50);
select corrects('set_package', profile_id('freya'), 100);
select pays('freya', 49.5);
select is(missing('freya'), '1.00', 'no deposit is below a dollar');
select claims_deposit('freya', 1);
select is(kinds('freya'), '1 cash_in', 'so one is taken');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- What the form offers
-- =====================================================================================================================
select join_as('rita');
select complete('rita');
select join_as('nora', 'rita');
select join_as('vic', 'rita');
select complete('vic');

-- Nora has not begun.
select act_as('nora');
select is(
    (select string_agg(concat_ws(' ', c ->> 'kind', c ->> 'value', c ->> 'rate'), ', ')
        from jsonb_array_elements(public.get_deposit_options() -> 'choices') as c),
    'first 50.00 10, first 100.00 20, first 250.00 30, first 500.00 40, first 1000.00 50',
    'the first deposit chooses among all five packages'
);
select is(public.get_deposit_options() -> 'other_amount_allowed', 'false'::jsonb, 'and nothing else');
select is(public.get_deposit_options() #>> '{verification,canDeposit}', 'false', 'not before there is a wallet');
select is(public.get_deposit_options() -> 'deposit_address_sample', 'true'::jsonb, 'in demo mode the address is a sample');

-- Vic owns a Standard package and waits with an upgrade.
select pays('vic', 250);
select claims_deposit('vic', 1000);
select act_as('vic');
select is(
    (select string_agg(concat_ws(' ', c ->> 'kind', c ->> 'value'), ', ')
        from jsonb_array_elements(public.get_deposit_options() -> 'choices') as c),
    'upgrade 500.00, upgrade 1000.00', 'then only larger packages'
);
select is(public.get_deposit_options() -> 'other_amount_allowed', 'true'::jsonb, 'or any other amount');
select is(
    (select string_agg(p ->> 'amount', ',') from jsonb_array_elements(public.get_deposit_options() -> 'pending') as p),
    '1000.00', 'what waits is listed'
);

select act_as('anonymous');
select throws_ok($$ select public.get_deposit_options() $$, '42501', null, 'an anonymous client is rejected');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- One transfer, however its hash is spelled
-- =====================================================================================================================
create temporary table spellings (name text, text text);
insert into spellings (name, text)
select v.name, v.text
from (select md5('transfer') || md5('of Ask') as hash, md5('another') || md5('transfer') as other) as h
cross join lateral (
    values
    ('as it is', h.hash),
    ('upper case', upper(h.hash)),
    ('0x', '0x' || h.hash),
    ('a word before it', 'TXID' || upper(h.hash)),
    ('words around it', 'code' || h.hash || 'deed'),
    ('digits around it', '2026-11-23: 50' || h.hash || '.00'),
    ('blanks in it', 'Hash ' || left(h.hash, 20) || ' ' || substr(h.hash, 21, 20) || U&'\00a0' || substr(h.hash, 41)),
    ('hyphens in it', left(h.hash, 8) || '-' || substr(h.hash, 9)),
    ('invisible letters in it', left(h.hash, 32) || U&'\3164\034f\fe0f' || substr(h.hash, 33)),
    ('zero-width characters in it', left(h.hash, 32) || U&'\200b\2060\feff' || substr(h.hash, 33)),
    ('full width', translate(h.hash, '0123456789abcdef', '０１２３４５６７８９ａｂｃｄｅｆ')),
    ('an address', 'https://tronscan.org/#/transaction/' || h.hash || '?lang=en'),
    ('after another hash', h.other || ' ' || h.hash)
) as v (name, text);
-- Two members claim it; the second is approved after the first. What is seen and what comes of it, without a trace.
create function actors.claimed_by_two(p_one text, p_other text) returns text language plpgsql as $$
declare
    v_ids uuid[];
    v_said text;
begin
    v_ids := array[claims_deposit('ask', 50, p_one), claims_deposit('embla', 50, p_other)];
    perform act_as('sam');
    select string_agg(concat_ws(': ', i ->> 'username', f ->> 'text'), '; ' order by i ->> 'username') into v_said
    from jsonb_array_elements(list_deposits() -> 'items') as i
    left join jsonb_array_elements(i -> 'flags') as f on f ->> 'kind' like 'same_%';
    perform act_as('elin');
    v_said := v_said || '; ' || (decide_deposit(v_ids[1], 'approve') #>> '{deposit,status}');
    begin
        v_said := v_said || '; ' || (decide_deposit(v_ids[2], 'approve') #>> '{deposit,status}');
    exception when sqlstate 'PGRST' then
        v_said := v_said || '; ' || (sqlerrm::jsonb ->> 'code');
    end;
    raise exception 'undone' using errcode = 'ZZ999';
exception when sqlstate 'ZZ999' then
    perform act_as_owner();
    return v_said;
end
$$;
create function actors.today() returns text language sql as $$ select to_char(now() at time zone 'UTC', 'FMDD Mon YYYY') $$;
grant execute on all functions in schema actors to public;

select ok(
    private.reference_keys(a.text) && private.reference_keys(b.text), format('one transfer: %s, %s', a.name, b.name)
) from spellings as a inner join spellings as b on a.name < b.name;
select is(
    claimed_by_two(a.text, b.text),
    format('ask: Same reference as embla, %1$s; embla: Same reference as ask, %1$s; approved; reference_used', today()),
    format('flagged on both and approved once: %s, %s', a.name, b.name)
) from spellings as a inner join spellings as b on a.name < b.name
where private.is_readable(a.text) and private.is_readable(b.text);
select is(claimed_by_two(a, b), 'ask; embla; approved; approved', 'two transfers: ' || left(b, 40)) from (values
    (repeat('ab', 32), repeat('ab', 31) || 'ac'), (repeat('ab', 32), 'TXID' || repeat('ba', 31) || 'b'),
    ('Order 77', 'Order 78'), (md5('a') || md5('b'), md5('b') || md5('a'))
) as v (a, b);

-- What became of the other claim
create temporary table claims (name text primary key, id uuid);
grant all on claims to public;
create function actors.reference_flags(p_name text) returns text[] language sql as $$
    select array_agg(f ->> 'text' order by n)
    from jsonb_array_elements(list_deposits() -> 'items') as i, jsonb_array_elements(i -> 'flags') with ordinality as f (f, n)
    where i ->> 'username' = p_name and f ->> 'kind' = 'same_reference'
$$;
grant execute on all functions in schema actors to public;
insert into claims
select v.name, claims_deposit(v.member, 50, 'Order 77')
from (values ('rejected', 'ask'), ('cancelled', 'embla'), ('cancelled too', 'embla'), ('approved', 'buri'), ('waiting', 'ymir'), ('new', 'freya')) as v (name, member);
select act_as('elin');
select lives_ok(format('select decide_deposit(%L, %L)', id, 'reject'), 'one is rejected') from claims where name = 'rejected';
select lives_ok(format('select decide_deposit(%L, %L)', id, 'approve'), 'one is approved') from claims where name = 'approved';
select act_as('embla');
select lives_ok(format('select cancel_request(%L)', id), 'and two are cancelled') from claims where name like 'cancelled%';
select act_as('sam');
select is((reference_flags('freya'))[:2], array['This reference was approved on ' || today() || ' (buri)', 'Same reference as ymir, ' || today()], 'what matters most stands first');
select is((reference_flags('freya'))[4], 'Same reference in 1 more request', 'after three how many more there are');
select act_as('ymir');
select lives_ok(format('select cancel_request(%L)', id), 'Ymir cancels') from claims where name = 'waiting';
select act_as('olga');
select lives_ok(format('select propose_correction(%L, %L, null, %L)', 'void_deposit', id, 'The transfer was recalled.'), 'the approved one') from claims where name = 'approved';
select act_as_owner();
insert into claims select 'correction', id from private.corrections;
select act_as('elin');
select lives_ok(format('select confirm_correction(%L)', id), 'is voided') from claims where name = 'correction';
select is((reference_flags('freya'))[1], 'This reference was voided on ' || today() || ' (buri)', 'which is said');
select is((select count(*) from unnest(reference_flags('freya')) as f where f like '%cancelled%(embla)'), (select count(*) from unnest(reference_flags('freya')) as f where f like '%(embla)'), 'as is a cancellation');
select is(decide_deposit(id, 'approve') ->> 'success', 'true', 'and then the transfer may be credited') from claims where name = 'new';
select act_as_owner();
insert into claims values ('again', claims_deposit('freya', 7, 'order-77'));
select act_as('sam');
select is((reference_flags('freya'))[1], 'This reference was approved on ' || today() || ' (freya)', 'a member''s own claim is flagged too');
select act_as_owner();
select is_empty($$ select * from private.check_ledger() where rule in ('I19', 'I31') $$, 'the ledger checks pass');
select raises($$ update private.transfer_keys set key = 'x' $$, 403, 'append_only', 'Rows of transfer_keys are kept as they are.', 'keys are not changed');
select raises($$ delete from private.transfer_keys $$, 403, 'append_only', 'Rows of transfer_keys are kept as they are.', 'or deleted');
select raises($$ update private.deposit_receipts set etag = 'x' $$, 403, 'append_only', 'Rows of deposit_receipts are kept as they are.', 'nor is the hash of a receipt');
select raises($$ delete from private.deposit_receipts $$, 403, 'append_only', 'Rows of deposit_receipts are kept as they are.', 'and no receipt is taken from its deposit');
select raises($$ update public.deposits set status = 'approved', decided_at = now(), decided_by = user_id('elin') where status = 'pending' $$, 409, 'reference_used', 'This reference was already approved with another deposit.', 'no way of approving leads around them');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A receipt file that was sent before
-- =====================================================================================================================
-- A deposit whose receipt has these bytes.
create function actors.sends_file(p_name text, p_etag text) returns uuid language plpgsql as $$
declare
    v_receipt text := upload(p_name);
    v_id uuid := gen_random_uuid();
begin
    update storage.objects set metadata = metadata || jsonb_build_object('eTag', p_etag) where name = split_part(v_receipt, '/receipts/', 2);
    perform act_as(p_name);
    insert into public.deposits (id, user_id, amount, reference_number, receipt_url, status)
    values (v_id, user_id(p_name), 50, v_id::text, v_receipt, 'pending');
    perform act_as_owner();
    return v_id;
end
$$;
create function actors.flags(p_name text) returns jsonb language sql as $$
    select jsonb_agg(f -> 'text' order by f ->> 'text')
    from jsonb_array_elements(list_deposits() -> 'items') as i, jsonb_array_elements(i -> 'flags') as f
    where i ->> 'username' = p_name and f ->> 'kind' = 'same_receipt'
$$;
grant execute on all functions in schema actors to public;
create temporary table sent as select n as name, sends_file(n, e) as id
from (values ('ask', '"one"'), ('embla', '"one"'), ('buri', '"two"'), ('buri', '"two"'), ('loke', '"three"')) as v (n, e);
grant select on sent to public;

select act_as('sam');
select is(
    flags('ask'), jsonb_build_array('Same receipt file as embla, ' || to_char(now() at time zone 'UTC', 'FMDD Mon YYYY')), 'the other member''s file is flagged'
);
select is(
    flags('embla'), jsonb_build_array('Same receipt file as ask, ' || to_char(now() at time zone 'UTC', 'FMDD Mon YYYY')), 'on both'
);
select is(
    flags('buri'), to_jsonb(array_fill('Same receipt file as buri, ' || to_char(now() at time zone 'UTC', 'FMDD Mon YYYY'), array[2])), 'so is a member''s own file, twice'
);
select is(flags('loke'), null, 'a file that was sent once is not');
select act_as('elin');
do $$
begin
    perform decide_deposit(s.id, 'approve') from sent as s where s.name = 'embla';
end
$$;
select is(jsonb_array_length(flags('ask')), 1, 'an approved one stands out all the more');
select act_as_owner();
select act_as('ask');
do $$
begin
    perform cancel_request(s.id) from sent as s where s.name = 'ask';
end
$$;
select act_as_owner();
select lives_ok($$ select sends_file('loke', '"one"') $$, 'a third member sends it');
select act_as('sam');
select is(
    flags('loke'),
    jsonb_build_array(
        'This receipt file was approved on ' || to_char(now() at time zone 'UTC', 'FMDD Mon YYYY') || ' (embla)',
        'This receipt file was cancelled on ' || to_char(now() at time zone 'UTC', 'FMDD Mon YYYY') || ' (ask)'
    ), 'whatever became of the others'
);
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Who sends it
-- =====================================================================================================================
create function actors.stands_out(p_name text) returns text[] language sql as $$
    select array_agg(f ->> 'text' order by n)
    from jsonb_array_elements(list_deposits() -> 'items') as i, jsonb_array_elements(i -> 'flags') with ordinality as f (f, n)
    where i ->> 'username' = p_name
$$;
grant execute on all functions in schema actors to public;
update private.profiles set trc20_wallet_address = 'T' || username;
select claims_deposit('loke', 500);
select act_as('sam');
select is(stands_out('loke'), null, 'nothing stands out');
select act_as_owner();
update private.profiles set trc20_wallet_address = 'Tloke' where username in ('ask', 'embla');
select act_as('sam');
select is((select array_agg(s order by s) from unnest(stands_out('loke')) as s), array['Also the wallet of ask, embla'], 'a wallet that others have too does');
select act_as_owner();
update private.profiles set trc20_wallet_address = 'T' || username;
create temporary table large as select claims_deposit('buri', 1000) as id;
select act_as('sam');
select is(stands_out('buri'), array['Requested less than a minute after signing up'], 'so does a large deposit of a new account');
select act_as_owner();
alter table private.profiles disable trigger _100_immutable;
update private.profiles set created_at = now() - interval '23 hours 50 minutes' where username = 'buri';
alter table private.profiles enable trigger _100_immutable;
select act_as('sam');
select is(stands_out('buri'), array['Requested 23 hours after signing up'], 'of less than a day');
select act_as_owner();
alter table private.profiles disable trigger _100_immutable;
update private.profiles set created_at = now() - interval '25 hours' where username = 'buri';
alter table private.profiles enable trigger _100_immutable;
select act_as('sam');
select is(stands_out('buri'), null, 'but not of an older one');
select act_as_owner();
select is(private.age_text(a), t, 'an age is ' || t) from (values
    (interval '59 seconds', 'less than a minute'), ('119 seconds', '1 minute'), ('12 minutes 59 seconds', '12 minutes'), ('61 minutes', '1 hour'), ('23 hours 59 minutes', '23 hours'), ('25 hours', '1 day'), ('9 days', '9 days')
) as v (a, t);
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The list administrators decide from: paged, searched, sorted and totalled by the database
-- =====================================================================================================================
select join_as('root');
select complete('root');
select join_as(name, 'root') from unnest(array['ida', 'jonas', 'karim', 'wei']) as name;
select complete(name) from unnest(array['ida', 'jonas', 'karim', 'wei']) as name;
select pays('root', 1000);
select pays('jonas', 100);
select pays('karim', 500);
select claims_deposit('ida', 100, repeat('7BE2', 16));
select claims_deposit('wei', 250, 'tx ' || repeat('7be2', 16));
select claims_deposit('jonas', 250, 'wire 42');

create function pg_temp.names(p_list jsonb) returns text language sql as $$
    select string_agg(i.item ->> 'username', ' ' order by i.place)
    from jsonb_array_elements(p_list -> 'items') with ordinality as i (item, place)
$$;
create function pg_temp.item(p_list jsonb, p_username text) returns jsonb language sql as $$
    select i from jsonb_array_elements(p_list -> 'items') as i where i ->> 'username' = p_username and i ->> 'status' = 'pending'
$$;
grant execute on function pg_temp.names(jsonb), pg_temp.item(jsonb, text) to public;

-- Sam answers members and reads every list.
select act_as('sam');
select is(public.list_deposits() -> 'counts', '{"pending": 3, "approved": 3, "rejected": 0}'::jsonb, 'counts by status');
select is(public.list_deposits() ->> 'total', '6', 'an empty body returns everything');
select is(jsonb_array_length(public.list_deposits() -> 'items'), 6, 'pending and decided');
select is(
    pg_temp.names(public.list_deposits('{"status": "pending", "sort": "created_at.asc"}')), 'ida wei jonas', 'pending ones, oldest first'
);
select is(pg_temp.names(public.list_deposits('{"status": "pending", "sort": "username.desc"}')), 'wei jonas ida', 'by name');
select is(pg_temp.names(public.list_deposits('{"pageSize": 2, "sort": "amount.desc"}')), 'root karim', 'by amount');
select is(
    (
        select string_agg(pg_temp.names(public.list_deposits(jsonb_build_object('page', page, 'pageSize', 2, 'sort', 'created_at.asc'))), ' ' order by page)
        from generate_series(1, 4) as page
    ), 'root jonas karim ida wei jonas', 'pages put together are the list, also those read from the other end'
);
select is(pg_temp.names(public.list_deposits('{"search": "JON", "sort": "created_at.asc"}')), 'jonas jonas', 'a search finds members in any case');
select is(public.list_deposits('{"search": "people.test", "status": "pending"}') ->> 'total', '3', 'their e-mail too, with an exact total');
select is(pg_temp.names(public.list_deposits('{"search": "wire 4"}')), 'jonas', 'and references');
select is(public.list_deposits('{"search": "100%"}') ->> 'total', '0', 'a percent sign is a percent sign');

-- What a decision would change, and what stands out.
select is(
    pg_temp.item(public.list_deposits(), 'jonas')
    - array['id', 'user_id', 'profile_id', 'created_at', 'joined_at', 'due_at', 'receipt_url', 'reference_key', 'flags'],
    '{
        "amount": "250.00", "reference_number": "wire 42", "status": "pending", "kind": "upgrade", "refusal": null, "admin_notes": null, "decided_at": null,
        "decided_by": null, "decided_by_name": null, "cancelled": false, "voided_at": null, "decision_no": null, "username": "jonas", "display_name": "Jonas",
        "email": "jonas@people.test", "account_status": "active", "available_balance": "0.00", "cash_in_amount": "100.00",
        "package_value": "100.00", "total_deposits": "100.00",
        "package_before": "100.00", "package_after": "250.00", "cash_in_before": "100.00", "cash_in_after": "350.00",
        "received_amount": null, "further_references": [], "rest": null, "tolerance": "5.00"
    }'::jsonb || jsonb_build_object('trc20_wallet_address', wallets.of('jonas')),
    'a row carries its member and what the approval would change'
);
select is(
    pg_temp.item(public.list_deposits(), 'ida') #> '{flags,0}',
    jsonb_build_object(
        'kind', 'same_reference', 'text', 'Same reference as wei, ' || to_char(now() at time zone 'UTC', 'FMDD Mon YYYY')
    ), 'the same reference is flagged'
);
select is(
    (pg_temp.item(public.list_deposits(), 'jonas') ->> 'due_at')::timestamptz
    - (pg_temp.item(public.list_deposits(), 'jonas') ->> 'created_at')::timestamptz, interval '48 hours', 'a deposit says when it is due'
);
select is(
    (pg_temp.item(public.list_deposits(), 'jonas') ->> 'joined_at')::timestamptz,
    (list_members('{"search": "jonas"}') #>> '{items,0,created_at}')::timestamptz, 'and since when the member is one'
);
select is(
    pg_temp.item(public.list_deposits(), 'wei') #>> '{flags,0,text}',
    'Same reference as ida, ' || to_char(now() at time zone 'UTC', 'FMDD Mon YYYY'), 'on both, whoever spelled it how'
);
select is(
    (select distinct i ->> 'decided_by_name' from jsonb_array_elements(public.list_deposits('{"status": "approved"}') -> 'items') as i),
    'Elin', 'a decided row names who decided'
);

-- Nonsense.
select raises($$ select public.list_deposits('[]') $$, 400, 'invalid_filter', 'Filters are an object.', 'filters are an object');
select raises(
    $$ select public.list_deposits('{"sort": "email; drop table x.asc"}') $$, 400, 'invalid_filter',
    'This list cannot be sorted that way.', 'a sort is one of ours'
);
select raises(format('select public.list_deposits(%L)', f), 400, 'unknown_field', 'This list has no filter named ' || n || '.', n || ' is no filter here')
from (values ('{"Status": "pending"}', 'Status'), ('{"page": 1, "type": "deposit"}', 'type')) as v (f, n);
select raises(format('select public.list_deposits(%L)', jsonb_build_object('status', s)), 400, 'invalid_filter', 'There is no such status.', 'a status too: ' || s)
from unnest(array['lost', 'paid', 'unpaid']) as s;
select raises(
    $$ select public.list_deposits('{"page": "two"}') $$, 400, 'invalid_filter', 'Page and page size are whole numbers.', 'a page is a number'
);

-- Everybody else.
select act_as('ida');
select throws_ok($$ select public.list_deposits() $$, '42501', null, 'a member is rejected');
select act_as('anonymous');
select act_as_owner();
update private.admin_users set is_active = false where id = user_id('sam');
select act_as('sam');
select raises($$ select public.list_deposits() $$, 401, 'session_ended', 'Your session has ended. Sign in again.', 'and so is an administrator who was deactivated');

select act_as('elin');
select raises(
    format('select public.list_deposits(%L)', jsonb_build_object('search', repeat('x', 201))), 400, 'invalid_filter',
    'A search has at most 200 characters.', 'a search has a limit'
);
select * from finish();
rollback;
