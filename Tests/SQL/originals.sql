-- A non-consumable is bought once and owed once, under whatever id it is restored: what takes its original purchase, and
-- what gives it back.
BEGIN;
SELECT no_plan();

CREATE FUNCTION test.places(original text) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT transaction_id || ' ' || coalesce(reason, place)
    FROM iap.transactions
    WHERE original_transaction_id = $1
    ORDER BY transaction_id
$$;

-- Delivered under one id by the support desk, and under the other one by what a company tells of before.
SELECT test.admit('1A', '1A', 'full'), test.admit('1B', '1A', 'full');
SELECT is(test.resolve('1B', 'delivered'), 'delivered', 'delivered under the id that it was restored under');
SELECT test.import(test.heard('1A', product_id => 'full', product_type => 'non_consumable'));
SELECT is(test.reopen('1B'), 'already_delivered', 'is not opened again once the purchase is known to be delivered');
SELECT is(test.claim('1B'), 'already_delivered', 'nor claimed');
SELECT results_eq($$SELECT test.places('1A')$$, $$VALUES ('1A black'), ('1B black')$$, 'so both stay where they are');

-- The same, where what delivered the first is taken back.
SELECT test.admit('2A', '2A', 'full');
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', '2A', 'ann', 'infinity')$$);
SELECT test.import(test.heard(
    '2B', product_id => 'full', product_type => 'non_consumable', original_transaction_id => '2A'));
SELECT test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', '2A')$$);
SELECT results_eq($$SELECT test.places('2A')$$, $$VALUES ('2A white'), ('2B black')$$, 'one delivery is taken back');
SELECT is(test.claim('2A'), 'already_delivered', 'and the other one still keeps the purchase from being delivered again');

-- Granted, refunded, taken away, and the refund reversed, when a setting kept it from being owed.
SELECT test.admit('3A', '3A', 'full');
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', '3A', 'ann', 'infinity')$$);
SELECT test.hear(test.heard('3A', product_id => 'full', exclusion => 'refunded', refunded_at => now()));
SELECT test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', '3A')$$);
SELECT is(
    test.hear(test.heard(
        '3A', product_id => 'full', exclusion => 'before_start', verified_at => now() + interval '1 hour')),
    'before_start', 'what is owed no more by a setting');
SELECT is_empty(
    $$SELECT FROM iap.delivered_originals WHERE original_transaction_id = '3A'$$, 'is delivered no more, either');
SELECT is(
    test.hear(test.heard('3A', product_id => 'full', verified_at => now() + interval '2 hours')), 'white',
    'and is owed once the setting is mended');
SELECT is(test.claim('3A'), 'delivered', 'so that it can be claimed');

SELECT * FROM finish();
ROLLBACK;
