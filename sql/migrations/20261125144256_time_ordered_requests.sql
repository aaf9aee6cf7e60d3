-- What a request is found by stood in a random place of three indexes that its decision writes.
SET local check_function_bodies = off;

REVOKE ALL ON FUNCTION "private"."time_ordered_id"() FROM "authenticated";

GRANT EXECUTE ON FUNCTION "private"."time_ordered_id"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."time_ordered_id"() FROM "service_role";

GRANT EXECUTE ON FUNCTION "private"."time_ordered_id"() TO "service_role";

ALTER TABLE "public"."deposits"
  ALTER COLUMN "id" SET DEFAULT private.time_ordered_id();

ALTER TABLE "public"."withdrawals"
  ALTER COLUMN "id" SET DEFAULT private.time_ordered_id();
