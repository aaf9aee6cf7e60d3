-- The rest of a deposit: who asks for it and when, what the member adds, and the transfer that is credited once.
-- threats: T17 T56
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Asked for, and what comes of it
-- =====================================================================================================================
create temporary table requests (name text primary key, id uuid);
grant all on requests to public;
create function actors.id_of(p_name text) returns uuid language sql stable as $$ select r.id from requests as r where r.name = p_name $$;
create function actors.asking(p_name text, p_received text, p_reason text default null) returns text language sql as $$
    select format('select decide_deposit(%L, %L, %L, %L)', id_of(p_name), 'ask_rest', p_reason, p_received)
$$;
create function actors.adding(p_name text, p_reference text) returns text language sql as $$ select format('select add_deposit_reference(%L, %L)', id_of(p_name), p_reference) $$;
create function actors.hash_of(p_seed text) returns text language sql as $$ select md5(p_seed) || md5(p_seed || 'b') $$;
create function actors.item_of(p_name text) returns jsonb language sql as $$
    select i from jsonb_array_elements(list_deposits() -> 'items') as i where i ->> 'id' = id_of(p_name)::text
$$;
grant execute on all functions in schema actors to public;
insert into requests values ('short', claims_deposit('ask', 100, hash_of('short'))), ('other', claims_deposit('embla', 50, hash_of('other')));

-- Who may ask, and for what
select act_as('sam');
select raises(asking('short', '60'), 403, 'forbidden', 'A support admin cannot do this.', 'support asks for no money');
select act_as('elin');
select raises(asking('short', null), 400, 'received_amount_required', 'Enter how much has arrived.', 'what has arrived is said');
select raises(
    asking('short', '60', 'x'), 400, 'invalid_input', 'A reason belongs to a rejection. The member is told what arrived and what is missing.', 'a reason is none of it'
);
select raises(asking('short', v), 409, 'nothing_missing', t, 'nothing is missing: ' || v) from (values
    ('95', 'The member claimed $100.00, and $95.00 arrived: that can be approved as it is.'),
    ('105', 'The member claimed $100.00, and $105.00 arrived: that can be approved as it is.'),
    ('105.01', 'More arrived than the member claimed: there is no rest to ask for. Reject the deposit with a reason that names both amounts.')
) as w (v, t);
select raises(format('select decide_deposit(%L, %L, null, 60)', gen_random_uuid(), 'ask_rest'), 404, 'not_found', 'There is no such deposit.', 'of no deposit');
select act_as('ask');
select raises(adding('short', hash_of('rest')), 409, 'rest_not_asked', 'Nothing is asked for with this deposit.', 'a member adds nothing that nobody asked for');
select act_as_owner();
select is_empty($$ select 1 from private.deposit_rests $$, 'nothing was asked');

-- Asked, and asked again
select act_as('elin');
select is(
    (decide_deposit(id_of('short'), 'ask_rest', null, 6) -> 'rest') - 'asked_at',
    '{"no": 1, "received_amount": "6.00", "missing": "94.00", "reference_number": null, "referenced_at": null}'::jsonb, 'Elin asks for the rest'
);
select is(decide_deposit(id_of('short'), 'ask_rest', null, 6) ->> 'already', 'true', 'once');
select act_as('olga');
select raises(
    asking('short', '60'), 409, 'rest_asked',
    'Elin asked for the rest just now: $6.00 had arrived. Wait for the member''s reference, or decide the deposit.', 'nobody asks over her'
);
select act_as('elin');
select is(decide_deposit(id_of('short'), 'ask_rest', null, 60) #>> '{rest,no}', '2', 'she herself corrects the amount');
select act_as_owner();
select results_eq(
    $$ select title, body, amount::numeric, link from public.notifications where user_id = user_id('ask') and kind = 'deposit_rest_asked' order by amount $$,
    $$ values ('Part of your deposit is missing', '$60.00 of your deposit of $100.00 arrived. Send the missing $40.00 to the deposit address, then add the reference of that transfer to the deposit. It is credited once all has arrived.', 40.0, '/deposit'),
        ('Part of your deposit is missing', '$6.00 of your deposit of $100.00 arrived. Send the missing $94.00 to the deposit address, then add the reference of that transfer to the deposit. It is credited once all has arrived.', 94, '/deposit') $$,
    'the member reads what arrived and what is missing'
);
select is((select count(*) from private.outbox where recipient = 'ask@people.test' and template = 'deposit_rest_asked'), 2::bigint, 'by mail too');
select is(
    (select array_agg(payload ->> 'received_amount' order by id) from private.audit_log where action = 'deposit.rest_asked' and object_id = id_of('short')),
    array['6.00', '60.00'], 'the audit log has both'
);
select is((select status::text from public.deposits where id = id_of('short')), 'pending', 'the deposit waits');
select raises(u, 403, 'append_only', 'The rest of a deposit is asked for once and never changed.', 'what was asked stays: ' || u) from unnest(array[
    'update private.deposit_rests set received_amount = 70', 'update private.deposit_rests set asked_at = now() - interval ''1 day''',
    'update private.deposit_rests set reference_number = ''x'', referenced_at = now() where no = 1', 'update private.deposit_rests set ended_at = null where no = 1'
]) as u;
select raises('delete from private.deposit_rests', 403, 'append_only', 'Rows of deposit_rests are kept as they are.', 'nothing is deleted');
-- The member sees it, wherever the deposit is.
select act_as('ask');
select is(get_deposit_options() #>> '{pending,0,rest,missing}', '40.00', 'the form says what is missing');
select is(get_member_dashboard() #>> '{pending,0,rest,missing}', '40.00', 'so does the dashboard');
select is(get_transaction_history() #>> '{items,0,rest,missing}', '40.00', 'and the history');

-- Until all has arrived
select act_as('elin');
select raises(
    format('select decide_deposit(%L, %L)', id_of('short'), 'approve'), 400, 'received_amount_required',
    'The rest of this deposit was asked for. Enter how much has arrived in all, the rest included.', 'an approval needs the sum'
);
select raises(format('select decide_deposit(%L, %L, null, 60)', id_of('short'), 'approve'), 409, 'amount_differs', null, 'which is all of it');

-- The member's reference
select act_as('embla');
select raises(adding('short', hash_of('rest')), 404, 'not_found', 'There is no such deposit of yours.', 'nobody else adds it');
select act_as('anonymous');
select throws_ok(adding('short', 'x'), '42501', null, 'an anonymous client neither');
select act_as('elin');
select throws_ok(adding('short', 'x'), '42501', null, 'nor an administrator');
select act_as('ask');
select raises(
    adding('short', r), 400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.', 'no reference: ' || coalesce(r, 'null')
) from unnest(array[null, '', ' -- ', repeat('9', 201), U&'ab\202Ecd']) as r;
select raises(
    adding('short', left(hash_of('rest'), 63)), 400, 'invalid_reference',
    'This looks like a transaction hash with a wrong or missing character. Copy it again.', 'nearly a hash'
);
select raises(
    adding('short', 'TXID' || upper(hash_of('short'))), 409, 'reference_used',
    'This deposit has this reference already. Enter that of the transfer of the rest.', 'the one that it has'
);
select is(
    add_deposit_reference(id_of('short'), '  ' || upper(hash_of('other')) || E' \n') #>> '{rest,reference_number}', upper(hash_of('other')),
    'Ask adds one, without blanks'
);
select is(add_deposit_reference(id_of('short'), upper(hash_of('other'))) ->> 'already', 'true', 'and again: nothing more');
select raises(
    adding('short', hash_of('third')), 409, 'rest_not_asked', 'The reference of the rest was received. Wait for the review.', 'another one was not asked for'
);
select act_as_owner();
select is(
    (select payload - 'request_id' from private.audit_log where action = 'deposit.reference_added' and object_id = id_of('short')),
    jsonb_build_object('user_id', user_id('ask'), 'reference_number', upper(hash_of('other')), 'rest_no', 2), 'the audit log has it once'
);
select is((select reference_number from public.deposits where id = id_of('short')), hash_of('short'), 'the claim is as it was');
-- Embla claims the transfer that Ask named for the rest.
select act_as('sam');
select is(
    (select array_agg(f ->> 'text') from jsonb_array_elements(item_of(n) -> 'flags') as f where f ->> 'kind' = 'same_reference'),
    array[format('Same reference as %s, %s', o, to_char(now() at time zone 'UTC', 'FMDD Mon YYYY'))], 'flagged on both: ' || n
) from (values ('short', 'embla'), ('other', 'ask')) as v (n, o);
select is(item_of('short') #>> '{rest,asked_by_name}', 'Elin', 'the list has who asked');
select is(item_of('short') #>> '{rest,missing}', '40.00', 'for what');
select is(item_of('short') -> 'further_references', jsonb_build_array(upper(hash_of('other'))), 'and the reference that came');
select is(
    (select count(*) from jsonb_array_elements(list_deposits(jsonb_build_object('search', left(hash_of('other'), 20))) -> 'items')), 2::bigint, 'a search finds it'
);
select is(
    get_request_changes('deposits', array[id_of('short'), id_of('other')]) #>> '{rests,0,rest,reference_number}', upper(hash_of('other')),
    'whoever looks at the list sees it arrive'
);
select act_as('elin');
select is(decide_deposit(id_of('other'), 'approve') ->> 'success', 'true', 'Embla''s is approved');
select is(item_of('short') ->> 'refusal', 'This reference was already approved with another deposit.', 'then Ask''s cannot be');
select raises(
    format('select decide_deposit(%L, %L, null, 100)', id_of('short'), 'approve'), 409, 'reference_used', 'This reference was already approved with another deposit.',
    'and is not'
);
select is(decide_deposit(id_of('short'), 'ask_rest', null, 60) #>> '{rest,no}', '3', 'after a reference the rest is asked for anew');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- One that goes well, and when it is due
-- =====================================================================================================================
create temporary table requests (name text primary key, id uuid);
grant all on requests to public;
create function actors.id_of(p_name text) returns uuid language sql stable as $$ select r.id from requests as r where r.name = p_name $$;
create function actors.due(p_name text) returns timestamptz language sql as $$
    select (i ->> 'due_at')::timestamptz from jsonb_array_elements(list_deposits() -> 'items') as i where i ->> 'id' = id_of(p_name)::text
$$;
create function actors.oldest() returns text language sql as $$
    select concat_ws(' ', o ->> 'username', (o ->> 'due_at')::timestamptz - now()) from (select get_admin_overview() #> '{oldest_pending,deposit}') as v (o)
$$;
grant execute on all functions in schema actors to public;
insert into requests values ('short', claims_deposit('ask', 100, 'wire one')), ('later', claims_deposit('embla', 50, 'wire two'));
alter table public.deposits disable trigger user;
update public.deposits set created_at = now() - case id when id_of('short') then interval '5 hours' else interval '3 hours' end where id in (select id from requests);
alter table public.deposits enable trigger user;
select act_as('sam');
select is(oldest(), 'ask 1 day 19:00:00', 'Ask''s waits longest');
select act_as('elin');
select is(decide_deposit(id_of('short'), 'ask_rest', null, 60) ->> 'success', 'true', 'Elin asks for the rest');
select act_as_owner();
alter table private.deposit_rests disable trigger user;
update private.deposit_rests set asked_at = now() - interval '4 hours';
alter table private.deposit_rests enable trigger user;
select act_as('sam');
select is(due('short') - now(), interval '44 hours', 'the time begins anew with the asking');
select is(oldest(), 'ask 1 day 20:00:00', 'it waits since then');
select act_as_owner();
select is(
    (select round(value / 3600) from private.request_gauges() where name = 'harborline_oldest_pending_seconds' and labels ->> 'kind' = 'deposit'),
    4::double precision, 'in the figures too'
);
select act_as('ask');
select is(add_deposit_reference(id_of('short'), 'wire three') ->> 'success', 'true', 'Ask adds the reference');
select act_as('sam');
select ok(due('short') - now() > interval '47 hours', 'it begins anew with the reference');
select is(oldest(), 'embla 1 day 21:00:00', 'Embla''s waits longest then');
select act_as('elin');
select is(decide_deposit(id_of('short'), 'approve', null, 99.5) #>> '{deposit,received_amount}', '99.50', 'all arrived, but for a fee');
select act_as_owner();
select is((select cash_in_amount::numeric from private.profiles where user_id = user_id('ask')), 100.0, 'the claim counts');
select is((select count(*) from private.deposit_rests where ended_at is null), 0::bigint, 'nothing is asked for any more');
select act_as('elin');
select raises(
    format('select decide_deposit(%L, %L, null, 60)', id_of('short'), 'ask_rest'), 409, 'already_decided', 'Already approved by Elin just now.',
    'nor is it asked for once it is decided'
);
select act_as('ask');
select is(add_deposit_reference(id_of('short'), 'wire three') ->> 'already', 'true', 'a retry after the decision is one');
select is(get_transaction_history() #> '{items,0,further_references}', '["wire three"]'::jsonb, 'the member sees both references');
select raises(
    format('select add_deposit_reference(%L, %L)', id_of('short'), 'wire four'), 409, 'already_decided', 'Already approved just now.', 'nothing is added to what is decided'
);
select act_as_owner();
insert into requests values ('again', claims_deposit('freya', 50, 'Wire-Three'));
select act_as('elin');
select raises(
    format('select decide_deposit(%L, %L)', id_of('again'), 'approve'), 409, 'reference_used', 'This reference was already approved with another deposit.',
    'the transfer of the rest is credited once'
);
-- What is taken back waits for nothing; a pending account may add a reference, a suspended one not.
select is(decide_deposit(id_of(n), 'ask_rest', null, 20) ->> 'success', 'true', 'asked: ' || n) from unnest(array['later', 'again']) as n;
select act_as_owner();
update private.profiles set account_status = 'suspended' where user_id = user_id('embla');
select act_as('embla');
select raises(
    format('select add_deposit_reference(%L, %L)', id_of('later'), 'wire five'), 403, 'account_suspended',
    'Your account has been suspended. Please contact support for assistance.', 'a suspended member adds nothing'
);
select act_as_owner();
update private.profiles set account_status = 'pending' where user_id = user_id('embla');
select act_as('embla');
select is(add_deposit_reference(id_of('later'), 'wire five') ->> 'success', 'true', 'a pending one does');
select lives_ok(format('select cancel_request(%L)', id_of('later')), 'and takes the deposit back');
select act_as_owner();
select is((select array_agg(deposit_id) from private.deposit_rests where ended_at is null), array[id_of('again')], 'with its rest');
select record_states();
select is_empty($$ select * from private.check_ledger() where rule not in ('I20', 'I36', 'I43', 'I45') $$, 'the ledger checks pass, but for the times');
select * from finish();
rollback;
