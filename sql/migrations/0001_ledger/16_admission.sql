-- A server that verified a purchase itself admits it.

-- An order speaks for the purchase that it was uploaded with. A receipt that a server names when it admits a purchase
-- may have been uploaded for another one first: the order of that one, perhaps of the phone's other user, is no
-- evidence.
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
        order_id = coalesce(known.order_id, EXCLUDED.order_id),
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN known.seal = audit.seal(ROW(known.*)::iap.sightings) THEN audit.seal(ROW(
            known.transaction_id, known.bundle_id, known.environment, known.bucket, known.receipt_id,
            coalesce(known.user_id, EXCLUDED.user_id), coalesce(known.order_id, EXCLUDED.order_id), true,
            known.in_receipt, known.uploaded_at, known.first_run_id, NULL)::iap.sightings)
            ELSE known.seal END;
END
$$;
COMMENT ON FUNCTION iap.sight IS
    'Remembers that a transaction was seen in a receipt that was uploaded for it, and the order that it was uploaded '
    'with.';

CREATE FUNCTION iap.require_owed(t iap.transactions) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    why text := CASE
        WHEN iap.is_refunded_otherwise(t) THEN 'it is refunded under another id'
        WHEN iap.is_dismissed_otherwise(t) THEN 'the support desk dismissed it under another id'
    END;
BEGIN
    IF why IS NOT NULL THEN
        RAISE EXCEPTION 'transaction % of % (%) is not owed: %', t.transaction_id, t.bundle_id, t.environment, why
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Don''t deliver it.';
    END IF;
END
$$;
COMMENT ON FUNCTION iap.require_owed IS
    'Refuses what Apple refunded, or the support desk dismissed, under another id of the same purchase.';

CREATE FUNCTION iap.period_said(web_order_line_item_id text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT nullif(nullif($1, ''), '0') $$;
COMMENT ON FUNCTION iap.period_said IS
    'A subscription''s period, NULL for what is none: of which some of Apple''s formats say 0.';

CREATE FUNCTION iap.require_purchase(v iap.verified) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM iap.require_bundle_id(v.bundle_id);
    PERFORM iap.require_transaction_id('transaction_id', v.transaction_id);
    PERFORM iap.require_transaction_id('original_transaction_id', v.original_transaction_id);
    PERFORM iap.require_product_id(v.product_id);
    IF v.user_id IS NOT NULL THEN
        PERFORM iap.require_text('user_id', v.user_id, 1000);
    END IF;
    IF v.web_order_line_item_id IS NOT NULL THEN
        PERFORM iap.require_transaction_id('web_order_line_item_id', v.web_order_line_item_id);
    END IF;
    IF v.environment IS NULL OR v.environment NOT IN ('Production', 'Sandbox') THEN
        RAISE EXCEPTION 'environment is “Production” or “Sandbox”' USING ERRCODE = 'invalid_parameter_value';
    ELSIF coalesce(v.quantity, 0) < 1 THEN
        RAISE EXCEPTION 'a purchase''s quantity is at least 1' USING ERRCODE = 'invalid_parameter_value';
    ELSIF v.purchased_at IS NULL THEN
        RAISE EXCEPTION 'purchased_at is missing' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM iap.require_moment('purchased_at', v.purchased_at);
END
$$;
COMMENT ON FUNCTION iap.require_purchase IS 'Refuses what an app''s server can''t have verified.';

CREATE FUNCTION iap.admit(
    bundle_id text, environment text, transaction_id text, original_transaction_id text, product_id text,
    quantity integer, purchased_at timestamptz, user_id text DEFAULT NULL, receipt_id bigint DEFAULT NULL,
    web_order_line_item_id text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    purchase iap.verified;
    is_new   boolean := false;
    known    iap.transactions;
    change   iap.change;
    whose    text := nullif(admit.user_id, '');
    period   text := iap.period_said(admit.web_order_line_item_id);
    wanted   iap.transactions;
    owed_as  text;
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.limit_waiting();
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
    purchase.web_order_line_item_id := period;
    purchase.user_id := whose;
    purchase.receipt_id := admit.receipt_id;
    PERFORM iap.require_purchase(purchase);

    known := iap.locked(admit.bundle_id, admit.environment, admit.transaction_id);
    IF known.transaction_id IS NULL THEN
        wanted.transaction_id := admit.transaction_id;
        wanted.bundle_id := admit.bundle_id;
        wanted.environment := admit.environment;
        wanted.original_transaction_id := admit.original_transaction_id;
        wanted.product_id := admit.product_id;
        wanted.web_order_line_item_id := period;
        IF iap.is_delivered_otherwise(wanted) OR iap.is_period_delivered(wanted) THEN
            RETURN 'already_delivered';
        END IF;
        PERFORM iap.require_owed(wanted);
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
        -- The period, handed on late, keeps its other ids from being delivered all the same.
        IF known.place = 'black' AND known.web_order_line_item_id IS NULL AND period IS NOT NULL THEN
            change.was := known;
            known.web_order_line_item_id := period;
            change.became := known;
            PERFORM iap.move(ARRAY[change], 'corrected', session_user, NULL, iap.present());
        END IF;
        RETURN 'already_delivered';
    END IF;
    owed_as := iap.owed_as(known);
    IF owed_as IS NOT NULL THEN
        -- Restored: it is owed under its other id, and may be claimed by this one.
        RETURN iap.admit(
            admit.bundle_id, admit.environment, owed_as, admit.original_transaction_id, admit.product_id,
            admit.quantity, admit.purchased_at, admit.user_id, admit.receipt_id, admit.web_order_line_item_id);
    ELSIF known.place = 'excluded' THEN
        RAISE EXCEPTION 'transaction % of % (%) is not owed: it is excluded as %',
            admit.transaction_id, admit.bundle_id, admit.environment, known.reason
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Don''t deliver it.';
    END IF;
    change.was := known;
    -- What Apple told goes before.
    known.web_order_line_item_id := coalesce(known.web_order_line_item_id, period);
    PERFORM iap.require_owed(known);
    IF (known.admitted_user_id IS NULL AND whose IS NOT NULL)
        OR (known.admitted_receipt_id IS NULL AND admit.receipt_id IS NOT NULL)
        OR known.web_order_line_item_id IS DISTINCT FROM (change.was).web_order_line_item_id
    THEN
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
    'already_delivered. A transaction that is excluded (refunded, dismissed, a sandbox purchase …), or refunded or '
    'dismissed under another id, is not owed: that is an error (55000), since no outcome would be true. receipt_id '
    'names the uploaded receipt it came with, if any; web_order_line_item_id, of a subscription, is Apple''s id of the '
    'period.';
