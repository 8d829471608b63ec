-- A purchase that is owed once, whatever ids it has: what was restored under another, and the periods of subscriptions.

CREATE FUNCTION iap.is_of_original(transaction_id text, original_transaction_id text, wanted text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT ($1 = $3 AND $2 = $3) OR ($2 = $3 AND $2 <> $1)
$$;
COMMENT ON FUNCTION iap.is_of_original IS
    'Whether a transaction is of an original purchase: in words for which there are indexes, without one entry more '
    'for each purchase that is its own original.';

CREATE FUNCTION iap.type_by(product_type text, source iap.source, listed text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    -- Neither source tells a type: what the row holds is what the list said then.
    SELECT CASE
        WHEN $1 IN ('consumable', 'non_renewing') AND $2 IN ('app_server', 'verify_receipt')
            AND $3 = 'non_consumable'
        THEN $3
        ELSE coalesce($1, $3)
    END
$$;
COMMENT ON FUNCTION iap.type_by IS
    'The type of a purchase''s product, by what its row holds and what the list of products says today: bought once '
    'where the list was mended to say so, since of what is consumed, or does not renew, no two ids are one purchase.';

CREATE FUNCTION iap.type_of(t iap.transactions) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    listed text;
BEGIN
    IF t.product_type NOT IN ('consumable', 'non_renewing') THEN
        RETURN t.product_type;
    END IF;
    -- By itself: with a query among its arguments iap.type_by is a call of its own, of 30 µs.
    SELECT type INTO listed FROM products WHERE bundle_id = t.bundle_id AND product_id = t.product_id;
    RETURN iap.type_by(t.product_type, t.source, listed);
END
$$;
COMMENT ON FUNCTION iap.type_of IS
    'The type of the product that was bought: what Apple said, else what the list of products says; NULL where nobody '
    'knows it.';

CREATE FUNCTION iap.is_same_period(t iap.transactions, same iap.transactions) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    -- Never by when they began: what is restored may bear another date, and a server may say a date of its own.
    SELECT coalesce(($1).web_order_line_item_id = ($2).web_order_line_item_id, false)
$$;
COMMENT ON FUNCTION iap.is_same_period IS
    'Whether two transactions of a subscription are one period, of which one restored the other: as far as Apple told '
    'of both.';

CREATE FUNCTION iap.is_same_purchase(t iap.transactions, same iap.transactions) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN iap.type_of($1) = 'non_consumable'
            THEN ($1).product_id = ($2).product_id OR coalesce(iap.type_of($2) = 'non_consumable', false)
        ELSE iap.is_same_period($1, $2)
    END
        -- What a family shared was another purchase. What has yet to enter is taken for none of that.
        AND coalesce(($1).is_family_shared, false) = coalesce(($2).is_family_shared, false)
$$;
COMMENT ON FUNCTION iap.is_same_purchase IS
    'Whether two transactions of one original are one purchase, owed once: a non-consumable, or one period of a '
    'subscription.';

CREATE FUNCTION iap.take_originals(delivered iap.transactions[]) RETURNS bigint
-- One plan fits any number of purchases, and takes longer to make than to run.
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    taken bigint;
BEGIN
    INSERT INTO delivered_originals (
        original_transaction_id, bundle_id, environment, web_order_line_item_id, transaction_id)
    SELECT once.id, t.bundle_id, t.environment, once.period, min(t.transaction_id)
    FROM unnest(delivered) AS t
    LEFT JOIN products USING (bundle_id, product_id)
    CROSS JOIN LATERAL (
        -- By its own id, too: another may name it as its original, though it names one itself.
        SELECT own.id, '' AS period
        FROM (VALUES (t.original_transaction_id), (t.transaction_id)) AS own (id)
        WHERE coalesce(iap.type_by(t.product_type, t.source, products.type), 'non_consumable') = 'non_consumable'
        UNION
        SELECT t.original_transaction_id, t.web_order_line_item_id WHERE t.web_order_line_item_id IS NOT NULL
    ) AS once
    -- What a family shares keeps nobody from what they paid for.
    WHERE t.is_family_shared IS NOT TRUE
    GROUP BY once.id, t.bundle_id, t.environment, once.period
    ORDER BY once.id, t.bundle_id, t.environment, once.period
    ON CONFLICT (original_transaction_id, bundle_id, environment, web_order_line_item_id) DO NOTHING;
    GET DIAGNOSTICS taken = ROW_COUNT;
    RETURN taken;
END
$$;
COMMENT ON FUNCTION iap.take_originals IS
    'Notes that the original purchases of these are delivered, of non-consumables and of what nobody knows the type '
    'of, also where that is what these are for others, and the periods of subscriptions; says how many were not '
    'before. Waits for another session that is about to note the same.';

CREATE FUNCTION iap.take_corrected(changes iap.change[]) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '20ms' AS $$
BEGIN
    PERFORM iap.take_originals(array_agg(became)) FROM unnest(changes);
    PERFORM iap.release_originals(changes);
EXCEPTION
    -- Another session is about to deliver the same, and has the row: iap.take_for_delivery looks beside it.
    WHEN lock_not_available OR deadlock_detected THEN
        INSERT INTO untaken_originals
        SELECT (c.was).transaction_id, (c.was).bundle_id, (c.was).environment, (c.was).original_transaction_id
        FROM unnest(changes) AS c
        ON CONFLICT DO NOTHING;
END
$$;
COMMENT ON FUNCTION iap.take_corrected IS
    'Takes the original purchases, and periods, that Apple tells of for what was delivered, in place of those that it '
    'was taken for; where another session is about to deliver the same, and does not end, notes that they are '
    'untaken.';

CREATE FUNCTION iap.withdraw_counted_twice(
    corrected iap.change[], actor text, run bigint, at timestamptz
) RETURNS void
-- By the primary keys, as iap.move.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    known record;
BEGIN
    FOR known IN
        SELECT
            taken.transaction_id, (t).delivered_by AS who,
            -- With its refund, from which iap.carry_refunds has the id that stands refunded.
            array_agg(ROW(t, iap.excluded(t, 'restored', run, at))::iap.change) AS changes
        FROM unnest(corrected) AS c
        -- As it is written by now.
        CROSS JOIN LATERAL (
            SELECT ROW(black.*)::iap.transactions AS t
            FROM transactions AS black
            WHERE black.transaction_id = (c.was).transaction_id AND black.bundle_id = (c.was).bundle_id
                AND black.environment = (c.was).environment AND black.delivered_by IN ('entitlement', 'import')
        ) AS told
        JOIN delivered_originals AS taken
            ON taken.original_transaction_id = (t).original_transaction_id AND taken.bundle_id = (t).bundle_id
                AND taken.environment = (t).environment
                AND taken.web_order_line_item_id = coalesce((t).web_order_line_item_id, '')
                AND taken.transaction_id <> (t).transaction_id
        JOIN transactions AS same
            ON same.transaction_id = taken.transaction_id AND same.bundle_id = taken.bundle_id
                AND same.environment = taken.environment
        WHERE same.place = 'black' AND same.original_transaction_id = taken.original_transaction_id
            AND iap.is_same_purchase(t, ROW(same.*)::iap.transactions)
            -- What a company delivered stays so beside what may be taken back.
            AND ((t).delivered_by = 'entitlement' OR same.delivered_by NOT IN ('resolved', 'entitlement'))
        GROUP BY taken.transaction_id, (t).delivered_by
    LOOP
        PERFORM iap.move(
            known.changes, 'withdrawn', actor, run, at, jsonb_build_object('delivered_as', known.transaction_id),
            known.who);
    END LOOP;
END
$$;
COMMENT ON FUNCTION iap.withdraw_counted_twice IS
    'Takes out of black what a grant delivered, or an import told of, under two ids of one purchase, before it was '
    'known to be one: that was delivered once, and stands under the id that has the purchase or the period.';

CREATE FUNCTION iap.withdraw_restored(
    ended iap.transactions, actor text, at timestamptz, who text, ended_as text DEFAULT 'delivered_as'
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    changes iap.change[];
BEGIN
    IF ended.web_order_line_item_id IS NULL AND iap.type_of(ended) IS DISTINCT FROM 'non_consumable' THEN
        RETURN;
    END IF;
    -- What another session holds is about to be claimed itself, and will find its original taken.
    SELECT array_agg(ROW(t, iap.excluded(t, 'restored', NULL, at))::iap.change) INTO changes
    FROM (
        SELECT *
        FROM transactions
        WHERE iap.is_of_original(transaction_id, original_transaction_id, ended.original_transaction_id)
            AND bundle_id = ended.bundle_id AND environment = ended.environment
            AND transaction_id <> ended.transaction_id AND place = 'white'
            AND iap.is_same_purchase(ended, ROW(transactions.*)::iap.transactions)
        ORDER BY transaction_id
        FOR UPDATE SKIP LOCKED
    ) AS t;
    IF changes IS NOT NULL THEN
        PERFORM iap.move(
            changes, 'withdrawn', actor, NULL, at, jsonb_build_object(ended_as, ended.transaction_id), who);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.withdraw_restored IS
    'After a non-consumable, or a period of a subscription, was delivered or dismissed: takes the other transactions '
    'of the same purchase out of white.';

CREATE FUNCTION iap.take_for_delivery(t iap.transactions, type text) RETURNS text
-- By the primary keys, even where the plan was made when the tables were small.
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
    is_once   boolean := coalesce(type, 'non_consumable') = 'non_consumable';
    is_period boolean := t.web_order_line_item_id IS NOT NULL;
    own_ids   integer := 1 + (t.transaction_id <> t.original_transaction_id)::integer;
    beside    iap.transactions[];
    taken     bigint;
BEGIN
    IF t.is_family_shared OR NOT (is_once OR is_period) THEN
        RETURN NULL;
    END IF;
    -- An import may have told of another id while what was delivered under a third was being taken back. Who takes that
    -- back just now is waited for: else what they delete would be written anew.
    SELECT array_agg(ROW(black.*)::iap.transactions) INTO beside
    FROM (
        SELECT *
        FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id
            -- By words that no index answers to: the planner would read all of black, where there was none before.
            AND starts_with(same.place, 'black')
            AND (is_once OR iap.is_same_period(t, ROW(same.*)::iap.transactions))
        ORDER BY same.transaction_id
        FOR SHARE
    ) AS black;
    IF beside IS NOT NULL THEN
        PERFORM iap.take_originals(beside);
    END IF;
    PERFORM iap.take_originals(ARRAY[t]);
    -- A row that names what is not delivered yet keeps nobody but others from it.
    SELECT count(*) INTO taken
    FROM delivered_originals AS own
    WHERE own.original_transaction_id IN (t.original_transaction_id, t.transaction_id)
        AND own.bundle_id = t.bundle_id AND own.environment = t.environment
        AND own.transaction_id = t.transaction_id
        AND (
            (is_once AND own.web_order_line_item_id = '')
            OR (
                own.original_transaction_id = t.original_transaction_id
                AND own.web_order_line_item_id = t.web_order_line_item_id));
    IF taken = is_once::integer * own_ids + is_period::integer THEN
        RETURN NULL;
    END IF;
    -- Of several rows it may have got one.
    PERFORM iap.release_originals(ARRAY[ROW(t, t)::iap.change]);
    RETURN CASE WHEN type IS NULL AND NOT iap.is_period_delivered(t) THEN 'undecided' ELSE 'already_delivered' END;
END
$$;
COMMENT ON FUNCTION iap.take_for_delivery IS
    'Takes the original purchase of a non-consumable, or the period of a subscription, for its delivery, and gives '
    'NULL; or why it can''t be delivered: already_delivered under another id, or undecided where nobody knows whether '
    'it is a non-consumable.';
