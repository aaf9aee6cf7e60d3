-- The journal of money: append-only; a member's history and the administrators' list are read from it.
-- threats: T48
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Rights, and what never changes
-- =====================================================================================================================
select pays('freya', 500);
select claims_deposit('freya', 1000);

select act_as('freya');
select results_eq($$ select transaction_type::text, status::text, amount::numeric from transactions order by amount $$,
    $$ values ('deposit', 'completed', 500.0), ('deposit', 'pending', 1000.0) $$, 'a member reads the own journal');
select throws_ok($$ insert into transactions (user_id, amount, transaction_type, status, reference_id) values (auth.uid(), 1, 'bonus', 'completed', auth.uid()) $$, '42501', null, 'and writes nothing');
select throws_ok($$ update transactions set amount = 9 $$, '42501', null, 'changes nothing');
select throws_ok($$ delete from transactions $$, '42501', null, 'deletes nothing');
select act_as('loke');
select is_empty($$ select 1 from transactions $$, 'a stranger sees none');

select act_as_owner();
select raises($$ update public.transactions set amount = amount + 1 $$, 403, 'append_only', 'The journal is kept as it is.', 'an amount never changes');
select raises($$ update public.transactions set status = 'failed' where status = 'completed' $$, 403, 'append_only', 'The journal is kept as it is.', 'a status moves once');
select raises($$ delete from public.transactions $$, 403, 'append_only', 'Rows of transactions are kept as they are.', 'no row is deleted');
select raises($$ truncate public.transactions $$, 403, 'append_only', 'Rows of transactions are kept as they are.', 'the journal is not emptied');
select throws_ok($$ insert into public.transactions (user_id, amount, transaction_type, status, reference_id)
    select user_id, amount, transaction_type, status, reference_id from public.transactions where transaction_type = 'deposit' limit 1 $$, '23505', null, 'a source has one row');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A member's money in one list: merged, newest first, paged, and no other member's
-- =====================================================================================================================
-- Rita refers Ann and Ben (pair 1) and Zoe; Ann and Ben paid.
select join_as('rita');
select complete('rita');
select join_as('ann', 'rita');
select join_as('ben', 'rita');
select join_as('stranger');
select complete('ann');
select complete('ben');
select pays('rita', 500);
select pays('ann', 250);
select pays('ben', 100);
select act_as('rita');
insert into public.withdrawals (user_id, amount, wallet_address)
values (user_id('rita'), 100, 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb');

create function pg_temp.items(p_history jsonb) returns setof text language sql as $$
    select concat_ws(' ', i ->> 'transaction_type', i ->> 'amount', i ->> 'status', i ->> 'counterparty')
    from jsonb_array_elements(p_history -> 'items') as i
$$;
grant execute on function pg_temp.items(jsonb) to public;

select set_eq(
    $$ select pg_temp.items(public.get_transaction_history()) $$,
    array[
        'deposit 500.00 approved',
        'referral bonus 12.50 completed ann',
        'referral bonus 5.00 completed ben',
        'pairing bonus 140.00 completed ben',
        'withdrawal -100.00 pending T9yD14...uWwb'
    ],
    'deposits, withdrawals (negative) and bonuses stand in one list, each once'
);
select is(
    (select i - array['id', 'user_id', 'created_at'] from jsonb_array_elements(public.get_transaction_history('pairing bonus') -> 'items') as i),
    '{
        "amount": "140.00", "transaction_type": "pairing bonus", "status": "completed", "source": "bonus", "counterparty": "ben",
        "pair_number": 1, "pair_names": ["ann", "ben"], "rate": "40.00", "volume": "350.00", "reentry": "14.00", "reference": null,
        "wallet_address": null, "admin_notes": null, "decided_at": null, "payout_reference": null, "can_cancel": false
    }'::jsonb,
    'a bonus says where it comes from'
);
select is(
    (select i ->> 'can_cancel' from jsonb_array_elements(public.get_transaction_history('withdrawal') -> 'items') as i),
    'true', 'a pending request can be taken back'
);
select is(
    (select string_agg(i ->> 'transaction_type', ', ') from jsonb_array_elements(public.get_transaction_history(null, 'pending') -> 'items') as i),
    'withdrawal', 'the status filters'
);
select is(
    jsonb_array_length(public.get_transaction_history('bonus') -> 'items'), 3, '"bonus" takes all three types'
);
select is(
    public.get_transaction_history(null, null, current_date + 2) -> 'items', '[]'::jsonb, 'days filter, and nothing is an empty list'
);
select is(
    jsonb_array_length(
        public.get_transaction_history(
            null, null, (now() at time zone 'UTC')::date, (now() at time zone 'UTC')::date
        ) -> 'items'
    ), 5, 'both days are inclusive'
);

-- Page by page, nothing twice and nothing left out.
select is(
    (
        with recursive pages as (
            select public.get_transaction_history(null, null, null, null, null, 2) as page
            union all
            select public.get_transaction_history(null, null, null, null, p.page ->> 'next', 2)
            from pages as p where p.page ->> 'next' is not null
        )

        select string_agg(i ->> 'id', ',') from pages as p, jsonb_array_elements(p.page -> 'items') as i
    ),
    (select string_agg(i ->> 'id', ',') from jsonb_array_elements(public.get_transaction_history() -> 'items') as i),
    'pages of two put together are the list'
);

-- A voided deposit keeps its row; the correction stands beside it.
select act_as('olga');
create temporary table wrong as
select (public.propose_correction(
    'void_deposit', (select d.id from public.deposits as d where d.user_id = user_id('ben')), null, 'Transfer was recalled'
) -> 'correction' ->> 'id')::uuid as id;
select act_as('elin');
select lives_ok($$ select public.confirm_correction((select w.id from wrong as w)) $$, 'another administrator confirms');
select act_as('ben');
select set_eq(
    $$ select pg_temp.items(public.get_transaction_history()) $$,
    array['deposit 100.00 approved', 'correction -100.00 completed'],
    'a correction is a line of its own'
);
select is(
    (select string_agg(i ->> 'source', ',') from jsonb_array_elements(public.get_transaction_history('correction') -> 'items') as i),
    'transaction', 'it comes from the journal'
);

-- A bonus that it set to zero is shown and counted no more; row and journal stay.
select act_as('rita');
select set_eq(
    $$ select pg_temp.items(public.get_transaction_history()) $$,
    array['deposit 500.00 approved', 'referral bonus 12.50 completed ann', 'withdrawal -100.00 pending T9yD14...uWwb'],
    'the referrer''s history has the bonuses that are left'
);
select is(public.get_member_dashboard() #>> array['bonuses', k, 'count'], n, 'the count of ' || k || ' bonuses')
from (values ('referral', '1'), ('pairing', '0')) as c (k, n);
select is(public.get_member_dashboard() #>> '{team,paying_pairs}', '0', 'and of paying pairs');
select act_as_owner();
select is((select count(*) from public.bonuses where user_id = user_id('rita') and amount = 0), 2::bigint, 'the rows stay');
select is((select count(*) from public.transactions where user_id = user_id('rita') and transaction_type = 'bonus'), 5::bigint, 'and the journal says what happened');
select is(private.counter_value('bonus_rows'), (select count(*) from public.bonuses where amount > 0)::numeric, 'the sync counts the others');
select pays('ben', 100);
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'and these again when they pay again');
select is((select pairing_count from private.totals where user_id = user_id('rita')), 1, 'the pair is one');

-- Strangers, anonymous clients, nonsense.
select act_as('stranger');
select is(public.get_transaction_history(), '{"items": [], "next": null}'::jsonb, 'a stranger sees none of it');
select raises(
    $$ select public.get_transaction_history('gift') $$, 400, 'invalid_filter', 'There is no such type of transaction.', 'types are known'
);
select raises($$ select public.get_transaction_history(null, 'lost') $$, 400, 'invalid_filter', 'There is no such status.', 'statuses too');
select raises(
    $$ select public.get_transaction_history(null, null, null, null, 'x') $$, 400, 'invalid_cursor',
    'This page no longer exists. Start again from the first.', 'a cursor is ours or rejected'
);
select raises(
    $$ select public.get_transaction_history(null, null, null, null, null, 101) $$, 400, 'invalid_limit', 'A page holds 1 to 100 rows.',
    'a page has a limit'
);
select act_as('anonymous');
select throws_ok($$ select public.get_transaction_history() $$, '42501', null, 'an anonymous client is rejected');

select act_as('rita');
select raises(
    $$ select public.get_transaction_history(null, null, null, null, '2020-13-45T00:00:00.000000Z_00000000-0000-4000-8000-000000000000') $$,
    400, 'invalid_cursor', 'This page no longer exists. Start again from the first.', 'a cursor of no day is rejected'
);
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Corrections in a member's history are found by their reference
-- =====================================================================================================================
select matches(
    pg_get_functiondef('private.transaction_history'::regproc), 'private.corrections as c where c.user_id = p_user_id\)\)\s+offset 0',
    'before they are put in order'
);
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The journal as administrators read it, its totals against the rows themselves
-- =====================================================================================================================
select join_as('root');
select complete('root');
select join_as('ann', 'root');
select join_as('ben', 'root');
select complete('ann');
select complete('ben');
select pays('root', 500);
select pays('ann', 250);
select pays('ben', 100);
select pays('ben', 250);
select claims_deposit('ann', 40);
select pays('root', 10 + n) from generate_series(1, 18) as n;
select act_as('olga');
create temporary table wrong as
select (public.propose_correction(
    'void_deposit', (select d.id from public.deposits as d where d.user_id = user_id('ann') and d.amount = 250), null, 'Recalled'
) -> 'correction' ->> 'id')::uuid as id;
select act_as('elin');
select public.confirm_correction((select w.id from wrong as w));

select act_as_owner();
create temporary table facts as
select
    count(*) as total,
    count(*) filter (where t.status = 'completed') as completed,
    sum(abs(t.amount)) filter (where t.status = 'completed') as volume
from public.transactions as t;
grant select on facts to public;

select act_as('sam');
select is(
    (select (c ->> 'total') || ' ' || (c ->> 'completed') || ' ' || (c ->> 'total_volume') from (select public.list_transactions() -> 'cards' as c) as l),
    (select f.total || ' ' || f.completed || ' ' || to_char(f.volume, 'FM999990.00') from facts as f),
    'the kept totals are those of the rows, a correction and a re-rated bonus included'
);
select is((public.list_transactions() ->> 'total')::bigint, (select f.total from facts as f), 'all of them');
select is(
    (select count(*) from jsonb_array_elements(public.list_transactions('{}') -> 'items')), (select f.total from facts as f),
    'an empty body returns the rows, not the first page'
);
select is(
    public.list_transactions('{"type": "deposit", "status": "pending"}') #>> '{items,0,amount}', '40.00', 'filtered by type and status'
);
select is(public.list_transactions('{"type": "deposit", "status": "pending"}') ->> 'total', '1', 'with their total');
select is(
    (select count(*) from jsonb_array_elements(public.list_transactions('{"search": "ann"}') -> 'items')), 3::bigint,
    'searched by member: two deposits and the correction'
);
select is(
    public.list_transactions(jsonb_build_object('search', (select left(w.id::text, 13) from wrong as w))) #>> '{items,0,amount}',
    '-250.00', 'or by the beginning of a reference'
);
select is(public.list_transactions('{"search": "zzzz"}') ->> 'total', '0', 'nothing found is nothing');
select raises($$ select public.list_transactions('{"type": "gift"}') $$, 400, 'invalid_filter', 'There is no such filter.', 'types are known');
select act_as('ann');
select throws_ok($$ select public.list_transactions() $$, '42501', null, 'a member is rejected');
select act_as('anonymous');
select throws_ok($$ select public.list_transactions() $$, '42501', null, 'an anonymous client is rejected');
select * from finish();
rollback;
