-- What was refunded under several ids, where Apple tells of one that it took the refund back.
BEGIN;
SELECT no_plan();
SET LOCAL search_path = public, iap;

-- As a night does that hears of it, and then looks at what is owed once.
CREATE FUNCTION test.night(at timestamptz) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_job', format('SELECT iap.release_restored(7, %L)', at))
        || test.run_as('iap_job', format('SELECT iap.withdraw_all_restored(7, %L, 10)', at))
        || test.run_as('iap_job', format('SELECT iap.carry_refunds(7, %L)', at))
$$;
CREATE FUNCTION test.hear_skin(id text, original text, refunded interval, told interval) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        id, 'local', product_id => 'skin', product_type => 'non_consumable', original_transaction_id => original,
        exclusion => CASE WHEN refunded IS NOT NULL THEN 'refunded' END, refunded_at => now() + refunded,
        verified_at => now() + told))
$$;
CREATE FUNCTION test.reverse(id text, told interval) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO iap.notices (
        transaction_id, bundle_id, environment, notice_uuid, type, signed_at, heard_at, heard_by, first_run_id)
    VALUES (
        id, 'com.example.a', 'Production', 'reversed ' || id, 'REFUND_REVERSED', now() + told, now() + told,
        'app_server', 1)
$$;
CREATE FUNCTION test.places(original text) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT concat_ws(' ', transaction_id, coalesce(reason, place), refunded_at - now())
    FROM iap.transactions
    WHERE original_transaction_id = $1
    ORDER BY transaction_id
$$;

-- Bought, refunded, seen restored while it was refunded, and taken back under the first id: a client's signature of the
-- other one takes nothing back, and Apple is never asked.
SELECT test.hear_skin('1A', '1A', NULL, '0'), test.hear_skin('1A', '1A', '1 day', '1 day'), test.night(now());
SELECT test.hear_skin('1B', '1A', '1 day', '2 days'), test.night(now() + interval '2 days');
SELECT results_eq(
    $$SELECT test.places('1A')$$, $$VALUES ('1A refunded 1 day'), ('1B restored 1 day')$$, 'refunded under both ids');
SELECT test.reverse('1A', '3 days'), test.hear_skin('1A', '1A', NULL, '3 days');
SELECT test.night(now() + interval '3 days');
SELECT results_eq($$SELECT test.places('1A')$$, $$VALUES ('1A white'), ('1B restored')$$, 'is owed once more, once');
SELECT is(
    (SELECT refund_reversed_at FROM iap.transactions WHERE transaction_id = '1B'), now() + interval '3 days',
    'from when on Apple said so');
SELECT test.hear_skin('1B', '1A', '1 day', '2 days'), test.night(now() + interval '4 days');
SELECT results_eq(
    $$SELECT test.places('1A')$$, $$VALUES ('1A white'), ('1B restored')$$,
    'however often what was signed before is read again');
SELECT is(test.claim('1A'), 'delivered', 'and is delivered');

-- The id that stood for the refund is the other one.
SELECT test.hear_skin('2A', '2A', NULL, '0'), test.hear_skin('2B', '2A', '1 day', '1 day'), test.night(now());
SELECT results_eq(
    $$SELECT test.places('2A')$$, $$VALUES ('2A restored'), ('2B refunded 1 day')$$,
    'withdrawn for another id''s sake');
SELECT test.reverse('2A', '3 days'), test.night(now() + interval '3 days');
SELECT results_eq($$SELECT test.places('2A')$$, $$VALUES ('2A white'), ('2B restored')$$, 'is owed as that is not');

-- Of what enters after Apple took its refund back.
SELECT test.hear_skin('3A', '3A', NULL, '0'), test.reverse('3A', '3 days'), test.night(now() + interval '3 days');
SELECT test.hear_skin('3B', '3A', '1 day', '2 days'), test.night(now() + interval '4 days');
SELECT results_eq(
    $$SELECT test.places('3A')$$, $$VALUES ('3A white'), ('3B restored')$$, 'an old word of another id takes nothing');

-- Delivered, and refunded by Apple's word on both.
SELECT test.hear_skin('4A', '4A', NULL, '0'), test.claim('4A'), test.hear_skin('4A', '4A', '1 day', '1 day');
SELECT test.hear_skin('4B', '4A', '1 day', '1 day'), test.night(now() + interval '2 days');
SELECT test.reverse('4B', '3 days'), test.hear_skin('4B', '4A', NULL, '3 days');
SELECT test.night(now() + interval '3 days');
SELECT results_eq(
    $$SELECT test.places('4A')$$, $$VALUES ('4A black'), ('4B restored')$$, 'what was delivered is paid for again');

-- Refunded, taken back, and refunded once more for another share, before a night hears of either: the refund of what
-- was delivered under another id is the one that Apple tells of by now, and is taken back with it.
CREATE FUNCTION test.refund_share(id text, percentage integer, refunded interval, told interval) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        id, 'local', product_id => 'skin', product_type => 'non_consumable', exclusion => 'refunded',
        refunded_at => now() + refunded, verified_at => now() + told, revocation_type => 'REFUND_PRORATED',
        revocation_percentage => percentage))
$$;
CREATE FUNCTION test.share(id text) RETURNS text
LANGUAGE sql AS $$
    SELECT concat_ws(' ', place, refunded_at - now(), revocation_percentage)
    FROM iap.transactions AS t WHERE t.transaction_id = $1
$$;
SELECT test.hear_skin('9B', '9A', NULL, '0'), test.claim('9B');
SELECT test.refund_share('9A', 90000, '1 day', '1 day'), test.night(now() + interval '1 day');
SELECT is(test.share('9B'), 'black 1 day 90000', 'carried to what was delivered');
SELECT test.reverse('9A', '2 days'), test.refund_share('9A', 30000, '3 days', '3 days'),
    test.night(now() + interval '3 days');
SELECT is(test.share('9B'), 'black 3 days 30000', 'the later refund takes the place of the earlier');
SELECT results_eq(
    $$SELECT test.moves('9B')$$,
    $$VALUES ('claimed white > claim'), ('refunded claim > claim'), ('refund_reversed claim > claim'),
        ('refunded claim > claim')$$,
    'as if the first had been taken back before');
SELECT test.night(now() + interval '4 days');
SELECT is(test.share('9B'), 'black 3 days 30000', 'once');
SELECT test.hear(test.heard(
    '9A', 'server_api', product_id => 'skin', product_type => 'non_consumable',
    verified_at => now() + interval '5 days'));
SELECT test.night(now() + interval '5 days');
SELECT is(test.share('9B'), 'black', 'and is taken back as Apple takes it back');

-- What stays.
SELECT test.hear_skin(original || 'A', original, NULL, '0'), test.reverse(original || 'A', '3 days')
FROM unnest('{5,6,7,8}'::text[]) AS original;
SELECT test.hear_skin('5B', '5', '3.5 days', '3.5 days'), test.hear_skin('6B', '6', '2 days', '3 days 61 minutes'),
    test.hear_skin('7B', '7', NULL, '0');
SELECT test.resolve('7B', 'refunded');
SELECT test.hear(test.heard('8B', 'local', exclusion => 'refunded', refunded_at => now() + interval '1 day',
    original_transaction_id => '8', product_type => 'consumable'));
SELECT test.night(now() + interval '4 days');
SELECT results_eq(
    $$SELECT test.places('5')$$, $$VALUES ('5A restored'), ('5B refunded 3 days 12:00:00')$$, 'a later one');
SELECT results_eq(
    $$SELECT test.places('6')$$, $$VALUES ('6A restored'), ('6B refunded 2 days')$$,
    'one that Apple still tells of long after');
SELECT is(
    (SELECT reason FROM iap.transactions WHERE transaction_id = '7B'), 'refunded', 'what a person called refunded');
SELECT results_eq(
    $$SELECT test.places('8')$$, $$VALUES ('8A white'), ('8B refunded 1 day')$$, 'and another purchase''s');

SELECT is(test.moved_tally(), test.white_tally(), 'the moves explain the white table');
SELECT is_empty('SELECT * FROM test.misfits', 'every row fits its seal');
SELECT * FROM finish();
ROLLBACK;
