-- Pairs are positions, and say why they wait.
begin;
\ir ../support/actors.sql
select plan(7);

select join_as('root');
select join_as('mara', 'root');
select join_as(name, 'mara') from unnest(array['erik', 'lena', 'priya', 'ben', 'gustav']) as name;
select complete(name) from unnest(array['mara', 'erik', 'lena', 'priya']) as name;
select pays('erik', 500);
select pays('lena', 250);
select pays('priya', 50);

create function pg_temp.pairs() returns text language sql as $$
    select string_agg(
        concat_ws(' ', p ->> 'pair_number', p #>> '{left_child,username}', p #>> '{right_child,username}', p ->> 'pair_volume',
            p ->> 'rate', p ->> 'user_bonus', p ->> 'state', p ->> 'state_text'), E'\n' order by (p ->> 'pair_number')::integer
    ) from jsonb_array_elements(public.get_pairings() -> 'items') as p
$$;
grant execute on function pg_temp.pairs() to public;

select act_as('mara');
select is(
    pg_temp.pairs(),
    E'1 erik lena 750.00 0.00 0.00 no_rate Your rate is 0% without a package\n'
    '2 priya ben 50.00 0.00 0.00 blocked Waiting for ben to fund a package\n'
    '3 gustav 0.00 0.00 open Waiting for a second referral',
    'without a package of her own no pair pays'
);
select pays('mara', 500);
select act_as('mara');
select is(
    pg_temp.pairs(),
    E'1 erik lena 750.00 40.00 300.00 paying Paying\n'
    '2 priya ben 50.00 40.00 0.00 blocked Waiting for ben to fund a package\n'
    '3 gustav 40.00 0.00 open Waiting for a second referral',
    'with one, pairs of two funded members pay'
);
select is(
    public.get_pairings() -> 'totals', '{"total_volume": "750.00", "total_user_bonus": "300.00", "paying_pairs": 1}'::jsonb,
    'totals are of the paying pairs'
);
select is(
    (select string_agg(p ->> 'pair_number', ',') from jsonb_array_elements(public.get_pairings(1, 1) -> 'items') as p), '2', 'page by pair'
);
select is(public.get_pairings(1, 1) -> 'next', '2'::jsonb, 'and on');
select act_as('ben');
select is(public.get_pairings() -> 'items', '[]'::jsonb, 'nobody below, no pairs');
select act_as('anonymous');
select throws_ok($$ select public.get_pairings() $$, '42501', null, 'a visitor is refused');

select * from finish();
rollback;
