-- What Apple says of refunds, in whatever order its words come, and what becomes of what was delivered.
BEGIN;
SELECT plan(70);
SET search_path = iap, test, public;

CREATE FUNCTION pg_temp.held(patch jsonb) RETURNS iap.transactions
LANGUAGE sql AS $$
    SELECT jsonb_populate_record(
        NULL::iap.transactions,
        '{"transaction_id": "1", "bundle_id": "com.example.a", "environment": "Production", "place": "black",
        "original_transaction_id": "1", "product_id": "gold", "product_type": "consumable", "quantity": 1,
        "purchased_at": "2026-03-01T00:00Z", "is_trial": false, "source": "verify_receipt",
        "verified_at": "2026-03-05T19:00Z", "booked_milliunits": 4990, "booked_currency": "USD", "booked_as": "list",
        "entry_id": 1, "first_seen_at": "2026-03-02T19:00Z", "nights_confirmed": 1,
        "last_confirmed_at": "2026-03-02T19:00Z", "user_id": "ann", "delivered_by": "claim",
        "delivered_at": "2026-03-03T08:00Z", "refunded_at": "2026-03-05T13:00Z", "refund_reason": "0",
        "refund_run_id": 4, "seal": 1}' || patch)
$$;
-- A notification of the refund, signed before the night that heard of it from verifyReceipt, and handed on after it.
CREATE FUNCTION pg_temp.told(patch jsonb) RETURNS iap.verified
LANGUAGE sql AS $$
    SELECT jsonb_populate_record(
        NULL::iap.verified,
        '{"number": 1, "transaction_id": "1", "bundle_id": "com.example.a", "environment": "Production",
        "original_transaction_id": "1", "product_id": "gold", "quantity": 1, "purchased_at": "2026-03-01T00:00Z",
        "is_trial": false, "source": "local", "verified_at": "2026-03-05T13:30Z", "refunded_at": "2026-03-05T13:00Z",
        "refund_reason": "0", "revocation_type": "REFUND_PRORATED", "revocation_percentage": 33333,
        "exclusion": "refunded"}' || patch)
$$;
CREATE FUNCTION pg_temp.became(held jsonb, told jsonb) RETURNS iap.transactions
LANGUAGE sql AS $$
    SELECT iap.heard(pg_temp.held(held), pg_temp.told(told), 5, '2026-03-06T19:00Z')
$$;

SELECT ok(iap.is_news(pg_temp.held('{}'), pg_temp.told('{}')), 'an older word of what kind it is says something new');
SELECT results_eq(
    $$SELECT revocation_type, revocation_percentage FROM pg_temp.became('{}', '{}')$$,
    $$VALUES ('REFUND_PRORATED', 33333)$$, 'and is taken');
SELECT results_eq(
    $$SELECT place, refunded_at, refund_run_id, verified_at, source::text FROM pg_temp.became('{}', '{}')$$,
    $$VALUES ('black', '2026-03-05T13:00Z'::timestamptz, 4::bigint, '2026-03-05T19:00Z'::timestamptz,
        'verify_receipt')$$,
    'for the refund that it was, and nothing else of it');
SELECT is(
    (pg_temp.became('{}', '{"refunded_at": "2026-03-04T13:00Z"}')).revocation_type, NULL,
    'of another refund an older word says nothing');
SELECT is(
    (pg_temp.became('{}', jsonb_build_object('refunded_at', '2026-03-05T13:00Z'::timestamptz + off))).revocation_type,
    kind, 'and one that is told ' || off || ' off is ' || CASE WHEN kind IS NULL THEN 'another' ELSE 'the same' END)
FROM (
    VALUES
        (interval '0.345 seconds', 'REFUND_PRORATED'), ('-0.345 seconds', 'REFUND_PRORATED'), ('-1 second', NULL)
) AS told (off, kind);
SELECT is(
    (pg_temp.became('{"revocation_type": "REFUND_FULL", "revocation_percentage": 100000}', '{}')).revocation_type,
    'REFUND_FULL', 'nor where the kind is known');
SELECT is(
    (pg_temp.became(
        '{"revocation_type": "REFUND_FULL", "revocation_percentage": 100000}',
        '{"verified_at": "2026-03-05T20:00Z"}')).revocation_type,
    'REFUND_PRORATED', 'a later word corrects it');
SELECT is(
    (pg_temp.became(
        '{"revocation_type": "REFUND_FULL", "revocation_percentage": 100000}',
        '{"verified_at": "2026-03-05T19:00Z"}')).revocation_type,
    'REFUND_PRORATED', 'or one of that moment');
SELECT is(
    (pg_temp.became('{}', '{"verified_at": "2026-03-05T20:00Z", "refunded_at": "2026-03-05T19:30Z"}')).refunded_at,
    '2026-03-05T19:30Z'::timestamptz, 'and when it was');
SELECT is(
    (pg_temp.became('{"refund_run_id": null}', '{}')).revocation_type, 'REFUND_PRORATED',
    'what the support desk said Apple knows better');
SELECT is(
    (pg_temp.became('{"refund_reversed_at": "2026-03-05T14:00Z", "refunded_at": null, "refund_run_id": null}',
        '{}')).refunded_at,
    NULL, 'a word from before it was reversed says nothing');
SELECT is((pg_temp.became('{}', '{"revocation_type": null, "revocation_percentage": null}')).revocation_type, NULL,
    'a word without a kind gives none');
SELECT is(
    (pg_temp.became(
        '{"place": "excluded", "reason": "refunded", "excluded_at": "2026-03-05T19:00Z", "excluded_run_id": 4,
        "user_id": null, "delivered_by": null, "delivered_at": null}', '{}')).revocation_percentage,
    33333, 'what was never delivered is refunded by its share, too');
SELECT is(
    (pg_temp.became('{}', '{"source": "server_api"}')).revocation_percentage, 33333, 'whoever tells it');

SELECT is(
    iap.is_later_refund(
        (pg_temp.told('{"refunded_at": "2026-03-05T13:00:01Z"}')).refunded_at, (pg_temp.held('{}')).refunded_at), true,
    'a second later it is another one');

-- Words in any order.
CREATE FUNCTION pg_temp.unrefunded(patch jsonb) RETURNS jsonb LANGUAGE sql AS $$
    SELECT '{"refunded_at": null, "refund_reason": null, "refund_run_id": null}'::jsonb || patch
$$;
SELECT is(
    (pg_temp.became(pg_temp.unrefunded('{"source": "server_api"}'), '{}')).refunded_at, NULL,
    'a refund that Apple knew of no more in a later answer of the customer''s history is none');
SELECT isnt(
    (pg_temp.became(
        pg_temp.unrefunded('{"source": "server_api", "verified_at": "2026-03-05T13:45Z"}'), '{}')).refunded_at,
    NULL, 'Apple may know it minutes late');
SELECT isnt(
    (pg_temp.became(pg_temp.unrefunded('{}'), '{}')).refunded_at, NULL,
    'what Apple says of a receipt holds no refund that came after it was made');
-- A client's signature told of it, and what Apple asked before that comes late.
SELECT isnt(
    (pg_temp.became(
        '{"verified_at": "2026-03-01T19:00Z"}',
        '{"source": "verify_receipt", "verified_at": "2026-03-05T12:00Z", "refunded_at": null, "exclusion": null}'
    )).refunded_at,
    NULL, 'a word from before a refund does not take it back');
INSERT INTO iap.notices (
    transaction_id, bundle_id, environment, notice_uuid, type, signed_at, heard_at, heard_by, first_run_id)
SELECT
    (t).transaction_id, (t).bundle_id, (t).environment, '11111111-1111-4111-8111-111111111111', 'REFUND_REVERSED',
    '2026-03-05T14:00Z', '2026-03-05T19:00Z', 'history', 4
FROM (SELECT pg_temp.became('{}', '{}') AS t) AS known;
SELECT is(
    (pg_temp.became(pg_temp.unrefunded('{}'), '{}')).refunded_at, NULL,
    'a refund that Apple took back before anybody heard of it is none');
SELECT is(
    (pg_temp.became(pg_temp.unrefunded('{}'), '{"verified_at": "2026-03-05T15:00Z"}')).refunded_at, NULL,
    'also where Apple tells of it up to an hour later');
SELECT isnt(
    (pg_temp.became(
        pg_temp.unrefunded('{}'), '{"verified_at": "2026-03-05T14:01Z", "refunded_at": "2026-03-05T14:00:30Z"}')
    ).refunded_at,
    NULL, 'one that came later is one');
SELECT isnt(
    (pg_temp.became(pg_temp.unrefunded('{}'), '{"verified_at": "2026-03-05T15:01Z"}')).refunded_at, NULL,
    'and one of which Apple still tells then');
SELECT is(
    (pg_temp.became(
        '{"source": "local", "verified_at": "2026-03-05T13:30Z"}',
        '{"verified_at": "2026-03-05T14:00Z", "refunded_at": null, "exclusion": null}')).refunded_at,
    NULL, 'a signature takes a refund back where Apple said that it did');
-- A receipt that was made while the refund stood holds it for ever, whenever Apple reads it.
CREATE FUNCTION pg_temp.read_again(was jsonb, made_at text) RETURNS timestamptz LANGUAGE sql AS $$
    SELECT (pg_temp.became(
        pg_temp.unrefunded(was),
        jsonb_build_object('source', 'verify_receipt', 'verified_at', '2026-03-06T19:00Z', 'made_at', $2))).refunded_at
$$;
SELECT is(
    pg_temp.read_again('{}', '2026-03-05T13:30Z'), NULL,
    'what a receipt tells that was made before a refund was taken back is none');
SELECT isnt(
    pg_temp.read_again('{}', '2026-03-05T15:01Z'), NULL, 'but where the receipt was made long after that');
DELETE FROM iap.notices;
SELECT is(
    pg_temp.read_again('{"refund_reversed_at": "2026-03-05T14:00Z"}', '2026-03-05T13:30Z'), NULL,
    'also where a later receipt told by holding it no more');
SELECT is(
    pg_temp.read_again('{"source": "server_api", "verified_at": "2026-03-05T15:00Z"}', '2026-03-05T13:30Z'), NULL,
    'or Apple''s answer of the customer''s history');
SELECT isnt(pg_temp.read_again('{}', '2026-03-05T13:30Z'), NULL, 'and is one where nobody told that');
SELECT isnt(
    pg_temp.read_again('{"refund_reversed_at": "2026-03-05T12:30Z"}', '2026-03-05T12:00Z'), NULL,
    'or that Apple adds to an older receipt, and that came after another was taken back');

-- What Apple reads from a receipt holds no refund that came after that was made, whenever it is read.
CREATE FUNCTION pg_temp.read_from(made_at text) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object(
        'source', 'verify_receipt', 'verified_at', '2026-03-06T19:00Z', 'made_at', made_at, 'refunded_at', NULL,
        'refund_reason', NULL, 'exclusion', NULL, 'revocation_type', NULL, 'revocation_percentage', NULL)
$$;
SELECT isnt(
    (pg_temp.became('{"refund_told_at": "2026-03-05T14:00Z"}', pg_temp.read_from('2026-03-05T13:59Z'))).refunded_at,
    NULL, 'an older receipt takes no refund back of which a later one told');
SELECT is(
    (pg_temp.became('{"refund_told_at": "2026-03-05T14:00Z"}', pg_temp.read_from('2026-03-05T14:00Z'))).refunded_at,
    NULL, 'the receipt itself that tells of it no more does');
SELECT is(
    (pg_temp.became('{"refund_told_at": "2026-03-05T14:00Z"}', pg_temp.read_from(NULL))).refunded_at, NULL,
    'and what Apple tells as it is now');
-- That of one purchase, as of iOS 6, says only when that was bought, though Apple adds the refund to what it answers.
SELECT isnt(
    (pg_temp.became('{"refund_told_at": "2026-03-01T00:00Z"}', pg_temp.read_from('2026-03-05T12:59Z'))).refunded_at,
    NULL, 'a receipt from before a refund does not take it back, whatever told of it');
SELECT is(
    (pg_temp.became('{"refund_told_at": "2026-03-01T00:00Z"}', pg_temp.read_from('2026-03-05T13:00Z'))).refunded_at,
    NULL, 'one that was made since does');
SELECT is(
    (pg_temp.became('{"refund_told_at": "2026-03-01T00:00Z"}', pg_temp.read_from('2026-03-01T00:00Z'))).refunded_at,
    NULL, 'and so does the one that told of it');
-- And it was taken back before that receipt was made: a refund that came after is another.
SELECT is(
    (pg_temp.became(patch, pg_temp.read_from(made_at))).refund_reversed_at, reversed_at::timestamptz,
    'taken back at ' || reversed_at)
FROM (
    VALUES
        ('{"refund_told_at": "2026-03-05T13:30Z"}'::jsonb, '2026-03-05T15:00Z', '2026-03-05T15:00Z'),
        ('{"refund_told_at": "2026-03-05T13:30Z"}', '2026-03-05T13:30Z', '2026-03-06T19:00Z'),
        ('{"refund_told_at": "2026-03-05T13:30Z"}', NULL, '2026-03-06T19:00Z')
) AS words (patch, made_at, reversed_at);
-- What Apple told by itself it answers of the customer's history minutes later.
CREATE FUNCTION pg_temp.asked_at(verified_at text) RETURNS timestamptz LANGUAGE sql AS $$
    SELECT (pg_temp.became(
        '{"source": "server_api", "verified_at": "2026-03-05T13:30Z", "refund_told_at": "2026-03-05T13:30Z"}',
        pg_temp.read_from(NULL) || jsonb_build_object('source', 'server_api', 'verified_at', $1))).refunded_at
$$;
SELECT is(
    pg_temp.asked_at('2026-03-05T13:31Z'), NULL, 'a history that knew of a refund takes it back at once');
INSERT INTO iap.notices (
    transaction_id, bundle_id, environment, notice_uuid, type, signed_at, heard_at, heard_by, first_run_id)
SELECT
    (t).transaction_id, (t).bundle_id, (t).environment, '11111111-1111-4111-8111-111111111111', 'REFUND',
    '2026-03-05T13:30Z', '2026-03-05T13:30Z', 'history', 4
FROM (SELECT pg_temp.became('{}', '{}') AS t) AS known;
SELECT isnt(pg_temp.asked_at('2026-03-05T14:29Z'), NULL, 'one that does not know it yet takes none back');
SELECT is(pg_temp.asked_at('2026-03-05T14:31Z'), NULL, 'one that still knows of none does');
SELECT is(
    (pg_temp.became('{"refund_told_at": "2026-03-05T13:30Z"}', pg_temp.read_from('2026-03-05T13:31Z'))).refunded_at,
    NULL, 'and so does a receipt that was made since');
DELETE FROM iap.notices;
SELECT isnt(
    (pg_temp.became(
        '{"source": "local", "verified_at": "2026-03-05T13:30Z", "refund_told_at": "2026-03-05T13:30Z"}',
        pg_temp.read_from('2026-03-02T10:00Z'))).refunded_at,
    NULL, 'a notification of a refund outlives the receipt of the purchase');
SELECT is(
    (pg_temp.became(pg_temp.unrefunded('{}'), '{"made_at": "2026-03-05T13:20Z", "verified_at": "2026-03-06T19:00Z"}'))
        .refund_told_at,
    '2026-03-05T13:20Z'::timestamptz, 'when what tells was made is kept');
SELECT is(
    test.hear(jsonb_populate_record(
        test.heard(
            'kept', exclusion => 'refunded', refunded_at => now() + interval '1 day',
            verified_at => now() + interval '2 days'),
        jsonb_build_object('made_at', now() + interval '1 day'))), 'refunded', 'a receipt tells of a refund');
SELECT is(
    test.hear(jsonb_populate_record(
        test.heard('kept', verified_at => now() + interval '3 days'), jsonb_build_object('made_at', now()))),
        'refunded',
    'and one that another user uploads, of before, does not make it owed again');

SELECT isnt(
    (pg_temp.became(
        '{"source": "local", "verified_at": "2026-03-05T13:30Z"}',
        '{"verified_at": "2026-03-05T14:00Z", "refunded_at": null, "exclusion": null}')).refunded_at,
    NULL, 'and not by itself');

-- A poorer word ends none, and an answer ends none of which Apple told after it, whatever it was that told.
SELECT test.hear(test.heard(
    'poorer', 'server_api', exclusion => 'refunded', refunded_at => now() - interval '2 days',
    verified_at => now() - interval '1 day'));
SELECT is(test.hear(test.heard('poorer')), 'refunded', 'a receipt may not know what a history does');
SELECT test.hear(test.heard('earlier', 'server_api', verified_at => now() - interval '3 days')),
    test.hear(test.heard('earlier', exclusion => 'refunded', refunded_at => now() - interval '2 days'));
SELECT is(
    test.hear(test.heard('earlier', 'server_api', verified_at => now() - interval '1 day')), 'refunded',
    'an answer may be recorded after a later one');

-- What a person called refunded, Apple has never refunded: that it tells of no refund is no news.
SELECT test.admit('by-desk'), test.resolve('by-desk', 'refunded');
SELECT is(
    test.hear(test.heard('by-desk', 'server_api', verified_at => now() + interval '1 day')), 'refunded',
    'the desk''s word stands');

-- Refunded, taken back, and refunded once more: Apple's word on that it was taken back comes last.
SELECT test.hear(test.heard('twice', source => 'local'));
SELECT test.hear(test.heard(
    'twice', source => 'local', exclusion => 'refunded', refunded_at => now() + moment, verified_at => now() + moment))
FROM (VALUES (interval '1 day'), ('5 days')) AS refunds (moment);
SELECT is(
    (SELECT refunded_at FROM iap.transactions WHERE transaction_id = 'twice'), now() + interval '5 days',
    'the later refund is the one that stands');
SELECT results_eq(
    $$SELECT test.moves('twice')$$, $$VALUES ('refunded white > refunded'), ('corrected refunded > refunded')$$,
    'and finance books it on its day');
INSERT INTO iap.notices (
    transaction_id, bundle_id, environment, notice_uuid, type, signed_at, heard_at, heard_by, first_run_id)
VALUES (
    'twice', 'com.example.a', 'Production', '22222222-2222-4222-8222-222222222222', 'REFUND_REVERSED',
    now() + interval '3 days', now() + interval '6 days', 'history', 4);
SELECT is(
    test.hear(test.heard('twice', source => 'local', verified_at => now() + interval '3 days')), 'refunded',
    'that the one before it was taken back takes it not back');
SELECT test.hear(test.heard(
    'twice', source => 'server_api', exclusion => 'refunded', refunded_at => now() + interval '5 days 0.9 seconds',
    verified_at => now() + interval '6 days'));
SELECT is(
    (SELECT refunded_at FROM iap.transactions WHERE transaction_id = 'twice'), now() + interval '5 days',
    'nor is one another that is told to the second');

-- What nobody knew when Apple took its refund back.
INSERT INTO iap.notices (
    transaction_id, bundle_id, environment, notice_uuid, type, signed_at, heard_at, heard_by, first_run_id)
SELECT
    id, 'com.example.a', 'Production', '33333333-3333-4333-8333-333333333333', 'REFUND_REVERSED',
    now() - interval '1 day', now(), 'history', 4
FROM unnest('{late,late2,late3,late4}'::text[]) AS id;
CREATE FUNCTION pg_temp.enter(id text, told interval, besides text DEFAULT NULL) RETURNS iap.recorded
LANGUAGE sql AS $$
    SELECT test.record(
        ARRAY[jsonb_populate_record(
            test.heard(
                id, source => 'local', exclusion => 'refunded', refunded_at => now() - interval '3 days',
                verified_at => now() - told, revocation_type => 'REFUND_FULL', revocation_percentage => 100000),
            jsonb_build_object('exclusion_besides', besides))],
        ARRAY[test.seen(64)])
$$;
SELECT results_eq(
    $$SELECT (newly_white)[1], excluded, watched FROM pg_temp.enter('late', '2 days')$$,
    $$VALUES (1::bigint, NULL::bigint[], '{64}'::bigint[])$$, 'of which Apple took the refund back enters as owed');
SELECT results_eq(
    $$SELECT place, refunded_at, refund_run_id, revocation_type FROM iap.transactions WHERE transaction_id = 'late'$$,
    $$VALUES ('white', NULL::timestamptz, NULL::bigint, NULL)$$, 'without it');
SELECT results_eq(
    $$SELECT (already_white)[1] FROM pg_temp.enter('late', '2 days')$$, $$VALUES (1::bigint)$$,
    'and stays so when it is told once more');
SELECT pg_temp.enter('late2', '2 days', 'before_start'), pg_temp.enter('late3', '1 hour');
SELECT results_eq(
    $$SELECT transaction_id, reason, refunded_at IS NOT NULL
    FROM iap.transactions WHERE transaction_id IN ('late2', 'late3') ORDER BY 1$$,
    $$VALUES ('late2' COLLATE "C", 'before_start', false), ('late3', 'refunded', true)$$,
    'what is not owed for another reason is not; and what Apple still tells long after that is refunded');
SELECT is(
    test.hear(test.heard(
        'late4', source => 'local', exclusion => 'family_shared', refunded_at => now() - interval '3 days',
        verified_at => now() - interval '2 days')), 'family_shared', 'nor is what somebody else paid for');

-- The support desk's refund becomes Apple's, and is taken back with it.
SELECT test.admit('desk');
SELECT test.resolve('desk', 'refunded');
SELECT test.hear(test.heard(
    'desk', source => 'server_api', exclusion => 'refunded', refunded_at => now() - interval '1 day',
    verified_at => now() - interval '1 day'));
SELECT results_eq(
    $$SELECT refund_run_id IS NOT NULL, refunded_at FROM iap.transactions WHERE transaction_id = 'desk'$$,
    $$VALUES (true, now() - interval '1 day')$$, 'Apple says when');
SELECT test.hear(test.heard('desk2', source => 'server_api')), test.resolve('desk2', 'refunded');
SELECT test.hear(test.heard(
    'desk2', source => 'server_api', exclusion => 'refunded', refunded_at => now() - interval '1 day'));
SELECT results_eq(
    $$SELECT refund_run_id IS NOT NULL, refunded_at FROM iap.transactions WHERE transaction_id = 'desk2'$$,
    $$VALUES (true, now() - interval '1 day')$$, 'also where it told of nothing else anew');
SELECT is(test.reopen('desk'), 'refunded', 'what Apple has refunded since is not opened again');
SELECT test.hear(test.heard('desk', source => 'server_api', verified_at => now() + interval '1 day'));
SELECT is(
    (SELECT place FROM iap.transactions WHERE transaction_id = 'desk'), 'white',
    'and is owed again when Apple takes it back');

-- What was granted, refunded, and taken back.
CREATE FUNCTION pg_temp.subscribe(id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    period iap.verified := test.heard(
        id, product_id => 'pass', product_type => 'auto_renewable', source => 'server_api',
        purchased_at => now() - interval '1 day');
BEGIN
    period.expires_at := now() + interval '29 days';
    PERFORM test.record(ARRAY[period]);
    PERFORM iap.entitle('com.example.a', id, 'ann', now() + interval '29 days');
    period.exclusion := 'refunded';
    period.refunded_at := now();
    period.verified_at := now() + interval '1 hour';
    PERFORM test.hear(period);
END
$$;
CREATE FUNCTION pg_temp.reverse(id text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.hear(test.heard(
        id, product_id => 'pass', product_type => 'auto_renewable', source => 'server_api',
        purchased_at => now() - interval '1 day', verified_at => now() + interval '2 days'));
    RETURN (SELECT place FROM iap.transactions WHERE transaction_id = id);
END
$$;
SELECT pg_temp.subscribe('s1'), pg_temp.subscribe('s2');
SELECT iap.revoke_entitlement('com.example.a', 's1');
SELECT is(
    (SELECT place FROM iap.transactions WHERE transaction_id = 's1'), 'black',
    'whose access was taken away with the money is not owed');
SELECT is(pg_temp.reverse('s1'), 'white', 'and is owed with it');
SELECT is(pg_temp.reverse('s2'), 'black', 'who kept the access has it');
SELECT is_empty(
    $$SELECT FROM iap.delivered_originals WHERE transaction_id = 's1'$$, 'what is owed again was not delivered');

SELECT * FROM finish();
ROLLBACK;
