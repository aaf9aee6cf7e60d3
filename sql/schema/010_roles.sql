-- Who exists and what nobody gets by accident. First of all files, because everything created later inherits the
-- revoked defaults. Do not assume that a function is callable because it exists: every function says who may
-- execute it, and every table says which columns may be written.
--
-- Advisory locks have numbers; a number with a second key, in brackets, is another lock than the number alone. All of
-- them end with their transaction.
--   42            private.lock_money(): a decision, a correction, a reconcile, leaving demo mode
--   43            private.lock_audit_log(): the end of the audit chain; last of all locks
--   44            private.reconcile_if_stale(): one comparison of all bonuses for everybody who asks
--   45 (owner)    private.receipts_validate(): how many receipts a member has
--   46            jobs.roll_up_networks(): the kept sums of teams
--   46 (e-mail)   functions/edge: one judgement of an administrator account's sign-in at a time
--   47            private.publish_disclosure(): the income disclosure
--   47 (name)     private.lock_receipt(): naming a receipt, or removing it
--   48 (address)  functions/edge: one judgement of a sign-in from this address at a time

-- The global form: with "in schema public" PostgreSQL would revoke nothing.
alter default privileges revoke execute on functions from public;
-- A hosted project grants its API roles everything new in schema public; here each grant is written down.
alter default privileges in schema public revoke all on tables from anon, authenticated, service_role;
alter default privileges in schema public revoke all on sequences from anon, authenticated, service_role;
alter default privileges in schema public revoke execute on functions from anon, authenticated, service_role;

do $$
begin
    -- Roles belong to the cluster, not to the database: a second database finds them here already.
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

comment on role platform_admin is 'A signed-in administrator, through PostgREST, functions or storage. pre_request.check_request() decides whether the session still counts.';
comment on role edge_functions is 'Login of functions/edge. May become the caller and may call schema edge; owns nothing.';
comment on role worker is 'Login of functions/worker. May call schema jobs; owns nothing.';

grant platform_admin to authenticator;
grant anon to edge_functions;
grant authenticated to edge_functions;
grant platform_admin to edge_functions;
grant platform_admin to supabase_storage_admin;

-- Schemas. private: tables and rules, no API role has USAGE, so nothing there can be named from outside.
-- pre_request: the check before each request. hooks: what the auth service calls. edge, jobs: doors of the two services.
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

-- The ladder of time limits: lock 3 s < statement 8 s <= every door in front of the database.
-- supabase_auth_admin gets no lock limit: confirming an e-mail waits for the sponsor's row instead of losing the profile.
alter role anon set statement_timeout = '8s';
alter role anon set lock_timeout = '3s';
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
