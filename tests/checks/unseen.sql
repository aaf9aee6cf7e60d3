-- What the CLI's diff neither sees nor writes, one text a row. Reference rows are those that the product needs
-- before anybody has used it.
select 'role settings', format('alter role %I set %s', coalesce(r.rolname, '(all)'), s.setting)
from pg_catalog.pg_db_role_setting as d
left join pg_catalog.pg_roles as r on r.oid = d.setrole
cross join lateral unnest(d.setconfig) as s (setting)
union
select 'memberships', format('grant %I to %I', m.roleid::regrole::text, m.member::regrole::text)
from pg_catalog.pg_auth_members as m
union
select 'roles', format(
    '%I login=%s inherit=%s: %s', r.rolname, r.rolcanlogin, r.rolinherit,
    pg_catalog.shobj_description(r.oid, 'pg_authid')
)
from pg_catalog.pg_roles as r
where r.rolname !~ '^pg_'
union
select 'columns (place, statistics, storage)', format(
    '%s.%I: %s %s %s', a.attrelid::regclass, a.attname,
    row_number() over (partition by a.attrelid order by a.attnum), a.attstattarget, a.attstorage
)
from pg_catalog.pg_attribute as a
inner join pg_catalog.pg_class as c on c.oid = a.attrelid and c.relkind in ('r', 'p')
where a.attnum > 0 and not a.attisdropped and c.relnamespace::regnamespace::text in ('public', 'private')
union
select 'rows of private.settings', (to_jsonb(s) - 'updated_at')::text from private.settings as s
union
select 'rows of private.packages', to_jsonb(p)::text from private.packages as p
union
select 'rows of private.mail_topics', to_jsonb(t)::text from private.mail_topics as t
union
select 'rows of private.counters', to_jsonb(c)::text from private.counters as c
union
select 'rows of storage.buckets', (to_jsonb(b) - array['created_at', 'updated_at'])::text from storage.buckets as b;
