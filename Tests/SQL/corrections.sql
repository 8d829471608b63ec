-- Apple corrects of which original purchase, or period, something is that an app's server, or an import, told of: what
-- was withdrawn, or granted, for the sake of the wrong one is owed again.
BEGIN;
SELECT no_plan();
SET LOCAL search_path = public, iap;

CREATE FUNCTION test.place(id text) RETURNS text
LANGUAGE sql AS $$ SELECT coalesce(reason, delivered_by, place) FROM iap.transactions WHERE transaction_id = $1 $$;
-- As one user: a cluster lets no two write the same receipts in one transaction.
CREATE FUNCTION test.keep_owed_once() RETURNS text
LANGUAGE sql SET search_path = iap, public AS $$
    SELECT concat_ws(' ', iap.release_restored(7, now()), iap.withdraw_all_restored(7, now(), 10))
$$;
CREATE FUNCTION test.vouched(id text, original text DEFAULT NULL, exclusion text DEFAULT NULL) RETURNS iap.verified
LANGUAGE sql AS $$
    SELECT test.heard(
        id, source => 'server_api', product_id => 'full', product_type => 'non_consumable', exclusion => exclusion,
        original_transaction_id => original)
$$;

-- Delivered as another customer's purchase, whose case is open.
SELECT test.record(ARRAY[test.vouched('A1')], ARRAY[test.seen(test.submit('A1', 'bob'), 'bob')]);
SELECT test.open_case('A1', '{bob}');
UPDATE iap.receipts SET state = 'settled', next_attempt_at = NULL, verified_at = now(), last_attempt_at = now();
UPDATE iap.receipts
SET seal = audit.receipt_seal(
    bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at, state, is_erased);
SELECT is(test.admit('B1', 'A1', 'full'), 'white', 'a server that errs about the original');
SELECT is(test.claim('B1'), 'delivered', 'delivers');
SELECT is(test.place('A1'), 'restored', 'what looks like the same purchase leaves white');
SELECT is(test.keep_owed_once(), '0 0', 'and stays so while it does');
SELECT is(test.hear(test.vouched('B1')), 'black', 'Apple knows another original');
SELECT is((SELECT details ->> 'from_original' FROM iap.moves WHERE transaction_id = 'B1' ORDER BY move_id DESC LIMIT 1),
    'A1', 'which the log tells');
SELECT is(test.keep_owed_once(), '1 0', 'so that the other purchase is owed again');
SELECT is(test.place('A1'), 'white', 'in white');
SELECT is((SELECT state FROM iap.receipts), 'watched', 'and its receipt is asked again');
SELECT is(test.keep_owed_once(), '0 0', 'once');
SELECT is(test.claim('A1', 'bob'), 'delivered', 'and it can be claimed');
SELECT is(test.claim('B1'), 'already_delivered', 'while the other stays delivered');

-- Only admitted; and first seen when that was owed, or delivered.
SELECT test.admit('D1', 'C1', 'full'), test.hear(test.vouched('C1', exclusion => 'restored'));
SELECT test.admit('F1', 'E1', 'full'), test.claim('F1'), test.hear(test.vouched('E1', exclusion => 'restored'));
SELECT is(test.keep_owed_once(), '0 0', 'of what looks like one purchase, one id stands');
SELECT test.hear(test.vouched('D1')), test.hear(test.vouched('F1'));
SELECT is(test.keep_owed_once(), '2 0', 'each is owed for itself');
SELECT is(array_agg(test.place(id)), '{white,white,white,claim}', 'as Apple knows them')
FROM unnest('{C1,D1,E1,F1}'::text[]) AS id;

-- In one batch.
SELECT test.admit('H1', 'G1', 'full'), test.claim('H1');
SELECT test.record(ARRAY[test.vouched('G1', exclusion => 'restored'), test.vouched('H1')]);
SELECT is(test.keep_owed_once(), '1 0', 'also when Apple tells of both at once');
SELECT is(test.place('G1'), 'white', 'it is owed');

-- What is the same purchase by another id, or was ended under one, stays withdrawn.
SELECT test.hear(test.vouched('I1')), test.hear(test.vouched('I2', 'I1', 'restored')), test.admit('I3', 'I1', 'full');
SELECT is(test.claim('I3'), 'delivered', 'of three');
SELECT test.hear(test.vouched('I3'));
SELECT is(test.keep_owed_once(), '1 0', 'one is another purchase');
SELECT is(array_agg(test.place(id)), '{white,restored,claim}', 'and one of the others is owed')
FROM unnest('{I1,I2,I3}'::text[]) AS id;
SELECT test.hear(test.vouched('J1')), test.hear(test.vouched('J2', 'J1', 'restored')), test.keep_owed_once();
SELECT test.admit('J3', 'J1', 'full'), test.resolve('J1', 'dismissed'), test.hear(test.vouched('J3'));
SELECT is(test.keep_owed_once(), '0 0', 'what the desk dismissed under one id is owed under none');
SELECT test.hear(test.vouched('K1')), test.claim('K1'), test.hear(test.vouched('K2', 'K1', 'restored'));
SELECT test.import(test.heard('K3', product_id => 'full', original_transaction_id => 'K1'));
SELECT test.hear(test.vouched('K3'));
SELECT is(test.keep_owed_once(), '0 0', 'nor what was delivered');

-- Where another session kept the original from being given back.
SELECT test.hear(test.vouched('L1')), test.admit('M1', 'L1', 'full'), test.claim('M1'), test.hear(test.vouched('M1'));
CREATE FUNCTION test.leave_untaken(id text, original text) RETURNS void
LANGUAGE sql AS $$
    UPDATE iap.delivered_originals SET original_transaction_id = $2 WHERE transaction_id = $1;
    INSERT INTO iap.untaken_originals VALUES ($1, 'com.example.a', 'Production', $2);
$$;
SELECT test.leave_untaken('M1', 'L1');
SELECT is(test.keep_owed_once(), '1 0', 'the night gives it back');
SELECT results_eq(
    $$SELECT original_transaction_id FROM iap.delivered_originals WHERE transaction_id = 'M1'$$,
    $$VALUES ('M1' COLLATE "C")$$, 'for the right one');
SELECT test.hear(test.vouched('N1')), test.admit('O1', 'N1', 'full'), test.resolve('O1', 'delivered'),
    test.hear(test.vouched('O1')), test.leave_untaken('O1', 'N1');
SELECT is(test.reopen('O1'), 'reopened', 'what the desk has owed again meanwhile');
SELECT is(test.keep_owed_once(), '1 0', 'gives back the other, too');
SELECT is_empty($$SELECT FROM iap.delivered_originals WHERE transaction_id = 'O1'$$, 'and takes none');
SELECT is_empty('SELECT FROM iap.untaken_originals', 'which are all there were');

-- A period that was admitted with the id of the one before.
SELECT test.run_as('iap_app', $$
    SELECT iap.admit(
        'com.example.a', 'Production', 'P2', 'P1', 'pass', 1, now(), 'ann', web_order_line_item_id => 'w1')$$);
SELECT is(test.claim('P2'), 'delivered', 'a period');
SELECT is(test.hear_period('P1', 'P1', 'w1', -30, 'restored'), 'restored', 'the one before looks delivered');
SELECT is(test.hear_period('P2', 'P1', 'w2'), 'black', 'until Apple tells which each is');
SELECT is((SELECT details ->> 'from_period' FROM iap.moves WHERE transaction_id = 'P2' ORDER BY move_id DESC LIMIT 1),
    'w1', 'which the log tells');
SELECT is(test.keep_owed_once(), '1 0', 'then it is owed');
SELECT is(test.claim('P1'), 'delivered', 'and can be claimed');
SELECT is(test.hear_period('P3', 'P1', 'w2', 0, 'restored'), 'restored', 'what is known of a period at last');
SELECT is(test.keep_owed_once(), '0 0', 'stays as it is');

-- Granted as another customer's subscription.
CREATE FUNCTION test.period(id text, original text, exclusion text DEFAULT NULL, line_item text DEFAULT NULL)
RETURNS iap.verified
LANGUAGE sql AS $$
    SELECT jsonb_populate_record(
        test.heard(
            id, source => 'server_api', product_id => 'pass', product_type => 'auto_renewable', exclusion => exclusion,
            original_transaction_id => original, web_order_line_item_id => line_item),
        jsonb_build_object('expires_at', now() + interval '30 days'))
$$;
CREATE FUNCTION test.entitle(original text, user_id text) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format(
        'SELECT iap.entitle(%L, %L, %L, %L)', 'com.example.a', $1, $2, now() + interval '90 days'))
$$;
CREATE FUNCTION test.cover() RETURNS text
LANGUAGE sql AS $$ SELECT test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)') $$;
SELECT test.entitle('Q1', 'ann'), test.admit('R1', 'Q1', 'pass', user_id => 'bob');
SELECT is(test.cover(), '1', 'a grant of what the server said');
SELECT is(test.hear(test.period('R1', 'R1')), 'white', 'is none of what Apple knows it to be');
SELECT is(test.cover(), '0', 'nor for the night');
SELECT is(test.claim('R1', 'bob'), 'delivered', 'so that it can be claimed');
SELECT test.admit('S1', 'Q1', 'pass', user_id => 'bob'), test.cover(), test.entitle('T1', 'bob');
SELECT is(test.hear(test.period('S1', 'T1')), 'white', 'where its own purchase was granted');
SELECT is(test.claim('S1', 'bob'), 'already_delivered', 'it is not owed');
SELECT is(test.cover(), '1', 'but delivered by that');
SELECT is((SELECT user_id FROM iap.black WHERE transaction_id = 'S1'), 'bob', 'to whom it was granted');
SELECT test.admit('U0', 'Q1', 'pass'), test.cover();
SELECT is(test.hear(test.period('U0', 'U0')), 'black', 'a server that erred in both meant this one');
SELECT test.hear(test.period('Q1', 'Q1')), test.admit('U1', 'Q1', 'pass'), test.cover();
SELECT is(test.hear(test.period('U1', 'U1')), 'white', 'but not where Apple knows the other purchase');
SELECT test.admit('V1', 'Q1', 'pass'), test.cover();
SELECT is(test.hear(test.period('V1', 'Q1')), 'black', 'a grant of the right one stays');

-- One period that was granted under two ids, before anybody knew that it is one.
SELECT test.hear(test.period('W1', 'W1', line_item => 'w1')), test.admit('W2', 'W1', 'pass'), test.entitle('W1', 'ann');
SELECT is(array_agg(test.place(id)), '{entitlement,entitlement}', 'of two periods')
FROM unnest('{W1,W2}'::text[]) AS id;
SELECT test.hear(test.period('W2', 'W1', line_item => 'w1'));
SELECT is(array_agg(test.place(id)), '{entitlement,restored}', 'one is left, where Apple knows but one')
FROM unnest('{W1,W2}'::text[]) AS id;
SELECT is(test.keep_owed_once(), '0 0', 'which is owed under no id');
SELECT test.hear(test.heard(
    id, product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => 'X1'))
FROM unnest('{X2,X3}'::text[]) AS id;
SELECT test.entitle('X1', 'ann');
SELECT test.record(ARRAY[test.period('X2', 'X1', line_item => 'w1'), test.period('X3', 'X1', line_item => 'w1')]);
SELECT is(array_agg(test.place(id)), '{entitlement,restored}', 'also where it tells of both at once')
FROM unnest('{X2,X3}'::text[]) AS id;
-- Nor does an import count it twice, nor is what it was delivered for delivered for once more.
CREATE FUNCTION test.import_alike(id text, original text, product_id text, order_id text) RETURNS bigint
LANGUAGE sql AS $$
    SELECT test.import(jsonb_populate_record(
        test.heard(id, product_id => $3, original_transaction_id => original),
        jsonb_build_object('order_id', order_id)))
$$;
SELECT test.import_alike(id, 'Y1', 'pass', 'order ' || id) FROM unnest('{Y2,Y3}'::text[]) AS id;
SELECT is(array_agg(test.place(id)), '{import,import}', 'what a company tells of under two ids')
FROM unnest('{Y2,Y3}'::text[]) AS id;
SELECT test.hear(test.period(id, 'Y1', line_item => 'w1')) FROM unnest('{Y2,Y3}'::text[]) AS id;
SELECT is(array_agg(test.place(id)), '{import,restored}', 'is left under one, where Apple knows but one period')
FROM unnest('{Y2,Y3}'::text[]) AS id;
SELECT is(test.import_alike('Y3', 'Y1', 'pass', 'order Y3'), 0::bigint, 'also where the company tells of it again');
SELECT is(
    (SELECT count(*) FROM iap.delivered_orders WHERE order_id LIKE 'order Y_'), 2::bigint, 'and keeps both orders');
SELECT test.hear(test.period('Y4', 'Y1', line_item => 'w2'));
SELECT is(test.claim('Y4', order_id => 'order Y3'), 'delivered', 'which are still the subscription''s');
SELECT test.import_alike(id, 'YA1', 'unheard.of', NULL) FROM unnest('{YA1,YA2}'::text[]) AS id;
SELECT test.hear(test.heard(
    id, 'server_api', product_id => 'unheard.of', product_type => 'non_consumable', original_transaction_id => 'YA1'))
FROM unnest('{YA1,YA2}'::text[]) AS id;
SELECT is(array_agg(test.place(id)), '{import,restored}', 'and so where Apple calls it bought once')
FROM unnest('{YA1,YA2}'::text[]) AS id;
SELECT test.hear(test.period('YB1', 'YB1', line_item => 'w1')), test.entitle('YB1', 'ann');
SELECT test.import_alike('YB2', 'YB1', 'pass', NULL), test.hear(test.period('YB2', 'YB1', line_item => 'w1'));
SELECT is(array_agg(test.place(id)), '{entitlement,import}', 'but not beside what may be taken back')
FROM unnest('{YB1,YB2}'::text[]) AS id;
SELECT test.admit(id, product_id => 'full'), test.claim(id) FROM unnest('{YC1,YC2}'::text[]) AS id;
SELECT test.hear(test.vouched('YC2', 'YC1'));
SELECT is(array_agg(test.place(id)), '{claim,claim}', 'and what was claimed twice stays, for all to see')
FROM unnest('{YC1,YC2}'::text[]) AS id;
SELECT test.hear(test.vouched('YD1')), test.claim('YD1'), test.import_alike('YD2', 'YD2', 'gems', NULL);
SELECT test.hear(test.heard('YD2', 'server_api', product_type => 'consumable', original_transaction_id => 'YD1'));
SELECT is(array_agg(test.place(id)), '{claim,import}', 'as does what else a company delivered of the original')
FROM unnest('{YD1,YD2}'::text[]) AS id;
SELECT test.hear(test.period('Z1', 'Z1', line_item => 'w1')), test.claim('Z1');
SELECT test.admit('Z2', 'Z1', 'pass'), test.entitle('Z1', 'ann');
DELETE FROM iap.delivered_originals WHERE transaction_id = 'Z1';
SELECT test.hear(test.period('Z2', 'Z1', line_item => 'w1'));
UPDATE iap.delivered_originals SET transaction_id = 'Z1' WHERE transaction_id = 'Z2';
INSERT INTO iap.untaken_originals VALUES ('Z2', 'com.example.a', 'Production', 'Z1');
SELECT is(array_agg(test.place(id)), '{claim,entitlement}', 'what a claim took meanwhile')
FROM unnest('{Z1,Z2}'::text[]) AS id;
SELECT is(test.keep_owed_once(), '0 0', 'a night');
SELECT is(array_agg(test.place(id)), '{claim,restored}', 'finds delivered once')
FROM unnest('{Z1,Z2}'::text[]) AS id;
-- Also where Apple tells of the period and of its refund at once: the money went back once, and no refund was reversed.
SELECT test.hear(test.period('RA1', 'RA1', line_item => 'w1')), test.admit('RA2', 'RA1', 'pass'),
    test.entitle('RA1', 'ann');
CREATE FUNCTION test.refund_period(id text) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(jsonb_populate_record(
        test.period(id, 'RA1', 'refunded', 'w1'),
        jsonb_build_object('refunded_at', now(), 'revocation_type', 'REFUND_PRORATED', 'revocation_percentage', 50000)))
$$;
CREATE FUNCTION test.refunds() RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT transaction_id FROM finance.refunds_after_delivery WHERE transaction_id LIKE 'RA_' AND refund_percent = 50
$$;
SELECT is(test.refund_period('RA2'), 'restored', 'one is left, also of what is refunded');
SELECT is_empty('SELECT test.refunds()', 'of which Apple has told under the other id alone');
SELECT test.run_as('iap_job', 'SELECT iap.carry_refunds(8, now())');
SELECT set_eq('SELECT test.refunds()', ARRAY['RA1'], 'from where the night has it');
SELECT test.refund_period('RA1'), test.refund_period('RA2');
SELECT test.run_as('iap_job', 'SELECT iap.carry_refunds(8, now())');
SELECT set_eq('SELECT test.refunds()', ARRAY['RA1'], 'once, whatever Apple tells of either');
SELECT is_empty(
    $$SELECT FROM iap.journal_lines WHERE account = 'refunded' AND detail = 'reversed'$$, 'Apple took no refund back');
SELECT test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', 'W1')$$);
SELECT is(array_agg(test.place(id)), '{white,restored}', 'taken back, it is owed once')
FROM unnest('{W1,W2}'::text[]) AS id;

-- What looked restored, and Apple says that it is not, is owed, unless its purchase stands under another id: a tester's
-- of the same number is none, and neither is another period, also where Apple tells no period of either.
SELECT test.admit('XA1', product_id => 'full', environment => 'Sandbox'),
    test.hear(test.heard('XA2', product_id => 'full', original_transaction_id => 'XA1', exclusion => 'restored'));
SELECT is(
    test.hear(test.heard('XA2', 'server_api', 'full', original_transaction_id => 'XA1')), 'white',
    'a tester owes nobody anything');
SELECT test.hear(test.heard('XB1', product_id => 'pass', product_type => 'auto_renewable')),
    test.hear(test.heard(
        'XB2', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => 'XB1',
        exclusion => 'restored'));
SELECT is(
    test.hear(test.heard(
        'XB2', 'server_api', 'pass', product_type => 'auto_renewable', original_transaction_id => 'XB1')), 'white',
    'a renewal is owed beside the first period');
-- What is restored as Apple says now was not owed before, either, where a setting kept it from that.
SELECT test.hear(test.heard(
    'XC2', product_id => 'full', original_transaction_id => 'XC1', exclusion => 'before_start'));
SELECT is(
    test.hear(test.heard(
        'XC2', 'server_api', 'full', original_transaction_id => 'XC1', exclusion => 'restored')), 'restored',
    'only what was refunded comes back');

SELECT is(test.moved_tally(), test.white_tally(), 'the moves explain the white table');
SELECT is_empty($$SELECT FROM finance.unexplained$$, 'and finance''s journal explains each of these moves');
SELECT is_empty('SELECT * FROM test.misfits', 'all of them sealed');

-- However long no night came after Apple told of it.
SELECT test.close_books(), test.hear(test.vouched('AA1')), test.admit('AA2', 'AA1', 'full'), test.claim('AA2'),
    test.hear(test.vouched('AA2'));
UPDATE iap.moves SET moved_at = now() - interval '10 days' WHERE transaction_id = 'AA2';
UPDATE audit.frontier SET closed_at = now() - interval '12 days';
SELECT is(test.place('AA1'), 'restored', 'what looked like another purchase');
SELECT is(test.keep_owed_once(), '1 0', 'is owed by the next');
SELECT is(test.place('AA1'), 'white', 'in white');

SELECT * FROM finish();
ROLLBACK;
