-- What Apple answers to what it is asked takes the way of notices.

CREATE FUNCTION iap.known_of_heard(OUT known integer[], OUT unknown integer[])
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    SELECT
        coalesce(array_agg(v.number) FILTER (WHERE t.found), '{}'),
        coalesce(array_agg(v.number) FILTER (WHERE t.found IS NULL), '{}')
    INTO known, unknown
    FROM heard AS v
    LEFT JOIN LATERAL (
        SELECT true AS found FROM transactions AS t
        WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id AND t.environment = v.environment
        OFFSET 0
    ) AS t ON true;
END
$$;
COMMENT ON FUNCTION iap.known_of_heard IS
    'Of the batch that is staged in the session''s table heard, the numbers of those that the ledger knows and of the '
    'others.';

CREATE FUNCTION iap.take_answers(
    run bigint, at timestamptz, OUT unknown integer[], OUT locked text[], OUT undecided text[]
) LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    held  integer[];
    known integer[];
BEGIN
    SELECT sorted.known, sorted.unknown INTO known, unknown FROM iap.known_of_heard() AS sorted;
    IF known <> '{}' THEN
        SELECT remaining INTO held FROM iap.hear_patiently(known, run, at);
        SELECT array_agg(transaction_id) INTO locked FROM heard WHERE number = ANY (held);
        SELECT array_agg(t.transaction_id) INTO undecided
        FROM heard AS v
        CROSS JOIN LATERAL (
            SELECT transaction_id
            FROM transactions AS found
            WHERE found.transaction_id = v.transaction_id AND found.bundle_id = v.bundle_id
                AND found.environment = v.environment AND found.refund_run_id IS NOT NULL
            OFFSET 0
        ) AS t
        WHERE v.refunded_at IS NULL;
    END IF;
    INSERT INTO notices (
        transaction_id, bundle_id, environment, notice_uuid, type, subtype, signed_at, heard_at, heard_by, first_run_id)
    SELECT transaction_id, bundle_id, environment, notice_uuid, type, subtype, signed_at, at, heard_by, run
    FROM told
    WHERE number = ANY (unknown)
    ORDER BY transaction_id, bundle_id, environment, notice_uuid
    ON CONFLICT (transaction_id, bundle_id, environment, notice_uuid) DO NOTHING;
END
$$;
COMMENT ON FUNCTION iap.take_answers IS
    'Takes what Apple answered, as it is staged in the session''s tables heard and told: what it says of known '
    'transactions changes the ledger. Says the numbers in the batch of the transactions that nobody knows, which '
    'another session has locked, and which stay refunded though Apple told of no refund: it may not have known of it '
    'yet, or have taken it back, and is to be asked again.';
