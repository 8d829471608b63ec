-- What Apple is asked again: customers, by what has changed since they were asked last, and deliveries that nothing but
-- the word of the app's server stands for. What it answers takes the way of notices.

-- Customers -----------------------------------------------------------------------------------------------------------

CREATE TABLE iap.customers (
    -- The appTransactionId, or where Apple told of none the original transaction's.
    customer_id    text COLLATE "C" NOT NULL CHECK (octet_length(customer_id) BETWEEN 1 AND 64),
    bundle_id      text COLLATE "C" NOT NULL,
    environment    text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    transaction_id text COLLATE "C" NOT NULL,
    last_seen_at   timestamptz NOT NULL,
    expires_at     timestamptz,
    revision       text,
    asked_at       timestamptz,
    next_at        timestamptz NOT NULL,
    PRIMARY KEY (customer_id, bundle_id, environment)
);

CREATE INDEX customers_due ON iap.customers (bundle_id, environment, next_at);
COMMENT ON TABLE iap.customers IS
    'Whom Apple is asked about again, in apps with “reask”: customers with a purchase or an upload of the last months.';
COMMENT ON COLUMN iap.customers.customer_id IS
    'The appTransactionId; where Apple told of none, the original transaction''s id: of a subscription its own, else the '
    'lowest of what the latest receipt holds.';
COMMENT ON COLUMN iap.customers.transaction_id IS 'One of the customer''s purchases, by which Apple is asked.';
COMMENT ON COLUMN iap.customers.last_seen_at IS 'When the customer last bought or uploaded something.';
COMMENT ON COLUMN iap.customers.expires_at IS 'When a subscription of theirs expires last, as far as is known.';
COMMENT ON COLUMN iap.customers.revision IS
    'Up to where the customer''s history is known: Apple is asked for what changed behind it.';
COMMENT ON COLUMN iap.customers.next_at IS 'When they are due to be asked about.';

-- Where Apple told of no appTransactionId, the purchases of one receipt are one customer's: who has bought ten times is
-- asked about once, and not ten times. A subscription stands for itself, so that it is asked about when it expires.
CREATE FUNCTION iap.note_customers(
    app iap.hearings, closed audit.frontier, every interval, since timestamptz, at timestamptz
) RETURNS void
-- In memory, once a night.
LANGUAGE plpgsql SET work_mem = '64MB' AS $$
#variable_conflict use_column
BEGIN
    WITH entered AS (
        SELECT transaction_id, original_transaction_id, app_transaction_id, purchased_at AS seen_at, expires_at
        FROM transactions
        WHERE iap.is_beyond(entry_id, app.noted_upto, app.noted_gaps)
            AND NOT iap.is_beyond(entry_id, closed.upto, closed.gaps)
            AND bundle_id = app.bundle_id AND environment = app.environment AND place <> 'excluded'
            -- The next night would forget the others: of an import of past years that is nearly all.
            AND (purchased_at >= since OR purchased_at + every > at OR expires_at > at)
    ), uploaded AS (
        SELECT transaction_id, max(receipt_id) AS receipt_id, max(uploaded_at) AS seen_at
        FROM sightings
        WHERE uploaded_at > note_customers.at - interval '2 days'
            AND bundle_id = app.bundle_id AND environment = app.environment
        GROUP BY transaction_id
    ), bought AS (
        SELECT
            transaction_id, coalesce(entered.original_transaction_id, known.original_transaction_id)
                AS original_transaction_id,
            coalesce(entered.app_transaction_id, known.app_transaction_id) AS app_transaction_id,
            coalesce(entered.expires_at, known.expires_at) AS expires_at,
            coalesce(entered.seen_at, uploaded.seen_at) AS seen_at, receipt_id
        FROM entered
        FULL JOIN uploaded USING (transaction_id)
        -- Who uploads what was bought long ago uses the app again. By the primary key: the planner would read the whole
        -- ledger.
        LEFT JOIN LATERAL (
            SELECT entry_id, place, t.original_transaction_id, t.app_transaction_id, t.expires_at
            FROM transactions AS t
            WHERE entered.seen_at IS NULL AND t.transaction_id = uploaded.transaction_id
                AND t.bundle_id = app.bundle_id AND t.environment = app.environment
            OFFSET 0
        ) AS known ON true
        WHERE entered.seen_at IS NOT NULL
            OR (NOT iap.is_beyond(entry_id, closed.upto, closed.gaps) AND place <> 'excluded')
    ), latest AS (
        SELECT
            transaction_id, original_transaction_id, app_transaction_id, expires_at, seen_at,
            CASE
                WHEN app_transaction_id IS NULL AND expires_at IS NULL
                THEN coalesce(receipt_id, (
                    SELECT max(held.receipt_id)
                    FROM sightings AS held
                    WHERE held.transaction_id = bought.transaction_id AND held.bundle_id = app.bundle_id
                        AND held.environment = app.environment))
            END AS receipt_id
        FROM bought
        -- Looked up once.
        OFFSET 0
    ), named AS (
        SELECT
            coalesce(own_name, min(original_transaction_id)) AS customer_id, max(transaction_id) AS transaction_id,
            max(least(seen_at, at)) AS seen_at, max(expires_at) AS expires_at
        FROM latest
        CROSS JOIN LATERAL (
            SELECT CASE
                WHEN app_transaction_id IS NOT NULL THEN app_transaction_id
                WHEN expires_at IS NOT NULL OR receipt_id IS NULL THEN original_transaction_id
            END AS own_name
        ) AS named
        GROUP BY own_name, CASE WHEN own_name IS NULL THEN receipt_id END
    )
    INSERT INTO customers AS known (
        customer_id, bundle_id, environment, transaction_id, last_seen_at, expires_at, next_at)
    SELECT
        customer_id, app.bundle_id, app.environment, max(transaction_id), max(seen_at),
        max(expires_at), least(max(seen_at) + every, iap.asked_after_expiry(max(expires_at), at))
    FROM named
    GROUP BY customer_id
    ON CONFLICT (customer_id, bundle_id, environment) DO UPDATE
    SET last_seen_at = greatest(known.last_seen_at, EXCLUDED.last_seen_at),
        expires_at = greatest(known.expires_at, EXCLUDED.expires_at),
        next_at = least(known.next_at, iap.asked_after_expiry(EXCLUDED.expires_at, at))
    WHERE known.last_seen_at < EXCLUDED.last_seen_at OR known.expires_at IS DISTINCT FROM EXCLUDED.expires_at;
END
$$;
COMMENT ON FUNCTION iap.note_customers IS
    'Notes whose purchases entered the ledger and were closed in the books since the app was noted last, or were '
    'uploaded again, but for who was not seen since a moment: they are asked about in so long, and subscribers an hour '
    'after their period expires.';

CREATE FUNCTION iap.asked_after_expiry(expires_at timestamptz, at timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE
-- Apple has renewed it by then, or never will.
RETURN CASE WHEN expires_at > at THEN expires_at + interval '1 hour' END;
COMMENT ON FUNCTION iap.asked_after_expiry IS
    'When a subscriber is to be asked about, whose period expires then; NULL where it has expired.';

CREATE FUNCTION iap.note_answers(
    bundle_id text, environment text, customer_ids text[], accounts text[], revisions text[], expiries timestamptz[],
    every interval, at timestamptz
) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    WITH answered AS MATERIALIZED (
        DELETE FROM customers AS known
        USING unnest(customer_ids, accounts, revisions, expiries) AS told (customer_id, account, revision, expires_at)
        WHERE known.customer_id = told.customer_id AND known.bundle_id = note_answers.bundle_id
            AND known.environment = note_answers.environment
        RETURNING
            coalesce(told.account, known.customer_id) AS customer_id, known.transaction_id, known.last_seen_at,
            greatest(known.expires_at, told.expires_at) AS expires_at, coalesce(told.revision, known.revision) AS revision
    )
    INSERT INTO customers AS known (
        customer_id, bundle_id, environment, transaction_id, last_seen_at, expires_at, revision, asked_at, next_at)
    SELECT DISTINCT ON (customer_id)
        customer_id, note_answers.bundle_id, note_answers.environment, transaction_id, last_seen_at, expires_at,
        revision, at, least(at + every, iap.asked_after_expiry(expires_at, at))
    FROM answered
    ORDER BY customer_id, last_seen_at DESC
    ON CONFLICT (customer_id, bundle_id, environment) DO UPDATE
    SET last_seen_at = greatest(known.last_seen_at, EXCLUDED.last_seen_at),
        expires_at = greatest(known.expires_at, EXCLUDED.expires_at), revision = EXCLUDED.revision,
        asked_at = EXCLUDED.asked_at, next_at = EXCLUDED.next_at;
END
$$;
COMMENT ON FUNCTION iap.note_answers IS
    'Notes that Apple answered for these customers: up to where their histories are known, and when they are due again. '
    'Whose appTransactionId it told is known by that from now on.';

-- Deliveries ----------------------------------------------------------------------------------------------------------

CREATE TABLE iap.delivery_checks (
    transaction_id text COLLATE "C" NOT NULL,
    bundle_id      text COLLATE "C" NOT NULL,
    environment    text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    finding        text NOT NULL CHECK (finding IN (
        'unknown_to_apple', 'sandbox', 'another_user', 'account_gone', 'unanswered')),
    checked_at     timestamptz NOT NULL,
    times          integer NOT NULL CHECK (times > 0),
    -- NULL where it was asked about often enough.
    next_at        timestamptz,
    PRIMARY KEY (transaction_id, bundle_id, environment)
);
COMMENT ON TABLE iap.delivery_checks IS
    'What Apple answered when it was asked about a delivery for which only the app''s server vouched, and does not prove '
    'it.';
COMMENT ON COLUMN iap.delivery_checks.finding IS
    'unknown_to_apple: Apple knows no such purchase of the app; sandbox: it was a tester''s; another_user: it bears the '
    'appAccountToken of another user than it was delivered to; account_gone: Apple knows the customer''s account no longer, '
    'and so can''t tell; unanswered: it gave no answer that could be used. The last two speak against nobody.';

CREATE FUNCTION iap.note_checks(
    bundle_id text, environment text, transaction_ids text[], findings text[], tokens text[], at timestamptz
) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    WITH answered AS MATERIALIZED (
        SELECT
            told.transaction_id,
            coalesce(
                told.finding,
                CASE WHEN owners <> '{}' AND t.user_id <> ALL (owners) THEN 'another_user' END) AS finding
        FROM unnest(transaction_ids, findings, tokens) AS told (transaction_id, finding, token)
        LEFT JOIN transactions AS t
            ON t.transaction_id = told.transaction_id AND t.bundle_id = note_checks.bundle_id
                AND t.environment = note_checks.environment AND t.place = 'black'
        CROSS JOIN LATERAL (
            SELECT ARRAY(SELECT owner FROM iap.owners_by_token(note_checks.bundle_id, told.token) AS owner) AS owners
        ) AS known
    ), borne_out AS (
        DELETE FROM delivery_checks AS known
        USING answered
        WHERE answered.finding IS NULL AND known.transaction_id = answered.transaction_id
            AND known.bundle_id = note_checks.bundle_id AND known.environment = note_checks.environment
    )
    INSERT INTO delivery_checks AS known (transaction_id, bundle_id, environment, finding, checked_at, times, next_at)
    SELECT
        transaction_id, note_checks.bundle_id, note_checks.environment, finding, at, 1,
        CASE WHEN finding = 'unknown_to_apple' THEN at + interval '20 hours' END
    FROM answered
    WHERE finding IS NOT NULL
    ORDER BY transaction_id
    ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
    SET finding = EXCLUDED.finding, checked_at = EXCLUDED.checked_at,
        times = CASE known.finding WHEN 'unanswered' THEN 1 ELSE known.times + 1 END,
        -- Apple has been seen to know a purchase hours late, and not days.
        next_at = CASE WHEN known.times < 4 THEN EXCLUDED.next_at END;
END
$$;
COMMENT ON FUNCTION iap.note_checks IS
    'Notes what Apple answered for these deliveries; a finding that is NULL is that Apple knows the purchase, with its '
    'appAccountToken.';

CREATE FUNCTION iap.postpone_questions(
    bundle_id text, environment text, customer_ids text[], transaction_ids text[], at timestamptz
) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    tomorrow timestamptz := postpone_questions.at + interval '20 hours';
BEGIN
    UPDATE customers AS known
    SET next_at = tomorrow
    WHERE known.customer_id = ANY (customer_ids) AND known.bundle_id = postpone_questions.bundle_id
        AND known.environment = postpone_questions.environment;
    INSERT INTO delivery_checks AS known (transaction_id, bundle_id, environment, finding, checked_at, times, next_at)
    SELECT asked.id, postpone_questions.bundle_id, postpone_questions.environment, 'unanswered', at, 1, tomorrow
    FROM unnest(transaction_ids) AS asked (id)
    ORDER BY asked.id
    -- What Apple said of it before still holds.
    ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE SET next_at = EXCLUDED.next_at;
END
$$;
COMMENT ON FUNCTION iap.postpone_questions IS
    'Has customers and deliveries asked about another night of which Apple gave no answer that could be used, after those '
    'that have been waiting for longer: who is never answered keeps nobody else from it.';

CREATE FUNCTION iap.owners_by_token(bundle_id text, app_account_token text) RETURNS SETOF text
LANGUAGE sql STABLE AS $$
    SELECT user_id FROM iap.orders AS o
    WHERE o.app_account_token = owners_by_token.app_account_token AND o.bundle_id = owners_by_token.bundle_id
    UNION
    SELECT user_id FROM iap.account_tokens AS a
    WHERE a.app_account_token = owners_by_token.app_account_token AND a.bundle_id = owners_by_token.bundle_id
$$;
COMMENT ON FUNCTION iap.owners_by_token IS 'Whose an appAccountToken is, as the app''s server said.';

CREATE VIEW iap.unproved AS
SELECT found.finding, found.found_at, t.*
FROM (
    SELECT finding, checked_at AS found_at, transaction_id, bundle_id, environment
    FROM iap.delivery_checks
    WHERE finding NOT IN ('account_gone', 'unanswered')
    UNION ALL
    SELECT 'other_product', moved_at, transaction_id, bundle_id, environment
    FROM iap.moves
    -- Of whatever kind: the word that tells of the product may tell of a refund, too.
    WHERE from_place = 'black' AND to_place = 'black' AND from_product_id <> to_product_id
    UNION ALL
    -- More, and nobody paid for the rest; or less, and the customer lacks it. An import need not say how many.
    SELECT 'other_quantity', moved_at, transaction_id, bundle_id, environment
    FROM iap.moves
    WHERE from_place = 'black' AND to_place = 'black' AND from_units <> to_units AND from_detail <> 'import'
    UNION ALL
    -- A genuine receipt, of an app that may be the customer's own.
    SELECT 'foreign_bundle', delivered_at, transaction_id, bundle_id, environment
    FROM iap.transactions
    WHERE place = 'black' AND found_bundle_id IS NOT NULL
    UNION ALL
    SELECT 'refunded_before', delivered_at, transaction_id, bundle_id, environment
    FROM iap.transactions
    WHERE place = 'black' AND refunded_at < delivered_at AND revocation_percentage IS DISTINCT FROM 0
) AS found
JOIN iap.transactions AS t USING (transaction_id, bundle_id, environment)
WHERE t.place = 'black'
    -- Apple has come to know it, in whatever way.
    AND (found.finding NOT IN ('unknown_to_apple', 'sandbox') OR t.source = 'app_server');
COMMENT ON VIEW iap.unproved IS
    'Deliveries that Apple''s word does not bear out, and why: unknown_to_apple, sandbox, another_user, other_product '
    'and other_quantity (than was delivered), foreign_bundle, refunded_before (the delivery).';

CREATE VIEW finance.delivered_unproved AS
SELECT
    found.why, found.found_at, counted.transaction_id, counted.bundle_id, counted.product_id, counted.product_name,
    counted.user_id, counted.order_id, counted.units, counted.currency, counted.price_source, counted.amount,
    counted.purchased_at, counted.delivered_at, counted.refunded_at
FROM (
    SELECT
        transaction_id, bundle_id, string_agg(DISTINCT finding, ', ' ORDER BY finding) AS why,
        min(found_at) AS found_at
    FROM iap.unproved
    WHERE environment = 'Production'
    GROUP BY transaction_id, bundle_id
) AS found
JOIN iap.counted USING (transaction_id, bundle_id);
COMMENT ON VIEW finance.delivered_unproved IS
    'Delivered, and never paid as delivered, as far as Apple says: one row a purchase.';
COMMENT ON COLUMN finance.delivered_unproved.why IS
    'unknown_to_apple: Apple knows no such purchase; sandbox: a tester''s; another_user: paid by somebody else; '
    'other_product, other_quantity: Apple sold another product, or more or fewer of it; foreign_bundle: the receipt is of '
    'another app; refunded_before: the money had gone back when it was delivered.';
COMMENT ON COLUMN finance.delivered_unproved.amount IS 'What was delivered is worth, as the books have it.';
COMMENT ON COLUMN finance.delivered_unproved.found_at IS 'When that was found first.';
COMMENT ON COLUMN finance.delivered_unproved.transaction_id IS 'Apple''s id of the purchase.';
COMMENT ON COLUMN finance.delivered_unproved.bundle_id IS 'The app.';
COMMENT ON COLUMN finance.delivered_unproved.product_id IS 'The product.';
COMMENT ON COLUMN finance.delivered_unproved.product_name IS 'Its name; NULL if the products do not list it.';
COMMENT ON COLUMN finance.delivered_unproved.user_id IS 'The user who got the goods; NULL if support did not say.';
COMMENT ON COLUMN finance.delivered_unproved.order_id IS 'The app''s own order, if one was named.';
COMMENT ON COLUMN finance.delivered_unproved.units IS 'The quantity, or the sum of quantities.';
COMMENT ON COLUMN finance.delivered_unproved.currency IS 'Of the amount; NULL where no price is known.';
COMMENT ON COLUMN finance.delivered_unproved.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';
COMMENT ON COLUMN finance.delivered_unproved.purchased_at IS 'When it was bought.';
COMMENT ON COLUMN finance.delivered_unproved.delivered_at IS 'When the goods were credited.';
COMMENT ON COLUMN finance.delivered_unproved.refunded_at IS 'When Apple refunded it; NULL if it did not.';

-- Prices --------------------------------------------------------------------------------------------------------------

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
    bundle_id text, environment text, every interval, since timestamptz, at timestamptz
) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    app    iap.hearings;
    closed audit.frontier;
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
    IF (closed.upto, closed.gaps) IS DISTINCT FROM (app.noted_upto, app.noted_gaps) THEN
        PERFORM iap.note_prices(app, closed, at);
        IF every IS NOT NULL THEN
            PERFORM iap.note_customers(app, closed, every, since, at);
        END IF;
        UPDATE hearings
        SET noted_upto = closed.upto, noted_gaps = closed.gaps
        WHERE bundle_id = note_entered.bundle_id AND environment = note_entered.environment;
    END IF;
END
$$;
COMMENT ON FUNCTION iap.note_entered IS
    'Notes the prices, and where customers are asked about again the customers that were seen since a moment, of what '
    'entered the ledger and was closed in the books since the last time: each once.';

-- Taking answers ------------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.known_of_heard(OUT known integer[], OUT unknown integer[])
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    SELECT
        coalesce(array_agg(v.number) FILTER (WHERE t.found), '{}'),
        coalesce(array_agg(v.number) FILTER (WHERE t.found IS NULL), '{}')
    INTO known, unknown
    FROM heard AS v
    LEFT JOIN LATERAL (
        SELECT true AS found FROM transactions AS t
        WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id AND t.environment = v.environment
        OFFSET 0
    ) AS t ON true;
END
$$;
COMMENT ON FUNCTION iap.known_of_heard IS
    'Of the batch that is staged in the session''s table heard, the numbers of those that the ledger knows and of the '
    'others.';

CREATE FUNCTION iap.take_answers(run bigint, at timestamptz, OUT unknown integer[], OUT locked text[])
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    held  integer[];
    known integer[];
BEGIN
    SELECT sorted.known, sorted.unknown INTO known, unknown FROM iap.known_of_heard() AS sorted;
    IF known <> '{}' THEN
        SELECT remaining INTO held FROM iap.hear_patiently(known, run, at);
        SELECT array_agg(transaction_id) INTO locked FROM heard WHERE number = ANY (held);
    END IF;
    INSERT INTO notices (
        transaction_id, bundle_id, environment, notice_uuid, type, subtype, signed_at, heard_at, heard_by, first_run_id)
    SELECT DISTINCT ON (transaction_id, bundle_id, environment, notice_uuid)
        transaction_id, bundle_id, environment, notice_uuid, type, subtype, signed_at, at, heard_by, run
    FROM told
    WHERE number = ANY (unknown)
    ORDER BY transaction_id, bundle_id, environment, notice_uuid
    ON CONFLICT (transaction_id, bundle_id, environment, notice_uuid) DO NOTHING;
END
$$;
COMMENT ON FUNCTION iap.take_answers IS
    'Takes what Apple answered, as it is staged in the session''s tables heard and told: what it says of known '
    'transactions changes the ledger. Says the numbers in the batch of the transactions that nobody knows, and which '
    'another session has locked.';
