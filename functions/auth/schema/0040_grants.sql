-- Row-level security without a policy: only the owner (this service) and bypassing roles see rows.
-- `postgres`, the product's owner, gets what a hosted project gives it: it reads everything, may hang triggers
-- and foreign keys on the tables, and ends sign-ins by deleting sessions. No other role gets anything.

do $$
declare
    v_table text;
begin
    foreach v_table in array array[
        'users', 'identities', 'sessions', 'refresh_tokens', 'mfa_factors', 'mfa_challenges', 'mfa_amr_claims',
        'one_time_tokens', 'flow_state', 'audit_log_entries', 'schema_migrations', 'instances', 'sso_providers',
        'sso_domains', 'saml_providers', 'saml_relay_states'
    ] loop
        execute format('alter table auth.%I enable row level security', v_table);
        execute format('grant select on auth.%I to postgres with grant option', v_table);
        execute format('grant references, trigger on auth.%I to postgres', v_table);
    end loop;
end
$$;

grant delete on auth.sessions to postgres;
