-- A transaction of which Apple says what it said before: the short ways give what the long one would.
BEGIN;
SELECT plan(14);
SET search_path = iap, test, public;

INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
VALUES ('com.example.a', 'gold', 'consumable', 'Gold', 4990, 'USD');

-- The rule ------------------------------------------------------------------------------------------------------------

-- What may differ of what the ledger holds, and of what Apple says.
CREATE TEMPORARY TABLE held (patch jsonb);
INSERT INTO held VALUES
    ('{}'), ('{"place": "black"}'), ('{"place": "excluded", "reason": "before_start"}'), ('{"source": "app_server"}'),
    ('{"source": "local"}'), ('{"source": "server_api"}'), ('{"last_confirmed_at": null, "nights_confirmed": 0}'),
    ('{"last_confirmed_at": "2026-03-02T00:00Z"}'), ('{"verified_at": "2026-03-09T00:00Z"}'),
    ('{"product_type": null}'), ('{"expires_at": "2026-04-01T00:00Z"}'), ('{"original_purchased_at": null}'),
    ('{"price_milliunits": 1990, "currency": "EUR"}'), ('{"app_account_token": "t-1", "storefront": "USA"}'),
    ('{"app_transaction_id": "a-1", "web_order_line_item_id": "w-1"}'),
    ('{"refund_reversed_at": "2026-03-01T12:00Z"}'), ('{"refund_run_id": 1}'), ('{"found_bundle_id": "com.example.b"}');
CREATE TEMPORARY TABLE told (patch jsonb);
INSERT INTO told VALUES
    ('{}'), ('{"source": "app_server"}'), ('{"source": "local"}'), ('{"source": "server_api"}'),
    ('{"verified_at": "2026-03-02T11:59:59Z"}'), ('{"verified_at": "2026-03-01T00:00Z"}'),
    ('{"exclusion": "sandbox"}'), ('{"exclusion": "family_shared"}'),
    ('{"refunded_at": "2026-03-02T00:00Z", "exclusion": "refunded"}'), ('{"product_type": "non_consumable"}'),
    ('{"product_type": "consumable"}'), ('{"expires_at": "2026-04-01T00:00Z"}'),
    ('{"expires_at": "2026-05-01T00:00Z"}'), ('{"original_purchased_at": null}'), ('{"app_account_token": "t-2"}'),
    ('{"app_transaction_id": "a-2"}'), ('{"web_order_line_item_id": "w-2"}'), ('{"storefront": "DEU"}'),
    ('{"price_milliunits": 2990, "currency": "USD"}'), ('{"found_bundle_id": "com.example.c"}'),
    ('{"quantity": 7}'), ('{"product_id": "silver"}'), ('{"is_trial": true}'),
    ('{"revocation_type": "REFUND_FULL", "revocation_percentage": 100000}');
CREATE TEMPORARY TABLE pairs AS
SELECT held.patch AS held, told.patch || also.patch AS told FROM held, told, told AS also
UNION ALL
-- And each that both may lack, where only one of them does. A currency stands beside a price.
SELECT
    held.patch || jsonb_build_object(attname, NULL),
    jsonb_build_object(
        attname, CASE format_type(said.atttypid, NULL)
            WHEN 'text' THEN 'said' WHEN 'timestamp with time zone' THEN '2026-03-01T01:00Z' ELSE '7'
        END)
FROM pg_attribute AS said
JOIN pg_attribute AS known USING (attname)
CROSS JOIN held
WHERE said.attrelid = 'iap.verified'::regclass AND known.attrelid = 'iap.transactions'::regclass
    AND said.attnum > 0 AND NOT known.attnotnull AND attname <> 'currency';
CREATE TEMPORARY TABLE cases AS
SELECT
    t, v, iap.is_news(t, v) IS TRUE AS is_news, iap.heard(t, v, 7, '2026-03-03Z') AS became,
    iap.is_news(t, v) IS TRUE AND iap.is_confirmation(t, v) IS TRUE AS is_short,
    jsonb_populate_record(
        t, jsonb_build_object(
            'nights_confirmed', (t).nights_confirmed + 1, 'last_confirmed_at', (v).verified_at, 'verified_at',
            CASE WHEN (v).source = (t).source THEN (v).verified_at ELSE (t).verified_at END)) AS counted
FROM (
    SELECT
        jsonb_populate_record(
            NULL::iap.transactions,
            '{"transaction_id": "1", "bundle_id": "com.example.a", "environment": "Production", "place": "white",
            "original_transaction_id": "1", "product_id": "gold", "product_type": "consumable", "quantity": 1,
            "purchased_at": "2026-03-01T00:00Z", "original_purchased_at": "2026-03-01T00:00Z", "is_trial": false,
            "source": "verify_receipt", "verified_at": "2026-03-01T06:00Z", "booked_milliunits": 4990,
            "booked_currency": "USD", "booked_as": "list", "entry_id": 1, "first_seen_at": "2026-03-01T06:00Z",
            "nights_confirmed": 1, "last_confirmed_at": "2026-03-01T06:00Z", "is_family_shared": false,
            "seal": 1}' || held) AS t,
        jsonb_populate_record(
            NULL::iap.verified,
            '{"number": 1, "transaction_id": "1", "bundle_id": "com.example.a", "environment": "Production",
            "original_transaction_id": "1", "product_id": "gold", "quantity": 1, "purchased_at": "2026-03-01T00:00Z",
            "original_purchased_at": "2026-03-01T00:00Z", "is_trial": false, "source": "verify_receipt",
            "verified_at": "2026-03-03T00:00Z"}' || told) AS v
    FROM pairs
) AS pair;

SELECT is_empty(
    'SELECT t, v FROM cases WHERE is_short AND became IS DISTINCT FROM counted',
    'what counts as confirmed is changed in nothing else');
-- A period is no news: whoever names it names it at once. Of a type that no list had, none but that list tells.
SELECT is_empty(
    $$SELECT t, v, became
    FROM cases
    WHERE NOT is_news
        AND to_jsonb(became) - '{verified_at,web_order_line_item_id,product_type}'::text[]
            IS DISTINCT FROM to_jsonb(t) - '{verified_at,web_order_line_item_id,product_type}'::text[]$$,
    'and what is no news in nothing at all');
SELECT cmp_ok((SELECT count(*) FROM cases WHERE is_short)::integer, '>', 1000, 'a thousand ways to be confirmed');
SELECT cmp_ok((SELECT count(*) FROM cases WHERE NOT is_short)::integer, '>', 1000, 'a thousand ways not to be');

-- The statement -------------------------------------------------------------------------------------------------------

SELECT test.record(
    ARRAY[test.heard('c1', quantity => 2), test.heard('c2'), test.heard('c3')],
    ARRAY[test.seen(64), test.seen(64, number => 2), test.seen(64, number => 3)]);
CREATE TEMPORARY TABLE before AS SELECT * FROM iap.transactions;
UPDATE iap.transactions SET seal = seal + 1 WHERE transaction_id = 'c3';
SELECT results_eq(
    $$SELECT newly_white, already_white, watched, held, locked
    FROM test.record(
        ARRAY[
            test.heard('c1', quantity => 2, verified_at => now() + interval '1 day'),
            test.heard('c2', verified_at => now() + interval '1 day'),
            test.heard('c3', verified_at => now() + interval '1 day')],
        ARRAY[test.seen(64), test.seen(64, number => 2), test.seen(64, number => 3)], run => 2)$$,
    $$SELECT
        NULL::bigint[],
        ARRAY[3, 4, hashtextextended('c1', 0) # hashtextextended('c2', 0) # hashtextextended('c3', 0)],
        '{64}'::bigint[], '{}'::bigint[], NULL::text[]$$, 'what is confirmed is counted as it is');
SELECT results_eq(
    $$SELECT transaction_id, nights_confirmed, last_confirmed_at = now() + interval '1 day',
        verified_at = now() + interval '1 day'
    FROM iap.white ORDER BY 1$$,
    $$VALUES ('c1' COLLATE "C", 2, true, true), ('c2', 2, true, true), ('c3', 2, true, true)$$, 'and its night is');
SELECT is_empty(
    $$SELECT transaction_id FROM iap.transactions AS t WHERE seal <> audit.seal(t) AND transaction_id <> 'c3'$$,
    'the seals hold as before');
SELECT isnt(
    (SELECT seal FROM iap.transactions WHERE transaction_id = 'c3'),
    (SELECT audit.seal(t) FROM iap.transactions AS t WHERE transaction_id = 'c3'),
    'what was changed by hand is not sealed for it');
SELECT is_empty('SELECT FROM iap.moves', 'and nothing has moved');

SELECT is(
    iap.confirm(ARRAY[
        test.heard('c1', verified_at => now() + interval '2 days'),
        test.heard('c2', exclusion => 'sandbox', verified_at => now() + interval '2 days')]),
    ARRAY[ROW(NULL, 'c1', 2, 'white', false)::iap.standing], 'what is no confirmation is left');
SELECT is(
    iap.confirm(ARRAY[test.heard('c1', verified_at => now() + interval '2 days')]), '{}',
    'and so is what another batch has counted');

-- Sightings -----------------------------------------------------------------------------------------------------------

CREATE TEMPORARY TABLE sighted AS SELECT ctid AS place, transaction_id FROM iap.sightings;
SELECT test.record(
    ARRAY[test.heard('c1', verified_at => now() + interval '2 days'), test.heard('c2')],
    ARRAY[test.seen(64), test.seen(64, is_named => false, number => 2)], run => 3);
SELECT is_empty(
    $$SELECT transaction_id FROM iap.sightings AS s JOIN sighted USING (transaction_id)
    WHERE s.ctid <> place OR s.xmax <> '0'$$, 'a sighting that tells nothing new is neither written nor locked');
UPDATE iap.sightings SET is_named = false WHERE transaction_id = 'c2';
SELECT test.record(
    ARRAY[test.heard('c2')], ARRAY[test.seen(64)], run => 3);
SELECT is((SELECT is_named FROM iap.sightings WHERE transaction_id = 'c2'), true, 'one that names it is');
SELECT test.record(ARRAY[test.heard('c2')], ARRAY[test.seen(128)], run => 3);
SELECT is(
    (SELECT array_agg(receipt_id ORDER BY receipt_id) FROM iap.sightings WHERE transaction_id = 'c2'), '{64,128}',
    'and one in another receipt');

SELECT * FROM finish();
ROLLBACK;
