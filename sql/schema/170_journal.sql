-- The journal: one row per deposit and withdrawal from its request on, one per bonus credit or change. Amounts never
-- change, rows are never deleted, a status changes once.

create table public.transactions (
    id uuid primary key default private.time_ordered_id(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    amount public.usd not null check (amount between -10000000 and 10000000 and amount <> 0),
    transaction_type public.transaction_type not null,
    status public.transaction_status not null,
    -- The deposit, withdrawal or bonus of the row; for a correction's rows, the correction.
    reference_id uuid not null,
    created_at timestamptz not null default now(),
    decision_no bigint
) with (
    -- Room on each page for the row that a decision completes.
    autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, fillfactor = 90
);
comment on table public.transactions is
'Journal. Signed: a withdrawal is negative. Bonus rows are deltas: per reference they sum to the bonus.';
comment on column public.transactions.decision_no is
'Number of the decision, correction or repair that completed the row or wrote it; null while pending and when taken back.';
alter table public.transactions enable row level security;
create unique index transactions_source_key on public.transactions (transaction_type, reference_id) where transaction_type <> 'bonus';
create index transactions_reference_idx on public.transactions (reference_id);
-- Rows come for all members: on full pages each would split one, after a load or a restore.
create index transactions_user_idx on public.transactions (user_id, created_at desc, id desc) with (fillfactor = 75);
-- Upwards, although lists are read downwards: new rows stand at the end, and a full page there is not split in half.
create index transactions_created_idx on public.transactions (created_at, id);
create index transactions_type_idx on public.transactions (transaction_type, created_at, id);
-- None has the status: a decision changes it, and then writes no index. Pending and failed rows are found by their
-- requests.

create policy select_own on public.transactions for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on public.transactions for select to platform_admin using (true);
grant select on public.transactions to authenticated, platform_admin, service_role;
-- Not granted: insert, update, delete to any role.

create function private.transactions_immutable() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.id, new.user_id, new.amount, new.transaction_type, new.reference_id, new.created_at)
        is distinct from (old.id, old.user_id, old.amount, old.transaction_type, old.reference_id, old.created_at)
        or (old.status <> 'pending' and (new.status, new.decision_no) is distinct from (old.status, old.decision_no)) then
        perform private.raise_error(403, 'append_only', 'The journal is kept as it is.');
    end if;
    return new;
end
$$;
comment on function private.transactions_immutable() is
'Trigger: a journal row changes once, from pending to completed or failed. Errors: append_only.';

create trigger _100_immutable before update on public.transactions for each row execute function private.transactions_immutable();
create trigger _100_reject_change before delete or truncate on public.transactions for each statement execute function private.reject_change();

-- A member's transaction history: bonuses, deposits, withdrawals, and the journal rows of corrections. Newest first,
-- keyset pagination: each source reads at most a page from its own (user, time) index, so the cost does not grow with
-- the history. Corrections are found by their reference before sorting: they are few, and a scan of the journal would
-- read to its end. Days are UTC.
create function private.transaction_history(
    p_user_id uuid,
    p_type text,
    p_status text,
    p_from timestamptz,
    p_to timestamptz,
    p_before_at timestamptz,
    p_before_id uuid,
    p_limit integer
) returns table (created_at timestamptz, id uuid, item jsonb)
language plpgsql stable set search_path = ''
-- One generic plan per connection: planning this query costs more than running it, and each source must use its index
-- whatever the statistics say, or the whole history of a member with many referrals would be sorted for one page.
set plan_cache_mode = 'force_generic_plan' set enable_bitmapscan = 'off' set enable_seqscan = 'off' as $$
begin
    return query
    -- Select all columns here: looking the rows up again would cost as much as finding them.
    with page (
        created_at, id, source, amount, kind, status, source_user_id, subject_no, pair_number, rate, volume, reentry_amount,
        reference, wallet_address, admin_notes, decided_at, payout_reference
    ) as materialized (
        (
            select
                b.created_at, b.id, 'bonus', b.amount::numeric, b.bonus_type || ' bonus', 'completed', b.source_user_id, b.subject_no,
                b.pair_number, b.rate, b.volume, b.reentry_amount, null::text, null::text, null::text, null::timestamptz, null::text
            from public.bonuses as b
            where
                b.user_id = p_user_id
                -- A correction set the others to zero.
                and b.amount > 0
                and (b.created_at, b.id) < (p_before_at, p_before_id)
                and b.created_at >= p_from and b.created_at < p_to
                and (p_type is null or p_type = 'bonus' or p_type = b.bonus_type || ' bonus')
                and (p_status is null or p_status = 'completed')
            order by b.created_at desc, b.id desc
            limit p_limit
        )
        union all
        (
            select
                d.created_at, d.id, 'deposit', d.amount, 'deposit', d.status::text, null, null,
                null, null, null, null, d.reference_number, null, d.admin_notes, d.decided_at, null
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
                w.created_at, w.id, 'withdrawal', -w.amount, 'withdrawal', w.status::text, null, null,
                null, null, null, null, null, w.wallet_address, w.admin_notes, w.decided_at, w.payout_reference
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
                t.created_at, t.id, 'transaction', t.amount, 'correction', t.status::text, null, null,
                null, null, null, null, null, null, null, null, null
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
        pg_catalog.jsonb_build_object(
            'id', g.id,
            'user_id', p_user_id,
            'amount', private.money(g.amount),
            'transaction_type', g.kind,
            'status', g.status,
            'created_at', g.created_at,
            'source', g.source,
            'counterparty', coalesce(s.username, private.short_address(g.wallet_address)),
            'pair_number', g.pair_number,
            'pair_names', case when g.pair_number is not null then (
                select pg_catalog.jsonb_agg(c.username order by o.child_no)
                from private.positions as o
                inner join private.profiles as c on o.user_id = c.user_id
                where o.referrer_no = g.subject_no and o.child_no in (g.pair_number * 2 - 1, g.pair_number * 2)
            ) end,
            'rate', private.percent(g.rate),
            'volume', private.money(g.volume),
            'reentry', private.money(g.reentry_amount),
            'reference', g.reference,
            'wallet_address', g.wallet_address,
            'admin_notes', g.admin_notes,
            'decided_at', g.decided_at,
            'payout_reference', g.payout_reference,
            'can_cancel', g.status = 'pending' and g.source in ('deposit', 'withdrawal')
        )
    from page as g
    left join private.profiles as s on g.source_user_id = s.user_id
    order by g.created_at desc, g.id desc;
end
$$;
comment on function private.transaction_history(uuid, text, text, timestamptz, timestamptz, timestamptz, uuid, integer) is
'One page of a member''s history, newest first, before a key. Withdrawals are negative. pair_names are the two members of the pair.';

create function public.get_transaction_history(
    p_type text default null,
    p_status text default null,
    p_from date default null,
    p_to date default null,
    p_before text default null,
    p_limit integer default null
) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.require_member()).user_id;
    v_limit integer := private.page_limit(p_limit, 25, 100);
    v_before record;
    v_items jsonb[];
    v_keys text[];
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
        pg_catalog.array_agg(private.encode_cursor(h.created_at, h.id) order by h.created_at desc, h.id desc)
    into v_items, v_keys
    from private.transaction_history(
        v_user_id, p_type, p_status,
        coalesce(p_from::timestamp at time zone 'UTC', '-infinity'),
        coalesce((p_to + 1)::timestamp at time zone 'UTC', 'infinity'),
        v_before.at, v_before.id, v_limit + 1
    ) as h;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(pg_catalog.to_jsonb(v_items[:v_limit]), '[]'),
        'next', case when pg_catalog.cardinality(v_items) > v_limit then v_keys[v_limit] end
    );
end
$$;
comment on function public.get_transaction_history(text, text, date, date, text, integer) is
'The caller''s transactions, newest first, filtered by type, status and days (UTC, inclusive). next is the cursor of the next page, null at the end. Errors: invalid_filter, invalid_cursor, invalid_limit.';
grant execute on function public.get_transaction_history(text, text, date, date, text, integer) to authenticated;

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

create function public.list_transactions(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
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
$$;
comment on function public.list_transactions(jsonb) is
'Administrators: the journal, newest first. Filters: page, pageSize, search (member, prefix of a reference id), type, status, sort (created_at). {} returns all pending and the newest others, at most 5,000. Errors: forbidden, session_ended, invalid_filter.';
grant execute on function public.list_transactions(jsonb) to platform_admin;
