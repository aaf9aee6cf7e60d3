-- The daily check of the schema against what the last migration left.
begin;
\ir ../support/actors.sql
select * from no_plan();
-- The helpers of these tests are no migration's.
select private.record_schema();
select is(jobs.check_schema(), '{}', 'nothing differs from what was recorded');

create function pg_temp.found(p_sql text) returns jsonb language plpgsql as $$
declare
    v_found jsonb;
begin
    begin
        execute p_sql;
        v_found := jobs.check_schema();
        raise exception 'seen' using errcode = 'ZZ999';
    exception when sqlstate 'ZZ999' then
        return v_found;
    end;
end
$$;
select is(pg_temp.found(s), f::jsonb, d) from (
    values
    ('alter table public.deposits disable trigger _100_immutable', '{"trigger _100_immutable on public.deposits": "changed"}', 'a trigger that was switched off'),
    ('drop trigger _100_immutable on public.deposits', '{"trigger _100_immutable on public.deposits": "missing"}', 'a trigger that was dropped'),
    (
        'create trigger _000_own before insert on public.deposits for each row execute function private.deposits_immutable()',
        '{"trigger _000_own on public.deposits": "new"}', 'a trigger that acts on a table of the product'
    ),
    ('alter function private.is_demo() security definer', '{"function private.is_demo()": "changed"}', 'other rights of a function'),
    (
        $$ create or replace function private.is_demo() returns boolean language sql stable as 'select true' $$,
        '{"function private.is_demo()": "changed"}', 'a function that was replaced'
    ),
    ($$ create function private.own() returns integer language sql as 'select 1' $$, '{"function private.own()": "new"}', 'a function among those of the product'),
    (
        $$ create or replace view private.plan_discrepancies as select 'none'::text as object where false $$,
        '{"view private.plan_discrepancies": "changed"}', 'a view that finds nothing any more'
    ),
    (
        'alter table private.profiles drop constraint no_self_referral',
        '{"constraint no_self_referral on private.profiles": "missing"}', 'a constraint that was dropped'
    ),
    ('alter table public.deposits disable row level security', '{"row-level security of public.deposits": "changed"}', 'row-level security that was switched off'),
    ('drop policy select_own on public.deposits', '{"policy select_own on public.deposits": "missing"}', 'a policy that was dropped'),
    (
        $$ create schema evil; create function evil.f() returns trigger language plpgsql as 'begin return new; end';
        create trigger _900_evil before insert on public.withdrawals for each row execute function evil.f() $$,
        '{"trigger _900_evil on public.withdrawals": "new"}', 'a trigger whose function lies elsewhere'
    ),
    ('drop index public.transactions_source_key', '{"index public.transactions_source_key on public.transactions": "missing"}', 'a unique index that was dropped'),
    ('alter view public.profiles set (security_invoker = false)', '{"view public.profiles": "changed"}', 'a view with the rights of its owner'),
    ('grant select on private.totals to anon', '{"rights of private.totals": "changed"}', 'a right to a table'),
    ('grant update (amount) on public.deposits to authenticated', '{"rights of public.deposits": "changed"}', 'a right to a column'),
    ('grant execute on function private.lock_money() to authenticated', '{"function private.lock_money()": "changed"}', 'a right to a function'),
    ('grant usage on schema private to anon', '{"rights of schema private": "changed"}', 'a right to a schema'),
    ('grant platform_admin to authenticated', '{"role authenticated": "changed", "role platform_admin": "changed"}', 'a member in a role of administrators'),
    ('alter role authenticated bypassrls', '{"role authenticated": "changed"}', 'a role that no policy binds'),
    ('alter role edge_functions set session_replication_role = replica', '{"settings of edge_functions": "new"}', 'a role that no trigger binds'),
    ('create role own_login; grant authenticated to own_login', '{"role authenticated": "changed"}', 'who else may take a role'),
    (format('alter database %I set row_security = off', current_database()), '{"settings of the database": "new"}', 'a setting of every session'),
    ($$ alter role authenticator set pgrst.db_pre_request = 'public.none' $$, '{"settings of authenticator": "changed"}', 'requests that nothing checks'),
    ('alter default privileges for role postgres in schema private grant select on tables to anon', '{"default rights in private of postgres": "new"}', 'rights to what is made later'),
    ('grant update on sequence private.bonus_revision_seq to anon', '{"rights of private.bonus_revision_seq": "changed"}', 'a right to a sequence'),
    ('alter table storage.objects disable row level security', '{"row-level security for storage.objects": "changed"}', 'files of everybody for everybody'),
    (
        $$ create schema evil; create function evil.f() returns trigger language plpgsql as 'begin return new; end';
        create trigger _900_evil before insert on auth.users for each row execute function evil.f() $$,
        '{"trigger _900_evil on auth.users": "new"}', 'a trigger on accounts whose function lies elsewhere'
    ),
    (
        $$ create function public.own_event() returns event_trigger language plpgsql as 'begin end'; create event trigger own on ddl_command_end execute function public.own_event() $$,
        '{"event trigger own": "new"}', 'a trigger of every change'
    ),
    (
        $$ alter table public.transactions alter column status set default 'completed' $$,
        '{"columns of public.transactions": "changed"}', 'a default that was added'
    ),
    ('alter table private.counter_deltas set unlogged', '{"columns of private.counter_deltas": "changed"}', 'a table that a crash empties'),
    ('alter domain public.usd drop constraint amount_has_at_most_two_decimals', '{"type public.usd": "changed"}', 'an amount that may be anything'),
    ($$ alter type public.request_status add value 'paid' $$, '{"type public.request_status": "changed"}', 'another status'),
    ('create rule own as on insert to public.deposits do instead nothing', '{"rule own on public.deposits": "new"}', 'a rule that swallows deposits'),
    (
        $$ alter table public.deposits disable trigger _100_immutable; update private.schema_objects as o set digest = c.digest
        from private.current_schema_objects() as c where o.object = c.object $$,
        '{"record": "changed"}', 'a record that was brought into line with the change'
    )
) as p (s, f, d);

-- A developer's own tables and functions.
create table public.own (id integer primary key);
alter table public.own enable row level security;
create policy own on public.own for select using (true);
create function public.own_trigger() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger own before insert on public.own for each row execute function public.own_trigger();
create trigger own after insert on auth.users for each row execute function public.own_trigger();
create policy "an own one" on storage.objects for select to authenticated using (bucket_id = 'own');
create unique index own_key on public.own (id, (id + 1));
select is(jobs.check_schema(), '{}', 'what a developer adds in public is no difference');
select private.add_audit_partition();
select is(jobs.check_schema(), '{}', 'nor is a partition that the worker adds');

-- The alarm, and its end.
alter table public.deposits disable trigger _100_immutable;
select jobs.check_schema();
select results_eq(
    $$ select (private.alarm_texts(a)).problem from private.alarms as a where a.kind = 'schema' and a.ended_at is null $$,
    $$ values ('The rules of the database are not what the last migration left: trigger _100_immutable on public.deposits.') $$, 'an alarm names it'
);
alter table public.deposits enable trigger _100_immutable;
select is(jobs.check_schema(), '{}', 'switched on again it is as it was');
select is((select count(*) from private.alarms where kind = 'schema' and ended_at is null), 0::bigint, 'and the alarm is over');
select * from finish();
rollback;
