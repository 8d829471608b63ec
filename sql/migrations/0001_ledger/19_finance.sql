-- What finance reads: amounts, days and counts. Only production counts, since nobody pays in the sandbox.
--
-- An amount is what Apple says was paid. Where Apple's answer has no price (verifyReceipt never has), it is the list
-- price times the quantity as it was when the purchase entered the ledger, and nothing for a free trial. It changes
-- only when Apple tells a price that was not known. Days are days of UTC.

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

CREATE VIEW finance.misdeliveries AS
SELECT
    (black.delivered_at AT TIME ZONE 'UTC')::date AS delivery_day, black.bundle_id, black.product_id,
    black.product_name, black.transaction_id, black.order_id, black.user_id AS delivered_to,
    coalesce(orders.user_id, token.user_id, first_upload.user_id) AS likely_bought_by,
    CASE
        WHEN orders.user_id IS NOT NULL THEN 'order' WHEN token.user_id IS NOT NULL THEN 'token' ELSE 'upload'
    END AS evidence,
    black.units, black.currency, black.price_source, black.amount, black.purchased_at, black.delivered_at,
    black.refunded_at
FROM iap.counted AS black
LEFT JOIN iap.orders
    ON orders.bundle_id = black.bundle_id AND orders.order_id = black.order_id AND orders.user_id <> black.user_id
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
        AND sightings.environment = 'Production' AND sightings.user_id IS NOT NULL AND (in_receipt OR is_named)
    ORDER BY is_named DESC, uploaded_at, receipt_id
    LIMIT 1
) AS first_upload ON true
WHERE black.place = 'black' AND black.delivered_by = 'claim'
    AND coalesce(orders.user_id, token.user_id, first_upload.user_id) <> black.user_id;
COMMENT ON VIEW finance.misdeliveries IS
    'What was delivered to one user although another''s order was named, it bears another''s token, or another uploaded it '
    'first: the one who paid may still want it. Ask for a span of delivered_at: then only those deliveries are looked at.';
COMMENT ON COLUMN finance.misdeliveries.delivered_to IS 'The user who got the goods.';
COMMENT ON COLUMN finance.misdeliveries.likely_bought_by IS 'The user for whom more speaks.';
COMMENT ON COLUMN finance.misdeliveries.evidence IS
    'order: the order that was named is theirs; token: its appAccountToken is; upload: they uploaded it first.';

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
    run_id, (as_of AT TIME ZONE 'UTC')::date AS day, started_at, state, position, total, figures[1] AS transactions,
    figures[2] AS units, figures[3] AS hash,
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
WHERE state <> 'running';
COMMENT ON VIEW finance.control_totals IS
    'What each run counted, eleven rows a run. Verified transactions are newly white, already white, already black or '
    'excluded; opening white and new, less claimed, resolved and refunded, is closing white; and each run opens with '
    'what the one before closed with.';
COMMENT ON COLUMN finance.control_totals.day IS 'The day of the moment that the run took for the present.';
COMMENT ON COLUMN finance.control_totals.started_at IS 'When it started.';
COMMENT ON COLUMN finance.control_totals.state IS
    'complete, ended_early, failed, or abandoned: killed, as a later run found.';
COMMENT ON COLUMN finance.control_totals.position IS 'The row''s place among the eleven.';
COMMENT ON COLUMN finance.control_totals.total IS 'What is counted.';
COMMENT ON COLUMN finance.control_totals.transactions IS 'How many; NULL where the run did not close its books.';
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
COMMENT ON COLUMN finance.control_totals_by_day.white IS 'Of these: paid, and not claimed.';
COMMENT ON COLUMN finance.control_totals_by_day.newly_white IS 'Of the white: for the first time.';
COMMENT ON COLUMN finance.control_totals_by_day.black IS 'Of these: delivered.';
COMMENT ON COLUMN finance.control_totals_by_day.excluded IS 'Of these: not owed.';
COMMENT ON COLUMN finance.control_totals_by_day.difference IS 'Received, less white, black and excluded: 0.';
COMMENT ON COLUMN finance.control_totals_by_day.balances IS
    'Whether all totals of all those runs balance; NULL where a run did not close its books and nothing else is wrong.';

CREATE VIEW finance.differences AS
SELECT
    found.transaction_id, found.bundle_id, found.environment, 'nowhere' AS difference,
    min(found.first_run_id) AS run_id, false AS is_white, false AS is_black, false AS is_excluded
FROM iap.sightings AS found
WHERE found.first_run_id IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM iap.transactions
        WHERE transactions.transaction_id = found.transaction_id AND transactions.bundle_id = found.bundle_id
            AND transactions.environment = found.environment)
GROUP BY found.transaction_id, found.bundle_id, found.environment;
COMMENT ON VIEW finance.differences IS
    'Each transaction by which received is not white, black and excluded together. None, when all is well: a row of '
    'the ledger is in one place, so this finds only what somebody removed by hand. Looks at the whole ledger, unless a '
    'transaction_id is asked for.';
COMMENT ON COLUMN finance.differences.environment IS 'Production, or Sandbox.';
COMMENT ON COLUMN finance.differences.difference IS 'nowhere: a run received it, and it is in none of the three.';
COMMENT ON COLUMN finance.differences.run_id IS 'The run that received it first.';
COMMENT ON COLUMN finance.differences.is_white IS
    'Whether it is in white: false, as is_black and is_excluded are, since what is nowhere is in none of them.';
COMMENT ON COLUMN finance.differences.is_black IS 'Whether it is in black: false.';
COMMENT ON COLUMN finance.differences.is_excluded IS 'Whether it is excluded: false.';

-- The journal, and what was known on a day --------------------------------------------------------------------------

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
    'The day on which it happened, or the first day that was still open when it turned up; at most the day after the run '
    'that found it.';
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
        coalesce(sum(amount) FILTER (WHERE account = 'owed'), nothing)::numeric(20, 3),
        coalesce(sum(amount) FILTER (WHERE account = 'delivered'), nothing)::numeric(20, 3),
        coalesce(sum(amount) FILTER (WHERE account = 'refunded'), nothing)::numeric(20, 3)
    FROM finance.closed(as_of) AS closed
    JOIN finance.journal ON booked_on <= closed
    -- Without a currency no price is known, and what is owed is not nothing.
    CROSS JOIN LATERAL (SELECT CASE WHEN currency IS NOT NULL THEN 0 END AS nothing) AS unpriced
    GROUP BY bundle_id, currency, nothing
    ORDER BY bundle_id, currency
$$;
COMMENT ON FUNCTION finance.balances_as_of IS
    'Each app''s accounts at the end of a day that is closed, by currency: all that was ever received is owed, '
    'delivered or excluded. The same answer for ever.';
