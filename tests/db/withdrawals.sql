-- Withdrawals: what a member may ask for, who decides what and once, holds, payouts, what the form offers, and the list
-- that administrators decide from.
-- threats: T17 T19 T33 T38 T56 T43
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Requests
-- =====================================================================================================================
-- Freya: Premium, 25 + 25 referral and 40% of 1,000 from the pair: 450.00
select pays('freya', 500);
select pays('ask', 500);
select pays('embla', 500);

create function actors.withdrawal_sql(p_name text, p_amount text, p_wallet text default wallets.of('freya'), p_id uuid default gen_random_uuid())
returns text language sql as $$
    select format(
        'insert into public.withdrawals (id, user_id, amount, wallet_address, status) values (%L, %L, %L, %L, ''pending'')', p_id, user_id(p_name), p_amount, p_wallet
    )
$$;
grant execute on function actors.withdrawal_sql(text, text, text, uuid) to public;

-- A member, in the order of the checks: valid amount, balance, minimum, verified, wallet
select act_as('freya');
select is((select available_balance from profiles where user_id = auth.uid())::numeric, 450.00, 'the balance is bonuses less approved withdrawals');
select raises(withdrawal_sql('freya', v), 400, 'invalid_amount', 'Enter an amount above $0.00 and up to $10,000,000.00.', 'an amount cannot be ' || v) from unnest(array['0', '-100', '10000000.01']) as v;
select throws_ok(withdrawal_sql('freya', v), '23514', null, 'an amount is no ' || v) from unnest(array['NaN', 'Infinity', '100.001']) as v;
select raises(withdrawal_sql('freya', '450.01'), 400, 'insufficient_balance', 'Insufficient balance. Available: $450.00', 'more than the balance');
select raises(withdrawal_sql('freya', '99.99'), 400, 'below_minimum', 'Minimum withdrawal amount is $100', 'less than the minimum');
select raises(withdrawal_sql('freya', '100', 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8'), 409, 'wallet_changed', 'Your wallet address has changed. Check it and try again.', 'another address than the stored one');
select raises(withdrawal_sql('ask', '100'), 403, 'not_yours', 'You can only make requests for yourself.', 'a member cannot withdraw for another, or learns the balance');
select raises(replace(withdrawal_sql('freya', '100'), '''pending'')', '''approved'')'), 403, 'forbidden', 'A new request is pending until an administrator decides it.', 'an administrator cannot approve an own withdrawal');
select lives_ok(withdrawal_sql('freya', '300'), 'within the balance');
select raises(withdrawal_sql('freya', '200'), 400, 'insufficient_balance', 'Insufficient balance. Available: $150.00', 'pending requests are counted');
select raises(withdrawal_sql('freya', '100') || format(', (%L, %L, 100, %L, ''pending'')', gen_random_uuid(), user_id('freya'), wallets.of('freya')),
    400, 'insufficient_balance', 'Insufficient balance. Available: $50.00', 'an array is counted row by row, and rejected as a whole');
select is((select count(*) from withdrawals), 1::bigint, 'nothing of it is left');
select is((select amount from transactions where transaction_type = 'withdrawal')::numeric, -300.00, 'a request is in the journal, negative');

-- Retries
create temporary table retry as select gen_random_uuid() as id;
grant select on retry to public;
select lives_ok((select withdrawal_sql('freya', '100', wallets.of('freya'), id) || ' on conflict (id) do nothing' from retry), 'a request');
select lives_ok((select withdrawal_sql('freya', '100', wallets.of('freya'), id) || ' on conflict (id) do nothing' from retry), 'and its retry are not rejected');
select is((select count(*) from withdrawals), 2::bigint, 'and make one row');
select raises((select withdrawal_sql('freya', '110', wallets.of('freya'), id) from retry), 409, 'duplicate_request', 'This request was already made with other values.', 'the same id with other values');
select raises(withdrawal_sql('freya', '100', wallets.of('freya'), (select id from deposits limit 1)), 409, 'duplicate_request', 'This id belongs to another request. Use a new one.', 'or that of a deposit');
select throws_ok($$ update withdrawals set wallet_address = 'x' $$, '42501', null, 'a member changes nothing');
select throws_ok($$ delete from withdrawals $$, '42501', null, 'and deletes nothing');
select throws_ok(format('insert into withdrawals (user_id, amount, wallet_address, %I) values (auth.uid(), 100, %L, null)', c, 'x'), '42501', null, 'a member cannot write ' || c)
from unnest(array['admin_notes', 'created_at', 'decided_at', 'decided_by', 'payout_reference', 'payout_at', 'voided_at', 'decision_no']) as c;

-- Ymir earned 25 + 10 from Freya but has no package: not verified
select act_as('ymir');
select raises(withdrawal_sql('ymir', '30'), 400, 'below_minimum', 'Minimum withdrawal amount is $100', 'the minimum is notified before verification');
select act_as_owner();
update public.bonuses set volume = 100000, amount = 5000 where bonus_type = 'referral' and user_id = user_id('ymir');
select act_as('ymir');
select raises(withdrawal_sql('ymir', '100'), 403, 'not_verified', 'Please complete your profile, settings, and account verification first', 'a package must be paid');
select act_as('loke');
select is_empty($$ select 1 from withdrawals $$, 'a stranger sees none');
select act_as('anonymous');
select throws_ok($$ select 1 from withdrawals $$, '42501', null, 'an anonymous client has no table');

-- Blocked
select act_as_owner();
update private.profiles set account_status = 'disabled' where user_id = user_id('freya');
select act_as('freya');
select raises(withdrawal_sql('freya', '100'), 403, 'account_disabled', 'Your account has been disabled. Please contact support for assistance.', 'a disabled member withdraws nothing');

-- Even the owner of the database
select act_as_owner();
select raises($$ update public.withdrawals set wallet_address = 'x' $$, 403, 'append_only', 'A withdrawal is decided once and never changed.', 'the address is frozen');
select raises($$ delete from public.withdrawals $$, 403, 'append_only', 'Rows of withdrawals are kept as they are.', 'nothing is deleted');

-- Behind the trigger stands a policy
alter table public.withdrawals disable trigger _100_validate;
select act_as('loke');
select throws_ok(withdrawal_sql('ask', '100'), '42501', 'new row violates row-level security policy for table "withdrawals"', 'the policy alone rejects a withdrawal of another');
select throws_ok(replace(withdrawal_sql('loke', '100'), '''pending'')', '''approved'')'), '42501', 'new row violates row-level security policy for table "withdrawals"', 'and one that is approved already');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Decisions
-- =====================================================================================================================
create temporary table requests (name text primary key, id uuid);
grant all on requests to public;
create function actors.id_of(p_name text) returns uuid language sql stable as $$ select r.id from requests as r where r.name = p_name $$;
grant execute on all functions in schema actors to public;

-- Freya has 2.50 + 50 + 2.50 and 40% of 1,050
select pays('freya', 500); select pays('buri', 50); select pays('ask', 50); select pays('embla', 1000);
insert into requests values ('deposit', claims_deposit('loke', 50));
select act_as('freya');
insert into requests values ('all', gen_random_uuid()), ('half', gen_random_uuid()), ('later', gen_random_uuid());
insert into withdrawals (id, user_id, amount, wallet_address) select id, auth.uid(), case name when 'all' then 200 else 100 end, wallets.of('freya') from requests where name in ('all', 'half', 'later');
select act_as('elin');
select raises(format('select decide_withdrawal(%L, %L)', id_of('deposit'), 'approve'), 404, 'not_found', 'There is no such withdrawal.', 'a deposit is no withdrawal');
select is(decide_withdrawal(id_of('all'), 'approve') #>> '{withdrawal,amount}', '200.00', 'a withdrawal is approved');
select is(decide_withdrawal(id_of('all'), 'approve') ->> 'already', 'true', 'asked again, the first result');
select act_as('olga');
select raises(format('select decide_withdrawal(%L, %L)', id_of('all'), 'approve'), 409, 'already_decided', 'Already approved by Elin just now.', 'another administrator is notified');
select is(decide_withdrawal(id_of('all'), 'approve', null, ' tx-9 ') #>> '{withdrawal,payout_reference}', 'tx-9', 'how it was paid may be added later');
select is(decide_withdrawal(id_of('all'), 'approve', null, 'tx-9') ->> 'already', 'true', 'the same again is no error');
select raises(format('select decide_withdrawal(%L, %L, null, %L)', id_of('all'), 'approve', 'tx-10'), 409, 'payout_recorded', 'A payout reference was already recorded for this withdrawal.', 'another one is rejected');
select raises(format('select decide_withdrawal(%L, %L, null, %L)', id_of('half'), 'approve', repeat('x', 201)), 400, 'invalid_reference', 'A payout reference has at most 200 characters, on one line.', 'too long a reference');
select act_as_owner();
select results_eq($$ select available_balance::numeric, withdrawn_amount::numeric, reserved_amount::numeric from private.totals where user_id = user_id('freya') $$, $$ values (275.00, 200.00, 200.00) $$, 'the balance is reduced once');

-- Holds, blocks, and a balance that no longer covers
update private.profiles set hold_until = now() + interval '1 hour', hold_reason = 'wallet' where user_id = user_id('freya');
select act_as('elin');
select raises(format('select decide_withdrawal(%L, %L)', id_of('half'), 'approve'), 409, 'on_hold',
    'On hold until ' || to_char((now() + interval '1 hour') at time zone 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC, 24 hours after a change of wallet.', 'a day after a change of wallet');
select act_as_owner();
update private.profiles set hold_until = null, hold_reason = null, account_status = 'suspended' where user_id = user_id('freya');
select act_as('elin');
select raises(format('select decide_withdrawal(%L, %L)', id_of('half'), 'approve'), 409, 'account_blocked', 'This member is blocked. A withdrawal of a blocked member cannot be approved.', 'not while blocked');
select act_as_owner();
update private.profiles set account_status = 'active' where user_id = user_id('freya');
select set_config('app.allow_bonus_decrease', 'on', true);
update public.bonuses set volume = 0, amount = 0 where user_id = user_id('freya') and bonus_type = 'pairing';
select act_as('elin');
select raises(format('select decide_withdrawal(%L, %L)', id_of('half'), 'approve'), 409, 'insufficient_available_balance', 'Insufficient available balance', 'the balance is worked out again at approval');
select is(decide_withdrawal(id_of('half'), 'reject', 'Ask again later.') #>> '{withdrawal,status}', 'rejected', 'it can be rejected');
select act_as_owner();
select is((select reserved_amount::numeric from private.totals where user_id = user_id('freya')), 100.00, 'which frees what it reserved');

-- No administrator decides the own withdrawal either
select act_as_owner();
insert into requests values ('mine', gen_random_uuid());
select set_config('app.allow_bonus_decrease', '', true);
update public.bonuses set volume = 2000, amount = 800 where user_id = user_id('freya') and bonus_type = 'pairing';
select act_as('freya');
insert into withdrawals (id, user_id, amount, wallet_address) values (id_of('mine'), auth.uid(), 100, wallets.of('freya'));
select act_as_owner();
update private.profiles set email = 'elin@admins.test' where user_id = user_id('freya');
select act_as('elin');
select raises(format('select decide_withdrawal(%L, %L)', id_of('mine'), a), 403, 'own_account', 'You cannot decide a request of your own member account.', 'an administrator cannot decide the own withdrawal: ' || a)
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
select raises(format('select decide_withdrawal(%L, %L, null, %L)', id_of('mine'), 'approve', 'tx-11'), 409, 'voided', 'This withdrawal was voided.', 'and then not paid');
select act_as_owner();
select audited(a, 'every decision') from unnest(array['withdrawal.approved', 'withdrawal.rejected', 'withdrawal.paid']) as a;
select is_empty($$ select * from private.check_ledger() where rule = 'I27' $$, 'the counters followed');
select notified('freya', k, 'the member is notified: ' || k) from unnest(array['withdrawal_approved', 'withdrawal_rejected']) as k;
select act_as('sam');
select raises(format('select decide_withdrawal(%L, %L)', id_of('mine'), 'approve'), 403, 'forbidden', 'A support admin cannot do this.', 'support decides no withdrawal');

select act_as_owner();
select raises(format('update public.withdrawals set %s where id = %L', change, id_of('all')), 403, 'append_only', 'A withdrawal is decided once and never changed.', 'not changed any more: ' || change)
from unnest(array['admin_notes = ''x''', 'decided_at = now() + interval ''1 day''', 'payout_reference = ''other''', 'payout_at = now() + interval ''1 day''', 'amount = 250', 'wallet_address = ''x''', 'decision_no = 1']) as change;

-- What was approved is gone: of two requests that were covered, a lower balance pays one
select join_as('vali', 'ymir');
select complete('vali');
select pays('vali', 250);
insert into public.bonuses (user_id, source_user_id, bonus_type, amount, rate, volume, subject_no, pair_number)
values (user_id('vali'), user_id('freya'), 'pairing', 200, 40, 500, position_no('vali'), 1);
insert into requests values ('one', gen_random_uuid()), ('two', gen_random_uuid());
select act_as('vali');
insert into withdrawals (id, user_id, amount, wallet_address) select id, auth.uid(), 100, wallets.of('vali') from requests where name in ('one', 'two');
select act_as_owner();
select set_config('app.allow_bonus_decrease', 'on', true);
update public.bonuses set volume = 375, amount = 150 where user_id = user_id('vali') and bonus_type = 'pairing';
select set_config('app.allow_bonus_decrease', '', true);
select act_as('elin');
select is(decide_withdrawal(id_of('one'), 'approve') ->> 'success', 'true', 'the first is covered');
select raises(format('select decide_withdrawal(%L, %L)', id_of('two'), 'approve'), 409, 'insufficient_available_balance', 'Insufficient available balance', 'the second is not any more');
select act_as_owner();
select raises(format('update public.withdrawals set voided_at = now() where id = %L', id_of('one')), 403, 'append_only', 'A withdrawal is decided once and never changed.', 'nothing is voided without a correction');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Payout references that show what they are
-- =====================================================================================================================
\ir ../support/unreadable_texts.sql
select pays('freya', 1000); select pays('ask', 1000); select pays('embla', 1000);
create function actors.pays_out(p_reference text) returns text language sql as $$
    select format('select decide_withdrawal(id, %L, null, %L) from withdrawals where user_id = user_id(%L)', 'approve', p_reference, 'freya')
$$;
grant execute on function actors.pays_out(text) to public;
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 100, wallets.of('freya'));
select act_as('elin');
select raises(pays_out(text), 400, 'invalid_reference', 'A payout reference has at most 200 characters, on one line.', 'no payout with ' || name) from hidden;
select is((select status::text from withdrawals where user_id = user_id('freya')), 'pending', 'and nothing was approved with it');
select decide_withdrawal(id, 'approve') from withdrawals where user_id = user_id('freya');
select raises(pays_out(text), 400, 'invalid_reference', 'A payout reference has at most 200 characters, on one line.', 'nor later with ' || name) from hidden;
select lives_ok(pays_out(E'\tOrder 79\r\n'), 'a payout as it was copied');
select is((select payout_reference from withdrawals where user_id = user_id('freya')), 'Order 79', 'is stored without what stands around it');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A payout reference that was recorded before
-- =====================================================================================================================
select pays('freya', 1000); select pays('ask', 1000); select pays('embla', 1000);
create temporary table asked (name text primary key, id uuid default gen_random_uuid());
insert into asked (name) values ('first'), ('second'), ('third');
grant select on asked to public;
create function actors.paid_by(p_name text, p_reference text, p_more text default '') returns text language sql as $$
    select format('select decide_withdrawal(%L, %L, null, %L%s)', (select a.id from asked as a where a.name = p_name), 'approve', p_reference, p_more)
$$;
grant execute on function actors.paid_by(text, text, text) to public;
select act_as('freya');
insert into withdrawals (id, user_id, amount, wallet_address) select id, auth.uid(), 100, wallets.of('freya') from asked;
select act_as('elin');
select lives_ok(paid_by('first', repeat('ab', 32)), 'a payout');
select lives_ok(paid_by('first', repeat('ab', 32)), 'asked again is no other');
select raises(paid_by('second', text), 409, 'payout_reference_used', 'This payout reference is already recorded for $100.00 of freya.', 'asked back: ' || text)
from unnest(array[repeat('ab', 32), '0x' || repeat('AB', 32)]) as text;
select is((select status::text from withdrawals where id = (select a.id from asked as a where a.name = 'second')), 'pending', 'and nothing was approved with it');
select lives_ok(paid_by('second', repeat('cd', 32)), 'another transfer is not asked back');
select lives_ok(paid_by('third', repeat('ab', 32), ', true'), 'one transfer may pay several, when that is confirmed');
select is((select count(*) from withdrawals where payout_reference = repeat('ab', 32)), 2::bigint, 'and is recorded for both');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A payout that warnings stand against
-- =====================================================================================================================
select pays('freya', 1000); select pays('ask', 1000); select pays('embla', 1000);
create temporary table asked (name text primary key, id uuid default gen_random_uuid());
insert into asked (name) values ('plain'), ('shared'), ('both'), ('hold'), ('suspended'), ('disabled'), ('checksum'), ('changed'), ('closed');
grant select on asked to public;
create function actors.named(p_name text) returns uuid language sql as $$ select a.id from asked as a where a.name = p_name $$;
create function actors.paid_by(p_name text, p_reason text default null, p_reference text default null, p_shared boolean default false) returns text language sql as $$
    select format('select decide_withdrawal(%L, %L, null, %L, %L, %L)', named(p_name), 'approve', coalesce(p_reference, 'for ' || p_name), p_shared, p_reason)
$$;
create function actors.is_warned(p_name text, p_flags text, p_description text) returns text language plpgsql as $$
declare
    v_message text;
begin
    execute paid_by(p_name);
    return ok(false, p_description || ' (no error was raised)');
exception when sqlstate 'PGRST' then
    get stacked diagnostics v_message = message_text;
    return is(
        (v_message::jsonb ->> 'code') || ': ' || (
            select string_agg(f ->> 'kind', ' ' order by f ->> 'kind') from jsonb_array_elements((v_message::jsonb ->> 'details')::jsonb) as f
        ), 'payout_warned: ' || p_flags, p_description
    );
end
$$;
grant execute on all functions in schema actors to public;
select act_as('freya');
insert into withdrawals (id, user_id, amount, wallet_address) select id, auth.uid(), 100, wallets.of('freya') from asked;
select act_as('elin');
select lives_ok(paid_by('plain'), 'other requests of the member are no warning');
select act_as_owner();
update private.profiles set trc20_wallet_address = wallets.of('freya') where user_id = user_id('embla');
select act_as('elin');
select raises(paid_by('shared', reason), 409, 'payout_warned', 'This withdrawal has warnings. Give a reason to record its payout all the same.', 'a payout to a wallet that others have is asked back')
from unnest(array[null, '', E' \n ']) as reason;
select is_warned('shared', 'address_shared', 'with what stands against it');
select raises(paid_by('shared', repeat('x', 1001)), 400, 'invalid_reason', 'A reason has at most 1,000 characters.', 'too long a reason');
select is((select status::text from withdrawals where id = named('shared')), 'pending', 'and nothing was approved with it');
select lives_ok(paid_by('shared', ' They share it. '), 'with a reason it is recorded');
select is(decide_withdrawal(named('shared'), 'approve', null, 'for shared') ->> 'already', 'true', 'asked again without one it is the same');
select act_as_owner();
select is(
    (select payload - array['user_id', 'amount', 'wallet_address', 'actor_role', 'request_id'] from private.audit_log where action = 'withdrawal.paid' and object_id = named('shared')),
    '{"payout_reference": "for shared", "payout_reason": "They share it.", "warnings": ["Also the wallet of embla"]}', 'its one entry says why, and in spite of what'
);
select is(
    (select count(*) from private.audit_log where action = 'withdrawal.paid' and object_id = named('plain') and payload ?| array['payout_reason', 'warnings']),
    0::bigint, 'the entry of another says nothing of it'
);
select act_as('elin');
select raises(paid_by('both', 'x', 'for shared'), 409, 'payout_reference_used', null, 'a reason does not confirm a reference that was used');
select raises(paid_by('both', null, 'for shared', true), 409, 'payout_warned', null, 'nor that the warnings');
select lives_ok(paid_by('both', 'They share it.', 'for shared', true), 'both are confirmed in one request');
select decide_withdrawal(named(n), 'approve') from unnest(array['hold', 'suspended', 'disabled', 'checksum', 'changed', 'closed']) as n;

-- What came after the approval warns too
select act_as_owner();
update private.profiles set trc20_wallet_address = wallets.of('embla') where user_id = user_id('embla');
update private.profiles set hold_until = now() + interval '1 hour', hold_reason = 'email' where user_id = user_id('freya');
select act_as('elin');
select is_warned('hold', 'hold', 'a payout within the hold');
select lives_ok(paid_by('hold', 'Sent before the change.'), 'with a reason it is recorded');
select act_as_owner();
update private.profiles set hold_until = null, hold_reason = null, account_status = 'suspended' where user_id = user_id('freya');
select act_as('elin');
select is_warned('suspended', 'blocked', 'a payout to a suspended member');
select lives_ok(paid_by('suspended', 'Sent before the change.'), 'with a reason it is recorded');
select act_as_owner();
update private.profiles set account_status = 'disabled' where user_id = user_id('freya');
select act_as('elin');
select is_warned('disabled', 'blocked', 'a payout to a disabled member');
select lives_ok(paid_by('disabled', 'Sent before the change.'), 'with a reason it is recorded');
select act_as_owner();
update private.profiles set account_status = 'active' where user_id = user_id('freya');
set local session_replication_role = replica;
update public.withdrawals set wallet_address = 'T123' where id = named('checksum');
set local session_replication_role = origin;
select act_as('elin');
select is_warned('checksum', 'checksum', 'a payout to what is no address');

-- Administrators alone read the reason
select act_as('freya');
select is_empty(
    $$ select 1 from (select to_jsonb(w)::text as t from withdrawals as w union all select get_transaction_history()::text union all select to_jsonb(n)::text from notifications as n) as seen
    where seen.t ~ 'They share|before the change' $$, 'the member does not'
);
select act_as_owner();
select is_empty(format($$ select 1 from edge.member_data(%L) as d where d.item::text ~ 'They share|before the change' $$, user_id('freya')), 'nor in the download');
select is_empty($$ select object from private.check_ledger() where rule = 'I47' $$, 'the entries agree with their rows');

-- What was approved before an account was closed is paid
select private.close_profile(user_id('freya'));
select act_as('elin');
select is(
    (select string_agg(f ->> 'text', '; ') from jsonb_array_elements(list_withdrawals('{"status": "unpaid"}') -> 'items') as i, jsonb_array_elements(i -> 'flags') as f where i ->> 'id' = named('closed')::text),
    'This account is closed', 'that the account is closed is said'
);
select lives_ok(paid_by('closed'), 'and is no warning');
select act_as_owner();
select private.audit('member:' || user_id('freya'), 'member.wallet_changed', 'profile', profile_id('freya'), '{"from": "a", "to": "b"}');
select act_as('elin');
select is_warned('changed', 'address_changed', 'a wallet that changed before is one');
select lives_ok(paid_by('changed', 'The new wallet is theirs.'), 'with a reason it is recorded');
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
select is(public.get_withdraw_options() -> 'wallet_checksum_ok', 'null'::jsonb, 'no wallet is neither right nor wrong');

-- Vic owns a Standard package.
select pays('vic', 250);
select act_as('vic');
select is(
    public.get_withdraw_options() - array['verification', 'hold_until', 'pending'],
    '{
        "balance": {"available": "0.00", "reserved": "0.00", "requestable": "0.00", "approved_withdrawals": "0.00", "hold_until": null},
        "wallet_checksum_ok": true, "minimum": "100.00"
    }'::jsonb || jsonb_build_object('wallet_address', wallets.of('vic')),
    'a withdrawal form knows balance, destination and minimum'
);

select act_as('anonymous');
select throws_ok($$ select public.get_withdraw_options() $$, '42501', null, 'an anonymous client is rejected');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The list administrators decide from
-- =====================================================================================================================
select join_as('root');
select complete('root');
select join_as(name, 'root') from unnest(array['ida', 'jonas', 'karim', 'wei']) as name;
select complete(name) from unnest(array['ida', 'jonas', 'karim', 'wei']) as name;
select pays('root', 1000);
select pays('jonas', 100);
select pays('karim', 500);
select pays('ida', 500);

create function pg_temp.names(p_list jsonb) returns text language sql as $$
    select string_agg(i.item ->> 'username', ' ' order by i.place)
    from jsonb_array_elements(p_list -> 'items') with ordinality as i (item, place)
$$;
create function pg_temp.item(p_list jsonb, p_username text) returns jsonb language sql as $$
    select i from jsonb_array_elements(p_list -> 'items') as i where i ->> 'username' = p_username and i ->> 'status' = 'pending'
$$;
grant execute on function pg_temp.names(jsonb), pg_temp.item(jsonb, text) to public;

-- The root has 5% of 500, 100 and 500, and half of the pair of 600. The same wallet stands in all accounts.
update private.profiles set trc20_wallet_address = wallets.of('root') where trc20_wallet_address is not null;
select act_as('root');
insert into public.withdrawals (user_id, amount, wallet_address) values (user_id('root'), 100, wallets.of('root'));
select act_as('elin');
select is(pg_temp.item(public.list_withdrawals(), 'root') ->> 'available_after', '255.00', 'what an approval would leave');
select is(
    (pg_temp.item(public.list_withdrawals(), 'root') ->> 'due_at')::timestamptz
    - (pg_temp.item(public.list_withdrawals(), 'root') ->> 'created_at')::timestamptz, interval '48 hours', 'and when it is due'
);
select ok(
    (
        select string_agg(f ->> 'text', '; ')
        from jsonb_array_elements(pg_temp.item(public.list_withdrawals(), 'root') -> 'flags') as f
    ) ~ '\AAlso the wallet of \w+(, \w+){2} and [1-9][0-9]* more\Z',
    'a wallet that others have too is flagged once, with three names and how many more there are'
);
select act_as_owner();
update private.profiles set
    account_status = 'suspended', hold_until = now() + interval '2 hours', hold_reason = 'wallet', trc20_wallet_address = 'unlike'
where user_id = user_id('root');
select private.audit('member:' || user_id('root'), 'member.wallet_changed', 'profile', profile_id('root'), '{"from": "a", "to": "b"}');
select act_as('elin');
select is(
    (
        select string_agg(distinct f ->> 'kind', ' ')
        from jsonb_array_elements(pg_temp.item(public.list_withdrawals(), 'root') -> 'flags') as f
    ), 'address_changed address_shared blocked hold', 'so are a changed wallet, a hold and a blocked member'
);
select is(pg_temp.names(public.list_withdrawals(jsonb_build_object('search', lower(left(wallets.of('root'), 8))))), 'root', 'the frozen address can be searched');
select is(public.list_withdrawals('{"page": 9}') -> 'items', '[]'::jsonb, 'a page beyond the end is empty');

-- What was paid, and what is to be.
select act_as_owner();
update private.profiles set account_status = 'active', hold_until = null, hold_reason = null, trc20_wallet_address = wallets.of('root') where user_id = user_id('root');
update private.profiles set trc20_wallet_address = wallets.of(username) where user_id <> user_id('root');
select act_as('root');
insert into public.withdrawals (user_id, amount, wallet_address) values (user_id('root'), 110, wallets.of('root'));
insert into public.withdrawals (user_id, amount, wallet_address) values (user_id('root'), 120, wallets.of('root'));
select act_as('elin');
select is(
    (
        select string_agg(distinct f ->> 'text', '; ')
        from jsonb_array_elements(list_withdrawals('{"status": "pending"}') -> 'items') as i, jsonb_array_elements(i -> 'flags') as f
        where f ->> 'kind' = 'other_requests' and i ->> 'amount' = '100.00'
    ), '2 more withdrawals of this member wait, $230.00 in all', 'the others of the same person are said'
);
select act_as_owner();
create function pg_temp.amounts(p_status text) returns text language sql as $$
    select string_agg(i ->> 'amount', ' ' order by i ->> 'amount') from jsonb_array_elements(list_withdrawals(jsonb_build_object('status', p_status)) -> 'items') as i
$$;
create function pg_temp.shows_counts(p_pending integer, p_approved integer, p_unpaid integer, p_paid integer) returns text language sql as $$
    select is(
        list_withdrawals() -> 'counts',
        jsonb_build_object('pending', p_pending, 'approved', p_approved, 'rejected', 0, 'unpaid', p_unpaid, 'paid', p_paid), 'and counted'
    )
$$;
grant execute on function pg_temp.amounts(text), pg_temp.shows_counts(integer, integer, integer, integer) to public;
select act_as('elin');
select pg_temp.shows_counts(3, 0, 0, 0);
select decide_withdrawal(id, 'approve', null, case amount when 100 then 'hash one' end, false, 'The new wallet is theirs.') from withdrawals where amount <= 110;
select is(array[pg_temp.amounts('unpaid'), pg_temp.amounts('paid'), pg_temp.amounts('approved')], array['110.00', '100.00', '100.00 110.00'], 'paid and unpaid ones are listed');
select pg_temp.shows_counts(1, 2, 1, 1);
select is(list_withdrawals('{"status": "unpaid", "page": 1}') ->> 'total', '1', 'with their number');
select is(list_withdrawals('{"status": "paid", "search": "root"}') ->> 'total', '1', 'and searched');
select is(list_withdrawals('{"status": "unpaid", "search": "root"}') #>> '{items,0,amount}', '110.00', 'each of them');
-- What warns of a payout does so until it is paid
select act_as_owner();
update private.profiles set account_status = 'suspended' where user_id = user_id('root');
select act_as('elin');
select ok(list_withdrawals('{"status": "unpaid"}') @? '$.items[*].flags[*] ? (@.text == "This account is suspended")', 'an unpaid one is flagged');
select is(list_withdrawals('{"status": "paid"}') #> '{items,0,flags}', '[]'::jsonb, 'a paid one no more');
select act_as_owner();
update private.profiles set account_status = 'active' where user_id = user_id('root');
select act_as('elin');
select decide_withdrawal(id, 'approve', null, 'hash two', false, 'The new wallet is theirs.') from withdrawals where amount = 110;
select pg_temp.shows_counts(1, 2, 0, 2);
select decide_withdrawal(id, 'approve') from withdrawals where amount = 120;
select act_as('olga');
create temporary table void as select (propose_correction('void_withdrawal', id, null, 'Never sent.') #>> '{correction,id}')::uuid as id from withdrawals where amount = 120;
grant select on void to public;
select act_as('elin');
select confirm_correction(id) from void;
select is(pg_temp.amounts('unpaid'), null, 'a voided one is not to be paid');
select pg_temp.shows_counts(0, 3, 0, 2);
select act_as_owner();
select is_empty($$ select * from private.check_ledger() where rule = 'I27' $$, 'the counters are those of the rows');

-- Everybody else.
select act_as('anonymous');
select throws_ok($$ select public.list_withdrawals() $$, '42501', null, 'an anonymous client is rejected');
select * from finish();
rollback;
