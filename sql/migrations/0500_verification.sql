-- How far a member's account is, and how a screen writes what it reads. Every screen that shows money or a
-- button for it asks the same function, so that the dashboard, the deposit form and the withdrawal form can
-- never disagree. These functions only read: what a member may really do is decided again by the guards of
-- public.deposits and public.withdrawals. Small functions are plpgsql, which keeps its plan between requests.

create function private.plan_rate(p_percent numeric) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return pg_catalog.trim_scale(p_percent)::text;
end
$$;
comment on function private.plan_rate(numeric) is 'A rate of the plan as prose writes it: "5", "40". Calculated percentages keep two decimals.';

create function private.percent(p_percent numeric) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return pg_catalog.to_char(pg_catalog.round(p_percent, 2), 'FM9999999999999990.00');
end
$$;
comment on function private.percent(numeric) is 'A calculated percentage as JSON carries it: "40.00", "-13.10".';

create function private.roi(p_earnings numeric, p_package numeric) returns numeric
language plpgsql immutable set search_path = '' as $$
begin
    return case when p_package > 0 then (p_earnings - p_package) / p_package * 100 else 0 end;
end
$$;
comment on function private.roi(numeric, numeric) is '(earnings - package) / package in percent; 0 without a package.';

create function private.short_address(p_address text) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return case
        when pg_catalog.length(p_address) > 10
            then pg_catalog.left(p_address, 6) || '...' || pg_catalog.right(p_address, 4)
        else p_address
    end;
end
$$;
comment on function private.short_address(text) is 'First 6 and last 4 characters of a wallet address.';

create function private.verification_result(p_profile private.profiles) returns jsonb
language plpgsql immutable set search_path = '' as $$
declare
    v_has_profile boolean := (p_profile).username is not null and (p_profile).email is not null;
    v_has_wallet boolean := (p_profile).trc20_wallet_address is not null;
    v_is_active boolean := (p_profile).account_status = 'active';
    v_is_paid boolean := (p_profile).package_value > 0 and (p_profile).cash_in_amount >= (p_profile).package_value;
    v_step text := case
        when not v_has_profile then 'profile'
        when not v_has_wallet then 'wallet'
        when not v_is_paid then 'package'
        else 'complete'
    end;
begin
    return pg_catalog.jsonb_build_object(
        'hasProfile', v_has_profile,
        'hasWallet', v_has_wallet,
        'hasVerifiedAccount', v_step = 'complete',
        'canDeposit', v_has_profile and v_has_wallet and v_is_active,
        'canWithdraw', v_step = 'complete' and v_is_active,
        'cashInAmount', private.money((p_profile).cash_in_amount),
        'packageValue', private.money((p_profile).package_value),
        'sufficientCashIn', v_is_paid,
        'verificationStep', v_step,
        'stepMessage', case
            when v_step = 'profile' then 'Complete your profile with username and email'
            when v_step = 'wallet' then 'Add your TRC-20 wallet address for withdrawals'
            when v_step = 'complete' then 'Account fully verified and ready'
            when (p_profile).package_value = 0 then 'Select a package and make your first deposit'
            else pg_catalog.format(
                'Complete your package deposit (%s/%s)',
                private.dollars((p_profile).cash_in_amount), private.dollars((p_profile).package_value)
            )
        end
    );
end
$$;
comment on function private.verification_result(private.profiles) is
'Verification result of one member: profile, wallet, package, complete. An account that is pending may neither deposit nor withdraw.';

create function private.balance_figures(p_totals private.totals, p_profile private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.jsonb_build_object(
        'available', private.money((p_totals).available_balance),
        'reserved', private.money((p_totals).reserved_amount),
        'requestable', private.money((p_totals).requestable_amount),
        'approved_withdrawals', private.money((p_totals).withdrawn_amount),
        'hold_until', case when (p_profile).hold_until > pg_catalog.now() then (p_profile).hold_until end
    );
end
$$;
comment on function private.balance_figures(private.totals, private.profiles) is
'available = max(0, bonuses - approved withdrawals); requestable also takes off what pending requests reserve.';

create function private.reading_member() returns private.profiles
language plpgsql stable security definer set search_path = '' as $$
declare
    v_profile private.profiles;
begin
    select p.* into v_profile from private.profiles as p where p.user_id = auth.uid();
    if v_profile.id is null then
        perform private.refuse(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    return v_profile;
end
$$;
comment on function private.reading_member() is 'The caller''s row. Errors: profile_not_found for a signed-in user without a member account.';
