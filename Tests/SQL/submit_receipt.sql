-- iap.submit_receipt: one receipt a user and payload, whatever else comes with it, and nothing dropped.
BEGIN;
SELECT no_plan();

-- Twenty times the same.
SELECT test.submit('the same receipt', 'ann', '1', 'order-1') FROM generate_series(1, 20);
SELECT results_eq(
    $$SELECT user_id, transaction_id, order_id, state, attempts FROM iap.receipts$$,
    $$VALUES ('ann', '1', 'order-1', 'waiting', 0)$$, 'the same receipt twenty times is one, and waits');
SELECT results_eq(
    $$SELECT transaction_id, order_id, times FROM iap.uploads$$, $$VALUES ('1', 'order-1', 20)$$,
    'uploaded twenty times for one purpose');

-- For another purpose, by another user, of another app.
SELECT test.submit('the same receipt', 'ann', '2', 'order-2');
SELECT is((SELECT count(*) FROM iap.receipts), 1::bigint, 'another purpose is the same receipt');
SELECT is((SELECT count(*) FROM iap.uploads), 2::bigint, 'uploaded for a second purpose');
SELECT results_eq(
    $$SELECT transaction_id, order_id FROM iap.receipts$$, $$VALUES ('1', 'order-1')$$,
    'which does not displace the first');
SELECT isnt(test.submit('the same receipt', 'bob'), test.submit('the same receipt', 'ann'),
    'another user''s is another');
SELECT isnt(
    test.submit('the same receipt', 'ann', bundle_id => 'com.example.b'), test.submit('the same receipt', 'ann'),
    'another app''s is another');
SELECT is(test.submit('the same receipt', NULL), test.submit('the same receipt', NULL), 'nobody''s is one too');
SELECT is((SELECT count(DISTINCT bucket) FROM iap.receipts), 1::bigint, 'all receipts of a payload lie together');
SELECT ok(
    bool_and(
        payload_sha256 = sha256(convert_to(payload, 'UTF8')) AND bucket = get_byte(payload_sha256, 0) & 63
        AND receipt_id & 63 = bucket),
    'the payload chooses the bucket, and the id names it')
FROM iap.receipts;

-- What was not known is added; what was is kept; the state is the job's.
SELECT test.submit('bare');
SELECT test.submit('bare', 'ann', '3', NULL, '{"model": "iPhone9,1"}');
SELECT test.submit('bare', 'ann', '4', 'order-3', '{"model": "iPad6,11"}');
SELECT results_eq(
    $$SELECT transaction_id, order_id, device ->> 'model' FROM iap.receipts WHERE payload = 'bare'$$,
    $$VALUES ('3', 'order-3', 'iPhone9,1')$$, 'an upload adds what was not known');
SELECT test.submit('of no device', device => 'null'), test.submit('of no device', device => '{"model": "iPhone9,1"}');
SELECT is(
    (SELECT device ->> 'model' FROM iap.receipts WHERE payload = 'of no device'), 'iPhone9,1',
    'nor is a device known that is null in JSON');
UPDATE iap.receipts
SET state = 'unusable', next_attempt_at = NULL, last_attempt_at = now(), error_code = 'malformed', error_text = 'x'
WHERE payload = 'bare';
SELECT test.submit('bare');
SELECT results_eq(
    $$SELECT state, next_attempt_at IS NULL FROM iap.receipts WHERE payload = 'bare'$$,
    $$VALUES ('unusable', true)$$, 'what can''t be used is not tried again because it is uploaded again');
UPDATE iap.receipts
SET state = 'waiting', next_attempt_at = now(), error_code = NULL, error_text = NULL WHERE payload = 'bare';

-- Each by itself; and none displaces what was known, nor brings back a device that was purged.
SELECT test.submit('piecewise', 'eve'), test.submit('piecewise', 'eve', '5'),
    test.submit('piecewise', 'eve', order_id => 'order-5'),
    test.submit('piecewise', 'eve', device => '{"model": "iPhone9,1"}');
SELECT results_eq(
    $$SELECT transaction_id, order_id, device ->> 'model' FROM iap.receipts WHERE payload = 'piecewise'$$,
    $$VALUES ('5', 'order-5', 'iPhone9,1')$$, 'piece by piece');
SELECT test.submit('of an order', 'eve', '6', 'order-6'),
    test.submit('of an order', 'eve', '7', 'order-7', '{"model": "iPhone9,1"}');
SELECT results_eq(
    $$SELECT transaction_id, order_id, device ->> 'model' FROM iap.receipts WHERE payload = 'of an order'$$,
    $$VALUES ('6', 'order-6', 'iPhone9,1')$$, 'beside what is known');
UPDATE iap.receipts SET device = NULL, device_purged_at = now() WHERE payload IN ('of an order', 'piecewise');
UPDATE iap.receipts SET order_id = NULL WHERE payload = 'piecewise';
UPDATE iap.receipts AS r
SET seal = audit.receipt_seal(
    bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at, state, is_erased)
WHERE payload = 'piecewise';
SELECT test.submit('of an order', 'eve', device => '{"model": "iPhone9,1"}'),
    test.submit('piecewise', 'eve', '8', 'order-8', '{"model": "iPhone9,1"}');
SELECT results_eq(
    $$SELECT order_id, device FROM iap.receipts WHERE payload IN ('of an order', 'piecewise') ORDER BY order_id$$,
    $$VALUES ('order-6', NULL::jsonb), ('order-8', NULL)$$, 'a device that was purged stays so');
-- What is said again changes nothing, and so locks nothing: also where a device was purged, or none is told.
SELECT set_config('test.updated', pg_stat_get_xact_tuples_updated('iap.receipts'::regclass)::text, true);
SELECT test.submit('of an order', 'eve', '6', 'order-6', '{"model": "iPhone9,1"}'),
    test.submit('of an order', 'eve'), test.submit('bare'), test.submit('bare', 'ann', '3'),
    test.submit('the same receipt', 'bob'),
    test.submit('of no device', device => '{"model": "iPhone9,1"}');
SELECT is(
    pg_stat_get_xact_tuples_updated('iap.receipts'::regclass)::text, current_setting('test.updated'),
    'a receipt that is handed in again is left alone');
SELECT is_empty(
    $$SELECT receipt_id FROM iap.receipts
    WHERE user_id = 'eve' AND seal IS DISTINCT FROM audit.receipt_seal(
        bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at, state,
        is_erased)$$,
    'and each row fits its seal');

-- But who comes again after a week, or for another purchase, is heard.
CREATE FUNCTION test.later(whose text, payload text, state text, seen interval, problem text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    number bigint := test.submit(later.payload, whose);
BEGIN
    UPDATE iap.receipts
    SET submitted_at = now() - seen, state = later.state, next_attempt_at = NULL, last_attempt_at = now() - seen,
        verified_at = CASE WHEN later.state = 'settled' THEN now() - seen END,
        error_code = problem, error_text = problem,
        seal = audit.receipt_seal(
            bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, now() - seen,
            later.state, is_erased)
    WHERE receipt_id = number;
END
$$;
SELECT test.later('gus', '1 settled', 'settled', '8 days'), test.later('gus', '2 given up', 'unusable', '8 days', 'x'),
    test.later('gus', '3 empty', 'unusable', '8 days', 'empty'),
    test.later('gus', '4 lately', 'unusable', '6 days', 'x'),
    test.later('gus', '5 purged', 'unusable', '8 days', 'x'), test.later('gus', '6 erased', 'unusable', '8 days', 'x'),
    test.later('gus', '7 for another', 'settled', '1 day'),
    test.later('gus', '8 of an order', 'unusable', '1 day', 'x'),
    test.later('gus', '9 full', 'settled', '1 day'),
    test.later('gus', '9 purged, for another', 'settled', '1 day'),
    test.later('gus', '9 purged', 'settled', '8 days'), test.later('gus', '9 erased, and purged', 'settled', '1 day');
UPDATE iap.receipts SET is_erased = true WHERE payload IN ('6 erased', '9 erased, and purged');
UPDATE iap.receipts SET payload = NULL, payload_purged_at = now() WHERE payload ~ 'purged';
UPDATE iap.receipts SET uploads_left_out = 1 WHERE payload = '9 full';
SELECT test.submit(payload, 'gus')
FROM unnest('{1 settled,2 given up,3 empty,4 lately,5 purged,6 erased,9 purged}'::text[]) AS payload;
SELECT test.submit('7 for another', 'gus', '70'), test.submit('8 of an order', 'gus', order_id => 'order-80'),
    test.submit('9 full', 'gus', '90'), test.submit('9 purged, for another', 'gus', '91'),
    test.submit('9 erased, and purged', 'gus', '92');
SELECT results_eq(
    $$SELECT payload, state, next_attempt_at = now(), uploaded_again_at = now() FROM iap.receipts
    WHERE user_id = 'gus' ORDER BY payload$$,
    $$VALUES
        ('1 settled', 'settled', NULL, true), ('2 given up', 'waiting', true, true),
        ('3 empty', 'unusable', NULL, true), ('4 lately', 'unusable', NULL, NULL), ('5 purged', 'waiting', true, true),
        ('6 erased', 'unusable', NULL, true), ('7 for another', 'watched', true, true),
        ('8 of an order', 'waiting', true, true), ('9 full', 'settled', NULL, NULL),
        ('9 purged, for another', 'watched', true, true),
        (NULL, 'settled', NULL, true), (NULL, 'settled', NULL, true)$$,
    'what was given up is tried again after a week, and for another purchase; but not what was erased');
SELECT is_empty(
    $$SELECT payload FROM iap.receipts
    WHERE user_id = 'gus' AND payload !~ '^6' AND seal IS DISTINCT FROM audit.receipt_seal(
        bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at, state,
        is_erased)$$,
    'and each fits its seal');

-- Two payloads of one user that lie in one bucket are two receipts.
SELECT test.submit(payload, 'flo')
FROM (
    SELECT 'number ' || n AS payload FROM generate_series(1, 10000) AS n
    WHERE get_byte(sha256(convert_to('number ' || n, 'UTF8')), 0) & 63 = 7
    LIMIT 2) AS of_bucket;
SELECT results_eq(
    $$SELECT count(*), count(DISTINCT payload), min(bucket), max(bucket) FROM iap.receipts WHERE user_id = 'flo'$$,
    $$VALUES (2::bigint, 2::bigint, 7::smallint, 7::smallint)$$, 'both are kept');

-- Nothing is dropped.
SELECT is(test.submit(NULL), test.submit(''), 'no payload is stored as an empty one');
SELECT test.submit('of nobody', '', '', '');
SELECT results_eq(
    $$SELECT user_id, transaction_id, order_id FROM iap.receipts WHERE payload = 'of nobody'$$,
    $$VALUES (NULL::text, NULL::text, NULL::text)$$, 'and an empty word is none');
SELECT ok(test.submit('无法解析的收据 🧾 "''\;--' || E'\x01') > 0, 'any text is a payload');
SELECT ok(test.submit(repeat('x', 1000000)) > 0, 'a megabyte is a payload');
SELECT ok(test.submit('p', E'tab\tand\nnewline') > 0, 'control characters are a user');
SELECT is((SELECT user_id FROM iap.receipts WHERE payload = 'p'), E'tab\tand\nnewline', 'kept as they came');
SELECT ok(test.submit('q', transaction_id => 'not a number') > 0,
    'what a client claims to have bought is kept as said');

-- However the caller's own table compresses it.
CREATE TEMPORARY TABLE taken (payload text COMPRESSION pglz);
INSERT INTO taken SELECT string_agg(md5(n::text), repeat('A', 32)) FROM generate_series(1, 400) AS n;
SELECT is(pg_column_compression(payload), 'pglz', 'a payload that a table holds compressed its own way') FROM taken;
SELECT iap.submit_receipt('com.example.a', 'from a table', payload) FROM taken;
SELECT is(
    pg_column_compression(receipts.payload), CASE attcompression WHEN 'l' THEN 'lz4' ELSE 'pglz' END,
    'is kept as the inbox compresses')
FROM iap.receipts
CROSS JOIN pg_attribute
WHERE user_id = 'from a table' AND attrelid = 'iap.receipts'::regclass AND attname = 'payload';

-- What can't be stored is refused with a clear word.
SELECT test.is_refused('iap_app', $$SELECT iap.submit_receipt(NULL, 'ann', 'p')$$,
    '22023', 'bundle_id is not an id%', 'a receipt of no app');
SELECT test.is_refused('iap_app', $$SELECT iap.submit_receipt('com.example.ä', 'ann', 'p')$$,
    '22023', 'bundle_id is not an id%', 'or of what is no bundle id');
SELECT test.is_refused('iap_app', $$SELECT iap.submit_receipt('com.example.a', repeat('x', 1000000), 'p')$$,
    '22023', 'user_id has 1000000 bytes', 'a user id of a megabyte');
SELECT test.is_refused('iap_app', $$SELECT iap.submit_receipt('com.example.a', 'ann', 'p', repeat('x', 1001))$$,
    '22023', 'transaction_id has 1001 bytes', 'an endless transaction id');
SELECT ok(
    test.submit('long', repeat('界', 333), repeat('１', 333), repeat('单', 333)) > 0,
    'the longest of all three fit the indexes');

-- Who takes a delivery back has locked the purchase, and waits for its receipts.
SELECT set_config('idle_in_transaction_session_timeout', '0', true);
SELECT test.submit('hung', 'ann');
SELECT is(
    current_setting('idle_in_transaction_session_timeout'), '5min',
    'whoever uploads and hangs ends by itself, also where its login does not say so');

SELECT * FROM finish();
ROLLBACK;
