-- Leave demo mode. One list of conditions decides, and the screen shows the same list. Nothing else enables real
-- money, and it cannot be disabled again.

create function private.is_document(p_text text, p_characters integer, p_words integer) returns boolean
language sql immutable set search_path = '' as $$
    select coalesce(pg_catalog.length(pg_catalog.btrim(p_text)), 0) >= p_characters and p_words <= (
        select pg_catalog.count(distinct pg_catalog.lower(w.word))
        from pg_catalog.regexp_split_to_table(p_text, '[[:space:][:punct:]]+') as w (word) where w.word <> ''
    )
$$;
comment on function private.is_document(text, integer, integer) is
'Whether a text is one that somebody may have written: so long, with so many different words. Not whether it is any good.';

create function private.readiness() returns table (item text, ok boolean, missing text, keys text[])
language sql stable set search_path = '' as $$
    select 'operator', private.setting_text('operator.name') is not null and private.setting_text('operator.address') is not null,
        'Set the operator''s legal name and postal address.', array['operator.name', 'operator.address']
    union all
    select 'support', coalesce(private.setting_text('support.email'), '') not in ('', 'support@example.com'), 'Set the address of support.',
        array['support.email']
    union all
    -- Unknown is not ready: the worker reports both within a minute.
    select 'https', coalesce(private.setting_text('site.url'), '') like 'https://_%',
        'Serve the site by HTTPS: name its domain in SITE_DOMAIN, or its https address in SITE_URL where a proxy has the certificate.', null
    union all
    select 'deposit_address',
        private.is_trc20_address(private.setting_text('deposit.address')) and private.setting_text('deposit.address') <> 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb',
        'Set your own deposit address; the present one is a sample.', array['deposit.address']
    union all
    select 'wallets', private.setting_text('wallet.strict')::boolean,
        'Set wallet.strict: a wallet address with a wrong letter is rejected then, and a payout cannot be lost to it.', array['wallet.strict']
    union all
    select 'terms', private.is_document(private.setting_text('terms.text'), 500, 50) and private.setting_text('terms.version') is not null,
        'Publish terms of use: at least 500 characters with 50 different words, and their version.', array['terms.text', 'terms.version']
    union all
    select 'risk', private.is_document(private.setting_text('risk.text'), 100, 15) and private.setting_text('risk.version') is not null,
        'Publish the risk notice: at least 100 characters with 15 different words, and its version.', array['risk.text', 'risk.version']
    union all
    select 'countries', pg_catalog.jsonb_array_length(private.setting('operator.countries')) > 0, 'List the countries whose residents may sign up.',
        array['operator.countries']
    union all
    select 'mail_server', coalesce(private.setting_text('mail.server'), 'catcher') <> 'catcher',
        'Emails go to the mail catcher of development. Name your mail server in SMTP_HOST.', null
    union all
    select 'mail', private.setting_text('mail.ready')::boolean, 'Send a test email and confirm that it arrived.', array['mail.ready']
    union all
    select 'two_step',
        not exists (
            select 1 from private.admin_users as a where a.is_active and a.role <> 'support_admin' and a.totp_confirmed_at is null
        ),
        'Every finance and super administrator needs two-step sign-in.', null
    union all
    select 'backup', private.are_backups_made(), 'Switch backups on (BACKUP_REPOSITORY), wait for the first one and prove it: make restore-drill.', null
    union all
    select 'never_seeded', not private.setting_text('demo.seeded')::boolean, 'Sample data was loaded here. Start a new installation with DEMO=0.', null
    union all
    select 'no_money', not exists (select 1 from public.deposits) and not exists (select 1 from public.withdrawals),
        'There are deposits or withdrawals from demo mode. Start a new installation with DEMO=0.', null
$$;
comment on function private.readiness() is
'Conditions for accepting real money, each with what to do about it and the settings that an administrator confirmed it by.';

create function public.get_readiness() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin(array['super_admin']::public.admin_role[]);
    return pg_catalog.jsonb_build_object(
        'demo', private.is_demo(),
        'ready', not exists (select 1 from private.readiness() as r where not r.ok),
        'items', (
            select pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object(
                    'item', r.item, 'ok', r.ok, 'missing', case when not r.ok then r.missing end,
                    'confirmed_by', case when r.ok then c.name end, 'confirmed_at', case when r.ok then c.confirmed_at end
                )
            )
            from private.readiness() as r
            left join lateral (
                select coalesce(a.full_name, a.email) as name, s.updated_at as confirmed_at
                from private.settings as s
                inner join private.admin_users as a on a.id = s.updated_by
                where s.key = any(r.keys)
                order by s.updated_at desc limit 1
            ) as c on true
        )
    );
end
$$;
comment on function public.get_readiness() is
'What is missing before real money, item by item, and who confirmed what is done. Super admin. Errors: forbidden, session_ended.';
grant execute on function public.get_readiness() to platform_admin;

create function jobs.report_installation(p_site_url text, p_mail_server text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
begin
    update private.settings as s set value = pg_catalog.to_jsonb(p_site_url), updated_at = pg_catalog.clock_timestamp(), updated_by = null
    where s.key = 'site.url' and s.value is distinct from pg_catalog.to_jsonb(p_site_url);
    if found then
        perform private.audit_setting('system', 'site.url');
    end if;
    update private.settings as s set value = pg_catalog.to_jsonb(p_mail_server), updated_at = pg_catalog.clock_timestamp(), updated_by = null
    where s.key = 'mail.server' and s.value is distinct from pg_catalog.to_jsonb(p_mail_server);
    if found then
        perform private.audit_setting('system', 'mail.server');
        -- The test email was another server's.
        update private.settings as s set value = 'false', updated_at = pg_catalog.clock_timestamp(), updated_by = null
        where s.key = 'mail.ready' and s.value = 'true';
        if found then
            perform private.audit_setting('system', 'mail.ready');
        end if;
    end if;
    return '{}'::jsonb;
end
$$;
comment on function jobs.report_installation(text, text) is
'Records the address of the site and the mail server (catcher: that of development), which readiness needs to know. Another mail server is to be tested anew.';
grant execute on function jobs.report_installation(text, text) to worker;

create function public.send_test_mail() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
begin
    if not private.consume_rate_limit('test_mail', v_admin.id::text, 5, interval '1 hour') then
        perform private.raise_error(429, 'too_many_requests', 'Five test emails an hour. Try again later.');
    end if;
    insert into private.outbox (template, recipient, data) values (
        'test_mail', v_admin.email, pg_catalog.jsonb_build_object(
            'display_name', v_admin.full_name, 'title', 'Outgoing email works',
            'body', 'You asked for this email to test outgoing email. Confirm on the readiness page that it arrived.',
            'link', '/admin/readiness'
        )
    );
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.send_test_mail() is 'Sends a test e-mail to the caller. Super admin. Errors: forbidden, too_many_requests.';
grant execute on function public.send_test_mail() to platform_admin;

create function public.confirm_test_mail() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
begin
    if not exists (select 1 from private.outbox as o where o.template = 'test_mail' and o.recipient = v_admin.email and o.sent_at is not null) then
        perform private.raise_error(409, 'not_sent', 'No test email has been sent to you yet.');
    end if;
    update private.settings as s set value = 'true', updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id where s.key = 'mail.ready';
    perform private.audit_setting('admin:' || v_admin.id, 'mail.ready');
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.confirm_test_mail() is 'Confirms that the test e-mail arrived. Super admin. Errors: forbidden, not_sent.';
grant execute on function public.confirm_test_mail() to platform_admin;

-- Block new requests while leave_demo() checks that demo mode left no money behind: it waits for requests in
-- progress, and new ones wait for it. They never take the money lock, so this cannot deadlock.
create function private.lock_requests() returns void
language plpgsql volatile set search_path = '' as $$
begin
    lock table public.deposits, public.withdrawals in share mode;
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_requests() is
'Blocks requests, decisions and cancellations of deposits and withdrawals until the end of the transaction. Take it after the money lock. Errors: try_again.';

create function public.leave_demo() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_missing text;
begin
    perform private.lock_money();
    if not private.is_demo() then
        perform private.raise_error(409, 'demo_is_over', 'Demo mode has ended already.');
    end if;
    perform private.lock_requests();
    select pg_catalog.string_agg(r.missing, ' ') into v_missing from private.readiness() as r where not r.ok;
    if v_missing is not null then
        perform private.raise_error(409, 'not_ready', v_missing);
    end if;
    update private.settings as s set value = 'false', updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id where s.key = 'demo';
    perform private.audit_setting('admin:' || v_admin.id, 'demo');
    perform private.audit('admin:' || v_admin.id, 'demo.left', null, null);
    return '{"success": true}'::jsonb || private.audit_entries();
end
$$;
comment on function public.leave_demo() is
'Ends demo mode for good when every condition is met. Super admin. Errors: forbidden, demo_is_over, not_ready, try_again.';
grant execute on function public.leave_demo() to platform_admin;
