-- A decision writes a notification: one index fewer in a random place.
SET local check_function_bodies = off;

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."notifications_unread_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."notifications_user_idx";

CREATE OR REPLACE FUNCTION private.unread_notifications (
  p_user_id uuid
)
  RETURNS bigint
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select count(*)
    from (
        select n.read_at from public.notifications as n
        where n.user_id = p_user_id
        order by n.created_at desc, n.id desc
        limit 1000
    ) as m
    where m.read_at is null
$function$;

CREATE OR REPLACE FUNCTION public.get_member_dashboard()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_screen jsonb;
begin
    -- One statement without variables: planned once per connection.
    select pg_catalog.jsonb_build_object(
        'as_of', pg_catalog.now(),
        'profile', pg_catalog.jsonb_build_object(
            'id', p.id,
            'user_id', p.user_id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'trc20_wallet_address', p.trc20_wallet_address,
            'wallet_checksum_ok', case when p.trc20_wallet_address is not null then private.is_trc20_address(p.trc20_wallet_address) end,
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
        'roi', private.percent(private.return_on_investment(t.bonus_amount, p.package_value)),
        'net_profit', private.money(t.bonus_amount - p.package_value),
        'team', pg_catalog.jsonb_build_object(
            'direct_referrals', o.children,
            'funded_referrals', c.funded,
            'active_pairs', o.children / 2,
            'paying_pairs', t.pairing_count,
            'package_rate', private.percent(coalesce(k.pairing_percent, 0)),
            'total_team_volume', private.money(c.package_cents / 100.0)
        ),
        'latest', (
            select coalesce(pg_catalog.jsonb_agg(h.item order by h.created_at desc, h.id desc), '[]')
            from private.transaction_history(
                p.user_id, null, null, '-infinity', 'infinity', 'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 5
            ) as h
        ),
        'unread_notifications', private.unread_notifications(p.user_id),
        'last_sync_at', (select r.ran_at from private.reconcile_state as r)
    )
    into v_screen
    from private.profiles as p
    left join private.totals as t on p.user_id = t.user_id
    left join private.positions as o on p.user_id = o.user_id
    left join private.packages as k on p.package_value = k.value
    left join private.profiles as s on p.referrer_id = s.id
    cross join lateral private.direct_referral_totals(o) as c
    where p.user_id = auth.uid();
    if v_screen is null then
        perform private.raise_error(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    return v_screen;
end
$function$;

CREATE OR REPLACE FUNCTION public.get_notifications (
  p_before text    DEFAULT NULL::text,
  p_limit  integer DEFAULT NULL::integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
    v_limit integer := private.page_limit(p_limit, 20, 100);
    v_before record;
    v_items jsonb[];
    v_keys text[];
begin
    select * into v_before from private.decode_cursor(p_before);
    select
        pg_catalog.array_agg(
            pg_catalog.jsonb_build_object(
                'id', n.id,
                'kind', n.kind,
                'title', n.title,
                'body', n.body,
                'amount', private.money(n.amount),
                'read_at', n.read_at,
                'created_at', n.created_at,
                'link', n.link
            ) order by n.created_at desc, n.id desc
        ),
        pg_catalog.array_agg(private.encode_cursor(n.created_at, n.id) order by n.created_at desc, n.id desc)
    into v_items, v_keys
    from (
        select m.*
        from public.notifications as m
        where m.user_id = v_user_id and (m.created_at, m.id) < (v_before.at, v_before.id)
        order by m.created_at desc, m.id desc
        limit v_limit + 1
    ) as n;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(pg_catalog.to_jsonb(v_items[:v_limit]), '[]'),
        'next', case when pg_catalog.cardinality(v_items) > v_limit then v_keys[v_limit] end,
        'unread', private.unread_notifications(v_user_id)
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.mark_notifications_read (
  p_ids uuid[] DEFAULT NULL::uuid[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    if pg_catalog.cardinality(p_ids) > 1000 then
        perform private.raise_error(400, 'too_many', 'Mark at most 1,000 notifications at once.');
    end if;
    update public.notifications as n
    set read_at = pg_catalog.now()
    where n.user_id = v_user_id and n.read_at is null and (p_ids is null or n.id = any(p_ids));
    return pg_catalog.jsonb_build_object(
        'unread', private.unread_notifications(v_user_id)
    );
end
$function$;

CREATE INDEX notifications_user_idx ON public.notifications USING btree (user_id, created_at DESC, id DESC) INCLUDE (read_at);

COMMENT ON FUNCTION "private"."unread_notifications"(uuid) IS 'Number of unread ones among a member''s newest 1,000 notifications.';

COMMENT ON FUNCTION "public"."get_notifications"(text, integer) IS 'The caller''s notifications, newest first, with the number of unread ones (of the newest 1,000). Errors: invalid_cursor, invalid_limit.';

REVOKE ALL ON FUNCTION "private"."unread_notifications"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."unread_notifications"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."unread_notifications"(uuid) TO "postgres";
