-- A person's data go on request. Amounts, and the ids of Apple's and of orders, stay: the ledger must be able to say
-- for ever what was delivered.

CREATE FUNCTION iap.replace_user(user_id text, pseudonym text, salt text, erasure bigint) RETURNS jsonb
-- A cluster's workers are told moments as the caller writes them, and read them as their own sessions do.
LANGUAGE plpgsql SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_column
DECLARE
    needle  text := trim(BOTH '"' FROM to_jsonb(replace_user.user_id)::text);
    -- What is another's as well stays theirs.
    token   text := 'CASE WHEN iap.is_own_token(bundle_id, app_account_token, $1) '
        'THEN iap.erased_token(app_account_token, $3) ELSE app_account_token END';
    at      timestamptz := now();
    name    text;
    changes text;
    unnamed bigint[];
    slices  smallint[];
    rows    bigint;
    counts  jsonb;
BEGIN
    -- The ledger first: what is the user's there is known by tokens, sightings, orders and cases. Before it what was
    -- granted, as everyone locks them who locks both.
    counts := jsonb_build_object(
        'entitlements', iap.erase_from_entitlements(replace_user.user_id, pseudonym));
    counts := counts || jsonb_build_object(
        'transactions', iap.erase_from_transactions(replace_user.user_id, pseudonym, salt));

    FOR name, changes IN
        VALUES
            ('account_tokens', token), ('orders', token), ('sightings', NULL), ('claims', NULL)
    LOOP
        EXECUTE format(
            $replace$
            UPDATE iap.%1$I
            SET user_id = $2%2$s, seal = CASE
                WHEN seal = audit.seal(%1$I)
                THEN audit.seal(jsonb_populate_record(%1$I, jsonb_build_object('user_id', $2%3$s))) ELSE seal
            END
            WHERE user_id = $1
            $replace$, name, ', app_account_token = ' || changes, ', ''app_account_token'', ' || changes)
        USING replace_user.user_id, pseudonym, salt;
        GET DIAGNOSTICS rows = ROW_COUNT;
        counts := counts || jsonb_build_object(name, rows);
    END LOOP;

    -- Once all else says whose it is.
    unnamed := iap.unnamed_receipts_of(pseudonym);
    slices := ARRAY(SELECT DISTINCT (id & 63)::smallint FROM unnest(unnamed) AS id);
    UPDATE iap.receipts
    SET user_id = CASE WHEN user_id IS NOT NULL THEN pseudonym END, is_erased = true, device = NULL,
        device_purged_at = coalesce(device_purged_at, at),
        payload = CASE WHEN next_attempt_at IS NOT NULL THEN payload END,
        payload_purged_at = CASE WHEN next_attempt_at IS NULL THEN coalesce(payload_purged_at, at) END,
        seal = CASE
            WHEN seal = audit.receipt_seal(
                bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at, state,
                is_erased)
            THEN audit.receipt_seal(
                bucket, receipt_id, bundle_id, CASE WHEN user_id IS NOT NULL THEN pseudonym END, payload_sha256,
                order_id, transaction_id, submitted_at, state, true)
            ELSE seal
        END
    WHERE user_id = replace_user.user_id
        OR (bucket = ANY (slices) AND receipt_id = ANY (unnamed) AND user_id IS NULL AND NOT is_erased);
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('receipts', rows);

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
    counts := counts || jsonb_build_object(
        'redeliveries', iap.erase_from_redeliveries(replace_user.user_id, pseudonym));
    -- Of a source's row without an id all numbers are kept, and one may be the user.
    UPDATE iap.refused_rows
    SET numbers = array_remove(numbers, replace_user.user_id COLLATE "C")
    WHERE numbers @> ARRAY[replace_user.user_id COLLATE "C"];
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('refused_rows', rows);
    RETURN counts || jsonb_build_object(
        'trail', iap.erase_from_trail(replace_user.user_id, pseudonym, erasure));
END
$$;
COMMENT ON FUNCTION iap.replace_user IS
    'Replaces a user id by a pseudonym and their tokens by others wherever they are, takes away what only tells of the '
    'person, and gives the number of rows by table; erasure is the event that will tell of it. Most tables are read '
    'from end to end: it is asked rarely.';

CREATE FUNCTION iap.await_writers() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- Without a lock_timeout a session that hangs would have it wait for ever.
    patience interval := coalesce(
        nullif(current_setting('lock_timeout')::interval, interval '0'), interval '10 seconds');
    since    timestamptz := clock_timestamp();
    writers  text[];
BEGIN
    SELECT array_agg(DISTINCT virtualtransaction) INTO writers
    FROM pg_locks
    WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND relation IN (
            'iap.claims'::regclass, 'iap.transactions'::regclass, 'iap.entitlements'::regclass,
            'iap.orders'::regclass, 'iap.receipts'::regclass, 'iap.account_tokens'::regclass,
            'iap.sightings'::regclass,
            -- On a cluster an upload is written by a worker alone: here it is seen by the number that it drew.
            'iap.receipt_number'::regclass)
        -- What is prepared, and not committed yet, has no session.
        AND mode = 'RowExclusiveLock' AND pid IS DISTINCT FROM pg_backend_pid();
    WHILE EXISTS (
        WITH RECURSIVE behind AS (
            SELECT pg_backend_pid() AS pid
            UNION
            SELECT waiting.pid
            FROM behind
            JOIN pg_locks AS waiting ON NOT waiting.granted AND behind.pid = ANY (pg_blocking_pids(waiting.pid))
        )
        SELECT FROM pg_locks
        WHERE virtualtransaction = ANY (writers) AND (pid IN (SELECT behind.pid FROM behind)) IS NOT TRUE
    ) LOOP
        IF clock_timestamp() > since + patience THEN
            RAISE EXCEPTION 'another session has been writing for more than %', patience USING
                ERRCODE = 'lock_not_available', HINT = 'Erase when it has ended: what it has written is not seen yet.';
        END IF;
        PERFORM pg_sleep(0.01);
    END LOOP;
END
$$;
COMMENT ON FUNCTION iap.await_writers IS
    'Waits, as long as for a lock, or ten seconds, until the sessions have ended their transactions that are writing '
    'where users are named, but for those that wait for the caller. Nobody waits for the caller for that.';

CREATE FUNCTION iap.apps_of_user(user_id text) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    apps  text[] := '{}';
    place text;
    named text;
    found text[];
BEGIN
    FOR place, named IN
        VALUES
            ('receipts', 'user_id'), ('orders', 'user_id'), ('account_tokens', 'user_id'), ('sightings', 'user_id'),
            ('claims', 'user_id'), ('entitlements', 'user_id'), ('transactions', 'user_id'),
            ('transactions', 'admitted_user_id')
    LOOP
        EXECUTE format('SELECT array_agg(DISTINCT bundle_id) FROM iap.%I WHERE %I = $1', place, named)
        INTO found
        USING apps_of_user.user_id;
        apps := apps || found;
    END LOOP;
    RETURN ARRAY(SELECT DISTINCT app COLLATE "C" FROM unnest(apps) AS app ORDER BY 1);
END
$$;
COMMENT ON FUNCTION iap.apps_of_user IS
    'The apps in which a user did anything: apps that number their users on their own may give two people one id.';

CREATE FUNCTION iap.erase_user(user_id text, who text, even_open boolean DEFAULT false) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    pseudonym text := iap.new_pseudonym();
    salt      text := gen_random_uuid();
    open      text[];
    waiting   bigint;
    arrived   bigint;
    rows      jsonb;
    later     jsonb;
    erasure   bigint;
    details   jsonb;
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.limit_waiting();
    PERFORM iap.require_text('user_id', erase_user.user_id, 1000);
    PERFORM iap.require_text('who', erase_user.who, 1000);
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'a person is erased at isolation level READ COMMITTED' USING
            ERRCODE = 'object_not_in_prerequisite_state', HINT = 'What others write meanwhile is not seen at this one.';
    END IF;
    -- The lock of the nightly job: a run that is under way would write the user down again.
    IF NOT pg_try_advisory_xact_lock((SELECT space FROM iap.lock_space), iap.night_lock()) THEN
        RAISE EXCEPTION 'a run is under way' USING
            ERRCODE = 'lock_not_available', HINT = 'Erase when it has ended: what it has read it would write again.';
    END IF;

    SELECT coalesce(array_agg(transaction_id), '{}') INTO open FROM iap.open_transactions_of(erase_user.user_id);
    SELECT count(*) INTO waiting FROM iap.receipts WHERE user_id = erase_user.user_id AND state = 'waiting';
    IF (cardinality(open) > 0 OR waiting > 0) AND even_open IS NOT TRUE THEN
        RETURN jsonb_build_object('outcome', 'open', 'open', open, 'waiting', waiting);
    END IF;

    -- Drawn under the lock, so that the later of two erasures has the greater number.
    erasure := nextval('iap.trail');
    rows := iap.replace_user(erase_user.user_id, pseudonym, salt, erasure);
    -- What is claimed meanwhile is found in the tables that come last, and was not there when the ledger was read; or
    -- it is not committed yet.
    LOOP
        PERFORM iap.await_writers();
        EXIT WHEN NOT (
            iap.is_known_user(erase_user.user_id)
            OR EXISTS (SELECT FROM iap.claims WHERE user_id = erase_user.user_id)
            -- Of a receipt that was theirs until now.
            OR EXISTS (SELECT FROM iap.sightings WHERE user_id = erase_user.user_id));
        later := iap.replace_user(erase_user.user_id, pseudonym, salt, erasure);
        SELECT jsonb_object_agg(key, first.value::bigint + (later ->> key)::bigint) INTO rows
        FROM jsonb_each_text(rows) AS first;
    END LOOP;
    -- Also what was there before its table was read, and not yet when it was looked for what is open.
    SELECT count(*) INTO arrived FROM iap.receipts WHERE user_id = pseudonym AND state = 'waiting';
    IF even_open IS NOT TRUE AND (arrived > 0 OR EXISTS (SELECT FROM iap.open_transactions_of(pseudonym))) THEN
        RAISE EXCEPTION 'the user has bought something meanwhile' USING
            ERRCODE = 'serialization_failure', HINT = 'Try the transaction again.';
    END IF;
    IF NOT EXISTS (SELECT FROM jsonb_each_text(rows) WHERE value::bigint > 0) THEN
        RETURN jsonb_build_object('outcome', 'unknown');
    END IF;
    details := jsonb_build_object(
        'pseudonym', pseudonym, 'rows', rows, 'open', cardinality(open), 'waiting', waiting, 'login', session_user,
        'erasures', audit.erased_by(erasure));
    INSERT INTO iap.events
    SELECT event.*, audit.seal(ROW(event.*, NULL)::iap.events)
    FROM (
        SELECT erasure, now(), 'erased', erase_user.who, NULL::bigint, NULL::text, NULL::text, NULL::text, details
    ) AS event;
    RETURN jsonb_build_object(
        'outcome', 'erased', 'pseudonym', pseudonym, 'apps', iap.apps_of_user(pseudonym), 'rows', rows, 'open', open,
        'waiting', waiting);
END
$$;
COMMENT ON FUNCTION iap.erase_user IS
    'Erases a person: the user id becomes a pseudonym, the same one everywhere, and their tokens become others, so '
    'that amounts, orders and deliveries still add up; devices and payloads go. Gives the outcome: erased, with what '
    'was changed, and of which apps; unknown; or open, with the transactions that are paid and not delivered and the '
    'number of receipts that are not verified yet: then nothing is changed, unless even_open. What even so is open '
    'stays owed, to the pseudonym. It waits for what other sessions are writing, and no claim waits for it but of what '
    'is erased.';
