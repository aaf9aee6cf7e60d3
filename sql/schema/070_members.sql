-- Members and their position in the referral tree. The table is private; the API reads the view public.profiles with
-- the caller's rights: the policy selects the rows, the view nulls the private columns of other members' rows. Do not
-- make it a security_barrier view: order and limit would not reach the indexes, and the policy is barrier enough. id,
-- user_id, referrer_id and created_at never change and a referrer always exists first: the tree has no cycles.
-- Autovacuum runs here and in deposits, bonuses, the journal and the queues after 1 to 2% of the rows changed, not
-- 20%: with a million members 20% is weeks of changes, and a reconciliation takes twice as long while index-only
-- scans visit the heap. The delta queues are emptied every minute, so the threshold is 1,000 dead rows; each e-mail
-- in the outbox is updated when it is sent, so there it is 200. The trigram indexes have a small pending list: a
-- sign-up or a request pays for flushing it, and a search reads it.
-- Rules: specification S3, S11.6, S12 and S15, decision D6.

create function private.member_search_text(p_username text, p_display_name text, p_email text) returns text
language sql immutable parallel safe as $$
    select lower(p_username || ' ' || p_display_name || ' ' || coalesce(p_email, ''))
$$;
comment on function private.member_search_text(text, text, text) is
'The text that a member search matches. Without a search_path, so that an index expression can inline it.';

create table private.profiles (
    id uuid primary key default gen_random_uuid(),
    -- No foreign key to auth.users: a closed account keeps its row, its position and its money rows.
    user_id uuid not null,
    username text not null check (username ~ '\A[A-Za-z0-9_]{3,30}\Z'),
    display_name text not null check (length(display_name) between 1 and 80),
    email text check (length(email) between 3 and 255),
    referrer_id uuid references private.profiles (id) on delete restrict,
    package_value public.usd not null default 0 check (package_value between 0 and private.largest_amount()),
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
    revision bigint not null default 1,
    constraint profiles_user_id_key unique (user_id),
    constraint no_self_referral check (referrer_id is distinct from id),
    constraint only_roots_have_depth_zero check ((referrer_id is null) = (depth = 0)),
    constraint a_hold_has_a_reason check ((hold_until is null) = (hold_reason is null))
) with (
    -- Room on each page: an approval changes cash-in, package and account_verified, which no index contains, so the row
    -- stays where it is and none of the indexes is written.
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, fillfactor = 85
);
comment on table private.profiles is
'Members. depth and jump answer "is this member in that downline" in logarithmic time (jump pointers).';
comment on column private.profiles.revision is
'Number of changes of wallet, email, status or hold, whoever made them. The entries of the audit log say it.';
comment on column private.profiles.hold_until is 'Before this time withdrawals may be requested but not approved.';
alter table private.profiles enable row level security;
-- Usernames are unique regardless of case; also serves look-ups by username.
create unique index profiles_username_key on private.profiles (lower(username));
-- Direct referrals in order; also the foreign key.
create index profiles_referrer_idx on private.profiles (referrer_id, created_at, id);
-- Whole-table reads are ordered by created_at.
create index profiles_created_at_idx on private.profiles (created_at, id);
create index profiles_jump_idx on private.profiles (jump);
-- Finds other members with the same wallet, for the flag on a withdrawal.
create index profiles_wallet_idx on private.profiles (trc20_wallet_address) where trc20_wallet_address is not null;
create index profiles_email_idx on private.profiles (lower(email)) where email is not null;
-- Member search. No decision changes these texts.
create index profiles_search_idx on private.profiles
using gin (private.member_search_text(username, display_name, email) extensions.gin_trgm_ops) with (gin_pending_list_limit = 256);
create index profiles_blocked_idx on private.profiles (account_status, created_at, id) where account_status <> 'active';
-- A stock client's look-up by the exact username, which the case-insensitive index cannot serve.
create index profiles_exact_username_idx on private.profiles (username);
-- The admin lists sorted by username, with the ids of a page.
create index profiles_by_username_idx on private.profiles (lower(username), id) include (username);

-- Policy helpers. Security definer, because an invoker function would evaluate the policy that calls it.

create function private.my_profile_id() returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
    return (select p.id from private.profiles as p where p.user_id = auth.uid());
end
$$;
comment on function private.my_profile_id() is 'Profile id of the caller; null without a profile.';
grant execute on function private.my_profile_id() to authenticated;

create function private.my_referrer_id() returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
    return (select p.referrer_id from private.profiles as p where p.user_id = auth.uid());
end
$$;
comment on function private.my_referrer_id() is 'Profile id of the caller''s referrer.';
grant execute on function private.my_referrer_id() to authenticated;

create function private.my_depth() returns integer
language plpgsql stable security definer set search_path = '' as $$
begin
    return (select p.depth from private.profiles as p where p.user_id = auth.uid());
end
$$;
comment on function private.my_depth() is 'Depth of the caller in the tree; a root has 0.';
grant execute on function private.my_depth() to authenticated;

create function private.is_in_downline(
    p_referrer uuid, p_jump uuid, p_depth integer, p_ancestor uuid, p_ancestor_depth integer
) returns boolean
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
    -- Follow the jump pointer unless it passes the ancestor; else go up one step.
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
comment on function private.is_in_downline(uuid, uuid, integer, uuid, integer) is
'Whether the member with this referrer, jump and depth is in the ancestor''s downline. Logarithmic in the depth.';
grant execute on function private.is_in_downline(uuid, uuid, integer, uuid, integer) to authenticated;

create policy select_own_line on private.profiles for select to authenticated using (
    user_id = (select auth.uid())
    or referrer_id = (select private.my_profile_id())
    or id = (select private.my_referrer_id())
    or (
        depth > (select private.my_depth())
        and private.is_in_downline(referrer_id, jump, depth, (select private.my_profile_id()), (select private.my_depth()))
    )
);
create policy select_all on private.profiles for select to platform_admin using (true);
-- SELECT alone grants nothing: without USAGE on the schema the tables cannot be named.
grant select on private.profiles to authenticated, platform_admin, service_role;

-- Rows that the compensation engine reads, a few integers each: a million members fit in memory, and pairs are a merge
-- join of two index-only scans.
create table private.positions (
    no integer generated always as identity,
    user_id uuid not null unique references private.profiles (user_id) on delete restrict,
    referrer_no integer references private.positions (no) on delete restrict,
    child_no integer check (child_no > 0),
    pair_no integer generated always as ((child_no + 1) / 2) stored,
    is_left boolean generated always as (child_no % 2 = 1) stored,
    package_cents integer not null default 0 check (package_cents >= 0),
    paid_cents integer not null default 0 check (paid_cents in (0, package_cents)),
    children integer not null default 0 check (children >= 0),
    paid_order bigint,
    joined_at timestamptz not null,
    -- A computation of all bonuses reads pair owners in this order and needs only their referrer and package: with both
    -- included it is a merge of three indexes without the table, in half the time.
    constraint positions_pkey primary key (no) include (referrer_no, package_cents, paid_cents),
    -- The included packages make a member's direct team one range of this index.
    constraint positions_referrer_child_key unique (referrer_no, child_no) include (package_cents, paid_cents),
    constraint roots_have_no_child_no check ((referrer_no is null) = (child_no is null))
) with (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02
);
comment on table private.positions is
'The referral tree in integers. child_no has no gaps under the referrer and never changes; paid_cents is the package of a funded member, else 0.';
comment on column private.positions.paid_order is
'Number of the decision that funded the member, the last one after a correction; null while unfunded. Of a pair, the later one completed it. No index: an upgrade would write a page of it for a number that stays.';
comment on column private.positions.joined_at is 'The profile''s created_at, for lists of members by package.';
comment on column private.positions.children is
'Number of direct referrals; the next child_no is one more, assigned under the referrer''s row lock.';
alter table private.positions enable row level security;
-- Members without a referrer.
create index positions_roots_idx on private.positions (no) where referrer_no is null;
-- Members by package, for the admin list. Here and not on private.profiles, whose row has three times as many indexes.
create index positions_package_idx on private.positions (package_cents, joined_at, no) include (user_id);
-- One left and one right child per pair, of those that pay: with a unique index the merge join need not materialise
-- rows.
create unique index positions_left_key on private.positions (referrer_no, pair_no) include (no, paid_cents)
where is_left and paid_cents > 0;
create unique index positions_right_key on private.positions (referrer_no, pair_no) include (no, paid_cents)
where not is_left and paid_cents > 0;

-- Materialised totals of a member's own money, so that a balance is one row. Only triggers on the source tables write
-- them.
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
) with (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, fillfactor = 80
);
comment on table private.totals is
'Totals of a member''s own bonuses, and of approved (withdrawn) and pending (reserved) withdrawals. available_balance = max(0, bonuses - approved withdrawals).';
alter table private.totals enable row level security;

create policy select_own on private.totals for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on private.totals for select to platform_admin using (true);
grant select on private.totals to authenticated, platform_admin, service_role;

create table private.username_reservations (
    username text not null,
    email text not null,
    until timestamptz not null
);
comment on table private.username_reservations is 'Usernames of unconfirmed sign-ups, reserved for 24 hours.';
alter table private.username_reservations enable row level security;
create unique index username_reservations_key on private.username_reservations (lower(username));

-- A view of one table: with a join, an insert would fail with 55000 instead of 42501.
create view public.profiles with (security_invoker) as
select
    p.id,
    p.user_id,
    p.username,
    p.display_name,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.email end as email,
    p.referrer_id,
    p.package_value,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.package_approved end
        as package_approved,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.cash_in_amount end
        as cash_in_amount,
    case
        when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role')))
            then (
                select t.available_balance from private.totals as t
                where t.user_id = p.user_id
            )
    end as available_balance,
    case
        when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.trc20_wallet_address
    end as trc20_wallet_address,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.account_verified end
        as account_verified,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.account_status end
        as account_status,
    case when (select current_user in ('platform_admin', 'service_role')) then p.admin_notes end as admin_notes,
    p.created_at
from private.profiles as p;
comment on view public.profiles is
'Members as the caller may see them: the own row in full; referrer and downline without private columns; administrators all.';
grant select on public.profiles to authenticated, platform_admin, service_role;
grant update (username, display_name, email, trc20_wallet_address) on public.profiles to authenticated;
-- Not granted: insert and delete to any role; update of money, status or tree columns to any role.

-- Rules of every row, whoever writes it.

create function private.lock_member(p_user_id uuid) returns private.profiles
language plpgsql volatile set search_path = '' as $$
declare
    v_member private.profiles;
begin
    select * into v_member from private.profiles as p where p.user_id = p_user_id for no key update;
    return v_member;
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
    return null;
end
$$;
comment on function private.lock_member(uuid) is 'Locks and returns a member; a null row when it does not exist. Errors: try_again.';

-- A custom plan is no better than the generic one for an array.
create function private.lock_members(p_user_ids uuid[]) returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = 'force_generic_plan' as $$
begin
    perform 1 from private.profiles as p where p.user_id = any(p_user_ids) order by p.id for no key update;
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_members(uuid[]) is
'Locks members in the order of their ids, so that two decisions never deadlock. Errors: try_again.';

create function private.profiles_set_ancestry() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_referrer private.profiles;
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
    -- Lock the referrer's row until the end: direct referrals are numbered one after the other.
    select * into v_referrer from private.profiles as p where p.id = new.referrer_id for no key update;
    if not found then
        perform private.raise_error(400, 'invalid_referral_code', 'Invalid referral code');
    end if;
    select max(p.created_at) into v_youngest from private.profiles as p where p.referrer_id = v_referrer.id;
    new.created_at := greatest(new.created_at, v_referrer.created_at + interval '1 microsecond', v_youngest + interval '1 microsecond');
    new.depth := v_referrer.depth + 1;
    select * into v_jump from private.profiles as p where p.id = v_referrer.jump;
    select p.depth into v_far_depth from private.profiles as p where p.id = v_jump.jump;
    new.jump := case
        when v_referrer.depth - v_jump.depth = v_jump.depth - v_far_depth then v_jump.jump
        else v_referrer.id
    end;
    return new;
end
$$;
comment on function private.profiles_set_ancestry() is
'Trigger: sets depth, jump pointer and a created_at after all siblings; the referrer must exist. Errors: invalid_referral_code.';

create function private.profiles_immutable() returns trigger
language plpgsql volatile set search_path = '' as $$
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
$$;
comment on function private.profiles_immutable() is
'Trigger: identity and position never change; a package never decreases, except within a confirmed correction or a rebuild. Errors: immutable.';

create function private.profiles_create_position() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_referrer_no integer;
    v_child_no integer;
begin
    if new.referrer_id is not null then
        update private.positions as r set children = r.children + 1
        where r.user_id = (select s.user_id from private.profiles as s where s.id = new.referrer_id)
        returning r.no, r.children into v_referrer_no, v_child_no;
    end if;
    insert into private.positions (user_id, referrer_no, child_no, joined_at)
    values (new.user_id, v_referrer_no, v_child_no, new.created_at);
    insert into private.totals (user_id) values (new.user_id);
    perform private.increment_counter('profiles', 1);
    return null;
end
$$;
comment on function private.profiles_create_position() is
'Trigger: assigns the next child_no under the referrer and creates the member''s totals row.';

-- An approval updates half a dozen counters. Update those that change together in one statement and skip unchanged
-- ones, in every trigger that maintains counters.
create function private.profiles_sync_position() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_package integer := (new.package_value * 100)::integer;
    v_paid integer := case when new.package_value > 0 and new.cash_in_amount >= new.package_value then (new.package_value * 100)::integer else 0 end;
begin
    update private.positions as p set
        package_cents = v_package,
        paid_cents = v_paid,
        paid_order = case when v_paid = 0 then null when p.paid_cents = 0 then private.current_decision_no() else p.paid_order end
    where p.user_id = new.user_id and (p.package_cents, p.paid_cents) is distinct from (v_package, v_paid);
    if new.package_value <> old.package_value and not private.is_repairing() then
        insert into private.counter_deltas (name, delta)
        select c.name, c.delta
        from (
            values
            ('active_profiles', (new.package_value > 0)::integer - (old.package_value > 0)::integer),
            ('package_investment', new.package_value - old.package_value)
        ) as c (name, delta)
        where c.delta <> 0;
    end if;
    return null;
end
$$;
comment on function private.profiles_sync_position() is 'Trigger: copies package and cash-in to the member''s position.';

create function private.profiles_update_verified_counter() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if not private.is_repairing() then
        perform private.increment_counter('verified_profiles', case when new.account_verified then 1 else -1 end);
    end if;
    return null;
end
$$;
comment on function private.profiles_update_verified_counter() is 'Trigger: counts verified members.';

create trigger _100_set_ancestry before insert on private.profiles for each row execute function private.profiles_set_ancestry();
create trigger _100_immutable before update on private.profiles for each row execute function private.profiles_immutable();
create trigger _100_reject_change before delete or truncate on private.profiles for each statement execute function private.reject_change();
create trigger _200_count_revision before update on private.profiles for each row
when (
    old.trc20_wallet_address is distinct from new.trc20_wallet_address
    or old.email is distinct from new.email
    or old.account_status is distinct from new.account_status
    or old.hold_until is distinct from new.hold_until
    or old.closed_at is distinct from new.closed_at
    or old.revision is distinct from new.revision
) execute function private.count_revision();
create trigger _500_create_position after insert on private.profiles for each row execute function private.profiles_create_position();
create trigger _500_sync_position after update of package_value, cash_in_amount on private.profiles
for each row when ((old.package_value, old.cash_in_amount) is distinct from (new.package_value, new.cash_in_amount))
execute function private.profiles_sync_position();
create trigger _500_update_verified_counter after update on private.profiles
for each row when (old.account_verified is distinct from new.account_verified) execute function private.profiles_update_verified_counter();

create trigger _100_reject_change before delete or truncate on private.positions for each statement execute function private.reject_change();

-- Totals are updated in place (HOT): no index covers a column that changes with every bonus. The shortfall of members
-- who withdrew and requested more than they earned is a counter like the others.
create function private.totals_update_shortfall_counter() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if not private.is_repairing() then
        perform private.increment_counter(
            'shortfall',
            greatest(new.withdrawn_amount + new.reserved_amount - new.bonus_amount, 0)
            - greatest(old.withdrawn_amount + old.reserved_amount - old.bonus_amount, 0)
        );
    end if;
    return null;
end
$$;
comment on function private.totals_update_shortfall_counter() is
'Trigger: updates the counter of what members withdrew and requested beyond their bonuses; only a correction causes a shortfall.';
create trigger _500_update_shortfall_counter after update on private.totals
for each row when (
    old.bonus_amount < old.withdrawn_amount + old.reserved_amount or new.bonus_amount < new.withdrawn_amount + new.reserved_amount
)
execute function private.totals_update_shortfall_counter();

-- The audit log must say this of a member. It has a digest of the email, because it stays after the member has left.

create function private.member_state(p_member private.profiles) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'wallet', (p_member).trc20_wallet_address, 'email', private.digest_text((p_member).id || ' ' || (p_member).email),
        'status', (p_member).account_status, 'hold_until', private.utc_text((p_member).hold_until), 'closed_at', private.utc_text((p_member).closed_at),
        'sponsor', private.digest_text((p_member).id || ' ' || (p_member).referrer_id), 'joined_at', private.utc_text((p_member).created_at)
    )
$$;
comment on function private.member_state(private.profiles) is 'What the audit log must say of a member.';

create function private.member_entry(p_profile_id uuid, p_changed text[] default null) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (select private.state_entry(p.id, p.revision, private.member_state(p), p_changed) from private.profiles as p where p.id = p_profile_id);
end
$$;
comment on function private.member_entry(uuid, text[]) is 'For the payload of an entry: the state of a member after a change of these parts (null: of a new one, or of all).';

-- Who may act, and for whom.

create function private.require_active_status(p_status public.account_status) returns void
language plpgsql immutable set search_path = '' as $$
begin
    case p_status
        when 'disabled' then
            perform private.raise_error(403, 'account_disabled', 'Your account has been disabled. Please contact support for assistance.');
        when 'suspended' then
            perform private.raise_error(403, 'account_suspended', 'Your account has been suspended. Please contact support for assistance.');
        when 'pending' then
            perform private.raise_error(403, 'account_pending', 'Your account is pending. Deposits and withdrawals open once it is active.');
        else null;
    end case;
end
$$;
comment on function private.require_active_status(public.account_status) is
'Raises unless the account is active. Errors: account_disabled, account_suspended, account_pending.';

create function private.require_owner(p_user_id uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
    -- Check before reading or locking: BEFORE triggers run before the policy.
    if auth.uid() is not null and p_user_id is distinct from auth.uid() then
        perform private.raise_error(403, 'not_yours', 'You can only make requests for yourself.');
    end if;
end
$$;
comment on function private.require_owner(uuid) is 'Raises when a signed-in caller acts for another member. Errors: not_yours.';

create function private.require_member() returns private.profiles
language plpgsql stable security definer set search_path = '' as $$
declare
    v_profile private.profiles;
begin
    select p.* into v_profile from private.profiles as p where p.user_id = auth.uid();
    if v_profile.id is null then
        perform private.raise_error(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    return v_profile;
end
$$;
comment on function private.require_member() is
'The caller''s profile. Errors: profile_not_found for a signed-in user without a member account.';
