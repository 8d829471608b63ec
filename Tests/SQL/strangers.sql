-- Ids are Apple's and the app's own, and the same one may mean something else in another app, or in the other
-- environment: what is done in one changes nothing of another, and is not changed by it.
BEGIN;
SELECT no_plan();
SET LOCAL search_path = public, iap;

-- One app in one environment, whose purchases are called the same in each. Some have other users; orders and grants are
-- an app's own in whatever environment.
CREATE TYPE test.scene AS (app text, environment text, ann text, tom text, orders text, is_served boolean);

CREATE TABLE test.said (number integer GENERATED ALWAYS AS IDENTITY, step text, answer text);
CREATE FUNCTION test.say(step text, answer text) RETURNS void
LANGUAGE sql AS $$ INSERT INTO test.said (step, answer) VALUES ($1, $2) $$;

-- What Apple says of a purchase.
CREATE FUNCTION test.bought(
    here test.scene, transaction_id text, product_id text, original text DEFAULT NULL, period text DEFAULT NULL,
    first_day integer DEFAULT -1, token text DEFAULT NULL, exclusion text DEFAULT NULL, at timestamptz DEFAULT now()
) RETURNS iap.verified
LANGUAGE plpgsql AS $$
DECLARE
    v iap.verified := test.heard(
        transaction_id, product_id => product_id, original_transaction_id => original, environment => here.environment,
        purchased_at => now() + first_day * interval '1 day', app_account_token => token, exclusion => exclusion,
        refunded_at => CASE exclusion WHEN 'refunded' THEN now() END, verified_at => at);
BEGIN
    v.bundle_id := here.app;
    IF period IS NOT NULL THEN
        v.web_order_line_item_id := period;
        v.expires_at := v.purchased_at + interval '30 days';
    END IF;
    RETURN v;
END
$$;

CREATE FUNCTION test.deliver(here test.scene, transaction_id text, who text, number text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.say('deliver ' || transaction_id, test.run_as('iap_app', format(
        'SELECT iap.claim(%L, %L, %L, %L)', here.app, transaction_id, who, here.orders || number)));
END
$$;
CREATE FUNCTION test.settle(
    here test.scene, transaction_id text, how text, who text DEFAULT NULL, number text DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.say(concat_ws(' ', 'resolve', transaction_id, how), test.run_as('iap_support', format(
        'SELECT iap.resolve(%L, %L, ''sue'', ''a note'', %L, %L, %L, %L)', transaction_id, how, here.app,
        here.environment, who, here.orders || number)));
END
$$;
CREATE FUNCTION test.open_again(here test.scene, transaction_id text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.say('reopen ' || transaction_id, test.run_as('iap_support', format(
        'SELECT iap.reopen(%L, ''tom'', ''a mistake'', %L, %L)', transaction_id, here.app, here.environment)));
END
$$;

-- Of all apps alike, as a night does it.
CREATE FUNCTION test.night() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.run_as('iap_job', 'SELECT iap.cover_entitled(2, now(), 100)');
    PERFORM test.run_as('iap_job', 'SELECT iap.uncover(2, now(), 100)');
    PERFORM test.run_as('iap_job', 'SELECT iap.withdraw_all_restored(2, now(), 100)');
    PERFORM test.run_as('iap_job', 'SELECT iap.release_restored(2, now())');
    PERFORM test.run_as('iap_job', 'SELECT iap.settle_redeliveries(2, now())');
END
$$;

-- The scenes of a play. All is paid, has a case, and is to be redelivered.
CREATE FUNCTION test.pay(here test.scene) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO iap.products (bundle_id, product_id, type, name)
    SELECT here.app, product_id, type, product_id
    FROM (
        VALUES ('gems', 'consumable'), ('full', 'non_consumable'), ('pass', 'auto_renewable')
    ) AS listed (product_id, type)
    ON CONFLICT DO NOTHING;
    PERFORM test.run_as('iap_app', format(
        'SELECT iap.register_user(%L, %L, ''c1e36e35-58f5-5e6e-b9c0-16ca7763f906'')', here.app, here.tom));
    PERFORM test.run_as('iap_app', format(
        'SELECT iap.register_order(%L, %L, %L, ''gems'')', here.app, order_id, here.ann))
    FROM unnest(ARRAY[here.orders || 1, here.orders || 2]) AS order_id;
    PERFORM test.record(array_agg(bought))
    FROM (
        SELECT test.bought(here, id, 'gems') FROM unnest(ARRAY['g1', 'g3', 'g4', 'g5', 'g6']) AS id
        UNION ALL
        VALUES
            (test.bought(here, 'g2', 'gems', token => 'c1e36e35-58f5-5e6e-b9c0-16ca7763f906')),
            (test.bought(here, 'f1', 'full')), (test.bought(here, 'f2', 'full', 'f1')),
            (test.bought(here, 'f3', 'full', 'f1')), (test.bought(here, 'h1', 'full')),
            (test.bought(here, 'h2', 'full', 'h1')), (test.bought(here, 'k1', 'full')),
            (test.bought(here, 'k2', 'full', 'k1')), (test.bought(here, 'v1', 'full')),
            (test.bought(here, 'v2', 'full', 'v1')), (test.bought(here, 's1', 'pass', period => 'w1')),
            (test.bought(here, 's1r', 'pass', 's1', 'w1')),
            (test.bought(here, 'p1', 'pass', period => 'x1', first_day => -31)),
            (test.bought(here, 'p2', 'pass', 'p1', 'x2', first_day => -1)),
            (test.bought(here, 'q1', 'pass', period => 'y1', first_day => -1)),
            (test.bought(here, 'u1', 'unheard.of')), (test.bought(here, 'u2', 'unheard.of', 'u1'))
    ) AS told (bought);
    INSERT INTO iap.cases (
        transaction_id, bundle_id, environment, likelihood, reasons, action, owner_user_ids, opened_at, opened_run_id,
        assessed_at, assessed_run_id, order_ids)
    SELECT
        transaction_id, bundle_id, environment, 'high', '{never_claimed}', 'deliver',
        ARRAY[CASE transaction_id WHEN 'g2' THEN here.tom ELSE here.ann END], now(), 1, now(), 1,
        CASE WHEN transaction_id IN ('g1', 'g5') THEN ARRAY[here.orders || 1] ELSE '{}' END
    FROM iap.white
    WHERE bundle_id = here.app AND environment = here.environment;
    IF here.is_served THEN
        PERFORM test.say('order', test.run_as('iap_job', format(
            'SELECT iap.order_redeliveries(%L, %L, 1, now())', here.app, here.environment)));
    END IF;
END
$$;

CREATE FUNCTION test.serve(here test.scene) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF here.is_served THEN
        PERFORM test.say('take', test.run_as('iap_app', format(
            $call$SELECT string_agg(
                concat_ws(' ', transaction_id, user_id, order_ids::text, try, paid_until - now()), ', ')
            FROM iap.take_redeliveries(%L, 100)$call$, here.app)));
        PERFORM test.say('owed', test.run_as('iap_app', format(
            $call$SELECT string_agg(concat_ws(' ', transaction_id, order_ids::text, is_certain), ', ')
            FROM iap.owed(%L, %L)$call$, here.app, here.ann)));
        PERFORM test.deliver(here, 'g1', here.ann, '1'), test.deliver(here, 'g5', here.ann, '1'),
            test.deliver(here, 'g2', here.ann), test.deliver(here, 'g2', here.tom), test.deliver(here, 'f1', here.ann),
            test.deliver(here, 'f2', here.ann), test.deliver(here, 's1', here.ann), test.deliver(here, 's1r', here.ann),
            test.deliver(here, 'u1', here.ann), test.deliver(here, 'u2', here.ann), test.deliver(here, 'h2', here.ann);
        PERFORM test.say('entitle ' || id, test.run_as('iap_app', format(
            'SELECT iap.entitle(%L, %L, %L, now() + interval ''29 days'') - now()', here.app, id, here.ann)))
        FROM unnest(ARRAY['p1', 'q1']) AS id;
    ELSE
        PERFORM test.settle(here, 'g1', 'delivered', here.ann, '1'), test.settle(here, 'f1', 'delivered', here.ann),
            test.settle(here, 'f2', 'delivered', here.ann), test.settle(here, 's1', 'delivered', here.ann),
            test.settle(here, 's1r', 'delivered', here.ann), test.settle(here, 'u1', 'delivered', here.ann);
    END IF;
    PERFORM test.settle(here, 'g3', 'delivered', here.ann, '2'), test.settle(here, 'g4', 'dismissed'),
        test.settle(here, 'k1', 'delivered', here.ann);
    PERFORM test.night();
END
$$;

CREATE FUNCTION test.take_back(here test.scene) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.open_again(here, id) FROM unnest(ARRAY['g1', 'g3', 'g4', 'k1', 'f1']) AS id;
    PERFORM test.settle(here, 'g6', 'delivered', here.ann, '2'), test.settle(here, 'k2', 'delivered', here.ann);
    PERFORM test.record(array_agg(
        test.bought(here, id, product_id, exclusion => 'refunded', at => now() + interval '1 hour')))
    FROM (
        VALUES ('g1', 'gems'), ('g4', 'gems'), ('g5', 'gems'), ('h1', 'full'), ('v1', 'full')
    ) AS refunded (id, product_id);
    PERFORM test.night();
    PERFORM test.record(ARRAY[
        test.bought(here, 'g4', 'gems', at => now() + interval '2 hours'),
        test.bought(here, 'h1', 'full', at => now() + interval '2 hours'),
        test.bought(here, 'v1', 'full', exclusion => 'before_start', at => now() + interval '2 hours'),
        test.bought(here, 'u2', 'unheard.of', 'u1', at => now() + interval '1 day')]);
    IF here.is_served THEN
        -- As where another session writes meanwhile that it delivered.
        UPDATE iap.entitlements SET entitled_until = now() - interval '20 days', revoked_at = now()
        WHERE original_transaction_id = 'q1' AND bundle_id = here.app;
        PERFORM test.say('revoke', test.run_as('iap_app', format(
            'SELECT iap.revoke_entitlement(%L, ''p1'', now() - interval ''10 days'') - now()', here.app)));
    END IF;
    PERFORM test.night();
END
$$;

-- All that the ledger holds of an app in an environment, but for what is counted over all of them.
CREATE FUNCTION test.held(app text, environment text, orders text) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT concat_ws(' ', transaction_id, place, reason, user_id, order_id, delivered_by, nights_confirmed)
    FROM iap.transactions
    WHERE bundle_id = $1 AND environment = $2
    UNION ALL
    SELECT concat_ws(' ', 'moved', transaction_id, kind, from_place, to_place, to_detail, count(*)) FROM iap.moves
    WHERE bundle_id = $1 AND environment = $2
    GROUP BY transaction_id, kind, from_place, to_place, to_detail
    UNION ALL
    SELECT concat_ws(' ', 'case', transaction_id, state, closed_as, closed_by) FROM iap.cases
    WHERE bundle_id = $1 AND environment = $2
    UNION ALL
    SELECT concat_ws(' ', 'redelivery', transaction_id, user_id, tries, ended_as) FROM iap.redeliveries
    WHERE bundle_id = $1 AND environment = $2
    UNION ALL
    SELECT concat_ws(' ', 'original', original_transaction_id, transaction_id) FROM iap.delivered_originals
    WHERE bundle_id = $1 AND environment = $2
    UNION ALL
    SELECT concat_ws(' ', 'order', order_id, original_transaction_id) FROM iap.delivered_orders
    WHERE bundle_id = $1 AND starts_with(order_id, $3)
    UNION ALL
    SELECT concat_ws(' ', 'granted', original_transaction_id, user_id, entitled_until - now(), revoked_at - now())
    FROM iap.entitlements
    WHERE bundle_id = $1
$$;
CREATE FUNCTION test.statuses(app text) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT concat_ws(' ', 'status', id, told.place, told.case_state, told.tell, iap.delivery_status($1, id))
    FROM (SELECT DISTINCT transaction_id AS id FROM iap.transactions WHERE bundle_id = $1) AS known
    CROSS JOIN LATERAL iap.status($1, id) AS told
$$;

-- Some scenes of a play: 1 to 3.
CREATE FUNCTION test.begin(here test.scene, scenes integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM test.pay(here);
    IF scenes > 1 THEN
        PERFORM test.serve(here);
    END IF;
    IF scenes > 2 THEN
        PERFORM test.take_back(here);
    END IF;
END
$$;
-- A whole play: all that is answered, and held in the end.
CREATE FUNCTION test.play(here test.scene) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM test.said;
    PERFORM test.begin(here, 3);
    RETURN (
        SELECT string_agg(line, E'\n' ORDER BY line)
        FROM (
            SELECT concat_ws(' ', number - min(number) OVER (), step, coalesce(answer, 'NULL')) FROM test.said
            UNION ALL
            SELECT test.held(here.app, here.environment, here.orders)
            UNION ALL
            SELECT test.statuses(here.app) WHERE here.is_served
        ) AS lines (line));
END
$$;
CREATE FUNCTION test.kept(strangers test.scene[]) RETURNS text
LANGUAGE sql AS $$
    SELECT string_agg(concat_ws(' ', stranger.app, stranger.environment, held), E'\n' ORDER BY app, held)
    FROM unnest($1) AS stranger
    CROSS JOIN LATERAL test.held(stranger.app, stranger.environment, stranger.orders) AS held
$$;

-- The lines that only one of two has.
CREATE FUNCTION test.difference(had text, has text) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT 'no more: ' || line
    FROM (
        SELECT * FROM string_to_table($1, E'\n') EXCEPT ALL SELECT * FROM string_to_table($2, E'\n')
    ) AS gone (line)
    UNION ALL
    SELECT 'now: ' || line
    FROM (
        SELECT * FROM string_to_table($2, E'\n') EXCEPT ALL SELECT * FROM string_to_table($1, E'\n')
    ) AS come (line)
$$;

-- Between apps.
SAVEPOINT alone;
SELECT test.play(('com.example.p', 'Production', 'ann', 'tom', 'order-', true)) AS alone \gset
ROLLBACK TO alone;
CREATE TABLE test.strangers AS
SELECT scenes, ROW(app, 'Production', ann, tom, 'order-', true)::test.scene AS stranger
FROM (
    VALUES
        (1, 'com.example.o', 'ann', 'tom'), (2, 'com.example.q', 'tom', 'ann'), (3, 'com.example.n', 'uma', 'ann')
) AS others (scenes, app, ann, tom);
-- Who has everything before it yet is the last, so that nobody else has taken it by then.
SELECT test.begin(stranger, scenes) FROM (SELECT * FROM test.strangers ORDER BY scenes DESC) AS in_turn;
SELECT test.night(), test.night();
SELECT test.kept(array_agg(stranger)) AS before FROM test.strangers \gset
SELECT test.play(('com.example.p', 'Production', 'ann', 'tom', 'order-', true)) AS beside \gset
SELECT test.kept(array_agg(stranger)) AS after FROM test.strangers \gset
SELECT is_empty(
    format('SELECT test.difference(%L, %L)', :'alone', :'beside'),
    'what another app has does not change what an app''s own purchases become');
SELECT is_empty(format('SELECT test.difference(%L, %L)', :'before', :'after'), 'nor is it changed by that');
SELECT is(
    (
        SELECT count(*) FROM string_to_table(:'alone', E'\n') AS line
        WHERE line ~ '^[0-9]+ (deliver|resolve|reopen) '),
    21::bigint, 'where things happen');

-- Between environments. A claim names none, and looks at both; what the desk does is of one.
CREATE FUNCTION test.beside(played text, other text, scenes integer) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    here     test.scene := ('com.example.t', played, 'ann', 'tom', 'order-', false);
    stranger test.scene := ('com.example.t', other, 'uma', 'tom', 'other-', false);
    alone    text;
    beside   text;
    before   text;
    after    text;
BEGIN
    BEGIN
        alone := test.play(here);
        RAISE EXCEPTION 'undone' USING ERRCODE = 'ZZ000';
    EXCEPTION
        WHEN SQLSTATE 'ZZ000' THEN NULL;
    END;
    BEGIN
        PERFORM test.begin(stranger, scenes);
        PERFORM test.night();
        PERFORM test.night();
        before := test.kept(ARRAY[stranger]);
        beside := test.play(here);
        after := test.kept(ARRAY[stranger]);
        RAISE EXCEPTION 'undone' USING ERRCODE = 'ZZ000';
    EXCEPTION
        WHEN SQLSTATE 'ZZ000' THEN NULL;
    END;
    RETURN NEXT is_empty(
        format('SELECT test.difference(%L, %L)', alone, beside),
        format('%s is as it would be without %s, after scene %s', played, other, scenes));
    RETURN NEXT is_empty(format('SELECT test.difference(%L, %L)', before, after), format('and %s as it was', other));
END
$$;
SELECT test.beside(played, other, scenes)
FROM (VALUES ('Production', 'Sandbox'), ('Sandbox', 'Production')) AS environments (played, other)
CROSS JOIN generate_series(1, 3) AS scenes;
SELECT is_empty('SELECT * FROM test.misfits', 'every row fits its seal');

SELECT * FROM finish();
ROLLBACK;
