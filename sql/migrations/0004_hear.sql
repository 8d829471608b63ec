-- What Apple says of a known purchase is judged once. Without the OFFSET the planner pulls the judgement up into each place
-- that looks at it, and a night of 95,000 deliveries that Apple confirms cost PostgreSQL 22 s in place of 8.

-- Their plans are made for the batch in hand: the planner must know how many transactions it holds.
CREATE OR REPLACE FUNCTION iap.hear(
    numbers integer[], run bigint, at timestamptz, OUT entered integer[], OUT known iap.standing[]
) LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    fresh   iap.verified[];
    news    iap.verified[];
    changes iap.change[];
    moved   iap.standing[];
BEGIN
    SELECT
        array_agg(v::iap.verified) FILTER (WHERE t.place IS NULL),
        array_agg(v::iap.verified)
            FILTER (WHERE t.place IS NOT NULL AND iap.is_news(t::iap.transactions, v::iap.verified) IS TRUE),
        coalesce(
            array_agg(ROW(v.number, v.transaction_id, t.quantity, t.place, false)::iap.standing)
                FILTER (WHERE t.place IS NOT NULL AND iap.is_news(t::iap.transactions, v::iap.verified) IS NOT TRUE),
            '{}')
    INTO fresh, news, known
    FROM heard AS v
    -- By the primary key, whatever the planner knows of the table: in a first night that is nothing.
    LEFT JOIN LATERAL (
        SELECT * FROM transactions AS found
        WHERE found.transaction_id = v.transaction_id AND found.bundle_id = v.bundle_id
            AND found.environment = v.environment
        OFFSET 0
    ) AS t ON true
    WHERE numbers IS NULL OR v.number = ANY (numbers);

    entered := '{}';
    IF fresh IS NOT NULL THEN
        entered := iap.enter_unlocked(fresh, run, at);
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
