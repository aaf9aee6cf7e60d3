-- The operator's settings and the way out of demo mode. Leaving it is checked here, once, by one list that the
-- screen shows as it is; nothing else opens the door to real money, and it cannot be closed again.

create function public.list_settings() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin(array['super_admin']::public.admin_role[]);
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'key', s.key, 'value', s.value, 'kind', s.kind, 'minimum', s.minimum, 'maximum', s.maximum,
                'description', s.description, 'updated_at', s.updated_at,
                'updated_by_name', (select coalesce(a.full_name, a.email) from private.admin_users as a where a.id = s.updated_by)
            ) order by s.key
        )
        from private.settings as s
    );
end
$$;
comment on function public.list_settings() is 'All settings with type and limits. Super admin. Errors: forbidden, session_ended.';

create function public.change_setting(p_key text, p_value jsonb) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_before jsonb;
    v_setting private.settings;
begin
    if p_key in ('demo', 'demo.seeded', 'mail.ready') then
        perform private.refuse(403, 'forbidden', 'This changes through readiness only.');
    end if;
    perform private.check_setting(p_key, p_value);
    select s.value into v_before from private.settings as s where s.key = p_key for no key update;
    update private.settings as s set value = p_value, updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id
    where s.key = p_key returning s.* into v_setting;
    if p_key = 'deposit.address' and v_before is distinct from p_value then
        perform private.tell_administrators(
            'deposit_address_changed', 'The deposit address was changed',
            pg_catalog.format('%s set it to %s. If this was not agreed, sign in and change it back at once.', coalesce(v_admin.full_name, v_admin.email), p_value #>> '{}'),
            '/admin/readiness'
        );
    end if;
    perform private.audit(
        'admin:' || v_admin.id, 'setting.changed', null, null,
        pg_catalog.jsonb_build_object('key', p_key, 'before', pg_catalog.left(v_before::text, 500), 'after', pg_catalog.left(p_value::text, 500))
    );
    return pg_catalog.jsonb_build_object('success', true, 'setting', pg_catalog.jsonb_build_object('key', v_setting.key, 'value', v_setting.value));
end
$$;
comment on function public.change_setting(text, jsonb) is
'Sets one value within its type and limits; all administrators are told of a new deposit address. Super admin. Errors: forbidden, not_found, invalid_setting.';

create function private.readiness() returns table (item text, ok boolean, missing text)
language sql stable set search_path = '' as $$
    select 'operator', private.setting_text('operator.name') is not null and private.setting_text('operator.address') is not null,
        'Set the operator''s legal name and postal address.'
    union all
    select 'support', coalesce(private.setting_text('support.email'), '') not in ('', 'support@example.com'), 'Set the address of support.'
    union all
    select 'deposit_address',
        private.wallet_ok(private.setting_text('deposit.address')) and private.setting_text('deposit.address') <> 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb',
        'Set your own deposit address; the present one is a sample.'
    union all
    select 'terms', private.setting_text('terms.text') is not null and private.setting_text('terms.version') is not null, 'Publish terms of use.'
    union all
    select 'risk', private.setting_text('risk.text') is not null and private.setting_text('risk.version') is not null, 'Publish the risk notice.'
    union all
    select 'countries', pg_catalog.jsonb_array_length(private.setting('operator.countries')) > 0, 'List the countries whose residents may sign up.'
    union all
    select 'mail', private.setting_text('mail.ready')::boolean, 'Send a test mail and confirm that it arrived.'
    union all
    select 'two_step',
        not exists (
            select 1 from private.admin_users as a where a.is_active and a.role <> 'support_admin' and a.totp_confirmed_at is null
        ),
        'Every finance and super administrator needs two-step sign-in.'
    union all
    select 'never_seeded', not private.setting_text('demo.seeded')::boolean, 'Sample data was loaded here. Start a new installation with DEMO=0.'
    union all
    select 'no_money', not exists (select 1 from public.deposits) and not exists (select 1 from public.withdrawals),
        'There are deposits or withdrawals from demo mode. Start a new installation with DEMO=0.'
$$;
comment on function private.readiness() is 'What must be true before real money is accepted, and what to do about each point.';

create function public.get_readiness() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin(array['super_admin']::public.admin_role[]);
    return pg_catalog.jsonb_build_object(
        'demo', private.is_demo(),
        'ready', not exists (select 1 from private.readiness() as r where not r.ok),
        'items', (
            select pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object('item', r.item, 'ok', r.ok, 'missing', case when not r.ok then r.missing end)
            ) from private.readiness() as r
        )
    );
end
$$;
comment on function public.get_readiness() is 'The list of private.readiness() for the screen. Super admin. Errors: forbidden, session_ended.';

create function public.send_test_mail() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
begin
    if not private.take('test_mail', v_admin.id::text, 5, interval '1 hour') then
        perform private.refuse(429, 'too_many_requests', 'Five test mails an hour. Wait a while.');
    end if;
    insert into private.outbox (template, recipient, data) values (
        'test_mail', v_admin.email, pg_catalog.jsonb_build_object(
            'display_name', v_admin.full_name, 'title', 'Outgoing mail works',
            'body', 'You asked for this mail to see whether outgoing mail works. Confirm on the readiness page that it arrived.',
            'link', '/admin/readiness'
        )
    );
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.send_test_mail() is 'A mail to the caller. Super admin. Errors: forbidden, too_many_requests.';

create function public.confirm_test_mail() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
begin
    if not exists (select 1 from private.outbox as o where o.template = 'test_mail' and o.recipient = v_admin.email and o.sent_at is not null) then
        perform private.refuse(409, 'not_sent', 'No test mail to you has left yet.');
    end if;
    update private.settings as s set value = 'true', updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id where s.key = 'mail.ready';
    perform private.audit('admin:' || v_admin.id, 'setting.changed', null, null, '{"key": "mail.ready", "after": "true"}');
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.confirm_test_mail() is 'The caller received the test mail. Super admin. Errors: forbidden, not_sent.';

create function public.leave_demo() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_missing text;
begin
    perform private.money_lock();
    if not private.is_demo() then
        perform private.refuse(409, 'demo_is_over', 'Demo mode has ended already.');
    end if;
    select pg_catalog.string_agg(r.missing, ' ') into v_missing from private.readiness() as r where not r.ok;
    if v_missing is not null then
        perform private.refuse(409, 'not_ready', v_missing);
    end if;
    update private.settings as s set value = 'false', updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id where s.key = 'demo';
    perform private.audit('admin:' || v_admin.id, 'demo.left', null, null);
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.leave_demo() is 'Ends demo mode for good when nothing is missing. Super admin. Errors: forbidden, demo_is_over, not_ready.';

grant execute on function
public.list_settings(), public.change_setting(text, jsonb), public.get_readiness(), public.send_test_mail(), public.confirm_test_mail(), public.leave_demo()
to platform_admin;
