-- Closing the books. The trail numbers entries, moves and events in the order in which they began; a run that closes
-- its books takes what it sees of them, and the next one what that one did not see. Nothing of it needs one snapshot of
-- all tables: what came after the frontier is taken off again.

CREATE TABLE audit.frontier (
    is_only   boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- The last number that was seen, and those before it that were not: of transactions that had not ended, or failed.
    upto      bigint NOT NULL,
    gaps      int8multirange NOT NULL,
    -- When, and the first transaction that had not begun: those before are over once none of them runs.
    closed_at timestamptz NOT NULL,
    horizon   xid8 NOT NULL
);

INSERT INTO audit.frontier (upto, gaps, closed_at, horizon) VALUES (0, '{}', now(), '0');
COMMENT ON TABLE audit.frontier IS 'How far the books are closed: one row.';

CREATE TABLE audit.links (
    position  bigint PRIMARY KEY CHECK (position > 0),
    run_id    bigint NOT NULL,
    sealed_at timestamptz NOT NULL,
    -- The numbers up to which it covers what the links before do not, and those that the links before had not seen.
    upto      bigint NOT NULL,
    late      bigint[] NOT NULL,
    entries   bigint NOT NULL,
    link      bytea NOT NULL CHECK (octet_length(link) = 32)
);
COMMENT ON TABLE audit.links IS
    'The chain over the trail: a link for each run that closed its books. Whoever changes, removes or slips in an '
    'entry, a move or an event would have to write all later links anew, and the last one stands in the reports that '
    'were sent out.';
COMMENT ON COLUMN audit.links.entries IS 'How many entries, moves and events it covers.';
COMMENT ON COLUMN audit.links.link IS 'The SHA-256 of the link before and of the digests of what it covers.';

CREATE TABLE audit.erasures (
    number   bigint NOT NULL,
    -- The event that tells of the erasure, and the digests of what stood there, and of what is left.
    event_id bigint NOT NULL,
    digest   bytea NOT NULL,
    left_as  bytea NOT NULL,
    PRIMARY KEY (number, event_id)
);

CREATE INDEX erasures_by_event ON audit.erasures (event_id);
COMMENT ON TABLE audit.erasures IS
    'The moves and events from which persons'' data were erased: the chain keeps what it covered, and the event of '
    'each erasure what it left.';

-- Found from the later link, a few links back: asked of each link, all later ones would be read, which grows with the
-- square of the years.
CREATE VIEW audit.uncovered AS
SELECT earlier.position, range_agg(int8range(number, number + 1)) AS numbers
FROM (
    SELECT
        position, late,
        (
            SELECT below.position
            FROM audit.links AS below
            WHERE below.position < links.position
                AND below.upto < (SELECT min(number) FROM unnest(links.late) AS number)
            ORDER BY below.position DESC
            LIMIT 1
        ) AS below
    FROM audit.links
    WHERE late <> '{}'
) AS later
CROSS JOIN LATERAL (
    SELECT position, upto
    FROM audit.links
    WHERE links.position < later.position AND links.position > coalesce(later.below, 0)
    OFFSET 0
) AS earlier
CROSS JOIN LATERAL unnest(later.late) AS number
WHERE number <= earlier.upto
GROUP BY earlier.position;
COMMENT ON VIEW audit.uncovered IS
    'The links that had not seen all numbers up to their own, and those that came late to a later link.';

CREATE VIEW iap.closings AS
SELECT
    links.position, links.run_id, runs.as_of, runs.closed_through, links.upto, links.late,
    lag(links.upto, 1, 0::bigint) OVER (ORDER BY links.position) AS upto_before,
    max(runs.closed_through) OVER (ORDER BY links.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        AS closed_before
FROM audit.links
LEFT JOIN iap.runs USING (run_id);
COMMENT ON VIEW iap.closings IS
    'The links of the chain, each with its run, and with the number and the day up to which the books were closed '
    'before.';

-- The lines of the journal -------------------------------------------------------------------------------------------

CREATE VIEW iap.entries AS
-- Most have never moved.
SELECT
    t.entry_id AS number, t.transaction_id, t.bundle_id, t.environment, t.first_seen_at AS at, t.first_run_id AS run_id,
    t.place, now.detail, now.day, now.refund_day, t.product_id, t.quantity AS units, t.booked_milliunits AS milliunits,
    t.booked_currency AS currency, t.booked_as, t.revocation_percentage AS refund_percentage
FROM iap.transactions AS t
CROSS JOIN LATERAL (SELECT (iap.position_of(t)).*) AS now
WHERE t.move_id IS NULL
UNION ALL
SELECT
    t.entry_id, t.transaction_id, t.bundle_id, t.environment, t.first_seen_at, t.first_run_id,
    -- A log without the move that the row names is of another hand: then it counts as it is.
    CASE WHEN move.move_id IS NULL THEN t.place ELSE move.from_place END,
    CASE WHEN move.move_id IS NULL THEN now.detail ELSE move.from_detail END,
    CASE WHEN move.move_id IS NULL THEN now.day ELSE move.from_day END,
    CASE WHEN move.move_id IS NULL THEN now.refund_day ELSE move.from_refund_day END,
    CASE WHEN move.move_id IS NULL THEN t.product_id ELSE move.from_product_id END,
    CASE WHEN move.move_id IS NULL THEN t.quantity ELSE move.from_units END,
    CASE WHEN move.move_id IS NULL THEN t.booked_milliunits ELSE move.from_milliunits END,
    CASE WHEN move.move_id IS NULL THEN t.booked_currency ELSE move.from_currency END,
    CASE WHEN move.move_id IS NULL THEN t.booked_as ELSE move.from_booked_as END,
    CASE
        WHEN move.move_id IS NULL THEN t.revocation_percentage
        ELSE (move.details ->> 'from_refund_percentage')::integer
    END
FROM iap.transactions AS t
CROSS JOIN LATERAL (SELECT (iap.position_of(t)).*) AS now
LEFT JOIN LATERAL (
    SELECT *
    FROM iap.moves
    WHERE moves.transaction_id = t.transaction_id AND moves.bundle_id = t.bundle_id
        AND moves.environment = t.environment
    ORDER BY moves.move_id
    LIMIT 1
) AS move ON true
WHERE t.move_id IS NOT NULL;
COMMENT ON VIEW iap.entries IS
    'How each transaction entered the ledger: as it is, or as its first move found it.';

CREATE VIEW iap.positions AS
SELECT
    number, at, bundle_id, place, detail, day, refund_day, is_reversal, product_id, currency, booked_as,
    sign AS transactions, sign * units AS units, sign * milliunits AS milliunits,
    sign * iap.share_of(milliunits, refund_percentage) AS refunded_milliunits
FROM (
    SELECT
        1 AS sign, number, at, environment, bundle_id, place, detail, day, refund_day, false AS is_reversal, product_id,
        units, milliunits, currency, booked_as, refund_percentage
    FROM iap.entries
    UNION ALL
    SELECT
        -1, move_id, moved_at, environment, bundle_id, from_place, from_detail, from_day, from_refund_day,
        -- What is withdrawn for the sake of another id leaves its refund to that.
        from_refund_day IS NOT NULL AND to_refund_day IS NULL AND kind <> 'withdrawn', from_product_id, from_units,
        from_milliunits, from_currency, from_booked_as, (details ->> 'from_refund_percentage')::integer
    FROM iap.moves
    UNION ALL
    SELECT
        1, move_id, moved_at, environment, bundle_id, to_place, to_detail, to_day, to_refund_day, false, to_product_id,
        to_units, to_milliunits, to_currency, to_booked_as, (details ->> 'to_refund_percentage')::integer
    FROM iap.moves
) AS position
WHERE environment = 'Production';
COMMENT ON VIEW iap.positions IS
    'The positions in the books that each entry and move adds, and those that a move takes away: with a minus.';

CREATE FUNCTION iap.lines_of(place text, detail text, day date, refund_day date, is_reversal boolean)
RETURNS TABLE (account text, line_day date, line_detail text, counted integer)
-- Parsed here and now, as iap.position_of is.
LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    SELECT *
    FROM (
        VALUES
            (CASE place WHEN 'white' THEN 'owed' WHEN 'black' THEN 'delivered' ELSE 'excluded' END, day, detail, 1),
            ('refunded', refund_day, CASE WHEN is_reversal THEN 'reversed' END, 1),
            -- What was kept is money alone: the purchase counts where its refund does.
            ('kept', CASE WHEN place = 'excluded' AND detail = 'refunded' THEN day END, NULL, 0)
    ) AS line (account, line_day, line_detail, counted)
    WHERE line.line_day IS NOT NULL;
END;
COMMENT ON FUNCTION iap.lines_of IS
    'The accounts of finance that a position stands in, each with its day and detail, and whether the purchase counts '
    'there, 1 or 0.';

CREATE FUNCTION iap.worth(account text, line_detail text, milliunits numeric, refunded_milliunits numeric)
RETURNS numeric
-- Of a body in this form neither a view nor a sum makes a call for each row.
LANGUAGE sql IMMUTABLE
RETURN CASE
    WHEN account = 'kept' THEN milliunits - refunded_milliunits
    WHEN account = 'refunded' OR line_detail = 'refunded' THEN refunded_milliunits
    ELSE milliunits
END;
COMMENT ON FUNCTION iap.worth IS
    'What a position is worth in an account of finance, by what was paid and the share of it that was refunded.';

CREATE VIEW iap.journal_lines AS
SELECT
    number, at, account, line_day AS day, bundle_id, product_id, currency, booked_as, line_detail AS detail,
    counted * transactions AS transactions, counted * units AS units,
    iap.worth(account, line_detail, milliunits, refunded_milliunits)::bigint AS milliunits
FROM iap.positions
CROSS JOIN LATERAL iap.lines_of(place, detail, day, refund_day, is_reversal);
COMMENT ON VIEW iap.journal_lines IS
    'What each entry and move adds to and takes from the accounts of finance.';

CREATE TABLE iap.books (
    run_id       bigint NOT NULL,
    booked_on    date NOT NULL,
    account      text NOT NULL CHECK (account IN ('owed', 'delivered', 'excluded', 'refunded', 'kept')),
    day          date NOT NULL,
    bundle_id    text COLLATE "C" NOT NULL,
    product_id   text COLLATE "C" NOT NULL,
    currency     text,
    price_source text NOT NULL,
    detail       text,
    transactions bigint NOT NULL,
    units        bigint NOT NULL,
    milliunits   numeric,
    CONSTRAINT one_row_a_run_and_figure UNIQUE NULLS NOT DISTINCT (
        account, booked_on, run_id, day, bundle_id, product_id, currency, price_source, detail)
);
COMMENT ON TABLE iap.books IS
    'The closed journal: what each run that closed its books found new of entries and moves, added up. Rows are added, '
    'and never changed or taken away.';

CREATE FUNCTION iap.booked_on(happened date, as_of timestamptz, closed date) RETURNS date
LANGUAGE sql IMMUTABLE
-- A run may end after midnight.
RETURN greatest(least(happened, (as_of AT TIME ZONE 'UTC')::date + 1), closed + 1);
COMMENT ON FUNCTION iap.booked_on IS
    'The day on which a run books what happened: that day, or the first that was not closed yet; at most the day after '
    'the run''s own, for what was written while the clock was ahead is no later than the run that found it.';

CREATE FUNCTION iap.booked(run bigint, closed date, before audit.frontier, upto bigint, gaps int8multirange)
RETURNS SETOF iap.books
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    as_of timestamptz := (SELECT runs.as_of FROM iap.runs WHERE run_id = run);
BEGIN
    RETURN QUERY
    SELECT *
    FROM (
        SELECT
            run, booked_on, account, line_day, bundle_id, product_id, currency, booked_as, line_detail,
            sum(counted * transactions)::bigint AS transactions, sum(counted * units)::bigint AS units,
            sum(iap.worth(account, line_detail, milliunits, refunded_milliunits)) AS milliunits
        -- Positions are many, and few of them differ in what finance counts: only sums have lines.
        FROM (
            SELECT
                iap.booked_on((at AT TIME ZONE 'UTC')::date, as_of, closed) AS booked_on, place, detail, day,
                refund_day, is_reversal, bundle_id, product_id, currency, booked_as, sum(transactions) AS transactions,
                sum(units) AS units, sum(milliunits) AS milliunits, sum(refunded_milliunits) AS refunded_milliunits
            FROM iap.positions
            WHERE iap.is_beyond(number, before.upto, before.gaps)
                -- The first half says no more than the second, and it is what an index can answer.
                AND number <= upto AND NOT iap.is_beyond(number, upto, gaps)
            GROUP BY 1, place, detail, day, refund_day, is_reversal, bundle_id, product_id, currency, booked_as
        ) AS position
        CROSS JOIN LATERAL iap.lines_of(place, detail, day, refund_day, is_reversal)
        GROUP BY booked_on, account, line_day, bundle_id, product_id, currency, booked_as, line_detail
    ) AS line
    -- What they come to, and not what was paid: of a refund its share alone may have been told anew.
    WHERE transactions <> 0 OR units <> 0 OR milliunits <> 0;
END
$$;
COMMENT ON FUNCTION iap.booked IS
    'What a run books of what entered and moved between two frontiers, where the days up to closed were closed before '
    'it.';
