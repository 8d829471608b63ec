-- Beside the ledger: where purchases were seen, attempts to claim them, cases, runs, and the audit trail.

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
    -- Everyone whom anything speaks for, and what: [{"user_id": …, "evidence": […]}], the likeliest first.
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
-- Where nobody is certain enough to be named, who is to be asked.
CREATE INDEX cases_by_candidate ON iap.cases USING gin (candidates jsonb_path_ops) WITH (fastupdate = off)
    WHERE state = 'open' AND owner_user_ids = '{}' AND candidates <> '[]';
CREATE INDEX cases_by_order ON iap.cases USING gin (order_ids) WITH (fastupdate = off) WHERE state = 'open';
-- And, of closed ones too, which was matched best with an order: see iap.transactions_of_order.
CREATE INDEX cases_by_best_order ON iap.cases ((order_ids[1])) WHERE order_ids[1] IS NOT NULL;
CREATE INDEX cases_by_period ON iap.cases USING gin (periods) WITH (fastupdate = off)
    WHERE periods <> '{}';

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

CREATE FUNCTION iap.night_lock() RETURNS integer
LANGUAGE sql IMMUTABLE AS $$ SELECT 1000 $$;
COMMENT ON FUNCTION iap.night_lock IS
    'The second half of the lock that a night holds, which the job calls LedgerLock.night: beyond the buckets'' '
    'numbers.';

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

COMMENT ON TABLE iap.sightings IS 'In which receipts each transaction was seen, and who handed them in.';
COMMENT ON COLUMN iap.sightings.is_named IS
    'Whether the receipt was uploaded for this very transaction; false when it only rode along.';
COMMENT ON COLUMN iap.sightings.in_receipt IS
    'Whether the receipt holds it; else Apple told it of the customer who is known by the receipt.';
COMMENT ON COLUMN iap.sightings.seal IS 'Of who handed it in, and whether for this: see audit.seal.';
COMMENT ON TABLE iap.claims IS 'Every attempt to claim whose transaction was committed, and its outcome.';
COMMENT ON COLUMN iap.claims.seal IS 'Of the whole attempt: see audit.seal.';
COMMENT ON TABLE iap.cases IS 'White transactions past their grace: likely lost orders, as the last run judged them.';
COMMENT ON COLUMN iap.cases.action IS
    'What to do about it. Nobody should deliver it by hand while an open row of iap.redeliveries leaves that to the '
    'app''s server.';
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
