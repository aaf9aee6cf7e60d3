-- Finding somebody in one's own team, and nobody else.
begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
update private.profiles set display_name = 'Ask Borson' where user_id = user_id('ask');
update private.profiles set display_name = '100% Buri' where user_id = user_id('buri');
select jobs.fold_networks();

create function actors.found(p_search text) returns text language sql stable as $$
    select string_agg(e.value ->> 'username', ' ' order by e.n) from jsonb_array_elements(public.search_team(p_search)) with ordinality as e (value, n)
$$;
grant execute on function actors.found(text) to public;
select act_as('freya');
select is(found('embla'), 'embla', 'a member of the team by name');
select is(found('BORS'), 'ask', 'by display name, whatever the spelling');
select is(found('as'), 'ask', 'two letters are enough');
select is(found('freya'), 'freya', 'oneself');
select is(found('ymir'), null, 'the sponsor stands above the team');
select is(found('loke'), null, 'strangers do not exist');
select is(found('people.test'), null, 'addresses are not searched');
select is(found('100%'), 'buri', 'a per cent sign is one');
select is(found('a_k'), null, 'and a line is no joker');
select is((search_team('embla') #> '{0}') - 'id', '{"username": "embla", "display_name": "Embla"}'::jsonb, 'with what the list shows');
select refuses($$ select search_team('a') $$, 400, 'invalid_filter', 'Type 2 to 80 characters.', 'one letter is none');
select refuses($$ select search_team(null) $$, 400, 'invalid_filter', null, 'nothing neither');
select refuses(format($$ select search_team(%L) $$, repeat('x', 81)), 400, 'invalid_filter', null, 'nor a novel');

-- A large team with a frequent text is read in the order of joining.
select act_as_owner();
update private.networks set members = 60000 where no = position_no('freya');
select act_as('freya');
select is(found('as'), 'ask', 'the same answer the other way');
select is(found('ymir') is null and found('lo') is null, true, 'and nobody else either');

select act_as('anonymous');
select throws_ok($$ select public.search_team('ask') $$, '42501', null, 'a visitor finds nobody');
select act_as('sam');
select throws_ok($$ select public.search_team('ask') $$, '42501', null, 'administrators have their own list');
select * from finish();
rollback;
