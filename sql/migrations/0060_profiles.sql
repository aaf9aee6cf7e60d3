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
create index profiles_package_size_idx on private.profiles (package_size) where package_size is not null;
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
    constraint positions_place_key unique (referrer_no, child_no),
    constraint roots_have_no_child_no check ((referrer_no is null) = (child_no is null))
);
alter table private.positions enable row level security;
create index positions_left_idx on private.positions (referrer_no, pair_no) include (no, paid_cents) where is_left;
create index positions_right_idx on private.positions (referrer_no, pair_no) include (no, paid_cents) where not is_left;
comment on table private.positions is 'The referral tree in integers. child_no is gap-free under the referrer and never changes; paid_cents is the package of a funded member, else 0.';
comment on column private.positions.children is 'Direct referrals so far; the next child_no is one more, taken under the referrer''s row lock.';

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
language sql stable security definer set search_path = '' as $$
    select p.id from private.profiles as p where p.user_id = auth.uid()
$$;
comment on function private.my_id() is 'Profile id of the caller, null without a profile.';

create function private.my_sponsor() returns uuid
language sql stable security definer set search_path = '' as $$
    select p.referrer_id from private.profiles as p where p.user_id = auth.uid()
$$;
comment on function private.my_sponsor() is 'Profile id of the caller''s sponsor.';

create function private.my_depth() returns integer
language sql stable security definer set search_path = '' as $$
    select p.depth from private.profiles as p where p.user_id = auth.uid()
$$;
comment on function private.my_depth() is 'Depth of the caller in the tree; a root has 0.';

create function private.is_below(p_referrer uuid, p_jump uuid, p_depth integer, p_ancestor uuid, p_ancestor_depth integer) returns boolean
language plpgsql stable security definer cost 1000 set search_path = '' as $$
declare
    v_next uuid := p_referrer;
    v_jump uuid := p_jump;
    v_depth integer := p_depth;
    v_jump_depth integer;
begin
    if p_ancestor is null or p_depth <= p_ancestor_depth then
        return false;
    end if;
    -- From a row, take its jump unless that lands above the ancestor; else go one step up.
    loop
        select j.depth into v_jump_depth from private.profiles as j where j.id = v_jump;
        if v_jump_depth >= p_ancestor_depth then
            v_next := v_jump;
            v_depth := v_jump_depth;
        else
            v_depth := v_depth - 1;
        end if;
        if v_depth <= p_ancestor_depth then
            return v_next is not distinct from p_ancestor;
        end if;
        select p.referrer_id, p.jump into v_next, v_jump from private.profiles as p where p.id = v_next;
    end loop;
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

create view public.profiles with (security_invoker) as
select
    p.id,
    p.user_id,
    p.username,
    p.display_name,
    case when m.in_full then p.email end as email,
    p.referrer_id,
    p.package_value,
    case when m.in_full then p.package_approved end as package_approved,
    case when m.in_full then p.cash_in_amount end as cash_in_amount,
    case
        when m.in_full then (select t.available_balance from private.totals as t where t.user_id = p.user_id)
    end as available_balance,
    case when m.in_full then p.trc20_wallet_address end as trc20_wallet_address,
    case when m.in_full then p.account_verified end as account_verified,
    case when m.in_full then p.account_status end as account_status,
    case when (select current_user in ('platform_admin', 'service_role')) then p.admin_notes end as admin_notes,
    p.created_at
from private.profiles as p
cross join lateral (
    select p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role')) as in_full
) as m;
comment on view public.profiles is 'Members as the caller may see them: oneself in full; sponsor and downline without what is private; administrators everyone.';
grant select on public.profiles to authenticated, platform_admin, service_role;
grant update (username, display_name, email, trc20_wallet_address) on public.profiles to authenticated;
-- Not granted: insert and delete to anyone; no column of money, status or tree to anyone.
