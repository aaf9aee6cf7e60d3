-- Changes of credentials or wallet: notify the member and hold withdrawals for a day (requests stay possible). The
-- auth service writes its own tables; triggers on them do this in the same transaction.
-- Holds: specification S7.5. Sessions and proofs: specification S13.

create function private.place_withdrawal_hold(p_user_id uuid, p_reason text) returns void
language plpgsql volatile set search_path = '' as $$
begin
    update private.profiles as p set hold_until = pg_catalog.clock_timestamp() + interval '24 hours', hold_reason = p_reason
    where p.user_id = p_user_id and p.closed_at is null;
end
$$;
comment on function private.place_withdrawal_hold(uuid, text) is 'For 24 hours withdrawals may be requested but not approved.';

create function private.session_ends_at(p_created_at timestamptz, p_refreshed_at timestamp, p_not_after timestamptz) returns timestamptz
language plpgsql stable set search_path = '' as $$
begin
    -- supabase/services/auth.env tells the auth service the same. The last refresh is stored in UTC, without saying so.
    return least(
        p_not_after, p_created_at + interval '4320 hours', greatest(p_created_at, p_refreshed_at at time zone 'UTC') + interval '720 hours'
    );
end
$$;
comment on function private.session_ends_at(timestamptz, timestamp, timestamptz) is
'When a member''s session ends: 30 days after its last refresh, 180 days after the sign-in at the latest.';

-- A token says what held when it was made, a row what holds now, and either alone can be the wrong one: the token of a
-- session whose factor was removed says aal2, and the row of a session that its owner proved just now says nothing of who
-- holds an older token of it.
create function private.entered_at(p_claims jsonb, p_method text) returns timestamptz
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.to_timestamp((pg_catalog.jsonb_path_query_first(
        p_claims, '$.amr[*] ? (@.method == $method && @.timestamp.type() == "number").timestamp', pg_catalog.jsonb_build_object('method', p_method)
    ))::double precision);
end
$$;
comment on function private.entered_at(jsonb, text) is
'When a member''s token says that a password or code was entered, in whole seconds; null when it does not.';

create function private.member_session(
    p_claims jsonb, out user_id uuid, out has_factor boolean, out is_aal2 boolean, out needs_password boolean, out needs_code boolean
)
language plpgsql stable set search_path = '' as $$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
begin
    select
        s.user_id, f.has_factor, l.is_aal2,
        not (e.password or f.has_factor and f.is_proven),
        f.has_factor and not (l.is_aal2 and e.code)
    into member_session.user_id, member_session.has_factor, member_session.is_aal2, member_session.needs_password, member_session.needs_code
    from auth.sessions as s
    cross join lateral (select s.aal >= 'aal2' and coalesce(p_claims ->> 'aal' in ('aal2', 'aal3'), false) as is_aal2) as l
    cross join lateral (
        select
            count(*) > 0 as has_factor,
            -- updated_at is when it was verified: one that was begun can wait for its first code.
            coalesce(bool_or(f.id = s.factor_id and f.updated_at <= v_now - interval '24 hours'), false) as is_proven
        from auth.mfa_factors as f where f.user_id = s.user_id and f.status = 'verified'
    ) as f
    cross join lateral (
        select
            coalesce(bool_or(a.authentication_method = 'password'), false) as password,
            coalesce(bool_or(a.authentication_method = 'totp'), false) as code
        from auth.mfa_amr_claims as a
        where a.session_id = s.id
            and a.updated_at > v_now - interval '10 minutes' and a.updated_at <= v_now
            and private.entered_at(p_claims, a.authentication_method) > v_now - interval '10 minutes'
            and private.entered_at(p_claims, a.authentication_method) <= a.updated_at
    ) as e
    where s.id = private.uuid_claim(p_claims, 'session_id')
        and s.user_id = private.uuid_claim(p_claims, 'sub')
        and private.session_ends_at(s.created_at, s.refreshed_at, s.not_after) > v_now;
end
$$;
comment on function private.member_session(jsonb) is
'The session of a member''s token, as far as token and rows agree: whether the account has a second factor and the session showed it, and which entry of the last ten minutes a fresh proof lacks: without a factor the password, with one its code, in the first 24 hours of a factor both. All null when the session has ended.';

create function private.require_fresh_proof(p_for text) returns void
language plpgsql stable set search_path = '' as $$
declare
    v_session record := private.member_session(nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::jsonb);
begin
    if v_session.has_factor and v_session.needs_password then
        perform private.raise_error(
            403, 'reauthentication_needed', pg_catalog.format('Sign in again with your password and the code from your authenticator app to %s.', p_for)
        );
    elsif v_session.needs_code then
        perform private.raise_error(
            403, 'reauthentication_needed', pg_catalog.format('Enter the code from your authenticator app again to %s.', p_for)
        );
    elsif v_session.needs_password is distinct from false then
        perform private.raise_error(403, 'reauthentication_needed', pg_catalog.format('Sign in again to %s.', p_for));
    end if;
end
$$;
comment on function private.require_fresh_proof(text) is
'Raises unless private.member_session() lacks nothing. Errors: reauthentication_needed.';

create function private.notify_security_change(p_user_id uuid, p_kind text, p_title text, p_hold_reason text) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_profile_id uuid := (select p.id from private.profiles as p where p.user_id = p_user_id and p.closed_at is null);
begin
    if v_profile_id is null then
        return;
    end if;
    if p_hold_reason is not null then
        perform private.place_withdrawal_hold(p_user_id, p_hold_reason);
        perform private.audit(
            'member:' || p_user_id, 'member.held', 'profile', v_profile_id,
            pg_catalog.jsonb_build_object('reason', p_hold_reason) || private.member_entry(v_profile_id, array['hold_until'])
        );
    end if;
    perform private.notify_member(
        p_user_id, p_kind, p_title, pg_catalog.concat_ws(
            ' ', case when p_hold_reason is not null then 'You can request a withdrawal now; it cannot be approved for 24 hours.' end,
            'If this was not you, contact support.'
        ), null, '/settings'
    );
exception when others then
    -- Never fail the auth service's transaction.
    raise log 'no notice for %: % %', p_user_id, sqlstate, sqlerrm;
end
$$;
comment on function private.notify_security_change(uuid, text, text, text) is
'Notifies a member of a security change; with a reason also places a 24-hour hold.';

create function private.users_sync_email() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles;
begin
    update private.profiles as p set email = pg_catalog.lower(new.email)
    where p.user_id = new.id and p.closed_at is null
    returning * into v_member;
    if v_member.id is not null then
        -- Sign-ups of the address are void now.
        delete from private.username_reservations as r where r.email = v_member.email;
        perform private.place_withdrawal_hold(new.id, 'email');
        perform private.audit(
            'member:' || new.id, 'member.email_changed', 'profile', v_member.id, private.member_entry(v_member.id, array['email', 'hold_until'])
        );
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
$$;
comment on function private.users_sync_email() is
'Trigger: copies the confirmed sign-in address to the profile, frees what its sign-ups reserved and holds withdrawals for a day.';

create function private.users_notify_password_change() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.notify_security_change(new.id, 'password_changed', 'Your password was changed', 'password');
    return null;
end
$$;
comment on function private.users_notify_password_change() is 'Trigger: notifies of a changed password.';

create function private.mfa_factors_notify_added() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.notify_security_change(new.user_id, 'factor_added', 'An authenticator was added to your account', 'factor');
    return null;
end
$$;
comment on function private.mfa_factors_notify_added() is 'Trigger: notifies of a new second factor.';

create function private.mfa_factors_notify_removed() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.notify_security_change(old.user_id, 'factor_removed', 'An authenticator was removed from your account', 'factor');
    return null;
end
$$;
comment on function private.mfa_factors_notify_removed() is 'Trigger: notifies of a removed second factor.';

create trigger harborline_email after update of email on auth.users
for each row when (old.email is distinct from new.email) execute function private.users_sync_email();
create trigger harborline_password after update of encrypted_password on auth.users
for each row when (coalesce(old.encrypted_password, '') <> '' and old.encrypted_password is distinct from new.encrypted_password)
execute function private.users_notify_password_change();
create trigger harborline_factor_verified after update of status on auth.mfa_factors
for each row when (old.status <> 'verified' and new.status = 'verified') execute function private.mfa_factors_notify_added();
create trigger harborline_factor_removed after delete on auth.mfa_factors
for each row when (old.status = 'verified') execute function private.mfa_factors_notify_removed();

-- Cancel a pending change of the sign-in address (a mistyped one, or one not asked for): its links stop working at
-- once and the current address stays. The auth service has no endpoint for this; role postgres may update exactly
-- these columns of its tables (supabase/bootstrap).
create function public.cancel_email_change() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
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
$$;
comment on function public.cancel_email_change() is
'Cancels the caller''s pending change of e-mail address; its links stop working. Errors: not_found.';
grant execute on function public.cancel_email_change() to authenticated;

create function public.get_email_change() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    return (
        select pg_catalog.jsonb_build_object(
            'old_email', u.email, 'new_email', u.email_change,
            'old_confirmed', u.email_change_confirm_status = 1 and u.email_change_token_current = '',
            'new_confirmed', u.email_change_confirm_status = 1 and u.email_change_token_new = ''
        )
        from auth.users as u where u.id = v_user_id and u.email_change <> ''
    );
end
$$;
comment on function public.get_email_change() is
'The caller''s pending change of e-mail address, and which of its two links was opened; null when there is none.';
grant execute on function public.get_email_change() to authenticated;

-- A member's own sessions. Ending one deletes its row: the check before each request rejects its token from then on.

create function public.get_my_sessions() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.require_member()).user_id;
    v_current uuid := private.uuid_claim(auth.jwt(), 'session_id');
begin
    return (
        select coalesce(
            pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object(
                    'id', o.id, 'user_agent', o.user_agent, 'created_at', o.created_at, 'last_used_at', o.last_used_at, 'ends_at', o.ends_at,
                    'is_current', o.is_current
                ) order by o.is_current desc, o.last_used_at desc, o.id
            ), '[]'
        )
        from (
            select
                s.id, s.user_agent, s.created_at, s.id = v_current as is_current,
                -- Stored in UTC, without saying so.
                greatest(s.created_at, s.refreshed_at at time zone 'UTC') as last_used_at,
                private.session_ends_at(s.created_at, s.refreshed_at, s.not_after) as ends_at
            from auth.sessions as s
            where s.user_id = v_user_id
                and private.session_ends_at(s.created_at, s.refreshed_at, s.not_after) > pg_catalog.clock_timestamp()
            order by is_current desc, last_used_at desc, s.id
            limit 50
        ) as o
    );
end
$$;
comment on function public.get_my_sessions() is
'The caller''s sessions, the current one first, then the 50 used last: device as the browser names itself, sign-in, last refresh, end when it is not used again.';
grant execute on function public.get_my_sessions() to authenticated;

create function public.end_session(p_session_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
begin
    delete from auth.sessions as s where s.id = p_session_id and s.user_id = v_member.user_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'This session has already ended.');
    end if;
    perform private.audit(
        'member:' || v_member.user_id, 'member.session_ended', 'profile', v_member.id, pg_catalog.jsonb_build_object('session', p_session_id)
    );
    return pg_catalog.jsonb_build_object('success', true);
end
$$;
comment on function public.end_session(uuid) is 'Ends one of the caller''s sessions. Errors: not_found.';
grant execute on function public.end_session(uuid) to authenticated;

create function public.end_other_sessions() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
    v_current uuid := private.uuid_claim(auth.jwt(), 'session_id');
    v_ended integer;
begin
    delete from auth.sessions as s where s.user_id = v_member.user_id and s.id is distinct from v_current;
    get diagnostics v_ended = row_count;
    if v_ended > 0 then
        perform private.audit(
            'member:' || v_member.user_id, 'member.sessions_ended', 'profile', v_member.id, pg_catalog.jsonb_build_object('ended', v_ended)
        );
    end if;
    return pg_catalog.jsonb_build_object('ended', v_ended);
end
$$;
comment on function public.end_other_sessions() is 'Ends every session of the caller but the current one; returns how many.';
grant execute on function public.end_other_sessions() to authenticated;

create function public.start_factor_removal(p_profile_id uuid, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
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
        'admin:' || v_admin.id, 'member.factors_removed', 'profile', p_profile_id,
        pg_catalog.jsonb_build_object('reason', v_reason) || private.member_entry(p_profile_id, array['hold_until'])
    );
    return pg_catalog.jsonb_build_object('user_id', v_user);
end
$$;
comment on function public.start_factor_removal(uuid, text) is
'Super admin: ends a member''s sessions, holds withdrawals for a day and writes an audit row, before the auth service deletes the factors. Errors: forbidden, not_found, reason_required, reauthentication_needed.';
grant execute on function public.start_factor_removal(uuid, text) to platform_admin;
