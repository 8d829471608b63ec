-- How a person is erased from the ledger: their id, and the tokens that are theirs alone.

CREATE FUNCTION iap.open_transactions_of(user_id text) RETURNS SETOF iap.white
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT *
    FROM iap.white
    WHERE white.admitted_user_id = $1
        OR EXISTS (
            SELECT FROM iap.sightings
            WHERE sightings.transaction_id = white.transaction_id AND sightings.bundle_id = white.bundle_id
                AND sightings.environment = white.environment AND sightings.user_id = $1)
        OR EXISTS (
            SELECT FROM iap.cases
            WHERE cases.transaction_id = white.transaction_id AND cases.bundle_id = white.bundle_id
                AND cases.environment = white.environment AND cases.state = 'open'
                AND cases.owner_user_ids @> ARRAY[$1])
        -- And what else iap.owed looks at: tokens, and orders.
        OR (white.transaction_id, white.bundle_id, white.environment) IN (
            SELECT owed.transaction_id, owed.bundle_id, owed.environment
            FROM (SELECT DISTINCT bundle_id FROM iap.white) AS app
            CROSS JOIN LATERAL iap.open_for(app.bundle_id, $1) AS owed)
    ORDER BY white.purchased_at, white.transaction_id;
END
$$;
COMMENT ON FUNCTION iap.open_transactions_of IS 'What is paid and not delivered, and may be owed to a user.';

CREATE FUNCTION iap.erased_token(app_account_token text, salt text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT left(encode(sha256(convert_to($2 || $1, 'UTF8')), 'hex'), 32)::uuid::text
$$;
COMMENT ON FUNCTION iap.erased_token IS
    'What stands in the place of a person''s token once they are erased, the same one everywhere. The salt is drawn '
    'for the erasure, and kept nowhere.';

CREATE FUNCTION iap.is_own_token(bundle_id text, app_account_token text, user_id text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- By the collation that users and tokens are sorted by: see iap.receipts_of.
    RETURN (
        EXISTS (
            SELECT FROM iap.orders AS own
            WHERE own.user_id = is_own_token.user_id COLLATE "default"
                AND own.app_account_token = is_own_token.app_account_token COLLATE "default")
        OR EXISTS (
            SELECT FROM iap.account_tokens AS own
            WHERE own.user_id = is_own_token.user_id COLLATE "default"
                AND own.app_account_token = is_own_token.app_account_token COLLATE "default"))
        AND NOT EXISTS (
            SELECT FROM iap.owners_by_token(is_own_token.bundle_id, is_own_token.app_account_token) AS owner
            WHERE owner <> is_own_token.user_id);
END
$$;
COMMENT ON FUNCTION iap.is_own_token IS
    'Whether a user registered a token, or ordered with it, for whatever app, and nobody else did for this one.';

CREATE FUNCTION iap.is_anothers(t iap.transactions, user_id text, pseudonym text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(coalesce(t.user_id, t.admitted_user_id) <> is_anothers.user_id, false)
        OR EXISTS (
            SELECT FROM iap.owners_by_token(t.bundle_id, t.app_account_token) AS owner
            WHERE owner <> is_anothers.user_id)
        OR EXISTS (
            SELECT FROM iap.sightings
            WHERE sightings.transaction_id = t.transaction_id AND sightings.bundle_id = t.bundle_id
                AND sightings.environment = t.environment
                AND sightings.user_id NOT IN (is_anothers.user_id, pseudonym));
END
$$;
COMMENT ON FUNCTION iap.is_anothers IS
    'Whether anything but a token that is the user''s own says that a purchase is, or may be, another user''s.';

CREATE FUNCTION iap.erased(t iap.transactions, user_id text, pseudonym text, salt text) RETURNS iap.transactions
LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- A token is the user's who registered it, ordered with it, or alone handed the purchase in: on a phone whose users
    -- take turns that may be another's purchase, who has a right to it by the token. Another token stands for it, so
    -- that what it alone said is theirs goes to nobody else, whenever it comes to be owed again.
    IF iap.is_own_token(t.bundle_id, t.app_account_token, erased.user_id)
        OR NOT iap.is_anothers(t, erased.user_id, pseudonym)
    THEN
        -- Of what was only uploaded Apple may yet tell the token: then one stands in its place by now.
        t.app_account_token := iap.erased_token(
            coalesce(
                t.app_account_token,
                CASE WHEN t.user_id IS NULL AND t.admitted_user_id IS NULL THEN t.transaction_id END),
            salt);
    END IF;
    t.user_id := CASE t.user_id WHEN erased.user_id THEN pseudonym ELSE t.user_id END;
    t.admitted_user_id := CASE t.admitted_user_id WHEN erased.user_id THEN pseudonym ELSE t.admitted_user_id END;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.erased IS 'A transaction without a user''s id and tokens.';

CREATE FUNCTION iap.erase_from_transactions(user_id text, pseudonym text, salt text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    changes iap.change[];
    open    iap.white[];
BEGIN
    SELECT array_agg(owed) INTO open FROM iap.open_transactions_of(erase_from_transactions.user_id) AS owed;
    SELECT array_agg(ROW(t, became)::iap.change) INTO changes
    FROM (
        SELECT t, iap.erased(t, erase_from_transactions.user_id, pseudonym, salt) AS became
        FROM (
            SELECT ROW(t.*)::iap.transactions AS t
            FROM iap.transactions AS t
            WHERE t.user_id = erase_from_transactions.user_id OR t.admitted_user_id = erase_from_transactions.user_id
                OR (t.transaction_id, t.bundle_id, t.environment) IN (
                    SELECT owed.transaction_id, owed.bundle_id, owed.environment FROM unnest(open) AS owed)
                -- Wherever it is by now: what was refunded or dismissed may be owed again.
                OR t.app_account_token IN (
                    SELECT orders.app_account_token FROM iap.orders
                    WHERE orders.user_id = erase_from_transactions.user_id
                    UNION
                    SELECT own.app_account_token FROM iap.account_tokens AS own
                    WHERE own.user_id = erase_from_transactions.user_id)
                OR (
                    t.app_account_token IS NOT NULL
                    AND (t.transaction_id, t.bundle_id, t.environment) IN (
                        SELECT seen.transaction_id, seen.bundle_id, seen.environment
                        FROM iap.sightings AS seen
                        WHERE seen.user_id = erase_from_transactions.user_id))
            ORDER BY t.transaction_id, t.bundle_id, t.environment
            FOR UPDATE
        ) AS held
        OFFSET 0
    ) AS looked_at
    WHERE became IS DISTINCT FROM t;
    IF changes IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM iap.move(changes, 'corrected', session_user, NULL, iap.present());
    RETURN cardinality(changes);
END
$$;
COMMENT ON FUNCTION iap.erase_from_transactions IS
    'Replaces a user id and their tokens in the ledger, and says in how many rows. No place and no amount is another.';

CREATE FUNCTION iap.unnamed_receipts_of(pseudonym text) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT array_agg(DISTINCT seen.receipt_id)
        FROM iap.transactions AS t
        JOIN iap.sightings AS seen USING (transaction_id, bundle_id, environment)
        WHERE (
                t.user_id = pseudonym OR t.admitted_user_id = pseudonym
                OR t.app_account_token IN (
                    SELECT orders.app_account_token FROM iap.orders WHERE orders.user_id = pseudonym
                    UNION
                    SELECT own.app_account_token FROM iap.account_tokens AS own WHERE own.user_id = pseudonym))
            -- Of another's receipt the next refund is known. Asked of these few receipts alone: as a join it would ask
            -- of every purchase that there is.
            AND NOT EXISTS (
                SELECT FROM iap.sightings AS beside
                JOIN iap.transactions AS other USING (transaction_id, bundle_id, environment)
                WHERE beside.receipt_id = seen.receipt_id AND beside.bucket = seen.bucket
                    AND iap.is_anothers(
                        ROW(other.*)::iap.transactions, unnamed_receipts_of.pseudonym,
                        unnamed_receipts_of.pseudonym)
                OFFSET 0));
END
$$;
COMMENT ON FUNCTION iap.unnamed_receipts_of IS
    'The receipts in which an erased person''s purchases were seen, and none that may be another''s. Some bear no '
    'user: what Apple told by itself, with the token of the account in it, or what was uploaded before a login.';
