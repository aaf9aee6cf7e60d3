-- The tree below a member; nobody above, nobody beside.
begin;
\ir ../support/actors.sql
select * from no_plan();

select join_as('root');
select join_as('mara', 'root');
select join_as('leo', 'root');
select join_as(name, 'mara') from unnest(array['erik', 'lena', 'priya', 'ben', 'gustav']) as name;
select join_as('marta', 'erik');
select complete(name) from unnest(array['mara', 'erik', 'lena', 'priya']) as name;
select pays('mara', 500);
select pays('erik', 500);
select pays('lena', 250);
select pays('priya', 50);

create function pg_temp.rows(p_tree jsonb) returns text language sql as $$
    select string_agg(
        concat_ws(' ', i ->> 'position', i ->> 'username', i ->> 'pair_number', i ->> 'pair_state', i ->> 'blocked_by', i ->> 'direct_referrals'),
        ', ' order by (i ->> 'position')::integer
    ) from jsonb_array_elements(p_tree -> 'items') as i
$$;
grant execute on function pg_temp.rows(jsonb) to public;

-- Mara looks at her team.
select act_as('mara');
select is(
    pg_temp.rows(public.get_team_tree()),
    '1 erik 1 paying 1, 2 lena 1 paying 0, 3 priya 2 blocked ben 0, 4 ben 2 blocked ben 0, 5 gustav 3 open 0',
    'children in their positions with the state of their pairs'
);
select is(public.get_team_tree() #>> '{root,username}', 'mara', 'the tree begins with oneself');
select is(
    public.get_team_tree(null, 1, 1) ->> 'next', '2', 'pages are whole pairs, even when asked for one row after an odd place'
);
select is(pg_temp.rows(public.get_team_tree(null, 4)), '5 gustav 3 open 0', 'the last page');
select is(pg_temp.rows(public.get_team_tree(profile_id('erik'))), '1 marta 1 open 0', 'a branch opens');
select is(
    (select string_agg(p ->> 'username', ' > ') from jsonb_array_elements(public.get_team_tree(profile_id('marta')) -> 'path') as p),
    'mara > erik > marta', 'the path begins with oneself, not above'
);
select refuses(
    format('select public.get_team_tree(%L)', profile_id('leo')), 404, 'member_not_found', 'This member is not in your team.',
    'who stands beside does not exist'
);
select refuses(
    format('select public.get_team_tree(%L)', profile_id('root')), 404, 'member_not_found', 'This member is not in your team.', 'nor who stands above'
);
select refuses(
    $$ select public.get_team_tree(gen_random_uuid()) $$, 404, 'member_not_found', 'This member is not in your team.', 'nor who does not exist'
);

-- An administrator sees the whole network.
select act_as('sam');
select is(public.get_team_tree() #>> '{root,display_name}', 'Company', 'members without a sponsor stand under the company');
select is((public.get_team_tree() #>> '{items,0,username}'), 'root', 'the root member is its first child');
select is(
    (select string_agg(p ->> 'username', ' > ') from jsonb_array_elements(public.get_team_tree(profile_id('marta')) -> 'path') as p),
    'root > mara > erik > marta', 'and the path is whole'
);
select refuses(
    $$ select public.get_team_tree(gen_random_uuid()) $$, 404, 'member_not_found', 'This member is not in your team.', 'an unknown member is not the company'
);
select act_as('anonymous');
select throws_ok($$ select public.get_team_tree() $$, '42501', null, 'a visitor is refused');

-- An administrator who was switched off opens no tree
select act_as_owner();
update private.admin_users set is_active = false where id = user_id('sam');
select act_as('sam');
select refuses('select public.get_team_tree(null)', 401, 'session_ended', 'Your session has ended. Sign in again.', 'not even the company''s');
select * from finish();
rollback;
