-- Who earns what, and why: three rules over the tree, read aloud by three views, written by one function.
--   referral   5% of each funded child's package, to its referrer;
--   pairing    of each pair of funded children, the owner's tier rate of both packages together;
--   override   1% of the same volume, to the owner's referrer.
-- Children are paired by their number: 1 with 2, 3 with 4. An unfunded child earns nobody anything and blocks its
-- pair. The earner of a pairing needs a package (its rate), the earners of the others need none. Everything is
-- computed in whole cents; packages are whole multiples of $50, so nothing is ever rounded.

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
comment on view private.pairs is 'Paying pairs: both children funded. A merge join of two covering indexes.';

create view private.due_referrals as
select
    c.no as subject_no,
    c.referrer_no as user_no,
    c.paid_cents as volume_cents,
    private.referral_percent() as rate,
    c.paid_cents::bigint * private.referral_percent() / 100 as cents
from private.positions as c
where c.referrer_no is not null and c.paid_cents > 0;
comment on view private.due_referrals is 'Referral bonuses as they should be; subject and source: the child.';

create view private.due_pairings as
select
    q.owner_no as subject_no,
    q.pair_no,
    q.owner_no as user_no,
    q.volume_cents,
    k.pairing_percent as rate,
    q.volume_cents::bigint * k.pairing_percent / 100 as cents,
    q.left_no,
    q.right_no
from private.pairs as q
inner join private.positions as o on q.owner_no = o.no
inner join private.packages as k on o.package_cents = k.value_cents;
comment on view private.due_pairings is 'Pairing bonuses as they should be; subject: the owner, source: the child that was funded later.';

create view private.due_overrides as
select
    q.owner_no as subject_no,
    q.pair_no,
    o.referrer_no as user_no,
    q.volume_cents,
    private.override_percent() as rate,
    q.volume_cents::bigint * private.override_percent() / 100 as cents
from private.pairs as q
inner join private.positions as o on q.owner_no = o.no
where o.referrer_no is not null;
comment on view private.due_overrides is 'Override bonuses as they should be; subject and source: the pair''s owner.';

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
comment on type private.due_bonus is 'One bonus as it should be, and the stored row that is not so; without one it is missing. cents 0: no longer due.';

create function private.pair_source(p_left integer, p_right integer) returns integer
language plpgsql stable set search_path = '' as $$
begin
    return (select p.no from private.positions as p where p.no in (p_left, p_right) order by p.paid_order desc nulls last limit 1);
end
$$;
comment on function private.pair_source(integer, integer) is 'The child that completed a pair: the one that was funded later.';

create function private.write_bonuses(p_due private.due_bonus[], p_at timestamptz) returns void
language plpgsql volatile set search_path = '' as $$
begin
    if exists (select 1 from pg_catalog.unnest(p_due) as d where d.bonus_id is not null) then
        update public.bonuses as b set amount = d.cents * 0.01, rate = d.rate, volume = d.volume_cents * 0.01
        from pg_catalog.unnest(p_due) as d
        where b.id = d.bonus_id;
    end if;
    if exists (select 1 from pg_catalog.unnest(p_due) as d where d.bonus_id is null) then
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
comment on function private.write_bonuses(private.due_bonus[], timestamptz) is
'Raises or lowers the stored rows, inserts the missing ones; touches no other row. The earners must be locked.';

-- What one member's package can change, and nothing else: as a child, the referrer's referral and pairing and the
-- grand-referrer's override; as an owner, the member's own pairings. Point look-ups, planned once a session.
create function private.wrong_of_child(p_no integer) returns setof private.due_bonus
language plpgsql stable set search_path = '' as $$
declare
    v_member private.positions;
begin
    select * into v_member from private.positions as p where p.no = p_no;
    return query
    select b.id, 'referral'::public.bonus_type, d.subject_no, null::integer, d.user_no, d.subject_no, d.volume_cents::bigint, d.rate, d.cents
    from private.due_referrals as d
    left join public.bonuses as b on b.bonus_type = 'referral' and d.subject_no = b.subject_no
    where d.subject_no = p_no and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer)
    union all
    select
        b.id, 'pairing'::public.bonus_type, d.subject_no, d.pair_no, d.user_no,
        private.pair_source(d.left_no, d.right_no), d.volume_cents::bigint, d.rate, d.cents
    from private.due_pairings as d
    left join public.bonuses as b on b.bonus_type = 'pairing' and d.subject_no = b.subject_no and d.pair_no = b.pair_number
    where d.subject_no = v_member.referrer_no and d.pair_no = v_member.pair_no
        and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer)
    union all
    select b.id, 'override'::public.bonus_type, d.subject_no, d.pair_no, d.user_no, d.subject_no, d.volume_cents::bigint, d.rate, d.cents
    from private.due_overrides as d
    left join public.bonuses as b on b.bonus_type = 'override' and d.subject_no = b.subject_no and d.pair_no = b.pair_number
    where d.subject_no = v_member.referrer_no and d.pair_no = v_member.pair_no
        and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer);
end
$$;
comment on function private.wrong_of_child(integer) is 'Bonuses of the two members above that this member''s package has changed.';

-- The plan must know how many children this owner has: a cached one is quadratic for a hub.
create function private.wrong_of_owner(p_no integer) returns setof private.due_bonus
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    select
        b.id, 'pairing'::public.bonus_type, d.subject_no, d.pair_no, d.user_no,
        private.pair_source(d.left_no, d.right_no), d.volume_cents::bigint, d.rate, d.cents
    from private.due_pairings as d
    left join public.bonuses as b on b.bonus_type = 'pairing' and d.subject_no = b.subject_no and d.pair_no = b.pair_number
    where d.subject_no = p_no and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer);
end
$$;
comment on function private.wrong_of_owner(integer) is 'The member''s own pairings that the member''s tier has changed.';

create function private.lapsed_around(p_no integer) returns setof private.due_bonus
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_member private.positions;
begin
    select * into v_member from private.positions as p where p.no = p_no;
    return query
    select b.id, b.bonus_type, b.subject_no, b.pair_number, null::integer, null::integer, 0::bigint, b.rate::integer, 0::bigint
    from public.bonuses as b
    left join private.due_referrals as r on b.bonus_type = 'referral' and b.subject_no = r.subject_no
    left join private.pairs as q on b.bonus_type <> 'referral' and b.subject_no = q.owner_no and b.pair_number = q.pair_no
    left join private.positions as o on b.bonus_type = 'pairing' and b.subject_no = o.no and o.package_cents > 0
    where b.amount_cents > 0
        and (
            (b.subject_no = p_no and b.bonus_type in ('referral', 'pairing'))
            or (b.subject_no = v_member.referrer_no and b.pair_number = v_member.pair_no)
        )
        and case b.bonus_type
            when 'referral' then r.subject_no is null
            when 'pairing' then q.owner_no is null or o.no is null
            else q.owner_no is null
        end;
end
$$;
comment on function private.lapsed_around(integer) is 'Stored bonuses around one member that are no longer due. Only a correction can cause them.';

create function private.post_bonuses(p_no integer, p_at timestamptz) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_wrong private.due_bonus[] := array(select w from private.wrong_of_child(p_no) as w);
begin
    perform pg_catalog.nextval('private.postings');
    if (select p.children from private.positions as p where p.no = p_no) > 1 then
        v_wrong := v_wrong || array(select w from private.wrong_of_owner(p_no) as w);
    end if;
    if pg_catalog.cardinality(v_wrong) > 0 then
        perform private.write_bonuses(v_wrong, p_at);
    end if;
end
$$;
comment on function private.post_bonuses(integer, timestamptz) is
'Posts what one member''s new package earns others and the member. Called under the money lock with the three members locked.';
