-- A non-consumable is bought once and owed once, under whatever id it is restored: what takes its original purchase,
-- and what gives it back.
BEGIN;
SELECT no_plan();
SET LOCAL search_path = public, iap;

CREATE FUNCTION test.places(original text) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT transaction_id || ' ' || coalesce(reason, place)
    FROM iap.transactions
    WHERE original_transaction_id = $1
    ORDER BY transaction_id
$$;

-- Delivered under one id by the support desk, and under the other one by what a company tells of before.
SELECT test.admit('1A', '1A', 'full'), test.admit('1B', '1A', 'full');
SELECT is(test.resolve('1B', 'delivered'), 'delivered', 'delivered under the id that it was restored under');
SELECT test.import(test.heard('1A', product_id => 'full', product_type => 'non_consumable'));
SELECT is(test.reopen('1B'), 'already_delivered', 'is not opened again once the purchase is known to be delivered');
SELECT is(test.claim('1B'), 'already_delivered', 'nor claimed');
SELECT results_eq($$SELECT test.places('1A')$$, $$VALUES ('1A black'), ('1B black')$$, 'so both stay where they are');

-- The same, where what delivered the first is taken back.
SELECT test.admit('2A', '2A', 'full');
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', '2A', 'ann', 'infinity')$$);
SELECT test.import(test.heard(
    '2B', product_id => 'full', product_type => 'non_consumable', original_transaction_id => '2A'));
SELECT test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', '2A')$$);
SELECT results_eq($$SELECT test.places('2A')$$, $$VALUES ('2A white'), ('2B black')$$, 'one delivery is taken back');
SELECT is_empty($$SELECT FROM iap.owed('com.example.a', 'ann')$$, 'nothing is owed');
SELECT is(test.claim('2A'), 'already_delivered',
    'and the other one still keeps the purchase from being delivered again');

-- The same, where neither saw the other.
SELECT test.admit('9A', '9A', 'full');
SELECT test.import(test.heard(
    '9B', product_id => 'full', product_type => 'non_consumable', original_transaction_id => '9A'));
UPDATE iap.transactions SET place = 'white', reason = NULL, excluded_at = NULL, move_id = NULL
WHERE transaction_id = '9A';
DELETE FROM iap.moves WHERE transaction_id = '9A';
UPDATE iap.transactions AS t SET seal = audit.seal(ROW(t.*)::iap.transactions) WHERE transaction_id = '9A';
DELETE FROM iap.delivered_originals WHERE original_transaction_id = '9A';
SELECT is(test.claim('9A'), 'already_delivered', 'what is delivered under another id is not delivered again');
SELECT is(test.claim('9A'), 'already_delivered', 'however often it is claimed');

-- Granted, refunded, taken away, and the refund reversed, when a setting kept it from being owed.
SELECT test.admit('3A', '3A', 'full');
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', '3A', 'ann', 'infinity')$$);
SELECT test.hear(test.heard('3A', product_id => 'full', exclusion => 'refunded', refunded_at => now()));
SELECT test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', '3A')$$);
SELECT is(
    test.hear(test.heard(
        '3A', product_id => 'full', exclusion => 'before_start', verified_at => now() + interval '1 hour')),
    'before_start', 'what is owed no more by a setting');
SELECT is_empty(
    $$SELECT FROM iap.delivered_originals WHERE original_transaction_id = '3A'$$, 'is delivered no more, either');
SELECT is(
    test.hear(test.heard('3A', product_id => 'full', verified_at => now() + interval '2 hours')), 'white',
    'and is owed once the setting is mended');
SELECT is(test.claim('3A'), 'delivered', 'so that it can be claimed');

-- Refunded is the purchase, under whatever id Apple tells of it.
CREATE FUNCTION test.keep_owed_once() RETURNS text
LANGUAGE sql AS $$
    SELECT concat_ws(
        ' ', test.run_as('iap_job', 'SELECT iap.release_restored(7, now())'),
        test.run_as('iap_job', 'SELECT iap.withdraw_all_restored(7, now(), 10)'))
$$;
CREATE FUNCTION test.hear_again(transaction_id text, original text, days integer, refunded_at timestamptz DEFAULT NULL)
RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        transaction_id, source => 'server_api', product_id => 'full', product_type => 'non_consumable',
        original_transaction_id => original, refunded_at => refunded_at, verified_at => now() + days * interval '1 day',
        exclusion => CASE WHEN refunded_at IS NOT NULL THEN 'refunded' END))
$$;
SELECT is(test.hear_again('4A', '4A', 1, now()), 'refunded', 'a purchase that is refunded');
SELECT test.is_refused(
    'iap_app', $$SELECT iap.admit('com.example.a', 'Production', '4B', '4A', 'full', 1, now(), 'ann')$$, '55000',
    '%not owed%refunded%', 'is not admitted under the id that it is restored under');
SELECT is_empty($$SELECT FROM iap.transactions WHERE transaction_id = '4B'$$, 'and does not enter');
SELECT is(test.admit('4C', '4A', 'gems'), 'white', 'a consumable of the same original is owed');
SELECT test.claim('4C');
SELECT is(test.hear_again('4E', '4D', 1), 'white', 'what shares its original');
SELECT test.hear(test.heard('4F', original_transaction_id => '4D', exclusion => 'refunded', refunded_at => now()));
SELECT is(test.keep_owed_once(), '0 0', 'with a consumable that is refunded');
SELECT is(test.claim('4E'), 'delivered', 'is owed, too');

-- Also where only Apple knows what the product is, or nobody does.
SELECT test.hear(test.heard(
    id, product_id => 'unlisted', product_type => type, refunded_at => now(), exclusion => 'refunded'))
FROM (VALUES ('12A', 'non_consumable'), ('13A', NULL)) AS refunded (id, type);
SELECT test.is_refused('iap_app', format(
        $$SELECT iap.admit('com.example.a', 'Production', %L, %L, 'unlisted', 1, now(), 'ann')$$, id || 'B', id || 'A'),
    '55000', '%not owed%refunded%', 'nor where no list says what it is')
FROM unnest('{12,13}'::text[]) AS id;
SELECT test.hear(test.heard(
    '14A', product_id => 'unlisted', product_type => 'auto_renewable', refunded_at => now(), exclusion => 'refunded'));
SELECT is(test.admit('14B', '14A', 'unlisted'), 'white', 'the next period of a subscription is owed');
SELECT test.admit('15A', '15A', 'unlisted'), test.resolve('15A', 'refunded');
SELECT is(test.admit('15B', '15A', 'unlisted'), 'white', 'and so is what may be one, for all that the server said');
SELECT is(test.admit('13C', '13A', 'unlisted.too'), 'white', 'or another product of the original');
SELECT is(test.claim(id), 'delivered', 'and claimed') FROM unnest('{14B,15B,13C}'::text[]) AS id;

SELECT is(test.hear_again('5B', '5A', 1), 'white', 'what Apple told of under the id of a restore');
SELECT is(test.hear_again('5A', '5A', 1, now()), 'refunded', 'and refunded then');
SELECT test.open_case('5B', '{ann}');
SELECT is(test.claim('5B'), 'excluded', 'is not claimed');
SELECT is_empty($$SELECT iap.owed('com.example.a', 'ann')$$, 'nor owed');
SELECT is(
    test.run_as('iap_app', $$SELECT tell FROM iap.status('com.example.a', '5B')$$), 'not paid', 'nor told of as paid');
SELECT is(
    test.run_as('iap_support', $$SELECT iap.redeliver('5B', 'sue', 'for sure')$$), 'owner_uncertain',
    'nor delivered without the customer');
SELECT is(test.keep_owed_once(), '0 1', 'and the night withdraws it');
SELECT results_eq(
    $$SELECT reason, closed_as
    FROM iap.excluded JOIN iap.cases USING (transaction_id) WHERE transaction_id = '5B'$$,
    $$VALUES ('restored', 'withdrawn')$$, 'with its case');
SELECT is(test.keep_owed_once(), '0 0', 'once');
SELECT is(test.moved_tally(), test.white_tally(), 'the moves explain the white table');
SELECT is(test.hear_again('5A', '5A', 3), 'white', 'what is refunded no more is owed again');
SELECT is(test.keep_owed_once(), '0 0', 'under one id');
SELECT is(test.claim('5B'), 'delivered', 'and may be claimed by either');
SELECT results_eq($$SELECT test.places('5A')$$, $$VALUES ('5A black'), ('5B restored')$$, 'which delivers it');
SELECT is(test.claim('5A'), 'already_delivered', 'once');
SELECT is(test.hear_again('5A', '5A', 5, now()), 'black', 'what is refunded after its delivery');
SELECT is(test.hear_again('5C', '5A', 5), 'white', 'and comes under one more id');
SELECT is(test.claim('5C'), 'already_delivered', 'was delivered all the same');

-- Where the one that Apple refunds is not the one that stands for the purchase.
SELECT is(test.hear_again('6A', '6A', 1), 'white', 'the original is owed');
SELECT is(
    test.hear(test.heard(
        '6B', product_id => 'full', original_transaction_id => '6A', exclusion => 'restored')), 'restored',
    'and not the restore');
SELECT is(test.hear_again('6B', '6A', 2, now()), 'restored', 'which Apple refunds');
SELECT is(test.keep_owed_once(), '0 1', 'then nothing is owed');
SELECT results_eq($$SELECT test.places('6A')$$, $$VALUES ('6A restored'), ('6B refunded')$$, 'and the refund counts');
SELECT is(test.claim('6A'), 'excluded', 'under either id');
SELECT is(test.keep_owed_once(), '0 0', 'while that holds');
-- As it was left where another session held it that night.
UPDATE iap.transactions SET reason = 'restored' WHERE transaction_id = '6B';
SELECT test.keep_owed_once();
SELECT results_eq(
    $$SELECT test.places('6A')$$, $$VALUES ('6A restored'), ('6B refunded')$$, 'the refund counts by the next one');
UPDATE iap.transactions SET reason = 'before_start' WHERE transaction_id = '6B';
INSERT INTO iap.transactions
SELECT (jsonb_populate_record(t, others.here)).*
FROM iap.transactions AS t
CROSS JOIN (VALUES ('{"bundle_id": "com.example.b"}'::jsonb), ('{"environment": "Sandbox"}')) AS others (here)
WHERE original_transaction_id = '6A';
UPDATE iap.transactions AS t SET seal = audit.seal(t) WHERE original_transaction_id = '6A';
SELECT test.hear(test.heard(
    '6B', source => 'server_api', product_id => 'full', product_type => 'non_consumable',
    original_transaction_id => '6A', exclusion => 'before_start', verified_at => now() + interval '4 days'));
SELECT is(test.keep_owed_once(), '1 0', 'when it is reversed the purchase is owed again, and no other of its id');
DELETE FROM iap.transactions
WHERE original_transaction_id = '6A' AND (bundle_id <> 'com.example.a' OR environment <> 'Production');
SELECT results_eq($$SELECT test.places('6A')$$, $$VALUES ('6A white'), ('6B before_start')$$, 'under one id');
SELECT is(test.claim('6A'), 'delivered', 'and claimed');

-- The same, where it was owed again in between, and withdrawn once more for the sake of what was owed otherwise.
SELECT is(test.hear_again('23A', '23A', 1), 'white', 'an original');
SELECT test.hear(test.heard('23B', product_id => 'full', original_transaction_id => '23A', exclusion => 'restored'));
SELECT test.hear_again('23B', '23A', 2, now()), test.keep_owed_once();
UPDATE iap.transactions SET excluded_at = now() + interval '1 day' WHERE transaction_id = '23A';
UPDATE iap.transactions AS t SET seal = audit.seal(t) WHERE transaction_id = '23A';
SELECT test.hear(test.heard(
    '23B', source => 'server_api', product_id => 'full', product_type => 'non_consumable',
    original_transaction_id => '23A', exclusion => 'before_start', verified_at => now() + interval '4 days'));
SELECT is(test.keep_owed_once(), '0 0', 'a refund of before, and its end, say nothing of that');

-- Nor is it owed again that a setting keeps from being owed the id that stands for both.
SELECT is(test.hear_again(id, '24A', 1), 'white', id || ' is owed') FROM unnest(ARRAY['24A', '24B']) AS id;
SELECT is(test.keep_owed_once(), '0 1', 'one purchase');
SELECT test.hear(test.heard(
    '24A', source => 'server_api', product_id => 'full', product_type => 'non_consumable',
    exclusion => 'before_start', verified_at => now() + interval '4 days'));
SELECT is(test.keep_owed_once(), '0 0', 'excluded by a setting');
SELECT results_eq(
    $$SELECT test.places('24A')$$, $$VALUES ('24A before_start'), ('24B restored')$$, 'is owed under neither id');

-- Nor what Apple refunded itself by then.
SELECT is(test.hear_again('25A', '25A', 1), 'white', 'an original');
SELECT test.hear(test.heard('25B', product_id => 'full', original_transaction_id => '25A', exclusion => 'restored'));
SELECT test.hear_again('25B', '25A', 2, now());
SELECT is(test.keep_owed_once(), '0 1', 'is withdrawn for the refund of its restore');
SELECT is(test.hear_again('25A', '25A', 3, now()), 'restored', 'and refunded then');
SELECT test.hear(test.heard(
    '25B', source => 'server_api', product_id => 'full', product_type => 'non_consumable',
    original_transaction_id => '25A', exclusion => 'before_start', verified_at => now() + interval '4 days'));
SELECT is(test.keep_owed_once(), '0 0', 'it stays so when that of the other is reversed');

-- Nor does something else of the original stand for what was refunded.
SELECT is(test.hear_again('26A', '26A', 1), 'white', 'an original');
SELECT test.hear(test.heard('26B', product_id => 'full', original_transaction_id => '26A', exclusion => 'restored'));
SELECT test.admit('26C', '26A', 'gems'), test.claim('26C'), test.hear_again('26B', '26A', 2, now());
SELECT is(test.keep_owed_once(), '0 1', 'is withdrawn for the refund of its restore');
SELECT results_eq(
    $$SELECT test.places('26A')$$, $$VALUES ('26A restored'), ('26B refunded'), ('26C black')$$,
    'which counts, whatever else was delivered');

-- The same, where Apple tells the price while the refund stands.
SELECT is(
    test.hear(test.heard('7A', product_id => 'full', product_type => 'non_consumable')), 'white', 'an original');
SELECT test.hear(test.heard('7B', product_id => 'full', original_transaction_id => '7A', exclusion => 'restored'));
SELECT is(test.hear_again('7B', '7A', 2, now()), 'restored', 'the restore of which Apple refunds');
SELECT is(test.keep_owed_once(), '0 1', 'is owed no more');
SELECT is(
    test.hear(test.heard(
        '7A', source => 'server_api', product_id => 'full', product_type => 'non_consumable', price_milliunits => 3990,
        verified_at => now() + interval '3 days')), 'restored', 'also when its price comes to be known');
SELECT is(test.hear_again('7B', '7A', 4), 'white', 'and is owed again when the refund is reversed');
SELECT is(test.keep_owed_once(), '0 0', 'once');
SELECT results_eq($$SELECT test.places('7A')$$, $$VALUES ('7A restored'), ('7B white')$$, 'under one id, too');
SELECT is(test.claim('7A'), 'delivered', 'and claimed by either');

-- What is restored stands for the id that the night would have stand for all: one of which Apple told, then the
-- original, then the lowest.
SELECT test.admit(id, original, 'full')
FROM (VALUES ('30A', '30E'), ('32B', '32E'), ('32A', '32E')) AS said (id, original);
SELECT test.hear(test.heard(id, product_id => 'full', original_transaction_id => original, exclusion => exclusion))
FROM (
    VALUES
        ('30B', '30E', NULL), ('30C', '30E', 'restored'), ('31A', '31B', NULL), ('31B', '31B', NULL),
        ('31C', '31B', 'restored'), ('32C', '32E', 'restored')) AS told (id, original, exclusion);
SELECT is(iap.owed_as(t), owed_as, why)
FROM (
    VALUES
        ('30C', '30B', 'of a server''s word and Apple''s it is Apple''s'), ('31C', '31B', 'of Apple''s the original'),
        ('32C', '32A', 'of a server''s the lowest')) AS restored (id, owed_as, why)
JOIN iap.transactions AS t ON transaction_id = id;
SELECT is(test.claim('30C'), 'delivered', 'a claim by what is restored');
SELECT results_eq(
    $$SELECT test.places('30E')$$, $$VALUES ('30A restored'), ('30B black'), ('30C restored')$$,
    'delivers what the night would have owed');
SELECT test.run_as('iap_job', 'SELECT iap.withdraw_all_restored(7, now(), 10)');
SELECT results_eq(
    $$SELECT transaction_id FROM iap.white WHERE transaction_id ~ '^3[12]' ORDER BY 1$$,
    $$VALUES ('31B' COLLATE "C"), ('32A')$$, 'and the night owes the same');

-- Apple tells that it is bought once, and the list that it is consumed, so that a server may admit it under a third id:
-- that is claimed by none of those of which Apple told that they were delivered.
INSERT INTO iap.products (bundle_id, product_id, type, name)
VALUES ('com.example.a', 'misled', 'consumable', 'Listed as what it is not');
SELECT test.hear(test.heard('33A', 'server_api', 'misled', product_type => 'non_consumable')), test.claim('33A');
SELECT test.hear(
    test.heard(
        '33B', 'server_api', 'misled', product_type => 'non_consumable', original_transaction_id => '33A',
        exclusion => 'restored')),
    test.admit('33C', '33A', 'misled');
SELECT is(test.claim('33B'), 'already_delivered', 'what is restored was delivered, whatever else is owed');
SELECT results_eq(
    $$SELECT test.places('33A')$$, $$VALUES ('33A black'), ('33B restored'), ('33C white')$$, 'and stays as it is');

-- The night after the refund takes the other id for restored, before the refund is taken back; or nobody but the screen
-- knew of it.
SELECT is(test.hear_again('20A', '20A', 1), 'white', 'an original that is owed');
SELECT test.hear(test.heard('20B', product_id => 'full', original_transaction_id => '20A', exclusion => 'restored'));
SELECT is(test.hear_again('20B', '20A', 2, now()), 'restored', 'of whose restore Apple tells a refund');
SELECT is(
    test.hear(test.heard(
        '20A', source => 'server_api', product_id => 'full', product_type => 'non_consumable', exclusion => 'restored',
        verified_at => now() + interval '2 days')), 'white', 'stays for the night to withdraw');
SELECT is(test.keep_owed_once(), '0 1', 'which does');
SELECT is(test.hear_again('20B', '20A', 4), 'white', 'until the refund is taken back');
SELECT is(test.keep_owed_once(), '0 0', 'under one id');
SELECT is(test.hear(test.heard('21A', product_id => 'unheard.of')), 'white', 'what no list knows');
SELECT test.hear(test.heard('21B', product_id => 'unheard.of', original_transaction_id => '21A',
    exclusion => 'restored'));
SELECT test.hear(test.heard(
    '21B', 'server_api', 'unheard.of', exclusion => 'refunded', original_transaction_id => '21A', refunded_at => now(),
    verified_at => now() + interval '1 day'));
SELECT is(
    test.hear(test.heard('21A', 'server_api', 'unheard.of', exclusion => 'restored',
        verified_at => now() + interval '1 day')),
    'restored', 'is restored by what the screen saw');
SELECT is(
    test.hear(test.heard(
        '21B', 'server_api', 'unheard.of', original_transaction_id => '21A', verified_at => now() + interval '4 days')),
    'white', 'and owed again, too');
SELECT is(
    test.hear(test.heard('21A', 'server_api', 'unheard.of', verified_at => now() + interval '4 days')), 'restored',
    'once');
SELECT test.resolve('21B', 'dismissed');
SELECT is(
    test.hear(test.heard('21A', 'server_api', 'unheard.of', verified_at => now() + interval '5 days')), 'restored',
    'and not under the other id once the desk has dismissed it');

-- A server that names a wrong original: what Apple calls another purchase is delivered by itself.
SELECT test.admit('22B', '22A', 'full');
SELECT is(test.claim('22B'), 'delivered', 'delivered as another purchase''s restore');
SELECT is(test.hear_again('22B', '22B', 1), 'black', 'until Apple says that it is its own');
SELECT is(test.hear_again('22A', '22A', 1), 'white', 'and the other is owed');
SELECT is(test.claim('22A'), 'delivered', 'and delivered');

-- Refunded, and taken back, under all of its ids at once: each is told of as a restore of the other.
SELECT is(test.hear_again('16A', '16A', 1), 'white', 'a purchase');
SELECT test.hear(test.heard('16B', product_id => 'full', original_transaction_id => '16A', exclusion => 'restored'));
SELECT test.hear(test.heard('16C', product_id => 'full', original_transaction_id => '16A', exclusion => 'restored'));
CREATE FUNCTION test.hear_all(original text, days integer, refunded_at timestamptz DEFAULT NULL) RETURNS SETOF text
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.record(ARRAY(
        SELECT test.heard(
            transaction_id, source => 'server_api', product_id => 'full', product_type => 'non_consumable',
            original_transaction_id => original, refunded_at => hear_all.refunded_at,
            verified_at => now() + days * interval '1 day',
            exclusion => CASE WHEN hear_all.refunded_at IS NULL THEN 'restored' ELSE 'refunded' END)
        FROM iap.transactions AS t
        WHERE t.original_transaction_id = original
        ORDER BY transaction_id));
    RETURN QUERY SELECT test.places(original);
END
$$;
SELECT results_eq(
    $$SELECT test.hear_all('16A', 2, now())$$, $$VALUES ('16A refunded'), ('16B restored'), ('16C restored')$$,
    'that is refunded');
SELECT results_eq(
    $$SELECT test.hear_all('16A', 4)$$, $$VALUES ('16A white'), ('16B restored'), ('16C restored')$$,
    'is owed again, once, when that is taken back');
SELECT is(test.keep_owed_once(), '0 0', 'and no night withdraws it');
SELECT is(test.claim('16C'), 'delivered', 'so that it is delivered');
SELECT is(test.hear_again(id, '17A', 1, now()), 'refunded', 'known as refunded')
FROM (VALUES ('17C'), ('17B')) AS ids (id);
SELECT results_eq(
    $$SELECT test.hear_all('17A', 4)$$, $$VALUES ('17B white'), ('17C restored')$$,
    'it is owed again under the lowest id where nobody knows the original');
SELECT test.claim('17B');
SELECT test.hear_again('18B', '18A', 1), test.hear_again('18A', '18A', 1, now());
SELECT test.import(test.heard(
    '18C', product_id => 'full', product_type => 'non_consumable', original_transaction_id => '18A'));
SELECT results_eq(
    $$SELECT test.hear_all('18A', 4)$$, $$VALUES ('18A restored'), ('18B restored'), ('18C black')$$,
    'what was delivered under another id is not owed again');

-- Of a subscription each period is bought by itself.
SELECT test.hear_period('19A', '19A', '191', exclusion => 'refunded'), test.hear_period('19B', '19A', '191'),
    test.hear_period('19C', '19A', '192', exclusion => 'refunded');
SELECT is(
    test.hear_period('19A', '19A', '191', exclusion => 'restored', verified_at => now() + interval '3 days'),
    'restored', 'what is owed under another id is not owed again');
SELECT is(
    test.hear_period('19C', '19A', '192', exclusion => 'restored', verified_at => now() + interval '3 days'), 'white',
    'but what is no other''s period');
SELECT is(test.claim('19B'), 'delivered', 'so that each');
SELECT is(test.claim('19C'), 'delivered', 'is delivered');

-- Delivered under one id, while another session held the other one, so that it stayed.
SELECT test.admit('8A', '8A', 'full'), test.admit('8C', '8A', 'gems');
SELECT is(test.claim('8A'), 'delivered', 'a purchase that is delivered');
INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.example.a', 'late', 'consumable', 'Late');
SELECT is(test.admit('8B', '8A', 'late'), 'white', 'what is restored of it, when nobody saw that');
UPDATE iap.products SET type = 'non_consumable' WHERE product_id = 'late';
UPDATE iap.transactions SET product_type = 'non_consumable' WHERE transaction_id = '8B';
UPDATE iap.transactions AS t SET seal = audit.seal(ROW(t.*)::iap.transactions) WHERE transaction_id = '8B';
SELECT test.open_case('8B', '{ann}');
SELECT is(test.keep_owed_once(), '0 1', 'is withdrawn by the night');
SELECT results_eq(
    $$SELECT test.places('8A')$$, $$VALUES ('8A black'), ('8B restored'), ('8C white')$$,
    'and nothing else of the same original');
SELECT is((SELECT closed_as FROM iap.cases WHERE transaction_id = '8B'), 'withdrawn', 'with its case');
SELECT is(
    (SELECT details ->> 'delivered_as' FROM iap.moves WHERE transaction_id = '8B'), '8A', 'as the log of it says');
SELECT is(test.keep_owed_once(), '0 0', 'once');

-- Listed wrongly at first: what was delivered by then is what the list says today.
INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.example.a', 'mended', 'consumable', 'Mended');
SELECT test.hear(test.heard('M0A', product_id => 'mended', product_type => 'consumable'));
SELECT test.admit('M1A', 'M1A', 'mended'), test.admit('M1B', 'M1A', 'mended');
SELECT is(test.claim('M0A'), 'delivered', 'a purchase of a product that is listed wrongly');
SELECT test.admit('M3A', 'M3A', 'mended'), test.admit('M3B', 'M3A', 'mended');
SELECT test.admit('M4A', 'M4A', 'mended'), test.admit('M4B', 'M4A', 'mended');
SELECT test.admit('M5A', 'M5A', 'mended'), test.claim('M5A'), test.admit('M5B', 'M5A', 'mended');
SELECT test.admit('M7A', 'M7A', 'found'), test.admit('M7B', 'M7A', 'found');
INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.example.a', 'found', 'consumable', 'Found');
SELECT is(test.claim('M7A'), 'delivered', 'a purchase of a product that was not listed, and then wrongly');
SELECT test.admit('M6A', 'M6A', 'mended'), test.admit('M6B', 'M6A', 'mended');
SELECT test.admit('M8A', 'M8A', 'mended'), test.claim('M8A');
INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES
    ('com.example.a', 'lifetime', 'non_renewing', 'For life');
SELECT test.admit('MAA', 'MAA', 'lifetime'), test.claim('MAA'), test.admit('MAB', 'MAA', 'lifetime');
SELECT test.admit('MBA', 'MBA', 'lifetime'), test.claim('MBA'), test.admit('MBB', 'MBA', 'lifetime');
SELECT test.admit('M9A', 'M9A', 'mended'), test.admit('M9B', 'M9A', 'mended'), test.claim('M9B');
SELECT test.admit('MCA', 'MCA', 'mended'), test.claim('MCA');
UPDATE iap.products SET type = 'non_consumable' WHERE product_id IN ('mended', 'found', 'lifetime');
SELECT test.admit('M8B', 'M8A', 'mended');
SELECT test.hear(test.heard('M9A', 'server_api', product_id => 'mended', product_type => 'non_consumable'));
SELECT test.admit('M0B', 'M0A', 'mended');
SELECT is(test.claim('M0B'), 'already_delivered', 'what is restored of it is not delivered once the list is mended');
SELECT is(test.claim('MAB'), 'already_delivered', 'nor where it was listed as a subscription that does not renew,');
SELECT is(test.claim('M1B'), 'delivered', 'nor, of what is still owed then,');
SELECT is(test.claim('M1A'), 'already_delivered', 'more than one id');
SELECT is(
    test.import(test.heard('M3A', product_id => 'mended')), 1::bigint,
    'delivered, as a company tells of what was before');
SELECT results_eq(
    $$SELECT test.places('M3A')$$, $$VALUES ('M3A black'), ('M3B restored')$$, 'it is owed under no other id either');
SELECT test.hear(test.heard(id, product_id => 'mended', original_transaction_id => 'M6A', exclusion => 'refunded',
    refunded_at => now())) FROM unnest(ARRAY['M6A', 'M6B']) AS id;
SELECT is(
    test.keep_owed_once(), '0 6', 'the night withdraws what restores something that is owed, or was delivered by then');
SELECT results_eq(
    $$SELECT test.places(id) FROM unnest(ARRAY['M4A', 'M5A', 'M7A']) AS id$$,
    $$VALUES ('M4A white'), ('M4B restored'), ('M5A black'), ('M5B restored'), ('M7A black'), ('M7B restored')$$,
    'and leaves what stands for both ids');
SELECT results_eq(
    $$SELECT test.places(id) FROM unnest(ARRAY['M8A', 'M9A', 'MBA']) AS id$$,
    $$VALUES ('M8A black'), ('M8B restored'), ('M9A restored'), ('M9B black'), ('MBA black'), ('MBB restored')$$,
    'also of what came, or was told to be bought once, after the list was mended, or was listed as not renewing');
SELECT is(
    iap.delivery_status('com.example.a', 'M5B'), 'DELIVERED', 'what was delivered by then is so under its other id');
-- Restored after that, it was never owed under the other id: nothing is withdrawn, and so nothing noted.
SELECT test.hear(test.heard(
    'MCB', product_id => 'mended', product_type => 'non_consumable', original_transaction_id => 'MCA',
    exclusion => 'restored'));
SELECT is(test.keep_owed_once(), '0 0', 'what enters as restored is no work for the night');
SELECT is(
    iap.delivery_status('com.example.a', 'MCB'), 'DELIVERED',
    'what was delivered by then is so under an id that it is restored under later');
SELECT is(test.claim('MCB'), 'already_delivered', 'as a claim of it finds');
SELECT test.run_as('iap_job', 'SELECT iap.carry_refunds(7, now())');
SELECT results_eq(
    $$SELECT test.places('M6A')$$, $$VALUES ('M6A refunded'), ('M6B restored')$$, 'what was refunded counts once');
SELECT test.hear(test.heard('M2A', 'server_api', product_id => 'mended', product_type => 'consumable'));
SELECT test.hear(test.heard(
    'M2B', 'server_api', product_id => 'mended', product_type => 'consumable', original_transaction_id => 'M2A'));
SELECT is(test.claim(id), 'delivered', 'Apple''s own word goes before the list') FROM unnest(ARRAY['M2A', 'M2B']) AS id;

-- Taken for a restore by what the app's server said, until Apple knew better.
SELECT test.admit('10A', '10A', 'full'), test.admit('10B', '10A', 'full'), test.admit('10C', '10A', 'full');
SELECT is(test.claim('10A'), 'delivered', 'a purchase that is delivered');
SELECT results_eq(
    $$SELECT test.places('10A')$$, $$VALUES ('10A black'), ('10B restored'), ('10C restored')$$,
    'keeps what is said to restore it from being owed');
SELECT is(test.hear_again('10B', '10B', 1), 'white', 'what is a purchase of its own is owed');
SELECT is(test.keep_owed_once(), '0 0', 'and stays so');
SELECT is(test.hear_again('10C', '10A', 1), 'restored', 'unlike what does restore it');
SELECT is(test.claim('10B'), 'delivered', 'so that its customer gets it');
SELECT is(test.claim('10C'), 'already_delivered', 'but nobody the other one twice');
SELECT test.admit('11A', '11A', 'full'), test.admit('11B', '11A', 'full');
SELECT test.claim('11A');
SELECT is(test.hear_again('11B', '10A', 1), 'white', 'what restores another purchase than was said');
SELECT is(test.keep_owed_once(), '0 1', 'which is delivered');
SELECT is((SELECT reason FROM iap.excluded WHERE transaction_id = '11B'), 'restored', 'is owed no more than that');

SELECT is(test.moved_tally(), test.white_tally(), 'the moves explain the white table');
SELECT is_empty('SELECT * FROM test.misfits', 'every row fits its seal');
-- A purchase that is owed is owed once: under the id of which Apple told, else the original's.
SELECT test.admit('o1', product_id => 'full'), test.admit('o2', 'o1', 'full'), test.admit('o3', 'o1', 'full');
SELECT test.hear(test.heard('o3', product_id => 'full', product_type => 'non_consumable',
    original_transaction_id => 'o1'));
SELECT test.admit('p1', product_id => 'full'), test.admit('p2', 'p1', 'full'), test.admit('p3', 'p1', 'gems'),
    test.admit('p4', 'p1', 'full', environment => 'Sandbox');
SELECT is(test.run_as('iap_job', 'SELECT iap.withdraw_all_restored(7, now(), 1)'), '1', 'a few at once');
SELECT test.run_as('iap_job', 'SELECT iap.withdraw_all_restored(7, now(), 100)');
SELECT is(test.run_as('iap_job', 'SELECT iap.withdraw_all_restored(7, now(), 100)'), '0', 'until each is owed once');
SELECT set_eq(
    $$SELECT test.places(original) FROM unnest(ARRAY['o1', 'p1']) AS original$$,
    ARRAY['o1 restored', 'o2 restored', 'o3 white', 'p1 white', 'p2 restored', 'p3 white', 'p4 white'],
    'a night leaves one of its ids owed');
SELECT is(test.claim('p2'), 'delivered', 'and it can be claimed by the other');
SELECT set_eq($$SELECT test.places('p1')$$, ARRAY['p1 black', 'p2 restored', 'p3 white', 'p4 white'],
    'as what is owed');

-- Apple tells of a refund under the original's id, of what was delivered under the one that it was restored under.
CREATE FUNCTION test.carry(run bigint DEFAULT 8) RETURNS text
LANGUAGE sql AS $$ SELECT test.run_as('iap_job', format('SELECT iap.carry_refunds(%s, now())', run)) $$;
CREATE FUNCTION test.refunded(id text, original text, reversed boolean DEFAULT false) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        id, 'server_api', 'full', exclusion => CASE WHEN NOT reversed THEN 'refunded' END,
        product_type => 'non_consumable', original_transaction_id => original, price_milliunits => 4990,
        refunded_at => CASE WHEN NOT reversed THEN now() - interval '1 hour' END,
        revocation_type => CASE WHEN NOT reversed THEN 'REFUND_PRORATED' END,
        revocation_percentage => CASE WHEN NOT reversed THEN 50000 END,
        verified_at => CASE WHEN reversed THEN now() + interval '2 hours' ELSE now() END), 8)
$$;
CREATE FUNCTION test.went_back(id text) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT concat_ws(' ', transaction_id, refund_percent, refunded_at = now() - interval '1 hour')
    FROM finance.refunds_after_delivery WHERE transaction_id = id
$$;
SELECT test.admit('c1', product_id => 'full'), test.admit('c2', 'c1', 'full'), test.claim('c2');
SELECT is(test.carry(), '0', 'nothing is refunded');
SELECT is(test.refunded('c1', 'c1'), 'restored', 'what was delivered otherwise');
SELECT is(test.carry(), '1', 'is refunded where it was delivered');
SELECT results_eq($$SELECT test.went_back('c2')$$, ARRAY['c2 50.000 t'], 'finance reads how much went back, and when');
SELECT is(test.carry(), '0', 'once');
SELECT is(test.refunded('c1', 'c1', true), 'restored', 'and where Apple takes it back');
SELECT is(test.carry(), '1', 'it is taken back');
SELECT is_empty($$SELECT test.went_back('c2')$$, 'the customer paid for the goods after all');
SELECT is(
    (SELECT refund_reversed_at FROM iap.transactions WHERE transaction_id = 'c2'), now() + interval '2 hours',
    'since Apple told so of the other id');
SELECT is(test.carry(), '0', 'and that once');
SELECT results_eq(
    $$SELECT test.moves('c2')$$,
    ARRAY['claimed white > claim', 'refunded claim > claim', 'refund_reversed claim > claim'],
    'both are moves of what was delivered');
-- How much went back Apple tells after it was carried.
SELECT test.admit('l1', product_id => 'full'), test.admit('l2', 'l1', 'full'), test.claim('l2');
CREATE FUNCTION test.part(share integer, told_at timestamptz) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        'l1', product_id => 'full', product_type => 'non_consumable', exclusion => 'refunded',
        refunded_at => now() - interval '1 hour',
        revocation_type => CASE WHEN share IS NOT NULL THEN 'REFUND_PRORATED' END, revocation_percentage => share,
        verified_at => told_at), 8)
$$;
SELECT test.part(NULL, now()), test.carry();
SELECT results_eq($$SELECT test.went_back('l2')$$, ARRAY['l2 100.000 t'], 'a refund of which nothing else is known');
SELECT test.part(30000, now() + interval '1 hour');
SELECT is(test.carry(9), '1', 'is known by another night to be one in part');
SELECT results_eq($$SELECT test.went_back('l2')$$, ARRAY['l2 30.000 t'], 'and counts as that, once');
SELECT is(test.carry(), '0', 'which is told once');
SELECT test.part(40000, now() + interval '2 hours'), test.carry(9);
SELECT results_eq($$SELECT test.went_back('l2')$$, ARRAY['l2 40.000 t'], 'as often as Apple corrects it');
SELECT test.part(40000, now() + interval '150 minutes');
SELECT is(test.carry(), '0', 'and not as often as it says the same');
SELECT test.hear(test.heard(
    'l1', product_id => 'full', product_type => 'non_consumable', verified_at => now() + interval '3 hours'), 8);
SELECT is(test.carry(), '1', 'and is taken back where Apple takes it back');

-- What Apple tells later of the delivered id itself stands.
SELECT test.admit('lk1', product_id => 'full'), test.admit('lk2', 'lk1', 'full'), test.claim('lk2');
SELECT test.refunded('lk1', 'lk1'), test.carry();
SELECT test.hear(test.heard(
    'lk2', 'server_api', 'full', product_type => 'non_consumable', original_transaction_id => 'lk1',
    exclusion => 'refunded', refunded_at => now() - interval '1 hour', revocation_type => 'REFUND_PRORATED',
    revocation_percentage => 20000, verified_at => now() + interval '1 hour'), 8);
SELECT is(test.carry(), '0', 'an older word of the other id');
SELECT results_eq($$SELECT test.went_back('lk2')$$, ARRAY['lk2 20.000 t'], 'says no more how much went back');
-- A word that does not say how much, as of a receipt, takes nothing from one that does, whichever was the later one.
SELECT test.admit(id, original, 'full')
FROM (VALUES ('lm1', 'lm1'), ('lm2', 'lm1'), ('ln1', 'ln1'), ('ln2', 'ln1')) AS ids (id, original);
SELECT test.claim('lm2'), test.claim('ln2'), test.refunded('lm1', 'lm1'), test.refunded('ln2', 'ln1');
SELECT test.hear(test.heard(
    id, product_id => 'full', product_type => 'non_consumable', original_transaction_id => original,
    exclusion => 'refunded', refunded_at => now() - interval '1 hour', verified_at => now() + interval '1 hour'), 8)
FROM (VALUES ('lm2', 'lm1'), ('ln1', 'ln1')) AS ids (id, original);
SELECT is(test.carry(), '1', 'of the other id, it is carried');
SELECT results_eq(
    $$SELECT test.went_back(id) FROM unnest(ARRAY['lm2', 'ln2']) AS id$$, ARRAY['lm2 50.000 t', 'ln2 50.000 t'],
    'of the delivered one, it stays');
-- Why it went back,
SELECT test.admit('lo1', product_id => 'full'), test.admit('lo2', 'lo1', 'full'), test.claim('lo2');
SELECT test.hear(jsonb_populate_record(
    test.heard(
        'lo1', 'server_api', 'full', product_type => 'non_consumable', exclusion => 'refunded', refunded_at => now()),
    '{"refund_reason": "app_issue"}'));
SELECT test.carry();
SELECT is(
    (SELECT refund_reason FROM iap.black WHERE transaction_id = 'lo2'), 'app_issue', 'is carried with it');

-- Of the delivered id Apple told another refund: what kind the other id's was says nothing of that, nor its end.
SELECT test.admit('i1', product_id => 'full'), test.admit('i2', 'i1', 'full'), test.claim('i2');
SELECT test.hear(test.heard(
    'i2', 'server_api', 'full', product_type => 'non_consumable', original_transaction_id => 'i1',
    exclusion => 'refunded', refunded_at => now() - interval '3 days', verified_at => now() - interval '2 days'), 8);
SELECT is(test.refunded('i1', 'i1'), 'restored', 'refunded days later under the other id');
SELECT is(test.carry(), '0', 'a refund keeps its kind');
SELECT test.admit('j1', product_id => 'full'), test.admit('j2', 'j1', 'full'), test.claim('j2');
SELECT test.refunded('j1', 'j1');
SELECT is(test.carry(), '1', 'carried');
SELECT test.hear(test.heard(
    'j2', 'server_api', 'full', product_type => 'non_consumable', original_transaction_id => 'j1',
    exclusion => 'refunded', refunded_at => now() + interval '3 days', verified_at => now() + interval '4 days'), 8);
SELECT test.refunded('j1', 'j1', true);
SELECT is(test.carry(), '0', 'and refunded again by what Apple tells of it itself');
SELECT results_eq(
    $$SELECT refunded_at FROM iap.black WHERE transaction_id = 'j2'$$, $$VALUES (now() + interval '3 days')$$,
    'it stays refunded when the first is taken back');

-- Told of both ids, it went back once, as long as Apple says so of either.
SELECT test.admit('d1', product_id => 'full'), test.admit('d2', 'd1', 'full'), test.claim('d2');
SELECT test.refunded('d1', 'd1'), test.refunded('d2', 'd1');
SELECT is(test.carry(), '0', 'what Apple told of the delivered id itself is known');
SELECT test.admit('e1', product_id => 'full'), test.admit('e2', 'e1', 'full'), test.claim('e2');
SELECT test.refunded('e1', 'e1'), test.carry();
SELECT is(test.refunded('e2', 'e1', true), 'black', 'the delivered id without a refund, later');
SELECT is(test.carry(), '0', 'says what it always said');
SELECT isnt_empty(
    $$SELECT FROM finance.refunds_after_delivery WHERE transaction_id = 'e2'$$, 'and the refund of the other stays');
-- Nor is a refund that Apple told of it after that taken back with the other's, though both are of one day.
SELECT test.hear(test.heard(
    'e2', 'server_api', 'full', product_type => 'non_consumable', original_transaction_id => 'e1',
    exclusion => 'refunded', refunded_at => now() - interval '1 hour', verified_at => now() + interval '3 hours'), 9);
SELECT test.refunded('e1', 'e1', true);
SELECT is(test.carry(), '0', 'and so does that it is refunded again');
SELECT isnt_empty($$SELECT FROM finance.refunds_after_delivery WHERE transaction_id = 'e2'$$, 'which stays');
-- Of two that were delivered, the one whose refund is known is enough.
SELECT test.admit('de1', 'de1', 'full'), test.admit('de2', 'de1', 'full'), test.resolve('de2', 'delivered'),
    test.import(test.heard('de1', product_id => 'full', product_type => 'non_consumable'));
SELECT test.refunded('de2', 'de1'), test.refunded('de3', 'de1');
SELECT is(test.carry(), '0', 'told of under a third id, it went back once');
SELECT results_eq(
    $$SELECT test.places('de1')$$, $$VALUES ('de1 black'), ('de2 black'), ('de3 restored')$$, 'for that one');
-- What was delivered under no id has no refund carried to what else was delivered of its original.
SELECT test.admit('t1', product_id => 'full'), test.resolve('t1', 'dismissed'), test.admit('t2', 't1', 'gems'),
    test.claim('t2'), test.refunded('t1', 't1');
SELECT is(test.carry(), '0', 'that is another purchase');
-- Two restored ids of one delivery, and one of another purchase that was delivered twice.
SELECT test.admit('f1', product_id => 'full'), test.admit('f2', 'f1', 'full'), test.admit('f3', 'f1', 'full'),
    test.claim('f3');
SELECT test.refunded('f1', 'f1'), test.refunded('f2', 'f1');
SELECT is(test.carry(), '1', 'of two ids one tells');
-- What another app, or a tester, has of the same original is not what was delivered.
SELECT test.admit('ca1', product_id => 'full'), test.admit('ca3', 'ca1', 'full'), test.claim('ca3'),
    test.refunded('ca1', 'ca1');
INSERT INTO iap.transactions
SELECT (jsonb_populate_record(t, others.here || jsonb_build_object('transaction_id', id))).*
FROM iap.transactions AS t
CROSS JOIN (VALUES ('{"bundle_id": "com.example.b"}'::jsonb), ('{"environment": "Sandbox"}')) AS others (here)
CROSS JOIN unnest(ARRAY['ca2', 'ca3']) AS id
WHERE t.transaction_id = 'ca3';
SELECT is(test.carry(), '1', 'a refund is carried in its app');
SELECT results_eq(
    $$SELECT transaction_id, bundle_id, environment FROM iap.transactions
    WHERE transaction_id IN ('ca2', 'ca3') AND refunded_at IS NOT NULL$$,
    $$VALUES ('ca3' COLLATE "C", 'com.example.a' COLLATE "C", 'Production')$$, 'to what was delivered there');
-- Nor is it taken back for theirs, or with it theirs.
DELETE FROM iap.transactions
WHERE transaction_id IN ('ca2', 'ca3') AND (bundle_id <> 'com.example.a' OR environment <> 'Production');
INSERT INTO iap.transactions
SELECT (jsonb_populate_record(t, others.here || CASE transaction_id WHEN 'ca1' THEN
    '{"refunded_at": null, "refund_run_id": null, "refund_reason": null, "revocation_type": null,
    "revocation_percentage": null, "refund_told_at": null}' ELSE '{}' END::jsonb)).*
FROM iap.transactions AS t
CROSS JOIN (VALUES ('{"bundle_id": "com.example.b"}'::jsonb), ('{"environment": "Sandbox"}')) AS others (here)
WHERE t.transaction_id IN ('ca1', 'ca3');
SELECT is(test.carry(), '0', 'what another app''s refund came to says nothing of it');
SELECT test.refunded('ca1', 'ca1', true);
SELECT is(test.carry(), '1', 'its own says so');
SELECT is(
    (SELECT count(*) FROM iap.transactions WHERE transaction_id = 'ca3' AND refunded_at IS NOT NULL), 2::bigint,
    'of it alone');
DELETE FROM iap.transactions
WHERE transaction_id IN ('ca1', 'ca3') AND (bundle_id <> 'com.example.a' OR environment <> 'Production');
-- A subscription's period.
SELECT test.hear_period('s1', 's1', 'w1'), test.hear_period('s2', 's1', 'w1'), test.hear_period('s3', 's1', 'w2', 30);
SELECT test.claim('s2'), test.claim('s3');
SELECT is(test.hear_period('s1', 's1', 'w1', exclusion => 'restored'), 'restored', 'the same period under another id');
UPDATE iap.transactions SET refunded_at = now(), refund_run_id = 8 WHERE transaction_id = 's1';
SELECT is(test.carry(), '1', 'is refunded as what was delivered for it');
SELECT set_eq(
    $$SELECT transaction_id FROM finance.refunds_after_delivery WHERE transaction_id LIKE 's_'$$, ARRAY['s2'],
    'and no other period');

-- A third id of it was refunded: none is owed, and nobody is told otherwise.
SELECT test.hear_period('q1', 'q1', 'w9'), test.hear_period('q2', 'q1', 'w9', exclusion => 'restored'),
    test.hear_period('q3', 'q1', 'w9', exclusion => 'refunded');
SELECT is(test.run_as('iap_app', $$SELECT tell FROM iap.status('com.example.a', 'q2')$$), 'not paid',
    'the restored id');
SELECT test.is_refused(
    'iap_app', $$SELECT iap.admit('com.example.a', 'Production', 'q1', 'q1', 'gold', 1, now(), 'ann')$$, '55000',
    '%refunded under another id', 'nor is it admitted');
SELECT is(test.claim(id), 'excluded', 'or had by ' || id) FROM unnest(ARRAY['q1', 'q2', 'q3']) AS id;

-- Owed beside what only looks like the same purchase: of nobody knows what type, delivered elsewhere, shared in a
-- family.
SELECT test.admit('k1', product_id => 'unheard.of'), test.admit('k2', 'k1', 'unheard.of');
INSERT INTO iap.delivered_originals (original_transaction_id, bundle_id, environment, transaction_id)
VALUES ('g0', 'com.example.b', 'Production', 'g9'), ('g0', 'com.example.a', 'Sandbox', 'g9');
SELECT test.admit('g1', 'g0', 'full');
SELECT test.hear(test.heard(
    'h1', product_id => 'full', product_type => 'non_consumable', original_transaction_id => 'h0',
    exclusion => 'family_shared', refunded_at => now()));
SELECT test.admit('h2', 'h0', 'full');
SELECT test.run_as('iap_job', 'SELECT iap.withdraw_all_restored(7, now(), 100)');
SELECT set_eq(
    $$SELECT test.places(original) FROM unnest(ARRAY['k1', 'g0', 'h0']) AS original$$,
    ARRAY['k1 white', 'k2 white', 'g1 white', 'h1 family_shared', 'h2 white'], 'each of these is another purchase');
SELECT test.hear(test.heard(
    'h4', product_id => 'unheard.of', original_transaction_id => 'h3', exclusion => 'family_shared',
    refunded_at => now()));
SELECT is(test.admit('h5', 'h3', 'unheard.of'), 'white', 'also where nobody knows what was shared');
SELECT is(test.claim('h5'), 'delivered', 'what was paid is to be had');

-- Also where Apple tells late that it is shared: of what was delivered, restored or dismissed by then.
CREATE FUNCTION test.share(id text, original text, is_over boolean DEFAULT false) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        id, 'server_api', 'full', product_type => 'non_consumable', original_transaction_id => original,
        exclusion => 'family_shared', refunded_at => CASE WHEN is_over THEN now() END,
        revocation_type => CASE WHEN is_over THEN 'FAMILY_REVOKE' END, verified_at => now() + interval '1 hour'), 8)
$$;
CREATE FUNCTION test.night() RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_job', $query$
        SELECT concat_ws(' ', iap.withdraw_all_restored(8, now(), 100), iap.carry_refunds(8, now()),
            iap.release_restored(8, now()))$query$)
$$;
SELECT test.admit('yr3', 'yr1', 'full'), test.refunded('yr2', 'yr1'), test.night(), test.refunded('yr1', 'yr1'),
    test.night(), test.night();
SELECT set_eq($$SELECT test.places('yr1')$$, ARRAY['yr1 refunded', 'yr2 restored', 'yr3 restored'],
    'of two ids that Apple refunded one stands for the purchase, night after night');
SELECT test.hear_period('yp1', 'yp0', 'line-yp'), test.hear(test.heard(
    'yp2', 'server_api', 'pass', product_type => 'auto_renewable', original_transaction_id => 'yp0',
    web_order_line_item_id => 'line-yp', exclusion => 'family_shared', refunded_at => now(),
    revocation_type => 'FAMILY_REVOKE'));
SELECT is(test.night(), '0 0 0', 'the end of a family''s share takes no period from who paid for it');
SELECT test.admit('xt1', 'xt0', 'full'), test.claim('xt1'), test.share('xt1', 'xt0'), test.admit('xt2', 'xt0', 'full');
SELECT is(test.night(), '0 0 0', 'a family''s share that was delivered');
SELECT is(test.claim('xt2'), 'delivered', 'keeps nobody from what they paid for');
SELECT test.admit('xu1', 'xu0', 'full'), test.claim('xu1'), test.hear(test.heard(
    'xu2', product_id => 'full', product_type => 'non_consumable', original_transaction_id => 'xu0'));
SELECT is(test.night(), '1 0 0', 'and what was withdrawn for its sake');
SELECT test.share('xu1', 'xu0');
SELECT is(
    test.hear(test.heard(
        'xu2', product_id => 'full', product_type => 'non_consumable', original_transaction_id => 'xu0')),
    'white', 'is owed once more is known');
SELECT test.admit('xs1', 'xs0', 'full'), test.claim('xs1'), test.hear(test.heard(
    id, product_id => 'full', product_type => 'non_consumable', original_transaction_id => 'xs0',
    exclusion => 'restored'))
FROM unnest(ARRAY['xs2', 'xs3']) AS id;
SELECT test.admit('xr1', 'xr0', 'full'), test.hear(test.heard(
    'xr2', product_id => 'full', product_type => 'non_consumable', original_transaction_id => 'xr0',
    exclusion => 'restored'));
SELECT test.share('xs1', 'xs0'), test.share('xs3', 'xs0'), test.share('xr1', 'xr0');
-- Whatever another app, or a tester, owes or delivered of the same original.
INSERT INTO iap.transactions
SELECT (jsonb_populate_record(
    t, others.here || '{"transaction_id": "xr9", "place": "white", "reason": null, "excluded_at": null,
        "excluded_run_id": null}')).*
FROM iap.transactions AS t
CROSS JOIN (VALUES ('{"bundle_id": "com.example.b"}'::jsonb), ('{"environment": "Sandbox"}')) AS others (here)
WHERE t.transaction_id = 'xr2';
INSERT INTO iap.delivered_originals (original_transaction_id, bundle_id, environment, transaction_id)
VALUES ('xr0', 'com.example.b', 'Production', 'xr9'), ('xr0', 'com.example.a', 'Sandbox', 'xr9');
SELECT is(test.night(), '0 0 2', 'nor is what never got to white for its sake lost until then');
DELETE FROM iap.transactions WHERE transaction_id = 'xr9';
SELECT set_eq(
    $$SELECT test.places(original) FROM unnest(ARRAY['xs0', 'xr0']) AS original$$,
    ARRAY['xs1 black', 'xs2 white', 'xs3 restored', 'xr1 family_shared', 'xr2 white'],
    'but for what is shared as well');
SELECT is(test.claim(id), 'delivered', 'to be had by ' || id) FROM unnest(ARRAY['xs2', 'xr2']) AS id;
SELECT test.share('xs3', 'xs0', true);
SELECT is(test.night(), '0 0 0', 'that one share ends is no refund of the other');
SELECT test.admit('xv1', product_id => 'full'), test.claim('xv1'), test.admit('xw1', product_id => 'full');
SELECT test.hear(test.heard(
    id || '2', product_id => 'full', product_type => 'non_consumable', original_transaction_id => id || '1'))
FROM unnest(ARRAY['xv', 'xw']) AS id;
SELECT test.resolve('xw2', 'dismissed'), test.night();
SELECT test.share('xv2', 'xv1', true), test.share('xw2', 'xw1', true);
SELECT is(test.night(), '0 0 1', 'that a share ends gives back what was dismissed with it, and');
SELECT set_eq(
    $$SELECT test.places(original) FROM unnest(ARRAY['xv1', 'xw1']) AS original$$,
    ARRAY['xv1 black', 'xv2 restored', 'xw1 white', 'xw2 dismissed'], 'takes nothing from what another paid');
SELECT is_empty(
    $$SELECT FROM finance.refunds_after_delivery WHERE transaction_id IN ('xv1', 'xv2')$$, 'and is no refund of it');
SELECT is(test.claim('xw1'), 'delivered', 'which is still to be had');
SELECT test.share('xt1', 'xt0', true);
SELECT test.hear(test.heard(
    'xt1', 'server_api', 'full', exclusion => 'refunded', refunded_at => now(),
    verified_at => now() + interval '2 hours'));
SELECT is_empty(
    $$SELECT FROM finance.refunds_after_delivery WHERE transaction_id = 'xt1'$$,
    'nor of what was shared, whatever word tells of it');
-- Withdrawn for a refund, and shared by what Apple tells then: it is none's to be owed when the refund is reversed.
SELECT test.hear(test.heard('xq1', product_id => 'full', product_type => 'non_consumable')),
    test.hear(test.heard(
        'xq2', product_id => 'full', product_type => 'non_consumable', original_transaction_id => 'xq1',
        exclusion => 'restored')),
    test.refunded('xq2', 'xq1');
SELECT is(test.night(), '1 0 0', 'an id of what is refunded');
SELECT test.share('xq1', 'xq1'), test.hear(test.heard(
    'xq2', 'server_api', 'full', product_type => 'non_consumable', original_transaction_id => 'xq1',
    exclusion => 'before_start', verified_at => now() + interval '2 hours'), 8);
SELECT is(test.night(), '0 0 0', 'that a family shares');
SELECT results_eq(
    $$SELECT test.places('xq1')$$, $$VALUES ('xq1 restored'), ('xq2 before_start')$$, 'is not owed for its own sake');
-- Its refund was taken for the delivered one's until Apple told that it is shared, and a word that knows of no sharing
-- tells of it each night.
SELECT test.admit('xz1', product_id => 'full'), test.claim('xz1');
CREATE FUNCTION test.end_share(id text, hours integer, refunded_at timestamptz DEFAULT NULL) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        id, 'local', 'full', product_type => 'non_consumable', original_transaction_id => left(id, 2) || '1',
        exclusion => CASE WHEN refunded_at IS NOT NULL THEN 'refunded' END, refunded_at => refunded_at,
        verified_at => now() + hours * interval '1 hour'), 8)
$$;
SELECT test.end_share('xz2', 0), test.night();
SELECT test.end_share('xz2', 0, now());
SELECT is(test.night(), '0 1 0', 'a refund that Apple tells of another id');
SELECT test.share('xz2', 'xz1', true), test.night(), test.end_share('xz2', 2, now()), test.night();
SELECT results_eq(
    $$SELECT test.places('xz1')$$, $$VALUES ('xz1 black'), ('xz2 restored')$$, 'of a family''s share stands for none');
SELECT is_empty(
    $$SELECT transaction_id FROM finance.refunds_after_delivery WHERE transaction_id = 'xz1'
    UNION ALL
    SELECT transaction_id FROM finance.refunds_before_delivery WHERE transaction_id = 'xz2'$$,
    'and finance has no refund of either');
-- Until the night hears that it is shared, nobody has what the desk takes back.
SELECT test.admit('xy1', product_id => 'full'), test.resolve('xy1', 'dismissed'), test.share('xy1', 'xy1');
SELECT is(test.reopen('xy1'), 'reopened', 'a wrong word of the desk''s of what is shared');
SELECT is(test.claim('xy1'), 'excluded', 'gives nobody what another paid');

-- An original has itself no other: where two admissions contradict each other in this, they are one purchase.
SELECT test.admit('r1', 'r2', 'full'), test.admit('r2', 'r3', 'full');
SELECT is(test.claim('r1'), 'delivered', 'of a purchase and what it names as its original');
SELECT is(test.claim('r2'), 'already_delivered', 'the other is delivered by that, whatever it names itself');
SELECT is(test.claim('r2'), 'already_delivered', 'however often it is claimed');
SELECT test.admit('r4', 'r5', 'full'), test.admit('r5', 'r6', 'full');
SELECT is(test.claim('r5'), 'delivered', 'the original first');
SELECT is(test.claim('r4'), 'already_delivered', 'as well');
SELECT is(test.admit('r6', 'r7', 'full'), 'already_delivered', 'nor is what comes later admitted');
SELECT test.admit('r8', 'r9', 'full'), test.admit('r9', 'r10', 'full');
SELECT is(test.resolve('r8', 'delivered'), 'delivered', 'delivered by hand');
SELECT is(test.run_as('iap_job', 'SELECT iap.withdraw_all_restored(7, now(), 100)'), '1', 'the night withdraws it');
SELECT results_eq($$SELECT test.places('r10')$$, $$VALUES ('r9 restored')$$, 'as restored');
SELECT is(test.reopen('r8'), 'reopened', 'until that is taken back');
SELECT is(test.claim('r8'), 'delivered', 'and it is delivered by its server');
SELECT is(test.claim('r9'), 'already_delivered', 'once');
SELECT test.admit('w8', 'w9', 'full'), test.admit('w9', 'w10', 'full'), test.admit('w11', 'w10', 'full');
SELECT is(test.claim(id), 'delivered', 'delivered, ' || id) FROM unnest(ARRAY['w8', 'w11']) AS id;
SELECT is(test.hear_again('w11', 'w11', 1), 'black', 'and another purchase than what left white with it');
SELECT is(test.keep_owed_once(), '0 0', 'that is not owed again, for it was delivered otherwise, too');
SELECT test.admit('v1', 'v2', 'unheard.of'), test.admit('v2', 'v3', 'unheard.of');
SELECT is(test.claim('v1'), 'delivered', 'of what nobody knows the type of');
SELECT is(test.claim('v2'), 'undecided', 'the support desk decides');
SELECT test.admit('u1', 'u2', 'gems'), test.admit('u2', 'u3', 'gems'), test.claim('u1');
SELECT is(test.claim('u2'), 'delivered', 'a consumable is owed each time');

-- Apple's word on what was delivered ends what the server said, and no more.
SELECT test.hear(test.heard('v1', source => 'server_api', product_id => 'unheard.of', original_transaction_id => 'v1'));
SELECT is(test.claim('v2'), 'delivered', 'which is another purchase, as Apple says');
SELECT is(test.admit('v4', 'v1', 'unheard.of'), 'white', 'what restores the first');
SELECT is(test.claim('v4'), 'undecided', 'is delivered by it all the same');

-- What the night looks for it finds by an index: of other products no row of white is read.
CREATE FUNCTION test.index_of(query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
        IF line ~ 'transactions' THEN
            RETURN substring(line FROM 'Scan (?:using|on) (transactions_\w+)');
        END IF;
    END LOOP;
END
$$;
INSERT INTO iap.transactions
SELECT (jsonb_populate_record(
    t, jsonb_build_object('transaction_id', 'many-' || number, 'original_transaction_id', 'many-' || number))).*
FROM iap.transactions AS t CROSS JOIN generate_series(1, 2000) AS number
WHERE t.transaction_id = 'k1';
UPDATE iap.transactions SET product_type = 'consumable', product_id = 'gems.' || right(transaction_id, 2)
WHERE transaction_id ~ '^many-.*[1-9]$';
ANALYZE iap.transactions;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SELECT is(
    test.index_of('SELECT FROM iap.white_bought_once()'), 'transactions_white_restorable',
    'of what is known to be bought once');
SET LOCAL enable_bitmapscan = on;
UPDATE iap.transactions
SET product_id = 'other', source = 'verify_receipt',
    product_type = CASE WHEN transaction_id ~ '[5-9]$' THEN 'consumable' END
WHERE starts_with(transaction_id, 'many-');
ANALYZE iap.transactions, iap.products;
SELECT cmp_ok(
    test.rows_read_by('iap.transactions', 'SELECT iap.withdraw_all_restored(7, now(), 10)', 'iap_job'),
    '<', 1000::bigint,
    'and of what the list calls something else none is read');

SELECT * FROM finish();
ROLLBACK;
