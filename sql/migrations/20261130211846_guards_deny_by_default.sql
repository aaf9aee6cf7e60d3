-- Guards of rows name what may change and deny the rest, so that a column of a later migration is guarded from its
-- first day; a retry of a request compares all of the client's columns.

SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.bonuses_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  SET enable_nestloop TO 'off'
  AS $function$
declare
    v_broken record;
    v_is_repair boolean := private.is_repairing();
begin
    select
        bool_or(private.is_other_bonus(row(o.*)::public.bonuses, row(n.*)::public.bonuses, v_is_repair)) as key,
        bool_or(n.amount < o.amount) as amount
    into v_broken
    from before as o left join after as n on o.id = n.id;
    if v_broken.key then
        perform private.raise_error(403, 'append_only', 'A bonus keeps its reason and its date.');
    end if;
    if v_broken.amount and nullif(pg_catalog.current_setting('app.allow_bonus_decrease', true), '') is distinct from 'on' then
        perform private.raise_error(403, 'append_only', 'A bonus only rises. A correction can lower it.');
    end if;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposit_rests_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_allowed private.deposit_rests := old;
begin
    if private.is_restoring_rows() then
        return new;
    end if;
    if coalesce(old.referenced_at, old.ended_at) is null then
        v_allowed.reference_number := new.reference_number;
        v_allowed.referenced_at := new.referenced_at;
    end if;
    if old.ended_at is null then
        v_allowed.ended_at := new.ended_at;
    end if;
    if new is distinct from v_allowed then
        perform private.raise_error(403, 'append_only', 'The rest of a deposit is asked for once and never changed.');
    end if;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_allowed public.deposits := old;
begin
    if private.is_restoring_rows() and new.id = old.id then
        return new;
    end if;
    if old.status = 'pending' then
        v_allowed.status := new.status;
        v_allowed.admin_notes := new.admin_notes;
        v_allowed.decided_at := new.decided_at;
        v_allowed.decided_by := new.decided_by;
        v_allowed.decision_no := new.decision_no;
        v_allowed.received_amount := new.received_amount;
    end if;
    if old.voided_at is null and new.voided_at is not null and private.is_being_corrected(old.user_id) then
        v_allowed.voided_at := new.voided_at;
    end if;
    if new is distinct from v_allowed then
        perform private.raise_error(403, 'append_only', 'A deposit is decided once and never changed.');
    end if;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_validate()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles;
    v_existing public.deposits;
    v_pending integer;
    v_limit integer := private.setting_text('deposit.pending_limit')::integer;
begin
    if private.is_restoring_rows() then
        return new;
    end if;
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    perform private.lock_request(new.id);
    -- Copied text brings a line break; a retry brings it again and is compared with the stored value.
    new.reference_number := pg_catalog.btrim(new.reference_number, E' \t\r\n');
    -- Look for a retry first: triggers run before ON CONFLICT.
    select * into v_existing from public.deposits as d where d.id = new.id;
    if found then
        -- The server's columns; all others are the client's and must be equal.
        new.status := v_existing.status;
        new.kind := v_existing.kind;
        new.reference_key := v_existing.reference_key;
        new.created_at := v_existing.created_at;
        new.admin_notes := v_existing.admin_notes;
        new.decided_at := v_existing.decided_at;
        new.decided_by := v_existing.decided_by;
        new.decision_no := v_existing.decision_no;
        new.received_amount := v_existing.received_amount;
        new.voided_at := v_existing.voided_at;
        if new is not distinct from v_existing then
            return null;
        end if;
        perform private.raise_error(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.require_new_request(new.id);
    perform private.require_active_status(v_member.account_status);
    if not private.are_deposits_open() then
        perform private.raise_error(
            403, 'deposits_closed', 'Deposits are closed at the moment. Send no USDT. If you already have, submit the request once they open again.'
        );
    end if;
    if v_member.id is null or v_member.email is null or v_member.trc20_wallet_address is null then
        perform private.raise_error(403, 'profile_incomplete', 'Please complete your profile and settings first');
    end if;
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    new.kind := private.deposit_kind(new.amount, v_member.package_value, v_member.cash_in_amount);
    new.reference_key := private.validate_reference(new.reference_number);
    select count(*) into v_pending from public.deposits as d where d.user_id = new.user_id and d.status = 'pending';
    if v_pending >= v_limit then
        perform private.raise_error(
            409, 'too_many_pending', pg_catalog.format('You have %s deposits waiting for review. Wait for a decision or cancel one.', v_pending)
        );
    end if;
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.voided_at := null;
    new.decision_no := null;
    new.received_amount := null;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.is_other_bonus (
  p_before    public.bonuses,
  p_after     public.bonuses,
  p_is_repair boolean
)
  RETURNS boolean
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
    -- A pair that pays again may have been completed by its other child.
    if p_is_repair or (p_before.bonus_type = 'pairing' and p_before.amount = 0) then
        p_before.source_user_id := p_after.source_user_id;
    end if;
    if p_is_repair then
        p_before.user_id := p_after.user_id;
    end if;
    p_before.rate := p_after.rate;
    p_before.volume := p_after.volume;
    p_before.amount := p_after.amount;
    p_before.reentry_amount := p_after.reentry_amount;
    p_before.amount_cents := p_after.amount_cents;
    return p_after is distinct from p_before;
end
$function$;

CREATE OR REPLACE FUNCTION private.profiles_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_allowed private.profiles := old;
begin
    v_allowed.username := new.username;
    v_allowed.display_name := new.display_name;
    v_allowed.email := new.email;
    v_allowed.trc20_wallet_address := new.trc20_wallet_address;
    v_allowed.account_status := new.account_status;
    v_allowed.admin_notes := new.admin_notes;
    v_allowed.hold_until := new.hold_until;
    v_allowed.hold_reason := new.hold_reason;
    v_allowed.closed_at := new.closed_at;
    v_allowed.revision := new.revision;
    v_allowed.cash_in_amount := new.cash_in_amount;
    v_allowed.package_value := new.package_value;
    -- Computed from these, after this trigger.
    v_allowed.package_size := new.package_size;
    v_allowed.package_approved := new.package_approved;
    v_allowed.account_verified := new.account_verified;
    if new is distinct from v_allowed then
        perform private.raise_error(403, 'immutable', 'A member''s id, sponsor and place in the tree never change.');
    end if;
    if new.package_value < old.package_value and not private.is_being_corrected(new.user_id) and not private.is_repairing() then
        perform private.raise_error(403, 'immutable', 'You can only upgrade to a higher package. Downgrades are not allowed.');
    end if;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.receipts_validate()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    v_files integer;
    v_bytes bigint;
    v_hour integer;
    v_day integer;
    v_allowed storage.objects := old;
begin
    if tg_op = 'UPDATE' and old.bucket_id = 'receipts' then
        v_allowed.created_at := new.created_at;
        v_allowed.updated_at := new.updated_at;
        v_allowed.last_accessed_at := new.last_accessed_at;
        -- The service key may store a file anew: the demo does, and a deposit compares its etag.
        v_allowed.owner := new.owner;
        v_allowed.version := new.version;
        v_allowed.metadata := new.metadata;
        v_allowed.user_metadata := new.user_metadata;
        -- Computed, after this trigger.
        v_allowed.path_tokens := new.path_tokens;
        if new is distinct from v_allowed then
            perform private.raise_storage_error('Receipts are kept as they are.');
        end if;
    end if;
    if tg_op = 'UPDATE' or new.bucket_id is distinct from 'receipts' then
        return new;
    end if;
    -- Existing name: a plain upload then fails as a duplicate, an upsert in the branch above.
    if exists (select 1 from storage.objects as o where o.bucket_id = 'receipts' and o.name = new.name) then
        return new;
    end if;
    if new.owner_id is null or new.name !~ ('\A' || new.owner_id || '/[0-9]{10,16}\.(png|jpg|jpeg|webp|pdf)\Z') then
        perform private.raise_storage_error('A receipt is named by your own id and the time.');
    end if;
    -- Serialise a member's uploads, so that the limits hold; the lock ends with this short transaction.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('receipts_of_owner'), pg_catalog.hashtext(new.owner_id));
    select
        count(*) filter (where f.unused), coalesce(sum(f.size) filter (where f.unused), 0),
        count(*) filter (where f.created_at > v_now - interval '1 hour'),
        count(*) filter (where f.created_at > v_now - interval '1 day')
    into v_files, v_bytes, v_hour, v_day
    from (
        select
            o.created_at, (o.metadata ->> 'size')::bigint as size,
            not exists (select 1 from private.deposit_receipts as d where d.name = o.name) as unused
        from private.receipt_uploads as u
        inner join storage.objects as o on o.bucket_id = 'receipts' and u.name = o.name
        where u.name >= new.owner_id || '/' and u.name < new.owner_id || '0'
    ) as f;
    if v_files >= 20 or v_bytes >= 52428800 then
        perform private.raise_storage_error('You have 20 receipts or 50 MB that no deposit uses. They are deleted after a day.');
    end if;
    if v_hour >= 10 then
        perform private.raise_storage_error('You have uploaded 10 receipts within an hour. Try again later.');
    end if;
    if v_day >= 20 then
        perform private.raise_storage_error('You have uploaded 20 receipts within a day. Try again tomorrow.');
    end if;
    insert into private.receipt_uploads (name) values (new.name) on conflict do nothing;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.settings_validate()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_allowed private.settings := old;
begin
    -- Before a value is checked.
    if private.is_restoring_rows() then
        return new;
    end if;
    v_allowed.value := new.value;
    v_allowed.description := new.description;
    v_allowed.updated_at := new.updated_at;
    v_allowed.updated_by := new.updated_by;
    v_allowed.revision := new.revision;
    if new is distinct from v_allowed then
        perform private.raise_error(403, 'forbidden', 'Only the value of a setting can change.');
    end if;
    if new.key = 'demo' and new.value = 'true' and old.value = 'false' then
        perform private.raise_error(409, 'demo_is_over', 'Demo mode cannot be switched back on.');
    end if;
    if new.key = 'demo.seeded' and new.value = 'false' and old.value = 'true' then
        perform private.raise_error(409, 'demo_is_over', 'Sample data was loaded here; that cannot be undone.');
    end if;
    perform private.check_setting(new.key, new.value);
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.transactions_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_allowed public.transactions := old;
begin
    if old.status = 'pending' then
        v_allowed.status := new.status;
        v_allowed.decision_no := new.decision_no;
        v_allowed.balance_after := new.balance_after;
    elsif private.is_repairing() then
        v_allowed.balance_after := new.balance_after;
    end if;
    if new is distinct from v_allowed and not private.is_restoring_rows() then
        perform private.raise_error(403, 'append_only', 'The journal is kept as it is.');
    end if;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawals_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_allowed public.withdrawals := old;
begin
    if private.is_restoring_rows() and new.id = old.id then
        return new;
    end if;
    if old.status = 'pending' then
        v_allowed.status := new.status;
        v_allowed.admin_notes := new.admin_notes;
        v_allowed.decided_at := new.decided_at;
        v_allowed.decided_by := new.decided_by;
        v_allowed.decision_no := new.decision_no;
    end if;
    if old.payout_reference is null then
        v_allowed.payout_reference := new.payout_reference;
        v_allowed.payout_at := new.payout_at;
    end if;
    if old.voided_at is null and new.voided_at is not null and private.is_being_corrected(old.user_id) then
        v_allowed.voided_at := new.voided_at;
    end if;
    if new is distinct from v_allowed then
        perform private.raise_error(403, 'append_only', 'A withdrawal is decided once and never changed.');
    end if;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawals_validate()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles;
    v_existing public.withdrawals;
    v_available numeric;
begin
    if private.is_restoring_rows() then
        return new;
    end if;
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    perform private.lock_request(new.id);
    -- Look for a retry first: triggers run before ON CONFLICT.
    select * into v_existing from public.withdrawals as w where w.id = new.id;
    if found then
        -- The server's columns; all others are the client's and must be equal.
        new.status := v_existing.status;
        new.created_at := v_existing.created_at;
        new.admin_notes := v_existing.admin_notes;
        new.decided_at := v_existing.decided_at;
        new.decided_by := v_existing.decided_by;
        new.decision_no := v_existing.decision_no;
        new.payout_reference := v_existing.payout_reference;
        new.payout_at := v_existing.payout_at;
        new.voided_at := v_existing.voided_at;
        if new is not distinct from v_existing then
            return null;
        end if;
        perform private.raise_error(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.require_new_request(new.id);
    perform private.require_active_status(v_member.account_status);
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    if new.amount is null or new.amount <= 0 or new.amount > 10000000 then
        perform private.raise_error(400, 'invalid_amount', 'Enter an amount above $0.00 and up to $10,000,000.00.');
    end if;
    v_available := greatest(0, private.requestable_amount(new.user_id));
    if v_available is null or new.amount > v_available then
        perform private.raise_error(400, 'insufficient_balance', 'Insufficient balance. Available: ' || private.dollars(coalesce(v_available, 0)));
    end if;
    if new.amount < 100 then
        perform private.raise_error(400, 'below_minimum', 'Minimum withdrawal amount is $100');
    end if;
    if not v_member.account_verified then
        perform private.raise_error(403, 'not_verified', 'Please complete your profile, settings, and account verification first');
    end if;
    if new.wallet_address is distinct from v_member.trc20_wallet_address then
        perform private.raise_error(409, 'wallet_changed', 'Your wallet address has changed. Check it and try again.');
    end if;
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.payout_reference := null;
    new.payout_at := null;
    new.voided_at := null;
    new.decision_no := null;
    return new;
end
$function$;

COMMENT ON FUNCTION "private"."is_other_bonus"(public.bonuses, public.bonuses, boolean) IS 'Whether an update changed more of a bonus than its rate, volume and amount: outside a repair it keeps its member, and its source unless a pair pays again.';

REVOKE ALL ON FUNCTION "private"."is_other_bonus"(public.bonuses, public.bonuses, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_other_bonus"(public.bonuses, public.bonuses, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_other_bonus"(public.bonuses, public.bonuses, boolean) TO "postgres";

select private.record_schema();
