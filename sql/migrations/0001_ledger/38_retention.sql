-- What is not kept for ever: payloads and devices of receipts go after a time.

CREATE VIEW iap.purgeable AS
SELECT receipts.bucket, receipts.receipt_id, last_attempt_at, payload_purged_at, device, is_erased
FROM iap.receipts
-- A join, where NOT EXISTS would say the same: a cluster runs it though the inbox lies on other servers.
LEFT JOIN (
    SELECT sightings.bucket, sightings.receipt_id
    FROM iap.sightings
    JOIN iap.white USING (transaction_id, bundle_id, environment)
) AS open ON open.receipt_id = receipts.receipt_id AND open.bucket = receipts.bucket
WHERE next_attempt_at IS NULL AND open.receipt_id IS NULL;
COMMENT ON VIEW iap.purgeable IS
    'The receipts on which nothing is open: neither they themselves nor a transaction that was seen in them.';

CREATE FUNCTION iap.take_purgeable(bucket smallint, receipt_ids bigint[]) RETURNS bigint[]
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    closed bigint[];
    free   bigint[];
BEGIN
    -- As in iap.purgeable, but asked of the ledger alone, about receipts that are at hand.
    SELECT array_agg(receipt_id) INTO closed
    FROM unnest(receipt_ids) AS asked (receipt_id)
    WHERE NOT EXISTS (
        SELECT FROM iap.sightings
        JOIN iap.white USING (transaction_id, bundle_id, environment)
        WHERE sightings.bucket = take_purgeable.bucket AND sightings.receipt_id = asked.receipt_id);
    IF closed IS NULL THEN
        RETURN '{}';
    END IF;
    SELECT coalesce(array_agg(receipt_id), '{}') INTO free
    FROM (
        SELECT receipt_id
        FROM iap.receipts
        WHERE bucket = take_purgeable.bucket AND receipt_id = ANY (closed) AND next_attempt_at IS NULL
        FOR UPDATE SKIP LOCKED
    ) AS mine;
    RETURN free;
END
$$;
COMMENT ON FUNCTION iap.take_purgeable IS
    'Locks those of a bucket''s receipts on which nothing is open and that no other session has locked, and gives '
    'them.';

CREATE FUNCTION iap.purge_page_by_page(
    bucket smallint, wanted text, changes text, before timestamptz, most bigint
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    at         timestamptz := iap.present();
    reached_at timestamptz := '-infinity';
    reached    bigint := 0;
    page       bigint[];
    free       bigint[];
    purged     bigint := 0;
BEGIN
    -- Past those on which something is open. Whatever is not due any more was tried at some time.
    WHILE purged < most LOOP
        EXECUTE format(
            $page$
            SELECT array_agg(receipt_id), max(last_attempt_at)
            FROM (
                SELECT receipt_id, last_attempt_at
                FROM iap.receipts
                WHERE bucket = $1 AND next_attempt_at IS NULL AND %s AND (last_attempt_at, receipt_id) > ($3, $4)
                ORDER BY last_attempt_at, receipt_id
                LIMIT $5
            ) AS oldest
            $page$, wanted)
        INTO page, reached_at
        USING bucket, before, reached_at, reached, most;
        EXIT WHEN page IS NULL;
        free := (iap.take_purgeable(bucket, page))[:most - purged];
        EXECUTE format('UPDATE iap.receipts SET %s WHERE bucket = $1 AND receipt_id = ANY ($2)', changes)
        USING bucket, free, at;
        purged := purged + cardinality(free);
        reached := page[cardinality(page)];
        EXIT WHEN cardinality(page) < most;
    END LOOP;
    RETURN purged;
END
$$;
COMMENT ON FUNCTION iap.purge_page_by_page IS
    'Changes those of a bucket''s receipts that are wanted and on which nothing is open, the oldest first and so many '
    'at most, and says how many. What is wanted, of which $2 is before, and the changes, of which $3 is the present, '
    'are SQL: each asks a partial index of its own.';

CREATE FUNCTION iap.purge_payloads(bucket smallint, before timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changes text := 'payload = NULL, payload_purged_at = $3';
    purged  bigint;
BEGIN
    PERFORM iap.limit_waiting();
    purged := iap.purge_page_by_page(
        bucket, 'payload_purged_at IS NULL AND last_attempt_at < $2', changes, before, most);
    RETURN purged + iap.purge_page_by_page(
        bucket, 'payload_purged_at IS NULL AND is_erased', changes, before, most - purged);
END
$$;
COMMENT ON FUNCTION iap.purge_payloads IS
    'Takes away the payloads of receipts of a bucket that were last tried before a moment and on which nothing is '
    'open, the oldest first, and so many at most; those of erased users whenever they were tried. Gives how many. The '
    'hash stays, by which the same upload is known again.';

CREATE FUNCTION iap.purge_devices(bucket smallint, before timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iap.limit_waiting();
    RETURN iap.purge_page_by_page(
        bucket, 'device IS NOT NULL AND last_attempt_at < $2', 'device = NULL, device_purged_at = $3', before, most);
END
$$;
COMMENT ON FUNCTION iap.purge_devices IS
    'The same for what clients said of their devices, which is then not taken again.';

CREATE FUNCTION iap.purgeable_buckets(payloads_before timestamptz, devices_before timestamptz) RETURNS smallint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    wanted  smallint;
    old     bigint;
    buckets smallint[] := '{}';
BEGIN
    PERFORM iap.limit_waiting();
    -- One after the other: on a cluster each question goes to one shard.
    FOR wanted IN 0 .. 63 LOOP
        SELECT receipt_id INTO old
        FROM iap.receipts
        WHERE bucket = wanted AND next_attempt_at IS NULL AND payload_purged_at IS NULL
            AND last_attempt_at < payloads_before
        LIMIT 1;
        IF old IS NULL THEN
            SELECT receipt_id INTO old
            FROM iap.receipts
            WHERE bucket = wanted AND next_attempt_at IS NULL AND device IS NOT NULL
                AND last_attempt_at < devices_before
            LIMIT 1;
        END IF;
        IF old IS NULL THEN
            SELECT receipt_id INTO old
            FROM iap.receipts
            WHERE bucket = wanted AND next_attempt_at IS NULL AND payload_purged_at IS NULL AND is_erased
            LIMIT 1;
        END IF;
        IF old IS NOT NULL THEN
            buckets := buckets || wanted;
        END IF;
    END LOOP;
    RETURN buckets;
END
$$;
COMMENT ON FUNCTION iap.purgeable_buckets IS
    'The buckets with receipts that are old enough for a purge, or whose user is erased: on most nights there are '
    'none.';

CREATE FUNCTION iap.count_purgeable(
    payloads_before timestamptz, devices_before timestamptz, OUT payloads bigint, OUT devices bigint
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iap.limit_waiting();
    SELECT count(*) INTO payloads
    FROM iap.purgeable
    WHERE payload_purged_at IS NULL AND (is_erased OR last_attempt_at < payloads_before);
    SELECT count(*) INTO devices
    FROM iap.purgeable
    WHERE device IS NOT NULL AND last_attempt_at < devices_before;
END
$$;
COMMENT ON FUNCTION iap.count_purgeable IS 'How many payloads and devices a purge would take away.';
