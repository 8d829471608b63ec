-- A purchase that is owed once, under whatever ids it is restored: withdrawn by the night.

CREATE FUNCTION iap.stand_for_refund(
    bundle_id text, environment text, transaction_id text, run bigint, at timestamptz
) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    t iap.transactions;
BEGIN
    SELECT * INTO t
    FROM transactions
    WHERE transaction_id = stand_for_refund.transaction_id AND bundle_id = stand_for_refund.bundle_id
        AND environment = stand_for_refund.environment AND reason = 'restored' AND refunded_at IS NOT NULL
        -- Whoever tells that what a family shares was refunded tells that the sharing ended.
        AND NOT is_family_shared
    FOR UPDATE SKIP LOCKED;
    IF FOUND AND NOT EXISTS (
        SELECT FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND (same.place = 'black' OR same.reason = 'refunded')
            AND iap.is_same_purchase(t, ROW(same.*)::iap.transactions))
    THEN
        PERFORM iap.move(
            ARRAY[ROW(t, iap.excluded(t, 'refunded', run, at))::iap.change], 'corrected', 'iap-reconcile', run, at);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.stand_for_refund IS
    'Has a restored id that Apple refunded stand for its purchase, where that was not delivered and no other id does: '
    'else the refund would count nowhere.';

CREATE FUNCTION iap.admit_owed(
    bundle_id text, environment text, transaction_id text, restored iap.change[], run bigint, at timestamptz
) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    t        iap.transactions;
    change   iap.change;
    admitted record;
BEGIN
    SELECT (was).admitted_user_id, (was).admitted_receipt_id INTO admitted
    FROM unnest(restored)
    WHERE (was).admitted_user_id IS NOT NULL
    ORDER BY (was).entry_id
    LIMIT 1;
    IF NOT FOUND THEN
        RETURN true;
    END IF;
    SELECT * INTO t
    FROM transactions
    WHERE transaction_id = admit_owed.transaction_id AND bundle_id = admit_owed.bundle_id
        AND environment = admit_owed.environment AND place = 'white'
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
    ELSIF t.admitted_user_id IS NULL THEN
        change.was := t;
        t.admitted_user_id := admitted.admitted_user_id;
        t.admitted_receipt_id := coalesce(t.admitted_receipt_id, admitted.admitted_receipt_id);
        change.became := t;
        PERFORM iap.move(ARRAY[change], 'corrected', 'iap-reconcile', run, at);
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION iap.admit_owed IS
    'Has a purchase be for whom its app''s server admitted it under another id, of those that are withdrawn for its '
    'sake; false where it is white no more, or another session has it.';

-- Its body names tables without their schema, so that in a dry run it reads the shadows: here they are not found.
SET check_function_bodies = off;
CREATE FUNCTION iap.white_bought_once() RETURNS SETOF iap.transactions
-- Without settings of its own, so that the planner puts it in the place of its call and reads each by the index.
LANGUAGE sql STABLE AS $$
    SELECT *
    FROM transactions
    WHERE place = 'white' AND product_type = 'non_consumable'
    UNION ALL
    -- By what is listed: of other products no row of white is read, however many there are.
    SELECT white.*
    FROM products
    CROSS JOIN LATERAL (
        SELECT *
        FROM transactions AS untold
        WHERE untold.bundle_id = products.bundle_id AND untold.product_id = products.product_id
            AND untold.place = 'white' AND untold.product_type IS NULL
        UNION ALL
        -- So is what was listed as something else, where the list was mended since: see iap.type_by.
        SELECT *
        FROM transactions AS mended
        WHERE mended.bundle_id = products.bundle_id AND mended.product_id = products.product_id
            AND mended.place = 'white' AND mended.product_type IN ('consumable', 'non_renewing')
            AND mended.source IN ('app_server', 'verify_receipt')
        OFFSET 0
    ) AS white
    WHERE products.type = 'non_consumable'
$$;
RESET check_function_bodies;
COMMENT ON FUNCTION iap.white_bought_once IS
    'What is white of products that are bought once: by what its row holds or, where nobody told, by what the list of '
    'products says today.';

CREATE FUNCTION iap.take_mended() RETURNS void
-- By the primary keys, as iap.withdraw_all_restored.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    delivered iap.transactions[];
BEGIN
    WITH found AS MATERIALIZED (
        SELECT DISTINCT black.transaction_id, black.bundle_id, black.environment
        -- Entered after the list was mended, too, or told of by Apple since.
        FROM iap.white_bought_once() AS white
        CROSS JOIN LATERAL (
            -- In two, for most are their own original, and then only the second is looked up.
            SELECT *
            FROM transactions AS original
            WHERE white.transaction_id <> white.original_transaction_id
                AND original.transaction_id = white.original_transaction_id
                AND original.bundle_id = white.bundle_id AND original.environment = white.environment
                -- By words that no index answers to, as in iap.withdraw_all_restored.
                AND starts_with(original.place, 'black')
            UNION ALL
            SELECT *
            FROM transactions AS restored
            WHERE restored.original_transaction_id = white.original_transaction_id
                AND restored.original_transaction_id <> restored.transaction_id
                AND restored.bundle_id = white.bundle_id AND restored.environment = white.environment
                AND starts_with(restored.place, 'black')
            OFFSET 0
        ) AS black
        WHERE iap.is_same_purchase(ROW(white.*)::iap.transactions, ROW(black.*)::iap.transactions)
            AND NOT EXISTS (
                SELECT FROM delivered_originals AS taken
                WHERE taken.original_transaction_id = white.original_transaction_id
                    AND taken.bundle_id = white.bundle_id AND taken.environment = white.environment
                    AND taken.web_order_line_item_id = '')
    )
    SELECT array_agg(ROW(held.*)::iap.transactions) INTO delivered
    FROM found
    CROSS JOIN LATERAL (
        -- Who takes that back just now would find nothing to release.
        SELECT *
        FROM transactions AS black
        WHERE black.transaction_id = found.transaction_id AND black.bundle_id = found.bundle_id
            AND black.environment = found.environment AND black.place = 'black'
        FOR SHARE SKIP LOCKED
    ) AS held;
    IF delivered IS NOT NULL THEN
        PERFORM iap.take_originals(delivered);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.take_mended IS
    'Has iap.delivered_originals say what was delivered while the list of products called it something else than '
    'bought once, where the list was mended since, and another id of it is white.';

CREATE FUNCTION iap.withdraw_all_restored(run bigint, at timestamptz, most integer) RETURNS bigint
-- By the primary keys, even where the plan was made when the tables were small.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    known record;
    rows  bigint := 0;
BEGIN
    PERFORM iap.take_mended();
    FOR known IN
        WITH restorable AS MATERIALIZED (
            SELECT
                transaction_id, bundle_id, environment, original_transaction_id, product_id, source, '' AS period,
                NULL AS owed_as
            FROM iap.white_bought_once()
            UNION ALL
            -- What is white of subscriptions is mostly many: read once, and not once for each.
            SELECT
                white.transaction_id, bundle_id, white.environment, white.original_transaction_id, product_id,
                white.source, white.web_order_line_item_id,
                first_value(white.transaction_id) OVER (
                    PARTITION BY
                        white.original_transaction_id, white.web_order_line_item_id, bundle_id, white.environment
                    ORDER BY
                        white.source = 'app_server', white.transaction_id <> white.original_transaction_id,
                        white.transaction_id)
            FROM transactions AS white
            LEFT JOIN products USING (bundle_id, product_id)
            WHERE white.place = 'white' AND white.web_order_line_item_id IS NOT NULL
                AND coalesce(white.product_type, products.type) IS DISTINCT FROM 'non_consumable'
        ), held AS MATERIALIZED (
            SELECT found.how, found.known_as, locked.t
            FROM restorable
            CROSS JOIN LATERAL (
                SELECT 'delivered_as' AS how, taken.transaction_id AS known_as
                FROM delivered_originals AS taken
                -- By its own id none but what is bought once is taken.
                WHERE taken.original_transaction_id
                        IN (restorable.original_transaction_id, restorable.transaction_id)
                    AND taken.bundle_id = restorable.bundle_id AND taken.environment = restorable.environment
                    AND taken.web_order_line_item_id = restorable.period
                    AND taken.transaction_id <> restorable.transaction_id
                UNION ALL
                (
                    SELECT
                        CASE WHEN ended.refunded_at IS NULL THEN 'dismissed_as' ELSE 'refunded_as' END,
                        ended.transaction_id
                    FROM (
                        SELECT same.transaction_id, same.refunded_at
                        FROM transactions AS same
                        WHERE restorable.period <> '' AND starts_with(same.place, 'excluded')
                            AND (same.refunded_at IS NOT NULL OR same.reason = 'dismissed')
                            AND same.original_transaction_id = restorable.original_transaction_id
                            AND same.web_order_line_item_id = restorable.period
                            AND same.web_order_line_item_id IS NOT NULL
                            AND same.bundle_id = restorable.bundle_id AND same.environment = restorable.environment
                            AND NOT same.is_family_shared
                        UNION ALL
                        SELECT same.transaction_id, same.refunded_at
                        FROM transactions AS same
                        WHERE restorable.period = '' AND iap.is_of_original(
                                same.transaction_id, same.original_transaction_id, restorable.original_transaction_id)
                            AND same.bundle_id = restorable.bundle_id AND same.environment = restorable.environment
                            AND same.transaction_id <> restorable.transaction_id
                            -- By words that no index answers to, here and below: the planner would read all of what is
                            -- excluded, or white, where there was none before.
                            AND starts_with(same.place, 'excluded')
                            AND (same.refunded_at IS NOT NULL OR same.reason = 'dismissed')
                            AND NOT same.is_family_shared
                            AND (
                                same.product_id = restorable.product_id
                                OR iap.type_of(ROW(same.*)::iap.transactions) = 'non_consumable')
                    ) AS ended
                    -- Apple's word on one id goes before the desk's on another.
                    ORDER BY ended.refunded_at IS NULL
                    LIMIT 1
                )
                UNION ALL
                -- By the id of which Apple told, if it did of one alone; else the original's, or the lowest.
                SELECT 'owed_as', restorable.owed_as
                WHERE restorable.owed_as <> restorable.transaction_id
                UNION ALL
                (
                    SELECT 'owed_as', same.transaction_id
                    FROM transactions AS same
                    WHERE restorable.period = '' AND iap.is_of_original(
                            same.transaction_id, same.original_transaction_id, restorable.original_transaction_id)
                        AND same.bundle_id = restorable.bundle_id AND same.environment = restorable.environment
                        AND starts_with(same.place, 'white') AND same.product_id = restorable.product_id
                        AND same.web_order_line_item_id IS NULL
                        AND (
                            same.source = 'app_server', same.transaction_id <> same.original_transaction_id,
                            same.transaction_id)
                        < (
                            restorable.source = 'app_server',
                            restorable.transaction_id <> restorable.original_transaction_id,
                            restorable.transaction_id)
                    -- The one that stands for all, and so is not withdrawn itself.
                    ORDER BY
                        same.source = 'app_server', same.transaction_id <> same.original_transaction_id,
                        same.transaction_id
                    LIMIT 1
                )
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
            held.how, held.known_as, (held.t).bundle_id, (held.t).environment,
            array_agg(ROW(held.t, iap.excluded(held.t, 'restored', run, at))::iap.change) AS changes
        FROM held
        GROUP BY held.how, held.known_as, (held.t).bundle_id, (held.t).environment
        -- What is owed no more is withdrawn before the others are for its sake.
        ORDER BY held.how = 'owed_as'
    LOOP
        -- Who had it by this id has it by the other.
        CONTINUE WHEN known.how = 'owed_as'
            AND NOT iap.admit_owed(known.bundle_id, known.environment, known.known_as, known.changes, run, at);
        PERFORM iap.move(
            known.changes, 'withdrawn', 'iap-reconcile', run, at, jsonb_build_object(known.how, known.known_as));
        IF known.how = 'owed_as' THEN
            PERFORM iap.sight_owed(
                ARRAY(
                    SELECT ROW(seen.*)::iap.sightings
                    FROM unnest(known.changes) AS c
                    JOIN sightings AS seen
                        ON seen.transaction_id = (c.was).transaction_id AND seen.bundle_id = (c.was).bundle_id
                            AND seen.environment = (c.was).environment));
        END IF;
        IF known.how = 'refunded_as' THEN
            PERFORM iap.stand_for_refund(known.bundle_id, known.environment, known.known_as, run, at);
        END IF;
        rows := rows + cardinality(known.changes);
    END LOOP;
    RETURN rows;
END
$$;
COMMENT ON FUNCTION iap.withdraw_all_restored IS
    'Takes so many non-consumables and periods of subscriptions at most out of white whose purchase was delivered, '
    'refunded or dismissed, or is owed, under another id, and says how many: none, where none is left. What another '
    'session has locked is left for the next night.';
