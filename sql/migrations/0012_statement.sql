-- What a person decides in the report's spreadsheet, taken back line by line.

CREATE FUNCTION iap.case_mark(
    opened_run_id bigint, opened_at timestamptz, move_id bigint, product_id text, quantity integer,
    owner_user_ids text[], periods text[]
) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT left(encode(sha256(convert_to(opened.text, 'UTF8')), 'hex'), 8)
        || '-' || left(encode(sha256(convert_to(opened.text || standing.text, 'UTF8')), 'hex'), 8)
    FROM (SELECT jsonb_build_array($1, extract(epoch FROM $2))::text) AS opened (text)
    CROSS JOIN (SELECT jsonb_build_array($3, $4, $5, $6, $7)::text) AS standing (text)
$$;
COMMENT ON FUNCTION iap.case_mark IS
    'A short mark of a case as a report shows it: of its opening, and of what a decision rests on, which is its '
    'transaction''s latest move, what was bought, its owners and its periods.';

CREATE FUNCTION iap.decide(
    transaction_id text, bundle_id text, environment text, mark text, how text, who text, note text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    t       iap.transactions;
    found   iap.cases;
    present text;
    outcome text;
    period  text;
BEGIN
    PERFORM iap.require_id('transaction_id', decide.transaction_id, 64);
    PERFORM iap.require_id('bundle_id', decide.bundle_id, 255);
    PERFORM iap.require_text('who', decide.who, 1000);
    PERFORM iap.require_text('note', decide.note, 10000);
    IF decide.how IS NULL OR decide.how NOT IN ('delivered', 'dismissed', 'refunded') THEN
        RAISE EXCEPTION 'a case ends as “delivered”, “dismissed” or “refunded”'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    t := iap.locked(decide.bundle_id, decide.environment, decide.transaction_id);
    outcome := iap.standing(t);
    IF outcome <> 'white' THEN
        RETURN CASE
            WHEN t.transaction_id IS NULL THEN 'another_report'
            WHEN decide.how = 'delivered' AND t.delivered_by = 'resolved' THEN 'already'
            WHEN decide.how = 'refunded' AND t.reason = 'refunded' THEN 'already'
            WHEN decide.how = 'dismissed' AND t.reason = 'dismissed' THEN 'already'
            ELSE outcome
        END;
    END IF;

    SELECT * INTO found
    FROM iap.cases
    WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment;
    IF found.transaction_id IS NULL THEN
        RETURN 'another_report';
    END IF;
    present := iap.case_mark(
        found.opened_run_id, found.opened_at, t.move_id, t.product_id, t.quantity, found.owner_user_ids, found.periods);
    IF split_part(present, '-', 1) IS DISTINCT FROM split_part(decide.mark, '-', 1) THEN
        RETURN 'another_report';
    ELSIF found.state <> 'open' OR present <> decide.mark THEN
        RETURN 'changed_since';
    END IF;

    outcome := iap.resolve(
        t.transaction_id, decide.how, decide.who, decide.note, t.bundle_id, t.environment);
    IF outcome = decide.how THEN
        -- A subscription's case ends with all the periods that it tells of.
        FOREACH period IN ARRAY found.periods LOOP
            IF period <> t.transaction_id THEN
                PERFORM iap.resolve(period, decide.how, decide.who, decide.note, t.bundle_id, t.environment);
            END IF;
        END LOOP;
    END IF;
    RETURN outcome;
END
$$;
COMMENT ON FUNCTION iap.decide IS
    'Ends a case on a decision that was taken before a report, if the case is still as the report''s mark says: how, '
    'delivered, dismissed or refunded. Where the desk has ended it so already: already. Otherwise it changes nothing and '
    'says why: another_report, where the mark is of no case here; changed_since, where other evidence came since; '
    'already_delivered, excluded, and what else iap.resolve refuses.';

REVOKE ALL ON FUNCTION iap.case_mark, iap.decide FROM PUBLIC;
