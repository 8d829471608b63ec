-- What Apple tells by itself: notifications (App Store Server Notifications V2), from Apple's own history of them or
-- handed on by an app's server. What they tell of a known purchase changes it as any other word of Apple's does; a
-- purchase that nobody knows goes into the inbox.

CREATE TABLE iap.notices (
    transaction_id     text COLLATE "C" NOT NULL CHECK (octet_length(transaction_id) BETWEEN 1 AND 64),
    bundle_id          text COLLATE "C" NOT NULL,
    environment        text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    notice_uuid        text COLLATE "C" NOT NULL CHECK (octet_length(notice_uuid) BETWEEN 1 AND 64),
    type               text NOT NULL,
    subtype            text,
    signed_at          timestamptz NOT NULL,
    heard_at           timestamptz NOT NULL,
    heard_by           text NOT NULL CHECK (heard_by IN ('history', 'app_server', 'file', 'question')),
    first_run_id       bigint,
    -- How sending it to the app's server went, as Apple's history tells; NULL where it came another way.
    sending            text CHECK (sending IN ('sent', 'retrying', 'failed')),
    attempts           integer,
    last_attempt_at    timestamptz,
    last_result        text,
    consumption_reason text,
    -- As which receipt its transaction was handed in, because nobody knew it.
    receipt_id         bigint,
    PRIMARY KEY (transaction_id, bundle_id, environment, notice_uuid)
);

CREATE INDEX notices_by_moment ON iap.notices USING brin (signed_at);
-- What refunds Apple took back: see iap.reverse_otherwise.
CREATE INDEX notices_of_reversals ON iap.notices (bundle_id) WHERE type = 'REFUND_REVERSED';
COMMENT ON TABLE iap.notices IS
    'What Apple told by itself of a transaction, each notification once. What it changed stands in the ledger.';
COMMENT ON COLUMN iap.notices.type IS 'Apple''s word: ONE_TIME_CHARGE, DID_RENEW, REFUND, CONSUMPTION_REQUEST …';
COMMENT ON COLUMN iap.notices.heard_by IS
    'history: Get Notification History; app_server: iap.submit_notification; file: iap-reconcile notices; question: '
    'Apple was asked about the customer, and told of a purchase that nobody knew.';
COMMENT ON COLUMN iap.notices.sending IS
    'sent: the app''s server took it; retrying: Apple tries again; failed: Apple has given up.';
COMMENT ON COLUMN iap.notices.last_result IS 'Apple''s word on the last attempt, such as TIMED_OUT.';
COMMENT ON COLUMN iap.notices.consumption_reason IS
    'Why Apple asks whether it was delivered, in a CONSUMPTION_REQUEST: FULFILLMENT_ISSUE …';

CREATE TABLE iap.hearings (
    bundle_id      text COLLATE "C" NOT NULL,
    environment    text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    -- Apple's history was read from then, and up to then.
    heard_from     timestamptz,
    heard_through  timestamptz,
    last_signed_at timestamptz,
    heard_at       timestamptz,
    problem        text,
    noted_upto     bigint NOT NULL DEFAULT 0,
    noted_gaps     int8multirange NOT NULL DEFAULT '{}',
    PRIMARY KEY (bundle_id, environment)
);
COMMENT ON TABLE iap.hearings IS 'How far Apple''s history of notifications was read, for each app with a key.';
COMMENT ON COLUMN iap.hearings.last_signed_at IS 'When the latest notification that came in any way was signed.';
COMMENT ON COLUMN iap.hearings.problem IS 'Why it could not be read to its end last; NULL where it was.';
COMMENT ON COLUMN iap.hearings.noted_upto IS
    'Customers and prices are noted of all that entered the ledger up to this number, but for noted_gaps.';
COMMENT ON COLUMN iap.hearings.noted_gaps IS
    'The numbers before it that the books had not seen: of transactions that had not ended, or failed.';

CREATE TABLE iap.handed_notices (
    payload_sha256 bytea NOT NULL CHECK (octet_length(payload_sha256) = 32),
    bundle_id      text COLLATE "C" NOT NULL,
    heard_by       text NOT NULL DEFAULT 'app_server' CHECK (heard_by IN ('history', 'app_server')),
    payload        text NOT NULL,
    submitted_at   timestamptz NOT NULL DEFAULT now(),
    -- Why it was not taken, and since when; NULL while it waits.
    problem        text,
    refused_at     timestamptz,
    -- Whether no setting and no newer program makes a notification for the app of it. Else each night tries it again.
    is_final       boolean NOT NULL DEFAULT false,
    PRIMARY KEY (payload_sha256, bundle_id),
    CHECK ((problem IS NULL) = (refused_at IS NULL))
);

CREATE INDEX handed_notices_waiting ON iap.handed_notices (submitted_at) WHERE NOT is_final;
CREATE INDEX handed_notices_refused ON iap.handed_notices (refused_at) WHERE refused_at IS NOT NULL;
COMMENT ON TABLE iap.handed_notices IS
    'Notifications that the apps'' servers handed on, until the night takes them; what it can''t take stays '
    'here, of Apple''s history, too.';

CREATE TYPE iap.notice AS (
    -- The number of its transaction in the batch.
    number             integer,
    transaction_id     text COLLATE "C",
    bundle_id          text COLLATE "C",
    environment        text,
    notice_uuid        text COLLATE "C",
    type               text,
    subtype            text,
    signed_at          timestamptz,
    heard_by           text,
    sending            text,
    attempts           integer,
    last_attempt_at    timestamptz,
    last_result        text,
    consumption_reason text,
    signed_transaction text
);
COMMENT ON TYPE iap.notice IS 'A notice of a batch.';

CREATE FUNCTION iap.take_notices(
    run bigint, at timestamptz, OUT fresh bigint, OUT unknown integer[], OUT locked text[],
    OUT held_since timestamptz
) LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    held     integer[];
    known    integer[];
    reversed iap.change[];
BEGIN
    SELECT sorted.known, sorted.unknown INTO known, unknown FROM iap.known_of_heard() AS sorted;
    IF known <> '{}' THEN
        -- It is as good as what is known by now, and older: it only tells what is new. What the app's server alone said
        -- it corrects.
        UPDATE heard
        SET source = CASE
                WHEN t.source = 'app_server' THEN 'local'
                -- A signature alone takes no refund back; Apple's word does, unless it is from before the refund.
                WHEN t.source = 'local' AND heard.refunded_at IS NULL AND heard.verified_at > t.refunded_at
                THEN 'server_api'
                ELSE t.source
            END,
            -- That a refund was taken back counts, whatever told of the refund, and when.
            (verified_at, made_at) = (
                SELECT
                    CASE
                        WHEN is_taken_back THEN greatest(heard.verified_at, t.verified_at + interval '1 microsecond')
                        ELSE heard.verified_at
                    END,
                    CASE WHEN is_taken_back THEN t.refund_told_at ELSE heard.made_at END
                FROM (
                    SELECT heard.refunded_at IS NULL AND EXISTS (
                        SELECT FROM told
                        WHERE told.number = heard.number AND told.type = 'REFUND_REVERSED'
                            AND told.signed_at > t.refunded_at) AS is_taken_back
                ) AS reversed)
        FROM transactions AS t
        WHERE t.transaction_id = heard.transaction_id AND t.bundle_id = heard.bundle_id
            AND t.environment = heard.environment;
        SELECT remaining INTO held FROM iap.hear_patiently(known, run, at);
    END IF;
    SELECT array_agg(DISTINCT transaction_id), min(signed_at) INTO locked, held_since
    FROM told
    WHERE number = ANY (held);

    WITH new AS (
        INSERT INTO notices AS known (
            transaction_id, bundle_id, environment, notice_uuid, type, subtype, signed_at, heard_at, heard_by,
            first_run_id, sending, attempts, last_attempt_at, last_result, consumption_reason)
        SELECT DISTINCT ON (transaction_id, bundle_id, environment, notice_uuid)
            transaction_id, bundle_id, environment, notice_uuid, type, subtype, signed_at, at, heard_by, run, sending,
            attempts, last_attempt_at, last_result, consumption_reason
        FROM told
        WHERE number <> ALL (coalesce(held, '{}'))
        ORDER BY transaction_id, bundle_id, environment, notice_uuid, attempts DESC NULLS LAST
        ON CONFLICT (transaction_id, bundle_id, environment, notice_uuid) DO UPDATE
        SET sending = EXCLUDED.sending, attempts = EXCLUDED.attempts, last_attempt_at = EXCLUDED.last_attempt_at,
            last_result = EXCLUDED.last_result
        WHERE EXCLUDED.sending IS NOT NULL
            AND (known.sending, known.attempts) IS DISTINCT FROM (EXCLUDED.sending, EXCLUDED.attempts)
        RETURNING known.first_run_id = run AND known.heard_at = at AS is_new
    )
    SELECT count(*) FILTER (WHERE is_new) INTO fresh FROM new;

    -- Of another id that was refunded with it Apple tells nothing here. The night takes that refund back, too, unless
    -- Apple told of it later: it verifies anew what holds them.
    SELECT array_agg(ROW(found.t, found.t)::iap.change) INTO reversed
    FROM told
    CROSS JOIN LATERAL (
        SELECT ROW(of_it.*)::iap.transactions AS t
        FROM transactions AS of_it
        WHERE told.type = 'REFUND_REVERSED' AND of_it.transaction_id = told.transaction_id
            AND of_it.bundle_id = told.bundle_id AND of_it.environment = told.environment
        OFFSET 0
    ) AS found
    WHERE EXISTS (
        SELECT FROM transactions AS same
        WHERE iap.is_of_original(
                same.transaction_id, same.original_transaction_id, (found.t).original_transaction_id)
            AND same.bundle_id = told.bundle_id AND same.environment = told.environment
            AND same.transaction_id <> told.transaction_id AND same.refunded_at IS NOT NULL
            AND iap.is_same_purchase(found.t, ROW(same.*)::iap.transactions));
    PERFORM iap.watch_again(reversed, at);
END
$$;
COMMENT ON FUNCTION iap.take_notices IS
    'Takes the notices that are staged in the session''s tables heard and told: keeps each once, and lets what they '
    'tell of known transactions change the ledger. Says how many are new, the numbers in the batch of the transactions '
    'that nobody knows, and which another session has locked: their notices are not kept yet, the earliest of which is '
    'as old as held_since.';

CREATE FUNCTION iap.hand_in(numbers integer[], at timestamptz) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    proof  record;
    upload iap.uploads;
    handed bigint := 0;
BEGIN
    -- A statement a receipt, by its key: the form that also runs where the inbox lies on other servers than the
    -- notices.
    FOR proof IN
        SELECT DISTINCT ON (number)
            transaction_id, bundle_id, environment, notice_uuid, signed_transaction,
            sha256(convert_to(signed_transaction, 'UTF8')) AS digest
        FROM told
        WHERE number = ANY (numbers) AND signed_transaction IS NOT NULL
        ORDER BY number, signed_at DESC
    LOOP
        upload.bucket := get_byte(proof.digest, 0) & 63;
        upload.receipt_id := nextval('iap.receipt_number') * 64 + upload.bucket;
        upload.first_uploaded_at := at;
        INSERT INTO receipts (
            bucket, receipt_id, bundle_id, payload, payload_sha256, submitted_at, next_attempt_at, seal)
        VALUES (
            upload.bucket, upload.receipt_id, proof.bundle_id, proof.signed_transaction, proof.digest, at, at,
            audit.receipt_seal(
                upload.bucket, upload.receipt_id, proof.bundle_id, NULL, proof.digest, NULL, NULL, at, 'waiting',
                false))
        ON CONFLICT (bucket, payload_sha256, bundle_id, user_id) DO NOTHING;
        CONTINUE WHEN NOT FOUND;
        -- For no purchase in particular: nobody uploaded it.
        INSERT INTO uploads (bucket, receipt_id, first_uploaded_at, last_uploaded_at, seal)
        VALUES (upload.bucket, upload.receipt_id, at, at, audit.seal(upload));
        UPDATE notices
        SET receipt_id = upload.receipt_id
        WHERE notices.transaction_id = proof.transaction_id AND notices.bundle_id = proof.bundle_id
            AND notices.environment = proof.environment AND notices.notice_uuid = proof.notice_uuid;
        handed := handed + 1;
    END LOOP;
    RETURN handed;
END
$$;
COMMENT ON FUNCTION iap.hand_in IS
    'Puts the signed transactions of these numbers of the batch, which nobody knows, into the inbox as receipts '
    'without a user, and says how many were not there yet.';

CREATE FUNCTION iap.note_hearing(
    bundle_id text, environment text, heard_from timestamptz, through timestamptz, signed_at timestamptz,
    at timestamptz, problem text
) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO hearings AS known (bundle_id, environment, heard_from, heard_through, last_signed_at, heard_at, problem)
    VALUES (
        note_hearing.bundle_id, note_hearing.environment, note_hearing.heard_from, through, signed_at, at,
        note_hearing.problem)
    ON CONFLICT (bundle_id, environment) DO UPDATE
    SET heard_from = least(known.heard_from, EXCLUDED.heard_from),
        heard_through = greatest(known.heard_through, EXCLUDED.heard_through),
        last_signed_at = greatest(known.last_signed_at, EXCLUDED.last_signed_at),
        heard_at = EXCLUDED.heard_at, problem = EXCLUDED.problem;
END
$$;
COMMENT ON FUNCTION iap.note_hearing IS 'Notes how far Apple''s history of notifications was read.';

-- The app's server ----------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.submit_notification(bundle_id text, signed_payload text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM iap.commit_durably();
    PERFORM iap.require_bundle_id(submit_notification.bundle_id);
    IF coalesce(signed_payload, '') = '' THEN
        RAISE EXCEPTION 'signed_payload is missing' USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'It is the text under “signedPayload” of what Apple posted.';
    ELSIF octet_length(signed_payload) > 262144 THEN
        RAISE EXCEPTION 'no notification of Apple''s is as large as % bytes', octet_length(signed_payload) USING
            ERRCODE = 'invalid_parameter_value';
    END IF;
    INSERT INTO iap.handed_notices (payload_sha256, bundle_id, payload, submitted_at)
    VALUES (
        sha256(convert_to(signed_payload, 'UTF8')), submit_notification.bundle_id, signed_payload,
        iap.present())
    ON CONFLICT (payload_sha256, bundle_id) DO NOTHING;
    RETURN 'waiting';
END
$$;
COMMENT ON FUNCTION iap.submit_notification IS
    'Stores a notification that Apple posted to the app''s server, to be verified and taken at night, and gives '
    '“waiting”. The same again changes nothing.';

CREATE FUNCTION iap.delivery_status(bundle_id text, transaction_id text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM iap.require_bundle_id(delivery_status.bundle_id);
    PERFORM iap.require_transaction_id('transaction_id', delivery_status.transaction_id);
    RETURN CASE
        -- Both environments number their transactions on their own: of one id Apple asks about what was paid.
        WHEN (
            SELECT iap.word_of(ROW(t.*)::iap.transactions)
            FROM iap.transactions AS t
            WHERE t.transaction_id = delivery_status.transaction_id AND t.bundle_id = delivery_status.bundle_id
            ORDER BY t.environment
            LIMIT 1) = 'delivered'
        THEN 'DELIVERED' ELSE 'UNDELIVERED_OTHER'
    END;
END
$$;
COMMENT ON FUNCTION iap.delivery_status IS
    'What to answer Apple''s CONSUMPTION_REQUEST with as deliveryStatus: DELIVERED where the goods were delivered, '
    'else UNDELIVERED_OTHER.';
