-- How an app's server says what it has granted, and takes it back; and how a person is erased from it.

CREATE FUNCTION iap.entitle(
    bundle_id text, original_transaction_id text, user_id text, until timestamptz
) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    known   iap.entitlements;
    word    iap.entitlements;
    at      timestamptz := iap.present();
    changes iap.change[];
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_bundle_id(entitle.bundle_id);
    PERFORM iap.require_transaction_id('original_transaction_id', entitle.original_transaction_id);
    PERFORM iap.require_text('user_id', entitle.user_id, 1000);
    IF entitle.until IS NULL OR entitle.until = '-infinity' THEN
        RAISE EXCEPTION 'until is missing' USING
            ERRCODE = 'invalid_parameter_value', HINT = 'What was granted for ever has until “infinity”.';
    ELSIF entitle.until < iap.app_store_opened()
        OR (entitle.until >= '10000-01-01 00:00+00' AND entitle.until <> 'infinity')
    THEN
        RAISE EXCEPTION 'until can''t be %', entitle.until USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'Apple tells moments in milliseconds. What was granted for ever has until “infinity”.';
    END IF;

    word := ROW(
        entitle.original_transaction_id, entitle.bundle_id, entitle.user_id, entitle.until, at, at, NULL, '{}',
        NULL)::iap.entitlements;
    word.seal := audit.seal(word);
    INSERT INTO iap.entitlements SELECT word.* ON CONFLICT (original_transaction_id, bundle_id) DO NOTHING;
    IF NOT FOUND THEN
        SELECT * INTO known
        FROM iap.entitlements
        WHERE original_transaction_id = entitle.original_transaction_id AND bundle_id = entitle.bundle_id
        FOR UPDATE;
        word := iap.said_again(known, word);
        IF word IS DISTINCT FROM known THEN
            PERFORM iap.keep_entitlement(known, word);
        END IF;
    END IF;

    -- What the job has seen already. What another session holds is taken by the night, and so is what an import told:
    -- what the word before granted in time is written as by that, for this one may come late for it.
    SELECT array_agg(ROW(t, iap.delivered(t, word.user_id, NULL, 'entitlement', at))::iap.change) INTO changes
    FROM (
        SELECT *
        FROM iap.transactions AS white
        WHERE iap.is_of_original(
                white.transaction_id, white.original_transaction_id, entitle.original_transaction_id)
            AND white.bundle_id = entitle.bundle_id AND white.place = 'white'
            AND (
                iap.is_granted(ROW(white.*)::iap.transactions, word, at, said_at => at)
                OR iap.is_granted(ROW(white.*)::iap.transactions, known, at))
        ORDER BY white.transaction_id, white.bundle_id, white.environment
        FOR UPDATE SKIP LOCKED
    ) AS t;
    PERFORM iap.cover(changes, NULL, at, session_user);
    RETURN word.entitled_until;
END
$$;
COMMENT ON FUNCTION iap.entitle IS
    'Says until when the app''s server has granted what an original transaction bought, in the caller''s transaction, '
    'which grants it; gives until when it is granted now. A later word never shortens: see iap.revoke_entitlement. But '
    'it must be said for an upgrade, too, also where that ends sooner than what it replaces. A purchase that is '
    'granted for ever has until “infinity”.';

CREATE FUNCTION iap.take_back(word iap.entitlements, upgrades boolean, at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    changes iap.change[];
BEGIN
    SELECT array_agg(ROW(t, iap.owed_again(t))::iap.change) INTO changes
    FROM (
        SELECT *
        FROM iap.transactions AS black
        WHERE iap.is_of_original(
                black.transaction_id, black.original_transaction_id, word.original_transaction_id)
            AND black.bundle_id = word.bundle_id AND black.delivered_by = 'entitlement'
            AND black.refunded_at IS NULL
            AND CASE
                WHEN upgrades THEN
                    black.purchased_at > word.granted_at
                    AND iap.is_bought_since(
                        ROW(black.*)::iap.transactions, iap.said_for(ROW(black.*)::iap.transactions, word))
                ELSE NOT iap.is_covered(ROW(black.*)::iap.transactions, word, at)
            END
        ORDER BY black.transaction_id, black.bundle_id, black.environment
        FOR UPDATE
    ) AS t;
    IF changes IS NOT NULL THEN
        PERFORM iap.move(
            changes, 'revoked', session_user, NULL, at, jsonb_build_object('user_id', word.user_id), 'entitlement');
    END IF;
END
$$;
COMMENT ON FUNCTION iap.take_back IS
    'Has what an entitlement delivered owed again, unless Apple has refunded it: what it does not reach to the end of '
    'any more, or of upgrades those that no word of it grants.';

CREATE FUNCTION iap.revoke_entitlement(
    bundle_id text, original_transaction_id text, until timestamptz DEFAULT NULL
) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    known   iap.entitlements;
    word    iap.entitlements;
    at      timestamptz := iap.present();
    ends    timestamptz := coalesce(until, at);
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_bundle_id(revoke_entitlement.bundle_id);
    PERFORM iap.require_transaction_id('original_transaction_id', revoke_entitlement.original_transaction_id);
    IF ends = '-infinity' OR (ends >= '10000-01-01 00:00+00' AND ends <> 'infinity') THEN
        RAISE EXCEPTION 'until can''t be %', ends USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'What was granted by mistake is taken back from its beginning on.';
    END IF;
    PERFORM iap.meet_grant(revoke_entitlement.bundle_id, revoke_entitlement.original_transaction_id);
    SELECT * INTO known
    FROM iap.entitlements
    WHERE original_transaction_id = revoke_entitlement.original_transaction_id
        AND bundle_id = revoke_entitlement.bundle_id
    FOR UPDATE;
    IF NOT FOUND OR (known.entitled_until <= ends AND known.revoked_at IS NULL) THEN
        RETURN known.entitled_until;
    END IF;
    word := known;
    -- Said again, it finds what another session was about to write when it was said first.
    IF known.entitled_until > ends THEN
        word.entitled_until := ends;
        word.revoked_at := at;
        word.shorter := ARRAY(SELECT shorter FROM unnest(known.shorter) AS shorter WHERE shorter.until < ends);
        PERFORM iap.keep_entitlement(known, word);
    END IF;
    PERFORM iap.take_back(word, false, at);
    RETURN word.entitled_until;
END
$$;
COMMENT ON FUNCTION iap.revoke_entitlement IS
    'Takes back what was granted, from now or from until on, and gives until when it is granted now; NULL where '
    'nothing was. Periods that reach beyond are owed again, unless Apple has refunded them.';

CREATE FUNCTION iap.erase_from_entitlements(user_id text, pseudonym text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    known iap.entitlements;
    word  iap.entitlements;
    rows  bigint := 0;
BEGIN
    FOR known IN SELECT * FROM iap.entitlements AS e WHERE e.user_id = erase_from_entitlements.user_id FOR UPDATE LOOP
        word := known;
        word.user_id := pseudonym;
        PERFORM iap.keep_entitlement(known, word);
        rows := rows + 1;
    END LOOP;
    RETURN rows;
END
$$;
COMMENT ON FUNCTION iap.erase_from_entitlements IS 'Replaces a user id in what was granted, and says in how many rows.';
