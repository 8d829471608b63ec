-- What finance reads: amounts, days and counts. Only production counts, since nobody pays in the sandbox.
--
-- An amount is what Apple says was paid. Where Apple's answer has no price (verifyReceipt never has), it is the list
-- price times the quantity as it was when the purchase entered the ledger, and nothing for a free trial or what is
-- shared in a family. It changes only when Apple tells what was not known. Days are days of UTC.

CREATE SCHEMA finance;
COMMENT ON SCHEMA finance IS
    'Views and functions for finance, without personal data beyond the user id. Days are days of UTC.';

CREATE VIEW iap.counted AS
SELECT
    transaction_id, bundle_id, product_id, products.name AS product_name, place, purchased_at, quantity AS units,
    booked_currency AS currency, booked_as AS price_source,
    (booked_milliunits / 1000.0)::numeric(20, 3) AS amount, user_id, order_id, delivered_by, delivered_at, reason,
    refund_run_id, refunded_at, refund_reason, revocation_type,
    (coalesce(revocation_percentage, 100000) / 1000.0)::numeric(6, 3) AS refund_percent,
    (iap.share_of(booked_milliunits, revocation_percentage) / 1000.0)::numeric(20, 3) AS refunded_amount,
    app_account_token
FROM iap.transactions
LEFT JOIN iap.products USING (bundle_id, product_id)
WHERE environment = 'Production';
COMMENT ON VIEW iap.counted IS 'The transactions that count for finance, and at what amount.';

-- Unclaimed liability ------------------------------------------------------------------------------------------------

CREATE FUNCTION finance.ageing(age_days integer) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN age_days <= 1 THEN '0-1'
        WHEN age_days <= 7 THEN '2-7'
        WHEN age_days <= 30 THEN '8-30'
        WHEN age_days <= 90 THEN '31-90'
        ELSE 'over 90'
    END
$$;
COMMENT ON FUNCTION finance.ageing IS 'The ageing bucket of an age in whole days: 0-1, 2-7, 8-30, 31-90 or over 90.';

CREATE VIEW finance.unclaimed_liability AS
SELECT
    purchase_day, bundle_id, product_id, product_name, currency, price_source, age_days,
    finance.ageing(age_days) AS ageing, count(*) AS transactions, sum(units) AS units,
    sum(amount)::numeric(20, 3) AS amount
FROM iap.counted
CROSS JOIN LATERAL (SELECT (purchased_at AT TIME ZONE 'UTC')::date AS purchase_day) AS purchase
CROSS JOIN LATERAL (SELECT greatest((now() AT TIME ZONE 'UTC')::date - purchase_day, 0) AS age_days) AS age
WHERE place = 'white'
GROUP BY purchase_day, bundle_id, product_id, product_name, currency, price_source, age_days;
COMMENT ON VIEW finance.unclaimed_liability IS
    'What customers paid and did not get, as of now: the white table by day of purchase, product and currency.';
COMMENT ON COLUMN finance.unclaimed_liability.purchase_day IS 'The day of the purchase.';
COMMENT ON COLUMN finance.unclaimed_liability.age_days IS 'Whole days from the day of purchase to today.';
COMMENT ON COLUMN finance.unclaimed_liability.ageing IS 'The age in days: 0-1, 2-7, 8-30, 31-90 or over 90.';

-- Deliveries ---------------------------------------------------------------------------------------------------------

CREATE VIEW finance.deliveries AS
SELECT
    (delivered_at AT TIME ZONE 'UTC')::date AS delivery_day, bundle_id, product_id, product_name, currency,
    price_source, delivered_by, count(*) AS transactions, sum(units) AS units, sum(amount)::numeric(20, 3) AS amount
FROM iap.counted
WHERE place = 'black'
GROUP BY delivery_day, bundle_id, product_id, product_name, currency, price_source, delivered_by;
COMMENT ON VIEW finance.deliveries IS
    'What was delivered: the black table by day of delivery, product and currency. Refunded later or not.';
COMMENT ON COLUMN finance.deliveries.delivered_by IS
    'claim: by the app''s server; resolved: by the support desk; import: before iap-reconcile was there; '
    'entitlement: the app''s server had granted it.';

-- Refunds ------------------------------------------------------------------------------------------------------------

CREATE VIEW finance.refunds_after_delivery AS
SELECT
    (refunded_at AT TIME ZONE 'UTC')::date AS refund_day, bundle_id, product_id, product_name, transaction_id, user_id,
    order_id, units, currency, price_source, refunded_amount AS amount, purchased_at, delivered_at, refunded_at,
    refund_reason, revocation_type, refund_percent, amount AS paid
FROM iap.counted
WHERE place = 'black' AND refunded_at IS NOT NULL;
COMMENT ON VIEW finance.refunds_after_delivery IS
    'What was delivered and is refunded by Apple: the customer has the goods and the money.';
COMMENT ON COLUMN finance.refunds_after_delivery.user_id IS 'The user who got the goods; NULL if support did not say.';
COMMENT ON COLUMN finance.refunds_after_delivery.amount IS 'What went back; of a refund in part, that part.';
COMMENT ON COLUMN finance.refunds_after_delivery.revocation_type IS
    'REFUND_FULL, REFUND_PRORATED, FAMILY_REVOKE; NULL where Apple did not say.';
COMMENT ON COLUMN finance.refunds_after_delivery.refund_percent IS 'The share that went back, in percent.';
COMMENT ON COLUMN finance.refunds_after_delivery.paid IS 'What was paid.';

CREATE VIEW finance.refunds_before_delivery AS
SELECT
    (refunded_at AT TIME ZONE 'UTC')::date AS refund_day, bundle_id, product_id, product_name, transaction_id, units,
    currency, price_source, refunded_amount AS amount, purchased_at, refunded_at, refund_reason,
    refund_run_id IS NULL AS is_by_support, revocation_type, refund_percent, amount AS paid
FROM iap.counted
WHERE place = 'excluded' AND reason = 'refunded';
COMMENT ON VIEW finance.refunds_before_delivery IS
    'What was never delivered and is refunded: the customer has the money back, and nothing is owed.';
COMMENT ON COLUMN finance.refunds_before_delivery.refunded_at IS
    'When Apple refunded it; where the support desk said so, when it did.';
COMMENT ON COLUMN finance.refunds_before_delivery.is_by_support IS 'Whether it is the support desk that said so.';
COMMENT ON COLUMN finance.refunds_before_delivery.amount IS 'What went back; of a refund in part, that part.';
COMMENT ON COLUMN finance.refunds_before_delivery.revocation_type IS
    'REFUND_FULL, REFUND_PRORATED, FAMILY_REVOKE; NULL where Apple did not say.';
COMMENT ON COLUMN finance.refunds_before_delivery.refund_percent IS 'The share that went back, in percent.';
COMMENT ON COLUMN finance.refunds_before_delivery.paid IS 'What was paid.';

CREATE VIEW finance.refunds AS
SELECT
    refund_day, bundle_id, product_id, product_name, moment AS refunded, currency, price_source,
    count(*) AS transactions, sum(units) AS units, sum(refunded_amount)::numeric(20, 3) AS amount
FROM (
    SELECT
        *, (refunded_at AT TIME ZONE 'UTC')::date AS refund_day,
        CASE place WHEN 'black' THEN 'after delivery' ELSE 'before delivery' END AS moment
    FROM iap.counted
    WHERE refunded_at IS NOT NULL AND (place = 'black' OR reason = 'refunded')
) AS refund
GROUP BY refund_day, bundle_id, product_id, product_name, moment, currency, price_source;
COMMENT ON VIEW finance.refunds IS 'What was refunded, by day of refund, product and currency.';
COMMENT ON COLUMN finance.refunds.refunded IS 'before delivery, or after delivery.';
COMMENT ON COLUMN finance.refunds.amount IS 'What went back; of refunds in part, those parts.';

-- Misdeliveries ------------------------------------------------------------------------------------------------------

CREATE VIEW iap.misdelivered AS
SELECT
    black.transaction_id, black.bundle_id, black.environment, black.product_id, black.delivered_at,
    black.user_id AS delivered_to,
    coalesce(orders.user_id, token.user_id, first_upload.user_id) AS likely_bought_by,
    CASE
        WHEN orders.user_id IS NOT NULL THEN 'order' WHEN token.user_id IS NOT NULL THEN 'token' ELSE 'upload'
    END AS evidence
FROM iap.transactions AS black
-- A grant names no order, nor need a company's own table; who uploaded its receipt for it may have.
LEFT JOIN LATERAL (
    SELECT order_id
    FROM iap.sightings
    WHERE sightings.transaction_id = black.transaction_id AND sightings.bundle_id = black.bundle_id
        AND sightings.environment = black.environment AND is_named AND order_id IS NOT NULL
        AND black.delivered_by IN ('entitlement', 'import')
    ORDER BY uploaded_at, receipt_id
    LIMIT 1
) AS named ON true
LEFT JOIN iap.orders
    ON orders.bundle_id = black.bundle_id AND orders.order_id = coalesce(black.order_id, named.order_id)
    AND orders.user_id <> black.user_id
-- Whose the token is that the client set when it was paid. Where that is who got the goods, no upload says otherwise.
LEFT JOIN LATERAL (
    SELECT CASE WHEN bool_or(user_id = black.user_id) THEN black.user_id ELSE min(user_id) END AS user_id
    FROM (
        SELECT user_id
        FROM iap.account_tokens
        WHERE account_tokens.app_account_token = black.app_account_token
            AND account_tokens.bundle_id = black.bundle_id
        UNION ALL
        SELECT user_id
        FROM iap.orders AS opened
        WHERE opened.app_account_token = black.app_account_token AND opened.bundle_id = black.bundle_id
    ) AS named
) AS token ON true
LEFT JOIN LATERAL (
    SELECT user_id
    FROM iap.sightings
    WHERE sightings.transaction_id = black.transaction_id AND sightings.bundle_id = black.bundle_id
        AND sightings.environment = black.environment AND sightings.user_id IS NOT NULL AND (in_receipt OR is_named)
        AND black.delivered_by = 'claim'
    ORDER BY is_named DESC, uploaded_at, receipt_id
    LIMIT 1
) AS first_upload ON true
WHERE black.place = 'black' AND black.delivered_by IN ('claim', 'entitlement', 'import')
    AND coalesce(orders.user_id, token.user_id, first_upload.user_id) <> black.user_id;
COMMENT ON VIEW iap.misdelivered IS
    'What finance.misdeliveries shows, of testers as well, for the nightly report.';

CREATE VIEW finance.misdeliveries AS
SELECT
    (wrong.delivered_at AT TIME ZONE 'UTC')::date AS delivery_day, bundle_id, counted.product_id,
    counted.product_name, transaction_id, counted.order_id, wrong.delivered_to, wrong.likely_bought_by, wrong.evidence,
    counted.units, counted.currency, counted.price_source, counted.amount, counted.purchased_at, wrong.delivered_at,
    counted.refunded_at
FROM iap.misdelivered AS wrong
JOIN iap.counted USING (transaction_id, bundle_id)
WHERE wrong.environment = 'Production';
COMMENT ON VIEW finance.misdeliveries IS
    'What was delivered to one user although another''s order was named, it bears another''s token, or another '
    'uploaded it first: the one who paid may still want it. Of what was granted or imported, by its token, or the '
    'order that was named or that it was uploaded for. Ask for a span of delivered_at: then only those deliveries are '
    'looked at.';
COMMENT ON COLUMN finance.misdeliveries.delivered_to IS 'The user who got the goods.';
COMMENT ON COLUMN finance.misdeliveries.likely_bought_by IS 'The user for whom more speaks.';
COMMENT ON COLUMN finance.misdeliveries.evidence IS
    'order: the order that was named is theirs; token: its appAccountToken is; upload: they uploaded it first.';
