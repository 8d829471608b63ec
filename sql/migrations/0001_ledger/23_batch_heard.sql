-- What Apple says of the purchases of a batch: new, confirmed one night more, or news of what is known.

CREATE TYPE iap.standing AS (number integer, transaction_id text, quantity integer, place text, is_new boolean);
COMMENT ON TYPE iap.standing IS 'Where a transaction of a batch is, and whether the batch brought it into white.';

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

CREATE FUNCTION iap.fills_in(t iap.transactions, v iap.verified) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT (t.price_milliunits IS NULL AND v.price_milliunits IS NOT NULL)
        OR (t.app_account_token IS NULL AND v.app_account_token IS NOT NULL)
        OR (t.app_transaction_id IS NULL AND v.app_transaction_id IS NOT NULL)
        OR (t.storefront IS NULL AND v.storefront IS NOT NULL)
        OR (t.original_purchased_at IS NULL AND v.original_purchased_at IS NOT NULL)
        OR (t.found_bundle_id IS NULL AND v.found_bundle_id IS NOT NULL)
$$;
COMMENT ON FUNCTION iap.fills_in IS
    'Whether something is said of a transaction that nobody has said before, which also a poorer source may say.';

CREATE FUNCTION iap.is_news(t iap.transactions, v iap.verified) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT v.source > t.source
        OR (v.refunded_at IS NULL) <> (t.refunded_at IS NULL)
        OR (v.refunded_at IS NOT NULL AND t.refund_run_id IS NULL)
        OR iap.is_later_refund(v.refunded_at, t.refunded_at)
        OR iap.fills_in(t, v)
        OR (t.expires_at IS NULL AND v.expires_at IS NOT NULL)
        -- Apple extended it.
        OR (
            v.source = t.source AND v.verified_at >= t.verified_at
            AND NOT iap.reaches(t.expires_at, v.expires_at))
        -- Of no period are seats that were added to one: a poorer word would name that one.
        OR (v.source = t.source AND t.web_order_line_item_id IS NULL AND v.web_order_line_item_id IS NOT NULL)
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
        -- It was told of under another id alone.
        OR (v.refunded_at IS NOT NULL AND t.place = 'black' AND iap.is_refunded_elsewhere(t))
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
        AND (v.web_order_line_item_id IS NULL OR t.web_order_line_item_id IS NOT NULL)
        AND NOT iap.fills_in(t, v)
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
