-- Bonuses: three rules over the tree, defined by three views and written by one function.
-- referral 5% of each funded direct referral's package, to the referrer;
-- pairing the owner's rate of both packages of each pair of funded referrals;
-- override 1% of the same volume, to the owner's referrer.
-- These are specification S6.1, S6.2 and S6.3; why an approval posts them is decision D17.
-- Direct referrals are paired by child_no: 1 with 2, 3 with 4. An unfunded referral earns nobody a bonus and blocks
-- its pair. A pairing needs the owner to have a package (its rate); the others need none. Everything is computed in
-- whole cents; packages are multiples of $50, so nothing is rounded.
-- One row per natural key, so that posting twice is impossible and an upgrade raises the existing row. Rows keep id
-- and created_at; nothing is deleted and inserted again. Only the functions below write here; no role may over REST.
-- The plans must suit three rows and a million. An upgrade of a member with many direct referrals changes thousands
-- of pairs in one statement: the sums do not join the rows before with the rows after, because a plan cached for one
-- row would be a nested loop over all. pair_source() runs for new pairs only, and a reconciliation looks up stored
-- rows only for discrepancies. Do not remove a plan setting because a small test is as fast without it: `make bench`
-- has the relevant sizes.

-- Immutable and without arguments: the planner inlines the constant. plpgsql, because the percentage of
-- bonuses.reentry_amount is evaluated in every statement that writes a bonus, and an SQL function with a fixed
-- search_path is parsed and planned there; parallel safe, because any other function disables parallel plans.
create function private.referral_percent() returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return 5;
end
$$;
comment on function private.referral_percent() is 'Referral bonus in percent of a direct referral''s package.';

create function private.override_percent() returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return 1;
end
$$;
comment on function private.override_percent() is 'Override bonus in percent of a pair''s volume, for the referrer of the pair owner.';

create function private.reentry_percent() returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return 10;
end
$$;
comment on function private.reentry_percent() is 'Share of each bonus that re-enters: informational, never deducted from the balance.';

create table public.bonuses (
    id uuid primary key default private.time_ordered_id(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    source_user_id uuid not null references private.profiles (user_id) on delete restrict,
    bonus_type public.bonus_type not null,
    amount public.usd not null check (amount between 0 and private.largest_amount()),
    created_at timestamptz not null default now(),
    pair_number integer check (pair_number > 0),
    rate numeric(5, 2) not null check (rate between 0 and 100),
    volume public.usd not null check (volume >= 0),
    reentry_amount public.usd generated always as (round(amount * private.reentry_percent() / 100, 2)) stored,
    -- For comparing a million rows as integers.
    amount_cents bigint generated always as ((amount * 100)::bigint) stored,
    -- Subject of the natural key: the referred member of a referral bonus, the pair owner of the others.
    subject_no integer not null references private.positions (no) on delete restrict,
    constraint amount_is_rate_of_volume check (amount = round(volume * rate / 100, 2)),
    constraint pairs_have_a_number check ((bonus_type = 'referral') = (pair_number is null)),
    constraint no_bonus_from_oneself check (user_id <> source_user_id)
) with (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02,
    -- Room on each page for the bonus that an upgrade raises.
    fillfactor = 90
);
comment on table public.bonuses is
'Current amount of every bonus. Source: the referred member of a referral, the member who completed the pair of a pairing, the pair owner of an override.';
alter table public.bonuses enable row level security;
-- The natural keys, in the order in which the engine computes its rows. They make another index on subject_no
-- unnecessary. No index has an amount, not even beside its key: a bonus that changes then writes none.
create unique index bonuses_referral_key on public.bonuses (subject_no) where bonus_type = 'referral';
create unique index bonuses_pairing_key on public.bonuses (subject_no, pair_number) where bonus_type = 'pairing';
create unique index bonuses_override_key on public.bonuses (subject_no, pair_number) where bonus_type = 'override';
create index bonuses_user_idx on public.bonuses (user_id, created_at desc, id desc);
create index bonuses_source_idx on public.bonuses (source_user_id);

-- The source is compared as a range of one id, which the planner estimates as more than a few rows: a member's page
-- is read along its index, and all visible rows are still found by two indexes. As an equality, "mine or from me"
-- with the filter "mine" is estimated as one row, and a member with many referrals reads twenty thousand rows for a
-- hundred.
create policy select_own on public.bonuses for select to authenticated
using (user_id = (select auth.uid()) or source_user_id between (select auth.uid()) and (select auth.uid()));
create policy select_all on public.bonuses for select to platform_admin using (true);
grant select on public.bonuses to authenticated, platform_admin, service_role;
-- Not granted: insert, update, delete to any role. sync_bonuses() replaces a client's delete and insert.

create sequence private.bonus_revision_seq as bigint;
select pg_catalog.setval('private.bonus_revision_seq', 1);
comment on sequence private.bonus_revision_seq is
'Revision of bonuses and of what they are computed from; advances with every change. Equal to the last clean reconciliation: nothing to do.';

create function private.is_other_bonus(p_before public.bonuses, p_after public.bonuses, p_is_repair boolean) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
    -- A pair that pays again may have been completed by its other child.
    if p_is_repair or (p_before.bonus_type = 'pairing' and p_before.amount = 0) then
        p_before.source_user_id := p_after.source_user_id;
    end if;
    if p_is_repair then
        p_before.user_id := p_after.user_id;
    end if;
    p_before.rate := p_after.rate;
    p_before.volume := p_after.volume;
    p_before.amount := p_after.amount;
    p_before.reentry_amount := p_after.reentry_amount;
    p_before.amount_cents := p_after.amount_cents;
    return p_after is distinct from p_before;
end
$$;
comment on function private.is_other_bonus(public.bonuses, public.bonuses, boolean) is
'Whether an update changed more of a bonus than its rate, volume and amount: outside a repair it keeps its member, and its source unless a pair pays again.';

-- After the statement and for all its rows at once: a trigger before each row locks the row first, which is logged as
-- well. Without nested loops, as in bonuses_record_update().
create function private.bonuses_immutable() returns trigger
language plpgsql volatile set search_path = '' set enable_nestloop = off as $$
declare
    v_broken record;
    v_is_repair boolean := private.is_repairing();
begin
    select
        bool_or(private.is_other_bonus(row(o.*)::public.bonuses, row(n.*)::public.bonuses, v_is_repair)) as key,
        bool_or(n.amount < o.amount) as amount
    into v_broken
    from before as o left join after as n on o.id = n.id;
    if v_broken.key then
        perform private.raise_error(403, 'append_only', 'A bonus keeps its reason and its date.');
    end if;
    if v_broken.amount and nullif(pg_catalog.current_setting('app.allow_bonus_decrease', true), '') is distinct from 'on' then
        perform private.raise_error(403, 'append_only', 'A bonus only rises. A correction can lower it.');
    end if;
    return null;
end
$$;
comment on function private.bonuses_immutable() is
'Trigger: a bonus keeps its key and only increases, except within a correction or a repair, which also gives it back to whom it is due. Errors: append_only.';

create function private.bonuses_record_insert() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_decision_no bigint := private.current_decision_no();
begin
    perform pg_catalog.nextval('private.bonus_revision_seq');
    if private.is_repairing() then
        return null;
    end if;
    with sums as (
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
        returning t.user_id, t.bonus_amount - t.withdrawn_amount - s.referral - s.pairing - s.override as balance
    ), journal as (
        insert into public.transactions (id, user_id, amount, transaction_type, status, reference_id, created_at, decision_no, balance_after)
        select b.id, b.user_id, b.amount, 'bonus', 'completed', b.bonus_id, b.created_at, v_decision_no, b.balance
        from (
            -- The balance before goes first. Never joined, as in bonuses_record_update().
            select r.*, sum(r.amount) over (partition by r.user_id order by r.id nulls first rows unbounded preceding) as balance
            from (
                select private.time_ordered_id() as id, n.user_id, n.amount::numeric as amount, n.id as bonus_id, n.created_at
                from added as n where n.amount <> 0
                union all
                select null, s.user_id, s.balance, null, null from sums as s
            ) as r
        ) as b
        where b.id is not null
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
$$;
comment on function private.bonuses_record_insert() is 'Trigger: journal rows, totals, daily deltas and counters of new bonuses; a repair books its own.';

-- Sorted or hashed by the bonus, never joined: a plan is made for the first update of a connection, which is often of one
-- row, and a nested loop over the next ten thousand would be quadratic.
create function private.bonuses_record_update() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
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
$$;
comment on function private.bonuses_record_update() is
'Trigger: journal rows of the differences, totals, daily deltas and counters of changed bonuses; a repair books its own.';

create trigger _100_immutable after update on public.bonuses
referencing old table as before new table as after for each statement execute function private.bonuses_immutable();
create trigger _100_reject_change before delete or truncate on public.bonuses for each statement execute function private.reject_change();
create trigger _500_record_insert after insert on public.bonuses
referencing new table as added for each statement execute function private.bonuses_record_insert();
create trigger _500_record_update after update on public.bonuses
referencing old table as before new table as after for each statement execute function private.bonuses_record_update();

-- The rules.

create view private.pairs as
select
    l.referrer_no as owner_no,
    l.pair_no,
    l.no as left_no,
    r.no as right_no,
    l.paid_cents + r.paid_cents as volume_cents
from private.positions as l
inner join private.positions as r on l.referrer_no = r.referrer_no and l.pair_no = r.pair_no
where l.is_left and not r.is_left and l.paid_cents > 0 and r.paid_cents > 0;
comment on view private.pairs is 'Paying pairs: both members funded. A merge join of two covering indexes.';

create view private.due_referrals as
select
    c.no as subject_no,
    c.referrer_no as user_no,
    c.paid_cents as volume_cents,
    private.referral_percent() as rate,
    c.paid_cents::bigint * private.referral_percent() / 100 as cents
from private.positions as c
where c.referrer_no is not null and c.paid_cents > 0;
comment on view private.due_referrals is 'Expected referral bonuses; subject and source: the referred member.';

-- Compute both bonuses of a pair from one scan of the pairs, which is most of the work of comparing all.
create view private.due_pair_bonuses as
select
    q.owner_no,
    q.pair_no,
    q.left_no,
    q.right_no,
    q.volume_cents,
    o.referrer_no,
    k.pairing_percent,
    q.volume_cents::bigint * k.pairing_percent / 100 as pairing_cents,
    private.override_percent() as override_percent,
    q.volume_cents::bigint * private.override_percent() / 100 as override_cents
from private.pairs as q
inner join private.positions as o on q.owner_no = o.no
left join private.packages as k on o.package_cents = k.value_cents;
comment on view private.due_pair_bonuses is
'Expected bonuses of a paying pair: the owner''s (null without a package) and that of the owner''s referrer (null at the root).';

create view private.due_pairings as
select
    d.owner_no as subject_no,
    d.pair_no,
    d.owner_no as user_no,
    d.volume_cents,
    d.pairing_percent as rate,
    d.pairing_cents as cents,
    d.left_no,
    d.right_no
from private.due_pair_bonuses as d
where d.pairing_percent is not null;
comment on view private.due_pairings is 'Expected pairing bonuses; subject: the pair owner, source: the member funded later.';

create view private.due_overrides as
select
    d.owner_no as subject_no,
    d.pair_no,
    d.referrer_no as user_no,
    d.volume_cents,
    d.override_percent as rate,
    d.override_cents as cents
from private.due_pair_bonuses as d
where d.referrer_no is not null;
comment on view private.due_overrides is 'Expected override bonuses; subject and source: the pair owner.';

-- Posting.

create type private.due_bonus as (
    bonus_id uuid,
    bonus_type public.bonus_type,
    subject_no integer,
    pair_number integer,
    user_no integer,
    source_no integer,
    volume_cents bigint,
    rate integer,
    cents bigint
);
comment on type private.due_bonus is 'An expected bonus and the stored row that differs (bonus_id null: missing). cents 0: no longer due.';

-- A reconciliation plans each statement anew; without this setting it would plan once per pair.
create function private.pair_source(p_left integer, p_right integer) returns integer
language plpgsql stable parallel safe set search_path = '' set plan_cache_mode = 'force_generic_plan' as $$
begin
    return (select p.no from private.positions as p where p.no in (p_left, p_right) order by p.paid_order desc nulls last limit 1);
end
$$;
comment on function private.pair_source(integer, integer) is 'The member who completed a pair: the one funded later.';

-- One statement for stored rows and one for missing ones, each only where needed.
create function private.write_bonuses(p_due private.due_bonus[], p_at timestamptz) returns void
language plpgsql volatile set plan_cache_mode = 'force_generic_plan' set search_path = '' as $$
declare
    v_due private.due_bonus;
    v_stored boolean := false;
    v_missing boolean := false;
begin
    foreach v_due in array p_due loop
        v_stored := v_stored or (v_due).bonus_id is not null;
        v_missing := v_missing or (v_due).bonus_id is null;
        exit when v_stored and v_missing;
    end loop;
    -- New rows have the time of the decision, changes a later one: in this order the balances go on in the journal.
    if v_missing then
        insert into public.bonuses (user_id, source_user_id, bonus_type, amount, created_at, pair_number, rate, volume, subject_no)
        select u.user_id, s.user_id, d.bonus_type, d.cents * 0.01, p_at, d.pair_number, d.rate, d.volume_cents * 0.01, d.subject_no
        from pg_catalog.unnest(p_due) as d
        inner join private.positions as u on d.user_no = u.no
        inner join private.positions as s on d.source_no = s.no
        where d.bonus_id is null
        order by d.subject_no, d.bonus_type, d.pair_number;
    end if;
    if v_stored then
        update public.bonuses as b set
            amount = d.cents * 0.01,
            rate = d.rate,
            volume = d.volume_cents * 0.01,
            source_user_id = case
                when b.bonus_type = 'pairing' and b.amount = 0 and d.cents > 0 then (select s.user_id from private.positions as s where s.no = d.source_no)
                else b.source_user_id
            end
        from pg_catalog.unnest(p_due) as d
        where b.id = d.bonus_id;
    end if;
end
$$;
comment on function private.write_bonuses(private.due_bonus[], timestamptz) is
'Updates stored rows and inserts missing ones; touches no others. Lock the earners first.';

-- Discrepancies that one member's package can cause: as a referral, the referrer's referral and pairing and the
-- referrer's referrer's override; as an owner, the own pairings. Point look-ups, planned once per session.
create function private.child_bonus_discrepancies(p_no integer) returns private.due_bonus[]
language plpgsql stable set search_path = '' as $$
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
$$;
comment on function private.child_bonus_discrepancies(integer) is
'Discrepancies of the two members above that this member''s package caused.';

-- Planned once a connection, for any number of referrals: without nested loops a member with twenty thousand costs ten
-- thousand times a member with two, and not its square.
create function private.owner_bonus_discrepancies(p_no integer) returns private.due_bonus[]
language plpgsql stable set plan_cache_mode = 'force_generic_plan' set enable_nestloop = off set search_path = '' as $$
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
$$;
comment on function private.owner_bonus_discrepancies(integer) is 'Discrepancies of the member''s own pairings after a changed rate.';

create function private.post_bonuses(p_no integer, p_at timestamptz) returns void
language plpgsql volatile set search_path = '' as $$
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
$$;
comment on function private.post_bonuses(integer, timestamptz) is
'Posts the bonuses that one member''s new package causes. Call under the money lock with the three members locked.';
