-- What an operator may set, and the five packages. Rows instead of constants, so that the screens, the rules
-- and the disclosure read the same figures. Every change goes through private.change_setting(), which checks
-- the type and leaves an audit row.

create table private.settings (
    key text primary key check (key ~ '\A[a-z][a-z0-9_.]{1,62}\Z'),
    value jsonb not null,
    kind text not null check (kind in ('text', 'integer', 'boolean', 'list', 'time')),
    minimum bigint,
    maximum bigint,
    is_public boolean not null default false,
    description text not null,
    updated_at timestamptz not null default now(),
    updated_by uuid
);
alter table private.settings enable row level security;
comment on table private.settings is 'Operator values. minimum and maximum bound an integer, or the length of a text or list.';

create table private.packages (
    value public.usd primary key check (value between 1 and 10000000 and value = trunc(value)),
    label text not null unique,
    pairing_percent integer not null check (pairing_percent between 1 and 50),
    value_cents integer generated always as ((value * 100)::integer) stored unique
);
alter table private.packages enable row level security;
comment on table private.packages is 'Package sizes with the pairing rate of their owner. At most 50 percent, so a pair always leaves the company half; whole dollars and whole percents, so that nothing is ever rounded.';

insert into private.packages (value, label, pairing_percent) values
(50, 'Starter', 10),
(100, 'Basic', 20),
(250, 'Standard', 30),
(500, 'Premium', 40),
(1000, 'VIP Package', 50);

insert into private.settings (key, value, kind, minimum, maximum, is_public, description) values
('product.name', '"Harborline"', 'text', 1, 60, true, 'Name shown in titles and mails'),
('demo', 'true', 'boolean', null, null, true, 'No real money is accepted. Ends once, through readiness'),
('demo.seeded', 'false', 'boolean', null, null, false, 'Sample data was loaded; such an installation never leaves demo mode'),
('support.name', '"Member support"', 'text', 1, 120, true, 'Who answers, wherever a text says "contact support"'),
('support.email', '"support@example.com"', 'text', 3, 255, true, 'Address of support'),
('support.url', 'null', 'text', 0, 500, true, 'Optional page of support'),
('operator.name', 'null', 'text', 1, 200, true, 'Legal name of the operator'),
('operator.address', 'null', 'text', 1, 500, true, 'Postal address of the operator'),
('operator.countries', '[]', 'list', 0, 250, true, 'Countries (ISO 3166 alpha-2) whose residents may sign up'),
-- The address of no key (all zero): recognisable as a sample, accepted by no wallet of anybody.
('deposit.address', '"T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"', 'text', 34, 34, false, 'TRC20 address that members send deposits to'),
('deposit.pending_limit', '5', 'integer', 1, 100, true, 'Deposits of one member that may wait for review'),
('review.due_hours', '48', 'integer', 1, 720, true, 'Hours within which a withdrawal is decided'),
('wallet.strict', 'false', 'boolean', null, null, false, 'Refuse a wallet address that is no TRC20 address instead of warning'),
('mail.ready', 'false', 'boolean', null, null, false, 'Outgoing e-mail was tested'),
('terms.text', 'null', 'text', 1, 100000, true, 'Terms of use'),
('terms.version', 'null', 'text', 1, 40, true, 'Version of the terms'),
('terms.published_at', 'null', 'time', null, null, true, 'When the terms were published'),
('risk.text', 'null', 'text', 1, 20000, true, 'Risk notice'),
('risk.version', 'null', 'text', 1, 40, true, 'Version of the risk notice'),
('risk.published_at', 'null', 'time', null, null, true, 'When the risk notice was published');

create function private.setting(p_key text) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (select s.value from private.settings as s where s.key = p_key);
end
$$;
comment on function private.setting(text) is 'Value of a setting as JSON; null when there is no such setting.';

create function private.setting_text(p_key text) returns text
language plpgsql stable set search_path = '' as $$
begin
    return (select s.value #>> '{}' from private.settings as s where s.key = p_key);
end
$$;
comment on function private.setting_text(text) is 'Value of a setting as text; null when it is not set.';

create function private.is_demo() returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return (select coalesce(private.setting_text('demo')::boolean, true));
end
$$;
comment on function private.is_demo() is 'Whether the installation is in demo mode: no real money is accepted.';

create function private.clock() returns timestamptz
language plpgsql volatile set search_path = '' as $$
declare
    v_told timestamptz := nullif(pg_catalog.current_setting('app.demo_clock', true), '')::timestamptz;
begin
    if v_told is not null and private.is_demo() then
        return v_told;
    end if;
    return pg_catalog.clock_timestamp();
end
$$;
comment on function private.clock() is
'The time that rows are dated with. In demo mode the sample story may set app.demo_clock, which no API caller can; otherwise the database clock.';

create function private.wallet_ok(p_address text) returns boolean
language plpgsql immutable set search_path = '' as $$
declare
    c_alphabet constant text := '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
    v_number numeric := 0;
    v_bytes bytea := ''::bytea;
    v_digit integer;
begin
    if p_address is null or p_address !~ '\AT[1-9A-HJ-NP-Za-km-z]{33}\Z' then
        return false;
    end if;
    for i in 1..34 loop
        v_digit := pg_catalog.strpos(c_alphabet, pg_catalog.substr(p_address, i, 1)) - 1;
        v_number := v_number * 58 + v_digit;
    end loop;
    for i in 1..25 loop
        v_bytes := pg_catalog.set_byte('\x00'::bytea, 0, pg_catalog.mod(v_number, 256)::integer) || v_bytes;
        v_number := pg_catalog.div(v_number, 256);
    end loop;
    return v_number = 0
        and pg_catalog.get_byte(v_bytes, 0) = 65
        and pg_catalog.substr(pg_catalog.sha256(pg_catalog.sha256(pg_catalog.substr(v_bytes, 1, 21))), 1, 4) = pg_catalog.substr(v_bytes, 22, 4);
end
$$;
comment on function private.wallet_ok(text) is 'Whether a text is a TRC20 address: 34 characters, base58check, version byte 0x41.';

create function private.check_setting(p_key text, p_value jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
    v_row private.settings;
    v_size bigint;
    v_ok boolean;
begin
    select * into v_row from private.settings as s where s.key = p_key;
    if not found then
        perform private.refuse(404, 'not_found', 'There is no such setting.');
    end if;
    v_ok := p_value is not null and case v_row.kind
        when 'text' then pg_catalog.jsonb_typeof(p_value) in ('string', 'null')
        when 'time' then pg_catalog.jsonb_typeof(p_value) in ('string', 'null')
        when 'integer' then pg_catalog.jsonb_typeof(p_value) = 'number' and p_value #>> '{}' ~ '\A-?[0-9]{1,15}\Z'
        when 'boolean' then pg_catalog.jsonb_typeof(p_value) = 'boolean'
        when 'list' then pg_catalog.jsonb_typeof(p_value) = 'array'
    end;
    if not v_ok then
        perform private.refuse(400, 'invalid_setting', pg_catalog.format('%s must be of type %s.', p_key, v_row.kind));
    end if;
    v_size := case
        when pg_catalog.jsonb_typeof(p_value) = 'null' then null
        when v_row.kind = 'integer' then (p_value #>> '{}')::bigint
        when v_row.kind = 'text' then pg_catalog.length(p_value #>> '{}')
        when v_row.kind = 'list' then pg_catalog.jsonb_array_length(p_value)
    end;
    if v_size < v_row.minimum or v_size > v_row.maximum then
        perform private.refuse(400, 'invalid_setting', pg_catalog.format('%s must be from %s to %s.', p_key, v_row.minimum, v_row.maximum));
    end if;
    if p_key = 'deposit.address' and not private.wallet_ok(p_value #>> '{}') then
        perform private.refuse(400, 'invalid_setting', 'This is not a TRC20 address. Check it character by character.');
    end if;
end
$$;
comment on function private.check_setting(text, jsonb) is 'Type and limits of a setting. Errors: not_found, invalid_setting.';

create function private.settings_guard() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.key, new.kind, new.minimum, new.maximum) is distinct from (old.key, old.kind, old.minimum, old.maximum) then
        perform private.refuse(403, 'forbidden', 'Only the value of a setting can change.');
    end if;
    if new.key = 'demo' and new.value = 'true' and old.value = 'false' then
        perform private.refuse(409, 'demo_is_over', 'Demo mode cannot be switched back on.');
    end if;
    if new.key = 'demo.seeded' and new.value = 'false' and old.value = 'true' then
        perform private.refuse(409, 'demo_is_over', 'Sample data was loaded here; that cannot be undone.');
    end if;
    perform private.check_setting(new.key, new.value);
    return new;
end
$$;
comment on function private.settings_guard() is 'Keeps type and limits; demo mode ends once.';
create trigger _100_guard before update on private.settings for each row execute function private.settings_guard();
