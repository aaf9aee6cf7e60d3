-- Every guard that is an object of its own: its kind, its name, the statement that takes it away and, where a test
-- asks the running stack, the one that puts it back. What a partition has from its table is that table's.
with product as (
    select n.oid, n.nspname from pg_catalog.pg_namespace as n
    where n.nspname in ('public', 'private', 'pre_request', 'hooks', 'edge', 'jobs')
), relations as (
    select c.* from pg_catalog.pg_class as c inner join product as n on n.oid = c.relnamespace
), functions as (
    select p.oid from pg_catalog.pg_proc as p inner join product as n on n.oid = p.pronamespace
    where not exists (select 1 from pg_catalog.pg_depend as d where d.objid = p.oid and d.deptype = 'e')
)
select
    'trigger' as kind, t.tgrelid::regclass || ' ' || t.tgname as name,
    format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass) as removal, pg_get_triggerdef(t.oid) as restore
from pg_catalog.pg_trigger as t
where not t.tgisinternal and t.tgparentid = 0 and (t.tgrelid in (select r.oid from relations as r) or t.tgfoid in (select f.oid from functions as f))
union all
select 'constraint', k.conrelid::regclass || ' ' || k.conname, format('alter table %s drop constraint %I cascade', k.conrelid::regclass, k.conname), ''
from pg_catalog.pg_constraint as k inner join relations as r on r.oid = k.conrelid
where k.contype in ('c', 'u', 'f', 'x') and k.conislocal and k.conparentid = 0
union all
select 'constraint', k.contypid::regtype || ' ' || k.conname, format('alter domain %s drop constraint %I', k.contypid::regtype, k.conname), ''
from pg_catalog.pg_constraint as k inner join product as n on n.oid = k.connamespace
where k.contypid <> 0
union all
select 'unique index', i.indrelid::regclass || ' ' || r.relname, format('drop index %s', i.indexrelid::regclass), ''
from pg_catalog.pg_index as i inner join relations as r on r.oid = i.indexrelid
where i.indisunique and not exists (select 1 from pg_catalog.pg_constraint as k where k.conindid = i.indexrelid)
union all
select
    'policy', p.polrelid::regclass || ' ' || p.polname,
    format('alter policy %I on %s', p.polname, p.polrelid::regclass)
    || case when p.polqual is not null then ' using (true)' else '' end || case when p.polwithcheck is not null then ' with check (true)' else '' end, ''
from pg_catalog.pg_policy as p inner join pg_catalog.pg_class as c on c.oid = p.polrelid
where (p.polrelid in (select r.oid from relations as r) or c.relnamespace = 'storage'::regnamespace)
    and (pg_get_expr(p.polqual, p.polrelid) <> 'true' or pg_get_expr(p.polwithcheck, p.polrelid) <> 'true')
union all
select 'row security', r.oid::regclass::text, format('alter table %s disable row level security', r.oid::regclass), ''
from relations as r where r.relrowsecurity
union all
select 'caller''s rights', r.oid::regclass::text, format('alter view %s reset (security_invoker)', r.oid::regclass), ''
from relations as r where r.relkind = 'v' and array_to_string(r.reloptions, ' ') like '%security_invoker%'
union all
-- What is not granted: the guard is the missing grant.
select 'missing grant', r.oid::regclass::text, format('grant all on %s to anon', r.oid::regclass), ''
from relations as r where r.relkind in ('r', 'p', 'v', 'S')
union all
select 'missing grant', f.oid::regprocedure::text, format('grant execute on function %s to anon', f.oid::regprocedure), ''
from functions as f where not has_function_privilege('anon', f.oid, 'execute')
union all
select 'missing grant', n.nspname, format('grant usage, create on schema %I to anon', n.nspname), ''
from product as n;
