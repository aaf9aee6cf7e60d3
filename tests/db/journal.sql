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
select raises($$ update public.transactions set balance_after = 1 where status = 'completed' $$, 403, 'append_only', 'The journal is kept as it is.', 'nor a balance');
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
values (user_id('rita'), 100, wallets.of('rita'));

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
        'withdrawal -100.00 pending ' || left(wallets.of('rita'), 6) || '...' || right(wallets.of('rita'), 4)
    ],
    'deposits, withdrawals (negative) and bonuses stand in one list, each once'
);
select is(
    (select i - array['id', 'user_id', 'created_at', 'effective_at', 'balance_after'] from jsonb_array_elements(public.get_transaction_history('pairing bonus') -> 'items') as i),
    '{
        "amount": "140.00", "transaction_type": "pairing bonus", "status": "completed", "source": "bonus", "counterparty": "ben",
        "pair_number": 1, "pair_names": ["ann", "ben"], "rate": "40.00", "volume": "350.00", "bonus_amount": "140.00", "reentry": "14.00", "reference": null,
        "wallet_address": null, "admin_notes": null, "decided_at": null, "payout_reference": null, "can_cancel": false,
        "cancelled": false, "in_balance": true, "received_amount": null, "rest": null, "further_references": null
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
select is(
    public.get_transaction_history(null, null, null, (now() at time zone 'UTC')::date - 1) -> 'items', '[]'::jsonb, 'and nothing later is shown'
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

-- A bonus that it set to zero is counted no more; what was credited and what was taken stay in the history, so that it
-- adds up.
select act_as('rita');
select set_eq(
    $$ select pg_temp.items(public.get_transaction_history()) $$,
    array[
        'deposit 500.00 approved', 'referral bonus 12.50 completed ann', 'withdrawal -100.00 pending ' || left(wallets.of('rita'), 6) || '...' || right(wallets.of('rita'), 4),
        'referral bonus 5.00 completed ben', 'pairing bonus 140.00 completed ben',
        'referral bonus -5.00 completed ben', 'pairing bonus -140.00 completed ben'
    ],
    'the referrer''s history has what was credited and what was taken back'
);
select set_eq(
    $$ select i ->> 'amount' as amount, i ->> 'source' as source, i ->> 'bonus_amount' as now, i ->> 'id' = b.id::text as own_id
       from jsonb_array_elements(public.get_transaction_history('pairing bonus') -> 'items') as i, bonuses as b
       where b.bonus_type = 'pairing' and b.user_id = auth.uid() $$,
    $$ values ('140.00', 'bonus', '0.00', true), ('-140.00', 'transaction', '0.00', false) $$,
    'the first row of a bonus stands for the bonus, and each says what the bonus is now'
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
-- The balance after each movement, and statements of months
-- =====================================================================================================================
create function pg_temp.at(p_month integer, p_time text) returns void language sql as $$
    select set_config(
        'app.demo_clock', (date_trunc('month', now() at time zone 'UTC') + p_month * interval '1 month' + p_time::interval)::text || '+00', true
    )
$$;
create function pg_temp.withdraws(p_name text, p_amount numeric, p_action text) returns uuid language plpgsql as $$
declare
    v_id uuid := gen_random_uuid();
begin
    perform act_as(p_name);
    insert into public.withdrawals (id, user_id, amount, wallet_address)
    values (v_id, user_id(p_name), p_amount, wallets.of(p_name));
    perform act_as('elin');
    if p_action in ('approve', 'reject') then
        perform public.decide_withdrawal(v_id, p_action, 'No');
    end if;
    perform act_as_owner();
    return v_id;
end
$$;
-- The journal, summed row by row in the order of decisions: what every balance is compared with.
create view pg_temp.oracle as
select
    t.user_id,
    case when t.transaction_type = 'withdrawal' and t.amount < 0 then t.reference_id else t.id end as id,
    t.amount::numeric as amount,
    sum(t.amount) over (partition by t.user_id order by t.decision_no, t.id) as balance
from public.transactions as t
where t.status = 'completed' and t.transaction_type <> 'deposit';
-- Of a bonus' first row the item has the bonus' id.
create function pg_temp.item_id(p_item jsonb) returns uuid language sql as $$
    select case when p_item ->> 'source' = 'bonus' then (
        select t.id from public.transactions as t where t.reference_id = (p_item ->> 'id')::uuid order by t.decision_no, t.id limit 1
    ) else (p_item ->> 'id')::uuid end
$$;
create function pg_temp.statements(p_name text) returns table (month date, s jsonb) language plpgsql as $$
begin
    perform act_as(p_name);
    return query
    select m.month::date, public.get_statement(m.month::date)
    from generate_series(-3, 0) as n
    cross join lateral (select date_trunc('month', now() at time zone 'UTC') + n * interval '1 month' as month) as m
    order by 1;
    perform act_as_owner();
end
$$;
create function pg_temp.shown(p_name text, p_filter text default null) returns table (at timestamptz, item jsonb) language plpgsql as $$
begin
    perform act_as(p_name);
    return query
    select (i ->> 'created_at')::timestamptz, i from jsonb_array_elements(public.get_transaction_history(p_filter, p_limit => 100) -> 'items') as i;
    perform act_as_owner();
end
$$;

select pg_temp.at(-3, '2 days');
select join_as('root');
select join_as('rita', 'root');
select join_as('ann', 'rita');
select join_as('ben', 'rita');
select complete(n) from unnest(array['rita', 'ann', 'ben']) as n;
select pg_temp.at(-3, '3 days');
select pays('rita', 500);
select pg_temp.at(-3, '3 days 00:30');
select pays('ann', 250);
select pg_temp.at(-3, '3 days 01:00');
select pays('ben', 100);
-- 157.50 so far. One withdrawal is refused, one taken back, one approved in another month than it was asked for.
select pg_temp.withdraws('rita', 100, 'reject');
select pg_temp.at(-3, '20 days');
create temporary table requests as select pg_temp.withdraws('rita', 110, 'none') as cancelled;
grant select on requests to public;
select act_as('rita');
select public.cancel_request((select r.cancelled from requests as r));
select act_as_owner();
alter table requests add column approved uuid;
update requests set approved = pg_temp.withdraws('rita', 120, 'none');
select pg_temp.at(-2, '1 day');
-- An upgrade raises the referral and the pairing bonus.
select pays('ben', 250);
select act_as('elin');
select public.decide_withdrawal((select r.approved from requests as r), 'approve');
select act_as_owner();
select pg_temp.at(-1, '5 days');
select corrects('void_withdrawal', (select r.approved from requests as r));
select pg_temp.at(-1, '5 days 02:00');
create temporary table taken as select pg_temp.withdraws('rita', 200, 'approve') as id;
select pg_temp.at(-1, '6 days');
-- It leaves less earned than withdrawn.
select corrects('void_deposit', (select d.id from public.deposits as d where d.user_id = user_id('ann')));
select pg_temp.at(0, '00:00:00.000001');
select pays('ann', 50);
select set_config('app.demo_clock', '', true);
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'the members'' story is a sound one');

select is_empty(
    $$ select h.item ->> 'transaction_type', h.item ->> 'amount', h.item ->> 'balance_after', o.balance
       from pg_temp.shown('rita') as h left join pg_temp.oracle as o on o.id = pg_temp.item_id(h.item)
       where (h.item ->> 'in_balance')::boolean and (o.id is null or (h.item ->> 'balance_after')::numeric <> o.balance) $$,
    'every balance is the sum of the journal up to its row, in the order of decisions'
);
select is(
    (select count(*) from pg_temp.shown('rita') as h where (h.item ->> 'in_balance')::boolean),
    (select count(*) from pg_temp.oracle as o where o.user_id = user_id('rita')), 'and every movement is in the history once'
);
select is(
    (select sum((h.item ->> 'amount')::numeric) from pg_temp.shown('rita') as h where (h.item ->> 'in_balance')::boolean),
    (select t.bonus_amount - t.withdrawn_amount from private.totals as t where t.user_id = user_id('rita')), 'they add up to the balance of now'
);
select is_empty(
    $$ select c.item from (
           select h.item, (h.item ->> 'balance_after')::numeric as balance,
               lead((h.item ->> 'balance_after')::numeric, 1, 0) over (order by h.place)
                   + case when (h.item ->> 'in_balance')::boolean then (h.item ->> 'amount')::numeric else 0 end as due
           from rows from (pg_temp.shown('rita')) with ordinality as h (at, item, place)
       ) as c where c.balance <> c.due $$,
    'each balance is the one of the row below and the own amount, by eye'
);
select ok(
    (select min((h.item ->> 'balance_after')::numeric) < 0 from pg_temp.shown('rita') as h),
    'a balance that a correction left below zero is shown as it is'
);
select set_eq(
    $$ select h.item ->> 'status' as status, (h.item ->> 'cancelled')::boolean as cancelled, h.item ->> 'amount' as amount, h.item ->> 'balance_after' as balance
       from pg_temp.shown('rita') as h where h.item ->> 'source' in ('withdrawal', 'deposit') and not (h.item ->> 'in_balance')::boolean $$,
    $$ values
        ('approved', false, '500.00', '0.00'),
        ('rejected', false, '-100.00', '157.50'),
        ('rejected', true, '-110.00', '157.50') $$,
    'a deposit, a refused and a cancelled request changed nothing: they have the balance of their time'
);
select is(
    (select h.item ->> 'balance_after' from pg_temp.shown('rita', 'withdrawal') as h where (h.item ->> 'id')::uuid = (select r.approved from requests as r)),
    '105.00', 'a withdrawal has the balance after its approval, not after its request: 157.50 + 67.50 - 120.00, in whatever list'
);
select act_as('ann');
select is(
    (select array_agg(i ->> 'balance_after') from jsonb_array_elements(public.get_transaction_history() -> 'items') as i),
    array['0.00', '0.00', '0.00'], 'who never earned anything has nothing after each of two deposits and a correction'
);
select act_as_owner();
select is(
    (select array_agg(h.item ->> 'in_balance') from pg_temp.shown('ann', 'correction') as h), array['false'], 'a voided deposit is no part of the balance'
);

-- Statements.
select is_empty(
    $$ select t.month, t.s from pg_temp.statements('rita') as t
       where (t.s ->> 'opening')::numeric + (t.s #>> '{in,total}')::numeric - (t.s #>> '{out,total}')::numeric <> (t.s ->> 'closing')::numeric $$,
    'opening + in - out is closing, whatever was corrected'
);
select is_empty(
    $$ select 1 from (
           select t.s ->> 'closing' as closing, lead(t.s ->> 'opening') over (order by t.month) as opening from pg_temp.statements('rita') as t
       ) as c where c.closing <> c.opening $$,
    'a month opens with what the last one closed with'
);
select is(
    (select t.s ->> 'closing' from pg_temp.statements('rita') as t order by t.month desc limit 1),
    (select to_char(t.bonus_amount - t.withdrawn_amount, 'FM99990.00') from private.totals as t where t.user_id = user_id('rita')),
    'the running month closes with the balance of now'
);
select results_eq(
    $$ select t.s ->> 'opening', t.s -> 'in' ->> 'total', t.s -> 'out' ->> 'total', t.s ->> 'closing', t.s ->> 'deposits', (t.s ->> 'running')::boolean
       from pg_temp.statements('rita') as t $$,
    $$ values
        ('0.00', '157.50', '0.00', '157.50', '500.00', false),
        ('157.50', '67.50', '120.00', '105.00', '0.00', false),
        ('105.00', '120.00', '412.50', '-187.50', '0.00', false),
        ('-187.50', '122.50', '0.00', '-65.00', '0.00', true) $$,
    'four months of Rita: bonuses; raises and a withdrawal by the day of its approval; a voided and a new one, and bonuses taken back; bonuses again'
);
select is(
    (select t.s -> 'in' from pg_temp.statements('rita') as t offset 2 limit 1),
    '{"referral": "0.00", "pairing": "0.00", "override": "0.00", "returned": "120.00", "total": "120.00", "rows": 1}'::jsonb, 'in, by type'
);
select is(
    (select t.s -> 'out' from pg_temp.statements('rita') as t offset 2 limit 1),
    '{"withdrawals": "200.00", "lowered": "212.50", "total": "412.50", "rows": 3}'::jsonb, 'and out'
);
select is_empty(
    $$ select 1 from pg_temp.statements('rita') as t
       cross join lateral (
           select r.row ->> 'balance_after' as balance,
               coalesce(lag((r.row ->> 'balance_after')::numeric) over (order by r.place), (t.s ->> 'opening')::numeric)
                   + case when (r.row ->> 'in_balance')::boolean then (r.row ->> 'amount')::numeric else 0 end as due
           from jsonb_array_elements(t.s -> 'rows') with ordinality as r (row, place)
       ) as c where c.balance::numeric <> c.due $$,
    'each row''s balance is the one before and its amount, deposits left out'
);
select set_eq(
    $$ select r ->> 'type' as type, r ->> 'amount' as amount, (r ->> 'raised')::boolean as raised from pg_temp.statements('rita') as t, jsonb_array_elements(t.s -> 'rows') as r
       where t.month = (date_trunc('month', now() at time zone 'UTC') - interval '2 months')::date $$,
    $$ values ('referral bonus', '7.50', true), ('pairing bonus', '60.00', true), ('withdrawal', '-120.00', false) $$,
    'a raise says that it is one'
);

-- Parts of a statement put together are the statement.
select act_as('rita');
select is(
    (
        with recursive parts as (
            select public.get_statement((now() at time zone 'UTC' - interval '3 months')::date, 0, 2) as part
            union all
            select public.get_statement((now() at time zone 'UTC' - interval '3 months')::date, (p.part ->> 'next')::integer, 2)
            from parts as p where p.part ->> 'next' is not null
        )

        select jsonb_agg(r) from parts as p, jsonb_array_elements(p.part -> 'rows') as r
    ),
    public.get_statement((now() at time zone 'UTC' - interval '3 months')::date) -> 'rows', 'parts of two put together are the whole'
);
select raises(
    format('select public.get_statement(%L)', d), 400, 'invalid_range', 'There is no statement of this month.', 'no statement of ' || coalesce(d, 'nothing')
)
from (
    values ((date_trunc('month', now() at time zone 'UTC') + interval '1 month')::date::text), (null),
    ((date_trunc('month', now() at time zone 'UTC') - interval '3 months 1 day')::date::text), ('infinity'), ('-infinity')
) as v (d);
select raises(
    format('select public.get_statement(current_date, %s, %s)', a, l), 400, 'invalid_limit', 'A part of a statement holds up to 500 rows.',
    'not after ' || a || ', ' || l || ' rows'
)
from (values ('0', '501'), ('-1', '10'), ('0', '-1'), ('null', '10')) as v (a, l);
select act_as('anonymous');
select throws_ok($$ select public.get_statement(current_date) $$, '42501', null, 'an anonymous client has no statement');
select act_as_owner();

-- A clock that was set back over midnight: the days say what belongs to a period, and they add up.
select pg_temp.at(-3, '20 days');
select join_as('cleo', 'ann');
select join_as('eve', 'cleo');
select join_as('dan', 'cleo');
select complete(n) from unnest(array['cleo', 'eve', 'dan']) as n;
select pg_temp.at(-1, '20 days');
select pays('eve', 100);
select pg_temp.at(-2, '12 days');
select pays('dan', 50);
select set_config('app.demo_clock', '', true);
select results_eq(
    $$ select t.s ->> 'opening', t.s -> 'in' ->> 'total', t.s ->> 'closing' from pg_temp.statements('cleo') as t $$,
    $$ values ('0.00', '0.00', '0.00'), ('0.00', '2.50', '2.50'), ('2.50', '5.00', '7.50'), ('7.50', '0.00', '7.50') $$,
    'statements add up with a clock that was set back'
);
select results_eq(
    $$ select h.item ->> 'balance_after' from pg_temp.shown('cleo', 'bonus') as h order by h.at $$,
    $$ values ('7.50'), ('5.00') $$, 'the history says what the balance was when each was decided'
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
select is(public.list_transactions('{"type": "deposit"}') ->> 'total', (select count(*)::text from transactions where transaction_type = 'deposit'), 'of one type too');
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
