-- Who changes the deposit address has every deposit from then on. That a super admin alone may change it, with a row
-- of the trail and a notice, is 0750. Here every administrator is told by mail too, also when the row was changed past
-- that function, and the worker asks each minute whether the address shown is the last one on the record and the one
-- that the operator wrote down where this database cannot reach.

create index audit_log_settings_idx on private.audit_log (seq) where action = 'setting.changed';
comment on index private.audit_log_settings_idx is 'Few rows of many: the last change of a setting, asked for each minute.';

create function private.mail_administrators(p_template text, p_title text, p_body text, p_link text) returns void
language sql volatile set search_path = '' as $$
    insert into private.outbox (template, recipient, data)
    select p_template, a.email, pg_catalog.jsonb_build_object('display_name', a.full_name, 'title', p_title, 'body', p_body, 'link', p_link)
    from private.admin_users as a where a.is_active
$$;
comment on function private.mail_administrators(text, text, text, text) is 'A mail to every active administrator, if this transaction commits.';

create function private.deposit_address_changed() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.mail_administrators(
        'deposit_address_changed', 'The deposit address was changed',
        pg_catalog.format(
            E'It was %s.\nIt is now %s.\nMembers send deposits to the new address from now on. If this was not agreed, change it back at once.',
            old.value #>> '{}', new.value #>> '{}'
        ), '/admin/readiness'
    );
    return null;
end
$$;
comment on function private.deposit_address_changed() is 'Mails every administrator, whatever changed the address.';
create trigger _500_deposit_address after update of value on private.settings for each row
when (new.key = 'deposit.address' and old.value is distinct from new.value) execute function private.deposit_address_changed();

create function jobs.check_deposit_address(p_expected text default null) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_shown text := private.setting_text('deposit.address');
    v_recorded text := coalesce(
        (
            select (l.payload ->> 'after')::jsonb #>> '{}' from private.audit_log as l
            where l.action = 'setting.changed' and l.payload ->> 'key' = 'deposit.address' order by l.seq desc limit 1
        ),
        'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb'
    );
    v_wrong jsonb := '{}'::jsonb;
begin
    if v_shown is distinct from v_recorded then
        v_wrong := v_wrong || pg_catalog.jsonb_build_object('recorded', v_recorded);
    end if;
    if v_shown is distinct from coalesce(p_expected, v_shown) then
        v_wrong := v_wrong || pg_catalog.jsonb_build_object('expected', p_expected);
    end if;
    if v_wrong = '{}' then
        return v_wrong;
    end if;
    if not exists (
        select 1 from private.admin_notices as n
        where n.kind = 'deposit_address_unexpected' and n.created_at > pg_catalog.clock_timestamp() - interval '1 hour'
    ) then
        perform private.tell_administrators(
            'deposit_address_unexpected', 'The deposit address is not the expected one',
            pg_catalog.format('Members are shown %s. Expected is %s.', v_shown, coalesce(p_expected, v_recorded)), '/admin/readiness'
        );
        perform private.mail_administrators(
            'deposit_address_unexpected', 'The deposit address is not the expected one',
            pg_catalog.format(
                E'Members are shown %s.\nExpected is %s.\nFind out who changed it before another deposit is sent.', v_shown, coalesce(p_expected, v_recorded)
            ), '/admin/readiness'
        );
    end if;
    return v_wrong || pg_catalog.jsonb_build_object('shown', v_shown);
end
$$;
comment on function jobs.check_deposit_address(text) is
'Compares the address shown with the last one on the record and with one kept elsewhere; answers {} or what differs, and tells all administrators once an hour.';
grant execute on function jobs.check_deposit_address(text) to worker;
