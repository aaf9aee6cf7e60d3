-- What administrators are told in the panel: a member subscribed to a bot, the deposit address was changed. One
-- list for all of them; each has read it up to a moment of the own.

create table private.admin_notice_reads (
    admin_id uuid primary key references private.admin_users (id) on delete cascade,
    read_until timestamptz not null
);
alter table private.admin_notice_reads enable row level security;
comment on table private.admin_notice_reads is 'Up to when an administrator has read the notices.';

create function public.get_admin_notices(p_limit integer default 50) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_read timestamptz := coalesce(
        (select r.read_until from private.admin_notice_reads as r where r.admin_id = v_admin.id), v_admin.created_at
    );
begin
    return pg_catalog.jsonb_build_object(
        'items', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'id', n.id, 'kind', n.kind, 'title', n.title, 'body', n.body, 'link', n.link,
                        'created_at', n.created_at, 'unread', n.created_at > v_read
                    ) order by n.created_at desc, n.id desc
                ), '[]'
            )
            from (
                select * from private.admin_notices as a order by a.created_at desc, a.id desc limit least(greatest(p_limit, 1), 200)
            ) as n
        ),
        'unread', (select count(*) from private.admin_notices as a where a.created_at > v_read)
    );
end
$$;
comment on function public.get_admin_notices(integer) is 'The newest notices and how many of them are unread. Every administrator. Errors: forbidden, session_ended.';

create function public.mark_admin_notices_read() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
begin
    insert into private.admin_notice_reads (admin_id, read_until) values (v_admin.id, pg_catalog.clock_timestamp())
    on conflict (admin_id) do update set read_until = excluded.read_until;
    return pg_catalog.jsonb_build_object('success', true);
end
$$;
comment on function public.mark_admin_notices_read() is 'Everything up to now is read. Every administrator. Errors: forbidden, session_ended.';
grant execute on function public.get_admin_notices(integer), public.mark_admin_notices_read() to platform_admin;
