-- How a purchase stands under its other ids: delivered, refunded, dismissed, or in the other environment.

CREATE FUNCTION iap.is_original_delivered(t iap.transactions) RETURNS boolean
-- By the primary key, even where the plan was made when the table was small.
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
BEGIN
    RETURN EXISTS (
        SELECT
        FROM delivered_originals AS taken
        -- Or it is itself what was named as the original of another: an original has none of its own.
        WHERE taken.original_transaction_id IN (t.original_transaction_id, t.transaction_id)
            AND taken.bundle_id = t.bundle_id AND taken.environment = t.environment
            AND taken.web_order_line_item_id = '' AND taken.transaction_id <> t.transaction_id);
END
$$;
COMMENT ON FUNCTION iap.is_original_delivered IS
    'Whether the original purchase was delivered under another transaction id: of a non-consumable, or of what nobody '
    'knew the type of.';

CREATE FUNCTION iap.is_delivered_otherwise(t iap.transactions) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN iap.is_original_delivered(t) AND coalesce(iap.type_of(t) = 'non_consumable', false);
END
$$;
COMMENT ON FUNCTION iap.is_delivered_otherwise IS
    'Whether a non-consumable was delivered under another transaction id: bought once, it is owed once.';

CREATE FUNCTION iap.is_period_delivered(t iap.transactions) RETURNS boolean
-- By the primary key, even where the plan was made when the table was small.
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
BEGIN
    -- Of nothing else does Apple name one.
    RETURN t.web_order_line_item_id IS NOT NULL AND EXISTS (
        SELECT
        FROM delivered_originals AS taken
        WHERE taken.original_transaction_id = t.original_transaction_id AND taken.bundle_id = t.bundle_id
            AND taken.environment = t.environment AND taken.web_order_line_item_id = t.web_order_line_item_id
            AND taken.transaction_id <> t.transaction_id);
END
$$;
COMMENT ON FUNCTION iap.is_period_delivered IS
    'Whether the period of a subscription was delivered under another transaction id: paid once, it is owed once.';

CREATE FUNCTION iap.refunded_as(t iap.transactions) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    type text := iap.type_of(t);
BEGIN
    IF type NOT IN ('non_consumable', 'auto_renewable') THEN
        RETURN NULL;
    END IF;
    RETURN (
        SELECT same.transaction_id
        FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND same.place = 'excluded' AND same.refunded_at IS NOT NULL
            -- What a family shared was another purchase.
            AND NOT same.is_family_shared
            AND (
                iap.is_same_purchase(t, ROW(same.*)::iap.transactions)
                -- Then what Apple said of the other id tells: of several ids is what was restored, and what expires.
                OR (type IS NULL AND same.product_id = t.product_id AND coalesce(
                    iap.type_of(ROW(same.*)::iap.transactions) = 'non_consumable',
                    same.expires_at IS NULL AND same.source <> 'app_server')))
        ORDER BY same.reason <> 'refunded', same.transaction_id
        LIMIT 1);
END
$$;
COMMENT ON FUNCTION iap.refunded_as IS
    'Under which other transaction id a non-consumable, or period of a subscription, was refunded: then it is owed '
    'under none. Of what nobody knows the type of, by what Apple said of the other. NULL where it was not.';

CREATE FUNCTION iap.is_refunded_otherwise(t iap.transactions) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN iap.refunded_as(t) IS NOT NULL; END $$;
COMMENT ON FUNCTION iap.is_refunded_otherwise IS 'Whether iap.refunded_as names another transaction id.';

CREATE FUNCTION iap.is_dismissed_otherwise(t iap.transactions) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND same.reason = 'dismissed' AND same.refunded_at IS NULL
            AND iap.is_same_purchase(t, ROW(same.*)::iap.transactions));
END
$$;
COMMENT ON FUNCTION iap.is_dismissed_otherwise IS
    'Whether the support desk dismissed the purchase under another transaction id, and no money went back.';

CREATE FUNCTION iap.refunded_meanwhile_as(t iap.transactions) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        PERFORM
        FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND NOT starts_with(same.place, 'black')
            AND iap.is_same_purchase(t, ROW(same.*)::iap.transactions)
        FOR SHARE SKIP LOCKED;
    END IF;
    RETURN iap.refunded_as(t);
END
$$;
COMMENT ON FUNCTION iap.refunded_meanwhile_as IS
    'iap.refunded_as, for who has taken what is delivered once, and so has waited for a session that was '
    'about to call it refunded; ends with a serialization failure where another id was moved after the caller''s '
    'snapshot.';

CREATE FUNCTION iap.is_elsewhere(t iap.transactions) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM transactions AS other
        WHERE other.transaction_id = t.transaction_id AND other.bundle_id = t.bundle_id
            AND other.environment <> t.environment
            -- What is not owed in production is not to be had by a test of the same id.
            AND (other.place = 'black' OR other.environment = 'Production'));
END
$$;
COMMENT ON FUNCTION iap.is_elsewhere IS
    'Whether the id of a transaction decides in the other environment: it was delivered there, or is production''s.';

CREATE FUNCTION iap.outcome_otherwise(t iap.transactions) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE
        -- Another of the family paid. It is white where its delivery was taken back, until the night hears of it.
        WHEN t.is_family_shared OR iap.is_refunded_otherwise(t) THEN 'excluded'
        WHEN iap.is_delivered_otherwise(t) OR iap.is_period_delivered(t) OR iap.is_granted_already(t)
            THEN 'already_delivered'
        WHEN iap.is_dismissed_otherwise(t) THEN 'excluded'
        WHEN iap.is_elsewhere(t) OR (iap.type_of(t) IS NULL AND iap.is_original_delivered(t)) THEN 'undecided'
    END;
END
$$;
COMMENT ON FUNCTION iap.outcome_otherwise IS
    'What a claim of a white transaction gets for the sake of another id of the same purchase, or of a grant: excluded '
    'where it was refunded or dismissed, already_delivered, undecided where nobody knows whether it is the same, or '
    'where its id is the other environment''s; NULL where there is neither. So also what is owed, redelivered, and '
    'told of it.';
