-- What the nightly job writes: a batch of what Apple says, and the cases.

CREATE TYPE iap.sighted AS (
    -- The numbers of these transactions in the batch: most of a receipt's were seen alike.
    numbers     integer[],
    receipt_id  bigint,
    user_id     text,
    order_id    text,
    is_named    boolean,
    in_receipt  boolean,
    uploaded_at timestamptz
);
COMMENT ON TYPE iap.sighted IS 'Transactions of a batch as one receipt showed them.';

CREATE TYPE iap.standing AS (number integer, transaction_id text, quantity integer, place text, is_new boolean);
COMMENT ON TYPE iap.standing IS 'Where a transaction of a batch is, and whether the batch brought it into white.';

CREATE TYPE iap.recorded AS (
    -- Control totals: transactions, units, and the exclusive or of the hashes of the ids; NULL where there is nothing.
    newly_white   bigint[],
    already_white bigint[],
    already_black bigint[],
    excluded      bigint[],
    -- The receipts that hold a white transaction, and those that hold one that another session has locked.
    watched       bigint[],
    held          bigint[],
    -- The transactions that are left out, for another session has them locked.
    locked        text[]
);
COMMENT ON TYPE iap.recorded IS 'What became of a batch.';

CREATE FUNCTION iap.enter_unlocked(purchases iap.verified[], run bigint, at timestamptz) RETURNS integer[]
LANGUAGE plpgsql AS $$
DECLARE
    entered  integer[] := '{}';
    purchase iap.verified;
    patience text := current_setting('lock_timeout');
BEGIN
    PERFORM iap.enter(purchases, run, at);
    RETURN ARRAY(SELECT number FROM unnest(purchases));
EXCEPTION
    WHEN unique_violation THEN
        -- Another session has entered one of them since they were looked for: it is known now.
        RETURN '{}';
    WHEN lock_not_available OR deadlock_detected THEN
        -- Another session enters one of them, and doesn't end: the others need not wait for it.
        PERFORM set_config('lock_timeout', '20ms', true);
        FOREACH purchase IN ARRAY purchases LOOP
            BEGIN
                PERFORM iap.enter(ARRAY[purchase], run, at);
                entered := entered || purchase.number;
            EXCEPTION
                WHEN unique_violation OR lock_not_available OR deadlock_detected THEN NULL;
            END;
        END LOOP;
        PERFORM set_config('lock_timeout', patience, true);
        RETURN entered;
END
$$;
COMMENT ON FUNCTION iap.enter_unlocked IS
    'iap.enter, without what another session enters at the same time and does not end; nothing where another session '
    'has entered any of them. Says the numbers in the batch of what has entered.';

CREATE FUNCTION iap.is_news(t iap.transactions, v iap.verified) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT v.source > t.source
        OR (v.refunded_at IS NULL) <> (t.refunded_at IS NULL)
        OR (v.refunded_at IS NOT NULL AND t.refund_run_id IS NULL)
        OR iap.is_later_refund(t, v)
        OR (t.price_milliunits IS NULL AND v.price_milliunits IS NOT NULL)
        OR (t.expires_at IS NULL AND v.expires_at IS NOT NULL)
        OR (t.app_account_token IS NULL AND v.app_account_token IS NOT NULL)
        OR (t.app_transaction_id IS NULL AND v.app_transaction_id IS NOT NULL)
        OR (
            v.revocation_type IS NOT NULL
            AND (t.revocation_type, t.revocation_percentage)
                IS DISTINCT FROM (v.revocation_type, v.revocation_percentage))
        OR (
            t.place = 'white'
            AND (
                v.exclusion IS NOT NULL
                OR iap.is_another_night(t.last_confirmed_at, coalesce(v.confirmed_at, v.verified_at))))
        OR (t.reason IN ('sandbox', 'before_start') AND v.exclusion IS DISTINCT FROM t.reason)
$$;
COMMENT ON FUNCTION iap.is_news IS 'Whether iap.heard can make anything else of a transaction than what it is.';

-- Most of a night is that Apple says again what it said the night before: a white transaction is confirmed. That takes
-- three columns of the row, and neither a judgement, nor a seal, nor a move.
CREATE FUNCTION iap.is_confirmation(t iap.transactions, v iap.verified) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT t.place = 'white' AND t.refund_run_id IS NULL
        AND v.exclusion IS NULL AND v.refunded_at IS NULL
        AND iap.is_another_night(t.last_confirmed_at, coalesce(v.confirmed_at, v.verified_at))
        AND (v.source < t.source OR (v.source = t.source AND v.verified_at >= t.verified_at))
        AND (v.product_type IS NULL OR v.product_type = t.product_type) IS TRUE
        AND (v.expires_at IS NULL OR v.expires_at = t.expires_at) IS TRUE
        AND (v.original_purchased_at IS NULL OR t.original_purchased_at IS NOT NULL)
        AND (v.web_order_line_item_id IS NULL OR t.web_order_line_item_id IS NOT NULL)
        AND (v.app_account_token IS NULL OR t.app_account_token IS NOT NULL)
        AND (v.app_transaction_id IS NULL OR t.app_transaction_id IS NOT NULL)
        AND (v.storefront IS NULL OR t.storefront IS NOT NULL)
        AND (v.found_bundle_id IS NULL OR t.found_bundle_id IS NOT NULL)
        AND (v.price_milliunits IS NULL OR t.price_milliunits IS NOT NULL)
$$;
COMMENT ON FUNCTION iap.is_confirmation IS
    'Whether all that iap.heard makes of a transaction is that it was confirmed one night more.';

CREATE FUNCTION iap.confirm(purchases iap.verified[]) RETURNS iap.standing[]
-- By the primary keys, even where the plan was made when the tables were small.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    confirmed iap.standing[];
BEGIN
    WITH held AS MATERIALIZED (
        SELECT
            v.number, v.source, v.verified_at, coalesce(v.confirmed_at, v.verified_at) AS confirmed_at, found.*
        FROM unnest(purchases) AS v
        CROSS JOIN LATERAL (
            SELECT t.transaction_id, t.bundle_id, t.environment
            FROM transactions AS t
            WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id
                AND t.environment = v.environment
                AND iap.is_confirmation(ROW(t.*)::iap.transactions, v::iap.verified)
            FOR UPDATE SKIP LOCKED
        ) AS found
    ), done AS (
        UPDATE transactions AS t
        SET nights_confirmed = t.nights_confirmed + 1, last_confirmed_at = held.confirmed_at,
            verified_at = CASE WHEN held.source = t.source THEN held.verified_at ELSE t.verified_at END
        FROM held
        WHERE t.transaction_id = held.transaction_id AND t.bundle_id = held.bundle_id
            AND t.environment = held.environment
        RETURNING held.number, t.transaction_id, t.quantity, t.place
    )
    SELECT array_agg(ROW(number, transaction_id, quantity, place, false)::iap.standing) INTO confirmed FROM done;
    RETURN coalesce(confirmed, '{}');
END
$$;
COMMENT ON FUNCTION iap.confirm IS
    'Counts the night for transactions of which Apple says what it said before, but for those that another session has '
    'locked, or changed meanwhile. Says which it counted for.';

-- Their plans are made for the batch in hand: the planner must know how many transactions it holds.
CREATE FUNCTION iap.hear(
    numbers integer[], run bigint, at timestamptz, OUT entered integer[], OUT known iap.standing[]
) LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    fresh     iap.verified[];
    confirmed iap.verified[];
    news      iap.verified[];
    changes   iap.change[];
    moved     iap.standing[];
BEGIN
    SELECT
        array_agg(v) FILTER (WHERE kind = 'fresh'), array_agg(v) FILTER (WHERE kind = 'confirmed'),
        array_agg(v) FILTER (WHERE kind = 'news'), coalesce(array_agg(standing) FILTER (WHERE kind = 'known'), '{}')
    INTO fresh, confirmed, news, known
    FROM (
        SELECT
            v::iap.verified AS v,
            ROW(v.number, v.transaction_id, t.quantity, t.place, false)::iap.standing AS standing,
            CASE
                WHEN t.place IS NULL THEN 'fresh'
                WHEN iap.is_news(t::iap.transactions, v::iap.verified) IS NOT TRUE THEN 'known'
                WHEN iap.is_confirmation(t::iap.transactions, v::iap.verified) THEN 'confirmed'
                ELSE 'news'
            END AS kind
        FROM heard AS v
        -- By the primary key, whatever the planner knows of the table: in a first night that is nothing.
        LEFT JOIN LATERAL (
            SELECT * FROM transactions AS found
            WHERE found.transaction_id = v.transaction_id AND found.bundle_id = v.bundle_id
                AND found.environment = v.environment
            OFFSET 0
        ) AS t ON true
        WHERE numbers IS NULL OR v.number = ANY (numbers)
        -- Judged once.
        OFFSET 0
    ) AS judged;

    entered := '{}';
    IF fresh IS NOT NULL THEN
        entered := iap.enter_unlocked(fresh, run, at);
    END IF;
    IF confirmed IS NOT NULL THEN
        known := known || iap.confirm(confirmed);
    END IF;
    IF news IS NOT NULL THEN
        SELECT
            array_agg(ROW(t, became)::iap.change) FILTER (WHERE t IS DISTINCT FROM became),
            array_agg(
                ROW(
                    number, (became).transaction_id, (became).quantity, (became).place,
                    (t).place <> 'white' AND (became).place = 'white')::iap.standing)
        INTO changes, moved
        FROM (
            SELECT number, t, iap.heard(t, v, run, at) AS became
            FROM (
                SELECT v.number, v::iap.verified AS v, found.t
                FROM unnest(news) AS v
                CROSS JOIN LATERAL (
                    SELECT ROW(t.*)::iap.transactions AS t
                    FROM transactions AS t
                    WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id
                        AND t.environment = v.environment
                    FOR UPDATE SKIP LOCKED
                ) AS found
            ) AS held
            OFFSET 0
        ) AS judged;
        IF changes IS NOT NULL THEN
            PERFORM iap.move(changes, NULL, 'iap-reconcile', run, at);
        END IF;
        known := known || coalesce(moved, '{}');
    END IF;
END
$$;
COMMENT ON FUNCTION iap.hear IS
    'Takes what Apple says of purchases into the ledger, of those with these numbers in the batch, or of all: what is '
    'new enters, what is known becomes what Apple says of it now. Says where each is, but for what another session has '
    'locked.';

CREATE FUNCTION iap.hear_patiently(
    numbers integer[], run bigint, at timestamptz, OUT entered integer[], OUT known iap.standing[],
    OUT remaining integer[]
) LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    patience text := current_setting('lock_timeout');
    told     record;
BEGIN
    entered := '{}';
    known := '{}';
    remaining := numbers;
    -- A claim, or another batch of the night, holds a transaction for milliseconds: what is locked for longer is left.
    FOR round IN 1 .. 4 LOOP
        told := iap.hear(remaining, run, at);
        entered := entered || told.entered;
        known := known || told.known;
        SELECT array_agg(number) INTO remaining
        FROM heard
        WHERE (numbers IS NULL OR number = ANY (numbers)) AND number <> ALL (entered)
            AND NOT EXISTS (SELECT FROM unnest(known) AS standing WHERE standing.number = heard.number);
        EXIT WHEN remaining IS NULL;
        PERFORM set_config('lock_timeout', '20ms', true), pg_sleep(0.01 * round);
    END LOOP;
    PERFORM set_config('lock_timeout', patience, true);
END
$$;
COMMENT ON FUNCTION iap.hear_patiently IS
    'iap.hear, several times while others hold what it needs; says what remains locked.';

CREATE FUNCTION iap.record(run bigint, at timestamptz) RETURNS iap.recorded
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    remaining integer[];
    entered   integer[];
    known     iap.standing[];
    owed      integer[];
    total     record;
    recorded  iap.recorded;
BEGIN
    SELECT * INTO entered, known, remaining FROM iap.hear_patiently(NULL, run, at);

    -- What is new has not been seen in any receipt yet.
    INSERT INTO sightings SELECT * FROM iap.sightings_of(entered, run);
    IF known <> '{}' THEN
        PERFORM iap.sight_again(ARRAY(SELECT number FROM unnest(known)), run);
    END IF;

    FOR total IN
        SELECT
            place, is_new, array_agg(number) AS numbers,
            ARRAY[count(*), sum(quantity), bit_xor(hashtextextended(transaction_id, 0))]::bigint[] AS tally
        FROM (
            SELECT
                number, transaction_id, quantity, CASE WHEN exclusion IS NULL THEN 'white' ELSE 'excluded' END AS place,
                exclusion IS NULL AS is_new
            FROM heard
            WHERE number = ANY (entered)
            UNION ALL
            SELECT number, transaction_id, quantity, place, is_new FROM unnest(known)
        ) AS standing
        GROUP BY place, is_new
    LOOP
        CASE
            WHEN total.is_new AND total.place = 'white' THEN recorded.newly_white := total.tally;
            WHEN total.place = 'white' THEN recorded.already_white := total.tally;
            WHEN total.place = 'black' THEN recorded.already_black := total.tally;
            ELSE recorded.excluded := total.tally;
        END CASE;
        IF total.place = 'white' THEN
            owed := owed || total.numbers;
        END IF;
    END LOOP;
    SELECT
        coalesce(array_agg(DISTINCT receipt_id) FILTER (WHERE number = ANY (owed)), '{}'),
        coalesce(array_agg(DISTINCT receipt_id) FILTER (WHERE number = ANY (remaining)), '{}')
    INTO recorded.watched, recorded.held
    FROM seen
    CROSS JOIN unnest(numbers) AS number;
    SELECT array_agg(transaction_id) INTO recorded.locked FROM heard WHERE number = ANY (remaining);
    RETURN recorded;
END
$$;
COMMENT ON FUNCTION iap.record IS
    'Takes the batch that is staged in the session''s tables heard and seen into the ledger. What another session has '
    'locked is left out, one by one.';

CREATE FUNCTION iap.sightings_of(numbers integer[], run bigint) RETURNS SETOF iap.sightings
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
    SELECT sighting.*, audit.seal(ROW(sighting.*, NULL)::iap.sightings)
    FROM (
        SELECT
            heard.transaction_id, heard.bundle_id, heard.environment, (seen.receipt_id & 63)::smallint, seen.receipt_id,
            seen.user_id, seen.order_id, seen.is_named, seen.in_receipt, seen.uploaded_at, run
        FROM seen
        CROSS JOIN unnest(seen.numbers) AS number
        JOIN heard USING (number)
        WHERE number = ANY (sightings_of.numbers)
    ) AS sighting;
END
$$;
COMMENT ON FUNCTION iap.sightings_of IS 'In which receipts of the batch the transactions of these numbers were seen.';

CREATE FUNCTION iap.sight_again(numbers integer[], run bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sightings AS known
    SELECT seen.*
    FROM iap.sightings_of(numbers, run) AS seen
    -- Most say nothing new. A conflict would lock the row all the same, and so write it.
    LEFT JOIN LATERAL (
        SELECT true AS is_told
        FROM sightings AS known
        WHERE known.transaction_id = seen.transaction_id AND known.bundle_id = seen.bundle_id
            AND known.environment = seen.environment AND known.bucket = seen.bucket
            AND known.receipt_id = seen.receipt_id AND (known.is_named OR NOT seen.is_named)
            AND (known.in_receipt OR NOT seen.in_receipt) AND (known.order_id IS NOT NULL OR seen.order_id IS NULL)
        OFFSET 0
    ) AS before ON true
    WHERE before.is_told IS NULL
    ON CONFLICT (transaction_id, bundle_id, environment, bucket, receipt_id) DO UPDATE
    SET is_named = known.is_named OR EXCLUDED.is_named,
        in_receipt = known.in_receipt OR EXCLUDED.in_receipt,
        order_id = coalesce(known.order_id, EXCLUDED.order_id),
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN known.seal = audit.seal(ROW(known.*)::iap.sightings) THEN audit.seal(ROW(
            known.transaction_id, known.bundle_id, known.environment, known.bucket, known.receipt_id, known.user_id,
            coalesce(known.order_id, EXCLUDED.order_id), known.is_named OR EXCLUDED.is_named,
            known.in_receipt OR EXCLUDED.in_receipt, known.uploaded_at, known.first_run_id, NULL)::iap.sightings)
            ELSE known.seal END
    WHERE (EXCLUDED.is_named AND NOT known.is_named)
        OR (EXCLUDED.in_receipt AND NOT known.in_receipt)
        OR (known.order_id IS NULL AND EXCLUDED.order_id IS NOT NULL);
END
$$;
COMMENT ON FUNCTION iap.sight_again IS
    'Remembers in which receipts known transactions were seen, and who handed them in.';

-- A purchase that is owed once ---------------------------------------------------------------------------------------

CREATE FUNCTION iap.withdraw_all_restored(run bigint, at timestamptz, most integer) RETURNS bigint
-- By the primary keys, even where the plan was made when the tables were small.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    known record;
    rows  bigint := 0;
BEGIN
    FOR known IN
        WITH restorable AS MATERIALIZED (
            SELECT transaction_id, bundle_id, environment, original_transaction_id, product_id
            FROM transactions
            WHERE place = 'white' AND product_type = 'non_consumable'
                AND coalesce(product_type, 'non_consumable') = 'non_consumable'
            UNION ALL
            -- By what is listed: of other products no row of white is read.
            SELECT white.transaction_id, bundle_id, white.environment, white.original_transaction_id, product_id
            FROM products
            JOIN transactions AS white USING (bundle_id, product_id)
            WHERE products.type = 'non_consumable' AND white.place = 'white' AND white.product_type IS NULL
                AND coalesce(white.product_type, 'non_consumable') = 'non_consumable'
        ), held AS MATERIALIZED (
            SELECT found.how, found.known_as, locked.t
            FROM restorable
            CROSS JOIN LATERAL (
                SELECT 'delivered_as' AS how, taken.transaction_id AS known_as
                FROM delivered_originals AS taken
                WHERE taken.original_transaction_id = restorable.original_transaction_id
                    AND taken.bundle_id = restorable.bundle_id AND taken.environment = restorable.environment
                    AND taken.transaction_id <> restorable.transaction_id
                UNION ALL
                SELECT 'refunded_as', same.transaction_id
                FROM transactions AS same
                WHERE iap.is_of_original(
                        same.transaction_id, same.original_transaction_id, restorable.original_transaction_id)
                    AND same.bundle_id = restorable.bundle_id AND same.environment = restorable.environment
                    AND same.transaction_id <> restorable.transaction_id AND same.place = 'excluded'
                    AND same.refunded_at IS NOT NULL AND same.reason <> 'family_shared'
                    AND (
                        same.product_id = restorable.product_id
                        OR iap.type_of(ROW(same.*)::iap.transactions) = 'non_consumable')
                LIMIT 1
            ) AS found
            CROSS JOIN LATERAL (
                SELECT ROW(white.*)::iap.transactions AS t
                FROM transactions AS white
                WHERE white.transaction_id = restorable.transaction_id AND white.bundle_id = restorable.bundle_id
                    AND white.environment = restorable.environment AND white.place = 'white'
                FOR UPDATE SKIP LOCKED
            ) AS locked
            LIMIT most
        )
        SELECT
            held.how, held.known_as,
            array_agg(ROW(held.t, iap.excluded(held.t, 'restored', run, at))::iap.change) AS changes
        FROM held
        GROUP BY held.how, held.known_as, (held.t).bundle_id, (held.t).environment
    LOOP
        PERFORM iap.move(
            known.changes, 'withdrawn', 'iap-reconcile', run, at, jsonb_build_object(known.how, known.known_as));
        rows := rows + cardinality(known.changes);
    END LOOP;
    RETURN rows;
END
$$;
COMMENT ON FUNCTION iap.withdraw_all_restored IS
    'Takes so many non-consumables at most out of white whose purchase was delivered or refunded under another id, and '
    'says how many: none, where none is left. What another session has locked is left for the next night.';

CREATE FUNCTION iap.release_restored(run bigint, at timestamptz) RETURNS bigint
-- By the primary keys, as iap.withdraw_all_restored.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    changes iap.change[];
BEGIN
    WITH released AS MATERIALIZED (
        -- Once, however many ids of it were withdrawn.
        SELECT DISTINCT ON (restored.original_transaction_id, restored.bundle_id, restored.environment)
            restored.transaction_id, restored.bundle_id, restored.environment
        FROM moves
        JOIN transactions AS restored USING (transaction_id, bundle_id, environment)
        -- The move that took it out of white: it may have been corrected since.
        WHERE moves.details ? 'refunded_as' AND moves.moved_at = restored.excluded_at AND restored.reason = 'restored'
            AND restored.refunded_at IS NULL
            AND NOT EXISTS (
                SELECT FROM transactions AS same
                WHERE iap.is_of_original(
                        same.transaction_id, same.original_transaction_id, restored.original_transaction_id)
                    AND same.bundle_id = restored.bundle_id AND same.environment = restored.environment
                    AND same.transaction_id <> restored.transaction_id
                    AND (
                        same.place <> 'excluded'
                        OR (same.refunded_at IS NOT NULL AND same.reason <> 'family_shared')))
            AND NOT EXISTS (
                SELECT FROM delivered_originals AS taken
                WHERE taken.original_transaction_id = restored.original_transaction_id
                    AND taken.bundle_id = restored.bundle_id AND taken.environment = restored.environment)
        ORDER BY
            restored.original_transaction_id, restored.bundle_id, restored.environment,
            restored.transaction_id <> restored.original_transaction_id, restored.transaction_id
    )
    SELECT coalesce(array_agg(ROW(locked.t, iap.owed_again(locked.t))::iap.change), '{}') INTO changes
    FROM released
    CROSS JOIN LATERAL (
        SELECT ROW(restored.*)::iap.transactions AS t
        FROM transactions AS restored
        WHERE restored.transaction_id = released.transaction_id AND restored.bundle_id = released.bundle_id
            AND restored.environment = released.environment AND restored.reason = 'restored'
        FOR UPDATE SKIP LOCKED
    ) AS locked;
    IF changes <> '{}' THEN
        PERFORM iap.move(changes, 'released', 'iap-reconcile', run, at);
        PERFORM iap.watch_again(changes);
    END IF;
    RETURN cardinality(changes);
END
$$;
COMMENT ON FUNCTION iap.release_restored IS
    'Has non-consumables owed again that were withdrawn for a refund under another id which was reversed, each purchase '
    'under one id, and says how many.';

-- What was delivered before iap-reconcile was there -------------------------------------------------------------------

CREATE FUNCTION iap.imported(t iap.transactions, v iap.verified) RETURNS iap.transactions
LANGUAGE plpgsql STABLE AS $$
DECLARE
    listed record;
    amount iap.amount;
BEGIN
    -- Excluded for a quantity that can't be: the company knows how many it delivered.
    IF t.quantity < 1 THEN
        t.quantity := v.quantity;
        SELECT list_price_milliunits AS price, currency INTO listed
        FROM products
        WHERE bundle_id = t.bundle_id AND product_id = t.product_id;
        amount := iap.amount_of(t.price_milliunits, t.currency, t.is_trial, t.quantity, listed.price, listed.currency);
        t.booked_milliunits := amount.milliunits;
        t.booked_currency := amount.currency;
        t.booked_as := amount.booked_as;
    END IF;
    RETURN iap.delivered(t, v.user_id, v.order_id, 'import', v.delivered_at);
END
$$;
COMMENT ON FUNCTION iap.imported IS 'A transaction that a company delivered before: black.';

CREATE FUNCTION iap.take_orders(orders iap.delivered_orders[]) RETURNS void
-- Who imports may take orders, and neither gives one to another purchase nor takes it away.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
BEGIN
    -- Of one order that names several purchases, the first is kept. What is taken already is written, and not only locked:
    -- who is about to give it back waits, and then sees what was delivered for it.
    INSERT INTO delivered_orders AS held (order_id, bundle_id, original_transaction_id)
    SELECT order_id, bundle_id, min(original_transaction_id)
    FROM unnest(orders)
    GROUP BY order_id, bundle_id
    ORDER BY order_id, bundle_id
    ON CONFLICT (order_id, bundle_id) DO UPDATE SET original_transaction_id = held.original_transaction_id;
END
$$;
COMMENT ON FUNCTION iap.take_orders IS
    'Takes orders for which a company delivered before: each stays the purchase''s that has it.';

CREATE FUNCTION iap.import_deliveries(deliveries iap.verified[]) RETURNS bigint
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    at        timestamptz := iap.present();
    fresh     iap.verified[];
    changes   iap.change[];
    orders    iap.delivered_orders[];
    delivered iap.transactions[];
    purchase  iap.transactions;
BEGIN
    -- What is white or excluded moves; what Apple said of it stays.
    SELECT
        coalesce(array_agg(v::iap.verified) FILTER (WHERE t IS NULL), '{}'),
        array_agg(ROW(t, iap.imported(t, v::iap.verified))::iap.change) FILTER (WHERE (t).place <> 'black')
    INTO fresh, changes
    FROM unnest(deliveries) AS v
    LEFT JOIN LATERAL (
        SELECT ROW(found.*)::iap.transactions AS t
        FROM transactions AS found
        WHERE found.transaction_id = v.transaction_id AND found.bundle_id = v.bundle_id
            AND found.environment = v.environment
        FOR UPDATE
    ) AS held ON true;
    BEGIN
        PERFORM iap.enter(fresh, NULL, at);
    EXCEPTION
        WHEN unique_violation THEN
            RAISE EXCEPTION 'another session entered a transaction of this import meanwhile'
                USING ERRCODE = 'serialization_failure', HINT = 'Try the batch again.';
    END;
    IF changes IS NOT NULL THEN
        PERFORM iap.move(changes, 'imported', session_user, NULL, at, '{}', 'import');
    END IF;

    -- An order is delivered once, whoever says so. What was black before has its own already.
    SELECT array_agg(ROW(order_id, bundle_id, original_transaction_id)::iap.delivered_orders) INTO orders
    FROM (
        SELECT order_id, bundle_id, original_transaction_id FROM unnest(fresh)
        UNION ALL
        SELECT (became).order_id, (became).bundle_id, (became).original_transaction_id FROM unnest(changes)
    ) AS black
    WHERE order_id IS NOT NULL;
    IF orders IS NOT NULL THEN
        PERFORM iap.take_orders(orders);
    END IF;

    -- A non-consumable is owed once: the other transactions of a purchase that was delivered leave white.
    SELECT array_agg(ROW(found.*)::iap.transactions) INTO delivered
    FROM unnest(deliveries) AS v
    CROSS JOIN LATERAL (
        SELECT * FROM transactions AS t
        WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id AND t.environment = v.environment
        OFFSET 0
    ) AS found
    LEFT JOIN products ON products.bundle_id = found.bundle_id AND products.product_id = found.product_id
    WHERE coalesce(found.product_type, products.type, 'non_consumable') = 'non_consumable';
    IF delivered IS NOT NULL THEN
        PERFORM iap.take_originals(delivered);
        FOREACH purchase IN ARRAY delivered LOOP
            IF iap.type_of(purchase) = 'non_consumable' THEN
                PERFORM iap.withdraw_restored(purchase, session_user, at, 'import');
            END IF;
        END LOOP;
    END IF;
    RETURN cardinality(fresh) + coalesce(cardinality(changes), 0);
END
$$;
COMMENT ON FUNCTION iap.import_deliveries IS
    'Takes what a company delivered before into black, and says how many transactions are black since.';

-- Statistics ----------------------------------------------------------------------------------------------------------

-- A night that brings much, before anything else has looked at the tables: the planner takes them for as small as they
-- were then, and reads all of white for each of the kinds of product. The job lets it look again.
CREATE FUNCTION iap.analyze_grown() RETURNS text[]
-- Only their owner may; the name of the table comes from here. How many rows there are, and how they fall to a few places
-- and products, a quarter of the usual sample tells; the rest autovacuum looks at.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp SET default_statistics_target = 25 AS $$
DECLARE
    grown text[];
    name  text;
BEGIN
    SELECT coalesce(array_agg(relname::text ORDER BY relname), '{}')
    INTO grown
    FROM pg_class AS looked_at
    WHERE relnamespace = 'iap'::regnamespace AND relname IN ('transactions', 'moves', 'sightings', 'cases')
        AND EXISTS (
            SELECT FROM pg_class AS stored
            -- Among years of deliveries what is white is a small part of the ledger, and all that the night looks for.
            WHERE stored.oid IN (looked_at.oid, to_regclass(format('iap.%I', looked_at.relname || '_white')))
                AND pg_relation_size(stored.oid)
                    > (1.2 * stored.relpages + 64) * current_setting('block_size')::bigint);
    FOREACH name IN ARRAY grown LOOP
        -- What is looked at already, or cleaned, is not waited for.
        EXECUTE format('ANALYZE (SKIP_LOCKED) iap.%I', name);
    END LOOP;
    RETURN grown;
END
$$;
COMMENT ON FUNCTION iap.analyze_grown IS
    'Lets the planner look at the tables of the ledger that have grown by a fifth since it looked at them last, or of which '
    'the white part has, and says which they are.';
