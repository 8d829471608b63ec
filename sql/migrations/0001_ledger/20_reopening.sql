-- What the support desk takes back.

CREATE FUNCTION iap.watch_again(changes iap.change[], at timestamptz DEFAULT now()) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    seen record;
BEGIN
    -- A statement a row, by its key: the form that also runs where the inbox is distributed.
    FOR seen IN
        SELECT DISTINCT found.bucket, found.receipt_id
        FROM unnest(changes) AS c
        JOIN sightings AS found
            ON found.transaction_id = (c.was).transaction_id AND found.bundle_id = (c.was).bundle_id
                AND found.environment = (c.was).environment
        ORDER BY found.bucket, found.receipt_id
    LOOP
        UPDATE receipts
        SET state = 'watched', next_attempt_at = watch_again.at,
            -- A seal that does not fit stays, for its row was changed by hand.
            seal = CASE
                WHEN seal = audit.receipt_seal(
                    bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at,
                    state, is_erased)
                THEN audit.receipt_seal(
                    bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at,
                    'watched', is_erased)
                ELSE seal
            END
        WHERE bucket = seen.bucket AND receipt_id = seen.receipt_id AND state = 'settled' AND payload IS NOT NULL;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iap.watch_again IS
    'Has the receipts in which these transactions were seen, unless they were purged, asked again each night, so that '
    'Apple''s refund would be noticed.';

CREATE FUNCTION iap.may_reopen(t iap.transactions) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF t.refunded_at IS NOT NULL AND (t.refund_run_id IS NOT NULL OR t.reason IS DISTINCT FROM 'refunded') THEN
        RETURN false;
    END IF;
    RETURN coalesce(
        t.delivered_by = 'resolved' OR (t.reason IN ('dismissed', 'refunded') AND t.excluded_run_id IS NULL), false);
END
$$;
COMMENT ON FUNCTION iap.may_reopen IS
    'Whether the support desk put a transaction where it is, and Apple has not refunded it since: then that can be '
    'taken back. Never what a claim delivered.';

CREATE FUNCTION iap.is_delivered_beside(t iap.transactions) RETURNS boolean
-- By the primary key, even where the plan was made when the table was small.
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
BEGIN
    RETURN iap.is_delivered_otherwise(t) OR iap.is_period_delivered(t)
        OR EXISTS (
            SELECT FROM transactions AS same
            WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
                AND same.bundle_id = t.bundle_id AND same.environment = t.environment
                -- By words that no index answers to, as in iap.take_for_delivery.
                AND same.transaction_id <> t.transaction_id AND starts_with(same.place, 'black')
                AND iap.is_same_purchase(t, ROW(same.*)::iap.transactions));
END
$$;
COMMENT ON FUNCTION iap.is_delivered_beside IS
    'Whether a purchase was delivered under another id: also as an import tells, or while the list of products called '
    'it something else than bought once. Then what was resolved by mistake is not owed again.';

CREATE FUNCTION iap.placing_of(t iap.transactions) RETURNS iap.moves
LANGUAGE sql STABLE AS $$
    SELECT *
    FROM iap.moves
    WHERE moves.transaction_id = t.transaction_id AND moves.bundle_id = t.bundle_id
        AND moves.environment = t.environment AND moves.from_place <> moves.to_place
    ORDER BY moves.move_id DESC
    LIMIT 1
$$;
COMMENT ON FUNCTION iap.placing_of IS 'The move that put a transaction where it is.';

CREATE FUNCTION iap.reopen(
    transaction_id text, who text, note text, bundle_id text DEFAULT NULL, environment text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    place    record;
    t        iap.transactions;
    was      text;
    at       timestamptz := iap.present();
    restored iap.change[];
    periods  iap.change[];
    changes  iap.change[];
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.limit_waiting();
    PERFORM iap.require_transaction_id('transaction_id', reopen.transaction_id);
    PERFORM iap.require_text('who', reopen.who, 1000);
    PERFORM iap.require_text('note', reopen.note, 10000);

    place := iap.place_of(reopen.transaction_id, reopen.bundle_id, reopen.environment);
    t := iap.locked(place.bundle_id, place.environment, reopen.transaction_id);
    IF t.place = 'white' THEN
        RETURN 'already_white';
    ELSIF t.transaction_id IS NULL OR NOT iap.may_reopen(t) THEN
        RETURN CASE
            WHEN t.refunded_at IS NOT NULL AND t.delivered_by IS DISTINCT FROM 'claim'
                AND t.delivered_by IS DISTINCT FROM 'import' THEN 'refunded'
            ELSE iap.standing(t)
        END;
    ELSIF iap.is_delivered_beside(t) THEN
        RETURN CASE t.place WHEN 'black' THEN 'already_delivered' ELSE 'excluded' END;
    END IF;

    SELECT coalesce(array_agg(ROW(held, iap.owed_again(held))::iap.change), '{}') INTO restored
    FROM (
        -- What left white with it.
        SELECT ROW(kin.*)::iap.transactions AS held
        FROM iap.transactions AS kin
        WHERE EXISTS (
                SELECT
                FROM iap.moves
                WHERE moves.transaction_id = kin.transaction_id AND moves.bundle_id = kin.bundle_id
                    AND moves.environment = kin.environment
                    AND moves.details ->> CASE t.place WHEN 'black' THEN 'delivered_as' ELSE 'dismissed_as' END
                        = t.transaction_id)
            AND iap.is_of_original(kin.transaction_id, kin.original_transaction_id, t.original_transaction_id)
            AND kin.bundle_id = t.bundle_id AND kin.environment = t.environment AND kin.reason = 'restored'
            AND kin.refunded_at IS NULL
        ORDER BY kin.transaction_id
        FOR UPDATE OF kin
    ) AS kin;
    SELECT coalesce(array_agg(ROW(held, iap.owed_again(held))::iap.change), '{}') INTO periods
    FROM (
        -- What the same decision ended with it: the other periods of a subscription's case.
        SELECT ROW(period.*)::iap.transactions AS held
        FROM iap.cases AS told
        JOIN iap.transactions AS period
            ON period.transaction_id = ANY (told.periods) AND period.bundle_id = told.bundle_id
                AND period.environment = told.environment
        -- The moves that put them where they are: what is known of them may have been corrected since.
        CROSS JOIN LATERAL iap.placing_of(ROW(period.*)::iap.transactions) AS ended
        JOIN LATERAL iap.placing_of(t) AS decided
            ON (decided.kind, decided.actor, decided.details ->> 'note')
                = (ended.kind, ended.actor, ended.details ->> 'note')
        WHERE told.transaction_id = t.transaction_id AND told.bundle_id = t.bundle_id
            AND told.environment = t.environment AND period.transaction_id <> t.transaction_id
            AND coalesce(period.delivered_at, period.excluded_at) = coalesce(t.delivered_at, t.excluded_at)
        ORDER BY period.transaction_id
        FOR UPDATE OF period
    ) AS period
    WHERE iap.may_reopen(held) AND NOT iap.is_delivered_beside(held);
    changes := ARRAY[ROW(t, iap.owed_again(t))::iap.change] || restored || periods;
    was := CASE t.place WHEN 'black' THEN 'delivered' ELSE t.reason END;
    -- The decision ended what was ordered before it, which the night has yet to write: nobody has ordered it since.
    UPDATE iap.redeliveries AS ordered
    SET ended_at = at, ended_as = iap.end_of_redelivery(ROW(ordered.*)::iap.redeliveries)
    FROM unnest(changes) AS c
    WHERE ordered.transaction_id = (c.was).transaction_id AND ordered.bundle_id = (c.was).bundle_id
        AND ordered.environment = (c.was).environment AND ordered.ended_at IS NULL;
    PERFORM iap.move(
        changes, 'reopened', reopen.who, NULL, at,
        jsonb_build_object('was', was, 'note', reopen.note, 'login', session_user));
    PERFORM iap.watch_again(changes);
    RETURN 'reopened';
END
$$;
COMMENT ON FUNCTION iap.reopen IS
    'Takes a wrong resolve back: reopened, and the transaction is owed again, as it was before, with the other periods '
    'of a subscription that the same decision ended. What a claim delivered stays delivered. Otherwise it changes '
    'nothing and says why: already_white, already_delivered, refunded (by Apple, since), excluded or not_verified.';
