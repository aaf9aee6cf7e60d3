-- Words that every later file uses: the money type, the statuses, how a refusal is raised, the locks and how
-- money is written. Do not raise anything but private.refuse() at people: SQLSTATE 40001 would be run again
-- for ever by PostgREST, PTnnn would put text into a header, and a bare exception has no code to branch on.

create domain public.usd as numeric
constraint amount_has_at_most_two_decimals check (
    value is null or (value > '-Infinity'::numeric and value < 'Infinity'::numeric and scale(value) <= 2)
);
comment on domain public.usd is 'US dollars, exact. NaN sorts above Infinity, so the comparison refuses it; the scale is that of the raw value.';

create type public.account_status as enum ('active', 'pending', 'suspended', 'disabled');
create type public.request_status as enum ('pending', 'approved', 'rejected');
create type public.bonus_type as enum ('referral', 'pairing', 'override');
create type public.transaction_type as enum ('deposit', 'withdrawal', 'bonus');
create type public.transaction_status as enum ('completed', 'pending', 'failed');
create type public.subscription_status as enum ('active', 'suspended', 'cancelled');
create type public.admin_role as enum ('super_admin', 'finance_admin', 'support_admin');

create function private.refuse(p_status integer, p_code text, p_message text, p_details text default null) returns void
language plpgsql volatile set search_path = '' as $$
begin
    raise sqlstate 'PGRST' using
        message = pg_catalog.json_build_object('code', p_code, 'message', p_message, 'details', p_details, 'hint', null)::text,
        detail = pg_catalog.json_build_object('status', p_status, 'headers', '{}'::pg_catalog.json)::text;
end
$$;
comment on function private.refuse(integer, text, text, text) is
'Ends the transaction with an HTTP status, a stable code and the sentence a person reads. The codes are listed in sql/README.md.';

-- plpgsql, not sql: a screen calls these thirty times a request, and only plpgsql keeps the plan between requests.
create function private.money(p_amount numeric) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return pg_catalog.to_char(p_amount, 'FM9999999999999990.00');
end
$$;
comment on function private.money(numeric) is 'Dollars as JSON carries them: text with two decimals, "1234.50".';

create function private.dollars(p_amount numeric) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return case when p_amount < 0 then '-' else '' end || '$' || pg_catalog.to_char(pg_catalog.abs(p_amount), 'FM9,999,999,999,990.00');
end
$$;
comment on function private.dollars(numeric) is 'Dollars as a sentence carries them: "$1,234.50".';

create function private.money_lock() returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(42);
exception when lock_not_available then
    perform private.refuse(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.money_lock() is
'One decision, correction or reconcile at a time. Taken before any member row and never by a request, a cancel or a sign-up. Errors: try_again.';

create function private.audit_lock() returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(43);
exception when lock_not_available then
    perform private.refuse(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.audit_lock() is 'Taken last of all locks: who holds it takes no other. Errors: try_again.';

create function private.refuse_change() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    perform private.refuse(403, 'append_only', pg_catalog.format('Rows of %s are kept as they are.', tg_table_name));
    return null;
end
$$;
comment on function private.refuse_change() is 'Trigger for what may never be deleted, truncated or altered.';

-- Small functions that are called often are plpgsql: a sql function with a fixed search_path is planned at every call.
create function private.my_role() returns text
language plpgsql stable set search_path = '' as $$
begin
    return (select pg_catalog.current_setting('role', true));
end
$$;
comment on function private.my_role() is 'API role of the request, also inside definer functions. Tests and jobs have none.';

create function private.my_address() returns text
language sql stable set search_path = '' as $$
    select coalesce(nullif(pg_catalog.current_setting('request.headers', true), '')::pg_catalog.jsonb ->> 'x-real-ip', 'unknown')
$$;
comment on function private.my_address() is 'Address of the visitor, from the header that the gateway overwrites.';

create function private.ago(p_at timestamptz, p_now timestamptz) returns text
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
comment on function private.ago(timestamptz, timestamptz) is 'How long ago, as a sentence says it: "2 minutes ago".';
