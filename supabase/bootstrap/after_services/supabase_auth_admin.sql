-- What the product may do with the tables of the auth service: reference members' accounts, watch them by triggers, end
-- sign-ins and take back a waiting change of address. Unconfirmed accounts are removed by one of its jobs; it writes
-- nothing else of them. Runs as their owner, after the service's own migrations.

grant references, trigger on all tables in schema auth to postgres;
grant select on auth.users, auth.sessions, auth.mfa_factors, auth.mfa_amr_claims to postgres;
grant delete on auth.sessions, auth.users, auth.one_time_tokens to postgres;
grant select on auth.one_time_tokens to postgres;
grant update (email_change, email_change_token_new, email_change_token_current, email_change_confirm_status) on auth.users to postgres;
