-- The one writer of changes: `iap.move` writes rows as they shall be, seals them, logs the moves, closes and opens the
-- cases, and keeps what was bought once owed once. Tables are named without their schema, for a dry run's shadows.

CREATE FUNCTION iap.kind_of_move(was iap.transactions, became iap.transactions) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN was.refunded_at IS NULL AND became.refunded_at IS NOT NULL THEN 'refunded'
        WHEN was.refund_run_id IS NOT NULL AND became.refunded_at IS NULL THEN 'refund_reversed'
        WHEN was.place = 'excluded' AND (became.place, became.reason) IS DISTINCT FROM (was.place, was.reason)
            THEN 'released'
        WHEN was.place = 'white' AND became.place <> 'white' THEN 'withdrawn'
        ELSE 'corrected'
    END
$$;
COMMENT ON FUNCTION iap.kind_of_move IS 'Why a transaction that Apple told of moved.';

CREATE FUNCTION iap.refund_shares(was iap.transactions, became iap.transactions) RETURNS jsonb
-- What makes JSON is no more than that: only so it is part of the statement, and no call for each move.
LANGUAGE sql STABLE AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object(
        'from_refund_percentage', (was).revocation_percentage,
        'to_refund_percentage', (became).revocation_percentage))
$$;
COMMENT ON FUNCTION iap.refund_shares IS
    'What a move says of the shares that went back, in thousandths of a percent; nothing where Apple told of none.';

CREATE FUNCTION iap.is_parted(was iap.transactions, became iap.transactions) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT ($1).original_transaction_id <> ($2).original_transaction_id
        OR coalesce(($1).web_order_line_item_id <> ($2).web_order_line_item_id, false)
        -- What a family shares was another purchase.
        OR (($2).is_family_shared AND NOT ($1).is_family_shared)
$$;
COMMENT ON FUNCTION iap.is_parted IS
    'Whether a transaction is of another original purchase, or period, than was known; or of none of its own, for a '
    'family shares it.';

CREATE FUNCTION iap.parted_from(was iap.transactions, became iap.transactions) RETURNS jsonb
-- As iap.refund_shares.
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN iap.is_parted(was, became)
        THEN jsonb_strip_nulls(jsonb_build_object(
            'from_original', (was).original_transaction_id, 'from_period', (was).web_order_line_item_id))
        ELSE '{}'
    END
$$;
COMMENT ON FUNCTION iap.parted_from IS
    'What a move says of the original purchase, and period, that a transaction was taken for; nothing where that is '
    'right.';

CREATE FUNCTION iap.release_originals(changes iap.change[]) RETURNS void
-- Nobody else may take away what keeps a purchase from being delivered twice.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
DECLARE
    still iap.transactions[];
BEGIN
    -- Also in a dry run nothing of what is delivered: there the ledger still has it so.
    WITH released AS (
        DELETE FROM delivered_originals AS taken
        USING unnest(changes) AS c
        WHERE taken.original_transaction_id IN ((c.was).original_transaction_id, (c.was).transaction_id)
            AND taken.bundle_id = (c.was).bundle_id AND taken.environment = (c.was).environment
            AND taken.transaction_id = (c.was).transaction_id
            AND EXISTS (
                SELECT FROM transactions AS t
                WHERE t.transaction_id = taken.transaction_id AND t.bundle_id = taken.bundle_id
                    AND t.environment = taken.environment
                    AND (
                        t.place <> 'black' OR t.is_family_shared
                        OR taken.original_transaction_id NOT IN (t.original_transaction_id, t.transaction_id)
                        OR taken.web_order_line_item_id NOT IN ('', coalesce(t.web_order_line_item_id, ''))))
        RETURNING taken.*
    )
    SELECT array_agg(ROW(black.*)::iap.transactions) INTO still
    FROM released
    CROSS JOIN LATERAL (
        SELECT * FROM transactions AS t
        WHERE (
                t.transaction_id = released.original_transaction_id
                OR iap.is_of_original(
                    t.transaction_id, t.original_transaction_id, released.original_transaction_id))
            AND t.bundle_id = released.bundle_id AND t.environment = released.environment AND t.place = 'black'
            AND released.web_order_line_item_id IN ('', t.web_order_line_item_id)
        OFFSET 0
    ) AS black;
    -- What was imported beside it is delivered all the same.
    IF still IS NOT NULL THEN
        PERFORM iap.take_originals(still);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.release_originals IS
    'Gives back the original purchases, and periods, of what was delivered and is no more, or was delivered of another '
    'original or period, so that they can be delivered; but for those that were delivered under another id, too.';

CREATE FUNCTION iap.release_orders(changes iap.change[]) RETURNS void
-- Nobody else may take away what keeps an order from being delivered twice.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
BEGIN
    -- In a statement of its own: what another purchase of the subscription was delivered for it meanwhile is seen then.
    PERFORM
    FROM delivered_orders AS taken
    JOIN unnest(changes) AS c ON taken.order_id = (c.was).order_id AND taken.bundle_id = (c.was).bundle_id
    ORDER BY taken.order_id, taken.bundle_id
    FOR UPDATE OF taken;
    DELETE FROM delivered_orders AS taken
    USING unnest(changes) AS c
    WHERE taken.order_id = (c.was).order_id AND taken.bundle_id = (c.was).bundle_id
        AND NOT EXISTS (
            SELECT FROM transactions AS t
            WHERE t.order_id = taken.order_id AND t.bundle_id = taken.bundle_id AND t.place = 'black');
END
$$;
COMMENT ON FUNCTION iap.release_orders IS
    'Gives back the orders for which nothing is delivered any more, so that another purchase can be delivered for '
    'them.';

CREATE FUNCTION iap.move(
    changes iap.change[], kind text, actor text, run bigint, at timestamptz, details jsonb DEFAULT '{}',
    who text DEFAULT NULL
) RETURNS void
-- By the primary keys, even where the plan was made when the tables were small. It fits any number of changes, and
-- takes longer to make than one change to write. Nor is it compiled: what is switched off makes it dear on paper, and a
-- session that is not the job's would compile it, for seconds.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    change    iap.change;
    corrected iap.change[];
    alike     iap.transactions[];
    moved     boolean := false;
    placed    boolean := false;
    returned  boolean := false;
    rows      bigint;
BEGIN
    FOR number IN 1 .. cardinality(changes) LOOP
        change := changes[number];
        IF iap.position_of(change.was) IS DISTINCT FROM iap.position_of(change.became)
            OR (change.was).revocation_percentage IS DISTINCT FROM (change.became).revocation_percentage
            OR iap.is_parted(change.was, change.became)
        THEN
            change.became.move_id := nextval('iap.trail');
            changes[number] := change;
            moved := true;
            placed := placed OR (change.was).place <> (change.became).place;
            returned := returned OR ((change.was).place = 'black' AND (change.became).place <> 'black');
        END IF;
    END LOOP;

    -- Only the row that its caller looked at: whoever holds an older one is told to try again.
    UPDATE transactions AS t
    SET place = n.place, original_transaction_id = n.original_transaction_id, product_id = n.product_id,
        product_type = n.product_type, quantity = n.quantity, purchased_at = n.purchased_at,
        original_purchased_at = n.original_purchased_at, expires_at = n.expires_at, is_trial = n.is_trial,
        web_order_line_item_id = n.web_order_line_item_id, app_account_token = n.app_account_token,
        price_milliunits = n.price_milliunits, currency = n.currency, storefront = n.storefront,
        found_bundle_id = n.found_bundle_id, refunded_at = n.refunded_at, refund_reason = n.refund_reason,
        refund_run_id = n.refund_run_id, refund_told_at = n.refund_told_at,
        refund_reversed_at = n.refund_reversed_at,
        revocation_type = n.revocation_type, revocation_percentage = n.revocation_percentage,
        app_transaction_id = n.app_transaction_id, is_family_shared = n.is_family_shared, source = n.source,
        verified_at = n.verified_at, booked_milliunits = n.booked_milliunits, booked_currency = n.booked_currency,
        booked_as = n.booked_as, admitted_user_id = n.admitted_user_id,
        admitted_receipt_id = n.admitted_receipt_id, nights_confirmed = n.nights_confirmed,
        last_confirmed_at = n.last_confirmed_at, user_id = n.user_id, order_id = n.order_id,
        delivered_by = n.delivered_by, delivered_at = n.delivered_at, reason = n.reason,
        excluded_at = n.excluded_at, excluded_run_id = n.excluded_run_id, move_id = n.move_id,
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN t.seal = audit.seal(c.was) THEN audit.seal(c.became) ELSE t.seal END
    FROM unnest(changes) AS c
    CROSS JOIN LATERAL (SELECT (c.became).*) AS n
    WHERE t.transaction_id = n.transaction_id AND t.bundle_id = n.bundle_id AND t.environment = n.environment
        AND t.place = (c.was).place AND t.seal IS NOT DISTINCT FROM (c.was).seal;
    GET DIAGNOSTICS rows = ROW_COUNT;
    IF rows <> cardinality(changes) THEN
        RAISE EXCEPTION 'could not move a transaction that another session moved meanwhile'
            USING ERRCODE = 'serialization_failure', HINT = 'Try the transaction again.';
    END IF;
    IF moved THEN
        PERFORM iap.log_moves(changes, kind, actor, run, at, details);
    END IF;
    IF returned THEN
        PERFORM iap.release_originals(changes);
        -- What is withdrawn for the sake of another id was delivered for its order under that one.
        IF kind IS DISTINCT FROM 'withdrawn' THEN
            PERFORM iap.release_orders(changes);
        END IF;
    END IF;
    -- What was delivered under another original than Apple knows keeps that one from being delivered again, and the
    -- other no more; and a subscription that an app's server admitted, or a company imported, the period that Apple
    -- tells of. What turns out to be shared in a family keeps none.
    SELECT array_agg(c) FILTER (WHERE (c.became).place = 'black'), array_agg(c.became) INTO corrected, alike
    FROM unnest(changes) AS c
    WHERE (c.was).place = (c.became).place AND ((c.became).place = 'black' OR (c.became).reason = 'refunded')
        AND (
            (c.was).original_transaction_id, (c.was).product_type, (c.was).web_order_line_item_id,
            (c.was).is_family_shared)
            IS DISTINCT FROM (
                (c.became).original_transaction_id, (c.became).product_type, (c.became).web_order_line_item_id,
                (c.became).is_family_shared);
    IF corrected IS NOT NULL THEN
        PERFORM iap.take_corrected(corrected);
        PERFORM iap.withdraw_counted_twice(corrected, actor, run, at);
    END IF;
    -- Under another id the same may have been refunded long ago.
    IF alike IS NOT NULL THEN
        PERFORM iap.count_refunds_once(run, at, alike);
    END IF;
    IF placed THEN
        PERFORM iap.follow_cases(changes, kind, coalesce(who, 'run ' || run, actor), run, at, details ->> 'note');
    END IF;
END
$$;
COMMENT ON FUNCTION iap.move IS
    'Writes rows that a transition gave, which the caller has locked: seals them, logs those whose place, amount or '
    'original is another, and closes or opens their cases. kind says why; NULL where Apple''s word tells.';

CREATE FUNCTION iap.log_moves(
    changes iap.change[], kind text, actor text, run bigint, at timestamptz, details jsonb
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO moves
    SELECT move.*, audit.seal(ROW(move.*, NULL)::iap.moves)
    FROM (
        SELECT
            (c.became).move_id, (c.became).transaction_id, (c.became).bundle_id, (c.became).environment,
            coalesce(log_moves.kind, iap.kind_of_move(c.was, c.became)), log_moves.actor, run,
            -- Never before its entry, or the move before: a transaction that began before midnight may move what
            -- entered, or moved, after it, and the books have both by their days.
            greatest(at, (c.was).first_seen_at, (
                SELECT latest.moved_at
                FROM moves AS latest
                WHERE latest.transaction_id = (c.was).transaction_id AND latest.move_id = (c.was).move_id)),
            was.place, became.place, was.detail, became.detail,
            was.day, became.day, was.refund_day, became.refund_day,
            was.product_id, became.product_id, was.units, became.units, was.milliunits, became.milliunits,
            was.currency, became.currency, was.booked_as, became.booked_as,
            log_moves.details || iap.refund_shares(c.was, c.became) || iap.parted_from(c.was, c.became)
        FROM unnest(changes) AS c
        CROSS JOIN LATERAL (SELECT (iap.position_of(c.was)).*) AS was
        CROSS JOIN LATERAL (SELECT (iap.position_of(c.became)).*) AS became
        WHERE (c.became).move_id IS DISTINCT FROM (c.was).move_id
    ) AS move;
END
$$;
COMMENT ON FUNCTION iap.log_moves IS 'Writes the moves of those changes that have a new number.';
