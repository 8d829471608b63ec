-- The support desk's own words: what it adopts by Apple's signature, who is on a case, and comments.

CREATE FUNCTION iap.signed_claims(signed_transaction text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body text := translate(split_part(signed_transaction, '.', 2), '-_', '+/');
BEGIN
    IF signed_transaction !~ '^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$' THEN
        RETURN NULL;
    END IF;
    RETURN convert_from(decode(rpad(body, (length(body) + 3) / 4 * 4, '='), 'base64'), 'UTF8')::jsonb;
EXCEPTION
    WHEN data_exception THEN
        RETURN NULL;
END
$$;
COMMENT ON FUNCTION iap.signed_claims IS
    'What a signed transaction (JWS) says; NULL where it can''t be one. Whether Apple signed it is looked at by the night.';

CREATE FUNCTION iap.log_desk(
    kind text, who text, transaction_id text, bundle_id text, environment text, details jsonb
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO iap.events
    SELECT event.*, audit.seal(ROW(event.*, NULL)::iap.events)
    FROM (
        SELECT
            nextval('iap.trail'), iap.present(), log_desk.kind, log_desk.who, NULL::bigint, log_desk.transaction_id,
            log_desk.bundle_id, log_desk.environment, log_desk.details || jsonb_build_object('login', session_user)
    ) AS event;
END
$$;
COMMENT ON FUNCTION iap.log_desk IS 'Writes a word of the support desk about a transaction into the audit trail.';

CREATE FUNCTION iap.adopt(bundle_id text, signed_transaction text, user_id text, who text, note text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    claims  jsonb := iap.signed_claims(adopt.signed_transaction);
    id      text := claims ->> 'transactionId';
    receipt bigint;
    outcome text;
BEGIN
    PERFORM iap.require_id('bundle_id', adopt.bundle_id, 255);
    PERFORM iap.require_text('user_id', adopt.user_id, 1000);
    PERFORM iap.require_text('who', adopt.who, 1000);
    PERFORM iap.require_text('note', adopt.note, 10000);
    IF id IS NULL OR claims ->> 'bundleId' IS NULL OR claims ->> 'productId' IS NULL
        OR jsonb_typeof(claims -> 'purchaseDate') IS DISTINCT FROM 'number'
    THEN
        RAISE EXCEPTION 'signed_transaction is no signed transaction of Apple''s' USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'It is what Look Up Order ID and Get Transaction Info answer, as it was sent.';
    ELSIF claims ->> 'bundleId' <> adopt.bundle_id THEN
        RAISE EXCEPTION 'transaction % is of the app %', id, claims ->> 'bundleId' USING
            ERRCODE = 'invalid_parameter_value';
    ELSIF claims ? 'revocationDate' THEN
        RETURN 'refunded';
    END IF;

    -- The night verifies it, and learns the price.
    receipt := iap.submit_receipt(adopt.bundle_id, adopt.user_id, adopt.signed_transaction, id);
    BEGIN
        outcome := iap.admit(
            adopt.bundle_id, claims ->> 'environment', id, coalesce(claims ->> 'originalTransactionId', id),
            claims ->> 'productId', coalesce((claims ->> 'quantity')::integer, 1),
            to_timestamp((claims ->> 'purchaseDate')::numeric / 1000), adopt.user_id, receipt);
    EXCEPTION
        WHEN object_not_in_prerequisite_state THEN
            RETURN 'excluded';
    END;
    IF outcome IN ('white', 'already_white') AND NOT EXISTS (
        SELECT FROM iap.events AS known
        WHERE known.transaction_id = id AND known.bundle_id = adopt.bundle_id AND known.kind = 'adopted'
            AND known.details ->> 'user_id' = adopt.user_id)
    THEN
        PERFORM iap.log_desk(
            'adopted', adopt.who, id, adopt.bundle_id, claims ->> 'environment',
            jsonb_build_object('user_id', adopt.user_id, 'note', adopt.note));
    END IF;
    RETURN outcome;
END
$$;
COMMENT ON FUNCTION iap.adopt IS
    'Takes a purchase of which no receipt came into the ledger, by what Apple signed, for the user of whom the support '
    'desk says that it is theirs. Gives white or already_white, where it can then be resolved and is never delivered '
    'again, or already_delivered, excluded or refunded, where nothing is owed.';

-- Who is on a case ----------------------------------------------------------------------------------------------------

CREATE TABLE iap.case_takings (
    transaction_id text COLLATE "C" NOT NULL,
    bundle_id      text COLLATE "C" NOT NULL,
    environment    text NOT NULL,
    taken_by       text NOT NULL,
    taken_at       timestamptz NOT NULL,
    PRIMARY KEY (transaction_id, bundle_id, environment)
);
COMMENT ON TABLE iap.case_takings IS 'Who of the support desk is on which case; after a day nobody is any more.';

CREATE FUNCTION iap.take(
    transaction_id text, who text, bundle_id text DEFAULT NULL, environment text DEFAULT NULL,
    is_freeing boolean DEFAULT false, OUT outcome text, OUT taken_by text, OUT taken_at timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    place  record;
    holder record;
    at     timestamptz := iap.present();
BEGIN
    PERFORM iap.require_id('transaction_id', take.transaction_id, 64);
    PERFORM iap.require_text('who', take.who, 1000);
    place := iap.place_of(take.transaction_id, take.bundle_id, take.environment);
    PERFORM FROM iap.cases AS found
    WHERE found.transaction_id = take.transaction_id AND found.bundle_id = place.bundle_id
        AND found.environment = place.environment AND found.state = 'open'
    FOR UPDATE;
    IF NOT FOUND THEN
        outcome := 'no_open_case';
        RETURN;
    END IF;
    SELECT known.taken_by, known.taken_at INTO holder
    FROM iap.case_takings AS known
    WHERE known.transaction_id = take.transaction_id AND known.bundle_id = place.bundle_id
        AND known.environment = place.environment AND known.taken_at > at - interval '1 day';
    IF holder.taken_by <> take.who AND NOT take.is_freeing THEN
        outcome := 'taken_already';
        taken_by := holder.taken_by;
        taken_at := holder.taken_at;
        RETURN;
    END IF;
    IF take.is_freeing THEN
        outcome := 'freed';
        DELETE FROM iap.case_takings AS known
        WHERE known.transaction_id = take.transaction_id AND known.bundle_id = place.bundle_id
            AND known.environment = place.environment;
    ELSE
        outcome := 'taken';
        taken_by := take.who;
        taken_at := coalesce(holder.taken_at, at);
        INSERT INTO iap.case_takings AS known (transaction_id, bundle_id, environment, taken_by, taken_at)
        VALUES (take.transaction_id, place.bundle_id, place.environment, take.who, at)
        ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
        SET taken_by = EXCLUDED.taken_by,
            taken_at = CASE WHEN holder.taken_by IS NULL THEN EXCLUDED.taken_at ELSE known.taken_at END;
    END IF;
    IF outcome = 'freed' OR holder.taken_by IS NULL THEN
        PERFORM iap.log_desk(outcome, take.who, take.transaction_id, place.bundle_id, place.environment, '{}');
    END IF;
END
$$;
COMMENT ON FUNCTION iap.take IS
    'Says that somebody of the support desk is on a case, or not any more: taken, freed, no_open_case, or taken_already, '
    'with by whom and since when. After a day the case is free again by itself.';

CREATE FUNCTION iap.note(
    transaction_id text, note text, who text, bundle_id text DEFAULT NULL, environment text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    place record;
BEGIN
    PERFORM iap.require_id('transaction_id', note.transaction_id, 64);
    PERFORM iap.require_text('who', note.who, 1000);
    PERFORM iap.require_text('note', note.note, 10000);
    place := iap.place_of(note.transaction_id, note.bundle_id, note.environment);
    IF place.bundle_id IS NULL THEN
        RETURN 'not_verified';
    END IF;
    PERFORM iap.log_desk(
        'noted', note.who, note.transaction_id, place.bundle_id, place.environment,
        jsonb_build_object('note', note.note));
    RETURN 'noted';
END
$$;
COMMENT ON FUNCTION iap.note(text, text, text, text, text) IS
    'Writes a comment of the support desk on a transaction into the audit trail, and gives noted; not_verified where '
    'nobody knows it. The report and check show it.';

REVOKE ALL ON FUNCTION iap.signed_claims, iap.log_desk, iap.adopt, iap.take FROM PUBLIC;
REVOKE ALL ON FUNCTION iap.note(text, text, text, text, text) FROM PUBLIC;
