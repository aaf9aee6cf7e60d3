-- 0040_search: the listings. They run with the caller's rights, so policies decide what is seen.
--
-- A name below the prefix is cut at its next slash: what has one is a folder, shown once and with
-- null columns. `levels` is part of the signature that stock callers use; the prefix says it already.
create function storage.search(
    prefix text, bucketname text, limits integer default 100, levels integer default 1, offsets integer default 0,
    search text default '', sortcolumn text default 'name', sortorder text default 'asc'
)
returns table (
    name text, id uuid, updated_at timestamptz, created_at timestamptz, last_accessed_at timestamptz, metadata jsonb
)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
    v_start text := lower(prefix || search);
    v_down boolean := lower(sortorder) = 'desc';
    v_by text := lower(sortcolumn);
    -- A search may itself hold folders: they stay in the names that come back.
    v_kept integer := length(prefix || regexp_replace(search, '[^/]*$', ''));
begin
    return query
    with found as (
        select o.*, substr(o.name, length(prefix) + 1) as below, strpos(substr(o.name, v_kept + 1), '/') as slash
        from storage.objects as o
        where o.bucket_id = bucketname
            and lower(o.name) collate "C" >= v_start
            and starts_with(lower(o.name), v_start)
            and length(o.name) > v_kept
    ),
    entries as (
        select distinct left(f.below, v_kept - length(prefix) + f.slash - 1) as entry, true as folder, null::uuid as id,
            null::timestamptz as updated_at, null::timestamptz as created_at, null::timestamptz as last_accessed_at,
            null::jsonb as metadata
        from found as f where f.slash > 0
        union all
        select f.below, false, f.id, f.updated_at, f.created_at, f.last_accessed_at, f.metadata
        from found as f where f.slash = 0
    ),
    placed as (
        select e.*, case v_by when 'updated_at' then e.updated_at when 'created_at' then e.created_at
            when 'last_accessed_at' then e.last_accessed_at end as moment
        from entries as e
    )
    select p.entry, p.id, p.updated_at, p.created_at, p.last_accessed_at, p.metadata
    from placed as p
    order by
        case when v_by <> 'name' then p.folder end desc nulls last,
        case when not v_down then p.moment end asc,
        case when v_down then p.moment end desc,
        case when not v_down or (v_by <> 'name' and p.folder) then lower(p.entry) end collate "C" asc,
        case when v_down and (v_by = 'name' or not p.folder) then lower(p.entry) end collate "C" desc,
        p.entry collate "C"
    limit limits offset offsets;
end
$$;

create function storage.list_objects_with_delimiter(
    _bucket_id text, prefix_param text, delimiter_param text, max_keys integer default 100,
    start_after text default '', next_token text default '', sort_order text default 'asc'
)
returns table (
    name text, id uuid, metadata jsonb, updated_at timestamptz, created_at timestamptz, last_accessed_at timestamptz
)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
    v_down boolean := lower(sort_order) = 'desc';
    v_after text := coalesce(nullif(next_token, ''), start_after, '') collate "C";
begin
    return query
    with found as (
        select o.*, strpos(substr(o.name, length(prefix_param) + 1), delimiter_param) as cut
        from storage.objects as o
        where o.bucket_id = _bucket_id and o.name collate "C" >= prefix_param and starts_with(o.name, prefix_param)
    ),
    entries as (
        select distinct left(f.name, length(prefix_param) + f.cut + length(delimiter_param) - 1) as entry,
            null::uuid as id, null::jsonb as metadata, null::timestamptz as updated_at,
            null::timestamptz as created_at, null::timestamptz as last_accessed_at
        from found as f where f.cut > 0
        union all
        select f.name, f.id, f.metadata, f.updated_at, f.created_at, f.last_accessed_at from found as f where f.cut = 0
    )
    select e.entry, e.id, e.metadata, e.updated_at, e.created_at, e.last_accessed_at
    from entries as e
    where v_after = '' or (not v_down and e.entry collate "C" > v_after) or (v_down and e.entry collate "C" < v_after)
    order by case when not v_down then e.entry end collate "C" asc, case when v_down then e.entry end collate "C" desc
    limit max_keys;
end
$$;

create function storage.search_v2(
    prefix text, bucket_name text, limits integer default 100, levels integer default 1, start_after text default '',
    sort_order text default 'asc', sort_column text default 'name', sort_column_after text default ''
)
returns table (
    key text, name text, id uuid, updated_at timestamptz, created_at timestamptz, last_accessed_at timestamptz,
    metadata jsonb
)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
    v_down boolean := lower(sort_order) = 'desc';
    v_by text := lower(sort_column);
    -- Folders have no time: they count as older than everything.
    v_after timestamptz := coalesce(nullif(sort_column_after, '')::timestamptz, '-infinity');
begin
    return query
    with entries as (
        select l.*, case v_by when 'updated_at' then coalesce(l.updated_at, '-infinity')
            when 'created_at' then coalesce(l.created_at, '-infinity') else '-infinity' end as moment
        from storage.list_objects_with_delimiter(bucket_name, prefix, '/', null) as l
    )
    select regexp_replace(rtrim(e.name, '/'), '^.*/', ''), e.name, e.id, e.updated_at, e.created_at,
        e.last_accessed_at, e.metadata
    from entries as e
    where coalesce(start_after, '') = ''
        or (not v_down and (e.moment > v_after or (e.moment = v_after and e.name collate "C" > start_after)))
        or (v_down and (e.moment < v_after or (e.moment = v_after and e.name collate "C" < start_after)))
    order by
        case when not v_down then e.moment end asc,
        case when v_down then e.moment end desc,
        case when not v_down then e.name end collate "C" asc,
        case when v_down then e.name end collate "C" desc
    limit limits;
end
$$;

comment on function storage.search is 'One folder, names in any letter case, by offset. No right: no rows.';
comment on function storage.list_objects_with_delimiter is 'Names and folders below a prefix, bytewise, after a name.';
comment on function storage.search_v2 is 'One folder, names exactly, by cursor. No right: no rows.';
