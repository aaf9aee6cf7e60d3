-- What a screen asks for each row or each figure is planned once a connection, not once a call.
begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
select pays('freya', 500);

create function pg_temp.plan_of(p_query text) returns text language plpgsql as $$
declare
    v_line text;
    v_plan text := '';
begin
    for v_line in execute 'explain (verbose, costs off) ' || p_query loop
        v_plan := v_plan || v_line;
    end loop;
    return v_plan;
end
$$;
select unalike(pg_temp.plan_of('select private.money(t.bonus_amount) from private.totals as t'), '%money(%', 'money is written where it stands, not called');
select unalike(pg_temp.plan_of('select private.percent(t.bonus_amount) from private.totals as t'), '%percent(%', 'so is a percentage');
select is_empty($$ select p.oid::regprocedure from pg_proc as p inner join pg_language as l on p.prolang = l.oid
    where l.lanname = 'sql' and p.proconfig is not null
    and p.oid in (
        'private.counted()'::regprocedure, 'private.counter(text)'::regprocedure, 'private.tree_path(private.profiles)'::regprocedure,
        'private.oldest_pending(jsonb)'::regprocedure, 'private.member_item(private.profiles)'::regprocedure
    ) $$, 'what is called row by row keeps its plan');

select is(private.counter('profiles'), (select count(*) from private.profiles)::numeric, 'a kept figure with what is not folded yet');
select is((select c.value from private.counted() as c where c.name = 'profiles'), private.counter('profiles'), 'in the list too');
select is(
    private.tree_path(p) -> -1, jsonb_build_object('id', p.id, 'username', p.username, 'display_name', p.display_name), 'a path ends with the member'
) from private.profiles as p where p.user_id = user_id('freya');
select is(private.member_item(p) ->> 'available_balance', private.money(t.available_balance), 'a row of the list has the balance')
from private.profiles as p inner join private.totals as t on p.user_id = t.user_id where p.user_id = user_id('freya');

select set_config('request.jwt.claims', json_build_object('sub', gen_random_uuid(), 'role', 'authenticated')::text, true);
set local role authenticated;
select refuses('select public.get_member_dashboard()', 404, 'profile_not_found', 'Failed to load profile data', 'an account without a member has no dashboard');
select * from finish();
rollback;
