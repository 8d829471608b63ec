-- The journal for finance, and what was known on a day.

CREATE VIEW finance.closings AS
SELECT run_id, as_of, closed_through
FROM iap.runs
WHERE closed_through IS NOT NULL;
COMMENT ON VIEW finance.closings IS 'The runs that closed their books, and the days that are closed since.';
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
    'The day on which it happened, or the first day that was still open when it turned up; at most the day after the '
    'run that found it.';
COMMENT ON COLUMN finance.journal.run_id IS 'The run that closed its books over it.';
COMMENT ON COLUMN finance.journal.account IS
    'owed: paid and not claimed; delivered; excluded: not owed; refunded: delivered, and refunded since; kept: money '
    'alone, what did not go back of what was refunded in part and never delivered.';
COMMENT ON COLUMN finance.journal.day IS
    'owed: of the purchase; delivered: of the delivery; excluded: of the exclusion or the refund; refunded, kept: of '
    'the refund.';
COMMENT ON COLUMN finance.journal.detail IS
    'delivered: claim, resolved, import or entitlement; excluded: the reason; refunded: reversed where Apple took the '
    'refund back; else NULL.';

-- Says by itself what iap.lines_of and iap.worth say: a rule that is wrong there is not to explain itself here.
CREATE VIEW finance.unexplained AS
SELECT
    account, bundle_id, product_id, currency, sum(transactions)::bigint AS transactions, sum(units)::bigint AS units,
    (sum(milliunits) / 1000.0)::numeric(20, 3) AS amount
FROM (
    SELECT
        account, bundle_id, product_id, booked_currency AS currency,
        CASE WHEN account = 'kept' THEN 0 ELSE 1 END AS transactions,
        CASE WHEN account = 'kept' THEN 0 ELSE quantity END AS units,
        coalesce(
            CASE
                WHEN account = 'kept' THEN booked_milliunits - iap.share_of(booked_milliunits, revocation_percentage)
                WHEN account = 'refunded' OR (place = 'excluded' AND reason = 'refunded')
                THEN iap.share_of(booked_milliunits, revocation_percentage)
                ELSE booked_milliunits
            END, 0) AS milliunits
    FROM iap.transactions
    CROSS JOIN LATERAL (
        VALUES
            (CASE place WHEN 'white' THEN 'owed' WHEN 'black' THEN 'delivered' ELSE 'excluded' END, true),
            ('refunded', place = 'black' AND refunded_at IS NOT NULL),
            ('kept', place = 'excluded' AND reason = 'refunded')
    ) AS line (account, is_held)
    WHERE environment = 'Production' AND is_held
    UNION ALL
    SELECT account, bundle_id, product_id, currency, -transactions, -units, -coalesce(milliunits, 0)
    FROM iap.books
    UNION ALL
    -- What no run has closed its books over yet.
    SELECT account, bundle_id, product_id, currency, -transactions, -units, -coalesce(milliunits, 0)
    FROM iap.journal_lines
    CROSS JOIN audit.frontier
    WHERE iap.is_beyond(number, upto, gaps)
) AS line
GROUP BY account, bundle_id, product_id, currency
HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(milliunits) <> 0;
COMMENT ON VIEW finance.unexplained IS
    'What the ledger holds beyond what the journal and the moves since say. Nothing, when all is well. Looks at the '
    'whole ledger.';
COMMENT ON COLUMN finance.unexplained.account IS 'As in the journal.';
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
        coalesce(sum(money) FILTER (WHERE account = 'owed'), nothing)::numeric(20, 3),
        coalesce(sum(money) FILTER (WHERE account = 'delivered'), nothing)::numeric(20, 3),
        coalesce(sum(money) FILTER (WHERE account = 'refunded'), nothing)::numeric(20, 3)
    FROM finance.closed(as_of) AS closed
    JOIN finance.journal ON booked_on <= closed
    -- Without a currency no price is known, and what is owed is not nothing, also where it stands beside free trials.
    CROSS JOIN LATERAL (
        SELECT
            CASE WHEN currency IS NOT NULL THEN 0 END AS nothing,
            CASE WHEN currency IS NOT NULL THEN amount END AS money
    ) AS unpriced
    GROUP BY bundle_id, currency, nothing
    ORDER BY bundle_id, currency
$$;
COMMENT ON FUNCTION finance.balances_as_of IS
    'Each app''s accounts at the end of a day that is closed, by currency: all that was ever received is owed, '
    'delivered or excluded. The same answer for ever.';
