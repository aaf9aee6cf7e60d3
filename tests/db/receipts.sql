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
select throws_ok(put(user_id('freya') || '/1700000500.png', 'freya'), '42501', 'You have 20 receipts or 50 MB that no deposit uses. They are deleted after a day.', 'twenty are enough');

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
select throws_ok(put(user_id('embla') || '/1700000001.png'), '42501', 'You have 20 receipts or 50 MB that no deposit uses. They are deleted after a day.', 'after 50 MB nothing more is stored');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Receipts of deposits
-- =====================================================================================================================
create function actors.put(p_number integer) returns text language sql as $$
    select format(
        'insert into storage.objects (bucket_id, name, owner_id, metadata) values (%L, %L, %L, %L)',
        'receipts', auth.uid() || '/' || 1800000000 + p_number || '.png', auth.uid(), '{"mimetype": "image/png", "size": 5242880}'
    )
$$;
grant execute on all functions in schema actors to public;

-- Freya sends twenty deposits in a day and takes them back, with receipts of 5 MB.
create function actors.sends_and_cancels(p_name text) returns void language plpgsql as $$
declare
    v_receipt text := upload(p_name);
    v_id uuid := gen_random_uuid();
begin
    update storage.objects set metadata = metadata || '{"size": 5242880}' where name = split_part(v_receipt, '/receipts/', 2);
    perform act_as(p_name);
    insert into public.deposits (id, user_id, amount, reference_number, receipt_url) values (v_id, user_id(p_name), 50, v_id::text, v_receipt);
    perform cancel_request(v_id);
    perform act_as_owner();
end
$$;
select lives_ok($$ select sends_and_cancels('freya') $$, 'deposit ' || i || ' of the day, although no deposit counts') from generate_series(1, 19) as i;
select lives_ok($$ select pays('freya', 50) $$, 'the twentieth is approved');
select act_as('freya');
select throws_ok(put(1), '42501', 'You have uploaded 20 receipts within a day. Try again tomorrow.', 'the day''s uploads are limited');
select act_as_owner();
select is((select count(*) from storage.objects where owner_id = user_id('freya')::text), 20::bigint, 'nothing more was stored');
select jobs.purge();
select is((select count(*) from private.receipt_uploads where name like user_id('freya') || '/%'), 20::bigint, 'the day''s are remembered');
update storage.objects set created_at = now() - interval '1 day' where bucket_id = 'receipts';
select act_as('freya');
select lives_ok(put(1), 'on the next day a receipt is stored: what deposits use is in nobody''s way, rejected or approved');
select lives_ok(put(i), 'unused receipt ' || i) from generate_series(2, 10) as i;
select act_as_owner();
update storage.objects set created_at = now() - interval '2 hours' where name like '%/18%';
select act_as('freya');
select throws_ok(put(11), '42501', 'You have 20 receipts or 50 MB that no deposit uses. They are deleted after a day.', 'ten of 5 MB that no deposit uses are enough');
select act_as_owner();
select is((select count(*) from private.receipt_uploads where name like user_id('freya') || '/%'), 30::bigint, 'all are remembered');
select jobs.purge();
select is((select count(*) from private.receipt_uploads where name like user_id('freya') || '/%'), 10::bigint, 'until no limit counts them');
update storage.objects set created_at = now() - interval '1 day' where name like '%/18%';
select jobs.purge();
select is((select count(*) from private.receipt_uploads where name like user_id('freya') || '/%'), 10::bigint, 'an unused one is');

-- Ask has been a member for ten years and sent a deposit every day.
set local session_replication_role = replica;
create temporary table sent as
select user_id('ask') || '/' || 1400000000 + i || '.png' as name, now() - i * interval '1 day' as at from generate_series(1, 3650) as i;
insert into storage.objects (bucket_id, name, owner_id, metadata, created_at)
select 'receipts', s.name, user_id('ask')::text, '{"mimetype": "image/png", "size": 5242880}', s.at from sent as s;
insert into public.deposits (user_id, amount, reference_number, receipt_url, kind, reference_key, created_at)
select user_id('ask'), 50, s.name, s.name, 'cash_in', s.name, s.at from sent as s;
insert into private.deposit_receipts (deposit_id, name) select d.id, d.receipt_url from public.deposits as d inner join sent as s on d.receipt_url = s.name;
set local session_replication_role = origin;
-- As autovacuum would.
analyze storage.objects, private.deposit_receipts;
create function pg_temp.entries_read() returns bigint language sql as $$
    select sum(pg_stat_get_xact_tuples_returned(c.oid))::bigint
    from pg_class as c left join pg_index as i on c.oid = i.indexrelid
    where coalesce(i.indrelid, c.oid) = any(array['storage.objects', 'private.deposit_receipts']::regclass[])
$$;
create temporary table read_before as select pg_temp.entries_read() as entries;
select act_as('ask');
select lives_ok(put(1), 'a receipt after ten years of deposits');
select act_as_owner();
select cmp_ok(pg_temp.entries_read() - (select entries from read_before), '<', 50::bigint, 'is stored without reading all that came before');
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
