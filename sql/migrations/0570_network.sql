-- What the network below a member brought, and how it grew. A network is the member and everybody below. The
-- company's share is what is left of the packages after every bonus that anybody in the network earned. The sums
-- are kept: a change is noted at the member it happened to, and a job carries the notes up to everybody above.

create table private.networks (
    no integer primary key references private.positions (no) on delete restrict,
    members integer not null default 0,
    package_cents bigint not null default 0,
    referral numeric not null default 0,
    pairing numeric not null default 0,
    override numeric not null default 0
);
alter table private.networks enable row level security;
comment on table private.networks is 'Folded sums over a member and everybody below. The truth is these plus the changes below the member that are not folded yet.';

create table private.network_changes (
    id bigint generated always as identity primary key,
    no integer not null references private.positions (no) on delete restrict,
    members integer not null default 0,
    package_cents bigint not null default 0,
    referral numeric not null default 0,
    pairing numeric not null default 0,
    override numeric not null default 0
);
alter table private.network_changes enable row level security;
create index network_changes_no_idx on private.network_changes (no);
comment on table private.network_changes is 'What changed at one member since the last fold. Appended, so that nobody waits for a sum that all share.';

create function private.position_changed() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    insert into private.network_changes (no, members, package_cents)
    values (
        new.no,
        case tg_op when 'INSERT' then 1 else 0 end,
        new.package_cents - case tg_op when 'INSERT' then 0 else old.package_cents end
    );
    return null;
end
$$;
comment on function private.position_changed() is 'Notes a new member, or a new package, for the networks above.';
create trigger _500_network_insert after insert on private.positions
for each row execute function private.position_changed();
create trigger _500_network_update after update of package_cents on private.positions
for each row when (old.package_cents is distinct from new.package_cents) execute function private.position_changed();

create function private.earnings_changed() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    insert into private.network_changes (no, referral, pairing, override)
    select
        o.no,
        new.referral_amount - old.referral_amount,
        new.pairing_amount - old.pairing_amount,
        new.override_amount - old.override_amount
    from private.positions as o where o.user_id = new.user_id;
    return null;
end
$$;
comment on function private.earnings_changed() is 'Notes what a member earned for the networks above.';
create trigger _500_network after update on private.totals
for each row when (
    (old.referral_amount, old.pairing_amount, old.override_amount)
    is distinct from (new.referral_amount, new.pairing_amount, new.override_amount)
) execute function private.earnings_changed();

create function jobs.fold_networks() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_rows integer;
begin
    -- One fold at a time; readers see either the changes or the sums they went into.
    perform pg_catalog.pg_advisory_xact_lock(46);
    with recursive taken as (
        delete from private.network_changes
        returning no, members, package_cents, referral, pairing, override
    ),
    up as (
        select
            t.no,
            o.referrer_no,
            sum(t.members) as members,
            sum(t.package_cents) as package_cents,
            sum(t.referral) as referral,
            sum(t.pairing) as pairing,
            sum(t.override) as override
        from taken as t
        inner join private.positions as o on t.no = o.no
        group by t.no, o.referrer_no
        union all
        select o.no, o.referrer_no, u.members, u.package_cents, u.referral, u.pairing, u.override
        from up as u
        inner join private.positions as o on u.referrer_no = o.no
    ),
    folded as (
        insert into private.networks as n (no, members, package_cents, referral, pairing, override)
        select u.no, sum(u.members), sum(u.package_cents), sum(u.referral), sum(u.pairing), sum(u.override)
        from up as u group by u.no order by u.no
        on conflict (no) do update set
            members = n.members + excluded.members,
            package_cents = n.package_cents + excluded.package_cents,
            referral = n.referral + excluded.referral,
            pairing = n.pairing + excluded.pairing,
            override = n.override + excluded.override
    )
    select count(*)::integer into v_rows from taken;
    return v_rows;
end
$$;
comment on function jobs.fold_networks() is 'Carries the changes up to every member above; answers how many.';
grant execute on function jobs.fold_networks() to worker;

insert into private.network_changes (no, members, package_cents, referral, pairing, override)
select o.no, 1, o.package_cents, t.referral_amount, t.pairing_amount, t.override_amount
from private.positions as o
inner join private.totals as t on o.user_id = t.user_id;

create function private.network_sums(p_member private.profiles) returns private.networks
language plpgsql stable set search_path = '' as $$
declare
    v_sums private.networks;
begin
    -- One statement: a fold between two would count twice or not at all.
    select
        a.no, sum(a.members)::integer, sum(a.package_cents)::bigint, sum(a.referral), sum(a.pairing), sum(a.override)
    into v_sums
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
comment on function private.network_sums(private.profiles) is 'Sums over a member and everybody below, as they are now.';

create function public.get_network_summary() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_sums private.networks := private.network_sums(private.reading_member());
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
'The caller''s network: members, packages, bonuses by type. total_user = referral + pairing + override; total_company_profit = packages - total_user; profit_percentage = company profit / packages, 0 without packages. Errors: profile_not_found.';
grant execute on function public.get_network_summary() to authenticated;

create function private.network(p_root integer) returns table (no integer, level integer)
language sql stable set search_path = '' as $$
    with recursive below as (
        select p_root as no, 0 as level
        union all
        select c.no, b.level + 1
        from below as b
        inner join private.positions as c on b.no = c.referrer_no
    )
    select b.no, b.level from below as b
$$;
comment on function private.network(integer) is 'Positions of a member and of everybody below, with the distance from the member. Walks them all.';

create function public.get_team_growth(p_range text) returns jsonb
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
    with team as (
        -- A member is funded from the moment at which the sponsor earned the referral bonus.
        select p.created_at as joined_at, b.created_at as funded_at
        from private.network(v_no) as n
        inner join private.positions as o on n.no = o.no
        inner join private.profiles as p on o.profile_id = p.id
        left join public.bonuses as b on b.bonus_type = 'referral' and o.no = b.subject_no and b.amount > 0
        where n.level > 0
    ),
    changes as (
        select t.joined_at as at, 1 as members, 0 as funded from team as t
        union all
        select t.funded_at, 0, 1 from team as t where t.funded_at is not null
    ),
    per_bar as (
        select
            -- What happened before the chart begins stands in its first bar.
            greatest(pg_catalog.date_trunc(v_range.bucket, c.at at time zone 'UTC'), v_first_bar) as start,
            sum(c.members) as members,
            sum(c.funded) as funded
        from changes as c
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
comment on function public.get_team_growth(text) is
'Size of the caller''s team at the end of each bar, and how many of them are funded. Ranges as in get_earnings. Errors: invalid_range.';
grant execute on function public.get_team_growth(text) to authenticated;
