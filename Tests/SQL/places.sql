-- The same transaction ids in two apps, and in both environments of each: what is done in one place has the outcome
-- there that it has in every other, and leaves the others as they are.
BEGIN;
SELECT no_plan();

INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
SELECT 'com.example.z', product_id, type, name, list_price_milliunits, currency
FROM iap.products
WHERE bundle_id = 'com.example.a';
INSERT INTO iap.products (bundle_id, product_id, type, name)
SELECT bundle_id, 'pass', 'auto_renewable', 'Pass' FROM unnest(ARRAY['com.example.a', 'com.example.z']) AS bundle_id;

CREATE TABLE test.places (number integer PRIMARY KEY, bundle_id text NOT NULL, environment text NOT NULL);
INSERT INTO test.places
VALUES
    (1, 'com.example.a', 'Production'), (2, 'com.example.z', 'Production'),
    (3, 'com.example.z', 'Sandbox'), (4, 'com.example.a', 'Sandbox');

-- Of each table that names an app, a digest of what is of other places. The environments of an app share what tells
-- none.
CREATE FUNCTION test.elsewhere(bundle_id text, environment text) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    digests  jsonb := '{}';
    relation text;
    named    boolean;
    digest   text;
BEGIN
    FOR relation, named IN
        SELECT tables.table_name, bool_or(columns.column_name = 'environment')
        FROM information_schema.tables
        JOIN information_schema.columns USING (table_schema, table_name)
        WHERE tables.table_schema = 'iap' AND tables.table_type = 'BASE TABLE'
        GROUP BY tables.table_name
        HAVING bool_or(columns.column_name = 'bundle_id')
    LOOP
        EXECUTE format(
            'SELECT md5(string_agg(row::text, chr(10) ORDER BY row::text)) FROM iap.%I AS row WHERE bundle_id <> $1%s',
            relation, CASE WHEN named THEN ' OR environment <> $2' ELSE '' END)
        INTO digest USING elsewhere.bundle_id, elsewhere.environment;
        digests := digests || jsonb_build_object(relation, digest);
    END LOOP;
    RETURN digests;
END
$$;

-- Asks a question in each of the places: as it is for the first, and with the other's app and environment in it there.
CREATE FUNCTION test.in_places(
    role name, question text, expected text, description text, numbers integer[] DEFAULT '{1,2,3,4}'
) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    place  test.places;
    before jsonb;
    answer text;
BEGIN
    FOR place IN SELECT * FROM test.places WHERE number = ANY (numbers) ORDER BY number LOOP
        before := test.elsewhere(place.bundle_id, place.environment);
        answer := test.run_as(
            role,
            replace(replace(question, 'com.example.a', place.bundle_id), '''Production''',
                quote_literal(place.environment)));
        RETURN NEXT is(answer, expected, format('%s, %s %s', description, place.bundle_id, place.environment));
        RETURN NEXT is(
            test.elsewhere(place.bundle_id, place.environment), before,
            format('and nothing elsewhere: %s, %s %s', description, place.bundle_id, place.environment));
    END LOOP;
END
$$;

CREATE FUNCTION test.admitted(transaction_id text, original text, product_id text, period text DEFAULT NULL)
RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT test.in_places(
        'iap_app',
        format(
            'SELECT iap.admit(''com.example.a'', ''Production'', %L, %L, %L, 1, now(), %L, NULL, %L)', transaction_id,
            original, product_id, 'ann', period),
        'white', format('%s is admitted', transaction_id))
$$;
CREATE FUNCTION test.cased(transaction_id text, periods text[] DEFAULT '{}') RETURNS void
LANGUAGE sql AS $$
    INSERT INTO iap.cases (
        transaction_id, bundle_id, environment, likelihood, reasons, action, owner_user_ids, opened_at, opened_run_id,
        assessed_at, assessed_run_id, periods)
    SELECT
        $1, places.bundle_id, places.environment, 'high', '{never_claimed}', 'deliver', '{ann}', now(), 1, now(), 1, $2
    FROM test.places
$$;
CREATE FUNCTION test.resolved(transaction_id text, how text, expected text DEFAULT NULL) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT test.in_places(
        'iap_support',
        format(
            'SELECT iap.resolve(%L, %L, ''sue'', ''by hand'', ''com.example.a'', ''Production'')', transaction_id, how),
        coalesce(expected, how), format('%s is resolved as %s', transaction_id, how))
$$;
CREATE FUNCTION test.reopened(transaction_id text, expected text DEFAULT 'reopened') RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT test.in_places(
        'iap_support',
        format('SELECT iap.reopen(%L, ''tom'', ''a mistake'', ''com.example.a'', ''Production'')', transaction_id),
        expected, format('%s is reopened', transaction_id))
$$;
-- What Apple says of it, in whole days from now on.
CREATE FUNCTION test.told(
    transaction_id text, original text, product_id text, expected text, days integer, is_refunded boolean DEFAULT false,
    period text DEFAULT NULL, source text DEFAULT 'server_api'
) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT test.in_places(
        'postgres',
        format(
            'SELECT test.hear(test.heard(
                %L, %L, %L, environment => ''Production'', original_transaction_id => %L, exclusion => %L,
                verified_at => %L, refunded_at => %L, bundle_id => ''com.example.a'', web_order_line_item_id => %L))',
            transaction_id, source, product_id, original, CASE WHEN is_refunded THEN 'refunded' END,
            now() + days * interval '1 day', CASE WHEN is_refunded THEN now() + days * interval '1 day' END, period),
        expected, format('%s is heard of, %s', transaction_id, CASE WHEN is_refunded THEN 'refunded' ELSE 'paid' END))
$$;
-- Where a transaction is, and what became of its case.
CREATE FUNCTION test.stands(transaction_id text, expected text) RETURNS text
LANGUAGE sql AS $$
    SELECT is(
        string_agg(concat_ws(' ', coalesce(t.reason, t.place), cases.closed_as), ', '),
        concat_ws(', ', expected, expected, expected, expected), format('%s is %s everywhere', $1, expected))
    FROM test.places
    JOIN iap.transactions AS t USING (bundle_id, environment)
    LEFT JOIN iap.cases USING (transaction_id, bundle_id, environment)
    WHERE t.transaction_id = $1
$$;

-- As a night does at its end, of all places: how many leave white.
CREATE FUNCTION test.withdrawn(expected bigint) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, iap, public, pg_temp AS $$
BEGIN
    RETURN is(iap.withdraw_all_restored(1, iap.present(), 100), expected, 'what is owed under no id leaves white');
END
$$;

-- What is owed once each.
SELECT test.admitted('1', '1', 'gems');
SELECT test.cased('1');
SELECT test.resolved('1', 'delivered');
SELECT test.stands('1', 'black delivered');
SELECT test.reopened('1');
SELECT test.stands('1', 'white');
SELECT test.resolved('1', 'dismissed');
SELECT test.reopened('1');
SELECT test.resolved('1', 'refunded');
SELECT test.stands('1', 'refunded refunded');
SELECT test.reopened('1');
SELECT test.stands('1', 'white');

-- What is bought once, with what was restored of it.
SELECT test.admitted('20', '20', 'full');
SELECT test.admitted('21', '20', 'full');
SELECT test.cased('21');
SELECT test.resolved('20', 'delivered');
SELECT test.stands('21', 'restored withdrawn');
SELECT test.reopened('21', 'already_delivered');
SELECT test.reopened('20');
SELECT test.stands('21', 'white');
SELECT test.resolved('21', 'dismissed');
SELECT test.stands('20', 'restored');
SELECT test.resolved('20', 'delivered', 'excluded');
SELECT test.reopened('20', 'excluded');
SELECT test.reopened('21');
SELECT test.stands('20', 'white');

-- Apple refunds it, and takes that back: it is owed under the id that was refunded.
SELECT test.told('20', '20', 'full', 'refunded', 1, is_refunded => true);
SELECT test.withdrawn(4);
SELECT test.stands('21', 'restored withdrawn');
SELECT test.told('20', '20', 'full', 'white', 2);
SELECT test.stands('21', 'restored withdrawn');
SELECT test.resolved('20', 'delivered');
SELECT test.stands('21', 'restored withdrawn');
SELECT test.told('20', '20', 'full', 'black', 5, is_refunded => true);
SELECT test.told('20', '20', 'full', 'black', 6);

-- Of a subscription the periods that a case names, and what restored one of them.
SELECT test.admitted('p1', 'p1', 'pass', 'w1');
SELECT test.admitted('p2', 'p1', 'pass', 'w2');
SELECT test.admitted('p3', 'p1', 'pass', 'w1');
SELECT test.cased('p1', '{p1,p2}');
SELECT test.in_places(
    'iap_support',
    format(
        'SELECT iap.decide(''p1'', ''com.example.a'', ''Production'', %L, ''delivered'', ''sue'', ''x'')',
        iap.case_mark(opened_run_id, opened_at, NULL, 'pass', 1, owner_user_ids, periods)),
    'delivered', 'a case is decided')
FROM iap.cases
WHERE transaction_id = 'p1' AND bundle_id = 'com.example.a' AND environment = 'Production';
SELECT test.stands('p1', 'black delivered');
SELECT test.stands('p2', 'black');
SELECT test.stands('p3', 'restored');
SELECT test.reopened('p1');
SELECT test.stands('p2', 'white');
SELECT test.stands('p3', 'white');
SELECT test.told('p1', 'p1', 'pass', 'refunded', 1, is_refunded => true, period => 'w1');
SELECT test.withdrawn(4);
SELECT test.stands('p2', 'white');
SELECT test.stands('p3', 'restored');
SELECT test.told('p1', 'p1', 'pass', 'white', 2, period => 'w1');
SELECT test.stands('p3', 'restored');

-- What an app's server asks for, who names no environment: two apps.
SELECT test.in_places('iap_app', question, expected, description, '{1,2}')
FROM (
    VALUES
        ($$SELECT iap.admit('com.example.a', 'Production', 'c1', 'c1', 'gems', 1, now(), 'ann')$$, 'white',
            'one purchase'),
        ($$SELECT iap.admit('com.example.a', 'Production', 'c2', 'c2', 'gems', 1, now(), 'ann')$$, 'white', 'another'),
        ($$SELECT iap.register_order('com.example.a', 'o1', 'ann', 'gems')$$, '', 'an order'),
        ($$SELECT string_agg(transaction_id, ' ' ORDER BY transaction_id) FROM iap.owed('com.example.a', 'ann')
            WHERE product_id = 'gems' AND transaction_id LIKE 'c_'$$, 'c1 c2', 'what is owed'),
        ($$SELECT iap.claim('com.example.a', 'c1', 'bob', 'o1')$$, 'wrong_user', 'another user''s order'),
        ($$SELECT iap.claim('com.example.a', 'c1', 'ann', 'o1')$$, 'delivered', 'claimed for an order'),
        ($$SELECT iap.claim('com.example.a', 'c2', 'ann', 'o1')$$, 'order_used', 'claimed for it again'),
        ($$SELECT place || ' ' || tell FROM iap.status('com.example.a', 'c1')$$, 'black delivered', 'asked for'),
        ($$SELECT place FROM iap.status('com.example.a', order_id => 'o1')$$, 'black', 'asked for by its order'),
        ($$SELECT iap.admit('com.example.a', 'Production', 'f1', 'f1', 'full', 1, now(), 'ann')$$, 'white',
            'what is bought once'),
        ($$SELECT iap.admit('com.example.a', 'Production', 'f2', 'f1', 'full', 1, now(), 'ann')$$, 'white',
            'what was restored'),
        ($$SELECT iap.claim('com.example.a', 'f2', 'ann')$$, 'delivered', 'claimed as restored'),
        ($$SELECT iap.claim('com.example.a', 'f1', 'ann')$$, 'already_delivered', 'claimed as bought'),
        ($$SELECT iap.admit('com.example.a', 'Production', 'g1', 'g1', 'pass', 1, now(), 'ann', NULL, 'w1')$$, 'white',
            'a period'),
        ($$SELECT iap.entitle('com.example.a', 'g1', 'ann', now() + interval '1 year') > now()$$, 'true', 'granted'),
        ($$SELECT iap.claim('com.example.a', 'g1', 'ann')$$, 'already_delivered', 'claimed after its grant')
) AS asked (question, expected, description);

SELECT * FROM finish();
ROLLBACK;
