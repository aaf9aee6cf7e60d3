-- Charts over time without walking a network: what a member earned by day, and how a large team grew by day. Both
-- ride on private.network_changes, which every sign-up and every bonus writes anyway: a change now says its day,
-- and the fold carries it on. Days are UTC days. A team of up to 500 is still walked, which takes milliseconds;
-- keeping days for every member would be a row for each member and ancestor.
-- Takes the locks of a purchase for as long as the journal is added up once, some seconds for a million bonuses.

do $$
begin
    lock table public.bonuses, private.positions in share row exclusive mode;
    lock table private.totals, private.networks, private.network_changes in access exclusive mode;
    -- What is noted already has no day: it is folded as before.
    perform jobs.fold_networks();
end
$$;

-- The table is empty and locked: the default is for nobody.
alter table private.network_changes
add column day date not null default '1970-01-01',
add column funded integer not null default 0;
-- squawk-ignore ban-drop-default
alter table private.network_changes alter column day drop default;
comment on column private.network_changes.day is 'The day on which the member joined, was funded or earned it, by which charts count it.';
comment on column private.network_changes.funded is 'One when the sponsor got the referral bonus, minus one when a correction took it away, on the day of that bonus.';

alter table private.networks
add column has_days boolean not null default false,
add column direct_cents bigint not null default 0,
add column direct_funded integer not null default 0;
-- By name, since the row has more columns now.
create or replace function private.network_sums(p_member private.profiles) returns private.networks
language plpgsql stable set search_path = '' as $$
declare
    v_sums private.networks;
begin
    -- One statement: a fold between two would count twice or not at all.
    select
        a.no, sum(a.members)::integer, sum(a.package_cents)::bigint, sum(a.referral), sum(a.pairing), sum(a.override)
    into v_sums.no, v_sums.members, v_sums.package_cents, v_sums.referral, v_sums.pairing, v_sums.override
    from (
        select o.no, n.members, n.package_cents, n.referral, n.pairing, n.override
        from private.positions as o
        inner join private.networks as n on o.no = n.no
        where o.profile_id = (p_member).id
        union all
        select o.no, c.members, c.package_cents, c.referral, c.pairing, c.override
        from private.network_changes as c
        inner join private.positions as q on c.no = q.no
        inner join private.profiles as p on q.profile_id = p.id
        inner join private.positions as o on o.profile_id = (p_member).id
        where p.id = (p_member).id or private.is_below(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth)
    ) as a
    group by a.no;
    return v_sums;
end
$$;

comment on column private.networks.direct_cents is 'Packages of the direct referrals alone, folded; a hub''s screens read it.';
comment on column private.networks.direct_funded is 'How many direct referrals are funded, folded.';
update private.networks as n set direct_cents = c.cents, direct_funded = c.funded
from (
    select o.referrer_no, sum(o.package_cents) as cents, count(*) filter (where o.paid_cents > 0) as funded
    from private.positions as o where o.package_cents > 0 group by o.referrer_no
) as c
where n.no = c.referrer_no;
comment on column private.networks.has_days is 'Large: private.team_days has its growth by day.';

create table private.team_days (
    no integer not null references private.positions (no) on delete restrict,
    day date not null,
    members integer not null default 0,
    funded integer not null default 0,
    primary key (no, day)
);
alter table private.team_days enable row level security;
comment on table private.team_days is 'Members who joined, and who were funded, below a member with a large team, by day; folded.';

create unlogged table private.team_day_carries (
    no integer not null,
    day date not null,
    depth integer not null,
    own_members integer not null default 0,
    own_funded integer not null default 0,
    members integer not null default 0,
    funded integer not null default 0,
    primary key (no, day)
);
alter table private.team_day_carries enable row level security;
create index team_day_carries_depth_idx on private.team_day_carries (depth);
alter table private.team_day_carries set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
comment on table private.team_day_carries is 'Days on their way up during a fold, the own ones beside those from below; empty otherwise. Unlogged: a crash also undoes the fold.';

create table private.earning_days (
    no integer not null references private.positions (no) on delete restrict,
    day date not null,
    referral numeric not null default 0,
    pairing numeric not null default 0,
    override numeric not null default 0,
    primary key (no, day)
);
alter table private.earning_days enable row level security;
comment on table private.earning_days is 'Bonus journal of a member by day and type; folded.';

insert into private.earning_days (no, day, referral, pairing, override)
select
    o.no,
    (t.created_at at time zone 'UTC')::date,
    coalesce(sum(t.amount) filter (where b.bonus_type = 'referral'), 0),
    coalesce(sum(t.amount) filter (where b.bonus_type = 'pairing'), 0),
    coalesce(sum(t.amount) filter (where b.bonus_type = 'override'), 0)
from public.transactions as t
inner join public.bonuses as b on t.reference_id = b.id
inner join private.positions as o on t.user_id = o.user_id
where t.transaction_type = 'bonus'
group by o.no, (t.created_at at time zone 'UTC')::date;

create or replace function private.position_changed() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if tg_op = 'INSERT' then
        insert into private.network_changes (no, day, members, package_cents)
        select new.no, (p.created_at at time zone 'UTC')::date, 1, new.package_cents
        from private.profiles as p where p.id = new.profile_id;
    else
        insert into private.network_changes (no, day, package_cents)
        values (new.no, (pg_catalog.now() at time zone 'UTC')::date, new.package_cents - old.package_cents);
    end if;
    return null;
end
$$;

-- What a member earns is noted where the bonus is written, which knows its day; the sums know it no more.
drop trigger _500_network on private.totals;
-- squawk-ignore ban-drop-function
drop function private.earnings_changed();

create or replace function private.bonuses_posted() returns trigger
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
    insert into private.network_changes (no, day, referral, pairing, override, funded)
    select
        o.no,
        (n.created_at at time zone 'UTC')::date,
        coalesce(sum(n.amount) filter (where n.bonus_type = 'referral'), 0),
        coalesce(sum(n.amount) filter (where n.bonus_type = 'pairing'), 0),
        coalesce(sum(n.amount) filter (where n.bonus_type = 'override'), 0),
        0
    from added as n inner join private.positions as o on n.user_id = o.user_id
    where n.amount <> 0
    group by o.no, (n.created_at at time zone 'UTC')::date
    union all
    select n.subject_no, (n.created_at at time zone 'UTC')::date, 0, 0, 0, 1
    from added as n where n.bonus_type = 'referral' and n.amount > 0;
    insert into private.counter_deltas (name, delta)
    select 'bonuses', sum(n.amount) from added as n having sum(n.amount) <> 0
    union all
    select 'bonus_rows', count(*) from added as n having count(*) > 0;
    return null;
end
$$;
comment on function private.bonuses_posted() is 'Journal, sums, days and counts of new bonuses.';

create or replace function private.bonuses_changed() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_now timestamptz := private.clock();
begin
    perform pg_catalog.nextval('private.postings');
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    select c.user_id, sum(c.amount), 'bonus', 'completed', c.id, v_now
    from (
        select n.id, n.user_id, n.amount from after as n
        union all
        select o.id, o.user_id, -o.amount from before as o
    ) as c
    group by c.id, c.user_id having sum(c.amount) <> 0;
    update private.totals as t set
        referral_amount = t.referral_amount + s.referral,
        pairing_amount = t.pairing_amount + s.pairing,
        override_amount = t.override_amount + s.override,
        reentry_amount = t.reentry_amount + s.reentry
    from (
        select
            c.user_id,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0) as referral,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0) as pairing,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0) as override,
            sum(c.reentry) as reentry
        from (
            select n.user_id, n.bonus_type, n.amount, n.reentry_amount as reentry from after as n
            union all
            select o.user_id, o.bonus_type, -o.amount, -o.reentry_amount from before as o
        ) as c
        group by c.user_id
    ) as s
    where t.user_id = s.user_id;
    insert into private.network_changes (no, day, referral, pairing, override)
    select
        p.no,
        (v_now at time zone 'UTC')::date,
        coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0),
        coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0),
        coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0)
    from (
        select n.user_id, n.bonus_type, sum(n.amount) as amount from after as n group by n.user_id, n.bonus_type
        union all
        select o.user_id, o.bonus_type, -sum(o.amount) from before as o group by o.user_id, o.bonus_type
    ) as c
    inner join private.positions as p on c.user_id = p.user_id
    group by p.no having sum(c.amount) <> 0;
    -- A member is funded from the day of the referral bonus, as long as it is one.
    insert into private.network_changes (no, day, funded)
    select c.subject_no, c.day, sum(c.funded)
    from (
        select n.subject_no, (n.created_at at time zone 'UTC')::date as day, (n.amount > 0)::integer as funded
        from after as n where n.bonus_type = 'referral'
        union all
        select o.subject_no, (o.created_at at time zone 'UTC')::date, -(o.amount > 0)::integer
        from before as o where o.bonus_type = 'referral'
    ) as c
    group by c.subject_no, c.day having sum(c.funded) <> 0;
    perform private.count_up('bonuses', (select sum(n.amount) from after as n) - (select sum(o.amount) from before as o));
    return null;
end
$$;
comment on function private.bonuses_changed() is 'Journal row of the difference, sums, days and counts when bonuses are re-rated.';

create function private.keep_team_days(p_nos integer[], p_most integer) returns integer
language plpgsql volatile set search_path = '' as $$
declare
    v_no integer;
    v_rows integer := 0;
begin
    -- Small teams first, so that a larger one is made of those below it and of what is left.
    for v_no in
        select n.no from private.networks as n
        where n.no = any(p_nos) and not n.has_days
        order by n.members, n.no limit p_most
    loop
        insert into private.team_days (no, day, members, funded)
        with recursive below as (
            select v_no as no, false as has_days
            union all
            select c.no, coalesce(n.has_days, false)
            from below as b
            inner join private.positions as c on b.no = c.referrer_no
            left join private.networks as n on c.no = n.no
            where not b.has_days
        ), found as (
            select (p.created_at at time zone 'UTC')::date as day, 1 as members, 0 as funded
            from below as b
            inner join private.positions as o on b.no = o.no
            inner join private.profiles as p on o.profile_id = p.id
            where b.no <> v_no
            union all
            select (r.created_at at time zone 'UTC')::date, 0, 1
            from below as b inner join public.bonuses as r on r.bonus_type = 'referral' and b.no = r.subject_no and r.amount > 0
            where b.no <> v_no
            union all
            select d.day, d.members, d.funded
            from below as b inner join private.team_days as d on b.no = d.no
            where b.has_days
            union all
            -- What is noted and not folded yet comes with the next fold.
            select c.day, -c.members, -c.funded
            from below as b inner join private.network_changes as c on b.no = c.no
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
comment on function private.keep_team_days(integer[], integer) is
'Begins to keep the growth by day of these members'' teams, of at most so many; answers of how many. Called by the fold, under its lock.';

create function private.carry_days_up(p_depth integer) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.team_day_carries as n (no, day, depth, members, funded)
    select o.referrer_no, c.day, p_depth - 1, sum(c.own_members + c.members), sum(c.own_funded + c.funded)
    from private.team_day_carries as c
    inner join private.positions as o on c.no = o.no
    where c.depth = p_depth
    group by o.referrer_no, c.day
    on conflict (no, day) do update set members = n.members + excluded.members, funded = n.funded + excluded.funded;
end
$$;
comment on function private.carry_days_up(integer) is 'One level of the fold: days of the members at this depth, to their sponsors.';

create or replace function jobs.fold_networks() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_rows integer;
    v_depth integer;
    v_above integer[];
begin
    -- One fold at a time; readers see either the changes or the sums they went into.
    perform pg_catalog.pg_advisory_xact_lock(46);
    with taken as (
        delete from private.network_changes
        returning no, day, members, funded, package_cents, referral, pairing, override
    ),
    placed as (
        select t.*, o.referrer_no, p.depth
        from taken as t
        inner join private.positions as o on t.no = o.no
        inner join private.profiles as p on o.profile_id = p.id
    ),
    carried as (
        insert into private.network_carries (no, depth, members, package_cents, referral, pairing, override)
        select t.no, t.depth, sum(t.members), sum(t.package_cents), sum(t.referral), sum(t.pairing), sum(t.override)
        from placed as t group by t.no, t.depth
    ),
    days as (
        insert into private.team_day_carries (no, day, depth, own_members, own_funded)
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
    )
    select count(*)::integer into v_rows from taken;
    select max(c.depth) into v_depth from private.network_carries as c;
    while v_depth > 0 loop
        insert into private.network_carries as n (no, depth, members, package_cents, referral, pairing, override)
        select
            o.referrer_no, v_depth - 1, sum(c.members), sum(c.package_cents), sum(c.referral), sum(c.pairing), sum(c.override)
        from private.network_carries as c
        inner join private.positions as o on c.no = o.no
        where c.depth = v_depth
        group by o.referrer_no
        on conflict (no) do update set
            members = n.members + excluded.members,
            package_cents = n.package_cents + excluded.package_cents,
            referral = n.referral + excluded.referral,
            pairing = n.pairing + excluded.pairing,
            override = n.override + excluded.override;
        perform private.carry_days_up(v_depth);
        v_depth := v_depth - 1;
    end loop;
    v_above := private.settle_carries();
    if pg_catalog.cardinality(v_above) > 0 then
        perform private.keep_team_days(v_above, 20);
    end if;
    return v_rows;
end
$$;

create function private.settle_carries() returns integer[]
language plpgsql volatile set search_path = '' as $$
declare
    v_above integer[];
begin
    with carried as (
        delete from private.team_day_carries returning no, day, members, funded
    )
    insert into private.team_days as d (no, day, members, funded)
    select c.no, c.day, c.members, c.funded
    from carried as c inner join private.networks as n on c.no = n.no
    where n.has_days and (c.members <> 0 or c.funded <> 0)
    order by c.no, c.day
    on conflict (no, day) do update set members = d.members + excluded.members, funded = d.funded + excluded.funded;
    with carried as (
        delete from private.network_carries
        returning no, members, package_cents, referral, pairing, override
    ),
    settled as (
        insert into private.networks as n (no, members, package_cents, referral, pairing, override)
        select c.no, c.members, c.package_cents, c.referral, c.pairing, c.override
        from carried as c
        order by c.no
        on conflict (no) do update set
            members = n.members + excluded.members,
            package_cents = n.package_cents + excluded.package_cents,
            referral = n.referral + excluded.referral,
            pairing = n.pairing + excluded.pairing,
            override = n.override + excluded.override
        returning n.no, n.members, n.has_days
    )
    select array(select s.no from settled as s where s.members > 500 and not s.has_days) into v_above;
    return v_above;
end
$$;
comment on function private.settle_carries() is 'The end of a fold: what was carried becomes part of the sums and days. Answers large teams whose days are not kept yet.';
comment on function jobs.fold_networks() is 'Carries the changes up to every member above and into the days; answers how many.';

create or replace function public.get_team_growth(p_range text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.reading_member();
    v_no integer;
    v_range record;
    v_first_bar timestamp;
    v_points jsonb;
begin
    select o.no into v_no from private.positions as o where o.user_id = v_member.user_id;
    select * into v_range from private.chart_range(p_range, v_member.created_at);
    v_first_bar := pg_catalog.date_trunc(v_range.bucket, v_range.first_day::timestamp);
    with per_bar as (
        select
            -- What happened before the chart begins stands in its first bar.
            greatest(pg_catalog.date_trunc(v_range.bucket, c.day::timestamp), v_first_bar) as start,
            sum(c.members) as members,
            sum(c.funded) as funded
        from private.team_growth(v_member, v_no) as c
        group by 1
    ),
    bars as (
        select
            s.start,
            sum(coalesce(c.members, 0)) over (order by s.start) as members,
            sum(coalesce(c.funded, 0)) over (order by s.start) as funded
        from pg_catalog.generate_series(v_first_bar, v_range.last_day::timestamp, ('1 ' || v_range.bucket)::interval) as s (start)
        left join per_bar as c on s.start = c.start
    )
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object('start', a.start::date, 'members', a.members, 'funded', a.funded) order by a.start
    )
    into v_points
    from bars as a;
    return pg_catalog.jsonb_build_object(
        'from', v_range.first_day, 'to', v_range.last_day, 'bucket', v_range.bucket, 'points', v_points
    );
end
$$;

create function private.team_growth(p_member private.profiles, p_no integer)
returns table (day date, members integer, funded integer)
language plpgsql stable set search_path = ''
-- A walk goes from member to member: nobody can tell the planner how few they are.
set enable_hashjoin = 'off' set enable_mergejoin = 'off' as $$
begin
    if (select n.has_days from private.networks as n where n.no = p_no) then
        return query
        select d.day, d.members, d.funded from private.team_days as d where d.no = p_no
        union all
        select c.day, c.members, c.funded
        from private.network_changes as c
        inner join private.positions as o on c.no = o.no
        inner join private.profiles as p on o.profile_id = p.id
        where (c.members <> 0 or c.funded <> 0)
            and private.is_below(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth);
        return;
    end if;
    return query
    with team as (
        -- A member is funded from the moment at which the sponsor earned the referral bonus.
        select p.created_at as joined_at, b.created_at as funded_at
        from private.network(p_no) as n
        inner join private.positions as o on n.no = o.no
        inner join private.profiles as p on o.profile_id = p.id
        left join public.bonuses as b on b.bonus_type = 'referral' and o.no = b.subject_no and b.amount > 0
        where n.level > 0
    )
    select (t.joined_at at time zone 'UTC')::date, 1, 0 from team as t
    union all
    select (t.funded_at at time zone 'UTC')::date, 0, 1 from team as t where t.funded_at is not null;
end
$$;
comment on function private.team_growth(private.profiles, integer) is
'Who joined and who was funded below a member, by day: of a large team from the kept days, of a small one by walking it.';

create or replace function public.get_earnings(p_range text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.reading_member();
    v_no integer;
    v_range record;
    v_points jsonb;
    v_totals jsonb;
begin
    select o.no into v_no from private.positions as o where o.user_id = v_member.user_id;
    select * into v_range from private.chart_range(p_range, v_member.created_at);
    with days as (
        select d.day, d.referral, d.pairing, d.override
        from private.earning_days as d where d.no = v_no and d.day >= v_range.first_day
        union all
        select c.day, c.referral, c.pairing, c.override
        from private.network_changes as c where c.no = v_no and c.day >= v_range.first_day
    ),
    earned as (
        select
            pg_catalog.date_trunc(v_range.bucket, d.day::timestamp)::date as start,
            sum(d.referral) as referral,
            sum(d.pairing) as pairing,
            sum(d.override) as override
        from days as d
        group by 1
    ),
    bars as (
        select
            s.start::date as start,
            coalesce(e.referral, 0) as referral,
            coalesce(e.pairing, 0) as pairing,
            coalesce(e.override, 0) as override
        from pg_catalog.generate_series(
            pg_catalog.date_trunc(v_range.bucket, v_range.first_day::timestamp),
            v_range.last_day::timestamp,
            ('1 ' || v_range.bucket)::interval
        ) as s (start)
        left join earned as e on s.start::date = e.start
    )
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'start', a.start,
                'referral', private.money(a.referral),
                'pairing', private.money(a.pairing),
                'override', private.money(a.override)
            ) order by a.start
        ),
        pg_catalog.jsonb_build_object(
            'referral', private.money(sum(a.referral)),
            'pairing', private.money(sum(a.pairing)),
            'override', private.money(sum(a.override)),
            'total', private.money(sum(a.referral + a.pairing + a.override))
        )
    into v_points, v_totals
    from bars as a;
    return pg_catalog.jsonb_build_object(
        'from', v_range.first_day,
        'to', v_range.last_day,
        'bucket', v_range.bucket,
        'totals', v_totals,
        'points', v_points
    );
end
$$;
comment on function public.get_earnings(text) is
'The caller''s earnings by type over time, by the journal''s days, so that an upgrade''s increase stands where it happened. Ranges 30d, 90d, 12m, all; days in UTC, weeks from Monday. Errors: invalid_range.';
