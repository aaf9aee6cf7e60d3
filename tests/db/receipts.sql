-- Uploaded receipts: who stores and reads one, how many, who opens one, and which are never removed.
-- threats: T101
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Storing and opening
-- =====================================================================================================================
create function actors.put(p_name text, p_user text default null) returns text language sql as $$
    select format('insert into storage.objects (bucket_id, name, owner_id, metadata) values (%L, %L, %L, %L)',
        'receipts', p_name, coalesce(user_id(p_user), auth.uid()), '{"mimetype": "image/png", "size": 1000}')
$$;
grant execute on all functions in schema actors to public;

select results_eq($$ select public, file_size_limit, allowed_mime_types from storage.buckets where id = 'receipts' $$,
    $$ values (false, 5242880::bigint, array['image/png', 'image/jpeg', 'image/webp', 'application/pdf']) $$, 'the bucket is private, small and knows four types');

-- A member
select act_as('freya');
select lives_ok(put(user_id('freya') || '/1700000000.png'), 'a member stores a receipt in the own folder');
select throws_ok(put(n), '42501', null, 'not stored: ' || n)
from unnest(array[user_id('ask') || '/1700000000.png', '1700000000.png', user_id('freya') || '/x.png', user_id('freya') || '/1700000000.svg', user_id('freya') || '/1700000000.html',
    user_id('freya') || '/1700000000', user_id('freya') || '/../1700000000.png', user_id('freya') || '/a/1700000000.png', user_id('freya') || '/17000000001234567.png',
    user_id('freya') || E'/1700000000.png\n', user_id('freya') || '//1700000000.png']) as n;
select throws_ok(put(user_id('freya') || '/1700000009.png', 'ask'), '42501', null, 'nor in another member''s name');
select throws_ok(put(user_id('freya') || '/1700000000.png'), '23505', null, 'nothing is overwritten');
select is((select count(*) from storage.objects where bucket_id = 'receipts'), 1::bigint, 'the member sees it');
update storage.objects set name = user_id('freya') || '/1700000001.png' where bucket_id = 'receipts';
select lives_ok(put(user_id('freya') || '/17000001' || to_char(i, 'FM00') || '.png'), 'receipt ' || i + 1) from generate_series(1, 9) as i;
select throws_ok(put(user_id('freya') || '/1700000200.png'), '42501', 'You have uploaded 10 receipts within an hour. Try again later.', 'the eleventh within an hour is rejected');
select act_as('ask');
select is_empty($$ select 1 from storage.objects where bucket_id = 'receipts' $$, 'another member sees none');
select act_as('anonymous');
select is_empty($$ select 1 from storage.objects where bucket_id = 'receipts' $$, 'an anonymous client sees none');
select throws_ok($$ insert into storage.objects (bucket_id, name, owner_id) values ('receipts', 'x', null) $$, '42501', null, 'and stores none');

-- The storage service writes as service_role: the same rules
select act_as_owner();
select is((select name from storage.objects where bucket_id = 'receipts' and owner_id = user_id('freya')::text order by name limit 1), user_id('freya') || '/1700000000.png', 'no name was changed');
set local role service_role;
select throws_ok(put(user_id('freya') || '/../../etc/passwd', 'freya'), '42501', 'A receipt is named by your own id and the time.', 'a name is checked whoever writes');
select throws_ok($$ update storage.objects set owner_id = 'x' where bucket_id = 'receipts' $$, '42501', 'Receipts are kept as they are.', 'a receipt is not moved');
reset role;
update storage.objects set created_at = now() - interval '1 day' where bucket_id = 'receipts';
select lives_ok(put(user_id('freya') || '/17000003' || to_char(i, 'FM00') || '.png', 'freya'), 'receipt ' || i + 10) from generate_series(1, 10) as i;
update storage.objects set created_at = now() - interval '1 day' where bucket_id = 'receipts';
select throws_ok(put(user_id('freya') || '/1700000500.png', 'freya'), '42501', 'You have stored 20 receipts or 50 MB. Contact support to add more.', 'twenty are enough');

-- Who opens receipts
select claims_deposit('ask', 50);
select act_as('elin');
select is(find_receipt(receipt_url) ->> 'bucket', 'receipts', 'finance finds a deposit''s receipt') from deposits where user_id = user_id('ask');
select raises(format('select find_receipt(%L)', u), 404, 'not_found', 'There is no deposit with this receipt.', 'not a receipt: ' || u)
from unnest(array['http://127.0.0.1:5432', 'file:///etc/passwd', 'http://h/storage/v1/object/public/other/x.png', '../../x', 'http://h/object/public/receipts/' || user_id('freya') || '/1700000000.png', '']) as u;
select act_as('sam');
select raises($$ select find_receipt('x') $$, 403, 'forbidden', 'A support admin cannot do this.', 'support opens none');
select act_as_owner();
select is((select count(*) from private.audit_log where action = 'deposit.receipt_opened' and actor = 'admin:' || user_id('elin')), 1::bigint, 'opening one is audited');

-- Behind the trigger stands a policy
select act_as_owner();
alter table storage.objects disable trigger harborline_receipts_validate;
select act_as('ask');
select throws_ok(put(n), '42501', 'new row violates row-level security policy for table "objects"', 'the policy alone rejects ' || n)
from unnest(array[user_id('freya') || '/1800000000.png', user_id('ask') || '/x.png', '1800000000.png']) as n;
select throws_ok(put(user_id('ask') || '/1800000000.png', 'freya'), '42501', 'new row violates row-level security policy for table "objects"', 'and another owner');

-- 50 MB are enough too
select act_as_owner();
alter table storage.objects enable trigger harborline_receipts_validate;
insert into storage.objects (bucket_id, name, owner_id, metadata)
values ('receipts', user_id('embla') || '/1700000000.png', user_id('embla')::text, '{"mimetype": "image/png", "size": 52428800}');
select act_as('embla');
select throws_ok(put(user_id('embla') || '/1700000001.png'), '42501', 'You have stored 20 receipts or 50 MB. Contact support to add more.', 'after 50 MB nothing more is stored');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Receipts without a deposit
-- =====================================================================================================================
create function pg_temp.upload(p_name text, p_age interval) returns text language sql as $$
    insert into storage.objects (bucket_id, name, owner, owner_id, metadata, version, created_at)
    values (
        'receipts', actors.user_id('freya') || '/' || p_name, actors.user_id('freya'), actors.user_id('freya')::text,
        '{"mimetype": "image/png", "size": 10, "eTag": "\"x\""}', gen_random_uuid()::text, clock_timestamp() - p_age
    ) returning name
$$;
create function pg_temp.unused() returns bigint language sql as $$
    select count(*) from jobs.unused_receipts(1000) as u where u.name like actors.user_id('freya') || '/%'
$$;
select is(pg_temp.unused(), 0::bigint, 'nothing was uploaded yet');
select pg_temp.upload('1000000000001.png', interval '25 hours');
select pg_temp.upload('1000000000002.png', interval '23 hours');
select pg_temp.upload('1000000000003.png', interval '30 days');
select is(pg_temp.unused(), 2::bigint, 'two were uploaded more than a day ago');
select is(
    (select u.name from jobs.unused_receipts(1) as u where u.name like actors.user_id('freya') || '/%'),
    actors.user_id('freya') || '/1000000000003.png', 'the oldest comes first'
);

select act_as('freya');
select lives_ok(
    format(
        $$ insert into deposits (user_id, amount, reference_number, receipt_url, status)
           values (%L, 100, 'unused-receipts-1', 'http://x/storage/v1/object/public/receipts/%s/1000000000003.png', 'pending') $$,
        user_id('freya'), user_id('freya')
    ), 'Freya uses one of them after all'
);
select act_as_owner();
select is(pg_temp.unused(), 1::bigint, 'and it is none any more');
select set_config('storage.allow_delete_query', 'true', true);
select throws_ok(
    format($$ delete from storage.objects where name = '%s/1000000000003.png' $$, user_id('freya')),
    '42501', 'A receipt of a deposit is kept.', 'no role can remove it, not the owner either'
);
select lives_ok(
    format($$ delete from storage.objects where name = '%s/1000000000001.png' $$, user_id('freya')), 'the other one goes'
);
select throws_ok(
    'delete from storage.objects where bucket_id = ''receipts''', '42501', 'A receipt of a deposit is kept.', 'all at once do not'
);
select * from finish();
rollback;
