-- The journal: one row per deposit and withdrawal from its request on, one per bonus credit or change. Amounts never
-- change, rows are never deleted, a status changes once.
-- Rules: specification S9, decision D19.

create table public.transactions (
    id uuid primary key default private.time_ordered_id(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    amount public.usd not null check (amount between -private.largest_amount() and private.largest_amount() and amount <> 0),
    transaction_type public.transaction_type not null,
    status public.transaction_status not null,
    -- The deposit, withdrawal or bonus of the row; for a correction's rows, the correction.
    reference_id uuid not null,
    created_at timestamptz not null default now(),
    decision_no bigint,
    balance_after public.usd
) with (
    -- Room on each page for the row that a decision completes.
    autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, fillfactor = 90
);
comment on column public.transactions.balance_after is
'Bonuses less approved withdrawals after this row, in the order of decisions and within one of ids; null where the row does not change that.';
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
declare
    v_allowed public.transactions := old;
begin
    if old.status = 'pending' then
        v_allowed.status := new.status;
        v_allowed.decision_no := new.decision_no;
        v_allowed.balance_after := new.balance_after;
    elsif private.is_repairing() then
        v_allowed.balance_after := new.balance_after;
    end if;
    if new is distinct from v_allowed and not private.is_restoring_rows() then
        perform private.raise_error(403, 'append_only', 'The journal is kept as it is.');
    end if;
    return new;
end
$$;
comment on function private.transactions_immutable() is
'Trigger: a journal row changes once, from pending to completed or failed; only a correction of rows makes it again what it was, and a repair its balance what the rows say. Errors: append_only.';

create trigger _100_immutable before update on public.transactions for each row execute function private.transactions_immutable();
create trigger _100_reject_change before delete or truncate on public.transactions for each statement execute function private.reject_change();

-- The order is that of decisions: a request's row, and with it the id, is from when it was asked for.
create view private.running_balances as
select
    t.id,
    t.user_id,
    t.amount,
    t.status,
    t.decision_no,
    t.created_at,
    t.balance_after,
    case
        when t.moved is not null
            then sum(t.moved) over (partition by t.user_id order by t.decision_no, t.id rows between unbounded preceding and current row)
    end as due_balance
from (
    select
        j.*,
        case when j.status = 'completed' and j.transaction_type <> 'deposit' then j.amount end as moved
    from public.transactions as j
) as t;
comment on view private.running_balances is 'Journal rows with the balance that is stored beside them, and the one that the rows before them make.';

create function private.balance_at(p_user_id uuid, p_at timestamptz, p_id uuid) returns numeric
language plpgsql stable set search_path = ''
set plan_cache_mode = 'force_generic_plan' set enable_bitmapscan = 'off' set enable_seqscan = 'off' as $$
begin
    return coalesce((
        select m.balance_after
        from (
            (
                select t.created_at as at, t.decision_no, t.id, t.balance_after
                from public.transactions as t
                where t.user_id = p_user_id and t.transaction_type = 'bonus' and (t.created_at, t.id) <= (p_at, p_id)
                order by t.created_at desc, t.id desc
                limit 1
            )
            union all
            (
                select w.decided_at, t.decision_no, t.id, t.balance_after
                from (
                    select q.id, q.decided_at from public.withdrawals as q
                    where q.user_id = p_user_id and q.status = 'approved' and (q.decided_at, q.id) <= (p_at, p_id)
                    order by q.decided_at desc, q.id desc
                    limit 1
                ) as w
                inner join public.transactions as t on t.transaction_type = 'withdrawal' and w.id = t.reference_id
            )
            union all
            (
                select c.confirmed_at, t.decision_no, t.id, t.balance_after
                from private.corrections as c
                inner join public.transactions as t on t.transaction_type = 'withdrawal' and c.id = t.reference_id
                where c.user_id = p_user_id and c.kind = 'void_withdrawal' and (c.confirmed_at, t.id) <= (p_at, p_id)
                order by c.confirmed_at desc, t.id desc
                limit 1
            )
        ) as m
        order by m.at desc, m.decision_no desc, m.id desc
        limit 1
    ), 0);
end
$$;
comment on function private.balance_at(uuid, timestamptz, uuid) is
'A member''s balance after the last movement up to a time and, at that time, an id of the history.';

-- A member's transaction history: bonuses as they were credited, raised and lowered, deposits, withdrawals, and
-- corrections of requests. By when they took effect or, while a request waits, were asked for; newest first, keyset
-- pagination: each source reads at most a page from its own (user, time) index, so the cost does not grow with the
-- history. Corrections are found by their reference before sorting: they are few, and a scan of the journal would read to
-- its end. Days are UTC.
-- A bonus is one row with its present amount, a history is not: what was credited on a day and raised later is two
-- items, or nobody could add them up to a balance. So the items of bonuses are the rows of the journal. The first of a
-- bonus stands for the bonus and has its id, the others are source transaction.
create function private.transaction_history(
    p_user_id uuid,
    p_type text,
    p_status text,
    p_from timestamptz,
    p_to timestamptz,
    p_before_at timestamptz,
    p_before_id uuid,
    p_limit integer
) returns table (effective_at timestamptz, id uuid, item jsonb, balance_after numeric)
language plpgsql stable set search_path = ''
-- One generic plan per connection: planning this query costs more than running it, and each source must use its index
-- whatever the statistics say, or the whole history of a member with many referrals would be sorted for one page.
set plan_cache_mode = 'force_generic_plan' set enable_bitmapscan = 'off' set enable_seqscan = 'off' as $$
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
$$;
comment on function private.transaction_history(uuid, text, text, timestamptz, timestamptz, timestamptz, uuid, integer) is
'One page of a member''s history, newest first, before a key. Withdrawals are negative. pair_names are the two members of the pair, bonus_amount is what the bonus of the item is now, rest what a pending deposit waits for. effective_at is when it was decided or credited, or asked for while it waits; balance_after is what the journal row says, null of requests.';

-- The balance is bonuses less approved withdrawals, so deposits do not change it, a pending withdrawal only reserves, and
-- what was rejected or cancelled moved nothing. It may be negative after a correction: then nothing is available, and
-- later bonuses make up for it first. Each row that changes it says what it is then, in the order of decisions.
-- Statements are sums of UTC days, so their balances go by days, and within one by decisions: where a clock was set back
-- over midnight, days and not decisions say what belongs to a period. No statement sums up a history: what came after its
-- days is taken from the balance of now, by the kept sums of days.

create function private.balance_movements(p_user_id uuid, p_from timestamptz, p_to timestamptz)
returns table (effective_at timestamptz, decision_no bigint, id uuid, source text, source_id uuid, amount numeric)
language sql stable set search_path = '' as $$
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
$$;
comment on function private.balance_movements(uuid, timestamptz, timestamptz) is
'What changed a member''s balance in a time: bonuses credited, raised or lowered, approved withdrawals, voided ones. The id is the journal row''s, of a withdrawal its own.';

create function private.balance_days(p_user_id uuid, p_from date) returns table (day date, amount numeric)
language sql stable set search_path = '' as $$
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
$$;
comment on function private.balance_days(uuid, date) is
'By how much a member''s balance changed on each UTC day from one on; days without a change may be missing.';

create function private.balance_now(p_user_id uuid) returns numeric
language sql stable set search_path = '' as $$
    select t.bonus_amount - t.withdrawn_amount from private.totals as t where t.user_id = p_user_id
$$;
comment on function private.balance_now(uuid) is
'Bonuses less approved withdrawals: the available balance, and negative where a correction left more withdrawn than earned.';

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
    v_times timestamptz[];
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
        pg_catalog.array_agg(
            h.item || pg_catalog.jsonb_build_object(
                'balance_after', private.money(coalesce(h.balance_after, private.balance_at(v_user_id, h.effective_at, h.id)))
            ) order by h.effective_at desc, h.id desc
        ),
        pg_catalog.array_agg(h.effective_at order by h.effective_at desc, h.id desc),
        pg_catalog.array_agg(h.id order by h.effective_at desc, h.id desc)
    into v_items, v_times, v_ids
    from private.transaction_history(
        v_user_id, p_type, p_status,
        coalesce(p_from::timestamp at time zone 'UTC', '-infinity'),
        coalesce((p_to + 1)::timestamp at time zone 'UTC', 'infinity'),
        v_before.at, v_before.id, v_limit + 1
    ) as h;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(pg_catalog.to_jsonb(v_items[:v_limit]), '[]'),
        'next', case when pg_catalog.cardinality(v_items) > v_limit then private.encode_cursor(v_times[v_limit], v_ids[v_limit]) end
    );
end
$$;
comment on function public.get_transaction_history(text, text, date, date, text, integer) is
'The caller''s transactions by when they were credited or decided, or asked for while they wait (effective_at): newest first, filtered by type, status and days (UTC, inclusive), each with the balance after it. next is the cursor of the next page, null at the end. Errors: invalid_filter, invalid_cursor, invalid_limit.';
grant execute on function public.get_transaction_history(text, text, date, date, text, integer) to authenticated;

create type private.statement_line as (
    effective_at timestamptz, decision_no bigint, id uuid, source text, source_id uuid, amount numeric, moved numeric,
    bonus_type public.bonus_type, place bigint, balance numeric
);
comment on type private.statement_line is
'A row of a statement: moved is by how much it changed the balance, place where it stands, balance the one after it.';

create function private.statement_lines(p_user_id uuid, p_from timestamptz, p_to timestamptz, p_opening numeric)
returns setof private.statement_line
language plpgsql stable set search_path = '' as $$
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
$$;
comment on function private.statement_lines(uuid, timestamptz, timestamptz, numeric) is
'All that took effect for a member in a time, with the balance after each, from an opening one on.';

create function private.statement_items(p_lines private.statement_line[]) returns jsonb
language plpgsql stable set search_path = '' as $$
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
$$;
comment on function private.statement_items(private.statement_line[]) is 'Rows of a statement as the screen shows them, in their order.';

-- The statement of a month: what took effect in it, oldest first. Opening, in, out and closing add up to the cent, and
-- so does every balance beside its row. Approved deposits and their corrections are listed without being part of it.
create function public.get_statement(p_month date, p_after integer default 0, p_limit integer default 100) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
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
$$;
comment on function public.get_statement(date, integer, integer) is
'The caller''s statement of the month that has this day, in UTC days: opening + in - out = closing of the withdrawable balance, and the rows after a place, oldest first. deposits is no part of it. next is the place to go on after, null at the end. Errors: invalid_limit, invalid_range.';
grant execute on function public.get_statement(date, integer, integer) to authenticated;
