-- iap.decide: a decision that was taken before a report ends its case only while the case is as the report showed it.
-- Where a session would not see a case that was opened meanwhile, and looks for it; it finds those that it sees.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT no_plan();

SELECT test.admit(id, user_id => NULL)
FROM (VALUES ('1'), ('2'), ('3'), ('4'), ('5'), ('6'), ('7'), ('8'), ('9')) AS ids (id);
SELECT test.open_case('1', '{ann}'), test.open_case('2', '{ann,bob}'), test.open_case('3', '{ann}'),
    test.open_case('4', '{}'), test.open_case('5', '{ann}'), test.open_case('6', '{ann}'), test.open_case('8', '{ann}');
UPDATE iap.cases SET periods = '{8,9}' WHERE transaction_id = '8';

CREATE FUNCTION pg_temp.mark(id text) RETURNS text LANGUAGE sql AS $$
    SELECT iap.case_mark(
        opened_run_id, opened_at, move_id, product_id, quantity, owner_user_ids, periods)
    FROM iap.cases JOIN iap.transactions USING (transaction_id, bundle_id, environment)
    WHERE transaction_id = id
$$;
CREATE FUNCTION pg_temp.decide(id text, how text, mark text) RETURNS text LANGUAGE sql AS $$
    SELECT test.run_as('iap_support', format(
        'SELECT iap.decide(%L, %L, %L, %L, %L, %L, %L)', id, 'com.example.a', 'Production', mark, how, 'sue', 'seen'))
$$;
CREATE TEMPORARY TABLE shown AS
SELECT transaction_id AS id, pg_temp.mark(transaction_id) AS mark FROM iap.cases;
CREATE FUNCTION pg_temp.decide(id text, how text) RETURNS text LANGUAGE sql AS $$
    SELECT pg_temp.decide($1, $2, mark) FROM shown WHERE shown.id = $1
$$;

SELECT matches(mark, '^[0-9a-f]{8}-[0-9a-f]{8}$', 'a mark is short') FROM shown WHERE id = '1';
SELECT is(count(DISTINCT split_part(mark, '-', 1)), 1::bigint, 'cases of one night share its first half') FROM shown;

SELECT is(pg_temp.decide('1', 'delivered'), 'delivered', 'what is as it was shown is ended');
SELECT is(pg_temp.decide('1', 'delivered'), 'already', 'and the same again is so already');
SELECT is(pg_temp.decide('1', 'dismissed'), 'already_delivered', 'and another decision comes too late');
SELECT results_eq(
    $$SELECT actor, details ->> 'note' FROM iap.moves WHERE transaction_id = '1' AND kind = 'resolved'$$,
    $$VALUES ('sue', 'seen')$$, 'who and why is kept');
SELECT is(pg_temp.decide('3', 'dismissed'), 'dismissed', 'nothing is owed');
SELECT is(pg_temp.decide('3', 'dismissed'), 'already', 'once');
SELECT is(pg_temp.decide('3', 'refunded'), 'excluded', 'and not for another reason');
SELECT is(pg_temp.decide('4', 'refunded'), 'refunded', 'the money went back');
SELECT is(pg_temp.decide('4', 'refunded'), 'already', 'once');
SELECT is(pg_temp.decide('4', 'dismissed'), 'excluded', 'and is no dismissal');
SELECT results_eq(
    $$SELECT transaction_id, closed_as FROM iap.cases WHERE transaction_id IN ('1', '3', '4') ORDER BY 1$$,
    $$VALUES ('1' COLLATE "C", 'delivered'), ('3', 'dismissed'), ('4', 'refunded')$$, 'and their cases say so');

SELECT is(pg_temp.decide('2', 'delivered'), 'several_owners', 'of two owners a line names none');
SELECT is(pg_temp.decide('2', 'dismissed'), 'dismissed', 'which matters to nobody where nothing is owed');

-- What came since.
SELECT is(test.claim('5'), 'delivered', 'the customer came for it');
SELECT is(pg_temp.decide('5', 'delivered'), 'already_delivered', 'so that it was not the desk that delivered');
UPDATE iap.cases SET owner_user_ids = '{bob}' WHERE transaction_id = '6';
SELECT is(pg_temp.decide('6', 'delivered'), 'changed_since', 'another owner is another case');
SELECT is(place, 'white', 'and nothing was changed') FROM iap.transactions WHERE transaction_id = '6';
UPDATE iap.cases SET owner_user_ids = '{ann}' WHERE transaction_id = '6';
SELECT is(pg_temp.decide('6', 'delivered'), 'delivered', 'and as it was it is the same');
SELECT is(test.reopen('6'), 'reopened', 'that was wrong');
SELECT is(pg_temp.decide('6', 'delivered'), 'changed_since', 'and the old report does not do it again');

-- Another report's.
SELECT is(pg_temp.decide('7', 'delivered', '00000000-00000000'), 'another_report', 'what is no case');
SELECT is(pg_temp.decide('99', 'delivered', '00000000-00000000'), 'another_report', 'what nobody knows');
SELECT is(pg_temp.decide('6', 'delivered', '00000000-00000000'), 'another_report', 'and a case of another opening');
SELECT is(pg_temp.decide('6', 'delivered', NULL), 'another_report', 'or without a mark');

-- A subscription's case ends with all its periods.
SELECT is(pg_temp.decide('8', 'delivered'), 'delivered', 'a subscription was made up for');
SELECT results_eq(
    $$SELECT transaction_id, user_id FROM iap.black WHERE transaction_id IN ('8', '9') ORDER BY 1$$,
    $$VALUES ('8' COLLATE "C", 'ann'), ('9', 'ann')$$, 'with both its periods, to its owner');
-- One account of Apple's paid for another user since.
SELECT test.run_as(
    'iap_app', $$SELECT iap.register_user('com.example.a', 'bob', '62496054-a220-5c31-b232-92450941abac')$$);
SELECT test.admit('18', user_id => 'ann'), test.admit('19', user_id => NULL), test.open_case('18', '{ann}');
SELECT test.hear(test.heard('19', app_account_token => '62496054-a220-5c31-b232-92450941abac'));
UPDATE iap.cases SET periods = '{18,19}' WHERE transaction_id = '18';
INSERT INTO shown SELECT '18', pg_temp.mark('18');
SELECT is(pg_temp.decide('18', 'delivered'), 'delivered', 'of a subscription that two users had in turn');
SELECT results_eq(
    $$SELECT transaction_id, place FROM iap.transactions WHERE transaction_id IN ('18', '19') ORDER BY 1$$,
    $$VALUES ('18' COLLATE "C", 'black'), ('19', 'white')$$, 'the other''s periods stay owed');

-- Delivered without the customer.
SELECT test.admit('20', user_id => 'ann'), test.admit('21', user_id => NULL), test.admit('22', user_id => 'ann');
SELECT test.open_case('20', '{ann}'), test.open_case('21', '{}'), test.open_case('22', '{ann,bob}');
INSERT INTO shown SELECT id, pg_temp.mark(id) FROM unnest(ARRAY['20', '21', '22']) AS id;
SELECT is(pg_temp.decide('20', 'deliver'), 'deliver', 'the app''s server shall deliver it');
SELECT is(pg_temp.decide('20', 'deliver'), 'already', 'once');
SELECT results_eq(
    $$SELECT user_id, ordered_by, note FROM iap.redeliveries WHERE transaction_id = '20'$$,
    $$VALUES ('ann', 'sue', 'seen')$$, 'to its owner, with who and why');
SELECT is(pg_temp.decide('21', 'deliver'), 'owner_uncertain', 'not to nobody');
SELECT is(pg_temp.decide('22', 'deliver'), 'several_owners', 'nor to one of two');
SELECT test.admit('23', user_id => 'ann'), test.open_case('23', '{ann}');
INSERT INTO shown SELECT '23', pg_temp.mark('23');
SELECT is(pg_temp.decide('23', 'deliver'), 'deliver', 'another is ordered, too');
SELECT test.run_as('iap_app', $$SELECT iap.register_order('com.example.a', 'order-of-bob', 'bob', 'gems')$$);
SELECT test.admit(
    '23', user_id => 'ann', receipt_id => test.submit('a receipt', 'bob', '23', order_id => 'order-of-bob'));
SELECT test.admit('23', bundle_id => 'com.example.b'), test.admit('23', environment => 'Sandbox');
INSERT INTO iap.redeliveries SELECT (jsonb_populate_record(ordered, other)).*
FROM iap.redeliveries AS ordered
CROSS JOIN (VALUES ('{"bundle_id": "com.example.b"}'::jsonb), ('{"environment": "Sandbox"}')) AS others (other)
WHERE transaction_id = '23';
SELECT is(
    pg_temp.decide('23', 'deliver'), 'several_owners', 'where others speak for it since, it will not be delivered');
UPDATE iap.redeliveries SET tries = 5, taken_at = now(), due_at = now() WHERE transaction_id = '20';
SELECT is(pg_temp.decide('20', 'deliver'), 'deliver', 'but what it gave up it shall try again');
SELECT is(test.claim('20', 'ann'), 'delivered', 'the server takes and claims it');
SELECT is(pg_temp.decide('20', 'deliver'), 'already', 'and the same file again is so already');
SELECT is(pg_temp.decide('20', 'delivered'), 'already_delivered', 'but it was not the desk''s hand');
SELECT is(
    pg_temp.decide('5', 'deliver'), 'already_delivered', 'what the customer came for needs no delivery');

-- Also once a night has told of it.
SELECT test.admit('25', user_id => 'ann'), test.open_case('25', '{ann}');
INSERT INTO shown SELECT '25', pg_temp.mark('25');
SELECT is(pg_temp.decide('25', 'deliver'), 'deliver', 'one is ordered');
UPDATE iap.redeliveries SET tries = 1, taken_at = now(), due_at = now() + interval '5 minutes'
WHERE transaction_id = '25';
SELECT is(test.claim('25', 'ann'), 'delivered', 'taken and claimed');
SET LOCAL search_path = public, iap;
SELECT test.run_as('iap_job', 'SELECT iap.settle_redeliveries(2, now())');
RESET search_path;
SELECT is(ended_as, 'redelivered', 'and told of') FROM iap.redeliveries WHERE transaction_id = '25';
SELECT is(pg_temp.decide('25', 'deliver'), 'already', 'by the old file it is so already');

-- What Apple refunded meanwhile is not being delivered, whatever was ordered.
SELECT test.admit('26', user_id => 'ann'), test.open_case('26', '{ann}');
INSERT INTO shown SELECT '26', pg_temp.mark('26');
SELECT is(pg_temp.decide('26', 'deliver'), 'deliver', 'one more is ordered');
SELECT is(test.exclude('26', 'refunded'), 'refunded', 'and refunded');
SELECT is(pg_temp.decide('26', 'deliver'), 'excluded', 'so that it is not delivered');

-- A case that was closed meanwhile, though nothing moved.
SELECT test.admit('27', user_id => 'ann'), test.open_case('27', '{ann}');
INSERT INTO shown SELECT '27', pg_temp.mark('27');
UPDATE iap.cases SET state = 'closed', closed_at = now(), closed_as = 'withdrawn', closed_by = 'run 2'
WHERE transaction_id = '27';
SELECT is(pg_temp.decide('27', 'dismissed'), 'changed_since', 'is none to decide');

-- Another app's case may have the same number as what is none here.
INSERT INTO iap.cases SELECT (jsonb_populate_record(cases, '{"bundle_id": "com.example.b", "transaction_id": "7"}')).*
FROM iap.cases
WHERE transaction_id = '22';
SELECT is(pg_temp.decide('7', 'dismissed', mark), 'another_report', 'another app''s is not this one''s')
FROM shown
WHERE id = '22';

-- A tester's case may have the same number as a customer's.
SELECT test.admit('24', user_id => NULL), test.admit('24', user_id => NULL, environment => 'Sandbox');
SELECT test.open_case('24', '{ann}');
INSERT INTO iap.cases (
    transaction_id, bundle_id, environment, likelihood, reasons, action, owner_user_ids, opened_at, opened_run_id,
    assessed_at, assessed_run_id)
SELECT
    transaction_id, bundle_id, 'Sandbox', likelihood, reasons, action, '{bob}', opened_at, opened_run_id, assessed_at,
    assessed_run_id
FROM iap.cases
WHERE transaction_id = '24';
SELECT is(
    test.run_as('iap_support', format(
        'SELECT iap.decide(%L, %L, %L, %L, %L, %L, %L)', '24', bundle_id, environment, iap.case_mark(
            opened_run_id, opened_at, move_id, product_id, quantity, owner_user_ids, periods),
        'dismissed', 'sue', 'a test')), 'dismissed', 'by its own mark it is ended')
FROM iap.cases JOIN iap.transactions USING (transaction_id, bundle_id, environment)
WHERE transaction_id = '24' AND environment = 'Sandbox';
SELECT results_eq(
    $$SELECT environment, state FROM iap.cases WHERE transaction_id = '24' ORDER BY 1$$,
    $$VALUES ('Production', 'open'), ('Sandbox', 'closed')$$, 'and the customer''s stays');

SELECT test.is_refused(
    'iap_support', $$SELECT iap.decide('6', 'com.example.a', 'Production', 'm', 'given', 'sue', 'x')$$,
    '22023', 'a decision is%', 'a word that is no decision');
SELECT test.is_refused(
    'iap_support', $$SELECT iap.decide('1', 'com.example.a', 'Production', 'm', NULL, 'sue', 'x')$$,
    '22023', 'a decision is%', 'nor is none');
SELECT throws_ok(call, '22023', message, message)
FROM (
    VALUES
        ($$SELECT iap.decide('', 'com.example.a', 'Production', 'm', 'dismissed', 'sue', 'x')$$,
            'transaction_id is not an id of Apple''s'),
        ($$SELECT iap.decide('1', '', 'Production', 'm', 'dismissed', 'sue', 'x')$$,
            'bundle_id is not an id of Apple''s'),
        ($$SELECT iap.decide('1', 'com.example.a', 'Production', 'm', 'dismissed', '', 'x')$$, 'who is missing'),
        ($$SELECT iap.decide('1', 'com.example.a', 'Production', 'm', 'dismissed', 'sue', '')$$, 'note is missing')
) AS calls (call, message);
SELECT set_config('idle_in_transaction_session_timeout', '0', true);
SELECT pg_temp.decide('99', 'dismissed', 'm');
SELECT is(
    current_setting('idle_in_transaction_session_timeout'), '5min', 'who decides and hangs lets go of it by itself');

SELECT * FROM finish();
ROLLBACK;
