-- What an app's server keeps of a subscription is until when it has granted it, not which of its periods were paid by
-- which transaction. It says so here, and what it has granted counts as delivered.

CREATE TYPE iap.word AS (until timestamptz, said_at timestamptz);
COMMENT ON TYPE iap.word IS 'Until when an app''s server said that it grants something, and when it said so.';

CREATE TABLE iap.entitlements (
    original_transaction_id text COLLATE "C" NOT NULL,
    bundle_id               text COLLATE "C" NOT NULL,
    user_id                 text NOT NULL,
    entitled_until          timestamptz NOT NULL,
    -- When the server first said a word of it, and when it granted, or said again, what is in force.
    first_granted_at        timestamptz NOT NULL,
    granted_at              timestamptz NOT NULL,
    -- When it was shortened; NULL where the latest word is a grant.
    revoked_at              timestamptz,
    -- What was said besides, that reaches less far. It shortens nothing, but an upgrade that was bought since the
    -- grant, and ends by then, is granted by it alone.
    shorter                 iap.word[] NOT NULL DEFAULT '{}',
    seal                    bigint,
    PRIMARY KEY (original_transaction_id, bundle_id)
);

CREATE INDEX entitlements_by_first_grant ON iap.entitlements (bundle_id, first_granted_at);
CREATE INDEX entitlements_by_user ON iap.entitlements (user_id);
-- What was shortened lately is looked at each night: see iap.uncover.
CREATE INDEX entitlements_by_revocation ON iap.entitlements (greatest(revoked_at, entitled_until))
    WHERE revoked_at IS NOT NULL;

-- From when on an app delivers purchases of a type in a way that the job sees. Filled by the job.
CREATE TABLE iap.connections (
    bundle_id    text COLLATE "C" NOT NULL,
    -- A tester's purchases say nothing of how those of customers are delivered.
    environment  text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    product_type text NOT NULL
        CHECK (product_type IN ('consumable', 'non_consumable', 'auto_renewable', 'non_renewing', 'unknown')),
    connected_at timestamptz NOT NULL,
    PRIMARY KEY (bundle_id, environment, product_type)
);

COMMENT ON TABLE iap.entitlements IS
    'Until when the apps'' servers have granted subscriptions: a row for each original transaction.';
COMMENT ON COLUMN iap.entitlements.seal IS 'Of the whole row: see audit.seal.';
COMMENT ON TABLE iap.connections IS
    'Since when an app delivers purchases of a type in a way that the job sees; filled each night. Before that nothing '
    'of the type is called lost. Of entitlements their own table tells.';

CREATE FUNCTION iap.shorter_said_for(t iap.transactions, shorter iap.word[]) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
    SELECT max(said_at)
    FROM unnest($2)
    WHERE CASE
        WHEN ($1).expires_at IS NULL THEN until > ($1).purchased_at + interval '2 days'
        ELSE iap.reaches(until, ($1).expires_at)
    END
$$;
COMMENT ON FUNCTION iap.shorter_said_for IS
    'When the last of shorter words was said that reaches to the end of a period; NULL where none does.';

CREATE FUNCTION iap.said_for(t iap.transactions, e iap.entitlements) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
    -- Most have no shorter word: no call for each.
    SELECT CASE
        WHEN cardinality(($2).shorter) = 0 THEN ($2).granted_at
        ELSE greatest(($2).granted_at, iap.shorter_said_for($1, ($2).shorter))
    END
$$;
COMMENT ON FUNCTION iap.said_for IS
    'When the last word was said that reaches to the end of a period, or where none does, that reaches furthest. Where '
    'Apple has yet to tell the end, see iap.is_covered.';

CREATE FUNCTION iap.is_covered(t iap.transactions, e iap.entitlements, at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN ($1).expires_at IS NOT NULL THEN iap.reaches(($2).entitled_until, ($1).expires_at)
        -- Apple has yet to tell the end of it. The grant of the period before, which servers stretch over its end, is
        -- none of this one: that is said a day before it at most, and reaches further. The shortest is a trial of three
        -- days. Nor is it known to have no end where nobody knows the type of it; but before an original there is none.
        WHEN (
                ($1).product_type = 'auto_renewable'
                OR (($1).product_type IS NULL AND ($1).transaction_id <> ($1).original_transaction_id))
            AND ($2).entitled_until <> 'infinity'
            THEN iap.said_for($1, $2) > ($1).purchased_at - interval '1 day'
                AND ($2).entitled_until > ($1).purchased_at + interval '2 days'
                AND (($2).revoked_at IS NULL OR ($2).entitled_until > $3)
        -- What has no end of its own was granted, or it was taken back, perhaps from a moment on that lies ahead.
        ELSE ($1).purchased_at < ($2).entitled_until AND (($2).revoked_at IS NULL OR ($2).entitled_until > $3)
    END
$$;
COMMENT ON FUNCTION iap.is_covered IS
    'Whether what an entitlement grants reaches to the end of a period; where that is not known yet, whether it was '
    'said for this period.';

CREATE FUNCTION iap.is_bought_since(t iap.transactions, granted_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN t.purchased_at > granted_at AND EXISTS (
        SELECT FROM transactions AS replaced
        WHERE iap.is_of_original(
                replaced.transaction_id, replaced.original_transaction_id, t.original_transaction_id)
            AND replaced.bundle_id = t.bundle_id AND replaced.environment = t.environment
            AND replaced.product_id <> t.product_id AND replaced.purchased_at < t.purchased_at
            AND (
                replaced.expires_at > t.purchased_at
                -- No period that is paid for is over so soon: the shortest is a trial of three days.
                OR (t.environment = 'Production' AND replaced.purchased_at > t.purchased_at - interval '2 days')
                -- Apple has yet to tell the end of it: a renewal is granted a day ahead at most.
                OR (
                    replaced.expires_at IS NULL AND t.purchased_at > is_bought_since.granted_at + interval '1 day'
                    -- By the next one it was over: the grant was said for that.
                    AND NOT EXISTS (
                        SELECT FROM transactions AS next
                        WHERE iap.is_of_original(
                                next.transaction_id, next.original_transaction_id, t.original_transaction_id)
                            AND next.bundle_id = t.bundle_id AND next.environment = t.environment
                            AND next.purchased_at > replaced.purchased_at
                            AND next.purchased_at <= is_bought_since.granted_at))));
END
$$;
COMMENT ON FUNCTION iap.is_bought_since IS
    'Whether a period is of a product that took another''s place, as an upgrade does, after the grant was said: that '
    'reaches over it for the other''s sake, and has not delivered it. A renewal, also into another product, begins '
    'where the period before ends, and may have been granted ahead.';

CREATE FUNCTION iap.over_at(t iap.transactions) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- Of most Apple told the end: no query for each.
    IF t.expires_at IS NOT NULL THEN
        RETURN t.expires_at;
    END IF;
    -- Apple has yet to tell the end of it: by the next one it was over. What is bought once has none, and what restored
    -- it is no next one.
    RETURN (
        SELECT min(later.purchased_at)
        FROM transactions AS later
        WHERE iap.is_of_original(later.transaction_id, later.original_transaction_id, t.original_transaction_id)
            AND later.bundle_id = t.bundle_id AND later.environment = t.environment
            AND later.purchased_at > t.purchased_at
            AND NOT iap.is_same_purchase(t, ROW(later.*)::iap.transactions));
END
$$;
COMMENT ON FUNCTION iap.over_at IS 'When a period was over, or will be, as far as that is known; NULL where it is not.';

CREATE FUNCTION iap.is_late_case(t iap.transactions, granted_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(iap.over_at(t) <= granted_at, false)
        AND EXISTS (
            SELECT FROM cases
            WHERE cases.periods <> '{}' AND cases.periods @> ARRAY[t.transaction_id]::text[]
                AND cases.bundle_id = t.bundle_id AND cases.environment = t.environment
                -- Where the oldest period was claimed or refunded, its case is closed until a sweep opens one of the
                -- next. What a grant closed it delivered late, and what a sweep withdrew is still white.
                AND (
                    cases.state = 'open'
                    OR (
                        cases.closed_by <> 'entitlement'
                        AND NOT EXISTS (
                            SELECT FROM transactions AS oldest
                            WHERE oldest.transaction_id = cases.transaction_id AND oldest.bundle_id = cases.bundle_id
                                AND oldest.environment = cases.environment AND oldest.place = 'white'))))
        -- What the app's server has taken to deliver late it grants late: after it took it, and before it gave up.
        AND NOT EXISTS (
            SELECT FROM cases
            JOIN redeliveries AS ordered USING (transaction_id, bundle_id, environment)
            WHERE cases.periods <> '{}' AND cases.periods @> ARRAY[t.transaction_id]::text[]
                AND cases.bundle_id = t.bundle_id AND cases.environment = t.environment
                AND ordered.ended_at IS NULL AND ordered.taken_at <= is_late_case.granted_at
                AND NOT iap.is_given_up(ROW(ordered.*)::iap.redeliveries));
END
$$;
COMMENT ON FUNCTION iap.is_late_case IS
    'Whether a period went by without access before it was granted, and was found so: it stays a case, but where that '
    'was said while its redelivery was under way.';

CREATE FUNCTION iap.is_granted_elsewhere(t iap.transactions, granted_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM transactions AS other
        WHERE iap.is_of_original(other.transaction_id, other.original_transaction_id, t.original_transaction_id)
            AND other.bundle_id = t.bundle_id AND other.environment <> t.environment
            AND (
                other.environment = 'Production' OR other.delivered_by = 'entitlement'
                -- Also where testers' purchases are not looked at.
                OR (
                    other.purchased_at <= is_granted_elsewhere.granted_at
                    AND is_granted_elsewhere.granted_at < t.purchased_at)));
END
$$;
COMMENT ON FUNCTION iap.is_granted_elsewhere IS
    'Whether a grant, which names no environment, is of the same original in the other one: production''s, where that '
    'knows it; a tester''s, where it delivered theirs, or was said when there was only theirs.';

CREATE FUNCTION iap.is_granted(
    t iap.transactions, e iap.entitlements, at timestamptz, said_at timestamptz DEFAULT NULL
) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT iap.is_covered($1, $2, $3) AND NOT iap.is_late_case($1, coalesce($4, iap.said_for($1, $2)))
        -- Most were bought before it: no call for each.
        AND (($1).purchased_at <= ($2).granted_at OR NOT iap.is_bought_since($1, iap.said_for($1, $2)))
        AND NOT iap.is_granted_elsewhere($1, iap.said_for($1, $2))
$$;
COMMENT ON FUNCTION iap.is_granted IS
    'Whether an entitlement delivers a period: it covers it, and was said neither after a case had been made of it nor '
    'for what it took the place of, nor in the other environment. said_at is when the server said so last, where it '
    'granted no more by that.';

CREATE FUNCTION iap.is_granted_already(t iap.transactions) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM entitlements AS e
        WHERE e.original_transaction_id = t.original_transaction_id AND e.bundle_id = t.bundle_id
            AND iap.is_granted(t, ROW(e.*)::iap.entitlements, iap.present()));
END
$$;
COMMENT ON FUNCTION iap.is_granted_already IS
    'Whether a white transaction was delivered by a grant, which the night has yet to write: what Apple told of after '
    'it was granted, and what another session held then.';
