begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
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
select refuses(takes_back('loke'), 404, 'not_found', 'There is no such request of yours.', 'but nobody else''s');
select act_as('embla');
select refuses(
    takes_back('embla'), 403, 'account_suspended', 'Your account has been suspended. Please contact support for assistance.', 'a suspended one does not'
);
select act_as('buri');
select refuses(
    takes_back('buri'), 403, 'account_disabled', 'Your account has been disabled. Please contact support for assistance.', 'nor a disabled one'
);
select act_as_owner();
select private.close_profile(user_id('buri'));
select act_as('buri');
select refuses(
    takes_back('buri'), 403, 'account_disabled', 'Your account has been disabled. Please contact support for assistance.', 'nor a closed one'
);
select act_as_owner();
select results_eq(
    $$ select a.name, d.status::text, d.admin_notes from asked as a inner join public.deposits as d on d.id = a.id order by a.name $$,
    $$ values ('ask', 'rejected', 'Cancelled by the member'), ('buri', 'rejected', 'Account closed'), ('embla', 'pending', null), ('loke', 'pending', null) $$,
    'one is taken back, and counts as rejected'
);
select is_empty($$ select * from private.check_books() where rule <> 'I20' $$, 'the books agree');
select * from finish();
rollback;
