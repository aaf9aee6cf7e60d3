-- Leaving: a member downloads everything that is stored about the account, and closes it; an administrator does both
-- for a member who asks. Both need a fresh proof, so that a session left open is not enough. An account is closed
-- by the auth service, which deletes the user: the trigger on auth.users closes the profile in that transaction. What
-- is here decides whether it may, before.
-- Rules: specification S24, decision D28.

create function private.money_left(p_user_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object(
            'available', private.money(t.available_balance),
            'requestable', private.money(t.requestable_amount),
            'pending_withdrawals', private.money(t.reserved_amount),
            'pending_deposits', private.money(
                coalesce((select sum(d.amount) from public.deposits as d where d.user_id = p_user_id and d.status = 'pending'), 0)
            )
        )
        from private.totals as t where t.user_id = p_user_id
    );
end
$$;
comment on function private.money_left(uuid) is
'What a member would give up by leaving, as text: the balance, the part of it that can be requested, and pending requests.';

create function private.require_nothing_left(p_user_id uuid, p_confirmed boolean) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_left jsonb := private.money_left(p_user_id);
begin
    if p_confirmed is not true and exists (select from pg_catalog.jsonb_each_text(v_left) as f where f.value <> '0.00') then
        perform private.raise_error(
            409, 'money_left', pg_catalog.format(
                'Closing this account gives up %s that can still be withdrawn, pending withdrawals of %s and pending deposits of %s. Confirm to close it anyway.',
                private.dollars((v_left ->> 'requestable')::numeric),
                private.dollars((v_left ->> 'pending_withdrawals')::numeric),
                private.dollars((v_left ->> 'pending_deposits')::numeric)
            ), v_left::text
        );
    end if;
    return v_left;
end
$$;
comment on function private.require_nothing_left(uuid, boolean) is
'Raises when a member has a balance or pending requests and closing was not confirmed; the details have the figures. Errors: money_left.';

create function edge.start_closing(p_user_id uuid, p_confirmed boolean) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_fresh_proof('close your account');
    if not exists (select from private.profiles as p where p.user_id = p_user_id) then
        perform private.raise_error(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    perform private.require_nothing_left(p_user_id, p_confirmed);
    return pg_catalog.jsonb_build_object('user_id', p_user_id);
end
$$;
comment on function edge.start_closing(uuid, boolean) is
'Whether a member may close the own account, before the auth service deletes the user. Errors: reauthentication_needed, profile_not_found, money_left.';
grant execute on function edge.start_closing(uuid, boolean) to edge_functions;

create function public.start_member_closing(p_profile_id uuid, p_reason text, p_confirmed boolean) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_member private.profiles;
    v_left jsonb;
begin
    select p.* into v_member from private.profiles as p where p.id = p_profile_id;
    if v_member.id is null then
        perform private.raise_error(404, 'not_found', 'There is no such member.');
    end if;
    if v_reason is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    if v_member.closed_at is not null then
        return pg_catalog.jsonb_build_object('already', true);
    end if;
    v_left := private.require_nothing_left(v_member.user_id, p_confirmed);
    perform private.require_fresh_admin_proof('close a member''s account');
    perform private.audit(
        'admin:' || v_admin.id, 'member.closing_started', 'profile', p_profile_id,
        pg_catalog.jsonb_build_object('reason', v_reason, 'money_left', v_left)
    );
    return pg_catalog.jsonb_build_object('user_id', v_member.user_id);
end
$$;
comment on function public.start_member_closing(uuid, text, boolean) is
'Super admin: writes an audit row before the auth service deletes a member who asked to leave; already true for a closed one. Errors: forbidden, two_step_required, not_found, reason_required, money_left, reauthentication_needed.';
grant execute on function public.start_member_closing(uuid, text, boolean) to platform_admin;

-- The download. Each start is counted and recorded, and the member is notified of it, before the first row is read.

create function private.note_data_download(p_actor text, p_member private.profiles, p_body text, p_reason text default null) returns jsonb
language plpgsql volatile set search_path = '' as $$
begin
    if not private.consume_rate_limit('data_download', p_actor, case when pg_catalog.starts_with(p_actor, 'admin:') then 50 else 10 end, interval '1 day') then
        perform private.raise_error(429, 'too_many_requests', 'You have downloaded data many times today. Try again tomorrow.');
    end if;
    perform private.notify_member(
        (p_member).user_id, 'data_downloaded', 'Your data was downloaded', p_body || ' If you did not ask for this, change your password and contact support.', null, '/settings'
    );
    perform private.audit(
        p_actor, 'member.data_downloaded', 'profile', (p_member).id, pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('reason', p_reason))
    );
    return pg_catalog.jsonb_build_object('user_id', (p_member).user_id);
end
$$;
comment on function private.note_data_download(text, private.profiles, text, text) is
'Counts and records a download of a member''s data and notifies the member: 10 a day by the member, 50 by an administrator. Errors: too_many_requests.';

create function edge.start_data_download(p_user_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles;
begin
    perform private.require_fresh_proof('download your data');
    select p.* into v_member from private.profiles as p where p.user_id = p_user_id;
    if v_member.id is null then
        perform private.raise_error(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    return private.note_data_download('member:' || p_user_id, v_member, 'A file with everything that is stored about your account was made for you.');
end
$$;
comment on function edge.start_data_download(uuid) is
'Call before edge.member_data() for a member''s own data. Errors: reauthentication_needed, profile_not_found, too_many_requests.';
grant execute on function edge.start_data_download(uuid) to edge_functions;

create function public.start_member_data_download(p_profile_id uuid, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_member private.profiles;
begin
    select p.* into v_member from private.profiles as p where p.id = p_profile_id;
    if v_member.id is null then
        perform private.raise_error(404, 'not_found', 'There is no such member.');
    end if;
    if v_reason is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    perform private.require_fresh_admin_proof('download a member''s data');
    return private.note_data_download(
        'admin:' || v_admin.id, v_member, 'An administrator made a file with everything that is stored about your account, at your request.', v_reason
    );
end
$$;
comment on function public.start_member_data_download(uuid, text) is
'Finance and super administrators: allows the file with everything that is stored about a member who asked for it, blocked and closed ones too; the member is notified. admin-download-data makes the file. Errors: forbidden, two_step_required, not_found, reason_required, reauthentication_needed, too_many_requests.';
grant execute on function public.start_member_data_download(uuid, text) to platform_admin;

-- Everything stored about a member, list by list: about other people only what the member sees on the screens. Left out are
-- secrets, administrators' notes and names, and copies: e-mails repeat notifications.

create function private.member_account_data(p_user_id uuid) returns table (list text, item jsonb)
language plpgsql stable set search_path = '' as $$
begin
    return query
    select 'profile', pg_catalog.jsonb_build_object(
        'id', p.id, 'user_id', p.user_id, 'username', p.username, 'display_name', p.display_name, 'email', p.email,
        'trc20_wallet_address', p.trc20_wallet_address, 'account_status', p.account_status, 'account_verified', p.account_verified,
        'package_value', private.money(p.package_value), 'cash_in_amount', private.money(p.cash_in_amount),
        'bonus_amount', private.money(t.bonus_amount), 'reentry_amount', private.money(t.reentry_amount),
        'withdrawn_amount', private.money(t.withdrawn_amount), 'reserved_amount', private.money(t.reserved_amount),
        'available_balance', private.money(t.available_balance), 'hold_until', p.hold_until, 'hold_reason', p.hold_reason,
        'sponsor_username', s.username, 'sponsor_display_name', s.display_name, 'sign_up_data', u.raw_user_meta_data,
        'email_confirmed_at', u.email_confirmed_at, 'last_sign_in_at', u.last_sign_in_at, 'created_at', p.created_at, 'closed_at', p.closed_at
    )
    from private.profiles as p
    inner join private.totals as t on p.user_id = t.user_id
    left join private.profiles as s on p.referrer_id = s.id
    left join auth.users as u on p.user_id = u.id
    where p.user_id = p_user_id;
    return query
    select 'direct_referrals', pg_catalog.jsonb_build_object(
        'id', r.id, 'username', r.username, 'display_name', r.display_name, 'package_value', private.money(r.package_value), 'created_at', r.created_at
    )
    from private.profiles as r
    where r.referrer_id = (select p.id from private.profiles as p where p.user_id = p_user_id)
    order by r.created_at, r.id;
    return query
    select 'sessions', pg_catalog.jsonb_build_object(
        'created_at', s.created_at, 'refreshed_at', s.refreshed_at at time zone 'UTC', 'aal', s.aal, 'user_agent', s.user_agent, 'ip', pg_catalog.host(s.ip)
    )
    from auth.sessions as s where s.user_id = p_user_id
    order by s.created_at, s.id;
    return query
    select 'authenticators', pg_catalog.jsonb_build_object('name', f.friendly_name, 'type', f.factor_type, 'status', f.status, 'created_at', f.created_at)
    from auth.mfa_factors as f where f.user_id = p_user_id
    order by f.created_at, f.id;
end
$$;
comment on function private.member_account_data(uuid) is
'A member''s profile, direct referrals, sign-in sessions and authenticators, for the download.';

create function private.member_money_data(p_user_id uuid) returns table (list text, item jsonb)
language plpgsql stable set search_path = '' as $$
begin
    return query
    select 'deposits', pg_catalog.jsonb_build_object(
        'id', d.id, 'amount', private.money(d.amount), 'received_amount', private.money(d.received_amount), 'kind', d.kind, 'reference_number', d.reference_number, 'receipt_name', r.name,
        'status', d.status, 'admin_notes', d.admin_notes, 'created_at', d.created_at, 'decided_at', d.decided_at, 'voided_at', d.voided_at
    )
    from public.deposits as d
    left join private.deposit_receipts as r on d.id = r.deposit_id
    where d.user_id = p_user_id
    order by d.created_at, d.id;
    return query
    select 'deposit_rests', pg_catalog.jsonb_build_object(
        'deposit_id', r.deposit_id, 'no', r.no, 'received_amount', private.money(r.received_amount), 'asked_at', r.asked_at,
        'reference_number', r.reference_number, 'referenced_at', r.referenced_at
    )
    from private.deposit_rests as r
    inner join public.deposits as d on r.deposit_id = d.id
    where d.user_id = p_user_id
    order by r.asked_at, r.deposit_id, r.no;
    return query
    select 'withdrawals', pg_catalog.jsonb_build_object(
        'id', w.id, 'amount', private.money(w.amount), 'wallet_address', w.wallet_address, 'status', w.status, 'admin_notes', w.admin_notes,
        'payout_reference', w.payout_reference, 'created_at', w.created_at, 'decided_at', w.decided_at, 'payout_at', w.payout_at, 'voided_at', w.voided_at
    )
    from public.withdrawals as w where w.user_id = p_user_id
    order by w.created_at, w.id;
    return query
    select 'bonuses', pg_catalog.jsonb_build_object(
        'id', b.id, 'bonus_type', b.bonus_type, 'amount', private.money(b.amount), 'rate', private.percent(b.rate), 'volume', private.money(b.volume),
        'reentry_amount', private.money(b.reentry_amount), 'pair_number', b.pair_number, 'source_username', s.username, 'created_at', b.created_at
    )
    from public.bonuses as b
    inner join private.profiles as s on b.source_user_id = s.user_id
    where b.user_id = p_user_id
    order by b.created_at, b.id;
    return query
    select 'transactions', pg_catalog.jsonb_build_object(
        'id', t.id, 'transaction_type', t.transaction_type, 'amount', private.money(t.amount), 'status', t.status, 'reference_id', t.reference_id,
        'created_at', t.created_at, 'balance_after', private.money(t.balance_after)
    )
    from public.transactions as t where t.user_id = p_user_id
    order by t.created_at, t.id;
    return query
    select 'receipts', pg_catalog.jsonb_build_object(
        'name', o.name, 'bytes', (o.metadata ->> 'size')::bigint, 'type', o.metadata ->> 'mimetype', 'created_at', o.created_at
    )
    from storage.objects as o
    where o.bucket_id = 'receipts' and o.name >= p_user_id || '/' and o.name < p_user_id || '0'
    order by o.created_at, o.name;
end
$$;
comment on function private.member_money_data(uuid) is
'A member''s requests, bonuses, journal rows and the names of the receipts, for the download.';

create function private.member_activity_data(p_user_id uuid) returns table (list text, item jsonb)
language plpgsql stable set search_path = '' as $$
begin
    return query
    select 'notifications', pg_catalog.jsonb_build_object(
        'id', n.id, 'kind', n.kind, 'title', n.title, 'body', n.body, 'amount', private.money(n.amount), 'link', n.link, 'read_at', n.read_at,
        'created_at', n.created_at
    )
    from public.notifications as n where n.user_id = p_user_id
    order by n.created_at, n.id;
    return query
    select 'subscriptions', pg_catalog.jsonb_build_object(
        'id', s.id, 'bot_name', s.bot_name, 'status', s.status, 'mt5_server', s.mt5_server, 'mt5_login', s.mt5_login,
        'subscribed_at', s.subscribed_at, 'updated_at', s.updated_at
    )
    from public.bot_subscriptions as s where s.user_id = p_user_id
    order by s.subscribed_at, s.id;
    return query
    select 'lessons', pg_catalog.jsonb_build_object('lesson_id', l.lesson_id, 'done_at', l.done_at)
    from public.lesson_progress as l where l.user_id = p_user_id
    order by l.done_at, l.lesson_id;
    return query
    select case when c.wanted then 'mail_opt_ins' else 'mail_opt_outs' end, pg_catalog.jsonb_build_object('topic', c.topic, 'since', c.at)
    from private.mail_choices as c where c.user_id = p_user_id
    order by c.wanted, c.topic;
    return query
    select 'activity', pg_catalog.jsonb_build_object(
        'at', a.at, 'action', a.action, 'object_type', a.object_type, 'object_id', a.object_id, 'details', a.payload
    )
    from private.audit_log as a where a.actor = 'member:' || p_user_id
    order by a.id;
end
$$;
comment on function private.member_activity_data(uuid) is
'A member''s notifications, subscriptions, lessons, mail choices and own entries of the audit log, for the download.';

create function edge.member_data(p_user_id uuid) returns table (list text, item jsonb)
language plpgsql stable security definer set search_path = '' set timezone = 'UTC' as $$
begin
    return query select d.list, d.item from private.member_account_data(p_user_id) as d;
    return query select d.list, d.item from private.member_money_data(p_user_id) as d;
    return query select d.list, d.item from private.member_activity_data(p_user_id) as d;
end
$$;
comment on function edge.member_data(uuid) is
'Everything that is stored about a member, of one moment, one list after the other; oldest rows first, money as text, times ISO 8601 in UTC.';
grant execute on function edge.member_data(uuid) to edge_functions;
