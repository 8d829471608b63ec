-- iap.resolve: every way to end a case, and where there is nothing to end.
BEGIN;
SELECT no_plan();

SELECT test.admit(id, user_id => NULL) FROM (VALUES ('1'), ('2'), ('3'), ('4'), ('5')) AS ids (id);
SELECT test.open_case('1', '{ann}'), test.open_case('2', '{ann,bob}'), test.open_case('3', '{ann}'),
    test.open_case('4', '{}');

-- Delivered by hand: to the case's only owner, or to whom support says.
SELECT is(test.resolve('1', 'delivered'), 'delivered', 'support delivered it');
SELECT results_eq(
    $$SELECT user_id, delivered_by FROM iap.black WHERE transaction_id = '1'$$, $$VALUES ('ann', 'resolved')$$,
    'to the case''s only owner');
SELECT is(test.claim('1'), 'already_delivered', 'a client that claims after all gets nothing more');
SELECT is(test.resolve('2', 'delivered'), 'several_owners', 'of a case with two owners support says to whom');
SELECT is(
    test.run_as('iap_support', $$
        SELECT iap.resolve('2', 'delivered', 'sue', 'checked with Apple', user_id => 'bobb')$$),
    'unknown_user', 'and mistypes the name');
SELECT is(
    test.run_as('iap_support', $$
        SELECT iap.resolve('2', 'delivered', 'sue', 'checked with Apple', user_id => 'bob')$$),
    'delivered', 'and then does not');
SELECT results_eq(
    $$SELECT user_id FROM iap.black WHERE transaction_id = '2'$$, $$VALUES ('bob')$$, 'to one of the two');
SELECT is(
    test.run_as('iap_support', $$
        SELECT iap.resolve(
            '5', 'delivered', 'sue', 'by mail', user_id => 'bob', order_id => 'o', is_unknown_user => true)$$),
    'delivered', 'support may say to whom, before there is a case');
SELECT results_eq(
    $$SELECT user_id, order_id FROM iap.black WHERE transaction_id = '5'$$, $$VALUES ('bob', 'o')$$,
    'and for which order');

-- Before there is a case a mistyped name is one of which nobody ever heard, too; who may claim it is known.
SELECT test.admit('7', user_id => NULL), test.admit('8', user_id => 'cleo');
SELECT is(
    test.run_as('iap_support', format($$
        SELECT iap.resolve('7', 'delivered', 'sue', 'by mail', user_id => %L)$$, name)), 'unknown_user', why)
FROM (VALUES ('anne', 'nobody is called so'), ('', 'or has no name')) AS mistyped (name, why);
SELECT is(
    test.run_as('iap_support', $$
        SELECT iap.resolve('8', 'delivered', 'sue', 'by mail', user_id => 'cleo')$$),
    'delivered', 'for whom it was admitted is known');
DELETE FROM iap.moves WHERE transaction_id = '8';
DELETE FROM iap.transactions WHERE transaction_id IN ('7', '8');

-- Dismissed and refunded.
SELECT is(test.resolve('3', 'dismissed'), 'dismissed', 'nothing is owed after all');
SELECT is(test.resolve('4', 'refunded'), 'refunded', 'the money went back');
SELECT results_eq(
    $$SELECT transaction_id, reason, refunded_at IS NOT NULL FROM iap.excluded ORDER BY 1$$,
    $$VALUES ('3' COLLATE "C", 'dismissed', false), ('4', 'refunded', true)$$, 'both are excluded');
SELECT is(test.claim('3'), 'excluded', 'and can''t be claimed');

SELECT results_eq(
    $$SELECT transaction_id, closed_as, closed_by, note FROM iap.cases ORDER BY 1$$,
    $$VALUES
        ('1' COLLATE "C", 'delivered', 'sue', 'checked with Apple'), ('2', 'delivered', 'sue', 'checked with Apple'),
        ('3', 'dismissed', 'sue', 'checked with Apple'), ('4', 'refunded', 'sue', 'checked with Apple')$$,
    'every case is closed, with who and why');
SELECT results_eq(
    $$SELECT transaction_id, kind, actor, to_detail, details ->> 'as', details ->> 'note',
        details ->> 'login' = session_user
    FROM iap.moves WHERE kind = 'resolved' ORDER BY move_id$$,
    $$SELECT id COLLATE "C", 'resolved', 'sue', detail, how, note, true
    FROM (
        VALUES
            ('1', 'resolved', 'delivered', 'checked with Apple'), ('2', 'resolved', 'delivered', 'checked with Apple'),
            ('5', 'resolved', 'delivered', 'by mail'), ('3', 'dismissed', 'dismissed', 'checked with Apple'),
            ('4', 'refunded', 'refunded', 'checked with Apple')
    ) AS resolved (id, detail, how, note)$$, 'and is in the log');

-- Nothing to end.
SELECT is(test.resolve('1', 'refunded'), 'already_delivered', 'what is delivered stays delivered');
SELECT is(test.resolve('3', 'delivered'), 'excluded', 'what is excluded stays excluded');
SELECT is(test.resolve('9', 'delivered'), 'not_verified', 'what nobody knows');
SELECT is((SELECT count(*) FROM iap.moves), 5::bigint, 'none of which is a move');
SELECT results_eq(
    $$SELECT refunded_at FROM iap.black WHERE transaction_id = '1'$$, $$VALUES (NULL::timestamptz)$$, 'or a refund');

-- One id in two environments.
SELECT test.admit('6'), test.admit('6', environment => 'Sandbox');
SELECT throws_ok($$SELECT test.resolve('6', 'delivered')$$, '21000', NULL, 'an id that two places know');
SELECT is(
    test.run_as('iap_support', $$
        SELECT iap.resolve('6', 'dismissed', 'sue', 'a test', 'com.example.a', 'Sandbox')$$),
    'dismissed', 'must be named with its place');
SELECT is((SELECT environment FROM iap.white WHERE transaction_id = '6'), 'Production', 'the other is still white');

-- The case of a subscription ends with all periods that it tells of, and with no other.
SELECT test.admit(id, 's1', 'pass', user_id => NULL) FROM unnest(ARRAY['s1', 's2', 's3', 's4']) AS id;
SELECT test.open_case('s1', '{ann}');
UPDATE iap.cases SET periods = '{s1,s2,s3,s9}' WHERE transaction_id = 's1';
SELECT is(test.claim('s3'), 'delivered', 'a period is claimed meanwhile');
SELECT is(test.resolve('s1', 'dismissed'), 'dismissed', 'the case of a subscription is ended');
SELECT results_eq(
    $$SELECT transaction_id, place, coalesce(reason, delivered_by)
    FROM iap.transactions WHERE original_transaction_id = 's1' ORDER BY 1$$,
    $$VALUES
        ('s1' COLLATE "C", 'excluded', 'dismissed'), ('s2', 'excluded', 'dismissed'), ('s3', 'black', 'claim'),
        ('s4', 'white', NULL)$$, 'with the periods that are still owed, and with no other');
SELECT is(test.resolve('s1', 'dismissed'), 'excluded', 'and again nothing is left to end');
SELECT is(test.reopen('s1'), 'reopened', 'that was wrong');
SELECT results_eq(
    $$SELECT transaction_id FROM iap.white WHERE original_transaction_id = 's1' ORDER BY 1$$,
    $$VALUES ('s1' COLLATE "C"), ('s2'), ('s4')$$, 'and both are owed again');
SELECT is(test.resolve('s2', 'dismissed'), 'dismissed', 'a period that is no case');
SELECT is(place, 'white', 'ends alone') FROM iap.transactions WHERE transaction_id = 's1';

-- Delivered, all of them were to the same user: the case's only owner, or whom support names.
SELECT test.admit(id, 'u1', 'pass', user_id => NULL) FROM unnest(ARRAY['u1', 'u2', 'u3']) AS id;
SELECT test.open_case('u1', '{u7}');
UPDATE iap.cases SET periods = '{u1,u2,u3}' WHERE transaction_id = 'u1';
SELECT is(test.resolve('u1', 'delivered'), 'delivered', 'a subscription was granted by hand');
SELECT is(array_agg(user_id::text ORDER BY transaction_id), '{u7,u7,u7}', 'every period to the owner of the case')
FROM iap.black WHERE original_transaction_id = 'u1';
SELECT is(count(*), 3::bigint, 'as the log says, too')
FROM iap.moves WHERE transaction_id IN ('u1', 'u2', 'u3') AND details ->> 'user_id' = 'u7';
SELECT is(test.reopen('u1'), 'reopened', 'that was wrong');
SELECT is(
    test.run_as('iap_support', $$
        SELECT iap.resolve('u1', 'delivered', 'sue', 'x', user_id => 'u8', order_id => 'o8',
            is_unknown_user => true)$$),
    'delivered', 'it was granted to another, who is new');
SELECT is(array_agg(user_id || ' ' || order_id ORDER BY transaction_id), '{u8 o8,u8 o8,u8 o8}', 'every period of it')
FROM iap.black WHERE original_transaction_id = 'u1';

-- Who and why must be said.
SELECT throws_ok($$SELECT test.resolve('6', 'gone')$$, '22023', NULL, 'no such end');
SELECT throws_ok($$SELECT test.resolve('6', NULL)$$, '22023', NULL, 'no end');
SELECT throws_ok($$SELECT test.resolve('6', 'delivered', '')$$, '22023', 'note is missing', 'no note');
SELECT test.is_refused('iap_support', $$SELECT iap.resolve('6', 'delivered', NULL, 'x')$$,
    '22023', 'who is missing', 'nobody');

SELECT is(test.moved_tally(), test.white_tally(), 'the moves explain the white table');
SELECT is_empty('SELECT * FROM finance.unexplained', 'and the accounts of finance');
SELECT is_empty('SELECT * FROM test.misfits', 'every row fits its seal');
-- To whom: what came since the last night counts, and where there was none yet, what is known.
SELECT test.admit('w1', user_id => NULL), test.open_case('w1', '{ann}');
SELECT test.admit('w1', user_id => 'bob');
SELECT is(test.resolve('w1', 'delivered'), 'several_owners', 'another was named since the case was judged');
SELECT is(
    test.run_as('iap_support', $$SELECT iap.owners_told('w1', 'com.example.a', 'Production')$$), '{ann,bob}',
    'by both');
SELECT is(
    test.run_as('iap_support', $$SELECT iap.redeliver('w1', 'sue', 'sure')$$), 'several_owners', 'nor is it ordered');
SELECT is(
    test.run_as('iap_support', $$SELECT iap.resolve('w1', 'delivered', 'sue', 'asked', user_id => 'bob')$$),
    'delivered', 'unless it is said who');
SELECT test.admit('w2', user_id => 'cid');
SELECT is(test.resolve('w2', 'delivered'), 'delivered', 'before it is a case');
SELECT is((SELECT user_id FROM iap.black WHERE transaction_id = 'w2'), 'cid', 'it went to whom it is known of');
SELECT test.admit('w5', user_id => NULL), test.open_case('w5', '{}');
INSERT INTO iap.sightings (transaction_id, bundle_id, environment, bucket, receipt_id, user_id, is_named, uploaded_at)
VALUES ('w5', 'com.example.a', 'Production', 5, 5, 'gil', false, now());
SELECT is(test.resolve('w5', 'delivered'), 'delivered', 'of a case that names nobody');
SELECT is((SELECT user_id FROM iap.black WHERE transaction_id = 'w5'), NULL,
    'nobody is said to have it, whoever uploaded it');
SELECT test.admit('w6', user_id => NULL), test.open_case('w6', '{gil}');
UPDATE iap.cases SET reasons = '{never_claimed,owner_uncertain}' WHERE transaction_id = 'w6';
SELECT is(test.resolve('w6', 'delivered'), 'delivered', 'of a case that names somebody, and not for sure');
SELECT is((SELECT user_id FROM iap.black WHERE transaction_id = 'w6'), NULL, 'nor is that one');
SELECT test.hear(test.heard('w3', app_account_token => '7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5d'));
SELECT test.run_as('iap_app', format('SELECT iap.register_order(%L, %L, %L, %L, app_account_token => %L)',
    'com.example.a', 'of-' || name, name, 'gems', '7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5d'))
FROM unnest(ARRAY['dan', 'eve']) AS name;
SELECT is(test.resolve('w3', 'delivered'), 'several_owners', 'also where several are known, and no case is');
SELECT is(
    test.run_as('iap_support', $$SELECT iap.owners_told('w4', 'com.example.a', 'Production')$$), '{}',
    'of what nobody knows nobody is');

-- Who is known, and who has no name.
SELECT test.run_as('iap_app', $$
    SELECT iap.register_user('com.example.a', 'rosa', '4b0a6a9e-8f3f-4f5b-9d43-6a5b7a7c1f10')$$);
SELECT test.admit('k0', user_id => 'carl'), test.admit('k1', user_id => NULL), test.admit('k2', user_id => NULL),
    test.admit('k3', user_id => NULL);
SELECT is(
    test.run_as('iap_support', $$
        SELECT iap.resolve('k3', 'delivered', 'sue', 'by mail', user_id => '', is_unknown_user => true)$$),
    'unknown_user', 'and nobody new is called nothing');
SELECT is(
    test.run_as('iap_support', format($$
        SELECT iap.resolve(%L, 'delivered', 'sue', 'by mail', user_id => %L, order_id => '')$$, id, name)),
    'delivered', why)
FROM (
    VALUES ('k1', 'rosa', 'whom the app''s server registered is known'),
        ('k2', 'carl', 'and for whom another purchase was admitted')) AS known (id, name, why);
SELECT is_empty(
    $$SELECT transaction_id FROM iap.black WHERE order_id = ''$$, 'an empty order is none');

-- What no column holds.
SELECT test.admit('k3');
SELECT test.is_refused(
    'iap_support', format($$SELECT iap.resolve('k3', 'delivered', 'sue', 'x', %s => %L, is_unknown_user => true)$$,
        argument, repeat('x', 1001)), '22023', '% has 1001 bytes', format('an endless %s', argument))
FROM unnest(ARRAY['user_id', 'order_id']) AS argument;
SELECT is(
    test.run_as('iap_support', $$
        SELECT iap.resolve('k3', 'delivered', 'sue', 'x', user_id => 'nobody', is_unknown_user => NULL)$$),
    'unknown_user', 'who does not say that nobody knows them has not said so');
SELECT test.open_case('k3', '{ann}');
SELECT is((iap.take('k3', 'sue')).outcome, 'taken', 'a case is taken');
SELECT is((iap.take('k3', 'tom', is_freeing => NULL)).outcome, 'taken_already', 'and not taken over by saying nothing');

-- What was delivered under another id, and the night has yet to withdraw, is neither refunded nor dismissed beside it.
SELECT test.admit('twice', product_id => 'full'), test.claim('twice');
SELECT is(
    test.hear(test.heard(id, product_id => 'full', original_transaction_id => 'twice')), 'white', 'it came meanwhile')
FROM unnest(ARRAY['twice-r1', 'twice-r2']) AS id;
SELECT is(test.resolve('twice-r1', 'refunded'), 'already_delivered', 'there is one purchase to refund');
SELECT is(test.resolve('twice-r2', 'dismissed'), 'already_delivered', 'and one to dismiss');
SELECT results_eq(
    $$SELECT reason, refunded_at IS NULL FROM iap.transactions WHERE transaction_id LIKE 'twice-r%'$$,
    $$VALUES ('restored', true), ('restored', true)$$, 'it is restored');

-- By the id under which it was restored, the one that a customer may hold, the purchase ends that is owed by another.
SELECT test.admit('first', product_id => 'full'),
    test.hear(test.heard('first-r', product_id => 'full', original_transaction_id => 'first', exclusion => 'restored'));
SELECT is(
    test.run_as('iap_support', $$
        SELECT iap.resolve('first-r', 'delivered', 'sue', 'by mail', user_id => 'anne')$$),
    'unknown_user', 'as careful with the name');
SELECT is(test.resolve('first-r', 'delivered'), 'delivered', 'what was owed under another id');
SELECT results_eq(
    $$SELECT transaction_id, place FROM iap.transactions WHERE transaction_id LIKE 'first%' ORDER BY 1$$,
    $$VALUES ('first' COLLATE "C", 'black'), ('first-r', 'excluded')$$, 'is delivered under that');
SELECT is(test.resolve('first-r', 'refunded'), 'already_delivered', 'and owed no more');

-- Nor is what Apple refunded under another id refunded beside it, also where nobody knows what it is.
SELECT test.hear(test.heard('back-1', product_id => 'unheard.of', exclusion => 'refunded', refunded_at => now())),
    test.hear(test.heard('back-2', product_id => 'unheard.of', original_transaction_id => 'back-1'));
SELECT is(test.resolve('back-2', 'refunded'), 'excluded', 'the money went back already');
SELECT results_eq(
    $$SELECT transaction_id, reason FROM iap.excluded WHERE transaction_id LIKE 'back-%' ORDER BY 1$$,
    $$VALUES ('back-1' COLLATE "C", 'refunded'), ('back-2', 'restored')$$, 'and counts once');

-- Told of the id that gave way to the owed one, Apple's refund counts all the same.
SELECT test.hear(test.heard('gave-2', 'server_api', 'unheard.of', original_transaction_id => 'gave-1')),
    test.hear(test.heard('gave-1', 'server_api', 'unheard.of', exclusion => 'restored'));
SELECT test.hear(test.heard('gave-1', 'server_api', 'unheard.of', exclusion => 'refunded', refunded_at => now()));
SELECT is(test.resolve('gave-2', 'refunded'), 'excluded', 'of which the desk hears, too');
SET LOCAL search_path = public, iap;
SELECT test.run_as('iap_job', 'SELECT iap.release_restored(7, now())');
RESET search_path;
SELECT results_eq(
    $$SELECT transaction_id, refund_reason FROM finance.refunds_before_delivery WHERE transaction_id LIKE 'gave-%'$$,
    $$VALUES ('gave-1' COLLATE "C", NULL::text)$$, 'once');

-- What was granted, and the night has yet to write, ends by that.
SET LOCAL search_path = public, iap;
INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.example.a', 'pass', 'auto_renewable', 'Pass');
SELECT test.run_as('iap_app', format(
    'SELECT iap.entitle(%L, %L, %L, %L)', 'com.example.a', original, 'ann', now() + interval '30 days'))
FROM unnest(ARRAY['granted', 'maybe-1']) AS original;
SELECT is(test.admit('granted', product_id => 'pass'), 'white', 'what was granted before anybody knew of it');
SELECT test.hear(jsonb_populate_record(
    test.heard(
        'granted-2', 'server_api', 'pass', product_type => 'auto_renewable', original_transaction_id => 'granted'),
    jsonb_build_object('expires_at', now() + interval '60 days')));
SELECT test.open_case('granted', '{ann}');
UPDATE iap.cases SET periods = '{granted,granted-2}' WHERE transaction_id = 'granted';
SELECT is(test.resolve('granted', how), 'already_delivered', 'is not ' || how)
FROM unnest(ARRAY['delivered', 'refunded', 'dismissed']) AS how;
SELECT is(place, 'white', 'nor ends with it what was not granted')
FROM iap.transactions WHERE transaction_id = 'granted-2';
SELECT test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)');
SELECT is(
    (SELECT delivered_by FROM iap.black WHERE transaction_id = 'granted'), 'entitlement', 'the night writes how it is');
SELECT test.admit(id, 'maybe-1', 'unheard.of') FROM unnest(ARRAY['maybe-1', 'maybe-2']) AS id;
SELECT test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)');
SELECT is(test.resolve('maybe-2', 'dismissed'), 'dismissed', 'what the night leaves to a person a person ends');

-- An order for which the desk delivers nothing is left to others.
SELECT test.admit('ro1', product_id => 'full'), test.admit('ro2', 'ro1', 'full'), test.hear(test.heard(
    'ro1', product_id => 'full', exclusion => 'refunded', refunded_at => now()));
SELECT is(
    test.run_as('iap_support', $$SELECT iap.resolve(
        'ro2', 'delivered', 'sue', 'x', 'com.example.a', 'Production', user_id => 'ann', order_id => 'of-ro')$$),
    'excluded', 'what was refunded under another id is delivered for no order');
SELECT is_empty($$SELECT FROM iap.delivered_orders WHERE order_id = 'of-ro'$$, 'which stays free');

-- What the desk dismissed is owed under no other id, whether the app's server admits that before or after.
SELECT test.admit(id, 'dm1', 'full') FROM unnest(ARRAY['dm1', 'dm2']) AS id;
SELECT is(test.resolve('dm1', 'dismissed'), 'dismissed', 'a purchase that was admitted under two ids');
SELECT set_eq(
    $$SELECT transaction_id || ' ' || coalesce(reason, place) FROM iap.transactions WHERE transaction_id LIKE 'dm_'$$,
    ARRAY['dm1 dismissed', 'dm2 restored'], 'is owed under none');
SELECT is(test.claim('dm2'), 'excluded', 'nor claimed');
SELECT test.is_refused(
    'iap_app', $$SELECT iap.admit('com.example.a', 'Production', 'dm3', 'dm1', 'full', 1, now(), 'ann')$$, '55000',
    '%dismissed it under another id', 'nor admitted under a third');
SELECT test.hear_period('dm5', 'dm4', 'w5'), test.resolve('dm5', 'dismissed'), test.hear_period('dm6', 'dm4', 'w5');
SELECT is(test.claim('dm6'), 'excluded', 'nor is a subscription''s period');
SELECT is(
    test.run_as('iap_app', $$SELECT tell FROM iap.status('com.example.a', 'dm6')$$), 'unknown',
    'of which the desk tells');
SELECT is(
    test.import(test.heard(
        'dm8', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => 'dm4',
        web_order_line_item_id => 'w5')),
    1::bigint, 'of which a company tells late that it had delivered it');
SELECT is(test.claim('dm6'), 'already_delivered', 'so that nobody is told otherwise');
SELECT is(test.reopen('dm1'), 'reopened', 'what was dismissed by mistake');
SELECT is(test.admit('dm3', 'dm1', 'full'), 'white', 'is admitted again');
SELECT is(test.claim('dm2'), 'delivered', 'and claimed');

SELECT * FROM finish();
ROLLBACK;
