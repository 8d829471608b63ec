-- What becomes of a case is in the audit trail: each step with its time, who and why. By triggers, so that no way of
-- changing a case goes by unseen; for whole statements, so that a night's thousands cost one insert.

CREATE FUNCTION iap.note_opened_cases() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO iap.events (happened_at, kind, actor, run_id, transaction_id, bundle_id, environment, details)
    SELECT
        opened_at, 'case_opened', 'iap-reconcile', opened_run_id, transaction_id, bundle_id, environment,
        jsonb_build_object('likelihood', likelihood, 'reasons', reasons, 'owner_user_ids', owner_user_ids)
    FROM opened
    ORDER BY transaction_id, bundle_id, environment;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iap.note_opened_cases IS 'Writes an event for each case that was opened.';

CREATE FUNCTION iap.note_changed_cases() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO iap.events (happened_at, kind, actor, run_id, transaction_id, bundle_id, environment, details)
    SELECT
        CASE WHEN is_by_run THEN assessed_at ELSE coalesce(closed_at, now()) END,
        kind,
        CASE WHEN is_by_run THEN 'iap-reconcile' ELSE coalesce(closed_by, session_user) END,
        CASE WHEN is_by_run THEN assessed_run_id END,
        transaction_id, bundle_id, environment,
        CASE kind
            WHEN 'case_closed' THEN jsonb_strip_nulls(jsonb_build_object('as', closed_as, 'note', note))
            ELSE jsonb_build_object('likelihood', likelihood, 'reasons', reasons, 'owner_user_ids', owner_user_ids)
        END
    FROM (
        SELECT
            after.*,
            after.assessed_run_id <> before.assessed_run_id AS is_by_run,
            CASE
                WHEN before.state = 'open' AND after.state = 'closed' THEN 'case_closed'
                WHEN before.state = 'closed' AND after.state = 'open' THEN 'case_reopened'
                ELSE 'case_changed'
            END AS kind
        FROM before
        JOIN after USING (transaction_id, bundle_id, environment)
        WHERE (
                before.state, before.likelihood, before.reasons, before.action, before.owner_user_ids,
                before.candidates, before.order_ids)
            IS DISTINCT FROM (
                after.state, after.likelihood, after.reasons, after.action, after.owner_user_ids, after.candidates,
                after.order_ids)
    ) AS changed
    ORDER BY transaction_id, bundle_id, environment;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iap.note_changed_cases IS 'Writes an event for each case that was closed, opened again, or judged anew.';

CREATE TRIGGER case_opened AFTER INSERT ON iap.cases
    REFERENCING NEW TABLE AS opened
    FOR EACH STATEMENT EXECUTE FUNCTION iap.note_opened_cases();
CREATE TRIGGER case_changed AFTER UPDATE ON iap.cases
    REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION iap.note_changed_cases();

REVOKE ALL ON FUNCTION iap.note_opened_cases, iap.note_changed_cases FROM PUBLIC;
