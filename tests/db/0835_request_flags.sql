-- A receipt file that another member sent too.
begin;
\ir ../support/actors.sql
select * from no_plan();
select family();

-- A deposit whose receipt has these bytes.
create function actors.sends_file(p_name text, p_etag text) returns uuid language plpgsql as $$
declare
    v_receipt text := upload(p_name);
    v_id uuid := gen_random_uuid();
begin
    update storage.objects set metadata = metadata || jsonb_build_object('eTag', p_etag) where name = split_part(v_receipt, '/receipts/', 2);
    perform act_as(p_name);
    insert into public.deposits (id, user_id, amount, reference_number, receipt_url, status)
    values (v_id, user_id(p_name), 50, v_id::text, v_receipt, 'pending');
    perform act_as_owner();
    return v_id;
end
$$;
create function actors.flags(p_name text) returns jsonb language sql as $$
    select jsonb_agg(f -> 'text' order by f ->> 'text')
    from jsonb_array_elements(list_deposits() -> 'items') as i, jsonb_array_elements(i -> 'flags') as f
    where i ->> 'username' = p_name and f ->> 'kind' = 'same_receipt'
$$;
grant execute on all functions in schema actors to public;
create temporary table sent as select n as name, sends_file(n, e) as id
from (values ('ask', '"one"'), ('embla', '"one"'), ('buri', '"two"'), ('buri', '"two"'), ('loke', '"three"')) as v (n, e);
grant select on sent to public;

select act_as('sam');
select is(
    flags('ask'), jsonb_build_array('Same receipt file as embla, ' || to_char(now() at time zone 'UTC', 'FMDD Mon YYYY')), 'the other member''s file is told'
);
select is(
    flags('embla'), jsonb_build_array('Same receipt file as ask, ' || to_char(now() at time zone 'UTC', 'FMDD Mon YYYY')), 'on both'
);
select is(flags('buri'), null, 'a member''s own file twice is no other member''s');
select is(flags('loke'), null, 'nor is a file that nobody else sent');
select act_as('elin');
do $$
begin
    perform decide_deposit(s.id, 'approve') from sent as s where s.name = 'embla';
end
$$;
select is(jsonb_array_length(flags('ask')), 1, 'an approved one stands out all the more');
select act_as_owner();
select act_as('ask');
do $$
begin
    perform cancel_request(s.id) from sent as s where s.name = 'ask';
end
$$;
select act_as_owner();
select lives_ok($$ select sends_file('loke', '"one"') $$, 'a third member sends it');
select act_as('sam');
select is(
    flags('loke'), jsonb_build_array('Same receipt file as embla, ' || to_char(now() at time zone 'UTC', 'FMDD Mon YYYY')), 'what was rejected counts no more'
);
select * from finish();
rollback;
