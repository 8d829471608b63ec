-- iap.redeliveries: what is ordered by a night or a person, taken under a lease, and ended by its transaction's place.
BEGIN;
SELECT no_plan();

CREATE FUNCTION test.taken(most integer DEFAULT 100, lease text DEFAULT '10 minutes') RETURNS SETOF text
LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL ROLE iap_app;
    RETURN QUERY SELECT concat_ws(' ', transaction_id, user_id, try)
    FROM iap.take_redeliveries('com.example.a', most, lease::interval);
    RESET ROLE;
END
$$;
CREATE FUNCTION test.order_all(environment text DEFAULT 'Production') RETURNS text
LANGUAGE sql SET search_path = pg_catalog, iap, pg_temp AS $$
    SELECT test.run_as('iap_job', format('SELECT iap.order_redeliveries(%L, %L, 1, now())', 'com.example.a', $1))
$$;
CREATE FUNCTION test.settle(run bigint) RETURNS text
LANGUAGE sql SET search_path = pg_catalog, iap, pg_temp AS $$
    SELECT test.run_as('iap_job', format('SELECT iap.settle_redeliveries(%s, now())', run))
$$;
CREATE FUNCTION test.redeliver(transaction_id text, who text DEFAULT 'sue') RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_support', format('SELECT iap.redeliver(%L, %L, %L)', transaction_id, who, 'ticket 7'))
$$;
CREATE FUNCTION test.end_leases() RETURNS void
LANGUAGE sql AS $$ UPDATE iap.redeliveries SET due_at = now() $$;

-- Only cases of high likelihood with one certain owner, that are to be delivered.
SELECT test.admit(id, user_id => CASE WHEN id <> '105' THEN 'ann' END)
FROM unnest(ARRAY['100', '101', '102', '103', '104', '105']) AS id;
SELECT test.open_case('100', '{ann}'), test.open_case('101', '{ann}'), test.open_case('102', '{ann}'),
    test.open_case('103', '{ann}'), test.open_case('104', '{ann,bob}'), test.open_case('105', '{}');
UPDATE iap.cases SET likelihood = 'medium' WHERE transaction_id = '101';
UPDATE iap.cases SET action = 'investigate' WHERE transaction_id = '102';
UPDATE iap.cases SET reasons = '{asked_apple,owner_uncertain}' WHERE transaction_id = '103';
SELECT is(test.order_all(), '1', 'one is sure');
SELECT is(test.order_all(), '0', 'and ordered once');
SELECT results_eq(
    'SELECT transaction_id COLLATE "default", user_id, ordered_by, tries, ended_as FROM iap.redeliveries',
    $$VALUES ('100', 'ann', 'iap-reconcile', 0, NULL::text)$$, 'with its owner');
SELECT test.admit('t100', environment => 'Sandbox'), test.open_case('t100', '{ann}');
UPDATE iap.cases SET environment = 'Sandbox' WHERE transaction_id = 't100';
SELECT is(test.order_all(), '0', 'a tester''s is not ordered with what was paid');
SELECT is(test.order_all('Sandbox'), '1', 'but with what testers have');
DELETE FROM iap.redeliveries WHERE transaction_id = 't100';
UPDATE iap.cases SET likelihood = 'medium' WHERE transaction_id = 't100';

-- What a row that could not be taken may say was delivered is ordered by nobody but a person.
SELECT test.admit(id, user_id => 'ann'), test.open_case(id, '{ann}') FROM unnest(ARRAY['106', '107', '108']) AS id;
INSERT INTO iap.sources (source, kind, definition, tried_at) VALUES ('delivered', 'delivered', '', now());
INSERT INTO iap.refused_rows (source, row_id, named_id, numbers, reason, what, refused_at)
VALUES
    ('delivered', '106', '106', '{}', 'missing', 'purchased_at is missing', now()),
    ('delivered', 'wallet.csv:2', '107', '{}', 'bad_value', 'delivered_at lies in the future', now()),
    (
        'delivered', 'wallet.csv:3', NULL, '{108,2026}', 'malformed',
        'it has 3 fields, and the header has 7', now());
SELECT is(test.order_all(), '0', 'what a refused row names, or holds where it can''t be read, is not sure');
DELETE FROM iap.refused_rows WHERE row_id = '106';
SELECT is(test.order_all(), '1', 'once the row is mended, it is');
DELETE FROM iap.redeliveries WHERE transaction_id = '106';
UPDATE iap.cases SET likelihood = 'medium' WHERE transaction_id IN ('106', '107', '108');

-- Leased.
SELECT results_eq('SELECT test.taken()', $$VALUES ('100 ann 1')$$, 'it is taken');
SELECT is_empty('SELECT test.taken()', 'and leased');
SELECT test.end_leases();
SELECT results_eq('SELECT test.taken()', $$VALUES ('100 ann 2')$$, 'what is not claimed comes back');
UPDATE iap.redeliveries SET tries = 1, due_at = now() + interval '20 days';
SELECT results_eq(
    $$SELECT test.taken(lease => '1 day')$$, $$VALUES ('100 ann 2')$$,
    'and so does what was taken while a clock was ahead, once');
SELECT is_empty('SELECT test.taken()', 'for a day at most');
SELECT is(test.claim('100', 'ann'), 'delivered', 'claimed, it is done');
SELECT test.end_leases();
SELECT is_empty('SELECT test.taken()', 'and comes back no more');
SELECT test.settle(7);
SELECT results_eq(
    'SELECT ended_as, told_run_id FROM iap.redeliveries', $$VALUES ('redelivered', 7::bigint)$$,
    'the night tells of it');
SELECT results_eq(
    $$SELECT events.run_id, moves.kind
    FROM iap.events
    JOIN iap.moves ON move_id = (events.details ->> 'move_id')::bigint
    WHERE events.kind = 'redelivered' AND events.transaction_id = '100'$$,
    $$VALUES (7::bigint, 'claimed')$$, 'for ever, in the trail');
INSERT INTO iap.runs (
    run_id, as_of, started_at, finished_at, host, process_id, program_version, state, reason)
OVERRIDING SYSTEM VALUE VALUES (7, now(), now(), now(), 'h', 1, '1', 'abandoned', 'it was killed');
SELECT test.settle(8);
SELECT results_eq(
    'SELECT ended_as, told_run_id FROM iap.redeliveries', $$VALUES ('redelivered', 8::bigint)$$,
    'what a killed run would have told the next one tells');
INSERT INTO iap.runs (run_id, as_of, started_at, host, process_id, program_version)
OVERRIDING SYSTEM VALUE VALUES (8, now(), now(), 'h', 1, '1');
SELECT test.settle(9);
SELECT is((SELECT told_run_id FROM iap.redeliveries), 8::bigint, 'and none after that');
SELECT is(
    (SELECT count(*) FROM iap.events WHERE kind = 'redelivered' AND transaction_id = '100'), 1::bigint,
    'and the trail has it once');
SELECT is(finance.count, 1::bigint, 'where finance counts it')
FROM (SELECT count(*) FROM finance.redeliveries) AS finance;
SELECT is(test.order_all(), '0', 'what is delivered is not ordered');

-- By a person.
SELECT is(test.redeliver('101'), 'redelivery', 'a person may order what is less likely lost');
SELECT is(test.redeliver('101', 'tom'), 'redelivery', 'twice is once');
SELECT results_eq(
    $$SELECT ordered_by, note FROM iap.redeliveries WHERE transaction_id = '101'$$,
    $$VALUES ('sue', 'ticket 7')$$, 'by who said so first');
SELECT results_eq(
    $$SELECT kind, actor FROM iap.events WHERE transaction_id = '101'$$,
    $$VALUES ('redelivery_ordered', 'sue')$$, 'the trail tells of it, once');
SELECT is(test.redeliver('100'), 'already_delivered', 'not what is delivered');
SELECT is(test.redeliver('104'), 'several_owners', 'nor what may be two users''');
SELECT is(test.redeliver('103'), 'owner_uncertain', 'nor whose owner is uncertain');
SELECT is(test.redeliver('105'), 'owner_uncertain', 'nor what nobody is known to have paid');
SELECT test.admit('105', environment => 'Sandbox');
INSERT INTO iap.cases
SELECT (jsonb_populate_record(cases, '{"environment": "Sandbox", "owner_user_ids": ["ann", "bob"]}')).*
FROM iap.cases WHERE transaction_id = '105';
SELECT is(
    test.run_as('iap_support', $$SELECT iap.redeliver('105', 'sue', 'x', 'com.example.a', 'Production')$$),
    'owner_uncertain', 'whoever may be a tester''s of that id');
SELECT is(test.redeliver('999'), 'not_verified', 'nor what nobody verified');
SELECT test.exclude('102', 'refunded');
SELECT is(test.redeliver('102'), 'excluded', 'nor what was refunded');

-- Five times, and no more until a person orders it anew.
DO $$
BEGIN
    FOR number IN 1 .. 5 LOOP
        PERFORM test.taken();
        PERFORM test.end_leases();
    END LOOP;
END
$$;
SELECT is((SELECT tries FROM iap.redeliveries WHERE transaction_id = '101'), 5, 'taken five times');
SELECT is_empty('SELECT test.taken()', 'it is given up');
UPDATE iap.cases SET likelihood = 'high' WHERE transaction_id = '101';
SELECT is(test.order_all(), '0', 'no night orders it again');
SELECT is(test.redeliver('101'), 'redelivery', 'a person does');
SELECT results_eq('SELECT test.taken()', $$VALUES ('101 ann 1')$$, 'and it begins anew');
-- Ordered for whoever it seemed to be, and then known to be another's: who orders it since orders it for them.
SELECT test.record(
    ARRAY[test.heard('109', app_account_token => '0a000000-0000-4000-8000-000000000109')],
    ARRAY[test.seen(109, 'bob')]);
SELECT is(test.redeliver('109'), 'redelivery', 'who uploads it is sure, while nobody else is known');
SELECT test.run_as('iap_app', $$
    SELECT iap.register_user('com.example.a', 'ann', '0a000000-0000-4000-8000-000000000109')$$);
SELECT is(test.redeliver('109', 'tom'), 'redelivery', 'it is ordered for whose token it bears');
SELECT results_eq('SELECT test.taken()', $$VALUES ('109 ann 1')$$, 'and taken for them');
SELECT is(
    (SELECT count(*) FROM iap.events WHERE transaction_id = '109' AND kind = 'redelivery_ordered'), 2::bigint,
    'the trail tells of both');
SELECT is(test.redeliver('109'), 'redelivery', 'what is under way for them');
SELECT is((SELECT tries FROM iap.redeliveries WHERE transaction_id = '109'), 1, 'goes on');
UPDATE iap.redeliveries SET user_id = 'bob' WHERE transaction_id = '109';
SELECT is(test.redeliver('109'), 'redelivery', 'what a server has taken for another');
SELECT is_empty('SELECT test.taken()', 'is not taken before its lease ends');
DELETE FROM iap.redeliveries WHERE transaction_id = '109';

-- A refund meanwhile ends it; and when Apple takes that back, the night may order it again.
SELECT test.exclude('101', 'refunded');
SELECT test.settle(8);
SELECT is(
    (SELECT ended_as FROM iap.redeliveries WHERE transaction_id = '101'), 'not_owed', 'what is refunded is not owed');

-- A tester's of that id is not to be had beside production's: a claim would say so, too.
SELECT test.admit('108', environment => here) FROM unnest(ARRAY['Production', 'Sandbox']) AS here;
SELECT set_eq(
    $$SELECT here || ' ' || test.run_as('iap_support', format(
        'SELECT iap.redeliver(%L, %L, %L, %L, %L)', '108', 'sue', 'x', 'com.example.a', here))
    FROM unnest(ARRAY['Production', 'Sandbox']) AS here$$,
    ARRAY['Production redelivery', 'Sandbox owner_uncertain'], 'a tester''s of a known id');
SELECT is(
    (SELECT count(*) FILTER (WHERE is_certain) FROM iap.owed('com.example.a', 'ann') WHERE transaction_id = '108'),
    1::bigint, 'is not certain');
INSERT INTO iap.redeliveries (transaction_id, bundle_id, environment, user_id, run_id, ordered_at, ordered_by, tries,
    due_at)
VALUES ('108', 'com.example.a', 'Sandbox', 'ann', 1, now(), 'sue', 0, now());
SELECT test.exclude('108', 'refunded'), test.settle(8);
SELECT results_eq(
    $$SELECT environment, ended_as FROM iap.redeliveries WHERE transaction_id = '108' ORDER BY 1$$,
    $$VALUES ('Production', 'not_owed'), ('Sandbox', 'unsure')$$, 'nor is it when the real one is refunded');
DELETE FROM iap.redeliveries WHERE transaction_id = '108';

-- What a person who was erased was owed goes to nobody.
SELECT test.admit('110', user_id => 'dora'), test.open_case('110', '{dora}');
SELECT is(test.order_all(), '1', 'ordered');
CREATE FUNCTION test.erase(user_id text) RETURNS jsonb
LANGUAGE sql AS $$
    SELECT test.run_as('iap_privacy', format('SELECT iap.erase_user(%L, %L, true)', user_id, 'pat'))::jsonb
$$;
INSERT INTO iap.redeliveries (
    transaction_id, bundle_id, environment, user_id, ordered_at, ordered_by, note, due_at, ended_at, ended_as)
SELECT 'erased-' || user_id, 'com.example.a', 'Production', user_id, now(), 'sue', note, now(), now(), 'delivered'
FROM (VALUES ('dora', 'she rang'), ('emil', 'as dora and fred asked, not dora-2')) AS ended (user_id, note);
SELECT results_eq(
    $$SELECT answer ->> 'outcome', answer -> 'rows' -> 'transactions', answer -> 'rows' -> 'redeliveries'
    FROM test.erase('dora') AS answer$$,
    $$VALUES ('erased', '1'::jsonb, '3'::jsonb)$$, 'the user is erased');
SELECT is_empty($$SELECT FROM iap.redeliveries WHERE transaction_id = '110'$$, 'the order goes');
SELECT results_eq(
    $$SELECT
        regexp_replace(user_id, 'erased-[0-9a-f]{16}', 'X'), regexp_replace(note, 'erased-[0-9a-f]{16}', 'X')
    FROM iap.redeliveries WHERE transaction_id LIKE 'erased-%' ORDER BY transaction_id$$,
    $$VALUES ('X', 'she rang'), ('emil', 'as X and fred asked, not dora-2')$$,
    'what has ended stays, to the pseudonym');
SELECT is(test.erase('fred') ->> 'outcome', 'erased', 'whoever is named in a note alone is known');
SELECT is(test.erase('fred') ->> 'outcome', 'unknown', 'once');
DELETE FROM iap.redeliveries WHERE transaction_id LIKE 'erased-%';
SELECT is(test.order_all(), '0', 'and none to the pseudonym comes');
-- What the app's server had delivered to them by then the night tells all the same.
SELECT test.admit('111', user_id => 'gus'), test.open_case('111', '{gus}');
SELECT is(test.redeliver('111'), 'redelivery', 'ordered for one who is erased on the day');
SELECT is(test.taken(), '111 gus 1', 'on which it is taken');
SELECT is(test.claim('111', 'gus'), 'delivered', 'and delivered');
SELECT is(test.erase('gus') -> 'rows' -> 'redeliveries', '1', 'its user is another');
SELECT test.settle(8);
SELECT is((SELECT ended_as FROM iap.redeliveries WHERE transaction_id = '111'), 'redelivered', 'it has ended');
SELECT is(
    (SELECT count(*) FROM finance.redeliveries WHERE transaction_id = '111'), 1::bigint, 'and finance counts it');
-- Nobody else's goes with them, nor what has ended and is still to be told of.
SELECT test.admit(id, user_id => who), test.open_case(id, ARRAY[who]), test.redeliver(id)
FROM (VALUES ('112', 'hal'), ('113', 'ida')) AS ordered (id, who);
UPDATE iap.redeliveries SET ended_at = now(), ended_as = 'unsure' WHERE transaction_id = '113';
SELECT is(test.erase('ida') -> 'rows' -> 'redeliveries', '1', 'one is theirs');
SELECT results_eq(
    $$SELECT transaction_id, iap.is_pseudonym(user_id), ended_as
    FROM iap.redeliveries WHERE transaction_id IN ('112', '113') ORDER BY 1$$,
    $$VALUES ('112' COLLATE "C", false, NULL), ('113', true, 'unsure')$$, 'and another user''s is to be made');
DELETE FROM iap.redeliveries WHERE transaction_id IN ('112', '113');
SELECT test.claim('112', 'hal');

-- Of two that may pay for the same orders each is offered one of its own.
SELECT test.run_as('iap_app', format(
    'SELECT iap.register_order(%L, %L, %L, %L)', 'com.example.a', order_id, 'eva', 'gems'))
FROM unnest(ARRAY['order-7', 'order-8']) AS order_id;
SELECT test.admit(id, user_id => 'eva'), test.open_case(id, '{eva}') FROM unnest(ARRAY['120', '121', '122']) AS id;
UPDATE iap.cases SET order_ids = '{order-7,order-8}' WHERE owner_user_ids = '{eva}';
SELECT is(test.order_all(), '3', 'three are sure');
SET LOCAL ROLE iap_app;
CREATE TEMPORARY TABLE taken AS SELECT transaction_id, order_ids FROM iap.take_redeliveries('com.example.a');
RESET ROLE;
SELECT results_eq(
    'SELECT transaction_id, order_ids FROM taken ORDER BY 1',
    $$VALUES ('120', '{order-7,order-8}'::text[]), ('121', '{order-8}'), ('122', '{}')$$, 'no order is offered twice');
SELECT results_eq(
    'SELECT test.claim(transaction_id, $$eva$$, order_ids[1]) FROM taken ORDER BY transaction_id',
    $$VALUES ('delivered'), ('delivered'), ('delivered')$$, 'so that all of them can be claimed');

-- A period that went by without access is delivered late by a grant until its own end, also where a later one is
-- granted by now.
SET LOCAL search_path = public, iap;
CREATE FUNCTION test.late_period(id text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    period iap.verified := test.heard(
        id, product_id => 'pass', product_type => 'auto_renewable', purchased_at => now() - interval '60 days');
BEGIN
    period.expires_at := now() - interval '30 days';
    period.user_id := 'lea';
    PERFORM iap.enter(ARRAY[period], 1, now());
    PERFORM test.open_case(id, '{lea}');
    UPDATE iap.cases SET periods = ARRAY[id], likelihood = 'medium' WHERE transaction_id = id;
    PERFORM test.run_as('iap_support', format('SELECT iap.redeliver(%L, %L, %L)', id, 'sue', 'she shall have it'));
END
$$;
CREATE FUNCTION test.entitle(id text, until timestamptz) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format('SELECT iap.entitle(%L, %L, %L, %L)', 'com.example.a', id, 'lea', until))
$$;
SELECT test.late_period('130'), test.late_period('131');
INSERT INTO iap.redeliveries (
    transaction_id, bundle_id, environment, user_id, run_id, ordered_at, ordered_by, tries, taken_at, due_at)
SELECT '130', bundle_id, environment, 'lea', 1, now(), 'sue', 1, now() - interval '1 day', now() + interval '1 day'
FROM (VALUES ('com.example.0', 'Production'), ('com.example.a', 'Sandbox')) AS others (bundle_id, environment);
SELECT test.entitle('130', now() - interval '30 days');
SELECT test.entitle('131', now() + interval '30 days');
SELECT results_eq(
    $$SELECT place FROM iap.transactions WHERE transaction_id IN ('130', '131')$$, $$VALUES ('white'), ('white')$$,
    'before a server has taken it a late period stays a case');
UPDATE iap.entitlements
SET first_granted_at = first_granted_at - interval '1 day', granted_at = granted_at - interval '1 day'
WHERE original_transaction_id IN ('130', '131');
UPDATE iap.entitlements AS e SET seal = audit.seal(e) WHERE original_transaction_id IN ('130', '131');
DELETE FROM iap.redeliveries WHERE transaction_id = '130' AND tries > 0;
-- What an app or environment has that calls its periods the same says nothing of these.
INSERT INTO iap.transactions
SELECT (jsonb_populate_record(t, others.here || '{"product_id": "gems", "expires_at": "infinity"}')).*
FROM iap.transactions AS t
CROSS JOIN (VALUES ('{"bundle_id": "com.example.0"}'::jsonb), ('{"environment": "Sandbox"}')) AS others (here)
WHERE transaction_id = '130';
UPDATE iap.transactions AS t SET seal = audit.seal(t) WHERE expires_at = 'infinity';
SET LOCAL ROLE iap_app;
CREATE TEMPORARY TABLE late AS SELECT * FROM iap.take_redeliveries('com.example.a');
RESET ROLE;
SELECT results_eq(
    'SELECT transaction_id, product_id, paid_until FROM late ORDER BY 1',
    $$VALUES ('130', 'pass', now() - interval '30 days'), ('131', 'pass', now() - interval '30 days')$$,
    'taken it says until when it was paid');
DELETE FROM iap.transactions WHERE expires_at = 'infinity';
SELECT is(
    test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0',
    'which no grant has delivered that was said before');
SELECT results_eq(
    $$SELECT place FROM iap.transactions WHERE transaction_id IN ('130', '131')$$, $$VALUES ('white'), ('white')$$,
    'so that it stays a case until the server grants it');
SELECT test.entitle(original_transaction_id, paid_until) FROM late;
SELECT results_eq(
    $$SELECT place, iap.end_of_redelivery(ordered)
    FROM iap.transactions JOIN iap.redeliveries AS ordered USING (transaction_id)
    WHERE transaction_id IN ('130', '131')$$,
    $$VALUES ('black', 'redelivered'), ('black', 'redelivered')$$, 'and is delivered by that grant');

-- Of several periods, until the end of the last.
SELECT test.late_period('147'), test.hear(jsonb_populate_record(
    test.heard('148', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => '147'),
    jsonb_build_object('expires_at', now() + interval '30 days')));
UPDATE iap.cases SET periods = '{147,148}' WHERE transaction_id = '147';
SELECT is(
    test.run_as('iap_app', $$SELECT paid_until FROM iap.take_redeliveries('com.example.a')$$)::timestamptz,
    now() + interval '30 days', 'as its case tells of them');
SELECT test.claim('148', 'lea');
UPDATE iap.redeliveries SET due_at = now() WHERE transaction_id = '147';
SELECT is(
    test.run_as('iap_app', $$SELECT paid_until FROM iap.take_redeliveries('com.example.a')$$)::timestamptz,
    now() - interval '30 days', 'that are owed');
DELETE FROM iap.redeliveries WHERE transaction_id = '147';

-- While it still has it for the fifth time, it may yet grant it.
SELECT test.late_period('133');
UPDATE iap.redeliveries SET tries = 5, taken_at = now(), due_at = now() + interval '1 minute'
WHERE transaction_id = '133';
SELECT test.entitle('133', now() + interval '30 days');
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = '133'), 'black', 'as long as its lease goes on');

-- Once that has ended no grant is for its sake.
SELECT test.late_period('134');
UPDATE iap.redeliveries
SET tries = 1, taken_at = now(), due_at = now() + interval '1 minute', ended_at = now(), ended_as = 'unsure'
WHERE transaction_id = '134';
SELECT test.entitle('134', now() + interval '30 days');
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = '134'), 'white', 'it stays a case');

-- What the desk delivers is no redelivery, whatever less was granted while it was under way.
SELECT test.late_period('139');
UPDATE iap.redeliveries SET tries = 1, taken_at = now(), due_at = now() + interval '1 minute'
WHERE transaction_id = '139';
SELECT test.entitle('139', now() - interval '40 days');
SELECT is(test.resolve('139', 'delivered'), 'delivered', 'delivered by hand, where the grant ends too early');
SELECT is(iap.end_of_redelivery(ordered), 'delivered', 'as the end of it says')
FROM iap.redeliveries AS ordered WHERE transaction_id = '139';

-- Where the server gave it up, what it grants of later periods delivers nothing late.
SELECT test.late_period('132');
UPDATE iap.redeliveries SET tries = 5, taken_at = now() - interval '1 day', due_at = now() WHERE transaction_id = '132';
SELECT test.entitle('132', now() + interval '30 days');
SELECT is(test.run_as('iap_job', 'SELECT iap.cover_entitled(7, now(), 10)'), '0',
    'what was given up no grant delivers');
SELECT is((SELECT place FROM iap.transactions WHERE transaction_id = '132'), 'white', 'it stays a case');

-- What its customer claims before it is taken was not redelivered.
SELECT test.admit('150'), test.open_case('150', '{ann}');
SELECT is(test.redeliver('150'), 'redelivery', 'what a person orders');
SELECT is(test.claim('150'), 'delivered', 'and its customer claims at once');
SELECT test.settle(9);
SELECT is(
    (SELECT ended_as FROM iap.redeliveries WHERE transaction_id = '150'), 'delivered',
    'was delivered without the server');
SELECT is_empty(
    $$SELECT FROM iap.events WHERE kind = 'redelivered' AND transaction_id = '150'$$, 'and no month counts it');

-- Nor is what its customer claims when a server that took it has failed: its lease is over.
SELECT test.admit('151'), test.open_case('151', '{ann}'), test.redeliver('151');
SELECT results_eq('SELECT test.taken()', $$VALUES ('151 ann 1')$$, 'what a server takes');
UPDATE iap.redeliveries SET due_at = now() - interval '1 second' WHERE transaction_id = '151';
SELECT is(test.claim('151'), 'delivered', 'and its customer claims after its lease');
SELECT test.settle(9);
SELECT is(
    (SELECT ended_as FROM iap.redeliveries WHERE transaction_id = '151'), 'delivered',
    'was delivered without the server, too');
SELECT is_empty(
    $$SELECT FROM iap.events WHERE kind = 'redelivered' AND transaction_id = '151'$$, 'which no month counts either');

-- How each ends, beside one that goes on: what the desk delivered by hand, what may be another's, and what the server
-- delivered, whatever came before and after.
SELECT test.admit(id), test.open_case(id, '{ann}'), test.redeliver(id)
FROM unnest(ARRAY['160', '161', '162', '163']) AS id;
SELECT test.admit('164'), test.open_case('164', '{ann}'), test.resolve('164', 'delivered'), test.reopen('164'),
    test.redeliver('164');
SELECT results_eq(
    'SELECT test.taken()',
    $$VALUES ('160 ann 1'), ('161 ann 1'), ('162 ann 1'), ('163 ann 1'), ('164 ann 1')$$, 'all of them are taken');
SELECT test.resolve('160', 'delivered'), test.claim('162', 'ann'), test.claim('164', 'ann');
UPDATE iap.cases SET owner_user_ids = '{ann,bob}' WHERE transaction_id = '161';
SELECT test.exclude('162', 'refunded'), test.settle(10);
SELECT results_eq(
    $$SELECT transaction_id, ended_as FROM iap.redeliveries WHERE transaction_id ~ '^16' ORDER BY 1$$,
    $$VALUES
        ('160' COLLATE "C", 'delivered'), ('161', 'unsure'), ('162', 'redelivered'), ('163', NULL),
        ('164', 'redelivered')$$, 'as its transaction says');
SELECT results_eq(
    $$SELECT events.transaction_id, moves.transaction_id, moves.kind
    FROM iap.events JOIN iap.moves ON moves.move_id = (events.details ->> 'move_id')::bigint
    WHERE events.run_id = 10 ORDER BY 1$$,
    $$VALUES ('162' COLLATE "C", '162' COLLATE "C", 'claimed'), ('164', '164', 'claimed')$$,
    'which finance counts by the server''s own delivery');
SELECT test.settle(11);
SELECT is_empty('SELECT FROM iap.events WHERE run_id = 11', 'and once');

-- For the fifth time it is under way as long as its lease.
UPDATE iap.redeliveries SET tries = 5 WHERE transaction_id = '163';
SELECT is(test.redeliver('163'), 'redelivery', 'a person orders what the server has');
SELECT is((SELECT tries FROM iap.redeliveries WHERE transaction_id = '163'), 5, 'which goes on');
SELECT is(iap.redelivery_of(ROW(t.*)::iap.transactions), 'under way', 'and is told so')
FROM iap.transactions AS t WHERE transaction_id = '163';
UPDATE iap.redeliveries SET due_at = now() WHERE transaction_id = '163';
SELECT is(iap.redelivery_of(ROW(t.*)::iap.transactions), 'given up', 'as it is once its last lease is over')
FROM iap.transactions AS t WHERE transaction_id = '163';

-- Refunded, and taken back: once a night has judged it anew it is ordered anew.
SELECT test.exclude('163', 'refunded'), test.settle(12);
SELECT test.hear(test.heard('163', verified_at => now() + interval '1 day'));
SELECT is(test.order_all(), '0', 'what no night has judged since is not');
UPDATE iap.cases SET state = 'open', closed_at = NULL, closed_as = NULL, closed_by = NULL WHERE transaction_id = '163';
SELECT is(test.order_all(), '1', 'what one has is');

-- What a row that could not be taken names by either of its ids.
SELECT test.admit('171', '170'), test.admit('173', '172'),
    test.open_case('171', '{ann}'), test.open_case('173', '{ann}');
INSERT INTO iap.refused_rows (source, row_id, named_id, reason, what, refused_at)
SELECT 'delivered', id, id, 'missing', 'purchased_at is missing', now() FROM unnest(ARRAY['171', '172']) AS id;
SELECT is(test.order_all(), '0', 'is not sure');

-- What a claim would leave to the support desk is not ordered.
SELECT test.admit('140', product_id => 'unheard.of');
SELECT test.admit('141', '140', 'unheard.of');
SELECT is(test.claim('140'), 'delivered', 'of two that share an original, and that nobody knows the type of');
SELECT test.open_case('141', '{ann}');
SELECT is(test.order_all(), '0', 'the other may be the same purchase');

SELECT test.is_refused('iap_app', format('SELECT iap.take_redeliveries(%s)', arguments), '22023', '%', why)
FROM (
    VALUES
        ($$''$$, 'no app'), ($$'com.example.a', 0$$, 'none'), ($$'com.example.a', 10001$$, 'too many'),
        ($$'com.example.a', 1, '0 seconds'$$, 'no lease'), ($$'com.example.a', 1, '2 days'$$, 'a lease without end'),
        ($$'com.example.a', NULL$$, 'nobody knows how many'), ($$'com.example.a', 1, NULL$$, 'nor for how long')
) AS call (arguments, why);
SELECT is_empty('SELECT * FROM test.misfits', 'every row fits its seal');

-- What a call leases it gives once, though the lease ends before the call does.
SELECT test.admit('lease-' || n, user_id => 'lea') FROM generate_series(1, 400) AS n;
INSERT INTO iap.redeliveries (transaction_id, bundle_id, environment, user_id, run_id, ordered_at, ordered_by, due_at)
SELECT transaction_id, bundle_id, environment, 'lea', 1, now(), 'iap-reconcile', now() - interval '1 hour'
FROM iap.white WHERE transaction_id LIKE 'lease-%';
SELECT set_eq(
    $$SELECT user_id, "try" FROM iap.take_redeliveries('com.example.a', 10000, '1 second')
    WHERE transaction_id LIKE 'lease-%' AND pg_sleep(0.005) IS NOT NULL$$,
    $$VALUES ('lea', 1)$$, 'each for the first time');
SELECT is(
    (SELECT max(tries) FROM iap.redeliveries WHERE transaction_id LIKE 'lease-%'), 1,
    'and is not given up by one call');

-- A grant delivers all periods of a subscription's case, and finance counts each.
UPDATE iap.redeliveries SET due_at = now() + interval '1 day' WHERE transaction_id <> '180';
SELECT test.late_period('180'), test.late_period('181');
UPDATE iap.transactions SET original_transaction_id = '180' WHERE transaction_id = '181';
UPDATE iap.transactions AS t SET seal = audit.seal(t) WHERE transaction_id = '181';
-- One that its customer has claimed by then.
SELECT test.hear(test.heard('182', product_id => 'pass', product_type => 'auto_renewable')), test.claim('182', 'lea');
UPDATE iap.cases SET periods = '{180,181,182}' WHERE transaction_id = '180';
DELETE FROM iap.redeliveries WHERE transaction_id = '181';
DELETE FROM iap.cases WHERE transaction_id = '181';
SELECT results_eq('SELECT test.taken()', $$VALUES ('180 lea 1')$$, 'ordered as one');
SELECT test.entitle('180', now() - interval '30 days');
SELECT test.settle(21);
SELECT results_eq(
    $$SELECT transaction_id FROM finance.redeliveries WHERE transaction_id LIKE '18_' ORDER BY 1$$,
    $$VALUES ('180' COLLATE "C"), ('181')$$, 'and counted as what was delivered');
SELECT test.settle(22);
SELECT is_empty('SELECT FROM iap.events WHERE run_id = 22', 'once');

-- What the support desk decided has ended its redelivery, also where it takes the decision back before the night.
UPDATE iap.redeliveries SET due_at = now() + interval '1 day' WHERE ended_at IS NULL;
SELECT test.admit(id), test.open_case(id, '{ann}'), test.redeliver(id) FROM unnest(ARRAY['190', '191', '192']) AS id;
SELECT test.resolve('190', 'delivered'), test.reopen('190'), test.resolve('191', 'dismissed'), test.reopen('191');
SELECT results_eq('SELECT test.taken()', $$VALUES ('192 ann 1')$$, 'nobody has ordered it since');
SELECT results_eq(
    $$SELECT transaction_id, ended_as FROM iap.redeliveries WHERE transaction_id IN ('190', '191') ORDER BY 1$$,
    $$VALUES ('190' COLLATE "C", 'delivered'), ('191', 'not_owed')$$, 'it ended as the desk decided');
SELECT is(test.redeliver('190'), 'redelivery', 'the desk may order it anew');
SELECT results_eq('SELECT test.taken()', $$VALUES ('190 ann 1')$$, 'and then it is taken');

-- Granted while another session held it, it is white until a night writes that: granted again, nobody has it twice. Not
-- so what may be another's by now, what was delivered under another id, or what a family shares.
UPDATE iap.redeliveries SET due_at = now() + interval '1 day' WHERE ended_at IS NULL;
SELECT test.admit(id, product_id => 'full'), test.open_case(id, '{ann}'), test.redeliver(id)
FROM unnest(ARRAY['200', '201', '202', '203', '204']) AS id;
SELECT results_eq(
    'SELECT test.taken()',
    $$VALUES ('200 ann 1'), ('201 ann 1'), ('202 ann 1'), ('203 ann 1'), ('204 ann 1')$$, 'what a server takes');
INSERT INTO iap.entitlements (
    original_transaction_id, bundle_id, user_id, entitled_until, first_granted_at, granted_at)
SELECT id, 'com.example.a', 'ann', 'infinity', now() - interval '5 minutes', now() - interval '5 minutes'
FROM unnest(ARRAY['200', '201', '203']) AS id;
UPDATE iap.entitlements AS e SET seal = audit.seal(e);
UPDATE iap.cases SET owner_user_ids = '{ann,bob}' WHERE transaction_id = '201';
INSERT INTO iap.delivered_originals (original_transaction_id, bundle_id, environment, transaction_id)
VALUES ('202', 'com.example.a', 'Production', '202b');
UPDATE iap.transactions SET is_family_shared = true WHERE transaction_id = '203';
UPDATE iap.transactions AS t SET seal = audit.seal(t) WHERE transaction_id = '203';
-- And what was granted after its lease, whatever else was within it.
UPDATE iap.redeliveries SET taken_at = now() - interval '10 minutes', due_at = now() - interval '1 minute'
WHERE transaction_id = '204';
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', '204', 'ann', 'infinity')$$), test.settle(30);
SELECT results_eq(
    $$SELECT transaction_id, ended_as FROM iap.redeliveries WHERE transaction_id ~ '^20' ORDER BY 1$$,
    $$VALUES
        ('200' COLLATE "C", NULL), ('201', 'unsure'), ('202', 'unsure'), ('203', 'unsure'), ('204', 'delivered')$$,
    'goes on where it is granted, and is sure');

-- A claim delivers what it names. What else of its case a server claims beside it, it was not asked for.
UPDATE iap.redeliveries SET due_at = now() + interval '1 day' WHERE ended_at IS NULL;
SELECT test.late_period('210'), test.late_period('211');
UPDATE iap.transactions SET original_transaction_id = '210' WHERE transaction_id = '211';
UPDATE iap.transactions AS t SET seal = audit.seal(t) WHERE transaction_id = '211';
UPDATE iap.cases SET periods = '{210,211}' WHERE transaction_id = '210';
DELETE FROM iap.redeliveries WHERE transaction_id = '211';
DELETE FROM iap.cases WHERE transaction_id = '211';
SELECT results_eq('SELECT test.taken()', $$VALUES ('210 lea 1')$$, 'of the periods of a case one is handed out');
SELECT is(test.claim(id, 'lea'), 'delivered', 'a server claims ' || id) FROM unnest(ARRAY['210', '211']) AS id;
SELECT test.settle(31);
SELECT results_eq(
    $$SELECT transaction_id FROM finance.redeliveries WHERE transaction_id LIKE '21_' ORDER BY 1$$,
    $$VALUES ('210' COLLATE "C")$$, 'and the one is counted as delivered without the customer');

SELECT * FROM finish();
ROLLBACK;
