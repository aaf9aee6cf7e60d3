-- One transfer is one movement, however its reference is written and whichever table names it.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- What looks like a hash is compared as a hash
-- =====================================================================================================================
create function actors.hash_of(p_seed text) returns text language sql as $$ select md5(p_seed) || md5(p_seed || 'b') $$;
select is(private.hashes_in(t), array[hash_of('x')], 'a hash: ' || n) from (values
    ('as it is', hash_of('x')), ('in upper case', upper(hash_of('x'))), ('with a Cyrillic a', replace(hash_of('x'), 'a', 'а')),
    ('with a Greek epsilon', replace(upper(hash_of('x')), 'E', 'Ε')), ('with l for 1', replace(hash_of('x'), '1', 'l')),
    ('with I for 1', replace(hash_of('x'), '1', 'I')), ('with O for 0', replace(hash_of('x'), '0', 'O')), ('with o for 0', replace(hash_of('x'), '0', 'o')),
    ('with soft hyphens', left(hash_of('x'), 20) || U&'\00AD' || substr(hash_of('x'), 21)), ('in full width', translate(hash_of('x'), 'abcdef', 'ａｂｃｄｅｆ')),
    ('in parts', regexp_replace(hash_of('x'), '(.{8})', '\1 - ', 'g')), ('with other letters between', regexp_replace(hash_of('x'), '(.{8})', '\1z', 'g'))
) as v (n, t);
select ok(hash_of('x') = any(private.hashes_in(t)), 'among what stands before or after it: ' || t) from (values
    ('TXID: ' || hash_of('x')), ('https://tronscan.org/#/transaction/' || hash_of('x')), ('https://another.example/tx?hash=' || hash_of('x') || '&lang=de'),
    (hash_of('x') || ' ' || hash_of('y'))
) as v (t);
select is(private.hashes_in(t), '{}', 'none in ' || t) from (values
    ('Order 77'), (left(hash_of('x'), 32)), (repeat('I paid from my account at the exchange in November. ', 4))
) as v (t);
select is(private.reference_keys('Order' || l || '77'), array['order77'], 'letters that nobody sees are in no key')
from unnest(array[U&'\115F', U&'\1160', U&'\3164', U&'\FFA0']) as l;
select is(
    (select count(*) from generate_series(1, 65535) as c
    where c not between 55296 and 57343 and private.hexadecimal_text(lower(chr(c))) <> private.hexadecimal_text(upper(chr(c)))
        and private.hexadecimal_text(chr(c)) ~ '\A[0-9a-f]\Z'),
    0::bigint, 'what looks like a digit does so in either case'
);

-- =====================================================================================================================
-- What is nearly a hash is rejected when it is entered, and two that are nearly the same are flagged
-- =====================================================================================================================
select is(private.is_nearly_a_hash(t), b, n) from (values
    ('without its last digit', left(hash_of('x'), 63), true), ('with a wrong letter', left(hash_of('x'), 63) || 'g', true),
    ('of 60 digits', left(hash_of('x'), 60), true), ('of 59', left(hash_of('x'), 59), false), ('whole', hash_of('x'), false),
    ('with one digit more', hash_of('x') || '1', false), ('a long text', repeat('a reference of an exchange ', 3), false)
) as v (n, t, b);
select act_as('ask');
select raises(
    format('select claims_deposit(%L, 50, %L)', 'ask', left(hash_of('x'), 63)), 400, 'invalid_reference',
    'This looks like a transaction hash with a wrong or missing character. Copy it again.', 'a deposit with 63 digits'
);
select act_as_owner();
select is(private.are_near(hash_of('x'), t), b, 'near: ' || n) from (values
    ('four places', overlay(hash_of('x') placing translate(left(hash_of('x'), 4), '0123456789abcdef', '123456789abcdef0') from 1), true),
    ('every other of nine', translate(left(hash_of('x'), 9), '0123456789abcdef', '123456789abcdef0') || substr(hash_of('x'), 10), true),
    ('the second half', translate(left(hash_of('x'), 32), '0123456789abcdef', '123456789abcdef0') || right(hash_of('x'), 32), true),
    ('less than half', translate(left(hash_of('x'), 33), '0123456789abcdef', '123456789abcdef0') || right(hash_of('x'), 31), false),
    ('another', hash_of('y'), false)
) as v (n, t, b);

create function actors.flags_of(p_id uuid) returns text[] language sql as $$
    select array_agg(f ->> 'text' order by n)
    from jsonb_array_elements(list_deposits() -> 'items') as i, jsonb_array_elements(i -> 'flags') with ordinality as f (f, n)
    where i ->> 'id' = p_id::text and f ->> 'kind' <> 'address_shared'
$$;
create function actors.error_of(p_id uuid) returns text language sql as $$
    select i ->> 'refusal' from jsonb_array_elements(list_deposits() -> 'items') as i where i ->> 'id' = p_id::text
$$;
create function actors.today() returns text language sql as $$ select to_char(now() at time zone 'UTC', 'FMDD Mon YYYY') $$;
grant execute on all functions in schema actors to public;
create temporary table claims (name text primary key, id uuid);
grant all on claims to public;
insert into claims values
('first', claims_deposit('ask', 50, hash_of('x'))), ('near', claims_deposit('embla', 50, left(hash_of('x'), 60) || 'dddd')),
('O1', claims_deposit('buri', 50, 'O1-1')), ('0l', claims_deposit('loke', 50, '0l-1'));
select act_as('sam');
select is(flags_of(id), array['Nearly the same reference as ask, ' || today()], 'one that is nearly the same') from claims where name = 'near';
select is(flags_of(id), array['Nearly the same reference as loke, ' || today()], 'an exchange''s number that looks like another') from claims where name = 'O1';
select is(error_of(id), null, 'which can be approved: ' || name) from claims where name <> 'first';
select act_as('elin');
select is(decide_deposit(id, 'approve') ->> 'success', 'true', 'none of which is rejected: ' || name) from claims where name <> 'first';
select act_as_owner();
insert into claims values ('again', claims_deposit('freya', 50, 'o1 1'));
select act_as('sam');
select is(error_of(id), 'This reference was already approved with another deposit.', 'the same number again cannot') from claims where name = 'again';

-- =====================================================================================================================
-- What went out did not come in
-- =====================================================================================================================
select act_as_owner();
select pays(p, 500) from unnest(array['freya', 'ask', 'embla']) as p;
insert into claims values
('came in', claims_deposit('ask', 7, hash_of('in'))), ('waits', claims_deposit('embla', 7, hash_of('out'))), ('number', claims_deposit('ask', 8, 'order-99'));
select act_as('freya');
with made as (
    insert into withdrawals (user_id, amount, wallet_address)
    select auth.uid(), a, wallets.of('freya') from unnest(array[100, 110]) as a
    returning id, amount
)
insert into claims select amount::integer::text, id from made;
select act_as_owner();
create function actors.paid_by(p_name text, p_reference text, p_shared boolean default false) returns text language sql as $$
    select format('select decide_withdrawal(%L, %L, null, %L, %L)', id, 'approve', p_reference, p_shared) from claims where name = p_name
$$;
grant execute on all functions in schema actors to public;
select act_as('elin');
select decide_deposit(id, 'approve') from claims where name = 'came in';
select raises(
    paid_by('100', upper(hash_of('in')), s), 409, 'reference_used', 'This is the hash of a transfer to us: the deposit of $7.00 of ask.',
    'what came in did not go out, shared: ' || s
) from unnest(array[false, true]) as s;
select raises(
    paid_by('100', left(hash_of('out'), 62)), 400, 'invalid_reference',
    'This looks like a transaction hash with a wrong or missing character. Copy it again.', 'a payout with 62 digits'
);
select raises(
    paid_by('100', hash_of('out')), 409, 'payout_reference_used', 'This payout reference is already recorded for $7.00, a deposit of embla.',
    'what somebody says came in is asked about'
);
select lives_ok(paid_by('100', hash_of('out'), true), 'and paid by, once that is confirmed');
select raises(
    paid_by('110', 'Order 99'), 409, 'payout_reference_used', 'This payout reference is already recorded for $8.00, a deposit of ask.', 'as is an exchange''s number'
);
select lives_ok(paid_by('110', 'Order 99', true), 'which may be the same');
select is(flags_of(id), array['This is our payout of $' || p || '.00 to freya, ' || today()], 'a deposit that names a payout: ' || name)
from claims inner join (values ('waits', 100), ('number', 110)) as v (n, p) on name = n;
select is(error_of(id), r, 'whether it can be approved is said before: ' || name)
from claims inner join (values ('waits', 'This is the hash of a payout of ours, not of a transfer to us.'), ('number', null)) as v (n, r) on name = n;
select raises(
    format('select decide_deposit(%L, %L)', id, 'approve'), 409, 'reference_used', 'This is the hash of a payout of ours, not of a transfer to us.',
    'a payout is not credited'
) from claims where name = 'waits';
select is(decide_deposit(id, 'approve') ->> 'success', 'true', 'another transfer of the same number may be') from claims where name = 'number';
select act_as_owner();
select is_empty($$ select * from private.check_ledger() where rule in ('I19', 'I31') $$, 'the ledger checks pass');
-- Some keys are gone; the runbook's statement writes them again.
set local session_replication_role = replica;
delete from private.transfer_keys where kind = 'look_alike';
set local session_replication_role = origin;
select isnt_empty($$ select * from private.check_ledger() where rule = 'I31' $$, 'a key that is gone is seen');
select private.register_transfer(d.id, d.reference_number, false) from deposits as d;
select private.register_transfer(w.id, w.payout_reference, true) from withdrawals as w where w.payout_reference is not null;
select is_empty($$ select * from private.check_ledger() where rule in ('I19', 'I31') $$, 'and is there again');
select * from finish();
rollback;
