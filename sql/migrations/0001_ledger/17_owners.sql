-- Whose a purchase is: who may claim it.

CREATE FUNCTION iap.owners_by_history(t iap.transactions, user_id text, receipt_id bigint) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN ARRAY(
        SELECT owners_by_history.user_id
        UNION
        (
            SELECT user_id
            FROM sightings
            WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
                AND user_id IS NOT NULL AND in_receipt
            ORDER BY uploaded_at, receipt_id
            LIMIT 1
        )
        UNION
        (
            SELECT user_id
            FROM transactions AS bought
            WHERE app_transaction_id = t.app_transaction_id AND bundle_id = t.bundle_id
                AND environment = t.environment AND place = 'black' AND user_id IS NOT NULL
            LIMIT 10
        )
        UNION
        (
            SELECT delivered.user_id
            FROM sightings AS beside
            CROSS JOIN LATERAL (
                SELECT user_id
                FROM transactions AS found
                WHERE found.transaction_id = beside.transaction_id AND found.bundle_id = beside.bundle_id
                    AND found.environment = beside.environment AND found.place = 'black' AND user_id IS NOT NULL
                OFFSET 0
            ) AS delivered
            WHERE beside.receipt_id = owners_by_history.receipt_id AND in_receipt
            LIMIT 10
        )
    );
END
$$;
COMMENT ON FUNCTION iap.owners_by_history IS
    'Whose a purchase may be that nobody handed in, and that Apple told of when it was asked about a receipt of this '
    'user: a genuine receipt may be somebody else''s. So also to whom other purchases of the customer, or of the '
    'receipt, were delivered, and who handed it in later.';

CREATE FUNCTION iap.adopted_for(t iap.transactions) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- Not by ORDER BY and LIMIT, for which the planner would read the trail from its end.
    RETURN (
        SELECT (array_agg(details ->> 'user_id' ORDER BY event_id DESC))[1]
        FROM iap.events
        WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
            AND kind = 'adopted');
END
$$;
COMMENT ON FUNCTION iap.adopted_for IS
    'For whom the support desk adopted a transaction, by its latest word; NULL where it did not.';

CREATE FUNCTION iap.is_order_used(t iap.transactions, order_id text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- Orders are looked for in the collation that they are sorted by: see iap.receipts_of.
    RETURN EXISTS (
        SELECT FROM transactions AS served
        WHERE served.order_id = is_order_used.order_id COLLATE "default" AND served.bundle_id = t.bundle_id
            AND served.place = 'black' AND served.original_transaction_id <> t.original_transaction_id);
END
$$;
COMMENT ON FUNCTION iap.is_order_used IS
    'Whether another purchase than this one was delivered for an order of the app''s own: an order is used once.';

CREATE FUNCTION iap.other_ids_of(t iap.transactions) RETURNS SETOF iap.transactions
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
    is_bought_once boolean := coalesce(iap.type_of(t) = 'non_consumable', false);
BEGIN
    -- A consumable has one id.
    IF is_bought_once OR t.web_order_line_item_id IS NOT NULL THEN
        RETURN QUERY
        SELECT kin.*
        FROM transactions AS kin
        WHERE iap.is_of_original(kin.transaction_id, kin.original_transaction_id, t.original_transaction_id)
            AND kin.bundle_id = t.bundle_id AND kin.environment = t.environment
            AND kin.transaction_id <> t.transaction_id AND kin.place <> 'black'
            -- No call for each period of a subscriber of years.
            AND (is_bought_once OR kin.web_order_line_item_id = t.web_order_line_item_id)
            AND iap.is_same_purchase(t, ROW(kin.*)::iap.transactions);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.other_ids_of IS
    'The other transactions of a purchase that is owed once: what was restored, or the same period of a subscription.';

CREATE FUNCTION iap.admitted_otherwise(t iap.transactions) RETURNS SETOF text
LANGUAGE plpgsql STABLE ROWS 1 AS $$
BEGIN
    IF t.admitted_user_id IS NOT NULL THEN
        RETURN QUERY
        SELECT DISTINCT kin.admitted_user_id
        FROM iap.other_ids_of(t) AS kin
        WHERE kin.admitted_user_id <> t.admitted_user_id;
    END IF;
END
$$;
COMMENT ON FUNCTION iap.admitted_otherwise IS
    'For whom else the app''s own server admitted a purchase, under another of its ids: each counts as the purchase, '
    'whichever it was told of first.';

CREATE FUNCTION iap.owners_of(t iap.transactions) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    owners   text[];
    ordered  record;
    ids      text[];
    tokens   text[];
    admitted text[];
BEGIN
    -- Whoever handed in one of a purchase's ids, or had it admitted for them, did so with the purchase.
    SELECT
        t.transaction_id || coalesce(array_agg(transaction_id), '{}'),
        t.app_account_token || coalesce(array_agg(app_account_token), '{}'),
        t.admitted_user_id || coalesce(array_agg(admitted_user_id), '{}')
    INTO ids, tokens, admitted
    FROM iap.other_ids_of(t);
    SELECT array_agg(DISTINCT user_id) INTO owners
    FROM (
        -- The token that the client set when it was paid.
        SELECT of_token.user_id
        FROM unnest(tokens) AS token
        CROSS JOIN LATERAL iap.owners_by_token(t.bundle_id, token) AS of_token (user_id)
        UNION ALL
        -- For whom the app's own server admitted it.
        SELECT unnest(admitted)
        UNION ALL
        -- To adopt a purchase is to admit it: the server may have done so for another.
        SELECT iap.adopted_for(t) WHERE t.admitted_user_id IS NOT NULL
    ) AS evidence
    WHERE user_id IS NOT NULL;
    -- The order that came with the first upload that named one.
    SELECT orders.user_id, named.uploaded_at INTO ordered
    FROM (
        SELECT order_id, uploaded_at
        FROM sightings
        WHERE transaction_id = ANY (ids) AND bundle_id = t.bundle_id AND environment = t.environment
            AND order_id IS NOT NULL
            -- Not of what Apple told when it was asked about that upload: nobody handed it in for the order.
            AND (in_receipt OR is_named)
            -- Nor an order that was delivered: clients keep one, and name it with what is bought next.
            AND NOT iap.is_order_used(t, order_id)
        ORDER BY uploaded_at, receipt_id
        LIMIT 1
    ) AS named
    JOIN orders ON orders.order_id = named.order_id AND orders.bundle_id = t.bundle_id;
    IF FOUND THEN
        owners := ARRAY(
            SELECT unnest(owners)
            UNION
            SELECT ordered.user_id
            UNION
            (
                -- Somebody else had handed it in for its own sake by then: on a phone whose users take turns, the order
                -- may be of another purchase.
                SELECT user_id
                FROM sightings
                WHERE owners IS NULL AND transaction_id = ANY (ids) AND bundle_id = t.bundle_id
                    AND environment = t.environment AND user_id IS NOT NULL AND is_named
                    AND uploaded_at < ordered.uploaded_at
                ORDER BY uploaded_at, receipt_id
                LIMIT 1
            ));
    END IF;
    IF owners IS NULL THEN
        -- Only what rode along, or was uploaded: then the first to hand it in.
        SELECT CASE
            WHEN is_handed_in OR user_id = handed_in_by THEN ARRAY[user_id]
            ELSE iap.owners_by_history(t, user_id, receipt_id)
        END
        INTO owners
        FROM (
            SELECT
                user_id, receipt_id, uploaded_at, in_receipt OR is_named AS is_handed_in,
                -- Apple may have told of it before, when it was asked about another receipt of theirs.
                first_value(CASE WHEN in_receipt OR is_named THEN user_id END)
                    OVER (ORDER BY in_receipt OR is_named DESC, uploaded_at, receipt_id) AS handed_in_by
            FROM sightings
            WHERE transaction_id = ANY (ids) AND bundle_id = t.bundle_id AND environment = t.environment
                AND user_id IS NOT NULL
        ) AS seen
        ORDER BY uploaded_at, receipt_id
        LIMIT 1;
    END IF;
    RETURN coalesce(owners, '{}');
END
$$;
COMMENT ON FUNCTION iap.owners_of IS
    'Who may claim a transaction, by all ids of its purchase. Token, order, admission and the support desk''s adoption '
    'decide before anything that rode along, and several where these contradict each other, or an order somebody who '
    'had uploaded the purchase for its own sake before; else whoever handed it in first; nobody where nobody is known. '
    'An order that another purchase was delivered for says nothing.';
