-- One transfer is one movement: deposits and payouts share a register, in which look-alikes are compared as what they look
-- like. Decisions are numbered by a row, which moves with the data. A correction is confirmed on what it was proposed on.
-- A clock that jumps silences neither checks nor mail. Flags stand on a withdrawal until it is paid.
-- squawk-ignore-file ban-drop-view, ban-drop-function, ban-drop-constraint, ban-drop-table, ban-drop-sequence, require-concurrent-index-deletion

SET local check_function_bodies = off;

DROP INDEX "public"."withdrawals_payout_keys_idx";

DROP VIEW "private"."due_audit_entries";

DROP VIEW "private"."transfers_credited_twice";

ALTER TABLE "private"."deposit_keys"
  DROP CONSTRAINT "deposit_keys_deposit_id_fkey";

DROP FUNCTION "private"."cancel_requests"(uuid, uuid, text);

DROP FUNCTION "private"."repetition_texts"(text, uuid[]);

DROP FUNCTION "private"."require_new_payout"(uuid, text);

CREATE TABLE "private"."last_decision" (
  "only_row" boolean NOT NULL DEFAULT true,
  "no"       bigint  NOT NULL DEFAULT 0,
  CONSTRAINT "last_decision_no_check" CHECK ((no >= 0)),
  CONSTRAINT "last_decision_only_row_check" CHECK (only_row),
  CONSTRAINT "last_decision_pkey" PRIMARY KEY (only_row)
);

ALTER TABLE "private"."last_decision"
  ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."last_decision"
  SET (fillfactor=10);

CREATE TABLE "private"."transfer_keys" (
  "request_id" uuid    NOT NULL,
  "key"        text    NOT NULL,
  "kind"       text    NOT NULL,
  "is_payout"  boolean NOT NULL,
  CONSTRAINT "transfer_keys_key_check" CHECK (((length(key) >= 1) AND (length(key) <= 200))),
  CONSTRAINT "transfer_keys_kind_check" CHECK ((kind = ANY (ARRAY['hash'::text, 'text'::text, 'look_alike'::text]))),
  CONSTRAINT "transfer_keys_pkey" PRIMARY KEY (request_id, key)
);

ALTER TABLE "private"."transfer_keys"
  ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."corrections"
  ADD COLUMN "based_on_package" public.usd;

ALTER TABLE "private"."corrections"
  ADD COLUMN "based_on_cash_in" public.usd;

CREATE OR REPLACE FUNCTION jobs.is_mail_due()
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select exists (
        select 1 from private.outbox as o
        where o.sent_at is null and o.failed_at is null and private.is_over(o.next_attempt_at, '1 hour')
            and (o.leased_until is null or private.is_over(o.leased_until, '2 minutes'))
    ) and not private.is_copy()
$function$;

CREATE OR REPLACE FUNCTION jobs.lease_mail (
  p_max integer
)
  RETURNS SETOF private.outbox
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    update private.outbox as o set attempts = o.attempts + 1, leased_until = pg_catalog.clock_timestamp() + interval '2 minutes'
    where o.id in (
        select c.id from private.outbox as c
        where c.sent_at is null and c.failed_at is null and private.is_over(c.next_attempt_at, '1 hour')
            and (c.leased_until is null or private.is_over(c.leased_until, '2 minutes'))
            and not private.is_copy()
        order by c.next_attempt_at
        limit p_max
        for update skip locked
    )
    returning o.*
$function$;

CREATE OR REPLACE FUNCTION private.add_payout_reference (
  p_withdrawal public.withdrawals,
  p_admin      private.admin_users,
  p_reference  text,
  p_shared     boolean
)
  RETURNS public.withdrawals
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_reference text := nullif(pg_catalog.btrim(p_reference, E' \t\r\n'), '');
    v_withdrawal public.withdrawals := p_withdrawal;
begin
    if v_reference is null or v_reference is not distinct from (p_withdrawal).payout_reference then
        return p_withdrawal;
    end if;
    if pg_catalog.length(v_reference) > 200 or not private.is_readable(v_reference) then
        perform private.raise_error(400, 'invalid_reference', 'A payout reference has at most 200 characters, on one line.');
    end if;
    perform private.require_plausible_reference(v_reference);
    if (p_withdrawal).payout_reference is not null then
        perform private.raise_error(409, 'payout_recorded', 'A payout reference was already recorded for this withdrawal.');
    end if;
    if (p_withdrawal).voided_at is not null then
        perform private.raise_error(409, 'voided', 'This withdrawal was voided.');
    end if;
    perform private.require_new_payout((p_withdrawal).id, v_reference, p_shared);
    update public.withdrawals as w set payout_reference = v_reference, payout_at = private.clock()
    where w.id = (p_withdrawal).id
    returning w.* into v_withdrawal;
    perform private.audit(
        'admin:' || (p_admin).id, 'withdrawal.paid', 'withdrawal', v_withdrawal.id, private.payout_facts(v_withdrawal), v_withdrawal.payout_at
    );
    return v_withdrawal;
end
$function$;

CREATE OR REPLACE FUNCTION private.alphanumeric_text (
  p_text text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  STRICT
  SET search_path TO ''
  AS $function$
begin
    -- Two letters are blank (those of half and full width become the second).
    return pg_catalog.regexp_replace(pg_catalog.lower(p_text), '[^[:alnum:]]|[\u115f\u1160]', '', 'g');
end
$function$;

CREATE OR REPLACE FUNCTION private.are_keys_wrong (
  p_request_id uuid,
  p_reference  text,
  p_is_payout  boolean
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return array(
        select k.key || ' ' || k.kind from private.transfer_keys as k
        where k.request_id = p_request_id and k.is_payout = p_is_payout order by k.key
    ) is distinct from array(select d.key || ' ' || d.kind from private.due_transfer_keys(p_reference) as d order by d.key);
end
$function$;

CREATE OR REPLACE FUNCTION private.are_near (
  p_one   text,
  p_other text
)
  RETURNS boolean
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  STRICT
  SET search_path TO ''
  AS $function$
declare
    v_run integer := 0;
    v_different integer := 0;
begin
    for i in 1..64 loop
        if pg_catalog.substr(p_one, i, 1) = pg_catalog.substr(p_other, i, 1) then
            v_run := v_run + 1;
            if v_run = 32 then
                return true;
            end if;
        else
            v_run := 0;
            v_different := v_different + 1;
        end if;
    end loop;
    return v_different <= 4;
end
$function$;

CREATE OR REPLACE FUNCTION private.believable_duration (
  p_started timestamp with time zone,
  p_last    interval
)
  RETURNS interval
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
    select greatest(least(pg_catalog.clock_timestamp() - p_started, greatest(p_last * 2, interval '4 seconds'), interval '10 minutes'), interval '0')
$function$;

CREATE OR REPLACE FUNCTION private.cancel_requests (
  p_user_id uuid,
  p_id      uuid,
  p_reason  text,
  p_actor   text
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_deposit public.deposits;
    v_withdrawal public.withdrawals;
    v_cancelled integer := 0;
begin
    for v_deposit in
        update public.deposits as d set status = 'rejected', admin_notes = p_reason, decided_at = private.clock()
        where d.user_id = p_user_id and d.status = 'pending' and d.id = coalesce(p_id, d.id)
        returning d.*
    loop
        v_cancelled := v_cancelled + 1;
        perform private.audit(
            p_actor, 'deposit.cancelled', 'deposit', v_deposit.id,
            private.deposit_decision_facts(v_deposit), v_deposit.decided_at
        );
    end loop;
    for v_withdrawal in
        update public.withdrawals as w set status = 'rejected', admin_notes = p_reason, decided_at = private.clock()
        where w.user_id = p_user_id and w.status = 'pending' and w.id = coalesce(p_id, w.id)
        returning w.*
    loop
        v_cancelled := v_cancelled + 1;
        perform private.audit(
            p_actor, 'withdrawal.cancelled', 'withdrawal', v_withdrawal.id,
            private.withdrawal_decision_facts(v_withdrawal), v_withdrawal.decided_at
        );
    end loop;
    return v_cancelled;
end
$function$;

CREATE OR REPLACE FUNCTION private.change_since_proposal (
  p_correction private.corrections
)
  RETURNS text
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    return (
        select pg_catalog.format(
            'Package and cash-in were %s and %s when this was proposed, and are %s and %s now. Discard it, and propose again what is right now.',
            private.dollars((p_correction).based_on_package), private.dollars((p_correction).based_on_cash_in),
            private.dollars(p.package_value), private.dollars(p.cash_in_amount)
        )
        from private.profiles as p
        where p.user_id = (p_correction).user_id
            and (p_correction).based_on_package is not null
            and (p.package_value, p.cash_in_amount) is distinct from ((p_correction).based_on_package, (p_correction).based_on_cash_in)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.check_ledger_in_parts()
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_found jsonb;
    v_slice private.ledger_slices;
    v_sums boolean;
    v_rules jsonb;
begin
    -- One run at a time. What waited for it would keep a worker from its other jobs.
    if not pg_catalog.pg_try_advisory_xact_lock(private.lock_key('ledger_check')) then
        return (select s.rules from private.ledger_check_state as s);
    end if;
    v_slice := private.last_slice();
    v_sums := private.are_sums_due(v_slice);
    v_found := case when v_sums then private.check_sums() else private.check_slice() end;
    -- The changes come last: reading them locks the row of the last check, for which the anchor of the audit log would wait.
    v_found := v_found || private.check_changes();
    perform private.record_violations(v_found, true, case when v_sums then '{}' else private.sum_rules() end);
    if private.are_members_done(v_slice) and (v_slice).entries_done then
        perform private.end_round(v_slice);
    end if;
    select coalesce(pg_catalog.jsonb_object_agg(r.rule, r.rows), '{}') into v_rules
    from (
        select pg_catalog.left(a.object, 3) as rule, count(*) as rows from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null
        group by 1
    ) as r;
    update private.ledger_check_state as s set
        checked_at = v_started,
        check_duration = private.believable_duration(v_started, s.check_duration),
        rules = v_rules,
        violations = (select coalesce(sum(r.rows::integer), 0) from pg_catalog.jsonb_each_text(v_rules) as r (rule, rows)),
        seen_since = coalesce(private.all_seen_since(), s.seen_since);
    return v_rules;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_sums()
  RETURNS jsonb
  LANGUAGE plpgsql
  SET work_mem TO '64MB'
  SET search_path TO ''
  AS $function$
declare
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_found jsonb := (select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.sum_violations() as v);
begin
    update private.ledger_check_state as s set
        sums_at = v_started, sums_duration = private.believable_duration(v_started, s.sums_duration);
    return v_found;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_whole_ledger()
  RETURNS jsonb
  LANGUAGE plpgsql
  SET work_mem TO '64MB'
  SET search_path TO ''
  SET enable_indexscan TO 'off'
  AS $function$
declare
    v_state private.ledger_check_state;
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_rules jsonb;
    v_found jsonb;
    v_seq bigint;
begin
    select * into v_state from private.ledger_check_state;
    if v_state.check_duration > interval '3 seconds' and (
        private.is_recent(v_state.checked_at, v_state.check_duration * 9)
        or not pg_catalog.pg_try_advisory_xact_lock(private.lock_key('ledger_check'))
    ) then
        return v_state.rules;
    end if;
    perform private.take_changes();
    delete from private.ledger_slices;
    select max(c.seq) into v_seq from private.audit_chain as c;
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(c)), '[]') into v_found from private.check_ledger() as c;
    select coalesce(pg_catalog.jsonb_object_agg(r.rule, r.rows), '{}') into v_rules
    from (select f.value ->> 'rule' as rule, count(*) as rows from pg_catalog.jsonb_array_elements(v_found) as f group by 1) as r;
    update private.ledger_check_state as s set
        -- checked_at is the start: rows written while it ran were not checked.
        checked_at = v_started,
        check_duration = private.believable_duration(v_started, s.check_duration),
        rules = v_rules,
        violations = pg_catalog.jsonb_array_length(v_found),
        whole_at = v_started,
        seen_since = v_started,
        seen_seq = v_seq;
    perform private.record_violations(v_found);
    return v_rules;
end
$function$;

CREATE OR REPLACE FUNCTION private.close_profile (
  p_user_id uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles := private.lock_member(p_user_id);
    v_now timestamptz := private.clock();
    v_left jsonb := private.money_left(p_user_id);
    v_actor text := private.closing_actor(v_member.id, p_user_id);
begin
    if v_member.id is null or v_member.closed_at is not null then
        return;
    end if;
    -- While the address is still known.
    perform private.notify_member(
        p_user_id, 'account_closed', 'Your account was closed',
        'You can no longer sign in. Pending requests were cancelled. If this was not you, contact support.', null, null
    );
    perform private.cancel_requests(p_user_id, null, 'Account closed', v_actor);
    delete from private.bot_secrets as b using public.bot_subscriptions as s
    where s.id = b.subscription_id and s.user_id = p_user_id;
    update public.bot_subscriptions as s set status = 'cancelled', mt5_password_length = null, updated_at = v_now
    where s.user_id = p_user_id and s.status <> 'cancelled';
    update private.profiles as p set
        account_status = 'disabled',
        username = private.closed_username(p.id),
        display_name = 'Closed account',
        email = null,
        trc20_wallet_address = null,
        hold_until = null,
        hold_reason = null,
        closed_at = v_now
    where p.id = v_member.id;
    perform private.audit(v_actor, 'member.closed', 'profile', v_member.id, pg_catalog.jsonb_build_object('money_left', v_left));
end
$function$;

CREATE OR REPLACE FUNCTION private.closing_actor (
  p_profile_id uuid,
  p_user_id    uuid
)
  RETURNS text
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
    select coalesce(
        (
            select l.actor from private.audit_log as l
            where
                l.object_id = p_profile_id
                and (l.action = 'member.closed' or (l.action = 'member.closing_started' and private.is_recent(l.at, '1 hour')))
            order by l.id desc limit 1
        ),
        'member:' || p_user_id
    )
$function$;

CREATE OR REPLACE FUNCTION private.correction_error (
  p_correction private.corrections,
  p_email      text,
  p_admin      private.admin_users
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return case
        when private.correctable_member((p_correction).kind, (p_correction).target_id) is null
            then 'This can no longer be confirmed: what it would correct has changed.'
        when (p_admin).role not in ('super_admin', 'finance_admin')
            then pg_catalog.format('A %s cannot do this.', pg_catalog.replace((p_admin).role::text, '_', ' '))
        when private.are_one_person((p_correction).proposed_by, (p_admin).id)
            then private.two_people_text(p_correction, p_admin)
        when pg_catalog.lower(p_email) = pg_catalog.lower((p_admin).email)
            then 'You cannot decide a request of your own member account.'
        else private.change_since_proposal(p_correction)
    end;
end
$function$;

CREATE OR REPLACE FUNCTION private.correction_facts (
  p_correction private.corrections
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_correction).user_id, 'kind', (p_correction).kind, 'target_id', (p_correction).target_id,
        'value', private.money((p_correction).value), 'reason', (p_correction).reason, 'proposed_by', (p_correction).proposed_by,
        'decision_no', (p_correction).decision_no
    ) || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
        'based_on_package', private.money((p_correction).based_on_package), 'based_on_cash_in', private.money((p_correction).based_on_cash_in)
    ))
$function$;

CREATE OR REPLACE FUNCTION private.correction_items (
  p_ids   uuid[],
  p_admin private.admin_users
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', c.id,
            'kind', c.kind,
            'target_id', c.target_id,
            'profile_id', p.id,
            'user_id', p.user_id,
            'username', p.username,
            'display_name', p.display_name,
            'amount', private.money(coalesce(d.amount, w.amount)),
            'reference', coalesce(d.reference_number, w.wallet_address),
            'requested_at', coalesce(d.created_at, w.created_at),
            'value', private.money(c.value),
            'package_value', private.money(p.package_value),
            'based_on_package', private.money(c.based_on_package),
            'based_on_cash_in', private.money(c.based_on_cash_in),
            'reason', c.reason,
            'proposed_by_name', coalesce(a.full_name, a.email),
            'proposed_at', c.proposed_at,
            'confirmed_by_name', coalesce(b.full_name, b.email),
            'confirmed_at', c.confirmed_at,
            'refusal', case when c.confirmed_by is null then private.correction_error(c, p.email, p_admin) end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join private.corrections as c on u.id = c.id
    inner join private.profiles as p on c.user_id = p.user_id
    inner join private.admin_users as a on c.proposed_by = a.id
    left join private.admin_users as b on c.confirmed_by = b.id
    left join public.deposits as d on c.kind = 'void_deposit' and c.target_id = d.id
    left join public.withdrawals as w on c.kind = 'void_withdrawal' and c.target_id = w.id
$function$;

CREATE OR REPLACE FUNCTION private.deposit_flags (
  p_deposit public.deposits,
  p_member  private.profiles
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_same_transfer uuid[];
    v_near_transfer uuid[];
    v_payouts uuid[];
    v_same_file uuid[] := array(
        select o.deposit_id
        from private.deposit_receipts as m
        inner join private.deposit_receipts as o on m.etag = o.etag and m.deposit_id <> o.deposit_id
        where m.deposit_id = (p_deposit).id
    );
    v_shared text := private.wallet_sharers((p_member).trc20_wallet_address, (p_member).id);
    v_age interval := (p_deposit).created_at - (p_member).created_at;
    v_new boolean := v_age < interval '1 day' and (p_deposit).amount >= (select max(k.value) from private.packages as k);
    v_blocked boolean := (p_member).account_status in ('suspended', 'disabled');
begin
    select
        array_agg(m.request_id) filter (where not m.is_payout and m.kind <> 'near'),
        array_agg(m.request_id) filter (where not m.is_payout and m.kind = 'near'),
        array_agg(m.request_id) filter (where m.is_payout)
    into v_same_transfer, v_near_transfer, v_payouts
    from private.transfer_matches((p_deposit).id) as m;
    -- Most have none.
    if coalesce(v_same_transfer, v_near_transfer, v_payouts) is null and v_same_file = '{}' and v_shared is null and not v_new and not v_blocked then
        return '[]'::jsonb;
    end if;
    return (
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text))
        from (
            select 'same_reference' as kind, r.text from private.repetition_texts('reference', v_same_transfer) as r (text)
            union all
            select 'our_payout', r.text from private.payout_texts(v_payouts) as r (text)
            union all
            select 'near_reference', r.text from private.repetition_texts('reference', v_near_transfer, 'Nearly the same') as r (text)
            union all
            select 'same_receipt', r.text from private.repetition_texts('receipt file', v_same_file) as r (text)
            union all
            select 'address_shared', pg_catalog.format('Also the wallet of %s', v_shared) where v_shared is not null
            union all
            select 'new_account', pg_catalog.format('Requested %s after signing up', private.age_text(v_age)) where v_new
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status) where v_blocked
        ) as f
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.deposit_items (
  p_ids uuid[]
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_agg(
        pg_catalog.to_jsonb(d) || pg_catalog.jsonb_build_object(
            'amount', private.money(d.amount),
            'profile_id', p.id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'account_status', p.account_status,
            'available_balance', private.money(t.available_balance),
            'cash_in_amount', private.money(p.cash_in_amount),
            'package_value', private.money(p.package_value),
            'trc20_wallet_address', p.trc20_wallet_address,
            'joined_at', p.created_at,
            'decided_by_name', coalesce(a.full_name, a.email),
            'cancelled', d.status = 'rejected' and d.decided_by is null,
            'due_at', d.created_at + e.due_after,
            'total_deposits', private.money(p.cash_in_amount),
            'package_before', case when d.status = 'pending' then private.money(p.package_value) end,
            'package_after', case when d.status = 'pending' then private.money(greatest(p.package_value, k.value)) end,
            'cash_in_before', case when d.status = 'pending' then private.money(p.cash_in_amount) end,
            'cash_in_after', case when d.status = 'pending' then private.money(p.cash_in_amount + d.amount) end,
            'refusal', case when d.status = 'pending' then private.transfer_error(d.id) end,
            'flags', case when d.status = 'pending' then private.deposit_flags(d, p) else '[]' end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join public.deposits as d on u.id = d.id
    inner join private.profiles as p on d.user_id = p.user_id
    inner join private.totals as t on d.user_id = t.user_id
    left join private.packages as k on d.amount = k.value
    left join private.admin_users as a on d.decided_by = a.id
    cross join (select private.review_interval() as due_after) as e
$function$;

CREATE OR REPLACE FUNCTION private.deposits_credit_once()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_error text := private.transfer_error(new.id);
begin
    if v_error is not null then
        perform private.raise_error(409, 'reference_used', v_error);
    end if;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_record_request()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_receipt text := private.receipt_name(new.receipt_url);
begin
    insert into private.deposit_receipts (deposit_id, name, etag)
    values (new.id, v_receipt, private.check_receipt(new.user_id, v_receipt, new.kind = 'first'));
    perform private.register_transfer(new.id, new.reference_number, false);
    insert into private.request_texts (request_id, text) values (new.id, pg_catalog.lower(new.reference_number));
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, new.amount, 'deposit', 'pending', new.id, new.created_at);
    perform private.increment_counter('pending_deposits', 1);
    perform private.audit(private.requester(), 'deposit.requested', 'deposit', new.id, private.deposit_request_facts(new), new.created_at);
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_validate()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles;
    v_existing public.deposits;
    v_pending integer;
    v_limit integer := private.setting_text('deposit.pending_limit')::integer;
begin
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    perform private.lock_request(new.id);
    -- Copied text brings a line break; a retry brings it again and is compared with the stored value.
    new.reference_number := pg_catalog.btrim(new.reference_number, E' \t\r\n');
    -- Look for a retry first: triggers run before ON CONFLICT.
    select * into v_existing from public.deposits as d where d.id = new.id;
    if found then
        if (v_existing.user_id, v_existing.amount, v_existing.reference_number, v_existing.receipt_url)
            is not distinct from (new.user_id, new.amount, new.reference_number, new.receipt_url) then
            return null;
        end if;
        perform private.raise_error(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.require_new_request(new.id);
    perform private.require_active_status(v_member.account_status);
    if not private.setting_text('deposit.open')::boolean then
        perform private.raise_error(
            403, 'deposits_closed', 'Deposits are closed at the moment. Send no USDT. If you already have, submit the request once they open again.'
        );
    end if;
    if v_member.id is null or v_member.email is null or v_member.trc20_wallet_address is null then
        perform private.raise_error(403, 'profile_incomplete', 'Please complete your profile and settings first');
    end if;
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    new.kind := private.deposit_kind(new.amount, v_member.package_value);
    new.reference_key := case when pg_catalog.length(new.reference_number) <= 200 then (private.reference_keys(new.reference_number))[1] end;
    if new.reference_key is null or not private.is_readable(new.reference_number) then
        perform private.raise_error(400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.');
    end if;
    perform private.require_plausible_reference(new.reference_number);
    select count(*) into v_pending from public.deposits as d where d.user_id = new.user_id and d.status = 'pending';
    if v_pending >= v_limit then
        perform private.raise_error(
            409, 'too_many_pending', pg_catalog.format('You have %s deposits waiting for review. Wait for a decision or cancel one.', v_pending)
        );
    end if;
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.voided_at := null;
    new.decision_no := null;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.due_transfer_keys (
  p_reference text
)
  RETURNS TABLE (
    key  text,
    kind text
  )
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  STRICT
  ROWS 1
  SET search_path TO ''
  AS $function$
declare
    v_hashes text[] := private.hashes_in(p_reference);
    v_key text;
begin
    if v_hashes <> '{}' then
        return query select h.key, 'hash' from pg_catalog.unnest(v_hashes) as h (key);
        return;
    end if;
    v_key := pg_catalog.left(private.alphanumeric_text(normalize(p_reference, nfkc)), 200);
    return query
    select k.key, k.kind
    from (values (v_key, 'text'), (nullif(pg_catalog.left(private.hexadecimal_text(p_reference), 200), v_key), 'look_alike')) as k (key, kind)
    where k.key <> '';
end
$function$;

CREATE OR REPLACE FUNCTION private.hashes_in (
  p_reference text
)
  RETURNS text[]
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  STRICT
  SET search_path TO ''
  AS $function$
declare
    v_text text := private.hexadecimal_text(p_reference);
    v_digits text := pg_catalog.regexp_replace(v_text, '[^0-9a-f]', '', 'g');
    v_run text;
    v_hashes text[] := '{}'::text[];
begin
    -- A transaction hash is 64 hexadecimal digits. In a longer run it may begin anywhere: words before and after it may
    -- end and begin with such digits too, like TXID. Where a text is little else, what stands between them is left out too.
    foreach v_run in array pg_catalog.regexp_split_to_array(v_text, '[^0-9a-f]+')
        || case when pg_catalog.length(v_digits) * 4 >= pg_catalog.length(v_text) * 3 then v_digits end
    loop
        for i in 1..coalesce(pg_catalog.length(v_run), 0) - 63 loop
            v_hashes := v_hashes || pg_catalog.substr(v_run, i, 64);
        end loop;
    end loop;
    return array(select h.hash from pg_catalog.unnest(v_hashes) with ordinality as h (hash, place) group by h.hash order by min(h.place));
end
$function$;

CREATE OR REPLACE FUNCTION private.hexadecimal_text (
  p_reference text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  STRICT
  SET search_path TO ''
  AS $function$
begin
    -- The single characters that Unicode's confusables.txt (15.0) leads to a hexadecimal digit, with their other case,
    -- less those that normalisation replaces itself. Letters l, i and o stand for the digits that they look like.
    return private.alphanumeric_text(pg_catalog.translate(
        normalize(p_reference, nfkc),
        'ILOilo|ƄƅƖƧƨƷƼƽǀȜȝȢȣɑɜɩʒΑΒΕΙΟΣαβειοςσϜϝϨϩІАБВЕЗОСЬабвезосьіҼҽӀӏӠӡԀԁՔՕքօ۱০৪৭੧੪ଃଠ୦୨൭ዐᎠᎪᎬᏎᏏᏟᏧᏮᏴᏼᑯᑲᒿᖯᖴᗅᗞᗪᗷᛁᴄẝ℮∣⋿⍺⏽│ⱭⲒⲓⲞⲟⲤⲥⳊⳋⳌⳍⳒⳓⴹⵏⵔ〇ꓐꓒꓓꓚꓝꓮꓰꓲꓳꙄꙅꛯꝚꝛꝪꝫꝮꝯꞘꞙꞫꞴꞵꬲꬵꭰꭺꭼꮞꮟꮯꮷꮾ𐊂𐊆𐊇𐊊𐊒𐊠𐊡𐊢𐊥𐊫𐌁𐌂𐌉𐌚𐌠𐐄𐐕𐐬𐐽𐓂𐓒𐓪𐓺𐔖𐔜𐔥𑓐𑢢𑢪𑢬𑢮𑢯𑢶𑢻𑣂𑣊𑣌𑣎𑣏𑣖𑣛𑣠𑣩𑣲𖼨𖼻𖽀𝈆𝈒𝈓🝌',
        '1101101bb12235513388a313abe10cabe10ccff221a6be30cba6be30cb1ee1133ddf0f0108998800990dae4bcd6bbdb2bfaddb1cfe1ea11a1100cc993366e100bddcfae10222223399ff3bbefdae4bcd6bef10abcf0bc1810c0c07070cf0f39e495f39e4950cc13a37fc'
    ));
end
$function$;

CREATE OR REPLACE FUNCTION private.is_nearly_a_hash (
  p_reference text
)
  RETURNS boolean
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  STRICT
  SET search_path TO ''
  AS $function$
declare
    v_text text := private.hexadecimal_text(p_reference);
    v_digits integer := pg_catalog.length(pg_catalog.regexp_replace(v_text, '[^0-9a-f]', '', 'g'));
begin
    return pg_catalog.length(v_text) between 60 and 70 and v_digits * 10 >= pg_catalog.length(v_text) * 9
        and private.hashes_in(p_reference) = '{}';
end
$function$;

CREATE OR REPLACE FUNCTION private.is_over (
  p_until   timestamp with time zone,
  p_longest interval
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
begin
    return p_until <= v_now or p_until > v_now + p_longest;
end
$function$;

CREATE OR REPLACE FUNCTION private.journal_violations (
  p_part private.ledger_part
)
  RETURNS TABLE (
    rule    text,
    object  text,
    user_id uuid,
    details jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    return query
    with entries as materialized (
        select t.id, t.user_id, t.transaction_type, t.reference_id, t.amount, t.status, t.decision_no, t.created_at
        from public.transactions as t
        where private.is_asked(p_part, t.user_id)
    ),

    -- Sources and journal rows that do not match. A row is its source's when it is of the same member.
    bonus_entries as materialized (
        select
            b.id as source_id,
            coalesce(b.user_id, j.user_id) as user_id,
            j.reference_id,
            (coalesce(j.amount, 0) <> b.amount) as wrong_amount,
            -- The first is the one of the first decision: a clock can step back.
            (j.first_at <> extract(epoch from b.created_at) * 1000000) as wrong_time
        from (
            select s.* from public.bonuses as s
            where private.is_asked(p_part, s.user_id)
        ) as b
        full join (
            select
                t.reference_id,
                t.user_id,
                coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
                (min(array[t.decision_no, (extract(epoch from t.created_at) * 1000000)::bigint]))[2] as first_at
            from entries as t
            where t.transaction_type = 'bonus'
            group by t.reference_id, t.user_id
        ) as j on b.id = j.reference_id and b.user_id = j.user_id
        where b.id is null or coalesce(j.amount, 0) <> b.amount or j.first_at <> extract(epoch from b.created_at) * 1000000
    ),

    deposit_entries as materialized (
        select
            d.id as source_id,
            t.id as entry_id,
            t.reference_id,
            coalesce(d.user_id, t.user_id) as user_id,
            (t.created_at <> d.created_at) as wrong_time,
            (
                (t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                    d.amount::numeric,
                    d.decision_no,
                    case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
                )
            ) as wrong_entry
        from (
            select s.* from public.deposits as s
            where private.is_asked(p_part, s.user_id)
        ) as d
        full join (
            select * from entries as j where j.transaction_type = 'deposit'
        ) as t on d.id = t.reference_id and d.user_id = t.user_id
        where (t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
            d.amount::numeric,
            d.decision_no,
            case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
            d.created_at
        )
    ),

    withdrawal_entries as materialized (
        select
            w.id as source_id,
            t.id as entry_id,
            t.reference_id,
            coalesce(w.user_id, t.user_id) as user_id,
            (t.created_at <> w.created_at) as wrong_time,
            (
                (t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                    -w.amount::numeric,
                    w.decision_no,
                    case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
                )
            ) as wrong_entry
        from (
            select s.* from public.withdrawals as s
            where private.is_asked(p_part, s.user_id)
        ) as w
        full join (
            select * from entries as j where j.transaction_type = 'withdrawal'
        ) as t on w.id = t.reference_id and w.user_id = t.user_id
        where (t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
            -w.amount::numeric,
            w.decision_no,
            case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
            w.created_at
        )
    )

    -- I01 The journal rows of a bonus sum to its amount.
    select 'I01', e.source_id::text, e.user_id, null::jsonb
    from bonus_entries as e
    where e.source_id is not null and e.wrong_amount
    union all
    -- I03 An approved deposit has its completed journal row, a pending one a pending row, a rejected one a failed row, with
    -- the number of the same decision.
    select 'I03', e.source_id::text, e.user_id, null
    from deposit_entries as e
    where e.source_id is not null and e.wrong_entry
    union all
    -- I04 The same for withdrawals, negative.
    select 'I04', e.source_id::text, e.user_id, null
    from withdrawal_entries as e
    where e.source_id is not null and e.wrong_entry
    union all
    -- I05 Every journal row has a source.
    select 'I05', o.entry_id::text, o.user_id, null
    from (
        select d.entry_id, d.reference_id, d.user_id
        from deposit_entries as d
        where d.source_id is null
        union all
        select w.entry_id, w.reference_id, w.user_id
        from withdrawal_entries as w
        where w.source_id is null
        union all
        select t.id, t.reference_id, t.user_id
        from bonus_entries as b
        inner join entries as t
            on t.transaction_type = 'bonus' and b.reference_id = t.reference_id and b.user_id = t.user_id
        where b.source_id is null
    ) as o
    where
        not exists (
            select 1 from private.corrections as c
            where c.id = o.reference_id and c.confirmed_by is not null
        )
    union all
    -- I06 One journal row per deposit and withdrawal.
    select 'I06', t.reference_id::text, t.user_id, null
    from entries as t
    where t.transaction_type <> 'bonus'
    group by t.transaction_type, t.reference_id, t.user_id
    having count(*) > 1
    union all
    -- I36 A bonus has the time of its first journal row, and the journal row of a request the time of the request.
    select 'I36', e.source_id::text, e.user_id, null
    from (
        select b.source_id, b.user_id
        from bonus_entries as b
        where b.wrong_time
        union all
        select d.source_id, d.user_id
        from deposit_entries as d
        where d.wrong_time
        union all
        select w.source_id, w.user_id
        from withdrawal_entries as w
        where w.wrong_time
    ) as e
    union all
    -- I50 No decision has a number that is yet to be given; the highest such number stands for all.
    select 'I50', t.id::text, null::uuid, null
    from entries as t
    where t.id = (select e.id from entries as e where e.decision_no > private.last_decision_no() order by e.decision_no desc limit 1);
end
$function$;

CREATE OR REPLACE FUNCTION private.last_decision_no()
  RETURNS bigint
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (select l.no from private.last_decision as l);
end
$function$;

CREATE OR REPLACE FUNCTION private.last_decision_rises()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if new.no <= old.no then
        perform private.raise_error(403, 'append_only', 'Decisions are numbered upwards.');
    end if;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.next_decision_no()
  RETURNS bigint
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_no bigint;
begin
    update private.last_decision as l set no = l.no + 1 returning l.no into strict v_no;
    perform pg_catalog.set_config('app.decision_no', v_no::text, true);
    return v_no;
end
$function$;

CREATE OR REPLACE FUNCTION private.payout_texts (
  p_ids uuid[]
)
  RETURNS SETOF text
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.format(
        'This is our payout of %s to %s, %s', private.dollars(w.amount), p.username,
        pg_catalog.to_char(w.payout_at at time zone 'UTC', 'FMDD Mon YYYY')
    )
    from public.withdrawals as w
    inner join private.profiles as p on w.user_id = p.user_id
    where w.id = any(p_ids) and w.payout_reference is not null
    order by w.payout_at desc
    limit 3
$function$;

CREATE OR REPLACE FUNCTION private.raise_error (
  p_status  integer,
  p_code    text,
  p_message text,
  p_details text    DEFAULT NULL::text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    -- By this header the gateway tells it from PostgREST's own, which names the database's address.
    perform private.raise_error(p_status, p_code, p_message, p_details, case p_status when 503 then '{"Retry-After": "1"}' else '{}' end::json);
end
$function$;

CREATE OR REPLACE FUNCTION private.reference_keys (
  p_reference text
)
  RETURNS text[]
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  STRICT
  SET search_path TO ''
  AS $function$
begin
    return array(select k.key from private.due_transfer_keys(p_reference) as k where k.kind <> 'look_alike');
end
$function$;

CREATE OR REPLACE FUNCTION private.register_transfer (
  p_request_id uuid,
  p_reference  text,
  p_is_payout  boolean
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    insert into private.transfer_keys (request_id, key, kind, is_payout)
    select p_request_id, k.key, k.kind, p_is_payout from private.due_transfer_keys(p_reference) as k;
end
$function$;

CREATE OR REPLACE FUNCTION private.repetition_texts (
  p_what text,
  p_ids  uuid[],
  p_same text   DEFAULT 'Same'::text
)
  RETURNS SETOF text
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    with texts as (
        select
            v.text,
            count(*) as requests,
            row_number() over (
                order by bool_or(d.status = 'approved') desc, bool_or(d.status = 'pending') desc, max(d.created_at) desc, v.text
            ) as place
        from public.deposits as d
        inner join private.profiles as q on d.user_id = q.user_id
        cross join lateral (
            select pg_catalog.to_char(coalesce(d.voided_at, d.decided_at, d.created_at) at time zone 'UTC', 'FMDD Mon YYYY') as day
        ) as w
        cross join lateral (
            select case
                when d.status = 'pending' or p_same <> 'Same' then pg_catalog.format('%s %s as %s, %s', p_same, p_what, q.username, w.day)
                when d.voided_at is not null then pg_catalog.format('This %s was voided on %s (%s)', p_what, w.day, q.username)
                when d.decided_by is null then pg_catalog.format('This %s was cancelled on %s (%s)', p_what, w.day, q.username)
                else pg_catalog.format('This %s was %s on %s (%s)', p_what, d.status, w.day, q.username)
            end as text
        ) as v
        where d.id = any(p_ids)
        group by v.text
    )

    select l.text
    from (
        select t.text, t.place from texts as t where t.place <= 3
        union all
        select pg_catalog.format('%s %s in %s more %s', p_same, p_what, sum(t.requests), case sum(t.requests) when 1 then 'request' else 'requests' end), 4
        from texts as t where t.place > 3
        having count(*) > 0
    ) as l
    order by l.place
$function$;

CREATE OR REPLACE FUNCTION private.request_violations (
  p_part private.ledger_part
)
  RETURNS TABLE (
    rule    text,
    object  text,
    user_id uuid,
    details jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    return query
    with wrong_deposits as materialized (
        select f.*
        from (
            select
                d.id,
                d.user_id,
                d.amount not between 1 and 10000000 as wrong_amount,
                private.is_decision_wrong(d.status, d.decided_at, d.decided_by, d.admin_notes) as wrong_decision,
                (
                    o.owner_id is distinct from d.user_id::text or pg_catalog.split_part(r.name, '/', 1) <> d.user_id::text
                    or o.metadata ->> 'eTag' is distinct from r.etag
                ) as wrong_receipt,
                -- Most are a hash as it is written: to take each apart would cost more than all other rules.
                case
                    when k.keys = 1 and k.kind = 'hash' and k.key = d.reference_number and d.reference_number ~ '\A[0-9a-f]{64}\Z' then false
                    else private.are_keys_wrong(d.id, d.reference_number, false)
                end as wrong_keys
            from public.deposits as d
            left join private.deposit_receipts as r on d.id = r.deposit_id
            left join storage.objects as o on o.bucket_id = 'receipts' and r.name = o.name
            cross join lateral (
                select count(*) as keys, min(t.key) as key, min(t.kind) as kind from private.transfer_keys as t
                where t.request_id = d.id and not t.is_payout
            ) as k
            where private.is_asked(p_part, d.user_id)
        ) as f
        where f.wrong_amount or f.wrong_decision or f.wrong_receipt or f.wrong_keys
    ),

    wrong_withdrawals as materialized (
        select f.*
        from (
            select
                w.id,
                w.user_id,
                w.amount not between 100 and 10000000 as wrong_amount,
                private.is_decision_wrong(w.status, w.decided_at, w.decided_by, w.admin_notes) as wrong_decision,
                w.payout_reference is not null and private.are_keys_wrong(w.id, w.payout_reference, true) as wrong_keys
            from public.withdrawals as w
            where private.is_asked(p_part, w.user_id)
        ) as f
        where f.wrong_amount or f.wrong_decision or f.wrong_keys
    )

    -- I16 Amounts are finite and in range; bonus_violations has the bonuses.
    select 'I16', r.id::text, r.user_id, null::jsonb
    from (
        select d.id, d.user_id
        from wrong_deposits as d
        where d.wrong_amount
        union all
        select w.id, w.user_id
        from wrong_withdrawals as w
        where w.wrong_amount
    ) as r
    union all
    -- I17 Decided rows have a time and a decider; a member's own cancellation and a closed account have no decider.
    select 'I17', r.id::text, r.user_id, null
    from (
        select d.id, d.user_id
        from wrong_deposits as d
        where d.wrong_decision
        union all
        select w.id, w.user_id
        from wrong_withdrawals as w
        where w.wrong_decision
    ) as r
    union all
    -- I19 A transfer is approved once.
    select 'I19', t.deposit_id::text, t.user_id, null
    from private.transfers_credited_twice as t
    where private.is_asked(p_part, t.user_id)
    union all
    -- I20 The receipt exists, in the member's folder, owned by the member, and is the file that was sent.
    select 'I20', d.id::text, d.user_id, null
    from wrong_deposits as d
    where d.wrong_receipt
    union all
    -- I24 One active or suspended subscription per member and bot.
    select 'I24', min(s.id::text), s.user_id, null
    from public.bot_subscriptions as s
    where s.status <> 'cancelled' and private.is_asked(p_part, s.user_id)
    group by s.user_id, s.bot_name
    having count(*) > 1
    union all
    -- I31 A deposit and a payout have their keys: without them I19 is blind.
    select 'I31', r.id::text, r.user_id, null
    from (
        select d.id, d.user_id
        from wrong_deposits as d
        where d.wrong_keys
        union all
        select w.id, w.user_id
        from wrong_withdrawals as w
        where w.wrong_keys
    ) as r;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_new_payout (
  p_withdrawal_id uuid,
  p_reference     text,
  p_shared        boolean
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_ids uuid[];
    v_hashes uuid[];
    v_deposit record;
    v_others jsonb;
    v_paid text;
begin
    select array_agg(o.request_id), array_agg(o.request_id) filter (where k.kind = 'hash' and o.kind = 'hash') into v_ids, v_hashes
    from private.due_transfer_keys(p_reference) as k
    inner join private.transfer_keys as o on k.key = o.key
    where o.request_id <> p_withdrawal_id and k.kind <> 'look_alike' and o.kind <> 'look_alike';
    if v_ids is null then
        return;
    end if;
    select d.amount, p.username into v_deposit
    from public.deposits as d
    inner join private.profiles as p on d.user_id = p.user_id
    where d.id = any(v_hashes) and d.status = 'approved' and d.voided_at is null
    limit 1;
    if found then
        perform private.raise_error(
            409, 'reference_used', pg_catalog.format(
                'This is the hash of a transfer to us: the deposit of %s of %s.', private.dollars(v_deposit.amount), v_deposit.username
            )
        );
    end if;
    if p_shared is true then
        return;
    end if;
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object('username', o.username, 'amount', private.money(o.amount), 'payout_at', o.payout_at) order by o.at desc
        ),
        pg_catalog.string_agg(o.text, ', ' order by o.at desc)
    into v_others, v_paid
    from (
        select r.*, p.username, private.dollars(r.amount) || r.what || p.username as text
        from (
            select w.user_id, w.amount, w.payout_at, w.payout_at as at, ' of ' as what
            from public.withdrawals as w where w.id = any(v_ids) and w.payout_reference is not null
            union all
            select d.user_id, d.amount, null, d.created_at, ', a deposit of '
            from public.deposits as d where d.id = any(v_ids)
        ) as r
        inner join private.profiles as p on r.user_id = p.user_id
        order by r.at desc
        limit 3
    ) as o;
    if v_others is not null then
        perform private.raise_error(
            409, 'payout_reference_used', pg_catalog.format('This payout reference is already recorded for %s.', v_paid), v_others::text
        );
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_new_request (
  p_id uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if exists (select 1 from private.request_texts as t where t.request_id = p_id) then
        perform private.raise_error(409, 'duplicate_request', 'This id belongs to another request. Use a new one.');
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_plausible_reference (
  p_reference text
)
  RETURNS void
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
    if private.is_nearly_a_hash(p_reference) then
        perform private.raise_error(
            400, 'invalid_reference', 'This looks like a transaction hash with a wrong or missing character. Copy it again.'
        );
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.rule_texts()
  RETURNS TABLE (
    rule    text,
    problem text,
    advice  text
  )
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    values
    ('I01', 'A bonus has journal rows that do not sum to its amount.', 'Compare the bonus with its rows under Transactions; find out who changed which.'),
    ('I02', 'A member''s journal does not sum to deposits plus bonuses minus withdrawals.', 'Compare the member''s transactions with the deposits, bonuses and withdrawals.'),
    ('I03', 'A deposit and its journal row do not say the same.', 'Compare the deposit with its transaction and with the audit log.'),
    ('I04', 'A withdrawal and its journal row do not say the same.', 'Compare the withdrawal with its transaction and with the audit log. Pay nothing meanwhile.'),
    ('I05', 'A journal row has no bonus, deposit, withdrawal or correction behind it.', 'Find out who wrote the row: the product never writes such a row.'),
    ('I06', 'A deposit or withdrawal has more than one journal row.', 'Find out who wrote the second row: the product writes one.'),
    ('I07', 'A member''s totals are not the sums of the bonuses and withdrawals, so the balance is wrong.', 'Rebuild the counters once it is known who changed what.'),
    ('I08', 'A member withdrew more than was earned, and no correction explains it.', 'Compare bonuses and withdrawals of the member; void what was not paid.'),
    ('I09', 'A member''s cash-in is not the sum of the approved deposits.', 'Compare the member''s deposits with the audit log; rebuild the counters.'),
    ('I10', 'A bonus is stored twice.', 'Find out who wrote the second row: the product writes one.'),
    ('I11', 'A bonus does not follow from the referral tree and the packages, or is paid to another member.', 'Find out who changed the bonus, the tree or a package. The next run of the bonus comparison repairs the amount.'),
    ('I12', 'A member earns a bonus from their own package.', 'Find out who changed the bonus or the tree.'),
    ('I13', 'A member''s package does not follow from the deposits and corrections.', 'Compare the package with the deposits; a correction sets another one.'),
    ('I14', 'A member''s level is not one below the sponsor''s.', 'Find out who moved the member: the product moves nobody.'),
    ('I15', 'A member joined before their own sponsor.', 'Find out who changed a sponsor or a date: the product changes neither.'),
    ('I16', 'An amount is out of range.', 'Find out who changed it: the product accepts no such amount.'),
    ('I17', 'A decided request has no decider or no time, or a pending one has.', 'Compare the request with the audit log.'),
    ('I18', 'Two members have the same username.', 'Ask one of them to choose another username under Profile.'),
    ('I19', 'A transfer was approved twice, or is a payout of ours.', 'Compare the receipts; void the deposit that did not arrive.'),
    ('I20', 'A receipt is missing, is another file than was sent, or is not the member''s.', 'Compare the receipt with a backup; find out who replaced it.'),
    ('I21', 'All bonuses together exceed 56% of the funded packages, which the plan cannot pay.', 'Find out which bonuses or packages were changed.'),
    ('I22', 'More was paid out than came in.', 'Pay nothing more before it is known why.'),
    ('I23', 'A member''s place among the sponsor''s referrals is wrong, or differs from their own package.', 'Find out who changed the tree; rebuild the counters.'),
    ('I24', 'A member has two running subscriptions of one bot.', 'Ask the member to unsubscribe one of them.'),
    ('I25', 'An administrator''s session lasts longer than eight hours.', 'Sign this administrator out under Administrators and find out who made the session.'),
    ('I26', 'The audit log was changed, or its end was cut off.', 'Compare it with a backup. Whoever changed it is hiding something.'),
    ('I27', 'A total on the dashboards is not the sum of its rows.', 'Rebuild the counters once it is known who changed what.'),
    ('I28', 'A member''s daily earnings differ from the journal.', 'The chart is wrong, not the balance. Rebuild the counters.'),
    ('I29', 'A member''s team totals differ from the members of the team.', 'The figures of the team are wrong, not the balance. Rebuild the counters.'),
    ('I30', 'The daily growth of a large team differs from its members.', 'The chart is wrong, not the balance. Rebuild the counters.'),
    ('I31', 'A deposit or a payout has other keys than its reference, so a second claim of its transfer is not found.', 'Compare its reference with all other deposits and payouts by hand, and find out who changed the register.'),
    ('I33', 'A pairing bonus names another member than the one who completed the pair.', 'Find out who changed the bonus or the order of the fundings.'),
    ('I34', 'A member''s place in the order of fundings is not that of the decision that funded the member.', 'Compare the member''s first approved deposit with the audit log.'),
    ('I35', 'A completed journal row has no decision behind it.', 'Find out who wrote or completed the row: the product does so in a decision only.'),
    ('I36', 'A bonus or a journal row has another time than what it was made from.', 'Compare the times with the audit log; find out who changed one.'),
    ('I37', 'The number of a member''s bonuses is wrong in the totals.', 'Rebuild the counters once it is known who changed what.'),
    ('I38', 'The stored coverage of a past day is not what had been decided when it was computed.', 'Find out who changed the day, or a deposit, withdrawal or bonus from before it. The day stays as it is: acknowledge this once it is known why.'),
    ('I39', 'A published income disclosure is not what had been decided when it was published, or contradicts itself.', 'Find out who changed it, or a withdrawal or bonus of its period, before anybody relies on it. It stays as it is: acknowledge this once it is known why.'),
    ('I40', 'A package size, a pairing rate or a percentage is not that of the compensation plan.', 'Whoever runs the database must set it back immediately: sizes and pairing rates in private.packages, a percentage in the function of its name. Every bonus is worked out with it.'),
    ('I41', 'The referrals of a member are not numbered in the order of joining, which decides who is paired with whom.', 'Find out who changed the order; rebuild the counters.'),
    ('I42', 'A request or a bonus is older than what it follows from, or lies in the future.', 'Compare the times with the audit log.'),
    ('I43', 'A deposit has no entry in the audit log, more than one, or one that says something else.', 'Compare the deposit with the audit log and the receipt before it is decided.'),
    ('I44', 'A withdrawal has no entry in the audit log, more than one, or one that says something else.', 'Compare amount and address with the audit log, and ask the member. Pay nothing meanwhile.'),
    ('I45', 'A decided deposit has no decision in the audit log, or one that says something else.', 'Find out who decided it: the product writes both at once.'),
    ('I46', 'A decided withdrawal has no decision in the audit log, or one that says something else.', 'Find out who decided it: the product writes both at once. Pay nothing meanwhile.'),
    ('I47', 'A payout has no entry in the audit log, or one that says something else.', 'Compare the payout reference with the wallet''s own list of transfers.'),
    ('I48', 'A correction has no entry in the audit log, or one that says something else.', 'Compare the correction with the audit log and ask who proposed and confirmed it.'),
    ('I49', 'An administrator''s role is not the one of the last entry in the audit log.', 'Take the role away and find out who gave it.'),
    ('I50', 'A decision has a number that is yet to be given, so a later one would get it too.', 'Whoever runs the database sets private.last_decision to the highest number in public.transactions before anything is decided.')
$function$;

CREATE OR REPLACE FUNCTION private.transfer_error (
  p_deposit_id uuid
)
  RETURNS text
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if exists (
        select 1
        from private.transfer_keys as m
        inner join private.transfer_keys as o on m.key = o.key and m.request_id <> o.request_id
        inner join public.deposits as d on o.request_id = d.id
        where m.request_id = p_deposit_id and m.kind <> 'look_alike' and o.kind <> 'look_alike' and d.status = 'approved' and d.voided_at is null
    ) then
        return 'This reference was already approved with another deposit.';
    end if;
    if exists (
        select 1
        from private.transfer_keys as m
        inner join private.transfer_keys as o on m.key = o.key
        where m.request_id = p_deposit_id and m.kind = 'hash' and o.kind = 'hash' and o.is_payout
    ) then
        return 'This is the hash of a payout of ours, not of a transfer to us.';
    end if;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.transfer_matches (
  p_request_id uuid
)
  RETURNS TABLE (
    request_id uuid,
    is_payout  boolean,
    kind       text
  )
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_generic_plan'
  SET search_path TO ''
  AS $function$
begin
    return query
    select f.request_id, f.is_payout, case when bool_or(f.kind = 'hash') then 'hash' when bool_or(f.kind = 'text') then 'text' else 'near' end
    from (
        select
            o.request_id,
            o.is_payout,
            case
                when m.kind = 'hash' and o.kind = 'hash' then 'hash'
                when m.kind = 'look_alike' or o.kind = 'look_alike' then 'near'
                else 'text'
            end as kind
        from private.transfer_keys as m
        inner join private.transfer_keys as o on m.key = o.key and m.request_id <> o.request_id
        where m.request_id = p_request_id
        union all
        select o.request_id, o.is_payout, 'near'
        from private.transfer_keys as m
        cross join lateral (
            select c.request_id, c.is_payout, c.key from private.transfer_keys as c
            where c.kind = 'hash' and pg_catalog.left(c.key, 16) = pg_catalog.left(m.key, 16)
            union all
            select c.request_id, c.is_payout, c.key from private.transfer_keys as c
            where c.kind = 'hash' and pg_catalog.substr(c.key, 17, 16) = pg_catalog.substr(m.key, 17, 16)
            union all
            select c.request_id, c.is_payout, c.key from private.transfer_keys as c
            where c.kind = 'hash' and pg_catalog.substr(c.key, 33, 16) = pg_catalog.substr(m.key, 33, 16)
            union all
            select c.request_id, c.is_payout, c.key from private.transfer_keys as c
            where c.kind = 'hash' and pg_catalog.right(c.key, 16) = pg_catalog.right(m.key, 16)
        ) as o
        where m.request_id = p_request_id and m.kind = 'hash' and o.request_id <> p_request_id and o.key <> m.key
            and private.are_near(m.key, o.key)
    ) as f
    group by f.request_id, f.is_payout;
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawal_flags (
  p_withdrawal public.withdrawals,
  p_member     private.profiles
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select coalesce(
            pg_catalog.jsonb_agg(pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text, 'until', f.until))), '[]'
        )
        from (
            select 'checksum' as kind, 'This does not look like a TRC20 address' as text, null::timestamptz as until
            where not private.is_trc20_address((p_withdrawal).wallet_address)
            union all
            (
                select
                    'address_changed',
                    pg_catalog.format(
                        'Wallet address changed on %s', pg_catalog.to_char(l.at at time zone 'UTC', 'FMDD Mon YYYY')
                    ),
                    null
                from private.audit_log as l
                where
                    l.object_id = (p_member).id
                    and l.action = 'member.wallet_changed'
                    and l.payload ->> 'from' is not null
                    and l.at > pg_catalog.now() - interval '7 days'
                order by l.id desc
                limit 1
            )
            union all
            select 'address_shared', pg_catalog.format('Also the wallet of %s', s.usernames), null
            from private.wallet_sharers((p_withdrawal).wallet_address, (p_member).id) as s (usernames)
            where s.usernames is not null
            union all
            select 'hold', pg_catalog.format(
                'On hold until %s UTC, 24 hours after a change of %s',
                pg_catalog.to_char((p_member).hold_until at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'),
                case (p_member).hold_reason when 'factor' then 'second factor' else (p_member).hold_reason end
            ), (p_member).hold_until
            where (p_member).hold_until > pg_catalog.now()
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status), null
            where (p_member).account_status in ('suspended', 'disabled')
            union all
            select
                'other_requests',
                pg_catalog.format(
                    case count(*)
                        when 1 then '%s more withdrawal of this member waits, %s' else '%s more withdrawals of this member wait, %s in all'
                    end, count(*), private.dollars(sum(o.amount))
                ),
                null
            from public.withdrawals as o
            where o.user_id = (p_withdrawal).user_id and o.status = 'pending' and o.id <> (p_withdrawal).id
            having count(*) > 0
        ) as f
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawal_items (
  p_ids uuid[]
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_agg(
        pg_catalog.to_jsonb(w) || pg_catalog.jsonb_build_object(
            'amount', private.money(w.amount),
            'profile_id', p.id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'account_status', p.account_status,
            'available_balance', private.money(t.available_balance),
            'cash_in_amount', private.money(p.cash_in_amount),
            'package_value', private.money(p.package_value),
            'trc20_wallet_address', p.trc20_wallet_address,
            'joined_at', p.created_at,
            'decided_by_name', coalesce(a.full_name, a.email),
            'cancelled', w.status = 'rejected' and w.decided_by is null,
            'available_after', case when w.status = 'pending' then private.money(t.available_balance - w.amount) end,
            'due_at', w.created_at + e.due_after,
            -- A flag warns until the money has gone.
            'flags', case
                when w.status = 'pending' or (w.status = 'approved' and w.payout_reference is null and w.voided_at is null)
                    then private.withdrawal_flags(w, p)
                else '[]'
            end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join public.withdrawals as w on u.id = w.id
    inner join private.profiles as p on w.user_id = p.user_id
    inner join private.totals as t on w.user_id = t.user_id
    left join private.admin_users as a on w.decided_by = a.id
    cross join (select private.review_interval() as due_after) as e
$function$;

CREATE OR REPLACE FUNCTION private.withdrawals_record_payout()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform private.register_transfer(new.id, new.payout_reference, true);
    perform private.increment_counter('withdrawals_paid_count', 1);
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawals_validate()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles;
    v_existing public.withdrawals;
    v_available numeric;
begin
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    perform private.lock_request(new.id);
    -- Look for a retry first: triggers run before ON CONFLICT.
    select * into v_existing from public.withdrawals as w where w.id = new.id;
    if found then
        if (v_existing.user_id, v_existing.amount, v_existing.wallet_address)
            is not distinct from (new.user_id, new.amount, new.wallet_address) then
            return null;
        end if;
        perform private.raise_error(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.require_new_request(new.id);
    perform private.require_active_status(v_member.account_status);
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    if new.amount is null or new.amount <= 0 or new.amount > 10000000 then
        perform private.raise_error(400, 'invalid_amount', 'Enter an amount above $0.00 and up to $10,000,000.00.');
    end if;
    v_available := greatest(0, private.requestable_amount(new.user_id));
    if v_available is null or new.amount > v_available then
        perform private.raise_error(400, 'insufficient_balance', 'Insufficient balance. Available: ' || private.dollars(coalesce(v_available, 0)));
    end if;
    if new.amount < 100 then
        perform private.raise_error(400, 'below_minimum', 'Minimum withdrawal amount is $100');
    end if;
    if not v_member.account_verified then
        perform private.raise_error(403, 'not_verified', 'Please complete your profile, settings, and account verification first');
    end if;
    if new.wallet_address is distinct from v_member.trc20_wallet_address then
        perform private.raise_error(409, 'wallet_changed', 'Your wallet address has changed. Check it and try again.');
    end if;
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.payout_reference := null;
    new.payout_at := null;
    new.voided_at := null;
    new.decision_no := null;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION public.cancel_request (
  p_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_row jsonb;
begin
    -- Status pending blocks only new requests.
    perform private.require_active_status(nullif((private.lock_member(auth.uid())).account_status, 'pending'));
    -- Without an id all would be cancelled.
    if p_id is not null and private.cancel_requests(auth.uid(), p_id, 'Cancelled by the member', 'member:' || auth.uid()) > 0 then
        perform private.require_no_alarm(auth.uid());
        return pg_catalog.jsonb_build_object('success', true);
    end if;
    select pg_catalog.to_jsonb(r) into v_row from (
        select d.status, d.decided_at, d.decided_by, d.admin_notes from public.deposits as d where d.id = p_id and d.user_id = auth.uid()
        union all
        select w.status, w.decided_at, w.decided_by, w.admin_notes from public.withdrawals as w where w.id = p_id and w.user_id = auth.uid()
    ) as r;
    if v_row is null then
        perform private.raise_error(404, 'not_found', 'There is no such request of yours.');
    end if;
    if v_row ->> 'admin_notes' is distinct from 'Cancelled by the member' then
        perform private.raise_error(
            409, 'already_decided', pg_catalog.format('Already %s %s.', v_row ->> 'status', private.relative_time((v_row ->> 'decided_at')::timestamptz, private.clock()))
        );
    end if;
    return pg_catalog.jsonb_build_object('success', true, 'already', true);
end
$function$;

CREATE OR REPLACE FUNCTION public.confirm_correction (
  p_correction_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_correction private.corrections := private.lock_waiting_correction(p_correction_id);
    v_changed text;
begin
    if private.are_one_person(v_correction.proposed_by, v_admin.id) then
        perform private.raise_error(403, 'two_people', private.two_people_text(v_correction, v_admin));
    end if;
    perform private.require_not_own_account(v_admin, v_correction.user_id);
    perform private.require_fresh_admin_proof('confirm a correction');
    perform private.require_correctable_member(v_correction.kind, v_correction.target_id);
    perform private.lock_members(private.upline_ids(v_correction.user_id));
    v_changed := private.change_since_proposal(v_correction);
    if v_changed is not null then
        perform private.raise_error(409, 'changed_since', v_changed);
    end if;
    update private.corrections as c set
        confirmed_by = v_admin.id, confirmed_at = private.clock(), confirmed_in = pg_catalog.pg_current_xact_id(),
        decision_no = private.next_decision_no()
    where c.id = p_correction_id
    returning * into v_correction;
    perform pg_catalog.set_config('app.allow_bonus_decrease', 'on', true);
    perform private.apply_correction(v_correction);
    perform pg_catalog.set_config('app.allow_bonus_decrease', '', true);
    perform private.notify_member(
        v_correction.user_id, 'correction', 'Your account was corrected',
        pg_catalog.format('%s Reason: %s', case v_correction.kind
            when 'void_deposit' then 'A deposit no longer counts.'
            when 'void_withdrawal' then 'A withdrawal that was not paid counts as available again.'
            else 'Your package was set to ' || private.dollars(v_correction.value) || '.'
        end, v_correction.reason), v_correction.value, '/transactions'
    );
    perform private.mail_correction(v_correction, 'confirmed', v_admin);
    return private.audit_correction('correction.confirmed', v_admin.id, v_correction, v_correction.confirmed_at);
end
$function$;

CREATE OR REPLACE FUNCTION public.propose_correction (
  p_kind      text,
  p_target_id uuid,
  p_value     numeric,
  p_reason    text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_user_id uuid;
    v_correction private.corrections;
begin
    if v_reason is null or pg_catalog.length(v_reason) > 1000 then
        perform private.raise_error(400, 'invalid_reason', 'Give a reason of at most 1,000 characters.');
    end if;
    if p_kind = 'set_package' and (
        p_value is null or not (p_value = 0 or exists (select 1 from private.packages as k where k.value = p_value))
    ) then
        perform private.raise_error(400, 'invalid_input', 'The package must be 0 or one of the package sizes.');
    end if;
    v_user_id := private.require_correctable_member(p_kind, p_target_id);
    begin
        insert into private.corrections (
            kind, target_id, user_id, value, reason, proposed_by, proposed_at, based_on_package, based_on_cash_in
        )
        select
            p_kind, p_target_id, p.user_id, case when p_kind = 'set_package' then p_value end, v_reason, v_admin.id, private.clock(),
            case when p_kind <> 'void_withdrawal' then p.package_value end, case when p_kind <> 'void_withdrawal' then p.cash_in_amount end
        from private.profiles as p where p.user_id = v_user_id
        returning * into strict v_correction;
    exception when unique_violation then
        perform private.raise_error(409, 'already_proposed', 'This correction is already waiting for its confirmation.');
    end;
    perform private.mail_correction(v_correction, 'proposed', v_admin);
    return private.audit_correction('correction.proposed', v_admin.id, v_correction, v_correction.proposed_at);
end
$function$;

CREATE VIEW "private"."due_audit_entries" AS  SELECT 'I43'::text AS rule,
    'deposit'::text AS object_type,
    d.id AS object_id,
    'deposit.requested'::text AS action,
    d.created_at AS at,
    ARRAY[('member:'::text || d.user_id), 'service'::text, 'system'::text] AS actors,
    NULL::text[] AS roles,
    d.user_id,
    private.deposit_request_facts(d.*) AS facts
   FROM public.deposits d
UNION ALL
 SELECT 'I44'::text AS rule,
    'withdrawal'::text AS object_type,
    w.id AS object_id,
    'withdrawal.requested'::text AS action,
    w.created_at AS at,
    ARRAY[('member:'::text || w.user_id), 'service'::text, 'system'::text] AS actors,
    NULL::text[] AS roles,
    w.user_id,
    private.withdrawal_request_facts(w.*) AS facts
   FROM public.withdrawals w
UNION ALL
 SELECT 'I45'::text AS rule,
    'deposit'::text AS object_type,
    d.id AS object_id,
    ('deposit.'::text ||
        CASE
            WHEN (d.decided_by IS NULL) THEN 'cancelled'::text
            ELSE (d.status)::text
        END) AS action,
    d.decided_at AS at,
    ARRAY[
        CASE
            WHEN (d.decided_by IS NOT NULL) THEN ('admin:'::text || d.decided_by)
            WHEN (d.admin_notes <> 'Account closed'::text) THEN ('member:'::text || d.user_id)
            ELSE ( SELECT private.closing_actor(p.id, p.user_id) AS closing_actor
               FROM private.profiles p
              WHERE (p.user_id = d.user_id))
        END] AS actors,
        CASE
            WHEN (d.decided_by IS NOT NULL) THEN ARRAY['super_admin'::text, 'finance_admin'::text]
            ELSE NULL::text[]
        END AS roles,
    d.user_id,
    private.deposit_decision_facts(d.*) AS facts
   FROM public.deposits d
  WHERE (d.status <> 'pending'::public.request_status)
UNION ALL
 SELECT 'I46'::text AS rule,
    'withdrawal'::text AS object_type,
    w.id AS object_id,
    ('withdrawal.'::text ||
        CASE
            WHEN (w.decided_by IS NULL) THEN 'cancelled'::text
            ELSE (w.status)::text
        END) AS action,
    w.decided_at AS at,
    ARRAY[
        CASE
            WHEN (w.decided_by IS NOT NULL) THEN ('admin:'::text || w.decided_by)
            WHEN (w.admin_notes <> 'Account closed'::text) THEN ('member:'::text || w.user_id)
            ELSE ( SELECT private.closing_actor(p.id, p.user_id) AS closing_actor
               FROM private.profiles p
              WHERE (p.user_id = w.user_id))
        END] AS actors,
        CASE
            WHEN (w.decided_by IS NOT NULL) THEN ARRAY['super_admin'::text, 'finance_admin'::text]
            ELSE NULL::text[]
        END AS roles,
    w.user_id,
    private.withdrawal_decision_facts(w.*) AS facts
   FROM public.withdrawals w
  WHERE (w.status <> 'pending'::public.request_status)
UNION ALL
 SELECT 'I47'::text AS rule,
    'withdrawal'::text AS object_type,
    w.id AS object_id,
    'withdrawal.paid'::text AS action,
    w.payout_at AS at,
    NULL::text[] AS actors,
    ARRAY['super_admin'::text, 'finance_admin'::text] AS roles,
    w.user_id,
    private.payout_facts(w.*) AS facts
   FROM public.withdrawals w
  WHERE (w.payout_reference IS NOT NULL)
UNION ALL
 SELECT 'I48'::text AS rule,
    'correction'::text AS object_type,
    c.id AS object_id,
    ('correction.'::text || v.what) AS action,
    v.at,
    ARRAY[('admin:'::text || v.decided_by)] AS actors,
    v.roles,
    c.user_id,
    (private.correction_facts(c.*) || (
        CASE
            WHEN (v.what = 'proposed'::text) THEN '{"decision_no": null}'::text
            ELSE '{}'::text
        END)::jsonb) AS facts
   FROM (private.corrections c
     CROSS JOIN LATERAL ( VALUES ('proposed'::text,c.proposed_by,c.proposed_at,ARRAY['super_admin'::text]), ('confirmed'::text,c.confirmed_by,c.confirmed_at,ARRAY['super_admin'::text, 'finance_admin'::text]), ('discarded'::text,c.discarded_by,c.discarded_at,ARRAY['super_admin'::text, 'finance_admin'::text])) v(what, decided_by, at, roles))
  WHERE (v.decided_by IS NOT NULL);

CREATE VIEW "private"."transfers_credited_twice" AS  SELECT DISTINCT k.request_id AS deposit_id,
    d.user_id
   FROM (private.transfer_keys k
     JOIN public.deposits d ON ((k.request_id = d.id)))
  WHERE ((d.status = 'approved'::public.request_status) AND (d.voided_at IS NULL) AND (EXISTS ( SELECT 1
           FROM (private.transfer_keys o
             LEFT JOIN public.deposits c ON ((o.request_id = c.id)))
          WHERE ((o.key = k.key) AND (o.request_id <> k.request_id) AND (((c.status = 'approved'::public.request_status) AND (c.voided_at IS NULL) AND (o.kind <> 'look_alike'::text) AND (k.kind <> 'look_alike'::text)) OR (o.is_payout AND (o.kind = 'hash'::text) AND (k.kind = 'hash'::text)))))));

-- The sequence's number, or a row's that is higher: a sequence can have stayed behind.
insert into private.last_decision (no)
select greatest(
    (select case when q.is_called then q.last_value else 0 end from private.decision_no_seq as q),
    (select max(d.decision_no) from public.deposits as d),
    (select max(w.decision_no) from public.withdrawals as w),
    (select max(c.decision_no) from private.corrections as c),
    (select max(t.decision_no) from public.transactions as t)
);

DROP SEQUENCE "private"."decision_no_seq";

-- Keys of every reference are made anew: earlier ones knew no look-alikes, and nothing of payouts.
insert into private.transfer_keys (request_id, key, kind, is_payout)
select d.id, k.key, k.kind, false from public.deposits as d cross join lateral private.due_transfer_keys(d.reference_number) as k
union all
select w.id, k.key, k.kind, true from public.withdrawals as w cross join lateral private.due_transfer_keys(w.payout_reference) as k;

DROP TABLE "private"."deposit_keys";

CREATE INDEX transfer_keys_first_idx ON private.transfer_keys USING btree ("left"(key, 16))
  WHERE (kind = 'hash'::text);

CREATE INDEX transfer_keys_fourth_idx ON private.transfer_keys USING btree ("right"(key, 16))
  WHERE (kind = 'hash'::text);

CREATE INDEX transfer_keys_key_idx ON private.transfer_keys USING btree (key);

CREATE INDEX transfer_keys_second_idx ON private.transfer_keys USING btree (substr(key, 17, 16))
  WHERE (kind = 'hash'::text);

CREATE INDEX transfer_keys_third_idx ON private.transfer_keys USING btree (substr(key, 33, 16))
  WHERE (kind = 'hash'::text);

CREATE TRIGGER _100_reject_change
  BEFORE DELETE OR TRUNCATE ON private.last_decision
  FOR EACH STATEMENT
  EXECUTE FUNCTION private.reject_change();

CREATE TRIGGER _100_rises
  BEFORE UPDATE ON private.last_decision
  FOR EACH ROW
  EXECUTE FUNCTION private.last_decision_rises();

CREATE TRIGGER _100_reject_change
  BEFORE DELETE OR UPDATE OR TRUNCATE ON private.transfer_keys
  FOR EACH STATEMENT
  EXECUTE FUNCTION private.reject_change();

COMMENT ON COLUMN "private"."corrections"."based_on_cash_in" IS 'The member''s cash-in at that time, or null.';

COMMENT ON COLUMN "private"."corrections"."based_on_package" IS 'The member''s package when it was proposed: null where it does not matter, and of earlier proposals.';

COMMENT ON COLUMN "private"."transfer_keys"."request_id" IS 'The deposit, or the withdrawal that was paid. No foreign key: only their triggers write here, and requests are never deleted.';

COMMENT ON COLUMN "public"."deposits"."reference_key" IS 'The first of the reference''s keys when it was requested; private.transfer_keys has all.';

COMMENT ON FUNCTION "private"."add_payout_reference"(public.withdrawals, private.admin_users, text, boolean) IS 'Records once how an approved withdrawal was paid; p_shared: by a transfer that paid others too. Errors: invalid_reference, payout_recorded, voided, reference_used, payout_reference_used.';

COMMENT ON FUNCTION "private"."alphanumeric_text"(text) IS 'The letters and digits of a text, in lower case.';

COMMENT ON FUNCTION "private"."are_keys_wrong"(uuid, text, boolean) IS 'Whether the register has other keys of a deposit or a payout than its reference has.';

COMMENT ON FUNCTION "private"."are_near"(text, text) IS 'Whether two hashes have 32 digits in a row in common, or differ in four places at most.';

COMMENT ON FUNCTION "private"."believable_duration"(timestamp with time zone, interval) IS 'How long a check has taken since it began: at most twice as long as the last one, or four seconds.';

COMMENT ON FUNCTION "private"."cancel_requests"(uuid, uuid, text, text) IS 'Takes a member''s pending requests back, or the one with this id: rejected for this reason, decided by no administrator, audited as this actor. Returns how many. Call under the member''s lock.';

COMMENT ON FUNCTION "private"."change_since_proposal"(private.corrections) IS 'In words, how the member differs from what a correction was proposed on; null when not. Volatile, so that it reads what the locks waited for.';

COMMENT ON FUNCTION "private"."closing_actor"(uuid, uuid) IS 'Who closed an account, as the audit log names it; before it is closed, the administrator who began to within the hour, otherwise the member.';

COMMENT ON FUNCTION "private"."correction_items"(uuid[], private.admin_users) IS 'Corrections with their members and what they void, as items of this administrator''s list. package_value is the current one, based_on_package and based_on_cash_in those of the proposal. Money as text.';

COMMENT ON FUNCTION "private"."deposit_flags"(public.deposits, private.profiles) IS 'Flags of a pending deposit: the same transfer or nearly the same claimed elsewhere, a payout of ours, the same receipt file, a wallet that others have too, as much as the largest package within a day of signing up, a blocked member.';

COMMENT ON FUNCTION "private"."deposit_items"(uuid[]) IS 'Deposits as items of the admin list. total_deposits is the approved and not voided deposits, which is the member''s cash-in. `refusal` says why a pending one cannot be approved. Money as text.';

COMMENT ON FUNCTION "private"."deposits_credit_once"() IS 'Trigger: rejects the approval of a transfer that was approved with another deposit, or that went out. Errors: reference_used.';

COMMENT ON FUNCTION "private"."due_transfer_keys"(text) IS 'The rows of the register that a reference must have: its hashes, and where there are none its letters and digits, as they are and as what they look like.';

COMMENT ON FUNCTION "private"."hashes_in"(text) IS 'Every 64 consecutive hexadecimal digits of a reference, lower case, with look-alikes as the digits that they look like.';

COMMENT ON FUNCTION "private"."hexadecimal_text"(text) IS 'The letters and digits of a reference, each that looks like a hexadecimal digit replaced by that digit: only to find hashes.';

COMMENT ON FUNCTION "private"."is_nearly_a_hash"(text) IS 'Whether a reference is a hash with a wrong or missing character: 60 to 70 letters and digits, nine tenths of them hexadecimal, and no 64 in a row.';

COMMENT ON FUNCTION "private"."is_over"(timestamp with time zone, interval) IS 'Whether a wait that is never longer than the interval is over; also when its end is farther away, because the clock was set back.';

COMMENT ON FUNCTION "private"."journal_violations"(private.ledger_part) IS 'Rules about the journal rows of these members (null: all) and what they are of. I01, I03 to I06, I36, I50.';

COMMENT ON FUNCTION "private"."last_decision_no"() IS 'The last decision that the statement which calls this sees; 0 before the first. It sees all decisions up to this number and none after it: a number is taken under the money lock, which is held until the commit.';

COMMENT ON FUNCTION "private"."last_decision_rises"() IS 'Trigger: no number is given twice. Errors: append_only.';

COMMENT ON FUNCTION "private"."payout_texts"(uuid[]) IS 'Says which of our payouts a deposit names, the latest three.';

COMMENT ON FUNCTION "private"."reference_keys"(text) IS 'Keys of a reference without what it only looks like: who shares one names the same transfer. Empty when it has no letter and no digit.';

COMMENT ON FUNCTION "private"."register_transfer"(uuid, text, boolean) IS 'Writes the keys of the reference of a deposit or of a payout.';

COMMENT ON FUNCTION "private"."repetition_texts"(text, uuid[], text) IS 'Says who else claimed the same reference or receipt file, when, and what became of it: approved ones first, then pending ones, three by name, and how many more there are.';

COMMENT ON FUNCTION "private"."require_new_payout"(uuid, text, boolean) IS 'Raises when an approved deposit has this hash, and, unless shared, when another payout or deposit has this reference, in whatever spelling; details name the latest three. Errors: reference_used, payout_reference_used.';

COMMENT ON FUNCTION "private"."require_new_request"(uuid) IS 'Raises when a deposit or a withdrawal has this id. Call after lock_request(). Errors: duplicate_request.';

COMMENT ON FUNCTION "private"."require_plausible_reference"(text) IS 'Raises for what is nearly a hash. Errors: invalid_reference.';

COMMENT ON FUNCTION "private"."transfer_error"(uuid) IS 'Why the transfer of this deposit cannot be credited: it was approved with another deposit, or went out; null when it can.';

COMMENT ON FUNCTION "private"."transfer_matches"(uuid) IS 'Who else names the transfer of this deposit or payout: by the same hash, the same text, or one that is nearly the same (near).';

COMMENT ON FUNCTION "private"."withdrawal_flags"(public.withdrawals, private.profiles) IS 'Flags of a withdrawal that is pending or unpaid: no TRC20 address, wallet changed within 7 days or shared with other members, on hold and until when, blocked, others of the member that wait.';

COMMENT ON FUNCTION "private"."withdrawals_record_payout"() IS 'Trigger: keys and counter of a payout that was recorded.';

COMMENT ON FUNCTION "public"."confirm_correction"(uuid) IS 'Finance and super administrators, never one person with the proposer: applies a correction. Errors: forbidden, not_found, already_decided, ledger_alarm, two_people, own_account, reauthentication_needed, not_correctable, changed_since, try_again.';

COMMENT ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean) IS 'Finance and super administrators: approves (it will be paid) or rejects a pending withdrawal, once; a payout reference may be added once later. p_shared_payout confirms that the reference is of a transfer that paid others too. Errors: forbidden, invalid_action, invalid_reason, not_found, own_account, already_decided, ledger_alarm, account_blocked, on_hold, insufficient_available_balance, invalid_reference, payout_recorded, voided, reference_used, payout_reference_used, try_again.';

COMMENT ON TABLE "private"."last_decision" IS 'Number of the last decision by an administrator, confirmed correction or repair, in the order in which they held the money lock.';

COMMENT ON TABLE "private"."transfer_keys" IS 'The keys of the references of deposits and of payouts. Who share a hash or a text name the same transfer; look-alikes are only flagged.';

COMMENT ON VIEW "private"."due_audit_entries" IS 'The entries that requests, decisions, payouts and corrections must have: what each says, when, who may have written it (null: anybody with one of the roles) and in which role. rule is the ledger check that compares them.';

COMMENT ON VIEW "private"."transfers_credited_twice" IS 'Approved deposits that share a key with another one, or a hash with a payout; each of them is a row. None while every transfer is approved once.';

REVOKE ALL ON FUNCTION "private"."alphanumeric_text"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."alphanumeric_text"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."alphanumeric_text"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."are_keys_wrong"(uuid, text, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."are_keys_wrong"(uuid, text, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."are_keys_wrong"(uuid, text, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."are_near"(text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."are_near"(text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."are_near"(text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."believable_duration"(timestamp WITH time zone, interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."believable_duration"(timestamp WITH time zone, interval) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."believable_duration"(timestamp WITH time zone, interval) TO "postgres";

REVOKE ALL ON FUNCTION "private"."cancel_requests"(uuid, uuid, text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."cancel_requests"(uuid, uuid, text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."cancel_requests"(uuid, uuid, text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."change_since_proposal"(private.corrections) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."change_since_proposal"(private.corrections) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."change_since_proposal"(private.corrections) TO "postgres";

REVOKE ALL ON FUNCTION "private"."closing_actor"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."closing_actor"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."closing_actor"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."due_transfer_keys"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."due_transfer_keys"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."due_transfer_keys"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."hashes_in"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."hashes_in"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."hashes_in"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."hexadecimal_text"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."hexadecimal_text"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."hexadecimal_text"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_nearly_a_hash"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_nearly_a_hash"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_nearly_a_hash"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_over"(timestamp WITH time zone, interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_over"(timestamp WITH time zone, interval) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_over"(timestamp WITH time zone, interval) TO "postgres";

REVOKE ALL ON FUNCTION "private"."last_decision_rises"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."last_decision_rises"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."last_decision_rises"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."payout_texts"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."payout_texts"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."payout_texts"(uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."register_transfer"(uuid, text, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."register_transfer"(uuid, text, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."register_transfer"(uuid, text, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."repetition_texts"(text, uuid[], text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."repetition_texts"(text, uuid[], text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."repetition_texts"(text, uuid[], text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_new_payout"(uuid, text, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_new_payout"(uuid, text, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_new_payout"(uuid, text, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_new_request"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_new_request"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_new_request"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_plausible_reference"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_plausible_reference"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_plausible_reference"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."transfer_error"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."transfer_error"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."transfer_error"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."transfer_matches"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."transfer_matches"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."transfer_matches"(uuid) TO "postgres";
