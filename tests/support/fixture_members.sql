-- A group of members on which every operation on money can be carried out: grand above referrer above member; the
-- member has a paying pair (one, two), a third child with a pending first package, and a funded fourth. The first
-- group is built through the product's own rules; race.groups(n) copies it row by row, because a race uses one
-- up and there are hundreds. Both return the ids by label.

create schema race;
grant usage on schema race to public;
alter default privileges in schema race grant execute on functions to public;
-- Paused inside a transaction: whoever sets race.barrier stops before the first row it writes.
create function race.wait() returns trigger
language plpgsql as $$
begin
    if nullif(current_setting('race.barrier', true), '') is not null then
        perform pg_advisory_xact_lock_shared(current_setting('race.barrier')::bigint);
    end if;
    return null;
end
$$;
do $$
declare
    v_table text;
begin
    foreach v_table in array array[
        'private.profiles', 'private.positions', 'private.totals', 'public.deposits', 'public.withdrawals', 'public.bonuses',
        'public.transactions', 'private.corrections', 'public.notifications', 'private.audit_log'
    ] loop
        execute format(
            'create trigger _000_barrier before insert or update on %s for each statement execute function race.wait()', v_table
        );
    end loop;
end
$$;

create table race.administrators as
select n as name, private.create_administrator(n || '@race.example', initcap(n), 'super_admin', '$argon2id$x') as id
from unnest(array['ada', 'bea']) as n;

-- Each is signed in for as long as the races last: the session's id is the administrator's, its secret the name.
insert into public.admin_sessions (session_token, admin_id, expires_at)
select a.id, a.id, now() + interval '8 hours' from race.administrators as a;
insert into private.admin_session_activity (session_token, last_seen_at, jti_hash)
select a.id, now() + interval '8 hours', sha256(convert_to(a.name, 'UTF8')) from race.administrators as a;

create function race.act_as(p_sub uuid, p_role text) returns void
language sql as $$
    select set_config('request.jwt.claims', json_build_object(
        'sub', p_sub, 'role', p_role, 'aal', 'aal2', 'aud', 'authenticated',
        'sid', p_sub, 'jti', (select a.name from race.administrators as a where a.id = p_sub)
    )::text, true),
        set_config('role', p_role, true)
$$;

create function race.act_as_system() returns void
language sql as $$
    select set_config('role', 'none', true), set_config('request.jwt.claims', '', true)
$$;

create function race.join(p_label text, p_referrer uuid) returns jsonb
language plpgsql as $$
declare
    v_user uuid := gen_random_uuid();
    v_name text := 's_' || left(replace(v_user::text, '-', ''), 20);
begin
    insert into auth.users (id, email, email_confirmed_at, raw_user_meta_data)
    values (
        v_user, v_name || '@race.example', now(),
        jsonb_build_object('username', v_name, 'display_name', p_label, 'referrer_id', p_referrer)
    );
    if p_referrer is null then
        perform private.create_root_member(v_user, v_name, p_label);
    end if;
    update private.profiles set trc20_wallet_address = wallets.of(v_user::text) where user_id = v_user;
    perform private.audit('system', 'member.wallet_changed', 'profile', p.id, private.member_entry(p.id, array['wallet']))
    from private.profiles as p where p.user_id = v_user;
    return jsonb_build_object(p_label, v_user, p_label || '_profile', (select id from private.profiles where user_id = v_user));
end
$$;

create function race.receipt(p_user uuid) returns text
language plpgsql as $$
declare
    v_name text := p_user || '/' || lpad(floor(random() * 1e15)::text, 15, '1') || '.png';
begin
    -- Inserted without triggers, because uploads are limited in number.
    perform set_config('session_replication_role', 'replica', true);
    insert into storage.objects (bucket_id, name, owner_id, metadata) values ('receipts', v_name, p_user, '{}');
    perform set_config('session_replication_role', 'origin', true);
    return 'http://localhost/storage/v1/object/public/receipts/' || v_name;
end
$$;

create function race.claim(p_user uuid, p_amount numeric) returns uuid
language sql as $$
    insert into public.deposits (user_id, amount, reference_number, receipt_url)
    values (p_user, p_amount, replace(gen_random_uuid()::text, '-', ''), race.receipt(p_user))
    returning id
$$;

create function race.decide(p_deposit uuid, p_withdrawal uuid) returns void
language plpgsql as $$
begin
    perform race.act_as((select id from race.administrators where name = 'ada'), 'platform_admin');
    if p_deposit is not null then
        perform public.decide_deposit(p_deposit, 'approve');
    else
        perform public.decide_withdrawal(p_withdrawal, 'approve');
    end if;
    perform race.act_as_system();
end
$$;

create function race.ask_rest(p_deposit uuid, p_received numeric) returns void
language plpgsql as $$
begin
    perform race.act_as((select id from race.administrators where name = 'ada'), 'platform_admin');
    perform public.decide_deposit(p_deposit, 'ask_rest', null, p_received);
    perform race.act_as_system();
end
$$;

create function race.propose(p_kind text, p_target uuid, p_value numeric) returns uuid
language plpgsql as $$
declare
    v_id uuid;
begin
    perform race.act_as((select id from race.administrators where name = 'ada'), 'platform_admin');
    v_id := public.propose_correction(p_kind, p_target, p_value, 'race') #>> '{correction,id}';
    perform race.act_as_system();
    return v_id;
end
$$;

create function race.group() returns jsonb
language plpgsql as $$
declare
    f jsonb := race.join('grand', null);
    v_label text;
    v_id uuid;
begin
    f := f || race.join('referrer', (f ->> 'grand_profile')::uuid);
    f := f || race.join('member', (f ->> 'referrer_profile')::uuid);
    f := f || race.join('sibling', (f ->> 'referrer_profile')::uuid);
    foreach v_label in array array['one', 'two', 'third', 'fourth'] loop
        f := f || race.join(v_label, (f ->> 'member_profile')::uuid);
    end loop;
    foreach v_label in array array['referrer', 'sibling', 'member', 'two', 'fourth', 'one'] loop
        v_id := race.claim((f ->> v_label)::uuid, case when v_label = 'member' then 500 else 1000 end);
        perform race.decide(v_id, null);
    end loop;
    -- 5% of three children is 150, 40% of a pair of 2,000 is 800: 950 earned, of which 300 are withdrawn and 400 requested.
    f := f || jsonb_build_object('package_of_one', v_id);
    f := f || jsonb_build_object('first', race.claim((f ->> 'third')::uuid, 1000));
    f := f || jsonb_build_object('upgrade', race.claim((f ->> 'member')::uuid, 1000));
    f := f || jsonb_build_object('cash_in', race.claim((f ->> 'member')::uuid, 7.50));
    f := f || jsonb_build_object('short', race.claim((f ->> 'member')::uuid, 120));
    perform race.ask_rest((f ->> 'short')::uuid, 60);
    insert into public.withdrawals (id, user_id, amount, wallet_address)
    select gen_random_uuid(), (f ->> 'member')::uuid, a, wallets.of(f ->> 'member') from unnest(array[300, 400]) as a;
    f := f || (
        select jsonb_object_agg(case w.amount when 300 then 'unpaid' else 'asked' end, w.id)
        from public.withdrawals as w where w.user_id = (f ->> 'member')::uuid
    );
    perform race.decide(null, (f ->> 'unpaid')::uuid);
    f := f || jsonb_build_object(
        'void_deposit', race.propose('void_deposit', (f ->> 'package_of_one')::uuid, null),
        'void_withdrawal', race.propose('void_withdrawal', (f ->> 'unpaid')::uuid, null),
        'set_package', race.propose('set_package', (f ->> 'member_profile')::uuid, 250),
        'receipt', race.receipt((f ->> 'member')::uuid),
        'new', gen_random_uuid(), 'new_deposit', gen_random_uuid(), 'new_withdrawal', gen_random_uuid()
    );
    return f;
end
$$;

-- Everything a group has, by label and without ids and times: what two orders of the same operations can differ in.
create function race.state(f jsonb) returns jsonb
language sql as $$
    with labels as (
        select l.key as label, l.value::uuid as user_id, p.id, p.package_value, p.cash_in_amount, p.account_status,
            case p.trc20_wallet_address when wallets.of(l.value) then 'own' else p.trc20_wallet_address end as wallet, p.hold_reason, p.closed_at is not null as closed,
            to_jsonb(t) - 'user_id' as sums, o.children, o.paid_cents
        from jsonb_each_text(f) as l
        inner join private.profiles as p on p.user_id::text = l.value
        inner join private.totals as t on t.user_id = p.user_id
        inner join private.positions as o on o.user_id = p.user_id
    )
    select jsonb_build_object(
        'members', (select jsonb_agg(to_jsonb(l) - array['user_id', 'id'] order by l.label) from labels as l),
        'deposits', (
            select jsonb_agg(jsonb_build_array(l.label, d.amount, d.received_amount, d.kind, d.status, d.admin_notes, d.voided_at is not null) order by l.label, d.amount)
            from public.deposits as d inner join labels as l on d.user_id = l.user_id
        ),
        'rests', (
            select jsonb_agg(jsonb_build_array(d.amount, r.no, r.received_amount, r.reference_number is not null, r.ended_at is not null) order by d.amount, r.no)
            from private.deposit_rests as r inner join public.deposits as d on r.deposit_id = d.id inner join labels as l on d.user_id = l.user_id
        ),
        'withdrawals', (
            select jsonb_agg(jsonb_build_array(
                l.label, w.amount, case w.wallet_address when wallets.of(w.user_id::text) then 'own' else w.wallet_address end, w.status, w.admin_notes,
                -- Races pay each withdrawal with a reference of its own, its id, which differs from group to group.
                case w.payout_reference when w.id::text then 'paid' else w.payout_reference end, w.voided_at is not null
            ) order by l.label, w.amount)
            from public.withdrawals as w inner join labels as l on w.user_id = l.user_id
        ),
        'bonuses', (
            select jsonb_agg(jsonb_build_array(l.label, b.bonus_type, s.label, b.pair_number, b.amount, b.rate, b.volume)
                order by l.label, b.bonus_type, s.label, b.pair_number)
            from public.bonuses as b
            inner join labels as l on b.user_id = l.user_id inner join labels as s on b.source_user_id = s.user_id
        ),
        'journal', (
            select jsonb_agg(jsonb_build_array(l.label, t.transaction_type, t.amount, t.status)
                order by l.label, t.transaction_type, t.amount, t.status)
            from public.transactions as t inner join labels as l on t.user_id = l.user_id
        ),
        'notices', (
            select jsonb_agg(jsonb_build_array(l.label, n.kind, n.amount) order by l.label, n.kind, n.amount)
            from public.notifications as n inner join labels as l on n.user_id = l.user_id
        ),
        'audit', (
            select jsonb_agg(jsonb_build_array(l.key, a.action) order by l.key, a.action)
            from private.audit_log as a inner join jsonb_each_text(f) as l on a.object_id::text = l.value
        )
    )
$$;

create function race.copy_id(p_id uuid, p_copy integer) returns uuid
language sql immutable as $$
    select md5(p_copy || ' ' || p_id)::uuid
$$;

create table race.copies (number integer generated always as identity);
create table race.original as select null::jsonb as member_group, null::jsonb as counters with no data;
do $$
declare
    v_before jsonb := (select jsonb_object_agg(c.name, c.value) from private.counter_values() as c);
    v_group jsonb := race.group();
begin
    insert into race.original
    select v_group, jsonb_object_agg(c.name, c.value - (v_before ->> c.name)::numeric) from private.counter_values() as c;
end
$$;

-- The members of the original with the numbers that their copies count from.
create table race.members as
select p.user_id, o.no
from race.original as s, jsonb_each_text(s.member_group) as l, private.profiles as p, private.positions as o
where p.user_id::text = l.value and o.user_id = p.user_id;

create function race.groups(p_count integer) returns setof jsonb
language plpgsql as $$
declare
    v_first integer := coalesce((select max(number) from race.copies), 0) + 1;
    v_last integer := v_first + p_count - 1;
    v_no integer := (select max(no) from private.positions);
    v_decision_no bigint := private.next_decision_no();
    v_low integer := (select min(no) from race.members);
    v_low_decision_no bigint := (select min(d.decision_no) from public.deposits as d where d.user_id in (select m.user_id from race.members as m));
begin
    insert into race.copies overriding system value select generate_series(v_first, v_last);
    -- Rows as the rules left them: no trigger may make them anew.
    perform set_config('session_replication_role', 'replica', true);
    insert into auth.users (id, email, email_confirmed_at, raw_user_meta_data)
    select race.copy_id(u.id, n), race.copy_id(u.id, n) || '@race.example', u.email_confirmed_at, u.raw_user_meta_data
    from generate_series(v_first, v_last) as n, auth.users as u where u.id in (select m.user_id from race.members as m);
    -- Signed in: the session's id is the member's.
    insert into auth.sessions (id, user_id, created_at, updated_at, aal)
    select u.id, u.id, now(), now(), 'aal1'
    from generate_series(v_first, v_last) as n, race.members as m, race.copy_id(m.user_id, n) as u (id);
    insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
    select u.id, u.id, now(), now(), 'password'
    from generate_series(v_first, v_last) as n, race.members as m, race.copy_id(m.user_id, n) as u (id);
    insert into storage.objects (bucket_id, name, owner_id, metadata)
    select o.bucket_id, race.copy_id(m.user_id, n) || substr(o.name, 37), race.copy_id(m.user_id, n)::text, o.metadata
    from generate_series(v_first, v_last) as n, storage.objects as o, race.members as m where o.owner_id = m.user_id::text;
    insert into private.profiles (
        id, user_id, username, display_name, email, referrer_id, package_value, cash_in_amount, trc20_wallet_address,
        created_at, depth, jump
    )
    select race.copy_id(p.id, n), race.copy_id(p.user_id, n), 's_' || left(md5(p.id || ' ' || n), 24), p.display_name,
        race.copy_id(p.user_id, n) || '@race.example', race.copy_id(p.referrer_id, n), p.package_value, p.cash_in_amount,
        wallets.of(race.copy_id(p.user_id, n)::text), p.created_at, p.depth, race.copy_id(p.jump, n)
    from generate_series(v_first, v_last) as n, private.profiles as p where p.user_id in (select m.user_id from race.members as m);
    insert into private.positions (no, user_id, referrer_no, child_no, package_cents, paid_cents, children, joined_at, paid_order)
    overriding system value
    select o.no - v_low + 1 + v_no + (n - v_first) * 16, race.copy_id(o.user_id, n),
        o.referrer_no - v_low + 1 + v_no + (n - v_first) * 16, o.child_no, o.package_cents, o.paid_cents, o.children, o.joined_at,
        o.paid_order - v_low_decision_no + 1 + v_decision_no + (n - v_first) * 16
    from generate_series(v_first, v_last) as n, private.positions as o where o.user_id in (select m.user_id from race.members as m);
    perform setval('private.positions_no_seq', v_no + p_count * 16 + 1);
    update private.last_decision set no = v_decision_no + p_count * 16 + 1;
    insert into private.totals (
        user_id, referral_amount, referral_count, pairing_amount, pairing_count, override_amount, override_count,
        reentry_amount, withdrawn_amount, reserved_amount
    )
    select race.copy_id(t.user_id, n), t.referral_amount, t.referral_count, t.pairing_amount, t.pairing_count,
        t.override_amount, t.override_count, t.reentry_amount, t.withdrawn_amount, t.reserved_amount
    from generate_series(v_first, v_last) as n, private.totals as t where t.user_id in (select m.user_id from race.members as m);
    insert into public.deposits (
        id, user_id, amount, reference_number, receipt_url, status, created_at, decided_at, decided_by, kind, reference_key, decision_no
    )
    select race.copy_id(d.id, n), race.copy_id(d.user_id, n), d.amount, md5(d.id || ' ' || n),
        replace(d.receipt_url, d.user_id::text, race.copy_id(d.user_id, n)::text), d.status, d.created_at, d.decided_at,
        d.decided_by, d.kind, md5(d.id || ' ' || n),
        d.decision_no - v_low_decision_no + 1 + v_decision_no + (n - v_first) * 16
    from generate_series(v_first, v_last) as n, public.deposits as d where d.user_id in (select m.user_id from race.members as m);
    insert into private.transfer_keys (request_id, key, kind, is_payout)
    select race.copy_id(d.id, n), k.key, k.kind, false
    from generate_series(v_first, v_last) as n, public.deposits as d, private.due_transfer_keys(md5(d.id || ' ' || n)) as k where d.user_id in (select m.user_id from race.members as m);
    insert into private.deposit_receipts (deposit_id, name)
    select race.copy_id(d.id, n), replace(r.name, d.user_id::text, race.copy_id(d.user_id, n)::text)
    from generate_series(v_first, v_last) as n, public.deposits as d inner join private.deposit_receipts as r on d.id = r.deposit_id
    where d.user_id in (select m.user_id from race.members as m);
    insert into private.deposit_rests (deposit_id, no, received_amount, asked_by, asked_at)
    select race.copy_id(r.deposit_id, n), r.no, r.received_amount, r.asked_by, r.asked_at
    from generate_series(v_first, v_last) as n, private.deposit_rests as r inner join public.deposits as d on r.deposit_id = d.id
    where d.user_id in (select m.user_id from race.members as m);
    insert into public.withdrawals (id, user_id, amount, wallet_address, status, created_at, decided_at, decided_by, decision_no)
    select race.copy_id(w.id, n), race.copy_id(w.user_id, n), w.amount, wallets.of(race.copy_id(w.user_id, n)::text), w.status, w.created_at, w.decided_at, w.decided_by,
        w.decision_no - v_low_decision_no + 1 + v_decision_no + (n - v_first) * 16
    from generate_series(v_first, v_last) as n, public.withdrawals as w where w.user_id in (select m.user_id from race.members as m);
    insert into public.bonuses (
        id, user_id, source_user_id, bonus_type, amount, created_at, pair_number, rate, volume, subject_no
    )
    select race.copy_id(b.id, n), race.copy_id(b.user_id, n), race.copy_id(b.source_user_id, n), b.bonus_type, b.amount,
        b.created_at, b.pair_number, b.rate, b.volume, b.subject_no - v_low + 1 + v_no + (n - v_first) * 16
    from generate_series(v_first, v_last) as n, public.bonuses as b where b.user_id in (select m.user_id from race.members as m);
    insert into public.transactions (id, user_id, amount, transaction_type, status, reference_id, created_at, decision_no, balance_after)
    select private.time_ordered_id(), race.copy_id(t.user_id, n), t.amount, t.transaction_type, t.status, race.copy_id(t.reference_id, n), t.created_at,
        t.decision_no - v_low_decision_no + 1 + v_decision_no + (n - v_first) * 16, t.balance_after
    from generate_series(v_first, v_last) as n, public.transactions as t where t.user_id in (select m.user_id from race.members as m)
    order by n, t.id;
    insert into private.corrections (id, kind, target_id, user_id, value, reason, proposed_by, proposed_at)
    select race.copy_id(c.id, n), c.kind, race.copy_id(c.target_id, n), race.copy_id(c.user_id, n), c.value, c.reason, c.proposed_by, c.proposed_at
    from generate_series(v_first, v_last) as n, private.corrections as c where c.user_id in (select m.user_id from race.members as m);
    -- No roll-up runs here: all that charts and networks count is still noted.
    insert into private.network_deltas (no, day, members, package_cents, referral, pairing, override, funded)
    select c.no - v_low + 1 + v_no + (n - v_first) * 16, c.day, c.members, c.package_cents, c.referral, c.pairing, c.override, c.funded
    from generate_series(v_first, v_last) as n, private.network_deltas as c where c.no in (select m.no from race.members as m);
    insert into private.flow_deltas (day, deposits, withdrawals, decided_deposits)
    select f.day, f.deposits * p_count, f.withdrawals * p_count, f.decided * p_count
    from (
        select (d.created_at at time zone 'UTC')::date as day, d.user_id, d.amount as deposits, 0 as withdrawals, 0 as decided
        from public.deposits as d where d.status = 'approved' and d.voided_at is null
        union all
        select (d.decided_at at time zone 'UTC')::date, d.user_id, 0, 0, d.amount
        from public.deposits as d where d.status = 'approved' and d.voided_at is null
        union all
        select (w.created_at at time zone 'UTC')::date, w.user_id, 0, w.amount, 0
        from public.withdrawals as w where w.status = 'approved' and w.voided_at is null
    ) as f
    where f.user_id in (select m.user_id from race.members as m);
    insert into private.counter_deltas (name, delta)
    select c.key, c.value::numeric * p_count from race.original as s, jsonb_each_text(s.counters) as c;
    perform set_config('session_replication_role', 'origin', true);
    insert into private.audit_log (at, actor, action, object_type, object_id, payload)
    select d.at, coalesce(d.actors[1], 'admin:' || a.id), d.action, d.object_type, d.object_id, d.facts || jsonb_strip_nulls(jsonb_build_object('actor_role', d.roles[1]))
    from private.due_audit_entries as d, race.administrators as a
    where a.name = 'ada' and d.user_id in (
        select race.copy_id(m.user_id, n) from generate_series(v_first, v_last) as n, race.members as m
    );
    perform private.backfill_states();
    return query
    select jsonb_object_agg(l.key, case
        when l.key = 'receipt' then replace(l.value, s.member_group ->> 'member', race.copy_id((s.member_group ->> 'member')::uuid, n)::text)
        else race.copy_id(l.value::uuid, n)::text
    end)
    from generate_series(v_first, v_last) as n, race.original as s, jsonb_each_text(s.member_group) as l
    group by n;
end
$$;
