-- iap.record: what becomes of a purchase by what Apple says of it: new, refunded, its refund reversed, corrected, let
-- through by a setting that was mended.
BEGIN;
SELECT no_plan();

INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
VALUES ('com.example.a', 'gold', 'consumable', 'Gold', 4990, 'USD');

-- Entering -----------------------------------------------------------------------------------------------------------

SELECT results_eq(
    $$SELECT newly_white, already_white, already_black, excluded, watched, held, locked
    FROM test.record(
        ARRAY[test.heard('n1', quantity => 2), test.heard('n2'), test.heard('n3', exclusion => 'family_shared')],
        ARRAY[test.seen(64), test.seen(128, number => 2), test.seen(64, is_named => false, number => 3)])$$,
    $$SELECT
        ARRAY[2, 3, hashtextextended('n1', 0) # hashtextextended('n2', 0)], NULL::bigint[], NULL::bigint[],
        ARRAY[1, 1, hashtextextended('n3', 0)], '{64,128}'::bigint[], '{}'::bigint[], NULL::text[]$$,
    'what is new is counted, and which receipts are watched');
SELECT results_eq(
    $$SELECT transaction_id, place, reason, source, product_type, booked_milliunits, first_run_id, nights_confirmed
    FROM iap.transactions ORDER BY 1$$,
    $$VALUES
        ('n1' COLLATE "C", 'white', NULL, 'verify_receipt'::iap.source, 'consumable', 1980::bigint, 1::bigint, 1),
        ('n2', 'white', NULL, 'verify_receipt', 'consumable', 990, 1, 1),
        ('n3', 'excluded', 'family_shared', 'verify_receipt', 'consumable', 0, 1, 1)$$, 'and enters the ledger');
SELECT results_eq(
    $$SELECT transaction_id, bucket::integer, receipt_id, user_id, is_named, first_run_id
    FROM iap.sightings ORDER BY 1$$,
    $$VALUES
        ('n1' COLLATE "C", 0, 64::bigint, 'ann', true, 1::bigint), ('n2', 0, 128, 'ann', true, 1),
        ('n3', 0, 64, 'ann', false, 1)$$, 'with the receipts in which it was seen');
SELECT test.claim('n2');
SELECT results_eq(
    $$SELECT newly_white, already_white, already_black, excluded, watched
    FROM test.record(
        ARRAY[test.heard('n1', quantity => 2), test.heard('n2'), test.heard('n3', exclusion => 'family_shared')],
        ARRAY[test.seen(64), test.seen(128, number => 2), test.seen(192, number => 3)], run => 2)$$,
    $$SELECT
        NULL::bigint[], ARRAY[1, 2, hashtextextended('n1', 0)], ARRAY[1, 1, hashtextextended('n2', 0)],
        ARRAY[1, 1, hashtextextended('n3', 0)], '{64}'::bigint[]$$, 'what is known is counted where it is');
SELECT is((SELECT count(*) FROM iap.sightings), 4::bigint, 'and the receipts that show it too');
SELECT test.record(
    ARRAY[test.heard('n1', quantity => 2), test.heard('n3', exclusion => 'family_shared')],
    ARRAY[test.seen(64, order_id => 'order-1', is_named => false), test.seen(64, number => 2)]);
SELECT results_eq(
    $$SELECT transaction_id, receipt_id, is_named, order_id FROM iap.sightings ORDER BY 1, 2$$,
    $$VALUES
        ('n1' COLLATE "C", 64::bigint, true, 'order-1'), ('n2', 128, true, NULL), ('n3', 64, true, NULL),
        ('n3', 192, true, NULL)$$, 'what an upload tells later of the same receipt is added');
SELECT is((SELECT count(*) FROM iap.moves), 1::bigint, 'nothing of that is a move');

-- What nobody can have paid.
SELECT results_eq(
    $$SELECT (iap.amount_of(NULL, NULL, false, quantity, 500000000000000, 'USD', false)).*
    FROM unnest('{2,3}'::integer[]) AS quantity$$,
    $$VALUES (1000000000000000, 'USD', 'list'), (NULL, 'USD', 'unknown')$$, 'no list price comes to more');

-- Two runs of one night confirm it once.
SELECT test.hear(test.heard('n1', quantity => 2, verified_at => now() + hours * interval '1 hour'), 3)
FROM unnest(ARRAY[11, 12, 13, 24]) AS hours;
SELECT results_eq(
    $$SELECT nights_confirmed, last_confirmed_at FROM iap.white WHERE transaction_id = 'n1'$$,
    $$VALUES (3, now() + interval '24 hours')$$, 'each night counts once');

-- Refunded -----------------------------------------------------------------------------------------------------------

CREATE FUNCTION test.refund(
    transaction_id text, days integer, source iap.source DEFAULT 'verify_receipt', run bigint DEFAULT 10
) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(
        test.heard(
            transaction_id, source, exclusion => 'refunded', refunded_at => now() + days * interval '1 day',
            verified_at => now() + days * interval '1 day'),
        run)
$$;
CREATE FUNCTION test.unrefund(
    transaction_id text, days integer, source iap.source DEFAULT 'verify_receipt', run bigint DEFAULT 11
) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(transaction_id, source, verified_at => now() + days * interval '1 day'), run)
$$;
CREATE FUNCTION test.refunded_of(
    transaction_id text, OUT place text, OUT refunded integer, OUT run bigint, OUT reversed integer
) LANGUAGE sql AS $$
    SELECT place, extract(day FROM refunded_at - now())::integer, refund_run_id,
        extract(day FROM refund_reversed_at - now())::integer
    FROM iap.transactions AS t
    WHERE t.transaction_id = $1
$$;

SELECT test.hear(test.heard(id)) FROM unnest(ARRAY['w', 'b', 's', 'd', 'l']) AS id;
SELECT test.hear(test.heard('e', exclusion => 'family_shared'));
SELECT test.open_case('w', '{ann}'), test.claim('b');

SELECT is(test.refund('w', 1), 'refunded', 'what is owed is not owed any more');
SELECT results_eq(
    $$SELECT * FROM test.refunded_of('w')$$, $$VALUES ('excluded', 1, 10::bigint, NULL::integer)$$,
    'since Apple refunded it');
SELECT results_eq(
    $$SELECT * FROM test.moves('w')$$, $$VALUES ('refunded white > refunded')$$, 'which is in the log');
SELECT results_eq(
    $$SELECT actor, run_id, from_day, to_day FROM iap.moves WHERE transaction_id = 'w'$$,
    $$VALUES ('iap-reconcile', 10::bigint, current_date, current_date + 1)$$, 'on the day of the refund');
SELECT results_eq(
    $$SELECT state, closed_as, closed_by, assessed_run_id FROM iap.cases WHERE transaction_id = 'w'$$,
    $$VALUES ('closed', 'refunded', 'run 10', 10::bigint)$$, 'and its case is closed');
SELECT is(test.refund('b', 1), 'black', 'what was delivered stays delivered');
SELECT results_eq(
    $$SELECT * FROM test.refunded_of('b')$$, $$VALUES ('black', 1, 10::bigint, NULL::integer)$$, 'and is refunded');
SELECT results_eq(
    $$SELECT kind, from_place, to_place, from_refund_day, to_refund_day FROM iap.moves
    WHERE transaction_id = 'b' ORDER BY move_id$$,
    $$VALUES
        ('claimed', 'white', 'black', NULL::date, NULL::date),
        ('refunded', 'black', 'black', NULL, current_date + 1)$$, 'which is in the log too');
SELECT is(test.refund('e', 1), 'family_shared', 'what is not owed stays so, for its reason');
SELECT results_eq(
    $$SELECT * FROM test.refunded_of('e')$$, $$VALUES ('excluded', 1, 10::bigint, NULL::integer)$$, 'and is refunded');
SELECT is_empty($$SELECT FROM test.moves('e')$$, 'without a move: finance books nothing else');
SELECT is(test.hear(test.heard('f', exclusion => 'refunded', refunded_at => now())), 'refunded',
    'what was refunded before it was known');
SELECT results_eq(
    $$SELECT * FROM test.refunded_of('f')$$, $$VALUES ('excluded', 0, 1::bigint, NULL::integer)$$,
    'enters as refunded');
SELECT is(
    test.hear(jsonb_populate_record(test.heard('r'), '{"refund_reason": "0"}')), 'white',
    'what has a reason for a refund, and none, is owed');
SELECT is((SELECT refund_reason FROM iap.transactions WHERE transaction_id = 'r'), NULL, 'and has no reason');
SELECT is(
    test.hear(
        test.heard(
            'w', exclusion => 'refunded', refunded_at => now() + interval '1 day',
            verified_at => now() + interval '2 days'),
        12),
    'refunded', 'a refund that is told again');
SELECT results_eq(
    $$SELECT * FROM test.refunded_of('w')$$, $$VALUES ('excluded', 1, 10::bigint, NULL::integer)$$, 'is the same one');
SELECT is((SELECT count(*) FROM test.moves('w')), 1::bigint, 'and no move');

-- Reversed -----------------------------------------------------------------------------------------------------------

SELECT is(test.unrefund('w', 1), 'refunded', 'an answer of the same time reverses nothing');
SELECT is(test.unrefund('w', 0), 'refunded', 'nor does an older one');
SELECT is(test.unrefund('w', 3, 'local'), 'refunded', 'nor a receipt that only this machine read');
SELECT is(test.unrefund('b', 3, 'local'), 'black', 'of a delivery neither');
SELECT results_eq(
    $$SELECT * FROM test.refunded_of('b')$$, $$VALUES ('black', 1, 10::bigint, NULL::integer)$$,
    'it is still refunded');
SELECT is(test.unrefund('w', 4), 'white', 'Apple''s word does: it is owed again');
SELECT results_eq(
    $$SELECT * FROM test.refunded_of('w')$$, $$VALUES ('white', NULL::integer, NULL::bigint, 4)$$,
    'not refunded any more, and when that was told');
SELECT results_eq(
    $$SELECT * FROM test.moves('w')$$,
    $$VALUES ('refunded white > refunded'), ('refund_reversed refunded > white')$$, 'back in the log');
SELECT is(test.unrefund('b', 4), 'black', 'a delivery stays one');
SELECT results_eq(
    $$SELECT * FROM test.refunded_of('b')$$, $$VALUES ('black', NULL::integer, NULL::bigint, 4)$$,
    'not refunded either');
SELECT results_eq(
    $$SELECT kind, from_refund_day, to_refund_day FROM iap.moves WHERE transaction_id = 'b'
    ORDER BY move_id DESC LIMIT 1$$,
    $$VALUES ('refund_reversed', current_date + 1, NULL::date)$$, 'which finance takes back');
SELECT is(
    test.hear(test.heard('e', exclusion => 'family_shared', verified_at => now() + interval '4 days'), 11),
    'family_shared', 'what was not owed before');
SELECT results_eq(
    $$SELECT * FROM test.refunded_of('e')$$, $$VALUES ('excluded', NULL::integer, NULL::bigint, 4)$$,
    'is not owed now');
SELECT is(test.claim('w'), 'delivered', 'and what is owed again can be claimed');
SELECT is(test.refund('b', 5, run => 13), 'black', 'refunded once more');
SELECT results_eq(
    $$SELECT * FROM test.refunded_of('b')$$, $$VALUES ('black', 5, 13::bigint, NULL::integer)$$, 'it is refunded');

-- A poorer source than the one that told of the refund can't take it back.
SELECT is(test.refund('s', 1, 'server_api'), 'refunded', 'the server API tells of a refund');
SELECT is(test.unrefund('s', 9), 'refunded', 'verifyReceipt doesn''t reverse it');
SELECT is(test.unrefund('s', 9, 'server_api'), 'white', 'the server API does');
SELECT is(test.refund('l', 1, 'local'), 'refunded', 'a receipt read on this machine tells of one');
SELECT is(test.unrefund('l', 9, 'local'), 'refunded', 'and reverses none');
SELECT is(test.unrefund('l', 9), 'white', 'Apple does');

-- What the support desk called refunded is its word, and not Apple's.
SELECT test.resolve('d', 'refunded');
SELECT is(test.unrefund('d', 9), 'refunded', 'what support called refunded stays so');
SELECT is(test.reopen('d'), 'reopened', 'until support takes it back');

-- What the app's server admitted, and Apple tells of for the first time when it is not owed.
CREATE FUNCTION test.after_admission(id text, how text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.admit(id);
    IF how = 'refund' THEN
        PERFORM test.refund(id, 1);
        RETURN test.unrefund(id, 2);
    END IF;
    PERFORM test.resolve(id, 'dismissed');
    PERFORM test.unrefund(id, 1);
    RETURN test.reopen(id);
END
$$;
SELECT lives_ok($$SELECT test.after_admission('a1', 'refund')$$, 'refunded first, and reversed: it is owed');
SELECT lives_ok($$SELECT test.after_admission('a2', 'dismissal')$$, 'dismissed first, and taken back: it is owed');

-- Corrected ----------------------------------------------------------------------------------------------------------

CREATE FUNCTION test.better(transaction_id text, source iap.source, product_id text, quantity integer) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(
        test.heard(
            transaction_id, source, product_id, quantity, purchased_at => now() - interval '3 days',
            original_transaction_id => 'first-of-' || transaction_id),
        20)
$$;
CREATE FUNCTION test.said_of(
    transaction_id text, OUT place text, OUT source iap.source, OUT product_id text, OUT quantity integer,
    OUT original_transaction_id text, OUT age interval, OUT milliunits bigint, OUT booked_as text
) LANGUAGE sql AS $$
    SELECT place, source, product_id, quantity, original_transaction_id, now() - purchased_at, booked_milliunits,
        booked_as
    FROM iap.transactions AS t
    WHERE t.transaction_id = $1
$$;
SELECT test.admit('cw', quantity => 2), test.admit('cb', quantity => 2), test.claim('cb');
SELECT test.admit('ce'), test.resolve('ce', 'dismissed');

SELECT is(test.better('cw', 'verify_receipt', 'gold', 3), 'white', 'Apple corrects the app''s server');
SELECT results_eq(
    $$SELECT * FROM test.said_of('cw')$$,
    $$VALUES (
        'white', 'verify_receipt'::iap.source, 'gold', 3, 'first-of-cw', interval '3 days',
        14970::bigint, 'list')$$, 'on what is owed');
SELECT results_eq(
    $$SELECT
        kind, actor, run_id, from_product_id, to_product_id, from_units, to_units, from_milliunits, to_milliunits,
        from_day, to_day
    FROM iap.moves WHERE transaction_id = 'cw'$$,
    $$VALUES (
        'corrected', 'iap-reconcile', 20::bigint, 'gems' COLLATE "C", 'gold' COLLATE "C", 2, 3, 1980::bigint,
        14970::bigint, current_date, current_date - 3)$$, 'in the log, with what it was');
SELECT is(test.better('cb', 'verify_receipt', 'gold', 3), 'black', 'on what is delivered too');
SELECT results_eq(
    $$SELECT * FROM test.said_of('cb')$$,
    $$VALUES (
        'black', 'verify_receipt'::iap.source, 'gold', 3, 'first-of-cb', interval '3 days',
        14970::bigint, 'list')$$, 'of which all else is the same');
SELECT results_eq(
    $$SELECT user_id, delivered_by, delivered_at FROM iap.black WHERE transaction_id = 'cb'$$,
    $$VALUES ('ann', 'claim', now())$$, 'to whom it went, and when');
SELECT results_eq(
    $$SELECT * FROM test.moves('cb')$$, $$VALUES ('claimed white > claim'), ('corrected claim > claim')$$,
    'after its delivery');
SELECT is(test.better('ce', 'verify_receipt', 'gold', 3), 'dismissed', 'and on what is not owed');
SELECT is((SELECT milliunits FROM test.said_of('ce')), 14970::bigint, 'which finance books as it was');

-- The original of what was delivered: bought once, it is owed once, under the original that Apple names.
SELECT test.admit('co', product_id => 'full'), test.claim('co');
SELECT is(test.better('co', 'verify_receipt', 'full', 1), 'black', 'the original of a delivery is corrected');
SELECT is(test.admit('co-again', 'first-of-co', 'full'), 'already_delivered',
    'restored under it, it is not owed again');

-- What left white with a delivery comes back with it, whatever Apple said of it meanwhile.
SELECT test.admit('r1', product_id => 'full'), test.admit('r2', 'r1', 'full'), test.resolve('r1', 'delivered');
SELECT is(
    test.hear(
        test.heard('r2', 'server_api', 'full', original_transaction_id => 'r1', price_milliunits => 4000), 21),
    'restored', 'a price is told of what was withdrawn');
SELECT is(test.reopen('r1'), 'reopened', 'the delivery is taken back');
SELECT is(
    (SELECT place FROM iap.transactions WHERE transaction_id = 'r2'), 'white', 'and the other one is owed again too');

-- Only a better source corrects. One as good adds what was not known, and a poorer one fills gaps.
SELECT is(test.better('cw', 'local', 'gems', 9), 'white', 'a poorer source');
SELECT is(test.better('cw', 'verify_receipt', 'gems', 9), 'white', 'and one as good');
SELECT results_eq(
    $$SELECT product_id, quantity, milliunits FROM test.said_of('cw')$$,
    $$VALUES ('gold', 3, 14970::bigint)$$, 'correct nothing');
SELECT is((SELECT count(*) FROM test.moves('cw')), 1::bigint, 'and are no move');
SELECT is(
    test.hear(
        test.heard(
            'cw', 'local', 'gold', 3, price_milliunits => 5000, currency => 'CNY', app_account_token => 'token')),
    'white', 'a price and a token that were not known');
SELECT results_eq(
    $$SELECT price_milliunits, currency, booked_milliunits, booked_currency, booked_as, app_account_token, source
    FROM iap.white WHERE transaction_id = 'cw'$$,
    $$VALUES (5000::bigint, 'CNY', 5000::bigint, 'CNY', 'apple', 'token', 'verify_receipt'::iap.source)$$,
    'are taken from whoever has them');
SELECT is(
    test.hear(test.heard('cw', 'local', 'gold', 3, price_milliunits => 1, app_account_token => 'another')), 'white',
    'once');
SELECT is(
    test.hear(test.heard('cb', 'server_api', 'gold', 3, price_milliunits => 6000)), 'black',
    'the best source tells what was paid');
SELECT results_eq(
    $$SELECT from_milliunits, to_milliunits, from_booked_as, to_booked_as FROM iap.moves WHERE transaction_id = 'cb'
    ORDER BY move_id DESC LIMIT 1$$,
    $$VALUES (14970::bigint, 6000::bigint, 'list', 'apple')$$, 'and finance books that');
SELECT results_eq(
    $$SELECT price_milliunits, app_account_token FROM iap.white WHERE transaction_id = 'cw'$$,
    $$VALUES (5000::bigint, 'token')$$, 'the first that was known stays');
-- A word that is older than what is known changes nothing of it.
CREATE FUNCTION test.period_told(days integer, verified_at timestamptz, price_milliunits bigint) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(jsonb_populate_record(
        test.heard(
            'cv', 'server_api', 'pass', product_type => 'auto_renewable', price_milliunits => $3, verified_at => $2),
        jsonb_build_object('expires_at', now() + days * interval '1 day')))
$$;
SELECT is(test.period_told(30, now(), NULL), 'white', 'a period');
SELECT is(test.period_told(20, now() - interval '1 hour', 990), 'white', 'of which less was known before');
SELECT results_eq(
    $$SELECT expires_at - now(), verified_at, price_milliunits FROM iap.transactions WHERE transaction_id = 'cv'$$,
    $$VALUES (interval '30 days', now(), 990::bigint)$$, 'but for the price');
-- A type that one told stays, where the next tells none; but it is not that of another product.
CREATE FUNCTION test.type_told(product_id text, source iap.source, product_type text, hours integer) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.hear(test.heard(
        'ct', source, product_id, product_type => product_type, verified_at => now() + hours * interval '1 hour'));
    RETURN (SELECT t.product_type FROM iap.transactions AS t WHERE transaction_id = 'ct');
END
$$;
SELECT is(test.type_told('unheard.of', 'local', 'non_consumable', 0), 'non_consumable', 'a type is told');
SELECT is(test.type_told('unheard.of', 'local', NULL, 1), 'non_consumable', 'and then none');
SELECT is(test.type_told('unheard.of', 'verify_receipt', NULL, 2), 'non_consumable', 'nor by a better source');
SELECT is(test.type_told('unknown', 'server_api', NULL, 3), NULL, 'which tells of another product');

-- Let through --------------------------------------------------------------------------------------------------------

SELECT is(
    test.hear(test.heard('x1', exclusion => 'sandbox', environment => 'Sandbox')), 'sandbox', 'a sandbox purchase');
SELECT is(
    test.hear(test.heard('x1', exclusion => 'sandbox', environment => 'Sandbox'), 2), 'sandbox', 'that stays excluded');
SELECT is(
    test.hear(test.heard('x1', environment => 'Sandbox'), 3), 'white', 'is owed once the setting lets it through');
SELECT is(test.hear(test.heard('x2', exclusion => 'before_start')), 'before_start', 'a purchase before the start');
SELECT is(test.hear(test.heard('x2'), 3), 'white', 'is owed once the start is earlier');
SELECT results_eq(
    $$SELECT * FROM test.moves('x1') UNION ALL SELECT * FROM test.moves('x2')$$,
    $$VALUES ('released sandbox > white'), ('released before_start > white')$$, 'each in the log');
SELECT results_eq(
    $$SELECT newly_white FROM test.record(ARRAY[test.heard('x3', exclusion => 'sandbox')])
    UNION ALL SELECT newly_white FROM test.record(ARRAY[test.heard('x3')])$$,
    $$VALUES (NULL::bigint[]), (ARRAY[1, 1, hashtextextended('x3', 0)])$$, 'and counts as newly white');
SELECT is(test.hear(test.heard('x4', exclusion => 'family_shared')), 'family_shared', 'what a family shares');
SELECT is(test.hear(test.heard('x4'), 3), 'family_shared', 'is never let through');
SELECT is(test.hear(test.heard('x5', exclusion => 'sandbox')), 'sandbox', 'a sandbox purchase');
SELECT is(test.hear(test.heard('x5', exclusion => 'before_start'), 3), 'before_start',
    'before the start, as it turns out');
SELECT is(
    test.hear(test.heard(id, exclusion => 'sandbox', refunded_at => now(), verified_at => now() + interval '1 day')),
    'sandbox', 'a sandbox purchase that is refunded')
FROM unnest(ARRAY['x7', 'x8', 'x9']) AS id;
SELECT is(
    test.hear(test.heard(
        'x7', exclusion => 'refunded', refunded_at => now(), verified_at => now() + interval '2 days')),
    'refunded', 'was paid, as it turns out, and is refunded');
SELECT is(test.hear(test.heard('x8', 'local', verified_at => now() - interval '1 day')), 'refunded',
    'also by the word of a receipt that is older');
SELECT is(test.hear(test.heard('x9', verified_at => now() + interval '2 days')), 'white',
    'but owed where its refund is no more');
SELECT set_eq(
    $$SELECT transaction_id FROM finance.refunds_before_delivery WHERE transaction_id LIKE 'x_'$$, ARRAY['x7', 'x8'],
    'finance counts their refunds');
SELECT is(test.hear(test.heard('x6')), 'white', 'what is owed');
SELECT is(test.hear(test.heard('x6', exclusion => 'upgraded'), 3), 'upgraded', 'and upgraded since');
SELECT results_eq(
    $$SELECT * FROM test.moves('x6')$$, $$VALUES ('withdrawn white > upgraded')$$, 'is owed no more');

-- What is told anew of what is not owed is counted with what is not.
SELECT test.hear(test.heard(id, exclusion => 'upgraded')) FROM unnest(ARRAY['x7', 'x8']) AS id;
SELECT is(
    (test.record(ARRAY[
        test.heard('x7', exclusion => 'upgraded', price_milliunits => 990), test.heard('x8', exclusion => 'upgraded')])
    ).excluded[1], 2::bigint, 'in one sum');

-- The same id in both environments: two rows.
SELECT results_eq(
    $$SELECT newly_white[1], excluded[1] FROM test.record(ARRAY[
        test.heard('y'), test.heard('y', environment => 'Sandbox', exclusion => 'sandbox')])$$,
    $$VALUES (1::bigint, 1::bigint)$$, 'one id in both environments is two purchases');
SELECT is(test.claim('y'), 'delivered', 'a claim gets the real one');
SELECT is(test.hear(test.heard('y', environment => 'Sandbox'), 3), 'white', 'should the sandbox count by then');
SELECT is(test.claim('y'), 'already_delivered', 'and tried again not the other');

-- A row that was changed by hand still shows when Apple's word has been written over it.
SELECT test.hear(test.heard('h'));
UPDATE iap.transactions SET quantity = 100 WHERE transaction_id = 'h';
SELECT is(test.refund('h', 1), 'refunded', 'what was changed by hand moves');

SELECT is_empty($$SELECT * FROM test.misfits WHERE row <> 'h'$$, 'every row fits its seal');
SELECT results_eq(
    'SELECT relation, row FROM test.misfits', $$VALUES ('transactions', 'h' COLLATE "C")$$,
    'but for the one that was changed by hand');
-- What no quantity that can be was told of, and a company delivered: it knows how many.
SELECT is(test.hear(test.heard('q0', quantity => 0, exclusion => 'invalid_quantity')), 'invalid_quantity',
    'none of it');
SELECT is(test.import(test.heard('q0', quantity => 3)), 1::bigint, 'but three were delivered');
SELECT results_eq(
    $$SELECT place, quantity, booked_milliunits, booked_as FROM iap.transactions WHERE transaction_id = 'q0'$$,
    $$VALUES ('black', 3, 2970::bigint, 'list')$$, 'which is what is booked');
SELECT test.hear(test.heard(id, quantity => 0, exclusion => 'invalid_quantity')) FROM unnest(ARRAY['q1', 'q2']) AS id;
SELECT is(test.hear(test.heard('q1')), 'invalid_quantity', 'the same source says nothing new of it');
SELECT is(test.hear(test.heard('q1', 'server_api', quantity => 2)), 'white', 'a better one does, and it is owed');
SELECT is(
    test.hear(test.heard('q2', 'server_api', quantity => 2, exclusion => 'family_shared')), 'family_shared',
    'or not for another reason');
SELECT results_eq(
    $$SELECT quantity, booked_milliunits FROM iap.white WHERE transaction_id = 'q1'$$, $$VALUES (2, 1980::bigint)$$,
    'as many as were paid');
SELECT is(test.claim('q1', 'ann'), 'delivered', 'to be claimed');

SELECT is(test.moved_tally(), test.white_tally(), 'the moves explain the white table');
SELECT is_empty('SELECT * FROM finance.unexplained', 'and the accounts of finance');
SELECT * FROM finish();
ROLLBACK;
