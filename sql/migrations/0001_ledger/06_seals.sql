-- What finds a change that was made by hand. Whoever writes a row that decides about money or ownership seals it: a row
-- that somebody changes by hand doesn't fit its seal any more, and `iap-reconcile verify` names it. What only tells
-- when something was looked at is left out. The hashes are those of hash partitioning, which stay the same from one
-- version of PostgreSQL to the next.

CREATE SCHEMA audit;
COMMENT ON SCHEMA audit IS 'The chain over the trail, and what makes the seals of the ledger''s rows.';

-- What PostgreSQL hashes of an enum is the number that its label has in this database, which is another after a
-- restore. So the labels of iap.source have numbers of their own here; whoever adds one adds it here, too.
CREATE FUNCTION audit.seal(t iap.transactions) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.hash_record_extended(
        ROW(
            t.transaction_id, t.bundle_id, t.environment, t.place, t.original_transaction_id, t.product_id,
            t.product_type, t.quantity, t.purchased_at, t.is_trial, t.app_account_token, t.price_milliunits,
            t.currency, t.storefront, t.found_bundle_id, t.refunded_at, t.refund_run_id, t.refund_reversed_at,
            CASE t.source
                WHEN 'app_server' THEN 1 WHEN 'local' THEN 2 WHEN 'verify_receipt' THEN 3 WHEN 'server_api' THEN 4
            END,
            t.booked_milliunits, t.booked_currency, t.booked_as, t.entry_id, t.first_seen_at,
            t.first_run_id, t.admitted_user_id, t.admitted_receipt_id, t.user_id, t.order_id, t.delivered_by,
            t.delivered_at, t.reason, t.excluded_at, t.excluded_run_id, t.move_id, t.expires_at, t.refund_reason,
            t.revocation_type, t.app_transaction_id, t.web_order_line_item_id, t.original_purchased_at,
            t.refund_told_at, t.is_family_shared),
        -- In this place it leaves the seals of what is not refunded in part as they were.
        coalesce(t.revocation_percentage + 1, 0))
$$;
COMMENT ON FUNCTION audit.seal(iap.transactions) IS
    'The seal of a transaction, but for the nights that it was confirmed.';

CREATE FUNCTION audit.seal(s iap.sightings) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.hash_record_extended(
        ROW(
            s.transaction_id, s.bundle_id, s.environment, s.bucket, s.receipt_id, s.user_id, s.order_id, s.is_named,
            s.in_receipt, s.uploaded_at, s.first_run_id),
        0)
$$;
COMMENT ON FUNCTION audit.seal(iap.sightings) IS 'The seal of a sighting.';

CREATE FUNCTION audit.seal(c iap.claims) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.hash_record_extended(
        ROW(c.transaction_id, c.bundle_id, c.user_id, c.order_id, c.outcome, c.attempted_at), 0)
$$;
COMMENT ON FUNCTION audit.seal(iap.claims) IS 'The seal of an attempt to claim.';

CREATE FUNCTION audit.seal(sealed record) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    sealed.seal := NULL;
    RETURN pg_catalog.hash_record_extended(sealed, 0);
END
$$;
COMMENT ON FUNCTION audit.seal(record) IS 'The seal of a move, an order or an event, which is of the whole row.';

CREATE FUNCTION audit.receipt_seal(
    bucket smallint, receipt_id bigint, bundle_id text, user_id text, payload_sha256 bytea, order_id text,
    transaction_id text, submitted_at timestamptz, state text, is_erased boolean
) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.hash_record_extended(ROW($1, $2, $3, $4, $5, $6, $7, $8, $9, $10), 0)
$$;
COMMENT ON FUNCTION audit.receipt_seal IS
    'The seal of a receipt: who handed it in, when and for what, and whether it still waits.';

CREATE FUNCTION audit.seal(u iap.uploads) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.hash_record_extended(
        ROW(u.bucket, u.receipt_id, u.transaction_id, u.order_id, u.first_uploaded_at), 0)
$$;
COMMENT ON FUNCTION audit.seal(iap.uploads) IS 'The seal of what a receipt was uploaded for.';

CREATE FUNCTION iap.log_event(
    kind text, actor text, run_id bigint, happened_at timestamptz, details jsonb, transaction_id text DEFAULT NULL,
    bundle_id text DEFAULT NULL, environment text DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events
    SELECT event.*, audit.seal(ROW(event.*, NULL)::iap.events)
    FROM (
        SELECT
            nextval('iap.trail'), log_event.happened_at, log_event.kind, log_event.actor, log_event.run_id,
            log_event.transaction_id, log_event.bundle_id, log_event.environment, log_event.details
    ) AS event;
END
$$;
COMMENT ON FUNCTION iap.log_event IS
    'Writes an event of a run, an import or the like into the audit trail, or one of a transaction.';
