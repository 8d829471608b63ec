-- What is purged after a time, and what an erasure leaves.
BEGIN;
SELECT no_plan();

-- Purging ------------------------------------------------------------------------------------------------------------

-- As the nightly job leaves a receipt, so many days ago.
CREATE FUNCTION test.tried(receipt bigint, became text, days integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    at timestamptz := now();
BEGIN
    UPDATE iap.receipts
    SET state = became, last_attempt_at = at - days * interval '1 day',
        verified_at = CASE WHEN became <> 'unusable' THEN at END,
        next_attempt_at = CASE WHEN became IN ('waiting', 'watched') THEN at END,
        error_code = CASE WHEN became = 'unusable' THEN 'empty' END,
        error_text = CASE WHEN became = 'unusable' THEN 'it is empty' END,
        seal = audit.receipt_seal(
            bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at, became,
            is_erased)
    WHERE receipt_id = receipt;
END
$$;
-- What the job's role purges: so many days old, in all buckets.
CREATE FUNCTION test.purge(what text, days integer, most integer DEFAULT 100) RETURNS bigint
LANGUAGE sql AS $$
    SELECT test.run_as('iap_job', format(
        $f$
        SELECT sum(iap.purge_%s(bucket::smallint, now() - %s * interval '1 day', %s))
        FROM generate_series(0, 63) AS bucket
        $f$, what, days, most))::bigint
$$;
CREATE TABLE test.receipt (name text, id bigint);
INSERT INTO test.receipt
SELECT name, test.submit('payload of ' || name, 'ann', device => '{"model": "iPhone15,3"}')
FROM unnest(ARRAY['waiting', 'watched', 'settled', 'unusable', 'young', 'open']) AS name;
SELECT test.tried(id, CASE WHEN name IN ('young', 'open') THEN 'settled' ELSE name END,
    CASE name WHEN 'young' THEN 5 ELSE 100 END)
FROM test.receipt;
-- A purchase that nobody has claimed was seen in a settled receipt.
SELECT test.admit('1', receipt_id => (SELECT id FROM test.receipt WHERE name = 'open'));

SELECT is(
    test.run_as('iap_job', $$SELECT payloads || ' ' || devices
    FROM iap.count_purgeable(now() - interval '90 days', now() - interval '3 days')$$), '2 3', 'what would go');
SELECT is(
    (SELECT devices FROM iap.count_purgeable(NULL, now() - interval '50 days')), 2::bigint,
    'fewer devices, if they are kept for longer');
-- Where the job's role looks for them: devices of three days ago are not looked at, if none of them may go.
CREATE FUNCTION test.purgeable(devices interval) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_job', format(
        'SELECT iap.purgeable_buckets(now() - interval %L, now() - %L::interval)', '90 days', devices))
$$;
CREATE FUNCTION test.buckets(VARIADIC names text[]) RETURNS text
LANGUAGE sql AS $$
    -- A receipt's id names its bucket.
    SELECT array_agg(DISTINCT id & 63 ORDER BY id & 63)::text FROM test.receipt WHERE name = ANY (names)
$$;
SELECT is(test.purgeable(NULL), test.buckets('settled', 'unusable', 'open'), 'the buckets of what is old');
SELECT is(
    test.purgeable('3 days'), test.buckets('settled', 'unusable', 'open', 'young'), 'and those of devices');
SELECT is(test.purge('payloads', 90, 0), 0::bigint, 'none, if none may');
SELECT is(test.purge('payloads', 90), 2::bigint, 'the old ones go');
SELECT is(test.purge('payloads', 90), 0::bigint, 'once');
SELECT is(test.purge('devices', 50), 2::bigint, 'devices that are as old');
SELECT is(test.purge('devices', 3), 1::bigint, 'have a time of their own');
SELECT is(test.purgeable('3 days'), test.buckets('open'), 'then no bucket but that of what is open');
SELECT results_eq(
    $$SELECT name, payload IS NULL, device IS NULL FROM iap.receipts JOIN test.receipt ON id = receipt_id ORDER BY 1$$,
    $$VALUES
        ('open', false, false), ('settled', true, true), ('unusable', true, true), ('waiting', false, false),
        ('watched', false, false), ('young', false, true)$$, 'nothing on which something is open');
SELECT is_empty(
    $$SELECT FROM iap.receipts WHERE octet_length(payload_sha256) <> 32 OR user_id IS NULL$$, 'the rows stay');

-- The same upload is still the same receipt, and what was purged is not taken again.
SELECT is(test.submit('payload of ' || name, 'ann', device => '{"model": "iPhone16,1"}'), id, name || ' again')
FROM test.receipt WHERE name IN ('settled', 'unusable');
SELECT is_empty(
    $$SELECT FROM iap.receipts JOIN test.receipt ON id = receipt_id
    WHERE name IN ('settled', 'unusable')
        AND (payload IS NOT NULL OR device IS NOT NULL OR next_attempt_at IS NOT NULL)$$, 'and nothing of it is kept');
-- For another purchase its payload is wanted again, until nothing is open once more.
SELECT test.submit('payload of settled', 'ann', '2', device => '{"model": "iPhone16,1"}');
SELECT results_eq(
    $$SELECT payload, device, state FROM iap.receipts JOIN test.receipt ON id = receipt_id WHERE name = 'settled'$$,
    $$VALUES ('payload of settled', NULL::jsonb, 'watched')$$, 'but for another purchase it is');
SELECT test.tried(id, 'settled', 100) FROM test.receipt WHERE name = 'settled';
SELECT is(test.purge('payloads', 90), 1::bigint, 'until nothing is open on it once more');
SELECT isnt(test.submit('payload of settled', 'bob'), (SELECT id FROM test.receipt WHERE name = 'settled'),
    'another user''s upload is another receipt');

-- A resolve that is taken back watches what can still be asked.
UPDATE iap.sightings SET receipt_id = (SELECT id FROM test.receipt WHERE name = 'settled'),
    bucket = (SELECT id & 63 FROM test.receipt WHERE name = 'settled');
UPDATE iap.sightings SET seal = audit.seal(sightings);
SELECT test.resolve('1', 'dismissed');
SELECT is(test.reopen('1'), 'reopened', 'a resolve is taken back');
SELECT is((SELECT state FROM iap.receipts JOIN test.receipt ON id = receipt_id WHERE name = 'settled'), 'settled',
    'without its receipt, which is purged');
SELECT throws_like(
    $$UPDATE iap.receipts SET state = 'watched', next_attempt_at = now() WHERE payload IS NULL$$,
    '%payload_while_open%', 'none is watched without a payload');
SELECT throws_like(
    $$UPDATE iap.receipts SET payload = NULL WHERE payload IS NOT NULL$$, '%payload_unless_purged%',
    'none loses it unseen');
SELECT throws_like(
    $$UPDATE iap.receipts SET device = '{}' WHERE device_purged_at IS NOT NULL$$, '%device_unless_purged%',
    'nor gets a device again');

-- A bucket is purged page by page, past what is open in it.
SELECT test.purge('payloads', 90);
CREATE TABLE test.page (name text, id bigint);
INSERT INTO test.page
SELECT name, test.submit('page of ' || number)
FROM (
    SELECT number, row_number() OVER (ORDER BY number) AS position
    FROM generate_series(1, 2000) AS number
    WHERE get_byte(sha256(convert_to('page of ' || number, 'UTF8')), 0) & 63 = 0
) AS of_bucket
JOIN unnest(ARRAY['waiting', 'fourth', 'third', 'second', 'first', 'open']) WITH ORDINALITY AS named (name, position)
    USING (position);
SELECT test.tried(id, CASE name WHEN 'waiting' THEN 'waiting' ELSE 'settled' END,
    array_position(ARRAY['fourth', 'third', 'second', 'first', 'open', 'waiting'], name) * 100)
FROM test.page;
SELECT test.admit('page', receipt_id => (SELECT id FROM test.page WHERE name = 'open'));
CREATE FUNCTION test.purged() RETURNS text[]
LANGUAGE sql AS $$
    SELECT array_agg(name ORDER BY name) FROM test.page JOIN iap.receipts ON receipt_id = id WHERE payload IS NULL
$$;
SELECT is(
    (SELECT payloads || ' ' || devices FROM iap.count_purgeable(now() - interval '90 days', now())), '4 1',
    'what is open in a bucket keeps nothing else of it');
SELECT is(
    (SELECT array_agg(name ORDER BY name) FROM test.page
    WHERE id = ANY (iap.take_purgeable(0::smallint, ARRAY(SELECT id FROM test.page WHERE name <> 'first')))),
    '{fourth,second,third}', 'asked of some, it is those of them on which nothing is open');
SELECT is(test.purge('payloads', 90, 1), 1::bigint, 'one, if one may');
SELECT is(test.purged(), '{first}', 'the oldest, past what is open');
SELECT is(test.purge('payloads', 90, 2), 2::bigint, 'two, of which the second is on a page of its own');
SELECT ok('second' = ANY (test.purged()), 'are the next');
SELECT is(test.purge('payloads', 90), 1::bigint, 'and then the rest');
SELECT is(test.purged(), '{first,fourth,second,third}', 'but what is open or waits');

-- Erasing ------------------------------------------------------------------------------------------------------------

CREATE FUNCTION test.erase(user_id text, even_open boolean DEFAULT false) RETURNS jsonb
LANGUAGE sql AS $$
    SELECT test.run_as('iap_privacy', format('SELECT iap.erase_user(%L, %L, %L)', user_id, 'dan', even_open))::jsonb
$$;
-- Every row in which a text stands as a word of its own, in any column of any table.
CREATE FUNCTION test.naming(word text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    relation regclass;
BEGIN
    FOR relation IN
        SELECT oid FROM pg_class WHERE relnamespace = 'iap'::regnamespace AND relkind = 'r' ORDER BY relname
    LOOP
        RETURN QUERY EXECUTE format(
            'SELECT %L::text FROM %s AS t WHERE t::text ~ (%L || %L || %L)', relation, relation, '(^|[^[:alnum:]_-])',
            word, '($|[^[:alnum:]_-])');
    END LOOP;
END
$$;

-- Carl bought three: one is delivered, one was resolved, and one is open; he ordered, and tried too often.
SELECT test.run_as('iap_app', $$SELECT iap.register_order('com.example.a', 'order-c', 'carl', 'gems',
    app_account_token => '2d330651-d661-56d9-9949-5889155c610e')$$);
CREATE TABLE test.carls (name text, id bigint);
INSERT INTO test.carls
SELECT name, test.submit('proof ' || name, 'carl', device => '{"model": "iPhone15,3"}')
FROM unnest(ARRAY['settled', 'watched']) AS name;
SELECT test.tried(id, name, 1) FROM test.carls;
SELECT test.admit('c1', user_id => 'carl', receipt_id => (SELECT id FROM test.carls WHERE name = 'settled')),
    test.admit('c2', user_id => 'carl'), test.admit('c4', user_id => 'carl');
SELECT test.admit('c3', user_id => 'carl', receipt_id => (SELECT id FROM test.carls WHERE name = 'watched'));
SELECT test.hear(test.heard(id, app_account_token => '2d330651-d661-56d9-9949-5889155c610e'))
FROM unnest(ARRAY['c2', 'c3']) AS id;
SELECT test.open_case('c2', '{carl}'), test.open_case('c3', '{bob,carl}'), test.open_case('c4', '{carl}');
UPDATE iap.cases
SET candidates = '[{"user_id": "bob", "evidence": ["upload"]}, {"user_id": "carl", "evidence": ["order"]}]'
WHERE transaction_id = 'c3';
SELECT test.claim('c1', 'carl', 'order-c'), test.claim('c1', 'carl'), test.claim('c4', 'carl');
SELECT test.resolve('c2', 'delivered', 'carl rang; not carl-2, carly or carl_x');
SELECT test.admit('b1', user_id => 'carl-2'), test.claim('b1', 'carl-2');
SELECT test.submit('not yet verified', 'carl');

SELECT is(
    test.erase('carl'), '{"outcome": "open", "open": ["c3"], "waiting": 1}', 'what is open is told');
SELECT isnt_empty($$SELECT test.naming('carl')$$, 'and nothing is changed');
SELECT is(test.erase('nobody'), '{"outcome": "unknown"}', 'nobody is known by that id');
SELECT results_eq(
    $$SELECT objid FROM pg_locks JOIN iap.lock_space ON space::bit(32)::bigint::oid = classid
    WHERE locktype = 'advisory' AND pid = pg_backend_pid()$$,
    $$VALUES (1000::oid)$$, 'it took the lock of a night, by the job''s number');
SELECT is_empty($$SELECT FROM iap.events WHERE kind = 'erased'$$, 'which is no event');

-- The chain holds all of this, and one move that was changed by hand since. An event may name the user too.
SELECT iap.log_event(
    'case_opened', 'iap-reconcile', 1, now(), '{"owner_user_ids": ["bob", "carl"], "of": {"user_id": "carl"}}')
FROM set_config('search_path', 'iap, public', true);
RESET search_path;
SELECT test.close_books();
SELECT is_empty('SELECT audit.broken_links()', 'the chain holds');
SELECT is_empty('SELECT * FROM test.misfits', 'and every row fits its seal');
UPDATE iap.moves SET moved_at = moved_at - interval '1 day' WHERE kind = 'resolved' AND transaction_id = 'c2';
CREATE TABLE test.before AS SELECT * FROM finance.deliveries;
CREATE TABLE test.owed_before AS SELECT * FROM finance.unclaimed_liability;
CREATE TABLE test.answer AS SELECT test.erase('carl', true) AS answer;
SELECT is(
    (SELECT answer - 'pseudonym' - 'rows' FROM test.answer),
    '{"outcome": "erased", "apps": ["com.example.a"], "open": ["c3"], "waiting": 1}', 'erased, even so');
SELECT is(
    (SELECT answer -> 'rows' FROM test.answer),
    '{
        "cases": 3, "trail": 3, "claims": 3, "orders": 1, "receipts": 3, "sightings": 2, "transactions": 4,
        "entitlements": 0, "account_tokens": 0, "redeliveries": 0, "refused_rows": 0
    }',
    'with the rows that were changed');
SELECT is_empty($$SELECT test.naming('carl')$$, 'no row names the user');
SELECT is_empty($$SELECT test.naming('claim:carl')$$, 'nor by a claim');
SELECT is_empty($$SELECT test.naming('2d330651-d661-56d9-9949-5889155c610e')$$, 'nor the token of the account');
SELECT isnt_empty($$SELECT test.naming('carl-2')$$, 'another user stays');
SELECT matches(
    (SELECT note FROM iap.cases WHERE transaction_id = 'c2'),
    '^erased-[0-9a-f]{16} rang; not carl-2, carly or carl_x$', 'in notes too');
SELECT matches((SELECT answer ->> 'pseudonym' FROM test.answer), '^erased-[0-9a-f]{16}$', 'a pseudonym');
SELECT is_empty(
    $$SELECT user_id FROM iap.black
    WHERE transaction_id LIKE 'c%' AND user_id <> (SELECT answer ->> 'pseudonym' FROM test.answer)
    UNION ALL
    SELECT user_id FROM iap.receipts JOIN test.carls ON id = receipt_id
    WHERE user_id <> (SELECT answer ->> 'pseudonym' FROM test.answer)$$, 'the same everywhere');
SELECT is(
    (SELECT owner_user_ids FROM iap.cases WHERE transaction_id = 'c3'),
    ARRAY['bob', (SELECT answer ->> 'pseudonym' FROM test.answer)], 'in a case''s owners');
SELECT is(
    (SELECT candidates -> 1 ->> 'user_id' FROM iap.cases WHERE transaction_id = 'c3'),
    (SELECT answer ->> 'pseudonym' FROM test.answer), 'and its evidence');
SELECT is_empty(
    $$(SELECT * FROM test.before EXCEPT SELECT * FROM finance.deliveries)
    UNION ALL (SELECT * FROM finance.deliveries EXCEPT SELECT * FROM test.before)$$, 'finance reads the same');
SELECT is_empty(
    $$(SELECT * FROM test.owed_before EXCEPT SELECT * FROM finance.unclaimed_liability)$$, 'of what is owed too');
SELECT is_empty('SELECT FROM finance.unexplained', 'and it is all explained');
SELECT results_eq(
    $$SELECT name, payload IS NULL, device IS NULL FROM iap.receipts JOIN test.carls ON id = receipt_id ORDER BY 1$$,
    $$VALUES ('settled', true, true), ('watched', false, true)$$, 'a payload stays only while something is open');
SELECT results_eq(
    $$SELECT actor, details ->> 'pseudonym' = (SELECT answer ->> 'pseudonym' FROM test.answer),
        details ->> 'open', details ->> 'waiting'
    FROM iap.events WHERE kind = 'erased'$$, $$VALUES ('dan', true, '1', '1')$$, 'and there is an event');

-- Seals and chain hold as before: what was changed by hand still shows, and nothing else.
SELECT results_eq(
    'SELECT relation, row FROM test.misfits', $$VALUES ('moves', 'c2' COLLATE "C")$$,
    'the move that was changed by hand shows');
SELECT results_eq('SELECT audit.broken_links()', $$VALUES ('run 1')$$, 'in the chain too');
SELECT is_empty('SELECT audit.wrong_erasures()', 'all else is what the erasure left');
SELECT set_eq(
    $$SELECT coalesce(moves.kind, events.kind), erasures.event_id
    FROM audit.erasures
    LEFT JOIN iap.moves ON move_id = number
    LEFT JOIN iap.events ON events.event_id = number$$,
    $$SELECT named, event_id FROM unnest(ARRAY['claimed', 'case_opened']) AS named, iap.events
    WHERE events.kind = 'erased'$$,
    'and names the erasure');
SELECT results_eq(
    $$SELECT details - 'pseudonym' FROM (
        SELECT replace(details::text, answer ->> 'pseudonym', 'X')::jsonb AS details
        FROM iap.events, test.answer WHERE kind = 'case_opened') AS event$$,
    $$VALUES ('{"owner_user_ids": ["bob", "X"], "of": {"user_id": "X"}}'::jsonb)$$, 'in lists and within objects');
SELECT is_empty($$SELECT FROM iap.moves WHERE kind = 'corrected'$$, 'an erasure moves nothing');
SELECT test.close_books();
SELECT results_eq('SELECT audit.broken_links()', $$VALUES ('run 1')$$, 'and the chain goes on');

-- What stays open is owed to the pseudonym; its payload goes with it, whatever the time.
SELECT is(test.claim('c3', 'carl'), 'wrong_user', 'the user has no claim any more');
SELECT is(test.purge('payloads', 1000), 0::bigint, 'a payload stays while it is open');
SELECT is(test.resolve('c3', 'dismissed'), 'dismissed', 'support may end it');
SELECT test.tried(id, 'settled', 0) FROM test.carls WHERE name = 'watched';
SELECT isnt(
    test.run_as('iap_job', $$SELECT iap.purgeable_buckets(NULL, NULL)$$), '{}',
    'it is looked for, whatever is kept for ever');
SELECT is(
    test.run_as('iap_job', $$SELECT payloads FROM iap.count_purgeable(NULL, NULL)$$), '1', 'and counted as what goes');
SELECT is(test.purge('payloads', 1000), 1::bigint, 'then it goes');
SELECT is(test.run_as('iap_job', $$SELECT iap.purgeable_buckets(NULL, NULL)$$), '{}', 'and not any more');
SELECT is(test.reopen('c2'), 'reopened', 'and a resolve can still be taken back');
SELECT is(
    (SELECT admitted_user_id FROM iap.white WHERE transaction_id = 'c2'),
    (SELECT answer ->> 'pseudonym' FROM test.answer), 'to the pseudonym');

-- What a token alone says is owed to a user is open, too; and erased even so it is owed to nobody else.
SELECT test.run_as('iap_app', $$
    SELECT iap.register_user('com.example.a', 'tess', '62496054-a220-5c31-b232-92450941abac')$$);
SELECT test.run_as('iap_app', $$
    SELECT iap.register_order('com.example.a', 'order-u', 'uma', 'gems',
        app_account_token => '7e3fb204-2c3d-4a2c-b8a8-9c1d3a4e5f60')$$);
SELECT test.hear(test.heard('t1', app_account_token => '62496054-a220-5c31-b232-92450941abac'));
SELECT test.hear(test.heard('u1', app_account_token => '7e3fb204-2c3d-4a2c-b8a8-9c1d3a4e5f60'));
SELECT is(test.erase('tess'), '{"outcome": "open", "open": ["t1"], "waiting": 0}', 'by a token that was registered');
SELECT is(test.erase('uma'), '{"outcome": "open", "open": ["u1"], "waiting": 0}', 'or that an order was opened with');
SELECT results_eq(
    $$SELECT
        answer ->> 'outcome', answer -> 'rows' -> 'transactions', answer -> 'rows' -> 'orders',
        answer -> 'rows' -> 'account_tokens'
    FROM unnest(ARRAY['tess', 'uma']) AS id
    CROSS JOIN LATERAL test.erase(id, true) AS answer$$,
    $$VALUES ('erased', '1'::jsonb, '0'::jsonb, '1'::jsonb), ('erased', '1', '1', '0')$$, 'erased, even so');
SELECT is_empty(
    $$SELECT test.naming(word)
    FROM unnest(ARRAY['tess', 'uma', '62496054-a220-5c31-b232-92450941abac', '7e3fb204-2c3d-4a2c-b8a8-9c1d3a4e5f60'])
        AS word$$, 'no row names them, nor their tokens');
SELECT is(test.claim(id, 'mallory'), 'wrong_user', 'nobody else has a claim to ' || id)
FROM unnest(ARRAY['t1', 'u1']) AS id;

-- Another customer's case may name them among its owners or in its evidence alone, by a claim, or in what the support
-- desk wrote of it.
SELECT test.admit('i0', user_id => 'ivy'), test.claim('i0', 'ivy');
SELECT test.admit(id, user_id => 'hugo'), test.open_case(id, '{hugo}')
FROM unnest(ARRAY['i1', 'i2', 'i3', 'i4', 'i5', 'i6']) AS id;
UPDATE iap.cases
SET candidates = CASE transaction_id
        WHEN 'i1' THEN '[{"user_id": "ivy"}]' WHEN 'i4' THEN '[{"user_id": "ivy-2"}]' ELSE candidates
    END::jsonb,
    state = 'closed', closed_at = now(), closed_as = 'delivered',
    closed_by = CASE transaction_id WHEN 'i2' THEN 'claim:ivy' ELSE 'claim:hugo' END,
    note = CASE transaction_id WHEN 'i3' THEN 'ivy rang for hugo' WHEN 'i5' THEN 'ivy-2 rang' END,
    owner_user_ids = CASE transaction_id WHEN 'i6' THEN '{hugo,ivy}'::text[] ELSE owner_user_ids END
WHERE transaction_id LIKE 'i%';
SELECT is(test.erase('ivy') -> 'rows' -> 'cases', '4', 'each of which is found, and no other');
SELECT is_empty($$SELECT test.naming('ivy')$$, 'and none names them any more');

-- A source's row whose id could not be read was kept with all its numbers, one of which is the user's.
INSERT INTO iap.refused_rows (source, row_id, numbers, reason, what, refused_at)
VALUES ('delivered', 'export.csv:7', '{471100, 1000000123456789}', 'bad_value', 'no id', now());
SELECT is(test.erase('471100') -> 'rows' -> 'refused_rows', '1', 'a user whom a refused row names');
SELECT results_eq(
    'SELECT numbers FROM iap.refused_rows', $$VALUES ('{1000000123456789}'::text[] COLLATE "C")$$,
    'what may be a delivery''s id stays');

-- What may be another's as well is not kept from them by that.
SELECT test.run_as('iap_app', $$SELECT iap.register_order('com.example.a', 'order-v', 'vera', 'gems')$$);
SELECT test.record(
    ARRAY[test.heard('v1')],
    ARRAY[
        test.seen(640, 'xena', uploaded_at => now() - interval '1 day'), test.seen(704, 'vera', 'order-v')]);
SELECT is(test.erase('vera', true) ->> 'outcome', 'erased', 'whose order may have paid for another''s upload');
SELECT is(test.claim('v1', 'xena'), 'undecided', 'leaves them whatever they may have paid');

SELECT test.run_as(
    'iap_app', $$SELECT iap.register_user('com.example.a', 'walt', 'c1e36e35-58f5-5e6e-b9c0-16ca7763f906')$$);
SELECT test.record(
    ARRAY[test.heard('w1', app_account_token => 'c1e36e35-58f5-5e6e-b9c0-16ca7763f906')],
    ARRAY[test.seen(768, 'yuri')]);
SELECT is(test.erase('yuri', true) ->> 'outcome', 'erased', 'on whose phone another bought');
SELECT is(test.claim('w1', 'walt'), 'delivered', 'leaves them what bears their token');

-- A customer who is called as a login of the database is erased, and what that login did stays told.
SELECT test.admit('login', user_id => session_user), test.claim('login', session_user);
SELECT test.run_as('iap_support', $$SELECT iap.note('login', 'it is theirs', session_user)$$);
CREATE TABLE test.done AS SELECT move_id FROM iap.moves WHERE actor = session_user;
SELECT isnt_empty('SELECT FROM test.done', 'what a login did');
SELECT is(test.erase(session_user, true) ->> 'outcome', 'erased', 'whose name a customer has, too');
SELECT is_empty(
    $$SELECT FROM iap.moves JOIN test.done USING (move_id) WHERE actor <> session_user$$, 'is told as the login''s');
SELECT is(
    (SELECT actor FROM iap.events WHERE kind = 'noted' AND transaction_id = 'login'), session_user::text,
    'in its events, too');
SELECT results_eq(
    $$SELECT details ->> 'user_id' FROM iap.moves WHERE transaction_id = 'login'$$,
    $$SELECT user_id FROM iap.black WHERE transaction_id = 'login'$$, 'and the customer''s purchase as a pseudonym''s');
SELECT is_empty('SELECT audit.wrong_erasures()', 'as the erasure left it');

-- One who wrote at the desk under the name that they bought by, which is no login, is erased there, too.
SELECT test.admit('u2', user_id => 'ursula'), test.claim('u2', 'ursula'), test.admit('u3');
SELECT test.run_as('iap_support', $$SELECT iap.note('u3', 'it is mine', 'ursula')$$);
SELECT is(test.erase('ursula') ->> 'outcome', 'erased', 'a customer who wrote at the desk');
SELECT is_empty($$SELECT test.naming('ursula')$$, 'is named neither by what they bought nor by what they did');
SELECT is_empty('SELECT audit.wrong_erasures()', 'as the erasure left it');

-- What nobody uploaded by name is theirs, too, where only their purchases are in it.
CREATE TABLE test.unnamed AS
SELECT name, test.submit('unnamed ' || name, NULL, device => '{"model": "iPhone15,3"}') AS id
FROM unnest(ARRAY['login', 'open', 'both', 'told', 'token', 'order', 'their-token', 'their-order']) AS name;
-- Beside one of them in its bucket.
INSERT INTO test.unnamed
SELECT 'beside', test.submit('unnamed ' || number, NULL, device => '{"model": "iPhone15,3"}')
FROM generate_series(1, 2000) AS number
WHERE get_byte(sha256(convert_to('unnamed ' || number, 'UTF8')), 0) & 63
    = (SELECT id & 63 FROM test.unnamed WHERE name = 'login')
LIMIT 1;
SELECT test.tried(id, CASE name WHEN 'open' THEN 'watched' ELSE 'settled' END, 1) FROM test.unnamed;
SELECT test.admit(transaction, user_id => user_id, receipt_id => id)
FROM (
    VALUES
        ('n1', 'nina', 'login'), ('n2', 'nina', 'open'), ('n3', 'nina', 'both'), ('n4', 'otto', 'both'),
        ('n6', 'otto', 'beside')
) AS bought (transaction, user_id, name)
JOIN test.unnamed USING (name);
SELECT test.run_as(
    'iap_app', $$SELECT iap.register_user('com.example.a', 'nina', '5d0e7a36-1e0f-4f0b-a9d5-2f6f0c1c7a44')$$);
SELECT test.record(
    ARRAY[test.heard('n5', app_account_token => '5d0e7a36-1e0f-4f0b-a9d5-2f6f0c1c7a44')],
    ARRAY[test.seen(id, NULL, is_named => false)])
FROM test.unnamed WHERE name = 'told';
-- What was refunded went to nobody: their token alone says whose it was.
SELECT test.run_as('iap_app', $$
    SELECT iap.register_order('com.example.a', 'order-nina', 'nina', 'gems',
        app_account_token => '5d0e7a36-1e0f-4f0b-a9d5-2f6f0c1c7a45')$$);
-- Or that it was another's, who named it in another app alone.
SELECT test.run_as('iap_app', $$
    SELECT iap.register_user('com.example.z', 'peg', '5d0e7a36-1e0f-4f0b-a9d5-2f6f0c1c7a46')$$);
SELECT test.run_as('iap_app', $$
    SELECT iap.register_order('com.example.z', 'order-peg', 'peg', 'gems',
        app_account_token => '5d0e7a36-1e0f-4f0b-a9d5-2f6f0c1c7a47')$$);
SELECT test.record(
    ARRAY[test.heard('of-' || name, app_account_token => token, exclusion => 'refunded', refunded_at => now())],
    ARRAY[test.seen(id, NULL, is_named => false)])
FROM test.unnamed
JOIN (
    VALUES
        ('token', '5d0e7a36-1e0f-4f0b-a9d5-2f6f0c1c7a44'), ('order', '5d0e7a36-1e0f-4f0b-a9d5-2f6f0c1c7a45'),
        ('their-token', '5d0e7a36-1e0f-4f0b-a9d5-2f6f0c1c7a46'),
        ('their-order', '5d0e7a36-1e0f-4f0b-a9d5-2f6f0c1c7a47')
) AS told (name, token) USING (name);
UPDATE iap.sightings SET bucket = (receipt_id & 63)::smallint WHERE transaction_id = 'n5';
UPDATE iap.sightings SET seal = audit.seal(sightings) WHERE transaction_id = 'n5';
SELECT test.claim('n1', 'nina'), test.claim('n3', 'nina'), test.claim('n4', 'otto'), test.claim('n5', 'nina');
SELECT is(test.erase('nina', true) -> 'rows' -> 'receipts', '5', 'uploads before a login, and what Apple told');
SELECT results_eq(
    $$SELECT name, payload IS NULL, device IS NULL, user_id
    FROM iap.receipts JOIN test.unnamed ON id = receipt_id ORDER BY name$$,
    $$VALUES
        ('beside', false, false, NULL), ('both', false, false, NULL), ('login', true, true, NULL),
        ('open', false, true, NULL), ('order', true, true, NULL), ('their-order', false, false, NULL),
        ('their-token', false, false, NULL), ('token', true, true, NULL), ('told', true, true, NULL)$$,
    'go as theirs do, but for what is another''s');
SELECT test.resolve('n2', 'dismissed');
SELECT test.tried(id, 'settled', 0) FROM test.unnamed WHERE name = 'open';
SELECT is(test.purge('payloads', 1000), 1::bigint, 'and what was open when that has ended');
SELECT is_empty($$SELECT * FROM test.misfits WHERE relation = 'receipts'$$, 'their seals fit');

-- What is asked must make sense.
-- Apple had told no token of it yet.
SELECT test.record(ARRAY[test.heard('uli1')], ARRAY[test.seen(64064, 'uli')]);
SELECT test.erase('uli', true);
SELECT test.hear(test.heard('uli1', 'server_api', app_account_token => '0b8f1f5e-7f0a-4c6e-9b5d-1f5a2c3d4e5f'));
SELECT isnt(
    app_account_token, '0b8f1f5e-7f0a-4c6e-9b5d-1f5a2c3d4e5f', 'a token that Apple tells after the erasure is not kept')
FROM iap.transactions WHERE transaction_id = 'uli1';
-- Two apps may have given one id to two people.
SELECT test.admit('t1', user_id => 'tim'),
    test.run_as('iap_app', $$SELECT iap.submit_receipt('com.example.b', 'tim', 'of another app')$$);
SELECT is(
    test.erase('tim', true) -> 'apps', '["com.example.a", "com.example.b"]', 'it says in which apps one was found');
SELECT test.is_refused('iap_privacy', $$SELECT iap.erase_user('', 'dan')$$, '22023', 'user_id is missing', 'no user');
SELECT test.is_refused('iap_privacy', $$SELECT iap.erase_user('ann', NULL)$$, '22023', 'who is missing', 'nobody asks');
SELECT is(test.erase('a.*(b[c\d', true) ->> 'outcome', 'unknown', 'an id is no pattern');
SET LOCAL standard_conforming_strings = off;
SELECT is(iap.without_user('told a.b, not a-b', 'a.b', 'X'), 'told X, not a-b',
    'however the database reads a backslash');
SELECT is(iap.without_user('用户anna说，不是anna-2、annaé或李娜', 'anna', 'X'), '用户X说，不是anna-2、annaé或李娜',
    'nor whether a space stands around it');
SET LOCAL standard_conforming_strings = on;
SELECT is(iap.without_user('李娜，娜', '娜', 'X'), '李娜，X', 'but part of another name is no name of its own');

SELECT is(
    iap.without_user(
        '{"order_id": "anna", "note": "for anna", "user_id": "anna", "times": 5, "of": {}, "all": []}'::jsonb, 'anna',
        'X'),
    '{"order_id": "anna", "note": "for X", "user_id": "X", "times": 5, "of": {}, "all": []}',
    'and what else is called so keeps its name');

-- A support desk that writes Chinese.
SELECT test.admit('cn', user_id => 'wang'), test.claim('cn', 'wang');
SELECT test.run_as('iap_support', $$SELECT iap.note('cn', '用户wang说没收到', 'sue')$$);
SELECT is(test.erase('wang') ->> 'outcome', 'erased', 'whose customer is erased');
SELECT is_empty(
    $$SELECT FROM iap.events WHERE strpos(details::text, 'wang') > 0$$, 'has no note that names them any more');

-- Apple goes on telling the token of a person who was erased.
SELECT test.run_as(
    'iap_app', $$SELECT iap.register_user('com.example.a', 'zoe', '7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b')$$);
SELECT test.hear(test.heard(id, 'server_api', app_account_token => '7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b'))
FROM unnest(ARRAY['z1', 'z2']) AS id;
SELECT test.admit('z3', user_id => 'zoe'), test.claim('z3', 'zoe');
-- Nobody registered this one.
SELECT test.record(
    ARRAY[test.heard('z4', app_account_token => '0c5b1f0e-6a53-4f4e-9d0c-3a1f6f1f8f55')], ARRAY[test.seen(832, 'zoe')]);
SELECT is(test.claim('z1', 'zoe'), 'delivered', 'what bears a token is delivered');
SELECT is(test.erase('zoe', true) ->> 'outcome', 'erased', 'its user is erased');
SELECT test.hear(test.heard(id, 'server_api', app_account_token => token, verified_at => now() + interval '1 day'))
FROM (
    VALUES
        ('z1', '7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b'), ('z2', '7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b'),
        ('z3', '7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b'), ('z4', '0c5b1f0e-6a53-4f4e-9d0c-3a1f6f1f8f55')
) AS told (id, token);
SELECT is_empty(
    $$SELECT test.naming(token)
    FROM unnest(ARRAY['7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b', '0c5b1f0e-6a53-4f4e-9d0c-3a1f6f1f8f55']) AS token$$,
    'and stays so');

-- What a token alone says is theirs was dismissed, resolved or refunded when they were erased, and is owed again.
SELECT test.run_as(
    'iap_app', $$SELECT iap.register_user('com.example.a', 'olga', '9a0f1c52-70a5-4b53-8f0b-5c7e7f0a4d11')$$);
SELECT test.hear(test.heard(
    id, 'server_api', exclusion => exclusion, refunded_at => CASE exclusion WHEN 'refunded' THEN now() END,
    app_account_token => '9a0f1c52-70a5-4b53-8f0b-5c7e7f0a4d11'))
FROM (VALUES ('o1', NULL), ('o2', NULL), ('o3', 'refunded')) AS told (id, exclusion);
SELECT test.open_case('o1', '{olga}'), test.open_case('o2', '{olga}');
SELECT test.resolve('o1', 'dismissed'), test.resolve('o2', 'delivered');
SELECT is(test.erase('olga') -> 'rows' -> 'transactions', '3', 'wherever it is, it is theirs no more');
SELECT is_empty($$SELECT test.naming('9a0f1c52-70a5-4b53-8f0b-5c7e7f0a4d11')$$, 'nothing bears their token');
SELECT is(test.reopen(id), 'reopened', id || ' is owed again') FROM unnest(ARRAY['o1', 'o2']) AS id;
SELECT is(
    test.hear(test.heard('o3', 'server_api', verified_at => now() + interval '2 days')), 'white',
    'and what is refunded no more');
SELECT is(test.claim(id, 'mallory'), 'wrong_user', id || ' to nobody else')
FROM unnest(ARRAY['o1', 'o2', 'o3']) AS id;
SELECT is_empty('SELECT * FROM test.misfits WHERE relation <> $$moves$$', 'and all of it fits its seal');

-- A token that two users ordered with stays the other's.
SELECT test.run_as('iap_app', format(
    'SELECT iap.register_order(%L, %L, %L, %L, app_account_token => %L)', 'com.example.a', 'order-' || id, id, 'gems',
    '4b0e7a36-1e0f-4f0b-a9d5-2f6f0c1c7a22'))
FROM unnest(ARRAY['pia', 'quin']) AS id;
SELECT test.hear(test.heard('p1', app_account_token => '4b0e7a36-1e0f-4f0b-a9d5-2f6f0c1c7a22'));
SELECT is(test.erase('pia', true) ->> 'outcome', 'erased', 'one of two with a token');
SELECT is(test.claim('p1', 'quin'), 'undecided', 'leaves the other whatever they may have paid');

-- What was delivered to whose token it bears was theirs, also on another's phone.
SELECT test.run_as(
    'iap_app', $$SELECT iap.register_user('com.example.a', 'rosa', 'd1a2b9f4-0f2e-4c51-8a3e-6e5d4c3b2a10')$$);
SELECT test.record(
    ARRAY[test.heard('s1', app_account_token => 'd1a2b9f4-0f2e-4c51-8a3e-6e5d4c3b2a10')],
    ARRAY[test.seen(896, 'stan')]);
SELECT is(test.claim('s1', 'rosa'), 'delivered', 'uploaded by one, and delivered to another');
SELECT is(test.erase('rosa') ->> 'outcome', 'erased', 'who is erased');
SELECT is_empty($$SELECT FROM finance.misdeliveries WHERE transaction_id = 's1'$$, 'went to nobody wrong');

-- Whatever names a person by itself, and nothing else of it: gil, beside whom hal, pat and rex buy. Nobody registered
-- most of these tokens, and pat two of them for another app.
CREATE FUNCTION test.token(number integer) RETURNS text
LANGUAGE sql AS $$ SELECT '0c5b1f0e-6a53-4f4e-9d0c-' || to_char(number, 'FM000000000000') $$;
SELECT test.run_as('iap_app', format(
    'SELECT iap.register_order(%L, %L, %L, %L, app_account_token => %L)', app, 'order-' || whose || token, whose,
    'gems', test.token(token)))
FROM (
    VALUES ('com.example.z', 'pat', 8), ('com.example.a', 'gil', 22), ('com.example.z', 'pat', 22)
) AS told (app, whose, token);
SELECT test.run_as('iap_app', format('SELECT iap.register_user(%L, %L, %L)', app, whose, test.token(token)))
FROM (
    VALUES ('com.example.z', 'pat', 9), ('com.example.a', 'gil', 21), ('com.example.z', 'pat', 21)
) AS told (app, whose, token);
SELECT test.admit('e' || number, user_id => CASE WHEN number IN (2, 3) THEN 'gil' WHEN number IN (4, 10) THEN 'hal' END)
FROM unnest(ARRAY[1, 2, 3, 4, 10, 11]) AS number;
SELECT test.record(
    ARRAY(
        SELECT test.heard(
            'e' || number, app_account_token => test.token(
                CASE number WHEN 12 THEN 8 WHEN 13 THEN 9 WHEN 15 THEN 21 WHEN 16 THEN 22 ELSE number END),
            exclusion => CASE number WHEN 5 THEN 'refunded' END, refunded_at => CASE number WHEN 5 THEN now() END)
        FROM generate_series(4, 16) AS number
        ORDER BY number),
    ARRAY[
        test.seen(1024, 'gil', number => 2), test.seen(1088, NULL, number => 4), test.seen(1024, 'gil', number => 7),
        test.seen(1024, 'gil', number => 8), test.seen(1024, 'gil', number => 9), test.seen(1088, 'rex', number => 9),
        test.seen(1024, 'gil', number => 10), test.seen(1088, 'rex', number => 10), test.seen(1024, 'gil', number => 11)
    ]);
-- Other purchases, that have the number alone in common with it.
INSERT INTO iap.sightings (
    transaction_id, bundle_id, environment, bucket, receipt_id, user_id, is_named, uploaded_at)
VALUES
    ('e14', 'com.example.z', 'Production', 0, 1088, 'rex', true, now()),
    ('e14', 'com.example.a', 'Sandbox', 0, 1088, 'rex', true, now());
UPDATE iap.sightings SET seal = audit.seal(sightings) WHERE transaction_id = 'e14';
SELECT test.resolve('e2', 'dismissed');
SELECT test.run_as('iap_support', format(
    'SELECT iap.resolve(%L, %L, %L, %L, user_id => %L, is_unknown_user => true)', 'e' || number, 'delivered', 'sue',
    'x', whose))
FROM (VALUES (1, 'gil'), (3, 'hal'), (4, 'gil'), (11, 'hal')) AS delivered (number, whose);
SELECT test.erase('gil', true) ->> 'pseudonym' AS gil \gset
SELECT results_eq(
    format(
        $$SELECT transaction_id, replace(user_id, %1$L, 'X'), replace(admitted_user_id, %1$L, 'X') FROM iap.transactions
        WHERE transaction_id IN ('e1', 'e2', 'e3', 'e4') ORDER BY 1$$, :'gil'),
    $$VALUES ('e1' COLLATE "C", 'X', NULL), ('e2', NULL, 'X'), ('e3', 'hal', 'X'), ('e4', 'X', 'hal')$$,
    'to whom it went, and for whom it was admitted, each by itself');
SELECT results_eq(
    $$SELECT number, app_account_token IN (SELECT test.token(n) FROM generate_series(1, 22) AS n) FROM iap.transactions
    JOIN generate_series(4, 16) AS number ON transaction_id = 'e' || number ORDER BY 1$$,
    $$VALUES
        -- What was delivered to them; and what they alone handed in, wherever it is by now.
        (4, false), (5, false),
        -- What nobody handed in, or somebody unknown; what another registered a token for in another app.
        (6, true), (7, true), (8, true), (9, true),
        -- What was admitted for, or delivered to another; what another handed in, too.
        (10, true), (11, true), (12, true), (13, true),
        -- Not what has its number alone in common with that; nor what another has a token for in another app alone.
        (14, false), (15, false), (16, false)$$, 'their tokens go, and another''s stay');

-- What a server admitted for them with an upload that bears no user is open, too, whoever had it admitted before.
SELECT test.admit('q1', user_id => 'ben'),
    test.admit('q1', user_id => 'bea', receipt_id => test.submit('before a login', NULL));
SELECT is(test.erase('bea'), '{"outcome": "open", "open": ["q1"], "waiting": 0}', 'which may be theirs');
-- Nothing is, that has its number alone in common with what they had in another app, or as a tester.
SELECT test.admit('q2', user_id => 'ben');
INSERT INTO iap.sightings (
    transaction_id, bundle_id, environment, bucket, receipt_id, user_id, is_named, uploaded_at)
VALUES
    ('q2', 'com.example.z', 'Production', 0, 960, 'cleo', true, now()),
    ('q2', 'com.example.a', 'Sandbox', 0, 960, 'cleo', true, now());
UPDATE iap.sightings SET seal = audit.seal(sightings) WHERE user_id = 'cleo';
SELECT test.open_case('q2', '{cleo}');
UPDATE iap.cases SET bundle_id = 'com.example.z' WHERE transaction_id = 'q2';
SELECT test.open_case('q2', '{cleo}');
UPDATE iap.cases SET environment = 'Sandbox' WHERE transaction_id = 'q2' AND bundle_id = 'com.example.a';
SELECT is(test.erase('cleo') ->> 'outcome', 'erased', 'who is erased');

-- An upload that is not verified yet is open by itself: what is in it nobody knows.
SELECT test.submit('not verified yet', 'dora');
SELECT is(test.erase('dora'), '{"outcome": "open", "open": [], "waiting": 1}', 'who uploaded it is not erased');
SELECT isnt_empty($$SELECT test.naming('dora')$$, 'as nothing is changed');

-- What was changed by hand beforehand still shows: the erasure gives no row a seal that fits.
SELECT test.run_as('iap_app', $$
    SELECT iap.register_user('com.example.a', 'hand', 'a3c1d2e4-5b6a-4f7e-8d0a-0c1d2e3f4a99')$$);
SELECT test.run_as('iap_app', $$
    SELECT iap.register_order('com.example.a', 'order-hand', 'hand', 'gems',
        app_account_token => 'a3c1d2e4-5b6a-4f7e-8d0a-0c1d2e3f4a99')$$);
SELECT test.admit('hand', user_id => 'hand', receipt_id => test.submit('proof of a hand', 'hand'));
SELECT test.claim('hand', 'hand');
UPDATE iap.receipts SET submitted_at = now() - interval '1 day' WHERE user_id = 'hand';
UPDATE iap.sightings SET uploaded_at = uploaded_at - interval '1 day' WHERE user_id = 'hand';
UPDATE iap.claims SET attempted_at = attempted_at - interval '1 day' WHERE user_id = 'hand';
UPDATE iap.orders SET created_at = created_at - interval '1 day' WHERE user_id = 'hand';
UPDATE iap.account_tokens SET registered_at = registered_at - interval '1 day' WHERE user_id = 'hand';
UPDATE iap.transactions SET delivered_at = delivered_at - interval '1 day' WHERE user_id = 'hand';
CREATE TABLE test.changed AS SELECT relation FROM test.misfits WHERE relation <> 'moves';
SELECT set_eq(
    'SELECT relation FROM test.changed',
    ARRAY['receipts', 'sightings', 'claims', 'orders', 'account_tokens', 'transactions'], 'rows are changed by hand');
SELECT is(test.erase('hand', true) ->> 'outcome', 'erased', 'whose user is erased');
SELECT bag_eq(
    $$SELECT relation FROM test.misfits WHERE relation <> 'moves'$$, 'SELECT relation FROM test.changed',
    'which hides none of them');

-- Among many purchases of others none is asked about but what is in the erased user's receipts.
INSERT INTO iap.transactions
SELECT (
    jsonb_populate_record(
        t, jsonb_build_object(
            'transaction_id', 'm' || number, 'original_transaction_id', 'm' || number, 'user_id', 'm' || number,
            'app_account_token', NULL))
    ).*
FROM iap.transactions AS t
CROSS JOIN generate_series(1, 2000) AS number
WHERE t.transaction_id = 's1';
INSERT INTO iap.sightings
SELECT (
    jsonb_populate_record(
        seen, jsonb_build_object('transaction_id', 'm' || number, 'receipt_id', number * 64, 'user_id', 'm' || number))
    ).*
FROM iap.sightings AS seen
CROSS JOIN generate_series(100, 2000) AS number
WHERE seen.transaction_id = 's1';
ANALYZE iap.transactions, iap.sightings;
SET LOCAL track_functions = 'pl';
CREATE FUNCTION test.calls_of(called name) RETURNS bigint
LANGUAGE sql AS $$
    SELECT coalesce(sum(calls), 0)::bigint
    FROM pg_stat_xact_user_functions
    WHERE schemaname = 'iap' AND funcname = called
$$;
SELECT is(
    (
        SELECT cardinality(iap.unnamed_receipts_of(user_id)) FROM iap.transactions WHERE transaction_id = 's1'
    ), NULL::integer, 'a receipt that another handed in is none of an erased user''s');
SELECT cmp_ok(test.calls_of('is_anothers'), '<', 100::bigint, 'which is asked of few receipts, however many there are');

SELECT * FROM finish();
ROLLBACK;
