-- Members as administrators see them: the list with its four cards, and one member with the figures of the
-- details sheet. Administrators of every role read; what may be changed is decided where it is changed.

create index profiles_unverified_idx on private.profiles (created_at, id) where not account_verified;
create index profiles_blocked_idx on private.profiles (account_status, created_at, id) where account_status <> 'active';
create index profiles_package_value_idx on private.profiles (package_value, created_at, id);

insert into private.counters (name, value)
select 'verified_profiles', count(*) from private.profiles as p where p.account_verified;

create function private.verified_counted() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.count_up('verified_profiles', case when new.account_verified then 1 else -1 end);
    return null;
end
$$;
comment on function private.verified_counted() is 'Counts members whose account is complete.';
create trigger _500_verified after update on private.profiles
for each row when (old.account_verified is distinct from new.account_verified) execute function private.verified_counted();

create function private.member_item(p_member private.profiles) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'id', (p_member).id,
        'user_id', (p_member).user_id,
        'username', (p_member).username,
        'display_name', (p_member).display_name,
        'email', (p_member).email,
        'referrer_id', (p_member).referrer_id,
        'trc20_wallet_address', (p_member).trc20_wallet_address,
        'package_value', private.money((p_member).package_value),
        'package_approved', (p_member).package_approved,
        'cash_in_amount', private.money((p_member).cash_in_amount),
        'available_balance', private.money(t.available_balance),
        'account_status', (p_member).account_status,
        'account_verified', (p_member).account_verified,
        'admin_notes', (p_member).admin_notes,
        'hold_until', case when (p_member).hold_until > pg_catalog.now() then (p_member).hold_until end,
        'created_at', (p_member).created_at
    )
    from private.totals as t where t.user_id = (p_member).user_id
$$;
comment on function private.member_item(private.profiles) is 'A member as the administrators'' list shows it. Money as text.';

create function private.member_conditions(p_filters jsonb, p_status text) returns text
language plpgsql immutable set search_path = '' as $$
declare
    v_package text := nullif(nullif(p_filters ->> 'package', ''), 'all');
    v_verified text := nullif(nullif(p_filters ->> 'verified', ''), 'all');
begin
    if p_status not in ('active', 'pending', 'suspended', 'disabled') or v_package !~ '\A[0-9]{1,8}(\.[0-9]{1,2})?\Z'
        or v_verified not in ('true', 'false') then
        perform private.refuse(400, 'invalid_filter', 'There is no such filter.');
    end if;
    return pg_catalog.concat(
        ' where true',
        ' and r.account_status = ' || pg_catalog.quote_literal(p_status) || '::public.account_status',
        ' and r.package_value = ' || pg_catalog.quote_literal(v_package) || '::numeric',
        case v_verified when 'true' then ' and r.account_verified' when 'false' then ' and not r.account_verified' end
    );
end
$$;
comment on function private.member_conditions(jsonb, text) is
'The where clause of the list''s filters package, status and verified. Errors: invalid_filter.';

create function public.list_members(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.read_filters(p_filters, array['created_at', 'username', 'package_value']);
    v_where text := private.member_conditions(p_filters, v_request.status);
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
        ('package_value', 'r.package_value, r.created_at, r.id', 'r.package_value desc, r.created_at desc, r.id desc')
    ) as o (name, up, down)
    where o.name = v_request.sort_by;
    if v_request.descending then
        select v_reversed, v_order into v_order, v_reversed;
    end if;
    if v_request.pattern is null then
        v_page := private.counted_members(v_where, v_order, v_reversed, v_request);
    else
        v_matches := 'from private.profiles as r' || v_where || ' and private.searchable(r.username, r.display_name, r.email) like $1';
        v_page := private.found_page('private.profiles', v_matches, v_matches, v_order, v_reversed, v_request);
    end if;
    select pg_catalog.jsonb_agg(private.member_item(p) order by u.place) into v_items
    from pg_catalog.unnest(v_page.ids) with ordinality as u (id, place)
    inner join private.profiles as p on u.id = p.id;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(v_items, '[]'),
        'total', v_page.total,
        'cards', pg_catalog.jsonb_build_object(
            'total_users', private.counter('profiles')::bigint,
            'active_users', private.counter('active_profiles')::bigint,
            'verified_users', private.counter('verified_profiles')::bigint,
            'total_investment', private.money(private.counter('package_investment'))
        )
    ) || case when v_page.more then '{"more": true}' else '{}' end::jsonb;
end
$$;
comment on function public.list_members(jsonb) is
'Administrators: members, newest first, 25 a page. Filters: page, pageSize, search (username, name, e-mail), status, package, verified (true, false), sort (created_at, username, package_value). Errors: forbidden, session_ended, invalid_filter.';
grant execute on function public.list_members(jsonb) to platform_admin;

create function private.counted_members(
    p_where text, p_order text, p_reversed text, p_request private.list_request,
    out ids uuid[], out total bigint, out more boolean
)
language plpgsql stable set search_path = '' as $$
begin
    if p_where = ' where true' then
        total := private.counter('profiles')::bigint;
    else
        execute 'select count(*) from private.profiles as r' || p_where into total;
    end if;
    ids := private.page_of('from private.profiles as r' || p_where, p_order, p_reversed, p_request, total);
    more := false;
end
$$;
comment on function private.counted_members(text, text, text, private.list_request) is
'One page of members without a search, with the exact total. p_where comes from private.member_conditions().';

create function public.get_member(p_profile_id uuid) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles;
    v_totals private.totals;
    v_children integer;
    v_sponsor jsonb;
begin
    perform private.require_admin();
    select p.* into v_member from private.profiles as p where p.id = p_profile_id;
    if v_member.id is null then
        perform private.refuse(404, 'not_found', 'There is no such member.');
    end if;
    select t.* into v_totals from private.totals as t where t.user_id = v_member.user_id;
    select o.children into v_children from private.positions as o where o.profile_id = v_member.id;
    select pg_catalog.jsonb_build_object('id', s.id, 'username', s.username, 'display_name', s.display_name)
    into v_sponsor
    from private.profiles as s where s.id = v_member.referrer_id;
    return private.member_item(v_member) || pg_catalog.jsonb_build_object(
        'sponsor', v_sponsor,
        'wallet_checksum_ok', case
            when v_member.trc20_wallet_address is not null then private.wallet_ok(v_member.trc20_wallet_address)
        end,
        'statistics', pg_catalog.jsonb_build_object(
            'total_bonuses', private.money(v_totals.bonus_amount),
            'total_deposits', private.money(v_member.cash_in_amount),
            'total_withdrawals', private.money(v_totals.withdrawn_amount),
            'direct_referrals', v_children,
            'net_balance', private.money(v_member.cash_in_amount - v_totals.withdrawn_amount + v_totals.bonus_amount)
        )
    );
end
$$;
comment on function public.get_member(uuid) is
'Administrators: one member with statistics; net balance = deposits - withdrawals + bonuses, approved ones that count. Errors: forbidden, session_ended, not_found.';
grant execute on function public.get_member(uuid) to platform_admin;
