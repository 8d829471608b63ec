-- What finance reads: amounts, days and counts. Only production counts, since nobody pays in the sandbox.
--
-- An amount is what Apple says was paid. Where Apple's answer has no price (verifyReceipt never has), it is the list
-- price times the quantity, and nothing for a free trial. Days are days of UTC.

CREATE SCHEMA finance;
COMMENT ON SCHEMA finance IS 'Views for finance, without personal data beyond the user id. Days are days of UTC.';

-- Unclaimed liability ------------------------------------------------------------------------------------------------

CREATE VIEW finance.unclaimed_liability AS
WITH priced AS (
    SELECT
        (white.purchased_at AT TIME ZONE 'UTC')::date AS purchase_day,
        white.bundle_id,
        white.product_id,
        products.name AS product_name,
        white.quantity,
        CASE
            WHEN white.price_milliunits IS NOT NULL THEN 'apple'
            WHEN white.is_trial THEN 'trial'
            WHEN products.list_price_milliunits IS NOT NULL THEN 'list'
            ELSE 'unknown'
        END AS price_source,
        coalesce(white.currency, products.currency) AS currency,
        coalesce(
            white.price_milliunits,
            CASE WHEN white.is_trial THEN 0 ELSE products.list_price_milliunits * white.quantity END) AS milliunits
    FROM iap.white
    LEFT JOIN iap.products USING (bundle_id, product_id)
    WHERE white.environment = 'Production'
), aged AS (
    SELECT *, greatest((now() AT TIME ZONE 'UTC')::date - purchase_day, 0) AS age_days
    FROM priced
)
SELECT
    purchase_day,
    bundle_id,
    product_id,
    product_name,
    currency,
    price_source,
    age_days,
    CASE
        WHEN age_days <= 1 THEN '0-1'
        WHEN age_days <= 7 THEN '2-7'
        WHEN age_days <= 30 THEN '8-30'
        WHEN age_days <= 90 THEN '31-90'
        ELSE 'over 90'
    END AS ageing,
    count(*) AS transactions,
    sum(quantity) AS units,
    (sum(milliunits) / 1000.0)::numeric(20, 3) AS amount
FROM aged
GROUP BY purchase_day, bundle_id, product_id, product_name, currency, price_source, age_days;

COMMENT ON VIEW finance.unclaimed_liability IS
    'What customers paid and did not get, as of now: the white table by day of purchase, product and currency.';
COMMENT ON COLUMN finance.unclaimed_liability.purchase_day IS 'The day of the purchase.';
COMMENT ON COLUMN finance.unclaimed_liability.bundle_id IS 'The app.';
COMMENT ON COLUMN finance.unclaimed_liability.product_id IS 'The product.';
COMMENT ON COLUMN finance.unclaimed_liability.product_name IS 'Its name; NULL if the products do not list it.';
COMMENT ON COLUMN finance.unclaimed_liability.currency IS 'Of the amount; NULL where no price is known.';
COMMENT ON COLUMN finance.unclaimed_liability.price_source IS
    'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';
COMMENT ON COLUMN finance.unclaimed_liability.age_days IS 'Whole days from the day of purchase to today.';
COMMENT ON COLUMN finance.unclaimed_liability.ageing IS 'The age in days: 0-1, 2-7, 8-30, 31-90 or over 90.';
COMMENT ON COLUMN finance.unclaimed_liability.transactions IS 'How many purchases.';
COMMENT ON COLUMN finance.unclaimed_liability.units IS 'The sum of their quantities.';
COMMENT ON COLUMN finance.unclaimed_liability.amount IS 'In units of the currency; NULL where no price is known.';

-- Deliveries ---------------------------------------------------------------------------------------------------------

CREATE VIEW finance.deliveries AS
SELECT
    (black.delivered_at AT TIME ZONE 'UTC')::date AS delivery_day,
    black.bundle_id,
    black.product_id,
    products.name AS product_name,
    coalesce(black.currency, products.currency) AS currency,
    CASE
        WHEN black.price_milliunits IS NOT NULL THEN 'apple'
        WHEN products.list_price_milliunits IS NOT NULL THEN 'list'
        ELSE 'unknown'
    END AS price_source,
    black.delivered_by,
    count(*) AS transactions,
    sum(black.quantity) AS units,
    (sum(coalesce(black.price_milliunits, products.list_price_milliunits * black.quantity)) / 1000.0)::numeric(20, 3)
        AS amount
FROM iap.black
LEFT JOIN iap.products USING (bundle_id, product_id)
WHERE black.environment = 'Production'
GROUP BY 1, 2, 3, 4, 5, 6, 7;

COMMENT ON VIEW finance.deliveries IS
    'What was delivered: the black table by day of delivery, product and currency. Refunded later or not.';
COMMENT ON COLUMN finance.deliveries.delivery_day IS 'The day on which the goods were credited.';
COMMENT ON COLUMN finance.deliveries.bundle_id IS 'The app.';
COMMENT ON COLUMN finance.deliveries.product_id IS 'The product.';
COMMENT ON COLUMN finance.deliveries.product_name IS 'Its name; NULL if the products do not list it.';
COMMENT ON COLUMN finance.deliveries.currency IS 'Of the amount; NULL where no price is known.';
COMMENT ON COLUMN finance.deliveries.price_source IS
    'apple: as paid; list: the list price times the quantity; unknown: no price is known.';
COMMENT ON COLUMN finance.deliveries.delivered_by IS
    'claim: by the app''s server; resolved: by the support desk; import: before iap-reconcile was there.';
COMMENT ON COLUMN finance.deliveries.transactions IS 'How many purchases.';
COMMENT ON COLUMN finance.deliveries.units IS 'The sum of their quantities.';
COMMENT ON COLUMN finance.deliveries.amount IS 'In units of the currency; NULL where no price is known.';

-- Refunds after delivery ---------------------------------------------------------------------------------------------

CREATE VIEW finance.refunds_after_delivery AS
SELECT
    (black.refunded_at AT TIME ZONE 'UTC')::date AS refund_day,
    black.bundle_id,
    black.product_id,
    products.name AS product_name,
    black.transaction_id,
    black.user_id,
    black.order_id,
    black.quantity AS units,
    coalesce(black.currency, products.currency) AS currency,
    CASE
        WHEN black.price_milliunits IS NOT NULL THEN 'apple'
        WHEN products.list_price_milliunits IS NOT NULL THEN 'list'
        ELSE 'unknown'
    END AS price_source,
    (coalesce(black.price_milliunits, products.list_price_milliunits * black.quantity) / 1000.0)::numeric(20, 3)
        AS amount,
    black.purchased_at,
    black.delivered_at,
    black.refunded_at,
    black.refund_reason
FROM iap.black
LEFT JOIN iap.products USING (bundle_id, product_id)
WHERE black.environment = 'Production' AND black.refunded_at IS NOT NULL;

COMMENT ON VIEW finance.refunds_after_delivery IS
    'What was delivered and is refunded by Apple: the customer has the goods and the money.';
COMMENT ON COLUMN finance.refunds_after_delivery.refund_day IS 'The day of the refund.';
COMMENT ON COLUMN finance.refunds_after_delivery.bundle_id IS 'The app.';
COMMENT ON COLUMN finance.refunds_after_delivery.product_id IS 'The product.';
COMMENT ON COLUMN finance.refunds_after_delivery.product_name IS 'Its name; NULL if the products do not list it.';
COMMENT ON COLUMN finance.refunds_after_delivery.transaction_id IS 'Apple''s id of the purchase.';
COMMENT ON COLUMN finance.refunds_after_delivery.user_id IS 'The user who got the goods; NULL if support did not say.';
COMMENT ON COLUMN finance.refunds_after_delivery.order_id IS 'The app''s own order, if one was named.';
COMMENT ON COLUMN finance.refunds_after_delivery.units IS 'The quantity.';
COMMENT ON COLUMN finance.refunds_after_delivery.currency IS 'Of the amount; NULL where no price is known.';
COMMENT ON COLUMN finance.refunds_after_delivery.price_source IS
    'apple: as paid; list: the list price times the quantity; unknown: no price is known.';
COMMENT ON COLUMN finance.refunds_after_delivery.amount IS 'In units of the currency; NULL where no price is known.';
COMMENT ON COLUMN finance.refunds_after_delivery.purchased_at IS 'When it was bought.';
COMMENT ON COLUMN finance.refunds_after_delivery.delivered_at IS 'When the goods were credited.';
COMMENT ON COLUMN finance.refunds_after_delivery.refunded_at IS 'When Apple refunded it.';
COMMENT ON COLUMN finance.refunds_after_delivery.refund_reason IS 'As Apple gave it; NULL if Apple gave none.';

-- Control totals -----------------------------------------------------------------------------------------------------

CREATE VIEW finance.control_totals AS
WITH checked AS (
    SELECT
        runs.*,
        lag(closing_white) OVER (ORDER BY closing_number) AS closed_before,
        verified[1] = newly_white[1] + already_white[1] + already_black[1] + excluded[1]
            AND verified[2] = newly_white[2] + already_white[2] + already_black[2] + excluded[2]
            AND verified[3] = newly_white[3] # already_white[3] # already_black[3] # excluded[3]
            AS is_verified_placed,
        opening_white[1] + new[1] - claimed[1] - resolved[1] - refunded[1] = closing_white[1]
            AND opening_white[2] + new[2] - claimed[2] - resolved[2] - refunded[2] = closing_white[2]
            AND opening_white[3] # new[3] # claimed[3] # resolved[3] # refunded[3] = closing_white[3]
            AS is_white_explained
    FROM iap.runs
)
SELECT
    checked.run_id,
    checked.started_at,
    checked.state,
    total.position,
    total.total,
    total.figures[1] AS transactions,
    total.figures[2] AS units,
    total.figures[3] AS hash,
    CASE
        WHEN closing_number IS NULL THEN is_verified_placed AND NULL
        WHEN closing_number = 1 THEN is_verified_placed AND is_white_explained AND opening_white = '{0,0,0}'
        ELSE is_verified_placed AND is_white_explained AND opening_white = closed_before
    END AS balances
FROM checked
CROSS JOIN LATERAL (
    VALUES
        (1, 'verified', verified), (2, 'newly white', newly_white), (3, 'already white', already_white),
        (4, 'already black', already_black), (5, 'excluded', excluded), (6, 'opening white', opening_white),
        (7, 'new', new), (8, 'claimed', claimed), (9, 'resolved', resolved), (10, 'refunded', refunded),
        (11, 'closing white', closing_white)
) AS total (position, total, figures)
WHERE checked.state <> 'running';

COMMENT ON VIEW finance.control_totals IS
    'What each run counted, eleven rows a run. Verified transactions are newly white, already white, already black or '
    'excluded; opening white and new, less claimed, resolved and refunded, is closing white; and each run opens with '
    'what the one before closed with.';
COMMENT ON COLUMN finance.control_totals.run_id IS 'The run.';
COMMENT ON COLUMN finance.control_totals.started_at IS 'When it started.';
COMMENT ON COLUMN finance.control_totals.state IS
    'complete, ended_early, failed, or abandoned: killed, as a later run found.';
COMMENT ON COLUMN finance.control_totals.position IS 'The row''s place among the eleven.';
COMMENT ON COLUMN finance.control_totals.total IS 'What is counted.';
COMMENT ON COLUMN finance.control_totals.transactions IS 'How many; NULL where the run did not close its books.';
COMMENT ON COLUMN finance.control_totals.units IS 'The sum of their quantities.';
COMMENT ON COLUMN finance.control_totals.hash IS
    'The exclusive or of a hash of each transaction id: shows one transaction in another''s place.';
COMMENT ON COLUMN finance.control_totals.balances IS
    'Whether all of the run''s totals balance; NULL where its books are not closed and nothing else is wrong.';

REVOKE ALL ON SCHEMA finance FROM PUBLIC;
