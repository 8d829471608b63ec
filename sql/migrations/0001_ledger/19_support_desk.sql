-- What the support desk decides.

CREATE FUNCTION iap.place_of(
    transaction_id text, wanted_bundle_id text, wanted_environment text, OUT bundle_id text, OUT environment text
) LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    places bigint;
BEGIN
    SELECT count(*), min(known.bundle_id), min(known.environment) INTO places, place_of.bundle_id, place_of.environment
    FROM iap.transactions AS known
    WHERE known.transaction_id = place_of.transaction_id
        AND known.bundle_id = coalesce(wanted_bundle_id, known.bundle_id)
        AND known.environment = coalesce(wanted_environment, known.environment);
    IF places > 1 THEN
        RAISE EXCEPTION 'transaction % is known in % apps or environments', transaction_id, places
            USING ERRCODE = 'cardinality_violation', HINT = 'Name bundle_id and environment too.';
    END IF;
END
$$;
COMMENT ON FUNCTION iap.place_of IS
    'The app and environment in which a transaction is known, NULL if in none; it is an error (21000) if several are '
    'left by what is wanted.';

CREATE FUNCTION iap.is_known_user(user_id text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    IF EXISTS (SELECT FROM iap.orders WHERE user_id = is_known_user.user_id)
        OR EXISTS (SELECT FROM iap.transactions WHERE user_id = is_known_user.user_id)
        OR EXISTS (SELECT FROM iap.entitlements WHERE user_id = is_known_user.user_id)
        OR EXISTS (SELECT FROM iap.account_tokens WHERE user_id = is_known_user.user_id)
        OR EXISTS (
            SELECT FROM iap.transactions
            WHERE admitted_user_id = is_known_user.user_id AND starts_with(place, 'white'))
    THEN
        RETURN true;
    END IF;
    PERFORM 1 FROM iap.receipts WHERE user_id = is_known_user.user_id LIMIT 1;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION iap.is_known_user IS
    'Whether a user ever handed anything in, ordered, was registered, was delivered to, is entitled to anything or is '
    'owed what was admitted for them.';

CREATE FUNCTION iap.locked_with_periods(
    bundle_id text, environment text, transaction_id text
) RETURNS iap.transactions
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM
    FROM iap.transactions
    WHERE transaction_id = ANY (
            ARRAY(
                SELECT unnest(told.periods)
                FROM iap.cases AS told
                WHERE told.transaction_id = locked_with_periods.transaction_id
                    AND told.bundle_id = locked_with_periods.bundle_id
                    AND told.environment = locked_with_periods.environment AND told.state = 'open')
            || locked_with_periods.transaction_id)
        AND bundle_id = locked_with_periods.bundle_id AND environment = locked_with_periods.environment
    ORDER BY transaction_id
    FOR UPDATE;
    RETURN iap.locked(
        locked_with_periods.bundle_id, locked_with_periods.environment, locked_with_periods.transaction_id);
END
$$;
COMMENT ON FUNCTION iap.locked_with_periods IS
    'iap.locked, with the other periods of a subscription that its open case tells of: in the order of their keys, in '
    'which a grant locks them too.';

CREATE FUNCTION iap.end_owed(
    t iap.transactions, how text, who text, user_id text, order_id text, note text, at timestamptz
) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    details     jsonb := jsonb_build_object(
        'as', end_owed.how, 'note', end_owed.note, 'order_id', end_owed.order_id, 'login', session_user);
    type        text := iap.type_of(t);
    taken       text;
    refunded_as text;
    is_new      boolean := false;
BEGIN
    IF iap.is_granted_already(t) AND NOT (type IS NULL AND iap.is_original_delivered(t)) THEN
        -- As a claim finds. The night writes it, but where nobody knows whether it is the same purchase.
        RETURN 'already_delivered';
    END IF;
    IF end_owed.how = 'delivered' AND end_owed.order_id IS NOT NULL THEN
        -- Whatever it was delivered for before: the desk may say otherwise, and a claim may not. Before the original
        -- purchase, as a claim takes them.
        SELECT order_is.is_new INTO is_new FROM iap.take_order(t, end_owed.order_id) AS order_is;
    END IF;
    -- Whatever ends it: who is about to deliver it, or to call it refunded, under another id is waited for.
    taken := iap.take_for_delivery(t, type);
    refunded_as := iap.refunded_meanwhile_as(t);
    IF taken IS NULL AND (end_owed.how <> 'delivered' OR refunded_as IS NOT NULL) THEN
        PERFORM iap.release_originals(ARRAY[ROW(t, t)::iap.change]);
    END IF;
    IF is_new AND (taken = 'already_delivered' OR refunded_as IS NOT NULL) THEN
        DELETE FROM iap.delivered_orders AS ours
        WHERE ours.order_id = end_owed.order_id COLLATE "default" AND ours.bundle_id = t.bundle_id;
    END IF;
    IF end_owed.how = 'delivered' AND refunded_as IS NOT NULL THEN
        -- The night takes it out of white.
        RETURN 'excluded';
    ELSIF taken = 'already_delivered' THEN
        -- Else a refund would count for it beside that of the id under which it was delivered.
        PERFORM iap.move(
            ARRAY[ROW(t, iap.excluded(t, 'restored', NULL, at))::iap.change], 'withdrawn', end_owed.who, NULL, at);
        RETURN 'already_delivered';
    ELSIF end_owed.how = 'refunded' AND refunded_as IS NOT NULL THEN
        -- Apple's word counts, and the money went back once. Here, for of what nobody knows the type of the night
        -- takes nothing out of white; but it has the other id stand for the refund: see iap.release_restored.
        PERFORM iap.move(
            ARRAY[ROW(t, iap.excluded(t, 'restored', NULL, at))::iap.change], 'withdrawn', end_owed.who, NULL, at,
            jsonb_build_object('refunded_as', refunded_as));
        RETURN 'excluded';
    ELSIF end_owed.how <> 'delivered' THEN
        PERFORM iap.move(
            ARRAY[ROW(t, iap.excluded(t, end_owed.how, NULL, at))::iap.change], 'resolved', end_owed.who, NULL, at,
            details);
        IF end_owed.how = 'dismissed' THEN
            PERFORM iap.withdraw_restored(t, end_owed.who, at, end_owed.who, 'dismissed_as');
        END IF;
        RETURN end_owed.how;
    ELSIF taken = 'undecided' THEN
        -- What nobody knows the type of is for the support desk to decide, and this is its decision.
        PERFORM iap.take_originals(ARRAY[t]);
    END IF;
    PERFORM iap.move(
        ARRAY[ROW(t, iap.delivered(t, end_owed.user_id, end_owed.order_id, 'resolved', at))::iap.change], 'resolved',
        end_owed.who, NULL, at, details || jsonb_build_object('user_id', end_owed.user_id));
    PERFORM iap.withdraw_restored(t, end_owed.who, at, end_owed.who);
    RETURN end_owed.how;
END
$$;
COMMENT ON FUNCTION iap.end_owed IS
    'Ends one white transaction, which the caller has locked, on the word of the support desk, and gives how; or '
    'already_delivered, or excluded, where its purchase was delivered, or refunded, under another id, or granted.';

CREATE FUNCTION iap.owners_at_desk(t iap.transactions) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT unnest(owner_user_ids)
        FROM cases
        WHERE cases.transaction_id = t.transaction_id AND cases.bundle_id = t.bundle_id
            AND cases.environment = t.environment
        UNION
        SELECT unnest(iap.owners_of(t))
        ORDER BY 1);
END
$$;
COMMENT ON FUNCTION iap.owners_at_desk IS
    'For whom anything speaks, where the support desk says to whom it was delivered: who may claim it by what is known '
    'now, and the owners that the last night saw.';

CREATE FUNCTION iap.owners_told(transaction_id text, bundle_id text, environment text) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN coalesce(
        (
            SELECT iap.owners_at_desk(ROW(t.*)::iap.transactions)
            FROM transactions AS t
            WHERE t.transaction_id = owners_told.transaction_id AND t.bundle_id = owners_told.bundle_id
                AND t.environment = owners_told.environment
        ),
        '{}');
END
$$;
COMMENT ON FUNCTION iap.owners_told IS
    'iap.owners_at_desk of a transaction, as check tells it; nobody where none has the id.';

CREATE FUNCTION iap.resolve(
    transaction_id text, how text, who text, note text, bundle_id text DEFAULT NULL, environment text DEFAULT NULL,
    user_id text DEFAULT NULL, order_id text DEFAULT NULL, is_unknown_user boolean DEFAULT false
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    place   record;
    t       iap.transactions;
    told    iap.cases;
    outcome text;
    owed_as text;
    owners  text[];
    whose   text;
    id      text;
    period  iap.transactions;
    at      timestamptz := iap.present();
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.limit_waiting();
    PERFORM iap.require_transaction_id('transaction_id', resolve.transaction_id);
    PERFORM iap.require_text('who', resolve.who, 1000);
    PERFORM iap.require_text('note', resolve.note, 10000);
    resolve.order_id := nullif(resolve.order_id, '');
    IF resolve.order_id IS NOT NULL THEN
        PERFORM iap.require_text('order_id', resolve.order_id, 1000);
    END IF;
    IF resolve.user_id <> '' THEN
        PERFORM iap.require_text('user_id', resolve.user_id, 1000);
    END IF;
    IF resolve.how IS NULL OR resolve.how NOT IN ('delivered', 'dismissed', 'refunded') THEN
        RAISE EXCEPTION 'a case ends as “delivered”, “dismissed” or “refunded”'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    place := iap.place_of(resolve.transaction_id, resolve.bundle_id, resolve.environment);
    t := iap.locked_with_periods(place.bundle_id, place.environment, resolve.transaction_id);
    outcome := iap.standing(t);
    IF outcome = 'excluded' THEN
        -- The customer may name no other id of a purchase than the one that it was restored under.
        owed_as := iap.owed_as(t);
        IF owed_as IS NOT NULL THEN
            RETURN iap.resolve(
                owed_as, resolve.how, resolve.who, resolve.note, place.bundle_id, place.environment, resolve.user_id,
                resolve.order_id, resolve.is_unknown_user);
        END IF;
    END IF;
    IF outcome <> 'white' THEN
        RETURN outcome;
    END IF;
    SELECT * INTO told
    FROM iap.cases
    WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment;
    IF resolve.how = 'delivered' THEN
        owners := iap.owners_at_desk(t);
        IF resolve.user_id IS NULL AND cardinality(owners) > 1 THEN
            RETURN 'several_owners';
        ELSIF NOT (
            resolve.user_id IS NULL OR resolve.user_id = ANY (owners)
            OR (resolve.is_unknown_user IS TRUE AND resolve.user_id <> '') OR iap.is_known_user(resolve.user_id))
        THEN
            RETURN 'unknown_user';
        END IF;
        -- Where the night names nobody, or nobody for sure, who may claim it is too little to say that they got it.
        whose := coalesce(
            resolve.user_id,
            CASE WHEN told.owner_user_ids = '{}' OR 'owner_uncertain' = ANY (told.reasons) THEN t.admitted_user_id
                ELSE owners[1] END);
    END IF;
    outcome := iap.end_owed(t, resolve.how, resolve.who, whose, resolve.order_id, resolve.note, at);
    IF outcome = resolve.how AND told.state = 'open' THEN
        -- The others are locked, and were maybe claimed or excluded before that: then they stay as they are.
        FOREACH id IN ARRAY told.periods LOOP
            period := iap.locked(t.bundle_id, t.environment, id);
            CONTINUE WHEN period.place IS DISTINCT FROM 'white';
            -- One account of Apple's may have paid for another user since: theirs becomes a case of its own.
            CONTINUE WHEN resolve.how = 'delivered' AND (
                SELECT bool_and(owner <> whose)
                FROM iap.owners_by_token(t.bundle_id, period.app_account_token) AS owner);
            PERFORM iap.end_owed(
                period, resolve.how, resolve.who, coalesce(whose, period.admitted_user_id),
                resolve.order_id, resolve.note, at);
        END LOOP;
    END IF;
    RETURN outcome;
END
$$;
COMMENT ON FUNCTION iap.resolve IS
    'Ends what is owed on the word of the support desk, and gives how: delivered, dismissed or refunded. The case of a '
    'subscription ends with all periods that it tells of, as far as they are still owed; a restored id stands for the '
    'id under which its purchase, or period, is owed. Where nothing is owed it changes nothing and says why: '
    'already_delivered, excluded or not_verified. Nor where it is not clear to whom it was delivered: several_owners, '
    'where anything speaks for more than one and user_id names none; unknown_user, where nobody has ever heard of '
    'user_id and is_unknown_user does not say that this is so.';
