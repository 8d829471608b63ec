-- Distributes the tables over a Citus cluster: the inbox by bucket, the ledger by transaction id. Run once, on the
-- coordinator, after the migrations and while the tables are still empty or small, as the tables' owner:
--
--     psql -X -v ON_ERROR_STOP=1 -1 -f citus.sql
--
-- The schema needs no change for it:
-- - every unique key of a distributed table holds the distribution column;
-- - there are no foreign keys, and the triggers on distributed tables, which serve finance alone, are dropped here;
-- - iap.claims numbers its rows by an identity column of type bigint, which Citus 11.2 and newer distribute; numbers
--   are drawn on the coordinator, where the functions run, so they stay unique;
-- - iap.verified is unlogged on every node: a node that crashes empties its part, the batch in hand fails, and the
--   night goes on with an empty staging table;
-- - the functions of the schema touch one transaction, or one receipt, at a time, by its distribution column. What
--   looks up an original purchase asks all shards, by index.

-- Triggers post to finance's journal, and Citus has none on distributed tables: on a cluster nothing is posted, so that
-- finance reads the views of what is, and finance.journal, its functions “as of”, and finance.unexplained tell nothing.
DO $$
DECLARE
    posting record;
BEGIN
    FOR posting IN
        SELECT tgname AS name, tgrelid::regclass AS relation
        FROM pg_trigger
        WHERE tgrelid IN ('iap.white'::regclass, 'iap.black'::regclass, 'iap.excluded'::regclass) AND NOT tgisinternal
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', posting.name, posting.relation);
    END LOOP;
END
$$;

-- Small, joined with everything, rarely written: a copy on every node.
SELECT create_reference_table('iap.products');
SELECT create_reference_table('iap.orders');

-- The inbox: what belongs to one receipt lies together, and so do all receipts of one payload.
SELECT create_distributed_table('iap.receipts', 'bucket', shard_count => 64);
SELECT create_distributed_table('iap.uploads', 'bucket', colocate_with => 'iap.receipts');

-- The ledger: what belongs to one transaction lies together, so that the merge and the sweep join within a node.
SELECT create_distributed_table('iap.white', 'transaction_id', shard_count => 64);
SELECT create_distributed_table('iap.black', 'transaction_id', colocate_with => 'iap.white');
SELECT create_distributed_table('iap.excluded', 'transaction_id', colocate_with => 'iap.white');
SELECT create_distributed_table('iap.verified', 'transaction_id', colocate_with => 'iap.white');
SELECT create_distributed_table('iap.sightings', 'transaction_id', colocate_with => 'iap.white');
SELECT create_distributed_table('iap.claims', 'transaction_id', colocate_with => 'iap.white');

-- The functions by which rows are sealed are wanted where the rows are.
SELECT create_distributed_function(oid::regprocedure::text)
FROM pg_proc
WHERE pronamespace = 'audit'::regnamespace AND proname LIKE '%\_seal';

-- These stay on the coordinator. They are small, a run's books are closed over one snapshot of them, and triggers hold
-- there, which Citus does not have on distributed tables: what becomes of a case is written down by one.
--     iap.migrations, iap.runs, iap.movements, iap.cases, iap.events, iap.postings, iap.books,
--     iap.sales_reports, iap.sales, audit.seals, audit.sealings
