-- Pages of lists. Members' lists go on from a cursor, newest first; the admin panel's have numbered pages, filters and a
-- search. A list names the columns that it sorts by: nothing of a request reaches SQL but values.

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

create function private.require_known_filters(p_filters jsonb, p_known text[]) returns void
language plpgsql immutable set search_path = '' as $$
declare
    v_unknown text;
begin
    if pg_catalog.jsonb_typeof(p_filters) <> 'object' then
        perform private.raise_error(400, 'invalid_filter', 'Filters are an object.');
    end if;
    select f.name into v_unknown from pg_catalog.jsonb_object_keys(p_filters) as f (name) where f.name <> all(p_known) limit 1;
    if v_unknown is not null then
        perform private.raise_error(400, 'unknown_field', pg_catalog.format('This list has no filter named %s.', pg_catalog.left(v_unknown, 60)));
    end if;
end
$$;
comment on function private.require_known_filters(jsonb, text[]) is
'Raises where an object of filters has another one: what is misspelt would narrow nothing. Errors: invalid_filter, unknown_field.';

create function private.parse_filters(p_filters jsonb, p_sortable text[], p_more text[] default '{}') returns private.list_request
language plpgsql immutable set search_path = '' as $$
declare
    v_filters jsonb := coalesce(nullif(p_filters, 'null'), '{}');
    v_request private.list_request;
    v_sort text[];
begin
    perform private.require_known_filters(v_filters, array['page', 'pageSize', 'search', 'status', 'sort'] || p_more);
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
comment on function private.parse_filters(jsonb, text[], text[]) is
'Parses a list''s filters: page, pageSize (at most 500), search, status, sort ("created_at.desc"; default: the first sortable column, newest first), and those that p_more names (type is parsed too). An empty object asks for all rows. Errors: invalid_filter, unknown_field.';

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
