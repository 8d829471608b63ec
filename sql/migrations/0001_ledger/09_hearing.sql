-- What a later word of Apple's makes of a purchase.

CREATE FUNCTION iap.is_another_night(confirmed_at timestamptz, verified_at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    -- Half a night: two runs of one night count once, however far cron drifts.
    SELECT confirmed_at IS NULL OR verified_at - confirmed_at >= '12 hours'
$$;
COMMENT ON FUNCTION iap.is_another_night IS
    'Whether a word of Apple''s confirms a white transaction for one night more than it was confirmed last.';

CREATE FUNCTION iap.may_not_know(answered_at timestamptz, of_what_was_told_at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    -- It has been seen to lag by minutes.
    SELECT of_what_was_told_at >= answered_at - interval '1 hour'
$$;
COMMENT ON FUNCTION iap.may_not_know IS
    'Whether what Apple answers of a customer''s history may not hold yet what Apple told by itself at a moment.';

CREATE FUNCTION iap.refund_as_of(v iap.verified) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
    -- From a receipt Apple reads a refund that was taken back since as well, whenever it reads that. What it adds to
    -- the receipt may have come later.
    SELECT greatest(coalesce(v.made_at, v.verified_at), v.refunded_at)
$$;
COMMENT ON FUNCTION iap.refund_as_of IS 'When what is told of a refund was so.';

CREATE FUNCTION iap.is_taken_back(v iap.verified) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- Apple's answers do not know at once of one that was taken back.
    RETURN EXISTS (
        SELECT FROM notices
        WHERE notices.transaction_id = v.transaction_id AND notices.bundle_id = v.bundle_id
            AND notices.environment = v.environment AND type = 'REFUND_REVERSED' AND signed_at > v.refunded_at
            AND iap.may_not_know(iap.refund_as_of(v), signed_at));
END
$$;
COMMENT ON FUNCTION iap.is_taken_back IS
    'Whether Apple told by itself that it took a refund back, and what tells of the refund may not know that yet.';

CREATE FUNCTION iap.is_outdated_refund(t iap.transactions, v iap.verified) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN iap.refund_as_of(v) <= t.refund_reversed_at OR (
        t.refunded_at IS NULL AND (
            -- What Apple answers of a customer's history holds every refund; of a receipt, only those that came before
            -- it was made.
            (t.source = 'server_api' AND NOT iap.may_not_know(t.verified_at, iap.refund_as_of(v)))
            OR iap.is_taken_back(v)));
END
$$;
COMMENT ON FUNCTION iap.is_outdated_refund IS
    'Whether Apple took a refund back, or knew of none any more, after it told of it: its words come in any order.';

CREATE FUNCTION iap.is_same_refund(refunded_at timestamptz, known_at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT $1 > $2 - interval '1 second' AND $1 < $2 + interval '1 second'
$$;
COMMENT ON FUNCTION iap.is_same_refund IS
    'Whether two words of a refund''s time are of one refund: some of Apple''s formats tell it to the second.';

CREATE FUNCTION iap.is_later_refund(refunded_at timestamptz, known_at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    -- Some of Apple's formats tell of it to the second.
    SELECT $1 >= $2 + interval '1 second'
$$;
COMMENT ON FUNCTION iap.is_later_refund IS
    'Whether Apple refunded a transaction once more than is known: so it took the one that is known back between them, '
    'and may tell of that later.';

CREATE FUNCTION iap.is_refunded_elsewhere(t iap.transactions) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM moves
        JOIN transactions AS other
            ON other.transaction_id = moves.details ->> 'refunded_as' AND other.bundle_id = moves.bundle_id
                AND other.environment = moves.environment
        WHERE moves.transaction_id = t.transaction_id AND moves.bundle_id = t.bundle_id
            AND moves.environment = t.environment AND moves.kind = 'refunded' AND moves.run_id = t.refund_run_id
            AND other.refund_run_id IS NOT NULL);
END
$$;
COMMENT ON FUNCTION iap.is_refunded_elsewhere IS
    'Whether the refund of what was delivered was carried to it from another id of the purchase, under which Apple '
    'still tells of it: see iap.carry_refunds.';

CREATE FUNCTION iap.ends_refund(t iap.transactions, v iap.verified) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    told_at timestamptz := coalesce(v.made_at, v.verified_at);
BEGIN
    -- What a person called refunded, Apple has never refunded. Most are not: for them no statement is run.
    IF t.refund_run_id IS NULL THEN
        RETURN false;
    END IF;
    -- A signature alone takes no refund back: it was signed for another reason. Apple's word does, unless it is from
    -- before the refund, of which a poorer source told; or of a receipt that was made before what told of it, or before
    -- the refund: whenever Apple reads that, it tells what was known when it was made, unless it is the receipt that
    -- told of the refund itself; or a customer's history so soon after Apple told of the refund by itself that it may
    -- not know it yet. Of a refund under another id this one never told.
    RETURN (
            v.source > 'local' AND v.source >= t.source AND v.verified_at > greatest(t.verified_at, t.refunded_at)
            AND (
                told_at < t.refund_told_at
                OR (told_at < t.refunded_at AND told_at IS DISTINCT FROM t.refund_told_at)) IS NOT TRUE
            AND (
                v.made_at IS NOT NULL OR NOT EXISTS (
                    SELECT FROM notices
                    WHERE notices.transaction_id = t.transaction_id AND notices.bundle_id = t.bundle_id
                        AND notices.environment = t.environment AND type IN ('REFUND', 'REVOKE')
                        AND iap.may_not_know(v.verified_at, signed_at)))
            AND NOT iap.is_refunded_elsewhere(t))
        OR EXISTS (
            SELECT FROM notices
            WHERE notices.transaction_id = t.transaction_id AND notices.bundle_id = t.bundle_id
                AND notices.environment = t.environment AND type = 'REFUND_REVERSED' AND signed_at > t.refunded_at);
END
$$;
COMMENT ON FUNCTION iap.ends_refund IS
    'Whether Apple''s refund of a transaction is no more, by a word of Apple''s that tells of none.';

CREATE FUNCTION iap.reaches(entitled_until timestamptz, expires_at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT $2 <= $1 + interval '1 minute' $$;
COMMENT ON FUNCTION iap.reaches IS
    'Whether a grant reaches to the end of a period, give or take a minute: servers keep whole seconds, and Apple '
    'tells the same moment some milliseconds apart.';

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

CREATE FUNCTION iap.is_granted_to_others(t iap.transactions) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(t.user_id <> t.admitted_user_id, false) OR EXISTS (
        SELECT FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND same.source <> 'app_server');
END
$$;
COMMENT ON FUNCTION iap.is_granted_to_others IS
    'Whether the grant that delivered a transaction of a wrong original was another purchase''s: of another user than '
    'it was admitted for, or of an original that Apple knows. Else the server meant this one, and erred both times.';

CREATE FUNCTION iap.stands_otherwise(t iap.transactions) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND NOT same.is_family_shared
            AND (
                same.place <> 'excluded' OR same.reason = 'dismissed'
                OR (t.reason = 'restored' AND same.refunded_at IS NOT NULL)
                -- Of several that are refunded the original will stand for all, or else the lowest id.
                OR (
                    same.reason = 'refunded'
                    AND (same.transaction_id <> same.original_transaction_id, same.transaction_id)
                        < (t.transaction_id <> t.original_transaction_id, t.transaction_id)))
            AND (
                (t.web_order_line_item_id IS NULL AND iap.type_of(t) IS DISTINCT FROM 'auto_renewable')
                OR iap.is_same_period(t, ROW(same.*)::iap.transactions)));
END
$$;
COMMENT ON FUNCTION iap.stands_otherwise IS
    'Whether what was bought once, or a period of a subscription, is owed, was delivered or dismissed under another '
    'transaction id, or will be where its refund is taken back; of a restored id, also where another is refunded.';

CREATE FUNCTION iap.paid_again(t iap.transactions, reversed_at timestamptz, at timestamptz) RETURNS iap.transactions
LANGUAGE plpgsql STABLE AS $$
BEGIN
    t := iap.refund_reversed(t, reversed_at);
    -- Access was taken away with the money, and is owed with it.
    IF t.delivered_by = 'entitlement' AND NOT iap.has_access(t, at) THEN
        t := iap.owed_again(t);
    END IF;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.paid_again IS
    'A transaction whose refund Apple took back: owed again, where a grant had delivered it that reaches to its end no '
    'more.';

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
    IF t.is_family_shared AND NOT was.is_family_shared AND was.refund_run_id IS NOT NULL THEN
        -- A poorer source told that it ended, and not that nobody had paid.
        t := iap.unrefunded(t);
    ELSIF v.refunded_at IS NOT NULL THEN
        -- Of what is shared in a family nobody paid: when that ends, no money goes back.
        IF t.place <> 'white' AND (t.place <> 'black' OR t.is_family_shared IS NOT TRUE) AND (
            -- Of which Apple told nothing yet: it knows when and how much better than the support desk.
            was.refund_run_id IS NULL
            OR iap.is_later_refund(v.refunded_at, was.refunded_at)
            -- Or only of the other id's.
            OR iap.is_refunded_elsewhere(was)
            -- What kind of refund it is may be told later, also by a word that is older: verifyReceipt knows of none.
            OR (v.revocation_type IS NOT NULL
                AND (
                    v.verified_at >= was.verified_at
                    OR (t.revocation_type IS NULL AND iap.is_same_refund(v.refunded_at, t.refunded_at)))
                AND (t.revocation_type, t.revocation_percentage)
                    IS DISTINCT FROM (v.revocation_type, v.revocation_percentage)))
        THEN
            t := iap.refunded(
                t, v, CASE WHEN iap.is_refunded_elsewhere(was) THEN run ELSE coalesce(was.refund_run_id, run) END);
        END IF;
    ELSIF iap.ends_refund(was, v) THEN
        -- By a receipt it was so when that was made: of what came since, Apple may have told before tonight.
        t := iap.paid_again(
            t, CASE WHEN v.made_at > was.refund_told_at THEN v.made_at ELSE v.verified_at END, at);
    ELSIF t.delivered_by = 'entitlement' AND t.refunded_at IS NULL
        AND t.original_transaction_id <> was.original_transaction_id AND iap.is_granted_to_others(was)
    THEN
        -- What was granted for its own original the night finds: see iap.cover_entitled.
        t := iap.owed_again(t);
    ELSIF t.expires_at IS NOT NULL AND iap.reaches(was.expires_at, t.expires_at) IS NOT TRUE
        AND t.delivered_by = 'entitlement' AND t.refunded_at IS NULL AND v.exclusion IS NULL
        AND t.original_transaction_id = was.original_transaction_id AND NOT iap.has_access(t, at)
    THEN
        -- While nobody knew its end, a grant was taken for its own, perhaps one for the billing grace before it: that
        -- does not reach so far. Nor does one that was said before Apple extended the period.
        t := iap.owed_again(t);
    END IF;

    IF t.place = 'white' THEN
        -- What is restored the night withdraws, and knows then for the sake of which id: see iap.withdraw_all_restored.
        -- It can't of what nobody knows the type of.
        IF v.exclusion <> 'restored' OR (
            v.exclusion = 'restored' AND t.web_order_line_item_id IS NULL AND iap.type_of(t) IS NULL)
        THEN
            IF v.refunded_at IS NOT NULL THEN
                t := iap.refunded(t, v, run);
            END IF;
            t := iap.excluded(t, v.exclusion, run, at);
        ELSIF iap.is_another_night(t.last_confirmed_at, coalesce(v.confirmed_at, v.verified_at)) THEN
            t.nights_confirmed := t.nights_confirmed + 1;
            t.last_confirmed_at := coalesce(v.confirmed_at, v.verified_at);
        END IF;
    ELSIF t.reason = 'restored' AND t.refunded_at IS NULL AND v.exclusion IS NULL
        AND t.original_transaction_id = was.original_transaction_id
    THEN
        -- What it was restored from may have been refunded, and be so no more.
        IF NOT iap.stands_otherwise(t) THEN
            t := iap.owed_again(t);
        END IF;
    ELSIF t.place = 'excluded' AND t.refunded_at IS NULL
        AND (
            t.reason IN ('sandbox', 'before_start', 'refunded')
            -- A better source told how many.
            OR (t.reason = 'invalid_quantity' AND t.quantity > 0)
            -- It restored another purchase than Apple knows.
            OR (t.reason = 'restored' AND t.original_transaction_id <> was.original_transaction_id))
        AND v.exclusion IS DISTINCT FROM t.reason
    THEN
        t := CASE
            WHEN v.exclusion IS NULL
                -- Restored as what was refunded with it, of which Apple tells next that it is no more. Until then the
                -- night withdraws it: see iap.withdraw_all_restored.
                OR (t.reason = 'refunded' AND v.exclusion = 'restored' AND NOT iap.stands_otherwise(t))
            THEN iap.owed_again(t)
            ELSE iap.excluded(t, v.exclusion, run, at)
        END;
    ELSIF t.reason = 'sandbox' AND t.refunded_at IS NOT NULL AND v.exclusion IS DISTINCT FROM 'sandbox' THEN
        -- Somebody paid, and has the money back: also by a poorer word, from before the refund.
        t := iap.excluded(
            t, CASE WHEN v.exclusion IN ('foreign_bundle', 'family_shared') THEN v.exclusion ELSE 'refunded' END, run,
            at);
    END IF;
    RETURN t;
END
$$;
COMMENT ON FUNCTION iap.heard IS
    'A transaction as it is by what Apple says of it now: corrected; refunded, or its refund reversed; not owed any '
    'more; or owed after all, where only a setting, a refund that is no more, a wrong original or a wrong quantity '
    'kept it from that, or a grant that was another purchase''s, or does not reach to the end which Apple tells.';
