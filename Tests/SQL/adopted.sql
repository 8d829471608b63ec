-- iap.adopt screens what Apple signed as the night does. The list says what either makes of each; that the night does
-- so, and that what either takes is the same row in the end, holds a Swift test: AdoptedAlikeTests.
BEGIN;
SELECT no_plan();

CREATE FUNCTION test.adopt(claims jsonb) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    RETURN test.run_as('iap_support', format(
        'SELECT iap.adopt(%L, %L, %L, %L, %L)', 'com.example.game',
        test.signed(claims), 'anna', 'desk', 'she sent the invoice'));
EXCEPTION
    -- What is no signed transaction of Apple's.
    WHEN invalid_parameter_value THEN
        RETURN NULL;
END
$$;

CREATE TABLE test.variants AS
SELECT
    variant ->> 'name' AS name, variant ->> 'adopted' AS expected,
    (
        jsonb_build_object('transactionId', 't' || number, 'originalTransactionId', 't' || number)
        || (list -> 'base') || coalesce(variant -> 'says', '{}'))
        - ARRAY(SELECT jsonb_array_elements_text(variant -> 'lacks')) AS claims
FROM (SELECT text::jsonb AS list FROM test.files WHERE name = 'signed_transactions.json') AS read
CROSS JOIN jsonb_array_elements(list -> 'variants') WITH ORDINALITY AS told (variant, number);

SELECT is(test.adopt(claims), expected, name) FROM test.variants;
SELECT results_eq(
    $$SELECT transaction_id COLLATE "default" FROM iap.transactions WHERE place = 'white' ORDER BY 1$$,
    $$SELECT claims ->> 'transactionId' FROM test.variants WHERE expected = 'white' ORDER BY 1$$,
    'what is owed is white, and nothing else is taken');

SELECT * FROM finish();
ROLLBACK;
