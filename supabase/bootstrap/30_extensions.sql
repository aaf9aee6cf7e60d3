-- Extensions and parameters that only a superuser can give. pg_trgm is trusted: migrations make it themselves.

-- For `make check` alone, so a server without it will do: the official image of PostgreSQL has only contrib.
-- `supabase db lint` steps down to role postgres and needs it in that role's search_path.
do $$
begin
    if exists (select from pg_available_extensions where name = 'plpgsql_check') then
        create extension if not exists plpgsql_check with schema extensions;
    end if;
end
$$;

-- Lets a migration say `alter role authenticator set pgrst.db_pre_request`, as hosted projects may.
grant set on parameter "pgrst.db_pre_request" to postgres;
