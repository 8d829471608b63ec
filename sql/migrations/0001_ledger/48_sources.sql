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
    -- By which the row is kept: the id that it names, or where it stands.
    row_id     text COLLATE "C" NOT NULL,
    -- The id of a transaction, an original transaction, an order or a product that it names; NULL where that could not
    -- be read.
    named_id   text COLLATE "C",
    -- Where it could not, and the row tells of a delivery, its numbers: one of them may be that id.
    numbers    text[] COLLATE "C" NOT NULL DEFAULT '{}',
    reason     text NOT NULL,
    what       text NOT NULL,
    refused_at timestamptz NOT NULL,
    PRIMARY KEY (source, row_id)
);

COMMENT ON TABLE iap.sources IS 'What the night pulls from a company''s own database or files, and how far.';
COMMENT ON TABLE iap.source_files IS 'The files of a source that were taken; one that changed is taken again.';
COMMENT ON TABLE iap.refused_rows IS
    'Rows of a source that could not be taken, and why; a row goes once it was taken after all.';
