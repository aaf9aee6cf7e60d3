-- Deposits can be closed: a setting, an error, and no address meanwhile. Administrators see on which device they signed
-- in, and super administrators end the sessions of others. The audit log is narrowed to days. And 'email' is what it is
-- called everywhere.
SET local check_function_bodies = off;

INSERT INTO private.settings (key, value, kind, is_public, description) VALUES
('deposit.open', 'true', 'boolean', true, 'Members can send deposits. Off: they are told to send nothing, and see no address');

UPDATE private.settings SET description = 'Outgoing email was tested' WHERE key = 'mail.ready';

-- squawk-ignore ban-drop-function
DROP FUNCTION "edge"."record_admin_sign_in"(text, text, boolean);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."audit_conditions"(text, text, uuid, boolean);

CREATE OR REPLACE FUNCTION edge.create_administrator (
  p_caller    uuid,
  p_email     text,
  p_full_name text,
  p_role      text,
  p_hash      text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_caller private.admin_users := private.require_super_admin(p_caller);
    v_admin private.admin_users;
begin
    insert into private.admin_users (email, full_name, role, password_hash)
    values (pg_catalog.lower(p_email), p_full_name, p_role::public.admin_role, p_hash)
    on conflict (email) do nothing
    returning * into v_admin;
    if v_admin.id is null then
        perform private.raise_error(409, 'email_taken', 'There is already an administrator with this email.');
    end if;
    perform private.audit('admin:' || v_caller.id, 'admin.created', 'admin_user', v_admin.id, pg_catalog.jsonb_build_object('role', p_role, 'is_active', true));
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_admin)) || private.audit_entries();
end
$function$;

CREATE OR REPLACE FUNCTION edge.record_admin_sign_in (
  p_email      text,
  p_address    text,
  p_ok         boolean,
  p_user_agent text    DEFAULT NULL::text
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_account text := pg_catalog.left(pg_catalog.lower(p_email), 255);
    v_known text := private.known_admin_address(p_email, p_address);
    v_admin_id uuid;
begin
    if not p_ok then
        insert into private.sign_in_failures (kind, key, at)
        select f.kind, f.key, pg_catalog.clock_timestamp()
        from (
            values
            ('admin_address', private.network_of(p_address)),
            (case when v_known is null then 'admin_account' else 'admin_known' end, coalesce(v_known, v_account))
        ) as f (kind, key)
        -- A full count ends 15 minutes after what filled it, whatever else is tried.
        where f.kind = 'admin_address' or private.count_sign_in_failures(f.kind, f.key) < 10;
        return;
    end if;
    delete from private.sign_in_failures as f
    where (v_known is null and f.kind in ('admin_account', 'admin_code') and f.key = v_account) or (f.kind = 'admin_known' and f.key = v_known);
    update private.admin_users as a set last_login = pg_catalog.clock_timestamp()
    where a.email = pg_catalog.lower(p_email) returning a.id into v_admin_id;
    perform private.audit(
        'admin:' || v_admin_id, 'admin.signed_in', 'admin_user', v_admin_id,
        pg_catalog.jsonb_build_object('address', p_address, 'user_agent', pg_catalog.left(p_user_agent, 400))
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.administrator_item (
  p_admin private.admin_users
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_build_object(
        'id', (p_admin).id, 'email', (p_admin).email, 'full_name', (p_admin).full_name, 'role', (p_admin).role,
        'is_active', (p_admin).is_active, 'two_step', (p_admin).totp_confirmed_at is not null, 'last_login', (p_admin).last_login,
        'created_at', (p_admin).created_at, 'updated_at', (p_admin).updated_at,
        'sessions', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'started_at', a.started_at, 'last_seen_at', a.last_seen_at, 'address', a.address, 'user_agent', a.user_agent,
                        'is_current', s.session_token is not distinct from private.uuid_claim(auth.jwt(), 'sid')
                    ) order by a.last_seen_at desc, s.session_token
                ), '[]'
            )
            from public.admin_sessions as s
            inner join private.admin_session_activity as a on a.session_token = s.session_token
            where s.admin_id = (p_admin).id and s.expires_at > pg_catalog.now()
        )
    )
$function$;

CREATE OR REPLACE FUNCTION private.audit_conditions (
  p_actor    text,
  p_action   text,
  p_object   uuid,
  p_from     date,
  p_to       date,
  p_searched boolean
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return pg_catalog.concat(
        ' and a.actor = ' || pg_catalog.quote_literal(p_actor),
        case when p_action is not null then pg_catalog.format(
            -- An index range that contains the action and, for the part before a dot, all actions of that group.
            ' and a.action collate "C" between %1$L and %2$L and (a.action = %1$L or pg_catalog.starts_with(a.action, %3$L))',
            p_action, p_action || '/', p_action || '.'
        ) end,
        ' and a.object_id = ' || pg_catalog.quote_literal(p_object),
        ' and a.at >= ' || pg_catalog.quote_literal(p_from::timestamp at time zone 'UTC'),
        ' and a.at < ' || pg_catalog.quote_literal((p_to + 1)::timestamp at time zone 'UTC'),
        case when p_searched then ' and a.id = any($3)' end
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_validate()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles;
    v_existing public.deposits;
    v_pending integer;
    v_limit integer := private.setting_text('deposit.pending_limit')::integer;
begin
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    perform private.lock_request(new.id);
    -- Copied text brings a line break; a retry brings it again and is compared with the stored value.
    new.reference_number := pg_catalog.btrim(new.reference_number, E' \t\r\n');
    -- Look for a retry first: triggers run before ON CONFLICT.
    select * into v_existing from public.deposits as d where d.id = new.id;
    if found then
        if (v_existing.user_id, v_existing.amount, v_existing.reference_number, v_existing.receipt_url)
            is not distinct from (new.user_id, new.amount, new.reference_number, new.receipt_url) then
            return null;
        end if;
        perform private.raise_error(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.require_active_status(v_member.account_status);
    if not private.setting_text('deposit.open')::boolean then
        perform private.raise_error(
            403, 'deposits_closed', 'Deposits are closed at the moment. Send no USDT. If you already have, submit the request once they open again.'
        );
    end if;
    if v_member.id is null or v_member.email is null or v_member.trc20_wallet_address is null then
        perform private.raise_error(403, 'profile_incomplete', 'Please complete your profile and settings first');
    end if;
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    new.kind := private.deposit_kind(new.amount, v_member.package_value);
    new.reference_key := case when pg_catalog.length(new.reference_number) <= 200 then (private.reference_keys(new.reference_number))[1] end;
    if new.reference_key is null or not private.is_readable(new.reference_number) then
        perform private.raise_error(400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.');
    end if;
    select count(*) into v_pending from public.deposits as d where d.user_id = new.user_id and d.status = 'pending';
    if v_pending >= v_limit then
        perform private.raise_error(
            409, 'too_many_pending', pg_catalog.format('You have %s deposits waiting for review. Wait for a decision or cancel one.', v_pending)
        );
    end if;
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.voided_at := null;
    new.decision_no := null;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.readiness()
  RETURNS TABLE (
    item    text,
    ok      boolean,
    missing text
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select 'operator', private.setting_text('operator.name') is not null and private.setting_text('operator.address') is not null,
        'Set the operator''s legal name and postal address.'
    union all
    select 'support', coalesce(private.setting_text('support.email'), '') not in ('', 'support@example.com'), 'Set the address of support.'
    union all
    select 'deposit_address',
        private.is_trc20_address(private.setting_text('deposit.address')) and private.setting_text('deposit.address') <> 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb',
        'Set your own deposit address; the present one is a sample.'
    union all
    select 'terms', private.setting_text('terms.text') is not null and private.setting_text('terms.version') is not null, 'Publish terms of use.'
    union all
    select 'risk', private.setting_text('risk.text') is not null and private.setting_text('risk.version') is not null, 'Publish the risk notice.'
    union all
    select 'countries', pg_catalog.jsonb_array_length(private.setting('operator.countries')) > 0, 'List the countries whose residents may sign up.'
    union all
    select 'mail', private.setting_text('mail.ready')::boolean, 'Send a test email and confirm that it arrived.'
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
$function$;

CREATE OR REPLACE FUNCTION private.users_sync_email()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles;
begin
    update private.profiles as p set email = pg_catalog.lower(new.email)
    where p.user_id = new.id and p.closed_at is null
    returning * into v_member;
    if v_member.id is not null then
        -- Those of the address's sign-ups, which are void now.
        delete from private.username_reservations as r where r.email = v_member.email;
        perform private.place_withdrawal_hold(new.id, 'email');
        perform private.notify_member(
            new.id, 'email_changed', 'Your email address was changed',
            pg_catalog.format('You sign in with %s now. Withdrawals are approved 24 hours from now at the earliest. If this was not you, contact support.', new.email),
            null, '/profile'
        );
    end if;
    return null;
exception when others then
    raise log 'e-mail of % not carried over: % %', new.id, sqlstate, sqlerrm;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.validate_email_change (
  p_email  text,
  p_member private.profiles
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    if coalesce(pg_catalog.btrim(p_email), '') = '' then
        perform private.raise_error(400, 'fields_required', 'Please fill in all required fields');
    end if;
    if not exists (
        select 1 from auth.users as u
        where u.id = (p_member).user_id
            and pg_catalog.lower(pg_catalog.btrim(p_email)) in (pg_catalog.lower(u.email), pg_catalog.lower(nullif(u.email_change, '')))
    ) then
        perform private.raise_error(422, 'confirm_email_change', 'Change your email address first, then confirm it from your mailbox.');
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION public.cancel_email_change()
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    update auth.users as u set
        email_change = '', email_change_token_new = '', email_change_token_current = '', email_change_confirm_status = 0
    where u.id = v_user_id and u.email_change <> '';
    if not found then
        perform private.raise_error(404, 'not_found', 'No change of your email address is waiting.');
    end if;
    delete from auth.one_time_tokens as t
    where t.user_id = v_user_id and t.token_type in ('email_change_token_new', 'email_change_token_current');
    return pg_catalog.jsonb_build_object('success', true);
end
$function$;

CREATE OR REPLACE FUNCTION public.confirm_test_mail()
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
begin
    if not exists (select 1 from private.outbox as o where o.template = 'test_mail' and o.recipient = v_admin.email and o.sent_at is not null) then
        perform private.raise_error(409, 'not_sent', 'No test email has been sent to you yet.');
    end if;
    update private.settings as s set value = 'true', updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id where s.key = 'mail.ready';
    perform private.audit('admin:' || v_admin.id, 'setting.changed', null, null, '{"key": "mail.ready", "after": "true"}');
    return '{"success": true}'::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION public.end_admin_sessions (
  p_admin_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_caller private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_ended integer;
begin
    if not exists (select 1 from private.admin_users as a where a.id = p_admin_id) then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    delete from public.admin_sessions as s
    where s.admin_id = p_admin_id and s.session_token is distinct from private.uuid_claim(auth.jwt(), 'sid');
    get diagnostics v_ended = row_count;
    perform private.audit('admin:' || v_caller.id, 'admin.sessions_ended', 'admin_user', p_admin_id, pg_catalog.jsonb_build_object('sessions', v_ended));
    return pg_catalog.jsonb_build_object('success', true, 'sessions', v_ended);
end
$function$;

REVOKE ALL ON FUNCTION "public"."end_admin_sessions"(uuid) FROM PUBLIC, "anon", "authenticated", "service_role";

CREATE OR REPLACE FUNCTION public.get_deposit_options()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles := private.require_member();
begin
    return pg_catalog.jsonb_build_object(
        'verification', private.verification_result(v_member),
        'package_value', private.money(v_member.package_value),
        'deposits_open', private.setting('deposit.open'),
        'deposit_address', case when private.setting_text('deposit.open')::boolean then private.setting_text('deposit.address') end,
        'deposit_address_sample', private.is_demo(),
        'choices', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'value', private.money(k.value),
                        'label', k.label,
                        'rate', private.plan_rate(k.pairing_percent),
                        'kind', case when v_member.package_value = 0 then 'first' else 'upgrade' end
                    ) order by k.value
                ), '[]'
            )
            from private.packages as k where k.value > v_member.package_value
        ),
        'other_amount_allowed', v_member.package_value > 0,
        'pending', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'id', d.id,
                        'amount', private.money(d.amount),
                        'reference_number', d.reference_number,
                        'receipt_url', d.receipt_url,
                        'created_at', d.created_at
                    ) order by d.created_at
                ), '[]'
            )
            from public.deposits as d where d.user_id = v_member.user_id and d.status = 'pending'
        ),
        'pending_limit', private.setting('deposit.pending_limit')
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.get_platform()
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_build_object(
        'product_name', private.setting('product.name'),
        'demo', private.is_demo(),
        'support', pg_catalog.jsonb_build_object(
            'name', private.setting('support.name'), 'email', private.setting('support.email'), 'url', private.setting('support.url')
        ),
        'operator', pg_catalog.jsonb_build_object('name', private.setting('operator.name'), 'address', private.setting('operator.address')),
        'packages', (
            select pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object(
                    'value', private.money(k.value), 'label', k.label, 'rate', k.pairing_percent::text
                ) order by k.value
            ) from private.packages as k
        ),
        'rates', pg_catalog.jsonb_build_object(
            'referral', private.referral_percent()::text,
            'override', private.override_percent()::text,
            'reentry', private.reentry_percent()::text
        ),
        'limits', pg_catalog.jsonb_build_object(
            'min_withdrawal', private.money(100), 'min_deposit', private.money(1), 'max_amount', private.money(10000000),
            'receipt_max_bytes', (select b.file_size_limit from storage.buckets as b where b.id = 'receipts')
        ),
        'review_due_hours', private.setting('review.due_hours'),
        'deposits_open', private.setting('deposit.open'),
        'explorer_url', private.setting('explorer.url'),
        'terms', private.legal_document('terms'),
        'risk', private.legal_document('risk')
    )
$function$;

CREATE OR REPLACE FUNCTION public.list_audit (
  p_filters jsonb DEFAULT '{}'::jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin();
    v_page integer := least(greatest(coalesce((p_filters ->> 'page')::integer, 1), 1), 100000);
    v_size integer := least(greatest(coalesce((p_filters ->> 'pageSize')::integer, 50), 1), 500);
    v_actor text := case
        when v_admin.role = 'support_admin' then 'admin:' || v_admin.id
        else 'admin:' || nullif(p_filters ->> 'adminId', '')
    end;
    v_action text := nullif(pg_catalog.btrim(p_filters ->> 'action'), '');
    v_object uuid := nullif(p_filters ->> 'objectId', '')::uuid;
    v_from_day date := nullif(p_filters ->> 'from', '')::date;
    v_to_day date := nullif(p_filters ->> 'to', '')::date;
    v_found bigint[] := case when pg_catalog.btrim(p_filters ->> 'search') <> '' then private.audit_matches(p_filters ->> 'search') end;
    v_from text := 'from private.audit_log as a where true'
    || private.audit_conditions(v_actor, v_action, v_object, v_from_day, v_to_day, v_found is not null);
    -- Within days by their index: by the id alone all that is newer would be read first.
    v_order text := case when coalesce(v_from_day, v_to_day) is null then 'id desc' else 'at desc, id desc' end;
    v_total bigint;
    v_entries jsonb;
begin
    -- Of what is only counted no row is read.
    execute pg_catalog.format('select count(*) from (select a.id %s limit 10001) as c', v_from)
    into v_total using v_size, (v_page - 1) * v_size, v_found;
    execute pg_catalog.format(
        $query$
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'seq', e.id, 'at', e.at, 'actor', e.actor, 'actor_name', private.actor_name(e.actor), 'action', e.action,
                'object_type', e.object_type, 'object_id', e.object_id, 'payload', e.payload
            ) order by %2$s
        )
        from (select a.* %1$s order by %2$s limit $1 offset $2) as e
        $query$, v_from, v_order
    ) into v_entries using v_size, (v_page - 1) * v_size, v_found;
    return pg_catalog.jsonb_build_object(
        'entries', coalesce(v_entries, '[]'),
        -- Whose actions can be asked for.
        'administrators', (
            select coalesce(
                pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', a.id, 'name', coalesce(a.full_name, a.email)) order by coalesce(a.full_name, a.email)), '[]'
            )
            from private.admin_users as a where v_admin.role <> 'support_admin' or a.id = v_admin.id
        ),
        'total', least(v_total, 10000)
    ) || case when v_total > 10000 then '{"more": true}' else '{}' end::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION public.retry_mail (
  p_id bigint
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
begin
    update private.outbox as o set attempts = 0, failed_at = null, next_attempt_at = pg_catalog.clock_timestamp()
    where o.id = p_id and o.failed_at is not null;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no failed email like this.');
    end if;
    perform private.audit('admin:' || v_admin.id, 'mail.retried', null, null, pg_catalog.jsonb_build_object('id', p_id));
    return '{"success": true}'::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION public.send_test_mail()
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.set_mail_choice (
  p_topic  text,
  p_wanted boolean
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    if p_wanted is null or not exists (select 1 from private.mail_topics as t where t.topic = p_topic) then
        perform private.raise_error(400, 'invalid_input', 'This email cannot be switched off.');
    end if;
    insert into private.mail_choices as c (user_id, topic, wanted) values (v_user_id, p_topic, p_wanted)
    on conflict (user_id, topic) do update set wanted = excluded.wanted, at = excluded.at
        where c.wanted <> excluded.wanted;
    return public.get_mail_choices();
end
$function$;

COMMENT ON FUNCTION "edge"."record_admin_sign_in"(text, text, boolean, text) IS 'Records a login attempt: a failure counts against address and account; a success deletes the account''s failures, of a known address those that it made, and writes an audit row with address and device.';

COMMENT ON FUNCTION "private"."administrator_item"(private.admin_users) IS 'An administrator account as JSON, with its open sessions, without hash and secret.';

COMMENT ON FUNCTION "private"."audit_conditions"(text, text, uuid, date, date, boolean) IS 'The conditions on rows of the audit log, as SQL; a null asks for all. Days are UTC, both included. $3 is what a search found.';

COMMENT ON FUNCTION "private"."deposits_validate"() IS 'Trigger: validates a new deposit under the member''s lock, in the order of the form. Errors: not_yours, duplicate_request, account_*, deposits_closed, profile_incomplete, forbidden, invalid_amount, package_required, downgrade, invalid_reference, too_many_pending.';

COMMENT ON FUNCTION "public"."end_admin_sessions"(uuid) IS 'Ends an administrator''s sessions, of the caller''s own all but the present one; returns how many. Super admin. Errors: forbidden, session_ended, two_step_required, not_found.';

COMMENT ON FUNCTION "public"."get_platform"() IS 'Name, support, operator, packages, rates, limits, the block explorer, terms and risk notice, whether deposits are open and whether this is a demo. Open to anonymous clients.';

COMMENT ON FUNCTION "public"."list_audit"(jsonb) IS 'The audit log, newest first; seq is the entry''s id; filters page, pageSize, adminId, action (also the part before a dot), objectId, from and to (days of UTC, both included), search (the beginning of an id or a username, or seq). Support administrators read their own rows. Errors: forbidden, session_ended.';

REVOKE ALL ON FUNCTION "edge"."record_admin_sign_in"(text, text, boolean, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "edge"."record_admin_sign_in"(text, text, boolean, text) TO "edge_functions";

REVOKE ALL ON FUNCTION "edge"."record_admin_sign_in"(text, text, boolean, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "edge"."record_admin_sign_in"(text, text, boolean, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_conditions"(text, text, uuid, date, date, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_conditions"(text, text, uuid, date, date, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_conditions"(text, text, uuid, date, date, boolean) TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."end_admin_sessions"(uuid) TO "platform_admin";

REVOKE ALL ON FUNCTION "public"."end_admin_sessions"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."end_admin_sessions"(uuid) TO "postgres";
