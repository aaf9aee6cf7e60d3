-- What a database has for its pgTAP files: pgTAP, and the functions with which a test acts as a person. Run once
-- in a copy of the migrated database (`bare`); each file then starts with actors.sql inside its transaction.
-- Members are made as the auth service makes them: a confirmed row in auth.users with the sign-up's metadata.

create extension if not exists pgtap with schema extensions;
grant usage on schema extensions to anon, authenticated, platform_admin, service_role, supabase_auth_admin, edge_functions, worker;
grant execute on all functions in schema extensions to anon, authenticated, platform_admin, service_role, supabase_auth_admin, edge_functions, worker;

create schema actors;
grant usage on schema actors to public;
create table actors.people (name text primary key, user_id uuid not null, session_id uuid not null, role text not null, aal text not null default 'aal1');
grant select on actors.people to public;

create function actors.user_id(p_name text) returns uuid language sql stable as $$
    select p.user_id from actors.people as p where p.name = p_name
$$;
create function actors.profile_id(p_name text) returns uuid language sql stable security definer as $$
    select p.id from private.profiles as p where p.user_id = actors.user_id(p_name)
$$;
create function actors.position_no(p_name text) returns integer language sql stable security definer as $$
    select p.no from private.positions as p where p.user_id = actors.user_id(p_name)
$$;

-- A member below a referrer (a root without one), signed in once.
create function actors.join_as(p_name text, p_referrer text default null) returns uuid language plpgsql security definer as $$
declare
    v_user uuid := gen_random_uuid();
    v_session uuid := gen_random_uuid();
begin
    insert into auth.users (id, instance_id, aud, role, email, encrypted_password, email_confirmed_at, created_at, updated_at, raw_app_meta_data, raw_user_meta_data)
    values (
        v_user, '00000000-0000-0000-0000-000000000000', 'authenticated', 'authenticated', p_name || '@people.test', '$2a$10$x', now(), now(), now(), '{}',
        case when p_referrer is null then '{}' else jsonb_build_object(
            'username', p_name, 'display_name', initcap(p_name), 'referrer_id', actors.profile_id(p_referrer)
        ) end
    );
    insert into auth.sessions (id, user_id, created_at, updated_at, aal) values (v_session, v_user, now(), now(), 'aal1');
    insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method) values (gen_random_uuid(), v_session, now(), now(), 'password');
    insert into actors.people (name, user_id, session_id, role) values (p_name, v_user, v_session, 'authenticated');
    if p_referrer is null then
        perform private.create_root_member(v_user, p_name, initcap(p_name));
    end if;
    return v_user;
end
$$;

create function actors.administrator(p_name text, p_role public.admin_role) returns uuid language plpgsql security definer as $$
declare
    v_admin uuid;
    v_session uuid;
begin
    v_admin := private.create_administrator(p_name || '@admins.test', initcap(p_name), p_role, '$argon2id$test');
    select s.session_token into v_session from edge.start_admin_session(v_admin, '127.0.0.1', 'test', sha256(convert_to(p_name, 'UTF8'))) as s;
    insert into actors.people (name, user_id, session_id, role) values (p_name, v_admin, v_session, 'platform_admin');
    return v_admin;
end
$$;

create function actors.claims(p_name text) returns jsonb language sql stable as $$
    select jsonb_build_object(
        'sub', p.user_id, 'aud', 'authenticated', 'role', p.role, 'exp', extract(epoch from now() + interval '1 hour')::bigint
    ) || case when p.role = 'platform_admin'
        then jsonb_build_object('sid', p.session_id, 'jti', p.name)
        else jsonb_build_object(
            'session_id', p.session_id, 'aal', p.aal,
            'amr', jsonb_build_array(jsonb_build_object('method', 'password', 'timestamp', floor(extract(epoch from now()))))
        )
    end
    from actors.people as p where p.name = p_name
$$;

-- From here on the test is this person; 'anonymous' is an anonymous client with the public key.
create function actors.act_as(p_name text) returns void language plpgsql as $$
begin
    perform set_config('request.headers', '{"x-real-ip": "203.0.113.7"}', true);
    if p_name = 'anonymous' then
        perform set_config('request.jwt.claims', '{"role": "anon"}', true);
        perform set_config('role', 'anon', true);
    else
        perform set_config('request.jwt.claims', actors.claims(p_name)::text, true);
        perform set_config('role', (select p.role from actors.people as p where p.name = p_name), true);
    end if;
end
$$;

-- Back to the owner of the database, who sees everything: what a denied write really left behind.
create function actors.act_as_owner() returns void language plpgsql as $$
begin
    perform set_config('role', 'none', true);
    perform set_config('request.jwt.claims', '', true);
end
$$;

-- The owner, with this administrator's claims: as functions/edge calls functions of its own.
create function actors.serve(p_name text) returns void language plpgsql as $$
begin
    perform actors.act_as(p_name);
    perform set_config('role', 'none', true);
end
$$;

-- An administrator signs in anew; the session from before goes on.
create function actors.signs_in_again(p_name text) returns void language plpgsql security definer as $$
begin
    update actors.people as p set session_id = (
        select s.session_token from edge.start_admin_session(p.user_id, '127.0.0.1', 'test', sha256(convert_to(p_name, 'UTF8'))) as s
    ) where p.name = p_name;
end
$$;

-- An administrator's session began so long ago.
create function actors.signed_in_before(p_name text, p_age interval) returns void language sql security definer as $$
    update private.admin_session_activity as a set started_at = clock_timestamp() - p_age
    from actors.people as p where p.name = p_name and a.session_token = p.session_id
$$;

-- An error, exactly: HTTP status, stable code, the sentence a person reads.
create function actors.raises(p_sql text, p_status integer, p_code text, p_text text, p_description text) returns text language plpgsql as $$
declare
    v_message text;
    v_detail text;
    v_state text;
begin
    execute p_sql;
    return extensions.ok(false, p_description || ' (no error was raised)');
exception when others then
    get stacked diagnostics v_message = message_text, v_detail = pg_exception_detail, v_state = returned_sqlstate;
    if v_state <> 'PGRST' then
        return extensions.is(v_state || ': ' || v_message, 'PGRST', p_description);
    end if;
    return extensions.is(
        (v_detail::jsonb ->> 'status') || ' ' || (v_message::jsonb ->> 'code') || ': ' || (v_message::jsonb ->> 'message'),
        p_status || ' ' || p_code || ': ' || coalesce(p_text, v_message::jsonb ->> 'message'),
        p_description
    );
end
$$;

-- What a call leaves behind in its own transaction: a row of the audit log, a notification of the member.
create function actors.audited(p_action text, p_description text) returns text language sql security definer as $$
    select extensions.ok(
        exists (select 1 from private.audit_log as a where a.action = p_action and a.at >= now()), p_description || ' is on the record: ' || p_action
    )
$$;
create function actors.notified(p_name text, p_kind text, p_description text) returns text language sql security definer as $$
    select extensions.ok(
        exists (select 1 from public.notifications as n where n.user_id = actors.user_id(p_name) and n.kind = p_kind and n.created_at >= now()), p_description
    )
$$;

-- What a test wrote past the product is said in the audit log, as an honest change would have.
create function actors.record_states() returns void language sql security definer as $$
    select private.audit('system', 'member.updated', 'profile', p.id, private.member_entry(p.id))
    from private.profiles as p;
    select private.audit('system', 'admin.updated', 'admin_user', a.id, private.administrator_entry(a.id))
    from private.admin_users as a;
    select private.audit_setting('system', d.key) from private.setting_discrepancies as d;
$$;

-- A member whose profile is complete and who paid a package, as a review would have left it.
create function actors.complete(p_name text) returns void language sql security definer as $$
    update private.profiles set trc20_wallet_address = wallets.of(p_name) where user_id = actors.user_id(p_name);
    select private.audit('system', 'member.updated', 'profile', p.id, private.member_entry(p.id, array['wallet']))
    from private.profiles as p where p.user_id = actors.user_id(p_name);
$$;
create sequence actors.receipts start 1000000000;
grant usage on sequence actors.receipts to public;
create function actors.upload(p_name text, p_extension text default 'png') returns text language plpgsql security definer as $$
declare
    v_name text := actors.user_id(p_name) || '/' || nextval('actors.receipts') || '.' || p_extension;
begin
    -- Two hours ago, because uploads of one hour are limited.
    insert into storage.objects (bucket_id, name, owner_id, metadata, created_at)
    values (
        'receipts', v_name, actors.user_id(p_name)::text,
        jsonb_build_object('size', 1000, 'eTag', format('"%s"', md5(v_name)), 'mimetype', case p_extension when 'pdf' then 'application/pdf' else 'image/png' end),
        now() - interval '2 hours'
    );
    return 'http://localhost/storage/v1/object/public/receipts/' || v_name;
end
$$;
create function actors.claims_deposit(p_name text, p_amount numeric, p_reference text default null) returns uuid language plpgsql as $$
declare
    v_id uuid := gen_random_uuid();
    v_receipt text := actors.upload(p_name);
begin
    perform actors.act_as(p_name);
    insert into public.deposits (id, user_id, amount, reference_number, receipt_url, status)
    values (v_id, actors.user_id(p_name), p_amount, coalesce(p_reference, v_id::text), v_receipt, 'pending');
    perform actors.act_as_owner();
    return v_id;
end
$$;
create function actors.pays(p_name text, p_amount numeric) returns uuid language plpgsql as $$
declare
    v_id uuid := actors.claims_deposit(p_name, p_amount);
begin
    perform actors.act_as('elin');
    perform public.decide_deposit(v_id, 'approve');
    perform actors.act_as_owner();
    return v_id;
end
$$;
-- A correction that Olga proposes and Elin confirms.
create function actors.corrects(p_kind text, p_target uuid, p_value numeric default null) returns void language plpgsql as $$
declare
    v_id uuid;
begin
    perform actors.act_as('olga');
    v_id := public.propose_correction(p_kind, p_target, p_value, 'test') #>> '{correction,id}';
    perform actors.act_as('elin');
    perform public.confirm_correction(v_id);
    perform actors.act_as_owner();
end
$$;
-- Ymir is the root; below: Freya; her children Ask, Embla, Buri; Loke is a stranger with a root of his own.
create function actors.fixture_members() returns void language plpgsql as $$
begin
    perform actors.join_as('ymir');
    perform actors.join_as('freya', 'ymir');
    perform actors.join_as('ask', 'freya');
    perform actors.join_as('embla', 'freya');
    perform actors.join_as('buri', 'freya');
    perform actors.join_as('loke');
    perform actors.complete(n) from unnest(array['ymir', 'freya', 'ask', 'embla', 'buri', 'loke']) as n;
end
$$;
grant execute on all functions in schema actors to public;
