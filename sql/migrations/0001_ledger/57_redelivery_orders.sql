-- Redeliveries are ordered: by the night of what it is sure of, or by a person.

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
            -- What is under way goes on, also for another period of a subscription, and what was given up waits for a
            -- person.
            AND NOT EXISTS (
                SELECT FROM redeliveries AS under_way
                WHERE under_way.transaction_id = ANY (cases.periods || cases.transaction_id::text)
                    AND under_way.bundle_id = cases.bundle_id AND under_way.environment = cases.environment
                    AND under_way.ended_at IS NULL)
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
    PERFORM iap.commit_durably(), iap.limit_idleness();
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
