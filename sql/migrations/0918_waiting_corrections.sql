-- Who is to confirm a correction could not see it: an administrator proposed one, and nothing told the others. They
-- read here what waits, each with why the one who asks may not confirm it, and what was confirmed last. Reading is
-- for every administrator, as with deposits and withdrawals; confirming stays with confirm_correction.

create index corrections_waiting_idx on private.corrections (proposed_at, id) where confirmed_by is null;
create index corrections_confirmed_idx on private.corrections (confirmed_at desc, id desc) where confirmed_by is not null;

create function private.correctable_member(p_kind text, p_target_id uuid) returns uuid
language sql stable set search_path = '' as $$
    select d.user_id from public.deposits as d
    where p_kind = 'void_deposit' and d.id = p_target_id and d.status = 'approved' and d.voided_at is null
    union all
    select w.user_id from public.withdrawals as w
    where p_kind = 'void_withdrawal' and w.id = p_target_id and w.status = 'approved' and w.voided_at is null and w.payout_reference is null
    union all
    select p.user_id from private.profiles as p
    where p_kind = 'set_package' and p.id = p_target_id and p.closed_at is null
$$;
comment on function private.correctable_member(text, uuid) is 'Whose books a correction would touch; null when there is nothing to correct.';

create or replace function private.correction_target(p_kind text, p_target_id uuid) returns uuid
language plpgsql stable set search_path = '' as $$
declare
    v_user_id uuid := private.correctable_member(p_kind, p_target_id);
begin
    if p_kind is null or p_kind not in ('void_deposit', 'void_withdrawal', 'set_package') then
        perform private.refuse(400, 'invalid_input', 'The kind must be void_deposit, void_withdrawal or set_package.');
    end if;
    if v_user_id is null then
        perform private.refuse(
            409, 'not_correctable', case p_kind
                when 'void_deposit' then 'Only an approved deposit that still counts can be voided.'
                when 'void_withdrawal' then 'Only an approved withdrawal that was not paid can be voided.'
                else 'There is no such member.'
            end
        );
    end if;
    return v_user_id;
end
$$;

create function private.correction_refusal(p_correction private.corrections, p_email text, p_admin private.admin_users) returns text
language plpgsql stable set search_path = '' as $$
begin
    return case
        when private.correctable_member((p_correction).kind, (p_correction).target_id) is null
            then 'This can no longer be confirmed: what it would correct has changed.'
        when (p_admin).role not in ('super_admin', 'finance_admin')
            then pg_catalog.format('A %s cannot do this.', pg_catalog.replace((p_admin).role::text, '_', ' '))
        when (p_correction).proposed_by = (p_admin).id
            then 'Another administrator must confirm this.'
        when pg_catalog.lower(p_email) = pg_catalog.lower((p_admin).email)
            then 'You cannot decide a request of your own member account.'
    end;
end
$$;
comment on function private.correction_refusal(private.corrections, text, private.admin_users) is
'Why this administrator may not confirm a waiting correction of the member with this e-mail; null when confirm_correction would let them.';

create function private.correction_items(p_ids uuid[], p_admin private.admin_users) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', c.id,
            'kind', c.kind,
            'target_id', c.target_id,
            'profile_id', p.id,
            'username', p.username,
            'display_name', p.display_name,
            'amount', private.money(coalesce(d.amount, w.amount)),
            'reference', coalesce(d.reference_number, w.wallet_address),
            'requested_at', coalesce(d.created_at, w.created_at),
            'value', private.money(c.value),
            'package_value', private.money(p.package_value),
            'reason', c.reason,
            'proposed_by_name', coalesce(a.full_name, a.email),
            'proposed_at', c.proposed_at,
            'confirmed_by_name', coalesce(b.full_name, b.email),
            'confirmed_at', c.confirmed_at,
            'refusal', case when c.confirmed_by is null then private.correction_refusal(c, p.email, p_admin) end
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
'Corrections with their members and what they void, as this administrator''s list shows them. package_value is the present one. Money as text.';

create function public.list_corrections() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
begin
    return pg_catalog.jsonb_build_object(
        'waiting', coalesce(private.correction_items(array(
            select c.id from private.corrections as c where c.confirmed_by is null order by c.proposed_at, c.id limit 200
        ), v_admin), '[]'),
        'confirmed', coalesce(private.correction_items(array(
            select c.id from private.corrections as c where c.confirmed_by is not null order by c.confirmed_at desc, c.id desc limit 50
        ), v_admin), '[]')
    );
end
$$;
comment on function public.list_corrections() is
'Administrators: the corrections that wait, oldest first, at most 200, and the 50 confirmed last. refusal says why the caller may not confirm; null when they may. Errors: forbidden, session_ended.';
grant execute on function public.list_corrections() to platform_admin;
