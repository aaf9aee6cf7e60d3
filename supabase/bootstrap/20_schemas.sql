-- The schemas auth, storage and extensions with the rights that a hosted Supabase project gives.

create schema if not exists extensions authorization postgres;
create schema if not exists auth authorization supabase_auth_admin;
create schema if not exists storage authorization supabase_storage_admin;
-- Whoever made them before.
alter schema extensions owner to postgres;
alter schema auth owner to supabase_auth_admin;
alter schema storage owner to supabase_storage_admin;

grant usage on schema extensions to anon, authenticated, service_role, supabase_auth_admin, supabase_storage_admin;
grant usage on schema auth to anon, authenticated, service_role, postgres, supabase_storage_admin;
grant usage on schema storage to anon, authenticated, service_role;
-- Members of the owner can make policies and triggers there; the tables themselves stay the service's.
grant all on schema storage to postgres;

alter schema public owner to postgres;
revoke create on schema public from public;
grant usage on schema public to anon, authenticated, service_role;
