-- 0010_tables: buckets and objects, column for column as stock policies and migrations know them.
--
-- No policy is shipped: row-level security is on, so nothing but the service role reads or writes
-- until a policy says otherwise. The bytes of an object lie in the object store under its version.
create type storage.buckettype as enum ('STANDARD', 'ANALYTICS', 'VECTOR');

create table storage.buckets (
    id text primary key,
    name text not null,
    owner uuid,
    created_at timestamptz default now(),
    updated_at timestamptz default now(),
    public boolean default false,
    avif_autodetection boolean default false,
    file_size_limit bigint,
    allowed_mime_types text[],
    owner_id text,
    type storage.buckettype not null default 'STANDARD',
    versioning_status text not null default 'DISABLED'
);

create unique index bname on storage.buckets (name);

create table storage.objects (
    id uuid primary key default gen_random_uuid(),
    bucket_id text references storage.buckets (id),
    name text,
    owner uuid,
    created_at timestamptz default now(),
    updated_at timestamptz default now(),
    last_accessed_at timestamptz default now(),
    metadata jsonb,
    path_tokens text[] generated always as (string_to_array(name, '/')) stored,
    version text,
    owner_id text,
    user_metadata jsonb,
    archived_at timestamptz,
    is_delete_marker boolean not null default false,
    is_versioned boolean not null default false
);

create unique index bucketid_objname on storage.objects (bucket_id, name);
create index idx_objects_bucket_id_name on storage.objects (bucket_id, name collate "C");
create index idx_objects_bucket_id_name_lower on storage.objects (bucket_id, lower(name) collate "C");
create index name_prefix_search on storage.objects (name text_pattern_ops);
-- The sweeper asks which versions still have a row.
create index idx_objects_version on storage.objects (version);

alter table storage.buckets enable row level security;
alter table storage.objects enable row level security;

comment on table storage.buckets is 'Where objects lie: visibility, size limit in bytes, allowed content types.';
comment on table storage.objects is 'One row per stored object; policies on it decide who may do what.';
comment on column storage.objects.version is 'The name of the bytes in the object store; a new one with every upload.';
comment on column storage.buckets.owner is 'Deprecated: owner_id, when that is a uuid.';
comment on column storage.objects.owner is 'Deprecated: owner_id, when that is a uuid.';
