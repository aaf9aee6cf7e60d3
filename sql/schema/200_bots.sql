-- Bot subscriptions: a bot trades with the member's own MT5 account. The password is encrypted before it reaches SQL
-- and stored in a table that no API role may read; the subscription stores only its length, for the mask.
-- Unsubscribing erases it.
-- Rules: specification S15.4 and S16.

create table public.bot_subscriptions (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    bot_name text not null check (bot_name in ('Scout', 'Ranger', 'Sentinel')),
    status public.subscription_status not null default 'active',
    mt5_server text not null check (length(mt5_server) between 1 and 128),
    mt5_login text not null check (length(mt5_login) between 1 and 64),
    mt5_password_length integer check (mt5_password_length between 1 and 256),
    subscribed_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
comment on table public.bot_subscriptions is 'Subscriptions to trading bots. mt5_password_length is null once the password is erased.';
alter table public.bot_subscriptions enable row level security;
-- One active or suspended subscription per member and bot.
create unique index bot_subscriptions_running_key on public.bot_subscriptions (user_id, bot_name) where status <> 'cancelled';
create index bot_subscriptions_user_idx on public.bot_subscriptions (user_id, subscribed_at desc);
create index bot_subscriptions_subscribed_idx on public.bot_subscriptions (subscribed_at desc, id desc);
create index bot_subscriptions_status_idx on public.bot_subscriptions (status, subscribed_at desc, id desc);
create index bot_subscriptions_search_idx on public.bot_subscriptions
using gin (lower(bot_name || ' ' || mt5_server || ' ' || mt5_login) extensions.gin_trgm_ops);

create policy select_own on public.bot_subscriptions for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on public.bot_subscriptions for select to platform_admin using (true);
grant select on public.bot_subscriptions to authenticated, platform_admin, service_role;
-- Not granted: insert, update, delete to any role. Schema edge has the functions.

create function private.bot_subscriptions_update_counters() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if tg_op = 'UPDATE' then
        perform private.increment_counter('subscriptions_' || old.status, -1);
    end if;
    perform private.increment_counter('subscriptions_' || new.status, 1);
    return null;
end
$$;
comment on function private.bot_subscriptions_update_counters() is 'Trigger: counts subscriptions by status.';
create trigger _500_update_counters_insert after insert on public.bot_subscriptions
for each row execute function private.bot_subscriptions_update_counters();
create trigger _500_update_counters_update after update of status on public.bot_subscriptions
for each row when (old.status is distinct from new.status) execute function private.bot_subscriptions_update_counters();

create table private.bot_secrets (
    subscription_id uuid primary key references public.bot_subscriptions (id) on delete cascade,
    key_id text not null,
    secret bytea not null,
    updated_at timestamptz not null default now()
);
comment on table private.bot_secrets is 'Encrypted MT5 passwords: nonce, ciphertext and tag from functions/edge.';
alter table private.bot_secrets enable row level security;
create index bot_secrets_key_idx on private.bot_secrets (key_id);

create function public.get_user_bot_subscriptions(p_user_id uuid) returns setof public.bot_subscriptions
language sql stable security definer set search_path = '' as $$
    select * from public.bot_subscriptions as s
    where s.user_id = p_user_id and s.user_id = auth.uid() and s.status in ('active', 'suspended')
    order by s.subscribed_at desc
$$;
comment on function public.get_user_bot_subscriptions(uuid) is
'The caller''s own active and suspended subscriptions; no rows for another member''s id.';
grant execute on function public.get_user_bot_subscriptions(uuid) to authenticated;

-- Functions for functions/edge. The MT5 password arrives and leaves encrypted: nothing here can read it. Each takes
-- the principal's id from the verified token; only role edge_functions may execute them.

create function edge.subscribe_bot(
    p_user_id uuid, p_id uuid, p_bot_name text, p_server text, p_login text, p_password_length integer, p_key_id text, p_secret bytea
) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles := private.lock_member(p_user_id);
    v_subscription public.bot_subscriptions;
begin
    if v_member.id is null then
        perform private.raise_error(403, 'profile_not_found', 'Complete your profile first.');
    end if;
    if exists (
        select 1 from public.bot_subscriptions as s where s.user_id = p_user_id and s.bot_name = p_bot_name and s.status <> 'cancelled'
    ) then
        perform private.raise_error(409, 'already_subscribed', pg_catalog.format('You are already subscribed to %s.', p_bot_name));
    end if;
    insert into public.bot_subscriptions (id, user_id, bot_name, mt5_server, mt5_login, mt5_password_length, subscribed_at, updated_at)
    values (p_id, p_user_id, p_bot_name, p_server, p_login, p_password_length, private.clock(), private.clock())
    returning * into v_subscription;
    insert into private.bot_secrets (subscription_id, key_id, secret) values (p_id, p_key_id, p_secret);
    perform private.notify_administrators(
        'bot_subscribed', pg_catalog.format('%s: new subscription', p_bot_name),
        pg_catalog.format('%s subscribed to %s.', v_member.username, p_bot_name), '/admin/bots'
    );
    perform private.audit('member:' || p_user_id, 'bot.subscribed', 'bot_subscription', p_id, pg_catalog.jsonb_build_object('bot', p_bot_name));
    return pg_catalog.jsonb_build_object('success', true, 'subscription', pg_catalog.to_jsonb(v_subscription));
end
$$;
comment on function edge.subscribe_bot(uuid, uuid, text, text, text, integer, text, bytea) is
'Starts a subscription with its encrypted password and notifies administrators. Errors: profile_not_found, already_subscribed.';
grant execute on function edge.subscribe_bot(uuid, uuid, text, text, text, integer, text, bytea) to edge_functions;

create function edge.unsubscribe_bot(p_user_id uuid, p_bot_name text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles := private.lock_member(p_user_id);
    v_subscription public.bot_subscriptions;
begin
    update public.bot_subscriptions as s set status = 'cancelled', mt5_password_length = null, updated_at = private.clock()
    where s.user_id = p_user_id and s.bot_name = p_bot_name and s.status <> 'cancelled'
    returning s.* into v_subscription;
    if v_subscription.id is null then
        perform private.raise_error(404, 'not_subscribed', pg_catalog.format('You are not subscribed to %s.', p_bot_name));
    end if;
    delete from private.bot_secrets as b where b.subscription_id = v_subscription.id;
    perform private.notify_administrators(
        'bot_unsubscribed', pg_catalog.format('%s: subscription ended', p_bot_name),
        pg_catalog.format('%s unsubscribed from %s.', v_member.username, p_bot_name), '/admin/bots'
    );
    perform private.audit(
        'member:' || p_user_id, 'bot.unsubscribed', 'bot_subscription', v_subscription.id, pg_catalog.jsonb_build_object('bot', p_bot_name)
    );
    return pg_catalog.jsonb_build_object('success', true, 'subscription', pg_catalog.to_jsonb(v_subscription));
end
$$;
comment on function edge.unsubscribe_bot(uuid, text) is
'Ends a subscription, erases its password and notifies administrators. Errors: not_subscribed.';
grant execute on function edge.unsubscribe_bot(uuid, text) to edge_functions;

create function edge.encrypted_mt5_password(p_admin_id uuid, p_subscription_id uuid) returns table (user_id uuid, key_id text, secret bytea)
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users;
begin
    select * into v_admin from private.admin_users as a where a.id = p_admin_id and a.is_active;
    if v_admin.role is null or v_admin.role not in ('super_admin', 'finance_admin') then
        perform private.raise_error(403, 'forbidden', 'Only finance and super administrators can see MT5 passwords.');
    end if;
    perform private.require_totp(v_admin);
    return query
    select s.user_id, b.key_id, b.secret
    from public.bot_subscriptions as s
    inner join private.bot_secrets as b on b.subscription_id = s.id
    where s.id = p_subscription_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'This subscription keeps no password any more.');
    end if;
    perform private.audit('admin:' || p_admin_id, 'bot.password_revealed', 'bot_subscription', p_subscription_id);
end
$$;
comment on function edge.encrypted_mt5_password(uuid, uuid) is
'The encrypted password of one subscription, for an administrator who may see it; writes an audit row. Errors: forbidden, two_step_required, not_found.';
grant execute on function edge.encrypted_mt5_password(uuid, uuid) to edge_functions;

-- Subscriptions in the admin panel. The list has the length of an MT5 password, for the mask, never the password.

create function public.update_subscription(p_subscription_id uuid, p_status text, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_reason text := pg_catalog.btrim(p_reason);
    v_subscription public.bot_subscriptions;
begin
    perform private.require_totp(v_admin);
    if coalesce(v_reason, '') = '' then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    if p_status not in ('active', 'suspended') then
        perform private.raise_error(400, 'invalid_input', 'A subscription can be made active or suspended.');
    end if;
    update public.bot_subscriptions as s set status = p_status::public.subscription_status, updated_at = private.clock()
    where s.id = p_subscription_id and s.status <> 'cancelled'
    returning s.* into v_subscription;
    if v_subscription.id is null then
        perform private.raise_error(404, 'not_found', 'There is no running subscription like this.');
    end if;
    perform private.notify_member(
        v_subscription.user_id, 'bot_' || p_status,
        pg_catalog.format('%s is %s', v_subscription.bot_name, p_status), v_reason, null, '/bots'
    );
    perform private.audit(
        'admin:' || v_admin.id, 'bot.status_changed', 'bot_subscription', v_subscription.id,
        pg_catalog.jsonb_build_object('status', p_status, 'reason', v_reason)
    );
    return pg_catalog.jsonb_build_object('success', true, 'subscription', pg_catalog.to_jsonb(v_subscription));
end
$$;
comment on function public.update_subscription(uuid, text, text) is
'Any administrator suspends or reactivates a subscription, with a reason. Errors: forbidden, two_step_required, reason_required, invalid_input, not_found.';
grant execute on function public.update_subscription(uuid, text, text) to platform_admin;

create function private.subscription_items(p_ids uuid[]) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return coalesce((
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'id', b.id,
                'user_id', b.user_id,
                'profile_id', p.id,
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
        from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
        inner join public.bot_subscriptions as b on u.id = b.id
        inner join private.profiles as p on b.user_id = p.user_id
    ), '[]');
end
$$;
comment on function private.subscription_items(uuid[]) is 'Subscriptions as the admin panel shows them, without passwords, in the order of the ids.';

create function public.list_subscriptions(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['subscribed_at']);
    v_filters text;
    v_order text := 'r.subscribed_at, r.id';
    v_reversed text := 'r.subscribed_at desc, r.id desc';
    v_ids uuid[];
    v_more boolean;
    v_counts jsonb;
    v_total bigint;
begin
    perform private.require_admin();
    if v_request.status not in ('active', 'suspended', 'cancelled') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    if v_request.descending then
        select v_reversed, v_order into v_order, v_reversed;
    end if;
    select
        pg_catalog.jsonb_object_agg(s.status, private.counter_value('subscriptions_' || s.status)::bigint),
        coalesce(sum(private.counter_value('subscriptions_' || s.status)) filter (
            where v_request.status is null or s.status::text = v_request.status
        ), 0)::bigint
    into v_counts, v_total
    from pg_catalog.unnest(pg_catalog.enum_range(null::public.subscription_status)) as s (status);
    v_filters := coalesce(' and r.status = ' || pg_catalog.quote_literal(v_request.status) || '::public.subscription_status', '');
    if v_request.pattern is null then
        v_ids := private.page_ids('from public.bot_subscriptions as r where true' || v_filters, v_order, v_reversed, v_request, v_total);
    else
        select f.ids, f.total, f.more into v_ids, v_total, v_more
        from private.search_page(
            'public.bot_subscriptions',
            pg_catalog.format(
                $query$from (
                    (
                        select r.id from private.profiles as p inner join public.bot_subscriptions as r on p.user_id = r.user_id
                        where private.member_search_text(p.username, p.display_name, p.email) like $1 %1$s
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
                        where p.user_id = r.user_id and private.member_search_text(p.username, p.display_name, p.email) like $1
                    )
                    or lower(r.bot_name || ' ' || r.mt5_server || ' ' || r.mt5_login) like $1
                ) %1$s$query$, v_filters
            ),
            v_order, v_reversed, v_request
        ) as f;
    end if;
    return pg_catalog.jsonb_build_object('items', private.subscription_items(v_ids), 'total', v_total, 'counts', v_counts)
        || case when v_more then '{"more": true}' else '{}' end::jsonb;
end
$$;
comment on function public.list_subscriptions(jsonb) is
'Administrators: bot subscriptions, newest first, without passwords. Filters: page, pageSize, search (member, bot, MT5 server, MT5 login), status, sort (subscribed_at). Errors: forbidden, session_ended, invalid_filter, unknown_field.';
grant execute on function public.list_subscriptions(jsonb) to platform_admin;
