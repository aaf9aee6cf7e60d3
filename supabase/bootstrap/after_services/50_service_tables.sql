-- Rights on the tables that the auth and storage services made for themselves; runs after their own migrations.
--
-- The product may reference members' accounts, watch them by triggers, and end sign-ins. Unconfirmed accounts are removed by one of its jobs; it may not write them.

grant references, trigger on all tables in schema auth to postgres;
grant select on auth.users, auth.sessions, auth.mfa_factors to postgres;
grant delete on auth.sessions, auth.users to postgres;

-- Row-level security decides; the product's migrations bring the policies.
grant select, insert, update, delete on storage.buckets, storage.objects to anon, authenticated, service_role;
