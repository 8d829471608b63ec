-- Finance's statement of a month.

CREATE VIEW finance.redeliveries AS
SELECT
    moves.transaction_id, moves.bundle_id, moves.to_product_id AS product_id, moves.to_currency AS currency,
    -- As the journal has its delivery: by the move, which is never before the one before.
    iap.booked_on((moves.moved_at AT TIME ZONE 'UTC')::date, told.as_of, told.closed_before) AS booked_on
FROM iap.events
JOIN iap.moves ON moves.move_id = (events.details ->> 'move_id')::bigint
LEFT JOIN (
    -- Reckoned once for each run, not for each redelivery.
    SELECT
        run_id, as_of,
        max(closed_through) OVER (ORDER BY run_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS closed_before
    FROM iap.runs
) AS told ON told.run_id = events.run_id
WHERE events.kind = 'redelivered' AND moves.environment = 'Production';
COMMENT ON VIEW finance.redeliveries IS
    'What the apps'' servers delivered without the customers, once a run has told of it.';
COMMENT ON COLUMN finance.redeliveries.product_id IS 'The product, as it was known when it was delivered.';
COMMENT ON COLUMN finance.redeliveries.currency IS 'Of its price, as it was known when it was delivered.';
COMMENT ON COLUMN finance.redeliveries.booked_on IS
    'The day of its delivery, or the first day that was not closed yet when a run told of it.';

CREATE FUNCTION finance.statement(first date, through date)
RETURNS TABLE (
    bundle_id text, product_id text, currency text, opening bigint, opening_amount numeric, entered bigint,
    entered_amount numeric, delivered bigint, delivered_amount numeric, by_support bigint, redelivered bigint,
    refunded bigint,
    refunded_amount numeric, dropped bigint, dropped_amount numeric, closing bigint, closing_amount numeric,
    refunded_after bigint, refunded_after_amount numeric, reversed bigint, reversed_amount numeric
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    -- Once for all products: they are found by reading all that there ever were.
    WITH done AS MATERIALIZED (
        SELECT bundle_id, product_id, currency, count(*) AS transactions
        FROM finance.redeliveries
        WHERE booked_on BETWEEN first AND through
        GROUP BY bundle_id, product_id, currency
    )
    SELECT
        journal.bundle_id, journal.product_id, journal.currency,
        coalesce(sum(transactions) FILTER (WHERE account = 'owed' AND is_before), 0)::bigint,
        coalesce(sum(money) FILTER (WHERE account = 'owed' AND is_before), nothing)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (WHERE account <> 'refunded' AND NOT is_before), 0)::bigint,
        coalesce(sum(money) FILTER (WHERE account <> 'refunded' AND NOT is_before), nothing)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (WHERE account = 'delivered' AND NOT is_before), 0)::bigint,
        coalesce(sum(money) FILTER (WHERE account = 'delivered' AND NOT is_before), nothing)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (
            WHERE account = 'delivered' AND detail = 'resolved' AND NOT is_before), 0)::bigint,
        coalesce(
            (
                SELECT done.transactions
                FROM done
                WHERE done.bundle_id = journal.bundle_id AND done.product_id = journal.product_id
                    AND done.currency IS NOT DISTINCT FROM journal.currency),
            0),
        coalesce(sum(transactions) FILTER (
            WHERE account = 'excluded' AND detail = 'refunded' AND NOT is_before), 0)::bigint,
        coalesce(sum(money) FILTER (
            WHERE account = 'excluded' AND detail = 'refunded' AND NOT is_before), nothing)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (
            WHERE account = 'excluded' AND detail <> 'refunded' AND NOT is_before), 0)::bigint,
        -- What did not go back of a refund in part is owed no more, either.
        coalesce(sum(money) FILTER (
            WHERE ((account = 'excluded' AND detail <> 'refunded') OR account = 'kept') AND NOT is_before),
            nothing)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (WHERE account = 'owed'), 0)::bigint,
        coalesce(sum(money) FILTER (WHERE account = 'owed'), nothing)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (
            WHERE account = 'refunded' AND detail IS NULL AND NOT is_before), 0)::bigint,
        coalesce(sum(money) FILTER (
            WHERE account = 'refunded' AND detail IS NULL AND NOT is_before), nothing)::numeric(20, 3),
        coalesce(-sum(transactions) FILTER (
            WHERE account = 'refunded' AND detail = 'reversed' AND NOT is_before), 0)::bigint,
        coalesce(-sum(money) FILTER (
            WHERE account = 'refunded' AND detail = 'reversed' AND NOT is_before), nothing)::numeric(20, 3)
    FROM finance.closed(through) AS closed
    JOIN finance.journal ON booked_on <= closed
    CROSS JOIN LATERAL (
        -- Without a currency no price is known, and what is owed is not nothing, also where it stands beside free
        -- trials.
        SELECT
            booked_on < first AS is_before, CASE WHEN journal.currency IS NOT NULL THEN 0 END AS nothing,
            CASE WHEN journal.currency IS NOT NULL THEN amount END AS money
    ) AS span
    GROUP BY journal.bundle_id, journal.product_id, journal.currency, nothing
    HAVING bool_or(NOT is_before) OR sum(transactions) FILTER (WHERE account = 'owed') <> 0
        OR sum(money) FILTER (WHERE account = 'owed') <> 0
        -- Told late, after the month of its delivery was closed.
        OR EXISTS (
            SELECT FROM done
            WHERE done.bundle_id = journal.bundle_id AND done.product_id = journal.product_id
                AND done.currency IS NOT DISTINCT FROM journal.currency)
    ORDER BY journal.bundle_id, journal.product_id, journal.currency
$$;
COMMENT ON FUNCTION finance.statement IS
    'What was booked from a first day through a last that is closed, by app, product and currency. Closing is opening '
    'and entered, less delivered, refunded and dropped. The same answer for ever.';

CREATE VIEW finance.proceeds AS
SELECT
    day, bundle_id, product_id, sales.storefront, sales.units, sales.proceeds_currency AS currency,
    (sales.units * sales.proceeds_milliunits / 1000.0)::numeric(20, 3) AS amount
FROM iap.sales
JOIN iap.sales_reports USING (report_id)
WHERE replaced_at IS NULL AND bundle_id IS NOT NULL;
COMMENT ON VIEW finance.proceeds IS 'What Apple''s sales reports say of units and of the developer''s part.';
COMMENT ON COLUMN finance.proceeds.day IS 'A day of Pacific Time.';
COMMENT ON COLUMN finance.proceeds.storefront IS 'The country.';
COMMENT ON COLUMN finance.proceeds.units IS 'Negative for refunds.';
COMMENT ON COLUMN finance.proceeds.amount IS
    'The developer''s part of all the units, negative for refunds; NULL where the report does not say.';

CREATE FUNCTION finance.statement_sales(first date, through date)
RETURNS TABLE (
    bundle_id text, product_id text, days bigint, units_sold bigint, units_seen bigint, difference bigint,
    refunds_sold bigint, refunds_seen bigint, refund_difference bigint
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        bundle_id, product_id, read.days, sum(units_sold)::bigint, sum(units_seen)::bigint,
        sum(difference)::bigint, sum(refunds_sold)::bigint, sum(refunds_seen)::bigint,
        sum(refund_difference)::bigint
    FROM finance.sold_against_seen
    JOIN (
        SELECT bundle_id, count(*) AS days
        FROM finance.compared_days
        WHERE day BETWEEN first AND through
        GROUP BY bundle_id
    ) AS read USING (bundle_id)
    WHERE day BETWEEN first AND through
    GROUP BY bundle_id, product_id, read.days
    ORDER BY bundle_id, product_id
$$;
COMMENT ON FUNCTION finance.statement_sales IS
    'What Apple''s reports say was sold from a first day of Pacific Time through a last, and what the tables saw of '
    'it: a row for each product. Only days whose report was read; days says of how many, for the app.';

CREATE FUNCTION finance.statement_proceeds(first date, through date)
RETURNS TABLE (bundle_id text, product_id text, currency text, units bigint, proceeds numeric)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT bundle_id, product_id, currency, sum(units)::bigint, sum(amount)::numeric(20, 3)
    FROM finance.proceeds
    WHERE day BETWEEN first AND through
    GROUP BY bundle_id, product_id, currency
    ORDER BY bundle_id, product_id, currency
$$;
COMMENT ON FUNCTION finance.statement_proceeds IS
    'What Apple''s reports say the developer gets of what was sold from a first day of Pacific Time through a last, '
    'less what was refunded: a row for each product and currency of its proceeds. Only days whose report was read.';

CREATE VIEW finance.purchases AS
SELECT
    transaction_id, bundle_id, product_id, quantity AS units, booked_currency AS currency,
    (booked_milliunits / 1000.0)::numeric(20, 3) AS amount, place, coalesce(reason, delivered_by) AS detail, storefront,
    purchased_at, sold_at, first_seen_at, is_sold,
    iap.booked_on(
        (first_seen_at AT TIME ZONE 'UTC')::date,
        (SELECT array_agg(as_of ORDER BY position) FROM iap.closings)[closing],
        CASE
            WHEN closing IS NULL THEN (SELECT max(closed_through) FROM iap.closings)
            ELSE (SELECT array_agg(closed_before ORDER BY position) FROM iap.closings)[closing]
        END) AS booked_on,
    entry_id
FROM iap.purchases
-- Looked up in lists of all runs, each made once: a purchase belongs to the first run whose numbers reach it, but for
-- what was committed late.
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN entry_id > (SELECT upto FROM audit.frontier) OR entry_id <@ (SELECT gaps FROM audit.frontier) THEN NULL
        WHEN entry_id <@ (
            SELECT range_agg(int8range(number, number + 1))
            FROM audit.links
            CROSS JOIN LATERAL unnest(late) AS number)
        THEN (SELECT min(position) FROM audit.links WHERE entry_id = ANY (late))
        ELSE 1 + width_bucket(entry_id - 1, (SELECT array_agg(upto ORDER BY position) FROM audit.links))
    END AS closing
) AS reached;
COMMENT ON VIEW finance.purchases IS 'Each purchase that counts, where it is, when it was bought and when it entered.';
COMMENT ON COLUMN finance.purchases.place IS 'white: owed; black: delivered; excluded: not owed.';
COMMENT ON COLUMN finance.purchases.detail IS 'How it was delivered, or why it is excluded; else NULL.';
COMMENT ON COLUMN finance.purchases.storefront IS 'The country; NULL where Apple did not tell.';
COMMENT ON COLUMN finance.purchases.first_seen_at IS 'When it entered the ledger.';
COMMENT ON COLUMN finance.purchases.sold_at IS
    'When Apple sold it: of what was restored under another id, when it was first bought.';
COMMENT ON COLUMN finance.purchases.is_sold IS
    'Whether Apple sold it: not what is shared in a family, a tester''s or of another app; what was restored, once.';
COMMENT ON COLUMN finance.purchases.booked_on IS
    'The day on which the journal has its entry; of what no run has closed its books over yet, the first day that it '
    'may be.';
COMMENT ON COLUMN finance.purchases.entry_id IS 'Its number in the order in which all entered.';

CREATE VIEW finance.booking_spans AS
SELECT
    coalesce(closed_before + 1, '-infinity') AS first_day,
    coalesce(greatest((as_of AT TIME ZONE 'UTC')::date, closed_before) + 1, 'infinity') AS last_day,
    least(upto_before + 1, (SELECT min(number) FROM unnest(late) AS number)) AS first_entry, upto AS last_entry
FROM iap.closings
UNION ALL
-- What no run has closed its books over yet.
SELECT
    coalesce((SELECT max(closed_through) FROM iap.closings) + 1, '-infinity'), 'infinity',
    least(upto + 1, lower(gaps)), 9223372036854775807
FROM audit.frontier;
COMMENT ON VIEW finance.booking_spans IS
    'Between which numbers the entries of each run that closed its books lie, and on which days it may have booked '
    'them.';
COMMENT ON COLUMN finance.booking_spans.first_day IS 'The first day that was not closed before the run.';
COMMENT ON COLUMN finance.booking_spans.last_day IS 'The day after the run''s own, whatever its clock said.';
COMMENT ON COLUMN finance.booking_spans.first_entry IS 'The lowest number of its entries.';
COMMENT ON COLUMN finance.booking_spans.last_entry IS 'The highest.';

CREATE FUNCTION finance.statement_differences(first date, through date)
RETURNS TABLE (
    difference text, day date, bundle_id text, product_id text, storefront text, transaction_id text, units bigint,
    currency text, amount numeric, purchased_at timestamptz, first_seen_at timestamptz, booked_on date
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH compared AS MATERIALIZED (
        SELECT day, bundle_id, product_id, storefront, difference
        FROM finance.sold_against_seen
        WHERE day BETWEEN first AND through AND difference <> 0
    )
    SELECT
        'booked in another month', finance.pacific_day(sold_at), bundle_id, product_id, storefront, transaction_id,
        units, currency, amount, purchased_at, first_seen_at, booked_on
    FROM finance.purchases
    WHERE finance.pacific_day(sold_at) BETWEEN first AND through
        -- As a range: where a purchase was booked is looked up once.
        AND NOT daterange(first, through, '[]') @> booked_on AND is_sold
    UNION ALL
    SELECT
        'bought in another month', finance.pacific_day(sold_at), bundle_id, product_id, storefront, transaction_id,
        units, currency, amount, purchased_at, first_seen_at, booked_on
    FROM finance.purchases
    WHERE daterange(first, through, '[]') @> booked_on AND is_sold
        -- By index, and not by when they entered: what was written while a clock was wrong is booked by its number.
        AND entry_id >= (
            SELECT min(first_entry) FROM finance.booking_spans WHERE first_day <= through AND last_day >= first)
        AND entry_id <= (
            SELECT max(last_entry) FROM finance.booking_spans WHERE first_day <= through AND last_day >= first)
        AND finance.pacific_day(sold_at) NOT BETWEEN first AND through
    UNION ALL
    SELECT 'no sales report read', day, bundle_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM (
        SELECT first + told.days AS day, app.bundle_id
        -- Not a moment of each day: some clocks are put forward at midnight.
        FROM generate_series(0, through - first) AS told (days)
        CROSS JOIN (SELECT DISTINCT bundle_id FROM finance.compared_days) AS app
        EXCEPT
        SELECT day, bundle_id FROM finance.compared_days
    ) AS unread
    UNION ALL
    SELECT
        'sold and never seen', day, bundle_id, product_id, storefront, NULL, difference, NULL, NULL, NULL, NULL, NULL
    FROM compared
    WHERE difference > 0
    UNION ALL
    SELECT
        'seen, and more than sold', more.day, bundle_id, product_id, bought.storefront, transaction_id, units,
        bought.currency, amount, purchased_at, first_seen_at, booked_on
    FROM compared AS more
    JOIN finance.purchases AS bought USING (bundle_id, product_id)
    WHERE more.difference < 0 AND bought.is_sold
        AND finance.pacific_day(sold_at) BETWEEN first AND through
        AND finance.pacific_day(sold_at) = more.day
        AND (more.storefront IS NULL OR more.storefront = bought.storefront)
    ORDER BY 1, 2, 3, 4, 5, 6
$$;
COMMENT ON FUNCTION finance.statement_differences IS
    'By which purchases what was booked, what was bought and what Apple sold differ, from a first day through a last: '
    'those that were bought in the span and booked outside of it; the other way round; units that Apple sold and '
    'nothing ever told of; and each purchase of a day, product and country of which the tables hold more than Apple '
    'sold. And the days of which no sales report was read, of each app that reports tell of.';
COMMENT ON COLUMN finance.proceeds.currency IS 'Of the amount.';
COMMENT ON COLUMN finance.purchases.units IS 'The quantity.';
