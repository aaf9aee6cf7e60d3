-- What the superuser's part of the bootstrap has not made, or has made otherwise, one line each; run by the owner.
select format('role %s', r.name) as lacking
from unnest(array[
    'anon', 'authenticated', 'service_role', 'authenticator', 'supabase_auth_admin', 'supabase_storage_admin', 'postgres'
]) as r (name)
where not exists (select from pg_roles as p where p.rolname = r.name)
union all
select format('role %s must not be a superuser', p.rolname)
from pg_roles as p
where
    p.rolname in ('anon', 'authenticated', 'service_role', 'authenticator', 'supabase_auth_admin', 'supabase_storage_admin')
    and p.rolsuper
union all
select format('role %s: createrole, createdb and bypassrls', p.rolname)
from pg_roles as p
where p.rolname = current_user and not (p.rolcreaterole and p.rolcreatedb and p.rolbypassrls)
union all
select format('role service_role: bypassrls')
from pg_roles as p
where p.rolname = 'service_role' and not p.rolbypassrls
union all
select format('database %s owned by %s', d.datname, current_user)
from pg_database as d
where d.datname = current_database() and d.datdba <> current_user::regrole
union all
select format('schema %s owned by %s', s.name, s.owner)
from (values
    ('auth', 'supabase_auth_admin'), ('storage', 'supabase_storage_admin'), ('extensions', current_user), ('public', current_user)
) as s (name, owner)
where not exists (
    select from pg_namespace as n
    inner join pg_roles as p on n.nspowner = p.oid
    where n.nspname = s.name and p.rolname = s.owner
)
union all
select format('event trigger %s', t.name)
from (values ('pgrst_ddl_watch'), ('pgrst_drop_watch')) as t (name)
where not exists (select from pg_event_trigger as e where e.evtname = t.name)
union all
select 'the right to set pgrst.db_pre_request'
where not has_parameter_privilege('pgrst.db_pre_request', 'set')
