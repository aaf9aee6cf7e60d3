-- Rights on the tables that the auth and storage services made for themselves; runs after their own migrations.
--
-- The product may reference members' accounts, watch them by triggers, end sign-ins and take back a waiting change of
-- address. Unconfirmed accounts are removed by one of its jobs; it writes nothing else of them.

grant references, trigger on all tables in schema auth to postgres;
grant select on auth.users, auth.sessions, auth.mfa_factors to postgres;
grant delete on auth.sessions, auth.users, auth.one_time_tokens to postgres;
grant select on auth.one_time_tokens to postgres;
grant update (email_change, email_change_token_new, email_change_token_current, email_change_confirm_status) on auth.users to postgres;

-- Row-level security decides; the product's migrations bring the policies.
grant select, insert, update, delete on storage.buckets, storage.objects to anon, authenticated, service_role;
