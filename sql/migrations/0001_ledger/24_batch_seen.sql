-- Where the purchases of a batch were seen: in which receipts, and for whom.

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

CREATE FUNCTION iap.add_sightings(added iap.sightings[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sightings AS known
    SELECT * FROM unnest(added)
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
COMMENT ON FUNCTION iap.add_sightings IS 'Writes sightings, or adds what they say to those that are known.';

CREATE FUNCTION iap.sight_again(numbers integer[], run bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    added iap.sightings[];
BEGIN
    SELECT array_agg(seen::iap.sightings) INTO added
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
    WHERE before.is_told IS NULL;
    IF added IS NOT NULL THEN
        PERFORM iap.add_sightings(added);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.sight_again IS
    'Remembers in which receipts known transactions were seen, and who handed them in.';

CREATE FUNCTION iap.sight_owed(restored iap.sightings[]) RETURNS void
-- By the primary keys, even where the plan was made when the tables were small.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    added iap.sightings[];
BEGIN
    SELECT array_agg(ROW(owed.*, audit.seal(ROW(owed.*, NULL)::iap.sightings))::iap.sightings) INTO added
    FROM (
        -- One receipt may hold several of its ids.
        SELECT
            white.transaction_id, bundle_id, environment, seen.bucket, seen.receipt_id, min(seen.user_id),
            min(seen.order_id), bool_or(seen.is_named), bool_or(seen.in_receipt), min(seen.uploaded_at),
            min(seen.first_run_id)
        FROM unnest(restored) AS seen
        JOIN transactions AS t USING (transaction_id, bundle_id, environment)
        CROSS JOIN LATERAL (
            SELECT same.transaction_id
            FROM transactions AS same
            WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
                AND same.bundle_id = t.bundle_id AND same.environment = t.environment
                AND same.product_id = t.product_id
                AND same.web_order_line_item_id IS NOT DISTINCT FROM t.web_order_line_item_id
                -- By words that no index answers to, as in iap.take_for_delivery.
                AND starts_with(same.place, 'white')
            OFFSET 0
        ) AS white
        WHERE t.reason = 'restored'
        GROUP BY white.transaction_id, bundle_id, environment, seen.bucket, seen.receipt_id
    ) AS owed;
    IF added IS NOT NULL THEN
        PERFORM iap.add_sightings(added);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.sight_owed IS
    'Remembers who handed in what is owed under another id: these sightings are of ids under which it was restored.';
