-- Network totals and growth. A network is a member and the downline. The company's share is what remains of the
-- packages after all bonuses earned in the network. Totals are materialised: a change appends a delta for its member
-- and day, and a job propagates the deltas to everybody above. Earnings by day, and the daily growth of a large team,
-- use the same deltas, which every sign-up and bonus writes anyway, so no chart walks a large network. Days are UTC.
-- Stored days are written once and read for ever, so they lie in partitions of a year: a roll-up writes into the newest.

create table private.networks (
    no integer primary key references private.positions (no) on delete restrict,
    members integer not null default 0,
    package_cents bigint not null default 0,
    referral numeric not null default 0,
    pairing numeric not null default 0,
    override numeric not null default 0,
    has_days boolean not null default false,
    direct_cents bigint not null default 0,
    direct_funded integer not null default 0
);
comment on table private.networks is
'Rolled-up totals of a member and the downline. The current value is these plus the pending deltas of the downline.';
comment on column private.networks.direct_cents is 'Packages of the direct referrals alone, rolled up; read where a member has many.';
comment on column private.networks.direct_funded is 'Number of funded direct referrals, rolled up.';
comment on column private.networks.has_days is 'A large team: private.team_days has its growth by day.';
alter table private.networks enable row level security;
-- The ledger checks look for the large teams: a few thousand among millions of members.
create index networks_large_team_idx on private.networks (no) where has_days;

create table private.network_deltas (
    id bigint generated always as identity,
    no integer not null,
    members integer not null default 0,
    package_cents bigint not null default 0,
    referral numeric not null default 0,
    pairing numeric not null default 0,
    override numeric not null default 0,
    day date not null,
    funded integer not null default 0,
    -- The member first: one index, which the deltas of a member are read along.
    primary key (no, id)
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
comment on table private.network_deltas is
'Deltas of one member since the last roll-up. Appended, so that no transaction waits for a shared row.';
comment on column private.network_deltas.day is 'The day on which the member joined, was funded or earned it; charts use it.';
comment on column private.network_deltas.funded is
'1 when the referrer got the referral bonus, -1 when a correction removed it, on the day of that bonus.';
comment on column private.network_deltas.no is
'A position. No foreign key: only triggers write here, from existing rows, and positions are never deleted.';
alter table private.network_deltas enable row level security;

create unlogged table private.network_rollup_staging (
    no integer primary key,
    depth integer not null,
    members integer not null,
    package_cents bigint not null,
    referral numeric not null,
    pairing numeric not null,
    override numeric not null
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
comment on table private.network_rollup_staging is
'Totals being propagated by a roll-up; empty otherwise. Unlogged: a crash also rolls the roll-up back.';
alter table private.network_rollup_staging enable row level security;
create index network_rollup_staging_depth_idx on private.network_rollup_staging (depth);

-- Teams of up to 500 are walked, which takes milliseconds; daily rows for every member would be a row for each member
-- and ancestor.
create table private.team_days (
    no integer not null references private.positions (no) on delete restrict,
    day date not null,
    members integer not null default 0,
    funded integer not null default 0,
    primary key (no, day)
) partition by range (day);
comment on table private.team_days is 'Members who joined and who were funded in a large team, by day; rolled up. In partitions of a year.';
alter table private.team_days enable row level security;

create unlogged table private.team_day_rollup_staging (
    no integer not null,
    day date not null,
    depth integer not null,
    own_members integer not null default 0,
    own_funded integer not null default 0,
    members integer not null default 0,
    funded integer not null default 0,
    primary key (no, day)
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
comment on table private.team_day_rollup_staging is
'Days being propagated by a roll-up, own ones apart from the downline''s; empty otherwise. Unlogged: a crash also rolls the roll-up back.';
alter table private.team_day_rollup_staging enable row level security;
create index team_day_rollup_staging_depth_idx on private.team_day_rollup_staging (depth);

create table private.earning_days (
    no integer not null references private.positions (no) on delete restrict,
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

select private.add_day_partitions_until(((private.clock() at time zone 'UTC') + interval '1 year')::date);

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

create function private.positions_record_network_delta() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if tg_op = 'INSERT' then
        insert into private.network_deltas (no, day, members, package_cents)
        select new.no, (p.created_at at time zone 'UTC')::date, 1, new.package_cents
        from private.profiles as p where p.user_id = new.user_id;
    elsif not private.is_repairing() then
        insert into private.network_deltas (no, day, package_cents)
        values (new.no, (pg_catalog.now() at time zone 'UTC')::date, new.package_cents - old.package_cents);
    end if;
    return null;
end
$$;
comment on function private.positions_record_network_delta() is 'Trigger: appends a delta for a new member or a new package.';

create trigger _500_network_insert after insert on private.positions
for each row execute function private.positions_record_network_delta();
create trigger _500_network_update after update of package_cents on private.positions
for each row when (old.package_cents is distinct from new.package_cents) execute function private.positions_record_network_delta();

-- Propagate deltas up the tree level by level, deepest first, summing each level before the next: a member is visited
-- once however many deltas the downline has. Walking up from every delta would take minutes after an import, and a
-- million steps for a chain of a thousand. The staging tables hold rows only during the roll-up, under its lock.
create function jobs.roll_up_networks() returns integer
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
comment on function jobs.roll_up_networks() is 'Propagates the deltas to every member above and into the daily tables; returns how many.';
grant execute on function jobs.roll_up_networks() to worker;

create function private.propagate_staged_totals() returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_depth integer := (select max(c.depth) from private.network_rollup_staging as c);
begin
    while v_depth > 0 loop
        insert into private.network_rollup_staging as n (no, depth, members, package_cents, referral, pairing, override)
        select
            o.referrer_no, v_depth - 1, sum(c.members), sum(c.package_cents), sum(c.referral), sum(c.pairing), sum(c.override)
        from private.network_rollup_staging as c
        inner join private.positions as o on c.no = o.no
        where c.depth = v_depth
        group by o.referrer_no
        on conflict (no) do update set
            members = n.members + excluded.members,
            package_cents = n.package_cents + excluded.package_cents,
            referral = n.referral + excluded.referral,
            pairing = n.pairing + excluded.pairing,
            override = n.override + excluded.override;
        perform private.propagate_team_days(v_depth);
        v_depth := v_depth - 1;
    end loop;
end
$$;
comment on function private.propagate_staged_totals() is
'Adds the staged totals of each level, and the staged days, to the level above, from the deepest to the roots.';

create function private.propagate_team_days(p_depth integer) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.team_day_rollup_staging as n (no, day, depth, members, funded)
    select o.referrer_no, c.day, p_depth - 1, sum(c.own_members + c.members), sum(c.own_funded + c.funded)
    from private.team_day_rollup_staging as c
    inner join private.positions as o on c.no = o.no
    where c.depth = p_depth
    group by o.referrer_no, c.day
    on conflict (no, day) do update set members = n.members + excluded.members, funded = n.funded + excluded.funded;
end
$$;
comment on function private.propagate_team_days(integer) is
'One level of the roll-up: propagates the days of members at this depth to their referrers.';

create function private.finalise_network_roll_up() returns integer[]
language plpgsql volatile set search_path = '' as $$
declare
    v_large_teams integer[];
begin
    with propagated as (
        delete from private.team_day_rollup_staging returning no, day, members, funded
    )
    insert into private.team_days as d (no, day, members, funded)
    select c.no, c.day, c.members, c.funded
    from propagated as c inner join private.networks as n on c.no = n.no
    where n.has_days and (c.members <> 0 or c.funded <> 0)
    order by c.no, c.day
    on conflict (no, day) do update set members = d.members + excluded.members, funded = d.funded + excluded.funded;
    with propagated as (
        delete from private.network_rollup_staging
        returning no, members, package_cents, referral, pairing, override
    ),
    finalised as (
        insert into private.networks as n (no, members, package_cents, referral, pairing, override)
        select c.no, c.members, c.package_cents, c.referral, c.pairing, c.override
        from propagated as c
        order by c.no
        on conflict (no) do update set
            members = n.members + excluded.members,
            package_cents = n.package_cents + excluded.package_cents,
            referral = n.referral + excluded.referral,
            pairing = n.pairing + excluded.pairing,
            override = n.override + excluded.override
        returning n.no, n.members, n.has_days
    ),
    noted as (
        insert into private.ledger_changes (no) select f.no from finalised as f
    )
    select array(select s.no from finalised as s where s.members > 500 and not s.has_days) into v_large_teams;
    return v_large_teams;
end
$$;
comment on function private.finalise_network_roll_up() is
'The end of a roll-up: adds the staged values to totals and days, and notes whose totals changed. Returns large teams whose days are not materialised yet.';

create function private.backfill_team_days(p_nos integer[], p_max integer) returns integer
language plpgsql volatile set search_path = '' as $$
declare
    v_no integer;
    v_rows integer := 0;
begin
    -- Small teams first: a larger one then reuses the days of those within it.
    for v_no in
        select n.no from private.networks as n
        where n.no = any(p_nos) and not n.has_days
        order by n.members, n.no limit p_max
    loop
        insert into private.team_days (no, day, members, funded)
        with recursive downline as (
            select v_no as no, false as has_days
            union all
            select c.no, coalesce(n.has_days, false)
            from downline as b
            inner join private.positions as c on b.no = c.referrer_no
            left join private.networks as n on c.no = n.no
            where not b.has_days
        ), found as (
            select (p.created_at at time zone 'UTC')::date as day, 1 as members, 0 as funded
            from downline as b
            inner join private.positions as o on b.no = o.no
            inner join private.profiles as p on o.user_id = p.user_id
            where b.no <> v_no
            union all
            select (r.created_at at time zone 'UTC')::date, 0, 1
            from downline as b inner join public.bonuses as r on r.bonus_type = 'referral' and b.no = r.subject_no and r.amount > 0
            where b.no <> v_no
            union all
            select d.day, d.members, d.funded
            from downline as b inner join private.team_days as d on b.no = d.no
            where b.has_days
            union all
            -- Subtract pending deltas: the next roll-up adds them.
            select c.day, -c.members, -c.funded
            from downline as b inner join private.network_deltas as c on b.no = c.no
            where b.no <> v_no
        )
        select v_no, f.day, sum(f.members), sum(f.funded)
        from found as f group by f.day having sum(f.members) <> 0 or sum(f.funded) <> 0;
        update private.networks as n set has_days = true where n.no = v_no;
        v_rows := v_rows + 1;
    end loop;
    return v_rows;
end
$$;
comment on function private.backfill_team_days(integer[], integer) is
'Starts materialising the daily growth of these members'' teams, at most p_max of them; returns how many. Called by the roll-up, under its lock.';

create function private.network_sums(p_member private.profiles) returns private.networks
language plpgsql stable set search_path = '' as $$
declare
    v_sums private.networks;
begin
    -- One statement: a roll-up between two would count deltas twice or not at all.
    select
        a.no, sum(a.members)::integer, sum(a.package_cents)::bigint, sum(a.referral), sum(a.pairing), sum(a.override)
    into v_sums.no, v_sums.members, v_sums.package_cents, v_sums.referral, v_sums.pairing, v_sums.override
    from (
        select o.no, n.members, n.package_cents, n.referral, n.pairing, n.override
        from private.positions as o
        inner join private.networks as n on o.no = n.no
        where o.user_id = (p_member).user_id
        union all
        select o.no, c.members, c.package_cents, c.referral, c.pairing, c.override
        from private.network_deltas as c
        inner join private.positions as q on c.no = q.no
        inner join private.profiles as p on q.user_id = p.user_id
        inner join private.positions as o on o.user_id = (p_member).user_id
        where p.id = (p_member).id or private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth)
    ) as a
    group by a.no;
    return v_sums;
end
$$;
comment on function private.network_sums(private.profiles) is 'Current totals of a member and the downline.';

create function public.get_network_summary() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_sums private.networks := private.network_sums(private.require_member());
    v_packages numeric := v_sums.package_cents / 100.0;
    v_earned numeric := v_sums.referral + v_sums.pairing + v_sums.override;
begin
    return pg_catalog.jsonb_build_object(
        'member_count', v_sums.members,
        'team_count', v_sums.members - 1,
        'total_packages', private.money(v_packages),
        'total_referral', private.money(v_sums.referral),
        'total_pairing', private.money(v_sums.pairing),
        'total_override', private.money(v_sums.override),
        'total_user', private.money(v_earned),
        'total_company_profit', private.money(v_packages - v_earned),
        'profit_percentage', private.percent(
            case when v_packages > 0 then (v_packages - v_earned) / v_packages * 100 else 0 end
        ),
        'as_of', pg_catalog.now()
    );
end
$$;
comment on function public.get_network_summary() is
'The caller''s network: members, packages, bonuses by type. total_user = referral + pairing + override; total_company_profit = packages - total_user; profit_percentage = total_company_profit / packages, 0 without packages. Errors: profile_not_found.';
grant execute on function public.get_network_summary() to authenticated;

create function private.team_growth(p_member private.profiles, p_no integer)
returns table (day date, members integer, funded integer)
language plpgsql stable set search_path = ''
-- A recursive walk: the planner overestimates its rows.
set enable_hashjoin = 'off' set enable_mergejoin = 'off' as $$
begin
    if (select n.has_days from private.networks as n where n.no = p_no) then
        return query
        select d.day, d.members, d.funded from private.team_days as d where d.no = p_no
        union all
        select c.day, c.members, c.funded
        from private.network_deltas as c
        inner join private.positions as o on c.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
        where (c.members <> 0 or c.funded <> 0)
            and private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth);
        return;
    end if;
    return query
    with team as (
        -- A member counts as funded from the moment of the referral bonus.
        select p.created_at as joined_at, b.created_at as funded_at
        from private.network_positions(p_no) as n
        inner join private.positions as o on n.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
        left join public.bonuses as b on b.bonus_type = 'referral' and o.no = b.subject_no and b.amount > 0
        where n.level > 0
    )
    select (t.joined_at at time zone 'UTC')::date, 1, 0 from team as t
    union all
    select (t.funded_at at time zone 'UTC')::date, 0, 1 from team as t where t.funded_at is not null;
end
$$;
comment on function private.team_growth(private.profiles, integer) is
'Members who joined and who were funded in the downline, by day: of a large team from private.team_days, of a small one by walking it.';

create function public.get_team_growth(p_range text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
    v_no integer;
    v_range record;
    v_points jsonb;
    v_joined jsonb;
    v_previous jsonb;
begin
    select o.no into v_no from private.positions as o where o.user_id = v_member.user_id;
    select * into v_range from private.chart_range(p_range, v_member.created_at);
    with days as materialized (
        select c.day, c.members, c.funded from private.team_growth(v_member, v_no) as c
    ),
    per_bar as (
        select
            -- What happened before the chart counts in its first bar.
            greatest(pg_catalog.date_trunc(v_range.bucket, c.day::timestamp), v_range.first_day::timestamp) as start,
            sum(c.members) as members,
            sum(c.funded) as funded
        from days as c
        group by 1
    ),
    bars as (
        select
            s.start,
            sum(coalesce(c.members, 0)) over (order by s.start) as members,
            sum(coalesce(c.funded, 0)) over (order by s.start) as funded
        from pg_catalog.generate_series(
            v_range.first_day::timestamp, v_range.last_day::timestamp, ('1 ' || v_range.bucket)::interval
        ) as s (start)
        left join per_bar as c on s.start = c.start
    )
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object('start', a.start::date, 'members', a.members, 'funded', a.funded) order by a.start
        ),
        (
            select pg_catalog.jsonb_build_object('members', coalesce(sum(d.members), 0), 'funded', coalesce(sum(d.funded), 0))
            from days as d where d.day >= v_range.first_day
        ),
        (
            select pg_catalog.jsonb_build_object('members', coalesce(sum(d.members), 0), 'funded', coalesce(sum(d.funded), 0))
            from days as d where d.day between v_range.previous_first_day and v_range.previous_last_day
        )
    into v_points, v_joined, v_previous
    from bars as a;
    return pg_catalog.jsonb_build_object(
        'from', v_range.first_day, 'to', v_range.last_day, 'bucket', v_range.bucket, 'points', v_points, 'joined', v_joined,
        'previous', case when v_range.previous_first_day is not null then
            v_previous || pg_catalog.jsonb_build_object('from', v_range.previous_first_day, 'to', v_range.previous_last_day)
        end
    );
end
$$;
comment on function public.get_team_growth(text) is
'Size of the caller''s team at the end of each bar, and how many are funded; joined counts the days of the chart, previous those to compare with. Ranges as in get_earnings. Errors: invalid_range.';
grant execute on function public.get_team_growth(text) to authenticated;
