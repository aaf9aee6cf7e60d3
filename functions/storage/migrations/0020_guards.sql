-- 0020_guards: what the tables refuse or keep by themselves.
--
-- A row deleted by hand would leave its bytes behind, so only the service may delete: it says so
-- with a transaction-local setting. The trigger fires for zero rows and for the owner too.
create function storage.update_updated_at_column()
returns trigger language plpgsql set search_path = '' as $$
begin
    new.updated_at = now();
    return new;
end
$$;

create trigger update_objects_updated_at before update on storage.objects
for each row execute function storage.update_updated_at_column();

create function storage.enforce_bucket_name_length()
returns trigger language plpgsql set search_path = '' as $$
begin
    if length(new.name) > 100 then
        raise exception 'bucket name "%" is too long (% characters). Max is 100.', new.name, length(new.name);
    end if;
    return new;
end
$$;

create trigger enforce_bucket_name_length_trigger before insert or update of name on storage.buckets
for each row execute function storage.enforce_bucket_name_length();

create function storage.protect_delete()
returns trigger language plpgsql set search_path = '' as $$
begin
    if coalesce(current_setting('storage.allow_delete_query', true), '') <> 'true' then
        raise exception 'Direct deletion from storage tables is not allowed. Use the Storage API instead.'
            using errcode = '42501', hint = 'The bytes of the objects would stay behind.';
    end if;
    return null;
end
$$;

create trigger protect_buckets_delete before delete on storage.buckets
for each statement execute function storage.protect_delete();

create trigger protect_objects_delete before delete on storage.objects
for each statement execute function storage.protect_delete();
