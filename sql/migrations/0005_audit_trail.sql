-- What finds a change that was made by hand: seals over the rows of the ledger, and a chain over the audit trail.

CREATE SCHEMA audit;
COMMENT ON SCHEMA audit IS 'The chain over iap.events, and what makes the seals of the ledger''s rows.';

-- Seals --------------------------------------------------------------------------------------------------------------
--
-- Whoever writes a row seals it: a row that somebody changes by hand doesn't fit its seal any more, and `iap-reconcile
-- verify` names it. What changes every night is left out. The hashes are those of hash partitioning, which stay the
-- same from one version of PostgreSQL to the next.

CREATE FUNCTION audit.white_seal(
    transaction_id text, bundle_id text, environment text, original_transaction_id text, product_id text,
    quantity integer, purchased_at timestamptz, price_milliunits bigint, currency text, first_seen_at timestamptz
) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.hash_record_extended(ROW($1, $2, $3, $4, $5, $6, $7, $8, $9, $10), 0)
$$;
COMMENT ON FUNCTION audit.white_seal IS 'The seal of a white row.';

CREATE FUNCTION audit.black_seal(
    transaction_id text, bundle_id text, environment text, original_transaction_id text, product_id text,
    quantity integer, purchased_at timestamptz, price_milliunits bigint, currency text, user_id text, order_id text,
    delivered_by text, delivered_at timestamptz, refunded_at timestamptz
) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.hash_record_extended(ROW($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14), 0)
$$;
COMMENT ON FUNCTION audit.black_seal IS 'The seal of a black row.';

CREATE FUNCTION audit.excluded_seal(
    transaction_id text, bundle_id text, environment text, original_transaction_id text, product_id text,
    quantity integer, purchased_at timestamptz, price_milliunits bigint, currency text, reason text,
    found_bundle_id text, excluded_at timestamptz
) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.hash_record_extended(ROW($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12), 0)
$$;
COMMENT ON FUNCTION audit.excluded_seal IS 'The seal of an excluded row; a refund may be added to it later.';

CREATE FUNCTION audit.claim_seal(
    transaction_id text, bundle_id text, user_id text, order_id text, outcome text, attempted_at timestamptz
) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.hash_record_extended(ROW($1, $2, $3, $4, $5, $6), 0)
$$;
COMMENT ON FUNCTION audit.claim_seal IS 'The seal of an attempt to claim.';

-- The chain ----------------------------------------------------------------------------------------------------------
--
-- After each run what was written since is sealed: every event gets a position, a digest of
-- its own text, and a link that is the digest of the link before it and of its own. Whoever changes, removes or slips
-- in an event would have to write all later links anew, and the last one stands in the reports that were sent out.
--
-- Sealing comes after writing, so that no claim waits for another one to get its place in the chain.

CREATE TABLE audit.seals (
    position        bigint PRIMARY KEY CHECK (position > 0),
    event_id        bigint NOT NULL UNIQUE,
    digest          bytea NOT NULL CHECK (octet_length(digest) = 32),
    link            bytea NOT NULL CHECK (octet_length(link) = 32),
    -- Where a person's data was erased from the event: the event that tells of it, and the digest of what is left.
    erased_event_id bigint,
    erased_digest   bytea CHECK (octet_length(erased_digest) = 32),
    CONSTRAINT erased_by_whom_and_to_what CHECK ((erased_event_id IS NULL) = (erased_digest IS NULL))
);

CREATE TABLE audit.sealings (
    sealing_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sealed_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    run_id        bigint,
    -- The latest number that an event had been given, and the first transaction that had not begun.
    last_event_id bigint NOT NULL,
    horizon       xid8 NOT NULL,
    -- The end of the chain.
    position      bigint NOT NULL,
    link          bytea NOT NULL CHECK (octet_length(link) = 32)
);

COMMENT ON TABLE audit.seals IS 'The chain over the audit trail: one row an event.';
COMMENT ON COLUMN audit.seals.digest IS 'audit.event_digest of the event, when it was sealed.';
COMMENT ON COLUMN audit.seals.link IS 'The SHA-256 of the link before and of the digest.';
COMMENT ON COLUMN audit.seals.erased_event_id IS 'The event that tells why a person''s data is no more in this one.';
COMMENT ON TABLE audit.sealings IS 'How far the chain reached, and its end, each time it was continued.';

CREATE FUNCTION audit.event_digest(event iap.events) RETURNS bytea
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT sha256(convert_to(
        jsonb_build_array(
            event.event_id, to_char(event.happened_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), event.kind,
            event.actor, event.run_id, event.transaction_id, event.bundle_id, event.environment, event.details)::text,
        'UTF8'))
$$;
COMMENT ON FUNCTION audit.event_digest IS 'The SHA-256 of all that an event says.';

CREATE FUNCTION audit.next_link(link bytea, digest bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN link IS NULL THEN digest ELSE pg_catalog.sha256(link OPERATOR(pg_catalog.||) digest) END
$$;
COMMENT ON FUNCTION audit.next_link IS 'The link of an event, from the one before and its digest.';

CREATE AGGREGATE audit.chain(bytea) (SFUNC = audit.next_link, STYPE = bytea);
COMMENT ON AGGREGATE audit.chain(bytea) IS 'The last link over digests in their order; the first is the link to go on from.';

CREATE FUNCTION audit.first_link() RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.sha256('iap-reconcile'::bytea)
$$;
COMMENT ON FUNCTION audit.first_link IS 'What the first event is linked to.';

CREATE FUNCTION audit.last_final_event() RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(max(last_event_id), 0)
    FROM audit.sealings
    WHERE horizon <= pg_snapshot_xmin(pg_current_snapshot())
        -- A number is drawn a moment before its transaction is counted among those that run.
        AND sealed_at < clock_timestamp() - interval '10 minutes'
$$;
COMMENT ON FUNCTION audit.last_final_event IS
    'The number up to which no event can come any more: whatever was written when it was drawn has ended.';

CREATE FUNCTION audit.seal_events(run_id bigint DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, audit, pg_temp AS $$
#variable_conflict use_column
DECLARE
    final   bigint := audit.last_final_event();
    reached bigint;
    horizon xid8;
    start   bigint;
    before  bytea;
    added   bigint;
BEGIN
    LOCK TABLE audit.sealings IN EXCLUSIVE MODE;
    SELECT coalesce(max(event_id), 0), pg_snapshot_xmax(pg_current_snapshot()) INTO reached, horizon
    FROM iap.events;
    SELECT position, link INTO start, before
    FROM audit.seals
    ORDER BY position DESC
    LIMIT 1;

    WITH unsealed AS (
        SELECT events.event_id, audit.event_digest(events) AS digest
        FROM iap.events
        LEFT JOIN audit.seals USING (event_id)
        WHERE events.event_id > final AND seals.event_id IS NULL
    ), linked AS (
        SELECT
            event_id, digest, row_number() OVER chained - 1 AS number, audit.chain(digest) OVER chained AS link
        FROM (
            SELECT 0 AS event_id, coalesce(before, audit.first_link()) AS digest
            UNION ALL
            SELECT event_id, digest FROM unsealed
        ) AS given
        WINDOW chained AS (ORDER BY event_id ROWS UNBOUNDED PRECEDING)
    )
    INSERT INTO audit.seals (position, event_id, digest, link)
    SELECT coalesce(start, 0) + number, event_id, digest, link
    FROM linked
    WHERE number > 0;
    GET DIAGNOSTICS added = ROW_COUNT;

    INSERT INTO audit.sealings (run_id, last_event_id, horizon, position, link)
    SELECT seal_events.run_id, reached, horizon, coalesce(max(position), 0),
        coalesce((SELECT link FROM audit.seals ORDER BY position DESC LIMIT 1), audit.first_link())
    FROM audit.seals;
    RETURN added;
END
$$;
COMMENT ON FUNCTION audit.seal_events IS
    'Continues the chain over the events that are not sealed yet, in the order of their numbers, and says how many.';

CREATE TRIGGER seals_are_kept BEFORE DELETE ON audit.seals
    FOR EACH ROW EXECUTE FUNCTION iap.refuse_change();
CREATE TRIGGER seals_are_not_truncated BEFORE TRUNCATE ON audit.seals
    FOR EACH STATEMENT EXECUTE FUNCTION iap.refuse_change();
CREATE TRIGGER sealings_are_kept BEFORE UPDATE OR DELETE ON audit.sealings
    FOR EACH ROW EXECUTE FUNCTION iap.refuse_change();
CREATE TRIGGER sealings_are_not_truncated BEFORE TRUNCATE ON audit.sealings
    FOR EACH STATEMENT EXECUTE FUNCTION iap.refuse_change();

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA audit FROM PUBLIC;
REVOKE ALL ON SCHEMA audit FROM PUBLIC;
