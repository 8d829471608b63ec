-- What was delivered before iap-reconcile was there.

CREATE FUNCTION iap.imported(t iap.transactions, v iap.verified) RETURNS iap.transactions
LANGUAGE plpgsql STABLE AS $$
DECLARE
    was iap.transactions := t;
BEGIN
    -- Excluded for a quantity that can't be: the company knows how many it delivered.
    IF t.quantity < 1 THEN
        t.quantity := v.quantity;
        t := iap.rebooked(t, was);
    END IF;
    -- Of what is shared in a family nobody paid: when that ended, no money went back.
    IF t.is_family_shared THEN
        t := iap.unrefunded(t);
    END IF;
    RETURN iap.delivered(t, v.user_id, v.order_id, 'import', v.delivered_at);
END
$$;
COMMENT ON FUNCTION iap.imported IS 'A transaction that a company delivered before: black.';

CREATE FUNCTION iap.take_orders(orders iap.delivered_orders[]) RETURNS void
-- Who imports may take orders, and neither gives one to another purchase nor takes it away.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
BEGIN
    -- Of one order that names several purchases, the first is kept. What is taken already is written, and not only
    -- locked: who is about to give it back waits, and then sees what was delivered for it.
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

CREATE FUNCTION iap.take_imported(once iap.transactions[]) RETURNS iap.transactions[]
LANGUAGE plpgsql AS $$
DECLARE
    mended   iap.transactions[];
    restored iap.transactions[];
BEGIN
    -- Who takes back just now what was delivered under another id is waited for, too. That is written, and not only
    -- locked: who is about to take it back waits, and then sees what is delivered here, or is told to try again.
    UPDATE transactions AS held
    SET delivered_by = held.delivered_by
    FROM (
        SELECT DISTINCT beside.transaction_id, t.bundle_id, t.environment
        FROM unnest(once) AS t
        CROSS JOIN LATERAL (
            SELECT same.transaction_id
            FROM transactions AS same
            WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
                AND same.bundle_id = t.bundle_id AND same.environment = t.environment
                AND same.transaction_id <> t.transaction_id
                AND same.delivered_by IN ('resolved', 'entitlement')
                AND (t.web_order_line_item_id IS NULL OR same.web_order_line_item_id = t.web_order_line_item_id)
            OFFSET 0
        ) AS beside
    ) AS kin
    WHERE held.transaction_id = kin.transaction_id AND held.bundle_id = kin.bundle_id
        AND held.environment = kin.environment AND held.delivered_by IN ('resolved', 'entitlement');
    -- What was delivered while the list of products called it something else than bought once goes before: see
    -- iap.take_mended. The night notes it only where another id is white.
    SELECT array_agg(ROW(black.*)::iap.transactions) INTO mended
    FROM unnest(once) AS t
    CROSS JOIN LATERAL (
        SELECT *
        FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND same.product_type IN ('consumable', 'non_renewing')
            -- By words that no index answers to, as in iap.take_for_delivery.
            AND starts_with(same.place, 'black')
            AND iap.is_same_purchase(t::iap.transactions, ROW(same.*)::iap.transactions)
        OFFSET 0
    ) AS black;
    IF mended IS NOT NULL THEN
        PERFORM iap.take_originals(mended);
    END IF;
    PERFORM iap.take_originals(once);
    SELECT array_agg(t) INTO restored
    FROM (
        SELECT
            told::iap.transactions AS t,
            dense_rank() OVER (
                PARTITION BY original_transaction_id, bundle_id, environment, web_order_line_item_id
                ORDER BY transaction_id) AS number
        FROM unnest(once) AS told
    ) AS ids
    WHERE (
            iap.is_delivered_otherwise(t) OR iap.is_period_delivered(t)
            -- Of what nobody knows the type of, a receipt showed which it restores: as in iap.standing.
            OR (
                (t).reason = 'restored' AND iap.is_original_delivered(t) AND iap.type_of(t) IS NULL))
        -- What the support desk or a grant delivered may be taken back, and beside that this stays delivered: the first
        -- id that an import tells of.
        AND (
            number > 1
            OR NOT coalesce(
                (
                    SELECT bool_and(held.delivered_by IN ('resolved', 'entitlement'))
                    FROM transactions AS held
                    WHERE iap.is_of_original(
                            held.transaction_id, held.original_transaction_id, (t).original_transaction_id)
                        AND held.bundle_id = (t).bundle_id AND held.environment = (t).environment
                        AND held.transaction_id <> (t).transaction_id
                        -- By words that no index answers to, as in iap.take_for_delivery.
                        AND starts_with(held.place, 'black')
                        AND (
                            iap.is_same_purchase(t, ROW(held.*)::iap.transactions)
                            OR ((t).web_order_line_item_id IS NULL AND iap.type_of(t) IS NULL))
                ),
                false));
    RETURN restored;
END
$$;
COMMENT ON FUNCTION iap.take_imported IS
    'Notes that these purchases, which are delivered once, are delivered, and gives those that were delivered under '
    'another id before: they are restored. Waits for who is about to deliver them. NULL where there are none.';

CREATE FUNCTION iap.withdraw_beside(deliveries iap.verified[], at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    delivered iap.transactions[];
    purchase  iap.transactions;
BEGIN
    SELECT array_agg(ROW(found.*)::iap.transactions) INTO delivered
    FROM unnest(deliveries) AS v
    CROSS JOIN LATERAL (
        SELECT * FROM transactions AS t
        WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id AND t.environment = v.environment
        OFFSET 0
    ) AS found
    LEFT JOIN products ON products.bundle_id = found.bundle_id AND products.product_id = found.product_id
    WHERE found.place = 'black' AND (
        coalesce(iap.type_by(found.product_type, found.source, products.type), 'non_consumable') = 'non_consumable'
        OR found.web_order_line_item_id IS NOT NULL);
    IF delivered IS NOT NULL THEN
        PERFORM iap.take_originals(delivered);
        FOREACH purchase IN ARRAY delivered LOOP
            PERFORM iap.withdraw_restored(purchase, session_user, at, 'import');
        END LOOP;
    END IF;
END
$$;
COMMENT ON FUNCTION iap.withdraw_beside IS
    'Takes the other transactions of imported purchases out of white: delivered once, each is owed once.';

CREATE FUNCTION iap.import_deliveries(deliveries iap.verified[]) RETURNS bigint
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    at        timestamptz := iap.present();
    fresh     iap.verified[];
    changes   iap.change[];
    orders    iap.delivered_orders[];
    once      iap.transactions[];
    restored  iap.transactions[];
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

    -- A non-consumable, or period of a subscription, is delivered once, whichever of its ids the company kept: the
    -- others are restored. Who is about to deliver it is waited for.
    SELECT array_agg(t::iap.transactions) INTO once
    FROM (
        SELECT entering.*
        FROM unnest(fresh) AS v
        CROSS JOIN LATERAL jsonb_populate_record(NULL::iap.transactions, to_jsonb(v)) AS entering
        UNION ALL
        SELECT (c.was).* FROM unnest(changes) AS c WHERE (c.was).reason IS DISTINCT FROM 'family_shared'
    ) AS t
    LEFT JOIN products USING (bundle_id, product_id)
    WHERE coalesce(iap.type_by(t.product_type, t.source, products.type), 'non_consumable') = 'non_consumable'
        OR t.web_order_line_item_id IS NOT NULL;
    IF once IS NOT NULL THEN
        restored := iap.take_imported(once);
    END IF;
    IF restored IS NOT NULL THEN
        SELECT
            coalesce(
                array_agg(
                    CASE
                        WHEN t.transaction_id IS NULL THEN v::iap.verified
                        ELSE jsonb_populate_record(v::iap.verified, '{"exclusion": "restored", "delivered_at": null}')
                    END),
                '{}')
        INTO fresh
        FROM unnest(fresh) AS v
        LEFT JOIN unnest(restored) AS t USING (transaction_id, bundle_id, environment);
        -- What is white the night withdraws.
        SELECT array_agg(c::iap.change) INTO changes
        FROM unnest(changes) AS c
        LEFT JOIN unnest(restored) AS t
            ON t.transaction_id = (c.was).transaction_id AND t.bundle_id = (c.was).bundle_id
                AND t.environment = (c.was).environment
        WHERE t.transaction_id IS NULL;
    END IF;
    BEGIN
        PERFORM iap.enter(fresh, NULL, at);
    EXCEPTION
        WHEN unique_violation THEN
            RAISE EXCEPTION 'another session entered a transaction of this import meanwhile'
                USING ERRCODE = 'serialization_failure', HINT = 'Try the batch again.';
    END;
    IF changes IS NOT NULL THEN
        PERFORM iap.move(changes, 'imported', session_user, NULL, at, '{}', 'import');
        -- Where the company says it first, Apple's word corrects it, and the move tells. Here Apple's word was first.
        INSERT INTO delivery_checks (transaction_id, bundle_id, environment, finding, checked_at, times)
        SELECT v.transaction_id, v.bundle_id, v.environment, 'other_product', at, 1
        FROM unnest(changes) AS c
        JOIN unnest(deliveries) AS v
            ON v.transaction_id = (c.was).transaction_id AND v.bundle_id = (c.was).bundle_id
                AND v.environment = (c.was).environment
        WHERE v.product_id <> (c.was).product_id AND (c.was).source <> 'app_server'
        ORDER BY v.transaction_id, v.bundle_id, v.environment
        ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
        SET finding = EXCLUDED.finding, checked_at = EXCLUDED.checked_at, next_at = NULL;
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

    PERFORM iap.withdraw_beside(deliveries, at);
    -- Of an original and a period it may have got one.
    IF restored IS NOT NULL THEN
        PERFORM iap.release_originals(array_agg(ROW(t, t)::iap.change)) FROM unnest(restored) AS t;
    END IF;
    RETURN cardinality(fresh) + coalesce(cardinality(changes), 0);
END
$$;
COMMENT ON FUNCTION iap.import_deliveries IS
    'Takes what a company delivered before into black, and says how many transactions it took. Of several ids of a '
    'non-consumable, or of a period of a subscription, one is black: a new one beside it is restored, and what was '
    'known already stays as it is; but beside what may be taken back, this is black, too.';
