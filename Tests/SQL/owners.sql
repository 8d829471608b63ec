-- Who may claim: token, order and admission decide; without these the first to hand it in; without anybody, anybody.
BEGIN;
SELECT no_plan();

-- Seen in receipts of users, one after the other: a batch of its own each, so that the later ones come later.
CREATE FUNCTION test.uploaded(
    transaction_id text, VARIADIC user_ids text[]
) RETURNS void
LANGUAGE sql AS $$
    SELECT test.record(
        ARRAY[test.heard(transaction_id)],
        ARRAY[test.seen(
            64 * place, user_id, is_named => place > 1, uploaded_at => now() + place * interval '1 minute')])
    FROM unnest(user_ids) WITH ORDINALITY AS upload (user_id, place)
$$;
CREATE FUNCTION test.ordered(order_id text, user_id text, token text DEFAULT NULL, app text DEFAULT 'com.example.a')
RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format(
        'SELECT iap.register_order(%L, %L, %L, %L, 1, %L)', app, order_id, user_id, 'gems', token))
$$;

SELECT test.ordered('order-of-ann', 'ann', 'c1e36e35-58f5-5e6e-b9c0-16ca7763f906'),
    test.ordered('order-of-bob', 'bob', '62496054-a220-5c31-b232-92450941abac'),
    test.ordered('order-of-carol', 'carol');

-- Nobody known.
SELECT test.uploaded('1', NULL);
SELECT is(test.claim('1', 'zoe'), 'delivered', 'where nobody is known, anybody may claim');

-- Without strong evidence: who handed it in first, whatever it was handed in for.
SELECT test.uploaded('2', 'ann', 'bob', 'carol');
SELECT is(test.claim('2', 'bob'), 'wrong_user', 'who uploads it later, and for it, is not the owner');
SELECT is(test.claim('2', 'carol'), 'wrong_user', 'nor is anybody after that');
SELECT is(test.claim('2', 'zoe'), 'wrong_user', 'nor somebody who never did');
SELECT is(test.claim('2', 'ann'), 'delivered', 'the first is');
SELECT test.uploaded('3', NULL, 'bob', 'ann');
SELECT is(test.claim('3', 'ann'), 'wrong_user', 'an upload of nobody doesn''t count');
SELECT is(test.claim('3', 'bob'), 'delivered', 'so that the first user is the owner');
SELECT test.record(
    ARRAY[test.heard('4')],
    ARRAY[test.seen(64, 'bob', uploaded_at => now()), test.seen(128, 'ann', uploaded_at => now())]);
SELECT is(test.claim('4', 'ann'), 'wrong_user', 'of two at the same moment');
SELECT is(test.claim('4', 'bob'), 'delivered', 'the receipt with the lower number was first');

-- A token that an order came with.
SELECT test.uploaded('10', 'bob');
SELECT test.hear(test.heard('10', app_account_token => 'c1e36e35-58f5-5e6e-b9c0-16ca7763f906'));
SELECT is(test.claim('10', 'bob'), 'wrong_user', 'a token goes before who uploaded it first');
SELECT is(test.claim('10', 'ann'), 'delivered', 'its user may claim');
SELECT test.uploaded('11', 'bob');
SELECT test.hear(test.heard('11', app_account_token => 'token of nobody'));
SELECT is(test.claim('11', 'bob'), 'delivered', 'a token that no order came with says nothing');
SELECT test.ordered('order-elsewhere', 'ann', 'df6707ae-777a-53db-bce5-1351955eeee0', 'com.example.b');
SELECT test.uploaded('12', 'bob');
SELECT test.hear(test.heard('12', app_account_token => 'df6707ae-777a-53db-bce5-1351955eeee0'));
SELECT is(test.claim('12', 'bob'), 'delivered', 'nor does one of another app');
SELECT test.run_as('iap_app', $$
    SELECT iap.register_user('com.example.b', 'ann', '7e3fb204-2c3d-4a2c-b8a8-9c1d3a4e5f60')$$);
SELECT test.uploaded('13', 'bob');
SELECT test.hear(test.heard('13', app_account_token => '7e3fb204-2c3d-4a2c-b8a8-9c1d3a4e5f60'));
SELECT is(test.claim('13', 'bob'), 'delivered', 'also where it is a user''s there');

-- The order with which it was uploaded.
SELECT test.uploaded('20', 'bob');
SELECT test.record(
    ARRAY[test.heard('20')], ARRAY[
        test.seen(128, 'bob', 'order-of-ann', uploaded_at => now() + interval '2 minutes'),
        test.seen(192, 'carol', 'order-of-carol', uploaded_at => now() + interval '3 minutes')]);
SELECT is(test.claim('20', 'bob'), 'wrong_user', 'an order goes before who uploaded it first');
SELECT is(test.claim('20', 'carol'), 'wrong_user', 'and only the first order');
SELECT is(test.claim('20', 'ann'), 'delivered', 'its user may claim');
SELECT test.record(
    ARRAY[test.heard('21')], ARRAY[
        test.seen(64, 'bob', 'order of nobody', uploaded_at => now()),
        test.seen(128, 'carol', 'order-of-carol', uploaded_at => now() + interval '1 minute')]);
SELECT is(test.claim('21', 'carol'), 'wrong_user', 'a later order doesn''t stand in for the first, which is unknown');
SELECT is(test.claim('21', 'bob'), 'delivered', 'then the first to upload is the owner');

SELECT test.record(
    ARRAY[jsonb_populate_record(test.heard('22'), '{"bundle_id": "com.example.b"}')],
    ARRAY[test.seen(64, 'carol', 'order-of-carol', uploaded_at => now())]);
SELECT test.uploaded('22', 'bob');
SELECT is(test.claim('22', 'bob'), 'delivered', 'nor does an order with which another app''s of that id was uploaded');

-- An admission.
SELECT test.uploaded('30', 'bob');
SELECT is(test.admit('30', user_id => 'ann'), 'already_white', 'the app''s server admits it');
SELECT is(test.claim('30', 'bob'), 'wrong_user', 'which goes before who uploaded it first');
SELECT is(test.claim('30', 'ann'), 'delivered', 'its user may claim');
SELECT is(
    test.admit('31', user_id => 'ann', receipt_id => test.submit('a receipt', 'bob', '31', 'order-of-ann')), 'white',
    'by the receipt of another user, for ann''s order');
SELECT is(test.claim('31', 'bob'), 'wrong_user', 'two that say the same');
SELECT is(test.claim('31', 'ann'), 'delivered', 'decide');

-- Evidence that contradicts itself is for the support desk.
SELECT test.admit('40', user_id => 'ann');
SELECT test.hear(test.heard('40', app_account_token => '62496054-a220-5c31-b232-92450941abac'));
SELECT is(test.claim('40', user_id), 'undecided', user_id || ' does not get what token and admission give to two')
FROM unnest(ARRAY['ann', 'bob', 'zoe']) AS user_id;
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = '40'), 'white', 'it stays owed');
SELECT results_eq(
    $$SELECT user_id, outcome FROM iap.claims WHERE transaction_id = '40' ORDER BY claim_id$$,
    $$VALUES ('ann', 'undecided'), ('bob', 'undecided'), ('zoe', 'undecided')$$, 'and every attempt is kept');
SELECT is(test.resolve('40', 'delivered'), 'several_owners', 'the support desk decides, and says for whom');
SELECT is(
    test.run_as('iap_support', $$SELECT iap.resolve('40', 'delivered', 'sue', 'asked', user_id => 'ann')$$),
    'delivered', 'as it was told');
SELECT test.admit('41', user_id => 'ann', receipt_id => test.submit('another receipt', 'ann', '41', 'order-of-bob'));
SELECT is(test.claim('41', 'ann'), 'undecided', 'order against admission');
SELECT test.record(
    ARRAY[test.heard('42', app_account_token => 'c1e36e35-58f5-5e6e-b9c0-16ca7763f906')],
    ARRAY[test.seen(64, 'ann', 'order-of-bob')]);
SELECT is(test.claim('42', 'ann'), 'undecided', 'order against token');
SELECT test.ordered('order-of-dave', 'dave', 'c1e36e35-58f5-5e6e-b9c0-16ca7763f906');
SELECT test.hear(test.heard('43', app_account_token => 'c1e36e35-58f5-5e6e-b9c0-16ca7763f906'));
SELECT is(test.claim('43', 'ann'), 'undecided', 'a token of two users''');

-- The order that a claim names must be the claimant's, if anybody's.
SELECT test.admit('50', user_id => 'ann'), test.admit('51', user_id => NULL);
SELECT is(test.claim('50', 'ann', 'order-of-bob'), 'wrong_user', 'the owner can''t claim for another''s order');
SELECT is(test.claim('51', 'ann', 'order-of-bob'), 'wrong_user', 'nor can anybody');
SELECT is(test.claim('40', 'ann', 'order-of-bob'), 'already_delivered', 'what is delivered is delivered, to whomever');
SELECT test.ordered('order-of-50', 'ann');
SELECT is(test.claim('50', 'ann', 'order-of-50'), 'delivered', 'for an own order');
SELECT is(test.claim('51', 'ann', 'order of nobody'), 'delivered', 'or for one that nobody registered');

-- Only a delivery takes the original of a non-consumable.
SELECT test.admit('60', product_id => 'full', user_id => 'ann');
SELECT is(test.claim('60', 'bob'), 'wrong_user', 'a claim by the wrong user');
SELECT is_empty('SELECT FROM iap.delivered_originals', 'takes nothing');
SELECT test.admit('60', product_id => 'full', user_id => 'ann', environment => 'Sandbox');
SELECT is(test.claim('60', 'ann'), 'delivered', 'the right one does');
SELECT is(test.claim('60', 'ann'), 'already_delivered', 'but not in the other environment');
SELECT results_eq(
    'SELECT original_transaction_id, environment, transaction_id FROM iap.delivered_originals',
    $$VALUES ('60' COLLATE "C", 'Production', '60' COLLATE "C")$$, 'one is taken');

SELECT is_empty('SELECT * FROM test.misfits', 'every row fits its seal');
SELECT is(test.moved_tally(), test.white_tally(), 'the moves explain the white table');
-- A receipt that was uploaded for another purchase first, with the order of the phone's other user.
CREATE FUNCTION test.shared_phone(transaction_id text, OUT receipt_id bigint)
LANGUAGE plpgsql AS $$
BEGIN
    receipt_id := test.run_as('iap_app', format(
        'SELECT iap.submit_receipt(%L, %L, %L, %L, %L)', 'com.example.a', 'bob', 'shared ' || transaction_id, '90',
        'order-of-ann'))::bigint;
    PERFORM test.run_as('iap_app', format(
        'SELECT iap.submit_receipt(%L, %L, %L, %L)', 'com.example.a', 'bob', 'shared ' || transaction_id,
        transaction_id));
    PERFORM test.run_as('iap_app', format(
        'SELECT iap.admit(%L, %L, %L, %L, %L, 1, now(), %L, %s)', 'com.example.a', 'Production', transaction_id,
        transaction_id, 'gems', 'bob', receipt_id));
END
$$;
SELECT test.shared_phone('91');
SELECT is(
    (SELECT order_id FROM iap.sightings WHERE transaction_id = '91'), NULL,
    'an order is no evidence of a purchase that it was not uploaded with');
SELECT is(test.claim('91', 'bob'), 'delivered', 'so who admitted it may claim it');
SELECT test.shared_phone('90');
SELECT is(
    (SELECT order_id FROM iap.sightings WHERE transaction_id = '90'), 'order-of-ann', 'but of the one it came with');
SELECT is(test.claim('90', 'bob'), 'undecided', 'where it contradicts who admitted it');

-- What nobody handed in, and Apple told of when it was asked about a receipt that was passed on.
CREATE FUNCTION test.told_with(
    transaction_id text, receipt_id bigint, user_id text, account text DEFAULT NULL, in_receipt boolean DEFAULT false,
    uploaded_at timestamptz DEFAULT now()
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    purchase iap.verified := test.heard(transaction_id, source => 'server_api');
    sighting iap.sighted := test.seen(receipt_id, user_id, is_named => in_receipt, uploaded_at => uploaded_at);
BEGIN
    purchase.app_transaction_id := account;
    sighting.in_receipt := told_with.in_receipt;
    PERFORM test.record(ARRAY[purchase], ARRAY[sighting]);
END
$$;
SELECT test.admit('passed-on', user_id => 'ann');
SELECT test.claim('passed-on', 'ann');
SELECT test.told_with('passed-on', 6400, 'bob', 'account-of-ann', true), test.told_with('told', 6400, 'bob');
SELECT is(test.claim('told', 'bob'), 'undecided',
    'where the receipt''s own purchase was delivered to another, nobody knows');
SELECT is(test.claim('told', 'ann'), 'undecided', 'nor whether it is the other''s');
SELECT is(test.claim('told', 'zoe'), 'undecided', 'for the support desk it is');
SELECT test.told_with('told-later', 6464, 'bob', 'account-of-ann');
SELECT is(
    test.claim('told-later', 'bob'), 'undecided', 'nor where another purchase of the account was delivered to another');
SELECT test.record(
    ARRAY[jsonb_populate_record(
        test.heard('told-ordered', source => 'server_api'), '{"app_transaction_id": "account-of-ann"}')],
    ARRAY[jsonb_populate_record(
        test.seen(6464, 'bob', 'order-of-bob', is_named => false), '{"in_receipt": false}')]);
SELECT is(
    test.claim('told-ordered', 'bob', 'order-of-bob'), 'undecided', 'whatever order the receipt was uploaded for');
-- What Apple told of with it and was delivered to another, a tester's of that id, another app's of that account.
SELECT test.import(test.heard('told-too'), 'ann'), test.told_with('told-too', 6528, 'bob'),
    test.record(
        ARRAY[test.heard('told-alone', environment => 'Sandbox')],
        ARRAY[test.seen(6552, 'ann', uploaded_at => now() - interval '1 day')]),
    test.import(jsonb_populate_record(
        test.heard('of-another'), others.here || '{"app_transaction_id": "account-of-bob"}'), 'ann')
FROM (VALUES ('{"bundle_id": "com.example.b"}'::jsonb), ('{"environment": "Sandbox"}')) AS others (here);
-- What is bob's and not delivered yet, what a tester of that id has, and what came without a user.
SELECT test.told_with('kept', 6528, 'bob', NULL, true),
    test.import(test.heard('kept', environment => 'Sandbox'), 'ann'),
    test.import(jsonb_populate_record(test.heard('of-nobody'), '{"app_transaction_id": "account-of-bob"}'), NULL),
    test.told_with('told-alone', 6528, 'bob', 'account-of-bob'), test.told_with('told-alone', 6536, NULL, NULL, true);
SELECT is(test.claim('told-alone', 'zoe'), 'wrong_user', 'where nothing speaks against them it is theirs');
SELECT is(test.claim('told-alone', 'bob'), 'delivered', 'of whose receipt Apple was asked');
SELECT test.told_with('told-first', 6544, 'bob'), test.told_with('told-first', 6544, 'bob', NULL, true);
SELECT is(in_receipt, true, 'and what is found in it later is in it')
FROM iap.sightings WHERE transaction_id = 'told-first';
SELECT test.told_with('handed-in', 6592, 'bob', 'account-of-carol'),
    test.told_with('handed-in', 6656, 'carol', 'account-of-carol', true, now() + interval '1 minute');
SELECT is(test.claim('handed-in', 'carol'), 'undecided', 'who hands it in after that may have paid');
SELECT is(test.claim('handed-in', 'zoe'), 'undecided', 'and nobody else is told whose it is');

-- On a phone whose users take turns: the order of who logged in later may be of another purchase.
SELECT test.record(
    ARRAY[test.heard('turns')], ARRAY[test.seen(6720, 'ann', uploaded_at => now() - interval '3 days')]);
SELECT test.record(
    ARRAY[test.heard('turns')], ARRAY[test.seen(6784, 'bob', 'order-of-bob', uploaded_at => now())]);
SELECT is(test.claim('turns', 'bob', 'order-of-bob'), 'undecided',
    'a later order takes nothing from who uploaded it for itself');
SELECT is(test.claim('turns', 'ann'), 'undecided', 'nor is it theirs for certain');
SELECT test.record(
    ARRAY[test.heard('rode')],
    ARRAY[test.seen(6848, 'ann', is_named => false, uploaded_at => now() - interval '3 days')]);
SELECT test.record(
    ARRAY[test.heard('rode')], ARRAY[test.seen(6912, 'bob', 'order-of-bob', uploaded_at => now())]);
SELECT is(test.claim('rode', 'ann'), 'wrong_user', 'with whom it only rode along is not the owner');
SELECT is(test.claim('rode', 'bob', 'order-of-bob'), 'delivered', 'who ordered it is');
SELECT test.record(
    ARRAY[test.heard('marked', app_account_token => '62496054-a220-5c31-b232-92450941abac')],
    ARRAY[test.seen(6976, 'ann', uploaded_at => now() - interval '3 days'), test.seen(7040, 'bob', 'order-of-bob')]);
SELECT is(test.claim('marked', 'bob'), 'delivered', 'and so is who ordered what bears their token');

-- Whom it rode along with, and for whom the server admits it by that receipt.
SELECT test.submit('a long receipt', 'ann') AS receipt \gset
SELECT test.record(ARRAY[test.heard('admitted')], ARRAY[test.seen(:receipt, 'ann', is_named => false)]);
SELECT test.admit('admitted', user_id => 'ann', receipt_id => :receipt);
SELECT is(is_named, true, 'it was uploaded for it') FROM iap.sightings WHERE transaction_id = 'admitted';

-- For whom the server admits another id of it, whichever came first: nothing says who of the two bought it.
SELECT test.admit(own, product_id => 'full', user_id => 'ann'), test.admit(restored, own, 'full', user_id => 'bob')
FROM (VALUES ('twice', 'twice-restored')) AS ids (own, restored);
SELECT test.admit('back-restored', 'back', 'full', user_id => 'bob');
SELECT test.admit('back', product_id => 'full', user_id => 'ann');
SELECT is(test.claim(id, who), 'undecided', format('%s does not get it by %s', who, id))
FROM unnest(ARRAY['twice', 'back-restored']) AS id, unnest(ARRAY['ann', 'bob']) AS who;
SET LOCAL search_path = public, iap;
SELECT is(
    test.run_as('iap_job', 'SELECT iap.withdraw_all_restored(1, now(), 10)'), '2', 'the night withdraws the others');
RESET search_path;
SELECT is(test.claim(id, who), 'undecided', format('nor is it %s''s by %s then', who, id))
FROM unnest(ARRAY['twice', 'back-restored']) AS id, unnest(ARRAY['ann', 'bob']) AS who;
SELECT is(test.resolve('twice', 'delivered'), 'several_owners', 'the desk must say whose it is');
SELECT is(
    test.run_as('iap_support', $$SELECT iap.redeliver('back', 'sue', 'x')$$), 'several_owners',
    'before it is delivered');

-- Apple tells of it under an id that no server admitted: then it is whose it was admitted for first.
SELECT test.hear(test.heard('carried', 'server_api', 'full', product_type => 'non_consumable'));
SELECT test.admit('carried-b', 'carried', 'full', user_id => 'ann', receipt_id => :receipt),
    test.admit('carried-a', 'carried', 'full', user_id => 'bob');
SET LOCAL search_path = public, iap;
SELECT is(test.run_as('iap_job', 'SELECT iap.withdraw_all_restored(1, now(), 10)'), '2', 'both are withdrawn for it');
RESET search_path;
SELECT is((admitted_user_id, admitted_receipt_id), ('ann'::text, :receipt::bigint), 'with the receipt of that')
FROM iap.transactions WHERE transaction_id = 'carried';

-- So with a token, and an order that came with it: whose it is does not hang on the id by which it is asked for.
SELECT test.ordered('order-of-full', 'ann');
SELECT test.record(
    ARRAY[test.heard(
        'marked-full', product_id => 'full', product_type => 'non_consumable',
        app_account_token => 'c1e36e35-58f5-5e6e-b9c0-16ca7763f906')],
    ARRAY[test.seen(7104, 'bob')]);
SELECT test.record(
    ARRAY[test.heard('ordered-full', product_id => 'full', product_type => 'non_consumable')],
    ARRAY[test.seen(7168, 'ann', 'order-of-full')]);
SELECT test.admit(id || '-restored', id, 'full', user_id => 'bob'),
    test.admit(id || '-of-nobody', id, 'full', user_id => NULL)
FROM unnest(ARRAY['marked-full', 'ordered-full']) AS id;
SELECT is(test.claim(id || '-restored', 'bob'), 'undecided', format('who restores %s need not have paid', id))
FROM unnest(ARRAY['marked-full', 'ordered-full']) AS id;
SELECT is(test.claim(id || '-restored', 'zoe'), 'undecided', 'nor has anybody else')
FROM unnest(ARRAY['marked-full', 'ordered-full']) AS id;

-- A client that keeps the order of the purchase before.
SELECT test.ordered('order-kept', 'ann'), test.uploaded('kept-for', 'ann'), test.claim('kept-for', 'ann', 'order-kept');
SELECT test.record(ARRAY[test.heard('kept-next')], ARRAY[test.seen(7232, 'bob', 'order-kept')]);
SELECT is(test.claim('kept-next', 'ann'), 'wrong_user', 'an order that was delivered makes nothing else its user''s');
SELECT is(test.claim('kept-next', 'bob'), 'delivered', 'but who hands it in may claim');

-- Of whose earlier receipt Apple told of it, before they handed it in.
SELECT test.admit('of-account', user_id => 'ann'), test.claim('of-account', 'ann'),
    test.told_with('of-account', 7360, 'eve', 'account-of-dan', true);
SELECT test.told_with('dans', 7296, 'dan', 'account-of-dan', false, now() - interval '2 days');
SELECT test.told_with('dans', 7424, 'dan', 'account-of-dan', true);
SELECT is(test.claim('dans', 'dan'), 'delivered', 'what they handed in is theirs, though Apple told of it before');

SELECT is_empty('SELECT * FROM test.misfits', 'every row fits its seal');
SELECT * FROM finish();
ROLLBACK;
