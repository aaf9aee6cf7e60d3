-- Who signs in and how: users, identities, sessions, refresh tokens, factors, one-time secrets.
-- GoTrue's shape column for column, so a data-only dump loads into a real one. Nullable columns that
-- GoTrue scans into text must hold '' and never null: the service writes them all.

create table auth.users (
    instance_id uuid,
    id uuid not null,
    aud varchar(255),
    role varchar(255),
    email varchar(255),
    encrypted_password varchar(255),
    email_confirmed_at timestamptz,
    invited_at timestamptz,
    confirmation_token varchar(255),
    confirmation_sent_at timestamptz,
    recovery_token varchar(255),
    recovery_sent_at timestamptz,
    email_change_token_new varchar(255),
    email_change varchar(255),
    email_change_sent_at timestamptz,
    last_sign_in_at timestamptz,
    raw_app_meta_data jsonb,
    raw_user_meta_data jsonb,
    is_super_admin boolean,
    created_at timestamptz,
    updated_at timestamptz,
    phone text default null,
    phone_confirmed_at timestamptz,
    phone_change text default '',
    phone_change_token varchar(255) default '',
    phone_change_sent_at timestamptz,
    confirmed_at timestamptz generated always as (least(email_confirmed_at, phone_confirmed_at)) stored,
    email_change_token_current varchar(255) default '',
    email_change_confirm_status smallint default 0,
    banned_until timestamptz,
    reauthentication_token varchar(255) default '',
    reauthentication_sent_at timestamptz,
    is_sso_user boolean default false not null,
    deleted_at timestamptz,
    is_anonymous boolean default false not null,
    constraint users_email_change_confirm_status_check check (((email_change_confirm_status >= 0) and (email_change_confirm_status <= 2))),
    constraint users_phone_key unique (phone),
    constraint users_pkey primary key (id)
);
create unique index confirmation_token_idx on auth.users (confirmation_token) where ((confirmation_token)::text !~ '^[0-9 ]*$');
create unique index email_change_token_current_idx on auth.users (email_change_token_current) where ((email_change_token_current)::text !~ '^[0-9 ]*$');
create unique index email_change_token_new_idx on auth.users (email_change_token_new) where ((email_change_token_new)::text !~ '^[0-9 ]*$');
create unique index reauthentication_token_idx on auth.users (reauthentication_token) where ((reauthentication_token)::text !~ '^[0-9 ]*$');
create unique index recovery_token_idx on auth.users (recovery_token) where ((recovery_token)::text !~ '^[0-9 ]*$');
create unique index users_email_partial_key on auth.users (email) where (is_sso_user = false);
create index users_instance_id_email_idx on auth.users (instance_id, lower((email)::text));
create index users_instance_id_idx on auth.users (instance_id);
create index users_is_anonymous_idx on auth.users (is_anonymous);

create table auth.identities (
    provider_id text not null,
    user_id uuid not null,
    identity_data jsonb not null,
    provider text not null,
    last_sign_in_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    email text generated always as (lower((identity_data ->> 'email'))) stored,
    id uuid default gen_random_uuid() not null,
    constraint identities_pkey primary key (id),
    constraint identities_provider_id_provider_unique unique (provider_id, provider),
    constraint identities_user_id_fkey foreign key (user_id) references auth.users(id) on delete cascade
);
create index identities_email_idx on auth.identities (email text_pattern_ops);
create index identities_user_id_idx on auth.identities (user_id);

create table auth.sessions (
    id uuid not null,
    user_id uuid not null,
    created_at timestamptz,
    updated_at timestamptz,
    factor_id uuid,
    aal auth.aal_level,
    not_after timestamptz,
    refreshed_at timestamp without time zone,
    user_agent text,
    ip inet,
    tag text,
    oauth_client_id uuid,
    refresh_token_hmac_key text,
    refresh_token_counter bigint,
    scopes text,
    constraint sessions_scopes_length check ((char_length(scopes) <= 4096)),
    constraint sessions_pkey primary key (id),
    constraint sessions_user_id_fkey foreign key (user_id) references auth.users(id) on delete cascade
);
create index sessions_not_after_idx on auth.sessions (not_after desc);
create index sessions_oauth_client_id_idx on auth.sessions (oauth_client_id);
create index sessions_user_id_idx on auth.sessions (user_id);
create index user_id_created_at_idx on auth.sessions (user_id, created_at);

create table auth.refresh_tokens (
    instance_id uuid,
    id bigserial not null,
    token varchar(255),
    user_id varchar(255),
    revoked boolean,
    created_at timestamptz,
    updated_at timestamptz,
    parent varchar(255),
    session_id uuid,
    constraint refresh_tokens_pkey primary key (id),
    constraint refresh_tokens_token_unique unique (token),
    constraint refresh_tokens_session_id_fkey foreign key (session_id) references auth.sessions(id) on delete cascade
);
create index refresh_tokens_instance_id_idx on auth.refresh_tokens (instance_id);
create index refresh_tokens_instance_id_user_id_idx on auth.refresh_tokens (instance_id, user_id);
create index refresh_tokens_parent_idx on auth.refresh_tokens (parent);
create index refresh_tokens_session_id_revoked_idx on auth.refresh_tokens (session_id, revoked);
create index refresh_tokens_updated_at_idx on auth.refresh_tokens (updated_at desc);

create table auth.mfa_factors (
    id uuid not null,
    user_id uuid not null,
    friendly_name text,
    factor_type auth.factor_type not null,
    status auth.factor_status not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    secret text,
    phone text,
    last_challenged_at timestamptz,
    web_authn_credential jsonb,
    web_authn_aaguid uuid,
    last_webauthn_challenge_data jsonb,
    constraint mfa_factors_last_challenged_at_key unique (last_challenged_at),
    constraint mfa_factors_pkey primary key (id),
    constraint mfa_factors_user_id_fkey foreign key (user_id) references auth.users(id) on delete cascade
);
create index factor_id_created_at_idx on auth.mfa_factors (user_id, created_at);
create unique index mfa_factors_user_friendly_name_unique on auth.mfa_factors (friendly_name, user_id) where (trim(both from friendly_name) <> '');
create index mfa_factors_user_id_idx on auth.mfa_factors (user_id);
create unique index unique_phone_factor_per_user on auth.mfa_factors (user_id, phone);

create table auth.mfa_challenges (
    id uuid not null,
    factor_id uuid not null,
    created_at timestamptz not null,
    verified_at timestamptz,
    ip_address inet not null,
    otp_code text,
    web_authn_session_data jsonb,
    constraint mfa_challenges_pkey primary key (id),
    constraint mfa_challenges_auth_factor_id_fkey foreign key (factor_id) references auth.mfa_factors(id) on delete cascade
);
create index mfa_challenge_created_at_idx on auth.mfa_challenges (created_at desc);

create table auth.mfa_amr_claims (
    session_id uuid not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    authentication_method text not null,
    id uuid not null,
    constraint amr_id_pk primary key (id),
    constraint mfa_amr_claims_session_id_authentication_method_pkey unique (session_id, authentication_method),
    constraint mfa_amr_claims_session_id_fkey foreign key (session_id) references auth.sessions(id) on delete cascade
);

create table auth.one_time_tokens (
    id uuid not null,
    user_id uuid not null,
    token_type auth.one_time_token_type not null,
    token_hash text not null,
    relates_to text not null,
    created_at timestamp without time zone default now() not null,
    updated_at timestamp without time zone default now() not null,
    constraint one_time_tokens_token_hash_check check ((char_length(token_hash) > 0)),
    constraint one_time_tokens_pkey primary key (id),
    constraint one_time_tokens_user_id_fkey foreign key (user_id) references auth.users(id) on delete cascade
);
create index one_time_tokens_relates_to_hash_idx on auth.one_time_tokens using hash (relates_to);
create index one_time_tokens_token_hash_hash_idx on auth.one_time_tokens using hash (token_hash);
create unique index one_time_tokens_user_id_token_type_key on auth.one_time_tokens (user_id, token_type);

create table auth.flow_state (
    id uuid not null,
    user_id uuid,
    auth_code text,
    code_challenge_method auth.code_challenge_method,
    code_challenge text,
    provider_type text not null,
    provider_access_token text,
    provider_refresh_token text,
    created_at timestamptz,
    updated_at timestamptz,
    authentication_method text not null,
    auth_code_issued_at timestamptz,
    invite_token text,
    referrer text,
    oauth_client_state_id uuid,
    linking_target_id uuid,
    email_optional boolean default false not null,
    constraint flow_state_pkey primary key (id)
);
create index flow_state_created_at_idx on auth.flow_state (created_at desc);
create index idx_auth_code on auth.flow_state (auth_code);
create index idx_user_id_auth_method on auth.flow_state (user_id, authentication_method);

create table auth.audit_log_entries (
    instance_id uuid,
    id uuid not null,
    payload json,
    created_at timestamptz,
    ip_address varchar(64) default '' not null,
    constraint audit_log_entries_pkey primary key (id)
);
create index audit_logs_instance_id_idx on auth.audit_log_entries (instance_id);

create table auth.schema_migrations (
    version varchar(14) not null,
    constraint schema_migrations_pkey primary key (version)
);
