-- Extensions and parameters that only a superuser can give. pg_trgm is trusted: migrations make it themselves.

-- `supabase db lint` steps down to role postgres and needs it in that role's search_path.
create extension if not exists plpgsql_check with schema extensions;

-- Lets a migration say `alter role authenticator set pgrst.db_pre_request`, as hosted projects may.
grant set on parameter "pgrst.db_pre_request" to postgres;
