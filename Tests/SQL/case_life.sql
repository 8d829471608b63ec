-- What becomes of a case is in the audit trail, whoever changes it.
BEGIN;
SELECT no_plan();

SELECT test.admit(id, user_id => NULL) FROM (VALUES ('1'), ('2')) AS ids (id);
SELECT test.open_case('1', '{ann}'), test.open_case('2', '{bob}');

CREATE FUNCTION pg_temp.trail(transaction_id text) RETURNS TABLE (kind text, actor text, run_id bigint, what text)
LANGUAGE sql AS $$
    SELECT kind, actor, run_id, coalesce(details ->> 'as', details ->> 'likelihood')
    FROM iap.events
    WHERE events.transaction_id = trail.transaction_id AND kind LIKE 'case%'
    ORDER BY event_id
$$;

SELECT results_eq(
    $$SELECT * FROM pg_temp.trail('1')$$, $$VALUES ('case_opened', 'iap-reconcile', 1::bigint, 'high')$$, 'opened by a run');

-- Judged anew by a later run, and left alone by one that says the same.
UPDATE iap.cases SET likelihood = 'medium', assessed_run_id = 2, assessed_at = now() WHERE transaction_id = '1';
UPDATE iap.cases SET likelihood = 'medium' WHERE transaction_id = '1';
SELECT results_eq(
    $$SELECT * FROM pg_temp.trail('1') OFFSET 1$$,
    $$VALUES ('case_changed', 'iap-reconcile', 2::bigint, 'medium')$$, 'what says the same is no event');

-- Ended by the support desk, taken back, and ended for good.
SELECT test.resolve('1', 'dismissed');
SELECT test.reopen('1');
SELECT test.resolve('1', 'delivered');
SELECT results_eq(
    $$SELECT kind, what FROM pg_temp.trail('1') OFFSET 2$$,
    $$VALUES ('case_closed', 'dismissed'), ('case_reopened', 'medium'), ('case_closed', 'delivered')$$,
    'every end and every new beginning');
SELECT is_empty(
    $$SELECT FROM iap.events WHERE kind LIKE 'case%' AND (actor IS NULL OR happened_at IS NULL)$$,
    'each with its time and who');
SELECT results_eq(
    $$SELECT * FROM pg_temp.trail('2')$$, $$VALUES ('case_opened', 'iap-reconcile', 1::bigint, 'high')$$,
    'another case is another''s');

SELECT * FROM finish();
ROLLBACK;
