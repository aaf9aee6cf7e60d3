begin;
\ir ../support/actors.sql
select plan(8);
-- threats: T101
select family();
select act_as_owner();
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
    '42501', 'A receipt of a deposit is kept.', 'nobody can remove it, not the owner either'
);
select lives_ok(
    format($$ delete from storage.objects where name = '%s/1000000000001.png' $$, user_id('freya')), 'the other one goes'
);
select throws_ok(
    'delete from storage.objects where bucket_id = ''receipts''', '42501', 'A receipt of a deposit is kept.', 'all at once do not'
);

select * from finish();
rollback;
