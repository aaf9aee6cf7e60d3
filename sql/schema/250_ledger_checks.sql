-- Ledger checks: invariants as queries that return no row. They run every minute and after every fault test; a row is
-- an alarm, not a repair. Each has a test that plants the corruption it detects. What a confirmed correction explains
-- is no violation. A row names the member whose money it concerns: decisions about that member's money wait, and when it
-- names nobody, all decisions do.
-- The checks read every table once or twice instead of once per invariant: queries on the same rows share a
-- materialised pass that keeps only discrepancies. Three invariants cover the values of charts and networks: with
-- very many members they check a random sample each time; all others, and these in small networks, read everything.

create table private.ledger_check_state (
    only_row boolean primary key default true check (only_row),
    checked_at timestamptz,
    violations integer not null default 0,
    rules jsonb not null default '{}',
    check_duration interval not null default '0',
    anchored_seq bigint,
    anchored_hash bytea,
    whole_at timestamptz,
    seen_since timestamptz,
    seen_seq bigint,
    sums_at timestamptz,
    sums_duration interval not null default '0'
);
comment on table private.ledger_check_state is 'The last ledger check: number of violations, by rule.';
comment on column private.ledger_check_state.check_duration is
'Duration of the last check. When above three seconds, the next one waits nine times as long.';
comment on column private.ledger_check_state.anchored_seq is
'Number of the link that the worker anchored externally last; null when there is none.';
comment on column private.ledger_check_state.anchored_hash is 'Hash of that link.';
comment on column private.ledger_check_state.whole_at is
'When everything was last looked at: the last check of a ledger that is read whole, else the end of the last round of the sweep.';
comment on column private.ledger_check_state.seen_since is 'Every row was looked at since then.';
comment on column private.ledger_check_state.seen_seq is 'The last link of the audit chain whose entry was looked at as a new one.';
comment on column private.ledger_check_state.sums_at is 'When the rules about sums over everybody were last looked at.';
comment on column private.ledger_check_state.sums_duration is 'How long that took.';
alter table private.ledger_check_state enable row level security;

insert into private.ledger_check_state default values;

-- The rules. Each function has those that look at the same rows, and takes whose (157_ledger_parts.sql): null for
-- everybody's, or the members whom a sweep or a change names. So a rule is written once, and what it says of one member
-- depends on no other member's being looked at. With null, tables are read from end to end, otherwise by their indexes.
-- A part that names members names their positions too: a rule may look for these by member or by number.

create function private.ledger_check_sample(out first_no integer, out last_no integer)
language plpgsql volatile set search_path = '' as $$
declare
    v_members bigint := (select count(*) from private.positions);
    v_skip bigint := pg_catalog.floor(pg_catalog.random() * ((v_members + 9999) / 10000))::bigint * 10000;
begin
    select o.no into first_no from private.positions as o order by o.no offset v_skip limit 1;
    select o.no into last_no from private.positions as o where o.no >= first_no order by o.no offset 9999 limit 1;
    last_no := coalesce(last_no, 2147483647);
end
$$;
comment on function private.ledger_check_sample() is
'The random sample of members whose daily values and totals this check compares: 10,000, or all where there are fewer.';

-- Rows with an open alarm are checked in each run until they are right: another sample would not find them.
create function private.positions_with_alarm(p_rule text) returns setof integer
language sql stable rows 1 set search_path = '' as $$
    select distinct pg_catalog.split_part(a.object, ' ', 2)::integer
    from private.alarms as a
    where a.kind = 'ledger_violation' and a.ended_at is null and a.object ~ ('\A' || p_rule || ' [0-9]{1,9}( |\Z)')
$$;
comment on function private.positions_with_alarm(text) is 'Numbers of the members that open alarms of a sampled rule name.';
