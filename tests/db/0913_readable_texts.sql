begin;
\ir ../support/actors.sql
select * from no_plan();
select family();

-- What is not seen, or turns the direction: everywhere the same.
create table actors.hidden as
select n as name, 'a' || chr(code) || 'b' as text from (values
    ('a tab', 9), ('a line''s end', 10), ('escape', 27), ('delete', 127), ('a control character of C1', 133), ('a soft hyphen', 173),
    ('the Arabic mark', 1564), ('zero width space', 8203), ('the mark to the right', 8206), ('the mark to the left', 8207),
    ('the separator of lines', 8232), ('the separator of paragraphs', 8233), ('embedding to the right', 8234), ('override to the left', 8238),
    ('the word joiner', 8288), ('invisible plus', 8292), ('isolate to the left', 8295), ('the end of an isolate', 8297), ('the byte order mark', 65279)
) as v (n, code);
create table actors.joiners as select 'a' || chr(code) || 'b' as text from (values (8204), (8205)) as v (code);
create table actors.blanks as
select string_agg(chr(code::integer), '') as text
from unnest(array['160', '8204 8205', '10240', '12288 32 12288', '12644', '8195 65039', '4447 4448']) as codes, unnest(string_to_array(codes, ' ')) as code
group by codes;
-- A reference is looked at before its receipt, so one serves all that are refused.
create table actors.paper as select upload('freya') as receipt;
grant select on actors.hidden, actors.joiners, actors.blanks, actors.paper to public;
create function actors.names(p_name text) returns text language sql as $$
    select format('update profiles set display_name = %L where user_id = auth.uid()', p_name)
$$;
create function actors.stores(p_wallet text) returns text language sql as $$
    select format('update profiles set trc20_wallet_address = %L where user_id = auth.uid()', p_wallet)
$$;
create function actors.sends(p_reference text, p_id uuid default gen_random_uuid(), p_receipt text default null) returns text language sql as $$
    select format(
        'insert into deposits (id, user_id, amount, reference_number, receipt_url, status) values (%L, auth.uid(), 50, %L, %L, %L) on conflict (id) do nothing',
        p_id, p_reference, coalesce(p_receipt, (select p.receipt from actors.paper as p)), 'pending'
    )
$$;
create function actors.signs_up(p_name text) returns text language sql security definer as $$
    select coalesce(a #>> '{error,message}', 'allowed') from hooks.before_user_created(jsonb_build_object('user', jsonb_build_object(
        'email', 'new@people.test',
        'user_metadata', jsonb_build_object('username', 'newcomer', 'display_name', p_name, 'referrer_id', profile_id('freya'))
    ))) as a
$$;
grant execute on all functions in schema actors to public;

select act_as('freya');
select refuses(names(text), 400, 'invalid_display_name', 'A name has at most 80 characters, on one line.', 'no name with ' || name) from hidden;
select refuses(stores(text), 400, 'invalid_wallet', 'This is not a wallet address. Check it and try again.', 'no wallet with ' || name) from hidden;
select refuses(sends(text), 400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.', 'no reference with ' || name) from hidden;
select is(signs_up(text), 'A name has at most 80 characters, on one line.', 'no sign-up with ' || name) from hidden;

-- Joiners belong to names, and to nothing that is compared.
select refuses(stores(text), 400, 'invalid_wallet', 'This is not a wallet address. Check it and try again.', 'a wallet has no joiner') from joiners;
select refuses(sends(text), 400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.', 'nor has a reference') from joiners;

-- Names that show nothing.
select refuses(names(text), 400, 'invalid_display_name', 'A name has at most 80 characters, on one line.', 'a name shows something') from blanks;
select is(signs_up(text), 'A name has at most 80 characters, on one line.', 'a new one too') from blanks;

select act_as_owner();
select results_eq(
    $$ select display_name, trc20_wallet_address from private.profiles where user_id = user_id('freya') $$,
    $$ values ('Freya', 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb') $$, 'name and wallet are what they were'
);
select is_empty($$ select 1 from public.deposits where user_id = user_id('freya') $$, 'no deposit was made');
select is_empty($$ select 1 from private.username_reservations where username = 'newcomer' $$, 'and no name reserved');

-- Names of the world stay possible, with the accents and joiners that they are written with.
select act_as('freya');
select lives_ok(names(n), 'a name: ' || n)
from unnest(array['O’Connor-Müller', 'علی' || chr(8204) || 'رضا', 'क्' || chr(8205) || 'ष', 'שרה', '李 小龍', 'Zoë 🙂', '👩' || chr(8205) || '🚀', repeat('ß', 80)]) as n;
select is(signs_up('علی' || chr(8204) || 'رضا'), 'allowed', 'also of somebody new');
select refuses(names(repeat('ß', 81)), 400, 'invalid_display_name', 'A name has at most 80 characters, on one line.', 'eighty characters are the most');

-- A request that is repeated as it was sent.
create temporary table sent as select gen_random_uuid() as id, upload('freya') as receipt, E'  Order 77\t\r\n' as reference;
grant select on sent to public;
select lives_ok((select sends(reference, id, receipt) from sent), 'a reference as it was copied');
select is((select reference_number from deposits), 'Order 77', 'is stored without what stands around it');
select lives_ok((select sends(reference, id, receipt) from sent), 'its retry is the same request');
select lives_ok((select sends('Order 77', id, receipt) from sent), 'with and without');
select refuses((select sends('Order 78', id, receipt) from sent), 409, 'duplicate_request', 'This request was already made with other values.', 'another reference is another request');
select is((select array_agg(reference_number) from deposits), array['Order 77'], 'one row in the end');

-- How a withdrawal was paid, told with its approval or later.
select act_as_owner();
select pays('freya', 1000); select pays('ask', 1000); select pays('embla', 1000);
create function actors.pays_out(p_reference text) returns text language sql as $$
    select format('select decide_withdrawal(id, %L, null, %L) from withdrawals where user_id = user_id(%L)', 'approve', p_reference, 'freya')
$$;
grant execute on function actors.pays_out(text) to public;
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 100, 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb');
select act_as('elin');
select refuses(pays_out(text), 400, 'invalid_reference', 'A payout reference has at most 200 characters, on one line.', 'no payout with ' || name) from hidden;
select is((select status::text from withdrawals where user_id = user_id('freya')), 'pending', 'and nothing was approved with it');
select decide_withdrawal(id, 'approve') from withdrawals where user_id = user_id('freya');
select refuses(pays_out(text), 400, 'invalid_reference', 'A payout reference has at most 200 characters, on one line.', 'nor later with ' || name) from hidden;
select lives_ok(pays_out(E'\tOrder 79\r\n'), 'a payout as it was copied');
select is((select payout_reference from withdrawals where user_id = user_id('freya')), 'Order 79', 'is stored without what stands around it');
select * from finish();
rollback;
