-- The largest amount stands once, in a function that constraints, functions and ledger checks ask. No limit changes, so
-- every row keeps to its new constraint as it kept to the old one.
-- squawk-ignore-file ban-drop-constraint

SET local check_function_bodies = off;

ALTER TABLE "private"."deposit_rests"
  DROP CONSTRAINT "deposit_rests_received_amount_check";

ALTER TABLE "private"."packages"
  DROP CONSTRAINT "packages_value_check";

ALTER TABLE "private"."profiles"
  DROP CONSTRAINT "profiles_package_value_check";

ALTER TABLE "public"."bonuses"
  DROP CONSTRAINT "bonuses_amount_check";

ALTER TABLE "public"."deposits"
  DROP CONSTRAINT "deposits_amount_check";

ALTER TABLE "public"."transactions"
  DROP CONSTRAINT "transactions_amount_check";

ALTER TABLE "public"."withdrawals"
  DROP CONSTRAINT "withdrawals_amount_check";

CREATE OR REPLACE FUNCTION private.bonus_violations (
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
    with bonus_rows as materialized (
        select r.*
        from (
            select
                b.id,
                b.user_id,
                (b.user_id is distinct from case when b.bonus_type = 'pairing' then s.user_id else u.user_id end)
                or (b.bonus_type <> 'pairing' and b.source_user_id is distinct from s.user_id)
                or (b.amount > 0 and (b.rate is distinct from case b.bonus_type
                    when 'referral' then private.referral_percent()
                    when 'override' then private.override_percent()
                    else k.pairing_percent
                end)) as wrong_owner,
                b.user_id = b.source_user_id as from_oneself,
                b.amount not between 0.01 and private.largest_amount() as wrong_amount,
                b.amount
            from public.bonuses as b
            left join private.positions as s on b.subject_no = s.no
            left join private.positions as u on s.referrer_no = u.no
            left join private.packages as k on s.package_cents = k.value_cents
            where private.is_asked(p_part, b.user_id)
        ) as r
        where r.wrong_owner or r.from_oneself or r.wrong_amount
    )

    -- I10 One row per natural key; I11 checks owner and source.
    select 'I10', b.bonus_type || ' ' || b.subject_no || ' ' || coalesce(b.pair_number::text, ''), b.user_id, null::jsonb
    from public.bonuses as b
    where private.is_asked(p_part, b.user_id)
    group by b.bonus_type, b.subject_no, b.pair_number, b.user_id
    having count(*) > 1
    union all
    -- I11 Bonuses match tree and packages, and are paid to the right members.
    select 'I11', w.bonus_type || ' ' || w.subject_no || ' ' || coalesce(w.pair_number::text, ''), o.user_id, null
    from pg_catalog.unnest(
        case when private.is_everybody(p_part) then private.all_bonus_discrepancies() else private.bonus_discrepancies(p_part) end
    ) as w
    left join private.positions as s on w.subject_no = s.no
    -- A bonus that is no longer due has no owner in the comparison.
    left join private.positions as o on coalesce(w.user_no, case w.bonus_type when 'pairing' then s.no else s.referrer_no end) = o.no
    union all
    select 'I11', b.id::text, b.user_id, null
    from bonus_rows as b
    where b.wrong_owner
    union all
    -- I12 Nobody earns a bonus from oneself.
    select 'I12', b.id::text, b.user_id, null
    from bonus_rows as b
    where b.from_oneself
    union all
    -- I16 A bonus is in range, and zero only when a correction or a repair was the last to change it.
    select 'I16', b.id::text, b.user_id, null
    from bonus_rows as b
    where
        b.wrong_amount
        and not (b.amount = 0 and exists (
            select 1
            from (
                select t.amount, t.decision_no
                from public.transactions as t
                where t.transaction_type = 'bonus' and t.reference_id = b.id
                order by t.decision_no desc nulls last
                limit 1
            ) as l
            inner join private.corrections as c on l.decision_no = c.decision_no and c.confirmed_by is not null
            where l.amount < 0
        ))
        -- Or a repair set it to zero, because it was never due.
        and not exists (
            select 1 from private.audit_log as a
            where
                a.actor = 'system'
                and a.action collate "C" = 'books.repaired'
                and a.payload -> 'repairs' @> pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('bonus_id', b.id, 'new_amount', '0.00'))
        )
    union all
    -- I33 The source of a pairing is the child that completed the pair.
    -- The owner is not joined: with it pairs are looked up by owner alone, where a hub has hundreds of thousands.
    select 'I33', b.id::text, (select o.user_id from private.positions as o where o.no = b.subject_no), null
    from public.bonuses as b
    inner join private.positions as l on b.subject_no = l.referrer_no and b.pair_number = l.pair_no and l.is_left and l.paid_cents > 0
    inner join private.positions as r on b.subject_no = r.referrer_no and b.pair_number = r.pair_no and not r.is_left and r.paid_cents > 0
    where
        b.bonus_type = 'pairing' and b.amount_cents > 0
        and b.source_user_id <> case when l.paid_order > r.paid_order then l.user_id else r.user_id end
        and private.is_asked(p_part, b.subject_no);
end
$function$;

CREATE OR REPLACE FUNCTION private.deposit_kind (
  p_amount  numeric,
  p_package numeric,
  p_cash_in numeric
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_is_size boolean := exists (select 1 from private.packages as k where k.value = p_amount);
begin
    if p_amount not between 1 and private.largest_amount() then
        perform private.raise_error(400, 'invalid_amount', 'Enter an amount from $1.00 to $10,000,000.00.');
    end if;
    if p_amount <= private.missing_cash_in(p_package, p_cash_in) then
        return 'cash_in';
    end if;
    if p_package = 0 and not v_is_size then
        perform private.raise_error(
            400, 'package_required', pg_catalog.format(
                'Choose a package for your first deposit: %s.',
                (select pg_catalog.string_agg('$' || k.value::text, ', ' order by k.value) from private.packages as k)
            )
        );
    end if;
    if p_package > 0 and v_is_size and p_amount <= p_package then
        perform private.raise_error(400, 'downgrade', 'You can only upgrade to a higher package. Downgrades are not allowed.');
    end if;
    return case when not v_is_size then 'cash_in' when p_package = 0 then 'first' else 'upgrade' end;
end
$function$;

CREATE OR REPLACE FUNCTION private.largest_amount()
  RETURNS numeric
  LANGUAGE plpgsql
  IMMUTABLE
  AS $function$
begin
    return 10000000;
end
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
                d.amount not between 1 and private.largest_amount()
                or (d.kind <> 'cash_in' and not exists (select 1 from private.packages as p where p.value = d.amount)) as wrong_amount,
                (
                    private.is_decision_wrong(d.status, d.decided_at, d.decided_by, d.admin_notes)
                    or d.voided_at is distinct from v.confirmed_at
                    or exists (
                        select 1 from private.deposit_rests as s
                        where s.deposit_id = d.id and s.ended_at is distinct from coalesce(
                            (select min(n.asked_at) from private.deposit_rests as n where n.deposit_id = s.deposit_id and n.no > s.no), d.decided_at
                        )
                    )
                ) as wrong_decision,
                (
                    o.owner_id is distinct from d.user_id::text or pg_catalog.split_part(r.name, '/', 1) <> d.user_id::text
                    or o.metadata ->> 'eTag' is distinct from r.etag
                ) as wrong_receipt,
                -- Most are a hash as it is written: to take each apart would cost more than all other rules.
                case
                    when k.keys = 1 and k.kind = 'hash' and k.key = d.reference_number and d.reference_number ~ '\A[0-9a-f]{64}\Z'
                        then exists (select 1 from private.deposit_rests as s where s.deposit_id = d.id and s.reference_number is not null)
                    else private.are_keys_wrong(d.id, d.reference_number, false)
                end as wrong_keys
            from public.deposits as d
            left join private.deposit_receipts as r on d.id = r.deposit_id
            left join storage.objects as o on o.bucket_id = 'receipts' and r.name = o.name
            left join private.confirmed_voids as v on d.id = v.target_id
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
                w.amount not between 100 and private.largest_amount() as wrong_amount,
                (
                    private.is_decision_wrong(w.status, w.decided_at, w.decided_by, w.admin_notes)
                    or w.voided_at is distinct from v.confirmed_at
                ) as wrong_decision,
                private.are_keys_wrong(w.id, w.payout_reference, true) as wrong_keys
            from public.withdrawals as w
            left join private.confirmed_voids as v on w.id = v.target_id
            where private.is_asked(p_part, w.user_id)
        ) as f
        where f.wrong_amount or f.wrong_decision or f.wrong_keys
    )

    -- I16 Amounts are finite and in range, and packages sizes; bonus_violations has the bonuses.
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
    -- I17 Decided rows have a time and a decider; a member's own cancellation and a closed account have no decider. A
    -- confirmed correction voids a request, and nothing else does.
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

CREATE OR REPLACE FUNCTION private.require_received_amount (
  p_received numeric
)
  RETURNS void
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
    if p_received not between 0.01 and private.largest_amount() or p_received <> pg_catalog.trunc(p_received, 2) then
        perform private.raise_error(
            400, 'invalid_amount', 'Enter the amount that arrived: from $0.01 to $10,000,000.00, with at most two decimals.'
        );
    end if;
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
    if private.is_restoring_rows() then
        return new;
    end if;
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    perform private.lock_request(new.id);
    -- Look for a retry first: triggers run before ON CONFLICT.
    select * into v_existing from public.withdrawals as w where w.id = new.id;
    if found then
        -- The server's columns; all others are the client's and must be equal.
        new.status := v_existing.status;
        new.created_at := v_existing.created_at;
        new.admin_notes := v_existing.admin_notes;
        new.decided_at := v_existing.decided_at;
        new.decided_by := v_existing.decided_by;
        new.decision_no := v_existing.decision_no;
        new.payout_reference := v_existing.payout_reference;
        new.payout_at := v_existing.payout_at;
        new.voided_at := v_existing.voided_at;
        if new is not distinct from v_existing then
            return null;
        end if;
        perform private.raise_error(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.require_new_request(new.id);
    perform private.require_active_status(v_member.account_status);
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    if new.amount is null or new.amount <= 0 or new.amount > private.largest_amount() then
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

CREATE OR REPLACE FUNCTION public.get_platform()
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_build_object(
        'product_name', private.setting('product.name'),
        'demo', private.is_demo(),
        'support', pg_catalog.jsonb_build_object(
            'name', private.setting('support.name'), 'email', private.setting('support.email'), 'url', private.setting('support.url')
        ),
        'operator', pg_catalog.jsonb_build_object('name', private.setting('operator.name'), 'address', private.setting('operator.address')),
        'packages', (
            select pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object(
                    'value', private.money(k.value), 'label', k.label, 'rate', k.pairing_percent::text
                ) order by k.value
            ) from private.packages as k
        ),
        'rates', pg_catalog.jsonb_build_object(
            'referral', private.referral_percent()::text,
            'override', private.override_percent()::text,
            'reentry', private.reentry_percent()::text
        ),
        'limits', pg_catalog.jsonb_build_object(
            'min_withdrawal', private.money(100), 'min_deposit', private.money(1), 'max_amount', private.money(private.largest_amount()),
            'receipt_max_bytes', (select b.file_size_limit from storage.buckets as b where b.id = 'receipts')
        ),
        'review_due_hours', private.setting('review.due_hours'),
        'deposits_open', private.are_deposits_open(),
        'explorer_url', private.setting('explorer.url'),
        'terms', private.legal_document('terms'),
        'risk', private.legal_document('risk')
    )
$function$;

COMMENT ON FUNCTION "private"."largest_amount"() IS 'The largest amount of a request, a bonus, a journal row or a package, in US dollars. Sums of these may be larger.';

REVOKE ALL ON FUNCTION "private"."largest_amount"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."largest_amount"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."largest_amount"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."largest_amount"() TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."largest_amount"() TO "service_role";

ALTER TABLE "private"."deposit_rests"
  ADD CONSTRAINT "deposit_rests_received_amount_check" CHECK ((((received_amount)::numeric >= 0.01) AND ((received_amount)::numeric <= private.largest_amount()))) NOT VALID;

ALTER TABLE "private"."deposit_rests"
  VALIDATE CONSTRAINT "deposit_rests_received_amount_check";

ALTER TABLE "private"."packages"
  ADD CONSTRAINT "packages_value_check" CHECK (value between 1 and private.largest_amount() and value = trunc(value)) NOT VALID;

ALTER TABLE "private"."packages"
  VALIDATE CONSTRAINT "packages_value_check";

ALTER TABLE "private"."profiles"
  ADD CONSTRAINT "profiles_package_value_check" CHECK ((((package_value)::numeric >= (0)::numeric) AND ((package_value)::numeric <= private.largest_amount()))) NOT VALID;

ALTER TABLE "private"."profiles"
  VALIDATE CONSTRAINT "profiles_package_value_check";

ALTER TABLE "public"."bonuses"
  ADD CONSTRAINT "bonuses_amount_check" CHECK ((((amount)::numeric >= (0)::numeric) AND ((amount)::numeric <= private.largest_amount()))) NOT VALID;

ALTER TABLE "public"."bonuses"
  VALIDATE CONSTRAINT "bonuses_amount_check";

ALTER TABLE "public"."deposits"
  ADD CONSTRAINT "deposits_amount_check" CHECK ((((amount)::numeric >= (1)::numeric) AND ((amount)::numeric <= private.largest_amount()))) NOT VALID;

ALTER TABLE "public"."deposits"
  VALIDATE CONSTRAINT "deposits_amount_check";

ALTER TABLE "public"."transactions"
  ADD CONSTRAINT "transactions_amount_check" CHECK (amount between -private.largest_amount() and private.largest_amount() and amount <> 0) NOT VALID;

ALTER TABLE "public"."transactions"
  VALIDATE CONSTRAINT "transactions_amount_check";

ALTER TABLE "public"."withdrawals"
  ADD CONSTRAINT "withdrawals_amount_check" CHECK ((((amount)::numeric >= (100)::numeric) AND ((amount)::numeric <= private.largest_amount()))) NOT VALID;

ALTER TABLE "public"."withdrawals"
  VALIDATE CONSTRAINT "withdrawals_amount_check";

select private.record_schema();
