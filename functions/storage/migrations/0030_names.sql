-- 0030_names: the parts of an object's name, and the operation under way, for policies.
--
-- Immutable and not strict: names are split at every slash, so empty parts count.
create function storage.foldername(name text)
returns text[] language sql immutable set search_path = '' as $$
    select case when name is null or name = '' then null
        else (string_to_array(name, '/'))[:cardinality(string_to_array(name, '/')) - 1] end
$$;

create function storage.filename(name text)
returns text language sql immutable set search_path = '' as $$
    select (string_to_array(name, '/'))[cardinality(string_to_array(name, '/'))]
$$;

create function storage.extension(name text)
returns text language sql immutable set search_path = '' as $$
    select reverse(split_part(reverse(storage.filename(name)), '.', 1))
$$;

create function storage.operation()
returns text language sql stable set search_path = '' as $$
    select current_setting('storage.operation', true)
$$;

create function storage.allow_any_operation(expected_operations text[])
returns boolean language sql stable set search_path = '' as $$
    select coalesce(regexp_replace(storage.operation(), '^storage\.', '') = any (
        select regexp_replace(expected, '^storage\.', '') from unnest(expected_operations) as expected
    ), false)
$$;

create function storage.allow_only_operation(expected_operation text)
returns boolean language sql stable set search_path = '' as $$
    select storage.allow_any_operation(array[expected_operation])
$$;

comment on function storage.foldername is 'a/b/c.txt -> {a,b}; c.txt -> {}; empty or null -> null.';
comment on function storage.filename is 'a/b/c.txt -> c.txt; a/ -> empty.';
comment on function storage.extension is 'a/b/c.txt -> txt; noext -> noext; a/b. -> empty.';
comment on function storage.operation is 'The operation of this request, for example storage.object.upload.';
comment on function storage.allow_any_operation is 'Is this request one of these operations? The prefix storage. is optional.';
comment on function storage.allow_only_operation is 'Is this request this operation? The prefix storage. is optional.';
