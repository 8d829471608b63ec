-- From found to delivered: an app's server asks what it owes a customer, and what to tell them; what the night is sure of
-- it hands to the app's server to deliver, and so does a person.

-- What is open for a user, by who names them. Only of what is white, so that these stay small however much was sold.
CREATE INDEX transactions_white_by_admission ON iap.transactions (admitted_user_id, bundle_id)
    WHERE place = 'white' AND admitted_user_id IS NOT NULL;
CREATE INDEX transactions_white_by_token ON iap.transactions (app_account_token, bundle_id)
    WHERE place = 'white' AND app_account_token IS NOT NULL;

-- Whose it is, for certain --------------------------------------------------------------------------------------------

CREATE FUNCTION iap.certain_owner(t iap.transactions) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    owners text[] := iap.owners_of(t);
    judged record;
BEGIN
    IF cardinality(owners) > 1 OR EXISTS (
        SELECT FROM transactions AS other
        WHERE other.transaction_id = t.transaction_id AND other.bundle_id = t.bundle_id
            AND other.environment <> t.environment AND other.place = 'black')
    THEN
        RETURN NULL;
    END IF;
    SELECT owner_user_ids, reasons INTO judged
    FROM cases
    WHERE cases.transaction_id = t.transaction_id AND cases.bundle_id = t.bundle_id
        AND cases.environment = t.environment AND state = 'open';
    IF FOUND THEN
        RETURN CASE
            WHEN cardinality(judged.owner_user_ids) = 1 AND owners <@ judged.owner_user_ids
                AND NOT judged.reasons && ARRAY['owner_ambiguous', 'owner_uncertain']
            THEN judged.owner_user_ids[1]
        END;
    END IF;
    -- What no night has judged yet: token and admission are certain, and an upload for it where nobody else's is known.
    IF t.admitted_user_id IS NULL
        AND NOT EXISTS (SELECT FROM iap.owners_by_token(t.bundle_id, t.app_account_token))
        AND NOT (
            SELECT coalesce(bool_or(is_named) AND bool_and(user_id IS NULL OR user_id = owners[1]), false)
            FROM sightings
            WHERE sightings.transaction_id = t.transaction_id AND sightings.bundle_id = t.bundle_id
                AND sightings.environment = t.environment)
    THEN
        RETURN NULL;
    END IF;
    RETURN owners[1];
END
$$;
COMMENT ON FUNCTION iap.certain_owner IS
    'The one user whom a white transaction belongs to, and whom iap.claim gives it to; NULL where more than one may have '
    'paid, or nobody is known. The case decides where there is one: it looks at more than a claim does.';

-- What is owed --------------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.open_for(bundle_id text, user_id text) RETURNS SETOF iap.transactions
LANGUAGE sql STABLE AS $$
    -- Each by an index of what names the user; iap.owners_of decides which of these are theirs.
    SELECT t.*
    FROM (
        SELECT w.transaction_id, w.environment
        FROM iap.transactions AS w
        WHERE w.admitted_user_id = $2 AND w.bundle_id = $1 AND w.place = 'white'
        UNION
        SELECT w.transaction_id, w.environment
        FROM (
            SELECT o.app_account_token AS token FROM iap.orders AS o
            WHERE o.user_id = $2 AND o.bundle_id = $1 AND o.app_account_token IS NOT NULL
            UNION
            SELECT a.app_account_token FROM iap.account_tokens AS a
            WHERE a.user_id = $2 AND a.bundle_id = $1
        ) AS own
        CROSS JOIN LATERAL (
            SELECT found.transaction_id, found.environment
            FROM iap.transactions AS found
            WHERE found.app_account_token = own.token AND found.bundle_id = $1 AND found.place = 'white'
            OFFSET 0
        ) AS w
        UNION
        SELECT s.transaction_id, s.environment
        FROM (
            SELECT r.bucket, r.receipt_id FROM iap.receipts AS r
            WHERE r.user_id = $2 AND r.bundle_id = $1
            UNION
            SELECT u.bucket, u.receipt_id
            FROM iap.orders AS o
            CROSS JOIN LATERAL (
                SELECT named.bucket, named.receipt_id FROM iap.uploads AS named
                WHERE named.order_id = o.order_id
                OFFSET 0
            ) AS u
            WHERE o.user_id = $2 AND o.bundle_id = $1
        ) AS own
        CROSS JOIN LATERAL (
            SELECT seen.transaction_id, seen.environment
            FROM iap.sightings AS seen
            WHERE seen.receipt_id = own.receipt_id AND seen.bucket = own.bucket AND seen.bundle_id = $1
            OFFSET 0
        ) AS s
        UNION
        SELECT c.transaction_id, c.environment
        FROM iap.cases AS c
        WHERE c.owner_user_ids @> ARRAY[$2] AND c.state = 'open' AND c.bundle_id = $1
    ) AS candidate
    CROSS JOIN LATERAL (
        SELECT * FROM iap.transactions AS found
        WHERE found.transaction_id = candidate.transaction_id AND found.bundle_id = $1
            AND found.environment = candidate.environment AND found.place = 'white'
        OFFSET 0
    ) AS t
$$;
COMMENT ON FUNCTION iap.open_for IS
    'The white transactions that anything names a user of: an admission, a token, an upload, an order or a case.';

CREATE FUNCTION iap.orders_for(t iap.transactions, user_id text) RETURNS text[]
LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(named.order_id ORDER BY named.rank, named.order_id), '{}')
    FROM (
        SELECT every.order_id, min(every.rank) AS rank
        FROM (
            SELECT s.order_id, 1 AS rank
            FROM iap.sightings AS s
            WHERE s.transaction_id = t.transaction_id AND s.bundle_id = t.bundle_id AND s.environment = t.environment
                AND s.order_id IS NOT NULL
            UNION ALL
            SELECT matched.order_id, 1 + matched.rank
            FROM iap.cases AS c
            CROSS JOIN unnest(c.order_ids) WITH ORDINALITY AS matched (order_id, rank)
            WHERE c.transaction_id = t.transaction_id AND c.bundle_id = t.bundle_id
                AND c.environment = t.environment AND c.state = 'open'
        ) AS every
        GROUP BY every.order_id
    ) AS named
    WHERE NOT EXISTS (
            SELECT FROM iap.orders AS o
            WHERE o.order_id = named.order_id AND o.bundle_id = t.bundle_id AND o.user_id <> $2)
        AND NOT EXISTS (
            SELECT FROM iap.delivered_orders AS taken
            WHERE taken.order_id = named.order_id AND taken.bundle_id = t.bundle_id
                AND taken.original_transaction_id <> t.original_transaction_id)
$$;
COMMENT ON FUNCTION iap.orders_for IS
    'The app''s own orders that a transaction may pay for, the likeliest first: named with an upload of it, or matched by '
    'the night. None of another user''s, and none that another purchase was delivered for.';

CREATE FUNCTION iap.owed(
    bundle_id text, user_id text, OUT transaction_id text, OUT product_id text, OUT quantity integer,
    OUT purchased_at timestamptz, OUT order_ids text[], OUT is_certain boolean
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    t      iap.transactions;
    owners text[];
BEGIN
    PERFORM iap.require_id('bundle_id', owed.bundle_id, 255);
    PERFORM iap.require_text('user_id', owed.user_id, 1000);
    FOR t IN
        SELECT * FROM iap.open_for(owed.bundle_id, owed.user_id) AS found ORDER BY found.purchased_at, found.transaction_id
    LOOP
        owners := iap.owners_of(t);
        -- Where nobody but the night knows of anybody, its case says whose it is.
        CONTINUE WHEN cardinality(owners) > 0 AND owed.user_id <> ALL (owners);
        CONTINUE WHEN iap.is_delivered_otherwise(
            t.bundle_id, t.environment, t.transaction_id, t.original_transaction_id, t.product_id);
        transaction_id := t.transaction_id;
        product_id := t.product_id;
        quantity := t.quantity;
        purchased_at := t.purchased_at;
        order_ids := iap.orders_for(t, owed.user_id);
        is_certain := coalesce(iap.certain_owner(t) = owed.user_id, false);
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iap.owed IS
    'What is paid and not delivered for a user, the oldest purchase first. Credit what is certain, each in a transaction '
    'of its own that claims it by iap.claim; what is not certain may be another user''s.';

-- What to tell the customer -------------------------------------------------------------------------------------------

CREATE FUNCTION iap.transactions_of_order(bundle_id text, order_id text) RETURNS SETOF iap.transactions
LANGUAGE sql STABLE AS $$
    SELECT t.*
    FROM (
        SELECT d.transaction_id, d.environment
        FROM iap.transactions AS d
        WHERE d.order_id = $2 AND d.bundle_id = $1
        UNION
        SELECT s.transaction_id, s.environment
        FROM iap.uploads AS u
        CROSS JOIN LATERAL (
            SELECT seen.transaction_id, seen.environment
            FROM iap.sightings AS seen
            WHERE seen.receipt_id = u.receipt_id AND seen.bucket = u.bucket AND seen.bundle_id = $1
                AND seen.order_id = $2
            OFFSET 0
        ) AS s
        WHERE u.order_id = $2
        UNION
        SELECT c.transaction_id, c.environment
        FROM iap.cases AS c
        WHERE c.order_ids @> ARRAY[$2] AND c.state = 'open' AND c.bundle_id = $1
    ) AS candidate
    CROSS JOIN LATERAL (
        SELECT * FROM iap.transactions AS found
        WHERE found.transaction_id = candidate.transaction_id AND found.bundle_id = $1
            AND found.environment = candidate.environment
        OFFSET 0
    ) AS t
$$;
COMMENT ON FUNCTION iap.transactions_of_order IS
    'The purchases that were delivered for an order of the app''s own, uploaded with it, or matched with it by the night.';

CREATE FUNCTION iap.word_of(t iap.transactions) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE iap.standing(t)
        WHEN 'white' THEN CASE
            WHEN iap.is_delivered_otherwise(
                t.bundle_id, t.environment, t.transaction_id, t.original_transaction_id, t.product_id)
            THEN 'delivered' ELSE 'paid, being delivered'
        END
        WHEN 'already_delivered' THEN 'delivered'
        WHEN 'excluded' THEN CASE WHEN t.reason IN ('dismissed', 'before_start') THEN 'unknown' ELSE 'not paid' END
        ELSE 'unknown'
    END;
END
$$;
COMMENT ON FUNCTION iap.word_of IS 'What to tell the customer of a transaction that the ledger holds.';

CREATE FUNCTION iap.word_of_upload(bundle_id text, transaction_id text, order_id text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    waits  boolean;
    since  timestamptz;
    opened timestamptz;
BEGIN
    SELECT bool_or(receipts.next_attempt_at IS NOT NULL), max(uploads.last_uploaded_at) INTO waits, since
    FROM uploads
    JOIN receipts USING (bucket, receipt_id)
    WHERE receipts.bundle_id = word_of_upload.bundle_id
        AND CASE
            WHEN word_of_upload.order_id IS NULL THEN uploads.transaction_id = word_of_upload.transaction_id
            ELSE uploads.order_id = word_of_upload.order_id
        END;
    SELECT created_at INTO opened
    FROM orders
    WHERE orders.order_id = word_of_upload.order_id AND orders.bundle_id = word_of_upload.bundle_id;
    RETURN CASE
        WHEN since IS NULL AND opened IS NULL THEN 'unknown'
        -- Two nights: StoreKit may write it into a later receipt, and Apple may tell of it by itself.
        WHEN waits OR greatest(since, opened) > iap.present() - interval '2 days' THEN 'waiting for Apple'
        ELSE 'not paid'
    END;
END
$$;
COMMENT ON FUNCTION iap.word_of_upload IS
    'What to tell the customer of a purchase that the ledger does not hold: it waits for Apple while an upload of it does, '
    'and for two days after the last one, or after the order was opened; then it was not paid.';

CREATE FUNCTION iap.status(
    bundle_id text, transaction_id text DEFAULT NULL, order_id text DEFAULT NULL, OUT place text, OUT case_state text,
    OUT tell text
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    t iap.transactions;
BEGIN
    PERFORM iap.require_id('bundle_id', status.bundle_id, 255);
    IF num_nonnulls(status.transaction_id, status.order_id) <> 1 THEN
        RAISE EXCEPTION 'name a transaction or an order' USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'Such as iap.status(''com.example.game'', order_id => ''order-42'').';
    ELSIF status.order_id IS NULL THEN
        PERFORM iap.require_id('transaction_id', status.transaction_id, 64);
        SELECT * INTO t
        FROM transactions AS found
        WHERE found.transaction_id = status.transaction_id AND found.bundle_id = status.bundle_id
        ORDER BY array_position(ARRAY['black', 'white', 'excluded'], found.place), found.environment
        LIMIT 1;
    ELSE
        PERFORM iap.require_text('order_id', status.order_id, 1000);
        SELECT * INTO t
        FROM iap.transactions_of_order(status.bundle_id, status.order_id) AS found
        ORDER BY
            array_position(ARRAY['black', 'white', 'excluded'], found.place), found.purchased_at, found.environment
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
    'How a purchase stands, by its transaction or by the app''s own order: its place (NULL where the ledger does not hold '
    'it), whether its case is open or closed (NULL where there is none), and what to tell the customer: “waiting for '
    'Apple”, “paid, being delivered”, “delivered”, “not paid” or “unknown”.';

REVOKE ALL ON FUNCTION
    iap.certain_owner, iap.open_for, iap.orders_for, iap.owed, iap.transactions_of_order, iap.word_of,
    iap.word_of_upload, iap.status
    FROM PUBLIC;
