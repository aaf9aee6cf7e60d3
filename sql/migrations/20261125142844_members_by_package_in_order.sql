-- Members of a package, newest first: a page far down counted along members of all packages.
SET local check_function_bodies = off;

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."positions_package_idx";

-- squawk-ignore ban-drop-view
DROP VIEW "private"."ledger_violations";

ALTER TABLE "private"."positions" ADD COLUMN "joined_at" timestamptz;

UPDATE private.positions AS o SET joined_at = p.created_at FROM private.profiles AS p WHERE o.user_id = p.user_id;

-- squawk-ignore adding-not-nullable-field
ALTER TABLE "private"."positions" ALTER COLUMN "joined_at" SET NOT NULL;

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
        count(*) filter (where w.status = 'rejected') as rejected_rows
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
            sum(w.reserved) as reserved
        from drawn as w
    ) as w
    cross join
        lateral (
            values
            ('pending_withdrawals', w.pending), ('withdrawals_approved', w.recounted), ('withdrawals_approved_count', w.approved),
            ('withdrawals_rejected_count', w.rejected), ('reserved', w.reserved)
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

CREATE INDEX positions_package_idx ON private.positions USING btree (package_cents, joined_at, NO) INCLUDE (user_id);

COMMENT ON COLUMN "private"."positions"."joined_at" IS 'The profile''s created_at, for lists of members by package.';

COMMENT ON FUNCTION "private"."member_ids_by_package"(text, private.list_request, bigint) IS 'One page of the members with a package (USD; null: of all), by package or in the order of joining.';

COMMENT ON VIEW "private"."ledger_violations" IS 'Violations of the ledger''s invariants: the rule, the violating object, the member whose money it concerns (null: everybody''s), and figures that change when the violation does. Empty when there are none.';

REVOKE ALL ON FUNCTION "private"."member_ids_by_package"(text, private.list_request, bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."member_ids_by_package"(text, private.list_request, bigint) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."member_ids_by_package"(text, private.list_request, bigint) TO "postgres";
