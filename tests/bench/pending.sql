-- Pending deposits of some members for their next packages, as the requests would have written them.
with wanted as (
    select
        o.user_id, k.value as amount, case when o.package_cents = 0 then 'first' else 'upgrade' end as kind,
        replace(gen_random_uuid() || '' || gen_random_uuid(), '-', '') as reference,
        o.user_id || '/' || (extract(epoch from clock_timestamp()) * 1000000)::bigint || '.png' as receipt_name
    from unnest(%s::integer[]) as n (no)
    inner join private.positions as o on n.no = o.no
    cross join lateral (
        select s.value from private.packages as s where s.value_cents > o.package_cents order by s.value limit 1
    ) as k
), receipts as (
    insert into storage.objects (bucket_id, name, owner_id, metadata)
    select 'receipts', w.receipt_name, w.user_id::text, '{"mimetype": "image/png"}' from wanted as w
), asked as (
    insert into public.deposits (user_id, amount, reference_number, receipt_url, kind, reference_key)
    select w.user_id, w.amount, w.reference, 'http://127.0.0.1/' || w.receipt_name, w.kind, w.reference
    from wanted as w
    returning id, user_id, amount, created_at, reference_key
), files as (
    insert into private.deposit_receipts (deposit_id, name)
    select a.id, w.receipt_name from asked as a inner join wanted as w on a.reference_key = w.reference
), keys as (
    insert into private.transfer_keys (request_id, key, kind, is_payout) select a.id, k.key, k.kind, false from asked as a, private.due_transfer_keys(a.reference_key) as k
), texts as (
    insert into private.request_texts (request_id, text) select a.id, a.reference_key from asked as a
), row_counts as (
    insert into private.counter_deltas (name, delta) select 'pending_deposits', count(*) from wanted
)
insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
select a.user_id, a.amount, 'deposit', 'pending', a.id, a.created_at from asked as a
returning reference_id::text
