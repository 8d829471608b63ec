-- What finance reads: amounts, days and counts. Only production counts, since nobody pays in the sandbox.
--
-- An amount is what Apple says was paid. Where Apple's answer has no price (verifyReceipt never has), it is the list
-- price times the quantity as it was when the purchase entered the ledger, and nothing for a free trial. It changes
-- only when Apple tells a price that was not known. Days are days of UTC.

CREATE SCHEMA finance;
COMMENT ON SCHEMA finance IS
    'Views and functions for finance, without personal data beyond the user id. Days are days of UTC.';

-- What a purchase is counted as --------------------------------------------------------------------------------------

CREATE FUNCTION iap.value_purchase() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    listed record;
BEGIN
    SELECT list_price_milliunits AS price, currency INTO listed
    FROM iap.products
    WHERE bundle_id = NEW.bundle_id AND product_id = NEW.product_id;
    NEW.booked_milliunits := NEW.price_milliunits;
    NEW.booked_currency := NEW.currency;
    NEW.booked_as := 'apple';
    IF NEW.price_milliunits IS NULL THEN
        NEW.booked_milliunits := listed.price * NEW.quantity;
        NEW.booked_currency := listed.currency;
        NEW.booked_as := CASE WHEN listed.price IS NULL THEN 'unknown' ELSE 'list' END;
        IF tg_table_name = 'white' THEN
            IF NEW.is_trial THEN
                NEW.booked_milliunits := 0;
                NEW.booked_as := 'trial';
            END IF;
        END IF;
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION iap.value_purchase IS
    'Fixes what finance counts a purchase as, where whoever wrote the row has not done so.';

CREATE TRIGGER valued BEFORE INSERT ON iap.white
    FOR EACH ROW WHEN (NEW.booked_as IS NULL) EXECUTE FUNCTION iap.value_purchase();
CREATE TRIGGER valued BEFORE INSERT ON iap.black
    FOR EACH ROW WHEN (NEW.booked_as IS NULL) EXECUTE FUNCTION iap.value_purchase();
CREATE TRIGGER valued BEFORE INSERT ON iap.excluded
    FOR EACH ROW WHEN (NEW.booked_as IS NULL) EXECUTE FUNCTION iap.value_purchase();
CREATE TRIGGER valued_anew BEFORE UPDATE ON iap.white
    FOR EACH ROW WHEN (
        (OLD.price_milliunits, OLD.currency, OLD.is_trial)
        IS DISTINCT FROM (NEW.price_milliunits, NEW.currency, NEW.is_trial))
    EXECUTE FUNCTION iap.value_purchase();

-- The journal --------------------------------------------------------------------------------------------------------
--
-- Whatever enters or leaves white, black and excluded is posted by triggers, so that no way of changing them goes by
-- unseen; for whole statements, so that a batch costs a few rows. A change is posted as the old taken back and the new
-- added. When a run closes its books, the postings become a few rows of iap.books for each day, and the days before
-- the run's own are closed for good: what turns up for them later is booked on the first day that is still open.

CREATE TABLE iap.postings (
    booked_on    date NOT NULL,
    account      text NOT NULL CHECK (account IN ('owed', 'delivered', 'excluded', 'refunded')),
    day          date NOT NULL,
    bundle_id    text COLLATE "C" NOT NULL,
    product_id   text COLLATE "C" NOT NULL,
    currency     text,
    price_source text NOT NULL,
    detail       text,
    transactions bigint NOT NULL,
    units        bigint NOT NULL,
    milliunits   numeric
);
COMMENT ON TABLE iap.postings IS
    'What was posted since a run last closed its books: the open end of the journal. Written by triggers alone.';
COMMENT ON COLUMN iap.postings.day IS
    'owed: of the purchase; delivered: of the delivery; excluded: of the exclusion or the refund; refunded: of the '
    'refund.';
COMMENT ON COLUMN iap.postings.detail IS 'delivered: by what; excluded: the reason.';

CREATE TABLE iap.books (
    run_id       bigint NOT NULL,
    booked_on    date NOT NULL,
    account      text NOT NULL CHECK (account IN ('owed', 'delivered', 'excluded', 'refunded')),
    day          date NOT NULL,
    bundle_id    text COLLATE "C" NOT NULL,
    product_id   text COLLATE "C" NOT NULL,
    currency     text,
    price_source text NOT NULL,
    detail       text,
    transactions bigint NOT NULL,
    units        bigint NOT NULL,
    milliunits   numeric,
    CONSTRAINT one_row_a_run_and_figure UNIQUE NULLS NOT DISTINCT (
        account, booked_on, run_id, day, bundle_id, product_id, currency, price_source, detail)
);
COMMENT ON TABLE iap.books IS
    'The closed journal: what each run that closed its books found posted. Rows are added, and never changed or taken '
    'away.';

CREATE TRIGGER books_are_kept BEFORE UPDATE OR DELETE ON iap.books
    FOR EACH ROW EXECUTE FUNCTION iap.refuse_change();
CREATE TRIGGER books_are_not_truncated BEFORE TRUNCATE ON iap.books
    FOR EACH STATEMENT EXECUTE FUNCTION iap.refuse_change();

CREATE FUNCTION iap.post() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    sign  integer := tg_argv[0];
    today date := (iap.present() AT TIME ZONE 'UTC')::date;
BEGIN
    IF tg_table_name = 'white' THEN
        INSERT INTO iap.postings
        SELECT
            today, 'owed', (purchased_at AT TIME ZONE 'UTC')::date, bundle_id, product_id, booked_currency, booked_as,
            NULL, sign * count(*), sign * sum(quantity), sign * sum(booked_milliunits)
        FROM changed
        WHERE environment = 'Production'
        GROUP BY 3, bundle_id, product_id, booked_currency, booked_as;
    ELSIF tg_table_name = 'black' THEN
        INSERT INTO iap.postings
        SELECT
            today, account, (moment AT TIME ZONE 'UTC')::date, bundle_id, product_id, booked_currency, booked_as,
            detail, sign * count(*), sign * sum(quantity), sign * sum(booked_milliunits)
        FROM changed
        CROSS JOIN LATERAL (
            VALUES ('delivered', delivered_at, delivered_by), ('refunded', refunded_at, NULL)
        ) AS line (account, moment, detail)
        WHERE environment = 'Production' AND moment IS NOT NULL
        GROUP BY account, 3, bundle_id, product_id, booked_currency, booked_as, detail;
    ELSE
        INSERT INTO iap.postings
        SELECT
            today, 'excluded',
            (CASE reason WHEN 'refunded' THEN refunded_at ELSE excluded_at END AT TIME ZONE 'UTC')::date, bundle_id,
            product_id, booked_currency, booked_as, reason, sign * count(*), sign * sum(quantity),
            sign * sum(booked_milliunits)
        FROM changed
        WHERE environment = 'Production'
        GROUP BY 3, bundle_id, product_id, booked_currency, booked_as, reason;
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iap.post IS 'Posts what a statement added to a table of the ledger (1), or took from it (-1).';

CREATE TRIGGER posted_new AFTER INSERT ON iap.white
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('1');
CREATE TRIGGER posted_old AFTER DELETE ON iap.white
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('-1');
CREATE TRIGGER posted_new AFTER INSERT ON iap.black
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('1');
CREATE TRIGGER posted_old AFTER DELETE ON iap.black
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('-1');
CREATE TRIGGER posted_change_new AFTER UPDATE ON iap.black
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('1');
CREATE TRIGGER posted_change_old AFTER UPDATE ON iap.black
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('-1');
CREATE TRIGGER posted_new AFTER INSERT ON iap.excluded
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('1');
CREATE TRIGGER posted_old AFTER DELETE ON iap.excluded
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('-1');
CREATE TRIGGER posted_change_new AFTER UPDATE ON iap.excluded
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('1');
CREATE TRIGGER posted_change_old AFTER UPDATE ON iap.excluded
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('-1');

CREATE FUNCTION iap.post_change_of_white() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO iap.postings
    SELECT
        (iap.present() AT TIME ZONE 'UTC')::date, 'owed', (purchased_at AT TIME ZONE 'UTC')::date, bundle_id,
        product_id, currency, price_source, NULL, sign, sign * quantity, sign * milliunits
    FROM (
        VALUES
            (-1, OLD.environment, OLD.purchased_at, OLD.bundle_id, OLD.product_id, OLD.booked_currency, OLD.booked_as,
             OLD.quantity, OLD.booked_milliunits),
            (1, NEW.environment, NEW.purchased_at, NEW.bundle_id, NEW.product_id, NEW.booked_currency, NEW.booked_as,
             NEW.quantity, NEW.booked_milliunits)
    ) AS line (
        sign, environment, purchased_at, bundle_id, product_id, currency, price_source, quantity, milliunits)
    WHERE environment = 'Production';
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iap.post_change_of_white IS
    'Posts that a white transaction is counted as something else. A row at a time: it is rare, and the nightly '
    'confirmation of all that is white shall cost nothing.';

CREATE TRIGGER posted_change AFTER UPDATE ON iap.white
    FOR EACH ROW WHEN (
        (OLD.environment, OLD.purchased_at, OLD.bundle_id, OLD.product_id, OLD.booked_currency, OLD.booked_as,
         OLD.quantity, OLD.booked_milliunits)
        IS DISTINCT FROM (
            NEW.environment, NEW.purchased_at, NEW.bundle_id, NEW.product_id, NEW.booked_currency, NEW.booked_as,
            NEW.quantity, NEW.booked_milliunits))
    EXECUTE FUNCTION iap.post_change_of_white();

CREATE FUNCTION iap.close_postings(run_id bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    closed date := (SELECT max(closed_through) FROM iap.runs);
BEGIN
    WITH taken AS (
        DELETE FROM iap.postings
        RETURNING *
    )
    INSERT INTO iap.books
    SELECT
        close_postings.run_id, greatest(booked_on, closed + 1), account, day, bundle_id, product_id, currency,
        price_source, detail, sum(transactions), sum(units), sum(milliunits)
    FROM taken
    GROUP BY 2, account, day, bundle_id, product_id, currency, price_source, detail
    HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(milliunits) <> 0;

    UPDATE iap.runs
    SET closed_through = greatest(closed, (as_of AT TIME ZONE 'UTC')::date - 1)
    WHERE run_id = close_postings.run_id;
END
$$;
COMMENT ON FUNCTION iap.close_postings IS
    'Moves what is posted into the closed journal, in the transaction in which a run closes its books, and closes the '
    'days before the run''s own for good.';

REVOKE ALL ON FUNCTION
    iap.value_purchase, iap.post, iap.post_change_of_white, iap.close_postings
    FROM PUBLIC;

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
    purchase_day,
    bundle_id,
    product_id,
    product_name,
    currency,
    price_source,
    age_days,
    finance.ageing(age_days) AS ageing,
    transactions,
    units,
    amount
FROM (
    SELECT
        (white.purchased_at AT TIME ZONE 'UTC')::date AS purchase_day,
        white.bundle_id,
        white.product_id,
        products.name AS product_name,
        white.booked_currency AS currency,
        white.booked_as AS price_source,
        greatest((now() AT TIME ZONE 'UTC')::date - (white.purchased_at AT TIME ZONE 'UTC')::date, 0) AS age_days,
        count(*) AS transactions,
        sum(white.quantity) AS units,
        (sum(white.booked_milliunits) / 1000.0)::numeric(20, 3) AS amount
    FROM iap.white
    LEFT JOIN iap.products USING (bundle_id, product_id)
    WHERE white.environment = 'Production'
    GROUP BY 1, 2, 3, 4, 5, 6, 7
) AS owed;

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
    black.booked_currency AS currency,
    black.booked_as AS price_source,
    black.delivered_by,
    count(*) AS transactions,
    sum(black.quantity) AS units,
    (sum(black.booked_milliunits) / 1000.0)::numeric(20, 3) AS amount
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
    'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';
COMMENT ON COLUMN finance.deliveries.delivered_by IS
    'claim: by the app''s server; resolved: by the support desk; import: before iap-reconcile was there.';
COMMENT ON COLUMN finance.deliveries.transactions IS 'How many purchases.';
COMMENT ON COLUMN finance.deliveries.units IS 'The sum of their quantities.';
COMMENT ON COLUMN finance.deliveries.amount IS 'In units of the currency; NULL where no price is known.';

-- Refunds ------------------------------------------------------------------------------------------------------------

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
    black.booked_currency AS currency,
    black.booked_as AS price_source,
    (black.booked_milliunits / 1000.0)::numeric(20, 3) AS amount,
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
    'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';
COMMENT ON COLUMN finance.refunds_after_delivery.amount IS 'In units of the currency; NULL where no price is known.';
COMMENT ON COLUMN finance.refunds_after_delivery.purchased_at IS 'When it was bought.';
COMMENT ON COLUMN finance.refunds_after_delivery.delivered_at IS 'When the goods were credited.';
COMMENT ON COLUMN finance.refunds_after_delivery.refunded_at IS 'When Apple refunded it.';
COMMENT ON COLUMN finance.refunds_after_delivery.refund_reason IS 'As Apple gave it; NULL if Apple gave none.';

CREATE VIEW finance.refunds_before_delivery AS
SELECT
    (excluded.refunded_at AT TIME ZONE 'UTC')::date AS refund_day,
    excluded.bundle_id,
    excluded.product_id,
    products.name AS product_name,
    excluded.transaction_id,
    excluded.quantity AS units,
    excluded.booked_currency AS currency,
    excluded.booked_as AS price_source,
    (excluded.booked_milliunits / 1000.0)::numeric(20, 3) AS amount,
    excluded.purchased_at,
    excluded.refunded_at,
    excluded.refund_reason,
    excluded.run_id IS NULL AS is_by_support
FROM iap.excluded
LEFT JOIN iap.products USING (bundle_id, product_id)
WHERE excluded.environment = 'Production' AND excluded.reason = 'refunded';

COMMENT ON VIEW finance.refunds_before_delivery IS
    'What was never delivered and is refunded: the customer has the money back, and nothing is owed.';
COMMENT ON COLUMN finance.refunds_before_delivery.refund_day IS 'The day of the refund.';
COMMENT ON COLUMN finance.refunds_before_delivery.bundle_id IS 'The app.';
COMMENT ON COLUMN finance.refunds_before_delivery.product_id IS 'The product.';
COMMENT ON COLUMN finance.refunds_before_delivery.product_name IS 'Its name; NULL if the products do not list it.';
COMMENT ON COLUMN finance.refunds_before_delivery.transaction_id IS 'Apple''s id of the purchase.';
COMMENT ON COLUMN finance.refunds_before_delivery.units IS 'The quantity.';
COMMENT ON COLUMN finance.refunds_before_delivery.currency IS 'Of the amount; NULL where no price is known.';
COMMENT ON COLUMN finance.refunds_before_delivery.price_source IS
    'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';
COMMENT ON COLUMN finance.refunds_before_delivery.amount IS 'In units of the currency; NULL where no price is known.';
COMMENT ON COLUMN finance.refunds_before_delivery.purchased_at IS 'When it was bought.';
COMMENT ON COLUMN finance.refunds_before_delivery.refunded_at IS
    'When Apple refunded it; where the support desk said so, when it did.';
COMMENT ON COLUMN finance.refunds_before_delivery.refund_reason IS 'As Apple gave it; NULL if Apple gave none.';
COMMENT ON COLUMN finance.refunds_before_delivery.is_by_support IS 'Whether it is the support desk that said so.';

CREATE VIEW finance.refunds AS
SELECT
    refund_day, bundle_id, product_id, product_name, moment AS refunded, currency, price_source,
    count(*) AS transactions, sum(units) AS units, sum(amount)::numeric(20, 3) AS amount
FROM (
    SELECT
        refund_day, bundle_id, product_id, product_name, 'before delivery' AS moment, currency, price_source, units,
        amount
    FROM finance.refunds_before_delivery
    UNION ALL
    SELECT
        refund_day, bundle_id, product_id, product_name, 'after delivery', currency, price_source, units, amount
    FROM finance.refunds_after_delivery
) AS refund
GROUP BY refund_day, bundle_id, product_id, product_name, moment, currency, price_source;

COMMENT ON VIEW finance.refunds IS 'What was refunded, by day of refund, product and currency.';
COMMENT ON COLUMN finance.refunds.refund_day IS 'The day of the refund.';
COMMENT ON COLUMN finance.refunds.bundle_id IS 'The app.';
COMMENT ON COLUMN finance.refunds.product_id IS 'The product.';
COMMENT ON COLUMN finance.refunds.product_name IS 'Its name; NULL if the products do not list it.';
COMMENT ON COLUMN finance.refunds.refunded IS 'before delivery, or after delivery.';
COMMENT ON COLUMN finance.refunds.currency IS 'Of the amount; NULL where no price is known.';
COMMENT ON COLUMN finance.refunds.price_source IS
    'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';
COMMENT ON COLUMN finance.refunds.transactions IS 'How many purchases.';
COMMENT ON COLUMN finance.refunds.units IS 'The sum of their quantities.';
COMMENT ON COLUMN finance.refunds.amount IS 'In units of the currency; NULL where no price is known.';

-- Misdeliveries ------------------------------------------------------------------------------------------------------

CREATE VIEW finance.misdeliveries AS
SELECT
    (black.delivered_at AT TIME ZONE 'UTC')::date AS delivery_day,
    black.bundle_id,
    black.product_id,
    products.name AS product_name,
    black.transaction_id,
    black.order_id,
    black.user_id AS delivered_to,
    coalesce(orders.user_id, first_upload.user_id) AS likely_bought_by,
    CASE WHEN orders.user_id IS NULL THEN 'upload' ELSE 'order' END AS evidence,
    black.quantity AS units,
    black.booked_currency AS currency,
    black.booked_as AS price_source,
    (black.booked_milliunits / 1000.0)::numeric(20, 3) AS amount,
    black.purchased_at,
    black.delivered_at,
    black.refunded_at
FROM iap.black
LEFT JOIN iap.products USING (bundle_id, product_id)
LEFT JOIN iap.orders
    ON orders.bundle_id = black.bundle_id AND orders.order_id = black.order_id AND orders.user_id <> black.user_id
LEFT JOIN LATERAL (
    SELECT user_id
    FROM iap.sightings
    WHERE sightings.transaction_id = black.transaction_id AND sightings.bundle_id = black.bundle_id
        AND sightings.environment = black.environment AND sightings.user_id IS NOT NULL
    ORDER BY is_named DESC, uploaded_at, receipt_id
    LIMIT 1
) AS first_upload ON true
WHERE black.environment = 'Production' AND black.delivered_by = 'claim'
    AND coalesce(orders.user_id, first_upload.user_id) <> black.user_id;

COMMENT ON VIEW finance.misdeliveries IS
    'What was delivered to one user although another''s order was named, or another uploaded it first: the one who '
    'paid may still want it. Ask for a span of delivered_at: then only those deliveries are looked at.';
COMMENT ON COLUMN finance.misdeliveries.delivery_day IS 'The day on which the goods were credited.';
COMMENT ON COLUMN finance.misdeliveries.bundle_id IS 'The app.';
COMMENT ON COLUMN finance.misdeliveries.product_id IS 'The product.';
COMMENT ON COLUMN finance.misdeliveries.product_name IS 'Its name; NULL if the products do not list it.';
COMMENT ON COLUMN finance.misdeliveries.transaction_id IS 'Apple''s id of the purchase.';
COMMENT ON COLUMN finance.misdeliveries.order_id IS 'The app''s own order, if one was named.';
COMMENT ON COLUMN finance.misdeliveries.delivered_to IS 'The user who got the goods.';
COMMENT ON COLUMN finance.misdeliveries.likely_bought_by IS 'The user for whom more speaks.';
COMMENT ON COLUMN finance.misdeliveries.evidence IS
    'order: the order that was named is theirs; upload: they uploaded it first.';
COMMENT ON COLUMN finance.misdeliveries.units IS 'The quantity.';
COMMENT ON COLUMN finance.misdeliveries.currency IS 'Of the amount; NULL where no price is known.';
COMMENT ON COLUMN finance.misdeliveries.price_source IS
    'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';
COMMENT ON COLUMN finance.misdeliveries.amount IS 'In units of the currency; NULL where no price is known.';
COMMENT ON COLUMN finance.misdeliveries.purchased_at IS 'When it was bought.';
COMMENT ON COLUMN finance.misdeliveries.delivered_at IS 'When the goods were credited.';
COMMENT ON COLUMN finance.misdeliveries.refunded_at IS 'When Apple refunded it; NULL if it did not.';

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
    (checked.as_of AT TIME ZONE 'UTC')::date AS day,
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
COMMENT ON COLUMN finance.control_totals.day IS 'The day of the moment that the run took for the present.';
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

CREATE VIEW finance.control_totals_by_day AS
WITH counted AS (
    SELECT
        day,
        run_id,
        bool_and(balances) AS balances,
        sum(transactions) FILTER (WHERE total = 'verified') AS received,
        sum(units) FILTER (WHERE total = 'verified') AS units,
        sum(transactions) FILTER (WHERE total IN ('newly white', 'already white')) AS white,
        sum(transactions) FILTER (WHERE total = 'newly white') AS newly_white,
        sum(transactions) FILTER (WHERE total = 'already black') AS black,
        sum(transactions) FILTER (WHERE total = 'excluded') AS excluded
    FROM finance.control_totals
    GROUP BY day, run_id
)
SELECT
    day, count(*) AS runs, sum(received)::bigint AS received, sum(units)::bigint AS units, sum(white)::bigint AS white,
    sum(newly_white)::bigint AS newly_white, sum(black)::bigint AS black, sum(excluded)::bigint AS excluded,
    (sum(received) - sum(white) - sum(black) - sum(excluded))::bigint AS difference, bool_and(balances) AS balances
FROM counted
GROUP BY day;

COMMENT ON VIEW finance.control_totals_by_day IS
    'What the runs of each day received from Apple, and where it is: received is white, black and excluded together.';
COMMENT ON COLUMN finance.control_totals_by_day.day IS 'The day of the moment that the runs took for the present.';
COMMENT ON COLUMN finance.control_totals_by_day.runs IS 'How many runs ended, well or not.';
COMMENT ON COLUMN finance.control_totals_by_day.received IS
    'Transactions that Apple vouched for in those runs; one that two runs received counts twice.';
COMMENT ON COLUMN finance.control_totals_by_day.units IS 'The sum of their quantities.';
COMMENT ON COLUMN finance.control_totals_by_day.white IS 'Of these: paid, and not claimed.';
COMMENT ON COLUMN finance.control_totals_by_day.newly_white IS 'Of the white: for the first time.';
COMMENT ON COLUMN finance.control_totals_by_day.black IS 'Of these: delivered.';
COMMENT ON COLUMN finance.control_totals_by_day.excluded IS 'Of these: not owed.';
COMMENT ON COLUMN finance.control_totals_by_day.difference IS 'Received, less white, black and excluded: 0.';
COMMENT ON COLUMN finance.control_totals_by_day.balances IS
    'Whether all totals of all those runs balance; NULL where a run did not close its books and nothing else is wrong.';

CREATE VIEW finance.differences AS
WITH nowhere AS (
    SELECT transaction_id, bundle_id, environment
    FROM iap.sightings
    WHERE first_run_id IS NOT NULL
        AND NOT EXISTS (
            SELECT FROM iap.white
            WHERE white.transaction_id = sightings.transaction_id AND white.bundle_id = sightings.bundle_id
                AND white.environment = sightings.environment)
        AND NOT EXISTS (
            SELECT FROM iap.black
            WHERE black.transaction_id = sightings.transaction_id AND black.bundle_id = sightings.bundle_id
                AND black.environment = sightings.environment)
        AND NOT EXISTS (
            SELECT FROM iap.excluded
            WHERE excluded.transaction_id = sightings.transaction_id AND excluded.bundle_id = sightings.bundle_id
                AND excluded.environment = sightings.environment)
), doubled AS (
    SELECT transaction_id, bundle_id, environment
    FROM iap.white
    JOIN iap.black USING (transaction_id, bundle_id, environment)
    UNION
    SELECT transaction_id, bundle_id, environment
    FROM iap.white
    JOIN iap.excluded USING (transaction_id, bundle_id, environment)
    UNION
    SELECT transaction_id, bundle_id, environment
    FROM iap.black
    JOIN iap.excluded USING (transaction_id, bundle_id, environment)
)
SELECT
    transaction_id,
    bundle_id,
    environment,
    difference,
    (
        SELECT min(first_run_id) FROM iap.sightings
        WHERE sightings.transaction_id = found.transaction_id AND sightings.bundle_id = found.bundle_id
            AND sightings.environment = found.environment
    ) AS run_id,
    EXISTS (
        SELECT FROM iap.white
        WHERE white.transaction_id = found.transaction_id AND white.bundle_id = found.bundle_id
            AND white.environment = found.environment) AS is_white,
    EXISTS (
        SELECT FROM iap.black
        WHERE black.transaction_id = found.transaction_id AND black.bundle_id = found.bundle_id
            AND black.environment = found.environment) AS is_black,
    EXISTS (
        SELECT FROM iap.excluded
        WHERE excluded.transaction_id = found.transaction_id AND excluded.bundle_id = found.bundle_id
            AND excluded.environment = found.environment) AS is_excluded
FROM (
    SELECT transaction_id, bundle_id, environment, 'nowhere' AS difference FROM nowhere
    UNION
    SELECT transaction_id, bundle_id, environment, 'doubled' FROM doubled
) AS found;

COMMENT ON VIEW finance.differences IS
    'Each transaction by which received is not white, black and excluded together. None, when all is well. Looks at '
    'the whole ledger, unless a transaction_id is asked for.';
COMMENT ON COLUMN finance.differences.transaction_id IS 'Apple''s id of the purchase.';
COMMENT ON COLUMN finance.differences.bundle_id IS 'The app.';
COMMENT ON COLUMN finance.differences.environment IS 'Production, or Sandbox.';
COMMENT ON COLUMN finance.differences.difference IS
    'nowhere: a run received it, and it is in none of the three; doubled: it is in more than one.';
COMMENT ON COLUMN finance.differences.run_id IS 'The run that received it first; NULL if none did.';
COMMENT ON COLUMN finance.differences.is_white IS 'Whether it is in white.';
COMMENT ON COLUMN finance.differences.is_black IS 'Whether it is in black.';
COMMENT ON COLUMN finance.differences.is_excluded IS 'Whether it is excluded.';

-- The journal, and what was known on a day --------------------------------------------------------------------------

CREATE VIEW finance.closings AS
SELECT run_id, as_of, closed_through
FROM iap.runs
WHERE closed_through IS NOT NULL;

COMMENT ON VIEW finance.closings IS 'The runs that closed their books, and the days that are closed since.';
COMMENT ON COLUMN finance.closings.run_id IS 'The run.';
COMMENT ON COLUMN finance.closings.as_of IS 'The moment that it took for the present.';
COMMENT ON COLUMN finance.closings.closed_through IS
    'The last day that is closed for good: what turns up for it later is booked on a later day.';

CREATE VIEW finance.journal AS
SELECT
    booked_on, run_id, account, day, bundle_id, product_id, currency, price_source, detail, transactions, units,
    (milliunits / 1000.0)::numeric(20, 3) AS amount
FROM iap.books;

COMMENT ON VIEW finance.journal IS
    'What entered (above zero) and left (below zero) each account, by the day on which it was booked. Rows are added '
    'when a run closes its books, and never changed: up to any day that is closed, an account''s sum is its balance.';
COMMENT ON COLUMN finance.journal.booked_on IS
    'The day on which it happened, or the first day that was still open when it turned up.';
COMMENT ON COLUMN finance.journal.run_id IS 'The run that closed its books over it.';
COMMENT ON COLUMN finance.journal.account IS
    'owed: paid and not claimed; delivered; excluded: not owed; refunded: delivered, and refunded since.';
COMMENT ON COLUMN finance.journal.day IS
    'owed: of the purchase; delivered: of the delivery; excluded: of the exclusion or the refund; refunded: of the '
    'refund.';
COMMENT ON COLUMN finance.journal.bundle_id IS 'The app.';
COMMENT ON COLUMN finance.journal.product_id IS 'The product.';
COMMENT ON COLUMN finance.journal.currency IS 'Of the amount; NULL where no price is known.';
COMMENT ON COLUMN finance.journal.price_source IS
    'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';
COMMENT ON COLUMN finance.journal.detail IS
    'delivered: claim, resolved or import; excluded: the reason; else NULL.';
COMMENT ON COLUMN finance.journal.transactions IS 'How many purchases.';
COMMENT ON COLUMN finance.journal.units IS 'The sum of their quantities.';
COMMENT ON COLUMN finance.journal.amount IS 'In units of the currency; NULL where no price is known.';

CREATE VIEW finance.unexplained AS
WITH posted AS (
    SELECT account, bundle_id, product_id, currency, transactions, units, milliunits FROM iap.books
    UNION ALL
    SELECT account, bundle_id, product_id, currency, transactions, units, milliunits FROM iap.postings
), held AS (
    SELECT 'owed' AS account, bundle_id, product_id, booked_currency AS currency, quantity, booked_milliunits
    FROM iap.white
    WHERE environment = 'Production'
    UNION ALL
    SELECT account, bundle_id, product_id, booked_currency, quantity, booked_milliunits
    FROM iap.black
    CROSS JOIN LATERAL (VALUES ('delivered', delivered_at), ('refunded', refunded_at)) AS line (account, moment)
    WHERE environment = 'Production' AND moment IS NOT NULL
    UNION ALL
    SELECT 'excluded', bundle_id, product_id, booked_currency, quantity, booked_milliunits
    FROM iap.excluded
    WHERE environment = 'Production'
)
SELECT
    account, bundle_id, product_id, currency, sum(transactions)::bigint AS transactions, sum(units)::bigint AS units,
    (sum(milliunits) / 1000.0)::numeric(20, 3) AS amount
FROM (
    SELECT account, bundle_id, product_id, currency, 1 AS transactions, quantity AS units,
        coalesce(booked_milliunits, 0) AS milliunits
    FROM held
    UNION ALL
    SELECT account, bundle_id, product_id, currency, -transactions, -units, -coalesce(milliunits, 0)
    FROM posted
) AS line
GROUP BY account, bundle_id, product_id, currency
HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(milliunits) <> 0;

COMMENT ON VIEW finance.unexplained IS
    'What the tables hold beyond what the journal and the postings since say. Nothing, when all is well. Looks at the '
    'whole ledger.';
COMMENT ON COLUMN finance.unexplained.account IS 'As in the journal.';
COMMENT ON COLUMN finance.unexplained.bundle_id IS 'The app.';
COMMENT ON COLUMN finance.unexplained.product_id IS 'The product.';
COMMENT ON COLUMN finance.unexplained.currency IS 'Of the amount; NULL where no price is known.';
COMMENT ON COLUMN finance.unexplained.transactions IS 'How many purchases more are in the table.';
COMMENT ON COLUMN finance.unexplained.units IS 'How many units more.';
COMMENT ON COLUMN finance.unexplained.amount IS 'How much more, in units of the currency.';

CREATE FUNCTION finance.closed(day date) RETURNS date
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last date := (SELECT max(closed_through) FROM finance.closings);
BEGIN
    IF day IS NULL THEN
        RAISE EXCEPTION 'as of which day?' USING ERRCODE = 'invalid_parameter_value';
    ELSIF last IS NULL OR day > last THEN
        RAISE EXCEPTION '% is not closed yet', day USING
            ERRCODE = 'object_not_in_prerequisite_state',
            HINT = CASE
                WHEN last IS NULL THEN 'No run has closed its books yet.'
                ELSE format('The last day that is closed is %s; a day is closed by the first run after it.', last)
            END;
    END IF;
    RETURN day;
END
$$;
COMMENT ON FUNCTION finance.closed IS
    'The day itself if it is closed for good; else an error (55000): its answer could still change.';

CREATE FUNCTION finance.unclaimed_liability_as_of(as_of date)
RETURNS TABLE (
    purchase_day date, bundle_id text, product_id text, currency text, price_source text, age_days integer,
    ageing text, transactions bigint, units bigint, amount numeric
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        day, bundle_id, product_id, currency, price_source, greatest(closed - day, 0),
        finance.ageing(greatest(closed - day, 0)), sum(transactions)::bigint, sum(units)::bigint,
        sum(amount)::numeric(20, 3)
    FROM finance.closed(as_of) AS closed
    JOIN finance.journal ON booked_on <= closed
    WHERE account = 'owed'
    GROUP BY day, bundle_id, product_id, currency, price_source, closed
    HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(amount) <> 0
    ORDER BY day, bundle_id, product_id, currency, price_source
$$;
COMMENT ON FUNCTION finance.unclaimed_liability_as_of IS
    'finance.unclaimed_liability as it was known at the end of a day that is closed: the same answer for ever.';

CREATE FUNCTION finance.deliveries_as_of(as_of date)
RETURNS TABLE (
    delivery_day date, bundle_id text, product_id text, currency text, price_source text, delivered_by text,
    transactions bigint, units bigint, amount numeric
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        day, bundle_id, product_id, currency, price_source, detail, sum(transactions)::bigint, sum(units)::bigint,
        sum(amount)::numeric(20, 3)
    FROM finance.closed(as_of) AS closed
    JOIN finance.journal ON booked_on <= closed
    WHERE account = 'delivered'
    GROUP BY day, bundle_id, product_id, currency, price_source, detail
    HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(amount) <> 0
    ORDER BY day, bundle_id, product_id, currency, price_source, detail
$$;
COMMENT ON FUNCTION finance.deliveries_as_of IS
    'finance.deliveries as they were known at the end of a day that is closed: the same answer for ever.';

CREATE FUNCTION finance.refunds_as_of(as_of date)
RETURNS TABLE (
    refund_day date, bundle_id text, product_id text, refunded text, currency text, price_source text,
    transactions bigint, units bigint, amount numeric
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        day, bundle_id, product_id, CASE account WHEN 'refunded' THEN 'after delivery' ELSE 'before delivery' END,
        currency, price_source, sum(transactions)::bigint, sum(units)::bigint, sum(amount)::numeric(20, 3)
    FROM finance.closed(as_of) AS closed
    JOIN finance.journal ON booked_on <= closed
    WHERE account = 'refunded' OR (account = 'excluded' AND detail = 'refunded')
    GROUP BY day, bundle_id, product_id, account, currency, price_source
    HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(amount) <> 0
    ORDER BY day, bundle_id, product_id, account, currency, price_source
$$;
COMMENT ON FUNCTION finance.refunds_as_of IS
    'finance.refunds as they were known at the end of a day that is closed: the same answer for ever.';

CREATE FUNCTION finance.balances_as_of(as_of date)
RETURNS TABLE (
    bundle_id text, currency text, received bigint, owed bigint, delivered bigint, excluded bigint,
    refunded_after_delivery bigint, owed_amount numeric, delivered_amount numeric,
    refunded_after_delivery_amount numeric
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        bundle_id, currency,
        coalesce(sum(transactions) FILTER (WHERE account IN ('owed', 'delivered', 'excluded')), 0)::bigint,
        coalesce(sum(transactions) FILTER (WHERE account = 'owed'), 0)::bigint,
        coalesce(sum(transactions) FILTER (WHERE account = 'delivered'), 0)::bigint,
        coalesce(sum(transactions) FILTER (WHERE account = 'excluded'), 0)::bigint,
        coalesce(sum(transactions) FILTER (WHERE account = 'refunded'), 0)::bigint,
        coalesce(sum(amount) FILTER (WHERE account = 'owed'), 0)::numeric(20, 3),
        coalesce(sum(amount) FILTER (WHERE account = 'delivered'), 0)::numeric(20, 3),
        coalesce(sum(amount) FILTER (WHERE account = 'refunded'), 0)::numeric(20, 3)
    FROM finance.closed(as_of) AS closed
    JOIN finance.journal ON booked_on <= closed
    GROUP BY bundle_id, currency
    ORDER BY bundle_id, currency
$$;
COMMENT ON FUNCTION finance.balances_as_of IS
    'Each app''s accounts at the end of a day that is closed, by currency: all that was ever received is owed, '
    'delivered or excluded. The same answer for ever.';

REVOKE ALL ON SCHEMA finance FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA finance FROM PUBLIC;
