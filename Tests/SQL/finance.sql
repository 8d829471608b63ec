-- The views of schema finance, read as finance reads them.
BEGIN;
SELECT no_plan();

INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.example.a', 'gift', 'consumable', 'Gift');

-- Unclaimed liability: by day, product and currency, at Apple's price or else the list's.
SELECT test.admit('1', quantity => 2), test.admit('2'), test.admit('3'), test.admit('4', product_id => 'gift'),
    test.admit('5', environment => 'Sandbox'), test.admit('6', product_id => 'unheard.of'), test.admit('7');
SELECT test.hear(test.heard('3', price_milliunits => 7000, currency => 'CNY')),
    test.hear(test.heard('7', is_trial => true));
SELECT results_eq(
    $$SELECT product_id, product_name, currency, price_source, transactions, units, amount
    FROM finance.unclaimed_liability ORDER BY 1, 4$$,
    $$VALUES
        ('gems' COLLATE "C", '60 Gems', 'CNY', 'apple', 1::bigint, 1::bigint, 7.000),
        ('gems', '60 Gems', 'USD', 'list', 2, 3, 2.970),
        ('gems', '60 Gems', 'USD', 'trial', 1, 1, 0.000),
        ('gift', 'Gift', NULL, 'unknown', 1, 1, NULL),
        ('unheard.of', NULL, NULL, 'unknown', 1, 1, NULL)$$, 'what is owed, without the sandbox');
DELETE FROM iap.white WHERE transaction_id <> '1';
CREATE FUNCTION test.ageing(days integer) RETURNS text
LANGUAGE sql AS $$
    UPDATE iap.white SET purchased_at = date_trunc('day', now()) + interval '12 hours' - days * interval '1 day';
    SELECT test.run_as('iap_finance', 'SELECT age_days || '': '' || ageing FROM finance.unclaimed_liability')
$$;
SELECT is(test.ageing(days), days || ': ' || ageing, days || ' days')
FROM (
    VALUES
        (0, '0-1'), (1, '0-1'), (2, '2-7'), (7, '2-7'), (8, '8-30'), (30, '8-30'), (31, '31-90'), (90, '31-90'),
        (91, 'over 90'), (1000, 'over 90')
) AS expected (days, ageing);
SELECT is(test.ageing(-1), '0: 0-1', 'a purchase that the clock puts into the future');
SELECT is(
    test.run_as('iap_finance', 'SELECT amount FROM finance.unclaimed_liability'), '1.980', 'finance reads the amount');

-- Deliveries and refunds.
SELECT test.admit('8', quantity => 3), test.admit('9'), test.claim('8'), test.claim('9', 'ann', 'order-9');
SELECT test.admit('10'), test.resolve('10', 'delivered');
SELECT test.exclude('9', 'refunded');
UPDATE iap.black SET refund_reason = '1' WHERE transaction_id = '9';
SELECT results_eq(
    $$SELECT delivery_day, product_id, currency, delivered_by, transactions, units, amount
    FROM finance.deliveries ORDER BY delivered_by$$,
    $$VALUES
        (current_date, 'gems' COLLATE "C", 'USD', 'claim', 2::bigint, 4::bigint, 3.960),
        (current_date, 'gems', 'USD', 'resolved', 1, 1, 0.990)$$, 'what was delivered, and by whom');
SELECT results_eq(
    $$SELECT transaction_id, user_id, order_id, units, amount, refund_reason FROM finance.refunds_after_delivery$$,
    $$VALUES ('9' COLLATE "C", 'ann', 'order-9', 1, 0.990, '1')$$, 'what was refunded after its delivery');

SELECT results_eq(
    'SELECT transactions, units FROM finance.unclaimed_liability', 'VALUES (1::bigint, 2::bigint)',
    'neither is owed any more');

-- What is known of a refund, and who said so.
SELECT test.admit('11'), test.admit('12'), test.admit('13'), test.admit('14'), test.resolve('11', 'refunded'),
    test.resolve('12', 'refunded'), test.resolve('13', 'dismissed');
SELECT test.exclude('12', 'refunded'), test.exclude('13', 'refunded');
SELECT test.hear(test.heard(
    '14', exclusion => 'refunded', refunded_at => now(), revocation_type => 'REFUND_PRORATED',
    revocation_percentage => 33333, price_milliunits => 3000));
SELECT results_eq(
    $$SELECT transaction_id, is_by_support, refund_percent, amount, paid
    FROM finance.refunds_before_delivery ORDER BY transaction_id$$,
    $$VALUES
        ('11' COLLATE "C", true, 100.000, 0.990, 0.990), ('12', false, 100.000, 0.990, 0.990),
        ('14', false, 33.333, 1.000, 3.000)$$, 'what was never delivered, and not what is not owed for another reason');
SELECT results_eq(
    $$SELECT refunded, transactions, units, amount FROM finance.refunds ORDER BY refunded, price_source$$,
    $$VALUES
        ('after delivery', 1::bigint, 1::bigint, 0.990), ('before delivery', 1, 1, 1.000),
        ('before delivery', 2, 2, 1.980)$$, 'together by day');

-- What is shared in a family was paid by another: that it ends is no refund.
SELECT test.admit('15', product_id => 'full'), test.claim('15');
SELECT test.hear(test.heard(
    '15', 'server_api', 'full', exclusion => 'family_shared', refunded_at => now(),
    revocation_type => 'FAMILY_REVOKE'));
SELECT is_empty(
    $$SELECT FROM finance.refunds_after_delivery WHERE transaction_id = '15'$$, 'no money goes back when sharing ends');
SELECT results_eq(
    $$
    SELECT place, price_source, amount, is_sold
    FROM finance.purchases
    JOIN iap.counted USING (transaction_id, bundle_id, product_id, place, amount)
    WHERE transaction_id = '15'
    $$,
    $$VALUES ('black', 'shared', 0.000, false)$$, 'nobody paid for what was delivered');
SELECT results_eq(
    $$
    SELECT kind, from_place, to_place, from_booked_as, from_milliunits, to_booked_as, to_milliunits
    FROM iap.moves
    WHERE transaction_id = '15'
    ORDER BY move_id DESC
    LIMIT 1
    $$,
    $$VALUES ('corrected', 'black', 'black', 'list', 4990::bigint, 'shared', 0::bigint)$$,
    'and what was booked for it is taken back');
-- A word that knows of no sharing takes nothing back, and neither does an import.
SELECT test.hear(test.heard('15', 'server_api', 'full', price_milliunits => 12990));
SELECT is(
    (SELECT booked_as FROM iap.transactions WHERE transaction_id = '15'), 'shared', 'by whatever word comes next');

-- Also where a word that knows of no sharing told before that it is over.
SELECT test.admit('21', product_id => 'full'), test.claim('21'), test.hear(test.heard('22', 'local', 'full'));
SELECT test.hear(test.heard(id, 'local', 'full', exclusion => 'refunded', refunded_at => now())),
    test.hear(test.heard(
        id, 'server_api', 'full', exclusion => 'family_shared', refunded_at => now(),
        revocation_type => 'FAMILY_REVOKE', verified_at => now() + interval '1 hour'))
FROM unnest(ARRAY['21', '22']) AS id;
SELECT results_eq(
    $$SELECT coalesce(reason, place) FROM iap.transactions WHERE transaction_id IN ('21', '22')
    ORDER BY transaction_id$$,
    $$VALUES ('black'), ('family_shared')$$, 'delivered, and not owed');
SELECT is_empty(
    $$SELECT refunded_at FROM finance.refunds_after_delivery WHERE transaction_id = '21'
    UNION ALL
    SELECT refunded_at FROM finance.refunds_before_delivery WHERE transaction_id = '22'$$, 'neither is refunded');
-- And where a company delivered it.
SELECT test.hear(test.heard(
    '23', 'server_api', 'full', exclusion => 'family_shared', refunded_at => now(),
    revocation_type => 'FAMILY_REVOKE'));
SELECT test.import(test.heard('23', product_id => 'full'));
SELECT is_empty(
    $$SELECT FROM finance.refunds_after_delivery WHERE transaction_id = '23'$$, 'nor is that, imported');
SELECT is_empty($$SELECT FROM finance.unexplained WHERE product_id = 'full'$$, 'as the moves say');

-- Prices of the list that come later change no history, also where the quantity is told later.
SELECT test.admit('16'), test.admit('17');
UPDATE iap.products SET list_price_milliunits = 5000, currency = 'EUR' WHERE product_id = 'gems';
SELECT test.hear(test.heard('16', quantity => 2)), test.hear(test.heard('17', 'server_api', 'gift', quantity => 2));
SELECT results_eq(
    $$SELECT transaction_id, units, amount, currency FROM finance.purchases
    WHERE transaction_id IN ('16', '17') ORDER BY 1$$,
    $$VALUES ('16' COLLATE "C", 2, 1.980, 'USD'), ('17', 2, NULL, NULL)$$, 'it is the price of then, of that product');
UPDATE iap.products SET list_price_milliunits = 990, currency = 'USD' WHERE product_id = 'gems';

-- Nobody bought fewer than one.
SELECT test.hear(test.heard('18', quantity => -3, exclusion => 'invalid_quantity'));
SELECT results_eq(
    $$SELECT units, amount FROM finance.purchases WHERE transaction_id = '18'$$, $$VALUES (-3, NULL::numeric)$$,
    'so nothing was paid for them');

-- What Apple does not bear out, as it was delivered last.
SELECT test.admit('19'), test.resolve('19', 'delivered'), test.hear(test.heard('19', 'server_api', quantity => 2));
SELECT results_eq(
    $$SELECT why, units FROM finance.delivered_unproved WHERE transaction_id = '19'$$,
    $$VALUES ('other_quantity', 2)$$, 'Apple sold two, where one was delivered');
SELECT test.reopen('19'), test.claim('19');
SELECT is_empty(
    $$SELECT FROM finance.delivered_unproved WHERE transaction_id = '19'$$, 'taken back, two were delivered');

-- What Apple tells of it since takes nothing back, nor what else was delivered, or under its number elsewhere.
SELECT test.admit('190'), test.claim('190'), test.hear(test.heard('190', 'server_api', quantity => 2)),
    test.hear(test.heard(
        '190', 'server_api', quantity => 2, price_milliunits => 1500, verified_at => now() + interval '1 day'));
SELECT test.admit('190', bundle_id => 'com.example.b'),
    test.run_as('iap_app', $$SELECT iap.claim('com.example.b', '190', 'ann')$$);
SELECT test.admit('191'), test.claim('191');
SELECT test.hear(test.heard('190', environment => 'Sandbox'));
INSERT INTO iap.moves
SELECT (jsonb_populate_record(
    moves, jsonb_build_object(
        'bundle_id', 'com.example.a', 'environment', 'Sandbox', 'move_id', nextval('iap.trail')))).*
FROM iap.moves
WHERE transaction_id = '190' AND bundle_id = 'com.example.b';
SELECT results_eq(
    $$SELECT bundle_id, why, units FROM finance.delivered_unproved WHERE transaction_id = '190'$$,
    $$VALUES ('com.example.a' COLLATE "C", 'other_quantity', 2)$$, 'one was delivered still');
DELETE FROM iap.moves WHERE environment = 'Sandbox';

-- Misdeliveries, by the evidence that weighs most.
INSERT INTO iap.orders (bundle_id, order_id, user_id, product_id, app_account_token, created_at)
VALUES
    ('com.example.a', 'bobs', 'bob', 'gems', NULL, now()), ('com.example.a', 'anns', 'ann', 'gems', NULL, now()),
    ('com.example.a', 'cids', 'cid', 'gems', 'cid-token', now()),
    ('com.example.b', 'dans', 'dan', 'gems', 'ann-token', now());
INSERT INTO iap.account_tokens (bundle_id, app_account_token, user_id)
VALUES
    ('com.example.a', 'ann-token', 'ann'), ('com.example.b', 'ann-token', 'dan');
CREATE FUNCTION test.went(
    id text, order_id text DEFAULT NULL, app_account_token text DEFAULT NULL, seen_by text DEFAULT NULL,
    in_receipt boolean DEFAULT true, is_named boolean DEFAULT false, bundle_id text DEFAULT 'com.example.a',
    environment text DEFAULT 'Production'
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.admit(id), test.claim(id);
    UPDATE iap.transactions AS t SET order_id = went.order_id, app_account_token = went.app_account_token
    WHERE t.transaction_id = id;
    IF seen_by IS NOT NULL THEN
        INSERT INTO iap.sightings (
            transaction_id, bundle_id, environment, bucket, receipt_id, user_id, is_named, in_receipt, uploaded_at)
        SELECT
            id, went.bundle_id, went.environment, 0, 64 * number, who, went.is_named AND number = 1, went.in_receipt,
            now()
        FROM unnest(ARRAY[seen_by, 'ann']) WITH ORDINALITY AS seen (who, number);
    END IF;
END
$$;
SELECT
    test.went('m1', 'bobs'), test.went('m2', 'anns'), test.went('m3', NULL, 'cid-token'),
    test.went('m4', NULL, 'ann-token'), test.went('m5', NULL, NULL, 'eve'), test.went('m6', NULL, NULL, 'eve', false),
    test.went('m7', NULL, NULL, 'eve', false, true), test.went('m8', NULL, 'ann-token', 'eve'),
    test.went('m9', NULL, NULL, 'eve', bundle_id => 'com.example.b'),
    test.went('m10', NULL, NULL, 'eve', environment => 'Sandbox');
SELECT results_eq(
    $$SELECT transaction_id, likely_bought_by, evidence FROM finance.misdeliveries ORDER BY transaction_id$$,
    $$VALUES
        ('m1' COLLATE "C", 'bob', 'order'), ('m3', 'cid', 'token'), ('m5', 'eve', 'upload'), ('m7', 'eve', 'upload')$$,
    'by an order, a token or who handed it in; not by what Apple told of another customer');

-- A token is an app's own, and who got the goods may share it; an order that they named does not outweigh it. Who
-- uploads first is who was logged in first.
INSERT INTO iap.orders (bundle_id, order_id, user_id, product_id, app_account_token, created_at)
VALUES
    ('com.example.a', 'anns-too', 'ann', 'gems', 'shared-token', now()),
    ('com.example.a', 'bobs-too', 'bob', 'gems', 'others-token', now()),
    ('com.example.b', 'dans-too', 'dan', 'gems', 'order-of-b', now());
INSERT INTO iap.account_tokens (bundle_id, app_account_token, user_id)
VALUES
    ('com.example.a', 'shared-token', 'al'), ('com.example.a', 'others-token', 'cid'),
    ('com.example.b', 'account-of-b', 'dan');
SELECT
    test.went('n1', NULL, 'account-of-b'), test.went('n2', NULL, 'order-of-b'), test.went('n3', NULL, 'shared-token'),
    test.went('n4', NULL, 'others-token'), test.went('n5', 'anns', 'cid-token'), test.went('n6', NULL, NULL, 'eve'),
    test.went('n7', NULL, NULL, 'ann', true, true), test.went('n8', NULL, NULL, 'ann');
INSERT INTO iap.sightings (
    transaction_id, bundle_id, environment, bucket, receipt_id, user_id, is_named, in_receipt, uploaded_at)
SELECT id, 'com.example.a', 'Production', 0, 6400, user_id, false, true, now() - interval '1 day'
-- By nobody, for something else, and for all that is known for this.
FROM (VALUES ('n6', NULL), ('n7', 'eve'), ('n8', 'eve')) AS seen (id, user_id);
SELECT results_eq(
    $$SELECT transaction_id, likely_bought_by, evidence FROM finance.misdeliveries
    WHERE transaction_id LIKE 'n%' ORDER BY transaction_id$$,
    $$VALUES ('n4' COLLATE "C", 'bob', 'token'), ('n5', 'cid', 'token'), ('n6', 'eve', 'upload'),
        ('n8', 'eve', 'upload')$$,
    'by the tokens of its app, and of those who are known');

-- What was granted bears who paid in its token and in the order of its upload: whoever shares the phone may upload it.
SELECT test.admit('m11'), test.admit('m12'), test.admit('m13'), test.admit('m14'), test.admit('m141'),
    test.admit('m142'), test.admit('m143');
UPDATE iap.transactions
SET place = 'black', delivered_by = 'entitlement', delivered_at = now(), user_id = 'ann',
    app_account_token = CASE transaction_id WHEN 'm11' THEN 'cid-token' END
WHERE transaction_id LIKE 'm1__' OR transaction_id IN ('m11', 'm12', 'm13', 'm14');
INSERT INTO iap.sightings (
    transaction_id, bundle_id, environment, bucket, receipt_id, user_id, order_id, is_named, in_receipt, uploaded_at)
SELECT id, 'com.example.a', 'Production', 0, 64, 'eve', order_id, true, true, now()
FROM (VALUES ('m11', NULL), ('m12', NULL), ('m13', 'bobs'), ('m14', 'anns')) AS seen (id, order_id);
-- Nobody named the order for this purchase, of this app, in production.
INSERT INTO iap.sightings (
    transaction_id, bundle_id, environment, bucket, receipt_id, user_id, order_id, is_named, in_receipt, uploaded_at)
VALUES
    ('m141', 'com.example.a', 'Production', 0, 64, 'eve', 'bobs', false, true, now()),
    ('m142', 'com.example.b', 'Production', 0, 64, 'eve', 'bobs', true, true, now()),
    ('m143', 'com.example.a', 'Sandbox', 0, 64, 'eve', 'bobs', true, true, now());
SELECT results_eq(
    $$
    SELECT transaction_id, likely_bought_by, evidence
    FROM finance.misdeliveries
    WHERE transaction_id >= 'm11' AND transaction_id < 'm15'
    ORDER BY transaction_id
    $$,
    $$VALUES ('m11' COLLATE "C", 'cid', 'token'), ('m13', 'bob', 'order')$$,
    'what was granted to another than its token or its order names');

-- So is what the company's own table says was delivered: by whom it is uploaded later says nothing.
SELECT test.admit('m21'), test.admit('m22'), test.admit('m23'), test.admit('m24');
UPDATE iap.transactions
SET place = 'black', delivered_by = 'import', delivered_at = now(),
    user_id = CASE transaction_id WHEN 'm24' THEN NULL ELSE 'ann' END,
    order_id = CASE transaction_id WHEN 'm22' THEN 'bobs' END,
    app_account_token = CASE WHEN transaction_id IN ('m21', 'm24') THEN 'cid-token' END
WHERE transaction_id LIKE 'm2_';
INSERT INTO iap.sightings (
    transaction_id, bundle_id, environment, bucket, receipt_id, user_id, is_named, in_receipt, uploaded_at)
VALUES ('m23', 'com.example.a', 'Production', 0, 64, 'eve', true, true, now());
SELECT results_eq(
    $$
    SELECT transaction_id, likely_bought_by, evidence
    FROM finance.misdeliveries
    WHERE transaction_id LIKE 'm2_'
    ORDER BY transaction_id
    $$,
    $$VALUES ('m21' COLLATE "C", 'cid', 'token'), ('m22', 'bob', 'order')$$,
    'what was delivered elsewhere to another than its token or its order names');

-- The night's report is told by the same rule, and of testers as well.
SELECT test.admit('m16'), test.claim('m16');
UPDATE iap.transactions SET environment = 'Sandbox', app_account_token = 'cid-token' WHERE transaction_id = 'm16';
SELECT results_eq(
    $$
    SELECT transaction_id, likely_bought_by, evidence, environment
    FROM iap.misdelivered
    WHERE environment = 'Sandbox' OR transaction_id = 'm1'
    ORDER BY transaction_id
    $$,
    $$VALUES
        ('m1' COLLATE "C", 'bob', 'order', 'Production'),
        ('m16', 'cid', 'token', 'Sandbox')$$,
    'who reports is told of a tester''s purchase, too');
SELECT is_empty(
    $$SELECT FROM finance.misdeliveries WHERE transaction_id = 'm16'$$, 'finance is told of none of theirs');

SELECT test.admit('m16'), test.claim('m16');
SELECT is_empty(
    $$SELECT FROM finance.misdeliveries WHERE transaction_id = 'm16'$$, 'nor by what else is sold under that id');

-- Control totals.
INSERT INTO iap.runs (
    as_of, started_at, finished_at, host, process_id, program_version, state, exit_code, reason, verified, newly_white,
    already_white, already_black, excluded, opening_white, new, claimed, resolved, refunded, closing_white,
    closing_number)
VALUES
    (now(), now(), now(), 'h', 1, '1', 'complete', 0, NULL, '{4,5,6}', '{3,4,7}', '{0,0,0}', '{1,1,1}', '{0,0,0}',
     '{0,0,0}', '{3,4,7}', '{1,1,2}', '{0,0,0}', '{0,0,0}', '{2,3,5}', 1),
    (now(), now(), now(), 'h', 1, '1', 'complete', 0, NULL, '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}',
     '{2,3,5}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{1,1,4}', '{1,2,1}', 2),
    -- Opens with what the run before did not close with; its hash is off; its verified are nowhere; it was killed.
    (now(), now(), now(), 'h', 1, '1', 'complete', 0, NULL, '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}',
     '{2,3,5}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{2,3,5}', 3),
    (now(), now(), now(), 'h', 1, '1', 'complete', 0, NULL, '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}',
     '{2,3,5}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{2,3,6}', 4),
    (now(), now(), now(), 'h', 1, '1', 'failed', 70, 'x', '{1,1,1}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}',
     NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (now(), now(), now(), 'h', 1, '1', 'abandoned', NULL, 'x', '{1,1,1}', '{1,1,1}', '{0,0,0}', '{0,0,0}', '{0,0,0}',
     NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO iap.runs (as_of, started_at, host, process_id, program_version) VALUES (now(), now(), 'h', 1, '1');
SELECT results_eq(
    $$SELECT state, balances, count(*) FROM finance.control_totals GROUP BY run_id, state, balances ORDER BY run_id$$,
    $$VALUES
        ('complete', true, 11::bigint), ('complete', true, 11), ('complete', false, 11), ('complete', false, 11),
        ('failed', false, 11), ('abandoned', NULL, 11)$$, 'each run that ended, and whether it balances');
SELECT results_eq(
    $$SELECT position, total, transactions, units, hash FROM finance.control_totals
    WHERE run_id = (SELECT min(run_id) FROM iap.runs) ORDER BY position$$,
    $$VALUES
        (1, 'verified', 4::bigint, 5::bigint, 6::bigint), (2, 'newly white', 3, 4, 7), (3, 'already white', 0, 0, 0),
        (4, 'already black', 1, 1, 1), (5, 'excluded', 0, 0, 0), (6, 'opening white', 0, 0, 0), (7, 'new', 3, 4, 7),
        (8, 'claimed', 1, 1, 2), (9, 'resolved', 0, 0, 0), (10, 'refunded', 0, 0, 0), (11, 'closing white', 2, 3, 5)$$,
    'with its eleven totals');
SELECT results_eq(
    $$SELECT day, runs, received, white, black, excluded, difference, balances FROM finance.control_totals_by_day$$,
    $$VALUES (current_date, 6::bigint, 6::bigint, 4::bigint, 1::bigint, 0::bigint, 1::bigint, false)$$,
    'and by day, with what is missing');
-- Each of the three figures of each of the eleven totals counts, and for itself.
CREATE FUNCTION test.is_balanced(totals jsonb) RETURNS boolean
LANGUAGE sql AS $$
    SELECT iap.is_balanced(jsonb_populate_record(
        NULL::iap.runs, (SELECT jsonb_object_agg(key, translate(value::text, '[]', '{}')) FROM jsonb_each(totals))))
$$;
CREATE TABLE test.balanced AS
SELECT
    '{"verified": [100, 200, 29], "newly_white": [10, 25, 3], "already_white": [20, 35, 5],
        "already_black": [30, 65, 14], "excluded": [40, 75, 21], "opening_white": [50, 95, 11], "new": [10, 25, 3],
        "claimed": [7, 13, 6], "resolved": [5, 11, 12], "refunded": [3, 8, 25], "closing_white": [45, 88, 27]}'::jsonb
        AS totals;
SELECT ok(test.is_balanced(totals), 'what adds up balances') FROM test.balanced;
SELECT is_empty(
    $$SELECT total, figure
    FROM test.balanced
    CROSS JOIN jsonb_each(totals) AS told (total, figures)
    CROSS JOIN generate_series(0, 2) AS figure
    WHERE test.is_balanced(jsonb_set(
        totals, ARRAY[total, figure::text], to_jsonb((figures ->> figure)::bigint + 1))) IS NOT false$$,
    'and not where one figure of one total is off');
-- Transactions, units and hash balance each for themselves, and the first closing opens with nothing.
INSERT INTO iap.runs (
    as_of, started_at, finished_at, host, process_id, program_version, state, exit_code, verified, newly_white,
    already_white, already_black, excluded, opening_white, new, claimed, resolved, refunded, closing_white,
    closing_number)
SELECT
    now(), now(), now(), 'h', 1, '1', 'complete', 0, verified, '{3,3,3}', '{1,1,1}', '{2,2,2}', '{4,4,4}', '{2,3,6}',
    new, '{1,1,1}', '{2,2,2}', '{1,2,5}', '{2,3,6}', 5 + position
FROM (
    VALUES
        (0, '{10,10,4}'::bigint[], '{4,5,6}'::bigint[]), (1, '{10,11,4}', '{4,5,6}'), (2, '{10,10,5}', '{4,5,6}'),
        (3, '{11,10,4}', '{4,5,6}'), (4, '{10,10,4}', '{4,6,6}'), (5, '{10,10,4}', '{4,5,7}'),
        (6, '{10,10,4}', '{5,5,6}')
) AS told (position, verified, new);
SELECT results_eq(
    $$SELECT DISTINCT run_id - (SELECT max(run_id) FROM iap.runs) + 6, balances FROM finance.control_totals
    WHERE run_id > (SELECT max(run_id) - 7 FROM iap.runs) ORDER BY 1$$,
    $$VALUES (0::bigint, true), (1, false), (2, false), (3, false), (4, false), (5, false), (6, false)$$,
    'one thing that is off is enough');
SELECT results_eq(
    $$SELECT runs, received, units, white, newly_white, black, excluded, difference
    FROM finance.control_totals_by_day$$,
    $$VALUES (13::bigint, 77::bigint, 78::bigint, 32::bigint, 25::bigint, 15::bigint, 28::bigint, 2::bigint)$$,
    'a day is all of its runs');
INSERT INTO iap.runs (
    as_of, started_at, finished_at, host, process_id, program_version, state, exit_code, reason, opening_white, new,
    claimed, resolved, refunded, closing_white, closing_number)
SELECT
    day, now(), now(), 'h', 1, '1', state, exit_code, reason, white, nothing, nothing, nothing, nothing, white, number
FROM (
    VALUES
        ('2026-01-01 12:00+00'::timestamptz, 'complete', 0, NULL, '{2,3,6}'::bigint[], '{0,0,0}'::bigint[], 12),
        ('2026-01-01 12:00+00', 'abandoned', NULL, 'x', NULL, NULL, NULL),
        ('2026-01-02 12:00+00', 'complete', 0, NULL, '{2,3,6}', '{0,0,0}', 13)
) AS told (day, state, exit_code, reason, white, nothing, number);
SELECT results_eq(
    $$SELECT runs, balances FROM finance.control_totals_by_day WHERE day < current_date ORDER BY day$$,
    $$VALUES (2::bigint, NULL::boolean), (1, true)$$,
    'nobody knows of a day on which a run was killed, but of one on which all balance');
UPDATE iap.runs SET opening_white = '{1,0,0}', new = '{2,4,7}' WHERE closing_number = 1;
SELECT is(
    (SELECT bool_or(balances) FROM finance.control_totals WHERE run_id = (SELECT min(run_id) FROM iap.runs)), false,
    'nothing was owed before the first');

-- No personal data beyond the user id.
SELECT is_empty(
    $$SELECT attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = 'finance'::regnamespace AND attnum > 0
        AND attname IN ('device', 'payload', 'app_account_token', 'note')$$,
    'nothing of a device, a receipt or a note');

-- All views and functions, and nothing else.
SELECT lives_ok(
    format('SELECT test.run_as(%L, %L)', 'iap_finance', format('SELECT count(*) FROM finance.%I', relname)),
    'finance reads ' || relname)
FROM pg_class WHERE relnamespace = 'finance'::regnamespace AND relkind IN ('v', 'r');
SELECT ok(has_function_privilege('iap_finance', oid, 'EXECUTE'), 'finance calls ' || proname)
FROM pg_proc WHERE pronamespace = 'finance'::regnamespace;
SELECT test.is_denied('iap_finance', format('SELECT count(*) FROM iap.%I', relname))
FROM pg_class WHERE relnamespace = 'iap'::regnamespace AND relkind = 'r';

SELECT * FROM finish();
ROLLBACK;
