-- Corrections of what was approved: one proposes, another confirms; what they undo, and what waits for its confirmation.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Proposing, confirming, and the effect
-- =====================================================================================================================
select administrator('orm', 'super_admin');
select pays('freya', 500); select pays('ask', 500);
create temporary table things as select pays('embla', 1000) as deposit;
grant all on things to public;

-- Who proposes, who confirms
select act_as('elin');
select raises(format('select propose_correction(%L, %L, null, %L)', 'void_deposit', deposit, 'x'), 403, 'forbidden', 'A finance admin cannot do this.', 'finance does not propose') from things;
select act_as('olga');
select raises(format('select propose_correction(%L, %L, null, %L)', 'void_deposit', deposit, ' '), 400, 'invalid_reason', 'Give a reason of at most 1,000 characters.', 'without a reason') from things;
select raises(format('select propose_correction(%L, %L, null, %L)', 'undo', deposit, 'x'), 400, 'invalid_input', 'The kind must be void_deposit, void_withdrawal, set_package or repair_rows.', 'of no kind') from things;
select raises(format('select propose_correction(%L, %L, 60, %L)', 'set_package', profile_id('freya'), 'x'), 400, 'invalid_input', 'The package must be 0 or one of the package sizes.', 'to no package');
select raises(format('select propose_correction(%L, %L, null, %L)', 'void_deposit', gen_random_uuid(), 'x'), 409, 'not_correctable', 'Only an approved deposit that still counts can be voided.', 'of nothing');
select lives_ok(format('select propose_correction(%L, %L, null, %L)', 'void_deposit', deposit, 'The transfer was recalled.'), 'a super admin proposes') from things;
select raises(format('select propose_correction(%L, %L, null, %L)', 'void_deposit', deposit, 'again'), 409, 'already_proposed', 'This correction is already waiting for its confirmation.', 'once') from things;
select act_as_owner();
create temporary table proposed as select id from private.corrections where target_id = (select deposit from things);
grant select on proposed to public;
select is((select package_value::numeric from private.profiles where user_id = user_id('embla')), 1000.0, 'a proposal changes nothing');
select act_as('olga');
select raises(format('select confirm_correction(%L)', id), 403, 'two_people', 'Another administrator must confirm a correction. Who can: Elin, Orm.', 'an administrator cannot confirm the own proposal') from proposed;
select act_as('sam');
select raises(format('select confirm_correction(%L)', id), 403, 'forbidden', 'A support admin cannot do this.', 'support confirms nothing') from proposed;
select act_as('freya');
select throws_ok(format('select confirm_correction(%L)', id), '42501', null, 'a member neither') from proposed;

-- The effect
select act_as('elin');
select is(confirm_correction(id) ->> 'success', 'true', 'finance confirms') from proposed;
select raises(format('select confirm_correction(%L)', id), 409, 'already_decided', 'This correction was already confirmed.', 'once') from proposed;
select act_as_owner();
select results_eq($$ select status::text, voided_at is not null from public.deposits where id = (select deposit from things) $$, $$ values ('approved', true) $$, 'the deposit keeps its status and no longer counts');
select results_eq($$ select package_value::numeric, cash_in_amount::numeric from private.profiles where user_id = user_id('embla') $$, $$ values (0.0, 0.0) $$, 'package and cash-in are worked out anew');
select is((select available_balance::numeric from private.totals where user_id = user_id('freya')), 25.00, 'so are the bonuses of others');
select is((select sum(amount) from public.transactions where user_id = user_id('freya') and transaction_type = 'bonus')::numeric, 25.00, 'with a journal row each');
select is((select amount from public.transactions where reference_id = (select id from proposed))::numeric, -1000.00, 'and one for the deposit');
select is(private.all_bonus_discrepancies(), '{}', 'the computation agrees');
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'the ledger checks pass');
select raises($$ update private.profiles set package_value = 50 where user_id = user_id('freya') $$, 403, 'immutable', 'You can only upgrade to a higher package. Downgrades are not allowed.', 'outside a correction a package never goes down');

-- A package without cash-in: the only way to the insufficient cash-in warning
select act_as('olga');
select propose_correction('set_package', profile_id('buri'), 1000, 'Promised at the fair.');
select act_as('orm');
select act_as_owner();
create temporary table promised as select id from private.corrections where kind = 'set_package' and user_id = user_id('buri');
grant select on promised to public;
select act_as('orm');
select is(confirm_correction(id) ->> 'success', 'true', 'another super admin confirms') from promised;
select act_as_owner();
select results_eq($$ select package_value::numeric, cash_in_amount::numeric, account_verified from private.profiles where user_id = user_id('buri') $$, $$ values (1000.0, 0.0, false) $$, 'a package without cash-in is not funded');
select is((select count(*) from public.bonuses where source_user_id = user_id('buri')), 0::bigint, 'and earns no bonus');

-- A withdrawal that was never paid
select pays('embla', 1000);
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 200, wallets.of('freya')), (auth.uid(), 100, wallets.of('freya'));
select act_as('elin');
select decide_withdrawal(id, 'approve', null, case amount when 100 then 'paid-1' end) from withdrawals where user_id = user_id('freya');
select act_as('olga');
select raises(format('select propose_correction(%L, %L, null, %L)', 'void_withdrawal', id, 'x'), 409, 'not_correctable', 'Only an approved withdrawal that was not paid can be voided.', 'a paid one stays')
from withdrawals where user_id = user_id('freya') and amount = 100;
select propose_correction('void_withdrawal', id, null, 'The wallet rejected it.') from withdrawals where user_id = user_id('freya') and amount = 200;
select act_as_owner();
create temporary table unpaid as select id from private.corrections where kind = 'void_withdrawal' and user_id = user_id('freya');
grant select on unpaid to public;
create temporary table before as select available_balance as balance from private.totals where user_id = user_id('freya');
select act_as('elin');
select is(confirm_correction(id) ->> 'success', 'true', 'an unpaid one is voided') from unpaid;
select act_as_owner();
select is((select available_balance - balance from private.totals, before where user_id = user_id('freya'))::numeric, 200.00, 'and counts as available again');
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'the ledger checks pass');

select audited(a, 'each step of a correction') from unnest(array['correction.proposed', 'correction.confirmed']) as a;
select notified('freya', 'correction', 'the member is notified');
select is((select body from public.notifications where user_id = user_id('freya') and kind = 'correction'), 'A withdrawal that was not paid counts as available again. Reason: The wallet rejected it.', 'what and why');

-- A package that goes down lowers what others earned by it, row by row, and then nothing is lowered any more
select act_as('olga');
select propose_correction('set_package', profile_id('ask'), 100, 'Paid less than claimed.');
select act_as_owner();
create temporary table lowered as select id from private.corrections where user_id = user_id('ask') and kind = 'set_package';
grant select on lowered to public;
select act_as('elin');
select raises('select confirm_correction(gen_random_uuid())', 404, 'not_found', 'There is no such correction.', 'nothing is not confirmed');
select act_as_owner();
update private.profiles set email = 'elin@admins.test' where user_id = user_id('ask');
select act_as('elin');
select raises(format('select confirm_correction(%L)', id), 403, 'own_account', 'You cannot decide a request of your own member account.', 'nor for the own account') from lowered;
select act_as('orm');
select is(confirm_correction(id) ->> 'success', 'true', 'a package is lowered') from lowered;
select act_as_owner();
select is((select amount::numeric from public.bonuses where bonus_type = 'referral' and source_user_id = user_id('ask')), 5.00, 'the referral bonus follows');
select is(private.all_bonus_discrepancies(), '{}', 'with every other');
select raises($$ update public.bonuses set amount = 0, volume = 0 where source_user_id = user_id('ask') and bonus_type = 'referral' $$, 403, 'append_only',
    'A bonus only rises. A correction can lower it.', 'after the correction a bonus only rises again');

-- What changed since the proposal is looked at again
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 110, wallets.of('freya'));
select act_as('elin');
select decide_withdrawal(id, 'approve') from withdrawals where amount = 110;
select act_as('olga');
select propose_correction('void_withdrawal', id, null, 'Not sent.') from withdrawals where amount = 110;
select act_as('elin');
select decide_withdrawal(id, 'approve', null, 'paid after all') from withdrawals where amount = 110;
select act_as_owner();
create temporary table paid as select c.id from private.corrections as c inner join public.withdrawals as w on w.id = c.target_id where w.amount = 110;
grant select on paid to public;
select act_as('orm');
select raises(format('select confirm_correction(%L)', id), 409, 'not_correctable', 'Only an approved withdrawal that was not paid can be voided.', 'what was paid since the proposal') from paid;
select raises(format('select propose_correction(%L, %L, 0, %L)', 'set_package', gen_random_uuid(), 'x'), 409, 'not_correctable', 'There is no such member.', 'an unknown member has no package');

select act_as_owner();
select raises($$ delete from private.corrections $$, 403, 'append_only', 'Rows of corrections are kept as they are.', 'a correction is never taken out');

-- What a correction voided it does not take back, and once its transaction is over it allows nothing any more
select raises($$ update public.withdrawals set voided_at = null where voided_at is not null $$, 403, 'append_only', 'A withdrawal is decided once and never changed.', 'what is voided stays voided');
select raises($$ update public.deposits set voided_at = null where voided_at is not null $$, 403, 'append_only', 'A deposit is decided once and never changed.', 'a deposit too');
update private.corrections set confirmed_in = '3' where confirmed_in is not null;
select raises($$ update private.profiles set package_value = 50 where user_id = user_id('ask') $$, 403, 'immutable', 'You can only upgrade to a higher package. Downgrades are not allowed.', 'a package goes down in the transaction of its correction alone');

-- What was voided blocks nothing: the transfer may be claimed again, the money requested again
create temporary table again as select claims_deposit('loke', 50, (select reference_number from public.deposits where id = (select deposit from things))) as id;
grant select on again to public;
select act_as('elin');
select is(decide_deposit(id, 'approve') ->> 'success', 'true', 'the reference of a voided deposit may be approved with another') from again;
select act_as_owner();
select pays('buri', 1001);
create temporary table whole as select gen_random_uuid() as id, requestable_amount as amount from private.totals where user_id = user_id('freya');
grant select on whole to public;
select act_as('freya');
insert into withdrawals (id, user_id, amount, wallet_address) select id, auth.uid(), amount, wallets.of('freya') from whole;
select act_as('elin');
select is(decide_withdrawal(id, 'approve') ->> 'success', 'true', 'the whole balance can be approved, what was voided included') from whole;
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A package after a correction
-- =====================================================================================================================
create temporary table things as
select pays('embla', 500) as package, pays('embla', 7) as cash_in, null::uuid as upgrade;
grant all on things to public;

create function actors.package() returns numeric language sql as $$
    select package_value::numeric from private.profiles where user_id = user_id('embla')
$$;

-- A super admin lowers embla's package from 500 to 100
select corrects('set_package', profile_id('embla'), 100);
select is(actors.package(), 100.0, 'a correction sets the package');
select corrects('void_deposit', cash_in) from things;
select is(actors.package(), 100.0, 'voiding another deposit does not bring the old package back');

-- She upgrades afterwards
update things set upgrade = pays('embla', 250);
select is(actors.package(), 250.0, 'an approval after the correction raises it');
select corrects('void_deposit', upgrade) from things;
select is(actors.package(), 100.0, 'voiding that one leaves what the correction set');
select corrects('void_deposit', package) from things;
select is(actors.package(), 100.0, 'and so does voiding the deposit that the correction replaced');
select is(private.all_bonus_discrepancies(), '{}', 'the computation agrees');
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'the ledger checks pass');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- What was decided first is a matter of numbers: the clock steps back and forth, and stands still
-- =====================================================================================================================
create function pg_temp.package() returns numeric language sql as $$
    select package_value::numeric from private.profiles where user_id = user_id('embla')
$$;
set local app.demo_clock = '2026-05-05 12:00+00';
create temporary table things as select pays('embla', 500) as package, pays('embla', 7) as cash_in, null::uuid as upgrade;
grant all on things to public;
select corrects('set_package', profile_id('embla'), 100);
-- Approved after the correction, by a clock that was set back.
set local app.demo_clock = '2026-05-05 11:00+00';
update things set upgrade = pays('embla', 250);
select corrects('void_deposit', cash_in) from things;
select is(pg_temp.package(), 250.0, 'an upgrade approved after a correction stays, though the clock says before');
-- At the same time, and by a clock that runs ahead.
set local app.demo_clock = '2026-05-05 11:00+00';
select corrects('set_package', profile_id('embla'), 50);
select is(pg_temp.package(), 50.0, 'the last of two corrections at two times counts');
create temporary table later as select pays('embla', 8) as cash_in, pays('embla', 1000) as upgrade;
grant all on later to public;
set local app.demo_clock = '2026-05-05 13:00+00';
select corrects('void_deposit', cash_in) from later;
select is(pg_temp.package(), 1000.0, 'an upgrade approved at the time of the correction, after it, stays');
set local app.demo_clock = '2026-05-05 10:00+00';
select corrects('void_deposit', upgrade) from later;
select is(pg_temp.package(), 50.0, 'what was approved before the last correction does not count again, though the clock says after');
set local app.demo_clock = '';
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'the ledger checks pass');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- What waits, why an administrator may not confirm it, what was confirmed last, and what is discarded
-- =====================================================================================================================
select administrator('orm', 'super_admin');
select pays('freya', 1000); select pays('ask', 1000);
create temporary table things as select pays('embla', 1000) as deposit;
grant all on things to public;
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 100, wallets.of('freya'));
select act_as('elin');
select decide_withdrawal(id, 'approve') from withdrawals where user_id = user_id('freya');
select is(list_corrections(), '{"waiting": [], "confirmed": []}'::jsonb, 'nothing waits');

select act_as('olga');
select propose_correction('void_deposit', deposit, null, 'The transfer was recalled.') from things;
select act_as('orm');
select propose_correction('set_package', profile_id('buri'), 500, 'Promised at the fair.');
select propose_correction('void_withdrawal', id, null, 'The wallet rejected it.') from withdrawals where user_id = user_id('freya');
-- All three in one transaction: told apart by the time that each was proposed.
select act_as_owner();
update private.corrections as c set proposed_at = '2026-03-01'::timestamptz + interval '1 day' * (case c.kind when 'void_deposit' then 1 when 'set_package' then 2 else 3 end);

select act_as('elin');
select is(
    (list_corrections() #> '{waiting,0}') - array['id', 'requested_at'],
    jsonb_build_object(
        'kind', 'void_deposit', 'target_id', deposit, 'profile_id', profile_id('embla'), 'user_id', user_id('embla'), 'username', 'embla',
        'display_name', 'Embla',
        'amount', '1000.00', 'reference', (select d.reference_number from deposits as d where d.id = deposit), 'value', null,
        'package_value', '1000.00', 'based_on_package', '1000.00', 'based_on_cash_in', '1000.00', 'reason', 'The transfer was recalled.',
        'proposed_by_name', 'Olga', 'proposed_at', '2026-03-02T00:00:00+00:00',
        'confirmed_by_name', null, 'confirmed_at', null, 'refusal', null, 'restores', null
    ), 'what waits, for whom, by whom and why'
) from things;
select is(
    (select string_agg(concat_ws(' ', w ->> 'kind', w ->> 'username', w ->> 'amount', w ->> 'value', w ->> 'reference'), ', ') from jsonb_array_elements(list_corrections() -> 'waiting') as w),
    (select format('void_deposit embla 1000.00 %s, set_package buri 500.00, void_withdrawal freya 100.00 %s', reference_number, wallets.of('freya')) from deposits where id = (select deposit from things)),
    'oldest first, with what each would void or set'
);

-- Who may confirm
create function pg_temp.errors() returns text[] language sql as $$
    select array_agg(w ->> 'refusal' order by w ->> 'proposed_at') from jsonb_array_elements(public.list_corrections() -> 'waiting') as w
$$;
grant execute on function pg_temp.errors() to public;
select is(pg_temp.errors(), array[null, null, null], 'finance may confirm all of them');
select act_as('olga');
select is(pg_temp.errors(), array['Another administrator must confirm a correction. Who can: Elin, Orm.', null, null], 'a super administrator those of others');
select act_as('sam');
select is(pg_temp.errors(), array_fill('A support admin cannot do this.'::text, array[3]), 'support reads them and confirms none');
select act_as_owner();
update private.profiles set email = 'ELIN@admins.test' where user_id = user_id('buri');
select act_as('elin');
select is(pg_temp.errors(), array[null, 'You cannot decide a request of your own member account.', null], 'an administrator none of the own account');
select decide_withdrawal(id, 'approve', null, 'paid after all') from withdrawals where user_id = user_id('freya');
select is((pg_temp.errors())[3], 'This can no longer be confirmed: what it would correct has changed.', 'and none that was paid since');

-- What was confirmed
select confirm_correction((list_corrections() #>> '{waiting,0,id}')::uuid);
select is(jsonb_array_length(list_corrections() -> 'waiting'), 2, 'what was confirmed waits no more');
select is(
    (list_corrections() #> '{confirmed,0}') - array['id', 'target_id', 'profile_id', 'user_id', 'display_name', 'reference', 'requested_at', 'proposed_at', 'confirmed_at'],
    '{"kind": "void_deposit", "username": "embla", "amount": "1000.00", "value": null, "package_value": "0.00", "based_on_package": "1000.00", "based_on_cash_in": "1000.00",
        "reason": "The transfer was recalled.", "proposed_by_name": "Olga", "confirmed_by_name": "Elin", "refusal": null, "restores": null}'::jsonb, 'it is listed with both'
);
select act_as('olga');
select confirm_correction((list_corrections() #>> '{waiting,0,id}')::uuid);
select act_as_owner();
update private.corrections as c set confirmed_at = c.confirmed_at - interval '1 hour' where c.kind = 'set_package' and c.confirmed_at is not null;
select act_as('elin');
select is((select string_agg(c ->> 'kind', ' ') from jsonb_array_elements(list_corrections() -> 'confirmed') as c), 'set_package void_deposit', 'the last one first, whatever the clock said');

-- What is not to be confirmed
select act_as('sam');
select raises('select discard_correction(gen_random_uuid())', 403, 'forbidden', 'A support admin cannot do this.', 'support discards nothing');
select act_as('olga');
select raises('select discard_correction(gen_random_uuid())', 404, 'not_found', 'There is no such correction.', 'nothing is not discarded');
select propose_correction('set_package', profile_id('ask'), 100, 'The wrong package.');
select act_as_owner();
create temporary table mistaken as select id from private.corrections where user_id = user_id('ask') and kind = 'set_package';
grant select on mistaken to public;
update private.profiles set email = 'olga@admins.test' where user_id = user_id('ask');
select act_as('olga');
select raises(format('select discard_correction(%L)', id), 403, 'own_account', 'You cannot decide a request of your own member account.', 'an administrator cannot discard one of the own account') from mistaken;
select act_as_owner();
update private.profiles set email = 'ask@members.test' where user_id = user_id('ask');
select act_as('olga');
select is(discard_correction(id) -> 'correction' ->> 'discarded_by', user_id('olga')::text, 'who proposed takes it back') from mistaken;
select raises(format('select discard_correction(%L)', id), 409, 'already_decided', 'This correction was discarded.', 'once') from mistaken;
select act_as('elin');
select raises(format('select confirm_correction(%L)', id), 409, 'already_decided', 'This correction was discarded.', 'and cannot be confirmed') from mistaken;
select act_as_owner();
select is((select package_value::numeric from private.profiles where user_id = user_id('ask')), 1000.0, 'nothing has changed');
select act_as('orm');
select lives_ok(format('select propose_correction(%L, %L, 500, %L)', 'set_package', profile_id('ask'), 'The right one.'), 'another may be proposed for the same member');
select act_as('elin');
select is(
    (select array_agg(discard_correction((w ->> 'id')::uuid) ->> 'success') from jsonb_array_elements(list_corrections() -> 'waiting') as w),
    array['true', 'true'], 'finance discards what was paid since, and what it will not confirm'
);
select is(list_corrections() -> 'waiting', '[]'::jsonb, 'none of them waits any more');
select act_as_owner();
select audited('correction.discarded', 'who discarded it is written down');

-- Two people mean the same thing: what it was proposed on is what it is confirmed on
select act_as_owner();
create temporary table based as select claims_deposit('ask', 33) as deposit;
grant select on based to public;
select act_as('olga');
select is(
    (propose_correction('set_package', profile_id('ask'), 50, 'The wrong package.') -> 'correction' ->> 'based_on_package')::numeric, 1000::numeric,
    'a proposal says on what'
);
select propose_correction('void_deposit', id, null, 'Recalled.') from deposits where user_id = user_id('ask') and amount = 1000;
select act_as('elin');
select decide_deposit(deposit, 'approve') from based;
select is(
    (select count(*) from jsonb_array_elements(list_corrections() -> 'waiting') as w where w ->> 'refusal' =
        'Package and cash-in were $1,000.00 and $1,000.00 when this was proposed, and are $1,000.00 and $1,033.00 now. Discard it, and propose again what is right now.'),
    2::bigint, 'the list says what has changed since'
);
select raises(
    format('select confirm_correction(%L)', w ->> 'id'), 409, 'changed_since', w ->> 'refusal', 'and it is not confirmed: ' || (w ->> 'kind')
) from jsonb_array_elements(list_corrections() -> 'waiting') as w;
select discard_correction((w ->> 'id')::uuid) from jsonb_array_elements(list_corrections() -> 'waiting') as w;
select act_as_owner();
select results_eq($$ select package_value::numeric, cash_in_amount::numeric from private.profiles where user_id = user_id('ask') $$, $$ values (1000.0, 1033.0) $$, 'nothing has changed');
-- What is only proposed is not counted, by whatever is worked out meanwhile
select act_as('olga');
select propose_correction('set_package', profile_id('loke'), 1000, 'Promised.');
select propose_correction('void_deposit', id, null, 'Recalled.') from deposits where user_id = user_id('ask') and amount = 1000;
select act_as_owner();
select is(private.due_package(user_id('loke')), 0::numeric, 'a package that is proposed is none');
select set_eq(
    $$ select transaction_type, status, rows from private.transaction_counts() where rows > 0 $$,
    $$ select transaction_type::text, status::text, count(*) from public.transactions group by 1, 2 $$, 'a proposal reverses no journal row'
);

-- Everybody else
select act_as('freya');
select throws_ok('select list_corrections()', '42501', null, 'a member is rejected');
select act_as('anonymous');
select throws_ok('select list_corrections()', '42501', null, 'an anonymous client too');
select act_as_owner();
update private.admin_users set is_active = false where id = user_id('sam');
select act_as('sam');
select raises('select list_corrections()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'and so is an administrator who was deactivated');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Two people are two people, who signed in recently; super admins are mailed
-- =====================================================================================================================
select administrator('orm', 'super_admin');
update private.admin_users set is_active = false where email not like '%@admins.test';
delete from private.outbox;
create temporary table proposed (id uuid);
grant all on proposed to public;
create function actors.two_people(p_name text, p_who text) returns text language sql as $$
    select raises(
        format('select confirm_correction(%L)', id), 403, 'two_people',
        'You cannot confirm this: you and Olga count as one person, because one of your accounts was created, reset, activated or given a role from the other in the last 30 days. ' || p_who,
        p_name || ' is one person with the proposer'
    ) from proposed
$$;
grant execute on all functions in schema actors to public;
select act_as('olga');
insert into proposed select (propose_correction('set_package', profile_id('freya'), 1000, 'Promised.') #>> '{correction,id}')::uuid;
select update_administrator(user_id('sam'), null, 'finance_admin', null);
select act_as('orm');
select update_administrator(user_id('sam'), null, null, false);
select update_administrator(user_id('sam'), null, null, true);
select two_people('orm', 'Who can: Elin.');
select is(list_corrections() #>> '{waiting,0,refusal}', 'You cannot confirm this: you and Olga count as one person, because one of your accounts was created, reset, activated or given a role from the other in the last 30 days. Who can: Elin.', 'which the list says before');
select act_as_owner();
update private.admin_users set is_active = false where id = user_id('elin');
select act_as('orm');
select two_people('orm', 'At present nobody can. The operator can make another administrator on the server.');
select act_as_owner();
update private.admin_users set is_active = true where id = user_id('elin');
select signed_in_before('elin', '10 minutes 1 second');
select act_as('elin');
select raises(format('select confirm_correction(%L)', id), 403, 'reauthentication_needed', 'Sign in again to confirm a correction: your last sign-in is more than ten minutes old.', 'who can shows to be there') from proposed;
select act_as_owner();
select signed_in_before('elin', '9 minutes 55 seconds');
select act_as('elin');
select is(confirm_correction(id) ->> 'success', 'true', 'and confirms') from proposed;
select act_as_owner();
select results_eq(
    $$ select o.recipient, o.data ->> 'title', o.data ->> 'body' from private.outbox as o where o.template like 'correction\_%' order by o.template desc, o.recipient $$,
    $$ values
        ('olga@admins.test', 'A correction was proposed', E'Olga proposed it.\nTo set the package to $1,000.00 of member freya.\nReason: Promised.\nNothing has changed yet: another administrator confirms or discards it.'),
        ('orm@admins.test', 'A correction was proposed', E'Olga proposed it.\nTo set the package to $1,000.00 of member freya.\nReason: Promised.\nNothing has changed yet: another administrator confirms or discards it.'),
        ('olga@admins.test', 'A correction was confirmed', E'Elin confirmed it.\nTo set the package to $1,000.00 of member freya.\nReason: Promised.\nIt has taken effect.'),
        ('orm@admins.test', 'A correction was confirmed', E'Elin confirmed it.\nTo set the package to $1,000.00 of member freya.\nReason: Promised.\nIt has taken effect.') $$,
    'every super admin is mailed of both'
);
select * from finish();
rollback;
