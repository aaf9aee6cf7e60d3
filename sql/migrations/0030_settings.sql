-- What an operator may set, and the five packages. Rows instead of constants, so that the screens, the rules
-- and the disclosure read the same figures. Every change goes through private.change_setting(), which checks
-- the type and leaves an audit row.

create table private.settings (
    key text primary key check (key ~ '\A[a-z][a-z0-9_.]{1,62}\Z'),
    value jsonb not null,
    kind text not null check (kind in ('text', 'integer', 'boolean', 'list', 'time')),
    minimum bigint,
    maximum bigint,
    is_public boolean not null default false,
    description text not null,
    updated_at timestamptz not null default now(),
    updated_by uuid
);
alter table private.settings enable row level security;
comment on table private.settings is 'Operator values. minimum and maximum bound an integer, or the length of a text or list.';

create table private.packages (
    value public.usd primary key check (value between 1 and 10000000),
    label text not null unique,
    pairing_percent numeric(5, 2) not null check (pairing_percent between 0 and 50)
);
alter table private.packages enable row level security;
comment on table private.packages is 'Package sizes with the pairing rate of their owner. At most 50 percent, so a pair always leaves the company half.';

insert into private.packages (value, label, pairing_percent) values
(50, 'Starter', 10),
(100, 'Basic', 20),
(250, 'Standard', 30),
(500, 'Premium', 40),
(1000, 'VIP Package', 50);
