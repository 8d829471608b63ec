-- A refund of what has several ids: booked once, and for the id under which it was delivered.

CREATE FUNCTION iap.count_refunds_once(
    run bigint, at timestamptz, corrected iap.transactions[] DEFAULT NULL
) RETURNS void
-- By the primary keys, as iap.withdraw_all_restored.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    since  timestamptz := iap.looks_back_to(at);
    known  record;
    closed record;
BEGIN
    -- Of numbers that it does not see, the planner takes a third of all that ever moved to lie beyond.
    SELECT * INTO closed FROM audit.frontier;
    FOR known IN
        WITH recent AS MATERIALIZED (
            SELECT transaction_id, bundle_id, environment
            FROM moves
            WHERE corrected IS NULL AND iap.is_beyond(move_id, closed.upto, closed.gaps)
                AND kind IN ('imported', 'entitled', 'refunded')
            UNION
            SELECT transaction_id, bundle_id, environment
            FROM transactions
            WHERE corrected IS NULL AND iap.is_beyond(entry_id, closed.upto, closed.gaps) AND delivered_by = 'import'
            UNION
            -- Another session may hold one of both, and no night have come for long.
            SELECT transaction_id, bundle_id, environment
            FROM transactions
            WHERE corrected IS NULL AND place = 'excluded' AND reason = 'refunded'
                AND excluded_at > since
            UNION
            -- However long ago, what was not known to be bought once, and is listed so by now: see iap.type_by.
            SELECT refunded.transaction_id, products.bundle_id, refunded.environment
            FROM products
            CROSS JOIN LATERAL (
                SELECT transaction_id, environment
                FROM transactions AS t
                WHERE t.bundle_id = products.bundle_id AND t.product_id = products.product_id AND t.reason = 'refunded'
                    AND (
                        t.product_type IS NULL
                        OR (t.product_type IN ('consumable', 'non_renewing')
                            AND t.source IN ('app_server', 'verify_receipt')))
                OFFSET 0
            ) AS refunded
            WHERE corrected IS NULL AND products.type = 'non_consumable'
            UNION
            SELECT transaction_id, bundle_id, environment
            FROM unnest(corrected)
        ), told AS MATERIALIZED (
            SELECT t.*
            FROM recent
            CROSS JOIN LATERAL (
                SELECT
                    transaction_id, bundle_id, environment, original_transaction_id, web_order_line_item_id,
                    iap.type_of(ROW(t.*)::iap.transactions) AS product_type, place, reason
                FROM transactions AS t
                WHERE t.transaction_id = recent.transaction_id AND t.bundle_id = recent.bundle_id
                    AND t.environment = recent.environment
                OFFSET 0
            ) AS t
        ), refunded AS MATERIALIZED (
            SELECT transaction_id, bundle_id, environment FROM told WHERE reason = 'refunded'
            UNION
            -- A claim asks whether another id was refunded; who grants, or delivered before, does not. Of two that are
            -- refunded either may have to give way, however long it has been known.
            SELECT period.transaction_id, told.bundle_id, told.environment
            FROM told
            CROSS JOIN LATERAL (
                SELECT transaction_id
                FROM transactions AS period
                WHERE period.original_transaction_id = told.original_transaction_id
                    AND period.web_order_line_item_id = told.web_order_line_item_id
                    AND period.bundle_id = told.bundle_id AND period.environment = told.environment
                    AND starts_with(period.place, 'excluded') AND period.refunded_at IS NOT NULL
                    AND period.web_order_line_item_id IS NOT NULL
                OFFSET 0
            ) AS period
            WHERE told.web_order_line_item_id IS NOT NULL
            UNION
            SELECT kin.transaction_id, told.bundle_id, told.environment
            FROM told
            CROSS JOIN LATERAL (
                SELECT transaction_id
                FROM transactions AS kin
                WHERE iap.is_of_original(
                        kin.transaction_id, kin.original_transaction_id, told.original_transaction_id)
                    AND kin.bundle_id = told.bundle_id AND kin.environment = told.environment
                    AND kin.refunded_at IS NOT NULL
                OFFSET 0
            ) AS kin
            WHERE told.web_order_line_item_id IS NULL
                AND coalesce(told.product_type, 'non_consumable') = 'non_consumable'
        ), found AS (
            SELECT DISTINCT ON (t.transaction_id, t.bundle_id, t.environment)
                t.transaction_id, t.bundle_id, t.environment, stands.transaction_id AS known_as,
                CASE stands.place WHEN 'black' THEN 'delivered_as' ELSE 'refunded_as' END AS how
            FROM refunded
            -- By its key: a join would read all that there is, where next to nothing is refunded.
            CROSS JOIN LATERAL (
                SELECT *
                FROM transactions AS of_it
                WHERE of_it.transaction_id = refunded.transaction_id AND of_it.bundle_id = refunded.bundle_id
                    AND of_it.environment = refunded.environment
                OFFSET 0
            ) AS t
            CROSS JOIN LATERAL (
                SELECT *
                FROM transactions AS same
                WHERE iap.is_of_original(
                        same.transaction_id, same.original_transaction_id, t.original_transaction_id)
                    AND same.bundle_id = t.bundle_id AND same.environment = t.environment
                    AND same.transaction_id <> t.transaction_id
                    AND (
                        same.place = 'black'
                        OR (
                            same.reason = 'refunded'
                            AND (
                                -- A person's word stays, and so Apple's tells of the same money.
                                same.refund_run_id IS NULL
                                OR (same.transaction_id <> same.original_transaction_id, same.transaction_id)
                                    < (t.transaction_id <> t.original_transaction_id, t.transaction_id))))
                    AND iap.is_same_purchase(ROW(t.*)::iap.transactions, ROW(same.*)::iap.transactions)
                OFFSET 0
            ) AS stands
            -- By Apple's word: what a person called refunded, they look after, until Apple tells of it for what was
            -- delivered.
            WHERE t.reason = 'refunded'
                AND (t.refund_run_id IS NOT NULL OR (stands.place = 'black' AND stands.refund_run_id IS NOT NULL))
            ORDER BY
                t.transaction_id, t.bundle_id, t.environment, stands.place <> 'black', stands.transaction_id
        )
        SELECT found.how, found.known_as, locked.t
        FROM found
        CROSS JOIN LATERAL (
            SELECT ROW(refunded.*)::iap.transactions AS t
            FROM transactions AS refunded
            WHERE refunded.transaction_id = found.transaction_id AND refunded.bundle_id = found.bundle_id
                AND refunded.environment = found.environment AND refunded.reason = 'refunded'
            FOR UPDATE SKIP LOCKED
        ) AS locked
    LOOP
        PERFORM iap.move(
            ARRAY[ROW(known.t, iap.excluded(known.t, 'restored', run, at))::iap.change], 'corrected', 'iap-reconcile',
            run, at, jsonb_build_object(known.how, known.known_as));
    END LOOP;
END
$$;
COMMENT ON FUNCTION iap.count_refunds_once IS
    'Has a refund that Apple tells of under another id than the purchase was delivered under, or under two ids, count '
    'as one: the other id is restored. So is what a person called refunded, where Apple tells of it for what was '
    'delivered. Begins from what was refunded in the week before the books were closed or later, or delivered since '
    'then, or is bought once as only the list of products says; or from these alone, of which Apple tells another '
    'original or period than was known.';

CREATE FUNCTION iap.carry_reversals(run bigint, at timestamptz) RETURNS bigint
-- By the primary keys, as iap.withdraw_all_restored.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    known   record;
    carried bigint := 0;
BEGIN
    FOR known IN
        SELECT locked.t, restored.refund_reversed_at
        FROM moves
        CROSS JOIN LATERAL (
            SELECT ROW(black.*)::iap.transactions AS t
            FROM transactions AS black
            WHERE black.transaction_id = moves.transaction_id AND black.bundle_id = moves.bundle_id
                AND black.environment = moves.environment AND black.place = 'black'
                AND black.refund_run_id = moves.run_id
                AND (black.refunded_at AT TIME ZONE 'UTC')::date = moves.to_refund_day
            FOR UPDATE SKIP LOCKED
        ) AS locked
        JOIN transactions AS restored
            ON restored.transaction_id = moves.details ->> 'refunded_as' AND restored.bundle_id = moves.bundle_id
                AND restored.environment = moves.environment
        WHERE moves.details ? 'refunded_as' AND moves.kind = 'refunded' AND restored.refunded_at IS NULL
    LOOP
        PERFORM iap.move(
            ARRAY[ROW(known.t, iap.paid_again(known.t, coalesce(known.refund_reversed_at, at), at))::iap.change], NULL,
            'iap-reconcile', run, at);
        carried := carried + 1;
    END LOOP;
    RETURN carried;
END
$$;
COMMENT ON FUNCTION iap.carry_reversals IS
    'Has refunds that iap.carry_refunds carried to what was delivered reversed, where Apple took them back under the '
    'other id of the purchase, and says of how many.';

CREATE FUNCTION iap.carry_refunds(run bigint, at timestamptz) RETURNS bigint
-- By the primary keys, as iap.withdraw_all_restored.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    known   record;
    told    iap.verified;
    carried bigint := 0;
BEGIN
    PERFORM iap.count_refunds_once(run, at);
    FOR known IN
        SELECT
            restored.transaction_id, restored.refunded_at, restored.refund_reason, restored.revocation_type,
            restored.revocation_percentage, restored.refund_told_at, locked.t
        FROM transactions AS restored
        CROSS JOIN LATERAL (
            -- Of several that were delivered, the one whose refund is known is enough.
            SELECT
                black.transaction_id, black.refunded_at, black.refund_reversed_at, black.refund_told_at,
                black.revocation_type, black.revocation_percentage
            FROM transactions AS black
            WHERE iap.is_of_original(
                    black.transaction_id, black.original_transaction_id, restored.original_transaction_id)
                AND black.bundle_id = restored.bundle_id AND black.environment = restored.environment
                AND black.place = 'black'
                AND iap.is_same_purchase(ROW(restored.*)::iap.transactions, ROW(black.*)::iap.transactions)
            ORDER BY black.refunded_at, black.transaction_id
            LIMIT 1
        ) AS delivered
        CROSS JOIN LATERAL (
            SELECT ROW(black.*)::iap.transactions AS t
            FROM transactions AS black
            WHERE black.transaction_id = delivered.transaction_id AND black.bundle_id = restored.bundle_id
                AND black.environment = restored.environment AND black.place = 'black'
                AND black.refunded_at IS NOT DISTINCT FROM delivered.refunded_at
            FOR UPDATE SKIP LOCKED
        ) AS locked
        WHERE restored.reason IN ('restored', 'dismissed') AND restored.refunded_at IS NOT NULL
            AND restored.refund_run_id IS NOT NULL AND NOT restored.is_family_shared
            AND CASE
                -- Of this id Apple said later that there is none.
                WHEN delivered.refunded_at IS NULL
                THEN (delivered.refund_reversed_at < restored.refunded_at) IS NOT FALSE
                -- Apple may have taken back what was carried, and refunded once more, before a night heard of either.
                WHEN iap.is_later_refund(restored.refunded_at, delivered.refunded_at)
                THEN restored.refund_told_at > delivered.refund_told_at AND iap.is_refunded_elsewhere(locked.t)
                -- What kind of refund it is may be told after it was carried.
                ELSE restored.revocation_type IS NOT NULL
                    AND (restored.revocation_type, restored.revocation_percentage)
                        IS DISTINCT FROM (delivered.revocation_type, delivered.revocation_percentage)
                    AND (delivered.revocation_type IS NULL OR restored.refund_told_at > delivered.refund_told_at)
                    AND iap.is_same_refund(restored.refunded_at, delivered.refunded_at)
            END
    LOOP
        told.refunded_at := known.refunded_at;
        told.refund_reason := known.refund_reason;
        told.revocation_type := known.revocation_type;
        told.revocation_percentage := known.revocation_percentage;
        told.made_at := known.refund_told_at;
        -- Two ids of one purchase may be refunded: the first has told of it.
        CONTINUE WHEN EXISTS (
            SELECT FROM transactions AS black
            WHERE black.transaction_id = (known.t).transaction_id AND black.bundle_id = (known.t).bundle_id
                AND black.environment = (known.t).environment
                AND black.move_id IS DISTINCT FROM (known.t).move_id);
        IF iap.is_later_refund(known.refunded_at, (known.t).refunded_at) THEN
            -- As if a night had come between them: each refund that is carried has a move that says from where.
            PERFORM iap.move(
                ARRAY[ROW(known.t, iap.refund_reversed(known.t, known.refunded_at))::iap.change], NULL,
                'iap-reconcile', run, at);
            known.t := iap.locked((known.t).bundle_id, (known.t).environment, (known.t).transaction_id);
        END IF;
        PERFORM iap.move(
            ARRAY[
                ROW(known.t, iap.refunded(known.t, told, coalesce((known.t).refund_run_id, run)))::iap.change],
            NULL, 'iap-reconcile', run, at, jsonb_build_object('refunded_as', known.transaction_id));
        carried := carried + 1;
    END LOOP;
    IF carried > 0 THEN
        -- What a person called refunded is so by Apple's word now.
        PERFORM iap.count_refunds_once(run, at);
    END IF;
    RETURN carried + iap.carry_reversals(run, at);
END
$$;
COMMENT ON FUNCTION iap.carry_refunds IS
    'Has what was delivered refunded where Apple tells of the refund under another id of the purchase, and that refund '
    'reversed where it tells that; says of how many. A refund that Apple tells of the delivered id itself goes first.';
