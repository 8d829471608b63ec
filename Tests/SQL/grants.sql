-- What a grant, its repetition and its end leave alone: other apps, other originals, and what was delivered otherwise.
BEGIN;
SELECT no_plan();
SET LOCAL search_path = public, iap;

-- A period that Apple tells of, from a day to a day, counted from now.
CREATE FUNCTION test.period(
    transaction_id text, original text, first_day numeric, last_day numeric, product_id text DEFAULT 'pass.month',
    bundle_id text DEFAULT 'com.example.a'
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v iap.verified := test.heard(
        $1, product_id => $5, product_type => 'auto_renewable', original_transaction_id => $2,
        purchased_at => now() + $3 * interval '1 day', bundle_id => $6);
BEGIN
    v.expires_at := now() + $4 * interval '1 day';
    PERFORM iap.enter(ARRAY[v], 1, now());
END
$$;
CREATE FUNCTION test.entitle(original text, days numeric, bundle_id text DEFAULT 'com.example.a') RETURNS void
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format(
        'SELECT iap.entitle(%L, %L, %L, %L)', $3, $1, 'ann', now() + $2 * interval '1 day'))
$$;
-- Until when it is granted then, in days from now.
CREATE FUNCTION test.revoke(
    original text, days numeric DEFAULT 0, bundle_id text DEFAULT 'com.example.a'
) RETURNS numeric
LANGUAGE sql AS $$
    SELECT round(extract(epoch FROM test.run_as('iap_app', format(
        'SELECT iap.revoke_entitlement(%L, %L, %L)', $3, $1, now() + $2 * interval '1 day'))::timestamptz
        - now()) / 86400, 1)
$$;
CREATE FUNCTION test.of(original text) RETURNS text
LANGUAGE sql AS $$
    SELECT string_agg(
        concat_ws(' ', right(bundle_id, 1), transaction_id, place), ', ' ORDER BY bundle_id, transaction_id)
    FROM iap.transactions
    WHERE original_transaction_id = $1
$$;

-- Another app's original of the same id.
SELECT test.period('s1', 's1', -10, 20), test.period('s1', 's1', -10, 20, bundle_id => 'com.example.z');
SELECT test.entitle('s1', 20);
SELECT is(test.of('s1'), 'a s1 black, z s1 white', 'a grant is of one app');
SELECT test.entitle('s1', 30, 'com.example.z');
SELECT is(test.of('s1'), 'a s1 black, z s1 black', 'the other grants its own');
SELECT test.entitle('s1', 25), test.entitle('s1', 32, 'com.example.z'), test.entitle('s1', 35, 'com.example.z');
SELECT results_eq(
    $$SELECT bundle_id, entitled_until - now() FROM iap.entitlements WHERE original_transaction_id = 's1' ORDER BY 1$$,
    $$VALUES ('com.example.a' COLLATE "C", interval '25 days'), ('com.example.z', interval '35 days')$$,
    'and each prolongs its own');
SELECT is(test.revoke('s1', 30, 'com.example.z'), 30.0, 'and shortens its own');
SELECT is(test.revoke('s1'), 0.0, 'one is taken back');
SELECT is(test.of('s1'), 'a s1 white, z s1 black', 'and not the other');

-- What was claimed stays delivered when a grant is taken back.
SELECT test.period('c1', 'c1', -40, -10), test.period('c2', 'c1', -10, 20);
SELECT is(test.claim('c2'), 'delivered', 'a period is claimed');
SELECT test.entitle('c1', 20);
SELECT is(test.revoke('c1', -30), -30.0, 'the grant is taken back to before both');
SELECT is(test.of('c1'), 'a c1 white, a c2 black', 'what it delivered is owed again, what was claimed is not');

-- What ends no sooner than was granted takes nothing back, and grants nothing: not even what Apple tells to end later.
SELECT test.admit('e2', 'e1', 'pass.month'), test.entitle('e1', 16);
UPDATE iap.transactions SET expires_at = now() + interval '30 days' WHERE transaction_id = 'e2';
SELECT is(test.of('e1'), 'a e2 black', 'what a grant delivered before its end was known');
SELECT is(test.revoke('e1', 16), 16.0, 'the same end');
SELECT is(test.revoke('e1', 40), 16.0, 'and a later one');
SELECT is(
    test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', 'e1', 'infinity') - now()$$), '16 days',
    'or none at all');
SELECT is(test.run_as('iap_job', 'SELECT iap.uncover(7, now(), 10)'), '0', 'for the night, too,');
SELECT is(test.of('e1'), 'a e2 black', 'leave it delivered');
SELECT is(test.revoke('e1', 3), 3.0, 'a sooner one is in force');
SELECT is(test.revoke('e1', 40), 3.0, 'and is not put off');
SELECT is(test.of('e1'), 'a e2 white', 'what it does not reach to the end of is owed');
SELECT test.is_refused(
    'iap_app', $$SELECT iap.revoke_entitlement('com.example.a', 'e 1')$$, '22023', '%original_transaction_id%',
    'no id');
SELECT test.is_refused(
    'iap_app', $$SELECT iap.revoke_entitlement('an app', 'e1')$$, '22023', '%bundle_id%', 'no app');
SELECT test.is_refused(
    'iap_app', $$SELECT iap.entitle('an app', 'e1', 'ann', now())$$, '22023', '%bundle_id%', 'which grants nothing');

-- A grant that was shortened while another session was writing that it delivered is taken back by the night, to however
-- long ago it was shortened, and no other app's. Apple is asked about it again.
CREATE FUNCTION test.lose_revocation(original text, days numeric) RETURNS void
LANGUAGE sql AS $$
    UPDATE iap.entitlements SET entitled_until = now() + $2 * interval '1 day', revoked_at = now()
    WHERE original_transaction_id = $1 AND bundle_id = 'com.example.a';
    UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id = $1
$$;
SELECT test.period(id, id, -10, 20, bundle_id => app)
FROM unnest(ARRAY['u1', 'w1']) AS id, unnest(ARRAY['com.example.a', 'com.example.z']) AS app;
SELECT test.entitle(id, 20, app)
FROM unnest(ARRAY['u1', 'w1']) AS id, unnest(ARRAY['com.example.a', 'com.example.z']) AS app;
INSERT INTO iap.sightings (
    transaction_id, bundle_id, environment, bucket, receipt_id, user_id, is_named, in_receipt, uploaded_at)
SELECT 'u1', 'com.example.a', 'Production', number & 63, number, 'ann', true, true, now()
FROM test.submit('of u1') AS number;
UPDATE iap.receipts SET state = 'settled', next_attempt_at = NULL, verified_at = now();
SELECT test.lose_revocation('u1', 0), test.lose_revocation('w1', -30);
-- As their owner, for a cluster lets one role alone write a receipt in one transaction.
SELECT is(iap.uncover(7, now(), 10), 2::bigint, 'both are taken back');
SELECT results_eq(
    $$SELECT test.of(original) FROM unnest(ARRAY['u1', 'w1']) AS original$$,
    ARRAY['a u1 white, z u1 black', 'a w1 white, z w1 black'], 'of the app that shortened them');
SELECT results_eq(
    'SELECT state, next_attempt_at IS NOT NULL FROM iap.receipts', $$VALUES ('watched', true)$$,
    'and its receipt is asked about');

-- Since when an app grants at all is kept, however often it does.
SELECT test.period('f1', 'f1', -10, 20), test.entitle('f1', 5), test.said_days_ago('f1', 9), test.entitle('f1', 20);
SELECT results_eq(
    $$SELECT now() - first_granted_at, now() - granted_at FROM iap.entitlements WHERE original_transaction_id = 'f1'$$,
    $$VALUES (interval '9 days', interval '0')$$, 'the first word and the latest');

-- The same word again is of an upgrade only where one that is owed ends by then: not where it was claimed, is another
-- original's or another app's, or ends later, or more than a day before.
SELECT test.period('y1', 'y1', -40, 335, 'basic.year'), test.entitle('y1', 335), test.said_days_ago('y1', 40);
SELECT test.period('y2', 'y1', -20, 10, 'premium.month'), test.period('y3', 'y1', -10, 335, 'premium.year'),
    test.period('y4', 'y1', -5, 334, 'premium.week'), test.period('y5', 'y5', -10, 335, 'premium.year'),
    test.period('y6', 'y1', -10, 335, 'premium.year', 'com.example.z'), test.period('y8', 'y1', -2, 400, 'other.year');
SELECT is(test.claim('y3'), 'delivered', 'an upgrade is claimed');
SELECT test.entitle('y1', 335);
SELECT is(
    test.of('y1'), 'a y1 black, a y2 white, a y3 black, a y4 white, a y8 white, z y6 white',
    'the old word again grants nothing');
SELECT test.entitle('y1', 0);
SELECT is(
    test.of('y1'), 'a y1 black, a y2 white, a y3 black, a y4 white, a y8 white, z y6 white',
    'nor does one of what just ended');
SELECT test.period('y7', 'y1', -3, 334.5, 'other.year'), test.entitle('y1', 335);
SELECT is(
    test.of('y1'), 'a y1 black, a y2 black, a y3 black, a y4 black, a y7 black, a y8 white, z y6 white',
    'but where one that is owed ends within that day, it grants all that it reaches over');
-- What Apple has yet to tell the end of: for ever reaches over it however long ago that was said, and what is taken
-- back is owed again, though the grant had gone on for days. What is known to have no end was granted at any time.
INSERT INTO iap.products (bundle_id, product_id, type, name)
VALUES ('com.example.a', 'pass.month', 'auto_renewable', 'Month');
CREATE FUNCTION test.bought_days_ago(id text, original text, product_id text, days integer) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format(
        'SELECT iap.admit(%L, %L, %L, %L, %L, 1, %L, %L)', 'com.example.a', 'Production', $1, $2, $3,
        now() - $4 * interval '1 day', 'ann'))
$$;
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', 'n1', 'ann', 'infinity')$$);
SELECT test.entitle('o1', 30), test.entitle('p1', 30);
SELECT test.said_days_ago('n1', 40), test.said_days_ago('o1', 10);
SELECT test.bought_days_ago('n2', 'n1', 'pass.month', 5), test.bought_days_ago('p2', 'p1', 'pass.month', 5),
    test.hear(test.heard(
        'o2', 'server_api', 'full', original_transaction_id => 'o1', product_type => 'non_consumable'));
SELECT test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)');
SELECT results_eq(
    $$SELECT test.of(original) FROM unnest(ARRAY['n1', 'o1', 'p1']) AS original$$,
    ARRAY['a n2 black', 'a o2 black', 'a p2 black'], 'the night takes all three for granted');
SELECT is(test.revoke('p1'), 0.0, 'one is taken back');
SELECT is(test.of('p1'), 'a p2 white', 'and owed again');

-- Whether a grant was said for a period is judged by the app's own purchases alone, in the period's environment: not by
-- what another product of another app, or a tester, had meanwhile, nor by what came after it there, nor by their cases.
CREATE FUNCTION test.in_sandbox(
    id text, original text, first_day integer, last_day integer, product_id text, exclusion text DEFAULT 'sandbox'
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v iap.verified := test.heard(
        $1, product_id => $5, product_type => 'auto_renewable', original_transaction_id => $2,
        purchased_at => now() + $3 * interval '1 day', environment => 'Sandbox', exclusion => $6);
BEGIN
    v.expires_at := now() + $4 * interval '1 day';
    PERFORM iap.enter(ARRAY[v], 1, now());
END
$$;
-- Granted ahead: nothing else was replaced.
SELECT test.period('a1', 'a1', -40, -4), test.entitle('a1', 26), test.said_days_ago('a1', 6),
    test.period('a0', 'a1', -30, 30, 'z.month', 'com.example.z'), test.in_sandbox('a5', 'a1', -5, 5, 'other.month'),
    test.period('a2', 'a1', -4, 26);
-- An upgrade of a year whose end is not known: nothing says that this was over when the grant was said.
SELECT test.bought_days_ago('b1', 'b1', 'pass.year', 42), test.entitle('b1', 325), test.said_days_ago('b1', 40),
    test.period('b0', 'b1', -41, 30, 'z.month', 'com.example.z'), test.period('b2', 'b1', -10, 20, 'premium.month');
-- Into another product, where the end of what came before is known, days ahead; and where it is not, a day.
SELECT test.period('l1', 'l1', -40, -5), test.entitle('l1', 25), test.said_days_ago('l1', 8),
    test.period('l2', 'l1', -5, 25, 'premium.month');
SELECT test.bought_days_ago('m1', 'm1', 'pass.year', 42), test.entitle('m1', 325), test.said_days_ago('m1', 12),
    test.period('m2', 'm1', -10.5, 20, 'premium.month');
-- First periods that cases tell of, and whose end is not known: nothing came after them.
SELECT test.bought_days_ago(id, id, 'pass.month', 2), test.open_case(id, '{ann}') FROM unnest(ARRAY['d1', 'd2']) AS id;
UPDATE iap.cases SET periods = ARRAY[transaction_id] WHERE transaction_id IN ('d1', 'd2');
SELECT test.period('d0', 'd1', -1, 30, 'z.month', 'com.example.z'),
    test.in_sandbox('d3', 'd2', -1, 30, 'pass.month'), test.entitle('d1', 28), test.entitle('d2', 28);
-- One that went by: the case is another app's. And one whose case has ended, with an oldest period that left white;
-- what is under way is another's.
SELECT test.period('g1', 'g1', -60, -30), test.period('h1', 'h1', -90, -60), test.period('h2', 'h1', -60, -30),
    test.period('h1', 'h1', -90, -60, bundle_id => 'com.example.z'),
    test.in_sandbox('h1', 'h1', -90, -60, 'pass.month', NULL), test.open_case('g1', '{ann}'),
    test.open_case('h1', '{ann}');
UPDATE iap.cases SET periods = '{g1}', bundle_id = 'com.example.z' WHERE transaction_id = 'g1';
UPDATE iap.cases SET periods = '{h1,h2}' WHERE transaction_id = 'h1';
SELECT test.exclude('h1', 'refunded');
INSERT INTO iap.cases
SELECT (jsonb_populate_record(cases, others.here)).*
FROM iap.cases
CROSS JOIN (VALUES ('{"bundle_id": "com.example.z"}'::jsonb), ('{"environment": "Sandbox"}')) AS others (here)
WHERE transaction_id = 'h1';
INSERT INTO iap.redeliveries (
    transaction_id, bundle_id, environment, user_id, run_id, ordered_at, ordered_by, tries, taken_at, due_at)
SELECT transaction_id, bundle_id, environment, 'ann', 1, now(), 'iap-reconcile', 1, now(), now() + interval '10 minutes'
FROM iap.cases
WHERE transaction_id = 'h1' AND (bundle_id, environment) <> ('com.example.a', 'Production');
-- And one that a sweep withdrew is none.
SELECT test.period('k1', 'k1', -60, -30), test.open_case('k1', '{ann}');
UPDATE iap.cases
SET periods = '{k1}', state = 'closed', closed_at = now(), closed_as = 'withdrawn', closed_by = 'run 1'
WHERE transaction_id = 'k1';
SELECT test.entitle(id, 30) FROM unnest(ARRAY['g1', 'h1', 'k1']) AS id;
-- What a tester of another app was granted.
SELECT test.in_sandbox('i0', 'i1', -20, 20, 'pass.month');
UPDATE iap.transactions SET bundle_id = 'com.example.z' WHERE transaction_id = 'i0';
SELECT test.entitle('i1', 20), test.said_days_ago('i1', 15), test.period('i1', 'i1', -10, 20);
SELECT test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 100)');
SELECT results_eq(
    $$SELECT concat_ws(' ', transaction_id COLLATE "default", place) FROM iap.transactions
    WHERE bundle_id = 'com.example.a' AND environment = 'Production' AND transaction_id ~ '^[abdghiklm]'
    ORDER BY transaction_id$$,
    ARRAY[
        'a1 black', 'a2 black', 'b1 black', 'b2 white', 'd1 black', 'd2 black', 'g1 black', 'h1 excluded', 'h2 white',
        'i1 black', 'k1 black', 'l1 black', 'l2 black', 'm1 black', 'm2 white'],
    'each grant delivers what it was said for');

SELECT is_empty(
    'SELECT FROM iap.entitlements WHERE seal IS DISTINCT FROM audit.seal(entitlements)', 'each row fits its seal');

SELECT * FROM finish();
ROLLBACK;
