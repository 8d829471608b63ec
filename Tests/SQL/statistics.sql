-- What the planner is let look at again.
BEGIN;
SELECT plan(6);
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

SELECT * FROM finish();
ROLLBACK;
