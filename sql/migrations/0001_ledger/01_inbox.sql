-- The inbox, and what the apps say of themselves. Keys carry `bucket`, so that the same schema runs on one server or on
-- Citus (see ../../citus.sql). Ids of Apple's are text in byte order: they are never numbers.

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
    -- The list is written by hand: a space that came along must not stop a night.
    CONSTRAINT ids_are_apples CHECK (
        octet_length(product_id) BETWEEN 1 AND 255 AND octet_length(bundle_id) BETWEEN 1 AND 255
        AND (product_id || bundle_id) !~ '[^!-~]'),
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
    seal              bigint,
    -- The order first: who asks at the support desk knows it, and not always the app.
    PRIMARY KEY (order_id, bundle_id)
);

CREATE INDEX orders_by_user ON iap.orders (user_id, bundle_id, product_id, created_at);
CREATE INDEX orders_by_token ON iap.orders (app_account_token) WHERE app_account_token IS NOT NULL;
-- What is paid stays for ever, and what was never paid goes: new orders take its place, so that the oldest pages hold
-- young ones, and only each order's own entry tells where those of a day lie.
CREATE INDEX orders_by_age ON iap.orders (created_at);

CREATE TABLE iap.account_tokens (
    app_account_token text NOT NULL,
    bundle_id         text COLLATE "C" NOT NULL,
    user_id           text NOT NULL,
    registered_at     timestamptz NOT NULL DEFAULT now(),
    seal              bigint,
    PRIMARY KEY (app_account_token, bundle_id)
);
COMMENT ON TABLE iap.account_tokens IS 'Whose an appAccountToken is, as the apps'' servers said.';
COMMENT ON COLUMN iap.account_tokens.seal IS 'Of the whole row: see audit.seal.';

CREATE INDEX account_tokens_by_user ON iap.account_tokens (user_id);

-- The inbox. `receipt_id` carries the bucket in its low six bits, so either finds the row.
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
    state           text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'watched', 'settled', 'unusable')),
    attempts        integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_attempt_at timestamptz DEFAULT now(),
    last_attempt_at timestamptz,
    verified_at     timestamptz,
    error_code      text,
    error_text      text,
    -- What the check of its signature on this machine said, where it was looked at.
    signature       text CHECK (signature IN ('valid', 'invalid', 'untrusted', 'absent')),
    -- When the receipt says that it was made; only of those that hold all that the client has not finished of what the
    -- app sells in its environment.
    made_at         timestamptz,
    -- What an erasure took away stays away, and a payload that a purge did until it comes for something else. The hash
    -- stays, so that the same upload is known again.
    payload_purged_at timestamptz,
    device_purged_at  timestamptz,
    is_erased       boolean NOT NULL DEFAULT false,
    seal            bigint,
    -- Uploads of the same payload that named more than is kept.
    uploads_left_out integer NOT NULL DEFAULT 0,
    uploaded_again_at timestamptz,
    PRIMARY KEY (bucket, receipt_id),
    CONSTRAINT receipt_id_names_bucket CHECK ((receipt_id & 63) = bucket),
    CONSTRAINT payload_chooses_bucket CHECK ((get_byte(payload_sha256, 0) & 63) = bucket),
    CONSTRAINT one_receipt_a_user_and_payload UNIQUE NULLS NOT DISTINCT (bucket, payload_sha256, bundle_id, user_id),
    CONSTRAINT due_while_open CHECK ((next_attempt_at IS NOT NULL) = (state IN ('waiting', 'watched'))),
    CONSTRAINT verified_when_it_says_so CHECK (state NOT IN ('watched', 'settled') OR verified_at IS NOT NULL),
    CONSTRAINT unusable_has_reason CHECK (state <> 'unusable' OR error_code IS NOT NULL),
    -- What its upload named and it does not hold is told of for ever.
    CONSTRAINT settled_has_no_error CHECK (
        state <> 'settled' OR error_code IS NULL OR error_code = 'transaction_missing'),
    CONSTRAINT failed_attempts_have_error CHECK (attempts = 0 OR error_code IS NOT NULL),
    CONSTRAINT error_has_text CHECK ((error_code IS NULL) = (error_text IS NULL)),
    CONSTRAINT error_was_met CHECK (error_code IS NULL OR last_attempt_at IS NOT NULL),
    CONSTRAINT payload_unless_purged CHECK ((payload IS NULL) = (payload_purged_at IS NOT NULL)),
    CONSTRAINT payload_while_open CHECK (payload IS NOT NULL OR next_attempt_at IS NULL),
    CONSTRAINT device_unless_purged CHECK (device IS NULL OR device_purged_at IS NULL)
);

-- A payload is written once and read each night: where the server has lz4, it takes a fraction of what pglz does.
DO $$
BEGIN
    ALTER TABLE iap.receipts ALTER COLUMN payload SET COMPRESSION lz4;
EXCEPTION
    WHEN feature_not_supported THEN NULL;
END
$$;

-- The batch read: one bucket's due receipts, those of one payload beside each other.
CREATE INDEX receipts_due ON iap.receipts (bucket, payload_sha256, receipt_id)
    INCLUDE (next_attempt_at, attempts) WHERE next_attempt_at IS NOT NULL;
-- The report's lists of receipts that could not be used, or not yet.
CREATE INDEX receipts_in_trouble ON iap.receipts (bucket, receipt_id) WHERE error_code IS NOT NULL;
CREATE INDEX receipts_by_user ON iap.receipts (user_id, bundle_id);
-- What a purge looks for: the oldest of a bucket that still have what may go.
CREATE INDEX receipts_with_payload ON iap.receipts (bucket, last_attempt_at)
    WHERE next_attempt_at IS NULL AND payload_purged_at IS NULL;
CREATE INDEX receipts_with_device ON iap.receipts (bucket, last_attempt_at)
    WHERE next_attempt_at IS NULL AND device IS NOT NULL;
CREATE INDEX receipts_erased ON iap.receipts (bucket) WHERE is_erased AND payload_purged_at IS NULL;
CREATE INDEX receipts_uploaded_again ON iap.receipts (uploaded_again_at) WHERE uploaded_again_at IS NOT NULL;
CREATE INDEX receipts_without_key ON iap.receipts (bundle_id)
    WHERE error_code = 'needs_key' AND next_attempt_at IS NULL AND payload IS NOT NULL;
CREATE INDEX receipts_with_uploads_left_out ON iap.receipts (bucket, receipt_id) WHERE uploads_left_out > 0;

-- What else the same payload was uploaded for: one receipt may name several transactions and orders in turn.
CREATE TABLE iap.uploads (
    bucket            smallint NOT NULL,
    receipt_id        bigint NOT NULL,
    transaction_id    text,
    order_id          text,
    first_uploaded_at timestamptz NOT NULL DEFAULT now(),
    last_uploaded_at  timestamptz NOT NULL DEFAULT now(),
    times             integer NOT NULL DEFAULT 1 CHECK (times > 0),
    seal              bigint,
    CONSTRAINT one_upload_a_purpose UNIQUE NULLS NOT DISTINCT (bucket, receipt_id, transaction_id, order_id)
);

-- It has no primary key: where a publication is FOR ALL TABLES, PostgreSQL would refuse to count a second upload.
ALTER TABLE iap.uploads REPLICA IDENTITY FULL;

-- The support desk: what came for a transaction or an order, verified or not.
CREATE INDEX uploads_by_transaction ON iap.uploads (transaction_id) WHERE transaction_id IS NOT NULL;
CREATE INDEX uploads_by_order ON iap.uploads (order_id) WHERE order_id IS NOT NULL;

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
COMMENT ON COLUMN iap.receipts.is_erased IS
    'Whether its user was erased (iap.erase_user): its payload goes as soon as nothing is open on it.';
COMMENT ON COLUMN iap.receipts.transaction_id IS
    'What it was first uploaded for, as the client said; see also iap.uploads.';
COMMENT ON COLUMN iap.receipts.state IS
    'waiting: not verified yet; watched: holds white transactions, asked again each night; settled: nothing open; '
    'unusable: can''t be verified, see error_code.';
COMMENT ON COLUMN iap.receipts.attempts IS 'Nights in a row on which it met what error_code says.';
COMMENT ON COLUMN iap.receipts.next_attempt_at IS 'From when on the nightly job tries it; NULL if never again.';
COMMENT ON TABLE iap.uploads IS 'For what each receipt was uploaded: a row for each pair of transaction and order.';
COMMENT ON COLUMN iap.orders.seal IS 'Of the whole order: see audit.seal.';
COMMENT ON COLUMN iap.receipts.seal IS
    'Of who handed in what and when, and whether it still waits: see audit.seal.';
COMMENT ON COLUMN iap.receipts.uploads_left_out IS
    'How many uploads of it named another purpose beyond the first thousand: those are not kept.';
COMMENT ON COLUMN iap.receipts.uploaded_again_at IS
    'When it was last handed in again for another purchase or order, or a week or more after it was before; NULL if it '
    'never was.';
COMMENT ON COLUMN iap.uploads.seal IS 'Of what it was uploaded for: see audit.seal.';
