-- threats: T17 T56
begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
create temporary table requests (name text primary key, id uuid);
grant all on requests to public;
create function actors.id_of(p_name text) returns uuid language sql stable as $$ select r.id from requests as r where r.name = p_name $$;
grant execute on all functions in schema actors to public;
insert into requests values ('first', claims_deposit('freya', 500, 'tx-1')), ('bad', claims_deposit('ask', 500, 'tx-2')), ('twin', claims_deposit('embla', 50, 'TX 1'));

-- Who may decide
select act_as('freya');
select throws_ok(format('select decide_deposit(%L, %L)', id_of('first'), 'approve'), '42501', null, 'a member decides nothing');
select act_as('anonymous');
select throws_ok(format('select decide_deposit(%L, %L)', id_of('first'), 'approve'), '42501', null, 'a visitor neither');
select act_as('sam');
select refuses(format('select decide_deposit(%L, %L)', id_of('first'), 'approve'), 403, 'forbidden', 'A support admin cannot do this.', 'support decides no money');

-- What cannot be decided
select act_as('elin');
select refuses(format('select decide_deposit(%L, %L)', id_of('first'), a), 400, 'invalid_action', 'The action must be approve or reject.', 'not an action: ' || a) from unnest(array['', 'delete', 'Approve']) as a;
select refuses(format('select decide_deposit(%L, null)', id_of('first')), 400, 'invalid_action', 'The action must be approve or reject.', 'no action');
select refuses(format('select decide_deposit(%L, %L)', gen_random_uuid(), 'approve'), 404, 'not_found', 'There is no such deposit.', 'no deposit');
select refuses(format('select decide_deposit(%L, %L, %L)', id_of('first'), 'reject', repeat('x', 1001)), 400, 'invalid_reason', 'A reason has at most 1,000 characters.', 'too long a reason');
select refuses(format('select decide_withdrawal(%L, %L)', id_of('first'), 'approve'), 404, 'not_found', 'There is no such withdrawal.', 'a deposit is no withdrawal');

-- Approve: once
select is(decide_deposit(id_of('first'), 'approve') #>> '{deposit,status}', 'approved', 'a deposit is approved');
select is(decide_deposit(id_of('first'), 'approve') ->> 'already', 'true', 'asked again, the first result');
select refuses(format('select decide_deposit(%L, %L)', id_of('first'), 'reject'), 409, 'already_decided', 'Already approved by Elin just now.', 'another decision is refused');
select act_as('olga');
select refuses(format('select decide_deposit(%L, %L)', id_of('first'), 'approve'), 409, 'already_decided', 'Already approved by Elin just now.', 'another administrator is told who decided');
select act_as_owner();
select results_eq($$ select cash_in_amount::numeric, package_value::numeric, account_verified from private.profiles where user_id = user_id('freya') $$, $$ values (500.0, 500.0, true) $$, 'cash-in and package count once');
select is((select status::text from public.transactions where reference_id = id_of('first')), 'completed', 'the journal row is completed');
select is((select body from public.notifications where user_id = user_id('freya') order by created_at desc limit 1), 'Your deposit of $500.00 was approved and counts from now on.', 'the member is told');
select is((select count(*) from private.outbox where recipient = 'freya@people.test' and template = 'deposit_approved'), 1::bigint, 'once, by mail too');
select is((select count(*) from private.audit_log where object_id = id_of('first')), 1::bigint, 'and the audit log has one row');
select is((select decided_by from public.deposits where id = id_of('first')), user_id('elin'), 'with the one who decided');

-- One transfer counts once
select act_as('elin');
select refuses(format('select decide_deposit(%L, %L)', id_of('twin'), 'approve'), 409, 'reference_used', 'This reference was already approved with another deposit.', 'the same reference in another spelling');

-- Reject
select is(decide_deposit(id_of('bad'), 'reject', '   ') #>> '{deposit,admin_notes}', 'No reason provided', 'a rejection has a reason');
select is(decide_deposit(id_of('twin'), 'reject', ' blurred ') #>> '{deposit,admin_notes}', 'blurred', 'trimmed');
select act_as('ask');
select is((select admin_notes from deposits), 'No reason provided', 'which the member reads');
select act_as_owner();
select is((select status::text from public.transactions where reference_id = id_of('bad')), 'failed', 'the journal row failed');
select is((select package_value::numeric from private.profiles where user_id = user_id('ask')), 0.0, 'and nothing counts');

-- The own account
update private.profiles set email = 'ELIN@admins.test' where user_id = user_id('buri');
insert into requests values ('own', claims_deposit('buri', 50));
select act_as('elin');
select refuses(format('select decide_deposit(%L, %L)', id_of('own'), 'approve'), 403, 'own_account', 'You cannot decide a request of your own member account.', 'nobody decides for the own account');
select act_as('olga');
select is(decide_deposit(id_of('own'), 'approve') ->> 'success', 'true', 'another administrator does');

-- Withdrawals: Freya has 2.50 + 50 + 2.50 and 40% of 1,050
select act_as_owner();
select pays('ask', 50); select pays('embla', 1000);
select act_as('freya');
insert into requests values ('all', gen_random_uuid()), ('half', gen_random_uuid()), ('later', gen_random_uuid());
insert into withdrawals (id, user_id, amount, wallet_address) select id, auth.uid(), case name when 'all' then 200 else 100 end, 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb' from requests where name in ('all', 'half', 'later');
select act_as('elin');
select is(decide_withdrawal(id_of('all'), 'approve') #>> '{withdrawal,amount}', '200.00', 'a withdrawal is approved');
select is(decide_withdrawal(id_of('all'), 'approve') ->> 'already', 'true', 'asked again, the first result');
select act_as('olga');
select refuses(format('select decide_withdrawal(%L, %L)', id_of('all'), 'approve'), 409, 'already_decided', 'Already approved by Elin just now.', 'another administrator is told');
select is(decide_withdrawal(id_of('all'), 'approve', null, ' tx-9 ') #>> '{withdrawal,payout_reference}', 'tx-9', 'how it was paid may be added later');
select is(decide_withdrawal(id_of('all'), 'approve', null, 'tx-9') ->> 'already', 'true', 'the same again is no error');
select refuses(format('select decide_withdrawal(%L, %L, null, %L)', id_of('all'), 'approve', 'tx-10'), 409, 'payout_recorded', 'A payout reference was already recorded for this withdrawal.', 'another one is refused');
select refuses(format('select decide_withdrawal(%L, %L, null, %L)', id_of('half'), 'approve', repeat('x', 201)), 400, 'invalid_reference', 'A payout reference has at most 200 characters, on one line.', 'too long a reference');
select act_as_owner();
select results_eq($$ select available_balance::numeric, withdrawn_amount::numeric, reserved_amount::numeric from private.totals where user_id = user_id('freya') $$, $$ values (275.00, 200.00, 200.00) $$, 'the balance is reduced once');

-- Holds, blocks, and a balance that no longer covers
update private.profiles set hold_until = now() + interval '1 hour', hold_reason = 'wallet' where user_id = user_id('freya');
select act_as('elin');
select refuses(format('select decide_withdrawal(%L, %L)', id_of('half'), 'approve'), 409, 'on_hold',
    'On hold until ' || to_char((now() + interval '1 hour') at time zone 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC, 24 hours after a change of wallet.', 'a day after a change of wallet');
select act_as_owner();
update private.profiles set hold_until = null, hold_reason = null, account_status = 'suspended' where user_id = user_id('freya');
select act_as('elin');
select refuses(format('select decide_withdrawal(%L, %L)', id_of('half'), 'approve'), 409, 'account_blocked', 'This member is blocked. A withdrawal of a blocked member cannot be approved.', 'not while blocked');
select act_as_owner();
update private.profiles set account_status = 'active' where user_id = user_id('freya');
select set_config('app.lowering', 'on', true);
update public.bonuses set volume = 0, amount = 0 where user_id = user_id('freya') and bonus_type = 'pairing';
select act_as('elin');
select refuses(format('select decide_withdrawal(%L, %L)', id_of('half'), 'approve'), 409, 'insufficient_available_balance', 'Insufficient available balance', 'the balance is worked out again at approval');
select is(decide_withdrawal(id_of('half'), 'reject', 'Ask again later.') #>> '{withdrawal,status}', 'rejected', 'it can be rejected');
select act_as_owner();
select is((select reserved_amount::numeric from private.totals where user_id = user_id('freya')), 100.00, 'which frees what it reserved');

-- A member cancels
select act_as('ask');
select refuses(format('select cancel_request(%L)', id_of('later')), 404, 'not_found', 'There is no such request of yours.', 'nobody cancels for another');
select act_as('freya');
select is(cancel_request(id_of('later')), '{"success": true}', 'a member takes back a request');
select is(cancel_request(id_of('later')) ->> 'already', 'true', 'twice is no error');
select refuses(format('select cancel_request(%L)', id_of('all')), 409, 'already_decided', 'Already approved just now.', 'a decided one stays');
select is((select admin_notes from withdrawals where id = id_of('later')), 'Cancelled by the member', 'it says so');
select act_as('elin');
select refuses(format('select decide_withdrawal(%L, %L)', id_of('later'), 'approve'), 409, 'already_decided', 'Already cancelled by the member just now.', 'and cannot be decided any more');

-- A deposit is taken back like a withdrawal
select act_as_owner();
insert into requests values ('back', claims_deposit('loke', 50));
select act_as('loke');
select is(cancel_request(id_of('back')), '{"success": true}', 'a member takes back a deposit');
select act_as_owner();
select results_eq($$ select status::text, admin_notes from public.deposits where id = id_of('back') $$, $$ values ('rejected', 'Cancelled by the member') $$, 'which counts as rejected');
insert into requests values ('stuck', claims_deposit('loke', 50));
update private.profiles set account_status = 'suspended' where user_id = user_id('loke');
select act_as('loke');
select refuses(format('select cancel_request(%L)', id_of('stuck')), 403, 'account_suspended', 'Your account has been suspended. Please contact support for assistance.', 'a suspended member takes nothing back');

-- Nobody decides the own withdrawal either
select act_as_owner();
insert into requests values ('mine', gen_random_uuid());
select set_config('app.lowering', '', true);
update public.bonuses set volume = 2000, amount = 800 where user_id = user_id('freya') and bonus_type = 'pairing';
select act_as('freya');
insert into withdrawals (id, user_id, amount, wallet_address) values (id_of('mine'), auth.uid(), 100, 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb');
select act_as_owner();
update private.profiles set email = 'elin@admins.test' where user_id = user_id('freya');
select act_as('elin');
select refuses(format('select decide_withdrawal(%L, %L)', id_of('mine'), a), 403, 'own_account', 'You cannot decide a request of your own member account.', 'nobody decides the own withdrawal: ' || a)
from unnest(array['approve', 'reject']) as a;

-- What was voided is not paid
select act_as('olga');
select is(decide_withdrawal(id_of('mine'), 'approve') ->> 'success', 'true', 'another administrator approves it');
select propose_correction('void_withdrawal', id_of('mine'), null, 'Sent to the wrong wallet.');
select act_as_owner();
update private.profiles set email = 'freya@people.test' where user_id = user_id('freya');
create temporary table voided as select id from private.corrections where target_id = id_of('mine');
grant select on voided to public;
select act_as('elin');
select is(confirm_correction(id) ->> 'success', 'true', 'it is voided') from voided;
select act_as('olga');
select refuses(format('select decide_withdrawal(%L, %L, null, %L)', id_of('mine'), 'approve', 'tx-11'), 409, 'voided', 'This withdrawal was voided.', 'and then not paid');
select act_as_owner();
select audited(a, 'every decision') from unnest(array['deposit.approved', 'deposit.rejected', 'deposit.cancelled', 'withdrawal.approved', 'withdrawal.rejected', 'withdrawal.cancelled', 'withdrawal.paid']) as a;
select is_empty($$ select * from private.check_books() where rule = 'I27' $$, 'the kept figures followed');
select told('freya', k, 'the member is told: ' || k) from unnest(array['withdrawal_approved', 'withdrawal_rejected']) as k;
select act_as('sam');
select refuses(format('select decide_withdrawal(%L, %L)', id_of('mine'), 'approve'), 403, 'forbidden', 'A support admin cannot do this.', 'support decides no withdrawal');

select act_as_owner();
select refuses(format('update public.withdrawals set %s where id = %L', change, id_of('all')), 403, 'append_only', 'A withdrawal is decided once and never changed.', 'not changed any more: ' || change)
from unnest(array['admin_notes = ''x''', 'decided_at = now() + interval ''1 day''', 'payout_reference = ''other''', 'payout_at = now() + interval ''1 day''', 'amount = 250', 'wallet_address = ''x''']) as change;

-- Of two first deposits the larger one makes the package, in whatever order they are decided
select join_as('vali', 'ymir');
select complete('vali');
insert into requests values ('large', claims_deposit('vali', 250)), ('small', claims_deposit('vali', 50));
select act_as('elin');
select is(decide_deposit(id_of(n), 'approve') ->> 'success', 'true', 'approved: ' || n) from unnest(array['large', 'small']) as n;
select act_as_owner();
select results_eq($$ select package_value::numeric, cash_in_amount::numeric from private.profiles where user_id = user_id('vali') $$, $$ values (250.0, 300.0) $$, 'a later smaller deposit keeps the package');

-- Whose request, and which
select act_as('ask');
select refuses(format('select cancel_request(%L)', id_of('stuck')), 404, 'not_found', 'There is no such request of yours.', 'nobody takes back the deposit of another');
select act_as('freya');
select refuses(format('select cancel_request(%L)', id_of('first')), 409, 'already_decided', 'Already approved just now.', 'a decided deposit stays');

-- What was approved is gone: of two requests that were covered, a lower balance pays one
select act_as_owner();
insert into public.bonuses (user_id, source_user_id, bonus_type, amount, rate, volume, subject_no, pair_number)
values (user_id('vali'), user_id('freya'), 'pairing', 200, 40, 500, position_no('vali'), 1);
insert into requests values ('one', gen_random_uuid()), ('two', gen_random_uuid());
select act_as('vali');
insert into withdrawals (id, user_id, amount, wallet_address) select id, auth.uid(), 100, 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb' from requests where name in ('one', 'two');
select act_as_owner();
select set_config('app.lowering', 'on', true);
update public.bonuses set volume = 375, amount = 150 where user_id = user_id('vali') and bonus_type = 'pairing';
select set_config('app.lowering', '', true);
select act_as('elin');
select is(decide_withdrawal(id_of('one'), 'approve') ->> 'success', 'true', 'the first is covered');
select refuses(format('select decide_withdrawal(%L, %L)', id_of('two'), 'approve'), 409, 'insufficient_available_balance', 'Insufficient available balance', 'the second is not any more');
select act_as_owner();
select refuses(format('update public.withdrawals set voided_at = now() where id = %L', id_of('one')), 403, 'append_only', 'A withdrawal is decided once and never changed.', 'nothing is voided without a correction');
select * from finish();
rollback;
