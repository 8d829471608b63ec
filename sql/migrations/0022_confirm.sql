-- Most of a night is that Apple says again what it said the night before: a white transaction is confirmed. That takes
-- three columns of the row, and neither a judgement, nor a seal, nor a move.

CREATE FUNCTION iap.is_confirmation(t iap.transactions, v iap.verified) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT t.place = 'white' AND t.refund_run_id IS NULL
        AND v.exclusion IS NULL AND v.refunded_at IS NULL
        AND (t.last_confirmed_at IS NULL OR v.verified_at - t.last_confirmed_at >= '12 hours')
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
        SELECT v.number, v.source, v.verified_at, found.*
        FROM unnest(purchases) AS v
        CROSS JOIN LATERAL (
            SELECT t.transaction_id, t.bundle_id, t.environment
            FROM transactions AS t
            WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id
                AND t.environment = v.environment AND iap.is_confirmation(t, v::iap.verified)
            FOR UPDATE SKIP LOCKED
        ) AS found
    ), done AS (
        UPDATE transactions AS t
        SET nights_confirmed = t.nights_confirmed + 1, last_confirmed_at = held.verified_at,
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

CREATE OR REPLACE FUNCTION iap.hear(
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

CREATE OR REPLACE FUNCTION iap.sight_again(numbers integer[], run bigint) RETURNS void
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

REVOKE ALL ON FUNCTION iap.is_confirmation, iap.confirm FROM PUBLIC;
