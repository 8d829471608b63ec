-- What the night makes of entitlements: what they cover is delivered, what was taken back is owed again, and who grants
-- is connected.

CREATE FUNCTION iap.take_for_entitlement(t iap.transactions) RETURNS text
LANGUAGE plpgsql SET lock_timeout = '20ms' AS $$
BEGIN
    RETURN iap.take_for_delivery(t, iap.type_of(t));
EXCEPTION
    WHEN lock_not_available OR deadlock_detected THEN
        RETURN 'locked';
END
$$;
COMMENT ON FUNCTION iap.take_for_entitlement IS
    'iap.take_for_delivery, or locked where another session is about to deliver the same purchase, and does not end.';

CREATE FUNCTION iap.cover(changes iap.change[], run bigint, at timestamptz, actor text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    change    iap.change;
    refusal   text;
    delivered iap.change[] := '{}';
    restored  iap.change[] := '{}';
BEGIN
    FOREACH change IN ARRAY coalesce(changes, '{}') LOOP
        refusal := iap.take_for_entitlement(change.was);
        IF refusal IS NULL THEN
            delivered := delivered || change;
        ELSIF refusal = 'already_delivered' THEN
            -- Bought once, and owed once.
            change.became := iap.excluded(change.was, 'restored', run, at);
            restored := restored || change;
        END IF;
    END LOOP;
    IF delivered <> '{}' THEN
        PERFORM iap.move(delivered, 'entitled', actor, run, at, '{}', 'entitlement');
    END IF;
    IF restored <> '{}' THEN
        PERFORM iap.move(restored, 'withdrawn', actor, run, at, '{}', 'entitlement');
    END IF;
    RETURN cardinality(delivered) + cardinality(restored);
END
$$;
COMMENT ON FUNCTION iap.cover IS
    'Writes that purchases were delivered by an entitlement, and says how many left white. A non-consumable, or a '
    'period, that was delivered under another id is not owed; what nobody knows the type of is left for a person then, '
    'and what another session is about to deliver for the next time.';

CREATE FUNCTION iap.granted_after(reached iap.transactions, at timestamptz, most integer) RETURNS iap.change[]
-- In the order of an index, which is read as far as the page takes: were all of white judged and sorted for each page,
-- a first night would judge a million periods as often as they have pages.
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off SET jit = off AS $$
DECLARE
    changes iap.change[];
BEGIN
    SELECT array_agg(ROW(t, iap.delivered(t, user_id, NULL, 'entitlement', at))::iap.change) INTO changes
    FROM (
        SELECT ROW(white.*)::iap.transactions AS t, entitlements.user_id
        FROM transactions AS white
        JOIN entitlements USING (original_transaction_id, bundle_id)
        WHERE white.place = 'white'
            AND iap.is_granted(ROW(white.*)::iap.transactions, entitlements, at)
            AND (white.bundle_id, white.purchased_at, white.transaction_id, white.environment)
                > (reached.bundle_id, reached.purchased_at, reached.transaction_id, reached.environment)
        ORDER BY white.bundle_id, white.purchased_at, white.transaction_id, white.environment
        LIMIT most
        -- Who shortens a grant meanwhile waits until these are black, and finds them.
        FOR UPDATE OF white SKIP LOCKED
        FOR SHARE OF entitlements SKIP LOCKED
    ) AS held;
    RETURN coalesce(changes, '{}');
END
$$;
COMMENT ON FUNCTION iap.granted_after IS
    'So many periods at most, after the last of the page before, that leave white because an entitlement covers them; '
    'locked.';

CREATE FUNCTION iap.cover_entitled(run bigint, at timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    changes iap.change[];
    reached iap.transactions;
    covered bigint;
BEGIN
    reached.bundle_id := '';
    reached.purchased_at := '-infinity';
    reached.transaction_id := '';
    reached.environment := '';
    -- Page by page, past those that stay.
    LOOP
        changes := iap.granted_after(reached, at, most);
        covered := iap.cover(changes, run, at, 'iap-reconcile');
        EXIT WHEN covered > 0 OR cardinality(changes) < most;
        reached := (changes[cardinality(changes)]).was;
    END LOOP;
    RETURN covered;
END
$$;
COMMENT ON FUNCTION iap.cover_entitled IS
    'Moves so many periods at most from white to black that an entitlement covers, and says how many: none, where none '
    'is left. What another session has locked is left for the next time.';

CREATE FUNCTION iap.uncover(run bigint, at timestamptz, most integer) RETURNS bigint
-- By the primary keys, even where the plan was made when the tables were small.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    since   timestamptz := iap.looks_back_to(at);
    closed  audit.frontier := (SELECT frontier FROM audit.frontier);
    changes iap.change[];
BEGIN
    SELECT coalesce(array_agg(ROW(held.t, iap.owed_again(held.t))::iap.change), '{}') INTO changes
    FROM (
        SELECT locked.t
        FROM (
            SELECT found.transaction_id, found.bundle_id, found.environment
            FROM entitlements AS shortened
            CROSS JOIN LATERAL (
                SELECT black.transaction_id, black.bundle_id, black.environment
                FROM transactions AS black
                WHERE iap.is_of_original(
                        black.transaction_id, black.original_transaction_id, shortened.original_transaction_id)
                    AND black.bundle_id = shortened.bundle_id AND black.delivered_by = 'entitlement'
                    AND black.refunded_at IS NULL
                    AND NOT iap.is_covered(ROW(black.*)::iap.transactions, ROW(shortened.*)::iap.entitlements, at)
                OFFSET 0
            ) AS found
            WHERE shortened.revoked_at IS NOT NULL
                AND greatest(shortened.revoked_at, shortened.entitled_until) > since
            UNION
            -- An upgrade that was heard of before what it took the place of: only now it shows that the grant was none
            -- of the upgrade's.
            SELECT found.transaction_id, found.bundle_id, found.environment
            FROM transactions AS replaced
            JOIN entitlements USING (original_transaction_id, bundle_id)
            CROSS JOIN LATERAL (
                SELECT black.transaction_id, black.bundle_id, black.environment
                FROM transactions AS black
                WHERE iap.is_of_original(
                        black.transaction_id, black.original_transaction_id, replaced.original_transaction_id)
                    AND black.bundle_id = replaced.bundle_id AND black.environment = replaced.environment
                    AND black.delivered_by = 'entitlement' AND black.refunded_at IS NULL
                    AND black.product_id <> replaced.product_id AND black.purchased_at > replaced.purchased_at
                    AND iap.is_bought_since(
                        ROW(black.*)::iap.transactions, iap.said_for(ROW(black.*)::iap.transactions, entitlements))
                OFFSET 0
            ) AS found
            WHERE iap.is_beyond(replaced.entry_id, closed.upto, closed.gaps)
                AND (replaced.expires_at IS NOT NULL OR replaced.product_type = 'auto_renewable')
        ) AS found
        CROSS JOIN LATERAL (
            SELECT ROW(black.*)::iap.transactions AS t
            FROM transactions AS black
            WHERE black.transaction_id = found.transaction_id AND black.bundle_id = found.bundle_id
                AND black.environment = found.environment AND black.delivered_by = 'entitlement'
                AND black.refunded_at IS NULL
            FOR UPDATE SKIP LOCKED
        ) AS locked
        LIMIT most
    ) AS held;
    IF changes <> '{}' THEN
        PERFORM iap.move(changes, 'revoked', 'iap-reconcile', run, at, '{}', 'entitlement');
        PERFORM iap.watch_again(changes);
    END IF;
    RETURN cardinality(changes);
END
$$;
COMMENT ON FUNCTION iap.uncover IS
    'Moves so many periods at most from black back to white that a grant which was shortened lately does not reach to '
    'the end of any more, or that are upgrades and were taken for granted before that was heard of which they took the '
    'place of; says how many: none, where none is left. A grant may be shortened while another session writes that it '
    'delivered.';

CREATE FUNCTION iap.connect() RETURNS void
-- The planner takes what it can't see the number of for a third of all that ever moved: then it reads the whole ledger.
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    closed audit.frontier := (SELECT frontier FROM audit.frontier);
BEGIN
    INSERT INTO connections (bundle_id, environment, product_type, connected_at)
    SELECT
        delivery.bundle_id, delivery.environment,
        coalesce(iap.type_by(delivery.product_type, delivery.source, products.type), 'unknown'), min(delivery.at)
    FROM (
        SELECT t.bundle_id, t.environment, t.product_id, t.product_type, t.source, moves.moved_at AS at
        FROM moves
        CROSS JOIN LATERAL (
            SELECT * FROM transactions AS found
            WHERE found.transaction_id = moves.transaction_id AND found.bundle_id = moves.bundle_id
                AND found.environment = moves.environment
            OFFSET 0
        ) AS t
        WHERE moves.kind IN ('claimed', 'imported') AND iap.is_beyond(moves.move_id, closed.upto, closed.gaps)
        UNION ALL
        SELECT bundle_id, environment, product_id, product_type, source, first_seen_at
        FROM transactions
        WHERE delivered_by = 'import' AND iap.is_beyond(entry_id, closed.upto, closed.gaps)
    ) AS delivery
    LEFT JOIN products ON products.bundle_id = delivery.bundle_id AND products.product_id = delivery.product_id
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
    ON CONFLICT (bundle_id, environment, product_type) DO NOTHING;
END
$$;
COMMENT ON FUNCTION iap.connect IS
    'Notes which apps have begun to claim purchases of which type, or had deliveries imported, since the books were '
    'closed last.';
