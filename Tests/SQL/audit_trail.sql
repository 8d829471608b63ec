-- The chain over entries, moves and events, and the seals of rows: what is changed by hand is found.
BEGIN;
SELECT no_plan();

-- What is found after a statement, which is taken back again: the links that don't fit, and the rows.
CREATE FUNCTION test.after(statement text, query text) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
    found_then text[];
BEGIN
    BEGIN
        EXECUTE statement;
        EXECUTE format('SELECT array_agg(found ORDER BY found) FROM (%s) AS answer (found)', query) INTO found_then;
        RAISE EXCEPTION USING ERRCODE = 'P0999';
    EXCEPTION
        WHEN SQLSTATE 'P0999' THEN NULL;
    END;
    RETURN found_then;
END
$$;
CREATE FUNCTION test.breaks(statement text, runs text[], description text) RETURNS text
LANGUAGE sql AS $$
    SELECT is(test.after(statement, 'SELECT * FROM audit.broken_links()'), runs, description)
$$;
CREATE FUNCTION test.unseals(statement text, rows text[], description text) RETURNS text
LANGUAGE sql AS $$
    SELECT is(test.after(statement, $q$SELECT relation || ' ' || row FROM test.misfits$q$), rows, description)
$$;
CREATE FUNCTION test.note(kind text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, iap, pg_temp AS $$
    SELECT iap.log_event($1, 'me', NULL, now(), '{"a": 1}')
$$;

-- The chain ----------------------------------------------------------------------------------------------------------

SELECT is_empty('SELECT audit.broken_links()', 'before the first closing nothing is broken');
SELECT test.note('one'), test.admit('1', quantity => 2), test.admit('2'), test.claim('1', 'ann', 'order-1');
SELECT is(test.close_books(), 1::bigint, 'the first closing');
SELECT results_eq(
    'SELECT position, run_id, upto, late, entries FROM audit.links',
    $$SELECT 1::bigint, 1::bigint, last_value, '{}'::bigint[], 4::bigint FROM iap.trail$$,
    'covers two entries, a move and an event');
SELECT results_eq('SELECT upto, gaps FROM audit.frontier', $$SELECT upto, '{}'::int8multirange FROM audit.links$$,
    'and all that there is');
SELECT is_empty('SELECT audit.broken_links()', 'nothing is broken');
SELECT is(test.close_books(), 2::bigint, 'the second closing');
SELECT is((SELECT entries FROM audit.links WHERE run_id = 2), 0::bigint, 'covers nothing twice');
SELECT test.note('two'), test.resolve('2', 'dismissed'), test.admit('3');
SELECT test.hear(test.heard('3', product_id => 'full', quantity => 1));
SELECT is(test.close_books(), 3::bigint, 'the third closing');
SELECT is((SELECT entries FROM audit.links WHERE run_id = 3), 4::bigint, 'goes on with what is new');
SELECT is_empty('SELECT audit.broken_links()', 'nothing is broken after several closings');
SELECT test.note('three'), test.admit('4');
SELECT test.hear(test.heard('refunded', exclusion => 'refunded', refunded_at => now(),
    revocation_type => 'REFUND_PRORATED', revocation_percentage => 50000));
SELECT is_empty('SELECT audit.broken_links()', 'nor by what no run has closed its books over');
SELECT is_empty('SELECT * FROM test.misfits', 'every row fits its seal');

-- In whatever way a session writes times.
SET LOCAL TimeZone = 'Asia/Shanghai';
SET LOCAL DateStyle = 'SQL, DMY';
SELECT is_empty('SELECT audit.broken_links()', 'in any time zone and style');
SELECT is(test.close_books(), 4::bigint, 'in which books can be closed');
SET LOCAL TimeZone = 'UTC';
SET LOCAL DateStyle = 'ISO, YMD';
SELECT is_empty('SELECT audit.broken_links()', 'and looked at in another');

-- What is changed by hand.
SELECT test.breaks($$UPDATE iap.events SET kind = 'x' WHERE kind = 'one'$$, '{run 1}', 'an event that is changed');
SELECT test.breaks($$DELETE FROM iap.events WHERE kind = 'two'$$, '{run 3}', 'or removed');
SELECT test.breaks(
    $$UPDATE iap.moves SET from_units = 1 WHERE transaction_id = '1'$$, '{run 1}', 'a move that is changed');
SELECT test.breaks($$DELETE FROM iap.moves WHERE transaction_id = '2'$$, '{run 1,run 3}',
    'a removed move, and so what its transaction was when it entered');
SELECT test.breaks($$UPDATE iap.moves SET kind = 'claimed' WHERE kind = 'corrected'$$, '{run 3}', 'why it moved');
SELECT test.breaks(
    $$UPDATE iap.transactions SET booked_milliunits = 1 WHERE transaction_id = '4'$$, '{run 4}',
    'the amount of what is as it entered');
SELECT test.breaks(
    $$UPDATE iap.transactions SET revocation_percentage = 10000 WHERE transaction_id = 'refunded'$$, '{run 4}',
    'and the share that went back of it');
SELECT test.breaks(
    $$UPDATE iap.moves SET from_milliunits = 1 WHERE transaction_id = '2'$$, '{run 1,run 3}',
    'or as it was when its first move found it');
SELECT test.breaks(
    $$UPDATE iap.transactions SET first_seen_at = now() - interval '1 day' WHERE transaction_id = '1'$$, '{run 1}',
    'when it entered');
SELECT test.breaks($$UPDATE iap.transactions SET first_run_id = 9 WHERE transaction_id = '1'$$, '{run 1}',
    'and by which run');
SELECT test.breaks($$DELETE FROM iap.transactions WHERE transaction_id = '1'$$, '{run 1}',
    'a transaction that is gone');
SELECT test.breaks(
    $$UPDATE iap.transactions SET entry_id = entry_id + 1000 WHERE transaction_id = '1'$$, '{run 1}',
    'or was given another number');
SELECT test.breaks($$UPDATE iap.transactions SET environment = 'Sandbox' WHERE transaction_id = '4'$$, '{run 4}',
    'or another environment');

-- What is slipped in, with a number that a closed run covers.
SELECT test.breaks(
    $$INSERT INTO iap.events (event_id, kind, actor) SELECT entry_id, 'x', 'me' FROM iap.transactions
    WHERE transaction_id = '1'$$, '{run 1}', 'an event that was slipped in');
SELECT test.breaks(
    $$INSERT INTO iap.moves
    SELECT (jsonb_populate_record(moves, jsonb_build_object('move_id', event_id, 'transaction_id', '4'))).*
    FROM iap.moves, iap.events WHERE moves.kind = 'claimed' AND events.kind = 'two'$$, '{run 3}',
    'a move that was slipped in');
SELECT test.breaks(
    $$INSERT INTO iap.transactions
    SELECT (jsonb_populate_record(t, '{"transaction_id": "5"}')).* FROM iap.transactions AS t
    WHERE transaction_id = '4'$$, '{run 4}', 'a transaction that was slipped in');

-- The chain itself.
SELECT test.breaks($$UPDATE audit.links SET link = sha256('x') WHERE run_id = 3$$, '{run 3,run 4}', 'another link');
SELECT test.breaks($$UPDATE audit.links SET entries = 3 WHERE run_id = 1$$, '{run 1}', 'another number of entries');
SELECT test.breaks($$DELETE FROM audit.links WHERE run_id = 2$$, '{run 3}', 'a missing link');
SELECT test.breaks($$DELETE FROM audit.links WHERE run_id = 4$$, '{the end of the chain}', 'a missing end');
SELECT test.breaks(
    $$UPDATE audit.frontier SET upto = upto + 1000$$, '{the end of the chain}', 'a frontier beyond the last link');
SELECT test.breaks(
    $$UPDATE audit.links SET upto = (SELECT upto FROM audit.links WHERE run_id = 1) - 1 WHERE run_id = 1$$,
    '{run 1,run 2}', 'where a link ends');
SELECT is_empty('SELECT audit.broken_links()', 'all of which is taken back');

-- What was begun before a closing and committed after it -------------------------------------------------------------

SELECT nextval('iap.trail') AS late, nextval('iap.trail') AS never \gset
SELECT test.note('four'), test.admit('6');
SELECT is(test.close_books(), 5::bigint, 'a closing that does not see two numbers');
SELECT is((SELECT gaps FROM audit.frontier), int8multirange(int8range(:late, :never + 1)), 'keeps them in mind');
INSERT INTO iap.events (event_id, kind, actor) VALUES (:late, 'late', 'me');
UPDATE iap.events SET seal = audit.seal(events) WHERE event_id = :late;
SELECT is_empty('SELECT audit.broken_links()', 'what comes late is not slipped in');
SELECT is(test.close_books(), 6::bigint, 'the next closing');
SELECT results_eq(
    'SELECT late, entries FROM audit.links WHERE run_id = 6', format($$VALUES ('{%s}'::bigint[], 1::bigint)$$, :late),
    'covers it');
SELECT is((SELECT gaps FROM audit.frontier), int8multirange(int8range(:never, :never + 1)), 'and keeps the other');
SELECT is_empty('SELECT audit.broken_links()', 'nothing is broken');
SELECT test.breaks($$UPDATE iap.events SET actor = 'x' WHERE kind = 'late'$$, '{run 6}',
    'if it is changed, that one is');
SELECT test.breaks($$DELETE FROM iap.events WHERE kind = 'late'$$, '{run 6}', 'or removed');
SELECT test.breaks($$UPDATE audit.links SET late = '{}' WHERE run_id = 6$$, '{run 5,run 6}',
    'or if the link does not tell of it');
SELECT is(test.close_books(), 7::bigint, 'a closing shortly afterwards');
SELECT is((SELECT gaps FROM audit.frontier), int8multirange(int8range(:never, :never + 1)), 'still waits');

-- A number whose transaction is over, and that nobody wrote, stands for nothing any more.
UPDATE audit.frontier SET closed_at = closed_at - interval '11 minutes', horizon = '0';
SELECT is(test.close_books(), 8::bigint, 'a closing when all that was under way is over');
SELECT is((SELECT gaps FROM audit.frontier), '{}', 'waits no more');
SELECT is_empty('SELECT audit.broken_links()', 'nothing is broken');
SELECT test.breaks(
    format($$INSERT INTO iap.events (event_id, kind, actor) VALUES (%s, 'x', 'me')$$, :never), '{run 5}',
    'what comes with that number now was slipped in');

-- Entries that come late are in the totals of the run that covers them.
SELECT nextval('iap.trail') AS late \gset
SELECT test.admit('7', quantity => 5);
SELECT test.admit('8', quantity => 7);
CREATE FUNCTION test.totals(run bigint) RETURNS iap.white_totals
LANGUAGE sql AS $$ SELECT iap.close_books(run) $$;
UPDATE iap.transactions SET entry_id = :late WHERE transaction_id = '7';
UPDATE iap.transactions SET seal = audit.seal(transactions) WHERE transaction_id = '7';
CREATE TABLE test.late AS SELECT * FROM iap.transactions WHERE transaction_id = '7';
DELETE FROM iap.transactions WHERE transaction_id = '7';
SELECT results_eq(
    'SELECT new[1:2], closing_white[1:2] FROM test.totals(9)', $$VALUES ('{1,7}'::bigint[], '{4,10}'::bigint[])$$,
    'one run does not see it');
INSERT INTO iap.transactions SELECT * FROM test.late;
SELECT results_eq(
    'SELECT new[1:2], claimed, closing_white[1:2] FROM test.totals(10)',
    $$VALUES ('{1,5}'::bigint[], '{0,0,0}'::bigint[], '{5,15}'::bigint[])$$, 'the next one does');
SELECT is_empty('SELECT audit.broken_links()', 'nothing is broken');
SELECT is_empty('SELECT * FROM finance.unexplained', 'and nothing unexplained');
SELECT test.claim('7');
SELECT is_empty('SELECT audit.broken_links()', 'a late entry may move');
SELECT results_eq(
    'SELECT new, claimed[1:2], closing_white[1:2] FROM test.totals(11)',
    $$VALUES ('{0,0,0}'::bigint[], '{1,5}'::bigint[], '{4,10}'::bigint[])$$, 'as any other');
SELECT is_empty('SELECT audit.broken_links()', 'nothing is broken');

-- Erasing ------------------------------------------------------------------------------------------------------------

SELECT test.admit('10', user_id => 'eve'), test.claim('10', 'eve');
SELECT is(
    iap.erase_user('eve', 'dan') ->> 'outcome', 'erased', 'a user is erased before a run has closed its books over it');
SELECT is_empty('SELECT audit.broken_links()', 'nothing is broken');
SELECT test.close_books();
SELECT is_empty('SELECT audit.broken_links()', 'nor when it has');
SELECT is(iap.erase_user('ann', 'dan', true) ->> 'outcome', 'erased', 'a user whose moves are covered');
SELECT is_empty('SELECT audit.broken_links()', 'nothing is broken');
SELECT is_empty('SELECT audit.wrong_erasures()', 'the erasures are what was left');
SELECT is_empty('SELECT * FROM test.misfits', 'every row fits its seal');
SELECT test.close_books();
SELECT is_empty('SELECT audit.broken_links()', 'and the chain goes on');
SET LOCAL TimeZone = 'Asia/Shanghai';
SET LOCAL DateStyle = 'SQL, DMY';
SELECT is_empty('SELECT audit.wrong_erasures()', 'in any time zone and style');
SELECT test.admit('11', user_id => 'fred'), test.claim('11', 'fred');
SELECT is(iap.erase_user('fred', 'dan') ->> 'outcome', 'erased', 'in which users can be erased');
SET LOCAL TimeZone = 'UTC';
SET LOCAL DateStyle = 'ISO, YMD';
SELECT is_empty('SELECT audit.wrong_erasures()', 'and be looked for in another');
SELECT is(
    test.after(
        $$UPDATE iap.moves SET to_units = 1 WHERE transaction_id = '1'$$, 'SELECT transaction_id FROM iap.moves
        JOIN audit.wrong_erasures() AS number ON number = move_id'), '{1}',
    'a change by hand after an erasure is found');
SELECT is(
    test.after(
        $$UPDATE iap.moves SET details = details || '{"user_id": "mallory"}' WHERE transaction_id = '10'$$,
        'SELECT transaction_id FROM iap.moves JOIN audit.wrong_erasures() AS number ON number = move_id'), '{10}',
    'another user in an erased one''s place too');
SELECT is(
    test.after(
        $$DELETE FROM iap.moves WHERE transaction_id = '10'$$, 'SELECT count(*)::text FROM audit.wrong_erasures()'),
    '{1}', 'and what is removed');
SELECT is(
    test.after(
        $$INSERT INTO audit.erasures SELECT event_id, event_id, audit.digest(events), audit.digest(events)
        FROM iap.events WHERE kind = 'one'$$, 'SELECT count(*)::text FROM audit.wrong_erasures()'), '{1}',
    'an erasure that no event tells of');
-- However the rows lie: in what is restored they may lie otherwise.
CREATE TABLE test.erasures AS SELECT * FROM audit.erasures;
DELETE FROM audit.erasures;
INSERT INTO audit.erasures SELECT * FROM test.erasures ORDER BY number DESC;
SELECT is_empty('SELECT audit.wrong_erasures()', 'in whatever order erasures are read');
-- Who knows all of these functions rewrites what the chain covers, and says that it was an erasure.
CREATE FUNCTION test.rewrite(number bigint) RETURNS void
LANGUAGE plpgsql SET timezone = 'UTC' AS $$
DECLARE
    erasure bigint := (SELECT min(event_id) FROM iap.events WHERE kind = 'erased');
    before  bytea := (SELECT audit.digest(e) FROM iap.events AS e WHERE event_id = number);
BEGIN
    UPDATE iap.events SET actor = 'mallory' WHERE event_id = number;
    UPDATE iap.events AS e SET seal = audit.seal(e) WHERE event_id = number;
    INSERT INTO audit.erasures
    SELECT number, erasure, before, audit.digest(e) FROM iap.events AS e WHERE event_id = number;
END
$$;
SELECT event_id AS one FROM iap.events WHERE kind = 'one' \gset
SELECT is(
    test.after(
        format('SELECT test.rewrite(%s)', :one),
        format('SELECT count(*)::text FROM audit.wrong_erasures() AS number WHERE number = %s', :one)),
    '{1}', 'a change that is passed off as an erasure');
SELECT test.breaks($$UPDATE audit.erasures SET digest = left_as WHERE number = (
    SELECT move_id FROM iap.moves WHERE transaction_id = '1')$$, '{run 1}', 'or that says something else was there');
SELECT test.breaks($$DELETE FROM audit.erasures WHERE number = (
    SELECT move_id FROM iap.moves WHERE transaction_id = '1')$$, '{run 1}', 'or that is not told of');

-- What one erasure left another may change: each event tells of its own.
INSERT INTO iap.events (kind, actor, details) VALUES ('two users', 'dan', '["zoe", "yan"]');
UPDATE iap.events AS e SET seal = audit.seal(e) WHERE kind = 'two users';
SELECT test.totals(21);
SELECT iap.erase_user('zoe', 'dan'), iap.erase_user('yan', 'dan');
SELECT is(
    (SELECT count(*) FROM audit.erasures JOIN iap.events ON events.event_id = number WHERE kind = 'two users'),
    2::bigint, 'an event from which two users were erased');
SELECT is_empty('SELECT audit.wrong_erasures()', 'is what the later one left');
SELECT is_empty('SELECT audit.broken_links()', 'and the chain keeps what stood there first');
SELECT is_empty('SELECT * FROM test.misfits', 'and it fits its seal');
SELECT is(
    test.after(
        $$DELETE FROM audit.erasures WHERE event_id = (SELECT max(event_id) FROM iap.events WHERE kind = 'erased')$$,
        'SELECT count(*)::text FROM audit.wrong_erasures()'), '{1}', 'what the later one did is told of');

-- The digests hold all of a row.
CREATE FUNCTION test.another(value jsonb, type text) RETURNS jsonb
LANGUAGE sql AS $$
    SELECT CASE
        WHEN type IN ('bigint', 'integer', 'smallint') THEN to_jsonb(coalesce((value #>> '{}')::bigint, 0) + 1)
        WHEN type = 'boolean' THEN to_jsonb(NOT (value #>> '{}')::boolean)
        WHEN type LIKE 'timestamp%' THEN '"2001-02-03 04:05:06+00"'
        WHEN type = 'date' THEN '"2001-02-03"'
        WHEN type = 'jsonb' THEN '{"x": 1}'
        WHEN type = 'bytea' THEN '"\\x00"'
        WHEN type = 'iap.source' THEN '"local"'
        ELSE to_jsonb(coalesce(value #>> '{}', '') || 'x')
    END
$$;
CREATE VIEW test.columns AS
SELECT attrelid::regclass::text AS relation, attname AS name, format_type(atttypid, NULL) AS type
FROM pg_attribute
WHERE attrelid IN (
        'iap.moves'::regclass, 'iap.events'::regclass, 'iap.transactions'::regclass, 'iap.sightings'::regclass,
        'iap.claims'::regclass, 'iap.uploads'::regclass, 'iap.receipts'::regclass)
    AND attnum > 0;
-- The row with another value in one of its columns.
CREATE FUNCTION test.altered(r anyelement, name name, type text) RETURNS anyelement
LANGUAGE sql AS $$
    SELECT jsonb_populate_record($1, jsonb_build_object($2::text, test.another(to_jsonb($1) -> $2::text, $3)))
$$;
SELECT set_eq(
    $$SELECT name::text FROM test.columns, iap.events
    WHERE relation = 'iap.events' AND kind = 'one' AND audit.digest(events)
        = audit.digest(test.altered(events, name, type))$$,
    ARRAY['seal'], 'an event''s holds all but its seal');
SELECT set_eq(
    $$SELECT name::text FROM test.columns, iap.moves
    WHERE relation = 'iap.moves' AND moves.transaction_id = '1' AND audit.digest(moves)
        = audit.digest(test.altered(moves, name, type))$$,
    ARRAY['seal'], 'a move''s holds all but its seal');
SELECT is_empty(
    $$SELECT FROM iap.entries JOIN audit.trail USING (number) WHERE told <> convert_to(entries::text, 'UTF8')$$,
    'and of an entry the chain covers all');

-- The seals ----------------------------------------------------------------------------------------------------------

SELECT set_eq(
    $$SELECT name::text FROM test.columns, iap.events
    WHERE relation = 'iap.events' AND kind = 'one' AND audit.seal(events)
        = audit.seal(test.altered(events, name, type))$$,
    ARRAY['seal'], 'an event''s seal is of the whole event');
SELECT set_eq(
    $$SELECT name::text FROM test.columns, iap.moves
    WHERE relation = 'iap.moves' AND moves.transaction_id = '1' AND audit.seal(moves)
        = audit.seal(test.altered(moves, name, type))$$,
    ARRAY['seal'], 'a move''s seal is of the whole move');
SELECT set_eq(
    $$SELECT name::text FROM test.columns, iap.transactions
    WHERE relation = 'iap.transactions' AND transaction_id = '1' AND audit.seal(transactions)
        = audit.seal(test.altered(transactions, name, type))$$,
    ARRAY['verified_at', 'nights_confirmed', 'last_confirmed_at', 'seal'],
    'a transaction''s of all that decides about money and ownership');
SELECT test.admit('20', receipt_id => test.submit('a receipt', 'ann', '20', 'order-20'));
SELECT test.run_as('iap_app', $$SELECT iap.register_order('com.example.a', 'order-20', 'ann', 'gems')$$);
SELECT test.claim('20'), test.admit('21'), test.resolve('21', 'dismissed'), test.reopen('21');
SELECT is_empty('SELECT * FROM test.misfits', 'what is admitted, claimed, dismissed and reopened is sealed');
SELECT is(
    (
        SELECT count(DISTINCT audit.seal(jsonb_populate_record(t, jsonb_build_object('source', label))))
        FROM iap.transactions AS t
        CROSS JOIN (SELECT unnest(enum_range(NULL::iap.source)) UNION ALL SELECT NULL) AS source (label)
        WHERE transaction_id = '20'
    ), (SELECT cardinality(enum_range(NULL::iap.source)) + 1::bigint), 'of whoever told of it');
SELECT isnt(
    (SELECT audit.seal(jsonb_populate_record(t, '{"revocation_percentage": 0}'))), audit.seal(t),
    'and of a refund that is none')
FROM iap.transactions AS t
WHERE transaction_id = '20';
SELECT set_eq(
    $$SELECT name::text FROM test.columns, iap.sightings
    WHERE relation = 'iap.sightings' AND transaction_id = '20' AND audit.seal(sightings)
        = audit.seal(test.altered(sightings, name, type))$$,
    ARRAY['seal'], 'a sighting''s seal is of the whole sighting');
SELECT set_eq(
    $$SELECT name::text FROM test.columns, iap.claims
    WHERE relation = 'iap.claims' AND transaction_id = '20' AND audit.seal(claims)
        = audit.seal(test.altered(claims, name, type))$$,
    ARRAY['claim_id', 'seal'], 'a claim''s of all but its number');
-- Of the inbox a copy is asked, for a cluster has it on other servers.
CREATE TABLE test.receipt AS SELECT * FROM iap.receipts WHERE transaction_id = '20';
CREATE TABLE test.upload AS SELECT * FROM iap.uploads WHERE transaction_id = '20';
CREATE TABLE test.inbox AS
SELECT
    jsonb_populate_record(NULL::iap.receipts, to_jsonb(r)) AS receipt,
    jsonb_populate_record(NULL::iap.uploads, to_jsonb(u)) AS upload
FROM test.receipt AS r
CROSS JOIN test.upload AS u;
SELECT is((SELECT (receipt).is_erased FROM test.inbox), false, 'a receipt of nobody who is erased');
SELECT set_eq(
    $$SELECT name::text FROM test.columns, test.inbox
    WHERE relation = 'iap.uploads' AND audit.seal(upload) = audit.seal(test.altered(upload, name, type))$$,
    ARRAY['times', 'last_uploaded_at', 'seal'], 'of what a receipt was uploaded for all but how often');
CREATE FUNCTION test.seal_of(r iap.receipts) RETURNS bigint
LANGUAGE sql AS $$
    SELECT audit.receipt_seal(
        r.bucket, r.receipt_id, r.bundle_id, r.user_id, r.payload_sha256, r.order_id, r.transaction_id, r.submitted_at,
        r.state, r.is_erased)
$$;
SELECT set_eq(
    $$SELECT name::text FROM test.columns, test.inbox
    WHERE relation = 'iap.receipts'
        AND test.seal_of(receipt) <> test.seal_of(test.altered(receipt, name, type))$$,
    ARRAY[
        'bucket', 'receipt_id', 'bundle_id', 'user_id', 'payload_sha256', 'order_id', 'transaction_id', 'submitted_at',
        'state', 'is_erased'], 'and a receipt''s of whose it is, and whether it waits');
SELECT test.unseals($$UPDATE iap.transactions SET quantity = 9 WHERE transaction_id = '20'$$, '{transactions 20}',
    'a transaction that is changed shows');
SELECT test.unseals($$UPDATE iap.black SET user_id = 'mallory' WHERE transaction_id = '20'$$, '{transactions 20}',
    'and so does another user');
SELECT test.unseals(
    $$UPDATE iap.transactions
    SET place = 'white', user_id = NULL, order_id = NULL, delivered_by = NULL, delivered_at = NULL
    WHERE transaction_id = '20'$$, '{transactions 20}', 'and another place');
SELECT test.unseals($$UPDATE iap.moves SET to_units = 9 WHERE transaction_id = '20'$$, '{moves 20}', 'a move');
SELECT test.unseals($$DELETE FROM iap.moves WHERE transaction_id = '20'$$, '{moved 20}', 'a move that is gone');
SELECT test.unseals($$UPDATE iap.claims SET outcome = 'wrong_user' WHERE transaction_id = '20'$$, '{claims 20}',
    'a claim');
SELECT test.unseals($$UPDATE iap.sightings SET user_id = 'mallory' WHERE transaction_id = '20'$$, '{sightings 20}',
    'who handed it in');
SELECT test.unseals($$UPDATE iap.orders SET user_id = 'mallory' WHERE order_id = 'order-20'$$, '{orders order-20}',
    'whose order it was');
SELECT is(
    cardinality(test.after(
        $$UPDATE iap.receipts SET user_id = 'mallory'$$,
        $$SELECT relation FROM test.misfits WHERE relation = 'receipts'$$)), 1, 'a receipt');
SELECT is(
    cardinality(test.after(
        $$UPDATE iap.uploads SET order_id = 'order-1'$$,
        $$SELECT relation FROM test.misfits WHERE relation = 'uploads'$$)), 1, 'what it was uploaded for');
SELECT is(
    cardinality(test.after(
        $$UPDATE iap.events SET details = '{}' WHERE kind = 'one'$$,
        $$SELECT relation FROM test.misfits WHERE relation = 'events'$$)), 1, 'an event');

-- A seal that does not fit is not mended by what comes afterwards.
SELECT test.admit('30');
UPDATE iap.transactions SET quantity = 9 WHERE transaction_id = '30';
SELECT is(test.claim('30'), 'delivered', 'what was changed by hand may be delivered');
SELECT is(iap.erase_user('ann', 'dan') ->> 'outcome', 'open', 'and its user');
SELECT is(iap.erase_user('ann', 'dan', true) ->> 'outcome', 'erased', 'erased');
SELECT results_eq(
    'SELECT relation, row FROM test.misfits', $$VALUES ('transactions', '30' COLLATE "C")$$, 'it still shows');

-- What an app's server says again, as it does when it tries again, and what is watched again, hides no change by hand.
SELECT test.run_as('iap_app', $$SELECT iap.register_order('com.example.a', 'order-40', 'ann', 'gems')$$);
SELECT test.submit('receipt 40', 'ann', '40') AS receipt_id \gset
SELECT test.admit('40', receipt_id => :receipt_id);
SELECT is_empty(
    format($$SELECT FROM test.misfits WHERE row IN ('order-40', '40', %L)$$, :receipt_id), 'rows that fit');
UPDATE iap.orders SET created_at = created_at - interval '1 day' WHERE order_id = 'order-40';
UPDATE iap.sightings SET uploaded_at = now() - interval '1 day' WHERE transaction_id = '40';
UPDATE iap.receipts SET submitted_at = now() - interval '1 day', state = 'settled', verified_at = now(),
    next_attempt_at = NULL, last_attempt_at = now()
WHERE receipt_id = :receipt_id;
SELECT test.run_as('iap_app', $$SELECT iap.register_order(
    'com.example.a', 'order-40', 'ann', 'gems', 1, '11111111-1111-4111-8111-111111111140')$$);
SELECT test.admit('40', receipt_id => :receipt_id);
SELECT test.submit('receipt 40', 'ann', '40', 'order-40');
SELECT test.resolve('40', 'dismissed');
SELECT test.reopen('40');
SELECT is((SELECT state FROM iap.receipts WHERE receipt_id = :receipt_id), 'watched', 'the receipt is watched again');
SELECT results_eq(
    format(
        $$SELECT relation FROM test.misfits WHERE row IN ('order-40', '40', %L)
            AND relation IN ('orders', 'receipts', 'sightings') ORDER BY 1$$, :receipt_id),
    $$VALUES ('orders'), ('receipts'), ('sightings')$$, 'what was changed by hand stays found');

-- However much came since: of what a run closed its books over only that is read, by which `verify` adds it up again,
-- once for each run there ever was.
SELECT last_value AS before FROM iap.trail \gset
SELECT test.admit('50');
SELECT last_value AS upto FROM iap.trail \gset
INSERT INTO iap.transactions
SELECT (jsonb_populate_record(
    t, jsonb_build_object(
        'transaction_id', 'later-' || number, 'original_transaction_id', 'later-' || number,
        'entry_id', nextval('iap.trail')))).*
FROM iap.transactions AS t CROSS JOIN generate_series(1, 2000) AS number
WHERE t.transaction_id = '50';
ANALYZE iap.transactions;
SET LOCAL enable_seqscan = off;
CREATE FUNCTION test.turnover(before bigint, upto bigint, OUT new bigint[], OUT rows_read bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, iap, pg_temp AS $$
DECLARE
    read_before bigint := test.rows_read('iap.transactions');
BEGIN
    -- And what was late to that run.
    new := (
        iap.white_turnover(
            ROW(true, before, '{}', now(), '0')::audit.frontier, upto,
            int8multirange(int8range(before, before + 1)))
    ).new;
    rows_read := test.rows_read('iap.transactions') - read_before;
END
$$;
SELECT results_eq(
    format('SELECT new[1:2], rows_read < 100 FROM test.turnover(%s, %s)', :before, :upto),
    $$VALUES ('{1,1}'::bigint[], true)$$, 'what came after a run is not read for what it closed its books over');

-- Nor what was erased elsewhere.
INSERT INTO audit.erasures (number, event_id, digest, left_as)
SELECT -number, 1, '', '' FROM generate_series(1, 2000) AS number;
ANALYZE audit.erasures;
SELECT test.note('after all that');
SELECT cmp_ok(
    test.rows_read_by(
        'audit.erasures', $$SELECT audit.block(max(event_id) - 1, max(event_id), '{}', '{}') FROM iap.events$$),
    '<', 10::bigint, 'for a link of the chain only what it covers is read');

-- What a link had not seen comes late to one of the next, and is looked for from there: verify asks it of each link.
CREATE FUNCTION test.uncovered() RETURNS TABLE (link bigint, number bigint)
LANGUAGE sql AS $$
    SELECT links.position, number
    FROM audit.links
    JOIN audit.links AS later ON later.position > links.position
    CROSS JOIN LATERAL unnest(later.late) AS number
    WHERE number <= links.upto
$$;
SELECT max(position) AS last, max(upto) AS upto FROM audit.links \gset
INSERT INTO audit.links (position, run_id, sealed_at, upto, late, entries, link)
SELECT
    :last + nights, -nights, now(), :upto + nights * 100,
    -- Each night what the one before had not seen; now and then also what three of them had not.
    CASE WHEN nights % 50 = 0 THEN ARRAY[:upto + nights * 100 - 399] ELSE '{}' END
        || ARRAY[:upto + nights * 100 - 150, :upto + nights * 100 - 120],
    0, sha256('')
FROM generate_series(1, 1000) AS nights;
ANALYZE audit.links;
SELECT set_eq(
    'SELECT position, generate_series(lower(span), upper(span) - 1) FROM audit.uncovered, unnest(numbers) AS span',
    'SELECT DISTINCT link, number FROM test.uncovered()', 'what a link had not seen is what came late to later ones');
SELECT cmp_ok(
    test.rows_read_by('audit.links', 'SELECT count(*) FROM audit.uncovered'), '<', 6000::bigint,
    'for which a few links of each are read, and not all later ones');

SELECT * FROM finish();
ROLLBACK;
