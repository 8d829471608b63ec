-- What becomes of a case when its transaction moves, whoever moves it.
BEGIN;
SELECT no_plan();

SELECT test.admit(id, user_id => NULL)
FROM unnest(ARRAY['1', '2', '3', '4', '5', '6', '7']) AS id;
SELECT test.admit('20', product_id => 'full', user_id => NULL), test.admit('21', '20', 'full', user_id => NULL);
SELECT test.open_case(transaction_id, '{ann}') FROM iap.white;
CREATE FUNCTION test.case_of(transaction_id text) RETURNS TABLE (
    state text, closed_as text, closed_by text, note text, is_closed_now boolean, assessed_run_id bigint,
    reopened_run_id bigint
) LANGUAGE sql AS $$
    SELECT state, closed_as, closed_by, note, closed_at = iap.present(), assessed_run_id, reopened_run_id
    FROM iap.cases
    WHERE cases.transaction_id = $1
$$;
SELECT results_eq(
    $$SELECT * FROM test.case_of('1')$$,
    $$VALUES ('open', NULL, NULL, NULL, NULL::boolean, 1::bigint, NULL::bigint)$$, 'a case that a run opened');

-- Ended by the support desk, taken back, and ended for good.
SELECT test.resolve('1', 'dismissed', 'a test');
SELECT results_eq(
    $$SELECT * FROM test.case_of('1')$$,
    $$VALUES ('closed', 'dismissed', 'sue', 'a test', true, 1::bigint, NULL::bigint)$$, 'a resolve closes it');
SELECT test.reopen('1');
SELECT results_eq(
    $$SELECT * FROM test.case_of('1')$$,
    $$VALUES ('open', NULL, NULL, NULL, NULL::boolean, 1::bigint, 0::bigint)$$,
    'taking that back opens it, and the next run is to tell');
SELECT test.resolve('1', 'delivered');
SELECT results_eq(
    $$SELECT * FROM test.case_of('1')$$,
    $$VALUES ('closed', 'delivered', 'sue', 'checked with Apple', true, 1::bigint, 0::bigint)$$, 'and closed again');
SELECT results_eq(
    $$SELECT * FROM test.moves('1')$$,
    $$VALUES
        ('resolved white > dismissed'), ('reopened dismissed > white'), ('resolved white > resolved')$$,
    'the log tells every end and every new beginning');
SELECT is_empty('SELECT FROM iap.events', 'and no event besides');

-- By a claim, a refund, a run that finds it not owed, an import, and the delivery of the same purchase under another
-- id.
SELECT test.claim('2', 'bob');
SELECT test.hear(test.heard('3'), 6), test.hear(test.heard('3', exclusion => 'refunded', refunded_at => now()), 7);
SELECT test.hear(test.heard('4', exclusion => 'upgraded'), 7);
SELECT test.import(test.heard('5'));
SELECT test.claim('21', 'bob');
SELECT results_eq(
    $$SELECT id, state, closed_as, closed_by, note, is_closed_now, assessed_run_id
    FROM unnest(ARRAY['2', '3', '4', '5', '20', '21']) AS id, test.case_of(id)$$,
    $$VALUES
        ('2', 'closed', 'delivered', 'claim:bob', NULL, true, 1::bigint),
        ('3', 'closed', 'refunded', 'run 7', NULL, true, 7), ('4', 'closed', 'withdrawn', 'run 7', NULL, true, 7),
        ('5', 'closed', 'delivered', 'import', NULL, true, 1),
        ('20', 'closed', 'withdrawn', 'claim:bob', NULL, true, 1),
        ('21', 'closed', 'delivered', 'claim:bob', NULL, true, 1)$$, 'whoever moves it closes it');

-- Only what leaves white closes a case, and only its own.
SELECT test.hear(test.heard('6', quantity => 3), 7);
SELECT is((SELECT kind FROM iap.moves WHERE transaction_id = '6'), 'corrected', 'a correction');
SELECT results_eq(
    $$SELECT * FROM test.case_of('6') UNION ALL SELECT * FROM test.case_of('7')$$,
    $$VALUES
        ('open', NULL, NULL, NULL, NULL::boolean, 1::bigint, NULL::bigint),
        ('open', NULL, NULL, NULL, NULL, 1, NULL)$$, 'leaves its case alone, and another case is another''s');
SELECT test.claim('2', 'bob'), test.resolve('3', 'delivered');
SELECT results_eq(
    $$SELECT closed_as, closed_by FROM iap.cases WHERE transaction_id IN ('2', '3') ORDER BY transaction_id$$,
    $$VALUES ('delivered', 'claim:bob'), ('refunded', 'run 7')$$, 'what moves nothing closes nothing anew');

-- What ends it is no judgement of a night, unless a night does.
SELECT test.admit('40'), test.admit('41'), test.open_case('40', '{ann}'), test.open_case('41', '{ann}');
UPDATE iap.cases SET assessed_at = now() - interval '1 day' WHERE transaction_id IN ('40', '41');
SELECT test.claim('40'), test.exclude('41', 'refunded');
SELECT results_eq(
    $$SELECT assessed_at FROM iap.cases WHERE transaction_id IN ('40', '41') ORDER BY transaction_id$$,
    $$VALUES (now() - interval '1 day'), (iap.present())$$, 'when it was judged last stays known');

-- Owed again because Apple took its refund back: the next run judges it anew.
SELECT test.hear(test.heard('3', verified_at => now() + interval '1 day'), 8);
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = '3'), 'white', 'a refund is reversed');
SELECT results_eq(
    $$SELECT state, reopened_run_id FROM test.case_of('3')$$, $$VALUES ('closed', NULL::bigint)$$,
    'which opens no case: that is for the run');

-- What the support desk does for one environment is nothing to the other's case.
SELECT test.admit('30', user_id => NULL), test.admit('30', environment => 'Sandbox', user_id => NULL);
SELECT test.open_case('30', '{ann}');
SELECT test.run_as('iap_support', $$SELECT iap.resolve('30', 'dismissed', 'sue', 'x', 'com.example.a', 'Sandbox')$$);
SELECT is((SELECT state FROM test.case_of('30')), 'open', 'the other environment''s end is not this case''s');

-- Nor is it to another app's of the same id; and what is taken back opens its own case alone.
INSERT INTO iap.cases
SELECT (jsonb_populate_record(cases, others.here)).*
FROM iap.cases
CROSS JOIN (VALUES ('{"bundle_id": "com.example.z"}'::jsonb), ('{"environment": "Sandbox"}')) AS others (here)
WHERE transaction_id = '30';
SELECT test.admit('30', user_id => NULL, bundle_id => 'com.example.z');
SELECT test.run_as('iap_support', $$SELECT iap.resolve('30', 'dismissed', 'sue', 'x', 'com.example.a', 'Production')$$);
CREATE FUNCTION test.cases_of(transaction_id text) RETURNS text
LANGUAGE sql AS $$
    SELECT string_agg(concat_ws(' ', right(bundle_id, 1), environment, state), ', ' ORDER BY bundle_id, environment)
    FROM iap.cases
    WHERE cases.transaction_id = $1
$$;
SELECT is(
    test.cases_of('30'), 'a Production closed, a Sandbox open, z Production open', 'one of three is ended');
UPDATE iap.cases
SET state = 'closed', closed_at = now(), closed_as = 'withdrawn', closed_by = 'run 1'
WHERE transaction_id = '30' AND state = 'open';
SELECT test.run_as('iap_support', $$SELECT iap.reopen('30', 'tom', 'x', 'com.example.a', 'Production')$$);
SELECT is(
    test.cases_of('30'), 'a Production open, a Sandbox closed, z Production closed', 'one of three is open again');
SELECT is((SELECT state FROM test.case_of('4')), 'closed', 'and no other purchase''s');

-- What ended before its purchase left white ended as it did.
SELECT test.admit('50', user_id => NULL), test.open_case('50', '{ann}');
UPDATE iap.cases
SET state = 'closed', closed_at = now(), closed_as = 'withdrawn', closed_by = 'run 1', told_run_id = 1
WHERE transaction_id = '50';
SELECT is(test.claim('50'), 'delivered', 'what a sweep withdrew is claimed');
SELECT results_eq(
    $$SELECT closed_as, closed_by, told_run_id FROM iap.cases WHERE transaction_id = '50'$$,
    $$VALUES ('withdrawn', 'run 1', 1::bigint)$$, 'which no run tells a second time');

SELECT * FROM finish();
ROLLBACK;
