-- What the tree says of everybody below its root, folded or not yet, against the tree itself.
begin;
\ir ../support/actors.sql
select plan(7);
select join_as('root');
select join_as('mara', 'root');
select join_as('leo', 'root');
select join_as(name, 'mara') from unnest(array['erik', 'lena']) as name;
select join_as('marta', 'erik');
select complete(name) from unnest(array['mara', 'erik', 'marta', 'leo']) as name;
select pays('mara', 500);
select pays('erik', 250);
select pays('leo', 1000);

create function pg_temp.totals(p_tree jsonb) returns text language sql as $$
    select (p_tree #>> '{root,team_count}') || ' members, $' || (p_tree #>> '{root,team_packages}')
$$;
grant execute on function pg_temp.totals(jsonb) to public;

select act_as('mara');
select is(pg_temp.totals(public.get_team_tree()), '3 members, $250.00', 'Mara sees who stands below her, not herself, not Leo');
select is(pg_temp.totals(public.get_team_tree(profile_id('erik'))), '1 members, $0.00', 'a branch has its own totals');
select is(pg_temp.totals(public.get_team_tree(profile_id('lena'))), '0 members, $0.00', 'and a member without a team none');

select act_as_owner();
select jobs.fold_networks();
select pays('marta', 50);
select act_as('mara');
select is(pg_temp.totals(public.get_team_tree()), '3 members, $300.00', 'after a fold, with what happened since');
select is(
    (public.get_team_tree() #>> '{root,team_count}')::bigint, (public.get_network_summary() ->> 'team_count')::bigint,
    'the network summary counts the same'
);

select act_as('sam');
select is(pg_temp.totals(public.get_team_tree()), '6 members, $1800.00', 'an administrator sees everybody under the company');
select act_as_owner();
delete from private.network_changes;
select jobs.fold_networks();
select act_as('sam');
select is(pg_temp.totals(public.get_team_tree()), '6 members, $1750.00', 'what was not folded came from the changes');
select * from finish();
rollback;
