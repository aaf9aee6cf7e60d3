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
    (select payload - array['reason', 'state'] from private.audit_log where action = 'member.updated' order by id desc limit 1),
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

-- =====================================================================================================================
-- What was written past the product is set back to what the audit log says
-- =====================================================================================================================
rollback to savepoint start;
select fixture_members();
select administrator('orm', 'super_admin');
create function pg_temp.restored() returns text language sql as $$
    select concat_ws(' ', p.trc20_wallet_address, p.email, p.account_status, p.hold_until, p.hold_reason) from private.profiles as p where p.user_id = user_id('freya')
$$;
create temporary table right_state as select pg_temp.restored() as text;
create function pg_temp.restores(p_change text, p_description text) returns setof text language plpgsql as $$
begin
    execute p_change;
    return next is((select string_agg(v.rule, ' ') from private.check_ledger() as v), 'I51', p_description || ' is found');
    perform act_as('olga');
    return next is(restore_member(profile_id('freya'), 'Written past the product') ->> 'success', 'true', 'a super admin sets it back');
    perform act_as_owner();
    return next is(pg_temp.restored(), (select r.text from right_state as r), 'to what it was');
    return next is_empty('select * from private.check_ledger()', 'and the ledger checks pass');
end
$$;
select pg_temp.restores($$ update private.profiles set trc20_wallet_address = 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8' where user_id = user_id('freya') $$, 'another wallet');
select pg_temp.restores($$ update private.profiles set email = 'x@people.test' where user_id = user_id('freya') $$, 'another email');
select pg_temp.restores($$ update private.profiles set account_status = 'suspended' where user_id = user_id('freya') $$, 'another status');
select pg_temp.restores($$ update private.profiles set hold_until = now(), hold_reason = 'email' where user_id = user_id('freya') $$, 'a hold');
select audited('member.restored', 'the way back');
set local session_replication_role = replica;
update private.profiles set revision = 0 where user_id = user_id('freya');
set local session_replication_role = origin;
select pg_temp.restores('select 1', 'a count that was set back');
savepoint lost;
set local session_replication_role = replica;
update auth.users set email = 'x@people.test' where id = user_id('freya');
update private.profiles set email = 'x@people.test' where user_id = user_id('freya');
set local session_replication_role = origin;
select act_as('olga');
select raises(
    format($$ select restore_member(%L, 'x') $$, profile_id('freya')), 409, 'email_unknown',
    'Neither the profile nor the account to sign in with has the email that the audit log says. Ask the member which one it was and change the account''s email to it first.',
    'an address that stands nowhere any more is not made up'
);
select act_as_owner();
update auth.users set email = 'freya@people.test' where id = user_id('freya');
select is_empty('select * from private.check_ledger()', 'the account''s own change of it is the way back');
rollback to savepoint lost;
set local session_replication_role = replica;
update auth.users set email = 'x@people.test' where id = user_id('freya');
set local session_replication_role = origin;
select act_as('olga');
select raises(
    format($$ select restore_member(%L, 'x') $$, profile_id('freya')), 409, 'email_unknown',
    'The account to sign in with has another email than the audit log says. Ask the member which one is right and change the account''s email to it first.',
    'nor is the account to sign in with'
);
select act_as_owner();
rollback to savepoint lost;
select act_as('sam');
select raises(format($$ select restore_member(%L, 'x') $$, profile_id('freya')), 403, 'forbidden', 'A support admin cannot do this.', 'support restores nobody');
select act_as('olga');
select raises(format($$ select restore_member(%L, ' ') $$, profile_id('freya')), 400, 'invalid_reason', 'Give a reason of at most 1,000 characters.', 'not without a reason');
select raises($$ select restore_member(gen_random_uuid(), 'x') $$, 404, 'not_found', 'The audit log says nothing of such a member.', 'nor an unknown member');
select act_as_owner();
update private.admin_session_activity set started_at = now() - interval '11 minutes' where session_token in (select session_token from public.admin_sessions where admin_id = user_id('olga'));
select act_as('olga');
select raises(
    format($$ select restore_member(%L, 'x') $$, profile_id('freya')), 403, 'reauthentication_needed',
    'Sign in again to restore what the audit log says of a member: your last sign-in is more than ten minutes old.', 'nor with an old sign-in'
);
select act_as_owner();
select is(pg_temp.restored(), (select r.text from right_state as r), 'what was rejected changed nothing');
select * from finish();
rollback;
