-- All bonuses are computed and compared from indexes alone.
begin;
\ir ../support/actors.sql
select plan(6);
select family();
select pays('freya', 500); select pays('ask', 1000); select pays('embla', 100);
create function pg_temp.nodes(p_query text) returns setof text language plpgsql as $$
declare
    v_line text;
begin
    for v_line in execute 'explain (costs off) ' || p_query loop
        return next v_line;
    end loop;
end
$$;
-- As for a million rows that vacuum has seen, in indexes without what other tests took back: a few new rows would
-- rather be read from the table.
reindex table private.positions;
reindex table public.bonuses;
update pg_class set reltuples = 1000000, relpages = 20000, relallvisible = 20000
where oid in ('private.positions'::regclass, 'public.bonuses'::regclass);
set local enable_seqscan = off;
set local enable_hashjoin = off;
set local enable_nestloop = off;
select is_empty(
    $$ select n from pg_temp.nodes('select * from private.wrong_bonuses') as n where n ~ '(Seq|Index) Scan.* on (positions|bonuses)' $$,
    'a comparison reads members and bonuses in no table'
);
select isnt_empty(
    $$ select n from pg_temp.nodes('select * from private.due_pairings') as n where n ~ 'Index Only Scan using positions_owner_idx' $$,
    'the owner of a pair comes from the index'
);
select is_empty(
    $$ select n from pg_temp.nodes('select * from private.pairs') as n where n ~ 'Materialize' $$,
    'the two sides of the pairs are merged without keeping rows'
);
select is(private.referral_percent(), 5, 'five per cent of a referral');
select is(private.override_percent(), 1, 'one per cent of a pair');
select is(
    (select b.reentry_amount from public.bonuses as b where b.bonus_type = 'pairing' and b.user_id = user_id('freya'))::numeric,
    44.00, 'ten per cent of 40% of 1,100 re-enter'
);
select * from finish();
rollback;
