-- Deliveries that nothing but the word of the app's server stands for: Apple is asked about them, too.

CREATE TABLE iap.delivery_checks (
    transaction_id text COLLATE "C" NOT NULL,
    bundle_id      text COLLATE "C" NOT NULL,
    environment    text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    finding        text NOT NULL CHECK (finding IN (
        'unknown_to_apple', 'sandbox', 'another_user', 'account_gone', 'unanswered', 'other_product')),
    checked_at     timestamptz NOT NULL,
    times          integer NOT NULL CHECK (times > 0),
    -- NULL where it was asked about often enough.
    next_at        timestamptz,
    PRIMARY KEY (transaction_id, bundle_id, environment)
);
COMMENT ON TABLE iap.delivery_checks IS
    'What Apple answered when it was asked about a delivery for which only the app''s server vouched, and does not '
    'prove it.';
COMMENT ON COLUMN iap.delivery_checks.finding IS
    'unknown_to_apple: Apple knows no such purchase of the app; sandbox: it was a tester''s; another_user: it bears '
    'the appAccountToken of another user than it was delivered to; account_gone: Apple knows the customer''s account '
    'no longer, and so can''t tell; unanswered: it gave no answer that could be used. These two speak against '
    'nobody. other_product: an import says that another product was delivered than Apple had sold.';

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
    'Has customers and deliveries asked about another night of which Apple gave no answer that could be used, after '
    'those that have been waiting for longer: who is never answered keeps nobody else from it.';

CREATE FUNCTION iap.owners_by_token(bundle_id text, app_account_token text) RETURNS SETOF text
LANGUAGE sql STABLE AS $$
    -- By the collation that tokens are sorted by: see iap.receipts_of. Of whose purchase is asked has that of its ids.
    SELECT user_id FROM iap.orders AS o
    WHERE o.app_account_token = owners_by_token.app_account_token COLLATE "default"
        AND o.bundle_id = owners_by_token.bundle_id
    UNION
    SELECT user_id FROM iap.account_tokens AS a
    WHERE a.app_account_token = owners_by_token.app_account_token COLLATE "default"
        AND a.bundle_id = owners_by_token.bundle_id
$$;
COMMENT ON FUNCTION iap.owners_by_token IS 'Whose an appAccountToken is, as the app''s server said.';

CREATE VIEW iap.unproved AS
SELECT found.finding, found.found_at, t.*
FROM (
    SELECT finding, checked_at AS found_at, transaction_id, bundle_id, environment, NULL::bigint AS move_id
    FROM iap.delivery_checks
    WHERE finding NOT IN ('account_gone', 'unanswered')
    UNION ALL
    SELECT 'other_product', moved_at, transaction_id, bundle_id, environment, move_id
    FROM iap.moves
    -- Of whatever kind: the word that tells of the product may tell of a refund, too.
    WHERE from_place = 'black' AND to_place = 'black' AND from_product_id <> to_product_id
    UNION ALL
    -- More, and nobody paid for the rest; or less, and the customer lacks it. An import need not say how many.
    SELECT 'other_quantity', moved_at, transaction_id, bundle_id, environment, move_id
    FROM iap.moves
    WHERE from_place = 'black' AND to_place = 'black' AND from_units <> to_units AND from_detail <> 'import'
    UNION ALL
    -- A genuine receipt, of an app that may be the customer's own.
    SELECT 'foreign_bundle', delivered_at, transaction_id, bundle_id, environment, NULL
    FROM iap.transactions
    WHERE place = 'black' AND found_bundle_id IS NOT NULL
    UNION ALL
    SELECT 'refunded_before', delivered_at, transaction_id, bundle_id, environment, NULL
    FROM iap.transactions
    WHERE place = 'black' AND refunded_at < delivered_at AND revocation_percentage IS DISTINCT FROM 0
) AS found
JOIN iap.transactions AS t USING (transaction_id, bundle_id, environment)
WHERE t.place = 'black'
    -- Apple has come to know it, in whatever way.
    AND (found.finding NOT IN ('unknown_to_apple', 'sandbox') OR t.source = 'app_server')
    -- That delivery was taken back, and what was known by then was delivered.
    AND NOT EXISTS (
        SELECT FROM iap.moves AS again
        WHERE again.transaction_id = t.transaction_id AND again.bundle_id = t.bundle_id
            AND again.environment = t.environment AND again.move_id > found.move_id AND again.from_place <> 'black'
            AND again.to_place = 'black');
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
    'other_product, other_quantity: Apple sold another product, or more or fewer of it; foreign_bundle: the receipt is '
    'of another app; refunded_before: the money had gone back when it was delivered. Where several are true, all of '
    'them, with commas between.';
COMMENT ON COLUMN finance.delivered_unproved.amount IS 'What was delivered is worth, as the books have it.';
COMMENT ON COLUMN finance.delivered_unproved.found_at IS 'When that was found first.';
COMMENT ON COLUMN finance.delivered_unproved.user_id IS 'The user who got the goods; NULL if support did not say.';
