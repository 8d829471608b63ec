-- What a night writes of a batch: what Apple says of its purchases, and where they were seen.

CREATE TYPE iap.sighted AS (
    -- The numbers of these transactions in the batch: most of a receipt's were seen alike.
    numbers     integer[],
    receipt_id  bigint,
    user_id     text,
    order_id    text,
    is_named    boolean,
    in_receipt  boolean,
    uploaded_at timestamptz
);
COMMENT ON TYPE iap.sighted IS 'Transactions of a batch as one receipt showed them.';

CREATE TYPE iap.standing AS (number integer, transaction_id text, quantity integer, place text, is_new boolean);
COMMENT ON TYPE iap.standing IS 'Where a transaction of a batch is, and whether the batch brought it into white.';

CREATE TYPE iap.recorded AS (
    -- Control totals: transactions, units, and the exclusive or of the hashes of the ids; NULL where there is nothing.
    newly_white   bigint[],
    already_white bigint[],
    already_black bigint[],
    excluded      bigint[],
    -- The receipts that hold a white transaction, and those that hold one that another session has locked.
    watched       bigint[],
    held          bigint[],
    -- The transactions that are left out, for another session has them locked.
    locked        text[]
);
COMMENT ON TYPE iap.recorded IS 'What became of a batch.';

CREATE FUNCTION iap.enter_unlocked(purchases iap.verified[], run bigint, at timestamptz) RETURNS integer[]
LANGUAGE plpgsql AS $$
DECLARE
    entered  integer[] := '{}';
    purchase iap.verified;
    patience text := current_setting('lock_timeout');
BEGIN
    PERFORM iap.enter(purchases, run, at);
    RETURN ARRAY(SELECT number FROM unnest(purchases));
EXCEPTION
    WHEN unique_violation THEN
        -- Another session has entered one of them since they were looked for: it is known now.
        RETURN '{}';
    WHEN lock_not_available OR deadlock_detected THEN
        -- Another session enters one of them, and doesn't end: the others need not wait for it.
        PERFORM set_config('lock_timeout', '20ms', true);
        FOREACH purchase IN ARRAY purchases LOOP
            BEGIN
                PERFORM iap.enter(ARRAY[purchase], run, at);
                entered := entered || purchase.number;
            EXCEPTION
                WHEN unique_violation OR lock_not_available OR deadlock_detected THEN NULL;
            END;
        END LOOP;
        PERFORM set_config('lock_timeout', patience, true);
        RETURN entered;
END
$$;
COMMENT ON FUNCTION iap.enter_unlocked IS
    'iap.enter, without what another session enters at the same time and does not end; nothing where another session '
    'has entered any of them. Says the numbers in the batch of what has entered.';

CREATE FUNCTION iap.is_news(t iap.transactions, v iap.verified) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT v.source > t.source
        OR (v.refunded_at IS NULL) <> (t.refunded_at IS NULL)
        OR (v.refunded_at IS NOT NULL AND t.refund_run_id IS NULL)
        OR iap.is_later_refund(t, v)
        OR (t.price_milliunits IS NULL AND v.price_milliunits IS NOT NULL)
        OR (t.expires_at IS NULL AND v.expires_at IS NOT NULL)
        OR (t.app_account_token IS NULL AND v.app_account_token IS NOT NULL)
        OR (t.app_transaction_id IS NULL AND v.app_transaction_id IS NOT NULL)
        OR (v.exclusion = 'family_shared' AND NOT t.is_family_shared)
        OR (
            v.revocation_type IS NOT NULL
            AND (t.revocation_type, t.revocation_percentage)
                IS DISTINCT FROM (v.revocation_type, v.revocation_percentage))
        OR (
            t.place = 'white'
            AND (
                v.exclusion IS NOT NULL
                OR iap.is_another_night(t.last_confirmed_at, coalesce(v.confirmed_at, v.verified_at))))
        -- Of several signatures the latest tells until when nothing was refunded.
        OR (t.place = 'white' AND t.source = 'local' AND v.source = 'local' AND v.verified_at > t.verified_at)
        OR (t.reason IN ('sandbox', 'before_start') AND v.exclusion IS DISTINCT FROM t.reason)
        OR (t.reason = 'restored' AND t.refunded_at IS NULL AND v.exclusion IS NULL)
$$;
COMMENT ON FUNCTION iap.is_news IS 'Whether iap.heard can make anything else of a transaction than what it is.';

-- Most of a night is that Apple says again what it said the night before: a white transaction is confirmed. That takes
-- three columns of the row, and neither a judgement, nor a seal, nor a move.
CREATE FUNCTION iap.is_confirmation(t iap.transactions, v iap.verified) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT t.place = 'white' AND t.refund_run_id IS NULL
        AND v.exclusion IS NULL AND v.refunded_at IS NULL
        AND iap.is_another_night(t.last_confirmed_at, coalesce(v.confirmed_at, v.verified_at))
        AND (v.source < t.source OR (v.source = t.source AND v.verified_at >= t.verified_at))
        AND (v.product_type IS NULL OR v.product_type = t.product_type) IS TRUE
        AND (v.expires_at IS NULL OR v.expires_at = t.expires_at) IS TRUE
        AND (v.original_purchased_at IS NULL OR t.original_purchased_at IS NOT NULL)
        AND (v.web_order_line_item_id IS NULL OR t.web_order_line_item_id IS NOT NULL)
        AND (v.app_account_token IS NULL OR t.app_account_token IS NOT NULL)
        AND (v.app_transaction_id IS NULL OR t.app_transaction_id IS NOT NULL)
        AND (v.storefront IS NULL OR t.storefront IS NOT NULL)
        AND (v.found_bundle_id IS NULL OR t.found_bundle_id IS NOT NULL)
        AND (v.price_milliunits IS NULL OR t.price_milliunits IS NOT NULL)
$$;
COMMENT ON FUNCTION iap.is_confirmation IS
    'Whether all that iap.heard makes of a transaction is that it was confirmed one night more.';

CREATE FUNCTION iap.confirm(purchases iap.verified[]) RETURNS iap.standing[]
-- By the primary keys, even where the plan was made when the tables were small.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    confirmed iap.standing[];
BEGIN
    WITH held AS MATERIALIZED (
        SELECT
            v.number, v.source, v.verified_at, coalesce(v.confirmed_at, v.verified_at) AS confirmed_at, found.*
        FROM unnest(purchases) AS v
        CROSS JOIN LATERAL (
            SELECT t.transaction_id, t.bundle_id, t.environment
            FROM transactions AS t
            WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id
                AND t.environment = v.environment
                AND iap.is_confirmation(ROW(t.*)::iap.transactions, v::iap.verified)
            FOR UPDATE SKIP LOCKED
        ) AS found
    ), done AS (
        UPDATE transactions AS t
        SET nights_confirmed = t.nights_confirmed + 1, last_confirmed_at = held.confirmed_at,
            verified_at = CASE WHEN held.source = t.source THEN held.verified_at ELSE t.verified_at END
        FROM held
        WHERE t.transaction_id = held.transaction_id AND t.bundle_id = held.bundle_id
            AND t.environment = held.environment
        RETURNING held.number, t.transaction_id, t.quantity, t.place
    )
    SELECT array_agg(ROW(number, transaction_id, quantity, place, false)::iap.standing) INTO confirmed FROM done;
    RETURN coalesce(confirmed, '{}');
END
$$;
COMMENT ON FUNCTION iap.confirm IS
    'Counts the night for transactions of which Apple says what it said before, but for those that another session has '
    'locked, or changed meanwhile. Says which it counted for.';

-- Their plans are made for the batch in hand: the planner must know how many transactions it holds.
CREATE FUNCTION iap.hear(
    numbers integer[], run bigint, at timestamptz, OUT entered integer[], OUT known iap.standing[]
) LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    fresh     iap.verified[];
    confirmed iap.verified[];
    news      iap.verified[];
    changes   iap.change[];
    moved     iap.standing[];
BEGIN
    SELECT
        array_agg(v) FILTER (WHERE kind = 'fresh'), array_agg(v) FILTER (WHERE kind = 'confirmed'),
        array_agg(v) FILTER (WHERE kind = 'news'), coalesce(array_agg(standing) FILTER (WHERE kind = 'known'), '{}')
    INTO fresh, confirmed, news, known
    FROM (
        SELECT
            v::iap.verified AS v,
            ROW(v.number, v.transaction_id, t.quantity, t.place, false)::iap.standing AS standing,
            CASE
                WHEN t.place IS NULL THEN 'fresh'
                WHEN iap.is_news(t::iap.transactions, v::iap.verified) IS NOT TRUE THEN 'known'
                WHEN iap.is_confirmation(t::iap.transactions, v::iap.verified) THEN 'confirmed'
                ELSE 'news'
            END AS kind
        FROM heard AS v
        -- By the primary key, whatever the planner knows of the table: in a first night that is nothing.
        LEFT JOIN LATERAL (
            SELECT * FROM transactions AS found
            WHERE found.transaction_id = v.transaction_id AND found.bundle_id = v.bundle_id
                AND found.environment = v.environment
            OFFSET 0
        ) AS t ON true
        WHERE numbers IS NULL OR v.number = ANY (numbers)
        -- Judged once.
        OFFSET 0
    ) AS judged;

    entered := '{}';
    IF fresh IS NOT NULL THEN
        entered := iap.enter_unlocked(fresh, run, at);
    END IF;
    IF confirmed IS NOT NULL THEN
        known := known || iap.confirm(confirmed);
    END IF;
    IF news IS NOT NULL THEN
        SELECT
            array_agg(ROW(t, became)::iap.change) FILTER (WHERE t IS DISTINCT FROM became),
            array_agg(
                ROW(
                    number, (became).transaction_id, (became).quantity, (became).place,
                    (t).place <> 'white' AND (became).place = 'white')::iap.standing)
        INTO changes, moved
        FROM (
            SELECT number, t, iap.heard(t, v, run, at) AS became
            FROM (
                SELECT v.number, v::iap.verified AS v, found.t
                FROM unnest(news) AS v
                CROSS JOIN LATERAL (
                    SELECT ROW(t.*)::iap.transactions AS t
                    FROM transactions AS t
                    WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id
                        AND t.environment = v.environment
                    FOR UPDATE SKIP LOCKED
                ) AS found
            ) AS held
            OFFSET 0
        ) AS judged;
        IF changes IS NOT NULL THEN
            PERFORM iap.move(changes, NULL, 'iap-reconcile', run, at);
        END IF;
        known := known || coalesce(moved, '{}');
    END IF;
END
$$;
COMMENT ON FUNCTION iap.hear IS
    'Takes what Apple says of purchases into the ledger, of those with these numbers in the batch, or of all: what is '
    'new enters, what is known becomes what Apple says of it now. Says where each is, but for what another session has '
    'locked.';

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

CREATE FUNCTION iap.record(run bigint, at timestamptz) RETURNS iap.recorded
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    remaining integer[];
    entered   integer[];
    known     iap.standing[];
    restored  integer[];
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
    SELECT array_agg(number) INTO restored FROM heard WHERE exclusion = 'restored';
    IF restored IS NOT NULL THEN
        PERFORM iap.sight_owed(ARRAY(SELECT told FROM iap.sightings_of(restored, run) AS told));
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
    SELECT
        coalesce(array_agg(DISTINCT receipt_id) FILTER (WHERE number = ANY (owed)), '{}'),
        coalesce(array_agg(DISTINCT receipt_id) FILTER (WHERE number = ANY (remaining)), '{}')
    INTO recorded.watched, recorded.held
    FROM seen
    CROSS JOIN unnest(numbers) AS number;
    SELECT array_agg(transaction_id) INTO recorded.locked FROM heard WHERE number = ANY (remaining);
    RETURN recorded;
END
$$;
COMMENT ON FUNCTION iap.record IS
    'Takes the batch that is staged in the session''s tables heard and seen into the ledger. What another session has '
    'locked is left out, one by one.';

CREATE FUNCTION iap.sightings_of(numbers integer[], run bigint) RETURNS SETOF iap.sightings
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
    SELECT sighting.*, audit.seal(ROW(sighting.*, NULL)::iap.sightings)
    FROM (
        SELECT
            heard.transaction_id, heard.bundle_id, heard.environment, (seen.receipt_id & 63)::smallint, seen.receipt_id,
            seen.user_id, seen.order_id, seen.is_named, seen.in_receipt, seen.uploaded_at, run
        FROM seen
        CROSS JOIN unnest(seen.numbers) AS number
        JOIN heard USING (number)
        WHERE number = ANY (sightings_of.numbers)
    ) AS sighting;
END
$$;
COMMENT ON FUNCTION iap.sightings_of IS 'In which receipts of the batch the transactions of these numbers were seen.';

CREATE FUNCTION iap.add_sightings(added iap.sightings[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sightings AS known
    SELECT * FROM unnest(added)
    ON CONFLICT (transaction_id, bundle_id, environment, bucket, receipt_id) DO UPDATE
    SET is_named = known.is_named OR EXCLUDED.is_named,
        in_receipt = known.in_receipt OR EXCLUDED.in_receipt,
        order_id = coalesce(known.order_id, EXCLUDED.order_id),
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN known.seal = audit.seal(ROW(known.*)::iap.sightings) THEN audit.seal(ROW(
            known.transaction_id, known.bundle_id, known.environment, known.bucket, known.receipt_id, known.user_id,
            coalesce(known.order_id, EXCLUDED.order_id), known.is_named OR EXCLUDED.is_named,
            known.in_receipt OR EXCLUDED.in_receipt, known.uploaded_at, known.first_run_id, NULL)::iap.sightings)
            ELSE known.seal END
    WHERE (EXCLUDED.is_named AND NOT known.is_named)
        OR (EXCLUDED.in_receipt AND NOT known.in_receipt)
        OR (known.order_id IS NULL AND EXCLUDED.order_id IS NOT NULL);
END
$$;
COMMENT ON FUNCTION iap.add_sightings IS 'Writes sightings, or adds what they say to those that are known.';

CREATE FUNCTION iap.sight_again(numbers integer[], run bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    added iap.sightings[];
BEGIN
    SELECT array_agg(seen::iap.sightings) INTO added
    FROM iap.sightings_of(numbers, run) AS seen
    -- Most say nothing new. A conflict would lock the row all the same, and so write it.
    LEFT JOIN LATERAL (
        SELECT true AS is_told
        FROM sightings AS known
        WHERE known.transaction_id = seen.transaction_id AND known.bundle_id = seen.bundle_id
            AND known.environment = seen.environment AND known.bucket = seen.bucket
            AND known.receipt_id = seen.receipt_id AND (known.is_named OR NOT seen.is_named)
            AND (known.in_receipt OR NOT seen.in_receipt) AND (known.order_id IS NOT NULL OR seen.order_id IS NULL)
        OFFSET 0
    ) AS before ON true
    WHERE before.is_told IS NULL;
    IF added IS NOT NULL THEN
        PERFORM iap.add_sightings(added);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.sight_again IS
    'Remembers in which receipts known transactions were seen, and who handed them in.';

CREATE FUNCTION iap.sight_owed(restored iap.sightings[]) RETURNS void
-- By the primary keys, even where the plan was made when the tables were small.
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    added iap.sightings[];
BEGIN
    SELECT array_agg(ROW(owed.*, audit.seal(ROW(owed.*, NULL)::iap.sightings))::iap.sightings) INTO added
    FROM (
        -- One receipt may hold several of its ids.
        SELECT
            white.transaction_id, bundle_id, environment, seen.bucket, seen.receipt_id, min(seen.user_id),
            min(seen.order_id), bool_or(seen.is_named), bool_or(seen.in_receipt), min(seen.uploaded_at),
            min(seen.first_run_id)
        FROM unnest(restored) AS seen
        JOIN transactions AS t USING (transaction_id, bundle_id, environment)
        CROSS JOIN LATERAL (
            SELECT same.transaction_id
            FROM transactions AS same
            WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
                AND same.bundle_id = t.bundle_id AND same.environment = t.environment
                AND same.product_id = t.product_id
                AND same.web_order_line_item_id IS NOT DISTINCT FROM t.web_order_line_item_id
                -- By words that no index answers to, as in iap.take_for_delivery.
                AND starts_with(same.place, 'white')
            OFFSET 0
        ) AS white
        WHERE t.reason = 'restored'
        GROUP BY white.transaction_id, bundle_id, environment, seen.bucket, seen.receipt_id
    ) AS owed;
    IF added IS NOT NULL THEN
        PERFORM iap.add_sightings(added);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.sight_owed IS
    'Remembers who handed in what is owed under another id: these sightings are of ids under which it was restored.';
