-- The chain over the audit trail.
BEGIN;
SELECT no_plan();

CREATE VIEW test.chain AS
SELECT
    position, event_id, digest, link,
    link = sha256(lag(link, 1, audit.first_link()) OVER (ORDER BY position) || digest) AS is_linked
FROM audit.seals;

INSERT INTO iap.events (kind, actor) VALUES ('one', 'me'), ('two', 'me'), ('three', 'me');
SELECT is(audit.seal_events(7), 3::bigint, 'seals what was written');
SELECT results_eq('SELECT position FROM audit.seals ORDER BY position', ARRAY[1, 2, 3]::bigint[], 'in a row');
SELECT is_empty('SELECT FROM test.chain WHERE NOT is_linked', 'each linked to the one before');
SELECT is(audit.seal_events(8), 0::bigint, 'and nothing twice');

INSERT INTO iap.events (kind, actor) VALUES ('four', 'me');
SELECT is(audit.seal_events(9), 1::bigint, 'goes on with what is new');
SELECT is_empty('SELECT FROM test.chain WHERE NOT is_linked', 'linked to what was there');
SELECT results_eq(
    'SELECT run_id, position FROM audit.sealings ORDER BY sealing_id',
    $$VALUES (7::bigint, 3::bigint), (8, 3), (9, 4)$$, 'and keeps where it ended');
SELECT is_empty(
    'SELECT FROM audit.sealings JOIN audit.seals USING (position) WHERE seals.link <> sealings.link',
    'with the link of then');

-- A digest holds all of an event, and doesn't depend on how a session writes times.
SELECT is_empty(
    $$SELECT FROM audit.seals JOIN iap.events USING (event_id) WHERE audit.event_digest(events) <> digest$$,
    'the digests are those of the events');
SET LOCAL TimeZone = 'Asia/Shanghai';
SET LOCAL DateStyle = 'SQL, DMY';
SELECT is_empty(
    $$SELECT FROM audit.seals JOIN iap.events USING (event_id) WHERE audit.event_digest(events) <> digest$$,
    'in any time zone and style');
SELECT isnt(audit.event_digest(jsonb_populate_record(events, changed)), audit.event_digest(events), 'another ' || changed::text)
FROM iap.events
CROSS JOIN unnest(ARRAY[
    '{"kind": "x"}', '{"actor": "x"}', '{"run_id": 1}', '{"transaction_id": "1"}', '{"bundle_id": "x"}',
    '{"environment": "x"}', '{"details": {"a": 1}}', '{"happened_at": "2020-01-01Z"}', '{"event_id": 0}']::jsonb[])
    AS changed
WHERE kind = 'one';

SELECT throws_ok('DELETE FROM audit.seals', '42501', NULL, 'no seal is removed');
SELECT throws_ok('TRUNCATE audit.seals', '42501', NULL, 'nor all of them');
SELECT throws_ok('UPDATE audit.sealings SET position = 0', '42501', NULL, 'where it ended is not changed');
SELECT throws_ok('DELETE FROM audit.sealings', '42501', NULL, 'nor removed');

-- Seals of rows.
SELECT test.admit('1');
SELECT is_empty(
    $$SELECT FROM iap.white WHERE seal IS DISTINCT FROM audit.white_seal(
        transaction_id, bundle_id, environment, original_transaction_id, product_id, quantity, purchased_at,
        price_milliunits, currency, first_seen_at)$$, 'what is admitted is sealed');
SELECT is(iap.claim('com.example.a', '1', 'ann'), 'delivered', 'and what is claimed');
SELECT is_empty(
    $$SELECT FROM iap.black WHERE seal IS DISTINCT FROM audit.black_seal(
        transaction_id, bundle_id, environment, original_transaction_id, product_id, quantity, purchased_at,
        price_milliunits, currency, user_id, order_id, delivered_by, delivered_at, refunded_at)$$,
    'the delivery');
SELECT is_empty(
    $$SELECT FROM iap.claims WHERE seal IS DISTINCT FROM audit.claim_seal(
        transaction_id, bundle_id, user_id, order_id, outcome, attempted_at)$$, 'and the claim');
SELECT test.admit('2');
SELECT is(iap.resolve('2', 'dismissed', 'me', 'why'), 'dismissed', 'what support dismisses');
SELECT is_empty(
    $$SELECT FROM iap.excluded WHERE seal IS DISTINCT FROM audit.excluded_seal(
        transaction_id, bundle_id, environment, original_transaction_id, product_id, quantity, purchased_at,
        price_milliunits, currency, reason, found_bundle_id, excluded_at)$$, 'is sealed');
SELECT is(iap.reopen('2', 'me', 'why'), 'reopened', 'what is reopened');
SELECT is_empty(
    $$SELECT FROM iap.white WHERE seal IS DISTINCT FROM audit.white_seal(
        transaction_id, bundle_id, environment, original_transaction_id, product_id, quantity, purchased_at,
        price_milliunits, currency, first_seen_at)$$, 'has its old seal');

SELECT * FROM finish();
ROLLBACK;
