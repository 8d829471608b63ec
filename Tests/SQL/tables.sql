-- The tables refuse states that contradict themselves; the keys let the schema be distributed; everything is described.
BEGIN;
SELECT no_plan();

-- Receipts -----------------------------------------------------------------------------------------------------------

SELECT test.submit('r');
CREATE FUNCTION test.receipt_refused(assignments text, name text) RETURNS text
LANGUAGE sql AS $$
    SELECT throws_like(
        format('UPDATE iap.receipts SET %s', assignments), format('%%"%s"', name), 'receipts: ' || assignments)
$$;
SELECT test.receipt_refused($$state = 'lost', next_attempt_at = NULL$$, 'receipts_state_check');
SELECT test.receipt_refused($$next_attempt_at = NULL$$, 'due_while_open');
SELECT test.receipt_refused($$state = 'settled', verified_at = now()$$, 'due_while_open');
SELECT test.receipt_refused($$state = 'watched'$$, 'verified_when_it_says_so');
SELECT test.receipt_refused($$state = 'settled', next_attempt_at = NULL$$, 'verified_when_it_says_so');
SELECT test.receipt_refused($$state = 'unusable', next_attempt_at = NULL$$, 'unusable_has_reason');
SELECT test.receipt_refused($$attempts = 1$$, 'failed_attempts_have_error');
SELECT test.receipt_refused(
    $$attempts = -1, error_code = 'x', error_text = 'y', last_attempt_at = now()$$, 'receipts_attempts_check');
SELECT test.receipt_refused($$error_code = 'x', last_attempt_at = now()$$, 'error_has_text');
SELECT test.receipt_refused($$error_code = 'x', error_text = 'y'$$, 'error_was_met');
SELECT test.receipt_refused(
    $$state = 'settled', next_attempt_at = NULL, verified_at = now(), last_attempt_at = now(), error_code = 'x',
    error_text = 'y'$$, 'settled_has_no_error');
SELECT test.receipt_refused($$receipt_id = receipt_id + 1$$, 'receipt_id_names_bucket');
SELECT test.receipt_refused($$payload_sha256 = substr(payload_sha256, 1, 31)$$, 'receipts_payload_sha256_check');
SELECT test.receipt_refused($$payload_sha256 = sha256(payload_sha256)$$, 'payload_chooses_bucket');
SELECT lives_ok(
    $$UPDATE iap.receipts
    SET attempts = 1, last_attempt_at = now(), error_code = 'apple_down', error_text = 'try again'$$,
    'a receipt that was tried in vain waits');
SELECT lives_ok(
    $$UPDATE iap.receipts
    SET state = 'watched', attempts = 0, verified_at = now(), error_code = NULL, error_text = NULL$$,
    'and is watched when it was verified');

-- White, black, excluded ---------------------------------------------------------------------------------------------

SELECT test.admit('1'), test.admit('2');
SELECT test.claim('2');
SELECT test.exclude('3', 'sandbox');
CREATE FUNCTION test.refused(relation text, assignments text, name text) RETURNS text
LANGUAGE sql AS $$
    SELECT throws_like(
        format('UPDATE iap.%I SET %s', relation, assignments), format('%%"%s"', name), relation || ': ' || assignments)
$$;
SELECT test.refused('white', $$price_milliunits = 1$$, 'price_has_currency');
SELECT test.refused('white', $$currency = 'USD'$$, 'price_has_currency');
SELECT test.refused('white', $$price_milliunits = 1, currency = 'usd'$$, 'transactions_currency_check');
SELECT test.refused('white', $$nights_confirmed = 1$$, 'confirmed_at_some_time');
SELECT test.refused('white', $$last_confirmed_at = now()$$, 'confirmed_at_some_time');
SELECT test.refused('white', $$nights_confirmed = -1$$, 'transactions_nights_confirmed_check');
SELECT test.refused('white', $$quantity = 0$$, 'quantity_is_of_a_purchase');
SELECT test.refused('black', $$quantity = 0$$, 'quantity_is_of_a_purchase');
SELECT test.refused('white', $$environment = 'Xcode'$$, 'transactions_environment_check');
SELECT test.refused('white', $$product_type = 'Consumable'$$, 'transactions_product_type_check');
SELECT test.refused('white', $$transaction_id = ''$$, 'ids_are_apples');
SELECT test.refused('white', $$original_transaction_id = '1 2'$$, 'ids_are_apples');
SELECT test.refused('white', $$product_id = 'ä'$$, 'ids_are_apples');
SELECT test.refused('white', $$bundle_id = repeat('b', 256)$$, 'ids_are_apples');
SELECT test.refused('white', $$booked_milliunits = NULL$$, 'unknown_has_no_amount');
SELECT test.refused('white', $$booked_as = 'unknown'$$, 'unknown_has_no_amount');
SELECT test.refused('white', $$booked_as = 'guess'$$, 'transactions_booked_as_check');
SELECT test.refused('black', $$user_id = NULL$$, 'claim_has_user');
SELECT test.refused('black', $$delivered_by = NULL$$, 'black_is_delivered');
SELECT test.refused('black', $$delivered_at = NULL$$, 'black_is_delivered');
SELECT test.refused('black', $$delivered_by = 'hand'$$, 'transactions_delivered_by_check');
SELECT lives_ok(
    $$UPDATE iap.black SET delivered_by = 'import', user_id = NULL$$,
    'what was imported may have gone to nobody known');
SELECT test.refused('black', $$refund_reason = '1'$$, 'refund_reason_has_refund');
SELECT test.refused('black', $$price_milliunits = 1$$, 'price_has_currency');
SELECT test.refused('excluded', $$reason = 'refunded'$$, 'refunded_has_time');
SELECT test.refused('excluded', $$reason = 'foreign_bundle'$$, 'foreign_bundle_is_named');
SELECT test.refused('excluded', $$reason = 'other'$$, 'transactions_reason_check');
SELECT test.refused('excluded', $$reason = NULL$$, 'excluded_has_reason');
SELECT test.refused('excluded', $$excluded_at = NULL$$, 'excluded_has_reason');
SELECT test.refused('excluded', $$run_id = NULL$$, 'run_or_person');
SELECT lives_ok($$UPDATE iap.excluded SET quantity = 0$$, 'what is not owed may be of no unit');

-- A row is of one place, and holds what that place needs and nothing else.
SELECT test.refused('transactions', $$place = 'grey' WHERE transaction_id = '1'$$, 'transactions_place_check');
SELECT test.refused('transactions', $$place = 'black' WHERE transaction_id = '1'$$, 'black_is_delivered');
SELECT test.refused('transactions', $$place = 'excluded' WHERE transaction_id = '1'$$, 'excluded_has_reason');
SELECT test.refused('transactions', $$place = 'white' WHERE transaction_id = '2'$$, 'black_is_delivered');
SELECT test.refused(
    'transactions', $$place = 'white', quantity = 1 WHERE transaction_id = '3'$$, 'excluded_has_reason');
SELECT test.refused(
    'transactions', $$delivered_at = now(), delivered_by = 'claim', user_id = 'ann' WHERE transaction_id = '1'$$,
    'black_is_delivered');
SELECT test.refused('transactions', $$user_id = 'ann' WHERE transaction_id = '1'$$, 'delivered_to_somebody');
SELECT test.refused('transactions', $$order_id = 'o' WHERE transaction_id = '3'$$, 'delivered_to_somebody');
SELECT test.refused('transactions', $$refunded_at = now() WHERE transaction_id = '1'$$, 'owed_is_not_refunded');
SELECT test.refused(
    'transactions', $$reason = 'sandbox', excluded_at = now() WHERE transaction_id = '2'$$, 'excluded_has_reason');
SELECT throws_ok(
    $$INSERT INTO iap.transactions SELECT * FROM iap.transactions$$, '23505', NULL, 'a transaction is there once');

-- What moves, and what was delivered under which id.
SELECT test.refused('moves', $$kind = 'lost'$$, 'moves_kind_check');
SELECT throws_ok(
    $$INSERT INTO iap.delivered_originals VALUES ('1', 'a', 'Production', '1'), ('1', 'a', 'Production', '2')$$,
    '23505', NULL, 'an original is delivered once');
SELECT throws_ok(
    $$INSERT INTO iap.claims (transaction_id, bundle_id, user_id, outcome)
    VALUES ('2', 'com.example.a', 'bob', 'delivered')$$,
    '23505', NULL, 'and an id of an app, whatever its environment');
SELECT test.refused('claims', $$outcome = 'maybe'$$, 'claims_outcome_check');
SELECT test.refused('products', $$currency = NULL$$, 'list_price_has_currency');
SELECT test.refused('products', $$type = 'gift'$$, 'products_type_check');
SELECT test.refused('products', $$product_id = product_id || ' '$$, 'ids_are_apples');
SELECT test.refused('products', $$product_id = ''$$, 'ids_are_apples');
SELECT test.refused('products', $$bundle_id = E'com.example.a\n'$$, 'ids_are_apples');

-- Cases, runs --------------------------------------------------------------------------------------------------------

SELECT test.open_case('1', '{ann}');
SELECT test.refused('cases', $$state = 'closed'$$, 'closed_when_and_how');
SELECT test.refused('cases', $$closed_at = now()$$, 'closed_when_and_how');
SELECT test.refused('cases', $$state = 'closed', closed_at = now(), closed_as = 'delivered'$$, 'closed_when_and_how');
SELECT test.refused('cases', $$note = 'x'$$, 'only_closed_has_note');
SELECT test.refused('cases', $$reasons = '{}'$$, 'cases_reasons_check');
SELECT test.refused('cases', $$likelihood = 'certain'$$, 'cases_likelihood_check');
INSERT INTO iap.runs (as_of, started_at, host, process_id, program_version) VALUES (now(), now(), 'h', 1, '1');
SELECT test.refused('runs', $$finished_at = now()$$, 'finished_when_it_says_so');
SELECT test.refused('runs', $$state = 'failed', reason = 'x'$$, '%'); -- without an end or an exit code
SELECT test.refused('runs', $$state = 'complete', finished_at = now(), exit_code = 0$$, 'complete_has_books');
SELECT test.refused('runs', $$state = 'failed', finished_at = now(), exit_code = 70$$, 'reason_when_not_complete');
SELECT test.refused('runs', $$state = 'failed', finished_at = now(), reason = 'x'$$, 'exit_code_of_finished');
SELECT test.refused('runs', $$opening_white = '{0,0,0}'$$, 'books_are_whole');

-- The key layout -----------------------------------------------------------------------------------------------------

CREATE VIEW test.on_coordinator AS
SELECT relname::text AS relation
FROM pg_class
CROSS JOIN test.files
WHERE relnamespace = 'iap'::regnamespace AND relkind = 'r' AND name = 'citus.sql'
    AND text ~ ('\n--  .* ?iap\.' || relname || '(,|\n|$)');
SELECT set_eq(
    $$SELECT relation FROM test.distribution UNION ALL SELECT relation FROM test.on_coordinator$$,
    $$SELECT relname::text FROM pg_class WHERE relnamespace = 'iap'::regnamespace AND relkind = 'r'$$,
    'citus.sql places every table');
SELECT results_eq(
    $$SELECT relation, distribution_column FROM test.distribution ORDER BY relation$$,
    $$VALUES ('receipts', 'bucket'), ('uploads', 'bucket')$$, 'the inbox by its bucket');
SELECT is_empty(
    $$SELECT relation FROM test.distribution JOIN test.on_coordinator USING (relation)$$,
    'and says of none of these that it stays on the coordinator');
SELECT is_empty(
    $$SELECT indexrelid::regclass
    FROM test.distribution
    JOIN pg_index ON indrelid = ('iap.' || relation)::regclass AND indisunique
    WHERE distribution_column IS NOT NULL
        AND NOT EXISTS (
            SELECT FROM pg_attribute
            WHERE attrelid = indrelid AND attnum = ANY (indkey[:indnkeyatts - 1]) AND attname = distribution_column)$$,
    'every unique key of a distributed table holds the distribution column');
SELECT is_empty(
    $$SELECT relation FROM test.distribution
    WHERE distribution_column IS NOT NULL
        AND NOT EXISTS (
            SELECT FROM pg_index WHERE indrelid = ('iap.' || relation)::regclass AND indisunique)$$,
    'and there is one');
SELECT is_empty($$SELECT FROM pg_constraint WHERE contype = 'f' AND connamespace = 'iap'::regnamespace$$,
    'there are no foreign keys');
SELECT is_empty(
    $$SELECT FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE relnamespace IN ('iap'::regnamespace, 'audit'::regnamespace)
        -- Of a cluster's own.
        AND NOT starts_with(tgname, 'truncate_trigger_')$$, 'nor triggers');
SELECT is_empty(
    $$SELECT attrelid::regclass, attname FROM pg_attribute
    WHERE attname IN ('transaction_id', 'original_transaction_id', 'bundle_id', 'product_id')
        AND attrelid IN (
            SELECT ('iap.' || relation)::regclass FROM test.distribution WHERE relation NOT IN ('receipts', 'uploads'))
        AND attcollation <> '"C"'::regcollation$$, 'Apple''s ids are in byte order');
-- PostgreSQL refuses to change a row that a publication would tell of and no key names.
SELECT set_eq(
    $$SELECT relname::text FROM pg_class
    WHERE relnamespace IN ('iap'::regnamespace, 'audit'::regnamespace) AND relkind = 'r' AND relreplident <> 'f'
        AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary)$$,
    $$VALUES ('books'), ('sales')$$,
    'where all tables are published, only those can''t be changed that never are');

-- Descriptions -------------------------------------------------------------------------------------------------------

SELECT is_empty(
    $$SELECT oid::regclass FROM pg_class
    WHERE relnamespace IN ('iap'::regnamespace, 'finance'::regnamespace, 'audit'::regnamespace)
        AND relkind IN ('r', 'v')
        AND obj_description(oid, 'pg_class') IS NULL$$, 'every table and view is described');
SELECT is_empty(
    $$SELECT attrelid::regclass, attname FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = 'finance'::regnamespace AND attnum > 0 AND col_description(attrelid, attnum) IS NULL$$,
    'and every column of a view');
SELECT is_empty(
    $$SELECT oid::regprocedure FROM pg_proc
    WHERE pronamespace IN ('iap'::regnamespace, 'finance'::regnamespace, 'audit'::regnamespace)
        AND obj_description(oid, 'pg_proc') IS NULL$$,
    'and every function');

SELECT * FROM finish();
ROLLBACK;
