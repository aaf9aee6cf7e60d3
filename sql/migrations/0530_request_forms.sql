-- What the deposit form and the withdrawal form need before anything is typed: how far the account is, what can
-- be chosen, where to pay, what waits already. The guards of the two tables decide again when something is sent.

create index deposits_pending_idx on public.deposits (user_id, created_at) where status = 'pending';
create index withdrawals_pending_idx on public.withdrawals (user_id, created_at) where status = 'pending';

create function public.get_deposit_options() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.reading_member();
begin
    return pg_catalog.jsonb_build_object(
        'verification', private.verification_result(v_member),
        'package_value', private.money(v_member.package_value),
        'deposit_address', private.setting_text('deposit.address'),
        'deposit_address_sample', private.is_demo(),
        'choices', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'value', private.money(k.value),
                        'label', k.label,
                        'rate', private.plan_rate(k.pairing_percent),
                        'kind', case when v_member.package_value = 0 then 'first' else 'upgrade' end
                    ) order by k.value
                ), '[]'
            )
            from private.packages as k where k.value > v_member.package_value
        ),
        'other_amount_allowed', v_member.package_value > 0,
        'pending', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'id', d.id,
                        'amount', private.money(d.amount),
                        'reference_number', d.reference_number,
                        'created_at', d.created_at
                    ) order by d.created_at
                ), '[]'
            )
            from public.deposits as d where d.user_id = v_member.user_id and d.status = 'pending'
        ),
        'pending_limit', private.setting('deposit.pending_limit')
    );
end
$$;
comment on function public.get_deposit_options() is
'What the caller may deposit: all packages before the first one, then only larger ones at their full price, or any other amount. Errors: profile_not_found.';
grant execute on function public.get_deposit_options() to authenticated;

create function public.get_withdraw_options() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.reading_member();
    v_totals private.totals;
begin
    select t.* into v_totals from private.totals as t where t.user_id = v_member.user_id;
    return pg_catalog.jsonb_build_object(
        'verification', private.verification_result(v_member),
        'balance', private.balance_figures(v_totals, v_member),
        'wallet_address', v_member.trc20_wallet_address,
        'wallet_checksum_ok', case
            when v_member.trc20_wallet_address is not null then private.wallet_ok(v_member.trc20_wallet_address)
        end,
        'minimum', private.money(100),
        'hold_until', case when v_member.hold_until > pg_catalog.now() then v_member.hold_until end,
        'pending', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'id', w.id,
                        'amount', private.money(w.amount),
                        'wallet_address', w.wallet_address,
                        'created_at', w.created_at
                    ) order by w.created_at
                ), '[]'
            )
            from public.withdrawals as w where w.user_id = v_member.user_id and w.status = 'pending'
        )
    );
end
$$;
comment on function public.get_withdraw_options() is
'What the caller can ask for now, where it would go and what waits already. Errors: profile_not_found.';
grant execute on function public.get_withdraw_options() to authenticated;
