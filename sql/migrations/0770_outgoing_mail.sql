-- What a super admin sees of the worker: mail that waits, mail that was given up, and the last check of the books.

create function public.list_jobs() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin(array['super_admin']::public.admin_role[]);
    return pg_catalog.jsonb_build_object(
        'mail', (
            select pg_catalog.jsonb_build_object(
                'waiting', count(*) filter (where o.sent_at is null and o.failed_at is null),
                'failed', count(*) filter (where o.failed_at is not null),
                'sent_today', count(*) filter (where o.sent_at > pg_catalog.now() - interval '24 hours'),
                'oldest_waiting', min(o.created_at) filter (where o.sent_at is null and o.failed_at is null)
            )
            from private.outbox as o
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
        'books', (
            select pg_catalog.jsonb_build_object('checked_at', b.checked_at, 'violations', b.violations, 'rules', b.rules) from private.books_state as b
        ),
        'coverage_kept', (select max(c.day) from private.coverage_days as c)
    );
end
$$;
comment on function public.list_jobs() is 'Mail that waits or failed, the last check of the books, the last kept coverage. Super admin. Errors: forbidden, session_ended.';

create function public.retry_mail(p_id bigint) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
begin
    update private.outbox as o set attempts = 0, failed_at = null, next_attempt_at = pg_catalog.clock_timestamp()
    where o.id = p_id and o.failed_at is not null;
    if not found then
        perform private.refuse(404, 'not_found', 'There is no failed mail like this.');
    end if;
    perform pg_catalog.pg_notify('outbox', '');
    perform private.audit('admin:' || v_admin.id, 'mail.retried', null, null, pg_catalog.jsonb_build_object('id', p_id));
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.retry_mail(bigint) is 'Sends a mail that was given up once more. Super admin. Errors: forbidden, not_found.';
grant execute on function public.list_jobs(), public.retry_mail(bigint) to platform_admin;
