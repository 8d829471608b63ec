-- Apple's daily sales reports come by themselves: which of them the night fetched, of each vendor.

CREATE TABLE iap.sales_fetches (
    vendor_number text COLLATE "C" NOT NULL CHECK (vendor_number ~ '^[0-9]{1,20}$'),
    -- Of Pacific Time.
    day           date NOT NULL,
    tried_at      timestamptz NOT NULL,
    -- NULL while Apple has none, or where it could not be read.
    fetched_at    timestamptz,
    lines         bigint NOT NULL DEFAULT 0 CHECK (lines >= 0),
    refused       bigint NOT NULL DEFAULT 0 CHECK (refused BETWEEN 0 AND lines),
    problem       text,
    PRIMARY KEY (vendor_number, day),
    CHECK (fetched_at IS NULL OR problem IS NULL)
);
COMMENT ON TABLE iap.sales_fetches IS
    'What fetching Apple''s sales report of a day came to. A day without a report is asked for each night, for thirty '
    'days.';
