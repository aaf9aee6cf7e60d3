-- What an approval, a refusal and a payment without a package add to the kept figures, to the row.
begin;
\ir ../support/actors.sql
select plan(6);
select family();
create temporary table seen as select coalesce(max(d.id), 0) as last from private.counter_deltas as d;
create function pg_temp.counted() returns table (name text, delta numeric) language plpgsql as $$
begin
    return query select d.name, d.delta from private.counter_deltas as d where d.id > (select last from seen);
    update seen set last = (select max(d.id) from private.counter_deltas as d);
end
$$;
select pays('freya', 500);
select set_eq('select * from pg_temp.counted()', $$ values
    ('pending_deposits', 1::numeric), ('active_profiles', 1), ('package_investment', 500), ('verified_profiles', 1), ('bonuses', 25), ('bonus_rows', 1),
    ('bonus_transactions', 1), ('bonus_volume', 25), ('pending_deposits', -1), ('deposits_approved', 500), ('deposits_approved_count', 1)
$$, 'a first package: the member, the money, the sponsor''s bonus');
select pays('freya', 1000);
select set_eq('select * from pg_temp.counted()', $$ values
    ('pending_deposits', 1::numeric), ('package_investment', 500), ('bonuses', 25), ('bonus_transactions', 1), ('bonus_volume', 25),
    ('pending_deposits', -1), ('deposits_approved', 1000), ('deposits_approved_count', 1)
$$, 'an upgrade: no member more, no bonus row more');
select pays('freya', 12.50);
select set_eq('select * from pg_temp.counted()', $$ values
    ('pending_deposits', 1::numeric), ('pending_deposits', -1), ('deposits_approved', 12.50), ('deposits_approved_count', 1)
$$, 'cash-in: the money alone');
create temporary table claim as select claims_deposit('ask', 100) as id;
grant select on claim to public;
select act_as('elin');
select decide_deposit(id, 'reject', 'No such transfer') from claim;
select act_as_owner();
select set_eq('select * from pg_temp.counted()', $$ values
    ('pending_deposits', 1::numeric), ('pending_deposits', -1), ('deposits_rejected_count', 1)
$$, 'a refusal: no money');
select is((select count(*)::integer from private.counter_deltas where delta = 0), 0, 'nothing is noted of what did not change');
select is_empty($$ select * from private.check_books() where rule = 'I27' $$, 'the kept figures are the figures');
select * from finish();
rollback;
