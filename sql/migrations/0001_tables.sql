-- The tables of iap-reconcile. Keys carry `bucket` or `transaction_id`, so that the same schema runs on one server
-- or on Citus (see ../citus.sql). Ids of Apple's are text in byte order: they are never numbers.

CREATE SCHEMA iap;

-- What was applied, and the SHA-256 of its text, by which a program knows its schema again.
CREATE TABLE iap.migrations (
    number     integer PRIMARY KEY CHECK (number > 0),
    name       text NOT NULL,
    checksum   text NOT NULL CHECK (checksum ~ '^[0-9a-f]{64}$'),
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- From the poorest to the best: a poorer source never overwrites what a better one said.
CREATE TYPE iap.source AS ENUM ('app_server', 'local', 'verify_receipt', 'server_api');

CREATE TABLE iap.products (
    bundle_id             text COLLATE "C" NOT NULL,
    product_id            text COLLATE "C" NOT NULL,
    type                  text NOT NULL
        CHECK (type IN ('consumable', 'non_consumable', 'auto_renewable', 'non_renewing')),
    name                  text NOT NULL,
    list_price_milliunits bigint CHECK (list_price_milliunits >= 0),
    currency              text CHECK (currency ~ '^[A-Z]{3}$'),
    PRIMARY KEY (bundle_id, product_id),
    CONSTRAINT list_price_has_currency CHECK ((list_price_milliunits IS NULL) = (currency IS NULL))
);

CREATE TABLE iap.orders (
    bundle_id         text COLLATE "C" NOT NULL,
    order_id          text NOT NULL,
    user_id           text NOT NULL,
    product_id        text COLLATE "C" NOT NULL,
    quantity          integer NOT NULL DEFAULT 1 CHECK (quantity > 0),
    app_account_token text,
    created_at        timestamptz NOT NULL DEFAULT now(),
    -- The order first: who asks at the support desk knows it, and not always the app.
    PRIMARY KEY (order_id, bundle_id)
);

-- The inbox. `receipt_id` carries the bucket in its low six bits, so either finds the row.
CREATE INDEX orders_by_user ON iap.orders (user_id, bundle_id, product_id, created_at);
CREATE INDEX orders_by_token ON iap.orders (app_account_token) WHERE app_account_token IS NOT NULL;

CREATE SEQUENCE iap.receipt_number AS bigint;

CREATE TABLE iap.receipts (
    bucket          smallint NOT NULL CHECK (bucket BETWEEN 0 AND 63),
    receipt_id      bigint NOT NULL,
    bundle_id       text COLLATE "C" NOT NULL,
    user_id         text,
    payload         text,
    payload_sha256  bytea NOT NULL CHECK (octet_length(payload_sha256) = 32),
    order_id        text,
    transaction_id  text,
    device          jsonb,
    submitted_at    timestamptz NOT NULL DEFAULT now(),
    -- waiting: not verified yet; watched: verified, holds open white rows, asked again each night;
    -- settled: verified, nothing open; unusable: can't be verified, see error_code.
    state           text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'watched', 'settled', 'unusable')),
    -- Nights on which it was tried without success since it last succeeded.
    attempts        integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_attempt_at timestamptz DEFAULT now(),
    last_attempt_at timestamptz,
    verified_at     timestamptz,
    error_code      text,
    error_text      text,
    -- What the check of its signature on this machine said, where it was looked at.
    signature       text CHECK (signature IN ('valid', 'invalid', 'untrusted', 'absent')),
    -- When the receipt says that it was made; only of those that hold all that the client has not finished.
    made_at         timestamptz,
    -- What a purge or an erasure took away stays away. The hash stays, so that the same upload is known again.
    payload_purged_at timestamptz,
    device_purged_at  timestamptz,
    -- Whose user was erased: its payload goes as soon as nothing is open on it.
    is_erased       boolean NOT NULL DEFAULT false,
    PRIMARY KEY (bucket, receipt_id),
    CONSTRAINT receipt_id_names_bucket CHECK ((receipt_id & 63) = bucket),
    CONSTRAINT payload_chooses_bucket CHECK ((get_byte(payload_sha256, 0) & 63) = bucket),
    CONSTRAINT one_receipt_a_user_and_payload UNIQUE NULLS NOT DISTINCT (bucket, payload_sha256, bundle_id, user_id),
    CONSTRAINT due_while_open CHECK ((next_attempt_at IS NOT NULL) = (state IN ('waiting', 'watched'))),
    CONSTRAINT verified_when_it_says_so CHECK (state NOT IN ('watched', 'settled') OR verified_at IS NOT NULL),
    CONSTRAINT unusable_has_reason CHECK (state <> 'unusable' OR error_code IS NOT NULL),
    CONSTRAINT settled_has_no_error CHECK (state <> 'settled' OR error_code IS NULL),
    CONSTRAINT failed_attempts_have_error CHECK (attempts = 0 OR error_code IS NOT NULL),
    CONSTRAINT error_has_text CHECK ((error_code IS NULL) = (error_text IS NULL)),
    CONSTRAINT error_was_met CHECK (error_code IS NULL OR last_attempt_at IS NOT NULL),
    CONSTRAINT payload_unless_purged CHECK ((payload IS NULL) = (payload_purged_at IS NOT NULL)),
    CONSTRAINT payload_while_open CHECK (payload IS NOT NULL OR next_attempt_at IS NULL),
    CONSTRAINT device_unless_purged CHECK (device IS NULL OR device_purged_at IS NULL)
);

-- The batch read: one bucket's due receipts, those of one payload beside each other.
CREATE INDEX receipts_due ON iap.receipts (bucket, payload_sha256, receipt_id)
    INCLUDE (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
-- The report's lists of receipts that could not be used, or not yet.
CREATE INDEX receipts_in_trouble ON iap.receipts (bucket, receipt_id) WHERE error_code IS NOT NULL;
CREATE INDEX receipts_by_user ON iap.receipts (user_id, bundle_id);
-- What a purge looks for: the oldest of a bucket that still have what may go.
CREATE INDEX receipts_with_payload ON iap.receipts (bucket, last_attempt_at)
    WHERE next_attempt_at IS NULL AND payload_purged_at IS NULL;
CREATE INDEX receipts_with_device ON iap.receipts (bucket, last_attempt_at)
    WHERE next_attempt_at IS NULL AND device IS NOT NULL;
CREATE INDEX receipts_erased ON iap.receipts (bucket) WHERE is_erased AND payload_purged_at IS NULL;

-- What else the same payload was uploaded for: one receipt may name several transactions and orders in turn.
CREATE TABLE iap.uploads (
    bucket            smallint NOT NULL,
    receipt_id        bigint NOT NULL,
    transaction_id    text,
    order_id          text,
    first_uploaded_at timestamptz NOT NULL DEFAULT now(),
    last_uploaded_at  timestamptz NOT NULL DEFAULT now(),
    times             integer NOT NULL DEFAULT 1 CHECK (times > 0),
    CONSTRAINT one_upload_a_purpose UNIQUE NULLS NOT DISTINCT (bucket, receipt_id, transaction_id, order_id)
);

-- The support desk: what came for a transaction or an order, verified or not.
CREATE INDEX uploads_by_transaction ON iap.uploads (transaction_id) WHERE transaction_id IS NOT NULL;
CREATE INDEX uploads_by_order ON iap.uploads (order_id) WHERE order_id IS NOT NULL;

-- Staging: the transactions of the batch in hand. Always empty between batches.
CREATE UNLOGGED TABLE iap.verified (
    bucket                  smallint NOT NULL,
    receipt_id              bigint NOT NULL,
    user_id                 text,
    order_id                text,
    is_named                boolean NOT NULL,
    in_receipt              boolean NOT NULL,
    uploaded_at             timestamptz NOT NULL,
    -- One row a transaction of the batch is its best: the others only tell in which receipts it was seen.
    is_best                 boolean NOT NULL,
    exclusion               text,
    transaction_id          text COLLATE "C" NOT NULL,
    bundle_id               text COLLATE "C" NOT NULL,
    environment             text NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    product_id              text COLLATE "C" NOT NULL,
    product_type            text,
    quantity                integer NOT NULL,
    purchased_at            timestamptz NOT NULL,
    original_purchased_at   timestamptz,
    expires_at              timestamptz,
    refunded_at             timestamptz,
    refund_reason           text,
    ownership               text,
    is_trial                boolean NOT NULL,
    web_order_line_item_id  text,
    app_account_token       text,
    price_milliunits        bigint,
    currency                text,
    storefront              text,
    found_bundle_id         text COLLATE "C",
    source                  iap.source NOT NULL,
    verified_at             timestamptz NOT NULL,
    PRIMARY KEY (transaction_id, bundle_id, environment, bucket, receipt_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

CREATE INDEX verified_by_bucket ON iap.verified (bucket);

CREATE TABLE iap.white (
    transaction_id          text COLLATE "C" NOT NULL,
    bundle_id               text COLLATE "C" NOT NULL,
    environment             text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    original_transaction_id text COLLATE "C" NOT NULL,
    product_id              text COLLATE "C" NOT NULL,
    product_type            text
        CHECK (product_type IN ('consumable', 'non_consumable', 'auto_renewable', 'non_renewing')),
    quantity                integer NOT NULL CHECK (quantity > 0),
    purchased_at            timestamptz NOT NULL,
    original_purchased_at   timestamptz,
    expires_at              timestamptz,
    is_trial                boolean NOT NULL DEFAULT false,
    web_order_line_item_id  text,
    app_account_token       text,
    price_milliunits        bigint,
    currency                text CHECK (currency ~ '^[A-Z]{3}$'),
    storefront              text,
    -- What finance counts it as: fixed when it enters, and changed only when Apple tells a price that was not known.
    booked_milliunits       bigint,
    booked_currency         text,
    booked_as               text NOT NULL CHECK (booked_as IN ('apple', 'list', 'trial', 'unknown')),
    source                  iap.source NOT NULL,
    verified_at             timestamptz NOT NULL,
    -- The user for whom the app's own server admitted it, and the receipt it named.
    admitted_user_id        text,
    admitted_receipt_id     bigint,
    first_seen_at           timestamptz NOT NULL,
    first_run_id            bigint,
    -- Nights on which Apple confirmed it while nobody claimed it.
    nights_confirmed        integer NOT NULL DEFAULT 0 CHECK (nights_confirmed >= 0),
    last_confirmed_at       timestamptz,
    seal                    bigint,
    PRIMARY KEY (transaction_id, bundle_id, environment),
    CONSTRAINT ids_are_apples CHECK (
        octet_length(transaction_id) BETWEEN 1 AND 64 AND octet_length(original_transaction_id) BETWEEN 1 AND 64
        AND octet_length(product_id) BETWEEN 1 AND 255 AND octet_length(bundle_id) BETWEEN 1 AND 255
        -- Visible ASCII. A bounded repetition such as {1,64} would cost 15 µs a value.
        AND (transaction_id || original_transaction_id || product_id || bundle_id) !~ '[^!-~]'),
    CONSTRAINT price_has_currency CHECK ((price_milliunits IS NULL) = (currency IS NULL)),
    CONSTRAINT unknown_has_no_amount CHECK ((booked_as = 'unknown') = (booked_milliunits IS NULL)),
    CONSTRAINT run_or_app_server CHECK (first_run_id IS NOT NULL OR source = 'app_server' OR nights_confirmed > 0),
    CONSTRAINT confirmed_at_some_time CHECK ((nights_confirmed > 0) = (last_confirmed_at IS NOT NULL))
);

CREATE INDEX white_by_original ON iap.white (original_transaction_id);
CREATE INDEX white_by_purchase ON iap.white (bundle_id, purchased_at);

CREATE TABLE iap.black (
    transaction_id          text COLLATE "C" NOT NULL,
    bundle_id               text COLLATE "C" NOT NULL,
    environment             text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    original_transaction_id text COLLATE "C" NOT NULL,
    product_id              text COLLATE "C" NOT NULL,
    product_type            text
        CHECK (product_type IN ('consumable', 'non_consumable', 'auto_renewable', 'non_renewing')),
    quantity                integer NOT NULL CHECK (quantity > 0),
    purchased_at            timestamptz NOT NULL,
    price_milliunits        bigint,
    currency                text CHECK (currency ~ '^[A-Z]{3}$'),
    storefront              text,
    booked_milliunits       bigint,
    booked_currency         text,
    booked_as               text NOT NULL CHECK (booked_as IN ('apple', 'list', 'trial', 'unknown')),
    source                  iap.source NOT NULL,
    first_seen_at           timestamptz NOT NULL,
    first_run_id            bigint,
    user_id                 text,
    order_id                text,
    -- claim: by the app's server; resolved: by support staff; import: before iap-reconcile was there.
    delivered_by            text NOT NULL CHECK (delivered_by IN ('claim', 'resolved', 'import')),
    delivered_at            timestamptz NOT NULL,
    refunded_at             timestamptz,
    refund_reason           text,
    refund_run_id           bigint,
    seal                    bigint,
    PRIMARY KEY (transaction_id, bundle_id, environment),
    CONSTRAINT price_has_currency CHECK ((price_milliunits IS NULL) = (currency IS NULL)),
    CONSTRAINT unknown_has_no_amount CHECK ((booked_as = 'unknown') = (booked_milliunits IS NULL)),
    CONSTRAINT claim_has_user CHECK (delivered_by <> 'claim' OR user_id IS NOT NULL),
    CONSTRAINT refund_reason_has_refund CHECK (refund_reason IS NULL OR refunded_at IS NOT NULL)
);

CREATE INDEX black_by_original ON iap.black (original_transaction_id);
CREATE INDEX black_by_order ON iap.black (order_id, bundle_id) WHERE order_id IS NOT NULL;
CREATE INDEX black_by_user ON iap.black (user_id, bundle_id);
CREATE INDEX black_by_delivery ON iap.black (delivered_at);

CREATE TABLE iap.excluded (
    transaction_id          text COLLATE "C" NOT NULL,
    bundle_id               text COLLATE "C" NOT NULL,
    environment             text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    original_transaction_id text COLLATE "C" NOT NULL,
    product_id              text COLLATE "C" NOT NULL,
    product_type            text
        CHECK (product_type IN ('consumable', 'non_consumable', 'auto_renewable', 'non_renewing')),
    quantity                integer NOT NULL,
    purchased_at            timestamptz NOT NULL,
    price_milliunits        bigint,
    currency                text CHECK (currency ~ '^[A-Z]{3}$'),
    storefront              text,
    booked_milliunits       bigint,
    booked_currency         text,
    booked_as               text NOT NULL CHECK (booked_as IN ('apple', 'list', 'trial', 'unknown')),
    source                  iap.source NOT NULL,
    verified_at             timestamptz NOT NULL,
    reason                  text NOT NULL CHECK (reason IN (
        'sandbox', 'foreign_bundle', 'refunded', 'family_shared', 'upgraded', 'invalid_quantity', 'before_start',
        'restored', 'dismissed')),
    -- The bundle id that the receipt names, where it is another app's.
    found_bundle_id         text COLLATE "C",
    refunded_at             timestamptz,
    refund_reason           text,
    excluded_at             timestamptz NOT NULL,
    run_id                  bigint,
    seal                    bigint,
    PRIMARY KEY (transaction_id, bundle_id, environment),
    CONSTRAINT price_has_currency CHECK ((price_milliunits IS NULL) = (currency IS NULL)),
    CONSTRAINT unknown_has_no_amount CHECK ((booked_as = 'unknown') = (booked_milliunits IS NULL)),
    CONSTRAINT refunded_has_time CHECK (reason <> 'refunded' OR refunded_at IS NOT NULL),
    CONSTRAINT refund_reason_has_refund CHECK (refund_reason IS NULL OR refunded_at IS NOT NULL),
    CONSTRAINT foreign_bundle_is_named CHECK ((reason = 'foreign_bundle') = (found_bundle_id IS NOT NULL)),
    CONSTRAINT run_or_person CHECK (run_id IS NOT NULL OR reason IN ('dismissed', 'refunded', 'restored'))
);

CREATE INDEX excluded_by_reason ON iap.excluded (reason, excluded_at);
-- What a setting alone excluded: looked for each night by what the settings let through by now, which is nothing.
CREATE INDEX excluded_by_setting ON iap.excluded (bundle_id, environment, purchased_at)
    WHERE reason IN ('sandbox', 'before_start') AND refunded_at IS NULL;

-- In which receipts each transaction was seen, and who handed them in.
CREATE TABLE iap.sightings (
    transaction_id text COLLATE "C" NOT NULL,
    bundle_id      text COLLATE "C" NOT NULL,
    environment    text NOT NULL,
    bucket         smallint NOT NULL,
    receipt_id     bigint NOT NULL,
    user_id        text,
    order_id       text,
    -- Whether the receipt was uploaded for this very transaction; false when it only rode along.
    is_named       boolean NOT NULL,
    -- Whether the receipt holds it; else it came in the history of the customer who is known by the receipt.
    in_receipt     boolean NOT NULL DEFAULT true,
    uploaded_at    timestamptz NOT NULL,
    first_run_id   bigint,
    PRIMARY KEY (transaction_id, bundle_id, environment, bucket, receipt_id)
);

-- Who presented what lately, for the report's list of suspicious transactions.
CREATE INDEX sightings_by_receipt ON iap.sightings (receipt_id, bucket);
CREATE INDEX sightings_by_upload ON iap.sightings (uploaded_at);

-- Every claim attempt that was committed, and its outcome.
CREATE TABLE iap.claims (
    claim_id       bigint GENERATED ALWAYS AS IDENTITY,
    transaction_id text COLLATE "C" NOT NULL,
    bundle_id      text COLLATE "C" NOT NULL,
    user_id        text NOT NULL,
    order_id       text,
    outcome        text NOT NULL
        CHECK (outcome IN ('delivered', 'already_delivered', 'not_verified', 'wrong_user', 'excluded')),
    attempted_at   timestamptz NOT NULL DEFAULT now(),
    seal           bigint,
    PRIMARY KEY (transaction_id, claim_id)
);

CREATE INDEX claims_delivered ON iap.claims (attempted_at) WHERE outcome = 'delivered';
CREATE INDEX claims_by_order ON iap.claims (order_id) WHERE order_id IS NOT NULL;

CREATE TABLE iap.cases (
    transaction_id text COLLATE "C" NOT NULL,
    bundle_id      text COLLATE "C" NOT NULL,
    environment    text NOT NULL,
    state          text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed')),
    likelihood     text NOT NULL CHECK (likelihood IN ('high', 'medium', 'low')),
    reasons        text[] NOT NULL CHECK (cardinality(reasons) > 0),
    action         text NOT NULL,
    -- The likeliest first; one is the owner, none is unknown.
    owner_user_ids text[] NOT NULL,
    -- Everyone whom anything speaks for, and what: [{"userID": …, "evidence": […]}], the likeliest first.
    candidates     jsonb NOT NULL DEFAULT '[]',
    -- The app's own orders that it may pay for, the likeliest first; one is matched.
    order_ids      text[] NOT NULL DEFAULT '{}',
    opened_at      timestamptz NOT NULL,
    opened_run_id  bigint NOT NULL,
    -- The run whose judgement stands here, and the last one that told of it as opened again: 0 where the support desk
    -- opened it again, until the next run tells of it.
    assessed_at     timestamptz NOT NULL,
    assessed_run_id bigint NOT NULL,
    reopened_run_id bigint,
    closed_at      timestamptz,
    closed_as      text CHECK (closed_as IN ('delivered', 'dismissed', 'refunded', 'withdrawn')),
    closed_by      text,
    note           text,
    PRIMARY KEY (transaction_id, bundle_id, environment),
    CONSTRAINT closed_when_and_how CHECK (
        (state = 'closed') = (closed_at IS NOT NULL)
        AND (closed_at IS NULL) = (closed_as IS NULL)
        AND (closed_as IS NULL) = (closed_by IS NULL)),
    CONSTRAINT only_closed_has_note CHECK (note IS NULL OR state = 'closed')
);

CREATE INDEX cases_open ON iap.cases (likelihood, opened_at) WHERE state = 'open';
-- The support desk: whose cases, and which orders' cases. Without a list of pending entries, which would be searched
-- from end to end.
CREATE INDEX cases_by_owner ON iap.cases USING gin (owner_user_ids) WITH (fastupdate = off) WHERE state = 'open';
CREATE INDEX cases_by_order ON iap.cases USING gin (order_ids) WITH (fastupdate = off) WHERE state = 'open';

CREATE TABLE iap.runs (
    run_id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The moment that the run took for the present.
    as_of               timestamptz NOT NULL,
    started_at          timestamptz NOT NULL,
    finished_at         timestamptz,
    host                text NOT NULL,
    process_id          integer NOT NULL,
    program_version     text NOT NULL,
    -- abandoned: killed, as a later run found.
    state               text NOT NULL DEFAULT 'running'
        CHECK (state IN ('running', 'complete', 'ended_early', 'failed', 'abandoned')),
    exit_code           integer,
    reason              text,
    receipts_due        bigint NOT NULL DEFAULT 0,
    receipts_verified   bigint NOT NULL DEFAULT 0,
    receipts_try_again  bigint NOT NULL DEFAULT 0,
    receipts_unusable   bigint NOT NULL DEFAULT 0,
    -- Control totals: transactions, units, hash. What verification gave, and where each transaction belongs …
    verified            bigint[3] NOT NULL DEFAULT '{0,0,0}',
    newly_white         bigint[3] NOT NULL DEFAULT '{0,0,0}',
    already_white       bigint[3] NOT NULL DEFAULT '{0,0,0}',
    already_black       bigint[3] NOT NULL DEFAULT '{0,0,0}',
    excluded            bigint[3] NOT NULL DEFAULT '{0,0,0}',
    -- … and the white table from the run before to this one.
    opening_white       bigint[3],
    new                 bigint[3],
    claimed             bigint[3],
    resolved            bigint[3],
    refunded            bigint[3],
    closing_white       bigint[3],
    -- Orders the runs whose books are closed: the next one opens with what this one closed.
    closing_number      bigint UNIQUE,
    -- The last day (UTC) that is closed for good for finance; of the runs that closed their books.
    closed_through      date,
    cases               jsonb,
    stages              jsonb,
    CONSTRAINT finished_when_it_says_so CHECK ((state = 'running') = (finished_at IS NULL)),
    CONSTRAINT exit_code_of_finished CHECK (state IN ('running', 'abandoned') OR exit_code IS NOT NULL),
    CONSTRAINT complete_is_success CHECK (state <> 'complete' OR exit_code = 0),
    CONSTRAINT reason_when_not_complete CHECK (state IN ('running', 'complete') OR reason IS NOT NULL),
    CONSTRAINT books_are_whole CHECK (
        num_nulls(opening_white, new, claimed, resolved, refunded, closing_white, closing_number) IN (0, 7)),
    CONSTRAINT complete_has_books CHECK (state <> 'complete' OR closing_number IS NOT NULL)
);

-- What entered and left the white table, a row a batch or a claim, until a run closes its books over it.
CREATE TABLE iap.movements (
    movement_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind          text NOT NULL CHECK (kind IN ('new', 'claimed', 'resolved', 'refunded')),
    transactions  bigint NOT NULL CHECK (transactions > 0),
    units         bigint NOT NULL,
    -- The exclusive or of hashtextextended(transaction_id, 0).
    hash          bigint NOT NULL,
    moved_at      timestamptz NOT NULL DEFAULT now(),
    run_id        bigint,
    closed_run_id bigint
);

CREATE INDEX movements_open ON iap.movements (movement_id) WHERE closed_run_id IS NULL;

-- The audit trail. Nothing in it is ever changed.
CREATE TABLE iap.events (
    event_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    happened_at    timestamptz NOT NULL DEFAULT now(),
    kind           text NOT NULL,
    actor          text NOT NULL,
    run_id         bigint,
    transaction_id text COLLATE "C",
    bundle_id      text COLLATE "C",
    environment    text,
    details        jsonb NOT NULL DEFAULT '{}'
);

CREATE INDEX events_by_transaction ON iap.events (transaction_id) WHERE transaction_id IS NOT NULL;
CREATE INDEX events_by_run ON iap.events (run_id) WHERE run_id IS NOT NULL;

CREATE FUNCTION iap.refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '%.% is append-only: % is refused', tg_table_schema, tg_table_name, tg_op
        USING ERRCODE = 'insufficient_privilege', HINT = 'Write a further event that corrects the earlier one.';
END
$$;

CREATE TRIGGER events_are_kept BEFORE UPDATE OR DELETE ON iap.events
    FOR EACH ROW EXECUTE FUNCTION iap.refuse_change();
CREATE TRIGGER events_are_not_truncated BEFORE TRUNCATE ON iap.events
    FOR EACH STATEMENT EXECUTE FUNCTION iap.refuse_change();

-- What psql's \d+ says of it all.

COMMENT ON SCHEMA iap IS
    'iap-reconcile: finds App Store purchases that are paid and not delivered. Amounts are milliunits of a currency.';
COMMENT ON TYPE iap.source IS 'Who vouches for a transaction, from the poorest to the best.';

COMMENT ON TABLE iap.migrations IS 'The steps of the schema that were applied.';
COMMENT ON COLUMN iap.migrations.checksum IS 'The SHA-256 of the step''s text, in hexadecimal.';

COMMENT ON TABLE iap.products IS
    'What the apps sell. Filled by the apps'' owner; a product that is missing is suspicious.';
COMMENT ON COLUMN iap.products.list_price_milliunits IS 'For one unit; used where Apple''s answer has no price.';

COMMENT ON TABLE iap.orders IS
    'The app''s own orders, by which a purchase without an order id can be matched. May be empty.';
COMMENT ON COLUMN iap.orders.app_account_token IS 'The UUID that the client handed to StoreKit with the purchase.';

COMMENT ON TABLE iap.receipts IS 'The inbox: what clients uploaded as proof of purchase.';
COMMENT ON COLUMN iap.receipts.bucket IS
    'The slice of the inbox, by the payload''s hash; one worker owns a slice at a time.';
COMMENT ON COLUMN iap.receipts.receipt_id IS 'A running number times 64, plus the bucket.';
COMMENT ON COLUMN iap.receipts.user_id IS 'Who was logged in; NULL if nobody.';
COMMENT ON COLUMN iap.receipts.payload IS
    'App receipt (base64), signed transaction (JWS) or iOS 6 receipt; may be empty; NULL when it was purged.';
COMMENT ON COLUMN iap.receipts.payload_purged_at IS 'When the payload was taken away; see iap.purge_payloads.';
COMMENT ON COLUMN iap.receipts.device_purged_at IS 'When the device was taken away; it is not taken again.';
COMMENT ON COLUMN iap.receipts.is_erased IS 'Whether the user was erased; see iap.erase_user.';
COMMENT ON COLUMN iap.receipts.transaction_id IS
    'What it was first uploaded for, as the client said; see also iap.uploads.';
COMMENT ON COLUMN iap.receipts.state IS
    'waiting: not verified yet; watched: holds white transactions, asked again each night; settled: nothing open; '
    'unusable: can''t be verified, see error_code.';
COMMENT ON COLUMN iap.receipts.attempts IS 'Nights on which it was tried without success since it last succeeded.';
COMMENT ON COLUMN iap.receipts.next_attempt_at IS 'From when on the nightly job tries it; NULL if never again.';

COMMENT ON TABLE iap.uploads IS 'For what each receipt was uploaded: a row for each pair of transaction and order.';
COMMENT ON COLUMN iap.uploads.times IS 'How often.';

COMMENT ON TABLE iap.verified IS 'Staging: the transactions of the batches in hand. Empty between batches.';

COMMENT ON TABLE iap.white IS 'The white table: transactions that Apple says are paid, and nobody has claimed yet.';
COMMENT ON COLUMN iap.white.original_transaction_id IS
    'The first transaction of a subscription, or of a non-consumable that was restored; else the transaction itself.';
COMMENT ON COLUMN iap.white.booked_milliunits IS
    'What finance counts it as: the price that Apple told, else the list price when it entered.';
COMMENT ON COLUMN iap.white.booked_as IS
    'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';
COMMENT ON COLUMN iap.white.admitted_user_id IS 'The user for whom the app''s own server admitted it.';
COMMENT ON COLUMN iap.white.nights_confirmed IS 'Nights on which Apple confirmed it while nobody claimed it.';
COMMENT ON COLUMN iap.white.seal IS 'Of what was bought, and for how much: see audit.white_seal.';

COMMENT ON TABLE iap.black IS 'The black table: transactions whose goods were delivered, for ever.';
COMMENT ON COLUMN iap.black.delivered_by IS
    'claim: by the app''s server; resolved: by the support desk, which may take that back with iap.reopen; '
    'import: before iap-reconcile was there.';
COMMENT ON COLUMN iap.black.refunded_at IS 'When Apple refunded it after the delivery.';
COMMENT ON COLUMN iap.black.seal IS 'Of what was delivered, to whom and when: see audit.black_seal.';

COMMENT ON TABLE iap.excluded IS 'Verified, but not owed, with the reason.';
COMMENT ON COLUMN iap.excluded.seal IS 'Of what was bought, and why it is not owed: see audit.excluded_seal.';
COMMENT ON COLUMN iap.excluded.found_bundle_id IS
    'The app that the receipt names, where it is another than it came for.';
COMMENT ON COLUMN iap.excluded.run_id IS 'The run that found it; NULL if the support desk or a claim did.';

COMMENT ON TABLE iap.sightings IS 'In which receipts each transaction was seen, and who handed them in.';
COMMENT ON COLUMN iap.sightings.is_named IS 'Whether the receipt was uploaded for this very transaction.';
COMMENT ON COLUMN iap.sightings.in_receipt IS
    'Whether the receipt holds it; else Apple told it of the customer who is known by the receipt.';

COMMENT ON TABLE iap.claims IS 'Every attempt to claim whose transaction was committed, and its outcome.';
COMMENT ON COLUMN iap.claims.seal IS 'Of the whole attempt: see audit.claim_seal.';

COMMENT ON TABLE iap.cases IS 'White transactions past their grace: likely lost orders, as the last run judged them.';
COMMENT ON COLUMN iap.cases.owner_user_ids IS 'The likeliest first; one is the owner, none is unknown.';
COMMENT ON COLUMN iap.cases.closed_by IS 'claim:USER, run N, import, or the person who resolved it.';

COMMENT ON TABLE iap.runs IS 'Every run of the job, with its control totals: transactions, units and hash total.';
COMMENT ON COLUMN iap.runs.as_of IS 'The moment that the run took for the present.';
COMMENT ON COLUMN iap.runs.closed_through IS 'The last day (UTC) that is closed for good for finance.';
COMMENT ON COLUMN iap.runs.state IS 'abandoned: killed, as a later run found.';
COMMENT ON COLUMN iap.runs.closing_number IS
    'The order of the runs whose books are closed; each opens with the one before.';

COMMENT ON TABLE iap.movements IS 'What entered and left the white table, until a run closes its books over it.';
COMMENT ON COLUMN iap.movements.kind IS
    'new: entered white, for the first time or again by iap.reopen; claimed, resolved, refunded: left it.';
COMMENT ON COLUMN iap.movements.hash IS 'The exclusive or of hashtextextended(transaction_id, 0).';
COMMENT ON COLUMN iap.movements.closed_run_id IS 'The run whose books count it; NULL until then.';

COMMENT ON TABLE iap.events IS 'The audit trail: rows are added, and never changed or taken away.';
COMMENT ON COLUMN iap.events.actor IS 'The person, the database login or the job that did it.';

COMMENT ON FUNCTION iap.refuse_change IS 'Keeps a table append-only, for its owner too.';
