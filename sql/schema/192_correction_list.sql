-- List pending corrections, each with why the caller may not confirm it, and the last confirmed ones. Every
-- administrator may read; confirming is confirm_correction's.

create function private.correction_error(p_correction private.corrections, p_email text, p_admin private.admin_users) returns text
language plpgsql stable set search_path = '' as $$
begin
    return case
        when private.correctable_member((p_correction).kind, (p_correction).target_id) is null
            then 'This can no longer be confirmed: what it would correct has changed.'
        when (p_admin).role not in ('super_admin', 'finance_admin')
            then pg_catalog.format('A %s cannot do this.', pg_catalog.replace((p_admin).role::text, '_', ' '))
        when private.are_one_person((p_correction).proposed_by, (p_admin).id)
            then private.two_people_text(p_correction, p_admin)
        when pg_catalog.lower(p_email) = pg_catalog.lower((p_admin).email)
            then 'You cannot decide a request of your own member account.'
        else private.change_since_proposal(p_correction)
    end;
end
$$;
comment on function private.correction_error(private.corrections, text, private.admin_users) is
'Why this administrator may not confirm a pending correction of the member with this e-mail; null when confirm_correction would allow it.';

create function private.correction_items(p_ids uuid[], p_admin private.admin_users) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', c.id,
            'kind', c.kind,
            'target_id', c.target_id,
            'profile_id', p.id,
            'user_id', p.user_id,
            'username', p.username,
            'display_name', p.display_name,
            'amount', private.money(coalesce(d.amount, w.amount)),
            'reference', coalesce(d.reference_number, w.wallet_address),
            'requested_at', coalesce(d.created_at, w.created_at),
            'value', private.money(c.value),
            'package_value', private.money(p.package_value),
            'based_on_package', private.money(c.based_on_package),
            'based_on_cash_in', private.money(c.based_on_cash_in),
            'restores', c.restores,
            'reason', c.reason,
            'proposed_by_name', coalesce(a.full_name, a.email),
            'proposed_at', c.proposed_at,
            'confirmed_by_name', coalesce(b.full_name, b.email),
            'confirmed_at', c.confirmed_at,
            'refusal', case when c.confirmed_by is null then private.correction_error(c, p.email, p_admin) end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join private.corrections as c on u.id = c.id
    inner join private.profiles as p on c.user_id = p.user_id
    inner join private.admin_users as a on c.proposed_by = a.id
    left join private.admin_users as b on c.confirmed_by = b.id
    left join public.deposits as d on c.kind = 'void_deposit' and c.target_id = d.id
    left join public.withdrawals as w on c.kind = 'void_withdrawal' and c.target_id = w.id
$$;
comment on function private.correction_items(uuid[], private.admin_users) is
'Corrections with their members and what they void, as items of this administrator''s list. package_value is the current one, based_on_package and based_on_cash_in those of the proposal. Money as text.';

create function public.list_corrections() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
begin
    return pg_catalog.jsonb_build_object(
        'waiting', coalesce(private.correction_items(array(
            select c.id from private.corrections as c
            where c.confirmed_by is null and c.discarded_by is null order by c.proposed_at, c.id limit 200
        ), v_admin), '[]'),
        'confirmed', coalesce(private.correction_items(array(
            select c.id from private.corrections as c where c.confirmed_by is not null order by c.decision_no desc limit 50
        ), v_admin), '[]')
    );
end
$$;
comment on function public.list_corrections() is
'Administrators: pending corrections, oldest first, at most 200, and the last 50 confirmed ones. `refusal` says why the caller may not confirm; null when allowed. Errors: forbidden, session_ended.';
grant execute on function public.list_corrections() to platform_admin;
