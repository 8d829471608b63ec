-- Distributes the tables over a Citus cluster: the inbox by bucket, the ledger by transaction id. Run once, on the
-- coordinator, after the migrations and while the tables are still empty or small, as the tables' owner:
--
--     psql -X -v ON_ERROR_STOP=1 -1 -f citus.sql
--
-- It says where each table would lie. A night does not run on it yet: its functions lock rows of many transactions at
-- once (FOR UPDATE SKIP LOCKED), which Citus takes for one shard alone. What is ready for it:
-- - every unique key of a distributed table holds the distribution column;
-- - there are no foreign keys;
-- - iap.claims numbers its rows by an identity column of type bigint, which Citus 11.2 and newer distribute; numbers
--   are drawn on the coordinator, where the functions run, so they stay unique;
-- - what an app's server calls touches one transaction, or one receipt, at a time, by its distribution column. What
--   looks up an original purchase asks all shards, by index.

-- Small, joined with everything, rarely written: a copy on every node.
SELECT create_reference_table('iap.products');
SELECT create_reference_table('iap.orders');
SELECT create_reference_table('iap.account_tokens');

-- The inbox: what belongs to one receipt lies together, and so do all receipts of one payload.
SELECT create_distributed_table('iap.receipts', 'bucket', shard_count => 64);
SELECT create_distributed_table('iap.uploads', 'bucket', colocate_with => 'iap.receipts');

-- The ledger: what belongs to one transaction lies together, so that the merge and the sweep join within a node.
SELECT create_distributed_table('iap.transactions', 'transaction_id', shard_count => 64);
SELECT create_distributed_table('iap.moves', 'transaction_id', colocate_with => 'iap.transactions');
SELECT create_distributed_table('iap.sightings', 'transaction_id', colocate_with => 'iap.transactions');
SELECT create_distributed_table('iap.claims', 'transaction_id', colocate_with => 'iap.transactions');
SELECT create_distributed_table('iap.notices', 'transaction_id', colocate_with => 'iap.transactions');
SELECT create_distributed_table('iap.delivery_checks', 'transaction_id', colocate_with => 'iap.transactions');
SELECT create_distributed_table('iap.unusual_prices', 'transaction_id', colocate_with => 'iap.transactions');
SELECT create_distributed_table('iap.delivered_originals', 'original_transaction_id', shard_count => 64);
SELECT create_distributed_table('iap.delivered_orders', 'order_id', shard_count => 64);
SELECT create_distributed_table('iap.entitlements', 'original_transaction_id', shard_count => 64);

-- The functions by which rows are sealed and compared are wanted where the rows are.
SELECT create_distributed_function(oid::regprocedure)
FROM pg_proc
WHERE (pronamespace = 'audit'::regnamespace AND proname ~ 'seal$')
    OR (pronamespace = 'iap'::regnamespace AND proname IN ('position_of', 'is_of_original', 'share_of'));

-- These stay on the coordinator:
--     iap.migrations, iap.runs, iap.cases, iap.events, iap.books, iap.lock_space, iap.sales_reports, iap.sales,
--     iap.connections, iap.sources, iap.source_files, iap.refused_rows, iap.rehearsal, iap.hearings,
--     iap.handed_notices, iap.customers, iap.paid_prices, iap.purged_orders, iap.case_takings, iap.redeliveries,
--     iap.sales_fetches, audit.frontier, audit.links,
--     audit.erasures
