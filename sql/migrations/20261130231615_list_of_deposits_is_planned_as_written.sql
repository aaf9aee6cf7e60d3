-- A page of deposits is joined as written: planning its nine tables at each call took three times as long as an empty page.

SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.deposit_items (
  p_ids uuid[]
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  SET join_collapse_limit TO '1'
  AS $function$
    select pg_catalog.jsonb_agg(
        pg_catalog.to_jsonb(d) || pg_catalog.jsonb_build_object(
            'amount', private.money(d.amount),
            'profile_id', p.id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'account_status', p.account_status,
            'available_balance', private.money(t.available_balance),
            'cash_in_amount', private.money(p.cash_in_amount),
            'package_value', private.money(p.package_value),
            'trc20_wallet_address', p.trc20_wallet_address,
            'joined_at', p.created_at,
            'decided_by_name', coalesce(a.full_name, a.email),
            'cancelled', d.status = 'rejected' and d.decided_by is null,
            'received_amount', private.money(d.received_amount),
            'further_references', coalesce(f.numbers, '[]'),
            'rest', case when r.no is not null then
                private.rest_json(r, d.amount)
                || pg_catalog.jsonb_build_object('asked_by_name', (select coalesce(b.full_name, b.email) from private.admin_users as b where b.id = r.asked_by))
            end,
            'tolerance', case when d.status = 'pending' then private.money(private.deposit_tolerance(d.amount)) end,
            'due_at', coalesce(r.referenced_at, r.asked_at, d.created_at) + e.due_after,
            'total_deposits', private.money(p.cash_in_amount),
            'package_before', case when d.status = 'pending' then private.money(p.package_value) end,
            'package_after', case when d.status = 'pending' then private.money(greatest(p.package_value, k.value)) end,
            'cash_in_before', case when d.status = 'pending' then private.money(p.cash_in_amount) end,
            'cash_in_after', case when d.status = 'pending' then private.money(p.cash_in_amount + d.amount) end,
            'refusal', case when d.status = 'pending' then private.transfer_error(d.id) end,
            'flags', case when d.status = 'pending' then private.deposit_flags(d, p) else '[]' end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join public.deposits as d on u.id = d.id
    inner join private.profiles as p on d.user_id = p.user_id
    inner join private.totals as t on d.user_id = t.user_id
    left join private.packages as k on d.amount = k.value and d.kind <> 'cash_in'
    left join private.deposit_rests as r on d.id = r.deposit_id and r.ended_at is null
    -- Few have any: together, not by private.further_references() for each.
    left join (
        select s.deposit_id, pg_catalog.jsonb_agg(s.reference_number order by s.no) as numbers
        from private.deposit_rests as s
        where s.deposit_id = any(p_ids) and s.reference_number is not null
        group by s.deposit_id
    ) as f on d.id = f.deposit_id
    left join private.admin_users as a on d.decided_by = a.id
    cross join (select private.review_interval() as due_after) as e
$function$;

select private.record_schema();
