-- What several sessions do at once. They are sessions of their own, so that what they commit stays until the database
-- of this test goes.
BEGIN;
SELECT no_plan();
CREATE EXTENSION dblink;

CREATE FUNCTION test.open(session text, role text) RETURNS text
LANGUAGE sql AS $$
    SELECT dblink_connect(session, format(
        'host=%s port=%s dbname=%s user=%s', split_part(current_setting('unix_socket_directories'), ',', 1),
        current_setting('port'), current_database(), role))
$$;
-- What a session answers to a statement, or the error that it ends with.
CREATE FUNCTION test.says(session text, query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    IF query ILIKE 'select%' THEN
        SELECT said INTO answer FROM dblink(session, query) AS told (said text);
        RETURN answer;
    END IF;
    RETURN dblink_exec(session, query);
EXCEPTION
    WHEN OTHERS THEN RETURN SQLSTATE;
END
$$;
-- Has a session begin a statement, and says when it waits for another.
CREATE FUNCTION test.waits(session text, query text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    session_pid integer := test.says(session, 'SELECT pg_backend_pid()')::integer;
BEGIN
    PERFORM dblink_send_query(session, query);
    FOR round IN 1 .. 500 LOOP
        PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
        IF EXISTS (
            SELECT FROM pg_stat_activity
            WHERE pid = session_pid AND (wait_event_type = 'Lock' OR wait_event = 'PgSleep'))
        THEN
            RETURN true;
        END IF;
        EXIT WHEN dblink_is_busy(session) = 0;
    END LOOP;
    RETURN false;
END
$$;
-- What the statement that a session was about ends with.
CREATE FUNCTION test.ends(session text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    SELECT said INTO answer FROM dblink_get_result(session) AS told (said text);
    PERFORM FROM dblink_get_result(session) AS told (said text);
    RETURN answer;
EXCEPTION
    WHEN OTHERS THEN
        PERFORM FROM dblink_get_result(session) AS told (said text);
        RETURN SQLSTATE;
END
$$;
SELECT test.open('server', 'iap_app'), test.open('desk', 'iap_support'), test.open('other desk', 'iap_support'),
    test.open('import', 'iap_import'), test.open('privacy', 'iap_privacy'), test.open('owner', 'postgres');
SELECT test.says('import', 'SET search_path = iap, pg_temp');

CREATE FUNCTION test.admitting(id text, original text, product text DEFAULT 'full', user_id text DEFAULT 'ann')
RETURNS text
LANGUAGE sql AS $$
    SELECT format(
        'SELECT iap.admit(''com.example.a'', ''Production'', %L, %L, %L, 1, now(), %L)', id, original, product, user_id)
$$;
CREATE FUNCTION test.claiming(id text, user_id text DEFAULT 'ann') RETURNS text
LANGUAGE sql AS $$ SELECT format('SELECT iap.claim(''com.example.a'', %L, %L)', id, user_id) $$;
CREATE FUNCTION test.resolving(id text, how text) RETURNS text
LANGUAGE sql AS $$ SELECT format('SELECT iap.resolve(%L, %L, ''sue'', ''x'')', id, how) $$;
-- Where the ids of an original are, as it is committed.
CREATE FUNCTION test.placed(original text) RETURNS text
LANGUAGE sql AS $$
    SELECT test.says('owner', format(
        'SELECT string_agg(transaction_id || '' '' || coalesce(reason, place), '', '' ORDER BY transaction_id)
        FROM iap.transactions WHERE original_transaction_id = %L', original))
$$;

-- Called refunded at the desk while a server delivers it under another id, which so is waited for.
SELECT test.says('server', test.admitting(id, 'r1')) FROM unnest(ARRAY['r1', 'r2']) AS id;
SELECT test.says('server', 'BEGIN');
SELECT is(test.says('server', test.claiming('r2')), 'delivered', 'a server is about to deliver it');
SELECT ok(test.waits('desk', test.resolving('r1', 'refunded')), 'the desk, which calls it refunded, waits');
SELECT test.says('server', 'COMMIT');
SELECT is(test.ends('desk'), 'already_delivered', 'and learns that it was delivered');
-- The other way round, also where the other id comes only now, and at any isolation level; as little is it delivered
-- while the desk dismisses it.
SELECT results_eq(
    format(
        $$
        SELECT
            test.says('server', test.admitting('%1$s-1', '%1$s-1')), test.says('desk', 'BEGIN'),
            test.says('server', 'BEGIN ISOLATION LEVEL %2$s'), test.says('server', test.admitting('%1$s-2', '%1$s-1')),
            test.says('desk', test.resolving('%1$s-1', '%3$s')),
            test.waits('server', test.claiming('%1$s-2')), test.says('desk', 'COMMIT'), test.ends('server'),
            left(test.says('server', 'ROLLBACK'), 8)
        $$, how || '-' || name, level, how),
    format(
        $$VALUES ('white', 'BEGIN', 'BEGIN', 'white', %L, true, 'COMMIT', %L, 'ROLLBACK')$$, how, answer),
    format('a claim waits for who calls it %s: %s', how, level))
FROM (
    VALUES
        ('rc', 'READ COMMITTED', 'excluded'), ('rr', 'REPEATABLE READ', '40001'), ('se', 'SERIALIZABLE', '40001')
) AS played (name, level, answer)
CROSS JOIN unnest(ARRAY['refunded', 'dismissed']) AS how;
-- Two of the desk call two ids refunded: the money goes back once.
SELECT test.says('server', test.admitting(id, 'd1')) FROM unnest(ARRAY['d1', 'd2']) AS id;
SELECT test.says('desk', 'BEGIN');
SELECT is(test.says('desk', test.resolving('d1', 'refunded')), 'refunded', 'one calls it refunded');
SELECT ok(test.waits('other desk', test.resolving('d2', 'refunded')), 'another its other id');
SELECT test.says('desk', 'COMMIT');
SELECT is(test.ends('other desk'), 'excluded', 'and learns that it is');
SELECT is(test.placed('d1'), 'd1 refunded, d2 restored', 'once');

-- Two of the desk take one case: one of them has it.
SELECT test.says('server', test.admitting('tk', 'tk', 'gems')),
    test.says('owner', $$SELECT test.open_case('tk', '{ann}')::text$$), test.says('desk', 'BEGIN');
SELECT is(test.says('desk', $$SELECT outcome FROM iap.take('tk', 'sue')$$), 'taken', 'one takes a case');
SELECT ok(test.waits('other desk', $$SELECT outcome FROM iap.take('tk', 'tom')$$), 'another waits for it');
SELECT test.says('desk', 'COMMIT');
SELECT is(test.ends('other desk'), 'taken_already', 'and learns that it is taken');

-- One of the desk and a server deliver two ids of a purchase for one order: both take the order first.
SELECT test.says('server', test.admitting(id, original))
FROM (VALUES ('o1', 'o1'), ('o2', 'o1'), ('o3', 'o2')) AS bought (id, original);
SELECT test.open('other server', 'iap_app');
SELECT test.says('other server', 'BEGIN');
SELECT is(test.says('other server', test.claiming('o3')), 'delivered', 'what names the one as its original is held up');
SELECT ok(
    test.waits('desk', $$SELECT iap.resolve('o2', 'delivered', 'sue', 'x', user_id => 'ann', order_id => 'of-o')$$),
    'the desk, which delivers the one, waits');
SELECT ok(
    test.waits('server', $$SELECT iap.claim('com.example.a', 'o1', 'ann', 'of-o')$$),
    'and so does a server, which delivers the other');
SELECT test.says('other server', 'ROLLBACK');
SELECT is(test.ends('desk'), 'delivered', 'the one is delivered');
SELECT is(test.ends('server'), 'already_delivered', 'and the other is no more');

-- What an import tells of another id while the desk takes its own word back.
CREATE FUNCTION test.importing(id text, original text) RETURNS text
LANGUAGE sql AS $$
    SELECT format(
        'SELECT iap.import_deliveries(ARRAY[jsonb_populate_record(NULL::iap.verified, %L)])',
        to_jsonb(test.heard(id, 'app_server', 'full', original_transaction_id => original))
            || '{"user_id": "ann", "delivered_at": "2026-03-01T12:00:00Z"}')
$$;
SELECT test.says('server', test.admitting(id, id)), test.says('desk', test.resolving(id, 'delivered'))
FROM unnest(ARRAY['i1', 'j1', 'k1']) AS id;
SELECT test.says('import', 'BEGIN');
SELECT is(test.says('import', test.importing('i2', 'i1')), '1', 'an import tells of another id');
SELECT ok(test.waits('desk', $$SELECT iap.reopen('i1', 'sue', 'x')$$), 'the desk, which takes its word back, waits');
SELECT test.says('import', 'COMMIT');
SELECT is(test.ends('desk'), 'already_delivered', 'and learns of it');
SELECT test.says('desk', 'BEGIN');
SELECT is(test.says('desk', $$SELECT iap.reopen('j1', 'sue', 'x')$$), 'reopened', 'a word is taken back');
SELECT ok(test.waits('import', test.importing('j2', 'j1')), 'which an import waits for');
SELECT test.says('desk', 'COMMIT');
SELECT is(test.ends('import'), '1', 'to deliver it');
SELECT is(test.placed('j1'), 'j1 restored, j2 black', 'once');
SELECT is(
    test.says('owner', $$SELECT string_agg(DISTINCT transaction_id, ' ') FROM iap.delivered_originals
        WHERE original_transaction_id = 'j1'$$), 'j2', 'and it keeps the other from being delivered');
SELECT test.says('desk', 'BEGIN ISOLATION LEVEL REPEATABLE READ'), test.says('desk', 'SELECT now()');
SELECT is(test.says('import', test.importing('k2', 'k1')), '1', 'one that comes after the desk has looked');
SELECT is(
    test.says('desk', $$SELECT iap.reopen('k1', 'sue', 'x')$$), '40001', 'has it try again where it can''t see that');
SELECT test.says('desk', 'ROLLBACK');

SELECT test.says('owner', 'SET search_path = iap, public, pg_temp');

-- What another session holds in the moment in which its redelivery is granted.
CREATE FUNCTION test.taking() RETURNS text
LANGUAGE sql AS $$
    SELECT test.says(
        'server', $call$SELECT transaction_id FROM iap.take_redeliveries('com.example.a', 100, '1 second')$call$)
$$;
CREATE FUNCTION test.granting(id text) RETURNS text
LANGUAGE sql AS $$
    SELECT test.says('server', format('SELECT iap.entitle(''com.example.a'', %L, ''ann'', ''infinity'')', id))
$$;
SELECT test.says('server', test.admitting('held', 'held')),
    test.says('desk', $$SELECT iap.redeliver('held', 'sue', 'x')$$);
SELECT is(test.taking(), 'held', 'a server takes what it shall deliver');
SELECT test.says('owner', 'BEGIN'),
    test.says('owner', $$SELECT place FROM iap.transactions WHERE transaction_id = 'held' FOR UPDATE$$);
SELECT is(test.granting('held'), 'infinity', 'and grants it, while another session holds it');
SELECT test.says('owner', 'ROLLBACK'), pg_sleep(1.1);
SELECT is(test.placed('held'), 'held white', 'so that it is not written');
SELECT is(test.taking(), 'held', 'that is no doubt whose it is: the server takes it again');
SELECT test.granting('held');
SELECT is(test.placed('held'), 'held black', 'to grant it once more, which is written');
SELECT is(
    test.says('owner', $$SELECT iap.end_of_redelivery(r) FROM iap.redeliveries AS r WHERE transaction_id = 'held'$$),
    'redelivered', 'as its redelivery');
-- The same, where a night writes it when the lease is over.
SELECT test.says('server', test.admitting('held2', 'held2')),
    test.says('desk', $$SELECT iap.redeliver('held2', 'sue', 'x')$$),
    test.says('server', $$SELECT transaction_id FROM iap.take_redeliveries('com.example.a', 100, '1 minute')$$),
    test.says('owner', 'BEGIN'),
    test.says('owner', $$SELECT place FROM iap.transactions WHERE transaction_id = 'held2' FOR UPDATE$$),
    test.granting('held2'), test.says('owner', 'ROLLBACK');
SELECT is(
    test.says('owner', format('SELECT test.run_as(%L, %L)', 'iap_job',
        $$SELECT iap.cover_entitled(7, now() + interval '1 hour', 10)$$)), '1', 'a night writes what was granted');
SELECT is(
    test.says('owner', $$SELECT iap.end_of_redelivery(r) FROM iap.redeliveries AS r WHERE transaction_id = 'held2'$$),
    'redelivered', 'within the lease');

-- An order of long ago, for which a server delivers while a night purges what was never paid.
SELECT test.says('server', test.admitting('late', 'late', 'gems', NULL)),
    test.says('server', format(
        'SELECT iap.register_order(''com.example.a'', ''of-late'', ''ida'', ''gold'', created_at => %L)',
        now() - interval '200 days'));
CREATE FUNCTION test.purging() RETURNS text
LANGUAGE sql AS $$
    SELECT test.says('owner', format(
        'SELECT test.run_as(''iap_job'', %L)',
        'SELECT iap.purge_orders(''2008-07-10'', now() - interval ''90 days'', 100)'))
$$;
SELECT test.says('server', 'BEGIN');
SELECT is(
    test.says('server', $$SELECT iap.claim('com.example.a', 'late', 'ida', 'of-late')$$), 'delivered',
    'a server is about to deliver for an order');
SELECT is(test.purging(), '0', 'which no night takes for one that was never paid');
SELECT test.says('server', 'ROLLBACK');
SELECT is(test.purging(), '1', 'until the server thinks better of it');

-- What Apple tells of the period of something delivered while a server is about to deliver its other id.
CREATE FUNCTION test.telling(id text, original text) RETURNS text
LANGUAGE sql AS $$ SELECT format('SELECT test.hear_period(%L, %L, ''w1'')', id, original) $$;
CREATE FUNCTION test.taken(original text) RETURNS text
LANGUAGE sql AS $$
    SELECT test.says('owner', format(
        'SELECT string_agg(web_order_line_item_id || '' '' || transaction_id, '', '' ORDER BY 1)
        FROM iap.delivered_originals WHERE original_transaction_id = %L AND web_order_line_item_id <> ''''', original))
$$;
CREATE FUNCTION test.untaken() RETURNS text
LANGUAGE sql AS $$ SELECT test.says('owner', 'SELECT count(*)::text FROM iap.untaken_originals') $$;
CREATE FUNCTION test.next_night() RETURNS text
LANGUAGE sql AS $$
    SELECT test.says(
        'owner', format('SELECT test.run_as(%L, %L)', 'iap_job', 'SELECT iap.release_restored(7, now())'))
$$;
SELECT test.says('server', test.admitting('p1', 'p0', 'pass')), test.says('server', test.claiming('p1')),
    test.says('owner', test.telling('p2', 'p0')), test.says('server', 'BEGIN');
SELECT is(test.says('server', test.claiming('p2')), 'delivered', 'a server is about to deliver a period');
SELECT is(test.says('owner', test.telling('p1', 'p0')), 'black', 'which was delivered under another id');
SELECT is(test.untaken(), '1', 'as is noted');
SELECT is(test.next_night(), '0', 'a night');
SELECT is(test.untaken(), '1', 'waits for it no more than another');
SELECT test.says('server', 'ROLLBACK');
SELECT is(test.taken('p0'), NULL, 'where the server thinks better of it');
SELECT is(test.next_night(), '0', 'the next one');
SELECT is(test.taken('p0'), 'w1 p1', 'keeps the period from being delivered again');
SELECT is(test.says('server', test.claiming('p2')), 'already_delivered', 'by whichever id');
SELECT is(test.untaken(), '0', 'once');

-- A person is erased while a purchase of theirs is prepared for a commit in two phases.
SELECT test.says('server', 'BEGIN');
SELECT test.says('server', test.admitting('z1', 'z1', 'gems', 'zoe'));
SELECT test.says('server', test.claiming('z1', 'zoe'));
SELECT is(test.says('server', 'PREPARE TRANSACTION ''zoe'''), 'PREPARE TRANSACTION', 'a purchase is prepared');
SELECT ok(test.waits('privacy', $$SELECT iap.erase_user('zoe', 'pat', true) ->> 'outcome'$$), 'which is waited for');
SELECT test.says('server', 'COMMIT PREPARED ''zoe''');
SELECT is(test.ends('privacy'), 'erased', 'and erased');
SELECT is(
    test.says('owner', $$SELECT count(*)::text FROM iap.black WHERE user_id = 'zoe'$$), '0', 'with all that is theirs');
-- And while what they upload is not committed yet, wherever it is written.
SELECT test.says('server', 'BEGIN');
SELECT ok(
    test.says('server', $$SELECT iap.submit_receipt('com.example.a', 'yan', 'a receipt of yan''s')::text$$) ~ '^\d+$',
    'a receipt is uploaded');
SELECT ok(test.waits('privacy', $$SELECT iap.erase_user('yan', 'pat', true) ->> 'outcome'$$), 'which is waited for');
SELECT test.says('server', 'COMMIT');
SELECT is(test.ends('privacy'), 'erased', 'and erased');
SELECT is(
    test.says('owner', $$SELECT count(*)::text FROM iap.receipts WHERE user_id = 'yan'$$), '0', 'with who uploaded it');
-- Whoever hangs with a receipt of theirs in hand is waited for no longer than the caller says.
SELECT test.says('server', $$SELECT iap.submit_receipt('com.example.a', 'yan', 'another')::text$$);
SELECT test.says('server', 'BEGIN');
SELECT test.says('server', $$SELECT iap.submit_receipt('com.example.a', 'yan', 'another', '77')::text$$);
SELECT test.says('privacy', 'BEGIN');
SELECT test.says('privacy', 'SET LOCAL lock_timeout = ''300ms''');
SELECT is(
    test.says('privacy', $$SELECT iap.erase_user('yan', 'pat', true) ->> 'outcome'$$), '55P03',
    'a receipt in hand is waited for as long as the lock_timeout says');
SELECT test.says('server', 'COMMIT');
SELECT test.says('privacy', 'ROLLBACK');
-- So is who waits for another, and has written something of theirs before.
SELECT test.says('server', test.admitting('bl1', 'bl1', 'gems', 'zed'));
SELECT test.says('owner', 'BEGIN'),
    test.says('owner', $$SELECT place FROM iap.transactions WHERE transaction_id = 'bl1' FOR UPDATE$$);
SELECT test.says('server', 'BEGIN'),
    test.says('server', $$SELECT iap.submit_receipt('com.example.a', 'zed', 'a receipt of zed''s')::text$$);
SELECT ok(test.waits('server', test.claiming('bl1', 'zed')), 'a server waits');
SELECT ok(
    test.waits('privacy', $$SELECT iap.erase_user('ann', 'pat', true) ->> 'outcome'$$), 'and is waited for meanwhile');
SELECT test.says('owner', 'ROLLBACK');
SELECT is(test.ends('server'), 'delivered', 'until it has what it waited for');
SELECT test.says('server', 'COMMIT');
SELECT is(test.ends('privacy'), 'erased', 'and has ended');
-- Wherever a user is named.
SELECT results_eq(
    format(
        $$SELECT left(test.says('server', 'BEGIN'), 5), test.says('server', %L) !~ '^[0-9]',
            test.waits('privacy', 'SELECT iap.erase_user(''ann'', ''pat'', true) ->> ''outcome'''),
            test.says('server', 'ROLLBACK'), test.ends('privacy')$$, call),
    $$VALUES ('BEGIN', true, true, 'ROLLBACK', 'unknown')$$, name || ' is waited for')
FROM (
    VALUES
        ('a claim of what nobody knows', test.claiming('bl2', 'zed')),
        ('an order', $$SELECT iap.register_order('com.example.a', 'order-bl', 'zed', 'gems')::text$$),
        (
            'a token',
            $$SELECT iap.register_user('com.example.a', 'zed', '2d330651-d661-56d9-9949-5889155c61bb')::text$$),
        ('a grant', $$SELECT iap.entitle('com.example.a', 'bl3', 'zed', 'infinity')$$)
) AS written (name, call);
-- So is who sees a receipt of theirs in what was admitted long ago, for somebody else.
CREATE FUNCTION test.admitting_with(user_id text, receipt text) RETURNS text
LANGUAGE sql AS $$
    SELECT format(
        'SELECT iap.admit(''com.example.a'', ''Production'', ''si1'', ''si1'', ''gems'', 1, now(), %L, %s)', user_id,
        receipt)
$$;
CREATE FUNCTION test.uploading(user_id text) RETURNS text
LANGUAGE sql AS $$
    SELECT format('SELECT iap.submit_receipt(''com.example.a'', %L, %L)::text', user_id, 'a receipt of ' || user_id)
$$;
SELECT test.says('server', test.admitting_with('bob', test.says('server', test.uploading('bob'))));
SELECT test.says('server', test.uploading('sia')) AS sias
\gset
SELECT test.says('server', 'BEGIN');
SELECT is(test.says('server', test.admitting_with('sia', :'sias')), 'already_white', 'a receipt is seen');
SELECT ok(test.waits('privacy', $$SELECT iap.erase_user('sia', 'pat', true) ->> 'outcome'$$), 'which is waited for');
SELECT test.says('server', 'COMMIT');
SELECT is(test.ends('privacy'), 'erased', 'and erased');
SELECT is(
    test.says('owner', $$SELECT count(*)::text FROM iap.sightings WHERE user_id = 'sia'$$), '0',
    'with who had handed it in');
-- What has come meanwhile, and is open, keeps its user, as if it had been there; what was delivered does not.
SELECT results_eq(
    format(
        $$SELECT test.says('server', %1$L), test.says('server', %2$L), left(test.says('server', 'BEGIN'), 5),
            test.says('server', %3$L) !~ '^[0-9]{5}$', test.says('server', %4$L),
            test.waits('privacy', 'SELECT iap.erase_user(''mia-%5$s'', ''pat'') ->> ''outcome'''),
            test.says('server', 'COMMIT'), test.ends('privacy')$$,
        test.admitting(id || '-1', id || '-1', 'gems', 'mia-' || id), test.claiming(id || '-1', 'mia-' || id),
        first, second, id),
    format($$VALUES ('white', 'delivered', 'BEGIN', true, %L, true, 'COMMIT', %L)$$, answer, erased),
    came || ' while a person is erased')
FROM (
    VALUES
        ('what is owed to them', 'm1', test.admitting('m1-2', 'm1-2', 'gems', 'mia-m1'),
            'SELECT 1::text', '1', '40001'),
        ('what is delivered to them', 'm2', test.admitting('m2-2', 'm2-2', 'gems', 'mia-m2'),
            test.claiming('m2-2', 'mia-m2'), 'delivered', 'erased'),
        ('what they uploaded', 'm3', $$SELECT iap.submit_receipt('com.example.a', 'mia-m3', 'of mia')::text$$,
            'SELECT 1::text', '1', '40001')
) AS played (came, id, first, second, answer, erased);
-- So does what has come, and is committed, after it was looked for and before its table is read.
SELECT test.says('server', test.admitting('m4', 'm4', 'gems', 'mia-m4')),
    test.says('server', test.claiming('m4', 'mia-m4')), test.says('owner', 'BEGIN'),
    test.says('owner', $$SELECT place FROM iap.transactions WHERE transaction_id = 'm4' FOR UPDATE$$);
SELECT ok(
    test.waits('privacy', $$SELECT iap.erase_user('mia-m4', 'pat') ->> 'outcome'$$), 'an erasure waits in the ledger');
SELECT test.says('server', test.uploading('mia-m4')), test.says('owner', 'ROLLBACK');
SELECT is(test.ends('privacy'), '40001', 'and is not made of what was uploaded meanwhile');
SELECT is(
    test.says('privacy', $$SELECT iap.erase_user('mia-m4', 'pat') ->> 'outcome'$$), 'open', 'which is open');
-- Who only reads is not waited for.
SELECT test.says('owner', 'BEGIN'), test.says('owner', 'SELECT count(*)::text FROM iap.transactions');
SELECT is(
    test.waits('privacy', $$SELECT iap.erase_user('zed', 'pat', true) ->> 'outcome'$$), false,
    'a look at the ledger holds up nobody');
SELECT is(test.ends('privacy'), 'erased', 'who is erased');
SELECT test.says('owner', 'ROLLBACK');
-- So is whoever hangs with a receipt in which was seen what the desk takes back, and which is to be watched again.
SELECT test.says('server', format(
    'SELECT iap.admit(''com.example.a'', ''Production'', ''w1'', ''w1'', ''gems'', 1, now(), ''wim'', %s)',
    test.says('server', $$SELECT iap.submit_receipt('com.example.a', 'wim', 'a receipt of wim''s')::text$$)));
SELECT test.says('owner', format(
    'UPDATE iap.receipts
    SET state = ''settled'', next_attempt_at = NULL, verified_at = %1$L, last_attempt_at = %1$L
    WHERE user_id = ''wim''', now()));
SELECT test.says('desk', test.resolving('w1', 'delivered'));
SELECT test.says('server', 'BEGIN');
SELECT test.says('server', $$SELECT iap.submit_receipt('com.example.a', 'wim', 'a receipt of wim''s', 'w1')::text$$);
SELECT test.says('desk', 'BEGIN'), test.says('desk', 'SET LOCAL lock_timeout = ''300ms''');
SELECT is(
    test.says('desk', $$SELECT iap.reopen('w1', 'sue', 'x')$$), '55P03',
    'who takes a word back waits as long, too, for a receipt in hand');
SELECT test.says('server', 'COMMIT'), test.says('desk', 'ROLLBACK');
SELECT is(test.says('desk', $$SELECT iap.reopen('w1', 'sue', 'x')$$), 'reopened', 'and takes it back later');
-- Who adopts a purchase locks it before its receipt, as who takes a delivery back does.
CREATE FUNCTION test.adopting(id text) RETURNS text
LANGUAGE sql AS $$
    SELECT format(
        'SELECT iap.adopt(''com.example.a'', %L, ''yul'', ''tom'', ''x'')', test.signed(jsonb_build_object(
            'transactionId', id, 'originalTransactionId', id, 'bundleId', 'com.example.a', 'productId', 'full',
            'purchaseDate', 1772323200000, 'environment', 'Production')))
$$;
SELECT test.says('server', format(
    'SELECT iap.admit(''com.example.a'', ''Production'', ''y1'', ''y1'', ''full'', 1, now(), ''yul'', %s)',
    test.says('server', format(
        'SELECT iap.submit_receipt(''com.example.a'', ''yul'', %L)::text',
        (regexp_match(test.adopting('y1'), 'e30[^'']*'))[1]))));
SELECT test.says('owner', format(
    'UPDATE iap.receipts
    SET state = ''settled'', next_attempt_at = NULL, verified_at = %1$L, last_attempt_at = %1$L
    WHERE user_id = ''yul''', now()));
SELECT test.says('server', test.admitting('y2', 'y1', user_id => 'yul')),
    test.says('desk', test.resolving('y1', 'delivered'));
SELECT test.says('owner', 'BEGIN'),
    test.says('owner', $$SELECT place FROM iap.transactions WHERE transaction_id = 'y2' FOR UPDATE$$);
SELECT ok(test.waits('desk', $$SELECT iap.reopen('y1', 'sue', 'x')$$), 'who takes a delivery back waits');
SELECT ok(test.waits('other desk', test.adopting('y1')), 'and so does who adopts it meanwhile');
SELECT test.says('owner', 'ROLLBACK');
SELECT is(test.ends('desk'), 'reopened', 'the one takes it back');
SELECT is(test.ends('other desk'), 'already_white', 'and the other finds that');
-- What the night notes of a mended list is what stays delivered.
SELECT test.open('night', 'iap_job'), test.says('night', 'SET search_path = iap, pg_temp'),
    test.says('owner', $$INSERT INTO iap.products (bundle_id, product_id, type, name)
        VALUES ('com.example.a', 'mended', 'consumable', 'Mended')$$);
SELECT test.says('server', test.admitting(id, 'lm1', 'mended')) FROM unnest(ARRAY['lm1', 'lm2']) AS id;
SELECT is(test.says('desk', test.resolving('lm1', 'delivered')), 'delivered', 'delivered while the list was wrong');
SELECT test.says('owner', $$UPDATE iap.products SET type = 'non_consumable' WHERE product_id = 'mended'$$),
    test.says('desk', 'BEGIN'), test.says('desk', $$SELECT iap.reopen('lm1', 'sue', 'x')$$),
    test.says('night', 'SELECT iap.withdraw_all_restored(7, now(), 10)::text'), test.says('desk', 'COMMIT');
SELECT is(
    test.says('owner', $$SELECT count(*)::text FROM iap.delivered_originals WHERE transaction_id = 'lm1'$$), '0',
    'what the desk takes back meanwhile takes no original');
-- What is owed becomes theirs for whom a server admitted what is withdrawn: while another session has it, that waits.
SELECT test.says('night', 'SELECT iap.withdraw_all_restored(7, now(), 10)::text'),
    test.says('server', test.admitting('lh1', 'lh1', 'mended', user_id => NULL)),
    test.says('server', test.admitting('lh2', 'lh1', 'mended', user_id => 'yul')),
    test.says('owner', 'BEGIN'),
    test.says('owner', $$SELECT place FROM iap.transactions WHERE transaction_id = 'lh1' FOR UPDATE$$);
SELECT is(test.says('night', 'SELECT iap.withdraw_all_restored(7, now(), 10)::text'), '0', 'nothing is withdrawn');
SELECT test.says('owner', 'ROLLBACK');
SELECT is(test.says('night', 'SELECT iap.withdraw_all_restored(7, now(), 10)::text'), '1', 'until that is free');
SELECT is(
    test.says('owner', $$SELECT admitted_user_id FROM iap.transactions WHERE transaction_id = 'lh1'$$), 'yul',
    'and then whose it is goes with it');
-- A purge waits for nobody who has a receipt in hand.
SELECT test.says('server', $$SELECT iap.submit_receipt('com.example.a', 'pam', 'a receipt of pam''s')::text$$) AS pams
\gset
SELECT test.says('owner', format(
    'UPDATE iap.receipts
    SET state = ''settled'', next_attempt_at = NULL, verified_at = %1$L, last_attempt_at = %1$L
    WHERE user_id = ''pam''', now()));
SELECT test.says('server', 'BEGIN'),
    test.says('server', $$
        SELECT iap.submit_receipt(
            'com.example.a', 'pam', 'a receipt of pam''s', device => '{"model": "iPad"}')::text$$);
CREATE FUNCTION test.purging(receipt bigint) RETURNS text
LANGUAGE sql AS $$
    SELECT format('SELECT iap.purge_payloads((%s & 63)::smallint, now(), 10)::text', $1)
$$;
SELECT is(test.waits('night', test.purging(:pams)), false, 'a purge passes over what a server has in hand');
SELECT is(test.ends('night'), '0', 'which keeps its payload');
SELECT test.says('server', 'COMMIT');
SELECT is(test.says('night', test.purging(:pams)), '1', 'until that is over');
SELECT is(test.says('privacy', 'BEGIN ISOLATION LEVEL REPEATABLE READ'), 'BEGIN', 'with an old snapshot');
SELECT is(
    test.says('privacy', $$SELECT iap.erase_user('zoe', 'pat', true) ->> 'outcome'$$), '55000',
    'nobody is erased, for what others write is not seen');
SELECT test.says('privacy', 'ROLLBACK');

SELECT dblink_disconnect(session) FROM unnest(dblink_get_connections()) AS session;
SELECT * FROM finish();
ROLLBACK;
