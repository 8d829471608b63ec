-- The schema after all migrations, as pg_dump shows it. Made by Tests/SQL/run.sh --record-schema.

CREATE SCHEMA audit;

COMMENT ON SCHEMA audit IS 'The chain over iap.events, and what makes the seals of the ledger''s rows.';

CREATE SCHEMA finance;

COMMENT ON SCHEMA finance IS 'Views and functions for finance, without personal data beyond the user id. Days are days of UTC.';

CREATE SCHEMA iap;

COMMENT ON SCHEMA iap IS 'iap-reconcile: finds App Store purchases that are paid and not delivered. Amounts are milliunits of a currency.';

CREATE TYPE iap.source AS ENUM (
    'app_server',
    'local',
    'verify_receipt',
    'server_api'
);

COMMENT ON TYPE iap.source IS 'Who vouches for a transaction, from the poorest to the best.';

CREATE FUNCTION audit.black_seal(transaction_id text, bundle_id text, environment text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, price_milliunits bigint, currency text, user_id text, order_id text, delivered_by text, delivered_at timestamp with time zone, refunded_at timestamp with time zone) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
    SELECT pg_catalog.hash_record_extended(ROW($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14), 0)
$_$;

COMMENT ON FUNCTION audit.black_seal(transaction_id text, bundle_id text, environment text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, price_milliunits bigint, currency text, user_id text, order_id text, delivered_by text, delivered_at timestamp with time zone, refunded_at timestamp with time zone) IS 'The seal of a black row.';

CREATE FUNCTION audit.claim_seal(transaction_id text, bundle_id text, user_id text, order_id text, outcome text, attempted_at timestamp with time zone) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
    SELECT pg_catalog.hash_record_extended(ROW($1, $2, $3, $4, $5, $6), 0)
$_$;

COMMENT ON FUNCTION audit.claim_seal(transaction_id text, bundle_id text, user_id text, order_id text, outcome text, attempted_at timestamp with time zone) IS 'The seal of an attempt to claim.';

CREATE TABLE iap.events (
    event_id bigint NOT NULL,
    happened_at timestamp with time zone DEFAULT now() NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    run_id bigint,
    transaction_id text COLLATE pg_catalog."C",
    bundle_id text COLLATE pg_catalog."C",
    environment text,
    details jsonb DEFAULT '{}'::jsonb NOT NULL
);

COMMENT ON TABLE iap.events IS 'The audit trail: rows are added, and never changed or taken away.';

COMMENT ON COLUMN iap.events.actor IS 'The person, the database login or the job that did it.';

CREATE FUNCTION audit.event_digest(event iap.events) RETURNS bytea
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT sha256(convert_to(
        jsonb_build_array(
            event.event_id, to_char(event.happened_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), event.kind,
            event.actor, event.run_id, event.transaction_id, event.bundle_id, event.environment, event.details)::text,
        'UTF8'))
$$;

COMMENT ON FUNCTION audit.event_digest(event iap.events) IS 'The SHA-256 of all that an event says.';

CREATE FUNCTION audit.excluded_seal(transaction_id text, bundle_id text, environment text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, price_milliunits bigint, currency text, reason text, found_bundle_id text, excluded_at timestamp with time zone) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
    SELECT pg_catalog.hash_record_extended(ROW($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12), 0)
$_$;

COMMENT ON FUNCTION audit.excluded_seal(transaction_id text, bundle_id text, environment text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, price_milliunits bigint, currency text, reason text, found_bundle_id text, excluded_at timestamp with time zone) IS 'The seal of an excluded row; a refund may be added to it later.';

CREATE FUNCTION audit.first_link() RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT pg_catalog.sha256('iap-reconcile'::bytea)
$$;

COMMENT ON FUNCTION audit.first_link() IS 'What the first event is linked to.';

CREATE FUNCTION audit.last_final_event() RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT coalesce(max(last_event_id), 0)
    FROM audit.sealings
    WHERE horizon <= pg_snapshot_xmin(pg_current_snapshot())
        -- A number is drawn a moment before its transaction is counted among those that run.
        AND sealed_at < clock_timestamp() - interval '10 minutes'
$$;

COMMENT ON FUNCTION audit.last_final_event() IS 'The number up to which no event can come any more: whatever was written when it was drawn has ended.';

CREATE FUNCTION audit.next_link(link bytea, digest bytea) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN link IS NULL THEN digest ELSE pg_catalog.sha256(link OPERATOR(pg_catalog.||) digest) END
$$;

COMMENT ON FUNCTION audit.next_link(link bytea, digest bytea) IS 'The link of an event, from the one before and its digest.';

CREATE FUNCTION audit.seal_events(run_id bigint DEFAULT NULL::bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'audit', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    final   bigint := audit.last_final_event();
    reached bigint;
    horizon xid8;
    start   bigint;
    before  bytea;
    added   bigint;
BEGIN
    LOCK TABLE audit.sealings IN EXCLUSIVE MODE;
    SELECT coalesce(max(event_id), 0), pg_snapshot_xmax(pg_current_snapshot()) INTO reached, horizon
    FROM iap.events;
    SELECT position, link INTO start, before
    FROM audit.seals
    ORDER BY position DESC
    LIMIT 1;

    WITH unsealed AS (
        SELECT events.event_id, audit.event_digest(events) AS digest
        FROM iap.events
        LEFT JOIN audit.seals USING (event_id)
        WHERE events.event_id > final AND seals.event_id IS NULL
    ), linked AS (
        SELECT
            event_id, digest, row_number() OVER chained - 1 AS number, audit.chain(digest) OVER chained AS link
        FROM (
            SELECT 0 AS event_id, coalesce(before, audit.first_link()) AS digest
            UNION ALL
            SELECT event_id, digest FROM unsealed
        ) AS given
        WINDOW chained AS (ORDER BY event_id ROWS UNBOUNDED PRECEDING)
    )
    INSERT INTO audit.seals (position, event_id, digest, link)
    SELECT coalesce(start, 0) + number, event_id, digest, link
    FROM linked
    WHERE number > 0;
    GET DIAGNOSTICS added = ROW_COUNT;

    INSERT INTO audit.sealings (run_id, last_event_id, horizon, position, link)
    SELECT seal_events.run_id, reached, horizon, coalesce(max(position), 0),
        coalesce((SELECT link FROM audit.seals ORDER BY position DESC LIMIT 1), audit.first_link())
    FROM audit.seals;
    RETURN added;
END
$$;

COMMENT ON FUNCTION audit.seal_events(run_id bigint) IS 'Continues the chain over the events that are not sealed yet, in the order of their numbers, and says how many.';

CREATE FUNCTION audit.white_seal(transaction_id text, bundle_id text, environment text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, price_milliunits bigint, currency text, first_seen_at timestamp with time zone) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
    SELECT pg_catalog.hash_record_extended(ROW($1, $2, $3, $4, $5, $6, $7, $8, $9, $10), 0)
$_$;

COMMENT ON FUNCTION audit.white_seal(transaction_id text, bundle_id text, environment text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, price_milliunits bigint, currency text, first_seen_at timestamp with time zone) IS 'The seal of a white row.';

CREATE FUNCTION finance.ageing(age_days integer) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT CASE
        WHEN age_days <= 1 THEN '0-1'
        WHEN age_days <= 7 THEN '2-7'
        WHEN age_days <= 30 THEN '8-30'
        WHEN age_days <= 90 THEN '31-90'
        ELSE 'over 90'
    END
$$;

COMMENT ON FUNCTION finance.ageing(age_days integer) IS 'The ageing bucket of an age in whole days: 0-1, 2-7, 8-30, 31-90 or over 90.';

CREATE FUNCTION finance.balances_as_of(as_of date) RETURNS TABLE(bundle_id text, currency text, received bigint, owed bigint, delivered bigint, excluded bigint, refunded_after_delivery bigint, owed_amount numeric, delivered_amount numeric, refunded_after_delivery_amount numeric)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT
        bundle_id, currency,
        coalesce(sum(transactions) FILTER (WHERE account IN ('owed', 'delivered', 'excluded')), 0)::bigint,
        coalesce(sum(transactions) FILTER (WHERE account = 'owed'), 0)::bigint,
        coalesce(sum(transactions) FILTER (WHERE account = 'delivered'), 0)::bigint,
        coalesce(sum(transactions) FILTER (WHERE account = 'excluded'), 0)::bigint,
        coalesce(sum(transactions) FILTER (WHERE account = 'refunded'), 0)::bigint,
        coalesce(sum(amount) FILTER (WHERE account = 'owed'), 0)::numeric(20, 3),
        coalesce(sum(amount) FILTER (WHERE account = 'delivered'), 0)::numeric(20, 3),
        coalesce(sum(amount) FILTER (WHERE account = 'refunded'), 0)::numeric(20, 3)
    FROM finance.closed(as_of) AS closed
    JOIN finance.journal ON booked_on <= closed
    GROUP BY bundle_id, currency
    ORDER BY bundle_id, currency
$$;

COMMENT ON FUNCTION finance.balances_as_of(as_of date) IS 'Each app''s accounts at the end of a day that is closed, by currency: all that was ever received is owed, delivered or excluded. The same answer for ever.';

CREATE FUNCTION finance.closed(day date) RETURNS date
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    last date := (SELECT max(closed_through) FROM finance.closings);
BEGIN
    IF day IS NULL THEN
        RAISE EXCEPTION 'as of which day?' USING ERRCODE = 'invalid_parameter_value';
    ELSIF last IS NULL OR day > last THEN
        RAISE EXCEPTION '% is not closed yet', day USING
            ERRCODE = 'object_not_in_prerequisite_state',
            HINT = CASE
                WHEN last IS NULL THEN 'No run has closed its books yet.'
                ELSE format('The last day that is closed is %s; a day is closed by the first run after it.', last)
            END;
    END IF;
    RETURN day;
END
$$;

COMMENT ON FUNCTION finance.closed(day date) IS 'The day itself if it is closed for good; else an error (55000): its answer could still change.';

CREATE FUNCTION finance.deliveries_as_of(as_of date) RETURNS TABLE(delivery_day date, bundle_id text, product_id text, currency text, price_source text, delivered_by text, transactions bigint, units bigint, amount numeric)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT
        day, bundle_id, product_id, currency, price_source, detail, sum(transactions)::bigint, sum(units)::bigint,
        sum(amount)::numeric(20, 3)
    FROM finance.closed(as_of) AS closed
    JOIN finance.journal ON booked_on <= closed
    WHERE account = 'delivered'
    GROUP BY day, bundle_id, product_id, currency, price_source, detail
    HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(amount) <> 0
    ORDER BY day, bundle_id, product_id, currency, price_source, detail
$$;

COMMENT ON FUNCTION finance.deliveries_as_of(as_of date) IS 'finance.deliveries as they were known at the end of a day that is closed: the same answer for ever.';

CREATE FUNCTION finance.refunds_as_of(as_of date) RETURNS TABLE(refund_day date, bundle_id text, product_id text, refunded text, currency text, price_source text, transactions bigint, units bigint, amount numeric)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT
        day, bundle_id, product_id, CASE account WHEN 'refunded' THEN 'after delivery' ELSE 'before delivery' END,
        currency, price_source, sum(transactions)::bigint, sum(units)::bigint, sum(amount)::numeric(20, 3)
    FROM finance.closed(as_of) AS closed
    JOIN finance.journal ON booked_on <= closed
    WHERE account = 'refunded' OR (account = 'excluded' AND detail = 'refunded')
    GROUP BY day, bundle_id, product_id, account, currency, price_source
    HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(amount) <> 0
    ORDER BY day, bundle_id, product_id, account, currency, price_source
$$;

COMMENT ON FUNCTION finance.refunds_as_of(as_of date) IS 'finance.refunds as they were known at the end of a day that is closed: the same answer for ever.';

CREATE FUNCTION finance.unclaimed_liability_as_of(as_of date) RETURNS TABLE(purchase_day date, bundle_id text, product_id text, currency text, price_source text, age_days integer, ageing text, transactions bigint, units bigint, amount numeric)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT
        day, bundle_id, product_id, currency, price_source, greatest(closed - day, 0),
        finance.ageing(greatest(closed - day, 0)), sum(transactions)::bigint, sum(units)::bigint,
        sum(amount)::numeric(20, 3)
    FROM finance.closed(as_of) AS closed
    JOIN finance.journal ON booked_on <= closed
    WHERE account = 'owed'
    GROUP BY day, bundle_id, product_id, currency, price_source, closed
    HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(amount) <> 0
    ORDER BY day, bundle_id, product_id, currency, price_source
$$;

COMMENT ON FUNCTION finance.unclaimed_liability_as_of(as_of date) IS 'finance.unclaimed_liability as it was known at the end of a day that is closed: the same answer for ever.';

CREATE FUNCTION iap.admit(bundle_id text, environment text, transaction_id text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, user_id text DEFAULT NULL::text, receipt_id bigint DEFAULT NULL::bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.admit(bundle_id text, environment text, transaction_id text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, user_id text, receipt_id bigint) IS 'Takes a purchase that the app''s server verified itself into the white table: white, already_white or already_delivered. A transaction that is excluded (refunded, dismissed, a sandbox purchase …) is not owed: that is an error (55000), since no outcome would be true. receipt_id names the uploaded receipt it came with, if any.';

CREATE FUNCTION iap.claim(bundle_id text, transaction_id text, user_id text, order_id text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.claim(bundle_id text, transaction_id text, user_id text, order_id text) IS 'Moves one transaction from white to black, in the caller''s transaction, which credits the goods: delivered, or why not: already_delivered, not_verified, wrong_user, excluded. Exactly one of any number of concurrent claims gets delivered; the others wait for it to commit or roll back. Credit the goods only on delivered.';

CREATE TABLE iap.white (
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    product_type text,
    quantity integer NOT NULL,
    purchased_at timestamp with time zone NOT NULL,
    original_purchased_at timestamp with time zone,
    expires_at timestamp with time zone,
    is_trial boolean DEFAULT false NOT NULL,
    web_order_line_item_id text,
    app_account_token text,
    price_milliunits bigint,
    currency text,
    storefront text,
    booked_milliunits bigint,
    booked_currency text,
    booked_as text NOT NULL,
    source iap.source NOT NULL,
    verified_at timestamp with time zone NOT NULL,
    admitted_user_id text,
    admitted_receipt_id bigint,
    first_seen_at timestamp with time zone NOT NULL,
    first_run_id bigint,
    nights_confirmed integer DEFAULT 0 NOT NULL,
    last_confirmed_at timestamp with time zone,
    seal bigint,
    CONSTRAINT confirmed_at_some_time CHECK (((nights_confirmed > 0) = (last_confirmed_at IS NOT NULL))),
    CONSTRAINT ids_are_apples CHECK ((((octet_length(transaction_id) >= 1) AND (octet_length(transaction_id) <= 64)) AND ((octet_length(original_transaction_id) >= 1) AND (octet_length(original_transaction_id) <= 64)) AND ((octet_length(product_id) >= 1) AND (octet_length(product_id) <= 255)) AND ((octet_length(bundle_id) >= 1) AND (octet_length(bundle_id) <= 255)) AND ((((transaction_id || original_transaction_id) || product_id) || bundle_id) !~ '[^!-~]'::text))),
    CONSTRAINT price_has_currency CHECK (((price_milliunits IS NULL) = (currency IS NULL))),
    CONSTRAINT run_or_app_server CHECK (((first_run_id IS NOT NULL) OR (source = 'app_server'::iap.source) OR (nights_confirmed > 0))),
    CONSTRAINT unknown_has_no_amount CHECK (((booked_as = 'unknown'::text) = (booked_milliunits IS NULL))),
    CONSTRAINT white_booked_as_check CHECK ((booked_as = ANY (ARRAY['apple'::text, 'list'::text, 'trial'::text, 'unknown'::text]))),
    CONSTRAINT white_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT white_environment_check CHECK ((environment = ANY (ARRAY['Production'::text, 'Sandbox'::text]))),
    CONSTRAINT white_nights_confirmed_check CHECK ((nights_confirmed >= 0)),
    CONSTRAINT white_product_type_check CHECK ((product_type = ANY (ARRAY['consumable'::text, 'non_consumable'::text, 'auto_renewable'::text, 'non_renewing'::text]))),
    CONSTRAINT white_quantity_check CHECK ((quantity > 0))
);

COMMENT ON TABLE iap.white IS 'The white table: transactions that Apple says are paid, and nobody has claimed yet.';

COMMENT ON COLUMN iap.white.original_transaction_id IS 'The first transaction of a subscription, or of a non-consumable that was restored; else the transaction itself.';

COMMENT ON COLUMN iap.white.booked_milliunits IS 'What finance counts it as: the price that Apple told, else the list price when it entered.';

COMMENT ON COLUMN iap.white.booked_as IS 'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';

COMMENT ON COLUMN iap.white.admitted_user_id IS 'The user for whom the app''s own server admitted it.';

COMMENT ON COLUMN iap.white.nights_confirmed IS 'Nights on which Apple confirmed it while nobody claimed it.';

COMMENT ON COLUMN iap.white.seal IS 'Of what was bought, and for how much: see audit.white_seal.';

CREATE FUNCTION iap.close_case(owed iap.white, how text, who text, note text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    UPDATE iap.cases
    SET state = 'closed', closed_at = now(), closed_as = how, closed_by = who, note = $4
    WHERE transaction_id = owed.transaction_id AND bundle_id = owed.bundle_id AND environment = owed.environment
        AND state = 'open'
$_$;

COMMENT ON FUNCTION iap.close_case(owed iap.white, how text, who text, note text) IS 'Closes the open case of a transaction, if there is one.';

CREATE FUNCTION iap.close_postings(run_id bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    closed date := (SELECT max(closed_through) FROM iap.runs);
BEGIN
    WITH taken AS (
        DELETE FROM iap.postings
        RETURNING *
    )
    INSERT INTO iap.books
    SELECT
        close_postings.run_id, greatest(booked_on, closed + 1), account, day, bundle_id, product_id, currency,
        price_source, detail, sum(transactions), sum(units), sum(milliunits)
    FROM taken
    GROUP BY 2, account, day, bundle_id, product_id, currency, price_source, detail
    HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(milliunits) <> 0;

    UPDATE iap.runs
    SET closed_through = greatest(closed, (as_of AT TIME ZONE 'UTC')::date - 1)
    WHERE run_id = close_postings.run_id;
END
$$;

COMMENT ON FUNCTION iap.close_postings(run_id bigint) IS 'Moves what is posted into the closed journal, in the transaction in which a run closes its books, and closes the days before the run''s own for good.';

CREATE FUNCTION iap.count_purgeable(payloads_before timestamp with time zone, devices_before timestamp with time zone, OUT payloads bigint, OUT devices bigint) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT
        (
            SELECT count(*) FROM iap.purgeable
            WHERE payload_purged_at IS NULL AND (is_erased OR last_attempt_at < payloads_before)
        ),
        (SELECT count(*) FROM iap.purgeable WHERE device IS NOT NULL AND last_attempt_at < devices_before)
$$;

COMMENT ON FUNCTION iap.count_purgeable(payloads_before timestamp with time zone, devices_before timestamp with time zone, OUT payloads bigint, OUT devices bigint) IS 'How many payloads and devices a purge would take away.';

CREATE FUNCTION iap.deliver(owed iap.white, user_id text, order_id text, how text, who text, note text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.deliver(owed iap.white, user_id text, order_id text, how text, who text, note text) IS 'Moves a transaction from white to black; false if it was black already. The primary key of iap.black is what keeps a transaction from being delivered twice, whatever happened before.';

CREATE FUNCTION iap.enter_white_again(owed iap.white) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.enter_white_again(owed iap.white) IS 'Puts a transaction back into white with all that was known of it, journals it, and opens its case again.';

CREATE FUNCTION iap.environment_of(bundle_id text, transaction_id text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT min(environment)
    FROM (
        SELECT environment FROM iap.white WHERE bundle_id = $1 AND transaction_id = $2
        UNION ALL
        SELECT environment FROM iap.black WHERE bundle_id = $1 AND transaction_id = $2
        UNION ALL
        SELECT environment FROM iap.excluded WHERE bundle_id = $1 AND transaction_id = $2
    ) AS known
$_$;

COMMENT ON FUNCTION iap.environment_of(bundle_id text, transaction_id text) IS 'The environment in which a transaction is known, NULL if in none. The two number their transactions apart; where both know the id, Production wins, as its name comes first.';

CREATE FUNCTION iap.erase_user(user_id text, who text, even_open boolean DEFAULT false) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    pseudonym text := 'erased-' || left(replace(gen_random_uuid()::text, '-', ''), 16);
    open      text[];
    waiting   bigint;
    rows      jsonb;
    erasure   bigint := nextval(pg_get_serial_sequence('iap.events', 'event_id'));
BEGIN
    PERFORM iap.require_text('user_id', erase_user.user_id, 1000);
    PERFORM iap.require_text('who', erase_user.who, 1000);
    -- The lock of the nightly job: a run that is under way would write the user down again.
    IF NOT pg_try_advisory_xact_lock(4800848, 1000) THEN
        RAISE EXCEPTION 'a run is under way' USING
            ERRCODE = 'lock_not_available', HINT = 'Erase when it has ended: what it has read it would write again.';
    END IF;

    SELECT coalesce(array_agg(transaction_id), '{}') INTO open FROM iap.open_transactions_of(erase_user.user_id);
    SELECT count(*) INTO waiting FROM iap.receipts WHERE user_id = erase_user.user_id AND state = 'waiting';
    IF (cardinality(open) > 0 OR waiting > 0) AND even_open IS NOT TRUE THEN
        RETURN jsonb_build_object('outcome', 'open', 'open', open, 'waiting', waiting);
    END IF;

    PERFORM set_config('iap.erased_user', erase_user.user_id, true), set_config('iap.pseudonym', pseudonym, true);
    rows := iap.replace_user(erase_user.user_id, pseudonym, erasure);
    PERFORM set_config('iap.erased_user', '', true), set_config('iap.pseudonym', '', true);
    IF NOT EXISTS (SELECT FROM jsonb_each_text(rows) WHERE value::bigint > 0) THEN
        RETURN jsonb_build_object('outcome', 'unknown');
    END IF;
    INSERT INTO iap.events (event_id, kind, actor, details)
    OVERRIDING SYSTEM VALUE
    VALUES (
        erasure, 'erased', erase_user.who,
        jsonb_build_object(
            'pseudonym', pseudonym, 'rows', rows, 'open', cardinality(open), 'waiting', waiting,
            'login', session_user));
    RETURN jsonb_build_object(
        'outcome', 'erased', 'pseudonym', pseudonym, 'rows', rows, 'open', open, 'waiting', waiting);
END
$$;

COMMENT ON FUNCTION iap.erase_user(user_id text, who text, even_open boolean) IS 'Erases a person: the user id becomes a pseudonym, the same one everywhere, so that amounts, orders and deliveries still add up, and devices, payloads and tokens go. Gives the outcome: erased, with what was changed; unknown; or open, with the transactions that are paid and not delivered and the number of receipts that are not verified yet: then nothing is changed, unless even_open. What even so is open stays owed, to the pseudonym.';

CREATE FUNCTION iap.exclude(owed iap.white, reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.exclude(owed iap.white, reason text) IS 'Moves a transaction from white to excluded.';

CREATE FUNCTION iap.is_purchase_delivered(bundle_id text, environment text, original_transaction_id text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT EXISTS (
        SELECT FROM iap.black
        WHERE bundle_id = $1 AND environment = $2 AND original_transaction_id = $3)
$_$;

COMMENT ON FUNCTION iap.is_purchase_delivered(bundle_id text, environment text, original_transaction_id text) IS 'Whether a transaction of this original purchase was delivered: a non-consumable bought once is owed once.';

CREATE FUNCTION iap.is_wrong_user(owed iap.white, user_id text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
$_$;

COMMENT ON FUNCTION iap.is_wrong_user(owed iap.white, user_id text) IS 'Whether users are known to have handed in this transaction, and this one is not among them.';

CREATE FUNCTION iap.leave_white(owed iap.white, kind text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    DELETE FROM iap.white
    WHERE transaction_id = owed.transaction_id AND bundle_id = owed.bundle_id AND environment = owed.environment;
    IF FOUND THEN
        INSERT INTO iap.movements (kind, transactions, units, hash)
        VALUES (leave_white.kind, 1, owed.quantity, hashtextextended(owed.transaction_id, 0));
    END IF;
END
$$;

COMMENT ON FUNCTION iap.leave_white(owed iap.white, kind text) IS 'Takes a transaction out of the white table, and journals it for the control totals.';

CREATE FUNCTION iap.lock_purchase(owed iap.white) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF iap.product_type_of(owed) = 'non_consumable' THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(
            concat_ws(' ', owed.bundle_id, owed.environment, owed.original_transaction_id), 0));
    END IF;
END
$$;

COMMENT ON FUNCTION iap.lock_purchase(owed iap.white) IS 'Locks the original purchase of a non-consumable until the transaction ends: a restored one shares it under another transaction id.';

CREATE FUNCTION iap.lock_white(bundle_id text, environment text, transaction_id text) RETURNS iap.white
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.lock_white(bundle_id text, environment text, transaction_id text) IS 'The white row, locked until the transaction ends, all NULL if there is none. Whoever delivers a non-consumable first locks its original purchase.';

CREATE FUNCTION iap.note_changed_cases() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO iap.events (happened_at, kind, actor, run_id, transaction_id, bundle_id, environment, details)
    SELECT
        CASE WHEN is_by_run THEN assessed_at ELSE coalesce(closed_at, now()) END,
        kind,
        CASE WHEN is_by_run THEN 'iap-reconcile' ELSE coalesce(closed_by, session_user) END,
        CASE WHEN is_by_run THEN assessed_run_id END,
        transaction_id, bundle_id, environment,
        CASE kind
            WHEN 'case_closed' THEN jsonb_strip_nulls(jsonb_build_object('as', closed_as, 'note', note))
            ELSE jsonb_build_object('likelihood', likelihood, 'reasons', reasons, 'owner_user_ids', owner_user_ids)
        END
    FROM (
        SELECT
            after.*,
            after.assessed_run_id <> before.assessed_run_id AS is_by_run,
            CASE
                WHEN before.state = 'open' AND after.state = 'closed' THEN 'case_closed'
                WHEN before.state = 'closed' AND after.state = 'open' THEN 'case_reopened'
                ELSE 'case_changed'
            END AS kind
        FROM before
        JOIN after USING (transaction_id, bundle_id, environment)
        WHERE (
                before.state, before.likelihood, before.reasons, before.action, before.owner_user_ids,
                before.candidates, before.order_ids)
            IS DISTINCT FROM (
                after.state, after.likelihood, after.reasons, after.action, after.owner_user_ids, after.candidates,
                after.order_ids)
    ) AS changed
    ORDER BY transaction_id, bundle_id, environment;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION iap.note_changed_cases() IS 'Writes an event for each case that was closed, opened again, or judged anew.';

CREATE FUNCTION iap.note_opened_cases() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO iap.events (happened_at, kind, actor, run_id, transaction_id, bundle_id, environment, details)
    SELECT
        opened_at, 'case_opened', 'iap-reconcile', opened_run_id, transaction_id, bundle_id, environment,
        jsonb_build_object('likelihood', likelihood, 'reasons', reasons, 'owner_user_ids', owner_user_ids)
    FROM opened
    ORDER BY transaction_id, bundle_id, environment;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION iap.note_opened_cases() IS 'Writes an event for each case that was opened.';

CREATE FUNCTION iap.open_transactions_of(user_id text) RETURNS SETOF iap.white
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
    ORDER BY white.purchased_at, white.transaction_id
$_$;

COMMENT ON FUNCTION iap.open_transactions_of(user_id text) IS 'What is paid and not delivered, and may be owed to a user.';

CREATE FUNCTION iap.place_of(transaction_id text, wanted_bundle_id text, wanted_environment text, OUT bundle_id text, OUT environment text) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.place_of(transaction_id text, wanted_bundle_id text, wanted_environment text, OUT bundle_id text, OUT environment text) IS 'The app and environment in which a transaction is known, NULL if in none; it is an error (21000) if several are left by what is wanted.';

CREATE FUNCTION iap.post() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    sign  integer := tg_argv[0];
    today date := (iap.present() AT TIME ZONE 'UTC')::date;
BEGIN
    IF tg_table_name = 'white' THEN
        INSERT INTO iap.postings
        SELECT
            today, 'owed', (purchased_at AT TIME ZONE 'UTC')::date, bundle_id, product_id, booked_currency, booked_as,
            NULL, sign * count(*), sign * sum(quantity), sign * sum(booked_milliunits)
        FROM changed
        WHERE environment = 'Production'
        GROUP BY 3, bundle_id, product_id, booked_currency, booked_as;
    ELSIF tg_table_name = 'black' THEN
        INSERT INTO iap.postings
        SELECT
            today, account, (moment AT TIME ZONE 'UTC')::date, bundle_id, product_id, booked_currency, booked_as,
            detail, sign * count(*), sign * sum(quantity), sign * sum(booked_milliunits)
        FROM changed
        CROSS JOIN LATERAL (
            VALUES ('delivered', delivered_at, delivered_by), ('refunded', refunded_at, NULL)
        ) AS line (account, moment, detail)
        WHERE environment = 'Production' AND moment IS NOT NULL
        GROUP BY account, 3, bundle_id, product_id, booked_currency, booked_as, detail;
    ELSE
        INSERT INTO iap.postings
        SELECT
            today, 'excluded',
            (CASE reason WHEN 'refunded' THEN refunded_at ELSE excluded_at END AT TIME ZONE 'UTC')::date, bundle_id,
            product_id, booked_currency, booked_as, reason, sign * count(*), sign * sum(quantity),
            sign * sum(booked_milliunits)
        FROM changed
        WHERE environment = 'Production'
        GROUP BY 3, bundle_id, product_id, booked_currency, booked_as, reason;
    END IF;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION iap.post() IS 'Posts what a statement added to a table of the ledger (1), or took from it (-1).';

CREATE FUNCTION iap.post_change_of_white() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO iap.postings
    SELECT
        (iap.present() AT TIME ZONE 'UTC')::date, 'owed', (purchased_at AT TIME ZONE 'UTC')::date, bundle_id,
        product_id, currency, price_source, NULL, sign, sign * quantity, sign * milliunits
    FROM (
        VALUES
            (-1, OLD.environment, OLD.purchased_at, OLD.bundle_id, OLD.product_id, OLD.booked_currency, OLD.booked_as,
             OLD.quantity, OLD.booked_milliunits),
            (1, NEW.environment, NEW.purchased_at, NEW.bundle_id, NEW.product_id, NEW.booked_currency, NEW.booked_as,
             NEW.quantity, NEW.booked_milliunits)
    ) AS line (
        sign, environment, purchased_at, bundle_id, product_id, currency, price_source, quantity, milliunits)
    WHERE environment = 'Production';
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION iap.post_change_of_white() IS 'Posts that a white transaction is counted as something else. A row at a time: it is rare, and the nightly confirmation of all that is white shall cost nothing.';

CREATE FUNCTION iap.present() RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    set_to text := current_setting('iap.present', true);
BEGIN
    IF set_to <> '' AND has_table_privilege(session_user, 'iap.runs', 'INSERT') THEN
        RETURN set_to::timestamptz;
    END IF;
    RETURN now();
END
$$;

COMMENT ON FUNCTION iap.present() IS 'The moment to take for the present: now, or what the nightly job, replaying a night, has set as iap.present. An app''s server can''t set it.';

CREATE FUNCTION iap.product_type_of(owed iap.white) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT coalesce(
        owed.product_type,
        (SELECT type FROM iap.products WHERE bundle_id = owed.bundle_id AND product_id = owed.product_id))
$$;

COMMENT ON FUNCTION iap.product_type_of(owed iap.white) IS 'The type of the product that was bought: what Apple said, else what the list of products says.';

CREATE FUNCTION iap.purge_devices(bucket smallint, before timestamp with time zone, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    purged bigint;
BEGIN
    UPDATE iap.receipts
    SET device = NULL, device_purged_at = iap.present()
    WHERE bucket = purge_devices.bucket AND receipt_id IN (
        SELECT receipt_id
        FROM iap.purgeable
        WHERE bucket = purge_devices.bucket AND device IS NOT NULL AND last_attempt_at < before
        ORDER BY last_attempt_at
        LIMIT most
        FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS purged = ROW_COUNT;
    RETURN purged;
END
$$;

COMMENT ON FUNCTION iap.purge_devices(bucket smallint, before timestamp with time zone, most integer) IS 'The same for what clients said of their devices, which is then not taken again.';

CREATE FUNCTION iap.purge_payloads(bucket smallint, before timestamp with time zone, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    purged bigint;
    erased bigint;
BEGIN
    UPDATE iap.receipts
    SET payload = NULL, payload_purged_at = iap.present()
    WHERE bucket = purge_payloads.bucket AND receipt_id IN (
        SELECT receipt_id
        FROM iap.purgeable
        WHERE bucket = purge_payloads.bucket AND payload_purged_at IS NULL AND last_attempt_at < before
        ORDER BY last_attempt_at
        LIMIT most
        FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS purged = ROW_COUNT;
    UPDATE iap.receipts
    SET payload = NULL, payload_purged_at = iap.present()
    WHERE bucket = purge_payloads.bucket AND receipt_id IN (
        SELECT receipt_id
        FROM iap.purgeable
        WHERE bucket = purge_payloads.bucket AND payload_purged_at IS NULL AND is_erased
        LIMIT greatest(most - purged, 0)
        FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS erased = ROW_COUNT;
    RETURN purged + erased;
END
$$;

COMMENT ON FUNCTION iap.purge_payloads(bucket smallint, before timestamp with time zone, most integer) IS 'Takes away the payloads of receipts of a bucket that were last tried before a moment and on which nothing is open, the oldest first, and so many at most; those of erased users whenever they were tried. Gives how many. The hash stays, by which the same upload is known again.';

CREATE FUNCTION iap.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION '%.% is append-only: % is refused', tg_table_schema, tg_table_name, tg_op
        USING ERRCODE = 'insufficient_privilege', HINT = 'Write a further event that corrects the earlier one.';
END
$$;

COMMENT ON FUNCTION iap.refuse_change() IS 'Keeps a table append-only, for its owner too.';

CREATE FUNCTION iap.refuse_change_of_events() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    user_id   text := current_setting('iap.erased_user', true);
    pseudonym text := current_setting('iap.pseudonym', true);
    expected  iap.events := OLD;
BEGIN
    IF tg_op = 'UPDATE' AND user_id <> '' THEN
        expected.actor := iap.without_user(OLD.actor, user_id, pseudonym);
        expected.details := iap.without_user(OLD.details, user_id, pseudonym);
        IF NEW IS NOT DISTINCT FROM expected THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'iap.events is append-only: % is refused', tg_op
        USING ERRCODE = 'insufficient_privilege', HINT = 'Write a further event that corrects the earlier one.';
END
$$;

COMMENT ON FUNCTION iap.refuse_change_of_events() IS 'Keeps iap.events append-only, for its owner too. An erasure alone may replace the user id, and nothing else.';

CREATE FUNCTION iap.register_order(bundle_id text, order_id text, user_id text, product_id text, quantity integer DEFAULT 1, app_account_token text DEFAULT NULL::text, created_at timestamp with time zone DEFAULT now()) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.register_order(bundle_id text, order_id text, user_id text, product_id text, quantity integer, app_account_token text, created_at timestamp with time zone) IS 'Tells of an order of the app''s own, so that a purchase without an order id can be matched with it. Registering the same order again does nothing; the same id for another user, product or quantity is refused.';

CREATE FUNCTION iap.reopen(transaction_id text, who text, note text, bundle_id text DEFAULT NULL::text, environment text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.reopen(transaction_id text, who text, note text, bundle_id text, environment text) IS 'Takes a wrong resolve back: reopened, and the transaction is owed again, as it was before. What a claim delivered stays delivered. Otherwise it changes nothing and says why: already_white, already_delivered, refunded (by Apple, since), excluded or not_verified.';

CREATE FUNCTION iap.replace_user(user_id text, pseudonym text, erasure bigint) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    needle text := trim(BOTH '"' FROM to_jsonb(replace_user.user_id)::text);
    rows   bigint;
    counts jsonb := '{}';
BEGIN
    -- White first: what is the user's there is known by sightings and cases.
    -- A token is the user's who ordered with it, or alone handed the purchase in.
    UPDATE iap.white
    SET admitted_user_id = CASE WHEN admitted_user_id = replace_user.user_id THEN pseudonym ELSE admitted_user_id END,
        app_account_token = CASE
            WHEN app_account_token IN (
                    SELECT app_account_token FROM iap.orders
                    WHERE user_id = replace_user.user_id AND app_account_token IS NOT NULL)
                OR NOT EXISTS (
                    SELECT FROM iap.sightings
                    WHERE sightings.transaction_id = white.transaction_id AND sightings.bundle_id = white.bundle_id
                        AND sightings.environment = white.environment
                        AND sightings.user_id <> replace_user.user_id) THEN NULL
            ELSE app_account_token
        END
    WHERE (transaction_id, bundle_id, environment) IN (
        SELECT transaction_id, bundle_id, environment FROM iap.open_transactions_of(replace_user.user_id));
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('white', rows);

    UPDATE iap.receipts
    SET user_id = pseudonym, is_erased = true, device = NULL, device_purged_at = coalesce(device_purged_at, now()),
        payload = CASE WHEN next_attempt_at IS NOT NULL THEN payload END,
        payload_purged_at = CASE WHEN next_attempt_at IS NULL THEN coalesce(payload_purged_at, now()) END
    WHERE user_id = replace_user.user_id;
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('receipts', rows);

    UPDATE iap.orders SET user_id = pseudonym, app_account_token = NULL WHERE user_id = replace_user.user_id;
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('orders', rows);

    -- A seal that does not fit stays, for its row was changed by hand.
    UPDATE iap.black
    SET user_id = pseudonym,
        seal = CASE
            WHEN seal = audit.black_seal(
                transaction_id, bundle_id, environment, original_transaction_id, product_id, quantity, purchased_at,
                price_milliunits, currency, user_id, order_id, delivered_by, delivered_at, refunded_at)
            THEN audit.black_seal(
                transaction_id, bundle_id, environment, original_transaction_id, product_id, quantity, purchased_at,
                price_milliunits, currency, pseudonym, order_id, delivered_by, delivered_at, refunded_at)
            ELSE seal
        END
    WHERE user_id = replace_user.user_id;
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('black', rows);

    UPDATE iap.sightings SET user_id = pseudonym WHERE user_id = replace_user.user_id;
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('sightings', rows);

    UPDATE iap.claims
    SET user_id = pseudonym,
        seal = CASE
            WHEN seal = audit.claim_seal(transaction_id, bundle_id, user_id, order_id, outcome, attempted_at)
            THEN audit.claim_seal(transaction_id, bundle_id, pseudonym, order_id, outcome, attempted_at)
            ELSE seal
        END
    WHERE user_id = replace_user.user_id;
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('claims', rows);

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

    -- The chain keeps what it sealed; beside it stands what is left, unless the event did not fit before.
    WITH affected AS MATERIALIZED (
        SELECT event_id, audit.event_digest(events) = coalesce(erased_digest, digest) AS fits
        FROM iap.events
        LEFT JOIN audit.seals USING (event_id)
        WHERE (strpos(actor, replace_user.user_id) > 0 OR strpos(details::text, needle) > 0)
            AND (
                actor <> iap.without_user(actor, replace_user.user_id, pseudonym)
                OR details <> iap.without_user(details, replace_user.user_id, pseudonym))
    ), changed AS (
        UPDATE iap.events
        SET actor = iap.without_user(actor, replace_user.user_id, pseudonym),
            details = iap.without_user(details, replace_user.user_id, pseudonym)
        FROM affected
        WHERE events.event_id = affected.event_id
        RETURNING events.event_id, audit.event_digest(events) AS digest, fits
    ), sealed AS (
        UPDATE audit.seals
        SET erased_event_id = erasure, erased_digest = changed.digest
        FROM changed
        WHERE seals.event_id = changed.event_id AND fits
    )
    SELECT count(*) INTO rows FROM changed;
    RETURN counts || jsonb_build_object('events', rows);
END
$$;

COMMENT ON FUNCTION iap.replace_user(user_id text, pseudonym text, erasure bigint) IS 'Replaces a user id by a pseudonym wherever it is, takes away what only tells of the person, and gives the number of rows by table; erasure is the event that will tell of it. Claims, cases and events are read from end to end: it is asked rarely.';

CREATE FUNCTION iap.require_id(name text, value text, longest integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF value IS NULL OR octet_length(value) NOT BETWEEN 1 AND longest OR value COLLATE "C" ~ '[^!-~]' THEN
        RAISE EXCEPTION '% is not an id of Apple''s', name USING
            ERRCODE = 'invalid_parameter_value',
            HINT = format('It has 1 to %s visible ASCII characters.', longest);
    END IF;
END
$$;

COMMENT ON FUNCTION iap.require_id(name text, value text, longest integer) IS 'Refuses what can''t be an id of Apple''s, by the rule of the nightly job: visible ASCII, not empty, not too long.';

CREATE FUNCTION iap.require_text(name text, value text, longest integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF value IS NULL OR value = '' THEN
        RAISE EXCEPTION '% is missing', name USING ERRCODE = 'invalid_parameter_value';
    ELSIF octet_length(value) > longest THEN
        RAISE EXCEPTION '% has % bytes', name, octet_length(value) USING
            ERRCODE = 'invalid_parameter_value', HINT = format('It has at most %s.', longest);
    END IF;
END
$$;

COMMENT ON FUNCTION iap.require_text(name text, value text, longest integer) IS 'Refuses a text that is missing, or longer in bytes than an index can hold.';

CREATE FUNCTION iap.resolve(transaction_id text, how text, who text, note text, bundle_id text DEFAULT NULL::text, environment text DEFAULT NULL::text, user_id text DEFAULT NULL::text, order_id text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.resolve(transaction_id text, how text, who text, note text, bundle_id text, environment text, user_id text, order_id text) IS 'Ends what is owed on the word of the support desk, and gives how: delivered, dismissed or refunded. Where nothing is owed it changes nothing and says why: already_delivered, excluded or not_verified.';

CREATE FUNCTION iap.sight(bundle_id text, environment text, transaction_id text, user_id text, receipt_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.sight(bundle_id text, environment text, transaction_id text, user_id text, receipt_id bigint) IS 'Remembers that a transaction was seen in a receipt that was uploaded for it.';

CREATE FUNCTION iap.standing(bundle_id text, environment text, transaction_id text, owed iap.white) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.standing(bundle_id text, environment text, transaction_id text, owed iap.white) IS 'Where a transaction stands, given its white row if it has one: already_delivered, excluded, white or not_verified. A restored non-consumable is already delivered if its purchase was, under whatever id.';

CREATE FUNCTION iap.submit_receipt(bundle_id text, user_id text, payload text, transaction_id text DEFAULT NULL::text, order_id text DEFAULT NULL::text, device jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.submit_receipt(bundle_id text, user_id text, payload text, transaction_id text, order_id text, device jsonb) IS 'Stores what a client uploaded, to be verified at night, and gives its receipt id. The same payload again from the same user of the same app is the same receipt, whose state it leaves alone: it only counts the upload, and adds what was not known. A payload that is empty or NULL is stored too, so that support hears of it. user_id is NULL where nobody is logged in.';

CREATE FUNCTION iap.take_back(resolved iap.white) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.take_back(resolved iap.white) IS 'Takes out of black or excluded what the support desk put there, and says whether it did. Never what a claim delivered, what Apple refunded, or a non-consumable that was delivered under another transaction id.';

CREATE FUNCTION iap.tidy_white(owed iap.white, who text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.tidy_white(owed iap.white, who text) IS 'Takes out of white what turned out to be delivered or excluded, so that it is no case.';

CREATE FUNCTION iap.value_purchase() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    listed record;
BEGIN
    SELECT list_price_milliunits AS price, currency INTO listed
    FROM iap.products
    WHERE bundle_id = NEW.bundle_id AND product_id = NEW.product_id;
    NEW.booked_milliunits := NEW.price_milliunits;
    NEW.booked_currency := NEW.currency;
    NEW.booked_as := 'apple';
    IF NEW.price_milliunits IS NULL THEN
        NEW.booked_milliunits := listed.price * NEW.quantity;
        NEW.booked_currency := listed.currency;
        NEW.booked_as := CASE WHEN listed.price IS NULL THEN 'unknown' ELSE 'list' END;
        IF tg_table_name = 'white' THEN
            IF NEW.is_trial THEN
                NEW.booked_milliunits := 0;
                NEW.booked_as := 'trial';
            END IF;
        END IF;
    END IF;
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION iap.value_purchase() IS 'Fixes what finance counts a purchase as, where whoever wrote the row has not done so.';

CREATE FUNCTION iap.why_closed(bundle_id text, environment text, transaction_id text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.why_closed(bundle_id text, environment text, transaction_id text) IS 'Why there is nothing to reopen: already_white, already_delivered, refunded, excluded or not_verified.';

CREATE FUNCTION iap.with_restored(owed iap.white) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT jsonb_build_array(to_jsonb(owed)) || coalesce(jsonb_agg(to_jsonb(other) ORDER BY other.transaction_id), '[]')
    FROM iap.white AS other
    WHERE iap.product_type_of(owed) = 'non_consumable'
        AND original_transaction_id = owed.original_transaction_id AND bundle_id = owed.bundle_id
        AND environment = owed.environment AND transaction_id <> owed.transaction_id
$$;

COMMENT ON FUNCTION iap.with_restored(owed iap.white) IS 'The white rows that a delivery of this one takes out of white: its own first, then those that restore it.';

CREATE FUNCTION iap.withdraw_restored(delivered iap.white, who text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.withdraw_restored(delivered iap.white, who text) IS 'After the delivery of a non-consumable: takes the other transactions of the same purchase out of white.';

CREATE FUNCTION iap.without_tokens(rows jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT coalesce(jsonb_agg(element - 'app_account_token' ORDER BY place), '[]')
    FROM jsonb_array_elements(rows) WITH ORDINALITY AS item (element, place)
$$;

COMMENT ON FUNCTION iap.without_tokens(rows jsonb) IS 'The white rows that a resolve keeps, without the tokens of accounts.';

CREATE FUNCTION iap.without_user(details jsonb, user_id text, pseudonym text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
                        WHEN key IN ('user_id', 'userID', 'admitted_user_id') AND value = to_jsonb(user_id)
                            THEN to_jsonb(pseudonym)
                        WHEN key = 'note' AND jsonb_typeof(value) = 'string'
                            THEN to_jsonb(iap.without_user(value #>> '{}', user_id, pseudonym))
                        WHEN key = 'taken' AND details -> 'user_id' = to_jsonb(user_id)
                            THEN iap.without_user(iap.without_tokens(value), user_id, pseudonym)
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

COMMENT ON FUNCTION iap.without_user(details jsonb, user_id text, pseudonym text) IS 'An event''s details or a case''s candidates with a user id replaced, and without the user''s tokens. Lists hold user ids, or objects.';

CREATE FUNCTION iap.without_user(text text, user_id text, pseudonym text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT regexp_replace(
        text,
        '(?<![[:alnum:]_-])' || regexp_replace(user_id, '([^[:alnum:]])', '\\\1', 'g') || '(?![[:alnum:]_-])',
        pseudonym, 'g')
$$;

COMMENT ON FUNCTION iap.without_user(text text, user_id text, pseudonym text) IS 'What a person wrote, with a user id replaced wherever it stands as a word of its own.';

CREATE AGGREGATE audit.chain(bytea) (
    SFUNC = audit.next_link,
    STYPE = bytea
);

COMMENT ON AGGREGATE audit.chain(bytea) IS 'The last link over digests in their order; the first is the link to go on from.';

CREATE TABLE audit.sealings (
    sealing_id bigint NOT NULL,
    sealed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    run_id bigint,
    last_event_id bigint NOT NULL,
    horizon xid8 NOT NULL,
    "position" bigint NOT NULL,
    link bytea NOT NULL,
    CONSTRAINT sealings_link_check CHECK ((octet_length(link) = 32))
);

COMMENT ON TABLE audit.sealings IS 'How far the chain reached, and its end, each time it was continued.';

ALTER TABLE audit.sealings ALTER COLUMN sealing_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME audit.sealings_sealing_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE audit.seals (
    "position" bigint NOT NULL,
    event_id bigint NOT NULL,
    digest bytea NOT NULL,
    link bytea NOT NULL,
    erased_event_id bigint,
    erased_digest bytea,
    CONSTRAINT erased_by_whom_and_to_what CHECK (((erased_event_id IS NULL) = (erased_digest IS NULL))),
    CONSTRAINT seals_digest_check CHECK ((octet_length(digest) = 32)),
    CONSTRAINT seals_erased_digest_check CHECK ((octet_length(erased_digest) = 32)),
    CONSTRAINT seals_link_check CHECK ((octet_length(link) = 32)),
    CONSTRAINT seals_position_check CHECK (("position" > 0))
);

COMMENT ON TABLE audit.seals IS 'The chain over the audit trail: one row an event.';

COMMENT ON COLUMN audit.seals.digest IS 'audit.event_digest of the event, when it was sealed.';

COMMENT ON COLUMN audit.seals.link IS 'The SHA-256 of the link before and of the digest.';

COMMENT ON COLUMN audit.seals.erased_event_id IS 'The event that tells why a person''s data is no more in this one.';

CREATE TABLE iap.runs (
    run_id bigint NOT NULL,
    as_of timestamp with time zone NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    host text NOT NULL,
    process_id integer NOT NULL,
    program_version text NOT NULL,
    state text DEFAULT 'running'::text NOT NULL,
    exit_code integer,
    reason text,
    receipts_due bigint DEFAULT 0 NOT NULL,
    receipts_verified bigint DEFAULT 0 NOT NULL,
    receipts_try_again bigint DEFAULT 0 NOT NULL,
    receipts_unusable bigint DEFAULT 0 NOT NULL,
    verified bigint[] DEFAULT '{0,0,0}'::bigint[] NOT NULL,
    newly_white bigint[] DEFAULT '{0,0,0}'::bigint[] NOT NULL,
    already_white bigint[] DEFAULT '{0,0,0}'::bigint[] NOT NULL,
    already_black bigint[] DEFAULT '{0,0,0}'::bigint[] NOT NULL,
    excluded bigint[] DEFAULT '{0,0,0}'::bigint[] NOT NULL,
    opening_white bigint[],
    new bigint[],
    claimed bigint[],
    resolved bigint[],
    refunded bigint[],
    closing_white bigint[],
    closing_number bigint,
    closed_through date,
    cases jsonb,
    stages jsonb,
    CONSTRAINT books_are_whole CHECK ((num_nulls(opening_white, new, claimed, resolved, refunded, closing_white, closing_number) = ANY (ARRAY[0, 7]))),
    CONSTRAINT complete_has_books CHECK (((state <> 'complete'::text) OR (closing_number IS NOT NULL))),
    CONSTRAINT complete_is_success CHECK (((state <> 'complete'::text) OR (exit_code = 0))),
    CONSTRAINT exit_code_of_finished CHECK (((state = ANY (ARRAY['running'::text, 'abandoned'::text])) OR (exit_code IS NOT NULL))),
    CONSTRAINT finished_when_it_says_so CHECK (((state = 'running'::text) = (finished_at IS NULL))),
    CONSTRAINT reason_when_not_complete CHECK (((state = ANY (ARRAY['running'::text, 'complete'::text])) OR (reason IS NOT NULL))),
    CONSTRAINT runs_state_check CHECK ((state = ANY (ARRAY['running'::text, 'complete'::text, 'ended_early'::text, 'failed'::text, 'abandoned'::text])))
);

COMMENT ON TABLE iap.runs IS 'Every run of the job, with its control totals: transactions, units and hash total.';

COMMENT ON COLUMN iap.runs.as_of IS 'The moment that the run took for the present.';

COMMENT ON COLUMN iap.runs.state IS 'abandoned: killed, as a later run found.';

COMMENT ON COLUMN iap.runs.closing_number IS 'The order of the runs whose books are closed; each opens with the one before.';

COMMENT ON COLUMN iap.runs.closed_through IS 'The last day (UTC) that is closed for good for finance.';

CREATE VIEW finance.closings AS
 SELECT runs.run_id,
    runs.as_of,
    runs.closed_through
   FROM iap.runs
  WHERE (runs.closed_through IS NOT NULL);

COMMENT ON VIEW finance.closings IS 'The runs that closed their books, and the days that are closed since.';

COMMENT ON COLUMN finance.closings.run_id IS 'The run.';

COMMENT ON COLUMN finance.closings.as_of IS 'The moment that it took for the present.';

COMMENT ON COLUMN finance.closings.closed_through IS 'The last day that is closed for good: what turns up for it later is booked on a later day.';

CREATE VIEW finance.control_totals AS
 WITH checked AS (
         SELECT runs.run_id,
            runs.as_of,
            runs.started_at,
            runs.finished_at,
            runs.host,
            runs.process_id,
            runs.program_version,
            runs.state,
            runs.exit_code,
            runs.reason,
            runs.receipts_due,
            runs.receipts_verified,
            runs.receipts_try_again,
            runs.receipts_unusable,
            runs.verified,
            runs.newly_white,
            runs.already_white,
            runs.already_black,
            runs.excluded,
            runs.opening_white,
            runs.new,
            runs.claimed,
            runs.resolved,
            runs.refunded,
            runs.closing_white,
            runs.closing_number,
            runs.closed_through,
            runs.cases,
            runs.stages,
            lag(runs.closing_white) OVER (ORDER BY runs.closing_number) AS closed_before,
            ((runs.verified[1] = (((runs.newly_white[1] + runs.already_white[1]) + runs.already_black[1]) + runs.excluded[1])) AND (runs.verified[2] = (((runs.newly_white[2] + runs.already_white[2]) + runs.already_black[2]) + runs.excluded[2])) AND (runs.verified[3] = (((runs.newly_white[3] # runs.already_white[3]) # runs.already_black[3]) # runs.excluded[3]))) AS is_verified_placed,
            ((((((runs.opening_white[1] + runs.new[1]) - runs.claimed[1]) - runs.resolved[1]) - runs.refunded[1]) = runs.closing_white[1]) AND (((((runs.opening_white[2] + runs.new[2]) - runs.claimed[2]) - runs.resolved[2]) - runs.refunded[2]) = runs.closing_white[2]) AND (((((runs.opening_white[3] # runs.new[3]) # runs.claimed[3]) # runs.resolved[3]) # runs.refunded[3]) = runs.closing_white[3])) AS is_white_explained
           FROM iap.runs
        )
 SELECT checked.run_id,
    ((checked.as_of AT TIME ZONE 'UTC'::text))::date AS day,
    checked.started_at,
    checked.state,
    total."position",
    total.total,
    total.figures[1] AS transactions,
    total.figures[2] AS units,
    total.figures[3] AS hash,
        CASE
            WHEN (checked.closing_number IS NULL) THEN (checked.is_verified_placed AND NULL::boolean)
            WHEN (checked.closing_number = 1) THEN (checked.is_verified_placed AND checked.is_white_explained AND (checked.opening_white = '{0,0,0}'::bigint[]))
            ELSE (checked.is_verified_placed AND checked.is_white_explained AND (checked.opening_white = checked.closed_before))
        END AS balances
   FROM (checked
     CROSS JOIN LATERAL ( VALUES (1,'verified'::text,checked.verified), (2,'newly white'::text,checked.newly_white), (3,'already white'::text,checked.already_white), (4,'already black'::text,checked.already_black), (5,'excluded'::text,checked.excluded), (6,'opening white'::text,checked.opening_white), (7,'new'::text,checked.new), (8,'claimed'::text,checked.claimed), (9,'resolved'::text,checked.resolved), (10,'refunded'::text,checked.refunded), (11,'closing white'::text,checked.closing_white)) total("position", total, figures))
  WHERE (checked.state <> 'running'::text);

COMMENT ON VIEW finance.control_totals IS 'What each run counted, eleven rows a run. Verified transactions are newly white, already white, already black or excluded; opening white and new, less claimed, resolved and refunded, is closing white; and each run opens with what the one before closed with.';

COMMENT ON COLUMN finance.control_totals.run_id IS 'The run.';

COMMENT ON COLUMN finance.control_totals.day IS 'The day of the moment that the run took for the present.';

COMMENT ON COLUMN finance.control_totals.started_at IS 'When it started.';

COMMENT ON COLUMN finance.control_totals.state IS 'complete, ended_early, failed, or abandoned: killed, as a later run found.';

COMMENT ON COLUMN finance.control_totals."position" IS 'The row''s place among the eleven.';

COMMENT ON COLUMN finance.control_totals.total IS 'What is counted.';

COMMENT ON COLUMN finance.control_totals.transactions IS 'How many; NULL where the run did not close its books.';

COMMENT ON COLUMN finance.control_totals.units IS 'The sum of their quantities.';

COMMENT ON COLUMN finance.control_totals.hash IS 'The exclusive or of a hash of each transaction id: shows one transaction in another''s place.';

COMMENT ON COLUMN finance.control_totals.balances IS 'Whether all of the run''s totals balance; NULL where its books are not closed and nothing else is wrong.';

CREATE VIEW finance.control_totals_by_day AS
 WITH counted AS (
         SELECT control_totals.day,
            control_totals.run_id,
            bool_and(control_totals.balances) AS balances,
            sum(control_totals.transactions) FILTER (WHERE (control_totals.total = 'verified'::text)) AS received,
            sum(control_totals.units) FILTER (WHERE (control_totals.total = 'verified'::text)) AS units,
            sum(control_totals.transactions) FILTER (WHERE (control_totals.total = ANY (ARRAY['newly white'::text, 'already white'::text]))) AS white,
            sum(control_totals.transactions) FILTER (WHERE (control_totals.total = 'newly white'::text)) AS newly_white,
            sum(control_totals.transactions) FILTER (WHERE (control_totals.total = 'already black'::text)) AS black,
            sum(control_totals.transactions) FILTER (WHERE (control_totals.total = 'excluded'::text)) AS excluded
           FROM finance.control_totals
          GROUP BY control_totals.day, control_totals.run_id
        )
 SELECT counted.day,
    count(*) AS runs,
    (sum(counted.received))::bigint AS received,
    (sum(counted.units))::bigint AS units,
    (sum(counted.white))::bigint AS white,
    (sum(counted.newly_white))::bigint AS newly_white,
    (sum(counted.black))::bigint AS black,
    (sum(counted.excluded))::bigint AS excluded,
    ((((sum(counted.received) - sum(counted.white)) - sum(counted.black)) - sum(counted.excluded)))::bigint AS difference,
    bool_and(counted.balances) AS balances
   FROM counted
  GROUP BY counted.day;

COMMENT ON VIEW finance.control_totals_by_day IS 'What the runs of each day received from Apple, and where it is: received is white, black and excluded together.';

COMMENT ON COLUMN finance.control_totals_by_day.day IS 'The day of the moment that the runs took for the present.';

COMMENT ON COLUMN finance.control_totals_by_day.runs IS 'How many runs ended, well or not.';

COMMENT ON COLUMN finance.control_totals_by_day.received IS 'Transactions that Apple vouched for in those runs; one that two runs received counts twice.';

COMMENT ON COLUMN finance.control_totals_by_day.units IS 'The sum of their quantities.';

COMMENT ON COLUMN finance.control_totals_by_day.white IS 'Of these: paid, and not claimed.';

COMMENT ON COLUMN finance.control_totals_by_day.newly_white IS 'Of the white: for the first time.';

COMMENT ON COLUMN finance.control_totals_by_day.black IS 'Of these: delivered.';

COMMENT ON COLUMN finance.control_totals_by_day.excluded IS 'Of these: not owed.';

COMMENT ON COLUMN finance.control_totals_by_day.difference IS 'Received, less white, black and excluded: 0.';

COMMENT ON COLUMN finance.control_totals_by_day.balances IS 'Whether all totals of all those runs balance; NULL where a run did not close its books and nothing else is wrong.';

CREATE TABLE iap.black (
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    product_type text,
    quantity integer NOT NULL,
    purchased_at timestamp with time zone NOT NULL,
    price_milliunits bigint,
    currency text,
    storefront text,
    booked_milliunits bigint,
    booked_currency text,
    booked_as text NOT NULL,
    source iap.source NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    first_run_id bigint,
    user_id text,
    order_id text,
    delivered_by text NOT NULL,
    delivered_at timestamp with time zone NOT NULL,
    refunded_at timestamp with time zone,
    refund_reason text,
    refund_run_id bigint,
    seal bigint,
    CONSTRAINT black_booked_as_check CHECK ((booked_as = ANY (ARRAY['apple'::text, 'list'::text, 'trial'::text, 'unknown'::text]))),
    CONSTRAINT black_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT black_delivered_by_check CHECK ((delivered_by = ANY (ARRAY['claim'::text, 'resolved'::text, 'import'::text]))),
    CONSTRAINT black_environment_check CHECK ((environment = ANY (ARRAY['Production'::text, 'Sandbox'::text]))),
    CONSTRAINT black_product_type_check CHECK ((product_type = ANY (ARRAY['consumable'::text, 'non_consumable'::text, 'auto_renewable'::text, 'non_renewing'::text]))),
    CONSTRAINT black_quantity_check CHECK ((quantity > 0)),
    CONSTRAINT claim_has_user CHECK (((delivered_by <> 'claim'::text) OR (user_id IS NOT NULL))),
    CONSTRAINT price_has_currency CHECK (((price_milliunits IS NULL) = (currency IS NULL))),
    CONSTRAINT refund_reason_has_refund CHECK (((refund_reason IS NULL) OR (refunded_at IS NOT NULL))),
    CONSTRAINT unknown_has_no_amount CHECK (((booked_as = 'unknown'::text) = (booked_milliunits IS NULL)))
);

COMMENT ON TABLE iap.black IS 'The black table: transactions whose goods were delivered, for ever.';

COMMENT ON COLUMN iap.black.delivered_by IS 'claim: by the app''s server; resolved: by the support desk, which may take that back with iap.reopen; import: before iap-reconcile was there.';

COMMENT ON COLUMN iap.black.refunded_at IS 'When Apple refunded it after the delivery.';

COMMENT ON COLUMN iap.black.seal IS 'Of what was delivered, to whom and when: see audit.black_seal.';

CREATE TABLE iap.products (
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL,
    name text NOT NULL,
    list_price_milliunits bigint,
    currency text,
    CONSTRAINT list_price_has_currency CHECK (((list_price_milliunits IS NULL) = (currency IS NULL))),
    CONSTRAINT products_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT products_list_price_milliunits_check CHECK ((list_price_milliunits >= 0)),
    CONSTRAINT products_type_check CHECK ((type = ANY (ARRAY['consumable'::text, 'non_consumable'::text, 'auto_renewable'::text, 'non_renewing'::text])))
);

COMMENT ON TABLE iap.products IS 'What the apps sell. Filled by the apps'' owner; a product that is missing is suspicious.';

COMMENT ON COLUMN iap.products.list_price_milliunits IS 'For one unit; used where Apple''s answer has no price.';

CREATE VIEW finance.deliveries AS
 SELECT ((black.delivered_at AT TIME ZONE 'UTC'::text))::date AS delivery_day,
    black.bundle_id,
    black.product_id,
    products.name AS product_name,
    black.booked_currency AS currency,
    black.booked_as AS price_source,
    black.delivered_by,
    count(*) AS transactions,
    sum(black.quantity) AS units,
    ((sum(black.booked_milliunits) / 1000.0))::numeric(20,3) AS amount
   FROM (iap.black
     LEFT JOIN iap.products USING (bundle_id, product_id))
  WHERE (black.environment = 'Production'::text)
  GROUP BY (((black.delivered_at AT TIME ZONE 'UTC'::text))::date), black.bundle_id, black.product_id, products.name, black.booked_currency, black.booked_as, black.delivered_by;

COMMENT ON VIEW finance.deliveries IS 'What was delivered: the black table by day of delivery, product and currency. Refunded later or not.';

COMMENT ON COLUMN finance.deliveries.delivery_day IS 'The day on which the goods were credited.';

COMMENT ON COLUMN finance.deliveries.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.deliveries.product_id IS 'The product.';

COMMENT ON COLUMN finance.deliveries.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.deliveries.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.deliveries.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';

COMMENT ON COLUMN finance.deliveries.delivered_by IS 'claim: by the app''s server; resolved: by the support desk; import: before iap-reconcile was there.';

COMMENT ON COLUMN finance.deliveries.transactions IS 'How many purchases.';

COMMENT ON COLUMN finance.deliveries.units IS 'The sum of their quantities.';

COMMENT ON COLUMN finance.deliveries.amount IS 'In units of the currency; NULL where no price is known.';

CREATE TABLE iap.excluded (
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    product_type text,
    quantity integer NOT NULL,
    purchased_at timestamp with time zone NOT NULL,
    price_milliunits bigint,
    currency text,
    storefront text,
    booked_milliunits bigint,
    booked_currency text,
    booked_as text NOT NULL,
    source iap.source NOT NULL,
    verified_at timestamp with time zone NOT NULL,
    reason text NOT NULL,
    found_bundle_id text COLLATE pg_catalog."C",
    refunded_at timestamp with time zone,
    refund_reason text,
    excluded_at timestamp with time zone NOT NULL,
    run_id bigint,
    seal bigint,
    CONSTRAINT excluded_booked_as_check CHECK ((booked_as = ANY (ARRAY['apple'::text, 'list'::text, 'trial'::text, 'unknown'::text]))),
    CONSTRAINT excluded_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT excluded_environment_check CHECK ((environment = ANY (ARRAY['Production'::text, 'Sandbox'::text]))),
    CONSTRAINT excluded_product_type_check CHECK ((product_type = ANY (ARRAY['consumable'::text, 'non_consumable'::text, 'auto_renewable'::text, 'non_renewing'::text]))),
    CONSTRAINT excluded_reason_check CHECK ((reason = ANY (ARRAY['sandbox'::text, 'foreign_bundle'::text, 'refunded'::text, 'family_shared'::text, 'upgraded'::text, 'invalid_quantity'::text, 'before_start'::text, 'restored'::text, 'dismissed'::text]))),
    CONSTRAINT foreign_bundle_is_named CHECK (((reason = 'foreign_bundle'::text) = (found_bundle_id IS NOT NULL))),
    CONSTRAINT price_has_currency CHECK (((price_milliunits IS NULL) = (currency IS NULL))),
    CONSTRAINT refund_reason_has_refund CHECK (((refund_reason IS NULL) OR (refunded_at IS NOT NULL))),
    CONSTRAINT refunded_has_time CHECK (((reason <> 'refunded'::text) OR (refunded_at IS NOT NULL))),
    CONSTRAINT run_or_person CHECK (((run_id IS NOT NULL) OR (reason = ANY (ARRAY['dismissed'::text, 'refunded'::text, 'restored'::text])))),
    CONSTRAINT unknown_has_no_amount CHECK (((booked_as = 'unknown'::text) = (booked_milliunits IS NULL)))
);

COMMENT ON TABLE iap.excluded IS 'Verified, but not owed, with the reason.';

COMMENT ON COLUMN iap.excluded.found_bundle_id IS 'The app that the receipt names, where it is another than it came for.';

COMMENT ON COLUMN iap.excluded.run_id IS 'The run that found it; NULL if the support desk or a claim did.';

COMMENT ON COLUMN iap.excluded.seal IS 'Of what was bought, and why it is not owed: see audit.excluded_seal.';

CREATE TABLE iap.sightings (
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    bucket smallint NOT NULL,
    receipt_id bigint NOT NULL,
    user_id text,
    order_id text,
    is_named boolean NOT NULL,
    in_receipt boolean DEFAULT true NOT NULL,
    uploaded_at timestamp with time zone NOT NULL,
    first_run_id bigint
);

COMMENT ON TABLE iap.sightings IS 'In which receipts each transaction was seen, and who handed them in.';

COMMENT ON COLUMN iap.sightings.is_named IS 'Whether the receipt was uploaded for this very transaction.';

COMMENT ON COLUMN iap.sightings.in_receipt IS 'Whether the receipt holds it; else Apple told it of the customer who is known by the receipt.';

CREATE VIEW finance.differences AS
 WITH nowhere AS (
         SELECT sightings.transaction_id,
            sightings.bundle_id,
            sightings.environment
           FROM iap.sightings
          WHERE ((sightings.first_run_id IS NOT NULL) AND (NOT (EXISTS ( SELECT
                   FROM iap.white
                  WHERE ((white.transaction_id = sightings.transaction_id) AND (white.bundle_id = sightings.bundle_id) AND (white.environment = sightings.environment))))) AND (NOT (EXISTS ( SELECT
                   FROM iap.black
                  WHERE ((black.transaction_id = sightings.transaction_id) AND (black.bundle_id = sightings.bundle_id) AND (black.environment = sightings.environment))))) AND (NOT (EXISTS ( SELECT
                   FROM iap.excluded
                  WHERE ((excluded.transaction_id = sightings.transaction_id) AND (excluded.bundle_id = sightings.bundle_id) AND (excluded.environment = sightings.environment))))))
        ), doubled AS (
         SELECT white.transaction_id,
            white.bundle_id,
            white.environment
           FROM (iap.white
             JOIN iap.black USING (transaction_id, bundle_id, environment))
        UNION
         SELECT white.transaction_id,
            white.bundle_id,
            white.environment
           FROM (iap.white
             JOIN iap.excluded USING (transaction_id, bundle_id, environment))
        UNION
         SELECT black.transaction_id,
            black.bundle_id,
            black.environment
           FROM (iap.black
             JOIN iap.excluded USING (transaction_id, bundle_id, environment))
        )
 SELECT found.transaction_id,
    found.bundle_id,
    found.environment,
    found.difference,
    ( SELECT min(sightings.first_run_id) AS min
           FROM iap.sightings
          WHERE ((sightings.transaction_id = found.transaction_id) AND (sightings.bundle_id = found.bundle_id) AND (sightings.environment = found.environment))) AS run_id,
    (EXISTS ( SELECT
           FROM iap.white
          WHERE ((white.transaction_id = found.transaction_id) AND (white.bundle_id = found.bundle_id) AND (white.environment = found.environment)))) AS is_white,
    (EXISTS ( SELECT
           FROM iap.black
          WHERE ((black.transaction_id = found.transaction_id) AND (black.bundle_id = found.bundle_id) AND (black.environment = found.environment)))) AS is_black,
    (EXISTS ( SELECT
           FROM iap.excluded
          WHERE ((excluded.transaction_id = found.transaction_id) AND (excluded.bundle_id = found.bundle_id) AND (excluded.environment = found.environment)))) AS is_excluded
   FROM ( SELECT nowhere.transaction_id,
            nowhere.bundle_id,
            nowhere.environment,
            'nowhere'::text AS difference
           FROM nowhere
        UNION
         SELECT doubled.transaction_id,
            doubled.bundle_id,
            doubled.environment,
            'doubled'::text
           FROM doubled) found;

COMMENT ON VIEW finance.differences IS 'Each transaction by which received is not white, black and excluded together. None, when all is well. Looks at the whole ledger, unless a transaction_id is asked for.';

COMMENT ON COLUMN finance.differences.transaction_id IS 'Apple''s id of the purchase.';

COMMENT ON COLUMN finance.differences.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.differences.environment IS 'Production, or Sandbox.';

COMMENT ON COLUMN finance.differences.difference IS 'nowhere: a run received it, and it is in none of the three; doubled: it is in more than one.';

COMMENT ON COLUMN finance.differences.run_id IS 'The run that received it first; NULL if none did.';

COMMENT ON COLUMN finance.differences.is_white IS 'Whether it is in white.';

COMMENT ON COLUMN finance.differences.is_black IS 'Whether it is in black.';

COMMENT ON COLUMN finance.differences.is_excluded IS 'Whether it is excluded.';

CREATE TABLE iap.books (
    run_id bigint NOT NULL,
    booked_on date NOT NULL,
    account text NOT NULL,
    day date NOT NULL,
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    currency text,
    price_source text NOT NULL,
    detail text,
    transactions bigint NOT NULL,
    units bigint NOT NULL,
    milliunits numeric,
    CONSTRAINT books_account_check CHECK ((account = ANY (ARRAY['owed'::text, 'delivered'::text, 'excluded'::text, 'refunded'::text])))
);

COMMENT ON TABLE iap.books IS 'The closed journal: what each run that closed its books found posted. Rows are added, and never changed or taken away.';

CREATE VIEW finance.journal AS
 SELECT books.booked_on,
    books.run_id,
    books.account,
    books.day,
    books.bundle_id,
    books.product_id,
    books.currency,
    books.price_source,
    books.detail,
    books.transactions,
    books.units,
    ((books.milliunits / 1000.0))::numeric(20,3) AS amount
   FROM iap.books;

COMMENT ON VIEW finance.journal IS 'What entered (above zero) and left (below zero) each account, by the day on which it was booked. Rows are added when a run closes its books, and never changed: up to any day that is closed, an account''s sum is its balance.';

COMMENT ON COLUMN finance.journal.booked_on IS 'The day on which it happened, or the first day that was still open when it turned up.';

COMMENT ON COLUMN finance.journal.run_id IS 'The run that closed its books over it.';

COMMENT ON COLUMN finance.journal.account IS 'owed: paid and not claimed; delivered; excluded: not owed; refunded: delivered, and refunded since.';

COMMENT ON COLUMN finance.journal.day IS 'owed: of the purchase; delivered: of the delivery; excluded: of the exclusion or the refund; refunded: of the refund.';

COMMENT ON COLUMN finance.journal.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.journal.product_id IS 'The product.';

COMMENT ON COLUMN finance.journal.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.journal.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';

COMMENT ON COLUMN finance.journal.detail IS 'delivered: claim, resolved or import; excluded: the reason; else NULL.';

COMMENT ON COLUMN finance.journal.transactions IS 'How many purchases.';

COMMENT ON COLUMN finance.journal.units IS 'The sum of their quantities.';

COMMENT ON COLUMN finance.journal.amount IS 'In units of the currency; NULL where no price is known.';

CREATE TABLE iap.orders (
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    order_id text NOT NULL,
    user_id text NOT NULL,
    product_id text NOT NULL COLLATE pg_catalog."C",
    quantity integer DEFAULT 1 NOT NULL,
    app_account_token text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT orders_quantity_check CHECK ((quantity > 0))
);

COMMENT ON TABLE iap.orders IS 'The app''s own orders, by which a purchase without an order id can be matched. May be empty.';

COMMENT ON COLUMN iap.orders.app_account_token IS 'The UUID that the client handed to StoreKit with the purchase.';

CREATE VIEW finance.misdeliveries AS
 SELECT ((black.delivered_at AT TIME ZONE 'UTC'::text))::date AS delivery_day,
    black.bundle_id,
    black.product_id,
    products.name AS product_name,
    black.transaction_id,
    black.order_id,
    black.user_id AS delivered_to,
    COALESCE(orders.user_id, first_upload.user_id) AS likely_bought_by,
        CASE
            WHEN (orders.user_id IS NULL) THEN 'upload'::text
            ELSE 'order'::text
        END AS evidence,
    black.quantity AS units,
    black.booked_currency AS currency,
    black.booked_as AS price_source,
    (((black.booked_milliunits)::numeric / 1000.0))::numeric(20,3) AS amount,
    black.purchased_at,
    black.delivered_at,
    black.refunded_at
   FROM (((iap.black
     LEFT JOIN iap.products USING (bundle_id, product_id))
     LEFT JOIN iap.orders ON (((orders.bundle_id = black.bundle_id) AND (orders.order_id = black.order_id) AND (orders.user_id <> black.user_id))))
     LEFT JOIN LATERAL ( SELECT sightings.user_id
           FROM iap.sightings
          WHERE ((sightings.transaction_id = black.transaction_id) AND (sightings.bundle_id = black.bundle_id) AND (sightings.environment = black.environment) AND (sightings.user_id IS NOT NULL))
          ORDER BY sightings.is_named DESC, sightings.uploaded_at, sightings.receipt_id
         LIMIT 1) first_upload ON (true))
  WHERE ((black.environment = 'Production'::text) AND (black.delivered_by = 'claim'::text) AND (COALESCE(orders.user_id, first_upload.user_id) <> black.user_id));

COMMENT ON VIEW finance.misdeliveries IS 'What was delivered to one user although another''s order was named, or another uploaded it first: the one who paid may still want it. Ask for a span of delivered_at: then only those deliveries are looked at.';

COMMENT ON COLUMN finance.misdeliveries.delivery_day IS 'The day on which the goods were credited.';

COMMENT ON COLUMN finance.misdeliveries.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.misdeliveries.product_id IS 'The product.';

COMMENT ON COLUMN finance.misdeliveries.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.misdeliveries.transaction_id IS 'Apple''s id of the purchase.';

COMMENT ON COLUMN finance.misdeliveries.order_id IS 'The app''s own order, if one was named.';

COMMENT ON COLUMN finance.misdeliveries.delivered_to IS 'The user who got the goods.';

COMMENT ON COLUMN finance.misdeliveries.likely_bought_by IS 'The user for whom more speaks.';

COMMENT ON COLUMN finance.misdeliveries.evidence IS 'order: the order that was named is theirs; upload: they uploaded it first.';

COMMENT ON COLUMN finance.misdeliveries.units IS 'The quantity.';

COMMENT ON COLUMN finance.misdeliveries.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.misdeliveries.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';

COMMENT ON COLUMN finance.misdeliveries.amount IS 'In units of the currency; NULL where no price is known.';

COMMENT ON COLUMN finance.misdeliveries.purchased_at IS 'When it was bought.';

COMMENT ON COLUMN finance.misdeliveries.delivered_at IS 'When the goods were credited.';

COMMENT ON COLUMN finance.misdeliveries.refunded_at IS 'When Apple refunded it; NULL if it did not.';

CREATE VIEW finance.refunds_after_delivery AS
 SELECT ((black.refunded_at AT TIME ZONE 'UTC'::text))::date AS refund_day,
    black.bundle_id,
    black.product_id,
    products.name AS product_name,
    black.transaction_id,
    black.user_id,
    black.order_id,
    black.quantity AS units,
    black.booked_currency AS currency,
    black.booked_as AS price_source,
    (((black.booked_milliunits)::numeric / 1000.0))::numeric(20,3) AS amount,
    black.purchased_at,
    black.delivered_at,
    black.refunded_at,
    black.refund_reason
   FROM (iap.black
     LEFT JOIN iap.products USING (bundle_id, product_id))
  WHERE ((black.environment = 'Production'::text) AND (black.refunded_at IS NOT NULL));

COMMENT ON VIEW finance.refunds_after_delivery IS 'What was delivered and is refunded by Apple: the customer has the goods and the money.';

COMMENT ON COLUMN finance.refunds_after_delivery.refund_day IS 'The day of the refund.';

COMMENT ON COLUMN finance.refunds_after_delivery.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.refunds_after_delivery.product_id IS 'The product.';

COMMENT ON COLUMN finance.refunds_after_delivery.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.refunds_after_delivery.transaction_id IS 'Apple''s id of the purchase.';

COMMENT ON COLUMN finance.refunds_after_delivery.user_id IS 'The user who got the goods; NULL if support did not say.';

COMMENT ON COLUMN finance.refunds_after_delivery.order_id IS 'The app''s own order, if one was named.';

COMMENT ON COLUMN finance.refunds_after_delivery.units IS 'The quantity.';

COMMENT ON COLUMN finance.refunds_after_delivery.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.refunds_after_delivery.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';

COMMENT ON COLUMN finance.refunds_after_delivery.amount IS 'In units of the currency; NULL where no price is known.';

COMMENT ON COLUMN finance.refunds_after_delivery.purchased_at IS 'When it was bought.';

COMMENT ON COLUMN finance.refunds_after_delivery.delivered_at IS 'When the goods were credited.';

COMMENT ON COLUMN finance.refunds_after_delivery.refunded_at IS 'When Apple refunded it.';

COMMENT ON COLUMN finance.refunds_after_delivery.refund_reason IS 'As Apple gave it; NULL if Apple gave none.';

CREATE VIEW finance.refunds_before_delivery AS
 SELECT ((excluded.refunded_at AT TIME ZONE 'UTC'::text))::date AS refund_day,
    excluded.bundle_id,
    excluded.product_id,
    products.name AS product_name,
    excluded.transaction_id,
    excluded.quantity AS units,
    excluded.booked_currency AS currency,
    excluded.booked_as AS price_source,
    (((excluded.booked_milliunits)::numeric / 1000.0))::numeric(20,3) AS amount,
    excluded.purchased_at,
    excluded.refunded_at,
    excluded.refund_reason,
    (excluded.run_id IS NULL) AS is_by_support
   FROM (iap.excluded
     LEFT JOIN iap.products USING (bundle_id, product_id))
  WHERE ((excluded.environment = 'Production'::text) AND (excluded.reason = 'refunded'::text));

COMMENT ON VIEW finance.refunds_before_delivery IS 'What was never delivered and is refunded: the customer has the money back, and nothing is owed.';

COMMENT ON COLUMN finance.refunds_before_delivery.refund_day IS 'The day of the refund.';

COMMENT ON COLUMN finance.refunds_before_delivery.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.refunds_before_delivery.product_id IS 'The product.';

COMMENT ON COLUMN finance.refunds_before_delivery.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.refunds_before_delivery.transaction_id IS 'Apple''s id of the purchase.';

COMMENT ON COLUMN finance.refunds_before_delivery.units IS 'The quantity.';

COMMENT ON COLUMN finance.refunds_before_delivery.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.refunds_before_delivery.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';

COMMENT ON COLUMN finance.refunds_before_delivery.amount IS 'In units of the currency; NULL where no price is known.';

COMMENT ON COLUMN finance.refunds_before_delivery.purchased_at IS 'When it was bought.';

COMMENT ON COLUMN finance.refunds_before_delivery.refunded_at IS 'When Apple refunded it; where the support desk said so, when it did.';

COMMENT ON COLUMN finance.refunds_before_delivery.refund_reason IS 'As Apple gave it; NULL if Apple gave none.';

COMMENT ON COLUMN finance.refunds_before_delivery.is_by_support IS 'Whether it is the support desk that said so.';

CREATE VIEW finance.refunds AS
 SELECT refund.refund_day,
    refund.bundle_id,
    refund.product_id,
    refund.product_name,
    refund.moment AS refunded,
    refund.currency,
    refund.price_source,
    count(*) AS transactions,
    sum(refund.units) AS units,
    (sum(refund.amount))::numeric(20,3) AS amount
   FROM ( SELECT refunds_before_delivery.refund_day,
            refunds_before_delivery.bundle_id,
            refunds_before_delivery.product_id,
            refunds_before_delivery.product_name,
            'before delivery'::text AS moment,
            refunds_before_delivery.currency,
            refunds_before_delivery.price_source,
            refunds_before_delivery.units,
            refunds_before_delivery.amount
           FROM finance.refunds_before_delivery
        UNION ALL
         SELECT refunds_after_delivery.refund_day,
            refunds_after_delivery.bundle_id,
            refunds_after_delivery.product_id,
            refunds_after_delivery.product_name,
            'after delivery'::text,
            refunds_after_delivery.currency,
            refunds_after_delivery.price_source,
            refunds_after_delivery.units,
            refunds_after_delivery.amount
           FROM finance.refunds_after_delivery) refund
  GROUP BY refund.refund_day, refund.bundle_id, refund.product_id, refund.product_name, refund.moment, refund.currency, refund.price_source;

COMMENT ON VIEW finance.refunds IS 'What was refunded, by day of refund, product and currency.';

COMMENT ON COLUMN finance.refunds.refund_day IS 'The day of the refund.';

COMMENT ON COLUMN finance.refunds.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.refunds.product_id IS 'The product.';

COMMENT ON COLUMN finance.refunds.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.refunds.refunded IS 'before delivery, or after delivery.';

COMMENT ON COLUMN finance.refunds.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.refunds.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';

COMMENT ON COLUMN finance.refunds.transactions IS 'How many purchases.';

COMMENT ON COLUMN finance.refunds.units IS 'The sum of their quantities.';

COMMENT ON COLUMN finance.refunds.amount IS 'In units of the currency; NULL where no price is known.';

CREATE TABLE iap.sales (
    report_id bigint NOT NULL,
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL,
    storefront text NOT NULL,
    price_milliunits bigint,
    currency text,
    proceeds_milliunits bigint,
    proceeds_currency text,
    units bigint NOT NULL,
    is_refund boolean GENERATED ALWAYS AS ((units < 0)) STORED NOT NULL,
    CONSTRAINT price_has_currency CHECK (((price_milliunits IS NULL) = (currency IS NULL))),
    CONSTRAINT proceeds_have_currency CHECK (((proceeds_milliunits IS NULL) = (proceeds_currency IS NULL))),
    CONSTRAINT sales_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT sales_price_milliunits_check CHECK ((price_milliunits >= 0)),
    CONSTRAINT sales_proceeds_currency_check CHECK ((proceeds_currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT sales_proceeds_milliunits_check CHECK ((proceeds_milliunits >= 0)),
    CONSTRAINT sales_storefront_check CHECK ((storefront ~ '^[A-Z]{3}$'::text))
);

COMMENT ON TABLE iap.sales IS 'Units of in-app purchases by day, product, country and price, as Apple''s reports tell them.';

COMMENT ON COLUMN iap.sales.type IS 'Apple''s Product Type Identifier, such as IA1 or IAY.';

COMMENT ON COLUMN iap.sales.storefront IS 'The country by its code of three letters, as transactions have it.';

COMMENT ON COLUMN iap.sales.price_milliunits IS 'What the customer paid for one unit; NULL if the report does not say.';

COMMENT ON COLUMN iap.sales.proceeds_milliunits IS 'The developer''s part of one unit.';

COMMENT ON COLUMN iap.sales.units IS 'Negative for refunds.';

CREATE TABLE iap.sales_reports (
    report_id bigint NOT NULL,
    day date NOT NULL,
    developer text NOT NULL,
    bundle_ids text[] NOT NULL COLLATE pg_catalog."C",
    file text NOT NULL,
    lines bigint NOT NULL,
    refused bigint NOT NULL,
    read_at timestamp with time zone DEFAULT now() NOT NULL,
    read_by text DEFAULT SESSION_USER NOT NULL,
    replaced_at timestamp with time zone,
    CONSTRAINT sales_reports_developer_check CHECK ((octet_length(developer) <= 1000)),
    CONSTRAINT sales_reports_lines_check CHECK ((lines >= 0)),
    CONSTRAINT sales_reports_refused_check CHECK ((refused >= 0))
);

COMMENT ON TABLE iap.sales_reports IS 'The Sales and Trends reports of Apple''s that were read, one for each day and account, and those they replaced.';

COMMENT ON COLUMN iap.sales_reports.day IS 'A day of Pacific Time.';

COMMENT ON COLUMN iap.sales_reports.developer IS 'The account, as the report calls it; empty where it does not say.';

COMMENT ON COLUMN iap.sales_reports.bundle_ids IS 'The apps that it tells of.';

COMMENT ON COLUMN iap.sales_reports.lines IS 'Lines of in-app purchases that were taken.';

COMMENT ON COLUMN iap.sales_reports.refused IS 'Lines of the file that were refused: something of the day is missing.';

COMMENT ON COLUMN iap.sales_reports.read_by IS 'The database login that read it.';

COMMENT ON COLUMN iap.sales_reports.replaced_at IS 'When a later report of the day took its place; NULL if it counts.';

CREATE VIEW iap.sold_against_seen AS
 WITH seen AS NOT MATERIALIZED (
         SELECT white.transaction_id,
            white.original_transaction_id,
            white.bundle_id,
            white.product_id,
            white.product_type,
            white.storefront,
            white.quantity,
            white.purchased_at,
            NULL::timestamp with time zone AS refunded_at
           FROM iap.white
          WHERE (white.environment = 'Production'::text)
        UNION ALL
         SELECT black.transaction_id,
            black.original_transaction_id,
            black.bundle_id,
            black.product_id,
            black.product_type,
            black.storefront,
            black.quantity,
            black.purchased_at,
            black.refunded_at
           FROM iap.black
          WHERE (black.environment = 'Production'::text)
        UNION ALL
         SELECT excluded.transaction_id,
            excluded.original_transaction_id,
            excluded.bundle_id,
            excluded.product_id,
            excluded.product_type,
            excluded.storefront,
            excluded.quantity,
            excluded.purchased_at,
            excluded.refunded_at
           FROM iap.excluded
          WHERE ((excluded.environment = 'Production'::text) AND (excluded.reason <> ALL (ARRAY['sandbox'::text, 'foreign_bundle'::text, 'family_shared'::text, 'invalid_quantity'::text, 'restored'::text])))
        ), counted AS (
         SELECT sales_reports.day,
            sales.bundle_id,
            sales.product_id,
            sales.storefront,
            sales.currency,
                CASE
                    WHEN (sales.units > 0) THEN sales.units
                    ELSE (0)::bigint
                END AS sold,
            0 AS seen,
                CASE
                    WHEN (sales.units < 0) THEN (- sales.units)
                    ELSE (0)::bigint
                END AS refunds_sold,
            0 AS refunds_seen,
                CASE
                    WHEN (sales.units > 0) THEN (sales.units * sales.price_milliunits)
                    ELSE (0)::bigint
                END AS milliunits
           FROM (iap.sales
             JOIN iap.sales_reports USING (report_id))
          WHERE (sales_reports.replaced_at IS NULL)
        UNION ALL
         SELECT ((seen.purchased_at AT TIME ZONE 'America/Los_Angeles'::text))::date AS timezone,
            seen.bundle_id,
            seen.product_id,
            seen.storefront,
            NULL::text,
            0,
            seen.quantity,
            0,
            0,
            0
           FROM (seen
             LEFT JOIN iap.products USING (bundle_id, product_id))
          WHERE ((seen.transaction_id = seen.original_transaction_id) OR (COALESCE(seen.product_type, products.type, ''::text) <> 'non_consumable'::text))
        UNION ALL
         SELECT ((seen.refunded_at AT TIME ZONE 'America/Los_Angeles'::text))::date AS timezone,
            seen.bundle_id,
            seen.product_id,
            seen.storefront,
            NULL::text,
            0,
            0,
            0,
            seen.quantity,
            0
           FROM (seen
             LEFT JOIN iap.products USING (bundle_id, product_id))
          WHERE ((seen.refunded_at IS NOT NULL) AND ((seen.transaction_id = seen.original_transaction_id) OR (COALESCE(seen.product_type, products.type, ''::text) <> 'non_consumable'::text)))
        ), placed AS (
         SELECT counted.day,
            counted.bundle_id,
            counted.product_id,
            counted.storefront,
            counted.currency,
            counted.sold,
            counted.seen,
            counted.refunds_sold,
            counted.refunds_seen,
            counted.milliunits,
            bool_and((counted.storefront IS NOT NULL)) OVER (PARTITION BY counted.day, counted.bundle_id, counted.product_id) AS is_placed
           FROM counted
        ), told AS (
         SELECT DISTINCT sales_reports.developer,
            unnest(sales_reports.bundle_ids) AS bundle_id
           FROM iap.sales_reports
          WHERE (sales_reports.replaced_at IS NULL)
        )
 SELECT placed.day,
    placed.bundle_id,
    placed.product_id,
        CASE
            WHEN placed.is_placed THEN 'country'::text
            ELSE 'product'::text
        END AS compared_by,
        CASE
            WHEN placed.is_placed THEN placed.storefront
            ELSE NULL::text
        END AS storefront,
    (sum(placed.sold))::bigint AS units_sold,
    sum(placed.seen) AS units_seen,
    ((sum(placed.sold) - (sum(placed.seen))::numeric))::bigint AS difference,
    (sum(placed.refunds_sold))::bigint AS refunds_sold,
    sum(placed.refunds_seen) AS refunds_seen,
    ((sum(placed.refunds_sold) - (sum(placed.refunds_seen))::numeric))::bigint AS refund_difference,
        CASE
            WHEN ((min(placed.currency) = max(placed.currency)) AND bool_and((placed.milliunits IS NOT NULL))) THEN min(placed.currency)
            ELSE NULL::text
        END AS currency,
        CASE
            WHEN ((min(placed.currency) = max(placed.currency)) AND bool_and((placed.milliunits IS NOT NULL))) THEN (sum(placed.milliunits))::bigint
            ELSE NULL::bigint
        END AS milliunits_sold
   FROM (placed
     JOIN ( SELECT DISTINCT sales_reports.day,
            told.bundle_id
           FROM (iap.sales_reports
             JOIN told USING (developer))
          WHERE (sales_reports.replaced_at IS NULL)) compared ON (((compared.day = placed.day) AND (compared.bundle_id = placed.bundle_id))))
  GROUP BY placed.day, placed.bundle_id, placed.product_id, placed.is_placed,
        CASE
            WHEN placed.is_placed THEN placed.storefront
            ELSE NULL::text
        END;

COMMENT ON VIEW iap.sold_against_seen IS 'What finance.sold_against_seen shows, for the nightly report.';

CREATE VIEW finance.sold_against_seen AS
 SELECT sold.day,
    sold.bundle_id,
    sold.product_id,
    products.name AS product_name,
    sold.compared_by,
    sold.storefront,
    sold.units_sold,
    sold.units_seen,
    sold.difference,
    (sum(sold.difference) OVER (PARTITION BY sold.bundle_id, sold.product_id ORDER BY sold.day RANGE BETWEEN '1 day'::interval PRECEDING AND '1 day'::interval FOLLOWING))::bigint AS difference_around,
    sold.refunds_sold,
    sold.refunds_seen,
    sold.refund_difference,
    sold.currency,
    (((sold.milliunits_sold)::numeric / 1000.0))::numeric(20,3) AS amount_sold
   FROM (iap.sold_against_seen sold
     LEFT JOIN iap.products USING (bundle_id, product_id));

COMMENT ON VIEW finance.sold_against_seen IS 'Units that Apple sold and the tables saw, by day and product: a positive difference is what nothing ever told the server of. Only days whose sales report was read. Seen are the white, black and excluded transactions of production, without restored, family-shared and foreign ones. Days are days of Pacific Time, as Apple''s are.';

COMMENT ON COLUMN finance.sold_against_seen.day IS 'The day of the purchase, or of the refund, in Pacific Time.';

COMMENT ON COLUMN finance.sold_against_seen.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.sold_against_seen.product_id IS 'The product.';

COMMENT ON COLUMN finance.sold_against_seen.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.sold_against_seen.compared_by IS 'country: every transaction of the day and product tells its storefront; product: not all do (verifyReceipt tells none), so all countries are compared together.';

COMMENT ON COLUMN finance.sold_against_seen.storefront IS 'The country; NULL where it is compared by product.';

COMMENT ON COLUMN finance.sold_against_seen.units_sold IS 'Units that Apple''s report says were sold.';

COMMENT ON COLUMN finance.sold_against_seen.units_seen IS 'Units of the transactions that the tables hold.';

COMMENT ON COLUMN finance.sold_against_seen.difference IS 'Sold less seen: above zero, something never came.';

COMMENT ON COLUMN finance.sold_against_seen.difference_around IS 'The product''s difference over this day, the one before and the one after, in all countries: zero where Apple and the receipt put a purchase at midnight on different days.';

COMMENT ON COLUMN finance.sold_against_seen.refunds_sold IS 'Units that Apple''s report says were refunded on the day.';

COMMENT ON COLUMN finance.sold_against_seen.refunds_seen IS 'Units of the transactions refunded on the day.';

COMMENT ON COLUMN finance.sold_against_seen.refund_difference IS 'Refunds of the report less refunds of the tables.';

COMMENT ON COLUMN finance.sold_against_seen.currency IS 'In which all units sold were paid; NULL if in several or in none that is known.';

COMMENT ON COLUMN finance.sold_against_seen.amount_sold IS 'What customers paid for the units sold, in that currency; NULL without one.';

CREATE VIEW finance.unclaimed_liability AS
 SELECT owed.purchase_day,
    owed.bundle_id,
    owed.product_id,
    owed.product_name,
    owed.currency,
    owed.price_source,
    owed.age_days,
    finance.ageing(owed.age_days) AS ageing,
    owed.transactions,
    owed.units,
    owed.amount
   FROM ( SELECT ((white.purchased_at AT TIME ZONE 'UTC'::text))::date AS purchase_day,
            white.bundle_id,
            white.product_id,
            products.name AS product_name,
            white.booked_currency AS currency,
            white.booked_as AS price_source,
            GREATEST((((now() AT TIME ZONE 'UTC'::text))::date - ((white.purchased_at AT TIME ZONE 'UTC'::text))::date), 0) AS age_days,
            count(*) AS transactions,
            sum(white.quantity) AS units,
            ((sum(white.booked_milliunits) / 1000.0))::numeric(20,3) AS amount
           FROM (iap.white
             LEFT JOIN iap.products USING (bundle_id, product_id))
          WHERE (white.environment = 'Production'::text)
          GROUP BY (((white.purchased_at AT TIME ZONE 'UTC'::text))::date), white.bundle_id, white.product_id, products.name, white.booked_currency, white.booked_as, GREATEST((((now() AT TIME ZONE 'UTC'::text))::date - ((white.purchased_at AT TIME ZONE 'UTC'::text))::date), 0)) owed;

COMMENT ON VIEW finance.unclaimed_liability IS 'What customers paid and did not get, as of now: the white table by day of purchase, product and currency.';

COMMENT ON COLUMN finance.unclaimed_liability.purchase_day IS 'The day of the purchase.';

COMMENT ON COLUMN finance.unclaimed_liability.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.unclaimed_liability.product_id IS 'The product.';

COMMENT ON COLUMN finance.unclaimed_liability.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.unclaimed_liability.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.unclaimed_liability.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';

COMMENT ON COLUMN finance.unclaimed_liability.age_days IS 'Whole days from the day of purchase to today.';

COMMENT ON COLUMN finance.unclaimed_liability.ageing IS 'The age in days: 0-1, 2-7, 8-30, 31-90 or over 90.';

COMMENT ON COLUMN finance.unclaimed_liability.transactions IS 'How many purchases.';

COMMENT ON COLUMN finance.unclaimed_liability.units IS 'The sum of their quantities.';

COMMENT ON COLUMN finance.unclaimed_liability.amount IS 'In units of the currency; NULL where no price is known.';

CREATE TABLE iap.postings (
    booked_on date NOT NULL,
    account text NOT NULL,
    day date NOT NULL,
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    currency text,
    price_source text NOT NULL,
    detail text,
    transactions bigint NOT NULL,
    units bigint NOT NULL,
    milliunits numeric,
    CONSTRAINT postings_account_check CHECK ((account = ANY (ARRAY['owed'::text, 'delivered'::text, 'excluded'::text, 'refunded'::text])))
);

COMMENT ON TABLE iap.postings IS 'What was posted since a run last closed its books: the open end of the journal. Written by triggers alone.';

COMMENT ON COLUMN iap.postings.day IS 'owed: of the purchase; delivered: of the delivery; excluded: of the exclusion or the refund; refunded: of the refund.';

COMMENT ON COLUMN iap.postings.detail IS 'delivered: by what; excluded: the reason.';

CREATE VIEW finance.unexplained AS
 WITH posted AS (
         SELECT books.account,
            books.bundle_id,
            books.product_id,
            books.currency,
            books.transactions,
            books.units,
            books.milliunits
           FROM iap.books
        UNION ALL
         SELECT postings.account,
            postings.bundle_id,
            postings.product_id,
            postings.currency,
            postings.transactions,
            postings.units,
            postings.milliunits
           FROM iap.postings
        ), held AS (
         SELECT 'owed'::text AS account,
            white.bundle_id,
            white.product_id,
            white.booked_currency AS currency,
            white.quantity,
            white.booked_milliunits
           FROM iap.white
          WHERE (white.environment = 'Production'::text)
        UNION ALL
         SELECT line_1.account,
            black.bundle_id,
            black.product_id,
            black.booked_currency,
            black.quantity,
            black.booked_milliunits
           FROM (iap.black
             CROSS JOIN LATERAL ( VALUES ('delivered'::text,black.delivered_at), ('refunded'::text,black.refunded_at)) line_1(account, moment))
          WHERE ((black.environment = 'Production'::text) AND (line_1.moment IS NOT NULL))
        UNION ALL
         SELECT 'excluded'::text,
            excluded.bundle_id,
            excluded.product_id,
            excluded.booked_currency,
            excluded.quantity,
            excluded.booked_milliunits
           FROM iap.excluded
          WHERE (excluded.environment = 'Production'::text)
        )
 SELECT line.account,
    line.bundle_id,
    line.product_id,
    line.currency,
    (sum(line.transactions))::bigint AS transactions,
    (sum(line.units))::bigint AS units,
    ((sum(line.milliunits) / 1000.0))::numeric(20,3) AS amount
   FROM ( SELECT held.account,
            held.bundle_id,
            held.product_id,
            held.currency,
            1 AS transactions,
            held.quantity AS units,
            COALESCE(held.booked_milliunits, (0)::bigint) AS milliunits
           FROM held
        UNION ALL
         SELECT posted.account,
            posted.bundle_id,
            posted.product_id,
            posted.currency,
            (- posted.transactions),
            (- posted.units),
            (- COALESCE(posted.milliunits, (0)::numeric))
           FROM posted) line
  GROUP BY line.account, line.bundle_id, line.product_id, line.currency
 HAVING ((sum(line.transactions) <> (0)::numeric) OR (sum(line.units) <> (0)::numeric) OR (sum(line.milliunits) <> (0)::numeric));

COMMENT ON VIEW finance.unexplained IS 'What the tables hold beyond what the journal and the postings since say. Nothing, when all is well. Looks at the whole ledger.';

COMMENT ON COLUMN finance.unexplained.account IS 'As in the journal.';

COMMENT ON COLUMN finance.unexplained.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.unexplained.product_id IS 'The product.';

COMMENT ON COLUMN finance.unexplained.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.unexplained.transactions IS 'How many purchases more are in the table.';

COMMENT ON COLUMN finance.unexplained.units IS 'How many units more.';

COMMENT ON COLUMN finance.unexplained.amount IS 'How much more, in units of the currency.';

CREATE TABLE iap.cases (
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    likelihood text NOT NULL,
    reasons text[] NOT NULL,
    action text NOT NULL,
    owner_user_ids text[] NOT NULL,
    candidates jsonb DEFAULT '[]'::jsonb NOT NULL,
    order_ids text[] DEFAULT '{}'::text[] NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    opened_run_id bigint NOT NULL,
    assessed_at timestamp with time zone NOT NULL,
    assessed_run_id bigint NOT NULL,
    reopened_run_id bigint,
    closed_at timestamp with time zone,
    closed_as text,
    closed_by text,
    note text,
    CONSTRAINT cases_closed_as_check CHECK ((closed_as = ANY (ARRAY['delivered'::text, 'dismissed'::text, 'refunded'::text, 'withdrawn'::text]))),
    CONSTRAINT cases_likelihood_check CHECK ((likelihood = ANY (ARRAY['high'::text, 'medium'::text, 'low'::text]))),
    CONSTRAINT cases_reasons_check CHECK ((cardinality(reasons) > 0)),
    CONSTRAINT cases_state_check CHECK ((state = ANY (ARRAY['open'::text, 'closed'::text]))),
    CONSTRAINT closed_when_and_how CHECK ((((state = 'closed'::text) = (closed_at IS NOT NULL)) AND ((closed_at IS NULL) = (closed_as IS NULL)) AND ((closed_as IS NULL) = (closed_by IS NULL)))),
    CONSTRAINT only_closed_has_note CHECK (((note IS NULL) OR (state = 'closed'::text)))
);

COMMENT ON TABLE iap.cases IS 'White transactions past their grace: likely lost orders, as the last run judged them.';

COMMENT ON COLUMN iap.cases.owner_user_ids IS 'The likeliest first; one is the owner, none is unknown.';

COMMENT ON COLUMN iap.cases.closed_by IS 'claim:USER, run N, import, or the person who resolved it.';

CREATE TABLE iap.claims (
    claim_id bigint NOT NULL,
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL,
    order_id text,
    outcome text NOT NULL,
    attempted_at timestamp with time zone DEFAULT now() NOT NULL,
    seal bigint,
    CONSTRAINT claims_outcome_check CHECK ((outcome = ANY (ARRAY['delivered'::text, 'already_delivered'::text, 'not_verified'::text, 'wrong_user'::text, 'excluded'::text])))
);

COMMENT ON TABLE iap.claims IS 'Every attempt to claim whose transaction was committed, and its outcome.';

COMMENT ON COLUMN iap.claims.seal IS 'Of the whole attempt: see audit.claim_seal.';

ALTER TABLE iap.claims ALTER COLUMN claim_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME iap.claims_claim_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE iap.events ALTER COLUMN event_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME iap.events_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE iap.migrations (
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT migrations_checksum_check CHECK ((checksum ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT migrations_number_check CHECK ((number > 0))
);

COMMENT ON TABLE iap.migrations IS 'The steps of the schema that were applied.';

COMMENT ON COLUMN iap.migrations.checksum IS 'The SHA-256 of the step''s text, in hexadecimal.';

CREATE TABLE iap.movements (
    movement_id bigint NOT NULL,
    kind text NOT NULL,
    transactions bigint NOT NULL,
    units bigint NOT NULL,
    hash bigint NOT NULL,
    moved_at timestamp with time zone DEFAULT now() NOT NULL,
    run_id bigint,
    closed_run_id bigint,
    CONSTRAINT movements_kind_check CHECK ((kind = ANY (ARRAY['new'::text, 'claimed'::text, 'resolved'::text, 'refunded'::text]))),
    CONSTRAINT movements_transactions_check CHECK ((transactions > 0))
);

COMMENT ON TABLE iap.movements IS 'What entered and left the white table, until a run closes its books over it.';

COMMENT ON COLUMN iap.movements.kind IS 'new: entered white, for the first time or again by iap.reopen; claimed, resolved, refunded: left it.';

COMMENT ON COLUMN iap.movements.hash IS 'The exclusive or of hashtextextended(transaction_id, 0).';

COMMENT ON COLUMN iap.movements.closed_run_id IS 'The run whose books count it; NULL until then.';

ALTER TABLE iap.movements ALTER COLUMN movement_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME iap.movements_movement_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE iap.receipts (
    bucket smallint NOT NULL,
    receipt_id bigint NOT NULL,
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    user_id text,
    payload text,
    payload_sha256 bytea NOT NULL,
    order_id text,
    transaction_id text,
    device jsonb,
    submitted_at timestamp with time zone DEFAULT now() NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT now(),
    last_attempt_at timestamp with time zone,
    verified_at timestamp with time zone,
    error_code text,
    error_text text,
    signature text,
    made_at timestamp with time zone,
    payload_purged_at timestamp with time zone,
    device_purged_at timestamp with time zone,
    is_erased boolean DEFAULT false NOT NULL,
    CONSTRAINT device_unless_purged CHECK (((device IS NULL) OR (device_purged_at IS NULL))),
    CONSTRAINT due_while_open CHECK (((next_attempt_at IS NOT NULL) = (state = ANY (ARRAY['waiting'::text, 'watched'::text])))),
    CONSTRAINT error_has_text CHECK (((error_code IS NULL) = (error_text IS NULL))),
    CONSTRAINT error_was_met CHECK (((error_code IS NULL) OR (last_attempt_at IS NOT NULL))),
    CONSTRAINT failed_attempts_have_error CHECK (((attempts = 0) OR (error_code IS NOT NULL))),
    CONSTRAINT payload_chooses_bucket CHECK (((get_byte(payload_sha256, 0) & 63) = bucket)),
    CONSTRAINT payload_unless_purged CHECK (((payload IS NULL) = (payload_purged_at IS NOT NULL))),
    CONSTRAINT payload_while_open CHECK (((payload IS NOT NULL) OR (next_attempt_at IS NULL))),
    CONSTRAINT receipt_id_names_bucket CHECK (((receipt_id & (63)::bigint) = bucket)),
    CONSTRAINT receipts_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT receipts_bucket_check CHECK (((bucket >= 0) AND (bucket <= 63))),
    CONSTRAINT receipts_payload_sha256_check CHECK ((octet_length(payload_sha256) = 32)),
    CONSTRAINT receipts_signature_check CHECK ((signature = ANY (ARRAY['valid'::text, 'invalid'::text, 'untrusted'::text, 'absent'::text]))),
    CONSTRAINT receipts_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'watched'::text, 'settled'::text, 'unusable'::text]))),
    CONSTRAINT settled_has_no_error CHECK (((state <> 'settled'::text) OR (error_code IS NULL))),
    CONSTRAINT unusable_has_reason CHECK (((state <> 'unusable'::text) OR (error_code IS NOT NULL))),
    CONSTRAINT verified_when_it_says_so CHECK (((state <> ALL (ARRAY['watched'::text, 'settled'::text])) OR (verified_at IS NOT NULL)))
);

COMMENT ON TABLE iap.receipts IS 'The inbox: what clients uploaded as proof of purchase.';

COMMENT ON COLUMN iap.receipts.bucket IS 'The slice of the inbox, by the payload''s hash; one worker owns a slice at a time.';

COMMENT ON COLUMN iap.receipts.receipt_id IS 'A running number times 64, plus the bucket.';

COMMENT ON COLUMN iap.receipts.user_id IS 'Who was logged in; NULL if nobody.';

COMMENT ON COLUMN iap.receipts.payload IS 'App receipt (base64), signed transaction (JWS) or iOS 6 receipt; may be empty; NULL when it was purged.';

COMMENT ON COLUMN iap.receipts.transaction_id IS 'What it was first uploaded for, as the client said; see also iap.uploads.';

COMMENT ON COLUMN iap.receipts.state IS 'waiting: not verified yet; watched: holds white transactions, asked again each night; settled: nothing open; unusable: can''t be verified, see error_code.';

COMMENT ON COLUMN iap.receipts.attempts IS 'Nights on which it was tried without success since it last succeeded.';

COMMENT ON COLUMN iap.receipts.next_attempt_at IS 'From when on the nightly job tries it; NULL if never again.';

COMMENT ON COLUMN iap.receipts.payload_purged_at IS 'When the payload was taken away; see iap.purge_payloads.';

COMMENT ON COLUMN iap.receipts.device_purged_at IS 'When the device was taken away; it is not taken again.';

COMMENT ON COLUMN iap.receipts.is_erased IS 'Whether the user was erased; see iap.erase_user.';

CREATE VIEW iap.purgeable AS
 SELECT receipts.bucket,
    receipts.receipt_id,
    receipts.last_attempt_at,
    receipts.payload_purged_at,
    receipts.device,
    receipts.is_erased
   FROM iap.receipts
  WHERE ((receipts.next_attempt_at IS NULL) AND (NOT (EXISTS ( SELECT
           FROM (iap.sightings
             JOIN iap.white USING (transaction_id, bundle_id, environment))
          WHERE ((sightings.receipt_id = receipts.receipt_id) AND (sightings.bucket = receipts.bucket))))));

COMMENT ON VIEW iap.purgeable IS 'The receipts on which nothing is open: neither they themselves nor a transaction that was seen in them.';

CREATE SEQUENCE iap.receipt_number
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER TABLE iap.runs ALTER COLUMN run_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME iap.runs_run_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE iap.sales_reports ALTER COLUMN report_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME iap.sales_reports_report_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE iap.uploads (
    bucket smallint NOT NULL,
    receipt_id bigint NOT NULL,
    transaction_id text,
    order_id text,
    first_uploaded_at timestamp with time zone DEFAULT now() NOT NULL,
    last_uploaded_at timestamp with time zone DEFAULT now() NOT NULL,
    times integer DEFAULT 1 NOT NULL,
    CONSTRAINT uploads_times_check CHECK ((times > 0))
);

COMMENT ON TABLE iap.uploads IS 'For what each receipt was uploaded: a row for each pair of transaction and order.';

COMMENT ON COLUMN iap.uploads.times IS 'How often.';

CREATE UNLOGGED TABLE iap.verified (
    bucket smallint NOT NULL,
    receipt_id bigint NOT NULL,
    user_id text,
    order_id text,
    is_named boolean NOT NULL,
    in_receipt boolean NOT NULL,
    uploaded_at timestamp with time zone NOT NULL,
    is_best boolean NOT NULL,
    exclusion text,
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    product_type text,
    quantity integer NOT NULL,
    purchased_at timestamp with time zone NOT NULL,
    original_purchased_at timestamp with time zone,
    expires_at timestamp with time zone,
    refunded_at timestamp with time zone,
    refund_reason text,
    ownership text,
    is_trial boolean NOT NULL,
    web_order_line_item_id text,
    app_account_token text,
    price_milliunits bigint,
    currency text,
    storefront text,
    found_bundle_id text COLLATE pg_catalog."C",
    source iap.source NOT NULL,
    verified_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000');

COMMENT ON TABLE iap.verified IS 'Staging: the transactions of the batches in hand. Empty between batches.';

ALTER TABLE ONLY audit.sealings
    ADD CONSTRAINT sealings_pkey PRIMARY KEY (sealing_id);

ALTER TABLE ONLY audit.seals
    ADD CONSTRAINT seals_event_id_key UNIQUE (event_id);

ALTER TABLE ONLY audit.seals
    ADD CONSTRAINT seals_pkey PRIMARY KEY ("position");

ALTER TABLE ONLY iap.black
    ADD CONSTRAINT black_pkey PRIMARY KEY (transaction_id, bundle_id, environment);

ALTER TABLE ONLY iap.cases
    ADD CONSTRAINT cases_pkey PRIMARY KEY (transaction_id, bundle_id, environment);

ALTER TABLE ONLY iap.claims
    ADD CONSTRAINT claims_pkey PRIMARY KEY (transaction_id, claim_id);

ALTER TABLE ONLY iap.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY iap.excluded
    ADD CONSTRAINT excluded_pkey PRIMARY KEY (transaction_id, bundle_id, environment);

ALTER TABLE ONLY iap.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (number);

ALTER TABLE ONLY iap.movements
    ADD CONSTRAINT movements_pkey PRIMARY KEY (movement_id);

ALTER TABLE ONLY iap.receipts
    ADD CONSTRAINT one_receipt_a_user_and_payload UNIQUE NULLS NOT DISTINCT (bucket, payload_sha256, bundle_id, user_id);

ALTER TABLE ONLY iap.sales
    ADD CONSTRAINT one_row_a_price UNIQUE NULLS NOT DISTINCT (report_id, bundle_id, product_id, type, storefront, price_milliunits, currency, proceeds_milliunits, proceeds_currency, is_refund);

ALTER TABLE ONLY iap.books
    ADD CONSTRAINT one_row_a_run_and_figure UNIQUE NULLS NOT DISTINCT (account, booked_on, run_id, day, bundle_id, product_id, currency, price_source, detail);

ALTER TABLE ONLY iap.uploads
    ADD CONSTRAINT one_upload_a_purpose UNIQUE NULLS NOT DISTINCT (bucket, receipt_id, transaction_id, order_id);

ALTER TABLE ONLY iap.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (order_id, bundle_id);

ALTER TABLE ONLY iap.products
    ADD CONSTRAINT products_pkey PRIMARY KEY (bundle_id, product_id);

ALTER TABLE ONLY iap.receipts
    ADD CONSTRAINT receipts_pkey PRIMARY KEY (bucket, receipt_id);

ALTER TABLE ONLY iap.runs
    ADD CONSTRAINT runs_closing_number_key UNIQUE (closing_number);

ALTER TABLE ONLY iap.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (run_id);

ALTER TABLE ONLY iap.sales_reports
    ADD CONSTRAINT sales_reports_pkey PRIMARY KEY (report_id);

ALTER TABLE ONLY iap.sightings
    ADD CONSTRAINT sightings_pkey PRIMARY KEY (transaction_id, bundle_id, environment, bucket, receipt_id);

ALTER TABLE ONLY iap.verified
    ADD CONSTRAINT verified_pkey PRIMARY KEY (transaction_id, bundle_id, environment, bucket, receipt_id);

ALTER TABLE ONLY iap.white
    ADD CONSTRAINT white_pkey PRIMARY KEY (transaction_id, bundle_id, environment);

CREATE INDEX black_by_delivery ON iap.black USING btree (delivered_at);

CREATE INDEX black_by_order ON iap.black USING btree (order_id, bundle_id) WHERE (order_id IS NOT NULL);

CREATE INDEX black_by_original ON iap.black USING btree (original_transaction_id);

CREATE INDEX black_by_pacific_day ON iap.black USING brin ((((purchased_at AT TIME ZONE 'America/Los_Angeles'::text))::date));

CREATE INDEX black_by_refund ON iap.black USING btree ((((refunded_at AT TIME ZONE 'America/Los_Angeles'::text))::date)) WHERE (refunded_at IS NOT NULL);

CREATE INDEX black_by_user ON iap.black USING btree (user_id, bundle_id);

CREATE INDEX cases_by_order ON iap.cases USING gin (order_ids) WITH (fastupdate=off) WHERE (state = 'open'::text);

CREATE INDEX cases_by_owner ON iap.cases USING gin (owner_user_ids) WITH (fastupdate=off) WHERE (state = 'open'::text);

CREATE INDEX cases_open ON iap.cases USING btree (likelihood, opened_at) WHERE (state = 'open'::text);

CREATE INDEX claims_by_order ON iap.claims USING btree (order_id) WHERE (order_id IS NOT NULL);

CREATE INDEX claims_delivered ON iap.claims USING btree (attempted_at) WHERE (outcome = 'delivered'::text);

CREATE INDEX events_by_run ON iap.events USING btree (run_id) WHERE (run_id IS NOT NULL);

CREATE INDEX events_by_transaction ON iap.events USING btree (transaction_id) WHERE (transaction_id IS NOT NULL);

CREATE INDEX excluded_by_pacific_day ON iap.excluded USING brin ((((purchased_at AT TIME ZONE 'America/Los_Angeles'::text))::date));

CREATE INDEX excluded_by_reason ON iap.excluded USING btree (reason, excluded_at);

CREATE INDEX excluded_by_setting ON iap.excluded USING btree (bundle_id, environment, purchased_at) WHERE ((reason = ANY (ARRAY['sandbox'::text, 'before_start'::text])) AND (refunded_at IS NULL));

CREATE INDEX movements_open ON iap.movements USING btree (movement_id) WHERE (closed_run_id IS NULL);

CREATE INDEX orders_by_token ON iap.orders USING btree (app_account_token) WHERE (app_account_token IS NOT NULL);

CREATE INDEX orders_by_user ON iap.orders USING btree (user_id, bundle_id, product_id, created_at);

CREATE INDEX receipts_by_user ON iap.receipts USING btree (user_id, bundle_id);

CREATE INDEX receipts_due ON iap.receipts USING btree (bucket, payload_sha256, receipt_id) INCLUDE (next_attempt_at) WHERE (next_attempt_at IS NOT NULL);

CREATE INDEX receipts_erased ON iap.receipts USING btree (bucket) WHERE (is_erased AND (payload_purged_at IS NULL));

CREATE INDEX receipts_in_trouble ON iap.receipts USING btree (bucket, receipt_id) WHERE (error_code IS NOT NULL);

CREATE INDEX receipts_with_device ON iap.receipts USING btree (bucket, last_attempt_at) WHERE ((next_attempt_at IS NULL) AND (device IS NOT NULL));

CREATE INDEX receipts_with_payload ON iap.receipts USING btree (bucket, last_attempt_at) WHERE ((next_attempt_at IS NULL) AND (payload_purged_at IS NULL));

CREATE UNIQUE INDEX sales_reports_in_force ON iap.sales_reports USING btree (day, developer) WHERE (replaced_at IS NULL);

CREATE INDEX sightings_by_receipt ON iap.sightings USING btree (receipt_id, bucket);

CREATE INDEX sightings_by_upload ON iap.sightings USING btree (uploaded_at);

CREATE INDEX uploads_by_order ON iap.uploads USING btree (order_id) WHERE (order_id IS NOT NULL);

CREATE INDEX uploads_by_transaction ON iap.uploads USING btree (transaction_id) WHERE (transaction_id IS NOT NULL);

CREATE INDEX verified_by_bucket ON iap.verified USING btree (bucket);

CREATE INDEX white_by_original ON iap.white USING btree (original_transaction_id);

CREATE INDEX white_by_purchase ON iap.white USING btree (bundle_id, purchased_at);

CREATE TRIGGER sealings_are_kept BEFORE DELETE OR UPDATE ON audit.sealings FOR EACH ROW EXECUTE FUNCTION iap.refuse_change();

CREATE TRIGGER sealings_are_not_truncated BEFORE TRUNCATE ON audit.sealings FOR EACH STATEMENT EXECUTE FUNCTION iap.refuse_change();

CREATE TRIGGER seals_are_kept BEFORE DELETE ON audit.seals FOR EACH ROW EXECUTE FUNCTION iap.refuse_change();

CREATE TRIGGER seals_are_not_truncated BEFORE TRUNCATE ON audit.seals FOR EACH STATEMENT EXECUTE FUNCTION iap.refuse_change();

CREATE TRIGGER books_are_kept BEFORE DELETE OR UPDATE ON iap.books FOR EACH ROW EXECUTE FUNCTION iap.refuse_change();

CREATE TRIGGER books_are_not_truncated BEFORE TRUNCATE ON iap.books FOR EACH STATEMENT EXECUTE FUNCTION iap.refuse_change();

CREATE TRIGGER case_changed AFTER UPDATE ON iap.cases REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION iap.note_changed_cases();

CREATE TRIGGER case_opened AFTER INSERT ON iap.cases REFERENCING NEW TABLE AS opened FOR EACH STATEMENT EXECUTE FUNCTION iap.note_opened_cases();

CREATE TRIGGER events_are_kept BEFORE DELETE OR UPDATE ON iap.events FOR EACH ROW EXECUTE FUNCTION iap.refuse_change_of_events();

CREATE TRIGGER events_are_not_truncated BEFORE TRUNCATE ON iap.events FOR EACH STATEMENT EXECUTE FUNCTION iap.refuse_change();

CREATE TRIGGER posted_change AFTER UPDATE ON iap.white FOR EACH ROW WHEN (((((((((old.environment IS DISTINCT FROM new.environment) OR (old.purchased_at IS DISTINCT FROM new.purchased_at)) OR (old.bundle_id IS DISTINCT FROM new.bundle_id)) OR (old.product_id IS DISTINCT FROM new.product_id)) OR (old.booked_currency IS DISTINCT FROM new.booked_currency)) OR (old.booked_as IS DISTINCT FROM new.booked_as)) OR (old.quantity IS DISTINCT FROM new.quantity)) OR (old.booked_milliunits IS DISTINCT FROM new.booked_milliunits))) EXECUTE FUNCTION iap.post_change_of_white();

CREATE TRIGGER posted_change_new AFTER UPDATE ON iap.black REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('1');

CREATE TRIGGER posted_change_new AFTER UPDATE ON iap.excluded REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('1');

CREATE TRIGGER posted_change_old AFTER UPDATE ON iap.black REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('-1');

CREATE TRIGGER posted_change_old AFTER UPDATE ON iap.excluded REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('-1');

CREATE TRIGGER posted_new AFTER INSERT ON iap.black REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('1');

CREATE TRIGGER posted_new AFTER INSERT ON iap.excluded REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('1');

CREATE TRIGGER posted_new AFTER INSERT ON iap.white REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('1');

CREATE TRIGGER posted_old AFTER DELETE ON iap.black REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('-1');

CREATE TRIGGER posted_old AFTER DELETE ON iap.excluded REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('-1');

CREATE TRIGGER posted_old AFTER DELETE ON iap.white REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION iap.post('-1');

CREATE TRIGGER valued BEFORE INSERT ON iap.black FOR EACH ROW WHEN ((new.booked_as IS NULL)) EXECUTE FUNCTION iap.value_purchase();

CREATE TRIGGER valued BEFORE INSERT ON iap.excluded FOR EACH ROW WHEN ((new.booked_as IS NULL)) EXECUTE FUNCTION iap.value_purchase();

CREATE TRIGGER valued BEFORE INSERT ON iap.white FOR EACH ROW WHEN ((new.booked_as IS NULL)) EXECUTE FUNCTION iap.value_purchase();

CREATE TRIGGER valued_anew BEFORE UPDATE ON iap.white FOR EACH ROW WHEN ((((old.price_milliunits IS DISTINCT FROM new.price_milliunits) OR (old.currency IS DISTINCT FROM new.currency)) OR (old.is_trial IS DISTINCT FROM new.is_trial))) EXECUTE FUNCTION iap.value_purchase();

REVOKE ALL ON FUNCTION audit.black_seal(transaction_id text, bundle_id text, environment text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, price_milliunits bigint, currency text, user_id text, order_id text, delivered_by text, delivered_at timestamp with time zone, refunded_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.claim_seal(transaction_id text, bundle_id text, user_id text, order_id text, outcome text, attempted_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.event_digest(event iap.events) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.excluded_seal(transaction_id text, bundle_id text, environment text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, price_milliunits bigint, currency text, reason text, found_bundle_id text, excluded_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.first_link() FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.last_final_event() FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.next_link(link bytea, digest bytea) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.seal_events(run_id bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.white_seal(transaction_id text, bundle_id text, environment text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, price_milliunits bigint, currency text, first_seen_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.ageing(age_days integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.balances_as_of(as_of date) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.closed(day date) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.deliveries_as_of(as_of date) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.refunds_as_of(as_of date) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.unclaimed_liability_as_of(as_of date) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.admit(bundle_id text, environment text, transaction_id text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, user_id text, receipt_id bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.claim(bundle_id text, transaction_id text, user_id text, order_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.close_case(owed iap.white, how text, who text, note text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.close_postings(run_id bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.count_purgeable(payloads_before timestamp with time zone, devices_before timestamp with time zone, OUT payloads bigint, OUT devices bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.deliver(owed iap.white, user_id text, order_id text, how text, who text, note text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.enter_white_again(owed iap.white) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.environment_of(bundle_id text, transaction_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.erase_user(user_id text, who text, even_open boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.exclude(owed iap.white, reason text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_purchase_delivered(bundle_id text, environment text, original_transaction_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_wrong_user(owed iap.white, user_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.leave_white(owed iap.white, kind text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.lock_purchase(owed iap.white) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.lock_white(bundle_id text, environment text, transaction_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.note_changed_cases() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.note_opened_cases() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.open_transactions_of(user_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.place_of(transaction_id text, wanted_bundle_id text, wanted_environment text, OUT bundle_id text, OUT environment text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.post() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.post_change_of_white() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.present() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.product_type_of(owed iap.white) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.purge_devices(bucket smallint, before timestamp with time zone, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.purge_payloads(bucket smallint, before timestamp with time zone, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.refuse_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.refuse_change_of_events() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.register_order(bundle_id text, order_id text, user_id text, product_id text, quantity integer, app_account_token text, created_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.reopen(transaction_id text, who text, note text, bundle_id text, environment text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.replace_user(user_id text, pseudonym text, erasure bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.require_id(name text, value text, longest integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.require_text(name text, value text, longest integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.resolve(transaction_id text, how text, who text, note text, bundle_id text, environment text, user_id text, order_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.sight(bundle_id text, environment text, transaction_id text, user_id text, receipt_id bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.standing(bundle_id text, environment text, transaction_id text, owed iap.white) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.submit_receipt(bundle_id text, user_id text, payload text, transaction_id text, order_id text, device jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_back(resolved iap.white) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.tidy_white(owed iap.white, who text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.value_purchase() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.why_closed(bundle_id text, environment text, transaction_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.with_restored(owed iap.white) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.withdraw_restored(delivered iap.white, who text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.without_tokens(rows jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.without_user(details jsonb, user_id text, pseudonym text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.without_user(text text, user_id text, pseudonym text) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.chain(bytea) FROM PUBLIC;

