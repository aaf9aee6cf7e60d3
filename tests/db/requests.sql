-- What deposits and withdrawals share: a member takes a waiting request back, and only the own ones.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- A member takes a request back
-- =====================================================================================================================
create temporary table requests (name text primary key, id uuid);
grant all on requests to public;
create function actors.id_of(p_name text) returns uuid language sql stable as $$ select r.id from requests as r where r.name = p_name $$;
grant execute on all functions in schema actors to public;
insert into requests values ('first', pays('freya', 500)), ('all', gen_random_uuid()), ('later', gen_random_uuid());
select pays('ask', 50); select pays('embla', 1000);
select act_as('freya');
insert into withdrawals (id, user_id, amount, wallet_address)
select id, auth.uid(), case name when 'all' then 200 else 100 end, wallets.of('freya') from requests where name in ('all', 'later');
select act_as('elin');
select decide_withdrawal(id_of('all'), 'approve');

select act_as('ask');
select raises(format('select cancel_request(%L)', id_of('later')), 404, 'not_found', 'There is no such request of yours.', 'a member cannot cancel for another');
select act_as('freya');
select is(cancel_request(id_of('later')), '{"success": true}', 'a member takes back a request');
select is(cancel_request(id_of('later')) ->> 'already', 'true', 'twice is no error');
select raises(format('select cancel_request(%L)', id_of('all')), 409, 'already_decided', 'Already approved just now.', 'a decided one stays');
select is((select admin_notes from withdrawals where id = id_of('later')), 'Cancelled by the member', 'it says so');
select act_as('elin');
select raises(format('select decide_withdrawal(%L, %L)', id_of('later'), 'approve'), 409, 'already_decided', 'Already cancelled by the member just now.', 'and cannot be decided any more');

-- A deposit is taken back like a withdrawal
select act_as_owner();
insert into requests values ('back', claims_deposit('loke', 50));
select act_as('loke');
select is(cancel_request(id_of('back')), '{"success": true}', 'a member takes back a deposit');
select act_as_owner();
select results_eq($$ select status::text, admin_notes from public.deposits where id = id_of('back') $$, $$ values ('rejected', 'Cancelled by the member') $$, 'which counts as rejected');
insert into requests values ('stuck', claims_deposit('loke', 50));
update private.profiles set account_status = 'suspended' where user_id = user_id('loke');
select act_as('loke');
select raises(format('select cancel_request(%L)', id_of('stuck')), 403, 'account_suspended', 'Your account has been suspended. Please contact support for assistance.', 'a suspended member takes nothing back');

-- Whose request, and which
select act_as('ask');
select raises(format('select cancel_request(%L)', id_of('stuck')), 404, 'not_found', 'There is no such request of yours.', 'a member cannot cancel the deposit of another');
select act_as('freya');
select raises(format('select cancel_request(%L)', id_of('first')), 409, 'already_decided', 'Already approved just now.', 'a decided deposit stays');
select act_as_owner();
select audited(a, 'every one taken back') from unnest(array['deposit.cancelled', 'withdrawal.cancelled']) as a;
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- What the admin lists search in
-- =====================================================================================================================
create temporary table searched as select claims_deposit('loke', 50) as id;
grant select on searched to public;
select results_eq(
    $$ select t.text from private.request_texts as t inner join searched as s on t.request_id = s.id $$,
    $$ select lower(d.reference_number) from public.deposits as d inner join searched as s on d.id = s.id $$, 'a deposit is found by its reference'
);
select pays('freya', 500); select pays('ask', 50); select pays('embla', 1000);
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 100, wallets.of('freya'));
select act_as('elin');
select is(list_withdrawals(jsonb_build_object('search', upper(substr(wallets.of('freya'), 5, 8)))) #>> '{items,0,username}', 'freya', 'a withdrawal is found by its address, in any case');
select is(list_withdrawals('{"search": "9J7XAB4", "status": "approved"}') ->> 'total', '0', 'only among those of the status');
select is(list_deposits('{"search": "9J7XAB4"}') ->> 'total', '0', 'and not among deposits');
select act_as_owner();
-- The journal has no index for the status that a decision changes: pending and failed rows are found by their requests.
create function pg_temp.listed(p_status text) returns setof uuid language sql as $$
    select (i.item ->> 'id')::uuid
    from jsonb_array_elements(list_transactions(jsonb_build_object('status', p_status)) -> 'items') with ordinality as i (item, place) order by i.place
$$;
grant execute on function pg_temp.listed(text) to public;
create temporary table waiting as select t.* from public.transactions as t where t.status = 'pending' order by t.created_at desc, t.id desc;
grant select on waiting to public;
select is((select array_agg(distinct transaction_type::text order by transaction_type::text) from waiting), '{deposit,withdrawal}', 'both wait');
select act_as('elin');
select results_eq($$ select * from pg_temp.listed('pending') $$, $$ select id from waiting $$, 'they are listed, newest first');
select is((list_transactions('{"status": "pending"}') ->> 'total')::bigint, (select count(*) from waiting), 'with their total');
select is_empty($$ select * from pg_temp.listed('failed') $$, 'nothing has failed');
select decide_deposit(reference_id, 'reject') from waiting where transaction_type = 'deposit';
select decide_withdrawal(reference_id, 'reject') from waiting where transaction_type = 'withdrawal';
select results_eq($$ select * from pg_temp.listed('failed') $$, $$ select id from waiting $$, 'rejected they are listed as failed');
select is_empty($$ select * from pg_temp.listed('pending') $$, 'and wait no more');
select act_as_owner();
select raises($$ update private.request_texts set text = 'x' $$, 403, 'append_only', 'Rows of request_texts are kept as they are.', 'what is searched is not changed');
select raises($$ delete from private.request_texts $$, 403, 'append_only', 'Rows of request_texts are kept as they are.', 'or deleted');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- What has changed since a list was read
-- =====================================================================================================================
create temporary table listed as select n as name, claims_deposit(n, 50) as id from unnest(array['ask', 'embla']) as n;
grant select on listed to public;
create function actors.changes() returns jsonb language sql as $$ select get_request_changes('deposits', array(select l.id from listed as l)) $$;
grant execute on function actors.changes() to public;
select act_as('sam');
select is(changes() -> 'decided', '[]', 'nothing yet');
select is(changes() -> 'counts', list_deposits() -> 'counts', 'as many as the list says');
select act_as('elin');
select decide_deposit(id, 'reject', 'No such transfer') from listed where name = 'ask';
select act_as('sam');
select is(jsonb_array_length(changes() -> 'decided'), 1, 'what was decided');
select is(
    (changes() #> '{decided,0}') - array['decided_at', 'decided_by'],
    jsonb_build_object(
        'id', (select id from listed where name = 'ask'), 'status', 'rejected', 'admin_notes', 'No such transfer', 'voided_at', null,
        'received_amount', null, 'payout_reference', null, 'decided_by_name', 'Elin'
    ), 'how, why and by whom'
);
select is(get_request_changes('withdrawals', array(select l.id from listed as l)) -> 'decided', '[]', 'a deposit is no withdrawal');
select raises($$ select get_request_changes('bots', '{}') $$, 400, 'invalid_filter', 'Name deposits or withdrawals, and at most 500 of them.', 'one of the two');
select raises(
    $$ select get_request_changes('deposits', array_fill('00000000-0000-0000-0000-000000000000'::uuid, array[501])) $$, 400, 'invalid_filter',
    'Name deposits or withdrawals, and at most 500 of them.', 'a page of them'
);
select act_as('ask');
select throws_ok($$ select get_request_changes('deposits', '{}') $$, '42501', null, 'no member asks');
select act_as_owner();
update private.admin_users set is_active = false where id = user_id('sam');
select act_as('sam');
select raises($$ select get_request_changes('deposits', '{}') $$, 401, 'session_ended', 'Your session has ended. Sign in again.', 'nor an administrator who was deactivated');
select act_as_owner();
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Whose account allows it
-- =====================================================================================================================
create temporary table asked as select n as name, claims_deposit(n, 50) as id from unnest(array['ask', 'embla', 'buri', 'loke']) as n;
grant select on asked to public;
create function actors.takes_back(p_name text) returns text language sql as $$
    select format('select cancel_request(%L)', (select a.id from asked as a where a.name = p_name))
$$;
grant execute on function actors.takes_back(text) to public;
update private.profiles set account_status = 'pending' where user_id = user_id('ask');
update private.profiles set account_status = 'suspended' where user_id = user_id('embla');
update private.profiles set account_status = 'disabled' where user_id = user_id('buri');

select act_as('ask');
select is(
    (select h -> 'can_cancel' from jsonb_array_elements(get_transaction_history() -> 'items') as h), 'true', 'a pending member is offered to take a request back'
);
select lives_ok(takes_back('ask'), 'and takes it back');
select raises(takes_back('loke'), 404, 'not_found', 'There is no such request of yours.', 'but not another member''s');
select act_as('embla');
select raises(
    takes_back('embla'), 403, 'account_suspended', 'Your account has been suspended. Please contact support for assistance.', 'a suspended one does not'
);
select act_as('buri');
select raises(
    takes_back('buri'), 403, 'account_disabled', 'Your account has been disabled. Please contact support for assistance.', 'nor a disabled one'
);
select act_as_owner();
select private.close_profile(user_id('buri'));
select act_as('buri');
select raises(
    takes_back('buri'), 403, 'account_disabled', 'Your account has been disabled. Please contact support for assistance.', 'nor a closed one'
);
select act_as_owner();
select results_eq(
    $$ select a.name, d.status::text, d.admin_notes from asked as a inner join public.deposits as d on d.id = a.id order by a.name $$,
    $$ values ('ask', 'rejected', 'Cancelled by the member'), ('buri', 'rejected', 'Account closed'), ('embla', 'pending', null), ('loke', 'pending', null) $$,
    'one is taken back, and counts as rejected'
);
select record_states();
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'the ledger checks pass');
select act_as('loke');
select raises($$ select cancel_request(null) $$, 404, 'not_found', 'There is no such request of yours.', 'without an id nothing is cancelled');
select act_as_owner();
select * from finish();
rollback;
