-- Changes that members make to their own profile, how far an account is set up, and the closing of an account. Updates
-- go through the view public.profiles, whose trigger validates each field and has the audit log and the member notified.

-- Usernames. Reserved ones would let a member pose as the operator or as a closed account, also with digits or beside
-- other words. A member who has one keeps it.
create function private.username_error(p_username text) returns text
language sql immutable set search_path = '' as $$
    select case
        when p_username is null or p_username = '' then 'Please fill in all required fields'
        when p_username !~ '\A[A-Za-z0-9_]{3,30}\Z'
            then 'A username has 3 to 30 characters: letters, digits and underscores only.'
        when pg_catalog.lower(p_username) ~ '\A(closed_.*|_+)\Z'
            or pg_catalog.regexp_replace(pg_catalog.lower(p_username), '[0-9]', '', 'g')
            ~ '(\A|_)(admin(istrator)?s?|root|support|help|staff|team|moderator|operator|owner|system|security|official|finance|billing|payments?|service|company|null|undefined|anonymous|unknown|me|api|harborline)(_|\Z)'
            then 'This username is reserved. Please choose a different username.'
    end
$$;
comment on function private.username_error(text) is 'The error message for an invalid username; null when it is valid.';

create function private.username_taken(p_username text, p_email text) returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return (
        select exists (select 1 from private.profiles as p where pg_catalog.lower(p.username) = pg_catalog.lower(p_username))
            or exists (
                select 1 from private.username_reservations as r
                where pg_catalog.lower(r.username) = pg_catalog.lower(p_username)
                    and r.until > pg_catalog.clock_timestamp()
                    and r.email is distinct from pg_catalog.lower(p_email)
            )
    );
end
$$;
comment on function private.username_taken(text, text) is
'Whether a member has the username, or a sign-up with another e-mail reserved it.';

create function private.is_display_name(p_name text) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
    return pg_catalog.length(p_name) <= 80
        -- Joiners belong to the spelling of names in Persian and in Indic scripts.
        and private.is_readable(pg_catalog.regexp_replace(p_name, '[\u200c\u200d]', '', 'g'))
        -- Require a visible character besides spaces, fillers and joiners.
        and p_name ~ '[^ \u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u200c\u200d\u202f\u205f\u2800\u3000\u3164\ufe00-\ufe0f\uffa0]';
end
$$;
comment on function private.is_display_name(text) is
'Whether a trimmed text is a valid display name: up to 80 visible characters on one line.';

-- A member's changes of the own profile.

create function private.profiles_update() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_stored private.profiles;
    v_new private.profiles;
begin
    if private.my_role() is distinct from 'authenticated' or old.user_id is distinct from auth.uid() then
        return null;
    end if;
    v_stored := private.lock_member(old.user_id);
    v_new := v_stored;
    if new.username is distinct from old.username then
        v_new.username := private.validate_username(new.username, v_stored);
    end if;
    if new.display_name is distinct from old.display_name then
        v_new.display_name := private.validate_display_name(new.display_name);
    end if;
    if new.email is distinct from old.email then
        perform private.validate_email_change(new.email, v_stored);
    end if;
    if new.trc20_wallet_address is distinct from old.trc20_wallet_address then
        v_new.trc20_wallet_address := private.validate_wallet(new.trc20_wallet_address, v_stored);
    end if;
    begin
        update private.profiles as p set
            username = v_new.username, display_name = v_new.display_name, trc20_wallet_address = v_new.trc20_wallet_address
        where p.id = v_stored.id and (p.username, p.display_name, p.trc20_wallet_address)
            is distinct from (v_new.username, v_new.display_name, v_new.trc20_wallet_address);
    exception when unique_violation then
        perform private.raise_error(409, 'username_taken', 'Username already exists. Please choose a different username.');
    end;
    if v_stored.trc20_wallet_address is distinct from v_new.trc20_wallet_address then
        perform private.record_wallet_change(v_stored, v_new.trc20_wallet_address);
    end if;
    new.username := v_new.username;
    new.display_name := v_new.display_name;
    new.email := v_stored.email;
    new.trc20_wallet_address := v_new.trc20_wallet_address;
    return new;
end
$$;
comment on function private.profiles_update() is
'Trigger of the view: a member changes the own username, display name and wallet; the e-mail follows the sign-in address. Ignores other members'' rows. Errors: fields_required, invalid_username, username_taken, confirm_email_change, wallet_required, invalid_wallet, reauthentication_needed.';

create function private.validate_username(p_username text, p_member private.profiles) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_error text := private.username_error(p_username);
begin
    if v_error is not null then
        perform private.raise_error(400, case when coalesce(p_username, '') = '' then 'fields_required' else 'invalid_username' end, v_error);
    end if;
    if pg_catalog.lower(p_username) <> pg_catalog.lower((p_member).username) and private.username_taken(p_username, (p_member).email) then
        perform private.raise_error(409, 'username_taken', 'Username already exists. Please choose a different username.');
    end if;
    return p_username;
end
$$;
comment on function private.validate_username(text, private.profiles) is
'Validates a member''s new username. Errors: fields_required, invalid_username, username_taken.';

create function private.validate_display_name(p_display_name text) returns text
language plpgsql immutable set search_path = '' as $$
declare
    v_name text := pg_catalog.btrim(p_display_name);
begin
    if coalesce(v_name, '') = '' then
        perform private.raise_error(400, 'fields_required', 'Please fill in all required fields');
    end if;
    if not private.is_display_name(v_name) then
        perform private.raise_error(400, 'invalid_display_name', 'A name has at most 80 characters, on one line.');
    end if;
    return v_name;
end
$$;
comment on function private.validate_display_name(text) is
'Validates a member''s new display name. Errors: fields_required, invalid_display_name.';

create function private.validate_email_change(p_email text, p_member private.profiles) returns void
language plpgsql stable set search_path = '' as $$
begin
    if coalesce(pg_catalog.btrim(p_email), '') = '' then
        perform private.raise_error(400, 'fields_required', 'Please fill in all required fields');
    end if;
    if not exists (
        select 1 from auth.users as u
        where u.id = (p_member).user_id
            and pg_catalog.lower(pg_catalog.btrim(p_email)) in (pg_catalog.lower(u.email), pg_catalog.lower(nullif(u.email_change, '')))
    ) then
        perform private.raise_error(422, 'confirm_email_change', 'Change your email address first, then confirm it from your mailbox.');
    end if;
end
$$;
comment on function private.validate_email_change(text, private.profiles) is
'Accepts the current address and one that awaits confirmation; the stored address follows the confirmed one. Errors: fields_required, confirm_email_change.';

create function private.validate_wallet(p_wallet text, p_member private.profiles) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_wallet text := pg_catalog.btrim(p_wallet);
begin
    if coalesce(v_wallet, '') = '' then
        perform private.raise_error(400, 'wallet_required', 'Wallet address required');
    end if;
    if pg_catalog.length(v_wallet) > 128 or not private.is_readable(v_wallet) then
        perform private.raise_error(400, 'invalid_wallet', 'This is not a wallet address. Check it and try again.');
    end if;
    if private.setting('wallet.strict') = 'true' and not private.is_trc20_address(v_wallet) then
        perform private.raise_error(422, 'invalid_wallet', 'This is not a TRC20 address. Check it character by character.');
    end if;
    if (p_member).trc20_wallet_address <> v_wallet then
        perform private.require_fresh_proof('change your wallet address');
    end if;
    return v_wallet;
end
$$;
comment on function private.validate_wallet(text, private.profiles) is
'Validates a member''s new wallet. Replacing one needs a fresh proof. Errors: wallet_required, invalid_wallet, reauthentication_needed.';

create function private.record_wallet_change(p_before private.profiles, p_wallet text) returns void
language plpgsql volatile set search_path = '' as $$
begin
    if (p_before).trc20_wallet_address is not null then
        perform private.place_withdrawal_hold((p_before).user_id, 'wallet');
        perform private.notify_member(
            (p_before).user_id, 'wallet_changed', 'Your wallet address was changed',
            pg_catalog.format(
                'Withdrawals now go to %s. You can request one now; it cannot be approved for 24 hours. If this was not you, change your password and contact support.',
                p_wallet
            ),
            null, '/settings'
        );
    end if;
    perform private.audit(
        'member:' || (p_before).user_id, 'member.wallet_changed', 'profile', (p_before).id,
        pg_catalog.jsonb_build_object('from', (p_before).trc20_wallet_address, 'to', p_wallet)
        || private.member_entry((p_before).id, array['wallet', 'hold_until'])
    );
end
$$;
comment on function private.record_wallet_change(private.profiles, text) is
'After a changed wallet: places a hold, notifies the member, writes an audit row. The first wallet causes no hold.';

create trigger _100_update instead of update on public.profiles for each row execute function private.profiles_update();

-- How far an account is set up. The dashboard and both forms call the same functions, so that they never disagree.
-- These functions only read: the validation triggers of public.deposits and public.withdrawals decide.

-- One rule for the text that asks for money and for the check that takes it. No deposit is below a dollar.
create function private.missing_cash_in(p_package numeric, p_cash_in numeric) returns numeric
language plpgsql immutable set search_path = '' as $$
begin
    return case when p_cash_in < p_package then greatest(p_package - p_cash_in, 1) end;
end
$$;
comment on function private.missing_cash_in(numeric, numeric) is
'The largest deposit that completes a package of which less was paid; null when nothing is missing.';

create function private.verification_result(p_profile private.profiles) returns jsonb
language plpgsql immutable set search_path = '' as $$
declare
    v_has_profile boolean := (p_profile).username is not null and (p_profile).email is not null;
    v_has_wallet boolean := (p_profile).trc20_wallet_address is not null;
    v_is_active boolean := (p_profile).account_status = 'active';
    v_missing numeric := private.missing_cash_in((p_profile).package_value, (p_profile).cash_in_amount);
    v_is_paid boolean := (p_profile).package_value > 0 and v_missing is null;
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
        'missingCashIn', private.money(v_missing),
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
'Verification step of a member: profile, wallet, package or complete. A pending account may neither deposit nor withdraw.';

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
'available = max(0, bonuses - approved withdrawals); requestable also subtracts pending requests.';

-- Close an account. Profiles are closed, never deleted: position, money rows and other members' bonuses depend on
-- them. Lock rows of schema auth before the member's row, here and when ending sessions; the other order deadlocks
-- with a deletion, whose cascade locks the sessions first.

create function private.end_sessions(p_user_id uuid) returns void
language sql volatile set search_path = '' as $$
    delete from auth.sessions as s where s.user_id = p_user_id
$$;
comment on function private.end_sessions(uuid) is 'Ends all sessions of a member; the next request is rejected. Always the first lock.';

-- The auth service deletes the user, and knows nothing of who asked it to.
create function private.closing_actor(p_profile_id uuid, p_user_id uuid) returns text
language sql volatile set search_path = '' as $$
    select coalesce(
        (
            select l.actor from private.audit_log as l
            where
                l.object_id = p_profile_id
                and (l.action = 'member.closed' or (l.action = 'member.closing_started' and private.is_recent(l.at, '1 hour')))
            order by l.id desc limit 1
        ),
        'member:' || p_user_id
    )
$$;
comment on function private.closing_actor(uuid, uuid) is
'Who closed an account, as the audit log names it; before it is closed, the administrator who began to within the hour, otherwise the member.';

create function private.close_profile(p_user_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_member private.profiles := private.lock_member(p_user_id);
    v_now timestamptz := private.clock();
    v_left jsonb := private.money_left(p_user_id);
    v_actor text := private.closing_actor(v_member.id, p_user_id);
begin
    if v_member.id is null or v_member.closed_at is not null then
        return;
    end if;
    -- While the address is still known.
    perform private.notify_member(
        p_user_id, 'account_closed', 'Your account was closed',
        'You can no longer sign in. Pending requests were cancelled. If this was not you, contact support.', null, null
    );
    perform private.cancel_requests(p_user_id, null, 'Account closed', v_actor);
    delete from private.bot_secrets as b using public.bot_subscriptions as s
    where s.id = b.subscription_id and s.user_id = p_user_id;
    update public.bot_subscriptions as s set status = 'cancelled', mt5_password_length = null, updated_at = v_now
    where s.user_id = p_user_id and s.status <> 'cancelled';
    update private.profiles as p set
        account_status = 'disabled',
        username = private.closed_username(p.id),
        display_name = 'Closed account',
        email = null,
        trc20_wallet_address = null,
        hold_until = null,
        hold_reason = null,
        closed_at = v_now
    where p.id = v_member.id;
    perform private.audit(
        v_actor, 'member.closed', 'profile', v_member.id,
        pg_catalog.jsonb_build_object('money_left', v_left)
        || private.member_entry(v_member.id)
    );
end
$$;
comment on function private.close_profile(uuid) is
'Closes a member: notifies it by e-mail, clears username, e-mail and wallet, rejects pending requests with ''Account closed'', erases MT5 passwords. Position, money and bonuses stay.';

create function private.closed_username(p_id uuid) returns text
language sql stable set search_path = '' as $$
    -- Eight digits of the id; more when another closed account has the same ones.
    select 'closed_' || pg_catalog.left(hex.digits, n.digits)
    from (select pg_catalog.replace(p_id::text, '-', '') as digits) as hex
    cross join pg_catalog.generate_series(8, 23) as n (digits)
    where not exists (
        select 1 from private.profiles as p
        where pg_catalog.lower(p.username) = 'closed_' || pg_catalog.left(hex.digits, n.digits)
    )
    order by n.digits
    limit 1
$$;
comment on function private.closed_username(uuid) is 'Username of a closed account.';

create function private.users_close_profile() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if tg_op = 'UPDATE' then
        perform private.end_sessions(old.id);
    end if;
    perform private.close_profile(old.id);
    return null;
end
$$;
comment on function private.users_close_profile() is 'Trigger: closes the member of a deleted account in the same transaction.';

create trigger harborline_deleted after delete on auth.users for each row execute function private.users_close_profile();
create trigger harborline_soft_deleted after update of deleted_at on auth.users
for each row when (old.deleted_at is null and new.deleted_at is not null) execute function private.users_close_profile();
