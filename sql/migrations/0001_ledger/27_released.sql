-- A purchase that was withdrawn for the sake of another id, or that a setting excluded, and that is owed after all:
-- released by the night.

CREATE FUNCTION iap.take_untaken(run bigint, at timestamptz) RETURNS void
-- By the primary keys, as iap.withdraw_all_restored.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    known  record;
    change iap.change;
BEGIN
    FOR known IN
        SELECT untaken.original_transaction_id, locked.t
        FROM untaken_originals AS untaken
        CROSS JOIN LATERAL (
            SELECT ROW(delivered.*)::iap.transactions AS t
            FROM transactions AS delivered
            WHERE delivered.transaction_id = untaken.transaction_id AND delivered.bundle_id = untaken.bundle_id
                AND delivered.environment = untaken.environment
            FOR UPDATE SKIP LOCKED
        ) AS locked
    LOOP
        DELETE FROM untaken_originals AS untaken
        WHERE untaken.transaction_id = (known.t).transaction_id AND untaken.bundle_id = (known.t).bundle_id
            AND untaken.environment = (known.t).environment
            AND untaken.original_transaction_id = known.original_transaction_id;
        change.was := known.t;
        change.was.original_transaction_id := known.original_transaction_id;
        change.became := known.t;
        IF (known.t).place = 'black' THEN
            -- Which notes it again, where another session is in the way again.
            PERFORM iap.take_corrected(ARRAY[change]);
            PERFORM iap.withdraw_counted_twice(ARRAY[change], 'iap-reconcile', run, at);
        ELSE
            PERFORM iap.release_originals(ARRAY[change]);
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iap.take_untaken IS
    'Has iap.delivered_originals say what Apple told of what was delivered, where another session kept '
    'iap.take_corrected from it.';

CREATE FUNCTION iap.reverse_otherwise(run bigint, at timestamptz) RETURNS void
-- By the primary keys, as iap.withdraw_all_restored.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    known  record;
    became iap.transactions;
BEGIN
    FOR known IN
        WITH reversed AS MATERIALIZED (
            SELECT transaction_id, bundle_id, environment, max(signed_at) AS reversed_at
            FROM notices
            WHERE type = 'REFUND_REVERSED'
            GROUP BY transaction_id, bundle_id, environment
        ), paid AS MATERIALIZED (
            SELECT t, reversed_at
            FROM reversed
            CROSS JOIN LATERAL (
                SELECT ROW(of_it.*)::iap.transactions AS t
                FROM transactions AS of_it
                WHERE of_it.transaction_id = reversed.transaction_id AND of_it.bundle_id = reversed.bundle_id
                    AND of_it.environment = reversed.environment AND of_it.refunded_at IS NULL
                OFFSET 0
            ) AS known
        ), refunded AS MATERIALIZED (
            SELECT same.transaction_id, (t).bundle_id, (t).environment, max(reversed_at) AS reversed_at
            FROM paid
            CROSS JOIN LATERAL (
                SELECT transaction_id
                FROM transactions AS same
                WHERE iap.is_of_original(
                        same.transaction_id, same.original_transaction_id, (t).original_transaction_id)
                    AND same.bundle_id = (t).bundle_id AND same.environment = (t).environment
                    AND same.transaction_id <> (t).transaction_id AND same.refund_run_id IS NOT NULL
                    AND same.refunded_at < reversed_at
                    -- What Apple still tells long after that stands.
                    AND iap.may_not_know(greatest(same.refund_told_at, same.refunded_at), reversed_at)
                    AND iap.is_same_purchase(t, ROW(same.*)::iap.transactions)
                OFFSET 0
            ) AS same
            GROUP BY same.transaction_id, (t).bundle_id, (t).environment
        )
        SELECT locked.t, reversed_at
        FROM refunded
        CROSS JOIN LATERAL (
            SELECT ROW(same.*)::iap.transactions AS t
            FROM transactions AS same
            WHERE same.transaction_id = refunded.transaction_id AND same.bundle_id = refunded.bundle_id
                AND same.environment = refunded.environment AND same.refund_run_id IS NOT NULL
                AND same.refunded_at < reversed_at
            FOR UPDATE SKIP LOCKED
        ) AS locked
    LOOP
        became := iap.paid_again(known.t, known.reversed_at, at);
        -- The id of which Apple told is owed.
        IF became.reason = 'refunded' THEN
            became := iap.excluded(became, 'restored', run, at);
        END IF;
        PERFORM iap.move(ARRAY[ROW(known.t, became)::iap.change], NULL, 'iap-reconcile', run, at);
    END LOOP;
END
$$;
COMMENT ON FUNCTION iap.reverse_otherwise IS
    'Has a refund that Apple took back under one id of a purchase be taken back under its others, of which Apple tells '
    'nothing by itself: where nobody asks Apple again, they would stay refunded, and keep that one from being owed. '
    'What another session has locked is left for the next night.';

CREATE FUNCTION iap.release_restored(run bigint, at timestamptz) RETURNS bigint
-- By the primary keys, as iap.withdraw_all_restored.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    since   timestamptz := iap.looks_back_to(at);
    known   record;
    changes iap.change[];
BEGIN
    PERFORM iap.take_untaken(run, at);
    PERFORM iap.reverse_otherwise(run, at);
    -- Those that another session held when the others were withdrawn.
    FOR known IN
        SELECT DISTINCT refunded.bundle_id, refunded.environment, refunded.transaction_id
        FROM moves
        JOIN transactions AS refunded
            ON refunded.transaction_id = moves.details ->> 'refunded_as' AND refunded.bundle_id = moves.bundle_id
                AND refunded.environment = moves.environment
        WHERE moves.details ? 'refunded_as' AND refunded.reason = 'restored' AND refunded.refunded_at IS NOT NULL
    LOOP
        PERFORM iap.stand_for_refund(known.bundle_id, known.environment, known.transaction_id, run, at);
    END LOOP;
    WITH withdrawn AS MATERIALIZED (
        SELECT restored.transaction_id, restored.bundle_id, restored.environment
        FROM moves
        JOIN transactions AS restored USING (transaction_id, bundle_id, environment)
        -- The move that took it out of white: it may have been corrected since. It is never told before the one before.
        WHERE moves.details ? 'refunded_as' AND moves.moved_at >= restored.excluded_at AND restored.reason = 'restored'
        UNION
        -- Or never got there, for the sake of what was taken for the same.
        SELECT kin.transaction_id, parted.bundle_id, parted.environment
        FROM (
            SELECT DISTINCT details ->> 'from_original' AS original_transaction_id, bundle_id, environment
            FROM moves
            WHERE details ? 'from_original' AND moved_at > since
        ) AS parted
        CROSS JOIN LATERAL (
            SELECT transaction_id
            FROM transactions AS kin
            WHERE iap.is_of_original(
                    kin.transaction_id, kin.original_transaction_id, parted.original_transaction_id)
                AND kin.bundle_id = parted.bundle_id AND kin.environment = parted.environment
                AND kin.reason = 'restored'
            OFFSET 0
        ) AS kin
    ), released AS MATERIALIZED (
        -- Once, however many ids of it were withdrawn.
        SELECT DISTINCT ON (
                restored.original_transaction_id, restored.bundle_id, restored.environment,
                restored.web_order_line_item_id)
            restored.transaction_id, restored.bundle_id, restored.environment
        FROM withdrawn
        JOIN transactions AS restored USING (transaction_id, bundle_id, environment)
        WHERE restored.reason = 'restored' AND restored.refunded_at IS NULL AND NOT restored.is_family_shared
            AND NOT EXISTS (
                SELECT FROM transactions AS same
                WHERE iap.is_of_original(
                        same.transaction_id, same.original_transaction_id, restored.original_transaction_id)
                    AND same.bundle_id = restored.bundle_id AND same.environment = restored.environment
                    AND same.transaction_id <> restored.transaction_id
                    AND same.web_order_line_item_id IS NOT DISTINCT FROM restored.web_order_line_item_id
                    AND NOT same.is_family_shared
                    AND (
                        same.place <> 'excluded' OR same.reason = 'dismissed' OR same.refunded_at IS NOT NULL))
            AND NOT EXISTS (
                SELECT FROM delivered_originals AS taken
                WHERE taken.original_transaction_id IN (restored.original_transaction_id, restored.transaction_id)
                    AND taken.bundle_id = restored.bundle_id AND taken.environment = restored.environment
                    AND taken.web_order_line_item_id = coalesce(restored.web_order_line_item_id, ''))
        ORDER BY
            restored.original_transaction_id, restored.bundle_id, restored.environment,
            restored.web_order_line_item_id, restored.transaction_id <> restored.original_transaction_id,
            restored.transaction_id
    )
    SELECT coalesce(array_agg(ROW(locked.t, iap.owed_again(locked.t))::iap.change), '{}') INTO changes
    FROM released
    CROSS JOIN LATERAL (
        SELECT ROW(restored.*)::iap.transactions AS t
        FROM transactions AS restored
        WHERE restored.transaction_id = released.transaction_id AND restored.bundle_id = released.bundle_id
            AND restored.environment = released.environment AND restored.reason = 'restored'
        FOR UPDATE SKIP LOCKED
    ) AS locked;
    IF changes <> '{}' THEN
        PERFORM iap.move(changes, 'released', 'iap-reconcile', run, at);
        PERFORM iap.watch_again(changes);
    END IF;
    RETURN cardinality(changes);
END
$$;
COMMENT ON FUNCTION iap.release_restored IS
    'Has non-consumables, and periods of subscriptions, owed again that were withdrawn for a refund under another id '
    'which was reversed, or for the sake of what Apple told lately to be another purchase, each purchase under one id, '
    'and says how many.';

CREATE FUNCTION iap.release_unread(
    bundle_id text, environment text, transaction_ids text[], run bigint, at timestamptz
) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    changes iap.change[];
BEGIN
    SELECT
        array_agg(
            ROW(
                held.t,
                CASE
                    -- Somebody paid, and has the money back.
                    WHEN (held.t).refunded_at IS NOT NULL THEN iap.excluded(held.t, 'refunded', run, at)
                    ELSE iap.owed_again(held.t)
                END)::iap.change)
    INTO changes
    FROM (
        SELECT ROW(t.*)::iap.transactions AS t
        FROM transactions AS t
        WHERE transaction_id = ANY (transaction_ids) AND t.bundle_id = release_unread.bundle_id
            AND t.environment = release_unread.environment AND reason IN ('sandbox', 'before_start')
        FOR UPDATE SKIP LOCKED
    ) AS held;
    IF changes IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM iap.move(changes, 'released', 'iap-reconcile', run, at);
    RETURN cardinality(changes);
END
$$;
COMMENT ON FUNCTION iap.release_unread IS
    'Has purchases owed, or refunded as Apple told, that only a setting of their app excluded, which was mended since, '
    'and says how many: for those whose receipts can''t be verified again. What another session has locked is left for '
    'the next night.';
