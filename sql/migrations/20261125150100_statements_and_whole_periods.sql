-- The balance after each movement and statements of months, from the kept sums of days; items of a history are rows of
-- the journal, so that they add up. Charts begin and end with whole periods. The block explorer is a setting, and own
-- cancellations are marked in the lists.
SET local check_function_bodies = off;

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."chart_range"(text, timestamp WITH time zone);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."transaction_history"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone, timestamp WITH time zone, uuid, integer);

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
            'decided_by_name', coalesce(a.full_name, a.email),
            'cancelled', d.status = 'rejected' and d.decided_by is null,
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

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX withdrawals_taken_idx ON public.withdrawals USING btree (user_id, decided_at) INCLUDE (id, amount, decision_no) WHERE (status = 'approved'::public.request_status);

COMMENT ON FUNCTION "private"."balance_days"(uuid, date) IS 'By how much a member''s balance changed on each UTC day from one on; days without a change may be missing.';

COMMENT ON FUNCTION "private"."balance_movements"(uuid, timestamp with time zone, timestamp with time zone) IS 'What changed a member''s balance in a time: bonuses credited, raised or lowered, approved withdrawals, voided ones. The id is the journal row''s, of a withdrawal its own.';

COMMENT ON FUNCTION "private"."balance_now"(uuid) IS 'Bonuses less approved withdrawals: the available balance, and negative where a correction left more withdrawn than earned.';

COMMENT ON FUNCTION "private"."balances_after"(uuid, timestamp with time zone[], uuid[]) IS 'Of items of a member''s history, by their effective times and ids: the balance after each, in the same order.';

COMMENT ON FUNCTION "private"."chart_range"(text, timestamp with time zone) IS 'First and last day (UTC) of a chart, its bucket, and the days to compare with: null with "all", which begins at p_oldest, and where they begin before it. Errors: invalid_range.';

COMMENT ON FUNCTION "private"."transaction_history"(uuid, text, text, timestamp with time zone, timestamp with time zone, timestamp
  with time zone, uuid, integer) IS 'One page of a member''s history, newest first, before a key. Withdrawals are negative. pair_names are the two members of the pair, bonus_amount is what the bonus of the item is now. effective_at is when the balance changed, or would have.';

COMMENT ON FUNCTION "public"."get_earnings"(text) IS 'The caller''s earnings by type over time, by journal day, so that an upgrade''s increase is on the day it happened. Ranges 30d, 90d, 12m, all; days in UTC, weeks from Monday. previous is the period to compare with, null without one. Errors: invalid_range.';

COMMENT ON FUNCTION "public"."get_platform"() IS 'Name, support, operator, packages, rates, limits, the block explorer, terms and risk notice, and whether this is a demo. Open to anonymous clients.';

COMMENT ON FUNCTION "public"."get_statement"(date, integer, integer) IS 'The caller''s statement of the month that has this day, in UTC days: opening + in - out = closing of the withdrawable balance, and the rows after a place, oldest first. deposits is no part of it. next is the place to go on after, null at the end. Errors: invalid_limit, invalid_range.';

COMMENT ON FUNCTION "public"."get_team_growth"(text) IS 'Size of the caller''s team at the end of each bar, and how many are funded; joined counts the days of the chart, previous those to compare with. Ranges as in get_earnings. Errors: invalid_range.';

COMMENT ON FUNCTION "public"."get_transaction_history"(text, text, date, date, text, integer) IS 'The caller''s transactions, newest first, filtered by type, status and days (UTC, inclusive), each with the balance after it. next is the cursor of the next page, null at the end. Errors: invalid_filter, invalid_cursor, invalid_limit.';

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

REVOKE ALL ON FUNCTION "private"."transaction_history"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone, timestamp WITH time zone, uuid, integer) FROM PUBLIC;

REVOKE ALL
  ON FUNCTION "private"."transaction_history"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone, timestamp WITH time zone, uuid, integer)
  FROM "postgres";

GRANT EXECUTE
  ON FUNCTION "private"."transaction_history"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone, timestamp WITH time zone, uuid, integer)
  TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_statement"(date, integer, integer) TO "authenticated";

REVOKE ALL ON FUNCTION "public"."get_statement"(date, integer, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_statement"(date, integer, integer) TO "postgres";

insert into private.settings (key, value, kind, minimum, maximum, is_public, description) values
('explorer.url', 'null', 'text', 1, 500, true, 'Block explorer''s page of a transaction, with {hash} for its hash. Unset: hashes are no links')
on conflict (key) do nothing;
