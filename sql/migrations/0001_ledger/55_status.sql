-- What to tell a customer of a purchase, an upload or an order.

CREATE FUNCTION iap.transactions_of_order(bundle_id text, order_id text) RETURNS SETOF iap.transactions
LANGUAGE sql STABLE AS $$
    -- In the collation that orders are sorted by: see iap.receipts_of.
    WITH named AS (
        SELECT d.transaction_id, d.environment
        FROM iap.transactions AS d
        WHERE d.order_id = $2 COLLATE "default" AND d.bundle_id = $1
        UNION
        SELECT best.transaction_id, best.environment
        FROM (
            -- Beside the purchase that was uploaded for it a receipt holds, and its customer bought, what was not.
            SELECT
                s.transaction_id, s.environment,
                rank() OVER (ORDER BY s.is_named DESC, s.in_receipt DESC) AS rank
            FROM unnest(iap.receipts_for($2)) AS uploaded (receipt_id)
            CROSS JOIN LATERAL (
                SELECT seen.transaction_id, seen.environment, seen.is_named, seen.in_receipt
                FROM iap.sightings AS seen
                WHERE seen.receipt_id = uploaded.receipt_id AND seen.bucket = (uploaded.receipt_id & 63)::smallint
                    AND seen.bundle_id = $1 AND seen.order_id = $2
                    -- What rode along, and can't be what the order is for: it was delivered for another one, is another
                    -- product, or was bought before the order could be opened that it pays for.
                    AND (seen.is_named OR NOT EXISTS (
                        SELECT FROM iap.transactions AS beside
                        LEFT JOIN iap.orders AS o ON o.order_id = $2 COLLATE "default" AND o.bundle_id = $1
                        WHERE beside.transaction_id = seen.transaction_id AND beside.bundle_id = $1
                            AND beside.environment = seen.environment
                            AND (
                                (beside.place = 'black' AND beside.order_id <> $2)
                                OR beside.product_id <> o.product_id
                                OR beside.purchased_at < o.created_at - interval '2 days')))
                OFFSET 0
            ) AS s
        ) AS best
        WHERE best.rank = 1
        UNION
        SELECT c.transaction_id, c.environment
        FROM iap.cases AS c
        WHERE c.order_ids @> ARRAY[$2 COLLATE "default"] AND c.state = 'open' AND c.bundle_id = $1
    )
    SELECT t.*
    FROM (
        SELECT * FROM named
        UNION ALL
        -- A grant names no order, nor need a claim or the support desk: then what was matched best was delivered. By
        -- the case, for who buys much was delivered much for no order.
        SELECT d.transaction_id, d.environment
        FROM iap.orders AS o
        CROSS JOIN LATERAL (
            SELECT c.transaction_id, c.environment
            FROM iap.cases AS c
            WHERE c.order_ids[1] = $2 COLLATE "default" AND c.bundle_id = $1
            OFFSET 0
        ) AS matched
        CROSS JOIN LATERAL (
            SELECT had.transaction_id, had.environment
            FROM iap.transactions AS had
            WHERE had.transaction_id = matched.transaction_id AND had.bundle_id = $1
                AND had.environment = matched.environment AND had.user_id = o.user_id AND had.place = 'black'
                AND had.order_id IS NULL
            OFFSET 0
        ) AS d
        WHERE o.order_id = $2 COLLATE "default" AND o.bundle_id = $1 AND NOT EXISTS (SELECT FROM named)
    ) AS candidate
    CROSS JOIN LATERAL (
        SELECT * FROM iap.transactions AS found
        WHERE found.transaction_id = candidate.transaction_id AND found.bundle_id = $1
            AND found.environment = candidate.environment
        OFFSET 0
    ) AS t
$$;
COMMENT ON FUNCTION iap.transactions_of_order IS
    'The purchases that were delivered for an order of the app''s own, uploaded with it and may be what it is for, or '
    'matched with it by the night; where there are none, what its user was delivered for no order after it was '
    'matched with this one.';

CREATE FUNCTION iap.word_of(t iap.transactions) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE iap.standing(t)
        WHEN 'white' THEN CASE iap.outcome_otherwise(t)
            WHEN 'excluded' THEN CASE
                WHEN iap.is_dismissed_otherwise(t) AND NOT iap.is_refunded_otherwise(t) THEN 'unknown'
                ELSE 'not paid'
            END
            WHEN 'already_delivered' THEN 'delivered'
            ELSE 'paid, being delivered'
        END
        WHEN 'already_delivered' THEN 'delivered'
        WHEN 'excluded' THEN CASE
            WHEN iap.owed_as(t) IS NOT NULL THEN 'paid, being delivered'
            -- A company may have delivered it under another id, whatever is said of this one.
            WHEN t.reason IN ('dismissed', 'before_start', 'refunded') AND iap.is_delivered_beside(t) THEN 'delivered'
            WHEN t.reason IN ('dismissed', 'before_start') THEN 'unknown'
            -- Paid, as the id is that it restores.
            WHEN t.reason = 'restored' AND iap.is_dismissed_otherwise(t) THEN 'unknown'
            ELSE 'not paid'
        END
        ELSE 'unknown'
    END;
END
$$;
COMMENT ON FUNCTION iap.word_of IS 'What to tell the customer of a transaction that the ledger holds.';

CREATE FUNCTION iap.word_of_upload(bundle_id text, transaction_id text, order_id text) RETURNS text
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    waits  boolean;
    since  timestamptz;
    opened timestamptz;
BEGIN
    SELECT bool_or(receipts.state = 'waiting'), max(uploads.last_uploaded_at) INTO waits, since
    FROM uploads
    JOIN receipts USING (bucket, receipt_id)
    WHERE receipts.bundle_id = word_of_upload.bundle_id
        AND CASE
            WHEN word_of_upload.order_id IS NULL
            THEN uploads.transaction_id = word_of_upload.transaction_id COLLATE "default"
            ELSE uploads.order_id = word_of_upload.order_id COLLATE "default"
        END;
    SELECT created_at INTO opened
    FROM orders
    WHERE orders.order_id = word_of_upload.order_id COLLATE "default" AND orders.bundle_id = word_of_upload.bundle_id;
    RETURN CASE
        WHEN since IS NULL AND opened IS NULL THEN 'unknown'
        -- Two nights: StoreKit may write it into a later receipt, and Apple may tell of it by itself.
        WHEN waits OR greatest(since, opened) > iap.present() - interval '2 days' THEN 'waiting for Apple'
        ELSE 'not paid'
    END;
END
$$;
COMMENT ON FUNCTION iap.word_of_upload IS
    'What to tell the customer of a purchase that the ledger does not hold: it waits for Apple while an upload of it '
    'does, and for two days after the last one, or after the order was opened; then it was not paid.';

CREATE FUNCTION iap.status(
    bundle_id text, transaction_id text DEFAULT NULL, order_id text DEFAULT NULL, OUT place text, OUT case_state text,
    OUT tell text
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    t iap.transactions;
BEGIN
    PERFORM iap.limit_waiting();
    PERFORM iap.require_bundle_id(status.bundle_id);
    status.transaction_id := nullif(status.transaction_id, '');
    status.order_id := nullif(status.order_id, '');
    IF num_nonnulls(status.transaction_id, status.order_id) <> 1 THEN
        RAISE EXCEPTION 'name a transaction or an order' USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'Such as iap.status(''com.example.game'', order_id => ''order-42'').';
    ELSIF status.order_id IS NULL THEN
        PERFORM iap.require_transaction_id('transaction_id', status.transaction_id);
        SELECT * INTO t
        FROM transactions AS found
        WHERE found.transaction_id = status.transaction_id AND found.bundle_id = status.bundle_id
        -- Both environments number their transactions on their own: who asks means what was paid.
        ORDER BY found.environment
        LIMIT 1;
    ELSE
        PERFORM iap.require_text('order_id', status.order_id, 1000);
        SELECT * INTO t
        FROM iap.transactions_of_order(status.bundle_id, status.order_id) AS found
        ORDER BY
            found.environment, array_position(ARRAY['black', 'white', 'excluded'], found.place), found.purchased_at
        LIMIT 1;
    END IF;
    place := t.place;
    SELECT state INTO case_state
    FROM cases
    WHERE cases.transaction_id = t.transaction_id AND cases.bundle_id = t.bundle_id
        AND cases.environment = t.environment;
    tell := CASE
        WHEN t.transaction_id IS NULL
        THEN iap.word_of_upload(status.bundle_id, status.transaction_id, status.order_id)
        ELSE iap.word_of(t)
    END;
END
$$;
COMMENT ON FUNCTION iap.status IS
    'How a purchase stands, by its transaction or by the app''s own order: its place (NULL where the ledger does not '
    'hold it), whether its case is open or closed (NULL where there is none), and what to tell the customer: “waiting '
    'for Apple”, “paid, being delivered”, “delivered”, “not paid” or “unknown”.';
