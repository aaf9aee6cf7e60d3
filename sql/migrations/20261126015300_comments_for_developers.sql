-- Two functions say to developers, who read their comments in docs/api-reference.md, what they do instead of what they call.

COMMENT ON FUNCTION "public"."get_readiness"() IS 'What is missing before real money, item by item, and who confirmed what is done. Super admin. Errors: forbidden, session_ended.';

COMMENT ON FUNCTION "public"."start_member_data_download"(uuid, text) IS 'Finance and super administrators: allows the file with everything that is stored about a member who asked for it, blocked and closed ones too; the member is notified. admin-download-data makes the file. Errors: forbidden, two_step_required, not_found, reason_required, too_many_requests.';
