-- Run after network.py has filled the database: the rest of 20,000 deposits, rejected long ago, and passwords.
-- Triggers are off, so this writes what they would.
set session_replication_role = replica;
create temporary table more as
select
    p.user_id, gen_random_uuid() as id, 25 + i.no % 60 as amount, md5('more' || i.no) || md5('most' || i.no) as reference,
    p.user_id || '/' || (1500000000000 + i.no) || '.png' as receipt, p.created_at + interval '3 days' as created_at,
    private.last_decision_no() + i.no as decision_no
from generate_series(1, 20000 - (select count(*) from public.deposits)::integer) as i (no)
inner join private.positions as o on o.no = 1 + i.no % (select count(*) from private.positions)
inner join private.profiles as p on o.user_id = p.user_id;

update private.last_decision set no = (select max(m.decision_no) from more as m) where exists (select from more);
insert into public.deposits (
    id, user_id, amount, reference_number, receipt_url, status, admin_notes, created_at, decided_at, decided_by, kind, reference_key,
    decision_no
)
select
    m.id, m.user_id, m.amount, m.reference, 'http://127.0.0.1/storage/v1/object/public/receipts/' || m.receipt, 'rejected', 'No such transfer',
    m.created_at, m.created_at + interval '1 hour', a.id, 'cash_in', m.reference, m.decision_no
from more as m cross join (select d.id from private.admin_users as d limit 1) as a;

insert into private.transfer_keys (request_id, key, kind, is_payout) select m.id, m.reference, 'hash', false from more as m;
insert into private.deposit_receipts (deposit_id, name) select m.id, m.receipt from more as m;
insert into private.request_texts (request_id, text) select m.id, m.reference from more as m;

insert into storage.objects (bucket_id, name, owner_id, metadata, created_at)
select 'receipts', m.receipt, m.user_id::text, '{"mimetype": "image/png", "size": 20480}', m.created_at from more as m;

insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
select m.user_id, m.amount, 'deposit', 'failed', m.id, m.created_at, m.decision_no from more as m;
drop table more;
delete from public.bot_subscriptions;
update private.counters as c set value = f.value
from (
    select 'deposits_rejected_count' as name, count(*) as value from public.deposits as d where d.status = 'rejected'
    union all
    select 'subscriptions_' || s.status, 0 from unnest(array['active', 'suspended', 'cancelled']) as s (status)
) as f
where c.name = f.name;

-- A fifth of those with a package, so with a wallet, can sign in. Nearly all have a hash that costs nothing to check, so that they are signed in within
-- seconds; every tenth of them has one of the usual cost, for the sign-ins of the load.
update auth.users as u set
    encrypted_password = current_setting(case when p.no % 50 = 0 then 'load.usual' else 'load.cheap' end),
    confirmation_token = '', recovery_token = '', email_change = '', email_change_token_new = ''
from private.positions as p
where p.user_id = u.id and p.no % 5 = 0 and p.package_cents > 0;
reset session_replication_role;

insert into private.audit_log (at, actor, action, object_type, object_id, payload)
select d.at, d.actors[1], d.action, d.object_type, d.object_id, d.facts || jsonb_strip_nulls(jsonb_build_object('actor_role', d.roles[1]))
from private.due_audit_entries as d
where not exists (select 1 from private.audit_log as l where l.object_id = d.object_id and l.action = d.action);
select private.link_entries();
