-- What an app's server owes a customer, and whose a purchase is for certain.

-- Whose it is, for certain --------------------------------------------------------------------------------------------

CREATE FUNCTION iap.certain_owner(t iap.transactions) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    owners text[] := iap.owners_of(t);
    judged record;
BEGIN
    IF cardinality(owners) > 1
        -- What is taken back was mostly refunded, as Apple will say when it is asked. An old signature that is looked
        -- at again, which counts a night, says nothing of it.
        OR EXISTS (
            SELECT FROM moves
            WHERE moves.transaction_id = t.transaction_id AND moves.bundle_id = t.bundle_id
                AND moves.environment = t.environment AND kind = 'revoked' AND moved_at > t.verified_at)
        -- Of what was granted, and had yet to leave white, no move tells that.
        OR EXISTS (
            SELECT FROM entitlements AS e
            WHERE e.original_transaction_id = t.original_transaction_id AND e.bundle_id = t.bundle_id
                AND e.revoked_at > t.verified_at)
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
    'The one user whom a white transaction belongs to, and whom iap.claim gives it to; NULL where more than one may '
    'have paid, or nobody is known. The case decides where there is one: it looks at more than a claim does.';

-- What is owed --------------------------------------------------------------------------------------------------------

-- The inbox is asked by itself: in a cluster it lies on other servers than the ledger, and which are asked is planned
-- by the values.
CREATE FUNCTION iap.receipts_of(bundle_id text, user_id text) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    placed   text[];
    uploaded bigint[];
BEGIN
    -- Who names the app by a column of a table has all texts here be of its collation, by which no index of users and
    -- orders is sorted.
    SELECT array_agg(order_id) INTO placed
    FROM iap.orders
    WHERE user_id = receipts_of.user_id COLLATE "default" AND bundle_id = receipts_of.bundle_id;
    SELECT array_agg(receipt_id) INTO uploaded
    FROM (
        SELECT receipt_id FROM iap.receipts
        WHERE user_id = receipts_of.user_id COLLATE "default" AND bundle_id = receipts_of.bundle_id
        UNION
        SELECT receipt_id FROM iap.uploads
        WHERE order_id = ANY (placed COLLATE "default")
    ) AS own;
    RETURN uploaded;
END
$$;
COMMENT ON FUNCTION iap.receipts_of IS
    'The receipts that a user uploaded, and those that were uploaded for an order of theirs.';

CREATE FUNCTION iap.receipts_for(order_id text) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    uploaded bigint[];
BEGIN
    SELECT array_agg(receipt_id) INTO uploaded
    FROM iap.uploads
    WHERE order_id = receipts_for.order_id COLLATE "default";
    RETURN uploaded;
END
$$;
COMMENT ON FUNCTION iap.receipts_for IS 'The receipts that were uploaded for an order.';

CREATE FUNCTION iap.open_for(bundle_id text, user_id text) RETURNS SETOF iap.transactions
LANGUAGE sql STABLE AS $$
    -- Each by an index of what names the user, in its collation (see iap.receipts_of); iap.owners_of decides which of
    -- these are theirs.
    SELECT t.*
    FROM (
        SELECT w.transaction_id, w.environment
        FROM iap.transactions AS w
        WHERE w.admitted_user_id = $2 COLLATE "default" AND w.bundle_id = $1 AND starts_with(w.place, 'white')
        UNION
        -- What another had admitted under the id that stands for both: see iap.admitted_otherwise.
        SELECT iap.owed_as(ROW(r.*)::iap.transactions), r.environment
        FROM iap.transactions AS r
        WHERE r.admitted_user_id = $2 COLLATE "default" AND r.bundle_id = $1 AND r.reason = 'restored'
        UNION
        SELECT w.transaction_id, w.environment
        FROM (
            SELECT o.app_account_token AS token FROM iap.orders AS o
            WHERE o.user_id = $2 COLLATE "default" AND o.bundle_id = $1 AND o.app_account_token IS NOT NULL
            UNION
            SELECT a.app_account_token FROM iap.account_tokens AS a
            WHERE a.user_id = $2 COLLATE "default" AND a.bundle_id = $1
        ) AS own
        CROSS JOIN LATERAL (
            SELECT found.transaction_id, found.environment
            FROM iap.transactions AS found
            WHERE found.app_account_token = own.token AND found.bundle_id = $1
                AND starts_with(found.place, 'white')
            OFFSET 0
        ) AS w
        UNION
        SELECT s.transaction_id, s.environment
        FROM unnest(iap.receipts_of($1, $2)) AS own (receipt_id)
        CROSS JOIN LATERAL (
            SELECT seen.transaction_id, seen.environment
            FROM iap.sightings AS seen
            WHERE seen.receipt_id = own.receipt_id AND seen.bucket = (own.receipt_id & 63)::smallint
                AND seen.bundle_id = $1
            OFFSET 0
        ) AS s
        UNION
        SELECT c.transaction_id, c.environment
        FROM iap.cases AS c
        WHERE c.owner_user_ids @> ARRAY[$2 COLLATE "default"] AND c.state = 'open' AND c.bundle_id = $1
    ) AS candidate
    CROSS JOIN LATERAL (
        SELECT * FROM iap.transactions AS found
        WHERE found.transaction_id = candidate.transaction_id AND found.bundle_id = $1
            AND found.environment = candidate.environment
        OFFSET 0
    ) AS t
    WHERE t.place = 'white'
$$;
COMMENT ON FUNCTION iap.open_for IS
    'The white transactions that anything names a user of: an admission, a token, an upload, an order or a case.';

CREATE FUNCTION iap.orders_for(
    t iap.transactions, user_id text, offered iap.delivered_orders[] DEFAULT '{}'
) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN (
        SELECT coalesce(array_agg(named.order_id ORDER BY named.rank, named.order_id), '{}')
        FROM (
            SELECT every.order_id, min(every.rank) AS rank
            FROM (
                SELECT s.order_id, 1 AS rank
                FROM iap.sightings AS s
                WHERE s.transaction_id = t.transaction_id AND s.bundle_id = t.bundle_id
                    AND s.environment = t.environment
                    AND s.order_id IS NOT NULL
                    -- Not of what Apple told when it was asked about that upload (see iap.owners_of), unless the upload
                    -- holds no purchase.
                    AND (s.in_receipt OR s.is_named OR NOT EXISTS (
                        SELECT FROM iap.sightings AS held
                        WHERE held.receipt_id = s.receipt_id AND held.bucket = s.bucket
                            AND held.bundle_id = s.bundle_id AND (held.in_receipt OR held.is_named)))
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
                WHERE o.order_id = named.order_id AND o.bundle_id = t.bundle_id AND o.user_id <> orders_for.user_id)
            AND NOT iap.is_order_used(t, named.order_id)
            AND NOT EXISTS (
                SELECT FROM unnest(offered) AS other
                WHERE other.order_id = named.order_id
                    AND other.original_transaction_id <> t.original_transaction_id)
    );
END
$$;
COMMENT ON FUNCTION iap.orders_for IS
    'The app''s own orders that a transaction may pay for, the likeliest first: named with an upload of it, or matched '
    'by the night. None of another user''s, none that another purchase was delivered for, and none of those that are '
    'offered for another one: an order is used once.';

-- Planning each call would cost ten times what reading costs: the plans of what an app's server asks are kept.
CREATE FUNCTION iap.owed(
    bundle_id text, user_id text, OUT transaction_id text, OUT product_id text, OUT quantity integer,
    OUT purchased_at timestamptz, OUT order_ids text[], OUT is_certain boolean
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    t         iap.transactions;
    owners    text[];
    otherwise text;
    offered   iap.delivered_orders[] := '{}';
BEGIN
    PERFORM iap.limit_waiting();
    PERFORM iap.require_bundle_id(owed.bundle_id);
    PERFORM iap.require_text('user_id', owed.user_id, 1000);
    FOR t IN
        SELECT * FROM iap.open_for(owed.bundle_id, owed.user_id) AS found
        ORDER BY found.purchased_at, found.transaction_id
    LOOP
        owners := iap.owners_of(t);
        -- Where nobody but the night knows of anybody, its case says whose it is.
        CONTINUE WHEN cardinality(owners) > 0 AND owed.user_id <> ALL (owners);
        otherwise := iap.outcome_otherwise(t);
        CONTINUE WHEN otherwise IN ('excluded', 'already_delivered');
        transaction_id := t.transaction_id;
        product_id := t.product_id;
        quantity := t.quantity;
        purchased_at := t.purchased_at;
        order_ids := iap.orders_for(t, owed.user_id, offered);
        is_certain := otherwise IS NULL AND coalesce(iap.certain_owner(t) = owed.user_id, false);
        -- The likeliest is the one that the caller claims it for.
        IF is_certain AND order_ids <> '{}' THEN
            offered := offered || ROW(order_ids[1], t.bundle_id, t.original_transaction_id)::iap.delivered_orders;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iap.owed IS
    'What is paid and not delivered for a user, the oldest purchase first. Credit what is certain, each in a '
    'transaction of its own that claims it by iap.claim; what is not certain may be another user''s.';
