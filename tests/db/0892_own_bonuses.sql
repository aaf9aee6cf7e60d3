-- The policy of bonuses, written for the planner, shows a member what the member earned and what the member caused.
begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
select pays('freya', 500); select pays('ask', 500); select pays('embla', 500);

create temporary table seen as
select p.user_id, array(select b.id from public.bonuses as b where p.user_id in (b.user_id, b.source_user_id) order by 1) as ids
from private.profiles as p;
grant select on seen to authenticated;

select act_as('freya');
select is((select array_agg(b.id order by b.id) from public.bonuses as b), (select s.ids from seen as s where s.user_id = auth.uid()), 'Freya sees what she earned and what she caused');
select act_as('embla');
select is((select array_agg(b.id order by b.id) from public.bonuses as b), (select s.ids from seen as s where s.user_id = auth.uid()), 'Embla sees hers');
select act_as('loke');
select is((select coalesce(array_agg(b.id order by b.id), '{}') from public.bonuses as b), (select s.ids from seen as s where s.user_id = auth.uid()), 'Loke sees none of theirs');
select set_config('request.jwt.claims', '{}', true);
select is_empty($$ select * from public.bonuses $$, 'and who is nobody sees nothing');
select * from finish();
rollback;
