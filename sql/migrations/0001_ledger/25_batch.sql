-- What a night writes of a batch, as a whole.

CREATE TYPE iap.recorded AS (
    -- Control totals: transactions, units, and the exclusive or of the hashes of the ids; NULL where there is nothing.
    newly_white   bigint[],
    already_white bigint[],
    already_black bigint[],
    excluded      bigint[],
    -- The receipts that hold a white transaction, and those that hold one that another session has locked.
    watched       bigint[],
    held          bigint[],
    -- The transactions that are left out, for another session has them locked.
    locked        text[]
);
COMMENT ON TYPE iap.recorded IS 'What became of a batch.';

CREATE FUNCTION iap.record(run bigint, at timestamptz) RETURNS iap.recorded
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    remaining integer[];
    entered   integer[];
    known     iap.standing[];
    restored  integer[];
    owed      integer[];
    total     record;
    recorded  iap.recorded;
BEGIN
    -- What nobody knows yet enters without a refund that Apple took back: of what is known iap.heard judges.
    UPDATE heard AS v
    SET refunded_at = NULL, refund_reason = NULL, revocation_type = NULL, revocation_percentage = NULL,
        exclusion = CASE exclusion WHEN 'refunded' THEN exclusion_besides ELSE exclusion END
    WHERE refunded_at IS NOT NULL AND iap.is_taken_back(ROW(v.*)::iap.verified)
        -- By the primary key: a join may read all that there is.
        AND (
            SELECT t.place
            FROM transactions AS t
            WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id
                AND t.environment = v.environment) IS NULL;
    SELECT * INTO entered, known, remaining FROM iap.hear_patiently(NULL, run, at);

    -- What is new has not been seen in any receipt yet.
    INSERT INTO sightings SELECT * FROM iap.sightings_of(entered, run);
    IF known <> '{}' THEN
        PERFORM iap.sight_again(ARRAY(SELECT number FROM unnest(known)), run);
    END IF;
    SELECT array_agg(number) INTO restored FROM heard WHERE exclusion = 'restored';
    IF restored IS NOT NULL THEN
        PERFORM iap.sight_owed(ARRAY(SELECT told FROM iap.sightings_of(restored, run) AS told));
    END IF;

    FOR total IN
        SELECT
            place, is_new, array_agg(number) AS numbers,
            ARRAY[count(*), sum(quantity), bit_xor(hashtextextended(transaction_id, 0))]::bigint[] AS tally
        FROM (
            SELECT
                number, transaction_id, quantity, CASE WHEN exclusion IS NULL THEN 'white' ELSE 'excluded' END AS place,
                exclusion IS NULL AS is_new
            FROM heard
            WHERE number = ANY (entered)
            UNION ALL
            SELECT number, transaction_id, quantity, place, is_new FROM unnest(known)
        ) AS standing
        GROUP BY place, is_new
    LOOP
        CASE
            WHEN total.is_new AND total.place = 'white' THEN recorded.newly_white := total.tally;
            WHEN total.place = 'white' THEN recorded.already_white := total.tally;
            WHEN total.place = 'black' THEN recorded.already_black := total.tally;
            ELSE recorded.excluded := total.tally;
        END CASE;
        IF total.place = 'white' THEN
            owed := owed || total.numbers;
        END IF;
    END LOOP;
    SELECT
        coalesce(array_agg(DISTINCT receipt_id) FILTER (WHERE number = ANY (owed)), '{}'),
        coalesce(array_agg(DISTINCT receipt_id) FILTER (WHERE number = ANY (remaining)), '{}')
    INTO recorded.watched, recorded.held
    FROM seen
    CROSS JOIN unnest(numbers) AS number;
    SELECT array_agg(transaction_id) INTO recorded.locked FROM heard WHERE number = ANY (remaining);
    RETURN recorded;
END
$$;
COMMENT ON FUNCTION iap.record IS
    'Takes the batch that is staged in the session''s tables heard and seen into the ledger. What another session has '
    'locked is left out, one by one.';
