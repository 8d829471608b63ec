-- iap.register_order and iap.register_user: the app's own orders, and whose its users' tokens are.
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

SELECT throws_ok($$SELECT test.register('''com.example.a'', ''o1'', ''ann'', ''gems'', 2')$$, '23505', NULL,
    'the same order of another quantity is refused, too');
SELECT test.is_refused('iap_app', format('SELECT iap.register_order(%s)', arguments), '22023', pattern, pattern)
FROM (
    VALUES
        ($$'an app', 'o2', 'ann', 'gems'$$, 'bundle_id is not an id%'),
        ($$'com.example.a', 'o2', 'ann', 'two gems'$$, 'product_id is not an id%'),
        ($$'com.example.a', 'o2', 'ann', 'gems', NULL$$, '%quantity is at least 1'),
        ($$'com.example.a', 'o2', 'ann', 'gems', 1, 'ann'$$, 'app_account_token is no UUID'),
        ($$'com.example.a', 'o2', 'ann', 'gems', 1, NULL, '2008-07-09Z'$$, 'created_at can''t be%')
) AS bad (arguments, pattern);

-- A token means the same in capital letters; an empty one is none; and what was opened at no moment was opened now.
SELECT test.register($$'com.example.a', 'o3', 'ann', 'gems', 1, 'AAAAAAAA-1111-4111-8111-111111111111', NULL$$),
    test.register($$'com.example.a', 'o4', 'ann', 'gems', 1, ''$$),
    test.register($$'com.example.a', 'o5', 'ann', 'gems'$$);
SELECT results_eq(
    $$SELECT order_id, app_account_token, created_at = now() FROM iap.orders
    WHERE order_id IN ('o3', 'o4') ORDER BY 1$$,
    $$VALUES ('o3', 'aaaaaaaa-1111-4111-8111-111111111111', true), ('o4', NULL, true)$$, 'as they are kept');
UPDATE iap.orders SET user_id = 'eve' WHERE order_id = 'o5';
SELECT test.register($$'com.example.a', 'o5', 'eve', 'gems', 1, '33333333-3333-4333-8333-333333333333'$$);
SELECT set_eq(
    'SELECT row FROM test.misfits', ARRAY['o5'], 'each fits its seal but the one that was changed by hand');

-- Whose a token is: one user's of an app, however often and in whatever letters that is said.
CREATE FUNCTION test.register_user(app text, whose text, token text) RETURNS text
LANGUAGE sql AS $$ SELECT format('SELECT iap.register_user(%L, %L, %L)', app, whose, token) $$;
SELECT test.run_as('iap_app', test.register_user(app, whose, token))
FROM (
    VALUES
        ('com.example.a', 'ann', 'BBBBBBBB-1111-4111-8111-111111111111'),
        ('com.example.a', 'ann', 'bbbbbbbb-1111-4111-8111-111111111111'),
        ('com.example.a', 'ann', 'cccccccc-1111-4111-8111-111111111111'),
        ('com.example.b', 'bob', 'bbbbbbbb-1111-4111-8111-111111111111')
) AS said (app, whose, token);
SELECT test.is_refused('iap_app', test.register_user(app, whose, token), state, pattern, pattern)
FROM (
    VALUES
        ('com.example.a', 'bob', 'bbbbbbbb-1111-4111-8111-111111111111', '23505', 'this token is registered already%'),
        ('an app', 'ann', 'dddddddd-1111-4111-8111-111111111111', '22023', 'bundle_id is not an id%'),
        ('com.example.a', '', 'dddddddd-1111-4111-8111-111111111111', '22023', 'user_id is missing'),
        ('com.example.a', 'ann', NULL, '22023', 'app_account_token is no UUID'),
        ('com.example.a', 'ann', 'ann', '22023', 'app_account_token is no%')
) AS bad (app, whose, token, state, pattern);
SELECT results_eq(
    'SELECT bundle_id, user_id, left(app_account_token, 1) FROM iap.account_tokens ORDER BY 1, 3',
    $$VALUES
        ('com.example.a' COLLATE "C", 'ann', 'b'), ('com.example.a', 'ann', 'c'), ('com.example.b', 'bob', 'b')$$,
    'each is kept once');

-- Who erases a person has locked their purchases, and waits for their orders.
SELECT set_config('idle_in_transaction_session_timeout', '0', true);
SELECT test.run_as('iap_app', $$SELECT iap.register_order('com.example.a', 'hung', 'ann', 'gems')$$);
SELECT is(
    current_setting('idle_in_transaction_session_timeout'), '5min',
    'whoever registers an order and hangs ends by itself, also where its login does not say so');

SELECT * FROM finish();
ROLLBACK;
