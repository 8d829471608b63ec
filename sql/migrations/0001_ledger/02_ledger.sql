-- The ledger: one row a transaction, and the log of its moves.

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
    booked_as               text NOT NULL CHECK (booked_as IN ('apple', 'list', 'trial', 'unknown')),

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
    -- claim: by the app's server; resolved: by support staff; import: before iap-reconcile was there; entitlement: granted
    -- by the app's server.
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
        refunded_at IS NOT NULL OR (revocation_type IS NULL AND revocation_percentage IS NULL)),
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
-- What may be owed under another id, too, is looked for each night: see iap.withdraw_all_restored.
CREATE INDEX transactions_white_restorable ON iap.transactions (product_type, bundle_id, product_id)
    WHERE place = 'white' AND coalesce(product_type, 'non_consumable') = 'non_consumable';
CREATE INDEX transactions_white_periods ON iap.transactions (original_transaction_id, web_order_line_item_id)
    WHERE place = 'white' AND web_order_line_item_id IS NOT NULL;
-- By words that no other index answers to: see transactions_white_by_admission.
CREATE INDEX transactions_refunded_periods ON iap.transactions (original_transaction_id, web_order_line_item_id)
    WHERE starts_with(place, 'excluded') AND refunded_at IS NOT NULL AND web_order_line_item_id IS NOT NULL;
CREATE INDEX transactions_by_order ON iap.transactions (order_id, bundle_id) WHERE order_id IS NOT NULL;
CREATE INDEX transactions_by_user ON iap.transactions (user_id, bundle_id) WHERE user_id IS NOT NULL;
CREATE INDEX transactions_by_delivery ON iap.transactions (delivered_at) WHERE place = 'black';
-- Of what was delivered under another id: see iap.carry_refunds.
CREATE INDEX transactions_restored_refunded ON iap.transactions (original_transaction_id)
    WHERE reason IN ('restored', 'dismissed') AND refunded_at IS NOT NULL;
CREATE INDEX transactions_by_reason ON iap.transactions (reason, excluded_at) WHERE place = 'excluded';
-- What a setting alone excluded: looked for each night by what the settings let through by now, which is nothing.
CREATE INDEX transactions_excluded_by_setting ON iap.transactions (bundle_id, environment, purchased_at)
    WHERE reason IN ('sandbox', 'before_start') AND refunded_at IS NULL;
-- What is open for a user, by who names them. Where white was empty at the last ANALYZE, the planner takes the index of all
-- of an app's white for free, and reads it: these two say otherwise what is white, so that nothing but them answers to it.
CREATE INDEX transactions_white_by_admission ON iap.transactions (admitted_user_id, bundle_id)
    WHERE starts_with(place, 'white') AND admitted_user_id IS NOT NULL;
CREATE INDEX transactions_white_by_token ON iap.transactions (app_account_token, bundle_id)
    WHERE starts_with(place, 'white') AND app_account_token IS NOT NULL;
-- Purchases of one account speak for one customer.
CREATE INDEX transactions_by_account ON iap.transactions (app_transaction_id) WHERE app_transaction_id IS NOT NULL;
-- Delivered, and Apple never said that it was paid: next to nothing, where receipts are uploaded.
CREATE INDEX transactions_unproved ON iap.transactions (bundle_id, environment, delivered_at)
    WHERE place = 'black' AND source = 'app_server' AND delivered_by = 'claim';
CREATE INDEX transactions_of_other_apps ON iap.transactions (delivered_at)
    WHERE place = 'black' AND found_bundle_id IS NOT NULL;
CREATE INDEX transactions_refunded_first ON iap.transactions (delivered_at)
    WHERE place = 'black' AND refunded_at < delivered_at;
CREATE INDEX transactions_by_first_seen ON iap.transactions USING brin (first_seen_at);

-- Every change of a place, or of what finance books. A row is added in the transaction that changes the ledger, and
-- never changed: only an erasure puts a pseudonym in the place of a user id.
CREATE TABLE iap.moves (
    move_id         bigint NOT NULL,
    transaction_id  text COLLATE "C" NOT NULL,
    bundle_id       text COLLATE "C" NOT NULL,
    environment     text NOT NULL,
    kind            text NOT NULL CHECK (kind IN (
        'claimed', 'resolved', 'imported', 'withdrawn', 'refunded', 'refund_reversed', 'released', 'reopened',
        'corrected', 'entitled', 'revoked')),
    actor           text NOT NULL,
    run_id          bigint,
    moved_at        timestamptz NOT NULL,
    from_place      text NOT NULL,
    to_place        text NOT NULL,
    -- What finance books, before and after: the account's detail and day, and of a delivery the day of its refund.
    from_detail     text,
    to_detail       text,
    from_day        date NOT NULL,
    to_day          date NOT NULL,
    from_refund_day date,
    to_refund_day   date,
    from_product_id text COLLATE "C" NOT NULL,
    to_product_id   text COLLATE "C" NOT NULL,
    from_units      integer NOT NULL,
    to_units        integer NOT NULL,
    from_milliunits bigint,
    to_milliunits   bigint,
    from_currency   text,
    to_currency     text,
    from_booked_as  text NOT NULL,
    to_booked_as    text NOT NULL,
    details         jsonb NOT NULL,
    seal            bigint,
    PRIMARY KEY (transaction_id, move_id)
);

CREATE INDEX moves_by_number ON iap.moves (move_id);
-- What was withdrawn for a refund is looked at each night, for that may be reversed: see iap.release_restored.
CREATE INDEX moves_for_refunds ON iap.moves (transaction_id) WHERE details ? 'refunded_as';
CREATE INDEX moves_to_other_products ON iap.moves (moved_at)
    WHERE from_place = 'black' AND to_place = 'black' AND from_product_id <> to_product_id;
CREATE INDEX moves_to_other_quantities ON iap.moves (moved_at)
    WHERE from_place = 'black' AND to_place = 'black' AND from_units <> to_units AND from_detail <> 'import';

-- A non-consumable that was bought once is delivered once, and so is each period of a subscription, under whatever id it
-- is restored: the first to deliver takes this row, whatever the isolation level.
CREATE TABLE iap.delivered_originals (
    original_transaction_id text COLLATE "C" NOT NULL,
    bundle_id               text COLLATE "C" NOT NULL,
    environment             text NOT NULL,
    transaction_id          text COLLATE "C" NOT NULL,
    -- Of a subscription the period; empty for what is bought once.
    web_order_line_item_id  text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (original_transaction_id, bundle_id, environment, web_order_line_item_id)
);

-- An order is delivered once: the first delivery that names it takes this row, whatever the isolation level. The renewals
-- of a subscription may all name the order by which it was bought.
CREATE TABLE iap.delivered_orders (
    order_id                text NOT NULL,
    bundle_id               text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (order_id, bundle_id)
);
COMMENT ON TABLE iap.delivered_orders IS 'The orders that were delivered, and the original purchase of each.';

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

CREATE TABLE iap.sightings (
    transaction_id text COLLATE "C" NOT NULL,
    bundle_id      text COLLATE "C" NOT NULL,
    environment    text NOT NULL,
    bucket         smallint NOT NULL,
    receipt_id     bigint NOT NULL,
    user_id        text,
    order_id       text,
    is_named       boolean NOT NULL,
    in_receipt     boolean NOT NULL DEFAULT true,
    uploaded_at    timestamptz NOT NULL,
    first_run_id   bigint,
    seal           bigint,
    PRIMARY KEY (transaction_id, bundle_id, environment, bucket, receipt_id)
);

-- Who presented what lately, for the report's list of suspicious transactions.
CREATE INDEX sightings_by_receipt ON iap.sightings (receipt_id, bucket);
CREATE INDEX sightings_by_upload ON iap.sightings USING brin (uploaded_at);

CREATE TABLE iap.claims (
    claim_id       bigint GENERATED ALWAYS AS IDENTITY,
    transaction_id text COLLATE "C" NOT NULL,
    bundle_id      text COLLATE "C" NOT NULL,
    user_id        text NOT NULL,
    order_id       text,
    outcome        text NOT NULL
        CHECK (outcome IN (
            'delivered', 'already_delivered', 'not_verified', 'wrong_user', 'order_used', 'excluded', 'undecided')),
    attempted_at   timestamptz NOT NULL DEFAULT now(),
    seal           bigint,
    PRIMARY KEY (transaction_id, claim_id)
);

-- Of any number of claims of an id of an app one gets the goods, whatever its environment and the isolation level.
CREATE UNIQUE INDEX claims_delivered ON iap.claims (transaction_id, bundle_id) WHERE outcome = 'delivered';
CREATE INDEX claims_by_order ON iap.claims (order_id) WHERE order_id IS NOT NULL;
-- Which of them are suspicious is looked at each night.
CREATE INDEX claims_of_wrong_users ON iap.claims (attempted_at) WHERE outcome = 'wrong_user';

CREATE TABLE iap.cases (
    transaction_id text COLLATE "C" NOT NULL,
    bundle_id      text COLLATE "C" NOT NULL,
    environment    text NOT NULL,
    state          text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed')),
    likelihood     text NOT NULL CHECK (likelihood IN ('high', 'medium', 'low')),
    reasons        text[] NOT NULL CHECK (cardinality(reasons) > 0),
    action         text NOT NULL,
    owner_user_ids text[] NOT NULL,
    -- Everyone whom anything speaks for, and what: [{"userID": …, "evidence": […]}], the likeliest first.
    candidates     jsonb NOT NULL DEFAULT '[]',
    -- The app's own orders that it may pay for, the likeliest first; one is matched.
    order_ids      text[] NOT NULL DEFAULT '{}',
    opened_at      timestamptz NOT NULL,
    opened_run_id  bigint NOT NULL,
    -- The run whose judgement stands here, and the last one that opened it again: 0 where the support desk opened it
    -- again, until the next run judges it.
    assessed_at     timestamptz NOT NULL,
    assessed_run_id bigint NOT NULL,
    reopened_run_id bigint,
    closed_at      timestamptz,
    closed_as      text CHECK (closed_as IN ('delivered', 'dismissed', 'refunded', 'withdrawn')),
    closed_by      text,
    note           text,
    -- The run that told of its opening, or of its closing; NULL until one does.
    told_run_id    bigint,
    -- Of a subscription, the periods that it tells of.
    periods        text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (transaction_id, bundle_id, environment),
    CONSTRAINT closed_when_and_how CHECK (
        (state = 'closed') = (closed_at IS NOT NULL)
        AND (closed_at IS NULL) = (closed_as IS NULL)
        AND (closed_as IS NULL) = (closed_by IS NULL)),
    CONSTRAINT only_closed_has_note CHECK (note IS NULL OR state = 'closed')
);

CREATE INDEX cases_told ON iap.cases (told_run_id);
CREATE INDEX cases_open ON iap.cases (likelihood, opened_at) WHERE state = 'open';
-- The support desk: whose cases, and which orders' cases. Without a list of pending entries, which would be searched
-- from end to end.
CREATE INDEX cases_by_owner ON iap.cases USING gin (owner_user_ids) WITH (fastupdate = off) WHERE state = 'open';
CREATE INDEX cases_by_order ON iap.cases USING gin (order_ids) WITH (fastupdate = off) WHERE state = 'open';
CREATE INDEX cases_by_period ON iap.cases USING gin (periods) WITH (fastupdate = off)
    WHERE state = 'open' AND periods <> '{}';

CREATE TABLE iap.runs (
    run_id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    as_of               timestamptz NOT NULL,
    started_at          timestamptz NOT NULL,
    finished_at         timestamptz,
    host                text NOT NULL,
    process_id          integer NOT NULL,
    program_version     text NOT NULL,
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
    closing_number      bigint UNIQUE,
    closed_through      date,
    cases               jsonb,
    stages              jsonb,
    -- What else its report said and no other row does.
    told                jsonb,
    CONSTRAINT finished_when_it_says_so CHECK ((state = 'running') = (finished_at IS NULL)),
    CONSTRAINT exit_code_of_finished CHECK (state IN ('running', 'abandoned') OR exit_code IS NOT NULL),
    CONSTRAINT complete_is_success CHECK (state <> 'complete' OR exit_code = 0),
    CONSTRAINT reason_when_not_complete CHECK (state IN ('running', 'complete') OR reason IS NOT NULL),
    CONSTRAINT books_are_whole CHECK (
        num_nulls(opening_white, new, claimed, resolved, refunded, closing_white, closing_number) IN (0, 7)),
    CONSTRAINT complete_has_books CHECK (state <> 'complete' OR closing_number IS NOT NULL)
);

-- Whatever the job locks by number it locks in this space, drawn for each database and told to nobody else: so no other
-- role is in its way by accident. Whoever may log in can read it from pg_locks while a run is up.
CREATE TABLE iap.lock_space (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    space   integer NOT NULL
);

INSERT INTO iap.lock_space (space)
SELECT ('x' || left(replace(gen_random_uuid()::text, '-', ''), 8))::bit(32)::integer;
COMMENT ON TABLE iap.lock_space IS 'The first half of the job''s advisory locks: one row.';

-- A replay takes any moment for the present, and with it closes books and purges: only in a database that was made for
-- that.
CREATE TABLE iap.rehearsal (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    made_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE iap.rehearsal IS
    'One row where the database was made for replays, by iap-reconcile migrate --rehearsal: no customer''s purchase '
    'belongs there. Empty everywhere else.';

-- The audit trail of all that is not a purchase's place: runs, what became of cases, imports, purges, erasures. Rows
-- are added, and never changed: only an erasure puts a pseudonym in the place of a user id.
CREATE TABLE iap.events (
    event_id       bigint PRIMARY KEY DEFAULT nextval('iap.trail'),
    happened_at    timestamptz NOT NULL DEFAULT now(),
    kind           text NOT NULL,
    actor          text NOT NULL,
    run_id         bigint,
    transaction_id text COLLATE "C",
    bundle_id      text COLLATE "C",
    environment    text,
    details        jsonb NOT NULL DEFAULT '{}',
    seal           bigint
);

CREATE INDEX events_by_transaction ON iap.events (transaction_id) WHERE transaction_id IS NOT NULL;
CREATE INDEX events_by_run ON iap.events (run_id) WHERE run_id IS NOT NULL;
-- Of the events of a hundred thousand cases, few are comments of the support desk: a page of the report looks for them.
CREATE INDEX events_of_the_desk ON iap.events (transaction_id) WHERE kind IN ('noted', 'adopted');

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
    'apple: as paid; list: the list price times the quantity; trial: free; unknown: no price is known.';
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
COMMENT ON TABLE iap.moves IS
    'The log of the ledger: each change of a place or of what finance books. Rows are added, and never taken away.';
COMMENT ON COLUMN iap.moves.move_id IS 'Its number in the trail.';
COMMENT ON COLUMN iap.moves.kind IS
    'claimed: by the app''s server; entitled: covered by what it granted; revoked: what it granted was taken back; '
    'resolved: by the support desk; imported; withdrawn: not owed after all; refunded, refund_reversed: by Apple; '
    'released: a setting was mended; reopened: a resolve was taken back; corrected: Apple knows better.';
COMMENT ON COLUMN iap.moves.actor IS 'The person, the database login or the job that did it.';
COMMENT ON COLUMN iap.moves.from_place IS 'Where it was; in from_… what finance booked it as there.';
COMMENT ON COLUMN iap.moves.to_place IS 'Where it went; in to_… what finance books it as there.';
COMMENT ON COLUMN iap.moves.to_detail IS 'black: delivered by what; excluded: the reason.';
COMMENT ON COLUMN iap.moves.to_day IS
    'white: of the purchase; black: of the delivery; excluded: of the exclusion or the refund. In UTC.';
COMMENT ON COLUMN iap.moves.details IS
    'What else there is to say: user_id, order_id, note …, and of a refund in part the share that went back before and '
    'after: from_refund_percentage, to_refund_percentage, in thousandths of a percent.';
COMMENT ON COLUMN iap.moves.seal IS 'Of the whole row: see audit.seal.';
COMMENT ON TABLE iap.delivered_originals IS
    'The original purchases of non-consumables that were delivered, and under which transaction id.';
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
COMMENT ON TABLE iap.sightings IS 'In which receipts each transaction was seen, and who handed them in.';
COMMENT ON COLUMN iap.sightings.is_named IS
    'Whether the receipt was uploaded for this very transaction; false when it only rode along.';
COMMENT ON COLUMN iap.sightings.in_receipt IS
    'Whether the receipt holds it; else Apple told it of the customer who is known by the receipt.';
COMMENT ON COLUMN iap.sightings.seal IS 'Of who handed it in, and whether for this: see audit.seal.';
COMMENT ON TABLE iap.claims IS 'Every attempt to claim whose transaction was committed, and its outcome.';
COMMENT ON COLUMN iap.claims.seal IS 'Of the whole attempt: see audit.seal.';
COMMENT ON TABLE iap.cases IS 'White transactions past their grace: likely lost orders, as the last run judged them.';
COMMENT ON COLUMN iap.cases.owner_user_ids IS 'The likeliest first; one is the owner, none is unknown.';
COMMENT ON COLUMN iap.cases.closed_by IS 'claim:USER, run N, import, or the person who resolved it.';
COMMENT ON COLUMN iap.cases.periods IS
    'The paid periods of a subscription without access that the case tells of; empty where it is of one purchase.';
COMMENT ON TABLE iap.runs IS 'Every run of the job, with its control totals: transactions, units and hash total.';
COMMENT ON COLUMN iap.runs.as_of IS 'The moment that the run took for the present.';
COMMENT ON COLUMN iap.runs.closed_through IS 'The last day (UTC) that is closed for good for finance.';
COMMENT ON COLUMN iap.runs.state IS 'abandoned: killed, as a later run found.';
COMMENT ON COLUMN iap.runs.closing_number IS
    'The order of the runs whose books are closed; each opens with the one before.';
COMMENT ON TABLE iap.events IS 'The audit trail beside iap.moves: rows are added, and never changed or taken away.';
COMMENT ON COLUMN iap.events.actor IS 'The person, the database login or the job that did it.';
COMMENT ON COLUMN iap.events.seal IS 'Of the whole row: see audit.seal.';
