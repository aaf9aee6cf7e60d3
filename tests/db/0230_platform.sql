begin;
\ir ../support/actors.sql
select * from no_plan();
select act_as('anonymous');
select is(get_platform() -> 'packages' -> 1, '{"value": "100.00", "label": "Basic", "rate": "20"}', 'a visitor reads the packages');
select is(get_platform() -> 'rates', '{"referral": "5", "override": "1", "reentry": "10"}', 'and the rates');
select is(get_platform() -> 'limits', '{"min_withdrawal": "100.00", "min_deposit": "1.00", "max_amount": "10000000.00", "receipt_max_bytes": 5242880}', 'and the limits');
select throws_ok('select * from get_admin_dashboard_stats()', '42501', null, 'but no figures');
select act_as('sam');
select is((select total_users - active_users from get_admin_dashboard_stats()), (select inactive_users from get_admin_dashboard_stats()), 'any administrator reads the totals');
select act_as_owner();
create temporary table before as select value + 250 as value from private.counted() where name = 'package_investment';
grant select on before to public;
select family(); select pays('freya', 250);
select act_as('sam');
select is((select total_package_investment from get_admin_dashboard_stats()), (select value from before), 'which follow what happens');
select * from finish();
rollback;
