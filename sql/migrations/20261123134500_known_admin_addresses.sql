-- An address that signed in to an administrator's account before has a count of failures of its own, and beyond the
-- count of all others the second factor lets the owner in: nobody can keep an administrator out from elsewhere.

SET local check_function_bodies = off;

ALTER TABLE "private"."sign_in_failures"
  -- squawk-ignore ban-drop-constraint
  DROP CONSTRAINT "sign_in_failures_kind_check";

-- squawk-ignore ban-drop-function
DROP FUNCTION "edge"."admin_sign_in_allowed"(text, text);

CREATE TABLE "private"."known_admin_addresses" (
  "admin_id"     uuid                     NOT NULL,
  "address_hash" text                     NOT NULL,
  "seen_at"      timestamp with time zone NOT NULL,
  CONSTRAINT "known_admin_addresses_pkey" PRIMARY KEY (admin_id, address_hash)
);

ALTER TABLE "private"."known_admin_addresses"
  ENABLE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION edge.admin_sign_in_way (
  p_email   text,
  p_address text
)
  RETURNS text
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_account text := pg_catalog.left(pg_catalog.lower(p_email), 255);
    v_known text := private.known_admin_address(p_email, p_address);
begin
    if v_known is not null then
        return case when private.count_sign_in_failures('admin_known', v_known) < 10 then 'password' else 'closed' end;
    elsif private.count_sign_in_failures('admin_address', private.network_of(p_address)) >= 20 then
        return 'closed';
    elsif private.count_sign_in_failures('admin_account', v_account) < 10 then
        return 'password';
    elsif private.count_sign_in_failures('admin_code', v_account) < 10 then
        return 'second_factor';
    end if;
    return 'closed';
end
$function$;

CREATE OR REPLACE FUNCTION edge.record_admin_sign_in (
  p_email   text,
  p_address text,
  p_ok      boolean
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_account text := pg_catalog.left(pg_catalog.lower(p_email), 255);
    v_known text := private.known_admin_address(p_email, p_address);
    v_admin_id uuid;
begin
    if not p_ok then
        insert into private.sign_in_failures (kind, key, at)
        select f.kind, f.key, pg_catalog.clock_timestamp()
        from (
            values
            ('admin_address', private.network_of(p_address)),
            (case when v_known is null then 'admin_account' else 'admin_known' end, coalesce(v_known, v_account))
        ) as f (kind, key)
        -- A full count ends 15 minutes after what filled it, whatever else is tried.
        where f.kind = 'admin_address' or private.count_sign_in_failures(f.kind, f.key) < 10;
        return;
    end if;
    delete from private.sign_in_failures as f
    where (v_known is null and f.kind in ('admin_account', 'admin_code') and f.key = v_account) or (f.kind = 'admin_known' and f.key = v_known);
    update private.admin_users as a set last_login = pg_catalog.clock_timestamp()
    where a.email = pg_catalog.lower(p_email) returning a.id into v_admin_id;
    perform private.audit('admin:' || v_admin_id, 'admin.signed_in', 'admin_user', v_admin_id, pg_catalog.jsonb_build_object('address', p_address));
end
$function$;

CREATE OR REPLACE FUNCTION edge.record_wrong_admin_code (
  p_email   text,
  p_address text
)
  RETURNS void
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    insert into private.sign_in_failures (kind, key, at) values
    ('admin_code', pg_catalog.left(pg_catalog.lower(p_email), 255), pg_catalog.clock_timestamp()),
    ('admin_address', private.network_of(p_address), pg_catalog.clock_timestamp())
$function$;

CREATE OR REPLACE FUNCTION edge.start_admin_session (
  p_admin_id   uuid,
  p_address    text,
  p_user_agent text,
  p_jti_hash   bytea
)
  RETURNS TABLE (
    session_token uuid,
    expires_at    timestamp with time zone
  )
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_session public.admin_sessions;
begin
    if not exists (select 1 from private.admin_users as a where a.id = p_admin_id and a.is_active) then
        perform private.raise_error(401, 'invalid_credentials', 'Authentication failed');
    end if;
    insert into public.admin_sessions (admin_id, expires_at)
    values (p_admin_id, pg_catalog.clock_timestamp() + interval '8 hours')
    returning * into v_session;
    insert into private.admin_session_activity (session_token, started_at, last_seen_at, address, user_agent, jti_hash)
    values (
        v_session.session_token, pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp(), p_address,
        pg_catalog.left(p_user_agent, 400), p_jti_hash
    );
    if p_address is not null then
        insert into private.known_admin_addresses (admin_id, address_hash, seen_at)
        values (p_admin_id, private.admin_address_hash(p_admin_id, p_address), pg_catalog.clock_timestamp())
        on conflict (admin_id, address_hash) do update set seen_at = excluded.seen_at;
    end if;
    return query select v_session.session_token, v_session.expires_at;
end
$function$;

CREATE OR REPLACE FUNCTION jobs.purge()
  RETURNS integer
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    v_rows integer;
    v_all integer;
begin
    delete from private.rate_limits as r where r.window_start < v_now - interval '1 day';
    get diagnostics v_all = row_count;
    delete from private.sign_in_failures as f where f.at < v_now - interval '1 day';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.known_admin_addresses as k where k.seen_at < v_now - interval '90 days';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.outbox as o where o.sent_at < v_now - interval '30 days';
    get diagnostics v_rows = row_count;
    return v_all + v_rows;
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_address_hash (
  p_admin_id uuid,
  p_address  text
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(p_admin_id || ' ' || private.network_of(p_address), 'utf8')), 'hex')
$function$;

CREATE OR REPLACE FUNCTION private.count_sign_in_failures (
  p_kind text,
  p_key  text
)
  RETURNS bigint
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select count(*) from private.sign_in_failures as f
    where f.kind = p_kind and f.key = p_key and f.at > pg_catalog.clock_timestamp() - interval '15 minutes'
$function$;

CREATE OR REPLACE FUNCTION private.known_admin_address (
  p_email   text,
  p_address text
)
  RETURNS text
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select k.address_hash
    from private.admin_users as a
    inner join private.known_admin_addresses as k on k.admin_id = a.id
    where a.email = pg_catalog.lower(p_email) and k.address_hash = private.admin_address_hash(a.id, p_address)
        and k.seen_at > pg_catalog.clock_timestamp() - interval '90 days'
$function$;

CREATE OR REPLACE FUNCTION private.network_of (
  p_address text
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select case
        when p_address not like '%:%' or p_address::inet operator(pg_catalog.<<=) inet '::ffff:0:0/96' then pg_catalog.left(p_address, 255)
        else pg_catalog.network(pg_catalog.set_masklen(p_address::inet, 64))::text
    end
$function$;

ALTER TABLE "private"."known_admin_addresses"
  -- squawk-ignore adding-foreign-key-constraint, constraint-missing-not-valid
  ADD CONSTRAINT "known_admin_addresses_admin_id_fkey" FOREIGN KEY (admin_id) REFERENCES private.admin_users(id) ON DELETE CASCADE;

ALTER TABLE "private"."sign_in_failures"
  -- squawk-ignore constraint-missing-not-valid
  ADD CONSTRAINT "sign_in_failures_kind_check"
    CHECK ((kind = ANY (ARRAY['admin_account'::text, 'admin_address'::text, 'admin_code'::text, 'admin_known'::text, 'member_account'::text])));

CREATE INDEX known_admin_addresses_seen_at_idx ON private.known_admin_addresses USING btree (seen_at);

COMMENT ON FUNCTION "edge"."admin_sign_in_way"(text, text) IS 'How this address may sign in to this account now: by password, only by password and second_factor at once, or not at all (closed).';

COMMENT ON FUNCTION "edge"."record_admin_sign_in"(text, text, boolean) IS 'Records a login attempt: a failure counts against address and account; a success deletes the account''s failures, of a known address those that it made, and writes an audit row.';

COMMENT ON FUNCTION "edge"."record_wrong_admin_code"(text, text) IS 'Records a wrong code that came with the right password when only both at once could pass.';

COMMENT ON FUNCTION "edge"."start_admin_session"(uuid, text, text, bytea) IS 'Starts an 8-hour session for an active administrator, whose address is known from then on; p_jti_hash is the SHA-256 of the secret in its token. Errors: invalid_credentials.';

COMMENT ON FUNCTION "jobs"."purge"() IS 'Deletes expired rate limits, failures older than a day, addresses that no administrator used for 90 days and e-mail sent more than 30 days ago; returns how many rows.';

COMMENT ON FUNCTION "private"."admin_address_hash"(uuid, text) IS 'What stands for an administrator''s sign-ins from a network.';

COMMENT ON FUNCTION "private"."count_sign_in_failures"(text, text) IS 'Failures of an account, or of an address, in the last 15 minutes.';

COMMENT ON FUNCTION "private"."known_admin_address"(text, text) IS 'The hash of an address that signed in to this account in the last 90 days; null for any other.';

COMMENT ON FUNCTION "private"."network_of"(text) IS 'What failures of a client address are counted by.';

COMMENT ON TABLE "private"."known_admin_addresses" IS 'From where an administrator signed in, as hashes; for 90 days.';

COMMENT ON TABLE "private"."sign_in_failures" IS 'Failed sign-ins per account and per address; those from an address that is known for the account, and wrong codes after a full count, apart. A success deletes those that it was counted with.';

REVOKE ALL ON FUNCTION "edge"."admin_sign_in_way"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "edge"."admin_sign_in_way"(text, text) TO "edge_functions";

REVOKE ALL ON FUNCTION "edge"."admin_sign_in_way"(text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "edge"."admin_sign_in_way"(text, text) TO "postgres";

REVOKE ALL ON FUNCTION "edge"."record_wrong_admin_code"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "edge"."record_wrong_admin_code"(text, text) TO "edge_functions";

REVOKE ALL ON FUNCTION "edge"."record_wrong_admin_code"(text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "edge"."record_wrong_admin_code"(text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_address_hash"(uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."admin_address_hash"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_address_hash"(uuid, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."count_sign_in_failures"(text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."count_sign_in_failures"(text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."count_sign_in_failures"(text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."known_admin_address"(text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."known_admin_address"(text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."known_admin_address"(text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."network_of"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."network_of"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."network_of"(text) TO "postgres";
