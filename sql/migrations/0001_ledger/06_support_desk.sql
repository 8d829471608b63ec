-- What the support desk decides, and takes back; its own words; and what it decides in a report's spreadsheet.

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

CREATE FUNCTION iap.is_known_user(user_id text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    IF EXISTS (SELECT FROM iap.orders WHERE user_id = is_known_user.user_id)
        OR EXISTS (SELECT FROM iap.transactions WHERE user_id = is_known_user.user_id)
        OR EXISTS (SELECT FROM iap.entitlements WHERE user_id = is_known_user.user_id)
    THEN
        RETURN true;
    END IF;
    PERFORM 1 FROM iap.receipts WHERE user_id = is_known_user.user_id LIMIT 1;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION iap.is_known_user IS
    'Whether a user ever handed anything in, ordered, was delivered to or is entitled to anything.';

CREATE FUNCTION iap.locked_with_periods(
    bundle_id text, environment text, transaction_id text
) RETURNS iap.transactions
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM
    FROM iap.transactions
    WHERE transaction_id = ANY (
            ARRAY(
                SELECT unnest(told.periods)
                FROM iap.cases AS told
                WHERE told.transaction_id = locked_with_periods.transaction_id
                    AND told.bundle_id = locked_with_periods.bundle_id
                    AND told.environment = locked_with_periods.environment AND told.state = 'open')
            || locked_with_periods.transaction_id)
        AND bundle_id = locked_with_periods.bundle_id AND environment = locked_with_periods.environment
    ORDER BY transaction_id
    FOR UPDATE;
    RETURN iap.locked(
        locked_with_periods.bundle_id, locked_with_periods.environment, locked_with_periods.transaction_id);
END
$$;
COMMENT ON FUNCTION iap.locked_with_periods IS
    'iap.locked, with the other periods of a subscription that its open case tells of: in the order of their keys, in '
    'which a grant locks them too.';

CREATE FUNCTION iap.end_owed(
    t iap.transactions, how text, who text, user_id text, order_id text, note text, at timestamptz
) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    details jsonb := jsonb_build_object(
        'as', end_owed.how, 'note', end_owed.note, 'order_id', end_owed.order_id, 'login', session_user);
BEGIN
    IF end_owed.how <> 'delivered' THEN
        PERFORM iap.move(
            ARRAY[ROW(t, iap.excluded(t, end_owed.how, NULL, at))::iap.change], 'resolved', end_owed.who, NULL, at,
            details);
        RETURN end_owed.how;
    END IF;
    -- What nobody knows the type of is for the support desk to decide, and this is its decision.
    IF iap.take_for_delivery(t, iap.type_of(t)) = 'already_delivered' THEN
        PERFORM iap.move(
            ARRAY[ROW(t, iap.excluded(t, 'restored', NULL, at))::iap.change], 'withdrawn', end_owed.who, NULL, at);
        RETURN 'already_delivered';
    END IF;
    IF end_owed.order_id IS NOT NULL THEN
        -- Whatever it was delivered for before: the desk may say otherwise, and a claim may not.
        PERFORM iap.take_order(t, end_owed.order_id);
    END IF;
    PERFORM iap.move(
        ARRAY[ROW(t, iap.delivered(t, end_owed.user_id, end_owed.order_id, 'resolved', at))::iap.change], 'resolved',
        end_owed.who, NULL, at, details || jsonb_build_object('user_id', end_owed.user_id));
    IF iap.type_of(t) = 'non_consumable' THEN
        PERFORM iap.withdraw_restored(t, end_owed.who, at, end_owed.who);
    END IF;
    RETURN end_owed.how;
END
$$;
COMMENT ON FUNCTION iap.end_owed IS
    'Ends one white transaction, which the caller has locked, on the word of the support desk, and gives how; or '
    'already_delivered, where its original purchase was under another id.';

CREATE FUNCTION iap.resolve(
    transaction_id text, how text, who text, note text, bundle_id text DEFAULT NULL, environment text DEFAULT NULL,
    user_id text DEFAULT NULL, order_id text DEFAULT NULL, is_unknown_user boolean DEFAULT false
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    place   record;
    t       iap.transactions;
    told    iap.cases;
    outcome text;
    whose   text;
    id      text;
    period  iap.transactions;
    at      timestamptz := iap.present();
BEGIN
    PERFORM iap.limit_idleness();
    PERFORM iap.require_id('transaction_id', resolve.transaction_id, 64);
    PERFORM iap.require_text('who', resolve.who, 1000);
    PERFORM iap.require_text('note', resolve.note, 10000);
    IF resolve.how IS NULL OR resolve.how NOT IN ('delivered', 'dismissed', 'refunded') THEN
        RAISE EXCEPTION 'a case ends as “delivered”, “dismissed” or “refunded”'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    place := iap.place_of(resolve.transaction_id, resolve.bundle_id, resolve.environment);
    t := iap.locked_with_periods(place.bundle_id, place.environment, resolve.transaction_id);
    outcome := iap.standing(t);
    IF outcome <> 'white' THEN
        RETURN outcome;
    END IF;
    SELECT * INTO told
    FROM iap.cases
    WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment;
    IF resolve.how = 'delivered' THEN
        IF resolve.user_id IS NULL AND cardinality(told.owner_user_ids) > 1 THEN
            RETURN 'several_owners';
        ELSIF NOT (
            resolve.user_id IS NULL OR resolve.is_unknown_user
            OR resolve.user_id = ANY (told.owner_user_ids || iap.owners_of(t))
            OR iap.is_known_user(resolve.user_id))
        THEN
            RETURN 'unknown_user';
        END IF;
        whose := coalesce(resolve.user_id, told.owner_user_ids[1], t.admitted_user_id);
    END IF;
    outcome := iap.end_owed(t, resolve.how, resolve.who, whose, resolve.order_id, resolve.note, at);
    IF outcome = resolve.how AND told.state = 'open' THEN
        -- The others are locked, and were maybe claimed or excluded before that: then they stay as they are.
        FOREACH id IN ARRAY told.periods LOOP
            period := iap.locked(t.bundle_id, t.environment, id);
            CONTINUE WHEN period.place IS DISTINCT FROM 'white';
            PERFORM iap.end_owed(
                period, resolve.how, resolve.who, coalesce(whose, period.admitted_user_id),
                resolve.order_id, resolve.note, at);
        END LOOP;
    END IF;
    RETURN outcome;
END
$$;
COMMENT ON FUNCTION iap.resolve IS
    'Ends what is owed on the word of the support desk, and gives how: delivered, dismissed or refunded. The case of a '
    'subscription ends with all periods that it tells of, as far as they are still owed. Where nothing is owed it '
    'changes nothing and says why: already_delivered, excluded or not_verified. Nor where it is not clear to whom it '
    'was delivered: several_owners, where the case names more than one and user_id none of them; unknown_user, where '
    'nobody has ever heard of user_id and is_unknown_user does not say that this is so.';

CREATE FUNCTION iap.watch_again(changes iap.change[]) RETURNS void
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
        SET state = 'watched', next_attempt_at = now(),
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
    PERFORM iap.limit_idleness();
    PERFORM iap.require_id('transaction_id', reopen.transaction_id, 64);
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
    ELSIF iap.type_of(t) = 'non_consumable' AND (
        EXISTS (
            SELECT FROM iap.delivered_originals AS taken
            WHERE taken.original_transaction_id = t.original_transaction_id AND taken.bundle_id = t.bundle_id
                AND taken.environment = t.environment AND taken.transaction_id <> t.transaction_id)
        OR EXISTS (
            SELECT FROM iap.transactions AS same
            WHERE iap.is_of_original(
                    same.transaction_id, same.original_transaction_id, t.original_transaction_id)
                AND same.bundle_id = t.bundle_id AND same.environment = t.environment
                AND same.transaction_id <> t.transaction_id AND same.place = 'black'
                AND iap.type_of(ROW(same.*)::iap.transactions) = 'non_consumable'))
    THEN
        -- Resolved by mistake, and delivered under another id since, or before, as an import tells.
        RETURN CASE t.place WHEN 'black' THEN 'already_delivered' ELSE 'excluded' END;
    END IF;

    SELECT coalesce(array_agg(ROW(held, iap.owed_again(held))::iap.change), '{}') INTO restored
    FROM (
        -- What left white with its delivery.
        SELECT ROW(kin.*)::iap.transactions AS held
        FROM iap.transactions AS kin
        WHERE t.place = 'black'
            AND EXISTS (
                SELECT
                FROM iap.moves
                WHERE moves.transaction_id = kin.transaction_id AND moves.bundle_id = kin.bundle_id
                    AND moves.environment = kin.environment AND moves.details ->> 'delivered_as' = t.transaction_id)
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
            ON (decided.kind, decided.actor, decided.moved_at, decided.details ->> 'note')
                = (ended.kind, ended.actor, ended.moved_at, ended.details ->> 'note')
        WHERE told.transaction_id = t.transaction_id AND told.bundle_id = t.bundle_id
            AND told.environment = t.environment AND period.transaction_id <> t.transaction_id
        ORDER BY period.transaction_id
        FOR UPDATE OF period
    ) AS period
    WHERE iap.may_reopen(held);
    changes := ARRAY[ROW(t, iap.owed_again(t))::iap.change] || restored || periods;
    was := CASE t.place WHEN 'black' THEN 'delivered' ELSE t.reason END;
    PERFORM iap.move(
        changes, 'reopened', reopen.who, NULL, at,
        jsonb_build_object('was', was, 'note', reopen.note, 'login', session_user));
    PERFORM iap.watch_again(changes);
    RETURN 'reopened';
END
$$;
COMMENT ON FUNCTION iap.reopen IS
    'Takes a wrong resolve back: reopened, and the transaction is owed again, as it was before, with the other periods of '
    'a subscription that the same decision ended. What a claim delivered stays delivered. Otherwise it changes nothing '
    'and says why: already_white, already_delivered, refunded (by Apple, since), excluded or not_verified.';

-- What it adopts by Apple's signature ---------------------------------------------------------------------------------

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
        -- What the night takes for a date and a quantity: years to 9999, and whole numbers.
        OR trunc((claims ->> 'purchaseDate')::numeric) NOT BETWEEN 0 AND 253402300799999
        OR coalesce(claims ->> 'quantity', '1') !~ '^[0-9]{1,9}$'
    THEN
        RAISE EXCEPTION 'signed_transaction is no signed transaction of Apple''s' USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'It is what Look Up Order ID and Get Transaction Info answer, as it was sent.';
    ELSIF claims ->> 'bundleId' <> adopt.bundle_id THEN
        RAISE EXCEPTION 'transaction % is of the app %', id, claims ->> 'bundleId' USING
            ERRCODE = 'invalid_parameter_value';
    ELSIF claims ->> 'revocationDate' IS NOT NULL THEN
        RETURN 'refunded';
    ELSIF claims ->> 'inAppOwnershipType' = 'FAMILY_SHARED' OR claims ->> 'isUpgraded' = 'true' THEN
        -- Another customer paid, or what replaced it is owed: the night would exclude it.
        RETURN 'excluded';
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
    PERFORM iap.limit_idleness();
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

-- What a person decides in the report's spreadsheet, taken back line by line ------------------------------------------

CREATE FUNCTION iap.case_mark(
    opened_run_id bigint, opened_at timestamptz, move_id bigint, product_id text, quantity integer,
    owner_user_ids text[], periods text[]
) RETURNS text
LANGUAGE sql STABLE
-- Of a body in this form a query of a hundred thousand cases makes no call each.
RETURN left(encode(sha256(convert_to(jsonb_build_array($1, extract(epoch FROM $2))::text, 'UTF8')), 'hex'), 8)
    || '-' || left(
        encode(
            sha256(convert_to(jsonb_build_array($1, extract(epoch FROM $2), $3, $4, $5, $6, $7)::text, 'UTF8')), 'hex'),
        8);
COMMENT ON FUNCTION iap.case_mark IS
    'A short mark of a case as a report shows it: of its opening, and of what a decision rests on, which is its '
    'transaction''s latest move, what was bought, its owners and its periods.';

CREATE FUNCTION iap.decide(
    transaction_id text, bundle_id text, environment text, mark text, how text, who text, note text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    t       iap.transactions;
    found   iap.cases;
    present text;
    outcome text;
BEGIN
    PERFORM iap.limit_idleness();
    PERFORM iap.require_id('transaction_id', decide.transaction_id, 64);
    PERFORM iap.require_id('bundle_id', decide.bundle_id, 255);
    PERFORM iap.require_text('who', decide.who, 1000);
    PERFORM iap.require_text('note', decide.note, 10000);
    IF decide.how IS NULL OR decide.how NOT IN ('delivered', 'deliver', 'dismissed', 'refunded') THEN
        RAISE EXCEPTION 'a decision is “delivered”, “deliver”, “dismissed” or “refunded”'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    t := iap.locked_with_periods(decide.bundle_id, decide.environment, decide.transaction_id);
    outcome := iap.standing(t);
    IF outcome <> 'white' THEN
        RETURN CASE
            WHEN t.transaction_id IS NULL THEN 'another_report'
            WHEN decide.how = 'delivered' AND t.delivered_by = 'resolved' THEN 'already'
            WHEN decide.how = 'deliver' AND t.place = 'black' AND iap.redelivery_of(t) IN ('under way', 'redelivered')
            THEN 'already'
            WHEN decide.how = 'refunded' AND t.reason = 'refunded' THEN 'already'
            WHEN decide.how = 'dismissed' AND t.reason = 'dismissed' THEN 'already'
            ELSE outcome
        END;
    END IF;

    SELECT * INTO found
    FROM iap.cases
    WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment;
    IF found.transaction_id IS NULL THEN
        RETURN 'another_report';
    END IF;
    present := iap.case_mark(
        found.opened_run_id, found.opened_at, t.move_id, t.product_id, t.quantity, found.owner_user_ids, found.periods);
    IF split_part(present, '-', 1) IS DISTINCT FROM split_part(decide.mark, '-', 1) THEN
        RETURN 'another_report';
    ELSIF found.state <> 'open' OR present <> decide.mark THEN
        RETURN 'changed_since';
    END IF;

    IF decide.how = 'deliver' THEN
        IF iap.redelivery_of(t) = 'under way' THEN
            RETURN 'already';
        END IF;
        outcome := iap.redeliver(t.transaction_id, decide.who, decide.note, t.bundle_id, t.environment);
        RETURN CASE outcome WHEN 'redelivery' THEN decide.how ELSE outcome END;
    END IF;
    RETURN iap.resolve(t.transaction_id, decide.how, decide.who, decide.note, t.bundle_id, t.environment);
END
$$;
COMMENT ON FUNCTION iap.decide IS
    'Ends a case on a decision that was taken before a report, if the case is still as the report''s mark says: how, '
    'delivered, dismissed or refunded; with deliver it orders the redelivery. Where the desk has decided so already: '
    'already. Otherwise it changes nothing and says why: another_report, where the mark is of no case here; '
    'changed_since, where other evidence came since; already_delivered, excluded, and what else iap.resolve and '
    'iap.redeliver refuse.';
