-- A seal that a dump brings over. What PostgreSQL hashes of an enum is the number that its label has in this database, which
-- is another after a restore: each purchase looked as if it had been changed by hand. The labels get numbers of their own
-- here; whoever adds one adds it here, too.
CREATE FUNCTION audit.seal_before(t iap.transactions) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.hash_record_extended(
        ROW(
            t.transaction_id, t.bundle_id, t.environment, t.place, t.original_transaction_id, t.product_id,
            t.product_type, t.quantity, t.purchased_at, t.is_trial, t.app_account_token, t.price_milliunits,
            t.currency, t.storefront, t.found_bundle_id, t.refunded_at, t.refund_run_id, t.refund_reversed_at,
            t.source, t.booked_milliunits, t.booked_currency, t.booked_as, t.entry_id, t.first_seen_at,
            t.first_run_id, t.admitted_user_id, t.admitted_receipt_id, t.user_id, t.order_id, t.delivered_by,
            t.delivered_at, t.reason, t.excluded_at, t.excluded_run_id, t.move_id),
        coalesce(t.revocation_percentage + 1, 0))
$$;

CREATE OR REPLACE FUNCTION audit.seal(t iap.transactions) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.hash_record_extended(
        ROW(
            t.transaction_id, t.bundle_id, t.environment, t.place, t.original_transaction_id, t.product_id,
            t.product_type, t.quantity, t.purchased_at, t.is_trial, t.app_account_token, t.price_milliunits,
            t.currency, t.storefront, t.found_bundle_id, t.refunded_at, t.refund_run_id, t.refund_reversed_at,
            CASE t.source WHEN 'app_server' THEN 1 WHEN 'local' THEN 2 WHEN 'verify_receipt' THEN 3 WHEN 'server_api' THEN 4 END,
            t.booked_milliunits, t.booked_currency, t.booked_as, t.entry_id, t.first_seen_at,
            t.first_run_id, t.admitted_user_id, t.admitted_receipt_id, t.user_id, t.order_id, t.delivered_by,
            t.delivered_at, t.reason, t.excluded_at, t.excluded_run_id, t.move_id),
        -- In this place it leaves the seals of what is not refunded in part as they were.
        coalesce(t.revocation_percentage + 1, 0))
$$;

-- What was changed by hand stays without a seal that holds.
UPDATE iap.transactions AS t
SET seal = audit.seal(t.*)
WHERE seal = audit.seal_before(t.*);

DROP FUNCTION audit.seal_before(iap.transactions);
