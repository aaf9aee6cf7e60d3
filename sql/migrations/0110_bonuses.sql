-- What members earned. One row per reason, found by a natural key, so that posting twice is impossible and an
-- upgrade raises the row it belongs to. Rows keep their id and created_at; nothing is deleted and inserted
-- again. Only the compensation engine writes here; over REST nobody does.

-- Immutable and without arguments: the planner puts the number where the call stands.
create function private.referral_percent() returns integer
language sql immutable set search_path = '' as $$ select 5 $$;
comment on function private.referral_percent() is 'Share of a direct referral''s package.';
create function private.override_percent() returns integer
language sql immutable set search_path = '' as $$ select 1 $$;
comment on function private.override_percent() is 'Share of a pair''s volume for the referrer of the pair''s owner.';
create function private.reentry_percent() returns integer
language sql immutable set search_path = '' as $$ select 10 $$;
comment on function private.reentry_percent() is 'Share of each bonus that auto-reenters: a memo, never deducted from the balance.';

create table public.bonuses (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    source_user_id uuid not null references private.profiles (user_id) on delete restrict,
    bonus_type public.bonus_type not null,
    amount public.usd not null check (amount between 0 and 10000000),
    created_at timestamptz not null default now(),
    pair_number integer check (pair_number > 0),
    rate numeric(5, 2) not null check (rate between 0 and 100),
    volume public.usd not null check (volume >= 0),
    reentry_amount public.usd generated always as (round(amount * private.reentry_percent() / 100, 2)) stored,
    -- For comparing a million rows in integers.
    amount_cents bigint generated always as ((amount * 100)::bigint) stored,
    -- Whose the natural key is: the child of a referral bonus, the pair's owner of the others.
    subject_no integer not null references private.positions (no) on delete restrict,
    constraint amount_is_rate_of_volume check (amount = round(volume * rate / 100, 2)),
    constraint pairs_have_a_number check ((bonus_type = 'referral') = (pair_number is null)),
    constraint nobody_earns_from_themselves check (user_id <> source_user_id)
);
alter table public.bonuses enable row level security;
-- The natural keys, each in the order in which the engine computes its rows, with what the comparison reads.
create unique index bonuses_referral_key on public.bonuses (subject_no) include (amount_cents) where bonus_type = 'referral';
create unique index bonuses_pairing_key on public.bonuses (subject_no, pair_number) include (amount_cents) where bonus_type = 'pairing';
create unique index bonuses_override_key on public.bonuses (subject_no, pair_number) include (amount_cents) where bonus_type = 'override';
create index bonuses_user_idx on public.bonuses (user_id, created_at desc, id desc);
create index bonuses_source_idx on public.bonuses (source_user_id);
create index bonuses_subject_idx on public.bonuses (subject_no, pair_number);
comment on table public.bonuses is 'Current amount of every bonus. Source: the child of a referral, the child that completed the pair of a pairing, the pair''s owner of an override.';

create policy select_own on public.bonuses for select to authenticated
using (user_id = (select auth.uid()) or source_user_id = (select auth.uid()));
create policy select_all on public.bonuses for select to platform_admin using (true);
grant select on public.bonuses to authenticated, platform_admin, service_role;
-- Not granted: insert, update, delete to anyone. The sync function replaces a client's delete and insert.

create sequence private.postings as bigint;
select pg_catalog.setval('private.postings', 1);
comment on sequence private.postings is 'Moves with every change of a bonus or of what bonuses are computed from. Equal to the last clean run: nothing to reconcile.';

create function private.bonuses_frozen() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.id, new.user_id, new.bonus_type, new.subject_no, new.pair_number, new.created_at, new.source_user_id)
        is distinct from (old.id, old.user_id, old.bonus_type, old.subject_no, old.pair_number, old.created_at, old.source_user_id) then
        perform private.refuse(403, 'append_only', 'A bonus keeps its reason and its date.');
    end if;
    if new.amount < old.amount and nullif(pg_catalog.current_setting('app.lowering', true), '') is distinct from 'on' then
        perform private.refuse(403, 'append_only', 'A bonus only rises. A correction can lower it.');
    end if;
    return new;
end
$$;
comment on function private.bonuses_frozen() is 'A bonus keeps its key; it only rises, except inside a correction or a repair. Errors: append_only.';

create function private.bonuses_posted() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform pg_catalog.nextval('private.postings');
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    select n.user_id, n.amount, 'bonus', 'completed', n.id, n.created_at from added as n where n.amount <> 0;
    update private.totals as t set
        referral_amount = t.referral_amount + s.referral, referral_count = t.referral_count + s.referrals,
        pairing_amount = t.pairing_amount + s.pairing, pairing_count = t.pairing_count + s.pairings,
        override_amount = t.override_amount + s.override, override_count = t.override_count + s.overrides,
        reentry_amount = t.reentry_amount + s.reentry
    from (
        select
            n.user_id,
            coalesce(sum(n.amount) filter (where n.bonus_type = 'referral'), 0) as referral,
            count(*) filter (where n.bonus_type = 'referral') as referrals,
            coalesce(sum(n.amount) filter (where n.bonus_type = 'pairing'), 0) as pairing,
            count(*) filter (where n.bonus_type = 'pairing') as pairings,
            coalesce(sum(n.amount) filter (where n.bonus_type = 'override'), 0) as override,
            count(*) filter (where n.bonus_type = 'override') as overrides,
            sum(n.reentry_amount) as reentry
        from added as n group by n.user_id
    ) as s
    where t.user_id = s.user_id;
    perform private.count_up('bonuses', (select coalesce(sum(n.amount), 0) from added as n));
    perform private.count_up('bonus_rows', (select count(*) from added as n));
    return null;
end
$$;
comment on function private.bonuses_posted() is 'Journal, sums and counts of new bonuses.';

create function private.bonuses_changed() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform pg_catalog.nextval('private.postings');
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    select n.user_id, n.amount - o.amount, 'bonus', 'completed', n.id, private.clock()
    from after as n inner join before as o on n.id = o.id where n.amount <> o.amount;
    update private.totals as t set
        referral_amount = t.referral_amount + s.referral,
        pairing_amount = t.pairing_amount + s.pairing,
        override_amount = t.override_amount + s.override,
        reentry_amount = t.reentry_amount + s.reentry
    from (
        select
            n.user_id,
            coalesce(sum(n.amount - o.amount) filter (where n.bonus_type = 'referral'), 0) as referral,
            coalesce(sum(n.amount - o.amount) filter (where n.bonus_type = 'pairing'), 0) as pairing,
            coalesce(sum(n.amount - o.amount) filter (where n.bonus_type = 'override'), 0) as override,
            sum(n.reentry_amount - o.reentry_amount) as reentry
        from after as n inner join before as o on n.id = o.id group by n.user_id
    ) as s
    where t.user_id = s.user_id;
    perform private.count_up('bonuses', (select coalesce(sum(n.amount - o.amount), 0) from after as n inner join before as o on n.id = o.id));
    return null;
end
$$;
comment on function private.bonuses_changed() is 'Journal row of the difference, sums and counts when bonuses are re-rated.';

create trigger _100_frozen before update on public.bonuses for each row execute function private.bonuses_frozen();
create trigger _100_keep before delete or truncate on public.bonuses for each statement execute function private.refuse_change();
create trigger _500_posted after insert on public.bonuses
referencing new table as added for each statement execute function private.bonuses_posted();
create trigger _500_changed after update on public.bonuses
referencing old table as before new table as after for each statement execute function private.bonuses_changed();
