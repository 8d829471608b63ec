-- Distributes the inbox over the workers of a Citus cluster. Run on the coordinator, as the tables' owner, after the
-- migrations and after every run of roles.sql; running it again is harmless:
--
--     psql -X -v ON_ERROR_STOP=1 -f citus.sql
--
-- Payloads are most of what grows; they are read and written by the workers. The ledger stays on the coordinator, which
-- alone is reached by the job, by people and by the apps' servers. A worker lets the coordinator in as each of the
-- roles (pg_hba.conf, .pgpass), and nobody else.

-- Citus refuses to distribute what a view reads through a function, as it is in a dump of another cluster.
DO $restored$
BEGIN
    IF to_regprocedure('iap.orders_never_paid()') IS NOT NULL
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = 'iap.receipts'::regclass)
    THEN
        SET LOCAL citus.enable_ddl_propagation TO off;
        CREATE OR REPLACE VIEW iap.orders_never_paid AS SELECT * FROM iap.unpaid_orders;
        DROP FUNCTION iap.orders_never_paid();
    END IF;
END
$restored$;

-- The inbox: what belongs to one receipt lies together, and so do all receipts of one payload.
SELECT create_distributed_table('iap.receipts', 'bucket', shard_count => 32)
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = 'iap.receipts'::regclass);
SELECT create_distributed_table('iap.uploads', 'bucket', colocate_with => 'iap.receipts')
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = 'iap.uploads'::regclass);

-- Of a database that held receipts before, what was copied to the workers.
SELECT truncate_local_data_after_distributing_table('iap.receipts');
SELECT truncate_local_data_after_distributing_table('iap.uploads');

-- The functions by which an upload changes its rows are wanted where the rows are.
SELECT create_distributed_function(made)
FROM (
    VALUES
        ('audit.seal(iap.uploads)'::regprocedure),
        ('audit.receipt_seal(
            smallint, bigint, text, text, bytea, text, text, timestamptz, text, boolean)'::regprocedure),
        ('iap.is_handed_in_again(timestamptz, timestamptz, timestamptz)'::regprocedure),
        ('iap.look_again(smallint, bigint, boolean, timestamptz, text)'::regprocedure)
) AS wanted (made)
WHERE NOT EXISTS (
    SELECT FROM pg_catalog.pg_dist_object
    WHERE classid = 'pg_proc'::regclass AND objid = wanted.made);

-- An upload is one statement to the worker that keeps its bucket.
SELECT create_distributed_function(
    made, distribution_arg_name => 'bucket', colocate_with => 'iap.receipts', force_delegation => true)
FROM (
    VALUES (
        'iap.store_upload(
            smallint, bigint, text, text, text, bytea, integer, text, text, jsonb, timestamptz)'::regprocedure)
) AS wanted (made)
WHERE NOT EXISTS (
    SELECT FROM pg_catalog.pg_dist_object
    WHERE classid = 'pg_proc'::regclass AND objid = wanted.made AND force_delegation);
REVOKE ALL ON FUNCTION iap.store_upload FROM PUBLIC;

-- What follows is the coordinator's own.
SET citus.enable_ddl_propagation TO off;

-- Finance's one view that looks into the inbox.
CREATE OR REPLACE FUNCTION iap.orders_never_paid() RETURNS SETOF iap.unpaid_orders
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iap.limit_waiting();
    RETURN QUERY SELECT * FROM iap.unpaid_orders;
END
$$;
COMMENT ON FUNCTION iap.orders_never_paid IS 'iap.unpaid_orders, read with the rights of their owner.';
CREATE OR REPLACE VIEW iap.orders_never_paid AS SELECT * FROM iap.orders_never_paid();
REVOKE ALL ON FUNCTION iap.orders_never_paid FROM PUBLIC;
GRANT EXECUTE ON FUNCTION iap.orders_never_paid TO iap_finance;

-- What the roles may do with the inbox on the coordinator they may do with its shards: a worker is asked in the name of
-- who asks. Citus passes on what is granted on a table, and not what is granted on columns.
DO $rights$
DECLARE
    names    text[] := ARRAY['iap_job', 'iap_app', 'iap_support', 'iap_finance', 'iap_privacy', 'iap_import'];
    inbox    regclass;
    commands text;
    refused  text;
BEGIN
    SELECT string_agg(result, ' ') INTO refused
    FROM run_command_on_workers(format(
        $worker$
        DO $$
        DECLARE
            name text;
        BEGIN
            SET LOCAL citus.enable_ddl_propagation TO off;
            FOREACH name IN ARRAY %L::text[] LOOP
                IF to_regrole(name) IS NULL THEN
                    EXECUTE format('CREATE ROLE %%I LOGIN', name);
                END IF;
            END LOOP;
            GRANT USAGE ON SCHEMA iap TO iap_job, iap_support, iap_import;
            GRANT USAGE ON SCHEMA audit TO iap_job, iap_import;
            -- Citus makes a shard anew where it moves it, with the rights of a table and without those of columns.
            ALTER DEFAULT PRIVILEGES IN SCHEMA iap GRANT SELECT ON TABLES TO iap_support;
            ALTER DEFAULT PRIVILEGES IN SCHEMA iap GRANT UPDATE ON TABLES TO iap_job;
            ALTER DEFAULT PRIVILEGES IN SCHEMA iap GRANT SELECT, UPDATE ON TABLES TO iap_import;
            -- What the job, imports and the desk set for their sessions the coordinator keeps to itself.
            FOREACH name IN ARRAY ARRAY['iap_job', 'iap_import', 'iap_support'] LOOP
                EXECUTE format(
                    'ALTER ROLE %%I IN DATABASE %%I SET lock_timeout = ''500ms''', name, current_database());
            END LOOP;
        END
        $$
        $worker$, names))
    WHERE NOT success;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'a worker refuses what its roles need: %', refused;
    END IF;
    FOR inbox, commands IN
        WITH held AS (
            SELECT oid::regclass AS inbox, relacl FROM pg_class
            WHERE oid IN ('iap.receipts'::regclass, 'iap.uploads'::regclass)
        ), given AS (
            SELECT held.inbox, privilege_type, '' AS columns, grantee
            FROM held
            CROSS JOIN aclexplode(held.relacl)
            WHERE grantee <> grantor
            UNION ALL
            SELECT held.inbox, privilege_type, format('(%s)', string_agg(quote_ident(attname), ', ')), grantee
            FROM held
            JOIN pg_attribute ON attrelid = held.inbox
            CROSS JOIN aclexplode(attacl)
            WHERE grantee <> grantor
            GROUP BY held.inbox, privilege_type, grantee
        )
        SELECT
            given.inbox,
            format('REVOKE ALL ON %%1$s FROM %s; ', array_to_string(names, ', '))
                || string_agg(format('GRANT %s %s ON %%1$s TO %I', privilege_type, columns, grantee::regrole), '; ')
        FROM given
        GROUP BY given.inbox
    LOOP
        SELECT string_agg(result, ' ') INTO refused
        FROM run_command_on_placements(inbox, commands)
        WHERE NOT success;
        IF refused IS NOT NULL THEN
            RAISE EXCEPTION 'a worker refuses what is granted on %: %', inbox, refused;
        END IF;
    END LOOP;
END
$rights$;

-- A worker whose host is gone says nothing, not even that it ends: Linux takes two hours to notice, in which whoever
-- asked it keeps what they have locked. Only who may read the setting can look.
DO $gone$
BEGIN
    IF pg_has_role(current_user, 'pg_read_all_settings', 'USAGE')
        AND NOT current_setting('citus.node_conninfo') LIKE ALL (ARRAY['%keepalives_idle%', '%tcp_user_timeout%'])
    THEN
        RAISE WARNING 'a worker whose host is gone from the network is noticed after two hours' USING
            HINT = 'Set keepalives_idle and tcp_user_timeout in citus.node_conninfo, as docs/scale.md has it.';
    END IF;
END
$gone$;

-- These stay on the coordinator:
--     iap.migrations, iap.products, iap.orders, iap.account_tokens, iap.transactions, iap.moves, iap.sightings,
--     iap.claims, iap.notices, iap.delivery_checks, iap.unusual_prices, iap.delivered_originals,
--     iap.untaken_originals, iap.delivered_orders, iap.entitlements, iap.runs, iap.cases, iap.events, iap.books,
--     iap.lock_space, iap.sales_reports, iap.sales, iap.connections, iap.sources, iap.source_files, iap.refused_rows,
--     iap.rehearsal, iap.hearings, iap.handed_notices, iap.customers, iap.paid_prices, iap.purged_orders,
--     iap.purged_order_marks, iap.case_takings, iap.redeliveries, iap.sales_fetches, audit.frontier, audit.links,
--     audit.erasures
