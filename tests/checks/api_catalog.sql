-- What schema public offers to clients: functions with their arguments, and tables with their columns and rights.
select pg_catalog.jsonb_build_object(
    'functions', (
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
            'name', p.proname,
            'comment', pg_catalog.obj_description(p.oid, 'pg_proc'),
            'arguments', pg_catalog.to_jsonb(coalesce(p.proargnames, '{}')),
            'modes', pg_catalog.to_jsonb(coalesce(p.proargmodes::text[], '{}')),
            'types', (
                select coalesce(pg_catalog.jsonb_agg(pg_catalog.format_type(t.oid, null) order by t.place), '[]')
                from pg_catalog.unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality as t (oid, place)
            ),
            'optional', p.pronargdefaults,
            'returns', pg_catalog.pg_get_function_result(p.oid)
        ) order by p.proname)
        from pg_catalog.pg_proc as p
        where p.pronamespace = 'public'::regnamespace and p.prorettype <> 'trigger'::regtype
    ),
    'bodies', (
        select pg_catalog.jsonb_object_agg(n.nspname || '.' || p.proname, p.prosrc)
        from pg_catalog.pg_proc as p inner join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
        where n.nspname in ('public', 'private')
    ),
    'comments', (
        select pg_catalog.jsonb_object_agg(n.nspname || '.' || p.proname, pg_catalog.obj_description(p.oid, 'pg_proc'))
        from pg_catalog.pg_proc as p inner join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
        where n.nspname in ('public', 'edge')
    ),
    'tables', (
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
            'name', c.relname,
            'comment', pg_catalog.obj_description(c.oid, 'pg_class'),
            'columns', (
                select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                    'name', a.attname,
                    'type', pg_catalog.format_type(a.atttypid, a.atttypmod),
                    'values', (
                        select pg_catalog.jsonb_agg(e.enumlabel order by e.enumsortorder)
                        from pg_catalog.pg_enum as e where e.enumtypid = a.atttypid
                    ),
                    'comment', pg_catalog.col_description(c.oid, a.attnum)
                ) order by a.attnum)
                from pg_catalog.pg_attribute as a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
            ),
            'rights', (
                select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('role', r.role, 'verb', v.verb, 'columns', (
                    select pg_catalog.jsonb_agg(a.attname order by a.attnum) from pg_catalog.pg_attribute as a
                    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                        and not pg_catalog.has_table_privilege(r.role, c.oid, v.verb)
                        and v.verb <> 'DELETE' and pg_catalog.has_column_privilege(r.role, c.oid, a.attnum, v.verb)
                )) order by r.place, v.place), '[]')
                from pg_catalog.unnest(array['anon', 'authenticated', 'platform_admin']) with ordinality as r (role, place)
                cross join pg_catalog.unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) with ordinality as v (verb, place)
                where case
                    when v.verb = 'DELETE' then pg_catalog.has_table_privilege(r.role, c.oid, v.verb)
                    else pg_catalog.has_any_column_privilege(r.role, c.oid, v.verb)
                end
            ),
            'policies', (
                select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(l.roles[1], l.cmd, l.policyname)), '[]')
                from pg_catalog.pg_policies as l where l.schemaname = 'public' and l.tablename = c.relname
            )
        ) order by c.relname)
        from pg_catalog.pg_class as c
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')
    )
)
