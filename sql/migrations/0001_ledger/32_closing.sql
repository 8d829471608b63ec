-- Closing the books: the white table from one run to the next, and the chain over all that was written.

-- The white table from one run to the next ---------------------------------------------------------------------------

CREATE FUNCTION iap.is_beyond(number bigint, upto bigint, gaps int8multirange) RETURNS boolean
LANGUAGE sql IMMUTABLE
-- The first half says no more than the second, and it is what an index can answer.
RETURN $1 > least($2, lower($3) - 1) AND ($1 > $2 OR $1 <@ $3);
COMMENT ON FUNCTION iap.is_beyond IS 'Whether an entry, a move or an event lies beyond a frontier.';

CREATE TYPE iap.white_totals AS (
    new bigint[], claimed bigint[], resolved bigint[], refunded bigint[], closing_white bigint[]
);

CREATE FUNCTION iap.white_turnover(before audit.frontier, upto bigint, gaps int8multirange) RETURNS iap.white_totals
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    totals  iap.white_totals;
    nothing bigint[] := '{0,0,0}';
BEGIN
    SELECT
        coalesce(max(total) FILTER (WHERE kind = 'new'), nothing),
        coalesce(max(total) FILTER (WHERE kind = 'claimed'), nothing),
        coalesce(max(total) FILTER (WHERE kind = 'resolved'), nothing),
        coalesce(max(total) FILTER (WHERE kind = 'refunded'), nothing)
    INTO totals.new, totals.claimed, totals.resolved, totals.refunded
    FROM (
        SELECT kind, ARRAY[sum(transactions), sum(units), bit_xor(hash)]::bigint[] AS total
        FROM (
            SELECT 'new' AS kind, 1 AS transactions, units, hashtextextended(transaction_id, 0) AS hash, number
            FROM entries
            WHERE place = 'white'
            UNION ALL
            SELECT
                CASE
                    WHEN to_place = 'white' THEN 'new'
                    WHEN to_place = 'black' AND to_detail <> 'resolved' THEN 'claimed'
                    WHEN to_place = 'excluded' AND to_detail = 'refunded' THEN 'refunded'
                    ELSE 'resolved'
                END,
                CASE WHEN from_place = to_place THEN 0 ELSE 1 END,
                CASE
                    WHEN from_place = to_place THEN to_units - from_units WHEN to_place = 'white' THEN to_units
                    ELSE from_units
                END,
                CASE WHEN from_place = to_place THEN 0 ELSE hashtextextended(transaction_id, 0) END,
                move_id
            FROM moves
            WHERE from_place = 'white' OR to_place = 'white'
        ) AS moved
        WHERE iap.is_beyond(number, before.upto, before.gaps)
            -- The first half says no more than the second, and it is what an index can answer.
            AND number <= upto AND NOT iap.is_beyond(number, upto, gaps)
        GROUP BY kind
    ) AS total;
    RETURN totals;
END
$$;
COMMENT ON FUNCTION iap.white_turnover IS
    'What entered and left white between two frontiers, and nothing else is read: closing_white is NULL.';

CREATE FUNCTION iap.white_totals(before audit.frontier, upto bigint, gaps int8multirange) RETURNS iap.white_totals
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    totals iap.white_totals := iap.white_turnover(before, upto, gaps);
BEGIN
    -- What the statement sees beyond the frontier is taken off again.
    SELECT
        ARRAY[coalesce(sum(sign), 0), coalesce(sum(sign * units), 0), coalesce(bit_xor(hash), 0)]::bigint[]
    INTO totals.closing_white
    FROM (
        SELECT 1 AS sign, quantity AS units, hashtextextended(transaction_id, 0) AS hash
        FROM transactions
        WHERE place = 'white'
        UNION ALL
        SELECT -1, units, hashtextextended(transaction_id, 0)
        FROM entries
        WHERE place = 'white' AND iap.is_beyond(number, upto, gaps)
        UNION ALL
        SELECT sign, units, hashtextextended(transaction_id, 0)
        FROM moves
        CROSS JOIN LATERAL (VALUES (1, from_place, from_units), (-1, to_place, to_units)) AS side (sign, place, units)
        WHERE place = 'white' AND iap.is_beyond(move_id, upto, gaps)
    ) AS white;
    RETURN totals;
END
$$;
COMMENT ON FUNCTION iap.white_totals IS
    'What entered and left white between two frontiers, and what it held at the later one, for which all that came '
    'after that is read.';

-- The chain ----------------------------------------------------------------------------------------------------------
--
-- A digest is of a row's text, which hangs on the settings of dates: whoever takes one does so under UTC and ISO.

CREATE FUNCTION audit.digest(m iap.moves) RETURNS bytea
LANGUAGE sql STABLE AS $$
    SELECT sha256(convert_to(
        ROW(
            m.move_id, m.transaction_id, m.bundle_id, m.environment, m.kind, m.actor, m.run_id, m.moved_at,
            m.from_place,
            m.to_place, m.from_detail, m.to_detail, m.from_day, m.to_day, m.from_refund_day, m.to_refund_day,
            m.from_product_id, m.to_product_id, m.from_units, m.to_units, m.from_milliunits, m.to_milliunits,
            m.from_currency, m.to_currency, m.from_booked_as, m.to_booked_as, m.details)::text,
        'UTF8'))
$$;
COMMENT ON FUNCTION audit.digest(iap.moves) IS 'The SHA-256 of all that a move says.';

CREATE FUNCTION audit.digest(e iap.events) RETURNS bytea
LANGUAGE sql STABLE AS $$
    SELECT sha256(convert_to(
        ROW(
            e.event_id, e.happened_at, e.kind, e.actor, e.run_id, e.transaction_id, e.bundle_id, e.environment,
            e.details)::text,
        'UTF8'))
$$;
COMMENT ON FUNCTION audit.digest(iap.events) IS 'The SHA-256 of all that an event says.';

-- Of what was erased it covers what stood there before the first erasure: asked for each row by its number, since a
-- join would read for each block all that was ever erased.
CREATE VIEW audit.trail AS
SELECT
    number,
    -- No person is named in an entry, so that none is ever erased: it stands as it is.
    convert_to(
        ROW(
            number, transaction_id, bundle_id, environment, at, run_id, place, detail, day, refund_day, product_id,
            units, milliunits, currency, booked_as, refund_percentage)::text,
        'UTF8') AS told
FROM iap.entries
UNION ALL
SELECT
    move_id,
    coalesce(
        (SELECT digest FROM audit.erasures AS e WHERE e.number = moves.move_id ORDER BY e.event_id LIMIT 1),
        audit.digest(moves))
FROM iap.moves
UNION ALL
SELECT
    event_id,
    coalesce(
        (SELECT digest FROM audit.erasures AS e WHERE e.number = events.event_id ORDER BY e.event_id LIMIT 1),
        audit.digest(events))
FROM iap.events;
COMMENT ON VIEW audit.trail IS
    'What the chain covers: entries, moves and events by their number; what an entry says, and the digests of the '
    'others.';

CREATE FUNCTION audit.block(
    after bigint, upto bigint, late bigint[], without int8multirange, OUT entries bigint, OUT digest bytea
) LANGUAGE sql STABLE SET timezone = 'UTC' SET datestyle = 'ISO, YMD' AS $$
    -- By slices of 4,096 numbers, so that millions need little memory.
    SELECT coalesce(sum(entries), 0)::bigint, sha256(coalesce(string_agg(digest, '' ORDER BY slice), ''))
    FROM (
        SELECT number >> 12 AS slice, count(*) AS entries, sha256(string_agg(told, '' ORDER BY number)) AS digest
        FROM (
            SELECT number, told FROM audit.trail WHERE number > $1 AND number <= $2 AND NOT number <@ $4
            UNION ALL
            SELECT number, told FROM audit.trail WHERE number = ANY ($3)
        ) AS covered
        GROUP BY 1
    ) AS slices
$$;
COMMENT ON FUNCTION audit.block IS
    'How many entries, moves and events lie between two numbers, but for some and with some late ones, and their '
    'digest.';

CREATE FUNCTION audit.first_link() RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.sha256('iap-reconcile'::bytea)
$$;
COMMENT ON FUNCTION audit.first_link IS 'What the first link is linked to.';

CREATE FUNCTION audit.broken_links() RETURNS SETOF text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    link    audit.links;
    last    audit.links;
    block   record;
    -- Numbers that a later link covers, or that none does yet.
    without int8multirange;
BEGIN
    SELECT gaps + coalesce((
        SELECT range_agg(int8range(number, number + 1))
        FROM audit.links
        CROSS JOIN LATERAL unnest(late) AS number), '{}')
    INTO without
    FROM audit.frontier;
    last.position := 0;
    -- Whatever has no number of the trail's was slipped in.
    last.upto := -9223372036854775808;
    last.link := audit.first_link();
    FOR link IN SELECT * FROM audit.links ORDER BY position LOOP
        block := audit.block(last.upto, link.upto, link.late, without);
        IF link.position <> last.position + 1 OR link.upto < last.upto OR link.entries <> block.entries
            OR link.link <> sha256(last.link || block.digest)
        THEN
            RETURN NEXT 'run ' || link.run_id;
        END IF;
        last := link;
    END LOOP;
    IF (SELECT upto FROM audit.frontier) <> greatest(last.upto, 0) THEN
        RETURN NEXT 'the end of the chain';
    END IF;
END
$$;
COMMENT ON FUNCTION audit.broken_links IS
    'The runs whose link in the chain does not fit what it covers any more, or the link before.';

-- Closing ------------------------------------------------------------------------------------------------------------

CREATE FUNCTION iap.close_books(run bigint) RETURNS iap.white_totals
-- Once a night, of all that the night brought: room to sort it in.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp SET work_mem = '64MB' AS $$
#variable_conflict use_variable
DECLARE
    before      audit.frontier;
    now_upto    bigint;
    now_gaps    int8multirange;
    now_late    bigint[];
    now_horizon xid8;
    now_oldest  xid8;
    totals      iap.white_totals;
    closed      date;
BEGIN
    -- One run at a time. Which days the one before closed is seen once it has.
    SELECT * INTO before FROM audit.frontier FOR UPDATE;
    SELECT max(closed_through) INTO closed FROM iap.runs;
    WITH seen AS MATERIALIZED (
        SELECT number
        FROM (
            SELECT entry_id AS number FROM iap.transactions
            UNION ALL
            SELECT move_id FROM iap.moves
            UNION ALL
            SELECT event_id FROM iap.events
        ) AS numbered
        WHERE iap.is_beyond(number, before.upto, before.gaps)
    ), gap AS (
        SELECT int8range(number + 1, next) AS gap
        FROM (
            SELECT number, lead(number) OVER (ORDER BY number) AS next
            FROM (
                SELECT number FROM seen WHERE number > before.upto
                UNION ALL
                SELECT before.upto
            ) AS bounded
        ) AS pair
        WHERE next > number + 1
    )
    SELECT
        greatest((SELECT max(number) FROM seen), before.upto),
        coalesce((SELECT range_agg(gap) FROM gap), '{}'),
        coalesce((SELECT array_agg(number ORDER BY number) FROM seen WHERE number <= before.upto), '{}'),
        pg_snapshot_xmax(pg_current_snapshot()), pg_snapshot_xmin(pg_current_snapshot())
    INTO now_upto, now_gaps, now_late, now_horizon, now_oldest;
    -- By what that statement saw, for it saw nothing of what has ended since. A number is drawn a moment before its
    -- transaction is counted among those that run. A horizon in the future is of another server, from which these
    -- tables were restored: there nothing runs any more.
    IF NOT (
        (before.horizon <= now_oldest
            AND before.closed_at < clock_timestamp() - interval '10 minutes')
        OR before.horizon > now_horizon)
    THEN
        now_gaps := now_gaps + before.gaps - (
            SELECT coalesce(range_agg(int8range(number, number + 1)), '{}') FROM unnest(now_late) AS number);
    END IF;

    totals := iap.white_totals(before, now_upto, now_gaps);
    INSERT INTO iap.books SELECT * FROM iap.booked(run, closed, before, now_upto, now_gaps);

    INSERT INTO audit.links (position, run_id, sealed_at, upto, late, entries, link)
    SELECT
        coalesce(last.position, 0) + 1, run, clock_timestamp(), now_upto, now_late, block.entries,
        sha256(coalesce(last.link, audit.first_link()) || block.digest)
    FROM audit.block(before.upto, now_upto, now_late, now_gaps) AS block
    LEFT JOIN (SELECT position, link FROM audit.links ORDER BY position DESC LIMIT 1) AS last ON true;

    -- What was claimed since the sweep began lies behind the frontier from now on.
    PERFORM iap.connect();
    UPDATE audit.frontier SET upto = now_upto, gaps = now_gaps, closed_at = clock_timestamp(),
        horizon = now_horizon;
    UPDATE iap.runs
    SET closed_through = greatest(closed, (as_of AT TIME ZONE 'UTC')::date - 1)
    WHERE run_id = run;
    RETURN totals;
END
$$;
COMMENT ON FUNCTION iap.close_books IS
    'Closes the books for a run: adds up for finance what entered and moved since they were closed last, continues the '
    'chain over it, closes the days before the run''s own for good, and gives what entered and left white. What other '
    'sessions have not committed yet is for the next run.';
