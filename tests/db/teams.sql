-- The members below a member: pairs, the tree and its totals, and searching it; no upline, no sibling.
begin;
\ir ../support/actors.sql
select * from no_plan();
savepoint start;
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Searching one's own team, and no other
-- =====================================================================================================================
update private.profiles set display_name = 'Ask Borson' where user_id = user_id('ask');
update private.profiles set display_name = '100% Buri' where user_id = user_id('buri');
select jobs.roll_up_networks();

create function actors.found(p_search text) returns text language sql stable as $$
    select string_agg(e.value ->> 'username', ' ' order by e.n) from jsonb_array_elements(public.search_team(p_search)) with ordinality as e (value, n)
$$;
grant execute on function actors.found(text) to public;
select act_as('freya');
select is(found('embla'), 'embla', 'a member of the team by name');
select is(found('BORS'), 'ask', 'by display name, whatever the spelling');
select is(found('as'), 'ask', 'two letters are enough');
select is(found('freya'), 'freya', 'oneself');
select is(found('ymir'), null, 'the referrer stands above the team');
select is(found('loke'), null, 'strangers do not exist');
select is(found('people.test'), null, 'addresses are not searched');
select is(found('100%'), 'buri', 'a per cent sign is one');
select is(found('a_k'), null, 'and a line is no joker');
select is((search_team('embla') #> '{0}') - 'id', '{"username": "embla", "display_name": "Embla"}'::jsonb, 'with what the list shows');
select raises($$ select search_team('a') $$, 400, 'invalid_filter', 'Type 2 to 80 characters.', 'one letter is none');
select raises($$ select search_team(null) $$, 400, 'invalid_filter', null, 'nothing neither');
select raises(format($$ select search_team(%L) $$, repeat('x', 81)), 400, 'invalid_filter', null, 'nor a novel');

-- A large team with a frequent text is read in the order of joining.
select act_as_owner();
update private.networks set members = 60000 where no = position_no('freya');
select act_as('freya');
select is(found('as'), 'ask', 'the same response the other way');
select is(found('ymir') is null and found('lo') is null, true, 'and no other member either');

select act_as('anonymous');
select throws_ok($$ select public.search_team('ask') $$, '42501', null, 'an anonymous client finds no member');
select act_as('sam');
select throws_ok($$ select public.search_team('ask') $$, '42501', null, 'administrators have their own list');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Pairs are positions, and say why they wait
-- =====================================================================================================================
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
select is(public.get_pairings() -> 'items', '[]'::jsonb, 'no downline, no pairs');
select act_as('anonymous');
select throws_ok($$ select public.get_pairings() $$, '42501', null, 'an anonymous client is rejected');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The path to a member
-- =====================================================================================================================
select is(
    private.tree_path(p) -> -1, jsonb_build_object('id', p.id, 'username', p.username, 'display_name', p.display_name), 'a path ends with the member'
) from private.profiles as p where p.user_id = user_id('freya');
rollback to savepoint start;

-- =====================================================================================================================
-- The tree below a member; no upline, no sibling
-- =====================================================================================================================
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
select raises(
    format('select public.get_team_tree(%L)', profile_id('leo')), 404, 'member_not_found', 'This member is not in your team.',
    'who stands beside does not exist'
);
select raises(
    format('select public.get_team_tree(%L)', profile_id('root')), 404, 'member_not_found', 'This member is not in your team.', 'nor who stands above'
);
select raises(
    $$ select public.get_team_tree(gen_random_uuid()) $$, 404, 'member_not_found', 'This member is not in your team.', 'nor who does not exist'
);

-- An administrator sees the whole network.
select act_as('sam');
select is(public.get_team_tree() #>> '{root,display_name}', 'Company', 'members without a referrer stand under the company');
select is((public.get_team_tree() #>> '{items,0,username}'), 'root', 'the root member is its first child');
select is(
    (select string_agg(p ->> 'username', ' > ') from jsonb_array_elements(public.get_team_tree(profile_id('marta')) -> 'path') as p),
    'root > mara > erik > marta', 'and the path is whole'
);
select raises(
    $$ select public.get_team_tree(gen_random_uuid()) $$, 404, 'member_not_found', 'This member is not in your team.', 'an unknown member is not the company'
);
select act_as('anonymous');
select throws_ok($$ select public.get_team_tree() $$, '42501', null, 'an anonymous client is rejected');

-- An administrator who was switched off opens no tree
select act_as_owner();
update private.admin_users set is_active = false where id = user_id('sam');
select act_as('sam');
select raises('select public.get_team_tree(null)', 401, 'session_ended', 'Your session has ended. Sign in again.', 'not even the company''s');
rollback to savepoint start;

-- =====================================================================================================================
-- What the tree says of the downline of its root, rolled up or not yet, against the tree itself
-- =====================================================================================================================
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
select jobs.roll_up_networks();
select pays('marta', 50);
select act_as('mara');
select is(pg_temp.totals(public.get_team_tree()), '3 members, $300.00', 'after a roll-up, with what happened since');
select is(
    (public.get_team_tree() #>> '{root,team_count}')::bigint, (public.get_network_summary() ->> 'team_count')::bigint,
    'the network summary counts the same'
);

select act_as('sam');
select is(pg_temp.totals(public.get_team_tree()), '6 members, $1800.00', 'an administrator sees all members under the company');
select act_as_owner();
delete from private.network_deltas;
select jobs.roll_up_networks();
select act_as('sam');
select is(pg_temp.totals(public.get_team_tree()), '6 members, $1750.00', 'what was not rolled up came from the changes');
select * from finish();
rollback;
