-- What the product would have written for a network of members; read by network.py in four parts. Triggers are
-- off, so each part writes what they keep.
set session_replication_role = replica;
set synchronous_commit = off;
set maintenance_work_mem = '512MB';
set work_mem = '128MB';
set timezone = 'UTC';
-- The linker holds it while it waits for the tables.
select private.lock_audit_log();
truncate
    auth.users, storage.objects, private.profiles, private.audit_log, private.outbox, private.counter_deltas,
    private.admin_notices, private.admin_users, private.username_reservations, private.sign_in_failures, private.flow_days,
    private.flow_deltas, private.network_deltas, private.coverage_days, private.income_disclosures, private.ledger_changes,
    private.ledger_slices
restart identity cascade;
-- The chain begins anew too.
update private.ledger_check_state set anchored_seq = null, anchored_hash = null, seen_seq = null;
create temporary table members (
    no integer, referrer_no integer, child_no integer, children integer, depth integer, jump_no integer, joined bigint,
    username text, display_name text, bought integer[], cash_in boolean, pending boolean, rejected boolean
);
create function pg_temp.id(kind text, no bigint) returns uuid language sql immutable as $$ select md5(kind || no)::uuid $$;

-- then
insert into private.admin_users (id, email, full_name, role, password_hash)
values (pg_temp.id('admin', 1), 'bench@admins.test', 'Bench', 'super_admin', '$argon2id$none');

create temporary table people as
select
    m.no, m.referrer_no, m.child_no, m.children, m.bought, m.cash_in, m.pending, m.rejected, m.username, m.display_name, m.depth, m.jump_no,
    pg_temp.id('profile', m.no) as id,
    pg_temp.id('user', m.no) as user_id,
    lower(m.username) || '@members.test' as email,
    'T' || translate(md5('wallet' || m.no), '0', 'z') || 'k' as wallet,
    date_trunc('day', now()) - interval '720 days' + m.joined * interval '1 microsecond' as joined_at,
    coalesce(m.bought[cardinality(m.bought)], 0) as package
from members as m;
create unique index on people (no);
analyze people;

create temporary table claims as
select
    p.no, p.user_id, c.k, c.amount, c.kind, c.status,
    case when c.status <> 'pending' then row_number() over (order by p.no, c.k) end as decision_no,
    pg_temp.id('deposit', p.no * 100::bigint + c.k) as id,
    p.joined_at + c.k * interval '7 hours' as created_at,
    p.user_id || '/' || (1600000000000 + p.no * 100::bigint + c.k) || '.png' as receipt_name
from people as p
cross join lateral (
    select b.k, b.amount::numeric, case when b.k = 1 then 'first' else 'upgrade' end as kind, 'approved' as status
    from unnest(p.bought) with ordinality as b (amount, k)
    union all
    select 20, 37.50, 'cash_in', 'approved' where p.cash_in
    union all
    select 21, 500, case when p.package = 0 then 'first' else 'upgrade' end, 'pending' where p.pending and p.package < 500
    union all
    select 22, 1000, case when p.package = 0 then 'first' else 'upgrade' end, 'rejected' where p.rejected and p.package < 1000
) as c;
create index on claims (no);
analyze claims;

insert into auth.users (id, instance_id, aud, role, email, encrypted_password, email_confirmed_at, created_at, updated_at, raw_app_meta_data, raw_user_meta_data)
select p.user_id, '00000000-0000-0000-0000-000000000000', 'authenticated', 'authenticated', p.email, '$2a$10$none', p.joined_at, p.joined_at, p.joined_at, '{}', '{}'
from people as p;

insert into private.profiles (
    id, user_id, username, display_name, email, referrer_id, package_value, cash_in_amount, trc20_wallet_address, created_at, depth, jump
)
select
    p.id, p.user_id, p.username, p.display_name, p.email, case when p.referrer_no is not null then pg_temp.id('profile', p.referrer_no) end,
    p.package, coalesce((select sum(c.amount) from claims as c where c.no = p.no and c.status = 'approved'), 0),
    case when p.package > 0 or p.pending or p.no % 4 > 0 then p.wallet end, p.joined_at, p.depth, pg_temp.id('profile', p.jump_no)
from people as p order by p.no;

insert into private.positions (no, user_id, referrer_no, child_no, package_cents, paid_cents, children, joined_at, paid_order)
overriding system value
select
    p.no, p.user_id, p.referrer_no, p.child_no, p.package * 100, p.package * 100, p.children, p.joined_at,
    case when p.package > 0 then (select min(c.decision_no) from claims as c where c.no = p.no and c.status = 'approved') end
from people as p order by p.no;

insert into public.deposits (
    id, user_id, amount, reference_number, receipt_url, status, admin_notes, created_at, decided_at, decided_by, kind, reference_key, decision_no
)
select
    c.id, c.user_id, c.amount, r.reference, 'http://127.0.0.1/storage/v1/object/public/receipts/' || c.receipt_name, c.status::public.request_status,
    case c.status when 'rejected' then 'No such transfer' end, c.created_at,
    case when c.status <> 'pending' then c.created_at + interval '40 minutes' end,
    case when c.status <> 'pending' then pg_temp.id('admin', 1) end,
    c.kind, r.reference, c.decision_no
from claims as c
cross join lateral (select md5('reference' || c.id) || md5('hash' || c.id) as reference) as r
order by c.created_at;

insert into private.transfer_keys (request_id, key, kind, is_payout) select d.id, d.reference_key, 'hash', false from public.deposits as d;
insert into private.deposit_receipts (deposit_id, name) select c.id, c.receipt_name from claims as c;
insert into private.request_texts (request_id, text) select d.id, lower(d.reference_number) from public.deposits as d;

-- Of one in five hundred the rest was asked for, and came.
insert into private.deposit_rests (deposit_id, no, received_amount, asked_by, asked_at, reference_number, referenced_at, ended_at)
select
    d.id, 1, d.amount - 20, pg_temp.id('admin', 1), d.created_at + interval '10 minutes', md5('rest' || d.id) || md5('hash' || d.reference_key),
    d.created_at + interval '20 minutes', d.decided_at
from public.deposits as d where d.reference_key < '008';
insert into private.transfer_keys (request_id, key, kind, is_payout) select r.deposit_id, r.reference_number, 'hash', false from private.deposit_rests as r;
insert into private.request_texts (request_id, text) select r.deposit_id, r.reference_number from private.deposit_rests as r;

insert into storage.objects (bucket_id, name, owner_id, metadata, created_at)
select 'receipts', c.receipt_name, c.user_id::text, '{"mimetype": "image/png", "size": 20480}', c.created_at from claims as c;

insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
select
    c.user_id, c.amount, 'deposit',
    case c.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end::public.transaction_status, c.id, c.created_at,
    c.decision_no
from claims as c order by c.created_at;

insert into public.notifications (user_id, kind, title, body, amount, link, read_at, created_at)
select
    c.user_id, 'deposit_' || c.status, 'Deposit ' || c.status, 'Your deposit was ' || c.status || '.', c.amount, '/transactions',
    case when c.no % 5 > 0 then c.created_at + interval '1 day' end, c.created_at + interval '40 minutes'
from claims as c where c.status <> 'pending' order by c.created_at;

-- then
analyze private.positions;
create temporary table funded as
select c.no, min(c.created_at) + interval '40 minutes' as at from claims as c where c.status = 'approved' group by c.no;
create unique index on funded (no);
analyze funded;
create index positions_left_now on private.positions (referrer_no, pair_no) include (no, paid_cents) where is_left;
create index positions_right_now on private.positions (referrer_no, pair_no) include (no, paid_cents) where not is_left;

insert into public.bonuses (user_id, source_user_id, bonus_type, amount, created_at, pair_number, rate, volume, subject_no)
select u.user_id, s.user_id, d.bonus_type::public.bonus_type, d.cents * 0.01, d.at, d.pair_no, d.rate, d.volume_cents * 0.01, d.subject_no
from (
    select 'referral' as bonus_type, r.subject_no, null::integer as pair_no, r.user_no, r.subject_no as source_no, r.volume_cents, r.rate, r.cents, f.at
    from private.due_referrals as r inner join funded as f on r.subject_no = f.no
    union all
    select 'pairing', q.subject_no, q.pair_no, q.user_no, case when q.left_no > q.right_no then q.left_no else q.right_no end, q.volume_cents, q.rate, q.cents, greatest(l.at, r.at, o.at)
    from private.due_pairings as q
    inner join funded as l on q.left_no = l.no
    inner join funded as r on q.right_no = r.no
    inner join funded as o on q.subject_no = o.no
    union all
    select 'override', v.subject_no, v.pair_no, v.user_no, v.subject_no, v.volume_cents, v.rate, v.cents, greatest(l.at, r.at)
    from private.due_overrides as v
    inner join private.pairs as q on v.subject_no = q.owner_no and v.pair_no = q.pair_no
    inner join funded as l on q.left_no = l.no
    inner join funded as r on q.right_no = r.no
) as d
inner join people as u on d.user_no = u.no
inner join people as s on d.source_no = s.no
order by d.at, d.subject_no;
drop index private.positions_left_now, private.positions_right_now;
analyze public.bonuses;

insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
select b.user_id, b.amount, 'bonus', 'completed', b.id, b.created_at, (select max(c.decision_no) from claims as c) from public.bonuses as b;

create temporary table earned as
select
    b.user_id,
    coalesce(sum(b.amount) filter (where b.bonus_type = 'referral'), 0) as referral,
    count(*) filter (where b.bonus_type = 'referral') as referrals,
    coalesce(sum(b.amount) filter (where b.bonus_type = 'pairing'), 0) as pairing,
    count(*) filter (where b.bonus_type = 'pairing') as pairings,
    coalesce(sum(b.amount) filter (where b.bonus_type = 'override'), 0) as override,
    count(*) filter (where b.bonus_type = 'override') as overrides,
    sum(b.reentry_amount) as reentry,
    sum(b.amount) as total
from public.bonuses as b group by b.user_id;

create temporary table payouts as
select
    p.no, p.user_id, p.wallet, w.status, w.amount,
    case when w.status <> 'pending' then (select max(c.decision_no) from claims as c) + row_number() over (order by p.no, w.k) end as decision_no,
    pg_temp.id('withdrawal', p.no * 10::bigint + w.k) as id, w.created_at
from earned as e
inner join people as p on e.user_id = p.user_id
cross join lateral (
    select 1 as k, 'approved' as status, 100 * floor(e.total / 200) as amount, now() - interval '9 days' - p.no % 80 * interval '1 hour' as created_at
    where e.total >= 200 and p.no % 3 = 0
    union all
    select 2, 'pending', 100, now() - interval '1 day' - p.no % 20 * interval '1 hour' where e.total >= 220 and p.no % 7 = 0
    union all
    select 3, 'rejected', 100, now() - interval '20 days' where e.total >= 220 and p.no % 11 = 0
) as w
where p.package > 0;

insert into public.withdrawals (id, user_id, amount, wallet_address, status, admin_notes, created_at, decided_at, decided_by, payout_reference, payout_at, decision_no)
select
    w.id, w.user_id, w.amount, w.wallet, w.status::public.request_status, case w.status when 'rejected' then 'Wrong network' end, w.created_at,
    case when w.status <> 'pending' then w.created_at + interval '1 day' end,
    case when w.status <> 'pending' then pg_temp.id('admin', 1) end,
    case when w.status = 'approved' and w.no % 2 = 0 then md5('payout' || w.no) end,
    case when w.status = 'approved' and w.no % 2 = 0 then w.created_at + interval '2 days' end, w.decision_no
from payouts as w order by w.created_at;
insert into private.request_texts (request_id, text) select w.id, lower(w.wallet) from payouts as w;
insert into private.transfer_keys (request_id, key, kind, is_payout)
select w.id, w.payout_reference, 'text', true from public.withdrawals as w where w.payout_reference is not null;

insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
select
    w.user_id, -w.amount, 'withdrawal',
    case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end::public.transaction_status, w.id, w.created_at,
    w.decision_no
from payouts as w order by w.created_at;

update public.transactions as t set balance_after = b.due_balance
from private.running_balances as b where t.id = b.id and b.due_balance is not null;

insert into private.totals (
    user_id, referral_amount, referral_count, pairing_amount, pairing_count, override_amount, override_count, reentry_amount,
    withdrawn_amount, reserved_amount
)
select
    p.user_id, coalesce(e.referral, 0), coalesce(e.referrals, 0), coalesce(e.pairing, 0), coalesce(e.pairings, 0),
    coalesce(e.override, 0), coalesce(e.overrides, 0), coalesce(e.reentry, 0), coalesce(w.approved, 0), coalesce(w.pending, 0)
from people as p
left join earned as e on p.user_id = e.user_id
left join (
    select x.user_id, sum(x.amount) filter (where x.status = 'approved') as approved, sum(x.amount) filter (where x.status = 'pending') as pending
    from payouts as x group by x.user_id
) as w on p.user_id = w.user_id
order by p.no;

-- then
select setval(pg_get_serial_sequence('private.positions', 'no'), (select max(no) from people));
update private.last_decision set no = (select max(t.decision_no) from public.transactions as t);
select setval('private.bonus_revision_seq', 2);
update private.reconcile_state set bonus_revision = -1, ran_at = null, repaired = 0;
update private.ledger_check_state set checked_at = null, violations = 0, rules = '{}', whole_at = null, seen_since = null, seen_seq = null, sums_at = null;
update private.audit_state set final_id = 0, seen_id = 0, seen_until = null, earlier_id = 0;
insert into public.bot_subscriptions (user_id, bot_name, status, mt5_server, mt5_login, mt5_password_length, subscribed_at)
select
    p.user_id, b.bot_name, b.status::public.subscription_status, 'MT5-' || p.no % 7, (700000 + p.no)::text,
    case when b.status <> 'cancelled' then 12 end, p.joined_at + b.days * interval '1 day'
from people as p
cross join (values ('Scout', 'active', 2, 9), ('Ranger', 'suspended', 9, 97), ('Sentinel', 'cancelled', 5, 31)) as b (bot_name, status, days, one_in)
where p.no % b.one_in = 0
order by p.no;

update private.counters as c set value = coalesce(f.value, 0)
from (
    select 'profiles' as name, (select count(*) from private.profiles)::numeric as value
    union all select 'active_profiles', (select count(*) from private.profiles as p where p.package_value > 0)
    union all select 'verified_profiles', (select count(*) from private.profiles as p where p.account_verified)
    union all select 'package_investment', (select sum(p.package_value) from private.profiles as p)
    union all select 'pending_deposits', (select count(*) from public.deposits as d where d.status = 'pending')
    union all select 'pending_withdrawals', (select count(*) from public.withdrawals as w where w.status = 'pending')
    union all select 'deposits_approved', (select sum(d.amount) from public.deposits as d where d.status = 'approved')
    union all select 'withdrawals_approved', (select sum(w.amount) from public.withdrawals as w where w.status = 'approved')
    union all select 'deposits_approved_count', (select count(*) from public.deposits as d where d.status = 'approved')
    union all select 'deposits_rejected_count', (select count(*) from public.deposits as d where d.status = 'rejected')
    union all select 'withdrawals_approved_count', (select count(*) from public.withdrawals as w where w.status = 'approved')
    union all select 'withdrawals_paid_count', (select count(w.payout_reference) from public.withdrawals as w)
    union all select 'withdrawals_rejected_count', (select count(*) from public.withdrawals as w where w.status = 'rejected')
    union all select 'bonuses', (select sum(b.amount) from public.bonuses as b)
    union all select 'bonus_rows', (select count(*) from public.bonuses)
    union all select 'bonus_transactions', (select count(*) from public.transactions as t where t.transaction_type = 'bonus')
    union all select 'bonus_volume', (select sum(abs(t.amount)) from public.transactions as t where t.transaction_type = 'bonus')
    union all select 'reserved', (select sum(w.amount) from public.withdrawals as w where w.status = 'pending')
    union all select 'shortfall', (
        select sum(greatest(t.withdrawn_amount + t.reserved_amount - t.bonus_amount, 0)) from private.totals as t
    )
    union all select 'subscriptions_' || b.status, count(*) from public.bot_subscriptions as b group by b.status
) as f
where c.name = f.name;

-- The days that charts read.
insert into private.earning_days (no, day, referral, pairing, override)
select
    p.no,
    (t.created_at at time zone 'UTC')::date,
    coalesce(sum(t.amount) filter (where b.bonus_type = 'referral'), 0),
    coalesce(sum(t.amount) filter (where b.bonus_type = 'pairing'), 0),
    coalesce(sum(t.amount) filter (where b.bonus_type = 'override'), 0)
from public.transactions as t
inner join public.bonuses as b on t.reference_id = b.id
inner join people as p on t.user_id = p.user_id
where t.transaction_type = 'bonus'
group by 1, 2;
insert into private.flow_days (day, deposits, withdrawals, decided_deposits)
select f.day, sum(f.deposits), sum(f.withdrawals), sum(f.decided)
from (
    select (d.created_at at time zone 'UTC')::date as day, d.amount as deposits, 0 as withdrawals, 0 as decided
    from public.deposits as d where d.status = 'approved'
    union all
    select (d.decided_at at time zone 'UTC')::date, 0, 0, d.amount from public.deposits as d where d.status = 'approved'
    union all
    select (w.created_at at time zone 'UTC')::date, 0, w.amount, 0 from public.withdrawals as w where w.status = 'approved'
) as f
group by f.day;
update private.networks as n set direct_cents = c.cents, direct_funded = c.funded
from (
    select o.referrer_no, sum(o.package_cents) as cents, count(*) as funded
    from private.positions as o where o.package_cents > 0 group by o.referrer_no
) as c
where n.no = c.referrer_no;
analyze private.networks, private.positions, private.profiles;
-- Nothing is known of a table that was empty: reading all days for each team would look cheap, also through the index.
set enable_seqscan = off;
set enable_mergejoin = off;
set enable_hashjoin = off;
select private.backfill_team_days(array(select n.no from private.networks as n where n.members > 500), null);
reset enable_seqscan;
reset enable_mergejoin;
reset enable_hashjoin;

-- What else fills while members come and act: sign-ins, mail, notices, reservations, and a tenth of the audit log.
insert into auth.sessions (id, user_id, created_at, updated_at, aal)
select pg_temp.id('session', p.no), p.user_id, p.joined_at, p.joined_at, 'aal1' from people as p where p.no % 3 = 0;
insert into private.bot_secrets (subscription_id, key_id, secret)
select b.id, 'bench', 'encrypted' from public.bot_subscriptions as b where b.status <> 'cancelled';
insert into private.mail_choices (user_id, topic, wanted)
select p.user_id, t.topic, not t.wanted_at_first from people as p cross join private.mail_topics as t where p.no % 6 = 0;
insert into auth.refresh_tokens (instance_id, user_id, token, session_id, created_at, updated_at, revoked)
select '00000000-0000-0000-0000-000000000000', s.user_id, md5(s.id::text), s.id, s.created_at, s.created_at, false from auth.sessions as s;
insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
select md5('amr' || s.id)::uuid, s.id, s.created_at, s.created_at, 'password' from auth.sessions as s;
insert into public.lesson_progress (user_id, lesson_id) select p.user_id, 'packages' from people as p where p.no % 4 = 0;
insert into private.outbox (template, recipient, created_at, sent_at, failed_at)
select 'deposit_approved', p.email, m.at, case when p.no % 500 > 0 then m.at end, case when p.no % 1000 = 500 then m.at end
from people as p
cross join lateral (select now() - p.no % 20 * interval '1 day' - interval '1 hour' as at) as m
where p.no % 10 = 0;
insert into private.admin_notices (kind, title, body, created_at)
select 'bot_subscribed', 'Scout: new subscription', p.username || ' subscribed to Scout.', p.joined_at from people as p where p.no % 9 = 0;
insert into private.username_reservations (username, email, until)
select 'new_' || p.no, p.email, now() + interval '1 day' from people as p where p.no % 50 = 0;
create temporary table entries as
select d.at, coalesce(d.actors[1], 'admin:' || pg_temp.id('admin', 1)) as actor, d.action, d.object_type, d.object_id,
    d.facts || jsonb_strip_nulls(jsonb_build_object('actor_role', d.roles[1])) as payload
from private.due_audit_entries as d
union all
select a.created_at, 'system', 'admin.created', 'admin_user', a.id,
    private.administrator_entry(a.id)
from private.admin_users as a
union all
select p.created_at, 'member:' || p.user_id, 'member.joined', 'profile', p.id,
    jsonb_build_object('state', private.member_state(p) || jsonb_build_object('revision', p.revision))
from private.profiles as p
order by 1;
-- The trigger makes their hashes.
set session_replication_role = origin;
insert into private.audit_log (at, actor, action, object_type, object_id, payload)
select e.at, e.actor, e.action, e.object_type, e.object_id, e.payload from entries as e;
select private.backfill_states();
select private.link_entries();

drop table members, people, claims, funded, earned, payouts, entries;
