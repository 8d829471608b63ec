-- What Apple tells by itself: notifications (App Store Server Notifications V2), from Apple's own history of them or handed
-- on by an app's server. What they tell of a known purchase changes it as any other word of Apple's does; a purchase that
-- nobody knows goes into the inbox.

-- A refund, and the share that went back -------------------------------------------------------------------------------

ALTER TABLE iap.transactions
    ADD COLUMN revocation_type text,
    ADD COLUMN revocation_percentage integer CHECK (revocation_percentage BETWEEN 0 AND 100000),
    ADD COLUMN app_transaction_id text,
    ADD CONSTRAINT revocation_has_refund CHECK (
        refunded_at IS NOT NULL OR (revocation_type IS NULL AND revocation_percentage IS NULL));
COMMENT ON COLUMN iap.transactions.revocation_type IS
    'Apple''s word on what kind of refund it is: REFUND_FULL, REFUND_PRORATED, FAMILY_REVOKE; NULL where it says none.';
COMMENT ON COLUMN iap.transactions.revocation_percentage IS
    'The share that went back, in thousandths of a percent; NULL where Apple tells of none: then all of it did.';
COMMENT ON COLUMN iap.transactions.app_transaction_id IS
    'Apple''s word for the customer''s account in this app: one history has been seen with two, so it is no proof.';

ALTER TYPE iap.verified
    ADD ATTRIBUTE revocation_type text,
    ADD ATTRIBUTE revocation_percentage integer,
    ADD ATTRIBUTE app_transaction_id text;

CREATE OR REPLACE FUNCTION audit.seal(t iap.transactions) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.hash_record_extended(
        ROW(
            t.transaction_id, t.bundle_id, t.environment, t.place, t.original_transaction_id, t.product_id,
            t.product_type, t.quantity, t.purchased_at, t.is_trial, t.app_account_token, t.price_milliunits,
            t.currency, t.storefront, t.found_bundle_id, t.refunded_at, t.refund_run_id, t.refund_reversed_at,
            t.source, t.booked_milliunits, t.booked_currency, t.booked_as, t.entry_id, t.first_seen_at,
            t.first_run_id, t.admitted_user_id, t.admitted_receipt_id, t.user_id, t.order_id, t.delivered_by,
            t.delivered_at, t.reason, t.excluded_at, t.excluded_run_id, t.move_id),
        -- In this place it leaves the seals of what is not refunded in part as they were.
        coalesce(t.revocation_percentage + 1, 0))
$$;

CREATE FUNCTION iap.share_of(milliunits bigint, percentage integer) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN CASE
    WHEN percentage IS NULL THEN milliunits ELSE round(milliunits::numeric * percentage / 100000)::bigint
END;
COMMENT ON FUNCTION iap.share_of IS 'A share, in thousandths of a percent, of an amount; all of it where none is told.';


CREATE OR REPLACE FUNCTION iap.enter(purchases iap.verified[], run bigint, at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
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
            v.refund_reason, CASE WHEN v.refunded_at IS NOT NULL THEN run END AS refund_run_id,
            NULL::timestamptz AS refund_reversed_at, v.source, v.verified_at,
            (booked.amount).milliunits AS booked_milliunits, (booked.amount).currency AS booked_currency,
            (booked.amount).booked_as,
            nextval('iap.trail') AS entry_id, at AS first_seen_at, run AS first_run_id,
            CASE WHEN v.delivered_at IS NULL THEN v.user_id END AS admitted_user_id, v.receipt_id AS admitted_receipt_id,
            CASE WHEN run IS NULL THEN 0 ELSE 1 END AS nights_confirmed,
            CASE WHEN run IS NOT NULL THEN v.verified_at END AS last_confirmed_at,
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

CREATE OR REPLACE FUNCTION iap.owed_again(t iap.transactions) RETURNS iap.transactions
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

DROP FUNCTION iap.refunded(iap.transactions, timestamptz, text, bigint);
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

CREATE OR REPLACE FUNCTION iap.refund_reversed(t iap.transactions, at timestamptz) RETURNS iap.transactions
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

CREATE OR REPLACE FUNCTION iap.corrected(t iap.transactions, v iap.verified) RETURNS iap.transactions
LANGUAGE plpgsql STABLE AS $$
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

CREATE OR REPLACE FUNCTION iap.heard(t iap.transactions, v iap.verified, run bigint, at timestamptz)
RETURNS iap.transactions
LANGUAGE plpgsql STABLE AS $$
DECLARE
    was iap.transactions := t;
BEGIN
    IF v.refunded_at IS NOT NULL AND v.verified_at <= t.refund_reversed_at THEN
        -- Signed before Apple took that refund back.
        RETURN t;
    END IF;
    t := iap.corrected(t, v);
    IF v.refunded_at IS NOT NULL THEN
        IF t.place <> 'white' AND (
            t.refunded_at IS NULL
            -- What kind of refund it is may be told later.
            OR (v.revocation_type IS NOT NULL AND v.verified_at >= was.verified_at AND was.refund_run_id IS NOT NULL
                AND (t.revocation_type, t.revocation_percentage)
                    IS DISTINCT FROM (v.revocation_type, v.revocation_percentage)))
        THEN
            t := iap.refunded(t, v, coalesce(was.refund_run_id, run));
        END IF;
    ELSIF was.refund_run_id IS NOT NULL AND v.source > 'local' AND v.source >= was.source
        AND v.verified_at > was.verified_at
    THEN
        t := iap.refund_reversed(t, v.verified_at);
    END IF;

    IF t.place = 'white' THEN
        IF v.exclusion IS NOT NULL THEN
            IF v.refunded_at IS NOT NULL THEN
                t := iap.refunded(t, v, run);
            END IF;
            t := iap.excluded(t, v.exclusion, run, at);
        ELSIF t.last_confirmed_at IS NULL OR v.verified_at >= t.last_confirmed_at + interval '12 hours' THEN
            -- Half a night: two runs of one night count once, however far cron drifts.
            t.nights_confirmed := t.nights_confirmed + 1;
            t.last_confirmed_at := v.verified_at;
        END IF;
    ELSIF t.place = 'excluded' AND t.refunded_at IS NULL
        AND t.reason IN ('sandbox', 'before_start', 'refunded') AND v.exclusion IS DISTINCT FROM t.reason
    THEN
        t := CASE WHEN v.exclusion IS NULL THEN iap.owed_again(t) ELSE iap.excluded(t, v.exclusion, run, at) END;
    END IF;
    RETURN t;
END
$$;

CREATE OR REPLACE FUNCTION iap.is_news(t iap.transactions, v iap.verified) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT v.source > t.source
        OR (v.refunded_at IS NULL) <> (t.refunded_at IS NULL)
        OR (t.price_milliunits IS NULL AND v.price_milliunits IS NOT NULL)
        OR (t.app_account_token IS NULL AND v.app_account_token IS NOT NULL)
        OR (t.app_transaction_id IS NULL AND v.app_transaction_id IS NOT NULL)
        OR (
            v.revocation_type IS NOT NULL
            AND (t.revocation_type, t.revocation_percentage)
                IS DISTINCT FROM (v.revocation_type, v.revocation_percentage))
        OR (
            t.place = 'white'
            AND (
                v.exclusion IS NOT NULL OR t.last_confirmed_at IS NULL
                OR v.verified_at - t.last_confirmed_at >= '12 hours'))
        OR (t.reason IN ('sandbox', 'before_start') AND v.exclusion IS DISTINCT FROM t.reason)
$$;

CREATE FUNCTION iap.refund_shares(was iap.transactions, became iap.transactions) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object(
        'from_refund_percentage', (was).revocation_percentage,
        'to_refund_percentage', (became).revocation_percentage))
$$;
COMMENT ON FUNCTION iap.refund_shares IS
    'What a move says of the shares that went back, in thousandths of a percent; nothing where Apple told of none.';

CREATE OR REPLACE FUNCTION iap.log_moves(
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
COMMENT ON COLUMN iap.moves.details IS
    'What else there is to say: user_id, order_id, note …, and of a refund in part the share that went back before and '
    'after: from_refund_percentage, to_refund_percentage, in thousandths of a percent.';

CREATE OR REPLACE FUNCTION iap.move(
    changes iap.change[], kind text, actor text, run bigint, at timestamptz, details jsonb DEFAULT '{}',
    who text DEFAULT NULL
) RETURNS void
-- By the primary keys, even where the plan was made when the tables were small.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    change iap.change;
    moved  boolean := false;
    placed boolean := false;
    rows   bigint;
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
CREATE OR REPLACE VIEW iap.entries AS
SELECT
    t.entry_id AS number, t.transaction_id, t.bundle_id, t.environment, t.first_seen_at AS at, t.first_run_id AS run_id,
    CASE WHEN move.move_id IS NULL THEN t.place ELSE move.from_place END AS place,
    CASE WHEN move.move_id IS NULL THEN now.detail ELSE move.from_detail END AS detail,
    CASE WHEN move.move_id IS NULL THEN now.day ELSE move.from_day END AS day,
    CASE WHEN move.move_id IS NULL THEN now.refund_day ELSE move.from_refund_day END AS refund_day,
    CASE WHEN move.move_id IS NULL THEN t.product_id ELSE move.from_product_id END AS product_id,
    CASE WHEN move.move_id IS NULL THEN t.quantity ELSE move.from_units END AS units,
    CASE WHEN move.move_id IS NULL THEN t.booked_milliunits ELSE move.from_milliunits END AS milliunits,
    CASE WHEN move.move_id IS NULL THEN t.booked_currency ELSE move.from_currency END AS currency,
    CASE WHEN move.move_id IS NULL THEN t.booked_as ELSE move.from_booked_as END AS booked_as,
    CASE
        WHEN move.move_id IS NULL THEN t.revocation_percentage
        ELSE (move.details ->> 'from_refund_percentage')::integer
    END AS refund_percentage
FROM iap.transactions AS t
CROSS JOIN LATERAL (SELECT (iap.position_of(t)).*) AS now
LEFT JOIN LATERAL (
    SELECT *
    FROM iap.moves
    WHERE t.move_id IS NOT NULL AND moves.transaction_id = t.transaction_id AND moves.bundle_id = t.bundle_id
        AND moves.environment = t.environment
    ORDER BY moves.move_id
    LIMIT 1
) AS move ON true;

CREATE OR REPLACE VIEW iap.journal_lines AS
SELECT
    number, at, account, line_day AS day, bundle_id, product_id, currency, booked_as, line_detail AS detail,
    sign AS transactions, sign * units AS units,
    sign * CASE
        WHEN account = 'refunded' OR line_detail = 'refunded' THEN iap.share_of(milliunits, refund_percentage)
        ELSE milliunits
    END AS milliunits
FROM (
    SELECT
        1 AS sign, number, at, environment, bundle_id, place, detail, day, refund_day, product_id, units, milliunits,
        currency, booked_as, refund_percentage
    FROM iap.entries
    UNION ALL
    SELECT
        -1, move_id, moved_at, environment, bundle_id, from_place, from_detail, from_day, from_refund_day,
        from_product_id, from_units, from_milliunits, from_currency, from_booked_as,
        (details ->> 'from_refund_percentage')::integer
    FROM iap.moves
    UNION ALL
    SELECT
        1, move_id, moved_at, environment, bundle_id, to_place, to_detail, to_day, to_refund_day, to_product_id,
        to_units, to_milliunits, to_currency, to_booked_as, (details ->> 'to_refund_percentage')::integer
    FROM iap.moves
) AS position
CROSS JOIN LATERAL (
    VALUES
        (CASE place WHEN 'white' THEN 'owed' WHEN 'black' THEN 'delivered' ELSE 'excluded' END, day, detail),
        ('refunded', refund_day, NULL)
) AS line (account, line_day, line_detail)
WHERE environment = 'Production' AND line_day IS NOT NULL;

CREATE OR REPLACE VIEW finance.unexplained AS
SELECT
    account, bundle_id, product_id, currency, sum(transactions)::bigint AS transactions, sum(units)::bigint AS units,
    (sum(milliunits) / 1000.0)::numeric(20, 3) AS amount
FROM (
    SELECT
        account, bundle_id, product_id, booked_currency AS currency, 1 AS transactions, quantity AS units,
        coalesce(
            CASE
                WHEN account = 'refunded' OR (place = 'excluded' AND reason = 'refunded')
                THEN iap.share_of(booked_milliunits, revocation_percentage)
                ELSE booked_milliunits
            END, 0) AS milliunits
    FROM iap.transactions
    CROSS JOIN LATERAL (
        VALUES
            (CASE place WHEN 'white' THEN 'owed' WHEN 'black' THEN 'delivered' ELSE 'excluded' END, true),
            ('refunded', place = 'black' AND refunded_at IS NOT NULL)
    ) AS line (account, is_held)
    WHERE environment = 'Production' AND is_held
    UNION ALL
    SELECT account, bundle_id, product_id, currency, -transactions, -units, -coalesce(milliunits, 0)
    FROM iap.books
    UNION ALL
    -- What no run has closed its books over yet.
    SELECT account, bundle_id, product_id, currency, -transactions, -units, -coalesce(milliunits, 0)
    FROM iap.journal_lines
    CROSS JOIN audit.frontier
    WHERE iap.is_beyond(number, upto, gaps)
) AS line
GROUP BY account, bundle_id, product_id, currency
HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(milliunits) <> 0;


CREATE OR REPLACE VIEW iap.counted AS
SELECT
    transaction_id, bundle_id, product_id, products.name AS product_name, place, purchased_at, quantity AS units,
    booked_currency AS currency, booked_as AS price_source,
    (booked_milliunits / 1000.0)::numeric(20, 3) AS amount, user_id, order_id, delivered_by, delivered_at, reason,
    excluded_run_id, refunded_at, refund_reason, revocation_type,
    (coalesce(revocation_percentage, 100000) / 1000.0)::numeric(6, 3) AS refund_percent,
    (iap.share_of(booked_milliunits, revocation_percentage) / 1000.0)::numeric(20, 3) AS refunded_amount
FROM iap.transactions
LEFT JOIN iap.products USING (bundle_id, product_id)
WHERE environment = 'Production';

CREATE OR REPLACE VIEW finance.refunds_after_delivery AS
SELECT
    (refunded_at AT TIME ZONE 'UTC')::date AS refund_day, bundle_id, product_id, product_name, transaction_id, user_id,
    order_id, units, currency, price_source, refunded_amount AS amount, purchased_at, delivered_at, refunded_at,
    refund_reason, revocation_type, refund_percent, amount AS paid
FROM iap.counted
WHERE place = 'black' AND refunded_at IS NOT NULL;
COMMENT ON COLUMN finance.refunds_after_delivery.amount IS 'What went back; of a refund in part, that part.';
COMMENT ON COLUMN finance.refunds_after_delivery.revocation_type IS
    'REFUND_FULL, REFUND_PRORATED, FAMILY_REVOKE; NULL where Apple did not say.';
COMMENT ON COLUMN finance.refunds_after_delivery.refund_percent IS 'The share that went back, in percent.';
COMMENT ON COLUMN finance.refunds_after_delivery.paid IS 'What was paid.';

CREATE OR REPLACE VIEW finance.refunds_before_delivery AS
SELECT
    (refunded_at AT TIME ZONE 'UTC')::date AS refund_day, bundle_id, product_id, product_name, transaction_id, units,
    currency, price_source, refunded_amount AS amount, purchased_at, refunded_at, refund_reason,
    excluded_run_id IS NULL AS is_by_support, revocation_type, refund_percent, amount AS paid
FROM iap.counted
WHERE place = 'excluded' AND reason = 'refunded';
COMMENT ON COLUMN finance.refunds_before_delivery.amount IS 'What went back; of a refund in part, that part.';
COMMENT ON COLUMN finance.refunds_before_delivery.revocation_type IS
    'REFUND_FULL, REFUND_PRORATED, FAMILY_REVOKE; NULL where Apple did not say.';
COMMENT ON COLUMN finance.refunds_before_delivery.refund_percent IS 'The share that went back, in percent.';
COMMENT ON COLUMN finance.refunds_before_delivery.paid IS 'What was paid.';

CREATE OR REPLACE VIEW finance.refunds AS
SELECT
    refund_day, bundle_id, product_id, product_name, moment AS refunded, currency, price_source,
    count(*) AS transactions, sum(units) AS units, sum(refunded_amount)::numeric(20, 3) AS amount
FROM (
    SELECT
        *, (refunded_at AT TIME ZONE 'UTC')::date AS refund_day,
        CASE place WHEN 'black' THEN 'after delivery' ELSE 'before delivery' END AS moment
    FROM iap.counted
    WHERE refunded_at IS NOT NULL AND (place = 'black' OR reason = 'refunded')
) AS refund
GROUP BY refund_day, bundle_id, product_id, product_name, moment, currency, price_source;
COMMENT ON COLUMN finance.refunds.amount IS 'What went back; of refunds in part, those parts.';

-- Hearing -------------------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.hear_patiently(
    numbers integer[], run bigint, at timestamptz, OUT entered integer[], OUT known iap.standing[],
    OUT remaining integer[]
) LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    patience text := current_setting('lock_timeout');
    told     record;
BEGIN
    entered := '{}';
    known := '{}';
    remaining := numbers;
    -- A claim, or another batch of the night, holds a transaction for milliseconds: what is locked for longer is left.
    FOR round IN 1 .. 4 LOOP
        told := iap.hear(remaining, run, at);
        entered := entered || told.entered;
        known := known || told.known;
        SELECT array_agg(number) INTO remaining
        FROM heard
        WHERE (numbers IS NULL OR number = ANY (numbers)) AND number <> ALL (entered)
            AND NOT EXISTS (SELECT FROM unnest(known) AS standing WHERE standing.number = heard.number);
        EXIT WHEN remaining IS NULL;
        PERFORM set_config('lock_timeout', '20ms', true), pg_sleep(0.01 * round);
    END LOOP;
    PERFORM set_config('lock_timeout', patience, true);
END
$$;
COMMENT ON FUNCTION iap.hear_patiently IS
    'iap.hear, several times while others hold what it needs; says what remains locked.';

CREATE OR REPLACE FUNCTION iap.record(run bigint, at timestamptz) RETURNS iap.recorded
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    remaining integer[];
    entered   integer[];
    known     iap.standing[];
    owed      integer[];
    total     record;
    recorded  iap.recorded;
BEGIN
    SELECT * INTO entered, known, remaining FROM iap.hear_patiently(NULL, run, at);

    -- What is new has not been seen in any receipt yet.
    INSERT INTO sightings SELECT * FROM iap.sightings_of(entered, run);
    IF known <> '{}' THEN
        PERFORM iap.sight_again(ARRAY(SELECT number FROM unnest(known)), run);
    END IF;

    FOR total IN
        SELECT
            place, is_new, array_agg(number) AS numbers,
            ARRAY[count(*), sum(quantity), bit_xor(hashtextextended(transaction_id, 0))]::bigint[] AS tally
        FROM (
            SELECT
                number, transaction_id, quantity, CASE WHEN exclusion IS NULL THEN 'white' ELSE 'excluded' END AS place,
                exclusion IS NULL AS is_new
            FROM heard
            WHERE number = ANY (entered)
            UNION ALL
            SELECT number, transaction_id, quantity, place, is_new FROM unnest(known)
        ) AS standing
        GROUP BY place, is_new
    LOOP
        CASE
            WHEN total.is_new AND total.place = 'white' THEN recorded.newly_white := total.tally;
            WHEN total.place = 'white' THEN recorded.already_white := total.tally;
            WHEN total.place = 'black' THEN recorded.already_black := total.tally;
            ELSE recorded.excluded := total.tally;
        END CASE;
        IF total.place = 'white' THEN
            owed := owed || total.numbers;
        END IF;
    END LOOP;
    recorded.watched := ARRAY(SELECT DISTINCT receipt_id FROM seen WHERE number = ANY (owed));
    recorded.held := ARRAY(SELECT DISTINCT receipt_id FROM seen WHERE number = ANY (remaining));
    SELECT array_agg(transaction_id) INTO recorded.locked FROM heard WHERE number = ANY (remaining);
    RETURN recorded;
END
$$;

-- Notices -------------------------------------------------------------------------------------------------------------

CREATE TABLE iap.notices (
    transaction_id     text COLLATE "C" NOT NULL CHECK (octet_length(transaction_id) BETWEEN 1 AND 64),
    bundle_id          text COLLATE "C" NOT NULL,
    environment        text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    notice_uuid        text COLLATE "C" NOT NULL CHECK (octet_length(notice_uuid) BETWEEN 1 AND 64),
    type               text NOT NULL,
    subtype            text,
    signed_at          timestamptz NOT NULL,
    heard_at           timestamptz NOT NULL,
    heard_by           text NOT NULL CHECK (heard_by IN ('history', 'app_server', 'file')),
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
COMMENT ON TABLE iap.notices IS
    'What Apple told by itself of a transaction, each notification once. What it changed stands in the ledger.';
COMMENT ON COLUMN iap.notices.type IS 'Apple''s word: ONE_TIME_CHARGE, DID_RENEW, REFUND, CONSUMPTION_REQUEST …';
COMMENT ON COLUMN iap.notices.heard_by IS
    'history: Get Notification History; app_server: iap.submit_notification; file: iap-reconcile notices.';
COMMENT ON COLUMN iap.notices.sending IS
    'sent: the app''s server took it; retrying: Apple tries again; failed: Apple has given up.';
COMMENT ON COLUMN iap.notices.last_result IS 'Apple''s word on the last attempt, such as TIMED_OUT.';
COMMENT ON COLUMN iap.notices.consumption_reason IS
    'Why Apple asks whether it was delivered, in a CONSUMPTION_REQUEST: FULFILLMENT_ISSUE …';

CREATE TABLE iap.hearings (
    bundle_id      text COLLATE "C" NOT NULL,
    environment    text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    -- Apple's history was read up to then.
    heard_through  timestamptz,
    last_signed_at timestamptz,
    heard_at       timestamptz,
    problem        text,
    PRIMARY KEY (bundle_id, environment)
);
COMMENT ON TABLE iap.hearings IS 'How far Apple''s history of notifications was read, for each app with a key.';
COMMENT ON COLUMN iap.hearings.last_signed_at IS 'When the latest notification that came in any way was signed.';
COMMENT ON COLUMN iap.hearings.problem IS 'Why it could not be read to its end last; NULL where it was.';

CREATE TABLE iap.handed_notices (
    payload_sha256 bytea NOT NULL CHECK (octet_length(payload_sha256) = 32),
    bundle_id      text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    submitted_at   timestamptz NOT NULL DEFAULT now(),
    -- Why it is no notification of Apple's; NULL while it waits.
    problem        text,
    PRIMARY KEY (payload_sha256, bundle_id)
);
CREATE INDEX handed_notices_waiting ON iap.handed_notices (submitted_at) WHERE problem IS NULL;
COMMENT ON TABLE iap.handed_notices IS
    'Notifications that the apps'' servers handed on, until the night takes them; what is not Apple''s stays here.';

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
    held  integer[];
    known integer[];
BEGIN
    SELECT
        coalesce(array_agg(v.number) FILTER (WHERE t.found), '{}'),
        coalesce(array_agg(v.number) FILTER (WHERE t.found IS NULL), '{}')
    INTO known, unknown
    FROM heard AS v
    LEFT JOIN LATERAL (
        SELECT true AS found FROM transactions AS t
        WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id AND t.environment = v.environment
        OFFSET 0
    ) AS t ON true;
    IF known <> '{}' THEN
        -- It is as good as what is known by now, and older: it only tells what is new. What the app's server alone said it
        -- corrects.
        UPDATE heard
        SET source = CASE
            WHEN t.source = 'app_server' THEN 'local'
            -- A signature alone takes no refund back; Apple's word does.
            WHEN t.source = 'local' AND t.refunded_at IS NOT NULL AND heard.refunded_at IS NULL THEN 'server_api'
            ELSE t.source
        END
        FROM transactions AS t
        WHERE heard.number = ANY (known) AND t.transaction_id = heard.transaction_id
            AND t.bundle_id = heard.bundle_id AND t.environment = heard.environment;
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
END
$$;
COMMENT ON FUNCTION iap.take_notices IS
    'Takes the notices that are staged in the session''s tables heard and told: keeps each once, and lets what they tell '
    'of known transactions change the ledger. Says how many are new, the numbers in the batch of the transactions that '
    'nobody knows, and which another session has locked: their notices are not kept yet, the earliest of which is as '
    'old as held_since.';

CREATE FUNCTION iap.hand_in(numbers integer[], at timestamptz) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    handed bigint;
BEGIN
    WITH proof AS MATERIALIZED (
        SELECT DISTINCT ON (number)
            transaction_id, bundle_id, environment, notice_uuid, signed_transaction,
            sha256(convert_to(signed_transaction, 'UTF8')) AS digest
        FROM told
        WHERE number = ANY (numbers) AND signed_transaction IS NOT NULL
        ORDER BY number, signed_at DESC
    ), numbered AS MATERIALIZED (
        SELECT *, nextval('iap.receipt_number') * 64 + (get_byte(digest, 0) & 63) AS receipt_id FROM proof
    ), received AS (
        INSERT INTO receipts (
            bucket, receipt_id, bundle_id, payload, payload_sha256, submitted_at, next_attempt_at, seal)
        SELECT
            (receipt_id & 63)::smallint, receipt_id, bundle_id, signed_transaction, digest, at, at,
            audit.receipt_seal(
                (receipt_id & 63)::smallint, receipt_id, bundle_id, NULL, digest, NULL, NULL, at, 'waiting', false)
        FROM numbered
        ON CONFLICT (bucket, payload_sha256, bundle_id, user_id) DO NOTHING
        RETURNING bucket, receipt_id
    ), purpose AS (
        -- For no purchase in particular: nobody uploaded it.
        INSERT INTO uploads (bucket, receipt_id, first_uploaded_at, last_uploaded_at, seal)
        SELECT
            bucket, receipt_id, at, at, audit.seal(ROW(bucket, receipt_id, NULL, NULL, at, at, 1, NULL)::iap.uploads)
        FROM received
    )
    UPDATE notices
    SET receipt_id = numbered.receipt_id
    FROM numbered
    JOIN received USING (receipt_id)
    WHERE notices.transaction_id = numbered.transaction_id AND notices.bundle_id = numbered.bundle_id
        AND notices.environment = numbered.environment AND notices.notice_uuid = numbered.notice_uuid;
    GET DIAGNOSTICS handed = ROW_COUNT;
    RETURN handed;
END
$$;
COMMENT ON FUNCTION iap.hand_in IS
    'Puts the signed transactions of these numbers of the batch, which nobody knows, into the inbox as receipts without '
    'a user, and says how many were not there yet.';

CREATE FUNCTION iap.note_hearing(
    bundle_id text, environment text, through timestamptz, signed_at timestamptz, at timestamptz, problem text
) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO hearings AS known (bundle_id, environment, heard_through, last_signed_at, heard_at, problem)
    VALUES (note_hearing.bundle_id, note_hearing.environment, through, signed_at, at, note_hearing.problem)
    ON CONFLICT (bundle_id, environment) DO UPDATE
    SET heard_through = greatest(known.heard_through, EXCLUDED.heard_through),
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
    PERFORM iap.require_id('bundle_id', submit_notification.bundle_id, 255);
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
    PERFORM iap.require_id('bundle_id', delivery_status.bundle_id, 255);
    PERFORM iap.require_id('transaction_id', delivery_status.transaction_id, 64);
    RETURN CASE
        WHEN EXISTS (
            SELECT FROM iap.transactions AS t
            WHERE t.transaction_id = delivery_status.transaction_id AND t.bundle_id = delivery_status.bundle_id
                AND iap.standing(ROW(t.*)::iap.transactions) = 'already_delivered')
        THEN 'DELIVERED' ELSE 'UNDELIVERED_OTHER'
    END;
END
$$;
COMMENT ON FUNCTION iap.delivery_status IS
    'What to answer Apple''s CONSUMPTION_REQUEST with as deliveryStatus: DELIVERED where the goods were delivered, '
    'else UNDELIVERED_OTHER.';

-- Whose a token is ----------------------------------------------------------------------------------------------------

CREATE TABLE iap.account_tokens (
    app_account_token text NOT NULL,
    bundle_id         text COLLATE "C" NOT NULL,
    user_id           text NOT NULL,
    registered_at     timestamptz NOT NULL DEFAULT now(),
    seal              bigint,
    PRIMARY KEY (app_account_token, bundle_id)
);
CREATE INDEX account_tokens_by_user ON iap.account_tokens (user_id);
COMMENT ON TABLE iap.account_tokens IS 'Whose an appAccountToken is, as the apps'' servers said.';
COMMENT ON COLUMN iap.account_tokens.seal IS 'Of the whole row: see audit.seal.';

CREATE FUNCTION iap.register_user(bundle_id text, user_id text, app_account_token text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    word  iap.account_tokens;
    known iap.account_tokens;
BEGIN
    PERFORM iap.require_id('bundle_id', register_user.bundle_id, 255);
    PERFORM iap.require_text('user_id', register_user.user_id, 1000);
    IF coalesce(app_account_token, '') !~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN
        RAISE EXCEPTION 'app_account_token is no UUID' USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'It is the UUID that the client hands to StoreKit, such as 7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b.';
    END IF;
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

CREATE OR REPLACE FUNCTION iap.owners_of(t iap.transactions) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    owners text[];
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
        UNION ALL
        -- The order that came with the first upload that named one.
        SELECT orders.user_id
        FROM (
            SELECT order_id
            FROM sightings
            WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
                AND order_id IS NOT NULL
            ORDER BY uploaded_at, receipt_id
            LIMIT 1
        ) AS named
        JOIN orders ON orders.order_id = named.order_id AND orders.bundle_id = t.bundle_id
    ) AS evidence
    WHERE user_id IS NOT NULL;
    IF owners IS NULL THEN
        -- Only what rode along, or was uploaded: then the first to hand it in.
        SELECT array_agg(user_id) INTO owners
        FROM (
            SELECT user_id
            FROM sightings
            WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
                AND user_id IS NOT NULL
            ORDER BY uploaded_at, receipt_id
            LIMIT 1
        ) AS first_upload;
    END IF;
    RETURN coalesce(owners, '{}');
END
$$;

CREATE OR REPLACE FUNCTION iap.erase_from_entitlements(user_id text, pseudonym text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    known iap.entitlements;
    word  iap.entitlements;
    rows  bigint;
BEGIN
    -- Whose the token was nobody shall learn from it any more.
    DELETE FROM iap.account_tokens AS token WHERE token.user_id = erase_from_entitlements.user_id;
    GET DIAGNOSTICS rows = ROW_COUNT;
    FOR known IN SELECT * FROM iap.entitlements AS e WHERE e.user_id = erase_from_entitlements.user_id FOR UPDATE LOOP
        word := known;
        word.user_id := pseudonym;
        PERFORM iap.keep_entitlement(known, word);
        rows := rows + 1;
    END LOOP;
    RETURN rows;
END
$$;
COMMENT ON FUNCTION iap.erase_from_entitlements IS
    'Replaces a user id in what was granted, takes away the user''s tokens, and says in how many rows.';

REVOKE ALL ON FUNCTION
    iap.share_of, iap.refunded, iap.refund_shares, iap.hear_patiently, iap.take_notices, iap.hand_in, iap.note_hearing,
    iap.submit_notification, iap.delivery_status, iap.register_user
    FROM PUBLIC;
