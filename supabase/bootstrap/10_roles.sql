-- The roles that a hosted Supabase project has before its first migration.
--
-- Runs as the cluster's superuser; may run again. Passwords are set by the launcher, never here. What belongs to
-- the product (platform_admin, edge_functions, worker) is made by its migrations, which run as `postgres` without
-- superuser rights.

do $$
declare
    v_role text;
begin
    foreach v_role in array array[
        'anon', 'authenticated', 'service_role', 'authenticator',
        'supabase_auth_admin', 'supabase_storage_admin', 'postgres'
    ] loop
        if not exists (select from pg_roles where rolname = v_role) then
            execute format('create role %I', v_role);
            -- Only at first: a migration may have chosen other limits since.
            if v_role = 'anon' then
                alter role anon set statement_timeout = '3s';
            elsif v_role = 'authenticated' then
                alter role authenticated set statement_timeout = '8s';
            elsif v_role = 'authenticator' then
                alter role authenticator set statement_timeout = '8s';
                alter role authenticator set lock_timeout = '8s';
            end if;
        end if;
    end loop;
end
$$;

alter role anon nologin noinherit nosuperuser;
alter role authenticated nologin noinherit nosuperuser;
alter role service_role nologin noinherit nosuperuser bypassrls;
alter role authenticator login noinherit nosuperuser;
alter role supabase_auth_admin login noinherit nosuperuser nocreaterole;
alter role supabase_storage_admin login noinherit nosuperuser;
-- bypassrls: the tables of schema auth have row-level security on, and a delete there would silently do nothing.
alter role postgres login inherit nosuperuser createrole createdb bypassrls;

grant anon, authenticated, service_role to authenticator, supabase_storage_admin;
grant anon, authenticated, service_role, authenticator to postgres with admin option;
-- Policies and triggers on storage.objects are the product's: only a member of the owner may make them.
grant supabase_storage_admin to postgres with admin option;

do $$
begin
    execute format('alter database %I owner to postgres', current_database());
    execute format('grant create on database %I to supabase_auth_admin, supabase_storage_admin', current_database());
end
$$;

alter role supabase_auth_admin set idle_in_transaction_session_timeout = '10s';
alter role supabase_storage_admin set idle_in_transaction_session_timeout = '10s';
alter role supabase_storage_admin set statement_timeout = '8s';
-- None for supabase_auth_admin: a confirmation must wait for the member's row instead of losing the profile.

alter role supabase_auth_admin set search_path = 'auth';
alter role supabase_storage_admin set search_path = 'storage', 'public', 'extensions';
alter role postgres set search_path = "$user", public, extensions;
