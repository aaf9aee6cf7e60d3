-- What a member does next, sees and is notified of: statements and the balance after each movement, own sessions, money in
-- review, earnings, checklists; what administrators see of payouts, of what has changed and of the audit log. And an
-- approval in fewer random places: receipts stand beside deposits, positions name a member once, requests have ids in the
-- order of time, unread notifications have no index of their own.
-- Views stand here as in the schema files: a diff writes their conditions in a way that reads back differently.
SET local check_function_bodies = off;

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."positions_package_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."deposits_receipt_etag_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."deposits_receipt_key";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."notifications_unread_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."notifications_user_idx";

-- squawk-ignore ban-drop-view
DROP VIEW "private"."counter_discrepancies";

-- squawk-ignore ban-drop-view
DROP VIEW "private"."ledger_violations";

-- squawk-ignore ban-drop-view
DROP VIEW "private"."position_discrepancies";

-- squawk-ignore ban-drop-view
DROP VIEW "private"."sibling_discrepancies";

-- squawk-ignore renaming-table
ALTER TABLE "private"."mail_opt_outs" RENAME TO "mail_choices";

-- squawk-ignore renaming-object
ALTER TABLE "private"."mail_choices" RENAME CONSTRAINT "mail_opt_outs_pkey" TO "mail_choices_pkey";

-- squawk-ignore renaming-object
ALTER TABLE "private"."mail_choices" RENAME CONSTRAINT "mail_opt_outs_topic_fkey" TO "mail_choices_topic_fkey";

-- squawk-ignore renaming-object
ALTER TABLE "private"."mail_choices" RENAME CONSTRAINT "mail_opt_outs_user_id_fkey" TO "mail_choices_user_id_fkey";

-- squawk-ignore renaming-object
ALTER INDEX "private"."mail_opt_outs_topic_idx" RENAME TO "mail_choices_topic_idx";

-- Each row so far says no.
ALTER TABLE "private"."mail_choices" ADD COLUMN "wanted" boolean NOT NULL DEFAULT false;

-- squawk-ignore ban-drop-default
ALTER TABLE "private"."mail_choices" ALTER COLUMN "wanted" DROP DEFAULT;

-- squawk-ignore ban-drop-constraint
ALTER TABLE "private"."positions" DROP CONSTRAINT "positions_profile_id_fkey";

-- squawk-ignore ban-drop-constraint
ALTER TABLE "private"."positions" DROP CONSTRAINT "positions_profile_id_key";

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."add_payout_reference"(public.withdrawals, private.admin_users, text);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."audit_page"(text, text, uuid, integer, integer);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."chart_range"(text, timestamp WITH time zone);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."journal_of_requests"(public.transaction_status);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."notify_member"(uuid, text, text, text, numeric, text);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."request_counts"(text);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."sign_up_error"(integer, text);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."transaction_history"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone, timestamp WITH time zone, uuid, integer);

-- squawk-ignore ban-drop-function
DROP FUNCTION "public"."decide_withdrawal"(uuid, text, text, text);

-- squawk-ignore ban-drop-column
ALTER TABLE "private"."positions" DROP COLUMN "profile_id";

CREATE TABLE "private"."deposit_receipts" (
  "deposit_id" uuid NOT NULL,
  "name"       text NOT NULL,
  "etag"       text,
  CONSTRAINT "deposit_receipts_name_key" UNIQUE (name),
  CONSTRAINT "deposit_receipts_pkey" PRIMARY KEY (deposit_id),
  CONSTRAINT "deposit_receipts_deposit_id_fkey" FOREIGN KEY (deposit_id) REFERENCES public.deposits(id) ON DELETE RESTRICT
);

ALTER TABLE "private"."deposit_receipts"
  ENABLE ROW LEVEL SECURITY;

INSERT INTO private.deposit_receipts (deposit_id, name, etag)
SELECT d.id, d.receipt_name, d.receipt_etag FROM public.deposits AS d;

-- squawk-ignore ban-drop-column
ALTER TABLE "public"."deposits" DROP COLUMN "receipt_etag";

-- squawk-ignore ban-drop-column
ALTER TABLE "public"."deposits" DROP COLUMN "receipt_name";

CREATE TABLE "private"."earnings_state" (
  "only_row" boolean NOT NULL DEFAULT true,
  "entry_id" bigint  NOT NULL DEFAULT 0,
  CONSTRAINT "earnings_state_only_row_check" CHECK (only_row),
  CONSTRAINT "earnings_state_pkey" PRIMARY KEY (only_row)
);

ALTER TABLE "private"."earnings_state"
  ENABLE ROW LEVEL SECURITY;

-- What was decided before is not notified.
INSERT INTO private.earnings_state (entry_id) SELECT coalesce(max(a.id), 0) FROM private.audit_log AS a;

ALTER TABLE "private"."mail_topics"
  ADD COLUMN "wanted_at_first" boolean NOT NULL DEFAULT true;

INSERT INTO private.mail_topics (topic, kind_pattern, label, wanted_at_first)
VALUES ('earnings', '\A(bonus_earned|referral_joined)\Z', 'New direct referrals and bonuses', false);

INSERT INTO private.settings (key, value, kind, minimum, maximum, is_public, description)
VALUES ('explorer.url', 'null', 'text', 1, 500, true, 'Block explorer''s page of a transaction, with {hash} for its hash. Unset: hashes are no links');

INSERT INTO private.counters (name, value)
SELECT 'withdrawals_paid_count', count(w.payout_reference) FROM public.withdrawals AS w;

ALTER TABLE "private"."positions" ADD COLUMN "joined_at" timestamptz;

UPDATE private.positions AS o SET joined_at = p.created_at FROM private.profiles AS p WHERE o.user_id = p.user_id;

-- squawk-ignore adding-not-nullable-field
ALTER TABLE "private"."positions" ALTER COLUMN "joined_at" SET NOT NULL;

CREATE OR REPLACE FUNCTION hooks.before_user_created (
  event jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_data jsonb := event #> '{user,user_metadata}';
    v_email text := pg_catalog.lower(event #>> '{user,email}');
    v_username text := v_data ->> 'username';
    v_display_name text := pg_catalog.btrim(v_data ->> 'display_name');
    v_error text;
begin
    if coalesce(pg_catalog.btrim(v_data ->> 'referrer_id'), '') = '' then
        return private.sign_up_error('referral_code_required', 'Referral code is required for registration');
    end if;
    if (private.referrer_by_code(pg_catalog.btrim(v_data ->> 'referrer_id'))).id is null then
        return private.sign_up_error('invalid_referral_code', 'Invalid referral code');
    end if;
    if coalesce(v_email, '') = '' or coalesce(v_display_name, '') = '' then
        return private.sign_up_error('fields_required', 'Please fill in all required fields');
    end if;
    v_error := private.username_error(v_username);
    if v_error is not null then
        return private.sign_up_error('invalid_username', v_error);
    end if;
    if not private.is_display_name(v_display_name) then
        return private.sign_up_error('invalid_display_name', 'A name has at most 80 characters, on one line.');
    end if;
    if exists (select 1 from private.profiles as p where pg_catalog.lower(p.username) = pg_catalog.lower(v_username)) then
        return private.sign_up_error('username_taken', 'Username already exists. Please choose a different username.');
    end if;
    -- One statement arbitrates between concurrent sign-ups with the same username.
    insert into private.username_reservations as r (username, email, until)
    values (v_username, v_email, pg_catalog.clock_timestamp() + interval '24 hours')
    on conflict (pg_catalog.lower(username)) do update
        set username = excluded.username, email = excluded.email, until = excluded.until
        where r.until < pg_catalog.clock_timestamp() or r.email = excluded.email;
    if not found then
        return private.sign_up_error('username_taken', 'Username already exists. Please choose a different username.');
    end if;
    return '{}'::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION jobs.are_earnings_due()
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select exists (select from private.earnings_state as s cross join lateral private.credited_decisions(s.entry_id, 9223372036854775807, 1))
$function$;

CREATE OR REPLACE FUNCTION jobs.notify_earnings (
  p_limit integer DEFAULT 100
)
  RETURNS integer
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_after bigint;
    v_until bigint;
    v_notified integer;
begin
    select s.entry_id into v_after from private.earnings_state as s for update skip locked;
    -- Another worker is writing them.
    if not found then
        return 0;
    end if;
    -- Before they are read: what is committed meanwhile is for the next time.
    select max(d.id) into v_until from private.credited_decisions(v_after, 9223372036854775807, p_limit) as d;
    if v_until is null then
        return 0;
    end if;
    perform private.notify_member(
        n.earner_id, 'bonus_earned', 'You earned ' || private.dollars(n.amount),
        pg_catalog.format(
            case when n.is_deposit then '%s deposit was approved and brought you %s.' else '%s package was corrected, which brought you %s.' end,
            case when n.earner_id = n.member_id then 'Your' else m.username || '’s' end, n.words
        ), n.amount, '/transactions', n.at
    )
    from (
        select
            e.entry_id, e.at, e.is_deposit, e.member_id, e.earner_id, sum(e.amount) as amount,
            pg_catalog.string_agg(
                private.earned_words(e.bonus_type, e.amount, e.bonuses, e.pair_number, o.username), ' and ' order by e.bonus_type
            ) as words
        from private.earned_bonuses(v_after, v_until) as e
        inner join private.positions as q on e.owner_no = q.no
        inner join private.profiles as o on q.user_id = o.user_id
        -- A correction takes from some and gives to others.
        where e.amount > 0
        group by e.entry_id, e.at, e.is_deposit, e.member_id, e.earner_id
    ) as n
    inner join private.profiles as m on n.member_id = m.user_id
    inner join private.profiles as p on n.earner_id = p.user_id
    where p.closed_at is null
    order by n.entry_id, n.earner_id;
    get diagnostics v_notified = row_count;
    update private.earnings_state as s set entry_id = v_until;
    return v_notified;
end
$function$;

CREATE OR REPLACE FUNCTION jobs.purge()
  RETURNS integer
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    v_rows integer;
    v_all integer;
begin
    delete from private.rate_limits as r where r.window_start < v_now - interval '1 day';
    get diagnostics v_all = row_count;
    delete from private.sign_in_failures as f where f.at < v_now - interval '1 day';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.known_admin_addresses as k where k.seen_at < v_now - interval '90 days';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.receipt_uploads as u
    where not exists (
        select 1 from storage.objects as o
        where o.bucket_id = 'receipts' and o.name = u.name and (
            o.created_at > v_now - interval '1 day'
            or not exists (select 1 from private.deposit_receipts as d where d.name = o.name)
        )
    );
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.outbox as o where o.sent_at < v_now - interval '30 days';
    get diagnostics v_rows = row_count;
    return v_all + v_rows;
end
$function$;

CREATE OR REPLACE FUNCTION jobs.roll_up_networks()
  RETURNS integer
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_rows integer;
    v_large_teams integer[];
begin
    -- One roll-up at a time; readers see either the deltas or the totals that include them.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('networks'));
    with taken as (
        delete from private.network_deltas
        returning no, day, members, funded, package_cents, referral, pairing, override
    ),
    placed as (
        select t.*, o.referrer_no, p.depth
        from taken as t
        inner join private.positions as o on t.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
    ),
    propagated as (
        insert into private.network_rollup_staging (no, depth, members, package_cents, referral, pairing, override)
        select t.no, t.depth, sum(t.members), sum(t.package_cents), sum(t.referral), sum(t.pairing), sum(t.override)
        from placed as t group by t.no, t.depth
    ),
    days as (
        insert into private.team_day_rollup_staging (no, day, depth, own_members, own_funded)
        select t.no, t.day, t.depth, sum(t.members), sum(t.funded)
        from placed as t where t.members <> 0 or t.funded <> 0 group by t.no, t.day, t.depth
    ),
    direct as (
        insert into private.networks as n (no, direct_cents, direct_funded)
        select t.referrer_no, sum(t.package_cents), sum(t.funded)
        from placed as t
        where t.referrer_no is not null and (t.package_cents <> 0 or t.funded <> 0)
        group by t.referrer_no order by t.referrer_no
        on conflict (no) do update set
            direct_cents = n.direct_cents + excluded.direct_cents, direct_funded = n.direct_funded + excluded.direct_funded
    ),
    earned as (
        insert into private.earning_days as d (no, day, referral, pairing, override)
        select t.no, t.day, sum(t.referral), sum(t.pairing), sum(t.override)
        from taken as t where t.referral <> 0 or t.pairing <> 0 or t.override <> 0 group by t.no, t.day
        on conflict (no, day) do update set
            referral = d.referral + excluded.referral,
            pairing = d.pairing + excluded.pairing,
            override = d.override + excluded.override
    )
    select count(*)::integer into v_rows from taken;
    perform private.propagate_staged_totals();
    v_large_teams := private.finalise_network_roll_up();
    if pg_catalog.cardinality(v_large_teams) > 0 then
        perform private.backfill_team_days(v_large_teams, 20);
    end if;
    return v_rows;
end
$function$;

CREATE OR REPLACE FUNCTION jobs.unused_receipts (
  p_max integer
)
  RETURNS TABLE (
    name text
  )
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select o.name from storage.objects as o
    where o.bucket_id = 'receipts' and o.created_at < pg_catalog.clock_timestamp() - interval '24 hours'
        and not exists (select 1 from private.deposit_receipts as d where d.name = o.name)
    order by o.created_at
    limit p_max
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
    if (p_withdrawal).payout_reference is not null then
        perform private.raise_error(409, 'payout_recorded', 'A payout reference was already recorded for this withdrawal.');
    end if;
    if (p_withdrawal).voided_at is not null then
        perform private.raise_error(409, 'voided', 'This withdrawal was voided.');
    end if;
    if p_shared is not true then
        perform private.require_new_payout((p_withdrawal).id, v_reference);
    end if;
    update public.withdrawals as w set payout_reference = v_reference, payout_at = private.clock()
    where w.id = (p_withdrawal).id
    returning w.* into v_withdrawal;
    perform private.audit(
        'admin:' || (p_admin).id, 'withdrawal.paid', 'withdrawal', v_withdrawal.id, private.payout_facts(v_withdrawal), v_withdrawal.payout_at
    );
    return v_withdrawal;
end
$function$;

CREATE OR REPLACE FUNCTION private.age_text (
  p_age interval
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select case
        when s < 120 then '1 minute'
        when s < 3600 then pg_catalog.floor(s / 60)::text || ' minutes'
        when s < 7200 then '1 hour'
        when s < 86400 then pg_catalog.floor(s / 3600)::text || ' hours'
        when s < 172800 then '1 day'
        else pg_catalog.floor(s / 86400)::text || ' days'
    end
    from (select extract(epoch from p_age) as s) as span
$function$;

CREATE OR REPLACE FUNCTION private.audit_conditions (
  p_actor    text,
  p_action   text,
  p_object   uuid,
  p_searched boolean
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return pg_catalog.concat(
        ' and a.actor = ' || pg_catalog.quote_literal(p_actor),
        case when p_action is not null then pg_catalog.format(
            -- An index range that contains the action and, for the part before a dot, all actions of that group.
            ' and a.action collate "C" between %1$L and %2$L and (a.action = %1$L or pg_catalog.starts_with(a.action, %3$L))',
            p_action, p_action || '/', p_action || '.'
        ) end,
        ' and a.object_id = ' || pg_catalog.quote_literal(p_object),
        case when p_searched then ' and a.id = any($3)' end
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.audit_matches (
  p_search text
)
  RETURNS bigint[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_search text := pg_catalog.lower(pg_catalog.btrim(p_search));
    v_range record := private.id_range(p_search);
    -- Cast here and not in the query, where a condition before it promises nothing.
    v_number bigint := case when v_search ~ '\A[0-9]{1,18}\Z' then v_search::bigint end;
    v_pattern text := pg_catalog.regexp_replace(pg_catalog.left(v_search, 200), '([\\%_])', '\\\1', 'g') || '%';
    v_members uuid[];
    v_users uuid[];
begin
    select pg_catalog.array_agg(m.id), pg_catalog.array_agg(m.user_id) into v_members, v_users
    from (
        select p.id, p.user_id from private.profiles as p
        where private.member_search_text(p.username, p.display_name, p.email) like '%' || v_pattern and pg_catalog.lower(p.username) like v_pattern
        limit 100
    ) as m;
    return array(
        select f.id
        from (
            (
                select a.id from private.audit_log as a
                where a.object_id between v_range.first and v_range.last
                order by a.id desc
                limit 10001
            )
            union
            (
                select a.id from private.audit_log as a
                where a.object_id = any(
                    v_members || v_users
                    || array(select d.id from public.deposits as d where d.user_id = any(v_users))
                    || array(select w.id from public.withdrawals as w where w.user_id = any(v_users))
                    || array(select c.id from private.corrections as c where c.user_id = any(v_users))
                    || array(select s.id from public.bot_subscriptions as s where s.user_id = any(v_users))
                )
                order by a.id desc
                limit 10001
            )
            union
            (
                select a.id from private.audit_log as a
                where a.actor = any(array(select 'member:' || u.id from pg_catalog.unnest(v_users) as u (id)))
                order by a.id desc
                limit 10001
            )
            union
            select a.id from private.audit_log as a where a.id = v_number
        ) as f
        order by f.id desc
        limit 10001
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.backfill_team_days (
  p_nos integer[],
  p_max integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_no integer;
    v_rows integer := 0;
begin
    -- Small teams first: a larger one then reuses the days of those within it.
    for v_no in
        select n.no from private.networks as n
        where n.no = any(p_nos) and not n.has_days
        order by n.members, n.no limit p_max
    loop
        insert into private.team_days (no, day, members, funded)
        with recursive downline as (
            select v_no as no, false as has_days
            union all
            select c.no, coalesce(n.has_days, false)
            from downline as b
            inner join private.positions as c on b.no = c.referrer_no
            left join private.networks as n on c.no = n.no
            where not b.has_days
        ), found as (
            select (p.created_at at time zone 'UTC')::date as day, 1 as members, 0 as funded
            from downline as b
            inner join private.positions as o on b.no = o.no
            inner join private.profiles as p on o.user_id = p.user_id
            where b.no <> v_no
            union all
            select (r.created_at at time zone 'UTC')::date, 0, 1
            from downline as b inner join public.bonuses as r on r.bonus_type = 'referral' and b.no = r.subject_no and r.amount > 0
            where b.no <> v_no
            union all
            select d.day, d.members, d.funded
            from downline as b inner join private.team_days as d on b.no = d.no
            where b.has_days
            union all
            -- Subtract pending deltas: the next roll-up adds them.
            select c.day, -c.members, -c.funded
            from downline as b inner join private.network_deltas as c on b.no = c.no
            where b.no <> v_no
        )
        select v_no, f.day, sum(f.members), sum(f.funded)
        from found as f group by f.day having sum(f.members) <> 0 or sum(f.funded) <> 0;
        update private.networks as n set has_days = true where n.no = v_no;
        v_rows := v_rows + 1;
    end loop;
    return v_rows;
end
$function$;

CREATE OR REPLACE FUNCTION private.balance_days (
  p_user_id uuid,
  p_from    date
)
  RETURNS TABLE (
    day    date,
    amount numeric
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select d.day, sum(d.amount)
    from (
        select e.day, e.referral + e.pairing + e.override as amount
        from private.positions as o inner join private.earning_days as e on o.no = e.no
        where o.user_id = p_user_id and e.day >= p_from
        union all
        select c.day, c.referral + c.pairing + c.override
        from private.positions as o inner join private.network_deltas as c on o.no = c.no
        where o.user_id = p_user_id and c.day >= p_from
        union all
        select (w.decided_at at time zone 'UTC')::date, -w.amount
        from public.withdrawals as w
        where w.user_id = p_user_id and w.status = 'approved' and w.decided_at >= p_from::timestamp at time zone 'UTC'
        union all
        select (c.confirmed_at at time zone 'UTC')::date, w.amount
        from private.corrections as c
        inner join public.withdrawals as w on c.target_id = w.id
        where c.user_id = p_user_id and c.kind = 'void_withdrawal' and c.confirmed_at >= p_from::timestamp at time zone 'UTC'
    ) as d
    group by d.day
$function$;

CREATE OR REPLACE FUNCTION private.balance_movements (
  p_user_id uuid,
  p_from    timestamp with time zone,
  p_to      timestamp with time zone
)
  RETURNS TABLE (
    effective_at timestamp with time zone,
    decision_no  bigint,
    id           uuid,
    source       text,
    source_id    uuid,
    amount       numeric
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select t.created_at, coalesce(t.decision_no, 0), t.id, 'bonus', t.reference_id, t.amount::numeric
    from public.transactions as t
    where t.user_id = p_user_id and t.transaction_type = 'bonus' and t.created_at >= p_from and t.created_at < p_to
    union all
    select w.decided_at, w.decision_no, w.id, 'withdrawal', w.id, -w.amount
    from public.withdrawals as w
    where w.user_id = p_user_id and w.status = 'approved' and w.decided_at >= p_from and w.decided_at < p_to
    union all
    select t.created_at, t.decision_no, t.id, 'correction', c.id, t.amount
    from private.corrections as c
    inner join public.transactions as t on c.id = t.reference_id
    where c.user_id = p_user_id and c.kind = 'void_withdrawal' and c.confirmed_at >= p_from and c.confirmed_at < p_to
$function$;

CREATE OR REPLACE FUNCTION private.balance_now (
  p_user_id uuid
)
  RETURNS numeric
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select t.bonus_amount - t.withdrawn_amount from private.totals as t where t.user_id = p_user_id
$function$;

CREATE OR REPLACE FUNCTION private.balances_after (
  p_user_id uuid,
  p_at      timestamp with time zone[],
  p_ids     uuid[]
)
  RETURNS numeric[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_seqscan TO 'off'
  AS $function$
begin
    return (
        with asked as materialized (
            select a.place, a.at, a.id, (a.at at time zone 'UTC')::date as day
            from rows from (pg_catalog.unnest(p_at), pg_catalog.unnest(p_ids)) with ordinality as a (at, id, place)
        ),
        -- Of each day of the page, what changed from it on.
        days as materialized (
            select
                d.day,
                bool_or(d.is_asked) as is_asked,
                private.balance_now(p_user_id) - sum(sum(d.amount)) over (order by d.day desc) as opening
            from (
                select distinct a.day, 0::numeric as amount, true as is_asked from asked as a
                union all
                select b.day, b.amount, false
                from private.balance_days(p_user_id, (select min(a.day) from asked as a)) as b
            ) as d
            group by d.day
        ),
        moved as materialized (
            select
                d.day,
                m.effective_at,
                m.id,
                d.opening + sum(m.amount) over (partition by d.day order by m.decision_no, m.id) as balance,
                m.decision_no
            from days as d
            cross join lateral private.balance_movements(
                p_user_id, d.day::timestamp at time zone 'UTC', (d.day + 1)::timestamp at time zone 'UTC'
            ) as m
            where d.is_asked
        )
        select pg_catalog.array_agg(coalesce(m.balance, e.balance, d.opening) order by a.place)
        from asked as a
        inner join days as d on a.day = d.day
        left join moved as m on a.id = m.id
        -- What moved nothing has the balance of its time.
        left join lateral (
            select b.balance from moved as b
            where m.id is null and b.day = a.day and b.effective_at <= a.at
            order by b.decision_no desc, b.id desc
            limit 1
        ) as e on true
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.chart_range (
  p_range  text,
  p_oldest timestamp with time zone,
  OUT      first_day date,
  OUT      last_day date,
  OUT      bucket text,
  OUT      previous_first_day date,
  OUT      previous_last_day date
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_oldest date := (p_oldest at time zone 'UTC')::date;
    v_length interval;
begin
    last_day := (pg_catalog.now() at time zone 'UTC')::date;
    case p_range
        when '30d' then
            first_day := last_day - 29;
            bucket := 'day';
            v_length := interval '30 days';
        when '90d' then
            first_day := pg_catalog.date_trunc('week', last_day::timestamp)::date - 84;
            bucket := 'week';
            v_length := interval '91 days';
        when '12m' then
            first_day := (pg_catalog.date_trunc('month', last_day::timestamp) - interval '11 months')::date;
            bucket := 'month';
            v_length := interval '1 year';
        when 'all' then
            first_day := least(v_oldest, last_day);
            bucket := case when last_day - first_day < 60 then 'day' when last_day - first_day < 200 then 'week' else 'month' end;
            first_day := pg_catalog.date_trunc(bucket, first_day::timestamp)::date;
        else
            perform private.raise_error(400, 'invalid_range', 'Choose 30 days, 90 days, 12 months or all.');
    end case;
    if v_oldest <= (first_day - v_length)::date then
        previous_first_day := (first_day - v_length)::date;
        previous_last_day := (last_day - v_length)::date;
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_receipt (
  p_user_id uuid,
  p_name    text,
  p_first   boolean
)
  RETURNS text
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_object record;
begin
    if p_name is null or pg_catalog.split_part(p_name, '/', 1) <> p_user_id::text then
        perform private.raise_error(400, 'invalid_receipt', 'Upload your receipt again: the file was not found.');
    end if;
    perform private.lock_receipt(p_name);
    select o.owner_id, o.metadata into v_object from storage.objects as o where o.bucket_id = 'receipts' and o.name = p_name;
    if not found or v_object.owner_id is distinct from p_user_id::text then
        perform private.raise_error(400, 'invalid_receipt', 'Upload your receipt again: the file was not found.');
    end if;
    if exists (select 1 from private.deposit_receipts as d where d.name = p_name) then
        perform private.raise_error(409, 'receipt_used', 'This receipt belongs to another deposit. Upload a new one.');
    end if;
    if p_first and (p_name like '%.pdf' or v_object.metadata ->> 'mimetype' = 'application/pdf') then
        perform private.raise_error(400, 'receipt_must_be_image', 'The receipt of a first package must be an image: PNG, JPEG or WebP.');
    end if;
    return v_object.metadata ->> 'eTag';
end
$function$;

CREATE OR REPLACE FUNCTION private.check_setting (
  p_key   text,
  p_value jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_row private.settings;
    v_size bigint;
    v_ok boolean;
begin
    select * into v_row from private.settings as s where s.key = p_key;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such setting.');
    end if;
    v_ok := p_value is not null and case v_row.kind
        when 'text' then pg_catalog.jsonb_typeof(p_value) in ('string', 'null')
        when 'time' then pg_catalog.jsonb_typeof(p_value) in ('string', 'null')
        when 'integer' then pg_catalog.jsonb_typeof(p_value) = 'number' and p_value #>> '{}' ~ '\A-?[0-9]{1,15}\Z'
        when 'boolean' then pg_catalog.jsonb_typeof(p_value) = 'boolean'
        when 'list' then pg_catalog.jsonb_typeof(p_value) = 'array'
    end;
    if not v_ok then
        perform private.raise_error(400, 'invalid_setting', pg_catalog.format('%s must be of type %s.', p_key, v_row.kind));
    end if;
    v_size := case
        when pg_catalog.jsonb_typeof(p_value) = 'null' then null
        when v_row.kind = 'integer' then (p_value #>> '{}')::bigint
        when v_row.kind = 'text' then pg_catalog.length(p_value #>> '{}')
        when v_row.kind = 'list' then pg_catalog.jsonb_array_length(p_value)
    end;
    if v_size < v_row.minimum or v_size > v_row.maximum then
        perform private.raise_error(400, 'invalid_setting', pg_catalog.format('%s must be from %s to %s.', p_key, v_row.minimum, v_row.maximum));
    end if;
    if p_key = 'deposit.address' and not private.is_trc20_address(p_value #>> '{}') then
        perform private.raise_error(400, 'invalid_setting', 'This is not a TRC20 address. Check it character by character.');
    end if;
    -- Shown as a link: nothing that could close an attribute or begin another scheme, and one place for the hash.
    if p_key = 'explorer.url' and not p_value #>> '{}' ~ '\Ahttps://[a-zA-Z0-9.-]+(:[0-9]+)?/[^\s"''<>{}\\]*\{hash\}[^\s"''<>{}\\]*\Z' then
        perform private.raise_error(400, 'invalid_setting', 'Enter an https address with {hash} in place of the transaction hash.');
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.company_tree (
  p_after integer,
  p_limit integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_items jsonb;
    v_total bigint;
begin
    select count(*) into v_total from private.positions as o where o.referrer_no is null;
    select pg_catalog.jsonb_agg(
        private.tree_node(o, p) || pg_catalog.jsonb_build_object('pair_state', null, 'blocked_by', null) order by o.no
    )
    into v_items
    from (
        select t.* from private.positions as t where t.referrer_no is null order by t.no offset p_after limit p_limit
    ) as o
    inner join private.profiles as p on o.user_id = p.user_id;
    return pg_catalog.jsonb_build_object(
        'root', pg_catalog.jsonb_build_object(
            'id', null, 'username', 'Company', 'display_name', 'Company', 'position', null, 'pair_number', null,
            'package_value', private.money(0), 'funded', false, 'direct_referrals', v_total, 'created_at', null
        ),
        'path', '[]'::jsonb,
        'items', coalesce(v_items, '[]'),
        'total', v_total,
        'next', case when p_after + p_limit < v_total then p_after + p_limit end
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.create_profile_from_sign_up (
  p_user_id uuid,
  p_email   text,
  p_data    jsonb
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_username text := p_data ->> 'username';
    v_display_name text := pg_catalog.left(nullif(pg_catalog.btrim(p_data ->> 'display_name'), ''), 80);
    v_referrer private.profiles;
    v_id uuid;
begin
    if exists (select 1 from private.profiles as p where p.user_id = p_user_id) then
        return null;
    end if;
    if private.username_error(v_username) is not null or p_data ->> 'referrer_id' !~* '\A[0-9a-f-]{36}\Z' then
        return null;
    end if;
    -- The code was valid at sign-up; a referrer who was disabled since still gets the member.
    select * into v_referrer from private.profiles as p where p.id = (p_data ->> 'referrer_id')::uuid;
    if not found then
        return null;
    end if;
    if private.username_taken(v_username, p_email) then
        v_username := pg_catalog.left(v_username, 24) || '_' || pg_catalog.substr(p_user_id::text, 1, 5);
    end if;
    v_id := private.create_profile(p_user_id, p_email, v_username, coalesce(v_display_name, v_username), v_referrer.id);
    if v_referrer.closed_at is null then
        -- The username and not the display name: this may be mailed, and no text of a member's own becomes a link.
        perform private.notify_member(
            v_referrer.user_id, 'referral_joined', pg_catalog.format('%s joined your team', v_username),
            pg_catalog.format(
                '%s signed up with your referral code and is your direct referral. A sign-up itself earns nothing: bonuses are shares of packages that members pay for.',
                v_username
            ), null, '/dashboard?view=advanced&tab=tree'
        );
    end if;
    if v_username is distinct from p_data ->> 'username' then
        perform private.notify_member(
            p_user_id, 'username_changed', 'Your username was taken meanwhile',
            pg_catalog.format('You confirmed after more than a day. You are %s now and can choose another name in your profile.', v_username),
            null, '/profile'
        );
    end if;
    return v_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.credited_decisions (
  p_after bigint,
  p_until bigint,
  p_limit integer
)
  RETURNS SETOF private.audit_log
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    -- Each action is one range of an index.
    (
        select * from private.audit_log as a
        where a.action collate "C" = 'deposit.approved' and a.id > p_after and a.id <= p_until
        order by a.id
        limit p_limit
    )
    union all
    (
        select * from private.audit_log as a
        where a.action collate "C" = 'correction.confirmed' and a.id > p_after and a.id <= p_until
        order by a.id
        limit p_limit
    )
    order by id
    limit p_limit
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
    v_same_transfer uuid[] := array(
        select distinct o.deposit_id
        from private.deposit_keys as m
        inner join private.deposit_keys as o on m.key = o.key and m.deposit_id <> o.deposit_id
        where m.deposit_id = (p_deposit).id
    );
    v_same_file uuid[] := array(
        select o.deposit_id
        from private.deposit_receipts as m
        inner join private.deposit_receipts as o on m.etag = o.etag and m.deposit_id <> o.deposit_id
        where m.deposit_id = (p_deposit).id
    );
    v_shared text[] := private.wallet_sharers((p_member).trc20_wallet_address, (p_member).id);
    v_age interval := (p_deposit).created_at - (p_member).created_at;
    v_new boolean := v_age < interval '1 day' and (p_deposit).amount >= (select max(k.value) from private.packages as k);
    v_blocked boolean := (p_member).account_status in ('suspended', 'disabled');
begin
    -- Most have none.
    if v_same_transfer = '{}' and v_same_file = '{}' and v_shared = '{}' and not v_new and not v_blocked then
        return '[]'::jsonb;
    end if;
    return (
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text))
        from (
            select 'same_reference' as kind, r.text from private.repetition_texts('reference', v_same_transfer) as r (text)
            union all
            select 'same_receipt', r.text from private.repetition_texts('receipt file', v_same_file) as r (text)
            union all
            select 'address_shared', pg_catalog.format('Also the wallet of %s', s.username) from pg_catalog.unnest(v_shared) as s (username)
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

CREATE OR REPLACE FUNCTION private.deposits_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if (new.id, new.user_id, new.amount, new.reference_number, new.receipt_url, new.created_at, new.kind, new.reference_key)
        is distinct from (old.id, old.user_id, old.amount, old.reference_number, old.receipt_url, old.created_at, old.kind, old.reference_key)
        or (old.status <> 'pending' and (new.status, new.admin_notes, new.decided_at, new.decided_by, new.decision_no)
            is distinct from (old.status, old.admin_notes, old.decided_at, old.decided_by, old.decision_no))
        or (old.voided_at is not null and new.voided_at is distinct from old.voided_at)
        or (new.voided_at is distinct from old.voided_at and not private.is_being_corrected(new.user_id)) then
        perform private.raise_error(403, 'append_only', 'A deposit is decided once and never changed.');
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
    insert into private.deposit_keys (deposit_id, key)
    select distinct new.id, k.key from pg_catalog.unnest(private.reference_keys(new.reference_number)) as k (key);
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
    perform private.require_active_status(v_member.account_status);
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

CREATE OR REPLACE FUNCTION private.earned_bonuses (
  p_after bigint,
  p_until bigint
)
  RETURNS TABLE (
    entry_id    bigint,
    at          timestamp with time zone,
    is_deposit  boolean,
    member_id   uuid,
    earner_id   uuid,
    owner_no    integer,
    bonus_type  public.bonus_type,
    amount      numeric,
    bonuses     bigint,
    pair_number integer
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    with decisions as materialized (
        select
            a.id as entry_id, a.at, d.id is not null as is_deposit, coalesce(d.decision_no, c.decision_no) as decision_no,
            -- Cash-in changes nobody's package and so none of the member's own rates.
            d.kind is distinct from 'cash_in' as changes_package,
            p.user_id, p.no, p.referrer_no, p.pair_no
        from private.credited_decisions(p_after, p_until, null) as a
        left join public.deposits as d on a.object_type = 'deposit' and a.object_id = d.id
        left join private.corrections as c on a.object_type = 'correction' and a.object_id = c.id
        inner join private.positions as p on coalesce(d.user_id, c.user_id) = p.user_id
    ), bonuses as (
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'referral' and x.no = b.subject_no
        union all
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'pairing' and x.referrer_no = b.subject_no and x.pair_no = b.pair_number
        union all
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'override' and x.referrer_no = b.subject_no and x.pair_no = b.pair_number
        union all
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'pairing' and x.no = b.subject_no
        where x.changes_package
    )
    select
        x.entry_id, x.at, x.is_deposit, x.user_id, b.user_id, b.subject_no, b.bonus_type, sum(t.amount), count(*), min(b.pair_number)
    from bonuses as e
    inner join decisions as x on e.entry_id = x.entry_id
    inner join public.bonuses as b on e.id = b.id
    inner join public.transactions as t on t.transaction_type = 'bonus' and b.id = t.reference_id and x.decision_no = t.decision_no
    group by x.entry_id, x.at, x.is_deposit, x.user_id, b.user_id, b.subject_no, b.bonus_type
$function$;

CREATE OR REPLACE FUNCTION private.earned_words (
  p_type    public.bonus_type,
  p_amount  numeric,
  p_bonuses bigint,
  p_pair    integer,
  p_owner   text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
    return case
        when p_type = 'referral' then pg_catalog.format('a referral bonus of %s', private.dollars(p_amount))
        when p_type = 'override' then pg_catalog.format('an override bonus of %s for pair %s of %s', private.dollars(p_amount), p_pair, p_owner)
        when p_bonuses = 1 then pg_catalog.format('a pairing bonus of %s for pair %s', private.dollars(p_amount), p_pair)
        else pg_catalog.format('pairing bonuses of %s for %s pairs', private.dollars(p_amount), p_bonuses)
    end;
end
$function$;

CREATE OR REPLACE FUNCTION private.journal_of_requests (
  p_status public.transaction_status,
  p_newest integer                   DEFAULT NULL::integer
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
    v_requests text := case p_status when 'pending' then 'pending' when 'failed' then 'rejected' end;
    -- Before the journal is read: of each table these are enough.
    v_newest text := ' order by q.created_at desc, q.id desc limit ' || p_newest;
begin
    return pg_catalog.format(
        $query$(
            select t.id, t.user_id, t.reference_id, t.transaction_type, t.status, q.created_at
            from (
                (select q.id, q.created_at from public.deposits as q where q.status = %1$L%2$s)
                union all
                (select q.id, q.created_at from public.withdrawals as q where q.status = %1$L%2$s)
            ) as q
            inner join public.transactions as t on t.transaction_type <> 'bonus' and q.id = t.reference_id
        )$query$, v_requests, v_newest
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.member_activity_data (
  p_user_id uuid
)
  RETURNS TABLE (
    list text,
    item jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return query
    select 'notifications', pg_catalog.jsonb_build_object(
        'id', n.id, 'kind', n.kind, 'title', n.title, 'body', n.body, 'amount', private.money(n.amount), 'link', n.link, 'read_at', n.read_at,
        'created_at', n.created_at
    )
    from public.notifications as n where n.user_id = p_user_id
    order by n.created_at, n.id;
    return query
    select 'subscriptions', pg_catalog.jsonb_build_object(
        'id', s.id, 'bot_name', s.bot_name, 'status', s.status, 'mt5_server', s.mt5_server, 'mt5_login', s.mt5_login,
        'subscribed_at', s.subscribed_at, 'updated_at', s.updated_at
    )
    from public.bot_subscriptions as s where s.user_id = p_user_id
    order by s.subscribed_at, s.id;
    return query
    select 'lessons', pg_catalog.jsonb_build_object('lesson_id', l.lesson_id, 'done_at', l.done_at)
    from public.lesson_progress as l where l.user_id = p_user_id
    order by l.done_at, l.lesson_id;
    return query
    select case when c.wanted then 'mail_opt_ins' else 'mail_opt_outs' end, pg_catalog.jsonb_build_object('topic', c.topic, 'since', c.at)
    from private.mail_choices as c where c.user_id = p_user_id
    order by c.wanted, c.topic;
    return query
    select 'activity', pg_catalog.jsonb_build_object(
        'at', a.at, 'action', a.action, 'object_type', a.object_type, 'object_id', a.object_id, 'details', a.payload
    )
    from private.audit_log as a where a.actor = 'member:' || p_user_id
    order by a.id;
end
$function$;

CREATE OR REPLACE FUNCTION private.member_ids_by_package (
  p_package text,
  p_request private.list_request,
  p_total   bigint
)
  RETURNS uuid[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_from text := 'from (select o.user_id as id, o.package_cents, o.joined_at, o.no from private.positions as o) as r'
        || coalesce(' where r.package_cents = ' || (p_package::numeric * 100)::bigint, '');
    v_up text := case when (p_request).sort_by = 'package_value' then 'r.package_cents, ' else '' end || 'r.joined_at, r.no';
    v_down text := pg_catalog.replace(v_up, ',', ' desc,') || ' desc';
begin
    return array(
        select p.id
        from pg_catalog.unnest(
            case when (p_request).descending then private.page_ids(v_from, v_down, v_up, p_request, p_total)
            else private.page_ids(v_from, v_up, v_down, p_request, p_total) end
        ) with ordinality as u (user_id, place)
        inner join private.profiles as p on u.user_id = p.user_id
        order by u.place
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.member_money_data (
  p_user_id uuid
)
  RETURNS TABLE (
    list text,
    item jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return query
    select 'deposits', pg_catalog.jsonb_build_object(
        'id', d.id, 'amount', private.money(d.amount), 'kind', d.kind, 'reference_number', d.reference_number, 'receipt_name', r.name,
        'status', d.status, 'admin_notes', d.admin_notes, 'created_at', d.created_at, 'decided_at', d.decided_at, 'voided_at', d.voided_at
    )
    from public.deposits as d
    left join private.deposit_receipts as r on d.id = r.deposit_id
    where d.user_id = p_user_id
    order by d.created_at, d.id;
    return query
    select 'withdrawals', pg_catalog.jsonb_build_object(
        'id', w.id, 'amount', private.money(w.amount), 'wallet_address', w.wallet_address, 'status', w.status, 'admin_notes', w.admin_notes,
        'payout_reference', w.payout_reference, 'created_at', w.created_at, 'decided_at', w.decided_at, 'payout_at', w.payout_at, 'voided_at', w.voided_at
    )
    from public.withdrawals as w where w.user_id = p_user_id
    order by w.created_at, w.id;
    return query
    select 'bonuses', pg_catalog.jsonb_build_object(
        'id', b.id, 'bonus_type', b.bonus_type, 'amount', private.money(b.amount), 'rate', private.percent(b.rate), 'volume', private.money(b.volume),
        'reentry_amount', private.money(b.reentry_amount), 'pair_number', b.pair_number, 'source_username', s.username, 'created_at', b.created_at
    )
    from public.bonuses as b
    inner join private.profiles as s on b.source_user_id = s.user_id
    where b.user_id = p_user_id
    order by b.created_at, b.id;
    return query
    select 'transactions', pg_catalog.jsonb_build_object(
        'id', t.id, 'transaction_type', t.transaction_type, 'amount', private.money(t.amount), 'status', t.status, 'reference_id', t.reference_id,
        'created_at', t.created_at
    )
    from public.transactions as t where t.user_id = p_user_id
    order by t.created_at, t.id;
    return query
    select 'receipts', pg_catalog.jsonb_build_object(
        'name', o.name, 'bytes', (o.metadata ->> 'size')::bigint, 'type', o.metadata ->> 'mimetype', 'created_at', o.created_at
    )
    from storage.objects as o
    where o.bucket_id = 'receipts' and o.name >= p_user_id || '/' and o.name < p_user_id || '0'
    order by o.created_at, o.name;
end
$function$;

CREATE OR REPLACE FUNCTION private.member_page (
  p_source   text,
  p_where    text,
  p_package  text,
  p_order    text,
  p_reversed text,
  p_request  private.list_request,
  OUT        ids uuid[],
  OUT        total bigint,
  OUT        more boolean
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_by_package boolean := false;
begin
    case p_where
        when ' where true' then
            total := private.counter_value('profiles')::bigint;
            v_by_package := (p_request).sort_by = 'package_value';
        when ' where true and r.account_verified' then
            total := private.counter_value('verified_profiles')::bigint;
        when ' where true and not r.account_verified' then
            total := (private.counter_value('profiles') - private.counter_value('verified_profiles'))::bigint;
        when ' where true and r.account_status = ''active''::public.account_status' then
            total := private.counter_value('profiles')::bigint
                - (select count(*) from private.profiles as p where p.account_status <> 'active');
        when ' where true' || private.package_condition(p_package) then
            total := (select count(*) from private.positions as o where o.package_cents = (p_package::numeric * 100)::bigint);
            v_by_package := (p_request).sort_by <> 'username';
        else
            execute 'select count(*) from private.profiles as r' || p_where into total;
    end case;
    ids := case when v_by_package then private.member_ids_by_package(p_package, p_request, total)
    else private.page_ids(pg_catalog.format('from %s as r', p_source) || p_where, p_order, p_reversed, p_request, total) end;
    more := false;
end
$function$;

CREATE OR REPLACE FUNCTION private.network_sums (
  p_member private.profiles
)
  RETURNS private.networks
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_sums private.networks;
begin
    -- One statement: a roll-up between two would count deltas twice or not at all.
    select
        a.no, sum(a.members)::integer, sum(a.package_cents)::bigint, sum(a.referral), sum(a.pairing), sum(a.override)
    into v_sums.no, v_sums.members, v_sums.package_cents, v_sums.referral, v_sums.pairing, v_sums.override
    from (
        select o.no, n.members, n.package_cents, n.referral, n.pairing, n.override
        from private.positions as o
        inner join private.networks as n on o.no = n.no
        where o.user_id = (p_member).user_id
        union all
        select o.no, c.members, c.package_cents, c.referral, c.pairing, c.override
        from private.network_deltas as c
        inner join private.positions as q on c.no = q.no
        inner join private.profiles as p on q.user_id = p.user_id
        inner join private.positions as o on o.user_id = (p_member).user_id
        where p.id = (p_member).id or private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth)
    ) as a
    group by a.no;
    return v_sums;
end
$function$;

CREATE OR REPLACE FUNCTION private.notify_member (
  p_user_id uuid,
  p_kind    text,
  p_title   text,
  p_body    text,
  p_amount  numeric,
  p_link    text,
  p_at      timestamp with time zone DEFAULT NULL::timestamp WITH time zone
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_member record;
    v_at timestamptz := coalesce(p_at, private.clock());
begin
    select p.username, p.display_name, p.email, t.topic, coalesce(c.wanted, t.wanted_at_first, true) as wants_mail into v_member
    from private.profiles as p
    left join private.mail_topics as t on p_kind ~ t.kind_pattern
    left join private.mail_choices as c on p.user_id = c.user_id and t.topic = c.topic
    where p.user_id = p_user_id;
    insert into public.notifications (user_id, kind, title, body, amount, link, created_at)
    values (p_user_id, p_kind, p_title, p_body, p_amount, p_link, v_at);
    if v_member.email ~ '\A[^\s@]+@[^\s@]+\Z' and v_member.wants_mail then
        insert into private.outbox (template, recipient, data, created_at)
        values (
            p_kind, v_member.email, pg_catalog.jsonb_build_object(
                'username', v_member.username, 'display_name', v_member.display_name, 'title', p_title, 'body', p_body,
                'amount', private.money(p_amount), 'link', p_link, 'topic', v_member.topic
            ), v_at
        );
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.package_condition (
  p_package text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  STRICT
  SET search_path TO ''
  AS $function$
begin
    return pg_catalog.format(' and r.user_id in (select o.user_id from private.positions as o where o.package_cents = %s)', (p_package::numeric * 100)::bigint);
end
$function$;

CREATE OR REPLACE FUNCTION private.pair_items (
  p_no    integer,
  p_rate  numeric,
  p_after integer,
  p_limit integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'pair_number', q.pair_no,
                'left_child', q.left_child,
                'right_child', q.right_child,
                'pair_volume', private.money((q.left_package + q.right_package) / 100.0),
                'rate', private.percent(p_rate),
                'user_bonus', private.money(coalesce((
                    select b.amount from public.bonuses as b
                    where b.bonus_type = 'pairing' and b.subject_no = p_no and b.pair_number = q.pair_no
                ), 0)),
                'state', private.pair_state(q.left_cents, q.right_cents, q.right_child is not null, p_rate),
                'state_text', case private.pair_state(q.left_cents, q.right_cents, q.right_child is not null, p_rate)
                    when 'paying' then 'Paying'
                    when 'open' then 'Waiting for a second referral'
                    when 'no_rate' then 'Your rate is 0% without a package'
                    else pg_catalog.format(
                        'Waiting for %s to fund a package', case when q.left_cents = 0 then q.left_child else q.right_child end ->> 'username'
                    )
                end
            ) order by q.pair_no
        )
        from (
            select
                o.pair_no,
                min(o.paid_cents) filter (where o.is_left) as left_cents,
                min(o.paid_cents) filter (where not o.is_left) as right_cents,
                min(o.package_cents) filter (where o.is_left) as left_package,
                min(o.package_cents) filter (where not o.is_left) as right_package,
                (pg_catalog.jsonb_agg(private.pair_child_item(o, p)) filter (where o.is_left)) -> 0 as left_child,
                (pg_catalog.jsonb_agg(private.pair_child_item(o, p)) filter (where not o.is_left)) -> 0 as right_child
            -- A range of child numbers, two per pair.
            from private.positions as o
            inner join private.profiles as p on o.user_id = p.user_id
            where o.referrer_no = p_no and o.child_no between p_after * 2 + 1 and (p_after + p_limit) * 2
            group by o.pair_no
        ) as q
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.positions_record_network_delta()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    if tg_op = 'INSERT' then
        insert into private.network_deltas (no, day, members, package_cents)
        select new.no, (p.created_at at time zone 'UTC')::date, 1, new.package_cents
        from private.profiles as p where p.user_id = new.user_id;
    elsif not private.is_repairing() then
        insert into private.network_deltas (no, day, package_cents)
        values (new.no, (pg_catalog.now() at time zone 'UTC')::date, new.package_cents - old.package_cents);
    end if;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.profiles_create_position()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_referrer_no integer;
    v_child_no integer;
begin
    if new.referrer_id is not null then
        update private.positions as r set children = r.children + 1
        where r.user_id = (select s.user_id from private.profiles as s where s.id = new.referrer_id)
        returning r.no, r.children into v_referrer_no, v_child_no;
    end if;
    insert into private.positions (user_id, referrer_no, child_no, joined_at)
    values (new.user_id, v_referrer_no, v_child_no, new.created_at);
    insert into private.totals (user_id) values (new.user_id);
    perform private.increment_counter('profiles', 1);
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_networks()
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_changes private.sum_change[];
    v_direct private.sum_change[];
begin
    with wrong as materialized (
        select d.* from private.network_differences(0, 2147483647) as d
    ), staged as (
        insert into private.network_rollup_staging (no, depth, members, package_cents, referral, pairing, override)
        select w.no, p.depth, w.members, w.package_cents, w.referral, w.pairing, w.override
        from wrong as w
        inner join private.positions as o on w.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
        where (w.members, w.package_cents, w.referral, w.pairing, w.override) is distinct from (0, 0, 0, 0, 0)
    ), rebuilt as (
        insert into private.networks as n (no, direct_cents, direct_funded)
        select w.no, w.direct_cents, w.direct_funded from wrong as w where w.direct_cents <> 0 or w.direct_funded <> 0
        on conflict (no) do update set
            direct_cents = n.direct_cents + excluded.direct_cents, direct_funded = n.direct_funded + excluded.direct_funded
        returning n.no, n.direct_cents, n.direct_funded
    )
    select pg_catalog.array_agg(
        row(
            'direct_referrals', r.no, o.user_id,
            pg_catalog.jsonb_build_object('direct_cents', r.direct_cents - w.direct_cents, 'direct_funded', r.direct_funded - w.direct_funded),
            pg_catalog.jsonb_build_object('direct_cents', r.direct_cents, 'direct_funded', r.direct_funded)
        )::private.sum_change order by r.no
    )
    into v_direct
    from rebuilt as r
    inner join wrong as w on r.no = w.no
    inner join private.positions as o on r.no = o.no;
    perform private.propagate_staged_totals();
    select pg_catalog.array_agg(
        row(
            'network', s.no, o.user_id,
            pg_catalog.jsonb_build_object(
                'members', coalesce(n.members, 0), 'package_cents', coalesce(n.package_cents, 0), 'referral', private.money(coalesce(n.referral, 0)),
                'pairing', private.money(coalesce(n.pairing, 0)), 'override', private.money(coalesce(n.override, 0))
            ),
            pg_catalog.jsonb_build_object(
                'members', coalesce(n.members, 0) + s.members, 'package_cents', coalesce(n.package_cents, 0) + s.package_cents,
                'referral', private.money(coalesce(n.referral, 0) + s.referral), 'pairing', private.money(coalesce(n.pairing, 0) + s.pairing),
                'override', private.money(coalesce(n.override, 0) + s.override)
            )
        )::private.sum_change order by s.no
    )
    into v_changes
    from private.network_rollup_staging as s
    inner join private.positions as o on s.no = o.no
    left join private.networks as n on s.no = n.no
    where (s.members, s.package_cents, s.referral, s.pairing, s.override) is distinct from (0, 0, 0, 0, 0);
    -- A team that turns out to be large gets days of its own with the next roll-up of one of its members.
    perform private.finalise_network_roll_up();
    return v_direct || v_changes;
end
$function$;

CREATE OR REPLACE FUNCTION private.receipts_reject_delete()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform private.lock_receipt(old.name);
    if exists (select 1 from private.deposit_receipts as d where d.name = old.name) then
        perform private.raise_storage_error('A receipt of a deposit is kept.');
    end if;
    return old;
end
$function$;

CREATE OR REPLACE FUNCTION private.receipts_validate()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    v_files integer;
    v_bytes bigint;
    v_hour integer;
    v_day integer;
begin
    if tg_op = 'UPDATE' and old.bucket_id = 'receipts' and (new.bucket_id, new.name, new.owner_id) is distinct from (old.bucket_id, old.name, old.owner_id) then
        perform private.raise_storage_error('Receipts are kept as they are.');
    end if;
    if tg_op = 'UPDATE' or new.bucket_id is distinct from 'receipts' then
        return new;
    end if;
    -- Existing name: a plain upload then fails as a duplicate, an upsert in the branch above.
    if exists (select 1 from storage.objects as o where o.bucket_id = 'receipts' and o.name = new.name) then
        return new;
    end if;
    if new.owner_id is null or new.name !~ ('\A' || new.owner_id || '/[0-9]{10,16}\.(png|jpg|jpeg|webp|pdf)\Z') then
        perform private.raise_storage_error('A receipt is named by your own id and the time.');
    end if;
    -- Serialise a member's uploads, so that the limits hold; the lock ends with this short transaction.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('receipts_of_owner'), pg_catalog.hashtext(new.owner_id));
    select
        count(*) filter (where f.unused), coalesce(sum(f.size) filter (where f.unused), 0),
        count(*) filter (where f.created_at > v_now - interval '1 hour'),
        count(*) filter (where f.created_at > v_now - interval '1 day')
    into v_files, v_bytes, v_hour, v_day
    from (
        select
            o.created_at, (o.metadata ->> 'size')::bigint as size,
            not exists (select 1 from private.deposit_receipts as d where d.name = o.name) as unused
        from private.receipt_uploads as u
        inner join storage.objects as o on o.bucket_id = 'receipts' and u.name = o.name
        where u.name >= new.owner_id || '/' and u.name < new.owner_id || '0'
    ) as f;
    if v_files >= 20 or v_bytes >= 52428800 then
        perform private.raise_storage_error('You have 20 receipts or 50 MB that no deposit uses. They are deleted after a day.');
    end if;
    if v_hour >= 10 then
        perform private.raise_storage_error('You have uploaded 10 receipts within an hour. Try again later.');
    end if;
    if v_day >= 20 then
        perform private.raise_storage_error('You have uploaded 20 receipts within a day. Try again tomorrow.');
    end if;
    insert into private.receipt_uploads (name) values (new.name) on conflict do nothing;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.relative_time (
  p_at  timestamp with time zone,
  p_now timestamp with time zone
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select case when p_now - p_at < interval '1 minute' then 'just now' else private.age_text(p_now - p_at) || ' ago' end
$function$;

CREATE OR REPLACE FUNCTION private.request_counts (
  p_noun text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_approved bigint := private.counter_value(p_noun || '_approved_count');
    v_paid bigint;
begin
    if p_noun = 'withdrawals' then
        v_paid := private.counter_value('withdrawals_paid_count');
    end if;
    return pg_catalog.jsonb_build_object(
        'pending', private.counter_value('pending_' || p_noun)::bigint,
        'approved', v_approved,
        'rejected', private.counter_value(p_noun || '_rejected_count')::bigint
    ) || case when v_paid is null then '{}'::jsonb else pg_catalog.jsonb_build_object(
        'paid', v_paid,
        'unpaid', v_approved - v_paid - (
            -- Corrections are few, and void nothing that was paid.
            select count(*) from private.corrections as c where c.kind = 'void_withdrawal' and c.confirmed_by is not null
        )
    ) end;
end
$function$;

CREATE OR REPLACE FUNCTION private.request_page (
  p_table       text,
  p_text_column text,
  p_request     private.list_request,
  p_counts      jsonb,
  OUT           ids uuid[],
  OUT           total bigint,
  OUT           more boolean
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_all bigint := (p_counts ->> 'pending')::bigint + (p_counts ->> 'approved')::bigint + (p_counts ->> 'rejected')::bigint;
    v_status text := coalesce(
        case
            when p_table = 'withdrawals' and (p_request).status = 'paid' then ' and r.payout_reference is not null'
            when p_table = 'withdrawals' and (p_request).status = 'unpaid'
                then ' and r.status = ''approved'' and r.payout_reference is null and r.voided_at is null'
            else ' and r.status = ' || pg_catalog.quote_literal((p_request).status) || '::public.request_status'
        end, ''
    );
    -- Join the member only where needed: without it a page number is counted along an index.
    v_from text := pg_catalog.format(
        'from public.%I as r %s where true', p_table,
        case when (p_request).sort_by = 'username' or (p_request).pattern is not null
            then 'inner join private.profiles as p on r.user_id = p.user_id'
        end
    ) || v_status;
    v_matches text := pg_catalog.format(
        '(private.member_search_text(p.username, p.display_name, p.email) like $1 or lower(r.%I) like $1)', p_text_column
    );
    v_up text;
    v_down text;
    v_found uuid[];
begin
    if (p_request).everything then
        ids := private.newest_requests(p_table, 'public.' || p_table, (p_counts ->> 'pending')::bigint);
        total := v_all;
        return;
    end if;
    if not p_counts ? coalesce((p_request).status, 'pending') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    select o.up, o.down into v_up, v_down
    from (
        values
        ('created_at', 'r.created_at, r.id', 'r.created_at desc, r.id desc'),
        ('amount', 'r.amount, r.created_at, r.id', 'r.amount desc, r.created_at desc, r.id desc'),
        ('status', 'r.status, r.created_at desc, r.id desc', 'r.status desc, r.created_at, r.id'),
        ('username', 'lower(p.username), r.created_at desc, r.id desc', 'lower(p.username) desc, r.created_at, r.id')
    ) as o (name, up, down)
    where o.name = (p_request).sort_by;
    if (p_request).descending then
        select v_down, v_up into v_up, v_down;
    end if;
    if (p_request).pattern is null then
        total := coalesce((p_counts ->> (p_request).status)::bigint, v_all);
        ids := private.page_ids(v_from, v_up, v_down, p_request, total);
        return;
    end if;
    execute pg_catalog.format(
        $query$
        select array(
            select f.id
            from (
                (
                    select r.id from private.profiles as p inner join public.%1$I as r on p.user_id = r.user_id
                    where private.member_search_text(p.username, p.display_name, p.email) like $1 %2$s
                    limit 10001
                )
                union
                (
                    select r.id from private.request_texts as x inner join public.%1$I as r on x.request_id = r.id
                    where x.text like $1 %2$s
                    limit 10001
                )
            ) as f
            limit 10001
        )
        $query$, p_table, v_status
    ) into v_found using (p_request).pattern;
    total := pg_catalog.cardinality(v_found)::bigint;
    if total > 10000 then
        more := true;
        total := 10000;
        ids := private.page_ids(v_from || ' and ' || v_matches, v_up, v_down, p_request, total, more);
        return;
    end if;
    execute pg_catalog.format(
        'select array(select r.id from public.%I as r inner join private.profiles as p on r.user_id = p.user_id where r.id = any($1) order by %s offset $2 limit $3)',
        p_table, v_up
    ) into ids using v_found, ((p_request).page - 1)::bigint * (p_request).page_size, (p_request).page_size;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_new_payout (
  p_withdrawal_id uuid,
  p_reference     text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_others jsonb;
    v_paid text;
begin
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object('username', o.username, 'amount', private.money(o.amount), 'payout_at', o.payout_at) order by o.payout_at desc
        ),
        pg_catalog.string_agg(pg_catalog.format('%s of %s', private.dollars(o.amount), o.username), ', ' order by o.payout_at desc)
    into v_others, v_paid
    from (
        select w.amount, w.payout_at, p.username
        from public.withdrawals as w
        inner join private.profiles as p on w.user_id = p.user_id
        where w.payout_reference is not null and private.reference_keys(w.payout_reference) && private.reference_keys(p_reference)
            and w.id <> p_withdrawal_id
        order by w.payout_at desc
        limit 3
    ) as o;
    if v_others is not null then
        perform private.raise_error(
            409, 'payout_reference_used', pg_catalog.format('This payout reference is already recorded for %s.', v_paid), v_others::text
        );
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.sign_up_error (
  p_code    text,
  p_message text
)
  RETURNS jsonb
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_build_object('error', pg_catalog.jsonb_build_object('http_code', 400, 'code', p_code, 'message', p_message))
$function$;

CREATE OR REPLACE FUNCTION private.sound_discrepancies (
  p_due private.due_bonus[]
)
  RETURNS private.due_bonus[]
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
    v_disordered integer[];
begin
    if exists (select 1 from private.plan_discrepancies) then
        return '{}'::private.due_bonus[];
    end if;
    v_disordered := array(
        select o.no
        from (
            select
                w.subject_no,
                2 * max(w.pair_number) as referrals
            from pg_catalog.unnest(p_due) as w
            where w.bonus_type <> 'referral'
            group by w.subject_no
        ) as d
        inner join private.positions as o on d.subject_no = o.no
        where array(
            select c.user_id from private.positions as c
            where c.referrer_no = o.no and c.child_no <= d.referrals
            order by c.child_no
        ) is distinct from array(
            select p.user_id from private.profiles as p
            where p.referrer_id = (select s.id from private.profiles as s where s.user_id = o.user_id)
            order by p.created_at, p.id limit d.referrals
        )
    );
    return array(
        select d from pg_catalog.unnest(p_due) as d
        where (d).bonus_type = 'referral' or (d).subject_no <> all(v_disordered)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.team_day_discrepancies (
  p_teams integer
)
  RETURNS TABLE (
    no  integer,
    day date
  )
  LANGUAGE plpgsql
  SET search_path TO ''
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET enable_indexscan TO 'on'
  AS $function$
begin
    return query
    with recursive teams as materialized (
        (select n.no from private.networks as n where n.has_days order by pg_catalog.random() limit p_teams)
        union
        select n.no from private.networks as n inner join private.positions_with_alarm('I30') as a (no) on n.no = a.no where n.has_days
    ),

    downline as (
        select t.no as top_no, t.no, false as has_days from teams as t
        union all
        select b.top_no, c.no, coalesce(n.has_days, false)
        from downline as b
        inner join private.positions as c on b.no = c.referrer_no
        left join private.networks as n on c.no = n.no
        -- A large team within it has its own days, checked separately.
        where not b.has_days
    ),

    found as (
        select b.top_no, (p.created_at at time zone 'UTC')::date as day, 1 as members, 0 as funded
        from downline as b
        inner join private.positions as o on b.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
        where b.no <> b.top_no
        union all
        select b.top_no, (r.created_at at time zone 'UTC')::date, 0, 1
        from downline as b inner join public.bonuses as r on r.bonus_type = 'referral' and b.no = r.subject_no and r.amount > 0
        where b.no <> b.top_no
        union all
        select b.top_no, d.day, d.members, d.funded from downline as b inner join private.team_days as d on b.no = d.no where b.has_days
        union all
        select b.top_no, c.day, -c.members, -c.funded
        from downline as b inner join private.network_deltas as c on b.no = c.no where b.no <> b.top_no
        union all
        select t.no, d.day, -d.members, -d.funded from teams as t inner join private.team_days as d on t.no = d.no
    )
    select f.top_no, f.day
    from found as f group by f.top_no, f.day having sum(f.members) <> 0 or sum(f.funded) <> 0;
end
$function$;

CREATE OR REPLACE FUNCTION private.team_growth (
  p_member private.profiles,
  p_no     integer
)
  RETURNS TABLE (
    day     date,
    members integer,
    funded  integer
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  AS $function$
begin
    if (select n.has_days from private.networks as n where n.no = p_no) then
        return query
        select d.day, d.members, d.funded from private.team_days as d where d.no = p_no
        union all
        select c.day, c.members, c.funded
        from private.network_deltas as c
        inner join private.positions as o on c.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
        where (c.members <> 0 or c.funded <> 0)
            and private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth);
        return;
    end if;
    return query
    with team as (
        -- A member counts as funded from the moment of the referral bonus.
        select p.created_at as joined_at, b.created_at as funded_at
        from private.network_positions(p_no) as n
        inner join private.positions as o on n.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
        left join public.bonuses as b on b.bonus_type = 'referral' and o.no = b.subject_no and b.amount > 0
        where n.level > 0
    )
    select (t.joined_at at time zone 'UTC')::date, 1, 0 from team as t
    union all
    select (t.funded_at at time zone 'UTC')::date, 0, 1 from team as t where t.funded_at is not null;
end
$function$;

CREATE OR REPLACE FUNCTION private.team_search_ids (
  p_member  private.profiles,
  p_no      integer,
  p_pattern text,
  p_limit   integer
)
  RETURNS uuid[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET plan_cache_mode TO 'force_custom_plan'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET enable_seqscan TO 'off'
  AS $function$
declare
    -- A trigram needs three characters; with fewer, everything would match.
    v_indexed boolean := pg_catalog.length(p_pattern) >= 5;
    v_members integer := coalesce((select n.members from private.networks as n where n.no = p_no), 1);
    v_found uuid[];
begin
    if v_indexed then
        v_found := array(
            select p.id from private.profiles as p
            where private.member_search_text(p.username, p.display_name, p.email) like p_pattern
            limit 2001
        );
        if pg_catalog.cardinality(v_found) <= 2000 then
            return array(
                select p.id from private.profiles as p
                where p.id = any(v_found)
                    and (pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern)
                    and (p.id = (p_member).id or private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth))
                order by p.created_at, p.id limit p_limit
            );
        end if;
    end if;
    if v_members <= 50000 then
        return array(
            select p.id
            from private.network_positions(p_no) as n
            inner join private.positions as o on n.no = o.no
            inner join private.profiles as p on o.user_id = p.user_id
            where pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern
            order by p.created_at, p.id limit p_limit
        );
    end if;
    -- A frequent text in a large team: the first matches come early in the order of joining.
    return array(
        select p.id from private.profiles as p
        where (pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern)
            and (p.id = (p_member).id or private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth))
        order by p.created_at, p.id limit p_limit
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.transaction_history (
  p_user_id   uuid,
  p_type      text,
  p_status    text,
  p_from      timestamp with time zone,
  p_to        timestamp with time zone,
  p_before_at timestamp with time zone,
  p_before_id uuid,
  p_limit     integer
)
  RETURNS TABLE (
    created_at   timestamp with time zone,
    id           uuid,
    effective_at timestamp with time zone,
    item         jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_bitmapscan TO 'off'
  SET enable_seqscan TO 'off'
  AS $function$
begin
    return query
    -- Select all columns here: looking the rows up again would cost as much as finding them.
    with page (
        created_at, id, source, amount, kind, status, bonus_id, bonus_amount, source_user_id, subject_no, pair_number, rate, volume,
        decision_no, reference, wallet_address, admin_notes, decided_at, payout_reference, in_balance
    ) as materialized (
        (
            select
                t.created_at, t.id, 'bonus', t.amount::numeric, b.bonus_type || ' bonus', t.status::text, b.id, b.amount::numeric, b.source_user_id,
                b.subject_no, b.pair_number, b.rate, b.volume, t.decision_no, null::text, null::text, null::text, null::timestamptz, null::text,
                true
            from public.transactions as t
            -- Looked up row by row, in the order of the journal.
            cross join lateral (select * from public.bonuses as r where r.id = t.reference_id offset 0) as b
            where
                t.user_id = p_user_id
                and t.transaction_type = 'bonus'
                and (t.created_at, t.id) < (p_before_at, p_before_id)
                and t.created_at >= p_from and t.created_at < p_to
                and (p_type is null or p_type = 'bonus' or p_type = b.bonus_type || ' bonus')
                and (p_status is null or p_status = 'completed')
            order by t.created_at desc, t.id desc
            limit p_limit
        )
        union all
        (
            select
                d.created_at, d.id, 'deposit', d.amount, 'deposit', d.status::text, null, null, null,
                null, null, null, null, d.decision_no, d.reference_number, null, d.admin_notes, d.decided_at, null,
                false
            from public.deposits as d
            where
                d.user_id = p_user_id
                and (d.created_at, d.id) < (p_before_at, p_before_id)
                and d.created_at >= p_from and d.created_at < p_to
                and (p_type is null or p_type = 'deposit')
                and (p_status is null or p_status = d.status::text)
            order by d.created_at desc, d.id desc
            limit p_limit
        )
        union all
        (
            select
                w.created_at, w.id, 'withdrawal', -w.amount, 'withdrawal', w.status::text, null, null, null,
                null, null, null, null, w.decision_no, null, w.wallet_address, w.admin_notes, w.decided_at, w.payout_reference,
                w.status = 'approved'
            from public.withdrawals as w
            where
                w.user_id = p_user_id
                and (w.created_at, w.id) < (p_before_at, p_before_id)
                and w.created_at >= p_from and w.created_at < p_to
                and (p_type is null or p_type = 'withdrawal')
                and (p_status is null or p_status = w.status::text)
            order by w.created_at desc, w.id desc
            limit p_limit
        )
        union all
        (
            select
                t.created_at, t.id, 'transaction', t.amount, 'correction', t.status::text, null, null, null,
                null, null, null, null, t.decision_no, null, null, null, null, null,
                t.transaction_type = 'withdrawal'
            from (
                select * from public.transactions as j
                where j.reference_id = any(array(select c.id from private.corrections as c where c.user_id = p_user_id))
                offset 0
            ) as t
            where
                (t.created_at, t.id) < (p_before_at, p_before_id)
                and t.created_at >= p_from and t.created_at < p_to
                and (p_type is null or p_type = 'correction')
                and (p_status is null or p_status = t.status::text)
            order by t.created_at desc, t.id desc
            limit p_limit
        )
        order by 1 desc, 2 desc
        limit p_limit
    )
    select
        g.created_at,
        g.id,
        case when g.source = 'withdrawal' and g.in_balance then g.decided_at else g.created_at end,
        pg_catalog.jsonb_build_object(
            'id', case when g.source = 'bonus' and not o.is_first then g.id else coalesce(g.bonus_id, g.id) end,
            'user_id', p_user_id,
            'amount', private.money(g.amount),
            'transaction_type', g.kind,
            'status', g.status,
            'created_at', g.created_at,
            'source', case when g.source = 'bonus' and not o.is_first then 'transaction' else g.source end,
            'counterparty', coalesce(s.username, private.short_address(g.wallet_address)),
            'pair_number', g.pair_number,
            'pair_names', case when g.pair_number is not null then (
                select pg_catalog.jsonb_agg(c.username order by n.child_no)
                from private.positions as n
                inner join private.profiles as c on n.user_id = c.user_id
                where n.referrer_no = g.subject_no and n.child_no in (g.pair_number * 2 - 1, g.pair_number * 2)
            ) end,
            'rate', private.percent(g.rate),
            'volume', private.money(g.volume),
            'bonus_amount', private.money(g.bonus_amount),
            'reentry', case when g.bonus_id is not null then private.money(pg_catalog.round(g.amount * private.reentry_percent() / 100, 2)) end,
            'reference', g.reference,
            'wallet_address', g.wallet_address,
            'admin_notes', g.admin_notes,
            'decided_at', g.decided_at,
            'payout_reference', g.payout_reference,
            'can_cancel', g.status = 'pending' and g.source in ('deposit', 'withdrawal'),
            'cancelled', g.status = 'rejected' and g.decision_no is null,
            'in_balance', g.in_balance
        )
    from page as g
    left join private.profiles as s on g.source_user_id = s.user_id
    cross join lateral (
        select g.bonus_id is null or not exists (
            select from public.transactions as f
            where f.reference_id = g.bonus_id
                and (coalesce(f.decision_no, 0), f.id) < (coalesce(g.decision_no, 0), g.id)
        ) as is_first
    ) as o
    order by g.created_at desc, g.id desc;
end
$function$;

CREATE OR REPLACE FUNCTION private.tree_children (
  p_referrer_no integer,
  p_rate        numeric,
  p_after       integer,
  p_limit       integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'id', c.id, 'username', c.username, 'display_name', c.display_name, 'position', c.child_no,
                'pair_number', c.pair_no, 'package_value', private.money(c.package_value), 'funded', c.paid_cents > 0,
                'direct_referrals', c.children, 'created_at', c.created_at, 'pair_state', c.state,
                'blocked_by', case when c.state = 'blocked' then case when c.left_cents = 0 then c.left_name else c.right_name end end
            ) order by c.child_no
        )
        from (
            select
                m.*,
                case
                    when m.right_cents is null then 'open'
                    when m.left_cents = 0 or m.right_cents = 0 then 'blocked'
                    when p_rate = 0 then 'no_rate'
                    else 'paying'
                end as state
            from (
                select
                    o.child_no, o.pair_no, o.paid_cents, o.children,
                    p.id, p.username, p.display_name, p.package_value, p.created_at,
                    min(o.paid_cents) filter (where o.is_left) over pair as left_cents,
                    min(o.paid_cents) filter (where not o.is_left) over pair as right_cents,
                    min(p.username) filter (where o.is_left) over pair as left_name,
                    min(p.username) filter (where not o.is_left) over pair as right_name
                -- A range of child numbers in whole pairs, so that both members of each are selected.
                from private.positions as o
                inner join private.profiles as p on o.user_id = p.user_id
                where o.referrer_no = p_referrer_no and o.child_no between p_after + 1 and p_after + p_limit
                window pair as (partition by o.pair_no)
            ) as m
        ) as c
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.unread_notifications (
  p_user_id uuid
)
  RETURNS bigint
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select count(*)
    from (
        select n.read_at from public.notifications as n
        where n.user_id = p_user_id
        order by n.created_at desc, n.id desc
        limit 1000
    ) as m
    where m.read_at is null
$function$;

CREATE OR REPLACE FUNCTION private.wallet_sharers (
  p_wallet    text,
  p_member_id uuid
)
  RETURNS text[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return array(
        select q.username from private.profiles as q
        where q.trc20_wallet_address = p_wallet and q.id <> p_member_id
        order by q.created_at
        limit 3
    );
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
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text)), '[]')
        from (
            select 'checksum' as kind, 'This does not look like a TRC20 address' as text
            where not private.is_trc20_address((p_withdrawal).wallet_address)
            union all
            (
                select
                    'address_changed',
                    pg_catalog.format(
                        'Wallet address changed on %s', pg_catalog.to_char(l.at at time zone 'UTC', 'FMDD Mon YYYY')
                    )
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
            select 'address_shared', pg_catalog.format('Also the wallet of %s', s.username)
            from pg_catalog.unnest(private.wallet_sharers((p_withdrawal).wallet_address, (p_member).id)) as s (username)
            union all
            select 'hold', pg_catalog.format(
                'On hold until %s UTC, 24 hours after a change of %s',
                pg_catalog.to_char((p_member).hold_until at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'),
                case (p_member).hold_reason when 'email' then 'e-mail' when 'factor' then 'second factor' else (p_member).hold_reason end
            )
            where (p_member).hold_until > pg_catalog.now()
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status)
            where (p_member).account_status in ('suspended', 'disabled')
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
            'flags', case when w.status = 'pending' then private.withdrawal_flags(w, p) else '[]' end
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
    perform private.increment_counter('withdrawals_paid_count', 1);
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.decide_withdrawal (
  p_withdrawal_id    uuid,
  p_action           text,
  p_reason           text    DEFAULT NULL::text,
  p_payout_reference text    DEFAULT NULL::text,
  p_shared_payout    boolean DEFAULT false
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_status public.request_status := private.parse_action(p_action);
    v_reason text := case when v_status = 'rejected' then private.validate_reason(p_reason) end;
    v_withdrawal public.withdrawals;
    v_member private.profiles;
    v_paid text;
begin
    select * into v_withdrawal from public.withdrawals as w where w.id = p_withdrawal_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such withdrawal.');
    end if;
    perform private.require_not_own_account(v_admin, v_withdrawal.user_id);
    perform private.lock_money();
    v_member := private.lock_member(v_withdrawal.user_id);
    select * into v_withdrawal from public.withdrawals as w where w.id = p_withdrawal_id for no key update;
    v_paid := case when v_status = 'approved' then nullif(pg_catalog.btrim(p_payout_reference), '') end;
    if v_withdrawal.status <> 'pending' then
        -- Any administrator who may decide may record the payout later.
        if v_withdrawal.status is distinct from v_status or (v_paid is null and v_withdrawal.decided_by is distinct from v_admin.id) then
            perform private.raise_already_decided(pg_catalog.to_jsonb(v_withdrawal));
        end if;
        v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid, p_shared_payout);
        return pg_catalog.jsonb_build_object(
            'success', true, 'already', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal))
        ) || private.audit_entries();
    end if;
    perform private.require_no_alarm(v_withdrawal.user_id);
    if v_status = 'approved' then
        perform private.check_payable(v_withdrawal, v_member);
    end if;
    update public.withdrawals as w set
        status = v_status, admin_notes = v_reason, decided_at = private.clock(), decided_by = v_admin.id, decision_no = private.next_decision_no()
    where w.id = p_withdrawal_id and w.status = 'pending'
    returning w.* into v_withdrawal;
    perform private.notify_decision('withdrawal', v_withdrawal.user_id, v_withdrawal.amount, v_status, v_reason);
    perform private.audit(
        'admin:' || v_admin.id, 'withdrawal.' || v_status, 'withdrawal', v_withdrawal.id,
        private.withdrawal_decision_facts(v_withdrawal), v_withdrawal.decided_at
    );
    v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid, p_shared_payout);
    return pg_catalog.jsonb_build_object('success', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal)))
        || private.audit_entries();
end
$function$;

REVOKE ALL ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean) FROM PUBLIC, "anon", "authenticated", "service_role";

CREATE OR REPLACE FUNCTION public.end_other_sessions()
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles := private.require_member();
    v_current uuid := private.uuid_claim(auth.jwt(), 'session_id');
    v_ended integer;
begin
    delete from auth.sessions as s where s.user_id = v_member.user_id and s.id is distinct from v_current;
    get diagnostics v_ended = row_count;
    if v_ended > 0 then
        perform private.audit(
            'member:' || v_member.user_id, 'member.sessions_ended', 'profile', v_member.id, pg_catalog.jsonb_build_object('ended', v_ended)
        );
    end if;
    return pg_catalog.jsonb_build_object('ended', v_ended);
end
$function$;

REVOKE ALL ON FUNCTION "public"."end_other_sessions"() FROM PUBLIC, "anon", "service_role";

CREATE OR REPLACE FUNCTION public.end_session (
  p_session_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles := private.require_member();
begin
    delete from auth.sessions as s where s.id = p_session_id and s.user_id = v_member.user_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'This session has already ended.');
    end if;
    perform private.audit(
        'member:' || v_member.user_id, 'member.session_ended', 'profile', v_member.id, pg_catalog.jsonb_build_object('session', p_session_id)
    );
    return pg_catalog.jsonb_build_object('success', true);
end
$function$;

REVOKE ALL ON FUNCTION "public"."end_session"(uuid) FROM PUBLIC, "anon", "service_role";

CREATE OR REPLACE FUNCTION public.find_receipt (
  p_receipt_url text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_receipt private.deposit_receipts;
begin
    select * into v_receipt from private.deposit_receipts as d where d.name = private.receipt_name(p_receipt_url);
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no deposit with this receipt.');
    end if;
    perform private.audit('admin:' || v_admin.id, 'deposit.receipt_opened', 'deposit', v_receipt.deposit_id);
    return pg_catalog.jsonb_build_object('bucket', 'receipts', 'name', v_receipt.name);
end
$function$;

CREATE OR REPLACE FUNCTION public.get_admin_overview()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin();
    v_deposit jsonb;
    v_withdrawal jsonb;
    v_recent jsonb;
    v_ledger_check record;
begin
    select private.oldest_pending(pg_catalog.to_jsonb(r)) into v_deposit
    from (
        select d.id, d.user_id, d.amount, d.created_at from public.deposits as d
        where d.status = 'pending' order by d.created_at, d.id limit 1
    ) as r;
    select private.oldest_pending(pg_catalog.to_jsonb(r)) into v_withdrawal
    from (
        select w.id, w.user_id, w.amount, w.created_at from public.withdrawals as w
        where w.status = 'pending' order by w.created_at, w.id limit 1
    ) as r;
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', r.id, 'type', r.type, 'user_email', p.email, 'username', p.username,
            'created_at', r.created_at, 'amount', private.money(r.amount), 'status', r.status,
            'cancelled', r.status = 'rejected' and r.decided_by is null
        ) order by r.created_at desc, r.id desc
    )
    into v_recent
    from (
        (
            select d.id, 'deposit' as type, d.user_id, d.created_at, d.amount, d.status, d.decided_by
            from public.deposits as d order by d.created_at desc, d.id desc limit 10
        )
        union all
        (
            select w.id, 'withdrawal', w.user_id, w.created_at, w.amount, w.status, w.decided_by
            from public.withdrawals as w order by w.created_at desc, w.id desc limit 10
        )
        order by 4 desc, 1 desc
        limit 10
    ) as r
    inner join private.profiles as p on r.user_id = p.user_id;
    select s.checked_at, s.violations into v_ledger_check from private.ledger_check_state as s;
    return pg_catalog.jsonb_build_object(
        'as_of', pg_catalog.now(),
        'admin', pg_catalog.jsonb_build_object(
            'id', v_admin.id, 'email', v_admin.email, 'full_name', v_admin.full_name, 'role', v_admin.role
        ),
        'oldest_pending', pg_catalog.jsonb_build_object('deposit', v_deposit, 'withdrawal', v_withdrawal),
        'pending', pg_catalog.jsonb_build_object(
            'deposits', private.counter_value('pending_deposits')::bigint, 'withdrawals', private.counter_value('pending_withdrawals')::bigint
        ),
        'net_cash_flow', private.money(private.counter_value('deposits_approved') - private.counter_value('withdrawals_approved')),
        'recent', coalesce(v_recent, '[]'),
        'flows', private.daily_flows(90),
        'books', pg_catalog.jsonb_build_object(
            'ok', case when v_ledger_check.checked_at is not null then v_ledger_check.violations = 0 end,
            'violations', v_ledger_check.violations,
            'checked_at', v_ledger_check.checked_at
        ),
        'alarms', private.alarm_summary(),
        'coverage', private.coverage()
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.get_earnings (
  p_range text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles := private.require_member();
    v_no integer;
    v_range record;
    v_points jsonb;
    v_totals jsonb;
    v_previous numeric;
begin
    select o.no into v_no from private.positions as o where o.user_id = v_member.user_id;
    select * into v_range from private.chart_range(p_range, v_member.created_at);
    with days as materialized (
        select d.day, d.referral, d.pairing, d.override
        from private.earning_days as d where d.no = v_no and d.day >= coalesce(v_range.previous_first_day, v_range.first_day)
        union all
        select c.day, c.referral, c.pairing, c.override
        from private.network_deltas as c where c.no = v_no and c.day >= coalesce(v_range.previous_first_day, v_range.first_day)
    ),
    earned as (
        select
            pg_catalog.date_trunc(v_range.bucket, d.day::timestamp)::date as start,
            sum(d.referral) as referral,
            sum(d.pairing) as pairing,
            sum(d.override) as override
        from days as d
        where d.day >= v_range.first_day
        group by 1
    ),
    bars as (
        select
            s.start::date as start,
            coalesce(e.referral, 0) as referral,
            coalesce(e.pairing, 0) as pairing,
            coalesce(e.override, 0) as override
        from pg_catalog.generate_series(
            pg_catalog.date_trunc(v_range.bucket, v_range.first_day::timestamp),
            v_range.last_day::timestamp,
            ('1 ' || v_range.bucket)::interval
        ) as s (start)
        left join earned as e on s.start::date = e.start
    )
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'start', a.start,
                'referral', private.money(a.referral),
                'pairing', private.money(a.pairing),
                'override', private.money(a.override)
            ) order by a.start
        ),
        pg_catalog.jsonb_build_object(
            'referral', private.money(sum(a.referral)),
            'pairing', private.money(sum(a.pairing)),
            'override', private.money(sum(a.override)),
            'total', private.money(sum(a.referral + a.pairing + a.override))
        ),
        (
            select coalesce(sum(d.referral + d.pairing + d.override), 0) from days as d
            where d.day between v_range.previous_first_day and v_range.previous_last_day
        )
    into v_points, v_totals, v_previous
    from bars as a;
    return pg_catalog.jsonb_build_object(
        'from', v_range.first_day,
        'to', v_range.last_day,
        'bucket', v_range.bucket,
        'totals', v_totals,
        'previous', case when v_range.previous_first_day is not null then
            pg_catalog.jsonb_build_object(
                'from', v_range.previous_first_day, 'to', v_range.previous_last_day, 'total', private.money(v_previous)
            )
        end,
        'points', v_points
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.get_email_change()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    return (
        select pg_catalog.jsonb_build_object(
            'old_email', u.email, 'new_email', u.email_change,
            'old_confirmed', u.email_change_confirm_status = 1 and u.email_change_token_current = '',
            'new_confirmed', u.email_change_confirm_status = 1 and u.email_change_token_new = ''
        )
        from auth.users as u where u.id = v_user_id and u.email_change <> ''
    );
end
$function$;

REVOKE ALL ON FUNCTION "public"."get_email_change"() FROM PUBLIC, "anon", "service_role";

CREATE OR REPLACE FUNCTION public.get_mail_choices()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'topic', t.topic, 'label', t.label, 'wanted', coalesce(c.wanted, t.wanted_at_first)
            ) order by t.topic
        )
        from private.mail_topics as t
        left join private.mail_choices as c on t.topic = c.topic and c.user_id = v_user_id
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.get_member (
  p_profile_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles;
    v_totals private.totals;
    v_children integer;
    v_referrer jsonb;
begin
    perform private.require_admin();
    select p.* into v_member from private.profiles as p where p.id = p_profile_id;
    if v_member.id is null then
        perform private.raise_error(404, 'not_found', 'There is no such member.');
    end if;
    select t.* into v_totals from private.totals as t where t.user_id = v_member.user_id;
    select o.children into v_children from private.positions as o where o.user_id = v_member.user_id;
    select pg_catalog.jsonb_build_object('id', s.id, 'username', s.username, 'display_name', s.display_name)
    into v_referrer
    from private.profiles as s where s.id = v_member.referrer_id;
    return private.member_item(v_member) || pg_catalog.jsonb_build_object(
        'sponsor', v_referrer,
        'wallet_checksum_ok', case
            when v_member.trc20_wallet_address is not null then private.is_trc20_address(v_member.trc20_wallet_address)
        end,
        'statistics', pg_catalog.jsonb_build_object(
            'total_bonuses', private.money(v_totals.bonus_amount),
            'total_deposits', private.money(v_member.cash_in_amount),
            'total_withdrawals', private.money(v_totals.withdrawn_amount),
            'direct_referrals', v_children,
            'net_balance', private.money(v_member.cash_in_amount - v_totals.withdrawn_amount + v_totals.bonus_amount)
        )
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.get_member_dashboard()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_screen jsonb;
begin
    -- One statement without variables: planned once per connection.
    select pg_catalog.jsonb_build_object(
        'as_of', pg_catalog.now(),
        'profile', pg_catalog.jsonb_build_object(
            'id', p.id,
            'user_id', p.user_id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'trc20_wallet_address', p.trc20_wallet_address,
            'wallet_checksum_ok', case when p.trc20_wallet_address is not null then private.is_trc20_address(p.trc20_wallet_address) end,
            'account_status', p.account_status,
            'account_verified', p.account_verified,
            'package_value', private.money(p.package_value),
            'package_label', k.label,
            'package_rate', private.percent(coalesce(k.pairing_percent, 0)),
            'cash_in_amount', private.money(p.cash_in_amount),
            'created_at', p.created_at,
            'sponsor', case when s.id is not null then
                pg_catalog.jsonb_build_object('id', s.id, 'username', s.username, 'display_name', s.display_name)
            end
        ),
        'verification', private.verification_result(p),
        'balance', private.balance_figures(t, p),
        'bonuses', pg_catalog.jsonb_build_object(
            'referral', private.bonus_figures(t.referral_amount, t.referral_count),
            'pairing', private.bonus_figures(t.pairing_amount, t.pairing_count),
            'override', private.bonus_figures(t.override_amount, t.override_count),
            'total', private.money(t.bonus_amount),
            'reentry', private.money(t.reentry_amount)
        ),
        'roi', private.percent(private.return_on_investment(t.bonus_amount, p.package_value)),
        'net_profit', private.money(t.bonus_amount - p.package_value),
        'team', pg_catalog.jsonb_build_object(
            'direct_referrals', o.children,
            'funded_referrals', c.funded,
            'active_pairs', o.children / 2,
            'paying_pairs', t.pairing_count,
            'package_rate', private.percent(coalesce(k.pairing_percent, 0)),
            'total_team_volume', private.money(c.package_cents / 100.0)
        ),
        'latest', (
            select coalesce(pg_catalog.jsonb_agg(h.item order by h.created_at desc, h.id desc), '[]')
            from private.transaction_history(
                p.user_id, null, null, '-infinity', 'infinity', 'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 5
            ) as h
        ),
        'pending', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'source', r.source,
                        'id', r.id,
                        'amount', private.money(r.amount),
                        'created_at', r.created_at
                    ) order by r.created_at, r.id
                ), '[]'
            )
            from (
                select 'deposit' as source, d.id, d.amount, d.created_at
                from public.deposits as d where d.user_id = p.user_id and d.status = 'pending'
                union all
                select 'withdrawal', w.id, w.amount, w.created_at
                from public.withdrawals as w where w.user_id = p.user_id and w.status = 'pending'
            ) as r
        ),
        'unread_notifications', private.unread_notifications(p.user_id),
        'last_sync_at', (select r.ran_at from private.reconcile_state as r)
    )
    into v_screen
    from private.profiles as p
    left join private.totals as t on p.user_id = t.user_id
    left join private.positions as o on p.user_id = o.user_id
    left join private.packages as k on p.package_value = k.value
    left join private.profiles as s on p.referrer_id = s.id
    cross join lateral private.direct_referral_totals(o) as c
    where p.user_id = auth.uid();
    if v_screen is null then
        perform private.raise_error(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    return v_screen;
end
$function$;

CREATE OR REPLACE FUNCTION public.get_my_sessions()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
    v_current uuid := private.uuid_claim(auth.jwt(), 'session_id');
begin
    return (
        select coalesce(
            pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object(
                    'id', o.id, 'user_agent', o.user_agent, 'created_at', o.created_at, 'last_used_at', o.last_used_at, 'is_current', o.is_current
                ) order by o.is_current desc, o.last_used_at desc, o.id
            ), '[]'
        )
        from (
            select
                s.id, s.user_agent, s.created_at, s.id = v_current as is_current,
                -- Stored in UTC, without saying so.
                greatest(s.created_at, s.refreshed_at at time zone 'UTC') as last_used_at
            from auth.sessions as s
            where s.user_id = v_user_id and (s.not_after is null or s.not_after > pg_catalog.clock_timestamp())
            order by is_current desc, last_used_at desc, s.id
            limit 50
        ) as o
    );
end
$function$;

REVOKE ALL ON FUNCTION "public"."get_my_sessions"() FROM PUBLIC, "anon", "service_role";

CREATE OR REPLACE FUNCTION public.get_notifications (
  p_before text    DEFAULT NULL::text,
  p_limit  integer DEFAULT NULL::integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
    v_limit integer := private.page_limit(p_limit, 20, 100);
    v_before record;
    v_items jsonb[];
    v_keys text[];
begin
    select * into v_before from private.decode_cursor(p_before);
    select
        pg_catalog.array_agg(
            pg_catalog.jsonb_build_object(
                'id', n.id,
                'kind', n.kind,
                'title', n.title,
                'body', n.body,
                'amount', private.money(n.amount),
                'read_at', n.read_at,
                'created_at', n.created_at,
                'link', n.link
            ) order by n.created_at desc, n.id desc
        ),
        pg_catalog.array_agg(private.encode_cursor(n.created_at, n.id) order by n.created_at desc, n.id desc)
    into v_items, v_keys
    from (
        select m.*
        from public.notifications as m
        where m.user_id = v_user_id and (m.created_at, m.id) < (v_before.at, v_before.id)
        order by m.created_at desc, m.id desc
        limit v_limit + 1
    ) as n;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(pg_catalog.to_jsonb(v_items[:v_limit]), '[]'),
        'next', case when pg_catalog.cardinality(v_items) > v_limit then v_keys[v_limit] end,
        'unread', private.unread_notifications(v_user_id)
    );
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
            'min_withdrawal', private.money(100), 'min_deposit', private.money(1), 'max_amount', private.money(10000000),
            'receipt_max_bytes', (select b.file_size_limit from storage.buckets as b where b.id = 'receipts')
        ),
        'review_due_hours', private.setting('review.due_hours'),
        'explorer_url', private.setting('explorer.url'),
        'terms', private.legal_document('terms'),
        'risk', private.legal_document('risk')
    )
$function$;

CREATE OR REPLACE FUNCTION public.get_request_changes (
  p_noun text,
  p_ids  uuid[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform private.require_admin();
    if p_noun is null or p_noun not in ('deposits', 'withdrawals') or pg_catalog.cardinality(p_ids) > 500 then
        perform private.raise_error(400, 'invalid_filter', 'Name deposits or withdrawals, and at most 500 of them.');
    end if;
    return pg_catalog.jsonb_build_object(
        'counts', private.request_counts(p_noun),
        'decided', (
            select coalesce(
                pg_catalog.jsonb_agg(pg_catalog.to_jsonb(r) || pg_catalog.jsonb_build_object('decided_by_name', coalesce(a.full_name, a.email))), '[]'
            )
            from (
                select d.id, d.status, d.admin_notes, d.decided_at, d.decided_by, d.voided_at, null as payout_reference
                from public.deposits as d where p_noun = 'deposits' and d.id = any(p_ids) and d.status <> 'pending'
                union all
                select w.id, w.status, w.admin_notes, w.decided_at, w.decided_by, w.voided_at, w.payout_reference
                from public.withdrawals as w where p_noun = 'withdrawals' and w.id = any(p_ids) and w.status <> 'pending'
            ) as r
            left join private.admin_users as a on r.decided_by = a.id
        )
    );
end
$function$;

REVOKE ALL ON FUNCTION "public"."get_request_changes"(text, uuid[]) FROM PUBLIC, "anon", "authenticated", "service_role";

CREATE OR REPLACE FUNCTION public.get_statement (
  p_month date,
  p_after integer DEFAULT 0,
  p_limit integer DEFAULT 100
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles := private.require_member();
    v_today date := (pg_catalog.now() at time zone 'UTC')::date;
    v_first date;
    v_next date;
    v_from timestamptz;
    v_to timestamptz;
    v_opening numeric;
    v_statement jsonb;
begin
    if (p_limit between 0 and 500 and p_after >= 0) is not true then
        perform private.raise_error(400, 'invalid_limit', 'A part of a statement holds up to 500 rows.');
    end if;
    if (p_month between pg_catalog.date_trunc('month', v_member.created_at at time zone 'UTC') and v_today) is not true then
        perform private.raise_error(400, 'invalid_range', 'There is no statement of this month.');
    end if;
    v_first := pg_catalog.date_trunc('month', p_month::timestamp)::date;
    v_next := (v_first + interval '1 month')::date;
    v_from := v_first::timestamp at time zone 'UTC';
    v_to := v_next::timestamp at time zone 'UTC';
    v_opening := private.balance_now(v_member.user_id) - coalesce(
        (select sum(d.amount) from private.balance_days(v_member.user_id, v_first) as d), 0
    );
    with effects as materialized (
        select m.effective_at, m.decision_no, m.id, m.source, m.source_id, m.amount, m.amount as moved
        from private.balance_movements(v_member.user_id, v_from, v_to) as m
        union all
        select d.decided_at, d.decision_no, d.id, 'deposit', d.id, d.amount, 0
        from public.deposits as d
        where d.user_id = v_member.user_id and d.status = 'approved' and d.decided_at >= v_from and d.decided_at < v_to
        union all
        select t.created_at, t.decision_no, t.id, 'deposit correction', c.id, t.amount, 0
        from private.corrections as c inner join public.transactions as t on c.id = t.reference_id
        where
            c.user_id = v_member.user_id and c.kind = 'void_deposit'
            and c.confirmed_at >= v_from and c.confirmed_at < v_to
    ),
    lines as materialized (
        select
            e.*,
            b.bonus_type,
            pg_catalog.row_number() over o as place,
            v_opening + sum(e.moved) over o as balance
        from effects as e
        left join public.bonuses as b on e.source = 'bonus' and e.source_id = b.id
        window o as (order by (e.effective_at at time zone 'UTC')::date, e.decision_no, e.id)
    ),
    sums as (
        select
            coalesce(sum(l.moved) filter (where l.bonus_type = 'referral' and l.moved > 0), 0) as referral,
            coalesce(sum(l.moved) filter (where l.bonus_type = 'pairing' and l.moved > 0), 0) as pairing,
            coalesce(sum(l.moved) filter (where l.bonus_type = 'override' and l.moved > 0), 0) as override,
            coalesce(sum(l.moved) filter (where l.source = 'correction'), 0) as returned,
            coalesce(-sum(l.moved) filter (where l.source = 'withdrawal'), 0) as withdrawn,
            coalesce(-sum(l.moved) filter (where l.source = 'bonus' and l.moved < 0), 0) as lowered,
            coalesce(sum(l.moved), 0) as moved,
            coalesce(sum(l.amount) filter (where l.source in ('deposit', 'deposit correction')), 0) as deposits,
            count(*) as rows,
            count(*) filter (where l.moved > 0) as rows_in,
            count(*) filter (where l.moved < 0) as rows_out
        from lines as l
    )
    select pg_catalog.jsonb_build_object(
        'from', v_first,
        'to', v_next - 1,
        'running', v_next > v_today,
        'opening', private.money(v_opening),
        'in', pg_catalog.jsonb_build_object(
            'referral', private.money(s.referral), 'pairing', private.money(s.pairing), 'override', private.money(s.override),
            'returned', private.money(s.returned), 'total', private.money(s.referral + s.pairing + s.override + s.returned), 'rows', s.rows_in
        ),
        'out', pg_catalog.jsonb_build_object(
            'withdrawals', private.money(s.withdrawn), 'lowered', private.money(s.lowered),
            'total', private.money(s.withdrawn + s.lowered), 'rows', s.rows_out
        ),
        'closing', private.money(v_opening + s.moved),
        'deposits', private.money(s.deposits),
        'total', s.rows,
        'rows', coalesce((
            select pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object(
                    'id', l.id,
                    'at', l.effective_at,
                    'type', coalesce(l.bonus_type || ' bonus', l.source),
                    'amount', private.money(l.amount),
                    'in_balance', l.source not in ('deposit', 'deposit correction'),
                    'balance_after', private.money(l.balance),
                    'counterparty', p.username,
                    'pair_number', b.pair_number,
                    'raised', l.source = 'bonus' and exists (
                        select from public.transactions as f
                        where f.reference_id = l.source_id and (coalesce(f.decision_no, 0), f.id) < (l.decision_no, l.id)
                    ),
                    'reference', coalesce(d.reference_number, w.payout_reference),
                    'wallet_address', w.wallet_address
                ) order by l.place
            )
            from lines as l
            left join public.bonuses as b on l.source = 'bonus' and l.source_id = b.id
            left join private.profiles as p on b.source_user_id = p.user_id
            left join public.deposits as d on l.source = 'deposit' and l.source_id = d.id
            left join public.withdrawals as w on l.source = 'withdrawal' and l.source_id = w.id
            where l.place > p_after and l.place <= p_after + p_limit
        ), '[]'),
        'next', case when p_limit > 0 and s.rows > p_after + p_limit then p_after + p_limit end
    )
    into v_statement
    from sums as s;
    return v_statement;
end
$function$;

REVOKE ALL ON FUNCTION "public"."get_statement"(date, integer, integer) FROM PUBLIC, "anon", "service_role";

CREATE OR REPLACE FUNCTION public.get_team_growth (
  p_range text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles := private.require_member();
    v_no integer;
    v_range record;
    v_points jsonb;
    v_joined jsonb;
    v_previous jsonb;
begin
    select o.no into v_no from private.positions as o where o.user_id = v_member.user_id;
    select * into v_range from private.chart_range(p_range, v_member.created_at);
    with days as materialized (
        select c.day, c.members, c.funded from private.team_growth(v_member, v_no) as c
    ),
    per_bar as (
        select
            -- What happened before the chart counts in its first bar.
            greatest(pg_catalog.date_trunc(v_range.bucket, c.day::timestamp), v_range.first_day::timestamp) as start,
            sum(c.members) as members,
            sum(c.funded) as funded
        from days as c
        group by 1
    ),
    bars as (
        select
            s.start,
            sum(coalesce(c.members, 0)) over (order by s.start) as members,
            sum(coalesce(c.funded, 0)) over (order by s.start) as funded
        from pg_catalog.generate_series(
            v_range.first_day::timestamp, v_range.last_day::timestamp, ('1 ' || v_range.bucket)::interval
        ) as s (start)
        left join per_bar as c on s.start = c.start
    )
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object('start', a.start::date, 'members', a.members, 'funded', a.funded) order by a.start
        ),
        (
            select pg_catalog.jsonb_build_object('members', coalesce(sum(d.members), 0), 'funded', coalesce(sum(d.funded), 0))
            from days as d where d.day >= v_range.first_day
        ),
        (
            select pg_catalog.jsonb_build_object('members', coalesce(sum(d.members), 0), 'funded', coalesce(sum(d.funded), 0))
            from days as d where d.day between v_range.previous_first_day and v_range.previous_last_day
        )
    into v_points, v_joined, v_previous
    from bars as a;
    return pg_catalog.jsonb_build_object(
        'from', v_range.first_day, 'to', v_range.last_day, 'bucket', v_range.bucket, 'points', v_points, 'joined', v_joined,
        'previous', case when v_range.previous_first_day is not null then
            v_previous || pg_catalog.jsonb_build_object('from', v_range.previous_first_day, 'to', v_range.previous_last_day)
        end
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.get_team_tree (
  p_root  uuid    DEFAULT NULL::uuid,
  p_after integer DEFAULT NULL::integer,
  p_limit integer DEFAULT NULL::integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_root private.profiles := private.visible_root(p_root);
    v_position private.positions;
    v_rate numeric;
    v_tree jsonb;
    -- Whole pairs only: an even number of rows after an even position.
    v_limit integer := (private.page_limit(p_limit, 50, 200) + 1) / 2 * 2;
    v_after integer := greatest(coalesce(p_after, 0), 0) / 2 * 2;
begin
    if v_root.id is null then
        v_tree := private.company_tree(v_after, v_limit);
        return v_tree || pg_catalog.jsonb_build_object('root', (v_tree -> 'root') || private.company_totals());
    end if;
    select o.* into v_position from private.positions as o where o.user_id = v_root.user_id;
    select coalesce(max(k.pairing_percent), 0) into v_rate
    from private.packages as k where k.value = v_root.package_value;
    return pg_catalog.jsonb_build_object(
        'root', private.tree_node(v_position, v_root) || private.team_totals(v_root, v_position),
        'path', private.tree_path(v_root),
        'items', coalesce(private.tree_children(v_position.no, v_rate, v_after, v_limit), '[]'),
        'total', v_position.children,
        'next', case when v_after + v_limit < v_position.children then v_after + v_limit end
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.get_transaction_history (
  p_type   text    DEFAULT NULL::text,
  p_status text    DEFAULT NULL::text,
  p_from   date    DEFAULT NULL::date,
  p_to     date    DEFAULT NULL::date,
  p_before text    DEFAULT NULL::text,
  p_limit  integer DEFAULT NULL::integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
    v_limit integer := private.page_limit(p_limit, 25, 100);
    v_before record;
    v_items jsonb[];
    v_times timestamptz[];
    v_effective timestamptz[];
    v_ids uuid[];
begin
    if p_type not in ('deposit', 'withdrawal', 'bonus', 'referral bonus', 'pairing bonus', 'override bonus', 'correction') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such type of transaction.');
    end if;
    if p_status not in ('pending', 'approved', 'rejected', 'completed', 'failed') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    select * into v_before from private.decode_cursor(p_before);
    -- Read one row more to know whether there is a next page.
    select
        pg_catalog.array_agg(h.item order by h.created_at desc, h.id desc),
        pg_catalog.array_agg(h.created_at order by h.created_at desc, h.id desc),
        pg_catalog.array_agg(h.effective_at order by h.created_at desc, h.id desc),
        pg_catalog.array_agg(h.id order by h.created_at desc, h.id desc)
    into v_items, v_times, v_effective, v_ids
    from private.transaction_history(
        v_user_id, p_type, p_status,
        coalesce(p_from::timestamp at time zone 'UTC', '-infinity'),
        coalesce((p_to + 1)::timestamp at time zone 'UTC', 'infinity'),
        v_before.at, v_before.id, v_limit + 1
    ) as h;
    return pg_catalog.jsonb_build_object(
        'items', coalesce((
            select pg_catalog.jsonb_agg(
                i.item || pg_catalog.jsonb_build_object('balance_after', private.money(i.balance)) order by i.place
            )
            from rows from (
                pg_catalog.unnest(v_items[:v_limit]),
                pg_catalog.unnest(private.balances_after(v_user_id, v_effective[:v_limit], v_ids[:v_limit]))
            ) with ordinality as i (item, balance, place)
        ), '[]'),
        'next', case when pg_catalog.cardinality(v_items) > v_limit then private.encode_cursor(v_times[v_limit], v_ids[v_limit]) end
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.list_audit (
  p_filters jsonb DEFAULT '{}'::jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin();
    v_page integer := least(greatest(coalesce((p_filters ->> 'page')::integer, 1), 1), 100000);
    v_size integer := least(greatest(coalesce((p_filters ->> 'pageSize')::integer, 50), 1), 500);
    v_actor text := case
        when v_admin.role = 'support_admin' then 'admin:' || v_admin.id
        else 'admin:' || nullif(p_filters ->> 'adminId', '')
    end;
    v_action text := nullif(pg_catalog.btrim(p_filters ->> 'action'), '');
    v_object uuid := nullif(p_filters ->> 'objectId', '')::uuid;
    v_found bigint[] := case when pg_catalog.btrim(p_filters ->> 'search') <> '' then private.audit_matches(p_filters ->> 'search') end;
    v_from text := 'from private.audit_log as a where true' || private.audit_conditions(v_actor, v_action, v_object, v_found is not null);
    v_total bigint;
    v_entries jsonb;
begin
    -- Of what is only counted no row is read.
    execute pg_catalog.format('select count(*) from (select a.id %s limit 10001) as c', v_from)
    into v_total using v_size, (v_page - 1) * v_size, v_found;
    execute pg_catalog.format(
        $query$
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'seq', e.id, 'at', e.at, 'actor', e.actor, 'actor_name', private.actor_name(e.actor), 'action', e.action,
                'object_type', e.object_type, 'object_id', e.object_id, 'payload', e.payload
            ) order by e.id desc
        )
        from (select a.* %s order by a.id desc limit $1 offset $2) as e
        $query$, v_from
    ) into v_entries using v_size, (v_page - 1) * v_size, v_found;
    return pg_catalog.jsonb_build_object(
        'entries', coalesce(v_entries, '[]'),
        -- Whose actions can be asked for.
        'administrators', (
            select coalesce(
                pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', a.id, 'name', coalesce(a.full_name, a.email)) order by coalesce(a.full_name, a.email)), '[]'
            )
            from private.admin_users as a where v_admin.role <> 'support_admin' or a.id = v_admin.id
        ),
        'total', least(v_total, 10000)
    ) || case when v_total > 10000 then '{"more": true}' else '{}' end::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION public.list_members (
  p_filters jsonb DEFAULT '{}'::jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['created_at', 'username', 'package_value']);
    v_package text := nullif(nullif(p_filters ->> 'package', ''), 'all');
    v_where text := private.member_conditions(v_package, nullif(nullif(p_filters ->> 'verified', ''), 'all'), v_request.status);
    v_source text := case when v_request.sort_by = 'package_value'
        then '(select m.*, o.package_cents, o.joined_at, o.no from private.positions as o inner join private.profiles as m on o.user_id = m.user_id)'
        else 'private.profiles'
    end;
    v_order text;
    v_reversed text;
    v_matches text;
    v_page record;
    v_items jsonb;
begin
    perform private.require_admin();
    select o.up, o.down into v_order, v_reversed
    from (
        values
        ('created_at', 'r.created_at, r.id', 'r.created_at desc, r.id desc'),
        ('username', 'lower(r.username), r.id', 'lower(r.username) desc, r.id desc'),
        ('package_value', 'r.package_cents, r.joined_at, r.no', 'r.package_cents desc, r.joined_at desc, r.no desc')
    ) as o (name, up, down)
    where o.name = v_request.sort_by;
    if v_request.descending then
        select v_reversed, v_order into v_order, v_reversed;
    end if;
    if v_request.pattern is null then
        v_page := private.member_page(v_source, v_where, v_package, v_order, v_reversed, v_request);
    else
        v_matches := 'from ' || v_source || ' as r' || v_where || ' and private.member_search_text(r.username, r.display_name, r.email) like $1';
        v_page := private.search_page(v_source, v_matches, v_matches, v_order, v_reversed, v_request);
    end if;
    select pg_catalog.jsonb_agg(private.member_item(p) order by u.place) into v_items
    from pg_catalog.unnest(v_page.ids) with ordinality as u (id, place)
    inner join private.profiles as p on u.id = p.id;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(v_items, '[]'),
        'total', v_page.total,
        'cards', pg_catalog.jsonb_build_object(
            'total_users', private.counter_value('profiles')::bigint,
            'active_users', private.counter_value('active_profiles')::bigint,
            'verified_users', private.counter_value('verified_profiles')::bigint,
            'total_investment', private.money(private.counter_value('package_investment'))
        )
    ) || case when v_page.more then '{"more": true}' else '{}' end::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION public.list_transactions (
  p_filters jsonb DEFAULT '{}'::jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['created_at']);
    v_filters text;
    v_order text := 'r.created_at, r.id';
    v_reversed text := 'r.created_at desc, r.id desc';
    v_range record;
    v_ids uuid[];
    v_total bigint;
    v_more boolean;
    v_items jsonb;
    v_cards record;
begin
    perform private.require_admin();
    if v_request.status not in ('completed', 'pending', 'failed') or v_request.kind not in ('deposit', 'withdrawal', 'bonus') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such filter.');
    end if;
    v_filters := pg_catalog.concat(
        ' and r.status = ' || pg_catalog.quote_literal(v_request.status) || '::public.transaction_status',
        ' and r.transaction_type = ' || pg_catalog.quote_literal(v_request.kind) || '::public.transaction_type'
    );
    if v_request.descending then
        select v_reversed, v_order into v_order, v_reversed;
    end if;
    select
        coalesce(sum(c.rows), 0) as rows,
        coalesce(sum(c.rows) filter (where c.status = 'completed'), 0) as completed,
        coalesce(sum(c.rows) filter (where c.status = 'pending'), 0)::bigint as pending,
        coalesce(sum(c.rows) filter (
            where (v_request.status is null or c.status = v_request.status)
                and (v_request.kind is null or c.transaction_type = v_request.kind)
        ), 0)::bigint as filtered
    into v_cards
    from private.transaction_counts() as c;
    if v_request.everything then
        v_ids := private.newest_requests('transactions', private.journal_of_requests('pending', 5000), v_cards.pending);
        v_total := v_cards.filtered;
    elsif v_request.pattern is null then
        v_ids := private.page_ids(
            pg_catalog.format(
                'from %s as r where true',
                case when v_request.status = 'completed' or v_request.status is null then 'public.transactions'
                else private.journal_of_requests(v_request.status::public.transaction_status) end
            ) || v_filters, v_order, v_reversed, v_request, v_cards.filtered
        );
        v_total := v_cards.filtered;
    else
        v_range := private.id_range(p_filters ->> 'search');
        select f.ids, f.total, f.more into v_ids, v_total, v_more
        from private.search_page(
            'public.transactions',
            pg_catalog.format(
                $query$from (
                    (
                        select r.id from private.profiles as p inner join public.transactions as r on p.user_id = r.user_id
                        where private.member_search_text(p.username, p.display_name, p.email) like $1 %1$s
                        limit 10001
                    )
                    union
                    select r.id from public.transactions as r where r.reference_id between %2$L and %3$L %1$s
                ) as r$query$, v_filters, v_range.first, v_range.last
            ),
            pg_catalog.format(
                $query$from public.transactions as r where (
                    exists (
                        select from private.profiles as p
                        where p.user_id = r.user_id and private.member_search_text(p.username, p.display_name, p.email) like $1
                    )
                    or r.reference_id between %2$L and %3$L
                ) %1$s$query$, v_filters, v_range.first, v_range.last
            ),
            v_order, v_reversed, v_request
        ) as f;
    end if;
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', t.id,
            'user_id', t.user_id,
            'username', p.username,
            'email', p.email,
            'amount', private.money(t.amount),
            'transaction_type', t.transaction_type,
            'status', t.status,
            'reference_id', t.reference_id,
            'created_at', t.created_at,
            'cancelled', t.status = 'failed' and t.decision_no is null
        ) order by u.place
    )
    into v_items
    from pg_catalog.unnest(v_ids) with ordinality as u (id, place)
    inner join public.transactions as t on u.id = t.id
    inner join private.profiles as p on t.user_id = p.user_id;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(v_items, '[]'),
        'total', v_total,
        'cards', pg_catalog.jsonb_build_object(
            'total', v_cards.rows, 'completed', v_cards.completed, 'total_volume', private.money(private.completed_volume())
        )
    ) || case when v_more then '{"more": true}' else '{}' end::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION public.mark_notifications_read (
  p_ids uuid[] DEFAULT NULL::uuid[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    if pg_catalog.cardinality(p_ids) > 1000 then
        perform private.raise_error(400, 'too_many', 'Mark at most 1,000 notifications at once.');
    end if;
    update public.notifications as n
    set read_at = pg_catalog.now()
    where n.user_id = v_user_id and n.read_at is null and (p_ids is null or n.id = any(p_ids));
    return pg_catalog.jsonb_build_object(
        'unread', private.unread_notifications(v_user_id)
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.set_mail_choice (
  p_topic  text,
  p_wanted boolean
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    if p_wanted is null or not exists (select 1 from private.mail_topics as t where t.topic = p_topic) then
        perform private.raise_error(400, 'invalid_input', 'This mail cannot be switched off.');
    end if;
    insert into private.mail_choices as c (user_id, topic, wanted) values (v_user_id, p_topic, p_wanted)
    on conflict (user_id, topic) do update set wanted = excluded.wanted, at = excluded.at
        where c.wanted <> excluded.wanted;
    return public.get_mail_choices();
end
$function$;

create view private.counter_discrepancies as
select
    f.name,
    c.value as stored,
    f.value
from (
    select
        v.name,
        v.value
    from (
        select
            count(*) as members,
            count(*) filter (where p.package_value > 0) as active,
            coalesce(sum(p.package_value), 0) as packages,
            count(*) filter (where p.account_verified) as verified
        from private.profiles as p
    ) as m
    cross join
        lateral (
            values
            ('profiles', m.members::numeric), ('active_profiles', m.active), ('package_investment', m.packages), ('verified_profiles', m.verified)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) filter (where d.status = 'pending') as pending,
            coalesce(sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null), 0) as amount,
            count(*) filter (where d.status = 'approved') as approved,
            count(*) filter (where d.status = 'rejected') as rejected
        from public.deposits as d
    ) as r
    cross join
        lateral (
            values
            ('pending_deposits', r.pending::numeric), ('deposits_approved', r.amount), ('deposits_approved_count', r.approved),
            ('deposits_rejected_count', r.rejected)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) filter (where w.status = 'pending') as pending,
            coalesce(sum(w.amount) filter (where w.status = 'pending'), 0) as reserved,
            coalesce(sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null), 0) as amount,
            count(*) filter (where w.status = 'approved') as approved,
            count(*) filter (where w.status = 'rejected') as rejected,
            count(w.payout_reference) as paid
        from public.withdrawals as w
    ) as r
    cross join
        lateral (
            values
            ('pending_withdrawals', r.pending::numeric), ('reserved', r.reserved), ('withdrawals_approved', r.amount),
            ('withdrawals_approved_count', r.approved), ('withdrawals_rejected_count', r.rejected), ('withdrawals_paid_count', r.paid)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            coalesce(sum(b.amount), 0) as amount,
            count(*) filter (where b.amount > 0) as bonuses
        from public.bonuses as b
    ) as r
    cross join lateral (values ('bonuses', r.amount), ('bonus_rows', r.bonuses)) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) as entries,
            coalesce(sum(abs(t.amount)), 0) as volume
        from public.transactions as t
        where t.transaction_type = 'bonus'
    ) as r
    cross join lateral (values ('bonus_transactions', r.entries::numeric), ('bonus_volume', r.volume)) as v (name, value)
    union all
    select
        'shortfall',
        coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0)
    from private.totals as s
    where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    union all
    select
        'subscriptions_' || e.status,
        count(s.id)
    from unnest(enum_range(null::public.subscription_status)) as e (status)
    left join public.bot_subscriptions as s on e.status = s.status
    group by e.status
) as f
left join private.counter_values() as c on f.name = c.name
where c.value is distinct from f.value;

create view private.position_discrepancies as
select
    q.no,
    q.user_id,
    pg_catalog.jsonb_build_object(
        'package_cents', q.package_cents, 'paid_cents', q.paid_cents, 'children', q.children, 'paid_order', q.paid_order
    ) as old,
    pg_catalog.jsonb_build_object(
        'package_cents', q.due_package, 'paid_cents', q.due_paid, 'children', q.due_children, 'paid_order', q.due_order
    ) as new
from (
    select
        o.no,
        o.user_id,
        o.package_cents,
        o.paid_cents,
        o.children,
        o.paid_order,
        n.package_cents as due_package,
        n.paid_cents as due_paid,
        coalesce(c.children, 0)::integer as due_children,
        case when n.paid_cents > 0 then coalesce(f.decision_no, d.decision_no) end as due_order
    from private.positions as o
    inner join private.profiles as p on o.user_id = p.user_id
    cross join
        lateral (
            select
                (p.package_value * 100)::integer as package_cents,
                case when p.cash_in_amount >= p.package_value then (p.package_value * 100)::integer else 0 end as paid_cents
        ) as n
    left join (
        select
            r.referrer_no,
            count(*) as children
        from private.positions as r
        group by r.referrer_no
    ) as c on o.no = c.referrer_no
    left join (
        select
            a.user_id,
            min(a.decision_no) as decision_no
        from public.deposits as a
        where a.status = 'approved'
        group by a.user_id
    ) as d on o.user_id = d.user_id
    left join private.corrected_fundings as f on o.user_id = f.user_id
) as q
where (q.package_cents, q.paid_cents, q.children, q.paid_order) is distinct from (q.due_package, q.due_paid, q.due_children, q.due_order);

create view private.sibling_discrepancies as
select
    s.no,
    s.referrer_no
from (
    select
        c.no,
        c.referrer_no,
        c.child_no,
        pg_catalog.row_number() over (partition by c.referrer_no order by p.created_at, p.id) as due_no
    from private.positions as c inner join private.profiles as p on c.user_id = p.user_id
    where c.referrer_no is not null
) as s
where s.child_no <> s.due_no;

create view private.ledger_violations as
with earned as materialized (
    select
        b.user_id,
        sum(b.amount_cents) * 0.01 as total,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'referral'), 0) * 0.01 as referral,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'pairing'), 0) * 0.01 as pairing,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'override'), 0) * 0.01 as override,
        sum(b.reentry_amount) as reentry,
        count(*) filter (where b.bonus_type = 'referral' and b.amount_cents > 0) as referrals,
        count(*) filter (where b.bonus_type = 'pairing' and b.amount_cents > 0) as pairings,
        count(*) filter (where b.bonus_type = 'override' and b.amount_cents > 0) as overrides
    from public.bonuses as b
    group by b.user_id
),

claimed as materialized (
    select
        d.user_id,
        coalesce(sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null), 0) as recounted,
        coalesce(sum(d.amount) filter (where d.status = 'approved'), 0) as approved,
        coalesce(max(k.value) filter (where d.status = 'approved' and d.voided_at is null), 0) as package,
        min(d.decision_no) filter (where d.status = 'approved') as first_decision_no,
        count(*) filter (where d.status = 'pending') as pending_rows,
        count(*) filter (where d.status = 'approved') as approved_rows,
        count(*) filter (where d.status = 'rejected') as rejected_rows
    from public.deposits as d left join private.packages as k on d.amount = k.value
    group by d.user_id
),

drawn as materialized (
    select
        w.user_id,
        coalesce(sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null), 0) as recounted,
        coalesce(sum(w.amount) filter (where w.status = 'pending'), 0) as reserved,
        count(*) filter (where w.status = 'pending') as pending_rows,
        count(*) filter (where w.status = 'approved') as approved_rows,
        count(*) filter (where w.status = 'rejected') as rejected_rows,
        count(w.payout_reference) as paid_rows
    from public.withdrawals as w
    group by w.user_id
),

journal as materialized (
    select
        t.user_id,
        coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
        count(*) filter (where t.status = 'completed' and t.decision_no is null) as undecided_rows,
        count(*) filter (where t.transaction_type = 'bonus') as bonus_rows,
        min(t.created_at) as first_at,
        max(t.created_at) as last_at,
        coalesce(sum(abs(t.amount)) filter (where t.transaction_type = 'bonus'), 0) as bonus_volume
    from public.transactions as t
    group by t.user_id
),

-- Members with any discrepancy.
members as materialized (
    select m.*
    from (
        select
            p.user_id,
            coalesce(j.amount, 0) <> p.cash_in_amount + coalesce(b.total, 0) - coalesce(w.recounted, 0) as wrong_journal,
            (
                (s.referral_amount, s.pairing_amount, s.override_amount, s.reentry_amount, s.withdrawn_amount, s.reserved_amount)
                is distinct from (
                    coalesce(b.referral, 0), coalesce(b.pairing, 0), coalesce(b.override, 0), coalesce(b.reentry, 0),
                    coalesce(w.recounted, 0), coalesce(w.reserved, 0)
                )
            ) as wrong_totals,
            (
                (s.referral_count, s.pairing_count, s.override_count)
                is distinct from (coalesce(b.referrals, 0), coalesce(b.pairings, 0), coalesce(b.overrides, 0))
            ) as wrong_counts,
            -- A clock may step back, and is days ahead at most.
            coalesce(j.first_at < '2020-01-01 00:00+00' or j.last_at > clock_timestamp() + interval '7 days', false) as wrong_times,
            p.cash_in_amount <> coalesce(d.recounted, 0) as wrong_cash_in,
            p.package_value <> coalesce(d.package, 0) as wrong_package
        from private.profiles as p
        left join private.totals as s on p.user_id = s.user_id
        left join journal as j on p.user_id = j.user_id
        left join earned as b on p.user_id = b.user_id
        left join claimed as d on p.user_id = d.user_id
        left join drawn as w on p.user_id = w.user_id
    ) as m
    where m.wrong_journal or m.wrong_totals or m.wrong_counts or m.wrong_times or m.wrong_cash_in or m.wrong_package
),

-- Sources and journal rows that do not match.
bonus_entries as materialized (
    select
        b.id as source_id,
        b.user_id,
        j.reference_id,
        (coalesce(j.amount, 0) <> b.amount) as wrong_amount,
        -- The first is the one of the first decision: a clock can step back.
        (j.first_at <> extract(epoch from b.created_at) * 1000000) as wrong_time
    from public.bonuses as b
    full join (
        select
            t.reference_id,
            coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
            (min(array[t.decision_no, (extract(epoch from t.created_at) * 1000000)::bigint]))[2] as first_at
        from public.transactions as t
        where t.transaction_type = 'bonus'
        group by t.reference_id
    ) as j on b.id = j.reference_id
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
            (t.user_id, t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                d.user_id,
                d.amount::numeric,
                d.decision_no,
                case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
            )
        ) as wrong_entry
    from public.deposits as d
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'deposit'
    ) as t
        on d.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
        d.user_id,
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
            (t.user_id, t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                w.user_id,
                -w.amount::numeric,
                w.decision_no,
                case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
            )
        ) as wrong_entry
    from public.withdrawals as w
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'withdrawal'
    ) as t
        on w.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
        w.user_id,
        -w.amount::numeric,
        w.decision_no,
        case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
        w.created_at
    )
),

bonus_rows as materialized (
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
            b.amount not between 0.01 and 10000000 as wrong_amount,
            b.amount
        from public.bonuses as b
        left join private.positions as s on b.subject_no = s.no
        left join private.positions as u on s.referrer_no = u.no
        left join private.packages as k on s.package_cents = k.value_cents
    ) as r
    where r.wrong_owner or r.from_oneself or r.wrong_amount
),

places as materialized (
    select l.*
    from (
        select
            p.id,
            p.user_id,
            o.no,
            p.depth <> coalesce(s.depth + 1, 0) as wrong_depth,
            s.created_at >= p.created_at as older_than_referrer,
            (r.user_id is distinct from s.user_id)
            or o.joined_at <> p.created_at
            or o.package_cents <> p.package_value * 100
            or o.paid_cents <> case when p.cash_in_amount >= p.package_value then p.package_value * 100 else 0 end
            or ((o.children, o.children) is distinct from (coalesce(c.children, 0)::integer, coalesce(c.last, 0))) as wrong_place
        from private.profiles as p
        left join private.profiles as s on p.referrer_id = s.id
        left join private.positions as o on p.user_id = o.user_id
        left join private.positions as r on o.referrer_no = r.no
        left join (
            select
                c.referrer_no,
                count(*) as children,
                max(c.child_no) as last
            from private.positions as c
            where c.referrer_no is not null
            group by c.referrer_no
        ) as c on o.no = c.referrer_no
    ) as l
    where l.wrong_depth or l.older_than_referrer or l.wrong_place or l.no is null
)

-- I01 The journal rows of a bonus sum to its amount.
select
    'I01' as rule,
    e.source_id::text as object,
    e.user_id,
    null::jsonb as details
from bonus_entries as e
where e.source_id is not null and e.wrong_amount
union all
-- I02 The completed journal of a member is cash-in + bonuses - approved withdrawals.
select
    'I02',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_journal
union all
-- I03 An approved deposit has its completed journal row, a pending one a pending row, a rejected one a failed row, with
-- the number of the same decision.
select
    'I03',
    e.source_id::text,
    e.user_id,
    null
from deposit_entries as e
where e.source_id is not null and e.wrong_entry
union all
-- I04 The same for withdrawals, negative.
select
    'I04',
    e.source_id::text,
    e.user_id,
    null
from withdrawal_entries as e
where e.source_id is not null and e.wrong_entry
union all
-- I05 Every journal row has a source.
select
    'I05',
    o.entry_id::text,
    o.user_id,
    null
from (
    select
        d.entry_id,
        d.reference_id,
        d.user_id
    from deposit_entries as d
    where d.source_id is null
    union all
    select
        w.entry_id,
        w.reference_id,
        w.user_id
    from withdrawal_entries as w
    where w.source_id is null
    union all
    select
        t.id,
        t.reference_id,
        t.user_id
    from bonus_entries as b inner join public.transactions as t on t.transaction_type = 'bonus' and b.reference_id = t.reference_id
    where b.source_id is null
) as o
where
    not exists (
        select 1 from private.corrections as c
        where c.id = o.reference_id and c.confirmed_by is not null
    )
union all
-- I06 One journal row per deposit and withdrawal.
select
    'I06',
    t.reference_id::text,
    min(t.user_id::text)::uuid,
    null
from public.transactions as t
where t.transaction_type <> 'bonus'
group by t.transaction_type, t.reference_id
having count(*) > 1
union all
-- I07 Totals equal the sums of their rows (I37: the counts), so the balance is max(0, bonuses - approved withdrawals).
select
    'I07',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_totals
union all
-- I08 The balance before max(0, ...) is not negative, unless corrections made it so: the maximum would hide a loss.
select
    'I08',
    s.user_id::text,
    s.user_id,
    jsonb_build_object('shortfall', s.shortfall, 'caused_by_corrections', s.excused)
from private.shortfall_discrepancies as s
union all
-- I09 Cash-in equals the approved deposits that count.
select
    'I09',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_cash_in
union all
-- I10 One row per natural key; I11 checks owner and source.
select
    'I10',
    b.bonus_type || ' ' || b.subject_no || ' ' || coalesce(b.pair_number::text, ''),
    min(b.user_id::text)::uuid,
    null
from public.bonuses as b
group by b.bonus_type, b.subject_no, b.pair_number
having count(*) > 1
union all
-- I11 Bonuses match tree and packages, and are paid to the right members.
select
    'I11',
    w.bonus_type || ' ' || w.subject_no || ' ' || coalesce(w.pair_number::text, ''),
    o.user_id,
    null
from unnest(private.all_bonus_discrepancies()) as w
left join private.positions as s on w.subject_no = s.no
-- A bonus that is no longer due has no owner in the comparison.
left join private.positions as o on coalesce(w.user_no, case w.bonus_type when 'pairing' then s.no else s.referrer_no end) = o.no
union all
select
    'I11',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where b.wrong_owner
union all
-- I12 Nobody earns a bonus from oneself.
select
    'I12',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where b.from_oneself
union all
-- I13 A package follows from the approved deposits, and after a correction from that.
select
    'I13',
    m.user_id::text,
    m.user_id,
    null
from (
    select w.user_id from members as w
    where w.wrong_package
    union
    select c.user_id from private.corrections as c
    where c.confirmed_by is not null
) as m
inner join private.profiles as p on m.user_id = p.user_id
where p.package_value <> private.due_package(m.user_id)
union all
-- I14 A member's depth is the referrer's plus one, a root's 0: so there is no cycle.
select
    'I14',
    l.id::text,
    l.user_id,
    null
from places as l
where l.wrong_depth
union all
-- I15 A referrer is older than the referred member.
select
    'I15',
    l.id::text,
    l.user_id,
    null
from places as l
where l.older_than_referrer
union all
-- I16 Amounts are finite and in range. A bonus is zero only when a correction or a repair was the last to change it.
select
    'I16',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
where d.amount not between 1 and 10000000
union all
select
    'I16',
    w.id::text,
    w.user_id,
    null
from public.withdrawals as w
where w.amount not between 100 and 10000000
union all
select
    'I16',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where
    b.wrong_amount
    and not (b.amount = 0 and exists (
        select 1
        from (
            select
                t.amount,
                t.decision_no
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
            and a.action = 'books.repaired'
            and a.payload -> 'repairs' @> jsonb_build_array(jsonb_build_object('bonus_id', b.id, 'new_amount', '0.00'))
    )
union all
-- I17 Decided rows have a time and a decider; a member's own cancellation and a closed account have no decider.
select
    'I17',
    r.id::text,
    r.user_id,
    null
from (
    select
        d.id,
        d.user_id,
        d.status,
        d.decided_at,
        d.decided_by,
        d.admin_notes
    from public.deposits as d
    union all
    select
        w.id,
        w.user_id,
        w.status,
        w.decided_at,
        w.decided_by,
        w.admin_notes
    from public.withdrawals as w
) as r
where
    (r.status = 'pending') <> (r.decided_at is null)
    or (r.status = 'pending' and r.decided_by is not null)
    or (r.status <> 'pending' and r.decided_by is null and coalesce(r.admin_notes, '') not in ('Cancelled by the member', 'Account closed'))
union all
-- I18 Usernames are unique ignoring case.
select
    'I18',
    p.user_id::text,
    p.user_id,
    null
from (
    select lower(q.username) as username from private.profiles as q
    group by lower(q.username)
    having count(*) > 1
) as u inner join private.profiles as p on u.username = lower(p.username)
union all
-- I19 A transfer is approved once.
select
    'I19',
    t.deposit_id::text,
    t.user_id,
    null
from private.transfers_credited_twice as t
union all
-- I20 The receipt exists, in the member's folder, owned by the member, and is the file that was sent.
select
    'I20',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
left join private.deposit_receipts as r on d.id = r.deposit_id
left join storage.objects as o on o.bucket_id = 'receipts' and r.name = o.name
where
    o.owner_id is distinct from d.user_id::text or split_part(r.name, '/', 1) <> d.user_id::text
    or o.metadata ->> 'eTag' is distinct from r.etag
union all
-- I21 Bonuses never exceed 56% of funded packages.
select
    'I21',
    'all',
    null,
    null
where
    (select coalesce(sum(e.total), 0) from earned as e)
    > 0.56 * (select coalesce(sum(p.paid_cents), 0) * 0.01 from private.positions as p)
union all
-- I22 No more is paid out than was received, including deposits voided later, which counted at the time.
select
    'I22',
    'all',
    null,
    null
where (select coalesce(sum(w.recounted), 0) from drawn as w) > (select coalesce(sum(d.approved), 0) from claimed as d)
union all
-- I23 Child numbers are unique and have no gap, and a position has the member's package.
select
    'I23',
    l.no::text,
    l.user_id,
    null
from places as l
where l.no is not null and l.wrong_place
union all
select
    'I23',
    l.id::text,
    l.user_id,
    null
from places as l
where l.no is null
union all
-- I24 One active or suspended subscription per member and bot.
select
    'I24',
    min(s.id::text),
    s.user_id,
    null
from public.bot_subscriptions as s
where s.status <> 'cancelled'
group by s.user_id, s.bot_name
having count(*) > 1
union all
-- I25 No administrator session lasts longer than eight hours.
select
    'I25',
    s.session_token::text,
    null,
    null
from public.admin_sessions as s
left join private.admin_session_activity as a on s.session_token = a.session_token
where a.session_token is null or s.expires_at > a.started_at + interval '8 hours 1 second'
union all
-- I26 The audit chain is intact.
select
    'I26',
    a.object,
    null,
    null
from private.verify_audit_chain() as a (object)
union all
-- I27 Counters equal the values they count.
select
    'I27',
    f.name,
    null,
    null
from (
    select
        f.name,
        f.value
    from (
        select
            count(*) as members,
            count(*) filter (where p.package_value > 0) as active,
            coalesce(sum(p.package_value), 0) as packages,
            count(*) filter (where p.account_verified) as verified
        from private.profiles as p
    ) as p
    cross join
        lateral (
            values
            ('profiles', p.members::numeric),
            ('active_profiles', p.active),
            ('package_investment', p.packages),
            ('verified_profiles', p.verified)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (
        select
            sum(d.pending_rows) as pending,
            sum(d.recounted) as recounted,
            sum(d.approved_rows) as approved,
            sum(d.rejected_rows) as rejected
        from claimed as d
    ) as d
    cross join
        lateral (
            values
            ('pending_deposits', d.pending), ('deposits_approved', d.recounted), ('deposits_approved_count', d.approved),
            ('deposits_rejected_count', d.rejected)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (
        select
            sum(w.pending_rows) as pending,
            sum(w.recounted) as recounted,
            sum(w.approved_rows) as approved,
            sum(w.rejected_rows) as rejected,
            sum(w.paid_rows) as paid,
            sum(w.reserved) as reserved
        from drawn as w
    ) as w
    cross join
        lateral (
            values
            ('pending_withdrawals', w.pending), ('withdrawals_approved', w.recounted), ('withdrawals_approved_count', w.approved),
            ('withdrawals_rejected_count', w.rejected), ('withdrawals_paid_count', w.paid), ('reserved', w.reserved)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (select
        sum(e.total) as total,
        sum(e.referrals + e.pairings + e.overrides) as bonus_rows
    from earned as e) as e
    cross join lateral (values ('bonuses', e.total), ('bonus_rows', e.bonus_rows)) as f (name, value)
    union all
    select
        'shortfall',
        coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0)
    from private.totals as s
    where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (select
        sum(j.bonus_rows) as bonus_rows,
        sum(j.bonus_volume) as bonus_volume
    from journal as j) as j
    cross join lateral (values ('bonus_transactions', j.bonus_rows), ('bonus_volume', j.bonus_volume)) as f (name, value)
    union all
    select
        'subscriptions_' || e.status,
        coalesce(b.subscriptions, 0)
    from unnest(enum_range(null::public.subscription_status)) as e (status)
    left join (
        select
            s.status,
            count(*) as subscriptions
        from public.bot_subscriptions as s
        group by s.status
    ) as b on e.status = b.status
) as f left join private.counter_values() as c on f.name = c.name
where c.value is distinct from f.value
union all
-- I27 So do the daily totals of deposits and withdrawals.
select
    'I27',
    'flow of ' || f.day,
    null,
    null
from (
    select
        k.day,
        k.deposits,
        k.withdrawals,
        k.decided_deposits
    from private.flows_since('-infinity') as k
    union all
    select
        v.day,
        -v.deposits,
        0,
        -v.decided_deposits
    from public.deposits as d
    cross join
        lateral (
            values ((d.created_at at time zone 'UTC')::date, d.amount, 0), ((d.decided_at at time zone 'UTC')::date, 0, d.amount)
        ) as v (day, deposits, decided_deposits)
    where d.status = 'approved' and d.voided_at is null
    union all
    select
        (w.created_at at time zone 'UTC')::date,
        0,
        -w.amount,
        0
    from public.withdrawals as w
    where w.status = 'approved' and w.voided_at is null
) as f
group by f.day
having sum(f.deposits) <> 0 or sum(f.withdrawals) <> 0 or sum(f.decided_deposits) <> 0
union all
-- I28 A member's daily earnings match the journal (sample of 10,000 members).
select
    'I28',
    d.no || ' ' || d.day,
    o.user_id,
    null
from private.earning_day_discrepancies as d left join private.positions as o on d.no = o.no
union all
-- I29 Network totals equal the member's own values plus the networks of the direct referrals (sample of 10,000
-- members).
select
    'I29',
    n.no::text,
    o.user_id,
    null
from private.network_discrepancies as n left join private.positions as o on n.no = o.no
union all
-- I30 The daily growth of a large team matches its members' joining and funding (sample of 20 teams).
select
    'I30',
    d.no || ' ' || d.day,
    o.user_id,
    null
from private.team_day_discrepancies(20) as d left join private.positions as o on d.no = o.no
union all
-- I31 A deposit has its keys: without them I19 is blind.
select
    'I31',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
left join private.deposit_keys as k on d.id = k.deposit_id and d.reference_key = k.key
where k.key is null
union all
-- I33 The source of a pairing is the child that completed the pair.
select
    'I33',
    b.id::text,
    b.user_id,
    null
from private.pairs as q
inner join public.bonuses as b on b.bonus_type = 'pairing' and q.owner_no = b.subject_no and q.pair_no = b.pair_number
inner join private.positions as l on q.left_no = l.no
inner join private.positions as r on q.right_no = r.no
where b.amount_cents > 0 and b.source_user_id <> case when l.paid_order > r.paid_order then l.user_id else r.user_id end
union all
-- I34 A member's place in the order of fundings is the decision that made the member funded.
select
    'I34',
    o.user_id::text,
    o.user_id,
    null
from private.positions as o
left join claimed as d on o.user_id = d.user_id
left join private.corrected_fundings as f on o.user_id = f.user_id
where o.paid_order is distinct from case when o.paid_cents > 0 then coalesce(f.decision_no, d.first_decision_no) end
union all
-- I35 Whatever completed a journal row has its number.
select
    'I35',
    j.user_id::text,
    j.user_id,
    jsonb_build_object('rows', j.undecided_rows)
from journal as j
where j.undecided_rows > 0
union all
-- I36 A bonus has the time of its first journal row, and the journal row of a request the time of the request.
select
    'I36',
    e.source_id::text,
    e.user_id,
    null
from (
    select
        b.source_id,
        b.user_id
    from bonus_entries as b
    where b.wrong_time
    union all
    select
        d.source_id,
        d.user_id
    from deposit_entries as d
    where d.wrong_time
    union all
    select
        w.source_id,
        w.user_id
    from withdrawal_entries as w
    where w.wrong_time
) as e
union all
-- I37 The counts in totals are those of the bonuses, each type's its own.
select
    'I37',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_counts
union all
-- I38 The coverage of a past day is what the decisions that it saw say, with the requests that were pending then.
select
    'I38',
    c.day::text,
    null,
    c.details
from private.coverage_discrepancies() as c
union all
-- I39 A published disclosure has the credits and withdrawals of its period, by the decisions that it saw, and its
-- numbers of members agree with each other.
select
    'I39',
    (d.computed_at at time zone 'UTC')::text,
    null,
    d.details
from private.disclosure_discrepancies() as d
union all
-- I40 Package sizes, pairing rates and percentages are those of the compensation plan.
select
    'I40',
    c.object,
    null,
    null
from private.plan_discrepancies as c
union all
-- I41 Direct referrals are numbered in the order of joining, which decides who is paired with whom.
select
    'I41',
    s.no::text,
    o.user_id,
    null
from private.sibling_discrepancies as s left join private.positions as o on s.referrer_no = o.no
union all
-- I42 Nobody asked for or earned anything before there was anything to ask for, or in the future. I28 has the days.
select
    'I42',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_times
union all
-- I43 to I48 A request, its decision, a payout and a correction have one entry of the audit log each, which says the
-- same. I49 An administrator has the role of the last entry.
select
    a.rule,
    a.object,
    a.user_id,
    a.details
from private.audit_discrepancies as a;

CREATE INDEX deposit_receipts_etag_idx ON private.deposit_receipts USING btree (etag);

CREATE INDEX positions_package_idx ON private.positions USING btree (package_cents, joined_at, NO) INCLUDE (user_id);

CREATE INDEX notifications_user_idx ON public.notifications USING btree (user_id, created_at DESC, id DESC) INCLUDE (read_at);

CREATE INDEX withdrawals_paid_idx ON public.withdrawals USING btree (created_at DESC, id DESC)
  WHERE (payout_reference IS NOT NULL);

CREATE INDEX withdrawals_taken_idx ON public.withdrawals USING btree (user_id, decided_at) INCLUDE (id, amount, decision_no)
  WHERE (status = 'approved'::public.request_status);

CREATE INDEX withdrawals_unpaid_idx ON public.withdrawals USING btree (created_at DESC, id DESC)
  WHERE ((status = 'approved'::public.request_status) AND (payout_reference IS NULL) AND (voided_at IS NULL));

CREATE TRIGGER _100_reject_change
  BEFORE DELETE OR UPDATE OR TRUNCATE ON private.deposit_receipts
  FOR EACH STATEMENT
  EXECUTE FUNCTION private.reject_change();

CREATE TRIGGER _500_record_payout
  AFTER UPDATE OF payout_reference ON public.withdrawals
  FOR EACH ROW
  WHEN (((old.payout_reference IS NULL) AND (new.payout_reference IS NOT NULL)))
  EXECUTE FUNCTION private.withdrawals_record_payout();

COMMENT ON COLUMN "private"."deposit_receipts"."etag" IS 'Hash of the file when the deposit was requested.';

COMMENT ON COLUMN "private"."earnings_state"."entry_id" IS 'The last entry of the audit log whose bonuses members were notified of. What was decided before this table was there is never notified.';

COMMENT ON COLUMN "private"."mail_topics"."wanted_at_first" IS 'Whether mail is sent to members who have not chosen.';

COMMENT ON COLUMN "private"."positions"."joined_at" IS 'The profile''s created_at, for lists of members by package.';

COMMENT ON FUNCTION "jobs"."are_earnings_due"() IS 'Whether members are to be notified of bonuses now.';

COMMENT ON FUNCTION "jobs"."notify_earnings"(integer) IS 'Notifies members of the bonuses that the next decisions brought them, one notification a decision, once; returns how many. 0 also while another worker does.';

COMMENT ON FUNCTION "private"."add_payout_reference"(public.withdrawals, private.admin_users, text, boolean) IS 'Records once how an approved withdrawal was paid; p_shared: by a transfer that paid others too. Errors: invalid_reference, payout_recorded, voided, payout_reference_used.';

COMMENT ON FUNCTION "private"."age_text"(interval) IS 'An age in words: "12 minutes", "3 days"; less than a minute counts as one.';

COMMENT ON FUNCTION "private"."audit_conditions"(text, text, uuid, boolean) IS 'The conditions on rows of the audit log, as SQL; a null asks for all. $3 is what a search found.';

COMMENT ON FUNCTION "private"."audit_matches"(text) IS 'Ids of the newest entries, 10,001 at most, of what is searched: the beginning of an id (four digits or more), an entry''s number, or a username, of at most 100 members.';

COMMENT ON FUNCTION "private"."balance_days"(uuid, date) IS 'By how much a member''s balance changed on each UTC day from one on; days without a change may be missing.';

COMMENT ON FUNCTION "private"."balance_movements"(uuid, timestamp with time zone, timestamp with time zone) IS 'What changed a member''s balance in a time: bonuses credited, raised or lowered, approved withdrawals, voided ones. The id is the journal row''s, of a withdrawal its own.';

COMMENT ON FUNCTION "private"."balance_now"(uuid) IS 'Bonuses less approved withdrawals: the available balance, and negative where a correction left more withdrawn than earned.';

COMMENT ON FUNCTION "private"."balances_after"(uuid, timestamp with time zone[], uuid[]) IS 'Of items of a member''s history, by their effective times and ids: the balance after each, in the same order.';

COMMENT ON FUNCTION "private"."chart_range"(text, timestamp with time zone) IS 'First and last day (UTC) of a chart, its bucket, and the days to compare with: null with "all", which begins at p_oldest, and where they begin before it. Errors: invalid_range.';

COMMENT ON FUNCTION "private"."create_profile_from_sign_up"(uuid, text, jsonb) IS 'Creates the profile of a confirmed account from its sign-up metadata and notifies the referrer; null when that has no referrer or username.';

COMMENT ON FUNCTION "private"."credited_decisions"(bigint, bigint, integer) IS 'The entries of decisions that may have brought bonuses, after one and up to another, in the order of the decisions.';

COMMENT ON FUNCTION "private"."deposit_flags"(public.deposits, private.profiles) IS 'Flags of a pending deposit: the same transfer claimed elsewhere, the same receipt file, a wallet that others have too, as much as the largest package within a day of signing up, a blocked member.';

COMMENT ON FUNCTION "private"."deposits_record_request"() IS 'Trigger: receipt, keys, search text, journal row, counter and audit entry of a new deposit. Errors: invalid_receipt, receipt_used, receipt_must_be_image.';

COMMENT ON FUNCTION "private"."deposits_validate"() IS 'Trigger: validates a new deposit under the member''s lock, in the order of the form. Errors: not_yours, duplicate_request, account_*, profile_incomplete, forbidden, invalid_amount, package_required, downgrade, invalid_reference, too_many_pending.';

COMMENT ON FUNCTION "private"."earned_bonuses"(bigint, bigint) IS 'What the decisions of a range of the audit log credited to whom, by type of bonus.';

COMMENT ON FUNCTION "private"."earned_words"(public.bonus_type, numeric, bigint, integer, text) IS 'Bonuses of one type in words: how much, and from which pair.';

COMMENT ON FUNCTION "private"."journal_of_requests"(public.transaction_status, integer) IS 'What to read pending or failed rows of the journal from, as SQL: found by the requests that have this status, all or as many of the newest of each kind.';

COMMENT ON FUNCTION "private"."member_ids_by_package"(text, private.list_request, bigint) IS 'One page of the members with a package (USD; null: of all), by package or in the order of joining.';

COMMENT ON FUNCTION "private"."notify_member"(uuid, text, text, text, numeric, text, timestamp with time zone) IS 'Notifies a member in the app and, where the member wants it, by e-mail, when the transaction commits; dated now, or when what it reports happened.';

COMMENT ON FUNCTION "private"."request_counts"(text) IS 'Number of deposits or withdrawals by status, from counters; of approved withdrawals also how many were paid and how many wait for that.';

COMMENT ON FUNCTION "private"."require_new_payout"(uuid, text) IS 'Raises when another withdrawal was paid with this reference, in whatever spelling; details name the latest three. Errors: payout_reference_used.';

COMMENT ON FUNCTION "private"."sign_up_error"(text, text) IS 'An error in the form of the hook: an exception would become a 500. functions/auth passes the code on; a real GoTrue does not know it.';

COMMENT ON FUNCTION "private"."transaction_history"(uuid, text, text, timestamp with time zone, timestamp with time zone, timestamp
  with time zone, uuid, integer) IS 'One page of a member''s history, newest first, before a key. Withdrawals are negative. pair_names are the two members of the pair, bonus_amount is what the bonus of the item is now. effective_at is when the balance changed, or would have.';

COMMENT ON FUNCTION "private"."unread_notifications"(uuid) IS 'Number of unread ones among a member''s newest 1,000 notifications.';

COMMENT ON FUNCTION "private"."wallet_sharers"(text, uuid) IS 'Usernames of other members with this wallet, three at most.';

COMMENT ON FUNCTION "private"."withdrawals_record_payout"() IS 'Trigger: counts a withdrawal whose payout was recorded.';

COMMENT ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean) IS 'Finance and super administrators: approves (it will be paid) or rejects a pending withdrawal, once; a payout reference may be added once later. p_shared_payout confirms that the reference is of a transfer that paid others too. Errors: forbidden, invalid_action, invalid_reason, not_found, own_account, already_decided, ledger_alarm, account_blocked, on_hold, insufficient_available_balance, invalid_reference, payout_recorded, voided, payout_reference_used, try_again.';

COMMENT ON FUNCTION "public"."end_other_sessions"() IS 'Ends every session of the caller but the current one; returns how many.';

COMMENT ON FUNCTION "public"."end_session"(uuid) IS 'Ends one of the caller''s sessions. Errors: not_found.';

COMMENT ON FUNCTION "public"."get_earnings"(text) IS 'The caller''s earnings by type over time, by journal day, so that an upgrade''s increase is on the day it happened. Ranges 30d, 90d, 12m, all; days in UTC, weeks from Monday. previous is the period to compare with, null without one. Errors: invalid_range.';

COMMENT ON FUNCTION "public"."get_email_change"() IS 'The caller''s pending change of e-mail address, and which of its two links was opened; null when there is none.';

COMMENT ON FUNCTION "public"."get_mail_choices"() IS 'Topics that the caller may choose mail about, and the current choices; e-mail about money and security is not among them.';

COMMENT ON FUNCTION "public"."get_my_sessions"() IS 'The caller''s sessions, the current one first, then the 50 used last: device as the browser names itself, sign-in, last refresh.';

COMMENT ON FUNCTION "public"."get_notifications"(text, integer) IS 'The caller''s notifications, newest first, with the number of unread ones (of the newest 1,000). Errors: invalid_cursor, invalid_limit.';

COMMENT ON FUNCTION "public"."get_platform"() IS 'Name, support, operator, packages, rates, limits, the block explorer, terms and risk notice, and whether this is a demo. Open to anonymous clients.';

COMMENT ON FUNCTION "public"."get_request_changes"(text, uuid[]) IS 'Administrators: how many deposits or withdrawals there are now, and which of these ids are decided, by whom. Errors: forbidden, session_ended, invalid_filter.';

COMMENT ON FUNCTION "public"."get_statement"(date, integer, integer) IS 'The caller''s statement of the month that has this day, in UTC days: opening + in - out = closing of the withdrawable balance, and the rows after a place, oldest first. deposits is no part of it. next is the place to go on after, null at the end. Errors: invalid_limit, invalid_range.';

COMMENT ON FUNCTION "public"."get_team_growth"(text) IS 'Size of the caller''s team at the end of each bar, and how many are funded; joined counts the days of the chart, previous those to compare with. Ranges as in get_earnings. Errors: invalid_range.';

COMMENT ON FUNCTION "public"."get_transaction_history"(text, text, date, date, text, integer) IS 'The caller''s transactions, newest first, filtered by type, status and days (UTC, inclusive), each with the balance after it. next is the cursor of the next page, null at the end. Errors: invalid_filter, invalid_cursor, invalid_limit.';

COMMENT ON FUNCTION "public"."list_audit"(jsonb) IS 'The audit log, newest first; seq is the entry''s id; filters page, pageSize, adminId, action (also the part before a dot), objectId, search (the beginning of an id or a username, or seq). Support administrators read their own rows. Errors: forbidden, session_ended.';

COMMENT ON FUNCTION "public"."list_withdrawals"(jsonb) IS 'Administrators: withdrawals with their members. Filters as in list_deposits, status also paid and unpaid; search matches member and wallet address. Errors: forbidden, session_ended, invalid_filter.';

COMMENT ON TABLE "private"."deposit_receipts" IS 'The receipt of each deposit: a file in the bucket receipts, and of no other deposit.';

COMMENT ON TABLE "private"."earnings_state" IS 'How far members were notified of what they earned.';

COMMENT ON TABLE "private"."mail_choices" IS 'Whether a member wants mail about a topic, once the member has said so.';

COMMENT ON TABLE "private"."mail_topics" IS 'Topics that members choose mail about; kind_pattern matches the kinds of their notifications.';

COMMENT ON TABLE "public"."lesson_progress" IS 'Lessons that a member marked as done, and checklist items ticked. Unmarking deletes the row.';

COMMENT ON VIEW "private"."counter_discrepancies" IS 'Counters whose value is not that of the rows; stored is null where there is no counter.';

COMMENT ON VIEW "private"."ledger_violations" IS 'Violations of the ledger''s invariants: the rule, the violating object, the member whose money it concerns (null: everybody''s), and figures that change when the violation does. Empty when there are none.';

COMMENT ON VIEW "private"."position_discrepancies" IS 'Positions whose package, payment, number of direct referrals or place in the order of fundings is not what members, deposits and corrections say.';

COMMENT ON VIEW "private"."sibling_discrepancies" IS 'Direct referrals whose number is not their place in the order of joining. Empty when all are in order.';

REVOKE ALL ON FUNCTION "jobs"."are_earnings_due"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."are_earnings_due"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."are_earnings_due"() TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."are_earnings_due"() TO "worker";

REVOKE ALL ON FUNCTION "jobs"."notify_earnings"(integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."notify_earnings"(integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."notify_earnings"(integer) TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."notify_earnings"(integer) TO "worker";

REVOKE ALL ON FUNCTION "private"."add_payout_reference"(public.withdrawals, private.admin_users, text, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."add_payout_reference"(public.withdrawals, private.admin_users, text, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."add_payout_reference"(public.withdrawals, private.admin_users, text, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."age_text"(interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."age_text"(interval) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."age_text"(interval) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_conditions"(text, text, uuid, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_conditions"(text, text, uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_conditions"(text, text, uuid, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_matches"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_matches"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_matches"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."balance_days"(uuid, date) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."balance_days"(uuid, date) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."balance_days"(uuid, date) TO "postgres";

REVOKE ALL ON FUNCTION "private"."balance_movements"(uuid, timestamp WITH time zone, timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."balance_movements"(uuid, timestamp WITH time zone, timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."balance_movements"(uuid, timestamp WITH time zone, timestamp WITH time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."balance_now"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."balance_now"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."balance_now"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."balances_after"(uuid, timestamp WITH time zone[], uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."balances_after"(uuid, timestamp WITH time zone[], uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."balances_after"(uuid, timestamp WITH time zone[], uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."chart_range"(text, timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."chart_range"(text, timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."chart_range"(text, timestamp WITH time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."credited_decisions"(bigint, bigint, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."credited_decisions"(bigint, bigint, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."credited_decisions"(bigint, bigint, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."earned_bonuses"(bigint, bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."earned_bonuses"(bigint, bigint) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."earned_bonuses"(bigint, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."earned_words"(public.bonus_type, numeric, bigint, integer, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."earned_words"(public.bonus_type, numeric, bigint, integer, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."earned_words"(public.bonus_type, numeric, bigint, integer, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."journal_of_requests"(public.transaction_status, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."journal_of_requests"(public.transaction_status, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."journal_of_requests"(public.transaction_status, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."member_ids_by_package"(text, private.list_request, bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."member_ids_by_package"(text, private.list_request, bigint) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."member_ids_by_package"(text, private.list_request, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."notify_member"(uuid, text, text, text, numeric, text, timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."notify_member"(uuid, text, text, text, numeric, text, timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."notify_member"(uuid, text, text, text, numeric, text, timestamp WITH time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."request_counts"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."request_counts"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."request_counts"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_new_payout"(uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_new_payout"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_new_payout"(uuid, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."sign_up_error"(text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."sign_up_error"(text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."sign_up_error"(text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."time_ordered_id"() FROM "authenticated";

GRANT EXECUTE ON FUNCTION "private"."time_ordered_id"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."time_ordered_id"() FROM "service_role";

GRANT EXECUTE ON FUNCTION "private"."time_ordered_id"() TO "service_role";

REVOKE ALL ON FUNCTION "private"."transaction_history"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone, timestamp WITH time zone, uuid, integer) FROM PUBLIC;

REVOKE ALL
  ON FUNCTION "private"."transaction_history"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone, timestamp WITH time zone, uuid, integer)
  FROM "postgres";

GRANT EXECUTE
  ON FUNCTION "private"."transaction_history"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone, timestamp WITH time zone, uuid, integer)
  TO "postgres";

REVOKE ALL ON FUNCTION "private"."unread_notifications"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."unread_notifications"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."unread_notifications"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."wallet_sharers"(text, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."wallet_sharers"(text, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."wallet_sharers"(text, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."withdrawals_record_payout"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."withdrawals_record_payout"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."withdrawals_record_payout"() TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean) TO "platform_admin";

REVOKE ALL ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean) TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."end_other_sessions"() TO "authenticated";

REVOKE ALL ON FUNCTION "public"."end_other_sessions"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."end_other_sessions"() TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."end_session"(uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "public"."end_session"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."end_session"(uuid) TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_email_change"() TO "authenticated";

REVOKE ALL ON FUNCTION "public"."get_email_change"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_email_change"() TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_my_sessions"() TO "authenticated";

REVOKE ALL ON FUNCTION "public"."get_my_sessions"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_my_sessions"() TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_request_changes"(text, uuid[]) TO "platform_admin";

REVOKE ALL ON FUNCTION "public"."get_request_changes"(text, uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_request_changes"(text, uuid[]) TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_statement"(date, integer, integer) TO "authenticated";

REVOKE ALL ON FUNCTION "public"."get_statement"(date, integer, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_statement"(date, integer, integer) TO "postgres";

ALTER TABLE "public"."deposits"
  ALTER COLUMN "id" SET DEFAULT private.time_ordered_id();

ALTER TABLE "public"."withdrawals"
  ALTER COLUMN "id" SET DEFAULT private.time_ordered_id();

CREATE INDEX withdrawals_payout_keys_idx ON public.withdrawals USING gin (private.reference_keys(payout_reference))
  WITH (gin_pending_list_limit='256')
  WHERE (payout_reference IS NOT NULL);
