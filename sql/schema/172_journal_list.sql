-- The journal in the admin panel. Its totals come from counters: deposits and withdrawals by status, and bonus rows
-- counted by each statement that posts some.

create function private.transaction_counts() returns table (transaction_type text, status text, rows bigint)
language sql stable set search_path = '' as $$
    select c.transaction_type, c.status, c.rows::bigint
    from (
        values
        ('deposit', 'pending', private.counter_value('pending_deposits')),
        ('deposit', 'failed', private.counter_value('deposits_rejected_count')),
        ('deposit', 'completed', private.counter_value('deposits_approved_count') + (
            select count(*) from private.corrections as v where v.kind = 'void_deposit' and v.confirmed_by is not null
        )),
        ('withdrawal', 'pending', private.counter_value('pending_withdrawals')),
        ('withdrawal', 'failed', private.counter_value('withdrawals_rejected_count')),
        ('withdrawal', 'completed', private.counter_value('withdrawals_approved_count') + (
            select count(*) from private.corrections as v where v.kind = 'void_withdrawal' and v.confirmed_by is not null
        )),
        ('bonus', 'completed', private.counter_value('bonus_transactions'))
    ) as c (transaction_type, status, rows)
$$;
comment on function private.transaction_counts() is
'Rows of the journal by type and status. A voided request has a second row that reverses it.';

create function private.completed_volume() returns numeric
language sql stable set search_path = '' as $$
    select private.counter_value('deposits_approved') + private.counter_value('withdrawals_approved') + private.counter_value('bonus_volume')
        -- A voided request is in the journal twice (amount and reversal) and in the counters not at all.
        + 2 * coalesce((
            select sum(pg_catalog.abs(t.amount))
            from private.corrections as v inner join public.transactions as t on v.id = t.reference_id
            where v.confirmed_by is not null
        ), 0)
$$;
comment on function private.completed_volume() is 'Sum of the absolute amounts of completed journal rows.';

create function private.id_range(p_search text, out first uuid, out last uuid)
language plpgsql immutable set search_path = '' as $$
declare
    v_digits text := pg_catalog.replace(pg_catalog.lower(pg_catalog.btrim(p_search)), '-', '');
begin
    if v_digits ~ '\A[0-9a-f]{4,32}\Z' then
        first := pg_catalog.rpad(v_digits, 32, '0')::uuid;
        last := pg_catalog.rpad(v_digits, 32, 'f')::uuid;
    end if;
end
$$;
comment on function private.id_range(text) is 'The range of ids with this prefix, from four digits on; null when it is no prefix of an id.';

-- The journal row of a request has its time; of a status other than completed there is no other row.
create function private.journal_of_requests(p_status public.transaction_status, p_newest integer default null) returns text
language plpgsql immutable set search_path = '' as $$
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
$$;
comment on function private.journal_of_requests(public.transaction_status, integer) is
'What to read pending or failed rows of the journal from, as SQL: found by the requests that have this status, all or as many of the newest of each kind.';

create function private.search_transactions(
    p_search text, p_filters text, p_order text, p_reversed text, p_request private.list_request,
    out ids uuid[], out total bigint, out more boolean
)
language plpgsql stable set search_path = '' as $$
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
$$;
comment on function private.search_transactions(text, text, text, text, private.list_request) is
'Ids of one page of the journal rows of members like the pattern, or of the request or bonus whose id begins so; p_filters are more conditions, p_reversed is the order backwards.';

create function private.transaction_items(p_ids uuid[]) returns jsonb
language plpgsql stable set search_path = '' as $$
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
$$;
comment on function private.transaction_items(uuid[]) is 'Journal rows as the admin panel shows them, in the order of the ids.';

create function public.list_transactions(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
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
$$;
comment on function public.list_transactions(jsonb) is
'Administrators: the journal, newest first. Filters: page, pageSize, search (member, prefix of a reference id), type, status, sort (created_at). {} returns all pending and the newest others, at most 5,000. Errors: forbidden, session_ended, invalid_filter, unknown_field.';
grant execute on function public.list_transactions(jsonb) to platform_admin;
