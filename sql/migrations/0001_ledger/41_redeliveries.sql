-- Redeliveries: what the night is sure of it hands to the app's server to deliver, and so does a person.

CREATE TABLE iap.redeliveries (
    transaction_id text COLLATE "C" NOT NULL,
    bundle_id      text COLLATE "C" NOT NULL,
    environment    text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    user_id        text NOT NULL,
    -- The run that ordered it; NULL where a person did, who said why.
    run_id         bigint,
    ordered_at     timestamptz NOT NULL,
    ordered_by     text NOT NULL,
    note           text,
    -- How often an app's server took it, and from when on it may be taken: while it is leased that lies ahead.
    tries          integer NOT NULL DEFAULT 0 CHECK (tries BETWEEN 0 AND 5),
    taken_at       timestamptz,
    due_at         timestamptz NOT NULL,
    ended_at       timestamptz,
    ended_as       text CHECK (ended_as IN ('redelivered', 'delivered', 'not_owed', 'unsure')),
    -- The run that told of its end.
    told_run_id    bigint,
    PRIMARY KEY (transaction_id, bundle_id, environment),
    CONSTRAINT ended_when_and_how CHECK ((ended_at IS NULL) = (ended_as IS NULL)),
    CONSTRAINT taken_when_tried CHECK ((tries = 0) = (taken_at IS NULL)),
    CONSTRAINT person_says_why CHECK ((run_id IS NULL) = (note IS NOT NULL))
);

CREATE INDEX redeliveries_due ON iap.redeliveries (bundle_id, due_at) WHERE ended_at IS NULL AND tries < 5;
CREATE INDEX redeliveries_open ON iap.redeliveries (bundle_id) WHERE ended_at IS NULL;
CREATE INDEX redeliveries_told ON iap.redeliveries (told_run_id) WHERE ended_at IS NOT NULL;
COMMENT ON TABLE iap.redeliveries IS
    'What an app''s server shall deliver without the customer: it takes each under a lease, five times at most.';
COMMENT ON COLUMN iap.redeliveries.due_at IS 'From when on it may be taken; while it is leased, the end of the lease.';
COMMENT ON COLUMN iap.redeliveries.ended_as IS
    'redelivered: claimed or granted within the lease; delivered: in another way, or later; not_owed: refunded, '
    'dismissed …; unsure: it is not certain any more whose it is.';

-- What is ordered again begins anew, and what a month was told stays.
CREATE INDEX events_of_redeliveries ON iap.events (event_id) WHERE kind = 'redelivered';

CREATE FUNCTION iap.is_given_up(r iap.redeliveries) RETURNS boolean
LANGUAGE sql STABLE AS $$ SELECT ($1).ended_at IS NULL AND ($1).tries = 5 AND ($1).due_at <= now() $$;
COMMENT ON FUNCTION iap.is_given_up IS
    'Whether a redelivery was taken as often as it may be, and its last lease is over: it waits for a person.';

CREATE FUNCTION iap.redeliverable_to(t iap.transactions) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    owner text;
BEGIN
    IF t.place IS DISTINCT FROM 'white' OR iap.outcome_otherwise(t) IS NOT NULL THEN
        RETURN NULL;
    END IF;
    owner := iap.certain_owner(t);
    -- To a person who was erased nothing can be delivered.
    RETURN CASE WHEN NOT iap.is_pseudonym(owner) THEN owner END;
END
$$;
COMMENT ON FUNCTION iap.redeliverable_to IS
    'To whom a transaction may be delivered without the customer: it is white, and they are its one certain owner.';

CREATE FUNCTION iap.end_of_redelivery(r iap.redeliveries) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    t iap.transactions;
BEGIN
    SELECT * INTO t
    FROM transactions
    WHERE transactions.transaction_id = r.transaction_id AND transactions.bundle_id = r.bundle_id
        AND transactions.environment = r.environment;
    RETURN CASE
        -- What comes when the lease is over is as likely the customer's own.
        WHEN t.place = 'black' AND r.tries > 0 AND t.delivered_at <= r.due_at
            AND t.delivered_by IN ('claim', 'entitlement') THEN 'redelivered'
        -- Granted within it, and written by a night, for another session held it then.
        WHEN t.place = 'black' AND r.tries > 0 AND t.delivered_by = 'entitlement' AND EXISTS (
            SELECT FROM entitlements AS e
            WHERE e.original_transaction_id = t.original_transaction_id AND e.bundle_id = t.bundle_id
                AND e.granted_at BETWEEN r.taken_at AND r.due_at) THEN 'redelivered'
        WHEN t.place = 'black' THEN 'delivered'
        WHEN t.place = 'white' AND iap.redeliverable_to(t) = r.user_id THEN NULL
        -- What another session held when it was granted: granted again, it is written, and nobody has it twice.
        WHEN t.place = 'white' AND iap.outcome_otherwise(t) = 'already_delivered' AND iap.is_granted_already(t)
            AND iap.certain_owner(t) = r.user_id THEN NULL
        WHEN t.place = 'white' THEN 'unsure'
        ELSE 'not_owed'
    END;
END
$$;
COMMENT ON FUNCTION iap.end_of_redelivery IS
    'How a redelivery has ended, as its transaction''s place says; NULL while it is to be made.';

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
        -- The other periods of a subscription's case, which the same grant delivered.
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

CREATE FUNCTION iap.order_redeliveries(bundle_id text, environment text, run bigint, at timestamptz) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    ordered bigint;
BEGIN
    WITH told AS MATERIALIZED (
        SELECT unnest(array_remove(numbers || named_id, NULL)) AS id
        FROM refused_rows
        JOIN sources USING (source)
        WHERE sources.kind IN ('delivered', 'entitlements')
    )
    INSERT INTO redeliveries AS known (
        transaction_id, bundle_id, environment, user_id, run_id, ordered_at, ordered_by, due_at)
    SELECT sure.transaction_id, sure.bundle_id, sure.environment, sure.user_id, run, at, 'iap-reconcile', now()
    FROM (
        SELECT t.transaction_id, t.bundle_id, t.environment, iap.redeliverable_to(ROW(t.*)::iap.transactions) AS user_id
        FROM cases
        CROSS JOIN LATERAL (
            SELECT * FROM transactions AS found
            WHERE found.transaction_id = cases.transaction_id AND found.bundle_id = cases.bundle_id
                AND found.environment = cases.environment AND found.place = 'white'
            OFFSET 0
        ) AS t
        WHERE cases.state = 'open' AND cases.likelihood = 'high' AND cases.action = 'deliver'
            AND cases.bundle_id = order_redeliveries.bundle_id AND cases.environment = order_redeliveries.environment
            -- What is under way goes on, and what was given up waits for a person.
            AND NOT EXISTS (
                SELECT FROM redeliveries AS under_way
                WHERE under_way.transaction_id = cases.transaction_id AND under_way.bundle_id = cases.bundle_id
                    AND under_way.environment = cases.environment AND under_way.ended_at IS NULL)
            -- A row of a source that could not be taken may well say that it was delivered.
            AND t.transaction_id NOT IN (SELECT id FROM told)
            AND t.original_transaction_id NOT IN (SELECT id FROM told)
        OFFSET 0
    ) AS sure
    WHERE sure.user_id IS NOT NULL
    ORDER BY sure.transaction_id, sure.bundle_id, sure.environment
    ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
    SET user_id = EXCLUDED.user_id, run_id = EXCLUDED.run_id, ordered_at = EXCLUDED.ordered_at,
        ordered_by = EXCLUDED.ordered_by, note = NULL, tries = 0, taken_at = NULL, due_at = EXCLUDED.due_at,
        ended_at = NULL, ended_as = NULL, told_run_id = NULL
    WHERE known.ended_at IS NOT NULL;
    GET DIAGNOSTICS ordered = ROW_COUNT;
    IF ordered > 0 THEN
        PERFORM pg_notify('iap_redeliveries', order_redeliveries.bundle_id);
    END IF;
    RETURN ordered;
END
$$;
COMMENT ON FUNCTION iap.order_redeliveries IS
    'Orders the redelivery of an app''s open cases of high likelihood that are to be delivered and have one certain '
    'owner, unless a row of a source that could not be taken tells of them; wakes the app''s server by NOTIFY '
    'iap_redeliveries, and says how many are new.';

CREATE FUNCTION iap.redelivery_of(t iap.transactions) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN ended_at IS NOT NULL THEN ended_as
        WHEN iap.is_given_up(ROW(ordered.*)::iap.redeliveries) THEN 'given up'
        ELSE 'under way'
    END
    FROM iap.redeliveries AS ordered
    WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
$$;
COMMENT ON FUNCTION iap.redelivery_of IS
    'How the redelivery of a transaction stands: under way, given up, or as it ended; NULL where none was ordered.';

CREATE FUNCTION iap.redeliver(
    transaction_id text, who text, note text, bundle_id text DEFAULT NULL, environment text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    place record;
    t     iap.transactions;
    whose text;
    at    timestamptz := iap.present();
BEGIN
    PERFORM iap.limit_idleness();
    PERFORM iap.require_transaction_id('transaction_id', redeliver.transaction_id);
    PERFORM iap.require_text('who', redeliver.who, 1000);
    PERFORM iap.require_text('note', redeliver.note, 10000);
    place := iap.place_of(redeliver.transaction_id, redeliver.bundle_id, redeliver.environment);
    t := iap.locked(place.bundle_id, place.environment, redeliver.transaction_id);
    IF iap.standing(t) <> 'white' THEN
        RETURN iap.standing(t);
    END IF;
    whose := iap.redeliverable_to(t);
    IF whose IS NULL THEN
        RETURN CASE WHEN cardinality(iap.owners_at_desk(t)) > 1 THEN 'several_owners' ELSE 'owner_uncertain' END;
    END IF;
    INSERT INTO iap.redeliveries AS known (
        transaction_id, bundle_id, environment, user_id, ordered_at, ordered_by, note, due_at)
    VALUES (t.transaction_id, t.bundle_id, t.environment, whose, at, redeliver.who, redeliver.note, now())
    ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
    SET user_id = EXCLUDED.user_id, run_id = NULL, ordered_at = EXCLUDED.ordered_at, ordered_by = EXCLUDED.ordered_by,
        note = EXCLUDED.note, tries = 0, taken_at = NULL,
        -- A server that has taken it may be about to deliver it.
        due_at = CASE WHEN known.ended_at IS NULL THEN greatest(known.due_at, EXCLUDED.due_at) ELSE EXCLUDED.due_at END,
        ended_at = NULL, ended_as = NULL, told_run_id = NULL
    -- So also what was for another user, whose it is not any more: nobody has ended that yet.
    WHERE known.ended_at IS NOT NULL OR iap.is_given_up(ROW(known.*)::iap.redeliveries)
        OR known.user_id <> EXCLUDED.user_id;
    IF FOUND THEN
        PERFORM iap.log_desk(
            'redelivery_ordered', redeliver.who, t.transaction_id, t.bundle_id, t.environment,
            jsonb_build_object('user_id', whose, 'note', redeliver.note));
        PERFORM pg_notify('iap_redeliveries', t.bundle_id);
    END IF;
    RETURN 'redelivery';
END
$$;
COMMENT ON FUNCTION iap.redeliver IS
    'Orders the redelivery of what is owed, on the word of the support desk, and gives redelivery; one that is under '
    'way goes on. Where it may not be it changes nothing and says why: already_delivered, excluded, not_verified; '
    'several_owners or owner_uncertain, where it is not certain whose it is.';

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
    PERFORM iap.limit_idleness();
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

-- Erasing a user ------------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.erase_from_redeliveries(user_id text, pseudonym text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    gone    bigint;
    changed bigint;
BEGIN
    -- Nothing can be delivered to nobody. What is owed no more has ended, and the night has yet to tell of it.
    DELETE FROM iap.redeliveries AS open
    USING iap.transactions AS t
    WHERE open.user_id = erase_from_redeliveries.user_id AND open.ended_at IS NULL
        AND t.transaction_id = open.transaction_id AND t.bundle_id = open.bundle_id
        AND t.environment = open.environment AND t.place = 'white';
    GET DIAGNOSTICS gone = ROW_COUNT;
    UPDATE iap.redeliveries AS known
    SET user_id = CASE known.user_id WHEN erase_from_redeliveries.user_id THEN pseudonym ELSE known.user_id END,
        note = iap.without_user(known.note, erase_from_redeliveries.user_id, pseudonym)
    WHERE known.user_id = erase_from_redeliveries.user_id
        OR (
            strpos(known.note, erase_from_redeliveries.user_id) > 0
            AND known.note <> iap.without_user(known.note, erase_from_redeliveries.user_id, pseudonym));
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN gone + changed;
END
$$;
COMMENT ON FUNCTION iap.erase_from_redeliveries IS
    'Takes away what is to be delivered to a user, replaces their id in what has ended and in notes, and says in how '
    'many rows.';
