-- Generated from sql/schema by `make baseline`; never edit it. A change edits the schema file of its noun,
-- and `make migration` writes the next file of this folder.

set check_function_bodies = off;

-- Create the roles and revoke every default privilege. This is the first file, because everything created later
-- inherits the revoked defaults. A function is not callable because it exists: each states who may execute it, and
-- each table which columns may be written.

-- Revoke globally: with "in schema public" PostgreSQL revokes nothing.
alter default privileges revoke execute on functions from public;
-- Hosted Supabase grants its API roles every new object in schema public. Here each grant is explicit.
alter default privileges in schema public revoke all on tables from anon, authenticated, service_role;
alter default privileges in schema public revoke all on sequences from anon, authenticated, service_role;
alter default privileges in schema public revoke execute on functions from anon, authenticated, service_role;

do $$
begin
    -- Roles belong to the cluster: a second database in it finds them already created.
    if not exists (select 1 from pg_catalog.pg_roles where rolname = 'platform_admin') then
        create role platform_admin nologin noinherit;
    end if;
    if not exists (select 1 from pg_catalog.pg_roles where rolname = 'edge_functions') then
        create role edge_functions login noinherit;
    end if;
    if not exists (select 1 from pg_catalog.pg_roles where rolname = 'worker') then
        create role worker login noinherit;
    end if;
end
$$;

comment on role platform_admin is
'Role of a signed-in administrator, through PostgREST, functions or storage. pre_request.check_request() checks that the session is still valid.';
comment on role edge_functions is 'Login role of functions/edge. May switch to the caller''s role and call schema edge; owns nothing.';
comment on role worker is 'Login role of functions/worker. May call schema jobs; owns nothing.';

grant platform_admin to authenticator;
grant anon to edge_functions;
grant authenticated to edge_functions;
grant platform_admin to edge_functions;
grant platform_admin to supabase_storage_admin;

-- Schemas. private: tables and rules; no API role has USAGE, so nothing in it can be called from outside.
-- pre_request: the check before each request. hooks: called by the auth service. edge, jobs: the functions of the two
-- services.
create schema private;
create schema pre_request;
create schema hooks;
create schema edge;
create schema jobs;
comment on schema private is 'Tables and rules. No API role has USAGE.';
comment on schema pre_request is 'The check before each request of an API role.';
comment on schema hooks is 'Called by the auth service.';
comment on schema edge is 'Callable by role edge_functions only.';
comment on schema jobs is 'Callable by role worker only.';

grant usage on schema pre_request to anon, authenticated, platform_admin, service_role;
grant usage on schema hooks to supabase_auth_admin;
grant usage on schema edge to edge_functions;
grant usage on schema jobs to worker;
grant usage on schema public to anon, authenticated, platform_admin, service_role;

-- Timeouts must nest: lock 3 s < statement 8 s <= every client's timeout. supabase_auth_admin has no lock timeout:
-- confirming an e-mail address waits for the referrer's row instead of losing the profile.
alter role anon set statement_timeout = '8s';
alter role anon set lock_timeout = '3s';
alter role authenticated set statement_timeout = '8s';
alter role authenticated set lock_timeout = '3s';
alter role platform_admin set statement_timeout = '8s';
alter role platform_admin set lock_timeout = '3s';
alter role service_role set statement_timeout = '8s';
alter role service_role set lock_timeout = '3s';
alter role authenticator set idle_in_transaction_session_timeout = '10s';
alter role edge_functions set statement_timeout = '8s';
alter role edge_functions set lock_timeout = '3s';
alter role edge_functions set idle_in_transaction_session_timeout = '10s';
alter role worker set statement_timeout = '120s';
alter role worker set lock_timeout = '10s';
alter role worker set idle_in_transaction_session_timeout = '30s';

-- What every later file uses: the money type, the statuses, raising errors, locks, formatting of money and time,
-- pagination. Raise errors for clients only through private.raise_error(): PostgREST retries SQLSTATE 40001 for ever,
-- PTnnn puts text into a header, and a bare exception has no code to branch on.
-- Small functions that are called often are plpgsql, or SQL without a search_path: SQL with a fixed search_path is
-- parsed and planned at every call. In a list of members that was more than half of the time, once per row; on the
-- admin panel, once per figure.

create domain public.usd as numeric
constraint amount_has_at_most_two_decimals check (
    value is null or (value > '-Infinity'::numeric and value < 'Infinity'::numeric and scale(value) <= 2)
);
comment on domain public.usd is
'US dollars, exact. NaN sorts above Infinity, so the comparison rejects it; scale() reads the unrounded value.';

create type public.account_status as enum ('active', 'pending', 'suspended', 'disabled');
create type public.request_status as enum ('pending', 'approved', 'rejected');
create type public.bonus_type as enum ('referral', 'pairing', 'override');
create type public.transaction_type as enum ('deposit', 'withdrawal', 'bonus');
create type public.transaction_status as enum ('completed', 'pending', 'failed');
create type public.subscription_status as enum ('active', 'suspended', 'cancelled');
create type public.admin_role as enum ('super_admin', 'finance_admin', 'support_admin');

-- Errors, and the money lock.

create function private.raise_error(p_status integer, p_code text, p_message text, p_details text default null) returns void
language plpgsql volatile set search_path = '' as $$
begin
    raise sqlstate 'PGRST' using
        message = pg_catalog.json_build_object('code', p_code, 'message', p_message, 'details', p_details, 'hint', null)::text,
        detail = pg_catalog.json_build_object('status', p_status, 'headers', '{}'::pg_catalog.json)::text;
end
$$;
comment on function private.raise_error(integer, text, text, text) is
'Aborts the transaction with an HTTP status, a stable code and a message for people. sql/README.md lists the codes.';

create function private.reject_change() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    perform private.raise_error(403, 'append_only', pg_catalog.format('Rows of %s are kept as they are.', tg_table_name));
    return null;
end
$$;
comment on function private.reject_change() is 'Trigger: raises append_only, so that rows are never deleted, truncated or changed.';

-- The advisory locks, in the order in which they are taken; each ends with its transaction. Those with a second key
-- are one lock for each value of it. Row locks stand between: members by id after the money lock, before the audit
-- log's, which is always the last.
create function private.lock_key(p_name text) returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    case p_name
        -- A decision, a correction, a reconciliation, leaving demo mode: one at a time.
        when 'money' then return 42;
        -- One reconciliation of all bonuses at a time; whoever waited takes its result.
        when 'reconcile' then return 44;
        -- With an owner: how many receipts a member has.
        when 'receipts_of_owner' then return 45;
        -- With a name: using a receipt in a deposit, or deleting it.
        when 'receipt' then return 48;
        -- The roll-up of team totals.
        when 'networks' then return 46;
        -- The income disclosure is published by one.
        when 'income_disclosure' then return 47;
        -- With an email address: one login attempt on an administrator's account at a time.
        when 'login_to_account' then return 49;
        -- With a client address: one login attempt of an administrator from it at a time.
        when 'login_from_address' then return 50;
        -- The end of the audit chain.
        when 'audit_log' then return 43;
    end case;
end
$$;
comment on function private.lock_key(text) is 'First key of an advisory lock. An unknown name is an error: case_not_found.';

create function private.lock_money() returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('money'));
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_money() is
'Takes the money lock: one decision, correction or reconciliation at a time. Take it before any member row; requests, cancellations and sign-ups never take it. Errors: try_again.';

-- The principal.

create function private.my_role() returns text
language plpgsql stable set search_path = '' as $$
begin
    return (select pg_catalog.current_setting('role', true));
end
$$;
comment on function private.my_role() is 'API role of the request, also inside security definer functions. Null in tests and jobs.';

create function private.client_address() returns text
language sql stable set search_path = '' as $$
    select coalesce(nullif(pg_catalog.current_setting('request.headers', true), '')::pg_catalog.jsonb ->> 'x-real-ip', 'unknown')
$$;
comment on function private.client_address() is 'Client address, from the header that the gateway overwrites.';

-- Time.

create function private.clock() returns timestamptz
language plpgsql volatile set search_path = '' as $$
declare
    v_demo_time timestamptz := nullif(pg_catalog.current_setting('app.demo_clock', true), '')::timestamptz;
begin
    if v_demo_time is not null and private.is_demo() then
        return v_demo_time;
    end if;
    return pg_catalog.clock_timestamp();
end
$$;
comment on function private.clock() is
'The time stored in rows. In demo mode the seed may set app.demo_clock, which no API role can; otherwise clock_timestamp().';

create function private.relative_time(p_at timestamptz, p_now timestamptz) returns text
language sql immutable set search_path = '' as $$
    select case
        when s < 60 then 'just now'
        when s < 120 then '1 minute ago'
        when s < 3600 then pg_catalog.floor(s / 60)::text || ' minutes ago'
        when s < 7200 then '1 hour ago'
        when s < 86400 then pg_catalog.floor(s / 3600)::text || ' hours ago'
        when s < 172800 then '1 day ago'
        else pg_catalog.floor(s / 86400)::text || ' days ago'
    end
    from (select extract(epoch from p_now - p_at) as s) as span
$$;
comment on function private.relative_time(timestamptz, timestamptz) is 'Elapsed time in words: "2 minutes ago".';

create function private.chart_range(p_range text, p_oldest timestamptz, out first_day date, out last_day date, out bucket text)
language plpgsql stable set search_path = '' as $$
begin
    last_day := (pg_catalog.now() at time zone 'UTC')::date;
    case p_range
        when '30d' then
            first_day := last_day - 29;
            bucket := 'day';
        when '90d' then
            first_day := last_day - 89;
            bucket := 'week';
        when '12m' then
            first_day := (last_day - interval '1 year')::date + 1;
            bucket := 'month';
        when 'all' then
            first_day := least((p_oldest at time zone 'UTC')::date, last_day);
            bucket := case when last_day - first_day < 60 then 'day' when last_day - first_day < 200 then 'week' else 'month' end;
        else
            perform private.raise_error(400, 'invalid_range', 'Choose 30 days, 90 days, 12 months or all.');
    end case;
end
$$;
comment on function private.chart_range(text, timestamptz) is
'First and last day (UTC) of a chart, and its bucket. "all" begins at p_oldest. Errors: invalid_range.';

-- Format money and percentages for JSON. Without a search_path and stable, as to_char is, the first two are inlined;
-- a dashboard calls them some twenty times. Declared immutable, which to_char is not, each call would be parsed and
-- planned separately.

create function private.money(p_amount numeric) returns text
language sql stable parallel safe as $$
    select pg_catalog.to_char(p_amount, 'FM9999999999999990.00')
$$;
comment on function private.money(numeric) is 'Dollars for JSON: text with two decimals, "1234.50".';

create function private.percent(p_percent numeric) returns text
language sql stable parallel safe as $$
    select pg_catalog.to_char(pg_catalog.round(p_percent, 2), 'FM9999999999999990.00')
$$;
comment on function private.percent(numeric) is 'A computed percentage for JSON: "40.00", "-13.10".';

create function private.dollars(p_amount numeric) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return case when p_amount < 0 then '-' else '' end || '$' || pg_catalog.to_char(pg_catalog.abs(p_amount), 'FM9,999,999,999,990.00');
end
$$;
comment on function private.dollars(numeric) is 'Dollars for a message: "$1,234.50".';

create function private.plan_rate(p_percent numeric) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return pg_catalog.trim_scale(p_percent)::text;
end
$$;
comment on function private.plan_rate(numeric) is
'A rate of the compensation plan for a message: "5", "40". Computed percentages have two decimals.';

-- Text. Direction overrides and invisible characters make one text look like another: a member's name like a
-- different member's, a reference unlike the value that is compared. Validation triggers reject them in new rows;
-- existing rows keep them, so there is no constraint.

create function private.is_readable(p_text text) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
    -- Control characters, soft hyphen, direction marks and overrides, zero-width characters, line and paragraph
    -- separators.
    return p_text !~ '[\u0001-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]';
end
$$;
comment on function private.is_readable(text) is
'Whether a text has only visible characters, displayed in the order in which they are stored.';

create function private.is_trc20_address(p_address text) returns boolean
language plpgsql immutable set search_path = '' as $$
declare
    c_alphabet constant text := '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
    -- Decode 34 base58 digits in four numbers of at most nine digits.
    v_part bigint;
    v_number numeric := 0;
    v_hex text := '';
    v_bytes bytea;
begin
    if p_address is null or p_address !~ '\AT[1-9A-HJ-NP-Za-km-z]{33}\Z' then
        return false;
    end if;
    for v_from in 0..3 loop
        v_part := 0;
        for i in (v_from * 9 + 1)..least(v_from * 9 + 9, 34) loop
            v_part := v_part * 58 + (pg_catalog.strpos(c_alphabet, pg_catalog.substr(p_address, i, 1)) - 1);
        end loop;
        -- 58 to the 9th, and to the 7th for the last seven digits.
        v_number := v_number * case when v_from < 3 then 7427658739644928 else 2207984167552 end + v_part;
    end loop;
    -- 25 bytes, five at a time.
    for i in 1..5 loop
        v_hex := pg_catalog.lpad(pg_catalog.to_hex(pg_catalog.mod(v_number, 1099511627776)::bigint), 10, '0') || v_hex;
        v_number := pg_catalog.div(v_number, 1099511627776);
    end loop;
    if v_number <> 0 then
        return false;
    end if;
    v_bytes := pg_catalog.decode(v_hex, 'hex');
    return pg_catalog.get_byte(v_bytes, 0) = 65
        and pg_catalog.substr(v_bytes, 22, 4)
        = pg_catalog.substr(pg_catalog.sha256(pg_catalog.sha256(pg_catalog.substr(v_bytes, 1, 21))), 1, 4);
end
$$;
comment on function private.is_trc20_address(text) is 'Whether a text is a TRC20 address: 34 characters, base58check, version byte 0x41.';

create function private.short_address(p_address text) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return case
        when pg_catalog.length(p_address) > 10
            then pg_catalog.left(p_address, 6) || '...' || pg_catalog.right(p_address, 4)
        else p_address
    end;
end
$$;
comment on function private.short_address(text) is 'First 6 and last 4 characters of a wallet address.';

-- Keyset pagination of members' lists, newest first.

create function private.page_limit(p_limit integer, p_default integer, p_max integer) returns integer
language plpgsql immutable set search_path = '' as $$
begin
    if p_limit not between 1 and p_max then
        perform private.raise_error(400, 'invalid_limit', pg_catalog.format('A page holds 1 to %s rows.', p_max));
    end if;
    return coalesce(p_limit, p_default);
end
$$;
comment on function private.page_limit(integer, integer, integer) is 'Page size: the default unless given. Errors: invalid_limit.';

create function private.encode_cursor(p_at timestamptz, p_id uuid) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return pg_catalog.to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '_' || p_id;
end
$$;
comment on function private.encode_cursor(timestamptz, uuid) is 'Encodes the last key of a page as a cursor.';

create function private.decode_cursor(p_cursor text, out at timestamptz, out id uuid)
language plpgsql immutable set search_path = '' as $$
begin
    if p_cursor is null then
        at := 'infinity';
        id := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    elsif p_cursor ~ '\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z' then
        at := pg_catalog.split_part(p_cursor, '_', 1)::timestamptz;
        id := pg_catalog.split_part(p_cursor, '_', 2)::uuid;
    else
        perform private.raise_error(400, 'invalid_cursor', 'This page no longer exists. Start again from the first.');
    end if;
exception when datetime_field_overflow or invalid_datetime_format then
    perform private.raise_error(400, 'invalid_cursor', 'This page no longer exists. Start again from the first.');
end
$$;
comment on function private.decode_cursor(text) is 'Decodes a cursor; without one, a key after all rows. Errors: invalid_cursor.';

-- Helpers of the admin panel's lists: parse the filters, search by text, turn a page number into ids. A page near the
-- end is read backwards, so the last page costs as much as the first. A search collects at most 10,000 matches; with
-- more, matches are so frequent that scanning in sort order finds a page quickly.

create extension if not exists pg_trgm with schema extensions;

create type private.list_request as (
    everything boolean,
    page integer,
    page_size integer,
    pattern text,
    status text,
    kind text,
    sort_by text,
    descending boolean
);

create function private.parse_filters(p_filters jsonb, p_sortable text[]) returns private.list_request
language plpgsql immutable set search_path = '' as $$
declare
    v_filters jsonb := coalesce(nullif(p_filters, 'null'), '{}');
    v_request private.list_request;
    v_sort text[];
begin
    if pg_catalog.jsonb_typeof(v_filters) <> 'object' then
        perform private.raise_error(400, 'invalid_filter', 'Filters are an object.');
    end if;
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
$$;
comment on function private.parse_filters(jsonb, text[]) is
'Parses a list''s filters: page, pageSize (at most 500), search, status, type, sort ("created_at.desc"; default: the first sortable column, newest first). An empty object asks for all rows. Errors: invalid_filter.';

-- A search with more than 10,000 matches reports 10,000 and more, and is always read forwards: read backwards, its
-- later pages would show rows of other pages.
create function private.page_ids(
    p_from text, p_order text, p_reversed text, p_request private.list_request, p_total bigint, p_more boolean default false
) returns uuid[]
language plpgsql stable set search_path = '' as $$
declare
    v_offset bigint := ((p_request).page - 1)::bigint * (p_request).page_size;
    v_rows bigint := least((p_request).page_size, p_total - v_offset);
    v_ids uuid[];
begin
    if v_rows <= 0 then
        return '{}'::uuid[];
    end if;
    -- Read backwards only when the total is exact.
    if p_more or v_offset <= p_total / 2 then
        execute pg_catalog.format('select array(select r.id %s order by %s offset %s limit %s)', p_from, p_order, v_offset, v_rows)
        into v_ids using (p_request).pattern;
        return v_ids;
    end if;
    execute pg_catalog.format(
        'select array(select r.id %s order by %s offset %s limit %s)', p_from, p_reversed, p_total - v_offset - v_rows, v_rows
    ) into v_ids using (p_request).pattern;
    return array(select u.id from pg_catalog.unnest(v_ids) with ordinality as u (id, place) order by u.place desc);
end
$$;
comment on function private.page_ids(text, text, text, private.list_request, bigint, boolean) is
'Ids of one page, in order; reads from the nearer end when the total is exact. p_from is a from clause over r that these files compose (never input), with quoted values; $1 is the search pattern.';

create function private.search_page(
    p_table text, p_from text, p_walk text, p_order text, p_reversed text, p_request private.list_request,
    out ids uuid[], out total bigint, out more boolean
)
language plpgsql stable set search_path = '' as $$
declare
    v_found uuid[];
begin
    execute pg_catalog.format('select array(select r.id %s limit 10001)', p_from)
    into v_found using (p_request).pattern;
    total := pg_catalog.cardinality(v_found)::bigint;
    if total > 10000 then
        more := true;
        total := 10000::bigint;
        ids := private.page_ids(p_walk, p_order, p_reversed, p_request, total, more);
        return;
    end if;
    execute pg_catalog.format(
        'select array(select r.id from %s as r where r.id = any($1) order by %s offset $2 limit $3)', p_table, p_order
    ) into ids using v_found, ((p_request).page - 1)::bigint * (p_request).page_size, (p_request).page_size;
end
$$;
comment on function private.search_page(text, text, text, text, text, private.list_request) is
'One page of search results, with the exact total, or 10,000 and more. p_from collects the matches, p_walk tests rows in sort order; these files compose both (never input).';

-- Operator settings and the five packages. They are rows, not constants, so that screens, rules and the disclosure
-- read the same values. Change them only through public.change_setting(), which validates the type and writes an
-- audit row.

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
comment on table private.settings is 'Operator settings. minimum and maximum bound an integer, or the length of a text or list.';
alter table private.settings enable row level security;

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
-- The address with an all-zero payload: recognisable as a sample; nobody has its key.
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

create table private.packages (
    value public.usd primary key check (value between 1 and 10000000 and value = trunc(value)),
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
    return (select coalesce(private.setting_text('demo')::boolean, true));
end
$$;
comment on function private.is_demo() is 'Whether the installation is in demo mode: no real money is accepted.';

create function private.check_setting(p_key text, p_value jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
    v_row private.settings;
    v_size bigint;
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
        when 'list' then pg_catalog.jsonb_typeof(p_value) = 'array'
    end;
    if not v_ok then
        perform private.raise_error(400, 'invalid_setting', pg_catalog.format('%s must be of type %s.', p_key, v_row.kind));
    end if;
    v_size := case
        when pg_catalog.jsonb_typeof(p_value) = 'null' then null
        when v_row.kind = 'integer' then (p_value #>> '{}')::bigint
        when v_row.kind = 'text' then pg_catalog.length(p_value #>> '{}')
        when v_row.kind = 'list' then pg_catalog.jsonb_array_length(p_value)
    end;
    if v_size < v_row.minimum or v_size > v_row.maximum then
        perform private.raise_error(400, 'invalid_setting', pg_catalog.format('%s must be from %s to %s.', p_key, v_row.minimum, v_row.maximum));
    end if;
    if p_key = 'deposit.address' and not private.is_trc20_address(p_value #>> '{}') then
        perform private.raise_error(400, 'invalid_setting', 'This is not a TRC20 address. Check it character by character.');
    end if;
end
$$;
comment on function private.check_setting(text, jsonb) is 'Validates the type and limits of a setting. Errors: not_found, invalid_setting.';

create function private.settings_validate() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.key, new.kind, new.minimum, new.maximum) is distinct from (old.key, old.kind, old.minimum, old.maximum) then
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

-- Notify administrators of a changed deposit address: whoever changes it receives every deposit from then on. Only a
-- super_admin may change it, with an audit row and a notice (public.change_setting). This trigger also e-mails every
-- administrator, whatever changed the row. Every minute the worker compares the displayed address with the last
-- audited one and with one configured outside the database.
create function private.settings_mail_deposit_address() returns trigger
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
comment on function private.settings_mail_deposit_address() is
'Trigger: e-mails every administrator of a changed deposit address, whatever changed it.';
create trigger _500_mail_deposit_address after update of value on private.settings for each row
when (new.key = 'deposit.address' and old.value is distinct from new.value) execute function private.settings_mail_deposit_address();

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
    v_discrepancies jsonb := '{}'::jsonb;
begin
    if v_shown is distinct from v_recorded then
        v_discrepancies := v_discrepancies || pg_catalog.jsonb_build_object('recorded', v_recorded);
    end if;
    if v_shown is distinct from coalesce(p_expected, v_shown) then
        v_discrepancies := v_discrepancies || pg_catalog.jsonb_build_object('expected', p_expected);
    end if;
    if v_discrepancies = '{}' then
        return v_discrepancies;
    end if;
    if not exists (
        select 1 from private.admin_notices as n
        where n.kind = 'deposit_address_unexpected' and n.created_at > pg_catalog.clock_timestamp() - interval '1 hour'
    ) then
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
    return v_discrepancies || pg_catalog.jsonb_build_object('shown', v_shown);
end
$$;
comment on function jobs.check_deposit_address(text) is
'Compares the displayed deposit address with the last audited one and with one configured outside the database; returns {} or the differences, and notifies all administrators once an hour.';
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

create function public.change_setting(p_key text, p_value jsonb) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_before jsonb;
    v_setting private.settings;
begin
    if p_key in ('demo', 'demo.seeded', 'mail.ready') then
        perform private.raise_error(403, 'forbidden', 'This changes through readiness only.');
    end if;
    perform private.check_setting(p_key, p_value);
    select s.value into v_before from private.settings as s where s.key = p_key for no key update;
    update private.settings as s set value = p_value, updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id
    where s.key = p_key returning s.* into v_setting;
    if p_key = 'deposit.address' and v_before is distinct from p_value then
        perform private.notify_administrators(
            'deposit_address_changed', 'The deposit address was changed',
            pg_catalog.format('%s set it to %s. If this was not agreed, sign in and change it back at once.', coalesce(v_admin.full_name, v_admin.email), p_value #>> '{}'),
            '/admin/readiness'
        );
    end if;
    perform private.audit(
        'admin:' || v_admin.id, 'setting.changed', null, null,
        pg_catalog.jsonb_build_object('key', p_key, 'before', pg_catalog.left(v_before::text, 500), 'after', pg_catalog.left(p_value::text, 500))
    );
    return pg_catalog.jsonb_build_object('success', true, 'setting', pg_catalog.jsonb_build_object('key', v_setting.key, 'value', v_setting.value));
end
$$;
comment on function public.change_setting(text, jsonb) is
'Sets one setting within its type and limits; notifies all administrators of a new deposit address. Super admin. Errors: forbidden, not_found, invalid_setting.';
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
            'min_withdrawal', private.money(100), 'min_deposit', private.money(1), 'max_amount', private.money(10000000),
            'receipt_max_bytes', (select b.file_size_limit from storage.buckets as b where b.id = 'receipts')
        ),
        'review_due_hours', private.setting('review.due_hours'),
        'terms', private.legal_document('terms'),
        'risk', private.legal_document('risk')
    )
$$;
comment on function public.get_platform() is
'Name, support, operator, packages, rates, limits, terms and risk notice, and whether this is a demo. Open to anonymous clients.';
grant execute on function public.get_platform() to anon, authenticated, platform_admin;

-- Leave demo mode. One list of conditions decides, and the screen shows the same list. Nothing else enables real
-- money, and it cannot be disabled again.

create function private.readiness() returns table (item text, ok boolean, missing text)
language sql stable set search_path = '' as $$
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
    select 'mail', private.setting_text('mail.ready')::boolean, 'Send a test mail and confirm that it arrived.'
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
$$;
comment on function private.readiness() is 'Conditions for accepting real money, each with what to do about it.';

create function public.get_readiness() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin(array['super_admin']::public.admin_role[]);
    return pg_catalog.jsonb_build_object(
        'demo', private.is_demo(),
        'ready', not exists (select 1 from private.readiness() as r where not r.ok),
        'items', (
            select pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object('item', r.item, 'ok', r.ok, 'missing', case when not r.ok then r.missing end)
            ) from private.readiness() as r
        )
    );
end
$$;
comment on function public.get_readiness() is 'private.readiness() for the screen. Super admin. Errors: forbidden, session_ended.';
grant execute on function public.get_readiness() to platform_admin;

create function public.send_test_mail() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
begin
    if not private.consume_rate_limit('test_mail', v_admin.id::text, 5, interval '1 hour') then
        perform private.raise_error(429, 'too_many_requests', 'Five test mails an hour. Wait a while.');
    end if;
    insert into private.outbox (template, recipient, data) values (
        'test_mail', v_admin.email, pg_catalog.jsonb_build_object(
            'display_name', v_admin.full_name, 'title', 'Outgoing mail works',
            'body', 'You asked for this mail to see whether outgoing mail works. Confirm on the readiness page that it arrived.',
            'link', '/admin/readiness'
        )
    );
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.send_test_mail() is 'Sends a test e-mail to the caller. Super admin. Errors: forbidden, too_many_requests.';
grant execute on function public.send_test_mail() to platform_admin;

create function public.confirm_test_mail() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
begin
    if not exists (select 1 from private.outbox as o where o.template = 'test_mail' and o.recipient = v_admin.email and o.sent_at is not null) then
        perform private.raise_error(409, 'not_sent', 'No test mail to you has left yet.');
    end if;
    update private.settings as s set value = 'true', updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id where s.key = 'mail.ready';
    perform private.audit('admin:' || v_admin.id, 'setting.changed', null, null, '{"key": "mail.ready", "after": "true"}');
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.confirm_test_mail() is 'Confirms that the test e-mail arrived. Super admin. Errors: forbidden, not_sent.';
grant execute on function public.confirm_test_mail() to platform_admin;

-- Block new requests while leave_demo() checks that demo mode left no money behind: it waits for requests in
-- progress, and new ones wait for it. They never take the money lock, so this cannot deadlock.
create function private.lock_requests() returns void
language plpgsql volatile set search_path = '' as $$
begin
    lock table public.deposits, public.withdrawals in share mode;
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_requests() is
'Blocks requests, decisions and cancellations of deposits and withdrawals until the end of the transaction. Take it after the money lock. Errors: try_again.';

create function public.leave_demo() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_missing text;
begin
    perform private.lock_money();
    if not private.is_demo() then
        perform private.raise_error(409, 'demo_is_over', 'Demo mode has ended already.');
    end if;
    perform private.lock_requests();
    select pg_catalog.string_agg(r.missing, ' ') into v_missing from private.readiness() as r where not r.ok;
    if v_missing is not null then
        perform private.raise_error(409, 'not_ready', v_missing);
    end if;
    update private.settings as s set value = 'false', updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id where s.key = 'demo';
    perform private.audit('admin:' || v_admin.id, 'demo.left', null, null);
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.leave_demo() is
'Ends demo mode for good when every condition is met. Super admin. Errors: forbidden, demo_is_over, not_ready, try_again.';
grant execute on function public.leave_demo() to platform_admin;

-- Rate limits of RPCs and functions. The counters are unlogged: a crash of the database resets them. Failed sign-ins
-- are logged rows, so that restarting a service does not reset them.

create unlogged table private.rate_limits (
    bucket text not null check (length(bucket) <= 63),
    key text not null check (length(key) <= 255),
    window_start timestamptz not null,
    hits integer not null,
    primary key (bucket, key)
);
comment on table private.rate_limits is 'Hits of each key in its current window.';
alter table private.rate_limits enable row level security;
create index rate_limits_window_idx on private.rate_limits (window_start);

create table private.sign_in_failures (
    id bigint generated always as identity primary key,
    kind text not null check (kind in ('admin_account', 'admin_address', 'member_account')),
    key text not null check (length(key) <= 255),
    at timestamptz not null default now()
);
comment on table private.sign_in_failures is 'Failed sign-ins per account and per address. A success deletes those of the account.';
alter table private.sign_in_failures enable row level security;
create index sign_in_failures_key_idx on private.sign_in_failures (kind, key, at);

create function private.consume_rate_limit(p_bucket text, p_key text, p_max integer, p_window interval) returns boolean
language sql volatile set search_path = '' as $$
    insert into private.rate_limits as r (bucket, key, window_start, hits)
    values (p_bucket, pg_catalog.left(p_key, 255), pg_catalog.clock_timestamp(), 1)
    on conflict (bucket, key) do update set
        window_start = case when r.window_start <= excluded.window_start - p_window then excluded.window_start else r.window_start end,
        hits = case when r.window_start <= excluded.window_start - p_window then 1 else least(r.hits + 1, p_max + 1) end
    returning r.hits <= p_max
$$;
comment on function private.consume_rate_limit(text, text, integer, interval) is
'Counts one hit; false when the key has used up its limit in this window. A rolled-back transaction does not count.';

create function edge.consume_rate_limit(p_bucket text, p_key text, p_max integer, p_window interval) returns boolean
language sql volatile security definer set search_path = '' as $$
    select private.consume_rate_limit(p_bucket, p_key, p_max, p_window)
$$;
comment on function edge.consume_rate_limit(text, text, integer, interval) is 'private.consume_rate_limit() for functions/edge.';
grant execute on function edge.consume_rate_limit(text, text, integer, interval) to edge_functions;

-- Administrators have accounts separate from members. A session token names a row and is no credential: the signed
-- access token is valid only while the row exists. public.admin_sessions has exactly the three columns that the panel
-- reads; everything else about a session is private.

create table private.admin_users (
    id uuid primary key default gen_random_uuid(),
    email text not null check (email = lower(email) and email ~ '\A[^\s@]+@[^\s@]+\Z' and length(email) <= 255),
    full_name text check (length(full_name) between 1 and 120),
    role public.admin_role not null,
    is_active boolean not null default true,
    password_hash text not null check (password_hash like '$argon2id$%'),
    totp_key_id text,
    totp_secret bytea,
    totp_confirmed_at timestamptz,
    totp_last_step bigint,
    last_login timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint admin_users_email_key unique (email),
    constraint totp_secret_has_key_id check ((totp_secret is null) = (totp_key_id is null)),
    constraint totp_confirmed_has_secret check (totp_confirmed_at is null or totp_secret is not null)
);
comment on table private.admin_users is 'Administrators. totp_secret is encrypted before it reaches SQL.';
alter table private.admin_users enable row level security;

create table public.admin_sessions (
    session_token uuid primary key default gen_random_uuid(),
    admin_id uuid not null references private.admin_users (id) on delete cascade,
    expires_at timestamptz not null
);
comment on table public.admin_sessions is 'Active administrator sessions. The token names the row; it is no credential.';
alter table public.admin_sessions enable row level security;
create index admin_sessions_admin_id_idx on public.admin_sessions (admin_id);

-- Only the session of this request, not another session of the same administrator.
create policy select_own on public.admin_sessions for select to platform_admin
using (admin_id = (select auth.uid()) and session_token::text = ((select auth.jwt()) ->> 'sid'));
create policy delete_own on public.admin_sessions for delete to platform_admin
using (admin_id = (select auth.uid()) and session_token::text = ((select auth.jwt()) ->> 'sid'));
grant select, delete on public.admin_sessions to platform_admin;

create table private.admin_session_activity (
    session_token uuid primary key references public.admin_sessions (session_token) on delete cascade,
    started_at timestamptz not null default now(),
    last_seen_at timestamptz not null default now(),
    address text,
    user_agent text
);
comment on table private.admin_session_activity is 'Start and last use of an administrator session; it ends after 30 idle minutes.';
alter table private.admin_session_activity enable row level security;

-- With real money, require TOTP of finance and super administrators. require_admin() checks it together with the
-- role; where functions/edge passes the caller's id, or every role may act, check it separately. An attacker with
-- only the password then cannot reveal an MT5 password, create an account or disable a member. Signing in, reading
-- and enrolling in TOTP stay open without it.
create function private.require_totp(p_admin private.admin_users) returns void
language plpgsql stable set search_path = '' as $$
begin
    if (p_admin).role <> 'support_admin' and (p_admin).totp_confirmed_at is null and not private.is_demo() then
        perform private.raise_error(403, 'two_step_required', 'Your role needs two-step sign-in. Set it up in your settings first.');
    end if;
end
$$;
comment on function private.require_totp(private.admin_users) is
'With real money, raises unless a finance or super administrator has TOTP. Errors: two_step_required.';

create function private.require_admin(p_roles public.admin_role[] default null) returns private.admin_users
language plpgsql stable set search_path = '' as $$
declare
    v_admin private.admin_users;
begin
    if private.my_role() is distinct from 'platform_admin' then
        perform private.raise_error(403, 'forbidden', 'Only administrators can do this.');
    end if;
    select * into v_admin from private.admin_users as a where a.id = auth.uid() and a.is_active;
    if not found then
        perform private.raise_error(401, 'session_ended', 'Your session has ended. Sign in again.');
    end if;
    if p_roles is not null and v_admin.role <> all(p_roles) then
        perform private.raise_error(403, 'forbidden', pg_catalog.format('A %s cannot do this.', pg_catalog.replace(v_admin.role::text, '_', ' ')));
    end if;
    if p_roles is not null then
        perform private.require_totp(v_admin);
    end if;
    return v_admin;
end
$$;
comment on function private.require_admin(public.admin_role[]) is
'The calling administrator, read from the table and never from the token; with p_roles, only those roles. Errors: forbidden, session_ended, two_step_required.';

create function private.require_super_admin(p_admin_id uuid) returns private.admin_users
language plpgsql stable set search_path = '' as $$
declare
    v_admin private.admin_users;
begin
    select * into v_admin from private.admin_users as a where a.id = p_admin_id and a.is_active;
    if v_admin.role is distinct from 'super_admin' then
        perform private.raise_error(403, 'forbidden', 'Only a super admin can do this.');
    end if;
    perform private.require_totp(v_admin);
    return v_admin;
end
$$;
comment on function private.require_super_admin(uuid) is 'The super_admin with this id. Errors: forbidden, two_step_required.';

create function public.touch_admin_session() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_session uuid := (auth.jwt() ->> 'sid')::uuid;
begin
    update private.admin_session_activity as a set last_seen_at = pg_catalog.clock_timestamp()
    where a.session_token = v_session and a.last_seen_at < pg_catalog.clock_timestamp() - interval '1 minute';
    return (
        select pg_catalog.jsonb_build_object('success', true, 'admin_id', v_admin.id, 'expires_at', s.expires_at)
        from public.admin_sessions as s where s.session_token = v_session
    );
end
$$;
comment on function public.touch_admin_session() is
'Extends the administrator''s session. Sent while the person is active. Errors: forbidden, session_ended.';
grant execute on function public.touch_admin_session() to platform_admin;

create function jobs.expire_admin_sessions() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_rows integer;
begin
    delete from public.admin_sessions as s
    where s.expires_at <= pg_catalog.clock_timestamp()
        or exists (
            select 1 from private.admin_session_activity as a
            where a.session_token = s.session_token and a.last_seen_at < pg_catalog.clock_timestamp() - interval '30 minutes'
        );
    get diagnostics v_rows = row_count;
    return v_rows;
end
$$;
comment on function jobs.expire_admin_sessions() is 'Deletes expired and idle administrator sessions; returns how many.';
grant execute on function jobs.expire_admin_sessions() to worker;

-- Sign-in of administrators for functions/edge. Only role edge_functions may execute these.

create function edge.admin_by_email(p_email text) returns setof private.admin_users
language sql stable security definer set search_path = '' as $$
    select * from private.admin_users as a where a.email = pg_catalog.lower(p_email)
$$;
comment on function edge.admin_by_email(text) is
'The account with this e-mail, with password hash and encrypted TOTP secret; no row when unknown.';
grant execute on function edge.admin_by_email(text) to edge_functions;

create function edge.admin_by_id(p_admin_id uuid) returns setof private.admin_users
language sql stable security definer set search_path = '' as $$
    select * from private.admin_users as a where a.id = p_admin_id
$$;
comment on function edge.admin_by_id(uuid) is 'The account with this id, with password hash and encrypted TOTP secret.';
grant execute on function edge.admin_by_id(uuid) to edge_functions;

create function edge.lock_login_attempt(p_email text, p_address text) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('login_to_account'), pg_catalog.hashtext(pg_catalog.lower(p_email)));
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('login_from_address'), pg_catalog.hashtext(p_address));
end
$$;
comment on function edge.lock_login_attempt(text, text) is
'One attempt on an account, and from an address, at a time: a hundred at once would all see few failures.';
grant execute on function edge.lock_login_attempt(text, text) to edge_functions;

create function edge.admin_sign_in_allowed(p_email text, p_address text) returns boolean
language sql volatile security definer set search_path = '' as $$
    select (
        select count(*) < 10 from private.sign_in_failures as f
        where f.kind = 'admin_account' and f.key = pg_catalog.left(pg_catalog.lower(p_email), 255)
            and f.at > pg_catalog.clock_timestamp() - interval '15 minutes'
    ) and (
        select count(*) < 20 from private.sign_in_failures as f
        where f.kind = 'admin_address' and f.key = pg_catalog.left(p_address, 255)
            and f.at > pg_catalog.clock_timestamp() - interval '15 minutes'
    )
$$;
comment on function edge.admin_sign_in_allowed(text, text) is
'Whether the account has fewer than 10 and the address fewer than 20 failures in the last 15 minutes.';
grant execute on function edge.admin_sign_in_allowed(text, text) to edge_functions;

-- Record a failure in the transaction that verifies the password, never before: if the database fails in between, no
-- unverified failure remains, and a success need not delete a failure of its own, which could delete another
-- client's.
create function edge.record_admin_sign_in(p_email text, p_address text, p_ok boolean) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin_id uuid;
begin
    if not p_ok then
        insert into private.sign_in_failures (kind, key, at) values
        ('admin_account', pg_catalog.left(pg_catalog.lower(p_email), 255), pg_catalog.clock_timestamp()),
        ('admin_address', pg_catalog.left(p_address, 255), pg_catalog.clock_timestamp());
        return;
    end if;
    delete from private.sign_in_failures as f where f.kind = 'admin_account' and f.key = pg_catalog.left(pg_catalog.lower(p_email), 255);
    update private.admin_users as a set last_login = pg_catalog.clock_timestamp()
    where a.email = pg_catalog.lower(p_email) returning a.id into v_admin_id;
    perform private.audit('admin:' || v_admin_id, 'admin.signed_in', 'admin_user', v_admin_id, pg_catalog.jsonb_build_object('address', p_address));
end
$$;
comment on function edge.record_admin_sign_in(text, text, boolean) is
'Records a login attempt: a failure counts against account and address; a success deletes the account''s failures and writes an audit row.';
grant execute on function edge.record_admin_sign_in(text, text, boolean) to edge_functions;

create function edge.start_admin_session(p_admin_id uuid, p_address text, p_user_agent text)
returns table (session_token uuid, expires_at timestamptz)
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_session public.admin_sessions;
begin
    if not exists (select 1 from private.admin_users as a where a.id = p_admin_id and a.is_active) then
        perform private.raise_error(401, 'invalid_credentials', 'Authentication failed');
    end if;
    insert into public.admin_sessions (admin_id, expires_at)
    values (p_admin_id, pg_catalog.clock_timestamp() + interval '8 hours')
    returning * into v_session;
    insert into private.admin_session_activity (session_token, started_at, last_seen_at, address, user_agent)
    values (v_session.session_token, pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp(), p_address, pg_catalog.left(p_user_agent, 400));
    return query select v_session.session_token, v_session.expires_at;
end
$$;
comment on function edge.start_admin_session(uuid, text, text) is
'Starts an 8-hour session for an active administrator. Errors: invalid_credentials.';
grant execute on function edge.start_admin_session(uuid, text, text) to edge_functions;

create function edge.set_admin_password(p_admin_id uuid, p_hash text, p_keep_session uuid) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
    update private.admin_users as a set password_hash = p_hash, updated_at = pg_catalog.clock_timestamp() where a.id = p_admin_id;
    delete from public.admin_sessions as s where s.admin_id = p_admin_id and s.session_token is distinct from p_keep_session;
    perform private.audit('admin:' || p_admin_id, 'admin.password_changed', 'admin_user', p_admin_id);
end
$$;
comment on function edge.set_admin_password(uuid, text, uuid) is 'Stores a new Argon2id hash and ends the administrator''s other sessions.';
grant execute on function edge.set_admin_password(uuid, text, uuid) to edge_functions;

create function edge.set_totp_secret(p_admin_id uuid, p_key_id text, p_secret bytea) returns void
language sql volatile security definer set search_path = '' as $$
    update private.admin_users as a set totp_key_id = p_key_id, totp_secret = p_secret, totp_last_step = null, updated_at = pg_catalog.clock_timestamp()
    where a.id = p_admin_id and a.totp_confirmed_at is null
$$;
comment on function edge.set_totp_secret(uuid, text, bytea) is
'Stores an encrypted TOTP secret, which is active after its first valid code; never replaces a confirmed one.';
grant execute on function edge.set_totp_secret(uuid, text, bytea) to edge_functions;

create function edge.confirm_totp(p_admin_id uuid) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
    update private.admin_users as a set totp_confirmed_at = coalesce(a.totp_confirmed_at, pg_catalog.clock_timestamp())
    where a.id = p_admin_id and a.totp_secret is not null;
    perform private.audit('admin:' || p_admin_id, 'admin.two_step_on', 'admin_user', p_admin_id);
end
$$;
comment on function edge.confirm_totp(uuid) is 'Enables two-step sign-in.';
grant execute on function edge.confirm_totp(uuid) to edge_functions;

create function edge.remove_totp(p_admin_id uuid) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
    if not private.is_demo() and (select a.role from private.admin_users as a where a.id = p_admin_id) <> 'support_admin' then
        perform private.raise_error(403, 'two_step_required', 'Your role needs two-step sign-in.');
    end if;
    update private.admin_users as a set totp_key_id = null, totp_secret = null, totp_confirmed_at = null, totp_last_step = null
    where a.id = p_admin_id;
    perform private.audit('admin:' || p_admin_id, 'admin.two_step_off', 'admin_user', p_admin_id);
end
$$;
comment on function edge.remove_totp(uuid) is
'Disables two-step sign-in; with real money only a support_admin may. Errors: two_step_required.';
grant execute on function edge.remove_totp(uuid) to edge_functions;

create function edge.use_totp_step(p_admin_id uuid, p_step bigint) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
    update private.admin_users as a set totp_last_step = p_step
    where a.id = p_admin_id and (a.totp_last_step is null or a.totp_last_step < p_step);
    return found;
end
$$;
comment on function edge.use_totp_step(uuid, bigint) is 'Consumes a TOTP time step: true once, and never for an earlier step.';
grant execute on function edge.use_totp_step(uuid, bigint) to edge_functions;

-- Manage administrator accounts. Nobody may change the own role or deactivate the own account, so one active
-- super_admin always remains. functions/edge hashes passwords, so functions that take a hash are in schema edge;
-- p_caller is an id that functions/edge has verified.

create function private.administrator_item(p_admin private.admin_users) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'id', (p_admin).id, 'email', (p_admin).email, 'full_name', (p_admin).full_name, 'role', (p_admin).role,
        'is_active', (p_admin).is_active, 'two_step', (p_admin).totp_confirmed_at is not null, 'last_login', (p_admin).last_login,
        'created_at', (p_admin).created_at, 'updated_at', (p_admin).updated_at,
        'sessions', (select count(*) from public.admin_sessions as s where s.admin_id = (p_admin).id and s.expires_at > pg_catalog.now())
    )
$$;
comment on function private.administrator_item(private.admin_users) is 'An administrator account as JSON, without hash and secret.';

create function public.list_administrators() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin(array['super_admin']::public.admin_role[]);
    return pg_catalog.jsonb_build_object(
        'administrators', (select pg_catalog.jsonb_agg(private.administrator_item(a) order by a.created_at) from private.admin_users as a)
    );
end
$$;
comment on function public.list_administrators() is 'All accounts. Super admin. Errors: forbidden, session_ended.';
grant execute on function public.list_administrators() to platform_admin;

-- Read the caller under the lock: when two super administrators deactivate each other at the same time, the second
-- one waits and is then rejected, so that one remains.
create function public.update_administrator(p_admin_id uuid, p_full_name text, p_role text, p_is_active boolean) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
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
        pg_catalog.jsonb_build_object('role', v_after.role, 'role_before', v_before.role, 'is_active', v_after.is_active)
    );
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_after));
end
$$;
comment on function public.update_administrator(uuid, text, text, boolean) is
'Updates name, role and activity of an account; a changed role or a deactivation ends its sessions. Super admin, never on oneself. Errors: forbidden, session_ended, two_step_required, not_found, invalid_input.';
grant execute on function public.update_administrator(uuid, text, text, boolean) to platform_admin;

create function public.reset_two_step(p_admin_id uuid, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
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
    update private.admin_users as a set totp_key_id = null, totp_secret = null, totp_confirmed_at = null, totp_last_step = null
    where a.id = p_admin_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    perform private.audit('admin:' || v_caller.id, 'admin.two_step_reset', 'admin_user', p_admin_id, pg_catalog.jsonb_build_object('reason', v_reason));
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.reset_two_step(uuid, text) is
'Resets another administrator''s two-step sign-in after a lost device: deletes the secret and ends the sessions. Super admin. Errors: forbidden, not_found, reason_required.';
grant execute on function public.reset_two_step(uuid, text) to platform_admin;

create function private.create_administrator(p_email text, p_full_name text, p_role public.admin_role, p_password_hash text) returns uuid
language sql volatile set search_path = '' as $$
    insert into private.admin_users (email, full_name, role, password_hash)
    values (pg_catalog.lower(p_email), p_full_name, p_role, p_password_hash)
    returning id
$$;
comment on function private.create_administrator(text, text, public.admin_role, text) is
'Creates an administrator (bootstrap, account management). p_password_hash is Argon2id.';

create function edge.create_administrator(p_caller uuid, p_email text, p_full_name text, p_role text, p_hash text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_caller private.admin_users := private.require_super_admin(p_caller);
    v_admin private.admin_users;
begin
    insert into private.admin_users (email, full_name, role, password_hash)
    values (pg_catalog.lower(p_email), p_full_name, p_role::public.admin_role, p_hash)
    on conflict (email) do nothing
    returning * into v_admin;
    if v_admin.id is null then
        perform private.raise_error(409, 'email_taken', 'There is an administrator with this e-mail.');
    end if;
    perform private.audit('admin:' || v_caller.id, 'admin.created', 'admin_user', v_admin.id, pg_catalog.jsonb_build_object('role', p_role));
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_admin));
end
$$;
comment on function edge.create_administrator(uuid, text, text, text, text) is
'Creates an administrator with a hashed password. Errors: forbidden, two_step_required, email_taken.';
grant execute on function edge.create_administrator(uuid, text, text, text, text) to edge_functions;

create function edge.reset_admin_password(p_caller uuid, p_admin_id uuid, p_hash text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_caller private.admin_users := private.require_super_admin(p_caller);
    v_admin private.admin_users;
begin
    if p_admin_id = v_caller.id then
        perform private.raise_error(403, 'forbidden', 'Change your own password with the current one.');
    end if;
    update private.admin_users as a set password_hash = p_hash, updated_at = pg_catalog.clock_timestamp()
    where a.id = p_admin_id returning a.* into v_admin;
    if v_admin.id is null then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    perform private.audit('admin:' || v_caller.id, 'admin.password_reset', 'admin_user', p_admin_id);
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_admin));
end
$$;
comment on function edge.reset_admin_password(uuid, uuid, text) is
'Resets another administrator''s forgotten password: stores a new hash and ends all sessions. Errors: forbidden, two_step_required, not_found.';
grant execute on function edge.reset_admin_password(uuid, uuid, text) to edge_functions;

-- The audit log: actions of administrators and the system, as a hash chain: each row's hash covers the row before it.
-- Insert only through private.audit(), whose trigger takes the audit lock last of all locks; without the lock nine
-- links in ten would be wrong under load. Rows are never updated, deleted or truncated, not even by the owner.

create table private.audit_log (
    seq bigint primary key,
    at timestamptz not null,
    actor text not null check (actor ~ '\A(admin|member|system|service)(:[0-9a-f-]{36})?\Z'),
    action text not null check (action ~ '\A[a-z][a-z0-9_.]{1,62}\Z'),
    object_type text,
    object_id uuid,
    payload jsonb not null default '{}',
    prev bytea,
    hash bytea not null
);
comment on table private.audit_log is 'Hash chain of audited actions. Append-only.';
alter table private.audit_log enable row level security;
create index audit_log_object_idx on private.audit_log (object_id, seq desc) where object_id is not null;
create index audit_log_actor_idx on private.audit_log (actor, seq desc);
create index audit_log_at_idx on private.audit_log (at);
-- Collate "C" (bytes): a group of actions is then one range of the index.
create index audit_log_action_idx on private.audit_log (action collate "C", seq desc);
create index audit_log_settings_idx on private.audit_log (seq) where action = 'setting.changed';
comment on index private.audit_log_settings_idx is 'Finds the last change of a setting, queried every minute.';

create function private.lock_audit_log() returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('audit_log'));
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_audit_log() is 'Takes the audit lock. Always the last lock: take none after it. Errors: try_again.';

create function private.audit_hash(p_prev bytea, p_row private.audit_log) returns bytea
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.sha256(
            coalesce(p_prev, ''::bytea) || pg_catalog.convert_to(
                pg_catalog.concat_ws(
                    '|', (p_row).seq, extract(epoch from (p_row).at), (p_row).actor, (p_row).action,
                    coalesce((p_row).object_type, ''), coalesce((p_row).object_id::text, ''), (p_row).payload::text
                ), 'UTF8'
            )
        )
    );
end
$$;
comment on function private.audit_hash(bytea, private.audit_log) is 'Hash of a row: covers the previous hash and every column.';

create function private.audit_log_set_hash() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_prev bytea;
    v_seq bigint;
begin
    perform private.lock_audit_log();
    select a.hash, a.seq into v_prev, v_seq from private.audit_log as a order by a.seq desc limit 1;
    new.seq := coalesce(v_seq, 0) + 1;
    new.prev := v_prev;
    new.hash := private.audit_hash(v_prev, new);
    return new;
end
$$;
comment on function private.audit_log_set_hash() is 'Trigger: sets number, previous hash and hash of a new row, under the audit lock.';

create trigger _100_set_hash before insert on private.audit_log for each row execute function private.audit_log_set_hash();
create trigger _100_reject_change before update on private.audit_log for each row execute function private.reject_change();
create trigger _100_reject_delete before delete or truncate on private.audit_log
for each statement execute function private.reject_change();

-- Store the administrator's role and the request id in the payload, which the chain covers, because roles change:
-- `actor_role` is the role at the time, `request_id` the x-request-id under which the services logged the request.
create function private.audit(p_actor text, p_action text, p_object_type text, p_object_id uuid, p_payload jsonb default '{}') returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.audit_log (seq, at, actor, action, object_type, object_id, payload, hash)
    values (
        0, private.clock(), p_actor, p_action, p_object_type, p_object_id,
        coalesce(p_payload, '{}') || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
            'actor_role', case
                when pg_catalog.starts_with(p_actor, 'admin:')
                    then (select a.role from private.admin_users as a where a.id = pg_catalog.substr(p_actor, 7)::uuid)
            end,
            -- Truncate what a client may choose to the length that the services accept.
            'request_id', pg_catalog.left(nullif(pg_catalog.current_setting('request.headers', true), '')::jsonb ->> 'x-request-id', 64)
        )),
        ''
    );
end
$$;
comment on function private.audit(text, text, text, uuid, jsonb) is
'Writes one audit row, with the administrator''s role and the request id. Call it last in a transaction: it holds the audit lock until the end.';

-- Detect a truncated chain: whoever bypasses the triggers can delete the newest rows and leave a valid chain. So the
-- worker stores the chain head outside the database every hour (functions/worker/audit_heads.py) and passes its last
-- external anchor here; that row must still exist. The anchor is stored, so that every ledger check verifies it.
create function private.verify_audit_chain() returns setof bigint
language plpgsql stable set search_path = '' as $$
begin
    return query
    select a.seq
    from (
        select
            l.seq,
            l.hash,
            l.prev,
            pg_catalog.lag(l.hash) over w as before,
            pg_catalog.lag(l.seq) over w as seq_before,
            private.audit_hash(l.prev, l.*) as expected
        from private.audit_log as l
        window w as (order by l.seq)
    ) as a
    where a.hash <> a.expected or a.prev is distinct from a.before or a.seq <> coalesce(a.seq_before, 0) + 1
    union all
    select s.anchored_seq
    from private.ledger_check_state as s
    left join private.audit_log as l on s.anchored_seq = l.seq and s.anchored_hash = l.hash
    where s.anchored_seq is not null and l.seq is null;
end
$$;
comment on function private.verify_audit_chain() is
'Numbers of the audit rows at which the chain is broken, and of the externally anchored row when it is missing or different; none when the chain is intact.';

create function jobs.audit_head() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object('seq', l.seq, 'hash', pg_catalog.encode(l.hash, 'hex'))
        from private.audit_log as l order by l.seq desc limit 1
    );
end
$$;
comment on function jobs.audit_head() is 'Number and hash of the newest audit row; null when there is none.';
grant execute on function jobs.audit_head() to worker;

create function jobs.check_audit_anchor(p_seq bigint, p_hash text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
begin
    update private.ledger_check_state as s set anchored_seq = p_seq, anchored_hash = pg_catalog.decode(p_hash, 'hex');
    if p_seq is null or exists (
        select 1 from private.audit_log as l where l.seq = p_seq and l.hash = pg_catalog.decode(p_hash, 'hex')
    ) then
        return '{}'::jsonb;
    end if;
    return pg_catalog.jsonb_build_object('audit_row', p_seq);
end
$$;
comment on function jobs.check_audit_anchor(bigint, text) is
'Stores the worker''s last external anchor (null for none) for the ledger check. Returns {}, or the number of the anchored row when it is missing or different.';
grant execute on function jobs.check_audit_anchor(bigint, text) to worker;

-- Read the audit log. Finance and super administrators read everything, support administrators their own actions. An
-- export is audited before its first row is sent.

-- Compare the id as a uuid, so that its index is used.
create function private.actor_name(p_actor text) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_kind text := pg_catalog.split_part(p_actor, ':', 1);
    v_id uuid := nullif(pg_catalog.split_part(p_actor, ':', 2), '')::uuid;
begin
    return case v_kind
        when 'admin' then (select coalesce(a.full_name, a.email) from private.admin_users as a where a.id = v_id)
        when 'member' then (select p.username from private.profiles as p where p.user_id = v_id)
        else p_actor
    end;
end
$$;
comment on function private.actor_name(text) is 'Name of an actor of the audit log; null when the account is deleted.';

-- Each filter is an index range; combined with the order they stay selective.
create function private.audit_page(p_actor text, p_action text, p_object uuid, p_limit integer, p_offset integer)
returns setof private.audit_log
language plpgsql stable set search_path = '' as $$
begin
    return query execute pg_catalog.concat(
        'select a.* from private.audit_log as a where true',
        ' and a.actor = ' || pg_catalog.quote_literal(p_actor),
        case when p_action is not null then pg_catalog.format(
            -- An index range that contains the action and, for the part before a dot, all actions of that group.
            ' and a.action collate "C" between %1$L and %2$L and (a.action = %1$L or pg_catalog.starts_with(a.action, %3$L))',
            p_action, p_action || '/', p_action || '.'
        ) end,
        ' and a.object_id = ' || pg_catalog.quote_literal(p_object),
        ' order by a.seq desc limit $1 offset $2'
    ) using p_limit, p_offset;
end
$$;
comment on function private.audit_page(text, text, uuid, integer, integer) is 'Rows of the audit log, newest first.';

create function public.list_audit(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
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
    v_total bigint;
begin
    select count(*) into v_total from private.audit_page(v_actor, v_action, v_object, 10001, 0);
    return pg_catalog.jsonb_build_object(
        'entries', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'seq', a.seq, 'at', a.at, 'actor', a.actor, 'actor_name', private.actor_name(a.actor), 'action', a.action,
                        'object_type', a.object_type, 'object_id', a.object_id, 'payload', a.payload
                    ) order by a.seq desc
                ), '[]'
            )
            from private.audit_page(v_actor, v_action, v_object, v_size, (v_page - 1) * v_size) as a
        ),
        'total', least(v_total, 10000)
    ) || case when v_total > 10000 then '{"more": true}' else '{}' end::jsonb;
end
$$;
comment on function public.list_audit(jsonb) is
'The audit log, newest first; filters page, pageSize, adminId, action (also the part before a dot), objectId. Support administrators read their own rows. Errors: forbidden, session_ended.';
grant execute on function public.list_audit(jsonb) to platform_admin;

create function public.note_export(p_list text, p_filters jsonb) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
begin
    perform private.require_totp(v_admin);
    if v_admin.role = 'support_admin' and p_list <> 'audit' then
        perform private.raise_error(403, 'forbidden', 'A support admin can export the own actions only.');
    end if;
    perform private.audit('admin:' || v_admin.id, 'list.exported', null, null, pg_catalog.jsonb_build_object('list', p_list, 'filters', p_filters));
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.note_export(text, jsonb) is
'Call before exporting a list: checks who may, and writes an audit row. Errors: forbidden, two_step_required.';
grant execute on function public.note_export(text, jsonb) to platform_admin;

-- Members and their position in the referral tree. The table is private; the API reads the view public.profiles with
-- the caller's rights: the policy selects the rows, the view nulls the private columns of other members' rows. Do not
-- make it a security_barrier view: order and limit would not reach the indexes, and the policy is barrier enough. id,
-- user_id, referrer_id and created_at never change and a referrer always exists first: the tree has no cycles.
-- Autovacuum runs here and in deposits, bonuses, the journal and the queues after 1 to 2% of the rows changed, not
-- 20%: with a million members 20% is weeks of changes, and a reconciliation takes twice as long while index-only
-- scans visit the heap. The delta queues are emptied every minute, so the threshold is 1,000 dead rows; each e-mail
-- in the outbox is updated when it is sent, so there it is 200. The trigram indexes have a small pending list: an
-- approval pays for flushing it, and a search reads it.

create function private.member_search_text(p_username text, p_display_name text, p_email text) returns text
language sql immutable parallel safe as $$
    select lower(p_username || ' ' || p_display_name || ' ' || coalesce(p_email, ''))
$$;
comment on function private.member_search_text(text, text, text) is
'The text that a member search matches. Without a search_path, so that an index expression can inline it.';

create table private.profiles (
    id uuid primary key default gen_random_uuid(),
    -- No foreign key to auth.users: a closed account keeps its row, its position and its money rows.
    user_id uuid not null,
    username text not null check (username ~ '\A[A-Za-z0-9_]{3,30}\Z'),
    display_name text not null check (length(display_name) between 1 and 80),
    email text check (length(email) between 3 and 255),
    referrer_id uuid references private.profiles (id) on delete restrict,
    package_value public.usd not null default 0 check (package_value between 0 and 10000000),
    package_size public.usd generated always as (nullif(package_value, 0)) stored
    references private.packages (value) on delete restrict,
    package_approved boolean generated always as (package_value > 0) stored,
    cash_in_amount public.usd not null default 0 check (cash_in_amount >= 0),
    trc20_wallet_address text check (trc20_wallet_address = btrim(trc20_wallet_address) and length(trc20_wallet_address) between 1 and 128),
    account_verified boolean generated always as (
        email is not null and trc20_wallet_address is not null and package_value > 0 and cash_in_amount >= package_value
    ) stored,
    account_status public.account_status not null default 'active',
    admin_notes text check (length(admin_notes) <= 4000),
    created_at timestamptz not null default clock_timestamp(),
    depth integer not null check (depth >= 0),
    jump uuid not null references private.profiles (id) on delete restrict,
    hold_until timestamptz,
    hold_reason text check (hold_reason in ('wallet', 'email', 'password', 'factor')),
    closed_at timestamptz,
    constraint profiles_user_id_key unique (user_id),
    constraint no_self_referral check (referrer_id is distinct from id),
    constraint only_roots_have_depth_zero check ((referrer_id is null) = (depth = 0)),
    constraint a_hold_has_a_reason check ((hold_until is null) = (hold_reason is null))
) with (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02
);
comment on table private.profiles is
'Members. depth and jump answer "is this member in that downline" in logarithmic time (jump pointers).';
comment on column private.profiles.hold_until is 'Before this time withdrawals may be requested but not approved.';
alter table private.profiles enable row level security;
-- Usernames are unique regardless of case; also serves look-ups by username.
create unique index profiles_username_key on private.profiles (lower(username));
-- Direct referrals in order; also the foreign key.
create index profiles_referrer_idx on private.profiles (referrer_id, created_at, id);
-- Whole-table reads are ordered by created_at.
create index profiles_created_at_idx on private.profiles (created_at, id);
create index profiles_jump_idx on private.profiles (jump);
-- Finds other members with the same wallet, for the flag on a withdrawal.
create index profiles_wallet_idx on private.profiles (trc20_wallet_address) where trc20_wallet_address is not null;
create index profiles_email_idx on private.profiles (lower(email)) where email is not null;
-- Member search. The pending list is small, as in every trigram index that a decision updates.
create index profiles_search_idx on private.profiles
using gin (private.member_search_text(username, display_name, email) extensions.gin_trgm_ops) with (gin_pending_list_limit = 256);
create index profiles_unverified_idx on private.profiles (created_at, id) where not account_verified;
create index profiles_blocked_idx on private.profiles (account_status, created_at, id) where account_status <> 'active';
create index profiles_package_value_idx on private.profiles (package_value, created_at, id);
-- A stock client's look-up by the exact username, which the case-insensitive index cannot serve.
create index profiles_exact_username_idx on private.profiles (username);
-- The admin lists sorted by username, with the ids of a page.
create index profiles_by_username_idx on private.profiles (lower(username), id) include (username);

-- Policy helpers. Security definer, because an invoker function would evaluate the policy that calls it.

create function private.my_profile_id() returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
    return (select p.id from private.profiles as p where p.user_id = auth.uid());
end
$$;
comment on function private.my_profile_id() is 'Profile id of the caller; null without a profile.';
grant execute on function private.my_profile_id() to authenticated;

create function private.my_referrer_id() returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
    return (select p.referrer_id from private.profiles as p where p.user_id = auth.uid());
end
$$;
comment on function private.my_referrer_id() is 'Profile id of the caller''s referrer.';
grant execute on function private.my_referrer_id() to authenticated;

create function private.my_depth() returns integer
language plpgsql stable security definer set search_path = '' as $$
begin
    return (select p.depth from private.profiles as p where p.user_id = auth.uid());
end
$$;
comment on function private.my_depth() is 'Depth of the caller in the tree; a root has 0.';
grant execute on function private.my_depth() to authenticated;

create function private.is_in_downline(
    p_referrer uuid, p_jump uuid, p_depth integer, p_ancestor uuid, p_ancestor_depth integer
) returns boolean
language plpgsql stable security definer cost 1000 set search_path = '' as $$
declare
    v_next uuid;
    v_referrer uuid := p_referrer;
    v_jump uuid := p_jump;
    v_depth integer := p_depth;
    v_jump_depth integer;
begin
    if p_ancestor is null or p_depth <= p_ancestor_depth then
        return false;
    end if;
    -- Follow the jump pointer unless it passes the ancestor; else go up one step.
    while v_depth > p_ancestor_depth loop
        select j.depth into v_jump_depth from private.profiles as j where j.id = v_jump;
        if v_jump_depth >= p_ancestor_depth then
            v_next := v_jump;
            v_depth := v_jump_depth;
        else
            v_next := v_referrer;
            v_depth := v_depth - 1;
        end if;
        select p.referrer_id, p.jump into v_referrer, v_jump from private.profiles as p where p.id = v_next;
    end loop;
    return v_next is not distinct from p_ancestor;
end
$$;
comment on function private.is_in_downline(uuid, uuid, integer, uuid, integer) is
'Whether the member with this referrer, jump and depth is in the ancestor''s downline. Logarithmic in the depth.';
grant execute on function private.is_in_downline(uuid, uuid, integer, uuid, integer) to authenticated;

create policy select_own_line on private.profiles for select to authenticated using (
    user_id = (select auth.uid())
    or referrer_id = (select private.my_profile_id())
    or id = (select private.my_referrer_id())
    or (
        depth > (select private.my_depth())
        and private.is_in_downline(referrer_id, jump, depth, (select private.my_profile_id()), (select private.my_depth()))
    )
);
create policy select_all on private.profiles for select to platform_admin using (true);
-- SELECT alone grants nothing: without USAGE on the schema the tables cannot be named.
grant select on private.profiles to authenticated, platform_admin, service_role;

-- What the compensation engine reads, in a few integers a row: a million members fit in memory, and pairs are a merge
-- join of two index-only scans.
create table private.positions (
    no integer generated always as identity primary key,
    profile_id uuid not null unique references private.profiles (id) on delete restrict,
    user_id uuid not null unique references private.profiles (user_id) on delete restrict,
    referrer_no integer references private.positions (no) on delete restrict,
    child_no integer check (child_no > 0),
    pair_no integer generated always as ((child_no + 1) / 2) stored,
    is_left boolean generated always as (child_no % 2 = 1) stored,
    package_cents integer not null default 0 check (package_cents >= 0),
    paid_cents integer not null default 0 check (paid_cents in (0, package_cents)),
    children integer not null default 0 check (children >= 0),
    paid_order bigint unique,
    -- The included packages make a member's direct team one range of this index.
    constraint positions_referrer_child_key unique (referrer_no, child_no) include (package_cents, paid_cents),
    constraint roots_have_no_child_no check ((referrer_no is null) = (child_no is null))
) with (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02
);
comment on table private.positions is
'The referral tree in integers. child_no has no gaps under the referrer and never changes; paid_cents is the package of a funded member, else 0.';
comment on column private.positions.paid_order is
'Order in which members were funded for the first time: of a pair, the later one completed it.';
comment on column private.positions.children is
'Number of direct referrals; the next child_no is one more, assigned under the referrer''s row lock.';
alter table private.positions enable row level security;
-- Members without a referrer.
create index positions_roots_idx on private.positions (no) where referrer_no is null;
-- A computation of all bonuses reads pair owners in this order and needs only their referrer and package: with both
-- included it is a merge of three indexes without the table, in half the time.
create index positions_owner_idx on private.positions (no) include (referrer_no, package_cents, paid_cents);
-- One left and one right child per pair: with a unique index the merge join need not materialise rows.
create unique index positions_left_key on private.positions (referrer_no, pair_no) include (no, paid_cents) where is_left;
create unique index positions_right_key on private.positions (referrer_no, pair_no) include (no, paid_cents) where not is_left;

create sequence private.positions_paid_order_seq as bigint;
comment on sequence private.positions_paid_order_seq is 'Values of positions.paid_order.';

-- Materialised totals of a member's own money, so that a balance is one row. Only triggers on the source tables write
-- them.
create table private.totals (
    user_id uuid primary key references private.profiles (user_id) on delete restrict,
    referral_amount public.usd not null default 0,
    referral_count integer not null default 0,
    pairing_amount public.usd not null default 0,
    pairing_count integer not null default 0,
    override_amount public.usd not null default 0,
    override_count integer not null default 0,
    reentry_amount public.usd not null default 0,
    withdrawn_amount public.usd not null default 0,
    reserved_amount public.usd not null default 0,
    bonus_amount public.usd generated always as (referral_amount + pairing_amount + override_amount) stored,
    available_balance public.usd generated always as (
        greatest(0, referral_amount + pairing_amount + override_amount - withdrawn_amount)
    ) stored,
    requestable_amount public.usd generated always as (
        greatest(0, referral_amount + pairing_amount + override_amount - withdrawn_amount - reserved_amount)
    ) stored
) with (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, fillfactor = 80
);
comment on table private.totals is
'Totals of a member''s own bonuses, and of approved (withdrawn) and pending (reserved) withdrawals. available_balance = max(0, bonuses - approved withdrawals).';
alter table private.totals enable row level security;

create policy select_own on private.totals for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on private.totals for select to platform_admin using (true);
grant select on private.totals to authenticated, platform_admin, service_role;

create table private.username_reservations (
    username text not null,
    email text not null,
    until timestamptz not null
);
comment on table private.username_reservations is 'Usernames of unconfirmed sign-ups, reserved for 24 hours.';
alter table private.username_reservations enable row level security;
create unique index username_reservations_key on private.username_reservations (lower(username));

-- A view of one table: with a join, an insert would fail with 55000 instead of 42501.
create view public.profiles with (security_invoker) as
select
    p.id,
    p.user_id,
    p.username,
    p.display_name,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.email end as email,
    p.referrer_id,
    p.package_value,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.package_approved end
        as package_approved,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.cash_in_amount end
        as cash_in_amount,
    case
        when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role')))
            then (
                select t.available_balance from private.totals as t
                where t.user_id = p.user_id
            )
    end as available_balance,
    case
        when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.trc20_wallet_address
    end as trc20_wallet_address,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.account_verified end
        as account_verified,
    case when (p.user_id = (select auth.uid()) or (select current_user in ('platform_admin', 'service_role'))) then p.account_status end
        as account_status,
    case when (select current_user in ('platform_admin', 'service_role')) then p.admin_notes end as admin_notes,
    p.created_at
from private.profiles as p;
comment on view public.profiles is
'Members as the caller may see them: the own row in full; referrer and downline without private columns; administrators all.';
grant select on public.profiles to authenticated, platform_admin, service_role;
grant update (username, display_name, email, trc20_wallet_address) on public.profiles to authenticated;
-- Not granted: insert and delete to any role; update of money, status or tree columns to any role.

-- Rules of every row, whoever writes it.

create function private.lock_member(p_user_id uuid) returns private.profiles
language plpgsql volatile set search_path = '' as $$
declare
    v_member private.profiles;
begin
    select * into v_member from private.profiles as p where p.user_id = p_user_id for no key update;
    return v_member;
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
    return null;
end
$$;
comment on function private.lock_member(uuid) is 'Locks and returns a member; a null row when it does not exist. Errors: try_again.';

-- A custom plan is no better than the generic one for an array.
create function private.lock_members(p_user_ids uuid[]) returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = 'force_generic_plan' as $$
begin
    perform 1 from private.profiles as p where p.user_id = any(p_user_ids) order by p.id for no key update;
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_members(uuid[]) is
'Locks members in the order of their ids, so that two decisions never deadlock. Errors: try_again.';

create function private.profiles_set_ancestry() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_referrer private.profiles;
    v_jump private.profiles;
    v_far_depth integer;
    v_youngest timestamptz;
begin
    new.created_at := private.clock();
    new.depth := 0;
    new.jump := new.id;
    if new.referrer_id is null then
        return new;
    end if;
    -- Lock the referrer's row until the end: direct referrals are numbered one after the other.
    select * into v_referrer from private.profiles as p where p.id = new.referrer_id for no key update;
    if not found then
        perform private.raise_error(400, 'invalid_referral_code', 'Invalid referral code');
    end if;
    select max(p.created_at) into v_youngest from private.profiles as p where p.referrer_id = v_referrer.id;
    new.created_at := greatest(new.created_at, v_referrer.created_at + interval '1 microsecond', v_youngest + interval '1 microsecond');
    new.depth := v_referrer.depth + 1;
    select * into v_jump from private.profiles as p where p.id = v_referrer.jump;
    select p.depth into v_far_depth from private.profiles as p where p.id = v_jump.jump;
    new.jump := case
        when v_referrer.depth - v_jump.depth = v_jump.depth - v_far_depth then v_jump.jump
        else v_referrer.id
    end;
    return new;
end
$$;
comment on function private.profiles_set_ancestry() is
'Trigger: sets depth, jump pointer and a created_at after all siblings; the referrer must exist. Errors: invalid_referral_code.';

create function private.profiles_immutable() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.id, new.user_id, new.referrer_id, new.created_at, new.depth, new.jump)
        is distinct from (old.id, old.user_id, old.referrer_id, old.created_at, old.depth, old.jump) then
        perform private.raise_error(403, 'immutable', 'A member''s id, sponsor and place in the tree never change.');
    end if;
    if new.package_value < old.package_value and not private.is_being_corrected(new.user_id) then
        perform private.raise_error(403, 'immutable', 'You can only upgrade to a higher package. Downgrades are not allowed.');
    end if;
    return new;
end
$$;
comment on function private.profiles_immutable() is
'Trigger: identity and position never change; a package never decreases, except within a confirmed correction. Errors: immutable.';

create function private.profiles_create_position() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_referrer_no integer;
    v_child_no integer;
begin
    if new.referrer_id is not null then
        update private.positions as r set children = r.children + 1
        where r.profile_id = new.referrer_id
        returning r.no, r.children into v_referrer_no, v_child_no;
    end if;
    insert into private.positions (profile_id, user_id, referrer_no, child_no)
    values (new.id, new.user_id, v_referrer_no, v_child_no);
    insert into private.totals (user_id) values (new.user_id);
    perform private.increment_counter('profiles', 1);
    return null;
end
$$;
comment on function private.profiles_create_position() is
'Trigger: assigns the next child_no under the referrer and creates the member''s totals row.';

-- An approval updates half a dozen counters. Update those that change together in one statement and skip unchanged
-- ones, in every trigger that maintains counters.
create function private.profiles_sync_position() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_package integer := (new.package_value * 100)::integer;
    v_paid integer := case when new.package_value > 0 and new.cash_in_amount >= new.package_value then (new.package_value * 100)::integer else 0 end;
begin
    update private.positions as p set
        package_cents = v_package,
        paid_cents = v_paid,
        paid_order = case when v_paid > 0 then coalesce(p.paid_order, pg_catalog.nextval('private.positions_paid_order_seq')) else p.paid_order end
    where p.user_id = new.user_id and (p.package_cents, p.paid_cents) is distinct from (v_package, v_paid);
    if new.package_value <> old.package_value then
        insert into private.counter_deltas (name, delta)
        select c.name, c.delta
        from (
            values
            ('active_profiles', (new.package_value > 0)::integer - (old.package_value > 0)::integer),
            ('package_investment', new.package_value - old.package_value)
        ) as c (name, delta)
        where c.delta <> 0;
    end if;
    return null;
end
$$;
comment on function private.profiles_sync_position() is 'Trigger: copies package and cash-in to the member''s position.';

create function private.profiles_update_verified_counter() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.increment_counter('verified_profiles', case when new.account_verified then 1 else -1 end);
    return null;
end
$$;
comment on function private.profiles_update_verified_counter() is 'Trigger: counts verified members.';

create trigger _100_set_ancestry before insert on private.profiles for each row execute function private.profiles_set_ancestry();
create trigger _100_immutable before update on private.profiles for each row execute function private.profiles_immutable();
create trigger _100_reject_change before delete or truncate on private.profiles for each statement execute function private.reject_change();
create trigger _500_create_position after insert on private.profiles for each row execute function private.profiles_create_position();
create trigger _500_sync_position after update of package_value, cash_in_amount on private.profiles
for each row when ((old.package_value, old.cash_in_amount) is distinct from (new.package_value, new.cash_in_amount))
execute function private.profiles_sync_position();
create trigger _500_update_verified_counter after update on private.profiles
for each row when (old.account_verified is distinct from new.account_verified) execute function private.profiles_update_verified_counter();

create trigger _100_reject_change before delete or truncate on private.positions for each statement execute function private.reject_change();

-- Totals are updated in place (HOT): no index covers a column that changes with every bonus. The shortfall of members
-- who withdrew and requested more than they earned is a counter like the others.
create function private.totals_update_shortfall_counter() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.increment_counter(
        'shortfall',
        greatest(new.withdrawn_amount + new.reserved_amount - new.bonus_amount, 0)
        - greatest(old.withdrawn_amount + old.reserved_amount - old.bonus_amount, 0)
    );
    return null;
end
$$;
comment on function private.totals_update_shortfall_counter() is
'Trigger: updates the counter of what members withdrew and requested beyond their bonuses; only a correction causes a shortfall.';
create trigger _500_update_shortfall_counter after update on private.totals
for each row when (
    old.bonus_amount < old.withdrawn_amount + old.reserved_amount or new.bonus_amount < new.withdrawn_amount + new.reserved_amount
)
execute function private.totals_update_shortfall_counter();

-- Who may act, and for whom.

create function private.require_active_status(p_status public.account_status) returns void
language plpgsql immutable set search_path = '' as $$
begin
    case p_status
        when 'disabled' then
            perform private.raise_error(403, 'account_disabled', 'Your account has been disabled. Please contact support for assistance.');
        when 'suspended' then
            perform private.raise_error(403, 'account_suspended', 'Your account has been suspended. Please contact support for assistance.');
        when 'pending' then
            perform private.raise_error(403, 'account_pending', 'Your account is pending. Deposits and withdrawals open once it is active.');
        else null;
    end case;
end
$$;
comment on function private.require_active_status(public.account_status) is
'Raises unless the account is active. Errors: account_disabled, account_suspended, account_pending.';

create function private.require_owner(p_user_id uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
    -- Check before reading or locking: BEFORE triggers run before the policy.
    if auth.uid() is not null and p_user_id is distinct from auth.uid() then
        perform private.raise_error(403, 'not_yours', 'You can only make requests for yourself.');
    end if;
end
$$;
comment on function private.require_owner(uuid) is 'Raises when a signed-in caller acts for another member. Errors: not_yours.';

create function private.require_member() returns private.profiles
language plpgsql stable security definer set search_path = '' as $$
declare
    v_profile private.profiles;
begin
    select p.* into v_profile from private.profiles as p where p.user_id = auth.uid();
    if v_profile.id is null then
        perform private.raise_error(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    return v_profile;
end
$$;
comment on function private.require_member() is
'The caller''s profile. Errors: profile_not_found for a signed-in user without a member account.';

-- Usernames. Reserved ones would let a member pose as the operator or as a closed account.
create function private.username_error(p_username text) returns text
language sql immutable set search_path = '' as $$
    select case
        when p_username is null or p_username = '' then 'Please fill in all required fields'
        when p_username !~ '\A[A-Za-z0-9_]{3,30}\Z'
            then 'A username has 3 to 30 characters: letters, digits and underscores only.'
        when pg_catalog.lower(p_username) ~ '\A(closed_.*|_+|admin(istrator)?s?|root|support|help|staff|team|moderator|operator|owner|system|security|official|finance|billing|payments?|service|company|null|undefined|anonymous|unknown|me|api|harborline)\Z'
            then 'This username is reserved. Please choose a different username.'
    end
$$;
comment on function private.username_error(text) is 'The error message for an invalid username; null when it is valid.';

create function private.username_taken(p_username text, p_email text) returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return (
        select exists (select 1 from private.profiles as p where pg_catalog.lower(p.username) = pg_catalog.lower(p_username))
            or exists (
                select 1 from private.username_reservations as r
                where pg_catalog.lower(r.username) = pg_catalog.lower(p_username)
                    and r.until > pg_catalog.clock_timestamp()
                    and r.email is distinct from pg_catalog.lower(p_email)
            )
    );
end
$$;
comment on function private.username_taken(text, text) is
'Whether a member has the username, or a sign-up with another e-mail reserved it.';

create function private.is_display_name(p_name text) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
    return pg_catalog.length(p_name) <= 80
        -- Joiners belong to the spelling of names in Persian and in Indic scripts.
        and private.is_readable(pg_catalog.regexp_replace(p_name, '[\u200c\u200d]', '', 'g'))
        -- Require a visible character besides spaces, fillers and joiners.
        and p_name ~ '[^ \u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u200c\u200d\u202f\u205f\u2800\u3000\u3164\ufe00-\ufe0f\uffa0]';
end
$$;
comment on function private.is_display_name(text) is
'Whether a trimmed text is a valid display name: up to 80 visible characters on one line.';

-- A member's changes of the own profile.

create function private.profiles_update() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_stored private.profiles;
    v_new private.profiles;
begin
    if private.my_role() is distinct from 'authenticated' or old.user_id is distinct from auth.uid() then
        return null;
    end if;
    v_stored := private.lock_member(old.user_id);
    v_new := v_stored;
    if new.username is distinct from old.username then
        v_new.username := private.validate_username(new.username, v_stored);
    end if;
    if new.display_name is distinct from old.display_name then
        v_new.display_name := private.validate_display_name(new.display_name);
    end if;
    if new.email is distinct from old.email then
        perform private.validate_email_change(new.email, v_stored);
    end if;
    if new.trc20_wallet_address is distinct from old.trc20_wallet_address then
        v_new.trc20_wallet_address := private.validate_wallet(new.trc20_wallet_address, v_stored);
    end if;
    begin
        update private.profiles as p set
            username = v_new.username, display_name = v_new.display_name, trc20_wallet_address = v_new.trc20_wallet_address
        where p.id = v_stored.id and (p.username, p.display_name, p.trc20_wallet_address)
            is distinct from (v_new.username, v_new.display_name, v_new.trc20_wallet_address);
    exception when unique_violation then
        perform private.raise_error(409, 'username_taken', 'Username already exists. Please choose a different username.');
    end;
    if v_stored.trc20_wallet_address is distinct from v_new.trc20_wallet_address then
        perform private.record_wallet_change(v_stored, v_new.trc20_wallet_address);
    end if;
    new.username := v_new.username;
    new.display_name := v_new.display_name;
    new.email := v_stored.email;
    new.trc20_wallet_address := v_new.trc20_wallet_address;
    return new;
end
$$;
comment on function private.profiles_update() is
'Trigger of the view: a member changes the own username, display name and wallet; the e-mail follows the sign-in address. Ignores other members'' rows. Errors: fields_required, invalid_username, username_taken, confirm_email_change, wallet_required, invalid_wallet, reauthentication_needed.';

create function private.validate_username(p_username text, p_member private.profiles) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_error text := private.username_error(p_username);
begin
    if v_error is not null then
        perform private.raise_error(400, case when coalesce(p_username, '') = '' then 'fields_required' else 'invalid_username' end, v_error);
    end if;
    if pg_catalog.lower(p_username) <> pg_catalog.lower((p_member).username) and private.username_taken(p_username, (p_member).email) then
        perform private.raise_error(409, 'username_taken', 'Username already exists. Please choose a different username.');
    end if;
    return p_username;
end
$$;
comment on function private.validate_username(text, private.profiles) is
'Validates a member''s new username. Errors: fields_required, invalid_username, username_taken.';

create function private.validate_display_name(p_display_name text) returns text
language plpgsql immutable set search_path = '' as $$
declare
    v_name text := pg_catalog.btrim(p_display_name);
begin
    if coalesce(v_name, '') = '' then
        perform private.raise_error(400, 'fields_required', 'Please fill in all required fields');
    end if;
    if not private.is_display_name(v_name) then
        perform private.raise_error(400, 'invalid_display_name', 'A name has at most 80 characters, on one line.');
    end if;
    return v_name;
end
$$;
comment on function private.validate_display_name(text) is
'Validates a member''s new display name. Errors: fields_required, invalid_display_name.';

create function private.validate_email_change(p_email text, p_member private.profiles) returns void
language plpgsql stable set search_path = '' as $$
begin
    if coalesce(pg_catalog.btrim(p_email), '') = '' then
        perform private.raise_error(400, 'fields_required', 'Please fill in all required fields');
    end if;
    if not exists (
        select 1 from auth.users as u
        where u.id = (p_member).user_id
            and pg_catalog.lower(pg_catalog.btrim(p_email)) in (pg_catalog.lower(u.email), pg_catalog.lower(nullif(u.email_change, '')))
    ) then
        perform private.raise_error(422, 'confirm_email_change', 'Change your e-mail address first, then confirm it from your mailbox.');
    end if;
end
$$;
comment on function private.validate_email_change(text, private.profiles) is
'Accepts the current address and one that awaits confirmation; the stored address follows the confirmed one. Errors: fields_required, confirm_email_change.';

create function private.validate_wallet(p_wallet text, p_member private.profiles) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_wallet text := pg_catalog.btrim(p_wallet);
begin
    if coalesce(v_wallet, '') = '' then
        perform private.raise_error(400, 'wallet_required', 'Wallet address required');
    end if;
    if pg_catalog.length(v_wallet) > 128 or not private.is_readable(v_wallet) then
        perform private.raise_error(400, 'invalid_wallet', 'This is not a wallet address. Check it and try again.');
    end if;
    if private.setting('wallet.strict') = 'true' and not private.is_trc20_address(v_wallet) then
        perform private.raise_error(422, 'invalid_wallet', 'This is not a TRC20 address. Check it character by character.');
    end if;
    if (p_member).trc20_wallet_address <> v_wallet and not private.signed_in_recently() then
        perform private.raise_error(403, 'reauthentication_needed', 'Sign in again to change your wallet address.');
    end if;
    return v_wallet;
end
$$;
comment on function private.validate_wallet(text, private.profiles) is
'Validates a member''s new wallet. Replacing one needs a recent sign-in. Errors: wallet_required, invalid_wallet, reauthentication_needed.';

create function private.record_wallet_change(p_before private.profiles, p_wallet text) returns void
language plpgsql volatile set search_path = '' as $$
begin
    if (p_before).trc20_wallet_address is not null then
        perform private.place_withdrawal_hold((p_before).user_id, 'wallet');
        perform private.notify_member(
            (p_before).user_id, 'wallet_changed', 'Your wallet address was changed',
            pg_catalog.format(
                'Withdrawals now go to %s. They can be requested at once and are approved 24 hours from now at the earliest. If this was not you, change your password and contact support.',
                p_wallet
            ),
            null, '/settings'
        );
    end if;
    perform private.audit(
        'member:' || (p_before).user_id, 'member.wallet_changed', 'profile', (p_before).id,
        pg_catalog.jsonb_build_object('from', (p_before).trc20_wallet_address, 'to', p_wallet)
    );
end
$$;
comment on function private.record_wallet_change(private.profiles, text) is
'After a changed wallet: places a hold, notifies the member, writes an audit row. The first wallet causes no hold.';

create trigger _100_update instead of update on public.profiles for each row execute function private.profiles_update();

-- How far an account is set up. The dashboard and both forms call the same functions, so that they never disagree.
-- These functions only read: the validation triggers of public.deposits and public.withdrawals decide.

create function private.verification_result(p_profile private.profiles) returns jsonb
language plpgsql immutable set search_path = '' as $$
declare
    v_has_profile boolean := (p_profile).username is not null and (p_profile).email is not null;
    v_has_wallet boolean := (p_profile).trc20_wallet_address is not null;
    v_is_active boolean := (p_profile).account_status = 'active';
    v_is_paid boolean := (p_profile).package_value > 0 and (p_profile).cash_in_amount >= (p_profile).package_value;
    v_step text := case
        when not v_has_profile then 'profile'
        when not v_has_wallet then 'wallet'
        when not v_is_paid then 'package'
        else 'complete'
    end;
begin
    return pg_catalog.jsonb_build_object(
        'hasProfile', v_has_profile,
        'hasWallet', v_has_wallet,
        'hasVerifiedAccount', v_step = 'complete',
        'canDeposit', v_has_profile and v_has_wallet and v_is_active,
        'canWithdraw', v_step = 'complete' and v_is_active,
        'cashInAmount', private.money((p_profile).cash_in_amount),
        'packageValue', private.money((p_profile).package_value),
        'sufficientCashIn', v_is_paid,
        'verificationStep', v_step,
        'stepMessage', case
            when v_step = 'profile' then 'Complete your profile with username and email'
            when v_step = 'wallet' then 'Add your TRC-20 wallet address for withdrawals'
            when v_step = 'complete' then 'Account fully verified and ready'
            when (p_profile).package_value = 0 then 'Select a package and make your first deposit'
            else pg_catalog.format(
                'Complete your package deposit (%s/%s)',
                private.dollars((p_profile).cash_in_amount), private.dollars((p_profile).package_value)
            )
        end
    );
end
$$;
comment on function private.verification_result(private.profiles) is
'Verification step of a member: profile, wallet, package or complete. A pending account may neither deposit nor withdraw.';

create function private.balance_figures(p_totals private.totals, p_profile private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.jsonb_build_object(
        'available', private.money((p_totals).available_balance),
        'reserved', private.money((p_totals).reserved_amount),
        'requestable', private.money((p_totals).requestable_amount),
        'approved_withdrawals', private.money((p_totals).withdrawn_amount),
        'hold_until', case when (p_profile).hold_until > pg_catalog.now() then (p_profile).hold_until end
    );
end
$$;
comment on function private.balance_figures(private.totals, private.profiles) is
'available = max(0, bonuses - approved withdrawals); requestable also subtracts pending requests.';

-- Close an account. Profiles are closed, never deleted: position, money rows and other members' bonuses depend on
-- them. Lock rows of schema auth before the member's row, here and when ending sessions; the other order deadlocks
-- with a deletion, whose cascade locks the sessions first.

create function private.end_sessions(p_user_id uuid) returns void
language sql volatile set search_path = '' as $$
    delete from auth.sessions as s where s.user_id = p_user_id
$$;
comment on function private.end_sessions(uuid) is 'Ends all sessions of a member; the next request is rejected. Always the first lock.';

create function private.close_profile(p_user_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_member private.profiles := private.lock_member(p_user_id);
    v_now timestamptz := private.clock();
begin
    if v_member.id is null or v_member.closed_at is not null then
        return;
    end if;
    update public.deposits as d set status = 'rejected', admin_notes = 'Account closed', decided_at = v_now
    where d.user_id = p_user_id and d.status = 'pending';
    update public.withdrawals as w set status = 'rejected', admin_notes = 'Account closed', decided_at = v_now
    where w.user_id = p_user_id and w.status = 'pending';
    delete from private.bot_secrets as b using public.bot_subscriptions as s
    where s.id = b.subscription_id and s.user_id = p_user_id;
    update public.bot_subscriptions as s set status = 'cancelled', mt5_password_length = null, updated_at = v_now
    where s.user_id = p_user_id and s.status <> 'cancelled';
    update private.profiles as p set
        account_status = 'disabled',
        username = private.closed_username(p.id),
        display_name = 'Closed account',
        email = null,
        trc20_wallet_address = null,
        hold_until = null,
        hold_reason = null,
        closed_at = v_now
    where p.id = v_member.id;
    perform private.audit('member:' || p_user_id, 'member.closed', 'profile', v_member.id);
end
$$;
comment on function private.close_profile(uuid) is
'Closes a member: clears username, e-mail and wallet, rejects pending requests with ''Account closed'', erases MT5 passwords. Position, money and bonuses stay.';

create function private.closed_username(p_id uuid) returns text
language sql stable set search_path = '' as $$
    -- Eight digits of the id; more when another closed account has the same ones.
    select 'closed_' || pg_catalog.left(hex.digits, n.digits)
    from (select pg_catalog.replace(p_id::text, '-', '') as digits) as hex
    cross join pg_catalog.generate_series(8, 23) as n (digits)
    where not exists (
        select 1 from private.profiles as p
        where pg_catalog.lower(p.username) = 'closed_' || pg_catalog.left(hex.digits, n.digits)
    )
    order by n.digits
    limit 1
$$;
comment on function private.closed_username(uuid) is 'Username of a closed account.';

create function private.users_close_profile() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if tg_op = 'UPDATE' then
        perform private.end_sessions(old.id);
    end if;
    perform private.close_profile(old.id);
    return null;
end
$$;
comment on function private.users_close_profile() is 'Trigger: closes the member of a deleted account in the same transaction.';

create trigger harborline_deleted after delete on auth.users for each row execute function private.users_close_profile();
create trigger harborline_soft_deleted after update of deleted_at on auth.users
for each row when (old.deleted_at is null and new.deleted_at is not null) execute function private.users_close_profile();

-- Members in the admin panel: the list with its four cards, and one member with statistics. Every role reads; only
-- notes and account status can be changed, never money, package or position. Suspending and disabling end all
-- sessions first, because rows of schema auth are locked before the member's row.

create function private.member_item(p_member private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object(
            'id', (p_member).id,
            'user_id', (p_member).user_id,
            'username', (p_member).username,
            'display_name', (p_member).display_name,
            'email', (p_member).email,
            'referrer_id', (p_member).referrer_id,
            'trc20_wallet_address', (p_member).trc20_wallet_address,
            'package_value', private.money((p_member).package_value),
            'package_approved', (p_member).package_approved,
            'cash_in_amount', private.money((p_member).cash_in_amount),
            'available_balance', private.money(t.available_balance),
            'account_status', (p_member).account_status,
            'account_verified', (p_member).account_verified,
            'admin_notes', (p_member).admin_notes,
            'hold_until', case when (p_member).hold_until > pg_catalog.now() then (p_member).hold_until end,
            'created_at', (p_member).created_at
        )
        from private.totals as t where t.user_id = (p_member).user_id
    );
end
$$;
comment on function private.member_item(private.profiles) is 'A member as an item of the admin list. Money as text.';

create function private.member_conditions(p_filters jsonb, p_status text) returns text
language plpgsql immutable set search_path = '' as $$
declare
    v_package text := nullif(nullif(p_filters ->> 'package', ''), 'all');
    v_verified text := nullif(nullif(p_filters ->> 'verified', ''), 'all');
begin
    if p_status not in ('active', 'pending', 'suspended', 'disabled') or v_package !~ '\A[0-9]{1,8}(\.[0-9]{1,2})?\Z'
        or v_verified not in ('true', 'false') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such filter.');
    end if;
    return pg_catalog.concat(
        ' where true',
        ' and r.account_status = ' || pg_catalog.quote_literal(p_status) || '::public.account_status',
        ' and r.package_value = ' || pg_catalog.quote_literal(v_package) || '::numeric',
        case v_verified when 'true' then ' and r.account_verified' when 'false' then ' and not r.account_verified' end
    );
end
$$;
comment on function private.member_conditions(jsonb, text) is
'The where clause of the filters package, status and verified. Errors: invalid_filter.';

create function public.list_members(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['created_at', 'username', 'package_value']);
    v_where text := private.member_conditions(p_filters, v_request.status);
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
        ('package_value', 'r.package_value, r.created_at, r.id', 'r.package_value desc, r.created_at desc, r.id desc')
    ) as o (name, up, down)
    where o.name = v_request.sort_by;
    if v_request.descending then
        select v_reversed, v_order into v_order, v_reversed;
    end if;
    if v_request.pattern is null then
        v_page := private.member_page(v_where, v_order, v_reversed, v_request);
    else
        v_matches := 'from private.profiles as r' || v_where || ' and private.member_search_text(r.username, r.display_name, r.email) like $1';
        v_page := private.search_page('private.profiles', v_matches, v_matches, v_order, v_reversed, v_request);
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
$$;
comment on function public.list_members(jsonb) is
'Administrators: members, newest first, 25 a page. Filters: page, pageSize, search (username, name, e-mail), status, package, verified (true, false), sort (created_at, username, package_value). Errors: forbidden, session_ended, invalid_filter.';
grant execute on function public.list_members(jsonb) to platform_admin;

-- Two filters match nearly all members: active, and verified. Their totals come from counters, or are all members
-- minus the few in a partial index.
create function private.member_page(
    p_where text, p_order text, p_reversed text, p_request private.list_request,
    out ids uuid[], out total bigint, out more boolean
)
language plpgsql stable set search_path = '' as $$
begin
    case p_where
        when ' where true' then
            total := private.counter_value('profiles')::bigint;
        when ' where true and r.account_verified' then
            total := private.counter_value('verified_profiles')::bigint;
        when ' where true and not r.account_verified' then
            total := (private.counter_value('profiles') - private.counter_value('verified_profiles'))::bigint;
        when ' where true and r.account_status = ''active''::public.account_status' then
            total := private.counter_value('profiles')::bigint
                - (select count(*) from private.profiles as p where p.account_status <> 'active');
        else
            execute 'select count(*) from private.profiles as r' || p_where into total;
    end case;
    ids := private.page_ids('from private.profiles as r' || p_where, p_order, p_reversed, p_request, total);
    more := false;
end
$$;
comment on function private.member_page(text, text, text, private.list_request) is
'One page of members without a search, with the exact total. p_where comes from private.member_conditions().';

create function public.get_member(p_profile_id uuid) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles;
    v_totals private.totals;
    v_children integer;
    v_referrer jsonb;
begin
    perform private.require_admin();
    select p.* into v_member from private.profiles as p where p.id = p_profile_id;
    if v_member.id is null then
        perform private.raise_error(404, 'not_found', 'There is no such member.');
    end if;
    select t.* into v_totals from private.totals as t where t.user_id = v_member.user_id;
    select o.children into v_children from private.positions as o where o.profile_id = v_member.id;
    select pg_catalog.jsonb_build_object('id', s.id, 'username', s.username, 'display_name', s.display_name)
    into v_referrer
    from private.profiles as s where s.id = v_member.referrer_id;
    return private.member_item(v_member) || pg_catalog.jsonb_build_object(
        'sponsor', v_referrer,
        'wallet_checksum_ok', case
            when v_member.trc20_wallet_address is not null then private.is_trc20_address(v_member.trc20_wallet_address)
        end,
        'statistics', pg_catalog.jsonb_build_object(
            'total_bonuses', private.money(v_totals.bonus_amount),
            'total_deposits', private.money(v_member.cash_in_amount),
            'total_withdrawals', private.money(v_totals.withdrawn_amount),
            'direct_referrals', v_children,
            'net_balance', private.money(v_member.cash_in_amount - v_totals.withdrawn_amount + v_totals.bonus_amount)
        )
    );
end
$$;
comment on function public.get_member(uuid) is
'Administrators: one member with statistics; net balance = deposits - withdrawals + bonuses, approved ones that count. Errors: forbidden, session_ended, not_found.';
grant execute on function public.get_member(uuid) to platform_admin;

create function private.require_status_change(
    p_role public.admin_role, p_from public.account_status, p_to public.account_status
) returns void
language plpgsql immutable set search_path = '' as $$
begin
    if p_role = 'super_admin' then
        return;
    end if;
    if 'disabled' in (p_from, p_to) then
        perform private.raise_error(403, 'forbidden', 'Only a super admin can disable an account or lift a disable.');
    end if;
    if p_to not in ('active', 'suspended') then
        perform private.raise_error(403, 'forbidden', 'Only a super admin can set this status.');
    end if;
end
$$;
comment on function private.require_status_change(public.admin_role, public.account_status, public.account_status) is
'Every role may suspend and reactivate; only a super_admin may disable and re-enable. Errors: forbidden.';

create function public.update_member(p_profile_id uuid, p_account_status text, p_admin_notes text, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_user uuid := (select p.user_id from private.profiles as p where p.id = p_profile_id);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_before private.profiles;
    v_after private.profiles;
begin
    perform private.require_totp(v_admin);
    if v_user is null then
        perform private.raise_error(404, 'not_found', 'There is no such member.');
    end if;
    if p_account_status is not null and p_account_status not in ('active', 'pending', 'suspended', 'disabled') then
        perform private.raise_error(400, 'invalid_input', 'There is no such account status.');
    end if;
    if p_account_status in ('suspended', 'disabled') then
        perform private.end_sessions(v_user);
    end if;
    v_before := private.lock_member(v_user);
    if v_before.closed_at is not null then
        perform private.raise_error(409, 'account_closed', 'This account is closed.');
    end if;
    if p_account_status is distinct from v_before.account_status::text and p_account_status is not null then
        perform private.require_status_change(v_admin.role, v_before.account_status, p_account_status::public.account_status);
        if v_reason is null then
            perform private.raise_error(400, 'reason_required', 'Give a reason.');
        end if;
    end if;
    update private.profiles as p set
        account_status = coalesce(p_account_status::public.account_status, p.account_status),
        admin_notes = case when p_admin_notes is null then p.admin_notes else nullif(pg_catalog.btrim(p_admin_notes), '') end
    where p.id = p_profile_id
    returning p.* into v_after;
    if v_after.account_status is distinct from v_before.account_status then
        perform private.notify_member(
            v_user, 'account_' || v_after.account_status, pg_catalog.format('Your account is %s', v_after.account_status), v_reason, null, '/dashboard'
        );
    end if;
    perform private.audit(
        'admin:' || v_admin.id, 'member.updated', 'profile', p_profile_id,
        pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
            'status_before', nullif(v_before.account_status::text, v_after.account_status::text),
            'status_after', nullif(v_after.account_status::text, v_before.account_status::text),
            'notes_changed', nullif(v_after.admin_notes is distinct from v_before.admin_notes, false),
            'reason', v_reason
        ))
    );
    return pg_catalog.jsonb_build_object(
        'success', true,
        'profile', pg_catalog.to_jsonb(v_after) - array['depth', 'jump', 'package_size'] || pg_catalog.jsonb_build_object(
            'package_value', private.money(v_after.package_value), 'cash_in_amount', private.money(v_after.cash_in_amount)
        )
    );
end
$$;
comment on function public.update_member(uuid, text, text, text) is
'Updates notes and account status of a member. A changed status needs a reason, is notified to the member, and ends all sessions when it blocks. Errors: forbidden, two_step_required, not_found, invalid_input, account_closed, reason_required.';
grant execute on function public.update_member(uuid, text, text, text) to platform_admin;

-- Sign-up. The auth service calls the hook before it creates an account: the hook validates the referrer and reserves
-- the username. The profile is created in the transaction that first confirms the e-mail address, so that an
-- unconfirmed account has no position in the tree and loses its username after a day. That trigger must never fail:
-- it runs when a person follows a confirmation link.

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

create function private.sign_up_error(p_status integer, p_message text) returns jsonb
language sql immutable set search_path = '' as $$
    select pg_catalog.jsonb_build_object('error', pg_catalog.jsonb_build_object('http_code', p_status, 'message', p_message))
$$;
comment on function private.sign_up_error(integer, text) is 'An error in the form of the hook: an exception would become a 500.';

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
        return private.sign_up_error(400, 'Referral code is required for registration');
    end if;
    if (private.referrer_by_code(pg_catalog.btrim(v_data ->> 'referrer_id'))).id is null then
        return private.sign_up_error(400, 'Invalid referral code');
    end if;
    if coalesce(v_email, '') = '' or coalesce(v_display_name, '') = '' then
        return private.sign_up_error(400, 'Please fill in all required fields');
    end if;
    v_error := private.username_error(v_username);
    if v_error is not null then
        return private.sign_up_error(400, v_error);
    end if;
    if not private.is_display_name(v_display_name) then
        return private.sign_up_error(400, 'A name has at most 80 characters, on one line.');
    end if;
    if exists (select 1 from private.profiles as p where pg_catalog.lower(p.username) = pg_catalog.lower(v_username)) then
        return private.sign_up_error(400, 'Username already exists. Please choose a different username.');
    end if;
    -- One statement arbitrates between concurrent sign-ups with the same username.
    insert into private.username_reservations as r (username, email, until)
    values (v_username, v_email, pg_catalog.clock_timestamp() + interval '24 hours')
    on conflict (pg_catalog.lower(username)) do update
        set username = excluded.username, email = excluded.email, until = excluded.until
        where r.until < pg_catalog.clock_timestamp() or r.email = excluded.email;
    if not found then
        return private.sign_up_error(400, 'Username already exists. Please choose a different username.');
    end if;
    return '{}'::jsonb;
end
$$;
comment on function hooks.before_user_created(jsonb) is
'Validates referrer, name and username of a sign-up and reserves the username for 24 hours. Ignores money, status and role in the metadata.';
grant execute on function hooks.before_user_created(jsonb) to supabase_auth_admin;

create function private.create_profile(p_user_id uuid, p_email text, p_username text, p_display_name text, p_referrer_id uuid) returns uuid
language plpgsql volatile set search_path = '' as $$
declare
    v_id uuid := pg_catalog.gen_random_uuid();
begin
    insert into private.profiles (id, user_id, username, display_name, email, referrer_id, depth, jump)
    values (v_id, p_user_id, p_username, p_display_name, pg_catalog.lower(p_email), p_referrer_id, 0, v_id);
    delete from private.username_reservations as r where pg_catalog.lower(r.username) = pg_catalog.lower(p_username);
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
'Creates the profile of a confirmed account from its sign-up metadata; null when that has no referrer or username.';

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

create function public.get_sponsor(p_referral_code text) returns table (id uuid, username text, display_name text)
language plpgsql volatile security definer set search_path = '' as $$
begin
    if not private.consume_rate_limit('sponsor', private.client_address(), 60, interval '5 minutes') then
        perform private.raise_error(429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.');
    end if;
    return query
    select p.id, p.username, p.display_name from private.profiles as p
    where p.account_status <> 'disabled'
        and p.id = coalesce(
            (private.referrer_by_code(pg_catalog.btrim(p_referral_code))).id,
            (select q.id from private.profiles as q where pg_catalog.lower(q.username) = pg_catalog.lower(pg_catalog.btrim(p_referral_code)))
        );
end
$$;
comment on function public.get_sponsor(text) is
'The member with a referral code (profile id or exact username): one row or none. Errors: too_many_requests.';
grant execute on function public.get_sponsor(text) to anon, authenticated, platform_admin;

create function public.is_username_available(p_username text) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
    if not private.consume_rate_limit('username', private.client_address(), 30, interval '5 minutes') then
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

-- Changes of credentials or wallet: notify the member and hold withdrawals for a day (requests stay possible). The
-- auth service writes its own tables; triggers on them do this in the same transaction.

create function private.place_withdrawal_hold(p_user_id uuid, p_reason text) returns void
language plpgsql volatile set search_path = '' as $$
begin
    update private.profiles as p set hold_until = pg_catalog.clock_timestamp() + interval '24 hours', hold_reason = p_reason
    where p.user_id = p_user_id and p.closed_at is null;
end
$$;
comment on function private.place_withdrawal_hold(uuid, text) is 'For 24 hours withdrawals may be requested but not approved.';

create function private.signed_in_recently() returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return (
        select coalesce(claims.jwt ->> 'aal' = 'aal2', false) or exists (
            select 1 from pg_catalog.jsonb_array_elements(
                case when pg_catalog.jsonb_typeof(claims.jwt -> 'amr') = 'array' then claims.jwt -> 'amr' else '[]' end
            ) as m (method)
            where m.method ->> 'method' = 'password'
                and pg_catalog.to_timestamp((m.method ->> 'timestamp')::numeric) > pg_catalog.clock_timestamp() - interval '10 minutes'
        )
        from (select nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::jsonb as jwt) as claims
    );
end
$$;
comment on function private.signed_in_recently() is
'Whether the caller used a second factor, or signed in with the password less than ten minutes ago.';

create function private.notify_security_change(p_user_id uuid, p_kind text, p_title text, p_hold_reason text) returns void
language plpgsql volatile set search_path = '' as $$
begin
    if not exists (select 1 from private.profiles as p where p.user_id = p_user_id and p.closed_at is null) then
        return;
    end if;
    if p_hold_reason is not null then
        perform private.place_withdrawal_hold(p_user_id, p_hold_reason);
    end if;
    perform private.notify_member(
        p_user_id, p_kind, p_title, pg_catalog.concat_ws(
            ' ', case when p_hold_reason is not null then 'Withdrawals can be requested at once and are approved 24 hours from now at the earliest.' end,
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
$$;
comment on function private.users_sync_email() is
'Trigger: copies the confirmed sign-in address to the profile and holds withdrawals for a day.';

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
    perform private.notify_security_change(new.user_id, 'factor_added', 'An authenticator was added to your account', null);
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
        perform private.raise_error(404, 'not_found', 'No change of your e-mail address is waiting.');
    end if;
    delete from auth.one_time_tokens as t
    where t.user_id = v_user_id and t.token_type in ('email_change_token_new', 'email_change_token_current');
    return pg_catalog.jsonb_build_object('success', true);
end
$$;
comment on function public.cancel_email_change() is
'Cancels the caller''s pending change of e-mail address; its links stop working. Errors: not_found.';
grant execute on function public.cancel_email_change() to authenticated;

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
    perform private.end_sessions(v_user);
    perform private.place_withdrawal_hold(v_user, 'factor');
    perform private.audit(
        'admin:' || v_admin.id, 'member.factors_removed', 'profile', p_profile_id, pg_catalog.jsonb_build_object('reason', v_reason)
    );
    return pg_catalog.jsonb_build_object('user_id', v_user);
end
$$;
comment on function public.start_factor_removal(uuid, text) is
'Super admin: ends a member''s sessions, holds withdrawals for a day and writes an audit row, before the auth service deletes the factors. Errors: forbidden, not_found, reason_required.';
grant execute on function public.start_factor_removal(uuid, text) to platform_admin;

-- The check before each request: PostgREST calls it as its pre-request function, functions and storage call it in
-- their transactions. It has a schema of its own because the calling role needs USAGE there. It queries the current
-- state, so that a sign-out, a block, a new second factor or a deactivation takes effect with the next request.

create function pre_request.check_request() returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_role text := pg_catalog.current_setting('role', true);
    v_claims jsonb;
begin
    if v_role in ('anon', 'service_role') then
        return;
    end if;
    v_claims := nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::jsonb;
    -- PostgREST accepts a token without an audience.
    if v_claims -> 'aud' is null or not (v_claims -> 'aud' ? 'authenticated') then
        perform private.raise_error(401, 'invalid_token', 'Your sign-in is not valid here. Sign in again.');
    end if;
    if v_role = 'authenticated' then
        perform private.check_member_session(v_claims);
    elsif v_role = 'platform_admin' then
        perform private.check_administrator_session(v_claims);
    else
        perform private.raise_error(403, 'forbidden', 'You are not allowed to do this.');
    end if;
end
$$;
comment on function pre_request.check_request() is
'Raises for ended sessions (401 session_ended), blocked members (403 account_suspended, account_disabled), a missing second factor (403 aal2_required) and tokens without audience (401 invalid_token). A blocked member may still call rpc/get_my_account_status.';
grant execute on function pre_request.check_request() to anon, authenticated, platform_admin, service_role;

create function private.uuid_claim(p_claims jsonb, p_name text) returns uuid
language plpgsql immutable set search_path = '' as $$
begin
    return (select case when p_claims ->> p_name ~* '\A[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z' then (p_claims ->> p_name)::uuid end);
end
$$;
comment on function private.uuid_claim(jsonb, text) is 'A claim as a uuid; null when it is not one.';

create function private.check_member_session(p_claims jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
    v_found record;
begin
    select
        p.account_status,
        exists (select 1 from auth.mfa_factors as f where f.user_id = s.user_id and f.status = 'verified') as has_factor
    into v_found
    from auth.sessions as s
    left join private.profiles as p on p.user_id = s.user_id
    where s.id = private.uuid_claim(p_claims, 'session_id')
        and s.user_id = private.uuid_claim(p_claims, 'sub')
        and (s.not_after is null or s.not_after > pg_catalog.clock_timestamp());
    if not found then
        perform private.raise_error(401, 'session_ended', 'Your session has ended. Sign in again.');
    end if;
    if pg_catalog.current_setting('request.path', true) = '/rpc/get_my_account_status' then
        return;
    end if;
    if v_found.account_status in ('suspended', 'disabled') then
        perform private.require_active_status(v_found.account_status);
    end if;
    if v_found.has_factor and p_claims ->> 'aal' is distinct from 'aal2' then
        perform private.raise_error(403, 'aal2_required', 'Enter the code from your authenticator app to continue.');
    end if;
end
$$;
comment on function private.check_member_session(jsonb) is
'The pre-request check of members. Errors: session_ended, account_suspended, account_disabled, aal2_required.';

create function private.check_administrator_session(p_claims jsonb) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_session uuid := private.uuid_claim(p_claims, 'sid');
    v_last_seen timestamptz;
    v_now timestamptz := pg_catalog.clock_timestamp();
begin
    select a.last_seen_at into v_last_seen
    from public.admin_sessions as s
    inner join private.admin_users as u on u.id = s.admin_id and u.is_active
    inner join private.admin_session_activity as a on a.session_token = s.session_token
    where s.session_token = v_session and s.admin_id = private.uuid_claim(p_claims, 'sub') and s.expires_at > v_now
        and a.started_at > v_now - interval '8 hours' and a.last_seen_at > v_now - interval '30 minutes';
    if not found then
        perform private.raise_error(401, 'session_ended', 'Your session has ended. Sign in again.');
    end if;
    -- A read-only transaction cannot update it, and of two concurrent requests one is enough.
    if v_last_seen < v_now - interval '1 minute' and pg_catalog.current_setting('transaction_read_only') = 'off' then
        update private.admin_session_activity as a set last_seen_at = v_now
        where a.session_token = (
            select b.session_token from private.admin_session_activity as b
            where b.session_token = v_session for update skip locked
        );
    end if;
end
$$;
comment on function private.check_administrator_session(jsonb) is
'The pre-request check of administrators: active account, live session, at most 30 idle minutes and 8 hours. Errors: session_ended.';

do $$ begin execute $set$alter role authenticator set pgrst.db_pre_request = 'pre_request.check_request'$set$; end $$;
notify pgrst, 'reload config';

create function public.get_my_account_status() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_status public.account_status;
begin
    select p.account_status into v_status from private.profiles as p where p.user_id = auth.uid();
    return pg_catalog.jsonb_build_object(
        'account_status', v_status,
        'message', case
            when v_status is null then 'Unable to verify account status. Please contact support.'
            when v_status = 'disabled' then 'Your account has been disabled. Please contact support for assistance.'
            when v_status = 'suspended' then 'Your account has been suspended. Please contact support for assistance.'
        end,
        'code', case
            when v_status is null then 'account_unknown'
            when v_status = 'disabled' then 'account_disabled'
            when v_status = 'suspended' then 'account_suspended'
        end
    );
end
$$;
comment on function public.get_my_account_status() is
'The caller''s account status, with a message when it is blocked. The only call open to a blocked member.';
grant execute on function public.get_my_account_status() to authenticated;

-- Notifications, written in the transaction that caused them: a row for the member's inbox, a notice for the admin
-- panel, an outbox row for the worker to e-mail. Nothing is sent from inside a transaction, so a rollback notifies
-- nobody. A member reads the own inbox in pages and may only mark it as read. Administrators share one list; each has
-- a time up to which it is read.

create table public.notifications (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    kind text not null check (kind ~ '\A[a-z][a-z0-9_]{1,62}\Z'),
    title text not null check (length(title) between 1 and 200),
    body text not null check (length(body) between 1 and 4000),
    amount public.usd,
    link text check (link ~ '\A/[a-z0-9/?=&_-]*\Z'),
    read_at timestamptz,
    created_at timestamptz not null default now()
);
comment on table public.notifications is 'In-app notifications of members.';
alter table public.notifications enable row level security;
create index notifications_user_idx on public.notifications (user_id, created_at desc, id desc);
create index notifications_unread_idx on public.notifications (user_id) where read_at is null;

create policy select_own on public.notifications for select to authenticated using (user_id = (select auth.uid()));
grant select on public.notifications to authenticated, service_role;

create table private.admin_notices (
    id uuid primary key default gen_random_uuid(),
    kind text not null check (kind ~ '\A[a-z][a-z0-9_]{1,62}\Z'),
    title text not null check (length(title) between 1 and 200),
    body text not null check (length(body) between 1 and 4000),
    link text,
    created_at timestamptz not null default now()
);
comment on table private.admin_notices is 'Notices for all administrators, in the panel.';
alter table private.admin_notices enable row level security;
create index admin_notices_created_idx on private.admin_notices (created_at desc, id desc);

create table private.admin_notice_reads (
    admin_id uuid primary key references private.admin_users (id) on delete cascade,
    read_until timestamptz not null
);
comment on table private.admin_notice_reads is 'Time up to which an administrator has read the notices.';
alter table private.admin_notice_reads enable row level security;

create function private.notify_member(p_user_id uuid, p_kind text, p_title text, p_body text, p_amount numeric, p_link text) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_member private.profiles;
    v_topic text := (select t.topic from private.mail_topics as t where p_kind ~ t.kind_pattern);
begin
    select * into v_member from private.profiles as p where p.user_id = p_user_id;
    insert into public.notifications (user_id, kind, title, body, amount, link, created_at)
    values (p_user_id, p_kind, p_title, p_body, p_amount, p_link, private.clock());
    if exists (select 1 from private.mail_opt_outs as r where r.user_id = p_user_id and r.topic = v_topic) then
        return;
    end if;
    if v_member.email ~ '\A[^\s@]+@[^\s@]+\Z' then
        insert into private.outbox (template, recipient, data, created_at)
        values (
            p_kind, v_member.email, pg_catalog.jsonb_build_object(
                'username', v_member.username, 'display_name', v_member.display_name, 'title', p_title, 'body', p_body,
                'amount', private.money(p_amount), 'link', p_link, 'topic', v_topic
            ), private.clock()
        );
    end if;
end
$$;
comment on function private.notify_member(uuid, text, text, text, numeric, text) is
'Notifies a member in the app and by e-mail, when the transaction commits.';

create function private.notify_administrators(p_kind text, p_title text, p_body text, p_link text) returns void
language sql volatile set search_path = '' as $$
    insert into private.admin_notices (kind, title, body, link, created_at) values (p_kind, p_title, p_body, p_link, private.clock())
$$;
comment on function private.notify_administrators(text, text, text, text) is
'Adds a notice to the admin panel, when the transaction commits.';

create function public.get_notifications(p_before text default null, p_limit integer default null) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.require_member()).user_id;
    v_limit integer := private.page_limit(p_limit, 20, 100);
    v_before record;
    v_items jsonb[];
    v_keys text[];
begin
    select * into v_before from private.decode_cursor(p_before);
    select
        pg_catalog.array_agg(
            pg_catalog.jsonb_build_object(
                'id', n.id,
                'kind', n.kind,
                'title', n.title,
                'body', n.body,
                'amount', private.money(n.amount),
                'read_at', n.read_at,
                'created_at', n.created_at,
                'link', n.link
            ) order by n.created_at desc, n.id desc
        ),
        pg_catalog.array_agg(private.encode_cursor(n.created_at, n.id) order by n.created_at desc, n.id desc)
    into v_items, v_keys
    from (
        select m.*
        from public.notifications as m
        where m.user_id = v_user_id and (m.created_at, m.id) < (v_before.at, v_before.id)
        order by m.created_at desc, m.id desc
        limit v_limit + 1
    ) as n;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(pg_catalog.to_jsonb(v_items[:v_limit]), '[]'),
        'next', case when pg_catalog.cardinality(v_items) > v_limit then v_keys[v_limit] end,
        'unread', (
            select count(*) from public.notifications as m where m.user_id = v_user_id and m.read_at is null
        )
    );
end
$$;
comment on function public.get_notifications(text, integer) is
'The caller''s notifications, newest first, with the number of unread ones. Errors: invalid_cursor, invalid_limit.';
grant execute on function public.get_notifications(text, integer) to authenticated;

create function public.mark_notifications_read(p_ids uuid[] default null) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    if pg_catalog.cardinality(p_ids) > 1000 then
        perform private.raise_error(400, 'too_many', 'Mark at most 1,000 notifications at once.');
    end if;
    update public.notifications as n
    set read_at = pg_catalog.now()
    where n.user_id = v_user_id and n.read_at is null and (p_ids is null or n.id = any(p_ids));
    return pg_catalog.jsonb_build_object(
        'unread', (
            select count(*) from public.notifications as n where n.user_id = v_user_id and n.read_at is null
        )
    );
end
$$;
comment on function public.mark_notifications_read(uuid[]) is
'Marks the caller''s notifications as read, without p_ids all of them; ignores other members'' ids. Errors: too_many.';
grant execute on function public.mark_notifications_read(uuid[]) to authenticated;

create function public.get_admin_notices(p_limit integer default 50) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_read timestamptz := coalesce(
        (select r.read_until from private.admin_notice_reads as r where r.admin_id = v_admin.id), v_admin.created_at
    );
begin
    return pg_catalog.jsonb_build_object(
        'items', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'id', n.id, 'kind', n.kind, 'title', n.title, 'body', n.body, 'link', n.link,
                        'created_at', n.created_at, 'unread', n.created_at > v_read
                    ) order by n.created_at desc, n.id desc
                ), '[]'
            )
            from (
                select * from private.admin_notices as a order by a.created_at desc, a.id desc limit least(greatest(p_limit, 1), 200)
            ) as n
        ),
        'unread', (select count(*) from private.admin_notices as a where a.created_at > v_read)
    );
end
$$;
comment on function public.get_admin_notices(integer) is
'The newest notices and the number of unread ones. Every administrator. Errors: forbidden, session_ended.';
grant execute on function public.get_admin_notices(integer) to platform_admin;

create function public.mark_admin_notices_read() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
begin
    insert into private.admin_notice_reads (admin_id, read_until) values (v_admin.id, pg_catalog.clock_timestamp())
    on conflict (admin_id) do update set read_until = excluded.read_until;
    return pg_catalog.jsonb_build_object('success', true);
end
$$;
comment on function public.mark_admin_notices_read() is 'Marks all notices as read. Every administrator. Errors: forbidden, session_ended.';
grant execute on function public.mark_admin_notices_read() to platform_admin;

-- The e-mail outbox, delivery by the worker, and what a super_admin sees of both. E-mail about money and security is
-- always sent. Members may opt out of other topics: the in-app notification stays, no e-mail is sent, and every such
-- e-mail links to the opt-out.

create table private.outbox (
    id bigint generated always as identity primary key,
    template text not null check (template ~ '\A[a-z][a-z0-9_]{1,62}\Z'),
    recipient text not null check (recipient ~ '\A[^\s@]+@[^\s@]+\Z'),
    data jsonb not null default '{}',
    created_at timestamptz not null default now(),
    attempts integer not null default 0,
    next_attempt_at timestamptz not null default now(),
    leased_until timestamptz,
    sent_at timestamptz,
    failed_at timestamptz,
    last_error text
) with (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200
);
comment on table private.outbox is 'E-mail to send. data holds the template''s values (username, title, body, amount as text, link).';
alter table private.outbox enable row level security;
create index outbox_due_idx on private.outbox (next_attempt_at) where sent_at is null and failed_at is null;
-- Failed e-mail, for the super_admin's list; sent e-mail, for the purge.
create index outbox_failed_idx on private.outbox (failed_at desc) where failed_at is not null;
create index outbox_sent_idx on private.outbox (sent_at) where sent_at is not null;

create function private.outbox_notify() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.pg_notify('outbox', '');
    return null;
end
$$;
comment on function private.outbox_notify() is 'Trigger: notifies the worker at commit.';
create trigger _900_notify after insert on private.outbox for each statement execute function private.outbox_notify();

create table private.mail_topics (
    topic text primary key check (topic ~ '\A[a-z][a-z_]{1,30}\Z'),
    kind_pattern text not null,
    label text not null check (length(label) between 1 and 80)
);
comment on table private.mail_topics is 'Topics that members may opt out of; kind_pattern matches the kinds of their notifications.';
alter table private.mail_topics enable row level security;

insert into private.mail_topics (topic, kind_pattern, label) values ('bots', '\Abot_', 'Changes to my bot subscriptions');

create table private.mail_opt_outs (
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    topic text not null references private.mail_topics (topic) on delete cascade,
    at timestamptz not null default now(),
    primary key (user_id, topic)
);
comment on table private.mail_opt_outs is 'Topics that a member opted out of.';
alter table private.mail_opt_outs enable row level security;
create index mail_opt_outs_topic_idx on private.mail_opt_outs (topic);

create function private.mail_administrators(p_template text, p_title text, p_body text, p_link text) returns void
language sql volatile set search_path = '' as $$
    insert into private.outbox (template, recipient, data)
    select p_template, a.email, pg_catalog.jsonb_build_object('display_name', a.full_name, 'title', p_title, 'body', p_body, 'link', p_link)
    from private.admin_users as a where a.is_active
$$;
comment on function private.mail_administrators(text, text, text, text) is
'E-mails every active administrator, when the transaction commits.';

create function public.get_mail_choices() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'topic', t.topic, 'label', t.label,
                'wanted', not exists (select 1 from private.mail_opt_outs as r where r.user_id = v_user_id and r.topic = t.topic)
            ) order by t.topic
        )
        from private.mail_topics as t
    );
end
$$;
comment on function public.get_mail_choices() is
'Topics that the caller may opt out of, and the current choices; e-mail about money and security is not among them.';
grant execute on function public.get_mail_choices() to authenticated;

create function public.set_mail_choice(p_topic text, p_wanted boolean) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    if p_wanted is null or not exists (select 1 from private.mail_topics as t where t.topic = p_topic) then
        perform private.raise_error(400, 'invalid_input', 'This mail cannot be switched off.');
    end if;
    if p_wanted then
        delete from private.mail_opt_outs as r where r.user_id = v_user_id and r.topic = p_topic;
    else
        insert into private.mail_opt_outs (user_id, topic) values (v_user_id, p_topic) on conflict do nothing;
    end if;
    return public.get_mail_choices();
end
$$;
comment on function public.set_mail_choice(text, boolean) is 'Opts into or out of one topic; returns all choices. Errors: invalid_input.';
grant execute on function public.set_mail_choice(text, boolean) to authenticated;

-- Delivery. Each e-mail is sent at least once; duplicates must stay the exception.

create function jobs.lease_mail(p_max integer) returns setof private.outbox
language sql volatile security definer set search_path = '' as $$
    update private.outbox as o set attempts = o.attempts + 1, leased_until = pg_catalog.clock_timestamp() + interval '2 minutes'
    where o.id in (
        select c.id from private.outbox as c
        where c.sent_at is null and c.failed_at is null and c.next_attempt_at <= pg_catalog.clock_timestamp()
            and (c.leased_until is null or c.leased_until < pg_catalog.clock_timestamp())
        order by c.next_attempt_at
        limit p_max
        for update skip locked
    )
    returning o.*
$$;
comment on function jobs.lease_mail(integer) is 'Due e-mail, leased for two minutes: the lease of a crashed worker expires.';
grant execute on function jobs.lease_mail(integer) to worker;

-- Renew the lease just before handing an e-mail to the mail server, and only for the worker that holds it: when a
-- batch takes longer than the lease, another worker keeps what it has leased meanwhile. A duplicate remains possible
-- only when a worker crashes, or loses the database for good, between the mail server's acceptance and
-- mark_mail_sent(); it has the same Message-ID.
create function jobs.renew_mail_lease(p_id bigint, p_leased_until timestamptz) returns boolean
language sql volatile security definer set search_path = '' as $$
    with renewed as (
        update private.outbox as o set leased_until = pg_catalog.clock_timestamp() + interval '2 minutes'
        where o.id = p_id and o.leased_until = p_leased_until and o.sent_at is null and o.failed_at is null
        returning o.id
    )
    select exists (select 1 from renewed)
$$;
comment on function jobs.renew_mail_lease(bigint, timestamptz) is
'Renews the lease of an e-mail about to be sent; false when another worker holds it: then do not send it.';
grant execute on function jobs.renew_mail_lease(bigint, timestamptz) to worker;

create function jobs.mark_mail_sent(p_id bigint) returns void
language sql volatile security definer set search_path = '' as $$
    update private.outbox as o set sent_at = pg_catalog.clock_timestamp(), leased_until = null, last_error = null where o.id = p_id
$$;
comment on function jobs.mark_mail_sent(bigint) is 'Marks an e-mail as accepted by the mail server.';
grant execute on function jobs.mark_mail_sent(bigint) to worker;

create function jobs.mark_mail_failed(p_id bigint, p_error text) returns void
language sql volatile security definer set search_path = '' as $$
    update private.outbox as o set
        leased_until = null,
        last_error = pg_catalog.left(p_error, 500),
        next_attempt_at = pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => least(3600, 15 * pg_catalog.power(2, o.attempts))),
        failed_at = case when o.attempts >= 12 then pg_catalog.clock_timestamp() end
    where o.id = p_id
$$;
comment on function jobs.mark_mail_failed(bigint, text) is 'Schedules a retry with exponential backoff; gives up after twelve attempts.';
grant execute on function jobs.mark_mail_failed(bigint, text) to worker;

create function jobs.count_mail() returns table (state text, depth bigint)
language sql stable security definer set search_path = '' as $$
    select 'todo', pg_catalog.count(*) filter (where o.failed_at is null) from private.outbox as o where o.sent_at is null
    union all
    select 'failed', pg_catalog.count(*) filter (where o.failed_at is not null) from private.outbox as o where o.sent_at is null
$$;
comment on function jobs.count_mail() is 'Number of unsent and of failed e-mails.';
grant execute on function jobs.count_mail() to worker;

-- What a super_admin sees: queued and failed e-mail, failed jobs, the last ledger check.

create function private.failed_jobs() returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    -- The worker creates these tables, and grants reading them, when it starts.
    if pg_catalog.has_table_privilege(pg_catalog.to_regclass('procrastinate.procrastinate_jobs'), 'select') is not true then
        return '[]'::jsonb;
    end if;
    return (
        select coalesce(
            pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object('task', f.task_name, 'attempts', f.attempts, 'attempted_at', f.attempted_at) order by f.id desc
            ), '[]'
        )
        from (
            select
                j.id, j.task_name, j.attempts,
                (select max(e.at) from procrastinate.procrastinate_events as e where e.job_id = j.id) as attempted_at
            from procrastinate.procrastinate_jobs as j
            where j.status = 'failed'
            order by j.id desc
            limit 100
        ) as f
    );
end
$$;
comment on function private.failed_jobs() is 'The newest 100 failed jobs of the worker. They are purged after a month.';

create function public.list_jobs() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin(array['super_admin']::public.admin_role[]);
    return pg_catalog.jsonb_build_object(
        'mail', (
            select pg_catalog.jsonb_build_object(
                'waiting', count(*),
                'failed', (select count(*) from private.outbox as f where f.failed_at is not null),
                'sent_today', (select count(*) from private.outbox as s where s.sent_at > pg_catalog.now() - interval '24 hours'),
                'oldest_waiting', min(o.created_at)
            )
            from private.outbox as o where o.sent_at is null and o.failed_at is null
        ),
        'failed', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'id', f.id, 'template', f.template, 'recipient', f.recipient, 'attempts', f.attempts,
                        'failed_at', f.failed_at, 'last_error', f.last_error
                    ) order by f.failed_at desc
                ), '[]'
            )
            from (select * from private.outbox as o where o.failed_at is not null order by o.failed_at desc limit 100) as f
        ),
        'failed_jobs', private.failed_jobs(),
        'books', (
            select pg_catalog.jsonb_build_object('checked_at', b.checked_at, 'violations', b.violations, 'rules', b.rules) from private.ledger_check_state as b
        ),
        'coverage_kept', (select max(c.day) from private.coverage_days as c)
    );
end
$$;
comment on function public.list_jobs() is
'Queued and failed e-mail, failed jobs, the last ledger check, the last coverage snapshot. Super admin. Errors: forbidden, session_ended.';
grant execute on function public.list_jobs() to platform_admin;

create function public.retry_mail(p_id bigint) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
begin
    update private.outbox as o set attempts = 0, failed_at = null, next_attempt_at = pg_catalog.clock_timestamp()
    where o.id = p_id and o.failed_at is not null;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no failed mail like this.');
    end if;
    perform pg_catalog.pg_notify('outbox', '');
    perform private.audit('admin:' || v_admin.id, 'mail.retried', null, null, pg_catalog.jsonb_build_object('id', p_id));
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.retry_mail(bigint) is 'Retries a failed e-mail. Super admin. Errors: forbidden, not_found.';
grant execute on function public.retry_mail(bigint) to platform_admin;

-- Counters for the admin dashboard, so that it reads a handful of rows at any size. Each change appends a delta and a
-- job rolls the deltas up: one shared row would serialise every transaction.

create table private.counters (
    name text primary key,
    value numeric not null default 0
);
comment on table private.counters is 'Rolled-up counters. The current value is value plus the pending deltas.';
alter table private.counters enable row level security;

insert into private.counters (name) values
('profiles'), ('active_profiles'), ('verified_profiles'), ('package_investment'), ('shortfall'),
('pending_deposits'), ('deposits_approved'), ('deposits_approved_count'), ('deposits_rejected_count'),
('pending_withdrawals'), ('withdrawals_approved'), ('withdrawals_approved_count'), ('withdrawals_rejected_count'), ('reserved'),
('bonuses'), ('bonus_rows'), ('bonus_transactions'), ('bonus_volume'), ('available_balance'),
('subscriptions_active'), ('subscriptions_suspended'), ('subscriptions_cancelled');

create table private.counter_deltas (
    id bigint generated always as identity primary key,
    name text not null,
    delta numeric not null
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
comment on table private.counter_deltas is 'Deltas since the last roll-up.';
alter table private.counter_deltas enable row level security;
create index counter_deltas_name_idx on private.counter_deltas (name);

-- Daily totals of deposits and withdrawals: the panel's chart and the coverage computation read a row a day instead
-- of every approved request of ninety days. Changes are appended as deltas and rolled up with the counters, for the
-- same reason. Days are UTC.

create table private.flow_days (
    day date primary key,
    -- By day of the request.
    deposits numeric not null default 0,
    withdrawals numeric not null default 0,
    -- By day of the decision.
    decided_deposits numeric not null default 0
);
comment on table private.flow_days is
'Approved and not voided requests by day, rolled up. The current value is these plus private.flow_deltas.';
alter table private.flow_days enable row level security;

create table private.flow_deltas (
    id bigint generated always as identity primary key,
    day date not null,
    deposits numeric not null default 0,
    withdrawals numeric not null default 0,
    decided_deposits numeric not null default 0
);
comment on table private.flow_deltas is 'Deltas of private.flow_days since the last roll-up.';
alter table private.flow_deltas enable row level security;

create function private.increment_counter(p_name text, p_delta numeric) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.counter_deltas (name, delta)
    select p_name, p_delta where p_delta <> 0;
end
$$;
comment on function private.increment_counter(text, numeric) is 'Adds to a counter.';

create function private.counter_values() returns table (name text, value numeric)
language plpgsql stable set search_path = '' as $$
begin
    return query
    select c.name, c.value + coalesce((select sum(d.delta) from private.counter_deltas as d where d.name = c.name), 0)
    from private.counters as c;
end
$$;
comment on function private.counter_values() is 'All counters with their current values.';

create function private.counter_value(p_name text) returns numeric
language plpgsql stable set search_path = '' as $$
begin
    return (
        select c.value + coalesce((select sum(d.delta) from private.counter_deltas as d where d.name = c.name), 0)
        from private.counters as c where c.name = p_name
    );
end
$$;
comment on function private.counter_value(text) is 'The current value of a counter.';

create function private.flows_since(p_from date) returns table (day date, deposits numeric, withdrawals numeric, decided_deposits numeric)
language sql stable set search_path = '' as $$
    select a.day, sum(a.deposits), sum(a.withdrawals), sum(a.decided_deposits)
    from (
        select f.day, f.deposits, f.withdrawals, f.decided_deposits from private.flow_days as f where f.day >= p_from
        union all
        select c.day, c.deposits, c.withdrawals, c.decided_deposits from private.flow_deltas as c where c.day >= p_from
    ) as a
    group by a.day
$$;
comment on function private.flows_since(date) is 'Current daily totals of deposits and withdrawals, from a day on.';

create function private.daily_flows(p_days integer) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'day', s.day::date, 'deposits', private.money(coalesce(f.deposits, 0)), 'withdrawals', private.money(coalesce(f.withdrawals, 0))
        ) order by s.day
    )
    from pg_catalog.generate_series(
        (pg_catalog.now() at time zone 'UTC')::date - (p_days - 1), (pg_catalog.now() at time zone 'UTC')::date, interval '1 day'
    ) as s (day)
    left join private.flows_since((pg_catalog.now() at time zone 'UTC')::date - (p_days - 1)) as f on s.day::date = f.day
$$;
comment on function private.daily_flows(integer) is 'Approved deposits and withdrawals by UTC day of the request, today last.';

create function jobs.roll_up_counters() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_rows integer;
    v_flows integer;
begin
    with moved as (
        delete from private.counter_deltas returning name, delta
    ), sums as (
        select m.name, sum(m.delta) as delta, count(*) as rows from moved as m group by m.name
    ), rolled_up as (
        update private.counters as c set value = c.value + s.delta from sums as s where c.name = s.name
    )
    select coalesce(sum(s.rows), 0)::integer into v_rows from sums as s;
    with moved as (
        delete from private.flow_deltas returning day, deposits, withdrawals, decided_deposits
    ), rolled_up as (
        insert into private.flow_days as f (day, deposits, withdrawals, decided_deposits)
        select m.day, sum(m.deposits), sum(m.withdrawals), sum(m.decided_deposits)
        from moved as m group by m.day order by m.day
        on conflict (day) do update set
            deposits = f.deposits + excluded.deposits,
            withdrawals = f.withdrawals + excluded.withdrawals,
            decided_deposits = f.decided_deposits + excluded.decided_deposits
    )
    select count(*)::integer into v_flows from moved;
    return v_rows + v_flows;
end
$$;
comment on function jobs.roll_up_counters() is 'Rolls the deltas up into counters and days; returns how many.';
grant execute on function jobs.roll_up_counters() to worker;

-- Receipts are files in a private bucket of the storage service, which limits their size and type. The product's
-- rules are here: a member's file is in the member's folder, its name is digits, it is never overwritten, renamed or
-- deleted, and their number is limited. The final write of an upload runs as service_role without a user: the trigger
-- identifies the member by owner_id.

insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
values ('receipts', 'receipts', false, 5242880, array['image/png', 'image/jpeg', 'image/webp', 'application/pdf'])
on conflict (id) do update set
    public = excluded.public, file_size_limit = excluded.file_size_limit, allowed_mime_types = excluded.allowed_mime_types;

create function private.raise_storage_error(p_message text) returns void
language plpgsql volatile set search_path = '' as $$
begin
    raise insufficient_privilege using message = p_message;
end
$$;
comment on function private.raise_storage_error(text) is 'Raises an error that the storage service reports as access denied.';

create function private.receipts_validate() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_files integer;
    v_bytes bigint;
    v_hour integer;
begin
    if tg_op = 'UPDATE' and old.bucket_id = 'receipts' and (new.bucket_id, new.name, new.owner_id) is distinct from (old.bucket_id, old.name, old.owner_id) then
        perform private.raise_storage_error('Receipts are kept as they are.');
    end if;
    if tg_op = 'UPDATE' or new.bucket_id is distinct from 'receipts' then
        return new;
    end if;
    -- Existing name: a plain upload then fails as a duplicate, an upsert in the branch above.
    if exists (select 1 from storage.objects as o where o.bucket_id = 'receipts' and o.name = new.name) then
        return new;
    end if;
    if new.owner_id is null or new.name !~ ('\A' || new.owner_id || '/[0-9]{10,16}\.(png|jpg|jpeg|webp|pdf)\Z') then
        perform private.raise_storage_error('A receipt is named by your own id and the time.');
    end if;
    -- Serialise a member's uploads, so that the limits hold; the lock ends with this short transaction.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('receipts_of_owner'), pg_catalog.hashtext(new.owner_id));
    select
        count(*), coalesce(sum((o.metadata ->> 'size')::bigint), 0),
        count(*) filter (where o.created_at > pg_catalog.clock_timestamp() - interval '1 hour')
    into v_files, v_bytes, v_hour
    from storage.objects as o
    where o.bucket_id = 'receipts' and o.name >= new.owner_id || '/' and o.name < new.owner_id || '0';
    if v_files >= 20 or v_bytes >= 52428800 then
        perform private.raise_storage_error('You have stored 20 receipts or 50 MB. Contact support to add more.');
    end if;
    if v_hour >= 10 then
        perform private.raise_storage_error('You have uploaded 10 receipts within an hour. Try again later.');
    end if;
    return new;
end
$$;
comment on function private.receipts_validate() is 'Trigger: validates name, owner and number of receipts; a stored one is immutable.';
create trigger harborline_receipts_validate before insert or update on storage.objects for each row execute function private.receipts_validate();

create policy receipts_select_own on storage.objects for select to authenticated
using (bucket_id = 'receipts' and (storage.foldername(name))[1] = (select auth.uid())::text);
create policy receipts_insert_own on storage.objects for insert to authenticated
with check (
    bucket_id = 'receipts' and owner_id = (select auth.uid())::text
    and (storage.foldername(name))[1] = (select auth.uid())::text
    and name ~ '^[0-9a-f-]{36}/[0-9]{10,16}[.](png|jpg|jpeg|webp|pdf)$'
);
-- No update and no delete policy: a receipt is evidence.

create function private.receipt_name(p_receipt_url text) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return (select substring(p_receipt_url from '\Ahttps?://[^\s/?#]+(?:/[^\s?#]*)?/object/public/receipts/([0-9a-f-]{36}/[0-9]{10,16}\.(?:png|jpg|jpeg|webp|pdf))\Z'));
end
$$;
comment on function private.receipt_name(text) is
'Object name in a receipt URL; null when the URL is no receipt''s. The URL is never opened.';

-- Unused receipts. A receipt is uploaded before its deposit is requested, so some are never used and count among the
-- member's twenty files: the worker deletes them after a day through the storage API. A receipt that a deposit uses
-- is evidence and cannot be deleted by any role: using it and deleting it exclude each other by a lock, and the later
-- one fails.
create function private.lock_receipt(p_name text) returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('receipt'), pg_catalog.hashtext(p_name));
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_receipt(text) is
'Serialises using and deleting a receipt; the last lock of a deposit request. Errors: try_again.';

create function private.receipts_reject_delete() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.lock_receipt(old.name);
    if exists (select 1 from public.deposits as d where d.receipt_name = old.name) then
        perform private.raise_storage_error('A receipt of a deposit is kept.');
    end if;
    return old;
end
$$;
comment on function private.receipts_reject_delete() is 'Trigger: rejects deleting a receipt that a deposit uses.';
create trigger harborline_receipts_reject_delete before delete on storage.objects for each row
when (old.bucket_id = 'receipts') execute function private.receipts_reject_delete();

create function private.check_receipt(p_user_id uuid, p_name text, p_first boolean) returns text
language plpgsql volatile set search_path = '' as $$
declare
    v_object record;
begin
    if p_name is null or pg_catalog.split_part(p_name, '/', 1) <> p_user_id::text then
        perform private.raise_error(400, 'invalid_receipt', 'Upload your receipt again: the file was not found.');
    end if;
    perform private.lock_receipt(p_name);
    select o.owner_id, o.metadata into v_object from storage.objects as o where o.bucket_id = 'receipts' and o.name = p_name;
    if not found or v_object.owner_id is distinct from p_user_id::text then
        perform private.raise_error(400, 'invalid_receipt', 'Upload your receipt again: the file was not found.');
    end if;
    if exists (select 1 from public.deposits as d where d.receipt_name = p_name) then
        perform private.raise_error(409, 'receipt_used', 'This receipt belongs to another deposit. Upload a new one.');
    end if;
    if p_first and (p_name like '%.pdf' or v_object.metadata ->> 'mimetype' = 'application/pdf') then
        perform private.raise_error(400, 'receipt_must_be_image', 'The receipt of a first package must be an image: PNG, JPEG or WebP.');
    end if;
    return v_object.metadata ->> 'eTag';
end
$$;
comment on function private.check_receipt(uuid, text, boolean) is
'Validates an uploaded receipt: existing, the member''s own, unused, an image for a first package. Returns its etag. Errors: invalid_receipt, receipt_used, receipt_must_be_image.';

create function jobs.unused_receipts(p_max integer) returns table (name text)
language sql stable security definer set search_path = '' as $$
    select o.name from storage.objects as o
    where o.bucket_id = 'receipts' and o.created_at < pg_catalog.clock_timestamp() - interval '24 hours'
        and not exists (select 1 from public.deposits as d where d.receipt_name = o.name)
    order by o.created_at
    limit p_max
$$;
comment on function jobs.unused_receipts(integer) is 'Receipts uploaded more than a day ago that no deposit uses, oldest first.';
grant execute on function jobs.unused_receipts(integer) to worker;

create function public.find_receipt(p_receipt_url text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_deposit public.deposits;
begin
    select * into v_deposit from public.deposits as d where d.receipt_name = private.receipt_name(p_receipt_url);
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no deposit with this receipt.');
    end if;
    perform private.audit('admin:' || v_admin.id, 'deposit.receipt_opened', 'deposit', v_deposit.id);
    return pg_catalog.jsonb_build_object('bucket', 'receipts', 'name', v_deposit.receipt_name);
end
$$;
comment on function public.find_receipt(text) is
'Finance and super administrators: the stored object of a deposit''s receipt. The URL is parsed, never opened. Errors: forbidden, not_found.';
grant execute on function public.find_receipt(text) to platform_admin;

-- A member claims a USDT transfer; an administrator approves or rejects it, once. The amount alone decides what a
-- deposit is: the first package, an upgrade at the full price, or cash-in that changes no package. No member updates
-- a row, and nobody deletes one.
--
-- What public.decide_deposit(..., 'approve') runs, in this order, in one transaction. A line further in is called by
-- the line above it; a trigger stands behind its table. Everything is in schema private unless it says otherwise.
-- pre_request.check_request() has run before.
--   require_admin                       finance or super administrator, by the id in the token: my_role, auth.uid
--     require_totp                      with real money (is_demo, setting_text): the second step was shown
--   parse_action                        approve or reject; a rejection calls validate_reason
--   require_not_own_account             not for a member with the administrator's e-mail address
--   lock_money                          one decision at a time: lock_key
--   lock_members(upline_ids)            member, referrer and the referrer's referrer, by id
--                                       then the deposit, for no key update; already decided: the first response,
--                                       or raise_already_decided
--   clock                               the time of the decision
--   credit_deposit                      cash-in and package; an error where the reference was approved before
--     profiles _100_immutable           profiles_immutable: identity and place stay, a package never falls
--     profiles _500_sync_position       profiles_sync_position: package and payment go to the member's position, two
--                                       figures to the counters
--       positions _500_network_update   positions_record_network_delta: the new package, for the networks above
--     profiles _500_update_verified_counter
--                                       profiles_update_verified_counter, increment_counter: if the account is complete
--     post_bonuses                      advances private.bonus_revision_seq, then looks for discrepancies
--       child_bonus_discrepancies       referral, pairing and override around the member: due_referrals, due_pairings,
--                                       due_overrides; below these due_pair_bonuses, pairs and the percentages
--       owner_bonus_discrepancies       the member's own pairings, if there is a second child
--         pair_source                   of pairs without a row: the child that completed it
--       write_bonuses                   raises stored rows, then inserts missing ones; a column default calls
--                                       reentry_percent
--         bonuses _100_immutable        bonuses_immutable: a bonus keeps its reason and only rises (updated rows)
--         bonuses _500_record_update    bonuses_record_update, clock: journal, sums, days and counters of updated rows
--         bonuses _500_record_insert    bonuses_record_insert: the same of inserted rows
--           transactions _500_update_counters
--                                       transactions_update_counters: counts the journal rows of bonuses
--           totals _500_update_shortfall_counter
--                                       totals_update_shortfall_counter, increment_counter: of members who withdrew
--                                       or requested more than they have
--   update public.deposits              approved, by whom, when
--     deposits _100_immutable           deposits_immutable: decided once, and a claim never changes
--     deposits _500_record_decision     deposits_record_decision: finalises the journal row, three figures to the counters
--       transactions _100_immutable     transactions_immutable: pending to completed, and nothing else
--       record_deposit_flow             the days of the request and of the decision
--   notify_decision, dollars            the message for the member
--     notify_member, clock, money       the notification, and the email unless the member opted out
--       outbox _900_notify              outbox_notify: wakes the worker at commit
--   audit, clock, money                 who decided what; last, because of its lock
--     audit_log _100_set_hash           audit_log_set_hash: lock_audit_log, then number and audit_hash over the last row
--   request_json, money                 the response

create table public.deposits (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    amount public.usd not null check (amount between 1 and 10000000),
    reference_number text not null check (length(reference_number) between 1 and 200),
    receipt_url text not null check (length(receipt_url) between 1 and 2000),
    status public.request_status not null default 'pending',
    admin_notes text check (length(admin_notes) <= 1000),
    created_at timestamptz not null default now(),
    decided_at timestamptz,
    decided_by uuid references private.admin_users (id) on delete restrict,
    -- Computed by the validation trigger; no role may write them.
    kind text not null check (kind in ('first', 'upgrade', 'cash_in')),
    reference_key text not null check (length(reference_key) between 1 and 200),
    receipt_name text not null,
    receipt_etag text,
    voided_at timestamptz,
    constraint pending_is_undecided check ((status = 'pending') = (decided_at is null)),
    constraint deposits_decided_by_matches_status check (
        (status = 'pending' and decided_by is null) or (status = 'approved' and decided_by is not null) or status = 'rejected'
    ),
    constraint a_rejection_has_a_reason check (status <> 'rejected' or length(admin_notes) > 0),
    constraint only_approved_is_voided check (voided_at is null or status = 'approved')
) with (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02
);
comment on table public.deposits is 'Claimed USDT transfers. An approved row that is not voided counts as cash-in.';
comment on column public.deposits.reference_key is
'The normalised reference: its 64 hex digits if there are any, else its lower-case letters and digits.';
alter table public.deposits enable row level security;
-- A member's deposits, newest first; also the foreign key.
create index deposits_user_idx on public.deposits (user_id, created_at desc, id desc);
-- The admin list by status, newest first, and the pending counts.
create index deposits_status_idx on public.deposits (status, created_at desc, id desc);
create index deposits_created_idx on public.deposits (created_at desc, id desc);
create index deposits_decided_by_idx on public.deposits (decided_by) where decided_by is not null;
-- A transfer is approved once.
create unique index deposits_reference_approved_key on public.deposits (reference_key)
where status = 'approved' and voided_at is null;
-- Finds the same reference elsewhere, for the flag.
create index deposits_reference_idx on public.deposits (reference_key);
-- A receipt belongs to one deposit.
create unique index deposits_receipt_key on public.deposits (receipt_name);
-- A member's pending deposits, for the form and the limit.
create index deposits_pending_idx on public.deposits (user_id, created_at) where status = 'pending';
create index deposits_reference_search_idx on public.deposits
using gin (lower(reference_number) extensions.gin_trgm_ops) with (gin_pending_list_limit = 256);
-- Lists sorted by amount.
create index deposits_amount_idx on public.deposits (amount, id);
-- The partial first day of "approved in the last 30 days" is summed row by row.
create index deposits_decided_flow_idx on public.deposits (decided_at) include (amount) where status = 'approved' and voided_at is null;
-- Finds another member's receipt file, for the flag.
create index deposits_receipt_etag_idx on public.deposits (receipt_etag) where status <> 'rejected';

create policy select_own on public.deposits for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on public.deposits for select to platform_admin using (true);
create policy insert_own on public.deposits for insert to authenticated
with check (user_id = (select auth.uid()) and status = 'pending');
grant select on public.deposits to authenticated, platform_admin;
grant insert (id, user_id, amount, reference_number, receipt_url, status) on public.deposits to authenticated;
grant select on public.deposits to service_role;
grant insert (id, user_id, amount, reference_number, receipt_url, status) on public.deposits to service_role;
-- Not granted: update and delete, to any role. Decisions are made by a function.

create function private.reference_key(p_reference text) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return (
        -- A transaction hash identifies the transfer, whatever text surrounds it.
        select coalesce(
            pg_catalog.lower(substring(p_reference from '[0-9A-Fa-f]{64}')),
            pg_catalog.left(pg_catalog.regexp_replace(pg_catalog.lower(normalize(p_reference, nfkc)), '[^[:alnum:]]', '', 'g'), 200)
        )
    );
end
$$;
comment on function private.reference_key(text) is 'Normalises a reference; empty when it has no letter and no digit.';

create function private.deposit_kind(p_amount numeric, p_package numeric) returns text
language plpgsql stable set search_path = '' as $$
declare
    v_is_size boolean := exists (select 1 from private.packages as k where k.value = p_amount);
begin
    if p_amount not between 1 and 10000000 then
        perform private.raise_error(400, 'invalid_amount', 'Enter an amount from $1.00 to $10,000,000.00.');
    end if;
    if p_package = 0 and not v_is_size then
        perform private.raise_error(
            400, 'package_required', pg_catalog.format(
                'Choose a package for your first deposit: %s.',
                (select pg_catalog.string_agg('$' || k.value::text, ', ' order by k.value) from private.packages as k)
            )
        );
    end if;
    if p_package > 0 and v_is_size and p_amount <= p_package then
        perform private.raise_error(400, 'downgrade', 'You can only upgrade to a higher package. Downgrades are not allowed.');
    end if;
    return case when not v_is_size then 'cash_in' when p_package = 0 then 'first' else 'upgrade' end;
end
$$;
comment on function private.deposit_kind(numeric, numeric) is
'Kind of a deposit of this amount (USD) given the current package: first, upgrade or cash_in. Errors: invalid_amount, package_required, downgrade.';

-- A retried request is recognised by its id and compared with the stored, trimmed reference.
create function private.deposits_validate() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles;
    v_existing public.deposits;
    v_pending integer;
    v_limit integer := private.setting_text('deposit.pending_limit')::integer;
begin
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
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
    if v_member.id is null or v_member.email is null or v_member.trc20_wallet_address is null then
        perform private.raise_error(403, 'profile_incomplete', 'Please complete your profile and settings first');
    end if;
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    new.kind := private.deposit_kind(new.amount, v_member.package_value);
    new.reference_key := private.reference_key(new.reference_number);
    if coalesce(new.reference_key, '') = '' or pg_catalog.length(new.reference_number) > 200 or not private.is_readable(new.reference_number) then
        perform private.raise_error(400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.');
    end if;
    select count(*) into v_pending from public.deposits as d where d.user_id = new.user_id and d.status = 'pending';
    if v_pending >= v_limit then
        perform private.raise_error(
            409, 'too_many_pending', pg_catalog.format('You have %s deposits waiting for review. Wait for a decision or cancel one.', v_pending)
        );
    end if;
    new.receipt_name := private.receipt_name(new.receipt_url);
    new.receipt_etag := private.check_receipt(new.user_id, new.receipt_name, new.kind = 'first');
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.voided_at := null;
    return new;
end
$$;
comment on function private.deposits_validate() is
'Trigger: validates a new deposit under the member''s lock, in the order of the form. Errors: not_yours, duplicate_request, account_*, profile_incomplete, forbidden, invalid_amount, package_required, downgrade, invalid_reference, too_many_pending, invalid_receipt, receipt_used, receipt_must_be_image.';

create function private.deposits_immutable() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.id, new.user_id, new.amount, new.reference_number, new.receipt_url, new.created_at, new.kind, new.reference_key, new.receipt_name)
        is distinct from (old.id, old.user_id, old.amount, old.reference_number, old.receipt_url, old.created_at, old.kind, old.reference_key, old.receipt_name)
        or (old.status <> 'pending' and (new.status, new.admin_notes, new.decided_at, new.decided_by)
            is distinct from (old.status, old.admin_notes, old.decided_at, old.decided_by))
        or (old.voided_at is not null and new.voided_at is distinct from old.voided_at)
        or (new.voided_at is distinct from old.voided_at and not private.is_being_corrected(new.user_id)) then
        perform private.raise_error(403, 'append_only', 'A deposit is decided once and never changed.');
    end if;
    return new;
end
$$;
comment on function private.deposits_immutable() is
'Trigger: a claim never changes; it is decided once; only a confirmed correction voids it. Errors: append_only.';

create function private.deposits_record_request() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, new.amount, 'deposit', 'pending', new.id, new.created_at);
    perform private.increment_counter('pending_deposits', 1);
    return null;
end
$$;
comment on function private.deposits_record_request() is 'Trigger: journal row and counter of a new deposit.';

create function private.record_deposit_flow(p_deposit public.deposits, p_sign integer) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.flow_deltas (day, deposits, decided_deposits)
    values
    (((p_deposit).created_at at time zone 'UTC')::date, p_sign * (p_deposit).amount, 0),
    (((p_deposit).decided_at at time zone 'UTC')::date, 0, p_sign * (p_deposit).amount);
end
$$;
comment on function private.record_deposit_flow(public.deposits, integer) is
'Adds an approved deposit to the daily totals of its two days; with -1 subtracts a voided one.';

create function private.deposits_record_decision() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    update public.transactions as t set status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status
    where t.transaction_type = 'deposit' and t.reference_id = new.id;
    if new.status = 'approved' then
        insert into private.counter_deltas (name, delta)
        values ('pending_deposits', -1), ('deposits_approved', new.amount), ('deposits_approved_count', 1);
        perform private.record_deposit_flow(new, 1);
    else
        insert into private.counter_deltas (name, delta)
        values ('pending_deposits', -1), ('deposits_rejected_count', 1);
    end if;
    return null;
end
$$;
comment on function private.deposits_record_decision() is
'Trigger: finalises the journal row of a deposit and updates counters when its status changes.';

create function private.deposits_record_void() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.record_deposit_flow(new, -1);
    return null;
end
$$;
comment on function private.deposits_record_void() is 'Trigger: subtracts a voided deposit from the daily totals.';

create trigger _100_validate before insert on public.deposits for each row execute function private.deposits_validate();
create trigger _100_immutable before update on public.deposits for each row execute function private.deposits_immutable();
create trigger _100_reject_change before delete or truncate on public.deposits for each statement execute function private.reject_change();
create trigger _500_record_request after insert on public.deposits for each row execute function private.deposits_record_request();
create trigger _500_record_decision after update of status on public.deposits
for each row when (old.status is distinct from new.status) execute function private.deposits_record_decision();
create trigger _500_record_void after update of voided_at on public.deposits
for each row when (old.voided_at is null and new.voided_at is not null) execute function private.deposits_record_void();

-- The decision.

create function private.upline_ids(p_user_id uuid) returns uuid[]
language plpgsql stable set search_path = '' as $$
begin
    return (
        select array[m.user_id, r.user_id, g.user_id]
        from private.profiles as m
        left join private.profiles as r on m.referrer_id = r.id
        left join private.profiles as g on r.referrer_id = g.id
        where m.user_id = p_user_id
    );
end
$$;
comment on function private.upline_ids(uuid) is
'User ids whose balances a deposit of this member can change: member, referrer, referrer''s referrer.';

create function private.credit_deposit(p_deposit public.deposits) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_position private.positions;
begin
    if exists (
        select 1 from public.deposits as d
        where d.reference_key = (p_deposit).reference_key and d.id <> (p_deposit).id and d.status = 'approved' and d.voided_at is null
    ) then
        perform private.raise_error(409, 'reference_used', 'This reference was already approved with another deposit.');
    end if;
    update private.profiles as p set
        cash_in_amount = p.cash_in_amount + (p_deposit).amount,
        -- The larger of the two, in whatever order pending deposits are approved.
        package_value = greatest(p.package_value, coalesce((select k.value from private.packages as k where k.value = (p_deposit).amount), 0))
    where p.user_id = (p_deposit).user_id;
    select * into v_position from private.positions as o where o.user_id = (p_deposit).user_id;
    perform private.post_bonuses(v_position.no, (p_deposit).decided_at);
end
$$;
comment on function private.credit_deposit(public.deposits) is
'Effects of an approval: cash-in, package, bonuses. Call under the locks, before the row is approved. Errors: reference_used.';

create function public.decide_deposit(p_deposit_id uuid, p_action text, p_reason text default null) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_status public.request_status := private.parse_action(p_action);
    v_reason text := case when v_status = 'rejected' then private.validate_reason(p_reason) end;
    v_deposit public.deposits;
begin
    select * into v_deposit from public.deposits as d where d.id = p_deposit_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such deposit.');
    end if;
    perform private.require_not_own_account(v_admin, v_deposit.user_id);
    perform private.lock_money();
    perform private.lock_members(private.upline_ids(v_deposit.user_id));
    select * into v_deposit from public.deposits as d where d.id = p_deposit_id for no key update;
    if v_deposit.status <> 'pending' then
        if v_deposit.status is distinct from v_status or v_deposit.decided_by is distinct from v_admin.id then
            perform private.raise_already_decided(pg_catalog.to_jsonb(v_deposit));
        end if;
        return pg_catalog.jsonb_build_object('success', true, 'already', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit)));
    end if;
    v_deposit.decided_at := private.clock();
    if v_status = 'approved' then
        perform private.credit_deposit(v_deposit);
    end if;
    update public.deposits as d set status = v_status, admin_notes = v_reason, decided_at = v_deposit.decided_at, decided_by = v_admin.id
    where d.id = p_deposit_id and d.status = 'pending'
    returning d.* into v_deposit;
    perform private.notify_decision('deposit', v_deposit.user_id, v_deposit.amount, v_status, v_reason);
    perform private.audit(
        'admin:' || v_admin.id, 'deposit.' || v_status, 'deposit', v_deposit.id,
        pg_catalog.jsonb_build_object('user_id', v_deposit.user_id, 'amount', private.money(v_deposit.amount), 'reason', v_reason)
    );
    return pg_catalog.jsonb_build_object('success', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit)));
end
$$;
comment on function public.decide_deposit(uuid, text, text) is
'Finance and super administrators: approves or rejects a pending deposit, once; approval credits cash-in, package and bonuses. Errors: forbidden, invalid_action, invalid_reason, not_found, own_account, reference_used, already_decided, try_again.';
grant execute on function public.decide_deposit(uuid, text, text) to platform_admin;

-- Options of the deposit form: verification, packages to choose from, deposit address, pending deposits. The
-- validation trigger decides again on submission.
create function public.get_deposit_options() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
begin
    return pg_catalog.jsonb_build_object(
        'verification', private.verification_result(v_member),
        'package_value', private.money(v_member.package_value),
        'deposit_address', private.setting_text('deposit.address'),
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
                        'created_at', d.created_at
                    ) order by d.created_at
                ), '[]'
            )
            from public.deposits as d where d.user_id = v_member.user_id and d.status = 'pending'
        ),
        'pending_limit', private.setting('deposit.pending_limit')
    );
end
$$;
comment on function public.get_deposit_options() is
'What the caller may deposit: before the first package one of the packages, then only larger ones at their full price, or any other amount. Errors: profile_not_found.';
grant execute on function public.get_deposit_options() to authenticated;

-- The admin list: each request with its member, what the decision would change, and flags. Decided rows have no flags
-- and no before and after values. A receipt file that another member also uploaded is flagged even if its reference
-- differs. The flags are plpgsql: in SQL they would be planned for every row, five thousand times for the full list.

create function private.deposit_flags(p_deposit public.deposits, p_member private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text)), '[]')
        from (
            (
                select
                    'same_reference' as kind,
                    pg_catalog.format(
                        'Same reference as %s, %s', q.username, pg_catalog.to_char(d.created_at at time zone 'UTC', 'FMDD Mon YYYY')
                    ) as text
                from public.deposits as d
                inner join private.profiles as q on d.user_id = q.user_id
                where d.reference_key = (p_deposit).reference_key and d.id <> (p_deposit).id and d.status <> 'rejected'
                order by d.created_at desc
                limit 3
            )
            union all
            (
                select
                    'same_receipt',
                    pg_catalog.format(
                        'Same receipt file as %s, %s', q.username, pg_catalog.to_char(d.created_at at time zone 'UTC', 'FMDD Mon YYYY')
                    )
                from public.deposits as d
                inner join private.profiles as q on d.user_id = q.user_id
                where d.receipt_etag = (p_deposit).receipt_etag and d.user_id <> (p_deposit).user_id and d.status <> 'rejected'
                order by d.created_at desc
                limit 3
            )
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status)
            where (p_member).account_status in ('suspended', 'disabled')
        ) as f
    );
end
$$;
comment on function private.deposit_flags(public.deposits, private.profiles) is
'Flags of a pending deposit: the same reference claimed elsewhere, another member''s receipt file, a blocked member.';

create function private.deposit_items(p_ids uuid[]) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_agg(
        pg_catalog.to_jsonb(d) || pg_catalog.jsonb_build_object(
            'amount', private.money(d.amount),
            'profile_id', p.id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'account_status', p.account_status,
            'available_balance', private.money(t.available_balance),
            'cash_in_amount', private.money(p.cash_in_amount),
            'package_value', private.money(p.package_value),
            'trc20_wallet_address', p.trc20_wallet_address,
            'decided_by_name', coalesce(a.full_name, a.email),
            'total_deposits', private.money(p.cash_in_amount),
            'package_before', case when d.status = 'pending' then private.money(p.package_value) end,
            'package_after', case when d.status = 'pending' then private.money(greatest(p.package_value, k.value)) end,
            'cash_in_before', case when d.status = 'pending' then private.money(p.cash_in_amount) end,
            'cash_in_after', case when d.status = 'pending' then private.money(p.cash_in_amount + d.amount) end,
            'flags', case when d.status = 'pending' then private.deposit_flags(d, p) else '[]' end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join public.deposits as d on u.id = d.id
    inner join private.profiles as p on d.user_id = p.user_id
    inner join private.totals as t on d.user_id = t.user_id
    left join private.packages as k on d.amount = k.value
    left join private.admin_users as a on d.decided_by = a.id
$$;
comment on function private.deposit_items(uuid[]) is
'Deposits as items of the admin list. total_deposits is the approved and not voided deposits, which is the member''s cash-in. Money as text.';

create function public.list_deposits(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['created_at', 'amount', 'status', 'username']);
    v_counts jsonb := private.request_counts('deposits');
    v_page record;
begin
    perform private.require_admin();
    v_page := private.request_page('deposits', 'reference_number', v_request, v_counts);
    return pg_catalog.jsonb_build_object('items', coalesce(private.deposit_items(v_page.ids), '[]'), 'total', v_page.total, 'counts', v_counts)
        || case when v_page.more then '{"more": true}' else '{}' end::jsonb;
end
$$;
comment on function public.list_deposits(jsonb) is
'Administrators: deposits with their members. Filters: page, pageSize, search (member, reference), status, sort (created_at, amount, status, username). {} returns all pending and the newest others, at most 5,000. Errors: forbidden, session_ended, invalid_filter.';
grant execute on function public.list_deposits(jsonb) to platform_admin;

-- Withdrawals. A member requests money; an administrator approves (it will be paid) or rejects it, once. Row-level
-- security cannot protect the balance (fifty concurrent requests would all see it unchanged): the validation trigger
-- locks the member's row before it reads. The wallet address is immutable once requested.

create table public.withdrawals (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    amount public.usd not null check (amount between 100 and 10000000),
    wallet_address text not null check (length(wallet_address) between 1 and 128),
    status public.request_status not null default 'pending',
    admin_notes text check (length(admin_notes) <= 1000),
    created_at timestamptz not null default now(),
    decided_at timestamptz,
    decided_by uuid references private.admin_users (id) on delete restrict,
    payout_reference text check (length(payout_reference) between 1 and 200),
    payout_at timestamptz,
    voided_at timestamptz,
    constraint pending_is_undecided check ((status = 'pending') = (decided_at is null)),
    constraint withdrawals_decided_by_matches_status check (
        (status = 'pending' and decided_by is null) or (status = 'approved' and decided_by is not null) or status = 'rejected'
    ),
    constraint a_rejection_has_a_reason check (status <> 'rejected' or length(admin_notes) > 0),
    constraint only_approved_is_paid check (payout_reference is null or status = 'approved'),
    constraint a_payout_has_its_time check ((payout_reference is null) = (payout_at is null)),
    constraint only_unpaid_is_voided check (voided_at is null or (status = 'approved' and payout_reference is null))
);
comment on table public.withdrawals is 'Withdrawal requests. Pending rows reserve balance; approved and not voided ones reduce it.';
alter table public.withdrawals enable row level security;
create index withdrawals_user_idx on public.withdrawals (user_id, created_at desc, id desc);
create index withdrawals_status_idx on public.withdrawals (status, created_at desc, id desc);
create index withdrawals_created_idx on public.withdrawals (created_at desc, id desc);
create index withdrawals_decided_by_idx on public.withdrawals (decided_by) where decided_by is not null;
-- A member's pending withdrawals, for the form.
create index withdrawals_pending_idx on public.withdrawals (user_id, created_at) where status = 'pending';
create index withdrawals_wallet_search_idx on public.withdrawals
using gin (lower(wallet_address) extensions.gin_trgm_ops) with (gin_pending_list_limit = 256);
create index withdrawals_amount_idx on public.withdrawals (amount, id);

create policy select_own on public.withdrawals for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on public.withdrawals for select to platform_admin using (true);
create policy insert_own on public.withdrawals for insert to authenticated
with check (user_id = (select auth.uid()) and status = 'pending');
grant select on public.withdrawals to authenticated, platform_admin;
grant insert (id, user_id, amount, wallet_address, status) on public.withdrawals to authenticated;
grant select on public.withdrawals to service_role;
grant insert (id, user_id, amount, wallet_address, status) on public.withdrawals to service_role;
-- Not granted: update and delete, to any role. Decisions are made by a function.

create function private.requestable_amount(p_user_id uuid) returns numeric
language plpgsql volatile set search_path = '' as $$
begin
    return (
        -- Read pending rows from the table, not from the totals: within one multi-row insert the totals are not
        -- updated yet.
        select t.bonus_amount - t.withdrawn_amount - coalesce(
            (select sum(w.amount) from public.withdrawals as w where w.user_id = p_user_id and w.status = 'pending'), 0
        )
        from private.totals as t where t.user_id = p_user_id
    );
end
$$;
comment on function private.requestable_amount(uuid) is
'What a member could request now: bonuses - approved - pending withdrawals. Volatile, so that it reads what the lock waited for.';

create function private.withdrawals_validate() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles;
    v_existing public.withdrawals;
    v_available numeric;
begin
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    -- Look for a retry first: triggers run before ON CONFLICT.
    select * into v_existing from public.withdrawals as w where w.id = new.id;
    if found then
        if (v_existing.user_id, v_existing.amount, v_existing.wallet_address)
            is not distinct from (new.user_id, new.amount, new.wallet_address) then
            return null;
        end if;
        perform private.raise_error(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.require_active_status(v_member.account_status);
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    if new.amount is null or new.amount <= 0 or new.amount > 10000000 then
        perform private.raise_error(400, 'invalid_amount', 'Enter an amount above $0.00 and up to $10,000,000.00.');
    end if;
    v_available := greatest(0, private.requestable_amount(new.user_id));
    if v_available is null or new.amount > v_available then
        perform private.raise_error(400, 'insufficient_balance', 'Insufficient balance. Available: ' || private.dollars(coalesce(v_available, 0)));
    end if;
    if new.amount < 100 then
        perform private.raise_error(400, 'below_minimum', 'Minimum withdrawal amount is $100');
    end if;
    if not v_member.account_verified then
        perform private.raise_error(403, 'not_verified', 'Please complete your profile, settings, and account verification first');
    end if;
    if new.wallet_address is distinct from v_member.trc20_wallet_address then
        perform private.raise_error(409, 'wallet_changed', 'Your wallet address has changed. Check it and try again.');
    end if;
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.payout_reference := null;
    new.payout_at := null;
    new.voided_at := null;
    return new;
end
$$;
comment on function private.withdrawals_validate() is
'Trigger: validates a new withdrawal under the member''s lock: amount, balance, minimum, verified account, unchanged wallet. Errors: not_yours, duplicate_request, account_*, forbidden, invalid_amount, insufficient_balance, below_minimum, not_verified, wallet_changed.';

create function private.withdrawals_immutable() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.id, new.user_id, new.amount, new.wallet_address, new.created_at)
        is distinct from (old.id, old.user_id, old.amount, old.wallet_address, old.created_at)
        or (old.status <> 'pending' and (new.status, new.admin_notes, new.decided_at, new.decided_by)
            is distinct from (old.status, old.admin_notes, old.decided_at, old.decided_by))
        or (old.payout_reference is not null and (new.payout_reference, new.payout_at) is distinct from (old.payout_reference, old.payout_at))
        or (old.voided_at is not null and new.voided_at is distinct from old.voided_at)
        or (new.voided_at is distinct from old.voided_at and not private.is_being_corrected(new.user_id)) then
        perform private.raise_error(403, 'append_only', 'A withdrawal is decided once and never changed.');
    end if;
    return new;
end
$$;
comment on function private.withdrawals_immutable() is
'Trigger: a request never changes; it is decided once; a payout reference is added once; only a confirmed correction voids it. Errors: append_only.';

create function private.withdrawals_record_request() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, -new.amount, 'withdrawal', 'pending', new.id, new.created_at);
    update private.totals as t set reserved_amount = t.reserved_amount + new.amount where t.user_id = new.user_id;
    perform private.increment_counter('pending_withdrawals', 1);
    perform private.increment_counter('reserved', new.amount);
    return null;
end
$$;
comment on function private.withdrawals_record_request() is 'Trigger: journal row, reserved amount and counters of a new withdrawal.';

create function private.record_withdrawal_flow(p_withdrawal public.withdrawals, p_sign integer) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.flow_deltas (day, withdrawals)
    values (((p_withdrawal).created_at at time zone 'UTC')::date, p_sign * (p_withdrawal).amount);
end
$$;
comment on function private.record_withdrawal_flow(public.withdrawals, integer) is
'Adds an approved withdrawal to the daily totals of its day; with -1 subtracts a voided one.';

create function private.withdrawals_record_decision() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    update public.transactions as t set status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status
    where t.transaction_type = 'withdrawal' and t.reference_id = new.id;
    update private.totals as t set
        reserved_amount = t.reserved_amount - new.amount,
        withdrawn_amount = t.withdrawn_amount + case when new.status = 'approved' then new.amount else 0 end
    where t.user_id = new.user_id;
    perform private.increment_counter('pending_withdrawals', -1);
    perform private.increment_counter('reserved', -new.amount);
    if new.status = 'approved' then
        perform private.increment_counter('withdrawals_approved', new.amount);
        perform private.increment_counter('withdrawals_approved_count', 1);
        perform private.record_withdrawal_flow(new, 1);
    else
        perform private.increment_counter('withdrawals_rejected_count', 1);
    end if;
    return null;
end
$$;
comment on function private.withdrawals_record_decision() is
'Trigger: finalises the journal row of a withdrawal and updates totals and counters when its status changes.';

create function private.withdrawals_record_void() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.record_withdrawal_flow(new, -1);
    return null;
end
$$;
comment on function private.withdrawals_record_void() is 'Trigger: subtracts a voided withdrawal from the daily totals.';

create trigger _100_validate before insert on public.withdrawals for each row execute function private.withdrawals_validate();
create trigger _100_immutable before update on public.withdrawals for each row execute function private.withdrawals_immutable();
create trigger _100_reject_change before delete or truncate on public.withdrawals for each statement execute function private.reject_change();
create trigger _500_record_request after insert on public.withdrawals for each row execute function private.withdrawals_record_request();
create trigger _500_record_decision after update of status on public.withdrawals
for each row when (old.status is distinct from new.status) execute function private.withdrawals_record_decision();
create trigger _500_record_void after update of voided_at on public.withdrawals
for each row when (old.voided_at is null and new.voided_at is not null) execute function private.withdrawals_record_void();

-- The decision.

create function private.check_payable(p_withdrawal public.withdrawals, p_member private.profiles) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_available numeric;
begin
    if (p_member).account_status in ('suspended', 'disabled') then
        perform private.raise_error(409, 'account_blocked', 'This member is blocked. A withdrawal of a blocked member cannot be approved.');
    end if;
    if (p_member).hold_until > pg_catalog.clock_timestamp() then
        perform private.raise_error(
            409, 'on_hold', pg_catalog.format(
                'On hold until %s UTC, 24 hours after a change of %s.',
                pg_catalog.to_char((p_member).hold_until at time zone 'UTC', 'YYYY-MM-DD HH24:MI'),
                case (p_member).hold_reason when 'email' then 'e-mail' when 'factor' then 'second factor' else (p_member).hold_reason end
            )
        );
    end if;
    -- Sum the rows, not the totals: the last check before money is paid out.
    select coalesce((select sum(b.amount) from public.bonuses as b where b.user_id = (p_withdrawal).user_id), 0)
        - coalesce((
            select sum(w.amount) from public.withdrawals as w
            where w.user_id = (p_withdrawal).user_id and w.status = 'approved' and w.voided_at is null
        ), 0) into v_available;
    if (p_withdrawal).amount > v_available then
        perform private.raise_error(409, 'insufficient_available_balance', 'Insufficient available balance');
    end if;
end
$$;
comment on function private.check_payable(public.withdrawals, private.profiles) is
'Under the member''s lock: raises when the member is blocked, on hold, or the balance does not cover the amount. Errors: account_blocked, on_hold, insufficient_available_balance.';

-- The member reads the payout reference, so it must be readable, whether it is recorded with the approval or later.
create function private.add_payout_reference(p_withdrawal public.withdrawals, p_admin private.admin_users, p_reference text)
returns public.withdrawals
language plpgsql volatile set search_path = '' as $$
declare
    v_reference text := nullif(pg_catalog.btrim(p_reference, E' \t\r\n'), '');
    v_withdrawal public.withdrawals := p_withdrawal;
begin
    if v_reference is null or v_reference is not distinct from (p_withdrawal).payout_reference then
        return p_withdrawal;
    end if;
    if pg_catalog.length(v_reference) > 200 or not private.is_readable(v_reference) then
        perform private.raise_error(400, 'invalid_reference', 'A payout reference has at most 200 characters, on one line.');
    end if;
    if (p_withdrawal).payout_reference is not null then
        perform private.raise_error(409, 'payout_recorded', 'A payout reference was already recorded for this withdrawal.');
    end if;
    if (p_withdrawal).voided_at is not null then
        perform private.raise_error(409, 'voided', 'This withdrawal was voided.');
    end if;
    update public.withdrawals as w set payout_reference = v_reference, payout_at = private.clock()
    where w.id = (p_withdrawal).id
    returning w.* into v_withdrawal;
    perform private.audit(
        'admin:' || (p_admin).id, 'withdrawal.paid', 'withdrawal', v_withdrawal.id,
        pg_catalog.jsonb_build_object('payout_reference', v_reference)
    );
    return v_withdrawal;
end
$$;
comment on function private.add_payout_reference(public.withdrawals, private.admin_users, text) is
'Records once how an approved withdrawal was paid. Errors: invalid_reference, payout_recorded, voided.';

create function public.decide_withdrawal(
    p_withdrawal_id uuid, p_action text, p_reason text default null, p_payout_reference text default null
)
returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_status public.request_status := private.parse_action(p_action);
    v_reason text := case when v_status = 'rejected' then private.validate_reason(p_reason) end;
    v_withdrawal public.withdrawals;
    v_member private.profiles;
    v_paid text;
begin
    select * into v_withdrawal from public.withdrawals as w where w.id = p_withdrawal_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such withdrawal.');
    end if;
    perform private.require_not_own_account(v_admin, v_withdrawal.user_id);
    perform private.lock_money();
    v_member := private.lock_member(v_withdrawal.user_id);
    select * into v_withdrawal from public.withdrawals as w where w.id = p_withdrawal_id for no key update;
    v_paid := case when v_status = 'approved' then nullif(pg_catalog.btrim(p_payout_reference), '') end;
    if v_withdrawal.status <> 'pending' then
        -- Any administrator who may decide may record the payout later.
        if v_withdrawal.status is distinct from v_status or (v_paid is null and v_withdrawal.decided_by is distinct from v_admin.id) then
            perform private.raise_already_decided(pg_catalog.to_jsonb(v_withdrawal));
        end if;
        v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid);
        return pg_catalog.jsonb_build_object('success', true, 'already', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal)));
    end if;
    if v_status = 'approved' then
        perform private.check_payable(v_withdrawal, v_member);
    end if;
    update public.withdrawals as w set status = v_status, admin_notes = v_reason, decided_at = private.clock(), decided_by = v_admin.id
    where w.id = p_withdrawal_id and w.status = 'pending'
    returning w.* into v_withdrawal;
    perform private.notify_decision('withdrawal', v_withdrawal.user_id, v_withdrawal.amount, v_status, v_reason);
    perform private.audit(
        'admin:' || v_admin.id, 'withdrawal.' || v_status, 'withdrawal', v_withdrawal.id,
        pg_catalog.jsonb_build_object('user_id', v_withdrawal.user_id, 'amount', private.money(v_withdrawal.amount), 'reason', v_reason)
    );
    v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid);
    return pg_catalog.jsonb_build_object('success', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal)));
end
$$;
comment on function public.decide_withdrawal(uuid, text, text, text) is
'Finance and super administrators: approves (it will be paid) or rejects a pending withdrawal, once; a payout reference may be added once later. Errors: forbidden, invalid_action, invalid_reason, not_found, own_account, already_decided, account_blocked, on_hold, insufficient_available_balance, invalid_reference, payout_recorded, voided, try_again.';
grant execute on function public.decide_withdrawal(uuid, text, text, text) to platform_admin;

-- Options of the withdrawal form. The validation trigger decides again on submission.
create function public.get_withdraw_options() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
    v_totals private.totals;
begin
    select t.* into v_totals from private.totals as t where t.user_id = v_member.user_id;
    return pg_catalog.jsonb_build_object(
        'verification', private.verification_result(v_member),
        'balance', private.balance_figures(v_totals, v_member),
        'wallet_address', v_member.trc20_wallet_address,
        'wallet_checksum_ok', case
            when v_member.trc20_wallet_address is not null then private.is_trc20_address(v_member.trc20_wallet_address)
        end,
        'minimum', private.money(100),
        'hold_until', case when v_member.hold_until > pg_catalog.now() then v_member.hold_until end,
        'pending', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'id', w.id,
                        'amount', private.money(w.amount),
                        'wallet_address', w.wallet_address,
                        'created_at', w.created_at
                    ) order by w.created_at
                ), '[]'
            )
            from public.withdrawals as w where w.user_id = v_member.user_id and w.status = 'pending'
        )
    );
end
$$;
comment on function public.get_withdraw_options() is
'What the caller can withdraw now, to which wallet, and the pending withdrawals. Errors: profile_not_found.';
grant execute on function public.get_withdraw_options() to authenticated;

-- The admin list, as for deposits.

create function private.withdrawal_flags(p_withdrawal public.withdrawals, p_member private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text)), '[]')
        from (
            select 'checksum' as kind, 'This does not look like a TRC20 address' as text
            where not private.is_trc20_address((p_withdrawal).wallet_address)
            union all
            (
                select
                    'address_changed',
                    pg_catalog.format(
                        'Wallet address changed on %s', pg_catalog.to_char(l.at at time zone 'UTC', 'FMDD Mon YYYY')
                    )
                from private.audit_log as l
                where
                    l.object_id = (p_member).id
                    and l.action = 'member.wallet_changed'
                    and l.payload ->> 'from' is not null
                    and l.at > pg_catalog.now() - interval '7 days'
                order by l.seq desc
                limit 1
            )
            union all
            (
                select 'address_shared', pg_catalog.format('Also the wallet of %s', q.username)
                from private.profiles as q
                where q.trc20_wallet_address = (p_withdrawal).wallet_address and q.id <> (p_member).id
                order by q.created_at
                limit 3
            )
            union all
            select 'hold', pg_catalog.format(
                'On hold until %s UTC, 24 hours after a change of %s',
                pg_catalog.to_char((p_member).hold_until at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'),
                case (p_member).hold_reason when 'email' then 'e-mail' when 'factor' then 'second factor' else (p_member).hold_reason end
            )
            where (p_member).hold_until > pg_catalog.now()
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status)
            where (p_member).account_status in ('suspended', 'disabled')
        ) as f
    );
end
$$;
comment on function private.withdrawal_flags(public.withdrawals, private.profiles) is
'Flags of a pending withdrawal: no TRC20 address, wallet changed within 7 days or shared with other members, on hold, blocked.';

create function private.withdrawal_items(p_ids uuid[]) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_agg(
        pg_catalog.to_jsonb(w) || pg_catalog.jsonb_build_object(
            'amount', private.money(w.amount),
            'profile_id', p.id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'account_status', p.account_status,
            'available_balance', private.money(t.available_balance),
            'cash_in_amount', private.money(p.cash_in_amount),
            'package_value', private.money(p.package_value),
            'trc20_wallet_address', p.trc20_wallet_address,
            'decided_by_name', coalesce(a.full_name, a.email),
            'available_after', case when w.status = 'pending' then private.money(t.available_balance - w.amount) end,
            'due_at', w.created_at + e.due_after,
            'flags', case when w.status = 'pending' then private.withdrawal_flags(w, p) else '[]' end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join public.withdrawals as w on u.id = w.id
    inner join private.profiles as p on w.user_id = p.user_id
    inner join private.totals as t on w.user_id = t.user_id
    left join private.admin_users as a on w.decided_by = a.id
    cross join (select private.review_interval() as due_after) as e
$$;
comment on function private.withdrawal_items(uuid[]) is
'Withdrawals as items of the admin list. available_after is negative when the balance does not cover the amount. Money as text.';

create function public.list_withdrawals(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['created_at', 'amount', 'status', 'username']);
    v_counts jsonb := private.request_counts('withdrawals');
    v_page record;
begin
    perform private.require_admin();
    v_page := private.request_page('withdrawals', 'wallet_address', v_request, v_counts);
    return pg_catalog.jsonb_build_object('items', coalesce(private.withdrawal_items(v_page.ids), '[]'), 'total', v_page.total, 'counts', v_counts)
        || case when v_page.more then '{"more": true}' else '{}' end::jsonb;
end
$$;
comment on function public.list_withdrawals(jsonb) is
'Administrators: withdrawals with their members. Filters as in list_deposits; search matches member and wallet address. Errors: forbidden, session_ended, invalid_filter.';
grant execute on function public.list_withdrawals(jsonb) to platform_admin;

-- What deposits and withdrawals share. A request is decided once: pending to approved or rejected by compare-and-set,
-- in one transaction with journal row, cash-in, package, bonuses, notification and audit row. A repeated call by the
-- same administrator returns the first result; any other gets already_decided with who and when. Locks: money, then
-- members by id, then the audit log.

create function private.parse_action(p_action text) returns public.request_status
language plpgsql immutable set search_path = '' as $$
begin
    if p_action is null or p_action not in ('approve', 'reject') then
        perform private.raise_error(400, 'invalid_action', 'The action must be approve or reject.');
    end if;
    return case p_action when 'approve' then 'approved'::public.request_status else 'rejected'::public.request_status end;
end
$$;
comment on function private.parse_action(text) is 'Maps approve or reject to a status. Errors: invalid_action.';

create function private.validate_reason(p_reason text) returns text
language plpgsql immutable set search_path = '' as $$
declare
    v_reason text := coalesce(nullif(pg_catalog.btrim(p_reason), ''), 'No reason provided');
begin
    if pg_catalog.length(v_reason) > 1000 then
        perform private.raise_error(400, 'invalid_reason', 'A reason has at most 1,000 characters.');
    end if;
    return v_reason;
end
$$;
comment on function private.validate_reason(text) is 'Trims a reason; ''No reason provided'' when empty. Errors: invalid_reason.';

create function private.require_not_own_account(p_admin private.admin_users, p_user_id uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
    if exists (
        select 1 from private.profiles as p
        where p.user_id = p_user_id and pg_catalog.lower(p.email) = pg_catalog.lower((p_admin).email)
    ) then
        perform private.raise_error(403, 'own_account', 'You cannot decide a request of your own member account.');
    end if;
end
$$;
comment on function private.require_not_own_account(private.admin_users, uuid) is
'Raises when the member has the administrator''s e-mail. Errors: own_account.';

create function private.raise_already_decided(p_row jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
    v_status text := p_row ->> 'status';
    v_decided_at timestamptz := (p_row ->> 'decided_at')::timestamptz;
    v_decider text;
    v_verb text;
begin
    select coalesce(a.full_name, a.email) into v_decider from private.admin_users as a where a.id = (p_row ->> 'decided_by')::uuid;
    v_verb := case
        when v_decider is not null then pg_catalog.format('%s by %s', v_status, v_decider)
        when p_row ->> 'admin_notes' = 'Account closed' then 'rejected because the account was closed'
        else 'cancelled by the member'
    end;
    perform private.raise_error(
        409, 'already_decided', pg_catalog.format('Already %s %s.', v_verb, private.relative_time(v_decided_at, private.clock())),
        pg_catalog.jsonb_build_object(
            'status', v_status, 'decided_by', v_decider, 'decided_at', v_decided_at, 'reason', p_row ->> 'admin_notes'
        )::text
    );
end
$$;
comment on function private.raise_already_decided(jsonb) is
'Raises already_decided with who decided what and when. Errors: already_decided.';

create function private.notify_decision(
    p_noun text, p_user_id uuid, p_amount numeric, p_status public.request_status, p_reason text
) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_body text := case
        when p_status = 'rejected' then pg_catalog.format('Your %s of %s was rejected. Reason: %s', p_noun, private.dollars(p_amount), p_reason)
        when p_noun = 'deposit' then pg_catalog.format('Your deposit of %s was approved and counts from now on.', private.dollars(p_amount))
        else pg_catalog.format('Your withdrawal of %s was approved and will be paid to the wallet you named.', private.dollars(p_amount))
    end;
begin
    perform private.notify_member(
        p_user_id, p_noun || '_' || p_status, pg_catalog.initcap(p_noun) || ' ' || p_status, v_body, p_amount, '/transactions'
    );
end
$$;
comment on function private.notify_decision(text, uuid, numeric, public.request_status, text) is
'Notifies a member of a decision, with the reason of a rejection.';

create function private.request_json(p_row jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
    return p_row || pg_catalog.jsonb_build_object('amount', private.money((p_row ->> 'amount')::numeric));
end
$$;
comment on function private.request_json(jsonb) is 'A deposit or withdrawal as JSON, with its amount as text.';

-- A pending account may not request anything new, but may cancel its own requests.
create function public.cancel_request(p_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_row jsonb;
    v_noun text;
begin
    -- Status pending blocks only new requests.
    perform private.require_active_status(nullif((private.lock_member(auth.uid())).account_status, 'pending'));
    update public.deposits as d set status = 'rejected', admin_notes = 'Cancelled by the member', decided_at = private.clock()
    where d.id = p_id and d.user_id = auth.uid() and d.status = 'pending';
    if found then
        v_noun := 'deposit';
    else
        update public.withdrawals as w set status = 'rejected', admin_notes = 'Cancelled by the member', decided_at = private.clock()
        where w.id = p_id and w.user_id = auth.uid() and w.status = 'pending';
        v_noun := case when found then 'withdrawal' end;
    end if;
    if v_noun is not null then
        perform private.audit('member:' || auth.uid(), v_noun || '.cancelled', v_noun, p_id);
        return pg_catalog.jsonb_build_object('success', true);
    end if;
    select pg_catalog.to_jsonb(r) into v_row from (
        select d.status, d.decided_at, d.decided_by, d.admin_notes from public.deposits as d where d.id = p_id and d.user_id = auth.uid()
        union all
        select w.status, w.decided_at, w.decided_by, w.admin_notes from public.withdrawals as w where w.id = p_id and w.user_id = auth.uid()
    ) as r;
    if v_row is null then
        perform private.raise_error(404, 'not_found', 'There is no such request of yours.');
    end if;
    if v_row ->> 'admin_notes' is distinct from 'Cancelled by the member' then
        perform private.raise_error(
            409, 'already_decided', pg_catalog.format('Already %s %s.', v_row ->> 'status', private.relative_time((v_row ->> 'decided_at')::timestamptz, private.clock()))
        );
    end if;
    return pg_catalog.jsonb_build_object('success', true, 'already', true);
end
$$;
comment on function public.cancel_request(uuid) is
'A member, also a pending one, cancels an own pending deposit or withdrawal; it becomes rejected, ''Cancelled by the member''. Errors: not_found, already_decided, account_disabled, account_suspended.';
grant execute on function public.cancel_request(uuid) to authenticated;

-- One paged admin list for both.

create function private.review_interval() returns interval
language sql stable set search_path = '' as $$
    select pg_catalog.make_interval(hours => private.setting_text('review.due_hours')::integer)
$$;
comment on function private.review_interval() is 'Time within which a request should be decided.';

create function private.oldest_pending(p_row jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object(
            'id', p_row -> 'id',
            'amount', private.money((p_row ->> 'amount')::numeric),
            'username', p.username,
            'created_at', p_row -> 'created_at',
            'due_at', (p_row ->> 'created_at')::timestamptz + private.review_interval()
        )
        from private.profiles as p where p.user_id = (p_row ->> 'user_id')::uuid
    );
end
$$;
comment on function private.oldest_pending(jsonb) is 'The oldest pending request, with its member and due time.';

create function private.request_counts(p_noun text) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'pending', private.counter_value('pending_' || p_noun)::bigint,
        'approved', private.counter_value(p_noun || '_approved_count')::bigint,
        'rejected', private.counter_value(p_noun || '_rejected_count')::bigint
    )
$$;
comment on function private.request_counts(text) is 'Number of deposits or withdrawals by status, from counters.';

create function private.newest_requests(p_table text, p_pending bigint) returns uuid[]
language plpgsql stable set search_path = '' as $$
declare
    v_ids uuid[];
begin
    execute pg_catalog.format(
        $query$
        select array(
            select a.id
            from (
                (select r.id, r.created_at from public.%1$I as r where r.status = 'pending' order by r.created_at desc, r.id desc limit 5000)
                union all
                (select r.id, r.created_at from public.%1$I as r where r.status <> 'pending' order by r.created_at desc, r.id desc limit $1)
            ) as a
            order by a.created_at desc, a.id desc
        )
        $query$, p_table
    ) into v_ids using greatest(5000 - p_pending, 0);
    return v_ids;
end
$$;
comment on function private.newest_requests(text, bigint) is
'All pending rows of deposits, withdrawals or transactions and the newest others, together at most 5,000, newest first.';

create function private.request_page(
    p_table text, p_text_column text, p_request private.list_request, p_counts jsonb,
    out ids uuid[], out total bigint, out more boolean
)
language plpgsql stable set search_path = '' as $$
declare
    v_all bigint := (p_counts ->> 'pending')::bigint + (p_counts ->> 'approved')::bigint + (p_counts ->> 'rejected')::bigint;
    v_status text := coalesce(' and r.status = ' || pg_catalog.quote_literal((p_request).status) || '::public.request_status', '');
    -- Join the member only where needed: without it a page number is counted along an index.
    v_from text := pg_catalog.format(
        'from public.%I as r %s where true', p_table,
        case when (p_request).sort_by = 'username' or (p_request).pattern is not null
            then 'inner join private.profiles as p on r.user_id = p.user_id'
        end
    ) || v_status;
    v_matches text := pg_catalog.format(
        '(private.member_search_text(p.username, p.display_name, p.email) like $1 or lower(r.%I) like $1)', p_text_column
    );
    v_up text;
    v_down text;
    v_found uuid[];
begin
    if (p_request).everything then
        ids := private.newest_requests(p_table, (p_counts ->> 'pending')::bigint);
        total := v_all;
        return;
    end if;
    if (p_request).status not in ('pending', 'approved', 'rejected') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    select o.up, o.down into v_up, v_down
    from (
        values
        ('created_at', 'r.created_at, r.id', 'r.created_at desc, r.id desc'),
        ('amount', 'r.amount, r.id', 'r.amount desc, r.id desc'),
        ('status', 'r.status, r.created_at desc, r.id desc', 'r.status desc, r.created_at, r.id'),
        ('username', 'lower(p.username), r.created_at desc, r.id desc', 'lower(p.username) desc, r.created_at, r.id')
    ) as o (name, up, down)
    where o.name = (p_request).sort_by;
    if (p_request).descending then
        select v_down, v_up into v_up, v_down;
    end if;
    if (p_request).pattern is null then
        total := coalesce((p_counts ->> (p_request).status)::bigint, v_all);
        ids := private.page_ids(v_from, v_up, v_down, p_request, total);
        return;
    end if;
    execute pg_catalog.format(
        $query$
        select array(
            select f.id
            from (
                (
                    select r.id from private.profiles as p inner join public.%1$I as r on p.user_id = r.user_id
                    where private.member_search_text(p.username, p.display_name, p.email) like $1 %3$s
                    limit 10001
                )
                union
                (
                    select r.id from public.%1$I as r
                    where lower(r.%2$I) like $1 %3$s
                    limit 10001
                )
            ) as f
            limit 10001
        )
        $query$, p_table, p_text_column, v_status
    ) into v_found using (p_request).pattern;
    total := pg_catalog.cardinality(v_found)::bigint;
    if total > 10000 then
        more := true;
        total := 10000;
        ids := private.page_ids(v_from || ' and ' || v_matches, v_up, v_down, p_request, total, more);
        return;
    end if;
    execute pg_catalog.format(
        'select array(select r.id from public.%I as r inner join private.profiles as p on r.user_id = p.user_id where r.id = any($1) order by %s offset $2 limit $3)',
        p_table, v_up
    ) into ids using v_found, ((p_request).page - 1)::bigint * (p_request).page_size, (p_request).page_size;
end
$$;
comment on function private.request_page(text, text, private.list_request, jsonb) is
'Ids of one page of deposits or withdrawals, with the exact total, or 10,000 and more for a frequent search. Errors: invalid_filter.';

-- Bonuses: three rules over the tree, defined by three views and written by one function.
-- referral 5% of each funded direct referral's package, to the referrer;
-- pairing the owner's rate of both packages of each pair of funded referrals;
-- override 1% of the same volume, to the owner's referrer.
-- Direct referrals are paired by child_no: 1 with 2, 3 with 4. An unfunded referral earns nobody a bonus and blocks
-- its pair. A pairing needs the owner to have a package (its rate); the others need none. Everything is computed in
-- whole cents; packages are multiples of $50, so nothing is rounded.
-- One row per natural key, so that posting twice is impossible and an upgrade raises the existing row. Rows keep id
-- and created_at; nothing is deleted and inserted again. Only the functions below write here; no role may over REST.
-- The plans must suit three rows and a million. An upgrade of a member with many direct referrals changes thousands
-- of pairs in one statement: the sums do not join the rows before with the rows after, because a plan cached for one
-- row would be a nested loop over all. pair_source() runs for new rows only, and a reconciliation looks up stored
-- rows only for discrepancies. Do not remove a plan setting because a small test is as fast without it: `make bench`
-- has the relevant sizes.

-- Immutable and without arguments: the planner inlines the constant. plpgsql, because the percentage of
-- bonuses.reentry_amount is evaluated in every statement that writes a bonus, and an SQL function with a fixed
-- search_path is parsed and planned there; parallel safe, because any other function disables parallel plans.
create function private.referral_percent() returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return 5;
end
$$;
comment on function private.referral_percent() is 'Referral bonus in percent of a direct referral''s package.';

create function private.override_percent() returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return 1;
end
$$;
comment on function private.override_percent() is 'Override bonus in percent of a pair''s volume, for the referrer of the pair owner.';

create function private.reentry_percent() returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return 10;
end
$$;
comment on function private.reentry_percent() is 'Share of each bonus that re-enters: informational, never deducted from the balance.';

create table public.bonuses (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    source_user_id uuid not null references private.profiles (user_id) on delete restrict,
    bonus_type public.bonus_type not null,
    amount public.usd not null check (amount between 0 and 10000000),
    created_at timestamptz not null default now(),
    pair_number integer check (pair_number > 0),
    rate numeric(5, 2) not null check (rate between 0 and 100),
    volume public.usd not null check (volume >= 0),
    reentry_amount public.usd generated always as (round(amount * private.reentry_percent() / 100, 2)) stored,
    -- For comparing a million rows as integers.
    amount_cents bigint generated always as ((amount * 100)::bigint) stored,
    -- Subject of the natural key: the referred member of a referral bonus, the pair owner of the others.
    subject_no integer not null references private.positions (no) on delete restrict,
    constraint amount_is_rate_of_volume check (amount = round(volume * rate / 100, 2)),
    constraint pairs_have_a_number check ((bonus_type = 'referral') = (pair_number is null)),
    constraint no_bonus_from_oneself check (user_id <> source_user_id)
) with (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02
);
comment on table public.bonuses is
'Current amount of every bonus. Source: the referred member of a referral, the member who completed the pair of a pairing, the pair owner of an override.';
alter table public.bonuses enable row level security;
-- The natural keys, in the order in which the engine computes its rows, including what the comparison reads. They
-- make another index on subject_no unnecessary.
create unique index bonuses_referral_key on public.bonuses (subject_no) include (amount_cents) where bonus_type = 'referral';
create unique index bonuses_pairing_key on public.bonuses (subject_no, pair_number) include (amount_cents) where bonus_type = 'pairing';
create unique index bonuses_override_key on public.bonuses (subject_no, pair_number) include (amount_cents) where bonus_type = 'override';
create index bonuses_user_idx on public.bonuses (user_id, created_at desc, id desc);
create index bonuses_source_idx on public.bonuses (source_user_id);
-- The few pairings that a correction set to zero.
create index bonuses_lapsed_idx on public.bonuses (subject_no) where bonus_type = 'pairing' and amount = 0;

-- The source is compared as a range of one id, which the planner estimates as more than a few rows: a member's page
-- is read along its index, and all visible rows are still found by two indexes. As an equality, "mine or from me"
-- with the filter "mine" is estimated as one row, and a member with many referrals reads twenty thousand rows for a
-- hundred.
create policy select_own on public.bonuses for select to authenticated
using (user_id = (select auth.uid()) or source_user_id between (select auth.uid()) and (select auth.uid()));
create policy select_all on public.bonuses for select to platform_admin using (true);
grant select on public.bonuses to authenticated, platform_admin, service_role;
-- Not granted: insert, update, delete to any role. sync_bonuses() replaces a client's delete and insert.

create sequence private.bonus_revision_seq as bigint;
select pg_catalog.setval('private.bonus_revision_seq', 1);
comment on sequence private.bonus_revision_seq is
'Revision of bonuses and of what they are computed from; advances with every change. Equal to the last clean reconciliation: nothing to do.';

create function private.bonuses_immutable() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.id, new.user_id, new.bonus_type, new.subject_no, new.pair_number, new.created_at, new.source_user_id)
        is distinct from (old.id, old.user_id, old.bonus_type, old.subject_no, old.pair_number, old.created_at, old.source_user_id) then
        perform private.raise_error(403, 'append_only', 'A bonus keeps its reason and its date.');
    end if;
    if new.amount < old.amount and nullif(pg_catalog.current_setting('app.allow_bonus_decrease', true), '') is distinct from 'on' then
        perform private.raise_error(403, 'append_only', 'A bonus only rises. A correction can lower it.');
    end if;
    return new;
end
$$;
comment on function private.bonuses_immutable() is
'Trigger: a bonus keeps its key and only increases, except within a correction or a repair. Errors: append_only.';

create function private.bonuses_record_insert() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform pg_catalog.nextval('private.bonus_revision_seq');
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    select n.user_id, n.amount, 'bonus', 'completed', n.id, n.created_at from added as n where n.amount <> 0;
    update private.totals as t set
        referral_amount = t.referral_amount + s.referral, referral_count = t.referral_count + s.referrals,
        pairing_amount = t.pairing_amount + s.pairing, pairing_count = t.pairing_count + s.pairings,
        override_amount = t.override_amount + s.override, override_count = t.override_count + s.overrides,
        reentry_amount = t.reentry_amount + s.reentry
    from (
        select
            n.user_id,
            coalesce(sum(n.amount) filter (where n.bonus_type = 'referral'), 0) as referral,
            count(*) filter (where n.bonus_type = 'referral') as referrals,
            coalesce(sum(n.amount) filter (where n.bonus_type = 'pairing'), 0) as pairing,
            count(*) filter (where n.bonus_type = 'pairing') as pairings,
            coalesce(sum(n.amount) filter (where n.bonus_type = 'override'), 0) as override,
            count(*) filter (where n.bonus_type = 'override') as overrides,
            sum(n.reentry_amount) as reentry
        from added as n group by n.user_id
    ) as s
    where t.user_id = s.user_id;
    insert into private.network_deltas (no, day, referral, pairing, override, funded)
    select
        o.no,
        (n.created_at at time zone 'UTC')::date,
        coalesce(sum(n.amount) filter (where n.bonus_type = 'referral'), 0),
        coalesce(sum(n.amount) filter (where n.bonus_type = 'pairing'), 0),
        coalesce(sum(n.amount) filter (where n.bonus_type = 'override'), 0),
        0
    from added as n inner join private.positions as o on n.user_id = o.user_id
    where n.amount <> 0
    group by o.no, (n.created_at at time zone 'UTC')::date
    union all
    select n.subject_no, (n.created_at at time zone 'UTC')::date, 0, 0, 0, 1
    from added as n where n.bonus_type = 'referral' and n.amount > 0;
    insert into private.counter_deltas (name, delta)
    select 'bonuses', sum(n.amount) from added as n having sum(n.amount) <> 0
    union all
    select 'bonus_rows', count(*) from added as n having count(*) > 0;
    return null;
end
$$;
comment on function private.bonuses_record_insert() is 'Trigger: journal rows, totals, daily deltas and counters of new bonuses.';

create function private.bonuses_record_update() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_now timestamptz := private.clock();
begin
    perform pg_catalog.nextval('private.bonus_revision_seq');
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    select c.user_id, sum(c.amount), 'bonus', 'completed', c.id, v_now
    from (
        select n.id, n.user_id, n.amount from after as n
        union all
        select o.id, o.user_id, -o.amount from before as o
    ) as c
    group by c.id, c.user_id having sum(c.amount) <> 0;
    update private.totals as t set
        referral_amount = t.referral_amount + s.referral,
        pairing_amount = t.pairing_amount + s.pairing,
        override_amount = t.override_amount + s.override,
        reentry_amount = t.reentry_amount + s.reentry
    from (
        select
            c.user_id,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0) as referral,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0) as pairing,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0) as override,
            sum(c.reentry) as reentry
        from (
            select n.user_id, n.bonus_type, n.amount, n.reentry_amount as reentry from after as n
            union all
            select o.user_id, o.bonus_type, -o.amount, -o.reentry_amount from before as o
        ) as c
        group by c.user_id
    ) as s
    where t.user_id = s.user_id;
    insert into private.network_deltas (no, day, referral, pairing, override, funded)
    select
        p.no,
        (v_now at time zone 'UTC')::date,
        coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0),
        coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0),
        coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0),
        0
    from (
        select n.user_id, n.bonus_type, sum(n.amount) as amount from after as n group by n.user_id, n.bonus_type
        union all
        select o.user_id, o.bonus_type, -sum(o.amount) from before as o group by o.user_id, o.bonus_type
    ) as c
    inner join private.positions as p on c.user_id = p.user_id
    group by p.no having sum(c.amount) <> 0
    union all
    -- A member counts as funded from the day of the referral bonus, as long as that is not zero.
    select c.subject_no, c.day, 0, 0, 0, sum(c.funded)
    from (
        select n.subject_no, (n.created_at at time zone 'UTC')::date as day, (n.amount > 0)::integer as funded
        from after as n where n.bonus_type = 'referral'
        union all
        select o.subject_no, (o.created_at at time zone 'UTC')::date, -(o.amount > 0)::integer
        from before as o where o.bonus_type = 'referral'
    ) as c
    group by c.subject_no, c.day having sum(c.funded) <> 0;
    insert into private.counter_deltas (name, delta)
    select 'bonuses', c.delta
    from (select (select sum(n.amount) from after as n) - (select sum(o.amount) from before as o) as delta) as c
    where c.delta <> 0;
    return null;
end
$$;
comment on function private.bonuses_record_update() is
'Trigger: journal rows of the differences, totals, daily deltas and counters of changed bonuses.';

create trigger _100_immutable before update on public.bonuses for each row execute function private.bonuses_immutable();
create trigger _100_reject_change before delete or truncate on public.bonuses for each statement execute function private.reject_change();
create trigger _500_record_insert after insert on public.bonuses
referencing new table as added for each statement execute function private.bonuses_record_insert();
create trigger _500_record_update after update on public.bonuses
referencing old table as before new table as after for each statement execute function private.bonuses_record_update();

-- The rules.

create view private.pairs as
select
    l.referrer_no as owner_no,
    l.pair_no,
    l.no as left_no,
    r.no as right_no,
    l.paid_cents + r.paid_cents as volume_cents
from private.positions as l
inner join private.positions as r on l.referrer_no = r.referrer_no and l.pair_no = r.pair_no
where l.is_left and not r.is_left and l.paid_cents > 0 and r.paid_cents > 0;
comment on view private.pairs is 'Paying pairs: both members funded. A merge join of two covering indexes.';

create view private.due_referrals as
select
    c.no as subject_no,
    c.referrer_no as user_no,
    c.paid_cents as volume_cents,
    private.referral_percent() as rate,
    c.paid_cents::bigint * private.referral_percent() / 100 as cents
from private.positions as c
where c.referrer_no is not null and c.paid_cents > 0;
comment on view private.due_referrals is 'Expected referral bonuses; subject and source: the referred member.';

-- Compute both bonuses of a pair from one scan of the pairs, which is most of the work of comparing all.
create view private.due_pair_bonuses as
select
    q.owner_no,
    q.pair_no,
    q.left_no,
    q.right_no,
    q.volume_cents,
    o.referrer_no,
    k.pairing_percent,
    q.volume_cents::bigint * k.pairing_percent / 100 as pairing_cents,
    private.override_percent() as override_percent,
    q.volume_cents::bigint * private.override_percent() / 100 as override_cents
from private.pairs as q
inner join private.positions as o on q.owner_no = o.no
left join private.packages as k on o.package_cents = k.value_cents;
comment on view private.due_pair_bonuses is
'Expected bonuses of a paying pair: the owner''s (null without a package) and that of the owner''s referrer (null at the root).';

create view private.due_pairings as
select
    d.owner_no as subject_no,
    d.pair_no,
    d.owner_no as user_no,
    d.volume_cents,
    d.pairing_percent as rate,
    d.pairing_cents as cents,
    d.left_no,
    d.right_no
from private.due_pair_bonuses as d
where d.pairing_percent is not null;
comment on view private.due_pairings is 'Expected pairing bonuses; subject: the pair owner, source: the member funded later.';

create view private.due_overrides as
select
    d.owner_no as subject_no,
    d.pair_no,
    d.referrer_no as user_no,
    d.volume_cents,
    d.override_percent as rate,
    d.override_cents as cents
from private.due_pair_bonuses as d
where d.referrer_no is not null;
comment on view private.due_overrides is 'Expected override bonuses; subject and source: the pair owner.';

-- Posting.

create type private.due_bonus as (
    bonus_id uuid,
    bonus_type public.bonus_type,
    subject_no integer,
    pair_number integer,
    user_no integer,
    source_no integer,
    volume_cents bigint,
    rate integer,
    cents bigint
);
comment on type private.due_bonus is 'An expected bonus and the stored row that differs (bonus_id null: missing). cents 0: no longer due.';

-- A reconciliation plans each statement anew; without this setting it would plan once per pair.
create function private.pair_source(p_left integer, p_right integer) returns integer
language plpgsql stable set search_path = '' set plan_cache_mode = 'force_generic_plan' as $$
begin
    return (select p.no from private.positions as p where p.no in (p_left, p_right) order by p.paid_order desc nulls last limit 1);
end
$$;
comment on function private.pair_source(integer, integer) is 'The member who completed a pair: the one funded later.';

-- One statement for stored rows and one for missing ones, each only where needed.
create function private.write_bonuses(p_due private.due_bonus[], p_at timestamptz) returns void
language plpgsql volatile set plan_cache_mode = 'force_generic_plan' set search_path = '' as $$
declare
    v_due private.due_bonus;
    v_stored boolean := false;
    v_missing boolean := false;
begin
    foreach v_due in array p_due loop
        v_stored := v_stored or (v_due).bonus_id is not null;
        v_missing := v_missing or (v_due).bonus_id is null;
        exit when v_stored and v_missing;
    end loop;
    if v_stored then
        update public.bonuses as b set amount = d.cents * 0.01, rate = d.rate, volume = d.volume_cents * 0.01
        from pg_catalog.unnest(p_due) as d
        where b.id = d.bonus_id;
    end if;
    if v_missing then
        insert into public.bonuses (user_id, source_user_id, bonus_type, amount, created_at, pair_number, rate, volume, subject_no)
        select u.user_id, s.user_id, d.bonus_type, d.cents * 0.01, p_at, d.pair_number, d.rate, d.volume_cents * 0.01, d.subject_no
        from pg_catalog.unnest(p_due) as d
        inner join private.positions as u on d.user_no = u.no
        inner join private.positions as s on d.source_no = s.no
        where d.bonus_id is null
        order by d.subject_no, d.bonus_type, d.pair_number;
    end if;
end
$$;
comment on function private.write_bonuses(private.due_bonus[], timestamptz) is
'Updates stored rows and inserts missing ones; touches no others. Lock the earners first.';

-- Discrepancies that one member's package can cause: as a referral, the referrer's referral and pairing and the
-- referrer's referrer's override; as an owner, the own pairings. Point look-ups, planned once per session.
create function private.child_bonus_discrepancies(p_no integer) returns setof private.due_bonus
language plpgsql stable set search_path = '' as $$
declare
    v_member private.positions;
begin
    select * into v_member from private.positions as p where p.no = p_no;
    return query
    select b.id, 'referral'::public.bonus_type, d.subject_no, null::integer, d.user_no, d.subject_no, d.volume_cents::bigint, d.rate, d.cents
    from private.due_referrals as d
    left join public.bonuses as b on b.bonus_type = 'referral' and d.subject_no = b.subject_no
    where d.subject_no = p_no and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer)
    union all
    select
        b.id, 'pairing'::public.bonus_type, d.subject_no, d.pair_no, d.user_no,
        case when b.id is null then private.pair_source(d.left_no, d.right_no) end, d.volume_cents::bigint, d.rate, d.cents
    from private.due_pairings as d
    left join public.bonuses as b on b.bonus_type = 'pairing' and d.subject_no = b.subject_no and d.pair_no = b.pair_number
    where d.subject_no = v_member.referrer_no and d.pair_no = v_member.pair_no
        and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer)
    union all
    select b.id, 'override'::public.bonus_type, d.subject_no, d.pair_no, d.user_no, d.subject_no, d.volume_cents::bigint, d.rate, d.cents
    from private.due_overrides as d
    left join public.bonuses as b on b.bonus_type = 'override' and d.subject_no = b.subject_no and d.pair_no = b.pair_number
    where d.subject_no = v_member.referrer_no and d.pair_no = v_member.pair_no
        and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer);
end
$$;
comment on function private.child_bonus_discrepancies(integer) is
'Discrepancies of the two members above that this member''s package caused.';

-- Plan for this owner's number of referrals: a cached plan is quadratic for a member with many.
create function private.owner_bonus_discrepancies(p_no integer) returns setof private.due_bonus
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    select
        b.id, 'pairing'::public.bonus_type, d.subject_no, d.pair_no, d.user_no,
        case when b.id is null then private.pair_source(d.left_no, d.right_no) end, d.volume_cents::bigint, d.rate, d.cents
    from private.due_pairings as d
    left join public.bonuses as b on b.bonus_type = 'pairing' and d.subject_no = b.subject_no and d.pair_no = b.pair_number
    where d.subject_no = p_no and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer);
end
$$;
comment on function private.owner_bonus_discrepancies(integer) is 'Discrepancies of the member''s own pairings after a changed rate.';

create function private.post_bonuses(p_no integer, p_at timestamptz) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_discrepancies private.due_bonus[] := array(select w from private.child_bonus_discrepancies(p_no) as w);
begin
    perform pg_catalog.nextval('private.bonus_revision_seq');
    if (select p.children from private.positions as p where p.no = p_no) > 1 then
        v_discrepancies := v_discrepancies || array(select w from private.owner_bonus_discrepancies(p_no) as w);
    end if;
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        perform private.write_bonuses(v_discrepancies, p_at);
    end if;
end
$$;
comment on function private.post_bonuses(integer, timestamptz) is
'Posts the bonuses that one member''s new package causes. Call under the money lock with the three members locked.';

-- Reconciliation of bonuses. Every approval posts its own bonuses; this compares all of them with the tree and
-- changes nothing when they match. It never deletes: it inserts missing rows, corrects different ones and sets those
-- no longer due to zero. One run at a time, at most one in ten seconds; concurrent callers wait for it or get the
-- last summary, and are never rejected.

create table private.reconcile_state (
    only_row boolean primary key default true check (only_row),
    bonus_revision bigint not null default -1,
    ran_at timestamptz,
    repaired bigint not null default 0
);
comment on table private.reconcile_state is
'The last clean run and the bonus revision it saw. repaired counts all rows that were ever repaired.';
alter table private.reconcile_state enable row level security;

insert into private.reconcile_state default values;

create view private.bonus_discrepancies as
with paired as materialized (select d.* from private.due_pair_bonuses as d)

select
    'referral'::public.bonus_type as bonus_type,
    coalesce(d.subject_no, b.subject_no) as subject_no,
    null::integer as pair_number,
    d.user_no,
    d.subject_no as source_no,
    coalesce(d.volume_cents, 0)::bigint as volume_cents,
    coalesce(d.rate, 0) as rate,
    coalesce(d.cents, 0) as cents
from private.due_referrals as d
full join (
    select
        r.subject_no,
        r.amount_cents as cents
    from public.bonuses as r
    where r.bonus_type = 'referral'
) as b
    on d.subject_no = b.subject_no
where coalesce(d.cents, 0) is distinct from b.cents
union all
select
    'pairing'::public.bonus_type,
    coalesce(d.owner_no, b.subject_no),
    coalesce(d.pair_no, b.pair_number),
    d.owner_no,
    case when d.left_no is not null then private.pair_source(d.left_no, d.right_no) end,
    coalesce(d.volume_cents, 0)::bigint,
    coalesce(d.pairing_percent, 0),
    coalesce(d.pairing_cents, 0)
from (
    select c.* from paired as c
    where c.pairing_percent is not null
) as d
full join (
    select
        p.subject_no,
        p.pair_number,
        p.amount_cents as cents
    from public.bonuses as p
    where p.bonus_type = 'pairing'
) as b
    on d.owner_no = b.subject_no and d.pair_no = b.pair_number
where coalesce(d.pairing_cents, 0) is distinct from b.cents
union all
select
    'override'::public.bonus_type,
    coalesce(d.owner_no, b.subject_no),
    coalesce(d.pair_no, b.pair_number),
    d.referrer_no,
    d.owner_no,
    coalesce(d.volume_cents, 0)::bigint,
    coalesce(d.override_percent, 0),
    coalesce(d.override_cents, 0)
from (
    select c.* from paired as c
    where c.referrer_no is not null
) as d
full join (
    select
        o.subject_no,
        o.pair_number,
        o.amount_cents as cents
    from public.bonuses as o
    where o.bonus_type = 'override'
) as b
    on d.owner_no = b.subject_no and d.pair_no = b.pair_number
where coalesce(d.override_cents, 0) is distinct from b.cents;
comment on view private.bonus_discrepancies is
'Bonuses that differ from tree and packages: missing, different, or no longer due. Empty when all match.';

-- The comparison is a merge from end to end. The planner cannot know how many pairs are complete or how many bonuses
-- differ: it expects a hundred times too many and then looks up each left member separately (twice as slow at a
-- million members), joins the owners first, or materialises what it reads in order anyway. So the comparison has a
-- function of its own that may only merge, in the join order of the views; the repair of a few rows is planned as
-- usual.
create function private.all_bonus_discrepancies() returns private.due_bonus[]
language plpgsql stable set search_path = ''
set enable_nestloop = off set enable_hashjoin = off set enable_material = off set join_collapse_limit = 1
-- The pairs of a million members are sorted in memory; one reconciliation runs at a time.
set work_mem = '64MB' as $$
begin
    return array(
        select row(
            null, w.bonus_type, w.subject_no, w.pair_number, w.user_no, w.source_no, w.volume_cents, w.rate, w.cents
        )::private.due_bonus
        from private.bonus_discrepancies as w
    );
end
$$;
comment on function private.all_bonus_discrepancies() is 'All of private.bonus_discrepancies, without the ids of the stored rows.';

create function private.lapsed_bonuses(p_no integer) returns setof private.due_bonus
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_member private.positions;
begin
    select * into v_member from private.positions as p where p.no = p_no;
    return query
    select b.id, b.bonus_type, b.subject_no, b.pair_number, null::integer, null::integer, 0::bigint, b.rate::integer, 0::bigint
    from (
        select r.* from public.bonuses as r where r.bonus_type = 'referral' and r.subject_no = p_no
        union all
        select q.* from public.bonuses as q where q.bonus_type = 'pairing' and q.subject_no = p_no
        union all
        select q.* from public.bonuses as q
        where q.bonus_type = 'pairing' and q.subject_no = v_member.referrer_no and q.pair_number = v_member.pair_no
        union all
        select o.* from public.bonuses as o
        where o.bonus_type = 'override' and o.subject_no = v_member.referrer_no and o.pair_number = v_member.pair_no
    ) as b
    left join private.due_referrals as r on b.bonus_type = 'referral' and b.subject_no = r.subject_no
    left join private.pairs as q on b.bonus_type <> 'referral' and b.subject_no = q.owner_no and b.pair_number = q.pair_no
    left join private.positions as o on b.bonus_type = 'pairing' and b.subject_no = o.no and o.package_cents > 0
    where b.amount_cents > 0
        and case b.bonus_type
            when 'referral' then r.subject_no is null
            when 'pairing' then q.owner_no is null or o.no is null
            else q.owner_no is null
        end;
end
$$;
comment on function private.lapsed_bonuses(integer) is
'Stored bonuses around one member that are no longer due. Only a correction causes them.';

create function private.reconcile() returns integer
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_revision bigint;
    v_discrepancies private.due_bonus[];
    v_allow_decrease text := pg_catalog.current_setting('app.allow_bonus_decrease', true);
begin
    perform private.lock_money();
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    v_discrepancies := private.all_bonus_discrepancies();
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        v_discrepancies := array(
            select row(
                coalesce(r.id, q.id), w.bonus_type, w.subject_no, w.pair_number, w.user_no, w.source_no, w.volume_cents, w.rate, w.cents
            )::private.due_bonus
            from pg_catalog.unnest(v_discrepancies) as w
            left join public.bonuses as r on w.bonus_type = 'referral' and r.bonus_type = 'referral' and w.subject_no = r.subject_no
            left join public.bonuses as q
                on w.bonus_type = q.bonus_type and w.subject_no = q.subject_no and w.pair_number = q.pair_number
        );
        perform private.lock_members(array(
            select p.user_id from pg_catalog.unnest(v_discrepancies) as w
            inner join private.positions as s on w.subject_no = s.no
            inner join private.positions as p on p.no in (s.no, s.referrer_no)
        ));
        perform pg_catalog.set_config('app.allow_bonus_decrease', 'on', true);
        perform private.write_bonuses(v_discrepancies, private.clock());
        perform pg_catalog.set_config('app.allow_bonus_decrease', coalesce(v_allow_decrease, ''), true);
        perform private.audit('system', 'books.repaired', 'bonuses', null, pg_catalog.jsonb_build_object('rows', pg_catalog.cardinality(v_discrepancies)));
        select q.last_value into v_revision from private.bonus_revision_seq as q;
    end if;
    update private.reconcile_state as s set
        bonus_revision = v_revision, ran_at = pg_catalog.clock_timestamp(), repaired = s.repaired + pg_catalog.cardinality(v_discrepancies);
    return pg_catalog.cardinality(v_discrepancies);
end
$$;
comment on function private.reconcile() is
'Compares all bonuses with tree and packages and repairs differences, with an audit row; returns how many. Errors: try_again.';

create function private.reconcile_if_stale() returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_state private.reconcile_state;
    v_revision bigint;
begin
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    select * into v_state from private.reconcile_state;
    if v_state.bonus_revision = v_revision or v_state.ran_at > pg_catalog.clock_timestamp() - interval '10 seconds' then
        return;
    end if;
    -- A second caller waits here for the first run and then finds it done.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('reconcile'));
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    select * into v_state from private.reconcile_state;
    if v_state.bonus_revision = v_revision or v_state.ran_at > pg_catalog.clock_timestamp() - interval '10 seconds' then
        return;
    end if;
    perform private.reconcile();
exception when lock_not_available or sqlstate 'PGRST' then
    -- Another run takes long: return the last summary.
    return;
end
$$;
comment on function private.reconcile_if_stale() is
'Reconciles unless nothing was posted since the last run or it ended less than ten seconds ago; concurrent callers share one run.';

create function public.sync_bonuses() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
begin
    if private.my_role() not in ('authenticated', 'platform_admin') then
        perform private.raise_error(401, 'not_authenticated', 'Not authenticated');
    end if;
    perform private.reconcile_if_stale();
    return pg_catalog.jsonb_build_object(
        'success', true,
        'summary', pg_catalog.jsonb_build_object(
            'totalBonuses', private.counter_value('bonus_rows')::bigint, 'totalProfiles', private.counter_value('profiles')::bigint
        )
    );
end
$$;
comment on function public.sync_bonuses() is
'Members and administrators: reconciles all bonuses and returns the number of rows. Errors: not_authenticated.';
grant execute on function public.sync_bonuses() to authenticated, platform_admin;

create function jobs.reconcile() returns integer
language sql volatile security definer set search_path = '' as $$
    select private.reconcile()
$$;
comment on function jobs.reconcile() is 'Runs a full reconciliation; returns how many rows were repaired.';
grant execute on function jobs.reconcile() to worker;

-- The journal: one row per deposit and withdrawal from its request on, one per bonus credit or change. Amounts never
-- change, rows are never deleted, a status changes once.

create table public.transactions (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    amount public.usd not null check (amount between -10000000 and 10000000 and amount <> 0),
    transaction_type public.transaction_type not null,
    status public.transaction_status not null,
    -- The deposit, withdrawal or bonus of the row; for a correction's rows, the correction.
    reference_id uuid not null,
    created_at timestamptz not null default now()
) with (
    autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02
);
comment on table public.transactions is
'Journal. Signed: a withdrawal is negative. Bonus rows are deltas: per reference they sum to the bonus.';
alter table public.transactions enable row level security;
create unique index transactions_source_key on public.transactions (transaction_type, reference_id) where transaction_type <> 'bonus';
create index transactions_reference_idx on public.transactions (reference_id);
create index transactions_user_idx on public.transactions (user_id, created_at desc, id desc);
create index transactions_created_idx on public.transactions (created_at desc, id desc);
-- Filter by type, and by a rare status.
create index transactions_type_idx on public.transactions (transaction_type, created_at desc, id desc);
create index transactions_not_completed_idx on public.transactions (status, created_at desc, id desc) where status <> 'completed';

create policy select_own on public.transactions for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on public.transactions for select to platform_admin using (true);
grant select on public.transactions to authenticated, platform_admin, service_role;
-- Not granted: insert, update, delete to any role.

create function private.transactions_immutable() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.id, new.user_id, new.amount, new.transaction_type, new.reference_id, new.created_at)
        is distinct from (old.id, old.user_id, old.amount, old.transaction_type, old.reference_id, old.created_at)
        or (old.status <> 'pending' and new.status is distinct from old.status) then
        perform private.raise_error(403, 'append_only', 'The journal is kept as it is.');
    end if;
    return new;
end
$$;
comment on function private.transactions_immutable() is
'Trigger: a journal row changes once, from pending to completed or failed. Errors: append_only.';

create function private.transactions_update_counters() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    insert into private.counter_deltas (name, delta)
    select c.name, c.delta
    from (
        select count(*) as rows, sum(pg_catalog.abs(n.amount)) as volume from added as n where n.transaction_type = 'bonus'
    ) as s
    cross join lateral (values ('bonus_transactions', s.rows), ('bonus_volume', s.volume)) as c (name, delta)
    where c.delta <> 0;
    return null;
end
$$;
comment on function private.transactions_update_counters() is 'Trigger: counts new bonus rows of the journal and their absolute amounts.';

create trigger _100_immutable before update on public.transactions for each row execute function private.transactions_immutable();
create trigger _100_reject_change before delete or truncate on public.transactions for each statement execute function private.reject_change();
create trigger _500_update_counters after insert on public.transactions
referencing new table as added for each statement execute function private.transactions_update_counters();

-- A member's transaction history: bonuses, deposits, withdrawals, and the journal rows of corrections. Newest first,
-- keyset pagination: each source reads at most a page from its own (user, time) index, so the cost does not grow with
-- the history. Corrections are found by their reference before sorting: they are few, and a scan of the journal would
-- read to its end. Days are UTC.
create function private.transaction_history(
    p_user_id uuid,
    p_type text,
    p_status text,
    p_from timestamptz,
    p_to timestamptz,
    p_before_at timestamptz,
    p_before_id uuid,
    p_limit integer
) returns table (created_at timestamptz, id uuid, item jsonb)
language plpgsql stable set search_path = ''
-- One generic plan per connection: planning this query costs more than running it, and each source must use its index
-- whatever the statistics say, or the whole history of a member with many referrals would be sorted for one page.
set plan_cache_mode = 'force_generic_plan' set enable_bitmapscan = 'off' set enable_seqscan = 'off' as $$
begin
    return query
    -- Select all columns here: looking the rows up again would cost as much as finding them.
    with page (
        created_at, id, source, amount, kind, status, source_user_id, subject_no, pair_number, rate, volume, reentry_amount,
        reference, wallet_address, admin_notes, decided_at, payout_reference
    ) as materialized (
        (
            select
                b.created_at, b.id, 'bonus', b.amount::numeric, b.bonus_type || ' bonus', 'completed', b.source_user_id, b.subject_no,
                b.pair_number, b.rate, b.volume, b.reentry_amount, null::text, null::text, null::text, null::timestamptz, null::text
            from public.bonuses as b
            where
                b.user_id = p_user_id
                and (b.created_at, b.id) < (p_before_at, p_before_id)
                and b.created_at >= p_from and b.created_at < p_to
                and (p_type is null or p_type = 'bonus' or p_type = b.bonus_type || ' bonus')
                and (p_status is null or p_status = 'completed')
            order by b.created_at desc, b.id desc
            limit p_limit
        )
        union all
        (
            select
                d.created_at, d.id, 'deposit', d.amount, 'deposit', d.status::text, null, null,
                null, null, null, null, d.reference_number, null, d.admin_notes, d.decided_at, null
            from public.deposits as d
            where
                d.user_id = p_user_id
                and (d.created_at, d.id) < (p_before_at, p_before_id)
                and d.created_at >= p_from and d.created_at < p_to
                and (p_type is null or p_type = 'deposit')
                and (p_status is null or p_status = d.status::text)
            order by d.created_at desc, d.id desc
            limit p_limit
        )
        union all
        (
            select
                w.created_at, w.id, 'withdrawal', -w.amount, 'withdrawal', w.status::text, null, null,
                null, null, null, null, null, w.wallet_address, w.admin_notes, w.decided_at, w.payout_reference
            from public.withdrawals as w
            where
                w.user_id = p_user_id
                and (w.created_at, w.id) < (p_before_at, p_before_id)
                and w.created_at >= p_from and w.created_at < p_to
                and (p_type is null or p_type = 'withdrawal')
                and (p_status is null or p_status = w.status::text)
            order by w.created_at desc, w.id desc
            limit p_limit
        )
        union all
        (
            select
                t.created_at, t.id, 'transaction', t.amount, 'correction', t.status::text, null, null,
                null, null, null, null, null, null, null, null, null
            from (
                select * from public.transactions as j
                where j.reference_id = any(array(select c.id from private.corrections as c where c.user_id = p_user_id))
                offset 0
            ) as t
            where
                (t.created_at, t.id) < (p_before_at, p_before_id)
                and t.created_at >= p_from and t.created_at < p_to
                and (p_type is null or p_type = 'correction')
                and (p_status is null or p_status = t.status::text)
            order by t.created_at desc, t.id desc
            limit p_limit
        )
        order by 1 desc, 2 desc
        limit p_limit
    )
    select
        g.created_at,
        g.id,
        pg_catalog.jsonb_build_object(
            'id', g.id,
            'user_id', p_user_id,
            'amount', private.money(g.amount),
            'transaction_type', g.kind,
            'status', g.status,
            'created_at', g.created_at,
            'source', g.source,
            'counterparty', coalesce(s.username, private.short_address(g.wallet_address)),
            'pair_number', g.pair_number,
            'pair_names', case when g.pair_number is not null then (
                select pg_catalog.jsonb_agg(c.username order by o.child_no)
                from private.positions as o
                inner join private.profiles as c on o.profile_id = c.id
                where o.referrer_no = g.subject_no and o.child_no in (g.pair_number * 2 - 1, g.pair_number * 2)
            ) end,
            'rate', private.percent(g.rate),
            'volume', private.money(g.volume),
            'reentry', private.money(g.reentry_amount),
            'reference', g.reference,
            'wallet_address', g.wallet_address,
            'admin_notes', g.admin_notes,
            'decided_at', g.decided_at,
            'payout_reference', g.payout_reference,
            'can_cancel', g.status = 'pending' and g.source in ('deposit', 'withdrawal')
        )
    from page as g
    left join private.profiles as s on g.source_user_id = s.user_id
    order by g.created_at desc, g.id desc;
end
$$;
comment on function private.transaction_history(uuid, text, text, timestamptz, timestamptz, timestamptz, uuid, integer) is
'One page of a member''s history, newest first, before a key. Withdrawals are negative. pair_names are the two members of the pair.';

create function public.get_transaction_history(
    p_type text default null,
    p_status text default null,
    p_from date default null,
    p_to date default null,
    p_before text default null,
    p_limit integer default null
) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.require_member()).user_id;
    v_limit integer := private.page_limit(p_limit, 25, 100);
    v_before record;
    v_items jsonb[];
    v_keys text[];
begin
    if p_type not in ('deposit', 'withdrawal', 'bonus', 'referral bonus', 'pairing bonus', 'override bonus', 'correction') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such type of transaction.');
    end if;
    if p_status not in ('pending', 'approved', 'rejected', 'completed', 'failed') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    select * into v_before from private.decode_cursor(p_before);
    -- Read one row more to know whether there is a next page.
    select
        pg_catalog.array_agg(h.item order by h.created_at desc, h.id desc),
        pg_catalog.array_agg(private.encode_cursor(h.created_at, h.id) order by h.created_at desc, h.id desc)
    into v_items, v_keys
    from private.transaction_history(
        v_user_id, p_type, p_status,
        coalesce(p_from::timestamp at time zone 'UTC', '-infinity'),
        coalesce((p_to + 1)::timestamp at time zone 'UTC', 'infinity'),
        v_before.at, v_before.id, v_limit + 1
    ) as h;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(pg_catalog.to_jsonb(v_items[:v_limit]), '[]'),
        'next', case when pg_catalog.cardinality(v_items) > v_limit then v_keys[v_limit] end
    );
end
$$;
comment on function public.get_transaction_history(text, text, date, date, text, integer) is
'The caller''s transactions, newest first, filtered by type, status and days (UTC, inclusive). next is the cursor of the next page, null at the end. Errors: invalid_filter, invalid_cursor, invalid_limit.';
grant execute on function public.get_transaction_history(text, text, date, date, text, integer) to authenticated;

-- The journal in the admin panel. Its totals come from counters: deposits and withdrawals by status, and bonus rows
-- counted by each statement that posts some.

create function private.transaction_counts() returns table (transaction_type text, status text, rows bigint)
language sql stable set search_path = '' as $$
    select c.transaction_type, c.status, c.rows::bigint
    from (
        values
        ('deposit', 'pending', private.counter_value('pending_deposits')),
        ('deposit', 'failed', private.counter_value('deposits_rejected_count')),
        ('deposit', 'completed', private.counter_value('deposits_approved_count') + (
            select count(*) from private.corrections as v where v.kind = 'void_deposit' and v.confirmed_by is not null
        )),
        ('withdrawal', 'pending', private.counter_value('pending_withdrawals')),
        ('withdrawal', 'failed', private.counter_value('withdrawals_rejected_count')),
        ('withdrawal', 'completed', private.counter_value('withdrawals_approved_count') + (
            select count(*) from private.corrections as v where v.kind = 'void_withdrawal' and v.confirmed_by is not null
        )),
        ('bonus', 'completed', private.counter_value('bonus_transactions'))
    ) as c (transaction_type, status, rows)
$$;
comment on function private.transaction_counts() is
'Rows of the journal by type and status. A voided request has a second row that reverses it.';

create function private.completed_volume() returns numeric
language sql stable set search_path = '' as $$
    select private.counter_value('deposits_approved') + private.counter_value('withdrawals_approved') + private.counter_value('bonus_volume')
        -- A voided request is in the journal twice (amount and reversal) and in the counters not at all.
        + 2 * coalesce((
            select sum(pg_catalog.abs(t.amount))
            from private.corrections as v inner join public.transactions as t on v.id = t.reference_id
            where v.confirmed_by is not null
        ), 0)
$$;
comment on function private.completed_volume() is 'Sum of the absolute amounts of completed journal rows.';

create function private.id_range(p_search text, out first uuid, out last uuid)
language plpgsql immutable set search_path = '' as $$
declare
    v_digits text := pg_catalog.replace(pg_catalog.lower(pg_catalog.btrim(p_search)), '-', '');
begin
    if v_digits ~ '\A[0-9a-f]{4,32}\Z' then
        first := pg_catalog.rpad(v_digits, 32, '0')::uuid;
        last := pg_catalog.rpad(v_digits, 32, 'f')::uuid;
    end if;
end
$$;
comment on function private.id_range(text) is 'The range of ids with this prefix, from four digits on; null when it is no prefix of an id.';

create function public.list_transactions(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['created_at']);
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
        v_ids := private.newest_requests('transactions', v_cards.pending);
        v_total := v_cards.filtered;
    elsif v_request.pattern is null then
        v_ids := private.page_ids(
            'from public.transactions as r where true' || v_filters, v_order, v_reversed, v_request, v_cards.filtered
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
            'username', p.username,
            'email', p.email,
            'amount', private.money(t.amount),
            'transaction_type', t.transaction_type,
            'status', t.status,
            'reference_id', t.reference_id,
            'created_at', t.created_at
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
$$;
comment on function public.list_transactions(jsonb) is
'Administrators: the journal, newest first. Filters: page, pageSize, search (member, prefix of a reference id), type, status, sort (created_at). {} returns all pending and the newest others, at most 5,000. Errors: forbidden, session_ended, invalid_filter.';
grant execute on function public.list_transactions(jsonb) to platform_admin;

-- The team tree, one member's direct referrals at a time. A member sees only the own downline: any other root is not
-- found. Administrators see every tree; without a root they get the members without a referrer, under the name
-- 'Company'.
-- With twenty thousand direct referrals nothing here reads more than a page: "all referrals" is a range of child
-- numbers, and totals come from counters.

create function private.visible_root(p_root uuid) returns private.profiles
language plpgsql stable set search_path = '' as $$
declare
    v_member private.profiles;
    v_root private.profiles;
begin
    if private.my_role() = 'platform_admin' then
        perform private.require_admin();
        select p.* into v_root from private.profiles as p where p.id = p_root;
    else
        v_member := private.require_member();
        select p.* into v_root from private.profiles as p
        where
            p.id = coalesce(p_root, v_member.id)
            and (p.id = v_member.id or private.is_in_downline(p.referrer_id, p.jump, p.depth, v_member.id, v_member.depth));
    end if;
    if v_root.id is null and p_root is not null then
        perform private.raise_error(404, 'member_not_found', 'This member is not in your team.');
    end if;
    return v_root;
end
$$;
comment on function private.visible_root(uuid) is
'The member whose tree the caller may open: without a root the own one, for an administrator null. Errors: member_not_found.';

create function private.tree_node(p_position private.positions, p_profile private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.jsonb_build_object(
        'id', (p_profile).id,
        'username', (p_profile).username,
        'display_name', (p_profile).display_name,
        'position', (p_position).child_no,
        'pair_number', (p_position).pair_no,
        'package_value', private.money((p_profile).package_value),
        'funded', (p_position).paid_cents > 0,
        'direct_referrals', (p_position).children,
        'created_at', (p_profile).created_at
    );
end
$$;
comment on function private.tree_node(private.positions, private.profiles) is 'A member as a node of the team tree.';

create function private.tree_path(p_root private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        with recursive line as (
            select (p_root).id, (p_root).username, (p_root).display_name, (p_root).referrer_id, (p_root).user_id, 0 as step
            union all
            select p.id, p.username, p.display_name, p.referrer_id, p.user_id, l.step + 1
            from line as l
            inner join private.profiles as p on l.referrer_id = p.id
            -- Stop at the caller: a member may not read the upline.
            where l.user_id is distinct from auth.uid()
        )
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object('id', l.id, 'username', l.username, 'display_name', l.display_name)
            order by l.step desc
        )
        from line as l
    );
end
$$;
comment on function private.tree_path(private.profiles) is 'Path from the caller (administrators: from the root) down to this member.';

create function private.tree_children(p_referrer_no integer, p_rate numeric, p_after integer, p_limit integer) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'id', c.id, 'username', c.username, 'display_name', c.display_name, 'position', c.child_no,
                'pair_number', c.pair_no, 'package_value', private.money(c.package_value), 'funded', c.paid_cents > 0,
                'direct_referrals', c.children, 'created_at', c.created_at, 'pair_state', c.state,
                'blocked_by', case when c.state = 'blocked' then case when c.left_cents = 0 then c.left_name else c.right_name end end
            ) order by c.child_no
        )
        from (
            select
                m.*,
                case
                    when m.right_cents is null then 'open'
                    when m.left_cents = 0 or m.right_cents = 0 then 'blocked'
                    when p_rate = 0 then 'no_rate'
                    else 'paying'
                end as state
            from (
                select
                    o.child_no, o.pair_no, o.paid_cents, o.children,
                    p.id, p.username, p.display_name, p.package_value, p.created_at,
                    min(o.paid_cents) filter (where o.is_left) over pair as left_cents,
                    min(o.paid_cents) filter (where not o.is_left) over pair as right_cents,
                    min(p.username) filter (where o.is_left) over pair as left_name,
                    min(p.username) filter (where not o.is_left) over pair as right_name
                -- A range of child numbers in whole pairs, so that both members of each are selected.
                from private.positions as o
                inner join private.profiles as p on o.profile_id = p.id
                where o.referrer_no = p_referrer_no and o.child_no between p_after + 1 and p_after + p_limit
                window pair as (partition by o.pair_no)
            ) as m
        ) as c
    );
end
$$;
comment on function private.tree_children(integer, numeric, integer, integer) is
'Direct referrals after a position, in order, with the state of their pair and who blocks it.';

create function private.company_tree(p_after integer, p_limit integer) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_items jsonb;
    v_total bigint;
begin
    select count(*) into v_total from private.positions as o where o.referrer_no is null;
    select pg_catalog.jsonb_agg(
        private.tree_node(o, p) || pg_catalog.jsonb_build_object('pair_state', null, 'blocked_by', null) order by o.no
    )
    into v_items
    from (
        select t.* from private.positions as t where t.referrer_no is null order by t.no offset p_after limit p_limit
    ) as o
    inner join private.profiles as p on o.profile_id = p.id;
    return pg_catalog.jsonb_build_object(
        'root', pg_catalog.jsonb_build_object(
            'id', null, 'username', 'Company', 'display_name', 'Company', 'position', null, 'pair_number', null,
            'package_value', private.money(0), 'funded', false, 'direct_referrals', v_total, 'created_at', null
        ),
        'path', '[]'::jsonb,
        'items', coalesce(v_items, '[]'),
        'total', v_total,
        'next', case when p_after + p_limit < v_total then p_after + p_limit end
    );
end
$$;
comment on function private.company_tree(integer, integer) is 'The members without a referrer, under a synthetic root with package 0.';

-- The root node has the size and the packages of its whole team, which one page cannot show. They are the rolled-up
-- totals plus pending deltas, so they agree with the network summary.
create function private.team_totals(p_root private.profiles, p_position private.positions) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_sums private.networks := private.network_sums(p_root);
begin
    return pg_catalog.jsonb_build_object(
        'team_count', v_sums.members - 1,
        'team_packages', private.money((v_sums.package_cents - (p_position).package_cents) * 0.01)
    );
end
$$;
comment on function private.team_totals(private.profiles, private.positions) is
'Current size and packages (dollars) of a member''s downline.';

create function private.company_totals() returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'team_count', coalesce(sum(a.members), 0), 'team_packages', private.money(coalesce(sum(a.package_cents), 0) * 0.01)
    )
    -- One statement: a roll-up between two would count deltas twice or not at all.
    from (
        select n.members, n.package_cents
        from private.positions as o inner join private.networks as n on o.no = n.no
        where o.referrer_no is null
        union all
        select c.members, c.package_cents from private.network_deltas as c
    ) as a
$$;
comment on function private.company_totals() is 'Current number of all members and their packages in dollars.';

create function public.get_team_tree(
    p_root uuid default null, p_after integer default null, p_limit integer default null
) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_root private.profiles := private.visible_root(p_root);
    v_position private.positions;
    v_rate numeric;
    v_tree jsonb;
    -- Whole pairs only: an even number of rows after an even position.
    v_limit integer := (private.page_limit(p_limit, 50, 200) + 1) / 2 * 2;
    v_after integer := greatest(coalesce(p_after, 0), 0) / 2 * 2;
begin
    if v_root.id is null then
        v_tree := private.company_tree(v_after, v_limit);
        return v_tree || pg_catalog.jsonb_build_object('root', (v_tree -> 'root') || private.company_totals());
    end if;
    select o.* into v_position from private.positions as o where o.profile_id = v_root.id;
    select coalesce(max(k.pairing_percent), 0) into v_rate
    from private.packages as k where k.value = v_root.package_value;
    return pg_catalog.jsonb_build_object(
        'root', private.tree_node(v_position, v_root) || private.team_totals(v_root, v_position),
        'path', private.tree_path(v_root),
        'items', coalesce(private.tree_children(v_position.no, v_rate, v_after, v_limit), '[]'),
        'total', v_position.children,
        'next', case when v_after + v_limit < v_position.children then v_after + v_limit end
    );
end
$$;
comment on function public.get_team_tree(uuid, integer, integer) is
'One member (without p_root the caller) with downline totals, and 50 direct referrals after a position, in whole pairs. pair_state is paying, blocked, open or no_rate. Errors: member_not_found, invalid_limit.';
grant execute on function public.get_team_tree(uuid, integer, integer) to authenticated, platform_admin;

-- The caller's pairs. Positions never change: pair n is referrals 2n-1 and 2n, funded or not, so a blocked pair names
-- who blocks it.

create function private.pair_state(
    p_left_cents integer, p_right_cents integer, p_has_right boolean, p_rate numeric
) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return case
        when not p_has_right then 'open'
        when p_left_cents = 0 or p_right_cents = 0 then 'blocked'
        when p_rate = 0 then 'no_rate'
        else 'paying'
    end;
end
$$;
comment on function private.pair_state(integer, integer, boolean, numeric) is
'open: no second referral yet; blocked: one has no funded package; no_rate: the owner has no package; else paying. Arguments are funded cents.';

create function private.pair_child_item(p_position private.positions, p_profile private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.jsonb_build_object(
        'id', (p_profile).id,
        'username', (p_profile).username,
        'display_name', (p_profile).display_name,
        'package_value', private.money((p_profile).package_value),
        'funded', (p_position).paid_cents > 0
    );
end
$$;
comment on function private.pair_child_item(private.positions, private.profiles) is 'A member of a pair as the table of pairs shows it.';

create function private.pair_items(p_no integer, p_rate numeric, p_after integer, p_limit integer) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'pair_number', q.pair_no,
                'left_child', q.left_child,
                'right_child', q.right_child,
                'pair_volume', private.money((q.left_package + q.right_package) / 100.0),
                'rate', private.percent(p_rate),
                'user_bonus', private.money(coalesce((
                    select b.amount from public.bonuses as b
                    where b.bonus_type = 'pairing' and b.subject_no = p_no and b.pair_number = q.pair_no
                ), 0)),
                'state', private.pair_state(q.left_cents, q.right_cents, q.right_child is not null, p_rate),
                'state_text', case private.pair_state(q.left_cents, q.right_cents, q.right_child is not null, p_rate)
                    when 'paying' then 'Paying'
                    when 'open' then 'Waiting for a second referral'
                    when 'no_rate' then 'Your rate is 0% without a package'
                    else pg_catalog.format(
                        'Waiting for %s to fund a package', case when q.left_cents = 0 then q.left_child else q.right_child end ->> 'username'
                    )
                end
            ) order by q.pair_no
        )
        from (
            select
                o.pair_no,
                min(o.paid_cents) filter (where o.is_left) as left_cents,
                min(o.paid_cents) filter (where not o.is_left) as right_cents,
                min(o.package_cents) filter (where o.is_left) as left_package,
                min(o.package_cents) filter (where not o.is_left) as right_package,
                (pg_catalog.jsonb_agg(private.pair_child_item(o, p)) filter (where o.is_left)) -> 0 as left_child,
                (pg_catalog.jsonb_agg(private.pair_child_item(o, p)) filter (where not o.is_left)) -> 0 as right_child
            -- A range of child numbers, two per pair.
            from private.positions as o
            inner join private.profiles as p on o.profile_id = p.id
            where o.referrer_no = p_no and o.child_no between p_after * 2 + 1 and (p_after + p_limit) * 2
            group by o.pair_no
        ) as q
    );
end
$$;
comment on function private.pair_items(integer, numeric, integer, integer) is
'Pairs of one owner after a pair number, in order, with their state.';

create function private.paying_pair_count(p_no integer, p_rows integer) returns bigint
language plpgsql stable set search_path = '' as $$
begin
    return p_rows - (
        select count(*) from public.bonuses as b where b.bonus_type = 'pairing' and b.subject_no = p_no and b.amount = 0
    );
end
$$;
comment on function private.paying_pair_count(integer, integer) is
'Number of paying pairs: the total''s rows minus those that a correction set to zero.';

create function public.get_pairings(p_after integer default null, p_limit integer default null) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
    v_limit integer := private.page_limit(p_limit, 50, 200);
    v_after integer := greatest(coalesce(p_after, 0), 0);
    v_position private.positions;
    v_totals private.totals;
    v_rate numeric;
    v_pairs integer;
begin
    select o.* into v_position from private.positions as o where o.user_id = v_member.user_id;
    select t.* into v_totals from private.totals as t where t.user_id = v_member.user_id;
    v_pairs := (v_position.children + 1) / 2;
    select coalesce(max(k.pairing_percent), 0) into v_rate
    from private.packages as k where k.value = v_member.package_value;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(private.pair_items(v_position.no, v_rate, v_after, v_limit), '[]'),
        'pairs', v_pairs,
        'next', case when v_after + v_limit < v_pairs then v_after + v_limit end,
        'totals', pg_catalog.jsonb_build_object(
            -- Every paying pair earns the owner's current rate exactly, so the bonuses determine the volume.
            'total_volume', private.money(case when v_rate > 0 then v_totals.pairing_amount * 100 / v_rate else 0 end),
            'total_user_bonus', private.money(v_totals.pairing_amount),
            'paying_pairs', case when v_rate > 0 then private.paying_pair_count(v_position.no, v_totals.pairing_count) else 0 end
        )
    );
end
$$;
comment on function public.get_pairings(integer, integer) is
'The caller''s pairs after a pair number, in order, with their state; totals of the paying ones. next is the pair number to continue after. Errors: profile_not_found, invalid_limit.';
grant execute on function public.get_pairings(integer, integer) to authenticated;

create function private.direct_referral_totals(p_position private.positions) returns table (funded bigint, package_cents bigint)
language plpgsql stable set search_path = '' as $$
begin
    if (p_position).children <= 200 then
        return query
        select count(*) filter (where c.paid_cents > 0), coalesce(sum(c.package_cents), 0)
        from private.positions as c where c.referrer_no = (p_position).no;
        return;
    end if;
    return query
    select sum(a.funded), sum(a.package_cents)::bigint
    from (
        select n.direct_funded as funded, n.direct_cents as package_cents from private.networks as n where n.no = (p_position).no
        union all
        select c.funded, c.package_cents
        from private.network_deltas as c inner join private.positions as o on c.no = o.no
        where o.referrer_no = (p_position).no
    ) as a;
end
$$;
comment on function private.direct_referral_totals(private.positions) is
'Number of funded direct referrals, and the packages of all: summed from positions up to 200, else from rolled-up totals.';

-- Search the own team by name. Through the view, row-level security would be evaluated for every member before the
-- pattern (which is not leakproof, so it can use no index): seconds with a million members. Here the text is looked
-- up first, or the downline is walked, whichever is smaller.
create function private.network_positions(p_root integer) returns table (no integer, level integer)
language sql stable set search_path = '' as $$
    with recursive downline as (
        select p_root as no, 0 as level
        union all
        select c.no, b.level + 1
        from downline as b
        inner join private.positions as c on b.no = c.referrer_no
    )
    select b.no, b.level from downline as b
$$;
comment on function private.network_positions(integer) is
'Positions of a member and the downline, with the distance from the member. Walks all of them.';

create function private.team_search_ids(p_member private.profiles, p_no integer, p_pattern text, p_limit integer) returns uuid[]
language plpgsql stable set search_path = '' set plan_cache_mode = 'force_custom_plan'
-- A recursive walk: the planner overestimates its rows. Nor may it scan all members in sort order for a frequent
-- text.
set enable_hashjoin = 'off' set enable_mergejoin = 'off' set enable_seqscan = 'off' as $$
declare
    -- A trigram needs three characters; with fewer, everything would match.
    v_indexed boolean := pg_catalog.length(p_pattern) >= 5;
    v_members integer := coalesce((select n.members from private.networks as n where n.no = p_no), 1);
    v_found uuid[];
begin
    if v_indexed then
        v_found := array(
            select p.id from private.profiles as p
            where private.member_search_text(p.username, p.display_name, p.email) like p_pattern
            limit 2001
        );
        if pg_catalog.cardinality(v_found) <= 2000 then
            return array(
                select p.id from private.profiles as p
                where p.id = any(v_found)
                    and (pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern)
                    and (p.id = (p_member).id or private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth))
                order by p.created_at, p.id limit p_limit
            );
        end if;
    end if;
    if v_members <= 50000 then
        return array(
            select p.id
            from private.network_positions(p_no) as n
            inner join private.positions as o on n.no = o.no
            inner join private.profiles as p on o.profile_id = p.id
            where pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern
            order by p.created_at, p.id limit p_limit
        );
    end if;
    -- A frequent text in a large team: the first matches come early in the order of joining.
    return array(
        select p.id from private.profiles as p
        where (pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern)
            and (p.id = (p_member).id or private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth))
        order by p.created_at, p.id limit p_limit
    );
end
$$;
comment on function private.team_search_ids(private.profiles, integer, text, integer) is
'Ids of the first members of a team (including the member), oldest first, whose username or display name contains the text.';

create function public.search_team(p_search text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
    v_text text := pg_catalog.lower(pg_catalog.btrim(p_search));
    v_ids uuid[];
begin
    if coalesce(pg_catalog.length(v_text), 0) not between 2 and 80 then
        perform private.raise_error(400, 'invalid_filter', 'Type 2 to 80 characters.');
    end if;
    v_ids := private.team_search_ids(
        v_member,
        (select o.no from private.positions as o where o.user_id = v_member.user_id),
        '%' || pg_catalog.regexp_replace(v_text, '([\\%_])', '\\\1', 'g') || '%',
        10
    );
    return (
        select coalesce(
            pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object('id', p.id, 'username', p.username, 'display_name', p.display_name)
                order by p.created_at, p.id
            ), '[]'
        )
        from private.profiles as p where p.id = any(v_ids)
    );
end
$$;
comment on function public.search_team(text) is
'The first ten members of the caller''s own team (including the caller) whose username or name contains the text; oldest first. Errors: profile_not_found, invalid_filter.';
grant execute on function public.search_team(text) to authenticated;

-- Network totals and growth. A network is a member and the downline. The company's share is what remains of the
-- packages after all bonuses earned in the network. Totals are materialised: a change appends a delta for its member
-- and day, and a job propagates the deltas to everybody above. Earnings by day, and the daily growth of a large team,
-- use the same deltas, which every sign-up and bonus writes anyway, so no chart walks a large network. Days are UTC.

create table private.networks (
    no integer primary key references private.positions (no) on delete restrict,
    members integer not null default 0,
    package_cents bigint not null default 0,
    referral numeric not null default 0,
    pairing numeric not null default 0,
    override numeric not null default 0,
    has_days boolean not null default false,
    direct_cents bigint not null default 0,
    direct_funded integer not null default 0
);
comment on table private.networks is
'Rolled-up totals of a member and the downline. The current value is these plus the pending deltas of the downline.';
comment on column private.networks.direct_cents is 'Packages of the direct referrals alone, rolled up; read where a member has many.';
comment on column private.networks.direct_funded is 'Number of funded direct referrals, rolled up.';
comment on column private.networks.has_days is 'A large team: private.team_days has its growth by day.';
alter table private.networks enable row level security;

create table private.network_deltas (
    id bigint generated always as identity primary key,
    no integer not null,
    members integer not null default 0,
    package_cents bigint not null default 0,
    referral numeric not null default 0,
    pairing numeric not null default 0,
    override numeric not null default 0,
    day date not null,
    funded integer not null default 0
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
comment on table private.network_deltas is
'Deltas of one member since the last roll-up. Appended, so that no transaction waits for a shared row.';
comment on column private.network_deltas.day is 'The day on which the member joined, was funded or earned it; charts use it.';
comment on column private.network_deltas.funded is
'1 when the referrer got the referral bonus, -1 when a correction removed it, on the day of that bonus.';
comment on column private.network_deltas.no is
'A position. No foreign key: only triggers write here, from existing rows, and positions are never deleted.';
alter table private.network_deltas enable row level security;
create index network_deltas_no_idx on private.network_deltas (no);

create unlogged table private.network_rollup_staging (
    no integer primary key,
    depth integer not null,
    members integer not null,
    package_cents bigint not null,
    referral numeric not null,
    pairing numeric not null,
    override numeric not null
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
comment on table private.network_rollup_staging is
'Totals being propagated by a roll-up; empty otherwise. Unlogged: a crash also rolls the roll-up back.';
alter table private.network_rollup_staging enable row level security;
create index network_rollup_staging_depth_idx on private.network_rollup_staging (depth);

-- Teams of up to 500 are walked, which takes milliseconds; daily rows for every member would be a row for each member
-- and ancestor.
create table private.team_days (
    no integer not null references private.positions (no) on delete restrict,
    day date not null,
    members integer not null default 0,
    funded integer not null default 0,
    primary key (no, day)
);
comment on table private.team_days is 'Members who joined and who were funded in a large team, by day; rolled up.';
alter table private.team_days enable row level security;

create unlogged table private.team_day_rollup_staging (
    no integer not null,
    day date not null,
    depth integer not null,
    own_members integer not null default 0,
    own_funded integer not null default 0,
    members integer not null default 0,
    funded integer not null default 0,
    primary key (no, day)
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
comment on table private.team_day_rollup_staging is
'Days being propagated by a roll-up, own ones apart from the downline''s; empty otherwise. Unlogged: a crash also rolls the roll-up back.';
alter table private.team_day_rollup_staging enable row level security;
create index team_day_rollup_staging_depth_idx on private.team_day_rollup_staging (depth);

create table private.earning_days (
    no integer not null references private.positions (no) on delete restrict,
    day date not null,
    referral numeric not null default 0,
    pairing numeric not null default 0,
    override numeric not null default 0,
    primary key (no, day)
);
comment on table private.earning_days is 'Bonuses of a member by day and type; rolled up.';
alter table private.earning_days enable row level security;

create function private.positions_record_network_delta() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if tg_op = 'INSERT' then
        insert into private.network_deltas (no, day, members, package_cents)
        select new.no, (p.created_at at time zone 'UTC')::date, 1, new.package_cents
        from private.profiles as p where p.id = new.profile_id;
    else
        insert into private.network_deltas (no, day, package_cents)
        values (new.no, (pg_catalog.now() at time zone 'UTC')::date, new.package_cents - old.package_cents);
    end if;
    return null;
end
$$;
comment on function private.positions_record_network_delta() is 'Trigger: appends a delta for a new member or a new package.';

create trigger _500_network_insert after insert on private.positions
for each row execute function private.positions_record_network_delta();
create trigger _500_network_update after update of package_cents on private.positions
for each row when (old.package_cents is distinct from new.package_cents) execute function private.positions_record_network_delta();

-- Propagate deltas up the tree level by level, deepest first, summing each level before the next: a member is visited
-- once however many deltas the downline has. Walking up from every delta would take minutes after an import, and a
-- million steps for a chain of a thousand. The staging tables hold rows only during the roll-up, under its lock.
create function jobs.roll_up_networks() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_rows integer;
    v_depth integer;
    v_large_teams integer[];
begin
    -- One roll-up at a time; readers see either the deltas or the totals that include them.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('networks'));
    with taken as (
        delete from private.network_deltas
        returning no, day, members, funded, package_cents, referral, pairing, override
    ),
    placed as (
        select t.*, o.referrer_no, p.depth
        from taken as t
        inner join private.positions as o on t.no = o.no
        inner join private.profiles as p on o.profile_id = p.id
    ),
    propagated as (
        insert into private.network_rollup_staging (no, depth, members, package_cents, referral, pairing, override)
        select t.no, t.depth, sum(t.members), sum(t.package_cents), sum(t.referral), sum(t.pairing), sum(t.override)
        from placed as t group by t.no, t.depth
    ),
    days as (
        insert into private.team_day_rollup_staging (no, day, depth, own_members, own_funded)
        select t.no, t.day, t.depth, sum(t.members), sum(t.funded)
        from placed as t where t.members <> 0 or t.funded <> 0 group by t.no, t.day, t.depth
    ),
    direct as (
        insert into private.networks as n (no, direct_cents, direct_funded)
        select t.referrer_no, sum(t.package_cents), sum(t.funded)
        from placed as t
        where t.referrer_no is not null and (t.package_cents <> 0 or t.funded <> 0)
        group by t.referrer_no order by t.referrer_no
        on conflict (no) do update set
            direct_cents = n.direct_cents + excluded.direct_cents, direct_funded = n.direct_funded + excluded.direct_funded
    ),
    earned as (
        insert into private.earning_days as d (no, day, referral, pairing, override)
        select t.no, t.day, sum(t.referral), sum(t.pairing), sum(t.override)
        from taken as t where t.referral <> 0 or t.pairing <> 0 or t.override <> 0 group by t.no, t.day
        on conflict (no, day) do update set
            referral = d.referral + excluded.referral,
            pairing = d.pairing + excluded.pairing,
            override = d.override + excluded.override
    )
    select count(*)::integer into v_rows from taken;
    select max(c.depth) into v_depth from private.network_rollup_staging as c;
    while v_depth > 0 loop
        insert into private.network_rollup_staging as n (no, depth, members, package_cents, referral, pairing, override)
        select
            o.referrer_no, v_depth - 1, sum(c.members), sum(c.package_cents), sum(c.referral), sum(c.pairing), sum(c.override)
        from private.network_rollup_staging as c
        inner join private.positions as o on c.no = o.no
        where c.depth = v_depth
        group by o.referrer_no
        on conflict (no) do update set
            members = n.members + excluded.members,
            package_cents = n.package_cents + excluded.package_cents,
            referral = n.referral + excluded.referral,
            pairing = n.pairing + excluded.pairing,
            override = n.override + excluded.override;
        perform private.propagate_team_days(v_depth);
        v_depth := v_depth - 1;
    end loop;
    v_large_teams := private.finalise_network_roll_up();
    if pg_catalog.cardinality(v_large_teams) > 0 then
        perform private.backfill_team_days(v_large_teams, 20);
    end if;
    return v_rows;
end
$$;
comment on function jobs.roll_up_networks() is 'Propagates the deltas to every member above and into the daily tables; returns how many.';
grant execute on function jobs.roll_up_networks() to worker;

create function private.propagate_team_days(p_depth integer) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.team_day_rollup_staging as n (no, day, depth, members, funded)
    select o.referrer_no, c.day, p_depth - 1, sum(c.own_members + c.members), sum(c.own_funded + c.funded)
    from private.team_day_rollup_staging as c
    inner join private.positions as o on c.no = o.no
    where c.depth = p_depth
    group by o.referrer_no, c.day
    on conflict (no, day) do update set members = n.members + excluded.members, funded = n.funded + excluded.funded;
end
$$;
comment on function private.propagate_team_days(integer) is
'One level of the roll-up: propagates the days of members at this depth to their referrers.';

create function private.finalise_network_roll_up() returns integer[]
language plpgsql volatile set search_path = '' as $$
declare
    v_large_teams integer[];
begin
    with propagated as (
        delete from private.team_day_rollup_staging returning no, day, members, funded
    )
    insert into private.team_days as d (no, day, members, funded)
    select c.no, c.day, c.members, c.funded
    from propagated as c inner join private.networks as n on c.no = n.no
    where n.has_days and (c.members <> 0 or c.funded <> 0)
    order by c.no, c.day
    on conflict (no, day) do update set members = d.members + excluded.members, funded = d.funded + excluded.funded;
    with propagated as (
        delete from private.network_rollup_staging
        returning no, members, package_cents, referral, pairing, override
    ),
    finalised as (
        insert into private.networks as n (no, members, package_cents, referral, pairing, override)
        select c.no, c.members, c.package_cents, c.referral, c.pairing, c.override
        from propagated as c
        order by c.no
        on conflict (no) do update set
            members = n.members + excluded.members,
            package_cents = n.package_cents + excluded.package_cents,
            referral = n.referral + excluded.referral,
            pairing = n.pairing + excluded.pairing,
            override = n.override + excluded.override
        returning n.no, n.members, n.has_days
    )
    select array(select s.no from finalised as s where s.members > 500 and not s.has_days) into v_large_teams;
    return v_large_teams;
end
$$;
comment on function private.finalise_network_roll_up() is
'The end of a roll-up: adds the staged values to totals and days. Returns large teams whose days are not materialised yet.';

create function private.backfill_team_days(p_nos integer[], p_max integer) returns integer
language plpgsql volatile set search_path = '' as $$
declare
    v_no integer;
    v_rows integer := 0;
begin
    -- Small teams first: a larger one then reuses the days of those within it.
    for v_no in
        select n.no from private.networks as n
        where n.no = any(p_nos) and not n.has_days
        order by n.members, n.no limit p_max
    loop
        insert into private.team_days (no, day, members, funded)
        with recursive downline as (
            select v_no as no, false as has_days
            union all
            select c.no, coalesce(n.has_days, false)
            from downline as b
            inner join private.positions as c on b.no = c.referrer_no
            left join private.networks as n on c.no = n.no
            where not b.has_days
        ), found as (
            select (p.created_at at time zone 'UTC')::date as day, 1 as members, 0 as funded
            from downline as b
            inner join private.positions as o on b.no = o.no
            inner join private.profiles as p on o.profile_id = p.id
            where b.no <> v_no
            union all
            select (r.created_at at time zone 'UTC')::date, 0, 1
            from downline as b inner join public.bonuses as r on r.bonus_type = 'referral' and b.no = r.subject_no and r.amount > 0
            where b.no <> v_no
            union all
            select d.day, d.members, d.funded
            from downline as b inner join private.team_days as d on b.no = d.no
            where b.has_days
            union all
            -- Subtract pending deltas: the next roll-up adds them.
            select c.day, -c.members, -c.funded
            from downline as b inner join private.network_deltas as c on b.no = c.no
            where b.no <> v_no
        )
        select v_no, f.day, sum(f.members), sum(f.funded)
        from found as f group by f.day having sum(f.members) <> 0 or sum(f.funded) <> 0;
        update private.networks as n set has_days = true where n.no = v_no;
        v_rows := v_rows + 1;
    end loop;
    return v_rows;
end
$$;
comment on function private.backfill_team_days(integer[], integer) is
'Starts materialising the daily growth of these members'' teams, at most p_max of them; returns how many. Called by the roll-up, under its lock.';

create function private.network_sums(p_member private.profiles) returns private.networks
language plpgsql stable set search_path = '' as $$
declare
    v_sums private.networks;
begin
    -- One statement: a roll-up between two would count deltas twice or not at all.
    select
        a.no, sum(a.members)::integer, sum(a.package_cents)::bigint, sum(a.referral), sum(a.pairing), sum(a.override)
    into v_sums.no, v_sums.members, v_sums.package_cents, v_sums.referral, v_sums.pairing, v_sums.override
    from (
        select o.no, n.members, n.package_cents, n.referral, n.pairing, n.override
        from private.positions as o
        inner join private.networks as n on o.no = n.no
        where o.profile_id = (p_member).id
        union all
        select o.no, c.members, c.package_cents, c.referral, c.pairing, c.override
        from private.network_deltas as c
        inner join private.positions as q on c.no = q.no
        inner join private.profiles as p on q.profile_id = p.id
        inner join private.positions as o on o.profile_id = (p_member).id
        where p.id = (p_member).id or private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth)
    ) as a
    group by a.no;
    return v_sums;
end
$$;
comment on function private.network_sums(private.profiles) is 'Current totals of a member and the downline.';

create function public.get_network_summary() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_sums private.networks := private.network_sums(private.require_member());
    v_packages numeric := v_sums.package_cents / 100.0;
    v_earned numeric := v_sums.referral + v_sums.pairing + v_sums.override;
begin
    return pg_catalog.jsonb_build_object(
        'member_count', v_sums.members,
        'team_count', v_sums.members - 1,
        'total_packages', private.money(v_packages),
        'total_referral', private.money(v_sums.referral),
        'total_pairing', private.money(v_sums.pairing),
        'total_override', private.money(v_sums.override),
        'total_user', private.money(v_earned),
        'total_company_profit', private.money(v_packages - v_earned),
        'profit_percentage', private.percent(
            case when v_packages > 0 then (v_packages - v_earned) / v_packages * 100 else 0 end
        ),
        'as_of', pg_catalog.now()
    );
end
$$;
comment on function public.get_network_summary() is
'The caller''s network: members, packages, bonuses by type. total_user = referral + pairing + override; total_company_profit = packages - total_user; profit_percentage = total_company_profit / packages, 0 without packages. Errors: profile_not_found.';
grant execute on function public.get_network_summary() to authenticated;

create function private.team_growth(p_member private.profiles, p_no integer)
returns table (day date, members integer, funded integer)
language plpgsql stable set search_path = ''
-- A recursive walk: the planner overestimates its rows.
set enable_hashjoin = 'off' set enable_mergejoin = 'off' as $$
begin
    if (select n.has_days from private.networks as n where n.no = p_no) then
        return query
        select d.day, d.members, d.funded from private.team_days as d where d.no = p_no
        union all
        select c.day, c.members, c.funded
        from private.network_deltas as c
        inner join private.positions as o on c.no = o.no
        inner join private.profiles as p on o.profile_id = p.id
        where (c.members <> 0 or c.funded <> 0)
            and private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth);
        return;
    end if;
    return query
    with team as (
        -- A member counts as funded from the moment of the referral bonus.
        select p.created_at as joined_at, b.created_at as funded_at
        from private.network_positions(p_no) as n
        inner join private.positions as o on n.no = o.no
        inner join private.profiles as p on o.profile_id = p.id
        left join public.bonuses as b on b.bonus_type = 'referral' and o.no = b.subject_no and b.amount > 0
        where n.level > 0
    )
    select (t.joined_at at time zone 'UTC')::date, 1, 0 from team as t
    union all
    select (t.funded_at at time zone 'UTC')::date, 0, 1 from team as t where t.funded_at is not null;
end
$$;
comment on function private.team_growth(private.profiles, integer) is
'Members who joined and who were funded in the downline, by day: of a large team from private.team_days, of a small one by walking it.';

create function public.get_team_growth(p_range text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
    v_no integer;
    v_range record;
    v_first_bar timestamp;
    v_points jsonb;
begin
    select o.no into v_no from private.positions as o where o.user_id = v_member.user_id;
    select * into v_range from private.chart_range(p_range, v_member.created_at);
    v_first_bar := pg_catalog.date_trunc(v_range.bucket, v_range.first_day::timestamp);
    with per_bar as (
        select
            -- What happened before the chart counts in its first bar.
            greatest(pg_catalog.date_trunc(v_range.bucket, c.day::timestamp), v_first_bar) as start,
            sum(c.members) as members,
            sum(c.funded) as funded
        from private.team_growth(v_member, v_no) as c
        group by 1
    ),
    bars as (
        select
            s.start,
            sum(coalesce(c.members, 0)) over (order by s.start) as members,
            sum(coalesce(c.funded, 0)) over (order by s.start) as funded
        from pg_catalog.generate_series(v_first_bar, v_range.last_day::timestamp, ('1 ' || v_range.bucket)::interval) as s (start)
        left join per_bar as c on s.start = c.start
    )
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object('start', a.start::date, 'members', a.members, 'funded', a.funded) order by a.start
    )
    into v_points
    from bars as a;
    return pg_catalog.jsonb_build_object(
        'from', v_range.first_day, 'to', v_range.last_day, 'bucket', v_range.bucket, 'points', v_points
    );
end
$$;
comment on function public.get_team_growth(text) is
'Size of the caller''s team at the end of each bar, and how many are funded. Ranges as in get_earnings. Errors: invalid_range.';
grant execute on function public.get_team_growth(text) to authenticated;

-- Corrections, the only way to undo. One super_admin proposes, another finance or super administrator confirms; the
-- effect is one transaction under the money lock. A voided deposit or withdrawal keeps its status but no longer
-- counts; the journal gets a reversing row and bonuses are recomputed. Nothing is deleted.

create table private.corrections (
    id uuid primary key default gen_random_uuid(),
    kind text not null check (kind in ('void_deposit', 'void_withdrawal', 'set_package')),
    target_id uuid not null,
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    value public.usd,
    reason text not null check (length(reason) between 1 and 1000),
    proposed_by uuid not null references private.admin_users (id) on delete restrict,
    proposed_at timestamptz not null,
    confirmed_by uuid references private.admin_users (id) on delete restrict,
    confirmed_at timestamptz,
    confirmed_in xid8,
    discarded_by uuid references private.admin_users (id) on delete restrict,
    discarded_at timestamptz,
    constraint confirmer_is_not_proposer check (confirmed_by is distinct from proposed_by),
    constraint only_packages_have_a_value check ((kind = 'set_package') = (value is not null)),
    constraint confirmation_is_complete check (
        (confirmed_by is null) = (confirmed_at is null) and (confirmed_by is null) = (confirmed_in is null)
    ),
    constraint discard_is_complete check ((discarded_by is null) = (discarded_at is null)),
    constraint confirmed_or_discarded check (confirmed_by is null or discarded_by is null)
);
comment on table private.corrections is
'Proposed, confirmed and discarded corrections. target_id: the deposit, the withdrawal, or the member''s profile.';
alter table private.corrections enable row level security;
create index corrections_user_idx on private.corrections (user_id);
create index corrections_proposed_idx on private.corrections (proposed_at desc);
create index corrections_proposed_by_idx on private.corrections (proposed_by);
create index corrections_confirmed_by_idx on private.corrections (confirmed_by) where confirmed_by is not null;
create index corrections_discarded_by_idx on private.corrections (discarded_by) where discarded_by is not null;
create unique index corrections_waiting_key on private.corrections (kind, target_id) where confirmed_by is null and discarded_by is null;
create index corrections_waiting_idx on private.corrections (proposed_at, id) where confirmed_by is null and discarded_by is null;
create index corrections_confirmed_idx on private.corrections (confirmed_at desc, id desc) where confirmed_by is not null;
create trigger _100_reject_change before delete or truncate on private.corrections for each statement execute function private.reject_change();

create function private.is_being_corrected(p_user_id uuid) returns boolean
language sql stable set search_path = '' as $$
    select exists (
        select 1 from private.corrections as c
        where c.user_id = p_user_id and c.confirmed_in = pg_catalog.pg_current_xact_id_if_assigned()
    )
$$;
comment on function private.is_being_corrected(uuid) is 'True only within the transaction that confirms a correction of this member.';

create function private.correctable_member(p_kind text, p_target_id uuid) returns uuid
language sql stable set search_path = '' as $$
    select d.user_id from public.deposits as d
    where p_kind = 'void_deposit' and d.id = p_target_id and d.status = 'approved' and d.voided_at is null
    union all
    select w.user_id from public.withdrawals as w
    where p_kind = 'void_withdrawal' and w.id = p_target_id and w.status = 'approved' and w.voided_at is null and w.payout_reference is null
    union all
    select p.user_id from private.profiles as p
    where p_kind = 'set_package' and p.id = p_target_id and p.closed_at is null
$$;
comment on function private.correctable_member(text, uuid) is
'User id of the member whom a correction would affect; null when there is nothing to correct.';

create function private.require_correctable_member(p_kind text, p_target_id uuid) returns uuid
language plpgsql stable set search_path = '' as $$
declare
    v_user_id uuid := private.correctable_member(p_kind, p_target_id);
begin
    if p_kind is null or p_kind not in ('void_deposit', 'void_withdrawal', 'set_package') then
        perform private.raise_error(400, 'invalid_input', 'The kind must be void_deposit, void_withdrawal or set_package.');
    end if;
    if v_user_id is null then
        perform private.raise_error(
            409, 'not_correctable', case p_kind
                when 'void_deposit' then 'Only an approved deposit that still counts can be voided.'
                when 'void_withdrawal' then 'Only an approved withdrawal that was not paid can be voided.'
                else 'There is no such member.'
            end
        );
    end if;
    return v_user_id;
end
$$;
comment on function private.require_correctable_member(text, uuid) is
'User id of the member whom a correction affects. Errors: invalid_input, not_correctable.';

create function public.propose_correction(p_kind text, p_target_id uuid, p_value numeric, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
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
    perform private.audit(
        'admin:' || v_admin.id, 'correction.proposed', 'correction', v_correction.id,
        pg_catalog.jsonb_build_object('kind', p_kind, 'target_id', p_target_id, 'value', private.money(p_value), 'reason', v_reason)
    );
    return pg_catalog.jsonb_build_object('success', true, 'correction', pg_catalog.to_jsonb(v_correction) - 'confirmed_in');
end
$$;
comment on function public.propose_correction(text, uuid, numeric, text) is
'Super administrators: proposes to void a deposit or an unpaid withdrawal, or to set a package. Changes nothing until confirmed. Errors: forbidden, invalid_reason, invalid_input, not_correctable, already_proposed.';
grant execute on function public.propose_correction(text, uuid, numeric, text) to platform_admin;

-- A set package replaces the earlier ones: only deposits approved later raise it, so voiding another deposit does not
-- restore a package that a correction lowered.
create function private.due_package(p_user_id uuid) returns numeric
language sql stable set search_path = '' as $$
    with correction as (
        select c.value, c.confirmed_at from private.corrections as c
        where c.user_id = p_user_id and c.kind = 'set_package' and c.confirmed_by is not null
        order by c.confirmed_at desc limit 1
    )
    select greatest(
        coalesce((select c.value from correction as c), 0),
        coalesce((
            select max(d.amount) from public.deposits as d inner join private.packages as k on k.value = d.amount
            where d.user_id = p_user_id and d.status = 'approved' and d.voided_at is null
                and d.decided_at > coalesce((select c.confirmed_at from correction as c), '-infinity')
        ), 0)
    )
$$;
comment on function private.due_package(uuid) is
'A member''s package recomputed: the last correction''s value or the largest counting package deposit approved since, whichever is larger.';

create function private.apply_correction(p_correction private.corrections) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_amount numeric;
    v_position integer;
begin
    if (p_correction).kind = 'void_withdrawal' then
        update public.withdrawals as w set voided_at = (p_correction).confirmed_at where w.id = (p_correction).target_id returning w.amount into v_amount;
        update private.totals as t set withdrawn_amount = t.withdrawn_amount - v_amount where t.user_id = (p_correction).user_id;
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
        values ((p_correction).user_id, v_amount, 'withdrawal', 'completed', (p_correction).id, (p_correction).confirmed_at);
        perform private.increment_counter('withdrawals_approved', -v_amount);
        return;
    end if;
    if (p_correction).kind = 'void_deposit' then
        update public.deposits as d set voided_at = (p_correction).confirmed_at where d.id = (p_correction).target_id returning d.amount into v_amount;
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
        values ((p_correction).user_id, -v_amount, 'deposit', 'completed', (p_correction).id, (p_correction).confirmed_at);
        perform private.increment_counter('deposits_approved', -v_amount);
    end if;
    update private.profiles as p set
        cash_in_amount = p.cash_in_amount - coalesce(v_amount, 0),
        package_value = case when (p_correction).kind = 'set_package' then (p_correction).value else private.due_package(p.user_id) end
    where p.user_id = (p_correction).user_id;
    select o.no into v_position from private.positions as o where o.user_id = (p_correction).user_id;
    perform private.post_bonuses(v_position, (p_correction).confirmed_at);
    perform private.write_bonuses(array(select l from private.lapsed_bonuses(v_position) as l), (p_correction).confirmed_at);
end
$$;
comment on function private.apply_correction(private.corrections) is 'Applies a confirmed correction, under the locks.';

create function private.lock_waiting_correction(p_correction_id uuid) returns private.corrections
language plpgsql volatile set search_path = '' as $$
declare
    v_correction private.corrections;
begin
    perform private.lock_money();
    select * into v_correction from private.corrections as c where c.id = p_correction_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such correction.');
    end if;
    if v_correction.confirmed_by is not null then
        perform private.raise_error(409, 'already_decided', 'This correction was already confirmed.');
    end if;
    if v_correction.discarded_by is not null then
        perform private.raise_error(409, 'already_decided', 'This correction was discarded.');
    end if;
    return v_correction;
end
$$;
comment on function private.lock_waiting_correction(uuid) is
'Takes the money lock and returns a pending correction: no other transaction can confirm or discard it. Errors: not_found, already_decided, try_again.';

create function private.audit_correction(p_action text, p_admin_id uuid, p_correction private.corrections) returns jsonb
language plpgsql volatile set search_path = '' as $$
begin
    perform private.audit(
        'admin:' || p_admin_id, p_action, 'correction', (p_correction).id,
        pg_catalog.jsonb_build_object(
            'kind', (p_correction).kind, 'target_id', (p_correction).target_id, 'proposed_by', (p_correction).proposed_by
        )
    );
    return pg_catalog.jsonb_build_object('success', true, 'correction', pg_catalog.to_jsonb(p_correction) - 'confirmed_in');
end
$$;
comment on function private.audit_correction(text, uuid, private.corrections) is
'Audits what happened to a correction; returns the response.';

create function public.confirm_correction(p_correction_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_correction private.corrections := private.lock_waiting_correction(p_correction_id);
begin
    if v_correction.proposed_by = v_admin.id then
        perform private.raise_error(403, 'two_people', 'Another administrator must confirm a correction.');
    end if;
    perform private.require_not_own_account(v_admin, v_correction.user_id);
    perform private.require_correctable_member(v_correction.kind, v_correction.target_id);
    perform private.lock_members(private.upline_ids(v_correction.user_id));
    update private.corrections as c set
        confirmed_by = v_admin.id, confirmed_at = private.clock(), confirmed_in = pg_catalog.pg_current_xact_id()
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
    return private.audit_correction('correction.confirmed', v_admin.id, v_correction);
end
$$;
comment on function public.confirm_correction(uuid) is
'Finance and super administrators, never the proposer: applies a correction. Errors: forbidden, not_found, already_decided, two_people, own_account, not_correctable, try_again.';
grant execute on function public.confirm_correction(uuid) to platform_admin;

-- Discard a correction proposed by mistake or no longer confirmable: it would stay pending and block every other
-- proposal for its target. Whoever may propose or confirm may discard. Nothing else changes, and the row stays.
create function public.discard_correction(p_correction_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_correction private.corrections := private.lock_waiting_correction(p_correction_id);
begin
    perform private.require_not_own_account(v_admin, v_correction.user_id);
    update private.corrections as c set discarded_by = v_admin.id, discarded_at = private.clock()
    where c.id = p_correction_id
    returning * into v_correction;
    return private.audit_correction('correction.discarded', v_admin.id, v_correction);
end
$$;
comment on function public.discard_correction(uuid) is
'Finance and super administrators, also the proposer: discards a pending correction. Changes nothing else. Errors: forbidden, not_found, already_decided, own_account, try_again.';
grant execute on function public.discard_correction(uuid) to platform_admin;

-- List pending corrections, each with why the caller may not confirm it, and the last confirmed ones. Every
-- administrator may read; confirming is confirm_correction's.

create function private.correction_error(p_correction private.corrections, p_email text, p_admin private.admin_users) returns text
language plpgsql stable set search_path = '' as $$
begin
    return case
        when private.correctable_member((p_correction).kind, (p_correction).target_id) is null
            then 'This can no longer be confirmed: what it would correct has changed.'
        when (p_admin).role not in ('super_admin', 'finance_admin')
            then pg_catalog.format('A %s cannot do this.', pg_catalog.replace((p_admin).role::text, '_', ' '))
        when (p_correction).proposed_by = (p_admin).id
            then 'Another administrator must confirm this.'
        when pg_catalog.lower(p_email) = pg_catalog.lower((p_admin).email)
            then 'You cannot decide a request of your own member account.'
    end;
end
$$;
comment on function private.correction_error(private.corrections, text, private.admin_users) is
'Why this administrator may not confirm a pending correction of the member with this e-mail; null when confirm_correction would allow it.';

create function private.correction_items(p_ids uuid[], p_admin private.admin_users) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', c.id,
            'kind', c.kind,
            'target_id', c.target_id,
            'profile_id', p.id,
            'username', p.username,
            'display_name', p.display_name,
            'amount', private.money(coalesce(d.amount, w.amount)),
            'reference', coalesce(d.reference_number, w.wallet_address),
            'requested_at', coalesce(d.created_at, w.created_at),
            'value', private.money(c.value),
            'package_value', private.money(p.package_value),
            'reason', c.reason,
            'proposed_by_name', coalesce(a.full_name, a.email),
            'proposed_at', c.proposed_at,
            'confirmed_by_name', coalesce(b.full_name, b.email),
            'confirmed_at', c.confirmed_at,
            'refusal', case when c.confirmed_by is null then private.correction_error(c, p.email, p_admin) end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join private.corrections as c on u.id = c.id
    inner join private.profiles as p on c.user_id = p.user_id
    inner join private.admin_users as a on c.proposed_by = a.id
    left join private.admin_users as b on c.confirmed_by = b.id
    left join public.deposits as d on c.kind = 'void_deposit' and c.target_id = d.id
    left join public.withdrawals as w on c.kind = 'void_withdrawal' and c.target_id = w.id
$$;
comment on function private.correction_items(uuid[], private.admin_users) is
'Corrections with their members and what they void, as items of this administrator''s list. package_value is the current one. Money as text.';

create function public.list_corrections() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
begin
    return pg_catalog.jsonb_build_object(
        'waiting', coalesce(private.correction_items(array(
            select c.id from private.corrections as c
            where c.confirmed_by is null and c.discarded_by is null order by c.proposed_at, c.id limit 200
        ), v_admin), '[]'),
        'confirmed', coalesce(private.correction_items(array(
            select c.id from private.corrections as c where c.confirmed_by is not null order by c.confirmed_at desc, c.id desc limit 50
        ), v_admin), '[]')
    );
end
$$;
comment on function public.list_corrections() is
'Administrators: pending corrections, oldest first, at most 200, and the last 50 confirmed ones. refusal says why the caller may not confirm; null when allowed. Errors: forbidden, session_ended.';
grant execute on function public.list_corrections() to platform_admin;

-- Bot subscriptions: a bot trades with the member's own MT5 account. The password is encrypted before it reaches SQL
-- and stored in a table that no API role may read; the subscription stores only its length, for the mask.
-- Unsubscribing erases it.

create table public.bot_subscriptions (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    bot_name text not null check (bot_name in ('Scout', 'Ranger', 'Sentinel')),
    status public.subscription_status not null default 'active',
    mt5_server text not null check (length(mt5_server) between 1 and 128),
    mt5_login text not null check (length(mt5_login) between 1 and 64),
    mt5_password_length integer check (mt5_password_length between 1 and 256),
    subscribed_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
comment on table public.bot_subscriptions is 'Subscriptions to trading bots. mt5_password_length is null once the password is erased.';
alter table public.bot_subscriptions enable row level security;
-- One active or suspended subscription per member and bot.
create unique index bot_subscriptions_running_key on public.bot_subscriptions (user_id, bot_name) where status <> 'cancelled';
create index bot_subscriptions_user_idx on public.bot_subscriptions (user_id, subscribed_at desc);
create index bot_subscriptions_subscribed_idx on public.bot_subscriptions (subscribed_at desc, id desc);
create index bot_subscriptions_status_idx on public.bot_subscriptions (status, subscribed_at desc, id desc);
create index bot_subscriptions_search_idx on public.bot_subscriptions
using gin (lower(bot_name || ' ' || mt5_server || ' ' || mt5_login) extensions.gin_trgm_ops);

create policy select_own on public.bot_subscriptions for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on public.bot_subscriptions for select to platform_admin using (true);
grant select on public.bot_subscriptions to authenticated, platform_admin, service_role;
-- Not granted: insert, update, delete to any role. Schema edge has the functions.

create function private.bot_subscriptions_update_counters() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if tg_op = 'UPDATE' then
        perform private.increment_counter('subscriptions_' || old.status, -1);
    end if;
    perform private.increment_counter('subscriptions_' || new.status, 1);
    return null;
end
$$;
comment on function private.bot_subscriptions_update_counters() is 'Trigger: counts subscriptions by status.';
create trigger _500_update_counters_insert after insert on public.bot_subscriptions
for each row execute function private.bot_subscriptions_update_counters();
create trigger _500_update_counters_update after update of status on public.bot_subscriptions
for each row when (old.status is distinct from new.status) execute function private.bot_subscriptions_update_counters();

create table private.bot_secrets (
    subscription_id uuid primary key references public.bot_subscriptions (id) on delete cascade,
    key_id text not null,
    secret bytea not null,
    updated_at timestamptz not null default now()
);
comment on table private.bot_secrets is 'Encrypted MT5 passwords: nonce, ciphertext and tag from functions/edge.';
alter table private.bot_secrets enable row level security;
create index bot_secrets_key_idx on private.bot_secrets (key_id);

create function public.get_user_bot_subscriptions(p_user_id uuid) returns setof public.bot_subscriptions
language sql stable security definer set search_path = '' as $$
    select * from public.bot_subscriptions as s
    where s.user_id = p_user_id and s.user_id = auth.uid() and s.status in ('active', 'suspended')
    order by s.subscribed_at desc
$$;
comment on function public.get_user_bot_subscriptions(uuid) is
'The caller''s own active and suspended subscriptions; no rows for another member''s id.';
grant execute on function public.get_user_bot_subscriptions(uuid) to authenticated;

-- Functions for functions/edge. The MT5 password arrives and leaves encrypted: nothing here can read it. Each takes
-- the principal's id from the verified token; only role edge_functions may execute them.

create function edge.subscribe_bot(
    p_user_id uuid, p_id uuid, p_bot_name text, p_server text, p_login text, p_password_length integer, p_key_id text, p_secret bytea
) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles := private.lock_member(p_user_id);
    v_subscription public.bot_subscriptions;
begin
    if v_member.id is null then
        perform private.raise_error(403, 'profile_not_found', 'Complete your profile first.');
    end if;
    if exists (
        select 1 from public.bot_subscriptions as s where s.user_id = p_user_id and s.bot_name = p_bot_name and s.status <> 'cancelled'
    ) then
        perform private.raise_error(409, 'already_subscribed', pg_catalog.format('You are already subscribed to %s.', p_bot_name));
    end if;
    insert into public.bot_subscriptions (id, user_id, bot_name, mt5_server, mt5_login, mt5_password_length, subscribed_at, updated_at)
    values (p_id, p_user_id, p_bot_name, p_server, p_login, p_password_length, private.clock(), private.clock())
    returning * into v_subscription;
    insert into private.bot_secrets (subscription_id, key_id, secret) values (p_id, p_key_id, p_secret);
    perform private.notify_administrators(
        'bot_subscribed', pg_catalog.format('%s: new subscription', p_bot_name),
        pg_catalog.format('%s subscribed to %s.', v_member.username, p_bot_name), '/admin/bots'
    );
    perform private.audit('member:' || p_user_id, 'bot.subscribed', 'bot_subscription', p_id, pg_catalog.jsonb_build_object('bot', p_bot_name));
    return pg_catalog.jsonb_build_object('success', true, 'subscription', pg_catalog.to_jsonb(v_subscription));
end
$$;
comment on function edge.subscribe_bot(uuid, uuid, text, text, text, integer, text, bytea) is
'Starts a subscription with its encrypted password and notifies administrators. Errors: profile_not_found, already_subscribed.';
grant execute on function edge.subscribe_bot(uuid, uuid, text, text, text, integer, text, bytea) to edge_functions;

create function edge.unsubscribe_bot(p_user_id uuid, p_bot_name text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles := private.lock_member(p_user_id);
    v_subscription public.bot_subscriptions;
begin
    update public.bot_subscriptions as s set status = 'cancelled', mt5_password_length = null, updated_at = private.clock()
    where s.user_id = p_user_id and s.bot_name = p_bot_name and s.status <> 'cancelled'
    returning s.* into v_subscription;
    if v_subscription.id is null then
        perform private.raise_error(404, 'not_subscribed', pg_catalog.format('You are not subscribed to %s.', p_bot_name));
    end if;
    delete from private.bot_secrets as b where b.subscription_id = v_subscription.id;
    perform private.notify_administrators(
        'bot_unsubscribed', pg_catalog.format('%s: subscription ended', p_bot_name),
        pg_catalog.format('%s unsubscribed from %s.', v_member.username, p_bot_name), '/admin/bots'
    );
    perform private.audit(
        'member:' || p_user_id, 'bot.unsubscribed', 'bot_subscription', v_subscription.id, pg_catalog.jsonb_build_object('bot', p_bot_name)
    );
    return pg_catalog.jsonb_build_object('success', true, 'subscription', pg_catalog.to_jsonb(v_subscription));
end
$$;
comment on function edge.unsubscribe_bot(uuid, text) is
'Ends a subscription, erases its password and notifies administrators. Errors: not_subscribed.';
grant execute on function edge.unsubscribe_bot(uuid, text) to edge_functions;

create function edge.encrypted_mt5_password(p_admin_id uuid, p_subscription_id uuid) returns table (user_id uuid, key_id text, secret bytea)
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users;
begin
    select * into v_admin from private.admin_users as a where a.id = p_admin_id and a.is_active;
    if v_admin.role is null or v_admin.role not in ('super_admin', 'finance_admin') then
        perform private.raise_error(403, 'forbidden', 'Only finance and super administrators can see MT5 passwords.');
    end if;
    perform private.require_totp(v_admin);
    return query
    select s.user_id, b.key_id, b.secret
    from public.bot_subscriptions as s
    inner join private.bot_secrets as b on b.subscription_id = s.id
    where s.id = p_subscription_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'This subscription keeps no password any more.');
    end if;
    perform private.audit('admin:' || p_admin_id, 'bot.password_revealed', 'bot_subscription', p_subscription_id);
end
$$;
comment on function edge.encrypted_mt5_password(uuid, uuid) is
'The encrypted password of one subscription, for an administrator who may see it; writes an audit row. Errors: forbidden, two_step_required, not_found.';
grant execute on function edge.encrypted_mt5_password(uuid, uuid) to edge_functions;

-- Subscriptions in the admin panel. The list has the length of an MT5 password, for the mask, never the password.

create function public.update_subscription(p_subscription_id uuid, p_status text, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_reason text := pg_catalog.btrim(p_reason);
    v_subscription public.bot_subscriptions;
begin
    perform private.require_totp(v_admin);
    if coalesce(v_reason, '') = '' then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    if p_status not in ('active', 'suspended') then
        perform private.raise_error(400, 'invalid_input', 'A subscription can be made active or suspended.');
    end if;
    update public.bot_subscriptions as s set status = p_status::public.subscription_status, updated_at = private.clock()
    where s.id = p_subscription_id and s.status <> 'cancelled'
    returning s.* into v_subscription;
    if v_subscription.id is null then
        perform private.raise_error(404, 'not_found', 'There is no running subscription like this.');
    end if;
    perform private.notify_member(
        v_subscription.user_id, 'bot_' || p_status,
        pg_catalog.format('%s is %s', v_subscription.bot_name, p_status), v_reason, null, '/bots'
    );
    perform private.audit(
        'admin:' || v_admin.id, 'bot.status_changed', 'bot_subscription', v_subscription.id,
        pg_catalog.jsonb_build_object('status', p_status, 'reason', v_reason)
    );
    return pg_catalog.jsonb_build_object('success', true, 'subscription', pg_catalog.to_jsonb(v_subscription));
end
$$;
comment on function public.update_subscription(uuid, text, text) is
'Any administrator suspends or reactivates a subscription, with a reason. Errors: forbidden, two_step_required, reason_required, invalid_input, not_found.';
grant execute on function public.update_subscription(uuid, text, text) to platform_admin;

create function public.list_subscriptions(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['subscribed_at']);
    v_filters text;
    v_order text := 'r.subscribed_at, r.id';
    v_reversed text := 'r.subscribed_at desc, r.id desc';
    v_ids uuid[];
    v_more boolean;
    v_items jsonb;
    v_counts jsonb;
    v_total bigint;
begin
    perform private.require_admin();
    if v_request.status not in ('active', 'suspended', 'cancelled') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    if v_request.descending then
        select v_reversed, v_order into v_order, v_reversed;
    end if;
    select
        pg_catalog.jsonb_object_agg(s.status, private.counter_value('subscriptions_' || s.status)::bigint),
        coalesce(sum(private.counter_value('subscriptions_' || s.status)) filter (
            where v_request.status is null or s.status::text = v_request.status
        ), 0)::bigint
    into v_counts, v_total
    from pg_catalog.unnest(pg_catalog.enum_range(null::public.subscription_status)) as s (status);
    v_filters := coalesce(' and r.status = ' || pg_catalog.quote_literal(v_request.status) || '::public.subscription_status', '');
    if v_request.pattern is null then
        v_ids := private.page_ids('from public.bot_subscriptions as r where true' || v_filters, v_order, v_reversed, v_request, v_total);
    else
        select f.ids, f.total, f.more into v_ids, v_total, v_more
        from private.search_page(
            'public.bot_subscriptions',
            pg_catalog.format(
                $query$from (
                    (
                        select r.id from private.profiles as p inner join public.bot_subscriptions as r on p.user_id = r.user_id
                        where private.member_search_text(p.username, p.display_name, p.email) like $1 %1$s
                        limit 10001
                    )
                    union
                    (
                        select r.id from public.bot_subscriptions as r
                        where lower(r.bot_name || ' ' || r.mt5_server || ' ' || r.mt5_login) like $1 %1$s
                        limit 10001
                    )
                ) as r$query$, v_filters
            ),
            pg_catalog.format(
                $query$from public.bot_subscriptions as r where (
                    exists (
                        select from private.profiles as p
                        where p.user_id = r.user_id and private.member_search_text(p.username, p.display_name, p.email) like $1
                    )
                    or lower(r.bot_name || ' ' || r.mt5_server || ' ' || r.mt5_login) like $1
                ) %1$s$query$, v_filters
            ),
            v_order, v_reversed, v_request
        ) as f;
    end if;
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', b.id,
            'user_id', b.user_id,
            'username', p.username,
            'email', p.email,
            'display_name', p.display_name,
            'bot_name', b.bot_name,
            'status', b.status,
            'mt5_server', b.mt5_server,
            'mt5_login', b.mt5_login,
            'mt5_password_length', b.mt5_password_length,
            'subscribed_at', b.subscribed_at,
            'updated_at', b.updated_at
        ) order by u.place
    )
    into v_items
    from pg_catalog.unnest(v_ids) with ordinality as u (id, place)
    inner join public.bot_subscriptions as b on u.id = b.id
    inner join private.profiles as p on b.user_id = p.user_id;
    return pg_catalog.jsonb_build_object('items', coalesce(v_items, '[]'), 'total', v_total, 'counts', v_counts)
        || case when v_more then '{"more": true}' else '{}' end::jsonb;
end
$$;
comment on function public.list_subscriptions(jsonb) is
'Administrators: bot subscriptions, newest first, without passwords. Filters: page, pageSize, search (member, bot, MT5 server, MT5 login), status, sort (subscribed_at). Errors: forbidden, session_ended, invalid_filter.';
grant execute on function public.list_subscriptions(jsonb) to platform_admin;

-- Completed lessons of the trading school, as rows, so that progress is the same on every device. The app knows the
-- lessons; here they are names, limited in number.

create table public.lesson_progress (
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    lesson_id text not null check (lesson_id ~ '\A[a-z0-9-]{1,63}\Z'),
    done_at timestamptz not null default now(),
    primary key (user_id, lesson_id)
);
comment on table public.lesson_progress is 'Lessons that a member marked as done. Unmarking deletes the row.';
alter table public.lesson_progress enable row level security;

create policy select_own on public.lesson_progress for select to authenticated using (user_id = (select auth.uid()));
create policy insert_own on public.lesson_progress for insert to authenticated with check (user_id = (select auth.uid()));
create policy delete_own on public.lesson_progress for delete to authenticated using (user_id = (select auth.uid()));
grant select, delete on public.lesson_progress to authenticated;
grant insert (user_id, lesson_id) on public.lesson_progress to authenticated;
-- Not granted: update, to any role.

create function private.lesson_progress_validate() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.require_owner(new.user_id);
    if (select count(*) from public.lesson_progress as l where l.user_id = new.user_id) >= 200 then
        perform private.raise_error(409, 'too_many', 'There are not that many lessons.');
    end if;
    return new;
end
$$;
comment on function private.lesson_progress_validate() is 'Trigger: limits the number of rows. Errors: not_yours, too_many.';
create trigger _100_validate before insert on public.lesson_progress for each row execute function private.lesson_progress_validate();

-- Income disclosure: what members received, net of what they paid in the same period, including those who received
-- nothing. Counting all members takes seconds with a million: too slow for, and too easily abused by, anonymous
-- clients. So the worker publishes it once a day after midnight (UTC) and clients read the last one. A request
-- computes it only when none was ever published or the last one is two days old. Groups of fewer than ten members are
-- suppressed, so that no single result can be derived.

create table private.income_disclosures (
    computed_at timestamptz primary key,
    body jsonb not null
);
comment on table private.income_disclosures is 'Every published disclosure.';
alter table private.income_disclosures enable row level security;
create trigger _100_reject_change before update or delete or truncate on private.income_disclosures
for each statement execute function private.reject_change();

create function private.income_by_member(p_from timestamptz, p_to timestamptz)
returns table (package_value numeric, received numeric, paid numeric)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    select p.package_value::numeric, coalesce(r.amount, 0), coalesce(d.amount, 0)
    from private.profiles as p
    left join (
        select t.user_id, sum(t.amount)::numeric as amount from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.created_at >= p_from and t.created_at < p_to
        group by t.user_id
    ) as r on p.user_id = r.user_id
    left join (
        select e.user_id, sum(e.amount)::numeric as amount from public.deposits as e
        where e.status = 'approved' and e.voided_at is null and e.decided_at >= p_from and e.decided_at < p_to
        group by e.user_id
    ) as d on p.user_id = d.user_id
    where p.created_at < p_to;
end
$$;
comment on function private.income_by_member(timestamptz, timestamptz) is
'Bonuses received and deposits approved (USD) of every member who had joined by the end of the period.';

create function private.disclosure_percent(p_members bigint, p_part bigint) returns text
language sql immutable set search_path = '' as $$
    select case when p_members > 0 then pg_catalog.to_char(100.0 * p_part / p_members, 'FM990.00') end
$$;
comment on function private.disclosure_percent(bigint, bigint) is 'Share of members in percent, as text with two decimals.';

create function private.compute_disclosure(p_from timestamptz, p_to timestamptz) returns jsonb
language sql stable set search_path = '' as $$
    with results as materialized (
        select r.package_value, r.received, r.paid, r.received - r.paid as net from private.income_by_member(p_from, p_to) as r
    ), everybody as (
        select
            count(*) as members,
            count(*) filter (where r.received = 0) as nothing,
            count(*) filter (where r.received < r.paid) as below,
            pg_catalog.percentile_disc(array[0.25, 0.5, 0.75, 0.9, 0.99]) within group (order by r.net) as net
        from results as r
    ), packages as (
        select
            k.value, k.label, count(r.*) as members,
            count(r.*) filter (where r.received = 0) as nothing,
            count(r.*) filter (where r.received < r.paid) as below,
            pg_catalog.percentile_disc(0.5) within group (order by r.net) as median
        from (
            select w.value, w.label from private.packages as w union all select 0, 'No package'
        ) as k
        left join results as r on r.package_value = k.value
        group by k.value, k.label
    )
    select pg_catalog.jsonb_build_object(
        'from', p_from, 'to', p_to, 'members', e.members, 'too_few', e.members < 10,
        'received_nothing', pg_catalog.jsonb_build_object('members', e.nothing, 'percent', private.disclosure_percent(e.members, e.nothing)),
        'below_paid', pg_catalog.jsonb_build_object('members', e.below, 'percent', private.disclosure_percent(e.members, e.below)),
        'net', case when e.members >= 10 then pg_catalog.jsonb_build_object(
            'p25', private.money(e.net[1]), 'median', private.money(e.net[2]), 'p75', private.money(e.net[3]),
            'p90', private.money(e.net[4]), 'p99', private.money(e.net[5])
        ) end,
        'packages', (
            select pg_catalog.jsonb_agg(
                case when k.members >= 10 then pg_catalog.jsonb_build_object(
                    'value', private.money(k.value), 'label', k.label, 'members', k.members, 'too_few', false,
                    'received_nothing_percent', private.disclosure_percent(k.members, k.nothing),
                    'below_paid_percent', private.disclosure_percent(k.members, k.below), 'median_net', private.money(k.median)
                ) else pg_catalog.jsonb_build_object('value', private.money(k.value), 'label', k.label, 'too_few', true) end
                order by k.value
            ) from packages as k
        ),
        'credited', private.money((select coalesce(sum(r.received), 0) from results as r)),
        'withdrawn', private.money((
            select coalesce(sum(w.amount), 0) from public.withdrawals as w
            where w.status = 'approved' and w.voided_at is null and w.decided_at >= p_from and w.decided_at < p_to
        ))
    )
    from everybody as e
$$;
comment on function private.compute_disclosure(timestamptz, timestamptz) is
'The income disclosure of a period as JSON; money and percentages as text.';

create function private.publish_disclosure() returns private.income_disclosures
language plpgsql volatile set search_path = '' as $$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    v_to timestamptz := pg_catalog.date_trunc('day', v_now at time zone 'UTC') at time zone 'UTC';
    v_from timestamptz;
    v_published private.income_disclosures;
begin
    select greatest(min(p.created_at), v_to - interval '1 year') into v_from from private.profiles as p;
    if v_from < v_to then
        insert into private.income_disclosures (computed_at, body)
        values (v_now, private.compute_disclosure(v_from, v_to) || pg_catalog.jsonb_build_object('computed_at', v_now))
        returning * into v_published;
    end if;
    return v_published;
end
$$;
comment on function private.publish_disclosure() is
'Computes and publishes the last year until midnight (UTC); a null row when there is nothing to report.';

create function jobs.publish_disclosure() returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
    if exists (
        select 1 from private.income_disclosures as d
        where d.computed_at >= pg_catalog.date_trunc('day', pg_catalog.clock_timestamp() at time zone 'UTC') at time zone 'UTC'
    ) then
        return false;
    end if;
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('income_disclosure'));
    return (private.publish_disclosure()).computed_at is not null;
end
$$;
comment on function jobs.publish_disclosure() is
'Publishes today''s income disclosure once; false when it exists or there is nothing to report.';
grant execute on function jobs.publish_disclosure() to worker;

create function public.get_income_disclosure() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_latest private.income_disclosures;
    v_published private.income_disclosures;
begin
    select * into v_latest from private.income_disclosures as d order by d.computed_at desc limit 1;
    -- The first caller computes; concurrent ones read the last one.
    if (v_latest.computed_at is null or v_latest.computed_at < pg_catalog.clock_timestamp() - interval '2 days')
        and pg_catalog.pg_try_advisory_xact_lock(private.lock_key('income_disclosure')) then
        v_published := private.publish_disclosure();
        if v_published.computed_at is not null then
            v_latest := v_published;
        end if;
    end if;
    return v_latest.body;
end
$$;
comment on function public.get_income_disclosure() is
'Open to anonymous clients: what all members received and paid in the last year (or since the first member), until midnight UTC. Null when there is nothing to report.';
grant execute on function public.get_income_disclosure() to anon, authenticated, platform_admin;

-- The dashboards of members and administrators, one request each. A member's values come from materialised rows or
-- from one index range of the own direct referrals (positions_referrer_child_key), so a dashboard costs the same at
-- any network size.

create function private.return_on_investment(p_earnings numeric, p_package numeric) returns numeric
language plpgsql immutable set search_path = '' as $$
begin
    return case when p_package > 0 then (p_earnings - p_package) / p_package * 100 else 0 end;
end
$$;
comment on function private.return_on_investment(numeric, numeric) is '(earnings - package) / package in percent; 0 without a package.';

create function private.bonus_figures(p_amount numeric, p_count integer) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
    return pg_catalog.jsonb_build_object(
        'amount', private.money(p_amount),
        'reentry', private.money(pg_catalog.round(p_amount * private.reentry_percent() / 100, 2)),
        'count', p_count
    );
end
$$;
comment on function private.bonus_figures(numeric, integer) is 'One bonus type: sum, the 10% that re-enters, and count.';

create function public.get_member_dashboard() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_screen jsonb;
begin
    -- One statement without variables: planned once per connection.
    select pg_catalog.jsonb_build_object(
        'as_of', pg_catalog.now(),
        'profile', pg_catalog.jsonb_build_object(
            'id', p.id,
            'user_id', p.user_id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'trc20_wallet_address', p.trc20_wallet_address,
            'wallet_checksum_ok', case when p.trc20_wallet_address is not null then private.is_trc20_address(p.trc20_wallet_address) end,
            'account_status', p.account_status,
            'account_verified', p.account_verified,
            'package_value', private.money(p.package_value),
            'package_label', k.label,
            'package_rate', private.percent(coalesce(k.pairing_percent, 0)),
            'cash_in_amount', private.money(p.cash_in_amount),
            'created_at', p.created_at,
            'sponsor', case when s.id is not null then
                pg_catalog.jsonb_build_object('id', s.id, 'username', s.username, 'display_name', s.display_name)
            end
        ),
        'verification', private.verification_result(p),
        'balance', private.balance_figures(t, p),
        'bonuses', pg_catalog.jsonb_build_object(
            'referral', private.bonus_figures(t.referral_amount, t.referral_count),
            'pairing', private.bonus_figures(t.pairing_amount, t.pairing_count),
            'override', private.bonus_figures(t.override_amount, t.override_count),
            'total', private.money(t.bonus_amount),
            'reentry', private.money(t.reentry_amount)
        ),
        'roi', private.percent(private.return_on_investment(t.bonus_amount, p.package_value)),
        'net_profit', private.money(t.bonus_amount - p.package_value),
        'team', pg_catalog.jsonb_build_object(
            'direct_referrals', o.children,
            'funded_referrals', c.funded,
            'active_pairs', o.children / 2,
            'paying_pairs', private.paying_pair_count(o.no, t.pairing_count),
            'package_rate', private.percent(coalesce(k.pairing_percent, 0)),
            'total_team_volume', private.money(c.package_cents / 100.0)
        ),
        'latest', (
            select coalesce(pg_catalog.jsonb_agg(h.item order by h.created_at desc, h.id desc), '[]')
            from private.transaction_history(
                p.user_id, null, null, '-infinity', 'infinity', 'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 5
            ) as h
        ),
        'unread_notifications', (
            select count(*) from public.notifications as n where n.user_id = p.user_id and n.read_at is null
        ),
        'last_sync_at', (select r.ran_at from private.reconcile_state as r)
    )
    into v_screen
    from private.profiles as p
    left join private.totals as t on p.user_id = t.user_id
    left join private.positions as o on p.user_id = o.user_id
    left join private.packages as k on p.package_value = k.value
    left join private.profiles as s on p.referrer_id = s.id
    cross join lateral private.direct_referral_totals(o) as c
    where p.user_id = auth.uid();
    if v_screen is null then
        perform private.raise_error(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    return v_screen;
end
$$;
comment on function public.get_member_dashboard() is
'Everything on the caller''s dashboard, in one request. Money and percentages as text with two decimals. Errors: profile_not_found.';
grant execute on function public.get_member_dashboard() to authenticated;

create function public.get_earnings(p_range text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
    v_no integer;
    v_range record;
    v_points jsonb;
    v_totals jsonb;
begin
    select o.no into v_no from private.positions as o where o.user_id = v_member.user_id;
    select * into v_range from private.chart_range(p_range, v_member.created_at);
    with days as (
        select d.day, d.referral, d.pairing, d.override
        from private.earning_days as d where d.no = v_no and d.day >= v_range.first_day
        union all
        select c.day, c.referral, c.pairing, c.override
        from private.network_deltas as c where c.no = v_no and c.day >= v_range.first_day
    ),
    earned as (
        select
            pg_catalog.date_trunc(v_range.bucket, d.day::timestamp)::date as start,
            sum(d.referral) as referral,
            sum(d.pairing) as pairing,
            sum(d.override) as override
        from days as d
        group by 1
    ),
    bars as (
        select
            s.start::date as start,
            coalesce(e.referral, 0) as referral,
            coalesce(e.pairing, 0) as pairing,
            coalesce(e.override, 0) as override
        from pg_catalog.generate_series(
            pg_catalog.date_trunc(v_range.bucket, v_range.first_day::timestamp),
            v_range.last_day::timestamp,
            ('1 ' || v_range.bucket)::interval
        ) as s (start)
        left join earned as e on s.start::date = e.start
    )
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'start', a.start,
                'referral', private.money(a.referral),
                'pairing', private.money(a.pairing),
                'override', private.money(a.override)
            ) order by a.start
        ),
        pg_catalog.jsonb_build_object(
            'referral', private.money(sum(a.referral)),
            'pairing', private.money(sum(a.pairing)),
            'override', private.money(sum(a.override)),
            'total', private.money(sum(a.referral + a.pairing + a.override))
        )
    into v_points, v_totals
    from bars as a;
    return pg_catalog.jsonb_build_object(
        'from', v_range.first_day,
        'to', v_range.last_day,
        'bucket', v_range.bucket,
        'totals', v_totals,
        'points', v_points
    );
end
$$;
comment on function public.get_earnings(text) is
'The caller''s earnings by type over time, by journal day, so that an upgrade''s increase is on the day it happened. Ranges 30d, 90d, 12m, all; days in UTC, weeks from Monday. Errors: invalid_range.';
grant execute on function public.get_earnings(text) to authenticated;

-- The admin dashboard: oldest pending requests, daily deposits and withdrawals, the last ledger check, and the payout
-- coverage. Totals come from counters.

create function public.get_admin_dashboard_stats()
returns table (
    total_users bigint, active_users bigint, inactive_users bigint, pending_deposits bigint, pending_withdrawals bigint,
    total_package_investment numeric, total_deposits numeric, total_withdrawals numeric, total_bonuses_paid numeric
)
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin();
    return query
    select
        max(c.value) filter (where c.name = 'profiles')::bigint,
        max(c.value) filter (where c.name = 'active_profiles')::bigint,
        (max(c.value) filter (where c.name = 'profiles') - max(c.value) filter (where c.name = 'active_profiles'))::bigint,
        max(c.value) filter (where c.name = 'pending_deposits')::bigint,
        max(c.value) filter (where c.name = 'pending_withdrawals')::bigint,
        max(c.value) filter (where c.name = 'package_investment'),
        max(c.value) filter (where c.name = 'deposits_approved'),
        max(c.value) filter (where c.name = 'withdrawals_approved'),
        max(c.value) filter (where c.name = 'bonuses')
    from private.counter_values() as c;
end
$$;
comment on function public.get_admin_dashboard_stats() is
'Administrators: one row of totals, from counters. Errors: forbidden, session_ended.';
grant execute on function public.get_admin_dashboard_stats() to platform_admin;

create function public.get_admin_overview() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin();
    v_deposit jsonb;
    v_withdrawal jsonb;
    v_recent jsonb;
    v_ledger_check record;
begin
    select private.oldest_pending(pg_catalog.to_jsonb(r)) into v_deposit
    from (
        select d.id, d.user_id, d.amount, d.created_at from public.deposits as d
        where d.status = 'pending' order by d.created_at, d.id limit 1
    ) as r;
    select private.oldest_pending(pg_catalog.to_jsonb(r)) into v_withdrawal
    from (
        select w.id, w.user_id, w.amount, w.created_at from public.withdrawals as w
        where w.status = 'pending' order by w.created_at, w.id limit 1
    ) as r;
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', r.id, 'type', r.type, 'user_email', p.email, 'username', p.username,
            'created_at', r.created_at, 'amount', private.money(r.amount), 'status', r.status
        ) order by r.created_at desc, r.id desc
    )
    into v_recent
    from (
        (
            select d.id, 'deposit' as type, d.user_id, d.created_at, d.amount, d.status
            from public.deposits as d order by d.created_at desc, d.id desc limit 10
        )
        union all
        (
            select w.id, 'withdrawal', w.user_id, w.created_at, w.amount, w.status
            from public.withdrawals as w order by w.created_at desc, w.id desc limit 10
        )
        order by 4 desc, 1 desc
        limit 10
    ) as r
    inner join private.profiles as p on r.user_id = p.user_id;
    select s.checked_at, s.violations into v_ledger_check from private.ledger_check_state as s;
    return pg_catalog.jsonb_build_object(
        'as_of', pg_catalog.now(),
        'admin', pg_catalog.jsonb_build_object(
            'id', v_admin.id, 'email', v_admin.email, 'full_name', v_admin.full_name, 'role', v_admin.role
        ),
        'oldest_pending', pg_catalog.jsonb_build_object('deposit', v_deposit, 'withdrawal', v_withdrawal),
        'pending', pg_catalog.jsonb_build_object(
            'deposits', private.counter_value('pending_deposits')::bigint, 'withdrawals', private.counter_value('pending_withdrawals')::bigint
        ),
        'net_cash_flow', private.money(private.counter_value('deposits_approved') - private.counter_value('withdrawals_approved')),
        'recent', coalesce(v_recent, '[]'),
        'flows', private.daily_flows(90),
        'books', pg_catalog.jsonb_build_object(
            'ok', case when v_ledger_check.checked_at is not null then v_ledger_check.violations = 0 end,
            'violations', v_ledger_check.violations,
            'checked_at', v_ledger_check.checked_at
        ),
        'coverage', private.coverage()
    );
end
$$;
comment on function public.get_admin_overview() is
'Administrators: the panel''s first screen in one request. books is the last ledger check; ok is null before the first. Errors: forbidden, session_ended.';
grant execute on function public.get_admin_overview() to platform_admin;

-- Payout coverage: whether the money received covers what members could withdraw, now and at the end of each day. The
-- worker writes one row a day; past rows never change, so history cannot be improved later.

create table private.coverage_days (
    day date primary key,
    figures jsonb not null check (jsonb_typeof(figures) = 'object'),
    taken_at timestamptz not null
);
comment on table private.coverage_days is 'private.coverage() of each UTC day.';
alter table private.coverage_days enable row level security;
create trigger _100_reject_change before update on private.coverage_days for each row execute function private.reject_change();
create trigger _100_reject_delete before delete or truncate on private.coverage_days
for each statement execute function private.reject_change();

create function private.coverage() returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_cash_in numeric := private.counter_value('deposits_approved');
    v_withdrawn numeric := private.counter_value('withdrawals_approved');
    v_pending numeric := private.counter_value('reserved');
    -- Per member: a shortfall of one member does not reduce what others may withdraw.
    v_claims numeric := private.counter_value('bonuses') - v_withdrawn + private.counter_value('shortfall');
begin
    return pg_catalog.jsonb_build_object(
        'approved_cash_in', private.money(v_cash_in),
        'approved_withdrawals', private.money(v_withdrawn),
        'withdrawable', private.money(v_claims - v_pending),
        'pending', private.money(v_pending),
        'ratio', case when v_claims > 0 then private.percent((v_cash_in - v_withdrawn) / v_claims * 100) end
    );
end
$$;
comment on function private.coverage() is
'Approved cash-in minus approved withdrawals, in percent of withdrawable plus pending amounts; no ratio when that is zero.';

create function jobs.snapshot_coverage() returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
    if exists (select 1 from private.coverage_days as c where c.day = (pg_catalog.clock_timestamp() at time zone 'UTC')::date) then
        return false;
    end if;
    insert into private.coverage_days (day, figures, taken_at)
    values ((private.clock() at time zone 'UTC')::date, private.coverage(), private.clock())
    on conflict (day) do nothing;
    return found;
end
$$;
comment on function jobs.snapshot_coverage() is 'Stores today''s coverage once; false when it exists.';
grant execute on function jobs.snapshot_coverage() to worker;

create function public.get_coverage_history(p_days integer default 90) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin();
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('day', c.day) || c.figures order by c.day), '[]')
        from private.coverage_days as c
        where c.day > (pg_catalog.clock_timestamp() at time zone 'UTC')::date - least(greatest(p_days, 1), 3660)
    );
end
$$;
comment on function public.get_coverage_history(integer) is
'Coverage of the last days, oldest first. Every administrator. Errors: forbidden, session_ended.';
grant execute on function public.get_coverage_history(integer) to platform_admin;

create function private.deposits_since(p_at timestamptz) returns numeric
language sql stable set search_path = '' as $$
    select
        (
            select coalesce(sum(d.amount), 0) from public.deposits as d
            where d.status = 'approved' and d.voided_at is null
                and d.decided_at > p_at
                and d.decided_at < ((p_at at time zone 'UTC')::date + 1)::timestamp at time zone 'UTC'
        )
        + (select coalesce(sum(f.decided_deposits), 0) from private.flows_since((p_at at time zone 'UTC')::date + 1) as f)
$$;
comment on function private.deposits_since(timestamptz) is
'Deposits approved after a moment and not voided: the rest of its day row by row, later days from daily totals.';

create function private.coverage_without_recent_deposits(p_days integer) returns jsonb
language sql stable set search_path = '' as $$
    -- The coverage ratio without the deposits of these days.
    select pg_catalog.jsonb_build_object(
        'days', p_days,
        'deposits', private.money(recent.amount),
        'ratio_without', case when (now.figures ->> 'ratio') is not null then private.percent(
            ((now.figures ->> 'approved_cash_in')::numeric - recent.amount - (now.figures ->> 'approved_withdrawals')::numeric)
            / greatest((now.figures ->> 'withdrawable')::numeric + (now.figures ->> 'pending')::numeric, (now.figures ->> 'pending')::numeric) * 100
        ) end
    )
    from (select private.coverage() as figures) as now
    cross join (
        select private.deposits_since(pg_catalog.now() - pg_catalog.make_interval(days => p_days)) as amount
    ) as recent
$$;
comment on function private.coverage_without_recent_deposits(integer) is 'Deposits of the last days, and the coverage ratio without them.';

create function public.get_coverage() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin();
    return private.coverage() || pg_catalog.jsonb_build_object(
        'as_of', pg_catalog.clock_timestamp(),
        'rests_on', pg_catalog.jsonb_build_array(private.coverage_without_recent_deposits(30), private.coverage_without_recent_deposits(90))
    );
end
$$;
comment on function public.get_coverage() is
'Payout coverage now, and without the deposits of the last 30 and 90 days. Every administrator. Errors: forbidden, session_ended.';
grant execute on function public.get_coverage() to platform_admin;

-- Ledger checks: invariants as queries that return no row. They run every minute and after every fault test; a row is
-- an alarm, not a repair. Each has a test that plants the corruption it detects. What a confirmed correction explains
-- is no violation.
-- The checks read every table once or twice instead of once per invariant: queries on the same rows share a
-- materialised pass that keeps only discrepancies. Three invariants cover the values of charts and networks: with
-- very many members they check a random sample each time; all others, and these in small networks, read everything.

create table private.ledger_check_state (
    only_row boolean primary key default true check (only_row),
    checked_at timestamptz,
    violations integer not null default 0,
    rules jsonb not null default '{}',
    check_duration interval not null default '0',
    anchored_seq bigint,
    anchored_hash bytea
);
comment on table private.ledger_check_state is 'The last ledger check: number of violations, by rule.';
comment on column private.ledger_check_state.check_duration is
'Duration of the last check. When above three seconds, the next one waits nine times as long.';
comment on column private.ledger_check_state.anchored_seq is
'Number of the audit row that the worker anchored externally last; null when there is none.';
comment on column private.ledger_check_state.anchored_hash is 'Hash of that row.';
alter table private.ledger_check_state enable row level security;

insert into private.ledger_check_state default values;

create function private.ledger_check_sample(out first_no integer, out last_no integer)
language plpgsql volatile set search_path = '' as $$
declare
    v_members bigint := (select count(*) from private.positions);
    v_skip bigint := pg_catalog.floor(pg_catalog.random() * ((v_members + 9999) / 10000))::bigint * 10000;
begin
    select o.no into first_no from private.positions as o order by o.no offset v_skip limit 1;
    select o.no into last_no from private.positions as o where o.no >= first_no order by o.no offset 9999 limit 1;
    last_no := coalesce(last_no, 2147483647);
end
$$;
comment on function private.ledger_check_sample() is
'The random sample of members whose daily values and totals this check compares: 10,000, or all where there are fewer.';

create view private.earning_day_discrepancies as
with slice as materialized (
    select
        s.first_no,
        s.last_no
    from private.ledger_check_sample() as s
)

select
    e.no,
    e.day
from (
    select
        d.no,
        d.day,
        d.referral,
        d.pairing,
        d.override
    from slice as s inner join private.earning_days as d on d.no between s.first_no and s.last_no
    union all
    select
        c.no,
        c.day,
        c.referral,
        c.pairing,
        c.override
    from slice as s inner join private.network_deltas as c on c.no between s.first_no and s.last_no
    union all
    select
        o.no,
        (t.created_at at time zone 'UTC')::date,
        case b.bonus_type when 'referral' then -t.amount else 0 end,
        case b.bonus_type when 'pairing' then -t.amount else 0 end,
        case b.bonus_type when 'override' then -t.amount else 0 end
    from slice as s
    inner join private.positions as o on o.no between s.first_no and s.last_no
    inner join public.transactions as t on o.user_id = t.user_id and t.transaction_type = 'bonus'
    inner join public.bonuses as b on t.reference_id = b.id
) as e
group by e.no, e.day
having sum(e.referral) <> 0 or sum(e.pairing) <> 0 or sum(e.override) <> 0;
comment on view private.earning_day_discrepancies is 'Days of sampled members on which the materialised earnings differ from the journal.';

create view private.network_discrepancies as
with changed as materialized (
    select
        c.no,
        sum(c.members) as members,
        sum(c.package_cents) as package_cents,
        sum(c.funded) as funded,
        sum(c.referral) as referral,
        sum(c.pairing) as pairing,
        sum(c.override) as override
    from private.network_deltas as c
    group by c.no
)

select o.no
from private.ledger_check_sample() as s
inner join private.positions as o on o.no between s.first_no and s.last_no
inner join private.totals as t on o.user_id = t.user_id
left join private.networks as n on o.no = n.no
left join changed as h on o.no = h.no
left join (
    select
        p.referrer_no,
        sum(c.package_cents) as package_cents,
        sum(c.funded) as funded
    from changed as c inner join private.positions as p on c.no = p.no
    group by p.referrer_no
) as d on o.no = d.referrer_no
cross join
    lateral (
        select
            coalesce(sum(k.members), 0) as members,
            coalesce(sum(k.package_cents), 0) as package_cents,
            coalesce(sum(k.referral), 0) as referral,
            coalesce(sum(k.pairing), 0) as pairing,
            coalesce(sum(k.override), 0) as override,
            coalesce(sum(c.package_cents), 0) as direct_cents,
            count(*) filter (where c.paid_cents > 0) as direct_funded
        from private.positions as c left join private.networks as k on c.no = k.no
        where c.referrer_no = o.no
    ) as b
-- One level of the tree is enough: if it holds for every member and the direct referrals, it holds for the whole
-- downline.
where (
    coalesce(n.members, 0) + coalesce(h.members, 0), coalesce(n.package_cents, 0) + coalesce(h.package_cents, 0),
    coalesce(n.referral, 0) + coalesce(h.referral, 0), coalesce(n.pairing, 0) + coalesce(h.pairing, 0),
    coalesce(n.override, 0) + coalesce(h.override, 0),
    coalesce(n.direct_cents, 0) + coalesce(d.package_cents, 0), coalesce(n.direct_funded, 0) + coalesce(d.funded, 0)
) is distinct from (
    1 + b.members, o.package_cents + b.package_cents, t.referral_amount + b.referral, t.pairing_amount + b.pairing,
    t.override_amount + b.override, b.direct_cents, b.direct_funded
);
comment on view private.network_discrepancies is
'Sampled members whose network totals are not their own values plus their direct referrals'' networks.';

create function private.team_day_discrepancies() returns table (no integer, day date)
language plpgsql volatile set search_path = ''
-- A recursive walk: the planner overestimates its rows.
set enable_hashjoin = 'off' set enable_mergejoin = 'off'
-- Its steps are look-ups, even where the calling check scans whole tables.
set enable_indexscan = 'on' as $$
begin
    return query
    with recursive teams as materialized (
        select n.no from private.networks as n where n.has_days order by pg_catalog.random() limit 20
    ),

    downline as (
        select t.no as top_no, t.no, false as has_days from teams as t
        union all
        select b.top_no, c.no, coalesce(n.has_days, false)
        from downline as b
        inner join private.positions as c on b.no = c.referrer_no
        left join private.networks as n on c.no = n.no
        -- A large team within it has its own days, checked separately.
        where not b.has_days
    ),

    found as (
        select b.top_no, (p.created_at at time zone 'UTC')::date as day, 1 as members, 0 as funded
        from downline as b
        inner join private.positions as o on b.no = o.no
        inner join private.profiles as p on o.profile_id = p.id
        where b.no <> b.top_no
        union all
        select b.top_no, (r.created_at at time zone 'UTC')::date, 0, 1
        from downline as b inner join public.bonuses as r on r.bonus_type = 'referral' and b.no = r.subject_no and r.amount > 0
        where b.no <> b.top_no
        union all
        select b.top_no, d.day, d.members, d.funded from downline as b inner join private.team_days as d on b.no = d.no where b.has_days
        union all
        select b.top_no, c.day, -c.members, -c.funded
        from downline as b inner join private.network_deltas as c on b.no = c.no where b.no <> b.top_no
        union all
        select t.no, d.day, -d.members, -d.funded from teams as t inner join private.team_days as d on t.no = d.no
    )
    select f.top_no, f.day
    from found as f group by f.top_no, f.day having sum(f.members) <> 0 or sum(f.funded) <> 0;
end
$$;
comment on function private.team_day_discrepancies() is
'Days on which the materialised growth of a large team differs from tree and bonuses. Samples 20 large teams.';

create view private.ledger_violations as
with earned as materialized (
    select
        b.user_id,
        sum(b.amount_cents) * 0.01 as total,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'referral'), 0) * 0.01 as referral,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'pairing'), 0) * 0.01 as pairing,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'override'), 0) * 0.01 as override,
        sum(b.reentry_amount) as reentry,
        count(*) as bonus_rows
    from public.bonuses as b
    group by b.user_id
),

claimed as materialized (
    select
        d.user_id,
        coalesce(sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null), 0) as recounted,
        coalesce(sum(d.amount) filter (where d.status = 'approved'), 0) as approved,
        coalesce(max(k.value) filter (where d.status = 'approved' and d.voided_at is null), 0) as package,
        count(*) filter (where d.status = 'pending') as pending_rows,
        count(*) filter (where d.status = 'approved') as approved_rows,
        count(*) filter (where d.status = 'rejected') as rejected_rows
    from public.deposits as d left join private.packages as k on d.amount = k.value
    group by d.user_id
),

drawn as materialized (
    select
        w.user_id,
        coalesce(sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null), 0) as recounted,
        coalesce(sum(w.amount) filter (where w.status = 'pending'), 0) as reserved,
        count(*) filter (where w.status = 'pending') as pending_rows,
        count(*) filter (where w.status = 'approved') as approved_rows,
        count(*) filter (where w.status = 'rejected') as rejected_rows
    from public.withdrawals as w
    group by w.user_id
),

journal as materialized (
    select
        t.user_id,
        coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
        count(*) filter (where t.transaction_type = 'bonus') as bonus_rows,
        coalesce(sum(abs(t.amount)) filter (where t.transaction_type = 'bonus'), 0) as bonus_volume
    from public.transactions as t
    group by t.user_id
),

-- Members with any discrepancy.
members as materialized (
    select m.*
    from (
        select
            p.user_id,
            coalesce(j.amount, 0) <> p.cash_in_amount + coalesce(b.total, 0) - coalesce(w.recounted, 0) as wrong_journal,
            (
                (s.referral_amount, s.pairing_amount, s.override_amount, s.reentry_amount, s.withdrawn_amount, s.reserved_amount)
                is distinct from (
                    coalesce(b.referral, 0), coalesce(b.pairing, 0), coalesce(b.override, 0), coalesce(b.reentry, 0),
                    coalesce(w.recounted, 0), coalesce(w.reserved, 0)
                )
            )
            or s.referral_count + s.pairing_count + s.override_count <> coalesce(b.bonus_rows, 0) as wrong_totals,
            p.cash_in_amount <> coalesce(d.recounted, 0) as wrong_cash_in,
            p.package_value <> coalesce(d.package, 0) as wrong_package
        from private.profiles as p
        left join private.totals as s on p.user_id = s.user_id
        left join journal as j on p.user_id = j.user_id
        left join earned as b on p.user_id = b.user_id
        left join claimed as d on p.user_id = d.user_id
        left join drawn as w on p.user_id = w.user_id
    ) as m
    where m.wrong_journal or m.wrong_totals or m.wrong_cash_in or m.wrong_package
),

-- Sources and journal rows that do not match.
bonus_entries as materialized (
    select
        b.id as source_id,
        j.reference_id
    from public.bonuses as b
    full join (
        select
            t.reference_id,
            coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount
        from public.transactions as t
        where t.transaction_type = 'bonus'
        group by t.reference_id
    ) as j on b.id = j.reference_id
    where b.id is null or coalesce(j.amount, 0) <> b.amount
),

deposit_entries as materialized (
    select
        d.id as source_id,
        t.id as entry_id,
        t.reference_id
    from public.deposits as d
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'deposit'
    ) as t
        on d.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.status::text) is distinct from (
        d.user_id, d.amount::numeric, case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
    )
),

withdrawal_entries as materialized (
    select
        w.id as source_id,
        t.id as entry_id,
        t.reference_id
    from public.withdrawals as w
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'withdrawal'
    ) as t
        on w.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.status::text) is distinct from (
        w.user_id, -w.amount::numeric, case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
    )
),

bonus_rows as materialized (
    select r.*
    from (
        select
            b.id,
            (b.user_id is distinct from case when b.bonus_type = 'pairing' then s.user_id else u.user_id end)
            or (b.bonus_type <> 'pairing' and b.source_user_id is distinct from s.user_id)
            or (b.amount > 0 and (b.rate is distinct from case b.bonus_type
                when 'referral' then private.referral_percent()
                when 'override' then private.override_percent()
                else k.pairing_percent
            end)) as wrong_owner,
            b.user_id = b.source_user_id as from_oneself,
            b.amount not between 0.01 and 10000000 as wrong_amount,
            b.amount
        from public.bonuses as b
        left join private.positions as s on b.subject_no = s.no
        left join private.positions as u on s.referrer_no = u.no
        left join private.packages as k on s.package_cents = k.value_cents
    ) as r
    where r.wrong_owner or r.from_oneself or r.wrong_amount
),

places as materialized (
    select l.*
    from (
        select
            p.id,
            o.no,
            p.depth <> coalesce(s.depth + 1, 0) as wrong_depth,
            s.created_at >= p.created_at as older_than_referrer,
            o.user_id <> p.user_id
            or (r.profile_id is distinct from p.referrer_id)
            or o.package_cents <> p.package_value * 100
            or o.paid_cents <> case when p.cash_in_amount >= p.package_value then p.package_value * 100 else 0 end
            or ((o.children, o.children) is distinct from (coalesce(c.children, 0)::integer, coalesce(c.last, 0))) as wrong_place
        from private.profiles as p
        left join private.profiles as s on p.referrer_id = s.id
        left join private.positions as o on p.id = o.profile_id
        left join private.positions as r on o.referrer_no = r.no
        left join (
            select
                c.referrer_no,
                count(*) as children,
                max(c.child_no) as last
            from private.positions as c
            where c.referrer_no is not null
            group by c.referrer_no
        ) as c on o.no = c.referrer_no
    ) as l
    where l.wrong_depth or l.older_than_referrer or l.wrong_place or l.no is null
)

-- I01 The journal rows of a bonus sum to its amount.
select
    'I01' as rule,
    e.source_id::text as object
from bonus_entries as e
where e.source_id is not null
union all
-- I02 The completed journal of a member is cash-in + bonuses - approved withdrawals.
select
    'I02',
    m.user_id::text
from members as m
where m.wrong_journal
union all
-- I03 An approved deposit has its completed journal row, a pending one a pending row, a rejected one a failed row.
select
    'I03',
    e.source_id::text
from deposit_entries as e
where e.source_id is not null
union all
-- I04 The same for withdrawals, negative.
select
    'I04',
    e.source_id::text
from withdrawal_entries as e
where e.source_id is not null
union all
-- I05 Every journal row has a source.
select
    'I05',
    o.entry_id::text
from (
    select
        d.entry_id,
        d.reference_id
    from deposit_entries as d
    where d.source_id is null
    union all
    select
        w.entry_id,
        w.reference_id
    from withdrawal_entries as w
    where w.source_id is null
    union all
    select
        t.id,
        t.reference_id
    from bonus_entries as b inner join public.transactions as t on t.transaction_type = 'bonus' and b.reference_id = t.reference_id
    where b.source_id is null
) as o
where
    not exists (
        select 1 from private.corrections as c
        where c.id = o.reference_id and c.confirmed_by is not null
    )
union all
-- I06 One journal row per deposit and withdrawal.
select
    'I06',
    t.reference_id::text
from public.transactions as t
where t.transaction_type <> 'bonus'
group by t.transaction_type, t.reference_id
having count(*) > 1
union all
-- I07 Totals equal the sums of their rows, so the balance is max(0, bonuses - approved withdrawals).
select
    'I07',
    m.user_id::text
from members as m
where m.wrong_totals
union all
-- I08 The balance before max(0, ...) is not negative: the maximum would hide a loss.
select
    'I08',
    s.user_id::text
from private.totals as s
where
    s.referral_amount + s.pairing_amount + s.override_amount < s.withdrawn_amount
    and not exists (
        select 1 from private.corrections as c
        where c.confirmed_by is not null and s.user_id = any(private.upline_ids(c.user_id))
    )
union all
-- I09 Cash-in equals the approved deposits that count.
select
    'I09',
    m.user_id::text
from members as m
where m.wrong_cash_in
union all
-- I10 One row per natural key; I11 checks owner and source.
select
    'I10',
    b.bonus_type || ' ' || b.subject_no || ' ' || coalesce(b.pair_number::text, '')
from public.bonuses as b
group by b.bonus_type, b.subject_no, b.pair_number
having count(*) > 1
union all
-- I11 Bonuses match tree and packages, and are paid to the right members.
select
    'I11',
    w.bonus_type || ' ' || w.subject_no || ' ' || coalesce(w.pair_number::text, '')
from unnest(private.all_bonus_discrepancies()) as w
union all
select
    'I11',
    b.id::text
from bonus_rows as b
where b.wrong_owner
union all
-- I12 Nobody earns a bonus from oneself.
select
    'I12',
    b.id::text
from bonus_rows as b
where b.from_oneself
union all
-- I13 A package follows from the approved deposits, and after a correction from that.
select
    'I13',
    m.user_id::text
from (
    select w.user_id from members as w
    where w.wrong_package
    union
    select c.user_id from private.corrections as c
    where c.confirmed_by is not null
) as m
inner join private.profiles as p on m.user_id = p.user_id
where p.package_value <> private.due_package(m.user_id)
union all
-- I14 A member's depth is the referrer's plus one, a root's 0: so there is no cycle.
select
    'I14',
    l.id::text
from places as l
where l.wrong_depth
union all
-- I15 A referrer is older than the referred member.
select
    'I15',
    l.id::text
from places as l
where l.older_than_referrer
union all
-- I16 Amounts are finite and in range.
select
    'I16',
    d.id::text
from public.deposits as d
where d.amount not between 1 and 10000000
union all
select
    'I16',
    w.id::text
from public.withdrawals as w
where w.amount not between 100 and 10000000
union all
select
    'I16',
    b.id::text
from bonus_rows as b
where
    b.wrong_amount
    and not (b.amount = 0 and exists (
        select 1 from private.corrections as c
        where c.confirmed_by is not null
    ))
union all
-- I17 Decided rows have a time and a decider; a member's own cancellation and a closed account have no decider.
select
    'I17',
    r.id::text
from (
    select
        d.id,
        d.status,
        d.decided_at,
        d.decided_by,
        d.admin_notes
    from public.deposits as d
    union all
    select
        w.id,
        w.status,
        w.decided_at,
        w.decided_by,
        w.admin_notes
    from public.withdrawals as w
) as r
where
    (r.status = 'pending') <> (r.decided_at is null)
    or (r.status = 'pending' and r.decided_by is not null)
    or (r.status <> 'pending' and r.decided_by is null and coalesce(r.admin_notes, '') not in ('Cancelled by the member', 'Account closed'))
union all
-- I18 Usernames are unique ignoring case.
select
    'I18',
    lower(p.username)
from private.profiles as p
group by lower(p.username)
having count(*) > 1
union all
-- I19 A transfer is approved once.
select
    'I19',
    d.reference_key
from public.deposits as d
where d.status = 'approved' and d.voided_at is null
group by d.reference_key
having count(*) > 1
union all
-- I20 The receipt exists, in the member's folder, owned by the member.
select
    'I20',
    d.id::text
from public.deposits as d
left join storage.objects as o on o.bucket_id = 'receipts' and d.receipt_name = o.name
where o.owner_id is distinct from d.user_id::text or split_part(d.receipt_name, '/', 1) <> d.user_id::text
union all
-- I21 Bonuses never exceed 56% of funded packages.
select
    'I21',
    'all'
where
    (select coalesce(sum(e.total), 0) from earned as e)
    > 0.56 * (select coalesce(sum(p.paid_cents), 0) * 0.01 from private.positions as p)
union all
-- I22 No more is paid out than was received, including deposits voided later, which counted at the time.
select
    'I22',
    'all'
where (select coalesce(sum(w.recounted), 0) from drawn as w) > (select coalesce(sum(d.approved), 0) from claimed as d)
union all
-- I23 Child numbers are unique and have no gap, and a position has the member's package.
select
    'I23',
    l.no::text
from places as l
where l.no is not null and l.wrong_place
union all
select
    'I23',
    l.id::text
from places as l
where l.no is null
union all
-- I24 One active or suspended subscription per member and bot.
select
    'I24',
    min(s.id::text)
from public.bot_subscriptions as s
where s.status <> 'cancelled'
group by s.user_id, s.bot_name
having count(*) > 1
union all
-- I25 No administrator session lasts longer than eight hours.
select
    'I25',
    s.session_token::text
from public.admin_sessions as s
left join private.admin_session_activity as a on s.session_token = a.session_token
where a.session_token is null or s.expires_at > a.started_at + interval '8 hours 1 second'
union all
-- I26 The audit chain is intact.
select
    'I26',
    a.seq::text
from private.verify_audit_chain() as a (seq)
union all
-- I27 Counters equal the values they count.
select
    'I27',
    c.name
from private.counter_values() as c
inner join (
    select
        f.name,
        f.value
    from (
        select
            count(*) as members,
            count(*) filter (where p.package_value > 0) as active,
            coalesce(sum(p.package_value), 0) as packages,
            count(*) filter (where p.account_verified) as verified
        from private.profiles as p
    ) as p
    cross join
        lateral (
            values
            ('profiles', p.members::numeric),
            ('active_profiles', p.active),
            ('package_investment', p.packages),
            ('verified_profiles', p.verified)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (
        select
            sum(d.pending_rows) as pending,
            sum(d.recounted) as recounted,
            sum(d.approved_rows) as approved,
            sum(d.rejected_rows) as rejected
        from claimed as d
    ) as d
    cross join
        lateral (
            values
            ('pending_deposits', d.pending), ('deposits_approved', d.recounted), ('deposits_approved_count', d.approved),
            ('deposits_rejected_count', d.rejected)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (
        select
            sum(w.pending_rows) as pending,
            sum(w.recounted) as recounted,
            sum(w.approved_rows) as approved,
            sum(w.rejected_rows) as rejected,
            sum(w.reserved) as reserved
        from drawn as w
    ) as w
    cross join
        lateral (
            values
            ('pending_withdrawals', w.pending), ('withdrawals_approved', w.recounted), ('withdrawals_approved_count', w.approved),
            ('withdrawals_rejected_count', w.rejected), ('reserved', w.reserved)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (select
        sum(e.total) as total,
        sum(e.bonus_rows) as bonus_rows
    from earned as e) as e
    cross join lateral (values ('bonuses', e.total), ('bonus_rows', e.bonus_rows)) as f (name, value)
    union all
    select
        'shortfall',
        coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0)
    from private.totals as s
    where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (select
        sum(j.bonus_rows) as bonus_rows,
        sum(j.bonus_volume) as bonus_volume
    from journal as j) as j
    cross join lateral (values ('bonus_transactions', j.bonus_rows), ('bonus_volume', j.bonus_volume)) as f (name, value)
    union all
    select
        'subscriptions_' || e.status,
        coalesce(b.subscriptions, 0)
    from unnest(enum_range(null::public.subscription_status)) as e (status)
    left join (
        select
            s.status,
            count(*) as subscriptions
        from public.bot_subscriptions as s
        group by s.status
    ) as b on e.status = b.status
) as f on c.name = f.name
where c.value <> f.value
union all
-- I27 So do the daily totals of deposits and withdrawals.
select
    'I27',
    'flow of ' || f.day
from (
    select
        k.day,
        k.deposits,
        k.withdrawals,
        k.decided_deposits
    from private.flows_since('-infinity') as k
    union all
    select
        v.day,
        -v.deposits,
        0,
        -v.decided_deposits
    from public.deposits as d
    cross join
        lateral (
            values ((d.created_at at time zone 'UTC')::date, d.amount, 0), ((d.decided_at at time zone 'UTC')::date, 0, d.amount)
        ) as v (day, deposits, decided_deposits)
    where d.status = 'approved' and d.voided_at is null
    union all
    select
        (w.created_at at time zone 'UTC')::date,
        0,
        -w.amount,
        0
    from public.withdrawals as w
    where w.status = 'approved' and w.voided_at is null
) as f
group by f.day
having sum(f.deposits) <> 0 or sum(f.withdrawals) <> 0 or sum(f.decided_deposits) <> 0
union all
-- I28 A member's daily earnings match the journal (sample of 10,000 members).
select
    'I28',
    d.no || ' ' || d.day
from private.earning_day_discrepancies as d
union all
-- I29 Network totals equal the member's own values plus the networks of the direct referrals (sample of 10,000
-- members).
select
    'I29',
    n.no::text
from private.network_discrepancies as n
union all
-- I30 The daily growth of a large team matches its members' joining and funding (sample of 20 teams).
select
    'I30',
    d.no || ' ' || d.day
from private.team_day_discrepancies() as d;
comment on view private.ledger_violations is
'Violations of the ledger''s invariants: the rule and the violating object. Empty when there are none.';

create function private.check_ledger() returns table (rule text, object text)
language sql stable set search_path = '' as $$
    select v.rule, v.object from private.ledger_violations as v
$$;
comment on function private.check_ledger() is 'Violations of the ledger''s invariants; none when all hold.';

-- The check reads everything: one second with ten thousand members, half a minute and more with several hundred
-- thousand, when the next run would start as the last ends. So it throttles itself: up to three seconds it runs
-- whenever called; above, it waits nine times its last duration and so takes at most a tenth of the time. Until then
-- the last result stands, alarms included, with its time.
create function jobs.check_ledger() returns jsonb
language plpgsql volatile security definer
-- Hash aggregates over all members in memory.
set work_mem = '64MB' set search_path = ''
-- Scan whole tables sequentially: the same sums in index order, a row a page, take five times as long.
set enable_indexscan = 'off' as $$
declare
    v_state private.ledger_check_state;
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_rules jsonb;
begin
    select * into v_state from private.ledger_check_state;
    if v_state.check_duration > interval '3 seconds' and v_started < v_state.checked_at + v_state.check_duration * 9 then
        return v_state.rules;
    end if;
    select coalesce(pg_catalog.jsonb_object_agg(r.rule, r.rows), '{}') into v_rules
    from (select c.rule, count(*) as rows from private.check_ledger() as c group by c.rule) as r;
    update private.ledger_check_state as s set
        -- checked_at is the start: rows written while it ran were not checked.
        checked_at = v_started,
        check_duration = pg_catalog.clock_timestamp() - v_started,
        rules = v_rules,
        violations = (select coalesce(sum(e.value::integer), 0) from pg_catalog.jsonb_each_text(v_rules) as e);
    return v_rules;
end
$$;
comment on function jobs.check_ledger() is
'Runs the ledger checks and stores the result, or returns the last one while a long check is throttled: violations by rule, {} when there are none.';
grant execute on function jobs.check_ledger() to worker;

-- Purge old rows: expired rate limits, old failures, and e-mail sent long ago (it holds names and addresses). Rows of
-- money, the journal and the audit log are never purged.

create function jobs.purge() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    v_rows integer;
    v_all integer;
begin
    delete from private.rate_limits as r where r.window_start < v_now - interval '1 day';
    get diagnostics v_all = row_count;
    delete from private.sign_in_failures as f where f.at < v_now - interval '1 day';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.outbox as o where o.sent_at < v_now - interval '30 days';
    get diagnostics v_rows = row_count;
    return v_all + v_rows;
end
$$;
comment on function jobs.purge() is
'Deletes expired rate limits, failures older than a day and e-mail sent more than 30 days ago; returns how many rows.';
grant execute on function jobs.purge() to worker;

-- The schema of the worker's job queue (procrastinate). The worker installs the tables itself, in its own version; a
-- separate schema keeps the rest of the database closed to it.

create schema procrastinate;
comment on schema procrastinate is 'Job queue of functions/worker, installed and owned by role worker.';
grant usage, create on schema procrastinate to worker;
