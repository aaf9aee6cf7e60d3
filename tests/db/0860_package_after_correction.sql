begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
select administrator('orm', 'super_admin');
create temporary table things as
select pays('embla', 500) as package, pays('embla', 7) as cash_in, null::uuid as upgrade;
grant all on things to public;

create function actors.corrects(p_kind text, p_target uuid, p_value numeric default null) returns void language plpgsql as $$
declare
    v_id uuid;
begin
    perform act_as('olga');
    v_id := propose_correction(p_kind, p_target, p_value, 'test') #>> '{correction,id}';
    perform act_as('orm');
    perform confirm_correction(v_id);
    perform act_as_owner();
end
$$;
create function actors.package() returns numeric language sql as $$
    select package_value::numeric from private.profiles where user_id = user_id('embla')
$$;

-- A super admin lowers embla's package from 500 to 100
select actors.corrects('set_package', profile_id('embla'), 100);
select is(actors.package(), 100.0, 'a correction sets the package');
select actors.corrects('void_deposit', cash_in) from things;
select is(actors.package(), 100.0, 'voiding another deposit does not bring the old package back');

-- She upgrades afterwards
update things set upgrade = pays('embla', 250);
select is(actors.package(), 250.0, 'an approval after the correction raises it');
select actors.corrects('void_deposit', upgrade) from things;
select is(actors.package(), 100.0, 'voiding that one leaves what the correction set');
select actors.corrects('void_deposit', package) from things;
select is(actors.package(), 100.0, 'and so does voiding the deposit that the correction replaced');
select is_empty($$ select * from private.wrong_bonuses $$, 'the computation agrees');
select is_empty($$ select * from private.check_books() where rule <> 'I20' $$, 'the books agree');
select * from finish();
rollback;
