-- Redeliveries: what an app's server is to deliver without the customer, and how each stands.

CREATE TABLE iap.redeliveries (
    transaction_id text COLLATE "C" NOT NULL,
    bundle_id      text COLLATE "C" NOT NULL,
    environment    text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    user_id        text NOT NULL,
    -- The run that ordered it; NULL where a person did, who said why.
    run_id         bigint,
    ordered_at     timestamptz NOT NULL,
    ordered_by     text NOT NULL,
    note           text,
    -- How often an app's server took it, and from when on it may be taken: while it is leased that lies ahead.
    tries          integer NOT NULL DEFAULT 0 CHECK (tries BETWEEN 0 AND 5),
    taken_at       timestamptz,
    due_at         timestamptz NOT NULL,
    ended_at       timestamptz,
    ended_as       text CHECK (ended_as IN ('redelivered', 'delivered', 'not_owed', 'unsure')),
    -- The run that told of its end.
    told_run_id    bigint,
    PRIMARY KEY (transaction_id, bundle_id, environment),
    CONSTRAINT ended_when_and_how CHECK ((ended_at IS NULL) = (ended_as IS NULL)),
    CONSTRAINT taken_when_tried CHECK ((tries = 0) = (taken_at IS NULL)),
    CONSTRAINT person_says_why CHECK ((run_id IS NULL) = (note IS NOT NULL))
);

CREATE INDEX redeliveries_due ON iap.redeliveries (bundle_id, due_at) WHERE ended_at IS NULL AND tries < 5;
CREATE INDEX redeliveries_open ON iap.redeliveries (bundle_id) WHERE ended_at IS NULL;
CREATE INDEX redeliveries_told ON iap.redeliveries (told_run_id) WHERE ended_at IS NOT NULL;
COMMENT ON TABLE iap.redeliveries IS
    'What an app''s server shall deliver without the customer: it takes each under a lease, five times at most.';
COMMENT ON COLUMN iap.redeliveries.due_at IS 'From when on it may be taken; while it is leased, the end of the lease.';
COMMENT ON COLUMN iap.redeliveries.ended_as IS
    'redelivered: claimed or granted within the lease; delivered: in another way, or later; not_owed: refunded, '
    'dismissed …; unsure: it is not certain any more whose it is.';

-- What is ordered again begins anew, and what a month was told stays.
CREATE INDEX events_of_redeliveries ON iap.events (event_id) WHERE kind = 'redelivered';

CREATE FUNCTION iap.is_given_up(r iap.redeliveries) RETURNS boolean
LANGUAGE sql STABLE AS $$ SELECT ($1).ended_at IS NULL AND ($1).tries = 5 AND ($1).due_at <= now() $$;
COMMENT ON FUNCTION iap.is_given_up IS
    'Whether a redelivery was taken as often as it may be, and its last lease is over: it waits for a person.';

CREATE FUNCTION iap.redeliverable_to(t iap.transactions) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    owner text;
BEGIN
    IF t.place IS DISTINCT FROM 'white' OR iap.outcome_otherwise(t) IS NOT NULL THEN
        RETURN NULL;
    END IF;
    owner := iap.certain_owner(t);
    -- To a person who was erased nothing can be delivered.
    RETURN CASE WHEN NOT iap.is_pseudonym(owner) THEN owner END;
END
$$;
COMMENT ON FUNCTION iap.redeliverable_to IS
    'To whom a transaction may be delivered without the customer: it is white, and they are its one certain owner.';

CREATE FUNCTION iap.end_of_redelivery(r iap.redeliveries) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    t iap.transactions;
BEGIN
    SELECT * INTO t
    FROM transactions
    WHERE transactions.transaction_id = r.transaction_id AND transactions.bundle_id = r.bundle_id
        AND transactions.environment = r.environment;
    RETURN CASE
        -- What comes when the lease is over is as likely the customer's own.
        WHEN t.place = 'black' AND r.tries > 0 AND t.delivered_at <= r.due_at
            AND t.delivered_by IN ('claim', 'entitlement') THEN 'redelivered'
        -- Granted within it, and written by a night, for another session held it then.
        WHEN t.place = 'black' AND t.delivered_by = 'entitlement' AND EXISTS (
            SELECT FROM entitlements AS e
            WHERE e.original_transaction_id = t.original_transaction_id AND e.bundle_id = t.bundle_id
                AND iap.said_for(t, e) BETWEEN r.taken_at AND r.due_at) THEN 'redelivered'
        WHEN t.place = 'black' THEN 'delivered'
        WHEN t.place = 'white' AND iap.redeliverable_to(t) = r.user_id THEN NULL
        -- What another session held when it was granted: granted again, it is written, and nobody has it twice.
        WHEN t.place = 'white' AND iap.outcome_otherwise(t) = 'already_delivered' AND iap.is_granted_already(t)
            AND iap.certain_owner(t) = r.user_id THEN NULL
        WHEN t.place = 'white' THEN 'unsure'
        ELSE 'not_owed'
    END;
END
$$;
COMMENT ON FUNCTION iap.end_of_redelivery IS
    'How a redelivery has ended, as its transaction''s place says; NULL while it is to be made.';

CREATE FUNCTION iap.redelivery_of(t iap.transactions) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN ended_at IS NOT NULL THEN ended_as
        WHEN iap.is_given_up(ROW(ordered.*)::iap.redeliveries) THEN 'given up'
        ELSE 'under way'
    END
    FROM iap.redeliveries AS ordered
    WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
$$;
COMMENT ON FUNCTION iap.redelivery_of IS
    'How the redelivery of a transaction stands: under way, given up, or as it ended; NULL where none was ordered.';

CREATE FUNCTION iap.erase_from_redeliveries(user_id text, pseudonym text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    gone    bigint;
    changed bigint;
BEGIN
    -- Nothing can be delivered to nobody. What is owed no more has ended, and the night has yet to tell of it.
    DELETE FROM iap.redeliveries AS open
    USING iap.transactions AS t
    WHERE open.user_id = erase_from_redeliveries.user_id AND open.ended_at IS NULL
        AND t.transaction_id = open.transaction_id AND t.bundle_id = open.bundle_id
        AND t.environment = open.environment AND t.place = 'white';
    GET DIAGNOSTICS gone = ROW_COUNT;
    UPDATE iap.redeliveries AS known
    SET user_id = CASE known.user_id WHEN erase_from_redeliveries.user_id THEN pseudonym ELSE known.user_id END,
        note = iap.without_user(known.note, erase_from_redeliveries.user_id, pseudonym)
    WHERE known.user_id = erase_from_redeliveries.user_id
        OR (
            strpos(known.note, erase_from_redeliveries.user_id) > 0
            AND known.note <> iap.without_user(known.note, erase_from_redeliveries.user_id, pseudonym));
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN gone + changed;
END
$$;
COMMENT ON FUNCTION iap.erase_from_redeliveries IS
    'Takes away what is to be delivered to a user, replaces their id in what has ended and in notes, and says in how '
    'many rows.';
