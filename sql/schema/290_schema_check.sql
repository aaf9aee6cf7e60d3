-- The owner of the database can switch a trigger off or replace a function, and what the rules then let through looks
-- like what they allow. So the last statement of each migration records what functions, triggers, views, columns,
-- constraints, policies and rights are, and the audit log has the digest of that record. A daily check compares both. What
-- is made later and belongs to somebody else, such as a developer's own table, is nothing that the product relies on.

create table private.schema_objects (
    object text primary key,
    digest text not null
);
comment on table private.schema_objects is 'What the schema was made of when the last migration ended: each object with the digest of its definition.';
alter table private.schema_objects enable row level security;

create function private.rights_text(p_rights aclitem[]) returns text
language sql stable set search_path = '' as $$
    select pg_catalog.string_agg(
        pg_catalog.concat_ws(' ', case r.grantee when 0 then 'public' else pg_catalog.pg_get_userbyid(r.grantee) end, r.privilege_type, r.is_grantable),
        ', ' order by r.grantee::regrole::text collate "C", r.privilege_type
    )
    from pg_catalog.aclexplode(p_rights) as r
$$;
comment on function private.rights_text(aclitem[]) is 'Who may do what, in an order that does not depend on when it was granted.';

-- Definitions are printed with every name qualified, whoever asks.
create function private.current_schema_objects() returns table (object text, digest text)
language sql stable set search_path = '' as $$
    with schemas as materialized (
        select n.oid, n.nspname from pg_catalog.pg_namespace as n
        where n.nspname in ('public', 'private', 'pre_request', 'hooks', 'edge', 'jobs')
    ),

    tables as materialized (
        select
            c.oid, c.relkind, c.relrowsecurity, c.relforcerowsecurity, c.relowner, c.relpersistence, c.relacl, c.reloptions,
            pg_catalog.format('%s.%s', s.nspname, c.relname) as name
        from pg_catalog.pg_class as c
        inner join schemas as s on c.relnamespace = s.oid
        -- A partition has what its table has, and is made by the worker.
        where c.relkind in ('r', 'p', 'v', 'S') and not c.relispartition
    ),

    triggers as materialized (
        select t.tgname, t.tgrelid, t.tgenabled, pg_catalog.pg_get_triggerdef(t.oid) as definition
        from pg_catalog.pg_trigger as t
        inner join pg_catalog.pg_class as c on t.tgrelid = c.oid
        inner join pg_catalog.pg_proc as p on t.tgfoid = p.oid
        left join schemas as f on p.pronamespace = f.oid
        where not t.tgisinternal
            -- On a table of the auth or storage service a function in public is a developer's own.
            and case
                when c.relnamespace in (select s.oid from schemas as s) then not c.relispartition
                when c.relnamespace::regnamespace::text in ('auth', 'storage') then f.nspname is distinct from 'public'
                -- The worker's queue comes later.
                else f.nspname <> 'public'
            end
    ),

    policies as materialized (
        select l.*, l.polrelid::regclass::text as name from pg_catalog.pg_policy as l
        where l.polrelid in (select b.oid from tables as b) or l.polrelid in ('storage.objects'::regclass, 'storage.buckets'::regclass)
    )

    select o.object, private.digest_text(o.definition)
    from (
        select
            pg_catalog.format('function %s.%s(%s)', s.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid)) as object,
            pg_catalog.concat_ws(
                '|', pg_catalog.pg_get_userbyid(p.proowner), pg_catalog.pg_get_functiondef(p.oid),
                private.rights_text(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner)))
            ) as definition
        from pg_catalog.pg_proc as p inner join schemas as s on p.pronamespace = s.oid
        where p.prokind in ('f', 'p')
        union all
        select pg_catalog.format('trigger %s on %s', t.tgname, t.tgrelid::regclass), t.tgenabled::text || t.definition
        from triggers as t
        union all
        -- The options of a view say whose rights it uses; those of a table are for operators to tune.
        select 'view ' || v.name, pg_catalog.concat_ws('|', pg_catalog.pg_get_viewdef(v.oid), v.reloptions)
        from tables as v where v.relkind = 'v'
        union all
        select
            'rights of ' || b.name,
            pg_catalog.concat_ws(
                '|', pg_catalog.pg_get_userbyid(b.relowner), private.rights_text(coalesce(b.relacl, pg_catalog.acldefault(case b.relkind when 'S' then 's' else 'r' end::"char", b.relowner))),
                (
                    select pg_catalog.string_agg(a.attname || ' ' || private.rights_text(a.attacl), ', ' order by a.attnum)
                    from pg_catalog.pg_attribute as a where a.attrelid = b.oid and a.attnum > 0 and not a.attisdropped and a.attacl is not null
                )
            )
        from tables as b
        union all
        select
            'columns of ' || b.name,
            b.relpersistence::text || pg_catalog.string_agg(
                pg_catalog.concat_ws(
                    ' ', a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
                    pg_catalog.pg_get_expr(d.adbin, d.adrelid)
                ), ', ' order by a.attname collate "C"
            )
        from tables as b
        inner join pg_catalog.pg_attribute as a on b.oid = a.attrelid and a.attnum > 0 and not a.attisdropped
        left join pg_catalog.pg_attrdef as d on a.attrelid = d.adrelid and a.attnum = d.adnum
        where b.relkind in ('r', 'p')
        group by b.oid, b.name, b.relpersistence
        union all
        select
            pg_catalog.format('index %s on %s', i.indexrelid::regclass, b.name),
            pg_catalog.concat(pg_catalog.pg_get_indexdef(i.indexrelid), i.indisvalid)
        from pg_catalog.pg_index as i inner join tables as b on i.indrelid = b.oid
        -- Others only make it faster; those of a constraint are named there.
        where i.indisunique and not exists (select from pg_catalog.pg_constraint as c where c.conindid = i.indexrelid)
        union all
        select
            pg_catalog.format('type %s.%s', s.nspname, t.typname),
            pg_catalog.concat_ws(
                '|', pg_catalog.format_type(t.typbasetype, t.typtypmod), t.typnotnull,
                (
                    select pg_catalog.string_agg(pg_catalog.pg_get_constraintdef(c.oid), ', ' order by c.conname)
                    from pg_catalog.pg_constraint as c where c.contypid = t.oid
                ),
                (select pg_catalog.string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_catalog.pg_enum as e where e.enumtypid = t.oid)
            )
        from pg_catalog.pg_type as t inner join schemas as s on t.typnamespace = s.oid
        where t.typtype in ('d', 'e')
        union all
        select 'rights of schema ' || n.nspname, private.rights_text(coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner)))
        from pg_catalog.pg_namespace as n inner join schemas as s on n.oid = s.oid
        union all
        select
            'role ' || r.rolname,
            pg_catalog.concat_ws(
                '|', r.rolsuper, r.rolbypassrls, r.rolcreaterole,
                (
                    select coalesce(pg_catalog.string_agg(g.rolname, ', ' order by g.rolname), '')
                    from pg_catalog.pg_auth_members as m inner join pg_catalog.pg_roles as g on m.roleid = g.oid
                    where m.member = r.oid
                ),
                (
                    select coalesce(pg_catalog.string_agg(g.rolname, ', ' order by g.rolname), '')
                    from pg_catalog.pg_auth_members as m inner join pg_catalog.pg_roles as g on m.member = g.oid
                    where m.roleid = r.oid
                )
            )
        from pg_catalog.pg_roles as r
        where r.rolname in ('anon', 'authenticated', 'authenticator', 'edge_functions', 'platform_admin', 'service_role', 'worker')
        union all
        select
            pg_catalog.format('constraint %s on %s', c.conname, b.name),
            pg_catalog.concat(
                pg_catalog.pg_get_constraintdef(c.oid), c.convalidated,
                -- A foreign key is enforced by triggers of its own.
                (select pg_catalog.string_agg(distinct t.tgenabled::text, '') from pg_catalog.pg_trigger as t where t.tgconstraint = c.oid)
            )
        from pg_catalog.pg_constraint as c inner join tables as b on c.conrelid = b.oid
        -- The worker's partitions bring theirs.
        where c.conparentid = 0
        union all
        select
            pg_catalog.format('policy %s on %s', l.polname, l.name),
            pg_catalog.concat_ws(
                '|', l.polcmd, l.polpermissive, l.polroles::regrole[],
                pg_catalog.pg_get_expr(l.polqual, l.polrelid), pg_catalog.pg_get_expr(l.polwithcheck, l.polrelid)
            )
        from policies as l
        union all
        select 'row-level security of ' || b.name, pg_catalog.concat(b.relrowsecurity, b.relforcerowsecurity)
        from tables as b where b.relkind in ('r', 'p')
        union all
        select pg_catalog.format('row-level security for %s', c.oid::regclass), pg_catalog.concat(c.relrowsecurity, c.relforcerowsecurity)
        from pg_catalog.pg_class as c where c.oid in ('storage.objects'::regclass, 'storage.buckets'::regclass)
        union all
        -- Settings of this database, of a role, or of both. Times and limits are for operators to tune.
        select 'settings of ' || coalesce(r.rolname, 'the database'), pg_catalog.string_agg(c.value, ', ' order by c.value)
        from pg_catalog.pg_db_role_setting as g
        left join pg_catalog.pg_roles as r on g.setrole = r.oid
        cross join pg_catalog.unnest(g.setconfig) as c (value)
        where
            g.setdatabase in (0, (select d.oid from pg_catalog.pg_database as d where d.datname = pg_catalog.current_database()))
            and c.value ~ '^(session_replication_role|row_security|role|search_path|pgrst\..*|app\..*)='
        group by r.rolname
        union all
        select
            pg_catalog.format('default rights in %s of %s', coalesce(n.nspname, 'all schemas'), pg_catalog.pg_get_userbyid(d.defaclrole)),
            pg_catalog.string_agg(d.defaclobjtype::text || ' ' || coalesce(private.rights_text(d.defaclacl), ''), ', ' order by d.defaclobjtype)
        from pg_catalog.pg_default_acl as d left join pg_catalog.pg_namespace as n on d.defaclnamespace = n.oid
        where d.defaclnamespace = 0 or n.oid in (select s.oid from schemas as s)
        group by n.nspname, d.defaclrole
        union all
        select 'event trigger ' || e.evtname, pg_catalog.concat_ws('|', e.evtevent, e.evtenabled, e.evttags, e.evtfoid::regprocedure)
        from pg_catalog.pg_event_trigger as e
        union all
        select pg_catalog.format('rule %s on %s', r.rulename, b.name), pg_catalog.pg_get_ruledef(r.oid)
        from pg_catalog.pg_rewrite as r inner join tables as b on r.ev_class = b.oid
        where r.rulename <> '_RETURN'
    ) as o
$$;
comment on function private.current_schema_objects() is
'Functions, triggers, views, columns, constraints, unique indexes, types, policies, rules and rights of the product''s schemas, its roles, and what acts on all of a database, each with the digest of its definition.';

create function private.record_schema() returns void
language plpgsql volatile set search_path = '' as $$
begin
    delete from private.schema_objects;
    insert into private.schema_objects (object, digest) select c.object, c.digest from private.current_schema_objects() as c;
    perform private.audit('system', 'schema.recorded', null, null, private.schema_record());
end
$$;
comment on function private.record_schema() is 'Records what the schema is made of, with the digest of it in the audit log. The last statement of each migration.';

create function private.schema_record() returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'objects', count(*),
        'digest', private.digest_text(pg_catalog.string_agg(o.object || ' ' || o.digest, E'\n' order by o.object collate "C"))
    )
    from private.schema_objects as o
$$;
comment on function private.schema_record() is 'Number and digest of the recorded objects.';

create view private.schema_discrepancies as
select
    coalesce(o.object, c.object) as object,
    case when c.object is null then 'missing' when o.object is null then 'new' else 'changed' end as difference
from private.schema_objects as o
full join private.current_schema_objects() as c on o.object = c.object
where
    o.digest is distinct from c.digest
    -- New objects in public are a developer's own, unless it acts on what the product has there.
    and (
        o.object is not null
        or not (
            c.object ~ '^((function|view|type)|(row-level security|rights|columns) of|(trigger|constraint|policy|rule|index) .+ on) public\.'
            or c.object ~ '^policy .+ on storage\.'
        )
        or exists (
            select 1 from private.schema_objects as t
            where t.object in ('row-level security of ' || split_part(c.object, ' on ', 2), 'view ' || split_part(c.object, ' on ', 2))
        )
    )
union all
select
    'record',
    'changed'
where private.schema_record() is distinct from (
    select l.payload from private.audit_log as l
    -- As in the index.
    where l.action collate "C" = 'schema.recorded'
    order by l.id desc
    limit 1
);
comment on view private.schema_discrepancies is
'Objects of the product''s schema that are not what the last migration left: changed, missing or new; and record where that record is not the one of the audit log.';

create function jobs.check_schema() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_found jsonb := (
        select pg_catalog.jsonb_object_agg(d.object, d.difference) from (
            select s.object, s.difference from private.schema_discrepancies as s order by s.object limit 50
        ) as d
    );
begin
    if v_found is null then
        perform private.end_alarm('schema', 'changed');
    else
        perform private.raise_alarm('schema', 'changed', null, v_found);
    end if;
    return coalesce(v_found, '{}');
end
$$;
comment on function jobs.check_schema() is
'Compares the schema with what the last migration left; raises or ends the alarm. Returns {}, or the objects that differ, 50 at most.';
grant execute on function jobs.check_schema() to worker;

select private.record_schema();
