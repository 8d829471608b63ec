-- iap.reopen: a wrong resolve is taken back, and nothing else is.
BEGIN;
SELECT no_plan();
SET LOCAL search_path = public, iap;

CREATE FUNCTION test.white_row(transaction_id text) RETURNS jsonb
LANGUAGE sql AS $$
    SELECT to_jsonb(white) - 'seal' FROM iap.white WHERE transaction_id = $1
$$;

-- What the job knows of a purchase beyond what a server admits.
CREATE FUNCTION test.enrich(transaction_id text) RETURNS void
LANGUAGE sql AS $$
    UPDATE iap.white
    SET source = 'server_api', first_run_id = 3, nights_confirmed = 2, last_confirmed_at = now() - interval '1 hour',
        expires_at = now() + interval '30 days', app_account_token = 'a-token', web_order_line_item_id = '77',
        price_milliunits = 990, currency = 'USD', storefront = 'USA', is_trial = true
    WHERE transaction_id = $1;
    UPDATE iap.transactions SET seal = audit.seal(transactions) WHERE transaction_id = $1
$$;

SELECT test.admit(id) FROM (VALUES ('1'), ('2'), ('3'), ('4'), ('5'), ('6')) AS ids (id);
SELECT test.enrich('1'), test.enrich('2'), test.enrich('3');
SELECT test.open_case('1', '{ann}'), test.open_case('2', '{ann}'), test.open_case('3', '{ann}');
CREATE TABLE test.before AS SELECT transaction_id, to_jsonb(white) - 'seal' AS row FROM iap.white;

-- Each way to end a case, and back.
SELECT is(test.resolve('1', 'delivered'), 'delivered', 'delivered by mistake');
SELECT is(test.resolve('2', 'dismissed'), 'dismissed', 'dismissed by mistake');
SELECT is(test.resolve('3', 'refunded'), 'refunded', 'called refunded by mistake');
SELECT is(test.moved_tally(), test.white_tally(), 'the moves explain the white table without them');
SELECT is(test.reopen('1'), 'reopened', 'what support called delivered is owed again');
SELECT is(test.reopen('2'), 'reopened', 'what was dismissed too');
SELECT is(test.reopen('3'), 'reopened', 'and what was called refunded');
SELECT is_empty('SELECT FROM iap.black', 'black holds none of them');
SELECT is_empty('SELECT FROM iap.excluded', 'nor does excluded');
SELECT is_empty(
    $$SELECT FROM test.before WHERE row <> test.white_row(transaction_id)$$,
    'all that was known of them is there again');
SELECT is(test.moved_tally(), test.white_tally(), 'and the moves explain the white table');
SELECT results_eq(
    $$SELECT transaction_id, state, closed_at, closed_as, closed_by, note FROM iap.cases ORDER BY 1$$,
    $$VALUES
        ('1' COLLATE "C", 'open', NULL::timestamptz, NULL::text, NULL::text, NULL::text),
        ('2', 'open', NULL, NULL, NULL, NULL), ('3', 'open', NULL, NULL, NULL, NULL)$$, 'their cases are open');
SELECT results_eq(
    $$SELECT transaction_id, actor, details ->> 'was', details ->> 'note', details ->> 'login'
    FROM iap.moves WHERE kind = 'reopened' ORDER BY move_id$$,
    $$VALUES
        ('1' COLLATE "C", 'tom', 'delivered', 'a mistake', session_user::text COLLATE "default"),
        ('2', 'tom', 'dismissed', 'a mistake', session_user::text COLLATE "default"),
        ('3', 'tom', 'refunded', 'a mistake', session_user::text)$$, 'who did it and why is in the log');
SELECT is(test.claim('1'), 'delivered', 'the client can claim it now');
SELECT is(test.claim('1'), 'already_delivered', 'once');
SELECT is(test.resolve('2', 'delivered'), 'delivered', 'support can end it again');
SELECT is(test.resolve('3', 'dismissed'), 'dismissed', 'in another way too');
SELECT is(test.reopen('3'), 'reopened', 'and be wrong again');

-- What is not a resolve of support's stays as it is.
SELECT is(test.reopen('1'), 'already_delivered', 'a claim is never taken back');
SELECT is((SELECT delivered_by FROM iap.black WHERE transaction_id = '1'), 'claim', 'even after an earlier resolve');
SELECT is(test.claim('4'), 'delivered', 'a claim alone');
SELECT is(test.reopen('4'), 'already_delivered', 'is not taken back either');
SELECT is(test.reopen('5'), 'already_white', 'what is owed needs no reopening');
SELECT is(test.reopen('9'), 'not_verified', 'what nobody knows');
SELECT test.exclude('7', 'sandbox'), test.exclude('8', 'refunded');
SELECT is(test.reopen('7'), 'excluded', 'what the job excluded stays excluded');
SELECT is(test.reopen('8'), 'refunded', 'and Apple''s refund a refund');
SELECT is(test.import(test.heard('10')), 1::bigint, 'what was delivered before');
SELECT is(test.reopen('10'), 'already_delivered', 'stays delivered');

-- Apple refunded since.
SELECT is(test.resolve('5', 'delivered'), 'delivered', 'delivered by hand');
SELECT is(test.exclude('5', 'refunded'), 'black', 'and refunded by Apple since');
SELECT is(test.reopen('5'), 'refunded', 'nothing is owed any more');
SELECT is(test.resolve('6', 'dismissed'), 'dismissed', 'dismissed');
SELECT is(test.exclude('6', 'refunded'), 'dismissed', 'and refunded since');
SELECT is(test.reopen('6'), 'refunded', 'nothing is owed either');
SELECT is((SELECT count(*) FROM iap.white WHERE transaction_id IN ('5', '6')), 0::bigint, 'neither is white');
SELECT is(
    (SELECT count(*) FROM iap.moves WHERE kind = 'reopened'), 4::bigint, 'none of which is a move');

-- A non-consumable and the transactions that restore it go and come together.
SELECT test.admit('20', product_id => 'full'), test.admit('21', '20', 'full');
SELECT test.open_case('21', '{ann}');
SELECT is(test.resolve('20', 'delivered'), 'delivered', 'a non-consumable');
SELECT is((SELECT reason FROM iap.excluded WHERE transaction_id = '21'), 'restored', 'takes its restored one along');
SELECT is(test.reopen('21'), 'already_delivered', 'which is not what was resolved');
SELECT is(test.reopen('20'), 'reopened', 'reopening it');
SELECT set_eq(
    $$SELECT transaction_id FROM iap.white WHERE original_transaction_id = '20'$$, ARRAY['20', '21'],
    'brings both back');
SELECT is((SELECT state FROM iap.cases WHERE transaction_id = '21'), 'open', 'with the case');
SELECT is(test.claim('21'), 'delivered', 'so that either can be claimed');
SELECT is(test.claim('20'), 'already_delivered', 'and only one');
SELECT test.admit('30', product_id => 'full');
SELECT is(test.resolve('30', 'dismissed'), 'dismissed', 'dismissed');
SELECT is(
    test.import(test.heard(
        '31', product_id => 'full', product_type => 'non_consumable', original_transaction_id => '30')),
    1::bigint, 'and delivered before under another id');
SELECT is(test.reopen('30'), 'excluded', 'is not owed a second time');
SELECT is((SELECT count(*) FROM iap.white WHERE transaction_id = '30'), 0::bigint, 'and not white');

-- As little a period of a subscription.
SELECT test.hear_period('w1', 'w1', 'l1'), test.hear_period('w3', 'w1', 'l2');
SELECT is(test.resolve('w1', 'delivered'), 'delivered', 'a period is delivered by hand');
SELECT is(
    test.import(test.heard(
        'w2', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => 'w1',
        web_order_line_item_id => 'l1')), 1::bigint, 'and was delivered before under another id');
SELECT is(test.reopen('w1'), 'already_delivered', 'so that it is not owed');
SELECT is(test.resolve('w3', 'delivered'), 'delivered', 'the next one');
SELECT is(test.reopen('w3'), 'reopened', 'may be taken back');

-- The periods of a subscription that one decision ended come back with it; what was ended otherwise does not.
SELECT test.admit(id, 'p1', 'pass') FROM unnest(ARRAY['p1', 'p2', 'p3', 'p4']) AS id;
SELECT test.open_case('p1', '{ann}');
UPDATE iap.cases SET periods = '{p1,p2,p3,p4}' WHERE transaction_id = 'p1';
SELECT is(test.claim('p4'), 'delivered', 'one is claimed meanwhile');
SELECT is(
    test.run_as('iap_support', format(
        'SELECT iap.decide(%L, %L, %L, %L, %L, %L, %L)', 'p1', 'com.example.a', 'Production',
        (SELECT iap.case_mark(opened_run_id, opened_at, NULL, 'pass', 1, owner_user_ids, periods)
            FROM iap.cases WHERE transaction_id = 'p1'),
        decision, 'sue', 'x')), decision, 'all periods of a case are ended as ' || decision)
FROM (VALUES ('delivered')) AS decided (decision);
SELECT is_empty($$SELECT FROM iap.white WHERE original_transaction_id = 'p1'$$, 'none of them is owed');
SELECT is(test.reopen('p1'), 'reopened', 'the first is reopened');
SELECT set_eq(
    $$SELECT transaction_id FROM iap.white WHERE original_transaction_id = 'p1'$$, ARRAY['p1', 'p2', 'p3'],
    'and brings the others back, but for what was claimed');
SELECT is(test.resolve('p2', 'dismissed', 'for itself'), 'dismissed', 'one is dismissed by itself');
SELECT is(test.resolve('p1', 'delivered', 'by hand'), 'delivered', 'the others are delivered');
SELECT is(test.reopen('p1'), 'reopened', 'and reopened');
SELECT set_eq(
    $$SELECT transaction_id FROM iap.white WHERE original_transaction_id = 'p1'$$, ARRAY['p1', 'p3'],
    'which brings back nothing that another decision ended');

-- Nor does it matter that Apple has told prices since.
SELECT is(test.resolve('p1', 'delivered', 'once more'), 'delivered', 'delivered once more');
SELECT test.hear(test.heard(
    id, source => 'server_api', product_id => 'pass', original_transaction_id => 'p1', price_milliunits => 5990))
FROM unnest(ARRAY['p1', 'p3']) AS id;
SELECT results_eq(
    $$SELECT DISTINCT ON (transaction_id) kind FROM iap.moves WHERE transaction_id IN ('p1', 'p3')
    ORDER BY transaction_id, move_id DESC$$,
    $$VALUES ('corrected'), ('corrected')$$, 'and booked as Apple says');
SELECT is(test.reopen('p1'), 'reopened', 'reopened then');
SELECT set_eq(
    $$SELECT transaction_id FROM iap.white WHERE original_transaction_id = 'p1'$$, ARRAY['p1', 'p3'],
    'it brings back what the decision ended');

-- Nor what was delivered under another id since.
SELECT test.hear_period('u1', 'u1', 'l1'), test.hear_period('u2', 'u1', 'l2', 30),
    test.hear_period('u3', 'u1', 'l3', 60);
SELECT test.open_case('u1', '{ann}');
UPDATE iap.cases SET periods = '{u1,u2,u3}' WHERE transaction_id = 'u1';
SELECT is(test.resolve('u1', 'dismissed', 'nothing is owed'), 'dismissed', 'three periods are dismissed');
SELECT is(test.hear_period('u4', 'u1', 'l2', 30), 'white', 'one is told under another id');
SELECT is(test.claim('u4'), 'excluded', 'which is owed no more than that');
SELECT test.run_as('iap_job', 'SELECT iap.withdraw_all_restored(7, now(), 10)');
SELECT is((SELECT reason FROM iap.excluded WHERE transaction_id = 'u4'), 'restored', 'nor does a night call it lost');
SELECT is(
    test.import(test.heard(
        'u5', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => 'u1',
        web_order_line_item_id => 'l2')), 1::bigint, 'and was delivered before under a third');
SELECT is(test.reopen('u1'), 'reopened', 'the case is reopened');
SELECT set_eq(
    $$SELECT transaction_id FROM iap.white WHERE original_transaction_id = 'u1'$$, ARRAY['u1', 'u3'],
    'without the period that was delivered');
SELECT is(test.reopen('u2'), 'excluded', 'which is not owed');
SELECT is(test.resolve('u3', 'dismissed'), 'dismissed', 'the last is dismissed again');
SELECT test.hear_period('u6', 'u1', 'l3', 60), test.run_as('iap_job', 'SELECT iap.withdraw_all_restored(8, now(), 10)');
SELECT is(test.reopen('u3'), 'reopened', 'and reopened');
SELECT set_eq(
    $$SELECT transaction_id FROM iap.white WHERE original_transaction_id = 'u1'$$, ARRAY['u1', 'u3', 'u6'],
    'with the id that a night withdrew for its sake');

-- Its receipts are watched again.
SELECT test.submit('a receipt', transaction_id => '40') AS receipt_id \gset
SELECT test.admit('40', receipt_id => :receipt_id);
SELECT is(test.resolve('40', 'delivered'), 'delivered', 'delivered');
UPDATE iap.receipts
SET state = 'settled', next_attempt_at = NULL, verified_at = now(), last_attempt_at = now(),
    seal = audit.receipt_seal(
        bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at, 'settled',
        is_erased);
SELECT is(test.reopen('40'), 'reopened', 'and reopened');
SELECT results_eq(
    $$SELECT state, next_attempt_at FROM iap.receipts$$, $$VALUES ('watched', now())$$,
    'its receipt is asked again, for Apple''s refund would be in it');

-- One id in two environments.
SELECT test.admit('50'), test.admit('50', environment => 'Sandbox');
SELECT throws_ok($$SELECT test.reopen('50')$$, '21000', NULL, 'an id that two places know');
SELECT is(
    test.run_as('iap_support', $$SELECT iap.reopen('50', 'tom', 'x', 'com.example.a', 'Sandbox')$$), 'already_white',
    'must be named with its place');

-- Who and why must be said.
SELECT throws_ok($$SELECT test.reopen('50', '')$$, '22023', 'note is missing', 'no note');
SELECT test.is_refused('iap_support', $$SELECT iap.reopen('50', NULL, 'x')$$, '22023', 'who is missing', 'nobody');

SELECT is(test.moved_tally(), test.white_tally(), 'the moves explain the white table');
SELECT is_empty('SELECT * FROM test.misfits', 'every row fits its seal');
SELECT * FROM finish();
ROLLBACK;
