-- An order speaks for the purchase that it was uploaded with. A receipt that a server names when it admits a purchase may
-- have been uploaded for another one first: the order of that one, perhaps of the phone's other user, is no evidence.

CREATE OR REPLACE FUNCTION iap.sight(
    bundle_id text, environment text, transaction_id text, user_id text, receipt_id bigint
) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO sightings AS known
    SELECT seen.*, audit.seal(ROW(seen.*, NULL)::iap.sightings)
    FROM (
        SELECT
            sight.transaction_id, sight.bundle_id, sight.environment, bucket, receipt_id,
            coalesce(user_id, sight.user_id), named.order_id, true, true, submitted_at, NULL::bigint
        FROM receipts
        CROSS JOIN LATERAL (
            SELECT coalesce(
                (array_agg(uploads.order_id ORDER BY first_uploaded_at)
                    FILTER (WHERE uploads.transaction_id = sight.transaction_id AND uploads.order_id IS NOT NULL))[1],
                CASE WHEN bool_and(uploads.transaction_id IS NULL) THEN receipts.order_id END) AS order_id
            FROM uploads
            WHERE uploads.bucket = receipts.bucket AND uploads.receipt_id = receipts.receipt_id
        ) AS named
        WHERE bucket = (sight.receipt_id & 63)::smallint AND receipt_id = sight.receipt_id
            AND bundle_id = sight.bundle_id
    ) AS seen
    ON CONFLICT (transaction_id, bundle_id, environment, bucket, receipt_id) DO UPDATE
    SET is_named = true, user_id = coalesce(known.user_id, EXCLUDED.user_id);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'receipt % of % is unknown', sight.receipt_id, sight.bundle_id USING
            ERRCODE = 'foreign_key_violation', HINT = 'Name a receipt that iap.submit_receipt gave, or none.';
    END IF;
    UPDATE sightings
    SET seal = audit.seal(sightings)
    WHERE transaction_id = sight.transaction_id AND bundle_id = sight.bundle_id AND environment = sight.environment
        AND bucket = (sight.receipt_id & 63)::smallint AND receipt_id = sight.receipt_id;
END
$$;
COMMENT ON FUNCTION iap.sight IS
    'Remembers that a transaction was seen in a receipt that was uploaded for it, and the order that it was uploaded '
    'with.';
