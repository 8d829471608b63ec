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
        now() + revoked_days * interval '1 day', '{}', NULL)::iap.entitlements;
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

SELECT is(iap.import_entitlements(ARRAY[test.word(10), test.word(20, NULL, 'bo', 's2')]), 2::bigint,
    'what is new is taken');
SELECT results_eq('SELECT test.granted()', ARRAY['s1 ann 10', 's2 bo 20'], 'as it is');
SELECT is(iap.import_entitlements(ARRAY[test.word(10), test.word(5, NULL, 'bo', 's2')]), 0::bigint,
    'what is known changes nothing');
SELECT is(iap.import_entitlements(ARRAY[test.word(30, NULL, 'eve')]), 1::bigint, 'a longer grant is taken');
SELECT results_eq('SELECT test.granted()', ARRAY['s1 eve 30', 's2 bo 20'], 'with whom it was made to');
SELECT is(iap.import_entitlements(ARRAY[test.word(30, 3, 'eve')]), 1::bigint, 'a revocation is taken');
SELECT results_eq('SELECT test.granted()', ARRAY['s1 eve 3 revoked', 's2 bo 20'], 'and shortens');
SELECT is(iap.import_entitlements(ARRAY[test.word(30, 3, 'eve')]), 0::bigint, 'once');
SELECT is(iap.import_entitlements(ARRAY[test.word(40, NULL, 'eve')]), 1::bigint, 'a later grant is in force again');
SELECT results_eq('SELECT test.granted()', ARRAY['s1 eve 40', 's2 bo 20'], 'without the revocation');
SELECT is(iap.import_entitlements(ARRAY[test.word(9, 2, 'cy', 's3')]), 1::bigint,
    'what was revoked before it was known');
SELECT results_eq(
    'SELECT test.granted()', ARRAY['s1 eve 40', 's2 bo 20', 's3 cy 2 revoked'], 'is known as such');
-- A row that is known says when it was granted of its own subscription, and of no other.
CREATE TABLE test.granted_before AS SELECT * FROM iap.entitlements;
UPDATE iap.entitlements SET granted_at = granted_at - interval '1 day';
UPDATE iap.entitlements AS e SET seal = audit.seal(e);
SELECT iap.import_entitlements(ARRAY[test.word(15, NULL, 'bo', 's2')]);
SELECT results_eq(
    'SELECT original_transaction_id FROM iap.entitlements WHERE last_said(entitlements) = now()',
    $$VALUES ('s2' COLLATE "C")$$, 'a word of one subscription is none of another');
TRUNCATE iap.entitlements;
INSERT INTO iap.entitlements SELECT * FROM test.granted_before;
-- A row of an older period, which was revoked before what goes on was granted.
SELECT is(iap.import_entitlements(ARRAY[test.word(-20, -20, 'di', 's4')]), 1::bigint, 'a period that was revoked');
SELECT is(iap.import_entitlements(ARRAY[test.word(20, NULL, 'di', 's4')]), 1::bigint, 'and one that was granted since');
SELECT is(
    iap.import_entitlements(ARRAY[test.word(-20, -20, 'di', 's4')]), 0::bigint, 'is not taken back by the older row');
SELECT is(
    iap.import_entitlements(ARRAY[test.word(-20, -20, 'di', 's4'), test.word(20, NULL, 'di', 's4')]), 0::bigint,
    'whether that comes with the newer one or not');
SELECT results_eq($$SELECT * FROM test.granted() AS g WHERE g LIKE 's4%'$$, ARRAY['s4 di 20'], 'it stays granted');
CREATE FUNCTION test.revoked(days double precision, revoked_days double precision) RETURNS iap.entitlements
LANGUAGE plpgsql AS $$
DECLARE
    word iap.entitlements := test.word(days, NULL, 'di', 's4');
BEGIN
    word.revoked_at := now() + revoked_days * interval '1 day';
    RETURN word;
END
$$;
SELECT is(
    iap.import_entitlements(ARRAY[test.revoked(20, -1)]), 1::bigint,
    'its own row takes it back, though it was revoked before an import told of it');
SELECT results_eq($$SELECT * FROM test.granted() AS g WHERE g LIKE 's4%'$$, ARRAY['s4 di -1 revoked'], 'from then on');
DELETE FROM iap.entitlements WHERE original_transaction_id = 's4';
-- A row that reaches less far and goes on may be of an upgrade, which it says is granted.
SELECT iap.import_entitlements(ARRAY[test.word(300, NULL, 'di', 's4')]);
UPDATE iap.entitlements SET granted_at = now() - interval '9 days' WHERE original_transaction_id = 's4';
UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id = 's4';
SELECT iap.import_entitlements(ARRAY[test.word(300, NULL, 'di', 's4'), test.word(-5, NULL, 'di', 's4')]);
SELECT is(
    (SELECT granted_at FROM iap.entitlements WHERE original_transaction_id = 's4'), now() - interval '9 days',
    'what is over says nothing of now');
SELECT iap.import_entitlements(ARRAY[test.word(300, NULL, 'di', 's4'), test.word(30, NULL, 'di', 's4')]);
CREATE FUNCTION test.shorter() RETURNS text
LANGUAGE sql AS $$
    SELECT concat_ws(' ', extract(day FROM now() - granted_at), (
        SELECT string_agg(
            extract(day FROM until - now()) || '@' || extract(day FROM now() - said_at), ' ' ORDER BY until DESC)
        FROM unnest(shorter)))
    FROM iap.entitlements WHERE original_transaction_id = 's4'
$$;
SELECT is(test.shorter(), '9 30@0', 'what goes on does, as far as it reaches');
SELECT iap.import_entitlements(ARRAY[
    jsonb_populate_record(
        test.word(20, NULL, 'di', 's4'), jsonb_build_object('granted_at', now() - interval '2 days'))]);
SELECT is(test.shorter(), '9 30@0', 'but what another import read before');
SELECT results_eq($$SELECT * FROM test.granted() AS g WHERE g LIKE 's4%'$$, ARRAY['s4 di 300'], 'and shortens nothing');
-- A row that is there night for night says nothing new, until what is owed ends with it.
CREATE FUNCTION test.shorter_days_ago(days integer) RETURNS void
LANGUAGE sql AS $$
    UPDATE iap.entitlements
    SET shorter = ARRAY(
        SELECT ROW(until, now() - days * interval '1 day')::iap.word FROM unnest(shorter) ORDER BY until)
    WHERE original_transaction_id = 's4';
    UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id = 's4'
$$;
SELECT test.shorter_days_ago(5);
CREATE FUNCTION test.owed_until(id text, days integer, product_id text, days_ago integer DEFAULT 1) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v iap.verified := test.heard(
        id, product_id => product_id, product_type => 'auto_renewable', original_transaction_id => 's4',
        purchased_at => now() - days_ago * interval '1 day');
BEGIN
    v.expires_at := now() + days * interval '1 day';
    PERFORM iap.enter(ARRAY[v], 1, now());
END
$$;
SELECT test.owed_until('s4', 300, 'basic', 20), test.owed_until('s4a', 25, 'premium'),
    test.owed_until('s4b', 400, 'premium');
CREATE FUNCTION test.import_days(VARIADIC days integer[]) RETURNS void
LANGUAGE sql AS $$
    SELECT test.run_as('iap_import', format(
        'SELECT iap.import_entitlements(%L)',
        (SELECT array_agg(test.word(day, NULL, 'di', 's4')) FROM unnest(days) AS day)))
$$;
SELECT test.import_days(300, 30);
SELECT is(test.shorter(), '9 30@5', 'what is there each night');
SELECT test.import_days(300, 30, 20);
SELECT is(test.shorter(), '9 30@5 20@0', 'unlike a new row beside it');
SELECT test.shorter_days_ago(3);
SELECT test.import_days(300, 20, 30);
SELECT is(test.shorter(), '9 30@3 20@3', 'as the other does');
SELECT test.import_days(300, 30, 25, 20);
SELECT is(test.shorter(), '9 30@3 25@0 20@3', 'and the row of an upgrade');
SELECT test.shorter_days_ago(3);
SELECT test.import_days(300, 30, 25, 20);
SELECT is(test.shorter(), '9 30@3 25@0 20@3', 'as long as that is owed');
SELECT test.import_days(301, 30, 25);
SELECT is(test.shorter(), '0 30@3 25@0 20@3', 'what reaches further than all of them is of all, and forgets none');
SELECT is_empty(
    $$SELECT * FROM test.granted() AS g WHERE g LIKE 's4%unsealed'$$, 'and each time the row is sealed anew');
DELETE FROM iap.transactions WHERE original_transaction_id = 's4';
-- What is taken back of several rows is owed again, where no other row grants it.
SELECT test.owed_until('s4', 301, 'basic', 20), test.owed_until('s4c', 60, 'premium'),
    test.owed_until('s4d', 50, 'gold');
UPDATE iap.entitlements SET granted_at = now() - interval '9 days', shorter = '{}' WHERE original_transaction_id = 's4';
UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id = 's4';
SELECT test.import_days(301, 60, 50);
SELECT is(iap.cover_entitled(7, now(), 10), 2::bigint, 'upgrades within a year are granted');
CREATE FUNCTION test.import_words(VARIADIC words iap.entitlements[]) RETURNS bigint
LANGUAGE sql AS $$
    SELECT test.run_as('iap_import', format(
        'SELECT iap.import_entitlements(%L)', test.word(301, NULL, 'di', 's4') || words))::bigint
$$;
SELECT is(
    test.import_words(test.word(60, NULL, 'di', 's4'), test.word(50, NULL, 'di', 's4'), test.revoked(50, 0)), 0::bigint,
    'one row of two that end together is revoked');
SELECT is(
    test.import_words(test.revoked(60, 0), test.word(50, NULL, 'di', 's4')), 1::bigint, 'the row of an upgrade is');
SELECT is(test.import_words(test.revoked(60, 0), test.word(50, NULL, 'di', 's4')), 0::bigint, 'once');
SELECT results_eq(
    $$SELECT transaction_id FROM iap.white WHERE original_transaction_id = 's4'$$, $$VALUES ('s4c' COLLATE "C")$$,
    'and it alone is owed again');
SELECT is_empty($$SELECT * FROM test.granted() AS g WHERE g LIKE 's4%unsealed'$$, 'sealed');
DELETE FROM iap.transactions WHERE original_transaction_id = 's4';
-- A year that was given up for months: its row says that it was revoked, beside one that goes on.
UPDATE iap.entitlements SET granted_at = now() - interval '9 days', shorter = '{}' WHERE original_transaction_id = 's4';
UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id = 's4';
SELECT is(iap.import_entitlements(ARRAY[test.revoked(300, -1), test.word(30, NULL, 'di', 's4')]), 1::bigint,
    'is revoked');
SELECT results_eq(
    $$SELECT * FROM test.granted() AS g WHERE g LIKE 's4%'$$, ARRAY['s4 di 30 revoked'], 'down to what goes on');
SELECT is(
    (SELECT granted_at FROM iap.entitlements WHERE original_transaction_id = 's4'), now(), 'which it says is granted');
SELECT is(
    iap.import_entitlements(ARRAY[test.word(30, NULL, 'di', 's4'), test.revoked(300, -1)]), 0::bigint, 'once');
SELECT is(
    iap.import_entitlements(ARRAY[test.word(60, NULL, 'di', 's4'), test.revoked(300, -1)]), 1::bigint,
    'and what is granted since');
SELECT results_eq($$SELECT * FROM test.granted() AS g WHERE g LIKE 's4%'$$, ARRAY['s4 di 60'], 'stays granted');
-- A row a period, in any order: the one that reaches furthest counts, and of two that reach as far the last.
SELECT iap.import_entitlements(ARRAY[test.word(60, NULL, 'di', 's5'), test.word(30, NULL, 'ed', 's5')]);
SELECT iap.import_entitlements(ARRAY[test.word(60, NULL, 'di', 's6'), test.word(60, NULL, 'ed', 's6')]);
CREATE FUNCTION test.revoked_of(original text, days double precision, revoked_days double precision)
RETURNS iap.entitlements
LANGUAGE sql AS $$
    SELECT jsonb_populate_record(
        test.revoked(days, revoked_days), jsonb_build_object('original_transaction_id', original))
$$;
SELECT is(
    iap.import_entitlements(ARRAY[test.revoked_of('s7', 60, -1)]), 1::bigint,
    'what was revoked before it was known, as it is');
SELECT results_eq(
    $$SELECT * FROM test.granted() AS g WHERE g ~ '^s[567]'$$, ARRAY['s5 di 60', 's6 ed 60', 's7 di -1 revoked'],
    'as far as it was not revoked');
-- Granted two days ago; what was revoked before that does not end it, what was revoked since does, whatever else was.
SELECT iap.import_entitlements(ARRAY[test.word(300, NULL, 'di', id)]) FROM unnest(ARRAY['s7', 's8', 's9', 's10']) AS id;
UPDATE iap.entitlements SET granted_at = now() - interval '2 days' WHERE original_transaction_id ~ '^s([789]|10)';
UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id ~ '^s([789]|10)';
SELECT is(
    iap.import_entitlements(ARRAY[test.revoked_of('s7', 20, -5), test.revoked_of('s7', 200, -1)]), 1::bigint,
    'the row that had reached further');
SELECT is(
    iap.import_entitlements(ARRAY[test.revoked_of('s8', 100, -1), test.word(200, NULL, 'di', 's8')]), 1::bigint,
    'beside one that goes on');
SELECT is(iap.import_entitlements(ARRAY[test.revoked_of('s9', 30, -5)]), 0::bigint, 'and one that is long revoked');
SELECT is(
    iap.import_entitlements(ARRAY[test.revoked_of('s10', 200, -5), test.revoked_of('s10', -1, -1)]), 1::bigint,
    'or the one that was revoked last, though another had reached further');
SELECT results_eq(
    $$SELECT * FROM test.granted() AS g WHERE g ~ '^s([789]|10)'$$,
    ARRAY['s10 di -1 revoked', 's7 di -1 revoked', 's8 di 200 revoked', 's9 di 300'], 'leave what each still grants');
SELECT is(
    (SELECT granted_at FROM iap.entitlements WHERE original_transaction_id = 's9'), now() - interval '2 days',
    'and what was revoked says nothing of now');
-- Of a row a period, that of one which is over ends with it, and comes alone once the next one is known: it takes
-- nothing of that back. A row that ends at another moment does.
SELECT test.owed_until('s11', -1, 'basic', 31), test.owed_until('s11a', 30, 'basic', 2);
UPDATE iap.transactions SET original_transaction_id = 's11' WHERE transaction_id IN ('s11', 's11a');
SELECT iap.import_entitlements(ARRAY[test.word(30, NULL, 'di', 's11'), test.word(-1, NULL, 'di', 's11')]);
UPDATE iap.entitlements SET granted_at = now() - interval '2 days' WHERE original_transaction_id = 's11';
UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id = 's11';
SELECT is(iap.import_entitlements(ARRAY[test.revoked_of('s11', -1, -1)]), 0::bigint, 'a period that is over');
SELECT results_eq($$SELECT * FROM test.granted() AS g WHERE g LIKE 's11 %'$$, ARRAY['s11 di 30'], 'ends no other');
SELECT is(iap.import_entitlements(ARRAY[test.revoked_of('s11', -0.5, -0.5)]), 1::bigint, 'what ended since does');
-- Another app's original of the same id, and a row that was changed by hand.
UPDATE iap.entitlements SET bundle_id = 'com.example.z' WHERE original_transaction_id = 's9';
UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id = 's9';
INSERT INTO iap.entitlements
SELECT (jsonb_populate_record(e, '{"bundle_id": "com.example.a", "seal": 1}')).*
FROM iap.entitlements AS e WHERE original_transaction_id = 's9';
SELECT iap.import_entitlements(ARRAY[test.word(30, NULL, 'di', 's9')]);
SELECT results_eq(
    $$SELECT bundle_id, shorter <> '{}', seal = audit.seal(e) FROM iap.entitlements AS e
    WHERE original_transaction_id = 's9' ORDER BY 1$$,
    $$VALUES ('com.example.a' COLLATE "C", true, false), ('com.example.z', false, true)$$,
    'a word of one app is none of another, and mends no seal');
UPDATE iap.entitlements SET entitled_until = now() WHERE original_transaction_id = 's1';
SELECT is(iap.import_entitlements(ARRAY[test.word(50)]), 1::bigint, 'a row that was changed by hand');
SELECT matches((SELECT test.granted() LIMIT 1), 'unsealed', 'does not get a seal by that');

SELECT * FROM finish();
ROLLBACK;
