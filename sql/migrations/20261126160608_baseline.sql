-- The schema files of 1.0.0, one after the other; never edit it. A change edits the schema file of its noun, and
-- `make migration` writes the next file of this folder.

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
'Role of a signed-in administrator, through PostgREST or functions. pre_request.check_request() checks that the session is still valid, and so does every function of administrators.';
comment on role edge_functions is 'Login role of functions/edge. May switch to the caller''s role and call schema edge; owns nothing.';
comment on role worker is 'Login role of functions/worker. May call schema jobs; owns nothing.';

-- Nobody else may become an administrator: storage serves receipts to them by signed URLs, which functions/edge asks for.
grant platform_admin to authenticator;
grant anon to edge_functions;
grant authenticated to edge_functions;
grant platform_admin to edge_functions;

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
-- confirming an e-mail address waits for the referrer's row instead of losing the profile. What anyone may call takes
-- milliseconds.
alter role anon set statement_timeout = '1s';
alter role anon set lock_timeout = '500ms';
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
-- are one lock for each value of it. Row locks stand between: members by id after the money lock. The linker of the audit
-- log takes its own and no other.
create function private.lock_key(p_name text) returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    case p_name
        -- A decision, a correction, a reconciliation, leaving demo mode: one at a time.
        when 'money' then return 42;
        -- One reconciliation of all bonuses at a time; whoever waited takes its result.
        when 'reconcile' then return 44;
        -- With the id of a new request: two members' requests of one id.
        when 'request' then return 51;
        -- With an owner: how many receipts a member has.
        when 'receipts_of_owner' then return 45;
        -- With a name: using a receipt in a deposit, or deleting it.
        when 'receipt' then return 48;
        -- The roll-up of team totals; a repair and a rebuild of counters keep it out.
        when 'networks' then return 46;
        -- The income disclosure is published by one.
        when 'income_disclosure' then return 47;
        -- With an email address: one login attempt on an administrator's account at a time.
        when 'login_to_account' then return 49;
        -- With a client address: one login attempt of an administrator from it at a time.
        when 'login_from_address' then return 50;
        -- The end of the audit chain: one linker at a time.
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

-- What was decided first: a number taken under the money lock, because a clock can step back. Bonuses, journal rows
-- and fundings carry the number of the decision that caused them.
create sequence private.decision_no_seq as bigint;
comment on sequence private.decision_no_seq is
'Numbers of decisions by administrators, confirmed corrections and repairs, in the order in which they held the money lock.';

create function private.next_decision_no() returns bigint
language plpgsql volatile set search_path = '' as $$
declare
    v_no bigint := pg_catalog.nextval('private.decision_no_seq');
begin
    perform pg_catalog.set_config('app.decision_no', v_no::text, true);
    return v_no;
end
$$;
comment on function private.next_decision_no() is
'Begins a decision: takes its number, which current_decision_no() returns until the transaction ends. Call under the money lock.';

create function private.current_decision_no() returns bigint
language plpgsql stable set search_path = '' as $$
begin
    return nullif(pg_catalog.current_setting('app.decision_no', true), '')::bigint;
end
$$;
comment on function private.current_decision_no() is 'Number of the decision that this transaction makes; null when it makes none.';

create function private.last_decision_no() returns bigint
language plpgsql stable set search_path = '' as $$
begin
    return greatest(
        (select max(d.decision_no) from public.deposits as d),
        (select max(w.decision_no) from public.withdrawals as w),
        (select max(c.decision_no) from private.corrections as c),
        (select max(t.decision_no) from public.transactions as t),
        0
    );
end
$$;
comment on function private.last_decision_no() is
'The last decision that the statement which calls this sees; 0 before the first. It sees all decisions up to this number and none after it: a number is taken under the money lock, which is held until the commit. The sequence itself counts decisions that nobody sees yet.';

-- The principal.

create function private.my_role() returns text
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.current_setting('role', true);
end
$$;
comment on function private.my_role() is 'API role of the request, also inside security definer functions. Null in tests and jobs.';

create function private.client_address() returns text
language sql stable set search_path = '' as $$
    select coalesce(nullif(pg_catalog.current_setting('request.headers', true), '')::pg_catalog.jsonb ->> 'x-real-ip', 'unknown')
$$;
comment on function private.client_address() is 'Client address, from the header that the gateway overwrites.';

create function private.wants_one_object() returns boolean
language sql stable set search_path = '' as $$
    select coalesce(
        nullif(pg_catalog.current_setting('request.headers', true), '')::pg_catalog.jsonb ->> 'accept' like 'application/vnd.pgrst.object%', false
    )
$$;
comment on function private.wants_one_object() is 'Whether the request asks PostgREST for one object instead of an array.';

create function private.uuid_claim(p_claims jsonb, p_name text) returns uuid
language plpgsql immutable set search_path = '' as $$
begin
    return case when p_claims ->> p_name ~* '\A[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z' then (p_claims ->> p_name)::uuid end;
end
$$;
comment on function private.uuid_claim(jsonb, text) is 'A claim as a uuid; null when it is not one.';

-- Ids that only the database makes begin with the time (UUID version 7): rows that are written together are neighbours in
-- the index of their ids. A random id is another page for every row, read, changed and logged whole. Without a
-- search_path, so that a column's default inlines it.
create function private.time_ordered_id() returns uuid
language sql volatile as $$
    select pg_catalog.encode(
        pg_catalog.set_bit(pg_catalog.set_bit(
            pg_catalog.overlay(
                pg_catalog.uuid_send(pg_catalog.gen_random_uuid()),
                pg_catalog.substr(pg_catalog.int8send((extract(epoch from pg_catalog.clock_timestamp()) * 1000)::bigint), 3), 1, 6
            ), 52, 1
        ), 53, 1), 'hex'
    )::uuid
$$;
comment on function private.time_ordered_id() is 'A new id that begins with the milliseconds since 1970, UUID version 7.';
-- Members insert requests themselves, and the id is a default.
grant execute on function private.time_ordered_id() to authenticated, service_role;

create function private.first_id_at(p_at timestamptz) returns uuid
language sql immutable set search_path = '' as $$
    select pg_catalog.rpad(
        pg_catalog.encode(pg_catalog.substr(pg_catalog.int8send((extract(epoch from p_at) * 1000)::bigint), 3), 'hex'), 32, '0'
    )::uuid
$$;
comment on function private.first_id_at(timestamptz) is
'The smallest id that private.time_ordered_id() can have made then: every id from before is smaller.';

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

create function private.is_recent(p_at timestamptz, p_interval interval) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
begin
    -- A time in the future is from before the clock was set back, however long ago that was.
    return coalesce(p_at <= v_now and p_at > v_now - p_interval, false);
end
$$;
comment on function private.is_recent(timestamptz, interval) is
'Whether something happened within the interval before now; false for a time in the future, so that a clock that is set back delays nothing.';

create function private.age_text(p_age interval) returns text
language sql immutable set search_path = '' as $$
    select case
        when s < 60 then 'less than a minute'
        when s < 120 then '1 minute'
        when s < 3600 then pg_catalog.floor(s / 60)::text || ' minutes'
        when s < 7200 then '1 hour'
        when s < 86400 then pg_catalog.floor(s / 3600)::text || ' hours'
        when s < 172800 then '1 day'
        else pg_catalog.floor(s / 86400)::text || ' days'
    end
    from (select extract(epoch from p_age) as s) as span
$$;
comment on function private.age_text(interval) is 'An age in words: "less than a minute", "12 minutes", "3 days".';

create function private.relative_time(p_at timestamptz, p_now timestamptz) returns text
language sql immutable set search_path = '' as $$
    select case when p_now - p_at < interval '1 minute' then 'just now' else private.age_text(p_now - p_at) || ' ago' end
$$;
comment on function private.relative_time(timestamptz, timestamptz) is 'Elapsed time in words: "2 minutes ago".';

-- Periods are whole: a chart by week begins on a Monday, a chart by month on the first of a month, and only the running
-- one ends before its end. The period before is as long, up to the same day of its last week or month, so that both
-- have run equally long.
create function private.chart_range(
    p_range text, p_oldest timestamptz,
    out first_day date, out last_day date, out bucket text, out previous_first_day date, out previous_last_day date
)
language plpgsql stable set search_path = '' as $$
declare
    v_oldest date := (p_oldest at time zone 'UTC')::date;
    v_length interval;
begin
    last_day := (pg_catalog.now() at time zone 'UTC')::date;
    case p_range
        when '30d' then
            first_day := last_day - 29;
            bucket := 'day';
            v_length := interval '30 days';
        when '90d' then
            first_day := pg_catalog.date_trunc('week', last_day::timestamp)::date - 84;
            bucket := 'week';
            v_length := interval '91 days';
        when '12m' then
            first_day := (pg_catalog.date_trunc('month', last_day::timestamp) - interval '11 months')::date;
            bucket := 'month';
            v_length := interval '1 year';
        when 'all' then
            first_day := least(v_oldest, last_day);
            bucket := case when last_day - first_day < 60 then 'day' when last_day - first_day < 200 then 'week' else 'month' end;
            first_day := pg_catalog.date_trunc(bucket, first_day::timestamp)::date;
        else
            perform private.raise_error(400, 'invalid_range', 'Choose 30 days, 90 days, 12 months or all.');
    end case;
    if v_oldest <= (first_day - v_length)::date then
        previous_first_day := (first_day - v_length)::date;
        previous_last_day := (last_day - v_length)::date;
    end if;
end
$$;
comment on function private.chart_range(text, timestamptz) is
'First and last day (UTC) of a chart, its bucket, and the days to compare with: null with "all", which begins at p_oldest, and where they begin before it. Errors: invalid_range.';

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
    return coalesce(private.setting_text('demo')::boolean, true);
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
    -- Shown as a link: nothing that could close an attribute or begin another scheme, and one place for the hash.
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
    perform private.check_setting(p_key, p_value);
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
        'deposits_open', private.setting('deposit.open'),
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

-- Leave demo mode. One list of conditions decides, and the screen shows the same list. Nothing else enables real
-- money, and it cannot be disabled again.

create function private.is_document(p_text text, p_characters integer, p_words integer) returns boolean
language sql immutable set search_path = '' as $$
    select coalesce(pg_catalog.length(pg_catalog.btrim(p_text)), 0) >= p_characters and p_words <= (
        select pg_catalog.count(distinct pg_catalog.lower(w.word))
        from pg_catalog.regexp_split_to_table(p_text, '[[:space:][:punct:]]+') as w (word) where w.word <> ''
    )
$$;
comment on function private.is_document(text, integer, integer) is
'Whether a text is one that somebody may have written: so long, with so many different words. Not whether it is any good.';

create function private.readiness() returns table (item text, ok boolean, missing text, keys text[])
language sql stable set search_path = '' as $$
    select 'operator', private.setting_text('operator.name') is not null and private.setting_text('operator.address') is not null,
        'Set the operator''s legal name and postal address.', array['operator.name', 'operator.address']
    union all
    select 'support', coalesce(private.setting_text('support.email'), '') not in ('', 'support@example.com'), 'Set the address of support.',
        array['support.email']
    union all
    -- Unknown is not ready: the worker reports both within a minute.
    select 'https', coalesce(private.setting_text('site.url'), '') like 'https://_%',
        'Serve the site by HTTPS: name its domain in SITE_DOMAIN, or its https address in SITE_URL where a proxy has the certificate.', null
    union all
    select 'deposit_address',
        private.is_trc20_address(private.setting_text('deposit.address')) and private.setting_text('deposit.address') <> 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb',
        'Set your own deposit address; the present one is a sample.', array['deposit.address']
    union all
    select 'wallets', private.setting_text('wallet.strict')::boolean,
        'Set wallet.strict: a wallet address with a wrong letter is rejected then, and a payout cannot be lost to it.', array['wallet.strict']
    union all
    select 'terms', private.is_document(private.setting_text('terms.text'), 500, 50) and private.setting_text('terms.version') is not null,
        'Publish terms of use: at least 500 characters with 50 different words, and their version.', array['terms.text', 'terms.version']
    union all
    select 'risk', private.is_document(private.setting_text('risk.text'), 100, 15) and private.setting_text('risk.version') is not null,
        'Publish the risk notice: at least 100 characters with 15 different words, and its version.', array['risk.text', 'risk.version']
    union all
    select 'countries', pg_catalog.jsonb_array_length(private.setting('operator.countries')) > 0, 'List the countries whose residents may sign up.',
        array['operator.countries']
    union all
    select 'mail_server', coalesce(private.setting_text('mail.server'), 'catcher') <> 'catcher',
        'Emails go to the mail catcher of development. Name your mail server in SMTP_HOST.', null
    union all
    select 'mail', private.setting_text('mail.ready')::boolean, 'Send a test email and confirm that it arrived.', array['mail.ready']
    union all
    select 'two_step',
        not exists (
            select 1 from private.admin_users as a where a.is_active and a.role <> 'support_admin' and a.totp_confirmed_at is null
        ),
        'Every finance and super administrator needs two-step sign-in.', null
    union all
    select 'backup', private.are_backups_made(), 'Switch backups on (BACKUP_REPOSITORY), wait for the first one and prove it: make restore-drill.', null
    union all
    select 'never_seeded', not private.setting_text('demo.seeded')::boolean, 'Sample data was loaded here. Start a new installation with DEMO=0.', null
    union all
    select 'no_money', not exists (select 1 from public.deposits) and not exists (select 1 from public.withdrawals),
        'There are deposits or withdrawals from demo mode. Start a new installation with DEMO=0.', null
$$;
comment on function private.readiness() is
'Conditions for accepting real money, each with what to do about it and the settings that an administrator confirmed it by.';

create function public.get_readiness() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin(array['super_admin']::public.admin_role[]);
    return pg_catalog.jsonb_build_object(
        'demo', private.is_demo(),
        'ready', not exists (select 1 from private.readiness() as r where not r.ok),
        'items', (
            select pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object(
                    'item', r.item, 'ok', r.ok, 'missing', case when not r.ok then r.missing end,
                    'confirmed_by', case when r.ok then c.name end, 'confirmed_at', case when r.ok then c.confirmed_at end
                )
            )
            from private.readiness() as r
            left join lateral (
                select coalesce(a.full_name, a.email) as name, s.updated_at as confirmed_at
                from private.settings as s
                inner join private.admin_users as a on a.id = s.updated_by
                where s.key = any(r.keys)
                order by s.updated_at desc limit 1
            ) as c on true
        )
    );
end
$$;
comment on function public.get_readiness() is
'What is missing before real money, item by item, and who confirmed what is done. Super admin. Errors: forbidden, session_ended.';
grant execute on function public.get_readiness() to platform_admin;

create function jobs.report_installation(p_site_url text, p_mail_server text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
begin
    update private.settings as s set value = pg_catalog.to_jsonb(p_site_url), updated_at = pg_catalog.clock_timestamp(), updated_by = null
    where s.key = 'site.url' and s.value is distinct from pg_catalog.to_jsonb(p_site_url);
    update private.settings as s set value = pg_catalog.to_jsonb(p_mail_server), updated_at = pg_catalog.clock_timestamp(), updated_by = null
    where s.key = 'mail.server' and s.value is distinct from pg_catalog.to_jsonb(p_mail_server);
    if found then
        -- The test email was another server's.
        update private.settings as s set value = 'false', updated_at = pg_catalog.clock_timestamp(), updated_by = null
        where s.key = 'mail.ready' and s.value = 'true';
        if found then
            perform private.audit('system', 'setting.changed', null, null, '{"key": "mail.ready", "after": "false"}');
        end if;
    end if;
    return '{}'::jsonb;
end
$$;
comment on function jobs.report_installation(text, text) is
'Records the address of the site and the mail server (catcher: that of development), which readiness needs to know. Another mail server is to be tested anew.';
grant execute on function jobs.report_installation(text, text) to worker;

create function public.send_test_mail() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
begin
    if not private.consume_rate_limit('test_mail', v_admin.id::text, 5, interval '1 hour') then
        perform private.raise_error(429, 'too_many_requests', 'Five test emails an hour. Try again later.');
    end if;
    insert into private.outbox (template, recipient, data) values (
        'test_mail', v_admin.email, pg_catalog.jsonb_build_object(
            'display_name', v_admin.full_name, 'title', 'Outgoing email works',
            'body', 'You asked for this email to test outgoing email. Confirm on the readiness page that it arrived.',
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
        perform private.raise_error(409, 'not_sent', 'No test email has been sent to you yet.');
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
    return '{"success": true}'::jsonb || private.audit_entries();
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
    kind text not null check (kind in ('admin_account', 'admin_address', 'admin_code', 'admin_known', 'member_account')),
    key text not null check (length(key) <= 255),
    at timestamptz not null default now()
);
comment on table private.sign_in_failures is
'Failed sign-ins per account and per address; those from an address that is known for the account, and wrong codes after a full count, apart. A success deletes those that it was counted with.';
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

create function private.operator_limit(p_name text, p_default integer) returns integer
language sql stable set search_path = '' as $$
    select coalesce(nullif(pg_catalog.current_setting('app.settings.' || p_name, true), '')::integer, p_default)
$$;
comment on function private.operator_limit(text, integer) is
'A limit that the operator may have raised: PostgREST hands it on with each request (app.settings). Clients cannot set it.';

create function edge.consume_rate_limit(p_bucket text, p_key text, p_max integer, p_window interval) returns boolean
language sql volatile security definer set search_path = '' as $$
    select private.consume_rate_limit(p_bucket, p_key, p_max, p_window)
$$;
comment on function edge.consume_rate_limit(text, text, integer, interval) is 'private.consume_rate_limit() for functions/edge.';
grant execute on function edge.consume_rate_limit(text, text, integer, interval) to edge_functions;

-- Administrators have accounts separate from members. A session token names a row and is no credential: the signed
-- access token is valid only while the row exists. public.admin_sessions has exactly the three columns that the panel
-- reads; everything else about a session is private.
--
-- PostgREST verifies members' and administrators' tokens with one set of keys and does not say which key signed. So an
-- administrator's token also holds a secret of its own (`jti`), which functions/edge draws at the sign-in and sends here
-- as a hash. Who has the members' key, the rows of this database, or a login that may become platform_admin still lacks
-- the secret, and neither a token nor claims made without it are a session.

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
    user_agent text,
    jti_hash bytea not null constraint jti_hash_is_sha256 check (length(jti_hash) = 32)
);
comment on table private.admin_session_activity is 'Start and last use of an administrator session; it ends after 30 idle minutes.';
alter table private.admin_session_activity enable row level security;

create table private.known_admin_addresses (
    admin_id uuid not null references private.admin_users (id) on delete cascade,
    address_hash text not null,
    seen_at timestamptz not null,
    primary key (admin_id, address_hash)
);
comment on table private.known_admin_addresses is 'From where an administrator signed in, as hashes; for 90 days.';
alter table private.known_admin_addresses enable row level security;
-- The purge.
create index known_admin_addresses_seen_at_idx on private.known_admin_addresses (seen_at);

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

create function private.is_live_admin_session(p_claims jsonb) returns boolean
language plpgsql stable set search_path = '' as $$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    -- Once, and not for each row and condition.
    v_session_token uuid := private.uuid_claim(p_claims, 'sid');
    v_admin_id uuid := private.uuid_claim(p_claims, 'sub');
begin
    return exists (
        select 1
        from public.admin_sessions as s
        inner join private.admin_users as u on u.id = s.admin_id and u.is_active
        inner join private.admin_session_activity as a on a.session_token = s.session_token
        where s.session_token = v_session_token and s.admin_id = v_admin_id
            and a.jti_hash = pg_catalog.sha256(pg_catalog.convert_to(p_claims ->> 'jti', 'UTF8'))
            and s.expires_at > v_now and a.started_at > v_now - interval '8 hours' and a.last_seen_at > v_now - interval '30 minutes'
    );
end
$$;
comment on function private.is_live_admin_session(jsonb) is
'Whether these claims are of an active administrator''s live session: its secret, at most 30 idle minutes and 8 hours.';

create function private.require_admin(p_roles public.admin_role[] default null) returns private.admin_users
language plpgsql stable set search_path = '' as $$
declare
    v_admin private.admin_users;
begin
    if private.my_role() is distinct from 'platform_admin' then
        perform private.raise_error(403, 'forbidden', 'Only administrators can do this.');
    end if;
    -- The session itself, not only the role: whoever may take the role could write any claims.
    select * into v_admin from private.admin_users as a where a.id = auth.uid() and private.is_live_admin_session(auth.jwt());
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
'The calling administrator in a live session, read from the tables; with p_roles, only those roles. Errors: forbidden, session_ended, two_step_required.';

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

-- One client holds a whole /64 of IPv6.
create function private.network_of(p_address text) returns text
language sql immutable set search_path = '' as $$
    select case
        when p_address not like '%:%' or p_address::inet operator(pg_catalog.<<=) inet '::ffff:0:0/96' then pg_catalog.left(p_address, 255)
        else pg_catalog.network(pg_catalog.set_masklen(p_address::inet, 64))::text
    end
$$;
comment on function private.network_of(text) is 'What failures of a client address are counted by.';

create function private.admin_address_hash(p_admin_id uuid, p_address text) returns text
language sql immutable set search_path = '' as $$
    select pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(p_admin_id || ' ' || private.network_of(p_address), 'utf8')), 'hex')
$$;
comment on function private.admin_address_hash(uuid, text) is 'What stands for an administrator''s sign-ins from a network.';

create function private.known_admin_address(p_email text, p_address text) returns text
language sql stable set search_path = '' as $$
    select k.address_hash
    from private.admin_users as a
    inner join private.known_admin_addresses as k on k.admin_id = a.id
    where a.email = pg_catalog.lower(p_email) and k.address_hash = private.admin_address_hash(a.id, p_address)
        and k.seen_at > pg_catalog.clock_timestamp() - interval '90 days'
$$;
comment on function private.known_admin_address(text, text) is
'The hash of an address that signed in to this account in the last 90 days; null for any other.';

create function private.count_sign_in_failures(p_kind text, p_key text) returns bigint
language sql stable set search_path = '' as $$
    select count(*) from private.sign_in_failures as f
    where f.kind = p_kind and f.key = p_key and f.at > pg_catalog.clock_timestamp() - interval '15 minutes'
$$;
comment on function private.count_sign_in_failures(text, text) is 'Failures of an account, or of an address, in the last 15 minutes.';

-- Guessing slows the client that guesses, not the owner: an address that signed in to the account before has a count
-- of its own, and beyond the count that all others share the password passes together with a code. Wrong codes with
-- the right password have a count too, which nobody fills who has not the password.
create function edge.admin_sign_in_way(p_email text, p_address text) returns text
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_account text := pg_catalog.left(pg_catalog.lower(p_email), 255);
    v_known text := private.known_admin_address(p_email, p_address);
begin
    if v_known is not null then
        return case when private.count_sign_in_failures('admin_known', v_known) < 10 then 'password' else 'closed' end;
    elsif private.count_sign_in_failures('admin_address', private.network_of(p_address)) >= 20 then
        return 'closed';
    elsif private.count_sign_in_failures('admin_account', v_account) < 10 then
        return 'password';
    elsif private.count_sign_in_failures('admin_code', v_account) < 10 then
        return 'second_factor';
    end if;
    return 'closed';
end
$$;
comment on function edge.admin_sign_in_way(text, text) is
'How this address may sign in to this account now: by password, only by password and second_factor at once, or not at all (closed).';
grant execute on function edge.admin_sign_in_way(text, text) to edge_functions;

-- Record a failure in the transaction that verifies the password, never before: if the database fails in between, no
-- unverified failure remains, and a success need not delete a failure of its own, which could delete another
-- client's.
create function edge.record_admin_sign_in(p_email text, p_address text, p_ok boolean, p_user_agent text default null) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_account text := pg_catalog.left(pg_catalog.lower(p_email), 255);
    v_known text := private.known_admin_address(p_email, p_address);
    v_admin_id uuid;
begin
    if not p_ok then
        insert into private.sign_in_failures (kind, key, at)
        select f.kind, f.key, pg_catalog.clock_timestamp()
        from (
            values
            ('admin_address', private.network_of(p_address)),
            (case when v_known is null then 'admin_account' else 'admin_known' end, coalesce(v_known, v_account))
        ) as f (kind, key)
        -- A full count ends 15 minutes after what filled it, whatever else is tried.
        where f.kind = 'admin_address' or private.count_sign_in_failures(f.kind, f.key) < 10;
        return;
    end if;
    delete from private.sign_in_failures as f
    where (v_known is null and f.kind in ('admin_account', 'admin_code') and f.key = v_account) or (f.kind = 'admin_known' and f.key = v_known);
    update private.admin_users as a set last_login = pg_catalog.clock_timestamp()
    where a.email = pg_catalog.lower(p_email) returning a.id into v_admin_id;
    perform private.audit(
        'admin:' || v_admin_id, 'admin.signed_in', 'admin_user', v_admin_id,
        pg_catalog.jsonb_build_object('address', p_address, 'user_agent', pg_catalog.left(p_user_agent, 400))
    );
end
$$;
comment on function edge.record_admin_sign_in(text, text, boolean, text) is
'Records a login attempt: a failure counts against address and account; a success deletes the account''s failures, of a known address those that it made, and writes an audit row with address and device.';
grant execute on function edge.record_admin_sign_in(text, text, boolean, text) to edge_functions;

create function edge.record_wrong_admin_code(p_email text, p_address text) returns void
language sql volatile security definer set search_path = '' as $$
    insert into private.sign_in_failures (kind, key, at) values
    ('admin_code', pg_catalog.left(pg_catalog.lower(p_email), 255), pg_catalog.clock_timestamp()),
    ('admin_address', private.network_of(p_address), pg_catalog.clock_timestamp())
$$;
comment on function edge.record_wrong_admin_code(text, text) is
'Records a wrong code that came with the right password when only both at once could pass.';
grant execute on function edge.record_wrong_admin_code(text, text) to edge_functions;

create function edge.start_admin_session(p_admin_id uuid, p_address text, p_user_agent text, p_jti_hash bytea)
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
$$;
comment on function edge.start_admin_session(uuid, text, text, bytea) is
'Starts an 8-hour session for an active administrator, whose address is known from then on; p_jti_hash is the SHA-256 of the secret in its token. Errors: invalid_credentials.';
grant execute on function edge.start_admin_session(uuid, text, text, bytea) to edge_functions;

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
        'sessions', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'started_at', a.started_at, 'last_seen_at', a.last_seen_at, 'address', a.address, 'user_agent', a.user_agent,
                        'is_current', s.session_token is not distinct from private.uuid_claim(auth.jwt(), 'sid')
                    ) order by a.last_seen_at desc, s.session_token
                ), '[]'
            )
            from public.admin_sessions as s
            inner join private.admin_session_activity as a on a.session_token = s.session_token
            where s.admin_id = (p_admin).id and s.expires_at > pg_catalog.now()
        )
    )
$$;
comment on function private.administrator_item(private.admin_users) is
'An administrator account as JSON, with its open sessions, without hash and secret.';

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
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_after)) || private.audit_entries();
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

create function public.end_admin_sessions(p_admin_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_caller private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_ended integer;
begin
    if not exists (select 1 from private.admin_users as a where a.id = p_admin_id) then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    delete from public.admin_sessions as s
    where s.admin_id = p_admin_id and s.session_token is distinct from private.uuid_claim(auth.jwt(), 'sid');
    get diagnostics v_ended = row_count;
    perform private.audit('admin:' || v_caller.id, 'admin.sessions_ended', 'admin_user', p_admin_id, pg_catalog.jsonb_build_object('sessions', v_ended));
    return pg_catalog.jsonb_build_object('success', true, 'sessions', v_ended);
end
$$;
comment on function public.end_admin_sessions(uuid) is
'Ends an administrator''s sessions, of the caller''s own all but the present one; returns how many. Super admin. Errors: forbidden, session_ended, two_step_required, not_found.';
grant execute on function public.end_admin_sessions(uuid) to platform_admin;

create function private.create_administrator(p_email text, p_full_name text, p_role public.admin_role, p_password_hash text) returns uuid
language plpgsql volatile set search_path = '' as $$
declare
    v_id uuid;
begin
    insert into private.admin_users (email, full_name, role, password_hash)
    values (pg_catalog.lower(p_email), p_full_name, p_role, p_password_hash)
    returning id into v_id;
    perform private.audit('system', 'admin.created', 'admin_user', v_id, pg_catalog.jsonb_build_object('role', p_role, 'is_active', true));
    return v_id;
end
$$;
comment on function private.create_administrator(text, text, public.admin_role, text) is
'Creates an administrator without one: the first, and those of the sample data. p_password_hash is Argon2id.';

-- On the machine itself, where nobody else can help: what the panel's two functions above and below do for another one.
create function private.recover_administrator(p_email text, p_new_email text, p_hash text, p_reason text) returns uuid
language plpgsql volatile set search_path = '' as $$
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
    return v_admin.id;
end
$$;
comment on function private.recover_administrator(text, text, text, text) is
'Gives an active administrator another password (p_hash, Argon2id) and, unless p_new_email is empty, another email; removes two-step sign-in and ends the sessions. Only on the machine, as owner. Errors: reason_required, not_found, invalid_state, email_taken.';

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
        perform private.raise_error(409, 'email_taken', 'There is already an administrator with this email.');
    end if;
    perform private.audit('admin:' || v_caller.id, 'admin.created', 'admin_user', v_admin.id, pg_catalog.jsonb_build_object('role', p_role, 'is_active', true));
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_admin)) || private.audit_entries();
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

-- The audit log: actions of administrators, members and the system, and what each said at the time. An entry is written
-- in the transaction of what it records and takes no lock: its hash covers it alone. The worker links committed entries
-- to a hash chain, each link covering the link before it and its entry, within two seconds. So neither entry nor order
-- can change, and a response or a log line that names an entry by its hash proves it for ever. Insert only through
-- private.audit(). Entries and links are never updated, deleted or truncated, not even by the owner.

create table private.audit_log (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    actor text not null check (actor ~ '\A(admin|member|system|service)(:[0-9a-f-]{36})?\Z'),
    action text not null check (action ~ '\A[a-z][a-z0-9_.]{1,62}\Z'),
    object_type text,
    object_id uuid,
    payload jsonb not null default '{}',
    hash bytea not null
);
comment on table private.audit_log is 'Audited actions. Append-only; linked by private.audit_chain.';
comment on column private.audit_log.id is 'The order of writing; commits may come in another.';
comment on column private.audit_log.hash is 'Of everything else in the row.';
alter table private.audit_log enable row level security;
create index audit_log_object_idx on private.audit_log (object_id, id desc) where object_id is not null;
create index audit_log_actor_idx on private.audit_log (actor, id desc);
create index audit_log_at_idx on private.audit_log (at);
-- Collate "C" (bytes): a group of actions is then one range of the index.
create index audit_log_action_idx on private.audit_log (action collate "C", id desc);
create index audit_log_settings_idx on private.audit_log (id) where action = 'setting.changed';
comment on index private.audit_log_settings_idx is 'Finds the last change of a setting, queried every minute.';

create table private.audit_chain (
    seq bigint primary key,
    entry_id bigint not null references private.audit_log (id) on delete restrict,
    hash bytea not null,
    constraint audit_chain_entry_key unique (entry_id)
);
comment on table private.audit_chain is 'The hash chain of the audit log, in the order in which the entries were found committed. Append-only.';
comment on column private.audit_chain.hash is 'Of the link before it, its number and its entry.';
alter table private.audit_chain enable row level security;

create table private.audit_state (
    only_row boolean primary key default true check (only_row),
    final_id bigint not null default 0,
    seen_id bigint not null default 0,
    seen_until xid8,
    earlier_id bigint not null default 0
);
comment on table private.audit_state is 'How far the audit log is linked.';
comment on column private.audit_state.final_id is 'Every entry before this id that will ever be there is linked.';
comment on column private.audit_state.seen_id is 'The last id drawn when the linker looked; it becomes final_id when every transaction before seen_until has ended.';
comment on column private.audit_state.earlier_id is
'Entries up to this one are from before entries said all that the ledger checks compare; what they say must hold, and backfilled ones are among them.';
alter table private.audit_state enable row level security;

insert into private.audit_state default values;

-- Without a search_path both hashes are inlined: a check of the chain computes millions.
create function private.entry_hash(p_entry private.audit_log) returns bytea
language sql stable as $$
    select pg_catalog.sha256(pg_catalog.convert_to(
        pg_catalog.concat_ws(
            '|', (p_entry).id, extract(epoch from (p_entry).at), (p_entry).actor, (p_entry).action,
            coalesce((p_entry).object_type, ''), coalesce((p_entry).object_id::text, ''), (p_entry).payload::text
        ), 'UTF8'
    ))
$$;
comment on function private.entry_hash(private.audit_log) is 'Hash of an entry: covers every other column.';

create function private.link_hash(p_prev bytea, p_seq bigint, p_entry private.audit_log) returns bytea
language sql stable as $$
    select pg_catalog.sha256(
        coalesce(p_prev, ''::bytea) || pg_catalog.convert_to(
            pg_catalog.concat_ws(
                -- An id that is the number is left out: links from before entries had ids are still what they were.
                '|', p_seq, nullif((p_entry).id, p_seq), extract(epoch from (p_entry).at), (p_entry).actor, (p_entry).action,
                coalesce((p_entry).object_type, ''), coalesce((p_entry).object_id::text, ''), (p_entry).payload::text
            ), 'UTF8'
        )
    )
$$;
comment on function private.link_hash(bytea, bigint, private.audit_log) is
'Hash of a link: covers the hash of the link before it, its number and every column of its entry.';

create function private.audit_log_set_hash() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    new.hash := private.entry_hash(new);
    return new;
end
$$;
comment on function private.audit_log_set_hash() is 'Trigger: sets the hash of a new entry.';

create trigger _100_set_hash before insert on private.audit_log for each row execute function private.audit_log_set_hash();
create trigger _100_reject_change before update on private.audit_log for each row execute function private.reject_change();
create trigger _100_reject_delete before delete or truncate on private.audit_log
for each statement execute function private.reject_change();
create trigger _100_reject_change before update or delete or truncate on private.audit_chain
for each statement execute function private.reject_change();

-- Store the administrator's role and the request id in the payload, which the hash covers, because roles change:
-- `actor_role` is the role at the time, `request_id` the x-request-id under which the services logged the request.
create function private.audit(
    p_actor text, p_action text, p_object_type text, p_object_id uuid, p_payload jsonb default '{}', p_at timestamptz default null
) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_id bigint;
    v_hash bytea;
begin
    -- Before the id is drawn, so that who has drawn one is a transaction that others see running: by these the linker
    -- knows which entries may still come.
    perform pg_catalog.pg_current_xact_id();
    insert into private.audit_log (at, actor, action, object_type, object_id, payload)
    values (
        coalesce(p_at, private.clock()), p_actor, p_action, p_object_type, p_object_id,
        coalesce(p_payload, '{}') || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
            'actor_role', case
                when pg_catalog.starts_with(p_actor, 'admin:')
                    then (select a.role from private.admin_users as a where a.id = pg_catalog.substr(p_actor, 7)::uuid)
            end,
            -- Truncate what a client may choose to the length that the services accept.
            'request_id', pg_catalog.left(nullif(pg_catalog.current_setting('request.headers', true), '')::jsonb ->> 'x-request-id', 64)
        ))
    )
    returning id, hash into v_id, v_hash;
    if pg_catalog.starts_with(p_actor, 'admin:') then
        perform pg_catalog.set_config(
            'app.audit_entries', pg_catalog.concat_ws(
                ' ', nullif(pg_catalog.current_setting('app.audit_entries', true), ''), v_id || ':' || pg_catalog.encode(v_hash, 'hex')
            ), true
        );
    end if;
end
$$;
comment on function private.audit(text, text, text, uuid, jsonb, timestamptz) is
'Writes one entry, with the administrator''s role and the request id; p_at is the time of what it records, now by default. Takes no lock.';

-- plpgsql, because it runs with every decision: an SQL function with a fixed search_path is parsed and planned each time.
create function private.audit_entries() returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object('audit_entries', coalesce(pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object('id', pg_catalog.split_part(e.entry, ':', 1)::bigint, 'hash', pg_catalog.split_part(e.entry, ':', 2))
        ), '[]'))
        from pg_catalog.string_to_table(nullif(pg_catalog.current_setting('app.audit_entries', true), ''), ' ') as e (entry)
    );
end
$$;
comment on function private.audit_entries() is
'{audit_entries: [{id, hash}]}: what an administrator''s transaction wrote, for its response. Whoever keeps that proves the entry.';

-- The chain.

create function private.lock_audit_log() returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('audit_log'));
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_audit_log() is 'Takes the audit lock: one linker at a time. Nobody else takes it. Errors: try_again.';

create view private.unlinked_entries as
select
    l.id,
    l.at,
    l.actor,
    l.action,
    l.object_type,
    l.object_id,
    l.payload,
    l.hash
from private.audit_log as l
cross join private.audit_state as s
where
    l.id >= s.final_id
    and not exists (
        select 1 from private.audit_chain as c
        where c.entry_id = l.id
    );
comment on view private.unlinked_entries is 'Committed entries that are not linked yet.';

create function private.link_entries() returns integer
language plpgsql volatile set search_path = '' as $$
declare
    v_seen_id bigint;
    v_snapshot pg_snapshot;
    v_last private.audit_chain;
    v_entry private.audit_log;
    v_linked integer := 0;
begin
    perform private.lock_audit_log();
    -- Before the snapshot and before a transaction id of one's own: whoever drew an id so far has an earlier one.
    select q.last_value into v_seen_id from private.audit_log_id_seq as q;
    select pg_catalog.pg_current_snapshot() into v_snapshot;
    select * into v_last from private.audit_chain as c order by c.seq desc limit 1;
    for v_entry in select u.* from private.unlinked_entries as u order by u.id loop
        v_last.seq := coalesce(v_last.seq, 0) + 1;
        v_last.hash := private.link_hash(v_last.hash, v_last.seq, v_entry);
        insert into private.audit_chain (seq, entry_id, hash) values (v_last.seq, v_entry.id, v_last.hash);
        v_linked := v_linked + 1;
    end loop;
    update private.audit_state as s set
        final_id = case when s.seen_until <= pg_catalog.pg_snapshot_xmin(v_snapshot) then s.seen_id else s.final_id end,
        seen_id = v_seen_id,
        seen_until = pg_catalog.pg_current_xact_id()
    where s.final_id <> v_seen_id and (
        s.seen_until is null or s.seen_until <= pg_catalog.pg_snapshot_xmin(v_snapshot)
        -- Of the server that a backup was made on.
        or s.seen_until > pg_catalog.pg_snapshot_xmax(v_snapshot)
    );
    return v_linked;
end
$$;
comment on function private.link_entries() is
'Links what is committed and not linked yet, in the order of writing; returns how many. Errors: try_again.';

create function jobs.link_audit_entries() returns jsonb
language plpgsql volatile security definer set search_path = ''
-- So that the alarm is raised whoever holds the lock.
set lock_timeout = '3s' as $$
declare
    v_result jsonb := '{}'::jsonb;
    v_late private.audit_log;
begin
    begin
        if private.link_entries() > 0 then
            v_result := pg_catalog.jsonb_build_object('audit_head', jobs.audit_head());
        end if;
    -- Whatever it is, entries stay unlinked, and the alarm says so.
    exception when others then
        v_result := pg_catalog.jsonb_build_object('error', sqlstate);
    end;
    -- What is unlinked although linking went well was committed just now, however long ago it was written.
    if v_result ? 'error' then
        select u.* into v_late from private.unlinked_entries as u
        where u.at < pg_catalog.clock_timestamp() - interval '10 seconds' order by u.id limit 1;
    end if;
    if v_late.id is not null then
        perform private.raise_alarm('audit_entry', 'not linked', null, pg_catalog.jsonb_build_object('entry', v_late.id, 'since', v_late.at));
    else
        perform private.end_alarm('audit_entry', 'not linked');
    end if;
    return v_result;
end
$$;
comment on function jobs.link_audit_entries() is
'Links new entries; raises the alarm audit_entry while one is unlinked for more than 10 seconds. Returns {}, {audit_head} when it linked any, or {error: SQLSTATE}.';
grant execute on function jobs.link_audit_entries() to worker;

-- Detect a truncated chain: whoever bypasses the triggers can delete the newest entries with their links and leave a
-- valid chain. So the worker stores the chain head outside the database every hour (functions/worker/audit_heads.py)
-- and passes its last external anchor here; that link must still exist. The anchor is stored, so that every ledger
-- check verifies it. In between, logs and responses tell: `make audit-log-check`.
create function private.verify_audit_chain(p_after bigint default null, p_until bigint default null) returns setof text
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    select coalesce(a.seq::text, 'entry ' || a.id)
    from (
        select
            c.seq,
            l.id,
            (l.entry).hash is distinct from private.entry_hash(l.entry) as wrong_entry,
            c.hash is distinct from private.link_hash(b.hash, c.seq, l.entry) as wrong_link,
            b.seq as seq_before,
            s.final_id
        from (
            select e.id, e as entry from private.audit_log as e
            where p_until is null or (e.id > p_after and e.id <= p_until)
        ) as l
        full join (
            select * from private.audit_chain as k
            where p_until is null or (k.entry_id > p_after and k.entry_id <= p_until)
        ) as c on l.id = c.entry_id
        left join private.audit_chain as b on c.seq - 1 = b.seq
        cross join private.audit_state as s
    ) as a
    where a.id is null or a.wrong_entry
        or (a.seq is not null and (a.wrong_link or a.seq <> coalesce(a.seq_before, 0) + 1))
        or (a.seq is null and a.id < a.final_id)
    union
    select s.anchored_seq::text
    from private.ledger_check_state as s
    left join private.audit_chain as c on s.anchored_seq = c.seq and s.anchored_hash = c.hash
    where s.anchored_seq is not null and c.seq is null;
end
$$;
comment on function private.verify_audit_chain(bigint, bigint) is
'Of the entries after one id up to another (null: of all), the numbers of their links at which the chain is broken, and those that were changed or have lost their link; and the number of the externally anchored link when it is missing or different. None when the chain is intact. What is not linked yet is no error.';

create function jobs.audit_head() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object('seq', c.seq, 'hash', pg_catalog.encode(c.hash, 'hex'))
        from private.audit_chain as c order by c.seq desc limit 1
    );
end
$$;
comment on function jobs.audit_head() is 'Number and hash of the newest link; null when there is none.';
grant execute on function jobs.audit_head() to worker;

create function jobs.check_audit_anchor(p_seq bigint, p_hash text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
begin
    update private.ledger_check_state as s set anchored_seq = p_seq, anchored_hash = pg_catalog.decode(p_hash, 'hex');
    if p_seq is null or exists (
        select 1 from private.audit_chain as c where c.seq = p_seq and c.hash = pg_catalog.decode(p_hash, 'hex')
    ) then
        return '{}'::jsonb;
    end if;
    return pg_catalog.jsonb_build_object('audit_row', p_seq);
end
$$;
comment on function jobs.check_audit_anchor(bigint, text) is
'Stores the worker''s last external anchor (null for none) for the ledger check. Returns {}, or the number of the anchored link when it is missing or different.';
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

-- What is typed is the beginning of an id or of a username, or the number of an entry. It never is an error: the next
-- character may make something of it.
create function private.audit_matches(p_search text) returns bigint[]
language plpgsql stable set search_path = '' as $$
declare
    v_search text := pg_catalog.lower(pg_catalog.btrim(p_search));
    v_range record := private.id_range(p_search);
    -- Cast here and not in the query, where a condition before it promises nothing.
    v_number bigint := case when v_search ~ '\A[0-9]{1,18}\Z' then v_search::bigint end;
    v_pattern text := pg_catalog.regexp_replace(pg_catalog.left(v_search, 200), '([\\%_])', '\\\1', 'g') || '%';
    v_members uuid[];
    v_users uuid[];
begin
    select pg_catalog.array_agg(m.id), pg_catalog.array_agg(m.user_id) into v_members, v_users
    from (
        select p.id, p.user_id from private.profiles as p
        where private.member_search_text(p.username, p.display_name, p.email) like '%' || v_pattern and pg_catalog.lower(p.username) like v_pattern
        limit 100
    ) as m;
    return array(
        select f.id
        from (
            (
                select a.id from private.audit_log as a
                where a.object_id between v_range.first and v_range.last
                order by a.id desc
                limit 10001
            )
            union
            (
                select a.id from private.audit_log as a
                where a.object_id = any(
                    v_members || v_users
                    || array(select d.id from public.deposits as d where d.user_id = any(v_users))
                    || array(select w.id from public.withdrawals as w where w.user_id = any(v_users))
                    || array(select c.id from private.corrections as c where c.user_id = any(v_users))
                    || array(select s.id from public.bot_subscriptions as s where s.user_id = any(v_users))
                )
                order by a.id desc
                limit 10001
            )
            union
            (
                select a.id from private.audit_log as a
                where a.actor = any(array(select 'member:' || u.id from pg_catalog.unnest(v_users) as u (id)))
                order by a.id desc
                limit 10001
            )
            union
            select a.id from private.audit_log as a where a.id = v_number
        ) as f
        order by f.id desc
        limit 10001
    );
end
$$;
comment on function private.audit_matches(text) is
'Ids of the newest entries, 10,001 at most, of what is searched: the beginning of an id (four digits or more), an entry''s number, or a username, of at most 100 members.';

-- Each filter is an index range; combined with the order they stay selective.
create function private.audit_conditions(p_actor text, p_action text, p_object uuid, p_from date, p_to date, p_searched boolean) returns text
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.concat(
        ' and a.actor = ' || pg_catalog.quote_literal(p_actor),
        case when p_action is not null then pg_catalog.format(
            -- An index range that contains the action and, for the part before a dot, all actions of that group.
            ' and a.action collate "C" between %1$L and %2$L and (a.action = %1$L or pg_catalog.starts_with(a.action, %3$L))',
            p_action, p_action || '/', p_action || '.'
        ) end,
        ' and a.object_id = ' || pg_catalog.quote_literal(p_object),
        ' and a.at >= ' || pg_catalog.quote_literal(p_from::timestamp at time zone 'UTC'),
        ' and a.at < ' || pg_catalog.quote_literal((p_to + 1)::timestamp at time zone 'UTC'),
        case when p_searched then ' and a.id = any($3)' end
    );
end
$$;
comment on function private.audit_conditions(text, text, uuid, date, date, boolean) is
'The conditions on rows of the audit log, as SQL; a null asks for all. Days are UTC, both included. $3 is what a search found.';

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
$$;
comment on function public.list_audit(jsonb) is
'The audit log, newest first; seq is the entry''s id; filters page, pageSize, adminId, action (also the part before a dot), objectId, from and to (days of UTC, both included), search (the beginning of an id or a username, or seq). Support administrators read their own rows. Errors: forbidden, session_ended.';
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
-- in the outbox is updated when it is sent, so there it is 200. The trigram indexes have a small pending list: a
-- sign-up or a request pays for flushing it, and a search reads it.

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
    -- Room on each page: an approval changes cash-in, package and account_verified, which no index contains, so the row
    -- stays where it is and none of the indexes is written.
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, fillfactor = 85
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
-- Member search. No decision changes these texts.
create index profiles_search_idx on private.profiles
using gin (private.member_search_text(username, display_name, email) extensions.gin_trgm_ops) with (gin_pending_list_limit = 256);
create index profiles_blocked_idx on private.profiles (account_status, created_at, id) where account_status <> 'active';
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
    no integer generated always as identity,
    user_id uuid not null unique references private.profiles (user_id) on delete restrict,
    referrer_no integer references private.positions (no) on delete restrict,
    child_no integer check (child_no > 0),
    pair_no integer generated always as ((child_no + 1) / 2) stored,
    is_left boolean generated always as (child_no % 2 = 1) stored,
    package_cents integer not null default 0 check (package_cents >= 0),
    paid_cents integer not null default 0 check (paid_cents in (0, package_cents)),
    children integer not null default 0 check (children >= 0),
    paid_order bigint,
    joined_at timestamptz not null,
    -- A computation of all bonuses reads pair owners in this order and needs only their referrer and package: with both
    -- included it is a merge of three indexes without the table, in half the time.
    constraint positions_pkey primary key (no) include (referrer_no, package_cents, paid_cents),
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
'Number of the decision that funded the member, the last one after a correction; null while unfunded. Of a pair, the later one completed it. No index: an upgrade would write a page of it for a number that stays.';
comment on column private.positions.joined_at is 'The profile''s created_at, for lists of members by package.';
comment on column private.positions.children is
'Number of direct referrals; the next child_no is one more, assigned under the referrer''s row lock.';
alter table private.positions enable row level security;
-- Members without a referrer.
create index positions_roots_idx on private.positions (no) where referrer_no is null;
-- Members by package, for the admin list. Here and not on private.profiles, whose row has three times as many indexes.
create index positions_package_idx on private.positions (package_cents, joined_at, no) include (user_id);
-- One left and one right child per pair, of those that pay: with a unique index the merge join need not materialise
-- rows.
create unique index positions_left_key on private.positions (referrer_no, pair_no) include (no, paid_cents)
where is_left and paid_cents > 0;
create unique index positions_right_key on private.positions (referrer_no, pair_no) include (no, paid_cents)
where not is_left and paid_cents > 0;

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
    if new.package_value < old.package_value and not private.is_being_corrected(new.user_id) and not private.is_repairing() then
        perform private.raise_error(403, 'immutable', 'You can only upgrade to a higher package. Downgrades are not allowed.');
    end if;
    return new;
end
$$;
comment on function private.profiles_immutable() is
'Trigger: identity and position never change; a package never decreases, except within a confirmed correction or a rebuild. Errors: immutable.';

create function private.profiles_create_position() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_referrer_no integer;
    v_child_no integer;
begin
    if new.referrer_id is not null then
        update private.positions as r set children = r.children + 1
        where r.user_id = (select s.user_id from private.profiles as s where s.id = new.referrer_id)
        returning r.no, r.children into v_referrer_no, v_child_no;
    end if;
    insert into private.positions (user_id, referrer_no, child_no, joined_at)
    values (new.user_id, v_referrer_no, v_child_no, new.created_at);
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
        paid_order = case when v_paid = 0 then null when p.paid_cents = 0 then private.current_decision_no() else p.paid_order end
    where p.user_id = new.user_id and (p.package_cents, p.paid_cents) is distinct from (v_package, v_paid);
    if new.package_value <> old.package_value and not private.is_repairing() then
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
    if not private.is_repairing() then
        perform private.increment_counter('verified_profiles', case when new.account_verified then 1 else -1 end);
    end if;
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
    if not private.is_repairing() then
        perform private.increment_counter(
            'shortfall',
            greatest(new.withdrawn_amount + new.reserved_amount - new.bonus_amount, 0)
            - greatest(old.withdrawn_amount + old.reserved_amount - old.bonus_amount, 0)
        );
    end if;
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
        perform private.raise_error(422, 'confirm_email_change', 'Change your email address first, then confirm it from your mailbox.');
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
    if (p_member).trc20_wallet_address <> v_wallet then
        perform private.require_recent_sign_in('change your wallet address');
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
                'Withdrawals now go to %s. You can request one now; it cannot be approved for 24 hours. If this was not you, change your password and contact support.',
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
    v_left jsonb := private.money_left(p_user_id);
begin
    if v_member.id is null or v_member.closed_at is not null then
        return;
    end if;
    -- While the address is still known.
    perform private.notify_member(
        p_user_id, 'account_closed', 'Your account was closed',
        'You can no longer sign in. Pending requests were cancelled. If this was not you, contact support.', null, null
    );
    perform private.cancel_requests(p_user_id, null, 'Account closed');
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
    perform private.audit('member:' || p_user_id, 'member.closed', 'profile', v_member.id, pg_catalog.jsonb_build_object('money_left', v_left));
end
$$;
comment on function private.close_profile(uuid) is
'Closes a member: notifies it by e-mail, clears username, e-mail and wallet, rejects pending requests with ''Account closed'', erases MT5 passwords. Position, money and bonuses stay.';

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

-- Members by package are found by their positions: what an approval changes stands in no index of private.profiles.
create function private.package_condition(p_package text) returns text
language plpgsql immutable strict set search_path = '' as $$
begin
    return pg_catalog.format(' and r.user_id in (select o.user_id from private.positions as o where o.package_cents = %s)', (p_package::numeric * 100)::bigint);
end
$$;
comment on function private.package_condition(text) is 'The condition that a member has this package (USD); null without one.';

create function private.member_conditions(p_package text, p_verified text, p_status text) returns text
language plpgsql immutable set search_path = '' as $$
begin
    if p_status not in ('active', 'pending', 'suspended', 'disabled') or p_package !~ '\A[0-9]{1,8}(\.[0-9]{1,2})?\Z'
        or p_verified not in ('true', 'false') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such filter.');
    end if;
    return pg_catalog.concat(
        ' where true',
        ' and r.account_status = ' || pg_catalog.quote_literal(p_status) || '::public.account_status',
        private.package_condition(p_package),
        case p_verified when 'true' then ' and r.account_verified' when 'false' then ' and not r.account_verified' end
    );
end
$$;
comment on function private.member_conditions(text, text, text) is
'The where clause of the filters package, verified and status. Errors: invalid_filter.';

create function public.list_members(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['created_at', 'username', 'package_value']);
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
$$;
comment on function public.list_members(jsonb) is
'Administrators: members, newest first, 25 a page. Filters: page, pageSize, search (username, name, e-mail), status, package, verified (true, false), sort (created_at, username, package_value). Errors: forbidden, session_ended, invalid_filter.';
grant execute on function public.list_members(jsonb) to platform_admin;

-- A page far down is counted along one index: a position has all that is asked, and no member is read for it.
create function private.member_ids_by_package(p_package text, p_request private.list_request, p_total bigint) returns uuid[]
language plpgsql stable set search_path = '' as $$
declare
    v_from text := 'from (select o.user_id as id, o.package_cents, o.joined_at, o.no from private.positions as o) as r'
        || coalesce(' where r.package_cents = ' || (p_package::numeric * 100)::bigint, '');
    v_up text := case when (p_request).sort_by = 'package_value' then 'r.package_cents, ' else '' end || 'r.joined_at, r.no';
    v_down text := pg_catalog.replace(v_up, ',', ' desc,') || ' desc';
begin
    return array(
        select p.id
        from pg_catalog.unnest(
            case when (p_request).descending then private.page_ids(v_from, v_down, v_up, p_request, p_total)
            else private.page_ids(v_from, v_up, v_down, p_request, p_total) end
        ) with ordinality as u (user_id, place)
        inner join private.profiles as p on u.user_id = p.user_id
        order by u.place
    );
end
$$;
comment on function private.member_ids_by_package(text, private.list_request, bigint) is
'One page of the members with a package (USD; null: of all), by package or in the order of joining.';

-- Two filters match nearly all members: active, and verified. Their totals come from counters, or are all members
-- minus the few in a partial index.
create function private.member_page(
    p_source text, p_where text, p_package text, p_order text, p_reversed text, p_request private.list_request,
    out ids uuid[], out total bigint, out more boolean
)
language plpgsql stable set search_path = '' as $$
declare
    v_by_package boolean := false;
begin
    case p_where
        when ' where true' then
            total := private.counter_value('profiles')::bigint;
            v_by_package := (p_request).sort_by = 'package_value';
        when ' where true and r.account_verified' then
            total := private.counter_value('verified_profiles')::bigint;
        when ' where true and not r.account_verified' then
            total := (private.counter_value('profiles') - private.counter_value('verified_profiles'))::bigint;
        when ' where true and r.account_status = ''active''::public.account_status' then
            total := private.counter_value('profiles')::bigint
                - (select count(*) from private.profiles as p where p.account_status <> 'active');
        when ' where true' || private.package_condition(p_package) then
            total := (select count(*) from private.positions as o where o.package_cents = (p_package::numeric * 100)::bigint);
            v_by_package := (p_request).sort_by <> 'username';
        else
            execute 'select count(*) from private.profiles as r' || p_where into total;
    end case;
    ids := case when v_by_package then private.member_ids_by_package(p_package, p_request, total)
    else private.page_ids(pg_catalog.format('from %s as r', p_source) || p_where, p_order, p_reversed, p_request, total) end;
    more := false;
end
$$;
comment on function private.member_page(text, text, text, text, text, private.list_request) is
'One page of members without a search, with the exact total. p_source and p_where are composed by list_members, p_where of private.member_conditions().';

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
    select o.children into v_children from private.positions as o where o.user_id = v_member.user_id;
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
    -- Anybody can sign up a stranger's address: no text of a member's own becomes a link in a mail to it.
    return pg_catalog.jsonb_build_object(
        'referrer_display_name', case
            when pg_catalog.normalize(v_referrer.display_name, 'NFKC') ~ '[/:@]|[[:alnum:]]\.[[:alpha:]]{2}' then v_referrer.username
            else v_referrer.display_name
        end,
        'referrer_username', v_referrer.username
    );
end
$$;
comment on function hooks.mail_data(jsonb) is
'What a mail about a sign-up says beyond its metadata: the names of the referrer, null when there is none; the username twice when the display name holds an address.';
grant execute on function hooks.mail_data(jsonb) to supabase_auth_admin;

create function private.create_profile(p_user_id uuid, p_email text, p_username text, p_display_name text, p_referrer_id uuid) returns uuid
language plpgsql volatile set search_path = '' as $$
declare
    v_id uuid := pg_catalog.gen_random_uuid();
begin
    insert into private.profiles (id, user_id, username, display_name, email, referrer_id, depth, jump)
    values (v_id, p_user_id, p_username, p_display_name, pg_catalog.lower(p_email), p_referrer_id, 0, v_id);
    -- Those of the address's other sign-ups too, which are void now.
    delete from private.username_reservations as r
    where pg_catalog.lower(r.username) = pg_catalog.lower(p_username) or r.email = pg_catalog.lower(p_email);
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
    if not private.consume_rate_limit('sponsor', private.client_address(), private.operator_limit('referrer_limit', 60), interval '5 minutes') then
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
    if not private.consume_rate_limit('username', private.client_address(), private.operator_limit('username_limit', 30), interval '5 minutes') then
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

create function private.require_recent_sign_in(p_for text) returns void
language plpgsql stable set search_path = '' as $$
begin
    if not private.signed_in_recently() then
        perform private.raise_error(403, 'reauthentication_needed', pg_catalog.format('Sign in again to %s.', p_for));
    end if;
end
$$;
comment on function private.require_recent_sign_in(text) is
'Raises unless private.signed_in_recently(). Errors: reauthentication_needed.';

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
        -- Those of the address's sign-ups, which are void now.
        delete from private.username_reservations as r where r.email = v_member.email;
        perform private.place_withdrawal_hold(new.id, 'email');
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
                    'id', o.id, 'user_agent', o.user_agent, 'created_at', o.created_at, 'last_used_at', o.last_used_at, 'is_current', o.is_current
                ) order by o.is_current desc, o.last_used_at desc, o.id
            ), '[]'
        )
        from (
            select
                s.id, s.user_agent, s.created_at, s.id = v_current as is_current,
                -- Stored in UTC, without saying so.
                greatest(s.created_at, s.refreshed_at at time zone 'UTC') as last_used_at
            from auth.sessions as s
            where s.user_id = v_user_id and (s.not_after is null or s.not_after > pg_catalog.clock_timestamp())
            order by is_current desc, last_used_at desc, s.id
            limit 50
        ) as o
    );
end
$$;
comment on function public.get_my_sessions() is
'The caller''s sessions, the current one first, then the 50 used last: device as the browser names itself, sign-in, last refresh.';
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
    if v_role = 'service_role' then
        return;
    end if;
    perform private.require_exact_count();
    if v_role = 'anon' then
        perform private.check_anonymous_request(pg_catalog.current_setting('request.path', true));
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
'Raises for what anonymous clients may not call (401 42501), ended sessions (401 session_ended), blocked members (403 account_suspended, account_disabled), a missing second factor (403 aal2_required), tokens without audience (401 invalid_token) and the planner''s counts (400 invalid_input). A blocked member may still call rpc/get_my_account_status.';
grant execute on function pre_request.check_request() to anon, authenticated, platform_admin, service_role;

-- Grants are checked only after a statement is planned, and that can take seconds. The gateway rejects what has no
-- token or the public key; this is for any other token of role anon. Storage asks with paths of its own.
create function private.check_anonymous_request(p_path text) returns void
language plpgsql stable set search_path = '' as $$
begin
    if session_user = 'authenticator' and not exists (
        select from pg_catalog.pg_proc as p
        where p.pronamespace = 'public'::regnamespace and '/rpc/' || p.proname = p_path
            and pg_catalog.has_function_privilege('anon', p.oid, 'execute')
    ) then
        perform private.raise_error(401, '42501', 'permission denied for ' || coalesce(
            'function ' || pg_catalog.substring(p_path, '\A/rpc/(.*)\Z'), 'table ' || pg_catalog.ltrim(p_path, '/')
        ));
    end if;
end
$$;
comment on function private.check_anonymous_request(text) is
'The pre-request check of anonymous clients: only functions that anon may execute. Errors: 42501.';

-- The planner counts the rows of everybody: its estimate with a filter on somebody else is what row-level security hides.
create function private.require_exact_count() returns void
language plpgsql stable set search_path = '' as $$
begin
    if nullif(pg_catalog.current_setting('request.headers', true), '')::jsonb ->> 'prefer' ~* 'count\s*=\s*"?(planned|estimated)' then
        perform private.raise_error(400, 'invalid_input', 'Rows are counted exactly here: ask for count=exact.');
    end if;
end
$$;
comment on function private.require_exact_count() is 'Raises when a person asks for the planner''s count. Errors: invalid_input.';

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
    v_now timestamptz := pg_catalog.clock_timestamp();
begin
    if not private.is_live_admin_session(p_claims) then
        perform private.raise_error(401, 'session_ended', 'Your session has ended. Sign in again.');
    end if;
    -- A read-only transaction cannot update it, and of two concurrent requests one is enough.
    if pg_catalog.current_setting('transaction_read_only') = 'off' then
        update private.admin_session_activity as a set last_seen_at = v_now
        where a.session_token = (
            select b.session_token from private.admin_session_activity as b
            where b.session_token = private.uuid_claim(p_claims, 'sid') and b.last_seen_at < v_now - interval '1 minute'
            for update skip locked
        );
    end if;
end
$$;
comment on function private.check_administrator_session(jsonb) is
'The pre-request check of administrators: active account, live session, at most 30 idle minutes and 8 hours. Errors: session_ended.';

create function pre_request.check_account(p_user_id uuid) returns void
language plpgsql stable security definer set search_path = '' as $$
declare
    v_status public.account_status;
begin
    select p.account_status into v_status from private.profiles as p where p.user_id = p_user_id;
    if v_status is null or v_status in ('suspended', 'disabled') then
        perform private.require_active_status(coalesce(v_status, 'disabled'));
    end if;
end
$$;
comment on function pre_request.check_account(uuid) is
'Asked by storage when a member''s signed URL is used: raises when the account is suspended, closed or deleted. Errors: account_suspended, account_disabled.';
grant execute on function pre_request.check_account(uuid) to service_role;

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
    id uuid primary key default private.time_ordered_id(),
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
-- Also counts what is unread: an index of its own would be written in a random place by each decision.
create index notifications_user_idx on public.notifications (user_id, created_at desc, id desc) include (read_at);

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

create function private.notify_member(
    p_user_id uuid, p_kind text, p_title text, p_body text, p_amount numeric, p_link text, p_at timestamptz default null
) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_member record;
    v_at timestamptz := coalesce(p_at, private.clock());
begin
    select p.username, p.display_name, p.email, t.topic, coalesce(c.wanted, t.wanted_at_first, true) as wants_mail into v_member
    from private.profiles as p
    left join private.mail_topics as t on p_kind ~ t.kind_pattern
    left join private.mail_choices as c on p.user_id = c.user_id and t.topic = c.topic
    where p.user_id = p_user_id;
    insert into public.notifications (user_id, kind, title, body, amount, link, created_at)
    values (p_user_id, p_kind, p_title, p_body, p_amount, p_link, v_at);
    if v_member.email ~ '\A[^\s@]+@[^\s@]+\Z' and v_member.wants_mail then
        insert into private.outbox (template, recipient, data, created_at)
        values (
            p_kind, v_member.email, pg_catalog.jsonb_build_object(
                'username', v_member.username, 'display_name', v_member.display_name, 'title', p_title, 'body', p_body,
                'amount', private.money(p_amount), 'link', p_link, 'topic', v_member.topic
            ), v_at
        );
    end if;
end
$$;
comment on function private.notify_member(uuid, text, text, text, numeric, text, timestamptz) is
'Notifies a member in the app and, where the member wants it, by e-mail, when the transaction commits; dated now, or when what it reports happened.';

create function private.notify_administrators(p_kind text, p_title text, p_body text, p_link text) returns void
language sql volatile set search_path = '' as $$
    insert into private.admin_notices (kind, title, body, link, created_at) values (p_kind, p_title, p_body, p_link, private.clock())
$$;
comment on function private.notify_administrators(text, text, text, text) is
'Adds a notice to the admin panel, when the transaction commits.';

create function private.unread_notifications(p_user_id uuid) returns bigint
language sql stable set search_path = '' as $$
    select count(*)
    from (
        select n.read_at from public.notifications as n
        where n.user_id = p_user_id
        order by n.created_at desc, n.id desc
        limit 1000
    ) as m
    where m.read_at is null
$$;
comment on function private.unread_notifications(uuid) is 'Number of unread ones among a member''s newest 1,000 notifications.';

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
        'unread', private.unread_notifications(v_user_id)
    );
end
$$;
comment on function public.get_notifications(text, integer) is
'The caller''s notifications, newest first, with the number of unread ones (of the newest 1,000). Errors: invalid_cursor, invalid_limit.';
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
        'unread', private.unread_notifications(v_user_id)
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
-- always sent. Other topics are the member's choice; until a member chooses, the topic says whether mail is sent. The
-- in-app notification is always there, and every e-mail of a topic links to the choice.

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

create table private.mail_topics (
    topic text primary key check (topic ~ '\A[a-z][a-z_]{1,30}\Z'),
    kind_pattern text not null,
    label text not null check (length(label) between 1 and 80),
    wanted_at_first boolean not null default true
);
comment on table private.mail_topics is 'Topics that members choose mail about; kind_pattern matches the kinds of their notifications.';
comment on column private.mail_topics.wanted_at_first is 'Whether mail is sent to members who have not chosen.';
alter table private.mail_topics enable row level security;

insert into private.mail_topics (topic, kind_pattern, label, wanted_at_first) values
('bots', '\Abot_', 'Changes to my bot subscriptions', true),
('earnings', '\A(bonus_earned|referral_joined)\Z', 'New direct referrals and bonuses', false);

create table private.mail_choices (
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    topic text not null references private.mail_topics (topic) on delete cascade,
    at timestamptz not null default now(),
    wanted boolean not null,
    primary key (user_id, topic)
);
comment on table private.mail_choices is 'Whether a member wants mail about a topic, once the member has said so.';
alter table private.mail_choices enable row level security;
create index mail_choices_topic_idx on private.mail_choices (topic);

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
                'topic', t.topic, 'label', t.label, 'wanted', coalesce(c.wanted, t.wanted_at_first)
            ) order by t.topic
        )
        from private.mail_topics as t
        left join private.mail_choices as c on t.topic = c.topic and c.user_id = v_user_id
    );
end
$$;
comment on function public.get_mail_choices() is
'Topics that the caller may choose mail about, and the current choices; e-mail about money and security is not among them.';
grant execute on function public.get_mail_choices() to authenticated;

create function public.set_mail_choice(p_topic text, p_wanted boolean) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    if p_wanted is null or not exists (select 1 from private.mail_topics as t where t.topic = p_topic) then
        perform private.raise_error(400, 'invalid_input', 'This email cannot be switched off.');
    end if;
    insert into private.mail_choices as c (user_id, topic, wanted) values (v_user_id, p_topic, p_wanted)
    on conflict (user_id, topic) do update set wanted = excluded.wanted, at = excluded.at
        where c.wanted <> excluded.wanted;
    return public.get_mail_choices();
end
$$;
comment on function public.set_mail_choice(text, boolean) is 'Opts into or out of one topic; returns all choices. Errors: invalid_input.';
grant execute on function public.set_mail_choice(text, boolean) to authenticated;

-- Delivery. Each e-mail is sent at least once; duplicates must stay the exception. The worker asks every second what is
-- due: to notify it, each transaction with an e-mail would take a lock of the whole database at its commit.

create function jobs.is_mail_due() returns boolean
language sql stable security definer set search_path = '' as $$
    select exists (
        select 1 from private.outbox as o
        where o.sent_at is null and o.failed_at is null and o.next_attempt_at <= pg_catalog.clock_timestamp()
            and (o.leased_until is null or o.leased_until < pg_catalog.clock_timestamp())
    ) and not private.is_copy()
$$;
comment on function jobs.is_mail_due() is 'Whether any e-mail is to be sent now: none by a restored copy.';
grant execute on function jobs.is_mail_due() to worker;

create function jobs.lease_mail(p_max integer) returns setof private.outbox
language sql volatile security definer set search_path = '' as $$
    update private.outbox as o set attempts = o.attempts + 1, leased_until = pg_catalog.clock_timestamp() + interval '2 minutes'
    where o.id in (
        select c.id from private.outbox as c
        where c.sent_at is null and c.failed_at is null and c.next_attempt_at <= pg_catalog.clock_timestamp()
            and (c.leased_until is null or c.leased_until < pg_catalog.clock_timestamp())
            and not private.is_copy()
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
        perform private.raise_error(404, 'not_found', 'There is no failed email like this.');
    end if;
    perform private.audit('admin:' || v_admin.id, 'mail.retried', null, null, pg_catalog.jsonb_build_object('id', p_id));
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.retry_mail(bigint) is 'Retries a failed e-mail. Super admin. Errors: forbidden, not_found.';
grant execute on function public.retry_mail(bigint) to platform_admin;

-- Alarms: what an administrator must know and look at. One is open for each kind and object from its first sighting
-- until it is over; the next sighting afterwards is an alarm of its own, and ended ones stay as history. A repeated
-- sighting is written with the same figures or with others: an acknowledgement holds for what was acknowledged and for
-- nothing else, so figures that change end the acknowledged alarm and open the next.

create table private.alarms (
    id uuid primary key default gen_random_uuid(),
    kind text not null constraint alarms_kind_check check (
        kind in ('ledger_violation', 'repair', 'deposit_address', 'audit_entry', 'disk', 'dead_job', 'failed_mail', 'backup', 'restored')
    ),
    object text not null check (length(object) between 1 and 200),
    user_id uuid,
    details jsonb not null default '{}' check (jsonb_typeof(details) = 'object'),
    raised_at timestamptz not null default clock_timestamp(),
    changed_at timestamptz not null default clock_timestamp(),
    last_seen timestamptz not null default clock_timestamp(),
    ended_at timestamptz,
    acknowledged_at timestamptz,
    acknowledged_by uuid references private.admin_users (id) on delete restrict,
    reason text check (length(reason) between 1 and 1000),
    mailed_at timestamptz,
    noticed_at timestamptz,
    constraint alarms_acknowledged_check check (num_nulls(acknowledged_at, acknowledged_by, reason) in (0, 3))
);
comment on table private.alarms is 'Alarms, open and ended. Written by private.raise_alarm() and the ledger check.';
comment on column private.alarms.object is
'What it concerns; a ledger violation has its rule before it: "I07 <id>". One open alarm for each kind and object.';
comment on column private.alarms.user_id is 'The member whose money it concerns; null: nobody''s alone. No foreign key: what an alarm reports may be damaged.';
comment on column private.alarms.details is 'Figures that say how it is; other figures are a change of the alarm.';
comment on column private.alarms.ended_at is 'When it was over; null while it is open.';
comment on column private.alarms.mailed_at is 'When administrators were last e-mailed of it as it is now; null: not yet.';
comment on column private.alarms.noticed_at is 'When administrators had a notice of it as it is now; null: not yet.';
alter table private.alarms enable row level security;
create unique index alarms_open_key on private.alarms (kind, object) where ended_at is null;
-- The history, newest first.
create index alarms_ended_idx on private.alarms (ended_at desc, id) where ended_at is not null;
create index alarms_acknowledged_by_idx on private.alarms (acknowledged_by);
-- What stops decisions, looked up by every decision.
create index alarms_stopping_idx on private.alarms (user_id)
where kind in ('ledger_violation', 'restored') and ended_at is null and acknowledged_at is null;
-- What administrators are still to be notified of, looked for every minute.
create index alarms_unmailed_idx on private.alarms (raised_at) where mailed_at is null or noticed_at is null;

create table private.alarm_mail_state (
    only_row boolean primary key default true check (only_row),
    mailed_at timestamptz
);
comment on table private.alarm_mail_state is
'When the last e-mail about alarms was written. Whoever changes many alarms locks this row first, so that all take them in one order.';
alter table private.alarm_mail_state enable row level security;

insert into private.alarm_mail_state default values;

create function private.raise_alarm(p_kind text, p_object text, p_user_id uuid, p_details jsonb) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
    v_alarm private.alarms;
    v_now timestamptz := pg_catalog.clock_timestamp();
begin
    -- Locked, so that nobody acknowledges what is just about to change.
    select * into v_alarm from private.alarms as a
    where a.kind = p_kind and a.object = p_object and a.ended_at is null for no key update;
    if v_alarm.user_id is not distinct from p_user_id and v_alarm.details = p_details then
        update private.alarms as a set last_seen = v_now where a.id = v_alarm.id;
        return false;
    end if;
    update private.alarms as a set ended_at = v_now where a.id = v_alarm.id and a.acknowledged_at is not null;
    insert into private.alarms as a (kind, object, user_id, details, raised_at, changed_at, last_seen)
    values (p_kind, p_object, p_user_id, p_details, v_now, v_now, v_now)
    on conflict (kind, object) where ended_at is null do update set
        user_id = excluded.user_id, details = excluded.details, changed_at = v_now, last_seen = v_now,
        acknowledged_at = null, acknowledged_by = null, reason = null, mailed_at = null, noticed_at = null;
    return true;
end
$$;
comment on function private.raise_alarm(text, text, uuid, jsonb) is
'Opens an alarm, or updates the open one of this kind and object; true when it is new or has changed. Kinds: ledger_violation, repair, deposit_address, audit_entry, disk, dead_job, failed_mail, backup, restored.';

create function private.end_alarm(p_kind text, p_object text) returns void
language sql volatile set search_path = '' as $$
    update private.alarms as a set ended_at = pg_catalog.clock_timestamp()
    where a.kind = p_kind and a.object = p_object and a.ended_at is null
$$;
comment on function private.end_alarm(text, text) is 'Ends the open alarm of this kind and object: what raised it is over.';

-- In words. The page, the e-mail and the error of a stopped decision show the same sentences.

create function private.rule_texts() returns table (rule text, problem text, advice text)
language sql immutable set search_path = '' as $$
    values
    ('I01', 'A bonus has journal rows that do not sum to its amount.', 'Compare the bonus with its rows under Transactions; find out who changed which.'),
    ('I02', 'A member''s journal does not sum to deposits plus bonuses minus withdrawals.', 'Compare the member''s transactions with the deposits, bonuses and withdrawals.'),
    ('I03', 'A deposit and its journal row do not say the same.', 'Compare the deposit with its transaction and with the audit log.'),
    ('I04', 'A withdrawal and its journal row do not say the same.', 'Compare the withdrawal with its transaction and with the audit log. Pay nothing meanwhile.'),
    ('I05', 'A journal row has no bonus, deposit, withdrawal or correction behind it.', 'Find out who wrote the row: the product never writes such a row.'),
    ('I06', 'A deposit or withdrawal has more than one journal row.', 'Find out who wrote the second row: the product writes one.'),
    ('I07', 'A member''s totals are not the sums of the bonuses and withdrawals, so the balance is wrong.', 'Rebuild the counters once it is known who changed what.'),
    ('I08', 'A member withdrew more than was earned, and no correction explains it.', 'Compare bonuses and withdrawals of the member; void what was not paid.'),
    ('I09', 'A member''s cash-in is not the sum of the approved deposits.', 'Compare the member''s deposits with the audit log; rebuild the counters.'),
    ('I10', 'A bonus is stored twice.', 'Find out who wrote the second row: the product writes one.'),
    ('I11', 'A bonus does not follow from the referral tree and the packages, or is paid to another member.', 'Find out who changed the bonus, the tree or a package. The next run of the bonus comparison repairs the amount.'),
    ('I12', 'A member earns a bonus from their own package.', 'Find out who changed the bonus or the tree.'),
    ('I13', 'A member''s package does not follow from the deposits and corrections.', 'Compare the package with the deposits; a correction sets another one.'),
    ('I14', 'A member''s level is not one below the sponsor''s.', 'Find out who moved the member: the product moves nobody.'),
    ('I15', 'A member joined before their own sponsor.', 'Find out who changed a sponsor or a date: the product changes neither.'),
    ('I16', 'An amount is out of range.', 'Find out who changed it: the product accepts no such amount.'),
    ('I17', 'A decided request has no decider or no time, or a pending one has.', 'Compare the request with the audit log.'),
    ('I18', 'Two members have the same username.', 'Ask one of them to choose another username under Profile.'),
    ('I19', 'A transfer was approved twice.', 'Compare the receipts; void the deposit that did not arrive.'),
    ('I20', 'A receipt is missing, is another file than was sent, or is not the member''s.', 'Compare the receipt with a backup; find out who replaced it.'),
    ('I21', 'All bonuses together exceed 56% of the funded packages, which the plan cannot pay.', 'Find out which bonuses or packages were changed.'),
    ('I22', 'More was paid out than came in.', 'Pay nothing more before it is known why.'),
    ('I23', 'A member''s place among the sponsor''s referrals is wrong, or differs from their own package.', 'Find out who changed the tree; rebuild the counters.'),
    ('I24', 'A member has two running subscriptions of one bot.', 'Ask the member to unsubscribe one of them.'),
    ('I25', 'An administrator''s session lasts longer than eight hours.', 'Sign this administrator out under Administrators and find out who made the session.'),
    ('I26', 'The audit log was changed, or its end was cut off.', 'Compare it with a backup. Whoever changed it is hiding something.'),
    ('I27', 'A total on the dashboards is not the sum of its rows.', 'Rebuild the counters once it is known who changed what.'),
    ('I28', 'A member''s daily earnings differ from the journal.', 'The chart is wrong, not the balance. Rebuild the counters.'),
    ('I29', 'A member''s team totals differ from the members of the team.', 'The figures of the team are wrong, not the balance. Rebuild the counters.'),
    ('I30', 'The daily growth of a large team differs from its members.', 'The chart is wrong, not the balance. Rebuild the counters.'),
    ('I31', 'A deposit lacks the keys by which a second claim of its transfer is found.', 'Compare its reference with all other deposits by hand.'),
    ('I33', 'A pairing bonus names another member than the one who completed the pair.', 'Find out who changed the bonus or the order of the fundings.'),
    ('I34', 'A member''s place in the order of fundings is not that of the decision that funded the member.', 'Compare the member''s first approved deposit with the audit log.'),
    ('I35', 'A completed journal row has no decision behind it.', 'Find out who wrote or completed the row: the product does so in a decision only.'),
    ('I36', 'A bonus or a journal row has another time than what it was made from.', 'Compare the times with the audit log; find out who changed one.'),
    ('I37', 'The number of a member''s bonuses is wrong in the totals.', 'Rebuild the counters once it is known who changed what.'),
    ('I38', 'The stored coverage of a past day is not what had been decided when it was computed.', 'Find out who changed the day, or a deposit, withdrawal or bonus from before it. The day stays as it is: acknowledge this once it is known why.'),
    ('I39', 'A published income disclosure is not what had been decided when it was published, or contradicts itself.', 'Find out who changed it, or a withdrawal or bonus of its period, before anybody relies on it. It stays as it is: acknowledge this once it is known why.'),
    ('I40', 'A package size, a pairing rate or a percentage is not that of the compensation plan.', 'Whoever runs the database must set it back immediately: sizes and pairing rates in private.packages, a percentage in the function of its name. Every bonus is worked out with it.'),
    ('I41', 'The referrals of a member are not numbered in the order of joining, which decides who is paired with whom.', 'Find out who changed the order; rebuild the counters.'),
    ('I42', 'A request or a bonus is older than what it follows from, or lies in the future.', 'Compare the times with the audit log.'),
    ('I43', 'A deposit has no entry in the audit log, more than one, or one that says something else.', 'Compare the deposit with the audit log and the receipt before it is decided.'),
    ('I44', 'A withdrawal has no entry in the audit log, more than one, or one that says something else.', 'Compare amount and address with the audit log, and ask the member. Pay nothing meanwhile.'),
    ('I45', 'A decided deposit has no decision in the audit log, or one that says something else.', 'Find out who decided it: the product writes both at once.'),
    ('I46', 'A decided withdrawal has no decision in the audit log, or one that says something else.', 'Find out who decided it: the product writes both at once. Pay nothing meanwhile.'),
    ('I47', 'A payout has no entry in the audit log, or one that says something else.', 'Compare the payout reference with the wallet''s own list of transfers.'),
    ('I48', 'A correction has no entry in the audit log, or one that says something else.', 'Compare the correction with the audit log and ask who proposed and confirmed it.'),
    ('I49', 'An administrator''s role is not the one of the last entry in the audit log.', 'Take the role away and find out who gave it.')
$$;
comment on function private.rule_texts() is
'Each rule of the ledger checks in words: what is wrong, and what to do. Every rule of private.ledger_violations has a row.';

create function private.alarm_texts(p_alarm private.alarms, out problem text, out advice text)
language plpgsql stable set search_path = '' as $$
declare
    v_details jsonb := (p_alarm).details;
begin
    if (p_alarm).kind = 'ledger_violation' then
        select r.problem, r.advice into problem, advice from private.rule_texts() as r where r.rule = pg_catalog.left((p_alarm).object, 3);
        problem := coalesce(problem, 'A check of the ledger fails.')
            || case when (p_alarm).object !~ ' ' then pg_catalog.format(' This concerns %s rows, more than are listed one by one.', coalesce(v_details ->> 'violations', 'many')) else '' end;
        advice := coalesce(advice, 'Compare the row with what it was made from and with the audit log.');
        return;
    end if;
    select t.problem, t.advice into problem, advice
    from (
        values
        ('repair', 'any', pg_catalog.format(
            '%s stored differently from what tree and packages say, and repaired.',
            case when v_details ->> 'rows' = '1' then 'One bonus was' else coalesce(v_details ->> 'rows', 'Some') || ' bonuses were' end
        ), 'Find out who changed the rows: the product never does.'),
        ('deposit_address', 'changed', pg_catalog.format('The deposit address was changed to %s.', v_details ->> 'to'), 'If this was not agreed, change it back immediately: members send their deposits there.'),
        ('deposit_address', 'unexpected', pg_catalog.format('Members are shown the deposit address %s, which is not the expected one.', v_details ->> 'shown'), 'Find out who changed it before another deposit is sent.'),
        ('audit_entry', 'any', 'Entries wait to be written into the audit log''s chain.', 'See whether the worker runs, and what its log says.'),
        ('disk', 'any', pg_catalog.format('The disk of %s is more than %s%% full.', (p_alarm).object, v_details ->> 'above'), 'Make room before it is full: the product stops then.'),
        ('dead_job', 'any', pg_catalog.format('The job %s failed and was given up.', pg_catalog.regexp_replace((p_alarm).object, '^.*:', '')), 'See Readiness: the failed jobs are listed there with their times. This ends when the job works again.'),
        ('failed_mail', 'any', pg_catalog.format(
            '%s could not be sent and %s given up.', case when v_details ->> 'emails' = '1' then 'One email' else v_details ->> 'emails' || ' emails' end,
            case when v_details ->> 'emails' = '1' then 'was' else 'were' end
        ), 'A super administrator sees the reasons under Readiness and sends them again there.'),
        ('backup', 'off', 'No backups are made.', 'Switch them on: what happens meanwhile is lost with this machine.'),
        ('backup', 'database', case when v_details ->> 'last' is null then 'No backup of the database was finished yet.' else pg_catalog.format('The last backup of the database is of %s UTC.', v_details ->> 'last') end, 'The log of the backups says why. Then run: make backup.'),
        ('backup', 'files', pg_catalog.format('Receipts and keys are not known to be in the backups %s.', coalesce('since ' || (v_details ->> 'last') || ' UTC', 'yet')), 'The log of the backups says why. Then run: make backup.'),
        ('backup', 'wal', pg_catalog.format('Changes of the database have not reached the backups since %s UTC.', v_details ->> 'last'), 'PostgreSQL''s log says why. The disk of the database fills up meanwhile.'),
        ('backup', 'proof', 'No backup was restored to try it for more than forty days.', 'Run: make restore-drill.'),
        ('restored', 'any', 'This is a copy that was restored from a backup. It sends no email and makes no decision.', 'Acknowledge this only when the original is gone and this copy takes over: compare the last withdrawals with the wallet first.')
    ) as t (kind, object, problem, advice)
    where t.kind = (p_alarm).kind and t.object in ('any', (p_alarm).object);
end
$$;
comment on function private.alarm_texts(private.alarms) is 'An alarm in words: what is wrong, and what to do.';

create function private.alarm_stops(p_alarm private.alarms) returns text
language sql immutable set search_path = '' as $$
    select case
        when (p_alarm).kind not in ('ledger_violation', 'restored') or (p_alarm).ended_at is not null or (p_alarm).acknowledged_at is not null then null
        when (p_alarm).user_id is null then 'everybody'
        else 'member'
    end
$$;
comment on function private.alarm_stops(private.alarms) is
'Whose money an alarm lets no decision be made about: member, everybody, or null for no one''s. Only violations of the ledger, and that this is a restored copy, stop decisions, until they are acknowledged.';

create function private.require_no_alarm(p_user_id uuid) returns void
language plpgsql stable set search_path = '' as $$
declare
    v_alarm private.alarms;
begin
    select * into v_alarm from private.alarms as a
    where a.kind in ('ledger_violation', 'restored') and a.ended_at is null and a.acknowledged_at is null and (a.user_id = p_user_id or a.user_id is null)
    order by a.user_id is null, a.raised_at
    limit 1;
    if not found then
        return;
    end if;
    if private.my_role() = 'authenticated' then
        perform private.raise_error(409, 'ledger_alarm', 'Your account is being checked, so this cannot be changed now. Try again later, or contact support.');
    end if;
    if v_alarm.kind = 'restored' then
        perform private.raise_error(
            409, 'ledger_alarm', 'Nothing can be decided now: this is a copy that was restored from a backup. See Alarms: a super admin acknowledges it there when it takes over.',
            pg_catalog.jsonb_build_object('alarm', v_alarm.id)::text
        );
    end if;
    perform private.raise_error(
        409, 'ledger_alarm', pg_catalog.format(
            case when v_alarm.user_id is null then 'Nothing can be decided now: a check of the ledger fails.' else 'Nothing can be decided about this member''s money now: a check of the ledger fails.' end
            || ' %s See Alarms: find out why, then a super admin acknowledges it there.', (private.alarm_texts(v_alarm)).problem
        ), pg_catalog.jsonb_build_object('alarm', v_alarm.id, 'rule', pg_catalog.left(v_alarm.object, 3))::text
    );
end
$$;
comment on function private.require_no_alarm(uuid) is
'Before a decision about this member''s money, under its locks: raises while an open, unacknowledged violation of the ledger names the member, or nobody, or this is a restored copy. Errors: ledger_alarm.';

create function public.acknowledge_alarm(p_id uuid, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_alarm private.alarms;
begin
    if v_reason is null or pg_catalog.length(v_reason) > 1000 then
        perform private.raise_error(400, 'invalid_reason', 'Give a reason of at most 1,000 characters.');
    end if;
    -- Locked: the next check may be about to change it.
    select * into v_alarm from private.alarms as a where a.id = p_id for no key update;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such alarm.');
    end if;
    if v_alarm.acknowledged_by = v_admin.id then
        return '{"success": true, "already": true}'::jsonb;
    end if;
    if v_alarm.acknowledged_at is not null or v_alarm.ended_at is not null then
        perform private.raise_error(409, 'already_decided', case
            when v_alarm.acknowledged_at is null then 'This alarm is over.'
            else (
                select pg_catalog.format('Already acknowledged by %s.', coalesce(a.full_name, a.email))
                from private.admin_users as a where a.id = v_alarm.acknowledged_by
            )
        end);
    end if;
    update private.alarms as a set
        acknowledged_at = pg_catalog.clock_timestamp(), acknowledged_by = v_admin.id, reason = v_reason,
        -- What has happened is over when it is understood; a state lasts until it is mended.
        ended_at = case when a.kind in ('repair', 'restored') or (a.kind, a.object) = ('deposit_address', 'changed') then pg_catalog.clock_timestamp() end
    where a.id = p_id;
    perform private.audit(
        'admin:' || v_admin.id, 'alarm.acknowledged', 'alarm', p_id,
        pg_catalog.jsonb_build_object('kind', v_alarm.kind, 'object', v_alarm.object, 'user_id', v_alarm.user_id, 'details', v_alarm.details, 'reason', v_reason)
    );
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.acknowledge_alarm(uuid, text) is
'Super administrators: an alarm is understood. No reminder follows, and what it stops goes on, until it changes. Errors: forbidden, two_step_required, invalid_reason, not_found, already_decided.';
grant execute on function public.acknowledge_alarm(uuid, text) to platform_admin;

-- The page.

create function private.alarm_object(p_alarm private.alarms) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_id uuid;
begin
    if (p_alarm).kind <> 'ledger_violation' or (p_alarm).object !~ '\AI[0-9]{2} [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}( |\Z)' then
        return null;
    end if;
    v_id := pg_catalog.substr((p_alarm).object, 5, 36)::uuid;
    return (
        select pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('kind', o.kind, 'id', o.id, 'name', o.name))
        from (
            select 'deposit' as kind, d.id, null as name from public.deposits as d where d.id = v_id
            union all
            select 'withdrawal', w.id, null from public.withdrawals as w where w.id = v_id
            union all
            select 'bonus', b.id, null from public.bonuses as b where b.id = v_id
            union all
            select 'transaction', t.id, null from public.transactions as t where t.id = v_id
            union all
            select 'member', v_id, null from private.profiles as p where v_id in (p.id, p.user_id)
            union all
            -- A session has no page of its own: whose it is, is what can be acted on.
            select 'administrator', a.id, a.email from private.admin_users as a
            where a.id in (v_id, (select s.admin_id from public.admin_sessions as s where s.session_token = v_id))
        ) as o
        limit 1
    );
end
$$;
comment on function private.alarm_object(private.alarms) is
'The row that a violation names: kind (deposit, withdrawal, bonus, transaction, member, administrator) and id, of an administrator the name too, also where it names a session; null when it is no such row.';

create function private.alarm_item(p_alarm private.alarms) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object(
            'id', (p_alarm).id, 'kind', (p_alarm).kind, 'object', (p_alarm).object, 'details', (p_alarm).details,
            'rule', case when (p_alarm).kind = 'ledger_violation' then pg_catalog.left((p_alarm).object, 3) end,
            'problem', t.problem, 'advice', t.advice, 'stops', private.alarm_stops(p_alarm),
            'urgent', coalesce(((p_alarm).details ->> 'urgent')::boolean, false),
            'row', private.alarm_object(p_alarm),
            -- Whose place in the tree a bonus or an order names by its number.
            'at_place', (
                select pg_catalog.jsonb_build_object('username', m.username, 'profile_id', m.id)
                from private.positions as o inner join private.profiles as m on o.user_id = m.user_id
                where
                    (p_alarm).kind = 'ledger_violation'
                    and o.no = pg_catalog.substring((p_alarm).object, '\AI(?:10|11|41) (?:[a-z]+ )?([0-9]{1,9})(?: |\Z)')::integer
            ),
            'profile_id', p.id, 'username', p.username,
            'raised_at', (p_alarm).raised_at, 'changed_at', (p_alarm).changed_at, 'last_seen', (p_alarm).last_seen,
            'ended_at', (p_alarm).ended_at, 'mailed_at', (p_alarm).mailed_at,
            'acknowledged_at', (p_alarm).acknowledged_at, 'acknowledged_by_name', coalesce(a.full_name, a.email), 'reason', (p_alarm).reason,
            'members', (
                select pg_catalog.jsonb_object_agg(m.user_id, pg_catalog.jsonb_build_object('username', m.username, 'profile_id', m.id))
                from private.profiles as m
                where (p_alarm).kind = 'repair' and m.user_id::text in (
                    select r.value ->> 'user_id' from pg_catalog.jsonb_array_elements((p_alarm).details -> 'repairs') as r (value)
                )
            )
        )
        from private.alarm_texts(p_alarm) as t
        left join private.profiles as p on p.user_id = (p_alarm).user_id
        left join private.admin_users as a on a.id = (p_alarm).acknowledged_by
    );
end
$$;
comment on function private.alarm_item(private.alarms) is 'An alarm as an item of the administrators'' list, with the usernames of those whom it names.';

create function public.list_alarms(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['raised_at']);
    v_ended boolean := coalesce((v_request).status, 'open') = 'ended';
begin
    perform private.require_admin();
    if coalesce((v_request).status, 'open') not in ('open', 'ended') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    return pg_catalog.jsonb_build_object(
        'items', coalesce((
            select pg_catalog.jsonb_agg(private.alarm_item(q.alarm) order by q.place)
            from (
                select
                    a as alarm,
                    row_number() over (
                        order by
                            case when v_ended then a.ended_at end desc, a.acknowledged_at is not null, a.kind <> 'ledger_violation',
                            a.raised_at desc, a.id
                    ) as place
                from private.alarms as a
                where (a.ended_at is not null) = v_ended
                order by place
                limit (v_request).page_size offset ((v_request).page - 1) * (v_request).page_size
            ) as q
        ), '[]'),
        'total', (select count(*) from private.alarms as a where (a.ended_at is not null) = v_ended)
    );
end
$$;
comment on function public.list_alarms(jsonb) is
'Administrators: open alarms, those first that stop decisions, or the history, newest first. Filters: status (open, ended), page, pageSize. Errors: forbidden, session_ended, invalid_filter.';
grant execute on function public.list_alarms(jsonb) to platform_admin;

create function private.alarm_summary() returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'open', count(*) filter (where a.acknowledged_at is null),
        'stopping', count(*) filter (where s.stops is not null),
        'stops_everybody', coalesce(bool_or(s.stops = 'everybody'), false),
        'stopped_members', coalesce(pg_catalog.jsonb_agg(distinct a.user_id) filter (where s.stops = 'member'), '[]'),
        'rules', coalesce(
            pg_catalog.jsonb_object_agg(pg_catalog.left(a.object, 3), coalesce(r.problem, 'A check of the ledger fails.')) filter (where s.stops is not null), '{}'
        )
    )
    from private.alarms as a
    cross join lateral (select private.alarm_stops(a) as stops) as s
    left join private.rule_texts() as r on r.rule = pg_catalog.left(a.object, 3)
    where a.ended_at is null
$$;
comment on function private.alarm_summary() is
'Number of open alarms that wait to be acknowledged, and what they stop: the rules in words, and the members.';

-- Administrators are notified: in the app, and by one e-mail with all that is new.

create function private.alarm_line(p_alarm private.alarms) returns text
language sql stable set search_path = '' as $$
    select pg_catalog.concat_ws(
        ' ', t.problem, t.advice,
        case when (p_alarm).kind = 'ledger_violation' then pg_catalog.format('Check %s.', (p_alarm).object) end,
        'Member: ' || p.username || '.',
        'Administrator: ' || (private.alarm_object(p_alarm) ->> 'name') || '.',
        pg_catalog.format('Since %s UTC.', pg_catalog.to_char((p_alarm).raised_at at time zone 'UTC', 'FMDD Mon YYYY HH24:MI')),
        case
            when (p_alarm).ended_at is not null then pg_catalog.format('Over since %s UTC.', pg_catalog.to_char((p_alarm).ended_at at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'))
            when (p_alarm).acknowledged_at is not null then 'Acknowledged.'
            when private.alarm_stops(p_alarm) = 'everybody' then 'Every decision about money is blocked.'
            when private.alarm_stops(p_alarm) = 'member' then 'Decisions about this member''s money are blocked.'
            else 'Decisions go on.'
        end
    )
    from private.alarm_texts(p_alarm) as t
    left join private.profiles as p on p.user_id = (p_alarm).user_id
$$;
comment on function private.alarm_line(private.alarms) is
'An alarm as a paragraph of an e-mail: what is wrong, what to do, what it concerns, since when, what it blocks.';

create function private.mail_alarms() returns integer
language plpgsql volatile set search_path = '' as $$
declare
    v_new bigint;
    v_open bigint;
    v_due boolean;
    v_title text;
    v_body text;
    v_ids uuid[];
begin
    if private.is_recent((select s.mailed_at from private.alarm_mail_state as s), interval '1 hour') then
        return 0;
    end if;
    select
        count(*) filter (where a.mailed_at is null),
        count(*) filter (where a.ended_at is null),
        coalesce(bool_or(not private.is_recent(a.mailed_at, interval '1 day')), false)
    into v_new, v_open, v_due
    from private.alarms as a where (a.ended_at is null or a.mailed_at is null) and a.acknowledged_at is null;
    -- A reminder once a day, of all that lasts.
    if v_new = 0 and not v_due then
        return 0;
    end if;
    v_title := case
        when v_new = 0 then pg_catalog.format('Reminder: %s', case v_open when 1 then 'an alarm lasts' else v_open || ' alarms last' end)
        else case v_new when 1 then 'A new alarm' else v_new || ' new alarms' end
    end;
    select pg_catalog.string_agg(l.line, E'\n' order by l.place), pg_catalog.array_agg(l.id order by l.place) into v_body, v_ids
    from (
        select a.id, private.alarm_line(a) || case when a.mailed_at is not null then ' You were told before.' else '' end as line, row_number() over w as place
        from private.alarms as a
        where (a.ended_at is null or a.mailed_at is null) and a.acknowledged_at is null
        window w as (order by a.mailed_at is not null, private.alarm_stops(a) is null, a.raised_at desc, a.id)
        order by place
        limit 20
    ) as l;
    if v_new + (select count(*) from private.alarms as a where a.ended_at is null and a.mailed_at is not null and a.acknowledged_at is null) > 20 then
        v_body := v_body || E'\nThere are more than these 20: see the page.';
    end if;
    insert into private.outbox (template, recipient, data)
    select 'alarms', a.email, pg_catalog.jsonb_build_object('display_name', a.full_name, 'title', v_title, 'body', v_body, 'link', '/admin/alarms')
    from private.admin_users as a where a.is_active and a.role in ('super_admin', 'finance_admin');
    perform private.queue_webhook(v_title, v_ids);
    update private.alarms as a set mailed_at = pg_catalog.clock_timestamp()
    where (a.ended_at is null or a.mailed_at is null) and a.acknowledged_at is null;
    update private.alarm_mail_state as s set mailed_at = pg_catalog.clock_timestamp();
    return v_new;
end
$$;
comment on function private.mail_alarms() is
'E-mails every active super and finance administrator all that is new and what lasts, and writes the webhook message, at most once an hour, and once a day while anything lasts; returns how many were new.';

create function private.announce_alarms() returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_new bigint;
    v_body text;
begin
    perform from private.alarm_mail_state as s for no key update;
    select count(*), pg_catalog.string_agg((private.alarm_texts(a)).problem, ' ' order by a.raised_at desc, a.id) into v_new, v_body
    -- A deposit address has notices of its own.
    from private.alarms as a where a.noticed_at is null and a.kind <> 'deposit_address';
    if v_new > 0 then
        perform private.notify_administrators(
            'alarm', case v_new when 1 then 'A new alarm' else v_new || ' new alarms' end, pg_catalog.left(v_body, 600), '/admin/alarms'
        );
    end if;
    update private.alarms as a set noticed_at = pg_catalog.clock_timestamp() where a.noticed_at is null;
    perform private.mail_alarms();
end
$$;
comment on function private.announce_alarms() is 'Notifies administrators of alarms that are new: one notice in the app, and an e-mail when one may be sent.';

-- What is looked at every minute besides the ledger.

create function jobs.check_disks(p_disks jsonb, p_full numeric default 80, p_urgent numeric default 90) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_disk record;
    v_above numeric;
begin
    perform from private.alarm_mail_state as s for no key update;
    for v_disk in
        select d.folder, d.percent, (a.details ->> 'above')::numeric as above
        from pg_catalog.jsonb_to_recordset(p_disks) as d (folder text, percent numeric)
        left join private.alarms as a on a.kind = 'disk' and a.object = d.folder and a.ended_at is null
        order by d.folder
    loop
        -- Two percent below its limit: what comes and goes around the limit is one alarm.
        v_above := case
            when v_disk.percent >= p_urgent - case when v_disk.above = p_urgent then 2 else 0 end then p_urgent
            when v_disk.percent >= p_full - case when v_disk.above is not null then 2 else 0 end then p_full
        end;
        if v_above is null then
            perform private.end_alarm('disk', v_disk.folder);
        else
            perform private.raise_alarm(
                'disk', v_disk.folder, null, pg_catalog.jsonb_build_object('above', v_above, 'urgent', v_above = p_urgent)
            );
        end if;
    end loop;
end
$$;
comment on function jobs.check_disks(jsonb, numeric, numeric) is
'Raises or ends the alarm of each disk of one machine: [{folder, percent}], full above the first percentage, urgent above the second. Names of folders are unique among all machines.';
grant execute on function jobs.check_disks(jsonb, numeric, numeric) to worker;

create function private.check_dead_jobs() returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_task text;
begin
    -- The worker creates these tables, and grants reading them, when it starts.
    if pg_catalog.has_table_privilege(pg_catalog.to_regclass('procrastinate.procrastinate_jobs'), 'select') is not true then
        return;
    end if;
    for v_task in
        select j.task_name
        from procrastinate.procrastinate_jobs as j
        inner join procrastinate.procrastinate_events as e on j.id = e.job_id
        where j.status = 'failed'
        group by j.task_name
        -- A failed job stays in the queue's list for a month, also when the task has worked since.
        having max(e.at) > coalesce((select max(a.ended_at) from private.alarms as a where a.kind = 'dead_job' and a.object = j.task_name), '-infinity')
        order by j.task_name
    loop
        perform private.raise_alarm('dead_job', v_task, null, '{}');
    end loop;
end
$$;
comment on function private.check_dead_jobs() is 'Raises an alarm for each task of which a job was given up since it last worked.';

create function jobs.end_dead_job(p_task text) returns void
language sql volatile security definer set search_path = '' as $$
    select private.end_alarm('dead_job', p_task)
$$;
comment on function jobs.end_dead_job(text) is 'A job of this task has worked: ends its alarm.';
grant execute on function jobs.end_dead_job(text) to worker;

create function private.check_failed_mail() returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_emails bigint := (select count(*) from private.outbox as o where o.failed_at is not null);
    v_known bigint;
begin
    select (a.details ->> 'emails')::bigint into v_known from private.alarms as a
    where a.kind = 'failed_mail' and a.object = 'outbox' and a.ended_at is null;
    if v_emails = 0 then
        perform private.end_alarm('failed_mail', 'outbox');
    elsif v_emails > coalesce(v_known, 0) then
        perform private.raise_alarm('failed_mail', 'outbox', null, pg_catalog.jsonb_build_object('emails', v_emails));
    elsif v_emails < v_known then
        -- Fewer is no news.
        update private.alarms as a set details = pg_catalog.jsonb_build_object('emails', v_emails)
        where a.kind = 'failed_mail' and a.object = 'outbox' and a.ended_at is null;
    end if;
end
$$;
comment on function private.check_failed_mail() is 'Raises an alarm while e-mails are given up; more of them are a change.';

create function jobs.check_alarms() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform from private.alarm_mail_state as s for no key update;
    perform private.check_dead_jobs();
    perform private.check_failed_mail();
    perform private.announce_alarms();
    return (
        select coalesce(pg_catalog.jsonb_object_agg(o.kind, o.alarms), '{}')
        from (
            select a.kind, count(*) as alarms from private.alarms as a
            where a.ended_at is null and a.acknowledged_at is null group by a.kind
        ) as o
    );
end
$$;
comment on function jobs.check_alarms() is
'Looks at given-up jobs and e-mails, and notifies administrators of all alarms that are new; returns the number of open ones by kind.';
grant execute on function jobs.check_alarms() to worker;

-- What a mail about alarms says also goes to the address in `alarm.webhook_url`, as JSON: as often as the mail, and no
-- oftener. It is written in the mail's transaction and sent by the worker (functions/worker/webhooks.py). Without the
-- setting nothing is written. The address may hold a secret: no error that is stored repeats it.

create table private.alarm_webhooks (
    id uuid primary key default gen_random_uuid(),
    body jsonb not null check (jsonb_typeof(body) = 'object'),
    created_at timestamptz not null default clock_timestamp(),
    tried_at timestamptz,
    sent_at timestamptz,
    failed_at timestamptz,
    last_error text
);
comment on table private.alarm_webhooks is 'Messages about alarms to the operator''s webhook. Written with the mails about them.';
comment on column private.alarm_webhooks.tried_at is 'When the worker last tried to send it; null: not yet.';
comment on column private.alarm_webhooks.failed_at is 'When it was given up; the job that tried is a dead one then, and an alarm.';
alter table private.alarm_webhooks enable row level security;
-- What is to be sent, asked for every second.
create index alarm_webhooks_due_idx on private.alarm_webhooks (created_at) where sent_at is null and failed_at is null;

create function private.queue_webhook(p_title text, p_alarm_ids uuid[]) returns void
language plpgsql volatile set search_path = '' as $$
begin
    if private.setting_text('alarm.webhook_url') is null then
        return;
    end if;
    insert into private.alarm_webhooks (body)
    select pg_catalog.jsonb_build_object(
        'title', p_title,
        'link', '/admin/alarms',
        'alarms', coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
            'id', a.id, 'kind', a.kind, 'object', a.object, 'since', a.raised_at, 'ended_at', a.ended_at,
            'problem', t.problem, 'advice', t.advice, 'stops', private.alarm_stops(a), 'username', p.username,
            'urgent', coalesce((a.details ->> 'urgent')::boolean, false)
        ) order by i.place), '[]')
    )
    from pg_catalog.unnest(p_alarm_ids) with ordinality as i (id, place)
    inner join private.alarms as a on i.id = a.id
    cross join lateral private.alarm_texts(a) as t
    left join private.profiles as p on a.user_id = p.user_id;
end
$$;
comment on function private.queue_webhook(text, uuid[]) is
'Writes the webhook message about these alarms, in their order; nothing while no address is set.';

create function jobs.is_webhook_due() returns boolean
language sql stable security definer set search_path = '' as $$
    -- One that was tried is tried again by its job; the others wait for it.
    select exists (select 1 from private.alarm_webhooks as w where w.sent_at is null and w.failed_at is null)
        and not exists (select 1 from private.alarm_webhooks as w where w.sent_at is null and w.failed_at is null and w.tried_at is not null)
        and private.setting_text('alarm.webhook_url') is not null
        and not private.is_copy()
$$;
comment on function jobs.is_webhook_due() is 'Whether a job is needed that sends webhook messages: none by a restored copy.';
grant execute on function jobs.is_webhook_due() to worker;

create function jobs.next_webhook() returns table (id uuid, url text, is_demo boolean, body jsonb)
language sql volatile security definer set search_path = '' as $$
    select w.id, private.setting_text('alarm.webhook_url'), private.is_demo(), w.body || pg_catalog.jsonb_build_object('id', w.id, 'at', w.created_at)
    from private.alarm_webhooks as w
    where
        w.sent_at is null and w.failed_at is null and private.setting_text('alarm.webhook_url') is not null
        -- Its job may have waited when the backup was made.
        and not private.is_copy()
    order by w.created_at
    limit 1
$$;
comment on function jobs.next_webhook() is 'The oldest webhook message that is to be sent, and where to; nothing when there is none.';
grant execute on function jobs.next_webhook() to worker;

create function jobs.mark_webhook(p_id uuid, p_error text, p_given_up boolean) returns void
language sql volatile security definer set search_path = '' as $$
    update private.alarm_webhooks as w set
        tried_at = pg_catalog.clock_timestamp(),
        last_error = pg_catalog.left(p_error, 200),
        sent_at = case when p_error is null then pg_catalog.clock_timestamp() end,
        failed_at = case when p_error is not null and p_given_up then pg_catalog.clock_timestamp() end
    where w.id = p_id
$$;
comment on function jobs.mark_webhook(uuid, text, boolean) is
'Records an attempt: sent without an error, else tried again by its job or given up.';
grant execute on function jobs.mark_webhook(uuid, text, boolean) to worker;

-- Backups, as far as the database knows of them: what their schedule reports each minute, the alarms when they are late,
-- and a copy that was restored from one. A copy makes no decision and sends no email until a super administrator
-- acknowledges it: its original may be alive.

create table private.backup_state (
    only_row boolean primary key default true check (only_row),
    since timestamptz,
    reported_at timestamptz,
    database_at timestamptz,
    files_at timestamptz,
    proven_at timestamptz
);
comment on table private.backup_state is 'What was last reported of the backups; all null while they are off.';
comment on column private.backup_state.since is 'When the first report came.';
comment on column private.backup_state.files_at is 'When receipts and keys were last known to be in the backups.';
comment on column private.backup_state.proven_at is 'When a backup was last restored and its ledger found in order.';
alter table private.backup_state enable row level security;

insert into private.backup_state default values;

create function private.are_backups_made() returns boolean
language sql stable set search_path = '' as $$
    select private.is_recent(s.reported_at, interval '10 minutes')
        and private.is_recent(s.database_at, interval '36 hours')
        and private.is_recent(s.files_at, interval '15 minutes')
        and private.is_recent(s.proven_at, interval '40 days')
    from private.backup_state as s
$$;
comment on function private.are_backups_made() is 'Whether backups are made and one was tried: a condition for accepting real money.';

create function private.set_backup_alarm(p_object text, p_late boolean, p_last timestamptz) returns void
language plpgsql volatile set search_path = '' as $$
begin
    if p_late then
        perform private.raise_alarm(
            'backup', p_object, null, pg_catalog.jsonb_build_object('last', pg_catalog.to_char(p_last at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'))
        );
    else
        perform private.end_alarm('backup', p_object);
    end if;
end
$$;
comment on function private.set_backup_alarm(text, boolean, timestamptz) is 'Raises or ends the alarm of one part of the backups; p_last: how far it came.';

create function jobs.check_backups(p_report jsonb) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_state private.backup_state;
    v_on boolean := p_report is not null;
    v_archiver record;
begin
    perform from private.alarm_mail_state as s for no key update;
    update private.backup_state as s set
        since = case when v_on then coalesce(s.since, pg_catalog.clock_timestamp()) end,
        reported_at = (p_report ->> 'at')::timestamptz,
        -- Elsewhere its owner backs it up: that its WAL is archived can be seen from here.
        database_at = case
            when (p_report ->> 'database_elsewhere')::boolean then (select a.last_archived_time from pg_catalog.pg_stat_archiver as a)
            else (p_report ->> 'database_at')::timestamptz
        end,
        files_at = (p_report ->> 'files_at')::timestamptz,
        proven_at = (p_report ->> 'proven_at')::timestamptz
    returning * into v_state;
    select * into v_archiver from pg_catalog.pg_stat_archiver;
    perform private.set_backup_alarm('off', not v_on and not private.is_demo(), null);
    perform private.set_backup_alarm(
        'database', v_on and not private.is_recent(coalesce(v_state.database_at, v_state.since), interval '36 hours'), v_state.database_at
    );
    perform private.set_backup_alarm(
        'files', v_on and not private.is_recent(coalesce(v_state.files_at, v_state.since), interval '15 minutes'), v_state.files_at
    );
    perform private.set_backup_alarm(
        'wal',
        v_on and v_archiver.last_failed_time > coalesce(v_archiver.last_archived_time, '-infinity')
        and not private.is_recent(coalesce(v_archiver.last_archived_time, v_archiver.stats_reset), interval '5 minutes'),
        coalesce(v_archiver.last_archived_time, v_archiver.stats_reset)
    );
    perform private.set_backup_alarm('proof', v_on and not private.is_recent(coalesce(v_state.proven_at, v_state.since), interval '40 days'), v_state.proven_at);
    perform private.announce_alarms();
    return p_report -> 'failures';
end
$$;
comment on function jobs.check_backups(jsonb) is
'Stores what the schedule of the backups reports ({at, database_at or database_elsewhere, files_at, proven_at, failures}; null: backups are off), and raises or ends the alarms about it; returns the failures.';
grant execute on function jobs.check_backups(jsonb) to worker;

-- A restored copy. The launcher calls these two as superuser, before any service is connected.

create function private.mark_restored() returns void
language sql volatile set search_path = '' as $$
    select private.raise_alarm('restored', 'copy', null, '{}')
$$;
comment on function private.mark_restored() is 'Marks this database as a restored copy: no decision and no email until that is acknowledged.';

create function private.last_moment() returns timestamptz
language sql stable set search_path = '' as $$
    select max(a.at) from private.audit_log as a
$$;
comment on function private.last_moment() is 'When the last thing in this database was done: of a copy, how far back it goes.';

create function private.is_copy() returns boolean
language sql stable set search_path = '' as $$
    select exists (select 1 from private.alarms as a where a.kind = 'restored' and a.ended_at is null and a.acknowledged_at is null)
$$;
comment on function private.is_copy() is 'Whether this is a restored copy that has not taken over.';

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
('pending_withdrawals'), ('withdrawals_approved'), ('withdrawals_approved_count'), ('withdrawals_rejected_count'), ('withdrawals_paid_count'),
('reserved'),
('bonuses'), ('bonus_rows'), ('bonus_transactions'), ('bonus_volume'), ('available_balance'),
('subscriptions_active'), ('subscriptions_suspended'), ('subscriptions_cancelled');

create table private.counter_deltas (
    id bigint generated always as identity,
    name text not null,
    delta numeric not null,
    -- The name first: one index, which the sum of a name is read along.
    primary key (name, id)
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
comment on table private.counter_deltas is 'Deltas since the last roll-up.';
alter table private.counter_deltas enable row level security;

-- Daily totals of deposits and withdrawals: the panel's chart and the coverage computation read a row a day instead
-- of every approved request. Changes are appended as deltas and rolled up with the counters, for the
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

create function private.first_flow_day() returns date
language sql stable set search_path = '' as $$
    select least((select min(f.day) from private.flow_days as f), (select min(c.day) from private.flow_deltas as c))
$$;
comment on function private.first_flow_day() is 'The first day with a deposit or withdrawal that was approved; null before.';

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
-- deleted, and their number is limited: in an hour, in a day, and of those that no deposit uses. One that was sent with
-- a deposit belongs to it, whatever became of the deposit. The final write of an upload runs as service_role without a
-- user: the trigger identifies the member by owner_id.

insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
values ('receipts', 'receipts', false, 5242880, array['image/png', 'image/jpeg', 'image/webp', 'application/pdf'])
on conflict (id) do update set
    public = excluded.public, file_size_limit = excluded.file_size_limit, allowed_mime_types = excluded.allowed_mime_types;

-- What a member's limits count, so that an upload looks at a few files and not at all that the member ever sent.
create table private.receipt_uploads (
    name text primary key
);
comment on table private.receipt_uploads is
'Receipts of the last day, and older ones that no deposit uses. jobs.purge() deletes the others.';
alter table private.receipt_uploads enable row level security;

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
    v_now timestamptz := pg_catalog.clock_timestamp();
    v_files integer;
    v_bytes bigint;
    v_hour integer;
    v_day integer;
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
        count(*) filter (where f.unused), coalesce(sum(f.size) filter (where f.unused), 0),
        count(*) filter (where f.created_at > v_now - interval '1 hour'),
        count(*) filter (where f.created_at > v_now - interval '1 day')
    into v_files, v_bytes, v_hour, v_day
    from (
        select
            o.created_at, (o.metadata ->> 'size')::bigint as size,
            not exists (select 1 from private.deposit_receipts as d where d.name = o.name) as unused
        from private.receipt_uploads as u
        inner join storage.objects as o on o.bucket_id = 'receipts' and u.name = o.name
        where u.name >= new.owner_id || '/' and u.name < new.owner_id || '0'
    ) as f;
    if v_files >= 20 or v_bytes >= 52428800 then
        perform private.raise_storage_error('You have 20 receipts or 50 MB that no deposit uses. They are deleted after a day.');
    end if;
    if v_hour >= 10 then
        perform private.raise_storage_error('You have uploaded 10 receipts within an hour. Try again later.');
    end if;
    if v_day >= 20 then
        perform private.raise_storage_error('You have uploaded 20 receipts within a day. Try again tomorrow.');
    end if;
    insert into private.receipt_uploads (name) values (new.name) on conflict do nothing;
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

-- Unused receipts. A receipt is uploaded before its deposit is requested, so some are never used and count towards the
-- limits: the worker deletes them after a day through the storage API. A receipt that a deposit uses is evidence and
-- cannot be deleted by any role: using it and deleting it exclude each other by a lock, and the later one fails.
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
    if exists (select 1 from private.deposit_receipts as d where d.name = old.name) then
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
    if exists (select 1 from private.deposit_receipts as d where d.name = p_name) then
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
        and not exists (select 1 from private.deposit_receipts as d where d.name = o.name)
    order by o.created_at
    limit p_max
$$;
comment on function jobs.unused_receipts(integer) is 'Receipts uploaded more than a day ago that no deposit uses, oldest first.';
grant execute on function jobs.unused_receipts(integer) to worker;

create function public.find_receipt(p_receipt_url text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_receipt private.deposit_receipts;
begin
    select * into v_receipt from private.deposit_receipts as d where d.name = private.receipt_name(p_receipt_url);
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no deposit with this receipt.');
    end if;
    perform private.audit('admin:' || v_admin.id, 'deposit.receipt_opened', 'deposit', v_receipt.deposit_id);
    return pg_catalog.jsonb_build_object('bucket', 'receipts', 'name', v_receipt.name);
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
-- pre_request.check_request() has run before. Triggers that keep sums up ask is_repairing() first: false here.
--   require_admin                       finance or super administrator, by the id in the token: my_role, auth.uid
--     require_totp                      with real money (is_demo, setting_text): the second step was shown
--   parse_action                        approve or reject; a rejection calls validate_reason
--   require_not_own_account             not for a member with the administrator's e-mail address
--   lock_money                          one decision at a time: lock_key
--   lock_members(upline_ids)            member, referrer and the referrer's referrer, by id
--                                       then the deposit, for no key update; already decided: the first response,
--                                       or raise_already_decided
--   next_decision_no, clock             place and time of the decision
--   credit_deposit                      cash-in and package
--     profiles _100_immutable           profiles_immutable: identity and place stay, a package never falls
--     profiles _500_sync_position       profiles_sync_position: package and payment go to the member's position, a first
--                                       payment with its current_decision_no; two figures to the counters
--       positions _500_network_update   positions_record_network_delta: the new package, for the networks above
--     profiles _500_update_verified_counter
--                                       profiles_update_verified_counter, increment_counter: if the account is complete
--     post_bonuses                      advances private.bonus_revision_seq, then looks for discrepancies
--       child_bonus_discrepancies       referral, pairing and override around the member: due_referrals,
--                                       due_pair_bonuses; below these pairs and the percentages
--       owner_bonus_discrepancies       the member's own pairings, if there is a second child: due_pairings
--         pair_source                   of pairs without a row: the child that completed it
--       write_bonuses                   raises stored rows, then inserts missing ones; a generated column calls
--                                       reentry_percent, new rows of most tables have a time_ordered_id
--         bonuses _100_immutable        bonuses_immutable: a bonus keeps its reason and only rises (updated rows)
--         bonuses _500_record_update    bonuses_record_update, clock: journal, sums, days and counters of updated rows
--         bonuses _500_record_insert    bonuses_record_insert: the same of inserted rows
--           totals _500_update_shortfall_counter
--                                       totals_update_shortfall_counter, increment_counter: of members who withdrew
--                                       or requested more than they have
--   update public.deposits              approved, by whom, when
--     deposits _100_immutable           deposits_immutable: decided once, and a claim never changes
--     deposits _200_credit_once         deposits_credit_once: an error where the same transfer was approved before
--     deposits _500_record_decision     deposits_record_decision: finalises the journal row, three figures to the counters
--       transactions _100_immutable     transactions_immutable: pending to completed, and nothing else
--       record_deposit_flow             the days of the request and of the decision
--   notify_decision, dollars            the message for the member
--     notify_member, clock, money       the notification, and the email unless the member opted out
--   deposit_decision_facts, money       what the entry of the audit log says
--   audit                               who decided what; takes no lock
--     audit_log _100_set_hash           audit_log_set_hash, entry_hash: the hash of the entry alone; the worker links it
--   request_json, money, audit_entries  the response

create table public.deposits (
    -- New ids stand together in every index that has one, also in that of what the audit log is about.
    id uuid primary key default private.time_ordered_id(),
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
    voided_at timestamptz,
    decision_no bigint,
    constraint pending_is_undecided check ((status = 'pending') = (decided_at is null)),
    constraint deposits_decided_by_matches_status check (
        (status = 'pending' and decided_by is null) or (status = 'approved' and decided_by is not null) or status = 'rejected'
    ),
    constraint an_administrators_decision_has_a_number check ((decided_by is null) = (decision_no is null)),
    constraint a_rejection_has_a_reason check (status <> 'rejected' or length(admin_notes) > 0),
    constraint only_approved_is_voided check (voided_at is null or status = 'approved')
) with (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02
);
comment on table public.deposits is 'Claimed USDT transfers. An approved row that is not voided counts as cash-in.';
comment on column public.deposits.reference_key is
'The first of the reference''s keys, as private.reference_keys returns them; private.deposit_keys has all.';
comment on column public.deposits.decision_no is
'Place of an administrator''s decision in the order of all; null while pending and when taken back.';
alter table public.deposits enable row level security;
-- A member's deposits, newest first; also the foreign key.
create index deposits_user_idx on public.deposits (user_id, created_at desc, id desc);
-- The admin list by status, newest first, and the pending counts.
create index deposits_status_idx on public.deposits (status, created_at desc, id desc);
create index deposits_created_idx on public.deposits (created_at desc, id desc);
-- With the time, as in the index of amounts below: a decision then writes a page that the one before has written.
create index deposits_decided_by_idx on public.deposits (decided_by, decided_at) where decided_by is not null;
-- A member's pending deposits, for the form and the limit.
create index deposits_pending_idx on public.deposits (user_id, created_at) where status = 'pending';
-- Lists sorted by amount.
create index deposits_amount_idx on public.deposits (amount, created_at, id);
-- The partial first day of "approved in the last 30 days" is summed row by row.
create index deposits_decided_flow_idx on public.deposits (decided_at) include (amount) where status = 'approved' and voided_at is null;

create policy select_own on public.deposits for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on public.deposits for select to platform_admin using (true);
create policy insert_own on public.deposits for insert to authenticated
with check (user_id = (select auth.uid()) and status = 'pending');
grant select on public.deposits to authenticated, platform_admin;
grant insert (id, user_id, amount, reference_number, receipt_url, status) on public.deposits to authenticated;
grant select on public.deposits to service_role;
grant insert (id, user_id, amount, reference_number, receipt_url, status) on public.deposits to service_role;
-- Not granted: update and delete, to any role. Decisions are made by a function.

-- What a reference is compared by. Deposits that share a key claim the same transfer, and one of them is approved.
-- Written once, with the request: an approval only reads.
create table private.deposit_keys (
    deposit_id uuid not null references public.deposits (id) on delete restrict,
    key text not null check (length(key) between 1 and 200),
    primary key (deposit_id, key)
);
comment on table private.deposit_keys is 'The keys of the deposits'' references. Deposits that share one claim the same transfer.';
alter table private.deposit_keys enable row level security;
-- Finds the other claims of a transfer.
create index deposit_keys_key_idx on private.deposit_keys (key);

-- The file sent with a deposit, in a table of its own for the same reason: an approval would write each index of it.
create table private.deposit_receipts (
    deposit_id uuid primary key references public.deposits (id) on delete restrict,
    name text not null unique,
    etag text
);
comment on table private.deposit_receipts is 'The receipt of each deposit: a file in the bucket receipts, and of no other deposit.';
comment on column private.deposit_receipts.etag is 'Hash of the file when the deposit was requested.';
alter table private.deposit_receipts enable row level security;
-- Finds the same file elsewhere, for the flag.
create index deposit_receipts_etag_idx on private.deposit_receipts (etag);

create function private.reference_keys(p_reference text) returns text[]
language plpgsql immutable strict set search_path = '' as $$
declare
    -- Letters and digits, without the two letters that are blank (those of half and full width become the second).
    v_text text := pg_catalog.regexp_replace(pg_catalog.lower(normalize(p_reference, nfkc)), '[^[:alnum:]]|[\u115f\u1160]', '', 'g');
    v_run text;
    v_keys text[] := '{}'::text[];
begin
    -- A transaction hash is 64 hexadecimal digits. In a longer run it may begin anywhere: words before and after it may
    -- end and begin with such digits too, like TXID.
    foreach v_run in array pg_catalog.regexp_split_to_array(v_text, '[^0-9a-f]+') loop
        for i in 1..pg_catalog.length(v_run) - 63 loop
            v_keys := v_keys || pg_catalog.substr(v_run, i, 64);
        end loop;
    end loop;
    if v_keys = '{}' and v_text <> '' then
        return array[pg_catalog.left(v_text, 200)];
    end if;
    return v_keys;
end
$$;
comment on function private.reference_keys(text) is
'Keys of a reference: every 64 consecutive hexadecimal digits among its letters and digits, lower case; where there are none, the letters and digits. Empty when there are neither.';

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
    perform private.lock_request(new.id);
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
    if not private.setting_text('deposit.open')::boolean then
        perform private.raise_error(
            403, 'deposits_closed', 'Deposits are closed at the moment. Send no USDT. If you already have, submit the request once they open again.'
        );
    end if;
    if v_member.id is null or v_member.email is null or v_member.trc20_wallet_address is null then
        perform private.raise_error(403, 'profile_incomplete', 'Please complete your profile and settings first');
    end if;
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    new.kind := private.deposit_kind(new.amount, v_member.package_value);
    new.reference_key := case when pg_catalog.length(new.reference_number) <= 200 then (private.reference_keys(new.reference_number))[1] end;
    if new.reference_key is null or not private.is_readable(new.reference_number) then
        perform private.raise_error(400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.');
    end if;
    select count(*) into v_pending from public.deposits as d where d.user_id = new.user_id and d.status = 'pending';
    if v_pending >= v_limit then
        perform private.raise_error(
            409, 'too_many_pending', pg_catalog.format('You have %s deposits waiting for review. Wait for a decision or cancel one.', v_pending)
        );
    end if;
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.voided_at := null;
    new.decision_no := null;
    return new;
end
$$;
comment on function private.deposits_validate() is
'Trigger: validates a new deposit under the member''s lock, in the order of the form. Errors: not_yours, duplicate_request, account_*, deposits_closed, profile_incomplete, forbidden, invalid_amount, package_required, downgrade, invalid_reference, too_many_pending.';

create function private.deposits_immutable() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.id, new.user_id, new.amount, new.reference_number, new.receipt_url, new.created_at, new.kind, new.reference_key)
        is distinct from (old.id, old.user_id, old.amount, old.reference_number, old.receipt_url, old.created_at, old.kind, old.reference_key)
        or (old.status <> 'pending' and (new.status, new.admin_notes, new.decided_at, new.decided_by, new.decision_no)
            is distinct from (old.status, old.admin_notes, old.decided_at, old.decided_by, old.decision_no))
        or (old.voided_at is not null and new.voided_at is distinct from old.voided_at)
        or (new.voided_at is distinct from old.voided_at and not private.is_being_corrected(new.user_id)) then
        perform private.raise_error(403, 'append_only', 'A deposit is decided once and never changed.');
    end if;
    return new;
end
$$;
comment on function private.deposits_immutable() is
'Trigger: a claim never changes; it is decided once; only a confirmed correction voids it. Errors: append_only.';

-- A transfer is approved once. The money lock makes the other approval visible: decide_deposit took it before.
create function private.deposits_credit_once() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if exists (
        select 1
        from private.deposit_keys as m
        inner join private.deposit_keys as o on m.key = o.key and m.deposit_id <> o.deposit_id
        inner join public.deposits as d on o.deposit_id = d.id
        where m.deposit_id = new.id and d.status = 'approved' and d.voided_at is null
    ) then
        perform private.raise_error(409, 'reference_used', 'This reference was already approved with another deposit.');
    end if;
    return new;
end
$$;
comment on function private.deposits_credit_once() is
'Trigger: rejects the approval of a transfer that was approved with another deposit. Errors: reference_used.';

-- What the entries of the audit log say of a deposit.
create function private.deposit_request_facts(p_deposit public.deposits) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_deposit).user_id, 'amount', private.money((p_deposit).amount), 'reference_number', (p_deposit).reference_number
    )
$$;
comment on function private.deposit_request_facts(public.deposits) is 'Payload of deposit.requested.';

create function private.deposit_decision_facts(p_deposit public.deposits) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_deposit).user_id, 'amount', private.money((p_deposit).amount),
        'reason', (p_deposit).admin_notes, 'decision_no', (p_deposit).decision_no
    )
$$;
comment on function private.deposit_decision_facts(public.deposits) is
'Payload of deposit.approved, deposit.rejected and deposit.cancelled.';

create function private.deposits_record_request() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_receipt text := private.receipt_name(new.receipt_url);
begin
    insert into private.deposit_receipts (deposit_id, name, etag)
    values (new.id, v_receipt, private.check_receipt(new.user_id, v_receipt, new.kind = 'first'));
    insert into private.deposit_keys (deposit_id, key)
    select distinct new.id, k.key from pg_catalog.unnest(private.reference_keys(new.reference_number)) as k (key);
    insert into private.request_texts (request_id, text) values (new.id, pg_catalog.lower(new.reference_number));
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, new.amount, 'deposit', 'pending', new.id, new.created_at);
    perform private.increment_counter('pending_deposits', 1);
    perform private.audit(private.requester(), 'deposit.requested', 'deposit', new.id, private.deposit_request_facts(new), new.created_at);
    return null;
end
$$;
comment on function private.deposits_record_request() is 'Trigger: receipt, keys, search text, journal row, counter and audit entry of a new deposit. Errors: invalid_receipt, receipt_used, receipt_must_be_image.';

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
    update public.transactions as t set
        status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status,
        decision_no = new.decision_no
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
create trigger _200_credit_once before update of status on public.deposits
for each row when (old.status <> 'approved' and new.status = 'approved') execute function private.deposits_credit_once();
create trigger _500_record_request after insert on public.deposits for each row execute function private.deposits_record_request();
create trigger _500_record_decision after update of status on public.deposits
for each row when (old.status is distinct from new.status) execute function private.deposits_record_decision();
create trigger _500_record_void after update of voided_at on public.deposits
for each row when (old.voided_at is null and new.voided_at is not null) execute function private.deposits_record_void();
create trigger _100_reject_change before update or delete or truncate on private.deposit_keys
for each statement execute function private.reject_change();
create trigger _100_reject_change before update or delete or truncate on private.deposit_receipts
for each statement execute function private.reject_change();

create view private.transfers_credited_twice as
select distinct
    k.deposit_id,
    d.user_id
from private.deposit_keys as k
inner join public.deposits as d on k.deposit_id = d.id
where
    d.status = 'approved' and d.voided_at is null
    and exists (
        select 1
        from private.deposit_keys as o
        inner join public.deposits as c on o.deposit_id = c.id
        where o.key = k.key and o.deposit_id <> k.deposit_id and c.status = 'approved' and c.voided_at is null
    );
comment on view private.transfers_credited_twice is
'Approved deposits that share a key with another one; each of them is a row. None while every transfer is approved once.';

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
'Effects of an approval: cash-in, package, bonuses. Call under the locks, before the row is approved.';

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
    perform private.require_no_alarm(v_deposit.user_id);
    v_deposit.decision_no := private.next_decision_no();
    v_deposit.decided_at := private.clock();
    if v_status = 'approved' then
        perform private.credit_deposit(v_deposit);
    end if;
    update public.deposits as d set
        status = v_status, admin_notes = v_reason, decided_at = v_deposit.decided_at, decided_by = v_admin.id, decision_no = v_deposit.decision_no
    where d.id = p_deposit_id and d.status = 'pending'
    returning d.* into v_deposit;
    perform private.notify_decision('deposit', v_deposit.user_id, v_deposit.amount, v_status, v_reason);
    perform private.audit(
        'admin:' || v_admin.id, 'deposit.' || v_status, 'deposit', v_deposit.id, private.deposit_decision_facts(v_deposit), v_deposit.decided_at
    );
    return pg_catalog.jsonb_build_object('success', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit))) || private.audit_entries();
end
$$;
comment on function public.decide_deposit(uuid, text, text) is
'Finance and super administrators: approves or rejects a pending deposit, once; approval credits cash-in, package and bonuses. Errors: forbidden, invalid_action, invalid_reason, not_found, own_account, reference_used, already_decided, ledger_alarm, try_again.';
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
        'deposits_open', private.setting('deposit.open'),
        'deposit_address', case when private.setting_text('deposit.open')::boolean then private.setting_text('deposit.address') end,
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
                        'receipt_url', d.receipt_url,
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
-- and no before and after values. The same transfer and the same receipt file are flagged whoever claimed them before,
-- the same member too, and whatever became of that. The flags are plpgsql: in SQL they would be planned for every row,
-- five thousand times for the full list.

create function private.repetition_texts(p_what text, p_ids uuid[]) returns setof text
language sql stable set search_path = '' as $$
    with texts as (
        select
            v.text,
            count(*) as requests,
            row_number() over (
                order by bool_or(d.status = 'approved') desc, bool_or(d.status = 'pending') desc, max(d.created_at) desc, v.text
            ) as place
        from public.deposits as d
        inner join private.profiles as q on d.user_id = q.user_id
        cross join lateral (
            select pg_catalog.to_char(coalesce(d.voided_at, d.decided_at, d.created_at) at time zone 'UTC', 'FMDD Mon YYYY') as day
        ) as w
        cross join lateral (
            select case
                when d.status = 'pending' then pg_catalog.format('Same %s as %s, %s', p_what, q.username, w.day)
                when d.voided_at is not null then pg_catalog.format('This %s was voided on %s (%s)', p_what, w.day, q.username)
                when d.decided_by is null then pg_catalog.format('This %s was cancelled on %s (%s)', p_what, w.day, q.username)
                else pg_catalog.format('This %s was %s on %s (%s)', p_what, d.status, w.day, q.username)
            end as text
        ) as v
        where d.id = any(p_ids)
        group by v.text
    )

    select l.text
    from (
        select t.text, t.place from texts as t where t.place <= 3
        union all
        select pg_catalog.format('Same %s in %s more %s', p_what, sum(t.requests), case sum(t.requests) when 1 then 'request' else 'requests' end), 4
        from texts as t where t.place > 3
        having count(*) > 0
    ) as l
    order by l.place
$$;
comment on function private.repetition_texts(text, uuid[]) is
'Says who else claimed the same reference or receipt file, when, and what became of it: approved ones first, then pending ones, three by name, and how many more there are.';

create function private.deposit_flags(p_deposit public.deposits, p_member private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_same_transfer uuid[] := array(
        select distinct o.deposit_id
        from private.deposit_keys as m
        inner join private.deposit_keys as o on m.key = o.key and m.deposit_id <> o.deposit_id
        where m.deposit_id = (p_deposit).id
    );
    v_same_file uuid[] := array(
        select o.deposit_id
        from private.deposit_receipts as m
        inner join private.deposit_receipts as o on m.etag = o.etag and m.deposit_id <> o.deposit_id
        where m.deposit_id = (p_deposit).id
    );
    v_shared text := private.wallet_sharers((p_member).trc20_wallet_address, (p_member).id);
    v_age interval := (p_deposit).created_at - (p_member).created_at;
    v_new boolean := v_age < interval '1 day' and (p_deposit).amount >= (select max(k.value) from private.packages as k);
    v_blocked boolean := (p_member).account_status in ('suspended', 'disabled');
begin
    -- Most have none.
    if v_same_transfer = '{}' and v_same_file = '{}' and v_shared is null and not v_new and not v_blocked then
        return '[]'::jsonb;
    end if;
    return (
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text))
        from (
            select 'same_reference' as kind, r.text from private.repetition_texts('reference', v_same_transfer) as r (text)
            union all
            select 'same_receipt', r.text from private.repetition_texts('receipt file', v_same_file) as r (text)
            union all
            select 'address_shared', pg_catalog.format('Also the wallet of %s', v_shared) where v_shared is not null
            union all
            select 'new_account', pg_catalog.format('Requested %s after signing up', private.age_text(v_age)) where v_new
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status) where v_blocked
        ) as f
    );
end
$$;
comment on function private.deposit_flags(public.deposits, private.profiles) is
'Flags of a pending deposit: the same transfer claimed elsewhere, the same receipt file, a wallet that others have too, as much as the largest package within a day of signing up, a blocked member.';

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
            'joined_at', p.created_at,
            'decided_by_name', coalesce(a.full_name, a.email),
            'cancelled', d.status = 'rejected' and d.decided_by is null,
            'due_at', d.created_at + e.due_after,
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
    cross join (select private.review_interval() as due_after) as e
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
    id uuid primary key default private.time_ordered_id(),
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
    decision_no bigint,
    constraint pending_is_undecided check ((status = 'pending') = (decided_at is null)),
    constraint withdrawals_decided_by_matches_status check (
        (status = 'pending' and decided_by is null) or (status = 'approved' and decided_by is not null) or status = 'rejected'
    ),
    constraint an_administrators_decision_has_a_number check ((decided_by is null) = (decision_no is null)),
    constraint a_rejection_has_a_reason check (status <> 'rejected' or length(admin_notes) > 0),
    constraint only_approved_is_paid check (payout_reference is null or status = 'approved'),
    constraint a_payout_has_its_time check ((payout_reference is null) = (payout_at is null)),
    constraint only_unpaid_is_voided check (voided_at is null or (status = 'approved' and payout_reference is null))
);
comment on table public.withdrawals is 'Withdrawal requests. Pending rows reserve balance; approved and not voided ones reduce it.';
comment on column public.withdrawals.decision_no is
'Place of an administrator''s decision in the order of all; null while pending and when taken back.';
alter table public.withdrawals enable row level security;
create index withdrawals_user_idx on public.withdrawals (user_id, created_at desc, id desc);
create index withdrawals_status_idx on public.withdrawals (status, created_at desc, id desc);
create index withdrawals_created_idx on public.withdrawals (created_at desc, id desc);
create index withdrawals_decided_by_idx on public.withdrawals (decided_by, decided_at) where decided_by is not null;
-- A member's pending withdrawals, for the form.
create index withdrawals_pending_idx on public.withdrawals (user_id, created_at) where status = 'pending';
-- When approved ones were taken from the balance, read without the table.
create index withdrawals_taken_idx on public.withdrawals (user_id, decided_at) include (id, amount, decision_no) where status = 'approved';
create index withdrawals_amount_idx on public.withdrawals (amount, created_at, id);
-- The admin list of what is to be paid, and of what was.
create index withdrawals_unpaid_idx on public.withdrawals (created_at desc, id desc)
where status = 'approved' and payout_reference is null and voided_at is null;
create index withdrawals_paid_idx on public.withdrawals (created_at desc, id desc) where payout_reference is not null;
-- Finds the other payouts with a reference, in whatever spelling.
create index withdrawals_payout_keys_idx on public.withdrawals
using gin (private.reference_keys(payout_reference)) with (gin_pending_list_limit = 256) where payout_reference is not null;

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
    perform private.lock_request(new.id);
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
    new.decision_no := null;
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
        or (old.status <> 'pending' and (new.status, new.admin_notes, new.decided_at, new.decided_by, new.decision_no)
            is distinct from (old.status, old.admin_notes, old.decided_at, old.decided_by, old.decision_no))
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

-- What the entries of the audit log say of a withdrawal.
create function private.withdrawal_request_facts(p_withdrawal public.withdrawals) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_withdrawal).user_id, 'amount', private.money((p_withdrawal).amount), 'wallet_address', (p_withdrawal).wallet_address
    )
$$;
comment on function private.withdrawal_request_facts(public.withdrawals) is 'Payload of withdrawal.requested.';

create function private.withdrawal_decision_facts(p_withdrawal public.withdrawals) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_withdrawal).user_id, 'amount', private.money((p_withdrawal).amount), 'wallet_address', (p_withdrawal).wallet_address,
        'reason', (p_withdrawal).admin_notes, 'decision_no', (p_withdrawal).decision_no
    )
$$;
comment on function private.withdrawal_decision_facts(public.withdrawals) is
'Payload of withdrawal.approved, withdrawal.rejected and withdrawal.cancelled.';

create function private.payout_facts(p_withdrawal public.withdrawals) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_withdrawal).user_id, 'amount', private.money((p_withdrawal).amount), 'wallet_address', (p_withdrawal).wallet_address,
        'payout_reference', (p_withdrawal).payout_reference
    )
$$;
comment on function private.payout_facts(public.withdrawals) is 'Payload of withdrawal.paid.';

create function private.withdrawals_record_request() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    insert into private.request_texts (request_id, text) values (new.id, pg_catalog.lower(new.wallet_address));
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, -new.amount, 'withdrawal', 'pending', new.id, new.created_at);
    update private.totals as t set reserved_amount = t.reserved_amount + new.amount where t.user_id = new.user_id;
    perform private.increment_counter('pending_withdrawals', 1);
    perform private.increment_counter('reserved', new.amount);
    perform private.audit(
        private.requester(), 'withdrawal.requested', 'withdrawal', new.id, private.withdrawal_request_facts(new), new.created_at
    );
    return null;
end
$$;
comment on function private.withdrawals_record_request() is 'Trigger: search text, journal row, reserved amount, counters and audit entry of a new withdrawal.';

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
    update public.transactions as t set
        status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status,
        decision_no = new.decision_no
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

create function private.withdrawals_record_payout() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.increment_counter('withdrawals_paid_count', 1);
    return null;
end
$$;
comment on function private.withdrawals_record_payout() is 'Trigger: counts a withdrawal whose payout was recorded.';

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
create trigger _500_record_payout after update of payout_reference on public.withdrawals
for each row when (old.payout_reference is null and new.payout_reference is not null) execute function private.withdrawals_record_payout();
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
                case (p_member).hold_reason when 'factor' then 'second factor' else (p_member).hold_reason end
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

-- One transfer may pay several withdrawals, so a reference may come again; but only when the administrator says so. The
-- money lock makes the other payouts visible.
create function private.require_new_payout(p_withdrawal_id uuid, p_reference text) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_others jsonb;
    v_paid text;
begin
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object('username', o.username, 'amount', private.money(o.amount), 'payout_at', o.payout_at) order by o.payout_at desc
        ),
        pg_catalog.string_agg(pg_catalog.format('%s of %s', private.dollars(o.amount), o.username), ', ' order by o.payout_at desc)
    into v_others, v_paid
    from (
        select w.amount, w.payout_at, p.username
        from public.withdrawals as w
        inner join private.profiles as p on w.user_id = p.user_id
        where w.payout_reference is not null and private.reference_keys(w.payout_reference) && private.reference_keys(p_reference)
            and w.id <> p_withdrawal_id
        order by w.payout_at desc
        limit 3
    ) as o;
    if v_others is not null then
        perform private.raise_error(
            409, 'payout_reference_used', pg_catalog.format('This payout reference is already recorded for %s.', v_paid), v_others::text
        );
    end if;
end
$$;
comment on function private.require_new_payout(uuid, text) is
'Raises when another withdrawal was paid with this reference, in whatever spelling; details name the latest three. Errors: payout_reference_used.';

-- The member reads the payout reference, so it must be readable, whether it is recorded with the approval or later.
create function private.add_payout_reference(
    p_withdrawal public.withdrawals, p_admin private.admin_users, p_reference text, p_shared boolean
)
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
    if p_shared is not true then
        perform private.require_new_payout((p_withdrawal).id, v_reference);
    end if;
    update public.withdrawals as w set payout_reference = v_reference, payout_at = private.clock()
    where w.id = (p_withdrawal).id
    returning w.* into v_withdrawal;
    perform private.audit(
        'admin:' || (p_admin).id, 'withdrawal.paid', 'withdrawal', v_withdrawal.id, private.payout_facts(v_withdrawal), v_withdrawal.payout_at
    );
    return v_withdrawal;
end
$$;
comment on function private.add_payout_reference(public.withdrawals, private.admin_users, text, boolean) is
'Records once how an approved withdrawal was paid; p_shared: by a transfer that paid others too. Errors: invalid_reference, payout_recorded, voided, payout_reference_used.';

create function public.decide_withdrawal(
    p_withdrawal_id uuid, p_action text, p_reason text default null, p_payout_reference text default null,
    p_shared_payout boolean default false
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
        v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid, p_shared_payout);
        return pg_catalog.jsonb_build_object(
            'success', true, 'already', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal))
        ) || private.audit_entries();
    end if;
    perform private.require_no_alarm(v_withdrawal.user_id);
    if v_status = 'approved' then
        perform private.check_payable(v_withdrawal, v_member);
    end if;
    update public.withdrawals as w set
        status = v_status, admin_notes = v_reason, decided_at = private.clock(), decided_by = v_admin.id, decision_no = private.next_decision_no()
    where w.id = p_withdrawal_id and w.status = 'pending'
    returning w.* into v_withdrawal;
    perform private.notify_decision('withdrawal', v_withdrawal.user_id, v_withdrawal.amount, v_status, v_reason);
    perform private.audit(
        'admin:' || v_admin.id, 'withdrawal.' || v_status, 'withdrawal', v_withdrawal.id,
        private.withdrawal_decision_facts(v_withdrawal), v_withdrawal.decided_at
    );
    v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid, p_shared_payout);
    return pg_catalog.jsonb_build_object('success', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal)))
        || private.audit_entries();
end
$$;
comment on function public.decide_withdrawal(uuid, text, text, text, boolean) is
'Finance and super administrators: approves (it will be paid) or rejects a pending withdrawal, once; a payout reference may be added once later. p_shared_payout confirms that the reference is of a transfer that paid others too. Errors: forbidden, invalid_action, invalid_reason, not_found, own_account, already_decided, ledger_alarm, account_blocked, on_hold, insufficient_available_balance, invalid_reference, payout_recorded, voided, payout_reference_used, try_again.';
grant execute on function public.decide_withdrawal(uuid, text, text, text, boolean) to platform_admin;

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
        select coalesce(
            pg_catalog.jsonb_agg(pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text, 'until', f.until))), '[]'
        )
        from (
            select 'checksum' as kind, 'This does not look like a TRC20 address' as text, null::timestamptz as until
            where not private.is_trc20_address((p_withdrawal).wallet_address)
            union all
            (
                select
                    'address_changed',
                    pg_catalog.format(
                        'Wallet address changed on %s', pg_catalog.to_char(l.at at time zone 'UTC', 'FMDD Mon YYYY')
                    ),
                    null
                from private.audit_log as l
                where
                    l.object_id = (p_member).id
                    and l.action = 'member.wallet_changed'
                    and l.payload ->> 'from' is not null
                    and l.at > pg_catalog.now() - interval '7 days'
                order by l.id desc
                limit 1
            )
            union all
            select 'address_shared', pg_catalog.format('Also the wallet of %s', s.usernames), null
            from private.wallet_sharers((p_withdrawal).wallet_address, (p_member).id) as s (usernames)
            where s.usernames is not null
            union all
            select 'hold', pg_catalog.format(
                'On hold until %s UTC, 24 hours after a change of %s',
                pg_catalog.to_char((p_member).hold_until at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'),
                case (p_member).hold_reason when 'factor' then 'second factor' else (p_member).hold_reason end
            ), (p_member).hold_until
            where (p_member).hold_until > pg_catalog.now()
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status), null
            where (p_member).account_status in ('suspended', 'disabled')
        ) as f
    );
end
$$;
comment on function private.withdrawal_flags(public.withdrawals, private.profiles) is
'Flags of a pending withdrawal: no TRC20 address, wallet changed within 7 days or shared with other members, on hold and until when, blocked.';

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
            'joined_at', p.created_at,
            'decided_by_name', coalesce(a.full_name, a.email),
            'cancelled', w.status = 'rejected' and w.decided_by is null,
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
'Administrators: withdrawals with their members. Filters as in list_deposits, status also paid and unpaid; search matches member and wallet address. Errors: forbidden, session_ended, invalid_filter.';
grant execute on function public.list_withdrawals(jsonb) to platform_admin;

-- Whom a ledger check looks at: everybody, some members, or a range of all. A rule has one text for all three
-- (250_ledger_checks.sql): it asks private.is_asked of each row. That is inlined, and of a constant part one branch is left
-- before planning: no condition, a list, or a range of the index, which is read from end to end instead of searched for
-- each member. So a rule's function has custom plans.

create type private.ledger_part as (
    users uuid array, first_user uuid, until_user uuid, nos integer array, first_no integer, until_no integer
);
comment on type private.ledger_part is
'Members by id and positions by number, a list or a range each, without its end; without an end, all the rest; null: everybody.';

create function private.is_asked(p_part private.ledger_part, p_user uuid) returns boolean
language sql immutable parallel safe as $$
    select case
        when (p_part).users is not null then p_user = any((p_part).users)
        when (p_part).until_user is not null then p_user >= (p_part).first_user and p_user < (p_part).until_user
        when (p_part).first_user is not null then p_user >= (p_part).first_user
        else true
    end
$$;
comment on function private.is_asked(private.ledger_part, uuid) is 'Whether a member is in this part.';

create function private.is_asked(p_part private.ledger_part, p_no integer) returns boolean
language sql immutable parallel safe as $$
    select case
        when (p_part).nos is not null then p_no = any((p_part).nos)
        when (p_part).until_no is not null then p_no >= (p_part).first_no and p_no < (p_part).until_no
        when (p_part).first_no is not null then p_no >= (p_part).first_no
        else true
    end
$$;
comment on function private.is_asked(private.ledger_part, integer) is 'Whether a position is in this part.';

create function private.is_everybody(p_part private.ledger_part) returns boolean
language sql immutable parallel safe as $$
    select pg_catalog.num_nonnulls((p_part).users, (p_part).first_user, (p_part).nos, (p_part).first_no) = 0
$$;
comment on function private.is_everybody(private.ledger_part) is 'Whether this part is everybody.';

-- What deposits and withdrawals share. A request is decided once: pending to approved or rejected by compare-and-set,
-- in one transaction with journal row, cash-in, package, bonuses, notification and audit row. A repeated call by the
-- same administrator returns the first result; any other gets already_decided with who and when. Locks: money, then
-- members by id.

-- A new request looks for a row with its id, so that a retry makes no second one. Two members' requests of one id do
-- not see each other's row yet: the second waits here until the first is committed.
create function private.lock_request(p_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('request'), pg_catalog.hashtext(p_id::text));
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_request(uuid) is
'Serialises new requests of one id; taken after the member. Errors: try_again.';

create function private.requester() returns text
language plpgsql stable set search_path = '' as $$
begin
    return case private.my_role() when 'authenticated' then 'member:' || auth.uid() when 'service_role' then 'service' else 'system' end;
end
$$;
comment on function private.requester() is 'Who makes a new request, for its audit entry: the member, a service, or the system, which plays the sample data.';

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

create function private.cancel_requests(p_user_id uuid, p_id uuid, p_reason text) returns integer
language plpgsql volatile set search_path = '' as $$
declare
    v_deposit public.deposits;
    v_withdrawal public.withdrawals;
    v_cancelled integer := 0;
begin
    for v_deposit in
        update public.deposits as d set status = 'rejected', admin_notes = p_reason, decided_at = private.clock()
        where d.user_id = p_user_id and d.status = 'pending' and d.id = coalesce(p_id, d.id)
        returning d.*
    loop
        v_cancelled := v_cancelled + 1;
        perform private.audit(
            'member:' || p_user_id, 'deposit.cancelled', 'deposit', v_deposit.id,
            private.deposit_decision_facts(v_deposit), v_deposit.decided_at
        );
    end loop;
    for v_withdrawal in
        update public.withdrawals as w set status = 'rejected', admin_notes = p_reason, decided_at = private.clock()
        where w.user_id = p_user_id and w.status = 'pending' and w.id = coalesce(p_id, w.id)
        returning w.*
    loop
        v_cancelled := v_cancelled + 1;
        perform private.audit(
            'member:' || p_user_id, 'withdrawal.cancelled', 'withdrawal', v_withdrawal.id,
            private.withdrawal_decision_facts(v_withdrawal), v_withdrawal.decided_at
        );
    end loop;
    return v_cancelled;
end
$$;
comment on function private.cancel_requests(uuid, uuid, text) is
'Takes a member''s pending requests back, or the one with this id: rejected for this reason, by no administrator. Returns how many. Call under the member''s lock.';

-- A pending account may not request anything new, but may cancel its own requests.
create function public.cancel_request(p_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_row jsonb;
begin
    -- Status pending blocks only new requests.
    perform private.require_active_status(nullif((private.lock_member(auth.uid())).account_status, 'pending'));
    -- Without an id all would be cancelled.
    if p_id is not null and private.cancel_requests(auth.uid(), p_id, 'Cancelled by the member') > 0 then
        perform private.require_no_alarm(auth.uid());
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
'A member, also a pending one, cancels an own pending deposit or withdrawal; it becomes rejected, ''Cancelled by the member''. Errors: not_found, already_decided, ledger_alarm, account_disabled, account_suspended.';
grant execute on function public.cancel_request(uuid) to authenticated;

-- One paged admin list for both.

-- What a search looks for, apart from the requests: a decision changes their rows, and a trigram index would then be
-- written again, in some thirty places, for a text that is still the same.
create table private.request_texts (
    request_id uuid primary key,
    text text not null
);
comment on table private.request_texts is
'References of deposits and addresses of withdrawals in lower case. Written with the request, never changed.';
comment on column private.request_texts.request_id is
'A deposit or a withdrawal. No foreign key: only their triggers write here, and requests are never deleted.';
alter table private.request_texts enable row level security;
create index request_texts_search_idx on private.request_texts
using gin (text extensions.gin_trgm_ops) with (gin_pending_list_limit = 256);
create trigger _100_reject_change before update or delete or truncate on private.request_texts
for each statement execute function private.reject_change();

create function private.review_interval() returns interval
language sql stable set search_path = '' as $$
    select pg_catalog.make_interval(hours => private.setting_text('review.due_hours')::integer)
$$;
comment on function private.review_interval() is 'Time within which a request should be decided.';

create function private.wallet_sharers(p_wallet text, p_member_id uuid) returns text
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.string_agg(s.username, ', ' order by s.place) filter (where s.place <= 3)
            || case when count(*) > 3 then pg_catalog.format(' and %s more', count(*) - 3) else '' end
        from (
            select q.username, row_number() over (order by q.created_at, q.username) as place from private.profiles as q
            where q.trc20_wallet_address = p_wallet and q.id <> p_member_id
        ) as s
    );
end
$$;
comment on function private.wallet_sharers(text, uuid) is
'Which other members have this wallet: "ask, buri, embla and 57 more", those who joined first by name; null when nobody has.';

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
language plpgsql stable set search_path = '' as $$
declare
    v_approved bigint := private.counter_value(p_noun || '_approved_count');
    v_paid bigint;
begin
    if p_noun = 'withdrawals' then
        v_paid := private.counter_value('withdrawals_paid_count');
    end if;
    return pg_catalog.jsonb_build_object(
        'pending', private.counter_value('pending_' || p_noun)::bigint,
        'approved', v_approved,
        'rejected', private.counter_value(p_noun || '_rejected_count')::bigint
    ) || case when v_paid is null then '{}'::jsonb else pg_catalog.jsonb_build_object(
        'paid', v_paid,
        'unpaid', v_approved - v_paid - (
            -- Corrections are few, and void nothing that was paid.
            select count(*) from private.corrections as c where c.kind = 'void_withdrawal' and c.confirmed_by is not null
        )
    ) end;
end
$$;
comment on function private.request_counts(text) is
'Number of deposits or withdrawals by status, from counters; of approved withdrawals also how many were paid and how many wait for that.';

-- Asked again and again while a list is looked at: rows by their ids, and counters.
create function public.get_request_changes(p_noun text, p_ids uuid[]) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin();
    if p_noun is null or p_noun not in ('deposits', 'withdrawals') or pg_catalog.cardinality(p_ids) > 500 then
        perform private.raise_error(400, 'invalid_filter', 'Name deposits or withdrawals, and at most 500 of them.');
    end if;
    return pg_catalog.jsonb_build_object(
        'counts', private.request_counts(p_noun),
        'decided', (
            select coalesce(
                pg_catalog.jsonb_agg(pg_catalog.to_jsonb(r) || pg_catalog.jsonb_build_object('decided_by_name', coalesce(a.full_name, a.email))), '[]'
            )
            from (
                select d.id, d.status, d.admin_notes, d.decided_at, d.decided_by, d.voided_at, null as payout_reference
                from public.deposits as d where p_noun = 'deposits' and d.id = any(p_ids) and d.status <> 'pending'
                union all
                select w.id, w.status, w.admin_notes, w.decided_at, w.decided_by, w.voided_at, w.payout_reference
                from public.withdrawals as w where p_noun = 'withdrawals' and w.id = any(p_ids) and w.status <> 'pending'
            ) as r
            left join private.admin_users as a on r.decided_by = a.id
        )
    );
end
$$;
comment on function public.get_request_changes(text, uuid[]) is
'Administrators: how many deposits or withdrawals there are now, and which of these ids are decided, by whom. Errors: forbidden, session_ended, invalid_filter.';
grant execute on function public.get_request_changes(text, uuid[]) to platform_admin;

create function private.newest_requests(p_table text, p_pending_from text, p_pending bigint) returns uuid[]
language plpgsql stable set search_path = '' as $$
declare
    v_ids uuid[];
begin
    execute pg_catalog.format(
        $query$
        select array(
            select a.id
            from (
                (select r.id, r.created_at from %2$s as r where r.status = 'pending' order by r.created_at desc, r.id desc limit 5000)
                union all
                (select r.id, r.created_at from public.%1$I as r where r.status <> 'pending' order by r.created_at desc, r.id desc limit $1)
            ) as a
            order by a.created_at desc, a.id desc
        )
        $query$, p_table, p_pending_from
    ) into v_ids using greatest(5000 - p_pending, 0);
    return v_ids;
end
$$;
comment on function private.newest_requests(text, text, bigint) is
'All pending rows of deposits, withdrawals or transactions, which p_pending_from finds, and the newest others: ids of at most 5,000 together, newest first.';

create function private.request_page(
    p_table text, p_text_column text, p_request private.list_request, p_counts jsonb,
    out ids uuid[], out total bigint, out more boolean
)
language plpgsql stable set search_path = '' as $$
declare
    v_all bigint := (p_counts ->> 'pending')::bigint + (p_counts ->> 'approved')::bigint + (p_counts ->> 'rejected')::bigint;
    v_status text := coalesce(
        case
            when p_table = 'withdrawals' and (p_request).status = 'paid' then ' and r.payout_reference is not null'
            when p_table = 'withdrawals' and (p_request).status = 'unpaid'
                then ' and r.status = ''approved'' and r.payout_reference is null and r.voided_at is null'
            else ' and r.status = ' || pg_catalog.quote_literal((p_request).status) || '::public.request_status'
        end, ''
    );
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
        ids := private.newest_requests(p_table, 'public.' || p_table, (p_counts ->> 'pending')::bigint);
        total := v_all;
        return;
    end if;
    if not p_counts ? coalesce((p_request).status, 'pending') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    select o.up, o.down into v_up, v_down
    from (
        values
        ('created_at', 'r.created_at, r.id', 'r.created_at desc, r.id desc'),
        ('amount', 'r.amount, r.created_at, r.id', 'r.amount desc, r.created_at desc, r.id desc'),
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
                    where private.member_search_text(p.username, p.display_name, p.email) like $1 %2$s
                    limit 10001
                )
                union
                (
                    select r.id from private.request_texts as x inner join public.%1$I as r on x.request_id = r.id
                    where x.text like $1 %2$s
                    limit 10001
                )
            ) as f
            limit 10001
        )
        $query$, p_table, v_status
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
-- row would be a nested loop over all. pair_source() runs for new pairs only, and a reconciliation looks up stored
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
    id uuid primary key default private.time_ordered_id(),
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
    autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02,
    -- Room on each page for the bonus that an upgrade raises.
    fillfactor = 90
);
comment on table public.bonuses is
'Current amount of every bonus. Source: the referred member of a referral, the member who completed the pair of a pairing, the pair owner of an override.';
alter table public.bonuses enable row level security;
-- The natural keys, in the order in which the engine computes its rows. They make another index on subject_no
-- unnecessary. No index has an amount, not even beside its key: a bonus that changes then writes none.
create unique index bonuses_referral_key on public.bonuses (subject_no) where bonus_type = 'referral';
create unique index bonuses_pairing_key on public.bonuses (subject_no, pair_number) where bonus_type = 'pairing';
create unique index bonuses_override_key on public.bonuses (subject_no, pair_number) where bonus_type = 'override';
create index bonuses_user_idx on public.bonuses (user_id, created_at desc, id desc);
create index bonuses_source_idx on public.bonuses (source_user_id);

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

-- After the statement and for all its rows at once: a trigger before each row locks the row first, which is logged as
-- well. Without nested loops, as in bonuses_record_update().
create function private.bonuses_immutable() returns trigger
language plpgsql volatile set search_path = '' set enable_nestloop = off as $$
declare
    v_broken record;
begin
    select
        -- A pair that pays again may have been completed by its other child.
        bool_or(
            (n.user_id, n.bonus_type, n.subject_no, n.pair_number, n.created_at)
                is distinct from (o.user_id, o.bonus_type, o.subject_no, o.pair_number, o.created_at)
            or (n.source_user_id <> o.source_user_id and (o.amount > 0 or o.bonus_type <> 'pairing'))
        ) as key,
        bool_or(n.amount < o.amount) as amount
    into v_broken
    from before as o left join after as n on o.id = n.id;
    if v_broken.key then
        perform private.raise_error(403, 'append_only', 'A bonus keeps its reason and its date.');
    end if;
    if v_broken.amount and nullif(pg_catalog.current_setting('app.allow_bonus_decrease', true), '') is distinct from 'on' then
        perform private.raise_error(403, 'append_only', 'A bonus only rises. A correction can lower it.');
    end if;
    return null;
end
$$;
comment on function private.bonuses_immutable() is
'Trigger: a bonus keeps its key and only increases, except within a correction or a repair. Errors: append_only.';

create function private.bonuses_record_insert() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_decision_no bigint := private.current_decision_no();
begin
    perform pg_catalog.nextval('private.bonus_revision_seq');
    if private.is_repairing() then
        return null;
    end if;
    with journal as (
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        select n.user_id, n.amount, 'bonus', 'completed', n.id, n.created_at, v_decision_no from added as n where n.amount <> 0
    ), sums as (
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
            from added as n where n.amount > 0 group by n.user_id
        ) as s
        where t.user_id = s.user_id
    ), days as (
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
        from added as n where n.bonus_type = 'referral' and n.amount > 0
    )
    insert into private.counter_deltas (name, delta)
    select c.name, c.delta
    from (select sum(n.amount) as amount, count(*) filter (where n.amount > 0) as rows from added as n) as s
    cross join lateral (
        values ('bonuses', s.amount), ('bonus_rows', s.rows), ('bonus_transactions', s.rows), ('bonus_volume', s.amount)
    ) as c (name, delta)
    where c.delta <> 0;
    return null;
end
$$;
comment on function private.bonuses_record_insert() is 'Trigger: journal rows, totals, daily deltas and counters of new bonuses; a repair books its own.';

create function private.bonuses_record_update() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_now timestamptz := private.clock();
    v_decision_no bigint := private.current_decision_no();
begin
    perform pg_catalog.nextval('private.bonus_revision_seq');
    if private.is_repairing() then
        return null;
    end if;
    -- Sorted or hashed by the bonus, never joined: a plan is made for the first update of a connection, which is
    -- often of one row, and a nested loop over the next ten thousand would be quadratic.
    with changed as materialized (
        select
            c.id,
            c.user_id,
            c.bonus_type,
            c.subject_no,
            c.created_at,
            sum(c.amount) as amount,
            sum(c.reentry) as reentry,
            sum(c.paid) as paid
        from (
            select n.id, n.user_id, n.bonus_type, n.subject_no, n.created_at, n.amount, n.reentry_amount as reentry, (n.amount > 0)::integer as paid
            from after as n
            union all
            select o.id, o.user_id, o.bonus_type, o.subject_no, o.created_at, -o.amount, -o.reentry_amount, -(o.amount > 0)::integer
            from before as o
        ) as c
        group by c.id, c.user_id, c.bonus_type, c.subject_no, c.created_at
    ), journal as (
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        select c.user_id, c.amount, 'bonus', 'completed', c.id, v_now, v_decision_no from changed as c where c.amount <> 0
    ), earned as materialized (
        select
            c.user_id,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0) as referral,
            coalesce(sum(c.paid) filter (where c.bonus_type = 'referral'), 0) as referrals,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0) as pairing,
            coalesce(sum(c.paid) filter (where c.bonus_type = 'pairing'), 0) as pairings,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0) as override,
            coalesce(sum(c.paid) filter (where c.bonus_type = 'override'), 0) as overrides,
            sum(c.reentry) as reentry
        from changed as c
        group by c.user_id
    ), sums as (
        update private.totals as t set
            referral_amount = t.referral_amount + e.referral, referral_count = t.referral_count + e.referrals,
            pairing_amount = t.pairing_amount + e.pairing, pairing_count = t.pairing_count + e.pairings,
            override_amount = t.override_amount + e.override, override_count = t.override_count + e.overrides,
            reentry_amount = t.reentry_amount + e.reentry
        from earned as e
        where t.user_id = e.user_id
    ), days as (
        insert into private.network_deltas (no, day, referral, pairing, override, funded)
        select p.no, (v_now at time zone 'UTC')::date, e.referral, e.pairing, e.override, 0
        from earned as e inner join private.positions as p on e.user_id = p.user_id
        where e.referral + e.pairing + e.override <> 0
        union all
        -- A member counts as funded from the day of the referral bonus, as long as that is not zero.
        select c.subject_no, (c.created_at at time zone 'UTC')::date, 0, 0, 0, c.paid
        from changed as c where c.bonus_type = 'referral' and c.paid <> 0
    )
    insert into private.counter_deltas (name, delta)
    select d.name, d.delta
    from (
        select
            sum(c.amount) as amount,
            sum(c.paid) as rows,
            count(*) filter (where c.amount <> 0) as entries,
            sum(pg_catalog.abs(c.amount)) as volume
        from changed as c
    ) as s
    cross join lateral (
        values ('bonuses', s.amount), ('bonus_rows', s.rows), ('bonus_transactions', s.entries), ('bonus_volume', s.volume)
    ) as d (name, delta)
    where d.delta <> 0;
    return null;
end
$$;
comment on function private.bonuses_record_update() is
'Trigger: journal rows of the differences, totals, daily deltas and counters of changed bonuses; a repair books its own.';

create trigger _100_immutable after update on public.bonuses
referencing old table as before new table as after for each statement execute function private.bonuses_immutable();
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
language plpgsql stable parallel safe set search_path = '' set plan_cache_mode = 'force_generic_plan' as $$
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
        update public.bonuses as b set
            amount = d.cents * 0.01,
            rate = d.rate,
            volume = d.volume_cents * 0.01,
            source_user_id = case
                when b.bonus_type = 'pairing' and b.amount = 0 and d.cents > 0 then (select s.user_id from private.positions as s where s.no = d.source_no)
                else b.source_user_id
            end
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
create function private.child_bonus_discrepancies(p_no integer) returns private.due_bonus[]
language plpgsql stable set search_path = '' as $$
declare
    v_member private.positions;
begin
    select * into v_member from private.positions as p where p.no = p_no;
    return array(
        select row(
            b.id, 'referral'::public.bonus_type, d.subject_no, null::integer, d.user_no, d.subject_no, d.volume_cents::bigint, d.rate, d.cents
        )::private.due_bonus
        from private.due_referrals as d
        left join public.bonuses as b on b.bonus_type = 'referral' and d.subject_no = b.subject_no
        where d.subject_no = p_no and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer)
        union all
        select row(
            v.bonus_id, v.bonus_type, d.owner_no, d.pair_no, v.user_no, v.source_no, d.volume_cents::bigint, v.rate, v.cents
        )::private.due_bonus
        from private.due_pair_bonuses as d
        left join public.bonuses as p on p.bonus_type = 'pairing' and d.owner_no = p.subject_no and d.pair_no = p.pair_number
        left join public.bonuses as o on o.bonus_type = 'override' and d.owner_no = o.subject_no and d.pair_no = o.pair_number
        cross join lateral (
            values
            (
                p.id, 'pairing'::public.bonus_type, case when d.pairing_percent is not null then d.owner_no end,
                case when p.id is null or p.amount = 0 then private.pair_source(d.left_no, d.right_no) end,
                d.pairing_percent, d.pairing_cents, p.amount_cents, p.rate
            ),
            (o.id, 'override', d.referrer_no, d.owner_no, d.override_percent, d.override_cents, o.amount_cents, o.rate)
        ) as v (bonus_id, bonus_type, user_no, source_no, rate, cents, stored_cents, stored_rate)
        where d.owner_no = v_member.referrer_no and d.pair_no = v_member.pair_no
            -- Nobody earns it: an owner without a package, or without a referrer.
            and v.user_no is not null and (v.cents, v.rate) is distinct from (v.stored_cents, v.stored_rate::integer)
    );
end
$$;
comment on function private.child_bonus_discrepancies(integer) is
'Discrepancies of the two members above that this member''s package caused.';

-- Planned once a connection, for any number of referrals: without nested loops a member with twenty thousand costs ten
-- thousand times a member with two, and not its square.
create function private.owner_bonus_discrepancies(p_no integer) returns private.due_bonus[]
language plpgsql stable set plan_cache_mode = 'force_generic_plan' set enable_nestloop = off set search_path = '' as $$
begin
    return array(
        select row(
            b.id, 'pairing'::public.bonus_type, d.subject_no, d.pair_no, d.user_no,
            case when b.id is null or b.amount = 0 then private.pair_source(d.left_no, d.right_no) end, d.volume_cents::bigint, d.rate, d.cents
        )::private.due_bonus
        from private.due_pairings as d
        left join public.bonuses as b on b.bonus_type = 'pairing' and d.subject_no = b.subject_no and d.pair_no = b.pair_number
        where d.subject_no = p_no and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer)
    );
end
$$;
comment on function private.owner_bonus_discrepancies(integer) is 'Discrepancies of the member''s own pairings after a changed rate.';

create function private.post_bonuses(p_no integer, p_at timestamptz) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_discrepancies private.due_bonus[] := private.child_bonus_discrepancies(p_no);
begin
    perform pg_catalog.nextval('private.bonus_revision_seq');
    if (select p.children from private.positions as p where p.no = p_no) > 1 then
        v_discrepancies := v_discrepancies || private.owner_bonus_discrepancies(p_no);
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
-- no longer due to zero; journal, sums and counters then agree with the rows. One run at a time, at most one in ten
-- seconds; concurrent callers wait for it or get the last summary, and are never rejected.

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

create function private.pairing_percents() returns integer[]
language plpgsql stable set search_path = '' as $$
begin
    return array(
        select s.pairing_percent
        from pg_catalog.generate_series(1, (select max(k.value_cents) / 5000 from private.packages as k)) as u (units)
        left join private.packages as s on u.units * 5000 = s.value_cents
        order by u.units
    );
end
$$;
comment on function private.pairing_percents() is 'The pairing rates by packages in multiples of $50; null where there is no such package.';

-- The comparison is two merges from end to end: of the referral bonuses, and of both bonuses of each pair, which are
-- taken apart only where they differ. The rates are those of private.due_pair_bonuses, looked up in an array by
-- multiples of $50: a join with the packages would sort all pairs by package, and back.
-- Without a search_path and stable it is inlined where it is called: so the comparison of all is planned once for a
-- session and has no condition on subjects, and that of some is planned for them. Were it not parallel safe, no second
-- process would help, inlined or not.
create function private.compared_bonuses(p_part private.ledger_part, p_percents integer[]) returns setof private.due_bonus
language sql stable parallel safe as $$
    with stored_pairs as (
        select
            coalesce(p.subject_no, o.subject_no) as owner_no,
            coalesce(p.pair_number, o.pair_number) as pair_no,
            p.amount_cents as pairing_cents,
            o.amount_cents as override_cents
        from (
            select b.* from public.bonuses as b
            where b.bonus_type = 'pairing' and private.is_asked(p_part, b.subject_no)
        ) as p
        full join (
            select b.* from public.bonuses as b
            where b.bonus_type = 'override' and private.is_asked(p_part, b.subject_no)
        ) as o
            on p.subject_no = o.subject_no and p.pair_number = o.pair_number
    ),

    owned_pairs as (
        select
            q.*,
            o.referrer_no,
            case when o.package_cents % 5000 = 0 then p_percents[o.package_cents / 5000] end as pairing_percent
        from private.pairs as q
        inner join private.positions as o on q.owner_no = o.no
        where private.is_asked(p_part, q.owner_no)
    ),

    due_pairs as (
        select
            q.*,
            q.volume_cents::bigint * q.pairing_percent / 100 as pairing_cents,
            case when q.referrer_no is not null then q.volume_cents::bigint * private.override_percent() / 100 end as override_cents
        from owned_pairs as q
    ),

    -- Where nothing is due, a stored bonus is zero, or there is none.
    different_pairs as (
        select
            coalesce(d.owner_no, s.owner_no) as owner_no,
            coalesce(d.pair_no, s.pair_no) as pair_no,
            d.left_no,
            d.right_no,
            d.volume_cents,
            d.referrer_no,
            d.pairing_percent,
            d.pairing_cents,
            d.override_cents,
            s.pairing_cents as stored_cents,
            (coalesce(d.pairing_cents, s.pairing_cents * 0) is distinct from s.pairing_cents) as pairing_differs,
            (coalesce(d.override_cents, s.override_cents * 0) is distinct from s.override_cents) as override_differs
        from due_pairs as d
        full join stored_pairs as s on d.owner_no = s.owner_no and d.pair_no = s.pair_no
        where
            coalesce(d.pairing_cents, s.pairing_cents * 0) is distinct from s.pairing_cents
            or coalesce(d.override_cents, s.override_cents * 0) is distinct from s.override_cents
    )

    select (f.due).*
    from (
        select row(
            null, 'referral'::public.bonus_type, coalesce(d.subject_no, b.subject_no), null::integer, d.user_no, d.subject_no,
            coalesce(d.volume_cents, 0)::bigint, coalesce(d.rate, 0), coalesce(d.cents, 0)
        )::private.due_bonus as due
        from (
            select * from private.due_referrals as e
            where private.is_asked(p_part, e.subject_no)
        ) as d
        full join (
            select
                r.subject_no,
                r.amount_cents as cents
            from public.bonuses as r
            where r.bonus_type = 'referral' and private.is_asked(p_part, r.subject_no)
        ) as b
            on d.subject_no = b.subject_no
        where coalesce(d.cents, 0) is distinct from b.cents
        union all
        select pg_catalog.unnest(pg_catalog.array_remove(array[
            case when d.pairing_differs then row(
                null, 'pairing'::public.bonus_type, d.owner_no, d.pair_no,
                case when d.pairing_cents is not null then d.owner_no end,
                case when d.pairing_cents is not null and coalesce(d.stored_cents, 0) = 0 then private.pair_source(d.left_no, d.right_no) end,
                case when d.pairing_cents is not null then d.volume_cents else 0 end::bigint,
                coalesce(d.pairing_percent, 0), coalesce(d.pairing_cents, 0)
            )::private.due_bonus end,
            case when d.override_differs then row(
                null, 'override'::public.bonus_type, d.owner_no, d.pair_no, d.referrer_no,
                case when d.override_cents is not null then d.owner_no end,
                case when d.override_cents is not null then d.volume_cents else 0 end::bigint,
                case when d.override_cents is not null then private.override_percent() else 0 end, coalesce(d.override_cents, 0)
            )::private.due_bonus end
        ], null))
        from different_pairs as d
    ) as f
$$;
comment on function private.compared_bonuses(private.ledger_part, integer[]) is
'Bonuses of the subjects at these positions (null: of all) that differ from tree and packages: missing, different, or no longer due; without the ids of the stored rows, and with the source of a pairing only where none is paid. p_percents is private.pairing_percents().';

create function private.bonus_discrepancies(p_part private.ledger_part) returns private.due_bonus[]
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_percents integer[] := private.pairing_percents();
begin
    return array(select d from private.compared_bonuses(p_part, v_percents) as d);
end
$$;
comment on function private.bonus_discrepancies(private.ledger_part) is
'Bonuses of the subjects at these positions that differ from tree and packages, as private.compared_bonuses() says. Empty when all match.';

-- The planner cannot know how many pairs are complete or how many bonuses differ: it expects a hundred times too many
-- and then looks up each left member separately (twice as slow at a million members), joins the owners first, or
-- materialises what it reads in order anyway. So this function may only merge, in the order written. From some ten
-- thousand bonuses on, a second process does one of the merges; no scan is divided, because half a merge reads its other
-- side to the end.
create function private.all_bonus_discrepancies() returns private.due_bonus[]
language plpgsql stable set plan_cache_mode = 'force_generic_plan' set search_path = ''
set enable_nestloop = off set enable_hashjoin = off set enable_material = off set join_collapse_limit = 1
set min_parallel_table_scan_size = '4TB' set min_parallel_index_scan_size = '4TB'
set parallel_setup_cost = 2000 set parallel_tuple_cost = 0 set max_parallel_workers_per_gather = 1
-- The pairs of a million members are sorted in memory; one reconciliation runs at a time.
set work_mem = '64MB' as $$
declare
    v_percents integer[] := private.pairing_percents();
begin
    return array(select d from private.compared_bonuses(null, v_percents) as d);
end
$$;
comment on function private.all_bonus_discrepancies() is
'Bonuses that differ from tree and packages, as private.compared_bonuses() says, of all subjects. Empty when all match.';

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

-- A repair makes everything agree. The triggers of bonuses add the difference to what the row said: right where only the
-- tree has changed, wrong where the row itself was damaged, because the journal and the sums never followed the damage.
-- Then the triggers of bonuses, positions and totals keep nothing up, and journal and sums are compared with the rows
-- afterwards instead.
create function private.is_repairing() returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return coalesce(pg_catalog.current_setting('app.repair', true), '') = 'on';
end
$$;
comment on function private.is_repairing() is
'True while sums are derived from the rows in this transaction, so that no trigger keeps them up. No API role can set app.repair.';

-- The plan and the order of siblings are not trusted: with another percentage, or children who changed places, a repair
-- would pay wrong amounts and leave nothing to see.
create view private.plan_discrepancies as
select 'packages' as object
where (
    select pg_catalog.array_agg((k.value::numeric, k.pairing_percent)::text order by k.value) from private.packages as k
) is distinct from array['(50,10)', '(100,20)', '(250,30)', '(500,40)', '(1000,50)']
union all
select c.object
from (
    values
    ('referral_percent', private.referral_percent(), 5),
    ('override_percent', private.override_percent(), 1),
    ('reentry_percent', private.reentry_percent(), 10)
) as c (object, percent, specified)
where c.percent is distinct from c.specified;
comment on view private.plan_discrepancies is
'What differs from the compensation plan of the specification, whose numbers are written here: package sizes with their pairing rates, and the other percentages. Empty when nothing does.';

create view private.sibling_discrepancies as
select
    s.no,
    s.referrer_no
from (
    select
        c.no,
        c.referrer_no,
        c.child_no,
        pg_catalog.row_number() over (partition by c.referrer_no order by p.created_at, p.id) as due_no
    from private.positions as c inner join private.profiles as p on c.user_id = p.user_id
    where c.referrer_no is not null
) as s
where s.child_no <> s.due_no;
comment on view private.sibling_discrepancies is
'Direct referrals whose number is not their place in the order of joining. Empty when all are in order.';

-- Of a member's direct referrals only those up to the pair matter, and both orders are read along an index.
create function private.sound_discrepancies(p_due private.due_bonus[]) returns private.due_bonus[]
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_disordered integer[];
begin
    if exists (select 1 from private.plan_discrepancies) then
        return '{}'::private.due_bonus[];
    end if;
    v_disordered := array(
        select o.no
        from (
            select
                w.subject_no,
                2 * max(w.pair_number) as referrals
            from pg_catalog.unnest(p_due) as w
            where w.bonus_type <> 'referral'
            group by w.subject_no
        ) as d
        inner join private.positions as o on d.subject_no = o.no
        where array(
            select c.user_id from private.positions as c
            where c.referrer_no = o.no and c.child_no <= d.referrals
            order by c.child_no
        ) is distinct from array(
            select p.user_id from private.profiles as p
            where p.referrer_id = (select s.id from private.profiles as s where s.user_id = o.user_id)
            order by p.created_at, p.id limit d.referrals
        )
    );
    return array(
        select d from pg_catalog.unnest(p_due) as d
        where (d).bonus_type = 'referral' or (d).subject_no <> all(v_disordered)
    );
end
$$;
comment on function private.sound_discrepancies(private.due_bonus[]) is
'Of these, what a repair may write: nothing with a damaged plan, and no pair of a member whose direct referrals up to a pair of these are out of order.';

-- Each kind is looked up by its own key: one join with three conditions looks up each bonus three times.
create function private.find_stored_bonuses(
    p_due private.due_bonus[], out due private.due_bonus[], out earners uuid[], out in_journal boolean
)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    select
        pg_catalog.array_agg(row(
            f.id, f.bonus_type, f.subject_no, f.pair_number, f.user_no, f.source_no, f.volume_cents, f.rate, f.cents
        )::private.due_bonus),
        pg_catalog.array_agg(distinct coalesce(f.user_id, u.user_id)),
        bool_and(f.amount is not distinct from j.amount)
    into due, earners, in_journal
    from (
        select w.*, b.id, b.user_id, b.amount
        from pg_catalog.unnest(p_due) as w
        left join public.bonuses as b on b.bonus_type = 'referral' and w.subject_no = b.subject_no
        where w.bonus_type = 'referral'
        union all
        select w.*, b.id, b.user_id, b.amount
        from pg_catalog.unnest(p_due) as w
        left join public.bonuses as b on b.bonus_type = 'pairing' and w.subject_no = b.subject_no and w.pair_number = b.pair_number
        where w.bonus_type = 'pairing'
        union all
        select w.*, b.id, b.user_id, b.amount
        from pg_catalog.unnest(p_due) as w
        left join public.bonuses as b on b.bonus_type = 'override' and w.subject_no = b.subject_no and w.pair_number = b.pair_number
        where w.bonus_type = 'override'
    ) as f
    left join private.positions as u on case when f.id is null then f.user_no end = u.no
    cross join lateral (
        select sum(t.amount) as amount from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = f.id
    ) as j;
end
$$;
comment on function private.find_stored_bonuses(private.due_bonus[]) is
'Expected bonuses with the ids of the stored rows, who earns them, and whether the journal says what the rows say.';

-- The rows of all earners are read in the order of the table, not member by member.
create function private.totals_follow_rows(p_earners uuid[]) returns boolean
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = ''
set enable_indexscan = off set parallel_tuple_cost = 0 as $$
begin
    return (
        with sums as materialized (
            select
                b.user_id,
                sum(b.amount_cents) as cents
            from public.bonuses as b
            where b.user_id = any(p_earners)
            group by b.user_id
        )

        select bool_and(t.bonus_amount = coalesce(s.cents, 0) * 0.01)
        from private.totals as t
        left join sums as s on t.user_id = s.user_id
        where t.user_id = any(p_earners)
    );
end
$$;
comment on function private.totals_follow_rows(uuid[]) is 'Whether the totals of these members say what their bonuses say.';

create function private.repair_items(p_due private.due_bonus[]) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'bonus_id', b.id,
            'bonus_type', d.bonus_type,
            'user_id', coalesce(b.user_id, u.user_id),
            'subject_no', d.subject_no,
            'pair_number', d.pair_number,
            'old_amount', private.money(coalesce(b.amount, 0)),
            'new_amount', private.money(d.cents * 0.01)
        ) || case when j.amount <> coalesce(b.amount, 0) then pg_catalog.jsonb_build_object('journal_amount', private.money(j.amount)) else '{}' end
        order by d.subject_no, d.bonus_type, d.pair_number
    )
    from pg_catalog.unnest(p_due) as d
    left join public.bonuses as b on d.bonus_id = b.id
    left join private.positions as u on d.user_no = u.no
    cross join lateral (
        select coalesce(sum(t.amount), 0) as amount from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = b.id
    ) as j
$$;
comment on function private.repair_items(private.due_bonus[]) is
'What a repair of these bonuses changes, for the alarm and the audit log: old and new amounts as text, and what the journal says where that is a third one. Call before writing; bonus_id is null where the row is missing.';

create type private.sum_change as (
    kind text,
    object text,
    user_id uuid,
    old jsonb,
    new jsonb
);
comment on type private.sum_change is 'A stored sum that was not what the rows say: where it is, whose it is (null: nobody''s alone), the figures before and after.';

create function private.repair_bonuses(p_due private.due_bonus[]) returns void
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set work_mem = '64MB' set search_path = '' as $$
declare
    v_at timestamptz := private.clock();
    v_stored record;
    v_damaged boolean;
    v_decision_no bigint;
    v_details jsonb;
    v_changes private.sum_change[] := '{}'::private.sum_change[];
begin
    select * into v_stored from private.find_stored_bonuses(p_due);
    perform private.lock_members(v_stored.earners);
    v_details := pg_catalog.jsonb_build_object(
        'rows', pg_catalog.cardinality(p_due), 'repairs', private.repair_items(v_stored.due[1:100])
    );
    -- Otherwise only the tree has changed.
    v_damaged := (v_stored.in_journal and private.totals_follow_rows(v_stored.earners)) is not true;
    v_decision_no := private.next_decision_no();
    perform pg_catalog.set_config('app.allow_bonus_decrease', 'on', true);
    perform pg_catalog.set_config('app.repair', case when v_damaged then 'on' else '' end, true);
    perform private.write_bonuses(v_stored.due, v_at);
    insert into private.ledger_changes (user_id) select e.user_id from pg_catalog.unnest(v_stored.earners) as e (user_id) where e.user_id is not null;
    if v_damaged then
        v_changes := private.rebuild_sums();
    end if;
    perform pg_catalog.set_config('app.repair', '', true);
    perform pg_catalog.set_config('app.allow_bonus_decrease', '', true);
    perform private.raise_alarm('repair', v_decision_no::text, null, v_details);
    perform private.audit('system', 'books.repaired', 'bonuses', null, v_details || private.changes_json(v_changes));
end
$$;
comment on function private.repair_bonuses(private.due_bonus[]) is
'Writes the bonuses that are due, the journal rows that are missing and the sums that differ, raises an alarm and audits what it did. Call under the money lock. Errors: try_again.';

create function private.reconcile() returns integer
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_revision bigint;
    v_discrepancies private.due_bonus[];
    v_found integer := 0;
begin
    perform private.lock_money();
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    v_discrepancies := private.all_bonus_discrepancies();
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        v_found := pg_catalog.cardinality(v_discrepancies);
        v_discrepancies := private.sound_discrepancies(v_discrepancies);
    end if;
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        perform private.repair_bonuses(v_discrepancies);
        select q.last_value into v_revision from private.bonus_revision_seq as q;
    end if;
    update private.reconcile_state as s set
        -- What was left is compared again by whoever asks next.
        bonus_revision = case when v_found = pg_catalog.cardinality(v_discrepancies) then v_revision else s.bonus_revision end,
        ran_at = pg_catalog.clock_timestamp(), repaired = s.repaired + pg_catalog.cardinality(v_discrepancies);
    return pg_catalog.cardinality(v_discrepancies);
end
$$;
comment on function private.reconcile() is
'Compares all bonuses with tree and packages and repairs differences, with an alarm and an audit row; returns how many. Leaves bonuses whose basis is damaged, as sound_discrepancies() says: the ledger checks report both. Errors: try_again.';

create function private.reconcile_if_stale() returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_state private.reconcile_state;
    v_revision bigint;
begin
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    select * into v_state from private.reconcile_state;
    if v_state.bonus_revision = v_revision or private.is_recent(v_state.ran_at, interval '10 seconds') then
        return;
    end if;
    -- A second caller waits here for the first run and then finds it done.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('reconcile'));
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    select * into v_state from private.reconcile_state;
    if v_state.bonus_revision = v_revision or private.is_recent(v_state.ran_at, interval '10 seconds') then
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
    id uuid primary key default private.time_ordered_id(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    amount public.usd not null check (amount between -10000000 and 10000000 and amount <> 0),
    transaction_type public.transaction_type not null,
    status public.transaction_status not null,
    -- The deposit, withdrawal or bonus of the row; for a correction's rows, the correction.
    reference_id uuid not null,
    created_at timestamptz not null default now(),
    decision_no bigint
) with (
    -- Room on each page for the row that a decision completes.
    autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, fillfactor = 90
);
comment on table public.transactions is
'Journal. Signed: a withdrawal is negative. Bonus rows are deltas: per reference they sum to the bonus.';
comment on column public.transactions.decision_no is
'Number of the decision, correction or repair that completed the row or wrote it; null while pending and when taken back.';
alter table public.transactions enable row level security;
create unique index transactions_source_key on public.transactions (transaction_type, reference_id) where transaction_type <> 'bonus';
create index transactions_reference_idx on public.transactions (reference_id);
-- Rows come for all members: on full pages each would split one, after a load or a restore.
create index transactions_user_idx on public.transactions (user_id, created_at desc, id desc) with (fillfactor = 75);
-- Upwards, although lists are read downwards: new rows stand at the end, and a full page there is not split in half.
create index transactions_created_idx on public.transactions (created_at, id);
create index transactions_type_idx on public.transactions (transaction_type, created_at, id);
-- None has the status: a decision changes it, and then writes no index. Pending and failed rows are found by their
-- requests.

create policy select_own on public.transactions for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on public.transactions for select to platform_admin using (true);
grant select on public.transactions to authenticated, platform_admin, service_role;
-- Not granted: insert, update, delete to any role.

create function private.transactions_immutable() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if (new.id, new.user_id, new.amount, new.transaction_type, new.reference_id, new.created_at)
        is distinct from (old.id, old.user_id, old.amount, old.transaction_type, old.reference_id, old.created_at)
        or (old.status <> 'pending' and (new.status, new.decision_no) is distinct from (old.status, old.decision_no)) then
        perform private.raise_error(403, 'append_only', 'The journal is kept as it is.');
    end if;
    return new;
end
$$;
comment on function private.transactions_immutable() is
'Trigger: a journal row changes once, from pending to completed or failed. Errors: append_only.';

create trigger _100_immutable before update on public.transactions for each row execute function private.transactions_immutable();
create trigger _100_reject_change before delete or truncate on public.transactions for each statement execute function private.reject_change();

-- A member's transaction history: bonuses as they were credited, raised and lowered, deposits, withdrawals, and
-- corrections of requests. Newest first, keyset pagination: each source reads at most a page from its own (user, time)
-- index, so the cost does not grow with the history. Corrections are found by their reference before sorting: they are
-- few, and a scan of the journal would read to its end. Days are UTC.
-- A bonus is one row with its present amount, a history is not: what was credited on a day and raised later is two
-- items, or nobody could add them up to a balance. So the items of bonuses are the rows of the journal. The first of a
-- bonus stands for the bonus and has its id, the others are source transaction.
create function private.transaction_history(
    p_user_id uuid,
    p_type text,
    p_status text,
    p_from timestamptz,
    p_to timestamptz,
    p_before_at timestamptz,
    p_before_id uuid,
    p_limit integer
) returns table (created_at timestamptz, id uuid, effective_at timestamptz, item jsonb)
language plpgsql stable set search_path = ''
-- One generic plan per connection: planning this query costs more than running it, and each source must use its index
-- whatever the statistics say, or the whole history of a member with many referrals would be sorted for one page.
set plan_cache_mode = 'force_generic_plan' set enable_bitmapscan = 'off' set enable_seqscan = 'off' as $$
begin
    return query
    -- Select all columns here: looking the rows up again would cost as much as finding them.
    with page (
        created_at, id, source, amount, kind, status, bonus_id, bonus_amount, source_user_id, subject_no, pair_number, rate, volume,
        decision_no, reference, wallet_address, admin_notes, decided_at, payout_reference, in_balance
    ) as materialized (
        (
            select
                t.created_at, t.id, 'bonus', t.amount::numeric, b.bonus_type || ' bonus', t.status::text, b.id, b.amount::numeric, b.source_user_id,
                b.subject_no, b.pair_number, b.rate, b.volume, t.decision_no, null::text, null::text, null::text, null::timestamptz, null::text,
                true
            from public.transactions as t
            -- Looked up row by row, in the order of the journal.
            cross join lateral (select * from public.bonuses as r where r.id = t.reference_id offset 0) as b
            where
                t.user_id = p_user_id
                and t.transaction_type = 'bonus'
                and (t.created_at, t.id) < (p_before_at, p_before_id)
                and t.created_at >= p_from and t.created_at < p_to
                and (p_type is null or p_type = 'bonus' or p_type = b.bonus_type || ' bonus')
                and (p_status is null or p_status = 'completed')
            order by t.created_at desc, t.id desc
            limit p_limit
        )
        union all
        (
            select
                d.created_at, d.id, 'deposit', d.amount, 'deposit', d.status::text, null, null, null,
                null, null, null, null, d.decision_no, d.reference_number, null, d.admin_notes, d.decided_at, null,
                false
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
                w.created_at, w.id, 'withdrawal', -w.amount, 'withdrawal', w.status::text, null, null, null,
                null, null, null, null, w.decision_no, null, w.wallet_address, w.admin_notes, w.decided_at, w.payout_reference,
                w.status = 'approved'
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
                t.created_at, t.id, 'transaction', t.amount, 'correction', t.status::text, null, null, null,
                null, null, null, null, t.decision_no, null, null, null, null, null,
                t.transaction_type = 'withdrawal'
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
        case when g.source = 'withdrawal' and g.in_balance then g.decided_at else g.created_at end,
        pg_catalog.jsonb_build_object(
            'id', case when g.source = 'bonus' and not o.is_first then g.id else coalesce(g.bonus_id, g.id) end,
            'user_id', p_user_id,
            'amount', private.money(g.amount),
            'transaction_type', g.kind,
            'status', g.status,
            'created_at', g.created_at,
            'source', case when g.source = 'bonus' and not o.is_first then 'transaction' else g.source end,
            'counterparty', coalesce(s.username, private.short_address(g.wallet_address)),
            'pair_number', g.pair_number,
            'pair_names', case when g.pair_number is not null then (
                select pg_catalog.jsonb_agg(c.username order by n.child_no)
                from private.positions as n
                inner join private.profiles as c on n.user_id = c.user_id
                where n.referrer_no = g.subject_no and n.child_no in (g.pair_number * 2 - 1, g.pair_number * 2)
            ) end,
            'rate', private.percent(g.rate),
            'volume', private.money(g.volume),
            'bonus_amount', private.money(g.bonus_amount),
            'reentry', case when g.bonus_id is not null then private.money(pg_catalog.round(g.amount * private.reentry_percent() / 100, 2)) end,
            'reference', g.reference,
            'wallet_address', g.wallet_address,
            'admin_notes', g.admin_notes,
            'decided_at', g.decided_at,
            'payout_reference', g.payout_reference,
            'can_cancel', g.status = 'pending' and g.source in ('deposit', 'withdrawal'),
            'cancelled', g.status = 'rejected' and g.decision_no is null,
            'in_balance', g.in_balance
        )
    from page as g
    left join private.profiles as s on g.source_user_id = s.user_id
    cross join lateral (
        select g.bonus_id is null or not exists (
            select from public.transactions as f
            where f.reference_id = g.bonus_id
                and (coalesce(f.decision_no, 0), f.id) < (coalesce(g.decision_no, 0), g.id)
        ) as is_first
    ) as o
    order by g.created_at desc, g.id desc;
end
$$;
comment on function private.transaction_history(uuid, text, text, timestamptz, timestamptz, timestamptz, uuid, integer) is
'One page of a member''s history, newest first, before a key. Withdrawals are negative. pair_names are the two members of the pair, bonus_amount is what the bonus of the item is now. effective_at is when the balance changed, or would have.';

-- The balance after a movement. It is bonuses less approved withdrawals, so deposits do not change it, a pending
-- withdrawal only reserves, and what was rejected or cancelled moved nothing. It may be negative after a correction: then
-- nothing is available, and later bonuses make up for it first.
-- Movements are in the order of their UTC days, within a day in that of their decisions, and rows of one decision by id.
-- Statements are sums of days, so a balance must be one too: where a clock was set back over midnight, days and not
-- decisions say what belongs to a period. Whatever the order, all movements together are the balance of now.
-- No page sums up a history. What came after its days is taken from the balance of now, by the kept sums of days, and
-- only the days of the page are read from the journal.

create function private.balance_movements(p_user_id uuid, p_from timestamptz, p_to timestamptz)
returns table (effective_at timestamptz, decision_no bigint, id uuid, source text, source_id uuid, amount numeric)
language sql stable set search_path = '' as $$
    select t.created_at, coalesce(t.decision_no, 0), t.id, 'bonus', t.reference_id, t.amount::numeric
    from public.transactions as t
    where t.user_id = p_user_id and t.transaction_type = 'bonus' and t.created_at >= p_from and t.created_at < p_to
    union all
    select w.decided_at, w.decision_no, w.id, 'withdrawal', w.id, -w.amount
    from public.withdrawals as w
    where w.user_id = p_user_id and w.status = 'approved' and w.decided_at >= p_from and w.decided_at < p_to
    union all
    select t.created_at, t.decision_no, t.id, 'correction', c.id, t.amount
    from private.corrections as c
    inner join public.transactions as t on c.id = t.reference_id
    where c.user_id = p_user_id and c.kind = 'void_withdrawal' and c.confirmed_at >= p_from and c.confirmed_at < p_to
$$;
comment on function private.balance_movements(uuid, timestamptz, timestamptz) is
'What changed a member''s balance in a time: bonuses credited, raised or lowered, approved withdrawals, voided ones. The id is the journal row''s, of a withdrawal its own.';

create function private.balance_days(p_user_id uuid, p_from date) returns table (day date, amount numeric)
language sql stable set search_path = '' as $$
    select d.day, sum(d.amount)
    from (
        select e.day, e.referral + e.pairing + e.override as amount
        from private.positions as o inner join private.earning_days as e on o.no = e.no
        where o.user_id = p_user_id and e.day >= p_from
        union all
        select c.day, c.referral + c.pairing + c.override
        from private.positions as o inner join private.network_deltas as c on o.no = c.no
        where o.user_id = p_user_id and c.day >= p_from
        union all
        select (w.decided_at at time zone 'UTC')::date, -w.amount
        from public.withdrawals as w
        where w.user_id = p_user_id and w.status = 'approved' and w.decided_at >= p_from::timestamp at time zone 'UTC'
        union all
        select (c.confirmed_at at time zone 'UTC')::date, w.amount
        from private.corrections as c
        inner join public.withdrawals as w on c.target_id = w.id
        where c.user_id = p_user_id and c.kind = 'void_withdrawal' and c.confirmed_at >= p_from::timestamp at time zone 'UTC'
    ) as d
    group by d.day
$$;
comment on function private.balance_days(uuid, date) is
'By how much a member''s balance changed on each UTC day from one on; days without a change may be missing.';

create function private.balance_now(p_user_id uuid) returns numeric
language sql stable set search_path = '' as $$
    select t.bonus_amount - t.withdrawn_amount from private.totals as t where t.user_id = p_user_id
$$;
comment on function private.balance_now(uuid) is
'Bonuses less approved withdrawals: the available balance, and negative where a correction left more withdrawn than earned.';

create function private.balances_after(p_user_id uuid, p_at timestamptz[], p_ids uuid[]) returns numeric[]
language plpgsql stable set search_path = ''
set plan_cache_mode = 'force_generic_plan' set enable_seqscan = 'off' as $$
begin
    return (
        with asked as materialized (
            select a.place, a.at, a.id, (a.at at time zone 'UTC')::date as day
            from rows from (pg_catalog.unnest(p_at), pg_catalog.unnest(p_ids)) with ordinality as a (at, id, place)
        ),
        -- Of each day of the page, what changed from it on.
        days as materialized (
            select
                d.day,
                bool_or(d.is_asked) as is_asked,
                private.balance_now(p_user_id) - sum(sum(d.amount)) over (order by d.day desc) as opening
            from (
                select distinct a.day, 0::numeric as amount, true as is_asked from asked as a
                union all
                select b.day, b.amount, false
                from private.balance_days(p_user_id, (select min(a.day) from asked as a)) as b
            ) as d
            group by d.day
        ),
        moved as materialized (
            select
                d.day,
                m.effective_at,
                m.id,
                d.opening + sum(m.amount) over (partition by d.day order by m.decision_no, m.id) as balance,
                m.decision_no
            from days as d
            cross join lateral private.balance_movements(
                p_user_id, d.day::timestamp at time zone 'UTC', (d.day + 1)::timestamp at time zone 'UTC'
            ) as m
            where d.is_asked
        )
        select pg_catalog.array_agg(coalesce(m.balance, e.balance, d.opening) order by a.place)
        from asked as a
        inner join days as d on a.day = d.day
        left join moved as m on a.id = m.id
        -- What moved nothing has the balance of its time.
        left join lateral (
            select b.balance from moved as b
            where m.id is null and b.day = a.day and b.effective_at <= a.at
            order by b.decision_no desc, b.id desc
            limit 1
        ) as e on true
    );
end
$$;
comment on function private.balances_after(uuid, timestamptz[], uuid[]) is
'Of items of a member''s history, by their effective times and ids: the balance after each, in the same order.';

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
    v_times timestamptz[];
    v_effective timestamptz[];
    v_ids uuid[];
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
        pg_catalog.array_agg(h.created_at order by h.created_at desc, h.id desc),
        pg_catalog.array_agg(h.effective_at order by h.created_at desc, h.id desc),
        pg_catalog.array_agg(h.id order by h.created_at desc, h.id desc)
    into v_items, v_times, v_effective, v_ids
    from private.transaction_history(
        v_user_id, p_type, p_status,
        coalesce(p_from::timestamp at time zone 'UTC', '-infinity'),
        coalesce((p_to + 1)::timestamp at time zone 'UTC', 'infinity'),
        v_before.at, v_before.id, v_limit + 1
    ) as h;
    return pg_catalog.jsonb_build_object(
        'items', coalesce((
            select pg_catalog.jsonb_agg(
                i.item || pg_catalog.jsonb_build_object('balance_after', private.money(i.balance)) order by i.place
            )
            from rows from (
                pg_catalog.unnest(v_items[:v_limit]),
                pg_catalog.unnest(private.balances_after(v_user_id, v_effective[:v_limit], v_ids[:v_limit]))
            ) with ordinality as i (item, balance, place)
        ), '[]'),
        'next', case when pg_catalog.cardinality(v_items) > v_limit then private.encode_cursor(v_times[v_limit], v_ids[v_limit]) end
    );
end
$$;
comment on function public.get_transaction_history(text, text, date, date, text, integer) is
'The caller''s transactions, newest first, filtered by type, status and days (UTC, inclusive), each with the balance after it. next is the cursor of the next page, null at the end. Errors: invalid_filter, invalid_cursor, invalid_limit.';
grant execute on function public.get_transaction_history(text, text, date, date, text, integer) to authenticated;

-- The statement of a month: what took effect in it, oldest first. Opening, in, out and closing add up to the cent, and
-- so does every balance beside its row. Approved deposits and their corrections are listed without being part of it.
create function public.get_statement(p_month date, p_after integer default 0, p_limit integer default 100) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
    v_today date := (pg_catalog.now() at time zone 'UTC')::date;
    v_first date;
    v_next date;
    v_from timestamptz;
    v_to timestamptz;
    v_opening numeric;
    v_statement jsonb;
begin
    if (p_limit between 0 and 500 and p_after >= 0) is not true then
        perform private.raise_error(400, 'invalid_limit', 'A part of a statement holds up to 500 rows.');
    end if;
    if (p_month between pg_catalog.date_trunc('month', v_member.created_at at time zone 'UTC') and v_today) is not true then
        perform private.raise_error(400, 'invalid_range', 'There is no statement of this month.');
    end if;
    v_first := pg_catalog.date_trunc('month', p_month::timestamp)::date;
    v_next := (v_first + interval '1 month')::date;
    v_from := v_first::timestamp at time zone 'UTC';
    v_to := v_next::timestamp at time zone 'UTC';
    v_opening := private.balance_now(v_member.user_id) - coalesce(
        (select sum(d.amount) from private.balance_days(v_member.user_id, v_first) as d), 0
    );
    with effects as materialized (
        select m.effective_at, m.decision_no, m.id, m.source, m.source_id, m.amount, m.amount as moved
        from private.balance_movements(v_member.user_id, v_from, v_to) as m
        union all
        select d.decided_at, d.decision_no, d.id, 'deposit', d.id, d.amount, 0
        from public.deposits as d
        where d.user_id = v_member.user_id and d.status = 'approved' and d.decided_at >= v_from and d.decided_at < v_to
        union all
        select t.created_at, t.decision_no, t.id, 'deposit correction', c.id, t.amount, 0
        from private.corrections as c inner join public.transactions as t on c.id = t.reference_id
        where
            c.user_id = v_member.user_id and c.kind = 'void_deposit'
            and c.confirmed_at >= v_from and c.confirmed_at < v_to
    ),
    lines as materialized (
        select
            e.*,
            b.bonus_type,
            pg_catalog.row_number() over o as place,
            v_opening + sum(e.moved) over o as balance
        from effects as e
        left join public.bonuses as b on e.source = 'bonus' and e.source_id = b.id
        window o as (order by (e.effective_at at time zone 'UTC')::date, e.decision_no, e.id)
    ),
    sums as (
        select
            coalesce(sum(l.moved) filter (where l.bonus_type = 'referral' and l.moved > 0), 0) as referral,
            coalesce(sum(l.moved) filter (where l.bonus_type = 'pairing' and l.moved > 0), 0) as pairing,
            coalesce(sum(l.moved) filter (where l.bonus_type = 'override' and l.moved > 0), 0) as override,
            coalesce(sum(l.moved) filter (where l.source = 'correction'), 0) as returned,
            coalesce(-sum(l.moved) filter (where l.source = 'withdrawal'), 0) as withdrawn,
            coalesce(-sum(l.moved) filter (where l.source = 'bonus' and l.moved < 0), 0) as lowered,
            coalesce(sum(l.moved), 0) as moved,
            coalesce(sum(l.amount) filter (where l.source in ('deposit', 'deposit correction')), 0) as deposits,
            count(*) as rows,
            count(*) filter (where l.moved > 0) as rows_in,
            count(*) filter (where l.moved < 0) as rows_out
        from lines as l
    )
    select pg_catalog.jsonb_build_object(
        'from', v_first,
        'to', v_next - 1,
        'running', v_next > v_today,
        'opening', private.money(v_opening),
        'in', pg_catalog.jsonb_build_object(
            'referral', private.money(s.referral), 'pairing', private.money(s.pairing), 'override', private.money(s.override),
            'returned', private.money(s.returned), 'total', private.money(s.referral + s.pairing + s.override + s.returned), 'rows', s.rows_in
        ),
        'out', pg_catalog.jsonb_build_object(
            'withdrawals', private.money(s.withdrawn), 'lowered', private.money(s.lowered),
            'total', private.money(s.withdrawn + s.lowered), 'rows', s.rows_out
        ),
        'closing', private.money(v_opening + s.moved),
        'deposits', private.money(s.deposits),
        'total', s.rows,
        'rows', coalesce((
            select pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object(
                    'id', l.id,
                    'at', l.effective_at,
                    'type', coalesce(l.bonus_type || ' bonus', l.source),
                    'amount', private.money(l.amount),
                    'in_balance', l.source not in ('deposit', 'deposit correction'),
                    'balance_after', private.money(l.balance),
                    'counterparty', p.username,
                    'pair_number', b.pair_number,
                    'raised', l.source = 'bonus' and exists (
                        select from public.transactions as f
                        where f.reference_id = l.source_id and (coalesce(f.decision_no, 0), f.id) < (l.decision_no, l.id)
                    ),
                    'reference', coalesce(d.reference_number, w.payout_reference),
                    'wallet_address', w.wallet_address
                ) order by l.place
            )
            from lines as l
            left join public.bonuses as b on l.source = 'bonus' and l.source_id = b.id
            left join private.profiles as p on b.source_user_id = p.user_id
            left join public.deposits as d on l.source = 'deposit' and l.source_id = d.id
            left join public.withdrawals as w on l.source = 'withdrawal' and l.source_id = w.id
            where l.place > p_after and l.place <= p_after + p_limit
        ), '[]'),
        'next', case when p_limit > 0 and s.rows > p_after + p_limit then p_after + p_limit end
    )
    into v_statement
    from sums as s;
    return v_statement;
end
$$;
comment on function public.get_statement(date, integer, integer) is
'The caller''s statement of the month that has this day, in UTC days: opening + in - out = closing of the withdrawable balance, and the rows after a place, oldest first. deposits is no part of it. next is the place to go on after, null at the end. Errors: invalid_limit, invalid_range.';
grant execute on function public.get_statement(date, integer, integer) to authenticated;

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

-- The journal row of a request has its time; of a status other than completed there is no other row.
create function private.journal_of_requests(p_status public.transaction_status, p_newest integer default null) returns text
language plpgsql immutable set search_path = '' as $$
declare
    v_requests text := case p_status when 'pending' then 'pending' when 'failed' then 'rejected' end;
    -- Before the journal is read: of each table these are enough.
    v_newest text := ' order by q.created_at desc, q.id desc limit ' || p_newest;
begin
    return pg_catalog.format(
        $query$(
            select t.id, t.user_id, t.reference_id, t.transaction_type, t.status, q.created_at
            from (
                (select q.id, q.created_at from public.deposits as q where q.status = %1$L%2$s)
                union all
                (select q.id, q.created_at from public.withdrawals as q where q.status = %1$L%2$s)
            ) as q
            inner join public.transactions as t on t.transaction_type <> 'bonus' and q.id = t.reference_id
        )$query$, v_requests, v_newest
    );
end
$$;
comment on function private.journal_of_requests(public.transaction_status, integer) is
'What to read pending or failed rows of the journal from, as SQL: found by the requests that have this status, all or as many of the newest of each kind.';

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
                inner join private.profiles as p on o.user_id = p.user_id
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
    inner join private.profiles as p on o.user_id = p.user_id;
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
    select o.* into v_position from private.positions as o where o.user_id = v_root.user_id;
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
            inner join private.profiles as p on o.user_id = p.user_id
            where o.referrer_no = p_no and o.child_no between p_after * 2 + 1 and (p_after + p_limit) * 2
            group by o.pair_no
        ) as q
    );
end
$$;
comment on function private.pair_items(integer, numeric, integer, integer) is
'Pairs of one owner after a pair number, in order, with their state.';

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
            'paying_pairs', v_totals.pairing_count
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
            inner join private.profiles as p on o.user_id = p.user_id
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
    id bigint generated always as identity,
    no integer not null,
    members integer not null default 0,
    package_cents bigint not null default 0,
    referral numeric not null default 0,
    pairing numeric not null default 0,
    override numeric not null default 0,
    day date not null,
    funded integer not null default 0,
    -- The member first: one index, which the deltas of a member are read along.
    primary key (no, id)
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
        from private.profiles as p where p.user_id = new.user_id;
    elsif not private.is_repairing() then
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
        inner join private.profiles as p on o.user_id = p.user_id
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
        returning d.no
    ),
    noted as (
        insert into private.ledger_changes (no, is_earner) select distinct e.no, true from earned as e
    )
    select count(*)::integer into v_rows from taken;
    perform private.propagate_staged_totals();
    v_large_teams := private.finalise_network_roll_up();
    if pg_catalog.cardinality(v_large_teams) > 0 then
        perform private.backfill_team_days(v_large_teams, 20);
    end if;
    return v_rows;
end
$$;
comment on function jobs.roll_up_networks() is 'Propagates the deltas to every member above and into the daily tables; returns how many.';
grant execute on function jobs.roll_up_networks() to worker;

create function private.propagate_staged_totals() returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_depth integer := (select max(c.depth) from private.network_rollup_staging as c);
begin
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
end
$$;
comment on function private.propagate_staged_totals() is
'Adds the staged totals of each level, and the staged days, to the level above, from the deepest to the roots.';

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
    ),
    noted as (
        insert into private.ledger_changes (no) select f.no from finalised as f
    )
    select array(select s.no from finalised as s where s.members > 500 and not s.has_days) into v_large_teams;
    return v_large_teams;
end
$$;
comment on function private.finalise_network_roll_up() is
'The end of a roll-up: adds the staged values to totals and days, and notes whose totals changed. Returns large teams whose days are not materialised yet.';

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
            inner join private.profiles as p on o.user_id = p.user_id
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
        where o.user_id = (p_member).user_id
        union all
        select o.no, c.members, c.package_cents, c.referral, c.pairing, c.override
        from private.network_deltas as c
        inner join private.positions as q on c.no = q.no
        inner join private.profiles as p on q.user_id = p.user_id
        inner join private.positions as o on o.user_id = (p_member).user_id
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
        inner join private.profiles as p on o.user_id = p.user_id
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
        inner join private.profiles as p on o.user_id = p.user_id
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
    v_points jsonb;
    v_joined jsonb;
    v_previous jsonb;
begin
    select o.no into v_no from private.positions as o where o.user_id = v_member.user_id;
    select * into v_range from private.chart_range(p_range, v_member.created_at);
    with days as materialized (
        select c.day, c.members, c.funded from private.team_growth(v_member, v_no) as c
    ),
    per_bar as (
        select
            -- What happened before the chart counts in its first bar.
            greatest(pg_catalog.date_trunc(v_range.bucket, c.day::timestamp), v_range.first_day::timestamp) as start,
            sum(c.members) as members,
            sum(c.funded) as funded
        from days as c
        group by 1
    ),
    bars as (
        select
            s.start,
            sum(coalesce(c.members, 0)) over (order by s.start) as members,
            sum(coalesce(c.funded, 0)) over (order by s.start) as funded
        from pg_catalog.generate_series(
            v_range.first_day::timestamp, v_range.last_day::timestamp, ('1 ' || v_range.bucket)::interval
        ) as s (start)
        left join per_bar as c on s.start = c.start
    )
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object('start', a.start::date, 'members', a.members, 'funded', a.funded) order by a.start
        ),
        (
            select pg_catalog.jsonb_build_object('members', coalesce(sum(d.members), 0), 'funded', coalesce(sum(d.funded), 0))
            from days as d where d.day >= v_range.first_day
        ),
        (
            select pg_catalog.jsonb_build_object('members', coalesce(sum(d.members), 0), 'funded', coalesce(sum(d.funded), 0))
            from days as d where d.day between v_range.previous_first_day and v_range.previous_last_day
        )
    into v_points, v_joined, v_previous
    from bars as a;
    return pg_catalog.jsonb_build_object(
        'from', v_range.first_day, 'to', v_range.last_day, 'bucket', v_range.bucket, 'points', v_points, 'joined', v_joined,
        'previous', case when v_range.previous_first_day is not null then
            v_previous || pg_catalog.jsonb_build_object('from', v_range.previous_first_day, 'to', v_range.previous_last_day)
        end
    );
end
$$;
comment on function public.get_team_growth(text) is
'Size of the caller''s team at the end of each bar, and how many are funded; joined counts the days of the chart, previous those to compare with. Ranges as in get_earnings. Errors: invalid_range.';
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
    decision_no bigint,
    constraint confirmer_is_not_proposer check (confirmed_by is distinct from proposed_by),
    constraint only_packages_have_a_value check ((kind = 'set_package') = (value is not null)),
    constraint confirmation_is_complete check (
        (confirmed_by is null) = (confirmed_at is null) and (confirmed_by is null) = (confirmed_in is null)
        and (confirmed_by is null) = (decision_no is null)
    ),
    constraint discard_is_complete check ((discarded_by is null) = (discarded_at is null)),
    constraint confirmed_or_discarded check (confirmed_by is null or discarded_by is null)
);
comment on table private.corrections is
'Proposed, confirmed and discarded corrections. target_id: the deposit, the withdrawal, or the member''s profile.';
comment on column private.corrections.decision_no is 'Place of the confirmation in the order of all decisions; its journal rows carry it.';
alter table private.corrections enable row level security;
create index corrections_user_idx on private.corrections (user_id);
create index corrections_proposed_idx on private.corrections (proposed_at desc);
create index corrections_proposed_by_idx on private.corrections (proposed_by);
create index corrections_confirmed_by_idx on private.corrections (confirmed_by) where confirmed_by is not null;
create index corrections_discarded_by_idx on private.corrections (discarded_by) where discarded_by is not null;
create unique index corrections_waiting_key on private.corrections (kind, target_id) where confirmed_by is null and discarded_by is null;
create index corrections_waiting_idx on private.corrections (proposed_at, id) where confirmed_by is null and discarded_by is null;
-- The latest ones, and the correction that caused a journal row.
create unique index corrections_decision_no_key on private.corrections (decision_no desc) where confirmed_by is not null;
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

create function private.correction_facts(p_correction private.corrections) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_correction).user_id, 'kind', (p_correction).kind, 'target_id', (p_correction).target_id,
        'value', private.money((p_correction).value), 'reason', (p_correction).reason, 'proposed_by', (p_correction).proposed_by,
        'decision_no', (p_correction).decision_no
    )
$$;
comment on function private.correction_facts(private.corrections) is
'Payload of correction.proposed, correction.confirmed and correction.discarded.';

create function private.audit_correction(p_action text, p_admin_id uuid, p_correction private.corrections, p_at timestamptz) returns jsonb
language plpgsql volatile set search_path = '' as $$
begin
    perform private.audit('admin:' || p_admin_id, p_action, 'correction', (p_correction).id, private.correction_facts(p_correction), p_at);
    return pg_catalog.jsonb_build_object('success', true, 'correction', pg_catalog.to_jsonb(p_correction) - 'confirmed_in')
        || private.audit_entries();
end
$$;
comment on function private.audit_correction(text, uuid, private.corrections, timestamptz) is
'Audits what happened to a correction and when; returns the response.';

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
    return private.audit_correction('correction.proposed', v_admin.id, v_correction, v_correction.proposed_at);
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
        select c.value, c.decision_no from private.corrections as c
        where c.user_id = p_user_id and c.kind = 'set_package' and c.confirmed_by is not null
        order by c.decision_no desc limit 1
    )
    select greatest(
        coalesce((select c.value from correction as c), 0),
        coalesce((
            select max(d.amount) from public.deposits as d inner join private.packages as k on k.value = d.amount
            where d.user_id = p_user_id and d.status = 'approved' and d.voided_at is null
                and d.decision_no > coalesce((select c.decision_no from correction as c), 0)
        ), 0)
    )
$$;
comment on function private.due_package(uuid) is
'A member''s package recomputed: the last correction''s value or the largest counting package deposit approved since, whichever is larger.';

-- What a correction explains, for the ledger checks. Nothing is kept for it: the journal has the order and the cause of
-- every change.

create view private.shortfall_discrepancies as
select
    s.user_id,
    s.withdrawn_amount - s.bonus_amount as shortfall,
    x.excused
from private.totals as s
cross join
    lateral (
        -- What corrections caused, less what was earned back since.
        select coalesce(sum(r.caused) + least(min(r.shortfall - r.caused_so_far), 0), 0) as excused
        from (
            select
                q.shortfall,
                q.caused,
                sum(q.caused) over (order by q.decision_no nulls first) as caused_so_far
            from (
                select
                    e.decision_no,
                    greatest(-e.balance, 0) as shortfall,
                    case
                        when c.id is not null then greatest(greatest(-e.balance, 0) - greatest(e.amount - e.balance, 0), 0) else 0
                    end as caused
                from (
                    select
                        t.decision_no,
                        sum(t.amount) as amount,
                        sum(sum(t.amount)) over (order by t.decision_no nulls first) as balance
                    from public.transactions as t
                    where t.user_id = s.user_id and t.status = 'completed' and t.transaction_type <> 'deposit'
                    group by t.decision_no
                ) as e
                left join private.corrections as c on e.decision_no = c.decision_no and c.confirmed_by is not null
            ) as q
        ) as r
    ) as x
where s.bonus_amount < s.withdrawn_amount and s.withdrawn_amount - s.bonus_amount > x.excused;
comment on view private.shortfall_discrepancies is
'Members whose withdrawals exceed their bonuses by more than corrections caused, the part that they earned back left out.';

create view private.corrected_fundings as
with cash as (
    select
        d.user_id,
        d.decision_no,
        d.amount::numeric as amount
    from public.deposits as d
    where
        d.status = 'approved'
        and d.user_id in (
            select c.user_id from private.corrections as c
            where c.confirmed_by is not null and c.kind <> 'void_withdrawal'
        )
    union all
    select
        c.user_id,
        c.decision_no,
        coalesce(-d.amount, 0)
    from private.corrections as c
    left join public.deposits as d on c.kind = 'void_deposit' and c.target_id = d.id
    where c.confirmed_by is not null and c.kind <> 'void_withdrawal'
),

steps as (
    select
        e.user_id,
        e.decision_no,
        p.package > 0 and sum(e.amount) over (partition by e.user_id order by e.decision_no) >= p.package as funded
    from cash as e
    left join
        lateral (
            select
                c.value,
                c.decision_no
            from private.corrections as c
            where c.user_id = e.user_id and c.kind = 'set_package' and c.decision_no <= e.decision_no
            order by c.decision_no desc
            limit 1
        ) as s
        on true
    cross join
        lateral (
            select greatest(coalesce(s.value, 0), coalesce(max(k.value), 0)) as package
            from public.deposits as d
            inner join private.packages as k on d.amount = k.value
            where
                d.user_id = e.user_id
                and d.status = 'approved'
                and d.decision_no > coalesce(s.decision_no, 0)
                and d.decision_no <= e.decision_no
                and not exists (
                    select 1 from private.corrections as v
                    where v.kind = 'void_deposit' and v.target_id = d.id and v.decision_no <= e.decision_no
                )
        ) as p
)

select
    f.user_id,
    max(f.decision_no) as decision_no
from (
    select
        g.user_id,
        g.decision_no,
        g.funded and not lag(g.funded, 1, false) over (partition by g.user_id order by g.decision_no) as begins
    from steps as g
) as f
where f.begins
group by f.user_id;
comment on view private.corrected_fundings is
'Of members whose deposits or package were corrected: the last decision that made them funded, from deposits and corrections alone.';


create function private.apply_correction(p_correction private.corrections) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_amount numeric;
    v_position integer;
begin
    if (p_correction).kind = 'void_withdrawal' then
        update public.withdrawals as w set voided_at = (p_correction).confirmed_at where w.id = (p_correction).target_id returning w.amount into v_amount;
        update private.totals as t set withdrawn_amount = t.withdrawn_amount - v_amount where t.user_id = (p_correction).user_id;
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        values (
            (p_correction).user_id, v_amount, 'withdrawal', 'completed', (p_correction).id, (p_correction).confirmed_at, (p_correction).decision_no
        );
        perform private.increment_counter('withdrawals_approved', -v_amount);
        return;
    end if;
    if (p_correction).kind = 'void_deposit' then
        update public.deposits as d set voided_at = (p_correction).confirmed_at where d.id = (p_correction).target_id returning d.amount into v_amount;
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        values (
            (p_correction).user_id, -v_amount, 'deposit', 'completed', (p_correction).id, (p_correction).confirmed_at, (p_correction).decision_no
        );
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
    perform private.require_no_alarm(v_correction.user_id);
    return v_correction;
end
$$;
comment on function private.lock_waiting_correction(uuid) is
'Takes the money lock and returns a pending correction: no other transaction can confirm or discard it. Errors: not_found, already_decided, try_again.';

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
    return private.audit_correction('correction.confirmed', v_admin.id, v_correction, v_correction.confirmed_at);
end
$$;
comment on function public.confirm_correction(uuid) is
'Finance and super administrators, never the proposer: applies a correction. Errors: forbidden, not_found, already_decided, ledger_alarm, two_people, own_account, not_correctable, try_again.';
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
    return private.audit_correction('correction.discarded', v_admin.id, v_correction, v_correction.discarded_at);
end
$$;
comment on function public.discard_correction(uuid) is
'Finance and super administrators, also the proposer: discards a pending correction. Changes nothing else. Errors: forbidden, not_found, already_decided, ledger_alarm, own_account, try_again.';
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
            'user_id', p.user_id,
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
            select c.id from private.corrections as c where c.confirmed_by is not null order by c.decision_no desc limit 50
        ), v_admin), '[]')
    );
end
$$;
comment on function public.list_corrections() is
'Administrators: pending corrections, oldest first, at most 200, and the last 50 confirmed ones. `refusal` says why the caller may not confirm; null when allowed. Errors: forbidden, session_ended.';
grant execute on function public.list_corrections() to platform_admin;

-- What members are notified of that they earned: one notification for all bonuses that one decision brought a member.
-- It is written after the decision and not with it: a decision holds the money lock, and nobody waits for this. What is
-- to be notified is read from the audit log, in which every decision has exactly one entry. These entries are written
-- under the money lock, so that they are committed in the order of their ids and the last id is all there is to store.
-- It is stored in the transaction that writes the notifications: none is lost, and none is written twice.

create table private.earnings_state (
    only_row boolean primary key default true check (only_row),
    entry_id bigint not null default 0
);
comment on table private.earnings_state is 'How far members were notified of what they earned.';
comment on column private.earnings_state.entry_id is
'The last entry of the audit log whose bonuses members were notified of. What was decided before this table was there is never notified.';
alter table private.earnings_state enable row level security;

insert into private.earnings_state default values;

create function private.credited_decisions(p_after bigint, p_until bigint, p_limit integer) returns setof private.audit_log
language sql stable set search_path = '' as $$
    -- Each action is one range of an index.
    (
        select * from private.audit_log as a
        where a.action collate "C" = 'deposit.approved' and a.id > p_after and a.id <= p_until
        order by a.id
        limit p_limit
    )
    union all
    (
        select * from private.audit_log as a
        where a.action collate "C" = 'correction.confirmed' and a.id > p_after and a.id <= p_until
        order by a.id
        limit p_limit
    )
    order by id
    limit p_limit
$$;
comment on function private.credited_decisions(bigint, bigint, integer) is
'The entries of decisions that may have brought bonuses, after one and up to another, in the order of the decisions.';

-- The bonuses that one member's package can change are found by their keys, as an approval finds them: there is no other
-- way to the journal rows of one decision that would not cost each decision an index.
create function private.earned_bonuses(p_after bigint, p_until bigint) returns table (
    entry_id bigint,
    at timestamptz,
    is_deposit boolean,
    member_id uuid,
    earner_id uuid,
    owner_no integer,
    bonus_type public.bonus_type,
    amount numeric,
    bonuses bigint,
    pair_number integer
)
language sql stable set search_path = '' as $$
    with decisions as materialized (
        select
            a.id as entry_id, a.at, d.id is not null as is_deposit, coalesce(d.decision_no, c.decision_no) as decision_no,
            -- Cash-in changes nobody's package and so none of the member's own rates.
            d.kind is distinct from 'cash_in' as changes_package,
            p.user_id, p.no, p.referrer_no, p.pair_no
        from private.credited_decisions(p_after, p_until, null) as a
        left join public.deposits as d on a.object_type = 'deposit' and a.object_id = d.id
        left join private.corrections as c on a.object_type = 'correction' and a.object_id = c.id
        inner join private.positions as p on coalesce(d.user_id, c.user_id) = p.user_id
    ), bonuses as (
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'referral' and x.no = b.subject_no
        union all
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'pairing' and x.referrer_no = b.subject_no and x.pair_no = b.pair_number
        union all
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'override' and x.referrer_no = b.subject_no and x.pair_no = b.pair_number
        union all
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'pairing' and x.no = b.subject_no
        where x.changes_package
    )
    select
        x.entry_id, x.at, x.is_deposit, x.user_id, b.user_id, b.subject_no, b.bonus_type, sum(t.amount), count(*), min(b.pair_number)
    from bonuses as e
    inner join decisions as x on e.entry_id = x.entry_id
    inner join public.bonuses as b on e.id = b.id
    inner join public.transactions as t on t.transaction_type = 'bonus' and b.id = t.reference_id and x.decision_no = t.decision_no
    group by x.entry_id, x.at, x.is_deposit, x.user_id, b.user_id, b.subject_no, b.bonus_type
$$;
comment on function private.earned_bonuses(bigint, bigint) is
'What the decisions of a range of the audit log credited to whom, by type of bonus.';

create function private.earned_words(p_type public.bonus_type, p_amount numeric, p_bonuses bigint, p_pair integer, p_owner text) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return case
        when p_type = 'referral' then pg_catalog.format('a referral bonus of %s', private.dollars(p_amount))
        when p_type = 'override' then pg_catalog.format('an override bonus of %s for pair %s of %s', private.dollars(p_amount), p_pair, p_owner)
        when p_bonuses = 1 then pg_catalog.format('a pairing bonus of %s for pair %s', private.dollars(p_amount), p_pair)
        else pg_catalog.format('pairing bonuses of %s for %s pairs', private.dollars(p_amount), p_bonuses)
    end;
end
$$;
comment on function private.earned_words(public.bonus_type, numeric, bigint, integer, text) is
'Bonuses of one type in words: how much, and from which pair.';

create function jobs.are_earnings_due() returns boolean
language sql stable security definer set search_path = '' as $$
    select exists (select from private.earnings_state as s cross join lateral private.credited_decisions(s.entry_id, 9223372036854775807, 1))
$$;
comment on function jobs.are_earnings_due() is 'Whether members are to be notified of bonuses now.';
grant execute on function jobs.are_earnings_due() to worker;

create function jobs.notify_earnings(p_limit integer default 100) returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_after bigint;
    v_until bigint;
    v_notified integer;
begin
    select s.entry_id into v_after from private.earnings_state as s for update skip locked;
    -- Another worker is writing them.
    if not found then
        return 0;
    end if;
    -- Before they are read: what is committed meanwhile is for the next time.
    select max(d.id) into v_until from private.credited_decisions(v_after, 9223372036854775807, p_limit) as d;
    if v_until is null then
        return 0;
    end if;
    perform private.notify_member(
        n.earner_id, 'bonus_earned', 'You earned ' || private.dollars(n.amount),
        pg_catalog.format(
            case when n.is_deposit then '%s deposit was approved and brought you %s.' else '%s package was corrected, which brought you %s.' end,
            case when n.earner_id = n.member_id then 'Your' else m.username || '’s' end, n.words
        ), n.amount, '/transactions', n.at
    )
    from (
        select
            e.entry_id, e.at, e.is_deposit, e.member_id, e.earner_id, sum(e.amount) as amount,
            pg_catalog.string_agg(
                private.earned_words(e.bonus_type, e.amount, e.bonuses, e.pair_number, o.username), ' and ' order by e.bonus_type
            ) as words
        from private.earned_bonuses(v_after, v_until) as e
        inner join private.positions as q on e.owner_no = q.no
        inner join private.profiles as o on q.user_id = o.user_id
        -- A correction takes from some and gives to others.
        where e.amount > 0
        group by e.entry_id, e.at, e.is_deposit, e.member_id, e.earner_id
    ) as n
    inner join private.profiles as m on n.member_id = m.user_id
    inner join private.profiles as p on n.earner_id = p.user_id
    where p.closed_at is null
    order by n.entry_id, n.earner_id;
    get diagnostics v_notified = row_count;
    update private.earnings_state as s set entry_id = v_until;
    return v_notified;
end
$$;
comment on function jobs.notify_earnings(integer) is
'Notifies members of the bonuses that the next decisions brought them, one notification a decision, once; returns how many. 0 also while another worker does.';
grant execute on function jobs.notify_earnings(integer) to worker;

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
            'profile_id', p.id,
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

-- Completed lessons and ticked checklist items of the trading school, as rows, so that progress is the same on every
-- device. The app knows what they say; here they are names, limited in number.

create table public.lesson_progress (
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    lesson_id text not null check (lesson_id ~ '\A[a-z0-9-]{1,63}\Z'),
    done_at timestamptz not null default now(),
    primary key (user_id, lesson_id)
);
comment on table public.lesson_progress is 'Lessons that a member marked as done, and checklist items ticked. Unmarking deletes the row.';
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
-- A row has the last decision that it saw, by which the ledger checks derive its sums again: what was decided or voided
-- since has a later number, whatever its time says. Who had joined has no number, nor which package a member had:
-- of those figures they verify that they agree with each other.

create table private.income_disclosures (
    computed_at timestamptz primary key,
    body jsonb not null,
    decision_no bigint
);
-- Of rows from before, nobody knows. Not validated, so that only those may lack it.
alter table private.income_disclosures add constraint a_disclosure_says_what_it_saw check (decision_no is not null) not valid;
comment on table private.income_disclosures is 'Every published disclosure.';
comment on column private.income_disclosures.decision_no is 'The last decision that the figures include; null in rows from before, which nothing verifies.';
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
        -- One statement, so that figures and number are those of one snapshot.
        insert into private.income_disclosures (computed_at, body, decision_no)
        values (
            v_now, private.compute_disclosure(v_from, v_to) || pg_catalog.jsonb_build_object('computed_at', v_now), private.last_decision_no()
        )
        returning * into v_published;
    end if;
    return v_published;
end
$$;
comment on function private.publish_disclosure() is
'Computes and publishes the last year until midnight (UTC); a null row when there is nothing to report.';

create function private.published_time(p_text text) returns timestamptz
language plpgsql stable set search_path = '' as $$
begin
    return p_text::timestamptz;
exception when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
    return null;
end
$$;
comment on function private.published_time(text) is 'A time of a disclosure; null when it is none, so that a damaged row stops no check.';

create function private.published_count(p_text text) returns bigint
language plpgsql immutable set search_path = '' as $$
begin
    return case when p_text ~ '\A[0-9]{1,15}\Z' then p_text::bigint end;
end
$$;
comment on function private.published_count(text) is 'A number of members of a disclosure; null when it is none, so that a damaged row stops no check.';

-- All disclosures in one pass, as the days of coverage. Times are numbered by the beginnings and ends of all periods: a
-- period holds what has a number from that of its beginning to one below that of its end. What no disclosure lacks is
-- summed up along these numbers; what one does lack, having been decided or voided since, is added row by row.
create function private.disclosure_discrepancies() returns table (computed_at timestamptz, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = ''
-- The planner may expect few rows where nothing was analysed yet, and would compare each with each.
set enable_nestloop = 'off' as $$
declare
    v_bounds timestamptz[] := array(
        select distinct b.at from private.income_disclosures as d
        cross join lateral (
            values (private.published_time(d.body ->> 'from')), (private.published_time(d.body ->> 'to'))
        ) as b (at)
        where d.decision_no is not null and b.at is not null order by b.at
    );
begin
    return query
    with stated as materialized (
        select
            d.computed_at,
            d.body,
            d.decision_no,
            p.first_at,
            p.last_at,
            pg_catalog.array_position(v_bounds, p.first_at) as first_no,
            pg_catalog.array_position(v_bounds, p.last_at) as last_no,
            pg_catalog.row_number() over (order by d.computed_at) as place
        from private.income_disclosures as d
        cross join lateral (
            select private.published_time(d.body ->> 'from') as first_at, private.published_time(d.body ->> 'to') as last_at
        ) as p
        where d.decision_no is not null
    ),

    -- Of each span between two bounds: the number that no disclosure ending after it lacks.
    spans as materialized (
        select s.no, min(min(d.decision_no)) over (order by s.no desc rows between unbounded preceding and 1 preceding) as safe_no
        from pg_catalog.generate_series(0, pg_catalog.cardinality(v_bounds)) as s (no)
        left join stated as d on s.no = d.last_no
        group by s.no
    ),

    events as materialized (
        select
            pg_catalog.width_bucket(e.at, v_bounds) as no,
            pg_catalog.width_bucket(greatest(e.at, e.joined_at), v_bounds) as joined_no,
            coalesce(e.decision_no, 0) as decision_no,
            sum(e.credited) as credited,
            sum(e.withdrawn) as withdrawn,
            sum(e.members) as members
        from (
            -- A bonus of a member who joined, by the clock, after the period is in no member's sum.
            select t.created_at as at, p.created_at as joined_at, t.decision_no, t.amount::numeric as credited, 0::numeric as withdrawn, 0 as members
            from public.transactions as t inner join private.profiles as p on t.user_id = p.user_id
            where t.transaction_type = 'bonus' and t.status = 'completed'
            union all
            select w.decided_at, null, w.decision_no, 0, w.amount, 0
            from public.withdrawals as w where w.status = 'approved'
            union all
            -- What is void when the period is published is not in it, whenever it was voided.
            select w.decided_at, null, c.decision_no, 0, -w.amount, 0
            from public.withdrawals as w
            left join private.corrections as c on c.kind = 'void_withdrawal' and w.id = c.target_id and c.confirmed_by is not null
            where w.status = 'approved' and w.voided_at is not null
            union all
            select p.created_at, null, 0, 0, 0, 1
            from private.profiles as p
        ) as e
        where pg_catalog.cardinality(v_bounds) > 0
        group by 1, 2, 3
    ),

    due as materialized (
        select e.*, e.decision_no <= s.safe_no and e.no = e.joined_no as is_plain
        from events as e inner join spans as s on e.no = s.no
    ),

    -- What happened before each bound.
    before as materialized (
        select
            s.no + 1 as bound_no,
            sum(coalesce(sum(u.credited), 0)) over w as credited,
            sum(coalesce(sum(u.withdrawn), 0)) over w as withdrawn,
            sum(coalesce(sum(u.members), 0)) over w as members
        from spans as s
        left join due as u on s.no = u.no and u.is_plain
        group by s.no
        window w as (order by s.no)
    ),

    compared as (
        select
            d.*,
            private.money(l.credited - f.credited + coalesce(x.credited, 0)) as credited,
            private.money(l.withdrawn - f.withdrawn + coalesce(x.withdrawn, 0)) as withdrawn,
            l.members as joined,
            private.published_count(d.body ->> 'members') as members,
            private.published_count(d.body #>> '{received_nothing,members}') as nothing,
            private.published_count(d.body #>> '{below_paid,members}') as below
        from stated as d
        left join before as f on d.first_no = f.bound_no
        left join before as l on d.last_no = l.bound_no
        left join lateral (
            select sum(u.credited) as credited, sum(u.withdrawn) as withdrawn
            from due as u
            where not u.is_plain and u.no >= d.first_no and u.joined_no < d.last_no and u.decision_no <= d.decision_no
        ) as x on true
    ),

    wrong as (
        select c.*, c.place - pg_catalog.row_number() over (order by c.place) as run
        from compared as c
        where private.published_time(c.body ->> 'computed_at') is distinct from c.computed_at
            or c.last_at is distinct from pg_catalog.date_trunc('day', c.computed_at at time zone 'UTC') at time zone 'UTC'
            -- A year has no more days, in whatever zone it was worked out.
            or (c.first_at < c.last_at and c.last_at - c.first_at < interval '367 days') is not true
            or c.body ->> 'credited' is distinct from c.credited
            or c.body ->> 'withdrawn' is distinct from c.withdrawn
            or (c.members <= c.joined and c.nothing <= c.members and c.below <= c.members) is not true
            or c.body -> 'too_few' is distinct from pg_catalog.to_jsonb(c.members < 10)
            or c.body #>> '{received_nothing,percent}' is distinct from private.disclosure_percent(c.members, c.nothing)
            or c.body #>> '{below_paid,percent}' is distinct from private.disclosure_percent(c.members, c.below)
    )

    select
        r.computed_at,
        pg_catalog.jsonb_build_object('disclosures', r.rows)
        || case
            when r.body ->> 'credited' is distinct from r.credited
                then pg_catalog.jsonb_build_object('stored_credited', r.body ->> 'credited', 'due_credited', r.credited) else '{}'
        end
        || case
            when r.body ->> 'withdrawn' is distinct from r.withdrawn
                then pg_catalog.jsonb_build_object('stored_withdrawn', r.body ->> 'withdrawn', 'due_withdrawn', r.withdrawn) else '{}'
        end
    from (
        select distinct on (w.run) w.*, count(*) over (partition by w.run) as rows
        from wrong as w
        order by w.run, w.place
    ) as r;
end
$$;
comment on function private.disclosure_discrepancies() is
'Disclosures whose period, credits or withdrawals are not what the decisions that they saw say, or whose numbers of members do not agree: the first of each run of such disclosures, how many they are, and the sums of the first one. All disclosures, but those from before decisions were noted.';

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
            'paying_pairs', t.pairing_count,
            'package_rate', private.percent(coalesce(k.pairing_percent, 0)),
            'total_team_volume', private.money(c.package_cents / 100.0)
        ),
        'latest', (
            select coalesce(pg_catalog.jsonb_agg(h.item order by h.created_at desc, h.id desc), '[]')
            from private.transaction_history(
                p.user_id, null, null, '-infinity', 'infinity', 'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 5
            ) as h
        ),
        'pending', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'source', r.source,
                        'id', r.id,
                        'amount', private.money(r.amount),
                        'created_at', r.created_at
                    ) order by r.created_at, r.id
                ), '[]'
            )
            from (
                select 'deposit' as source, d.id, d.amount, d.created_at
                from public.deposits as d where d.user_id = p.user_id and d.status = 'pending'
                union all
                select 'withdrawal', w.id, w.amount, w.created_at
                from public.withdrawals as w where w.user_id = p.user_id and w.status = 'pending'
            ) as r
        ),
        'unread_notifications', private.unread_notifications(p.user_id),
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
    v_previous numeric;
begin
    select o.no into v_no from private.positions as o where o.user_id = v_member.user_id;
    select * into v_range from private.chart_range(p_range, v_member.created_at);
    with days as materialized (
        select d.day, d.referral, d.pairing, d.override
        from private.earning_days as d where d.no = v_no and d.day >= coalesce(v_range.previous_first_day, v_range.first_day)
        union all
        select c.day, c.referral, c.pairing, c.override
        from private.network_deltas as c where c.no = v_no and c.day >= coalesce(v_range.previous_first_day, v_range.first_day)
    ),
    earned as (
        select
            pg_catalog.date_trunc(v_range.bucket, d.day::timestamp)::date as start,
            sum(d.referral) as referral,
            sum(d.pairing) as pairing,
            sum(d.override) as override
        from days as d
        where d.day >= v_range.first_day
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
        ),
        (
            select coalesce(sum(d.referral + d.pairing + d.override), 0) from days as d
            where d.day between v_range.previous_first_day and v_range.previous_last_day
        )
    into v_points, v_totals, v_previous
    from bars as a;
    return pg_catalog.jsonb_build_object(
        'from', v_range.first_day,
        'to', v_range.last_day,
        'bucket', v_range.bucket,
        'totals', v_totals,
        'previous', case when v_range.previous_first_day is not null then
            pg_catalog.jsonb_build_object(
                'from', v_range.previous_first_day, 'to', v_range.previous_last_day, 'total', private.money(v_previous)
            )
        end,
        'points', v_points
    );
end
$$;
comment on function public.get_earnings(text) is
'The caller''s earnings by type over time, by journal day, so that an upgrade''s increase is on the day it happened. Ranges 30d, 90d, 12m, all; days in UTC, weeks from Monday. previous is the period to compare with, null without one. Errors: invalid_range.';
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
            'created_at', r.created_at, 'amount', private.money(r.amount), 'status', r.status,
            'cancelled', r.status = 'rejected' and r.decided_by is null
        ) order by r.created_at desc, r.id desc
    )
    into v_recent
    from (
        (
            select d.id, 'deposit' as type, d.user_id, d.created_at, d.amount, d.status, d.decided_by
            from public.deposits as d order by d.created_at desc, d.id desc limit 10
        )
        union all
        (
            select w.id, 'withdrawal', w.user_id, w.created_at, w.amount, w.status, w.decided_by
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
        'books', pg_catalog.jsonb_build_object(
            'ok', case when v_ledger_check.checked_at is not null then v_ledger_check.violations = 0 end,
            'violations', v_ledger_check.violations,
            'checked_at', v_ledger_check.checked_at
        ),
        'alarms', private.alarm_summary(),
        'coverage', private.coverage()
    );
end
$$;
comment on function public.get_admin_overview() is
'Administrators: the panel''s first screen in one request. `books` is the last ledger check, its `ok` null before the first; `alarms` is what waits for an acknowledgement and what it stops. Errors: forbidden, session_ended.';
grant execute on function public.get_admin_overview() to platform_admin;

create function public.get_flows(p_range text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_range record;
    v_points jsonb;
    v_totals jsonb;
    v_previous jsonb;
begin
    perform private.require_admin();
    select * into v_range
    from private.chart_range(p_range, coalesce(private.first_flow_day()::timestamp at time zone 'UTC', pg_catalog.now()));
    with days as materialized (
        select f.day, f.deposits, f.withdrawals
        from private.flows_since(coalesce(v_range.previous_first_day, v_range.first_day)) as f
    ),
    moved as (
        select
            pg_catalog.date_trunc(v_range.bucket, d.day::timestamp)::date as start,
            sum(d.deposits) as deposits,
            sum(d.withdrawals) as withdrawals
        from days as d
        where d.day >= v_range.first_day
        group by 1
    ),
    bars as (
        select
            s.start::date as start,
            coalesce(m.deposits, 0) as deposits,
            coalesce(m.withdrawals, 0) as withdrawals
        from pg_catalog.generate_series(
            v_range.first_day::timestamp, v_range.last_day::timestamp, ('1 ' || v_range.bucket)::interval
        ) as s (start)
        left join moved as m on s.start::date = m.start
    )
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'start', a.start, 'deposits', private.money(a.deposits), 'withdrawals', private.money(a.withdrawals)
            ) order by a.start
        ),
        pg_catalog.jsonb_build_object(
            'deposits', private.money(sum(a.deposits)),
            'withdrawals', private.money(sum(a.withdrawals)),
            'net', private.money(sum(a.deposits - a.withdrawals))
        ),
        (
            select
                pg_catalog.jsonb_build_object(
                    'from', v_range.previous_first_day, 'to', v_range.previous_last_day,
                    'net', private.money(coalesce(sum(d.deposits - d.withdrawals), 0))
                )
            from days as d
            where d.day between v_range.previous_first_day and v_range.previous_last_day
        )
    into v_points, v_totals, v_previous
    from bars as a;
    return pg_catalog.jsonb_build_object(
        'from', v_range.first_day,
        'to', v_range.last_day,
        'bucket', v_range.bucket,
        'totals', v_totals,
        'previous', case when v_range.previous_first_day is not null then v_previous end,
        'points', v_points
    );
end
$$;
comment on function public.get_flows(text) is
'Administrators: approved deposits and withdrawals over time, by the UTC day of the request; those voided since do not count. Ranges 30d, 90d, 12m, all; weeks from Monday. previous is the period to compare with, null without one. Errors: forbidden, session_ended, invalid_range.';
grant execute on function public.get_flows(text) to platform_admin;

-- Payout coverage: whether the money received covers what members could withdraw, now and at the end of each UTC day.
-- The worker writes a day after it has ended. Every row of money has its times, so a day on which the worker was away
-- is computed later, exactly; taken_at says when. Past rows never change.
-- A row says what it was computed from: the last decision that it saw, and the requests that were pending. So the ledger
-- checks derive it again, however late: what was decided, voided or booked since has a later number, whatever its time
-- says. A request and its cancellation have no number, and their times may change nothing afterwards: that is why the
-- pending ones are named. Which requests were pending cannot be derived, nor how much a row should have seen.

create table private.coverage_days (
    day date primary key,
    figures jsonb not null check (jsonb_typeof(figures) = 'object'),
    taken_at timestamptz not null,
    decision_no bigint,
    pending_ids uuid[]
);
-- Of rows from before, nobody knows. Not validated, so that only those may lack it.
alter table private.coverage_days add constraint a_day_says_what_it_saw
check (decision_no is not null and pending_ids is not null) not valid;
comment on table private.coverage_days is 'Coverage at the end of each UTC day. taken_at: when it was computed, minutes later unless the worker was away.';
comment on column private.coverage_days.decision_no is 'The last decision that the figures include; null in rows from before, which nothing verifies.';
comment on column private.coverage_days.pending_ids is 'The withdrawals that the figures count as pending; null in rows from before.';
alter table private.coverage_days enable row level security;
create trigger _100_reject_change before update on private.coverage_days for each row execute function private.reject_change();
create trigger _100_reject_delete before delete or truncate on private.coverage_days
for each statement execute function private.reject_change();

-- Stored days are compared with what this returns: a change of it makes a violation of each of them.
create function private.coverage_figures(p_cash_in numeric, p_withdrawn numeric, p_pending numeric, p_claims numeric) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return pg_catalog.jsonb_build_object(
        'approved_cash_in', private.money(p_cash_in),
        'approved_withdrawals', private.money(p_withdrawn),
        'withdrawable', private.money(p_claims - p_pending),
        'pending', private.money(p_pending),
        'ratio', case when p_claims > 0 then private.percent((p_cash_in - p_withdrawn) / p_claims * 100) end
    );
end
$$;
comment on function private.coverage_figures(numeric, numeric, numeric, numeric) is
'Approved cash-in minus approved withdrawals, in percent of what members claim: withdrawable plus pending. No ratio when that is zero.';

create function private.coverage() returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_cash_in numeric := private.counter_value('deposits_approved');
    v_withdrawn numeric := private.counter_value('withdrawals_approved');
    v_pending numeric := private.counter_value('reserved');
    -- Per member: a shortfall of one member does not reduce what others may withdraw.
    v_claims numeric := private.counter_value('bonuses') - v_withdrawn + private.counter_value('shortfall');
begin
    return private.coverage_figures(v_cash_in, v_withdrawn, v_pending, v_claims);
end
$$;
comment on function private.coverage() is 'Coverage now, from counters.';

-- Reads everything, once a day.
create function private.coverage_at(p_at timestamptz) returns jsonb
language sql stable set search_path = '' set work_mem = '64MB' as $$
    select private.coverage_figures(
        (
            select coalesce(sum(d.amount), 0) from public.deposits as d
            where d.status = 'approved' and d.decided_at < p_at and coalesce(d.voided_at >= p_at, true)
        ),
        coalesce(sum(m.withdrawn), 0),
        coalesce(sum(m.pending), 0),
        -- Per member: a shortfall of one member does not reduce what others may withdraw.
        coalesce(sum(greatest(m.earned - m.withdrawn, m.pending)), 0)
    )
    from (
        select sum(a.earned) as earned, sum(a.withdrawn) as withdrawn, sum(a.pending) as pending
        from (
            select t.user_id, t.amount::numeric as earned, 0::numeric as withdrawn, 0::numeric as pending
            from public.transactions as t
            where t.transaction_type = 'bonus' and t.created_at < p_at
            union all
            select
                w.user_id,
                0,
                case when w.status = 'approved' and w.decided_at < p_at and coalesce(w.voided_at >= p_at, true) then w.amount else 0 end,
                case when coalesce(w.decided_at >= p_at, true) then w.amount else 0 end
            from public.withdrawals as w
            where w.created_at < p_at
        ) as a
        group by a.user_id
    ) as m
$$;
comment on function private.coverage_at(timestamptz) is 'Coverage at a moment of the past, from the times of all rows.';

create function private.pending_at(p_at timestamptz) returns uuid[]
language sql stable set search_path = '' as $$
    select coalesce(pg_catalog.array_agg(w.id order by w.id), '{}')
    from public.withdrawals as w
    where w.created_at < p_at and coalesce(w.decided_at >= p_at, true)
$$;
comment on function private.pending_at(timestamptz) is 'Withdrawals that were pending at a moment of the past, by their times.';

-- All days in one pass, in which only what a day may include is distinguished from what it does include: an event is in
-- a day's figures when it happened before the end of the day and has no later number than the row. Both grow from row to
-- row but where a clock stepped back, a repair booked something under an earlier day, or days were stored late. So an
-- event whose number no row from its day on lacks is added up once, from that day on; the few others row by row.
-- Members differ only where claims exceed what is left of their bonuses: of those who ever asked for money or lost a
-- bonus, the excess is followed from row to row; of all others it is nothing.
create function private.coverage_discrepancies() returns table (day date, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = ''
-- The planner may expect few rows where nothing was analysed yet, and would compare each with each.
set enable_nestloop = 'off' as $$
begin
    return query
    with days as materialized (
        select
            c.day,
            c.figures,
            c.decision_no,
            c.pending_ids,
            pg_catalog.row_number() over (order by c.day) as place
        from private.coverage_days as c
        where c.decision_no is not null
    ),

    -- Of each date: the first row that can include it, and the number that no row from there on lacks.
    calendar as materialized (
        select
            s.day,
            min(d.place) over (order by s.day desc) as place,
            min(d.decision_no) over (order by s.day desc) as safe_no
        from (
            select f.first_day + pg_catalog.generate_series(0, f.last_day - f.first_day) as day
            from (select min(e.day) as first_day, max(e.day) as last_day from days as e) as f
        ) as s
        left join days as d on s.day = d.day
    ),

    events as materialized (
        select
            greatest((e.at at time zone 'UTC')::date, (select min(d.day) from days as d)) as day,
            coalesce(e.decision_no, 0) as decision_no,
            e.user_id,
            e.cash_in,
            e.withdrawn,
            e.earned
        from (
            select d.decided_at as at, d.decision_no, d.user_id, d.amount::numeric as cash_in, 0::numeric as withdrawn, 0::numeric as earned
            from public.deposits as d where d.status = 'approved'
            union all
            select greatest(d.decided_at, d.voided_at), c.decision_no, d.user_id, -d.amount, 0, 0
            from public.deposits as d
            left join private.corrections as c on c.kind = 'void_deposit' and d.id = c.target_id and c.confirmed_by is not null
            where d.status = 'approved' and d.voided_at is not null
            union all
            select greatest(w.created_at, w.decided_at), w.decision_no, w.user_id, 0, w.amount, 0
            from public.withdrawals as w where w.status = 'approved'
            union all
            select greatest(w.created_at, w.decided_at, w.voided_at), c.decision_no, w.user_id, 0, -w.amount, 0
            from public.withdrawals as w
            left join private.corrections as c on c.kind = 'void_withdrawal' and w.id = c.target_id and c.confirmed_by is not null
            where w.status = 'approved' and w.voided_at is not null
            union all
            select t.created_at, t.decision_no, t.user_id, 0, 0, t.amount
            from public.transactions as t where t.transaction_type = 'bonus'
        ) as e
        where e.at < ((select max(d.day) from days as d) + 1)::timestamp at time zone 'UTC'
    ),

    -- Who may claim more than is left.
    claimants as materialized (
        select w.user_id from public.withdrawals as w
        union
        select e.user_id from events as e where e.earned < 0
    ),

    due as materialized (
        select
            e.user_id,
            k.place,
            k.safe_no,
            e.decision_no,
            case when e.decision_no > k.safe_no then e.day end as day,
            e.cash_in,
            e.withdrawn,
            e.earned
        from (
            select v.day, v.decision_no, q.user_id, sum(v.cash_in) as cash_in, sum(v.withdrawn) as withdrawn, sum(v.earned) as earned
            from events as v left join claimants as q on v.user_id = q.user_id
            group by v.day, v.decision_no, q.user_id
        ) as e
        inner join calendar as k on e.day = k.day
    ),

    steps as materialized (
        select s.place, s.user_id, sum(s.cash_in) as cash_in, sum(s.withdrawn) as withdrawn, sum(s.earned) as earned
        from (
            select u.place, u.user_id, u.cash_in, u.withdrawn, u.earned from due as u where u.day is null
            union all
            select d.place + n.later, u.user_id, n.sign * u.cash_in, n.sign * u.withdrawn, n.sign * u.earned
            from due as u
            inner join days as d on u.day <= d.day and u.decision_no <= d.decision_no
            cross join (values (0, 1), (1, -1)) as n (later, sign)
            where u.day is not null
        ) as s
        group by s.place, s.user_id
    ),

    pending as materialized (
        select d.place, w.user_id, sum(w.amount)::numeric as amount
        from days as d
        cross join pg_catalog.unnest(d.pending_ids) as p (id)
        inner join public.withdrawals as w on p.id = w.id
        group by d.place, w.user_id
    ),

    -- What members claim beyond what is left of their bonuses: how that changes with each row.
    excess as (
        select x.place, sum(x.amount) as amount
        from (
            select
                b.place,
                greatest(b.pending - b.available, 0) - lag(greatest(b.pending - b.available, 0), 1, 0) over (partition by b.user_id order by b.place) as amount
            from (
                select
                    m.user_id,
                    m.place,
                    sum(sum(m.available)) over (partition by m.user_id order by m.place) as available,
                    sum(sum(m.pending)) over (partition by m.user_id order by m.place) as pending
                from (
                    select s.user_id, s.place, s.earned - s.withdrawn as available, 0::numeric as pending
                    from steps as s where s.user_id is not null
                    union all
                    select p.user_id, p.place + n.later, 0, n.sign * p.amount
                    from pending as p cross join (values (0, 1), (1, -1)) as n (later, sign)
                ) as m
                group by m.user_id, m.place
            ) as b
        ) as x
        group by x.place
    ),

    compared as (
        select
            d.day,
            d.place,
            d.figures,
            private.coverage_figures(
                sum(coalesce(s.cash_in, 0)) over w, sum(coalesce(s.withdrawn, 0)) over w, coalesce(p.amount, 0),
                sum(coalesce(s.earned, 0) - coalesce(s.withdrawn, 0) + coalesce(x.amount, 0)) over w
            ) as due_figures
        from days as d
        left join (
            select t.place, sum(t.cash_in) as cash_in, sum(t.withdrawn) as withdrawn, sum(t.earned) as earned from steps as t group by t.place
        ) as s on d.place = s.place
        left join excess as x on d.place = x.place
        left join (select g.place, sum(g.amount) as amount from pending as g group by g.place) as p on d.place = p.place
        window w as (order by d.place)
    ),

    -- A row that was lost or changed is in every later day: that is one violation.
    wrong as (
        select c.day, c.place, c.figures, c.due_figures, c.place - pg_catalog.row_number() over (order by c.place) as run
        from compared as c where c.figures is distinct from c.due_figures
    )

    select
        r.day,
        pg_catalog.jsonb_build_object('days', r.days) || (
            select coalesce(pg_catalog.jsonb_object_agg(v.name, v.value), '{}')
            from pg_catalog.jsonb_each(r.due_figures) as f
            cross join lateral (values ('stored_' || f.key, r.figures -> f.key), ('due_' || f.key, f.value)) as v (name, value)
            where f.value is distinct from r.figures -> f.key
        )
    from (
        select distinct on (w.run) w.day, w.figures, w.due_figures, count(*) over (partition by w.run) as days
        from wrong as w
        order by w.run, w.place
    ) as r;
end
$$;
comment on function private.coverage_discrepancies() is
'Stored days whose coverage is not what the decisions that they saw and the requests that they name say: the first day of each run of such days, how many they are, and the figures of the first one. All days, but those from before decisions were noted.';

create function jobs.snapshot_coverage() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_days integer;
begin
    -- One statement, so that figures, number and requests are those of one snapshot.
    with seen as materialized (select private.last_decision_no() as decision_no)

    insert into private.coverage_days (day, figures, taken_at, decision_no, pending_ids)
    select m.day, private.coverage_at(e.at), private.clock(), n.decision_no, private.pending_at(e.at)
    from (
        select s.day::date as day
        from pg_catalog.generate_series(
            (select min(p.created_at at time zone 'UTC')::date from private.profiles as p),
            (private.clock() at time zone 'UTC')::date - 1, interval '1 day'
        ) as s (day)
        where not exists (select 1 from private.coverage_days as c where c.day = s.day::date)
        -- The rest is for the next runs.
        order by s.day desc limit 31
    ) as m
    cross join lateral (select (m.day + 1)::timestamp at time zone 'UTC' as at) as e
    cross join seen as n
    on conflict (day) do nothing;
    get diagnostics v_days = row_count;
    return v_days;
end
$$;
comment on function jobs.snapshot_coverage() is
'Stores the coverage of each ended day that has none, the last days first; returns how many.';
grant execute on function jobs.snapshot_coverage() to worker;

create function public.get_coverage_history(p_days integer default 90) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin();
    return (
        select coalesce(
            pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('day', c.day, 'taken_at', c.taken_at) || c.figures order by c.day), '[]'
        )
        from private.coverage_days as c
        where c.day >= (pg_catalog.clock_timestamp() at time zone 'UTC')::date - least(greatest(p_days, 1), 3660)
    );
end
$$;
comment on function public.get_coverage_history(integer) is
'Coverage at the end of the last days (UTC), yesterday last; taken_at says when it was computed. Every administrator. Errors: forbidden, session_ended.';
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

-- Nothing that moves money is without its entry of the audit log, and no such entry is without what it says. Every
-- request, decision, payout, cancellation and correction says in its row what it said in its entry, and whoever decided
-- it had a role that may. Administrators have the role that they were last given. Both directions: a row that was
-- written past its function has no entry, and an entry that was written past it no row.

create view private.due_audit_entries as
select
    'I43' as rule,
    'deposit' as object_type,
    d.id as object_id,
    'deposit.requested' as action,
    d.created_at as at,
    array['member:' || d.user_id, 'service', 'system'] as actors,
    null::text[] as roles,
    d.user_id,
    private.deposit_request_facts(d) as facts
from public.deposits as d
union all
select
    'I44',
    'withdrawal',
    w.id,
    'withdrawal.requested',
    w.created_at,
    array['member:' || w.user_id, 'service', 'system'],
    null,
    w.user_id,
    private.withdrawal_request_facts(w)
from public.withdrawals as w
union all
select
    'I45',
    'deposit',
    d.id,
    'deposit.' || case when d.decided_by is null then 'cancelled' else d.status::text end,
    d.decided_at,
    array[coalesce('admin:' || d.decided_by, 'member:' || d.user_id)],
    case when d.decided_by is not null then array['super_admin', 'finance_admin'] end,
    d.user_id,
    private.deposit_decision_facts(d)
from public.deposits as d
where d.status <> 'pending'
union all
select
    'I46',
    'withdrawal',
    w.id,
    'withdrawal.' || case when w.decided_by is null then 'cancelled' else w.status::text end,
    w.decided_at,
    array[coalesce('admin:' || w.decided_by, 'member:' || w.user_id)],
    case when w.decided_by is not null then array['super_admin', 'finance_admin'] end,
    w.user_id,
    private.withdrawal_decision_facts(w)
from public.withdrawals as w
where w.status <> 'pending'
union all
-- Whoever may decide may record the payout; the row does not say who did.
select
    'I47',
    'withdrawal',
    w.id,
    'withdrawal.paid',
    w.payout_at,
    null,
    array['super_admin', 'finance_admin'],
    w.user_id,
    private.payout_facts(w)
from public.withdrawals as w
where w.payout_reference is not null
union all
select
    'I48',
    'correction',
    c.id,
    'correction.' || v.what,
    v.at,
    array['admin:' || v.decided_by],
    v.roles,
    c.user_id,
    private.correction_facts(c) || case when v.what = 'proposed' then '{"decision_no": null}' else '{}' end::jsonb
from private.corrections as c
cross join
    lateral (
        values
        ('proposed', c.proposed_by, c.proposed_at, array['super_admin']),
        ('confirmed', c.confirmed_by, c.confirmed_at, array['super_admin', 'finance_admin']),
        ('discarded', c.discarded_by, c.discarded_at, array['super_admin', 'finance_admin'])
    ) as v (what, decided_by, at, roles)
where v.decided_by is not null;
comment on view private.due_audit_entries is
'The entries that requests, decisions, payouts and corrections must have: what each says, when, who may have written it (null: anybody with one of the roles) and in which role. rule is the ledger check that compares them.';

create function private.uuid_or_null(p_text text) returns uuid
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return case when p_text ~ '\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z' then p_text::uuid end;
end
$$;
comment on function private.uuid_or_null(text) is 'This text as an id; null where it is none.';

create view private.money_audit_entries as
select
    r.rule,
    l.id,
    l.at,
    l.actor,
    l.action,
    l.object_id,
    l.payload ->> 'user_id' as user_text,
    l.payload ->> 'actor_role' as actor_role,
    l.id <= s.earlier_id as is_earlier,
    l.id <= s.earlier_id and l.payload ? 'backfilled' as is_backfilled,
    -- Entries of earlier corrections have a value where there is none.
    case
        when l.id <= s.earlier_id then l.payload - array['actor_role', 'request_id', 'backfilled', 'value']
        else l.payload - array['actor_role', 'request_id']
    end as facts
from private.audit_log as l
inner join (
    values
    ('I43', 'deposit.requested'),
    ('I44', 'withdrawal.requested'),
    ('I45', 'deposit.approved'), ('I45', 'deposit.rejected'), ('I45', 'deposit.cancelled'),
    ('I46', 'withdrawal.approved'), ('I46', 'withdrawal.rejected'), ('I46', 'withdrawal.cancelled'),
    ('I47', 'withdrawal.paid'),
    ('I48', 'correction.proposed'), ('I48', 'correction.confirmed'), ('I48', 'correction.discarded')
) as r (rule, action) on l.action = r.action
cross join private.audit_state as s;
comment on view private.money_audit_entries is 'The entries that private.due_audit_entries asks for, and what they say beside role and request.';

create function private.audit_discrepancies(p_objects uuid[] default null)
returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    select
        coalesce(d.rule, e.rule),
        coalesce(d.object_id, e.object_id) || ' ' || coalesce(d.action, e.action),
        coalesce(d.user_id, private.uuid_or_null(e.user_text)),
        pg_catalog.jsonb_build_object('entry', e.id, 'says', e.facts, 'is', d.facts)
    from (
        select a.* from private.due_audit_entries as a
        where p_objects is null or a.object_id = any(p_objects)
    ) as d
    full join (
        select a.* from private.money_audit_entries as a
        where p_objects is null or a.object_id = any(p_objects)
    ) as e on d.object_id = e.object_id and d.action = e.action
    where
        d.object_id is null or e.id is null
        or (d.actors is not null and e.actor <> all(d.actors))
        or (d.roles is not null and not e.is_backfilled and coalesce(e.actor_role <> all(d.roles), true))
        or (e.is_earlier and not d.facts @> e.facts)
        or (not e.is_earlier and (e.facts <> d.facts or e.at is distinct from d.at))
    union all
    -- One entry for each.
    select
        min(e.rule),
        e.object_id || ' ' || e.action || ' twice',
        min(private.uuid_or_null(e.user_text)::text)::uuid,
        pg_catalog.jsonb_build_object('entries', count(*))
    from (
        select m.object_id, m.action
        from private.money_audit_entries as m
        where p_objects is null or m.object_id = any(p_objects)
        group by m.object_id, m.action
        having count(*) > 1
    ) as t
    inner join private.money_audit_entries as e on t.object_id = e.object_id and t.action = e.action
    group by e.object_id, e.action;
end
$$;
comment on function private.audit_discrepancies(uuid[]) is
'Of these requests and corrections (null: all), those that differ from their entries of the audit log, have none or more than one, or were decided in a role that may not; and such entries without their row.';

create view private.administrator_discrepancies as
select
    coalesce(a.id, e.object_id) as id,
    jsonb_build_object('entry', e.id, 'role', a.role, 'is_active', a.is_active) as details
from private.admin_users as a
full join (
    select distinct on (l.object_id)
        l.object_id,
        l.id,
        l.payload ->> 'role' as role,
        coalesce(l.payload ->> 'is_active', 'true') as is_active,
        not starts_with(l.actor, 'admin:') or l.payload ->> 'actor_role' = 'super_admin' as is_allowed
    from private.audit_log as l
    -- As in the index.
    where l.action collate "C" in ('admin.created', 'admin.updated')
    order by l.object_id asc, l.id desc
) as e on a.id = e.object_id
where
    a.role::text is distinct from e.role
    or a.is_active::text is distinct from e.is_active
    or e.is_allowed is distinct from true;
comment on view private.administrator_discrepancies is
'Administrators who have not the role that their last entry of the audit log gives them, and such entries without an administrator.';

-- Ledger checks: invariants as queries that return no row. They run every minute and after every fault test; a row is
-- an alarm, not a repair. Each has a test that plants the corruption it detects. What a confirmed correction explains
-- is no violation. A row names the member whose money it concerns: decisions about that member's money wait, and when it
-- names nobody, all decisions do.
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
    anchored_hash bytea,
    whole_at timestamptz,
    seen_since timestamptz,
    seen_seq bigint,
    sums_at timestamptz,
    sums_duration interval not null default '0'
);
comment on table private.ledger_check_state is 'The last ledger check: number of violations, by rule.';
comment on column private.ledger_check_state.check_duration is
'Duration of the last check. When above three seconds, the next one waits nine times as long.';
comment on column private.ledger_check_state.anchored_seq is
'Number of the link that the worker anchored externally last; null when there is none.';
comment on column private.ledger_check_state.anchored_hash is 'Hash of that link.';
comment on column private.ledger_check_state.whole_at is
'When everything was last looked at: the last check of a ledger that is read whole, else the end of the last round of the sweep.';
comment on column private.ledger_check_state.seen_since is 'Every row was looked at since then.';
comment on column private.ledger_check_state.seen_seq is 'The last link of the audit chain whose entry was looked at as a new one.';
comment on column private.ledger_check_state.sums_at is 'When the rules about sums over everybody were last looked at.';
comment on column private.ledger_check_state.sums_duration is 'How long that took.';
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

-- What was found wrong once is looked at until it is right: another sample would not find it.
create function private.positions_with_alarm(p_rule text) returns setof integer
language sql stable rows 1 set search_path = '' as $$
    select distinct pg_catalog.split_part(a.object, ' ', 2)::integer
    from private.alarms as a
    where a.kind = 'ledger_violation' and a.ended_at is null and a.object ~ ('\A' || p_rule || ' [0-9]{1,9}( |\Z)')
$$;
comment on function private.positions_with_alarm(text) is 'Numbers of the members that open alarms of a sampled rule name.';

create function private.earning_day_differences(p_first_no integer, p_last_no integer, p_nos integer[] default null)
returns table (no integer, day date, referral numeric, pairing numeric, override numeric)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    select e.no, e.day, sum(e.referral), sum(e.pairing), sum(e.override)
    from (
        select d.no, d.day, -d.referral as referral, -d.pairing as pairing, -d.override as override
        from private.earning_days as d where d.no between p_first_no and p_last_no and (p_nos is null or d.no = any(p_nos))
        union all
        select c.no, c.day, -c.referral, -c.pairing, -c.override
        from private.network_deltas as c where c.no between p_first_no and p_last_no and (p_nos is null or c.no = any(p_nos))
        union all
        select
            o.no,
            (t.created_at at time zone 'UTC')::date,
            case b.bonus_type when 'referral' then t.amount else 0 end,
            case b.bonus_type when 'pairing' then t.amount else 0 end,
            case b.bonus_type when 'override' then t.amount else 0 end
        from private.positions as o
        inner join public.transactions as t on o.user_id = t.user_id and t.transaction_type = 'bonus'
        inner join public.bonuses as b on t.reference_id = b.id
        where o.no between p_first_no and p_last_no and (p_nos is null or o.no = any(p_nos))
    ) as e
    group by e.no, e.day
    having sum(e.referral) <> 0 or sum(e.pairing) <> 0 or sum(e.override) <> 0;
end
$$;
comment on function private.earning_day_differences(integer, integer, integer[]) is
'What the materialised earnings of the members from one number to another, or those of them who are named, lack of the journal, by day; negative: what they have too much.';

create function private.earning_day_discrepancies(p_part private.ledger_part) returns table (no integer, day date)
language plpgsql volatile set search_path = '' as $$
begin
    return query
    select distinct d.no, d.day
    from (
        select c.first_no, c.last_no from private.ledger_check_sample() as c
        where private.is_everybody(p_part)
        union all
        select a.no, a.no from private.positions_with_alarm('I28') as a (no)
        where private.is_everybody(p_part)
        union all
        select coalesce((p_part).first_no, 0), coalesce((p_part).until_no - 1, 2147483647)
        where not private.is_everybody(p_part)
    ) as s
    cross join lateral private.earning_day_differences(s.first_no, s.last_no, (p_part).nos) as d;
end
$$;
comment on function private.earning_day_discrepancies(private.ledger_part) is
'Days of the members at these positions, or of a sample of all (null), on which the materialised earnings differ from the journal.';

create function private.network_differences(p_first_no integer, p_last_no integer, p_nos integer[] default null)
returns table (
    no integer, members integer, package_cents bigint, referral numeric, pairing numeric, override numeric, direct_cents bigint,
    direct_funded integer
)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
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
    ),
    due as (
        select
            o.no,
            1 + b.members - coalesce(n.members, 0) - coalesce(h.members, 0) as members,
            o.package_cents + b.package_cents - coalesce(n.package_cents, 0) - coalesce(h.package_cents, 0) as package_cents,
            t.referral_amount + b.referral - coalesce(n.referral, 0) - coalesce(h.referral, 0) as referral,
            t.pairing_amount + b.pairing - coalesce(n.pairing, 0) - coalesce(h.pairing, 0) as pairing,
            t.override_amount + b.override - coalesce(n.override, 0) - coalesce(h.override, 0) as override,
            b.direct_cents - coalesce(n.direct_cents, 0) - coalesce(d.package_cents, 0) as direct_cents,
            b.direct_funded - coalesce(n.direct_funded, 0) - coalesce(d.funded, 0) as direct_funded
        from private.positions as o
        inner join private.totals as t on o.user_id = t.user_id
        left join private.networks as n on o.no = n.no
        left join changed as h on o.no = h.no
        left join (
            select p.referrer_no, sum(c.package_cents) as package_cents, sum(c.funded) as funded
            from changed as c inner join private.positions as p on c.no = p.no
            group by p.referrer_no
        ) as d on o.no = d.referrer_no
        cross join lateral (
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
        where o.no between p_first_no and p_last_no and (p_nos is null or o.no = any(p_nos))
    )
    select
        u.no, u.members::integer, u.package_cents::bigint, u.referral::numeric, u.pairing::numeric, u.override::numeric,
        u.direct_cents::bigint, u.direct_funded::integer
    from due as u
    where (u.members, u.package_cents, u.referral, u.pairing, u.override, u.direct_cents, u.direct_funded) is distinct from (0, 0, 0, 0, 0, 0, 0);
end
$$;
comment on function private.network_differences(integer, integer, integer[]) is
'What the network totals of the members from one number to another, or those of them who are named, lack of their own values plus their direct referrals'' networks. One level of the tree is enough: if it holds for every member, it holds for the whole downline.';

create function private.network_discrepancies(p_part private.ledger_part) returns setof integer
language plpgsql volatile set search_path = '' as $$
begin
    return query
    select distinct d.no
    from (
        select c.first_no, c.last_no from private.ledger_check_sample() as c
        where private.is_everybody(p_part)
        union all
        select a.no, a.no from private.positions_with_alarm('I29') as a (no)
        where private.is_everybody(p_part)
        union all
        select coalesce((p_part).first_no, 0), coalesce((p_part).until_no - 1, 2147483647)
        where not private.is_everybody(p_part)
    ) as s
    cross join lateral private.network_differences(s.first_no, s.last_no, (p_part).nos) as d;
end
$$;
comment on function private.network_discrepancies(private.ledger_part) is
'Of the members at these positions, or of a sample of all (null), those whose network totals are not their own values plus their direct referrals'' networks.';

create function private.team_day_discrepancies(p_teams integer, p_part private.ledger_part default null) returns table (no integer, day date)
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = ''
-- A recursive walk: the planner overestimates its rows.
set enable_hashjoin = 'off' set enable_mergejoin = 'off'
-- Its steps are look-ups, even where the calling check scans whole tables.
set enable_indexscan = 'on' as $$
begin
    return query
    with recursive teams as materialized (
        (
            select n.no from private.networks as n
            where n.has_days and private.is_asked(p_part, n.no)
            order by pg_catalog.random() limit case when private.is_everybody(p_part) then p_teams end
        )
        union
        select n.no from private.networks as n inner join private.positions_with_alarm('I30') as a (no) on n.no = a.no
        where n.has_days and private.is_everybody(p_part)
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
        inner join private.profiles as p on o.user_id = p.user_id
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
comment on function private.team_day_discrepancies(integer, private.ledger_part) is
'Days on which the materialised growth of a large team differs from tree and bonuses: of those of these positions that are large, or of a sample of as many; null, null: all.';

-- The rules. Each function has those that look at the same rows, and takes whose (155_ledger_parts.sql): null for
-- everybody's, or the members whom a sweep or a change names. So a rule is written once, and what it says of one member
-- depends on no other member's being looked at. With null, tables are read from end to end, otherwise by their indexes.

create function private.balance_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    with earned as materialized (
        select
            b.user_id,
            sum(b.amount_cents) * 0.01 as total,
            coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'referral'), 0) * 0.01 as referral,
            coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'pairing'), 0) * 0.01 as pairing,
            coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'override'), 0) * 0.01 as override,
            sum(b.reentry_amount) as reentry,
            count(*) filter (where b.bonus_type = 'referral' and b.amount_cents > 0) as referrals,
            count(*) filter (where b.bonus_type = 'pairing' and b.amount_cents > 0) as pairings,
            count(*) filter (where b.bonus_type = 'override' and b.amount_cents > 0) as overrides
        from public.bonuses as b
        where private.is_asked(p_part, b.user_id)
        group by b.user_id
    ),

    claimed as materialized (
        select
            d.user_id,
            coalesce(sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null), 0) as recounted,
            coalesce(max(k.value) filter (where d.status = 'approved' and d.voided_at is null), 0) as package,
            min(d.decision_no) filter (where d.status = 'approved') as first_decision_no
        from public.deposits as d left join private.packages as k on d.amount = k.value
        where private.is_asked(p_part, d.user_id)
        group by d.user_id
    ),

    drawn as materialized (
        select
            w.user_id,
            coalesce(sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null), 0) as recounted,
            coalesce(sum(w.amount) filter (where w.status = 'pending'), 0) as reserved
        from public.withdrawals as w
        where private.is_asked(p_part, w.user_id)
        group by w.user_id
    ),

    journal as materialized (
        select
            t.user_id,
            coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
            count(*) filter (where t.status = 'completed' and t.decision_no is null) as undecided_rows,
            min(t.created_at) as first_at,
            max(t.created_at) as last_at
        from public.transactions as t
        where private.is_asked(p_part, t.user_id)
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
                ) as wrong_totals,
                (
                    (s.referral_count, s.pairing_count, s.override_count)
                    is distinct from (coalesce(b.referrals, 0), coalesce(b.pairings, 0), coalesce(b.overrides, 0))
                ) as wrong_counts,
                -- A clock may step back, and is days ahead at most.
                coalesce(j.first_at < '2020-01-01 00:00+00' or j.last_at > pg_catalog.clock_timestamp() + interval '7 days', false) as wrong_times,
                p.cash_in_amount <> coalesce(d.recounted, 0) as wrong_cash_in,
                p.package_value <> coalesce(d.package, 0) as wrong_package
            from private.profiles as p
            left join private.totals as s on p.user_id = s.user_id
            left join journal as j on p.user_id = j.user_id
            left join earned as b on p.user_id = b.user_id
            left join claimed as d on p.user_id = d.user_id
            left join drawn as w on p.user_id = w.user_id
            where private.is_asked(p_part, p.user_id)
        ) as m
        where m.wrong_journal or m.wrong_totals or m.wrong_counts or m.wrong_times or m.wrong_cash_in or m.wrong_package
    )

    -- I02 The completed journal of a member is cash-in + bonuses - approved withdrawals.
    select 'I02', m.user_id::text, m.user_id, null::jsonb
    from members as m
    where m.wrong_journal
    union all
    -- I07 Totals equal the sums of their rows (I37: the counts), so the balance is max(0, bonuses - approved withdrawals).
    select 'I07', m.user_id::text, m.user_id, null
    from members as m
    where m.wrong_totals
    union all
    -- I08 The balance before max(0, ...) is not negative, unless corrections made it so: the maximum would hide a loss.
    select
        'I08', s.user_id::text, s.user_id,
        pg_catalog.jsonb_build_object('shortfall', s.shortfall, 'caused_by_corrections', s.excused)
    from private.shortfall_discrepancies as s
    where private.is_asked(p_part, s.user_id)
    union all
    -- I09 Cash-in equals the approved deposits that count.
    select 'I09', m.user_id::text, m.user_id, null
    from members as m
    where m.wrong_cash_in
    union all
    -- I13 A package follows from the approved deposits, and after a correction from that.
    select 'I13', m.user_id::text, m.user_id, null
    from (
        select w.user_id from members as w
        where w.wrong_package
        union
        select c.user_id from private.corrections as c
        where c.confirmed_by is not null and private.is_asked(p_part, c.user_id)
    ) as m
    inner join private.profiles as p on m.user_id = p.user_id
    where p.package_value <> private.due_package(m.user_id)
    union all
    -- I34 A member's place in the order of fundings is the decision that made the member funded.
    select 'I34', o.user_id::text, o.user_id, null
    from private.positions as o
    left join claimed as d on o.user_id = d.user_id
    left join (
        select c.* from private.corrected_fundings as c
        where private.is_asked(p_part, c.user_id)
    ) as f
        on o.user_id = f.user_id
    where
        o.paid_order is distinct from case when o.paid_cents > 0 then coalesce(f.decision_no, d.first_decision_no) end
        and private.is_asked(p_part, o.user_id)
    union all
    -- I35 Whatever completed a journal row has its number.
    select 'I35', j.user_id::text, j.user_id, pg_catalog.jsonb_build_object('rows', j.undecided_rows)
    from journal as j
    where j.undecided_rows > 0
    union all
    -- I37 The counts in totals are those of the bonuses, each type's its own.
    select 'I37', m.user_id::text, m.user_id, null
    from members as m
    where m.wrong_counts
    union all
    -- I42 Nobody asked for or earned anything before there was anything to ask for, or in the future. I28 has the days.
    select 'I42', m.user_id::text, m.user_id, null
    from members as m
    where m.wrong_times;
end
$$;
comment on function private.balance_violations(private.ledger_part) is
'Rules about what these members (null: all) have: journal, stored sums, cash-in, package, funding. I02, I07 to I09, I13, I34, I35, I37, I42.';

create function private.journal_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    -- Sources and journal rows that do not match. A row is its source's when it is of the same member.
    with bonus_entries as materialized (
        select
            b.id as source_id,
            coalesce(b.user_id, j.user_id) as user_id,
            j.reference_id,
            (coalesce(j.amount, 0) <> b.amount) as wrong_amount,
            -- The first is the one of the first decision: a clock can step back.
            (j.first_at <> extract(epoch from b.created_at) * 1000000) as wrong_time
        from (
            select s.* from public.bonuses as s
            where private.is_asked(p_part, s.user_id)
        ) as b
        full join (
            select
                t.reference_id,
                t.user_id,
                coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
                (min(array[t.decision_no, (extract(epoch from t.created_at) * 1000000)::bigint]))[2] as first_at
            from public.transactions as t
            where t.transaction_type = 'bonus' and private.is_asked(p_part, t.user_id)
            group by t.reference_id, t.user_id
        ) as j on b.id = j.reference_id and b.user_id = j.user_id
        where b.id is null or coalesce(j.amount, 0) <> b.amount or j.first_at <> extract(epoch from b.created_at) * 1000000
    ),

    deposit_entries as materialized (
        select
            d.id as source_id,
            t.id as entry_id,
            t.reference_id,
            coalesce(d.user_id, t.user_id) as user_id,
            (t.created_at <> d.created_at) as wrong_time,
            (
                (t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                    d.amount::numeric,
                    d.decision_no,
                    case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
                )
            ) as wrong_entry
        from (
            select s.* from public.deposits as s
            where private.is_asked(p_part, s.user_id)
        ) as d
        full join (
            select * from public.transactions as j
            where j.transaction_type = 'deposit' and private.is_asked(p_part, j.user_id)
        ) as t on d.id = t.reference_id and d.user_id = t.user_id
        where (t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
            d.amount::numeric,
            d.decision_no,
            case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
            d.created_at
        )
    ),

    withdrawal_entries as materialized (
        select
            w.id as source_id,
            t.id as entry_id,
            t.reference_id,
            coalesce(w.user_id, t.user_id) as user_id,
            (t.created_at <> w.created_at) as wrong_time,
            (
                (t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                    -w.amount::numeric,
                    w.decision_no,
                    case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
                )
            ) as wrong_entry
        from (
            select s.* from public.withdrawals as s
            where private.is_asked(p_part, s.user_id)
        ) as w
        full join (
            select * from public.transactions as j
            where j.transaction_type = 'withdrawal' and private.is_asked(p_part, j.user_id)
        ) as t on w.id = t.reference_id and w.user_id = t.user_id
        where (t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
            -w.amount::numeric,
            w.decision_no,
            case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
            w.created_at
        )
    )

    -- I01 The journal rows of a bonus sum to its amount.
    select 'I01', e.source_id::text, e.user_id, null::jsonb
    from bonus_entries as e
    where e.source_id is not null and e.wrong_amount
    union all
    -- I03 An approved deposit has its completed journal row, a pending one a pending row, a rejected one a failed row, with
    -- the number of the same decision.
    select 'I03', e.source_id::text, e.user_id, null
    from deposit_entries as e
    where e.source_id is not null and e.wrong_entry
    union all
    -- I04 The same for withdrawals, negative.
    select 'I04', e.source_id::text, e.user_id, null
    from withdrawal_entries as e
    where e.source_id is not null and e.wrong_entry
    union all
    -- I05 Every journal row has a source.
    select 'I05', o.entry_id::text, o.user_id, null
    from (
        select d.entry_id, d.reference_id, d.user_id
        from deposit_entries as d
        where d.source_id is null
        union all
        select w.entry_id, w.reference_id, w.user_id
        from withdrawal_entries as w
        where w.source_id is null
        union all
        select t.id, t.reference_id, t.user_id
        from bonus_entries as b
        inner join public.transactions as t
            on t.transaction_type = 'bonus' and b.reference_id = t.reference_id and b.user_id = t.user_id
        where b.source_id is null
    ) as o
    where
        not exists (
            select 1 from private.corrections as c
            where c.id = o.reference_id and c.confirmed_by is not null
        )
    union all
    -- I06 One journal row per deposit and withdrawal.
    select 'I06', t.reference_id::text, t.user_id, null
    from public.transactions as t
    where t.transaction_type <> 'bonus' and private.is_asked(p_part, t.user_id)
    group by t.transaction_type, t.reference_id, t.user_id
    having count(*) > 1
    union all
    -- I36 A bonus has the time of its first journal row, and the journal row of a request the time of the request.
    select 'I36', e.source_id::text, e.user_id, null
    from (
        select b.source_id, b.user_id
        from bonus_entries as b
        where b.wrong_time
        union all
        select d.source_id, d.user_id
        from deposit_entries as d
        where d.wrong_time
        union all
        select w.source_id, w.user_id
        from withdrawal_entries as w
        where w.wrong_time
    ) as e;
end
$$;
comment on function private.journal_violations(private.ledger_part) is
'Rules about the journal rows of these members (null: all) and what they are of. I01, I03 to I06, I36.';

create function private.bonus_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    with bonus_rows as materialized (
        select r.*
        from (
            select
                b.id,
                b.user_id,
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
            where private.is_asked(p_part, b.user_id)
        ) as r
        where r.wrong_owner or r.from_oneself or r.wrong_amount
    )

    -- I10 One row per natural key; I11 checks owner and source.
    select 'I10', b.bonus_type || ' ' || b.subject_no || ' ' || coalesce(b.pair_number::text, ''), b.user_id, null::jsonb
    from public.bonuses as b
    where private.is_asked(p_part, b.user_id)
    group by b.bonus_type, b.subject_no, b.pair_number, b.user_id
    having count(*) > 1
    union all
    -- I11 Bonuses match tree and packages, and are paid to the right members.
    select 'I11', w.bonus_type || ' ' || w.subject_no || ' ' || coalesce(w.pair_number::text, ''), o.user_id, null
    from pg_catalog.unnest(
        case when private.is_everybody(p_part) then private.all_bonus_discrepancies() else private.bonus_discrepancies(p_part) end
    ) as w
    left join private.positions as s on w.subject_no = s.no
    -- A bonus that is no longer due has no owner in the comparison.
    left join private.positions as o on coalesce(w.user_no, case w.bonus_type when 'pairing' then s.no else s.referrer_no end) = o.no
    union all
    select 'I11', b.id::text, b.user_id, null
    from bonus_rows as b
    where b.wrong_owner
    union all
    -- I12 Nobody earns a bonus from oneself.
    select 'I12', b.id::text, b.user_id, null
    from bonus_rows as b
    where b.from_oneself
    union all
    -- I16 A bonus is in range, and zero only when a correction or a repair was the last to change it.
    select 'I16', b.id::text, b.user_id, null
    from bonus_rows as b
    where
        b.wrong_amount
        and not (b.amount = 0 and exists (
            select 1
            from (
                select t.amount, t.decision_no
                from public.transactions as t
                where t.transaction_type = 'bonus' and t.reference_id = b.id
                order by t.decision_no desc nulls last
                limit 1
            ) as l
            inner join private.corrections as c on l.decision_no = c.decision_no and c.confirmed_by is not null
            where l.amount < 0
        ))
        -- Or a repair set it to zero, because it was never due.
        and not exists (
            select 1 from private.audit_log as a
            where
                a.actor = 'system'
                and a.action collate "C" = 'books.repaired'
                and a.payload -> 'repairs' @> pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('bonus_id', b.id, 'new_amount', '0.00'))
        )
    union all
    -- I33 The source of a pairing is the child that completed the pair.
    select 'I33', b.id::text, o.user_id, null
    from private.pairs as q
    inner join private.positions as o on q.owner_no = o.no
    inner join public.bonuses as b on b.bonus_type = 'pairing' and q.owner_no = b.subject_no and q.pair_no = b.pair_number
    inner join private.positions as l on q.left_no = l.no
    inner join private.positions as r on q.right_no = r.no
    where
        b.amount_cents > 0 and b.source_user_id <> case when l.paid_order > r.paid_order then l.user_id else r.user_id end
        and private.is_asked(p_part, q.owner_no);
end
$$;
comment on function private.bonus_violations(private.ledger_part) is
'Rules about the bonuses that these members (null: all) earn or are at their positions the subject of. I10 to I12, I16, I33.';

create function private.request_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    -- I16 Amounts are finite and in range; bonus_violations has the bonuses.
    select 'I16', d.id::text, d.user_id, null::jsonb
    from public.deposits as d
    where d.amount not between 1 and 10000000 and private.is_asked(p_part, d.user_id)
    union all
    select 'I16', w.id::text, w.user_id, null
    from public.withdrawals as w
    where w.amount not between 100 and 10000000 and private.is_asked(p_part, w.user_id)
    union all
    -- I17 Decided rows have a time and a decider; a member's own cancellation and a closed account have no decider.
    select 'I17', r.id::text, r.user_id, null
    from (
        select d.id, d.user_id, d.status, d.decided_at, d.decided_by, d.admin_notes
        from public.deposits as d
        where private.is_asked(p_part, d.user_id)
        union all
        select w.id, w.user_id, w.status, w.decided_at, w.decided_by, w.admin_notes
        from public.withdrawals as w
        where private.is_asked(p_part, w.user_id)
    ) as r
    where
        (r.status = 'pending') <> (r.decided_at is null)
        or (r.status = 'pending' and r.decided_by is not null)
        or (r.status <> 'pending' and r.decided_by is null and coalesce(r.admin_notes, '') not in ('Cancelled by the member', 'Account closed'))
    union all
    -- I19 A transfer is approved once.
    select 'I19', t.deposit_id::text, t.user_id, null
    from private.transfers_credited_twice as t
    where private.is_asked(p_part, t.user_id)
    union all
    -- I20 The receipt exists, in the member's folder, owned by the member, and is the file that was sent.
    select 'I20', d.id::text, d.user_id, null
    from public.deposits as d
    left join private.deposit_receipts as r on d.id = r.deposit_id
    left join storage.objects as o on o.bucket_id = 'receipts' and r.name = o.name
    where
        (
            o.owner_id is distinct from d.user_id::text or pg_catalog.split_part(r.name, '/', 1) <> d.user_id::text
            or o.metadata ->> 'eTag' is distinct from r.etag
        )
        and private.is_asked(p_part, d.user_id)
    union all
    -- I24 One active or suspended subscription per member and bot.
    select 'I24', min(s.id::text), s.user_id, null
    from public.bot_subscriptions as s
    where s.status <> 'cancelled' and private.is_asked(p_part, s.user_id)
    group by s.user_id, s.bot_name
    having count(*) > 1
    union all
    -- I31 A deposit has its keys: without them I19 is blind.
    select 'I31', d.id::text, d.user_id, null
    from public.deposits as d
    left join private.deposit_keys as k on d.id = k.deposit_id and d.reference_key = k.key
    where k.key is null and private.is_asked(p_part, d.user_id);
end
$$;
comment on function private.request_violations(private.ledger_part) is
'Rules about what these members (null: all) asked for: deposits, withdrawals, bots. I16, I17, I19, I20, I24, I31.';

create function private.place_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    with places as materialized (
        select l.*
        from (
            select
                p.id,
                p.user_id,
                o.no,
                p.depth <> coalesce(s.depth + 1, 0) as wrong_depth,
                s.created_at >= p.created_at as older_than_referrer,
                (r.user_id is distinct from s.user_id)
                or o.joined_at <> p.created_at
                or o.package_cents <> p.package_value * 100
                or o.paid_cents <> case when p.cash_in_amount >= p.package_value then p.package_value * 100 else 0 end
                or ((o.children, o.children) is distinct from (coalesce(c.children, 0)::integer, coalesce(c.last, 0))) as wrong_place
            from private.positions as o
            inner join private.profiles as p on o.user_id = p.user_id
            left join private.profiles as s on p.referrer_id = s.id
            left join private.positions as r on o.referrer_no = r.no
            left join (
                select
                    c.referrer_no,
                    count(*) as children,
                    max(c.child_no) as last
                from private.positions as c
                where c.referrer_no is not null and private.is_asked(p_part, c.referrer_no)
                group by c.referrer_no
            ) as c on o.no = c.referrer_no
            where private.is_asked(p_part, o.no)
        ) as l
        where l.wrong_depth or l.older_than_referrer or l.wrong_place
    )

    -- I14 A member's depth is the referrer's plus one, a root's 0: so there is no cycle.
    select 'I14', l.id::text, l.user_id, null::jsonb
    from places as l
    where l.wrong_depth
    union all
    -- I15 A referrer is older than the referred member.
    select 'I15', l.id::text, l.user_id, null
    from places as l
    where l.older_than_referrer
    union all
    -- I18 Usernames are unique ignoring case.
    select 'I18', p.user_id::text, p.user_id, null
    from private.profiles as p
    where
        private.is_asked(p_part, p.user_id)
        and exists (
            select 1 from private.profiles as q
            where pg_catalog.lower(q.username) = pg_catalog.lower(p.username) and q.id <> p.id
        )
    union all
    -- I23 Child numbers are unique and have no gap, and a position has the member's package.
    select 'I23', l.no::text, l.user_id, null
    from places as l
    where l.wrong_place
    union all
    select 'I23', p.id::text, p.user_id, null
    from private.profiles as p left join private.positions as o on p.user_id = o.user_id
    where o.no is null and private.is_asked(p_part, p.user_id)
    union all
    -- I41 Direct referrals are numbered in the order of joining, which decides who is paired with whom.
    select 'I41', s.no::text, o.user_id, null
    from private.sibling_discrepancies as s left join private.positions as o on s.referrer_no = o.no
    where private.is_asked(p_part, s.referrer_no);
end
$$;
comment on function private.place_violations(private.ledger_part) is
'Rules about the places of these members (null: all) in the tree, and of their direct referrals; of members at these positions, but for names and for members without one. I14, I15, I18, I23, I41.';

create function private.network_violations(
    p_networks private.ledger_part, p_earners private.ledger_part, p_teams private.ledger_part
)
returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    -- I28 A member's daily earnings match the journal (of all members a sample of 10,000).
    select 'I28', d.no || ' ' || d.day, o.user_id, null::jsonb
    from private.earning_day_discrepancies(p_earners) as d left join private.positions as o on d.no = o.no
    union all
    -- I29 Network totals equal the member's own values plus the networks of the direct referrals (of all members a
    -- sample of 10,000).
    select 'I29', n.no::text, o.user_id, null
    from private.network_discrepancies(p_networks) as n (no) left join private.positions as o on n.no = o.no
    union all
    -- I30 The daily growth of a large team matches its members' joining and funding (of all teams a sample of 20).
    select 'I30', d.no || ' ' || d.day, o.user_id, null
    from private.team_day_discrepancies(20, p_teams) as d left join private.positions as o on d.no = o.no;
end
$$;
comment on function private.network_violations(private.ledger_part, private.ledger_part, private.ledger_part) is
'Rules about what is rolled up: the networks of these positions, the earnings by day of these, the growth of these large teams; of null a sample. I28 to I30.';

create function private.due_counters() returns table (name text, value numeric)
language plpgsql stable set search_path = '' as $$
begin
    return query
    select f.name, f.value
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
            ('profiles', p.members::numeric), ('active_profiles', p.active), ('package_investment', p.packages),
            ('verified_profiles', p.verified)
        ) as f (name, value)
    union all
    select f.name, coalesce(f.value, 0)
    from (
        select
            count(*) filter (where d.status = 'pending') as pending,
            sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null) as recounted,
            count(*) filter (where d.status = 'approved') as approved,
            count(*) filter (where d.status = 'rejected') as rejected
        from public.deposits as d
    ) as d
    cross join
        lateral (
            values
            ('pending_deposits', d.pending::numeric), ('deposits_approved', d.recounted), ('deposits_approved_count', d.approved),
            ('deposits_rejected_count', d.rejected)
        ) as f (name, value)
    union all
    select f.name, coalesce(f.value, 0)
    from (
        select
            count(*) filter (where w.status = 'pending') as pending,
            sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null) as recounted,
            count(*) filter (where w.status = 'approved') as approved,
            count(*) filter (where w.status = 'rejected') as rejected,
            count(w.payout_reference) as paid,
            sum(w.amount) filter (where w.status = 'pending') as reserved
        from public.withdrawals as w
    ) as w
    cross join
        lateral (
            values
            ('pending_withdrawals', w.pending::numeric), ('withdrawals_approved', w.recounted), ('withdrawals_approved_count', w.approved),
            ('withdrawals_rejected_count', w.rejected), ('withdrawals_paid_count', w.paid), ('reserved', w.reserved)
        ) as f (name, value)
    union all
    select f.name, coalesce(f.value, 0)
    from (
        select
            sum(b.amount_cents) * 0.01 as total,
            count(*) filter (where b.amount_cents > 0) as bonus_rows
        from public.bonuses as b
    ) as b
    cross join lateral (values ('bonuses', b.total), ('bonus_rows', b.bonus_rows::numeric)) as f (name, value)
    union all
    select 'shortfall', coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0)
    from private.totals as s
    where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    union all
    select f.name, coalesce(f.value, 0)
    from (
        select
            count(*) as bonus_rows,
            sum(abs(t.amount)) as bonus_volume
        from public.transactions as t
        where t.transaction_type = 'bonus'
    ) as t
    cross join lateral (values ('bonus_transactions', t.bonus_rows::numeric), ('bonus_volume', t.bonus_volume)) as f (name, value)
    union all
    select 'subscriptions_' || e.status, coalesce(b.subscriptions, 0)
    from pg_catalog.unnest(pg_catalog.enum_range(null::public.subscription_status)) as e (status)
    left join (
        select s.status, count(*) as subscriptions
        from public.bot_subscriptions as s
        group by s.status
    ) as b on e.status = b.status;
end
$$;
comment on function private.due_counters() is 'What each counter counts, counted in the rows.';

create function private.sum_violations() returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set search_path = '' as $$
begin
    return query
    -- I21 Bonuses never exceed 56% of funded packages.
    select 'I21', 'all', null::uuid, null::jsonb
    where
        (select coalesce(sum(b.amount_cents), 0) * 0.01 from public.bonuses as b)
        > 0.56 * (select coalesce(sum(p.paid_cents), 0) * 0.01 from private.positions as p)
    union all
    -- I22 No more is paid out than was received, including deposits voided later, which counted at the time.
    select 'I22', 'all', null, null
    where
        (select coalesce(sum(w.amount), 0) from public.withdrawals as w where w.status = 'approved' and w.voided_at is null)
        > (select coalesce(sum(d.amount), 0) from public.deposits as d where d.status = 'approved')
    union all
    -- I27 Counters equal the values they count.
    select 'I27', f.name, null, null
    from private.due_counters() as f left join private.counter_values() as c on f.name = c.name
    where c.value is distinct from f.value
    union all
    -- I27 So do the daily totals of deposits and withdrawals.
    select 'I27', 'flow of ' || coalesce(f.day::text, 'no day'), null, null
    from (
        select k.day, k.deposits, k.withdrawals, k.decided_deposits
        from private.flows_since('-infinity') as k
        union all
        select v.day, -v.deposits, 0, -v.decided_deposits
        from public.deposits as d
        cross join
            lateral (
                values ((d.created_at at time zone 'UTC')::date, d.amount, 0), ((d.decided_at at time zone 'UTC')::date, 0, d.amount)
            ) as v (day, deposits, decided_deposits)
        where d.status = 'approved' and d.voided_at is null
        union all
        select (w.created_at at time zone 'UTC')::date, 0, -w.amount, 0
        from public.withdrawals as w
        where w.status = 'approved' and w.voided_at is null
    ) as f
    group by f.day
    having sum(f.deposits) <> 0 or sum(f.withdrawals) <> 0 or sum(f.decided_deposits) <> 0
    union all
    -- I38 The coverage of a past day is what the decisions that it saw say, with the requests that were pending then.
    select 'I38', c.day::text, null, c.details
    from private.coverage_discrepancies() as c
    union all
    -- I39 A published disclosure has the credits and withdrawals of its period, by the decisions that it saw, and its
    -- numbers of members agree with each other.
    select 'I39', (d.computed_at at time zone 'UTC')::text, null, d.details
    from private.disclosure_discrepancies() as d;
end
$$;
comment on function private.sum_violations() is
'Rules about sums over everybody: what all earned and paid, counters, stored days, disclosures. They read whole tables. I21, I22, I27, I38, I39.';

create function private.standing_violations() returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set search_path = '' as $$
begin
    return query
    -- I25 No administrator session lasts longer than eight hours.
    select 'I25', s.session_token::text, null::uuid, null::jsonb
    from public.admin_sessions as s
    left join private.admin_session_activity as a on s.session_token = a.session_token
    where a.session_token is null or s.expires_at > a.started_at + interval '8 hours 1 second'
    union all
    -- I40 Package sizes, pairing rates and percentages are those of the compensation plan.
    select 'I40', c.object, null, null
    from private.plan_discrepancies as c
    union all
    -- I49 An administrator has the role of the last entry of the audit log.
    select 'I49', a.id::text, null, a.details
    from private.administrator_discrepancies as a;
end
$$;
comment on function private.standing_violations() is
'Rules about what stays small: administrators, their sessions, the compensation plan. I25, I40, I49.';

create function private.member_violations(p_part private.ledger_part, p_objects uuid[])
returns table (rule text, object text, user_id uuid, details jsonb)
language sql stable set search_path = '' as $$
    select v.* from private.balance_violations(p_part) as v
    union all
    select v.* from private.journal_violations(p_part) as v
    union all
    select v.* from private.bonus_violations(p_part) as v
    union all
    select v.* from private.request_violations(p_part) as v
    union all
    select v.* from private.place_violations(p_part) as v
    union all
    -- I43 to I48 A request, its decision, a payout and a correction have one entry of the audit log each, which says the
    -- same.
    select v.* from private.audit_discrepancies(p_objects) as v
$$;
comment on function private.member_violations(private.ledger_part, uuid[]) is
'The rules about these members (null: all), these positions, and these requests and corrections.';

create view private.ledger_violations as
select
    m.rule,
    m.object,
    m.user_id,
    m.details
from private.member_violations(null, null) as m
union all
select
    n.rule,
    n.object,
    n.user_id,
    n.details
from private.network_violations(null, null, null) as n
union all
-- I26 The audit chain is intact.
select
    'I26' as rule,
    c.object,
    null as user_id,
    null as details
from private.verify_audit_chain() as c (object)
union all
select
    s.rule,
    s.object,
    s.user_id,
    s.details
from private.sum_violations() as s
union all
select
    t.rule,
    t.object,
    t.user_id,
    t.details
from private.standing_violations() as t;
comment on view private.ledger_violations is
'Violations of the ledger''s invariants: the rule, the violating object, the member whose money it concerns (null: everybody''s), and figures that change when the violation does. Empty when there are none.';

create function private.check_ledger() returns table (rule text, object text, user_id uuid, details jsonb)
language sql stable set search_path = '' as $$
    select v.rule, v.object, v.user_id, v.details from private.ledger_violations as v
$$;
comment on function private.check_ledger() is 'Violations of the ledger''s invariants; none when all hold.';

-- An alarm for each violation, but at most 300: with more, those that are open already stay, the others are shared out
-- among the rules, and a rule that has more than its alarms has one more, which names the rule and nobody.
create function private.violation_alarms(p_found jsonb, p_is_part boolean default false) returns table (object text, user_id uuid, details jsonb)
language sql stable set search_path = '' as $$
    with found as materialized (
        select distinct on (o.object)
            v.rule,
            o.object,
            v.user_id,
            coalesce(v.details, '{}') as details
        from jsonb_to_recordset(p_found) as v (rule text, object text, user_id uuid, details jsonb)
        cross join lateral (select left(v.rule || ' ' || v.object, 200) as object) as o
        order by o.object
    ),

    ranked as (
        select
            f.*,
            row_number() over (partition by f.rule order by a.id is null, f.object) as place
        from found as f
        left join private.alarms as a on a.kind = 'ledger_violation' and f.object = a.object and a.ended_at is null
    ),

    listed as materialized (
        select r.* from ranked as r order by r.place, r.rule limit 300
    )

    select
        l.object,
        l.user_id,
        l.details
    from listed as l
    union all
    select
        f.rule,
        null,
        -- A sample has another number each time, and so has a part.
        case when p_is_part or f.rule in ('I28', 'I29', 'I30') then '{}' else jsonb_build_object('violations', count(*)) end
    from found as f
    group by f.rule
    having count(*) > (select count(*) from listed as l where l.rule = f.rule)
    order by 1
$$;
comment on function private.violation_alarms(jsonb, boolean) is
'The alarms of what a check found, as an array: object, member, figures; p_is_part: it did not look at everything.';

-- What a check has not looked at stays open: an alarm ends when a check that looked at its row finds it mended.
create function private.record_violations(p_found jsonb, p_is_part boolean default false, p_unseen_rules text[] default '{}') returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_alarm record;
    v_seen text[] := array[]::text[];
begin
    perform from private.alarm_mail_state as s for no key update;
    for v_alarm in select v.object, v.user_id, v.details from private.violation_alarms(p_found, p_is_part) as v loop
        perform private.raise_alarm('ledger_violation', v_alarm.object, v_alarm.user_id, v_alarm.details);
        v_seen := v_seen || v_alarm.object;
    end loop;
    update private.alarms as a set ended_at = pg_catalog.clock_timestamp()
    where a.kind = 'ledger_violation' and a.ended_at is null and a.object <> all(v_seen)
        and pg_catalog.left(a.object, 3) <> all(p_unseen_rules)
        -- A rule as a whole may be violated elsewhere.
        and not (p_is_part and pg_catalog.length(a.object) = 3)
        -- The next sample may have fewer: a sampled rule as a whole is over when nothing of it is found.
        and not (
            a.object in ('I28', 'I29', 'I30')
            and exists (select 1 from pg_catalog.unnest(v_seen) as s (object) where pg_catalog.starts_with(s.object, a.object))
        );
    perform private.announce_alarms();
end
$$;
comment on function private.record_violations(jsonb, boolean, text[]) is
'Raises an alarm for each violation found, ends those of violations that are not there any more, and notifies administrators. p_is_part: it did not look at everything, but at the rows of all open alarms, those of p_unseen_rules excepted.';

-- When the ledger checks look at what. Up to private.whole_check_limit() members the whole ledger is read each minute.
-- Above, a minute looks at what that minute changed, at what open alarms name, and at the next slice of everything: a
-- sweep, which has seen every row within the hour. The rules are the same ones (250_ledger_checks.sql), for other members.
--
-- What changed is noted by the transaction that changes it, and a check deletes the notes that it sees: a transaction
-- that commits late is found by the next check, whatever was noted after it. New entries of the audit log are those
-- linked since the last check, which the linker numbers in the order in which it finds them committed.
-- What is written past every trigger is noted by nobody. The sweep finds it.
--
-- Rules about sums over everybody read whole tables. The sweep ends each round with them, and they are read again, a
-- tenth of the time at most, while one of them is violated.

create table private.ledger_changes (
    user_id uuid,
    no integer,
    is_earner boolean not null default false,
    constraint ledger_changes_one_check check (num_nonnulls(user_id, no) = 1)
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
comment on table private.ledger_changes is
'Members whose journal, package or name changed since the last ledger check, and positions whose networks a roll-up changed. Appended; a check deletes what it has looked at.';
comment on column private.ledger_changes.user_id is 'A member. No foreign key: only triggers write here.';
comment on column private.ledger_changes.no is 'A position of which only what is rolled up has changed.';
comment on column private.ledger_changes.is_earner is 'The earnings by day of the position, not only its network.';
alter table private.ledger_changes enable row level security;

create function private.transactions_note_change() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    insert into private.ledger_changes (user_id) select distinct n.user_id from after as n;
    return null;
end
$$;
comment on function private.transactions_note_change() is 'Trigger: notes whose journal changed. Whatever moves money writes the journal.';

create trigger _500_note_insert after insert on public.transactions
referencing new table as after for each statement execute function private.transactions_note_change();
create trigger _500_note_update after update on public.transactions
referencing new table as after for each statement execute function private.transactions_note_change();

create function private.profiles_note_change() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    insert into private.ledger_changes (user_id) values (new.user_id);
    return null;
end
$$;
comment on function private.profiles_note_change() is 'Trigger: notes a new member, and one with another package, cash-in or name.';

create trigger _500_note_change after insert or update of package_value, cash_in_amount, username on private.profiles
for each row execute function private.profiles_note_change();

create table private.ledger_slices (
    round bigint not null,
    no integer not null,
    seen_at timestamptz not null,
    next_user uuid,
    next_no integer,
    entry_id bigint not null,
    entries_done boolean not null,
    is_last boolean not null,
    primary key (round, no)
);
comment on table private.ledger_slices is
'How far the sweep had come after each run of the present round and of the last one. The next run goes on from the last row.';
comment on column private.ledger_slices.seen_at is 'When the run began that looked at what lies between the slice before and this one.';
comment on column private.ledger_slices.next_user is
'Where the next run goes on in the order of ids; null when no member is left. Who joins behind it is looked at as a change, and by the next round.';
comment on column private.ledger_slices.next_no is 'The same of positions, in the order of their numbers.';
comment on column private.ledger_slices.entry_id is 'The last entry of the audit log looked at.';
comment on column private.ledger_slices.is_last is 'The run that looked at sums over everybody after the last slice, and ended the round.';
alter table private.ledger_slices enable row level security;

-- The one place that says from which size on the ledger is swept.
create function private.whole_check_limit() returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return 1000000;
end
$$;
comment on function private.whole_check_limit() is 'Up to this number of members each check reads the whole ledger.';

create function private.is_swept() returns boolean
language plpgsql stable set search_path = '' as $$
begin
    -- Numbers are given in the order of joining and never given again.
    return coalesce((select max(o.no) from private.positions as o) > private.whole_check_limit(), false);
end
$$;
comment on function private.is_swept() is 'Whether there are too many members to read the whole ledger each minute.';

-- A fiftieth a minute leaves ten minutes of the hour for sums and for late runs. What takes longer than a run may is left
-- to the next: the worker gives up a statement after two minutes.
create function private.slice_size(out members integer, out entries bigint, out at_once integer, out at_most interval)
language plpgsql stable set search_path = '' as $$
begin
    members := pg_catalog.ceil(coalesce((select max(o.no) from private.positions as o), 0) / 50.0);
    entries := pg_catalog.ceil(coalesce((select max(l.id) from private.audit_log as l), 0) / 50.0);
    at_once := 5000;
    at_most := interval '75 seconds';
end
$$;
comment on function private.slice_size() is
'How many members, positions and entries of the audit log one run of the sweep looks at: so many members at once, and no more of them after this time.';

-- Whom a check looks at.

create function private.take_changes(out users uuid[], out nos integer[], out earners integer[])
language plpgsql volatile set search_path = '' as $$
begin
    with taken as (
        delete from private.ledger_changes as c returning c.user_id, c.no, c.is_earner
    )
    select
        coalesce(pg_catalog.array_agg(distinct t.user_id) filter (where t.user_id is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct t.no) filter (where t.no is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct t.no) filter (where t.is_earner), '{}')
    into users, nos, earners
    from taken as t;
end
$$;
comment on function private.take_changes() is 'Members and positions that committed transactions have changed since the last call; earners are those of the positions whose earnings by day have changed.';

create function private.alarm_places(out users uuid[], out nos integer[], out objects uuid[], out entries bigint[])
language plpgsql stable set search_path = '' as $$
begin
    select
        coalesce(pg_catalog.array_agg(distinct p.user_id) filter (where p.user_id is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct p.no) filter (where p.no is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct p.object_id) filter (where p.object_id is not null), '{}'),
        coalesce(pg_catalog.array_agg(distinct coalesce(p.entry_id, c.entry_id)) filter (where coalesce(p.entry_id, c.entry_id) is not null), '{}')
    into users, nos, objects, entries
    from (
        select
            a.user_id,
            pg_catalog.substring(a.object, '\AI(?:1[01] [a-z]+|23|28|29|30|41) ([0-9]{1,9})(?: |\Z)')::integer as no,
            pg_catalog.substring(a.object, '\AI4[3-8] ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) ')::uuid as object_id,
            pg_catalog.substring(a.object, '\AI26 entry ([0-9]{1,18})\Z')::bigint as entry_id,
            pg_catalog.substring(a.object, '\AI26 ([0-9]{1,18})\Z')::bigint as seq
        from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null
    ) as p
    left join private.audit_chain as c on p.seq = c.seq;
end
$$;
comment on function private.alarm_places() is 'What open alarms of the ledger name: members, positions, requests and corrections, entries of the audit log.';

create function private.concerned_users(p_users uuid[], p_nos integer[]) returns uuid[]
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return array(
        select u.user_id from pg_catalog.unnest(p_users) as u (user_id)
        union
        select o.user_id from private.positions as o where o.no = any(p_nos)
        union
        select r.user_id
        from private.positions as o inner join private.positions as r on o.referrer_no = r.no
        where o.user_id = any(p_users)
        union
        select r.user_id
        from private.positions as o inner join private.positions as r on o.referrer_no = r.no
        where o.no = any(p_nos)
    );
end
$$;
comment on function private.concerned_users(uuid[], integer[]) is
'These members, those at these positions, and who referred them: a bonus that was never written is missing there.';

create function private.orphaned_objects(p_after bigint, p_until bigint) returns uuid[]
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return array(
        select distinct e.object_id
        from private.money_audit_entries as e
        where
            e.id > p_after and e.id <= p_until
            and not exists (select 1 from public.deposits as d where d.id = e.object_id)
            and not exists (select 1 from public.withdrawals as w where w.id = e.object_id)
            and not exists (select 1 from private.corrections as c where c.id = e.object_id)
    );
end
$$;
comment on function private.orphaned_objects(bigint, bigint) is
'What entries of the audit log name although it is not there. What is there is looked at with its member.';

-- Looking at it. A few thousand at once: more would be planned as if all were read.

create function private.listed_part(p_users uuid[], p_nos integer[]) returns private.ledger_part
language plpgsql immutable set search_path = '' as $$
begin
    return row(p_users, null, null, p_nos, null, null)::private.ledger_part;
end
$$;
comment on function private.listed_part(uuid[], integer[]) is 'These members and these positions.';

create function private.check_part(p_part private.ledger_part) returns jsonb
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = ''
-- Look-ups of a few rows each: what a second process would read is not worth starting it.
set max_parallel_workers_per_gather = 0 as $$
declare
    v_objects uuid[] := array(
        select d.id from public.deposits as d where private.is_asked(p_part, d.user_id)
        union all
        select w.id from public.withdrawals as w where private.is_asked(p_part, w.user_id)
        union all
        select c.id from private.corrections as c where private.is_asked(p_part, c.user_id)
    );
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.member_violations(p_part, v_objects) as v
    );
end
$$;
comment on function private.check_part(private.ledger_part) is 'What the rules about members find of these: an array.';

create function private.check_members(p_users uuid[]) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_found jsonb := '[]'::jsonb;
    v_users uuid[];
begin
    for i in 1..pg_catalog.cardinality(p_users) by 2000 loop
        v_users := p_users[i:i + 1999];
        v_found := v_found || private.check_part(
            private.listed_part(v_users, array(select o.no from private.positions as o where o.user_id = any(v_users)))
        );
    end loop;
    return v_found;
end
$$;
comment on function private.check_members(uuid[]) is 'What the rules about members find of these, also at their positions: an array.';

create function private.check_networks(
    p_networks private.ledger_part, p_earners private.ledger_part, p_teams private.ledger_part
) returns jsonb
language plpgsql volatile set search_path = '' set max_parallel_workers_per_gather = 0 as $$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.network_violations(p_networks, p_earners, p_teams) as v
    );
end
$$;
comment on function private.check_networks(private.ledger_part, private.ledger_part, private.ledger_part) is
'What the rules about rolled-up sums find: of the networks of some positions, the earnings by day of others, and the large teams of others: an array.';

create function private.check_changed_networks(p_nos integer[], p_earners integer[], p_teams integer[]) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_found jsonb := '[]'::jsonb;
begin
    for i in 1..greatest(pg_catalog.cardinality(p_nos), pg_catalog.cardinality(p_earners), pg_catalog.cardinality(p_teams)) by 2000 loop
        v_found := v_found || private.check_networks(
            private.listed_part('{}', p_nos[i:i + 1999]), private.listed_part('{}', p_earners[i:i + 1999]), private.listed_part('{}', p_teams[i:i + 1999])
        );
    end loop;
    return v_found;
end
$$;
comment on function private.check_changed_networks(integer[], integer[], integer[]) is
'The same of positions in any number, a few thousand at once.';

create function private.check_chain(p_after bigint, p_until bigint) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('rule', 'I26', 'object', c.object)), '[]')
        from private.verify_audit_chain(p_after, p_until) as c (object)
    );
end
$$;
comment on function private.check_chain(bigint, bigint) is 'What is wrong with the chain of the audit log, from one entry to another: an array.';

create function private.check_objects(p_objects uuid[]) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.audit_discrepancies(p_objects) as v
    );
end
$$;
comment on function private.check_objects(uuid[]) is 'What the audit log says otherwise of these requests and corrections: an array.';

create function private.check_entries(p_after bigint, p_until bigint) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_found jsonb := '[]'::jsonb;
    v_after bigint := p_after;
    v_last bigint;
begin
    while v_after < p_until loop
        v_last := least(v_after + 5000, p_until);
        v_found := v_found || private.check_chain(v_after, v_last) || private.check_objects(private.orphaned_objects(v_after, v_last));
        v_after := v_last;
    end loop;
    return v_found;
end
$$;
comment on function private.check_entries(bigint, bigint) is
'What is wrong with the chain of the audit log from one entry to another, and with entries of what is not there: an array.';

create function private.check_changes() returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_changed record := private.take_changes();
    v_alarmed record := private.alarm_places();
    v_first bigint;
    v_last bigint;
    v_seq bigint;
    v_users uuid[];
    v_nos integer[];
    v_found jsonb;
    v_entry bigint;
begin
    -- What was linked before the first run is left to the sweep.
    update private.ledger_check_state as s set seen_seq = (select max(c.seq) from private.audit_chain as c) where s.seen_seq is null;
    -- Without the offset the least entry would be looked for from the first one on.
    select min(c.entry_id) - 1, max(c.entry_id), max(c.seq) into v_first, v_last, v_seq
    from (
        select k.entry_id, k.seq from private.audit_chain as k
        where k.seq > (select s.seen_seq from private.ledger_check_state as s) offset 0
    ) as c;
    v_users := private.concerned_users(v_changed.users || v_alarmed.users, v_alarmed.nos);
    v_nos := array(
        select o.no from private.positions as o where o.user_id = any(v_users)
        union
        select u.no from pg_catalog.unnest(v_alarmed.nos) as u (no)
    );
    v_found := private.check_members(v_users)
        || private.check_changed_networks(v_nos || v_changed.nos, v_nos || v_changed.earners, v_alarmed.nos)
        || private.check_entries(coalesce(v_first, 0), coalesce(v_last, 0))
        || private.check_objects(v_alarmed.objects || array(
            select distinct e.object_id from private.money_audit_entries as e where e.id > v_first and e.id <= v_last
        ))
        || (select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.standing_violations() as v);
    foreach v_entry in array v_alarmed.entries loop
        v_found := v_found || private.check_chain(v_entry - 1, v_entry);
    end loop;
    update private.ledger_check_state as s set seen_seq = v_seq where v_seq is not null;
    return v_found;
end
$$;
comment on function private.check_changes() is
'What the rules find of what changed since the last call and of what open alarms name: an array. The large teams of others are left to the sweep.';

create function private.last_slice() returns private.ledger_slices
language plpgsql stable set search_path = '' as $$
declare
    v_slice private.ledger_slices;
begin
    select * into v_slice from private.ledger_slices as s order by s.round desc, s.no desc limit 1;
    if coalesce(v_slice.is_last, true) then
        v_slice := row(coalesce(v_slice.round, 0) + 1, 0, null, '00000000-0000-0000-0000-000000000000', 0, 0, false, false);
    end if;
    return v_slice;
end
$$;
comment on function private.last_slice() is 'Where the sweep goes on: its last slice, or the beginning of the next round.';

-- Ranges of the indexes, without a gap between them: what belongs to no member lies in one too.
create function private.next_part(p_slice private.ledger_slices, p_members integer) returns private.ledger_part
language plpgsql stable set search_path = '' as $$
declare
    v_part private.ledger_part := private.listed_part('{}', '{}');
begin
    if (p_slice).next_user is not null then
        v_part.users := null;
        v_part.first_user := (p_slice).next_user;
        v_part.until_user := (
            select p.user_id from private.profiles as p where p.user_id >= (p_slice).next_user
            order by p.user_id offset p_members limit 1
        );
    end if;
    if (p_slice).next_no is not null then
        v_part.nos := null;
        v_part.first_no := (p_slice).next_no;
        v_part.until_no := (
            select o.no from private.positions as o where o.no >= (p_slice).next_no
            order by o.no offset p_members limit 1
        );
    end if;
    return v_part;
end
$$;
comment on function private.next_part(private.ledger_slices, integer) is
'As many members and positions from where the next run goes on; nobody where none is left.';

create function private.are_members_done(p_slice private.ledger_slices) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
    return (p_slice).next_user is null and (p_slice).next_no is null;
end
$$;
comment on function private.are_members_done(private.ledger_slices) is 'Whether a round has come to the last member and position.';

create function private.check_slice() returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_size record := private.slice_size();
    v_slice private.ledger_slices := private.last_slice();
    v_part private.ledger_part;
    v_after bigint := (v_slice).entry_id;
    v_found jsonb := '[]'::jsonb;
begin
    v_slice.no := v_slice.no + 1;
    v_slice.seen_at := pg_catalog.clock_timestamp();
    for i in 1..v_size.members by v_size.at_once loop
        exit when private.are_members_done(v_slice) or (i > 1 and pg_catalog.clock_timestamp() > v_slice.seen_at + v_size.at_most);
        v_part := private.next_part(v_slice, least(v_size.members - i + 1, v_size.at_once));
        v_found := v_found || private.check_part(v_part) || private.check_networks(v_part, v_part, v_part);
        v_slice.next_user := v_part.until_user;
        v_slice.next_no := v_part.until_no;
    end loop;
    v_slice.entry_id := v_after + v_size.entries;
    v_slice.entries_done := v_slice.entry_id >= coalesce((select max(l.id) from private.audit_log as l), 0);
    insert into private.ledger_slices select (v_slice).*;
    return v_found || private.check_entries(v_after, v_slice.entry_id);
end
$$;
comment on function private.check_slice() is 'What the rules find of the next slice of members and of the audit log: an array.';

-- Sums over everybody.

create function private.sum_rules() returns text[]
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return array['I21', 'I22', 'I27', 'I38', 'I39'];
end
$$;
comment on function private.sum_rules() is 'The rules of private.sum_violations().';

-- Not in the run of a slice: both together take too long.
create function private.are_sums_due(p_slice private.ledger_slices) returns boolean
language plpgsql stable set search_path = '' as $$
declare
    v_state private.ledger_check_state;
begin
    if private.are_members_done(p_slice) and (p_slice).entries_done then
        return true;
    end if;
    select * into v_state from private.ledger_check_state;
    return not private.is_recent(v_state.sums_at, v_state.sums_duration * 9) and exists (
        select 1 from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null and pg_catalog.left(a.object, 3) = any(private.sum_rules())
    );
end
$$;
comment on function private.are_sums_due(private.ledger_slices) is
'Whether nothing but sums is left of the round, or one of the rules about sums is violated and was not looked at just now.';

create function private.check_sums() returns jsonb
language plpgsql volatile set work_mem = '64MB' set search_path = '' as $$
declare
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_found jsonb := (select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(v)), '[]') from private.sum_violations() as v);
begin
    update private.ledger_check_state as s set
        sums_at = v_started, sums_duration = least(greatest(pg_catalog.clock_timestamp() - v_started, interval '0'), interval '10 minutes');
    return v_found;
end
$$;
comment on function private.check_sums() is 'What the rules about sums over everybody find: an array.';

-- What was looked at when.

create function private.end_round(p_slice private.ledger_slices) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.ledger_slices
    select (p_slice).round, (p_slice).no + 1, s.sums_at, null, null, (p_slice).entry_id, true, true from private.ledger_check_state as s;
    delete from private.ledger_slices as s where s.round < (p_slice).round;
    update private.ledger_check_state as s set whole_at = pg_catalog.clock_timestamp();
    -- A rule as a whole is over when a round has found no more than its alarms.
    update private.alarms as a set ended_at = pg_catalog.clock_timestamp()
    where a.kind = 'ledger_violation' and a.ended_at is null and pg_catalog.length(a.object) = 3
        and a.last_seen < (select min(s.seen_at) from private.ledger_slices as s where s.round = (p_slice).round);
end
$$;
comment on function private.end_round(private.ledger_slices) is 'Ends a round of the sweep after its last slice and the sums: everything was looked at.';

create function private.all_seen_since() returns timestamptz
language plpgsql stable set search_path = '' as $$
declare
    v_slice private.ledger_slices;
    v_first timestamptz;
    v_user timestamptz;
    v_no timestamptz;
    v_entry timestamptz;
    v_sums timestamptz;
begin
    select * into v_slice from private.ledger_slices as s order by s.round desc, s.no desc limit 1;
    select min(s.seen_at) into v_first from private.ledger_slices as s where s.round = v_slice.round;
    -- What this round has not come to yet was looked at by the last one.
    select
        min(s.seen_at) filter (where s.next_user is null or s.next_user > v_slice.next_user),
        min(s.seen_at) filter (where s.next_no is null or s.next_no > v_slice.next_no),
        min(s.seen_at) filter (where s.entries_done or s.entry_id > v_slice.entry_id),
        min(s.seen_at) filter (where s.is_last)
    into v_user, v_no, v_entry, v_sums
    from private.ledger_slices as s
    where s.round = v_slice.round - 1;
    v_user := case when v_slice.next_user is null then v_first else v_user end;
    v_no := case when v_slice.next_no is null then v_first else v_no end;
    v_entry := case when v_slice.entries_done then v_first else v_entry end;
    v_sums := case when v_slice.is_last then v_slice.seen_at else v_sums end;
    return case when num_nulls(v_user, v_no, v_entry, v_sums) = 0 then least(v_user, v_no, v_entry, v_sums) end;
end
$$;
comment on function private.all_seen_since() is
'The oldest time at which a row was last looked at; null before the end of the first round.';

-- The runs.

create function private.check_ledger_in_parts() returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_found jsonb;
    v_slice private.ledger_slices;
    v_sums boolean;
    v_rules jsonb;
begin
    -- One run at a time.
    lock table private.ledger_slices in share row exclusive mode;
    v_slice := private.last_slice();
    v_sums := private.are_sums_due(v_slice);
    v_found := case when v_sums then private.check_sums() else private.check_slice() end;
    -- What changed comes last: it locks the row of the last check, for which the anchor of the audit log would wait.
    v_found := v_found || private.check_changes();
    perform private.record_violations(v_found, true, case when v_sums then '{}' else private.sum_rules() end);
    if private.are_members_done(v_slice) and (v_slice).entries_done then
        perform private.end_round(v_slice);
    end if;
    select coalesce(pg_catalog.jsonb_object_agg(r.rule, r.rows), '{}') into v_rules
    from (
        select pg_catalog.left(a.object, 3) as rule, count(*) as rows from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null
        group by 1
    ) as r;
    update private.ledger_check_state as s set
        checked_at = v_started,
        check_duration = least(greatest(pg_catalog.clock_timestamp() - v_started, interval '0'), interval '10 minutes'),
        rules = v_rules,
        violations = (select coalesce(sum(r.rows::integer), 0) from pg_catalog.jsonb_each_text(v_rules) as r (rule, rows)),
        seen_since = coalesce(private.all_seen_since(), s.seen_since);
    return v_rules;
end
$$;
comment on function private.check_ledger_in_parts() is
'Looks at what changed, at what open alarms name and at the next slice of everything, and records it: open alarms by rule.';

-- The check reads everything: one second with ten thousand members, half a minute and more with several hundred
-- thousand, when the next run would start as the last ends. So it throttles itself: up to three seconds it runs
-- whenever called; above, it waits nine times its last duration and so takes at most a tenth of the time. Until then
-- the last result stands, alarms included, with its time.
create function private.check_whole_ledger() returns jsonb
language plpgsql volatile
-- Hash aggregates over all members in memory.
set work_mem = '64MB' set search_path = ''
-- Scan whole tables sequentially: the same sums in index order, a row a page, take five times as long.
set enable_indexscan = 'off' as $$
declare
    v_state private.ledger_check_state;
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_rules jsonb;
    v_found jsonb;
    v_seq bigint;
begin
    select * into v_state from private.ledger_check_state;
    if v_state.check_duration > interval '3 seconds' and private.is_recent(v_state.checked_at, v_state.check_duration * 9) then
        return v_state.rules;
    end if;
    perform private.take_changes();
    delete from private.ledger_slices;
    select max(c.seq) into v_seq from private.audit_chain as c;
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(c)), '[]') into v_found from private.check_ledger() as c;
    select coalesce(pg_catalog.jsonb_object_agg(r.rule, r.rows), '{}') into v_rules
    from (select f.value ->> 'rule' as rule, count(*) as rows from pg_catalog.jsonb_array_elements(v_found) as f group by 1) as r;
    update private.ledger_check_state as s set
        -- checked_at is the start: rows written while it ran were not checked.
        checked_at = v_started,
        -- Not longer, should the clock be set meanwhile: it says when the next one may run.
        check_duration = least(greatest(pg_catalog.clock_timestamp() - v_started, interval '0'), interval '10 minutes'),
        rules = v_rules,
        violations = pg_catalog.jsonb_array_length(v_found),
        whole_at = v_started,
        seen_since = v_started,
        seen_seq = v_seq;
    perform private.record_violations(v_found);
    return v_rules;
end
$$;
comment on function private.check_whole_ledger() is
'Reads the whole ledger, stores the result and raises and ends its alarms, or returns the last one while a long check is throttled: violations by rule.';

create function jobs.check_ledger() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
begin
    return case when private.is_swept() then private.check_ledger_in_parts() else private.check_whole_ledger() end;
end
$$;
comment on function jobs.check_ledger() is
'Runs the ledger checks, on everything or, with very many members, on what changed and the next slice: violations by rule, {} when there are none. Stores the result and raises and ends their alarms.';
grant execute on function jobs.check_ledger() to worker;

-- Stored sums and counters, derived from the rows again: cash-in and packages from deposits and corrections, positions
-- from members, totals from bonuses and withdrawals, counters and daily totals from everything, and what is rolled up
-- from the journal and the tree. Only damage behind the triggers makes a difference; a repair of bonuses and
-- rebuild_counters() call this. No row of money changes; where a bonus is right and its journal is not, which a decision
-- about a damaged bonus leaves, the journal gets the difference.
-- Each statement compares sums and rows in one snapshot. What transactions append (counters, daily totals, networks)
-- may change meanwhile: there the difference is appended or added, never the value set. Values of a member are set
-- under the member's lock, which everybody else who changes them holds, too.

create view private.member_discrepancies as
select
    m.user_id,
    pg_catalog.jsonb_build_object('cash_in_amount', private.money(m.cash_in_amount), 'package_value', private.money(m.package_value)) as old,
    pg_catalog.jsonb_build_object('cash_in_amount', private.money(m.due_cash_in), 'package_value', private.money(m.due_package)) as new
from (
    select
        p.user_id,
        p.cash_in_amount,
        p.package_value,
        coalesce(d.cash_in, 0) as due_cash_in,
        case when c.user_id is null then coalesce(d.package, 0) else private.due_package(p.user_id) end as due_package
    from private.profiles as p
    left join (
        select
            a.user_id,
            sum(a.amount) as cash_in,
            max(k.value) as package
        from public.deposits as a left join private.packages as k on a.amount = k.value
        where a.status = 'approved' and a.voided_at is null
        group by a.user_id
    ) as d on p.user_id = d.user_id
    left join (
        select distinct s.user_id from private.corrections as s
        where s.kind = 'set_package' and s.confirmed_by is not null
    ) as c on p.user_id = c.user_id
) as m
-- Without the right package sizes no package can be derived.
where
    (m.cash_in_amount, m.package_value) is distinct from (m.due_cash_in, m.due_package)
    and not exists (select 1 from private.plan_discrepancies);
comment on view private.member_discrepancies is 'Members whose cash-in or package is not what deposits and corrections say.';

create view private.position_discrepancies as
select
    q.no,
    q.user_id,
    pg_catalog.jsonb_build_object(
        'package_cents', q.package_cents, 'paid_cents', q.paid_cents, 'children', q.children, 'paid_order', q.paid_order
    ) as old,
    pg_catalog.jsonb_build_object(
        'package_cents', q.due_package, 'paid_cents', q.due_paid, 'children', q.due_children, 'paid_order', q.due_order
    ) as new
from (
    select
        o.no,
        o.user_id,
        o.package_cents,
        o.paid_cents,
        o.children,
        o.paid_order,
        n.package_cents as due_package,
        n.paid_cents as due_paid,
        coalesce(c.children, 0)::integer as due_children,
        case when n.paid_cents > 0 then coalesce(f.decision_no, d.decision_no) end as due_order
    from private.positions as o
    inner join private.profiles as p on o.user_id = p.user_id
    cross join
        lateral (
            select
                (p.package_value * 100)::integer as package_cents,
                case when p.cash_in_amount >= p.package_value then (p.package_value * 100)::integer else 0 end as paid_cents
        ) as n
    left join (
        select
            r.referrer_no,
            count(*) as children
        from private.positions as r
        group by r.referrer_no
    ) as c on o.no = c.referrer_no
    left join (
        select
            a.user_id,
            min(a.decision_no) as decision_no
        from public.deposits as a
        where a.status = 'approved'
        group by a.user_id
    ) as d on o.user_id = d.user_id
    left join private.corrected_fundings as f on o.user_id = f.user_id
) as q
where (q.package_cents, q.paid_cents, q.children, q.paid_order) is distinct from (q.due_package, q.due_paid, q.due_children, q.due_order);
comment on view private.position_discrepancies is
'Positions whose package, payment, number of direct referrals or place in the order of fundings is not what members, deposits and corrections say.';

create view private.total_discrepancies as
select
    t.user_id,
    pg_catalog.jsonb_build_object(
        'referral_amount', private.money(t.referral_amount), 'referral_count', t.referral_count,
        'pairing_amount', private.money(t.pairing_amount), 'pairing_count', t.pairing_count,
        'override_amount', private.money(t.override_amount), 'override_count', t.override_count,
        'reentry_amount', private.money(t.reentry_amount), 'withdrawn_amount', private.money(t.withdrawn_amount),
        'reserved_amount', private.money(t.reserved_amount)
    ) as old,
    pg_catalog.jsonb_build_object(
        'referral_amount', private.money(coalesce(b.referral, 0)), 'referral_count', coalesce(b.referrals, 0),
        'pairing_amount', private.money(coalesce(b.pairing, 0)), 'pairing_count', coalesce(b.pairings, 0),
        'override_amount', private.money(coalesce(b.override, 0)), 'override_count', coalesce(b.overrides, 0),
        'reentry_amount', private.money(coalesce(b.reentry, 0)), 'withdrawn_amount', private.money(coalesce(w.withdrawn, 0)),
        'reserved_amount', private.money(coalesce(w.reserved, 0))
    ) as new
from private.totals as t
left join (
    select
        r.user_id,
        coalesce(sum(r.amount) filter (where r.bonus_type = 'referral'), 0) as referral,
        count(*) filter (where r.bonus_type = 'referral' and r.amount > 0) as referrals,
        coalesce(sum(r.amount) filter (where r.bonus_type = 'pairing'), 0) as pairing,
        count(*) filter (where r.bonus_type = 'pairing' and r.amount > 0) as pairings,
        coalesce(sum(r.amount) filter (where r.bonus_type = 'override'), 0) as override,
        count(*) filter (where r.bonus_type = 'override' and r.amount > 0) as overrides,
        sum(r.reentry_amount) as reentry
    from public.bonuses as r
    group by r.user_id
) as b on t.user_id = b.user_id
left join (
    select
        o.user_id,
        coalesce(sum(o.amount) filter (where o.status = 'approved' and o.voided_at is null), 0) as withdrawn,
        coalesce(sum(o.amount) filter (where o.status = 'pending'), 0) as reserved
    from public.withdrawals as o
    group by o.user_id
) as w on t.user_id = w.user_id
where (
    t.referral_amount, t.referral_count, t.pairing_amount, t.pairing_count, t.override_amount, t.override_count,
    t.reentry_amount, t.withdrawn_amount, t.reserved_amount
) is distinct from (
    coalesce(b.referral, 0), coalesce(b.referrals, 0), coalesce(b.pairing, 0), coalesce(b.pairings, 0), coalesce(b.override, 0),
    coalesce(b.overrides, 0), coalesce(b.reentry, 0), coalesce(w.withdrawn, 0), coalesce(w.reserved, 0)
);
comment on view private.total_discrepancies is 'Members whose totals are not the sums and counts of their bonuses and withdrawals.';

create view private.counter_discrepancies as
select
    f.name,
    c.value as stored,
    f.value
from (
    select
        v.name,
        v.value
    from (
        select
            count(*) as members,
            count(*) filter (where p.package_value > 0) as active,
            coalesce(sum(p.package_value), 0) as packages,
            count(*) filter (where p.account_verified) as verified
        from private.profiles as p
    ) as m
    cross join
        lateral (
            values
            ('profiles', m.members::numeric), ('active_profiles', m.active), ('package_investment', m.packages), ('verified_profiles', m.verified)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) filter (where d.status = 'pending') as pending,
            coalesce(sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null), 0) as amount,
            count(*) filter (where d.status = 'approved') as approved,
            count(*) filter (where d.status = 'rejected') as rejected
        from public.deposits as d
    ) as r
    cross join
        lateral (
            values
            ('pending_deposits', r.pending::numeric), ('deposits_approved', r.amount), ('deposits_approved_count', r.approved),
            ('deposits_rejected_count', r.rejected)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) filter (where w.status = 'pending') as pending,
            coalesce(sum(w.amount) filter (where w.status = 'pending'), 0) as reserved,
            coalesce(sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null), 0) as amount,
            count(*) filter (where w.status = 'approved') as approved,
            count(*) filter (where w.status = 'rejected') as rejected,
            count(w.payout_reference) as paid
        from public.withdrawals as w
    ) as r
    cross join
        lateral (
            values
            ('pending_withdrawals', r.pending::numeric), ('reserved', r.reserved), ('withdrawals_approved', r.amount),
            ('withdrawals_approved_count', r.approved), ('withdrawals_rejected_count', r.rejected), ('withdrawals_paid_count', r.paid)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            coalesce(sum(b.amount), 0) as amount,
            count(*) filter (where b.amount > 0) as bonuses
        from public.bonuses as b
    ) as r
    cross join lateral (values ('bonuses', r.amount), ('bonus_rows', r.bonuses)) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) as entries,
            coalesce(sum(abs(t.amount)), 0) as volume
        from public.transactions as t
        where t.transaction_type = 'bonus'
    ) as r
    cross join lateral (values ('bonus_transactions', r.entries::numeric), ('bonus_volume', r.volume)) as v (name, value)
    union all
    select
        'shortfall',
        coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0)
    from private.totals as s
    where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    union all
    select
        'subscriptions_' || e.status,
        count(s.id)
    from unnest(enum_range(null::public.subscription_status)) as e (status)
    left join public.bot_subscriptions as s on e.status = s.status
    group by e.status
) as f
left join private.counter_values() as c on f.name = c.name
where c.value is distinct from f.value;
comment on view private.counter_discrepancies is 'Counters whose value is not that of the rows; stored is null where there is no counter.';

create view private.flow_discrepancies as
select
    f.day,
    sum(f.deposits) as deposits,
    sum(f.withdrawals) as withdrawals,
    sum(f.decided_deposits) as decided_deposits
from (
    select
        v.day,
        v.deposits,
        0 as withdrawals,
        v.decided_deposits
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
        w.amount,
        0
    from public.withdrawals as w
    where w.status = 'approved' and w.voided_at is null
    union all
    select
        k.day,
        -k.deposits,
        -k.withdrawals,
        -k.decided_deposits
    from private.flows_since('-infinity') as k
) as f
group by f.day
having sum(f.deposits) <> 0 or sum(f.withdrawals) <> 0 or sum(f.decided_deposits) <> 0;
comment on view private.flow_discrepancies is 'What the daily totals of deposits and withdrawals lack, by day; negative: what they have too much.';

create function private.changed_fields(p_figures jsonb, p_others jsonb) returns jsonb
language sql immutable set search_path = '' as $$
    select coalesce(pg_catalog.jsonb_object_agg(f.key, f.value), '{}')
    from pg_catalog.jsonb_each(p_figures) as f
    where f.value is distinct from p_others -> f.key
$$;
comment on function private.changed_fields(jsonb, jsonb) is 'The figures that are not the same in the other object.';

create function private.changes_json(p_changes private.sum_change[]) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'changes', coalesce(pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'kind', c.kind, 'object', c.object, 'user_id', c.user_id,
                'old', private.changed_fields(c.old, c.new), 'new', private.changed_fields(c.new, c.old)
            )
        ), '[]'),
        'count', pg_catalog.cardinality(p_changes)
    )
    from pg_catalog.unnest(p_changes[1:100]) as c
$$;
comment on function private.changes_json(private.sum_change[]) is 'The first hundred changes, each with the figures that differ, and how many there are.';

create function private.book_repairs(p_due private.due_bonus[], p_at timestamptz) returns void
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_decision_no bigint := private.current_decision_no();
begin
    with booked as (
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        -- The first journal row of a bonus has its time.
        select
            b.user_id, b.amount - coalesce(j.amount, 0), 'bonus', 'completed', b.id,
            case when j.amount is null then b.created_at else p_at end, v_decision_no
        from pg_catalog.unnest(p_due) as d
        inner join public.bonuses as b on d.bonus_id = b.id
        cross join lateral (
            select sum(t.amount) as amount from public.transactions as t
            where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = b.id
        ) as j
        returning amount
    )
    insert into private.counter_deltas (name, delta)
    select c.name, c.delta
    from (select count(*) as entries, sum(pg_catalog.abs(b.amount)) as volume from booked as b) as s
    cross join lateral (values ('bonus_transactions', s.entries), ('bonus_volume', s.volume)) as c (name, delta);
end
$$;
comment on function private.book_repairs(private.due_bonus[], timestamptz) is
'Journal rows of these stored bonuses, and their counters: the difference to what their journal says.';

create function private.rebuild_journal() returns private.sum_change[]
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_wrong private.due_bonus[] := private.all_bonus_discrepancies();
    v_due private.due_bonus[];
    v_changes private.sum_change[];
begin
    select
        pg_catalog.array_agg(
            row(b.id, b.bonus_type, b.subject_no, b.pair_number, null, null, b.volume * 100, b.rate, b.amount_cents)::private.due_bonus order by b.id
        ),
        pg_catalog.array_agg(
            row(
                'journal', b.id, b.user_id, pg_catalog.jsonb_build_object('amount', private.money(coalesce(j.amount, 0))),
                pg_catalog.jsonb_build_object('amount', private.money(b.amount))
            )::private.sum_change order by b.id
        )
    into v_due, v_changes
    from public.bonuses as b
    left join (
        select t.reference_id, sum(t.amount) as amount from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed'
        group by t.reference_id
    ) as j on b.id = j.reference_id
    -- A bonus that is wrong itself is for the next reconciliation.
    where b.amount <> coalesce(j.amount, 0) and not exists (
        select 1 from pg_catalog.unnest(v_wrong) as w
        where w.bonus_type = b.bonus_type and w.subject_no = b.subject_no and w.pair_number is not distinct from b.pair_number
    );
    if v_due is not null then
        if private.current_decision_no() is null then
            perform private.next_decision_no();
        end if;
        perform private.book_repairs(v_due, private.clock());
    end if;
    return v_changes;
end
$$;
comment on function private.rebuild_journal() is
'Books what the journal of bonuses that are right lacks, under the number of the repair or one of its own; returns the changes.';

create function private.rebuild_members() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_changes private.sum_change[];
begin
    with rebuilt as (
        update private.profiles as p set
            cash_in_amount = (d.new ->> 'cash_in_amount')::numeric, package_value = (d.new ->> 'package_value')::numeric
        from private.member_discrepancies as d
        where p.user_id = d.user_id
        returning d.user_id, d.old, d.new
    )
    select pg_catalog.array_agg(
        row('member', r.user_id, r.user_id, r.old, r.new)::private.sum_change order by r.user_id
    )
    into v_changes from rebuilt as r;
    return v_changes;
end
$$;
comment on function private.rebuild_members() is 'Derives cash-in and packages from deposits and corrections; returns the changes.';

create function private.rebuild_positions() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_wrong private.position_discrepancies[] := array(select d from private.position_discrepancies as d order by d.no);
begin
    if pg_catalog.cardinality(v_wrong) > 0 then
        update private.positions as p set
            package_cents = (d.new ->> 'package_cents')::integer,
            paid_cents = (d.new ->> 'paid_cents')::integer,
            children = (d.new ->> 'children')::integer,
            paid_order = (d.new ->> 'paid_order')::bigint
        from pg_catalog.unnest(v_wrong) as d
        where p.no = d.no;
        -- Other bonuses may be due.
        perform pg_catalog.nextval('private.bonus_revision_seq');
    end if;
    return array(
        select row('position', d.no, d.user_id, d.old, d.new)::private.sum_change from pg_catalog.unnest(v_wrong) as d
    );
end
$$;
comment on function private.rebuild_positions() is
'Derives package, payment, number of direct referrals and order of fundings of all positions; returns the changes. The number of a direct referral is no sum and stays.';

create function private.rebuild_totals() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_changes private.sum_change[];
begin
    insert into private.totals (user_id)
    select p.user_id from private.profiles as p where not exists (select 1 from private.totals as t where t.user_id = p.user_id);
    with rebuilt as (
        update private.totals as t set
            referral_amount = (d.new ->> 'referral_amount')::numeric, referral_count = (d.new ->> 'referral_count')::integer,
            pairing_amount = (d.new ->> 'pairing_amount')::numeric, pairing_count = (d.new ->> 'pairing_count')::integer,
            override_amount = (d.new ->> 'override_amount')::numeric, override_count = (d.new ->> 'override_count')::integer,
            reentry_amount = (d.new ->> 'reentry_amount')::numeric, withdrawn_amount = (d.new ->> 'withdrawn_amount')::numeric,
            reserved_amount = (d.new ->> 'reserved_amount')::numeric
        from private.total_discrepancies as d
        where t.user_id = d.user_id
        returning d.user_id, d.old, d.new
    )
    select pg_catalog.array_agg(
        row('totals', r.user_id, r.user_id, r.old, r.new)::private.sum_change order by r.user_id
    )
    into v_changes from rebuilt as r;
    return v_changes;
end
$$;
comment on function private.rebuild_totals() is 'Derives all totals from bonuses and withdrawals; returns the changes.';

create function private.rebuild_counter_values() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_changes private.sum_change[];
begin
    -- A counter has its value in one row and its deltas in others; what is missing is one more.
    insert into private.counters (name)
    select d.name from private.counter_discrepancies as d where d.stored is null
    on conflict do nothing;
    with wrong as materialized (
        select d.name, d.stored, d.value from private.counter_discrepancies as d
    ), rebuilt as (
        insert into private.counter_deltas (name, delta)
        select w.name, w.value - w.stored from wrong as w
    )
    select pg_catalog.array_agg(
        row(
            'counter', w.name, null, pg_catalog.jsonb_build_object('value', w.stored::text), pg_catalog.jsonb_build_object('value', w.value::text)
        )::private.sum_change order by w.name
    )
    into v_changes from wrong as w;
    return v_changes;
end
$$;
comment on function private.rebuild_counter_values() is 'Adds to each counter what it lacks; returns the changes.';

create function private.rebuild_flows() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_changes private.sum_change[];
begin
    with wrong as materialized (
        select
            d.day, d.deposits, d.withdrawals, d.decided_deposits,
            coalesce(k.deposits, 0) as old_deposits,
            coalesce(k.withdrawals, 0) as old_withdrawals,
            coalesce(k.decided_deposits, 0) as old_decided
        from private.flow_discrepancies as d left join private.flows_since('-infinity') as k on d.day = k.day
    ), rebuilt as (
        insert into private.flow_deltas (day, deposits, withdrawals, decided_deposits)
        select w.day, w.deposits, w.withdrawals, w.decided_deposits from wrong as w
    )
    select pg_catalog.array_agg(
        row(
            'flow_day', w.day, null,
            pg_catalog.jsonb_build_object(
                'deposits', private.money(w.old_deposits), 'withdrawals', private.money(w.old_withdrawals),
                'decided_deposits', private.money(w.old_decided)
            ),
            pg_catalog.jsonb_build_object(
                'deposits', private.money(w.old_deposits + w.deposits), 'withdrawals', private.money(w.old_withdrawals + w.withdrawals),
                'decided_deposits', private.money(w.old_decided + w.decided_deposits)
            )
        )::private.sum_change order by w.day
    )
    into v_changes from wrong as w;
    return v_changes;
end
$$;
comment on function private.rebuild_flows() is 'Adds to the daily totals of deposits and withdrawals what they lack; returns the changes.';

create function private.rebuild_earning_days() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_changes private.sum_change[];
begin
    with wrong as materialized (
        select d.no, d.day, d.referral, d.pairing, d.override from private.earning_day_differences(0, 2147483647) as d
    ), rebuilt as (
        insert into private.earning_days as e (no, day, referral, pairing, override)
        select w.no, w.day, w.referral, w.pairing, w.override from wrong as w
        on conflict (no, day) do update set
            referral = e.referral + excluded.referral, pairing = e.pairing + excluded.pairing, override = e.override + excluded.override
        returning e.no, e.day, e.referral, e.pairing, e.override
    )
    select pg_catalog.array_agg(
        row(
            'earning_day', r.no || ' ' || r.day, o.user_id,
            pg_catalog.jsonb_build_object(
                'referral', private.money(r.referral - w.referral), 'pairing', private.money(r.pairing - w.pairing),
                'override', private.money(r.override - w.override)
            ),
            pg_catalog.jsonb_build_object(
                'referral', private.money(r.referral), 'pairing', private.money(r.pairing), 'override', private.money(r.override)
            )
        )::private.sum_change order by r.no, r.day
    )
    into v_changes
    from rebuilt as r
    inner join wrong as w on r.no = w.no and r.day = w.day
    inner join private.positions as o on r.no = o.no;
    return v_changes;
end
$$;
comment on function private.rebuild_earning_days() is
'Adds to the members'' daily earnings what the journal has and they lack; returns the changes. Call under the lock of the roll-up.';

-- A network is its member's own values and the networks of the direct referrals. So what is wrong at one member is wrong
-- by the same amount at everybody above, and the roll-up takes it there.
create function private.rebuild_networks() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_changes private.sum_change[];
    v_direct private.sum_change[];
begin
    with wrong as materialized (
        select d.* from private.network_differences(0, 2147483647) as d
    ), staged as (
        insert into private.network_rollup_staging (no, depth, members, package_cents, referral, pairing, override)
        select w.no, p.depth, w.members, w.package_cents, w.referral, w.pairing, w.override
        from wrong as w
        inner join private.positions as o on w.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
        where (w.members, w.package_cents, w.referral, w.pairing, w.override) is distinct from (0, 0, 0, 0, 0)
    ), rebuilt as (
        insert into private.networks as n (no, direct_cents, direct_funded)
        select w.no, w.direct_cents, w.direct_funded from wrong as w where w.direct_cents <> 0 or w.direct_funded <> 0
        on conflict (no) do update set
            direct_cents = n.direct_cents + excluded.direct_cents, direct_funded = n.direct_funded + excluded.direct_funded
        returning n.no, n.direct_cents, n.direct_funded
    )
    select pg_catalog.array_agg(
        row(
            'direct_referrals', r.no, o.user_id,
            pg_catalog.jsonb_build_object('direct_cents', r.direct_cents - w.direct_cents, 'direct_funded', r.direct_funded - w.direct_funded),
            pg_catalog.jsonb_build_object('direct_cents', r.direct_cents, 'direct_funded', r.direct_funded)
        )::private.sum_change order by r.no
    )
    into v_direct
    from rebuilt as r
    inner join wrong as w on r.no = w.no
    inner join private.positions as o on r.no = o.no;
    perform private.propagate_staged_totals();
    select pg_catalog.array_agg(
        row(
            'network', s.no, o.user_id,
            pg_catalog.jsonb_build_object(
                'members', coalesce(n.members, 0), 'package_cents', coalesce(n.package_cents, 0), 'referral', private.money(coalesce(n.referral, 0)),
                'pairing', private.money(coalesce(n.pairing, 0)), 'override', private.money(coalesce(n.override, 0))
            ),
            pg_catalog.jsonb_build_object(
                'members', coalesce(n.members, 0) + s.members, 'package_cents', coalesce(n.package_cents, 0) + s.package_cents,
                'referral', private.money(coalesce(n.referral, 0) + s.referral), 'pairing', private.money(coalesce(n.pairing, 0) + s.pairing),
                'override', private.money(coalesce(n.override, 0) + s.override)
            )
        )::private.sum_change order by s.no
    )
    into v_changes
    from private.network_rollup_staging as s
    inner join private.positions as o on s.no = o.no
    left join private.networks as n on s.no = n.no
    where (s.members, s.package_cents, s.referral, s.pairing, s.override) is distinct from (0, 0, 0, 0, 0);
    -- A team that turns out to be large gets days of its own with the next roll-up of one of its members.
    perform private.finalise_network_roll_up();
    return v_direct || v_changes;
end
$$;
comment on function private.rebuild_networks() is
'Adds to the rolled-up networks what positions, totals and tree have and they lack; returns the changes. Call under the lock of the roll-up.';

create function private.rebuild_team_days() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_teams integer[] := array(select distinct d.no from private.team_day_discrepancies(null) as d);
    v_before private.team_days[] := array(select d from private.team_days as d where d.no = any(v_teams));
begin
    if pg_catalog.cardinality(v_teams) > 0 then
        delete from private.team_days as d where d.no = any(v_teams);
        update private.networks as n set has_days = false where n.no = any(v_teams);
        perform private.backfill_team_days(v_teams, pg_catalog.cardinality(v_teams));
    end if;
    return array(
        select row(
            'team_day', o.no || ' ' || coalesce(a.day, b.day), o.user_id,
            pg_catalog.jsonb_build_object('members', coalesce(b.members, 0), 'funded', coalesce(b.funded, 0)),
            pg_catalog.jsonb_build_object('members', coalesce(a.members, 0), 'funded', coalesce(a.funded, 0))
        )::private.sum_change
        from pg_catalog.unnest(v_before) as b
        full join (select d.* from private.team_days as d where d.no = any(v_teams)) as a on b.no = a.no and b.day = a.day
        inner join private.positions as o on coalesce(a.no, b.no) = o.no
        where (a.members, a.funded) is distinct from (b.members, b.funded)
        order by o.no, coalesce(a.day, b.day)
    );
end
$$;
comment on function private.rebuild_team_days() is
'Materialises the days of large teams again where they differ from tree and bonuses; returns the changes. Call under the lock of the roll-up.';

create function private.lock_sums() returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform private.lock_members(array(
        select d.user_id from private.member_discrepancies as d
        union
        select d.user_id from private.position_discrepancies as d
        union
        select d.user_id from private.total_discrepancies as d
    ));
    -- No roll-up moves deltas meanwhile.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('networks'));
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_sums() is 'Locks the members whose sums differ, and the roll-up. Errors: try_again.';

create function private.rebuild_sums() returns private.sum_change[]
language plpgsql volatile set search_path = '' as $$
declare
    v_changes private.sum_change[] := '{}'::private.sum_change[];
begin
    perform private.lock_sums();
    -- In this order: each is derived from those before it.
    v_changes := v_changes || private.rebuild_journal();
    v_changes := v_changes || private.rebuild_members();
    v_changes := v_changes || private.rebuild_positions();
    v_changes := v_changes || private.rebuild_totals();
    v_changes := v_changes || private.rebuild_counter_values();
    v_changes := v_changes || private.rebuild_flows();
    v_changes := v_changes || private.rebuild_earning_days();
    v_changes := v_changes || private.rebuild_networks();
    v_changes := v_changes || private.rebuild_team_days();
    insert into private.ledger_changes (user_id) select distinct c.user_id from pg_catalog.unnest(v_changes) as c where c.user_id is not null;
    return v_changes;
end
$$;
comment on function private.rebuild_sums() is
'Derives all stored sums and counters from the rows; returns the changes. Call under the money lock, with app.repair on. Errors: try_again.';

create function public.rebuild_counters(p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := private.validate_reason(p_reason);
    v_response jsonb;
begin
    if nullif(pg_catalog.btrim(p_reason), '') is null then
        perform private.raise_error(400, 'reason_required', 'Give a reason.');
    end if;
    perform private.lock_money();
    perform pg_catalog.set_config('app.repair', 'on', true);
    v_response := private.changes_json(private.rebuild_sums());
    perform pg_catalog.set_config('app.repair', '', true);
    perform private.audit(
        'admin:' || v_admin.id, 'books.rebuilt', 'counters', null, pg_catalog.jsonb_build_object('reason', v_reason) || v_response
    );
    return v_response || '{"success": true}';
end
$$;
comment on function public.rebuild_counters(text) is
'Super administrators: derives every stored sum and counter from the rows, and writes what the journal of bonuses lacks, with an audit row. Returns the first hundred changes, each with its kind, object, member and figures before and after, and their count; 0 when all agreed. Errors: forbidden, session_ended, two_step_required, invalid_reason, reason_required, try_again.';
grant execute on function public.rebuild_counters(text) to platform_admin;

-- Purge old rows: expired rate limits, old failures, administrators' former addresses, uploads that no limit counts any
-- more, and e-mail and webhook messages of long ago (they hold names and addresses). Once a night what only told
-- somebody of something: the journal and the audit log say it for ever. Rows of money, the journal, the audit log and the
-- days made from them are never purged: the ledger checks compare each with the others, whatever its age.

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
    delete from private.known_admin_addresses as k where k.seen_at < v_now - interval '90 days';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.receipt_uploads as u
    where not exists (
        select 1 from storage.objects as o
        where o.bucket_id = 'receipts' and o.name = u.name and (
            o.created_at > v_now - interval '1 day'
            or not exists (select 1 from private.deposit_receipts as d where d.name = o.name)
        )
    );
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.alarm_webhooks as w where w.created_at < v_now - interval '30 days';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.outbox as o where o.sent_at < v_now - interval '30 days';
    get diagnostics v_rows = row_count;
    return v_all + v_rows;
end
$$;
comment on function jobs.purge() is
'Deletes expired rate limits, failures older than a day, addresses that no administrator used for 90 days, uploads that no limit counts any more, webhook messages and e-mail sent more than 30 days ago; returns how many rows.';
grant execute on function jobs.purge() to worker;

create function jobs.purge_messages(p_limit integer default 50000) returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    -- Of whole days: nothing becomes old enough while the worker repeats this.
    v_old timestamptz := pg_catalog.date_trunc('day', pg_catalog.clock_timestamp(), 'UTC') - interval '1 year';
    v_rows integer;
    v_all integer;
begin
    -- Their ids begin with the time: an index by the time alone would be written by each decision.
    delete from public.notifications as n where n.id in (
        select o.id from public.notifications as o
        where o.id < private.first_id_at(v_old) and o.created_at < v_old
            -- Nobody who comes back after some months misses what was not read.
            and (o.read_at is not null or o.created_at < v_old - interval '1 year')
        order by o.id
        limit p_limit
    );
    get diagnostics v_all = row_count;
    delete from private.admin_notices as n where n.id in (
        select o.id from private.admin_notices as o where o.created_at < v_old order by o.created_at limit p_limit
    );
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.outbox as o where o.id in (
        select f.id from private.outbox as f where f.failed_at < v_old order by f.failed_at limit p_limit
    );
    get diagnostics v_rows = row_count;
    return v_all + v_rows;
end
$$;
comment on function jobs.purge_messages(integer) is
'Deletes notifications read and more than a year old, unread ones of more than two years, administrators'' notices and e-mail that was given up of more than a year, at most so many of each; returns how many rows. Call again until it is 0.';
grant execute on function jobs.purge_messages(integer) to worker;

-- The schema of the worker's job queue (procrastinate). The worker installs the tables itself, in its own version; a
-- separate schema keeps the rest of the database closed to it.

create schema procrastinate;
comment on schema procrastinate is 'Job queue of functions/worker, installed and owned by role worker.';
grant usage, create on schema procrastinate to worker;

-- What the worker publishes for Prometheus besides its own figures: the state of the business and of what keeps it right,
-- in one row set. Read every quarter of a minute, so it reads counters, stored results and partial indexes, never a whole
-- table. A row that is missing could not be read, or there is nothing to say yet; it is never a zero instead.

create function private.age_seconds(p_at timestamptz) returns double precision
language sql volatile set search_path = '' as $$
    -- Nothing waits: its age is zero. A clock may step back.
    select coalesce(greatest(extract(epoch from pg_catalog.clock_timestamp() - p_at), 0), 0)::double precision
$$;
comment on function private.age_seconds(timestamptz) is 'Seconds since then; zero for null.';

create function private.queue_gauges() returns table (name text, labels jsonb, value double precision)
language plpgsql volatile set search_path = '' as $$
begin
    return query
    select 'queue_depth', pg_catalog.jsonb_build_object('queue', 'mail', 'state', m.state), m.depth::double precision
    from (
        select 'todo' as state, (select count(*) from private.outbox as o where o.sent_at is null and o.failed_at is null) as depth
        union all
        select 'failed', (select count(*) from private.outbox as o where o.failed_at is not null)
    ) as m;
    return query
    select 'harborline_oldest_mail_seconds', '{}'::jsonb, private.age_seconds(min(o.created_at))
    from private.outbox as o where o.sent_at is null and o.failed_at is null;
    -- The worker creates these tables, and grants reading them, when it starts.
    if pg_catalog.has_table_privilege(pg_catalog.to_regclass('procrastinate.procrastinate_jobs'), 'select') is true then
        return query
        select 'queue_depth', pg_catalog.jsonb_build_object('queue', 'jobs', 'state', s.state), count(j.id)::double precision
        from pg_catalog.unnest(array['todo', 'doing', 'failed']) as s (state)
        left join procrastinate.procrastinate_jobs as j on s.state = j.status::text
        group by s.state;
    end if;
end
$$;
comment on function private.queue_gauges() is 'How many emails and jobs wait or were given up, and the age of the oldest email that waits.';

create function private.request_gauges() returns table (name text, labels jsonb, value double precision)
language sql volatile set search_path = '' as $$
    with pending as (
        select 'deposit' as kind, count(*) as requests, min(d.created_at) as oldest from public.deposits as d where d.status = 'pending'
        union all
        select 'withdrawal', count(*), min(w.created_at) from public.withdrawals as w where w.status = 'pending'
    )

    select 'harborline_pending_requests', pg_catalog.jsonb_build_object('kind', p.kind), p.requests::double precision from pending as p
    union all
    select 'harborline_oldest_pending_seconds', pg_catalog.jsonb_build_object('kind', p.kind), private.age_seconds(p.oldest) from pending as p
$$;
comment on function private.request_gauges() is 'How many deposits and withdrawals wait for a decision, and the age of the oldest.';

create function private.ledger_gauges() returns table (name text, labels jsonb, value double precision)
language sql volatile set search_path = '' as $$
    select 'harborline_ledger_violations', pg_catalog.jsonb_build_object('rule', r.rule), coalesce((s.rules ->> r.rule)::double precision, 0)
    from private.ledger_check_state as s
    cross join (
        select t.rule from private.rule_texts() as t
        union
        select k.rule from private.ledger_check_state as l cross join lateral pg_catalog.jsonb_object_keys(l.rules) as k (rule)
    ) as r
    where s.checked_at is not null
    union all
    select 'harborline_ledger_checked_timestamp_seconds', '{}', extract(epoch from s.checked_at)
    from private.ledger_check_state as s where s.checked_at is not null
    union all
    -- Until the first round of a sweep has ended, its beginning: who waits for the end must see time pass.
    select 'harborline_ledger_seen_timestamp_seconds', '{}', extract(epoch from f.seen_since)
    from (
        select coalesce(s.seen_since, (select min(l.seen_at) from private.ledger_slices as l)) as seen_since from private.ledger_check_state as s
    ) as f
    where f.seen_since is not null
    union all
    select 'harborline_repaired_bonuses', '{}', r.repaired from private.reconcile_state as r
    union all
    select 'harborline_coverage_ratio', '{}', (c.figures ->> 'ratio')::double precision / 100
    from (select private.coverage() as figures) as c where c.figures ->> 'ratio' is not null
    union all
    select 'harborline_unlinked_audit_seconds', '{}', private.age_seconds((select min(u.at) from private.unlinked_entries as u))
$$;
comment on function private.ledger_gauges() is
'The last ledger check by rule and when it was, when everything was last looked at and the row that was not for the longest time, bonuses ever repaired, coverage, and the age of the oldest entry of the audit log outside its chain.';

create function private.alarm_gauges() returns table (name text, labels jsonb, value double precision)
language sql volatile set search_path = '' as $$
    select 'harborline_open_alarms', pg_catalog.jsonb_build_object('kind', k.kind), count(a.id)::double precision
    from pg_catalog.unnest(array['ledger_violation', 'repair', 'deposit_address', 'audit_entry', 'disk', 'dead_job', 'failed_mail', 'backup', 'restored']) as k (kind)
    left join private.alarms as a on k.kind = a.kind and a.ended_at is null and a.acknowledged_at is null
    group by k.kind
$$;
comment on function private.alarm_gauges() is 'Open alarms by kind, without those that are acknowledged.';

create function private.backup_gauges() returns table (name text, labels jsonb, value double precision)
language sql volatile set search_path = '' as $$
    select 'harborline_backup_timestamp_seconds', pg_catalog.jsonb_build_object('part', p.part), extract(epoch from p.at)
    from private.backup_state as s
    cross join lateral (values ('database', s.database_at), ('files', s.files_at), ('proof', s.proven_at)) as p (part, at)
    where p.at is not null
    union all
    select 'harborline_wal_archived_timestamp_seconds', '{}', extract(epoch from a.last_archived_time)
    from pg_catalog.pg_stat_archiver as a where a.last_archived_time is not null
$$;
comment on function private.backup_gauges() is
'When the database and the files were last backed up, when a backup was last tried, and when WAL last reached the archive.';

create function jobs.read_gauges() returns table (name text, labels jsonb, value double precision)
language sql volatile security definer set search_path = '' as $$
    select g.* from private.queue_gauges() as g
    union all
    select g.* from private.request_gauges() as g
    union all
    select g.* from private.ledger_gauges() as g
    union all
    select g.* from private.alarm_gauges() as g
    union all
    select g.* from private.backup_gauges() as g
$$;
comment on function jobs.read_gauges() is
'Every figure that the database knows for Prometheus: name, labels, value. What cannot be read has no row.';
grant execute on function jobs.read_gauges() to worker;

-- Leaving: a member downloads everything that is stored about the account, and closes it; an administrator does both
-- for a member who asks. Both need a recent sign-in, so that a session left open is not enough. An account is closed
-- by the auth service, which deletes the user: the trigger on auth.users closes the profile in that transaction. What
-- is here decides whether it may, before.

create function private.money_left(p_user_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object(
            'available', private.money(t.available_balance),
            'requestable', private.money(t.requestable_amount),
            'pending_withdrawals', private.money(t.reserved_amount),
            'pending_deposits', private.money(
                coalesce((select sum(d.amount) from public.deposits as d where d.user_id = p_user_id and d.status = 'pending'), 0)
            )
        )
        from private.totals as t where t.user_id = p_user_id
    );
end
$$;
comment on function private.money_left(uuid) is
'What a member would give up by leaving, as text: the balance, the part of it that can be requested, and pending requests.';

create function private.require_nothing_left(p_user_id uuid, p_confirmed boolean) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_left jsonb := private.money_left(p_user_id);
begin
    if p_confirmed is not true and exists (select from pg_catalog.jsonb_each_text(v_left) as f where f.value <> '0.00') then
        perform private.raise_error(
            409, 'money_left', pg_catalog.format(
                'Closing this account gives up %s that can still be withdrawn, pending withdrawals of %s and pending deposits of %s. Confirm to close it anyway.',
                private.dollars((v_left ->> 'requestable')::numeric),
                private.dollars((v_left ->> 'pending_withdrawals')::numeric),
                private.dollars((v_left ->> 'pending_deposits')::numeric)
            ), v_left::text
        );
    end if;
    return v_left;
end
$$;
comment on function private.require_nothing_left(uuid, boolean) is
'Raises when a member has a balance or pending requests and closing was not confirmed; the details have the figures. Errors: money_left.';

create function edge.start_closing(p_user_id uuid, p_confirmed boolean) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_recent_sign_in('close your account');
    if not exists (select from private.profiles as p where p.user_id = p_user_id) then
        perform private.raise_error(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    perform private.require_nothing_left(p_user_id, p_confirmed);
    return pg_catalog.jsonb_build_object('user_id', p_user_id);
end
$$;
comment on function edge.start_closing(uuid, boolean) is
'Whether a member may close the own account, before the auth service deletes the user. Errors: reauthentication_needed, profile_not_found, money_left.';
grant execute on function edge.start_closing(uuid, boolean) to edge_functions;

create function public.start_member_closing(p_profile_id uuid, p_reason text, p_confirmed boolean) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
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
    perform private.audit(
        'admin:' || v_admin.id, 'member.closing_started', 'profile', p_profile_id,
        pg_catalog.jsonb_build_object('reason', v_reason, 'money_left', v_left)
    );
    return pg_catalog.jsonb_build_object('user_id', v_member.user_id);
end
$$;
comment on function public.start_member_closing(uuid, text, boolean) is
'Super admin: writes an audit row before the auth service deletes a member who asked to leave; already true for a closed one. Errors: forbidden, two_step_required, not_found, reason_required, money_left.';
grant execute on function public.start_member_closing(uuid, text, boolean) to platform_admin;

-- The download. Each start is counted and recorded, and the member is notified of it, before the first row is read.

create function private.note_data_download(p_actor text, p_member private.profiles, p_body text, p_reason text default null) returns jsonb
language plpgsql volatile set search_path = '' as $$
begin
    if not private.consume_rate_limit('data_download', p_actor, case when pg_catalog.starts_with(p_actor, 'admin:') then 50 else 10 end, interval '1 day') then
        perform private.raise_error(429, 'too_many_requests', 'You have downloaded data many times today. Try again tomorrow.');
    end if;
    perform private.notify_member(
        (p_member).user_id, 'data_downloaded', 'Your data was downloaded', p_body || ' If you did not ask for this, change your password and contact support.', null, '/settings'
    );
    perform private.audit(
        p_actor, 'member.data_downloaded', 'profile', (p_member).id, pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('reason', p_reason))
    );
    return pg_catalog.jsonb_build_object('user_id', (p_member).user_id);
end
$$;
comment on function private.note_data_download(text, private.profiles, text, text) is
'Counts and records a download of a member''s data and notifies the member: 10 a day by the member, 50 by an administrator. Errors: too_many_requests.';

create function edge.start_data_download(p_user_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles;
begin
    perform private.require_recent_sign_in('download your data');
    select p.* into v_member from private.profiles as p where p.user_id = p_user_id;
    if v_member.id is null then
        perform private.raise_error(404, 'profile_not_found', 'Failed to load profile data');
    end if;
    return private.note_data_download('member:' || p_user_id, v_member, 'A file with everything that is stored about your account was made for you.');
end
$$;
comment on function edge.start_data_download(uuid) is
'Call before edge.member_data() for a member''s own data. Errors: reauthentication_needed, profile_not_found, too_many_requests.';
grant execute on function edge.start_data_download(uuid) to edge_functions;

create function public.start_member_data_download(p_profile_id uuid, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
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
    return private.note_data_download(
        'admin:' || v_admin.id, v_member, 'An administrator made a file with everything that is stored about your account, at your request.', v_reason
    );
end
$$;
comment on function public.start_member_data_download(uuid, text) is
'Finance and super administrators: allows the file with everything that is stored about a member who asked for it, blocked and closed ones too; the member is notified. admin-download-data makes the file. Errors: forbidden, two_step_required, not_found, reason_required, too_many_requests.';
grant execute on function public.start_member_data_download(uuid, text) to platform_admin;

-- What is stored about a member, list by list: of other people only what the member sees on the screens. Left out are
-- secrets, administrators' notes and names, and copies: e-mails repeat notifications.

create function private.member_account_data(p_user_id uuid) returns table (list text, item jsonb)
language plpgsql stable set search_path = '' as $$
begin
    return query
    select 'profile', pg_catalog.jsonb_build_object(
        'id', p.id, 'user_id', p.user_id, 'username', p.username, 'display_name', p.display_name, 'email', p.email,
        'trc20_wallet_address', p.trc20_wallet_address, 'account_status', p.account_status, 'account_verified', p.account_verified,
        'package_value', private.money(p.package_value), 'cash_in_amount', private.money(p.cash_in_amount),
        'bonus_amount', private.money(t.bonus_amount), 'reentry_amount', private.money(t.reentry_amount),
        'withdrawn_amount', private.money(t.withdrawn_amount), 'reserved_amount', private.money(t.reserved_amount),
        'available_balance', private.money(t.available_balance), 'hold_until', p.hold_until, 'hold_reason', p.hold_reason,
        'sponsor_username', s.username, 'sponsor_display_name', s.display_name, 'sign_up_data', u.raw_user_meta_data,
        'email_confirmed_at', u.email_confirmed_at, 'last_sign_in_at', u.last_sign_in_at, 'created_at', p.created_at, 'closed_at', p.closed_at
    )
    from private.profiles as p
    inner join private.totals as t on p.user_id = t.user_id
    left join private.profiles as s on p.referrer_id = s.id
    left join auth.users as u on p.user_id = u.id
    where p.user_id = p_user_id;
    return query
    select 'direct_referrals', pg_catalog.jsonb_build_object(
        'id', r.id, 'username', r.username, 'display_name', r.display_name, 'package_value', private.money(r.package_value), 'created_at', r.created_at
    )
    from private.profiles as r
    where r.referrer_id = (select p.id from private.profiles as p where p.user_id = p_user_id)
    order by r.created_at, r.id;
    return query
    select 'sessions', pg_catalog.jsonb_build_object(
        'created_at', s.created_at, 'refreshed_at', s.refreshed_at at time zone 'UTC', 'aal', s.aal, 'user_agent', s.user_agent, 'ip', pg_catalog.host(s.ip)
    )
    from auth.sessions as s where s.user_id = p_user_id
    order by s.created_at, s.id;
    return query
    select 'authenticators', pg_catalog.jsonb_build_object('name', f.friendly_name, 'type', f.factor_type, 'status', f.status, 'created_at', f.created_at)
    from auth.mfa_factors as f where f.user_id = p_user_id
    order by f.created_at, f.id;
end
$$;
comment on function private.member_account_data(uuid) is
'A member''s profile, direct referrals, sign-in sessions and authenticators, for the download.';

create function private.member_money_data(p_user_id uuid) returns table (list text, item jsonb)
language plpgsql stable set search_path = '' as $$
begin
    return query
    select 'deposits', pg_catalog.jsonb_build_object(
        'id', d.id, 'amount', private.money(d.amount), 'kind', d.kind, 'reference_number', d.reference_number, 'receipt_name', r.name,
        'status', d.status, 'admin_notes', d.admin_notes, 'created_at', d.created_at, 'decided_at', d.decided_at, 'voided_at', d.voided_at
    )
    from public.deposits as d
    left join private.deposit_receipts as r on d.id = r.deposit_id
    where d.user_id = p_user_id
    order by d.created_at, d.id;
    return query
    select 'withdrawals', pg_catalog.jsonb_build_object(
        'id', w.id, 'amount', private.money(w.amount), 'wallet_address', w.wallet_address, 'status', w.status, 'admin_notes', w.admin_notes,
        'payout_reference', w.payout_reference, 'created_at', w.created_at, 'decided_at', w.decided_at, 'payout_at', w.payout_at, 'voided_at', w.voided_at
    )
    from public.withdrawals as w where w.user_id = p_user_id
    order by w.created_at, w.id;
    return query
    select 'bonuses', pg_catalog.jsonb_build_object(
        'id', b.id, 'bonus_type', b.bonus_type, 'amount', private.money(b.amount), 'rate', private.percent(b.rate), 'volume', private.money(b.volume),
        'reentry_amount', private.money(b.reentry_amount), 'pair_number', b.pair_number, 'source_username', s.username, 'created_at', b.created_at
    )
    from public.bonuses as b
    inner join private.profiles as s on b.source_user_id = s.user_id
    where b.user_id = p_user_id
    order by b.created_at, b.id;
    return query
    select 'transactions', pg_catalog.jsonb_build_object(
        'id', t.id, 'transaction_type', t.transaction_type, 'amount', private.money(t.amount), 'status', t.status, 'reference_id', t.reference_id,
        'created_at', t.created_at
    )
    from public.transactions as t where t.user_id = p_user_id
    order by t.created_at, t.id;
    return query
    select 'receipts', pg_catalog.jsonb_build_object(
        'name', o.name, 'bytes', (o.metadata ->> 'size')::bigint, 'type', o.metadata ->> 'mimetype', 'created_at', o.created_at
    )
    from storage.objects as o
    where o.bucket_id = 'receipts' and o.name >= p_user_id || '/' and o.name < p_user_id || '0'
    order by o.created_at, o.name;
end
$$;
comment on function private.member_money_data(uuid) is
'A member''s requests, bonuses, journal rows and the names of the receipts, for the download.';

create function private.member_activity_data(p_user_id uuid) returns table (list text, item jsonb)
language plpgsql stable set search_path = '' as $$
begin
    return query
    select 'notifications', pg_catalog.jsonb_build_object(
        'id', n.id, 'kind', n.kind, 'title', n.title, 'body', n.body, 'amount', private.money(n.amount), 'link', n.link, 'read_at', n.read_at,
        'created_at', n.created_at
    )
    from public.notifications as n where n.user_id = p_user_id
    order by n.created_at, n.id;
    return query
    select 'subscriptions', pg_catalog.jsonb_build_object(
        'id', s.id, 'bot_name', s.bot_name, 'status', s.status, 'mt5_server', s.mt5_server, 'mt5_login', s.mt5_login,
        'subscribed_at', s.subscribed_at, 'updated_at', s.updated_at
    )
    from public.bot_subscriptions as s where s.user_id = p_user_id
    order by s.subscribed_at, s.id;
    return query
    select 'lessons', pg_catalog.jsonb_build_object('lesson_id', l.lesson_id, 'done_at', l.done_at)
    from public.lesson_progress as l where l.user_id = p_user_id
    order by l.done_at, l.lesson_id;
    return query
    select case when c.wanted then 'mail_opt_ins' else 'mail_opt_outs' end, pg_catalog.jsonb_build_object('topic', c.topic, 'since', c.at)
    from private.mail_choices as c where c.user_id = p_user_id
    order by c.wanted, c.topic;
    return query
    select 'activity', pg_catalog.jsonb_build_object(
        'at', a.at, 'action', a.action, 'object_type', a.object_type, 'object_id', a.object_id, 'details', a.payload
    )
    from private.audit_log as a where a.actor = 'member:' || p_user_id
    order by a.id;
end
$$;
comment on function private.member_activity_data(uuid) is
'A member''s notifications, subscriptions, lessons, mail choices and own entries of the audit log, for the download.';

create function edge.member_data(p_user_id uuid) returns table (list text, item jsonb)
language plpgsql stable security definer set search_path = '' set timezone = 'UTC' as $$
begin
    return query select d.list, d.item from private.member_account_data(p_user_id) as d;
    return query select d.list, d.item from private.member_money_data(p_user_id) as d;
    return query select d.list, d.item from private.member_activity_data(p_user_id) as d;
end
$$;
comment on function edge.member_data(uuid) is
'Everything that is stored about a member, of one moment, one list after the other; oldest rows first, money as text, times ISO 8601 in UTC.';
grant execute on function edge.member_data(uuid) to edge_functions;
