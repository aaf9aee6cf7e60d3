-- The comment of the plan's check names the rules of docs/specification.md.
COMMENT ON VIEW "private"."plan_discrepancies" IS 'What differs from the compensation plan (specification S2.1, S6.1, S6.3, S6.7), whose numbers are written here: package sizes with their pairing rates, and the other percentages. Empty when nothing does.';

select private.record_schema();
