-- Bonuses stand in the index by type again: a page far down their list took five times as long along the other one.
-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."transactions_type_idx";

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX transactions_type_idx ON public.transactions USING btree (transaction_type, created_at, id);
