-- What developers read of these functions in docs/api-reference.md: what they do instead of what they call, and their keys as code.

COMMENT ON FUNCTION "public"."get_readiness"() IS 'What is missing before real money, item by item, and who confirmed what is done. Super admin. Errors: forbidden, session_ended.';

COMMENT ON FUNCTION "public"."start_member_data_download"(uuid, text) IS 'Finance and super administrators: allows the file with everything that is stored about a member who asked for it, blocked and closed ones too; the member is notified. admin-download-data makes the file. Errors: forbidden, two_step_required, not_found, reason_required, too_many_requests.';

COMMENT ON FUNCTION "public"."get_admin_overview"() IS 'Administrators: the panel''s first screen in one request. `books` is the last ledger check, its `ok` null before the first; `alarms` is what waits for an acknowledgement and what it stops. Errors: forbidden, session_ended.';

COMMENT ON FUNCTION "public"."list_corrections"() IS 'Administrators: pending corrections, oldest first, at most 200, and the last 50 confirmed ones. `refusal` says why the caller may not confirm; null when allowed. Errors: forbidden, session_ended.';

COMMENT ON FUNCTION "public"."rebuild_counters"(text) IS 'Super administrators: derives every stored sum and counter from the rows, and writes what the journal of bonuses lacks, with an audit row. Returns the first hundred changes, each with its kind, object, member and figures before and after, and their count; 0 when all agreed. Errors: forbidden, session_ended, two_step_required, invalid_reason, reason_required, try_again.';
