-- What the planner is let look at again.
BEGIN;
SELECT plan(11);
SET search_path = iap, test, public;

CREATE FUNCTION test.sighted(first integer, last integer) RETURNS void LANGUAGE sql AS $$
    INSERT INTO iap.sightings (
        transaction_id, bundle_id, environment, bucket, receipt_id, user_id, is_named, uploaded_at)
    SELECT number::text, 'com.example.game', 'Production', 0, number * 64, 'anna', false, '2026-03-01Z'
    FROM generate_series(first, last) AS number
$$;

SELECT is(iap.analyze_grown(), '{}', 'small tables are left to autovacuum');
SELECT test.sighted(1, 20000);
SELECT is(iap.analyze_grown(), '{sightings}', 'what has grown is looked at');
SELECT is(
    (SELECT round(reltuples)::bigint FROM pg_class WHERE oid = 'iap.sightings'::regclass), 20000::bigint,
    'and the planner knows by how much');
SELECT is(iap.analyze_grown(), '{}', 'once');
SELECT test.sighted(20001, 22000);
SELECT is(iap.analyze_grown(), '{}', 'not for a tenth');
SELECT test.sighted(22001, 30000);
SELECT is(iap.analyze_grown(), '{sightings}', 'but for a half');

-- As if years of deliveries lay there.
UPDATE pg_class SET relpages = 1000000 WHERE oid = 'iap.transactions'::regclass;
INSERT INTO iap.transactions (
    transaction_id, bundle_id, environment, place, original_transaction_id, product_id, quantity, purchased_at,
    is_trial, source, verified_at, booked_as, entry_id, first_seen_at, nights_confirmed)
SELECT
    number::text, 'com.example.game', 'Production', 'white', number::text, 'gems.100', 1,
    '2026-03-01Z'::timestamptz + number * interval '1 second', false, 'app_server', '2026-03-01Z', 'unknown',
    nextval('iap.trail'), '2026-03-01Z', 0
FROM generate_series(1, 30000) AS number;
SELECT is(iap.analyze_grown(), '{transactions}', 'what is white has grown, though the ledger has not by a fifth');
UPDATE pg_class SET relpages = 1000000 WHERE oid = 'iap.transactions'::regclass;
SELECT is(iap.analyze_grown(), '{}', 'once');

-- What is switched off makes a plan dear on paper, and a session that is not the job's compiles dear plans: for
-- seconds, in which it holds its purchase.
SELECT is_empty(
    $$SELECT oid::regprocedure FROM pg_proc
    WHERE pronamespace IN ('iap'::regnamespace, 'finance'::regnamespace, 'audit'::regnamespace)
        AND 'enable_seqscan=off' = ANY (proconfig) AND NOT 'jit=off' = ANY (proconfig)$$,
    'where scans are off, no plan is compiled');

-- Years of deliveries, in books that are closed; and one since.
INSERT INTO iap.transactions (
    transaction_id, bundle_id, environment, place, original_transaction_id, product_id, quantity, purchased_at,
    is_trial, source, verified_at, booked_as, entry_id, first_seen_at, nights_confirmed, user_id, delivered_by,
    delivered_at)
SELECT
    'years-' || number, 'com.example.a', 'Production', 'black', 'years-' || number, 'gems', 1,
    '2026-03-01Z'::timestamptz + number * interval '1 second', false, 'app_server', '2026-03-01Z', 'unknown',
    nextval('iap.trail'), '2026-03-01Z', 0, 'ann', 'import', '2026-03-01Z'
FROM generate_series(1, 20000) AS number;
ANALYZE iap.transactions;
UPDATE audit.frontier SET upto = (SELECT last_value FROM iap.trail);
SELECT test.admit('since'), test.claim('since');
SELECT cmp_ok(
    test.rows_read_by('iap.transactions', 'SELECT iap.connect()', 'iap_job'), '<', 1000::bigint,
    'who is connected by what was delivered since is told by that alone');
SELECT cmp_ok(
    test.rows_read_by('iap.transactions', 'SELECT iap.count_refunds_once(7, now())', 'iap_job'), '<', 1000::bigint,
    'and so is what was refunded under several ids');

SELECT * FROM finish();
ROLLBACK;
