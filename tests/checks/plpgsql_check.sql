-- What plpgsql_check has against the product's functions.
select format('%s: %s', p.oid::regprocedure, c.message)
from pg_catalog.pg_proc as p
inner join pg_catalog.pg_language as l on l.oid = p.prolang and l.lanname = 'plpgsql'
left join pg_catalog.pg_trigger as t on t.tgfoid = p.oid and not t.tgisinternal
cross join lateral extensions.plpgsql_check_function_tb(
    p.oid, coalesce(t.tgrelid, 0), oldtable => t.tgoldtable, newtable => t.tgnewtable,
    other_warnings => true, extra_warnings => false, security_warnings => true
) as c
where p.pronamespace::regnamespace::text in ('public', 'private', 'pre_request', 'hooks', 'edge', 'jobs')
    and (p.prorettype <> 'trigger'::regtype or t.oid is not null)
    -- They put SQL together from fragments that stand in the schema files, never from input; values are passed.
    and not (c.level = 'security' and p.proname in ('member_page', 'search_page', 'page_ids', 'request_page', 'find_requests', 'newest_requests'))
group by p.oid, c.message
order by 1;
