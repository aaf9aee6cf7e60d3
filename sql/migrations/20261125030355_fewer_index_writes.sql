-- An approval writes fewer indexes: what it changes stands in none of profiles and in none of the journal, the texts that
-- administrators search have a table of their own, and the ids of journal rows, bonuses and notifications follow the time.
-- The journal's counters are written with the bonuses. Everything happens in one transaction while nobody else writes.
SET local check_function_bodies = off;

DROP TRIGGER "_500_update_counters" ON "public"."transactions";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."profiles_unverified_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."deposits_reference_search_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."transactions_created_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."transactions_not_completed_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."transactions_type_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."withdrawals_wallet_search_idx";

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."child_bonus_discrepancies"(integer);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."newest_requests"(text, bigint);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."owner_bonus_discrepancies"(integer);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."transactions_update_counters"();

CREATE TABLE "private"."request_texts" (
  "request_id" uuid NOT NULL,
  "text"       text NOT NULL,
  CONSTRAINT "request_texts_pkey" PRIMARY KEY (request_id)
);

ALTER TABLE "private"."request_texts"
  ENABLE ROW LEVEL SECURITY;

ALTER TABLE "public"."transactions"
  SET (fillfactor=90);

CREATE OR REPLACE FUNCTION private.bonuses_record_insert()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_decision_no bigint := private.current_decision_no();
begin
    perform pg_catalog.nextval('private.bonus_revision_seq');
    if private.is_repairing() then
        return null;
    end if;
    with journal as (
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        select n.user_id, n.amount, 'bonus', 'completed', n.id, n.created_at, v_decision_no from added as n where n.amount <> 0
    ), sums as (
        update private.totals as t set
            referral_amount = t.referral_amount + s.referral, referral_count = t.referral_count + s.referrals,
            pairing_amount = t.pairing_amount + s.pairing, pairing_count = t.pairing_count + s.pairings,
            override_amount = t.override_amount + s.override, override_count = t.override_count + s.overrides,
            reentry_amount = t.reentry_amount + s.reentry
        from (
            select
                n.user_id,
                coalesce(sum(n.amount) filter (where n.bonus_type = 'referral'), 0) as referral,
                count(*) filter (where n.bonus_type = 'referral') as referrals,
                coalesce(sum(n.amount) filter (where n.bonus_type = 'pairing'), 0) as pairing,
                count(*) filter (where n.bonus_type = 'pairing') as pairings,
                coalesce(sum(n.amount) filter (where n.bonus_type = 'override'), 0) as override,
                count(*) filter (where n.bonus_type = 'override') as overrides,
                sum(n.reentry_amount) as reentry
            from added as n where n.amount > 0 group by n.user_id
        ) as s
        where t.user_id = s.user_id
    ), days as (
        insert into private.network_deltas (no, day, referral, pairing, override, funded)
        select
            o.no,
            (n.created_at at time zone 'UTC')::date,
            coalesce(sum(n.amount) filter (where n.bonus_type = 'referral'), 0),
            coalesce(sum(n.amount) filter (where n.bonus_type = 'pairing'), 0),
            coalesce(sum(n.amount) filter (where n.bonus_type = 'override'), 0),
            0
        from added as n inner join private.positions as o on n.user_id = o.user_id
        where n.amount <> 0
        group by o.no, (n.created_at at time zone 'UTC')::date
        union all
        select n.subject_no, (n.created_at at time zone 'UTC')::date, 0, 0, 0, 1
        from added as n where n.bonus_type = 'referral' and n.amount > 0
    )
    insert into private.counter_deltas (name, delta)
    select c.name, c.delta
    from (select sum(n.amount) as amount, count(*) filter (where n.amount > 0) as rows from added as n) as s
    cross join lateral (
        values ('bonuses', s.amount), ('bonus_rows', s.rows), ('bonus_transactions', s.rows), ('bonus_volume', s.amount)
    ) as c (name, delta)
    where c.delta <> 0;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.bonuses_record_update()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := private.clock();
    v_decision_no bigint := private.current_decision_no();
begin
    perform pg_catalog.nextval('private.bonus_revision_seq');
    if private.is_repairing() then
        return null;
    end if;
    -- Sorted or hashed by the bonus, never joined: a plan is made for the first update of a connection, which is
    -- often of one row, and a nested loop over the next ten thousand would be quadratic.
    with changed as materialized (
        select
            c.id,
            c.user_id,
            c.bonus_type,
            c.subject_no,
            c.created_at,
            sum(c.amount) as amount,
            sum(c.reentry) as reentry,
            sum(c.paid) as paid
        from (
            select n.id, n.user_id, n.bonus_type, n.subject_no, n.created_at, n.amount, n.reentry_amount as reentry, (n.amount > 0)::integer as paid
            from after as n
            union all
            select o.id, o.user_id, o.bonus_type, o.subject_no, o.created_at, -o.amount, -o.reentry_amount, -(o.amount > 0)::integer
            from before as o
        ) as c
        group by c.id, c.user_id, c.bonus_type, c.subject_no, c.created_at
    ), journal as (
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        select c.user_id, c.amount, 'bonus', 'completed', c.id, v_now, v_decision_no from changed as c where c.amount <> 0
    ), sums as (
        update private.totals as t set
            referral_amount = t.referral_amount + s.referral, referral_count = t.referral_count + s.referrals,
            pairing_amount = t.pairing_amount + s.pairing, pairing_count = t.pairing_count + s.pairings,
            override_amount = t.override_amount + s.override, override_count = t.override_count + s.overrides,
            reentry_amount = t.reentry_amount + s.reentry
        from (
            select
                c.user_id,
                coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0) as referral,
                coalesce(sum(c.paid) filter (where c.bonus_type = 'referral'), 0) as referrals,
                coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0) as pairing,
                coalesce(sum(c.paid) filter (where c.bonus_type = 'pairing'), 0) as pairings,
                coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0) as override,
                coalesce(sum(c.paid) filter (where c.bonus_type = 'override'), 0) as overrides,
                sum(c.reentry) as reentry
            from changed as c
            group by c.user_id
        ) as s
        where t.user_id = s.user_id
    ), days as (
        insert into private.network_deltas (no, day, referral, pairing, override, funded)
        select
            p.no,
            (v_now at time zone 'UTC')::date,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0),
            coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0),
            coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0),
            0
        from changed as c inner join private.positions as p on c.user_id = p.user_id
        group by p.no having sum(c.amount) <> 0
        union all
        -- A member counts as funded from the day of the referral bonus, as long as that is not zero.
        select c.subject_no, (c.created_at at time zone 'UTC')::date, 0, 0, 0, c.paid
        from changed as c where c.bonus_type = 'referral' and c.paid <> 0
    )
    insert into private.counter_deltas (name, delta)
    select d.name, d.delta
    from (
        select
            sum(c.amount) as amount,
            sum(c.paid) as rows,
            count(*) filter (where c.amount <> 0) as entries,
            sum(pg_catalog.abs(c.amount)) as volume
        from changed as c
    ) as s
    cross join lateral (
        values ('bonuses', s.amount), ('bonus_rows', s.rows), ('bonus_transactions', s.entries), ('bonus_volume', s.volume)
    ) as d (name, delta)
    where d.delta <> 0;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.book_repairs (
  p_due private.due_bonus[],
  p_at  timestamp with time zone
)
  RETURNS void
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
    v_decision_no bigint := private.current_decision_no();
begin
    with booked as (
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        -- The first journal row of a bonus has its time.
        select
            b.user_id, b.amount - coalesce(j.amount, 0), 'bonus', 'completed', b.id,
            case when j.amount is null then b.created_at else p_at end, v_decision_no
        from pg_catalog.unnest(p_due) as d
        inner join public.bonuses as b on d.bonus_id = b.id
        cross join lateral (
            select sum(t.amount) as amount from public.transactions as t
            where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = b.id
        ) as j
        returning amount
    )
    insert into private.counter_deltas (name, delta)
    select c.name, c.delta
    from (select count(*) as entries, sum(pg_catalog.abs(b.amount)) as volume from booked as b) as s
    cross join lateral (values ('bonus_transactions', s.entries), ('bonus_volume', s.volume)) as c (name, delta);
end
$function$;

CREATE OR REPLACE FUNCTION private.child_bonus_discrepancies (
  p_no integer
)
  RETURNS private.due_bonus[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_member private.positions;
begin
    select * into v_member from private.positions as p where p.no = p_no;
    return array(
        select row(
            b.id, 'referral'::public.bonus_type, d.subject_no, null::integer, d.user_no, d.subject_no, d.volume_cents::bigint, d.rate, d.cents
        )::private.due_bonus
        from private.due_referrals as d
        left join public.bonuses as b on b.bonus_type = 'referral' and d.subject_no = b.subject_no
        where d.subject_no = p_no and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer)
        union all
        select row(
            v.bonus_id, v.bonus_type, d.owner_no, d.pair_no, v.user_no, v.source_no, d.volume_cents::bigint, v.rate, v.cents
        )::private.due_bonus
        from private.due_pair_bonuses as d
        left join public.bonuses as p on p.bonus_type = 'pairing' and d.owner_no = p.subject_no and d.pair_no = p.pair_number
        left join public.bonuses as o on o.bonus_type = 'override' and d.owner_no = o.subject_no and d.pair_no = o.pair_number
        cross join lateral (
            values
            (
                p.id, 'pairing'::public.bonus_type, case when d.pairing_percent is not null then d.owner_no end,
                case when p.id is null or p.amount = 0 then private.pair_source(d.left_no, d.right_no) end,
                d.pairing_percent, d.pairing_cents, p.amount_cents, p.rate
            ),
            (o.id, 'override', d.referrer_no, d.owner_no, d.override_percent, d.override_cents, o.amount_cents, o.rate)
        ) as v (bonus_id, bonus_type, user_no, source_no, rate, cents, stored_cents, stored_rate)
        where d.owner_no = v_member.referrer_no and d.pair_no = v_member.pair_no
            -- Nobody earns it: an owner without a package, or without a referrer.
            and v.user_no is not null and (v.cents, v.rate) is distinct from (v.stored_cents, v.stored_rate::integer)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_record_request()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
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

CREATE OR REPLACE FUNCTION private.is_demo()
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return coalesce(private.setting_text('demo')::boolean, true);
end
$function$;

CREATE OR REPLACE FUNCTION private.journal_of_requests (
  p_status public.transaction_status
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  STRICT
  SET search_path TO ''
  AS $function$
declare
    v_requests text := case p_status when 'pending' then 'pending' when 'failed' then 'rejected' end;
begin
    return pg_catalog.format(
        $query$(
            select t.id, t.user_id, t.reference_id, t.transaction_type, t.status, q.created_at
            from (
                select d.id, d.created_at from public.deposits as d where d.status = %1$L
                union all
                select w.id, w.created_at from public.withdrawals as w where w.status = %1$L
            ) as q
            inner join public.transactions as t on t.transaction_type <> 'bonus' and q.id = t.reference_id
        )$query$, v_requests
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.my_role()
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return pg_catalog.current_setting('role', true);
end
$function$;

CREATE OR REPLACE FUNCTION private.newest_requests (
  p_table        text,
  p_pending_from text,
  p_pending      bigint
)
  RETURNS uuid[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_ids uuid[];
begin
    execute pg_catalog.format(
        $query$
        select array(
            select a.id
            from (
                (select r.id, r.created_at from %2$s as r where r.status = 'pending' order by r.created_at desc, r.id desc limit 5000)
                union all
                (select r.id, r.created_at from public.%1$I as r where r.status <> 'pending' order by r.created_at desc, r.id desc limit $1)
            ) as a
            order by a.created_at desc, a.id desc
        )
        $query$, p_table, p_pending_from
    ) into v_ids using greatest(5000 - p_pending, 0);
    return v_ids;
end
$function$;

CREATE OR REPLACE FUNCTION private.notify_member (
  p_user_id uuid,
  p_kind    text,
  p_title   text,
  p_body    text,
  p_amount  numeric,
  p_link    text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_member record;
begin
    select p.username, p.display_name, p.email, t.topic, r.topic is not null as is_opted_out into v_member
    from private.profiles as p
    left join private.mail_topics as t on p_kind ~ t.kind_pattern
    left join private.mail_opt_outs as r on p.user_id = r.user_id and t.topic = r.topic
    where p.user_id = p_user_id;
    insert into public.notifications (user_id, kind, title, body, amount, link, created_at)
    values (p_user_id, p_kind, p_title, p_body, p_amount, p_link, private.clock());
    if v_member.email ~ '\A[^\s@]+@[^\s@]+\Z' and not v_member.is_opted_out then
        insert into private.outbox (template, recipient, data, created_at)
        values (
            p_kind, v_member.email, pg_catalog.jsonb_build_object(
                'username', v_member.username, 'display_name', v_member.display_name, 'title', p_title, 'body', p_body,
                'amount', private.money(p_amount), 'link', p_link, 'topic', v_member.topic
            ), private.clock()
        );
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.owner_bonus_discrepancies (
  p_no integer
)
  RETURNS private.due_bonus[]
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_nestloop TO 'off'
  SET search_path TO ''
  AS $function$
begin
    return array(
        select row(
            b.id, 'pairing'::public.bonus_type, d.subject_no, d.pair_no, d.user_no,
            case when b.id is null or b.amount = 0 then private.pair_source(d.left_no, d.right_no) end, d.volume_cents::bigint, d.rate, d.cents
        )::private.due_bonus
        from private.due_pairings as d
        left join public.bonuses as b on b.bonus_type = 'pairing' and d.subject_no = b.subject_no and d.pair_no = b.pair_number
        where d.subject_no = p_no and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.post_bonuses (
  p_no integer,
  p_at timestamp with time zone
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_discrepancies private.due_bonus[] := private.child_bonus_discrepancies(p_no);
begin
    perform pg_catalog.nextval('private.bonus_revision_seq');
    if (select p.children from private.positions as p where p.no = p_no) > 1 then
        v_discrepancies := v_discrepancies || private.owner_bonus_discrepancies(p_no);
    end if;
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        perform private.write_bonuses(v_discrepancies, p_at);
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.reconcile()
  RETURNS integer
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
    v_revision bigint;
    v_discrepancies private.due_bonus[];
    v_found integer := 0;
begin
    perform private.lock_money();
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    v_discrepancies := private.all_bonus_discrepancies();
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        v_found := pg_catalog.cardinality(v_discrepancies);
        v_discrepancies := private.sound_discrepancies(v_discrepancies);
    end if;
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        v_discrepancies := array(
            select row(
                coalesce(r.id, p.id, o.id), w.bonus_type, w.subject_no, w.pair_number, w.user_no, w.source_no, w.volume_cents, w.rate, w.cents
            )::private.due_bonus
            from pg_catalog.unnest(v_discrepancies) as w
            left join public.bonuses as r on w.bonus_type = 'referral' and r.bonus_type = 'referral' and w.subject_no = r.subject_no
            left join public.bonuses as p
                on w.bonus_type = 'pairing' and p.bonus_type = 'pairing' and w.subject_no = p.subject_no and w.pair_number = p.pair_number
            left join public.bonuses as o
                on w.bonus_type = 'override' and o.bonus_type = 'override' and w.subject_no = o.subject_no and w.pair_number = o.pair_number
        );
        perform private.repair_bonuses(v_discrepancies);
        select q.last_value into v_revision from private.bonus_revision_seq as q;
    end if;
    update private.reconcile_state as s set
        -- What was left is compared again by whoever asks next.
        bonus_revision = case when v_found = pg_catalog.cardinality(v_discrepancies) then v_revision else s.bonus_revision end,
        ran_at = pg_catalog.clock_timestamp(), repaired = s.repaired + pg_catalog.cardinality(v_discrepancies);
    return pg_catalog.cardinality(v_discrepancies);
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
    v_status text := coalesce(' and r.status = ' || pg_catalog.quote_literal((p_request).status) || '::public.request_status', '');
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
    if (p_request).status not in ('pending', 'approved', 'rejected') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    select o.up, o.down into v_up, v_down
    from (
        values
        ('created_at', 'r.created_at, r.id', 'r.created_at desc, r.id desc'),
        ('amount', 'r.amount, r.id', 'r.amount desc, r.id desc'),
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

CREATE OR REPLACE FUNCTION private.time_ordered_id()
  RETURNS uuid
  LANGUAGE sql
  AS $function$
    select pg_catalog.encode(
        pg_catalog.set_bit(pg_catalog.set_bit(
            pg_catalog.overlay(
                pg_catalog.uuid_send(pg_catalog.gen_random_uuid()),
                pg_catalog.substr(pg_catalog.int8send((extract(epoch from pg_catalog.clock_timestamp()) * 1000)::bigint), 3), 1, 6
            ), 52, 1
        ), 53, 1), 'hex'
    )::uuid
$function$;

CREATE OR REPLACE FUNCTION private.uuid_claim (
  p_claims jsonb,
  p_name   text
)
  RETURNS uuid
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
    return case when p_claims ->> p_name ~* '\A[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z' then (p_claims ->> p_name)::uuid end;
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawals_record_request()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    insert into private.request_texts (request_id, text) values (new.id, pg_catalog.lower(new.wallet_address));
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, -new.amount, 'withdrawal', 'pending', new.id, new.created_at);
    update private.totals as t set reserved_amount = t.reserved_amount + new.amount where t.user_id = new.user_id;
    perform private.increment_counter('pending_withdrawals', 1);
    perform private.increment_counter('reserved', new.amount);
    perform private.audit(
        private.requester(), 'withdrawal.requested', 'withdrawal', new.id, private.withdrawal_request_facts(new), new.created_at
    );
    return null;
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
        v_ids := private.newest_requests('transactions', private.journal_of_requests('pending'), v_cards.pending);
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
            'created_at', t.created_at
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

-- Before its index, which is then built at once.
INSERT INTO private.request_texts (request_id, text)
SELECT d.id, lower(d.reference_number) FROM public.deposits AS d
UNION ALL
SELECT w.id, lower(w.wallet_address) FROM public.withdrawals AS w;

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX request_texts_search_idx ON private.request_texts USING gin (text extensions.gin_trgm_ops)
  WITH (gin_pending_list_limit='256');

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX transactions_created_idx ON public.transactions USING btree (created_at, id);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX transactions_type_idx ON public.transactions USING btree (transaction_type, created_at, id);

CREATE TRIGGER _100_reject_change
  BEFORE DELETE OR UPDATE OR TRUNCATE ON private.request_texts
  FOR EACH STATEMENT
  EXECUTE FUNCTION private.reject_change();

COMMENT ON COLUMN "private"."request_texts"."request_id" IS 'A deposit or a withdrawal. No foreign key: only their triggers write here, and requests are never deleted.';

COMMENT ON FUNCTION "private"."book_repairs"(private.due_bonus[], timestamp with time zone) IS 'Journal rows of these stored bonuses, and their counters: the difference to what their journal says.';

COMMENT ON FUNCTION "private"."child_bonus_discrepancies"(integer) IS 'Discrepancies of the two members above that this member''s package caused.';

COMMENT ON FUNCTION "private"."deposits_record_request"() IS 'Trigger: keys, search text, journal row, counter and audit entry of a new deposit.';

COMMENT ON FUNCTION "private"."journal_of_requests"(public.transaction_status) IS 'What to read pending or failed rows of the journal from, as SQL: found by the requests that have this status, newest first.';

COMMENT ON FUNCTION "private"."newest_requests"(text, text, bigint) IS 'All pending rows of deposits, withdrawals or transactions, which p_pending_from finds, and the newest others: ids of at most 5,000 together, newest first.';

COMMENT ON FUNCTION "private"."owner_bonus_discrepancies"(integer) IS 'Discrepancies of the member''s own pairings after a changed rate.';

COMMENT ON FUNCTION "private"."time_ordered_id"() IS 'A new id that begins with the milliseconds since 1970, UUID version 7.';

COMMENT ON FUNCTION "private"."withdrawals_record_request"() IS 'Trigger: search text, journal row, reserved amount, counters and audit entry of a new withdrawal.';

COMMENT ON TABLE "private"."request_texts" IS 'References of deposits and addresses of withdrawals in lower case. Written with the request, never changed.';

REVOKE ALL ON FUNCTION "private"."child_bonus_discrepancies"(integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."child_bonus_discrepancies"(integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."child_bonus_discrepancies"(integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."journal_of_requests"(public.transaction_status) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."journal_of_requests"(public.transaction_status) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."journal_of_requests"(public.transaction_status) TO "postgres";

REVOKE ALL ON FUNCTION "private"."newest_requests"(text, text, bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."newest_requests"(text, text, bigint) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."newest_requests"(text, text, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."owner_bonus_discrepancies"(integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."owner_bonus_discrepancies"(integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."owner_bonus_discrepancies"(integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."time_ordered_id"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."time_ordered_id"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."time_ordered_id"() TO "postgres";

ALTER TABLE "public"."bonuses"
  ALTER COLUMN "id" SET DEFAULT private.time_ordered_id();

ALTER TABLE "public"."notifications"
  ALTER COLUMN "id" SET DEFAULT private.time_ordered_id();

ALTER TABLE "public"."transactions"
  ALTER COLUMN "id" SET DEFAULT private.time_ordered_id();
