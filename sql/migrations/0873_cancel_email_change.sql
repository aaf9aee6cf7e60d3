-- A change of the sign-in address waits for its links. Who mistyped the new address, or did not ask, takes it back:
-- the links stop working at once, and the present address stays. The auth service has no request for this; the rows
-- are its own, of which this role may touch exactly these columns (supabase/bootstrap).

create function public.cancel_email_change() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.reading_member()).user_id;
begin
    update auth.users as u set
        email_change = '', email_change_token_new = '', email_change_token_current = '', email_change_confirm_status = 0
    where u.id = v_user_id and u.email_change <> '';
    if not found then
        perform private.refuse(404, 'not_found', 'No change of your e-mail address is waiting.');
    end if;
    delete from auth.one_time_tokens as t
    where t.user_id = v_user_id and t.token_type in ('email_change_token_new', 'email_change_token_current');
    return pg_catalog.jsonb_build_object('success', true);
end
$$;
comment on function public.cancel_email_change() is
'Takes the caller''s waiting change of e-mail address back; its links open nothing any more. Errors: not_found.';
grant execute on function public.cancel_email_change() to authenticated;
