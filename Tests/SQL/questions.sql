-- What Apple is asked again: customers, deliveries that only the app's server vouches for, and prices.
BEGIN;
SELECT plan(83);
SET search_path = iap, test, public;

SELECT iap.register_order('com.example.game', 'o-1', 'anna', 'gems.100',
    app_account_token => '00000000-0000-4000-8000-00000000000a');
INSERT INTO iap.products (bundle_id, product_id, type, name)
VALUES ('com.example.game', 'gems.100', 'consumable', '100 gems'),
    ('com.example.game', 'gems.500', 'consumable', '500');

-- A purchase, as Apple's server API tells it.
CREATE FUNCTION test.bought(
    id text, account text DEFAULT NULL, expires timestamptz DEFAULT NULL, price bigint DEFAULT NULL,
    currency text DEFAULT NULL, storefront text DEFAULT NULL, at timestamptz DEFAULT '2026-03-01Z',
    quantity integer DEFAULT 1, environment text DEFAULT 'Production', exclusion text DEFAULT NULL,
    bundle_id text DEFAULT 'com.example.game', type text DEFAULT 'consumable'
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v iap.verified;
BEGIN
    v.transaction_id := id;
    v.bundle_id := bundle_id;
    v.environment := environment;
    v.original_transaction_id := id;
    v.product_id := 'gems.100';
    v.product_type := CASE WHEN expires IS NULL THEN type ELSE 'auto_renewable' END;
    v.quantity := quantity;
    v.purchased_at := at;
    v.expires_at := expires;
    v.is_trial := false;
    v.price_milliunits := price;
    v.currency := currency;
    v.storefront := storefront;
    v.source := 'server_api';
    v.verified_at := at;
    v.app_transaction_id := account;
    v.exclusion := exclusion;
    v.refunded_at := CASE WHEN exclusion = 'refunded' THEN at END;
    PERFORM iap.enter(ARRAY[v], (SELECT max(run_id) FROM iap.runs), at);
END
$$;
CREATE FUNCTION test.closed(at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    run bigint;
BEGIN
    INSERT INTO iap.runs (as_of, started_at, host, process_id, program_version)
    VALUES (at, at, 'h', 1, '1') RETURNING run_id INTO run;
    PERFORM iap.close_books(run);
    PERFORM iap.note_entered('com.example.game', 'Production', '7 days', at - interval '90 days', at);
END
$$;
INSERT INTO iap.runs (as_of, started_at, host, process_id, program_version)
VALUES ('2026-03-01Z', '2026-03-01Z', 'h', 1, '1');

-- What is noted of an app in one environment is noted of no other.
SELECT iap.note_entered(bundle_id, environment, '7 days', '2025-12-01Z', '2026-03-01Z')
FROM (VALUES ('com.example.other', 'Production'), ('com.example.game', 'Sandbox')) AS other (bundle_id, environment);

-- Customers -----------------------------------------------------------------------------------------------------------

SELECT test.bought('c1', 'A', at => '2026-03-01Z');
SELECT test.bought('c2', 'A', at => '2026-03-02Z');
SELECT test.bought('c3', at => '2026-03-03Z');
SELECT test.bought('c4', 'B', expires => '2026-03-06Z', at => '2026-03-02Z');
SELECT test.bought('c5', 'C', at => '2026-03-02Z', exclusion => 'family_shared');
SELECT test.bought('c6', 'D', at => '2026-03-02Z', environment => 'Sandbox', exclusion => 'sandbox');
SELECT iap.note_entered('com.example.game', 'Production', '7 days', '2025-12-03Z', '2026-03-03Z');
SELECT is_empty('SELECT FROM iap.customers', 'nobody is noted before the books are closed');
SELECT test.closed('2026-03-04Z');
SELECT results_eq(
    $$SELECT customer_id, transaction_id, last_seen_at, expires_at, next_at FROM iap.customers ORDER BY customer_id$$,
    $$VALUES
        ('A' COLLATE "C", 'c2' COLLATE "C", '2026-03-02Z'::timestamptz, NULL::timestamptz, '2026-03-09Z'::timestamptz),
        ('B', 'c4', '2026-03-02Z', '2026-03-06Z', '2026-03-06 01:00Z'),
        ('c3', 'c3', '2026-03-03Z', NULL, '2026-03-10Z')$$,
    'a customer by the account, or by the purchase; subscribers soon after they expire; nobody who owes nothing');
SELECT test.closed('2026-03-05Z');
SELECT is((SELECT count(*) FROM iap.customers), 3::bigint, 'each entry is noted once');

SELECT iap.note_answers(
    'com.example.game', 'Production', '{A,c3}', '{A,E}', '{r1,r2}', ARRAY[NULL, NULL]::timestamptz[], '7 days',
    '2026-03-10Z');
SELECT results_eq(
    $$SELECT customer_id, revision, asked_at, next_at FROM iap.customers WHERE asked_at IS NOT NULL ORDER BY 1$$,
    $$VALUES
        ('A' COLLATE "C", 'r1', '2026-03-10Z'::timestamptz, '2026-03-17Z'::timestamptz),
        ('E', 'r2', '2026-03-10Z', '2026-03-17Z')$$,
    'an answer says up to where the history is known, and how Apple calls the customer');
SELECT is_empty($$SELECT FROM iap.customers WHERE customer_id = 'c3'$$, 'who is known by that name alone from then on');
SELECT iap.note_answers(
    'com.example.game', 'Production', '{A}', ARRAY[NULL]::text[], ARRAY[NULL]::text[], ARRAY[NULL]::timestamptz[],
    '7 days', '2026-03-17Z');
SELECT is((SELECT revision FROM iap.customers WHERE customer_id = 'A'), 'r1',
    'no revision leaves the one that is known');
SELECT iap.note_answers(
    'com.example.game', 'Production', '{A}', '{A}', '{r3}', '{2026-03-18Z}', '7 days', '2026-03-17Z');
SELECT is(
    (SELECT next_at FROM iap.customers WHERE customer_id = 'A'), '2026-03-18 01:00Z',
    'an answer tells of a subscription');
SELECT iap.note_answers(
    'com.example.game', 'Production', '{E}', '{A}', '{r9}', ARRAY[NULL]::timestamptz[], '7 days', '2026-03-18Z');
SELECT results_eq(
    $$SELECT customer_id, revision, expires_at FROM iap.customers WHERE customer_id IN ('A', 'E')$$,
    $$VALUES ('A' COLLATE "C", 'r9', '2026-03-18Z'::timestamptz)$$, 'two that turn out to be one are one');
-- Which of them was seen last can't be said where both were at once: not the order in which they lie may tell.
INSERT INTO iap.customers (
    customer_id, bundle_id, environment, transaction_id, last_seen_at, expires_at, next_at)
VALUES
    ('p1', 'com.example.game', 'Production', 'p1', '2026-03-18Z', '2026-05-01Z', '2026-03-25Z'),
    ('p2', 'com.example.game', 'Production', 'p2', '2026-03-18Z', '2026-04-01Z', '2026-03-25Z'),
    ('q2', 'com.example.game', 'Production', 'q2', '2026-03-18Z', NULL, '2026-03-25Z'),
    ('q1', 'com.example.game', 'Production', 'q1', '2026-03-18Z', '2026-05-01Z', '2026-03-25Z');
SELECT iap.note_answers(
    'com.example.game', 'Production', '{p1,p2,q1,q2}', '{P,P,Q,Q}', '{r1,r1,r1,r1}',
    '{2026-04-15Z,NULL,NULL,NULL}', '7 days', '2026-03-18Z');
SELECT results_eq(
    $$SELECT customer_id, transaction_id, expires_at FROM iap.customers WHERE customer_id IN ('P', 'Q') ORDER BY 1$$,
    $$VALUES
        ('P' COLLATE "C", 'p2' COLLATE "C", '2026-05-01Z'::timestamptz), ('Q', 'q2', '2026-05-01Z')$$,
    'of two who turn out to be one one stands for both, and the subscription that either had is known');
DELETE FROM iap.customers WHERE customer_id IN ('P', 'Q');
-- What Apple answers may be somebody else's history, of whom more may be known or nothing.
SELECT iap.note_answers(
    'com.example.game', 'Production', '{A,B}', '{B,Z}', '{r10,r11}', '{2026-05-01Z,2026-06-01Z}', '7 days',
    '2026-03-18Z');
SELECT results_eq(
    $$SELECT customer_id, transaction_id, revision, expires_at FROM iap.customers WHERE customer_id IN ('A', 'B', 'Z')
        ORDER BY 1$$,
    $$VALUES
        ('A' COLLATE "C", 'c2' COLLATE "C", 'r9', '2026-03-18Z'::timestamptz), ('B', 'c4', NULL, '2026-03-06Z')$$,
    'another''s history says nothing of a customer, who is asked about again by what is known');
SELECT test.bought('c7', 'A', at => '2026-03-20Z');
SELECT test.closed('2026-03-20Z');
SELECT results_eq(
    $$SELECT last_seen_at, revision, next_at FROM iap.customers WHERE customer_id = 'A'$$,
    $$VALUES ('2026-03-20Z'::timestamptz, 'r9', '2026-03-25Z'::timestamptz)$$,
    'who buys again is seen later, and asked about when it was planned');

-- Of accounts nothing is known here, and nearly everything was bought by one of two customers.
CREATE FUNCTION test.seen(id text, receipt bigint, at timestamptz) RETURNS void LANGUAGE sql AS $$
    INSERT INTO iap.sightings (
        transaction_id, bundle_id, environment, bucket, receipt_id, user_id, is_named, uploaded_at)
    VALUES (id, 'com.example.game', 'Production', receipt & 63, receipt, 'anna', false, at)
$$;
SELECT
    test.bought('g' || number, at => '2026-03-21Z'::timestamptz + number * interval '1 minute'),
    test.seen('g' || number, 64, '2026-03-21Z')
FROM generate_series(1, 3) AS number;
SELECT test.bought('g8', at => '2026-03-21Z'), test.seen('g8', 128, '2026-03-21Z');
SELECT test.bought('g9', at => '2026-03-21Z');
SELECT test.closed('2026-03-22Z');
SELECT results_eq(
    $$SELECT customer_id, transaction_id, last_seen_at FROM iap.customers WHERE customer_id LIKE 'g%' ORDER BY 1$$,
    $$VALUES
        ('g1' COLLATE "C", 'g3' COLLATE "C", '2026-03-21 00:03Z'::timestamptz), ('g8', 'g8', '2026-03-21Z'),
        ('g9', 'g9', '2026-03-21Z')$$,
    'the purchases of a receipt are one customer''s; what no receipt holds stands for itself');
-- All of it comes again in the next receipt, with one more.
SELECT test.seen('g' || number, 192, '2026-03-23Z') FROM generate_series(1, 3) AS number;
SELECT test.bought('g4', at => '2026-03-23Z'), test.seen('g4', 192, '2026-03-23Z');
SELECT test.closed('2026-03-23Z');
SELECT results_eq(
    $$SELECT customer_id, last_seen_at, next_at FROM iap.customers WHERE customer_id LIKE 'g%' ORDER BY 1$$,
    $$VALUES
        ('g1' COLLATE "C", '2026-03-23Z'::timestamptz, '2026-03-28 00:03Z'::timestamptz),
        ('g8', '2026-03-21Z', '2026-03-28Z'), ('g9', '2026-03-21Z', '2026-03-28Z')$$,
    'who buys again is the customer of before');
-- Another receipt of theirs names the account; and what Apple told by account does not take the others with it.
SELECT test.bought('g5', 'F', at => '2026-03-24Z'), test.seen('g5', 256, '2026-03-24Z');
SELECT test.bought('g6', at => '2026-03-24Z'), test.seen('g6', 256, '2026-03-24Z');
SELECT test.closed('2026-03-24Z');
SELECT set_eq(
    $$SELECT customer_id FROM iap.customers WHERE last_seen_at = '2026-03-24Z'$$, $$VALUES ('F'), ('g6')$$,
    'an account stands for what Apple said is its own');

-- A transaction that failed, or has not ended, keeps its number: nobody waits for it, and what comes late is noted
-- late.
SELECT nextval('iap.trail') AS lost \gset
SELECT nextval('iap.trail') AS late \gset
SELECT test.bought('i1', 'I1', at => '2026-03-24Z');
SELECT test.closed('2026-03-24 01:00Z');
SELECT set_eq(
    $$SELECT customer_id FROM iap.customers WHERE customer_id LIKE 'I%'$$, $$VALUES ('I1')$$,
    'behind a number that nobody has seen, customers are noted on the same night');
SELECT test.bought('i2', 'I2', at => '2026-03-24Z');
UPDATE iap.transactions SET entry_id = :late WHERE transaction_id = 'i2';
DELETE FROM iap.customers WHERE customer_id = 'I1';
SELECT test.closed('2026-03-24 02:00Z');
SELECT set_eq(
    $$SELECT customer_id FROM iap.customers WHERE customer_id LIKE 'I%'$$, $$VALUES ('I2')$$,
    'what is seen late is noted then, and the others not again');
SELECT is(
    (SELECT noted_gaps @> :lost::bigint AND NOT noted_gaps @> :late::bigint FROM iap.hearings
    WHERE bundle_id = 'com.example.game' AND environment = 'Production'), true,
    'what was not seen is still waited for');

-- Two subscriptions and gems in one receipt: neither subscription waits for the other to expire.
SELECT test.bought(id, expires => expires, at => '2026-03-25Z'), test.seen(id, 320, '2026-03-25Z')
FROM (VALUES ('h1', '2026-03-27Z'::timestamptz), ('h2', '2026-03-29Z'), ('h3', NULL)) AS held (id, expires);
SELECT test.closed('2026-03-25Z');
SELECT results_eq(
    $$SELECT customer_id, next_at FROM iap.customers WHERE customer_id LIKE 'h%' ORDER BY 1$$,
    $$VALUES
        ('h1' COLLATE "C", '2026-03-27 01:00Z'::timestamptz), ('h2', '2026-03-29 01:00Z'), ('h3', '2026-04-01Z')$$,
    'each subscription is asked about when it expires');

-- An import of past years: whoever the next night would forget is not noted at all.
SELECT test.bought('j1', 'J1', at => '2025-06-01Z'), test.bought('j2', 'J2', at => '2026-02-01Z');
SELECT test.bought('j3', 'J3', expires => '2026-06-01Z', at => '2025-06-01Z');
SELECT test.bought('j4', 'J4', expires => '2025-07-01Z', at => '2025-06-01Z');
SELECT test.bought('j5', at => '2025-06-01Z'), test.seen('j5', 384, '2026-03-25 01:00Z');
SELECT test.bought('j6', at => '2026-03-25 01:00Z'), test.seen('j6', 384, '2026-03-25 01:00Z');
SELECT test.closed('2026-03-25 01:00Z');
SELECT set_eq(
    $$SELECT customer_id FROM iap.customers WHERE customer_id LIKE 'j%' OR customer_id LIKE 'J%'$$,
    $$VALUES ('J2'), ('J3'), ('j5')$$,
    'noted are those of the last months, with whatever they bought before, and whose subscription runs');
SELECT test.bought('k1', at => '2025-06-01Z'), test.seen('k1', 512, '2026-03-25 01:30Z');
SELECT test.closed('2026-03-25 02:00Z');
SELECT results_eq(
    $$SELECT customer_id, last_seen_at FROM iap.customers WHERE customer_id = 'k1'$$,
    $$VALUES ('k1' COLLATE "C", '2026-03-25 01:30Z'::timestamptz)$$,
    'who uploads for the first time what was bought long ago is noted');
-- What was bought long ago comes again, handed in by somebody who was forgotten.
SELECT test.seen('j1', 448, '2026-03-26Z'), test.bought('j7', at => '2026-03-26Z');
SELECT test.closed('2026-03-26Z');
SELECT results_eq(
    $$SELECT customer_id, last_seen_at FROM iap.customers WHERE customer_id = 'J1'$$,
    $$VALUES ('J1' COLLATE "C", '2026-03-26Z'::timestamptz)$$,
    'who uploads again is noted, however long ago it was bought');

-- An app is asked about its own customers alone, and about those of one environment, whoever bought or uploaded beside.
SELECT iap.admit('com.example.other', 'Production', 'l1', 'l1', 'gems.100', 1, '2026-03-26Z', 'anna');
SELECT test.bought('l2', at => '2026-03-26Z', environment => 'Sandbox');
-- Bought long ago, and uploaded now, by customers of this app whose purchases have the same numbers elsewhere.
SELECT test.bought(id, 'of ' || id, at => '2025-06-01Z') FROM unnest(ARRAY['l3', 'l4', 'l6']) AS id;
SELECT test.bought('l4', 'of a tester', at => '2025-06-01Z', environment => 'Sandbox');
SELECT iap.admit('com.example.other', 'Production', 'l3', 'l0', 'gems.100', 1, '2025-06-01Z', 'anna');
SELECT test.closed('2026-03-27Z');
INSERT INTO iap.sightings (
    transaction_id, bundle_id, environment, bucket, receipt_id, user_id, is_named, uploaded_at)
SELECT id, bundle_id, environment, 0, 576, 'anna', false, '2026-03-27 01:00Z'
FROM (
    VALUES
        ('l3', 'com.example.game', 'Production'), ('l4', 'com.example.game', 'Production'),
        ('c1', 'com.example.other', 'Production'), ('c2', 'com.example.game', 'Sandbox'),
        -- Of whom nothing is owed.
        ('c5', 'com.example.game', 'Production')
) AS uploaded (id, bundle_id, environment);
-- Too long ago for it to be news.
SELECT test.seen('l6', 576, '2026-03-25 01:00Z');
SELECT test.bought('l5', at => '2026-03-27 01:00Z');
SELECT test.closed('2026-03-27 02:00Z');
SELECT set_eq(
    $$SELECT customer_id FROM iap.customers WHERE last_seen_at >= '2026-03-26 12:00Z' OR customer_id ~ '^(l|of )'$$,
    $$VALUES ('of l3'), ('of l4'), ('l5')$$, 'which is nobody of another app, or of another environment');
SELECT iap.note_entered(bundle_id, environment, '7 days', '2026-01-01Z', '2026-03-27 02:00Z')
FROM (VALUES ('com.example.other', 'Production'), ('com.example.game', 'Sandbox')) AS other (bundle_id, environment);
SELECT set_eq(
    $$SELECT customer_id, bundle_id, environment FROM iap.customers
    WHERE bundle_id = 'com.example.other' OR environment = 'Sandbox'$$,
    $$VALUES ('l1', 'com.example.other', 'Production'), ('l2', 'com.example.game', 'Sandbox')$$,
    'who are asked about by what is theirs');
-- The same receipt, handed in again after a while, tells the same; also in a night in which nothing else was closed.
SELECT test.seen('l6', 577, '2025-11-01Z');
SELECT iap.note_entered(
    'com.example.game', 'Production', '7 days', '2026-01-01Z', '2026-03-27 02:00Z', '{577}', '{2026-03-27 01:30Z}');
SELECT results_eq(
    $$SELECT customer_id, last_seen_at FROM iap.customers WHERE customer_id IN ('of l6', 'l6')$$,
    $$VALUES ('of l6' COLLATE "C", '2026-03-27 01:30Z'::timestamptz)$$, 'who comes again is asked about again');
-- What the books had not seen is for the next night.
SELECT test.bought('m1', at => '2026-03-28Z');
INSERT INTO iap.runs (as_of, started_at, host, process_id, program_version)
VALUES ('2026-03-28Z', '2026-03-28Z', 'h', 1, '1') RETURNING run_id \gset
SELECT iap.close_books(:run_id);
SELECT test.bought('m2', at => '2026-03-28Z');
SELECT iap.note_entered('com.example.game', 'Production', '7 days', '2026-03-27Z', '2026-03-28Z');
SELECT set_eq(
    $$SELECT customer_id FROM iap.customers WHERE customer_id LIKE 'm%'$$, $$VALUES ('m1')$$,
    'what entered since they were closed is not noted yet');
-- Who bought within the last week is to be asked about a week after that, however short it looks back.
SELECT test.bought('m3', at => '2026-03-24Z'), test.bought('m4', at => '2026-03-20Z');
INSERT INTO iap.runs (as_of, started_at, host, process_id, program_version)
VALUES ('2026-03-29Z', '2026-03-29Z', 'h', 1, '1') RETURNING run_id \gset
SELECT iap.close_books(:run_id);
SELECT iap.note_entered('com.example.game', 'Production', '7 days', '2026-03-28Z', '2026-03-29Z');
SELECT set_eq(
    $$SELECT customer_id FROM iap.customers WHERE customer_id LIKE 'm%'$$, $$VALUES ('m1'), ('m2'), ('m3')$$,
    'who is not due yet is noted, though not seen since the moment that is looked back to');
-- What a customer renewed is heard of after what they bought later; and another has two subscriptions.
SELECT test.bought('n1', 'N', at => '2026-04-02Z');
SELECT test.closed('2026-04-02Z');
SELECT test.bought('n2', 'N', expires => '2026-04-05Z', at => '2026-04-01Z');
SELECT test.bought(id, 'NN', expires => expires, at => '2026-04-01Z')
FROM (VALUES ('n3', '2026-04-10Z'::timestamptz), ('n4', '2026-04-09Z')) AS held (id, expires);
SELECT test.closed('2026-04-03Z');
SELECT results_eq(
    $$SELECT customer_id, last_seen_at, expires_at, next_at FROM iap.customers WHERE customer_id LIKE 'N%' ORDER BY 1$$,
    $$VALUES
        ('N' COLLATE "C", '2026-04-02Z'::timestamptz, '2026-04-05Z'::timestamptz, '2026-04-05 01:00Z'::timestamptz),
        ('NN', '2026-04-01Z', '2026-04-10Z', '2026-04-08Z')$$,
    'is asked about when it expires');
SELECT test.bought('n5', 'N', at => '2026-04-03 12:00Z');
SELECT test.closed('2026-04-03 13:00Z');
SELECT results_eq(
    $$SELECT last_seen_at, expires_at, next_at FROM iap.customers WHERE customer_id = 'N'$$,
    $$VALUES ('2026-04-03 12:00Z'::timestamptz, '2026-04-05Z'::timestamptz, '2026-04-05 01:00Z'::timestamptz)$$,
    'and whatever else they buy ends no subscription');
-- Several that turn out to be one, whose history was known by then, and who has a name of the same kind elsewhere.
INSERT INTO iap.customers (
    customer_id, bundle_id, environment, transaction_id, last_seen_at, expires_at, revision, asked_at, next_at)
VALUES
    ('o2', 'com.example.game', 'Production', 'o2', '2026-04-01Z', NULL, NULL, NULL, '2026-04-08Z'),
    ('o1', 'com.example.game', 'Production', 'o1', '2026-04-03Z', '2026-05-03Z', NULL, NULL, '2026-04-10Z'),
    ('o4', 'com.example.game', 'Production', 'o4', '2026-03-01Z', '2026-04-03Z', NULL, NULL, '2026-04-08Z'),
    ('O', 'com.example.game', 'Production', 'o3', '2026-04-02Z', '2026-05-01Z', 'r1', '2026-04-02Z', '2026-04-09Z'),
    ('O', 'com.example.game', 'Sandbox', 'o3', '2026-04-02Z', NULL, 'r1', '2026-04-02Z', '2026-04-09Z'),
    ('O', 'com.example.other', 'Production', 'o3', '2026-04-02Z', NULL, 'r1', '2026-04-02Z', '2026-04-09Z'),
    ('o1', 'com.example.game', 'Sandbox', 'o1', '2026-04-02Z', NULL, 'r1', '2026-04-02Z', '2026-04-09Z'),
    ('o1', 'com.example.other', 'Production', 'o1', '2026-04-02Z', NULL, 'r1', '2026-04-02Z', '2026-04-09Z');
SELECT test.bought('o1', 'another', at => '2026-04-02Z', environment => 'Sandbox');
SELECT test.bought('o1', 'another', at => '2026-04-02Z', bundle_id => 'com.example.other');
SELECT iap.note_answers(
    'com.example.game', 'Production', ids, ARRAY['O', 'O'], ARRAY['r2', 'r2'], ARRAY[NULL, NULL]::timestamptz[],
    '7 days', at)
FROM (
    VALUES (ARRAY['o2', 'o1'], '2026-04-04Z'::timestamptz), (ARRAY['o4', 'o4'], '2026-04-05Z')
) AS asked (ids, at);
SELECT results_eq(
    $$SELECT bundle_id, environment, last_seen_at, expires_at, revision, asked_at, next_at FROM iap.customers
    WHERE customer_id IN ('O', 'o1', 'o2', 'o4') ORDER BY 1, 2, customer_id$$,
    $$VALUES
        ('com.example.game' COLLATE "C", 'Production', '2026-04-03Z'::timestamptz, '2026-05-03Z'::timestamptz, 'r2',
            '2026-04-05Z'::timestamptz, '2026-04-12Z'::timestamptz),
        ('com.example.game', 'Sandbox', '2026-04-02Z', NULL, 'r1', '2026-04-02Z', '2026-04-09Z'),
        ('com.example.game', 'Sandbox', '2026-04-02Z', NULL, 'r1', '2026-04-02Z', '2026-04-09Z'),
        ('com.example.other', 'Production', '2026-04-02Z', NULL, 'r1', '2026-04-02Z', '2026-04-09Z'),
        ('com.example.other', 'Production', '2026-04-02Z', NULL, 'r1', '2026-04-02Z', '2026-04-09Z')$$,
    'what is known of any of them is known of the one');

-- Deliveries ----------------------------------------------------------------------------------------------------------

SELECT iap.submit_receipt('com.example.game', 'anna', 'cmVjZWlwdA==', NULL, NULL, NULL);
CREATE FUNCTION test.delivered(id text, usr text DEFAULT 'anna') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    held bigint;
BEGIN
    SELECT min(receipt_id) INTO held FROM iap.receipts;
    PERFORM iap.admit('com.example.game', 'Production', id, id, 'gems.100', 1, '2026-03-01Z', usr, held);
    RETURN iap.claim('com.example.game', id, usr, NULL);
END
$$;
SELECT is(test.delivered('d1'), 'delivered', 'a delivery that only the app''s server vouches for');
SELECT is(test.delivered('d2'), 'delivered', 'another');
SELECT is(test.delivered('d3', 'bert'), 'delivered', 'and a third');
SELECT iap.note_checks(
    'com.example.game', 'Production', '{d1,d2,d3}', '{unknown_to_apple,sandbox,NULL}',
    '{NULL,NULL,00000000-0000-4000-8000-00000000000a}', '2026-03-03Z');
SELECT results_eq(
    $$SELECT transaction_id, finding, times, next_at FROM iap.delivery_checks ORDER BY 1$$,
    $$VALUES
        ('d1' COLLATE "C", 'unknown_to_apple', 1, '2026-03-03 20:00Z'::timestamptz), ('d2', 'sandbox', 1, NULL),
        ('d3', 'another_user', 1, NULL)$$,
    'what Apple does not know yet is asked about again; a token names somebody else than was served');
SELECT results_eq(
    $$SELECT transaction_id, why, user_id FROM finance.delivered_unproved ORDER BY 1$$,
    $$VALUES
        ('d1' COLLATE "C", 'unknown_to_apple', 'anna'), ('d2', 'sandbox', 'anna'), ('d3', 'another_user', 'bert')$$,
    'finance sees them');
SELECT iap.note_checks(
    'com.example.game', 'Production', '{d1}', '{unknown_to_apple}', '{NULL}', '2026-03-04Z')
FROM generate_series(1, 4);
SELECT results_eq(
    $$SELECT times, next_at FROM iap.delivery_checks WHERE transaction_id = 'd1'$$, $$VALUES (5, NULL::timestamptz)$$,
    'five times are enough');
SELECT iap.note_checks(
    'com.example.game', 'Production', '{d1,d3}', '{NULL,NULL}', '{NULL,00000000-0000-4000-8000-00000000000b}',
    '2026-03-05Z');
SELECT results_eq(
    $$SELECT transaction_id FROM iap.delivery_checks ORDER BY 1$$, $$VALUES ('d2' COLLATE "C")$$,
    'what Apple knows, with a token of nobody''s, is no finding any more');
SELECT iap.note_checks(
    'com.example.game', 'Production', '{d3}', '{account_gone}', '{NULL}', '2026-03-05Z');
SELECT results_eq(
    $$SELECT finding, next_at FROM iap.delivery_checks WHERE transaction_id = 'd3'$$,
    $$VALUES ('account_gone', NULL::timestamptz)$$, 'of a customer whose account is gone nothing more is asked');
SELECT is_empty(
    $$SELECT FROM iap.unproved WHERE transaction_id = 'd3'$$, 'and it speaks against nobody');
DELETE FROM iap.delivery_checks WHERE transaction_id = 'd3';
SELECT iap.postpone_questions('com.example.game', 'Production', '{A}', '{d1,d2}', '2026-03-06Z');
SELECT results_eq(
    $$SELECT transaction_id, finding, next_at FROM iap.delivery_checks ORDER BY 1$$,
    $$VALUES
        ('d1' COLLATE "C", 'unanswered', '2026-03-06 20:00Z'::timestamptz), ('d2', 'sandbox', '2026-03-06 20:00Z')$$,
    'where Apple gives no answer, what it said before holds, and it is asked another night');
SELECT set_eq(
    $$SELECT transaction_id FROM iap.unproved$$, ARRAY['d2'], 'which speaks against nobody');
SELECT is(
    (SELECT next_at FROM iap.customers WHERE customer_id = 'A' AND environment = 'Production'), '2026-03-06 20:00Z',
    'a customer as well');
SELECT iap.note_checks('com.example.game', 'Production', '{d1}', '{unknown_to_apple}', '{NULL}', '2026-03-07Z');
SELECT is(
    (SELECT times FROM iap.delivery_checks WHERE transaction_id = 'd1'), 1, 'and no answer is none that is counted');
DELETE FROM iap.delivery_checks WHERE transaction_id = 'd1';
-- A delivery that has its number in common with another app's, and with a tester's, of whom the same was said before.
SELECT is(test.delivered('d10'), 'delivered', 'a delivery');
CREATE TABLE test.twins AS
SELECT * FROM (VALUES ('com.example.other', 'Production'), ('com.example.game', 'Sandbox')) AS twin (app, kind);
INSERT INTO iap.transactions
SELECT (jsonb_populate_record(
    t, jsonb_build_object('bundle_id', app, 'environment', kind, 'user_id', 'bert'))).*
FROM iap.transactions AS t
CROSS JOIN test.twins
WHERE t.transaction_id = 'd10';
INSERT INTO iap.delivery_checks (transaction_id, bundle_id, environment, finding, checked_at, times, next_at)
SELECT 'd10', app, kind, 'unknown_to_apple', '2026-03-01Z', 1, '2026-03-02Z'
FROM (TABLE test.twins UNION ALL VALUES ('com.example.game', 'Production')) AS checked;
INSERT INTO iap.customers (customer_id, bundle_id, environment, transaction_id, last_seen_at, next_at)
SELECT 'T', app, kind, 'd10', '2026-03-01Z', '2026-03-02Z'
FROM (TABLE test.twins UNION ALL VALUES ('com.example.game', 'Production')) AS asked;
INSERT INTO iap.customers (customer_id, bundle_id, environment, transaction_id, last_seen_at, next_at)
VALUES ('TT', 'com.example.game', 'Production', 'd10', '2026-03-01Z', '2026-03-02Z');
SELECT iap.postpone_questions('com.example.game', 'Production', '{T}', '{d10}', '2026-03-07Z');
SELECT is((SELECT next_at FROM iap.customers WHERE customer_id = 'TT'), '2026-03-02Z', 'who was answered is due');
SELECT results_eq(
    $$SELECT bundle_id, environment, known.next_at, checked.next_at
    FROM iap.customers AS known
    JOIN iap.delivery_checks AS checked USING (transaction_id, bundle_id, environment)
    WHERE customer_id = 'T' ORDER BY 1, 2$$,
    $$VALUES
        ('com.example.game' COLLATE "C", 'Production', '2026-03-07 20:00Z'::timestamptz,
            '2026-03-07 20:00Z'::timestamptz),
        ('com.example.game', 'Sandbox', '2026-03-02Z', '2026-03-02Z'),
        ('com.example.other', 'Production', '2026-03-02Z', '2026-03-02Z')$$, 'what is put off is put off there alone');
SELECT set_eq(
    $$SELECT transaction_id, why, user_id FROM finance.delivered_unproved WHERE transaction_id = 'd10'$$,
    $$VALUES ('d10', 'unknown_to_apple', 'anna'), ('d10', 'unknown_to_apple', 'bert')$$,
    'of testers finance is not told');
SELECT iap.note_checks(
    'com.example.game', 'Production', '{d10}', '{NULL}', '{00000000-0000-4000-8000-00000000000a}', '2026-03-07Z');
SELECT results_eq(
    $$SELECT bundle_id, environment, finding FROM iap.delivery_checks WHERE transaction_id = 'd10' ORDER BY 1, 2$$,
    $$VALUES
        ('com.example.game' COLLATE "C", 'Sandbox', 'unknown_to_apple'),
        ('com.example.other', 'Production', 'unknown_to_apple')$$, 'and what Apple knows it knows there alone');
SELECT is_empty(
    $$SELECT FROM finance.delivered_unproved WHERE transaction_id = 'd10' AND user_id = 'anna'$$,
    'whatever it says of a tester');
DELETE FROM iap.delivery_checks WHERE transaction_id = 'd10';
INSERT INTO iap.delivery_checks (transaction_id, bundle_id, environment, finding, checked_at, times)
VALUES ('d10', 'com.example.game', 'Production', 'unknown_to_apple', '2026-03-08Z', 1);
UPDATE iap.transactions SET source = 'server_api'
WHERE transaction_id IN ('d2', 'd10') AND bundle_id = 'com.example.game' AND environment = 'Production';
SELECT is_empty(
    $$SELECT FROM finance.delivered_unproved$$, 'nor is what Apple came to tell of in another way');
SELECT is(test.delivered('d4'), 'delivered', 'a delivery');
UPDATE iap.transactions SET refunded_at = delivered_at - interval '1 day' WHERE transaction_id = 'd4';
SELECT results_eq(
    $$SELECT transaction_id, why FROM finance.delivered_unproved$$,
    $$VALUES ('d4' COLLATE "C", 'refunded_before')$$, 'refunded before it was delivered');

UPDATE iap.transactions SET revocation_percentage = 0 WHERE transaction_id = 'd4';
SELECT is_empty($$SELECT FROM finance.delivered_unproved$$, 'where nothing went back, it was not refunded');
UPDATE iap.transactions SET revocation_percentage = 100000 WHERE transaction_id = 'd4';

CREATE TEMPORARY TABLE heard OF iap.verified;
SELECT is(test.delivered('d5'), 'delivered', 'the server says gems.100');
INSERT INTO heard (
    transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity, purchased_at,
    is_trial, source, verified_at, number)
VALUES (
    'd5', 'com.example.game', 'Production', 'd5', 'gems.500', 'consumable', 1, '2026-03-01Z', false, 'server_api',
    '2026-03-03Z', 0);
SELECT iap.hear_patiently('{0}', (SELECT max(run_id) FROM iap.runs), '2026-03-03Z');
SELECT results_eq(
    $$SELECT transaction_id, why FROM finance.delivered_unproved ORDER BY 1$$,
    $$VALUES ('d4' COLLATE "C", 'refunded_before'), ('d5', 'other_product')$$, 'Apple sold another product');
SELECT is(test.delivered('d6'), 'delivered', 'of another one');
UPDATE heard
SET transaction_id = 'd6', original_transaction_id = 'd6', exclusion = 'refunded',
    refunded_at = now() + interval '1 day';
SELECT iap.hear_patiently('{0}', (SELECT max(run_id) FROM iap.runs), '2026-03-03Z');
SELECT results_eq(
    $$SELECT why, refunded_at > delivered_at FROM finance.delivered_unproved WHERE transaction_id = 'd6'$$,
    $$VALUES ('other_product', true)$$, 'Apple says so with the refund');
SELECT is(test.delivered('d7'), 'delivered', 'one of it, says the server');
UPDATE heard
SET transaction_id = 'd7', original_transaction_id = 'd7', product_id = 'gems.100', quantity = 3, exclusion = NULL,
    refunded_at = NULL;
SELECT iap.hear_patiently('{0}', (SELECT max(run_id) FROM iap.runs), '2026-03-03Z');
SELECT results_eq(
    $$SELECT why, units FROM finance.delivered_unproved WHERE transaction_id = 'd7'$$,
    $$VALUES ('other_quantity', 3)$$, 'Apple sold three');
SELECT iap.import_deliveries(ARRAY[jsonb_populate_record(
    (SELECT ROW(heard.*)::iap.verified FROM heard),
    '{"transaction_id": "d9", "original_transaction_id": "d9", "quantity": 1, "source": "app_server",
    "user_id": "anna", "delivered_at": "2026-03-02Z"}')]);
UPDATE heard SET transaction_id = 'd9', original_transaction_id = 'd9';
SELECT iap.hear_patiently('{0}', (SELECT max(run_id) FROM iap.runs), '2026-03-03Z');
SELECT results_eq(
    $$SELECT quantity, why FROM iap.black LEFT JOIN finance.delivered_unproved USING (transaction_id)
    WHERE transaction_id = 'd9'$$,
    $$VALUES (3, NULL)$$, 'what was imported may not have said how many');
SELECT is(test.delivered('d8'), 'delivered', 'what the customer bought in an app of their own');
UPDATE heard
SET transaction_id = 'd8', original_transaction_id = 'd8', quantity = 1, exclusion = 'foreign_bundle',
    found_bundle_id = 'com.example.z';
SELECT iap.hear_patiently('{0}', (SELECT max(run_id) FROM iap.runs), '2026-03-03Z');
SELECT results_eq(
    $$SELECT why, user_id FROM finance.delivered_unproved WHERE transaction_id = 'd8'$$,
    $$VALUES ('foreign_bundle', 'anna')$$, 'Apple vouches for the receipt, and not for the delivery');
UPDATE heard SET exclusion = NULL, found_bundle_id = NULL;

-- Taking answers ------------------------------------------------------------------------------------------------------

CREATE TEMPORARY TABLE told OF iap.notice;
TRUNCATE heard;
INSERT INTO heard (
    transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity, purchased_at,
    is_trial, source, verified_at, number, refunded_at, exclusion)
VALUES
    ('c1', 'com.example.game', 'Production', 'c1', 'gems.100', 'consumable', 1, '2026-03-01Z', false, 'server_api',
        '2026-03-21Z', 0, '2026-03-20Z', 'refunded'),
    ('new', 'com.example.game', 'Production', 'new', 'gems.100', 'consumable', 1, '2026-03-19Z', false, 'server_api',
        '2026-03-21Z', 1, NULL, NULL);
INSERT INTO told (number, transaction_id, bundle_id, environment, notice_uuid, type, signed_at, heard_by,
    signed_transaction)
VALUES
    (0, 'c1', 'com.example.game', 'Production', 'asked', 'TRANSACTION_HISTORY', '2026-03-21Z', 'question',
        'e30.c1.e30'),
    (1, 'new', 'com.example.game', 'Production', 'asked', 'TRANSACTION_HISTORY', '2026-03-21Z', 'question',
        'e30.n.e30');
-- Of another app, and of a tester, nobody knows what has the same number.
INSERT INTO heard
SELECT (jsonb_populate_record(ROW(heard.*)::iap.verified, other)).*
FROM heard
CROSS JOIN (
    VALUES
        ('{"number": 2, "bundle_id": "com.example.other"}'::jsonb), ('{"number": 3, "environment": "Sandbox"}')
) AS others (other)
WHERE number = 0;
SELECT results_eq(
    $$SELECT unknown, locked, undecided FROM iap.take_answers((SELECT max(run_id) FROM iap.runs), '2026-03-21Z')$$,
    $$VALUES ('{1,2,3}'::integer[], NULL::text[], NULL::text[])$$, 'says what nobody knows');
DELETE FROM heard WHERE number IN (2, 3);
SELECT results_eq(
    $$SELECT place, reason FROM iap.transactions WHERE transaction_id = 'c1'$$, $$VALUES ('excluded', 'refunded')$$,
    'a refund is taken at once');
-- As an answer that came within an hour of a notification of the refund, which may be older, or newer.
CREATE FUNCTION test.answered(at timestamptz) RETURNS text[]
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE heard SET refunded_at = NULL, exclusion = NULL, verified_at = at WHERE transaction_id = 'c1';
    RETURN (SELECT undecided FROM iap.take_answers((SELECT max(run_id) FROM iap.runs), at));
END
$$;
INSERT INTO iap.notices (
    transaction_id, bundle_id, environment, notice_uuid, type, signed_at, heard_at, heard_by, first_run_id)
VALUES ('c1', 'com.example.game', 'Production', 'back', 'REFUND', '2026-03-21Z', '2026-03-21Z', 'history', 1);
SELECT is(test.answered('2026-03-21 00:30Z'), ARRAY['c1'], 'that Apple tells of no refund so soon decides nothing');
SELECT is(test.answered('2026-03-28Z'), NULL, 'a week later it does');
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = 'c1'), 'white', 'and it is owed again');
DELETE FROM iap.notices WHERE notice_uuid = 'back';
-- That another app's, or a tester's, is refunded leaves nothing undecided.
INSERT INTO iap.transactions
SELECT (jsonb_populate_record(
    t, '{"place": "excluded", "reason": "refunded", "excluded_at": "2026-03-21Z", "refunded_at": "2026-03-20Z",
        "refund_run_id": 1}' || other)).*
FROM iap.transactions AS t
CROSS JOIN (VALUES ('{"bundle_id": "com.example.other"}'::jsonb), ('{"environment": "Sandbox"}')) AS others (other)
WHERE t.transaction_id = 'c1';
SELECT is(test.answered('2026-03-29Z'), NULL, 'what is not refunded is decided');
DELETE FROM iap.transactions
WHERE transaction_id = 'c1' AND (bundle_id <> 'com.example.game' OR environment <> 'Production');
SELECT is(iap.hand_in('{1}', '2026-03-21Z'), 1::bigint, 'and the other goes into the inbox');
SELECT results_eq(
    $$SELECT transaction_id, heard_by, receipt_id IS NOT NULL FROM iap.notices$$,
    $$VALUES ('new' COLLATE "C", 'question', true)$$, 'kept as what only Apple told; what was known needs no notice');

-- Of which purchases a customer is known ------------------------------------------------------------------------------

-- What is uploaded again counts as it was uploaded last; which purchases are whose the newest receipt says, though it
-- was read long before they entered, and none of another app or of a tester.
SELECT test.bought(id, at => '2025-06-01Z') FROM unnest(ARRAY['x1', 'x2', 'x3']) AS id;
SELECT test.seen('x1', 1088, '2026-03-31Z'), test.seen('x1', 1152, '2026-04-01Z'),
    test.seen('x2', 1152, '2026-03-31Z'), test.seen('x3', 1088, '2026-03-31Z');
SELECT test.bought(id, at => '2026-04-01Z') FROM unnest(ARRAY['y1', 'y2', 'y3', 'y4']) AS id;
SELECT test.seen('y1', 1216, '2026-03-20Z'), test.seen('y1', 1280, '2026-03-21Z'),
    test.seen('y2', 1280, '2026-03-21Z');
INSERT INTO iap.sightings (
    transaction_id, bundle_id, environment, bucket, receipt_id, user_id, is_named, uploaded_at)
SELECT id, app, environment, 0, 1344, 'anna', false, '2026-03-21Z'
FROM unnest(ARRAY['y3', 'y4']) AS id
CROSS JOIN (VALUES ('com.example.other', 'Production'), ('com.example.game', 'Sandbox')) AS other (app, environment);
-- A clock that is ahead; and a subscription that runs longer than what its customer bought last.
SELECT test.bought('z1', at => '2026-04-02Z');
INSERT INTO iap.customers (
    customer_id, bundle_id, environment, transaction_id, last_seen_at, expires_at, next_at)
VALUES ('Z0', 'com.example.game', 'Production', 'z2', '2026-03-01Z', '2026-06-01Z', '2026-04-08Z');
SELECT test.bought('z2', 'Z0', expires => '2026-04-20Z', at => '2026-04-01Z');
-- Of what was noted before, and is uploaded again, the ledger knows until when it runs.
DELETE FROM iap.customers WHERE customer_id = 'J3';
SELECT test.seen('j3', 1408, '2026-04-01Z');
SELECT test.closed('2026-04-01 01:00Z');
SELECT results_eq(
    $$SELECT customer_id, last_seen_at, expires_at FROM iap.customers
    WHERE customer_id ~ '^[xyz][0-9]$' OR customer_id IN ('Z0', 'J3') ORDER BY 1$$,
    $$VALUES
        ('J3' COLLATE "C", '2026-04-01Z'::timestamptz, '2026-06-01Z'::timestamptz),
        ('Z0', '2026-04-01Z', '2026-06-01Z'), ('x1', '2026-04-01Z', NULL), ('x3', '2026-03-31Z', NULL),
        ('y1', '2026-04-01Z', NULL), ('y3', '2026-04-01Z', NULL), ('y4', '2026-04-01Z', NULL),
        ('z1', '2026-04-01 01:00Z', NULL)$$,
    'who is whose customer, since when, and how long they have subscribed');

-- Prices --------------------------------------------------------------------------------------------------------------

SELECT test.bought('p' || n, price => 990, currency => 'USD', storefront => 'USA', at => '2026-03-21Z')
FROM generate_series(1, 6) AS n;
SELECT test.bought('q' || n, price => 1980, currency => 'USD', storefront => 'USA', quantity => 2, at => '2026-03-21Z')
FROM generate_series(1, 3) AS n;
SELECT test.bought('cheap-early', price => 100, currency => 'USD', storefront => 'USA', at => '2026-03-21Z');
SELECT test.closed('2026-03-22Z');
SELECT results_eq(
    $$SELECT currency, milliunits, purchases FROM iap.paid_prices ORDER BY milliunits$$,
    $$VALUES ('USD', 100::bigint, 1::bigint), ('USD', 990, 9)$$, 'prices are of one unit');
SELECT results_eq(
    $$SELECT transaction_id, usual_milliunits, usual_currency FROM iap.unusual_prices$$,
    $$VALUES ('cheap-early' COLLATE "C", 990::bigint, 'USD')$$, 'less than half of the usual price');
SELECT test.bought('other', price => 990, currency => 'TRY', storefront => 'USA', at => '2026-03-22Z');
SELECT test.bought('dear', price => 5990, currency => 'USD', storefront => 'USA', at => '2026-03-22Z');
SELECT test.bought('plain', price => 990, currency => 'USD', storefront => 'USA', at => '2026-03-22Z');
SELECT test.bought('elsewhere', price => 10, currency => 'TRY', storefront => 'TUR', at => '2026-03-22Z');
SELECT test.bought('offer', price => 10, currency => 'USD', storefront => 'USA', expires => '2026-05-01Z',
    at => '2026-03-22Z');
SELECT test.closed('2026-03-23Z');
SELECT set_eq(
    $$SELECT transaction_id FROM iap.unusual_prices$$, $$VALUES ('cheap-early'), ('other')$$,
    'another currency; not what is dearer, what few bought elsewhere, or an offer');
SELECT test.closed('2026-03-24Z');
SELECT is((SELECT sum(purchases) FROM iap.paid_prices), 14::numeric, 'each purchase is counted once');
SELECT test.bought('late', price => 100, currency => 'USD', storefront => 'USA', at => '2026-09-21Z');
SELECT test.closed('2026-09-22Z');
SELECT is_empty(
    $$SELECT FROM iap.unusual_prices WHERE transaction_id = 'late'$$, 'what was usual half a year ago says nothing');

-- Whose price says nothing of the usual one: what is given away, withdrawn, of a tester, of another app, of a shop that
-- is not known, or of fewer than ten.
SELECT test.bought('france-' || n, price => 990, currency => 'EUR', storefront => 'FRA', at => '2026-10-01Z')
FROM generate_series(1, 8) AS n;
SELECT test.bought('full', price => 990, currency => 'EUR', storefront => 'FRA', at => '2026-10-01Z',
    type => 'non_consumable');
SELECT test.bought('few', price => 100, currency => 'EUR', storefront => 'FRA', at => '2026-10-01Z',
    type => 'non_renewing');
SELECT test.bought('free-' || n, price => 0, currency => 'EUR', storefront => 'FRA', at => '2026-10-01Z'),
    test.bought('gone-' || n, price => 1, currency => 'EUR', storefront => 'FRA', at => '2026-10-01Z',
        exclusion => 'family_shared'),
    test.bought('tester-' || n, price => 1, currency => 'EUR', storefront => 'FRA', at => '2026-10-01Z',
        environment => 'Sandbox'),
    test.bought('beside-' || n, price => 1, currency => 'EUR', storefront => 'FRA', at => '2026-10-01Z',
        bundle_id => 'com.example.other'),
    test.bought('shop-' || n, price => 1, currency => 'EUR', at => '2026-10-01Z')
FROM generate_series(1, 12) AS n;
DELETE FROM iap.transactions WHERE transaction_id = 'france-8';
INSERT INTO iap.paid_prices
SELECT 'com.example.other', product_id, 'FRA', '2026-10-01', 'EUR', 1, 1000 FROM iap.paid_prices LIMIT 1;
SELECT test.closed('2026-10-02Z');
SELECT results_eq(
    $$SELECT milliunits, purchases FROM iap.paid_prices
    WHERE storefront = 'FRA' AND bundle_id = 'com.example.game' ORDER BY 1$$,
    $$VALUES (100::bigint, 1::bigint), (990, 8)$$, 'counted is what was sold, of whatever type but subscriptions');
SELECT is_empty(
    $$SELECT FROM iap.unusual_prices WHERE found_at = '2026-10-02Z'$$, 'of nine nobody can say what is usual');
-- What the books had not seen is for the next night.
INSERT INTO iap.runs (as_of, started_at, host, process_id, program_version)
VALUES ('2026-10-03Z', '2026-10-03Z', 'h', 1, '1') RETURNING run_id \gset
SELECT test.bought('beside', price => 1, currency => 'EUR', storefront => 'FRA', at => '2026-10-02Z',
    bundle_id => 'com.example.other');
SELECT test.bought('ten', price => 100, currency => 'EUR', storefront => 'FRA', at => '2026-10-02Z');
SELECT iap.close_books(:run_id);
SELECT test.bought('eleven', price => 100, currency => 'EUR', storefront => 'FRA', at => '2026-10-02Z');
SELECT iap.note_entered('com.example.game', 'Production', '7 days', '2026-09-01Z', '2026-10-03Z');
SELECT set_eq(
    $$SELECT transaction_id FROM iap.unusual_prices WHERE found_at = '2026-10-03Z'$$, $$VALUES ('ten')$$,
    'of ten it can be said');
SELECT test.closed('2026-10-04Z');
SELECT is(
    (SELECT purchases FROM iap.paid_prices WHERE storefront = 'FRA' AND milliunits = 100), 3::bigint,
    'and that is counted once, too');
-- Usual is one currency of a storefront: that in which most was paid, however dear.
SELECT test.bought('franc-' || n, price => 990, currency => 'CHF', storefront => 'CHE', at => '2026-10-04Z')
FROM generate_series(1, 12) AS n;
SELECT test.bought('foreign-' || n, price => 10, currency => 'EUR', storefront => 'CHE', at => '2026-10-04Z')
FROM generate_series(1, 10) AS n;
SELECT test.closed('2026-10-05Z');
SELECT results_eq(
    $$SELECT count(*), count(*) FILTER (WHERE transaction_id LIKE 'foreign-%'), min(usual_currency)
    FROM iap.unusual_prices WHERE found_at = '2026-10-05Z'$$,
    $$VALUES (10::bigint, 10::bigint, 'CHF')$$, 'what others paid in is not');

-- Who has their money back is a customer, too. So is whose purchase was excluded when it entered, once it is not.
SELECT test.bought('back', 'Q1', at => '2026-10-05Z', exclusion => 'refunded'),
    test.bought('old', 'Q2', at => '2026-10-05Z', exclusion => 'before_start'),
    test.bought('older', 'Q3', at => '2026-10-05Z', exclusion => 'before_start');
SELECT test.closed('2026-10-06Z');
SELECT results_eq(
    $$SELECT customer_id FROM iap.customers WHERE customer_id ~ '^Q' ORDER BY 1$$, $$VALUES ('Q1' COLLATE "C")$$,
    'whoever was refunded is asked about');
SELECT is(
    iap.release_unread('com.example.game', 'Production', '{old}', :run_id, '2026-10-07Z'), 1::bigint,
    'a setting is mended');
SELECT test.closed('2026-10-07Z');
SELECT results_eq(
    $$SELECT customer_id, next_at FROM iap.customers WHERE customer_id ~ '^Q' ORDER BY 1$$,
    $$VALUES ('Q1' COLLATE "C", '2026-10-12Z'::timestamptz), ('Q2', '2026-10-12Z')$$,
    'and whose purchase is owed by that is, too');

SELECT * FROM finish();
ROLLBACK;
