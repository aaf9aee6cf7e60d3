-- Changes are carried up the tree level by level, the deepest first, each level summed before it goes on: a member
-- is visited once however many below have changed. Walking up from every change on its own took minutes after an
-- import, and a chain of a thousand made it a million steps. The carried sums live in a table of their own only
-- while the fold runs, under its lock.

create unlogged table private.network_carries (
    no integer primary key,
    depth integer not null,
    members integer not null,
    package_cents bigint not null,
    referral numeric not null,
    pairing numeric not null,
    override numeric not null
);
alter table private.network_carries enable row level security;
create index network_carries_depth_idx on private.network_carries (depth);
comment on table private.network_carries is 'Sums on their way up during a fold; empty otherwise. Unlogged: a crash also undoes the fold.';

create or replace function jobs.fold_networks() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_rows integer;
    v_depth integer;
begin
    -- One fold at a time; readers see either the changes or the sums they went into.
    perform pg_catalog.pg_advisory_xact_lock(46);
    with taken as (
        delete from private.network_changes
        returning no, members, package_cents, referral, pairing, override
    ),
    carried as (
        insert into private.network_carries (no, depth, members, package_cents, referral, pairing, override)
        select t.no, p.depth, sum(t.members), sum(t.package_cents), sum(t.referral), sum(t.pairing), sum(t.override)
        from taken as t
        inner join private.positions as o on t.no = o.no
        inner join private.profiles as p on o.profile_id = p.id
        group by t.no, p.depth
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
        v_depth := v_depth - 1;
    end loop;
    with carried as (
        delete from private.network_carries
        returning no, members, package_cents, referral, pairing, override
    )
    insert into private.networks as n (no, members, package_cents, referral, pairing, override)
    select c.no, c.members, c.package_cents, c.referral, c.pairing, c.override
    from carried as c
    order by c.no
    on conflict (no) do update set
        members = n.members + excluded.members,
        package_cents = n.package_cents + excluded.package_cents,
        referral = n.referral + excluded.referral,
        pairing = n.pairing + excluded.pairing,
        override = n.override + excluded.override;
    return v_rows;
end
$$;
