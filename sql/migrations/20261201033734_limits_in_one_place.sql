-- The rule about known addresses stands beside the other limits of sign-ins, before the tables that it reads.

SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.known_admin_address (
  p_email   text,
  p_address text
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select k.address_hash
        from private.admin_users as a
        inner join private.known_admin_addresses as k on k.admin_id = a.id
        where a.email = pg_catalog.lower(p_email) and k.address_hash = private.admin_address_hash(a.id, p_address)
            and k.seen_at > pg_catalog.clock_timestamp() - interval '90 days'
    );
end
$function$;

select private.record_schema();
