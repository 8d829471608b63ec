-- What is usually paid for a product; and the noting of all that entered.

-- How often each price was paid in a month: a product has few of them, so that the usual one is found at once, however
-- much was sold.
CREATE TABLE iap.paid_prices (
    bundle_id   text COLLATE "C" NOT NULL,
    product_id  text COLLATE "C" NOT NULL,
    storefront  text NOT NULL,
    month       date NOT NULL,
    currency    text NOT NULL,
    milliunits  bigint NOT NULL,
    purchases   bigint NOT NULL,
    PRIMARY KEY (bundle_id, product_id, storefront, month, currency, milliunits)
);
COMMENT ON TABLE iap.paid_prices IS
    'How often each price was paid for one unit of a product in a storefront, by month: what is usual.';

CREATE TABLE iap.unusual_prices (
    transaction_id   text COLLATE "C" NOT NULL,
    bundle_id        text COLLATE "C" NOT NULL,
    environment      text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    found_at         timestamptz NOT NULL,
    usual_milliunits bigint NOT NULL,
    usual_currency   text NOT NULL,
    PRIMARY KEY (transaction_id, bundle_id, environment)
);

CREATE INDEX unusual_prices_by_moment ON iap.unusual_prices (found_at);
COMMENT ON TABLE iap.unusual_prices IS
    'Purchases that were paid in another currency than is usual for their product and storefront, or at less than half '
    'of the usual price.';

CREATE VIEW iap.priced AS
SELECT
    entry_id, transaction_id, bundle_id, environment, product_id, storefront, currency,
    -- Apple's price is of all units: https://developer.apple.com/documentation/appstoreserverapi/price
    price_milliunits / quantity AS milliunits, date_trunc('month', purchased_at AT TIME ZONE 'UTC')::date AS month
FROM iap.transactions
-- Offers have prices of their own, and only subscriptions have offers.
WHERE product_type IN ('consumable', 'non_consumable', 'non_renewing') AND environment = 'Production'
    AND price_milliunits > 0 AND storefront IS NOT NULL AND quantity > 0 AND place <> 'excluded';
COMMENT ON VIEW iap.priced IS 'What was paid for one unit, of purchases whose price should be the usual one.';

CREATE FUNCTION iap.note_prices(app iap.hearings, closed audit.frontier, at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO paid_prices AS known
    SELECT app.bundle_id, product_id, storefront, month, currency, milliunits, count(*)
    FROM priced
    WHERE iap.is_beyond(entry_id, app.noted_upto, app.noted_gaps)
        AND NOT iap.is_beyond(entry_id, closed.upto, closed.gaps) AND bundle_id = app.bundle_id
    GROUP BY product_id, storefront, month, currency, milliunits
    ON CONFLICT (bundle_id, product_id, storefront, month, currency, milliunits) DO UPDATE
    SET purchases = known.purchases + EXCLUDED.purchases;

    WITH recent AS (
        SELECT product_id, storefront, currency, milliunits, sum(purchases) AS purchases
        FROM paid_prices
        WHERE bundle_id = app.bundle_id AND month >= (at - interval '92 days')::date
        GROUP BY product_id, storefront, currency, milliunits
    ), usual_currency AS (
        SELECT DISTINCT ON (product_id, storefront) product_id, storefront, currency, sum(purchases) AS all_purchases
        FROM recent
        GROUP BY product_id, storefront, currency
        ORDER BY product_id, storefront, sum(purchases) DESC, currency
    ), usual AS (
        -- The median: the lowest price up to which half of the purchases lie.
        SELECT DISTINCT ON (product_id, storefront) product_id, storefront, currency, milliunits
        FROM (
            SELECT
                product_id, storefront, currency, milliunits, all_purchases,
                sum(purchases) OVER (PARTITION BY product_id, storefront, currency ORDER BY milliunits) AS so_far
            FROM recent
            JOIN usual_currency USING (product_id, storefront, currency)
        ) AS ranked
        -- Of fewer nobody can say what is usual.
        WHERE so_far * 2 >= all_purchases AND all_purchases >= 10
        ORDER BY product_id, storefront, milliunits
    )
    INSERT INTO unusual_prices (transaction_id, bundle_id, environment, found_at, usual_milliunits, usual_currency)
    SELECT transaction_id, bundle_id, environment, at, usual.milliunits, usual.currency
    FROM priced
    JOIN usual USING (product_id, storefront)
    WHERE iap.is_beyond(entry_id, app.noted_upto, app.noted_gaps)
        AND NOT iap.is_beyond(entry_id, closed.upto, closed.gaps) AND bundle_id = app.bundle_id
        AND (priced.currency <> usual.currency OR priced.milliunits * 2 < usual.milliunits)
    ON CONFLICT (transaction_id, bundle_id, environment) DO NOTHING;
END
$$;
COMMENT ON FUNCTION iap.note_prices IS
    'Counts what was paid for what entered the ledger and was closed in the books since the app was noted last, and '
    'notes what was paid in another currency than is usual for product and storefront, or at less than half of the '
    'median of three months.';

CREATE FUNCTION iap.note_entered(
    bundle_id text, environment text, every interval, since timestamptz, at timestamptz,
    again_ids bigint[] DEFAULT '{}', again_at timestamptz[] DEFAULT '{}'
) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    app        iap.hearings;
    closed     audit.frontier;
    has_closed boolean;
BEGIN
    INSERT INTO hearings (bundle_id, environment)
    VALUES (note_entered.bundle_id, note_entered.environment)
    ON CONFLICT (bundle_id, environment) DO NOTHING;
    SELECT * INTO STRICT app
    FROM hearings
    WHERE bundle_id = note_entered.bundle_id AND environment = note_entered.environment
    FOR UPDATE;
    -- What the books had not seen, a later night notes; a number that is lost for ever keeps nothing waiting.
    SELECT * INTO STRICT closed FROM audit.frontier;
    has_closed := (closed.upto, closed.gaps) IS DISTINCT FROM (app.noted_upto, app.noted_gaps);
    IF every IS NOT NULL AND (has_closed OR again_ids <> '{}') THEN
        PERFORM iap.note_customers(app, closed, every, since, at, again_ids, again_at);
    END IF;
    IF has_closed THEN
        PERFORM iap.note_prices(app, closed, at);
        UPDATE hearings
        SET noted_upto = closed.upto, noted_gaps = closed.gaps
        WHERE bundle_id = note_entered.bundle_id AND environment = note_entered.environment;
    END IF;
END
$$;
COMMENT ON FUNCTION iap.note_entered IS
    'Notes the prices, and where customers are asked about again the customers that were seen since a moment, of what '
    'entered the ledger and was closed in the books since the last time: each once. Also the customers of receipts '
    'that were handed in again, and when.';
