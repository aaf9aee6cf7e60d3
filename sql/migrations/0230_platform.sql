-- What anybody may know of the installation, and the figures an administrator's dashboard opens with.

create function private.document(p_name text) returns jsonb
language sql stable set search_path = '' as $$
    select case when private.setting_text(p_name || '.text') is not null then
        pg_catalog.jsonb_build_object(
            'text', private.setting(p_name || '.text'),
            'version', private.setting(p_name || '.version'),
            'published_at', private.setting(p_name || '.published_at')
        )
    end
$$;
comment on function private.document(text) is 'Terms or risk notice as JSON; null while unset.';

create function public.get_platform() returns jsonb
language sql stable security definer set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'product_name', private.setting('product.name'),
        'demo', private.is_demo(),
        'support', pg_catalog.jsonb_build_object(
            'name', private.setting('support.name'), 'email', private.setting('support.email'), 'url', private.setting('support.url')
        ),
        'operator', pg_catalog.jsonb_build_object('name', private.setting('operator.name'), 'address', private.setting('operator.address')),
        'packages', (
            select pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object(
                    'value', private.money(k.value), 'label', k.label, 'rate', k.pairing_percent::text
                ) order by k.value
            ) from private.packages as k
        ),
        'rates', pg_catalog.jsonb_build_object(
            'referral', private.referral_percent()::text,
            'override', private.override_percent()::text,
            'reentry', private.reentry_percent()::text
        ),
        'limits', pg_catalog.jsonb_build_object(
            'min_withdrawal', private.money(100), 'min_deposit', private.money(1), 'max_amount', private.money(10000000),
            'receipt_max_bytes', (select b.file_size_limit from storage.buckets as b where b.id = 'receipts')
        ),
        'review_due_hours', private.setting('review.due_hours'),
        'terms', private.document('terms'),
        'risk', private.document('risk')
    )
$$;
comment on function public.get_platform() is 'Name, support, operator, packages, rates, limits, terms and risk notice, and whether this is a demo. Open to everybody.';
grant execute on function public.get_platform() to anon, authenticated, platform_admin;

create function public.get_admin_dashboard_stats()
returns table (
    total_users bigint, active_users bigint, inactive_users bigint, pending_deposits bigint, pending_withdrawals bigint,
    total_package_investment numeric, total_deposits numeric, total_withdrawals numeric, total_bonuses_paid numeric
)
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin();
    return query
    select
        max(c.value) filter (where c.name = 'profiles')::bigint,
        max(c.value) filter (where c.name = 'active_profiles')::bigint,
        (max(c.value) filter (where c.name = 'profiles') - max(c.value) filter (where c.name = 'active_profiles'))::bigint,
        max(c.value) filter (where c.name = 'pending_deposits')::bigint,
        max(c.value) filter (where c.name = 'pending_withdrawals')::bigint,
        max(c.value) filter (where c.name = 'package_investment'),
        max(c.value) filter (where c.name = 'deposits_approved'),
        max(c.value) filter (where c.name = 'withdrawals_approved'),
        max(c.value) filter (where c.name = 'bonuses')
    from private.counted() as c;
end
$$;
comment on function public.get_admin_dashboard_stats() is 'Administrators: one row of totals, from kept figures. Errors: forbidden, session_ended.';
grant execute on function public.get_admin_dashboard_stats() to platform_admin;
