-- iap.admit: every outcome, and what becomes of the white table and the sightings.
BEGIN;
SELECT no_plan();

SELECT is(test.admit('100', quantity => 2, receipt_id => test.submit('r', 'ann', '100', 'order-1')), 'white',
    'a purchase is white');
SELECT results_eq(
    $$SELECT source, product_type, quantity, admitted_user_id, nights_confirmed FROM iap.white$$,
    $$VALUES ('app_server'::iap.source, 'consumable', 2, 'ann', 0)$$, 'on the word of the app''s server');
SELECT results_eq(
    $$SELECT user_id, order_id, is_named FROM iap.sightings$$, $$VALUES ('ann', 'order-1', true)$$,
    'seen in the receipt that was uploaded for it');
SELECT is(test.admit('100', quantity => 2), 'already_white', 'admitted again, it is white already');
SELECT is_empty('SELECT FROM iap.moves', 'and has not moved');
SELECT results_eq(
    $$SELECT place, units, milliunits, booked_as FROM iap.entries$$, $$VALUES ('white', 2, 1980::bigint, 'list')$$,
    'it entered once');

-- What was not known is added; what was is kept.
SELECT is(test.admit('101', user_id => NULL), 'white', 'for nobody');
SELECT is(test.admit('101', user_id => 'bob'), 'already_white', 'then for bob');
SELECT is(test.admit('101', user_id => 'ann'), 'already_white', 'then for ann');
SELECT is((SELECT admitted_user_id FROM iap.white WHERE transaction_id = '101'), 'bob', 'bob was the first');
SELECT is_empty('SELECT FROM iap.moves', 'which is no move');

-- Delivered.
SELECT is(test.claim('100'), 'delivered', 'a claim');
SELECT is(test.admit('100'), 'already_delivered', 'what is delivered is not owed again');
SELECT is_empty($$SELECT FROM iap.white WHERE transaction_id = '100'$$, 'nor white');
SELECT is(test.admit('200', product_id => 'full'), 'white', 'a non-consumable');
SELECT is(test.claim('200'), 'delivered', 'is delivered');
SELECT is(test.admit('201', '200', 'full'), 'already_delivered', 'and restored under another id: delivered already');
SELECT is_empty($$SELECT FROM iap.white WHERE transaction_id = '201'$$, 'so it is not white');
SELECT is(test.admit('202', '200', 'full', 'Sandbox'), 'white', 'the sandbox counts on its own');

-- Excluded: no outcome would be true.
SELECT test.exclude('300', 'refunded'), test.exclude('301', 'dismissed');
SELECT throws_like($$SELECT test.admit('300')$$, '%300 of com.example.a (Production) is not owed%refunded', 'refunded');
SELECT throws_ok($$SELECT test.admit('301')$$, '55000', NULL, 'dismissed');
SELECT is_empty($$SELECT FROM iap.white WHERE transaction_id IN ('300', '301')$$, 'neither is white');

-- What can't be true is refused.
-- The order that a receipt came with is of what it was uploaded for; where nobody said for what, of what was found in
-- it.
SELECT test.admit('350', receipt_id => test.submit('for its order', 'ann', NULL, 'order-350'));
SELECT test.admit('351', receipt_id => test.submit('for another', 'ann', '352', 'order-352'));
SELECT results_eq(
    $$SELECT transaction_id, order_id FROM iap.sightings WHERE transaction_id IN ('350', '351') ORDER BY 1$$,
    $$VALUES ('350' COLLATE "C", 'order-350'), ('351', NULL::text)$$, 'seen with its order, and not with another''s');
SELECT throws_ok($$SELECT test.admit('400', receipt_id => 99)$$, '23503', 'receipt 99 of com.example.a is unknown',
    'a receipt that nobody handed in');
SELECT throws_ok(
    $$SELECT test.admit('400', receipt_id => test.submit('r', bundle_id => 'com.example.b'))$$, '23503', NULL,
    'another app''s receipt');
SELECT throws_ok($$SELECT test.admit('400', quantity => 0)$$, '22023', NULL, 'no unit');
SELECT throws_ok($$SELECT test.admit('400', environment => 'production')$$, '22023', NULL,
    'no environment of Apple''s');
SELECT throws_ok($$SELECT test.admit('400', environment => 'Xcode')$$, '22023', NULL, 'a purchase in Xcode');
SELECT throws_ok($$SELECT test.admit('')$$, '22023', NULL, 'an empty id');
SELECT throws_ok($$SELECT test.admit('4 0')$$, '22023', NULL, 'an id with a space');
SELECT throws_ok($$SELECT test.admit(repeat('4', 65))$$, '22023', NULL, 'an id that is too long');
SELECT throws_ok($$SELECT test.admit('400', product_id => E'gems\n')$$, '22023', NULL, 'a product with a line break');
SELECT throws_ok($$SELECT test.admit('400', user_id => repeat('x', 1000000))$$, '22023', NULL, 'an endless user id');
SELECT test.is_refused('iap_app',
    $$SELECT iap.admit('com.example.a', 'Production', '400', '400', 'gems', 1, 'infinity')$$,
    '22023', 'purchased_at can''t be infinity', 'a purchase at the end of time');
SELECT test.is_refused('iap_app',
    $$SELECT iap.admit('com.example.a', 'Production', '400', '400', 'gems', 1, now() + interval '3 days')$$,
    '22023', 'purchased_at can''t be %', 'and one in three days');
SELECT is_empty($$SELECT FROM iap.white WHERE transaction_id = '400'$$, 'nothing of all that is white');
SELECT is(test.admit(repeat('4', 64), product_id => 'unheard.of'), 'white',
    'the longest id, and a product that nobody listed, are');
SELECT is(
    test.run_as('iap_app', $$
        SELECT iap.admit(
            'com.example.a', 'Production', '401', '401', 'pass', 1, now() + interval '1 day 5 minutes', 'ann')
    $$),
    'white', 'and so is a renewal that was paid a day ahead, where a clock is behind');

-- A period that is handed on late.
CREATE FUNCTION test.admit_period(id text, period text DEFAULT NULL) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format(
        'SELECT iap.admit(%L, %L, %L, %L, %L, 1, now(), %L, NULL, %L)', 'com.example.a', 'Production', id, 'late-1',
        'pass', 'ann', period))
$$;
SELECT is(test.admit_period('late-1'), 'white', 'a period that its server does not name');
SELECT is(test.claim('late-1'), 'delivered', 'is delivered');
SELECT is(test.admit_period('late-1', 'w1'), 'already_delivered', 'and named afterwards');
SELECT is(test.admit_period('late-2', 'w1'), 'already_delivered', 'it is owed under no other id');
SELECT test.admit_period('late-3'), test.admit_period('late-4');
SELECT is(test.admit_period('late-3', 'w1'), 'already_white', 'nor under one that was there before');
SELECT is(test.claim('late-3'), 'already_delivered', 'as its claim is told');
SELECT is(test.admit_period('late-4', 'w2'), 'already_white', 'as the next period is');
SELECT is(test.admit_period('late-1', 'w3'), 'already_delivered', 'named otherwise once more');
SELECT is(
    (SELECT web_order_line_item_id FROM iap.transactions WHERE transaction_id = 'late-1'), 'w1',
    'what was named first stays');

SELECT is(test.moved_tally(), test.white_tally(), 'the moves explain the white table');
SELECT is_empty('SELECT * FROM finance.unexplained', 'and the accounts of finance');
SELECT is_empty('SELECT * FROM test.misfits', 'every row fits its seal');
SELECT * FROM finish();
ROLLBACK;
