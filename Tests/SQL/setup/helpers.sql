-- What all tests share. Loaded into the template of their databases.

CREATE EXTENSION pgtap;
CREATE SCHEMA test;

-- sql/citus.sql, for the tests of the key layout.
CREATE TABLE test.files (name text PRIMARY KEY, text text NOT NULL);
INSERT INTO test.files VALUES ('citus.sql', :'citus');

-- The table and the column by which citus.sql distributes it; NULL for a reference table.
CREATE VIEW test.distribution AS
SELECT found[2] AS relation, found[3] AS distribution_column
FROM test.files
CROSS JOIN regexp_matches(text, $$create_(distributed|reference)_table\('iap\.(\w+)'(?:, '(\w+)')?$$, 'g') AS found
WHERE name = 'citus.sql';

-- Runs one query under a role, and gives the text of its first value.
CREATE FUNCTION test.run_as(role name, query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE format('SET LOCAL ROLE %I', role);
    EXECUTE query INTO result;
    RESET ROLE;
    RETURN result;
END
$$;

-- Whether a statement is refused to a role for want of a right.
CREATE FUNCTION test.is_denied(role name, query text) RETURNS text
LANGUAGE sql AS $$
    SELECT throws_ok(
        format('SELECT test.run_as(%L, %L)', role, query), '42501', NULL, format('%s may not: %s', role, query))
$$;

-- Whether a statement is refused with a class of error whose message is like the pattern.
CREATE FUNCTION test.is_refused(role name, query text, state text, pattern text, description text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.run_as(role, query);
    RETURN fail(description);
EXCEPTION
    WHEN OTHERS THEN
        RETURN ok(SQLSTATE = state AND SQLERRM LIKE pattern, description)
            || CASE WHEN SQLSTATE = state AND SQLERRM LIKE pattern THEN ''
                ELSE E'\n' || diag(SQLSTATE || ': ' || SQLERRM) END;
END
$$;

-- Calls of an app's server, for one product bought now by ann unless said otherwise.
CREATE FUNCTION test.admit(
    transaction_id text, original_transaction_id text DEFAULT NULL, product_id text DEFAULT 'gems',
    environment text DEFAULT 'Production', user_id text DEFAULT 'ann', receipt_id bigint DEFAULT NULL,
    quantity integer DEFAULT 1, bundle_id text DEFAULT 'com.example.a'
) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format(
        'SELECT iap.admit(%L, %L, %L, %L, %L, %L, %L, %L, %L)', bundle_id, environment, transaction_id,
        coalesce(original_transaction_id, transaction_id), product_id, quantity, now(), user_id, receipt_id))
$$;

CREATE FUNCTION test.claim(transaction_id text, user_id text DEFAULT 'ann', order_id text DEFAULT NULL) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format(
        'SELECT iap.claim(%L, %L, %L, %L)', 'com.example.a', transaction_id, user_id, order_id))
$$;

CREATE FUNCTION test.submit(
    payload text, user_id text DEFAULT 'ann', transaction_id text DEFAULT NULL, order_id text DEFAULT NULL,
    device jsonb DEFAULT NULL, bundle_id text DEFAULT 'com.example.a'
) RETURNS bigint
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format(
        'SELECT iap.submit_receipt(%L, %L, %L, %L, %L, %L)', bundle_id, user_id, payload, transaction_id, order_id,
        device))::bigint
$$;

CREATE FUNCTION test.resolve(transaction_id text, how text, note text DEFAULT 'checked with Apple') RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_support', format('SELECT iap.resolve(%L, %L, %L, %L)', transaction_id, how, 'sue', note))
$$;

CREATE FUNCTION test.reopen(transaction_id text, note text DEFAULT 'a mistake') RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_support', format('SELECT iap.reopen(%L, %L, %L)', transaction_id, 'tom', note))
$$;

-- As the nightly job would open it.
CREATE FUNCTION test.open_case(transaction_id text, owner_user_ids text[]) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO iap.cases (
        transaction_id, bundle_id, environment, likelihood, reasons, action, owner_user_ids, opened_at, opened_run_id,
        assessed_at, assessed_run_id)
    VALUES (
        $1, 'com.example.a', 'Production', 'high', '{never_claimed}', 'deliver', $2, now(), 1, now(), 1)
$$;

-- As the nightly job would exclude what it verified.
CREATE FUNCTION test.exclude(transaction_id text, reason text) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO iap.excluded (
        transaction_id, bundle_id, environment, original_transaction_id, product_id, quantity, purchased_at, source,
        verified_at, reason, refunded_at, excluded_at, run_id)
    VALUES (
        $1, 'com.example.a', 'Production', $1, 'gems', 1, now(), 'verify_receipt', now(), $2,
        CASE $2 WHEN 'refunded' THEN now() END, now(), 1)
$$;

-- What the movements make of the white table: transactions, units, hash. The same as test.white_tally(), always.
CREATE FUNCTION test.moved_tally() RETURNS bigint[]
LANGUAGE sql AS $$
    SELECT ARRAY[
        coalesce(sum(CASE kind WHEN 'new' THEN transactions ELSE -transactions END), 0),
        coalesce(sum(CASE kind WHEN 'new' THEN units ELSE -units END), 0),
        coalesce(bit_xor(hash), 0)]
    FROM iap.movements
$$;

CREATE FUNCTION test.white_tally() RETURNS bigint[]
LANGUAGE sql AS $$
    SELECT ARRAY[
        count(*), coalesce(sum(quantity), 0), coalesce(bit_xor(hashtextextended(transaction_id, 0)), 0)]
    FROM iap.white
$$;

INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
VALUES
    ('com.example.a', 'gems', 'consumable', '60 Gems', 990, 'USD'),
    ('com.example.a', 'full', 'non_consumable', 'Full version', 4990, 'USD');
