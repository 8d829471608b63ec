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

    -- A non-consumable, or period of a subscription, is owed once: the other transactions of a purchase that was
    -- delivered leave white.
    SELECT array_agg(ROW(found.*)::iap.transactions) INTO delivered
    FROM unnest(deliveries) AS v
    CROSS JOIN LATERAL (
        SELECT * FROM transactions AS t
        WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id AND t.environment = v.environment
        OFFSET 0
    ) AS found
    LEFT JOIN products ON products.bundle_id = found.bundle_id AND products.product_id = found.product_id
    WHERE coalesce(iap.type_by(found.product_type, found.source, products.type), 'non_consumable') = 'non_consumable'
        OR found.web_order_line_item_id IS NOT NULL;
    IF delivered IS NOT NULL THEN
        PERFORM iap.take_originals(delivered);
        FOREACH purchase IN ARRAY delivered LOOP
            PERFORM iap.withdraw_restored(purchase, session_user, at, 'import');
        END LOOP;
    END IF;
    RETURN cardinality(fresh) + coalesce(cardinality(changes), 0);
END
$$;
COMMENT ON FUNCTION iap.import_deliveries IS
    'Takes what a company delivered before into black, and says how many transactions are black since.';
