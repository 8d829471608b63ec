-- What the support desk decides, and takes back.

CREATE FUNCTION iap.place_of(
    transaction_id text, wanted_bundle_id text, wanted_environment text, OUT bundle_id text, OUT environment text
) LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    places bigint;
BEGIN
    SELECT count(*), min(known.bundle_id), min(known.environment) INTO places, place_of.bundle_id, place_of.environment
    FROM iap.transactions AS known
    WHERE known.transaction_id = place_of.transaction_id
        AND known.bundle_id = coalesce(wanted_bundle_id, known.bundle_id)
        AND known.environment = coalesce(wanted_environment, known.environment);
    IF places > 1 THEN
        RAISE EXCEPTION 'transaction % is known in % apps or environments', transaction_id, places
            USING ERRCODE = 'cardinality_violation', HINT = 'Name bundle_id and environment too.';
    END IF;
END
$$;
COMMENT ON FUNCTION iap.place_of IS
    'The app and environment in which a transaction is known, NULL if in none; it is an error (21000) if several are '
    'left by what is wanted.';

CREATE FUNCTION iap.resolve(
    transaction_id text, how text, who text, note text, bundle_id text DEFAULT NULL, environment text DEFAULT NULL,
    user_id text DEFAULT NULL, order_id text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    place   record;
    t       iap.transactions;
    outcome text;
    owner   text;
    at      timestamptz := iap.present();
    details jsonb;
BEGIN
    PERFORM iap.require_id('transaction_id', resolve.transaction_id, 64);
    PERFORM iap.require_text('who', resolve.who, 1000);
    PERFORM iap.require_text('note', resolve.note, 10000);
    IF resolve.how IS NULL OR resolve.how NOT IN ('delivered', 'dismissed', 'refunded') THEN
        RAISE EXCEPTION 'a case ends as “delivered”, “dismissed” or “refunded”'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    place := iap.place_of(resolve.transaction_id, resolve.bundle_id, resolve.environment);
    t := iap.locked(place.bundle_id, place.environment, resolve.transaction_id);
    outcome := iap.standing(t);
    IF outcome <> 'white' THEN
        RETURN outcome;
    END IF;
    details := jsonb_build_object(
        'as', resolve.how, 'note', resolve.note, 'order_id', resolve.order_id, 'login', session_user);

    IF resolve.how <> 'delivered' THEN
        PERFORM iap.move(
            ARRAY[ROW(t, iap.excluded(t, resolve.how, NULL, at))::iap.change], 'resolved', resolve.who, NULL, at,
            details);
        RETURN resolve.how;
    END IF;
    -- What nobody knows the type of is for the support desk to decide, and this is its decision.
    outcome := iap.why_not_delivered(t, iap.type_of(t));
    IF outcome = 'already_delivered' THEN
        PERFORM iap.move(
            ARRAY[ROW(t, iap.excluded(t, 'restored', NULL, at))::iap.change], 'withdrawn', resolve.who, NULL, at);
        RETURN outcome;
    END IF;
    SELECT owner_user_ids[1] INTO owner
    FROM iap.cases
    WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
        AND cardinality(owner_user_ids) = 1;
    owner := coalesce(resolve.user_id, owner, t.admitted_user_id);
    PERFORM iap.move(
        ARRAY[ROW(t, iap.delivered(t, owner, resolve.order_id, 'resolved', at))::iap.change], 'resolved', resolve.who,
        NULL, at, details || jsonb_build_object('user_id', owner));
    IF iap.type_of(t) = 'non_consumable' THEN
        PERFORM iap.withdraw_restored(t, resolve.who, at, resolve.who);
    END IF;
    RETURN resolve.how;
END
$$;
COMMENT ON FUNCTION iap.resolve IS
    'Ends what is owed on the word of the support desk, and gives how: delivered, dismissed or refunded. Where nothing '
    'is owed it changes nothing and says why: already_delivered, excluded or not_verified.';

CREATE FUNCTION iap.watch_again(transaction_id text, bundle_id text, environment text) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    seen record;
BEGIN
    -- A statement a row, by its key: the form that also runs where the tables are distributed.
    FOR seen IN
        SELECT bucket, receipt_id
        FROM sightings
        WHERE transaction_id = watch_again.transaction_id AND bundle_id = watch_again.bundle_id
            AND environment = watch_again.environment
        ORDER BY bucket, receipt_id
    LOOP
        UPDATE receipts
        SET state = 'watched', next_attempt_at = now(),
            seal = audit.receipt_seal(
                bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, receipts.transaction_id,
                submitted_at, 'watched', is_erased)
        WHERE bucket = seen.bucket AND receipt_id = seen.receipt_id AND state = 'settled' AND payload IS NOT NULL;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iap.watch_again IS
    'Has the receipts in which a transaction was seen, unless they were purged, asked again each night, so that '
    'Apple''s refund would be noticed.';

CREATE FUNCTION iap.reopened(t iap.transactions) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF t.refunded_at IS NOT NULL AND (t.refund_run_id IS NOT NULL OR t.reason IS DISTINCT FROM 'refunded') THEN
        RETURN false;
    END IF;
    RETURN coalesce(
        t.delivered_by = 'resolved' OR (t.reason IN ('dismissed', 'refunded') AND t.excluded_run_id IS NULL), false);
END
$$;
COMMENT ON FUNCTION iap.reopened IS
    'Whether the support desk put a transaction where it is, and Apple has not refunded it since: then that can be '
    'taken back. Never what a claim delivered.';

CREATE FUNCTION iap.reopen(
    transaction_id text, who text, note text, bundle_id text DEFAULT NULL, environment text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    place   record;
    t       iap.transactions;
    was     text;
    at      timestamptz := iap.present();
    details jsonb;
    other   iap.transactions;
BEGIN
    PERFORM iap.require_id('transaction_id', reopen.transaction_id, 64);
    PERFORM iap.require_text('who', reopen.who, 1000);
    PERFORM iap.require_text('note', reopen.note, 10000);

    place := iap.place_of(reopen.transaction_id, reopen.bundle_id, reopen.environment);
    t := iap.locked(place.bundle_id, place.environment, reopen.transaction_id);
    IF t.place = 'white' THEN
        RETURN 'already_white';
    ELSIF t.transaction_id IS NULL OR NOT iap.reopened(t) THEN
        RETURN CASE
            WHEN t.refunded_at IS NOT NULL AND t.delivered_by IS DISTINCT FROM 'claim'
                AND t.delivered_by IS DISTINCT FROM 'import' THEN 'refunded'
            ELSE iap.standing(t)
        END;
    ELSIF iap.type_of(t) = 'non_consumable' AND EXISTS (
        SELECT FROM iap.delivered_originals AS taken
        WHERE taken.original_transaction_id = t.original_transaction_id AND taken.bundle_id = t.bundle_id
            AND taken.environment = t.environment AND taken.transaction_id <> t.transaction_id)
    THEN
        -- Resolved by mistake, and delivered under another id since.
        RETURN CASE t.place WHEN 'black' THEN 'already_delivered' ELSE 'excluded' END;
    END IF;

    was := CASE t.place WHEN 'black' THEN 'delivered' ELSE t.reason END;
    details := jsonb_build_object('was', was, 'note', reopen.note, 'login', session_user);
    PERFORM iap.move(ARRAY[ROW(t, iap.owed_again(t))::iap.change], 'reopened', reopen.who, NULL, at, details);
    PERFORM iap.watch_again(t.transaction_id, t.bundle_id, t.environment);
    IF t.place = 'black' THEN
        DELETE FROM iap.delivered_originals
        WHERE original_transaction_id IN (t.original_transaction_id, t.transaction_id) AND bundle_id = t.bundle_id
            AND environment = t.environment AND transaction_id = t.transaction_id;
        -- What left white with its delivery.
        FOR other IN
            SELECT restored.*
            FROM iap.transactions AS restored
            WHERE EXISTS (
                    SELECT
                    FROM iap.moves
                    WHERE moves.transaction_id = restored.transaction_id AND moves.bundle_id = restored.bundle_id
                        AND moves.environment = restored.environment
                        AND moves.details ->> 'delivered_as' = t.transaction_id)
                AND iap.is_of_original(
                    restored.transaction_id, restored.original_transaction_id, t.original_transaction_id)
                AND restored.bundle_id = t.bundle_id AND restored.environment = t.environment
                AND restored.reason = 'restored'
                AND restored.refunded_at IS NULL
            ORDER BY restored.transaction_id
            FOR UPDATE OF restored
        LOOP
            PERFORM iap.move(
                ARRAY[ROW(other, iap.owed_again(other))::iap.change], 'reopened', reopen.who, NULL, at, details);
            PERFORM iap.watch_again(other.transaction_id, other.bundle_id, other.environment);
        END LOOP;
    END IF;
    RETURN 'reopened';
END
$$;
COMMENT ON FUNCTION iap.reopen IS
    'Takes a wrong resolve back: reopened, and the transaction is owed again, as it was before. What a claim delivered '
    'stays delivered. Otherwise it changes nothing and says why: already_white, already_delivered, refunded (by Apple, '
    'since), excluded or not_verified.';
