-- Administrators see the corrections that wait, why they may not confirm one, and what was confirmed last; they discard
-- what is not to be confirmed.
begin;
\ir ../support/actors.sql
select plan(25);
select family();
select administrator('orm', 'super_admin');
select pays('freya', 1000); select pays('ask', 1000);
create temporary table things as select pays('embla', 1000) as deposit;
grant all on things to public;
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 100, 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb');
select act_as('elin');
select decide_withdrawal(id, 'approve') from withdrawals where user_id = user_id('freya');
select is(list_corrections(), '{"waiting": [], "confirmed": []}'::jsonb, 'nothing waits');

select act_as('olga');
select propose_correction('void_deposit', deposit, null, 'The transfer was recalled.') from things;
select act_as('orm');
select propose_correction('set_package', profile_id('buri'), 500, 'Promised at the fair.');
select propose_correction('void_withdrawal', id, null, 'The wallet refused it.') from withdrawals where user_id = user_id('freya');
-- All three in one transaction: told apart by the time that each was proposed.
select act_as_owner();
update private.corrections as c set proposed_at = '2026-03-01'::timestamptz + interval '1 day' * (case c.kind when 'void_deposit' then 1 when 'set_package' then 2 else 3 end);

select act_as('elin');
select is(
    (list_corrections() #> '{waiting,0}') - array['id', 'requested_at'],
    jsonb_build_object(
        'kind', 'void_deposit', 'target_id', deposit, 'profile_id', profile_id('embla'), 'username', 'embla', 'display_name', 'Embla',
        'amount', '1000.00', 'reference', (select d.reference_number from deposits as d where d.id = deposit), 'value', null,
        'package_value', '1000.00', 'reason', 'The transfer was recalled.', 'proposed_by_name', 'Olga', 'proposed_at', '2026-03-02T00:00:00+00:00',
        'confirmed_by_name', null, 'confirmed_at', null, 'refusal', null
    ), 'what waits, for whom, by whom and why'
) from things;
select is(
    (select string_agg(concat_ws(' ', w ->> 'kind', w ->> 'username', w ->> 'amount', w ->> 'value', w ->> 'reference'), ', ') from jsonb_array_elements(list_corrections() -> 'waiting') as w),
    (select format('void_deposit embla 1000.00 %s, set_package buri 500.00, void_withdrawal freya 100.00 T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb', reference_number) from deposits where id = (select deposit from things)),
    'oldest first, with what each would void or set'
);

-- Who may confirm
create function pg_temp.refusals() returns text[] language sql as $$
    select array_agg(w ->> 'refusal' order by w ->> 'proposed_at') from jsonb_array_elements(public.list_corrections() -> 'waiting') as w
$$;
grant execute on function pg_temp.refusals() to public;
select is(pg_temp.refusals(), array[null, null, null], 'finance may confirm all of them');
select act_as('olga');
select is(pg_temp.refusals(), array['Another administrator must confirm this.', null, null], 'a super administrator those of others');
select act_as('sam');
select is(pg_temp.refusals(), array_fill('A support admin cannot do this.'::text, array[3]), 'support reads them and confirms none');
select act_as_owner();
update private.profiles set email = 'ELIN@admins.test' where user_id = user_id('buri');
select act_as('elin');
select is(pg_temp.refusals(), array[null, 'You cannot decide a request of your own member account.', null], 'nobody one of the own account');
select decide_withdrawal(id, 'approve', null, 'paid after all') from withdrawals where user_id = user_id('freya');
select is((pg_temp.refusals())[3], 'This can no longer be confirmed: what it would correct has changed.', 'and nobody what was paid since');

-- What was confirmed
select confirm_correction((list_corrections() #>> '{waiting,0,id}')::uuid);
select is(jsonb_array_length(list_corrections() -> 'waiting'), 2, 'what was confirmed waits no more');
select is(
    (list_corrections() #> '{confirmed,0}') - array['id', 'target_id', 'profile_id', 'display_name', 'reference', 'requested_at', 'proposed_at', 'confirmed_at'],
    '{"kind": "void_deposit", "username": "embla", "amount": "1000.00", "value": null, "package_value": "0.00", "reason": "The transfer was recalled.",
        "proposed_by_name": "Olga", "confirmed_by_name": "Elin", "refusal": null}'::jsonb, 'it is listed with both'
);
select act_as('olga');
select confirm_correction((list_corrections() #>> '{waiting,0,id}')::uuid);
select act_as_owner();
update private.corrections as c set confirmed_at = c.confirmed_at + interval '1 hour' where c.kind = 'set_package' and c.confirmed_at is not null;
select act_as('elin');
select is((select string_agg(c ->> 'kind', ' ') from jsonb_array_elements(list_corrections() -> 'confirmed') as c), 'set_package void_deposit', 'the last one first');

-- What is not to be confirmed
select act_as('sam');
select refuses('select discard_correction(gen_random_uuid())', 403, 'forbidden', 'A support admin cannot do this.', 'support discards nothing');
select act_as('olga');
select refuses('select discard_correction(gen_random_uuid())', 404, 'not_found', 'There is no such correction.', 'nothing is not discarded');
select propose_correction('set_package', profile_id('ask'), 100, 'The wrong package.');
select act_as_owner();
create temporary table mistaken as select id from private.corrections where user_id = user_id('ask') and kind = 'set_package';
grant select on mistaken to public;
update private.profiles set email = 'olga@admins.test' where user_id = user_id('ask');
select act_as('olga');
select refuses(format('select discard_correction(%L)', id), 403, 'own_account', 'You cannot decide a request of your own member account.', 'nobody discards one of the own account') from mistaken;
select act_as_owner();
update private.profiles set email = 'ask@members.test' where user_id = user_id('ask');
select act_as('olga');
select is(discard_correction(id) -> 'correction' ->> 'discarded_by', user_id('olga')::text, 'who proposed takes it back') from mistaken;
select refuses(format('select discard_correction(%L)', id), 409, 'already_decided', 'This correction was discarded.', 'once') from mistaken;
select act_as('elin');
select refuses(format('select confirm_correction(%L)', id), 409, 'already_decided', 'This correction was discarded.', 'and nobody confirms it') from mistaken;
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

-- Everybody else
select act_as('freya');
select throws_ok('select list_corrections()', '42501', null, 'a member is refused');
select act_as('anonymous');
select throws_ok('select list_corrections()', '42501', null, 'a visitor too');
select act_as_owner();
update private.admin_users set is_active = false where id = user_id('sam');
select act_as('sam');
select refuses('select list_corrections()', 401, 'session_ended', 'Your session has ended. Sign in again.', 'and so is an administrator who was deactivated');
select * from finish();
rollback;
