-- Who is on a case, what is said of it, and what a person decides in the report's spreadsheet, taken back line by line.

-- Who is on a case ----------------------------------------------------------------------------------------------------

CREATE TABLE iap.case_takings (
    transaction_id text COLLATE "C" NOT NULL,
    bundle_id      text COLLATE "C" NOT NULL,
    environment    text NOT NULL,
    taken_by       text NOT NULL,
    taken_at       timestamptz NOT NULL,
    PRIMARY KEY (transaction_id, bundle_id, environment)
);
COMMENT ON TABLE iap.case_takings IS 'Who of the support desk is on which case; after a day nobody is any more.';

CREATE FUNCTION iap.taken_until(taken_at timestamptz) RETURNS timestamptz
-- Twenty-four hours, also where a clock is changed between.
LANGUAGE sql STABLE AS $$ SELECT $1 + interval '24 hours' $$;
COMMENT ON FUNCTION iap.taken_until IS 'From when on nobody is on a case any more that somebody took.';

CREATE FUNCTION iap.take(
    transaction_id text, who text, bundle_id text DEFAULT NULL, environment text DEFAULT NULL,
    is_freeing boolean DEFAULT false, OUT outcome text, OUT taken_by text, OUT taken_at timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    place  record;
    holder record;
    at     timestamptz := iap.present();
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_transaction_id('transaction_id', take.transaction_id);
    PERFORM iap.require_text('who', take.who, 1000);
    place := iap.place_of(take.transaction_id, take.bundle_id, take.environment);
    PERFORM FROM iap.cases AS found
    WHERE found.transaction_id = take.transaction_id AND found.bundle_id = place.bundle_id
        AND found.environment = place.environment AND found.state = 'open'
    FOR UPDATE;
    IF NOT FOUND THEN
        outcome := 'no_open_case';
        RETURN;
    END IF;
    SELECT known.taken_by, known.taken_at INTO holder
    FROM iap.case_takings AS known
    WHERE known.transaction_id = take.transaction_id AND known.bundle_id = place.bundle_id
        AND known.environment = place.environment AND iap.taken_until(known.taken_at) > at;
    IF holder.taken_by <> take.who AND take.is_freeing IS NOT TRUE THEN
        outcome := 'taken_already';
        taken_by := holder.taken_by;
        taken_at := holder.taken_at;
        RETURN;
    END IF;
    IF take.is_freeing THEN
        outcome := 'freed';
        DELETE FROM iap.case_takings AS known
        WHERE known.transaction_id = take.transaction_id AND known.bundle_id = place.bundle_id
            AND known.environment = place.environment;
    ELSE
        outcome := 'taken';
        taken_by := take.who;
        taken_at := coalesce(holder.taken_at, at);
        INSERT INTO iap.case_takings AS known (transaction_id, bundle_id, environment, taken_by, taken_at)
        VALUES (take.transaction_id, place.bundle_id, place.environment, take.who, at)
        ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
        SET taken_by = EXCLUDED.taken_by,
            taken_at = CASE WHEN holder.taken_by IS NULL THEN EXCLUDED.taken_at ELSE known.taken_at END;
    END IF;
    IF outcome = 'freed' OR holder.taken_by IS NULL THEN
        PERFORM iap.log_desk(outcome, take.who, take.transaction_id, place.bundle_id, place.environment, '{}');
    END IF;
END
$$;
COMMENT ON FUNCTION iap.take IS
    'Says that somebody of the support desk is on a case, or not any more: taken, freed, no_open_case, or '
    'taken_already, with by whom and since when. After a day the case is free again by itself.';

CREATE FUNCTION iap.note(
    transaction_id text, note text, who text, bundle_id text DEFAULT NULL, environment text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    place record;
BEGIN
    PERFORM iap.commit_durably();
    PERFORM iap.require_transaction_id('transaction_id', note.transaction_id);
    PERFORM iap.require_text('who', note.who, 1000);
    PERFORM iap.require_text('note', note.note, 10000);
    place := iap.place_of(note.transaction_id, note.bundle_id, note.environment);
    IF place.bundle_id IS NULL THEN
        RETURN 'not_verified';
    END IF;
    PERFORM iap.log_desk(
        'noted', note.who, note.transaction_id, place.bundle_id, place.environment,
        jsonb_build_object('note', note.note));
    RETURN 'noted';
END
$$;
COMMENT ON FUNCTION iap.note IS
    'Writes a comment of the support desk on a transaction into the audit trail, and gives noted; not_verified where '
    'nobody knows it. The report and check show it.';

-- What a person decides in the report's spreadsheet, taken back line by line ------------------------------------------

CREATE FUNCTION iap.case_mark(
    opened_run_id bigint, opened_at timestamptz, move_id bigint, product_id text, quantity integer,
    owner_user_ids text[], periods text[]
) RETURNS text
LANGUAGE sql STABLE
-- Of a body in this form a query of a hundred thousand cases makes no call each.
RETURN left(encode(sha256(convert_to(jsonb_build_array($1, extract(epoch FROM $2))::text, 'UTF8')), 'hex'), 8)
    || '-' || left(
        encode(
            sha256(convert_to(jsonb_build_array($1, extract(epoch FROM $2), $3, $4, $5, $6, $7)::text, 'UTF8')), 'hex'),
        8);
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
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_transaction_id('transaction_id', decide.transaction_id);
    PERFORM iap.require_bundle_id(decide.bundle_id);
    PERFORM iap.require_text('who', decide.who, 1000);
    PERFORM iap.require_text('note', decide.note, 10000);
    IF decide.how IS NULL OR decide.how NOT IN ('delivered', 'deliver', 'dismissed', 'refunded') THEN
        RAISE EXCEPTION 'a decision is “delivered”, “deliver”, “dismissed” or “refunded”'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    t := iap.locked_with_periods(decide.bundle_id, decide.environment, decide.transaction_id);
    outcome := iap.standing(t);
    IF outcome <> 'white' THEN
        RETURN CASE
            WHEN t.transaction_id IS NULL THEN 'another_report'
            WHEN decide.how = 'delivered' AND t.delivered_by = 'resolved' THEN 'already'
            WHEN decide.how = 'deliver' AND t.place = 'black' AND iap.redelivery_of(t) IN ('under way', 'redelivered')
            THEN 'already'
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

    IF decide.how = 'deliver' THEN
        -- One that will not be made, for others speak for the purchase since, is none.
        IF iap.redelivery_of(t) = 'under way' AND EXISTS (
            SELECT FROM iap.redeliveries AS ordered
            WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
                AND iap.end_of_redelivery(ROW(ordered.*)::iap.redeliveries) IS NULL)
        THEN
            RETURN 'already';
        END IF;
        outcome := iap.redeliver(t.transaction_id, decide.who, decide.note, t.bundle_id, t.environment);
        RETURN CASE outcome WHEN 'redelivery' THEN decide.how ELSE outcome END;
    END IF;
    RETURN iap.resolve(t.transaction_id, decide.how, decide.who, decide.note, t.bundle_id, t.environment);
END
$$;
COMMENT ON FUNCTION iap.decide IS
    'Ends a case on a decision that was taken before a report, if the case is still as the report''s mark says: how, '
    'delivered, dismissed or refunded; with deliver it orders the redelivery. Where the desk has decided so already: '
    'already. Otherwise it changes nothing and says why: another_report, where the mark is of no case here; '
    'changed_since, where other evidence came since; already_delivered, excluded, and what else iap.resolve and '
    'iap.redeliver refuse.';
