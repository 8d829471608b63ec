-- What an app's own server hands in: receipts, orders, and its users' tokens.

CREATE FUNCTION iap.is_handed_in_again(submitted_at timestamptz, uploaded_again_at timestamptz, at timestamptz)
RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT $3 > greatest($1, $2) + interval '7 days' $$;
COMMENT ON FUNCTION iap.is_handed_in_again IS
    'Whether an upload of a receipt comes a week after the one before that counted, as from who uses the app again.';

CREATE FUNCTION iap.look_again(
    bucket smallint, receipt_id bigint, is_for_another boolean, at timestamptz, payload text
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
BEGIN
    -- A night that has the receipt in hand sees by it that there is more to look at. If that night settles it first,
    -- this waits until it has said so.
    UPDATE iap.receipts SET uploaded_again_at = look_again.at
    WHERE bucket = look_again.bucket AND receipt_id = look_again.receipt_id;

    -- An app hands in the same AppTransaction for years.
    IF look_again.payload IS NOT NULL THEN
        UPDATE iap.receipts SET payload = look_again.payload || '', payload_purged_at = NULL
        WHERE bucket = look_again.bucket AND receipt_id = look_again.receipt_id
            AND payload_purged_at IS NOT NULL AND NOT is_erased AND (look_again.is_for_another OR state = 'unusable');
    END IF;

    UPDATE iap.receipts
    SET state = CASE WHEN verified_at IS NULL THEN 'waiting' ELSE 'watched' END, next_attempt_at = look_again.at,
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE
            WHEN seal = audit.receipt_seal(
                bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at, state,
                is_erased)
            THEN audit.receipt_seal(
                bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at,
                CASE WHEN verified_at IS NULL THEN 'waiting' ELSE 'watched' END, is_erased)
            ELSE seal
        END
    WHERE bucket = look_again.bucket AND receipt_id = look_again.receipt_id
        AND (look_again.is_for_another OR state = 'unusable')
        -- Not by the payload, which an import may not read.
        AND next_attempt_at IS NULL AND payload_purged_at IS NULL AND NOT is_erased
        AND error_code IS DISTINCT FROM 'empty';
END
$$;
COMMENT ON FUNCTION iap.look_again IS
    'What comes of a receipt that is handed in again, for another purchase or order or after a week: its customer is '
    'asked about again, as after any upload, and if it is done with, it is verified again. A payload that was purged '
    'is kept again.';

CREATE FUNCTION iap.store_upload(
    bucket smallint, receipt_id bigint, bundle_id text, user_id text, payload text, payload_sha256 bytea, bytes integer,
    transaction_id text, order_id text, device jsonb, uploaded_at timestamptz
) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ends           boolean := store_upload.payload IS NULL;
    number         bigint;
    is_new         boolean := false;
    adds           boolean;
    is_again       boolean;
    is_for_another boolean;
    upload         iap.uploads;
BEGIN
    SELECT
        receipt_id,
        (transaction_id IS NULL AND store_upload.transaction_id IS NOT NULL)
            OR (order_id IS NULL AND store_upload.order_id IS NOT NULL)
            OR (device IS NULL AND store_upload.device IS NOT NULL AND device_purged_at IS NULL),
        known.is_again,
        uploads_left_out = 0 AND known.is_for_another
    INTO number, adds, is_again, is_for_another
    FROM (
        SELECT
            *, iap.is_handed_in_again(submitted_at, uploaded_again_at, store_upload.uploaded_at) AS is_again,
            NOT EXISTS (
                SELECT FROM iap.uploads AS u
                WHERE u.bucket = store_upload.bucket AND u.receipt_id = r.receipt_id
                    AND u.transaction_id IS NOT DISTINCT FROM store_upload.transaction_id
                    AND u.order_id IS NOT DISTINCT FROM store_upload.order_id) AS is_for_another
        FROM iap.receipts AS r
        WHERE bucket = store_upload.bucket AND payload_sha256 = store_upload.payload_sha256
            AND bundle_id = store_upload.bundle_id AND user_id IS NOT DISTINCT FROM store_upload.user_id
    ) AS known;

    -- The usual second upload changes nothing, so it locks nothing that the nightly job waits for.
    IF number IS NULL OR adds THEN
        INSERT INTO iap.receipts AS known (
            bucket, receipt_id, bundle_id, user_id, payload, payload_sha256, order_id, transaction_id, device,
            submitted_at, state, next_attempt_at, payload_purged_at, last_attempt_at, error_code, error_text, seal)
        VALUES (
            store_upload.bucket, store_upload.receipt_id, store_upload.bundle_id, store_upload.user_id,
            store_upload.payload, store_upload.payload_sha256, store_upload.order_id, store_upload.transaction_id,
            store_upload.device, store_upload.uploaded_at, CASE WHEN ends THEN 'unusable' ELSE 'waiting' END,
            CASE WHEN NOT ends THEN store_upload.uploaded_at END, CASE WHEN ends THEN store_upload.uploaded_at END,
            CASE WHEN ends THEN store_upload.uploaded_at END, CASE WHEN ends THEN 'too_large' END,
            CASE WHEN ends THEN format('the client uploaded %s bytes', store_upload.bytes) END,
            audit.receipt_seal(
                store_upload.bucket, store_upload.receipt_id, store_upload.bundle_id, store_upload.user_id,
                store_upload.payload_sha256, store_upload.order_id, store_upload.transaction_id,
                store_upload.uploaded_at, CASE WHEN ends THEN 'unusable' ELSE 'waiting' END, false))
        ON CONFLICT (bucket, payload_sha256, bundle_id, user_id) DO UPDATE
        SET order_id = coalesce(known.order_id, EXCLUDED.order_id),
            transaction_id = coalesce(known.transaction_id, EXCLUDED.transaction_id),
            device = CASE WHEN known.device_purged_at IS NULL THEN coalesce(known.device, EXCLUDED.device) END,
            -- A seal that does not fit stays, for its row was changed by hand.
            seal = CASE
                WHEN known.seal = audit.receipt_seal(
                    known.bucket, known.receipt_id, known.bundle_id, known.user_id, known.payload_sha256,
                    known.order_id, known.transaction_id, known.submitted_at, known.state, known.is_erased)
                THEN audit.receipt_seal(
                    known.bucket, known.receipt_id, known.bundle_id, known.user_id, known.payload_sha256,
                    coalesce(known.order_id, EXCLUDED.order_id),
                    coalesce(known.transaction_id, EXCLUDED.transaction_id), known.submitted_at, known.state,
                    known.is_erased)
                ELSE known.seal
            END
        RETURNING receipt_id INTO number;
        is_new := number = store_upload.receipt_id;
        -- What another session brings at the same moment was not found above.
        is_for_another := coalesce(is_for_another, NOT is_new);
    END IF;

    IF is_again OR is_for_another THEN
        PERFORM iap.look_again(
            store_upload.bucket, number, is_for_another, store_upload.uploaded_at, store_upload.payload);
    END IF;

    upload.bucket := store_upload.bucket;
    upload.receipt_id := number;
    upload.transaction_id := store_upload.transaction_id;
    upload.order_id := store_upload.order_id;
    upload.first_uploaded_at := store_upload.uploaded_at;
    -- Counted no further than a thousand; two uploads at once may bring one more.
    IF NOT is_new
        AND (SELECT count(*) FROM (
            SELECT FROM iap.uploads
            WHERE bucket = store_upload.bucket AND receipt_id = number
            LIMIT 1000) AS purposes) = 1000
        AND NOT EXISTS (
            SELECT FROM iap.uploads
            WHERE bucket = store_upload.bucket AND receipt_id = number
                AND transaction_id IS NOT DISTINCT FROM store_upload.transaction_id
                AND order_id IS NOT DISTINCT FROM store_upload.order_id)
    THEN
        UPDATE iap.receipts SET uploads_left_out = uploads_left_out + 1
        WHERE bucket = store_upload.bucket AND receipt_id = number AND uploads_left_out < 1000000;
        RETURN number;
    END IF;
    INSERT INTO iap.uploads AS known (bucket, receipt_id, transaction_id, order_id, first_uploaded_at, seal)
    VALUES (
        upload.bucket, number, upload.transaction_id, upload.order_id, upload.first_uploaded_at, audit.seal(upload))
    ON CONFLICT (bucket, receipt_id, transaction_id, order_id) DO UPDATE
    SET times = known.times + 1, last_uploaded_at = greatest(known.last_uploaded_at, EXCLUDED.last_uploaded_at);
    RETURN number;
END
$$;
COMMENT ON FUNCTION iap.store_upload IS
    'What of an upload is written, for iap.submit_receipt: rows of one bucket alone, so that on a cluster it runs '
    'where they lie. payload is NULL where it is too large to be kept. receipt_id is given to a receipt that is new.';

CREATE FUNCTION iap.submit_receipt(
    bundle_id text, user_id text, payload text, transaction_id text DEFAULT NULL, order_id text DEFAULT NULL,
    device jsonb DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    -- What comes out of a table of the caller's is compressed as that table has it, and would stay so.
    body   text     := coalesce(submit_receipt.payload, '') || '';
    bytes  integer  := octet_length(body);
    whose  text     := nullif(submit_receipt.user_id, '');
    bought text     := nullif(submit_receipt.transaction_id, '');
    wanted text     := nullif(submit_receipt.order_id, '');
    -- Many drivers say NULL so.
    told   jsonb    := nullif(iap.bounded(submit_receipt.device), 'null');
    digest bytea    := sha256(convert_to(body, 'UTF8'));
    slice  smallint := get_byte(digest, 0) & 63;
    fresh  bigint   := nextval('iap.receipt_number') * 64 + slice;
    kept   text     := CASE WHEN bytes <= 16777216 THEN body END;
    number bigint;
BEGIN
    -- Who takes a delivery back, or erases, has purchases locked, and waits for their receipts.
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.limit_waiting();
    PERFORM iap.require_bundle_id(submit_receipt.bundle_id);
    PERFORM iap.require_text(name, value, 1000)
    FROM (
        VALUES
            ('user_id', whose), ('transaction_id', bought),
            ('order_id', wanted)) AS given (name, value)
    WHERE value IS NOT NULL;

    -- FROM it, as a cluster would not send it to where the bucket lies otherwise.
    SELECT stored INTO number
    FROM iap.store_upload(
        slice, fresh, submit_receipt.bundle_id, whose, kept, digest, bytes, bought, wanted, told, now()
    ) AS stored;
    RETURN number;
END
$$;
COMMENT ON FUNCTION iap.submit_receipt IS
    'Stores what a client uploaded, to be verified at night, and gives its receipt id. The same payload again from the '
    'same user of the same app is the same receipt: it counts the upload, adds what was not known, and has a receipt '
    'that is done with verified again if it comes for another purchase or order, and one that could not be used also '
    'if it comes a week after it last did. A payload that is empty or NULL is stored too, so that support hears of it. '
    'user_id is NULL where nobody is logged in; an empty text is NULL everywhere. Of a payload over 16 MiB the hash is '
    'kept, and its size; of a device over 16 KiB the short fields; of a receipt''s uploads a thousand purposes.';

-- An app account token is a UUID, and means the same in capital letters: a client's uuidString has them, what Apple
-- signs has not. So it is kept in small ones, on either side.
CREATE FUNCTION iap.register_order(
    bundle_id text, order_id text, user_id text, product_id text, quantity integer DEFAULT 1,
    app_account_token text DEFAULT NULL, created_at timestamptz DEFAULT now()
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    word  iap.orders;
    token text := lower(nullif(register_order.app_account_token, ''));
BEGIN
    -- Who erases has purchases locked, and waits for the person's orders.
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_bundle_id(register_order.bundle_id);
    PERFORM iap.require_product_id(register_order.product_id);
    PERFORM iap.require_text('order_id', register_order.order_id, 1000);
    PERFORM iap.require_text('user_id', register_order.user_id, 1000);
    IF coalesce(register_order.quantity, 0) < 1 THEN
        RAISE EXCEPTION 'an order''s quantity is at least 1' USING ERRCODE = 'invalid_parameter_value';
    END IF;

    PERFORM iap.require_moment('created_at', register_order.created_at);
    PERFORM iap.require_token(token);

    word := ROW(
        register_order.bundle_id, register_order.order_id, register_order.user_id, register_order.product_id,
        register_order.quantity, token, coalesce(register_order.created_at, now()), NULL)::iap.orders;
    word.seal := audit.seal(word);
    INSERT INTO iap.orders AS known SELECT word.*
    ON CONFLICT (bundle_id, order_id) DO UPDATE
    SET app_account_token = coalesce(known.app_account_token, EXCLUDED.app_account_token),
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN known.seal = audit.seal(ROW(known.*)::iap.orders) THEN audit.seal(ROW(
            known.bundle_id, known.order_id, known.user_id, known.product_id, known.quantity,
            coalesce(known.app_account_token, EXCLUDED.app_account_token), known.created_at, NULL)::iap.orders)
            ELSE known.seal END
    WHERE (known.user_id, known.product_id, known.quantity)
        = (EXCLUDED.user_id, EXCLUDED.product_id, EXCLUDED.quantity);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this order is registered already, with another user, product or quantity' USING
            ERRCODE = 'unique_violation', HINT = 'Give every order an id of its own.';
    END IF;
END
$$;
COMMENT ON FUNCTION iap.register_order IS
    'Tells of an order of the app''s own, so that a purchase without an order id can be matched with it. Registering '
    'the same order again does nothing; the same id for another user, product or quantity is refused.';

CREATE FUNCTION iap.register_user(bundle_id text, user_id text, app_account_token text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    word  iap.account_tokens;
    known iap.account_tokens;
BEGIN
    PERFORM iap.commit_durably();
    PERFORM iap.require_bundle_id(register_user.bundle_id);
    PERFORM iap.require_text('user_id', register_user.user_id, 1000);
    PERFORM iap.require_token(coalesce(app_account_token, ''));
    word := ROW(
        lower(app_account_token), register_user.bundle_id, register_user.user_id, now(), NULL)::iap.account_tokens;
    word.seal := audit.seal(word);
    INSERT INTO iap.account_tokens SELECT word.* ON CONFLICT (app_account_token, bundle_id) DO NOTHING;
    SELECT * INTO known
    FROM iap.account_tokens
    WHERE app_account_token = word.app_account_token AND bundle_id = word.bundle_id;
    IF known.user_id <> word.user_id THEN
        RAISE EXCEPTION 'this token is registered already, for another user' USING
            ERRCODE = 'unique_violation', HINT = 'Give every user a token of their own.';
    END IF;
END
$$;
COMMENT ON FUNCTION iap.register_user IS
    'Tells whose an appAccountToken is, so that a purchase that bears it names its customer without an order. The same '
    'again does nothing; the token of another user is refused.';
