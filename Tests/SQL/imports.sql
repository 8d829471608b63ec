-- iap.import_deliveries: what a company delivered before is black, to whom and for which order it says, and never
-- delivered again. What Apple said of it stays.
BEGIN;
SELECT no_plan();

CREATE FUNCTION test.import_for(order_id text, purchase iap.verified, user_id text DEFAULT 'ann') RETURNS bigint
LANGUAGE sql AS $$ SELECT test.import(jsonb_populate_record($2, jsonb_build_object('order_id', $1)), $3) $$;
CREATE FUNCTION test.row_of(transaction_id text) RETURNS text
LANGUAGE sql AS $$
    SELECT string_agg(
        concat_ws(
            ' ', left(environment, 1), coalesce(reason, place), user_id, order_id, delivered_by,
            delivered_at - now(), source, quantity, nights_confirmed),
        ', ' ORDER BY environment)
    FROM iap.transactions AS t
    WHERE t.transaction_id = $1 AND bundle_id = 'com.example.a'
$$;
CREATE FUNCTION test.days_ago(days integer) RETURNS timestamptz
LANGUAGE sql AS $$ SELECT now() - $1 * interval '1 day' $$;

-- What nobody knew.
SELECT is(
    test.import_for('o1', test.heard('1', quantity => 2, purchased_at => test.days_ago(9))), 1::bigint, 'it enters');
SELECT is(test.row_of('1'), 'P black ann o1 import -9 days app_server 2 0', 'as the company says');
SELECT is_empty('SELECT FROM iap.moves', 'without having been owed');
SELECT is(test.import_for('o2', test.heard('1', quantity => 3), 'bob'), 0::bigint, 'told again it is black already');
SELECT is(test.row_of('1'), 'P black ann o1 import -9 days app_server 2 0', 'and stays as it was');
SELECT is(test.import(test.heard('2'), NULL), 1::bigint, 'to nobody knows whom');
SELECT is(test.claim(id), 'already_delivered', 'it is not delivered again') FROM unnest(ARRAY['1', '2']) AS id;

-- What was owed, and what was not; and what bears their ids elsewhere.
SELECT test.hear(test.heard('3', quantity => 4)), test.hear(test.heard('3', environment => 'Sandbox')),
    test.admit('3', bundle_id => 'com.example.b'), test.admit('4'), test.resolve('4', 'dismissed'),
    test.open_case('3', '{ann}');
SELECT is(
    test.import_for('o3', test.heard(id, quantity => 9, purchased_at => test.days_ago(1)), 'cy'), 1::bigint, 'it moves')
FROM unnest(ARRAY['3', '4']) AS id;
SELECT is(
    test.row_of('3'), 'P black cy o3 import -1 days verify_receipt 4 1, S white verify_receipt 1 1',
    'what Apple said of it stays, and so does a tester''s');
SELECT is(test.row_of('4'), 'P black cy o3 import -1 days app_server 1 0', 'what was dismissed was delivered');
SELECT results_eq(
    $$SELECT * FROM test.moves('3') UNION ALL SELECT * FROM test.moves('4')$$,
    $$VALUES ('imported white > import'), ('resolved white > dismissed'), ('imported dismissed > import')$$,
    'as the log says');
SELECT results_eq(
    $$SELECT closed_as, closed_by FROM iap.cases$$, $$VALUES ('delivered', 'import')$$, 'and its case');
SELECT is(
    (SELECT place FROM iap.transactions WHERE bundle_id = 'com.example.b'), 'white', 'another app''s is another');
SELECT test.claim('5', 'ann') FROM (SELECT test.admit('5')) AS admitted;
SELECT is(test.import(test.heard('5'), 'bob'), 0::bigint, 'what a customer claimed');
SELECT is((SELECT user_id FROM iap.black WHERE transaction_id = '5'), 'ann', 'is theirs');

-- What was refunded since.
SELECT test.exclude('6', 'refunded');
SELECT is(
    test.import(test.heard('6', refunded_at => now(), exclusion => 'refunded')), 1::bigint, 'delivered, and refunded');
SELECT results_eq(
    $$SELECT place, refunded_at FROM iap.transactions WHERE transaction_id = '6'$$, $$VALUES ('black', now())$$,
    'it is both');

-- An order is delivered once.
SELECT results_eq(
    'SELECT order_id, original_transaction_id FROM iap.delivered_orders ORDER BY 1',
    $$VALUES ('o1', '1' COLLATE "C"), ('o3', '3')$$, 'each is the purchase''s that has it first');
SELECT test.admit('7');
SELECT is(test.claim('7', order_id => 'o3'), 'order_used', 'and no other is delivered for it');

-- What was bought once is owed once, whatever nobody knows the type of a person decides on, and all else each time.
SELECT test.admit('21', '20', 'full'), test.admit('22', '20', 'gems'), test.admit('31', '30', 'unheard.of'),
    test.admit('21', '20', 'full', environment => 'Sandbox'), test.admit('20', '20', 'full', environment => 'Sandbox'),
    test.admit('20', '20', 'full', bundle_id => 'com.example.b'), test.admit('50', '50', 'full');
SELECT test.import(test.heard('20', product_id => 'full')), test.import(test.heard('30', product_id => 'unheard.of'));
SELECT results_eq(
    'SELECT original_transaction_id, bundle_id, environment FROM iap.delivered_originals ORDER BY 1',
    $$VALUES ('20' COLLATE "C", 'com.example.a' COLLATE "C", 'Production'), ('30', 'com.example.a', 'Production')$$,
    'and nothing else is taken for delivered');
SELECT is(test.row_of('21'), 'P restored app_server 1 0, S white app_server 1 0', 'what restores it is not owed');
SELECT is(test.row_of('22'), 'P white app_server 1 0', 'what is bought each time is');
SELECT is(test.row_of('31'), 'P white app_server 1 0', 'and so may be what nobody knows');
SELECT is(test.claim('31'), 'undecided', 'which is for the support desk');
SELECT is(test.admit('23', '20', 'full'), 'already_delivered', 'restored later it is not owed either');
SELECT test.import(test.heard('40')), test.admit('41', '40');
SELECT is(test.claim('41'), 'delivered', 'a consumable takes no original');

-- Nor is it delivered, or refunded, twice for the sake of the ids under which the company keeps it, too.
SELECT test.admit('60', '60', 'full'), test.claim('60');
SELECT is(
    test.import_for('o6', test.heard(id, product_id => 'full', original_transaction_id => '60')), taken, 'it is taken')
FROM (VALUES ('61', 1::bigint), ('61', 0), ('60', 0)) AS line (id, taken);
SELECT is(test.row_of('61'), 'P restored app_server 1 0', 'as what it restores');
SELECT is(test.admit('61', '60', 'full'), 'already_delivered', 'it was delivered');
SELECT is(
    (SELECT original_transaction_id FROM iap.delivered_orders WHERE order_id = 'o6'), '60', 'and so was its order');
SELECT test.hear(test.heard(
    id, product_id => 'full', product_type => 'non_consumable', original_transaction_id => '60',
    exclusion => 'refunded', refunded_at => now(), verified_at => now() + interval '1 day'))
FROM unnest(ARRAY['60', '61']) AS id;
SET LOCAL search_path = public, iap;
SELECT test.run_as('iap_job', 'SELECT iap.carry_refunds(7, now())');
SELECT results_eq(
    $$SELECT test.row_of(id) FROM unnest(ARRAY['60', '61']) AS id$$,
    $$VALUES ('P black ann claim 00:00:00 verify_receipt 1 0'), ('P restored verify_receipt 1 0')$$,
    'refunded under both');
SELECT results_eq(
    $$SELECT sum(transactions)::bigint, sum(amount) FROM finance.deliveries WHERE product_id = 'full'
        AND delivery_day = (now() AT TIME ZONE 'UTC')::date
    UNION ALL
    SELECT sum(transactions)::bigint, sum(amount) FROM finance.refunds WHERE product_id = 'full'$$,
    $$VALUES (2::bigint, 9.98), (1, 4.99)$$, 'it counts once, beside another purchase');
SELECT test.admit('63', '63', 'full'), test.admit('64', '63', 'full'), test.resolve('64', 'dismissed');
CREATE FUNCTION test.import_all(ids text[], original text DEFAULT '63') RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, iap, pg_temp AS $$
DECLARE
    lines iap.verified[];
    taken bigint;
BEGIN
    SELECT array_agg(jsonb_populate_record(
        test.heard(id, product_id => 'full', original_transaction_id => original),
        '{"user_id": "ann", "source": "app_server", "delivered_at": "2026-03-01T00:00Z"}'))
    INTO lines
    FROM unnest(ids) AS id;
    SET LOCAL ROLE iap_import;
    taken := iap.import_deliveries(lines);
    RESET ROLE;
    RETURN taken;
END
$$;
SELECT is(test.import_all('{67,66,64,63,65}'), 4::bigint, 'several ids of a purchase in one batch');
SELECT set_eq(
    $$SELECT transaction_id || ' ' || coalesce(reason, place) FROM iap.transactions
    WHERE original_transaction_id = '63'$$,
    ARRAY['63 black', '64 dismissed', '65 restored', '66 restored', '67 restored'], 'are one delivery');
SELECT is(test.import_all('{67,66,64,63,65}'), 0::bigint, 'told again they are there');
-- Beside what the desk or a grant delivered, one of them is delivered, too, and no other.
SELECT test.admit(id, id, 'full'), test.resolve(id, 'delivered') FROM unnest(ARRAY['160', '165']) AS id;
SELECT test.import_all('{162}', '160'), test.import_all('{161}', '160'), test.import_all('{168,166,167}', '165');
SELECT set_eq(
    $$SELECT concat_ws(' ', transaction_id, coalesce(reason, delivered_by)) FROM iap.transactions
    WHERE original_transaction_id IN ('160', '165')$$,
    ARRAY['160 resolved', '161 restored', '162 import', '165 resolved', '166 import', '167 restored', '168 restored'],
    'what may be taken back has one import beside it');
SELECT is(test.reopen('165'), 'already_delivered', 'for which it is not owed again');
SELECT test.hear_period('71', '70', 'w1'), test.claim('71'), test.hear_period('72', '70', 'w1');
SELECT test.run_as('iap_job', 'SELECT iap.withdraw_all_restored(7, now(), 10)');
SELECT is(
    test.import(test.heard(
        '72', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => '70')),
    0::bigint, 'a period of which Apple told');
SELECT is(test.row_of('72'), 'P restored verify_receipt 1 1', 'was delivered under another id');
-- Of a product that is not listed, what a receipt shows to be restored is so for an import, too.
SELECT test.hear(test.heard('n0', product_id => 'unheard.of')), test.hear(test.heard(
    'n1', product_id => 'unheard.of', original_transaction_id => 'n0', exclusion => 'restored'));
SELECT is(test.claim('n0'), 'delivered', 'a purchase of a product that is not listed');
SELECT is(
    test.import(test.heard('n1', product_id => 'unheard.of', original_transaction_id => 'n0')), 0::bigint,
    'is delivered once');
SELECT is(test.row_of('n1'), 'P restored verify_receipt 1 1', 'under the id that was claimed');
SELECT test.hear(test.heard('n2', product_id => 'unheard.of')), test.hear(test.heard(
    'n3', product_id => 'unheard.of', original_transaction_id => 'n2', exclusion => 'restored'));
SELECT is(test.resolve('n2', 'delivered'), 'delivered', 'one that the desk delivered');
SELECT is(
    test.import(test.heard('n3', product_id => 'unheard.of', original_transaction_id => 'n2')), 1::bigint,
    'may be taken back, and what the import tells of stays');
SELECT test.reopen('n2');
SELECT is(test.claim('n2'), 'undecided', 'so that it is not delivered again');
-- So it is of what was claimed before the list of products was mended.
INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.example.a', 'mended', 'consumable', 'Mended');
SELECT test.admit('n4', product_id => 'mended'), test.claim('n4');
UPDATE iap.products SET type = 'non_consumable' WHERE product_id = 'mended';
SELECT test.import(test.heard('n5', product_id => 'mended', original_transaction_id => 'n4'));
SELECT is(
    (SELECT array_agg(concat_ws(' ', transaction_id, coalesce(reason, place)) ORDER BY 1) FROM iap.transactions
    WHERE product_id = 'mended'), ARRAY['n4 black', 'n5 restored'], 'bought once, it is delivered once');

-- What the support desk called refunded long ago, and Apple refunds now under the id that the company delivered, or
-- under a third one.
CREATE FUNCTION test.refund(id text, original text) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        id, product_id => 'full', product_type => 'non_consumable', original_transaction_id => original,
        exclusion => 'refunded', refunded_at => now(), verified_at => now() + interval '1 day'))
$$;
SELECT test.admit(id, id, 'full'), test.resolve(id, 'refunded') FROM unnest(ARRAY['80', '83']) AS id;
SELECT test.import(test.heard(
    id, product_id => 'full', original_transaction_id => original, purchased_at => test.days_ago(40)))
FROM (VALUES ('81', '80'), ('84', '83'), ('85', '83')) AS told (id, original);
SELECT test.run_as('iap_job', 'SELECT iap.carry_refunds(7, now())');
UPDATE iap.transactions SET excluded_at = test.days_ago(30) WHERE transaction_id IN ('80', '83');
UPDATE iap.transactions AS t SET seal = audit.seal(t) WHERE transaction_id IN ('80', '83');
SELECT test.close_books();
SELECT test.run_as('iap_job', 'SELECT iap.carry_refunds(7, now())');
SELECT set_eq(
    $$SELECT transaction_id || ' ' || coalesce(reason, place) FROM iap.transactions
    WHERE original_transaction_id IN ('80', '83')$$,
    ARRAY['80 refunded', '81 black', '83 refunded', '84 black', '85 restored'], 'the desk''s word stays');
SELECT test.refund('81', '80'), test.refund('85', '83');
SELECT test.run_as('iap_job', 'SELECT iap.carry_refunds(7, now())');
SELECT set_eq(
    $$SELECT transaction_id || ' ' || coalesce(reason, place) || CASE WHEN refunded_at IS NOT NULL THEN ' and back' END
    FROM iap.transactions WHERE original_transaction_id IN ('80', '83')$$,
    ARRAY['80 restored and back', '81 black and back', '83 restored and back', '84 black and back',
        '85 restored and back'],
    'until Apple''s is of what was delivered');
SELECT results_eq(
    $$SELECT refunded, transactions FROM finance.refunds WHERE product_id = 'full' ORDER BY 1$$,
    $$VALUES ('after delivery', 3::bigint)$$, 'for which each refund counts once');

-- What Apple refunded long ago under the other id, and a company delivered by what it tells only now: of an id that
-- nobody had heard of, or of one that was taken for restored.
SELECT test.refund('86', '86'), test.refund('88', '88'), test.hear(test.heard(
    '89', product_id => 'full', product_type => 'non_consumable', original_transaction_id => '88',
    exclusion => 'restored'));
UPDATE iap.transactions SET excluded_at = test.days_ago(30) WHERE transaction_id IN ('86', '88', '89');
UPDATE iap.transactions AS t SET seal = audit.seal(t) WHERE transaction_id IN ('86', '88', '89');
SELECT test.close_books();
SELECT is(
    test.import(test.heard(
        id, product_id => 'full', original_transaction_id => original, purchased_at => test.days_ago(40))),
    1::bigint, 'a delivery that comes late: ' || id)
FROM (VALUES ('87', '86'), ('89', '88')) AS told (id, original);
SELECT is(test.run_as('iap_job', 'SELECT iap.carry_refunds(7, now())'), '2', 'takes the refund over');
SELECT set_eq(
    $$SELECT transaction_id || ' ' || coalesce(reason, place) || CASE WHEN refunded_at IS NOT NULL THEN ' and back' END
    FROM iap.transactions WHERE original_transaction_id IN ('86', '88')$$,
    ARRAY['86 restored and back', '87 black and back', '88 restored and back', '89 black and back'],
    'which counts once');

-- What was delivered as another product than Apple had told of.
SELECT test.hear(test.heard('90', product_id => 'gems')), test.hear(test.heard('91', product_id => 'gems')),
    test.admit('92', '92', 'gems');
SELECT test.import(test.heard('90', product_id => 'coins')), test.import(test.heard('91', product_id => 'gems')),
    test.import(test.heard('92', product_id => 'coins'));
SELECT results_eq(
    $$SELECT transaction_id, finding, product_id FROM iap.unproved WHERE transaction_id IN ('90', '91', '92')$$,
    $$VALUES ('90' COLLATE "C", 'other_product', 'gems' COLLATE "C")$$, 'Apple''s word does not bear it out');

SELECT is(test.moved_tally(), test.white_tally(), 'the moves explain the white table');
SELECT is_empty('SELECT * FROM finance.unexplained', 'and the accounts of finance');
SELECT is_empty('SELECT * FROM test.misfits', 'every row fits its seal');
SELECT * FROM finish();
ROLLBACK;
