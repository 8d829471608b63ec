-- iap.purge_orders: what was opened and never paid goes after its time; what a case or evidence rests on stays.
BEGIN;
SELECT no_plan();

CREATE FUNCTION test.order(id text, whose text, days integer, product text DEFAULT 'gems') RETURNS void
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format(
        'SELECT iap.register_order(%L, %L, %L, %L, 1, NULL, now() - %L::interval)', 'com.example.a', id, whose, product,
        days || ' days'))
$$;
CREATE FUNCTION test.purge(days integer, most integer DEFAULT 100) RETURNS bigint
LANGUAGE sql AS $$
    SELECT test.run_as('iap_job', format(
        'SELECT iap.purge_orders(%L, now() - %L::interval, %L)', '2008-07-10', days || ' days', most))::bigint
$$;
CREATE FUNCTION test.left_orders() RETURNS text
LANGUAGE sql AS $$ SELECT string_agg(order_id, ' ' ORDER BY order_id) FROM iap.orders $$;

SELECT test.order('abandoned', 'ann', 200), test.order('again', 'ann', 200), test.order('young', 'ann', 20),
    test.order('uploaded', 'bob', 200), test.order('claimed', 'cid', 200), test.order('bought', 'dan', 200),
    test.order('of-case', 'eve', 200), test.order('of-owner', 'fay', 200, 'gold'), test.order('waiting', 'gus', 200);
SELECT test.submit(payload => 'x', user_id => 'hal', order_id => 'uploaded');
SELECT test.submit(payload => 'y', user_id => 'gus');
SELECT test.admit('1', user_id => NULL), test.admit('2', user_id => NULL), test.admit('3', user_id => NULL),
    test.admit('4', user_id => NULL);
SELECT test.claim('1', 'cid', 'claimed'), test.claim('2', 'dan');
UPDATE iap.transactions SET purchased_at = now() - interval '199 days' WHERE transaction_id = '2';
SELECT test.open_case('3', '{zoe}'), test.open_case('4', '{fay}');
UPDATE iap.cases SET order_ids = '{of-case}' WHERE transaction_id = '3';

SELECT is(
    test.run_as('iap_job', $$SELECT orders FROM iap.count_unpaid_orders(now() - interval '90 days')$$), '2',
    'two would go');
SELECT is(test.purge(90, 1), 1::bigint, 'so many at most');
SELECT is(test.purge(90), 1::bigint, 'and then the other');
SELECT is(test.purge(90), 0::bigint, 'once');
SELECT is(
    test.left_orders(), 'bought claimed of-case of-owner uploaded waiting young',
    'what is young, paid, named or open stays');
-- Whose token what is owed bears, which nothing else names its customer by.
SELECT test.run_as('iap_app', $$
    SELECT iap.register_order(
        'com.example.a', 'of-token', 'ivy', 'gems', 1, 'c1e36e35-58f5-5e6e-b9c0-16ca7763f906',
        now() - interval '200 days')$$);
SELECT test.hear(test.heard('5', product_id => 'gold', app_account_token => 'c1e36e35-58f5-5e6e-b9c0-16ca7763f906'));
SELECT is(test.purge(90), 0::bigint, 'an order whose token is of what is owed stays');
SELECT is(test.claim('5', 'mallory'), 'wrong_user', 'so that nobody else claims it');
SELECT is(test.claim('5', 'ivy'), 'delivered', 'but its user');
SELECT is(test.purge(90), 1::bigint, 'and then it goes');
SELECT results_eq(
    $$SELECT orders, purged FROM finance.unpaid_orders ORDER BY day$$, $$VALUES (3::bigint, 3::bigint), (1, 0)$$,
    'finance counts all that were never paid');
SELECT test.order('abandoned', 'ann', 200);
SELECT results_eq(
    $$SELECT orders, purged FROM finance.unpaid_orders ORDER BY day$$, $$VALUES (3::bigint, 3::bigint), (1, 0)$$,
    'and none twice that a source tells of again');
SELECT is(test.purge(90), 1::bigint, 'nor when it goes again');
SELECT results_eq(
    $$SELECT orders, purged FROM finance.unpaid_orders ORDER BY day$$, $$VALUES (3::bigint, 3::bigint), (1, 0)$$,
    'which it does each night');
UPDATE iap.cases SET state = 'closed', closed_at = now(), closed_as = 'dismissed', closed_by = 'sue';
SELECT is(test.purge(90), 2::bigint, 'when a case is closed, its orders go');
SELECT test.is_denied('iap_app', $$SELECT iap.purge_orders('2008-07-10', now(), 1)$$);
SELECT test.is_denied('iap_finance', $$SELECT iap.purge_orders('2008-07-10', now(), 1)$$);

-- What is owed to their user, as far as their server admitted it.
SELECT test.order('of-admitted', 'kay', 200);
SELECT test.admit('15', user_id => 'kay');
UPDATE iap.transactions SET purchased_at = now() - interval '300 days' WHERE transaction_id = '15';
SELECT is(test.purge(90), 0::bigint, 'an order of whom anything is owed to stays');
SELECT is(test.claim('15', 'kay'), 'delivered', 'until it is delivered');
SELECT is(test.purge(90), 1::bigint, 'and goes then');

-- What was paid with its token, and dismissed or refunded, may be owed again.
SELECT test.run_as('iap_app', format(
    'SELECT iap.register_order(%L, %L, %L, %L, 1, %L, now() - %L::interval)', 'com.example.a', 'of-' || product, 'lou',
    product, 'f0a1b2c3-58f5-5e6e-b9c0-16ca7763f907', '200 days'))
FROM unnest(ARRAY['gems', 'gold', 'full']) AS product;
SELECT test.hear(test.heard(
    id, product_id => product, exclusion => exclusion, refunded_at => CASE exclusion WHEN 'refunded' THEN now() END,
    purchased_at => now() - interval '199 days', app_account_token => 'f0a1b2c3-58f5-5e6e-b9c0-16ca7763f907'))
FROM (VALUES ('20', 'gems', NULL), ('21', 'gold', 'refunded')) AS told (id, product, exclusion);
SELECT test.resolve('20', 'dismissed');
SELECT is(test.purge(90), 1::bigint, 'one order of theirs was never paid');
SELECT is(test.reopen('20'), 'reopened', 'what another paid is owed again');
SELECT is(test.hear(test.heard('21', 'server_api', product_id => 'gold', verified_at => now() + interval '2 days')),
    'white', 'and what a third did');
SELECT is(test.claim(id, 'mallory'), 'wrong_user', id || ' to nobody else') FROM unnest(ARRAY['20', '21']) AS id;
SELECT is(test.claim(id, 'lou'), 'delivered', id || ' to its user') FROM unnest(ARRAY['20', '21']) AS id;

-- So may what the desk, or a grant, delivered to somebody else by mistake, of whom finance is told as long.
SELECT test.purge(90);
SELECT test.run_as('iap_app', format(
    'SELECT iap.register_order(%L, %L, %L, %L, 1, %L, now() - %L::interval)', 'com.example.a', 'of-' || product, 'max',
    product, 'f0a1b2c3-58f5-5e6e-b9c0-16ca7763f908', '200 days'))
FROM unnest(ARRAY['ring', 'full']) AS product;
SELECT test.hear(test.heard(
    id, product_id => product, purchased_at => now() - interval '199 days',
    product_type => CASE product WHEN 'full' THEN 'non_consumable' ELSE 'consumable' END,
    app_account_token => 'f0a1b2c3-58f5-5e6e-b9c0-16ca7763f908'))
FROM (VALUES ('30', 'ring'), ('31', 'full')) AS told (id, product);
SELECT test.run_as('iap_support', $$
    SELECT iap.resolve('30', 'delivered', 'sue', 'to whom?', user_id => 'mallory', is_unknown_user => true)$$);
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', '31', 'mallory', 'infinity')$$);
SELECT is((SELECT count(*) FROM iap.black WHERE user_id = 'mallory'), 2::bigint, 'two go to somebody else');
SELECT is(test.purge(90), 0::bigint, 'whose orders stay their user''s');
SELECT set_eq(
    'SELECT transaction_id, likely_bought_by, evidence FROM finance.misdeliveries',
    $$VALUES ('31' COLLATE "C", 'max', 'token')$$, 'as finance is told');
SELECT is(test.reopen('30'), 'reopened', 'one is taken back');
SELECT test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', '31', '2010-01-01')$$);
SELECT is(test.claim(id, 'mallory'), 'wrong_user', id || ' is not theirs') FROM unnest(ARRAY['30', '31']) AS id;
SELECT is(test.claim(id, 'max'), 'delivered', id || ' is its buyer''s') FROM unnest(ARRAY['30', '31']) AS id;

-- Two apps may call their orders alike.
SELECT test.order('A-1', 'jon', 200), test.order('A-2', 'jon', 200, 'gold');
SELECT test.submit(payload => 'z', user_id => 'kim', order_id => 'A-1', bundle_id => 'com.example.z'),
    test.submit(payload => 'w', user_id => 'kim', order_id => 'A-2');
SELECT is(
    (SELECT string_agg(order_id, ' ') FROM iap.unpaid_orders WHERE user_id = 'jon'), 'A-1',
    'an upload for another app''s order leaves it unpaid, and one for it does not');
-- And their users; who buys something else, or at another time, did not pay for it.
SELECT test.run_as('iap_app', $$
    SELECT iap.register_order(
        'com.example.a', 'A-3', 'jon', 'gold', 1, 'f0a1b2c3-58f5-5e6e-b9c0-16ca7763f909',
        now() - interval '200 days')$$);
SELECT test.admit(id, product_id => product, user_id => 'jon', bundle_id => app)
FROM (
    VALUES
        ('40', 'gems', 'com.example.z'), ('41', 'gems', 'com.example.z'), ('42', 'gold', 'com.example.z'),
        ('43', 'ring', 'com.example.a'), ('44', 'gems', 'com.example.a'), ('45', 'gems', 'com.example.a')
) AS bought (id, product, app);
SELECT test.run_as('iap_app', $$SELECT iap.claim('com.example.z', '40', 'jon', 'A-1')$$),
    test.claim('43', 'jon'), test.claim('44', 'jon'), test.claim('45', 'jon');
SELECT test.submit(payload => 'of jon elsewhere', user_id => 'jon', bundle_id => 'com.example.z');
SELECT test.open_case('41', '{jon}');
UPDATE iap.cases SET bundle_id = 'com.example.z', order_ids = '{A-1}' WHERE transaction_id = '41';
UPDATE iap.transactions
SET app_account_token = CASE bundle_id WHEN 'com.example.z' THEN 'f0a1b2c3-58f5-5e6e-b9c0-16ca7763f909' END,
    purchased_at = now() - CASE transaction_id WHEN '44' THEN 231 WHEN '45' THEN 169 ELSE 199 END * interval '1 day'
WHERE transaction_id IN ('40', '41', '42', '43', '44', '45');
SELECT test.resolve('42', 'dismissed');
SELECT is(
    (SELECT string_agg(order_id, ' ' ORDER BY order_id) FROM iap.unpaid_orders WHERE user_id = 'jon'), 'A-1 A-3',
    'nor does anything else of another app, of another product or of another time pay for one');
UPDATE iap.transactions SET purchased_at = now() - interval '171 days' WHERE transaction_id = '45';
SELECT is(
    (SELECT string_agg(order_id, ' ') FROM iap.unpaid_orders WHERE user_id = 'jon'), 'A-3',
    'within thirty days it does');

-- Each of these alone keeps an order: a claim that was refused, a delivery that names it, a receipt that is still asked
-- about, a case whose likely owners its user is one of. A receipt that is done with does not.
SELECT test.order('B-claimed', 'ned', 200), test.order('B-delivered', 'oda', 200), test.order('B-asked', 'pia', 200),
    test.order('B-done', 'quo', 200), test.order('B-owner', 'rex', 200, 'gold');
SELECT is(test.claim('unheard-of', 'ned', 'B-claimed'), 'not_verified', 'what nobody knows is refused');
SELECT test.admit(id, user_id => NULL) FROM unnest(ARRAY['50', '51']) AS id;
SELECT test.resolve('50', 'delivered');
UPDATE iap.transactions SET order_id = 'B-delivered' WHERE transaction_id = '50';
SELECT test.submit(payload => 'of pia', user_id => 'pia'), test.submit(payload => 'of quo', user_id => 'quo');
UPDATE iap.receipts SET state = 'settled', next_attempt_at = NULL, verified_at = now() WHERE user_id = 'quo';
SELECT test.open_case('51', '{sam,rex}');
SELECT results_eq(
    $$SELECT order_id FROM iap.unpaid_orders WHERE order_id LIKE 'B-%' ORDER BY order_id$$, $$VALUES ('B-done')$$,
    'what may still be paid, or names an order, keeps it');

-- A purchase pays for what was opened up to thirty days before and after it, by its user as by its token, whoever
-- claimed it; and not without either.
SELECT test.run_as('iap_app', format(
    'SELECT iap.register_order(%L, %L, %L, %L, 1, %L, now() - %L::interval)', 'com.example.a', 'C-' || name,
    'uma-' || name, 'pot', md5(name)::uuid, '200 days'))
FROM unnest(ARRAY['before', 'after', 'too-early', 'too-late', 'claimed', 'of-nobody', 'user-before', 'user-after'])
    AS name;
SELECT test.hear(test.heard(
    'C-' || name, product_id => 'pot', purchased_at => now() - hours * interval '1 hour',
    app_account_token => CASE WHEN name NOT LIKE 'user-%' AND name <> 'of-nobody' THEN md5(name)::uuid::text END))
FROM (
    VALUES
        ('before', 230 * 24 - 1), ('after', 170 * 24 + 1), ('too-early', 230 * 24 + 1), ('too-late', 170 * 24 - 1),
        ('claimed', 200 * 24), ('of-nobody', 200 * 24), ('user-before', 230 * 24 - 1), ('user-after', 170 * 24 + 1)
) AS bought (name, hours);
SELECT test.resolve('C-' || name, 'dismissed')
FROM unnest(ARRAY['before', 'after', 'too-early', 'too-late', 'of-nobody']) AS name;
SELECT is(test.claim('C-claimed', 'uma-claimed'), 'delivered', 'one is claimed');
UPDATE iap.transactions SET user_id = 'vic' WHERE transaction_id = 'C-claimed';
SELECT is(test.claim('C-' || name, 'uma-' || name), 'delivered', name)
FROM unnest(ARRAY['user-before', 'user-after']) AS name;
SELECT results_eq(
    $$SELECT order_id FROM iap.unpaid_orders WHERE order_id LIKE 'C-%' ORDER BY order_id$$,
    $$VALUES ('C-of-nobody'), ('C-too-early'), ('C-too-late')$$,
    'what was paid about then keeps an order');
SELECT results_eq(
    $$SELECT delivered_to, likely_bought_by FROM finance.misdeliveries WHERE transaction_id = 'C-claimed'$$,
    $$VALUES ('vic', 'uma-claimed')$$, 'and tells who paid for what another user claimed');

-- Years of orders, the young ones where old ones have gone: a night looks at those of its days alone.
INSERT INTO iap.orders (bundle_id, order_id, user_id, product_id, created_at)
SELECT 'com.example.years', 'years-' || number, 'pat', 'gems', now() - (100 + number * 37 % 1000) * interval '1 day'
FROM generate_series(1, 4000) AS number;
ANALYZE iap.orders;
SET LOCAL enable_seqscan = off;
SELECT cmp_ok(
    test.rows_read_by(
        'iap.orders', $$SELECT iap.purge_orders(now() - interval '140 days', now() - interval '139 days', 1000)$$,
        'iap_job'),
    '<', 100::bigint, 'whatever lies beside them');
SELECT is(
    (SELECT count(*) FROM iap.orders WHERE bundle_id = 'com.example.years'), 3996::bigint, 'and takes them away');

-- Another app's order of the same name stays.
SELECT test.run_as('iap_app', format(
    'SELECT iap.register_order(%L, %L, %L, %L, 1, NULL, now() - %L::interval)', app, 'D-1', 'wes', 'gems', age))
FROM (VALUES ('com.example.a', '200 days'), ('com.example.z', '20 days')) AS opened (app, age);
SELECT test.purge(90, 10000);
SELECT results_eq(
    $$SELECT bundle_id FROM iap.orders WHERE order_id = 'D-1'$$, $$VALUES ('com.example.z' COLLATE "C")$$,
    'another app''s order is none that was never paid');
-- What was claimed or delivered since a night looked stays, too, and that of another app does not.
CREATE OR REPLACE VIEW iap.unpaid_orders AS
SELECT bundle_id, order_id, user_id, product_id, created_at FROM iap.orders;
SELECT test.purge(90, 10000);
SELECT results_eq(
    $$SELECT order_id FROM iap.orders WHERE bundle_id = 'com.example.a' ORDER BY 1$$,
    $$VALUES ('B-claimed'), ('B-delivered'), ('claimed'), ('young')$$, 'what names an order by now keeps it');

SELECT * FROM finish();
ROLLBACK;
