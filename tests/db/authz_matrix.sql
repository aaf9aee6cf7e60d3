-- The closed world: authz_matrix.csv names everything that the roles a request can have, and the two services, may
-- do; what the file does not name must not exist, what it names must. Run from the root of the repository.
-- `psql <database> -f tests/db/authz_matrix.sql -v print=1` prints the catalogue as the file would have it.
-- threats: T117
begin;
set local client_min_messages = warning;
create extension if not exists pgtap with schema extensions;
set local search_path = public, extensions;

create temporary view catalogue as
with roles (role) as (
    values ('anon'), ('authenticated'), ('platform_admin'), ('service_role'), ('edge_functions'), ('worker'), ('supabase_auth_admin')
), schemas as (
    select n.oid, n.nspname from pg_namespace as n where n.nspname in ('public', 'private', 'pre_request', 'hooks', 'edge', 'jobs')
), relations as (
    select c.oid, c.relkind, s.nspname || '.' || c.relname as name
    from pg_class as c inner join schemas as s on s.oid = c.relnamespace where c.relkind in ('r', 'p', 'v', 'm', 'f')
), table_rights as (
    select r.role, t.oid, t.name, v.verb
    from roles as r cross join relations as t cross join (values ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE'), ('TRUNCATE'), ('REFERENCES'), ('TRIGGER')) as v (verb)
    where has_table_privilege(r.role, t.oid, v.verb)
)
select t.role, t.name as object, '*' as part, t.verb from table_rights as t
union all
select r.role, t.name, a.attname::text, v.verb
from roles as r cross join relations as t inner join pg_attribute as a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
cross join (values ('SELECT'), ('INSERT'), ('UPDATE'), ('REFERENCES')) as v (verb)
where has_column_privilege(r.role, t.oid, a.attnum, v.verb)
    and not exists (select 1 from table_rights as w where w.role = r.role and w.oid = t.oid and w.verb = v.verb)
union all
select r.role, p.oid::regprocedure::text, '*', 'EXECUTE'
from roles as r cross join pg_proc as p inner join schemas as s on s.oid = p.pronamespace
where has_function_privilege(r.role, p.oid, 'EXECUTE')
union all
select r.role, s.nspname, '*', v.verb from roles as r cross join schemas as s cross join (values ('USAGE'), ('CREATE')) as v (verb)
where has_schema_privilege(r.role, s.oid, v.verb)
union all
select r.role, s.nspname || '.' || c.relname, '*', 'SEQUENCE'
from roles as r cross join pg_class as c inner join schemas as s on s.oid = c.relnamespace
where c.relkind = 'S' and has_sequence_privilege(r.role, c.oid, 'USAGE, SELECT, UPDATE')
union all
select p.role::text, l.schemaname || '.' || l.tablename, l.policyname::text, 'POLICY ' || l.cmd
from pg_policies as l cross join lateral unnest(l.roles) as p (role)
where l.schemaname in ('public', 'private', 'storage');

\if :{?print}
\pset format unaligned
\pset fieldsep ','
copy (select role, object, part, verb from catalogue order by object collate "C", role collate "C", part collate "C", verb collate "C") to stdout with (format csv, header);
\else
create temporary table matrix (role text, object text, part text, verb text, primary key (role, object, part, verb));
\copy matrix from 'tests/db/authz_matrix.csv' with (format csv, header)
select plan(5);
select is_empty('select * from catalogue except select * from matrix', 'no role may do what the matrix does not name');
select is_empty('select * from matrix except select * from catalogue', 'everything that the matrix names exists');
select is_empty(
    $$ select tablename, roles, cmd from (select schemaname || '.' || tablename as tablename, unnest(roles) as roles, cmd from pg_policies where schemaname in ('public', 'private')) as p
    group by tablename, roles, cmd having count(*) > 1 $$, 'one policy for each role and verb'
);
select is_empty(
    $$ select p.oid::regprocedure from pg_proc as p where p.pronamespace = 'public'::regnamespace and p.prosecdef
    and has_function_privilege('anon', p.oid, 'execute') and p.proname not in ('get_platform', 'get_sponsor', 'is_username_available', 'get_income_disclosure') $$,
    'anonymous clients may call these endpoints and no other'
);
select is_empty(
    $$ select p.oid::regprocedure from pg_proc as p inner join pg_proc as q on p.proname = q.proname and p.oid < q.oid
    where p.pronamespace = 'public'::regnamespace and q.pronamespace = 'public'::regnamespace $$, 'no endpoint has two forms: PostgREST could not choose'
);
select * from finish();
\endif
rollback;
