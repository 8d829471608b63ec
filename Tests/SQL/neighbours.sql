-- What happens to an app's purchases in one environment is the same, whatever lies beside them: worlds made up by a
-- seed are played alone, and beside the same ids in another app, the same purchases under other ids in its sandbox, and
-- the same ids there, each of them at another point of the same world.
BEGIN;
SELECT no_plan();

INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
SELECT bundle_id, product_id, type, product_id, 990, 'USD'
FROM unnest(ARRAY['com.example.a', 'com.example.z']) AS bundle_id
CROSS JOIN (
    VALUES ('gems', 'consumable'), ('full', 'non_consumable'), ('pass', 'auto_renewable')
) AS listed (product_id, type)
ON CONFLICT DO NOTHING;

-- Calls and nights; what names no environment is shared by both of an app. # stands before what is another id in a
-- sandbox.
CREATE TABLE test.script (
    number integer PRIMARY KEY, role name NOT NULL, question text NOT NULL, is_shared boolean NOT NULL);

CREATE FUNCTION test.any_of(VARIADIC choices text[]) RETURNS text
LANGUAGE sql VOLATILE AS $$ SELECT choices[1 + floor(random() * cardinality(choices))::integer] $$;

CREATE FUNCTION test.write_script(seed double precision, steps integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    place   text := '''com.example.a'', ''Production''';
    ids     text[] := '{g1,f1,f2,f3,p1,p2,p3,p4}';
    id      text;
    wanted  text;
    product text;
    origin  text;
    period  text;
    named   text;
BEGIN
    PERFORM setseed(seed);
    DELETE FROM test.script;
    FOR step IN 1 .. steps LOOP
        id := CASE WHEN step <= cardinality(ids) THEN ids[step] ELSE test.any_of(VARIADIC ids) END;
        product := CASE left(id, 1) WHEN 'g' THEN 'gems' WHEN 'f' THEN 'full' ELSE 'pass' END;
        origin := CASE WHEN product = 'gems' THEN '#g1' ELSE left(id, 1) || '1' END;
        period := CASE WHEN product = 'pass' THEN format('w%s', substr(id, 2)::integer % 2) END;
        named := test.any_of('ann', 'ann', 'ann', 'bob');
        wanted := test.any_of(
            'admit', 'paid', 'paid', 'paid', 'refunded', 'refunded', 'case', 'case', 'resolve', 'resolve', 'reopen',
            'reopen', 'claim', 'claim', 'entitle', 'revoke', 'order', 'desk', 'redeliver', 'lease', 'ask', 'ask',
            'night', 'night', 'night', 'notice');
        IF step <= cardinality(ids) THEN
            wanted := test.any_of('admit', 'paid', 'paid');
        END IF;
        INSERT INTO test.script
        SELECT
            step, made.role, made.question,
            wanted IN ('claim', 'entitle', 'revoke', 'order', 'lease', 'ask')
        FROM (
            VALUES
                ('admit', 'iap_app', format(
                    'SELECT iap.admit(%s, ''#%s'', %L, %L, 1, now(), %L, NULL, %L)', place, id,
                    origin, product, named, period)),
                ('paid', 'postgres', format(
                    'SELECT test.apple_says(%s, ''#%s'', %L, %L, %L, %L, %s, NULL, %L, %L)', place, id,
                    origin, product, period,
                    test.any_of('verify_receipt', 'server_api', 'local'), step, named,
                    test.any_of('#o1', '#o2', NULL))),
                ('refunded', 'postgres', format(
                    'SELECT test.apple_says(%s, ''#%s'', %L, %L, %L, %L, %s, %s, NULL, NULL)', place, id,
                    origin, product, period,
                    test.any_of('verify_receipt', 'server_api', 'local'), step, step)),
                ('case', 'postgres', format('SELECT test.open_case_at(%s, ''#%s'', %L, ''#o1'')', place, id, named)),
                ('resolve', 'iap_support', format(
                    'SELECT iap.resolve(''#%s'', %L, ''sue'', ''note %s'', %s)', id,
                    test.any_of('delivered', 'delivered', 'dismissed', 'refunded'), step, place)),
                ('reopen', 'iap_support', format(
                    'SELECT iap.reopen(''#%s'', ''sue'', ''note'', %s)', id, place)),
                ('claim', 'iap_app', format(
                    'SELECT iap.claim(''com.example.a'', ''#%s'', %L, %L)', id, named,
                    test.any_of('#o1', '#o2', NULL))),
                ('entitle', 'iap_app', format(
                    'SELECT iap.entitle(''com.example.a'', ''p1'', ''ann'', now() + interval ''%s days'')',
                    test.any_of('10', '40'))),
                ('revoke', 'iap_app', 'SELECT iap.revoke_entitlement(''com.example.a'', ''p1'')'),
                ('order', 'iap_app', format(
                    'SELECT iap.register_order(''com.example.a'', %L, %L, %L)', test.any_of('#o1', '#o2'), named,
                    product)),
                ('desk', 'iap_support', format(
                    'SELECT iap.take(''#%s'', %L, %s, %L)::text', id, test.any_of('sue', 'tom'), place,
                    test.any_of('true', 'false'))),
                ('redeliver', 'iap_support', format(
                    'SELECT iap.redeliver(''#%s'', ''sue'', ''note'', %s)', id, place)),
                ('lease', 'iap_app', 'SELECT string_agg(concat_ws('' '', transaction_id, user_id, try), '', '' ORDER BY
                    transaction_id) FROM iap.take_redeliveries(''com.example.a'', 100, interval ''10 seconds'')
                    WHERE transaction_id NOT LIKE ''s-%'''),
                ('ask', 'iap_app', format(test.any_of(
                    'SELECT string_agg(concat_ws('' '', owed.*), '', '' ORDER BY transaction_id)
                        FROM iap.owed(''com.example.a'', %1$L) AS owed WHERE transaction_id NOT LIKE ''s-%%''',
                    'SELECT concat_ws('' '', status.*) FROM iap.status(''com.example.a'', ''#%2$s'') AS status',
                    'SELECT concat_ws('' '', status.*) FROM iap.status(''com.example.a'', NULL, ''#o1'') AS status',
                    'SELECT iap.delivery_status(''com.example.a'', ''#%2$s'')'), named, id)),
                ('night', 'iap_job', test.any_of(
                    'SELECT left(iap.withdraw_all_restored(1, iap.present(), 100)::text, 0)',
                    'SELECT left(iap.release_restored(1, iap.present())::text, 0)',
                    'SELECT left(iap.carry_refunds(1, iap.present())::text, 0)',
                    'SELECT left(iap.cover_entitled(1, iap.present(), 100)::text, 0)',
                    'SELECT left(iap.uncover(1, iap.present(), 100)::text, 0)',
                    'SELECT left(iap.settle_redeliveries(1, iap.present())::text, 0)',
                    format('SELECT left(iap.order_redeliveries(%s, 1, iap.present())::text, 0)', place))),
                ('notice', 'postgres', format(
                    'SELECT test.apple_tells(%s, ''#%s'', %L, %s)', place, id,
                    test.any_of('REFUND', 'REFUND_REVERSED'), step))
        ) AS made (kind, role, question)
        WHERE made.kind = wanted;
    END LOOP;
END
$$;

-- A batch of one purchase, seen in a receipt or in none.
CREATE FUNCTION test.apple_says(
    bundle_id text, environment text, transaction_id text, original text, product_id text, period text,
    source iap.source, minute integer, refunded integer, user_id text, order_id text
) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    purchase iap.verified := jsonb_populate_record(
        test.heard(
            transaction_id, source, product_id, environment => environment, original_transaction_id => original,
            exclusion => CASE WHEN refunded IS NOT NULL THEN 'refunded' END,
            verified_at => now() + minute * interval '1 minute', refunded_at => now() + refunded * interval '1 minute',
            bundle_id => bundle_id, web_order_line_item_id => period),
        jsonb_build_object(
            'expires_at',
            CASE WHEN period IS NOT NULL THEN now() + right(transaction_id, 1)::integer * interval '10 days' END));
BEGIN
    RETURN test.record(
        ARRAY[purchase],
        CASE WHEN user_id IS NULL THEN '{}' ELSE ARRAY[test.seen(64, user_id, order_id)] END)::text;
END
$$;
CREATE FUNCTION test.apple_tells(bundle_id text, environment text, transaction_id text, type text, minute integer)
RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, iap, pg_temp AS $$
DECLARE
    known    iap.transactions;
    purchase iap.verified;
    answer   text;
BEGIN
    SELECT * INTO known
    FROM iap.transactions AS t
    WHERE t.transaction_id = apple_tells.transaction_id AND t.bundle_id = apple_tells.bundle_id
        AND t.environment = apple_tells.environment;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    purchase := jsonb_populate_record(
        NULL::iap.verified,
        to_jsonb(known) || jsonb_build_object(
            'number', 1, 'source', 'local', 'verified_at', now() + minute * interval '1 minute',
            'refunded_at', CASE type WHEN 'REFUND' THEN now() + minute * interval '1 minute' END,
            'exclusion', CASE type WHEN 'REFUND' THEN 'refunded' END));
    SET LOCAL ROLE iap_job;
    CREATE TEMPORARY TABLE heard OF iap.verified;
    CREATE TEMPORARY TABLE told OF iap.notice;
    INSERT INTO heard SELECT purchase.*;
    INSERT INTO told (number, transaction_id, bundle_id, environment, notice_uuid, type, signed_at, heard_by)
    VALUES (
        1, transaction_id, bundle_id, environment, concat_ws(' ', type, transaction_id, minute), type,
        purchase.verified_at, 'app_server');
    SELECT concat_ws(' ', fresh, unknown::text, locked::text) INTO answer FROM iap.take_notices(1, iap.present());
    DROP TABLE heard, told;
    RESET ROLE;
    RETURN answer;
END
$$;
CREATE FUNCTION test.open_case_at(bundle_id text, environment text, transaction_id text, user_id text, order_id text)
RETURNS void
LANGUAGE sql AS $$
    INSERT INTO iap.cases (
        transaction_id, bundle_id, environment, likelihood, reasons, action, owner_user_ids, opened_at, opened_run_id,
        assessed_at, assessed_run_id, order_ids)
    SELECT $3, $1, $2, 'high', '{never_claimed}', 'deliver', ARRAY[$4], iap.present(), 1, iap.present(), 1, ARRAY[$5]
    FROM iap.white AS t
    WHERE t.transaction_id = $3 AND t.bundle_id = $1 AND t.environment = $2
    ON CONFLICT DO NOTHING
$$;

-- What a place holds in the end, but for the numbers and seals of its rows.
CREATE FUNCTION test.held_in(bundle_id text, environment text) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    held     jsonb := '{}';
    relation text;
    rows     jsonb;
BEGIN
    FOREACH relation IN ARRAY ARRAY[
        'transactions', 'moves', 'cases', 'delivered_originals', 'redeliveries', 'case_takings', 'notices', 'sightings']
    LOOP
        EXECUTE format(
            $query$
            SELECT jsonb_agg(row ORDER BY row::text)
            FROM (
                SELECT to_jsonb(t) - '{seal,entry_id,move_id,event_id,redelivery_id,due_at,details}'::text[] AS row
                FROM iap.%I AS t
                WHERE t.bundle_id = $1 AND t.environment = $2
            ) AS stripped
            $query$, relation)
        INTO rows USING held_in.bundle_id, held_in.environment;
        held := held || jsonb_build_object(relation, rows);
    END LOOP;
    RETURN held;
END
$$;

-- Plays the script in a place, up to a step, a minute a step: what each was answered.
CREATE FUNCTION test.play(
    bundle_id text, environment text, prefix text DEFAULT '', upto integer DEFAULT 1000,
    with_shared boolean DEFAULT true
) RETURNS text[]
LANGUAGE plpgsql SET search_path = pg_catalog, iap, public, pg_temp AS $$
DECLARE
    step    test.script;
    answer  text;
    answers text[] := '{}';
BEGIN
    FOR step IN SELECT * FROM test.script WHERE number <= upto AND (with_shared OR NOT is_shared) ORDER BY number LOOP
        PERFORM set_config('iap.present', (now() + step.number * interval '1 minute')::text, true);
        BEGIN
            answer := test.run_as(
                step.role,
                replace(
                    replace(
                        replace(step.question, 'com.example.a', play.bundle_id), $p$'Production'$p$,
                        quote_literal(play.environment)),
                    '#', prefix));
        EXCEPTION
            WHEN OTHERS THEN answer := SQLSTATE || ' ' || SQLERRM;
        END;
        answers := answers || format('%s %s: %s', step.number, step.question, answer);
    END LOOP;
    RETURN answers;
END
$$;

-- Everything that a world answers and leaves, rolled back.
CREATE FUNCTION test.world(beside text DEFAULT 'nothing', upto integer DEFAULT 0, with_shared boolean DEFAULT true)
RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    seen text;
BEGIN
    CASE beside
        WHEN 'another app' THEN
            PERFORM test.play('com.example.z', 'Production', '', upto);
        WHEN 'its sandbox' THEN
            PERFORM test.play('com.example.a', 'Sandbox', 's-', upto, false);
        WHEN 'the same in its sandbox' THEN
            PERFORM test.play('com.example.a', 'Sandbox', '', upto, false);
        ELSE
    END CASE;
    RAISE EXCEPTION USING ERRCODE = 'PLAY0', MESSAGE = jsonb_build_object(
        'answers', to_jsonb(test.play('com.example.a', 'Production', '', with_shared => with_shared)),
        'held', test.held_in('com.example.a', 'Production'));
EXCEPTION
    WHEN SQLSTATE 'PLAY0' THEN
        GET STACKED DIAGNOSTICS seen = MESSAGE_TEXT;
        RETURN seen::jsonb;
END
$$;

CREATE FUNCTION test.compare(seed double precision, steps integer) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    alone  jsonb;
    beside jsonb;
    kind   text;
    cut    integer;
BEGIN
    PERFORM test.write_script(seed, steps);
    alone := test.world();
    FOREACH kind IN ARRAY ARRAY['another app', 'its sandbox'] LOOP
        FOREACH cut IN ARRAY ARRAY[steps / 3, 2 * steps / 3, steps] LOOP
            beside := test.world(kind, cut);
            RETURN NEXT ok(beside = alone, format('world %s beside %s, up to %s', seed, kind, cut));
            IF beside <> alone THEN
                RETURN NEXT diag(concat_ws(E'\n',
                    (SELECT string_agg(concat_ws(' | ', a, b), E'\n') FROM ROWS FROM (
                        jsonb_array_elements_text(alone -> 'answers'), jsonb_array_elements_text(beside -> 'answers'))
                        AS t (a, b) WHERE a <> b),
                    (SELECT string_agg(concat_ws(' | ', key, value, beside -> 'held' -> key), E'\n')
                        FROM jsonb_each(alone -> 'held') WHERE value <> beside -> 'held' -> key)));
            END IF;
        END LOOP;
    END LOOP;
END
$$;

SELECT test.compare(seed / 1000.0, 40) FROM generate_series(1, 2) AS seed;

SELECT * FROM finish();
ROLLBACK;
