-- What the web app shows at its first paint, for /config.js.
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION edge.web_config()
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select public.get_platform() - 'terms' - 'risk'
$function$;

COMMENT ON FUNCTION "edge"."web_config"() IS 'What the web app shows at its first paint: get_platform() without the long texts.';

REVOKE ALL ON FUNCTION "edge"."web_config"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "edge"."web_config"() TO "edge_functions";

REVOKE ALL ON FUNCTION "edge"."web_config"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "edge"."web_config"() TO "postgres";
