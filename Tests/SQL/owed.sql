-- iap.owed and iap.status: what is open for a user, by whatever names them, and what to tell the customer.
BEGIN;
SELECT no_plan();

CREATE FUNCTION test.owed(user_id text DEFAULT 'ann', app text DEFAULT 'com.example.a') RETURNS SETOF text
LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL ROLE iap_app;
    RETURN QUERY SELECT concat_ws(' ', transaction_id, order_ids::text, is_certain) FROM iap.owed(app, user_id);
    RESET ROLE;
END
$$;
CREATE FUNCTION test.status(transaction_id text, order_id text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    said text;
BEGIN
    SET LOCAL ROLE iap_app;
    SELECT concat_ws(' | ', place, case_state, tell) INTO said
    FROM iap.status('com.example.a', status.transaction_id, status.order_id);
    RESET ROLE;
    RETURN said;
END
$$;
CREATE FUNCTION test.withdraw() RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, iap, pg_temp AS $$
DECLARE
    withdrawn bigint;
BEGIN
    SET LOCAL ROLE iap_job;
    withdrawn := iap.withdraw_all_restored(7, now(), 10);
    RESET ROLE;
    RETURN withdrawn;
END
$$;
CREATE FUNCTION test.ordered(order_id text, user_id text, token text DEFAULT NULL, opened timestamptz DEFAULT now())
RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format(
        'SELECT iap.register_order(%L, %L, %L, %L, 1, %L, %L)', 'com.example.a', order_id, user_id, 'gems', token,
        opened))
$$;

-- By an admission.
SELECT is_empty($$SELECT test.owed()$$, 'nothing is owed where nothing was bought');
SELECT test.admit('100', quantity => 3);
SELECT is(
    test.run_as('iap_app', $$SELECT count(*) FROM iap.owed('com.example.a', 'ann')
        WHERE (transaction_id, product_id, quantity, purchased_at) = ('100', 'gems', 3, now())$$),
    '1', 'what is bought, how many and when');
SELECT results_eq($$SELECT test.owed()$$, $$VALUES ('100 {} t')$$, 'what was admitted for a user is theirs');
SELECT is_empty($$SELECT test.owed('bob')$$, 'and nobody else''s');
SELECT is_empty($$SELECT test.owed(app => 'com.example.b')$$, 'nor another app''s');
SELECT is(test.status('100'), 'white | paid, being delivered', 'it is paid');
SELECT test.open_case('100', '{ann}');
SELECT is(test.status('100'), 'white | open | paid, being delivered', 'with a case');
SELECT is(test.claim('100'), 'delivered', 'the app''s server claims it');
SELECT is_empty($$SELECT test.owed()$$, 'and owes it no more');
SELECT is(test.status('100'), 'black | closed | delivered', 'which the customer may hear');

-- By a token, registered with an order or by itself.
SELECT test.ordered('order-1', 'ann', 'c1e36e35-58f5-5e6e-b9c0-16ca7763f906');
SELECT test.run_as('iap_app', $$
    SELECT iap.register_user('com.example.a', 'bob', '62496054-a220-5c31-b232-92450941abac')$$);
SELECT test.hear(test.heard('110', app_account_token => 'c1e36e35-58f5-5e6e-b9c0-16ca7763f906'));
SELECT test.hear(test.heard('111', app_account_token => '62496054-a220-5c31-b232-92450941abac'));
SELECT results_eq($$SELECT test.owed()$$, $$VALUES ('110 {} t')$$, 'by the token of an order');
SELECT results_eq($$SELECT test.owed('bob')$$, $$VALUES ('111 {} t')$$, 'by the token of a user');

-- By an upload of a user's, or one that names their order.
SELECT test.submit('a receipt', 'carol', '120', NULL) AS receipt \gset
SELECT is(test.status('120'), 'waiting for Apple', 'what is uploaded waits for Apple');
SELECT test.record(ARRAY[test.heard('120')], ARRAY[test.seen(:receipt, 'carol')]);
SELECT results_eq($$SELECT test.owed('carol')$$, $$VALUES ('120 {} t')$$, 'by who uploaded it for its own sake');
SELECT test.submit('a shared receipt', 'dave', '121') AS receipt \gset
SELECT test.record(ARRAY[test.heard('122')], ARRAY[test.seen(:receipt, 'dave', is_named => false)]);
SELECT results_eq($$SELECT test.owed('dave')$$, $$VALUES ('122 {} f')$$, 'what only rode along is not certain');
-- Nor by a token that an account of another app has.
SELECT test.run_as('iap_app', $$
    SELECT iap.register_user('com.example.z', 'dave', '62496054-a220-5c31-b232-92450941ab01')$$);
SELECT test.run_as('iap_app', $$
    SELECT iap.register_order('com.example.z', 'order-z', 'dave', 'gems', 1, '62496054-a220-5c31-b232-92450941ab02')$$);
SELECT test.record(
    ARRAY[
        test.heard('123', app_account_token => '62496054-a220-5c31-b232-92450941ab01'),
        test.heard('124', app_account_token => '62496054-a220-5c31-b232-92450941ab02')],
    ARRAY(SELECT test.seen(:receipt, 'dave', is_named => false, number => n) FROM generate_series(1, 2) AS n));
SELECT results_eq(
    $$SELECT test.owed('dave')$$, $$VALUES ('122 {} f'), ('123 {} f'), ('124 {} f')$$, 'whatever token it bears there');
SELECT test.ordered('order-2', 'erin');
SELECT test.submit('another receipt', NULL, '130', 'order-2') AS receipt \gset
SELECT is(test.status(NULL, 'order-2'), 'waiting for Apple', 'an order waits with the upload that names it');
SELECT test.record(ARRAY[test.heard('130')], ARRAY[test.seen(:receipt, NULL, 'order-2')]);
SELECT results_eq($$SELECT test.owed('erin')$$, $$VALUES ('130 {order-2} t')$$,
    'by the order that it was uploaded with');
SELECT test.record(ARRAY[test.heard('131')], ARRAY[test.seen(:receipt, NULL, is_named => false)]);
SELECT results_eq(
    $$SELECT test.owed('erin')$$, $$VALUES ('130 {order-2} t'), ('131 {} f')$$, 'and what rode along, not for certain');
SELECT is_empty($$SELECT test.owed('zoe')$$, 'but for nobody else');
SELECT is(test.status(NULL, 'order-2'), 'white | paid, being delivered', 'which is paid');
SELECT is(test.claim('130', 'erin', 'order-2'), 'delivered', 'it is claimed for the order');
SELECT is(test.status(NULL, 'order-2'), 'black | delivered', 'which is delivered');

-- Uploaded again with its order, and admitted again by that.
SELECT test.admit('135', user_id => 'olga', receipt_id => test.submit('retried', 'olga', '135'));
SELECT results_eq($$SELECT test.owed('olga')$$, $$VALUES ('135 {} t')$$, 'uploaded without its order');
SELECT is(
    test.admit('135', user_id => 'olga', receipt_id => test.submit('retried', 'olga', '135', 'order-13')),
    'already_white', 'and with it');
SELECT results_eq($$SELECT test.owed('olga')$$, $$VALUES ('135 {order-13} t')$$, 'it is offered for that');
SELECT is(test.status(NULL, 'order-13'), 'white | paid, being delivered', 'which is paid');

-- Beside what was delivered before, and rode along.
SELECT test.admit('881', user_id => 'pia'), test.claim('881', 'pia'), test.ordered('order-beside', 'pia');
SELECT test.submit('beside', 'pia', '880', 'order-beside') AS receipt \gset
SELECT test.record(
    ARRAY[test.heard('880'), test.heard('881')],
    ARRAY[
        test.seen(:receipt, 'pia', 'order-beside'),
        test.seen(:receipt, 'pia', 'order-beside', is_named => false, number => 2)]);
SELECT is(
    test.status(NULL, 'order-beside'), 'white | paid, being delivered',
    'an order is as the purchase that was uploaded for it, whatever the receipt holds beside it');
SELECT is(test.claim('880', 'pia', 'order-beside'), 'delivered', 'and claimed for it');

-- Matched by the night, and delivered by who names no order.
SELECT test.ordered(id, 'otto', opened => now() - interval '3 days')
FROM unnest(ARRAY['order-14', 'order-15', 'order-16']) AS id;
SELECT test.admit(id, user_id => 'otto'), test.open_case(id, '{otto}') FROM unnest(ARRAY['136', '137']) AS id;
UPDATE iap.cases SET order_ids = '{order-14,order-15}' WHERE transaction_id = '136';
UPDATE iap.cases SET order_ids = '{order-16}' WHERE transaction_id = '137';
SELECT is(test.status(NULL, 'order-14'), 'white | open | paid, being delivered', 'an order that the night matched');
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', '136', 'otto', 'infinity')$$);
SELECT is(test.status(NULL, 'order-14'), 'black | closed | delivered', 'is delivered by a grant');
SELECT is(test.status(NULL, 'order-15'), 'not paid', 'which the less likely one is not');
SELECT test.run_as('iap_support', $$SELECT iap.resolve('137', 'delivered', 'sue', 'by hand', user_id => 'otto')$$);
SELECT is(test.status(NULL, 'order-16'), 'black | closed | delivered', 'or by the desk');
SELECT test.ordered(id, 'otto', opened => now() - interval '3 days')
FROM unnest(ARRAY['order-19', 'order-20']) AS id;
SELECT test.admit('139', user_id => 'otto'), test.open_case('139', '{otto}');
UPDATE iap.cases SET order_ids = '{order-19}' WHERE transaction_id = '139';
SELECT is(test.claim('139', 'otto', 'order-20'), 'delivered', 'delivered for another order than the night matched');
SELECT is(test.status(NULL, 'order-19'), 'not paid', 'is not for both');
SELECT test.ordered('order-22', 'otto', opened => now() - interval '3 days'), test.admit('194', user_id => NULL),
    test.open_case('194', '{otto}');
UPDATE iap.cases SET order_ids = '{order-22}' WHERE transaction_id = '194';
SELECT is(test.claim('194', 'olaf'), 'delivered', 'and what is delivered to another user than it was matched for');
SELECT is(test.status(NULL, 'order-22'), 'not paid', 'says nothing of the order');
SELECT is(
    test.admit('138', user_id => 'otto', receipt_id => test.submit('of its own', 'otto', '138', 'order-16')), 'white',
    'what is uploaded with an order');
SELECT is(test.status(NULL, 'order-16'), 'white | paid, being delivered', 'goes before what was matched with it');

-- Two who may have paid; a case looks at more than a claim does.
SELECT test.admit('140', user_id => 'ann');
SELECT test.hear(test.heard('140', app_account_token => '62496054-a220-5c31-b232-92450941abac'));
SELECT results_eq(
    $$SELECT test.owed()$$, $$VALUES ('110 {} t'), ('140 {} f')$$, 'what contradicts itself is certain for nobody');
SELECT results_eq($$SELECT test.owed('bob')$$, $$VALUES ('111 {} t'), ('140 {} f')$$, 'of either');
SELECT test.admit('141', user_id => NULL);
SELECT test.open_case('141', '{frank}');
SELECT results_eq(
    $$SELECT test.owed('frank')$$, $$VALUES ('141 {} t')$$, 'where only the night knows of a user, its case says so');
SELECT test.admit('142', user_id => NULL);
INSERT INTO iap.cases
SELECT (jsonb_populate_record(cases, '{"transaction_id": "142", "bundle_id": "com.example.b"}')).*
FROM iap.cases WHERE transaction_id = '141';
SELECT results_eq($$SELECT test.owed('frank')$$, $$VALUES ('141 {} t')$$, 'another app''s case says nothing');
UPDATE iap.cases SET reasons = '{owner_uncertain}' WHERE transaction_id = '141';
SELECT results_eq($$SELECT test.owed('frank')$$, $$VALUES ('141 {} f')$$, 'and how sure it is');
UPDATE iap.cases SET owner_user_ids = '{frank,gina}' WHERE transaction_id = '141';
SELECT results_eq($$SELECT test.owed('gina')$$, $$VALUES ('141 {} f')$$, 'of two neither');
INSERT INTO iap.cases
SELECT (jsonb_populate_record(cases, jsonb_build_object('environment', 'Sandbox', 'order_ids', ARRAY['order-8']))).*
FROM iap.cases WHERE transaction_id = '141';
UPDATE iap.cases SET order_ids = '{order-1,order-9,order-2}'
WHERE transaction_id = '141' AND environment = 'Production';
SELECT results_eq(
    $$SELECT test.owed('gina')$$, $$VALUES ('141 {order-9} f')$$,
    'no order of another user''s, nor one that is served');

-- What was granted and taken back is certain once Apple has said it again; whatever else the user bought is.
SELECT test.admit(id, user_id => 'quin') FROM unnest(ARRAY['195', '196', '197']) AS id;
SELECT test.hear(test.heard(id, verified_at => now() - interval '1 hour'))
FROM unnest(ARRAY['195', '196', '197']) AS id;
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', '195', 'quin', 'infinity')$$);
SELECT test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', '195')$$);
SELECT test.resolve('196', 'dismissed'), test.reopen('196');
SELECT results_eq(
    $$SELECT test.owed('quin')$$, $$VALUES ('195 {} f'), ('196 {} t'), ('197 {} t')$$,
    'what is taken back was mostly refunded; what the desk opened again was not');

-- A case that is closed says nothing of what is owed again since.
SELECT test.admit('198', user_id => 'rosa'), test.open_case('198', '{rosa,saul}');
UPDATE iap.cases SET order_ids = '{order-21}' WHERE transaction_id = '198';
SELECT results_eq($$SELECT test.owed('rosa')$$, $$VALUES ('198 {order-21} f')$$, 'of two, as its case says');
UPDATE iap.cases SET state = 'closed', closed_at = now(), closed_as = 'withdrawn', closed_by = 'run 7'
WHERE transaction_id = '198';
SELECT results_eq($$SELECT test.owed('rosa')$$, $$VALUES ('198 {} t')$$, 'of one, once that is closed');
SELECT is_empty($$SELECT test.owed('saul')$$, 'and not of the other');
SELECT test.admit('199', user_id => NULL), test.open_case('199', '{saul}');
SELECT results_eq($$SELECT test.owed('saul')$$, $$VALUES ('199 {} t')$$, 'what only a case names a user of');
UPDATE iap.cases SET state = 'closed', closed_at = now(), closed_as = 'withdrawn', closed_by = 'run 7'
WHERE transaction_id = '199';
SELECT is_empty($$SELECT test.owed('saul')$$, 'is nobody''s once that is closed');

-- An order that the desk delivered another purchase for is used, and one is offered for one purchase.
SELECT test.ordered('order-5', 'lena'), test.ordered('order-6', 'lena');
SELECT test.submit('first of lena', 'lena', '180', 'order-5') AS first,
    test.submit('second of lena', 'lena', '181', 'order-5')
    AS second \gset
SELECT test.record(ARRAY[test.heard('180'), test.heard('181')],
    ARRAY[test.seen(:first, 'lena', 'order-5'), test.seen(:second, 'lena', 'order-5', number => 2)]);
SELECT test.open_case('181', '{lena}');
UPDATE iap.cases SET order_ids = '{order-5,order-6}' WHERE transaction_id = '181';
SELECT results_eq(
    $$SELECT test.owed('lena')$$, $$VALUES ('180 {order-5} t'), ('181 {order-6} t')$$,
    'the second is offered what is left');
UPDATE iap.cases SET order_ids = '{}' WHERE transaction_id = '181';
SELECT results_eq(
    $$SELECT test.owed('lena')$$, $$VALUES ('180 {order-5} t'), ('181 {} t')$$, 'or none');
SELECT is(
    test.run_as('iap_support', $$
        SELECT iap.resolve('180', 'delivered', 'sue', 'by hand', user_id => 'lena', order_id => 'order-5')$$),
    'delivered', 'the desk delivers the first for its order');
SELECT results_eq($$SELECT test.owed('lena')$$, $$VALUES ('181 {} t')$$, 'for which the other can''t be claimed');
SELECT is(test.claim('181', 'lena', 'order-5'), 'order_used', 'as a claim would say');
SELECT is(test.claim('181', 'lena'), 'delivered', 'but it is owed');
SELECT test.admit('182', user_id => 'lena'), test.open_case('182', '{lena}'),
    test.admit('183', bundle_id => 'com.example.b'),
    test.run_as('iap_app', $$SELECT iap.claim('com.example.b', '183', 'ann', 'order-6')$$);
UPDATE iap.cases SET order_ids = '{order-6}' WHERE transaction_id = '182';
SELECT results_eq(
    $$SELECT test.owed('lena')$$, $$VALUES ('182 {order-6} t')$$, 'another app''s order of that id is another one');
-- What rode along with an order's upload is none of the order's.
SELECT test.submit('of mona', 'mona', '186', 'order-18') AS receipt \gset
SELECT test.record(ARRAY[test.heard('186'), test.heard('187')],
    ARRAY[test.seen(:receipt, 'mona', 'order-18'), test.seen(:receipt, 'mona', is_named => false, number => 2)]);
SELECT is(test.claim('187', 'mona'), 'delivered', 'what else the receipt holds is delivered');
SELECT is(test.status(NULL, 'order-18'), 'white | paid, being delivered', 'and the order is not');
-- Nor is what Apple told of when it was asked about the upload, unless the upload holds no purchase.
SELECT test.ordered('order-held', 'nora'), test.ordered('order-none', 'nora');
SELECT test.submit('of nora', 'nora', NULL, 'order-held') AS held, test.submit('an app''s', 'nora', NULL, 'order-none')
    AS none \gset
SELECT test.record(
    ARRAY[test.heard('told-1', 'server_api'), test.heard('held-1'), test.heard('told-2', 'server_api')],
    ARRAY[
        jsonb_populate_record(test.seen(:held, 'nora', 'order-held', false), '{"in_receipt": false}'),
        test.seen(:held, 'nora', 'order-held', false, number => 2),
        jsonb_populate_record(test.seen(:none, 'nora', 'order-none', false, number => 3), '{"in_receipt": false}')]);
SELECT results_eq(
    $$SELECT test.owed('nora')$$, $$VALUES ('held-1 {order-held} f'), ('told-1 {} f'), ('told-2 {order-none} f')$$,
    'what Apple told of besides is not offered an order that the upload''s own purchase was uploaded for');

-- But the renewals of a subscription may all name the order by which it was bought.
SELECT test.submit('first of lola', 'lola', '184', 'order-17') AS first,
    test.submit('second of lola', 'lola', '185', 'order-17') AS second \gset
SELECT test.record(
    ARRAY[
        test.heard('184', product_id => 'pass', product_type => 'auto_renewable'),
        test.heard('185', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => '184')],
    ARRAY[test.seen(:first, 'lola', 'order-17'), test.seen(:second, 'lola', 'order-17', number => 2)]);
SELECT results_eq(
    $$SELECT test.owed('lola')$$, $$VALUES ('184 {order-17} t'), ('185 {order-17} t')$$, 'each is offered it');
SELECT is(test.claim(id, 'lola', 'order-17'), 'delivered', id || ' is delivered for it')
FROM unnest(ARRAY['184', '185']) AS id;

-- What is refunded, dismissed, or delivered under another id is not owed.
SELECT test.admit('150', user_id => 'hank'), test.admit('151', user_id => 'hank');
SELECT test.exclude('150', 'refunded'), test.resolve('151', 'dismissed');
SELECT is_empty($$SELECT test.owed('hank')$$, 'neither a refund nor what the desk dismissed');
SELECT is(test.status('150'), 'excluded | not paid', 'the money went back');
SELECT is(test.status('151'), 'excluded | unknown', 'what the desk dismissed only the desk can tell of');
SELECT test.hear(test.heard('d-1', product_id => 'full')), test.hear(test.heard(
    'd-2', product_id => 'full', original_transaction_id => 'd-1', exclusion => 'restored'));
SELECT test.resolve('d-1', 'dismissed');
SELECT is(test.status('d-2'), 'excluded | unknown', 'so also by an id under which it was restored');
SELECT test.reopen('d-1'), test.resolve('d-1', 'refunded');
SELECT is(test.status('d-2'), 'excluded | not paid', 'but of what was refunded');
-- But what a company delivered under a third one is delivered: so also what was bought before the app's start.
SELECT test.hear(test.heard(
    'd-4', product_id => 'full', product_type => 'non_consumable', exclusion => 'before_start'));
SELECT test.import(test.heard(id, product_id => 'full', original_transaction_id => original))
FROM (VALUES ('d-3', 'd-1'), ('d-5', 'd-4')) AS told (id, original);
SELECT results_eq(
    $$SELECT id, test.status(id), iap.delivery_status('com.example.a', id) FROM unnest('{d-1,d-2,d-4}'::text[]) AS id$$,
    $$VALUES ('d-1', 'excluded | delivered', 'DELIVERED'), ('d-2', 'excluded | delivered', 'DELIVERED'),
        ('d-4', 'excluded | delivered', 'DELIVERED')$$,
    'nor is Apple told otherwise, which would give the money back');
SELECT test.admit('160', product_id => 'full', user_id => 'ida');
SELECT is(test.claim('160', 'ida'), 'delivered', 'a non-consumable');
SELECT test.hear(test.heard('161', product_id => 'full', original_transaction_id => '160'));
SELECT test.admit('161', user_id => 'ida');
SELECT is_empty($$SELECT test.owed('ida')$$, 'is owed once');
SELECT is(test.status('161'), 'white | delivered', 'is delivered under whatever id it is restored');

-- What nobody knows the type of, and whose original was delivered, may be the same purchase: a claim leaves it to
-- support.
SELECT test.admit('155', product_id => 'unheard.of', user_id => 'uma');
SELECT test.admit('156', '155', 'unheard.of', user_id => 'uma');
SELECT is(test.claim('155', 'uma'), 'delivered', 'one of two that share an original is delivered');
SELECT results_eq($$SELECT test.owed('uma')$$, $$VALUES ('156 {} f')$$, 'the other is owed, and not for certain');
SELECT is(test.status('156'), 'white | paid, being delivered', 'as the customer may hear');

-- Who handed in what was restored, or had it admitted for them, is owed the purchase under the id that stands for it.
SELECT test.submit('a restore of rob''s', 'rob', '1621') AS receipt \gset
SELECT test.hear(test.heard('1620', 'server_api', 'full', product_type => 'non_consumable'));
SELECT test.record(
    ARRAY[test.heard('1621', product_id => 'full', original_transaction_id => '1620', exclusion => 'restored')],
    ARRAY[test.seen(:receipt, 'rob')]);
SELECT results_eq($$SELECT test.owed('rob')$$, $$VALUES ('1620 {} t')$$, 'who uploaded what only Apple told of before');
SELECT is(test.claim('1620', 'zoe'), 'wrong_user', 'which is nobody else''s');
SELECT test.submit('a restore of roy''s', 'roy', '1631') AS receipt \gset
SELECT is(test.admit('1631', '1630', 'full', user_id => 'roy', receipt_id => :receipt), 'white', 'a restored purchase');
SELECT test.hear(test.heard('1630', 'server_api', 'full', product_type => 'non_consumable'));
SELECT results_eq($$SELECT test.owed('roy')$$, $$VALUES ('1631 {} t')$$, 'that was admitted is owed');
SELECT test.withdraw();
SELECT results_eq(
    $$SELECT test.owed('roy')$$, $$VALUES ('1630 {} t')$$, 'and stays owed when its original stands for it');
SELECT is(test.claim('1630', 'zoe'), 'wrong_user', 'to whom it was admitted for');
SELECT results_eq(
    $$SELECT user_id, is_named FROM iap.sightings WHERE transaction_id = '1630'$$, $$VALUES ('roy', true)$$,
    'who handed it in');
-- Of that purchase alone, and as the best that a receipt tells of any of its ids.
SELECT test.hear(test.heard(
    id, 'server_api', product, product_type => type, original_transaction_id => '1660', bundle_id => app,
    environment => environment, exclusion => exclusion, web_order_line_item_id => period))
FROM (
    VALUES
        ('1660', 'full', 'non_consumable', 'com.example.a', 'Production', NULL, NULL),
        ('1660b', 'full', 'non_consumable', 'com.example.b', 'Production', NULL, NULL),
        ('1660s', 'full', 'non_consumable', 'com.example.a', 'Sandbox', NULL, NULL),
        ('1661', 'gems', 'consumable', 'com.example.a', 'Production', NULL, NULL),
        ('1662', 'full', 'non_consumable', 'com.example.a', 'Production', 'before_start', NULL),
        ('1663', 'pass', 'auto_renewable', 'com.example.a', 'Production', NULL, 'w1'),
        ('1664', 'pass', 'auto_renewable', 'com.example.a', 'Production', NULL, 'w2')
) AS others (id, product, type, app, environment, exclusion, period);
SELECT test.hear(test.heard('1669', 'server_api', 'full', product_type => 'non_consumable'));
SELECT test.record(
    ARRAY[
        test.heard('1665', product_id => 'full', original_transaction_id => '1660', exclusion => 'restored'),
        test.heard('1666', product_id => 'full', original_transaction_id => '1660', exclusion => 'restored'),
        test.heard(
            '1667', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => '1660',
            exclusion => 'restored', web_order_line_item_id => 'w2')],
    ARRAY[
        ROW('{1}', 6400, 'sid', NULL, true, false, now())::iap.sighted,
        ROW('{2,3}', 6400, 'sid', 'order-of-sid', false, true, now())::iap.sighted]);
SELECT results_eq(
    $$SELECT transaction_id, bundle_id, environment, order_id, is_named, in_receipt FROM iap.sightings
    WHERE user_id = 'sid' AND transaction_id NOT IN ('1665', '1666', '1667') ORDER BY 1$$,
    $$VALUES
        ('1660' COLLATE "C", 'com.example.a' COLLATE "C", 'Production', 'order-of-sid', true, true),
        ('1664', 'com.example.a', 'Production', 'order-of-sid', false, true)$$,
    'what is owed is theirs who handed in what was restored of it, and nothing else');
SELECT test.hear(test.heard('1640', 'server_api', 'full', product_type => 'non_consumable')),
    test.hear(test.heard('1641', product_id => 'full', original_transaction_id => '1640', exclusion => 'restored'));
SELECT is(test.admit('1641', '1640', 'full', user_id => 'ron'), 'already_white', 'nor does it matter when');
SELECT results_eq($$SELECT test.owed('ron')$$, $$VALUES ('1640 {} t')$$, 'it is admitted');
SELECT test.admit('1650', product_id => 'full', user_id => 'ray'), test.admit('1651', '1650', 'full', user_id => 'rex');
SELECT results_eq($$SELECT test.owed('rex')$$, $$VALUES ('1651 {} f')$$, 'what may be another''s, under another id');
SELECT test.withdraw();
SELECT results_eq(
    format('SELECT test.owed(%L)', who), $$VALUES ('1650 {} f')$$,
    format('may be %s''s when one id stands for both', who))
FROM unnest(ARRAY['ray', 'rex']) AS who;
SELECT is(
    test.run_as('iap_privacy', $$SELECT iap.erase_user('rex', 'pat')$$)::jsonb -> 'open' ->> 0, '1650',
    'and so it is open while either is erased');

-- What nobody paid, and what nobody knows.
SELECT is(test.status('999'), 'unknown', 'nobody ever heard of it');
SELECT test.ordered('order-3', 'ann'), test.ordered('order-4', 'ann', opened => now() - interval '3 days');
SELECT is(test.status(NULL, 'order-3'), 'waiting for Apple', 'an order of today may be paid yet');
SELECT is(test.status(NULL, 'order-4'), 'not paid', 'one of three days ago was not');
SELECT is(test.status('', 'order-4'), 'not paid', 'and an empty text is none');
SELECT test.submit('an old receipt', 'ann', '170');
UPDATE iap.uploads SET first_uploaded_at = now() - interval '3 days', last_uploaded_at = now() - interval '3 days'
WHERE transaction_id = '170';
SELECT is(test.status('170'), 'waiting for Apple', 'an upload waits as long as it takes');
UPDATE iap.receipts SET state = 'watched', verified_at = now() WHERE transaction_id = '170';
SELECT is(test.status('170'), 'not paid', 'verified, and without it for days, it was not paid');
SELECT test.submit('a younger receipt', 'ann', '170');
CREATE FUNCTION test.uploaded(payload text, ago interval) RETURNS void
LANGUAGE sql AS $$
    UPDATE iap.uploads SET last_uploaded_at = now() - ago
    FROM iap.receipts
    WHERE receipts.bucket = uploads.bucket AND receipts.receipt_id = uploads.receipt_id AND receipts.payload = $1
$$;
SELECT test.uploaded('a younger receipt', '3 days');
SELECT is(test.status('170'), 'waiting for Apple', 'while any of its uploads waits, it does');
UPDATE iap.receipts SET state = 'watched', verified_at = now() WHERE transaction_id = '170';
SELECT test.uploaded('a younger receipt', '47 hours');
SELECT is(test.status('170'), 'waiting for Apple', 'or for two days after the last one');
SELECT test.uploaded('a younger receipt', '49 hours');
SELECT is(test.status('170'), 'not paid', 'and no longer');
SELECT test.submit('a receipt for an old order', 'ann', NULL, 'order-4');
UPDATE iap.receipts SET state = 'watched', verified_at = now() WHERE order_id = 'order-4';
SELECT is(test.status(NULL, 'order-4'), 'waiting for Apple', 'also where its order is older');
SELECT test.run_as('iap_app', $$SELECT iap.register_order('com.example.z', 'order-175', 'ann', 'gems')$$);
SELECT is(test.status(NULL, 'order-175'), 'unknown', 'another app''s order is none of this one''s');
-- Of all that was uploaded with an order what was delivered tells most, and least what is excluded.
SELECT test.ordered('order-176', 'una');
SELECT test.submit('uploaded with an order', 'una', NULL, 'order-176') AS receipt \gset
SELECT test.record(
    ARRAY[
        test.heard('176', purchased_at => now() - interval '3 hours'),
        test.heard('177', purchased_at => now() - interval '2 hours'),
        test.heard('178', purchased_at => now() - interval '1 hour')],
    ARRAY(SELECT test.seen(:receipt, 'una', 'order-176', number => number) FROM generate_series(1, 3) AS number));
SELECT test.open_case('176', '{una}'), test.resolve('176', 'dismissed');
SELECT is(test.status(NULL, 'order-176'), 'white | paid, being delivered', 'what is owed, though one was dismissed');
SELECT is(test.claim('178', 'una', 'order-176'), 'delivered', 'a later one is delivered');
SELECT is(test.status(NULL, 'order-176'), 'black | delivered', 'which the order was for');
SELECT test.exclude('179', 'before_start');
SELECT is(test.status('179'), 'excluded | unknown', 'of what was before the start nobody can say');
-- Who asks for a number means what was paid, and not what a tester had under it.
SELECT test.hear(test.heard('171', environment => 'Sandbox')),
    test.hear(test.heard('171', exclusion => 'family_shared'));
SELECT test.open_case('171', '{ann}');
UPDATE iap.cases SET environment = 'Sandbox' WHERE transaction_id = '171';
SELECT is(test.status('171'), 'excluded | not paid', 'a number of both environments');
SELECT test.is_refused('iap_app', format('SELECT iap.status(%s)', arguments), '22023', '%a transaction or an order%',
    why)
FROM (
    VALUES
        ($$'com.example.a', '', ''$$, 'neither a transaction nor an order'),
        ($$'com.example.a', '1', 'order-1'$$, 'nor both')) AS call (arguments, why);
SELECT test.is_refused(
    'iap_app', $$SELECT iap.owed('com.example.a', '')$$, '22023', '%user_id%', 'nobody is owed nothing');

-- Where white was empty at the last ANALYZE, the index of all of an app's white costs the planner nothing, and a login
-- a look at everybody's.
CREATE FUNCTION test.plan_of_open() RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
    plan text := '';
BEGIN
    FOR line IN EXPLAIN SELECT * FROM iap.open_for('com.example.a', 'ann') LOOP
        plan := plan || line || E'\n';
    END LOOP;
    RETURN plan;
END
$$;
SET LOCAL enable_seqscan = off;
SELECT unalike(test.plan_of_open(), '%using transactions_white on%', 'a login looks at no other user''s purchases');
SELECT alike(test.plan_of_open(), '%transactions_white_by_admission%', 'but at those that were admitted for the user');
SELECT alike(test.plan_of_open(), '%transactions_white_by_token%', 'and at those that bear their token');

-- What was taken back, as a server does when Apple refunds: until Apple was asked, it is certain of nobody.
SELECT test.run_as('iap_app',
    format('SELECT iap.register_user(%L, %L, %L)', 'com.example.a', 'rita', 'b5c0f2c1-7d2c-4a35-9a52-3f54d0b7c111'));
SELECT test.record(ARRAY[test.heard(
    'revoked-1', product_id => 'pass', product_type => 'auto_renewable', source => 'server_api',
    app_account_token => 'b5c0f2c1-7d2c-4a35-9a52-3f54d0b7c111', verified_at => iap.present() - interval '1 day')]);
SELECT test.run_as('iap_app', format(
    'SELECT iap.entitle(%L, %L, %L, %L)', 'com.example.a', 'revoked-1', 'rita', iap.present() + interval '29 days'));
SELECT test.run_as('iap_app', format('SELECT iap.revoke_entitlement(%L, %L)', 'com.example.a', 'revoked-1'));
SELECT results_eq(
    $$SELECT transaction_id, is_certain FROM iap.owed('com.example.a', 'rita')$$, $$VALUES ('revoked-1', false)$$,
    'what the server took back is certain of nobody');
SELECT test.record(ARRAY[test.heard(
    'revoked-1', product_id => 'pass', product_type => 'auto_renewable', source => 'server_api',
    app_account_token => 'b5c0f2c1-7d2c-4a35-9a52-3f54d0b7c111', verified_at => iap.present() + interval '1 day')]);
SELECT results_eq(
    $$SELECT transaction_id, is_certain FROM iap.owed('com.example.a', 'rita')$$, $$VALUES ('revoked-1', true)$$,
    'until Apple was asked, and tells of no refund');
-- Of what only a signature tells, looking at that again is no word of Apple's.
CREATE FUNCTION test.hear_signed(signed_at timestamptz, looked_at timestamptz) RETURNS void LANGUAGE sql AS $$
    SELECT test.record(ARRAY[test.heard(
        'revoked-2', product_id => 'pass', product_type => 'auto_renewable', source => 'local',
        app_account_token => 'b5c0f2c1-7d2c-4a35-9a52-3f54d0b7c111', verified_at => signed_at,
        confirmed_at => looked_at)]);
$$;
SELECT test.hear_signed(iap.present() - interval '10 days', iap.present() - interval '1 day');
SELECT test.run_as('iap_app', format(
    'SELECT iap.entitle(%L, %L, %L, %L)', 'com.example.a', 'revoked-2', 'rita', iap.present() + interval '29 days'));
SELECT test.run_as('iap_app', format('SELECT iap.revoke_entitlement(%L, %L)', 'com.example.a', 'revoked-2'));
SELECT test.hear_signed(iap.present() - interval '10 days', iap.present() + interval '1 day');
SELECT results_eq(
    $$SELECT transaction_id, is_certain FROM iap.owed('com.example.a', 'rita') WHERE transaction_id = 'revoked-2'$$,
    $$VALUES ('revoked-2', false)$$, 'an old signature is no answer');
SELECT test.hear_signed(iap.present() + interval '1 hour', iap.present() + interval '1 day');
SELECT results_eq(
    $$SELECT transaction_id, is_certain FROM iap.owed('com.example.a', 'rita') WHERE transaction_id = 'revoked-2'$$,
    $$VALUES ('revoked-2', true)$$, 'one from afterwards is, the same night too');

-- Nor does it matter that the night had yet to write that it was granted.
SELECT test.run_as('iap_app', format(
    'SELECT iap.entitle(%L, %L, %L, %L)', 'com.example.a', 'revoked-3', 'ruth', 'infinity'));
SELECT test.admit('revoked-3', product_id => 'full', user_id => 'ruth');
SELECT is(test.status('revoked-3'), 'white | delivered', 'granted before anybody knew of it');
SELECT set_config('iap.present', (now() + interval '1 hour')::text, true);
SELECT test.run_as('iap_app', format('SELECT iap.revoke_entitlement(%L, %L)', 'com.example.a', 'revoked-3'));
SELECT results_eq(
    $$SELECT transaction_id, is_certain FROM iap.owed('com.example.a', 'ruth')$$, $$VALUES ('revoked-3', false)$$,
    'it is taken back, and certain of nobody');
SELECT test.record(ARRAY[test.heard(
    'revoked-3', product_id => 'full', source => 'server_api', verified_at => now() + interval '2 hours')]);
SELECT results_eq(
    $$SELECT transaction_id, is_certain FROM iap.owed('com.example.a', 'ruth')$$, $$VALUES ('revoked-3', true)$$,
    'until Apple was asked');
SELECT set_config('iap.present', '', true);

-- A tester's purchase of the same id says nothing of what was paid.
SELECT test.admit('190', environment => 'Sandbox', user_id => 'tess');
SELECT is(test.claim('190', 'tess'), 'delivered', 'a tester gets theirs');
SELECT test.admit('190');
SELECT is(test.status('190'), 'white | paid, being delivered',
    'and a customer of the same id does not hear that it is there');

-- Who has bought much was delivered much for no order: of an order of theirs that is matched with none, none of it
-- tells.
INSERT INTO iap.transactions
SELECT (jsonb_populate_record(
    t, jsonb_build_object(
        'transaction_id', 'much-' || number, 'original_transaction_id', 'much-' || number,
        'entry_id', nextval('iap.trail'), 'user_id', 'moe'))).*
FROM iap.transactions AS t CROSS JOIN generate_series(1, 2000) AS number
WHERE t.transaction_id = '136';
ANALYZE iap.transactions;
SELECT test.ordered('order-of-much', 'moe');
SELECT cmp_ok(
    test.rows_read_by('iap.transactions', $$SELECT test.status(NULL, 'order-of-much')$$), '<', 100::bigint,
    'so that none of it is read');

-- An erasure asks for each app that a table names: its collation must not keep a user's own orders from being found by
-- the index of users.
INSERT INTO iap.orders (bundle_id, order_id, user_id, product_id, app_account_token)
SELECT 'com.example.a', 'other-' || number, 'other-' || number, 'gems', md5(number::text)::uuid::text
FROM generate_series(1, 2000) AS number;
ANALYZE iap.orders;
SELECT cmp_ok(
    test.rows_read_by('iap.orders', format('SELECT %s FROM iap.products LIMIT 1', asked)), '<', 100::bigint, asked)
FROM unnest(ARRAY[
    $$iap.receipts_of(bundle_id, 'moe')$$,
    $$(SELECT count(*) FROM iap.open_for(bundle_id, 'moe'))$$,
    $$iap.is_own_token(bundle_id, '62496054-a220-5c31-b232-92450941abad', 'moe')$$,
    -- Whose a purchase's token is, is asked in the collation of the purchase's ids, whoever calls.
    $$(SELECT count(*) FROM iap.owners_by_token(bundle_id, '62496054-a220-5c31-b232-92450941abad'))$$,
    $$(SELECT tell FROM iap.status(bundle_id, order_id => 'order-of-much'))$$,
    $$iap.claim(bundle_id, '190', 'moe', 'order-of-much')$$]) AS asked;

-- A receipt that was uploaded for an order, without saying for which purchase, holds what was bought before, too.
SELECT test.record(ARRAY[test.heard('beside-old', product_id => 'ads')], ARRAY[test.seen(640064, 'bea')]),
    test.claim('beside-old', 'bea');
SELECT test.run_as('iap_app', $$SELECT iap.register_order('com.example.a', 'order-of-bea', 'bea', 'gems')$$);
SELECT test.submit('beside bea''s', 'bea', NULL, 'order-of-bea') AS receipt \gset
SELECT test.record(
    ARRAY[test.heard('beside-old', product_id => 'ads')],
    ARRAY[test.seen(:receipt, 'bea', 'order-of-bea', is_named => false)]);
SELECT is(
    test.status(NULL, 'order-of-bea'), 'waiting for Apple', 'what was delivered beside it is none of the order''s');
SELECT test.record(
    ARRAY[test.heard('beside-new')], ARRAY[test.seen(:receipt, 'bea', 'order-of-bea', is_named => false)]);
SELECT is(test.status(NULL, 'order-of-bea'), 'white | paid, being delivered', 'but what it may be for');
SELECT test.record(
    ARRAY[test.heard('beside-long', purchased_at => now() - interval '3 days')],
    ARRAY[test.seen(640192, 'bea')]), test.claim('beside-long', 'bea');
SELECT test.record(
    ARRAY[test.heard('beside-long', purchased_at => now() - interval '3 days')],
    ARRAY[test.seen(:receipt, 'bea', 'order-of-bea', is_named => false)]);
SELECT is(
    test.status(NULL, 'order-of-bea'), 'white | paid, being delivered',
    'nor what was bought long before it was opened');
SELECT * FROM finish();
ROLLBACK;
