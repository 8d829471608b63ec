-- Of which customers Apple is asked again: those of whom something may have changed since they were asked last.

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
    'The appTransactionId; where Apple told of none, the original transaction''s id: of a subscription its own, else '
    'the lowest of what the latest receipt holds.';
COMMENT ON COLUMN iap.customers.transaction_id IS 'One of the customer''s purchases, by which Apple is asked.';
COMMENT ON COLUMN iap.customers.last_seen_at IS 'When the customer last bought or uploaded something.';
COMMENT ON COLUMN iap.customers.expires_at IS 'When a subscription of theirs expires last, as far as is known.';
COMMENT ON COLUMN iap.customers.revision IS
    'Up to where the customer''s history is known: Apple is asked for what changed behind it.';
COMMENT ON COLUMN iap.customers.next_at IS 'When they are due to be asked about.';

-- Where Apple told of no appTransactionId, the purchases of one receipt are one customer's: who has bought ten times is
-- asked about once, and not ten times. A subscription stands for itself, so that it is asked about when it expires.
CREATE FUNCTION iap.note_customers(
    app iap.hearings, closed audit.frontier, every interval, since timestamptz, at timestamptz, again_ids bigint[],
    again_at timestamptz[]
) RETURNS void
-- In memory, once a night.
LANGUAGE plpgsql SET work_mem = '64MB' AS $$
#variable_conflict use_column
BEGIN
    WITH entered AS (
        SELECT transaction_id, original_transaction_id, app_transaction_id, purchased_at AS seen_at, expires_at
        FROM (
            SELECT *
            FROM transactions
            WHERE iap.is_beyond(entry_id, app.noted_upto, app.noted_gaps)
                AND NOT iap.is_beyond(entry_id, closed.upto, closed.gaps)
            UNION ALL
            -- What was excluded when it entered, and is not any more; it does no harm twice.
            SELECT released.*
            FROM moves
            JOIN transactions AS released USING (transaction_id, bundle_id, environment)
            WHERE moves.from_place = 'excluded' AND iap.is_beyond(moves.move_id, app.noted_upto, app.noted_gaps)
                AND NOT iap.is_beyond(moves.move_id, closed.upto, closed.gaps)
        ) AS entered
        WHERE bundle_id = app.bundle_id AND environment = app.environment
            -- Who has their money back bought of the app, and Apple may take the refund back.
            AND (place <> 'excluded' OR reason = 'refunded')
            -- The next night would forget the others: of an import of past years that is nearly all.
            AND (purchased_at >= since OR purchased_at + every > at OR expires_at > at)
    ), uploaded AS (
        SELECT transaction_id, max(receipt_id) AS receipt_id, max(uploaded_at) AS seen_at
        FROM (
            SELECT transaction_id, bundle_id, environment, receipt_id, uploaded_at
            FROM sightings
            WHERE uploaded_at > note_customers.at - interval '2 days'
            UNION ALL
            SELECT transaction_id, bundle_id, environment, receipt_id, again.uploaded_at
            FROM unnest(again_ids, again_at) AS again (receipt_id, uploaded_at)
            JOIN sightings USING (receipt_id)
        ) AS seen
        WHERE bundle_id = app.bundle_id AND environment = app.environment
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
            SELECT entry_id, place, reason, t.original_transaction_id, t.app_transaction_id, t.expires_at
            FROM transactions AS t
            WHERE entered.seen_at IS NULL AND t.transaction_id = uploaded.transaction_id
                AND t.bundle_id = app.bundle_id AND t.environment = app.environment
            OFFSET 0
        ) AS known ON true
        WHERE entered.seen_at IS NOT NULL
            OR (
                NOT iap.is_beyond(entry_id, closed.upto, closed.gaps)
                AND (place <> 'excluded' OR reason = 'refunded'))
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
                WHEN receipt_id IS NULL THEN original_transaction_id
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
    WITH asked AS MATERIALIZED (
        SELECT
            customer_id, account, revision, expires_at,
            account <> (
                SELECT t.app_transaction_id
                FROM customers AS known
                JOIN transactions AS t USING (transaction_id, bundle_id, environment)
                WHERE known.customer_id = asked.customer_id AND known.bundle_id = note_answers.bundle_id
                    AND known.environment = note_answers.environment
            ) AS is_of_another
        FROM unnest(customer_ids, accounts, revisions, expiries) AS asked (customer_id, account, revision, expires_at)
    ), told AS (
        -- By another customer's revision Apple would pass over what this one buys, and by their account this one would
        -- be taken for them, and not be asked about any more.
        SELECT customer_id, own.account, own.revision, own.expires_at
        FROM asked
        LEFT JOIN LATERAL (SELECT account, revision, expires_at WHERE is_of_another IS NOT TRUE) AS own ON true
    ), answered AS MATERIALIZED (
        DELETE FROM customers AS known
        USING told
        WHERE known.customer_id = told.customer_id AND known.bundle_id = note_answers.bundle_id
            AND known.environment = note_answers.environment
        RETURNING
            coalesce(told.account, known.customer_id) AS customer_id, known.transaction_id, known.last_seen_at,
            greatest(known.expires_at, told.expires_at) AS expires_at,
            coalesce(told.revision, known.revision) AS revision
    )
    INSERT INTO customers AS known (
        customer_id, bundle_id, environment, transaction_id, last_seen_at, expires_at, revision, asked_at, next_at)
    SELECT
        customer_id, note_answers.bundle_id, note_answers.environment, transaction_id, last_seen_at, expires_at,
        revision, at, least(at + every, iap.asked_after_expiry(expires_at, at))
    FROM (
        -- Several may be one, by the account that Apple tells: who bought last stands for all.
        SELECT DISTINCT ON (customer_id)
            customer_id, transaction_id, last_seen_at, revision,
            max(expires_at) OVER (PARTITION BY customer_id) AS expires_at
        FROM answered
        ORDER BY customer_id, last_seen_at DESC, transaction_id DESC
    ) AS answered
    ON CONFLICT (customer_id, bundle_id, environment) DO UPDATE
    SET last_seen_at = greatest(known.last_seen_at, EXCLUDED.last_seen_at),
        expires_at = greatest(known.expires_at, EXCLUDED.expires_at), revision = EXCLUDED.revision,
        asked_at = EXCLUDED.asked_at, next_at = EXCLUDED.next_at;
END
$$;
COMMENT ON FUNCTION iap.note_answers IS
    'Notes that Apple answered for these customers: up to where their histories are known, and when they are due '
    'again. Whose appTransactionId it told is known by that from now on; but of an answer with another''s than the '
    'purchase bears by which it was asked nothing is noted: it is another customer''s history.';
