-- Where Apple told of no appTransactionId, the purchases of one receipt are one customer's: who has bought ten times is
-- asked about once, and not ten times.

COMMENT ON COLUMN iap.customers.customer_id IS
    'The appTransactionId; where Apple told of none, the id of an original transaction of the customer''s latest receipt.';

CREATE OR REPLACE FUNCTION iap.note_customers(
    bundle_id text, environment text, after bigint, upto bigint, every interval, at timestamptz
) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    WITH bought AS (
        SELECT transaction_id, original_transaction_id, app_transaction_id, purchased_at AS seen_at, expires_at
        FROM transactions
        WHERE entry_id > after AND entry_id <= upto AND bundle_id = note_customers.bundle_id
            AND environment = note_customers.environment AND place <> 'excluded'
        UNION ALL
        -- Who uploads what is known long since uses the app again.
        SELECT t.transaction_id, t.original_transaction_id, t.app_transaction_id, seen.uploaded_at, t.expires_at
        FROM sightings AS seen
        JOIN transactions AS t USING (transaction_id, bundle_id, environment)
        WHERE seen.uploaded_at > note_customers.at - interval '2 days'
            AND seen.bundle_id = note_customers.bundle_id AND seen.environment = note_customers.environment
            AND t.entry_id <= after AND t.place <> 'excluded'
    ), named AS (
        SELECT
            CASE
                WHEN app_transaction_id IS NOT NULL THEN app_transaction_id
                WHEN held.receipt_id IS NULL THEN original_transaction_id
                ELSE min(original_transaction_id) OVER (PARTITION BY held.receipt_id)
            END AS customer_id,
            transaction_id, least(seen_at, at) AS seen_at, expires_at
        FROM bought
        LEFT JOIN LATERAL (
            SELECT max(receipt_id) AS receipt_id
            FROM sightings
            WHERE sightings.transaction_id = bought.transaction_id
                AND sightings.bundle_id = note_customers.bundle_id
                AND sightings.environment = note_customers.environment
            OFFSET 0
        ) AS held ON bought.app_transaction_id IS NULL
    )
    INSERT INTO customers AS known (
        customer_id, bundle_id, environment, transaction_id, last_seen_at, expires_at, next_at)
    SELECT
        customer_id, note_customers.bundle_id, note_customers.environment, max(transaction_id), max(seen_at),
        max(expires_at), least(max(seen_at) + every, iap.asked_after_expiry(max(expires_at), at))
    FROM named
    GROUP BY customer_id
    ON CONFLICT (customer_id, bundle_id, environment) DO UPDATE
    SET last_seen_at = greatest(known.last_seen_at, EXCLUDED.last_seen_at),
        expires_at = greatest(known.expires_at, EXCLUDED.expires_at),
        next_at = least(known.next_at, iap.asked_after_expiry(EXCLUDED.expires_at, at))
    WHERE known.last_seen_at < EXCLUDED.last_seen_at OR known.expires_at IS DISTINCT FROM EXCLUDED.expires_at;
END
$$;
