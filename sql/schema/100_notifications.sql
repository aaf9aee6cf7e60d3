-- Notifications, written in the transaction that caused them: a row for the member's inbox, a notice for the admin
-- panel, an outbox row for the worker to e-mail. Nothing is sent from inside a transaction, so a rollback notifies
-- nobody. A member reads the own inbox in pages and may only mark it as read. Administrators share one list; each has
-- a time up to which it is read.

create table public.notifications (
    id uuid primary key default private.time_ordered_id(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    kind text not null check (kind ~ '\A[a-z][a-z0-9_]{1,62}\Z'),
    title text not null check (length(title) between 1 and 200),
    body text not null check (length(body) between 1 and 4000),
    amount public.usd,
    link text check (link ~ '\A/[a-z0-9/?=&_-]*\Z'),
    read_at timestamptz,
    created_at timestamptz not null default now()
);
comment on table public.notifications is 'In-app notifications of members.';
alter table public.notifications enable row level security;
-- Also counts what is unread: an index of its own would be written in a random place by each decision.
create index notifications_user_idx on public.notifications (user_id, created_at desc, id desc) include (read_at);

create policy select_own on public.notifications for select to authenticated using (user_id = (select auth.uid()));
grant select on public.notifications to authenticated, service_role;

create table private.admin_notices (
    id uuid primary key default gen_random_uuid(),
    kind text not null check (kind ~ '\A[a-z][a-z0-9_]{1,62}\Z'),
    title text not null check (length(title) between 1 and 200),
    body text not null check (length(body) between 1 and 4000),
    link text,
    created_at timestamptz not null default now()
);
comment on table private.admin_notices is 'Notices for all administrators, in the panel.';
alter table private.admin_notices enable row level security;
create index admin_notices_created_idx on private.admin_notices (created_at desc, id desc);

create table private.admin_notice_reads (
    admin_id uuid primary key references private.admin_users (id) on delete cascade,
    read_until timestamptz not null
);
comment on table private.admin_notice_reads is 'Time up to which an administrator has read the notices.';
alter table private.admin_notice_reads enable row level security;

create function private.notify_member(p_user_id uuid, p_kind text, p_title text, p_body text, p_amount numeric, p_link text) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_member record;
begin
    select p.username, p.display_name, p.email, t.topic, r.topic is not null as is_opted_out into v_member
    from private.profiles as p
    left join private.mail_topics as t on p_kind ~ t.kind_pattern
    left join private.mail_opt_outs as r on p.user_id = r.user_id and t.topic = r.topic
    where p.user_id = p_user_id;
    insert into public.notifications (user_id, kind, title, body, amount, link, created_at)
    values (p_user_id, p_kind, p_title, p_body, p_amount, p_link, private.clock());
    if v_member.email ~ '\A[^\s@]+@[^\s@]+\Z' and not v_member.is_opted_out then
        insert into private.outbox (template, recipient, data, created_at)
        values (
            p_kind, v_member.email, pg_catalog.jsonb_build_object(
                'username', v_member.username, 'display_name', v_member.display_name, 'title', p_title, 'body', p_body,
                'amount', private.money(p_amount), 'link', p_link, 'topic', v_member.topic
            ), private.clock()
        );
    end if;
end
$$;
comment on function private.notify_member(uuid, text, text, text, numeric, text) is
'Notifies a member in the app and by e-mail, when the transaction commits.';

create function private.notify_administrators(p_kind text, p_title text, p_body text, p_link text) returns void
language sql volatile set search_path = '' as $$
    insert into private.admin_notices (kind, title, body, link, created_at) values (p_kind, p_title, p_body, p_link, private.clock())
$$;
comment on function private.notify_administrators(text, text, text, text) is
'Adds a notice to the admin panel, when the transaction commits.';

create function private.unread_notifications(p_user_id uuid) returns bigint
language sql stable set search_path = '' as $$
    select count(*)
    from (
        select n.read_at from public.notifications as n
        where n.user_id = p_user_id
        order by n.created_at desc, n.id desc
        limit 1000
    ) as m
    where m.read_at is null
$$;
comment on function private.unread_notifications(uuid) is 'Number of unread ones among a member''s newest 1,000 notifications.';

create function public.get_notifications(p_before text default null, p_limit integer default null) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.require_member()).user_id;
    v_limit integer := private.page_limit(p_limit, 20, 100);
    v_before record;
    v_items jsonb[];
    v_keys text[];
begin
    select * into v_before from private.decode_cursor(p_before);
    select
        pg_catalog.array_agg(
            pg_catalog.jsonb_build_object(
                'id', n.id,
                'kind', n.kind,
                'title', n.title,
                'body', n.body,
                'amount', private.money(n.amount),
                'read_at', n.read_at,
                'created_at', n.created_at,
                'link', n.link
            ) order by n.created_at desc, n.id desc
        ),
        pg_catalog.array_agg(private.encode_cursor(n.created_at, n.id) order by n.created_at desc, n.id desc)
    into v_items, v_keys
    from (
        select m.*
        from public.notifications as m
        where m.user_id = v_user_id and (m.created_at, m.id) < (v_before.at, v_before.id)
        order by m.created_at desc, m.id desc
        limit v_limit + 1
    ) as n;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(pg_catalog.to_jsonb(v_items[:v_limit]), '[]'),
        'next', case when pg_catalog.cardinality(v_items) > v_limit then v_keys[v_limit] end,
        'unread', private.unread_notifications(v_user_id)
    );
end
$$;
comment on function public.get_notifications(text, integer) is
'The caller''s notifications, newest first, with the number of unread ones (of the newest 1,000). Errors: invalid_cursor, invalid_limit.';
grant execute on function public.get_notifications(text, integer) to authenticated;

create function public.mark_notifications_read(p_ids uuid[] default null) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    if pg_catalog.cardinality(p_ids) > 1000 then
        perform private.raise_error(400, 'too_many', 'Mark at most 1,000 notifications at once.');
    end if;
    update public.notifications as n
    set read_at = pg_catalog.now()
    where n.user_id = v_user_id and n.read_at is null and (p_ids is null or n.id = any(p_ids));
    return pg_catalog.jsonb_build_object(
        'unread', private.unread_notifications(v_user_id)
    );
end
$$;
comment on function public.mark_notifications_read(uuid[]) is
'Marks the caller''s notifications as read, without p_ids all of them; ignores other members'' ids. Errors: too_many.';
grant execute on function public.mark_notifications_read(uuid[]) to authenticated;

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
comment on function public.get_admin_notices(integer) is
'The newest notices and the number of unread ones. Every administrator. Errors: forbidden, session_ended.';
grant execute on function public.get_admin_notices(integer) to platform_admin;

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
comment on function public.mark_admin_notices_read() is 'Marks all notices as read. Every administrator. Errors: forbidden, session_ended.';
grant execute on function public.mark_admin_notices_read() to platform_admin;
