-- Bot subscriptions as administrators see them. The list carries the length of an MT5 password, for the mask, and
-- never the password.

create index bot_subscriptions_status_idx on public.bot_subscriptions (status, subscribed_at desc, id desc);
create index bot_subscriptions_search_idx on public.bot_subscriptions
using gin (lower(bot_name || ' ' || mt5_server || ' ' || mt5_login) extensions.gin_trgm_ops);

insert into private.counters (name, value)
select 'subscriptions_' || s.status, count(b.id)
from pg_catalog.unnest(enum_range(null::public.subscription_status)) as s (status)
left join public.bot_subscriptions as b on s.status = b.status
group by s.status;

create function private.subscriptions_counted() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if tg_op = 'UPDATE' then
        perform private.count_up('subscriptions_' || old.status, -1);
    end if;
    perform private.count_up('subscriptions_' || new.status, 1);
    return null;
end
$$;
comment on function private.subscriptions_counted() is 'Counts subscriptions by status.';
create trigger _500_counted_insert after insert on public.bot_subscriptions
for each row execute function private.subscriptions_counted();
create trigger _500_counted_update after update of status on public.bot_subscriptions
for each row when (old.status is distinct from new.status) execute function private.subscriptions_counted();

create function public.list_subscriptions(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.read_filters(p_filters, array['subscribed_at']);
    v_filters text;
    v_order text := 'r.subscribed_at, r.id';
    v_reversed text := 'r.subscribed_at desc, r.id desc';
    v_ids uuid[];
    v_more boolean;
    v_items jsonb;
    v_counts jsonb;
    v_total bigint;
begin
    perform private.require_admin();
    if v_request.status not in ('active', 'suspended', 'cancelled') then
        perform private.refuse(400, 'invalid_filter', 'There is no such status.');
    end if;
    if v_request.descending then
        select v_reversed, v_order into v_order, v_reversed;
    end if;
    select
        pg_catalog.jsonb_object_agg(s.status, private.counter('subscriptions_' || s.status)::bigint),
        coalesce(sum(private.counter('subscriptions_' || s.status)) filter (
            where v_request.status is null or s.status::text = v_request.status
        ), 0)::bigint
    into v_counts, v_total
    from pg_catalog.unnest(pg_catalog.enum_range(null::public.subscription_status)) as s (status);
    v_filters := coalesce(' and r.status = ' || pg_catalog.quote_literal(v_request.status) || '::public.subscription_status', '');
    if v_request.pattern is null then
        v_ids := private.page_of('from public.bot_subscriptions as r where true' || v_filters, v_order, v_reversed, v_request, v_total);
    else
        select f.ids, f.total, f.more into v_ids, v_total, v_more
        from private.found_page(
            'public.bot_subscriptions',
            pg_catalog.format(
                $query$from (
                    (
                        select r.id from private.profiles as p inner join public.bot_subscriptions as r on p.user_id = r.user_id
                        where private.searchable(p.username, p.display_name, p.email) like $1 %1$s
                        limit 10001
                    )
                    union
                    (
                        select r.id from public.bot_subscriptions as r
                        where lower(r.bot_name || ' ' || r.mt5_server || ' ' || r.mt5_login) like $1 %1$s
                        limit 10001
                    )
                ) as r$query$, v_filters
            ),
            pg_catalog.format(
                $query$from public.bot_subscriptions as r where (
                    exists (
                        select from private.profiles as p
                        where p.user_id = r.user_id and private.searchable(p.username, p.display_name, p.email) like $1
                    )
                    or lower(r.bot_name || ' ' || r.mt5_server || ' ' || r.mt5_login) like $1
                ) %1$s$query$, v_filters
            ),
            v_order, v_reversed, v_request
        ) as f;
    end if;
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', b.id,
            'user_id', b.user_id,
            'username', p.username,
            'email', p.email,
            'display_name', p.display_name,
            'bot_name', b.bot_name,
            'status', b.status,
            'mt5_server', b.mt5_server,
            'mt5_login', b.mt5_login,
            'mt5_password_length', b.mt5_password_length,
            'subscribed_at', b.subscribed_at,
            'updated_at', b.updated_at
        ) order by u.place
    )
    into v_items
    from pg_catalog.unnest(v_ids) with ordinality as u (id, place)
    inner join public.bot_subscriptions as b on u.id = b.id
    inner join private.profiles as p on b.user_id = p.user_id;
    return pg_catalog.jsonb_build_object('items', coalesce(v_items, '[]'), 'total', v_total, 'counts', v_counts)
        || case when v_more then '{"more": true}' else '{}' end::jsonb;
end
$$;
comment on function public.list_subscriptions(jsonb) is
'Administrators: bot subscriptions, newest first, without passwords. Filters: page, pageSize, search (member, bot, MT5 server, MT5 login), status, sort (subscribed_at). Errors: forbidden, session_ended, invalid_filter.';
grant execute on function public.list_subscriptions(jsonb) to platform_admin;
