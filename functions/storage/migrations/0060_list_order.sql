-- 0060_list_order: the order of the original. By name a folder stands where the names in it do, behind the slash; by a time
-- folders come first and by name, and a page by cursor counts a folder as old as the oldest file in it.
create or replace function storage.search(
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
        select e.*,
            case v_by when 'updated_at' then e.updated_at when 'created_at' then e.created_at
                when 'last_accessed_at' then e.last_accessed_at end as moment,
            case when v_by <> 'name' then e.entry when e.folder then lower(e.entry) || '/' else lower(e.entry)
                end as place
        from entries as e
    )
    select p.entry, p.id, p.updated_at, p.created_at, p.last_accessed_at, p.metadata
    from placed as p
    order by
        case when v_by <> 'name' then p.folder end desc nulls last,
        case when not v_down then p.moment end asc,
        case when v_down then p.moment end desc,
        case when not v_down then p.place end collate "C" asc,
        case when v_down then p.place end collate "C" desc,
        p.entry collate "C"
    limit limits offset offsets;
end
$$;

create or replace function storage.search_v2(
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
    -- Cursors of the original have milliseconds.
    v_after timestamptz := coalesce(date_trunc('milliseconds', nullif(sort_column_after, '')::timestamptz), 'epoch');
begin
    return query
    with found as (
        select o.*, strpos(substr(o.name, length(prefix) + 1), '/') as slash
        from storage.objects as o
        where o.bucket_id = bucket_name and o.name collate "C" >= prefix and starts_with(o.name, prefix)
    ),
    entries as (
        select left(f.name, length(prefix) + f.slash) as entry, null::uuid as id,
            case when v_by <> 'name' then min(f.created_at) end as updated_at,
            case when v_by <> 'name' then min(f.created_at) end as created_at,
            null::timestamptz as last_accessed_at, null::jsonb as metadata
        from found as f where f.slash > 0 group by entry
        union all
        select f.name, f.id, f.updated_at, f.created_at, f.last_accessed_at, f.metadata
        from found as f where f.slash = 0
    ),
    placed as (
        select e.*, coalesce(date_trunc('milliseconds', case v_by when 'updated_at' then e.updated_at
            when 'created_at' then e.created_at end), 'epoch') as moment
        from entries as e
    )
    select regexp_replace(rtrim(p.entry, '/'), '^.*/', ''), p.entry, p.id, p.updated_at, p.created_at,
        p.last_accessed_at, p.metadata
    from placed as p
    where coalesce(start_after, '') = ''
        or (not v_down and (p.moment > v_after or (p.moment = v_after and p.entry collate "C" > start_after)))
        or (v_down and (p.moment < v_after or (p.moment = v_after and p.entry collate "C" < start_after)))
    order by
        case when not v_down then p.moment end asc,
        case when v_down then p.moment end desc,
        case when not v_down then p.entry end collate "C" asc,
        case when v_down then p.entry end collate "C" desc
    limit limits;
end
$$;
