-- A person's data go on request. Amounts, and the ids of Apple's and of orders, stay: the ledger must be able to say
-- for ever what was delivered.

CREATE FUNCTION iap.new_pseudonym() RETURNS text
LANGUAGE sql VOLATILE AS $$ SELECT 'erased-' || left(replace(gen_random_uuid()::text, '-', ''), 16) $$;
COMMENT ON FUNCTION iap.new_pseudonym IS 'What stands in the place of a person''s id once they are erased.';

CREATE FUNCTION iap.is_pseudonym(user_id text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT $1 ~ '^erased-[0-9a-f]{16}$' $$;
COMMENT ON FUNCTION iap.is_pseudonym IS 'Whether the person with this id was erased.';

CREATE FUNCTION iap.without_user(text text, user_id text, pseudonym text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT regexp_replace(
        text,
        -- Read the same whatever a database of old has for standard_conforming_strings. Chinese, Japanese and Korean
        -- leave no space around an id.
        E'((?<![[:alnum:]_-])|(?<=[\\u2E80-\\uFAFF])(?![\\u2E80-\\uFAFF]))'
            || regexp_replace(user_id, '([^[:alnum:]])', E'\\\\\\1', 'g')
            || E'((?![[:alnum:]_-])|(?<![\\u2E80-\\uFAFF])(?=[\\u2E80-\\uFAFF]))',
        pseudonym, 'g')
$$;
COMMENT ON FUNCTION iap.without_user(text, text, text) IS
    'What a person wrote, with a user id replaced wherever it stands as a word of its own, or where the script changes '
    'as in 用户anna说. An id in Chinese is replaced only where something else stands around it.';

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
                        WHEN key = 'user_id' AND value = to_jsonb(user_id) THEN to_jsonb(pseudonym)
                        WHEN key = 'note' AND jsonb_typeof(value) = 'string'
                            THEN to_jsonb(iap.without_user(value #>> '{}', user_id, pseudonym))
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
    'The details of an event or a move, or a case''s candidates, with a user id replaced. Lists hold user ids, or '
    'objects.';

CREATE FUNCTION iap.open_transactions_of(user_id text) RETURNS SETOF iap.white
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
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
        -- And what else iap.owed looks at: tokens, and orders.
        OR (white.transaction_id, white.bundle_id, white.environment) IN (
            SELECT owed.transaction_id, owed.bundle_id, owed.environment
            FROM (SELECT DISTINCT bundle_id FROM iap.white) AS app
            CROSS JOIN LATERAL iap.open_for(app.bundle_id, $1) AS owed)
    ORDER BY white.purchased_at, white.transaction_id;
END
$$;
COMMENT ON FUNCTION iap.open_transactions_of IS 'What is paid and not delivered, and may be owed to a user.';

CREATE FUNCTION iap.erased_token(app_account_token text, salt text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT left(encode(sha256(convert_to($2 || $1, 'UTF8')), 'hex'), 32)::uuid::text
$$;
COMMENT ON FUNCTION iap.erased_token IS
    'What stands in the place of a person''s token once they are erased, the same one everywhere. The salt is drawn '
    'for the erasure, and kept nowhere.';

CREATE FUNCTION iap.is_own_token(bundle_id text, app_account_token text, user_id text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        EXISTS (
            SELECT FROM iap.orders AS own
            WHERE own.user_id = is_own_token.user_id AND own.app_account_token = is_own_token.app_account_token)
        OR EXISTS (
            SELECT FROM iap.account_tokens AS own
            WHERE own.user_id = is_own_token.user_id AND own.app_account_token = is_own_token.app_account_token))
        AND NOT EXISTS (
            SELECT FROM iap.owners_by_token(is_own_token.bundle_id, is_own_token.app_account_token) AS owner
            WHERE owner <> is_own_token.user_id);
END
$$;
COMMENT ON FUNCTION iap.is_own_token IS
    'Whether a user registered a token, or ordered with it, for whatever app, and nobody else did for this one.';

CREATE FUNCTION iap.is_anothers(t iap.transactions, user_id text, pseudonym text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(coalesce(t.user_id, t.admitted_user_id) <> is_anothers.user_id, false)
        OR EXISTS (
            SELECT FROM iap.owners_by_token(t.bundle_id, t.app_account_token) AS owner
            WHERE owner <> is_anothers.user_id)
        OR EXISTS (
            SELECT FROM iap.sightings
            WHERE sightings.transaction_id = t.transaction_id AND sightings.bundle_id = t.bundle_id
                AND sightings.environment = t.environment
                AND sightings.user_id NOT IN (is_anothers.user_id, pseudonym));
END
$$;
COMMENT ON FUNCTION iap.is_anothers IS
    'Whether anything but a token that is the user''s own says that a purchase is, or may be, another user''s.';

CREATE FUNCTION iap.erased(t iap.transactions, user_id text, pseudonym text, salt text) RETURNS iap.transactions
LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- A token is the user's who registered it, ordered with it, or alone handed the purchase in: on a phone whose users
    -- take turns that may be another's purchase, who has a right to it by the token. Another token stands for it, so
    -- that what it alone said is theirs goes to nobody else, whenever it comes to be owed again.
    IF iap.is_own_token(t.bundle_id, t.app_account_token, erased.user_id)
        OR NOT iap.is_anothers(t, erased.user_id, pseudonym)
    THEN
        t.app_account_token := iap.erased_token(t.app_account_token, salt);
    END IF;
    t.user_id := CASE t.user_id WHEN erased.user_id THEN pseudonym ELSE t.user_id END;
    t.admitted_user_id := CASE t.admitted_user_id WHEN erased.user_id THEN pseudonym ELSE t.admitted_user_id END;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.erased IS 'A transaction without a user''s id and tokens.';

CREATE FUNCTION iap.erase_from_transactions(user_id text, pseudonym text, salt text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    changes iap.change[];
    open    iap.white[];
BEGIN
    SELECT array_agg(owed) INTO open FROM iap.open_transactions_of(erase_from_transactions.user_id) AS owed;
    SELECT array_agg(ROW(t, became)::iap.change) INTO changes
    FROM (
        SELECT t, iap.erased(t, erase_from_transactions.user_id, pseudonym, salt) AS became
        FROM (
            SELECT ROW(t.*)::iap.transactions AS t
            FROM iap.transactions AS t
            WHERE t.user_id = erase_from_transactions.user_id OR t.admitted_user_id = erase_from_transactions.user_id
                OR (t.transaction_id, t.bundle_id, t.environment) IN (
                    SELECT owed.transaction_id, owed.bundle_id, owed.environment FROM unnest(open) AS owed)
                -- Wherever it is by now: what was refunded or dismissed may be owed again.
                OR t.app_account_token IN (
                    SELECT orders.app_account_token FROM iap.orders
                    WHERE orders.user_id = erase_from_transactions.user_id
                    UNION
                    SELECT own.app_account_token FROM iap.account_tokens AS own
                    WHERE own.user_id = erase_from_transactions.user_id)
                OR (
                    t.app_account_token IS NOT NULL
                    AND (t.transaction_id, t.bundle_id, t.environment) IN (
                        SELECT seen.transaction_id, seen.bundle_id, seen.environment
                        FROM iap.sightings AS seen
                        WHERE seen.user_id = erase_from_transactions.user_id))
            ORDER BY t.transaction_id, t.bundle_id, t.environment
            FOR UPDATE
        ) AS held
        OFFSET 0
    ) AS looked_at
    WHERE became IS DISTINCT FROM t;
    IF changes IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM iap.move(changes, 'corrected', session_user, NULL, iap.present());
    RETURN cardinality(changes);
END
$$;
COMMENT ON FUNCTION iap.erase_from_transactions IS
    'Replaces a user id and their tokens in the ledger, and says in how many rows. No place and no amount is another.';

CREATE FUNCTION iap.unnamed_receipts_of(pseudonym text) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT array_agg(DISTINCT seen.receipt_id)
        FROM iap.transactions AS t
        JOIN iap.sightings AS seen USING (transaction_id, bundle_id, environment)
        WHERE (
                t.user_id = pseudonym OR t.admitted_user_id = pseudonym
                OR t.app_account_token IN (
                    SELECT orders.app_account_token FROM iap.orders WHERE orders.user_id = pseudonym
                    UNION
                    SELECT own.app_account_token FROM iap.account_tokens AS own WHERE own.user_id = pseudonym))
            -- Of another's receipt the next refund is known.
            AND NOT EXISTS (
                SELECT FROM iap.sightings AS beside
                JOIN iap.transactions AS other USING (transaction_id, bundle_id, environment)
                WHERE beside.receipt_id = seen.receipt_id AND beside.bucket = seen.bucket
                    AND iap.is_anothers(
                        ROW(other.*)::iap.transactions, unnamed_receipts_of.pseudonym,
                        unnamed_receipts_of.pseudonym)));
END
$$;
COMMENT ON FUNCTION iap.unnamed_receipts_of IS
    'The receipts in which an erased person''s purchases were seen, and none that may be another''s. Some bear no '
    'user: what Apple told by itself, with the token of the account in it, or what was uploaded before a login.';

CREATE FUNCTION iap.erase_from_trail(user_id text, pseudonym text, erasure bigint) RETURNS bigint
LANGUAGE plpgsql SET timezone = 'UTC' SET datestyle = 'ISO, YMD' AS $$
DECLARE
    needle   text := trim(BOTH '"' FROM to_jsonb(erase_from_trail.user_id)::text);
    -- A user may be called as a login is, or as the job: who did all that they did stays in the trail.
    is_login boolean := erase_from_trail.user_id = 'iap-reconcile'
        OR EXISTS (SELECT FROM pg_roles WHERE rolname = erase_from_trail.user_id);
    log      text;
    number   text;
    rows     bigint;
    total    bigint := 0;
BEGIN
    FOR log, number IN VALUES ('moves', 'move_id'), ('events', 'event_id') LOOP
        -- The chain keeps what it covered; beside it stands what is left, unless the row did not fit before.
        EXECUTE format(
            $erase$
            WITH affected AS MATERIALIZED (
                SELECT %2$I AS number, audit.digest(%1$I) AS digest, seal = audit.seal(%1$I) AS fits
                FROM iap.%1$I
                WHERE ((strpos(actor, $1) > 0 AND NOT $5) OR strpos(details::text, $2) > 0)
                    AND (
                        (actor <> iap.without_user(actor, $1, $3) AND NOT $5)
                        OR details <> iap.without_user(details, $1, $3))
            ), changed AS (
                UPDATE iap.%1$I
                SET actor = CASE WHEN $5 THEN actor ELSE iap.without_user(actor, $1, $3) END,
                    details = iap.without_user(details, $1, $3)
                FROM affected
                WHERE %2$I = affected.number
                RETURNING affected.number, affected.digest, audit.digest(%1$I) AS left_as, fits
            )
            INSERT INTO audit.erasures (number, event_id, digest, left_as)
            SELECT number, $4, digest, left_as FROM changed WHERE fits
            -- An erasure may have to look twice.
            ON CONFLICT (number, event_id) DO UPDATE SET left_as = EXCLUDED.left_as
            $erase$, log, number)
        USING erase_from_trail.user_id, needle, pseudonym, erasure, is_login;
        GET DIAGNOSTICS rows = ROW_COUNT;
        total := total + rows;
        EXECUTE format(
            $seal$
            UPDATE iap.%1$I
            SET seal = audit.seal(%1$I)
            FROM audit.erasures
            WHERE erasures.event_id = $1 AND %1$I.%2$I = erasures.number
            $seal$, log, number)
        USING erasure;
    END LOOP;
    RETURN total;
END
$$;
COMMENT ON FUNCTION iap.erase_from_trail IS
    'Replaces a user id in moves and events, and says in how many; erasure is the event that will tell of it. What a '
    'login of that name did stays told as the login''s.';

CREATE FUNCTION audit.erased_by(erasure bigint) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT encode(
        sha256(convert_to(
            coalesce(
                string_agg(
                    concat_ws(' ', number, encode(digest, 'hex'), encode(left_as, 'hex')), E'\n' ORDER BY number),
                ''),
            'UTF8')),
        'hex')
    FROM audit.erasures
    WHERE event_id = erasure
$$;
COMMENT ON FUNCTION audit.erased_by IS
    'The digest of what an erasure changed in moves and events. Its event says it, and the chain covers that: so '
    'nobody passes off another change as an erasure.';

CREATE FUNCTION audit.wrong_erasures() RETURNS SETOF bigint
LANGUAGE sql STABLE SET timezone = 'UTC' SET datestyle = 'ISO, YMD' AS $$
    WITH told AS MATERIALIZED (
        SELECT event_id
        FROM iap.events
        WHERE kind = 'erased' AND details ->> 'erasures' = audit.erased_by(event_id)
    )
    SELECT DISTINCT erased.number
    FROM (
        SELECT *, lead(digest) OVER (PARTITION BY number ORDER BY event_id) AS found_later
        FROM audit.erasures
    ) AS erased
    LEFT JOIN iap.moves ON moves.move_id = erased.number
    LEFT JOIN iap.events ON events.event_id = erased.number
    LEFT JOIN told ON told.event_id = erased.event_id
    WHERE told.event_id IS NULL
        OR erased.left_as IS DISTINCT FROM CASE
            WHEN erased.found_later IS NOT NULL THEN erased.found_later
            WHEN moves.move_id IS NOT NULL THEN audit.digest(moves)
            ELSE audit.digest(events)
        END
$$;
COMMENT ON FUNCTION audit.wrong_erasures IS
    'The moves and events that are not what an erasure left, or of whose erasure no event tells, or tells otherwise.';

CREATE FUNCTION iap.replace_user(user_id text, pseudonym text, salt text, erasure bigint) RETURNS jsonb
LANGUAGE plpgsql AS $$
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
    PERFORM iap.limit_idleness();
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
            OR EXISTS (SELECT FROM iap.claims WHERE user_id = erase_user.user_id));
        SELECT count(*) INTO arrived
        FROM iap.receipts WHERE user_id = erase_user.user_id AND state = 'waiting';
        IF even_open IS NOT TRUE
            AND (arrived > 0 OR EXISTS (SELECT FROM iap.open_transactions_of(erase_user.user_id)))
        THEN
            RAISE EXCEPTION 'the user has bought something meanwhile' USING
                ERRCODE = 'serialization_failure', HINT = 'Try the transaction again.';
        END IF;
        later := iap.replace_user(erase_user.user_id, pseudonym, salt, erasure);
        SELECT jsonb_object_agg(key, first.value::bigint + (later ->> key)::bigint) INTO rows
        FROM jsonb_each_text(rows) AS first;
    END LOOP;
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
        'outcome', 'erased', 'pseudonym', pseudonym, 'rows', rows, 'open', open, 'waiting', waiting);
END
$$;
COMMENT ON FUNCTION iap.erase_user IS
    'Erases a person: the user id becomes a pseudonym, the same one everywhere, and their tokens become others, so '
    'that amounts, orders and deliveries still add up; devices and payloads go. Gives the outcome: erased, with what '
    'was changed; unknown; or open, with the transactions that are paid and not delivered and the number of receipts '
    'that are not verified yet: then nothing is changed, unless even_open. What even so is open stays owed, to the '
    'pseudonym. It waits for what other sessions are writing, and no claim waits for it but of what is erased.';
