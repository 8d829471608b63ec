-- Orders that were never paid: they go after a time, and are counted.

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

-- A source that is read whole tells of them again each night, and each night takes them away again.
CREATE TABLE iap.purged_order_marks (
    mark bigint PRIMARY KEY
);
COMMENT ON TABLE iap.purged_order_marks IS
    'Which orders iap.purged_orders counts, by their marks: none is counted twice.';

CREATE FUNCTION iap.order_mark(bundle_id text, order_id text) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN hashtextextended($1 || ' ' || $2, 0);
COMMENT ON FUNCTION iap.order_mark IS 'A hash of which order it is.';

CREATE VIEW iap.unpaid_orders AS
SELECT orders.bundle_id, orders.order_id, orders.user_id, orders.product_id, orders.created_at
FROM iap.orders
-- Joins, where NOT EXISTS would say the same: a cluster runs them though the inbox lies on other servers.
LEFT JOIN (
    SELECT uploads.order_id, uploaded.bundle_id
    FROM iap.uploads
    JOIN iap.receipts AS uploaded USING (bucket, receipt_id)
) AS named ON named.order_id = orders.order_id AND named.bundle_id = orders.bundle_id
LEFT JOIN iap.receipts
    ON receipts.user_id = orders.user_id AND receipts.bundle_id = orders.bundle_id
        AND receipts.next_attempt_at IS NOT NULL
WHERE named.order_id IS NULL AND receipts.receipt_id IS NULL
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
    -- Whose token what is owed bears, which says whose that is. By the index of white: see iap.open_for.
    AND NOT EXISTS (
        SELECT FROM iap.transactions
        WHERE transactions.app_account_token = orders.app_account_token AND transactions.bundle_id = orders.bundle_id
            AND starts_with(transactions.place, 'white'))
    -- Or what was paid, to whomever it was delivered by mistake: it may come to be owed again, and the order tells
    -- whose it is. By the index of what is owed no more, which place would not answer to.
    AND NOT EXISTS (
        SELECT FROM iap.transactions
        WHERE transactions.app_account_token = orders.app_account_token AND transactions.bundle_id = orders.bundle_id
            AND (
                transactions.reason IN ('dismissed', 'refunded') OR transactions.delivered_by IS NOT NULL)
            AND transactions.product_id = orders.product_id
            AND transactions.purchased_at BETWEEN orders.created_at - interval '30 days'
                AND orders.created_at + interval '30 days')
    AND NOT EXISTS (
        SELECT FROM iap.transactions
        WHERE transactions.admitted_user_id = orders.user_id AND transactions.bundle_id = orders.bundle_id
            AND starts_with(transactions.place, 'white'))
    AND NOT EXISTS (
        SELECT FROM iap.cases
        WHERE cases.state = 'open' AND cases.bundle_id = orders.bundle_id
            AND cases.order_ids @> ARRAY[orders.order_id])
    AND NOT EXISTS (
        SELECT FROM iap.cases
        WHERE cases.state = 'open' AND cases.bundle_id = orders.bundle_id
            AND cases.owner_user_ids @> ARRAY[orders.user_id]);
COMMENT ON VIEW iap.unpaid_orders IS
    'Orders that were opened and, as far as anything tells, never paid: no upload, claim or delivery names them, their '
    'user got none of the product within 30 days, nothing that is owed bears their token, nor any of the product '
    'within 30 days that was delivered to anybody, refunded or dismissed, and nothing of their user is open. Ask for a '
    'span of created_at.';

CREATE FUNCTION iap.purge_orders(since timestamptz, before timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    apps   text[];
    unpaid text[];
    purged bigint;
BEGIN
    PERFORM iap.limit_waiting();
    SELECT array_agg(bundle_id), array_agg(order_id) INTO apps, unpaid
    FROM (
        SELECT bundle_id, order_id
        FROM iap.unpaid_orders
        WHERE created_at >= since AND created_at < before
        LIMIT most
    ) AS found;
    -- Who claims for one just now has it locked; who did so since, has named it.
    SELECT array_agg(bundle_id), array_agg(order_id) INTO apps, unpaid
    FROM (
        SELECT bundle_id, order_id
        FROM iap.orders
        JOIN unnest(apps, unpaid) AS found (bundle_id, order_id) USING (bundle_id, order_id)
        ORDER BY order_id, bundle_id
        FOR UPDATE OF orders SKIP LOCKED
    ) AS held;
    WITH gone AS (
        DELETE FROM iap.orders
        USING unnest(apps, unpaid) AS found (bundle_id, order_id)
        WHERE orders.bundle_id = found.bundle_id AND orders.order_id = found.order_id
            AND NOT EXISTS (
                SELECT FROM iap.claims
                WHERE claims.order_id = orders.order_id AND claims.bundle_id = orders.bundle_id)
            AND NOT EXISTS (
                SELECT FROM iap.transactions
                WHERE transactions.order_id = orders.order_id AND transactions.bundle_id = orders.bundle_id)
        RETURNING
            orders.bundle_id, product_id, (created_at AT TIME ZONE 'UTC')::date AS opened_on,
            iap.order_mark(orders.bundle_id, orders.order_id) AS mark
    ), marked AS (
        INSERT INTO iap.purged_order_marks (mark)
        SELECT mark
        FROM gone
        ORDER BY mark
        ON CONFLICT DO NOTHING
        RETURNING mark
    ), counted AS (
        INSERT INTO iap.purged_orders AS known (opened_on, bundle_id, product_id, orders)
        SELECT opened_on, bundle_id, product_id, count(*)
        FROM gone
        JOIN marked USING (mark)
        GROUP BY opened_on, bundle_id, product_id
        ORDER BY bundle_id, product_id, opened_on
        ON CONFLICT (bundle_id, product_id, opened_on) DO UPDATE SET orders = known.orders + EXCLUDED.orders
    )
    SELECT count(*) INTO purged FROM gone;
    RETURN purged;
END
$$;
COMMENT ON FUNCTION iap.purge_orders IS
    'Takes away orders that were opened from a moment until before another and never paid, so many at most, and counts '
    'each of them once in iap.purged_orders. Gives how many. What an open case or evidence rests on stays.';

CREATE FUNCTION iap.count_unpaid_orders(before timestamptz, OUT orders bigint, OUT oldest timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iap.limit_waiting();
    SELECT count(*), min(created_at) INTO orders, oldest FROM iap.unpaid_orders WHERE created_at < before;
END
$$;
COMMENT ON FUNCTION iap.count_unpaid_orders IS
    'How many orders a purge would take away, and when the oldest of them was opened.';

CREATE VIEW iap.orders_never_paid AS
SELECT * FROM iap.unpaid_orders;
COMMENT ON VIEW iap.orders_never_paid IS
    'iap.unpaid_orders, as finance reads it: in a cluster citus.sql puts a function in its place, for there the tables '
    'of a view are read with the rights of who reads it.';

CREATE VIEW finance.unpaid_orders AS
SELECT
    day, bundle_id, product_id, products.name AS product_name, sum(counted.orders)::bigint AS orders,
    sum(counted.purged)::bigint AS purged
FROM (
    SELECT (created_at AT TIME ZONE 'UTC')::date AS day, bundle_id, product_id, 1 AS orders, 0 AS purged
    FROM iap.orders_never_paid
    WHERE NOT EXISTS (
        SELECT FROM iap.purged_order_marks
        WHERE purged_order_marks.mark = iap.order_mark(orders_never_paid.bundle_id, orders_never_paid.order_id))
    UNION ALL
    SELECT opened_on, bundle_id, product_id, orders, orders
    FROM iap.purged_orders
) AS counted
LEFT JOIN iap.products USING (bundle_id, product_id)
GROUP BY day, bundle_id, product_id, products.name;
COMMENT ON VIEW finance.unpaid_orders IS
    'Orders that were opened and never paid, by the day on which they were opened. Ask for a span of days.';
COMMENT ON COLUMN finance.unpaid_orders.day IS 'The day on which they were opened.';
COMMENT ON COLUMN finance.unpaid_orders.orders IS 'How many, whether they are still there or not.';
COMMENT ON COLUMN finance.unpaid_orders.purged IS 'Of these: taken away after their time.';
