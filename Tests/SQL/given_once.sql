-- A purchase that Apple names by two ids, a and b, which restores a: bought once, or a subscription's period. Whatever
-- happens to both, in whatever order, its goods go out once, and nobody who paid for them goes without.
BEGIN;
SELECT no_plan();
SET LOCAL search_path = public, iap;

INSERT INTO iap.products (bundle_id, product_id, type, name)
VALUES ('com.example.a', 'pass', 'auto_renewable', 'Pass');

CREATE TABLE test.happened (
    purchase integer, step integer, event text, id text, answer text, PRIMARY KEY (purchase, step));

-- What one event answers; an error, where nothing is owed.
CREATE FUNCTION test.happens(event text, product_id text, original text, id text, at timestamptz) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    place  text := '''com.example.a'', ''Production''';
    bought timestamptz := now() - interval '1 day';
    period text := CASE product_id WHEN 'pass' THEN 'of-' || original END;
    v      iap.verified := test.heard(
        id, 'server_api', product_id, original_transaction_id => original, purchased_at => bought, verified_at => at,
        product_type => CASE product_id WHEN 'pass' THEN 'auto_renewable' ELSE 'non_consumable' END,
        web_order_line_item_id => period);
BEGIN
    PERFORM set_config('iap.present', at::text, true);
    CASE event
        WHEN 'paid' THEN
            PERFORM test.record(ARRAY[v], at => at);
            RETURN NULL;
        WHEN 'refund' THEN
            v.exclusion := 'refunded';
            v.refunded_at := at;
            PERFORM test.record(ARRAY[v], at => at);
            RETURN NULL;
        WHEN 'admit' THEN
            RETURN test.run_as('iap_app', format(
                'SELECT iap.admit(%s, %L, %L, %L, 1, %L, ''ann'', NULL, %L)', place, id, original, product_id, bought,
                period));
        WHEN 'claim' THEN RETURN test.claim(id);
        WHEN 'delivered' THEN
            RETURN test.run_as('iap_support', format(
                'SELECT iap.resolve(%L, ''delivered'', ''sue'', ''x'', %s, ''ann'', NULL, true)', id, place));
        WHEN 'dismissed', 'refunded' THEN RETURN test.resolve(id, event);
        WHEN 'reopen' THEN RETURN test.reopen(id);
        WHEN 'import' THEN RETURN test.import(v);
        WHEN 'entitle' THEN
            RETURN test.run_as('iap_app', format(
                'SELECT iap.entitle(''com.example.a'', %L, ''ann'', %L)', original, at + interval '40 days'));
        WHEN 'revoke' THEN
            RETURN test.run_as('iap_app', format(
                'SELECT iap.revoke_entitlement(''com.example.a'', %L, %L)', original, bought - interval '1 day'));
        WHEN 'night' THEN
            PERFORM test.run_as('iap_job', format('SELECT iap.%s(7, iap.present()%s)', stage, most))
            FROM (
                VALUES
                    ('cover_entitled', ', 100'), ('uncover', ', 100'), ('release_restored', ''),
                    ('withdraw_all_restored', ', 100'), ('carry_refunds', '')
            ) AS stages (stage, most);
            RETURN NULL;
    END CASE;
EXCEPTION
    WHEN object_not_in_prerequisite_state THEN RETURN SQLSTATE;
END
$$;

SELECT setseed(-0.3);
INSERT INTO test.happened
SELECT purchase, step, events[1 + floor(random() * cardinality(events))::integer], chr(97 + round(random())::integer)
FROM generate_series(1, 120) AS purchase
CROSS JOIN generate_series(1, 8) AS step
CROSS JOIN (
    SELECT ARRAY[
        'paid', 'paid', 'refund', 'admit', 'claim', 'delivered', 'dismissed', 'refunded', 'reopen', 'import', 'entitle',
        'revoke', 'night', 'night']
) AS drawn (events);
-- At the end the customer asks for both.
INSERT INTO test.happened
SELECT purchase, step, event, id
FROM generate_series(1, 120) AS purchase
CROSS JOIN (
    VALUES (9, 'night', 'a'), (10, 'claim', 'a'), (11, 'claim', 'b'), (12, 'night', 'a')
) AS asked (step, event, id);

CREATE FUNCTION test.product_of(purchase integer) RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT CASE $1 % 2 WHEN 0 THEN 'full' ELSE 'pass' END $$;
DO $$
DECLARE
    next   test.happened;
    minute integer := 0;
BEGIN
    FOR next IN SELECT * FROM test.happened ORDER BY purchase, step LOOP
        minute := minute + 1;
        UPDATE test.happened
        SET answer = test.happens(
            next.event, test.product_of(next.purchase), 'a' || next.purchase, next.id || next.purchase,
            now() + minute * interval '1 minute')
        WHERE purchase = next.purchase AND step = next.step;
    END LOOP;
END
$$;

CREATE VIEW test.ended AS
SELECT
    purchase,
    count(*) FILTER (WHERE place = 'black' AND delivered_by <> 'import') AS given,
    count(*) FILTER (WHERE delivered_by = 'import') AS imported,
    count(*) FILTER (WHERE place = 'white') AS owed,
    count(*) FILTER (WHERE reason IN ('refunded', 'dismissed')) AS ended,
    count(*) AS known
FROM test.happened
JOIN iap.transactions ON original_transaction_id = 'a' || purchase
WHERE step = 1
GROUP BY purchase;

SELECT cmp_ok(
    (SELECT count(*) FROM test.happened WHERE event = 'claim' AND answer = 'delivered'), '>', 15::bigint,
    'much is claimed');
SELECT is_empty(
    $$
    SELECT purchase FROM test.happened
    WHERE event = 'claim' AND answer = 'delivered'
    GROUP BY purchase
    HAVING count(*) > 1
    $$,
    'never under both ids');
SELECT is_empty('SELECT * FROM test.ended WHERE given > 1', 'nor is any purchase given in two ways');
SELECT is_empty(
    'SELECT * FROM test.ended WHERE owed > 0 AND given + imported + ended > 0',
    'what was delivered, refunded or dismissed under one id is owed under none');
SELECT is_empty(
    $$
    SELECT claimed.*
    FROM test.happened AS claimed
    CROSS JOIN LATERAL (
        SELECT before.answer
        FROM test.happened AS before
        WHERE before.purchase = claimed.purchase AND before.step < claimed.step
            AND before.answer IN ('dismissed', 'reopened')
        ORDER BY before.step DESC
        LIMIT 1
    ) AS word
    WHERE claimed.event = 'claim' AND claimed.answer = 'delivered' AND word.answer = 'dismissed'
    $$, 'nor claimed');
SELECT is_empty(
    'SELECT * FROM test.ended WHERE given + imported + owed + ended = 0', 'and what nothing ended is owed under one');
SELECT is_empty(
    $$SELECT event, answer FROM test.happened
    WHERE event NOT IN ('entitle', 'revoke')
        AND answer !~ '^(delivered|already_\w+|not_verified|excluded|refunded|dismissed|reopened|white|55000|\d)$'$$,
    'no event fails');
SELECT is_empty('SELECT * FROM test.misfits', 'and each row fits its seal');

SELECT * FROM finish();
ROLLBACK;
