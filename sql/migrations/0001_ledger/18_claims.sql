-- The claim: who may have the goods of a purchase, and that they go out once.

CREATE FUNCTION iap.claim_outcome(t iap.transactions, user_id text, order_id text) RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    owners    text[];
    otherwise text;
BEGIN
    IF iap.standing(t) <> 'white' THEN
        RETURN iap.standing(t);
    END IF;
    otherwise := iap.outcome_otherwise(t);
    IF otherwise IN ('excluded', 'already_delivered') THEN
        RETURN otherwise;
    END IF;
    owners := iap.owners_of(t);
    -- Orders are looked for in the collation that they are sorted by: see iap.receipts_of.
    IF EXISTS (
        SELECT FROM orders
        WHERE orders.order_id = claim_outcome.order_id COLLATE "default" AND orders.bundle_id = t.bundle_id
            AND orders.user_id <> claim_outcome.user_id)
        OR (cardinality(owners) = 1 AND owners[1] <> claim_outcome.user_id)
    THEN
        RETURN 'wrong_user';
    ELSIF iap.is_order_used(t, claim_outcome.order_id) THEN
        RETURN 'order_used';
    ELSIF cardinality(owners) > 1 THEN
        RETURN 'undecided';
    END IF;
    RETURN otherwise;
END
$$;
COMMENT ON FUNCTION iap.claim_outcome IS
    'Why a claim gets nothing; NULL where it may be delivered.';

CREATE FUNCTION iap.take_order(t iap.transactions, order_id text, OUT is_ours boolean, OUT is_new boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO delivered_orders (order_id, bundle_id, original_transaction_id)
    VALUES (take_order.order_id, t.bundle_id, t.original_transaction_id)
    ON CONFLICT DO NOTHING;
    is_new := FOUND;
    -- Written, and not only locked: who is about to give it back waits, and then sees what was delivered for it.
    UPDATE delivered_orders AS taken SET original_transaction_id = taken.original_transaction_id
    WHERE NOT is_new AND taken.order_id = take_order.order_id COLLATE "default" AND taken.bundle_id = t.bundle_id;
    is_ours := is_new OR EXISTS (
        SELECT FROM delivered_orders AS taken
        WHERE taken.order_id = take_order.order_id COLLATE "default" AND taken.bundle_id = t.bundle_id
            AND taken.original_transaction_id = t.original_transaction_id)
        -- Or it was taken for an original that Apple has corrected since.
        OR EXISTS (
            SELECT FROM transactions AS served
            WHERE served.order_id = take_order.order_id COLLATE "default" AND served.bundle_id = t.bundle_id
                AND served.place = 'black' AND served.original_transaction_id = t.original_transaction_id);
END
$$;
COMMENT ON FUNCTION iap.take_order IS
    'Takes an order for the delivery of a purchase: whether it is this purchase''s, and whether that is new.';

CREATE FUNCTION iap.meet_grant(bundle_id text, original_transaction_id text) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM
    FROM iap.entitlements AS e
    WHERE e.original_transaction_id = meet_grant.original_transaction_id AND e.bundle_id = meet_grant.bundle_id
    FOR SHARE;
    IF NOT FOUND THEN
        INSERT INTO iap.entitlements (
            original_transaction_id, bundle_id, user_id, entitled_until, first_granted_at, granted_at)
        VALUES (
            meet_grant.original_transaction_id, meet_grant.bundle_id, '', '-infinity', '-infinity', '-infinity')
        ON CONFLICT (original_transaction_id, bundle_id) DO NOTHING;
    END IF;
    -- Rolled back at once: who grants waits for nobody who only asks.
    RAISE EXCEPTION USING ERRCODE = 'IAP01', MESSAGE = 'met';
EXCEPTION
    WHEN SQLSTATE 'IAP01' THEN NULL;
END
$$;
COMMENT ON FUNCTION iap.meet_grant IS
    'Waits for a session that is about to grant what an original transaction bought, and ends with a serialization '
    'failure where it was granted after the caller''s snapshot: only a row that is written in its place meets one that '
    'is not there yet. Leaves no row and no lock.';

CREATE FUNCTION iap.meet_grants(bundle_id text, transaction_id text) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM iap.meet_grant(meet_grants.bundle_id, original_transaction_id)
    FROM (
        SELECT DISTINCT t.original_transaction_id
        FROM iap.transactions AS t
        WHERE t.transaction_id = meet_grants.transaction_id AND t.bundle_id = meet_grants.bundle_id
            AND t.place = 'white' AND iap.type_of(ROW(t.*)::iap.transactions) IS DISTINCT FROM 'consumable'
    ) AS asked;
END
$$;
COMMENT ON FUNCTION iap.meet_grants IS 'iap.meet_grant, for what a claim asks for.';

CREATE FUNCTION iap.owed_as(t iap.transactions) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT transaction_id
        FROM transactions
        WHERE t.reason = 'restored'
            AND iap.is_of_original(transaction_id, original_transaction_id, t.original_transaction_id)
            AND bundle_id = t.bundle_id AND environment = t.environment AND product_id = t.product_id
            -- Of a subscription the same period; what is bought once has none.
            AND web_order_line_item_id IS NOT DISTINCT FROM t.web_order_line_item_id AND place = 'white'
            -- What a third id of it was refunded or delivered under is owed under none.
            AND (iap.outcome_otherwise(ROW(transactions.*)::iap.transactions) IN ('excluded', 'already_delivered'))
                IS NOT TRUE
        -- Of several the one that the night has stand for all: see iap.withdraw_all_restored.
        ORDER BY source = 'app_server', transaction_id <> original_transaction_id, transaction_id
        LIMIT 1);
END
$$;
COMMENT ON FUNCTION iap.owed_as IS
    'Under which id a restored purchase, or period of a subscription, is still owed: of several one of which Apple '
    'told, then the original''s, then the lowest. NULL where it is not.';

CREATE FUNCTION iap.held_for_claim(bundle_id text, transaction_id text) RETURNS iap.transactions
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    held iap.transactions;
    t    iap.transactions;
BEGIN
    FOR held IN
        SELECT * FROM iap.transactions
        WHERE transaction_id = held_for_claim.transaction_id AND bundle_id = held_for_claim.bundle_id
        ORDER BY environment
        FOR UPDATE
    LOOP
        IF t.transaction_id IS NULL
            OR (held.place = 'white' AND iap.standing(t) = 'excluded' AND iap.owed_as(t) IS NULL)
        THEN
            t := held;
        END IF;
    END LOOP;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.held_for_claim IS
    'The transaction that a claim of an id is of, locked; all NULL if there is none. The same id in both environments '
    'is two rows: production''s decides, unless nothing of it is owed or delivered, under whatever id, and the other '
    'is owed.';

CREATE FUNCTION iap.note_attempt(attempt iap.claims, t iap.transactions) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        -- Of any number of claims of an id one gets this row, in whatever environment and at any isolation level.
        INSERT INTO iap.claims (transaction_id, bundle_id, user_id, order_id, outcome, attempted_at, seal)
        VALUES (
            attempt.transaction_id, attempt.bundle_id, attempt.user_id, attempt.order_id, attempt.outcome,
            attempt.attempted_at, audit.seal(attempt))
        ON CONFLICT (transaction_id, bundle_id) WHERE outcome = 'delivered' DO NOTHING;
        EXIT WHEN FOUND;
        PERFORM iap.release_originals(ARRAY[ROW(t, t)::iap.change]);
        attempt.outcome := 'undecided';
    END LOOP;
    RETURN attempt.outcome;
END
$$;
COMMENT ON FUNCTION iap.note_attempt IS
    'Writes an attempt to claim, and gives its outcome: undecided where it would be delivered, and another claim of '
    'the id was.';

CREATE FUNCTION iap.claim(bundle_id text, transaction_id text, user_id text, order_id text DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    t       iap.transactions;
    outcome text;
    at      timestamptz := iap.present();
    who     text := 'claim:' || claim.user_id;
    attempt iap.claims;
    wanted  text := nullif(claim.order_id, '');
    is_ours boolean := true;
    is_new  boolean := false;
    owed_as text;
    type    text;
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_bundle_id(claim.bundle_id);
    PERFORM iap.require_transaction_id('transaction_id', claim.transaction_id);
    PERFORM iap.require_text('user_id', claim.user_id, 1000);
    IF wanted IS NOT NULL THEN
        PERFORM iap.require_text('order_id', wanted, 1000);
    END IF;

    PERFORM iap.meet_grants(claim.bundle_id, claim.transaction_id);
    t := iap.held_for_claim(claim.bundle_id, claim.transaction_id);
    -- Who restores a purchase may hold no other id of it than the one that it was restored under.
    IF t.reason = 'restored' AND iap.standing(t) <> 'already_delivered' AND NOT iap.is_elsewhere(t) THEN
        owed_as := iap.owed_as(t);
        -- A tester's may be owed under an id that is another purchase's in production.
        IF owed_as IS NOT NULL AND t.environment = 'Sandbox' AND EXISTS (
            SELECT FROM iap.transactions AS other
            WHERE other.transaction_id = owed_as AND other.bundle_id = t.bundle_id
                AND other.environment = 'Production')
        THEN
            outcome := 'undecided';
        ELSIF owed_as IS NOT NULL THEN
            RETURN iap.claim(claim.bundle_id, owed_as, claim.user_id, claim.order_id);
        END IF;
    END IF;
    -- An order that is about to be purged as never paid is looked at again before it goes.
    PERFORM FROM iap.orders WHERE order_id = wanted COLLATE "default" AND bundle_id = claim.bundle_id FOR KEY SHARE;
    outcome := coalesce(outcome, iap.claim_outcome(t, claim.user_id, wanted));
    IF outcome IS NULL AND wanted IS NOT NULL THEN
        SELECT order_is.is_ours, order_is.is_new INTO is_ours, is_new FROM iap.take_order(t, wanted) AS order_is;
        IF NOT is_ours THEN
            outcome := 'order_used';
        END IF;
    END IF;
    IF outcome IS NULL THEN
        type := iap.type_of(t);
        outcome := iap.take_for_delivery(t, type);
        IF outcome IS NULL AND type IS DISTINCT FROM 'consumable'
            AND (iap.refunded_meanwhile_as(t) IS NOT NULL OR iap.is_dismissed_otherwise(t))
        THEN
            PERFORM iap.release_originals(ARRAY[ROW(t, t)::iap.change]);
            outcome := 'excluded';
        END IF;
    END IF;
    IF outcome = 'already_delivered' AND t.place = 'white'
        AND (iap.is_delivered_otherwise(t) OR iap.is_period_delivered(t))
    THEN
        PERFORM iap.move(
            ARRAY[ROW(t, iap.excluded(t, 'restored', NULL, at))::iap.change], 'withdrawn', session_user, NULL, at,
            '{}', who);
    END IF;

    attempt.transaction_id := claim.transaction_id;
    attempt.bundle_id := claim.bundle_id;
    attempt.user_id := claim.user_id;
    attempt.order_id := wanted;
    attempt.attempted_at := now();
    attempt.outcome := coalesce(outcome, 'delivered');
    attempt.outcome := iap.note_attempt(attempt, t);
    IF is_new AND attempt.outcome <> 'delivered' THEN
        DELETE FROM iap.delivered_orders WHERE order_id = wanted COLLATE "default" AND bundle_id = t.bundle_id;
    END IF;
    IF attempt.outcome = 'delivered' THEN
        PERFORM iap.move(
            ARRAY[ROW(t, iap.delivered(t, claim.user_id, wanted, 'claim', at))::iap.change], 'claimed',
            session_user, NULL, at, jsonb_build_object('user_id', claim.user_id, 'order_id', wanted), who);
        PERFORM iap.withdraw_restored(t, session_user, at, who);
    END IF;
    RETURN attempt.outcome;
END
$$;
COMMENT ON FUNCTION iap.claim IS
    'Moves one transaction from white to black, in the caller''s transaction, which credits the goods: delivered, or '
    'why not: already_delivered, not_verified, wrong_user, order_used by another purchase, excluded, or undecided, '
    'which is for the support desk. A restored non-consumable is claimed as the purchase, where that is still owed. '
    'Exactly one of any number of concurrent claims gets delivered; the others wait for it to commit or roll back. '
    'Credit the goods only on delivered.';
