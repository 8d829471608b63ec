-- iap.entitle, iap.revoke_entitlement, and what the night makes of them.
BEGIN;
SELECT no_plan();
SET LOCAL search_path = public, iap;

-- A period of ann's subscription s1, that many days from now on, as Apple tells of it.
CREATE FUNCTION test.period(
    transaction_id text, first_day integer, last_day integer, original_transaction_id text DEFAULT 's1',
    product_id text DEFAULT 'gems'
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v iap.verified := test.heard(
        transaction_id, product_id => product_id, product_type => 'auto_renewable', price_milliunits => 4990,
        original_transaction_id => original_transaction_id, purchased_at => now() + first_day * interval '1 day');
BEGIN
    v.expires_at := now() + last_day * interval '1 day';
    PERFORM iap.enter(ARRAY[v], 1, now());
END
$$;
CREATE FUNCTION test.entitle(days double precision, original_transaction_id text DEFAULT 's1') RETURNS numeric
LANGUAGE sql AS $$
    SELECT round(extract(epoch FROM test.run_as('iap_app', format(
        'SELECT iap.entitle(%L, %L, %L, %L)', 'com.example.a', $2, 'ann', now() + $1 * interval '1 day'))::timestamptz
        - now()) / 86400, 1)
$$;
CREATE FUNCTION test.places() RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT transaction_id || ' ' || place FROM iap.transactions ORDER BY 1
$$;
CREATE FUNCTION test.open_of(original text) RETURNS text
LANGUAGE sql AS $$
    SELECT string_agg(transaction_id, ' ' ORDER BY transaction_id) FROM iap.white WHERE original_transaction_id = $1
$$;
SELECT test.period('s1', -60, -30), test.period('s2', -30, 0), test.period('s3', 0, 30);

-- Granting.
SELECT is(test.entitle(-0.5), -0.5, 'what is granted is told');
SELECT results_eq(
    'SELECT test.places()', $$VALUES ('s1 black'), ('s2 white'), ('s3 white')$$,
    'what it reaches to the end of is black');
SELECT results_eq(
    $$SELECT user_id, delivered_by, delivered_at = iap.present() FROM iap.black$$,
    $$VALUES ('ann', 'entitlement', true)$$, 'delivered by the entitlement');
SELECT results_eq(
    'SELECT kind, actor = session_user, to_place, to_detail, to_units FROM iap.moves',
    $$VALUES ('entitled', true, 'black', 'entitlement', 1)$$, 'and logged');
SELECT is(test.entitle(-20), -0.5, 'a later word never shortens');
SELECT is(test.entitle(30), 30.0, 'but it extends');
SELECT results_eq(
    'SELECT test.places()', $$VALUES ('s1 black'), ('s2 black'), ('s3 black')$$, 'and more is covered');
SELECT is(test.claim('s3'), 'already_delivered', 'what was granted is not claimed besides');

-- Taking back.
SELECT is(
    test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', 's9')$$), NULL, 'nothing was granted');
SELECT is(
    test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', 's1')$$), now()::text,
    'until now it stays granted');
SELECT results_eq(
    'SELECT test.places()', $$VALUES ('s1 black'), ('s2 black'), ('s3 white')$$, 'what is not over is owed again');
SELECT is((SELECT kind FROM iap.moves ORDER BY move_id DESC LIMIT 1), 'revoked', 'and logged');
SELECT test.is_refused(
    'iap_app', $$SELECT iap.revoke_entitlement('com.example.a', 's1', '20000-01-01Z')$$, '22023', '%can''t be%',
    'nobody grants as long as that');
SELECT is(test.entitle(30), 30.0, 'it can be granted again');
SELECT is_empty($$SELECT FROM iap.white$$, 'so that nothing is owed');
UPDATE iap.transactions SET refunded_at = now() WHERE transaction_id = 's3';
UPDATE iap.transactions AS t SET seal = audit.seal(ROW(t.*)::iap.transactions) WHERE transaction_id = 's3';
SELECT test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', 's1')$$);
SELECT is_empty($$SELECT FROM iap.white$$, 'what Apple refunded is not owed again');

-- The night: what was granted before Apple told of it.
SELECT test.entitle(60, 'n1');
SELECT test.period('n1', 0, 30, 'n1'), test.period('n2', 30, 60, 'n1'), test.period('n3', 60, 90, 'n1');
SELECT test.admit('n1', 'n1'), test.admit('n3', 'n1');
SELECT results_eq(
    $$SELECT transaction_id FROM iap.owed('com.example.a', 'ann')$$, $$VALUES ('n3' COLLATE "default")$$,
    'what is granted is not owed while the night has yet to write so');
SELECT is(test.claim('n1'), 'already_delivered', 'nor claimed besides');
SELECT is(
    test.run_as('iap_app', $$SELECT tell FROM iap.status('com.example.a', 'n1')$$), 'delivered',
    'its customer hears that it is delivered');
SELECT is(test.run_as('iap_app', $$SELECT iap.delivery_status('com.example.a', 'n1')$$), 'DELIVERED', 'and Apple');
SELECT is(
    test.run_as('iap_app', $$SELECT iap.delivery_status('com.example.a', 'n3')$$), 'UNDELIVERED_OTHER',
    'unlike what is not granted');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 1)'), '1', 'so many at a time');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '1', 'and all that is covered');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0', 'but no more');
SELECT results_eq('SELECT transaction_id FROM iap.white', $$VALUES ('n3' COLLATE "C")$$, 'the rest is owed');

-- A period that went by without access and was found so stays a case when a later grant reaches over it.
SELECT test.period('l1', -60, -30, 'l1'), test.period('l2', -30, 30, 'l1');
SELECT test.open_case('l1', '{ann}');
UPDATE iap.cases SET periods = '{l1,l2}' WHERE transaction_id = 'l1';
SELECT test.entitle(30, 'l1');
SELECT results_eq(
    $$SELECT transaction_id, place FROM iap.transactions WHERE original_transaction_id = 'l1' ORDER BY 1$$,
    $$VALUES ('l1' COLLATE "C", 'white'), ('l2', 'black')$$, 'what is over stays owed, what goes on is served');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0', 'also for the night');
SELECT test.period('l3', -30, 0, 'l3'), test.open_case('l3', '{ann}');
UPDATE iap.cases SET periods = '{l3}' WHERE transaction_id = 'l3';
SELECT test.entitle(0, 'l3');
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = 'l3'), 'white', 'and to the moment of its end');
DELETE FROM iap.transactions WHERE transaction_id = 'l3';
-- Nor does it end with the case that tells of it, where only the oldest period left white.
SELECT test.period('later1', -90, -60, 'later1'), test.period('later2', -60, -30, 'later1'),
    test.period('later3', -30, 30, 'later1');
SELECT test.open_case('later1', '{ann}');
UPDATE iap.cases SET periods = '{later1,later2}' WHERE transaction_id = 'later1';
SELECT test.entitle(30, 'later1');
SELECT is(test.open_of('later1'), 'later1 later2', 'two months are over and owed');
SELECT is(test.exclude('later1', 'refunded'), 'refunded', 'the first is refunded');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0', 'the other stays');
SELECT is(test.entitle(60, 'later1'), 60.0, 'when it is granted on');
SELECT is(test.open_of('later1'), 'later2', 'as well');
SELECT test.open_case('later2', '{ann}');
UPDATE iap.cases SET periods = '{later2}' WHERE transaction_id = 'later2';
INSERT INTO iap.redeliveries (
    transaction_id, bundle_id, environment, user_id, run_id, ordered_at, ordered_by, tries, taken_at, due_at)
VALUES (
    'later2', 'com.example.a', 'Production', 'ann', 1, now(), 'iap-reconcile', 1, now(),
    now() + interval '10 minutes');
SELECT is(test.entitle(90, 'later1'), 90.0, 'until its own redelivery');
SELECT is(test.open_of('later1'), NULL, 'delivers it');
-- What a grant delivered late it delivered whole: also what another session held then, and the night finds.
UPDATE iap.redeliveries SET ended_at = now(), ended_as = 'redelivered' WHERE transaction_id = 'later2';
UPDATE iap.cases SET periods = '{later2,later0}' WHERE transaction_id = 'later2';
SELECT test.period('later0', -120, -90, 'later1');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '1', 'with what its case told of');
SELECT is(test.open_of('later1'), NULL, 'nothing of it is owed');
-- What is bought once has no end, and what restores it is no next period: found lost, it is granted late.
SELECT test.hear(test.heard(
    'ever1', product_id => 'full', product_type => 'non_consumable', purchased_at => now() - interval '5 days'));
SELECT test.hear(test.heard(
    'ever2', product_id => 'full', product_type => 'non_consumable', original_transaction_id => 'ever1',
    purchased_at => now() - interval '2 days', exclusion => 'restored'));
SELECT test.open_case('ever1', '{ann}');
UPDATE iap.cases SET periods = '{ever1}' WHERE transaction_id = 'ever1';
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', 'ever1', 'ann', 'infinity')$$);
SELECT is(test.open_of('ever1'), NULL, 'for ever');
DELETE FROM iap.transactions WHERE original_transaction_id = 'ever1';
DELETE FROM iap.moves WHERE transaction_id = 'ever1';
DELETE FROM iap.cases WHERE transaction_id = 'ever1';
DELETE FROM iap.entitlements WHERE original_transaction_id = 'ever1';
DELETE FROM iap.delivered_originals WHERE original_transaction_id = 'ever1';
-- A tester's case says nothing of what was paid.
SELECT test.period('later4', -60, -30, 'later4'), test.open_case('later4', '{ann}');
UPDATE iap.cases SET periods = '{later4}', environment = 'Sandbox' WHERE transaction_id = 'later4';
SELECT is(test.entitle(30, 'later4'), 30.0, 'a period that went by');
SELECT is(test.open_of('later4'), NULL, 'is delivered before its own case is made');
-- What was imported while it ran is written by the night, or by the next word, which for itself would come late.
CREATE FUNCTION test.imported_in_time(original text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.period(original, -31, -1, original), test.open_case(original, '{ann}');
    UPDATE iap.cases SET periods = ARRAY[original] WHERE transaction_id = original;
    INSERT INTO iap.entitlements (
        original_transaction_id, bundle_id, user_id, entitled_until, first_granted_at, granted_at)
    SELECT original, 'com.example.a', 'ann', now() - interval '1 day', since, since
    FROM (SELECT now() - interval '2 days') AS granted (since);
END
$$;
CREATE FUNCTION test.import(original text, days integer, revoked_days integer DEFAULT NULL) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_import', format(
        'SELECT iap.import_entitlements(ARRAY[ROW(%L, %L, %L, %L, %L, %L, %L, ''{}'', NULL)::iap.entitlements])',
        $1, 'com.example.a', 'bob', now() + $2 * interval '1 day', now(), now(), now() + $3 * interval '1 day'))
$$;
SELECT test.imported_in_time(id) FROM unnest(ARRAY['later5', 'later6', 'later7', 'later8', 'later9']) AS id;
SELECT is(test.entitle(30, 'later5'), 30.0, 'what comes next is granted');
SELECT is(test.open_of('later5'), NULL, 'and what was granted in time stays delivered');
SELECT is(test.import('later6', 30), '1', 'whether the app''s server says it, or another import');
SELECT is(test.open_of('later6'), NULL, 'which comes late for it, too');
SELECT results_eq(
    $$SELECT user_id FROM iap.black WHERE transaction_id = 'later6'$$, $$VALUES ('ann')$$, 'to whom it was granted');
SELECT is(test.import('later7', -1), '0', 'a word that says nothing new');
SELECT is(test.open_of('later7'), 'later7', 'leaves it to the night');
SELECT is(test.import('later8', 30, -10), '1', 'what was revoked while the period ran');
SELECT is(test.open_of('later8'), 'later8', 'is owed again');
UPDATE iap.entitlements SET granted_at = now() WHERE original_transaction_id = 'later9';
SELECT is(test.import('later9', 30), '1', 'and where the first word came late as well');
SELECT is(test.open_of('later9'), 'later9', 'it delivered nothing');
-- Of several rows, the one that says something else may be any of them. What was claimed stays so.
CREATE FUNCTION test.import_rows(original text, VARIADIC days integer[]) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_import', format(
        'SELECT iap.import_entitlements(%L)',
        (
            SELECT array_agg(ROW(
                original, 'com.example.a', 'ann', now() + day * interval '1 day', now(), now(), NULL, '{}',
                NULL)::iap.entitlements)
            FROM unnest(days) AS day)))
$$;
SELECT test.period('laterc', -61, -31, 'latera'), test.claim('laterc');
SELECT test.imported_in_time(id) FROM unnest(ARRAY['latera', 'laterb']) AS id;
UPDATE iap.entitlements SET entitled_until = now() + interval '20 days' WHERE original_transaction_id = 'laterb';
SELECT is(test.import_rows('latera', -1, 30), '1', 'the one that reaches further');
SELECT is(test.import_rows('laterb', 10, 20), '0', 'or the one that reaches less far');
SELECT results_eq(
    $$SELECT transaction_id, delivered_by FROM iap.transactions WHERE transaction_id ~ '^later[abc]' ORDER BY 1$$,
    $$VALUES ('latera' COLLATE "C", 'entitlement'), ('laterb', 'entitlement'), ('laterc', 'claim')$$,
    'comes late for what was granted in time');
SELECT is(
    (
        SELECT count(*) FROM iap.entitlements
        WHERE original_transaction_id ~ '^later[ab]' AND iap.last_said(entitlements) = now()
    ), 2::bigint, 'and is the word on what comes next');
DELETE FROM iap.transactions WHERE transaction_id ~ '^later[abc]';
DELETE FROM iap.moves WHERE transaction_id ~ '^later[abc]';
DELETE FROM iap.cases WHERE transaction_id ~ '^later[ab]';
DELETE FROM iap.entitlements WHERE original_transaction_id LIKE 'later_' AND original_transaction_id >= 'later5';
DELETE FROM iap.redeliveries WHERE transaction_id = 'later2';
DELETE FROM iap.entitlements WHERE original_transaction_id IN ('later1', 'later4');

-- An upgrade that the server never heard of is not delivered by what was granted for the product before.
SELECT test.period('y1', -40, 335, 'y1', 'basic.year'), test.entitle(335, 'y1'), test.said_days_ago('y1', 40);
SELECT test.period('y2', -10, 20, 'y1', 'premium.month'), test.period('y3', 20, 50, 'y1', 'premium.month');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0', 'no night takes it for granted');
SELECT is(test.open_of('y1'), 'y2 y3', 'it is owed, and so are its renewals');
SELECT is(test.entitle(335, 'y1'), 335.0, 'the old word again');
SELECT is(test.open_of('y1'), 'y2 y3', 'grants nothing new');
SELECT is(test.entitle(-20, 'y1'), 335.0, 'nor does one of what is over');
SELECT is(test.open_of('y1'), 'y2 y3', 'which comes late');
SELECT is(test.entitle(20, 'y1'), 335.0, 'a word of the upgrade shortens nothing');
SELECT is(test.open_of('y1'), 'y3', 'but says that it is granted');
SELECT test.period('x1', -40, -5, 'x1', 'basic.month'), test.entitle(25, 'x1'), test.said_days_ago('x1', 6);
SELECT test.period('x2', -5, 25, 'x1', 'other.month');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '1', 'a crossgrade may be granted ahead');
SELECT test.period('xa1', -40, -5, 'xa1', 'basic.month'), test.entitle(25, 'xa1'), test.said_days_ago('xa1', 6);
SELECT test.period('xa2', -5, 25, 'xa1', 'basic.month'), test.period('xa3', -2, 28, 'xa1', 'premium.month');
SELECT test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)');
SELECT is(test.open_of('xa1'), 'xa3', 'and so may what is upgraded only then');
SELECT test.period('i1', -40, 335, 'i1', 'basic.year');
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', 'i1', 'ann', 'infinity')$$);
SELECT test.said_days_ago('i1', 40), test.period('i2', -10, 20, 'i1', 'premium.month');
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', 'i1', 'ann', 'infinity')$$);
SELECT is(test.open_of('i1'), NULL, 'for ever is said again for an upgrade');
-- Said after the year was taken back to the month that took its place.
SELECT test.period('z1', -40, 325, 'z1', 'basic.year'), test.entitle(325, 'z1'), test.said_days_ago('z1', 40);
SELECT test.period('z2', -10, 20, 'z1', 'premium.month');
SELECT test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', 'z1', now() + interval '20 days')$$);
SELECT is(test.open_of('z1'), 'z1 z2', 'what a grant is taken back to is not granted by that');
SELECT is(test.entitle(20, 'z1'), 20.0, 'but where the server says so');
SELECT is(test.open_of('z1'), 'z1', 'it is');
-- Nor is it granted where Apple has told the end of neither, and what it took the place of was bought just before.
CREATE FUNCTION test.without_end(id text, product_id text, bought interval) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        id, 'app_server', product_id, product_type => 'auto_renewable', original_transaction_id => left(id, -1) || '1',
        purchased_at => now() - bought))
$$;
SELECT test.without_end('soon1', 'basic.month', '2 minutes'), test.entitle(30, 'soon1');
UPDATE iap.entitlements SET granted_at = now() - interval '1 minute' WHERE original_transaction_id = 'soon1';
UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id = 'soon1';
SELECT test.without_end('soon2', 'premium.month', '0 minutes');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0', 'what replaces a purchase at once');
SELECT is(test.open_of('soon1'), 'soon2', 'is owed');
SELECT is(test.entitle(30.1, 'soon1'), 30.1, 'until the server grants it');
SELECT is(test.open_of('soon1'), NULL, 'by a word of its own');
DELETE FROM iap.transactions WHERE original_transaction_id = 'soon1';
DELETE FROM iap.entitlements WHERE original_transaction_id = 'soon1';
-- A word that ends before an upgrade does was not said for it: it is of the week to which a billing grace was added.
SELECT test.period('short1', -6, 1, 'short1', 'basic.week'), test.entitle(3, 'short1'),
    test.said_days_ago('short1', 2);
SELECT test.period('short2', -1, 2, 'short1', 'premium.week');
SELECT is(test.entitle(1, 'short1'), 3.0, 'the end of the week again');
SELECT is(test.open_of('short1'), 'short2', 'grants no upgrade that ends later');
SELECT is(test.entitle(2, 'short1'), 3.0, 'its own end');
SELECT is(test.open_of('short1'), NULL, 'does');
-- Nor one that Apple tells of later, unlike what it was said for.
CREATE FUNCTION test.covered() RETURNS text
LANGUAGE sql AS $$ SELECT test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)') $$;
SELECT test.period('short3', -9, 3, 'short3', 'basic.week'), test.entitle(9, 'short3'),
    test.said_days_ago('short3', 6), test.entitle(3, 'short3');
SELECT test.period('short4', -5, 4, 'short3', 'premium.week');
SELECT is(test.covered(), '0', 'the end of the week was said, and an upgrade is heard of that nobody granted');
SELECT test.period('short5', -4, 2, 'short3', 'premium.day');
SELECT is(test.covered(), '1', 'as one was that ends by then');
SELECT is(test.open_of('short3'), 'short4', 'it is owed');
UPDATE iap.entitlements SET shorter[1].said_at = now() - interval '3 days' WHERE original_transaction_id = 'short3';
UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id = 'short3';
SELECT is(test.entitle(3, 'short3'), 9.0, 'a word that is said again');
SELECT test.period('short6', -2, 3, 'short3', 'premium.day');
SELECT is(test.covered(), '0', 'was not said for what was bought since');
SELECT test.entitle(3, 'short3');
SELECT is(test.open_of('short3'), 'short4', 'but where that is owed and ends then');
-- Each shorter word is of what ends by then, whatever was said after it.
SELECT test.period('short7', -1, 2, 'short3', 'gold.day'), test.period('short8', 0, 1, 'short3', 'premium.day');
UPDATE iap.transactions AS white SET purchased_at = now() - interval '1 hour' WHERE transaction_id = 'short8';
UPDATE iap.entitlements
SET shorter = ARRAY[
        ROW(now() + interval '2 days', now() - interval '2 hours'),
        ROW(now() + interval '1 day', now() - interval '90 minutes')]::iap.word[]
WHERE original_transaction_id = 'short3';
UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id = 'short3';
SELECT is(test.covered(), '1', 'the longer of two shorter words grants what came before both');
SELECT is(test.open_of('short3'), 'short4 short8', 'and neither what came after');
SELECT test.entitle(9.5, 'short3');
SELECT is(test.open_of('short3'), NULL, 'what reaches further is of all');
SELECT test.entitle(3, 'short3'),
    test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', 'short3', now() + interval '3 days')$$);
SELECT is(
    (SELECT cardinality(shorter) FROM iap.entitlements WHERE original_transaction_id = 'short3'), 2,
    'and what is taken back is granted by no shorter word');
-- Whichever is heard of first: the upgrade, or what it took the place of.
CREATE FUNCTION test.uncover() RETURNS text
LANGUAGE sql AS $$ SELECT test.run_as('iap_job', 'SELECT iap.uncover(7, now(), 10)') $$;
SELECT test.entitle(3, 'late1'), test.said_days_ago('late1', 2);
SELECT test.period('late2', -1, 2, 'late1', 'premium.week');
SELECT is(test.covered(), '1', 'an upgrade that nothing tells of');
SELECT is(test.uncover(), '0', 'stays granted');
SELECT test.period('late1', -6, 1, 'late1', 'basic.week');
SELECT is(test.uncover(), '1', 'until that is heard of which was granted');
SELECT is(test.uncover(), '0', 'once');
SELECT is(test.covered(), '1', 'and is what is covered');
SELECT is(test.open_of('late1'), 'late2', 'so that the upgrade is owed');
SELECT is(test.entitle(2, 'late1'), 3.0, 'until the server says');
SELECT is(test.open_of('late1'), NULL, 'that it granted it');
SELECT is(test.uncover(), '0', 'and that stays');
DELETE FROM iap.entitlements WHERE original_transaction_id IN ('short1', 'short3', 'late1');
DELETE FROM iap.transactions
WHERE original_transaction_id IN ('y1', 'x1', 'xa1', 'i1', 'z1', 'short1', 'short3', 'late1');
DELETE FROM iap.moves WHERE transaction_id ~ '^([yxiz]|short|late[12])';

-- A renewal whose end nobody knows yet is not covered by the grant of the period before.
INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.example.a', 'pass', 'auto_renewable', 'Pass');
SELECT test.period('u1', -30, 1, 'u1', 'pass'), test.entitle(1.5, 'u1');
SELECT test.admit('u2', 'u1', 'pass');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0', 'no night takes it for granted');
SELECT is(test.open_of('u1'), 'u2', 'it is owed');
SELECT is(test.entitle(30, 'u1'), 30.0, 'until the server grants it');
SELECT is(test.open_of('u1'), NULL, 'though Apple has not told of its end');
SELECT test.period('v1', -30, 1, 'v1', 'pass'), test.entitle(16, 'v1'), test.said_days_ago('v1', 5);
SELECT test.admit('v2', 'v1', 'pass');
SELECT is(
    test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0', 'nor by a grace period that goes on');
SELECT is(test.open_of('v1'), 'v2', 'it is owed, too');
SELECT test.admit('t1', product_id => 'pass'), test.entitle(3, 't1');
SELECT is(test.open_of('t1'), NULL, 'a trial of three days is granted');
SELECT test.admit('w1', product_id => 'pass');
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', 'w1', 'ann', 'infinity')$$);
SELECT is(test.open_of('w1'), NULL, 'for ever reaches over any end');

-- Nor is it, once Apple tells of its end, by what was granted shortly before it was paid and ends sooner.
CREATE FUNCTION test.told(
    transaction_id text, last_day integer, source iap.source DEFAULT 'server_api', exclusion text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v iap.verified := test.heard(
        $1, $3, 'pass', product_type => 'auto_renewable', original_transaction_id => left($1, 1) || '1',
        exclusion => $4);
BEGIN
    v.expires_at := now() + last_day * interval '1 day';
    RETURN test.hear(v, 7);
END
$$;
SELECT test.admit(id, left(id, 1) || '1', 'pass') FROM (VALUES ('g2'), ('h2'), ('j2'), ('m2')) AS renewals (id);
SELECT test.entitle(16, original) FROM (VALUES ('g1'), ('h1'), ('j1'), ('m1')) AS grants (original);
SELECT is_empty($$SELECT FROM iap.white WHERE transaction_id ~ '^[ghjmo]2'$$, 'the grace is taken for theirs');
SELECT is(test.told('g2', 30), 'white', 'until a paid period turns out to reach beyond it');
SELECT results_eq(
    $$SELECT test.moves('g2')$$, $$VALUES ('entitled white > entitlement'), ('corrected entitlement > white')$$,
    'by what Apple knows better');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0',
    'and no night takes it for granted again');
SELECT is(test.entitle(30, 'g1'), 30.0, 'the server grants it');
SELECT is(test.open_of('g1'), NULL, 'and it is delivered');
SELECT is(test.told('g2', 30), 'black', 'an end that was known is no news');
SELECT is(test.told('g2', 40), 'white', 'but one that Apple put off is: the grant does not reach so far');
SELECT is(test.entitle(40, 'g1'), 40.0, 'until the server grants that, too');
SELECT is(test.told('g2', 35, 'app_server'), 'black', 'a poorer word puts off none');
SELECT is(test.told('h2', 16), 'black', 'what the grant reaches to the end of stays delivered');
SELECT is(test.told('j2', 30, exclusion => 'upgraded'), 'black', 'and so does what another period took the place of');
SELECT is(test.told('m2', 30, 'app_server'), 'white', 'whoever tells of the end');
SELECT test.admit('o2', 'other', 'pass'), test.entitle(16, 'other');
SELECT is(test.told('o2', 30), 'black', 'a grant for another original than Apple knows was for something all the same');
DELETE FROM iap.transactions WHERE transaction_id ~ '^[ghjmo]2';
DELETE FROM iap.moves WHERE transaction_id ~ '^[ghjmo]2';
DELETE FROM iap.entitlements WHERE original_transaction_id ~ '^[ghjm]1' OR original_transaction_id = 'other';
DELETE FROM iap.transactions WHERE original_transaction_id IN ('t1', 'u1', 'v1', 'w1');
DELETE FROM iap.moves WHERE transaction_id ~ '^[tuvw]';

-- A case of what nobody knows the end of ends by a grant; but for what was over when the next one was bought.
CREATE FUNCTION test.admit_days_ago(id text, original text, days integer) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format(
        'SELECT iap.admit(%L, %L, %L, %L, %L, 1, %L, %L)', 'com.example.a', 'Production', id, original, 'pass',
        now() - days * interval '1 day', 'ann'))
$$;
SELECT test.admit_days_ago('q1', 'q1', 32), test.admit_days_ago('q2', 'q1', 2), test.open_case('q1', '{ann}');
UPDATE iap.cases SET periods = '{q1,q2}' WHERE transaction_id = 'q1';
SELECT test.entitle(28, 'q1');
SELECT is(test.open_of('q1'), 'q1', 'what goes on is served, and what went by without access stays owed');
SELECT test.said_days_ago('q1', 1), test.admit_days_ago('q5', 'q1', 0);
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0', 'also once there is one more');
SELECT is(test.open_of('q1'), 'q1 q5', 'that was bought after the grant');
SELECT test.admit_days_ago('r1', 'r1', 2), test.open_case('r1', '{ann}');
UPDATE iap.cases SET periods = '{r1}' WHERE transaction_id = 'r1';
SELECT test.entitle(28, 'r1');
SELECT is(test.open_of('r1'), NULL, 'a first period is served');
SELECT is((SELECT state FROM iap.cases WHERE transaction_id = 'r1'), 'closed', 'which ends its case');
SELECT is(test.claim('r1'), 'already_delivered', 'so that nobody delivers it once more');
-- What restores it, though that bears a later date, is no next one.
SELECT test.hear_period('q3', 'q3', 'week-1', -5), test.hear_period('q4', 'q3', 'week-1', -1),
    test.open_case('q3', '{ann}');
UPDATE iap.cases SET periods = '{q3}' WHERE transaction_id = 'q3';
SELECT test.entitle(28, 'q3');
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = 'q3'), 'black', 'a period that was restored, too');
DELETE FROM iap.transactions WHERE original_transaction_id IN ('q1', 'q3', 'r1');
DELETE FROM iap.moves WHERE transaction_id ~ '^[qr]';
DELETE FROM iap.cases WHERE transaction_id ~ '^[qr]';
DELETE FROM iap.entitlements WHERE original_transaction_id IN ('q1', 'q3', 'r1');
DELETE FROM iap.delivered_originals WHERE original_transaction_id = 'q3';

-- Nor does a grant reach over what it was not said for where the end of what came before is not known, or the type.
-- Whatever else the customer bought meanwhile: that is another subscription's.
SELECT test.admit_days_ago('n4', 'n4', 42), test.admit_days_ago('nd', 'nd', 41),
    test.entitle(325, 'n4'), test.said_days_ago('n4', 40);
SELECT is(test.open_of('n4'), NULL, 'a year whose end Apple has yet to tell is served');
SELECT test.period('n5', -10, 20, 'n4', 'premium.month');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0', 'no night takes it for the upgrade');
SELECT is(test.open_of('n4'), 'n5', 'which is owed');
SELECT test.period('nc', 20, 50, 'n4', 'premium.month');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0', 'nor for its renewal');
DELETE FROM iap.transactions WHERE transaction_id = 'nc';
SELECT is(test.entitle(20, 'n4'), 325.0, 'until the server says so');
SELECT is(test.open_of('n4'), NULL, 'and is served');
SELECT test.run_as('iap_app', $$
    SELECT iap.admit(
        'com.example.a', 'Production', 'n6', 'n6', 'unheard.of', 1, now() - interval '35 days', 'nora')$$);
SELECT test.entitle(11, 'n6'), test.said_days_ago('n6', 35);
SELECT is(test.open_of('n6'), NULL, 'what nobody knows the type of is served');
SELECT test.run_as('iap_app', $$
    SELECT iap.admit('com.example.a', 'Production', 'n7', 'n6', 'unheard.of', 1, now() - interval '5 days', 'nora')$$);
SELECT is(
    (SELECT transaction_id FROM iap.owed('com.example.a', 'nora')), 'n7',
    'and what renews it in its billing grace is owed');
-- What took another's place long ago is renewed as ever, though nobody knows that one's end.
SELECT test.admit_days_ago('n8', 'n8', 400), test.period('na', -300, 2, 'n8', 'premium.month');
SELECT test.entitle(40, 'n8'), test.said_days_ago('n8', 3), test.period('nb', -1, 30, 'n8', 'premium.month');
SELECT test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)');
SELECT is(test.open_of('n8'), NULL, 'a renewal that was granted days ahead');
-- A renewal into another product is granted a day ahead at most, though nobody knows when the one before ends.
SELECT test.admit_days_ago('ne', 'ne', 31), test.entitle(30, 'ne'), test.said_days_ago('ne', 1),
    test.period('nf', 0, 29, 'ne', 'premium.month');
SELECT test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)');
SELECT is(test.open_of('ne'), NULL, 'which is served');
-- Before an original there is no period whose grant it could be.
SELECT test.run_as('iap_app', $$
    SELECT iap.admit(
        'com.example.a', 'Production', 'n9', 'n9', 'unheard.of', 1, now() - interval '1 hour', 'nick')$$);
SELECT test.run_as('iap_app', $$
    SELECT iap.entitle('com.example.a', 'n9', 'nick', now() + interval '23 hours')$$);
SELECT is(test.claim('n9', 'nick'), 'already_delivered', 'a pass of a day, of whatever type, is had once');
DELETE FROM iap.transactions WHERE transaction_id ~ '^n[4-9abdef]$';
DELETE FROM iap.moves WHERE transaction_id ~ '^n[4-9abdef]$';
DELETE FROM iap.entitlements WHERE original_transaction_id IN ('n4', 'n6', 'n8', 'n9', 'ne');
DELETE FROM iap.delivered_originals WHERE original_transaction_id IN ('n6', 'n9');

-- What stays undecided keeps nothing else from being covered.
SELECT test.admit('d1', product_id => 'unheard.of'), test.admit('d2', 'd1', 'unheard.of');
SELECT test.claim('d1');
INSERT INTO iap.entitlements (
    original_transaction_id, bundle_id, user_id, entitled_until, first_granted_at, granted_at)
VALUES
    ('d1', 'com.example.a', 'ann', 'infinity', now(), now()), ('e1', 'com.example.a', 'ann', 'infinity', now(), now());
UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id IN ('d1', 'e1');
SELECT test.period('e1', -10, 20, 'e1');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 1)'), '1', 'the next page holds what is covered');
SELECT is(test.open_of('e1'), NULL, 'which is black');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 1)'), '0', 'and then there is nothing left');
SELECT is(test.open_of('d1'), 'd2', 'but what is for a person');
DELETE FROM iap.transactions WHERE original_transaction_id IN ('d1', 'e1');
DELETE FROM iap.moves WHERE transaction_id IN ('d1', 'e1');
DELETE FROM iap.delivered_originals WHERE original_transaction_id = 'd1';

-- For ever; and what has no end. What was bought once and restored is owed once.
SELECT iap.enter(
    ARRAY[
        test.heard('f1', product_type => 'non_consumable'),
        test.heard('f2', product_type => 'non_consumable', original_transaction_id => 'f1')], 1, now());
SELECT is(
    test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', 'f1', 'ann', 'infinity')$$), 'infinity', 'for ever');
SELECT results_eq(
    $$SELECT transaction_id, place, reason FROM iap.transactions WHERE original_transaction_id = 'f1' ORDER BY 1$$,
    $$VALUES ('f1' COLLATE "C", 'black', NULL), ('f2', 'excluded', 'restored')$$, 'it is delivered, once');
SELECT is(test.claim('f2'), 'already_delivered', 'and not claimed under another id');
SELECT iap.enter(
    ARRAY[test.heard('f3', product_type => 'non_consumable', original_transaction_id => 'f1')], 1, now());
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '1', 'nor by a later night');
SELECT is((SELECT reason FROM iap.excluded WHERE transaction_id = 'f3'), 'restored', 'which excludes it');
SELECT test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', 'f1')$$);
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = 'f1'), 'white', 'until it is taken back');
SELECT is_empty($$SELECT FROM iap.delivered_originals WHERE bundle_id = 'com.example.a'$$,
    'so that it can be delivered');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0', 'and is not delivered by itself');

-- Bad words.
SELECT test.is_refused(
    'iap_app', $$SELECT iap.entitle('com.example.a', 's1', 'ann', NULL)$$, '22023', 'until is missing', 'no end');
SELECT test.is_refused(
    'iap_app', $$SELECT iap.entitle('com.example.a', 's1', '', now())$$, '22023', '%user_id%', 'nobody');
SELECT test.is_refused(
    'iap_app', $$SELECT iap.entitle('com.example.a', 'a b', 'ann', now())$$, '22023', '%original_transaction_id%',
    'no id');
SELECT test.is_refused(
    'iap_app', $$SELECT iap.revoke_entitlement('com.example.a', 's1', '-infinity')$$, '22023', 'until can%',
    'no beginning');

-- Seals, and erasing.
SELECT is_empty('SELECT FROM iap.entitlements WHERE seal <> audit.seal(entitlements)', 'each row is sealed');
UPDATE iap.entitlements SET entitled_until = now() WHERE original_transaction_id = 'n1';
SELECT test.entitle(90, 'n1');
SELECT results_eq(
    'SELECT original_transaction_id FROM iap.entitlements WHERE seal <> audit.seal(entitlements)',
    $$VALUES ('n1' COLLATE "C")$$, 'what was changed by hand stays found');
SELECT is(iap.erase_user('ann', 'sue', true) -> 'rows' -> 'entitlements', '16', 'so many grants name a person');
SELECT is_empty($$SELECT FROM iap.entitlements WHERE user_id = 'ann'$$, 'who is erased here, too');
SELECT is(
    (SELECT count(*) FROM iap.entitlements WHERE seal <> audit.seal(entitlements)), 1::bigint, 'the seals fit still');

-- Who is connected.
SELECT test.run_as('iap_job', 'SELECT iap.connect()');
SELECT is_empty('SELECT FROM iap.connections', 'nobody, who never claimed');
SELECT test.admit('c1'), test.admit('c2', product_id => 'other'), test.admit('c3', environment => 'Sandbox');
SELECT test.claim('c1'), test.claim('c2'), test.claim('c3');
-- Since the first of them.
SELECT test.admit('c0'), test.claim('c0');
UPDATE iap.moves SET moved_at = now() + interval '1 day' WHERE transaction_id = 'c0';
SELECT test.run_as('iap_job', 'SELECT iap.connect()');
SELECT results_eq(
    'SELECT bundle_id, environment, product_type, connected_at = now() FROM iap.connections ORDER BY 2, 3',
    $$VALUES
        ('com.example.a' COLLATE "C", 'Production', 'consumable', true),
        ('com.example.a', 'Production', 'unknown', true), ('com.example.a', 'Sandbox', 'consumable', true)$$,
    'who claims, by type, and testers apart');
SELECT test.admit('c4', product_id => 'full'), test.claim('c4'), test.admit('c6', bundle_id => 'com.example.j');
SELECT test.close_books();
SELECT is(
    (SELECT count(*) FROM iap.connections), 4::bigint,
    'also what was claimed after the night had looked, by its closing');
-- Who imports what was delivered, too: what nobody had heard of, and what has been white for long.
SELECT test.import(test.heard('c5', product_type => 'non_renewing', bundle_id => 'com.example.i'));
SELECT test.import(test.heard('c6', bundle_id => 'com.example.j'));
SELECT test.run_as('iap_job', 'SELECT iap.connect()');
SELECT results_eq(
    $$SELECT bundle_id, product_type, connected_at = now() FROM iap.connections
    WHERE bundle_id <> 'com.example.a' ORDER BY 1$$,
    $$VALUES ('com.example.i' COLLATE "C", 'non_renewing', true), ('com.example.j', 'unknown', true)$$,
    'each of its own');

-- Taken back from a moment on that lies ahead: what has no end of its own is granted until then.
SELECT iap.enter(ARRAY[test.heard('k1', product_type => 'non_consumable')], 1, now());
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', 'k1', 'ann', 'infinity')$$);
SELECT test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', 'k1', now() + interval '30 days')$$);
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = 'k1'), 'black', 'what is granted yet is not owed');
SELECT is(test.run_as('iap_job', 'SELECT iap.uncover(7, now(), 10)'), '0', 'nor before that');
-- However long ago that was said: the books were closed since.
UPDATE audit.frontier SET closed_at = now() + interval '29 days';
SELECT is(
    test.run_as('iap_job', $$SELECT iap.uncover(7, now() + interval '30 days', 10)$$), '1',
    'a night after it takes it back');
UPDATE audit.frontier SET closed_at = now();
SELECT is(
    test.run_as('iap_job', $$SELECT iap.cover_entitled(7, now() + interval '30 days', 10)$$), '0', 'for good');
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = 'k1'), 'white', 'then it is owed');
SELECT test.admit('k2', product_id => 'pass'), test.entitle(30, 'k2');
SELECT test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', 'k2', now() + interval '20 days')$$);
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = 'k2'), 'black', 'nor is a period that has one');
DELETE FROM iap.transactions WHERE transaction_id ~ '^k';
DELETE FROM iap.moves WHERE transaction_id ~ '^k';

-- A grant that was shortened while another session was writing that it delivered: saying so again finds it, and so does
-- the night.
CREATE FUNCTION test.lose_revocation(original_transaction_id text) RETURNS void
LANGUAGE sql AS $$
    UPDATE iap.entitlements SET entitled_until = now(), revoked_at = now()
    WHERE entitlements.original_transaction_id = $1;
    UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE e.original_transaction_id = $1
$$;
SELECT test.period('r1', 0, 30, 'r1'), test.period('q1', 0, 30, 'q1'), test.period('q2', -30, 0, 'q1');
SELECT test.entitle(30, 'r1'), test.entitle(30, 'q1'), test.lose_revocation('r1'), test.lose_revocation('q1');
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = 'r1'), 'black', 'it is delivered without access');
SELECT test.run_as('iap_app', $$SELECT iap.revoke_entitlement('com.example.a', 'r1')$$);
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = 'r1'), 'white', 'until that is said again');
INSERT INTO iap.transactions
SELECT (jsonb_populate_record(t, jsonb_build_object('environment', 'Sandbox', 'expires_at', now()))).*
FROM iap.transactions AS t WHERE transaction_id = 'q1';
UPDATE iap.transactions AS t SET seal = audit.seal(t) WHERE environment = 'Sandbox';
SELECT is(test.run_as('iap_job', 'SELECT iap.uncover(7, now(), 10)'), '1', 'or a night comes');
SELECT results_eq(
    $$SELECT transaction_id, environment, place FROM iap.transactions
    WHERE original_transaction_id = 'q1' ORDER BY 1, 2$$,
    $$VALUES ('q1' COLLATE "C", 'Production', 'white'), ('q1', 'Sandbox', 'black'), ('q2', 'Production', 'black')$$,
    'which finds what it does not reach to the end of, and not what bears its id elsewhere');
SELECT iap.enter(ARRAY[test.heard('p1', product_type => 'non_consumable')], 1, now());
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', 'p1', 'ann', 'infinity')$$);
SELECT test.lose_revocation('p1'), test.hear(test.heard('p1', app_account_token => 'new'));
SELECT is(test.run_as('iap_job', 'SELECT iap.uncover(7, now(), 10)'), '1', 'also what has no end');
SELECT results_eq(
    $$SELECT test.moves('p1')$$, $$VALUES ('entitled white > entitlement'), ('revoked entitlement > white')$$,
    'and says that it was taken back, whatever Apple told of it before');
SELECT is(test.run_as('iap_job', 'SELECT iap.uncover(7, now(), 10)'), '0', 'and nothing else');
SELECT test.period('p2', -20, 10, 'p2'), test.entitle(10, 'p2'), test.lose_revocation('p2');
UPDATE iap.entitlements SET entitled_until = now() - interval '10 days', revoked_at = now() - interval '10 days'
WHERE original_transaction_id = 'p2';
UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id = 'p2';
UPDATE audit.frontier SET closed_at = now() - interval '12 days';
SELECT is(test.run_as('iap_job', 'SELECT iap.uncover(7, now(), 10)'), '1', 'however long no night has come since');
UPDATE audit.frontier SET closed_at = now();
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0', 'nor covers it again');

-- An upgrade that ends when the product before it was granted until, or within that day.
SELECT test.period('same1', -40, 20, 'same1', 'basic.month'), test.entitle(20, 'same1'),
    test.said_days_ago('same1', 40);
SELECT test.period('same2', -10, 20, 'same1', 'premium.month');
SELECT is(test.open_of('same1'), 'same2', 'is owed until it is said');
SELECT is(test.entitle(20, 'same1'), 20.0, 'the same moment again');
SELECT is(test.open_of('same1'), NULL, 'grants it');
-- A grant of what was taken back is the latest word.
SELECT test.admit('endless1', product_id => 'gems');
UPDATE iap.transactions AS t SET product_type = 'non_renewing' WHERE transaction_id = 'endless1';
UPDATE iap.transactions AS t SET seal = audit.seal(ROW(t.*)::iap.transactions) WHERE transaction_id = 'endless1';
SELECT test.entitle(30, 'endless1');
SELECT test.run_as('iap_app',
    $$SELECT iap.revoke_entitlement('com.example.a', 'endless1', now() + interval '3 days')$$);
SELECT test.entitle(3, 'endless1');
SELECT is(
    (SELECT revoked_at FROM iap.entitlements WHERE original_transaction_id = 'endless1'), NULL,
    'what is granted again is not revoked');
-- One period under two ids is granted once, in whatever order they are known.
CREATE FUNCTION test.delivered_of(original text) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT concat_ws(' ', transaction_id, place, reason) FROM iap.transactions
    WHERE original_transaction_id = $1 OR transaction_id = $1
    ORDER BY 1
$$;
SELECT test.hear_period('twice1', 'twice1', 'week-1'), test.hear_period('twice2', 'twice1', 'week-1'), 
    test.hear_period('twice3', 'twice1', 'week-2');
SELECT test.entitle(60, 'twice1');
SELECT results_eq(
    $$SELECT test.delivered_of('twice1')$$, ARRAY['twice1 black', 'twice2 excluded restored', 'twice3 black'],
    'two periods, and not three');
SELECT test.hear(test.heard(
    'once' || n, product_id => 'unheard.of', original_transaction_id => 'once0',
    web_order_line_item_id => CASE WHEN n < 3 THEN 'week-1' ELSE 'week-2' END))
FROM generate_series(1, 3) AS n;
SELECT test.entitle(60, 'once0');
SELECT results_eq(
    $$SELECT test.delivered_of('once0')$$, ARRAY['once1 black', 'once2 excluded restored', 'once3 white'],
    'of what nobody knows the type of one, and a person decides on the other');
SELECT test.hear_period('desk1', 'desk1', 'week-1'), test.hear_period('desk2', 'desk1', 'week-1'), test.claim('desk1');
SELECT is(test.resolve('desk2', 'delivered'), 'already_delivered', 'nor does the desk deliver it a second time');
SELECT results_eq(
    $$SELECT test.delivered_of('desk1')$$, ARRAY['desk1 black', 'desk2 excluded restored'],
    'but sees that it was restored');
SELECT test.hear_period('had1', 'had1', 'week-1'), test.hear_period('had2', 'had1', 'week-1'), test.claim('had1');
SELECT test.entitle(60, 'had1');
SELECT results_eq(
    $$SELECT test.delivered_of('had1')$$, ARRAY['had1 black', 'had2 excluded restored'], 'nor what was claimed');

-- A grant names no environment, and both number their transactions alone: a tester's delivers nothing of what was
-- paid.
CREATE FUNCTION test.in_sandbox(transaction_id text, exclusion text DEFAULT NULL) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        transaction_id, environment => 'Sandbox', product_type => 'non_consumable', exclusion => exclusion,
        purchased_at => now() - interval '1 hour'))
$$;
CREATE FUNCTION test.paid(transaction_id text, later interval DEFAULT '0') RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        transaction_id, product_type => 'non_consumable', purchased_at => now() + later))
$$;
CREATE FUNCTION test.grant_ever(original_transaction_id text) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format($q$SELECT iap.entitle('com.example.a', %L, 'ann', 'infinity')$q$, $1))
$$;
CREATE FUNCTION test.both_of(transaction_id text) RETURNS text
LANGUAGE sql AS $$
    SELECT string_agg(environment || ' ' || place, ', ' ORDER BY environment)
    FROM iap.transactions WHERE transactions.transaction_id = $1
$$;
SELECT test.in_sandbox('twin1'), test.grant_ever('twin1'), test.paid('twin1');
SELECT is(test.claim('twin1', 'bob'), 'undecided', 'whose grant is known to be a tester''s');
SELECT is_empty(
    $$SELECT FROM iap.transactions AS t WHERE transaction_id = 'twin1' AND place = 'white'
        AND iap.outcome_otherwise(t) = 'already_delivered'$$, 'is not told of as delivered');
SELECT test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), test.grant_ever('twin1');
SELECT is(test.both_of('twin1'), 'Production white, Sandbox black', 'and neither the night nor another word has it so');
SELECT test.in_sandbox('twin2', 'sandbox'), test.grant_ever('twin2'), test.paid('twin2', '1 minute');
SELECT test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)');
SELECT is(test.claim('twin2', 'bob'), 'delivered', 'nor is what was paid after a word for what a tester had');
SELECT test.in_sandbox('twin3', 'sandbox'), test.paid('twin3', '-1 minute'), test.grant_ever('twin3');
SELECT is(test.claim('twin3'), 'already_delivered', 'but what was paid before it');
SELECT test.in_sandbox('twin4'), test.paid('twin4'), test.grant_ever('twin4');
SELECT is(test.both_of('twin4'), 'Production black, Sandbox white', 'and of two that are owed, production''s');
SELECT is(test.claim('twin4'), 'already_delivered', 'also for whoever claims it');
SELECT test.grant_ever('twin5'), test.paid('twin5', '1 minute'), test.hear(test.heard(
    'twin5', environment => 'Sandbox', product_type => 'non_consumable', exclusion => 'sandbox',
    purchased_at => now() + interval '2 minutes'));
SELECT is(test.claim('twin5'), 'already_delivered', 'as is a word that was said before either had it');

-- To the minute: servers keep whole seconds, and Apple tells the same moment some milliseconds apart.
SELECT test.period('seconds', -20, 10, 'seconds'), test.period('minutes', -20, 10, 'minutes');
SELECT test.entitle(10 - 59 / 86400.0, 'seconds'), test.entitle(10 - 61 / 86400.0, 'minutes');
SELECT results_eq(
    $$SELECT test.places() INTERSECT VALUES ('seconds black'), ('minutes black'), ('minutes white') ORDER BY 1$$,
    $$VALUES ('minutes white'), ('seconds black')$$, 'a grant that ends less than a minute early grants all of it');

-- Whose it is by now the latest word says, also where it ends when the word before did.
SELECT test.run_as('iap_app', format(
    'SELECT iap.entitle(%L, %L, %L, %L)', 'com.example.a', 'moved', who, now() + interval '20 days'))
FROM unnest(ARRAY['ann', 'bob']) AS who;
SELECT test.period('moved', -10, 20, 'moved');
SELECT test.run_as('iap_job', 'SELECT iap.cover_entitled(1, iap.present(), 100)');
SELECT results_eq(
    $$SELECT user_id FROM iap.black WHERE transaction_id = 'moved'$$, $$VALUES ('bob')$$,
    'to whom it was delivered');
SELECT test.run_as('iap_app', format(
    'SELECT iap.entitle(%L, %L, %L, %L)', 'com.example.a', 'moved', 'ann', now() + interval '10 days'));
SELECT is(user_id, 'bob', 'what ends sooner is not all of it')
FROM iap.entitlements WHERE original_transaction_id = 'moved';
SELECT test.run_as('iap_privacy', $$SELECT iap.erase_user('bob', 'pat', true)$$);
SELECT test.run_as('iap_app', format(
    'SELECT iap.entitle(%L, %L, %L, %L)', 'com.example.a', 'moved', 'bob', now() + interval '20 days'));
SELECT ok(iap.is_pseudonym(user_id), 'and who was erased does not come back by it')
FROM iap.entitlements WHERE original_transaction_id = 'moved';

-- A moment that can't be: milliseconds that were taken for seconds, or nothing for a moment.
SELECT test.is_refused(
    'iap_app', format('SELECT iap.entitle(%L, %L, %L, %L)', 'com.example.a', 'never', 'ann', moment), '22023',
    'until can''t be %', moment)
FROM unnest(ARRAY['58001-01-01 00:00+00', '1970-01-01 00:00+00', '2008-07-09 23:59:59+00']) AS moment;
SELECT is(
    test.run_as('iap_app',
        $$SELECT iap.entitle('com.example.a', 'late', 'ann', '9999-12-31 23:59:59+00')$$) IS NOT NULL, true,
    'but for ever may be called so');

SELECT * FROM finish();
ROLLBACK;
