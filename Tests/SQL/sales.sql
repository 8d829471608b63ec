-- Sold against seen: what a sales report says, beside what the tables hold.
BEGIN;
SELECT no_plan();

INSERT INTO iap.products (bundle_id, product_id, type, name)
VALUES ('com.example.a', 'no_ads', 'non_consumable', 'No ads');

-- A report of a day: its number.
CREATE FUNCTION test.report(
    day date, developer text DEFAULT 'Us', bundle_ids text[] DEFAULT '{com.example.a}',
    replaced_at timestamptz DEFAULT NULL
) RETURNS bigint
LANGUAGE sql AS $$
    INSERT INTO iap.sales_reports (day, developer, bundle_ids, file, lines, refused, replaced_at)
    VALUES ($1, $2, $3, 'S_D.txt', 1, 0, $4)
    RETURNING report_id
$$;
CREATE FUNCTION test.sold(
    report_id bigint, units bigint, storefront text DEFAULT 'USA', product_id text DEFAULT 'gems',
    milliunits bigint DEFAULT 990, currency text DEFAULT 'USD', bundle_id text DEFAULT 'com.example.a'
) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO iap.sales (
        report_id, app_sku, bundle_id, product_id, type, storefront, price_milliunits, currency, units)
    VALUES ($1, 'SKU', $7, $4, 'IA1', $3, $5, $6, $2)
$$;
-- A transaction that waits in white, bought at a moment.
CREATE FUNCTION test.bought(
    transaction_id text, purchased_at timestamptz, storefront text DEFAULT NULL, quantity integer DEFAULT 1,
    product_id text DEFAULT 'gems', original_transaction_id text DEFAULT NULL, environment text DEFAULT 'Production'
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.admit(
        $1, coalesce($6, $1), product_id => $5, quantity => $4, environment => $7);
    UPDATE iap.white AS w SET purchased_at = $2, storefront = $3 WHERE w.transaction_id = $1;
END
$$;
CREATE VIEW test.compared AS
SELECT
    to_char(day, 'MM-DD') AS day, product_id, compared_by, storefront, units_sold AS sold, units_seen AS seen,
    difference AS diff, refunds_sold AS r_sold, refunds_seen AS r_seen
FROM finance.sold_against_seen
ORDER BY finance.sold_against_seen.day, product_id, storefront;
CREATE FUNCTION test.shown() RETURNS SETOF text
LANGUAGE sql AS $$ SELECT trim(BOTH '()' FROM compared::text) FROM test.compared $$;

SELECT is_empty('SELECT * FROM test.shown()', 'without a report, nothing is compared');

-- By product where a transaction does not tell its storefront; a day is one of Pacific Time.
SELECT test.bought('1', '2026-11-10 07:59:59+00'), test.bought('2', '2026-11-10 08:00+00', 'USA'),
    test.bought('3', '2026-11-11 07:59:59+00', quantity => 2), test.bought('4', '2026-11-11 08:00+00');
SELECT is_empty('SELECT * FROM test.shown()', 'nor what was seen on days without one');
SELECT test.sold(report, 4, 'USA'), test.sold(report, 3, 'CHN', currency => 'CNY', milliunits => 6000)
FROM test.report('2026-11-10') AS report;
SELECT results_eq('SELECT * FROM test.shown()', ARRAY['11-10,gems,product,,7,3,4,0,0'],
    'all countries together, since one transaction does not tell its storefront');
SELECT is((SELECT amount_sold FROM finance.sold_against_seen), NULL, 'in two currencies there is no amount');

-- By country where every transaction tells its storefront; also in black and excluded.
UPDATE iap.white SET storefront = 'CHN' WHERE transaction_id = '3';
SELECT test.claim('3');
SELECT results_eq('SELECT * FROM test.shown()',
    ARRAY['11-10,gems,country,CHN,3,2,1,0,0', '11-10,gems,country,USA,4,1,3,0,0'], 'country by country');
SELECT results_eq(
    'SELECT currency, amount_sold FROM finance.sold_against_seen ORDER BY storefront',
    $$VALUES ('CNY', 18.000), ('USD', 3.960)$$, 'with what customers paid');
SELECT test.resolve('2', 'dismissed');
SELECT results_eq(
    'SELECT seen FROM test.compared', ARRAY[2, 1]::bigint[], 'what support dismissed was sold all the same');

-- What was never sold, or not then.
SELECT test.bought('5', '2026-11-10 12:00+00', 'USA', environment => 'Sandbox');
SELECT test.bought('6', '2026-11-10 12:00+00', 'USA', product_id => 'no_ads', original_transaction_id => 'before');
-- Listed wrongly when it was admitted.
INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.example.a', 'mended', 'consumable', 'Mended');
SELECT test.bought('6a', '2026-11-10 12:00+00', 'USA', product_id => 'mended', original_transaction_id => 'before');
UPDATE iap.products SET type = 'non_consumable' WHERE product_id = 'mended';
SELECT test.hear(
    test.heard(
        reason, exclusion => reason, purchased_at => '2026-11-10 12:00+00', storefront => 'USA',
        original_transaction_id => CASE reason WHEN 'restored' THEN 'before' END))
FROM unnest(ARRAY[
    'sandbox', 'foreign_bundle', 'family_shared', 'invalid_quantity', 'restored', 'upgraded',
    'before_start']) AS reason;
SELECT results_eq(
    $$SELECT product_id, seen FROM test.compared WHERE storefront = 'USA'$$,
    $$VALUES ('gems' COLLATE "C", 3::bigint)$$,
    'restored, shared, foreign and sandbox transactions were not sold; upgraded and earlier ones were');

-- Refunds, on their day.
SELECT test.hear(test.heard('3', 'local', quantity => 2, exclusion => 'refunded',
    purchased_at => '2026-11-11 07:59:59+00', refunded_at => '2026-11-13 07:00+00'));
SELECT test.sold(test.report('2026-11-12'), -3, 'CHN');
SELECT results_eq($$SELECT shown FROM test.shown() AS shown WHERE shown LIKE '11-12%'$$,
    ARRAY['11-12,gems,country,CHN,0,0,0,3,2'], 'refunds are compared on the day of the refund');

-- Only the report in force counts, of each account by itself.
SELECT test.sold(test.report('2026-11-12', replaced_at => now()), 100, 'CHN');
SELECT results_eq($$SELECT sold FROM test.compared WHERE day = '11-12'$$, ARRAY[0::bigint], 'a replaced report is out');
SELECT results_eq(
    $$SELECT units FROM finance.proceeds WHERE day = '2026-11-12'$$, ARRAY[-3::bigint], 'of the proceeds, too');
SELECT test.report('2026-11-12', 'Before us', replaced_at => now()),
    test.report('2026-11-14', 'Us', '{com.example.sold}', replaced_at => now()),
    test.report('2026-11-12', 'Heirs', '{com.example.a,com.example.heirs}');
SELECT set_eq(
    $$SELECT sold, r_sold FROM test.compared WHERE day = '11-12'$$, $$VALUES (0::bigint, 3::bigint)$$,
    'nor does it count twice of an app of two accounts');
SELECT bag_eq(
    $$SELECT bundle_id, day FROM finance.compared_days WHERE day >= '2026-11-12'$$,
    $$VALUES
        ('com.example.a' COLLATE "C", '2026-11-12'::date), ('com.example.heirs', '2026-11-12')$$,
    'and what it alone names is not read');
SELECT throws_like($$SELECT test.report('2026-11-12')$$, '%"sales_reports_in_force"', 'two in force are refused');
SELECT test.sold(test.report('2026-11-15', 'Others', '{com.example.o}'), 1, bundle_id => 'com.example.o');
SELECT test.bought('7', '2026-11-15 12:00+00');
SELECT is_empty(
    $$SELECT * FROM finance.sold_against_seen WHERE day = '2026-11-15' AND bundle_id = 'com.example.a'$$,
    'the other account''s report tells nothing of our apps');
SELECT test.report('2026-11-15');
SELECT results_eq(
    $$SELECT units_sold, units_seen, difference FROM finance.sold_against_seen
    WHERE day = '2026-11-15' AND bundle_id = 'com.example.a'$$,
    $$VALUES (0::bigint, 1::bigint, -1::bigint)$$, 'and ours does, also of what it does not name');

-- Nobody knew whose lines they are when it was read; by now another report of the account says so.
CREATE FUNCTION test.days_of(bundle_id text) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT to_char(day, 'MM-DD') FROM finance.compared_days AS compared WHERE compared.bundle_id = $1 ORDER BY day
$$;
SELECT test.sold(test.report('2026-12-01', 'Apart', '{}'), 2, bundle_id => NULL),
    test.report('2026-12-02', 'Apart', '{}'), test.report('2026-12-02', 'Others alike', '{}');
SELECT test.sold(id, 1, bundle_id => 'com.example.late'), test.sold(id, 1, product_id => 'new', bundle_id => NULL)
FROM test.report('2026-12-03', 'Apart', '{com.example.late}') AS id;
SELECT test.sold(test.report('2026-12-04', 'Another', '{}'), 2, bundle_id => NULL);
SELECT results_eq(
    $$SELECT test.days_of('com.example.late')$$, ARRAY['12-02', '12-03'],
    'a day is compared whose report has none of its lines, or names it');

-- An app that went to another account.
SELECT test.report('2026-12-11', 'Seller', '{com.example.sold}'), test.report('2026-12-12', 'Seller', '{}'),
    test.report('2026-12-13', 'Buyer', '{com.example.sold}'), test.report('2026-12-14', 'Seller', '{}'),
    test.report('2026-12-15', 'Buyer', '{}');
SELECT results_eq(
    $$SELECT test.days_of('com.example.sold')$$, ARRAY['12-11', '12-13', '12-15'],
    'is compared by that one''s reports');

-- What was refunded, or cost nothing, was not paid in another currency.
SELECT test.bought('8', '2026-11-18 12:00+00');
SELECT test.sold(report, 2), test.sold(report, -1, 'DEU', currency => 'EUR'),
    test.sold(report, 3, 'JPN', milliunits => 0, currency => 'JPY'),
    test.sold(report, 4, 'FRA', milliunits => 0, currency => NULL)
FROM test.report('2026-11-18') AS report;
SELECT results_eq(
    $$SELECT compared_by, units_sold, currency, amount_sold FROM finance.sold_against_seen WHERE day = '2026-11-18'$$,
    $$VALUES ('product', 9::bigint, 'USD', 1.980)$$, 'refunds and free units have no say in the amount');
SELECT test.bought('9', '2026-11-19 12:00+00');
SELECT test.sold(report, 2), test.sold(report, 1, 'DEU', milliunits => NULL, currency => NULL)
FROM test.report('2026-11-19') AS report;
SELECT results_eq(
    $$SELECT currency, amount_sold FROM finance.sold_against_seen WHERE day = '2026-11-19'$$,
    $$VALUES (NULL, NULL::numeric)$$, 'units at an unknown price have');
DELETE FROM iap.sales_reports WHERE day IN ('2026-11-18', '2026-11-19');

-- What is of an app that nobody knows counts nowhere.
SELECT test.sold(test.report('2026-11-19', bundle_ids => '{}'), 5, product_id => 'unknown', bundle_id => NULL);
SELECT is_empty(query, 'a line of an unknown app: ' || query)
FROM unnest(ARRAY[
    $$SELECT FROM finance.sold_against_seen WHERE product_id = 'unknown'$$,
    $$SELECT FROM finance.proceeds WHERE product_id = 'unknown'$$]) AS query;
DELETE FROM iap.sales_reports WHERE day = '2026-11-19';

-- Midnight.
SELECT test.sold(test.report('2026-11-16'), 1), test.sold(test.report('2026-11-17'), 2);
SELECT results_eq(
    $$SELECT to_char(day, 'MM-DD'), difference, difference_around FROM finance.sold_against_seen
    WHERE bundle_id = 'com.example.a' AND day >= '2026-11-15' ORDER BY day$$,
    $$VALUES ('11-15', -1::bigint, 0::bigint), ('11-16', 1, 2), ('11-17', 2, 3)$$,
    'with the days around it a purchase at midnight cancels out');

-- Both ends of daylight saving: 25 hours and 23.
SELECT test.report('2026-11-01'), test.report('2027-03-14');
SELECT test.bought('n0', '2026-11-01 06:59:59+00'), test.bought('n1', '2026-11-01 07:00+00'),
    test.bought('n2', '2026-11-02 07:59:59+00'), test.bought('n3', '2026-11-02 08:00+00'),
    test.bought('m0', '2027-03-14 07:59:59+00'), test.bought('m1', '2027-03-14 08:00+00'),
    test.bought('m2', '2027-03-15 06:59:59+00'), test.bought('m3', '2027-03-15 07:00+00');
SELECT results_eq(
    $$SELECT day, seen FROM test.compared WHERE day IN ('11-01', '03-14')$$,
    $$VALUES ('11-01', 2::bigint), ('03-14', 2)$$, 'the days on which the clocks change');

-- The rows refuse what they can't mean.
SELECT throws_like($$SELECT test.sold(1, 1, 'US')$$, '%"sales_storefront_check"', 'a country has three letters');
SELECT throws_like($$SELECT test.sold(1, 1, currency => NULL)$$, '%"price_has_currency"', 'a price has a currency');
SELECT throws_like(
    $$SELECT test.sold(report, 1), test.sold(report, 2) FROM test.report('2026-11-20') AS report$$,
    '%"one_row_a_price"', 'one row a price');

-- What a person alone says was refunded, Apple's report never tells of.
SET LOCAL iap.present = '2026-11-22 20:00+00';
SELECT test.bought('h1', '2026-11-21 20:00+00'), test.bought('h2', '2026-11-21 20:00+00');
SELECT test.resolve('h1', 'refunded'), test.resolve('h2', 'refunded');
SELECT test.report('2026-11-22');
SELECT is_empty($$SELECT * FROM test.shown() AS shown WHERE shown LIKE '11-22%'$$,
    'the desk''s refunds are not compared');
SELECT test.hear(test.heard('h2', 'server_api', exclusion => 'refunded', purchased_at => '2026-11-21 20:00+00',
    refunded_at => '2026-11-22 19:00+00', verified_at => '2026-11-22 21:00+00'));
SELECT results_eq(
    $$SELECT refunds_seen FROM finance.sold_against_seen WHERE day = '2026-11-22'$$, ARRAY[1::bigint],
    'until Apple says so, too');

-- A sale is the original's.
SELECT test.bought('m8', '2026-09-10 12:00+00', 'USA', product_id => 'full');
SELECT test.bought('m9', '2026-09-10 12:00+00', 'USA', product_id => 'full', original_transaction_id => 'm8'),
    test.claim('m9');
SELECT results_eq(
    $$SELECT transaction_id, place, detail, is_sold FROM finance.purchases WHERE product_id = 'full' ORDER BY 1$$,
    $$VALUES ('m8' COLLATE "C", 'excluded', 'restored', true), ('m9', 'black', 'claim', false)$$,
    'what was delivered under the id that it was restored under was sold once, under the original');

-- Its refund Apple may tell of the other id alone.
SELECT test.hear(test.heard(
    'm9', 'server_api', 'full', original_transaction_id => 'm8', exclusion => 'refunded',
    purchased_at => '2026-09-10 12:00+00', refunded_at => '2026-11-22 19:00+00', storefront => 'USA'));
SELECT results_eq(
    $$SELECT refunds_seen FROM finance.sold_against_seen WHERE day = '2026-11-22' AND product_id = 'full'$$,
    $$VALUES (1::bigint)$$, 'and refunded under that');
SELECT test.hear(test.heard(
    'm8', 'server_api', 'full', exclusion => 'refunded', purchased_at => '2026-09-10 12:00+00',
    refunded_at => '2026-11-22 19:00+00', storefront => 'USA'));
SET LOCAL search_path = public, iap;
SELECT test.run_as('iap_job', 'SELECT iap.carry_refunds(7, now())');
RESET search_path;
SELECT results_eq(
    $$SELECT refunds_seen FROM finance.sold_against_seen WHERE day = '2026-11-22' AND product_id = 'full'$$,
    $$VALUES (1::bigint)$$, 'once, also where it is told of both');

-- Where the original never came it counts as the first that is known, on the original's day.
CREATE FUNCTION test.restored(id text, original text, type text DEFAULT 'non_consumable') RETURNS void
LANGUAGE sql AS $$
    SELECT test.hear(jsonb_populate_record(
        test.heard(
            id, product_id => 'alone', product_type => type, original_transaction_id => original,
            purchased_at => '2026-09-20 12:00+00', storefront => 'USA'),
        '{"original_purchased_at": "2026-09-12 12:00+00"}'))
$$;
SELECT test.restored('r2', 'r1'), test.claim('r2'), test.restored('r3', 'r1'), test.restored('r4', 'r4'),
    test.sold(test.report('2026-09-12'), 1, product_id => 'alone'), test.report('2026-09-20');
CREATE VIEW test.alone AS
SELECT to_char(day, 'MM-DD') AS day, units_sold, units_seen FROM finance.sold_against_seen WHERE product_id = 'alone';
SELECT results_eq(
    'SELECT * FROM test.alone ORDER BY 1', $$VALUES ('09-12', 1::bigint, 1::bigint), ('09-20', 0, 1)$$,
    'what is known only as restored was sold once, when it was first bought; an original when it was bought');
SELECT results_eq(
    $$SELECT transaction_id, is_sold, sold_at::date FROM finance.purchases WHERE product_id = 'alone' ORDER BY 1$$,
    $$VALUES ('r2' COLLATE "C", true, '2026-09-12'::date), ('r3', false, '2026-09-12'), ('r4', true, '2026-09-20')$$,
    'under the first of its ids');
SELECT is_empty(
    $$SELECT FROM finance.statement_differences('2026-09-12', '2026-09-12') WHERE product_id = 'alone'
    AND difference LIKE '%sold%'$$, 'so that there is no difference');
SELECT test.hear(jsonb_populate_record(
    test.heard('r0', 'local', product_id => 'alone', original_transaction_id => 'r1', exclusion => 'family_shared'),
    '{"original_purchased_at": "2026-09-12 12:00+00"}'));
SELECT results_eq(
    $$SELECT transaction_id FROM finance.purchases WHERE product_id = 'alone' AND is_sold ORDER BY 1$$,
    $$VALUES ('r2' COLLATE "C"), ('r4')$$, 'also where the family shares it under a lower id');
SELECT test.bought('r1', '2026-09-12 12:00+00', 'USA', product_id => 'alone');
UPDATE iap.transactions SET product_type = 'non_consumable' WHERE transaction_id = 'r1';
SELECT results_eq(
    $$SELECT transaction_id FROM finance.purchases WHERE product_id = 'alone' AND is_sold ORDER BY 1$$,
    $$VALUES ('r1' COLLATE "C"), ('r4')$$, 'once the original comes, under that');
SELECT results_eq(
    $$SELECT units_seen FROM test.alone WHERE day = '09-12'$$, $$VALUES (1::bigint)$$, 'and still once');

-- And a period of a subscription once, also where the id that stands for it is not the original's.
SELECT test.hear_period('p1', 'p1', 'line-1', -70), test.hear_period('p2', 'p1', 'line-1', -70), test.claim('p2'),
    test.hear_period('p3', 'p1', 'line-2', -40);
SELECT results_eq(
    $$SELECT transaction_id, place, is_sold FROM finance.purchases WHERE product_id = 'pass' ORDER BY 1$$,
    $$VALUES ('p1' COLLATE "C", 'excluded', false), ('p2', 'black', true), ('p3', 'white', true)$$,
    'a first period that was delivered under the id that it was restored under was sold once');

-- Nor twice where both ids are kept from being owed, or one of them by the desk.
SELECT test.hear_period(id, 'q1', 'line-3', -70, 'before_start') FROM unnest(ARRAY['q1', 'q2']) AS id;
SELECT test.hear_period('s1', 's1', 'line-4', -70), test.resolve('s1', 'dismissed'), test.import(test.heard(
    's2', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => 's1',
    web_order_line_item_id => 'line-4', purchased_at => now() - interval '70 days'));
SELECT set_eq(
    $$SELECT transaction_id FROM finance.purchases WHERE product_id = 'pass' AND transaction_id > 'q' AND is_sold$$,
    ARRAY['q1', 's2'], 'each period once');

-- Nor where both were delivered, before anybody knew that they are one: by a grant, and by hand.
INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.example.a', 'tier', 'auto_renewable', 'Tier');
CREATE FUNCTION test.hear_tier(id text) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        id, product_id => 'tier', product_type => 'auto_renewable', original_transaction_id => 'w1',
        purchased_at => '2026-09-14 12:00+00', web_order_line_item_id => 'line-5', storefront => 'USA'))
$$;
SELECT test.hear_tier('w2');
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', 'w1', 'ann', '2027-09-14')$$);
SELECT test.admit('w1', product_id => 'tier'), test.resolve('w1', 'delivered');
SELECT test.hear_tier('w1');
SELECT test.sold(test.report('2026-09-14'), 1, product_id => 'tier');
SELECT set_eq(
    $$SELECT transaction_id, place, is_sold FROM finance.purchases WHERE product_id = 'tier'$$,
    $$VALUES ('w1' COLLATE "C", 'black', false), ('w2', 'black', true)$$, 'that one counts which has the period');
SELECT is_empty(
    $$SELECT FROM finance.statement_differences('2026-09-14', '2026-09-14') WHERE product_id = 'tier'
    AND difference LIKE '%sold%'$$, 'so that no more is seen than Apple sold');

-- A refund of which Apple tells under several ids was one, whichever of them finance books.
CREATE FUNCTION test.refunds_of(original text) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        transaction_id, 'server_api', product_id, product_type => 'non_consumable',
        original_transaction_id => original, exclusion => 'refunded', purchased_at => purchased_at,
        refunded_at => '2026-11-22 19:00+00', verified_at => now() + interval '1 hour', storefront => 'USA'))
    FROM iap.transactions
    WHERE original_transaction_id = original AND reason IS DISTINCT FROM 'refunded';
    SELECT transaction_id FROM iap.purchases
    WHERE is_refunded AND (transaction_id = original OR transaction_id LIKE left(original, 1) || '_')
$$;
SELECT test.hear(test.heard(
    id, 'server_api', 'full', product_type => 'non_consumable', original_transaction_id => 't1',
    exclusion => 'before_start'))
FROM unnest(ARRAY['t1', 't2']) AS id;
SELECT results_eq($$SELECT test.refunds_of('t1')$$, ARRAY['t1'], 'from before the start');
SELECT test.bought('u2', '2026-09-10 12:00+00', 'USA', product_id => 'full', original_transaction_id => 'u1'),
    test.resolve('u2', 'dismissed');
SELECT test.import(test.heard(
    'u1', product_id => 'full', product_type => 'non_consumable', purchased_at => '2026-09-10 12:00+00',
    storefront => 'USA'));
SELECT results_eq($$SELECT test.refunds_of('u1')$$, ARRAY['u1'], 'dismissed, and delivered');
SELECT test.bought('v1', '2026-09-10 12:00+00', 'USA', product_id => 'full'), test.resolve('v1', 'refunded');
SELECT test.hear(test.heard(
    'v2', 'server_api', 'full', product_type => 'non_consumable', original_transaction_id => 'v1',
    exclusion => 'restored'));
SELECT results_eq($$SELECT test.refunds_of('v1')$$, ARRAY['v2'], 'beside the desk''s, which Apple does not know');

-- Also where all of them were delivered: by a grant, and by hand or as an import tells.
SELECT test.hear(test.heard('y1', 'server_api', 'full', product_type => 'non_consumable', storefront => 'USA'));
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', 'y1', 'ann', 'infinity')$$);
SELECT is(
    test.import(test.heard('y2', product_id => 'full', original_transaction_id => 'y1')), 1::bigint,
    'delivered beside a grant');
SELECT test.hear(test.heard(
    'w' || id, 'server_api', 'tier', product_type => 'auto_renewable', original_transaction_id => 'w1',
    exclusion => 'refunded', purchased_at => '2026-09-14 12:00+00', refunded_at => '2026-11-22 19:00+00',
    web_order_line_item_id => 'line-5', verified_at => now() + interval '1 hour'))
FROM unnest(ARRAY[1, 2]) AS id;
SELECT results_eq($$SELECT test.refunds_of('y1')$$, ARRAY['y1'], 'a purchase goes back once');
SELECT results_eq(
    $$SELECT refunds_seen FROM finance.sold_against_seen WHERE day = '2026-11-22' AND product_id = 'tier'$$,
    $$VALUES (1::bigint)$$, 'and so does a period');

-- Nor was what was delivered for a purchase in another app.
SELECT test.bought('f1', '2026-09-11 12:00+00', 'USA'), test.claim('f1'),
    test.hear(test.heard('f1', exclusion => 'foreign_bundle', purchased_at => '2026-09-11 12:00+00'));
SELECT results_eq(
    $$SELECT place, is_sold FROM finance.purchases WHERE transaction_id = 'f1'$$, $$VALUES ('black', false)$$,
    'it was sold there');
SELECT test.hear(test.heard(
    'f1', 'server_api', exclusion => 'foreign_bundle', purchased_at => '2026-09-11 12:00+00',
    refunded_at => '2026-11-22 19:00+00', verified_at => now() + interval '1 hour'));
SELECT is_empty($$SELECT FROM iap.purchases WHERE transaction_id = 'f1' AND is_refunded$$, 'and refunded there');

-- An original is what was sold, whatever number it has; also in another app, which may have the same ones.
SELECT test.restored('za', 'zb'), test.bought('zb', '2026-09-12 12:00+00', 'USA', product_id => 'alone');
UPDATE iap.transactions SET product_type = 'non_consumable' WHERE transaction_id = 'zb';
SELECT test.hear(jsonb_populate_record(
    test.heard(
        id, product_id => 'alone', product_type => 'non_consumable', original_transaction_id => original,
        bundle_id => bundle_id, purchased_at => '2026-09-20 12:00+00', storefront => 'USA'),
    '{"original_purchased_at": "2026-09-12 12:00+00"}'))
FROM (
    VALUES
        ('zd', 'zc', 'com.example.a'), ('zc', 'zc', 'com.example.b')
) AS told (id, original, bundle_id);
SELECT set_eq(
    $$SELECT bundle_id, transaction_id FROM finance.purchases WHERE transaction_id LIKE 'z_' AND is_sold$$,
    $$VALUES
        ('com.example.a' COLLATE "C", 'zb' COLLATE "C"), ('com.example.a', 'zd'), ('com.example.b', 'zc')$$,
    'each app sold its own');

-- A renewal is sold on its own day, also where nobody knows its type.
SELECT test.hear(jsonb_populate_record(
    test.heard('xb', product_id => 'untyped', original_transaction_id => 'xa', purchased_at => '2026-09-20 12:00+00'),
    '{"original_purchased_at": "2026-09-12 12:00+00", "expires_at": "2026-10-20 12:00+00"}'));
SELECT results_eq(
    $$SELECT is_sold, sold_at::date FROM finance.purchases WHERE transaction_id = 'xb'$$,
    $$VALUES (true, '2026-09-20'::date)$$, 'not when its subscription began');
-- And refunded by itself, where Apple tells no period of it.
SELECT test.hear(test.heard(
    id, product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => 'xc'))
FROM unnest(ARRAY['xc', 'xd']) AS id;
SELECT test.claim('xc'), test.resolve('xd', 'dismissed'), test.hear(test.heard(
    'xd', 'server_api', 'pass', product_type => 'auto_renewable', original_transaction_id => 'xc',
    exclusion => 'refunded', refunded_at => now(), verified_at => now() + interval '1 hour'));
SELECT results_eq(
    $$SELECT transaction_id FROM iap.purchases WHERE transaction_id IN ('xc', 'xd') AND is_refunded$$,
    ARRAY['xd' COLLATE "C"], 'another period is another purchase');

SELECT test.hear_period('xe', 'xe', 'line-6'), test.hear_period('xf', 'xe', 'line-7', 30), test.claim('xe'),
    test.resolve('xf', 'dismissed'),
    test.hear_period('xf', 'xe', 'line-7', 30, 'refunded', now() + interval '1 hour');
SELECT results_eq(
    $$SELECT transaction_id FROM iap.purchases WHERE transaction_id IN ('xe', 'xf') AND is_refunded$$,
    ARRAY['xf' COLLATE "C"], 'and so it is where Apple tells both');

SELECT set_eq(
    $$SELECT transaction_id FROM iap.purchases WHERE transaction_id IN ('xe', 'xf') AND is_sold$$, ARRAY['xe', 'xf'],
    'each of which was sold');
SELECT test.hear_period('xg', 'xg', 'line-8'), test.hear_period('xh', 'xg', 'line-9', 30), test.claim('xg'),
    test.claim('xh');
SELECT test.hear_period(id, 'xg', line, days, 'refunded', now() + interval '1 hour')
FROM (VALUES ('xg', 'line-8', 0), ('xh', 'line-9', 30)) AS periods (id, line, days);
SELECT results_eq(
    $$SELECT transaction_id, is_sold, is_refunded FROM iap.purchases WHERE transaction_id IN ('xg', 'xh') ORDER BY 1$$,
    $$VALUES ('xg' COLLATE "C", true, true), ('xh', true, true)$$, 'also where both were delivered, and went back');
-- Also where the original has the higher number, under which the refund of both is booked.
SELECT test.hear_period(id, 'xj', 'line-10', 0, 'refunded') FROM unnest(ARRAY['xi', 'xj']) AS id;
SET LOCAL search_path = public, iap;
SELECT test.run_as('iap_job', 'SELECT iap.carry_refunds(7, iap.present())');
RESET search_path;
SELECT results_eq(
    $$SELECT transaction_id, is_refunded, reason FROM iap.purchases WHERE transaction_id IN ('xi', 'xj') ORDER BY 1$$,
    $$VALUES ('xi' COLLATE "C", false, 'restored'), ('xj', true, 'refunded')$$, 'a period goes back once');
-- A renewal that has no end is one all the same.
SELECT test.hear(jsonb_populate_record(
    test.heard(
        'xk', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => 'xz',
        purchased_at => '2026-09-20 12:00+00'),
    '{"original_purchased_at": "2026-09-12 12:00+00"}'));
SELECT results_eq(
    $$SELECT is_sold, sold_at::date FROM finance.purchases WHERE transaction_id = 'xk'$$,
    $$VALUES (true, '2026-09-20'::date)$$, 'sold on its own day');
-- For a period that is not owed no id stands that is none of what was sold.
SELECT test.hear(test.heard(
        'k-' || reason, product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => 'k0',
        exclusion => reason, refunded_at => now(), web_order_line_item_id => 'line-' || reason)),
    test.hear_period('l-' || reason, 'k0', 'line-' || reason), test.resolve('l-' || reason, 'dismissed'),
    test.hear_period('l-' || reason, 'k0', 'line-' || reason, 0, 'refunded', now() + interval '1 hour')
FROM unnest(ARRAY['restored', 'sandbox', 'foreign_bundle', 'invalid_quantity', 'family_shared']) AS reason;
SELECT set_eq(
    $$SELECT transaction_id FROM iap.purchases WHERE transaction_id ~ '^[kl]-' AND is_sold$$,
    $$SELECT transaction_id FROM iap.transactions WHERE transaction_id LIKE 'l-%'$$, 'it is sold by its own');
SELECT ok(is_refunded, 'and goes back, whatever became of what the family had')
FROM iap.purchases WHERE transaction_id = 'l-family_shared';

-- A line of what nothing was seen of, and nothing else was sold or went back.
SELECT test.sold(report, 2, 'JPN', 'unseen'), test.sold(report, -1, 'DEU', 'unseen')
FROM test.report('2026-07-01') AS report;
SELECT results_eq(
    'SELECT * FROM test.shown() AS shown WHERE shown LIKE ''07-01%''',
    ARRAY['07-01,unseen,country,DEU,0,0,0,1,0', '07-01,unseen,country,JPN,2,0,2,0,0'], 'is compared with none');

-- What cost nothing has a currency where nothing beside it was paid, and that is one.
SELECT test.sold(report, 2, 'JPN', milliunits => 0, currency => 'JPY'), test.sold(report, -1, 'DEU', currency => 'EUR')
FROM test.report('2026-08-01') AS report;
SELECT test.sold(report, 2, 'JPN', milliunits => 0, currency => 'JPY'),
    test.sold(report, 1, 'DEU', milliunits => 0, currency => 'EUR')
FROM test.report('2026-08-02') AS report;
SELECT test.sold(report, 2, 'JPN', currency => 'JPY'), test.sold(report, 1, 'DEU', currency => 'EUR')
FROM test.report('2026-08-03') AS report;
-- Of several countries in one row.
SELECT test.bought('c' || day, ('2026-08-0' || day || ' 12:00+00')::timestamptz) FROM generate_series(1, 3) AS day;
SELECT results_eq(
    $$SELECT to_char(day, 'DD'), units_sold, currency, amount_sold, refund_difference FROM finance.sold_against_seen
    WHERE day BETWEEN '2026-08-01' AND '2026-08-03' ORDER BY day$$,
    $$VALUES
        ('01', 2::bigint, 'JPY', 0.000, 1::bigint), ('02', 3, NULL, NULL, 0), ('03', 3, NULL, NULL, 0)$$,
    'of two there is none');

-- A condition on the day reaches the tables.
INSERT INTO iap.transactions (
    transaction_id, bundle_id, environment, place, original_transaction_id, product_id, quantity, purchased_at,
    is_trial, source, verified_at, booked_as, entry_id, first_seen_at, nights_confirmed, delivered_by, delivered_at)
SELECT
    'b' || n, 'com.example.a', 'Production', 'black', 'b' || n, 'gems', 1,
    '2020-01-01'::timestamptz + n * interval '1 minute', false, 'app_server', now(), 'unknown', nextval('iap.trail'),
    now(), 0, 'import', now()
FROM generate_series(1, 100000) AS n;
ANALYZE iap.transactions;
CREATE FUNCTION test.plan(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN ' || query; END $$;
SELECT results_eq(
    $$SELECT count(*) FILTER (WHERE plan LIKE '%Scan on transactions_by_pacific_day%') > 0,
        count(*) FILTER (WHERE plan LIKE '%transactions_restored_by_pacific_day%') > 0,
        count(*) FILTER (WHERE plan LIKE '%Seq Scan on transactions%')
    FROM test.plan('SELECT * FROM iap.sold_against_seen WHERE day >= ''2026-11-01''') AS plan$$,
    $$VALUES (true, true, 0::bigint)$$, 'by index');

SELECT is_empty(
    $$SELECT test.run_as('iap_finance', 'SELECT day FROM finance.sold_against_seen WHERE false')
    EXCEPT SELECT NULL::text$$, 'finance reads it');

SELECT * FROM finish();
ROLLBACK;
