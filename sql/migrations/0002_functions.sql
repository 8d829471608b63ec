-- The contract with an app's own server and with the support desk: the only way by which they touch the tables.
--
-- Every function runs with its owner's rights on a fixed search path. Parameters carry the names of the columns they
-- fill; inside, a bare name is the column, and a name qualified with the function's is the parameter.
--
-- Lock order, so that claims never wait for each other in a circle: first the advisory lock of a non-consumable's
-- original purchase, then the row in white, then what follows from it.

-- Time ---------------------------------------------------------------------------------------------------------------

-- In PL/pgSQL, which keeps its plan from call to call: a claim asks for it some five times.
CREATE FUNCTION iap.present() RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    set_to text := current_setting('iap.present', true);
BEGIN
    IF set_to <> '' AND has_table_privilege(session_user, 'iap.runs', 'INSERT') THEN
        RETURN set_to::timestamptz;
    END IF;
    RETURN now();
END
$$;
COMMENT ON FUNCTION iap.present IS
    'The moment to take for the present: now, or what the nightly job, replaying a night, has set as iap.present. An '
    'app''s server can''t set it.';

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

-- Receipts and orders ------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.submit_receipt(
    bundle_id text, user_id text, payload text, transaction_id text DEFAULT NULL, order_id text DEFAULT NULL,
    device jsonb DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    body   text     := coalesce(submit_receipt.payload, '');
    digest bytea    := sha256(convert_to(body, 'UTF8'));
    slice  smallint := get_byte(digest, 0) & 63;
    number bigint;
BEGIN
    PERFORM iap.require_id('bundle_id', submit_receipt.bundle_id, 255);
    PERFORM iap.require_text(name, value, 1000)
    FROM (
        VALUES
            ('user_id', submit_receipt.user_id), ('transaction_id', submit_receipt.transaction_id),
            ('order_id', submit_receipt.order_id)) AS given (name, value)
    WHERE value IS NOT NULL;

    -- The usual second upload changes nothing, so it locks nothing that the nightly job waits for.
    SELECT receipt_id INTO number
    FROM iap.receipts
    WHERE bucket = slice AND payload_sha256 = digest AND bundle_id = submit_receipt.bundle_id
        AND user_id IS NOT DISTINCT FROM submit_receipt.user_id
        AND (transaction_id IS NOT NULL OR submit_receipt.transaction_id IS NULL)
        AND (order_id IS NOT NULL OR submit_receipt.order_id IS NULL)
        AND (device IS NOT NULL OR submit_receipt.device IS NULL OR device_purged_at IS NOT NULL);

    IF number IS NULL THEN
        INSERT INTO iap.receipts AS known (
            bucket, receipt_id, bundle_id, user_id, payload, payload_sha256, order_id, transaction_id, device)
        VALUES (
            slice, nextval('iap.receipt_number') * 64 + slice, submit_receipt.bundle_id, submit_receipt.user_id,
            body, digest, submit_receipt.order_id, submit_receipt.transaction_id, submit_receipt.device)
        ON CONFLICT (bucket, payload_sha256, bundle_id, user_id) DO UPDATE
        SET order_id = coalesce(known.order_id, EXCLUDED.order_id),
            transaction_id = coalesce(known.transaction_id, EXCLUDED.transaction_id),
            device = CASE WHEN known.device_purged_at IS NULL THEN coalesce(known.device, EXCLUDED.device) END
        RETURNING receipt_id INTO number;
    END IF;

    INSERT INTO iap.uploads AS known (bucket, receipt_id, transaction_id, order_id)
    VALUES (slice, number, submit_receipt.transaction_id, submit_receipt.order_id)
    ON CONFLICT (bucket, receipt_id, transaction_id, order_id) DO UPDATE
    SET times = known.times + 1, last_uploaded_at = greatest(known.last_uploaded_at, EXCLUDED.last_uploaded_at);
    RETURN number;
END
$$;
COMMENT ON FUNCTION iap.submit_receipt IS
    'Stores what a client uploaded, to be verified at night, and gives its receipt id. The same payload again from the '
    'same user of the same app is the same receipt, whose state it leaves alone: it only counts the upload, and adds '
    'what was not known. A payload that is empty or NULL is stored too, so that support hears of it. user_id is NULL '
    'where nobody is logged in.';

CREATE FUNCTION iap.register_order(
    bundle_id text, order_id text, user_id text, product_id text, quantity integer DEFAULT 1,
    app_account_token text DEFAULT NULL, created_at timestamptz DEFAULT now()
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM iap.require_id('bundle_id', register_order.bundle_id, 255);
    PERFORM iap.require_id('product_id', register_order.product_id, 255);
    PERFORM iap.require_text('order_id', register_order.order_id, 1000);
    PERFORM iap.require_text('user_id', register_order.user_id, 1000);
    IF coalesce(register_order.quantity, 0) < 1 THEN
        RAISE EXCEPTION 'an order''s quantity is at least 1' USING ERRCODE = 'invalid_parameter_value';
    END IF;

    INSERT INTO iap.orders AS known (
        bundle_id, order_id, user_id, product_id, quantity, app_account_token, created_at)
    VALUES (
        register_order.bundle_id, register_order.order_id, register_order.user_id, register_order.product_id,
        register_order.quantity, register_order.app_account_token, coalesce(register_order.created_at, now()))
    ON CONFLICT (bundle_id, order_id) DO UPDATE
    SET app_account_token = coalesce(known.app_account_token, EXCLUDED.app_account_token)
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

-- What leaves the white table ---------------------------------------------------------------------------------------

CREATE FUNCTION iap.product_type_of(owed iap.white) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(
        owed.product_type,
        (SELECT type FROM iap.products WHERE bundle_id = owed.bundle_id AND product_id = owed.product_id))
$$;
COMMENT ON FUNCTION iap.product_type_of IS
    'The type of the product that was bought: what Apple said, else what the list of products says.';

CREATE FUNCTION iap.is_purchase_delivered(bundle_id text, environment text, original_transaction_id text)
RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM iap.black
        WHERE bundle_id = $1 AND environment = $2 AND original_transaction_id = $3)
$$;
COMMENT ON FUNCTION iap.is_purchase_delivered IS
    'Whether a transaction of this original purchase was delivered: a non-consumable bought once is owed once.';

CREATE FUNCTION iap.leave_white(owed iap.white, kind text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM iap.white
    WHERE transaction_id = owed.transaction_id AND bundle_id = owed.bundle_id AND environment = owed.environment;
    IF FOUND THEN
        INSERT INTO iap.movements (kind, transactions, units, hash)
        VALUES (leave_white.kind, 1, owed.quantity, hashtextextended(owed.transaction_id, 0));
    END IF;
END
$$;
COMMENT ON FUNCTION iap.leave_white IS
    'Takes a transaction out of the white table, and journals it for the control totals.';

CREATE FUNCTION iap.close_case(owed iap.white, how text, who text, note text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    UPDATE iap.cases
    SET state = 'closed', closed_at = now(), closed_as = how, closed_by = who, note = $4
    WHERE transaction_id = owed.transaction_id AND bundle_id = owed.bundle_id AND environment = owed.environment
        AND state = 'open'
$$;
COMMENT ON FUNCTION iap.close_case IS 'Closes the open case of a transaction, if there is one.';

CREATE FUNCTION iap.exclude(owed iap.white, reason text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iap.leave_white(owed, CASE exclude.reason WHEN 'refunded' THEN 'refunded' ELSE 'resolved' END);
    INSERT INTO iap.excluded (
        transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity,
        purchased_at, price_milliunits, currency, storefront, booked_milliunits, booked_currency, booked_as, source,
        verified_at, reason, refunded_at, excluded_at, seal)
    VALUES (
        owed.transaction_id, owed.bundle_id, owed.environment, owed.original_transaction_id, owed.product_id,
        owed.product_type, owed.quantity, owed.purchased_at, owed.price_milliunits, owed.currency, owed.storefront,
        owed.booked_milliunits, owed.booked_currency, owed.booked_as, owed.source, owed.verified_at, exclude.reason,
        CASE exclude.reason WHEN 'refunded' THEN iap.present() END, iap.present(),
        audit.excluded_seal(
            owed.transaction_id, owed.bundle_id, owed.environment, owed.original_transaction_id, owed.product_id,
            owed.quantity, owed.purchased_at, owed.price_milliunits, owed.currency, exclude.reason, NULL,
            iap.present()))
    ON CONFLICT (transaction_id, bundle_id, environment) DO NOTHING;
END
$$;
COMMENT ON FUNCTION iap.exclude IS 'Moves a transaction from white to excluded.';

CREATE FUNCTION iap.withdraw_restored(delivered iap.white, who text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    other iap.white;
BEGIN
    -- A statement a row, each by its key: the form that also runs where the tables are distributed.
    FOR other IN
        SELECT * FROM iap.white
        WHERE original_transaction_id = delivered.original_transaction_id AND bundle_id = delivered.bundle_id
            AND environment = delivered.environment AND transaction_id <> delivered.transaction_id
        ORDER BY transaction_id
    LOOP
        PERFORM iap.exclude(other, 'restored');
        PERFORM iap.close_case(other, 'withdrawn', who, NULL);
    END LOOP;
END
$$;
COMMENT ON FUNCTION iap.withdraw_restored IS
    'After the delivery of a non-consumable: takes the other transactions of the same purchase out of white.';

CREATE FUNCTION iap.deliver(owed iap.white, user_id text, order_id text, how text, who text, note text)
RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    is_ours boolean;
BEGIN
    INSERT INTO iap.black (
        transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity,
        purchased_at, price_milliunits, currency, storefront, booked_milliunits, booked_currency, booked_as, source,
        first_seen_at, first_run_id, user_id, order_id, delivered_by, delivered_at, seal)
    VALUES (
        owed.transaction_id, owed.bundle_id, owed.environment, owed.original_transaction_id, owed.product_id,
        owed.product_type, owed.quantity, owed.purchased_at, owed.price_milliunits, owed.currency, owed.storefront,
        owed.booked_milliunits, owed.booked_currency, owed.booked_as, owed.source, owed.first_seen_at,
        owed.first_run_id, deliver.user_id, deliver.order_id, deliver.how, iap.present(),
        audit.black_seal(
            owed.transaction_id, owed.bundle_id, owed.environment, owed.original_transaction_id, owed.product_id,
            owed.quantity, owed.purchased_at, owed.price_milliunits, owed.currency, deliver.user_id, deliver.order_id,
            deliver.how, iap.present(), NULL))
    ON CONFLICT (transaction_id, bundle_id, environment) DO NOTHING;
    is_ours := FOUND;

    PERFORM iap.leave_white(owed, CASE WHEN is_ours AND how = 'resolved' THEN 'resolved' ELSE 'claimed' END);
    PERFORM iap.close_case(owed, 'delivered', who, note);
    IF iap.product_type_of(owed) = 'non_consumable' THEN
        PERFORM iap.withdraw_restored(owed, who);
    END IF;
    RETURN is_ours;
END
$$;
COMMENT ON FUNCTION iap.deliver IS
    'Moves a transaction from white to black; false if it was black already. The primary key of iap.black is what '
    'keeps a transaction from being delivered twice, whatever happened before.';

CREATE FUNCTION iap.lock_purchase(owed iap.white) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF iap.product_type_of(owed) = 'non_consumable' THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(
            concat_ws(' ', owed.bundle_id, owed.environment, owed.original_transaction_id), 0));
    END IF;
END
$$;
COMMENT ON FUNCTION iap.lock_purchase IS
    'Locks the original purchase of a non-consumable until the transaction ends: a restored one shares it under '
    'another transaction id.';

CREATE FUNCTION iap.lock_white(bundle_id text, environment text, transaction_id text) RETURNS iap.white
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    owed iap.white;
BEGIN
    SELECT * INTO owed
    FROM iap.white
    WHERE transaction_id = lock_white.transaction_id AND bundle_id = lock_white.bundle_id
        AND environment = lock_white.environment;
    PERFORM iap.lock_purchase(owed);
    SELECT * INTO owed
    FROM iap.white
    WHERE transaction_id = lock_white.transaction_id AND bundle_id = lock_white.bundle_id
        AND environment = lock_white.environment
    FOR UPDATE;
    RETURN owed;
END
$$;
COMMENT ON FUNCTION iap.lock_white IS
    'The white row, locked until the transaction ends, all NULL if there is none. Whoever delivers a non-consumable '
    'first locks its original purchase.';

-- A server that verified a purchase itself ---------------------------------------------------------------------------

CREATE FUNCTION iap.sight(
    bundle_id text, environment text, transaction_id text, user_id text, receipt_id bigint
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO iap.sightings AS known (
        transaction_id, bundle_id, environment, bucket, receipt_id, user_id, order_id, is_named, uploaded_at)
    SELECT
        sight.transaction_id, sight.bundle_id, sight.environment, bucket, receipt_id,
        coalesce(user_id, sight.user_id), order_id, true, submitted_at
    FROM iap.receipts
    WHERE bucket = (sight.receipt_id & 63)::smallint AND receipt_id = sight.receipt_id
        AND bundle_id = sight.bundle_id
    ON CONFLICT (transaction_id, bundle_id, environment, bucket, receipt_id) DO UPDATE
    SET is_named = true, user_id = coalesce(known.user_id, EXCLUDED.user_id);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'receipt % of % is unknown', sight.receipt_id, sight.bundle_id USING
            ERRCODE = 'foreign_key_violation', HINT = 'Name a receipt that iap.submit_receipt gave, or none.';
    END IF;
END
$$;
COMMENT ON FUNCTION iap.sight IS 'Remembers that a transaction was seen in a receipt that was uploaded for it.';

CREATE FUNCTION iap.standing(bundle_id text, environment text, transaction_id text, owed iap.white) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    kept iap.excluded;
BEGIN
    IF EXISTS (
        SELECT FROM iap.black
        WHERE transaction_id = standing.transaction_id AND bundle_id = standing.bundle_id
            AND environment = standing.environment)
    THEN
        RETURN 'already_delivered';
    END IF;
    SELECT * INTO kept
    FROM iap.excluded
    WHERE transaction_id = standing.transaction_id AND bundle_id = standing.bundle_id
        AND environment = standing.environment;
    IF kept.transaction_id IS NOT NULL THEN
        RETURN CASE
            WHEN kept.reason = 'restored' AND iap.is_purchase_delivered(
                kept.bundle_id, kept.environment, kept.original_transaction_id) THEN 'already_delivered'
            ELSE 'excluded'
        END;
    ELSIF owed.transaction_id IS NULL THEN
        RETURN 'not_verified';
    END IF;
    RETURN CASE
        WHEN iap.product_type_of(owed) = 'non_consumable' AND iap.is_purchase_delivered(
            owed.bundle_id, owed.environment, owed.original_transaction_id) THEN 'already_delivered'
        ELSE 'white'
    END;
END
$$;
COMMENT ON FUNCTION iap.standing IS
    'Where a transaction stands, given its white row if it has one: already_delivered, excluded, white or '
    'not_verified. A restored non-consumable is already delivered if its purchase was, under whatever id.';

CREATE FUNCTION iap.admit(
    bundle_id text, environment text, transaction_id text, original_transaction_id text, product_id text,
    quantity integer, purchased_at timestamptz, user_id text DEFAULT NULL, receipt_id bigint DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    is_new   boolean;
    listed   iap.products;
    owed     iap.white;
    standing text;
    why      text;
BEGIN
    PERFORM iap.require_id('bundle_id', admit.bundle_id, 255);
    PERFORM iap.require_id('transaction_id', admit.transaction_id, 64);
    PERFORM iap.require_id('original_transaction_id', admit.original_transaction_id, 64);
    PERFORM iap.require_id('product_id', admit.product_id, 255);
    IF admit.user_id IS NOT NULL THEN
        PERFORM iap.require_text('user_id', admit.user_id, 1000);
    END IF;
    IF admit.environment IS NULL OR admit.environment NOT IN ('Production', 'Sandbox') THEN
        RAISE EXCEPTION 'environment is “Production” or “Sandbox”' USING ERRCODE = 'invalid_parameter_value';
    ELSIF coalesce(admit.quantity, 0) < 1 THEN
        RAISE EXCEPTION 'a purchase''s quantity is at least 1' USING ERRCODE = 'invalid_parameter_value';
    ELSIF admit.purchased_at IS NULL OR NOT isfinite(admit.purchased_at) THEN
        RAISE EXCEPTION 'purchased_at is missing' USING ERRCODE = 'invalid_parameter_value';
    END IF;

    SELECT * INTO listed FROM iap.products WHERE bundle_id = admit.bundle_id AND product_id = admit.product_id;
    INSERT INTO iap.white AS known (
        transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity,
        purchased_at, booked_milliunits, booked_currency, booked_as, source, verified_at, admitted_user_id, admitted_receipt_id, first_seen_at, seal)
    VALUES (
        admit.transaction_id, admit.bundle_id, admit.environment, admit.original_transaction_id, admit.product_id,
        listed.type, admit.quantity, admit.purchased_at, listed.list_price_milliunits * admit.quantity,
        listed.currency, CASE WHEN listed.list_price_milliunits IS NULL THEN 'unknown' ELSE 'list' END, 'app_server',
        iap.present(), admit.user_id, admit.receipt_id,
        iap.present(),
        audit.white_seal(
            admit.transaction_id, admit.bundle_id, admit.environment, admit.original_transaction_id, admit.product_id,
            admit.quantity, admit.purchased_at, NULL, NULL, iap.present()))
    ON CONFLICT (transaction_id, bundle_id, environment) DO NOTHING;
    is_new := FOUND;

    IF admit.receipt_id IS NOT NULL THEN
        PERFORM iap.sight(
            admit.bundle_id, admit.environment, admit.transaction_id, admit.user_id, admit.receipt_id);
    END IF;

    -- Only now: the insert waited for a claim that was under way, whose delivery is seen from here on.
    SELECT * INTO owed
    FROM iap.white
    WHERE transaction_id = admit.transaction_id AND bundle_id = admit.bundle_id AND environment = admit.environment;
    standing := iap.standing(admit.bundle_id, admit.environment, admit.transaction_id, owed);
    IF standing = 'already_delivered' THEN
        DELETE FROM iap.white
        WHERE is_new AND transaction_id = admit.transaction_id AND bundle_id = admit.bundle_id
            AND environment = admit.environment;
        RETURN 'already_delivered';
    ELSIF standing = 'excluded' THEN
        SELECT reason INTO why
        FROM iap.excluded
        WHERE transaction_id = admit.transaction_id AND bundle_id = admit.bundle_id
            AND environment = admit.environment;
        RAISE EXCEPTION 'transaction % of % (%) is not owed: it is excluded as %',
            admit.transaction_id, admit.bundle_id, admit.environment, why
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Don''t deliver it.';
    END IF;
    IF is_new THEN
        INSERT INTO iap.movements (kind, transactions, units, hash)
        VALUES ('new', 1, admit.quantity, hashtextextended(admit.transaction_id, 0));
        RETURN 'white';
    END IF;
    UPDATE iap.white
    SET admitted_user_id = coalesce(admitted_user_id, admit.user_id),
        admitted_receipt_id = coalesce(admitted_receipt_id, admit.receipt_id)
    WHERE transaction_id = admit.transaction_id AND bundle_id = admit.bundle_id AND environment = admit.environment
        AND (
            (admitted_user_id IS NULL AND admit.user_id IS NOT NULL)
            OR (admitted_receipt_id IS NULL AND admit.receipt_id IS NOT NULL));
    RETURN 'already_white';
END
$$;
COMMENT ON FUNCTION iap.admit IS
    'Takes a purchase that the app''s server verified itself into the white table: white, already_white or '
    'already_delivered. A transaction that is excluded (refunded, dismissed, a sandbox purchase …) is not owed: that '
    'is an error (55000), since no outcome would be true. receipt_id names the uploaded receipt it came with, if any.';

-- The claim ----------------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.environment_of(bundle_id text, transaction_id text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT min(environment)
    FROM (
        SELECT environment FROM iap.white WHERE bundle_id = $1 AND transaction_id = $2
        UNION ALL
        SELECT environment FROM iap.black WHERE bundle_id = $1 AND transaction_id = $2
        UNION ALL
        SELECT environment FROM iap.excluded WHERE bundle_id = $1 AND transaction_id = $2
    ) AS known
$$;
COMMENT ON FUNCTION iap.environment_of IS
    'The environment in which a transaction is known, NULL if in none. The two number their transactions apart; where '
    'both know the id, Production wins, as its name comes first.';

CREATE FUNCTION iap.is_wrong_user(owed iap.white, user_id text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT NOT coalesce(bool_or(known.user_id = $2), true)
    FROM (
        SELECT user_id
        FROM iap.sightings
        WHERE transaction_id = owed.transaction_id AND bundle_id = owed.bundle_id
            AND environment = owed.environment
        UNION ALL
        SELECT owed.admitted_user_id
    ) AS known
    WHERE known.user_id IS NOT NULL
$$;
COMMENT ON FUNCTION iap.is_wrong_user IS
    'Whether users are known to have handed in this transaction, and this one is not among them.';

CREATE FUNCTION iap.tidy_white(owed iap.white, who text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM iap.black
        WHERE transaction_id = owed.transaction_id AND bundle_id = owed.bundle_id
            AND environment = owed.environment)
    THEN
        PERFORM iap.leave_white(owed, 'claimed');
        PERFORM iap.close_case(owed, 'delivered', who, NULL);
    ELSE
        PERFORM iap.exclude(owed, 'restored');
        PERFORM iap.close_case(owed, 'withdrawn', who, NULL);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.tidy_white IS
    'Takes out of white what turned out to be delivered or excluded, so that it is no case.';

CREATE FUNCTION iap.claim(bundle_id text, transaction_id text, user_id text, order_id text DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    owed        iap.white;
    environment text;
    outcome     text;
    who         text := 'claim:' || claim.user_id;
BEGIN
    PERFORM iap.require_id('bundle_id', claim.bundle_id, 255);
    PERFORM iap.require_id('transaction_id', claim.transaction_id, 64);
    PERFORM iap.require_text('user_id', claim.user_id, 1000);
    IF claim.order_id IS NOT NULL THEN
        PERFORM iap.require_text('order_id', claim.order_id, 1000);
    END IF;

    environment := iap.environment_of(claim.bundle_id, claim.transaction_id);
    owed := iap.lock_white(claim.bundle_id, environment, claim.transaction_id);
    -- Only now: another claim that held the lock has been seen to its end.
    outcome := iap.standing(claim.bundle_id, environment, claim.transaction_id, owed);
    IF outcome <> 'white' THEN
        IF owed.transaction_id IS NOT NULL THEN
            PERFORM iap.tidy_white(owed, who);
        END IF;
    ELSIF iap.is_wrong_user(owed, claim.user_id) THEN
        outcome := 'wrong_user';
    ELSIF iap.deliver(owed, claim.user_id, claim.order_id, 'claim', who, NULL) THEN
        outcome := 'delivered';
    ELSE
        outcome := 'already_delivered';
    END IF;

    INSERT INTO iap.claims (transaction_id, bundle_id, user_id, order_id, outcome, seal)
    VALUES (
        claim.transaction_id, claim.bundle_id, claim.user_id, claim.order_id, outcome,
        audit.claim_seal(
            claim.transaction_id, claim.bundle_id, claim.user_id, claim.order_id, outcome, now()));
    IF outcome = 'delivered' THEN
        INSERT INTO iap.events (kind, actor, transaction_id, bundle_id, environment, details)
        VALUES (
            'claimed', session_user, claim.transaction_id, claim.bundle_id, environment,
            jsonb_build_object('user_id', claim.user_id, 'order_id', claim.order_id));
    END IF;
    RETURN outcome;
END
$$;
COMMENT ON FUNCTION iap.claim IS
    'Moves one transaction from white to black, in the caller''s transaction, which credits the goods: delivered, or '
    'why not: already_delivered, not_verified, wrong_user, excluded. Exactly one of any number of concurrent claims '
    'gets delivered; the others wait for it to commit or roll back. Credit the goods only on delivered.';

-- The support desk ---------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.place_of(
    transaction_id text, wanted_bundle_id text, wanted_environment text, OUT bundle_id text, OUT environment text
) LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    places bigint;
BEGIN
    SELECT count(*), min(known.bundle_id), min(known.environment) INTO places, place_of.bundle_id, place_of.environment
    FROM (
        SELECT bundle_id, environment FROM iap.white WHERE transaction_id = place_of.transaction_id
        UNION
        SELECT bundle_id, environment FROM iap.black WHERE transaction_id = place_of.transaction_id
        UNION
        SELECT bundle_id, environment FROM iap.excluded WHERE transaction_id = place_of.transaction_id
    ) AS known
    WHERE known.bundle_id = coalesce(wanted_bundle_id, known.bundle_id)
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

CREATE FUNCTION iap.with_restored(owed iap.white) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_build_array(to_jsonb(owed)) || coalesce(jsonb_agg(to_jsonb(other) ORDER BY other.transaction_id), '[]')
    FROM iap.white AS other
    WHERE iap.product_type_of(owed) = 'non_consumable'
        AND original_transaction_id = owed.original_transaction_id AND bundle_id = owed.bundle_id
        AND environment = owed.environment AND transaction_id <> owed.transaction_id
$$;
COMMENT ON FUNCTION iap.with_restored IS
    'The white rows that a delivery of this one takes out of white: its own first, then those that restore it.';

CREATE FUNCTION iap.resolve(
    transaction_id text, how text, who text, note text, bundle_id text DEFAULT NULL, environment text DEFAULT NULL,
    user_id text DEFAULT NULL, order_id text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    owed    iap.white;
    place   record;
    outcome text;
    owner   text;
    taken   jsonb;
BEGIN
    PERFORM iap.require_id('transaction_id', resolve.transaction_id, 64);
    PERFORM iap.require_text('who', resolve.who, 1000);
    PERFORM iap.require_text('note', resolve.note, 10000);
    IF resolve.how IS NULL OR resolve.how NOT IN ('delivered', 'dismissed', 'refunded') THEN
        RAISE EXCEPTION 'a case ends as “delivered”, “dismissed” or “refunded”'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    place := iap.place_of(resolve.transaction_id, resolve.bundle_id, resolve.environment);
    owed := iap.lock_white(place.bundle_id, place.environment, resolve.transaction_id);
    outcome := iap.standing(place.bundle_id, place.environment, resolve.transaction_id, owed);
    IF outcome <> 'white' THEN
        IF owed.transaction_id IS NOT NULL THEN
            PERFORM iap.tidy_white(owed, resolve.who);
        END IF;
        RETURN outcome;
    END IF;

    IF resolve.how = 'delivered' THEN
        SELECT owner_user_ids[1] INTO owner
        FROM iap.cases
        WHERE transaction_id = owed.transaction_id AND bundle_id = owed.bundle_id
            AND environment = owed.environment AND cardinality(owner_user_ids) = 1;
        owner := coalesce(resolve.user_id, owner, owed.admitted_user_id);
        taken := iap.with_restored(owed);
        IF NOT iap.deliver(owed, owner, resolve.order_id, 'resolved', resolve.who, resolve.note) THEN
            RETURN 'already_delivered';
        END IF;
    ELSE
        taken := jsonb_build_array(to_jsonb(owed));
        PERFORM iap.exclude(owed, resolve.how);
        PERFORM iap.close_case(owed, resolve.how, resolve.who, resolve.note);
    END IF;
    -- With what it took out of white, so that iap.reopen can put back all that was known.
    INSERT INTO iap.events (kind, actor, transaction_id, bundle_id, environment, details)
    VALUES (
        'resolved', resolve.who, owed.transaction_id, owed.bundle_id, owed.environment,
        jsonb_build_object(
            'as', resolve.how, 'note', resolve.note, 'user_id', owner, 'order_id', resolve.order_id,
            'login', session_user, 'taken', taken));
    RETURN resolve.how;
END
$$;
COMMENT ON FUNCTION iap.resolve IS
    'Ends what is owed on the word of the support desk, and gives how: delivered, dismissed or refunded. Where nothing '
    'is owed it changes nothing and says why: already_delivered, excluded or not_verified.';

-- A wrong resolve ----------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.take_back(resolved iap.white) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF iap.product_type_of(resolved) = 'non_consumable' AND EXISTS (
        SELECT FROM iap.black
        WHERE original_transaction_id = resolved.original_transaction_id AND bundle_id = resolved.bundle_id
            AND environment = resolved.environment AND transaction_id <> resolved.transaction_id)
    THEN
        RETURN false;
    END IF;
    DELETE FROM iap.black
    WHERE transaction_id = resolved.transaction_id AND bundle_id = resolved.bundle_id
        AND environment = resolved.environment AND delivered_by = 'resolved' AND refunded_at IS NULL;
    IF FOUND THEN
        RETURN true;
    END IF;
    DELETE FROM iap.excluded
    WHERE transaction_id = resolved.transaction_id AND bundle_id = resolved.bundle_id
        AND environment = resolved.environment AND run_id IS NULL
        AND (reason = 'refunded' OR (reason = 'dismissed' AND refunded_at IS NULL));
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION iap.take_back IS
    'Takes out of black or excluded what the support desk put there, and says whether it did. Never what a claim '
    'delivered, what Apple refunded, or a non-consumable that was delivered under another transaction id.';

CREATE FUNCTION iap.enter_white_again(owed iap.white) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    seen record;
BEGIN
    INSERT INTO iap.white VALUES (owed.*) ON CONFLICT (transaction_id, bundle_id, environment) DO NOTHING;
    IF FOUND THEN
        INSERT INTO iap.movements (kind, transactions, units, hash)
        VALUES ('new', 1, owed.quantity, hashtextextended(owed.transaction_id, 0));
    END IF;
    UPDATE iap.cases
    SET state = 'open', closed_at = NULL, closed_as = NULL, closed_by = NULL, note = NULL, reopened_run_id = 0
    WHERE transaction_id = owed.transaction_id AND bundle_id = owed.bundle_id AND environment = owed.environment
        AND state = 'closed';
    -- Its receipts, unless they were purged, are asked again each night, so that Apple's refund would be noticed. A
    -- statement a row, by its key.
    FOR seen IN
        SELECT bucket, receipt_id FROM iap.sightings
        WHERE transaction_id = owed.transaction_id AND bundle_id = owed.bundle_id AND environment = owed.environment
        ORDER BY bucket, receipt_id
    LOOP
        UPDATE iap.receipts SET state = 'watched', next_attempt_at = now()
        WHERE bucket = seen.bucket AND receipt_id = seen.receipt_id AND state = 'settled' AND payload IS NOT NULL;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iap.enter_white_again IS
    'Puts a transaction back into white with all that was known of it, journals it, and opens its case again.';

CREATE FUNCTION iap.why_closed(bundle_id text, environment text, transaction_id text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    owed     iap.white;
    standing text;
BEGIN
    SELECT * INTO owed
    FROM iap.white
    WHERE transaction_id = why_closed.transaction_id AND bundle_id = why_closed.bundle_id
        AND environment = why_closed.environment;
    standing := iap.standing(why_closed.bundle_id, why_closed.environment, why_closed.transaction_id, owed);
    IF standing = 'white' THEN
        RETURN 'already_white';
    ELSIF standing = 'not_verified' THEN
        RETURN standing;
    ELSIF EXISTS (
        SELECT FROM iap.black
        WHERE transaction_id = why_closed.transaction_id AND bundle_id = why_closed.bundle_id
            AND environment = why_closed.environment AND delivered_by = 'resolved' AND refunded_at IS NOT NULL
        UNION ALL
        SELECT FROM iap.excluded
        WHERE transaction_id = why_closed.transaction_id AND bundle_id = why_closed.bundle_id
            AND environment = why_closed.environment AND refunded_at IS NOT NULL)
    THEN
        RETURN 'refunded';
    END IF;
    RETURN standing;
END
$$;
COMMENT ON FUNCTION iap.why_closed IS
    'Why there is nothing to reopen: already_white, already_delivered, refunded, excluded or not_verified.';

CREATE FUNCTION iap.reopen(
    transaction_id text, who text, note text, bundle_id text DEFAULT NULL, environment text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    place    record;
    resolved jsonb;
    owed     iap.white;
    other    iap.white;
BEGIN
    PERFORM iap.require_id('transaction_id', reopen.transaction_id, 64);
    PERFORM iap.require_text('who', reopen.who, 1000);
    PERFORM iap.require_text('note', reopen.note, 10000);

    place := iap.place_of(reopen.transaction_id, reopen.bundle_id, reopen.environment);
    SELECT details INTO resolved
    FROM iap.events
    WHERE transaction_id = reopen.transaction_id AND bundle_id = place.bundle_id AND environment = place.environment
        AND kind = 'resolved'
    ORDER BY event_id DESC
    LIMIT 1;
    owed := jsonb_populate_record(NULL::iap.white, resolved -> 'taken' -> 0);
    PERFORM iap.lock_purchase(owed);
    IF NOT iap.take_back(owed) THEN
        RETURN iap.why_closed(place.bundle_id, place.environment, reopen.transaction_id);
    END IF;

    PERFORM iap.enter_white_again(owed);
    FOR other IN
        SELECT * FROM jsonb_populate_recordset(NULL::iap.white, resolved -> 'taken')
        WHERE transaction_id <> reopen.transaction_id
    LOOP
        DELETE FROM iap.excluded
        WHERE transaction_id = other.transaction_id AND bundle_id = other.bundle_id
            AND environment = other.environment AND reason = 'restored' AND run_id IS NULL AND refunded_at IS NULL;
        IF FOUND THEN
            PERFORM iap.enter_white_again(other);
        END IF;
    END LOOP;
    INSERT INTO iap.events (kind, actor, transaction_id, bundle_id, environment, details)
    VALUES (
        'reopened', reopen.who, owed.transaction_id, owed.bundle_id, owed.environment,
        jsonb_build_object('was', resolved ->> 'as', 'note', reopen.note, 'login', session_user));
    RETURN 'reopened';
END
$$;
COMMENT ON FUNCTION iap.reopen IS
    'Takes a wrong resolve back: reopened, and the transaction is owed again, as it was before. What a claim delivered '
    'stays delivered. Otherwise it changes nothing and says why: already_white, already_delivered, refunded (by Apple, '
    'since), excluded or not_verified.';

-- Nothing of this is for everyone: roles.sql says who may call what.
REVOKE ALL ON SCHEMA iap FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA iap FROM PUBLIC;
