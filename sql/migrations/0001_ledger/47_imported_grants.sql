-- What a company's own tables say was granted.

CREATE FUNCTION iap.cover_superseded(words iap.entitlements[]) RETURNS void
-- By the primary keys, even where the plan was made when the tables were small.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    at      timestamptz := iap.present();
    known   iap.entitlements[];
    changes iap.change[];
BEGIN
    SELECT array_agg(held.e) INTO known
    FROM (
        SELECT ROW(e.*)::iap.entitlements AS e
        FROM entitlements AS e
        JOIN (
            SELECT
                original_transaction_id, bundle_id, min(least(entitled_until, revoked_at)) AS first_end,
                max(least(entitled_until, revoked_at)) AS last_end, bool_or(revoked_at IS NULL) AS goes_on
            FROM unnest(words)
            GROUP BY original_transaction_id, bundle_id
        ) AS said USING (original_transaction_id, bundle_id)
        -- Most rows of a company's table say again what they said the night before.
        WHERE said.first_end <> e.entitled_until OR said.last_end <> e.entitled_until
            OR (e.revoked_at IS NOT NULL AND said.goes_on)
        ORDER BY original_transaction_id, bundle_id
        FOR UPDATE OF e
    ) AS held;
    SELECT array_agg(ROW(t, iap.delivered(t, user_id, NULL, 'entitlement', at))::iap.change) INTO changes
    FROM (
        SELECT ROW(white.*)::iap.transactions AS t, e.user_id
        FROM unnest(known) AS e
        JOIN transactions AS white
            ON iap.is_of_original(
                    white.transaction_id, white.original_transaction_id, e.original_transaction_id)
                AND white.bundle_id = e.bundle_id AND white.place = 'white'
        WHERE iap.is_granted(ROW(white.*)::iap.transactions, ROW(e.*)::iap.entitlements, at)
        ORDER BY white.transaction_id, white.bundle_id, white.environment
        FOR UPDATE OF white SKIP LOCKED
    ) AS held;
    PERFORM iap.cover(changes, NULL, at, session_user);
END
$$;
COMMENT ON FUNCTION iap.cover_superseded IS
    'Writes what grants delivered that an import is about to say another word on. The night has yet to do so where the '
    'last import was after it, or where it broke off; and the word that comes may be late for what was granted in '
    'time.';

CREATE FUNCTION iap.revoke_words(known iap.entitlements, revoked iap.word[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
DECLARE
    word iap.entitlements := known;
BEGIN
    word.shorter := ARRAY(
        SELECT ROW(least(shorter.until, revoked.said_at), shorter.said_at)::iap.word
        FROM unnest(known.shorter) AS shorter
        LEFT JOIN unnest(revoked) AS revoked USING (until));
    PERFORM iap.keep_entitlement(known, word);
    PERFORM iap.take_back(word, true, iap.present());
END
$$;
COMMENT ON FUNCTION iap.revoke_words IS
    'Takes back words that reach less far than an entitlement, which its caller has locked, each from a moment on. '
    'Upgrades that reach beyond, and were granted by no other word, are owed again, unless Apple has refunded them.';

CREATE FUNCTION iap.is_end_of_period(
    bundle_id text, original_transaction_id text, until timestamptz
) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN EXISTS (
        SELECT FROM transactions AS period
        WHERE iap.is_of_original(
                period.transaction_id, period.original_transaction_id, is_end_of_period.original_transaction_id)
            AND period.bundle_id = is_end_of_period.bundle_id
            AND iap.reaches(until, period.expires_at) AND iap.reaches(period.expires_at, until));
END
$$;
COMMENT ON FUNCTION iap.is_end_of_period IS 'Whether a period of an original purchase ends at a moment.';

CREATE FUNCTION iap.import_entitlements(words iap.entitlements[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    latest iap.entitlements[];
    taken  bigint;
    word   record;
    became iap.entitlements;
    until  timestamptz;
BEGIN
    PERFORM iap.cover_superseded(words);
    -- What was revoked ended then. A company may keep a row a period: the one that reaches furthest holds.
    SELECT array_agg(furthest::iap.entitlements) INTO latest
    FROM (
        SELECT DISTINCT ON (original_transaction_id, bundle_id)
            original_transaction_id, bundle_id, user_id, entitled_until, first_granted_at, granted_at, revoked_at,
            shorter, seal
        FROM unnest(words) WITH ORDINALITY AS said
        ORDER BY original_transaction_id, bundle_id, least(entitled_until, revoked_at) DESC, ordinality DESC
    ) AS furthest;
    INSERT INTO entitlements AS known
    SELECT granted.*, audit.seal(ROW(granted.*, NULL)::iap.entitlements)
    FROM (
        SELECT
            original_transaction_id, bundle_id, user_id, least(entitled_until, revoked_at), first_granted_at,
            granted_at, revoked_at, shorter
        FROM unnest(latest)
    ) AS granted
    ORDER BY granted.original_transaction_id, granted.bundle_id
    ON CONFLICT (original_transaction_id, bundle_id) DO UPDATE
    SET user_id = EXCLUDED.user_id, entitled_until = EXCLUDED.entitled_until, granted_at = EXCLUDED.granted_at,
        revoked_at = EXCLUDED.revoked_at,
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN known.seal = audit.seal(ROW(known.*)::iap.entitlements) THEN audit.seal(ROW(
            known.original_transaction_id, known.bundle_id, EXCLUDED.user_id, EXCLUDED.entitled_until,
            known.first_granted_at, EXCLUDED.granted_at, EXCLUDED.revoked_at, known.shorter,
            NULL)::iap.entitlements)
            ELSE known.seal END
    WHERE known.entitled_until < EXCLUDED.entitled_until;
    GET DIAGNOSTICS taken = ROW_COUNT;

    -- Of what was revoked, the row that had reached furthest, or was revoked last: down to what the others still grant,
    -- such as the month for which a year was given up.
    FOR word IN
        SELECT original_transaction_id, bundle_id, remaining.entitled_until
        FROM (
            SELECT
                original_transaction_id, bundle_id, max(entitled_until) AS entitled_until,
                max(revoked_at) AS revoked_at
            FROM unnest(words)
            WHERE revoked_at IS NOT NULL
            GROUP BY original_transaction_id, bundle_id
        ) AS revoked
        JOIN (
            SELECT original_transaction_id, bundle_id, least(entitled_until, revoked_at) AS entitled_until
            FROM unnest(latest)
        ) AS remaining USING (original_transaction_id, bundle_id)
        JOIN entitlements AS known USING (original_transaction_id, bundle_id)
        WHERE known.entitled_until > remaining.entitled_until
            -- What was granted since, beyond what was revoked, is another grant. So is what reaches beyond a row that
            -- ended with its period: the row of the next one need not come with it.
            AND (
                revoked.entitled_until >= known.entitled_until
                OR (
                    revoked.revoked_at >= iap.last_said(ROW(known.*)::iap.entitlements)
                    AND NOT (
                        revoked.revoked_at >= revoked.entitled_until
                        AND iap.is_end_of_period(
                            known.bundle_id, known.original_transaction_id, revoked.entitled_until))))
        ORDER BY original_transaction_id, bundle_id
    LOOP
        PERFORM iap.revoke_entitlement(word.bundle_id, word.original_transaction_id, word.entitled_until);
        taken := taken + 1;
    END LOOP;

    -- A row that was revoked beside one that goes on and reaches further, such as of a month of better access within a
    -- year.
    FOR word IN
        SELECT ROW(e.*)::iap.entitlements AS known, revoked.ends
        FROM (
            SELECT
                original_transaction_id, bundle_id,
                array_agg(ROW(entitled_until, revoked_at)::iap.word) AS ends
            FROM (
                SELECT original_transaction_id, bundle_id, entitled_until, max(revoked_at) AS revoked_at
                FROM unnest(words)
                GROUP BY original_transaction_id, bundle_id, entitled_until
                -- Where another row grants as much, that one holds.
                HAVING bool_and(coalesce(revoked_at < entitled_until, false))
            ) AS ended
            GROUP BY original_transaction_id, bundle_id
        ) AS revoked
        JOIN entitlements AS e USING (original_transaction_id, bundle_id)
        WHERE EXISTS (SELECT FROM unnest(e.shorter) AS shorter JOIN unnest(revoked.ends) AS ended USING (until))
        ORDER BY original_transaction_id, bundle_id
        FOR UPDATE OF e
    LOOP
        PERFORM iap.revoke_words(word.known, word.ends);
        taken := taken + 1;
    END LOOP;

    -- As in iap.entitle: a row that reaches less far, and goes on, may be of what was bought since; so may one that the
    -- grant was just taken back to.
    FOR word IN
        SELECT
            ROW(e.*)::iap.entitlements AS known, said.granted_at, shorter.ends, taken.is_back AS is_taken_back_to
        FROM (
            SELECT
                original_transaction_id, bundle_id, granted_at, array_agg(entitled_until) AS ends,
                min(entitled_until) AS shortest
            FROM unnest(words)
            WHERE revoked_at IS NULL AND entitled_until > granted_at
            GROUP BY original_transaction_id, bundle_id, granted_at
        ) AS said
        JOIN entitlements AS e USING (original_transaction_id, bundle_id)
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(DISTINCT ending), '{}') AS ends
            FROM unnest(said.ends) AS ending
            WHERE ending < e.entitled_until AND iap.is_new_word(ROW(e.*)::iap.entitlements, ending)
        ) AS shorter
        CROSS JOIN LATERAL (
            SELECT e.entitled_until = ANY (said.ends) AND e.revoked_at >= said.granted_at
        ) AS taken (is_back)
        -- Most rows of a company's table say again what they said the night before.
        WHERE (said.shortest < e.entitled_until OR e.revoked_at >= said.granted_at)
            AND iap.last_said(ROW(e.*)::iap.entitlements) <= said.granted_at
            AND (taken.is_back OR shorter.ends <> '{}')
        ORDER BY original_transaction_id, bundle_id
        FOR UPDATE OF e
    LOOP
        became := word.known;
        IF word.is_taken_back_to THEN
            became.granted_at := word.granted_at;
        END IF;
        FOREACH until IN ARRAY word.ends LOOP
            became := iap.with_shorter(became, ROW(until, word.granted_at)::iap.word);
        END LOOP;
        PERFORM iap.keep_entitlement(word.known, became);
    END LOOP;
    RETURN taken;
END
$$;
COMMENT ON FUNCTION iap.import_entitlements IS
    'Takes what a company''s own tables say was granted, as iap.entitle does: a later word never shortens but where it '
    'says that the grant was revoked, and nothing was granted beyond it since. Of several for one original purchase '
    'the one that reaches furthest counts. What is covered moves in the night, or before the next word on it.';
