-- What the roles of a request may be and see: no schema but public, nothing that is made later, row security everywhere,
-- and what every function and foreign key has.
begin;
\ir ../support/actors.sql
select * from no_plan();

-- The roles
select bag_eq(
    $$ select r.rolname::text from pg_auth_members as m inner join pg_roles as r on r.oid = m.roleid inner join pg_roles as a on a.oid = m.member where a.rolname = 'authenticator' $$,
    $$ values ('anon'), ('authenticated'), ('platform_admin'), ('service_role') $$, 'a token can become these four and no other'
);
select bag_eq(
    $$ select r.rolname::text from pg_roles as r
    where r.rolcanlogin and not r.rolsuper and pg_has_role(r.rolname, 'platform_admin', 'member') $$,
    $$ values ('authenticator'), ('edge_functions'), ('postgres') $$, 'and no other login can become an administrator'
);
select is((select rolbypassrls or rolsuper or rolcanlogin from pg_roles where rolname = 'platform_admin'), false, 'platform_admin has no special right');
select is((select rolbypassrls or rolsuper or rolcreaterole from pg_roles where rolname = 'edge_functions'), false, 'edge_functions has no special right');
select is((select rolbypassrls or rolsuper or rolcreaterole from pg_roles where rolname = 'worker'), false, 'worker has no special right');

-- The schemas
select schema_privs_are('private', r, array[]::text[], r || ' has no USAGE on private')
from unnest(array['anon', 'authenticated', 'platform_admin', 'service_role', 'edge_functions', 'worker']) as r;
select schema_privs_are('edge', r, array[]::text[], r || ' has no USAGE on edge') from unnest(array['anon', 'authenticated', 'platform_admin', 'service_role', 'worker']) as r;
select schema_privs_are('jobs', r, array[]::text[], r || ' has no USAGE on jobs') from unnest(array['anon', 'authenticated', 'platform_admin', 'service_role', 'edge_functions']) as r;
select schema_privs_are('hooks', r, array[]::text[], r || ' has no USAGE on hooks') from unnest(array['anon', 'authenticated', 'platform_admin', 'service_role']) as r;

-- What is made later is closed
set local role postgres;
create function public.made_later() returns integer language sql as $$ select 1 $$;
create table public.made_later (id integer);
reset role;
select is_empty(
    $$ select r from unnest(array['anon', 'authenticated', 'platform_admin', 'service_role']) as r
    where has_function_privilege(r, 'public.made_later()', 'execute') or has_table_privilege(r, 'public.made_later', 'select, insert, update, delete') $$,
    'a new function or table is open to no role'
);

-- Every table has row-level security, every function a fixed search path and a comment
select is_empty(
    $$ select c.oid::regclass from pg_class as c where c.relkind in ('r', 'p') and c.relnamespace in ('public'::regnamespace, 'private'::regnamespace)
    and not c.relrowsecurity and c.relname <> 'made_later' $$, 'row-level security is on everywhere'
);
select is_empty(
    $$ select p.oid::regprocedure from pg_proc as p
    where p.pronamespace in ('public'::regnamespace, 'private'::regnamespace, 'pre_request'::regnamespace, 'hooks'::regnamespace, 'edge'::regnamespace, 'jobs'::regnamespace)
    and p.proname <> 'made_later' and not coalesce('search_path=""' = any(p.proconfig), false)
    -- Written for an index, for every new row, asked by constraints, used some twenty times on a screen, or asked for every
    -- request and row by the ledger checks: with a setting they were not inlined, and cost more. They name everything with its schema.
    and p.proname !~ '^(member_search_text|digest_text|utc_text|time_ordered_id|largest_amount|money|percent|[a-z_]+_(facts|state)|state_revision|is_(asked|everybody|decision_wrong)|compared_bonuses|(entry|link)_hash)$' $$, 'every function has an empty search_path'
);
select is_empty(
    $$ select p.oid::regprocedure from pg_proc as p
    where p.pronamespace in ('public'::regnamespace, 'private'::regnamespace, 'pre_request'::regnamespace, 'hooks'::regnamespace, 'edge'::regnamespace, 'jobs'::regnamespace)
    and p.proname <> 'made_later' and obj_description(p.oid, 'pg_proc') is null $$, 'every function says what it is for'
);
select is_empty(
    $$ select conrelid::regclass, conname from pg_constraint where contype = 'f' and confdeltype = 'a'
    and connamespace in ('public'::regnamespace, 'private'::regnamespace) $$, 'every foreign key says what a delete does'
);
select is_empty(
    $$ select 1 from pg_policies where coalesce(qual, '') || coalesce(with_check, '') like '%user_metadata%' $$, 'nothing is authorised by what members write about themselves'
);
select * from finish();
rollback;
