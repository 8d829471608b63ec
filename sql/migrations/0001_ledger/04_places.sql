-- Where a purchase is, and how it gets from one place to another. Each transition is written once: the nightly batch,
-- the app's server, the support desk, the import and the erasure call the same.
--
-- A transition is a function that gives the row as it shall be. `iap.move` writes such rows, seals them, logs the moves
-- and closes and opens the cases. A change is one UPDATE of one row that its caller has locked: nothing can be in two
-- places, and who looked at an older row is refused with a serialization failure.
--
-- These functions name tables without their schema, so that a dry run can put shadows in front. Whoever calls them for
-- other roles does so with a search path of its own.

-- Time ---------------------------------------------------------------------------------------------------------------

-- In PL/pgSQL, which keeps its plan from call to call.
CREATE FUNCTION iap.present() RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    set_to text := current_setting('iap.present', true);
BEGIN
    IF set_to <> ''
        AND (
            has_table_privilege(session_user, 'iap.runs', 'INSERT')
            OR has_table_privilege(session_user, 'iap.sources', 'INSERT'))
    THEN
        RETURN set_to::timestamptz;
    END IF;
    RETURN now();
END
$$;
COMMENT ON FUNCTION iap.present IS
    'The moment to take for the present: now, or what the nightly job, replaying a night, has set as iap.present, also '
    'where it pulls as iap_import. An app''s server can''t set it.';

-- What is said of a purchase -----------------------------------------------------------------------------------------

CREATE TYPE iap.verified AS (
    transaction_id          text COLLATE "C",
    bundle_id               text COLLATE "C",
    environment             text,
    original_transaction_id text COLLATE "C",
    product_id              text COLLATE "C",
    product_type            text,
    quantity                integer,
    purchased_at            timestamptz,
    original_purchased_at   timestamptz,
    expires_at              timestamptz,
    is_trial                boolean,
    web_order_line_item_id  text,
    app_account_token       text,
    price_milliunits        bigint,
    currency                text,
    storefront              text,
    found_bundle_id         text COLLATE "C",
    refunded_at             timestamptz,
    refund_reason           text,
    source                  iap.source,
    verified_at             timestamptz,
    -- Why it is not owed; NULL when it is.
    exclusion               text,
    -- For whom it was admitted, and by which receipt; or to whom and when it was delivered before.
    user_id                 text,
    order_id                text,
    receipt_id              bigint,
    delivered_at            timestamptz,
    -- Its number in the batch.
    number                  integer,
    revocation_type         text,
    revocation_percentage   integer,
    app_transaction_id      text,
    -- When it was looked at, where verified_at says when Apple signed it; for a night's confirmation.
    confirmed_at            timestamptz
);
COMMENT ON TYPE iap.verified IS 'What a receipt, an app''s server or an import says of a purchase.';

CREATE TYPE iap.change AS (was iap.transactions, became iap.transactions);
COMMENT ON TYPE iap.change IS 'A row of iap.transactions as its writer locked it, and as it shall be.';

-- What finance books -------------------------------------------------------------------------------------------------

CREATE TYPE iap.amount AS (milliunits bigint, currency text, booked_as text);

CREATE FUNCTION iap.amount_of(
    price_milliunits bigint, currency text, is_trial boolean, quantity integer, list_price_milliunits bigint,
    list_currency text
) RETURNS iap.amount
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN $1 IS NOT NULL THEN ROW($1, $2, 'apple')::iap.amount
        WHEN $3 THEN ROW(0, $6, 'trial')::iap.amount
        WHEN $5 IS NULL OR $5::numeric * $4 > 1000000000000000 THEN ROW(NULL, $6, 'unknown')::iap.amount
        ELSE ROW($5 * $4, $6, 'list')::iap.amount
    END
$$;
COMMENT ON FUNCTION iap.amount_of IS
    'What finance counts a purchase as: what Apple says was paid; nothing for a free trial; else the list price times '
    'the quantity, unless nobody can have paid that much.';

CREATE FUNCTION iap.share_of(milliunits bigint, percentage integer) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN CASE
    WHEN percentage IS NULL THEN milliunits ELSE round(milliunits::numeric * percentage / 100000)::bigint
END;
COMMENT ON FUNCTION iap.share_of IS 'A share, in thousandths of a percent, of an amount; all of it where none is told.';

CREATE TYPE iap.position AS (
    place text, detail text, day date, refund_day date, product_id text, units integer, milliunits bigint,
    currency text, booked_as text
);
COMMENT ON TYPE iap.position IS 'What the books say of a transaction: its account, day and amount.';

CREATE FUNCTION iap.position_of(t iap.transactions) RETURNS iap.position
LANGUAGE sql IMMUTABLE
-- Parsed here and now: finance's views call it, and finance may not look into the schema.
RETURN ROW(
    t.place,
    CASE t.place WHEN 'black' THEN t.delivered_by WHEN 'excluded' THEN t.reason END,
    (CASE
        WHEN t.place = 'white' THEN t.purchased_at
        WHEN t.place = 'black' THEN t.delivered_at
        WHEN t.reason = 'refunded' THEN t.refunded_at
        ELSE t.excluded_at
    END AT TIME ZONE 'UTC')::date,
    CASE t.place WHEN 'black' THEN (t.refunded_at AT TIME ZONE 'UTC')::date END,
    t.product_id, t.quantity, t.booked_milliunits, t.booked_currency, t.booked_as)::iap.position;
COMMENT ON FUNCTION iap.position_of IS 'What the books say of a transaction as it is.';

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
        seal)
    SELECT
        new.transaction_id, new.bundle_id, new.environment, new.place, new.original_transaction_id, new.product_id,
        new.product_type, new.quantity, new.purchased_at, new.original_purchased_at, new.expires_at, new.is_trial,
        new.web_order_line_item_id, new.app_account_token, new.price_milliunits, new.currency, new.storefront,
        new.found_bundle_id, new.refunded_at, new.refund_reason, new.refund_run_id, new.source, new.verified_at,
        new.booked_milliunits, new.booked_currency, new.booked_as, new.entry_id, new.first_seen_at, new.first_run_id,
        new.admitted_user_id, new.admitted_receipt_id, new.nights_confirmed, new.last_confirmed_at, new.user_id,
        new.order_id, new.delivered_by, new.delivered_at, new.reason, new.excluded_at, new.excluded_run_id,
        new.revocation_type, new.revocation_percentage, new.app_transaction_id,
        audit.seal(ROW(new.*)::iap.transactions)
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
            CASE WHEN v.delivered_at IS NULL THEN v.user_id END AS admitted_user_id, v.receipt_id AS admitted_receipt_id,
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
            v.app_transaction_id
        FROM unnest(purchases) AS v
        LEFT JOIN products AS listed ON listed.bundle_id = v.bundle_id AND listed.product_id = v.product_id
        CROSS JOIN LATERAL (
            SELECT iap.amount_of(
                v.price_milliunits, v.currency, v.is_trial, v.quantity, listed.list_price_milliunits,
                listed.currency) AS amount
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
        WHEN t.reason = 'restored' AND (
            EXISTS (
                SELECT FROM delivered_originals
                WHERE original_transaction_id = t.original_transaction_id AND bundle_id = t.bundle_id
                    AND environment = t.environment)
            OR EXISTS (
                SELECT FROM transactions AS same
                WHERE iap.is_of_original(
                        same.transaction_id, same.original_transaction_id, t.original_transaction_id)
                    AND same.bundle_id = t.bundle_id AND same.environment = t.environment AND same.place = 'black'
                    AND same.web_order_line_item_id = t.web_order_line_item_id)) THEN 'already_delivered'
        ELSE 'excluded'
    END;
END
$$;
COMMENT ON FUNCTION iap.standing IS
    'Where a transaction stands, for those who ask for it: a restored non-consumable, or period of a subscription, is '
    'already delivered if its purchase was, under whatever id.';

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
    t.refunded_at := NULL;
    t.refund_reason := NULL;
    t.refund_run_id := NULL;
    t.revocation_type := NULL;
    t.revocation_percentage := NULL;
    RETURN t;
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
    t.refund_reversed_at := NULL;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.refunded IS
    'A transaction that Apple refunded, whole or in part; what was delivered stays delivered.';

CREATE FUNCTION iap.refund_reversed(t iap.transactions, at timestamptz) RETURNS iap.transactions
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    t.refunded_at := NULL;
    t.refund_reason := NULL;
    t.revocation_type := NULL;
    t.revocation_percentage := NULL;
    t.refund_run_id := NULL;
    t.refund_reversed_at := at;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.refund_reversed IS 'A transaction whose refund Apple took back.';

CREATE FUNCTION iap.corrected(t iap.transactions, v iap.verified) RETURNS iap.transactions
-- What it looks up is a row by its key: planned once, whatever holds of the batch around it.
LANGUAGE plpgsql STABLE SET plan_cache_mode = auto AS $$
DECLARE
    was    iap.transactions := t;
    listed record;
    amount iap.amount;
BEGIN
    IF v.source > t.source THEN
        t.original_transaction_id := v.original_transaction_id;
        t.product_id := v.product_id;
        t.purchased_at := v.purchased_at;
        t.is_trial := v.is_trial;
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
    t.app_account_token := coalesce(t.app_account_token, v.app_account_token);
    t.app_transaction_id := coalesce(t.app_transaction_id, v.app_transaction_id);
    t.storefront := coalesce(t.storefront, v.storefront);
    t.found_bundle_id := coalesce(t.found_bundle_id, v.found_bundle_id);
    IF t.price_milliunits IS NULL THEN
        t.price_milliunits := v.price_milliunits;
        t.currency := v.currency;
    END IF;
    IF (t.price_milliunits, t.currency, t.is_trial, t.product_id, t.quantity)
        IS DISTINCT FROM (was.price_milliunits, was.currency, was.is_trial, was.product_id, was.quantity)
    THEN
        SELECT list_price_milliunits AS price, currency, type INTO listed
        FROM products
        WHERE bundle_id = t.bundle_id AND product_id = t.product_id;
        amount := iap.amount_of(
            t.price_milliunits, t.currency, t.is_trial, t.quantity, listed.price, listed.currency);
        t.booked_milliunits := amount.milliunits;
        t.booked_currency := amount.currency;
        t.booked_as := amount.booked_as;
        t.product_type := coalesce(t.product_type, listed.type);
    END IF;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.corrected IS
    'A transaction with what somebody else says of it: a better source corrects, one as good adds what is newer, a '
    'poorer one only fills in what was not known. Booked anew where what was bought or paid is another.';

CREATE FUNCTION iap.is_another_night(confirmed_at timestamptz, verified_at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    -- Half a night: two runs of one night count once, however far cron drifts.
    SELECT confirmed_at IS NULL OR verified_at - confirmed_at >= '12 hours'
$$;
COMMENT ON FUNCTION iap.is_another_night IS
    'Whether a word of Apple''s confirms a white transaction for one night more than it was confirmed last.';

CREATE FUNCTION iap.is_outdated_refund(t iap.transactions, v iap.verified) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN v.verified_at <= t.refund_reversed_at OR (
        t.refunded_at IS NULL AND (
            -- What Apple answers of a customer's history holds every refund; of a receipt, only those that came before it
            -- was made. It has been seen to know one minutes late.
            (t.source = 'server_api' AND v.verified_at < t.verified_at - interval '1 hour')
            OR EXISTS (
                SELECT FROM notices
                WHERE notices.transaction_id = t.transaction_id AND notices.bundle_id = t.bundle_id
                    AND notices.environment = t.environment AND type = 'REFUND_REVERSED'
                    AND signed_at >= v.verified_at)));
END
$$;
COMMENT ON FUNCTION iap.is_outdated_refund IS
    'Whether Apple took a refund back, or knew of none any more, after it told of it: its words come in any order.';

CREATE FUNCTION iap.is_later_refund(t iap.transactions, v iap.verified) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    -- Some of Apple's formats tell of it to the second.
    SELECT v.refunded_at >= t.refunded_at + interval '1 second'
$$;
COMMENT ON FUNCTION iap.is_later_refund IS
    'Whether Apple refunded a transaction once more than is known: so it took the one that is known back between them, and '
    'may tell of that later.';

CREATE FUNCTION iap.ends_refund(t iap.transactions, v iap.verified) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- What a person called refunded, Apple has never refunded. Most are not: for them no statement is run.
    IF t.refund_run_id IS NULL THEN
        RETURN false;
    END IF;
    -- A signature alone takes no refund back: it was signed for another reason. Apple's word does, unless it is from before
    -- the refund, of which a poorer source told.
    RETURN (v.source > 'local' AND v.source >= t.source AND v.verified_at > greatest(t.verified_at, t.refunded_at))
        OR EXISTS (
            SELECT FROM notices
            WHERE notices.transaction_id = t.transaction_id AND notices.bundle_id = t.bundle_id
                AND notices.environment = t.environment AND type = 'REFUND_REVERSED' AND signed_at > t.refunded_at);
END
$$;
COMMENT ON FUNCTION iap.ends_refund IS
    'Whether Apple''s refund of a transaction is no more, by a word of Apple''s that tells of none.';

CREATE FUNCTION iap.has_access(t iap.transactions, at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM entitlements AS e
        WHERE e.original_transaction_id = t.original_transaction_id AND e.bundle_id = t.bundle_id
            AND iap.is_covered(t, ROW(e.*)::iap.entitlements, at));
END
$$;
COMMENT ON FUNCTION iap.has_access IS 'Whether what the app''s server grants now reaches to the end of a period.';

CREATE FUNCTION iap.stands_otherwise(t iap.transactions) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id
            AND (
                same.place <> 'excluded'
                -- Of several that are refunded the original will stand for all, or else the lowest id.
                OR (
                    same.reason = 'refunded'
                    AND (same.transaction_id <> same.original_transaction_id, same.transaction_id)
                        < (t.transaction_id <> t.original_transaction_id, t.transaction_id)))
            AND (
                iap.type_of(t) IS DISTINCT FROM 'auto_renewable'
                OR iap.is_same_period(t, ROW(same.*)::iap.transactions)));
END
$$;
COMMENT ON FUNCTION iap.stands_otherwise IS
    'Whether what was bought once, or a period of a subscription, is owed or was delivered under another transaction id, or '
    'will be where its refund is taken back.';

CREATE FUNCTION iap.heard(t iap.transactions, v iap.verified, run bigint, at timestamptz)
RETURNS iap.transactions
LANGUAGE plpgsql STABLE AS $$
DECLARE
    was iap.transactions := t;
BEGIN
    IF v.refunded_at IS NOT NULL AND iap.is_outdated_refund(t, v) THEN
        RETURN t;
    END IF;
    t := iap.corrected(t, v);
    IF v.refunded_at IS NOT NULL THEN
        IF t.place <> 'white' AND (
            t.refunded_at IS NULL
            -- Apple knows when and how much better than the support desk.
            OR was.refund_run_id IS NULL
            OR iap.is_later_refund(was, v)
            -- What kind of refund it is may be told later, also by a word that is older: verifyReceipt knows of none.
            OR (v.revocation_type IS NOT NULL
                AND (
                    v.verified_at >= was.verified_at
                    OR (t.revocation_type IS NULL AND v.refunded_at = t.refunded_at))
                AND (t.revocation_type, t.revocation_percentage)
                    IS DISTINCT FROM (v.revocation_type, v.revocation_percentage)))
        THEN
            t := iap.refunded(t, v, coalesce(was.refund_run_id, run));
        END IF;
    ELSIF iap.ends_refund(was, v) THEN
        t := iap.refund_reversed(t, v.verified_at);
        -- Access was taken away with the money, and is owed with it.
        IF t.delivered_by = 'entitlement' AND NOT iap.has_access(t, at) THEN
            t := iap.owed_again(t);
        END IF;
    ELSIF was.expires_at IS NULL AND t.expires_at IS NOT NULL AND t.delivered_by = 'entitlement'
        AND t.refunded_at IS NULL AND v.exclusion IS NULL
        AND t.original_transaction_id = was.original_transaction_id AND NOT iap.has_access(t, at)
    THEN
        -- While nobody knew its end, a grant was taken for its own, perhaps one for the billing grace before it: that does
        -- not reach so far.
        t := iap.owed_again(t);
    END IF;

    IF t.place = 'white' THEN
        IF v.exclusion IS NOT NULL THEN
            IF v.refunded_at IS NOT NULL THEN
                t := iap.refunded(t, v, run);
            END IF;
            t := iap.excluded(t, v.exclusion, run, at);
        ELSIF iap.is_another_night(t.last_confirmed_at, coalesce(v.confirmed_at, v.verified_at)) THEN
            t.nights_confirmed := t.nights_confirmed + 1;
            t.last_confirmed_at := coalesce(v.confirmed_at, v.verified_at);
        END IF;
    ELSIF t.place = 'excluded' AND t.refunded_at IS NULL
        AND (
            t.reason IN ('sandbox', 'before_start', 'refunded')
            -- It restored another purchase than Apple knows.
            OR (t.reason = 'restored' AND t.original_transaction_id <> was.original_transaction_id))
        AND v.exclusion IS DISTINCT FROM t.reason
    THEN
        t := CASE
            WHEN v.exclusion IS NULL
                -- Restored as what was refunded with it, of which Apple tells next that it is no more. Until then the night
                -- withdraws it: see iap.withdraw_all_restored.
                OR (t.reason = 'refunded' AND v.exclusion = 'restored' AND NOT iap.stands_otherwise(t))
            THEN iap.owed_again(t)
            ELSE iap.excluded(t, v.exclusion, run, at)
        END;
    END IF;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.heard IS
    'A transaction as it is by what Apple says of it now: corrected; refunded, or its refund reversed; not owed any '
    'more; or owed after all, where only a setting, a refund that is no more or a wrong original kept it from that, or a '
    'grant that does not reach to the end which Apple tells.';

-- Moving -------------------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.kind_of_move(was iap.transactions, became iap.transactions) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN was.refunded_at IS NULL AND became.refunded_at IS NOT NULL THEN 'refunded'
        WHEN was.refund_run_id IS NOT NULL AND became.refunded_at IS NULL THEN 'refund_reversed'
        WHEN was.place = 'excluded' AND (became.place, became.reason) IS DISTINCT FROM (was.place, was.reason)
            THEN 'released'
        WHEN was.place = 'white' AND became.place <> 'white' THEN 'withdrawn'
        ELSE 'corrected'
    END
$$;
COMMENT ON FUNCTION iap.kind_of_move IS 'Why a transaction that Apple told of moved.';

CREATE FUNCTION iap.refund_shares(was iap.transactions, became iap.transactions) RETURNS jsonb
-- What makes JSON is no more than that: only so it is part of the statement, and no call for each move.
LANGUAGE sql STABLE AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object(
        'from_refund_percentage', (was).revocation_percentage,
        'to_refund_percentage', (became).revocation_percentage))
$$;
COMMENT ON FUNCTION iap.refund_shares IS
    'What a move says of the shares that went back, in thousandths of a percent; nothing where Apple told of none.';

CREATE FUNCTION iap.release_originals(changes iap.change[]) RETURNS void
-- Nobody else may take away what keeps a purchase from being delivered twice.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
DECLARE
    still iap.transactions[];
BEGIN
    -- Also in a dry run nothing of what is delivered: there the ledger still has it so.
    WITH released AS (
        DELETE FROM delivered_originals AS taken
        USING unnest(changes) AS c
        WHERE taken.original_transaction_id IN ((c.was).original_transaction_id, (c.was).transaction_id)
            AND taken.bundle_id = (c.was).bundle_id AND taken.environment = (c.was).environment
            AND taken.transaction_id = (c.was).transaction_id
            AND EXISTS (
                SELECT FROM transactions AS t
                WHERE t.transaction_id = taken.transaction_id AND t.bundle_id = taken.bundle_id
                    AND t.environment = taken.environment AND t.place <> 'black')
        RETURNING taken.original_transaction_id, taken.bundle_id, taken.environment
    )
    SELECT array_agg(ROW(black.*)::iap.transactions) INTO still
    FROM released
    CROSS JOIN LATERAL (
        SELECT * FROM transactions AS t
        WHERE iap.is_of_original(
                t.transaction_id, t.original_transaction_id, released.original_transaction_id)
            AND t.bundle_id = released.bundle_id AND t.environment = released.environment AND t.place = 'black'
        OFFSET 0
    ) AS black;
    -- What was imported beside it is delivered all the same.
    IF still IS NOT NULL THEN
        PERFORM iap.take_originals(still);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.release_originals IS
    'Gives back the original purchases of what was delivered and is no more, so that it can be delivered once more; '
    'but for those that were delivered under another id, too.';

CREATE FUNCTION iap.release_orders(changes iap.change[]) RETURNS void
-- Nobody else may take away what keeps an order from being delivered twice.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
BEGIN
    -- In a statement of its own: what another purchase of the subscription was delivered for it meanwhile is seen then.
    PERFORM
    FROM delivered_orders AS taken
    JOIN unnest(changes) AS c ON taken.order_id = (c.was).order_id AND taken.bundle_id = (c.was).bundle_id
    ORDER BY taken.order_id, taken.bundle_id
    FOR UPDATE OF taken;
    DELETE FROM delivered_orders AS taken
    USING unnest(changes) AS c
    WHERE taken.order_id = (c.was).order_id AND taken.bundle_id = (c.was).bundle_id
        AND NOT EXISTS (
            SELECT FROM transactions AS t
            WHERE t.order_id = taken.order_id AND t.bundle_id = taken.bundle_id AND t.place = 'black');
END
$$;
COMMENT ON FUNCTION iap.release_orders IS
    'Gives back the orders for which nothing is delivered any more, so that another purchase can be delivered for them.';

CREATE FUNCTION iap.move(
    changes iap.change[], kind text, actor text, run bigint, at timestamptz, details jsonb DEFAULT '{}',
    who text DEFAULT NULL
) RETURNS void
-- By the primary keys, even where the plan was made when the tables were small.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    change   iap.change;
    moved    boolean := false;
    placed   boolean := false;
    returned boolean := false;
    rows     bigint;
BEGIN
    FOR number IN 1 .. cardinality(changes) LOOP
        change := changes[number];
        IF iap.position_of(change.was) IS DISTINCT FROM iap.position_of(change.became)
            OR (change.was).revocation_percentage IS DISTINCT FROM (change.became).revocation_percentage
        THEN
            change.became.move_id := nextval('iap.trail');
            changes[number] := change;
            moved := true;
            placed := placed OR (change.was).place <> (change.became).place;
            returned := returned OR ((change.was).place = 'black' AND (change.became).place <> 'black');
        END IF;
    END LOOP;

    -- Only the row that its caller looked at: whoever holds an older one is told to try again.
    UPDATE transactions AS t
    SET place = n.place, original_transaction_id = n.original_transaction_id, product_id = n.product_id,
        product_type = n.product_type, quantity = n.quantity, purchased_at = n.purchased_at,
        original_purchased_at = n.original_purchased_at, expires_at = n.expires_at, is_trial = n.is_trial,
        web_order_line_item_id = n.web_order_line_item_id, app_account_token = n.app_account_token,
        price_milliunits = n.price_milliunits, currency = n.currency, storefront = n.storefront,
        found_bundle_id = n.found_bundle_id, refunded_at = n.refunded_at, refund_reason = n.refund_reason,
        refund_run_id = n.refund_run_id, refund_reversed_at = n.refund_reversed_at,
        revocation_type = n.revocation_type, revocation_percentage = n.revocation_percentage,
        app_transaction_id = n.app_transaction_id, source = n.source,
        verified_at = n.verified_at, booked_milliunits = n.booked_milliunits, booked_currency = n.booked_currency,
        booked_as = n.booked_as, admitted_user_id = n.admitted_user_id,
        admitted_receipt_id = n.admitted_receipt_id, nights_confirmed = n.nights_confirmed,
        last_confirmed_at = n.last_confirmed_at, user_id = n.user_id, order_id = n.order_id,
        delivered_by = n.delivered_by, delivered_at = n.delivered_at, reason = n.reason,
        excluded_at = n.excluded_at, excluded_run_id = n.excluded_run_id, move_id = n.move_id,
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN t.seal = audit.seal(c.was) THEN audit.seal(c.became) ELSE t.seal END
    FROM unnest(changes) AS c
    CROSS JOIN LATERAL (SELECT (c.became).*) AS n
    WHERE t.transaction_id = n.transaction_id AND t.bundle_id = n.bundle_id AND t.environment = n.environment
        AND t.place = (c.was).place AND t.seal IS NOT DISTINCT FROM (c.was).seal;
    GET DIAGNOSTICS rows = ROW_COUNT;
    IF rows <> cardinality(changes) THEN
        RAISE EXCEPTION 'could not move a transaction that another session moved meanwhile'
            USING ERRCODE = 'serialization_failure', HINT = 'Try the transaction again.';
    END IF;
    IF moved THEN
        PERFORM iap.log_moves(changes, kind, actor, run, at, details);
    END IF;
    IF returned THEN
        PERFORM iap.release_originals(changes);
        PERFORM iap.release_orders(changes);
    END IF;
    -- What was delivered under another original than Apple knows keeps that one from being delivered again, too.
    PERFORM iap.take_originals(array_agg(c.became))
    FROM unnest(changes) AS c
    WHERE (c.was).place = 'black' AND (c.became).place = 'black'
        AND ((c.was).original_transaction_id, (c.was).product_type)
            IS DISTINCT FROM ((c.became).original_transaction_id, (c.became).product_type)
    HAVING count(*) > 0;
    IF placed THEN
        PERFORM iap.follow_cases(changes, kind, coalesce(who, 'run ' || run, actor), run, at, details ->> 'note');
    END IF;
END
$$;
COMMENT ON FUNCTION iap.move IS
    'Writes rows that a transition gave, which the caller has locked: seals them, logs those whose place or amount is '
    'another, and closes or opens their cases. kind says why; NULL where Apple''s word tells.';

CREATE FUNCTION iap.log_moves(
    changes iap.change[], kind text, actor text, run bigint, at timestamptz, details jsonb
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO moves
    SELECT move.*, audit.seal(ROW(move.*, NULL)::iap.moves)
    FROM (
        SELECT
            (c.became).move_id, (c.became).transaction_id, (c.became).bundle_id, (c.became).environment,
            coalesce(log_moves.kind, iap.kind_of_move(c.was, c.became)), log_moves.actor, run, at, was.place,
            became.place, was.detail, became.detail, was.day, became.day, was.refund_day, became.refund_day,
            was.product_id, became.product_id, was.units, became.units, was.milliunits, became.milliunits,
            was.currency, became.currency, was.booked_as, became.booked_as,
            log_moves.details || iap.refund_shares(c.was, c.became)
        FROM unnest(changes) AS c
        CROSS JOIN LATERAL (SELECT (iap.position_of(c.was)).*) AS was
        CROSS JOIN LATERAL (SELECT (iap.position_of(c.became)).*) AS became
        WHERE (c.became).move_id IS DISTINCT FROM (c.was).move_id
    ) AS move;
END
$$;
COMMENT ON FUNCTION iap.log_moves IS 'Writes the moves of those changes that have a new number.';

CREATE FUNCTION iap.refuse_unseen_cases(changes iap.change[], at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('transaction_isolation') IN ('read committed', 'read uncommitted') THEN
        RETURN;
    END IF;
    INSERT INTO cases (
        transaction_id, bundle_id, environment, state, likelihood, reasons, action, owner_user_ids, opened_at,
        opened_run_id, assessed_at, assessed_run_id, closed_at, closed_as, closed_by)
    SELECT
        (c.was).transaction_id, (c.was).bundle_id, (c.was).environment, 'closed', 'low', '{unseen}', '', '{}', at, -1, at,
        -1, at, 'withdrawn', ''
    FROM unnest(changes) AS c
    WHERE (c.became).place <> 'white'
    ON CONFLICT (transaction_id, bundle_id, environment) DO NOTHING;
    DELETE FROM cases
    USING unnest(changes) AS c
    WHERE cases.transaction_id = (c.was).transaction_id AND cases.bundle_id = (c.was).bundle_id
        AND cases.environment = (c.was).environment AND cases.opened_run_id = -1;
END
$$;
COMMENT ON FUNCTION iap.refuse_unseen_cases IS
    'Ends with a serialization failure where a case was opened after the snapshot of its caller, who could not close it: '
    'only a row that is written in its place meets it.';

CREATE FUNCTION iap.follow_cases(
    changes iap.change[], kind text, who text, run bigint, at timestamptz, note text
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM iap.refuse_unseen_cases(changes, at);
    UPDATE cases
    SET state = 'closed', closed_at = at,
        closed_as = CASE
            WHEN (c.became).place = 'black' THEN 'delivered'
            WHEN (c.became).reason IN ('refunded', 'dismissed') THEN (c.became).reason
            ELSE 'withdrawn'
        END,
        closed_by = who, note = follow_cases.note,
        assessed_at = CASE WHEN run IS NULL THEN cases.assessed_at ELSE at END,
        assessed_run_id = coalesce(run, cases.assessed_run_id)
    FROM unnest(changes) AS c
    WHERE cases.transaction_id = (c.was).transaction_id AND cases.bundle_id = (c.was).bundle_id
        AND cases.environment = (c.was).environment AND cases.state = 'open' AND (c.became).place <> 'white';
    IF kind = 'reopened' THEN
        UPDATE cases
        SET state = 'open', closed_at = NULL, closed_as = NULL, closed_by = NULL, note = NULL, reopened_run_id = 0
        FROM unnest(changes) AS c
        WHERE cases.transaction_id = (c.was).transaction_id AND cases.bundle_id = (c.was).bundle_id
            AND cases.environment = (c.was).environment AND cases.state = 'closed';
    END IF;
END
$$;
COMMENT ON FUNCTION iap.follow_cases IS
    'Closes the cases of what is owed no more, and opens those again whose resolve was taken back.';

-- A purchase that is owed once ---------------------------------------------------------------------------------------

CREATE FUNCTION iap.is_of_original(transaction_id text, original_transaction_id text, wanted text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT ($1 = $3 AND $2 = $3) OR ($2 = $3 AND $2 <> $1)
$$;
COMMENT ON FUNCTION iap.is_of_original IS
    'Whether a transaction is of an original purchase: in words for which there are indexes, without one entry more '
    'for each purchase that is its own original.';

CREATE FUNCTION iap.type_of(t iap.transactions) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(
        t.product_type, (SELECT type FROM products WHERE bundle_id = t.bundle_id AND product_id = t.product_id));
END
$$;
COMMENT ON FUNCTION iap.type_of IS
    'The type of the product that was bought: what Apple said, else what the list of products says; NULL where nobody '
    'knows it.';

CREATE FUNCTION iap.take_originals(delivered iap.transactions[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    taken bigint;
BEGIN
    INSERT INTO delivered_originals (original_transaction_id, bundle_id, environment, transaction_id)
    SELECT t.original_transaction_id, t.bundle_id, t.environment, min(t.transaction_id)
    FROM unnest(delivered) AS t
    LEFT JOIN products USING (bundle_id, product_id)
    WHERE coalesce(t.product_type, products.type, 'non_consumable') = 'non_consumable'
    GROUP BY t.original_transaction_id, t.bundle_id, t.environment
    ORDER BY t.original_transaction_id, t.bundle_id, t.environment
    ON CONFLICT (original_transaction_id, bundle_id, environment) DO NOTHING;
    GET DIAGNOSTICS taken = ROW_COUNT;
    RETURN taken;
END
$$;
COMMENT ON FUNCTION iap.take_originals IS
    'Notes that the original purchases of these are delivered, of non-consumables and of what nobody knows the type '
    'of; says how many were not before. Waits for another session that is about to note the same.';

CREATE FUNCTION iap.withdraw_restored(
    delivered iap.transactions, actor text, at timestamptz, who text
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    changes iap.change[];
BEGIN
    -- What another session holds is about to be claimed itself, and will find its original taken.
    SELECT array_agg(ROW(t, iap.excluded(t, 'restored', NULL, at))::iap.change) INTO changes
    FROM (
        SELECT *
        FROM transactions
        WHERE iap.is_of_original(transaction_id, original_transaction_id, delivered.original_transaction_id)
            AND bundle_id = delivered.bundle_id AND environment = delivered.environment
            AND transaction_id <> delivered.transaction_id AND place = 'white'
            AND (
                product_id = delivered.product_id
                OR iap.type_of(ROW(transactions.*)::iap.transactions) = 'non_consumable')
        ORDER BY transaction_id
        FOR UPDATE SKIP LOCKED
    ) AS t;
    IF changes IS NOT NULL THEN
        PERFORM iap.move(
            changes, 'withdrawn', actor, NULL, at,
            jsonb_build_object('delivered_as', delivered.transaction_id), who);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.withdraw_restored IS
    'After the delivery of a non-consumable: takes the other transactions of the same purchase out of white.';
