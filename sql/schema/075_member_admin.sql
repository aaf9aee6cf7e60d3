-- Members in the admin panel: the list with its four cards, and one member with statistics. Every role reads; only
-- notes and account status can be changed, never money, package or position. Suspending and disabling end all
-- sessions first, because rows of schema auth are locked before the member's row.
-- Rights by role: specification S12.4 and S14.2.

create function private.member_item(p_member private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
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
    );
end
$$;
comment on function private.member_item(private.profiles) is 'A member as an item of the admin list. Money as text.';

-- Members by package are found by their positions: what an approval changes stands in no index of private.profiles.
create function private.package_condition(p_package text) returns text
language plpgsql immutable strict set search_path = '' as $$
begin
    return pg_catalog.format(' and r.user_id in (select o.user_id from private.positions as o where o.package_cents = %s)', (p_package::numeric * 100)::bigint);
end
$$;
comment on function private.package_condition(text) is 'The condition that a member has this package (USD); null without one.';

create function private.member_conditions(p_package text, p_verified text, p_status text) returns text
language plpgsql immutable set search_path = '' as $$
begin
    if p_status not in ('active', 'pending', 'suspended', 'disabled') or p_package !~ '\A[0-9]{1,8}(\.[0-9]{1,2})?\Z'
        or p_verified not in ('true', 'false') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such filter.');
    end if;
    return pg_catalog.concat(
        ' where true',
        ' and r.account_status = ' || pg_catalog.quote_literal(p_status) || '::public.account_status',
        private.package_condition(p_package),
        case p_verified when 'true' then ' and r.account_verified' when 'false' then ' and not r.account_verified' end
    );
end
$$;
comment on function private.member_conditions(text, text, text) is
'The where clause of the filters package, verified and status. Errors: invalid_filter.';

create function public.list_members(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(
        p_filters, array['created_at', 'username', 'package_value'], array['package', 'verified']
    );
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
$$;
comment on function public.list_members(jsonb) is
'Administrators: members, newest first, 25 a page. Filters: page, pageSize, search (username, name, e-mail), status, package, verified (true, false), sort (created_at, username, package_value). Errors: forbidden, session_ended, invalid_filter, unknown_field.';
grant execute on function public.list_members(jsonb) to platform_admin;

-- A page far down is counted along one index: a position has all that is asked, and no member is read for it.
create function private.member_ids_by_package(p_package text, p_request private.list_request, p_total bigint) returns uuid[]
language plpgsql stable set search_path = '' as $$
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
$$;
comment on function private.member_ids_by_package(text, private.list_request, bigint) is
'One page of the members with a package (USD; null: of all), by package or in the order of joining.';

-- Two filters match nearly all members: active, and verified. Their totals come from counters, or are all members
-- minus the few in a partial index.
create function private.member_page(
    p_source text, p_where text, p_package text, p_order text, p_reversed text, p_request private.list_request,
    out ids uuid[], out total bigint, out more boolean
)
language plpgsql stable set search_path = '' as $$
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
$$;
comment on function private.member_page(text, text, text, text, text, private.list_request) is
'One page of members without a search, with the exact total. p_source and p_where are composed by list_members, p_where of private.member_conditions().';

create function public.get_member(p_profile_id uuid) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles;
    v_totals private.totals;
    v_children integer;
    v_referrer jsonb;
begin
    perform private.require_admin();
    select p.* into v_member from private.profiles as p where p.id = p_profile_id;
    if v_member.id is null then
        perform private.raise_error(404, 'not_found', 'There is no such member.');
    end if;
    select t.* into v_totals from private.totals as t where t.user_id = v_member.user_id;
    select o.children into v_children from private.positions as o where o.user_id = v_member.user_id;
    select pg_catalog.jsonb_build_object('id', s.id, 'username', s.username, 'display_name', s.display_name)
    into v_referrer
    from private.profiles as s where s.id = v_member.referrer_id;
    return private.member_item(v_member) || pg_catalog.jsonb_build_object(
        'sponsor', v_referrer,
        'wallet_checksum_ok', case
            when v_member.trc20_wallet_address is not null then private.is_trc20_address(v_member.trc20_wallet_address)
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

create function private.require_status_change(
    p_role public.admin_role, p_from public.account_status, p_to public.account_status
) returns void
language plpgsql immutable set search_path = '' as $$
begin
    if p_role = 'super_admin' then
        return;
    end if;
    if 'disabled' in (p_from, p_to) then
        perform private.raise_error(403, 'forbidden', 'Only a super admin can disable an account or lift a disable.');
    end if;
    if p_to not in ('active', 'suspended') then
        perform private.raise_error(403, 'forbidden', 'Only a super admin can set this status.');
    end if;
end
$$;
comment on function private.require_status_change(public.admin_role, public.account_status, public.account_status) is
'Every role may suspend and reactivate; only a super_admin may disable and re-enable. Errors: forbidden.';

create function public.update_member(p_profile_id uuid, p_account_status text, p_admin_notes text, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_user uuid := (select p.user_id from private.profiles as p where p.id = p_profile_id);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_before private.profiles;
    v_after private.profiles;
begin
    perform private.require_totp(v_admin);
    if v_user is null then
        perform private.raise_error(404, 'not_found', 'There is no such member.');
    end if;
    if p_account_status is not null and p_account_status not in ('active', 'pending', 'suspended', 'disabled') then
        perform private.raise_error(400, 'invalid_input', 'There is no such account status.');
    end if;
    if p_account_status in ('suspended', 'disabled') then
        perform private.end_sessions(v_user);
    end if;
    v_before := private.lock_member(v_user);
    if v_before.closed_at is not null then
        perform private.raise_error(409, 'account_closed', 'This account is closed.');
    end if;
    if p_account_status is distinct from v_before.account_status::text and p_account_status is not null then
        perform private.require_status_change(v_admin.role, v_before.account_status, p_account_status::public.account_status);
        if v_reason is null then
            perform private.raise_error(400, 'reason_required', 'Give a reason.');
        end if;
    end if;
    update private.profiles as p set
        account_status = coalesce(p_account_status::public.account_status, p.account_status),
        admin_notes = case when p_admin_notes is null then p.admin_notes else nullif(pg_catalog.btrim(p_admin_notes), '') end
    where p.id = p_profile_id
    returning p.* into v_after;
    if v_after.account_status is distinct from v_before.account_status then
        perform private.notify_member(
            v_user, 'account_' || v_after.account_status, pg_catalog.format('Your account is %s', v_after.account_status), v_reason, null, '/dashboard'
        );
    end if;
    perform private.audit(
        'admin:' || v_admin.id, 'member.updated', 'profile', p_profile_id,
        pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
            'status_before', nullif(v_before.account_status::text, v_after.account_status::text),
            'status_after', nullif(v_after.account_status::text, v_before.account_status::text),
            'notes_changed', nullif(v_after.admin_notes is distinct from v_before.admin_notes, false),
            'reason', v_reason
        )) || case
            when v_after.account_status <> v_before.account_status then private.member_entry(p_profile_id, array['status']) else '{}'
        end
    );
    return pg_catalog.jsonb_build_object(
        'success', true,
        'profile', pg_catalog.to_jsonb(v_after) - array['depth', 'jump', 'package_size', 'revision'] || pg_catalog.jsonb_build_object(
            'package_value', private.money(v_after.package_value), 'cash_in_amount', private.money(v_after.cash_in_amount)
        )
    );
end
$$;
comment on function public.update_member(uuid, text, text, text) is
'Updates notes and account status of a member. A changed status needs a reason, is notified to the member, and ends all sessions when it blocks. Errors: forbidden, two_step_required, not_found, invalid_input, account_closed, reason_required.';
grant execute on function public.update_member(uuid, text, text, text) to platform_admin;

-- The way back after somebody wrote past the product. The audit log has no email, only its digest: the address is taken
-- from the account to sign in with, where that is still the right one.
create function public.restore_member(p_profile_id uuid, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_member private.profiles;
    v_state jsonb;
    v_email text;
begin
    if v_reason is null or pg_catalog.length(v_reason) > 1000 then
        perform private.raise_error(400, 'invalid_reason', 'Give a reason of at most 1,000 characters.');
    end if;
    perform private.require_fresh_admin_proof('restore what the audit log says of a member');
    v_member := private.lock_member((select p.user_id from private.profiles as p where p.id = p_profile_id));
    v_state := private.last_state(p_profile_id);
    if v_member.id is null or v_state is null then
        perform private.raise_error(404, 'not_found', 'The audit log says nothing of such a member.');
    end if;
    select e.email into v_email
    from (
        select v_member.email
        union all
        select pg_catalog.lower(u.email) from auth.users as u where u.id = v_member.user_id
    ) as e
    where private.digest_text(v_member.id || ' ' || e.email) is not distinct from v_state ->> 'email'
    limit 1;
    if v_email is null and v_state ->> 'email' is not null then
        perform private.raise_error(
            409, 'email_unknown', 'Neither the profile nor the account to sign in with has the email that the audit log says. Ask the member which one it was and change the account''s email to it first.'
        );
    end if;
    if exists (
        select from auth.users as u
        where u.id = v_member.user_id and v_state ->> 'closed_at' is null and pg_catalog.lower(u.email) is distinct from v_email
    ) then
        perform private.raise_error(
            409, 'email_unknown', 'The account to sign in with has another email than the audit log says. Ask the member which one is right and change the account''s email to it first.'
        );
    end if;
    update private.profiles as p set
        trc20_wallet_address = v_state ->> 'wallet',
        email = v_email,
        account_status = (v_state ->> 'status')::public.account_status,
        hold_until = (v_state ->> 'hold_until')::timestamptz,
        hold_reason = case when v_state ->> 'hold_until' is not null then coalesce(p.hold_reason, 'wallet') end,
        closed_at = (v_state ->> 'closed_at')::timestamptz,
        -- The count itself may differ, too.
        revision = greatest(p.revision, (v_state ->> 'revision')::bigint) + 1
    where p.id = p_profile_id;
    perform private.audit(
        'admin:' || v_admin.id, 'member.restored', 'profile', p_profile_id,
        pg_catalog.jsonb_build_object('reason', v_reason)
        || private.member_entry(p_profile_id, array['wallet', 'email', 'status', 'hold_until', 'closed_at'])
    );
    return '{"success": true}'::jsonb || private.audit_entries();
end
$$;
comment on function public.restore_member(uuid, text) is
'Super admin, after somebody wrote past the product: sets a member''s wallet, email, status and hold to what the audit log says, and audits it. Errors: forbidden, two_step_required, invalid_reason, reauthentication_needed, not_found, email_unknown, try_again.';
grant execute on function public.restore_member(uuid, text) to platform_admin;
