-- A stolen token of an administrator gives nobody an account and moves no money: what does either asks for a sign-in less
-- than ten minutes old. Administrators whom one person made do not both propose and confirm. Their changes are mailed,
-- their failed sign-ins on the record. A list rejects a filter that it does not have.
-- squawk-ignore-file ban-drop-function
SET local check_function_bodies = off;

DROP FUNCTION "edge"."set_totp_secret"(uuid, text, bytea);

DROP FUNCTION "edge"."start_admin_session"(uuid, text, text, bytea);

DROP FUNCTION "private"."mail_administrators"(text, text, text, text);

DROP FUNCTION "private"."parse_filters"(jsonb, text[]);

ALTER TABLE "private"."settings"
  ADD COLUMN "needs_proof" boolean NOT NULL DEFAULT false;

update private.settings set needs_proof = true
where key in ('alarm.webhook_url', 'deposit.address', 'explorer.url', 'support.email', 'support.url');

CREATE OR REPLACE FUNCTION edge.audit_failed_admin_sign_in (
  p_email      text,
  p_address    text,
  p_user_agent text,
  p_wrong      text
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users;
begin
    select * into v_admin from private.admin_users as a where a.email = pg_catalog.lower(p_email);
    if private.consume_rate_limit(
        'admin_failures_audited', coalesce(v_admin.id::text, 'unknown'), case when v_admin.id is null then 60 else 30 end, interval '1 hour'
    ) then
        perform private.audit(
            'system', 'admin.sign_in_failed', 'admin_user', v_admin.id, pg_catalog.jsonb_build_object(
                'account', coalesce(v_admin.email, 'unknown'), 'wrong', p_wrong, 'address', p_address,
                'user_agent', pg_catalog.left(p_user_agent, 400)
            )
        );
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION edge.confirm_totp (
  p_admin_id uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform private.require_fresh_admin_proof('turn two-step sign-in on');
    update private.admin_users as a set totp_confirmed_at = pg_catalog.clock_timestamp()
    where a.id = p_admin_id and a.totp_secret is not null and a.totp_confirmed_at is null;
    if not found then
        return;
    end if;
    delete from public.admin_sessions as s
    where s.admin_id = p_admin_id and s.session_token is distinct from private.uuid_claim(auth.jwt(), 'sid');
    perform private.audit('admin:' || p_admin_id, 'admin.two_step_on', 'admin_user', p_admin_id);
    perform private.mail_admin_change(p_admin_id, 'Two-step sign-in was turned on.', p_admin_id);
end
$function$;

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
    perform private.require_fresh_admin_proof('create an administrator');
    insert into private.admin_users (email, full_name, role, password_hash)
    values (pg_catalog.lower(p_email), p_full_name, p_role::public.admin_role, p_hash)
    on conflict (email) do nothing
    returning * into v_admin;
    if v_admin.id is null then
        perform private.raise_error(409, 'email_taken', 'There is already an administrator with this email.');
    end if;
    perform private.audit('admin:' || v_caller.id, 'admin.created', 'admin_user', v_admin.id, pg_catalog.jsonb_build_object('role', p_role, 'is_active', true));
    perform private.mail_admin_change(
        v_admin.id, pg_catalog.format('The account was created, with the role %s.', pg_catalog.replace(p_role, '_', ' ')), v_caller.id
    );
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_admin)) || private.audit_entries();
end
$function$;

CREATE OR REPLACE FUNCTION edge.remove_totp (
  p_admin_id uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    if not private.is_demo() and (select a.role from private.admin_users as a where a.id = p_admin_id) <> 'support_admin' then
        perform private.raise_error(403, 'two_step_required', 'Your role needs two-step sign-in.');
    end if;
    perform private.require_fresh_admin_proof('turn two-step sign-in off');
    update private.admin_users as a set totp_key_id = null, totp_secret = null, totp_confirmed_at = null, totp_last_step = null
    where a.id = p_admin_id;
    perform private.audit('admin:' || p_admin_id, 'admin.two_step_off', 'admin_user', p_admin_id);
    perform private.mail_admin_change(p_admin_id, 'Two-step sign-in was turned off.', p_admin_id);
end
$function$;

CREATE OR REPLACE FUNCTION edge.reset_admin_password (
  p_caller   uuid,
  p_admin_id uuid,
  p_hash     text
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
    if p_admin_id = v_caller.id then
        perform private.raise_error(403, 'forbidden', 'Change your own password with the current one.');
    end if;
    perform private.require_fresh_admin_proof('reset a password');
    update private.admin_users as a set password_hash = p_hash, updated_at = pg_catalog.clock_timestamp()
    where a.id = p_admin_id returning a.* into v_admin;
    if v_admin.id is null then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    perform private.audit('admin:' || v_caller.id, 'admin.password_reset', 'admin_user', p_admin_id);
    perform private.mail_admin_change(p_admin_id, 'The password was reset.', v_caller.id);
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_admin));
end
$function$;

CREATE OR REPLACE FUNCTION edge.set_admin_password (
  p_admin_id     uuid,
  p_hash         text,
  p_keep_session uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    update private.admin_users as a set password_hash = p_hash, updated_at = pg_catalog.clock_timestamp() where a.id = p_admin_id;
    delete from public.admin_sessions as s where s.admin_id = p_admin_id and s.session_token is distinct from p_keep_session;
    perform private.audit('admin:' || p_admin_id, 'admin.password_changed', 'admin_user', p_admin_id);
    perform private.mail_admin_change(p_admin_id, 'The password was changed.', p_admin_id);
end
$function$;

CREATE OR REPLACE FUNCTION edge.set_totp_secret (
  p_admin_id uuid,
  p_key_id   text,
  p_secret   bytea
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform private.require_fresh_admin_proof('set up two-step sign-in');
    update private.admin_users as a set totp_key_id = p_key_id, totp_secret = p_secret, totp_last_step = null, updated_at = pg_catalog.clock_timestamp()
    where a.id = p_admin_id and a.totp_confirmed_at is null;
end
$function$;

CREATE OR REPLACE FUNCTION edge.start_admin_session (
  p_admin_id   uuid,
  p_address    text,
  p_user_agent text,
  p_jti_hash   bytea,
  p_replaces   jsonb DEFAULT NULL::jsonb
)
  RETURNS TABLE (
    session_token uuid,
    expires_at    timestamp with time zone
  )
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_session public.admin_sessions;
begin
    if not exists (select 1 from private.admin_users as a where a.id = p_admin_id and a.is_active) then
        perform private.raise_error(401, 'invalid_credentials', 'Authentication failed');
    end if;
    -- Only with its own secret, and never another account's.
    delete from public.admin_sessions as s
    where s.session_token = private.uuid_claim(p_replaces, 'sid') and s.admin_id = p_admin_id and private.is_live_admin_session(p_replaces);
    insert into public.admin_sessions (admin_id, expires_at)
    values (p_admin_id, pg_catalog.clock_timestamp() + interval '8 hours')
    returning * into v_session;
    insert into private.admin_session_activity (session_token, started_at, last_seen_at, address, user_agent, jti_hash)
    values (
        v_session.session_token, pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp(), p_address,
        pg_catalog.left(p_user_agent, 400), p_jti_hash
    );
    if p_address is not null then
        insert into private.known_admin_addresses (admin_id, address_hash, seen_at)
        values (p_admin_id, private.admin_address_hash(p_admin_id, p_address), pg_catalog.clock_timestamp())
        on conflict (admin_id, address_hash) do update set seen_at = excluded.seen_at;
    end if;
    return query select v_session.session_token, v_session.expires_at;
end
$function$;

CREATE OR REPLACE FUNCTION private.add_administrator (
  p_email         text,
  p_full_name     text,
  p_role          public.admin_role,
  p_password_hash text
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_id uuid;
begin
    if exists (select 1 from private.admin_users as a where a.email = pg_catalog.lower(p_email)) then
        perform private.raise_error(409, 'email_taken', 'There is already an administrator with this email.');
    end if;
    v_id := private.create_administrator(p_email, p_full_name, p_role, p_password_hash);
    perform private.mail_admin_change(
        v_id, pg_catalog.format('The account was created, with the role %s.', pg_catalog.replace(p_role::text, '_', ' ')), null
    );
    return v_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.are_one_person (
  p_one   uuid,
  p_other uuid
)
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select p_other in (select private.joined_administrators(p_one))
$function$;

CREATE OR REPLACE FUNCTION private.correction_error (
  p_correction private.corrections,
  p_email      text,
  p_admin      private.admin_users
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return case
        when private.correctable_member((p_correction).kind, (p_correction).target_id) is null
            then 'This can no longer be confirmed: what it would correct has changed.'
        when (p_admin).role not in ('super_admin', 'finance_admin')
            then pg_catalog.format('A %s cannot do this.', pg_catalog.replace((p_admin).role::text, '_', ' '))
        when private.are_one_person((p_correction).proposed_by, (p_admin).id)
            then private.two_people_text(p_correction, p_admin)
        when pg_catalog.lower(p_email) = pg_catalog.lower((p_admin).email)
            then 'You cannot decide a request of your own member account.'
    end;
end
$function$;

CREATE OR REPLACE FUNCTION private.correction_text (
  p_correction private.corrections
)
  RETURNS text
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select case (p_correction).kind
        when 'void_deposit' then (select 'To void the deposit of ' || private.dollars(d.amount) from public.deposits as d where d.id = (p_correction).target_id)
        when 'void_withdrawal' then (select 'To void the withdrawal of ' || private.dollars(w.amount) from public.withdrawals as w where w.id = (p_correction).target_id)
        else 'To set the package to ' || private.dollars((p_correction).value)
    end || (select ' of member ' || p.username || '.' from private.profiles as p where p.user_id = (p_correction).user_id)
$function$;

CREATE OR REPLACE FUNCTION private.joined_administrators (
  p_admin_id uuid
)
  RETURNS SETOF uuid
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    with recursive acts as materialized (
        select pg_catalog.substr(l.actor, 7)::uuid as by_id, l.object_id as admin_id
        from private.audit_log as l
        -- As in the index.
        where l.action collate "C" in ('admin.created', 'admin.password_reset', 'admin.two_step_reset', 'admin.updated')
            and pg_catalog.starts_with(l.actor, 'admin:') and l.at > pg_catalog.clock_timestamp() - interval '30 days'
            and (
                l.action <> 'admin.updated' or l.payload ->> 'role' is distinct from l.payload ->> 'role_before'
                -- Earlier entries do not say whether it was active before.
                or (l.payload ->> 'is_active' = 'true' and l.payload ->> 'is_active_before' is distinct from 'true')
            )
    ),
    links as (
        select a.by_id as one, a.admin_id as other from acts as a
        union
        select a.admin_id, a.by_id from acts as a
    ),
    joined as (
        select p_admin_id as id
        union
        select l.other from joined as j inner join links as l on j.id = l.one
    )
    select j.id from joined as j
$function$;

CREATE OR REPLACE FUNCTION private.mail_admin_change (
  p_admin_id     uuid,
  p_change       text,
  p_by           uuid,
  p_former_email text DEFAULT NULL::text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users;
    v_by text := coalesce(
        case when p_by = p_admin_id then 'This was done from the account itself.' end,
        (select 'This was done by ' || coalesce(b.full_name || ' (' || b.email || ').', b.email || '.') from private.admin_users as b where b.id = p_by),
        'This was done on the server, with the operator''s command.'
    );
begin
    if p_change is null then
        return;
    end if;
    select * into v_admin from private.admin_users as a where a.id = p_admin_id;
    insert into private.outbox (template, recipient, data)
    select 'admin_account_changed', r.email, pg_catalog.jsonb_build_object(
        'display_name', v_admin.full_name, 'title', 'Your administrator account was changed', 'link', '/admin/settings',
        'body', pg_catalog.format(E'%s\n%s\nIf you did not expect this, tell a super administrator immediately.', p_change, v_by)
    )
    from (values (v_admin.email), (nullif(p_former_email, v_admin.email))) as r (email)
    where r.email is not null;
    perform private.mail_administrators(
        'admin_account_changed', 'An administrator''s account was changed',
        pg_catalog.format(
            E'Account: %s\n%s\n%s\nIf this was not agreed, deactivate the account and find out who did it.',
            coalesce(v_admin.full_name || ' (' || v_admin.email || ')', v_admin.email), p_change, v_by
        ),
        '/admin/administrators', case when p_by is not null then 'super_admin'::public.admin_role end, p_admin_id
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.mail_administrators (
  p_template text,
  p_title    text,
  p_body     text,
  p_link     text,
  p_role     public.admin_role DEFAULT NULL::public.admin_role,
  p_except   uuid              DEFAULT NULL::uuid
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
    insert into private.outbox (template, recipient, data)
    select p_template, a.email, pg_catalog.jsonb_build_object('display_name', a.full_name, 'title', p_title, 'body', p_body, 'link', p_link)
    from private.admin_users as a where a.is_active and (p_role is null or a.role = p_role) and a.id is distinct from p_except
$function$;

CREATE OR REPLACE FUNCTION private.mail_correction (
  p_correction private.corrections,
  p_done       text,
  p_by         private.admin_users
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    perform private.mail_administrators(
        'correction_' || p_done, 'A correction was ' || p_done,
        pg_catalog.format(
            E'%s %s it.\n%s\nReason: %s\n%s', coalesce((p_by).full_name, (p_by).email), p_done, private.correction_text(p_correction),
            (p_correction).reason,
            case p_done when 'proposed' then 'Nothing has changed yet: another administrator confirms or discards it.' else 'It has taken effect.' end
        ),
        '/admin/corrections', 'super_admin'
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.parse_filters (
  p_filters  jsonb,
  p_sortable text[],
  p_more     text[] DEFAULT '{}'::text[]
)
  RETURNS private.list_request
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
    v_filters jsonb := coalesce(nullif(p_filters, 'null'), '{}');
    v_request private.list_request;
    v_sort text[];
begin
    perform private.require_known_filters(v_filters, array['page', 'pageSize', 'search', 'status', 'sort'] || p_more);
    v_request.everything := v_filters = '{}';
    if coalesce(v_filters ->> 'page', '1') !~ '\A[0-9]{1,7}\Z' or coalesce(v_filters ->> 'pageSize', '25') !~ '\A[0-9]{1,3}\Z' then
        perform private.raise_error(400, 'invalid_filter', 'Page and page size are whole numbers.');
    end if;
    v_request.page := greatest(coalesce((v_filters ->> 'page')::integer, 1), 1);
    v_request.page_size := least(greatest(coalesce((v_filters ->> 'pageSize')::integer, 25), 1), 500);
    if pg_catalog.length(v_filters ->> 'search') > 200 then
        perform private.raise_error(400, 'invalid_filter', 'A search has at most 200 characters.');
    end if;
    v_request.pattern := '%' || pg_catalog.regexp_replace(
        pg_catalog.lower(nullif(pg_catalog.btrim(v_filters ->> 'search'), '')), '([\\%_])', '\\\1', 'g'
    ) || '%';
    v_request.status := nullif(nullif(v_filters ->> 'status', ''), 'all');
    v_request.kind := nullif(nullif(v_filters ->> 'type', ''), 'all');
    v_sort := pg_catalog.string_to_array(coalesce(nullif(v_filters ->> 'sort', ''), p_sortable[1] || '.desc'), '.');
    if pg_catalog.cardinality(v_sort) <> 2 or v_sort[1] <> all(p_sortable) or v_sort[2] not in ('asc', 'desc') then
        perform private.raise_error(400, 'invalid_filter', 'This list cannot be sorted that way.');
    end if;
    v_request.sort_by := v_sort[1];
    v_request.descending := v_sort[2] = 'desc';
    return v_request;
end
$function$;

CREATE OR REPLACE FUNCTION private.recover_administrator (
  p_email     text,
  p_new_email text,
  p_hash      text,
  p_reason    text
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users;
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_email text := pg_catalog.lower(coalesce(nullif(pg_catalog.btrim(p_new_email), ''), p_email));
begin
    if v_reason is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    select * into v_admin from private.admin_users as a where a.email = pg_catalog.lower(p_email);
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    if not v_admin.is_active then
        perform private.raise_error(409, 'invalid_state', 'This account is switched off. A super admin switches it on in the panel.');
    end if;
    if exists (select 1 from private.admin_users as a where a.email = v_email and a.id <> v_admin.id) then
        perform private.raise_error(409, 'email_taken', 'There is already an administrator with this email.');
    end if;
    update private.admin_users as a set
        email = v_email,
        password_hash = p_hash,
        totp_key_id = null, totp_secret = null, totp_confirmed_at = null, totp_last_step = null,
        updated_at = pg_catalog.clock_timestamp()
    where a.id = v_admin.id;
    delete from public.admin_sessions as s where s.admin_id = v_admin.id;
    perform private.audit(
        'system', 'admin.recovered', 'admin_user', v_admin.id,
        pg_catalog.jsonb_build_object('reason', v_reason, 'email_changed', v_email <> v_admin.email)
    );
    perform private.mail_admin_change(
        v_admin.id,
        pg_catalog.concat_ws(
            ' ', 'The account was recovered: it has a new password, and two-step sign-in is off.',
            case when v_email <> v_admin.email then 'Its email was changed.' end
        ),
        null, v_admin.email
    );
    return v_admin.id;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_fresh_admin_proof (
  p_for text
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    if not private.is_live_admin_session(auth.jwt()) or not exists (
        select 1 from private.admin_session_activity as a
        where a.session_token = private.uuid_claim(auth.jwt(), 'sid') and private.is_recent(a.started_at, interval '10 minutes')
    ) then
        perform private.raise_error(403, 'reauthentication_needed', pg_catalog.format('Sign in again to %s: your last sign-in is more than ten minutes old.', p_for));
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_known_filters (
  p_filters jsonb,
  p_known   text[]
)
  RETURNS void
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
    v_unknown text;
begin
    if pg_catalog.jsonb_typeof(p_filters) <> 'object' then
        perform private.raise_error(400, 'invalid_filter', 'Filters are an object.');
    end if;
    select f.name into v_unknown from pg_catalog.jsonb_object_keys(p_filters) as f (name) where f.name <> all(p_known) limit 1;
    if v_unknown is not null then
        perform private.raise_error(400, 'unknown_field', pg_catalog.format('This list has no filter named %s.', pg_catalog.left(v_unknown, 60)));
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.settings_validate()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if (new.key, new.kind, new.minimum, new.maximum, new.needs_proof) is distinct from (old.key, old.kind, old.minimum, old.maximum, old.needs_proof) then
        perform private.raise_error(403, 'forbidden', 'Only the value of a setting can change.');
    end if;
    if new.key = 'demo' and new.value = 'true' and old.value = 'false' then
        perform private.raise_error(409, 'demo_is_over', 'Demo mode cannot be switched back on.');
    end if;
    if new.key = 'demo.seeded' and new.value = 'false' and old.value = 'true' then
        perform private.raise_error(409, 'demo_is_over', 'Sample data was loaded here; that cannot be undone.');
    end if;
    perform private.check_setting(new.key, new.value);
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.two_people_text (
  p_correction private.corrections,
  p_admin      private.admin_users
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_names text[] := array(
        select coalesce(a.full_name, a.email) from private.admin_users as a
        where a.is_active and a.role in ('super_admin', 'finance_admin')
            and a.id not in (select private.joined_administrators((p_correction).proposed_by))
            and pg_catalog.lower(a.email) is distinct from (
                select pg_catalog.lower(p.email) from private.profiles as p where p.user_id = (p_correction).user_id
            )
        order by coalesce(a.full_name, a.email), a.id
        limit 6
    );
    v_can text := pg_catalog.array_to_string(v_names[:5], ', ') || case when pg_catalog.cardinality(v_names) > 5 then ' and others' else '' end;
begin
    return pg_catalog.concat_ws(
        ' ',
        case
            when (p_correction).proposed_by = (p_admin).id then 'Another administrator must confirm a correction.'
            else pg_catalog.format(
                'You cannot confirm this: you and %s count as one person, because one of your accounts was created, reset, activated or given a role from the other in the last 30 days.',
                (select coalesce(a.full_name, a.email) from private.admin_users as a where a.id = (p_correction).proposed_by)
            )
        end,
        case when v_can <> '' then 'Who can: ' || v_can || '.' else 'At present nobody can. The operator can make another administrator on the server.' end
    );
end
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
    if (select s.needs_proof from private.settings as s where s.key = p_key) then
        perform private.require_fresh_admin_proof('change ' || p_key);
    end if;
    select s.value into v_before from private.settings as s where s.key = p_key for no key update;
    update private.settings as s set value = p_value, updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id
    where s.key = p_key returning s.* into v_setting;
    if p_key = 'deposit.address' and v_before is distinct from p_value then
        perform private.notify_administrators(
            'deposit_address_changed', 'The deposit address was changed',
            pg_catalog.format('%s set it to %s. If this was not agreed, sign in and change it back immediately.', coalesce(v_admin.full_name, v_admin.email), p_value #>> '{}'),
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

CREATE OR REPLACE FUNCTION public.confirm_correction (
  p_correction_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_correction private.corrections := private.lock_waiting_correction(p_correction_id);
begin
    if private.are_one_person(v_correction.proposed_by, v_admin.id) then
        perform private.raise_error(403, 'two_people', private.two_people_text(v_correction, v_admin));
    end if;
    perform private.require_not_own_account(v_admin, v_correction.user_id);
    perform private.require_fresh_admin_proof('confirm a correction');
    perform private.require_correctable_member(v_correction.kind, v_correction.target_id);
    perform private.lock_members(private.upline_ids(v_correction.user_id));
    update private.corrections as c set
        confirmed_by = v_admin.id, confirmed_at = private.clock(), confirmed_in = pg_catalog.pg_current_xact_id(),
        decision_no = private.next_decision_no()
    where c.id = p_correction_id
    returning * into v_correction;
    perform pg_catalog.set_config('app.allow_bonus_decrease', 'on', true);
    perform private.apply_correction(v_correction);
    perform pg_catalog.set_config('app.allow_bonus_decrease', '', true);
    perform private.notify_member(
        v_correction.user_id, 'correction', 'Your account was corrected',
        pg_catalog.format('%s Reason: %s', case v_correction.kind
            when 'void_deposit' then 'A deposit no longer counts.'
            when 'void_withdrawal' then 'A withdrawal that was not paid counts as available again.'
            else 'Your package was set to ' || private.dollars(v_correction.value) || '.'
        end, v_correction.reason), v_correction.value, '/transactions'
    );
    perform private.mail_correction(v_correction, 'confirmed', v_admin);
    return private.audit_correction('correction.confirmed', v_admin.id, v_correction, v_correction.confirmed_at);
end
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
    perform private.require_known_filters(p_filters, array['page', 'pageSize', 'adminId', 'action', 'objectId', 'from', 'to', 'search']);
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

CREATE OR REPLACE FUNCTION public.list_members (
  p_filters jsonb DEFAULT '{}'::jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_request private.list_request := private.parse_filters(
        p_filters, array['created_at', 'username', 'package_value'], array['package', 'verified']
    );
    v_package text := nullif(nullif(p_filters ->> 'package', ''), 'all');
    v_where text := private.member_conditions(v_package, nullif(nullif(p_filters ->> 'verified', ''), 'all'), v_request.status);
    v_source text := case when v_request.sort_by = 'package_value'
        then '(select m.*, o.package_cents, o.joined_at, o.no from private.positions as o inner join private.profiles as m on o.user_id = m.user_id)'
        else 'private.profiles'
    end;
    v_order text;
    v_reversed text;
    v_matches text;
    v_page record;
    v_items jsonb;
begin
    perform private.require_admin();
    select o.up, o.down into v_order, v_reversed
    from (
        values
        ('created_at', 'r.created_at, r.id', 'r.created_at desc, r.id desc'),
        ('username', 'lower(r.username), r.id', 'lower(r.username) desc, r.id desc'),
        ('package_value', 'r.package_cents, r.joined_at, r.no', 'r.package_cents desc, r.joined_at desc, r.no desc')
    ) as o (name, up, down)
    where o.name = v_request.sort_by;
    if v_request.descending then
        select v_reversed, v_order into v_order, v_reversed;
    end if;
    if v_request.pattern is null then
        v_page := private.member_page(v_source, v_where, v_package, v_order, v_reversed, v_request);
    else
        v_matches := 'from ' || v_source || ' as r' || v_where || ' and private.member_search_text(r.username, r.display_name, r.email) like $1';
        v_page := private.search_page(v_source, v_matches, v_matches, v_order, v_reversed, v_request);
    end if;
    select pg_catalog.jsonb_agg(private.member_item(p) order by u.place) into v_items
    from pg_catalog.unnest(v_page.ids) with ordinality as u (id, place)
    inner join private.profiles as p on u.id = p.id;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(v_items, '[]'),
        'total', v_page.total,
        'cards', pg_catalog.jsonb_build_object(
            'total_users', private.counter_value('profiles')::bigint,
            'active_users', private.counter_value('active_profiles')::bigint,
            'verified_users', private.counter_value('verified_profiles')::bigint,
            'total_investment', private.money(private.counter_value('package_investment'))
        )
    ) || case when v_page.more then '{"more": true}' else '{}' end::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION public.list_transactions (
  p_filters jsonb DEFAULT '{}'::jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['created_at'], array['type']);
    v_filters text;
    v_order text := 'r.created_at, r.id';
    v_reversed text := 'r.created_at desc, r.id desc';
    v_range record;
    v_ids uuid[];
    v_total bigint;
    v_more boolean;
    v_items jsonb;
    v_cards record;
begin
    perform private.require_admin();
    if v_request.status not in ('completed', 'pending', 'failed') or v_request.kind not in ('deposit', 'withdrawal', 'bonus') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such filter.');
    end if;
    v_filters := pg_catalog.concat(
        ' and r.status = ' || pg_catalog.quote_literal(v_request.status) || '::public.transaction_status',
        ' and r.transaction_type = ' || pg_catalog.quote_literal(v_request.kind) || '::public.transaction_type'
    );
    if v_request.descending then
        select v_reversed, v_order into v_order, v_reversed;
    end if;
    select
        coalesce(sum(c.rows), 0) as rows,
        coalesce(sum(c.rows) filter (where c.status = 'completed'), 0) as completed,
        coalesce(sum(c.rows) filter (where c.status = 'pending'), 0)::bigint as pending,
        coalesce(sum(c.rows) filter (
            where (v_request.status is null or c.status = v_request.status)
                and (v_request.kind is null or c.transaction_type = v_request.kind)
        ), 0)::bigint as filtered
    into v_cards
    from private.transaction_counts() as c;
    if v_request.everything then
        v_ids := private.newest_requests('transactions', private.journal_of_requests('pending', 5000), v_cards.pending);
        v_total := v_cards.filtered;
    elsif v_request.pattern is null then
        v_ids := private.page_ids(
            pg_catalog.format(
                'from %s as r where true',
                case when v_request.status = 'completed' or v_request.status is null then 'public.transactions'
                else private.journal_of_requests(v_request.status::public.transaction_status) end
            ) || v_filters, v_order, v_reversed, v_request, v_cards.filtered
        );
        v_total := v_cards.filtered;
    else
        v_range := private.id_range(p_filters ->> 'search');
        select f.ids, f.total, f.more into v_ids, v_total, v_more
        from private.search_page(
            'public.transactions',
            pg_catalog.format(
                $query$from (
                    (
                        select r.id from private.profiles as p inner join public.transactions as r on p.user_id = r.user_id
                        where private.member_search_text(p.username, p.display_name, p.email) like $1 %1$s
                        limit 10001
                    )
                    union
                    select r.id from public.transactions as r where r.reference_id between %2$L and %3$L %1$s
                ) as r$query$, v_filters, v_range.first, v_range.last
            ),
            pg_catalog.format(
                $query$from public.transactions as r where (
                    exists (
                        select from private.profiles as p
                        where p.user_id = r.user_id and private.member_search_text(p.username, p.display_name, p.email) like $1
                    )
                    or r.reference_id between %2$L and %3$L
                ) %1$s$query$, v_filters, v_range.first, v_range.last
            ),
            v_order, v_reversed, v_request
        ) as f;
    end if;
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', t.id,
            'user_id', t.user_id,
            'profile_id', p.id,
            'username', p.username,
            'email', p.email,
            'amount', private.money(t.amount),
            'transaction_type', t.transaction_type,
            'status', t.status,
            'reference_id', t.reference_id,
            'created_at', t.created_at,
            'cancelled', t.status = 'failed' and t.decision_no is null
        ) order by u.place
    )
    into v_items
    from pg_catalog.unnest(v_ids) with ordinality as u (id, place)
    inner join public.transactions as t on u.id = t.id
    inner join private.profiles as p on t.user_id = p.user_id;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(v_items, '[]'),
        'total', v_total,
        'cards', pg_catalog.jsonb_build_object(
            'total', v_cards.rows, 'completed', v_cards.completed, 'total_volume', private.money(private.completed_volume())
        )
    ) || case when v_more then '{"more": true}' else '{}' end::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION public.propose_correction (
  p_kind      text,
  p_target_id uuid,
  p_value     numeric,
  p_reason    text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_correction private.corrections;
begin
    if v_reason is null or pg_catalog.length(v_reason) > 1000 then
        perform private.raise_error(400, 'invalid_reason', 'Give a reason of at most 1,000 characters.');
    end if;
    if p_kind = 'set_package' and (
        p_value is null or not (p_value = 0 or exists (select 1 from private.packages as k where k.value = p_value))
    ) then
        perform private.raise_error(400, 'invalid_input', 'The package must be 0 or one of the package sizes.');
    end if;
    begin
        insert into private.corrections (kind, target_id, user_id, value, reason, proposed_by, proposed_at)
        values (
            p_kind, p_target_id, private.require_correctable_member(p_kind, p_target_id),
            case when p_kind = 'set_package' then p_value end, v_reason, v_admin.id, private.clock()
        )
        returning * into v_correction;
    exception when unique_violation then
        perform private.raise_error(409, 'already_proposed', 'This correction is already waiting for its confirmation.');
    end;
    perform private.mail_correction(v_correction, 'proposed', v_admin);
    return private.audit_correction('correction.proposed', v_admin.id, v_correction, v_correction.proposed_at);
end
$function$;

CREATE OR REPLACE FUNCTION public.reset_two_step (
  p_admin_id uuid,
  p_reason   text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_caller private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
begin
    if v_reason is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    if p_admin_id = v_caller.id then
        perform private.raise_error(403, 'forbidden', 'Turn your own two-step sign-in off with a code.');
    end if;
    perform private.require_fresh_admin_proof('reset two-step sign-in');
    update private.admin_users as a set totp_key_id = null, totp_secret = null, totp_confirmed_at = null, totp_last_step = null
    where a.id = p_admin_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    perform private.audit('admin:' || v_caller.id, 'admin.two_step_reset', 'admin_user', p_admin_id, pg_catalog.jsonb_build_object('reason', v_reason));
    perform private.mail_admin_change(p_admin_id, 'Two-step sign-in was removed, as for a lost device.', v_caller.id);
    return '{"success": true}'::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION public.start_factor_removal (
  p_profile_id uuid,
  p_reason     text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_user uuid := (select p.user_id from private.profiles as p where p.id = p_profile_id and p.closed_at is null);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
begin
    if v_user is null then
        perform private.raise_error(404, 'not_found', 'There is no such member.');
    end if;
    if v_reason is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    perform private.require_fresh_admin_proof('remove a member''s two-step sign-in');
    perform private.end_sessions(v_user);
    perform private.place_withdrawal_hold(v_user, 'factor');
    perform private.audit(
        'admin:' || v_admin.id, 'member.factors_removed', 'profile', p_profile_id, pg_catalog.jsonb_build_object('reason', v_reason)
    );
    return pg_catalog.jsonb_build_object('user_id', v_user);
end
$function$;

CREATE OR REPLACE FUNCTION public.start_member_closing (
  p_profile_id uuid,
  p_reason     text,
  p_confirmed  boolean
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.start_member_data_download (
  p_profile_id uuid,
  p_reason     text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.update_administrator (
  p_admin_id  uuid,
  p_full_name text,
  p_role      text,
  p_is_active boolean
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_caller private.admin_users;
    v_before private.admin_users;
    v_after private.admin_users;
begin
    -- Lock all accounts before reading the caller, who may have lost the role while waiting.
    perform 1 from private.admin_users as a order by a.id for no key update;
    v_caller := private.require_admin(array['super_admin']::public.admin_role[]);
    select * into v_before from private.admin_users as a where a.id = p_admin_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    if p_role is not null and p_role not in ('super_admin', 'finance_admin', 'support_admin') then
        perform private.raise_error(400, 'invalid_input', 'There is no such role.');
    end if;
    if p_admin_id = v_caller.id and (coalesce(p_role, 'super_admin') <> 'super_admin' or p_is_active is false) then
        perform private.raise_error(403, 'forbidden', 'You cannot change your own role or switch your own account off.');
    end if;
    perform private.require_fresh_admin_proof('change an administrator');
    update private.admin_users as a set
        full_name = coalesce(nullif(pg_catalog.btrim(p_full_name), ''), a.full_name),
        role = coalesce(p_role::public.admin_role, a.role),
        is_active = coalesce(p_is_active, a.is_active),
        updated_at = pg_catalog.clock_timestamp()
    where a.id = p_admin_id
    returning a.* into v_after;
    if not v_after.is_active or v_after.role is distinct from v_before.role then
        delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    end if;
    perform private.audit(
        'admin:' || v_caller.id, 'admin.updated', 'admin_user', p_admin_id,
        pg_catalog.jsonb_build_object(
            'role', v_after.role, 'role_before', v_before.role, 'is_active', v_after.is_active, 'is_active_before', v_before.is_active
        )
    );
    perform private.mail_admin_change(
        p_admin_id,
        nullif(pg_catalog.concat_ws(
            ' ',
            case when v_after.role <> v_before.role then pg_catalog.format(
                'The role was changed from %s to %s.',
                pg_catalog.replace(v_before.role::text, '_', ' '), pg_catalog.replace(v_after.role::text, '_', ' ')
            ) end,
            case when v_after.is_active <> v_before.is_active then pg_catalog.format(
                'The account was %s.', case when v_after.is_active then 'activated' else 'deactivated' end
            ) end,
            case when v_after.full_name is distinct from v_before.full_name then 'The name was changed.' end
        ), ''),
        v_caller.id
    );
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_after)) || private.audit_entries();
end
$function$;

COMMENT ON COLUMN "private"."settings"."needs_proof" IS 'It decides where money or data go: to change it, an administrator signs in again.';

COMMENT ON FUNCTION "edge"."audit_failed_admin_sign_in"(text, text, text, text) IS 'Audits a failed sign-in with its account, or with none where the email is unknown; p_wrong is password or code. In an hour at most 30 of an account and 60 of unknown emails.';

COMMENT ON FUNCTION "edge"."confirm_totp"(uuid) IS 'Enables two-step sign-in and ends the administrator''s other sessions; nothing where it is on already. Errors: reauthentication_needed.';

COMMENT ON FUNCTION "edge"."create_administrator"(uuid, text, text, text, text) IS 'Creates an administrator with a hashed password. Errors: forbidden, two_step_required, reauthentication_needed, email_taken.';

COMMENT ON FUNCTION "edge"."remove_totp"(uuid) IS 'Disables two-step sign-in; with real money only a support_admin may. Errors: two_step_required, reauthentication_needed.';

COMMENT ON FUNCTION "edge"."reset_admin_password"(uuid, uuid, text) IS 'Resets another administrator''s forgotten password: stores a new hash and ends all sessions. Errors: forbidden, two_step_required, reauthentication_needed, not_found.';

COMMENT ON FUNCTION "edge"."set_totp_secret"(uuid, text, bytea) IS 'Stores an encrypted TOTP secret, which is active after its first valid code; never replaces a confirmed one. Errors: reauthentication_needed.';

COMMENT ON FUNCTION "edge"."start_admin_session"(uuid, text, text, bytea, jsonb) IS 'Starts an 8-hour session for an active administrator, whose address is known from then on; p_jti_hash is the SHA-256 of the secret in its token, p_replaces the claims of a session of the same account that ends with it. Errors: invalid_credentials.';

COMMENT ON FUNCTION "private"."add_administrator"(text, text, public.admin_role, text) IS 'Creates a further administrator whom no other one is joined with, and mails all. Only on the machine, as owner. p_password_hash is Argon2id. Errors: email_taken.';

COMMENT ON FUNCTION "private"."are_one_person"(uuid, uuid) IS 'Whether two administrators'' accounts are the same or joined: then they do not both propose and confirm.';

COMMENT ON FUNCTION "private"."correction_text"(private.corrections) IS 'What a correction does and for whom, for administrators.';

COMMENT ON FUNCTION "private"."joined_administrators"(uuid) IS 'The accounts that count as one person with this one, itself among them: joined in the last 30 days by creating, resetting, giving a role or switching on, also through others.';

COMMENT ON FUNCTION "private"."mail_admin_change"(uuid, text, uuid, text) IS 'E-mails a change of an administrator''s account, a sentence, to its person (also at a former address) and to every other super administrator; where nobody of the panel did it (p_by null) to every administrator. Null: nothing changed.';

COMMENT ON FUNCTION "private"."mail_administrators"(text, text, text, text, public.admin_role, uuid) IS 'E-mails every active administrator (p_role: of one role), except one, when the transaction commits.';

COMMENT ON FUNCTION "private"."mail_correction"(private.corrections, text, private.admin_users) IS 'E-mails every super administrator that a correction was proposed or confirmed (p_done), and by whom.';

COMMENT ON FUNCTION "private"."parse_filters"(jsonb, text[], text[]) IS 'Parses a list''s filters: page, pageSize (at most 500), search, status, sort ("created_at.desc"; default: the first sortable column, newest first), and those that p_more names (type is parsed too). An empty object asks for all rows. Errors: invalid_filter, unknown_field.';

COMMENT ON FUNCTION "private"."require_fresh_admin_proof"(text) IS 'Raises unless the administrator''s session of this request began less than ten minutes ago; p_for ends "Sign in again to". Errors: reauthentication_needed.';

COMMENT ON FUNCTION "private"."require_known_filters"(jsonb, text[]) IS 'Raises where an object of filters has another one: what is misspelt would narrow nothing. Errors: invalid_filter, unknown_field.';

COMMENT ON FUNCTION "private"."two_people_text"(private.corrections, private.admin_users) IS 'Why an administrator who is one person with the proposer may not confirm a correction, and who may.';

COMMENT ON FUNCTION "public"."change_setting"(text, jsonb) IS 'Sets one setting within its type and limits; notifies all administrators of a new deposit address. Super admin, who signs in again for one that needs_proof. Errors: forbidden, not_found, invalid_setting, reauthentication_needed.';

COMMENT ON FUNCTION "public"."confirm_correction"(uuid) IS 'Finance and super administrators, never one person with the proposer: applies a correction. Errors: forbidden, not_found, already_decided, ledger_alarm, two_people, own_account, reauthentication_needed, not_correctable, try_again.';

COMMENT ON FUNCTION "public"."list_alarms"(jsonb) IS 'Administrators: open alarms, those first that stop decisions, or the history, newest first. Filters: status (open, ended), page, pageSize. Errors: forbidden, session_ended, invalid_filter, unknown_field.';

COMMENT ON FUNCTION "public"."list_audit"(jsonb) IS 'The audit log, newest first; seq is the entry''s id; filters page, pageSize, adminId, action (also the part before a dot), objectId, from and to (days of UTC, both included), search (the beginning of an id or a username, or seq). Support administrators read their own rows. Errors: forbidden, session_ended, invalid_filter, unknown_field.';

COMMENT ON FUNCTION "public"."list_deposits"(jsonb) IS 'Administrators: deposits with their members. Filters: page, pageSize, search (member, reference), status, sort (created_at, amount, status, username). {} returns all pending and the newest others, at most 5,000. Errors: forbidden, session_ended, invalid_filter, unknown_field.';

COMMENT ON FUNCTION "public"."list_members"(jsonb) IS 'Administrators: members, newest first, 25 a page. Filters: page, pageSize, search (username, name, e-mail), status, package, verified (true, false), sort (created_at, username, package_value). Errors: forbidden, session_ended, invalid_filter, unknown_field.';

COMMENT ON FUNCTION "public"."list_subscriptions"(jsonb) IS 'Administrators: bot subscriptions, newest first, without passwords. Filters: page, pageSize, search (member, bot, MT5 server, MT5 login), status, sort (subscribed_at). Errors: forbidden, session_ended, invalid_filter, unknown_field.';

COMMENT ON FUNCTION "public"."list_transactions"(jsonb) IS 'Administrators: the journal, newest first. Filters: page, pageSize, search (member, prefix of a reference id), type, status, sort (created_at). {} returns all pending and the newest others, at most 5,000. Errors: forbidden, session_ended, invalid_filter, unknown_field.';

COMMENT ON FUNCTION "public"."list_withdrawals"(jsonb) IS 'Administrators: withdrawals with their members. Filters as in list_deposits, status also paid and unpaid; search matches member and wallet address. Errors: forbidden, session_ended, invalid_filter, unknown_field.';

COMMENT ON FUNCTION "public"."reset_two_step"(uuid, text) IS 'Resets another administrator''s two-step sign-in after a lost device: deletes the secret and ends the sessions. Super admin. Errors: forbidden, not_found, reason_required, reauthentication_needed.';

COMMENT ON FUNCTION "public"."start_factor_removal"(uuid, text) IS 'Super admin: ends a member''s sessions, holds withdrawals for a day and writes an audit row, before the auth service deletes the factors. Errors: forbidden, not_found, reason_required, reauthentication_needed.';

COMMENT ON FUNCTION "public"."start_member_closing"(uuid, text, boolean) IS 'Super admin: writes an audit row before the auth service deletes a member who asked to leave; already true for a closed one. Errors: forbidden, two_step_required, not_found, reason_required, money_left, reauthentication_needed.';

COMMENT ON FUNCTION "public"."start_member_data_download"(uuid, text) IS 'Finance and super administrators: allows the file with everything that is stored about a member who asked for it, blocked and closed ones too; the member is notified. admin-download-data makes the file. Errors: forbidden, two_step_required, not_found, reason_required, reauthentication_needed, too_many_requests.';

COMMENT ON FUNCTION "public"."update_administrator"(uuid, text, text, boolean) IS 'Updates name, role and activity of an account; a changed role or a deactivation ends its sessions. Super admin, never on oneself. Errors: forbidden, session_ended, two_step_required, not_found, invalid_input, reauthentication_needed.';

REVOKE ALL ON FUNCTION "edge"."audit_failed_admin_sign_in"(text, text, text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "edge"."audit_failed_admin_sign_in"(text, text, text, text) TO "edge_functions";

REVOKE ALL ON FUNCTION "edge"."audit_failed_admin_sign_in"(text, text, text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "edge"."audit_failed_admin_sign_in"(text, text, text, text) TO "postgres";

REVOKE ALL ON FUNCTION "edge"."set_totp_secret"(uuid, text, bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "edge"."set_totp_secret"(uuid, text, bytea) TO "edge_functions";

REVOKE ALL ON FUNCTION "edge"."set_totp_secret"(uuid, text, bytea) FROM "postgres";

GRANT EXECUTE ON FUNCTION "edge"."set_totp_secret"(uuid, text, bytea) TO "postgres";

REVOKE ALL ON FUNCTION "edge"."start_admin_session"(uuid, text, text, bytea, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "edge"."start_admin_session"(uuid, text, text, bytea, jsonb) TO "edge_functions";

REVOKE ALL ON FUNCTION "edge"."start_admin_session"(uuid, text, text, bytea, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "edge"."start_admin_session"(uuid, text, text, bytea, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."add_administrator"(text, text, public.admin_role, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."add_administrator"(text, text, public.admin_role, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."add_administrator"(text, text, public.admin_role, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."are_one_person"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."are_one_person"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."are_one_person"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."correction_text"(private.corrections) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."correction_text"(private.corrections) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."correction_text"(private.corrections) TO "postgres";

REVOKE ALL ON FUNCTION "private"."joined_administrators"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."joined_administrators"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."joined_administrators"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_admin_change"(uuid, text, uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mail_admin_change"(uuid, text, uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_admin_change"(uuid, text, uuid, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_administrators"(text, text, text, text, public.admin_role, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mail_administrators"(text, text, text, text, public.admin_role, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_administrators"(text, text, text, text, public.admin_role, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_correction"(private.corrections, text, private.admin_users) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mail_correction"(private.corrections, text, private.admin_users) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_correction"(private.corrections, text, private.admin_users) TO "postgres";

REVOKE ALL ON FUNCTION "private"."parse_filters"(jsonb, text[], text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."parse_filters"(jsonb, text[], text[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."parse_filters"(jsonb, text[], text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_fresh_admin_proof"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_fresh_admin_proof"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_fresh_admin_proof"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_known_filters"(jsonb, text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_known_filters"(jsonb, text[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_known_filters"(jsonb, text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."two_people_text"(private.corrections, private.admin_users) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."two_people_text"(private.corrections, private.admin_users) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."two_people_text"(private.corrections, private.admin_users) TO "postgres";
