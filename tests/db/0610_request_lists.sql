-- The lists administrators decide from: paged, searched, sorted and totalled by the database.
-- threats: T43
begin;
\ir ../support/actors.sql
select * from no_plan();

select join_as('root');
select complete('root');
select join_as(name, 'root') from unnest(array['ida', 'jonas', 'karim', 'wei']) as name;
select complete(name) from unnest(array['ida', 'jonas', 'karim', 'wei']) as name;
select pays('root', 1000);
select pays('jonas', 100);
select pays('karim', 500);
select claims_deposit('ida', 100, repeat('7BE2', 16));
select claims_deposit('wei', 250, 'tx ' || repeat('7be2', 16));
select claims_deposit('jonas', 250, 'wire 42');

create function pg_temp.names(p_list jsonb) returns text language sql as $$
    select string_agg(i.item ->> 'username', ' ' order by i.place)
    from jsonb_array_elements(p_list -> 'items') with ordinality as i (item, place)
$$;
create function pg_temp.item(p_list jsonb, p_username text) returns jsonb language sql as $$
    select i from jsonb_array_elements(p_list -> 'items') as i where i ->> 'username' = p_username and i ->> 'status' = 'pending'
$$;
grant execute on function pg_temp.names(jsonb), pg_temp.item(jsonb, text) to public;

-- Sam answers members and reads every list.
select act_as('sam');
select is(public.list_deposits() -> 'counts', '{"pending": 3, "approved": 3, "rejected": 0}'::jsonb, 'counts by status');
select is(public.list_deposits() ->> 'total', '6', 'an empty body answers everything');
select is(jsonb_array_length(public.list_deposits() -> 'items'), 6, 'pending and decided');
select is(
    pg_temp.names(public.list_deposits('{"status": "pending", "sort": "created_at.asc"}')), 'ida wei jonas', 'pending ones, oldest first'
);
select is(pg_temp.names(public.list_deposits('{"status": "pending", "sort": "username.desc"}')), 'wei jonas ida', 'by name');
select is(pg_temp.names(public.list_deposits('{"pageSize": 2, "sort": "amount.desc"}')), 'root karim', 'by amount');
select is(
    (
        select string_agg(pg_temp.names(public.list_deposits(jsonb_build_object('page', page, 'pageSize', 2, 'sort', 'created_at.asc'))), ' ' order by page)
        from generate_series(1, 4) as page
    ), 'root jonas karim ida wei jonas', 'pages put together are the list, also those read from the other end'
);
select is(pg_temp.names(public.list_deposits('{"search": "JON", "sort": "created_at.asc"}')), 'jonas jonas', 'a search finds members in any case');
select is(public.list_deposits('{"search": "people.test", "status": "pending"}') ->> 'total', '3', 'their e-mail too, with an exact total');
select is(pg_temp.names(public.list_deposits('{"search": "wire 4"}')), 'jonas', 'and references');
select is(public.list_deposits('{"search": "100%"}') ->> 'total', '0', 'a percent sign is a percent sign');

-- What a decision would change, and what stands out.
select is(
    pg_temp.item(public.list_deposits(), 'jonas')
    - array['id', 'user_id', 'profile_id', 'created_at', 'receipt_url', 'receipt_name', 'receipt_etag', 'reference_key'],
    '{
        "amount": "250.00", "reference_number": "wire 42", "status": "pending", "kind": "upgrade", "admin_notes": null, "decided_at": null,
        "decided_by": null, "decided_by_name": null, "voided_at": null, "username": "jonas", "display_name": "Jonas",
        "email": "jonas@people.test", "account_status": "active", "available_balance": "0.00", "cash_in_amount": "100.00",
        "package_value": "100.00", "trc20_wallet_address": "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", "total_deposits": "100.00",
        "package_before": "100.00", "package_after": "250.00", "cash_in_before": "100.00", "cash_in_after": "350.00", "flags": []
    }'::jsonb,
    'a row carries its member and what the approval would change'
);
select is(
    pg_temp.item(public.list_deposits(), 'ida') -> 'flags',
    jsonb_build_array(jsonb_build_object(
        'kind', 'same_reference', 'text', 'Same reference as wei, ' || to_char(now() at time zone 'UTC', 'FMDD Mon YYYY')
    )), 'the same reference is flagged'
);
select is(
    pg_temp.item(public.list_deposits(), 'wei') #>> '{flags,0,text}',
    'Same reference as ida, ' || to_char(now() at time zone 'UTC', 'FMDD Mon YYYY'), 'on both, whoever spelled it how'
);
select is(
    (select distinct i ->> 'decided_by_name' from jsonb_array_elements(public.list_deposits('{"status": "approved"}') -> 'items') as i),
    'Elin', 'a decided row names who decided'
);

-- Ida pays: the root has 5% of 500, 100 and 500, and half of the pair of 600. The same wallet stands in all accounts.
select act_as_owner();
select pays('ida', 500);
select act_as('root');
insert into public.withdrawals (user_id, amount, wallet_address) values (user_id('root'), 100, 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb');
select act_as('elin');
select is(pg_temp.item(public.list_withdrawals(), 'root') ->> 'available_after', '255.00', 'what an approval would leave');
select is(
    (pg_temp.item(public.list_withdrawals(), 'root') ->> 'due_at')::timestamptz
    - (pg_temp.item(public.list_withdrawals(), 'root') ->> 'created_at')::timestamptz, interval '48 hours', 'and when it is due'
);
select is(
    (
        select string_agg(f ->> 'kind', ' ' order by f ->> 'text')
        from jsonb_array_elements(pg_temp.item(public.list_withdrawals(), 'root') -> 'flags') as f
    ), 'address_shared address_shared address_shared', 'a wallet that others have too is flagged, three times at most'
);
select act_as_owner();
update private.profiles set
    account_status = 'suspended', hold_until = now() + interval '2 hours', hold_reason = 'wallet', trc20_wallet_address = 'unlike'
where user_id = user_id('root');
select private.audit('member:' || user_id('root'), 'member.wallet_changed', 'profile', profile_id('root'), '{"from": "a", "to": "b"}');
select act_as('elin');
select is(
    (
        select string_agg(distinct f ->> 'kind', ' ')
        from jsonb_array_elements(pg_temp.item(public.list_withdrawals(), 'root') -> 'flags') as f
    ), 'address_changed address_shared blocked hold', 'so are a changed wallet, a hold and a blocked member'
);
select is(pg_temp.names(public.list_withdrawals('{"search": "t9yd14"}')), 'root', 'the frozen address can be searched');
select is(public.list_withdrawals('{"page": 9}') -> 'items', '[]'::jsonb, 'a page beyond the end is empty');

-- Nonsense.
select refuses($$ select public.list_deposits('[]') $$, 400, 'invalid_filter', 'Filters are an object.', 'filters are an object');
select refuses(
    $$ select public.list_deposits('{"sort": "email; drop table x.asc"}') $$, 400, 'invalid_filter',
    'This list cannot be sorted that way.', 'a sort is one of ours'
);
select refuses($$ select public.list_deposits('{"status": "lost"}') $$, 400, 'invalid_filter', 'There is no such status.', 'a status too');
select refuses(
    $$ select public.list_deposits('{"page": "two"}') $$, 400, 'invalid_filter', 'Page and page size are whole numbers.', 'a page is a number'
);

-- Everybody else.
select act_as('ida');
select throws_ok($$ select public.list_deposits() $$, '42501', null, 'a member is refused');
select act_as('anonymous');
select throws_ok($$ select public.list_withdrawals() $$, '42501', null, 'a visitor is refused');
select act_as_owner();
update private.admin_users set is_active = false where id = user_id('sam');
select act_as('sam');
select refuses($$ select public.list_deposits() $$, 401, 'session_ended', 'Your session has ended. Sign in again.', 'and so is an administrator who was deactivated');

select act_as('elin');
select refuses(
    format('select public.list_deposits(%L)', jsonb_build_object('search', repeat('x', 201))), 400, 'invalid_filter',
    'A search has at most 200 characters.', 'a search has a limit'
);

-- More than a search collects: the page is walked to, and the total says so
select act_as_owner();
set local session_replication_role = replica;
insert into public.deposits (user_id, amount, reference_number, receipt_url, kind, reference_key, receipt_name, created_at)
select user_id('wei'), 50, 'bulk ' || i, 'x', 'cash_in', 'bulk' || i, 'bulk/' || i, '2020-01-01'::timestamptz + i * interval '1 second'
from generate_series(1, 10001) as i;
set local session_replication_role = origin;
select act_as('elin');
select is(
    public.list_deposits('{"search": "bulk", "sort": "created_at.asc", "pageSize": 1}') #>> '{items,0,reference_number}', 'bulk 1', 'the first of very many'
);
select is(
    (select (l ->> 'total') || ' ' || (l ->> 'more') from public.list_deposits('{"search": "bulk", "pageSize": 1}') as l), '10000 true', '10,000 and more are found'
);
select * from finish();
rollback;
