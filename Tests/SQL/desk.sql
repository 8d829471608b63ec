-- The support desk's own words: adopting by Apple's signature, who is on a case, comments.
BEGIN;
SELECT plan(98);
SET search_path = iap, test, public;

CREATE FUNCTION test.bought(id text, more jsonb DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
    SELECT test.signed(jsonb_build_object(
        'transactionId', id, 'originalTransactionId', id, 'bundleId', 'com.example.game', 'productId', 'gems.100',
        'purchaseDate', 1772323200000, 'quantity', 2, 'environment', 'Production') || more)
$$;

SELECT is(
    iap.adopt('com.example.game', test.bought('a1'), 'anna', 'desk', 'she sent the invoice'), 'white',
    'a purchase that never came is taken into the ledger');
SELECT results_eq(
    $$SELECT place, product_id, quantity, purchased_at, admitted_user_id, source::text FROM iap.transactions$$,
    $$VALUES ('white', 'gems.100' COLLATE "C", 2, '2026-03-01Z'::timestamptz, 'anna', 'app_server')$$,
    'as Apple signed it; the night verifies it');
SELECT results_eq(
    $$SELECT user_id, state, transaction_id FROM iap.receipts$$, $$VALUES ('anna', 'waiting', 'a1')$$,
    'for what was signed is in the inbox');
SELECT is(
    iap.adopt('com.example.game', test.bought('a1'), 'anna', 'desk', 'again'), 'already_white',
    'again changes nothing');
SELECT results_eq(
    $$SELECT kind, actor, details ->> 'user_id', details ->> 'note' FROM iap.events WHERE transaction_id = 'a1'$$,
    $$VALUES ('adopted', 'desk', 'anna', 'she sent the invoice')$$, 'the desk''s word is kept, once');
SELECT is(iap.resolve('a1', 'delivered', 'desk', 'by hand'), 'delivered', 'it can be resolved');
SELECT is(iap.claim('com.example.game', 'a1', 'anna', NULL), 'already_delivered', 'and is never claimed again');
SELECT is(
    iap.adopt('com.example.game', test.bought('a1'), 'anna', 'desk', 'again'), 'already_delivered', 'nor adopted');
SELECT is(
    iap.adopt('com.example.game', test.bought('a1'), 'ben', 'desk', 'again'), 'already_delivered', 'by nobody else');
SELECT is_empty(
    $$SELECT FROM iap.events WHERE kind = 'adopted' AND details ->> 'user_id' = 'ben'$$, 'of whom nothing is kept');
SELECT is(
    iap.adopt('com.example.game', test.bought('a2', '{"revocationDate": 1772323300000}'), 'anna', 'desk', 'x'),
    'refunded', 'what Apple refunded is not owed');
SELECT is_empty($$SELECT FROM iap.transactions WHERE transaction_id = 'a2'$$, 'and is not taken');
SELECT is(
    iap.adopt('com.example.game', test.bought('a5', more), 'anna', 'desk', 'x'), 'excluded', why)
FROM (
    VALUES
        ('{"inAppOwnershipType": "FAMILY_SHARED"}'::jsonb, 'what somebody of the family paid is not owed'),
        ('{"inAppOwnershipType": "ASSIGNED"}', 'nor a seat that a group or an organization paid'),
        (
            '{"inAppOwnershipType": "FAMILY_SHARED", "revocationDate": 1772323300000}',
            'nor refunded, when that ends'),
        ('{"isUpgraded": true}', 'nor what an upgrade took the place of')) AS signed (more, why);
SELECT is_empty($$SELECT FROM iap.transactions WHERE transaction_id = 'a5'$$, 'and is not taken either');
SELECT throws_ok(
    $$SELECT iap.adopt('com.example.other', test.bought('a3'), 'anna', 'desk', 'x')$$, '22023',
    'transaction a3 is of the app com.example.game', 'another app''s');
SELECT throws_ok(
    format('SELECT iap.adopt(%L, %L, %L, %L, %L)', 'com.example.game', text, 'anna', 'desk', 'x'), '22023',
    'signed_transaction is no signed transaction of Apple''s', 'what can''t be a signed transaction')
FROM (
    VALUES
        ('x'), ('a.b.c'), ('e30.!!!!.x'), (test.signed('{}')), (test.signed('[]')),
        (test.signed(to_jsonb(1)) || 'x'), ('e30.' || rtrim(translate(
            encode(convert_to(repeat('[', 60000) || repeat(']', 60000), 'UTF8'), 'base64'), E'+/\n', '-_'),
            '=') || '.x'),
        (test.bought('a6', '{"transactionId": null}')), (test.bought('a6', '{"bundleId": null}')),
        (test.bought('a6', '{"productId": null}')), (test.bought('a6', '{"purchaseDate": 1e300}')),
        (test.bought('a6', '{"purchaseDate": -1}')),
        (test.bought('a6', '{"quantity": 1.5}')), (test.bought('a6', '{"quantity": 3000000000}')),
        -- Cut short, or with more than belongs to it.
        (regexp_replace(test.bought('a6'), '\.[^.]*$', '')), (test.bought('a6') || '.c2ln'),
        (regexp_replace(test.bought('a6'), '[^.]*$', ''))) AS garbage (text);
SELECT is(
    iap.adopt('com.example.game', test.bought('a7', '{"revocationDate": null, "quantity": null}'), 'anna', 'desk', 'x'),
    'white', 'a null says nothing');
SELECT throws_ok(
    $$SELECT iap.adopt('com.example.game', test.bought('a4'), '', 'desk', 'x')$$, '22023', NULL, 'for nobody');
SELECT throws_ok(
    $$SELECT iap.adopt(NULL, test.bought('a4'), 'anna', 'desk', 'x')$$, '22023', 'bundle_id is not an id of Apple''s',
    'of no app');

-- A period under another id than that by which Apple told of it first.
SELECT test.hear_period('p1', 'p1', 'w1'), test.hear_period('r1', 'r1', 'w2', exclusion => 'refunded');
SELECT is(test.claim('p1'), 'delivered', 'a period is delivered');
SELECT is(
    iap.adopt(
        'com.example.a',
        test.bought(id, jsonb_build_object(
            'originalTransactionId', original, 'bundleId', 'com.example.a', 'productId', 'pass',
            'webOrderLineItemId', line_item)),
        'ann', 'desk', 'she sent another invoice'), outcome, why)
FROM (
    VALUES
        ('p2', 'p1', 'w1', 'already_delivered', 'under another id it is not owed again'),
        ('r2', 'r1', 'w2', 'excluded', 'nor one that was refunded'),
        ('p3', 'p1', 'w3', 'white', 'and the next period is')) AS signed (id, original, line_item, outcome, why);
SELECT results_eq(
    $$SELECT transaction_id COLLATE "default" FROM iap.transactions WHERE transaction_id IN ('p2', 'r2', 'p3')$$,
    $$VALUES ('p3')$$, 'which alone is taken');
-- What Apple signed says that it is bought once, also where no list does.
SELECT test.hear(test.heard('u1', 'server_api', 'unlisted', product_type => 'non_consumable')), test.claim('u1');
SELECT is(
    iap.adopt(
        'com.example.a',
        test.bought('u2', '{"originalTransactionId": "u1", "bundleId": "com.example.a", "productId": "unlisted",
            "type": "Non-Consumable"}'),
        'ann', 'desk', 'she sent another invoice'),
    'already_delivered', 'what was restored under another id is not owed again either');
SELECT is_empty($$SELECT FROM iap.transactions WHERE transaction_id = 'u2'$$, 'and not taken');
-- What is bought once was refunded under another id, whatever the list of products knows of it.
SELECT test.hear(test.heard(
    'n1', 'server_api', 'lifetime', product_type => 'non_consumable', exclusion => 'refunded', refunded_at => now(),
    bundle_id => 'com.example.game'));
SELECT is(
    iap.adopt(
        'com.example.game',
        test.bought(
            'n2', '{"originalTransactionId": "n1", "productId": "lifetime", "type": "Non-Consumable", "quantity": 1}'),
        'anna', 'desk', 'x'),
    'excluded', 'what was refunded under another id is not owed');
SELECT is_empty($$SELECT FROM iap.transactions WHERE transaction_id = 'n2'$$, 'nor taken');
SELECT test.hear(test.heard(
    'm1', 'server_api', 'lifetime', product_type => 'non_consumable', bundle_id => 'com.example.game'));
SELECT is(
    iap.resolve('m1', 'dismissed', 'sue', 'a tester', 'com.example.game'), 'dismissed', 'what the desk dismissed');
SELECT is(
    iap.adopt(
        'com.example.game',
        test.bought(
            'm2', '{"originalTransactionId": "m1", "productId": "lifetime", "type": "Non-Consumable", "quantity": 1}'),
        'anna', 'desk', 'x'),
    'excluded', 'is not owed under another id either');
SELECT is_empty($$SELECT FROM iap.transactions WHERE transaction_id = 'm2'$$, 'nor taken as that');
SELECT is_empty($$SELECT FROM iap.uploads WHERE transaction_id = 'm2'$$, 'and nothing waits for a night');
SELECT is(
    iap.adopt('com.example.game', test.bought('n3', '{"originalTransactionId": null}'), 'anna', 'desk', 'x'), 'white',
    'what names no original');
SELECT is((SELECT original_transaction_id FROM iap.white WHERE transaction_id = 'n3'), 'n3', 'is its own');

-- Of what is adopted the ledger knows the period, and so owes it under no other id.
SELECT is(
    test.run_as('iap_app',
        $$SELECT iap.admit('com.example.a', 'Production', 'p4', 'p1', 'pass', 1, now(), 'ann', NULL, 'w3')$$),
    'white', 'the period that was adopted, under another id');
SELECT is(test.claim('p3'), 'delivered', 'is delivered by its claim');
SELECT is(test.claim('p4'), 'already_delivered', 'and once');
SELECT is(
    iap.adopt('com.example.game', test.bought('a8', '{"webOrderLineItemId": "0"}'), 'anna', 'desk', 'x'), 'white',
    'what is no subscription');
SELECT is(
    (SELECT web_order_line_item_id FROM iap.transactions WHERE transaction_id = 'a8'), NULL, 'is of no period');

-- Each of several purchases that make up a period was paid, whatever line item they share.
INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.example.a', 'pass', 'auto_renewable', 'Pass');
SELECT is(
    iap.adopt(
        'com.example.a',
        test.bought('s1', jsonb_build_object(
            'originalTransactionId', 'p1', 'bundleId', 'com.example.a', 'productId', 'pass', 'webOrderLineItemId', 'w1',
            'additionalTransactionReason', 'SEAT_ADDITION')),
        'ann', 'desk', 'she added seats'), 'white', 'seats that were added to a delivered period are owed');
SELECT is(test.claim('s1'), 'delivered', 'and delivered');

-- What was granted before anybody told the ledger of it is given to nobody by hand.
INSERT INTO iap.products (bundle_id, product_id, type, name)
VALUES ('com.example.game', 'pass', 'auto_renewable', 'Pass');
SELECT iap.entitle('com.example.game', 'g1', 'anna', now() + interval '30 days');
SELECT is(
    iap.adopt(
        'com.example.game', test.bought('g1', jsonb_build_object(
            'productId', 'pass', 'webOrderLineItemId', 'w9', 'purchaseDate', floor(extract(epoch FROM now()) * 1000))),
        'anna', 'desk', 'x'),
    'already_delivered', 'what was granted');
SELECT is(iap.cover_entitled(1, now(), 10), 1::bigint, 'the night takes as delivered');

SELECT iap.adopt('com.example.game', test.bought('t1'), 'anna', 'desk', 'x');
SELECT is((iap.take('t1', 'anna')).outcome, 'no_open_case', 'only an open case can be taken');
INSERT INTO iap.runs (as_of, started_at, host, process_id, program_version) VALUES (now(), now(), 'h', 1, '1');
INSERT INTO iap.cases (
    transaction_id, bundle_id, environment, likelihood, reasons, action, owner_user_ids, opened_at, opened_run_id,
    assessed_at, assessed_run_id)
VALUES (
    't1', 'com.example.game', 'Production', 'high', '{never_claimed}', 'deliver', '{anna}', now(), 1, now(), 1);
SELECT set_config('iap.present', '2026-04-01T10:00Z', true);
INSERT INTO iap.case_takings (transaction_id, bundle_id, environment, taken_by, taken_at)
VALUES
    ('t1', 'com.example.other', 'Production', 'zoe', '2026-04-01T09:00Z'),
    ('t1', 'com.example.game', 'Sandbox', 'zoe', '2026-04-01T09:00Z');
SELECT is((iap.take('a1', 'eve')).outcome, 'no_open_case', 'and none by that of another');
INSERT INTO iap.cases SELECT (jsonb_populate_record(cases, other)).*
FROM iap.cases
CROSS JOIN (
    VALUES
        ('{"transaction_id": "a7", "bundle_id": "com.example.other"}'::jsonb),
        ('{"transaction_id": "a8", "environment": "Sandbox"}'),
        (
            '{"transaction_id": "a1", "state": "closed", "closed_at": "2026-04-01T09:00Z", "closed_as": "delivered",
            "closed_by": "sue"}')
) AS others (other);
SELECT is((iap.take(id, 'eve')).outcome, 'no_open_case', 'nor by ' || whose)
FROM (VALUES ('a7', 'another app''s'), ('a8', 'a tester''s'), ('a1', 'one that is closed')) AS known (id, whose);
SELECT throws_ok(call, '22023', message, 'by whom, and which, must be said')
FROM (
    VALUES
        ($$SELECT iap.take('t1', '')$$, 'who is missing'),
        ($$SELECT iap.take('', 'eve')$$, 'transaction_id is not an id of Apple''s')
) AS calls (call, message);
SELECT set_config('idle_in_transaction_session_timeout', '0', true);
SELECT results_eq(
    $$SELECT outcome, taken_by, taken_at FROM iap.take('t1', 'eve')$$,
    $$VALUES ('taken', 'eve', '2026-04-01T10:00Z'::timestamptz)$$, 'a case is taken');
SELECT is(
    current_setting('idle_in_transaction_session_timeout'), '5min', 'who takes one and hangs lets go of it by itself');
SELECT iap.adopt('com.example.game', test.bought('t2'), 'anna', 'desk', 'x');
INSERT INTO iap.cases SELECT (jsonb_populate_record(cases, '{"transaction_id": "t2"}')).* FROM iap.cases
WHERE transaction_id = 't1';
SELECT is((iap.take('t2', 'bob')).outcome, 'taken', 'and so is another');
SELECT results_eq(
    $$SELECT outcome, taken_by, taken_at FROM iap.take('t1', 'bob')$$,
    $$VALUES ('taken_already', 'eve', '2026-04-01T10:00Z'::timestamptz)$$, 'once');
SELECT set_config('iap.present', '2026-04-01T11:00Z', true);
SELECT results_eq(
    $$SELECT outcome, taken_by, taken_at FROM iap.take('t1', 'eve')$$,
    $$VALUES ('taken', 'eve', '2026-04-01T10:00Z'::timestamptz)$$, 'who is on it already');
SELECT results_eq(
    $$SELECT taken_by, taken_at FROM iap.case_takings WHERE transaction_id = 't1' AND taken_by <> 'zoe'$$,
    $$VALUES ('eve', '2026-04-01T10:00Z'::timestamptz)$$, 'stays so since then');
SELECT set_config('iap.present', '2026-04-02T09:59:59Z', true);
SELECT is((iap.take('t1', 'bob')).outcome, 'taken_already', 'for a day');
SELECT set_config('iap.present', '2026-04-02T10:00Z', true);
SELECT is((iap.take('t1', 'bob')).outcome, 'taken', 'until it has passed');
SELECT results_eq(
    $$SELECT taken_by, taken_at FROM iap.case_takings WHERE transaction_id = 't1' AND taken_by <> 'zoe'$$,
    $$VALUES ('bob', '2026-04-02T10:00Z'::timestamptz)$$, 'who is on it is seen, and since when');
SELECT is((iap.take('t1', 'eve', is_freeing => true)).outcome, 'freed', 'and anybody of the desk can free it');
SELECT results_eq(
    $$SELECT transaction_id, taken_by FROM iap.case_takings ORDER BY 1, 2$$,
    $$VALUES ('t1' COLLATE "C", 'zoe'), ('t1', 'zoe'), ('t2', 'bob')$$, 'but no other by that');
SELECT is(iap.note('t1', 'called her', 'eve'), 'noted', 'a comment');
SELECT results_eq(
    $$SELECT kind, actor FROM iap.events WHERE transaction_id = 't1' ORDER BY event_id$$,
    $$VALUES ('adopted', 'desk'), ('taken', 'eve'), ('taken', 'bob'), ('freed', 'eve'), ('noted', 'eve')$$,
    'all of it is in the trail');
SELECT is(iap.note('nobody', 'x', 'eve'), 'not_verified', 'on what nobody knows there is no comment');

-- Whose it is the desk may say of several.
SELECT is(
    iap.adopt('com.example.game', test.bought('a9'), 'anna', 'desk', 'x'), 'white', 'adopted for one user');
SELECT is(
    iap.adopt('com.example.game', test.bought('a9'), 'ben', 'desk', 'x'), 'already_white', 'and for another');
SELECT results_eq(
    $$SELECT details ->> 'user_id' FROM iap.events WHERE transaction_id = 'a9' ORDER BY event_id$$,
    $$VALUES ('anna'), ('ben')$$, 'each word of it is kept');

SELECT iap.adopt('com.example.game', test.bought('a9'), 'anna', 'desk', 'x'),
    iap.adopt('com.example.game', test.bought('b2', '{"environment": "Sandbox"}'), 'anna', 'desk', 'x'),
    iap.adopt('com.example.game', test.bought('b2'), 'anna', 'desk', 'x');
SELECT results_eq(
    $$SELECT transaction_id, environment, details ->> 'user_id' FROM iap.events
    WHERE transaction_id IN ('a9', 'b2') ORDER BY event_id$$,
    $$VALUES
        ('a9' COLLATE "C", 'Production', 'anna'), ('a9', 'Production', 'ben'), ('a9', 'Production', 'anna'),
        ('b2', 'Sandbox', 'anna'), ('b2', 'Production', 'anna')$$,
    'also where it returns to the first, and of a tester''s purchase of the same id');
-- For another than the server has admitted it for.
SELECT iap.admit('com.example.game', 'Production', 'b1', 'b1', 'gems.100', 1, '2026-03-01Z', 'ben');
SELECT iap.adopt('com.example.game', test.bought('b1'), 'anna', 'desk', 'x');
SELECT is(iap.redeliver('b1', 'desk', 'x'), 'several_owners', 'who the desk says did not buy it gets no redelivery');
SELECT is(iap.resolve('b1', 'delivered', 'desk', 'by hand'), 'several_owners', 'nor is it taken for theirs');
SELECT is(iap.claim('com.example.game', 'b1', who), 'undecided', 'nor given to ' || who)
FROM unnest(ARRAY['anna', 'ben']) AS who;
SELECT results_eq(
    $$SELECT transaction_id, is_certain FROM iap.owed('com.example.game', 'anna') WHERE transaction_id = 'b1'$$,
    $$VALUES ('b1', false)$$, 'whom the desk names hears of it');
SELECT is(
    iap.resolve('b1', 'delivered', 'desk', 'by hand', user_id => 'anna'), 'delivered', 'and the desk decides');

-- By the invoice of a restored id: for the purchase, as it is owed.
INSERT INTO iap.products (bundle_id, product_id, type, name)
VALUES ('com.example.game', 'full', 'non_consumable', 'Full version');
SELECT iap.admit('com.example.game', 'Production', 'r1', 'r1', 'full', 1, '2026-03-01Z', 'ben');
SELECT test.hear(test.heard(
    'r2', product_id => 'full', original_transaction_id => 'r1', exclusion => 'restored',
    bundle_id => 'com.example.game'));
SELECT iap.adopt(
    'com.example.game', test.bought('r2', '{"originalTransactionId": "r1", "productId": "full"}'), 'anna', 'desk', 'x')
FROM generate_series(1, 2);
SELECT results_eq(
    $$SELECT transaction_id, details ->> 'user_id' FROM iap.events
    WHERE kind = 'adopted' AND transaction_id IN ('r1', 'r2')$$,
    $$VALUES ('r1' COLLATE "C", 'anna')$$, 'the desk''s word is of what is owed, once');
SELECT is(iap.claim('com.example.game', id, 'ben'), 'undecided', 'whom the server names does not get it by ' || id)
FROM unnest(ARRAY['r1', 'r2']) AS id;

-- Another session holds it, and does not end.
CREATE OR REPLACE FUNCTION iap.locked(bundle_id text, environment text, transaction_id text) RETURNS iap.transactions
LANGUAGE plpgsql AS $$
BEGIN
    RAISE lock_not_available USING MESSAGE = 'canceling statement due to lock timeout';
END
$$;
SELECT throws_ok(
    $$SELECT iap.adopt('com.example.game', test.bought('a9'), 'anna', 'desk', 'x')$$, '55P03',
    'canceling statement due to lock timeout', 'what is locked is not said to be excluded');
SELECT results_eq(
    $$SELECT place FROM iap.transactions WHERE transaction_id = 'a9'$$, $$VALUES ('white')$$,
    'it is owed all the same');

SELECT * FROM finish();
ROLLBACK;
