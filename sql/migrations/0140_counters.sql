-- The figures an administrator's dashboard adds up, kept so that it reads a handful of rows at any size. Each
-- change appends a delta, and a job folds the deltas: one shared row would queue every transaction behind it.

create table private.counters (
    name text primary key,
    value numeric not null default 0
);
alter table private.counters enable row level security;

create table private.counter_deltas (
    id bigint generated always as identity primary key,
    name text not null,
    delta numeric not null
);
alter table private.counter_deltas enable row level security;
create index counter_deltas_name_idx on private.counter_deltas (name);
comment on table private.counters is 'Folded figures. The truth is value plus the deltas not folded yet.';
comment on table private.counter_deltas is 'Changes since the last fold.';

insert into private.counters (name) values
('profiles'), ('active_profiles'), ('package_investment'), ('pending_deposits'), ('pending_withdrawals'),
('deposits_approved'), ('withdrawals_approved'), ('deposits_rejected_count'), ('deposits_approved_count'),
('withdrawals_rejected_count'), ('withdrawals_approved_count'), ('bonuses'), ('bonus_rows'), ('available_balance');

create function private.count_up(p_name text, p_delta numeric) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.counter_deltas (name, delta)
    select p_name, p_delta where p_delta <> 0;
end
$$;
comment on function private.count_up(text, numeric) is 'Adds to a kept figure.';

create function private.counted() returns table (name text, value numeric)
language sql stable set search_path = '' as $$
    select c.name, c.value + coalesce((select sum(d.delta) from private.counter_deltas as d where d.name = c.name), 0)
    from private.counters as c
$$;
comment on function private.counted() is 'The kept figures as they are now.';

create function private.counter(p_name text) returns numeric
language sql stable set search_path = '' as $$
    select c.value + coalesce((select sum(d.delta) from private.counter_deltas as d where d.name = c.name), 0)
    from private.counters as c where c.name = p_name
$$;
comment on function private.counter(text) is 'One kept figure as it is now.';

create function jobs.fold_counters() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_rows integer;
begin
    with moved as (
        delete from private.counter_deltas returning name, delta
    ), sums as (
        select m.name, sum(m.delta) as delta, count(*) as rows from moved as m group by m.name
    ), folded as (
        update private.counters as c set value = c.value + s.delta from sums as s where c.name = s.name
    )
    select coalesce(sum(s.rows), 0)::integer into v_rows from sums as s;
    return v_rows;
end
$$;
comment on function jobs.fold_counters() is 'Folds the deltas into the kept figures; answers how many.';
grant execute on function jobs.fold_counters() to worker;
