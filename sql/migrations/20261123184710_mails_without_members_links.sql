-- A display name that holds an address is not mailed, since anybody can sign up a stranger; a changed address frees what
-- sign-ups of it reserved.
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION hooks.mail_data (
  event jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_referrer private.profiles := private.referrer_by_code(pg_catalog.btrim(event #>> '{user,user_metadata,referrer_id}'));
begin
    -- Anybody can sign up a stranger's address: no text of a member's own becomes a link in a mail to it.
    return pg_catalog.jsonb_build_object(
        'referrer_display_name', case
            when pg_catalog.normalize(v_referrer.display_name, 'NFKC') ~ '[/:@]|[[:alnum:]]\.[[:alpha:]]{2}' then v_referrer.username
            else v_referrer.display_name
        end,
        'referrer_username', v_referrer.username
    );
end
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
            new.id, 'email_changed', 'Your e-mail address was changed',
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

COMMENT ON FUNCTION "hooks"."mail_data"(jsonb) IS 'What a mail about a sign-up says beyond its metadata: the names of the referrer, null when there is none; the username twice when the display name holds an address.';

COMMENT ON FUNCTION "private"."users_sync_email"() IS 'Trigger: copies the confirmed sign-in address to the profile, frees what its sign-ups reserved and holds withdrawals for a day.';
