-- Distributes the tables over a Citus cluster: the inbox by bucket, the ledger by transaction id. Run once, after
-- the migrations, on the coordinator. Every unique key carries its table's distribution column, and there are no
-- foreign keys, so the schema itself needs no change.

SELECT create_reference_table('iap.products');
SELECT create_reference_table('iap.orders');

SELECT create_distributed_table('iap.receipts', 'bucket', shard_count => 64);
SELECT create_distributed_table('iap.uploads', 'bucket', colocate_with => 'iap.receipts');

SELECT create_distributed_table('iap.white', 'transaction_id', shard_count => 64);
SELECT create_distributed_table('iap.black', 'transaction_id', colocate_with => 'iap.white');
SELECT create_distributed_table('iap.excluded', 'transaction_id', colocate_with => 'iap.white');
SELECT create_distributed_table('iap.verified', 'transaction_id', colocate_with => 'iap.white');
SELECT create_distributed_table('iap.sightings', 'transaction_id', colocate_with => 'iap.white');
SELECT create_distributed_table('iap.claims', 'transaction_id', colocate_with => 'iap.white');
SELECT create_distributed_table('iap.cases', 'transaction_id', colocate_with => 'iap.white');

-- iap.runs, iap.movements, iap.events and iap.migrations stay on the coordinator: they are small, and a run's books
-- are closed over one snapshot of them.
