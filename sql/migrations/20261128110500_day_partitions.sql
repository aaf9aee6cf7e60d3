-- Stored days lie in partitions of a year: the tables of before are the first of them, as they are. Each is read twice, to
-- see that no day lies behind its year: two tenths of a second for a million days.
-- No service names what is renamed here: only functions do, and they find what is made in its place.
-- squawk-ignore-file renaming-table, renaming-object, ban-drop-default
set local check_function_bodies = off;

-- The first partition has the names of one that private.add_day_partition() makes.
alter table private.team_days rename to team_days_1;
alter index private.team_days_pkey rename to team_days_1_pkey;
alter table private.team_days_1 alter members drop default, alter funded drop default;
alter table private.earning_days rename to earning_days_1;
alter index private.earning_days_pkey rename to earning_days_1_pkey;
alter table private.earning_days_1 alter referral drop default, alter pairing drop default, alter override drop default;

create table private.team_days (
    no integer not null constraint team_days_no_fkey references private.positions (no) on delete restrict,
    day date not null,
    members integer not null default 0,
    funded integer not null default 0,
    primary key (no, day)
) partition by range (day);
comment on table private.team_days is 'Members who joined and who were funded in a large team, by day; rolled up. In partitions of a year.';
alter table private.team_days enable row level security;

create table private.earning_days (
    no integer not null constraint earning_days_no_fkey references private.positions (no) on delete restrict,
    day date not null,
    referral numeric not null default 0,
    pairing numeric not null default 0,
    override numeric not null default 0,
    primary key (no, day)
) partition by range (day);
comment on table private.earning_days is 'Bonuses of a member by day and type; rolled up. In partitions of a year.';
alter table private.earning_days enable row level security;

create table private.day_partitions (
    number integer primary key,
    until date not null
);
comment on table private.day_partitions is 'The partitions of private.team_days and private.earning_days, by number.';
comment on column private.day_partitions.until is
'The first day after it. It begins where the one before ends; the first has all earlier days.';
alter table private.day_partitions enable row level security;

create function private.add_day_partition() returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_last private.day_partitions;
    v_number integer;
    v_until date;
    v_table text;
    v_name text;
begin
    select * into v_last from private.day_partitions as p order by p.number desc limit 1;
    v_number := coalesce(v_last.number, 0) + 1;
    v_until := coalesce(v_last.until, pg_catalog.date_trunc('year', private.clock() at time zone 'UTC')) + interval '1 year';
    foreach v_table in array array['team_days', 'earning_days'] loop
        v_name := pg_catalog.format('%s_%s', v_table, v_number);
        -- Attached, not created in its place: that would wait for every reader.
        execute pg_catalog.format('create table private.%I (like private.%I including constraints)', v_name, v_table);
        execute pg_catalog.format('comment on table private.%I is %L', v_name, 'Days before ' || v_until || '.');
        execute pg_catalog.format('alter table private.%I enable row level security', v_name);
        execute pg_catalog.format(
            'alter table private.%I attach partition private.%I for values from (%s) to (%L)',
            v_table, v_name, coalesce(pg_catalog.quote_literal(v_last.until), 'minvalue'), v_until
        );
    end loop;
    insert into private.day_partitions (number, until) values (v_number, v_until);
end
$$;
comment on function private.add_day_partition() is
'Makes the next partition of both tables of days: a year. Sign-ups and new packages wait for the transaction, for the key to private.positions. Call under the lock of the roll-up.';

create function private.add_day_partitions_until(p_day date) returns integer
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    v_made integer := 0;
begin
    while not exists (select 1 from private.day_partitions as p where p.until > p_day) loop
        perform private.add_day_partition();
        v_made := v_made + 1;
    end loop;
    return v_made;
end
$$;
comment on function private.add_day_partitions_until(date) is
'Makes the partitions that are missing up to the one of a day; returns how many. Call under the lock of the roll-up.';

-- It has all days that there are, be the clock behind some of them.
do $$
declare
    v_today date := (private.clock() at time zone 'UTC')::date;
    v_last date := greatest(v_today, (select max(d.day) from private.team_days_1 as d), (select max(d.day) from private.earning_days_1 as d));
    v_until date := pg_catalog.date_trunc('year', v_last) + interval '1 year';
    v_table text;
begin
    foreach v_table in array array['team_days', 'earning_days'] loop
        execute pg_catalog.format('comment on table private.%I is %L', v_table || '_1', 'Days before ' || v_until || '.');
        execute pg_catalog.format(
            'alter table private.%I attach partition private.%I for values from (minvalue) to (%L)', v_table, v_table || '_1', v_until
        );
    end loop;
    insert into private.day_partitions (number, until) values (1, v_until);
    perform private.add_day_partitions_until((v_today + interval '1 year')::date);
end
$$;
analyze private.team_days, private.earning_days;

create function jobs.prepare_days() returns integer
language plpgsql volatile security definer set search_path = ''
set lock_timeout = '3s' as $$
begin
    -- Autovacuum analyses each partition, never the whole, of which a join is estimated.
    analyze private.team_days, private.earning_days;
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('networks'));
    return private.add_day_partitions_until(((private.clock() at time zone 'UTC') + interval '1 year')::date);
end
$$;
comment on function jobs.prepare_days() is
'Makes the partitions of stored days up to a year from now; returns how many. Analyses the whole first.';
grant execute on function jobs.prepare_days() to worker;

create or replace function jobs.roll_up_networks() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_rows integer;
    v_large_teams integer[];
begin
    -- One roll-up at a time; readers see either the deltas or the totals that include them.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('networks'));
    -- There for a year, unless the worker was away for as long.
    perform private.add_day_partitions_until((private.clock() at time zone 'UTC')::date);
    with taken as (
        delete from private.network_deltas
        returning no, day, members, funded, package_cents, referral, pairing, override
    ),
    placed as (
        select t.*, o.referrer_no, p.depth
        from taken as t
        inner join private.positions as o on t.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
    ),
    propagated as (
        insert into private.network_rollup_staging (no, depth, members, package_cents, referral, pairing, override)
        select t.no, t.depth, sum(t.members), sum(t.package_cents), sum(t.referral), sum(t.pairing), sum(t.override)
        from placed as t group by t.no, t.depth
    ),
    days as (
        insert into private.team_day_rollup_staging (no, day, depth, own_members, own_funded)
        select t.no, t.day, t.depth, sum(t.members), sum(t.funded)
        from placed as t where t.members <> 0 or t.funded <> 0 group by t.no, t.day, t.depth
    ),
    direct as (
        insert into private.networks as n (no, direct_cents, direct_funded)
        select t.referrer_no, sum(t.package_cents), sum(t.funded)
        from placed as t
        where t.referrer_no is not null and (t.package_cents <> 0 or t.funded <> 0)
        group by t.referrer_no order by t.referrer_no
        on conflict (no) do update set
            direct_cents = n.direct_cents + excluded.direct_cents, direct_funded = n.direct_funded + excluded.direct_funded
    ),
    earned as (
        insert into private.earning_days as d (no, day, referral, pairing, override)
        select t.no, t.day, sum(t.referral), sum(t.pairing), sum(t.override)
        from taken as t where t.referral <> 0 or t.pairing <> 0 or t.override <> 0 group by t.no, t.day
        on conflict (no, day) do update set
            referral = d.referral + excluded.referral,
            pairing = d.pairing + excluded.pairing,
            override = d.override + excluded.override
        returning d.no
    ),
    noted as (
        insert into private.ledger_changes (no, is_earner) select distinct e.no, true from earned as e
    )
    select count(*)::integer into v_rows from taken;
    perform private.propagate_staged_totals();
    v_large_teams := private.finalise_network_roll_up();
    if pg_catalog.cardinality(v_large_teams) > 0 then
        perform private.backfill_team_days(v_large_teams, 20);
    end if;
    return v_rows;
end
$$;
