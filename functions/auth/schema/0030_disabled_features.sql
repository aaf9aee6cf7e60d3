-- Tables of features that this service does not have (SSO, OAuth server, passkeys). They stay empty: they are here
-- so that a real GoTrue, started on this database, finds its schema complete and migrates nothing.

create table auth.instances (
    id uuid not null,
    uuid uuid,
    raw_base_config text,
    created_at timestamptz,
    updated_at timestamptz,
    constraint instances_pkey primary key (id)
);

create table auth.sso_providers (
    id uuid not null,
    resource_id text,
    created_at timestamptz,
    updated_at timestamptz,
    disabled boolean,
    constraint "resource_id not empty" check (((resource_id = null::text) or (char_length(resource_id) > 0))),
    constraint sso_providers_pkey primary key (id)
);
create unique index sso_providers_resource_id_idx on auth.sso_providers (lower(resource_id));
create index sso_providers_resource_id_pattern_idx on auth.sso_providers (resource_id text_pattern_ops);

create table auth.sso_domains (
    id uuid not null,
    sso_provider_id uuid not null,
    domain text not null,
    created_at timestamptz,
    updated_at timestamptz,
    constraint "domain not empty" check ((char_length(domain) > 0)),
    constraint sso_domains_pkey primary key (id),
    constraint sso_domains_sso_provider_id_fkey foreign key (sso_provider_id) references auth.sso_providers(id) on delete cascade
);
create unique index sso_domains_domain_idx on auth.sso_domains (lower(domain));
create index sso_domains_sso_provider_id_idx on auth.sso_domains (sso_provider_id);

create table auth.saml_providers (
    id uuid not null,
    sso_provider_id uuid not null,
    entity_id text not null,
    metadata_xml text not null,
    metadata_url text,
    attribute_mapping jsonb,
    created_at timestamptz,
    updated_at timestamptz,
    name_id_format text,
    constraint "entity_id not empty" check ((char_length(entity_id) > 0)),
    constraint "metadata_url not empty" check (((metadata_url = null::text) or (char_length(metadata_url) > 0))),
    constraint "metadata_xml not empty" check ((char_length(metadata_xml) > 0)),
    constraint saml_providers_entity_id_key unique (entity_id),
    constraint saml_providers_pkey primary key (id),
    constraint saml_providers_sso_provider_id_fkey foreign key (sso_provider_id) references auth.sso_providers(id) on delete cascade
);
create index saml_providers_sso_provider_id_idx on auth.saml_providers (sso_provider_id);

create table auth.saml_relay_states (
    id uuid not null,
    sso_provider_id uuid not null,
    request_id text not null,
    for_email text,
    redirect_to text,
    created_at timestamptz,
    updated_at timestamptz,
    flow_state_id uuid,
    constraint "request_id not empty" check ((char_length(request_id) > 0)),
    constraint saml_relay_states_pkey primary key (id),
    constraint saml_relay_states_flow_state_id_fkey foreign key (flow_state_id) references auth.flow_state(id) on delete cascade,
    constraint saml_relay_states_sso_provider_id_fkey foreign key (sso_provider_id) references auth.sso_providers(id) on delete cascade
);
create index saml_relay_states_created_at_idx on auth.saml_relay_states (created_at desc);
create index saml_relay_states_for_email_idx on auth.saml_relay_states (for_email);
create index saml_relay_states_sso_provider_id_idx on auth.saml_relay_states (sso_provider_id);

create table auth.oauth_clients (
    id uuid not null,
    client_secret_hash text,
    registration_type auth.oauth_registration_type not null,
    redirect_uris text not null,
    grant_types text not null,
    client_name text,
    client_uri text,
    logo_uri text,
    created_at timestamptz default now() not null,
    updated_at timestamptz default now() not null,
    deleted_at timestamptz,
    client_type auth.oauth_client_type default 'confidential'::auth.oauth_client_type not null,
    token_endpoint_auth_method text not null,
    constraint oauth_clients_client_name_length check ((char_length(client_name) <= 1024)),
    constraint oauth_clients_client_uri_length check ((char_length(client_uri) <= 2048)),
    constraint oauth_clients_logo_uri_length check ((char_length(logo_uri) <= 2048)),
    constraint oauth_clients_token_endpoint_auth_method_check check ((token_endpoint_auth_method = any (array['client_secret_basic', 'client_secret_post', 'none']))),
    constraint oauth_clients_pkey primary key (id)
);
create index oauth_clients_deleted_at_idx on auth.oauth_clients (deleted_at);

create table auth.oauth_authorizations (
    id uuid not null,
    authorization_id text not null,
    client_id uuid not null,
    user_id uuid,
    redirect_uri text not null,
    scope text not null,
    state text,
    resource text,
    code_challenge text,
    code_challenge_method auth.code_challenge_method,
    response_type auth.oauth_response_type default 'code'::auth.oauth_response_type not null,
    status auth.oauth_authorization_status default 'pending'::auth.oauth_authorization_status not null,
    authorization_code text,
    created_at timestamptz default now() not null,
    expires_at timestamptz default (now() + '00:03:00'::interval) not null,
    approved_at timestamptz,
    nonce text,
    constraint oauth_authorizations_authorization_code_length check ((char_length(authorization_code) <= 255)),
    constraint oauth_authorizations_code_challenge_length check ((char_length(code_challenge) <= 128)),
    constraint oauth_authorizations_expires_at_future check ((expires_at > created_at)),
    constraint oauth_authorizations_nonce_length check ((char_length(nonce) <= 255)),
    constraint oauth_authorizations_redirect_uri_length check ((char_length(redirect_uri) <= 2048)),
    constraint oauth_authorizations_resource_length check ((char_length(resource) <= 2048)),
    constraint oauth_authorizations_scope_length check ((char_length(scope) <= 4096)),
    constraint oauth_authorizations_state_length check ((char_length(state) <= 4096)),
    constraint oauth_authorizations_authorization_code_key unique (authorization_code),
    constraint oauth_authorizations_authorization_id_key unique (authorization_id),
    constraint oauth_authorizations_pkey primary key (id),
    constraint oauth_authorizations_client_id_fkey foreign key (client_id) references auth.oauth_clients(id) on delete cascade,
    constraint oauth_authorizations_user_id_fkey foreign key (user_id) references auth.users(id) on delete cascade
);
create index oauth_auth_pending_exp_idx on auth.oauth_authorizations (expires_at) where (status = 'pending'::auth.oauth_authorization_status);

create table auth.oauth_client_states (
    id uuid not null,
    provider_type text not null,
    code_verifier text,
    created_at timestamptz not null,
    constraint oauth_client_states_pkey primary key (id)
);
create index idx_oauth_client_states_created_at on auth.oauth_client_states (created_at);

create table auth.oauth_consents (
    id uuid not null,
    user_id uuid not null,
    client_id uuid not null,
    scopes text not null,
    granted_at timestamptz default now() not null,
    revoked_at timestamptz,
    constraint oauth_consents_revoked_after_granted check (((revoked_at is null) or (revoked_at >= granted_at))),
    constraint oauth_consents_scopes_length check ((char_length(scopes) <= 2048)),
    constraint oauth_consents_scopes_not_empty check ((char_length(TRIM(BOTH FROM scopes)) > 0)),
    constraint oauth_consents_pkey primary key (id),
    constraint oauth_consents_user_client_unique unique (user_id, client_id),
    constraint oauth_consents_client_id_fkey foreign key (client_id) references auth.oauth_clients(id) on delete cascade,
    constraint oauth_consents_user_id_fkey foreign key (user_id) references auth.users(id) on delete cascade
);
create index oauth_consents_active_client_idx on auth.oauth_consents (client_id) where (revoked_at is null);
create index oauth_consents_active_user_client_idx on auth.oauth_consents (user_id, client_id) where (revoked_at is null);
create index oauth_consents_user_order_idx on auth.oauth_consents (user_id, granted_at desc);

create table auth.custom_oauth_providers (
    id uuid default gen_random_uuid() not null,
    provider_type text not null,
    identifier text not null,
    name text not null,
    client_id text not null,
    client_secret text not null,
    acceptable_client_ids text[] default '{}' not null,
    scopes text[] default '{}' not null,
    pkce_enabled boolean default true not null,
    attribute_mapping jsonb default '{}' not null,
    authorization_params jsonb default '{}' not null,
    enabled boolean default true not null,
    email_optional boolean default false not null,
    issuer text,
    discovery_url text,
    skip_nonce_check boolean default false not null,
    cached_discovery jsonb,
    discovery_cached_at timestamptz,
    authorization_url text,
    token_url text,
    userinfo_url text,
    jwks_uri text,
    created_at timestamptz default now() not null,
    updated_at timestamptz default now() not null,
    custom_claims_allowlist text[] default '{}' not null,
    constraint custom_oauth_providers_authorization_url_https check (((authorization_url is null) or (authorization_url ~~ 'https://%'))),
    constraint custom_oauth_providers_authorization_url_length check (((authorization_url is null) or (char_length(authorization_url) <= 2048))),
    constraint custom_oauth_providers_client_id_length check (((char_length(client_id) >= 1) and (char_length(client_id) <= 512))),
    constraint custom_oauth_providers_discovery_url_length check (((discovery_url is null) or (char_length(discovery_url) <= 2048))),
    constraint custom_oauth_providers_identifier_format check ((identifier ~ '^[a-z0-9][a-z0-9:-]{0,48}[a-z0-9]$')),
    constraint custom_oauth_providers_issuer_length check (((issuer is null) or ((char_length(issuer) >= 1) and (char_length(issuer) <= 2048)))),
    constraint custom_oauth_providers_jwks_uri_https check (((jwks_uri is null) or (jwks_uri ~~ 'https://%'))),
    constraint custom_oauth_providers_jwks_uri_length check (((jwks_uri is null) or (char_length(jwks_uri) <= 2048))),
    constraint custom_oauth_providers_name_length check (((char_length(name) >= 1) and (char_length(name) <= 100))),
    constraint custom_oauth_providers_oauth2_requires_endpoints check (((provider_type <> 'oauth2') or ((authorization_url is not null) and (token_url is not null) and (userinfo_url is not null)))),
    constraint custom_oauth_providers_oidc_discovery_url_https check (((provider_type <> 'oidc') or (discovery_url is null) or (discovery_url ~~ 'https://%'))),
    constraint custom_oauth_providers_oidc_issuer_https check (((provider_type <> 'oidc') or (issuer is null) or (issuer ~~ 'https://%'))),
    constraint custom_oauth_providers_oidc_requires_issuer check (((provider_type <> 'oidc') or (issuer is not null))),
    constraint custom_oauth_providers_provider_type_check check ((provider_type = any (array['oauth2', 'oidc']))),
    constraint custom_oauth_providers_token_url_https check (((token_url is null) or (token_url ~~ 'https://%'))),
    constraint custom_oauth_providers_token_url_length check (((token_url is null) or (char_length(token_url) <= 2048))),
    constraint custom_oauth_providers_userinfo_url_https check (((userinfo_url is null) or (userinfo_url ~~ 'https://%'))),
    constraint custom_oauth_providers_userinfo_url_length check (((userinfo_url is null) or (char_length(userinfo_url) <= 2048))),
    constraint custom_oauth_providers_identifier_key unique (identifier),
    constraint custom_oauth_providers_pkey primary key (id)
);
create index custom_oauth_providers_created_at_idx on auth.custom_oauth_providers (created_at);
create index custom_oauth_providers_enabled_idx on auth.custom_oauth_providers (enabled);
create index custom_oauth_providers_identifier_idx on auth.custom_oauth_providers (identifier);
create index custom_oauth_providers_provider_type_idx on auth.custom_oauth_providers (provider_type);

create table auth.webauthn_credentials (
    id uuid default gen_random_uuid() not null,
    user_id uuid not null,
    credential_id bytea not null,
    public_key bytea not null,
    attestation_type text default '' not null,
    aaguid uuid,
    sign_count bigint default 0 not null,
    transports jsonb default '[]' not null,
    backup_eligible boolean default false not null,
    backed_up boolean default false not null,
    friendly_name text default '' not null,
    created_at timestamptz default now() not null,
    updated_at timestamptz default now() not null,
    last_used_at timestamptz,
    constraint webauthn_credentials_pkey primary key (id),
    constraint webauthn_credentials_user_id_fkey foreign key (user_id) references auth.users(id) on delete cascade
);
create unique index webauthn_credentials_credential_id_key on auth.webauthn_credentials (credential_id);
create index webauthn_credentials_user_id_idx on auth.webauthn_credentials (user_id);

create table auth.webauthn_challenges (
    id uuid default gen_random_uuid() not null,
    user_id uuid,
    challenge_type text not null,
    session_data jsonb not null,
    created_at timestamptz default now() not null,
    expires_at timestamptz not null,
    constraint webauthn_challenges_challenge_type_check check ((challenge_type = any (array['signup', 'registration', 'authentication']))),
    constraint webauthn_challenges_pkey primary key (id),
    constraint webauthn_challenges_user_id_fkey foreign key (user_id) references auth.users(id) on delete cascade
);
create index webauthn_challenges_expires_at_idx on auth.webauthn_challenges (expires_at);
create index webauthn_challenges_user_id_idx on auth.webauthn_challenges (user_id);

alter table auth.sessions add constraint sessions_oauth_client_id_fkey foreign key (oauth_client_id) references auth.oauth_clients(id) on delete cascade;
