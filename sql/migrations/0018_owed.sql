-- What an app's server asks at each login costs what the user has, and not what all of the app's users have: where white
-- was empty at the last ANALYZE, the planner takes the index of all of an app's white for free, and reads it. These two
-- say otherwise what is white, so that nothing but them answers to it.

DROP INDEX iap.transactions_white_by_admission, iap.transactions_white_by_token;
CREATE INDEX transactions_white_by_admission ON iap.transactions (admitted_user_id, bundle_id)
    WHERE starts_with(place, 'white') AND admitted_user_id IS NOT NULL;
CREATE INDEX transactions_white_by_token ON iap.transactions (app_account_token, bundle_id)
    WHERE starts_with(place, 'white') AND app_account_token IS NOT NULL;

CREATE OR REPLACE FUNCTION iap.open_for(bundle_id text, user_id text) RETURNS SETOF iap.transactions
LANGUAGE sql STABLE AS $$
    -- Each by an index of what names the user; iap.owners_of decides which of these are theirs.
    SELECT t.*
    FROM (
        SELECT w.transaction_id, w.environment
        FROM iap.transactions AS w
        WHERE w.admitted_user_id = $2 AND w.bundle_id = $1 AND starts_with(w.place, 'white')
        UNION
        SELECT w.transaction_id, w.environment
        FROM (
            SELECT o.app_account_token AS token FROM iap.orders AS o
            WHERE o.user_id = $2 AND o.bundle_id = $1 AND o.app_account_token IS NOT NULL
            UNION
            SELECT a.app_account_token FROM iap.account_tokens AS a
            WHERE a.user_id = $2 AND a.bundle_id = $1
        ) AS own
        CROSS JOIN LATERAL (
            SELECT found.transaction_id, found.environment
            FROM iap.transactions AS found
            WHERE found.app_account_token = own.token AND found.bundle_id = $1
                AND starts_with(found.place, 'white')
            OFFSET 0
        ) AS w
        UNION
        SELECT s.transaction_id, s.environment
        FROM (
            SELECT r.bucket, r.receipt_id FROM iap.receipts AS r
            WHERE r.user_id = $2 AND r.bundle_id = $1
            UNION
            SELECT u.bucket, u.receipt_id
            FROM iap.orders AS o
            CROSS JOIN LATERAL (
                SELECT named.bucket, named.receipt_id FROM iap.uploads AS named
                WHERE named.order_id = o.order_id
                OFFSET 0
            ) AS u
            WHERE o.user_id = $2 AND o.bundle_id = $1
        ) AS own
        CROSS JOIN LATERAL (
            SELECT seen.transaction_id, seen.environment
            FROM iap.sightings AS seen
            WHERE seen.receipt_id = own.receipt_id AND seen.bucket = own.bucket AND seen.bundle_id = $1
            OFFSET 0
        ) AS s
        UNION
        SELECT c.transaction_id, c.environment
        FROM iap.cases AS c
        WHERE c.owner_user_ids @> ARRAY[$2] AND c.state = 'open' AND c.bundle_id = $1
    ) AS candidate
    CROSS JOIN LATERAL (
        SELECT * FROM iap.transactions AS found
        WHERE found.transaction_id = candidate.transaction_id AND found.bundle_id = $1
            AND found.environment = candidate.environment
        OFFSET 0
    ) AS t
    WHERE t.place = 'white'
$$;
