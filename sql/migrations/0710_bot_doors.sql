-- What functions/edge calls for bots. The MT5 password arrives sealed and leaves sealed: nothing here could read
-- it. Every function takes the person's id from the verified token; the role edge_functions alone may call them.

create function private.tell_administrators(p_kind text, p_title text, p_body text, p_link text) returns void
language sql volatile set search_path = '' as $$
    insert into private.admin_notices (kind, title, body, link, created_at) values (p_kind, p_title, p_body, p_link, private.clock())
$$;
comment on function private.tell_administrators(text, text, text, text) is 'A notice in the panel, if this transaction commits.';

create function edge.subscribe_bot(
    p_user_id uuid, p_id uuid, p_bot_name text, p_server text, p_login text, p_password_length integer, p_key_id text, p_secret bytea
) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles := private.lock_member(p_user_id);
    v_subscription public.bot_subscriptions;
begin
    if v_member.id is null then
        perform private.refuse(403, 'profile_not_found', 'Complete your profile first.');
    end if;
    if exists (
        select 1 from public.bot_subscriptions as s where s.user_id = p_user_id and s.bot_name = p_bot_name and s.status <> 'cancelled'
    ) then
        perform private.refuse(409, 'already_subscribed', pg_catalog.format('You are already subscribed to %s.', p_bot_name));
    end if;
    insert into public.bot_subscriptions (id, user_id, bot_name, mt5_server, mt5_login, mt5_password_length, subscribed_at, updated_at)
    values (p_id, p_user_id, p_bot_name, p_server, p_login, p_password_length, private.clock(), private.clock())
    returning * into v_subscription;
    insert into private.bot_secrets (subscription_id, key_id, secret) values (p_id, p_key_id, p_secret);
    perform private.tell_administrators(
        'bot_subscribed', pg_catalog.format('%s: new subscription', p_bot_name),
        pg_catalog.format('%s subscribed to %s.', v_member.username, p_bot_name), '/admin/bots'
    );
    perform private.audit('member:' || p_user_id, 'bot.subscribed', 'bot_subscription', p_id, pg_catalog.jsonb_build_object('bot', p_bot_name));
    return pg_catalog.jsonb_build_object('success', true, 'subscription', pg_catalog.to_jsonb(v_subscription));
end
$$;
comment on function edge.subscribe_bot(uuid, uuid, text, text, text, integer, text, bytea) is
'Starts a subscription with its sealed password and tells the administrators. Errors: profile_not_found, already_subscribed.';

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
        perform private.refuse(404, 'not_subscribed', pg_catalog.format('You are not subscribed to %s.', p_bot_name));
    end if;
    delete from private.bot_secrets as b where b.subscription_id = v_subscription.id;
    perform private.tell_administrators(
        'bot_unsubscribed', pg_catalog.format('%s: subscription ended', p_bot_name),
        pg_catalog.format('%s unsubscribed from %s.', v_member.username, p_bot_name), '/admin/bots'
    );
    perform private.audit(
        'member:' || p_user_id, 'bot.unsubscribed', 'bot_subscription', v_subscription.id, pg_catalog.jsonb_build_object('bot', p_bot_name)
    );
    return pg_catalog.jsonb_build_object('success', true, 'subscription', pg_catalog.to_jsonb(v_subscription));
end
$$;
comment on function edge.unsubscribe_bot(uuid, text) is 'Ends a subscription, erases its password and tells the administrators. Errors: not_subscribed.';

create function edge.sealed_mt5_password(p_admin_id uuid, p_subscription_id uuid) returns table (user_id uuid, key_id text, secret bytea)
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_role public.admin_role;
begin
    select a.role into v_role from private.admin_users as a where a.id = p_admin_id and a.is_active;
    if v_role is null or v_role not in ('super_admin', 'finance_admin') then
        perform private.refuse(403, 'forbidden', 'Only finance and super administrators can see MT5 passwords.');
    end if;
    return query
    select s.user_id, b.key_id, b.secret
    from public.bot_subscriptions as s
    inner join private.bot_secrets as b on b.subscription_id = s.id
    where s.id = p_subscription_id;
    if not found then
        perform private.refuse(404, 'not_found', 'This subscription keeps no password any more.');
    end if;
    perform private.audit('admin:' || p_admin_id, 'bot.password_revealed', 'bot_subscription', p_subscription_id);
end
$$;
comment on function edge.sealed_mt5_password(uuid, uuid) is
'The sealed password of one subscription, for an administrator who may see it; leaves an audit row. Errors: forbidden, not_found.';

grant execute on function
edge.subscribe_bot(uuid, uuid, text, text, text, integer, text, bytea),
edge.unsubscribe_bot(uuid, text),
edge.sealed_mt5_password(uuid, uuid)
to edge_functions;

create function public.update_subscription(p_subscription_id uuid, p_status text, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_reason text := pg_catalog.btrim(p_reason);
    v_subscription public.bot_subscriptions;
begin
    if coalesce(v_reason, '') = '' then
        perform private.refuse(400, 'reason_required', 'Give a reason.');
    end if;
    if p_status not in ('active', 'suspended') then
        perform private.refuse(400, 'invalid_input', 'A subscription can be made active or suspended.');
    end if;
    update public.bot_subscriptions as s set status = p_status::public.subscription_status, updated_at = private.clock()
    where s.id = p_subscription_id and s.status <> 'cancelled'
    returning s.* into v_subscription;
    if v_subscription.id is null then
        perform private.refuse(404, 'not_found', 'There is no running subscription like this.');
    end if;
    perform private.tell(
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
'Any administrator suspends a running subscription or makes it active again, with a reason. Errors: forbidden, reason_required, invalid_input, not_found.';
grant execute on function public.update_subscription(uuid, text, text) to platform_admin;
