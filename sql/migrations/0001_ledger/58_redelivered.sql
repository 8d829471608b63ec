-- Redeliveries are made: the app's server takes them under a lease, and the night settles how they ended.

CREATE FUNCTION iap.take_redeliveries(
    bundle_id text, most integer DEFAULT 100, lease interval DEFAULT '10 minutes', OUT transaction_id text,
    OUT original_transaction_id text, OUT user_id text, OUT product_id text, OUT quantity integer,
    OUT purchased_at timestamptz, OUT paid_until timestamptz, OUT order_ids text[], OUT try integer,
    OUT leased_until timestamptz
) RETURNS SETOF record
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    r       iap.redeliveries;
    t       iap.transactions;
    how     text;
    given   integer := 0;
    seen    integer;
    -- What is leased here is not taken again, however short its lease and long the call.
    began   timestamptz := clock_timestamp();
    offered iap.delivered_orders[] := '{}';
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_bundle_id(take_redeliveries.bundle_id);
    IF most IS NULL OR most NOT BETWEEN 1 AND 10000 THEN
        RAISE EXCEPTION 'take 1 to 10000 at once' USING ERRCODE = 'invalid_parameter_value';
    ELSIF lease IS NULL OR lease NOT BETWEEN interval '1 second' AND interval '1 day' THEN
        RAISE EXCEPTION 'a lease is of one second to one day' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    LOOP
        seen := 0;
        FOR r IN
            SELECT *
            FROM iap.redeliveries AS due
            WHERE due.bundle_id = take_redeliveries.bundle_id AND due.ended_at IS NULL AND due.tries < 5
                -- No lease is longer than a day, nor any call: what ends later was taken while the clock was ahead.
                AND (due.due_at <= began OR due.due_at > began + interval '2 days')
            ORDER BY due.due_at, due.transaction_id, due.environment
            LIMIT most - given
            FOR UPDATE SKIP LOCKED
        LOOP
            seen := seen + 1;
            -- A claim, a refund or the support desk may have come first.
            how := iap.end_of_redelivery(r);
            IF how IS NOT NULL THEN
                UPDATE iap.redeliveries AS ended
                SET ended_at = now(), ended_as = how
                WHERE ended.transaction_id = r.transaction_id AND ended.bundle_id = r.bundle_id
                    AND ended.environment = r.environment;
                CONTINUE;
            END IF;
            given := given + 1;
            try := r.tries + 1;
            leased_until := clock_timestamp() + lease;
            UPDATE iap.redeliveries AS taken
            SET tries = taken.tries + 1, taken_at = now(), due_at = take_redeliveries.leased_until
            WHERE taken.transaction_id = r.transaction_id AND taken.bundle_id = r.bundle_id
                AND taken.environment = r.environment;
            SELECT * INTO t
            FROM iap.transactions AS found
            WHERE found.transaction_id = r.transaction_id AND found.bundle_id = r.bundle_id
                AND found.environment = r.environment;
            transaction_id := t.transaction_id;
            original_transaction_id := t.original_transaction_id;
            user_id := r.user_id;
            product_id := t.product_id;
            quantity := t.quantity;
            purchased_at := t.purchased_at;
            -- A subscription's case tells of all its periods: the last one says until when it is paid.
            SELECT max(period.expires_at) INTO paid_until
            FROM iap.transactions AS period
            WHERE period.bundle_id = r.bundle_id AND period.environment = r.environment AND period.place = 'white'
                AND period.transaction_id IN (
                    SELECT r.transaction_id
                    UNION ALL
                    SELECT unnest(periods) FROM iap.cases
                    WHERE cases.transaction_id = r.transaction_id AND cases.bundle_id = r.bundle_id
                        AND cases.environment = r.environment AND cases.state = 'open');
            order_ids := iap.orders_for(t, r.user_id, offered);
            IF order_ids <> '{}' THEN
                offered := offered || ROW(order_ids[1], t.bundle_id, t.original_transaction_id)::iap.delivered_orders;
            END IF;
            RETURN NEXT;
        END LOOP;
        EXIT WHEN seen = 0 OR given = most;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iap.take_redeliveries IS
    'Takes what the app''s server shall deliver without the customer, so many at most: each is the caller''s until its '
    'lease ends. Commit, then credit and claim each in one transaction. What is not claimed when its lease ends may be '
    'taken again, five times in all. paid_until is of a subscription, for iap.entitle.';

CREATE FUNCTION iap.settle_redeliveries(run bigint, at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    -- What a server is just taking it settles itself.
    WITH held AS MATERIALIZED (
        SELECT * FROM redeliveries WHERE ended_at IS NULL
        ORDER BY transaction_id, bundle_id, environment
        FOR UPDATE SKIP LOCKED
    ), ends AS MATERIALIZED (
        SELECT
            held.transaction_id, held.bundle_id, held.environment,
            iap.end_of_redelivery(ROW(held.*)::iap.redeliveries) AS ended_as
        FROM held
    )
    UPDATE redeliveries
    SET ended_at = at, ended_as = ends.ended_as
    FROM ends
    WHERE ends.ended_as IS NOT NULL AND redeliveries.transaction_id = ends.transaction_id
        AND redeliveries.bundle_id = ends.bundle_id AND redeliveries.environment = ends.environment;
    -- What a run that left no report would have told is told once more.
    UPDATE redeliveries SET told_run_id = run
    FROM runs
    WHERE redeliveries.told_run_id = runs.run_id AND redeliveries.ended_at IS NOT NULL
        AND runs.state IN ('failed', 'abandoned');
    WITH told AS (
        UPDATE redeliveries SET told_run_id = run WHERE ended_at IS NOT NULL AND told_run_id IS NULL
        RETURNING transaction_id, bundle_id, environment, ended_as
    ), delivered AS (
        SELECT told.transaction_id, told.bundle_id, told.environment, delivery.move_id
        FROM told
        CROSS JOIN LATERAL (
            -- The delivery itself: a correction or a refund may have come since.
            SELECT max(moves.move_id) AS move_id
            FROM moves
            WHERE moves.transaction_id = told.transaction_id AND moves.bundle_id = told.bundle_id
                AND moves.environment = told.environment AND moves.to_place = 'black' AND moves.from_place <> 'black'
        ) AS delivery
        WHERE told.ended_as = 'redelivered' AND delivery.move_id IS NOT NULL
    ), along AS (
        -- The other periods of a subscription's case, which the same grant delivered. A claim delivers what it names:
        -- for what else the server claims with it, nobody has asked.
        SELECT delivered.transaction_id, delivered.bundle_id, delivered.environment, delivered.move_id
        FROM delivered
        UNION
        SELECT period.transaction_id, period.bundle_id, period.environment, period.move_id
        FROM delivered
        JOIN cases USING (transaction_id, bundle_id, environment)
        JOIN moves AS granted
            ON granted.transaction_id = delivered.transaction_id AND granted.move_id = delivered.move_id
                AND granted.kind = 'entitled'
        JOIN moves AS period
            ON period.transaction_id = ANY (cases.periods) AND period.bundle_id = delivered.bundle_id
                AND period.environment = delivered.environment AND period.to_place = 'black'
                AND (period.kind, period.actor, period.moved_at) = (granted.kind, granted.actor, granted.moved_at)
    )
    INSERT INTO events
    SELECT event.*, audit.seal(ROW(event.*, NULL)::iap.events)
    FROM (
        SELECT
            nextval('iap.trail'), at, 'redelivered', 'iap-reconcile', run, transaction_id, bundle_id, environment,
            jsonb_build_object('move_id', move_id)
        FROM along
    ) AS event;
END
$$;
COMMENT ON FUNCTION iap.settle_redeliveries IS
    'Ends the redeliveries that have come to their end, for a run to tell of. Of each that the app''s server delivered '
    'it writes an event, redelivered, with the move by which it was delivered: what finance counts, and the chain '
    'covers.';
