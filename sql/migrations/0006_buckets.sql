-- A batch may hold receipts of several buckets: in a small night each bucket holds a few, and a batch costs a dozen
-- statements however little it holds. The bucket of a receipt stands in its id.

DROP FUNCTION iap.record(bigint, timestamptz, smallint);
DROP FUNCTION iap.sight_again(integer[], bigint, smallint);
DROP FUNCTION iap.sightings_of(integer[], bigint, smallint);

CREATE FUNCTION iap.record(run bigint, at timestamptz) RETURNS iap.recorded
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    patience  text := current_setting('lock_timeout');
    remaining integer[];
    told      record;
    entered   integer[] := '{}';
    known     iap.standing[] := '{}';
    owed      integer[];
    total     record;
    recorded  iap.recorded;
BEGIN
    -- A claim, or another batch of the night, holds a transaction for milliseconds: what is locked for longer is left.
    FOR round IN 1 .. 4 LOOP
        told := iap.hear(remaining, run, at);
        entered := entered || told.entered;
        known := known || told.known;
        SELECT array_agg(number) INTO remaining
        FROM heard
        WHERE number <> ALL (entered)
            AND NOT EXISTS (SELECT FROM unnest(known) AS standing WHERE standing.number = heard.number);
        EXIT WHEN remaining IS NULL;
        PERFORM set_config('lock_timeout', '20ms', true), pg_sleep(0.01 * round);
    END LOOP;
    PERFORM set_config('lock_timeout', patience, true);

    -- What is new has not been seen in any receipt yet.
    INSERT INTO sightings SELECT * FROM iap.sightings_of(entered, run);
    IF known <> '{}' THEN
        PERFORM iap.sight_again(ARRAY(SELECT number FROM unnest(known)), run);
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
    recorded.watched := ARRAY(SELECT DISTINCT receipt_id FROM seen WHERE number = ANY (owed));
    recorded.held := ARRAY(SELECT DISTINCT receipt_id FROM seen WHERE number = ANY (remaining));
    SELECT array_agg(transaction_id) INTO recorded.locked FROM heard WHERE number = ANY (remaining);
    RETURN recorded;
END
$$;
COMMENT ON FUNCTION iap.record IS
    'Takes the batch that is staged in the session''s tables heard and seen into the ledger. What another session has '
    'locked is left out, one by one.';

CREATE FUNCTION iap.sightings_of(numbers integer[], run bigint) RETURNS SETOF iap.sightings
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
    SELECT sighting.*, audit.seal(ROW(sighting.*, NULL)::iap.sightings)
    FROM (
        SELECT
            heard.transaction_id, heard.bundle_id, heard.environment, (seen.receipt_id & 63)::smallint, seen.receipt_id,
            seen.user_id, seen.order_id, seen.is_named, seen.in_receipt, seen.uploaded_at, run
        FROM seen
        JOIN heard USING (number)
        WHERE number = ANY (numbers)
    ) AS sighting;
END
$$;
COMMENT ON FUNCTION iap.sightings_of IS 'In which receipts of the batch the transactions of these numbers were seen.';

CREATE FUNCTION iap.sight_again(numbers integer[], run bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sightings AS known
    SELECT * FROM iap.sightings_of(numbers, run)
    ON CONFLICT (transaction_id, bundle_id, environment, bucket, receipt_id) DO UPDATE
    SET is_named = known.is_named OR EXCLUDED.is_named,
        in_receipt = known.in_receipt OR EXCLUDED.in_receipt,
        order_id = coalesce(known.order_id, EXCLUDED.order_id),
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN known.seal = audit.seal(ROW(known.*)::iap.sightings) THEN audit.seal(ROW(
            known.transaction_id, known.bundle_id, known.environment, known.bucket, known.receipt_id, known.user_id,
            coalesce(known.order_id, EXCLUDED.order_id), known.is_named OR EXCLUDED.is_named,
            known.in_receipt OR EXCLUDED.in_receipt, known.uploaded_at, known.first_run_id, NULL)::iap.sightings)
            ELSE known.seal END
    WHERE (EXCLUDED.is_named AND NOT known.is_named)
        OR (EXCLUDED.in_receipt AND NOT known.in_receipt)
        OR (known.order_id IS NULL AND EXCLUDED.order_id IS NOT NULL);
END
$$;
COMMENT ON FUNCTION iap.sight_again IS
    'Remembers in which receipts known transactions were seen, and who handed them in.';
REVOKE ALL ON FUNCTION iap.record, iap.sight_again, iap.sightings_of FROM PUBLIC;
