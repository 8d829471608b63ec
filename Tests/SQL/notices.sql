-- iap.take_notices: what Apple tells by itself is kept once, and what it tells of a known purchase changes that.
BEGIN;
SELECT no_plan();

-- A notice, signed so many days from now on, with what it says of its purchase: of a refund only where it says when.
CREATE TYPE test.told AS (v iap.verified, n iap.notice);
CREATE FUNCTION test.notice(
    transaction_id text, type text, days integer DEFAULT 0, refunded integer DEFAULT NULL, quantity integer DEFAULT 1,
    uuid text DEFAULT NULL, sending text DEFAULT NULL, attempts integer DEFAULT NULL, signed text DEFAULT NULL
) RETURNS test.told
LANGUAGE plpgsql AS $$
DECLARE
    v iap.verified := test.heard(
        transaction_id, 'local', quantity => quantity, verified_at => now() + days * interval '1 day',
        exclusion => CASE WHEN refunded IS NOT NULL THEN 'refunded' END,
        refunded_at => now() + refunded * interval '1 day');
    n iap.notice;
BEGIN
    n.transaction_id := v.transaction_id;
    n.bundle_id := v.bundle_id;
    n.environment := v.environment;
    n.notice_uuid := coalesce(uuid, concat_ws(' ', type, transaction_id, days));
    n.type := type;
    n.signed_at := v.verified_at;
    n.heard_by := CASE WHEN sending IS NULL THEN 'app_server' ELSE 'history' END;
    n.sending := sending;
    n.attempts := attempts;
    n.signed_transaction := signed;
    RETURN ROW(v, n);
END
$$;
-- A batch of them: how many are new, the numbers of those whose purchases nobody knows, and how many receipts they
-- make.
CREATE FUNCTION test.tell(VARIADIC notices test.told[]) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, iap, pg_temp AS $$
DECLARE
    answer text;
BEGIN
    SET LOCAL ROLE iap_job;
    CREATE TEMPORARY TABLE heard OF iap.verified;
    CREATE TEMPORARY TABLE told OF iap.notice;
    INSERT INTO heard
    SELECT DISTINCT ON ((v).transaction_id) (v).*
    FROM unnest(notices)
    ORDER BY (v).transaction_id, (v).verified_at DESC;
    INSERT INTO told SELECT (n).* FROM unnest(notices);
    UPDATE heard SET number = (SELECT count(*) FROM heard AS h WHERE h.transaction_id <= heard.transaction_id);
    UPDATE told SET number = heard.number FROM heard WHERE heard.transaction_id = told.transaction_id;
    SELECT concat_ws(
        ' ', fresh, unknown::text, locked::text, held_since - now(), nullif(iap.hand_in(unknown, iap.present()), 0))
    INTO answer
    FROM iap.take_notices(1, iap.present());
    DROP TABLE heard, told;
    RESET ROLE;
    RETURN answer;
END
$$;
CREATE FUNCTION test.place(transaction_id text) RETURNS text
LANGUAGE sql AS $$
    SELECT coalesce(reason, place) FROM iap.transactions AS t WHERE t.transaction_id = $1 AND environment = 'Production'
$$;

-- Kept once.
SELECT is(
    test.tell(test.notice('9', 'REFUND', refunded => 0), test.notice('10', 'TEST')), '2 {1,2}', 'of what nobody knows');
SELECT is_empty('SELECT FROM iap.transactions', 'nothing enters by itself');
SELECT is(test.tell(test.notice('10', 'TEST')), '0 {1}', 'told again it is not new');
SELECT test.tell(test.notice('11', 'TEST', uuid => 'u', sending => 'retrying', attempts => 1)),
    test.tell(
        test.notice('11', 'TEST', uuid => 'u', sending => 'retrying', attempts => 2),
        test.notice('11', 'TEST', uuid => 'u', sending => 'failed', attempts => 3));
SELECT results_eq(
    $$SELECT sending, attempts FROM iap.notices WHERE notice_uuid = 'u'$$, $$VALUES ('failed', 3)$$,
    'but how its sending went is as it was told last');
SELECT is(test.tell(test.notice('11', 'TEST', uuid => 'u')), '0 {1}', 'the app''s server hands it on');
SELECT results_eq(
    $$SELECT sending, attempts FROM iap.notices WHERE notice_uuid = 'u'$$, $$VALUES ('failed', 3)$$,
    'which says nothing of that');

SELECT set_config('iap.present', (now() + interval '1 hour')::text, true);
SELECT is(
    test.tell(test.notice('11', 'TEST', uuid => 'u', sending => 'sent', attempts => 4)), '0 {1}',
    'that it was sent at last makes it no new one');
SELECT set_config('iap.present', now()::text, true);

SELECT test.tell(ROW((told).v, jsonb_populate_record((told).n, how))::test.told)
FROM (
    VALUES
        (test.notice('11', 'TEST', uuid => 'v', sending => 'retrying', attempts => 1),
            '{"last_result": "TIMED_OUT", "last_attempt_at": "2026-03-01Z"}'::jsonb),
        (test.notice('11', 'TEST', uuid => 'v', sending => 'retrying', attempts => 2),
            '{"last_result": "TLS_ISSUE", "last_attempt_at": "2026-03-02Z"}')
) AS tries (told, how);
SELECT results_eq(
    $$SELECT last_result, last_attempt_at FROM iap.notices WHERE notice_uuid = 'v'$$,
    $$VALUES ('TLS_ISSUE', '2026-03-02Z'::timestamptz)$$, 'how the last try went, and when');
SELECT is(
    test.tell(test.notice('11', 'TEST', uuid => 'v', sending => 'retrying', attempts => 2)), '0 {1}',
    'what the same page tells again is no new one either');

-- What is signed of a purchase that nobody knows goes into the inbox, as it was signed last, of nobody.
SELECT test.hear(test.heard('14'));
SELECT is(
    test.tell(
        test.notice('12', 'SUBSCRIBED', signed => 'of 12'), test.notice('12', 'DID_RENEW', 1, signed => 'of 12, later'),
        test.notice('13', 'TEST'), test.notice('14', 'TEST', signed => 'of 14')),
    '4 {1,2} 1', 'of those that come signed');
SELECT is(test.tell(test.notice('12', 'DID_RENEW', 1, signed => 'of 12, later')), '0 {1}', 'once');
-- As the job, which wrote it: on a cluster nobody else reads it in the same transaction.
SELECT is(
    test.run_as(
        'iap_job',
        $$SELECT string_agg(ROW(payload, user_id, state, notices.type)::text, '; ')
        FROM iap.receipts JOIN iap.notices USING (receipt_id)$$),
    '("of 12, later",,waiting,DID_RENEW)', 'and its notice names the receipt');

-- What only the app's server said it corrects; what Apple was asked it does not.
SELECT test.hear(jsonb_populate_record(test.heard('20', 'server_api'), others.here))
FROM (VALUES ('{"bundle_id": "com.example.b"}'::jsonb), ('{"environment": "Sandbox"}')) AS others (here);
SELECT test.admit('20', quantity => 3), test.hear(test.heard('21', quantity => 3)),
    test.hear(test.heard('22', 'local', quantity => 3));
SELECT is(
    test.tell(
        test.notice('20', 'ONE_TIME_CHARGE'), test.notice('21', 'ONE_TIME_CHARGE'),
        test.notice('22', 'ONE_TIME_CHARGE')),
    '3 {}', 'known');
CREATE FUNCTION test.source(transaction_id text) RETURNS text
LANGUAGE sql AS $$
    SELECT source || ' ' || quantity FROM iap.transactions AS t
    WHERE t.transaction_id = $1 AND bundle_id = 'com.example.a' AND environment = 'Production'
$$;
SELECT is(test.source('20'), 'local 1', 'the signature of Apple''s counts');
SELECT is(test.source('21'), 'verify_receipt 3', 'as no more than that');
SELECT is(test.source('22'), 'local 3', 'nor than what was signed before');

-- That a refund was taken back counts, whatever told of the refund, and when; but not of a later refund, nor any other
-- notice that is older than what is known.
SELECT test.hear(test.heard(id, 'server_api', exclusion => 'refunded', refunded_at => now() - interval '3 days'))
FROM unnest(ARRAY['30', '31', '32']) AS id;
SELECT test.tell(
    test.notice('30', 'REFUND_REVERSED', -1), test.notice('31', 'REFUND_REVERSED', -5),
    test.notice('32', 'CONSUMPTION_REQUEST', -1));
SELECT is(test.place('30'), 'white', 'what was refunded is owed again when that is taken back');
SELECT is(test.place('31'), 'refunded', 'what was refunded since is not');
SELECT is(test.place('32'), 'refunded', 'nor is it by a notice of another kind');
-- However soon after it.
SELECT test.hear(test.heard(id, 'server_api')), test.tell(test.notice(id, type, 1, refunded => 1))
FROM (VALUES ('36', 'REFUND'), ('37', 'REVOKE')) AS told (id, type);
SELECT is(test.place(id), 'refunded', 'Apple tells of a refund: ' || id) FROM unnest(ARRAY['36', '37']) AS id;
SELECT test.tell(ROW(
    jsonb_populate_record((told).v, jsonb_build_object('verified_at', now() + interval '1 day 30 seconds')),
    jsonb_populate_record((told).n, jsonb_build_object('signed_at', now() + interval '1 day 30 seconds')))::test.told)
FROM unnest(ARRAY['36', '37']) AS id
CROSS JOIN LATERAL (SELECT test.notice(id, 'CONSUMPTION_REQUEST', 1) AS told) AS request;
SELECT is(test.place(id), 'refunded', 'of which a notice of another kind need not know yet: ' || id)
FROM unnest(ARRAY['36', '37']) AS id;
SELECT test.tell(ROW(
    jsonb_populate_record((told).v, jsonb_build_object('verified_at', now() + interval '1 day 1 minute')),
    jsonb_populate_record((told).n, jsonb_build_object('signed_at', now() + interval '1 day 1 minute')))::test.told)
FROM (SELECT test.notice('36', 'REFUND_REVERSED', 1) AS told) AS reversal;
SELECT is(test.place('36'), 'white', 'and takes it back a minute later');
SELECT is(
    (SELECT refund_reversed_at FROM iap.transactions WHERE transaction_id = '36'),
    now() + interval '1 day 1 minute', 'as it was signed');
-- Of which only a signature is known: what Apple says next is its own word.
SELECT test.hear(test.heard(
    id, 'local', exclusion => 'refunded', refunded_at => now() - interval '3 days',
    verified_at => now() - interval '3 days'))
FROM unnest(ARRAY['33', '34']) AS id;
SELECT test.tell(test.notice('33', 'REFUND_REVERSED', -1), test.notice('34', 'CONSUMPTION_REQUEST', -4));
SELECT is(test.place('33'), 'white', 'also where a signature told of the refund');
SELECT test.tell(test.notice('34', 'REFUND', -2, refunded => -3));
SELECT is(test.source('34'), 'local 1', 'that a refund is told of again is a signature, too');
SELECT test.hear(test.heard('35', exclusion => 'refunded', refunded_at => now() - interval '3 days'));
SELECT test.tell(test.notice('35', 'REFUND_REVERSED', -1));
SELECT is(test.place('35') || ' ' || test.source('35'), 'white verify_receipt 1', 'what else told of it is no better');
SELECT is(test.place('34'), 'refunded', 'and what was signed before it says nothing');
SELECT is(
    test.hear(test.heard('34', 'verify_receipt')), 'white',
    'so that a newer answer of Apple''s takes it back, whatever it was that Apple was asked');

-- Of the other ids under which a purchase was refunded the reversal tells nothing: what holds it is verified again, by
-- the same night.
CREATE TABLE test.watched (transaction_id text, at timestamptz);
CREATE OR REPLACE FUNCTION iap.watch_again(changes iap.change[], at timestamptz DEFAULT now()) RETURNS void
LANGUAGE sql SECURITY DEFINER AS $$
    INSERT INTO test.watched SELECT (c.was).transaction_id, $2 FROM unnest($1) AS c
$$;
SELECT test.hear(test.heard(
    id, 'server_api', product_id => 'skin', product_type => 'non_consumable', original_transaction_id => original,
    exclusion => 'refunded', refunded_at => now() - interval '3 days'))
FROM (VALUES ('38', '38'), ('39', '38'), ('42', '42')) AS bought (id, original);
SELECT test.tell(test.notice('38', 'CONSUMPTION_REQUEST', -1));
SELECT is_empty('SELECT FROM test.watched', 'what Apple tells of a refund that stands asks nothing');
SELECT set_config('iap.present', (now() - interval '1 hour')::text, true);
SELECT test.tell(test.notice('38', 'REFUND_REVERSED', -1), test.notice('42', 'REFUND_REVERSED', -1));
SELECT results_eq(
    'SELECT * FROM test.watched', $$VALUES ('38', now() - interval '1 hour')$$,
    'one that it took back under one of two ids asks of the other');
SELECT set_config('iap.present', now()::text, true);

-- A refund.
SELECT test.admit('40'), test.claim('40'), test.admit('41');
SELECT test.admit('41', environment => 'Sandbox');
SELECT is(
    test.tell(test.notice('40', 'REFUND', refunded => 0), test.notice('41', 'REFUND', refunded => 0)), '2 {}', 'new');
SELECT results_eq(
    $$SELECT transaction_id, environment, place, refunded_at
    FROM iap.transactions WHERE transaction_id IN ('40', '41') ORDER BY 1, 2$$,
    $$VALUES
        ('40' COLLATE "C", 'Production', 'black', now()), ('41', 'Production', 'excluded', now()),
        ('41', 'Sandbox', 'white', NULL)$$,
    'what was delivered stays delivered, and what was not is not owed');

-- What tells of a purchase that another session has locked is kept by a later night, which hears it: that of others is.
CREATE OR REPLACE FUNCTION iap.hear_patiently(
    numbers integer[], run bigint, at timestamptz, OUT entered integer[], OUT known iap.standing[],
    OUT remaining integer[]
) LANGUAGE sql AS $$ SELECT '{}'::integer[], '{}'::iap.standing[], $1 $$;
SELECT is(
    test.tell(
        test.notice('41', 'REFUND_REVERSED', -1), test.notice('41', 'CONSUMPTION_REQUEST', -2),
        test.notice('50', 'TEST', -3)), '1 {2} {41} -2 days', 'how old what waits is');
SELECT is_empty(
    $$SELECT FROM iap.notices WHERE transaction_id = '41' AND type <> 'REFUND'$$, 'and it is not taken for heard');

-- How far the history was read, and of what, only grows; the last reading says how that went.
CREATE FUNCTION test.read(VARIADIC said text[]) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, iap, pg_temp AS $$
    SELECT iap.note_hearing(
        'com.example.a', 'Production', said[1]::timestamptz, said[2]::timestamptz, said[3]::timestamptz,
        said[4]::timestamptz, said[5])
$$;
SELECT test.read('2026-03-02Z', '2026-03-05Z', '2026-03-04Z', '2026-03-05Z', 'cut short'),
    test.read('2026-03-03Z', '2026-03-04Z', '2026-03-03Z', '2026-03-06Z', NULL);
SELECT results_eq(
    $$SELECT heard_from, heard_through, last_signed_at, heard_at, problem FROM iap.hearings$$,
    $$VALUES (
        '2026-03-02Z'::timestamptz, '2026-03-05Z'::timestamptz, '2026-03-04Z'::timestamptz, '2026-03-06Z'::timestamptz,
        NULL::text)$$, 'what was read once stays read');
SELECT test.read('2026-03-01Z', '2026-03-07Z', '2026-03-06Z', '2026-03-07Z', NULL);
SELECT results_eq(
    $$SELECT heard_from, heard_through, last_signed_at FROM iap.hearings$$,
    $$VALUES ('2026-03-01Z'::timestamptz, '2026-03-07Z'::timestamptz, '2026-03-06Z'::timestamptz)$$,
    'and is read on, either way');

SELECT is(test.moved_tally(), test.white_tally(), 'the moves explain the white table');
-- As the job, which wrote all of them.
GRANT USAGE ON SCHEMA test TO iap_job;
GRANT SELECT ON test.misfits TO iap_job;
SELECT is(test.run_as('iap_job', 'SELECT count(*) FROM test.misfits'), '0', 'every row fits its seal');
SELECT * FROM finish();
ROLLBACK;
