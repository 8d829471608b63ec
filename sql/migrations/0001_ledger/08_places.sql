-- Where a purchase is, and how it gets from one place to another. Each transition is written once: the nightly batch,
-- the app's server, the support desk, the import and the erasure call the same.
--
-- A transition is a function that gives the row as it shall be; `iap.move` writes such rows. A change is one UPDATE of
-- one row that its caller has locked: nothing can be in two places, and who looked at an older row is refused with a
-- serialization failure.
--
-- These functions name tables without their schema, so that a dry run can put shadows in front. Whoever calls them for
-- other roles does so with a search path of its own.

-- Entering -----------------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.enter(purchases iap.verified[], run bigint, at timestamptz) RETURNS void
-- One plan fits any number of purchases, and it is the longest to make of all.
LANGUAGE plpgsql SET plan_cache_mode = auto AS $$
BEGIN
    INSERT INTO transactions (
        transaction_id, bundle_id, environment, place, original_transaction_id, product_id, product_type, quantity,
        purchased_at, original_purchased_at, expires_at, is_trial, web_order_line_item_id, app_account_token,
        price_milliunits, currency, storefront, found_bundle_id, refunded_at, refund_reason, refund_run_id, source,
        verified_at, booked_milliunits, booked_currency, booked_as, entry_id, first_seen_at, first_run_id,
        admitted_user_id, admitted_receipt_id, nights_confirmed, last_confirmed_at, user_id, order_id, delivered_by,
        delivered_at, reason, excluded_at, excluded_run_id, revocation_type, revocation_percentage, app_transaction_id,
        refund_told_at, is_family_shared, seal)
    SELECT
        new.transaction_id, new.bundle_id, new.environment, new.place, new.original_transaction_id, new.product_id,
        new.product_type, new.quantity, new.purchased_at, new.original_purchased_at, new.expires_at, new.is_trial,
        new.web_order_line_item_id, new.app_account_token, new.price_milliunits, new.currency, new.storefront,
        new.found_bundle_id, new.refunded_at, new.refund_reason, new.refund_run_id, new.source, new.verified_at,
        new.booked_milliunits, new.booked_currency, new.booked_as, new.entry_id, new.first_seen_at, new.first_run_id,
        new.admitted_user_id, new.admitted_receipt_id, new.nights_confirmed, new.last_confirmed_at, new.user_id,
        new.order_id, new.delivered_by, new.delivered_at, new.reason, new.excluded_at, new.excluded_run_id,
        new.revocation_type, new.revocation_percentage, new.app_transaction_id, new.refund_told_at,
        new.is_family_shared, audit.seal(ROW(new.*)::iap.transactions)
    FROM (
        -- In the order of the table's columns, for its seal.
        SELECT
            v.transaction_id, v.bundle_id, v.environment,
            CASE
                WHEN v.delivered_at IS NOT NULL THEN 'black' WHEN v.exclusion IS NOT NULL THEN 'excluded'
                ELSE 'white'
            END AS place,
            v.original_transaction_id, v.product_id, coalesce(v.product_type, listed.type) AS product_type, v.quantity,
            v.purchased_at, v.original_purchased_at, v.expires_at, v.is_trial, v.web_order_line_item_id,
            v.app_account_token, v.price_milliunits, v.currency, v.storefront, v.found_bundle_id, v.refunded_at,
            CASE WHEN v.refunded_at IS NOT NULL THEN v.refund_reason END AS refund_reason,
            CASE WHEN v.refunded_at IS NOT NULL THEN run END AS refund_run_id,
            NULL::timestamptz AS refund_reversed_at, v.source, v.verified_at,
            (booked.amount).milliunits AS booked_milliunits, (booked.amount).currency AS booked_currency,
            (booked.amount).booked_as,
            nextval('iap.trail') AS entry_id, at AS first_seen_at, run AS first_run_id,
            CASE WHEN v.delivered_at IS NULL THEN v.user_id END AS admitted_user_id,
            v.receipt_id AS admitted_receipt_id,
            CASE WHEN run IS NULL THEN 0 ELSE 1 END AS nights_confirmed,
            CASE WHEN run IS NOT NULL THEN coalesce(v.confirmed_at, v.verified_at) END AS last_confirmed_at,
            CASE WHEN v.delivered_at IS NOT NULL THEN v.user_id END AS user_id,
            CASE WHEN v.delivered_at IS NOT NULL THEN v.order_id END AS order_id,
            CASE WHEN v.delivered_at IS NOT NULL THEN 'import' END AS delivered_by, v.delivered_at,
            CASE WHEN v.delivered_at IS NULL THEN v.exclusion END AS reason,
            CASE WHEN v.delivered_at IS NULL AND v.exclusion IS NOT NULL THEN at END AS excluded_at,
            CASE WHEN v.delivered_at IS NULL AND v.exclusion IS NOT NULL THEN run END AS excluded_run_id,
            NULL::bigint AS move_id, NULL::bigint AS seal,
            CASE WHEN v.refunded_at IS NOT NULL THEN v.revocation_type END AS revocation_type,
            CASE WHEN v.refunded_at IS NOT NULL THEN v.revocation_percentage END AS revocation_percentage,
            v.app_transaction_id,
            CASE WHEN v.refunded_at IS NOT NULL THEN coalesce(v.made_at, v.verified_at) END AS refund_told_at,
            shared.is_family_shared
        FROM unnest(purchases) AS v
        LEFT JOIN products AS listed ON listed.bundle_id = v.bundle_id AND listed.product_id = v.product_id
        CROSS JOIN LATERAL (SELECT coalesce(v.exclusion = 'family_shared', false) AS is_family_shared) AS shared
        CROSS JOIN LATERAL (
            SELECT iap.amount_of(
                v.price_milliunits, v.currency, v.is_trial, v.quantity, listed.list_price_milliunits,
                listed.currency, shared.is_family_shared) AS amount
        ) AS booked
        ORDER BY v.transaction_id, v.bundle_id, v.environment
    ) AS new;
END
$$;
COMMENT ON FUNCTION iap.enter IS
    'Takes purchases into the ledger that it does not hold: delivered before, not owed, or owed. One that is there, or '
    'that another session has entered meanwhile, is a unique_violation.';

CREATE FUNCTION iap.locked(bundle_id text, environment text, transaction_id text) RETURNS iap.transactions
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    t iap.transactions;
BEGIN
    SELECT * INTO t
    FROM transactions
    WHERE transaction_id = locked.transaction_id AND bundle_id = locked.bundle_id
        AND environment = locked.environment
    FOR UPDATE;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.locked IS
    'A transaction, locked until the session''s transaction ends; all NULL if there is none.';

CREATE FUNCTION iap.standing(t iap.transactions) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE
        WHEN t.transaction_id IS NULL THEN 'not_verified'
        WHEN t.place = 'white' THEN 'white'
        WHEN t.place = 'black' THEN 'already_delivered'
        -- What an upgrade took the place of may have been delivered before.
        WHEN t.reason IN ('restored', 'upgraded') AND (
            iap.is_delivered_beside(t)
            -- Of a subscription it was another period, delivered before anybody knew that it was one.
            OR (iap.is_original_delivered(t) AND iap.type_of(t) IS DISTINCT FROM 'auto_renewable'))
            THEN 'already_delivered'
        ELSE 'excluded'
    END;
END
$$;
COMMENT ON FUNCTION iap.standing IS
    'Where a transaction stands, for those who ask for it: a restored non-consumable, or period of a subscription, is '
    'already delivered if its purchase was, under whatever id; so is a period that was upgraded.';

-- The transitions ----------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.delivered(t iap.transactions, user_id text, order_id text, delivered_by text, at timestamptz)
RETURNS iap.transactions
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    t.place := 'black';
    t.reason := NULL;
    t.excluded_at := NULL;
    t.excluded_run_id := NULL;
    t.user_id := delivered.user_id;
    t.order_id := delivered.order_id;
    t.delivered_by := delivered.delivered_by;
    t.delivered_at := at;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.delivered IS 'A transaction whose goods were delivered: black.';

CREATE FUNCTION iap.excluded(t iap.transactions, reason text, run bigint, at timestamptz) RETURNS iap.transactions
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    t.place := 'excluded';
    t.user_id := NULL;
    t.order_id := NULL;
    t.delivered_by := NULL;
    t.delivered_at := NULL;
    t.reason := excluded.reason;
    t.excluded_at := at;
    t.excluded_run_id := run;
    IF excluded.reason = 'refunded' THEN
        t.refunded_at := coalesce(t.refunded_at, at);
    END IF;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.excluded IS
    'A transaction that is not owed. Refunded without a word of Apple''s, it counts as refunded at that moment.';

CREATE FUNCTION iap.unrefunded(t iap.transactions) RETURNS iap.transactions
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    t.refunded_at := NULL;
    t.refund_reason := NULL;
    t.refund_run_id := NULL;
    t.refund_told_at := NULL;
    t.revocation_type := NULL;
    t.revocation_percentage := NULL;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.unrefunded IS 'A transaction without its refund.';

CREATE FUNCTION iap.owed_again(t iap.transactions) RETURNS iap.transactions
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    t.place := 'white';
    t.user_id := NULL;
    t.order_id := NULL;
    t.delivered_by := NULL;
    t.delivered_at := NULL;
    t.reason := NULL;
    t.excluded_at := NULL;
    t.excluded_run_id := NULL;
    RETURN iap.unrefunded(t);
END
$$;
COMMENT ON FUNCTION iap.owed_again IS
    'A transaction that is owed after all: its setting was mended, its refund reversed, or its resolve taken back.';

CREATE FUNCTION iap.refunded(t iap.transactions, v iap.verified, run bigint) RETURNS iap.transactions
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    t.refunded_at := v.refunded_at;
    t.refund_reason := v.refund_reason;
    t.revocation_type := v.revocation_type;
    t.revocation_percentage := v.revocation_percentage;
    t.refund_run_id := run;
    t.refund_told_at := coalesce(v.made_at, v.verified_at);
    t.refund_reversed_at := NULL;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.refunded IS
    'A transaction that Apple refunded, whole or in part; what was delivered stays delivered.';

CREATE FUNCTION iap.refund_reversed(t iap.transactions, at timestamptz) RETURNS iap.transactions
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    t := iap.unrefunded(t);
    t.refund_reversed_at := at;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.refund_reversed IS 'A transaction whose refund Apple took back.';

CREATE FUNCTION iap.rebooked(t iap.transactions, was iap.transactions) RETURNS iap.transactions
LANGUAGE plpgsql STABLE AS $$
DECLARE
    listed record;
    amount iap.amount;
BEGIN
    SELECT list_price_milliunits AS price, currency, type INTO listed
    FROM products
    WHERE bundle_id = t.bundle_id AND product_id = t.product_id;
    -- What the list says today is no price of a purchase that was booked by it before.
    IF was.booked_as = 'list' AND t.product_id = was.product_id THEN
        listed.price := was.booked_milliunits / was.quantity;
        listed.currency := was.booked_currency;
    END IF;
    amount := iap.amount_of(
        t.price_milliunits, t.currency, t.is_trial, t.quantity, listed.price, listed.currency, t.is_family_shared);
    t.booked_milliunits := amount.milliunits;
    t.booked_currency := amount.currency;
    t.booked_as := amount.booked_as;
    t.product_type := coalesce(t.product_type, listed.type);
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.rebooked IS 'A transaction of which something else was bought or paid than it was booked as.';

CREATE FUNCTION iap.corrected(t iap.transactions, v iap.verified) RETURNS iap.transactions
-- What it looks up is a row by its key: planned once, whatever holds of the batch around it.
LANGUAGE plpgsql STABLE SET plan_cache_mode = auto AS $$
DECLARE
    was iap.transactions := t;
BEGIN
    IF v.source > t.source THEN
        t.original_transaction_id := v.original_transaction_id;
        t.product_id := v.product_id;
        t.purchased_at := v.purchased_at;
        t.is_trial := v.is_trial;
        t.web_order_line_item_id := coalesce(v.web_order_line_item_id, t.web_order_line_item_id);
        IF v.quantity > 0 OR t.place = 'excluded' THEN
            t.quantity := v.quantity;
        END IF;
        IF v.price_milliunits IS NOT NULL THEN
            t.price_milliunits := v.price_milliunits;
            t.currency := v.currency;
        END IF;
    END IF;
    -- A notification may be older than what is known.
    IF v.source > t.source OR (v.source = t.source AND v.verified_at >= t.verified_at) THEN
        t.product_type := coalesce(
            v.product_type, CASE WHEN t.product_id = was.product_id THEN t.product_type END);
        t.expires_at := coalesce(v.expires_at, t.expires_at);
        t.source := v.source;
        t.verified_at := v.verified_at;
    ELSE
        t.product_type := coalesce(t.product_type, v.product_type);
        t.expires_at := coalesce(t.expires_at, v.expires_at);
    END IF;
    t.original_purchased_at := coalesce(t.original_purchased_at, v.original_purchased_at);
    t.web_order_line_item_id := coalesce(t.web_order_line_item_id, v.web_order_line_item_id);
    -- Whose user was erased stays without, however often Apple tells it.
    IF NOT iap.is_pseudonym(coalesce(t.user_id, t.admitted_user_id, '')) THEN
        t.app_account_token := coalesce(t.app_account_token, v.app_account_token);
    END IF;
    t.app_transaction_id := coalesce(t.app_transaction_id, v.app_transaction_id);
    t.storefront := coalesce(t.storefront, v.storefront);
    t.found_bundle_id := coalesce(t.found_bundle_id, v.found_bundle_id);
    IF t.price_milliunits IS NULL THEN
        t.price_milliunits := v.price_milliunits;
        t.currency := v.currency;
    END IF;
    -- Neither an app's server nor an import says so.
    t.is_family_shared := t.is_family_shared OR coalesce(v.exclusion = 'family_shared', false);
    IF (t.price_milliunits, t.currency, t.is_trial, t.product_id, t.quantity, t.is_family_shared)
        IS DISTINCT FROM (
            was.price_milliunits, was.currency, was.is_trial, was.product_id, was.quantity, was.is_family_shared)
    THEN
        t := iap.rebooked(t, was);
    END IF;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.corrected IS
    'A transaction with what somebody else says of it: a better source corrects, one as good adds what is newer, a '
    'poorer one only fills in what was not known. Booked anew where what was bought or paid is another.';
