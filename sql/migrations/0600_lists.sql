-- What the administrators' lists have in common: reading the filters, finding members by text, and turning a
-- page number into ids. A page near the end is read from the other end, so the last page costs what the first
-- one does. A search is bounded: it collects at most 10,000 matches; when there are more, matches are so frequent
-- that walking the sort order finds a page at once.

create extension if not exists pg_trgm with schema extensions;

create function private.searchable(p_username text, p_display_name text, p_email text) returns text
language sql immutable parallel safe as $$
    select lower(p_username || ' ' || p_display_name || ' ' || coalesce(p_email, ''))
$$;
comment on function private.searchable(text, text, text) is 'The text of a member that a search looks in. No search_path of its own, so that an index may hold it inlined.';

create index profiles_search_idx on private.profiles
using gin (private.searchable(username, display_name, email) extensions.gin_trgm_ops);
create index deposits_reference_search_idx on public.deposits using gin (lower(reference_number) extensions.gin_trgm_ops);
create index withdrawals_wallet_search_idx on public.withdrawals using gin (lower(wallet_address) extensions.gin_trgm_ops);
-- Lists sorted by amount.
create index deposits_amount_idx on public.deposits (amount, id);
create index withdrawals_amount_idx on public.withdrawals (amount, id);

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

create function private.read_filters(p_filters jsonb, p_sortable text[]) returns private.list_request
language plpgsql immutable set search_path = '' as $$
declare
    v_filters jsonb := coalesce(nullif(p_filters, 'null'), '{}');
    v_request private.list_request;
    v_sort text[];
begin
    if pg_catalog.jsonb_typeof(v_filters) <> 'object' then
        perform private.refuse(400, 'invalid_filter', 'Filters are an object.');
    end if;
    v_request.everything := v_filters = '{}';
    if coalesce(v_filters ->> 'page', '1') !~ '\A[0-9]{1,7}\Z' or coalesce(v_filters ->> 'pageSize', '25') !~ '\A[0-9]{1,3}\Z' then
        perform private.refuse(400, 'invalid_filter', 'Page and page size are whole numbers.');
    end if;
    v_request.page := greatest(coalesce((v_filters ->> 'page')::integer, 1), 1);
    v_request.page_size := least(greatest(coalesce((v_filters ->> 'pageSize')::integer, 25), 1), 500);
    if pg_catalog.length(v_filters ->> 'search') > 200 then
        perform private.refuse(400, 'invalid_filter', 'A search has at most 200 characters.');
    end if;
    v_request.pattern := '%' || pg_catalog.regexp_replace(
        pg_catalog.lower(nullif(pg_catalog.btrim(v_filters ->> 'search'), '')), '([\\%_])', '\\\1', 'g'
    ) || '%';
    v_request.status := nullif(nullif(v_filters ->> 'status', ''), 'all');
    v_request.kind := nullif(nullif(v_filters ->> 'type', ''), 'all');
    v_sort := pg_catalog.string_to_array(coalesce(nullif(v_filters ->> 'sort', ''), p_sortable[1] || '.desc'), '.');
    if pg_catalog.cardinality(v_sort) <> 2 or v_sort[1] <> all(p_sortable) or v_sort[2] not in ('asc', 'desc') then
        perform private.refuse(400, 'invalid_filter', 'This list cannot be sorted that way.');
    end if;
    v_request.sort_by := v_sort[1];
    v_request.descending := v_sort[2] = 'desc';
    return v_request;
end
$$;
comment on function private.read_filters(jsonb, text[]) is
'Filters of a list by the names of the wire: page, pageSize (at most 500), search, status, type, sort ("created_at.desc"; the first sortable column is the default, newest first). An empty object asks for everything. Errors: invalid_filter.';

create function private.page_of(
    p_from text, p_order text, p_reversed text, p_request private.list_request, p_total bigint
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
    if v_offset <= p_total / 2 then
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
comment on function private.page_of(text, text, text, private.list_request, bigint) is
'Ids of one page, in order. p_from is a from clause over r written in these migrations (never input), with values quoted; $1 is the search pattern.';

create function private.found_page(
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
        ids := private.page_of(p_walk, p_order, p_reversed, p_request, total);
        return;
    end if;
    execute pg_catalog.format(
        'select array(select r.id from %s as r where r.id = any($1) order by %s offset $2 limit $3)', p_table, p_order
    ) into ids using v_found, ((p_request).page - 1)::bigint * (p_request).page_size, (p_request).page_size;
end
$$;
comment on function private.found_page(text, text, text, text, text, private.list_request) is
'One page of what a search finds, with the exact total, or 10,000 and more. p_from collects the matches, p_walk tests row by row in the order of the list; both are written in these migrations (never input).';
