-- What a move makes of the cases of what it moves.

CREATE FUNCTION iap.refuse_unseen_cases(changes iap.change[], at timestamptz) RETURNS void
-- Who imports opens no case. A dry run, whose cases are shadows, reads what is committed.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
BEGIN
    IF current_setting('transaction_isolation') IN ('read committed', 'read uncommitted') THEN
        RETURN;
    END IF;
    INSERT INTO cases (
        transaction_id, bundle_id, environment, state, likelihood, reasons, action, owner_user_ids, opened_at,
        opened_run_id, assessed_at, assessed_run_id, closed_at, closed_as, closed_by)
    SELECT
        (c.was).transaction_id, (c.was).bundle_id, (c.was).environment, 'closed', 'low', '{unseen}', '', '{}', at, -1,
        at, -1, at, 'withdrawn', ''
    FROM unnest(changes) AS c
    WHERE (c.became).place <> 'white'
    ON CONFLICT (transaction_id, bundle_id, environment) DO NOTHING;
    DELETE FROM cases
    USING unnest(changes) AS c
    WHERE cases.transaction_id = (c.was).transaction_id AND cases.bundle_id = (c.was).bundle_id
        AND cases.environment = (c.was).environment AND cases.opened_run_id = -1;
END
$$;
COMMENT ON FUNCTION iap.refuse_unseen_cases IS
    'Ends with a serialization failure where a case was opened after the snapshot of its caller, who could not close '
    'it: only a row that is written in its place meets it.';

CREATE FUNCTION iap.follow_cases(
    changes iap.change[], kind text, who text, run bigint, at timestamptz, note text
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM iap.refuse_unseen_cases(changes, at);
    UPDATE cases
    SET state = 'closed', closed_at = at,
        closed_as = CASE
            WHEN (c.became).place = 'black' THEN 'delivered'
            WHEN (c.became).reason IN ('refunded', 'dismissed') THEN (c.became).reason
            ELSE 'withdrawn'
        END,
        closed_by = who, note = follow_cases.note, told_run_id = NULL,
        assessed_at = CASE WHEN run IS NULL THEN cases.assessed_at ELSE at END,
        assessed_run_id = coalesce(run, cases.assessed_run_id)
    FROM unnest(changes) AS c
    WHERE cases.transaction_id = (c.was).transaction_id AND cases.bundle_id = (c.was).bundle_id
        AND cases.environment = (c.was).environment AND cases.state = 'open' AND (c.became).place <> 'white';
    IF kind = 'reopened' THEN
        UPDATE cases
        SET state = 'open', closed_at = NULL, closed_as = NULL, closed_by = NULL, note = NULL, told_run_id = NULL,
            reopened_run_id = 0
        FROM unnest(changes) AS c
        WHERE cases.transaction_id = (c.was).transaction_id AND cases.bundle_id = (c.was).bundle_id
            AND cases.environment = (c.was).environment AND cases.state = 'closed';
    END IF;
END
$$;
COMMENT ON FUNCTION iap.follow_cases IS
    'Closes the cases of what is owed no more, and opens those again whose resolve was taken back.';
