-- What a person decides in the report's spreadsheet, taken back line by line; and finance's statement of a month.

-- Decisions -----------------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.case_mark(
    opened_run_id bigint, opened_at timestamptz, move_id bigint, product_id text, quantity integer,
    owner_user_ids text[], periods text[]
) RETURNS text
LANGUAGE sql STABLE
-- Of a body in this form a query of a hundred thousand cases makes no call each.
RETURN left(encode(sha256(convert_to(jsonb_build_array($1, extract(epoch FROM $2))::text, 'UTF8')), 'hex'), 8)
    || '-' || left(
        encode(
            sha256(convert_to(jsonb_build_array($1, extract(epoch FROM $2), $3, $4, $5, $6, $7)::text, 'UTF8')), 'hex'),
        8);
COMMENT ON FUNCTION iap.case_mark IS
    'A short mark of a case as a report shows it: of its opening, and of what a decision rests on, which is its '
    'transaction''s latest move, what was bought, its owners and its periods.';

CREATE FUNCTION iap.decide(
    transaction_id text, bundle_id text, environment text, mark text, how text, who text, note text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    t       iap.transactions;
    found   iap.cases;
    present text;
    outcome text;
    period  text;
BEGIN
    PERFORM iap.require_id('transaction_id', decide.transaction_id, 64);
    PERFORM iap.require_id('bundle_id', decide.bundle_id, 255);
    PERFORM iap.require_text('who', decide.who, 1000);
    PERFORM iap.require_text('note', decide.note, 10000);
    IF decide.how IS NULL OR decide.how NOT IN ('delivered', 'deliver', 'dismissed', 'refunded') THEN
        RAISE EXCEPTION 'a decision is “delivered”, “deliver”, “dismissed” or “refunded”'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    t := iap.locked(decide.bundle_id, decide.environment, decide.transaction_id);
    outcome := iap.standing(t);
    IF outcome <> 'white' THEN
        RETURN CASE
            WHEN t.transaction_id IS NULL THEN 'another_report'
            WHEN decide.how = 'delivered' AND t.delivered_by = 'resolved' THEN 'already'
            WHEN decide.how = 'deliver' AND t.place = 'black' AND iap.redelivery_of(t) IN ('under way', 'redelivered')
            THEN 'already'
            WHEN decide.how = 'refunded' AND t.reason = 'refunded' THEN 'already'
            WHEN decide.how = 'dismissed' AND t.reason = 'dismissed' THEN 'already'
            ELSE outcome
        END;
    END IF;

    SELECT * INTO found
    FROM iap.cases
    WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment;
    IF found.transaction_id IS NULL THEN
        RETURN 'another_report';
    END IF;
    present := iap.case_mark(
        found.opened_run_id, found.opened_at, t.move_id, t.product_id, t.quantity, found.owner_user_ids, found.periods);
    IF split_part(present, '-', 1) IS DISTINCT FROM split_part(decide.mark, '-', 1) THEN
        RETURN 'another_report';
    ELSIF found.state <> 'open' OR present <> decide.mark THEN
        RETURN 'changed_since';
    END IF;

    IF decide.how = 'deliver' THEN
        IF iap.redelivery_of(t) = 'under way' THEN
            RETURN 'already';
        END IF;
        outcome := iap.redeliver(t.transaction_id, decide.who, decide.note, t.bundle_id, t.environment);
        RETURN CASE outcome WHEN 'redelivery' THEN decide.how ELSE outcome END;
    END IF;
    outcome := iap.resolve(
        t.transaction_id, decide.how, decide.who, decide.note, t.bundle_id, t.environment);
    IF outcome = decide.how THEN
        -- A subscription's case ends with all the periods that it tells of.
        FOREACH period IN ARRAY found.periods LOOP
            IF period <> t.transaction_id THEN
                PERFORM iap.resolve(period, decide.how, decide.who, decide.note, t.bundle_id, t.environment);
            END IF;
        END LOOP;
    END IF;
    RETURN outcome;
END
$$;
COMMENT ON FUNCTION iap.decide IS
    'Ends a case on a decision that was taken before a report, if the case is still as the report''s mark says: how, '
    'delivered, dismissed or refunded; with deliver it orders the redelivery. Where the desk has decided so already: '
    'already. Otherwise it changes nothing and says why: another_report, where the mark is of no case here; '
    'changed_since, where other evidence came since; already_delivered, excluded, and what else iap.resolve and '
    'iap.redeliver refuse.';

REVOKE ALL ON FUNCTION iap.case_mark, iap.decide FROM PUBLIC;

-- The statement -------------------------------------------------------------------------------------------------------

CREATE INDEX transactions_by_first_seen ON iap.transactions USING brin (first_seen_at);

-- As it was, but that purchases are added up before they are compared: of a month with a million it takes a third of the
-- time.
CREATE OR REPLACE VIEW iap.sold_against_seen AS
WITH seen AS NOT MATERIALIZED (
    SELECT bundle_id, product_id, storefront, quantity, purchased_at, refunded_at
    FROM iap.transactions
    LEFT JOIN iap.products USING (bundle_id, product_id)
    WHERE environment = 'Production'
        AND coalesce(reason, '')
            NOT IN ('sandbox', 'foreign_bundle', 'family_shared', 'invalid_quantity', 'restored')
        -- A restored purchase was sold when it was first made.
        AND (
            transaction_id = original_transaction_id
            OR coalesce(product_type, products.type, '') <> 'non_consumable')
), counted AS (
    SELECT
        sales_reports.day, sales.bundle_id, sales.product_id, sales.storefront, sales.currency,
        CASE WHEN units > 0 THEN units ELSE 0 END AS sold, 0 AS seen,
        CASE WHEN units < 0 THEN -units ELSE 0 END AS refunds_sold, 0 AS refunds_seen,
        CASE WHEN units > 0 THEN units * price_milliunits ELSE 0 END AS milliunits
    FROM iap.sales
    JOIN iap.sales_reports USING (report_id)
    WHERE sales_reports.replaced_at IS NULL
    UNION ALL
    SELECT
        (purchased_at AT TIME ZONE 'America/Los_Angeles')::date, bundle_id, product_id, storefront, NULL, 0,
        sum(quantity), 0, 0, 0
    FROM seen
    GROUP BY 1, 2, 3, 4
    UNION ALL
    SELECT
        (refunded_at AT TIME ZONE 'America/Los_Angeles')::date, bundle_id, product_id, storefront, NULL, 0, 0, 0,
        sum(quantity), 0
    FROM seen
    WHERE refunded_at IS NOT NULL
    GROUP BY 1, 2, 3, 4
), placed AS (
    SELECT
        *, bool_and(storefront IS NOT NULL) OVER (PARTITION BY day, bundle_id, product_id) AS is_placed
    FROM counted
), told AS (
    SELECT DISTINCT developer, unnest(bundle_ids) AS bundle_id
    FROM iap.sales_reports
    WHERE replaced_at IS NULL
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
        WHEN min(placed.currency) = max(placed.currency) AND bool_and(placed.milliunits IS NOT NULL)
        THEN min(placed.currency)
    END AS currency,
    CASE
        WHEN min(placed.currency) = max(placed.currency) AND bool_and(placed.milliunits IS NOT NULL)
        THEN sum(placed.milliunits)::bigint
    END AS milliunits_sold
FROM placed
-- The days of which a report was read, for the apps that the account's reports tell of.
JOIN (
    SELECT DISTINCT sales_reports.day, told.bundle_id
    FROM iap.sales_reports
    JOIN told USING (developer)
    WHERE sales_reports.replaced_at IS NULL
) AS compared ON compared.day = placed.day AND compared.bundle_id = placed.bundle_id
GROUP BY placed.day, placed.bundle_id, placed.product_id, placed.is_placed, 5;

CREATE VIEW finance.redeliveries AS
SELECT
    transaction_id, bundle_id, product_id, booked_currency AS currency,
    greatest(
        (delivered_at AT TIME ZONE 'UTC')::date,
        (SELECT max(closed_through) + 1 FROM finance.closings WHERE run_id < told_run_id)) AS booked_on
FROM iap.redeliveries
JOIN iap.transactions USING (transaction_id, bundle_id, environment)
WHERE ended_as = 'redelivered' AND told_run_id IS NOT NULL AND environment = 'Production';
COMMENT ON VIEW finance.redeliveries IS 'What the apps'' servers delivered without the customers, once a run has told of it.';
COMMENT ON COLUMN finance.redeliveries.transaction_id IS 'Apple''s id of the purchase.';
COMMENT ON COLUMN finance.redeliveries.bundle_id IS 'The app.';
COMMENT ON COLUMN finance.redeliveries.product_id IS 'The product.';
COMMENT ON COLUMN finance.redeliveries.currency IS 'Of its price.';
COMMENT ON COLUMN finance.redeliveries.booked_on IS
    'The day of its delivery, or the first day that was not closed yet when a run told of it.';

CREATE FUNCTION finance.statement(first date, through date)
RETURNS TABLE (
    bundle_id text, product_id text, currency text, opening bigint, opening_amount numeric, entered bigint,
    entered_amount numeric, delivered bigint, delivered_amount numeric, by_support bigint, redelivered bigint, refunded bigint,
    refunded_amount numeric, dropped bigint, dropped_amount numeric, closing bigint, closing_amount numeric,
    refunded_after bigint, refunded_after_amount numeric, reversed bigint, reversed_amount numeric
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        journal.bundle_id, journal.product_id, journal.currency,
        coalesce(sum(transactions) FILTER (WHERE account = 'owed' AND is_before), 0)::bigint,
        coalesce(sum(amount) FILTER (WHERE account = 'owed' AND is_before), 0)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (WHERE account <> 'refunded' AND NOT is_before), 0)::bigint,
        coalesce(sum(amount) FILTER (WHERE account <> 'refunded' AND NOT is_before), 0)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (WHERE account = 'delivered' AND NOT is_before), 0)::bigint,
        coalesce(sum(amount) FILTER (WHERE account = 'delivered' AND NOT is_before), 0)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (
            WHERE account = 'delivered' AND detail = 'resolved' AND NOT is_before), 0)::bigint,
        (
            SELECT count(*)
            FROM finance.redeliveries AS done
            WHERE done.bundle_id = journal.bundle_id AND done.product_id = journal.product_id
                AND done.currency IS NOT DISTINCT FROM journal.currency AND done.booked_on BETWEEN first AND through),
        coalesce(sum(transactions) FILTER (
            WHERE account = 'excluded' AND detail = 'refunded' AND NOT is_before), 0)::bigint,
        coalesce(sum(amount) FILTER (
            WHERE account = 'excluded' AND detail = 'refunded' AND NOT is_before), 0)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (
            WHERE account = 'excluded' AND detail <> 'refunded' AND NOT is_before), 0)::bigint,
        coalesce(sum(amount) FILTER (
            WHERE account = 'excluded' AND detail <> 'refunded' AND NOT is_before), 0)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (WHERE account = 'owed'), 0)::bigint,
        coalesce(sum(amount) FILTER (WHERE account = 'owed'), 0)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (
            WHERE account = 'refunded' AND transactions > 0 AND NOT is_before), 0)::bigint,
        coalesce(sum(amount) FILTER (
            WHERE account = 'refunded' AND transactions >= 0 AND NOT is_before), 0)::numeric(20, 3),
        coalesce(-sum(transactions) FILTER (
            WHERE account = 'refunded' AND transactions < 0 AND NOT is_before), 0)::bigint,
        coalesce(-sum(amount) FILTER (
            WHERE account = 'refunded' AND transactions < 0 AND NOT is_before), 0)::numeric(20, 3)
    FROM finance.closed(through) AS closed
    JOIN finance.journal ON booked_on <= closed
    CROSS JOIN LATERAL (SELECT booked_on < first AS is_before) AS span
    GROUP BY journal.bundle_id, journal.product_id, journal.currency
    HAVING bool_or(NOT is_before) OR sum(transactions) FILTER (WHERE account = 'owed') <> 0
        OR sum(amount) FILTER (WHERE account = 'owed') <> 0
    ORDER BY journal.bundle_id, journal.product_id, journal.currency
$$;
COMMENT ON FUNCTION finance.statement IS
    'What was booked from a first day through a last that is closed, by app, product and currency. Closing is opening and '
    'entered, less delivered, refunded and dropped. The same answer for ever.';

CREATE VIEW finance.proceeds AS
SELECT
    day, bundle_id, product_id, sales.storefront, sales.units, sales.proceeds_currency AS currency,
    (sales.units * sales.proceeds_milliunits / 1000.0)::numeric(20, 3) AS amount
FROM iap.sales
JOIN iap.sales_reports USING (report_id)
WHERE replaced_at IS NULL;
COMMENT ON VIEW finance.proceeds IS 'What Apple''s sales reports say of units and of the developer''s part.';
COMMENT ON COLUMN finance.proceeds.day IS 'A day of Pacific Time.';
COMMENT ON COLUMN finance.proceeds.storefront IS 'The country.';
COMMENT ON COLUMN finance.proceeds.units IS 'Negative for refunds.';
COMMENT ON COLUMN finance.proceeds.amount IS
    'The developer''s part of all the units, negative for refunds; NULL where the report does not say.';

CREATE FUNCTION finance.statement_sales(first date, through date)
RETURNS TABLE (
    bundle_id text, product_id text, days bigint, units_sold bigint, units_seen bigint, difference bigint,
    refunds_sold bigint, refunds_seen bigint, refund_difference bigint, currency text, proceeds numeric
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        compared.*, paid.currency, paid.proceeds
    FROM (
        SELECT
            bundle_id, product_id, count(DISTINCT day), sum(units_sold)::bigint, sum(units_seen)::bigint,
            sum(difference)::bigint, sum(refunds_sold)::bigint, sum(refunds_seen)::bigint,
            sum(refund_difference)::bigint
        FROM finance.sold_against_seen
        WHERE day BETWEEN first AND through
        GROUP BY bundle_id, product_id
    ) AS compared
    LEFT JOIN (
        SELECT bundle_id, product_id, currency, sum(amount)::numeric(20, 3) AS proceeds
        FROM finance.proceeds
        WHERE day BETWEEN first AND through
        GROUP BY bundle_id, product_id, currency
    ) AS paid USING (bundle_id, product_id)
    ORDER BY bundle_id, product_id, currency
$$;
COMMENT ON FUNCTION finance.statement_sales IS
    'What Apple''s reports say was sold from a first day of Pacific Time through a last, what the tables saw of it, and the '
    'proceeds: a row for each currency of theirs. Only days whose report was read.';

CREATE VIEW finance.purchases AS
SELECT
    transaction_id, bundle_id, product_id, quantity AS units, booked_currency AS currency,
    (booked_milliunits / 1000.0)::numeric(20, 3) AS amount, place, coalesce(reason, delivered_by) AS detail, storefront,
    purchased_at, first_seen_at
FROM iap.transactions
WHERE environment = 'Production';
COMMENT ON VIEW finance.purchases IS 'Each purchase that counts, where it is, when it was bought and when it entered.';
COMMENT ON COLUMN finance.purchases.place IS 'white: owed; black: delivered; excluded: not owed.';
COMMENT ON COLUMN finance.purchases.detail IS 'How it was delivered, or why it is excluded; else NULL.';
COMMENT ON COLUMN finance.purchases.storefront IS 'The country; NULL where Apple did not tell.';
COMMENT ON COLUMN finance.purchases.first_seen_at IS 'When it entered the ledger.';

CREATE FUNCTION finance.statement_differences(first date, through date)
RETURNS TABLE (
    difference text, day date, bundle_id text, product_id text, storefront text, transaction_id text, units bigint,
    currency text, amount numeric, purchased_at timestamptz, first_seen_at timestamptz
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH compared AS MATERIALIZED (
        SELECT day, bundle_id, product_id, storefront, difference
        FROM finance.sold_against_seen
        WHERE day BETWEEN first AND through AND difference <> 0
    )
    SELECT
        'booked in another month', (purchased_at AT TIME ZONE 'America/Los_Angeles')::date, bundle_id, product_id,
        storefront, transaction_id, units, currency, amount, purchased_at, first_seen_at
    FROM finance.purchases
    WHERE (purchased_at AT TIME ZONE 'America/Los_Angeles')::date BETWEEN first AND through
        AND (first_seen_at < first::timestamp AT TIME ZONE 'UTC'
            OR first_seen_at >= (through + 1)::timestamp AT TIME ZONE 'UTC')
    UNION ALL
    SELECT
        'bought in another month', (purchased_at AT TIME ZONE 'America/Los_Angeles')::date, bundle_id, product_id,
        storefront, transaction_id, units, currency, amount, purchased_at, first_seen_at
    FROM finance.purchases
    WHERE first_seen_at >= first::timestamp AT TIME ZONE 'UTC'
        AND first_seen_at < (through + 1)::timestamp AT TIME ZONE 'UTC'
        AND (purchased_at AT TIME ZONE 'America/Los_Angeles')::date NOT BETWEEN first AND through
    UNION ALL
    SELECT
        'sold and never seen', day, bundle_id, product_id, storefront, NULL, difference, NULL, NULL, NULL, NULL
    FROM compared
    WHERE difference > 0
    UNION ALL
    SELECT
        'seen, and more than sold', more.day, bundle_id, product_id, bought.storefront, transaction_id, units,
        bought.currency, amount, purchased_at, first_seen_at
    FROM compared AS more
    JOIN finance.purchases AS bought USING (bundle_id, product_id)
    WHERE more.difference < 0
        AND (purchased_at AT TIME ZONE 'America/Los_Angeles')::date BETWEEN first AND through
        AND (purchased_at AT TIME ZONE 'America/Los_Angeles')::date = more.day
        AND (more.storefront IS NULL OR more.storefront = bought.storefront)
    ORDER BY 1, 2, 3, 4, 5, 6
$$;
COMMENT ON FUNCTION finance.statement_differences IS
    'By which purchases what was booked, what was bought and what Apple sold differ, from a first day through a last: those '
    'that were bought in the span and entered outside of it; the other way round; units that Apple sold and nothing ever '
    'told of; and each purchase of a day, product and country of which the tables hold more than Apple sold.';

REVOKE ALL ON FUNCTION finance.statement, finance.statement_sales, finance.statement_differences FROM PUBLIC;
COMMENT ON COLUMN finance.proceeds.bundle_id IS 'The app.';
COMMENT ON COLUMN finance.proceeds.product_id IS 'The product.';
COMMENT ON COLUMN finance.proceeds.currency IS 'Of the amount.';
COMMENT ON COLUMN finance.purchases.transaction_id IS 'Apple''s id of the purchase.';
COMMENT ON COLUMN finance.purchases.bundle_id IS 'The app.';
COMMENT ON COLUMN finance.purchases.product_id IS 'The product.';
COMMENT ON COLUMN finance.purchases.units IS 'The quantity.';
COMMENT ON COLUMN finance.purchases.currency IS 'Of the amount; NULL where no price is known.';
COMMENT ON COLUMN finance.purchases.amount IS 'In units of the currency; NULL where no price is known.';
COMMENT ON COLUMN finance.purchases.purchased_at IS 'When it was bought.';

-- Orders that die -----------------------------------------------------------------------------------------------------

CREATE INDEX orders_by_age ON iap.orders USING brin (created_at);

CREATE TABLE iap.purged_orders (
    opened_on  date NOT NULL,
    bundle_id  text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    orders     bigint NOT NULL CHECK (orders > 0),
    PRIMARY KEY (bundle_id, product_id, opened_on)
);
COMMENT ON TABLE iap.purged_orders IS
    'How many orders were opened, never paid and taken away, by the day on which they were opened.';
COMMENT ON COLUMN iap.purged_orders.opened_on IS 'A day of UTC.';

CREATE VIEW iap.unpaid_orders AS
SELECT bundle_id, order_id, user_id, product_id, created_at
FROM iap.orders
WHERE NOT EXISTS (
        SELECT FROM iap.uploads
        WHERE uploads.order_id = orders.order_id)
    AND NOT EXISTS (
        SELECT FROM iap.claims
        WHERE claims.order_id = orders.order_id AND claims.bundle_id = orders.bundle_id)
    AND NOT EXISTS (
        SELECT FROM iap.transactions
        WHERE transactions.order_id = orders.order_id AND transactions.bundle_id = orders.bundle_id)
    AND NOT EXISTS (
        SELECT FROM iap.transactions
        WHERE transactions.user_id = orders.user_id AND transactions.bundle_id = orders.bundle_id
            AND transactions.product_id = orders.product_id
            AND transactions.purchased_at BETWEEN orders.created_at - interval '30 days'
                AND orders.created_at + interval '30 days')
    AND NOT EXISTS (
        SELECT FROM iap.cases
        WHERE cases.state = 'open' AND cases.bundle_id = orders.bundle_id
            AND cases.order_ids @> ARRAY[orders.order_id])
    AND NOT EXISTS (
        SELECT FROM iap.cases
        WHERE cases.state = 'open' AND cases.bundle_id = orders.bundle_id
            AND cases.owner_user_ids @> ARRAY[orders.user_id])
    AND NOT EXISTS (
        SELECT FROM iap.receipts
        WHERE receipts.user_id = orders.user_id AND receipts.bundle_id = orders.bundle_id
            AND receipts.next_attempt_at IS NOT NULL);
COMMENT ON VIEW iap.unpaid_orders IS
    'Orders that were opened and, as far as anything tells, never paid: no upload, claim or delivery names them, their user '
    'got none of the product within 30 days, and nothing of their user is open. Ask for a span of created_at.';

CREATE FUNCTION iap.purge_orders(since timestamptz, before timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    purged bigint;
BEGIN
    WITH gone AS (
        DELETE FROM iap.orders
        WHERE (bundle_id, order_id) IN (
            SELECT bundle_id, order_id
            FROM iap.unpaid_orders
            WHERE created_at >= since AND created_at < before
            LIMIT most)
        RETURNING bundle_id, product_id, (created_at AT TIME ZONE 'UTC')::date AS opened_on
    ), counted AS (
        INSERT INTO iap.purged_orders AS known (opened_on, bundle_id, product_id, orders)
        SELECT opened_on, bundle_id, product_id, count(*)
        FROM gone
        GROUP BY opened_on, bundle_id, product_id
        ORDER BY bundle_id, product_id, opened_on
        ON CONFLICT (bundle_id, product_id, opened_on) DO UPDATE SET orders = known.orders + EXCLUDED.orders
    )
    SELECT count(*) INTO purged FROM gone;
    RETURN purged;
END
$$;
COMMENT ON FUNCTION iap.purge_orders IS
    'Takes away orders that were opened from a moment until before another and never paid, so many at most, and counts them '
    'in iap.purged_orders. Gives how many. What an open case or evidence rests on stays.';

CREATE FUNCTION iap.count_unpaid_orders(before timestamptz, OUT orders bigint, OUT oldest timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT count(*), min(created_at) FROM iap.unpaid_orders WHERE created_at < before
$$;
COMMENT ON FUNCTION iap.count_unpaid_orders IS
    'How many orders a purge would take away, and when the oldest of them was opened.';

CREATE VIEW finance.unpaid_orders AS
SELECT
    day, bundle_id, product_id, products.name AS product_name, sum(counted.orders)::bigint AS orders,
    sum(counted.purged)::bigint AS purged
FROM (
    SELECT (created_at AT TIME ZONE 'UTC')::date AS day, bundle_id, product_id, 1 AS orders, 0 AS purged
    FROM iap.unpaid_orders
    UNION ALL
    SELECT opened_on, bundle_id, product_id, orders, orders
    FROM iap.purged_orders
) AS counted
LEFT JOIN iap.products USING (bundle_id, product_id)
GROUP BY day, bundle_id, product_id, products.name;
COMMENT ON VIEW finance.unpaid_orders IS
    'Orders that were opened and never paid, by the day on which they were opened. Ask for a span of days.';
COMMENT ON COLUMN finance.unpaid_orders.day IS 'The day on which they were opened.';
COMMENT ON COLUMN finance.unpaid_orders.bundle_id IS 'The app.';
COMMENT ON COLUMN finance.unpaid_orders.product_id IS 'The product.';
COMMENT ON COLUMN finance.unpaid_orders.product_name IS 'Its name; NULL if the products do not list it.';
COMMENT ON COLUMN finance.unpaid_orders.orders IS 'How many, whether they are still there or not.';
COMMENT ON COLUMN finance.unpaid_orders.purged IS 'Of these: taken away after their time.';

REVOKE ALL ON FUNCTION iap.purge_orders, iap.count_unpaid_orders FROM PUBLIC;
