-- iap.register_order: the app's own orders.
BEGIN;
SELECT no_plan();

CREATE FUNCTION test.register(arguments text) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format('SELECT iap.register_order(%s)', arguments))
$$;

SELECT test.register($$'com.example.a', 'o1', 'ann', 'gems'$$);
SELECT test.register($$'com.example.a', 'o1', 'ann', 'gems'$$);
SELECT results_eq(
    $$SELECT user_id, product_id, quantity, app_account_token, created_at = now() FROM iap.orders$$,
    $$VALUES ('ann', 'gems' COLLATE "C", 1, NULL, true)$$, 'an order that is registered twice is one');
SELECT test.register($$'com.example.a', 'o1', 'ann', 'gems', 1, '11111111-1111-4111-8111-111111111111'$$);
SELECT test.register($$'com.example.a', 'o1', 'ann', 'gems', 1, '22222222-2222-4222-8222-222222222222'$$);
SELECT is(
    (SELECT app_account_token FROM iap.orders), '11111111-1111-4111-8111-111111111111',
    'a token is added, and then kept');
SELECT test.register($$'com.example.b', 'o1', 'bob', 'coins', 3, NULL, '2026-01-02T03:04:05Z'$$);
SELECT results_eq(
    $$SELECT quantity, created_at FROM iap.orders WHERE bundle_id = 'com.example.b'$$,
    $$VALUES (3, '2026-01-02T03:04:05Z'::timestamptz)$$, 'another app numbers its orders on its own');

SELECT throws_ok($$SELECT test.register('''com.example.a'', ''o1'', ''bob'', ''gems''')$$, '23505', NULL,
    'the same order of another user is refused');
SELECT throws_ok($$SELECT test.register('''com.example.a'', ''o1'', ''ann'', ''full''')$$, '23505', NULL,
    'or for another product');
SELECT throws_ok($$SELECT test.register('''com.example.a'', ''o2'', ''ann'', ''gems'', 0')$$, '22023', NULL,
    'an order of nothing');
SELECT throws_ok($$SELECT test.register('''com.example.a'', ''o2'', NULL, ''gems''')$$, '22023', NULL, 'of nobody');
SELECT throws_ok($$SELECT test.register('''com.example.a'', '''', ''ann'', ''gems''')$$, '22023', NULL,
    'without an id');
SELECT is((SELECT count(*) FROM iap.orders), 2::bigint, 'none of which is kept');

-- Who erases a person has locked their purchases, and waits for their orders.
SELECT set_config('idle_in_transaction_session_timeout', '0', true);
SELECT test.run_as('iap_app', $$SELECT iap.register_order('com.example.a', 'hung', 'ann', 'gems')$$);
SELECT is(
    current_setting('idle_in_transaction_session_timeout'), '5min',
    'whoever registers an order and hangs ends by itself, also where its login does not say so');

SELECT * FROM finish();
ROLLBACK;
