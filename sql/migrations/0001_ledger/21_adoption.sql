-- What the support desk adopts by Apple's signature.

CREATE FUNCTION iap.signed_claims(signed_transaction text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body text := translate(split_part(signed_transaction, '.', 2), '-_', '+/');
    said jsonb;
BEGIN
    IF signed_transaction !~ '^[A-Za-z0-9_-]+[.][A-Za-z0-9_-]+[.][A-Za-z0-9_-]+$' THEN
        RETURN NULL;
    END IF;
    said := convert_from(decode(rpad(body, (length(body) + 3) / 4 * 4, '='), 'base64'), 'UTF8')::jsonb;
    RETURN (SELECT jsonb_object_agg(key, value) FROM jsonb_each(said) WHERE value NOT IN ('null', '""'));
EXCEPTION
    -- Or it is nested deeper than anything that Apple signs.
    WHEN data_exception OR statement_too_complex THEN
        RETURN NULL;
END
$$;
COMMENT ON FUNCTION iap.signed_claims IS
    'What a signed transaction (JWS) says, without what is null or empty, which the night takes for not said; NULL '
    'where it can''t be one. Whether Apple signed it is looked at by the night.';

CREATE FUNCTION iap.moment_said(milliseconds text) RETURNS timestamptz
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        -- Longer than any that is one: of what is more yet a number can't be made.
        WHEN length($1) <= 40 AND $1 ~ '^[0-9]+([.][0-9]+)?$' AND trunc($1::numeric) BETWEEN 1 AND 253402300799999
        THEN to_timestamp(trunc($1::numeric) / 1000)
    END
$$;
COMMENT ON FUNCTION iap.moment_said IS
    'The moment that Apple says in milliseconds, as a number or a text, as the night reads it: in the years up to '
    '9999, and without a fraction of a millisecond; NULL where it can''t be one.';

CREATE FUNCTION iap.log_desk(
    kind text, who text, transaction_id text, bundle_id text, environment text, details jsonb
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM iap.log_event(
        kind, who, NULL, iap.present(), details || jsonb_build_object('login', session_user), transaction_id, bundle_id,
        environment);
END
$$;
COMMENT ON FUNCTION iap.log_desk IS 'Writes a word of the support desk about a transaction into the audit trail.';

CREATE FUNCTION iap.adopt(bundle_id text, signed_transaction text, user_id text, who text, note text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    claims  jsonb := iap.signed_claims(adopt.signed_transaction);
    id      text := claims ->> 'transactionId';
    -- Of several purchases that make up a period, as seats that were added to it, none restores another.
    period  text := CASE
        WHEN claims ->> 'additionalTransactionReason' IS NULL
        THEN iap.period_said(claims ->> 'webOrderLineItemId')
    END;
    wanted  iap.transactions;
    receipt bigint;
    outcome text;
    owed_as text;
BEGIN
    PERFORM iap.commit_durably();
    PERFORM iap.require_bundle_id(adopt.bundle_id);
    PERFORM iap.require_text('user_id', adopt.user_id, 1000);
    PERFORM iap.require_text('who', adopt.who, 1000);
    PERFORM iap.require_text('note', adopt.note, 10000);
    IF id IS NULL OR claims ->> 'bundleId' IS NULL OR claims ->> 'productId' IS NULL
        OR iap.moment_said(claims ->> 'purchaseDate') IS NULL
        -- What the night can't read, must not pass for no refund, or for none that is to come.
        OR (claims ? 'revocationDate' AND iap.moment_said(claims ->> 'revocationDate') IS NULL)
        OR (claims ? 'expiresDate' AND iap.moment_said(claims ->> 'expiresDate') IS NULL)
        OR coalesce(claims ->> 'quantity', '1') !~ '^-?[0-9]{1,9}$'
    THEN
        RAISE EXCEPTION 'signed_transaction is no signed transaction of Apple''s' USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'It is what Look Up Order ID and Get Transaction Info answer, as it was sent.';
    ELSIF claims ->> 'bundleId' <> adopt.bundle_id THEN
        RAISE EXCEPTION 'transaction % is of the app %', id, claims ->> 'bundleId' USING
            ERRCODE = 'invalid_parameter_value';
    ELSIF claims ->> 'inAppOwnershipType' IN ('FAMILY_SHARED', 'ASSIGNED') THEN
        -- Another customer paid, also where it ended with the date of a refund.
        RETURN 'excluded';
    ELSIF claims ? 'revocationDate' THEN
        RETURN 'refunded';
    ELSIF lower(claims ->> 'isUpgraded') IN ('true', '1', 'yes') OR (claims ->> 'quantity')::integer < 1 THEN
        -- What replaced it is owed, or nothing was bought: the night would exclude it.
        RETURN 'excluded';
    END IF;

    -- What Apple signed names a subscription's period, and what is bought once: under another id it may have been
    -- delivered or refunded, whatever the list of products knows of it.
    wanted.transaction_id := id;
    wanted.bundle_id := adopt.bundle_id;
    wanted.environment := claims ->> 'environment';
    wanted.original_transaction_id := coalesce(claims ->> 'originalTransactionId', id);
    wanted.product_id := claims ->> 'productId';
    wanted.web_order_line_item_id := period;
    wanted.product_type := CASE
        WHEN period IS NOT NULL THEN 'auto_renewable' WHEN claims ->> 'type' = 'Non-Consumable' THEN 'non_consumable'
    END;
    IF iap.is_period_delivered(wanted) OR iap.is_delivered_otherwise(wanted) THEN
        RETURN 'already_delivered';
    ELSIF wanted.product_type IS NOT NULL
        AND (iap.is_refunded_otherwise(wanted) OR iap.is_dismissed_otherwise(wanted))
    THEN
        RETURN 'excluded';
    END IF;

    -- Before its receipt, as everyone locks them who locks both.
    PERFORM iap.locked(adopt.bundle_id, wanted.environment, id);
    -- The night verifies it, and learns the price.
    receipt := iap.submit_receipt(adopt.bundle_id, adopt.user_id, adopt.signed_transaction, id);
    BEGIN
        outcome := iap.admit(
            adopt.bundle_id, claims ->> 'environment', id, coalesce(claims ->> 'originalTransactionId', id),
            claims ->> 'productId', coalesce((claims ->> 'quantity')::integer, 1),
            iap.moment_said(claims ->> 'purchaseDate'), adopt.user_id, receipt, period);
    EXCEPTION
        WHEN object_not_in_prerequisite_state THEN
            -- The name stands for its whole class, in which a lock that was not to be had is, too.
            IF SQLSTATE <> '55000' THEN
                RAISE;
            END IF;
            RETURN 'excluded';
    END;
    IF outcome NOT IN ('white', 'already_white') THEN
        RETURN outcome;
    END IF;
    -- Of what was restored it admitted the id under which it is owed: whose that is the desk says.
    wanted := iap.locked(adopt.bundle_id, claims ->> 'environment', id);
    owed_as := iap.owed_as(wanted);
    IF owed_as IS NOT NULL THEN
        wanted := iap.locked(adopt.bundle_id, claims ->> 'environment', owed_as);
    END IF;
    IF adopt.user_id IS DISTINCT FROM iap.adopted_for(wanted) THEN
        PERFORM iap.log_desk(
            'adopted', adopt.who, wanted.transaction_id, adopt.bundle_id, wanted.environment,
            jsonb_build_object('user_id', adopt.user_id, 'note', adopt.note));
    END IF;
    -- The night writes what a grant has delivered before anybody knew of it; until then nobody gives it by hand.
    RETURN CASE WHEN iap.is_granted_already(wanted) THEN 'already_delivered' ELSE outcome END;
END
$$;
COMMENT ON FUNCTION iap.adopt IS
    'Takes a purchase of which no receipt came into the ledger, by what Apple signed, for the user of whom the support '
    'desk says that it is theirs. Gives white or already_white, where it can then be resolved and is never delivered '
    'again, or already_delivered, excluded or refunded, where nothing is owed.';
