-- The contract with an app's own server: the only way by which it touches the tables.
--
-- Every function runs with its owner's rights on a fixed search path. Parameters carry the names of the columns they
-- fill; inside, a bare name is the column, and a name qualified with the function's is the parameter.

-- What callers hand in -----------------------------------------------------------------------------------------------

CREATE FUNCTION iap.require_id(name text, value text, longest integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF value IS NULL OR octet_length(value) NOT BETWEEN 1 AND longest OR value COLLATE "C" ~ '[^!-~]' THEN
        RAISE EXCEPTION '% is not an id of Apple''s', name USING
            ERRCODE = 'invalid_parameter_value',
            HINT = format('It has 1 to %s visible ASCII characters.', longest);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.require_id IS
    'Refuses what can''t be an id of Apple''s, by the rule of the nightly job: visible ASCII, not empty, not too long.';

CREATE FUNCTION iap.require_moment(name text, value timestamptz) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF value < '2008-07-10 00:00:00+00'
        OR (value > greatest(iap.present(), now()) + interval '1 day' AND NOT EXISTS (SELECT FROM iap.rehearsal))
    THEN
        RAISE EXCEPTION '% can''t be %', name, value USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'It lies after the App Store opened, on 2008-07-10, and not after tomorrow.';
    END IF;
END
$$;
COMMENT ON FUNCTION iap.require_moment IS
    'Refuses a moment at which nothing can have been bought. Where nights are replayed, the future may be.';

CREATE FUNCTION iap.require_text(name text, value text, longest integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF value IS NULL OR value = '' THEN
        RAISE EXCEPTION '% is missing', name USING ERRCODE = 'invalid_parameter_value';
    ELSIF octet_length(value) > longest THEN
        RAISE EXCEPTION '% has % bytes', name, octet_length(value) USING
            ERRCODE = 'invalid_parameter_value', HINT = format('It has at most %s.', longest);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.require_text IS
    'Refuses a text that is missing, or longer in bytes than an index can hold.';

CREATE FUNCTION iap.limit_idleness() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('idle_in_transaction_session_timeout') = '0' THEN
        PERFORM set_config('idle_in_transaction_session_timeout', '5min', true);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.limit_idleness IS
    'Lets a transaction that is about to lock a purchase, and then hangs, end by itself, also where its login is a member '
    'of a role and so without what roles.sql sets for the role.';

CREATE FUNCTION iap.require_token(app_account_token text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF app_account_token !~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN
        RAISE EXCEPTION 'app_account_token is no UUID' USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'It is the UUID that the client hands to StoreKit, such as 7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b.';
    END IF;
END
$$;
COMMENT ON FUNCTION iap.require_token IS 'Refuses what can''t be an appAccountToken; NULL is none.';

CREATE FUNCTION iap.bounded(device jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bytes integer := octet_length(device::text);
BEGIN
    IF bytes IS NULL OR bytes <= 16384 THEN
        RETURN device;
    END IF;
    RETURN coalesce((
        SELECT jsonb_object_agg(key, value)
        FROM (
            SELECT key, value
            FROM jsonb_each(CASE jsonb_typeof(device) WHEN 'object' THEN device END)
            WHERE octet_length(key) <= 100 AND octet_length(value::text) <= 200
            ORDER BY key
            LIMIT 50
        ) AS short
    ), '{}') || jsonb_build_object('cut', true, 'bytes', bytes);
END
$$;
COMMENT ON FUNCTION iap.bounded IS
    'What a client said of its device, of at most 16 KiB: of more the short fields, and a mark.';

-- Receipts and orders ------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.store_upload(
    bucket smallint, receipt_id bigint, bundle_id text, user_id text, payload text, payload_sha256 bytea, bytes integer,
    transaction_id text, order_id text, device jsonb, uploaded_at timestamptz
) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ends   boolean := store_upload.payload IS NULL;
    number bigint;
    is_new boolean := false;
    upload iap.uploads;
BEGIN
    -- The usual second upload changes nothing, so it locks nothing that the nightly job waits for.
    SELECT receipt_id INTO number
    FROM iap.receipts
    WHERE bucket = store_upload.bucket AND payload_sha256 = store_upload.payload_sha256
        AND bundle_id = store_upload.bundle_id AND user_id IS NOT DISTINCT FROM store_upload.user_id
        AND (transaction_id IS NOT NULL OR store_upload.transaction_id IS NULL)
        AND (order_id IS NOT NULL OR store_upload.order_id IS NULL)
        AND (device IS NOT NULL OR store_upload.device IS NULL OR device_purged_at IS NOT NULL);

    IF number IS NULL THEN
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
    'What of an upload is written, for iap.submit_receipt: rows of one bucket alone, so that on a cluster it runs where '
    'they lie. payload is NULL where it is too large to be kept. receipt_id is given to a receipt that is new.';

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
    told   jsonb    := iap.bounded(submit_receipt.device);
    digest bytea    := sha256(convert_to(body, 'UTF8'));
    slice  smallint := get_byte(digest, 0) & 63;
    fresh  bigint   := nextval('iap.receipt_number') * 64 + slice;
    kept   text     := CASE WHEN bytes <= 16777216 THEN body END;
    number bigint;
BEGIN
    PERFORM iap.require_id('bundle_id', submit_receipt.bundle_id, 255);
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
    'same user of the same app is the same receipt, whose state it leaves alone: it only counts the upload, and adds '
    'what was not known. A payload that is empty or NULL is stored too, so that support hears of it. user_id is NULL '
    'where nobody is logged in; an empty text is NULL everywhere. Of a payload over 16 MiB the hash is kept, and its size; '
    'of a device over 16 KiB the short fields; of a receipt''s uploads a thousand purposes.';

-- An app account token is a UUID, and means the same in capital letters: a client's uuidString has them, what Apple signs
-- has not. So it is kept in small ones, on either side.
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
    PERFORM iap.require_id('bundle_id', register_order.bundle_id, 255);
    PERFORM iap.require_id('product_id', register_order.product_id, 255);
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
    PERFORM iap.require_id('bundle_id', register_user.bundle_id, 255);
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

-- A server that verified a purchase itself ---------------------------------------------------------------------------

-- An order speaks for the purchase that it was uploaded with. A receipt that a server names when it admits a purchase may
-- have been uploaded for another one first: the order of that one, perhaps of the phone's other user, is no evidence.
CREATE FUNCTION iap.sight(
    bundle_id text, environment text, transaction_id text, user_id text, receipt_id bigint
) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    slice    smallint := (sight.receipt_id & 63)::smallint;
    handed   record;
    wanted   text;
    is_other boolean;
BEGIN
    -- The inbox is asked by itself: in a cluster it lies on other servers than the ledger.
    SELECT user_id, order_id, submitted_at INTO handed
    FROM receipts
    WHERE bucket = slice AND receipt_id = sight.receipt_id AND bundle_id = sight.bundle_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'receipt % of % is unknown', sight.receipt_id, sight.bundle_id USING
            ERRCODE = 'foreign_key_violation', HINT = 'Name a receipt that iap.submit_receipt gave, or none.';
    END IF;
    SELECT
        (array_agg(order_id ORDER BY first_uploaded_at)
            FILTER (WHERE transaction_id = sight.transaction_id AND order_id IS NOT NULL))[1],
        bool_or(transaction_id IS NOT NULL)
    INTO wanted, is_other
    FROM uploads
    WHERE bucket = slice AND receipt_id = sight.receipt_id;
    INSERT INTO sightings AS known
    SELECT seen.*, audit.seal(ROW(seen.*, NULL)::iap.sightings)
    FROM (
        SELECT
            sight.transaction_id, sight.bundle_id, sight.environment, slice, sight.receipt_id,
            coalesce(handed.user_id, sight.user_id),
            coalesce(wanted, CASE WHEN is_other IS FALSE THEN handed.order_id END), true, true, handed.submitted_at,
            NULL::bigint
    ) AS seen
    ON CONFLICT (transaction_id, bundle_id, environment, bucket, receipt_id) DO UPDATE
    SET is_named = true, user_id = coalesce(known.user_id, EXCLUDED.user_id),
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN known.seal = audit.seal(ROW(known.*)::iap.sightings) THEN audit.seal(ROW(
            known.transaction_id, known.bundle_id, known.environment, known.bucket, known.receipt_id,
            coalesce(known.user_id, EXCLUDED.user_id), known.order_id, true, known.in_receipt, known.uploaded_at,
            known.first_run_id, NULL)::iap.sightings)
            ELSE known.seal END;
END
$$;
COMMENT ON FUNCTION iap.sight IS
    'Remembers that a transaction was seen in a receipt that was uploaded for it, and the order that it was uploaded '
    'with.';

CREATE FUNCTION iap.admit(
    bundle_id text, environment text, transaction_id text, original_transaction_id text, product_id text,
    quantity integer, purchased_at timestamptz, user_id text DEFAULT NULL, receipt_id bigint DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    purchase iap.verified;
    is_new   boolean := false;
    known    iap.transactions;
    change   iap.change;
    whose    text := nullif(admit.user_id, '');
    wanted   iap.transactions;
BEGIN
    PERFORM iap.limit_idleness();
    PERFORM iap.require_id('bundle_id', admit.bundle_id, 255);
    PERFORM iap.require_id('transaction_id', admit.transaction_id, 64);
    PERFORM iap.require_id('original_transaction_id', admit.original_transaction_id, 64);
    PERFORM iap.require_id('product_id', admit.product_id, 255);
    IF whose IS NOT NULL THEN
        PERFORM iap.require_text('user_id', whose, 1000);
    END IF;
    IF admit.environment IS NULL OR admit.environment NOT IN ('Production', 'Sandbox') THEN
        RAISE EXCEPTION 'environment is “Production” or “Sandbox”' USING ERRCODE = 'invalid_parameter_value';
    ELSIF coalesce(admit.quantity, 0) < 1 THEN
        RAISE EXCEPTION 'a purchase''s quantity is at least 1' USING ERRCODE = 'invalid_parameter_value';
    ELSIF admit.purchased_at IS NULL OR NOT isfinite(admit.purchased_at) THEN
        RAISE EXCEPTION 'purchased_at is missing' USING ERRCODE = 'invalid_parameter_value';
    ELSIF EXISTS (
        SELECT FROM iap.products
        WHERE bundle_id = admit.bundle_id AND product_id = admit.product_id
            AND list_price_milliunits::numeric * admit.quantity > 9223372036854775807)
    THEN
        RAISE EXCEPTION 'nobody paid for % of %', admit.quantity, admit.product_id USING
            ERRCODE = 'invalid_parameter_value', HINT = 'The quantity is how many were bought at once, 1 to 10.';
    END IF;
    PERFORM iap.require_moment('purchased_at', admit.purchased_at);

    purchase.transaction_id := admit.transaction_id;
    purchase.bundle_id := admit.bundle_id;
    purchase.environment := admit.environment;
    purchase.original_transaction_id := admit.original_transaction_id;
    purchase.product_id := admit.product_id;
    purchase.quantity := admit.quantity;
    purchase.purchased_at := admit.purchased_at;
    purchase.is_trial := false;
    purchase.source := 'app_server';
    purchase.verified_at := iap.present();
    purchase.user_id := whose;
    purchase.receipt_id := admit.receipt_id;
    known := iap.locked(admit.bundle_id, admit.environment, admit.transaction_id);
    IF known.transaction_id IS NULL THEN
        wanted.transaction_id := admit.transaction_id;
        wanted.bundle_id := admit.bundle_id;
        wanted.environment := admit.environment;
        wanted.original_transaction_id := admit.original_transaction_id;
        wanted.product_id := admit.product_id;
        IF iap.is_delivered_otherwise(
            admit.bundle_id, admit.environment, admit.transaction_id, admit.original_transaction_id,
            admit.product_id)
        THEN
            RETURN 'already_delivered';
        ELSIF iap.is_refunded_otherwise(wanted) THEN
            RAISE EXCEPTION 'transaction % of % (%) is not owed: it is refunded under another id',
                admit.transaction_id, admit.bundle_id, admit.environment
                USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Don''t deliver it.';
        END IF;
        BEGIN
            PERFORM iap.enter(ARRAY[purchase], NULL, iap.present());
            is_new := true;
        EXCEPTION
            WHEN unique_violation THEN
                known := iap.locked(admit.bundle_id, admit.environment, admit.transaction_id);
                IF known.transaction_id IS NULL THEN
                    RAISE EXCEPTION 'another session admitted transaction % of % meanwhile',
                        admit.transaction_id, admit.bundle_id
                        USING ERRCODE = 'serialization_failure', HINT = 'Try the transaction again.';
                END IF;
        END;
    END IF;
    IF admit.receipt_id IS NOT NULL THEN
        PERFORM iap.sight(
            admit.bundle_id, admit.environment, admit.transaction_id, whose, admit.receipt_id);
    END IF;
    IF is_new THEN
        RETURN 'white';
    ELSIF iap.standing(known) = 'already_delivered' THEN
        RETURN 'already_delivered';
    ELSIF iap.owed_as(known) IS NOT NULL THEN
        -- Restored: it is owed under its other id, and may be claimed by this one.
        RETURN 'already_white';
    ELSIF known.place = 'excluded' THEN
        RAISE EXCEPTION 'transaction % of % (%) is not owed: it is excluded as %',
            admit.transaction_id, admit.bundle_id, admit.environment, known.reason
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Don''t deliver it.';
    ELSIF (known.admitted_user_id IS NULL AND whose IS NOT NULL)
        OR (known.admitted_receipt_id IS NULL AND admit.receipt_id IS NOT NULL)
    THEN
        change.was := known;
        known.admitted_user_id := coalesce(known.admitted_user_id, whose);
        known.admitted_receipt_id := coalesce(known.admitted_receipt_id, admit.receipt_id);
        change.became := known;
        PERFORM iap.move(ARRAY[change], 'corrected', session_user, NULL, iap.present());
    END IF;
    RETURN 'already_white';
END
$$;
COMMENT ON FUNCTION iap.admit IS
    'Takes a purchase that the app''s server verified itself into the white table: white, already_white or '
    'already_delivered. A transaction that is excluded (refunded, dismissed, a sandbox purchase …), or refunded '
    'under another id, is not owed: that is an error (55000), since no outcome would be true. receipt_id names the uploaded receipt it came with, if any.';

-- The claim ----------------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.is_delivered_otherwise(
    bundle_id text, environment text, transaction_id text, original_transaction_id text, product_id text
) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN EXISTS (
        SELECT
        FROM delivered_originals AS taken
        WHERE taken.original_transaction_id = is_delivered_otherwise.original_transaction_id
            AND taken.bundle_id = is_delivered_otherwise.bundle_id
            AND taken.environment = is_delivered_otherwise.environment
            AND taken.transaction_id <> is_delivered_otherwise.transaction_id
    ) AND EXISTS (
        SELECT
        FROM products
        WHERE products.bundle_id = is_delivered_otherwise.bundle_id
            AND products.product_id = is_delivered_otherwise.product_id AND type = 'non_consumable');
END
$$;
COMMENT ON FUNCTION iap.is_delivered_otherwise IS
    'Whether a non-consumable was delivered under another transaction id: bought once, it is owed once.';

CREATE FUNCTION iap.is_same_period(t iap.transactions, same iap.transactions) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    -- Never by when they began: what is restored may bear another date, and a server may say a date of its own.
    SELECT coalesce(($1).web_order_line_item_id = ($2).web_order_line_item_id, false)
$$;
COMMENT ON FUNCTION iap.is_same_period IS
    'Whether two transactions of a subscription are one period, of which one restored the other: as far as Apple told of '
    'both.';

CREATE FUNCTION iap.is_period_delivered(t iap.transactions) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(iap.type_of(t) = 'auto_renewable', false) AND EXISTS (
        SELECT
        FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND same.place = 'black'
            AND iap.is_same_period(t, ROW(same.*)::iap.transactions));
END
$$;
COMMENT ON FUNCTION iap.is_period_delivered IS
    'Whether the period of a subscription was delivered under another transaction id: paid once, it is owed once.';

CREATE FUNCTION iap.is_refunded_otherwise(t iap.transactions) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    type text := iap.type_of(t);
BEGIN
    RETURN coalesce(type, 'non_consumable') IN ('non_consumable', 'auto_renewable') AND EXISTS (
        SELECT
        FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND same.place = 'excluded' AND same.refunded_at IS NOT NULL
            -- What a family shared was another purchase.
            AND same.reason <> 'family_shared'
            AND CASE
                WHEN type = 'auto_renewable' THEN iap.is_same_period(t, ROW(same.*)::iap.transactions)
                WHEN type IS NOT NULL THEN
                    same.product_id = t.product_id OR iap.type_of(ROW(same.*)::iap.transactions) = 'non_consumable'
                -- Then what Apple said of the other id tells: of several ids is what was restored, and what expires.
                ELSE same.product_id = t.product_id AND coalesce(
                    iap.type_of(ROW(same.*)::iap.transactions) = 'non_consumable',
                    same.expires_at IS NULL AND same.source <> 'app_server')
            END);
END
$$;
COMMENT ON FUNCTION iap.is_refunded_otherwise IS
    'Whether a non-consumable, or period of a subscription, was refunded under another transaction id: then it is owed '
    'under none. Of what nobody knows the type of, by what Apple said of the other.';

CREATE FUNCTION iap.owners_by_history(t iap.transactions, user_id text, receipt_id bigint) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN ARRAY(
        SELECT owners_by_history.user_id
        UNION
        (
            SELECT user_id
            FROM sightings
            WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
                AND user_id IS NOT NULL AND in_receipt
            ORDER BY uploaded_at, receipt_id
            LIMIT 1
        )
        UNION
        (
            SELECT user_id
            FROM transactions AS bought
            WHERE app_transaction_id = t.app_transaction_id AND bundle_id = t.bundle_id
                AND environment = t.environment AND place = 'black' AND user_id IS NOT NULL
            LIMIT 10
        )
        UNION
        (
            SELECT delivered.user_id
            FROM sightings AS beside
            CROSS JOIN LATERAL (
                SELECT user_id
                FROM transactions AS found
                WHERE found.transaction_id = beside.transaction_id AND found.bundle_id = beside.bundle_id
                    AND found.environment = beside.environment AND found.place = 'black' AND user_id IS NOT NULL
                OFFSET 0
            ) AS delivered
            WHERE beside.receipt_id = owners_by_history.receipt_id AND in_receipt
            LIMIT 10
        )
    );
END
$$;
COMMENT ON FUNCTION iap.owners_by_history IS
    'Whose a purchase may be that nobody handed in, and that Apple told of when it was asked about a receipt of this '
    'user: a genuine receipt may be somebody else''s. So also to whom other purchases of the customer, or of the '
    'receipt, were delivered, and who handed it in later.';

CREATE FUNCTION iap.owners_of(t iap.transactions) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    owners  text[];
    ordered record;
BEGIN
    SELECT array_agg(DISTINCT user_id) INTO owners
    FROM (
        -- The token that the client set when it was paid.
        SELECT user_id
        FROM orders
        WHERE app_account_token = t.app_account_token AND bundle_id = t.bundle_id
        UNION ALL
        SELECT user_id
        FROM account_tokens
        WHERE app_account_token = t.app_account_token AND bundle_id = t.bundle_id
        UNION ALL
        -- For whom the app's own server admitted it.
        SELECT t.admitted_user_id
    ) AS evidence
    WHERE user_id IS NOT NULL;
    -- The order that came with the first upload that named one.
    SELECT orders.user_id, named.uploaded_at INTO ordered
    FROM (
        SELECT order_id, uploaded_at
        FROM sightings
        WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
            AND order_id IS NOT NULL
        ORDER BY uploaded_at, receipt_id
        LIMIT 1
    ) AS named
    JOIN orders ON orders.order_id = named.order_id AND orders.bundle_id = t.bundle_id;
    IF FOUND THEN
        owners := ARRAY(
            SELECT unnest(owners)
            UNION
            SELECT ordered.user_id
            UNION
            (
                -- Somebody else had handed it in for its own sake by then: on a phone whose users take turns, the order may
                -- be of another purchase.
                SELECT user_id
                FROM sightings
                WHERE owners IS NULL AND transaction_id = t.transaction_id AND bundle_id = t.bundle_id
                    AND environment = t.environment AND user_id IS NOT NULL AND is_named
                    AND uploaded_at < ordered.uploaded_at
                ORDER BY uploaded_at, receipt_id
                LIMIT 1
            ));
    END IF;
    IF owners IS NULL THEN
        -- Only what rode along, or was uploaded: then the first to hand it in.
        SELECT CASE
            WHEN in_receipt OR is_named THEN ARRAY[user_id] ELSE iap.owners_by_history(t, user_id, receipt_id)
        END
        INTO owners
        FROM sightings
        WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
            AND user_id IS NOT NULL
        ORDER BY uploaded_at, receipt_id
        LIMIT 1;
    END IF;
    RETURN coalesce(owners, '{}');
END
$$;
COMMENT ON FUNCTION iap.owners_of IS
    'Who may claim a transaction. Token, order and admission decide before anything that rode along, and several where '
    'these contradict each other, or an order somebody who had uploaded the purchase for its own sake before; else whoever '
    'handed it in first; nobody where nobody is known.';

CREATE FUNCTION iap.take_for_delivery(t iap.transactions, type text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    beside iap.transactions[];
BEGIN
    IF coalesce(type, 'non_consumable') <> 'non_consumable' THEN
        RETURN NULL;
    END IF;
    -- An import may have told of another id while what was delivered under a third was being taken back.
    SELECT array_agg(ROW(same.*)::iap.transactions) INTO beside
    FROM transactions AS same
    WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
        AND same.bundle_id = t.bundle_id AND same.environment = t.environment
        AND same.transaction_id <> t.transaction_id AND same.place = 'black';
    IF beside IS NOT NULL THEN
        PERFORM iap.take_originals(beside);
    END IF;
    IF iap.take_originals(ARRAY[t]) = 1 THEN
        RETURN NULL;
    END IF;
    RETURN CASE WHEN type IS NULL THEN 'undecided' ELSE 'already_delivered' END;
END
$$;
COMMENT ON FUNCTION iap.take_for_delivery IS
    'Takes the original purchase of a non-consumable for its delivery, and gives NULL; or why it can''t be delivered: '
    'already_delivered under another id, or undecided where nobody knows whether it is a non-consumable.';

CREATE FUNCTION iap.claim_outcome(
    t iap.transactions, is_elsewhere boolean, user_id text, order_id text
) RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    owners text[];
BEGIN
    IF iap.standing(t) <> 'white' THEN
        RETURN iap.standing(t);
    ELSIF iap.is_refunded_otherwise(t) THEN
        RETURN 'excluded';
    ELSIF iap.is_period_delivered(t) OR iap.is_granted_already(t) THEN
        RETURN 'already_delivered';
    END IF;
    owners := iap.owners_of(t);
    IF EXISTS (
        SELECT FROM orders
        WHERE orders.order_id = claim_outcome.order_id AND orders.bundle_id = t.bundle_id
            AND orders.user_id <> claim_outcome.user_id)
        OR (cardinality(owners) = 1 AND owners[1] <> claim_outcome.user_id)
    THEN
        RETURN 'wrong_user';
    ELSIF EXISTS (
        SELECT FROM transactions AS served
        WHERE served.order_id = claim_outcome.order_id AND served.bundle_id = t.bundle_id AND served.place = 'black'
            AND served.original_transaction_id <> t.original_transaction_id)
    THEN
        RETURN 'order_used';
    ELSIF cardinality(owners) > 1 OR is_elsewhere THEN
        RETURN 'undecided';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iap.claim_outcome IS
    'Why a claim gets nothing; NULL where it may be delivered. is_elsewhere says that its id decides in the other '
    'environment, too.';

CREATE FUNCTION iap.take_order(t iap.transactions, order_id text, OUT is_ours boolean, OUT is_new boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO delivered_orders (order_id, bundle_id, original_transaction_id)
    VALUES (take_order.order_id, t.bundle_id, t.original_transaction_id)
    ON CONFLICT DO NOTHING;
    is_new := FOUND;
    -- Written, and not only locked: who is about to give it back waits, and then sees what was delivered for it.
    UPDATE delivered_orders AS taken SET original_transaction_id = taken.original_transaction_id
    WHERE NOT is_new AND taken.order_id = take_order.order_id AND taken.bundle_id = t.bundle_id;
    is_ours := is_new OR EXISTS (
        SELECT FROM delivered_orders AS taken
        WHERE taken.order_id = take_order.order_id AND taken.bundle_id = t.bundle_id
            AND taken.original_transaction_id = t.original_transaction_id)
        -- Or it was taken for an original that Apple has corrected since.
        OR EXISTS (
            SELECT FROM transactions AS served
            WHERE served.order_id = take_order.order_id AND served.bundle_id = t.bundle_id AND served.place = 'black'
                AND served.original_transaction_id = t.original_transaction_id);
END
$$;
COMMENT ON FUNCTION iap.take_order IS
    'Takes an order for the delivery of a purchase: whether it is this purchase''s, and whether that is new.';

CREATE FUNCTION iap.owed_as(t iap.transactions) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT transaction_id
        FROM transactions
        WHERE t.reason = 'restored'
            AND iap.is_of_original(transaction_id, original_transaction_id, t.original_transaction_id)
            AND bundle_id = t.bundle_id AND environment = t.environment AND product_id = t.product_id
            -- Of a subscription the same period; what is bought once has none.
            AND web_order_line_item_id IS NOT DISTINCT FROM t.web_order_line_item_id AND place = 'white'
        ORDER BY transaction_id
        LIMIT 1);
END
$$;
COMMENT ON FUNCTION iap.owed_as IS
    'Under which id a restored purchase, or period of a subscription, is still owed; NULL where it is not.';

CREATE FUNCTION iap.claim(bundle_id text, transaction_id text, user_id text, order_id text DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    held    iap.transactions;
    t       iap.transactions;
    black   boolean := false;
    real    boolean := false;
    outcome text;
    at      timestamptz := iap.present();
    who     text := 'claim:' || claim.user_id;
    attempt iap.claims;
    wanted  text := nullif(claim.order_id, '');
    is_ours boolean := true;
    is_new  boolean := false;
    owed_as text;
BEGIN
    PERFORM iap.limit_idleness();
    PERFORM iap.require_id('bundle_id', claim.bundle_id, 255);
    PERFORM iap.require_id('transaction_id', claim.transaction_id, 64);
    PERFORM iap.require_text('user_id', claim.user_id, 1000);
    IF wanted IS NOT NULL THEN
        PERFORM iap.require_text('order_id', wanted, 1000);
    END IF;

    -- The same id in both environments is two rows: a delivered one decides, then the owed one, then production's.
    FOR held IN
        SELECT * FROM iap.transactions
        WHERE transaction_id = claim.transaction_id AND bundle_id = claim.bundle_id
        ORDER BY environment
        FOR UPDATE
    LOOP
        black := black OR held.place = 'black';
        real := real OR held.environment = 'Production';
        IF t.transaction_id IS NULL OR (held.place = 'white' AND t.place <> 'white') THEN
            t := held;
        END IF;
    END LOOP;
    -- Who restores a purchase may hold no other id of it than the one that it was restored under.
    IF t.reason = 'restored' AND NOT black THEN
        owed_as := iap.owed_as(t);
        IF owed_as IS NOT NULL THEN
            RETURN iap.claim(claim.bundle_id, owed_as, claim.user_id, claim.order_id);
        END IF;
    END IF;
    IF t.place = 'white' AND iap.type_of(t) = 'auto_renewable' THEN
        -- Another session may be delivering the same period under another id.
        PERFORM
        FROM iap.transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND same.place = 'white'
            AND iap.is_same_period(t, ROW(same.*)::iap.transactions)
        FOR UPDATE;
    END IF;
    -- What is not owed in production is not to be had by a test of the same id.
    outcome := iap.claim_outcome(t, black OR (real AND t.environment = 'Sandbox'), claim.user_id, wanted);
    IF outcome IS NULL AND wanted IS NOT NULL THEN
        SELECT order_is.is_ours, order_is.is_new INTO is_ours, is_new FROM iap.take_order(t, wanted) AS order_is;
        IF NOT is_ours THEN
            outcome := 'order_used';
        END IF;
    END IF;
    IF outcome IS NULL THEN
        outcome := iap.take_for_delivery(t, iap.type_of(t));
        IF outcome = 'already_delivered' THEN
            PERFORM iap.move(
                ARRAY[ROW(t, iap.excluded(t, 'restored', NULL, at))::iap.change], 'withdrawn', session_user, NULL, at,
                '{}', who);
        END IF;
    END IF;

    attempt.transaction_id := claim.transaction_id;
    attempt.bundle_id := claim.bundle_id;
    attempt.user_id := claim.user_id;
    attempt.order_id := wanted;
    attempt.attempted_at := now();
    attempt.outcome := coalesce(outcome, 'delivered');
    LOOP
        -- Of any number of claims of an id one gets this row, in whatever environment and at any isolation level.
        INSERT INTO iap.claims (transaction_id, bundle_id, user_id, order_id, outcome, attempted_at, seal)
        VALUES (
            attempt.transaction_id, attempt.bundle_id, attempt.user_id, attempt.order_id, attempt.outcome,
            attempt.attempted_at, audit.seal(attempt))
        ON CONFLICT (transaction_id, bundle_id) WHERE outcome = 'delivered' DO NOTHING;
        EXIT WHEN FOUND;
        PERFORM iap.release_originals(ARRAY[ROW(t, t)::iap.change]);
        attempt.outcome := 'undecided';
    END LOOP;
    IF is_new AND attempt.outcome <> 'delivered' THEN
        DELETE FROM iap.delivered_orders WHERE order_id = wanted AND bundle_id = t.bundle_id;
    END IF;
    IF attempt.outcome = 'delivered' THEN
        PERFORM iap.move(
            ARRAY[ROW(t, iap.delivered(t, claim.user_id, wanted, 'claim', at))::iap.change], 'claimed',
            session_user, NULL, at, jsonb_build_object('user_id', claim.user_id, 'order_id', wanted), who);
        IF iap.type_of(t) = 'non_consumable' THEN
            PERFORM iap.withdraw_restored(t, session_user, at, who);
        END IF;
    END IF;
    RETURN attempt.outcome;
END
$$;
COMMENT ON FUNCTION iap.claim IS
    'Moves one transaction from white to black, in the caller''s transaction, which credits the goods: delivered, or '
    'why not: already_delivered, not_verified, wrong_user, order_used by another purchase, excluded, or undecided, which '
    'is for the support desk. A restored non-consumable is claimed as the purchase, where that is still owed. '
    'Exactly one of any number of concurrent claims gets delivered; the others wait for it to commit or roll back. '
    'Credit the goods only on delivered.';
