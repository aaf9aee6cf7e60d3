-- A member, and the member's place in the referral tree. The table is private; the API sees the view
-- public.profiles, which runs with the caller's rights: the policy decides which rows are visible, the view
-- decides which columns of other people's rows are null. Do not add security_barrier to the view: order and
-- limit would no longer reach the indexes, and the policy is barrier enough.
-- id, user_id, referrer_id and created_at never change, a parent always exists first: the tree has no cycles.

create table private.profiles (
    id uuid primary key default gen_random_uuid(),
    -- No foreign key to auth.users: a closed account keeps its row, its place and its money rows.
    user_id uuid not null,
    username text not null check (username ~ '\A[A-Za-z0-9_]{3,30}\Z'),
    display_name text not null check (length(display_name) between 1 and 80),
    email text check (length(email) between 3 and 255),
    referrer_id uuid references private.profiles (id) on delete restrict,
    package_value public.usd not null default 0 check (package_value between 0 and 10000000),
    package_size public.usd generated always as (nullif(package_value, 0)) stored
    references private.packages (value) on delete restrict,
    package_approved boolean generated always as (package_value > 0) stored,
    cash_in_amount public.usd not null default 0 check (cash_in_amount >= 0),
    trc20_wallet_address text check (trc20_wallet_address = btrim(trc20_wallet_address) and length(trc20_wallet_address) between 1 and 128),
    account_verified boolean generated always as (
        email is not null and trc20_wallet_address is not null and package_value > 0 and cash_in_amount >= package_value
    ) stored,
    account_status public.account_status not null default 'active',
    admin_notes text check (length(admin_notes) <= 4000),
    created_at timestamptz not null default clock_timestamp(),
    depth integer not null check (depth >= 0),
    jump uuid not null references private.profiles (id) on delete restrict,
    hold_until timestamptz,
    hold_reason text check (hold_reason in ('wallet', 'email', 'password', 'factor')),
    closed_at timestamptz,
    constraint profiles_user_id_key unique (user_id),
    constraint nobody_refers_themselves check (referrer_id is distinct from id),
    constraint roots_have_no_depth check ((referrer_id is null) = (depth = 0)),
    constraint a_hold_has_a_reason check ((hold_until is null) = (hold_reason is null))
);
alter table private.profiles enable row level security;
-- One name whatever its spelling; also serves the look-up by username.
create unique index profiles_username_key on private.profiles (lower(username));
-- Children in order, and the foreign key.
create index profiles_referrer_idx on private.profiles (referrer_id, created_at, id);
-- Whole-table reads are ordered by created_at.
create index profiles_created_at_idx on private.profiles (created_at, id);
create index profiles_jump_idx on private.profiles (jump);
-- "Who has this wallet" for the flag on a withdrawal.
create index profiles_wallet_idx on private.profiles (trc20_wallet_address) where trc20_wallet_address is not null;
create index profiles_email_idx on private.profiles (lower(email)) where email is not null;
comment on table private.profiles is 'Members. depth and jump answer "is this member below that one" in a few steps (jump pointers).';
comment on column private.profiles.hold_until is 'Withdrawals may be requested but not approved before this time.';

-- Everything the compensation engine reads, in a few integers a row, so that a million members fit in memory
-- and a pair is a merge join of two index-only scans.
create table private.positions (
    no integer generated always as identity primary key,
    profile_id uuid not null unique references private.profiles (id) on delete restrict,
    user_id uuid not null unique references private.profiles (user_id) on delete restrict,
    referrer_no integer references private.positions (no) on delete restrict,
    child_no integer check (child_no > 0),
    pair_no integer generated always as ((child_no + 1) / 2) stored,
    is_left boolean generated always as (child_no % 2 = 1) stored,
    package_cents integer not null default 0 check (package_cents >= 0),
    paid_cents integer not null default 0 check (paid_cents in (0, package_cents)),
    children integer not null default 0 check (children >= 0),
    paid_order bigint unique,
    -- The packages ride along: a member's team figures are one range of this index.
    constraint positions_place_key unique (referrer_no, child_no) include (package_cents, paid_cents),
    constraint roots_have_no_child_no check ((referrer_no is null) = (child_no is null))
);
alter table private.positions enable row level security;
create index positions_left_idx on private.positions (referrer_no, pair_no) include (no, paid_cents) where is_left;
create index positions_right_idx on private.positions (referrer_no, pair_no) include (no, paid_cents) where not is_left;
comment on table private.positions is 'The referral tree in integers. child_no is gap-free under the referrer and never changes; paid_cents is the package of a funded member, else 0.';
comment on column private.positions.paid_order is 'Order in which members became funded for the first time: of a pair, the later one completed it.';
comment on column private.positions.children is 'Direct referrals so far; the next child_no is one more, taken under the referrer''s row lock.';

create sequence private.paid_orders as bigint;
comment on sequence private.paid_orders is 'Hands out positions.paid_order.';

-- Kept sums of a member's own money, so that a balance is one row. Written by triggers on the sources only.
create table private.totals (
    user_id uuid primary key references private.profiles (user_id) on delete restrict,
    referral_amount public.usd not null default 0,
    referral_count integer not null default 0,
    pairing_amount public.usd not null default 0,
    pairing_count integer not null default 0,
    override_amount public.usd not null default 0,
    override_count integer not null default 0,
    reentry_amount public.usd not null default 0,
    withdrawn_amount public.usd not null default 0,
    reserved_amount public.usd not null default 0,
    bonus_amount public.usd generated always as (referral_amount + pairing_amount + override_amount) stored,
    available_balance public.usd generated always as (
        greatest(0, referral_amount + pairing_amount + override_amount - withdrawn_amount)
    ) stored,
    requestable_amount public.usd generated always as (
        greatest(0, referral_amount + pairing_amount + override_amount - withdrawn_amount - reserved_amount)
    ) stored
);
alter table private.totals enable row level security;
comment on table private.totals is 'Sums of a member''s own bonuses, approved (withdrawn) and pending (reserved) withdrawals. available_balance = max(0, bonuses - approved withdrawals).';

create table private.username_reservations (
    username text not null,
    email text not null,
    until timestamptz not null
);
alter table private.username_reservations enable row level security;
create unique index username_reservations_key on private.username_reservations (lower(username));
comment on table private.username_reservations is 'Names of sign-ups that are not confirmed yet, for 24 hours.';

-- Policy helpers. Definer, because an invoker function would run into the policy it serves.
create function private.my_id() returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
    return (select p.id from private.profiles as p where p.user_id = auth.uid());
end
$$;
comment on function private.my_id() is 'Profile id of the caller, null without a profile.';

create function private.my_sponsor() returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
    return (select p.referrer_id from private.profiles as p where p.user_id = auth.uid());
end
$$;
comment on function private.my_sponsor() is 'Profile id of the caller''s sponsor.';

create function private.my_depth() returns integer
language plpgsql stable security definer set search_path = '' as $$
begin
    return (select p.depth from private.profiles as p where p.user_id = auth.uid());
end
$$;
comment on function private.my_depth() is 'Depth of the caller in the tree; a root has 0.';

create function private.is_below(p_referrer uuid, p_jump uuid, p_depth integer, p_ancestor uuid, p_ancestor_depth integer) returns boolean
language plpgsql stable security definer cost 1000 set search_path = '' as $$
declare
    v_next uuid;
    v_referrer uuid := p_referrer;
    v_jump uuid := p_jump;
    v_depth integer := p_depth;
    v_jump_depth integer;
begin
    if p_ancestor is null or p_depth <= p_ancestor_depth then
        return false;
    end if;
    -- From a row, take its jump unless that lands above the ancestor; else go one step up.
    while v_depth > p_ancestor_depth loop
        select j.depth into v_jump_depth from private.profiles as j where j.id = v_jump;
        if v_jump_depth >= p_ancestor_depth then
            v_next := v_jump;
            v_depth := v_jump_depth;
        else
            v_next := v_referrer;
            v_depth := v_depth - 1;
        end if;
        select p.referrer_id, p.jump into v_referrer, v_jump from private.profiles as p where p.id = v_next;
    end loop;
    return v_next is not distinct from p_ancestor;
end
$$;
comment on function private.is_below(uuid, uuid, integer, uuid, integer) is 'Whether the member with this referrer, jump and depth stands below the ancestor. Logarithmic in the depth.';
grant execute on function private.my_id() to authenticated;
grant execute on function private.my_sponsor() to authenticated;
grant execute on function private.my_depth() to authenticated;
grant execute on function private.is_below(uuid, uuid, integer, uuid, integer) to authenticated;

create policy select_own_line on private.profiles for select to authenticated using (
    user_id = (select auth.uid())
    or referrer_id = (select private.my_id())
    or id = (select private.my_sponsor())
    or (
        depth > (select private.my_depth())
        and private.is_below(referrer_id, jump, depth, (select private.my_id()), (select private.my_depth()))
    )
);
create policy select_all on private.profiles for select to platform_admin using (true);
create policy select_own on private.totals for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on private.totals for select to platform_admin using (true);
-- SELECT here opens nothing by itself: without USAGE on the schema the tables cannot be named.
grant select on private.profiles to authenticated, platform_admin, service_role;
grant select on private.totals to authenticated, platform_admin, service_role;

-- A plain view of one table: with a join, an insert would be a fault (55000) instead of a refusal (42501).
create view public.profiles with (security_invoker) as
select
    p.id,
    p.user_id,
    p.username,
    p.display_name,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.email end as email,
    p.referrer_id,
    p.package_value,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.package_approved end as package_approved,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.cash_in_amount end as cash_in_amount,
    case
        when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then (select t.available_balance from private.totals as t where t.user_id = p.user_id)
    end as available_balance,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.trc20_wallet_address end as trc20_wallet_address,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.account_verified end as account_verified,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.account_status end as account_status,
    case when (select current_user in ('platform_admin', 'service_role')) then p.admin_notes end as admin_notes,
    p.created_at
from private.profiles as p;
comment on view public.profiles is 'Members as the caller may see them: oneself in full; sponsor and downline without what is private; administrators everyone.';
grant select on public.profiles to authenticated, platform_admin, service_role;
grant update (username, display_name, email, trc20_wallet_address) on public.profiles to authenticated;
-- Not granted: insert and delete to anyone; no column of money, status or tree to anyone.

-- What holds for every row, whoever writes it.
create function private.lock_member(p_user_id uuid) returns private.profiles
language plpgsql volatile set search_path = '' as $$
declare
    v_member private.profiles;
begin
    select * into v_member from private.profiles as p where p.user_id = p_user_id for no key update;
    return v_member;
exception when lock_not_available then
    perform private.refuse(503, 'try_again', 'The server is busy. Try again in a moment.');
    return null;
end
$$;
comment on function private.lock_member(uuid) is 'Locks and returns a member; a null row when there is none. Errors: try_again.';

create function private.lock_members(p_user_ids uuid[]) returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform 1 from private.profiles as p where p.user_id = any(p_user_ids) order by p.id for no key update;
exception when lock_not_available then
    perform private.refuse(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_members(uuid[]) is 'Locks members in the order of their ids, so that two decisions never wait for each other. Errors: try_again.';

create function private.profiles_place() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_sponsor private.profiles;
    v_jump private.profiles;
    v_far_depth integer;
    v_youngest timestamptz;
begin
    new.created_at := private.clock();
    new.depth := 0;
    new.jump := new.id;
    if new.referrer_id is null then
        return new;
    end if;
    -- The sponsor's row stays locked until the end: children are numbered one after the other.
    select * into v_sponsor from private.profiles as p where p.id = new.referrer_id for no key update;
    if not found then
        perform private.refuse(400, 'invalid_referral_code', 'Invalid referral code');
    end if;
    select max(p.created_at) into v_youngest from private.profiles as p where p.referrer_id = v_sponsor.id;
    new.created_at := greatest(new.created_at, v_sponsor.created_at + interval '1 microsecond', v_youngest + interval '1 microsecond');
    new.depth := v_sponsor.depth + 1;
    select * into v_jump from private.profiles as p where p.id = v_sponsor.jump;
    select p.depth into v_far_depth from private.profiles as p where p.id = v_jump.jump;
    new.jump := case
        when v_sponsor.depth - v_jump.depth = v_jump.depth - v_far_depth then v_jump.jump
        else v_sponsor.id
    end;
    return new;
end
$$;
comment on function private.profiles_place() is 'Gives a new member its place: an existing sponsor, depth, jump pointer and a created_at after all siblings. Errors: invalid_referral_code.';

create function private.profiles_frozen() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.id, new.user_id, new.referrer_id, new.created_at, new.depth, new.jump)
        is distinct from (old.id, old.user_id, old.referrer_id, old.created_at, old.depth, old.jump) then
        perform private.refuse(403, 'immutable', 'A member''s id, sponsor and place in the tree never change.');
    end if;
    if new.package_value < old.package_value and not private.correction_of(new.user_id) then
        perform private.refuse(403, 'immutable', 'You can only upgrade to a higher package. Downgrades are not allowed.');
    end if;
    return new;
end
$$;
comment on function private.profiles_frozen() is 'Identity and place never change; a package never decreases, except inside a confirmed correction. Errors: immutable.';

create function private.profiles_placed() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_referrer_no integer;
    v_child_no integer;
begin
    if new.referrer_id is not null then
        update private.positions as r set children = r.children + 1
        where r.profile_id = new.referrer_id
        returning r.no, r.children into v_referrer_no, v_child_no;
    end if;
    insert into private.positions (profile_id, user_id, referrer_no, child_no)
    values (new.id, new.user_id, v_referrer_no, v_child_no);
    insert into private.totals (user_id) values (new.user_id);
    perform private.count_up('profiles', 1);
    return null;
end
$$;
comment on function private.profiles_placed() is 'Takes the next child number under the sponsor and opens the member''s sums.';

create function private.profiles_funded() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_package integer := (new.package_value * 100)::integer;
    v_paid integer := case when new.package_value > 0 and new.cash_in_amount >= new.package_value then (new.package_value * 100)::integer else 0 end;
begin
    update private.positions as p set
        package_cents = v_package,
        paid_cents = v_paid,
        paid_order = case when v_paid > 0 then coalesce(p.paid_order, pg_catalog.nextval('private.paid_orders')) else p.paid_order end
    where p.user_id = new.user_id and (p.package_cents, p.paid_cents) is distinct from (v_package, v_paid);
    perform private.count_up('active_profiles', (new.package_value > 0)::integer - (old.package_value > 0)::integer);
    perform private.count_up('package_investment', new.package_value - old.package_value);
    return null;
end
$$;
comment on function private.profiles_funded() is 'Carries package and cash-in into the member''s position.';

create trigger _100_place before insert on private.profiles for each row execute function private.profiles_place();
create trigger _100_frozen before update on private.profiles for each row execute function private.profiles_frozen();
create trigger _100_keep before delete or truncate on private.profiles for each statement execute function private.refuse_change();
create trigger _500_placed after insert on private.profiles for each row execute function private.profiles_placed();
create trigger _500_funded after update of package_value, cash_in_amount on private.profiles
for each row when ((old.package_value, old.cash_in_amount) is distinct from (new.package_value, new.cash_in_amount))
execute function private.profiles_funded();
create trigger _100_keep before delete or truncate on private.positions for each statement execute function private.refuse_change();

-- Names. The reserved ones would let a member pass for the operator, or for a closed account.
create function private.username_refusal(p_username text) returns text
language sql immutable set search_path = '' as $$
    select case
        when p_username is null or p_username = '' then 'Please fill in all required fields'
        when p_username !~ '\A[A-Za-z0-9_]{3,30}\Z'
            then 'A username has 3 to 30 characters: letters, digits and underscores only.'
        when pg_catalog.lower(p_username) ~ '\A(closed_.*|_+|admin(istrator)?s?|root|support|help|staff|team|moderator|operator|owner|system|security|official|finance|billing|payments?|service|company|null|undefined|anonymous|unknown|me|api|harborline)\Z'
            then 'This username is reserved. Please choose a different username.'
    end
$$;
comment on function private.username_refusal(text) is 'What is wrong with a username, as a sentence; null when it may be used.';

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
comment on function private.username_taken(text, text) is 'Whether a member has the name, or a sign-up of another address reserved it.';

create function private.hold(p_user_id uuid, p_reason text) returns void
language plpgsql volatile set search_path = '' as $$
begin
    update private.profiles as p set hold_until = pg_catalog.clock_timestamp() + interval '24 hours', hold_reason = p_reason
    where p.user_id = p_user_id and p.closed_at is null;
end
$$;
comment on function private.hold(uuid, text) is 'For 24 hours from now withdrawals may be requested but not approved.';

create function private.signed_in_lately() returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return (
        select coalesce(claims.jwt ->> 'aal' = 'aal2', false) or exists (
            select 1 from pg_catalog.jsonb_array_elements(
                case when pg_catalog.jsonb_typeof(claims.jwt -> 'amr') = 'array' then claims.jwt -> 'amr' else '[]' end
            ) as m (method)
            where m.method ->> 'method' = 'password'
                and pg_catalog.to_timestamp((m.method ->> 'timestamp')::numeric) > pg_catalog.clock_timestamp() - interval '10 minutes'
        )
        from (select nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::jsonb as jwt) as claims
    );
end
$$;
comment on function private.signed_in_lately() is 'Whether the caller showed a second factor, or a password less than ten minutes ago.';

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
        v_new.username := private.checked_username(new.username, v_stored);
    end if;
    if new.display_name is distinct from old.display_name then
        v_new.display_name := private.checked_display_name(new.display_name);
    end if;
    if new.email is distinct from old.email then
        perform private.check_email_change(new.email, v_stored);
    end if;
    if new.trc20_wallet_address is distinct from old.trc20_wallet_address then
        v_new.trc20_wallet_address := private.checked_wallet(new.trc20_wallet_address, v_stored);
    end if;
    begin
        update private.profiles as p set
            username = v_new.username, display_name = v_new.display_name, trc20_wallet_address = v_new.trc20_wallet_address
        where p.id = v_stored.id and (p.username, p.display_name, p.trc20_wallet_address)
            is distinct from (v_new.username, v_new.display_name, v_new.trc20_wallet_address);
    exception when unique_violation then
        perform private.refuse(409, 'username_taken', 'Username already exists. Please choose a different username.');
    end;
    if v_stored.trc20_wallet_address is distinct from v_new.trc20_wallet_address then
        perform private.wallet_changed(v_stored, v_new.trc20_wallet_address);
    end if;
    new.username := v_new.username;
    new.display_name := v_new.display_name;
    new.email := v_stored.email;
    new.trc20_wallet_address := v_new.trc20_wallet_address;
    return new;
end
$$;
comment on function private.profiles_update() is
'A member''s own change of name, display name and wallet; the e-mail follows the sign-in address. Rows of others stay untouched. Errors: fields_required, invalid_username, username_taken, confirm_email_change, wallet_required, invalid_wallet, reauthentication_needed.';

create function private.checked_username(p_username text, p_member private.profiles) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_refusal text := private.username_refusal(p_username);
begin
    if v_refusal is not null then
        perform private.refuse(400, case when coalesce(p_username, '') = '' then 'fields_required' else 'invalid_username' end, v_refusal);
    end if;
    if pg_catalog.lower(p_username) <> pg_catalog.lower((p_member).username) and private.username_taken(p_username, (p_member).email) then
        perform private.refuse(409, 'username_taken', 'Username already exists. Please choose a different username.');
    end if;
    return p_username;
end
$$;
comment on function private.checked_username(text, private.profiles) is 'The new name of a member. Errors: fields_required, invalid_username, username_taken.';

create function private.checked_display_name(p_display_name text) returns text
language plpgsql immutable set search_path = '' as $$
declare
    v_name text := pg_catalog.btrim(p_display_name);
begin
    if coalesce(v_name, '') = '' then
        perform private.refuse(400, 'fields_required', 'Please fill in all required fields');
    end if;
    if pg_catalog.length(v_name) > 80 or v_name ~ '[\x01-\x1f\x7f]' then
        perform private.refuse(400, 'invalid_display_name', 'A name has at most 80 characters, on one line.');
    end if;
    return v_name;
end
$$;
comment on function private.checked_display_name(text) is 'The new display name of a member. Errors: fields_required, invalid_display_name.';

create function private.check_email_change(p_email text, p_member private.profiles) returns void
language plpgsql stable set search_path = '' as $$
begin
    if coalesce(pg_catalog.btrim(p_email), '') = '' then
        perform private.refuse(400, 'fields_required', 'Please fill in all required fields');
    end if;
    if not exists (
        select 1 from auth.users as u
        where u.id = (p_member).user_id
            and pg_catalog.lower(pg_catalog.btrim(p_email)) in (pg_catalog.lower(u.email), pg_catalog.lower(nullif(u.email_change, '')))
    ) then
        perform private.refuse(422, 'confirm_email_change', 'Change your e-mail address first, then confirm it from your mailbox.');
    end if;
end
$$;
comment on function private.check_email_change(text, private.profiles) is
'The present address or the one waiting for confirmation pass; the stored address follows the confirmed one. Errors: fields_required, confirm_email_change.';

create function private.checked_wallet(p_wallet text, p_member private.profiles) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_wallet text := pg_catalog.btrim(p_wallet);
begin
    if coalesce(v_wallet, '') = '' then
        perform private.refuse(400, 'wallet_required', 'Wallet address required');
    end if;
    if pg_catalog.length(v_wallet) > 128 or v_wallet ~ '[\x01-\x1f\x7f]' then
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
comment on function private.checked_wallet(text, private.profiles) is
'The new wallet of a member. Replacing one needs a fresh sign-in. Errors: wallet_required, invalid_wallet, reauthentication_needed.';

create function private.wallet_changed(p_before private.profiles, p_wallet text) returns void
language plpgsql volatile set search_path = '' as $$
begin
    if (p_before).trc20_wallet_address is not null then
        perform private.hold((p_before).user_id, 'wallet');
        perform private.tell(
            (p_before).user_id, 'wallet_changed', 'Your wallet address was changed',
            pg_catalog.format(
                'Withdrawals now go to %s. They can be requested at once and are approved 24 hours from now at the earliest. If this was not you, change your password and contact support.',
                p_wallet
            ),
            null, '/settings'
        );
    end if;
    perform private.audit(
        'member:' || (p_before).user_id, 'member.wallet_changed', 'profile', (p_before).id,
        pg_catalog.jsonb_build_object('from', (p_before).trc20_wallet_address, 'to', p_wallet)
    );
end
$$;
comment on function private.wallet_changed(private.profiles, text) is 'After a change of wallet: hold, mail and audit row. The first wallet holds nothing back.';

create trigger _100_update instead of update on public.profiles for each row execute function private.profiles_update();
