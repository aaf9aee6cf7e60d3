-- The member's screens at a hub with twenty thousand children, and everybody's dashboard: nothing here reads more
-- than a page. What a plan could take for "all children" is asked as a range of places; what was added up over
-- all children comes from kept figures; what was called for every amount costs less.

-- No search_path of their own, and stable as to_char is: so they are inlined where they are used, some twenty times
-- on a screen. Called immutable, which to_char is not, each use would be parsed and planned by itself.
create or replace function private.money(p_amount numeric) returns text
language sql stable parallel safe as $$
    select pg_catalog.to_char(p_amount, 'FM9999999999999990.00')
$$;

create or replace function private.percent(p_percent numeric) returns text
language sql stable parallel safe as $$
    select pg_catalog.to_char(pg_catalog.round(p_percent, 2), 'FM9999999999999990.00')
$$;

create or replace function private.wallet_ok(p_address text) returns boolean
language plpgsql immutable set search_path = '' as $$
declare
    c_alphabet constant text := '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
    -- 34 digits to the base of 58, in four numbers of at most nine digits.
    v_part bigint;
    v_number numeric := 0;
    v_hex text := '';
    v_bytes bytea;
begin
    if p_address is null or p_address !~ '\AT[1-9A-HJ-NP-Za-km-z]{33}\Z' then
        return false;
    end if;
    for v_from in 0..3 loop
        v_part := 0;
        for i in (v_from * 9 + 1)..least(v_from * 9 + 9, 34) loop
            v_part := v_part * 58 + (pg_catalog.strpos(c_alphabet, pg_catalog.substr(p_address, i, 1)) - 1);
        end loop;
        -- 58 to the 9th, and to the 7th for the last seven digits.
        v_number := v_number * case when v_from < 3 then 7427658739644928 else 2207984167552 end + v_part;
    end loop;
    -- 25 bytes, five at a time.
    for i in 1..5 loop
        v_hex := pg_catalog.lpad(pg_catalog.to_hex(pg_catalog.mod(v_number, 1099511627776)::bigint), 10, '0') || v_hex;
        v_number := pg_catalog.div(v_number, 1099511627776);
    end loop;
    if v_number <> 0 then
        return false;
    end if;
    v_bytes := pg_catalog.decode(v_hex, 'hex');
    return pg_catalog.get_byte(v_bytes, 0) = 65
        and pg_catalog.substr(v_bytes, 22, 4)
        = pg_catalog.substr(pg_catalog.sha256(pg_catalog.sha256(pg_catalog.substr(v_bytes, 1, 21))), 1, 4);
end
$$;

create function private.direct_team(p_place private.positions) returns table (funded bigint, package_cents bigint)
language plpgsql stable set search_path = '' as $$
begin
    if (p_place).children <= 200 then
        return query
        select count(*) filter (where c.paid_cents > 0), coalesce(sum(c.package_cents), 0)
        from private.positions as c where c.referrer_no = (p_place).no;
        return;
    end if;
    return query
    select sum(a.funded), sum(a.package_cents)::bigint
    from (
        select n.direct_funded as funded, n.direct_cents as package_cents from private.networks as n where n.no = (p_place).no
        union all
        select c.funded, c.package_cents
        from private.network_changes as c inner join private.positions as o on c.no = o.no
        where o.referrer_no = (p_place).no
    ) as a;
end
$$;
comment on function private.direct_team(private.positions) is
'Funded direct referrals and the packages of all of them: added up from the places, of more than 200 from kept figures.';

create function private.paying_pairs(p_no integer, p_rows integer) returns bigint
language plpgsql stable set search_path = '' as $$
begin
    return p_rows - (
        select count(*) from public.bonuses as b where b.bonus_type = 'pairing' and b.subject_no = p_no and b.amount = 0
    );
end
$$;
comment on function private.paying_pairs(integer, integer) is
'Pairs that pay this owner: the rows of the kept sums less the few that a correction set to zero.';
create index bonuses_lapsed_idx on public.bonuses (subject_no) where bonus_type = 'pairing' and amount = 0;

create or replace function private.tree_children(p_parent integer, p_rate numeric, p_after integer, p_limit integer) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'id', c.id, 'username', c.username, 'display_name', c.display_name, 'position', c.child_no,
                'pair_number', c.pair_no, 'package_value', private.money(c.package_value), 'funded', c.paid_cents > 0,
                'direct_referrals', c.children, 'created_at', c.created_at, 'pair_state', c.state,
                'blocked_by', case when c.state = 'blocked' then case when c.left_cents = 0 then c.left_name else c.right_name end end
            ) order by c.child_no
        )
        from (
            select
                m.*,
                case
                    when m.right_cents is null then 'open'
                    when m.left_cents = 0 or m.right_cents = 0 then 'blocked'
                    when p_rate = 0 then 'no_rate'
                    else 'paying'
                end as state
            from (
                select
                    o.child_no, o.pair_no, o.paid_cents, o.children,
                    p.id, p.username, p.display_name, p.package_value, p.created_at,
                    min(o.paid_cents) filter (where o.is_left) over pair as left_cents,
                    min(o.paid_cents) filter (where not o.is_left) over pair as right_cents,
                    min(p.username) filter (where o.is_left) over pair as left_name,
                    min(p.username) filter (where not o.is_left) over pair as right_name
                -- A range of places: whole pairs, so that both children of each are here.
                from private.positions as o
                inner join private.profiles as p on o.profile_id = p.id
                where o.referrer_no = p_parent and o.child_no between p_after + 1 and p_after + p_limit
                window pair as (partition by o.pair_no)
            ) as m
        ) as c
    );
end
$$;

create or replace function public.get_pairings(p_after integer default null, p_limit integer default null) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.reading_member();
    v_limit integer := private.page_limit(p_limit, 50, 200);
    v_after integer := greatest(coalesce(p_after, 0), 0);
    v_place private.positions;
    v_totals private.totals;
    v_rate numeric;
    v_pairs integer;
begin
    select o.* into v_place from private.positions as o where o.user_id = v_member.user_id;
    select t.* into v_totals from private.totals as t where t.user_id = v_member.user_id;
    v_pairs := (v_place.children + 1) / 2;
    select coalesce(max(k.pairing_percent), 0) into v_rate
    from private.packages as k where k.value = v_member.package_value;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(private.pair_items(v_place.no, v_rate, v_after, v_limit), '[]'),
        'pairs', v_pairs,
        'next', case when v_after + v_limit < v_pairs then v_after + v_limit end,
        'totals', pg_catalog.jsonb_build_object(
            -- Every paying pair earns the owner's present rate, to the cent: what they earned says what they hold.
            'total_volume', private.money(case when v_rate > 0 then v_totals.pairing_amount * 100 / v_rate else 0 end),
            'total_user_bonus', private.money(v_totals.pairing_amount),
            'paying_pairs', case when v_rate > 0 then private.paying_pairs(v_place.no, v_totals.pairing_count) else 0 end
        )
    );
end
$$;

create function private.pair_items(p_no integer, p_rate numeric, p_after integer, p_limit integer) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'pair_number', q.pair_no,
                'left_child', q.left_child,
                'right_child', q.right_child,
                'pair_volume', private.money((q.left_package + q.right_package) / 100.0),
                'rate', private.percent(p_rate),
                'user_bonus', private.money(coalesce((
                    select b.amount from public.bonuses as b
                    where b.bonus_type = 'pairing' and b.subject_no = p_no and b.pair_number = q.pair_no
                ), 0)),
                'state', private.pair_state(q.left_cents, q.right_cents, q.right_child is not null, p_rate),
                'state_text', case private.pair_state(q.left_cents, q.right_cents, q.right_child is not null, p_rate)
                    when 'paying' then 'Paying'
                    when 'open' then 'Waiting for a second referral'
                    when 'no_rate' then 'Your rate is 0% without a package'
                    else pg_catalog.format(
                        'Waiting for %s to fund a package', case when q.left_cents = 0 then q.left_child else q.right_child end ->> 'username'
                    )
                end
            ) order by q.pair_no
        )
        from (
            select
                o.pair_no,
                min(o.paid_cents) filter (where o.is_left) as left_cents,
                min(o.paid_cents) filter (where not o.is_left) as right_cents,
                min(o.package_cents) filter (where o.is_left) as left_package,
                min(o.package_cents) filter (where not o.is_left) as right_package,
                (pg_catalog.jsonb_agg(private.child_of_pair(o, p)) filter (where o.is_left)) -> 0 as left_child,
                (pg_catalog.jsonb_agg(private.child_of_pair(o, p)) filter (where not o.is_left)) -> 0 as right_child
            -- A range of places, two for each pair.
            from private.positions as o
            inner join private.profiles as p on o.profile_id = p.id
            where o.referrer_no = p_no and o.child_no between p_after * 2 + 1 and (p_after + p_limit) * 2
            group by o.pair_no
        ) as q
    );
end
$$;
comment on function private.pair_items(integer, numeric, integer, integer) is 'Pairs of one owner after a pair number, in order, with what each waits for.';

create or replace function public.get_member_dashboard() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_screen jsonb;
begin
    -- One statement without a variable: it is planned once a connection.
    select pg_catalog.jsonb_build_object(
        'as_of', pg_catalog.now(),
        'profile', pg_catalog.jsonb_build_object(
            'id', p.id,
            'user_id', p.user_id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'trc20_wallet_address', p.trc20_wallet_address,
            'wallet_checksum_ok', case when p.trc20_wallet_address is not null then private.wallet_ok(p.trc20_wallet_address) end,
            'account_status', p.account_status,
            'account_verified', p.account_verified,
            'package_value', private.money(p.package_value),
            'package_label', k.label,
            'package_rate', private.percent(coalesce(k.pairing_percent, 0)),
            'cash_in_amount', private.money(p.cash_in_amount),
            'created_at', p.created_at,
            'sponsor', case when s.id is not null then
                pg_catalog.jsonb_build_object('id', s.id, 'username', s.username, 'display_name', s.display_name)
            end
        ),
        'verification', private.verification_result(p),
        'balance', private.balance_figures(t, p),
        'bonuses', pg_catalog.jsonb_build_object(
            'referral', private.bonus_figures(t.referral_amount, t.referral_count),
            'pairing', private.bonus_figures(t.pairing_amount, t.pairing_count),
            'override', private.bonus_figures(t.override_amount, t.override_count),
            'total', private.money(t.bonus_amount),
            'reentry', private.money(t.reentry_amount)
        ),
        'roi', private.percent(private.roi(t.bonus_amount, p.package_value)),
        'net_profit', private.money(t.bonus_amount - p.package_value),
        'team', pg_catalog.jsonb_build_object(
            'direct_referrals', o.children,
            'funded_referrals', c.funded,
            'active_pairs', o.children / 2,
            'paying_pairs', private.paying_pairs(o.no, t.pairing_count),
            'package_rate', private.percent(coalesce(k.pairing_percent, 0)),
            'total_team_volume', private.money(c.package_cents / 100.0)
        ),
        'latest', (
            select coalesce(pg_catalog.jsonb_agg(h.item order by h.created_at desc, h.id desc), '[]')
            from private.history(
                p.user_id, null, null, '-infinity', 'infinity', 'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 5
            ) as h
        ),
        'unread_notifications', (
            select count(*) from public.notifications as n where n.user_id = p.user_id and n.read_at is null
        ),
        'last_sync_at', (select r.ran_at from private.reconcile_state as r)
    )
    into v_screen
    from private.profiles as p
    left join private.totals as t on p.user_id = t.user_id
    left join private.positions as o on p.user_id = o.user_id
    left join private.packages as k on p.package_value = k.value
    left join private.profiles as s on p.referrer_id = s.id
    cross join lateral private.direct_team(o) as c
    where p.user_id = auth.uid();
    if v_screen is null then
        perform private.refuse(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    return v_screen;
end
$$;
