-- What finance read: views only, without personal data beyond the user id. Amounts are milliunits of the currency.

CREATE SCHEMA finance;
COMMENT ON SCHEMA finance IS 'Views for finance over the tables of iap-reconcile; role iap_finance reads them.';

CREATE VIEW finance.unclaimed_liability AS
SELECT
    (white.purchased_at AT TIME ZONE 'UTC')::date AS purchase_day,
    white.bundle_id,
    white.product_id,
    coalesce(white.currency, products.currency) AS currency,
    CASE
        WHEN now() - white.purchased_at < interval '2 days' THEN '0–1'
        WHEN now() - white.purchased_at < interval '8 days' THEN '2–7'
        WHEN now() - white.purchased_at < interval '31 days' THEN '8–30'
        WHEN now() - white.purchased_at < interval '91 days' THEN '31–90'
        ELSE 'over 90'
    END AS age_days,
    count(*) AS transactions,
    sum(white.quantity) AS units,
    sum(coalesce(white.price_milliunits, products.list_price_milliunits * white.quantity))::bigint AS milliunits
FROM iap.white
LEFT JOIN iap.products USING (bundle_id, product_id)
GROUP BY 1, 2, 3, 4, 5;
COMMENT ON VIEW finance.unclaimed_liability IS 'Paid and not delivered: what is owed to customers, by day of purchase.';
COMMENT ON COLUMN finance.unclaimed_liability.purchase_day IS 'Day of purchase in UTC.';
COMMENT ON COLUMN finance.unclaimed_liability.age_days IS 'Days since the purchase, in buckets.';
COMMENT ON COLUMN finance.unclaimed_liability.milliunits IS
    'What was paid where Apple told it, else the list price times the quantity.';

CREATE VIEW finance.deliveries AS
SELECT
    (black.delivered_at AT TIME ZONE 'UTC')::date AS delivery_day,
    black.bundle_id,
    black.product_id,
    coalesce(black.currency, products.currency) AS currency,
    black.delivered_by,
    count(*) AS transactions,
    sum(black.quantity) AS units,
    sum(coalesce(black.price_milliunits, products.list_price_milliunits * black.quantity))::bigint AS milliunits
FROM iap.black
LEFT JOIN iap.products USING (bundle_id, product_id)
GROUP BY 1, 2, 3, 4, 5;
COMMENT ON VIEW finance.deliveries IS 'What was delivered, by day of delivery in UTC.';

CREATE VIEW finance.refunds_after_delivery AS
SELECT
    black.transaction_id, black.bundle_id, black.environment, black.product_id, black.quantity, black.user_id,
    black.purchased_at, black.delivered_at, black.refunded_at, black.refund_reason,
    coalesce(black.currency, products.currency) AS currency,
    coalesce(black.price_milliunits, products.list_price_milliunits * black.quantity) AS milliunits
FROM iap.black
LEFT JOIN iap.products USING (bundle_id, product_id)
WHERE black.refunded_at IS NOT NULL;
COMMENT ON VIEW finance.refunds_after_delivery IS 'Goods that were delivered and whose money Apple gave back.';

CREATE VIEW finance.control_totals AS
SELECT
    run_id, as_of, started_at, finished_at, state,
    verified[1] AS verified_transactions, newly_white[1] AS newly_white_transactions,
    already_white[1] AS already_white_transactions, already_black[1] AS already_black_transactions,
    excluded[1] AS excluded_transactions,
    verified[1] = newly_white[1] + already_white[1] + already_black[1] + excluded[1]
        AND verified[2] = newly_white[2] + already_white[2] + already_black[2] + excluded[2]
        AND verified[3] = newly_white[3] # already_white[3] # already_black[3] # excluded[3] AS verified_balances,
    opening_white[1] AS opening_white_transactions, new[1] AS new_transactions,
    claimed[1] AS claimed_transactions, resolved[1] AS resolved_transactions,
    refunded[1] AS refunded_transactions, closing_white[1] AS closing_white_transactions,
    opening_white[1] + new[1] - claimed[1] - resolved[1] - refunded[1] = closing_white[1]
        AND opening_white[2] + new[2] - claimed[2] - resolved[2] - refunded[2] = closing_white[2]
        AND opening_white[3] # new[3] # claimed[3] # resolved[3] # refunded[3] = closing_white[3] AS white_balances
FROM iap.runs;
COMMENT ON VIEW finance.control_totals IS
    'Each run''s control totals, and whether count, units and hash total of both equations balance.';

REVOKE ALL ON SCHEMA finance FROM PUBLIC;
