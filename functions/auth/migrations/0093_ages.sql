-- By these the hourly purge finds what is old enough (a real GoTrue ignores them): used refresh tokens, of which a session
-- leaves one an hour, and the audit log, in which each of these has two rows.

create index if not exists refresh_tokens_used_idx on auth.refresh_tokens (updated_at) where revoked;
create index if not exists audit_log_entries_created_at_idx on auth.audit_log_entries (created_at);
