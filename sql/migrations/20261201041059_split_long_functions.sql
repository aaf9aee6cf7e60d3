-- Functions of more than 70 lines became smaller ones, or queries whose parts have names. Results, locks and rights are the same.

SET local check_function_bodies = off;

CREATE TYPE "private"."statement_line" AS (
  "effective_at" timestamp WITH time zone,
  "decision_no"  bigint,
  "id"           uuid,
  "source"       text,
  "source_id"    uuid,
  "amount"       numeric,
  "moved"        numeric,
  "bonus_type"   public.bonus_type,
  "place"        bigint,
  "balance"      numeric
);

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
    with changed as materialized (
        select c.id, c.user_id, c.bonus_type, c.subject_no, c.created_at, sum(c.amount) as amount, sum(c.reentry) as reentry, sum(c.paid) as paid
        from (
            select n.id, n.user_id, n.bonus_type, n.subject_no, n.created_at, n.amount, n.reentry_amount as reentry, (n.amount > 0)::integer as paid
            from after as n
            union all
            select o.id, o.user_id, o.bonus_type, o.subject_no, o.created_at, -o.amount, -o.reentry_amount, -(o.amount > 0)::integer
            from before as o
        ) as c group by c.id, c.user_id, c.bonus_type, c.subject_no, c.created_at
    ), earned as materialized (
        select c.user_id, sum(c.reentry) as reentry,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0) as referral,
            coalesce(sum(c.paid) filter (where c.bonus_type = 'referral'), 0) as referrals,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0) as pairing,
            coalesce(sum(c.paid) filter (where c.bonus_type = 'pairing'), 0) as pairings,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0) as override,
            coalesce(sum(c.paid) filter (where c.bonus_type = 'override'), 0) as overrides
        from changed as c group by c.user_id
    ), sums as (
        update private.totals as t set
            referral_amount = t.referral_amount + e.referral, referral_count = t.referral_count + e.referrals,
            pairing_amount = t.pairing_amount + e.pairing, pairing_count = t.pairing_count + e.pairings,
            override_amount = t.override_amount + e.override, override_count = t.override_count + e.overrides,
            reentry_amount = t.reentry_amount + e.reentry
        from earned as e where t.user_id = e.user_id
        returning t.user_id, t.bonus_amount - t.withdrawn_amount - e.referral - e.pairing - e.override as balance
    ), journal as (
        insert into public.transactions (id, user_id, amount, transaction_type, status, reference_id, created_at, decision_no, balance_after)
        select b.id, b.user_id, b.amount, 'bonus', 'completed', b.bonus_id, v_now, v_decision_no, b.balance
        from (
            select r.*, sum(r.amount) over (partition by r.user_id order by r.id nulls first rows unbounded preceding) as balance
            from (
                select private.time_ordered_id() as id, c.user_id, c.amount, c.id as bonus_id from changed as c where c.amount <> 0
                union all
                select null, s.user_id, s.balance, null from sums as s
            ) as r
        ) as b where b.id is not null
    ), days as (
        insert into private.network_deltas (no, day, referral, pairing, override, funded)
        select p.no, (v_now at time zone 'UTC')::date, e.referral, e.pairing, e.override, 0
        from earned as e inner join private.positions as p on e.user_id = p.user_id
        where e.referral + e.pairing + e.override <> 0
        union all
        -- A member counts as funded from the day of the referral bonus, as long as that is not zero.
        select c.subject_no, (c.created_at at time zone 'UTC')::date, 0, 0, 0, c.paid
        from changed as c where c.bonus_type = 'referral' and c.paid <> 0
    )
    insert into private.counter_deltas (name, delta)
    select d.name, d.delta
    from (
        select sum(c.amount) as amount, sum(c.paid) as rows, count(*) filter (where c.amount <> 0) as entries, sum(abs(c.amount)) as volume
        from changed as c
    ) as s
    cross join lateral (
        values ('bonuses', s.amount), ('bonus_rows', s.rows), ('bonus_transactions', s.entries), ('bonus_volume', s.volume)
    ) as d (name, delta)
    where d.delta <> 0;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.bonuses_with_wrong_rows (
  p_user_id uuid
)
  RETURNS uuid[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return array(
        select b.id
        from public.bonuses as b
        cross join lateral (
            select
                coalesce(sum(t.amount) filter (where t.user_id = b.user_id and t.status = 'completed'), 0) <> b.amount
                or (min(array[t.decision_no, (extract(epoch from t.created_at) * 1000000)::bigint]) filter (where t.user_id = b.user_id))[2]
                    <> extract(epoch from b.created_at) * 1000000
                or bool_or(t.decision_no is null or t.status <> 'completed')
                or bool_or(t.user_id <> b.user_id and not private.is_booked_back(b.id, t.user_id)) as is_wrong
            from public.transactions as t
            where t.transaction_type = 'bonus' and t.reference_id = b.id
        ) as j
        where (
            b.user_id = p_user_id
            or b.id in (select r.reference_id from public.transactions as r where r.user_id = p_user_id and r.transaction_type = 'bonus')
        )
            and j.is_wrong
            and private.is_as_planned(b)
        order by b.id
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.book_missing_amounts (
  p_ids uuid[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(w.change #- '{new,decision_no}' #- '{new,created_at}'), '[]')
        from pg_catalog.jsonb_array_elements(private.write_rows(array(
            select row('public.transactions', '{}', null, pg_catalog.jsonb_build_object(
                'user_id', b.user_id, 'amount', b.amount - coalesce(j.amount, 0), 'transaction_type', 'bonus', 'status', 'completed', 'reference_id', b.id,
                'created_at', case when j.amount is null then b.created_at else private.clock() end,
                'decision_no', coalesce(private.current_decision_no(), private.last_decision_no())
            ))::private.row_change
            from public.bonuses as b
            cross join lateral (
                select sum(t.amount) as amount from public.transactions as t
                where t.transaction_type = 'bonus' and t.reference_id = b.id and t.user_id = b.user_id
            ) as j
            where b.id = any(p_ids) and b.amount <> coalesce(j.amount, 0)
            order by b.id
        ))) as w (change)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.due_counters()
  RETURNS TABLE (
    name  text,
    value numeric
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return query
    with members as (
        select f.name, f.value
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
                ('profiles', p.members::numeric), ('active_profiles', p.active), ('package_investment', p.packages),
                ('verified_profiles', p.verified)
            ) as f (name, value)
    ),

    deposit_figures as (
        select f.name, coalesce(f.value, 0) as value
        from (
            select
                count(*) filter (where d.status = 'pending') as pending,
                sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null) as recounted,
                count(*) filter (where d.status = 'approved') as approved,
                count(*) filter (where d.status = 'rejected') as rejected
            from public.deposits as d
        ) as d
        cross join
            lateral (
                values
                ('pending_deposits', d.pending::numeric), ('deposits_approved', d.recounted), ('deposits_approved_count', d.approved),
                ('deposits_rejected_count', d.rejected)
            ) as f (name, value)
    ),

    withdrawal_figures as (
        select f.name, coalesce(f.value, 0) as value
        from (
            select
                count(*) filter (where w.status = 'pending') as pending,
                sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null) as recounted,
                count(*) filter (where w.status = 'approved') as approved,
                count(*) filter (where w.status = 'rejected') as rejected,
                count(w.payout_reference) as paid,
                sum(w.amount) filter (where w.status = 'pending') as reserved
            from public.withdrawals as w
        ) as w
        cross join
            lateral (
                values
                ('pending_withdrawals', w.pending::numeric), ('withdrawals_approved', w.recounted), ('withdrawals_approved_count', w.approved),
                ('withdrawals_rejected_count', w.rejected), ('withdrawals_paid_count', w.paid), ('reserved', w.reserved)
            ) as f (name, value)
    ),

    bonus_figures as (
        select f.name, coalesce(f.value, 0) as value
        from (
            select
                sum(b.amount_cents) * 0.01 as total,
                count(*) filter (where b.amount_cents > 0) as bonus_rows
            from public.bonuses as b
        ) as b
        cross join lateral (values ('bonuses', b.total), ('bonus_rows', b.bonus_rows::numeric)) as f (name, value)
    ),

    shortfall as (
        select 'shortfall' as name, coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0) as value
        from private.totals as s
        where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    ),

    bonus_entries as (
        select f.name, coalesce(f.value, 0) as value
        from (
            select
                count(*) as bonus_rows,
                sum(abs(t.amount)) as bonus_volume
            from public.transactions as t
            where t.transaction_type = 'bonus'
        ) as t
        cross join lateral (values ('bonus_transactions', t.bonus_rows::numeric), ('bonus_volume', t.bonus_volume)) as f (name, value)
    ),

    subscriptions as (
        select 'subscriptions_' || e.status as name, coalesce(b.subscriptions, 0)::numeric as value
        from pg_catalog.unnest(pg_catalog.enum_range(null::public.subscription_status)) as e (status)
        left join (
            select s.status, count(*) as subscriptions
            from public.bot_subscriptions as s
            group by s.status
        ) as b on e.status = b.status
    )

    select m.name, m.value from members as m
    union all
    select d.name, d.value from deposit_figures as d
    union all
    select w.name, w.value from withdrawal_figures as w
    union all
    select b.name, b.value from bonus_figures as b
    union all
    select s.name, s.value from shortfall as s
    union all
    select b.name, b.value from bonus_entries as b
    union all
    select s.name, s.value from subscriptions as s;
end
$function$;

CREATE OR REPLACE FUNCTION private.find_requests (
  p_table   text,
  p_status  text,
  p_pattern text
)
  RETURNS uuid[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_found uuid[];
begin
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
        $query$, p_table, p_status
    ) into v_found using p_pattern;
    return v_found;
end
$function$;

CREATE OR REPLACE FUNCTION private.oldest_waiting_deposit()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select private.oldest_pending(pg_catalog.to_jsonb(r))
        from (
            (
                select d.id, d.user_id, d.amount, d.created_at, d.created_at as waits_since from public.deposits as d
                where d.status = 'pending'
                    and not exists (select 1 from private.deposit_rests as o where o.deposit_id = d.id and o.ended_at is null)
                order by d.created_at, d.id limit 1
            )
            union all
            (
                select d.id, d.user_id, d.amount, d.created_at, coalesce(o.referenced_at, o.asked_at)
                from private.deposit_rests as o inner join public.deposits as d on o.deposit_id = d.id
                where o.ended_at is null
                order by coalesce(o.referenced_at, o.asked_at) limit 1
            )
            order by waits_since, id
            limit 1
        ) as r
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.pending_requests (
  p_user_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select coalesce(
            pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object(
                    'source', r.source,
                    'id', r.id,
                    'amount', private.money(r.amount),
                    'created_at', r.created_at,
                    'rest', case when r.source = 'deposit' then private.open_rest(r.id, r.amount) end
                ) order by r.created_at, r.id
            ), '[]'
        )
        from (
            select 'deposit' as source, d.id, d.amount, d.created_at
            from public.deposits as d where d.user_id = p_user_id and d.status = 'pending'
            union all
            select 'withdrawal', w.id, w.amount, w.created_at
            from public.withdrawals as w where w.user_id = p_user_id and w.status = 'pending'
        ) as r
    );
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
    v_found := private.find_requests(p_table, v_status, (p_request).pattern);
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

CREATE OR REPLACE FUNCTION private.restore_bonus_rows (
  p_user_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_wrong uuid[] := private.bonuses_with_wrong_rows(p_user_id);
    v_done jsonb;
begin
    v_done := private.write_rows(array(
        with numbers as materialized (
            select distinct d.decision_no from private.numbered_decisions as d
        ), sourced as materialized (
            select
                t.id, t as entry, b.id as bonus_id, b.user_id, b.created_at as earned_at, b.amount as due, t.amount,
                coalesce(n.decision_no, a.decision_no) as decision_no
            from public.bonuses as b
            inner join public.transactions as t on b.id = t.reference_id and t.transaction_type = 'bonus'
            left join numbers as n on t.decision_no = n.decision_no
            -- A decision writes rows whose times begin with its own.
            left join lateral (
                select d.decision_no from private.numbered_decisions as d
                where n.decision_no is null and d.at <= t.created_at and d.at > t.created_at - interval '10 seconds'
                order by d.at desc, d.decision_no desc limit 1
            ) as a on true
            where b.id = any(v_wrong) and not private.is_booked_back(b.id, t.user_id)
        ), summed as (
            select
                j.*,
                row_number() over (partition by j.bonus_id order by j.decision_no, j.id) = 1
                and not private.is_booked_elsewhere_first(j.bonus_id, j.user_id) as is_first,
                count(*) over same > 1 as is_shared,
                j.due - sum(j.amount) over (partition by j.bonus_id) + sum(j.amount) over same as share
            from sourced as j
            where j.decision_no is not null
            window same as (partition by j.bonus_id, j.decision_no)
        ), placed as (
            -- One decision changes a bonus once: of more rows that have its number, the one stays that fits.
            select
                s.id, s.user_id, s.decision_no, s.is_first, s.earned_at,
                s.is_shared and (
                    s.share = 0
                    or row_number() over (partition by s.bonus_id, s.decision_no, s.amount = s.share order by s.id) > 1
                    or (s.amount <> s.share and bool_or(s.amount = s.share) over (partition by s.bonus_id, s.decision_no))
                ) as is_second
            from summed as s
        )
        select row('public.transactions', pg_catalog.jsonb_build_object('id', r.id), r.old, r.new)::private.row_change
        from (
            select
                j.id, pg_catalog.to_jsonb(j.entry) as old,
                case when not p.is_second then pg_catalog.to_jsonb(j.entry) || pg_catalog.jsonb_build_object(
                    'user_id', p.user_id, 'decision_no', p.decision_no, 'status', 'completed',
                    'created_at', case when p.is_first then p.earned_at else (j.entry).created_at end
                ) end as new
            from sourced as j left join placed as p on j.id = p.id
            union all
            select t.id, pg_catalog.to_jsonb(t), null
            from public.transactions as t
            where t.user_id = p_user_id and t.transaction_type = 'bonus'
                and not exists (select from public.bonuses as b where b.id = t.reference_id)
        ) as r
        order by r.id
    ));
    return v_done || private.book_missing_amounts(v_wrong);
end
$function$;

CREATE OR REPLACE FUNCTION private.search_transactions (
  p_search   text,
  p_filters  text,
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
    v_range record := private.id_range(p_search);
begin
    select f.ids, f.total, f.more into ids, total, more
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
            ) as r$query$, p_filters, v_range.first, v_range.last
        ),
        pg_catalog.format(
            $query$from public.transactions as r where (
                exists (
                    select from private.profiles as p
                    where p.user_id = r.user_id and private.member_search_text(p.username, p.display_name, p.email) like $1
                )
                or r.reference_id between %2$L and %3$L
            ) %1$s$query$, p_filters, v_range.first, v_range.last
        ),
        p_order, p_reversed, p_request
    ) as f;
end
$function$;

CREATE OR REPLACE FUNCTION private.statement_items (
  p_lines private.statement_line[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return coalesce((
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
        from pg_catalog.unnest(p_lines) as l
        left join public.bonuses as b on l.source = 'bonus' and l.source_id = b.id
        left join private.profiles as p on b.source_user_id = p.user_id
        left join public.deposits as d on l.source = 'deposit' and l.source_id = d.id
        left join public.withdrawals as w on l.source = 'withdrawal' and l.source_id = w.id
    ), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.statement_lines (
  p_user_id uuid,
  p_from    timestamp with time zone,
  p_to      timestamp with time zone,
  p_opening numeric
)
  RETURNS SETOF private.statement_line
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return query
    with effects as materialized (
        select m.effective_at, m.decision_no, m.id, m.source, m.source_id, m.amount, m.amount as moved
        from private.balance_movements(p_user_id, p_from, p_to) as m
        union all
        select d.decided_at, d.decision_no, d.id, 'deposit', d.id, d.amount, 0
        from public.deposits as d
        where d.user_id = p_user_id and d.status = 'approved' and d.decided_at >= p_from and d.decided_at < p_to
        union all
        select t.created_at, t.decision_no, t.id, 'deposit correction', c.id, t.amount, 0
        from private.corrections as c inner join public.transactions as t on c.id = t.reference_id
        where
            c.user_id = p_user_id and c.kind = 'void_deposit'
            and c.confirmed_at >= p_from and c.confirmed_at < p_to
    )

    select
        e.*,
        b.bonus_type,
        pg_catalog.row_number() over o as place,
        p_opening + sum(e.moved) over o as balance
    from effects as e
    left join public.bonuses as b on e.source = 'bonus' and e.source_id = b.id
    window o as (order by (e.effective_at at time zone 'UTC')::date, e.decision_no, e.id);
end
$function$;

CREATE OR REPLACE FUNCTION private.subscription_items (
  p_ids uuid[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return coalesce((
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'id', b.id,
                'user_id', b.user_id,
                'profile_id', p.id,
                'username', p.username,
                'email', p.email,
                'display_name', p.display_name,
                'bot_name', b.bot_name,
                'status', b.status,
                'mt5_server', b.mt5_server,
                'mt5_login', b.mt5_login,
                'mt5_password_length', b.mt5_password_length,
                'subscribed_at', b.subscribed_at,
                'updated_at', b.updated_at
            ) order by u.place
        )
        from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
        inner join public.bot_subscriptions as b on u.id = b.id
        inner join private.profiles as p on b.user_id = p.user_id
    ), '[]');
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
    effective_at  timestamp with time zone,
    id            uuid,
    item          jsonb,
    balance_after numeric
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
    with bonus_items as (
        select
            t.created_at, t.created_at, t.id, 'bonus', t.amount::numeric, b.bonus_type || ' bonus', t.status::text, b.id, b.amount::numeric, b.source_user_id,
            b.subject_no, b.pair_number, b.rate, b.volume, t.decision_no, null::text, null::text, null::text, null::timestamptz, null::text,
            true, null::numeric, t.balance_after::numeric
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
    ),

    deposit_items as (
        select
            coalesce(d.decided_at, d.created_at), d.created_at, d.id, 'deposit', d.amount::numeric, 'deposit', d.status::text, null::uuid, null::numeric, null::uuid,
            null::integer, null::integer, null::numeric, null::numeric, d.decision_no, d.reference_number, null, d.admin_notes, d.decided_at, null,
            false, d.received_amount::numeric, null::numeric
        from public.deposits as d
        where
            d.user_id = p_user_id
            and (coalesce(d.decided_at, d.created_at), d.id) < (p_before_at, p_before_id)
            and coalesce(d.decided_at, d.created_at) >= p_from and coalesce(d.decided_at, d.created_at) < p_to
            and (p_type is null or p_type = 'deposit')
            and (p_status is null or p_status = d.status::text)
        order by coalesce(d.decided_at, d.created_at) desc, d.id desc
        limit p_limit
    ),

    withdrawal_items as (
        select
            coalesce(w.decided_at, w.created_at), w.created_at, w.id, 'withdrawal', -w.amount, 'withdrawal', w.status::text, null::uuid, null::numeric, null::uuid,
            null::integer, null::integer, null::numeric, null::numeric, w.decision_no, null, w.wallet_address, w.admin_notes, w.decided_at, w.payout_reference,
            w.status = 'approved', null::numeric, null::numeric
        from public.withdrawals as w
        where
            w.user_id = p_user_id
            and (coalesce(w.decided_at, w.created_at), w.id) < (p_before_at, p_before_id)
            and coalesce(w.decided_at, w.created_at) >= p_from and coalesce(w.decided_at, w.created_at) < p_to
            and (p_type is null or p_type = 'withdrawal')
            and (p_status is null or p_status = w.status::text)
        order by coalesce(w.decided_at, w.created_at) desc, w.id desc
        limit p_limit
    ),

    correction_items as (
        select
            t.created_at, t.created_at, t.id, 'transaction', t.amount::numeric, 'correction', t.status::text, null::uuid, null::numeric, null::uuid,
            null::integer, null::integer, null::numeric, null::numeric, t.decision_no, null, null, null, null::timestamptz, null,
            t.transaction_type = 'withdrawal', null::numeric, t.balance_after::numeric
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
    ),

    -- All columns come with the items: looking the rows up again would cost as much as finding them.
    page (
        effective_at, created_at, id, source, amount, kind, status, bonus_id, bonus_amount, source_user_id, subject_no, pair_number, rate, volume,
        decision_no, reference, wallet_address, admin_notes, decided_at, payout_reference, in_balance, received_amount,
        balance_after
    ) as materialized (
        select b.* from bonus_items as b
        union all
        select d.* from deposit_items as d
        union all
        select w.* from withdrawal_items as w
        union all
        select c.* from correction_items as c
        order by 1 desc, 2 desc
        limit p_limit
    )

    select
        g.effective_at,
        g.id,
        pg_catalog.jsonb_build_object(
            'id', case when g.source = 'bonus' and not o.is_first then g.id else coalesce(g.bonus_id, g.id) end,
            'user_id', p_user_id,
            'amount', private.money(g.amount),
            'transaction_type', g.kind,
            'status', g.status,
            'created_at', g.created_at,
            'effective_at', g.effective_at,
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
            'received_amount', private.money(g.received_amount),
            'rest', case when g.source = 'deposit' and g.status = 'pending' then private.open_rest(g.id, g.amount) end,
            'further_references', case when g.source = 'deposit' then private.further_references(g.id) end,
            'can_cancel', g.status = 'pending' and g.source in ('deposit', 'withdrawal'),
            'cancelled', g.status = 'rejected' and g.decision_no is null,
            'in_balance', g.in_balance
        ),
        g.balance_after
    from page as g
    left join private.profiles as s on g.source_user_id = s.user_id
    cross join lateral (
        select g.bonus_id is null or not exists (
            select from public.transactions as f
            -- A repair may have booked it from one member to another.
            where f.reference_id = g.bonus_id and f.user_id = p_user_id
                and (coalesce(f.decision_no, 0), f.id) < (coalesce(g.decision_no, 0), g.id)
        ) as is_first
    ) as o
    order by g.effective_at desc, g.id desc;
end
$function$;

CREATE OR REPLACE FUNCTION private.transaction_items (
  p_ids uuid[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return coalesce((
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'id', t.id,
                'user_id', t.user_id,
                'profile_id', p.id,
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
        from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
        inner join public.transactions as t on u.id = t.id
        inner join private.profiles as p on t.user_id = p.user_id
    ), '[]');
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
    v_withdrawal jsonb;
    v_recent jsonb;
    v_ledger_check record;
begin
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
        'oldest_pending', pg_catalog.jsonb_build_object('deposit', private.oldest_waiting_deposit(), 'withdrawal', v_withdrawal),
        'pending', pg_catalog.jsonb_build_object(
            'deposits', private.counter_value('pending_deposits')::bigint, 'withdrawals', private.counter_value('pending_withdrawals')::bigint
        ),
        'net_cash_flow', private.money(private.counter_value('deposits_approved') - private.counter_value('withdrawals_approved')),
        'recent', coalesce(v_recent, '[]'),
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
    bars as (
        select
            s.start::date as start,
            coalesce(sum(d.referral), 0) as referral,
            coalesce(sum(d.pairing), 0) as pairing,
            coalesce(sum(d.override), 0) as override
        from pg_catalog.generate_series(
            pg_catalog.date_trunc(v_range.bucket, v_range.first_day::timestamp),
            v_range.last_day::timestamp,
            ('1 ' || v_range.bucket)::interval
        ) as s (start)
        left join days as d on s.start = pg_catalog.date_trunc(v_range.bucket, d.day::timestamp) and d.day >= v_range.first_day
        group by s.start
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
            select coalesce(pg_catalog.jsonb_agg(h.item order by h.effective_at desc, h.id desc), '[]')
            from private.transaction_history(
                p.user_id, null, null, '-infinity', 'infinity', 'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 5
            ) as h
        ),
        'pending', private.pending_requests(p.user_id),
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
    with lines as materialized (
        select * from private.statement_lines(v_member.user_id, v_from, v_to, v_opening)
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
        'rows', private.statement_items(array(
            select row(l.*)::private.statement_line from lines as l where l.place > p_after and l.place <= p_after + p_limit
        )),
        'next', case when p_limit > 0 and s.rows > p_after + p_limit then p_after + p_limit end
    )
    into v_statement
    from sums as s;
    return v_statement;
end
$function$;

CREATE OR REPLACE FUNCTION public.list_subscriptions (
  p_filters jsonb DEFAULT '{}'::jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['subscribed_at']);
    v_filters text;
    v_order text := 'r.subscribed_at, r.id';
    v_reversed text := 'r.subscribed_at desc, r.id desc';
    v_ids uuid[];
    v_more boolean;
    v_counts jsonb;
    v_total bigint;
begin
    perform private.require_admin();
    if v_request.status not in ('active', 'suspended', 'cancelled') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    if v_request.descending then
        select v_reversed, v_order into v_order, v_reversed;
    end if;
    select
        pg_catalog.jsonb_object_agg(s.status, private.counter_value('subscriptions_' || s.status)::bigint),
        coalesce(sum(private.counter_value('subscriptions_' || s.status)) filter (
            where v_request.status is null or s.status::text = v_request.status
        ), 0)::bigint
    into v_counts, v_total
    from pg_catalog.unnest(pg_catalog.enum_range(null::public.subscription_status)) as s (status);
    v_filters := coalesce(' and r.status = ' || pg_catalog.quote_literal(v_request.status) || '::public.subscription_status', '');
    if v_request.pattern is null then
        v_ids := private.page_ids('from public.bot_subscriptions as r where true' || v_filters, v_order, v_reversed, v_request, v_total);
    else
        select f.ids, f.total, f.more into v_ids, v_total, v_more
        from private.search_page(
            'public.bot_subscriptions',
            pg_catalog.format(
                $query$from (
                    (
                        select r.id from private.profiles as p inner join public.bot_subscriptions as r on p.user_id = r.user_id
                        where private.member_search_text(p.username, p.display_name, p.email) like $1 %1$s
                        limit 10001
                    )
                    union
                    (
                        select r.id from public.bot_subscriptions as r
                        where lower(r.bot_name || ' ' || r.mt5_server || ' ' || r.mt5_login) like $1 %1$s
                        limit 10001
                    )
                ) as r$query$, v_filters
            ),
            pg_catalog.format(
                $query$from public.bot_subscriptions as r where (
                    exists (
                        select from private.profiles as p
                        where p.user_id = r.user_id and private.member_search_text(p.username, p.display_name, p.email) like $1
                    )
                    or lower(r.bot_name || ' ' || r.mt5_server || ' ' || r.mt5_login) like $1
                ) %1$s$query$, v_filters
            ),
            v_order, v_reversed, v_request
        ) as f;
    end if;
    return pg_catalog.jsonb_build_object('items', private.subscription_items(v_ids), 'total', v_total, 'counts', v_counts)
        || case when v_more then '{"more": true}' else '{}' end::jsonb;
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
    v_request private.list_request := private.parse_filters(p_filters, array['created_at'], array['type']);
    v_filters text;
    v_order text := 'r.created_at, r.id';
    v_reversed text := 'r.created_at desc, r.id desc';
    v_ids uuid[];
    v_total bigint;
    v_more boolean;
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
        select f.ids, f.total, f.more into v_ids, v_total, v_more
        from private.search_transactions(p_filters ->> 'search', v_filters, v_order, v_reversed, v_request) as f;
    end if;
    return pg_catalog.jsonb_build_object(
        'items', private.transaction_items(v_ids),
        'total', v_total,
        'cards', pg_catalog.jsonb_build_object(
            'total', v_cards.rows, 'completed', v_cards.completed, 'total_volume', private.money(private.completed_volume())
        )
    ) || case when v_more then '{"more": true}' else '{}' end::jsonb;
end
$function$;

COMMENT ON FUNCTION "private"."bonuses_with_wrong_rows"(uuid) IS 'Bonuses of a member, or with a journal row of the member, that are as tree and packages say and whose journal rows are not as the bonuses say.';

COMMENT ON FUNCTION "private"."book_missing_amounts"(uuid[]) IS 'Books the difference between each of these bonuses and its journal rows; returns the changes.';

COMMENT ON FUNCTION "private"."find_requests"(text, text, text) IS 'Ids of requests whose member or text is like a pattern, 10,001 at most; p_status is a condition on the request.';

COMMENT ON FUNCTION "private"."oldest_waiting_deposit"() IS 'The pending deposit that has waited longest for an administrator: since it came, or since the member was asked for the rest or added its reference; null without one.';

COMMENT ON FUNCTION "private"."pending_requests"(uuid) IS 'A member''s requests that wait for a decision, the first one first; rest is what a deposit waits for.';

COMMENT ON FUNCTION "private"."search_transactions"(text, text, text, text, private.list_request) IS 'Ids of one page of the journal rows of members like the pattern, or of the request or bonus whose id begins so; p_filters are more conditions, p_reversed is the order backwards.';

COMMENT ON FUNCTION "private"."statement_items"(private.statement_line[]) IS 'Rows of a statement as the screen shows them, in their order.';

COMMENT ON FUNCTION "private"."statement_lines"(uuid, timestamp with time zone, timestamp with time zone, numeric) IS 'All that took effect for a member in a time, with the balance after each, from an opening one on.';

COMMENT ON FUNCTION "private"."subscription_items"(uuid[]) IS 'Subscriptions as the admin panel shows them, without passwords, in the order of the ids.';

COMMENT ON FUNCTION "private"."transaction_items"(uuid[]) IS 'Journal rows as the admin panel shows them, in the order of the ids.';

COMMENT ON TYPE "private"."statement_line" IS 'A row of a statement: moved is by how much it changed the balance, place where it stands, balance the one after it.';

REVOKE ALL ON FUNCTION "private"."bonuses_with_wrong_rows"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."bonuses_with_wrong_rows"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."bonuses_with_wrong_rows"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."book_missing_amounts"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."book_missing_amounts"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."book_missing_amounts"(uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."find_requests"(text, text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."find_requests"(text, text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."find_requests"(text, text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."oldest_waiting_deposit"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."oldest_waiting_deposit"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."oldest_waiting_deposit"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."pending_requests"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."pending_requests"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."pending_requests"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."search_transactions"(text, text, text, text, private.list_request) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."search_transactions"(text, text, text, text, private.list_request) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."search_transactions"(text, text, text, text, private.list_request) TO "postgres";

REVOKE ALL ON FUNCTION "private"."statement_items"(private.statement_line[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."statement_items"(private.statement_line[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."statement_items"(private.statement_line[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."statement_lines"(uuid, timestamp WITH time zone, timestamp WITH time zone, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."statement_lines"(uuid, timestamp WITH time zone, timestamp WITH time zone, numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."statement_lines"(uuid, timestamp WITH time zone, timestamp WITH time zone, numeric) TO "postgres";

REVOKE ALL ON FUNCTION "private"."subscription_items"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."subscription_items"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."subscription_items"(uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."transaction_items"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."transaction_items"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."transaction_items"(uuid[]) TO "postgres";

select private.record_schema();
