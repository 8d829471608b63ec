-- How what Apple's sales reports say was sold compares with what the tables saw. A sales report has no transaction ids:
-- units are compared by day, product and country.

-- One expression, and no setting: it stands in statements and indexes instead of a call.
CREATE FUNCTION finance.pacific_day(moment timestamptz) RETURNS date
LANGUAGE sql IMMUTABLE RETURN (moment AT TIME ZONE 'America/Los_Angeles')::date;
COMMENT ON FUNCTION finance.pacific_day IS
    'The day of a moment as Apple''s sales reports have it: one of Pacific Time.';

-- What was bought and refunded on a day of Apple's. A BRIN index costs a claim next to nothing.
CREATE INDEX transactions_by_pacific_day ON iap.transactions USING brin (finance.pacific_day(purchased_at));
CREATE INDEX transactions_by_refund ON iap.transactions (finance.pacific_day(refunded_at))
    WHERE refunded_at IS NOT NULL;
-- Few, and of any day: among the others in a BRIN index they would have every day look for them everywhere.
CREATE INDEX transactions_restored_by_pacific_day ON iap.transactions (finance.pacific_day(original_purchased_at))
    WHERE original_transaction_id <> transaction_id AND original_purchased_at IS NOT NULL AND expires_at IS NULL
        AND product_type IS DISTINCT FROM 'auto_renewable';

CREATE VIEW iap.purchases AS
-- In two branches, each of which asks an index for the days of its sale.
WITH told AS NOT MATERIALIZED (
    SELECT t.*, purchased_at AS sold_at, false AS is_restored
    FROM iap.transactions AS t
    WHERE NOT (
        original_transaction_id <> transaction_id AND original_purchased_at IS NOT NULL AND expires_at IS NULL
        AND product_type IS DISTINCT FROM 'auto_renewable')
    UNION ALL
    SELECT t.*, original_purchased_at, true
    FROM iap.transactions AS t
    WHERE original_transaction_id <> transaction_id AND original_purchased_at IS NOT NULL AND expires_at IS NULL
        AND product_type IS DISTINCT FROM 'auto_renewable'
)
SELECT
    transaction_id, bundle_id, product_id, quantity, booked_milliunits, booked_currency, place, reason, delivered_by,
    storefront, purchased_at, sold_at, refunded_at, entry_id, first_seen_at,
    is_of_app
        -- A restored purchase was sold when it was first made, under whatever id it was delivered: it counts as the
        -- original, and where only restored ones are known, as the first of them; a restored period of a subscription
        -- is counted under the id that stands for it, be the other one the original's.
        AND CASE
            WHEN iap.type_by(product_type, source, products.type) = 'non_consumable'
            THEN
                transaction_id = original_transaction_id
                OR is_restored AND NOT EXISTS (
                    SELECT FROM iap.transactions AS kin
                    WHERE iap.is_of_original(
                            kin.transaction_id, kin.original_transaction_id, told.original_transaction_id)
                        AND kin.bundle_id = told.bundle_id AND kin.environment = told.environment
                        -- Another paid for what a family shares.
                        AND NOT kin.is_family_shared
                        AND (
                            kin.transaction_id = told.original_transaction_id
                            OR kin.transaction_id < told.transaction_id))
            ELSE
                reason IS DISTINCT FROM 'restored'
                -- Of a period that several ids keep from being owed, each for a reason of its own, the first.
                AND (
                    place <> 'excluded' OR web_order_line_item_id IS NULL
                    OR NOT EXISTS (
                        SELECT FROM iap.transactions AS kin
                        WHERE iap.is_of_original(
                                kin.transaction_id, kin.original_transaction_id, told.original_transaction_id)
                            AND kin.web_order_line_item_id = told.web_order_line_item_id
                            AND kin.bundle_id = told.bundle_id AND kin.environment = told.environment
                            AND kin.transaction_id <> told.transaction_id AND NOT kin.is_family_shared
                            AND (
                                kin.place <> 'excluded'
                                OR (
                                    kin.reason NOT IN ('restored', 'sandbox', 'foreign_bundle', 'invalid_quantity')
                                    AND kin.transaction_id < told.transaction_id))))
                -- Of one that was delivered under several, as by hand and by a grant, the one that has the period.
                AND (
                    place <> 'black' OR web_order_line_item_id IS NULL
                    OR NOT EXISTS (
                        SELECT FROM iap.delivered_originals AS taken
                        WHERE taken.original_transaction_id = told.original_transaction_id
                            AND taken.bundle_id = told.bundle_id AND taken.environment = told.environment
                            AND taken.web_order_line_item_id = told.web_order_line_item_id
                            AND taken.transaction_id <> told.transaction_id))
        END AS is_sold,
    -- Of what the support desk alone says, Apple's report never tells.
    is_of_app AND refunded_at IS NOT NULL AND refund_run_id IS NOT NULL
        -- A refund counts under the id that was delivered, or stands for the others, whichever was sold. Where none of
        -- them does, or the desk's word stands, under the first of which Apple tells it.
        AND (
            place = 'black' OR reason = 'refunded'
            OR NOT EXISTS (
                SELECT FROM iap.transactions AS kin
                WHERE iap.is_of_original(
                        kin.transaction_id, kin.original_transaction_id, told.original_transaction_id)
                    AND kin.web_order_line_item_id IS NOT DISTINCT FROM told.web_order_line_item_id
                    AND (kin.web_order_line_item_id IS NOT NULL OR kin.product_type IS DISTINCT FROM 'auto_renewable')
                    AND kin.bundle_id = told.bundle_id AND kin.environment = told.environment
                    AND kin.transaction_id <> told.transaction_id AND NOT kin.is_family_shared
                    AND (
                        kin.place = 'black'
                        OR (
                            kin.refunded_at IS NOT NULL AND kin.refund_run_id IS NOT NULL
                            AND (kin.reason = 'refunded' OR kin.transaction_id < told.transaction_id)))))
        -- Of one that was delivered under several ids, of all of which Apple tells it, the one that has the original,
        -- or the period.
        AND (
            place <> 'black'
            OR NOT EXISTS (
                SELECT FROM iap.delivered_originals AS taken
                JOIN iap.transactions AS kin USING (transaction_id, bundle_id, environment)
                WHERE taken.original_transaction_id = told.original_transaction_id
                    AND taken.bundle_id = told.bundle_id AND taken.environment = told.environment
                    AND taken.web_order_line_item_id = coalesce(told.web_order_line_item_id, '')
                    AND taken.transaction_id <> told.transaction_id AND kin.place = 'black'
                    AND kin.refunded_at IS NOT NULL AND kin.refund_run_id IS NOT NULL))
            AS is_refunded
FROM told
LEFT JOIN iap.products USING (bundle_id, product_id)
CROSS JOIN LATERAL (
    SELECT
        NOT is_family_shared AND coalesce(reason, '') NOT IN ('sandbox', 'foreign_bundle', 'invalid_quantity')
            -- Delivered before anybody knew that it is of another app.
            AND coalesce(found_bundle_id, bundle_id) = bundle_id AS is_of_app
) AS counted
WHERE environment = 'Production';
COMMENT ON VIEW iap.purchases IS 'The purchases that count, and whether and when Apple sold and refunded them.';

CREATE VIEW finance.compared_days AS
WITH told AS (
    SELECT developer, bundle_id, max(day) AS last_day
    FROM iap.sales_reports
    CROSS JOIN unnest(bundle_ids) AS bundle_id
    WHERE replaced_at IS NULL
    GROUP BY developer, bundle_id
)
SELECT DISTINCT sales_reports.day, told.bundle_id
FROM iap.sales_reports
JOIN told USING (developer)
WHERE sales_reports.replaced_at IS NULL
    -- An app that went to another account is told of there.
    AND (
        sales_reports.day <= told.last_day
        OR NOT EXISTS (
            SELECT FROM told AS later
            WHERE later.bundle_id = told.bundle_id AND later.last_day > told.last_day))
    -- Nor is it known what a report says of an app that nobody knew when it was read.
    AND (
        told.bundle_id = ANY (sales_reports.bundle_ids)
        OR NOT EXISTS (
            SELECT FROM iap.sales AS unnamed
            JOIN iap.sales AS named ON named.app_sku = unnamed.app_sku
            JOIN iap.sales_reports AS other ON other.report_id = named.report_id
            WHERE unnamed.report_id = sales_reports.report_id AND unnamed.bundle_id IS NULL AND unnamed.app_sku <> ''
                AND named.bundle_id = told.bundle_id
                AND other.developer = sales_reports.developer AND other.replaced_at IS NULL));
COMMENT ON VIEW finance.compared_days IS
    'The days of which Apple''s sales report was read, for each app that the account''s reports tell of.';
COMMENT ON COLUMN finance.compared_days.day IS 'A day of Pacific Time.';

-- A condition on `day` reaches every table below: nothing stands in its way but groups and windows of one day.
CREATE VIEW iap.sold_against_seen AS
WITH counted AS (
    SELECT
        sales_reports.day, sales.bundle_id, sales.product_id, sales.storefront,
        CASE WHEN units > 0 THEN sales.currency END AS currency,
        -- What cost nothing was paid in no currency.
        CASE WHEN units > 0 AND price_milliunits <> 0 THEN sales.currency END AS paid_in,
        CASE WHEN units > 0 THEN units ELSE 0 END AS sold, 0 AS seen,
        CASE WHEN units < 0 THEN -units ELSE 0 END AS refunds_sold, 0 AS refunds_seen,
        CASE WHEN units > 0 THEN units * price_milliunits ELSE 0 END AS milliunits
    FROM iap.sales
    JOIN iap.sales_reports USING (report_id)
    WHERE sales_reports.replaced_at IS NULL
    UNION ALL
    SELECT
        finance.pacific_day(sold_at), bundle_id, product_id, storefront, NULL, NULL, 0, sum(quantity), 0, 0, 0
    FROM iap.purchases
    WHERE is_sold
    GROUP BY 1, 2, 3, 4
    UNION ALL
    SELECT
        finance.pacific_day(refunded_at), bundle_id, product_id, storefront, NULL, NULL, 0, 0, 0, sum(quantity), 0
    FROM iap.purchases
    WHERE is_refunded
    GROUP BY 1, 2, 3, 4
), placed AS (
    SELECT
        *, bool_and(storefront IS NOT NULL) OVER (PARTITION BY day, bundle_id, product_id) AS is_placed
    FROM counted
)
SELECT
    placed.day, placed.bundle_id, placed.product_id,
    CASE WHEN placed.is_placed THEN 'country' ELSE 'product' END AS compared_by,
    CASE WHEN placed.is_placed THEN placed.storefront END AS storefront,
    sum(placed.sold)::bigint AS units_sold,
    sum(placed.seen)::bigint AS units_seen,
    (sum(placed.sold) - sum(placed.seen))::bigint AS difference,
    sum(placed.refunds_sold)::bigint AS refunds_sold,
    sum(placed.refunds_seen)::bigint AS refunds_seen,
    (sum(placed.refunds_sold) - sum(placed.refunds_seen))::bigint AS refund_difference,
    CASE
        WHEN coalesce(min(placed.paid_in) = max(placed.paid_in), min(placed.currency) = max(placed.currency))
            AND bool_and(placed.milliunits IS NOT NULL)
        THEN coalesce(min(placed.paid_in), min(placed.currency))
    END AS currency,
    CASE
        WHEN coalesce(min(placed.paid_in) = max(placed.paid_in), min(placed.currency) = max(placed.currency))
            AND bool_and(placed.milliunits IS NOT NULL)
        THEN sum(placed.milliunits)::bigint
    END AS milliunits_sold
FROM placed
JOIN finance.compared_days AS compared ON compared.day = placed.day AND compared.bundle_id = placed.bundle_id
GROUP BY placed.day, placed.bundle_id, placed.product_id, placed.is_placed, 5;

CREATE VIEW finance.sold_against_seen AS
SELECT
    day, bundle_id, product_id, products.name AS product_name, compared_by, storefront, units_sold, units_seen,
    difference,
    sum(difference) OVER (
        PARTITION BY bundle_id, product_id
        ORDER BY day
        RANGE BETWEEN '1 day' PRECEDING AND '1 day' FOLLOWING)::bigint AS difference_around,
    refunds_sold, refunds_seen, refund_difference, sold.currency,
    (milliunits_sold / 1000.0)::numeric(20, 3) AS amount_sold
FROM iap.sold_against_seen AS sold
LEFT JOIN iap.products USING (bundle_id, product_id);
COMMENT ON VIEW iap.sold_against_seen IS 'What finance.sold_against_seen shows, for the nightly report.';
COMMENT ON VIEW finance.sold_against_seen IS
    'Units that Apple sold and the tables saw, by day and product: a positive difference is what nothing ever told '
    'the server of. Only days whose sales report was read. Seen are the white, black and excluded transactions of '
    'production, without family-shared and foreign ones; what was restored counts once, on the day of its first '
    'purchase. Days are days of Pacific Time, as Apple''s are.';
COMMENT ON COLUMN finance.sold_against_seen.day IS 'The day of the purchase, or of the refund, in Pacific Time.';
COMMENT ON COLUMN finance.sold_against_seen.compared_by IS
    'country: every transaction of the day and product tells its storefront; product: not all do (verifyReceipt tells '
    'none), so all countries are compared together.';
COMMENT ON COLUMN finance.sold_against_seen.storefront IS 'The country; NULL where it is compared by product.';
COMMENT ON COLUMN finance.sold_against_seen.units_sold IS 'Units that Apple''s report says were sold.';
COMMENT ON COLUMN finance.sold_against_seen.units_seen IS 'Units of the transactions that the tables hold.';
COMMENT ON COLUMN finance.sold_against_seen.difference IS 'Sold less seen: above zero, something never came.';
COMMENT ON COLUMN finance.sold_against_seen.difference_around IS
    'The product''s difference over this day, the one before and the one after, in all countries: zero where Apple and '
    'the receipt put a purchase at midnight on different days.';
COMMENT ON COLUMN finance.sold_against_seen.refunds_sold IS 'Units that Apple''s report says were refunded on the day.';
COMMENT ON COLUMN finance.sold_against_seen.refunds_seen IS 'Units of the transactions that Apple refunded on the day.';
COMMENT ON COLUMN finance.sold_against_seen.refund_difference IS 'Refunds of the report less refunds of the tables.';
COMMENT ON COLUMN finance.sold_against_seen.currency IS
    'In which all units sold were paid, but for those that cost nothing; NULL if in several or in none that is known.';
COMMENT ON COLUMN finance.sold_against_seen.amount_sold IS
    'What customers paid for the units sold, in that currency; NULL without one.';
