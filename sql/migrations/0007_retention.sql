-- What is not kept for ever: payloads and devices of receipts go after a time, and a person's data on request. Amounts,
-- and the ids of Apple's and of orders, stay: the ledger must be able to say for ever what was delivered.

-- Purging ------------------------------------------------------------------------------------------------------------

CREATE VIEW iap.purgeable AS
SELECT bucket, receipt_id, last_attempt_at, payload_purged_at, device, is_erased
FROM iap.receipts
WHERE next_attempt_at IS NULL
    AND NOT EXISTS (
        SELECT FROM iap.sightings
        JOIN iap.white USING (transaction_id, bundle_id, environment)
        WHERE sightings.receipt_id = receipts.receipt_id AND sightings.bucket = receipts.bucket);
COMMENT ON VIEW iap.purgeable IS
    'The receipts on which nothing is open: neither they themselves nor a transaction that was seen in them.';

CREATE FUNCTION iap.purge_payloads(bucket smallint, before timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    purged bigint;
    erased bigint;
BEGIN
    UPDATE iap.receipts
    SET payload = NULL, payload_purged_at = iap.present()
    WHERE bucket = purge_payloads.bucket AND receipt_id IN (
        SELECT receipt_id
        FROM iap.purgeable
        WHERE bucket = purge_payloads.bucket AND payload_purged_at IS NULL AND last_attempt_at < before
        ORDER BY last_attempt_at
        LIMIT most
        FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS purged = ROW_COUNT;
    UPDATE iap.receipts
    SET payload = NULL, payload_purged_at = iap.present()
    WHERE bucket = purge_payloads.bucket AND receipt_id IN (
        SELECT receipt_id
        FROM iap.purgeable
        WHERE bucket = purge_payloads.bucket AND payload_purged_at IS NULL AND is_erased
        LIMIT greatest(most - purged, 0)
        FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS erased = ROW_COUNT;
    RETURN purged + erased;
END
$$;
COMMENT ON FUNCTION iap.purge_payloads IS
    'Takes away the payloads of receipts of a bucket that were last tried before a moment and on which nothing is '
    'open, the oldest first, and so many at most; those of erased users whenever they were tried. Gives how many. The '
    'hash stays, by which the same upload is known again.';

CREATE FUNCTION iap.purge_devices(bucket smallint, before timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    purged bigint;
BEGIN
    UPDATE iap.receipts
    SET device = NULL, device_purged_at = iap.present()
    WHERE bucket = purge_devices.bucket AND receipt_id IN (
        SELECT receipt_id
        FROM iap.purgeable
        WHERE bucket = purge_devices.bucket AND device IS NOT NULL AND last_attempt_at < before
        ORDER BY last_attempt_at
        LIMIT most
        FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS purged = ROW_COUNT;
    RETURN purged;
END
$$;
COMMENT ON FUNCTION iap.purge_devices IS
    'The same for what clients said of their devices, which is then not taken again.';

CREATE FUNCTION iap.count_purgeable(
    payloads_before timestamptz, devices_before timestamptz, OUT payloads bigint, OUT devices bigint
) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        (
            SELECT count(*) FROM iap.purgeable
            WHERE payload_purged_at IS NULL AND (is_erased OR last_attempt_at < payloads_before)
        ),
        (SELECT count(*) FROM iap.purgeable WHERE device IS NOT NULL AND last_attempt_at < devices_before)
$$;
COMMENT ON FUNCTION iap.count_purgeable IS 'How many payloads and devices a purge would take away.';

-- Erasing a user -----------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.without_user(text text, user_id text, pseudonym text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT regexp_replace(
        text,
        '(?<![[:alnum:]_-])' || regexp_replace(user_id, '([^[:alnum:]])', '\\\1', 'g') || '(?![[:alnum:]_-])',
        pseudonym, 'g')
$$;
COMMENT ON FUNCTION iap.without_user(text, text, text) IS
    'What a person wrote, with a user id replaced wherever it stands as a word of its own.';

CREATE FUNCTION iap.without_tokens(rows jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_agg(element - 'app_account_token' ORDER BY place), '[]')
    FROM jsonb_array_elements(rows) WITH ORDINALITY AS item (element, place)
$$;
COMMENT ON FUNCTION iap.without_tokens IS 'The white rows that a resolve keeps, without the tokens of accounts.';

CREATE FUNCTION iap.without_user(details jsonb, user_id text, pseudonym text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE jsonb_typeof(details)
        WHEN 'array' THEN (
            SELECT coalesce(
                jsonb_agg(
                    CASE WHEN element = to_jsonb(user_id) THEN to_jsonb(pseudonym)
                        ELSE iap.without_user(element, user_id, pseudonym) END
                    ORDER BY place),
                '[]')
            FROM jsonb_array_elements(details) WITH ORDINALITY AS item (element, place))
        WHEN 'object' THEN (
            SELECT coalesce(
                jsonb_object_agg(
                    key,
                    CASE
                        WHEN key IN ('user_id', 'userID', 'admitted_user_id') AND value = to_jsonb(user_id)
                            THEN to_jsonb(pseudonym)
                        WHEN key = 'note' AND jsonb_typeof(value) = 'string'
                            THEN to_jsonb(iap.without_user(value #>> '{}', user_id, pseudonym))
                        WHEN key = 'taken' AND details -> 'user_id' = to_jsonb(user_id)
                            THEN iap.without_user(iap.without_tokens(value), user_id, pseudonym)
                        WHEN jsonb_typeof(value) IN ('array', 'object')
                            THEN iap.without_user(value, user_id, pseudonym)
                        ELSE value
                    END),
                '{}')
            FROM jsonb_each(details))
        ELSE details
    END;
END
$$;
COMMENT ON FUNCTION iap.without_user(jsonb, text, text) IS
    'An event''s details or a case''s candidates with a user id replaced, and without the user''s tokens. Lists hold '
    'user ids, or objects.';

CREATE FUNCTION iap.refuse_change_of_events() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    user_id   text := current_setting('iap.erased_user', true);
    pseudonym text := current_setting('iap.pseudonym', true);
    expected  iap.events := OLD;
BEGIN
    IF tg_op = 'UPDATE' AND user_id <> '' THEN
        expected.actor := iap.without_user(OLD.actor, user_id, pseudonym);
        expected.details := iap.without_user(OLD.details, user_id, pseudonym);
        IF NEW IS NOT DISTINCT FROM expected THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'iap.events is append-only: % is refused', tg_op
        USING ERRCODE = 'insufficient_privilege', HINT = 'Write a further event that corrects the earlier one.';
END
$$;
COMMENT ON FUNCTION iap.refuse_change_of_events IS
    'Keeps iap.events append-only, for its owner too. An erasure alone may replace the user id, and nothing else.';

DROP TRIGGER events_are_kept ON iap.events;
CREATE TRIGGER events_are_kept BEFORE UPDATE OR DELETE ON iap.events
    FOR EACH ROW EXECUTE FUNCTION iap.refuse_change_of_events();

CREATE FUNCTION iap.open_transactions_of(user_id text) RETURNS SETOF iap.white
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT *
    FROM iap.white
    WHERE white.admitted_user_id = $1
        OR EXISTS (
            SELECT FROM iap.sightings
            WHERE sightings.transaction_id = white.transaction_id AND sightings.bundle_id = white.bundle_id
                AND sightings.environment = white.environment AND sightings.user_id = $1)
        OR EXISTS (
            SELECT FROM iap.cases
            WHERE cases.transaction_id = white.transaction_id AND cases.bundle_id = white.bundle_id
                AND cases.environment = white.environment AND cases.state = 'open'
                AND cases.owner_user_ids @> ARRAY[$1])
    ORDER BY white.purchased_at, white.transaction_id
$$;
COMMENT ON FUNCTION iap.open_transactions_of IS 'What is paid and not delivered, and may be owed to a user.';

CREATE FUNCTION iap.replace_user(user_id text, pseudonym text, erasure bigint) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    needle text := trim(BOTH '"' FROM to_jsonb(replace_user.user_id)::text);
    rows   bigint;
    counts jsonb := '{}';
BEGIN
    -- White first: what is the user's there is known by sightings and cases.
    -- A token is the user's who ordered with it, or alone handed the purchase in.
    UPDATE iap.white
    SET admitted_user_id = CASE WHEN admitted_user_id = replace_user.user_id THEN pseudonym ELSE admitted_user_id END,
        app_account_token = CASE
            WHEN app_account_token IN (
                    SELECT app_account_token FROM iap.orders
                    WHERE user_id = replace_user.user_id AND app_account_token IS NOT NULL)
                OR NOT EXISTS (
                    SELECT FROM iap.sightings
                    WHERE sightings.transaction_id = white.transaction_id AND sightings.bundle_id = white.bundle_id
                        AND sightings.environment = white.environment
                        AND sightings.user_id <> replace_user.user_id) THEN NULL
            ELSE app_account_token
        END
    WHERE (transaction_id, bundle_id, environment) IN (
        SELECT transaction_id, bundle_id, environment FROM iap.open_transactions_of(replace_user.user_id));
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('white', rows);

    UPDATE iap.receipts
    SET user_id = pseudonym, is_erased = true, device = NULL, device_purged_at = coalesce(device_purged_at, now()),
        payload = CASE WHEN next_attempt_at IS NOT NULL THEN payload END,
        payload_purged_at = CASE WHEN next_attempt_at IS NULL THEN coalesce(payload_purged_at, now()) END
    WHERE user_id = replace_user.user_id;
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('receipts', rows);

    UPDATE iap.orders SET user_id = pseudonym, app_account_token = NULL WHERE user_id = replace_user.user_id;
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('orders', rows);

    -- A seal that does not fit stays, for its row was changed by hand.
    UPDATE iap.black
    SET user_id = pseudonym,
        seal = CASE
            WHEN seal = audit.black_seal(
                transaction_id, bundle_id, environment, original_transaction_id, product_id, quantity, purchased_at,
                price_milliunits, currency, user_id, order_id, delivered_by, delivered_at, refunded_at)
            THEN audit.black_seal(
                transaction_id, bundle_id, environment, original_transaction_id, product_id, quantity, purchased_at,
                price_milliunits, currency, pseudonym, order_id, delivered_by, delivered_at, refunded_at)
            ELSE seal
        END
    WHERE user_id = replace_user.user_id;
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('black', rows);

    UPDATE iap.sightings SET user_id = pseudonym WHERE user_id = replace_user.user_id;
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('sightings', rows);

    UPDATE iap.claims
    SET user_id = pseudonym,
        seal = CASE
            WHEN seal = audit.claim_seal(transaction_id, bundle_id, user_id, order_id, outcome, attempted_at)
            THEN audit.claim_seal(transaction_id, bundle_id, pseudonym, order_id, outcome, attempted_at)
            ELSE seal
        END
    WHERE user_id = replace_user.user_id;
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('claims', rows);

    UPDATE iap.cases
    SET owner_user_ids = array_replace(owner_user_ids, replace_user.user_id, pseudonym),
        candidates = iap.without_user(candidates, replace_user.user_id, pseudonym),
        closed_by = CASE
            WHEN closed_by = 'claim:' || replace_user.user_id THEN 'claim:' || pseudonym ELSE closed_by
        END,
        note = iap.without_user(note, replace_user.user_id, pseudonym)
    WHERE owner_user_ids @> ARRAY[replace_user.user_id]
        OR closed_by = 'claim:' || replace_user.user_id
        OR (
            strpos(candidates::text, needle) > 0
            AND candidates <> iap.without_user(candidates, replace_user.user_id, pseudonym))
        OR (
            strpos(note, replace_user.user_id) > 0
            AND note <> iap.without_user(note, replace_user.user_id, pseudonym));
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('cases', rows);

    -- The chain keeps what it sealed; beside it stands what is left, unless the event did not fit before.
    WITH affected AS MATERIALIZED (
        SELECT event_id, audit.event_digest(events) = coalesce(erased_digest, digest) AS fits
        FROM iap.events
        LEFT JOIN audit.seals USING (event_id)
        WHERE (strpos(actor, replace_user.user_id) > 0 OR strpos(details::text, needle) > 0)
            AND (
                actor <> iap.without_user(actor, replace_user.user_id, pseudonym)
                OR details <> iap.without_user(details, replace_user.user_id, pseudonym))
    ), changed AS (
        UPDATE iap.events
        SET actor = iap.without_user(actor, replace_user.user_id, pseudonym),
            details = iap.without_user(details, replace_user.user_id, pseudonym)
        FROM affected
        WHERE events.event_id = affected.event_id
        RETURNING events.event_id, audit.event_digest(events) AS digest, fits
    ), sealed AS (
        UPDATE audit.seals
        SET erased_event_id = erasure, erased_digest = changed.digest
        FROM changed
        WHERE seals.event_id = changed.event_id AND fits
    )
    SELECT count(*) INTO rows FROM changed;
    RETURN counts || jsonb_build_object('events', rows);
END
$$;
COMMENT ON FUNCTION iap.replace_user IS
    'Replaces a user id by a pseudonym wherever it is, takes away what only tells of the person, and gives the number '
    'of rows by table; erasure is the event that will tell of it. Claims, cases and events are read from end to end: '
    'it is asked rarely.';

CREATE FUNCTION iap.erase_user(user_id text, who text, even_open boolean DEFAULT false) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    pseudonym text := 'erased-' || left(replace(gen_random_uuid()::text, '-', ''), 16);
    open      text[];
    waiting   bigint;
    rows      jsonb;
    erasure   bigint := nextval(pg_get_serial_sequence('iap.events', 'event_id'));
BEGIN
    PERFORM iap.require_text('user_id', erase_user.user_id, 1000);
    PERFORM iap.require_text('who', erase_user.who, 1000);
    -- The lock of the nightly job: a run that is under way would write the user down again.
    IF NOT pg_try_advisory_xact_lock(4800848, 1000) THEN
        RAISE EXCEPTION 'a run is under way' USING
            ERRCODE = 'lock_not_available', HINT = 'Erase when it has ended: what it has read it would write again.';
    END IF;

    SELECT coalesce(array_agg(transaction_id), '{}') INTO open FROM iap.open_transactions_of(erase_user.user_id);
    SELECT count(*) INTO waiting FROM iap.receipts WHERE user_id = erase_user.user_id AND state = 'waiting';
    IF (cardinality(open) > 0 OR waiting > 0) AND even_open IS NOT TRUE THEN
        RETURN jsonb_build_object('outcome', 'open', 'open', open, 'waiting', waiting);
    END IF;

    PERFORM set_config('iap.erased_user', erase_user.user_id, true), set_config('iap.pseudonym', pseudonym, true);
    rows := iap.replace_user(erase_user.user_id, pseudonym, erasure);
    PERFORM set_config('iap.erased_user', '', true), set_config('iap.pseudonym', '', true);
    IF NOT EXISTS (SELECT FROM jsonb_each_text(rows) WHERE value::bigint > 0) THEN
        RETURN jsonb_build_object('outcome', 'unknown');
    END IF;
    INSERT INTO iap.events (event_id, kind, actor, details)
    OVERRIDING SYSTEM VALUE
    VALUES (
        erasure, 'erased', erase_user.who,
        jsonb_build_object(
            'pseudonym', pseudonym, 'rows', rows, 'open', cardinality(open), 'waiting', waiting,
            'login', session_user));
    RETURN jsonb_build_object(
        'outcome', 'erased', 'pseudonym', pseudonym, 'rows', rows, 'open', open, 'waiting', waiting);
END
$$;
COMMENT ON FUNCTION iap.erase_user IS
    'Erases a person: the user id becomes a pseudonym, the same one everywhere, so that amounts, orders and deliveries '
    'still add up, and devices, payloads and tokens go. Gives the outcome: erased, with what was changed; unknown; or '
    'open, with the transactions that are paid and not delivered and the number of receipts that are not verified yet: '
    'then nothing is changed, unless even_open. What even so is open stays owed, to the pseudonym.';

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA iap FROM PUBLIC;
