-- Operator settings and the five packages. They are rows, not constants, so that screens, rules and the disclosure
-- read the same values. Change them only through public.change_setting(), which validates the type and writes an
-- audit row.
-- Packages: specification S2. Demo mode and readiness: specification S21.

create table private.settings (
    key text primary key check (key ~ '\A[a-z][a-z0-9_.]{1,62}\Z'),
    value jsonb not null,
    kind text not null check (kind in ('text', 'integer', 'boolean', 'list', 'time', 'amount')),
    minimum bigint,
    maximum bigint,
    is_public boolean not null default false,
    description text not null,
    updated_at timestamptz not null default now(),
    updated_by uuid,
    needs_proof boolean not null default false,
    revision bigint not null default 1
);
comment on table private.settings is 'Operator settings. minimum and maximum bound an integer or an amount (dollars as text), or the length of a text or list.';
comment on column private.settings.revision is 'Number of changes, whoever made them. The entries of the audit log say it.';
comment on column private.settings.needs_proof is 'It decides where money or data go: to change it, an administrator signs in again.';
alter table private.settings enable row level security;

insert into private.settings (key, value, kind, minimum, maximum, is_public, description) values
('product.name', '"Harborline"', 'text', 1, 60, true, 'Name shown in titles and emails'),
('demo', 'true', 'boolean', null, null, true, 'No real money is accepted. Ends once, through readiness'),
('demo.seeded', 'false', 'boolean', null, null, false, 'Sample data was loaded; such an installation never leaves demo mode'),
('support.name', '"Member support"', 'text', 1, 120, true, 'Who answers, wherever a text says "contact support"'),
('support.email', '"support@example.com"', 'text', 3, 255, true, 'Address of support'),
('support.url', 'null', 'text', 0, 500, true, 'Optional page of support'),
('operator.name', 'null', 'text', 1, 200, true, 'Legal name of the operator'),
('operator.address', 'null', 'text', 1, 500, true, 'Postal address of the operator'),
('operator.countries', '[]', 'list', 0, 250, true, 'Countries (ISO 3166 alpha-2) whose residents may sign up'),
-- The address with an all-zero payload: recognisable as a sample; nobody has its key.
('deposit.address', '"T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"', 'text', 34, 34, false, 'TRC20 address that members send deposits to'),
('alarm.webhook_url', 'null', 'text', 1, 500, false, 'Where alarms are sent as JSON, besides the emails about them. https. Unset: nowhere'),
('explorer.url', 'null', 'text', 1, 500, true, 'Block explorer''s page of a transaction, with {hash} for its hash. Unset: hashes are no links'),
('deposit.open', 'true', 'boolean', null, null, true, 'Members can send deposits. Off: they are told to send nothing, and see no address'),
('deposit.tolerance', '"5.00"', 'amount', 0, 10, false, 'Dollars by which a deposit may differ from what arrived; a tenth of it at most'),
('deposit.pending_limit', '5', 'integer', 1, 100, true, 'Deposits of one member that may wait for review'),
('review.due_hours', '48', 'integer', 1, 720, true, 'Hours within which a withdrawal is decided'),
('wallet.strict', 'false', 'boolean', null, null, false, 'Refuse a wallet address that is no TRC20 address instead of warning'),
('mail.ready', 'false', 'boolean', null, null, false, 'Outgoing email was tested'),
('mail.server', 'null', 'text', 1, 300, false, 'Mail server in use, as the worker reports it'),
('site.url', 'null', 'text', 1, 300, false, 'Address of the site, as the worker reports it'),
('terms.text', 'null', 'text', 1, 100000, true, 'Terms of use'),
('terms.version', 'null', 'text', 1, 40, true, 'Version of the terms'),
('terms.published_at', 'null', 'time', null, null, true, 'When the terms were published'),
('risk.text', 'null', 'text', 1, 20000, true, 'Risk notice'),
('risk.version', 'null', 'text', 1, 40, true, 'Version of the risk notice'),
('risk.published_at', 'null', 'time', null, null, true, 'When the risk notice was published');

update private.settings set needs_proof = true
where key in ('alarm.webhook_url', 'deposit.address', 'deposit.tolerance', 'explorer.url', 'support.email', 'support.url');

create table private.packages (
    value public.usd primary key check (value between 1 and private.largest_amount() and value = trunc(value)),
    label text not null unique,
    pairing_percent integer not null check (pairing_percent between 1 and 50),
    value_cents integer generated always as ((value * 100)::integer) stored unique
);
comment on table private.packages is
'Package sizes and the pairing rate of a pair owner with that package. At most 50 percent, so a pair always leaves the company half; whole dollars and percents, so no amount is rounded.';
alter table private.packages enable row level security;

insert into private.packages (value, label, pairing_percent) values
(50, 'Starter', 10),
(100, 'Basic', 20),
(250, 'Standard', 30),
(500, 'Premium', 40),
(1000, 'VIP Package', 50);

create function private.setting(p_key text) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (select s.value from private.settings as s where s.key = p_key);
end
$$;
comment on function private.setting(text) is 'A setting as JSON; null when it does not exist.';

create function private.setting_text(p_key text) returns text
language plpgsql stable set search_path = '' as $$
begin
    return (select s.value #>> '{}' from private.settings as s where s.key = p_key);
end
$$;
comment on function private.setting_text(text) is 'A setting as text; null when it is unset.';

create function private.is_demo() returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return coalesce(private.setting_text('demo')::boolean, true);
end
$$;
comment on function private.is_demo() is 'Whether the installation is in demo mode: no real money is accepted.';

-- Shown an address that nobody entered in the panel, members would send their money there.
create function private.are_deposits_open() returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return private.setting_text('deposit.open')::boolean and not exists (
        select 1 from private.alarms as a
        where a.kind = 'ledger_violation' and a.object = 'I52 deposit.address' and a.ended_at is null and a.acknowledged_at is null
    );
end
$$;
comment on function private.are_deposits_open() is
'Whether members may send deposits: the operator takes them, and the deposit address is the one that the audit log says.';

create function private.check_setting(p_key text, p_value jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
    v_row private.settings;
    v_size numeric;
    v_ok boolean;
begin
    select * into v_row from private.settings as s where s.key = p_key;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such setting.');
    end if;
    v_ok := p_value is not null and case v_row.kind
        when 'text' then pg_catalog.jsonb_typeof(p_value) in ('string', 'null')
        when 'time' then pg_catalog.jsonb_typeof(p_value) in ('string', 'null')
        when 'integer' then pg_catalog.jsonb_typeof(p_value) = 'number' and p_value #>> '{}' ~ '\A-?[0-9]{1,15}\Z'
        when 'boolean' then pg_catalog.jsonb_typeof(p_value) = 'boolean'
        when 'amount' then pg_catalog.jsonb_typeof(p_value) = 'string' and p_value #>> '{}' ~ '\A[0-9]{1,8}(\.[0-9]{1,2})?\Z'
        when 'list' then pg_catalog.jsonb_typeof(p_value) = 'array'
    end;
    if not v_ok then
        perform private.raise_error(
            400, 'invalid_setting', pg_catalog.format(
                case v_row.kind when 'amount' then '%s must be an amount with at most two decimals, such as "5.00".' else '%s must be of type %s.' end,
                p_key, v_row.kind
            )
        );
    end if;
    v_size := case
        when pg_catalog.jsonb_typeof(p_value) = 'null' then null
        when v_row.kind in ('integer', 'amount') then (p_value #>> '{}')::numeric
        when v_row.kind = 'text' then pg_catalog.length(p_value #>> '{}')
        when v_row.kind = 'list' then pg_catalog.jsonb_array_length(p_value)
    end;
    if v_size < v_row.minimum or v_size > v_row.maximum then
        perform private.raise_error(400, 'invalid_setting', pg_catalog.format('%s must be from %s to %s.', p_key, v_row.minimum, v_row.maximum));
    end if;
    if p_key = 'deposit.address' and not private.is_trc20_address(p_value #>> '{}') then
        perform private.raise_error(400, 'invalid_setting', 'This is not a TRC20 address. Check it character by character.');
    end if;
    -- A line break in a name would begin another header of a mail, or another line of a log.
    if v_row.kind = 'text' and p_key not in ('terms.text', 'risk.text', 'operator.address') and p_value #>> '{}' ~ '[\u0001-\u001f\u007f-\u009f\u2028\u2029]' then
        perform private.raise_error(400, 'invalid_setting', pg_catalog.format('%s must be one line.', p_key));
    end if;
    -- Shown as links: nothing that could close an attribute or begin another scheme, and one place for the hash.
    if p_key = 'support.url' and not p_value #>> '{}' ~ '\A(https://[a-zA-Z0-9.-]+(:[0-9]+)?(/[^\s"''<>{}\\]*)?)?\Z' then
        perform private.raise_error(400, 'invalid_setting', 'Enter an https address.');
    end if;
    if p_key = 'explorer.url' and not p_value #>> '{}' ~ '\Ahttps://[a-zA-Z0-9.-]+(:[0-9]+)?/[^\s"''<>{}\\]*\{hash\}[^\s"''<>{}\\]*\Z' then
        perform private.raise_error(400, 'invalid_setting', 'Enter an https address with {hash} in place of the transaction hash.');
    end if;
    -- Where the address leads is looked at by the worker, whenever it sends.
    if p_key = 'alarm.webhook_url' and not (
        p_value #>> '{}' ~ '\Ahttps://[a-zA-Z0-9.-]+(:[0-9]{1,5})?(/\S*)?\Z'
        or private.is_demo() and p_value #>> '{}' ~ '\Ahttp://(127\.0\.0\.1|localhost)(:[0-9]{1,5})?(/\S*)?\Z'
    ) then
        perform private.raise_error(400, 'invalid_setting', 'Enter an https address. In demo mode http on this machine is taken too.');
    end if;
end
$$;
comment on function private.check_setting(text, jsonb) is 'Validates the type and limits of a setting. Errors: not_found, invalid_setting.';

create function private.settings_validate() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_allowed private.settings := old;
begin
    -- Before a value is checked.
    if private.is_restoring_rows() then
        return new;
    end if;
    v_allowed.value := new.value;
    v_allowed.description := new.description;
    v_allowed.updated_at := new.updated_at;
    v_allowed.updated_by := new.updated_by;
    v_allowed.revision := new.revision;
    if new is distinct from v_allowed then
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
$$;
comment on function private.settings_validate() is 'Trigger: validates type and limits; demo mode cannot be switched back on.';

create trigger _100_validate before update on private.settings for each row execute function private.settings_validate();

create function private.settings_count_revision() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    new.revision := 1 + greatest(old.revision, (
        select max(private.state_revision(l.payload)) from private.audit_log as l
        where l.action = 'setting.changed' and l.payload ->> 'key' = old.key
    ));
    return new;
end
$$;
comment on function private.settings_count_revision() is 'Trigger: counts a change of what the audit log must say of a setting.';

create trigger _200_count_revision before update on private.settings for each row
when (
    old.value is distinct from new.value
    or old.kind is distinct from new.kind
    or old.minimum is distinct from new.minimum
    or old.maximum is distinct from new.maximum
    or old.is_public is distinct from new.is_public
    or old.needs_proof is distinct from new.needs_proof
    or old.revision is distinct from new.revision
) execute function private.settings_count_revision();

create function private.setting_state(p_setting private.settings) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'revision', (p_setting).revision, 'value', private.digest_text((p_setting).value::text),
        'limits', pg_catalog.jsonb_build_array(
            (p_setting).kind, (p_setting).minimum, (p_setting).maximum, (p_setting).is_public, (p_setting).needs_proof, (p_setting).description
        )
    )
$$;
comment on function private.setting_state(private.settings) is 'What the audit log must say of a setting.';

create function private.audit_setting(p_actor text, p_key text, p_before jsonb default null) returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform private.audit(p_actor, 'setting.changed', null, null, (
        select pg_catalog.jsonb_strip_nulls(
            pg_catalog.jsonb_build_object('key', p_key, 'before', pg_catalog.left(p_before::text, 500), 'after', pg_catalog.left(s.value::text, 500))
        ) || pg_catalog.jsonb_build_object('state', private.setting_state(s))
        from private.settings as s where s.key = p_key
    ));
end
$$;
comment on function private.audit_setting(text, text, jsonb) is
'Audits a setting as it is now, with the first 500 characters of its value, and the digest of all of it.';

-- While a setting is not what the audit log says, decisions wait that it governs, and no others.
create function private.governing_settings(p_noun text) returns text[]
language sql immutable set search_path = '' as $$
    select case p_noun
        when 'deposit' then array['demo', 'deposit.address', 'deposit.open', 'deposit.tolerance', 'explorer.url']
        when 'withdrawal' then array['explorer.url', 'wallet.strict']
        else '{}'
    end
$$;
comment on function private.governing_settings(text) is
'The settings that decide where the money of a deposit or a withdrawal goes, or how it is looked at.';

-- Notify administrators of a changed deposit address: whoever changes it receives every deposit from then on. Only a
-- super_admin may change it, with an audit row and a notice (public.change_setting). This trigger also e-mails every
-- administrator, whatever changed the row. Every minute the worker compares the displayed address with the last
-- audited one and with one configured outside the database.
create function private.settings_mail_deposit_address() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_alarm_id uuid;
begin
    perform private.mail_administrators(
        'deposit_address_changed', 'The deposit address was changed',
        pg_catalog.format(
            E'It was %s.\nIt is now %s.\nMembers send deposits to the new address from now on. If this was not agreed, change it back immediately.',
            old.value #>> '{}', new.value #>> '{}'
        ), '/admin/readiness'
    );
    perform private.raise_alarm(
        'deposit_address', 'changed', null, pg_catalog.jsonb_build_object('from', old.value #>> '{}', 'to', new.value #>> '{}')
    );
    update private.alarms as a set mailed_at = pg_catalog.clock_timestamp()
    where a.kind = 'deposit_address' and a.object = 'changed' and a.ended_at is null
    returning a.id into v_alarm_id;
    perform private.queue_webhook('The deposit address was changed', array[v_alarm_id]);
    return null;
end
$$;
comment on function private.settings_mail_deposit_address() is
'Trigger: e-mails every administrator of a changed deposit address, whatever changed it, and raises an alarm.';
create trigger _500_mail_deposit_address after update of value on private.settings for each row
when (new.key = 'deposit.address' and old.value is distinct from new.value) execute function private.settings_mail_deposit_address();

create function jobs.check_deposit_address(p_expected text default null) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_shown text := private.setting_text('deposit.address');
    v_recorded text := coalesce(
        (
            select (l.payload ->> 'after')::jsonb #>> '{}' from private.audit_log as l
            where l.action = 'setting.changed' and l.payload ->> 'key' = 'deposit.address' order by l.id desc limit 1
        ),
        'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb'
    );
    v_discrepancies jsonb := '{}'::jsonb;
    v_alarm_id uuid;
begin
    if v_shown is distinct from v_recorded then
        v_discrepancies := v_discrepancies || pg_catalog.jsonb_build_object('recorded', v_recorded);
    end if;
    if v_shown is distinct from coalesce(p_expected, v_shown) then
        v_discrepancies := v_discrepancies || pg_catalog.jsonb_build_object('expected', p_expected);
    end if;
    if v_discrepancies = '{}' then
        perform private.end_alarm('deposit_address', 'unexpected');
        return v_discrepancies;
    end if;
    v_discrepancies := v_discrepancies || pg_catalog.jsonb_build_object('shown', v_shown);
    if private.raise_alarm('deposit_address', 'unexpected', null, v_discrepancies) then
        update private.alarms as a set mailed_at = pg_catalog.clock_timestamp()
        where a.kind = 'deposit_address' and a.object = 'unexpected' and a.ended_at is null
        returning a.id into v_alarm_id;
        perform private.queue_webhook('The deposit address is not the expected one', array[v_alarm_id]);
        perform private.notify_administrators(
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
    return v_discrepancies;
end
$$;
comment on function jobs.check_deposit_address(text) is
'Compares the displayed deposit address with the last audited one and with one configured outside the database; returns {} or the differences, raises or ends the alarm, and notifies all administrators at once.';
grant execute on function jobs.check_deposit_address(text) to worker;

create function public.list_settings() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin(array['super_admin']::public.admin_role[]);
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'key', s.key, 'value', s.value, 'kind', s.kind, 'minimum', s.minimum, 'maximum', s.maximum,
                'description', s.description, 'updated_at', s.updated_at,
                'updated_by_name', (select coalesce(a.full_name, a.email) from private.admin_users as a where a.id = s.updated_by)
            ) order by s.key
        )
        from private.settings as s
    );
end
$$;
comment on function public.list_settings() is 'All settings with type and limits. Super admin. Errors: forbidden, session_ended.';
grant execute on function public.list_settings() to platform_admin;

-- The right value is the one way back for all of a setting: what nobody types follows from its last entry.
create function private.restore_limits(p_key text, p_value jsonb) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.settings as s (key, value, kind, minimum, maximum, is_public, needs_proof, description, revision)
    select
        p_key, coalesce(p_value, 'null'), l.limits ->> 0, (l.limits ->> 1)::bigint, (l.limits ->> 2)::bigint, (l.limits ->> 3)::boolean,
        (l.limits ->> 4)::boolean, l.limits ->> 5, l.revision
    from (
        select a.payload #> '{state,limits}' as limits, private.state_revision(a.payload) as revision
        from private.audit_log as a
        where a.action collate "C" = 'setting.changed' and a.payload ->> 'key' = p_key and private.state_revision(a.payload) is not null
        order by private.state_revision(a.payload) desc, a.id desc limit 1
    ) as l
    on conflict (key) do update set
        kind = excluded.kind, minimum = excluded.minimum, maximum = excluded.maximum, is_public = excluded.is_public,
        needs_proof = excluded.needs_proof, description = excluded.description
    where (s.kind, s.minimum, s.maximum, s.is_public, s.needs_proof, s.description)
        is distinct from (excluded.kind, excluded.minimum, excluded.maximum, excluded.is_public, excluded.needs_proof, excluded.description);
end
$$;
comment on function private.restore_limits(text, jsonb) is
'Gives a setting the limits that its last entry of the audit log says; one that is gone is made again, with this value. Call with app.repair set to rows.';

create function public.change_setting(p_key text, p_value jsonb) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_before jsonb;
    v_setting private.settings;
begin
    if p_key in ('demo', 'demo.seeded', 'mail.ready', 'mail.server', 'site.url') then
        perform private.raise_error(403, 'forbidden', 'This changes through readiness only.');
    end if;
    perform pg_catalog.set_config('app.repair', 'rows', true);
    perform private.restore_limits(p_key, p_value);
    perform pg_catalog.set_config('app.repair', '', true);
    perform private.check_setting(p_key, p_value);
    if (select s.needs_proof from private.settings as s where s.key = p_key) then
        perform private.require_fresh_admin_proof('change ' || p_key);
    end if;
    select s.value into v_before from private.settings as s where s.key = p_key for no key update;
    update private.settings as s set
        value = p_value, updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id, revision = s.revision + 1
    where s.key = p_key returning s.* into v_setting;
    if p_key = 'deposit.address' and v_before is distinct from p_value then
        perform private.notify_administrators(
            'deposit_address_changed', 'The deposit address was changed',
            pg_catalog.format('%s set it to %s. If this was not agreed, sign in and change it back immediately.', coalesce(v_admin.full_name, v_admin.email), p_value #>> '{}'),
            '/admin/readiness'
        );
    end if;
    perform private.audit_setting('admin:' || v_admin.id, p_key, v_before);
    return pg_catalog.jsonb_build_object('success', true, 'setting', pg_catalog.jsonb_build_object('key', v_setting.key, 'value', v_setting.value))
        || private.audit_entries();
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function public.change_setting(text, jsonb) is
'Sets one setting within its type and limits; notifies all administrators of a new deposit address. Super admin, who signs in again for one that needs_proof. Errors: forbidden, not_found, invalid_setting, reauthentication_needed, try_again.';
grant execute on function public.change_setting(text, jsonb) to platform_admin;

-- Public information about the installation.

create function private.legal_document(p_name text) returns jsonb
language sql stable set search_path = '' as $$
    select case when private.setting_text(p_name || '.text') is not null then
        pg_catalog.jsonb_build_object(
            'text', private.setting(p_name || '.text'),
            'version', private.setting(p_name || '.version'),
            'published_at', private.setting(p_name || '.published_at')
        )
    end
$$;
comment on function private.legal_document(text) is 'Terms or risk notice as JSON; null while unset.';

create function public.get_platform() returns jsonb
language sql stable security definer set search_path = '' as $$
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
            'min_withdrawal', private.money(100), 'min_deposit', private.money(1), 'max_amount', private.money(private.largest_amount()),
            'receipt_max_bytes', (select b.file_size_limit from storage.buckets as b where b.id = 'receipts')
        ),
        'review_due_hours', private.setting('review.due_hours'),
        'deposits_open', private.are_deposits_open(),
        'explorer_url', private.setting('explorer.url'),
        'terms', private.legal_document('terms'),
        'risk', private.legal_document('risk')
    )
$$;
comment on function public.get_platform() is
'Name, support, operator, packages, rates, limits, the block explorer, terms and risk notice, whether deposits are open and whether this is a demo. Open to anonymous clients.';
grant execute on function public.get_platform() to anon, authenticated, platform_admin;

create function edge.web_config() returns jsonb
language sql stable security definer set search_path = '' as $$
    select public.get_platform() - 'terms' - 'risk'
$$;
comment on function edge.web_config() is 'What the web app shows at its first paint: get_platform() without the long texts.';
grant execute on function edge.web_config() to edge_functions;
