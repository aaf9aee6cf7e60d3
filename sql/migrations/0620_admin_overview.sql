-- What the administrators' panel opens with: who waits longest, what came in and went out by day, whether the
-- books agree, and whether the money that came in covers what members could ask for. Totals come from kept
-- figures, days from indexes that hold only what counted.

create index deposits_flow_idx on public.deposits (created_at) include (amount) where status = 'approved' and voided_at is null;
create index withdrawals_flow_idx on public.withdrawals (created_at) include (amount) where status = 'approved' and voided_at is null;
-- Members whose approved withdrawals exceed their bonuses, which only a correction can cause: they count as 0, not below.
create index totals_shortfall_idx on private.totals (user_id)
where referral_amount + pairing_amount + override_amount < withdrawn_amount;

create function private.oldest_pending(p_row jsonb) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'id', p_row -> 'id',
        'amount', private.money((p_row ->> 'amount')::numeric),
        'username', p.username,
        'created_at', p_row -> 'created_at',
        'due_at', (p_row ->> 'created_at')::timestamptz + private.due_after()
    )
    from private.profiles as p where p.user_id = (p_row ->> 'user_id')::uuid
$$;
comment on function private.oldest_pending(jsonb) is 'The request that waits longest, with its member and when it is due.';

create function private.coverage() returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_cash_in numeric := private.counter('deposits_approved');
    v_withdrawn numeric := private.counter('withdrawals_approved');
    v_short numeric;
    v_pending numeric;
    v_available numeric;
begin
    select coalesce(sum(t.withdrawn_amount - t.bonus_amount), 0) into v_short
    from private.totals as t
    where t.referral_amount + t.pairing_amount + t.override_amount < t.withdrawn_amount;
    select coalesce(sum(w.amount), 0) into v_pending from public.withdrawals as w where w.status = 'pending';
    v_available := private.counter('bonuses') - v_withdrawn + v_short;
    return pg_catalog.jsonb_build_object(
        'approved_cash_in', private.money(v_cash_in),
        'approved_withdrawals', private.money(v_withdrawn),
        'withdrawable', private.money(greatest(v_available - v_pending, 0)),
        'pending', private.money(v_pending),
        'ratio', case when greatest(v_available, v_pending) > 0
            then private.percent((v_cash_in - v_withdrawn) / greatest(v_available, v_pending) * 100)
        end
    );
end
$$;
comment on function private.coverage() is
'Approved cash-in minus approved withdrawals, in percent of what members could ask for now plus what they asked for; no ratio when that is nothing.';

create function private.daily_flows(p_days integer) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'day', s.day::date, 'deposits', private.money(coalesce(f.deposits, 0)), 'withdrawals', private.money(coalesce(f.withdrawals, 0))
        ) order by s.day
    )
    from pg_catalog.generate_series(
        (pg_catalog.now() at time zone 'UTC')::date - (p_days - 1), (pg_catalog.now() at time zone 'UTC')::date, interval '1 day'
    ) as s (day)
    left join (
        select a.day, sum(a.deposit) as deposits, sum(a.withdrawal) as withdrawals
        from (
            select (d.created_at at time zone 'UTC')::date as day, d.amount as deposit, 0 as withdrawal
            from public.deposits as d
            where
                d.status = 'approved' and d.voided_at is null
                and d.created_at >= ((pg_catalog.now() at time zone 'UTC')::date - (p_days - 1))::timestamp at time zone 'UTC'
            union all
            select (w.created_at at time zone 'UTC')::date, 0, w.amount
            from public.withdrawals as w
            where
                w.status = 'approved' and w.voided_at is null
                and w.created_at >= ((pg_catalog.now() at time zone 'UTC')::date - (p_days - 1))::timestamp at time zone 'UTC'
        ) as a
        group by a.day
    ) as f on s.day::date = f.day
$$;
comment on function private.daily_flows(integer) is 'Approved deposits and withdrawals by the UTC day on which they were requested, today last.';

create function public.get_admin_overview() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_deposit jsonb;
    v_withdrawal jsonb;
    v_recent jsonb;
    v_books record;
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
            'created_at', r.created_at, 'amount', private.money(r.amount), 'status', r.status
        ) order by r.created_at desc, r.id desc
    )
    into v_recent
    from (
        (
            select d.id, 'deposit' as type, d.user_id, d.created_at, d.amount, d.status
            from public.deposits as d order by d.created_at desc, d.id desc limit 10
        )
        union all
        (
            select w.id, 'withdrawal', w.user_id, w.created_at, w.amount, w.status
            from public.withdrawals as w order by w.created_at desc, w.id desc limit 10
        )
        order by 4 desc, 1 desc
        limit 10
    ) as r
    inner join private.profiles as p on r.user_id = p.user_id;
    select s.checked_at, s.violations into v_books from private.books_state as s;
    return pg_catalog.jsonb_build_object(
        'as_of', pg_catalog.now(),
        'admin', pg_catalog.jsonb_build_object(
            'id', v_admin.id, 'email', v_admin.email, 'full_name', v_admin.full_name, 'role', v_admin.role
        ),
        'oldest_pending', pg_catalog.jsonb_build_object('deposit', v_deposit, 'withdrawal', v_withdrawal),
        'pending', pg_catalog.jsonb_build_object(
            'deposits', private.counter('pending_deposits')::bigint, 'withdrawals', private.counter('pending_withdrawals')::bigint
        ),
        'net_cash_flow', private.money(private.counter('deposits_approved') - private.counter('withdrawals_approved')),
        'recent', coalesce(v_recent, '[]'),
        'flows', private.daily_flows(90),
        'books', pg_catalog.jsonb_build_object(
            'ok', case when v_books.checked_at is not null then v_books.violations = 0 end,
            'violations', v_books.violations,
            'checked_at', v_books.checked_at
        ),
        'coverage', private.coverage()
    );
end
$$;
comment on function public.get_admin_overview() is
'Administrators: the panel''s first screen in one request. books is the last check of what must always be true; ok is null before the first. Errors: forbidden, session_ended.';
grant execute on function public.get_admin_overview() to platform_admin;
