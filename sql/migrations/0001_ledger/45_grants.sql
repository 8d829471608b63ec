-- How an app's server says what it has granted: by its functions, or from a source; and how a person is erased from it.

-- The app's server ----------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.is_said_for_upgrade(known iap.entitlements, ends timestamptz[], since timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM iap.transactions AS white
        JOIN unnest(ends) AS until ON white.expires_at <= until AND white.expires_at > until - interval '1 day'
        WHERE iap.is_of_original(
                white.transaction_id, white.original_transaction_id, known.original_transaction_id)
            AND white.bundle_id = known.bundle_id AND white.place = 'white' AND white.purchased_at > since);
END
$$;
COMMENT ON FUNCTION iap.is_said_for_upgrade IS
    'Whether a word that says an end again is of what is owed and was bought since: that ends then, perhaps rounded up '
    'to the end of a day.';

CREATE FUNCTION iap.is_news_of_upgrade(
    known iap.entitlements, until timestamptz, ends timestamptz[]
) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    before timestamptz := (
        SELECT said_at FROM unnest(known.shorter) AS word WHERE word.until = is_news_of_upgrade.until);
BEGIN
    RETURN before IS NULL OR iap.is_said_for_upgrade(known, ends, before);
END
$$;
COMMENT ON FUNCTION iap.is_news_of_upgrade IS
    'Whether a word that reaches less far than what is granted was not said before, or is said again for an upgrade; '
    'ends are those of all that was said at once.';

CREATE FUNCTION iap.with_shorter(known iap.entitlements, said iap.word) RETURNS iap.entitlements
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    known.shorter := ARRAY(SELECT word FROM unnest(known.shorter) AS word WHERE word.until > said.until) || said;
    RETURN known;
END
$$;
COMMENT ON FUNCTION iap.with_shorter IS
    'An entitlement with a word that reaches less far: it takes the place of those that reach no further.';

CREATE FUNCTION iap.last_said(known iap.entitlements) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$ SELECT coalesce((SELECT max(said_at) FROM unnest(($1).shorter)), ($1).granted_at) $$;
COMMENT ON FUNCTION iap.last_said IS 'When the last word was said on an entitlement that told something new.';

CREATE FUNCTION iap.said_again(known iap.entitlements, said iap.entitlements) RETURNS iap.entitlements
LANGUAGE plpgsql STABLE AS $$
DECLARE
    word iap.entitlements := known;
BEGIN
    IF said.entitled_until > known.entitled_until THEN
        word := said;
        word.first_granted_at := known.first_granted_at;
    ELSIF said.entitled_until <= said.granted_at THEN
        -- Nothing new; a period that is delivered late ends before what is granted already.
        NULL;
    ELSIF said.entitled_until < known.entitled_until THEN
        -- Perhaps for what was bought since and ends sooner; or it took the place of what was taken back.
        IF known.revoked_at IS NOT NULL
            OR iap.is_news_of_upgrade(known, said.entitled_until, ARRAY[said.entitled_until])
        THEN
            word := iap.with_shorter(known, ROW(said.entitled_until, said.granted_at)::iap.word);
            word.revoked_at := NULL;
        END IF;
    ELSIF said.entitled_until = 'infinity' OR known.revoked_at IS NOT NULL
        OR iap.is_said_for_upgrade(known, ARRAY[said.entitled_until], known.granted_at)
    THEN
        word.granted_at := said.granted_at;
        word.shorter := '{}';
        word.revoked_at := NULL;
    END IF;
    -- It may have moved to another account. Who was erased does not come back by a word that grants no more.
    IF known.entitled_until = said.entitled_until AND NOT iap.is_pseudonym(known.user_id) THEN
        word.user_id := said.user_id;
    END IF;
    RETURN word;
END
$$;
COMMENT ON FUNCTION iap.said_again IS
    'What is granted once an app''s server has said another word on it: until the later end of both, and as the later '
    'word has it where that says something new.';

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
    changes iap.change[];
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

    SELECT array_agg(ROW(t, iap.owed_again(t))::iap.change) INTO changes
    FROM (
        SELECT *
        FROM iap.transactions AS black
        WHERE iap.is_of_original(
                black.transaction_id, black.original_transaction_id, revoke_entitlement.original_transaction_id)
            AND black.bundle_id = revoke_entitlement.bundle_id AND black.delivered_by = 'entitlement'
            AND black.refunded_at IS NULL AND NOT iap.is_covered(ROW(black.*)::iap.transactions, word, at)
        ORDER BY black.transaction_id, black.bundle_id, black.environment
        FOR UPDATE
    ) AS t;
    IF changes IS NOT NULL THEN
        PERFORM iap.move(
            changes, 'revoked', session_user, NULL, at, jsonb_build_object('user_id', word.user_id), 'entitlement');
    END IF;
    RETURN word.entitled_until;
END
$$;
COMMENT ON FUNCTION iap.revoke_entitlement IS
    'Takes back what was granted, from now or from until on, and gives until when it is granted now; NULL where '
    'nothing was. Periods that reach beyond are owed again, unless Apple has refunded them.';

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

CREATE FUNCTION iap.import_entitlements(words iap.entitlements[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    latest iap.entitlements[];
    taken  bigint;
    word   record;
    became iap.entitlements;
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
        revoked_at = EXCLUDED.revoked_at, shorter = EXCLUDED.shorter,
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN known.seal = audit.seal(ROW(known.*)::iap.entitlements) THEN audit.seal(ROW(
            known.original_transaction_id, known.bundle_id, EXCLUDED.user_id, EXCLUDED.entitled_until,
            known.first_granted_at, EXCLUDED.granted_at, EXCLUDED.revoked_at, EXCLUDED.shorter,
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
            -- What was granted since, beyond what was revoked, is another grant.
            AND (
                revoked.entitled_until >= known.entitled_until
                OR revoked.revoked_at >= iap.last_said(ROW(known.*)::iap.entitlements))
        ORDER BY original_transaction_id, bundle_id
    LOOP
        PERFORM iap.revoke_entitlement(word.bundle_id, word.original_transaction_id, word.entitled_until);
        taken := taken + 1;
    END LOOP;

    -- As in iap.entitle: a row that reaches less far, and goes on, may be of what was bought since; so may one that the
    -- grant was just taken back to.
    FOR word IN
        SELECT
            ROW(e.*)::iap.entitlements AS known, said.granted_at, shorter.until,
            e.entitled_until = ANY (said.ends) AND e.revoked_at >= said.granted_at AS is_taken_back_to
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
            SELECT max(ends) AS until FROM unnest(said.ends) AS ends WHERE ends < e.entitled_until
        ) AS shorter
        -- Most rows of a company's table say again what they said the night before.
        WHERE (said.shortest < e.entitled_until OR e.revoked_at >= said.granted_at)
            AND iap.last_said(ROW(e.*)::iap.entitlements) < said.granted_at
            AND (
                (e.entitled_until = ANY (said.ends) AND e.revoked_at >= said.granted_at)
                OR (
                    shorter.until IS NOT NULL
                    AND iap.is_news_of_upgrade(ROW(e.*)::iap.entitlements, shorter.until, said.ends)))
        ORDER BY original_transaction_id, bundle_id
        FOR UPDATE OF e
    LOOP
        became := word.known;
        IF word.is_taken_back_to THEN
            became.granted_at := word.granted_at;
            became.shorter := '{}';
        ELSE
            became := iap.with_shorter(became, ROW(word.until, word.granted_at)::iap.word);
        END IF;
        PERFORM iap.keep_entitlement(word.known, became);
    END LOOP;
    RETURN taken;
END
$$;
COMMENT ON FUNCTION iap.import_entitlements IS
    'Takes what a company''s own tables say was granted, as iap.entitle does: a later word never shortens but where it '
    'says that the grant was revoked, and nothing was granted beyond it since. Of several for one original purchase '
    'the one that reaches furthest counts. What is covered moves in the night, or before the next word on it.';

-- Erasing a user ------------------------------------------------------------------------------------------------------

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

-- What psql's \d+ says of it all.

COMMENT ON TABLE iap.entitlements IS
    'Until when the apps'' servers have granted subscriptions: a row for each original transaction.';
COMMENT ON COLUMN iap.entitlements.seal IS 'Of the whole row: see audit.seal.';
COMMENT ON TABLE iap.connections IS
    'Since when an app delivers purchases of a type in a way that the job sees; filled each night. Before that nothing '
    'of the type is called lost. Of entitlements their own table tells.';
