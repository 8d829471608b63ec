-- iap.import_entitlements: what a company's own tables say was granted.
BEGIN;
SELECT no_plan();
SET LOCAL search_path = public, iap;

CREATE FUNCTION test.word(
    days double precision, revoked_days double precision DEFAULT NULL, user_id text DEFAULT 'ann',
    original_transaction_id text DEFAULT 's1'
) RETURNS iap.entitlements
LANGUAGE plpgsql AS $$
DECLARE
    word iap.entitlements := ROW(
        original_transaction_id, 'com.example.a', user_id, now() + days * interval '1 day', now(), now(),
        now() + revoked_days * interval '1 day', NULL)::iap.entitlements;
BEGIN
    word.entitled_until := least(word.entitled_until, word.revoked_at);
    word.seal := audit.seal(word);
    RETURN word;
END
$$;
CREATE FUNCTION test.granted() RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT concat_ws(
        ' ', original_transaction_id, user_id, round(extract(epoch FROM entitled_until - now()) / 86400),
        CASE WHEN revoked_at IS NOT NULL THEN 'revoked' END, CASE WHEN seal <> audit.seal(e) THEN 'unsealed' END)
    FROM iap.entitlements AS e ORDER BY 1
$$;

SELECT is(iap.import_entitlements(ARRAY[test.word(10), test.word(20, NULL, 'bo', 's2')]), 2::bigint, 'what is new is taken');
SELECT results_eq('SELECT test.granted()', ARRAY['s1 ann 10', 's2 bo 20'], 'as it is');
SELECT is(iap.import_entitlements(ARRAY[test.word(10), test.word(5, NULL, 'bo', 's2')]), 0::bigint, 'what is known changes nothing');
SELECT is(iap.import_entitlements(ARRAY[test.word(30, NULL, 'eve')]), 1::bigint, 'a longer grant is taken');
SELECT results_eq('SELECT test.granted()', ARRAY['s1 eve 30', 's2 bo 20'], 'with whom it was made to');
SELECT is(iap.import_entitlements(ARRAY[test.word(30, 3, 'eve')]), 1::bigint, 'a revocation is taken');
SELECT results_eq('SELECT test.granted()', ARRAY['s1 eve 3 revoked', 's2 bo 20'], 'and shortens');
SELECT is(iap.import_entitlements(ARRAY[test.word(30, 3, 'eve')]), 0::bigint, 'once');
SELECT is(iap.import_entitlements(ARRAY[test.word(40, NULL, 'eve')]), 1::bigint, 'a later grant is in force again');
SELECT results_eq('SELECT test.granted()', ARRAY['s1 eve 40', 's2 bo 20'], 'without the revocation');
SELECT is(iap.import_entitlements(ARRAY[test.word(9, 2, 'cy', 's3')]), 1::bigint, 'what was revoked before it was known');
SELECT results_eq(
    'SELECT test.granted()', ARRAY['s1 eve 40', 's2 bo 20', 's3 cy 2 revoked'], 'is known as such');
UPDATE iap.entitlements SET entitled_until = now() WHERE original_transaction_id = 's1';
SELECT is(iap.import_entitlements(ARRAY[test.word(50)]), 1::bigint, 'a row that was changed by hand');
SELECT matches((SELECT test.granted() LIMIT 1), 'unsealed', 'does not get a seal by that');

SELECT * FROM finish();
ROLLBACK;
