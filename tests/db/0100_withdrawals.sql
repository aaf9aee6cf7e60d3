-- threats: T19 T33 T38
begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
-- Freya: Premium, 25 + 25 referral and 40% of 1,000 from the pair: 450.00
select pays('freya', 500);
select pays('ask', 500);
select pays('embla', 500);

create function actors.withdrawal_sql(p_name text, p_amount text, p_wallet text default 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb', p_id uuid default gen_random_uuid())
returns text language sql as $$
    select format(
        'insert into public.withdrawals (id, user_id, amount, wallet_address, status) values (%L, %L, %L, %L, ''pending'')', p_id, user_id(p_name), p_amount, p_wallet
    )
$$;
grant execute on function actors.withdrawal_sql(text, text, text, uuid) to public;

-- A member, in the order of the checks: valid amount, balance, minimum, verified, wallet
select act_as('freya');
select is((select available_balance from profiles where user_id = auth.uid())::numeric, 450.00, 'the balance is bonuses less approved withdrawals');
select refuses(withdrawal_sql('freya', v), 400, 'invalid_amount', 'Enter an amount above $0.00 and up to $10,000,000.00.', 'an amount cannot be ' || v) from unnest(array['0', '-100', '10000000.01']) as v;
select throws_ok(withdrawal_sql('freya', v), '23514', null, 'an amount is no ' || v) from unnest(array['NaN', 'Infinity', '100.001']) as v;
select refuses(withdrawal_sql('freya', '450.01'), 400, 'insufficient_balance', 'Insufficient balance. Available: $450.00', 'more than the balance');
select refuses(withdrawal_sql('freya', '99.99'), 400, 'below_minimum', 'Minimum withdrawal amount is $100', 'less than the minimum');
select refuses(withdrawal_sql('freya', '100', 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8'), 409, 'wallet_changed', 'Your wallet address has changed. Check it and try again.', 'another address than the stored one');
select refuses(withdrawal_sql('ask', '100'), 403, 'not_yours', 'You can only make requests for yourself.', 'nobody withdraws for another, or learns the balance');
select refuses(replace(withdrawal_sql('freya', '100'), '''pending'')', '''approved'')'), 403, 'forbidden', 'A new request is pending until an administrator decides it.', 'nobody approves an own withdrawal');
select lives_ok(withdrawal_sql('freya', '300'), 'within the balance');
select refuses(withdrawal_sql('freya', '200'), 400, 'insufficient_balance', 'Insufficient balance. Available: $150.00', 'pending requests are counted');
select refuses(withdrawal_sql('freya', '100') || format(', (%L, %L, 100, %L, ''pending'')', gen_random_uuid(), user_id('freya'), 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb'),
    400, 'insufficient_balance', 'Insufficient balance. Available: $50.00', 'an array is counted row by row, and refused as a whole');
select is((select count(*) from withdrawals), 1::bigint, 'nothing of it is left');
select is((select amount from transactions where transaction_type = 'withdrawal')::numeric, -300.00, 'a request is in the journal, negative');

-- Retries
create temporary table retry as select gen_random_uuid() as id;
grant select on retry to public;
select lives_ok((select withdrawal_sql('freya', '100', 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb', id) || ' on conflict (id) do nothing' from retry), 'a request');
select lives_ok((select withdrawal_sql('freya', '100', 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb', id) || ' on conflict (id) do nothing' from retry), 'and its retry are not refused');
select is((select count(*) from withdrawals), 2::bigint, 'and make one row');
select refuses((select withdrawal_sql('freya', '110', 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb', id) from retry), 409, 'duplicate_request', 'This request was already made with other values.', 'the same id with other values');
select throws_ok($$ update withdrawals set wallet_address = 'x' $$, '42501', null, 'a member changes nothing');
select throws_ok($$ delete from withdrawals $$, '42501', null, 'and deletes nothing');
select throws_ok(format('insert into withdrawals (user_id, amount, wallet_address, %I) values (auth.uid(), 100, %L, null)', c, 'x'), '42501', null, 'a member cannot write ' || c)
from unnest(array['admin_notes', 'created_at', 'decided_at', 'decided_by', 'payout_reference', 'payout_at', 'voided_at']) as c;

-- Ymir earned 25 + 10 from Freya but has no package: not verified
select act_as('ymir');
select refuses(withdrawal_sql('ymir', '30'), 400, 'below_minimum', 'Minimum withdrawal amount is $100', 'the minimum is told before verification');
select act_as_owner();
update public.bonuses set volume = 100000, amount = 5000 where bonus_type = 'referral' and user_id = user_id('ymir');
select act_as('ymir');
select refuses(withdrawal_sql('ymir', '100'), 403, 'not_verified', 'Please complete your profile, settings, and account verification first', 'a package must be paid');
select act_as('loke');
select is_empty($$ select 1 from withdrawals $$, 'a stranger sees none');
select act_as('anonymous');
select throws_ok($$ select 1 from withdrawals $$, '42501', null, 'a visitor has no table');

-- Blocked
select act_as_owner();
update private.profiles set account_status = 'disabled' where user_id = user_id('freya');
select act_as('freya');
select refuses(withdrawal_sql('freya', '100'), 403, 'account_disabled', 'Your account has been disabled. Please contact support for assistance.', 'a disabled member withdraws nothing');

-- Even the owner of the database
select act_as_owner();
select refuses($$ update public.withdrawals set wallet_address = 'x' $$, 403, 'append_only', 'A withdrawal is decided once and never changed.', 'the address is frozen');
select refuses($$ delete from public.withdrawals $$, 403, 'append_only', 'Rows of withdrawals are kept as they are.', 'nothing is deleted');

-- Behind the trigger stands a policy
alter table public.withdrawals disable trigger _100_guard;
select act_as('loke');
select throws_ok(withdrawal_sql('ask', '100'), '42501', 'new row violates row-level security policy for table "withdrawals"', 'the policy alone refuses a withdrawal of another');
select throws_ok(replace(withdrawal_sql('loke', '100'), '''pending'')', '''approved'')'), '42501', 'new row violates row-level security policy for table "withdrawals"', 'and one that is approved already');
select * from finish();
rollback;
