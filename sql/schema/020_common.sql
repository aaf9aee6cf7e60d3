-- Shared by every later file: the money type, the statuses, raising errors, locks, formatting of money and time.
-- Raise errors for clients only through private.raise_error(): PostgREST retries SQLSTATE 40001 for ever,
-- PTnnn puts text into a header, and a bare exception has no code to branch on.
-- Small functions that are called often are plpgsql, or SQL without a search_path: SQL with a fixed search_path is
-- parsed and planned at every call. In a list of members that was more than half of the time, once per row; on the
-- admin panel, once per figure.
-- Money and the order of decisions: specification S1, decision D12, D14 and D15.

create domain public.usd as numeric
constraint amount_has_at_most_two_decimals check (
    value is null or (value > '-Infinity'::numeric and value < 'Infinity'::numeric and scale(value) <= 2)
);
comment on domain public.usd is
'US dollars, exact. NaN sorts above Infinity, so the comparison rejects it; scale() reads the unrounded value.';

-- plpgsql without a search_path: the constraints of each statement ask for it, and so it costs least. Members and trusted programs
-- insert requests themselves.
create function private.largest_amount() returns numeric
language plpgsql immutable as $$
begin
    return 10000000;
end
$$;
comment on function private.largest_amount() is
'The largest amount of a request, a bonus, a journal row or a package, in US dollars. Sums of these may be larger.';
grant execute on function private.largest_amount() to authenticated, service_role;

create type public.account_status as enum ('active', 'pending', 'suspended', 'disabled');
create type public.request_status as enum ('pending', 'approved', 'rejected');
create type public.bonus_type as enum ('referral', 'pairing', 'override');
create type public.transaction_type as enum ('deposit', 'withdrawal', 'bonus');
create type public.transaction_status as enum ('completed', 'pending', 'failed');
create type public.subscription_status as enum ('active', 'suspended', 'cancelled');
create type public.admin_role as enum ('super_admin', 'finance_admin', 'support_admin');

-- Errors, and the money lock.

create function private.raise_error(p_status integer, p_code text, p_message text, p_details text, p_headers json) returns void
language plpgsql volatile set search_path = '' as $$
begin
    raise sqlstate 'PGRST' using
        message = pg_catalog.json_build_object('code', p_code, 'message', p_message, 'details', p_details, 'hint', null)::text,
        detail = pg_catalog.json_build_object('status', p_status, 'headers', p_headers)::text;
end
$$;
comment on function private.raise_error(integer, text, text, text, json) is
'Aborts the transaction as the shorter one does, with headers of the response.';

create function private.raise_error(p_status integer, p_code text, p_message text, p_details text default null) returns void
language plpgsql volatile set search_path = '' as $$
begin
    -- By this header the gateway tells it from PostgREST's own, which names the database's address.
    perform private.raise_error(p_status, p_code, p_message, p_details, case p_status when 503 then '{"Retry-After": "1"}' else '{}' end::json);
end
$$;
comment on function private.raise_error(integer, text, text, text) is
'Aborts the transaction with an HTTP status, a stable code and a message for people. sql/README.md lists the codes.';

-- No API role can set app.repair.
create function private.is_restoring_rows() returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return coalesce(pg_catalog.current_setting('app.repair', true), '') = 'rows';
end
$$;
comment on function private.is_restoring_rows() is
'True while a correction of two people makes rows again what their sources say, so that they may be changed.';

create function private.reject_change() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if tg_op = 'DELETE' and private.is_restoring_rows() and not pg_catalog.starts_with(tg_table_name, 'audit_') then
        return null;
    end if;
    perform private.raise_error(403, 'append_only', pg_catalog.format('Rows of %s are kept as they are.', tg_table_name));
    return null;
end
$$;
comment on function private.reject_change() is
'Trigger: raises append_only, so that rows are never deleted, truncated or changed; only a correction of rows takes out what the product never wrote, and nothing of the audit log.';

-- The advisory locks, in the order in which they are taken; each ends with its transaction. Those with a second key
-- are one lock for each value of it. Row locks stand between: members by id after the money lock. The linker of the audit
-- log takes its own and no other.
create function private.lock_key(p_name text) returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    case p_name
        -- With a person and a number: one of the person's places at PostgREST, before anything else.
        when 'place' then return 53;
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
        -- A long ledger check runs once at a time; another one takes the last result.
        when 'ledger_check' then return 52;
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

-- The order of decisions: a number taken under the money lock, because a clock can step back. Bonuses, journal rows
-- and fundings carry the number of the decision that caused them. It is a row, because a row moves with the data: a
-- sequence that stayed behind would give numbers of earlier decisions.
create table private.last_decision (
    only_row boolean primary key default true check (only_row),
    no bigint not null default 0 check (no >= 0)
) with (fillfactor = 10);
comment on table private.last_decision is
'Number of the last decision by an administrator, confirmed correction or repair, in the order in which they held the money lock.';
alter table private.last_decision enable row level security;
create function private.last_decision_rises() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    if new.no <= old.no then
        perform private.raise_error(403, 'append_only', 'Decisions are numbered upwards.');
    end if;
    return new;
end
$$;
comment on function private.last_decision_rises() is 'Trigger: no number is given twice. Errors: append_only.';
create trigger _100_rises before update on private.last_decision for each row execute function private.last_decision_rises();
create trigger _100_reject_change before delete or truncate on private.last_decision for each statement execute function private.reject_change();

insert into private.last_decision default values;

create function private.next_decision_no() returns bigint
language plpgsql volatile set search_path = '' as $$
declare
    v_no bigint;
begin
    update private.last_decision as l set no = l.no + 1 returning l.no into strict v_no;
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
    return (select l.no from private.last_decision as l);
end
$$;
comment on function private.last_decision_no() is
'The last decision that the statement which calls this sees; 0 before the first. It sees all decisions up to this number and none after it: a number is taken under the money lock, which is held until the commit.';

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
    select (
        -- The version stands between the milliseconds and their 4,096th parts.
        pg_catalog.overlay(
            pg_catalog.lpad(pg_catalog.to_hex((extract(epoch from pg_catalog.clock_timestamp()) * 4096000)::bigint), 15, '0'), '7', 13, 0
        )
        || pg_catalog.right(pg_catalog.gen_random_uuid()::text, 17)
    )::uuid
$$;
comment on function private.time_ordered_id() is
'A new id that begins with the milliseconds since 1970 and their 4,096th parts, UUID version 7: rows of one transaction have the order in which they were written.';
-- Members insert requests themselves, and the id is a default.
grant execute on function private.time_ordered_id() to authenticated, service_role;

create function private.first_id_at(p_at timestamptz) returns uuid
language sql immutable set search_path = '' as $$
    select pg_catalog.rpad(
        pg_catalog.encode(pg_catalog.substr(pg_catalog.int8send(pg_catalog.trunc(extract(epoch from p_at) * 1000)::bigint), 3), 'hex'), 32, '0'
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

create function private.is_over(p_until timestamptz, p_longest interval) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
begin
    return p_until <= v_now or p_until > v_now + p_longest;
end
$$;
comment on function private.is_over(timestamptz, interval) is
'Whether a wait that is never longer than the interval is over; also when its end is farther away, because the clock was set back.';

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

-- The audit log says of everybody who decides, and of everything that decides where money goes, what it is
-- (060_audit_log.sql). Its row counts its changes, whoever makes them, so that a change without an entry shows even after it was taken back.
create function private.count_revision() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    -- Above what the audit log says too: a count that somebody set back does not stay behind for ever.
    new.revision := 1 + greatest(old.revision, (private.last_state(old.id) ->> 'revision')::bigint);
    return new;
end
$$;
comment on function private.count_revision() is 'Trigger: counts a change of what the audit log must say of a member or an administrator.';

-- Without a search_path these two are inlined: a check of the ledger asks for them of every member.
create function private.digest_text(p_text text) returns text
language sql immutable as $$
    select pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(p_text, 'UTF8')), 'hex')
$$;
comment on function private.digest_text(text) is 'SHA-256 of a text, in hexadecimal digits; null of null.';

create function private.utc_text(p_time timestamptz) returns text
language sql stable as $$
    select pg_catalog.to_char(p_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;
comment on function private.utc_text(timestamptz) is 'A time in UTC with its microseconds, the same in every session; null of null.';
