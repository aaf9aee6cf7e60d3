-- Sign-up. The auth service calls the hook before it creates an account: the hook validates the referrer and reserves
-- the username. The profile is created in the transaction that first confirms the e-mail address, so that an
-- unconfirmed account has no position in the tree and loses its username after a day. That trigger must never fail:
-- it runs when a person follows a confirmation link.
-- Rules: specification S11.

create function private.referrer_by_code(p_referral_code text) returns private.profiles
language plpgsql stable set search_path = '' as $$
declare
    v_referrer private.profiles;
begin
    if p_referral_code !~* '\A[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z' then
        return null;
    end if;
    select * into v_referrer from private.profiles as p where p.id = p_referral_code::uuid and p.account_status <> 'disabled';
    return v_referrer;
end
$$;
comment on function private.referrer_by_code(text) is
'The member with this referral code (profile id); null when unknown, disabled or closed. A suspended member can still refer.';

create function private.sign_up_error(p_code text, p_message text) returns jsonb
language sql immutable set search_path = '' as $$
    select pg_catalog.jsonb_build_object('error', pg_catalog.jsonb_build_object('http_code', 400, 'code', p_code, 'message', p_message))
$$;
comment on function private.sign_up_error(text, text) is
'An error in the form of the hook: an exception would become a 500. functions/auth passes the code on; a real GoTrue does not know it.';

create function hooks.before_user_created(event jsonb) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_data jsonb := event #> '{user,user_metadata}';
    v_email text := pg_catalog.lower(event #>> '{user,email}');
    v_username text := v_data ->> 'username';
    v_display_name text := pg_catalog.btrim(v_data ->> 'display_name');
    v_error text;
begin
    if coalesce(pg_catalog.btrim(v_data ->> 'referrer_id'), '') = '' then
        return private.sign_up_error('referral_code_required', 'Referral code is required for registration');
    end if;
    if (private.referrer_by_code(pg_catalog.btrim(v_data ->> 'referrer_id'))).id is null then
        return private.sign_up_error('invalid_referral_code', 'Invalid referral code');
    end if;
    if coalesce(v_email, '') = '' or coalesce(v_display_name, '') = '' then
        return private.sign_up_error('fields_required', 'Please fill in all required fields');
    end if;
    v_error := private.username_error(v_username);
    if v_error is not null then
        return private.sign_up_error('invalid_username', v_error);
    end if;
    if not private.is_display_name(v_display_name) then
        return private.sign_up_error('invalid_display_name', 'A name has at most 80 characters, on one line.');
    end if;
    if exists (select 1 from private.profiles as p where pg_catalog.lower(p.username) = pg_catalog.lower(v_username)) then
        return private.sign_up_error('username_taken', 'Username already exists. Please choose a different username.');
    end if;
    -- One statement arbitrates between concurrent sign-ups with the same username.
    insert into private.username_reservations as r (username, email, until)
    values (v_username, v_email, pg_catalog.clock_timestamp() + interval '24 hours')
    on conflict (pg_catalog.lower(username)) do update
        set username = excluded.username, email = excluded.email, until = excluded.until
        where r.until < pg_catalog.clock_timestamp() or r.email = excluded.email;
    if not found then
        return private.sign_up_error('username_taken', 'Username already exists. Please choose a different username.');
    end if;
    return '{}'::jsonb;
end
$$;
comment on function hooks.before_user_created(jsonb) is
'Validates referrer, name and username of a sign-up and reserves the username for 24 hours. Ignores money, status and role in the metadata.';
grant execute on function hooks.before_user_created(jsonb) to supabase_auth_admin;

create function hooks.mail_data(event jsonb) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_referrer private.profiles := private.referrer_by_code(pg_catalog.btrim(event #>> '{user,user_metadata,referrer_id}'));
begin
    -- Anybody can sign up a stranger's address: a mail to it holds no text that a member wrote, but usernames.
    return pg_catalog.jsonb_build_object('referrer_username', v_referrer.username);
end
$$;
comment on function hooks.mail_data(jsonb) is
'What a mail about a sign-up says beyond its metadata: the username of the referrer, null when there is none.';
grant execute on function hooks.mail_data(jsonb) to supabase_auth_admin;

create function private.create_profile(p_user_id uuid, p_email text, p_username text, p_display_name text, p_referrer_id uuid) returns uuid
language plpgsql volatile set search_path = '' as $$
declare
    v_id uuid := pg_catalog.gen_random_uuid();
begin
    insert into private.profiles (id, user_id, username, display_name, email, referrer_id, depth, jump)
    values (v_id, p_user_id, p_username, p_display_name, pg_catalog.lower(p_email), p_referrer_id, 0, v_id);
    -- Other sign-ups of the address are void now, too.
    delete from private.username_reservations as r
    where pg_catalog.lower(r.username) = pg_catalog.lower(p_username) or r.email = pg_catalog.lower(p_email);
    perform private.audit(
        'member:' || p_user_id, 'member.joined', 'profile', v_id, private.member_entry(v_id)
    );
    return v_id;
end
$$;
comment on function private.create_profile(uuid, text, text, text, uuid) is
'Creates a member under a referrer, or a root without one; all other columns have their defaults.';

create function private.create_profile_from_sign_up(p_user_id uuid, p_email text, p_data jsonb) returns uuid
language plpgsql volatile set search_path = '' as $$
declare
    v_username text := p_data ->> 'username';
    v_display_name text := pg_catalog.left(nullif(pg_catalog.btrim(p_data ->> 'display_name'), ''), 80);
    v_referrer private.profiles;
    v_id uuid;
begin
    if exists (select 1 from private.profiles as p where p.user_id = p_user_id) then
        return null;
    end if;
    if private.username_error(v_username) is not null or p_data ->> 'referrer_id' !~* '\A[0-9a-f-]{36}\Z' then
        return null;
    end if;
    -- The code was valid at sign-up; a referrer who was disabled since still gets the member.
    select * into v_referrer from private.profiles as p where p.id = (p_data ->> 'referrer_id')::uuid;
    if not found then
        return null;
    end if;
    if private.username_taken(v_username, p_email) then
        v_username := pg_catalog.left(v_username, 24) || '_' || pg_catalog.substr(p_user_id::text, 1, 5);
    end if;
    v_id := private.create_profile(p_user_id, p_email, v_username, coalesce(v_display_name, v_username), v_referrer.id);
    if v_referrer.closed_at is null then
        -- The username and not the display name: this may be mailed, and no text of a member's own becomes a link.
        perform private.notify_member(
            v_referrer.user_id, 'referral_joined', pg_catalog.format('%s joined your team', v_username),
            pg_catalog.format(
                '%s signed up with your referral code and is your direct referral. A sign-up itself earns nothing: bonuses are shares of packages that members pay for.',
                v_username
            ), null, '/dashboard?view=advanced&tab=tree'
        );
    end if;
    if v_username is distinct from p_data ->> 'username' then
        perform private.notify_member(
            p_user_id, 'username_changed', 'Your username was taken meanwhile',
            pg_catalog.format('You confirmed after more than a day. You are %s now and can choose another name in your profile.', v_username),
            null, '/profile'
        );
    end if;
    return v_id;
end
$$;
comment on function private.create_profile_from_sign_up(uuid, text, jsonb) is
'Creates the profile of a confirmed account from its sign-up metadata and notifies the referrer; null when that has no referrer or username.';

create function private.users_create_profile() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.create_profile_from_sign_up(new.id, new.email, new.raw_user_meta_data);
    return null;
exception when others then
    -- Never fail a confirmation: jobs.create_missing_profiles() retries.
    raise log 'no profile for % yet: % %', new.id, sqlstate, sqlerrm;
    return null;
end
$$;
comment on function private.users_create_profile() is 'Trigger: creates the profile when the e-mail address is first confirmed.';

create trigger harborline_confirmed_insert after insert on auth.users
for each row when (new.email_confirmed_at is not null) execute function private.users_create_profile();
create trigger harborline_confirmed_update after update of email_confirmed_at on auth.users
for each row when (old.email_confirmed_at is null and new.email_confirmed_at is not null) execute function private.users_create_profile();

create function private.create_root_member(p_user_id uuid, p_username text, p_display_name text) returns uuid
language plpgsql volatile set search_path = '' as $$
begin
    return private.create_profile(
        p_user_id, (select u.email from auth.users as u where u.id = p_user_id),
        p_username, private.validate_display_name(p_display_name), null
    );
end
$$;
comment on function private.create_root_member(uuid, text, text) is
'Bootstrap only: creates a member without a referrer for an existing account.';

-- A response that fails is rolled back, and its hit with it: without a row PostgREST fails when one object is asked
-- for. So this returns one JSON value, which cannot fail: the array of rows, or what PostgREST itself would respond to
-- who asks for one object (`single()` and `maybeSingle()` of the stock clients). The gateway passes it no query string,
-- because a filter with a cast would fail for some values and not for others.
create function public.get_sponsor(p_referral_code text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member jsonb;
begin
    if not private.consume_client_limit('sponsor', private.operator_limit('referrer_limit', 60), interval '5 minutes') then
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
$$;
comment on function public.get_sponsor(text) is
'The member with a referral code (profile id or exact username): an array of one row or none. Errors: too_many_requests.';
grant execute on function public.get_sponsor(text) to anon, authenticated, platform_admin;

create function public.is_username_available(p_username text) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
    if not private.consume_client_limit('username', private.operator_limit('username_limit', 30), interval '5 minutes') then
        perform private.raise_error(429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.');
    end if;
    return private.username_error(p_username) is null
        and not private.username_taken(p_username, (select p.email from private.profiles as p where p.user_id = auth.uid()));
end
$$;
comment on function public.is_username_available(text) is 'Whether a username is valid and free. Errors: too_many_requests.';
grant execute on function public.is_username_available(text) to anon, authenticated, platform_admin;

create function jobs.create_missing_profiles() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_user record;
    v_made integer := 0;
begin
    for v_user in
        select u.id, u.email, u.raw_user_meta_data as data from auth.users as u
        where u.email_confirmed_at is not null and u.deleted_at is null
            and u.raw_user_meta_data ? 'referrer_id'
            and not exists (select 1 from private.profiles as p where p.user_id = u.id)
        order by u.email_confirmed_at
        limit 100
    loop
        if private.create_profile_from_sign_up(v_user.id, v_user.email, v_user.data) is not null then
            v_made := v_made + 1;
        end if;
    end loop;
    return v_made;
end
$$;
comment on function jobs.create_missing_profiles() is 'Creates profiles that a confirmation failed to create; returns how many.';
grant execute on function jobs.create_missing_profiles() to worker;

create function jobs.delete_unconfirmed_users() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_removed integer;
begin
    delete from auth.users as u
    where u.email_confirmed_at is null and u.created_at < pg_catalog.clock_timestamp() - interval '7 days'
        and u.last_sign_in_at is null
        and not exists (select 1 from private.profiles as p where p.user_id = u.id);
    get diagnostics v_removed = row_count;
    delete from private.username_reservations as r where r.until < pg_catalog.clock_timestamp();
    return v_removed;
end
$$;
comment on function jobs.delete_unconfirmed_users() is
'Deletes sign-ups unconfirmed for seven days, and expired reservations; returns how many accounts.';
grant execute on function jobs.delete_unconfirmed_users() to worker;
