-- The log of the ledger: one row a move.

-- Every change of a place, of what finance books, or of the original purchase or period that something is of. A row is
-- added in the transaction that changes the ledger, and never changed: only an erasure puts a pseudonym in the place of
-- a user id.
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
-- So is for a week what Apple parted from another purchase.
CREATE INDEX moves_parted ON iap.moves (moved_at) WHERE details ? 'from_original';
-- What is owed again is verified again.
CREATE INDEX moves_owed_again ON iap.moves (moved_at) WHERE kind IN ('revoked', 'reopened', 'released');
CREATE INDEX moves_to_other_products ON iap.moves (moved_at)
    WHERE from_place = 'black' AND to_place = 'black' AND from_product_id <> to_product_id;
CREATE INDEX moves_to_other_quantities ON iap.moves (moved_at)
    WHERE from_place = 'black' AND to_place = 'black' AND from_units <> to_units AND from_detail <> 'import';

COMMENT ON TABLE iap.moves IS
    'The log of the ledger: each change of a place, of what finance books, or of the original purchase or period. Rows '
    'are added, and never taken away.';
COMMENT ON COLUMN iap.moves.move_id IS 'Its number in the trail.';
COMMENT ON COLUMN iap.moves.kind IS
    'claimed: by the app''s server; entitled: covered by what it granted; revoked: what it granted was taken back; '
    'resolved: by the support desk; imported; withdrawn: not owed after all; refunded, refund_reversed: by Apple; '
    'released: what excluded it is so no more, by Apple''s word or a setting that was mended; reopened: a resolve was '
    'taken back; corrected: Apple knows better.';
COMMENT ON COLUMN iap.moves.actor IS 'The person, the database login or the job that did it.';
COMMENT ON COLUMN iap.moves.from_place IS 'Where it was; in from_… what finance booked it as there.';
COMMENT ON COLUMN iap.moves.to_place IS 'Where it went; in to_… what finance books it as there.';
COMMENT ON COLUMN iap.moves.to_detail IS 'black: delivered by what; excluded: the reason.';
COMMENT ON COLUMN iap.moves.to_day IS
    'white: of the purchase; black: of the delivery; excluded: of the exclusion or the refund. In UTC.';
COMMENT ON COLUMN iap.moves.details IS
    'What else there is to say: user_id, order_id, note …, and of a refund in part the share that went back before and '
    'after: from_refund_percentage, to_refund_percentage, in thousandths of a percent; of what was taken for another '
    'original purchase, or period, that one: from_original, from_period.';
COMMENT ON COLUMN iap.moves.seal IS 'Of the whole row: see audit.seal.';
