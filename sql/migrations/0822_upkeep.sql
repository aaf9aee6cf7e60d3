-- Tables and indexes are tidied by what changed, not by a fifth of what is there: at a million members that fifth
-- is weeks of work, and a comparison of all bonuses reads twice as long while index-only scans still look into
-- the table. The queues of changes are emptied every minute, so their dead rows count from the first thousand. Each
-- mail in the outbox is written again as it goes out, and the outbox is small: there two hundred count. The trigram
-- indexes hand over what they put aside in small portions: who approves a deposit pays for it, and who searches
-- reads it.

alter table private.positions set (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02
);
alter table private.totals set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
alter table public.bonuses set (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02
);
alter table private.profiles set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table public.deposits set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table public.transactions set (
    autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02
);
alter table private.counter_deltas set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
alter table private.network_changes set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
alter table private.network_carries set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
alter table private.outbox set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

alter index private.profiles_search_idx set (gin_pending_list_limit = 256);
alter index public.deposits_reference_search_idx set (gin_pending_list_limit = 256);
alter index public.withdrawals_wallet_search_idx set (gin_pending_list_limit = 256);
