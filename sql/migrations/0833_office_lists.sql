-- What the administrators' remaining lists read from end to end, and what a member's own table read does, and need
-- not: mail that was sent long ago, the audit trail for an action that is rare, a member by the exact username.

-- Section "by username" of a stock client's table reads; the name's spelling-blind index cannot serve it.
create index profiles_exact_username_idx on private.profiles (username);
create index outbox_failed_idx on private.outbox (failed_at desc) where failed_at is not null;
create index outbox_sent_idx on private.outbox (sent_at) where sent_at is not null;
-- Bytes, whatever the database's language: a group of actions is a range of them.
create index audit_log_action_idx on private.audit_log (action collate "C", seq desc);

create function private.failed_jobs() returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    -- The worker brings its tables, and the right to read them, when it starts.
    if pg_catalog.has_table_privilege(pg_catalog.to_regclass('procrastinate.procrastinate_jobs'), 'select') is not true then
        return '[]'::jsonb;
    end if;
    return (
        select coalesce(
            pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object('task', f.task_name, 'attempts', f.attempts, 'attempted_at', f.attempted_at) order by f.id desc
            ), '[]'
        )
        from (
            select
                j.id, j.task_name, j.attempts,
                (select max(e.at) from procrastinate.procrastinate_events as e where e.job_id = j.id) as attempted_at
            from procrastinate.procrastinate_jobs as j
            where j.status = 'failed'
            order by j.id desc
            limit 100
        ) as f
    );
end
$$;
comment on function private.failed_jobs() is 'Jobs of the worker that failed for good, the newest 100 first. They are forgotten after a month.';

create or replace function public.list_jobs() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin(array['super_admin']::public.admin_role[]);
    return pg_catalog.jsonb_build_object(
        'mail', (
            select pg_catalog.jsonb_build_object(
                'waiting', count(*),
                'failed', (select count(*) from private.outbox as f where f.failed_at is not null),
                'sent_today', (select count(*) from private.outbox as s where s.sent_at > pg_catalog.now() - interval '24 hours'),
                'oldest_waiting', min(o.created_at)
            )
            from private.outbox as o where o.sent_at is null and o.failed_at is null
        ),
        'failed', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'id', f.id, 'template', f.template, 'recipient', f.recipient, 'attempts', f.attempts,
                        'failed_at', f.failed_at, 'last_error', f.last_error
                    ) order by f.failed_at desc
                ), '[]'
            )
            from (select * from private.outbox as o where o.failed_at is not null order by o.failed_at desc limit 100) as f
        ),
        'failed_jobs', private.failed_jobs(),
        'books', (
            select pg_catalog.jsonb_build_object('checked_at', b.checked_at, 'violations', b.violations, 'rules', b.rules) from private.books_state as b
        ),
        'coverage_kept', (select max(c.day) from private.coverage_days as c)
    );
end
$$;

comment on function public.list_jobs() is 'Mail that waits or failed, jobs that failed for good, the last check of the books, the last kept coverage. Super admin. Errors: forbidden, session_ended.';

-- Each filter is a range of an index; together they are few enough that one of them leads.
create or replace function private.audit_page(p_actor text, p_action text, p_object uuid, p_limit integer, p_offset integer)
returns setof private.audit_log
language plpgsql stable set search_path = '' as $$
begin
    return query execute pg_catalog.concat(
        'select a.* from private.audit_log as a where true',
        ' and a.actor = ' || pg_catalog.quote_literal(p_actor),
        case when p_action is not null then pg_catalog.format(
            -- A range of the index that holds the action and, where it is the part before a dot, all of its kind.
            ' and a.action collate "C" between %1$L and %2$L and (a.action = %1$L or pg_catalog.starts_with(a.action, %3$L))',
            p_action, p_action || '/', p_action || '.'
        ) end,
        ' and a.object_id = ' || pg_catalog.quote_literal(p_object),
        ' order by a.seq desc limit $1 offset $2'
    ) using p_limit, p_offset;
end
$$;

-- The id is compared as one: as text it was looked for among all members, once for each row of the trail.
create or replace function private.actor_name(p_actor text) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_kind text := pg_catalog.split_part(p_actor, ':', 1);
    v_id uuid := nullif(pg_catalog.split_part(p_actor, ':', 2), '')::uuid;
begin
    return case v_kind
        when 'admin' then (select coalesce(a.full_name, a.email) from private.admin_users as a where a.id = v_id)
        when 'member' then (select p.username from private.profiles as p where p.user_id = v_id)
        else p_actor
    end;
end
$$;
