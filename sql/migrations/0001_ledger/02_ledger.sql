-- The ledger: one row a transaction, and in place where it is.

-- The running number of all that is written down for ever: entries, moves and events, in the order in which they began.
CREATE SEQUENCE iap.trail AS bigint;

CREATE TABLE iap.transactions (
    transaction_id          text COLLATE "C" NOT NULL,
    bundle_id               text COLLATE "C" NOT NULL,
    environment             text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    place                   text NOT NULL CHECK (place IN ('white', 'black', 'excluded')),

    -- What Apple says of it; or the app's own server, until Apple does.
    original_transaction_id text COLLATE "C" NOT NULL,
    product_id              text COLLATE "C" NOT NULL,
    product_type            text
        CHECK (product_type IN ('consumable', 'non_consumable', 'auto_renewable', 'non_renewing')),
    quantity                integer NOT NULL,
    purchased_at            timestamptz NOT NULL,
    original_purchased_at   timestamptz,
    expires_at              timestamptz,
    is_trial                boolean NOT NULL,
    web_order_line_item_id  text,
    app_account_token       text,
    price_milliunits        bigint,
    currency                text CHECK (currency ~ '^[A-Z]{3}$'),
    storefront              text,
    -- The bundle id that the receipt names, where it is another app's.
    found_bundle_id         text COLLATE "C",
    refunded_at             timestamptz,
    refund_reason           text,
    -- The run that heard of the refund from Apple; NULL where the support desk said so.
    refund_run_id           bigint,
    refund_reversed_at      timestamptz,
    source                  iap.source NOT NULL,
    verified_at             timestamptz NOT NULL,

    -- What finance counts it as: fixed when it enters, and changed only when Apple tells what was not known.
    booked_milliunits       bigint,
    booked_currency         text,
    booked_as               text NOT NULL CHECK (booked_as IN ('apple', 'list', 'trial', 'shared', 'unknown')),

    -- How it entered, and for whom the app's own server admitted it, by which receipt.
    entry_id                bigint NOT NULL,
    first_seen_at           timestamptz NOT NULL,
    first_run_id            bigint,
    admitted_user_id        text,
    admitted_receipt_id     bigint,
    -- Nights on which Apple confirmed it while nobody claimed it.
    nights_confirmed        integer NOT NULL CHECK (nights_confirmed >= 0),
    last_confirmed_at       timestamptz,

    -- Black: to whom its goods went, and for which order.
    user_id                 text,
    order_id                text,
    -- claim: by the app's server; resolved: by support staff; import: before iap-reconcile was there; entitlement:
    -- granted by the app's server.
    delivered_by            text CHECK (delivered_by IN ('claim', 'resolved', 'import', 'entitlement')),
    delivered_at            timestamptz,

    -- Excluded: why it is not owed. The run is NULL where the support desk or a claim found it.
    reason                  text CHECK (reason IN (
        'sandbox', 'foreign_bundle', 'refunded', 'family_shared', 'upgraded', 'invalid_quantity', 'before_start',
        'restored', 'dismissed')),
    excluded_at             timestamptz,
    excluded_run_id         bigint,

    move_id                 bigint,
    seal                    bigint,

    -- Of the refund, what kind it is, and the share that went back; and the customer's account in the app.
    revocation_type         text,
    revocation_percentage   integer CHECK (revocation_percentage BETWEEN 0 AND 100000),
    app_transaction_id      text,
    refund_told_at          timestamptz,
    -- Also of what was delivered before Apple told.
    is_family_shared        boolean NOT NULL DEFAULT false,
    PRIMARY KEY (transaction_id, bundle_id, environment),
    CONSTRAINT ids_are_apples CHECK (
        octet_length(transaction_id) BETWEEN 1 AND 64 AND octet_length(original_transaction_id) BETWEEN 1 AND 64
        AND octet_length(product_id) BETWEEN 1 AND 255 AND octet_length(bundle_id) BETWEEN 1 AND 255
        -- Visible ASCII. A bounded repetition such as {1,64} would cost 15 µs a value.
        AND (transaction_id || original_transaction_id || product_id || bundle_id) !~ '[^!-~]'),
    CONSTRAINT quantity_is_of_a_purchase CHECK (quantity > 0 OR place = 'excluded'),
    CONSTRAINT price_has_currency CHECK ((price_milliunits IS NULL) = (currency IS NULL)),
    CONSTRAINT unknown_has_no_amount CHECK ((booked_as = 'unknown') = (booked_milliunits IS NULL)),
    CONSTRAINT confirmed_at_some_time CHECK ((nights_confirmed > 0) = (last_confirmed_at IS NOT NULL)),
    CONSTRAINT owed_is_not_refunded CHECK (place <> 'white' OR refunded_at IS NULL),
    CONSTRAINT refund_reason_has_refund CHECK (refund_reason IS NULL OR refunded_at IS NOT NULL),
    CONSTRAINT revocation_has_refund CHECK (
        refunded_at IS NOT NULL
        OR (revocation_type IS NULL AND revocation_percentage IS NULL AND refund_told_at IS NULL)),
    CONSTRAINT black_is_delivered CHECK (
        (place = 'black') = (delivered_at IS NOT NULL) AND (place = 'black') = (delivered_by IS NOT NULL)),
    CONSTRAINT delivered_to_somebody CHECK (place = 'black' OR (user_id IS NULL AND order_id IS NULL)),
    CONSTRAINT claim_has_user CHECK (delivered_by <> 'claim' OR user_id IS NOT NULL),
    CONSTRAINT excluded_has_reason CHECK (
        (place = 'excluded') = (reason IS NOT NULL) AND (place = 'excluded') = (excluded_at IS NOT NULL)),
    CONSTRAINT refunded_has_time CHECK (reason <> 'refunded' OR refunded_at IS NOT NULL),
    CONSTRAINT foreign_bundle_is_named CHECK (reason <> 'foreign_bundle' OR found_bundle_id IS NOT NULL),
    CONSTRAINT run_or_person CHECK (
        place <> 'excluded' OR excluded_run_id IS NOT NULL OR reason IN ('dismissed', 'refunded', 'restored'))
);

CREATE INDEX transactions_by_entry ON iap.transactions (entry_id);
-- Of the original itself the primary key tells: see iap.is_of_original.
CREATE INDEX transactions_by_original ON iap.transactions (original_transaction_id)
    WHERE original_transaction_id <> transaction_id;
CREATE INDEX transactions_white ON iap.transactions (bundle_id, purchased_at) WHERE place = 'white';
-- What may be owed under another id, too, is looked for each night: see iap.white_bought_once.
CREATE INDEX transactions_white_restorable ON iap.transactions (product_type, bundle_id, product_id)
    WHERE place = 'white' AND (
        product_type = 'non_consumable' OR product_type IS NULL
        -- Or as the list says by now: see iap.type_by.
        OR (product_type IN ('consumable', 'non_renewing') AND source IN ('app_server', 'verify_receipt')));
CREATE INDEX transactions_white_periods ON iap.transactions (original_transaction_id, web_order_line_item_id)
    WHERE place = 'white' AND web_order_line_item_id IS NOT NULL;
-- By words that no other index answers to: see transactions_white_by_admission.
CREATE INDEX transactions_ended_periods ON iap.transactions (original_transaction_id, web_order_line_item_id)
    WHERE starts_with(place, 'excluded') AND (refunded_at IS NOT NULL OR reason = 'dismissed')
        AND web_order_line_item_id IS NOT NULL;
CREATE INDEX transactions_by_order ON iap.transactions (order_id, bundle_id) WHERE order_id IS NOT NULL;
CREATE INDEX transactions_by_user ON iap.transactions (user_id, bundle_id) WHERE user_id IS NOT NULL;
CREATE INDEX transactions_by_delivery ON iap.transactions (delivered_at) WHERE place = 'black';
-- Of what was delivered under another id: see iap.carry_refunds.
CREATE INDEX transactions_restored_refunded ON iap.transactions (original_transaction_id)
    WHERE reason IN ('restored', 'dismissed') AND refunded_at IS NOT NULL;
-- What is refunded, and may be another id's as the list of products says by now: see iap.count_refunds_once.
CREATE INDEX transactions_refunded_restorable ON iap.transactions (bundle_id, product_id)
    WHERE reason = 'refunded' AND (
        product_type IS NULL
        OR (product_type IN ('consumable', 'non_renewing') AND source IN ('app_server', 'verify_receipt')));
CREATE INDEX transactions_by_reason ON iap.transactions (reason, excluded_at) WHERE place = 'excluded';
-- What a setting alone excluded: looked for each night by what the settings let through by now, which is nothing.
CREATE INDEX transactions_excluded_by_setting ON iap.transactions (bundle_id, environment, purchased_at)
    WHERE reason IN ('sandbox', 'before_start') AND (refunded_at IS NULL OR reason = 'sandbox');
-- What is open for a user, by who names them. Where white was empty at the last ANALYZE, the planner takes the index of
-- all of an app's white for free, and reads it: these two say otherwise what is white, so that nothing but them answers
-- to it.
CREATE INDEX transactions_white_by_admission ON iap.transactions (admitted_user_id, bundle_id)
    WHERE starts_with(place, 'white') AND admitted_user_id IS NOT NULL;
CREATE INDEX transactions_white_by_token ON iap.transactions (app_account_token, bundle_id)
    WHERE starts_with(place, 'white') AND app_account_token IS NOT NULL;
-- And what they had admitted under another id than the one by which it is owed: see iap.open_for.
CREATE INDEX transactions_restored_by_admission ON iap.transactions (admitted_user_id, bundle_id)
    WHERE reason = 'restored' AND admitted_user_id IS NOT NULL;
-- Whose order was paid, though nothing was delivered for it, or to somebody else: see iap.unpaid_orders.
CREATE INDEX transactions_not_owed_by_token ON iap.transactions (app_account_token, bundle_id)
    WHERE (reason IN ('dismissed', 'refunded') OR delivered_by IS NOT NULL) AND app_account_token IS NOT NULL;
-- Purchases of one account speak for one customer.
CREATE INDEX transactions_by_account ON iap.transactions (app_transaction_id) WHERE app_transaction_id IS NOT NULL;
-- Delivered, and Apple never said that it was paid: next to nothing, where receipts are uploaded.
CREATE INDEX transactions_unproved ON iap.transactions (bundle_id, environment, delivered_at)
    WHERE place = 'black' AND source = 'app_server' AND delivered_by = 'claim';
-- What testers bought, and got: few beside what was paid.
CREATE INDEX transactions_of_testers ON iap.transactions (bundle_id, delivered_at)
    WHERE place = 'black' AND delivered_by = 'claim' AND environment = 'Sandbox';
CREATE INDEX transactions_of_other_apps ON iap.transactions (delivered_at)
    WHERE place = 'black' AND found_bundle_id IS NOT NULL;
CREATE INDEX transactions_refunded_first ON iap.transactions (delivered_at)
    WHERE place = 'black' AND refunded_at < delivered_at;

CREATE VIEW iap.white AS
SELECT
    transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity, purchased_at,
    original_purchased_at, expires_at, is_trial, web_order_line_item_id, app_account_token, price_milliunits, currency,
    storefront, booked_milliunits, booked_currency, booked_as, source, verified_at, admitted_user_id,
    admitted_receipt_id, first_seen_at, first_run_id, nights_confirmed, last_confirmed_at, seal
FROM iap.transactions
WHERE place = 'white';

CREATE VIEW iap.black AS
SELECT
    transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity, purchased_at,
    price_milliunits, currency, storefront, booked_milliunits, booked_currency, booked_as, source, first_seen_at,
    first_run_id, user_id, order_id, delivered_by, delivered_at, refunded_at, refund_reason, refund_run_id, seal
FROM iap.transactions
WHERE place = 'black';

CREATE VIEW iap.excluded AS
SELECT
    transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity, purchased_at,
    price_milliunits, currency, storefront, booked_milliunits, booked_currency, booked_as, source, verified_at, reason,
    CASE reason WHEN 'foreign_bundle' THEN found_bundle_id END AS found_bundle_id, refunded_at, refund_reason,
    excluded_at, excluded_run_id AS run_id, seal
FROM iap.transactions
WHERE place = 'excluded';

-- What psql's \d+ says of it all.

COMMENT ON SEQUENCE iap.trail IS 'The running number of entries, moves and events.';
COMMENT ON TABLE iap.transactions IS
    'The ledger: one row for each transaction, and in place where it is: white, black or excluded.';
COMMENT ON COLUMN iap.transactions.place IS
    'white: owed; black: delivered; excluded: not owed. Changed by the functions of the schema alone.';
COMMENT ON COLUMN iap.transactions.original_transaction_id IS
    'The first transaction of a subscription, or of a non-consumable that was restored; else the transaction itself.';
COMMENT ON COLUMN iap.transactions.source IS 'Who vouches for what is said of it: the best so far.';
COMMENT ON COLUMN iap.transactions.booked_milliunits IS
    'What finance counts it as: the price that Apple told, else the list price when it entered.';
COMMENT ON COLUMN iap.transactions.booked_as IS
    'apple: as paid; list: the list price times the quantity; trial: free; shared: nothing, for another paid; unknown: '
    'no price is known.';
COMMENT ON COLUMN iap.transactions.entry_id IS 'Its number in the trail.';
COMMENT ON COLUMN iap.transactions.first_run_id IS
    'The run that brought it in; NULL where the app''s own server admitted it, or an import took it over.';
COMMENT ON COLUMN iap.transactions.admitted_user_id IS 'The user for whom the app''s own server admitted it.';
COMMENT ON COLUMN iap.transactions.refunded_at IS 'When Apple refunded it; of black, after the delivery.';
COMMENT ON COLUMN iap.transactions.refund_reversed_at IS 'When Apple took its latest refund back; NULL if it did not.';
COMMENT ON COLUMN iap.transactions.move_id IS 'Its latest move, of iap.moves; NULL where it is as it entered.';
COMMENT ON COLUMN iap.transactions.seal IS 'Of all that decides about money and ownership: see audit.seal.';
COMMENT ON COLUMN iap.transactions.revocation_type IS
    'Apple''s word on what kind of refund it is: REFUND_FULL, REFUND_PRORATED, FAMILY_REVOKE; NULL where it says none.';
COMMENT ON COLUMN iap.transactions.revocation_percentage IS
    'The share that went back, in thousandths of a percent; NULL where Apple tells of none: then all of it did.';
COMMENT ON COLUMN iap.transactions.app_transaction_id IS
    'Apple''s word for the customer''s account in this app: one history has been seen with two, so it is no proof.';
COMMENT ON COLUMN iap.transactions.refund_told_at IS
    'When what told of the refund was made, a receipt or an answer: what is older takes none back. NULL where a person '
    'said so.';
COMMENT ON COLUMN iap.transactions.is_family_shared IS
    'Whether Apple says that the customer has it by Family Sharing, or by a seat of a group or an organization: '
    'another paid, and that purchase is another row.';
COMMENT ON VIEW iap.white IS
    'The white table: transactions that Apple says are paid, and nobody has claimed yet. A view of iap.transactions.';
COMMENT ON VIEW iap.black IS
    'The black table: transactions whose goods were delivered, for ever. A view of iap.transactions.';
COMMENT ON VIEW iap.excluded IS 'Verified, but not owed, with the reason. A view of iap.transactions.';
COMMENT ON COLUMN iap.white.booked_milliunits IS
    'What finance counts it as: the price that Apple told, else the list price when it entered.';
COMMENT ON COLUMN iap.white.admitted_user_id IS 'The user for whom the app''s own server admitted it.';
COMMENT ON COLUMN iap.white.nights_confirmed IS 'Nights on which Apple confirmed it while nobody claimed it.';
COMMENT ON COLUMN iap.black.refunded_at IS 'When Apple refunded it after the delivery.';
COMMENT ON COLUMN iap.excluded.found_bundle_id IS
    'The app that the receipt names, where it is another than it came for.';
