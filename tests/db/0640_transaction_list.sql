-- The journal as administrators read it, its totals against the rows themselves.
begin;
\ir ../support/actors.sql
select plan(11);

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
    'an empty body answers the rows, not the first page'
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
select refuses($$ select public.list_transactions('{"type": "gift"}') $$, 400, 'invalid_filter', 'There is no such filter.', 'types are known');
select act_as('ann');
select throws_ok($$ select public.list_transactions() $$, '42501', null, 'a member is refused');
select act_as('anonymous');
select throws_ok($$ select public.list_transactions() $$, '42501', null, 'a visitor is refused');

select * from finish();
rollback;
