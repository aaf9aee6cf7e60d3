-- Readiness rejects the mail catcher, plain http, unchecked wallet addresses and texts that are none, and names who
-- confirmed what. The limits of look-ups are the operator's. The rows are what no diff writes.

insert into private.settings (key, value, kind, minimum, maximum, is_public, description) values
('mail.server', 'null', 'text', 1, 300, false, 'Mail server in use, as the worker reports it'),
('site.url', 'null', 'text', 1, 300, false, 'Address of the site, as the worker reports it');

SET local check_function_bodies = off;

-- It returns more columns now; only get_readiness() and leave_demo() call it.
-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."readiness"();

CREATE OR REPLACE FUNCTION jobs.report_installation (
  p_site_url    text,
  p_mail_server text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    update private.settings as s set value = pg_catalog.to_jsonb(p_site_url), updated_at = pg_catalog.clock_timestamp(), updated_by = null
    where s.key = 'site.url' and s.value is distinct from pg_catalog.to_jsonb(p_site_url);
    update private.settings as s set value = pg_catalog.to_jsonb(p_mail_server), updated_at = pg_catalog.clock_timestamp(), updated_by = null
    where s.key = 'mail.server' and s.value is distinct from pg_catalog.to_jsonb(p_mail_server);
    if found then
        -- The test email was another server's.
        update private.settings as s set value = 'false', updated_at = pg_catalog.clock_timestamp(), updated_by = null
        where s.key = 'mail.ready' and s.value = 'true';
        if found then
            perform private.audit('system', 'setting.changed', null, null, '{"key": "mail.ready", "after": "false"}');
        end if;
    end if;
    return '{}'::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION private.is_document (
  p_text       text,
  p_characters integer,
  p_words      integer
)
  RETURNS boolean
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select coalesce(pg_catalog.length(pg_catalog.btrim(p_text)), 0) >= p_characters and p_words <= (
        select pg_catalog.count(distinct pg_catalog.lower(w.word))
        from pg_catalog.regexp_split_to_table(p_text, '[[:space:][:punct:]]+') as w (word) where w.word <> ''
    )
$function$;

CREATE OR REPLACE FUNCTION private.operator_limit (
  p_name    text,
  p_default integer
)
  RETURNS integer
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select coalesce(nullif(pg_catalog.current_setting('app.settings.' || p_name, true), '')::integer, p_default)
$function$;

CREATE OR REPLACE FUNCTION private.readiness()
  RETURNS TABLE (
    item    text,
    ok      boolean,
    missing text,
    keys    text[]
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
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
    -- What backups must have shown stands here, one more "union all".
    union all
    select 'never_seeded', not private.setting_text('demo.seeded')::boolean, 'Sample data was loaded here. Start a new installation with DEMO=0.', null
    union all
    select 'no_money', not exists (select 1 from public.deposits) and not exists (select 1 from public.withdrawals),
        'There are deposits or withdrawals from demo mode. Start a new installation with DEMO=0.', null
$function$;

CREATE OR REPLACE FUNCTION public.change_setting (
  p_key   text,
  p_value jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_before jsonb;
    v_setting private.settings;
begin
    if p_key in ('demo', 'demo.seeded', 'mail.ready', 'mail.server', 'site.url') then
        perform private.raise_error(403, 'forbidden', 'This changes through readiness only.');
    end if;
    perform private.check_setting(p_key, p_value);
    select s.value into v_before from private.settings as s where s.key = p_key for no key update;
    update private.settings as s set value = p_value, updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id
    where s.key = p_key returning s.* into v_setting;
    if p_key = 'deposit.address' and v_before is distinct from p_value then
        perform private.notify_administrators(
            'deposit_address_changed', 'The deposit address was changed',
            pg_catalog.format('%s set it to %s. If this was not agreed, sign in and change it back at once.', coalesce(v_admin.full_name, v_admin.email), p_value #>> '{}'),
            '/admin/readiness'
        );
    end if;
    perform private.audit(
        'admin:' || v_admin.id, 'setting.changed', null, null,
        pg_catalog.jsonb_build_object('key', p_key, 'before', pg_catalog.left(v_before::text, 500), 'after', pg_catalog.left(p_value::text, 500))
    );
    return pg_catalog.jsonb_build_object('success', true, 'setting', pg_catalog.jsonb_build_object('key', v_setting.key, 'value', v_setting.value))
        || private.audit_entries();
end
$function$;

CREATE OR REPLACE FUNCTION public.get_readiness()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.get_sponsor (
  p_referral_code text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member jsonb;
begin
    if not private.consume_rate_limit('sponsor', private.client_address(), private.operator_limit('referrer_limit', 60), interval '5 minutes') then
        perform private.raise_error(429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.');
    end if;
    select pg_catalog.jsonb_build_object('id', p.id, 'username', p.username, 'display_name', p.display_name) into v_member
    from private.profiles as p
    where p.account_status <> 'disabled'
        and p.id = coalesce(
            (private.referrer_by_code(pg_catalog.btrim(p_referral_code))).id,
            (select q.id from private.profiles as q where pg_catalog.lower(q.username) = pg_catalog.lower(pg_catalog.btrim(p_referral_code)))
        );
    if not private.wants_one_object() then
        return case when v_member is null then '[]'::pg_catalog.jsonb else pg_catalog.jsonb_build_array(v_member) end;
    end if;
    if v_member is null then
        perform pg_catalog.set_config('response.status', '406', true);
        return '{"code": "PGRST116", "details": "The result contains 0 rows", "hint": null, "message": "JSON object requested, multiple (or no) rows returned"}'::pg_catalog.jsonb;
    end if;
    return v_member;
end
$function$;

CREATE OR REPLACE FUNCTION public.is_username_available (
  p_username text
)
  RETURNS boolean
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    if not private.consume_rate_limit('username', private.client_address(), private.operator_limit('username_limit', 30), interval '5 minutes') then
        perform private.raise_error(429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.');
    end if;
    return private.username_error(p_username) is null
        and not private.username_taken(p_username, (select p.email from private.profiles as p where p.user_id = auth.uid()));
end
$function$;

COMMENT ON FUNCTION "jobs"."report_installation"(text, text) IS 'Records the address of the site and the mail server (catcher: that of development), which readiness needs to know. Another mail server is to be tested anew.';

COMMENT ON FUNCTION "private"."is_document"(text, integer, integer) IS 'Whether a text is one that somebody may have written: so long, with so many different words. Not whether it is any good.';

COMMENT ON FUNCTION "private"."operator_limit"(text, integer) IS 'A limit that the operator may have raised: PostgREST hands it on with each request (app.settings). Clients cannot set it.';

COMMENT ON FUNCTION "private"."readiness"() IS 'Conditions for accepting real money, each with what to do about it and the settings that an administrator confirmed it by.';

COMMENT ON FUNCTION "public"."get_readiness"() IS 'private.readiness() for the screen, with who confirmed what is done. Super admin. Errors: forbidden, session_ended.';

REVOKE ALL ON FUNCTION "jobs"."report_installation"(text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."report_installation"(text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."report_installation"(text, text) TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."report_installation"(text, text) TO "worker";

REVOKE ALL ON FUNCTION "private"."is_document"(text, integer, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_document"(text, integer, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_document"(text, integer, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."operator_limit"(text, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."operator_limit"(text, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."operator_limit"(text, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."readiness"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."readiness"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."readiness"() TO "postgres";
