-- What all tests share. Loaded into the template of their databases.

CREATE EXTENSION pgtap;
CREATE SCHEMA test;

-- sql/citus.sql, for the tests of the key layout, sql/roles.sql, for those of what it refuses, and what Apple may sign.
CREATE TABLE test.files (name text PRIMARY KEY, text text NOT NULL);
INSERT INTO test.files
VALUES ('citus.sql', :'citus'), ('roles.sql', :'roles'), ('signed_transactions.json', :'signed');

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

-- What Apple may have signed, as a client hands it in. No function looks at the signature: the night does.
CREATE FUNCTION test.signed(claims jsonb) RETURNS text
LANGUAGE sql AS $$
    SELECT 'e30.' || translate(
        rtrim(replace(encode(convert_to(claims::text, 'UTF8'), 'base64'), E'\n', ''), '='), '+/', '-_')
        || '.c2ln'
$$;

-- What Apple says of a purchase of ann's app: bought now and asked now, unless said otherwise.
CREATE FUNCTION test.heard(
    transaction_id text, source iap.source DEFAULT 'verify_receipt', product_id text DEFAULT 'gems',
    quantity integer DEFAULT 1, exclusion text DEFAULT NULL, refunded_at timestamptz DEFAULT NULL,
    verified_at timestamptz DEFAULT now(), purchased_at timestamptz DEFAULT now(),
    original_transaction_id text DEFAULT NULL, environment text DEFAULT 'Production',
    price_milliunits bigint DEFAULT NULL,
    currency text DEFAULT 'USD', product_type text DEFAULT NULL, app_account_token text DEFAULT NULL,
    storefront text DEFAULT NULL, is_trial boolean DEFAULT false, revocation_type text DEFAULT NULL,
    revocation_percentage integer DEFAULT NULL, confirmed_at timestamptz DEFAULT NULL,
    bundle_id text DEFAULT 'com.example.a', web_order_line_item_id text DEFAULT NULL
) RETURNS iap.verified
LANGUAGE plpgsql AS $$
DECLARE
    v iap.verified;
BEGIN
    v.transaction_id := heard.transaction_id;
    v.bundle_id := heard.bundle_id;
    v.environment := heard.environment;
    v.original_transaction_id := coalesce(heard.original_transaction_id, heard.transaction_id);
    v.product_id := heard.product_id;
    v.product_type := heard.product_type;
    v.quantity := heard.quantity;
    v.purchased_at := heard.purchased_at;
    v.is_trial := heard.is_trial;
    v.app_account_token := heard.app_account_token;
    v.price_milliunits := heard.price_milliunits;
    v.currency := CASE WHEN heard.price_milliunits IS NOT NULL THEN heard.currency END;
    v.storefront := heard.storefront;
    v.found_bundle_id := CASE heard.exclusion WHEN 'foreign_bundle' THEN 'com.example.z' END;
    v.refunded_at := heard.refunded_at;
    v.source := heard.source;
    v.verified_at := heard.verified_at;
    v.confirmed_at := heard.confirmed_at;
    v.web_order_line_item_id := heard.web_order_line_item_id;
    v.exclusion := heard.exclusion;
    v.revocation_type := heard.revocation_type;
    v.revocation_percentage := heard.revocation_percentage;
    RETURN v;
END
$$;

-- A receipt of bucket 0 in which a purchase is seen: it is the first of its batch, unless said otherwise.
CREATE FUNCTION test.seen(
    receipt_id bigint, user_id text DEFAULT 'ann', order_id text DEFAULT NULL, is_named boolean DEFAULT true,
    uploaded_at timestamptz DEFAULT now(), number integer DEFAULT 1
) RETURNS iap.sighted
LANGUAGE sql AS $$
    SELECT ROW(ARRAY[number], receipt_id, user_id, order_id, is_named, true, uploaded_at)::iap.sighted
$$;

-- A batch, recorded as the nightly job does.
CREATE FUNCTION test.record(
    purchases iap.verified[], sightings iap.sighted[] DEFAULT '{}', run bigint DEFAULT 1,
    at timestamptz DEFAULT iap.present()
) RETURNS iap.recorded
LANGUAGE plpgsql SET search_path = pg_catalog, iap, pg_temp AS $$
DECLARE
    recorded iap.recorded;
BEGIN
    FOR number IN 1 .. cardinality(purchases) LOOP
        purchases[number].number := number;
    END LOOP;
    SET LOCAL ROLE iap_job;
    CREATE TEMPORARY TABLE heard OF iap.verified;
    CREATE TEMPORARY TABLE seen OF iap.sighted;
    INSERT INTO heard SELECT * FROM unnest(purchases);
    INSERT INTO seen SELECT * FROM unnest(sightings);
    SELECT * INTO recorded FROM iap.record(run, at);
    DROP TABLE heard, seen;
    RESET ROLE;
    RETURN recorded;
END
$$;

-- Of one purchase: where it is afterwards, and if it is excluded why.
CREATE FUNCTION test.hear(purchase iap.verified, run bigint DEFAULT 1) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    became text;
BEGIN
    PERFORM test.record(ARRAY[purchase], run => run);
    SELECT coalesce(reason, place) INTO became
    FROM iap.transactions AS t
    WHERE t.transaction_id = purchase.transaction_id AND t.bundle_id = purchase.bundle_id
        AND t.environment = purchase.environment;
    RETURN became;
END
$$;

-- Of a period of the subscription “pass”, that many days from now on, as Apple names it.
CREATE FUNCTION test.hear_period(
    transaction_id text, original text, line_item text, days integer DEFAULT 0, exclusion text DEFAULT NULL,
    verified_at timestamptz DEFAULT now()
) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        transaction_id, product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => original,
        exclusion => exclusion, refunded_at => CASE exclusion WHEN 'refunded' THEN now() END,
        verified_at => verified_at, purchased_at => now() + days * interval '1 day',
        web_order_line_item_id => line_item))
$$;

-- As the nightly job would exclude what it verified.
CREATE FUNCTION test.exclude(transaction_id text, reason text) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard($1, exclusion => $2, refunded_at => CASE $2 WHEN 'refunded' THEN now() END))
$$;

-- What was delivered before, as an import takes it over: how many are black since.
CREATE FUNCTION test.import(purchase iap.verified, user_id text DEFAULT 'ann') RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, iap, pg_temp AS $$
DECLARE
    imported bigint;
BEGIN
    purchase.user_id := import.user_id;
    purchase.source := 'app_server';
    purchase.delivered_at := purchase.purchased_at;
    SET LOCAL ROLE iap_import;
    imported := iap.import_deliveries(ARRAY[purchase]);
    RESET ROLE;
    RETURN imported;
END
$$;

-- The log of a transaction: why it moved, from where, and to where.
CREATE FUNCTION test.moves(transaction_id text) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT concat_ws(
        ' ', kind, coalesce(from_detail, from_place), '>', coalesce(to_detail, to_place))
    FROM iap.moves
    WHERE moves.transaction_id = $1
    ORDER BY move_id
$$;

-- As the nightly job closes its books: the number of its run.
CREATE FUNCTION test.close_books(moment timestamptz DEFAULT now()) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    run bigint;
BEGIN
    INSERT INTO iap.runs (as_of, started_at, host, process_id, program_version)
    VALUES (moment, moment, 'h', 1, '1')
    RETURNING run_id INTO run;
    PERFORM test.run_as('iap_job', format('SELECT iap.close_books(%s)', run));
    RETURN run;
END
$$;

-- The rows that don't fit their seals.
CREATE VIEW test.misfits AS
SELECT 'transactions' AS relation, transaction_id AS row FROM iap.transactions AS t
WHERE seal IS DISTINCT FROM audit.seal(t)
UNION ALL
SELECT 'moves', transaction_id FROM iap.moves AS m WHERE seal IS DISTINCT FROM audit.seal(m)
UNION ALL
SELECT 'sightings', transaction_id FROM iap.sightings AS s WHERE seal IS DISTINCT FROM audit.seal(s)
UNION ALL
SELECT 'claims', transaction_id FROM iap.claims AS c WHERE seal IS DISTINCT FROM audit.seal(c)
UNION ALL
SELECT 'orders', order_id FROM iap.orders AS o WHERE seal IS DISTINCT FROM audit.seal(o)
UNION ALL
SELECT 'account_tokens', app_account_token FROM iap.account_tokens AS a WHERE seal IS DISTINCT FROM audit.seal(a)
UNION ALL
SELECT 'uploads', receipt_id::text FROM iap.uploads AS u WHERE seal IS DISTINCT FROM audit.seal(u)
UNION ALL
SELECT 'receipts', receipt_id::text FROM iap.receipts
WHERE seal IS DISTINCT FROM audit.receipt_seal(
    bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at, state, is_erased)
UNION ALL
SELECT 'events', event_id::text FROM iap.events AS e WHERE seal IS DISTINCT FROM audit.seal(e)
UNION ALL
-- Whose latest move is gone.
SELECT 'moved', transaction_id FROM iap.transactions
WHERE move_id IS NOT NULL AND move_id NOT IN (SELECT move_id FROM iap.moves);

-- What entries and moves make of the white table: transactions, units, hash. The same as test.white_tally(), always.
CREATE FUNCTION test.moved_tally() RETURNS bigint[]
LANGUAGE sql SET search_path = pg_catalog, iap, pg_temp AS $$
    SELECT ARRAY[
        new[1] - claimed[1] - resolved[1] - refunded[1], new[2] - claimed[2] - resolved[2] - refunded[2],
        new[3] # claimed[3] # resolved[3] # refunded[3]]
    FROM iap.white_totals(ROW(true, 0, '{}', now(), '0')::audit.frontier, (SELECT last_value FROM iap.trail), '{}')
$$;

CREATE FUNCTION test.white_tally() RETURNS bigint[]
LANGUAGE sql AS $$
    SELECT ARRAY[
        count(*), coalesce(sum(quantity), 0), coalesce(bit_xor(hashtextextended(transaction_id, 0)), 0)]
    FROM iap.white
$$;

-- How many rows of a table this transaction has read so far, by whatever index or by none: those that an index led to
-- are counted for the index.
CREATE FUNCTION test.rows_read(relation regclass) RETURNS bigint
LANGUAGE sql AS $$
    SELECT pg_stat_get_xact_tuples_returned(relation) + pg_stat_get_xact_tuples_fetched(relation)
        + sum(pg_stat_get_xact_tuples_fetched(indexrelid))::bigint
    FROM pg_index
    WHERE indrelid = relation
$$;

-- How many rows of a table a query reads, asked under a role or as who tests.
CREATE FUNCTION test.rows_read_by(relation regclass, query text, role name DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    before bigint := test.rows_read(relation);
BEGIN
    IF role IS NULL THEN
        EXECUTE query;
    ELSE
        PERFORM test.run_as(role, query);
    END IF;
    RETURN test.rows_read(relation) - before;
END
$$;

-- What was granted for a subscription, as if it had been said so many days ago.
CREATE FUNCTION test.said_days_ago(original text, days integer) RETURNS void
LANGUAGE sql AS $$
    UPDATE iap.entitlements
    SET granted_at = now() - days * interval '1 day', first_granted_at = now() - days * interval '1 day',
        shorter = ARRAY(SELECT ROW(until, said_at - days * interval '1 day')::iap.word FROM unnest(shorter))
    WHERE original_transaction_id = $1;
    UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id = $1
$$;

INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
VALUES
    ('com.example.a', 'gems', 'consumable', '60 Gems', 990, 'USD'),
    ('com.example.a', 'full', 'non_consumable', 'Full version', 4990, 'USD');
