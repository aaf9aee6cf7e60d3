-- Names, wallets and references were searched for control characters of ASCII only. What turns the direction of
-- writing, or is not seen at all, makes one text look like another to whoever decides about money: an account like
-- somebody else's, a reference that reads differently from what is compared. Guards refuse it from now on; what is
-- stored stays, so no constraint says so. A repeated request for a deposit is told by its trimmed reference, as stored. How a
-- withdrawal was paid is read by its member, whether it is told with the approval or later.

create function private.is_readable(p_text text) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
    -- Control characters, soft hyphen, marks and overrides of direction, zero width, ends of line and paragraph.
    return p_text !~ '[\u0001-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]';
end
$$;
comment on function private.is_readable(text) is 'Whether every character of a text is seen, in the order in which it is stored.';

create function private.is_display_name(p_name text) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
    return pg_catalog.length(p_name) <= 80
        -- The two joiners belong to the spelling of names in Persian and in the scripts of India.
        and private.is_readable(pg_catalog.regexp_replace(p_name, '[\u200c\u200d]', '', 'g'))
        -- Something is seen besides spaces, fillers and the joiners.
        and p_name ~ '[^ \u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u200c\u200d\u202f\u205f\u2800\u3000\u3164\ufe00-\ufe0f\uffa0]';
end
$$;
comment on function private.is_display_name(text) is 'Whether a trimmed text may be the display name of a member: up to 80 characters on one line, seen as they are stored.';

create or replace function private.checked_display_name(p_display_name text) returns text
language plpgsql immutable set search_path = '' as $$
declare
    v_name text := pg_catalog.btrim(p_display_name);
begin
    if coalesce(v_name, '') = '' then
        perform private.refuse(400, 'fields_required', 'Please fill in all required fields');
    end if;
    if not private.is_display_name(v_name) then
        perform private.refuse(400, 'invalid_display_name', 'A name has at most 80 characters, on one line.');
    end if;
    return v_name;
end
$$;

create or replace function private.checked_wallet(p_wallet text, p_member private.profiles) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_wallet text := pg_catalog.btrim(p_wallet);
begin
    if coalesce(v_wallet, '') = '' then
        perform private.refuse(400, 'wallet_required', 'Wallet address required');
    end if;
    if pg_catalog.length(v_wallet) > 128 or not private.is_readable(v_wallet) then
        perform private.refuse(400, 'invalid_wallet', 'This is not a wallet address. Check it and try again.');
    end if;
    if private.setting('wallet.strict') = 'true' and not private.wallet_ok(v_wallet) then
        perform private.refuse(422, 'invalid_wallet', 'This is not a TRC20 address. Check it character by character.');
    end if;
    if (p_member).trc20_wallet_address <> v_wallet and not private.signed_in_lately() then
        perform private.refuse(403, 'reauthentication_needed', 'Sign in again to change your wallet address.');
    end if;
    return v_wallet;
end
$$;

create or replace function hooks.before_user_created(event jsonb) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_data jsonb := event #> '{user,user_metadata}';
    v_email text := pg_catalog.lower(event #>> '{user,email}');
    v_username text := v_data ->> 'username';
    v_display_name text := pg_catalog.btrim(v_data ->> 'display_name');
    v_refusal text;
begin
    if coalesce(pg_catalog.btrim(v_data ->> 'referrer_id'), '') = '' then
        return private.sign_up_error(400, 'Referral code is required for registration');
    end if;
    if (private.sponsor_of(pg_catalog.btrim(v_data ->> 'referrer_id'))).id is null then
        return private.sign_up_error(400, 'Invalid referral code');
    end if;
    if coalesce(v_email, '') = '' or coalesce(v_display_name, '') = '' then
        return private.sign_up_error(400, 'Please fill in all required fields');
    end if;
    v_refusal := private.username_refusal(v_username);
    if v_refusal is not null then
        return private.sign_up_error(400, v_refusal);
    end if;
    if not private.is_display_name(v_display_name) then
        return private.sign_up_error(400, 'A name has at most 80 characters, on one line.');
    end if;
    if exists (select 1 from private.profiles as p where pg_catalog.lower(p.username) = pg_catalog.lower(v_username)) then
        return private.sign_up_error(400, 'Username already exists. Please choose a different username.');
    end if;
    -- One statement decides between parallel sign-ups with one name.
    insert into private.username_reservations as r (username, email, until)
    values (v_username, v_email, pg_catalog.clock_timestamp() + interval '24 hours')
    on conflict (pg_catalog.lower(username)) do update
        set username = excluded.username, email = excluded.email, until = excluded.until
        where r.until < pg_catalog.clock_timestamp() or r.email = excluded.email;
    if not found then
        return private.sign_up_error(400, 'Username already exists. Please choose a different username.');
    end if;
    return '{}'::jsonb;
end
$$;

create or replace function private.deposit_guard() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles;
    v_twin public.deposits;
    v_pending integer;
    v_limit integer := private.setting_text('deposit.pending_limit')::integer;
begin
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    -- What is copied brings a line's end along; a retry brings it again and is compared with what was stored.
    new.reference_number := pg_catalog.btrim(new.reference_number, E' \t\r\n');
    -- A retry is looked for first: triggers run before ON CONFLICT.
    select * into v_twin from public.deposits as d where d.id = new.id;
    if found then
        if (v_twin.user_id, v_twin.amount, v_twin.reference_number, v_twin.receipt_url)
            is not distinct from (new.user_id, new.amount, new.reference_number, new.receipt_url) then
            return null;
        end if;
        perform private.refuse(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.status_refusal(v_member.account_status);
    if v_member.id is null or v_member.email is null or v_member.trc20_wallet_address is null then
        perform private.refuse(403, 'profile_incomplete', 'Please complete your profile and settings first');
    end if;
    if new.status <> 'pending' then
        perform private.refuse(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    new.kind := private.deposit_kind(new.amount, v_member.package_value);
    new.reference_key := private.reference_key(new.reference_number);
    if coalesce(new.reference_key, '') = '' or pg_catalog.length(new.reference_number) > 200 or not private.is_readable(new.reference_number) then
        perform private.refuse(400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.');
    end if;
    select count(*) into v_pending from public.deposits as d where d.user_id = new.user_id and d.status = 'pending';
    if v_pending >= v_limit then
        perform private.refuse(
            409, 'too_many_pending', pg_catalog.format('You have %s deposits waiting for review. Wait for a decision or cancel one.', v_pending)
        );
    end if;
    new.receipt_name := private.receipt_name(new.receipt_url);
    new.receipt_etag := private.check_receipt(new.user_id, new.receipt_name, new.kind = 'first');
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.voided_at := null;
    return new;
end
$$;

create or replace function private.add_payout_reference(p_withdrawal public.withdrawals, p_admin private.admin_users, p_reference text)
returns public.withdrawals
language plpgsql volatile set search_path = '' as $$
declare
    v_reference text := nullif(pg_catalog.btrim(p_reference, E' \t\r\n'), '');
    v_withdrawal public.withdrawals := p_withdrawal;
begin
    if v_reference is null or v_reference is not distinct from (p_withdrawal).payout_reference then
        return p_withdrawal;
    end if;
    if pg_catalog.length(v_reference) > 200 or not private.is_readable(v_reference) then
        perform private.refuse(400, 'invalid_reference', 'A payout reference has at most 200 characters, on one line.');
    end if;
    if (p_withdrawal).payout_reference is not null then
        perform private.refuse(409, 'payout_recorded', 'A payout reference was already recorded for this withdrawal.');
    end if;
    if (p_withdrawal).voided_at is not null then
        perform private.refuse(409, 'voided', 'This withdrawal was voided.');
    end if;
    update public.withdrawals as w set payout_reference = v_reference, payout_at = private.clock()
    where w.id = (p_withdrawal).id
    returning w.* into v_withdrawal;
    perform private.audit(
        'admin:' || (p_admin).id, 'withdrawal.paid', 'withdrawal', v_withdrawal.id,
        pg_catalog.jsonb_build_object('payout_reference', v_reference)
    );
    return v_withdrawal;
end
$$;
