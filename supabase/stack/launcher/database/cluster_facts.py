"""Facts about a cluster as lines to compare: two clusters with equal lines hold the same data.

Objects of extensions are left out, because another version of an extension has others; so is the privilege
MAINTAIN, which owners have since PostgreSQL 17.
"""

import psycopg
from psycopg import sql

Connection = psycopg.Connection[tuple[str, ...]]

ROLES = """
select format('role %s %s %s %s', a.rolname, concat_ws(' ', a.rolsuper, a.rolinherit, a.rolcreaterole,
    a.rolcreatedb, a.rolcanlogin, a.rolreplication, a.rolbypassrls, a.rolconnlimit, a.rolvaliduntil),
    a.rolpassword, shobj_description(a.oid, 'pg_authid'))
from pg_authid as a where a.rolname !~ '^pg_'
union all
select distinct format('member %s of %s %s', m.member::regrole, m.roleid::regrole, bool_or(m.admin_option))
from pg_auth_members as m group by m.member, m.roleid
union all
select format('settings of %s in %s: %s', s.setrole::regrole, coalesce(d.datname, 'all'), setting)
from pg_db_role_setting as s cross join unnest(s.setconfig) as setting
left join pg_database as d on s.setdatabase = d.oid
union all
select format('parameter %s %s %s', p.parname, a.grantee::regrole, a.privilege_type)
from pg_parameter_acl as p cross join aclexplode(p.paracl) as a
"""
OBJECTS = """
with schemas as (
    select n.* from pg_namespace as n where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
),
objects (kind, class, oid, name, owner, acl, details) as (
    select 'schema', 'pg_namespace'::regclass, n.oid, n.nspname::text, n.nspowner,
        coalesce(n.nspacl, acldefault('n', n.nspowner)), ''
    from schemas as n
    union all
    select 'relation', 'pg_class'::regclass, c.oid, c.oid::regclass::text, c.relowner,
        coalesce(c.relacl, acldefault(case when c.relkind = 'S' then 's' else 'r' end::"char", c.relowner)),
        concat_ws(' ', c.relkind, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity, c.reloptions)
    from pg_class as c inner join schemas as n on c.relnamespace = n.oid where c.relkind <> 't'
    union all
    select 'function', 'pg_proc'::regclass, p.oid, p.oid::regprocedure::text, p.proowner,
        coalesce(p.proacl, acldefault('f', p.proowner)),
        concat_ws(' ', p.prokind, p.prosecdef, p.provolatile, p.proconfig, md5(p.prosrc))
    from pg_proc as p inner join schemas as n on p.pronamespace = n.oid
    union all
    select 'type', 'pg_type'::regclass, t.oid, t.oid::regtype::text, t.typowner,
        coalesce(t.typacl, acldefault('T', t.typowner)),
        concat_ws(' ', t.typtype, t.typnotnull, (
            select string_agg(e.enumlabel, ',' order by e.enumsortorder) from pg_enum as e
            where e.enumtypid = t.oid
        ))
    from pg_type as t inner join schemas as n on t.typnamespace = n.oid where t.typtype in ('d', 'e', 'r')
    union all
    select 'database', 'pg_database'::regclass, d.oid, d.datname::text, d.datdba,
        coalesce(d.datacl, acldefault('d', d.datdba)), pg_encoding_to_char(d.encoding)
    from pg_database as d where d.datname = current_database()
),
own as (
    select o.* from objects as o
    where not exists (
        select from pg_depend as e where e.classid = o.class and e.objid = o.oid and e.deptype = 'e'
    )
),
columns as (
    select a.*, c.relispartition from pg_attribute as a
    inner join own as o on a.attrelid = o.oid and o.kind = 'relation'
    inner join pg_class as c on a.attrelid = c.oid
    where a.attnum > 0 and not a.attisdropped and c.relkind <> 'i'
)
select format('%s %s of %s %s: %s', o.kind, o.name, o.owner::regrole, o.details, (
    select string_agg(format('%s %s%s', a.grantee::regrole, a.privilege_type, a.is_grantable), ',' order by
        a.grantee::regrole::text, a.privilege_type)
    from aclexplode(o.acl) as a where a.privilege_type <> 'MAINTAIN'
)) from own as o
union all
-- A partition has the identity of its table itself from PostgreSQL 17 on.
select format('column %s.%s %s %s %s', c.attrelid::regclass, c.attname,
    format_type(c.atttypid, c.atttypmod), c.attnotnull, case when not c.relispartition then c.attidentity end)
from columns as c
union all
select format('grant of %s.%s to %s: %s', c.attrelid::regclass, c.attname, a.grantee::regrole,
    a.privilege_type)
from columns as c cross join aclexplode(c.attacl) as a
union all
select format('index %s', pg_get_indexdef(i.indexrelid))
from pg_index as i inner join own as o on i.indrelid = o.oid and o.kind = 'relation'
union all
select format('constraint %s on %s %s %s', n.conname, n.conrelid::regclass, n.contype, n.convalidated)
from pg_constraint as n inner join own as o on n.conrelid = o.oid
-- What PostgreSQL 18 makes of each "not null", which the columns say, and a table's key for each partition.
where o.kind = 'relation' and n.contype <> 'n' and n.conparentid = 0
union all
select format('trigger %s on %s %s', t.tgname, t.tgrelid::regclass, t.tgenabled)
from pg_trigger as t inner join own as o on t.tgrelid = o.oid and o.kind = 'relation' where not t.tgisinternal
union all
select format('policy %s on %s %s %s', p.polname, p.polrelid::regclass, p.polcmd, p.polroles::regrole[])
from pg_policy as p
union all
select format('event trigger %s %s %s of %s', e.evtname, e.evtevent, e.evtenabled, e.evtowner::regrole)
from pg_event_trigger as e
union all
select format('extension %s in %s', e.extname, e.extnamespace::regnamespace) from pg_extension as e
union all
select format('sequence %I.%I %s', s.schemaname, s.sequencename, concat_ws(' ', s.last_value, s.start_value,
    s.min_value, s.max_value, s.increment_by, s.cycle, s.cache_size))
from pg_sequences as s
union all
select format('default of %s in %s: %s', d.defaclrole::regrole, d.defaclnamespace::regnamespace, (
    select string_agg(format('%s %s %s', d.defaclobjtype, a.grantee::regrole, a.privilege_type), ',' order by
        a.grantee::regrole::text, a.privilege_type)
    from aclexplode(d.defaclacl) as a where a.privilege_type <> 'MAINTAIN'
)) from pg_default_acl as d
"""
TABLES = """
select n.nspname, c.relname from pg_class as c inner join pg_namespace as n on c.relnamespace = n.oid
where c.relkind = 'r' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' order by 1, 2
"""
# The sum of the rows' hashes depends on what is in them, not on their order.
CONTENT = "select count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) from only {} as t"


def of_roles(connection: Connection) -> set[str]:
    """Return the roles with their passwords' hashes, memberships, settings and rights to parameters."""
    connection.execute("set search_path = ''")
    return {line for (line,) in connection.execute(ROLES).fetchall()}


def of_database(connection: Connection) -> set[str]:
    """Return every object of a database with owner and grants, and number and hash of each table's rows."""
    connection.execute("set search_path = ''")
    lines = {line for (line,) in connection.execute(OBJECTS).fetchall()}
    for schema, table in connection.execute(TABLES).fetchall():
        query = sql.SQL(CONTENT).format(sql.Identifier(schema, table))
        count, content = connection.execute(query).fetchall()[0]
        lines.add(f"rows {schema}.{table} {count} {content}")
    return lines
