-- A period of a subscription is paid once and owed once, under whatever id it is restored; and what Apple refunds under
-- one of several ids went back once.
BEGIN;
SELECT no_plan();
SET LOCAL search_path = public, iap;

CREATE FUNCTION test.places(original text) RETURNS text[]
LANGUAGE sql AS $$
    SELECT array_agg(transaction_id || ' ' || coalesce(reason, place) ORDER BY transaction_id)
    FROM iap.transactions
    WHERE original_transaction_id = $1
$$;
CREATE FUNCTION test.keep_owed_once() RETURNS text
LANGUAGE sql AS $$
    SELECT concat_ws(
        ' ', test.run_as('iap_job', 'SELECT iap.release_restored(7, now())'),
        test.run_as('iap_job', 'SELECT iap.withdraw_all_restored(7, now(), 10)'),
        test.run_as('iap_job', 'SELECT iap.carry_refunds(7, now())'))
$$;
CREATE FUNCTION test.taken(original text) RETURNS text[]
LANGUAGE sql AS $$
    SELECT array_agg(web_order_line_item_id || ' ' || transaction_id ORDER BY 1)
    FROM iap.delivered_originals
    WHERE original_transaction_id = $1
$$;

-- Two ids of a period, of which Apple told without any receipt; and the next period.
SELECT test.hear_period('a1', 'a0', 'w1'), test.hear_period('a2', 'a0', 'w1'), test.hear_period('a3', 'a0', 'w2', 30);
SELECT test.open_case('a2', '{ann}');
SELECT is(test.keep_owed_once(), '0 1 0', 'a night leaves one of its ids owed');
SELECT is(test.places('a0'), ARRAY['a1 white', 'a2 restored', 'a3 white'], 'and the next period');
SELECT is((SELECT closed_as FROM iap.cases WHERE transaction_id = 'a2'), 'withdrawn', 'with its case');
SELECT is(test.claim('a2'), 'delivered', 'either may be claimed');
SELECT is(test.claim('a1'), 'already_delivered', 'once');
SELECT is(test.claim('a3'), 'delivered', 'and the next one as well');
SELECT is(test.taken('a0'), ARRAY['w1 a1', 'w2 a3'], 'each period keeps itself from being delivered again');
SELECT is(test.keep_owed_once(), '0 0 0', 'once');

-- Delivered before Apple told of the other one; and by whatever delivers.
SELECT test.hear_period('b1', 'b0', 'w1'), test.hear_period('b2', 'b0', 'w1');
SELECT is(test.claim('b1'), 'delivered', 'a claim');
SELECT is(test.places('b0'), ARRAY['b1 black', 'b2 restored'], 'takes the other id out of white');
SELECT is(test.hear_period('b3', 'b0', 'w1'), 'white', 'what Apple tells of later');
SELECT is(test.claim('b3'), 'already_delivered', 'is delivered, as a claim finds');
SELECT is(test.places('b0'), ARRAY['b1 black', 'b2 restored', 'b3 restored'], 'which takes it out of white');
SELECT test.hear_period('b4', 'b0', 'w1');
SELECT is(test.keep_owed_once(), '0 1 0', 'and so does the night');
-- Also where the delivered one was noted nowhere but in its own row.
DELETE FROM iap.delivered_originals WHERE original_transaction_id = 'b0';
SELECT test.hear_period('b5', 'b0', 'w1'), test.hear_period('b6', 'b0', 'w2', 30);
SELECT is(test.claim('b5'), 'already_delivered', 'a claim finds it all the same');
SELECT is(test.claim('b6'), 'delivered', 'and delivers the next period');
SELECT is(test.taken('b0'), ARRAY['w1 b1', 'w2 b6'], 'which are noted both');
SELECT test.hear_period('c1', 'c0', 'w1'), test.hear_period('c2', 'c0', 'w1');
SELECT is(test.resolve('c1', 'delivered'), 'delivered', 'the desk');
SELECT is(test.places('c0'), ARRAY['c1 black', 'c2 restored'], 'as well');
SELECT is(test.reopen('c1'), 'reopened', 'taken back');
SELECT is(test.places('c0'), ARRAY['c1 white', 'c2 white'], 'both are owed');
SELECT is(test.taken('c0'), NULL, 'and nothing is delivered');
SELECT is(test.keep_owed_once(), '0 1 0', 'once');
SELECT is(test.claim('c2'), 'delivered', 'so that it can be claimed');
SELECT test.hear_period('d1', 'd0', 'w1'), test.hear_period('d2', 'd0', 'w1');
SELECT test.import(test.heard(
    'd1', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => 'd0'));
SELECT is(test.places('d0'), ARRAY['d1 black', 'd2 restored'], 'an import');
SELECT is(test.taken('d0'), ARRAY['w1 d1'], 'of what Apple told of');
SELECT test.import(test.heard(
    'e1', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => 'e0'));
SELECT is(test.taken('e0'), NULL, 'and where nobody knows the period yet');
SELECT is(test.hear_period('e1', 'e0', 'w1'), 'black', 'once Apple tells of it');
SELECT is(test.taken('e0'), ARRAY['w1 e1'], 'it is taken');
SELECT test.hear_period('e2', 'e0', 'w1');
SELECT is(test.claim('e2'), 'already_delivered', 'and not delivered again');

-- Or Apple told of it before by a receipt that names no period, and was believed as much.
SELECT test.hear_period('t1', 't0', NULL), test.claim('t1');
SELECT is(test.hear_period('t1', 't0', 'w1'), 'black', 'what was delivered is known to be a period');
SELECT is(test.taken('t0'), ARRAY['w1 t1'], 'that is taken');
SELECT is(test.hear_period('t2', 't0', 'w1'), 'white', 'so that under another id');
SELECT is(test.claim('t2'), 'already_delivered', 'it is not delivered again');

-- What no list knows the type of.
CREATE FUNCTION test.hear_unlisted(id text, original text, line_item text) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(jsonb_populate_record(
        test.heard(id, product_id => 'unheard.of', original_transaction_id => original),
        jsonb_build_object('web_order_line_item_id', line_item)))
$$;
SELECT test.hear_unlisted('f1', 'f0', 'w1'), test.hear_unlisted('f2', 'f0', 'w1'), test.hear_unlisted('f3', 'f0', 'w2');
SELECT is(test.claim('f1'), 'delivered', 'one period');
SELECT is(test.taken('f0'), ARRAY[' f1', 'w1 f1'], 'may be a purchase that is bought once');
SELECT is(test.claim('f2'), 'already_delivered', 'the same period is delivered');
SELECT is(test.claim('f3'), 'undecided', 'another one is for a person to decide');
SELECT is(test.taken('f0'), ARRAY[' f1', 'w1 f1'], 'and keeps nothing');
SELECT is(test.resolve('f3', 'delivered'), 'delivered', 'who did');

-- Refunded under another id: owed under none, and the desk delivers none.
SELECT test.hear_period('g1', 'g0', 'w1'), test.hear_period('g2', 'g0', 'w1', exclusion => 'refunded'),
    test.hear_period('g3', 'g0', 'w2', 30);
SELECT is(test.resolve('g1', 'delivered'), 'excluded', 'Apple has given the money back');
SELECT is(test.keep_owed_once(), '0 1 0', 'and the night withdraws it');
SELECT is(test.places('g0'), ARRAY['g1 restored', 'g2 refunded', 'g3 white'], 'but for the next period');
SELECT is(
    test.hear_period('g2', 'g0', 'w1', verified_at => now() + interval '3 days'), 'white',
    'until Apple takes that back');
SELECT is(test.keep_owed_once(), '0 0 0', 'under one id');
SELECT test.hear_period('h1', 'h0', 'w1'), test.hear_period('h2', 'h0', 'w1', exclusion => 'refunded'),
    test.keep_owed_once();
UPDATE iap.transactions SET reason = 'before_start' WHERE transaction_id = 'h2';
UPDATE iap.transactions AS t SET seal = audit.seal(t) WHERE transaction_id = 'h2';
SELECT is(
    test.hear_period('h2', 'h0', 'w1', exclusion => 'before_start', verified_at => now() + interval '3 days'),
    'before_start', 'or of what a setting keeps from being owed');
SELECT is(test.keep_owed_once(), '1 0 0', 'the other id is owed again');
SELECT is(test.places('h0'), ARRAY['h1 white', 'h2 before_start'], 'as it was');

-- A refund that Apple tells of first under another id than the delivered one counts once, for that one.
CREATE FUNCTION test.money(account text) RETURNS bigint
LANGUAGE sql AS $$
    SELECT coalesce(sum(booked_milliunits), 0)::bigint FROM iap.excluded WHERE reason = $1 AND product_id = 'pass'
$$;
SELECT test.close_books();
SELECT test.hear_period('i1', 'i0', 'w1'), test.claim('i1');
SELECT is(test.hear_period('i2', 'i0', 'w1', exclusion => 'refunded'), 'refunded', 'a refund of what is delivered');
SELECT is(test.keep_owed_once(), '0 0 1', 'is carried');
SELECT is(test.places('i0'), ARRAY['i1 black', 'i2 restored'], 'and its id is none of its own');
SELECT isnt((SELECT refunded_at FROM iap.black WHERE transaction_id = 'i1'), NULL,
    'it went back for the delivered one');
SELECT is(test.keep_owed_once(), '0 0 0', 'once');
SELECT is(
    test.hear_period('i2', 'i0', 'w1', exclusion => 'restored', verified_at => now() + interval '3 days'), 'restored',
    'where Apple takes it back');
SELECT is(test.keep_owed_once(), '0 0 1', 'the delivered one is paid again');
SELECT is((SELECT refunded_at FROM iap.black WHERE transaction_id = 'i1'), NULL, 'and counts so');
-- Delivered later, as a company tells; and what the desk had dismissed.
SELECT test.hear_period('j1', 'j0', 'w1', exclusion => 'refunded'), test.close_books(),
    test.hear_period('j2', 'j0', 'w1');
SELECT test.import(test.heard(
    'j2', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => 'j0'));
SELECT is(test.keep_owed_once(), '0 0 1', 'a delivery that an import tells of');
SELECT is(test.places('j0'), ARRAY['j1 restored', 'j2 black'], 'takes the refund over');
SELECT test.admit('k1', product_id => 'full'), test.admit('k2', 'k1', 'full');
SELECT is(test.resolve('k1', 'dismissed'), 'dismissed', 'one id that the desk dismissed');
SELECT is(
    test.import(test.heard(
        'k2', product_id => 'full', product_type => 'non_consumable', original_transaction_id => 'k1')),
    1::bigint, 'of what was delivered under the other');
SELECT test.hear(test.heard(
    'k1', product_id => 'full', product_type => 'non_consumable', exclusion => 'refunded', refunded_at => now()));
SELECT is(test.keep_owed_once(), '0 0 1', 'is refunded as that');
-- What a person called refunded stays with them.
SELECT test.hear_period('l1', 'l0', 'w1');
SELECT is(test.resolve('l1', 'refunded'), 'refunded', 'by a person''s word');
SELECT test.hear_period('l2', 'l0', 'w1');
SELECT test.import(test.heard(
    'l2', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => 'l0'));
SELECT is(test.keep_owed_once(), '0 0 0', 'nothing is carried');
-- Apple tells of the same money under another id.
SELECT test.hear_period('r2', 'r1', 'w1'), test.hear(test.heard(
    's2', product_id => 'full', product_type => 'non_consumable', original_transaction_id => 's1'));
SELECT is(test.resolve(id, 'refunded'), 'refunded', id || ', by a person''s word') FROM unnest(ARRAY['r2', 's2']) AS id;
SELECT test.hear_period('r1', 'r1', 'w1', exclusion => 'refunded'), test.hear(test.heard(
    's1', product_id => 'full', product_type => 'non_consumable', exclusion => 'refunded', refunded_at => now()));
SELECT test.keep_owed_once();
SELECT is(test.places('r1'), ARRAY['r1 restored', 'r2 refunded'], 'the period went back once');
SELECT is(test.places('s1'), ARRAY['s1 restored', 's2 refunded'], 'and so did what is bought once');
SELECT is(test.reopen('r2'), 'reopened', 'where the person takes that back');
SELECT test.keep_owed_once();
SELECT is(test.places('r1'), ARRAY['r1 refunded', 'r2 restored'], 'Apple''s word stands');
-- Of two ids that are refunded one stands for both.
SELECT test.hear_period('m2', 'm0', 'w1', exclusion => 'refunded'),
    test.hear_period('m1', 'm0', 'w1', exclusion => 'refunded'),
    test.hear_period('m3', 'm0', 'w2', 30, exclusion => 'refunded');
SELECT is(test.keep_owed_once(), '0 0 0', 'nothing is delivered');
SELECT is(test.places('m0'), ARRAY['m1 refunded', 'm2 restored', 'm3 refunded'], 'one refund for each period');
-- However much later Apple tells of the other one, or that what was delivered is the same.
CREATE FUNCTION test.hear_late(
    transaction_id text, original text, line_item text, product_id text, product_type text,
    refunded_at timestamptz DEFAULT NULL
) RETURNS void
LANGUAGE sql AS $$
    SELECT test.record(
        ARRAY[test.heard(
            transaction_id, product_id => product_id, product_type => product_type,
            original_transaction_id => original, web_order_line_item_id => line_item, refunded_at => refunded_at,
            exclusion => CASE WHEN refunded_at IS NOT NULL THEN 'refunded' END)],
        at => now() + interval '10 days')
$$;
CREATE FUNCTION test.carry_late() RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_job', $query$SELECT iap.carry_refunds(7, now() + interval '10 days')$query$)
$$;
SELECT test.hear_period('o2', 'o1', 'w1', exclusion => 'refunded');
SELECT test.hear(test.heard(
    'p2', product_id => 'full', product_type => 'non_consumable', original_transaction_id => 'p1',
    exclusion => 'refunded', refunded_at => now()));
SELECT is(test.keep_owed_once(), '0 0 0', 'refunded, and nothing else known of it');
SELECT test.close_books();
SELECT test.hear_late('o1', 'o1', 'w1', 'pass', 'auto_renewable', now()),
    test.hear_late('p1', 'p1', NULL, 'full', 'non_consumable', now());
SELECT is(test.carry_late(), '0', 'nothing is delivered');
SELECT is(test.places('o1'), ARRAY['o1 refunded', 'o2 restored'], 'the period went back once');
SELECT is(test.places('p1'), ARRAY['p1 refunded', 'p2 restored'], 'and so did what is bought once');
-- Whoever wrote them after the books were closed, however long no night came.
SELECT test.close_books();
SELECT test.hear_period('v1', 'v1', 'w1', exclusion => 'refunded'),
    test.hear_period('v2', 'v1', 'w1', exclusion => 'refunded');
SELECT is(test.carry_late(), '0', 'ten days without a night');
SELECT is(test.places('v1'), ARRAY['v1 refunded', 'v2 restored'], 'and it went back once');
-- Or however long ago, where only then the list of products says that it is bought once.
INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.example.a', 'mended', 'consumable', 'Mended');
SELECT test.hear(test.heard(id, product_id => product, original_transaction_id => original, exclusion => 'refunded',
    refunded_at => now()))
FROM (VALUES ('x2', 'x1', 'mended'), ('x3', 'x1', 'mended'), ('y2', 'y1', 'unlisted'), ('y3', 'y1', 'unlisted'),
    ('z2', 'z1', 'mended')) AS ids (id, original, product);
SELECT test.admit('z1', 'z1', 'mended'), test.claim('z1');
-- Or where the list said something else when they came, which Apple's older word and an app's server do not tell.
SELECT test.hear(test.heard(id, product_id => 'mended', product_type => 'non_renewing',
    original_transaction_id => 'mr1', exclusion => 'refunded', refunded_at => now()))
FROM unnest(ARRAY['mr2', 'mr3']) AS id;
SELECT test.admit('ma1', 'ma1', 'mended'), test.admit('ma2', 'ma1', 'mended'), test.claim('ma1'),
    test.resolve('ma2', 'refunded'), test.hear(test.heard(
        'ma1', product_id => 'mended', product_type => 'consumable', exclusion => 'refunded', refunded_at => now()));
SELECT is(test.keep_owed_once(), '0 0 0', 'what nobody knows to be bought once');
SELECT test.close_books();
UPDATE audit.frontier SET closed_at = now() + interval '10 days';
UPDATE iap.products SET type = 'non_consumable' WHERE product_id = 'mended';
INSERT INTO iap.products (bundle_id, product_id, type, name)
VALUES ('com.example.a', 'unlisted', 'non_consumable', 'Unlisted');
SELECT is(test.carry_late(), '1', 'is carried once the list says so');
SELECT is(test.places('x1') || test.places('y1') || test.places('z1'),
    ARRAY['x2 refunded', 'x3 restored', 'y2 refunded', 'y3 restored', 'z1 black', 'z2 restored'], 'and went back once');
SELECT is(test.places('mr1') || test.places('ma1'),
    ARRAY['mr2 refunded', 'mr3 restored', 'ma1 black', 'ma2 restored'], 'whatever the list said before');
SELECT is(
    (SELECT count(*) FROM finance.refunds_after_delivery WHERE product_id = 'mended'), 2::bigint,
    'what was delivered, after that');
SELECT test.admit('q1', 'q1', 'pass');
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', 'q1', 'ann', now() + interval '30 days')$$);
SELECT test.hear_period('q2', 'q1', 'w1', exclusion => 'refunded');
SELECT is(test.keep_owed_once(), '0 0 0', 'a refund of what nobody knows to be the delivered period');
SELECT test.close_books();
SELECT test.hear_late('q1', 'q1', 'w1', 'pass', 'auto_renewable');
SELECT is(test.carry_late(), '1', 'is carried once Apple tells that it is');
SELECT is(test.places('q1'), ARRAY['q1 black', 'q2 restored'], 'also where no account of finance is another by that');
SELECT isnt((SELECT refunded_at FROM iap.black WHERE transaction_id = 'q1'), NULL, 'after the delivery');
SELECT is(test.carry_late(), '0', 'once');
-- Refunded long ago under the other id, and granted only now: a grant asks nobody.
SELECT test.hear_period('ge2', 'ge1', 'w1', exclusion => 'refunded');
UPDATE iap.transactions SET excluded_at = now() - interval '30 days' WHERE transaction_id = 'ge2';
UPDATE iap.transactions AS t SET seal = audit.seal(t) WHERE transaction_id = 'ge2';
SELECT test.hear_period('ge1', 'ge1', 'w1'), test.close_books();
SELECT test.run_as('iap_app', $$SELECT iap.entitle('com.example.a', 'ge1', 'ann', now() + interval '30 days')$$);
SELECT is(test.carry_late(), '1', 'the refund is of what was granted');
SELECT is(test.places('ge1'), ARRAY['ge1 black', 'ge2 restored'], 'and went back once');
-- Both refunded long ago, and known only now to be one period.
SELECT test.hear_period(id, 'lr1', period, exclusion => 'refunded')
FROM (VALUES ('lr1', 'w1'), ('lr2', NULL)) AS refunds (id, period);
UPDATE iap.transactions SET excluded_at = now() - interval '30 days' WHERE original_transaction_id = 'lr1';
UPDATE iap.transactions AS t SET seal = audit.seal(t) WHERE original_transaction_id = 'lr1';
SELECT test.close_books();
SELECT is(test.carry_late(), '0', 'two refunds');
SELECT is(test.places('lr1'), ARRAY['lr1 refunded', 'lr2 refunded'], 'of two periods, for all that is known');
SELECT test.hear_late('lr2', 'lr1', 'w1', 'pass', 'auto_renewable', now());
SELECT is(test.carry_late(), '0', 'until Apple tells of which they are');
SELECT is(test.places('lr1'), ARRAY['lr1 refunded', 'lr2 restored'], 'then it went back once');
-- What a family shared, or another app and environment has, is another purchase.
SELECT test.hear_period('n1', 'n0', 'w1'), test.claim('n1');
SELECT test.hear(jsonb_populate_record(
    test.heard(
        'n2', product_id => 'pass', product_type => 'auto_renewable', original_transaction_id => 'n0',
        exclusion => 'family_shared', refunded_at => now()),
    '{"web_order_line_item_id": "w1"}'));
SELECT is(test.keep_owed_once(), '0 0 0', 'a family''s share');
SELECT is(test.places('n0'), ARRAY['n1 black', 'n2 family_shared'], 'stays what it is');
SELECT is_empty(
    $$SELECT FROM finance.unexplained$$, 'and finance''s journal explains each of these moves');
SELECT is(test.moved_tally(), test.white_tally(), 'as the moves explain the white table');
SELECT is_empty('SELECT * FROM test.misfits', 'all of them sealed');

-- A server that verified a period itself names it, and needs no word of Apple's.
CREATE FUNCTION test.admit_period(id text, original text, period text, user_id text DEFAULT 'ann') RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format(
        $call$SELECT iap.admit(
            'com.example.a', 'Production', %L, %L, 'pass', 1, now(), %L, web_order_line_item_id => %L)$call$,
        id, original, user_id, period))
$$;
SELECT is(test.admit_period('ad1', 'ad0', 'w1'), 'white', 'a period that its server names');
SELECT is(test.admit_period('ad2', 'ad0', 'w1'), 'white', 'and restored, while it is owed');
SELECT is(test.claim('ad2'), 'delivered', 'is delivered');
SELECT is(test.claim('ad1'), 'already_delivered', 'once');
SELECT is(test.admit_period('ad3', 'ad0', 'w1'), 'already_delivered', 'and not admitted once more');
SELECT is_empty($$SELECT FROM iap.transactions WHERE transaction_id = 'ad3'$$, 'nor does it enter');
SELECT is(test.admit_period('ad4', 'ad0', 'w2'), 'white', 'the next period is another purchase');
SELECT is(test.places('ad0'), ARRAY['ad1 restored', 'ad2 black', 'ad4 white'], 'and owed');
SELECT test.admit('ad5', 'ad0', 'pass');
SELECT is(test.admit_period('ad5', 'ad0', 'w1', 'bob'), 'already_white', 'told later which it is');
SELECT is(test.claim('ad5'), 'already_delivered', 'it was delivered');
SELECT is(test.admit_period('ad4', 'ad0', 'w1'), 'already_white', 'what is known of a period');
SELECT is(
    (SELECT web_order_line_item_id FROM iap.transactions WHERE transaction_id = 'ad4'), 'w2', 'stays');
SELECT is(test.hear_period('ad4', 'ad0', 'w3'), 'white', 'but for Apple');
SELECT is(
    (SELECT web_order_line_item_id FROM iap.transactions WHERE transaction_id = 'ad4'), 'w3', 'who knows it');
SELECT is(test.admit_period(id, id, period), 'white', 'no period is none')
FROM (VALUES ('ae1', ''), ('ae2', '0')) AS other (id, period);
SELECT is_empty(
    $$SELECT FROM iap.transactions WHERE transaction_id LIKE 'ae_' AND web_order_line_item_id IS NOT NULL$$,
    'as elsewhere');
SELECT test.hear_period('af1', 'af0', 'w1', exclusion => 'refunded');
SELECT test.admit_period('ag1', 'ag0', 'w8'), test.claim('ag1');
SELECT is(test.taken('ag0'), ARRAY[' ag1', 'w8 ag1'], 'a delivery holds the period that its server named');
SELECT test.hear_period('ag1', 'ag0', 'w9');
SELECT is(test.taken('ag0'), ARRAY[' ag1', 'w9 ag1'], 'and by Apple''s word the one that it was');
SELECT test.hear_period('ag2', 'ag0', 'w8');
SELECT is(test.claim('ag2'), 'delivered', 'while the other is to be had');
SELECT throws_ok($$SELECT test.admit_period('af2', 'af0', 'w1')$$, '55000', NULL, 'refunded, it is owed under no id');
SELECT throws_ok($$SELECT test.admit_period('af3', 'af0', repeat('w', 65))$$, '22023', NULL, 'too long for an id');

-- Delivered before anybody knew that it was a subscription, and the next period under two ids.
SELECT test.admit_period('ah1', 'ah1', 'w1'), test.claim('ah1'), test.hear_period('ah1', 'ah1', 'w1');
SELECT test.hear_period('ah2', 'ah1', 'w2', 30), test.hear_period('ah3', 'ah1', 'w2', 30);
SELECT is(test.keep_owed_once(), '0 1 0', 'one of its ids is left owed');
SELECT is(test.run_as('iap_app', $$SELECT tell FROM iap.status('com.example.a', 'ah3')$$), 'paid, being delivered',
    'the other tells so');
SELECT is(test.run_as('iap_app', $$SELECT iap.delivery_status('com.example.a', 'ah3')$$), 'UNDELIVERED_OTHER',
    'also to Apple');
SELECT is(test.admit_period('ah3', 'ah1', 'w2'), 'already_white', 'may be admitted');
SELECT is(test.claim('ah3'), 'delivered', 'and claimed');

-- Delivered, and then upgraded, of which Apple tells under another id.
SELECT test.hear_period('ai1', 'ai0', 'w1'), test.claim('ai1');
SELECT is(test.hear_period('ai2', 'ai0', 'w1', exclusion => 'upgraded'), 'upgraded', 'what was upgraded is not owed');
SELECT is(test.run_as('iap_app', $$SELECT tell FROM iap.status('com.example.a', 'ai2')$$), 'delivered',
    'it was delivered');
SELECT is(test.run_as('iap_app', $$SELECT iap.delivery_status('com.example.a', 'ai2')$$), 'DELIVERED',
    'as Apple hears');
SELECT is(test.claim('ai2'), 'already_delivered', 'and a claim');
SELECT test.hear_period('aj1', 'aj0', 'w1', exclusion => 'upgraded');
SELECT is(test.claim('aj1'), 'excluded', 'unless it was not');
SELECT is_empty('SELECT * FROM test.misfits', 'every row fits its seal');

SELECT * FROM finish();
ROLLBACK;
