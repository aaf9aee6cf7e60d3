-- The caller's pairs. Positions never move: pair n is children 2n-1 and 2n, whoever of them has paid, so a pair
-- that waits says for whom.

create function private.pair_state(
    p_left_cents integer, p_right_cents integer, p_has_right boolean, p_rate numeric
) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return case
        when not p_has_right then 'open'
        when p_left_cents = 0 or p_right_cents = 0 then 'blocked'
        when p_rate = 0 then 'no_rate'
        else 'paying'
    end;
end
$$;
comment on function private.pair_state(integer, integer, boolean, numeric) is
'open: no second child yet; blocked: a child has not funded a package; no_rate: the owner has no package; else paying. Takes funded cents.';

create function private.child_of_pair(p_place private.positions, p_profile private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.jsonb_build_object(
        'id', (p_profile).id,
        'username', (p_profile).username,
        'display_name', (p_profile).display_name,
        'package_value', private.money((p_profile).package_value),
        'funded', (p_place).paid_cents > 0
    );
end
$$;
comment on function private.child_of_pair(private.positions, private.profiles) is 'A child as the table of pairs shows it.';

create function public.get_pairings(p_after integer default null, p_limit integer default null) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.reading_member();
    v_limit integer := private.page_limit(p_limit, 50, 200);
    v_after integer := greatest(coalesce(p_after, 0), 0);
    v_place private.positions;
    v_rate numeric;
    v_pairs integer;
    v_items jsonb;
    v_volume numeric;
    v_bonus numeric;
    v_paying bigint;
begin
    select o.* into v_place from private.positions as o where o.user_id = v_member.user_id;
    v_pairs := (v_place.children + 1) / 2;
    select coalesce(max(k.pairing_percent), 0) into v_rate
    from private.packages as k where k.value = v_member.package_value;
    -- Place by place, so that no plan takes a page of a hub for all of the hub.
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'pair_number', l.pair_no,
            'left_child', private.child_of_pair(l, lp),
            'right_child', case when r.no is not null then private.child_of_pair(r, rp) end,
            'pair_volume', private.money((l.package_cents + r.package_cents) / 100.0),
            'rate', private.percent(v_rate),
            'user_bonus', private.money(coalesce(b.amount, 0)),
            'state', s.state,
            'state_text', case s.state
                when 'paying' then 'Paying'
                when 'open' then 'Waiting for a second referral'
                when 'no_rate' then 'Your rate is 0% without a package'
                else pg_catalog.format(
                    'Waiting for %s to fund a package', case when l.paid_cents = 0 then lp.username else rp.username end
                )
            end
        ) order by l.pair_no
    )
    into v_items
    from pg_catalog.generate_series(v_after + 1, v_after + v_limit) as n (pair_no)
    inner join private.positions as l on l.referrer_no = v_place.no and l.child_no = n.pair_no * 2 - 1
    inner join private.profiles as lp on l.profile_id = lp.id
    left join private.positions as r on r.referrer_no = v_place.no and r.child_no = n.pair_no * 2
    left join private.profiles as rp on r.profile_id = rp.id
    left join public.bonuses as b on b.bonus_type = 'pairing' and b.subject_no = v_place.no and b.pair_number = n.pair_no
    cross join lateral private.pair_state(l.paid_cents, r.paid_cents, r.no is not null, v_rate) as s (state);
    -- All pairs of two funded members: a merge of two index-only scans, however many there are.
    select coalesce(sum(l.paid_cents + r.paid_cents), 0) / 100.0, count(*)
    into v_volume, v_paying
    from private.positions as l
    inner join private.positions as r on l.referrer_no = r.referrer_no and l.pair_no = r.pair_no
    where
        l.referrer_no = v_place.no and l.is_left and l.paid_cents > 0 and not r.is_left and r.paid_cents > 0
        and v_rate > 0;
    select t.pairing_amount into v_bonus from private.totals as t where t.user_id = v_member.user_id;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(v_items, '[]'),
        'pairs', v_pairs,
        'next', case when v_after + v_limit < v_pairs then v_after + v_limit end,
        'totals', pg_catalog.jsonb_build_object(
            'total_volume', private.money(v_volume),
            'total_user_bonus', private.money(v_bonus),
            'paying_pairs', v_paying
        )
    );
end
$$;
comment on function public.get_pairings(integer, integer) is
'The caller''s pairs after a pair number, in order, with their state; totals of the paying ones. next is the pair number to continue after. Errors: profile_not_found, invalid_limit.';
grant execute on function public.get_pairings(integer, integer) to authenticated;
