-- What administrators do with members: find them, read one in full, change status and notes.
begin;
\ir ../support/actors.sql
select * from no_plan();
savepoint start;
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Status and notes
-- =====================================================================================================================
-- Sam looks after members.
select act_as('sam');
select is(
    update_member(profile_id('freya'), null, 'Called on Monday', null) #>> '{profile,admin_notes}', 'Called on Monday', 'support edits notes without a reason'
);
select raises(
    format($$ select update_member(%L, 'suspended', null, ' ') $$, profile_id('freya')), 400, 'reason_required', 'Give a reason.', 'a status needs one'
);
select is(
    update_member(profile_id('freya'), 'suspended', null, 'Shared password') #>> '{profile,account_status}', 'suspended', 'support suspends'
);
select raises(
    format($$ select update_member(%L, 'disabled', null, 'x') $$, profile_id('ask')),
    403, 'forbidden', 'Only a super admin can disable an account or lift a disable.', 'and does not disable'
);
select raises(format($$ select update_member(%L, 'pending', null, 'x') $$, profile_id('ask')), 403, 'forbidden', 'Only a super admin can set this status.', 'nor set to pending');
select raises(format($$ select update_member(%L, 'gone', null, 'x') $$, profile_id('ask')), 400, 'invalid_input', 'There is no such account status.', 'an unknown status is rejected');
select raises($$ select update_member(gen_random_uuid(), 'active', null, 'x') $$, 404, 'not_found', 'There is no such member.', 'an unknown member is unknown');
select act_as_owner();
select is_empty(format('select 1 from auth.sessions where user_id = %L', user_id('freya')), 'the sign-ins of who is suspended end');
select is((select body from public.notifications where kind = 'account_suspended' and user_id = user_id('freya')), 'Shared password', 'the member reads why');
select is(
    (select payload - 'reason' from private.audit_log where action = 'member.updated' order by id desc limit 1),
    '{"status_before": "active", "status_after": "suspended", "actor_role": "support_admin"}'::jsonb, 'the audit row names both'
);
select is((select account_status from private.profiles where id = profile_id('ask')), 'active', 'what was rejected changed nothing');

-- Olga disables, Sam cannot lift it.
select act_as('olga');
select is(update_member(profile_id('ask'), 'disabled', null, 'Second account') #>> '{profile,account_status}', 'disabled', 'a super admin disables');
select act_as('sam');
select raises(format($$ select update_member(%L, 'active', null, 'x') $$, profile_id('ask')), 403, 'forbidden', 'Only a super admin can disable an account or lift a disable.', 'support does not lift it');
select is(update_member(profile_id('freya'), 'active', null, 'Cleared up') #>> '{profile,account_status}', 'active', 'support reactivates');

-- Members have no such functions.
select act_as('freya');
select throws_ok(format($$ select update_member(%L, 'active', null, 'x') $$, profile_id('freya')), '42501', null, 'a member cannot change one');

select act_as_owner();
delete from auth.users where id = user_id('buri');
select act_as('olga');
select raises(format($$ select update_member(%L, 'active', null, 'x') $$, profile_id('buri')), 409, 'account_closed', 'This account is closed.', 'a closed account stays closed');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A row of the list
-- =====================================================================================================================
select pays('freya', 500);
select is(private.member_item(p) ->> 'available_balance', private.money(t.available_balance), 'a row of the list has the balance')
from private.profiles as p inner join private.totals as t on p.user_id = t.user_id where p.user_id = user_id('freya');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The totals of the list, kept or counted, against the rows themselves
-- =====================================================================================================================
update private.profiles set account_status = 'suspended' where user_id = user_id('ask');
update private.profiles set account_status = 'disabled' where user_id = user_id('buri');
update private.profiles set trc20_wallet_address = null where user_id in (user_id('buri'), user_id('loke'));
create temporary table members as select p.account_status::text as status, p.account_verified as verified from private.profiles as p;
grant select on members to public;

select act_as('olga');
select is(
    (list_members(jsonb_build_object('status', f.status, 'verified', f.verified)) ->> 'total')::bigint,
    (select count(*) from members as m where m.status = coalesce(f.status, m.status) and m.verified = coalesce(f.verified, m.verified)),
    format('%s members, verified: %s', coalesce(f.status, 'all'), coalesce(f.verified::text, 'whoever'))
)
from (
    values
    (null, null), ('active', null), ('suspended', null), ('pending', null), (null, true), (null, false), ('active', true), ('active', false)
) as f (status, verified);
rollback to savepoint start;

-- =====================================================================================================================
-- Finding and reading members
-- =====================================================================================================================
select join_as('root');
select join_as(name, 'root') from unnest(array['ann', 'ben', 'cleo']) as name;
select complete(name) from unnest(array['root', 'ann', 'ben']) as name;
select pays('root', 500);
select pays('ann', 250);
select pays('ben', 100);
update private.profiles set account_status = 'suspended', admin_notes = 'Asked twice' where user_id = user_id('cleo');

create function pg_temp.names(p_list jsonb) returns text language sql as $$
    select string_agg(i.item ->> 'username', ' ' order by i.place)
    from jsonb_array_elements(p_list -> 'items') with ordinality as i (item, place)
$$;
grant execute on function pg_temp.names(jsonb) to public;

select act_as('sam');
select is(pg_temp.names(public.list_members()), 'cleo ben ann root', 'newest first');
select is(
    public.list_members() -> 'cards',
    '{"total_users": 4, "active_users": 3, "verified_users": 3, "total_investment": "850.00"}'::jsonb, 'the four cards'
);
select is(pg_temp.names(public.list_members('{"sort": "package_value.desc", "pageSize": 2}')), 'root ann', 'sorted by package');
select is(pg_temp.names(public.list_members('{"sort": "package_value.asc", "search": "people.test"}')), 'cleo ben ann root', 'also what is found');
select is(pg_temp.names(public.list_members('{"status": "suspended"}')), 'cleo', 'filtered by status');
select is(public.list_members('{"package": "100"}') -> 'total', '1'::jsonb, 'by package, with the total');
select is(pg_temp.names(public.list_members('{"package": "100.00"}')), 'ben', 'however it is written');
select is(pg_temp.names(public.list_members('{"package": "all", "sort": "package_value.desc", "verified": "true"}')), 'root ann ben', 'all packages, sorted and verified');
select is(pg_temp.names(public.list_members('{"package": "99999999.99"}')), null, 'nobody has a package that there is not');
select is(pg_temp.names(public.list_members('{"package": "100", "verified": "true"}')), 'ben', 'by package and verification');
select is(public.list_members('{"search": "PEOPLE.TEST", "verified": "false"}') ->> 'total', '1', 'searched, with the total of what is found');
select is(public.list_members('{"search": "ann"}') #>> '{items,0,email}', 'ann@people.test', 'in full, for administrators');
select is(
    public.get_member(profile_id('root')) -> 'statistics',
    '{"total_bonuses": "157.50", "total_deposits": "500.00", "total_withdrawals": "0.00", "direct_referrals": 3, "net_balance": "657.50"}'::jsonb,
    'one member with statistics: 5% of 250 and 100, 40% of their pair'
);
select is(public.get_member(profile_id('cleo')) ->> 'admin_notes', 'Asked twice', 'and the notes');
select raises($$ select public.get_member(gen_random_uuid()) $$, 404, 'not_found', 'There is no such member.', 'an unknown one is not there');
select raises($$ select public.list_members('{"package": "1 or 1=1"}') $$, 400, 'invalid_filter', 'There is no such filter.', 'a package is a number');
select act_as_owner();
select join_as('dora', 'root');
select act_as('sam');
select is(
    (
        select string_agg(pg_temp.names(public.list_members(jsonb_build_object('package', 0, 'page', page, 'pageSize', 1, 'sort', sort))), ' ' order by page)
        from generate_series(1, 3) as page
    ), names, 'each of several with a package, ' || sort
) from (values ('created_at.desc', 'dora cleo'), ('created_at.asc', 'cleo dora'), ('package_value.desc', 'dora cleo'), ('username.asc', 'cleo dora')) as s (sort, names);
select act_as('ann');
select throws_ok($$ select public.list_members() $$, '42501', null, 'a member cannot list members');
select throws_ok($$ select public.get_member(actors.profile_id('ann')) $$, '42501', null, 'nor read a file about anybody');
select * from finish();
rollback;
