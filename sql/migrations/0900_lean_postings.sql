-- What an approval and a repair write beside the rows themselves. A repair of fifteen thousand bonuses wrote twenty
-- index entries for each, and every posting locked places for a foreign key of a queue that only triggers fill.
-- The sums of a member change in place now: no index holds what changes with every bonus, and what the one that did
-- was for, the members who withdrew and asked for more than they kept, is a kept figure like the others beside it.
-- Takes the locks of a purchase for a moment.

-- squawk-ignore ban-drop-constraint
alter table private.network_changes drop constraint network_changes_no_fkey;
comment on column private.network_changes.no is 'Of a place: only triggers write here, from rows that have it, and places are never deleted.';

-- The three natural keys hold the same columns.
-- squawk-ignore require-concurrent-index-deletion
drop index public.bonuses_subject_idx;
create or replace function private.lapsed_around(p_no integer) returns setof private.due_bonus
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_member private.positions;
begin
    select * into v_member from private.positions as p where p.no = p_no;
    return query
    select b.id, b.bonus_type, b.subject_no, b.pair_number, null::integer, null::integer, 0::bigint, b.rate::integer, 0::bigint
    from (
        select r.* from public.bonuses as r where r.bonus_type = 'referral' and r.subject_no = p_no
        union all
        select q.* from public.bonuses as q where q.bonus_type = 'pairing' and q.subject_no = p_no
        union all
        select q.* from public.bonuses as q
        where q.bonus_type = 'pairing' and q.subject_no = v_member.referrer_no and q.pair_number = v_member.pair_no
        union all
        select o.* from public.bonuses as o
        where o.bonus_type = 'override' and o.subject_no = v_member.referrer_no and o.pair_number = v_member.pair_no
    ) as b
    left join private.due_referrals as r on b.bonus_type = 'referral' and b.subject_no = r.subject_no
    left join private.pairs as q on b.bonus_type <> 'referral' and b.subject_no = q.owner_no and b.pair_number = q.pair_no
    left join private.positions as o on b.bonus_type = 'pairing' and b.subject_no = o.no and o.package_cents > 0
    where b.amount_cents > 0
        and case b.bonus_type
            when 'referral' then r.subject_no is null
            when 'pairing' then q.owner_no is null or o.no is null
            else q.owner_no is null
        end;
end
$$;

-- squawk-ignore require-concurrent-index-deletion
drop index private.totals_shortfall_idx;
alter table private.totals set (fillfactor = 80);

create function private.shortfall_changed() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.count_up(
        'shortfall',
        greatest(new.withdrawn_amount + new.reserved_amount - new.bonus_amount, 0)
        - greatest(old.withdrawn_amount + old.reserved_amount - old.bonus_amount, 0)
    );
    return null;
end
$$;
comment on function private.shortfall_changed() is
'Counts what members withdrew and asked for beyond what they earned; only a correction can bring it about.';
create trigger _500_shortfall after update on private.totals
for each row when (
    old.bonus_amount < old.withdrawn_amount + old.reserved_amount or new.bonus_amount < new.withdrawn_amount + new.reserved_amount
)
execute function private.shortfall_changed();
insert into private.counters (name, value)
select 'shortfall', coalesce(sum(t.withdrawn_amount + t.reserved_amount - t.bonus_amount), 0)
from private.totals as t where t.bonus_amount < t.withdrawn_amount + t.reserved_amount;

create or replace function private.coverage() returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_cash_in numeric := private.counter('deposits_approved');
    v_withdrawn numeric := private.counter('withdrawals_approved');
    v_pending numeric := private.counter('reserved');
    -- Member by member: what one asked for beyond the own balance takes nothing from what others may withdraw.
    v_claims numeric := private.counter('bonuses') - v_withdrawn + private.counter('shortfall');
begin
    return pg_catalog.jsonb_build_object(
        'approved_cash_in', private.money(v_cash_in),
        'approved_withdrawals', private.money(v_withdrawn),
        'withdrawable', private.money(v_claims - v_pending),
        'pending', private.money(v_pending),
        'ratio', case when v_claims > 0 then private.percent((v_cash_in - v_withdrawn) / v_claims * 100) end
    );
end
$$;

-- The rest is fewer statements for the same rows.
create or replace function private.write_bonuses(p_due private.due_bonus[], p_at timestamptz) returns void
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
    if v_stored then
        update public.bonuses as b set amount = d.cents * 0.01, rate = d.rate, volume = d.volume_cents * 0.01
        from pg_catalog.unnest(p_due) as d
        where b.id = d.bonus_id;
    end if;
    if v_missing then
        insert into public.bonuses (user_id, source_user_id, bonus_type, amount, created_at, pair_number, rate, volume, subject_no)
        select u.user_id, s.user_id, d.bonus_type, d.cents * 0.01, p_at, d.pair_number, d.rate, d.volume_cents * 0.01, d.subject_no
        from pg_catalog.unnest(p_due) as d
        inner join private.positions as u on d.user_no = u.no
        inner join private.positions as s on d.source_no = s.no
        where d.bonus_id is null
        order by d.subject_no, d.bonus_type, d.pair_number;
    end if;
end
$$;

create or replace function private.bonuses_changed() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_now timestamptz := private.clock();
begin
    perform pg_catalog.nextval('private.postings');
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    select c.user_id, sum(c.amount), 'bonus', 'completed', c.id, v_now
    from (
        select n.id, n.user_id, n.amount from after as n
        union all
        select o.id, o.user_id, -o.amount from before as o
    ) as c
    group by c.id, c.user_id having sum(c.amount) <> 0;
    update private.totals as t set
        referral_amount = t.referral_amount + s.referral,
        pairing_amount = t.pairing_amount + s.pairing,
        override_amount = t.override_amount + s.override,
        reentry_amount = t.reentry_amount + s.reentry
    from (
        select
            c.user_id,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0) as referral,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0) as pairing,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0) as override,
            sum(c.reentry) as reentry
        from (
            select n.user_id, n.bonus_type, n.amount, n.reentry_amount as reentry from after as n
            union all
            select o.user_id, o.bonus_type, -o.amount, -o.reentry_amount from before as o
        ) as c
        group by c.user_id
    ) as s
    where t.user_id = s.user_id;
    insert into private.network_changes (no, day, referral, pairing, override, funded)
    select
        p.no,
        (v_now at time zone 'UTC')::date,
        coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0),
        coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0),
        coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0),
        0
    from (
        select n.user_id, n.bonus_type, sum(n.amount) as amount from after as n group by n.user_id, n.bonus_type
        union all
        select o.user_id, o.bonus_type, -sum(o.amount) from before as o group by o.user_id, o.bonus_type
    ) as c
    inner join private.positions as p on c.user_id = p.user_id
    group by p.no having sum(c.amount) <> 0
    union all
    -- A member is funded from the day of the referral bonus, as long as it is one.
    select c.subject_no, c.day, 0, 0, 0, sum(c.funded)
    from (
        select n.subject_no, (n.created_at at time zone 'UTC')::date as day, (n.amount > 0)::integer as funded
        from after as n where n.bonus_type = 'referral'
        union all
        select o.subject_no, (o.created_at at time zone 'UTC')::date, -(o.amount > 0)::integer
        from before as o where o.bonus_type = 'referral'
    ) as c
    group by c.subject_no, c.day having sum(c.funded) <> 0;
    insert into private.counter_deltas (name, delta)
    select 'bonuses', c.delta
    from (select (select sum(n.amount) from after as n) - (select sum(o.amount) from before as o) as delta) as c
    where c.delta <> 0;
    return null;
end
$$;

create or replace function private.profiles_funded() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_package integer := (new.package_value * 100)::integer;
    v_paid integer := case when new.package_value > 0 and new.cash_in_amount >= new.package_value then (new.package_value * 100)::integer else 0 end;
begin
    update private.positions as p set
        package_cents = v_package,
        paid_cents = v_paid,
        paid_order = case when v_paid > 0 then coalesce(p.paid_order, pg_catalog.nextval('private.paid_orders')) else p.paid_order end
    where p.user_id = new.user_id and (p.package_cents, p.paid_cents) is distinct from (v_package, v_paid);
    if new.package_value <> old.package_value then
        insert into private.counter_deltas (name, delta)
        select c.name, c.delta
        from (
            values
            ('active_profiles', (new.package_value > 0)::integer - (old.package_value > 0)::integer),
            ('package_investment', new.package_value - old.package_value)
        ) as c (name, delta)
        where c.delta <> 0;
    end if;
    return null;
end
$$;

create or replace function private.money_json(p_row jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
    return p_row || pg_catalog.jsonb_build_object('amount', private.money((p_row ->> 'amount')::numeric));
end
$$;
