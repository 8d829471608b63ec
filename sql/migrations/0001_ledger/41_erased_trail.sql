-- How a person is erased from moves and events, so that the chain still tells what else was changed there.

CREATE FUNCTION iap.erase_from_trail(user_id text, pseudonym text, erasure bigint) RETURNS bigint
LANGUAGE plpgsql SET timezone = 'UTC' SET datestyle = 'ISO, YMD' AS $$
DECLARE
    needle   text := trim(BOTH '"' FROM to_jsonb(erase_from_trail.user_id)::text);
    -- A user may be called as a login is, or as the job: who did all that they did stays in the trail.
    is_login boolean := erase_from_trail.user_id = 'iap-reconcile'
        OR EXISTS (SELECT FROM pg_roles WHERE rolname = erase_from_trail.user_id);
    log      text;
    number   text;
    rows     bigint;
    total    bigint := 0;
BEGIN
    FOR log, number IN VALUES ('moves', 'move_id'), ('events', 'event_id') LOOP
        -- The chain keeps what it covered; beside it stands what is left, unless the row did not fit before.
        EXECUTE format(
            $erase$
            WITH affected AS MATERIALIZED (
                SELECT %2$I AS number, audit.digest(%1$I) AS digest, seal = audit.seal(%1$I) AS fits
                FROM iap.%1$I
                WHERE ((strpos(actor, $1) > 0 AND NOT $5) OR strpos(details::text, $2) > 0)
                    AND (
                        (actor <> iap.without_user(actor, $1, $3) AND NOT $5)
                        OR details <> iap.without_user(details, $1, $3))
            ), changed AS (
                UPDATE iap.%1$I
                SET actor = CASE WHEN $5 THEN actor ELSE iap.without_user(actor, $1, $3) END,
                    details = iap.without_user(details, $1, $3)
                FROM affected
                WHERE %2$I = affected.number
                RETURNING affected.number, affected.digest, audit.digest(%1$I) AS left_as, fits
            )
            INSERT INTO audit.erasures (number, event_id, digest, left_as)
            SELECT number, $4, digest, left_as FROM changed WHERE fits
            -- An erasure may have to look twice.
            ON CONFLICT (number, event_id) DO UPDATE SET left_as = EXCLUDED.left_as
            $erase$, log, number)
        USING erase_from_trail.user_id, needle, pseudonym, erasure, is_login;
        GET DIAGNOSTICS rows = ROW_COUNT;
        total := total + rows;
        EXECUTE format(
            $seal$
            UPDATE iap.%1$I
            SET seal = audit.seal(%1$I)
            FROM audit.erasures
            WHERE erasures.event_id = $1 AND %1$I.%2$I = erasures.number
            $seal$, log, number)
        USING erasure;
    END LOOP;
    RETURN total;
END
$$;
COMMENT ON FUNCTION iap.erase_from_trail IS
    'Replaces a user id in moves and events, and says in how many; erasure is the event that will tell of it. What a '
    'login of that name did stays told as the login''s.';

CREATE FUNCTION audit.erased_by(erasure bigint) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT encode(
        sha256(convert_to(
            coalesce(
                string_agg(
                    concat_ws(' ', number, encode(digest, 'hex'), encode(left_as, 'hex')), E'\n' ORDER BY number),
                ''),
            'UTF8')),
        'hex')
    FROM audit.erasures
    WHERE event_id = erasure
$$;
COMMENT ON FUNCTION audit.erased_by IS
    'The digest of what an erasure changed in moves and events. Its event says it, and the chain covers that: so '
    'nobody passes off another change as an erasure.';

CREATE FUNCTION audit.wrong_erasures() RETURNS SETOF bigint
LANGUAGE sql STABLE SET timezone = 'UTC' SET datestyle = 'ISO, YMD' AS $$
    WITH told AS MATERIALIZED (
        SELECT event_id
        FROM iap.events
        WHERE kind = 'erased' AND details ->> 'erasures' = audit.erased_by(event_id)
    )
    SELECT DISTINCT erased.number
    FROM (
        SELECT *, lead(digest) OVER (PARTITION BY number ORDER BY event_id) AS found_later
        FROM audit.erasures
    ) AS erased
    LEFT JOIN iap.moves ON moves.move_id = erased.number
    LEFT JOIN iap.events ON events.event_id = erased.number
    LEFT JOIN told ON told.event_id = erased.event_id
    WHERE told.event_id IS NULL
        OR erased.left_as IS DISTINCT FROM CASE
            WHEN erased.found_later IS NOT NULL THEN erased.found_later
            WHEN moves.move_id IS NOT NULL THEN audit.digest(moves)
            ELSE audit.digest(events)
        END
$$;
COMMENT ON FUNCTION audit.wrong_erasures IS
    'The moves and events that are not what an erasure left, or of whose erasure no event tells, or tells otherwise.';
