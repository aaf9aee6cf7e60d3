-- Rate limits of RPCs and functions. The counters are unlogged: a crash of the database resets them.

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

-- One client holds an IPv4 address, or a whole /64 of IPv6; functions/core/request.py has the same.
create function private.network_of(p_address text) returns text
language plpgsql immutable set search_path = '' as $$
declare
    -- An address of a local network may name its interface.
    v_text constant text := pg_catalog.regexp_replace(p_address, '^([^%]*:[^%]*)%[^%/]+$', '\1');
    v_address inet;
begin
    if v_text not like '%/%' then
        v_address := v_text::inet;
    end if;
    if v_address operator(pg_catalog.<<=) inet '::ffff:0:0/96' then
        return pg_catalog.regexp_replace(pg_catalog.host(v_address), '^.*:', '');
    elsif pg_catalog.family(v_address) = 6 then
        return pg_catalog.network(pg_catalog.set_masklen(v_address, 64))::text;
    elsif pg_catalog.host(v_address) = v_text then
        return v_text;
    end if;
    return 'unknown';
exception when invalid_text_representation then
    return 'unknown';
end
$$;
comment on function private.network_of(text) is
'What one client can hold of addresses, by which all limits count: an IPv4 address, the /64 of an IPv6 address; unknown of anything else.';

create function private.networks_of(p_address text) returns table (network text, allowance integer)
language sql immutable set search_path = '' as $$
    with client as (select private.network_of(p_address) as network)
    select c.network, 1 from client as c
    union all
    select pg_catalog.network(pg_catalog.set_masklen(c.network::inet, 48))::text, 10 from client as c where c.network like '%/64'
$$;
comment on function private.networks_of(text) is
'The networks that a client counts in, its own first, then the /48 of IPv6, which one customer may hold; allowance says how many times a limit each may use.';

create function private.consume_client_limit(p_bucket text, p_max integer, p_window interval) returns boolean
language sql volatile set search_path = '' as $$
    select pg_catalog.bool_and(private.consume_rate_limit(p_bucket, n.network, p_max * n.allowance, p_window))
    from private.networks_of(private.client_address()) as n
$$;
comment on function private.consume_client_limit(text, integer, interval) is
'Counts one hit of the client of this request; false when its network, or the wider one around it, has used up its limit in this window.';

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
