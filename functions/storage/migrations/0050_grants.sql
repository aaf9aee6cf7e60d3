-- 0050_grants: the API roles may try everything; policies alone decide. The owner of the product
-- (role postgres, where there is one) writes those policies and may pass the rights on.
do $$
declare
    v_role text;
begin
    foreach v_role in array array['anon', 'authenticated', 'service_role'] loop
        execute format('grant usage on schema storage to %I', v_role);
        execute format('grant all on storage.buckets, storage.objects to %I', v_role);
    end loop;
    if exists (select from pg_catalog.pg_roles where rolname = 'postgres') then
        grant usage on schema storage to postgres with grant option;
        grant all on storage.buckets, storage.objects to postgres with grant option;
    end if;
end
$$;

grant execute on function
    storage.foldername(text), storage.filename(text), storage.extension(text), storage.operation(),
    storage.allow_any_operation(text[]), storage.allow_only_operation(text),
    storage.search(text, text, integer, integer, integer, text, text, text),
    storage.list_objects_with_delimiter(text, text, text, integer, text, text, text),
    storage.search_v2(text, text, integer, integer, text, text, text, text)
    to public;
