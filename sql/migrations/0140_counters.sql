-- The figures an administrator's dashboard adds up, kept so that it reads a handful of rows at any size. Each
-- change appends a delta, and a job folds the deltas: one shared row would queue every transaction behind it.

create table private.counters (
    name text primary key,
    value numeric not null default 0
);
alter table private.counters enable row level security;

create table private.counter_deltas (
    id bigint generated always as identity primary key,
    name text not null references private.counters (name) on delete restrict,
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
