-- iap.claim: every outcome, what each leaves behind, and that nothing is delivered twice.
BEGIN;
SELECT no_plan();

-- Delivered, once.
SELECT is(test.admit('100', quantity => 3), 'white', 'a purchase is admitted');
SELECT test.open_case('100', '{ann}');
SELECT is(test.claim('100', 'ann', 'order-1'), 'delivered', 'its user gets it');
SELECT is(test.claim('100', 'ann', 'order-1'), 'already_delivered', 'once');
SELECT is(test.claim('100', 'bob'), 'already_delivered', 'and nobody else does');
SELECT is_empty($$SELECT FROM iap.white WHERE transaction_id = '100'$$, 'it is white no more');
SELECT results_eq(
    $$SELECT user_id, order_id, delivered_by, quantity, product_type FROM iap.black WHERE transaction_id = '100'$$,
    $$VALUES ('ann', 'order-1', 'claim', 3, 'consumable')$$, 'it is black, with user and order');
SELECT results_eq(
    $$SELECT state, closed_as, closed_by FROM iap.cases WHERE transaction_id = '100'$$,
    $$VALUES ('closed', 'delivered', 'claim:ann')$$, 'its case is closed');
SELECT results_eq(
    $$SELECT outcome FROM iap.claims WHERE transaction_id = '100' ORDER BY claim_id$$,
    $$VALUES ('delivered'), ('already_delivered'), ('already_delivered')$$, 'every attempt is kept');
SELECT results_eq(
    $$SELECT kind, environment, actor = session_user, details, from_place, to_place, to_detail, to_day, to_units
    FROM iap.moves WHERE transaction_id = '100'$$,
    $$VALUES (
        'claimed', 'Production', true, '{"user_id": "ann", "order_id": "order-1"}'::jsonb, 'white',
        'black', 'claim', (now() AT TIME ZONE 'UTC')::date, 3)$$,
    'the delivery is in the log, once');
SELECT is_empty($$SELECT FROM iap.events$$, 'and no event besides');

-- Not verified.
SELECT is(test.claim('101'), 'not_verified', 'what nobody verified is not verified');
SELECT is(
    test.run_as('iap_app', $$SELECT iap.claim('com.example.b', '100', 'ann')$$), 'not_verified',
    'another app''s transaction of the same id is not verified');

-- Wrong user.
SELECT is(test.admit('102', user_id => 'ann', receipt_id => test.submit('receipt of ann')), 'white', 'ann''s');
SELECT is(test.claim('102', 'bob'), 'wrong_user', 'a user who never presented it is the wrong one');
SELECT is(test.admit('102', user_id => 'carol', receipt_id => test.submit('receipt of ann', 'bob')), 'already_white',
    'bob presents it too');
SELECT is(test.claim('102', 'dave'), 'wrong_user', 'dave is still the wrong one');
SELECT is(test.claim('102', 'carol'), 'wrong_user', 'and carol, for whom it was admitted later');
SELECT is(test.claim('102', 'bob'), 'wrong_user', 'and so is bob, who presented it later');
SELECT is(test.claim('102', 'ann'), 'delivered', 'for whom it was admitted first may claim');
SELECT is(test.admit('103', user_id => NULL), 'white', 'admitted for nobody');
SELECT is(test.claim('103', 'erin'), 'delivered', 'where nobody is known, anybody may claim');

-- Excluded.
SELECT test.exclude('104', 'refunded'), test.exclude('105', 'family_shared');
SELECT is(test.claim('104'), 'excluded', 'a refunded purchase is excluded');
SELECT is(test.claim('105'), 'excluded', 'and so is what a family member paid for');

-- A rollback of the app's server takes the claim back.
SELECT is(test.admit('106'), 'white', 'a purchase');
SAVEPOINT credit;
SELECT is(test.claim('106'), 'delivered', 'is claimed');
ROLLBACK TO credit;
SELECT results_eq(
    $$SELECT
        (SELECT count(*) FROM iap.white WHERE transaction_id = '106'),
        (SELECT count(*) FROM iap.black WHERE transaction_id = '106'),
        (SELECT count(*) FROM iap.claims WHERE transaction_id = '106')$$,
    $$VALUES (1::bigint, 0::bigint, 0::bigint)$$, 'the server rolls back: it is white as before');
SELECT is(test.claim('106'), 'delivered', 'and can be claimed');

-- Both environments number their transactions on their own: production wins.
SELECT is(test.admit('107', environment => 'Sandbox'), 'white', 'a sandbox purchase');
SELECT is(test.admit('107'), 'white', 'a real one of the same id');
SELECT is(test.claim('107'), 'delivered', 'a claim');
SELECT results_eq(
    $$SELECT environment FROM iap.black WHERE transaction_id = '107'$$, $$VALUES ('Production')$$,
    'gets the real one');
SELECT is(test.claim('107'), 'already_delivered', 'and tried again does not get the other');
SELECT is(test.claim('107', 'bob'), 'already_delivered', 'nor does another user');
SELECT results_eq(
    $$SELECT environment, admitted_user_id FROM iap.white WHERE transaction_id = '107'$$,
    $$VALUES ('Sandbox', 'ann')$$, 'it stays white');
SELECT is(test.admit('108', environment => 'Sandbox'), 'white', 'a sandbox purchase alone');
SELECT is(test.claim('108'), 'delivered', 'can be claimed');
CREATE FUNCTION test.delivery_status(id text) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format('SELECT iap.delivery_status(%L, %L)', 'com.example.a', id))
$$;
SELECT is(test.delivery_status('107'), 'DELIVERED', 'Apple may hear of the real one');
SELECT is(test.delivery_status('108'), 'DELIVERED', 'or of the only one');
SELECT is(test.admit('108'), 'white', 'until a real one comes');
SELECT is(test.delivery_status('108'), 'UNDELIVERED_OTHER', 'which is not delivered by the other');
SELECT is(is_certain, false, 'but for a person to decide')
FROM iap.owed('com.example.a', 'ann') WHERE transaction_id = '108';
SELECT is(test.claim('108'), 'undecided', 'as a claim finds');
SELECT is(test.delivery_status('109'), 'UNDELIVERED_OTHER', 'as is what nobody knows');
SELECT is(test.admit('109', bundle_id => 'com.example.b'), 'white', 'or what another app sold under its id,');
SELECT is(
    test.run_as('iap_app', $$SELECT iap.claim('com.example.b', '109', 'ann')$$), 'delivered', 'and delivered');
SELECT is(test.delivery_status('109'), 'UNDELIVERED_OTHER', 'which this app did not');
SELECT test.is_refused(
    'iap_app', format('SELECT iap.delivery_status(%L, %L)', app, id), '22023', name || ' is not an id%', name)
FROM (
    VALUES ('an app', '109', 'bundle_id'), ('com.example.a', 'no id', 'transaction_id')) AS asked (app, id, name);

-- What is not owed in production is not to be had by a test of the same id.
SELECT test.hear(test.heard('1080')), test.exclude('1080', 'refunded');
SELECT is(test.claim('1080'), 'excluded', 'a refunded purchase');
SELECT is(test.admit('1080', environment => 'Sandbox'), 'white', 'whose id a test has, too');
SELECT is(test.claim('1080'), 'undecided', 'is not delivered by that');
SELECT test.admit('1082', environment => 'Sandbox'), test.claim('1082'), test.exclude('1082', 'refunded');
SELECT is(test.claim('1082'), 'excluded', 'also where the test was delivered');
SELECT test.admit('1081'), test.claim('1081'),
    test.hear(test.heard('1081', environment => 'Sandbox', exclusion => 'sandbox'));
SELECT is(test.claim('1081'), 'already_delivered', 'nor is what was delivered owed less for a test that is not owed');

-- A non-consumable is owed once, under whatever id it is restored.
SELECT is(test.admit('200', product_id => 'full'), 'white', 'the full version');
SELECT is(test.admit('201', '200', 'full'), 'white', 'restored before it was claimed');
SELECT test.open_case('200', '{ann}');
SELECT is(test.claim('201'), 'delivered', 'is delivered under the new id');
SELECT results_eq(
    $$SELECT reason FROM iap.excluded WHERE transaction_id = '200'$$, $$VALUES ('restored')$$,
    'the other id is excluded');
SELECT results_eq(
    $$SELECT state, closed_as FROM iap.cases WHERE transaction_id = '200'$$,
    $$VALUES ('closed', 'withdrawn')$$, 'and is a case no more');
SELECT is(test.claim('200'), 'already_delivered', 'and not again under the old one');
SELECT is(test.claim('201'), 'already_delivered', 'nor the new one');
SELECT is(test.admit('202', '200', 'full'), 'already_delivered', 'nor when it is restored once more');
SELECT is(test.admit('210', '200', 'gems'), 'white', 'a consumable is owed each time');
SELECT is(test.claim('210'), 'delivered', 'whatever its original');
SELECT is(test.admit('221', '220', 'gems', quantity => 5), 'white', 'a consumable');
SELECT is(test.admit('220', product_id => 'full'), 'white', 'and a non-consumable of the same original');
SELECT is(test.claim('220'), 'delivered', 'which is delivered');
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = '221'), 'white',
    'does not restore the consumable');
SELECT is(test.claim('221'), 'delivered', 'that is owed');

-- What was restored before its purchase was claimed is excluded, and whoever restores it may hold no other id.
SELECT is(test.admit('230', product_id => 'full'), 'white', 'a purchase that is owed');
SELECT test.hear(test.heard('231', product_id => 'full', original_transaction_id => '230', exclusion => 'restored'));
SELECT is(
    test.run_as('iap_app', $$SELECT tell FROM iap.status('com.example.a', '231')$$), 'paid, being delivered',
    'is told of under the id that it was restored under');
SELECT is(test.admit('231', '230', 'full'), 'already_white', 'is admitted by it');
SELECT is(test.claim('231', 'bob'), 'wrong_user', 'is nobody else''s by it');
SELECT is(test.claim('231'), 'delivered', 'and claimed by it');
SELECT results_eq(
    $$SELECT transaction_id FROM iap.black WHERE original_transaction_id = '230'$$, $$VALUES ('230' COLLATE "C")$$,
    'which delivers the purchase');
SELECT is(test.claim(id), 'already_delivered', 'once') FROM unnest(ARRAY['230', '231']) AS id;
SELECT is(test.admit('240', product_id => 'full'), 'white', 'a purchase that is owed');
SELECT test.hear(test.heard('241', product_id => 'full', original_transaction_id => '240', exclusion => 'restored'));
SELECT test.exclude('240', 'refunded');
SELECT is(test.claim('241'), 'excluded', 'and is refunded is owed under no id');
SELECT test.is_refused(
    'iap_app', $$
        SELECT iap.admit('com.example.a', 'Production', '241', '240', 'full', 1, now())$$, '55000', '%not owed%',
    'nor admitted');
SELECT is(test.admit('246', '240', 'gems'), 'white', 'something else of the same original');
SELECT is(test.claim('241'), 'excluded', 'is not had by it either');
SELECT is(test.run_as('iap_app', $$SELECT tell FROM iap.status('com.example.a', '241')$$), 'not paid', 'nor told of');

-- Nor may an id that is a tester's, too, stand in the way of what it restores, or one be claimed as another's purchase.
SELECT test.admit('232', '230', 'gems', environment => 'Sandbox', user_id => 'tess'),
    test.hear(test.heard('232', product_id => 'full', original_transaction_id => '230', exclusion => 'restored'));
SELECT is(test.claim('232'), 'already_delivered', 'what is delivered under another id a test doesn''t leave undecided');
SELECT test.admit('242', product_id => 'full'), test.admit('243', '242', environment => 'Sandbox', user_id => 'tess'),
    test.hear(test.heard('243', product_id => 'full', original_transaction_id => '242', exclusion => 'restored'));
SELECT is(test.claim('243'), 'delivered', 'and what is owed under another id is had in spite of it');
SELECT test.hear(test.heard('244', product_id => 'full', environment => 'Sandbox')),
    test.hear(test.heard(
        '245', product_id => 'full', original_transaction_id => '244', exclusion => 'restored',
        environment => 'Sandbox'));
SELECT is(test.admit('244', user_id => NULL), 'white', 'paid, under the id of what a tester has');
SELECT is(test.claim('245', 'tess'), 'undecided', 'who restores the tester''s');
SELECT results_eq(
    $$SELECT environment, place FROM iap.transactions WHERE transaction_id = '244' ORDER BY 1$$,
    $$VALUES ('Production', 'white'), ('Sandbox', 'white')$$, 'has not claimed what was paid by that');

-- What nobody knows the type of might be a non-consumable: the first is delivered, and the support desk decides on the
-- others.
SELECT is(test.admit('250', product_id => 'unheard.of'), 'white', 'a product that nobody listed');
SELECT is(test.admit('251', '250', 'unheard.of'), 'white', 'and a purchase that shares its original');
SELECT is(test.claim('250'), 'delivered', 'one of them is delivered');
SELECT is(test.claim('251'), 'undecided', 'the other may be the same purchase');
SELECT results_eq(
    $$SELECT place, reason FROM iap.transactions WHERE transaction_id = '251'$$, $$VALUES ('white', NULL::text)$$,
    'so it stays owed');
SELECT is(test.claim('251', 'bob'), 'wrong_user', 'to its user');
SELECT is(test.resolve('251', 'delivered'), 'delivered', 'and the support desk may deliver it');
SELECT is(test.admit('260', '250', 'gems'), 'white', 'a consumable of the same original');
SELECT is(test.claim('260'), 'delivered', 'is owed on its own');

-- The renewals of a subscription may all name the order by which it was bought, also when Apple corrected its original
-- since.
INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.example.a', 'pass', 'auto_renewable', 'Pass');
SELECT is(test.admit('275', product_id => 'pass'), 'white',
    'a renewal that the server takes for a purchase of its own');
SELECT is(test.claim('275', order_id => 'order-275'), 'delivered', 'is delivered for its order');
SELECT test.hear(test.heard('275', 'server_api', 'pass', original_transaction_id => '271'));
SELECT test.hear(test.heard('276', 'server_api', 'pass', original_transaction_id => '271'));
SELECT is(test.claim('276', order_id => 'order-275'), 'delivered', 'and so is the next, of the same subscription');
SELECT is(test.admit('277', product_id => 'pass'), 'white', 'another subscription');
SELECT is(test.claim('277', order_id => 'order-275'), 'order_used', 'is not');
SELECT is(test.claim('100', order_id => 'order-275'), 'already_delivered', 'what is delivered needs no order');
SELECT test.admit('278', bundle_id => 'com.example.b'),
    test.run_as('iap_app', $$SELECT iap.claim('com.example.b', '278', 'ann', 'order-279')$$), test.admit('279');
SELECT is(test.claim('279', order_id => 'order-279'), 'delivered', 'each app counts its orders by itself');

-- A period of a subscription is owed once, too, under whatever id it is restored. The server does not say which it is.
SELECT is(test.admit('281', '280', 'pass'), 'white', 'a period that the server verified itself');
SELECT is(test.claim('281'), 'delivered', 'is delivered');
SELECT is(test.admit('282', '280', 'pass'), 'white', 'when another one began tells nothing of it');
SELECT is(test.claim('282'), 'delivered', 'so that it is delivered, too');
SELECT is(test.hear_period('283', '280', '28'), 'white', 'what Apple tells of');
SELECT is(test.hear_period('281', '280', '28'), 'black', 'by which the delivered one is known');
SELECT test.open_case('283', '{ann}');
SELECT is(test.admit('283', '280', 'pass'), 'already_white', 'that nobody withdrew yet');
SELECT is_empty($$SELECT FROM iap.owed('com.example.a', 'ann') WHERE transaction_id = '283'$$, 'is not owed');
SELECT is(
    test.run_as('iap_app', $$SELECT tell FROM iap.status('com.example.a', '283')$$), 'delivered', 'but delivered');
SELECT is(test.delivery_status('283'), 'DELIVERED', 'as Apple hears too');
SELECT is(
    test.run_as('iap_support', $$SELECT iap.redeliver('283', 'sue', 'for sure')$$), 'owner_uncertain',
    'not without the customer');
SELECT is(test.claim('283'), 'already_delivered', 'nor by a claim');
SELECT is(test.hear_period('284', '280', '29', 30), 'white', 'the next period');
SELECT is(test.claim('284'), 'delivered', 'is owed');
SELECT is(test.hear_period('286', '285', '30', exclusion => 'refunded'), 'refunded', 'what Apple refunded');
SELECT is(test.hear_period('287', '285', '30'), 'white', 'and comes under another id');
SELECT is(test.claim('287'), 'excluded', 'is not');
SELECT is(test.hear_period('288', '285', '31', 30), 'white', 'the period after the refunded one');
SELECT is(test.claim('288'), 'delivered', 'was paid, and is owed');

-- A transaction is in one place: whoever looked at it before it moved is told to try again.
CREATE FUNCTION test.move_twice(transaction_id text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, iap, pg_temp AS $$
DECLARE
    t iap.transactions;
BEGIN
    t := iap.locked('com.example.a', 'Production', transaction_id);
    FOR number IN 1 .. 2 LOOP
        PERFORM iap.move(
            ARRAY[ROW(t, iap.delivered(t, 'ann', NULL, 'claim', now()))::iap.change], 'claimed', 'me', NULL, now());
    END LOOP;
END
$$;
SELECT is(test.admit('300'), 'white', 'a purchase');
SELECT throws_ok($$SELECT test.move_twice('300')$$, '40001', NULL, 'that moved meanwhile is not moved again');
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = '300'), 'white', 'and none of it is written');
CREATE FUNCTION test.move_after_a_hand(transaction_id text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, iap, pg_temp AS $$
DECLARE
    t iap.transactions := iap.locked('com.example.a', 'Production', transaction_id);
BEGIN
    UPDATE iap.transactions SET place = 'black', user_id = 'ann', delivered_by = 'claim', delivered_at = now()
    WHERE transactions.transaction_id = t.transaction_id;
    PERFORM iap.move(
        ARRAY[ROW(t, iap.delivered(t, 'bob', NULL, 'claim', now()))::iap.change], 'claimed', 'me', NULL, now());
END
$$;
SELECT throws_ok(
    $$SELECT test.move_after_a_hand('300')$$, '40001', NULL, 'nor by who looked before a hand moved it');
SELECT is(test.admit('301'), 'white', 'a purchase');
SELECT is(test.exclude('301', 'refunded'), 'refunded', 'that was refunded since');
SELECT is(test.claim('301'), 'excluded', 'is not delivered');
SELECT is_empty($$SELECT FROM iap.white WHERE transaction_id = '301'$$, 'nor white any more');
SELECT results_eq(
    $$SELECT reason FROM iap.excluded WHERE transaction_id = '301'$$, $$VALUES ('refunded')$$,
    'and a refund stays a refund');

-- Whose claim stands, though its row is owed: nobody gets it twice, and its original purchase is given back.
SELECT is(test.admit('310', product_id => 'full'), 'white', 'a non-consumable');
INSERT INTO iap.claims (transaction_id, bundle_id, user_id, outcome)
VALUES ('310', 'com.example.a', 'ann', 'delivered');
UPDATE iap.claims SET seal = audit.seal(claims) WHERE transaction_id = '310';
SELECT is(test.claim('310', order_id => 'order-310'), 'undecided', 'that was claimed is for the support desk');
SELECT is_empty(
    $$SELECT FROM iap.delivered_originals WHERE transaction_id = '310'$$, 'which can deliver it');
SELECT results_eq(
    $$SELECT order_id FROM iap.delivered_orders ORDER BY 1$$,
    $$VALUES ('order-1'), ('order-275'), ('order-279'), ('order-279')$$,
    'for the order, too; those of others stay delivered');

-- Hostile values.
SELECT is(test.admit('400', user_id => $$o'hara"; DROP TABLE iap.white; --$$), 'white', 'a user with quotes');
SELECT is(test.claim('400', $$o'hara"; DROP TABLE iap.white; --$$, E'\x01\x1b[31m\n'), 'delivered',
    'is a user as any other, and so is an order of control characters');
SELECT test.is_refused('iap_app', $$SELECT iap.claim('com.example.a', '100', repeat('x', 1000000))$$,
    '22023', 'user_id has 1000000 bytes', 'a user id of a megabyte is refused');
SELECT test.is_refused('iap_app', $$SELECT iap.claim('com.example.a', '100', NULL)$$,
    '22023', 'user_id is missing', 'nobody can''t claim');
SELECT test.is_refused('iap_app', $$SELECT iap.claim('com.example.a', '100', '')$$,
    '22023', 'user_id is missing', 'nor can nobody by an empty name');
SELECT test.is_refused('iap_app', $$SELECT iap.claim('com.example.a', NULL, 'ann')$$,
    '22023', 'transaction_id is not an id%', 'nothing can''t be claimed');
SELECT test.is_refused('iap_app', $$SELECT iap.claim('com.example.a', '１００', 'ann')$$,
    '22023', 'transaction_id is not an id%', 'nor an id in full-width digits');
SELECT test.is_refused('iap_app', $$SELECT iap.claim(NULL, '100', 'ann')$$,
    '22023', 'bundle_id is not an id%', 'nor for no app');
SELECT test.is_refused('iap_app', $$SELECT iap.claim('com.example.a', '100', 'ann', repeat('x', 1001))$$,
    '22023', 'order_id has 1001 bytes', 'an order id that no index holds is refused');

SELECT is(test.moved_tally(), test.white_tally(), 'the moves explain the white table');
SELECT is_empty('SELECT * FROM finance.unexplained', 'and the accounts of finance');
SELECT is_empty('SELECT * FROM test.misfits', 'every row fits its seal');
-- The claim's transaction began before midnight, and the purchase entered after it.
SELECT test.admit('midnight');
UPDATE iap.white SET first_seen_at = now() + interval '10 minutes' WHERE transaction_id = 'midnight';
SELECT is(test.claim('midnight'), 'delivered', 'what was admitted while a claim''s transaction was open');
SELECT is(
    (SELECT moved_at FROM iap.moves WHERE transaction_id = 'midnight'), now() + interval '10 minutes',
    'is delivered on no day before that on which it entered');

SELECT * FROM finish();
ROLLBACK;
