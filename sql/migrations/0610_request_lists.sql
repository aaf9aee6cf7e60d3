-- The two lists that administrators decide from. Both answer the member beside each request, what the decision
-- would change, and what stands out. Decided rows carry no flags and no before and after: nothing is left to decide.

create function private.deposit_flags(p_deposit public.deposits, p_member private.profiles) returns jsonb
language sql stable set search_path = '' as $$
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text)), '[]')
    from (
        (
            select
                'same_reference' as kind,
                pg_catalog.format(
                    'Same reference as %s, %s', q.username, pg_catalog.to_char(d.created_at at time zone 'UTC', 'FMDD Mon YYYY')
                ) as text
            from public.deposits as d
            inner join private.profiles as q on d.user_id = q.user_id
            where d.reference_key = (p_deposit).reference_key and d.id <> (p_deposit).id and d.status <> 'rejected'
            order by d.created_at desc
            limit 3
        )
        union all
        select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status)
        where (p_member).account_status in ('suspended', 'disabled')
    ) as f
$$;
comment on function private.deposit_flags(public.deposits, private.profiles) is
'What stands out about a pending deposit: the same reference claimed elsewhere, a blocked member.';

create function private.withdrawal_flags(p_withdrawal public.withdrawals, p_member private.profiles) returns jsonb
language sql stable set search_path = '' as $$
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text)), '[]')
    from (
        select 'checksum' as kind, 'This does not look like a TRC20 address' as text
        where not private.wallet_ok((p_withdrawal).wallet_address)
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
            order by l.seq desc
            limit 1
        )
        union all
        (
            select 'address_shared', pg_catalog.format('Also the wallet of %s', q.username)
            from private.profiles as q
            where q.trc20_wallet_address = (p_withdrawal).wallet_address and q.id <> (p_member).id
            order by q.created_at
            limit 3
        )
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
$$;
comment on function private.withdrawal_flags(public.withdrawals, private.profiles) is
'What stands out about a pending withdrawal: no TRC20 address, changed within 7 days, shared with other members, on hold, blocked.';

create function private.due_after() returns interval
language sql stable set search_path = '' as $$
    select pg_catalog.make_interval(hours => private.setting_text('review.due_hours')::integer)
$$;
comment on function private.due_after() is 'How long a request may wait for its decision.';

create function private.deposit_items(p_ids uuid[]) returns jsonb
language sql stable set search_path = '' as $$
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
$$;
comment on function private.deposit_items(uuid[]) is
'Deposits as the administrators'' list shows them. total_deposits is what was approved and counts, which is the member''s cash-in. Money as text.';

create function private.withdrawal_items(p_ids uuid[]) returns jsonb
language sql stable set search_path = '' as $$
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
    cross join (select private.due_after() as due_after) as e
$$;
comment on function private.withdrawal_items(uuid[]) is
'Withdrawals as the administrators'' list shows them. available_after is negative when the balance no longer covers it. Money as text.';

create function private.request_counts(p_noun text) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'pending', private.counter('pending_' || p_noun)::bigint,
        'approved', private.counter(p_noun || '_approved_count')::bigint,
        'rejected', private.counter(p_noun || '_rejected_count')::bigint
    )
$$;
comment on function private.request_counts(text) is 'Deposits or withdrawals by status, from kept figures.';

create function private.newest_requests(p_table text, p_pending bigint) returns uuid[]
language plpgsql stable set search_path = '' as $$
declare
    v_ids uuid[];
begin
    execute pg_catalog.format(
        $query$
        select array(
            select a.id
            from (
                (select r.id, r.created_at from public.%1$I as r where r.status = 'pending' order by r.created_at desc, r.id desc limit 5000)
                union all
                (select r.id, r.created_at from public.%1$I as r where r.status <> 'pending' order by r.created_at desc, r.id desc limit $1)
            ) as a
            order by a.created_at desc, a.id desc
        )
        $query$, p_table
    ) into v_ids using greatest(5000 - p_pending, 0);
    return v_ids;
end
$$;
comment on function private.newest_requests(text, bigint) is 'All pending rows of deposits, withdrawals or transactions and the newest others, together at most 5,000, newest first.';

create function private.request_page(
    p_table text, p_text_column text, p_request private.list_request, p_counts jsonb,
    out ids uuid[], out total bigint, out more boolean
)
language plpgsql stable set search_path = '' as $$
declare
    v_all bigint := (p_counts ->> 'pending')::bigint + (p_counts ->> 'approved')::bigint + (p_counts ->> 'rejected')::bigint;
    v_status text := coalesce(' and r.status = ' || pg_catalog.quote_literal((p_request).status) || '::public.request_status', '');
    -- The member is joined only where it is asked for: without it a page number is counted along an index.
    v_from text := pg_catalog.format(
        'from public.%I as r %s where true', p_table,
        case when (p_request).sort_by = 'username' or (p_request).pattern is not null
            then 'inner join private.profiles as p on r.user_id = p.user_id'
        end
    ) || v_status;
    v_matches text := pg_catalog.format(
        '(private.searchable(p.username, p.display_name, p.email) like $1 or lower(r.%I) like $1)', p_text_column
    );
    v_up text;
    v_down text;
    v_found uuid[];
begin
    if (p_request).everything then
        ids := private.newest_requests(p_table, (p_counts ->> 'pending')::bigint);
        total := v_all;
        return;
    end if;
    if (p_request).status not in ('pending', 'approved', 'rejected') then
        perform private.refuse(400, 'invalid_filter', 'There is no such status.');
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
        ids := private.page_of(v_from, v_up, v_down, p_request, total);
        return;
    end if;
    execute pg_catalog.format(
        $query$
        select array(
            select f.id
            from (
                (
                    select r.id from private.profiles as p inner join public.%1$I as r on p.user_id = r.user_id
                    where private.searchable(p.username, p.display_name, p.email) like $1 %3$s
                    limit 10001
                )
                union
                (
                    select r.id from public.%1$I as r
                    where lower(r.%2$I) like $1 %3$s
                    limit 10001
                )
            ) as f
            limit 10001
        )
        $query$, p_table, p_text_column, v_status
    ) into v_found using (p_request).pattern;
    total := pg_catalog.cardinality(v_found)::bigint;
    if total > 10000 then
        more := true;
        total := 10000;
        ids := private.page_of(v_from || ' and ' || v_matches, v_up, v_down, p_request, total);
        return;
    end if;
    execute pg_catalog.format(
        'select array(select r.id from public.%I as r inner join private.profiles as p on r.user_id = p.user_id where r.id = any($1) order by %s offset $2 limit $3)',
        p_table, v_up
    ) into ids using v_found, ((p_request).page - 1)::bigint * (p_request).page_size, (p_request).page_size;
end
$$;
comment on function private.request_page(text, text, private.list_request, jsonb) is
'Ids of one page of deposits or withdrawals, the exact total, or 10,000 and more when a search finds more. Errors: invalid_filter.';

create function public.list_deposits(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.read_filters(p_filters, array['created_at', 'amount', 'status', 'username']);
    v_counts jsonb := private.request_counts('deposits');
    v_page record;
begin
    perform private.require_admin();
    v_page := private.request_page('deposits', 'reference_number', v_request, v_counts);
    return pg_catalog.jsonb_build_object('items', coalesce(private.deposit_items(v_page.ids), '[]'), 'total', v_page.total, 'counts', v_counts)
        || case when v_page.more then '{"more": true}' else '{}' end::jsonb;
end
$$;
comment on function public.list_deposits(jsonb) is
'Administrators: deposits with their members. Filters: page, pageSize, search (member, reference), status, sort (created_at, amount, status, username). {} answers all pending and the newest others, at most 5,000. Errors: forbidden, session_ended, invalid_filter.';

create function public.list_withdrawals(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.read_filters(p_filters, array['created_at', 'amount', 'status', 'username']);
    v_counts jsonb := private.request_counts('withdrawals');
    v_page record;
begin
    perform private.require_admin();
    v_page := private.request_page('withdrawals', 'wallet_address', v_request, v_counts);
    return pg_catalog.jsonb_build_object('items', coalesce(private.withdrawal_items(v_page.ids), '[]'), 'total', v_page.total, 'counts', v_counts)
        || case when v_page.more then '{"more": true}' else '{}' end::jsonb;
end
$$;
comment on function public.list_withdrawals(jsonb) is
'Administrators: withdrawals with their members. Filters as in list_deposits; search looks in member and wallet address. Errors: forbidden, session_ended, invalid_filter.';
grant execute on function public.list_deposits(jsonb), public.list_withdrawals(jsonb) to platform_admin;
