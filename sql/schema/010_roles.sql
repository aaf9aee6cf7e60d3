-- Create the roles and revoke every default privilege. This is the first file, because everything created later
-- inherits the revoked defaults. A function is not callable because it exists: each states who may execute it, and
-- each table which columns may be written.

-- Revoke globally: with "in schema public" PostgreSQL revokes nothing.
alter default privileges revoke execute on functions from public;
-- Hosted Supabase grants its API roles every new object in schema public. Here each grant is explicit.
alter default privileges in schema public revoke all on tables from anon, authenticated, service_role;
alter default privileges in schema public revoke all on sequences from anon, authenticated, service_role;
alter default privileges in schema public revoke execute on functions from anon, authenticated, service_role;

do $$
begin
    -- Roles belong to the cluster: a second database in it finds them already created.
    if not exists (select 1 from pg_catalog.pg_roles where rolname = 'platform_admin') then
        create role platform_admin nologin noinherit;
    end if;
    if not exists (select 1 from pg_catalog.pg_roles where rolname = 'edge_functions') then
        create role edge_functions login noinherit;
    end if;
    if not exists (select 1 from pg_catalog.pg_roles where rolname = 'worker') then
        create role worker login noinherit;
    end if;
end
$$;

comment on role platform_admin is
'Role of a signed-in administrator, through PostgREST or functions. pre_request.check_request() checks that the session is still valid, and so does every function of administrators.';
comment on role edge_functions is 'Login role of functions/edge. May switch to the caller''s role and call schema edge; owns nothing.';
comment on role worker is 'Login role of functions/worker. May call schema jobs; owns nothing.';

-- No other role may become an administrator: storage serves receipts to them by signed URLs, which functions/edge asks for.
grant platform_admin to authenticator;
grant anon to edge_functions;
grant authenticated to edge_functions;
grant platform_admin to edge_functions;

-- Schemas. private: tables and rules; no API role has USAGE, so nothing in it can be called from outside.
-- pre_request: the check before each request. hooks: called by the auth service. edge, jobs: the functions of the two
-- services.
create schema private;
create schema pre_request;
create schema hooks;
create schema edge;
create schema jobs;
comment on schema private is 'Tables and rules. No API role has USAGE.';
comment on schema pre_request is 'The check before each request of an API role.';
comment on schema hooks is 'Called by the auth service.';
comment on schema edge is 'Callable by role edge_functions only.';
comment on schema jobs is 'Callable by role worker only.';

grant usage on schema pre_request to anon, authenticated, platform_admin, service_role;
grant usage on schema hooks to supabase_auth_admin;
grant usage on schema edge to edge_functions;
grant usage on schema jobs to worker;
grant usage on schema public to anon, authenticated, platform_admin, service_role;

-- Timeouts must nest: lock 3 s < statement 8 s <= every client's timeout. supabase_auth_admin has no lock timeout:
-- confirming an e-mail address waits for the referrer's row instead of losing the profile. What anyone may call takes
-- milliseconds.
alter role anon set statement_timeout = '1s';
alter role anon set lock_timeout = '500ms';
alter role authenticated set statement_timeout = '8s';
alter role authenticated set lock_timeout = '3s';
alter role platform_admin set statement_timeout = '8s';
alter role platform_admin set lock_timeout = '3s';
alter role service_role set statement_timeout = '8s';
alter role service_role set lock_timeout = '3s';
alter role authenticator set idle_in_transaction_session_timeout = '10s';
alter role edge_functions set statement_timeout = '8s';
alter role edge_functions set lock_timeout = '3s';
alter role edge_functions set idle_in_transaction_session_timeout = '10s';
alter role worker set statement_timeout = '120s';
alter role worker set lock_timeout = '10s';
alter role worker set idle_in_transaction_session_timeout = '30s';
