-- What clients, servers and support desks may get wrong: refused, bounded or told, and nothing is spoilt by it.
BEGIN;
SELECT no_plan();

-- An order is delivered once.
SELECT test.admit(id, user_id => 'ann') FROM unnest(ARRAY['1', '2', '3']) AS id;
SELECT is(test.claim('1', 'ann', 'o1'), 'delivered', 'an order is delivered');
SELECT is(test.claim('2', 'ann', 'o1'), 'order_used', 'and not again for another purchase');
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = '2'), 'white', 'which stays owed');
SELECT is(test.claim('2', 'ann', 'o2'), 'delivered', 'and is delivered for an order of its own');
SELECT is(
    test.run_as('iap_support',
        $$SELECT iap.resolve('3', 'delivered', 'sue', 'x', user_id => 'ann', order_id => 'o1')$$),
    'delivered', 'the support desk may say otherwise');
SELECT is(test.admit('4', user_id => 'ann'), 'white', 'one more');
SELECT is(test.claim('4', 'bob', 'o4'), 'wrong_user', 'who may not claim');
SELECT is(test.claim('4', 'ann', 'o4'), 'delivered', 'uses up no order');
SELECT is(test.admit('5', user_id => 'ann'), 'white', 'what nobody ordered');
SELECT is(test.claim('5', 'ann', ''), 'delivered', 'an empty order is none');
SELECT is((SELECT order_id FROM iap.black WHERE transaction_id = '5'), NULL, 'and kept as none');

-- Another session may not see yet that it is used: the row decides.
SELECT is(test.admit('6', user_id => 'ann'), 'white', 'of another session');
INSERT INTO iap.delivered_orders VALUES ('o6', 'com.example.a', '99');
SELECT is(test.claim('6', 'ann', 'o6'), 'order_used', 'the row decides');
SELECT is(test.claim('6', 'ann'), 'delivered', 'and without an order it is delivered');

-- What the support desk says was delivered for an order uses it up, and taking that back frees it.
SELECT test.admit(id, user_id => 'ann') FROM unnest(ARRAY['7', '8']) AS id;
SELECT test.run_as('iap_support',
    $$SELECT iap.resolve('7', 'delivered', 'sue', 'x', user_id => 'ann', order_id => 'o7')$$);
SELECT is(
    (SELECT original_transaction_id FROM iap.delivered_orders WHERE order_id = 'o7'), '7',
    'the row is taken, for claims that another session is about to make');
SELECT is(test.claim('8', 'ann', 'o7'), 'order_used', 'and so is the order');
SELECT test.run_as('iap_support', $$SELECT iap.reopen('7', 'sue', 'another purchase was meant')$$);
SELECT is(test.claim('8', 'ann', 'o7'), 'delivered', 'until that is taken back');
-- One that two purchases were delivered for stays used while one of them is.
SELECT test.run_as('iap_support',
    $$SELECT iap.resolve('7', 'delivered', 'sue', 'x', user_id => 'ann', order_id => 'o7')$$);
SELECT test.run_as('iap_support', $$SELECT iap.reopen('7', 'sue', 'x')$$);
SELECT is(test.claim('7', 'ann', 'o7'), 'order_used', 'the other keeps it');

-- So does what a company delivered before.
SELECT test.import(jsonb_populate_record(test.heard('i1'), '{"order_id": "o-i"}'), 'ann');
SELECT is(
    (SELECT original_transaction_id FROM iap.delivered_orders WHERE order_id = 'o-i'), 'i1',
    'an import takes its orders');

-- Whoever locks a purchase and hangs ends by itself, also where its login does not say so.
SELECT set_config('idle_in_transaction_session_timeout', '0', true);
SELECT is(test.claim('7', 'ann'), 'delivered', 'a claim');
SELECT is(current_setting('idle_in_transaction_session_timeout'), '5min', 'does not wait for ever with its locks');
SELECT set_config('idle_in_transaction_session_timeout', '0', true);
SELECT test.run_as('iap_support', $$SELECT outcome FROM iap.take('1', 'sue', 'com.example.a', 'Production')$$);
SELECT is(
    current_setting('idle_in_transaction_session_timeout'), '5min',
    'nor does who takes a case, which its claim waits for');
SELECT set_config('idle_in_transaction_session_timeout', '60s', true);
SELECT is(test.claim('7', 'ann'), 'already_delivered', 'and what a login says');
SELECT is(current_setting('idle_in_transaction_session_timeout'), '1min', 'stays');

-- The renewals of a subscription may name the order by which it was bought.
INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.example.a', 'pass', 'auto_renewable', 'Pass');
SELECT test.admit('s1', product_id => 'pass'), test.admit('s2', 's1', 'pass');
SELECT is(test.claim('s1', 'ann', 'subscribed'), 'delivered', 'the first period');
SELECT is(test.claim('s2', 'ann', 'subscribed'), 'delivered', 'and the next');

-- What can't be is refused.
CREATE FUNCTION test.admitting(quantity text, purchased_at text) RETURNS text
LANGUAGE sql AS $$
    SELECT format(
        'SELECT iap.admit(%L, %L, %L, %L, %L, %s, %L, %L)', 'com.example.a', 'Production', '900', '900', 'dear',
        quantity, purchased_at, 'ann')
$$;
INSERT INTO iap.products VALUES ('com.example.a', 'dear', 'consumable', 'Dear', 9000000000000000000, 'USD');
SELECT test.is_refused('iap_app', test.admitting(quantity, purchased_at), '22023', words, words)
FROM (
    VALUES
        ('1', '2008-07-09T23:59:59Z', 'purchased_at can''t be 2008-07-09%'),
        ('1', (now() + interval '49 hours')::text, 'purchased_at can''t be %'),
        ('1', 'infinity', 'purchased_at can''t be infinity'),
        ('1', '-infinity', 'purchased_at can''t be -infinity'),
        ('0', now()::text, 'a purchase''s quantity is at least 1')
) AS wrong (quantity, purchased_at, words);
SELECT test.is_refused(
    'iap_app',
    format('SELECT iap.register_order(%L, %L, %L, %L, 1, %L, %L)', 'com.example.a', 'o9', 'ann', 'gems', token, at),
    '22023', words, words)
FROM (
    VALUES
        ('token-1', now()::text, 'app_account_token is no UUID'), (NULL, 'infinity', 'created_at can''t be infinity'),
        (NULL, '2007-01-01', 'created_at can''t be 2007%')
) AS wrong (token, at, words);
SELECT is_empty($$SELECT FROM iap.orders$$, 'and leaves nothing');
SELECT test.run_as('iap_app', $$SELECT iap.register_order('com.example.a', 'o9', 'ann', 'gems', 1, '')::text$$);
SELECT is((SELECT app_account_token FROM iap.orders), NULL, 'an empty token is none');

-- What Apple, or an app's server, says of a quantity beyond all measure ends no night.
SELECT is(test.hear(test.heard('901', product_id => 'dear', quantity => 2147483647)), 'white',
    'Apple''s word is taken');
SELECT is(test.run_as('iap_app', test.admitting('2147483647', now()::text)), 'white', 'and the app''s server''s');
SELECT is(test.admit('902', product_id => 'dear', quantity => 2147483647), 'white', 'once more');
SELECT is(test.claim('902'), 'delivered', 'which is delivered');
SELECT results_eq(
    $$SELECT transaction_id, booked_as, booked_milliunits FROM iap.transactions WHERE product_id = 'dear' ORDER BY 1$$,
    $$VALUES
        ('900' COLLATE "C", 'unknown', NULL::bigint), ('901', 'unknown', NULL), ('902', 'unknown', NULL)$$,
    'booked as unknown');
SELECT is(test.moved_tally(), test.white_tally(), 'the moves explain the white table');
SELECT test.close_books();
SELECT results_eq(
    $$SELECT account, sum(units)::bigint, sum(amount)
    FROM finance.journal WHERE product_id = 'dear' GROUP BY 1 ORDER BY 1$$,
    $$VALUES ('delivered', 2147483647::bigint, NULL::numeric), ('owed', 4294967294, NULL)$$,
    'finance''s books bear it');
SELECT lives_ok(
    format('SELECT * FROM finance.%I', relname), format('as finance.%s does', relname))
FROM pg_class
WHERE relnamespace = 'finance'::regnamespace AND relkind = 'v'
ORDER BY relname;
SELECT is_empty('SELECT * FROM finance.unexplained', 'nothing is unexplained');

-- What one client uploads is bounded.
SELECT is(test.submit('empty', '', '', ''), test.submit('empty', NULL), 'an empty text is none everywhere');
SELECT ok(test.submit(repeat('x', 16777216)) > 0, 'sixteen mebibytes are a payload');
SELECT ok(test.submit(repeat('x', 16777217)) > 0, 'one byte more is known');
SELECT results_eq(
    $$SELECT
        state, payload, next_attempt_at, error_code, error_text,
        payload_sha256 = sha256(repeat('x', 16777217)::bytea)
    FROM iap.receipts WHERE error_code IS NOT NULL$$,
    $$VALUES ('unusable', NULL, NULL::timestamptz, 'too_large', 'the client uploaded 16777217 bytes', true)$$,
    'by its hash and its size');
SELECT is(test.submit(repeat('x', 16777217)), (SELECT receipt_id FROM iap.receipts WHERE error_code = 'too_large'),
    'and known again');
SELECT ok(
    test.submit('d', device => jsonb_build_object('model', 'iPhone9,1', 'log', repeat('x', 20000))) > 0,
    'a long device');
SELECT is(
    (SELECT device - 'bytes' FROM iap.receipts WHERE payload = 'd'), '{"model": "iPhone9,1", "cut": true}'::jsonb,
    'is cut, with a mark');
SELECT ok(test.submit('e', device => to_jsonb(repeat('x', 20000))) > 0, 'one that is no object');
SELECT is((SELECT device ->> 'cut' FROM iap.receipts WHERE payload = 'e'), 'true', 'is cut, too');
SELECT count(DISTINCT test.submit('many', order_id => 'o' || number)) FROM generate_series(1, 1003) AS number;
SELECT is(
    (SELECT count(*) FROM iap.uploads JOIN iap.receipts USING (bucket, receipt_id) WHERE payload = 'many'),
    1000::bigint, 'a thousand purposes are kept');
SELECT is((SELECT uploads_left_out FROM iap.receipts WHERE payload = 'many'), 3, 'the others are counted');
SELECT test.submit('many', order_id => 'o7');
SELECT results_eq(
    $$SELECT times, uploads_left_out FROM iap.uploads JOIN iap.receipts USING (bucket, receipt_id)
    WHERE payload = 'many' AND uploads.order_id = 'o7'$$, $$VALUES (2, 3)$$, 'one that is kept counts on');
-- What a receipt beside it in its bucket was uploaded for is that one's own, and so is how much that is.
SELECT test.submit(payload, order_id => order_id)
FROM (
    SELECT 'beside ' || number AS payload
    FROM generate_series(1, 10000) AS number
    WHERE get_byte(sha256(convert_to('beside ' || number, 'UTF8')), 0) & 63 = get_byte(sha256('many'), 0) & 63
    LIMIT 1
) AS beside
CROSS JOIN unnest(ARRAY['n1', 'n2']) AS order_id;
SELECT is(
    (SELECT count(*) FROM iap.uploads JOIN iap.receipts USING (bucket, receipt_id) WHERE payload LIKE 'beside %'),
    2::bigint, 'a receipt beside it has room');
SELECT test.submit('many', order_id => 'n1'), test.submit('many', transaction_id => 't1', order_id => 'o7');
SELECT results_eq(
    $$SELECT count(*), max(uploads_left_out) FROM iap.uploads JOIN iap.receipts USING (bucket, receipt_id)
    WHERE payload = 'many'$$, $$VALUES (1000::bigint, 5)$$, 'and what is new to the full one is counted still');

SELECT * FROM finish();
ROLLBACK;
