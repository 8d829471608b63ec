-- What a company already has is pulled by the night from its own database or from files that it drops: how far each
-- source was read, and what could not be taken.

CREATE TABLE iap.sources (
    -- As the configuration names it, such as delivered.
    source        text COLLATE "C" PRIMARY KEY,
    kind          text NOT NULL CHECK (kind IN ('receipts', 'orders', 'delivered', 'entitlements', 'products')),
    -- A hash of what is asked of whom: a source that is defined anew is read from its beginning.
    definition    text NOT NULL,
    -- How far it was read, in the words of its own database; NULL where nothing was, or where it is a folder.
    watermark     text,
    -- When the latest pull began that came to its end: up to then the source has told everything.
    pulled_at     timestamptz,
    -- Of the latest pull, whether it came to its end or not.
    tried_at      timestamptz NOT NULL,
    taken         bigint NOT NULL DEFAULT 0,
    already_there bigint NOT NULL DEFAULT 0,
    refused       bigint NOT NULL DEFAULT 0,
    problem       text
);

CREATE TABLE iap.source_files (
    source      text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    size        bigint NOT NULL,
    modified_at timestamptz NOT NULL,
    taken_at    timestamptz NOT NULL,
    PRIMARY KEY (source, name)
);

CREATE TABLE iap.refused_rows (
    source     text COLLATE "C" NOT NULL,
    -- By which the company knows the row: its id, else where it stands.
    row_id     text COLLATE "C" NOT NULL,
    reason     text NOT NULL,
    what       text NOT NULL,
    refused_at timestamptz NOT NULL,
    PRIMARY KEY (source, row_id)
);

CREATE OR REPLACE FUNCTION iap.present() RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    set_to text := current_setting('iap.present', true);
BEGIN
    IF set_to <> ''
        AND (
            has_table_privilege(session_user, 'iap.runs', 'INSERT')
            OR has_table_privilege(session_user, 'iap.sources', 'INSERT'))
    THEN
        RETURN set_to::timestamptz;
    END IF;
    RETURN now();
END
$$;
COMMENT ON FUNCTION iap.present IS
    'The moment to take for the present: now, or what the nightly job, replaying a night, has set as iap.present, also '
    'where it pulls as iap_import. An app''s server can''t set it.';

CREATE FUNCTION iap.import_entitlements(words iap.entitlements[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    taken bigint;
    word  iap.entitlements;
BEGIN
    INSERT INTO entitlements AS known
    SELECT granted.* FROM unnest(words) AS granted
    ORDER BY granted.original_transaction_id, granted.bundle_id
    ON CONFLICT (original_transaction_id, bundle_id) DO UPDATE
    SET user_id = EXCLUDED.user_id, entitled_until = EXCLUDED.entitled_until, granted_at = EXCLUDED.granted_at,
        revoked_at = EXCLUDED.revoked_at,
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN known.seal = audit.seal(ROW(known.*)::iap.entitlements) THEN audit.seal(ROW(
            known.original_transaction_id, known.bundle_id, EXCLUDED.user_id, EXCLUDED.entitled_until,
            known.first_granted_at, EXCLUDED.granted_at, EXCLUDED.revoked_at, NULL)::iap.entitlements)
            ELSE known.seal END
    WHERE known.entitled_until < EXCLUDED.entitled_until;
    GET DIAGNOSTICS taken = ROW_COUNT;

    FOR word IN
        SELECT revoked.*
        FROM unnest(words) AS revoked
        JOIN entitlements AS known USING (original_transaction_id, bundle_id)
        WHERE revoked.revoked_at IS NOT NULL AND known.entitled_until > revoked.entitled_until
        ORDER BY revoked.original_transaction_id, revoked.bundle_id
    LOOP
        PERFORM iap.revoke_entitlement(word.bundle_id, word.original_transaction_id, word.entitled_until);
        taken := taken + 1;
    END LOOP;
    RETURN taken;
END
$$;
COMMENT ON FUNCTION iap.import_entitlements IS
    'Takes what a company''s own tables say was granted, as iap.entitle does: a later word never shortens but where it '
    'says that the grant was revoked. What is covered moves in the night.';

COMMENT ON TABLE iap.sources IS 'What the night pulls from a company''s own database or files, and how far.';
COMMENT ON TABLE iap.source_files IS 'The files of a source that were taken; one that changed is taken again.';
COMMENT ON TABLE iap.refused_rows IS
    'Rows of a source that could not be taken, and why; a row goes once it was taken after all.';
REVOKE ALL ON FUNCTION iap.import_entitlements FROM PUBLIC;
