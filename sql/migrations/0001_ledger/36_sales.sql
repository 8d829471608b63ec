-- What Apple's Sales and Trends reports say was sold.

CREATE TABLE iap.sales_reports (
    report_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    day         date NOT NULL,
    -- Reports of several accounts don't replace each other.
    developer   text NOT NULL CHECK (octet_length(developer) <= 1000),
    bundle_ids  text[] COLLATE "C" NOT NULL,
    file        text NOT NULL,
    lines       bigint NOT NULL CHECK (lines >= 0),
    refused     bigint NOT NULL CHECK (refused >= 0),
    read_at     timestamptz NOT NULL DEFAULT now(),
    read_by     text NOT NULL DEFAULT session_user,
    replaced_at timestamptz
);

-- One report of a day counts; those that it replaced stay to be seen.
CREATE UNIQUE INDEX sales_reports_in_force ON iap.sales_reports (day, developer) WHERE replaced_at IS NULL;

CREATE TABLE iap.sales (
    report_id           bigint NOT NULL,
    app_sku             text NOT NULL CHECK (octet_length(app_sku) <= 1000),
    -- NULL while nobody says whose that SKU is.
    bundle_id           text COLLATE "C",
    product_id          text COLLATE "C" NOT NULL,
    type                text NOT NULL,
    storefront          text NOT NULL CHECK (storefront ~ '^[A-Z]{3}$'),
    -- Of one unit, without the sign that refunds have.
    price_milliunits    bigint CHECK (price_milliunits >= 0),
    currency            text CHECK (currency ~ '^[A-Z]{3}$'),
    proceeds_milliunits bigint CHECK (proceeds_milliunits >= 0),
    proceeds_currency   text CHECK (proceeds_currency ~ '^[A-Z]{3}$'),
    units               bigint NOT NULL,
    is_refund           boolean NOT NULL GENERATED ALWAYS AS (units < 0) STORED,
    CONSTRAINT one_row_a_price UNIQUE NULLS NOT DISTINCT (
        report_id, app_sku, bundle_id, product_id, type, storefront, price_milliunits, currency, proceeds_milliunits,
        proceeds_currency, is_refund),
    -- What costs nothing may have none.
    CONSTRAINT price_has_currency CHECK (
        CASE WHEN price_milliunits IS NULL THEN currency IS NULL ELSE price_milliunits = 0 OR currency IS NOT NULL END),
    CONSTRAINT proceeds_have_currency CHECK ((proceeds_milliunits IS NULL) = (proceeds_currency IS NULL))
);

-- Whose an SKU is, and of which reports that was not known when they were read: see finance.compared_days.
CREATE INDEX sales_by_app ON iap.sales (app_sku, bundle_id);

COMMENT ON TABLE iap.sales_reports IS
    'The Sales and Trends reports of Apple''s that were read, one for each day and account, and those they replaced.';
COMMENT ON COLUMN iap.sales_reports.day IS 'A day of Pacific Time.';
COMMENT ON COLUMN iap.sales_reports.developer IS 'The account, as the report calls it; empty where it does not say.';
COMMENT ON COLUMN iap.sales_reports.bundle_ids IS 'The apps that it tells of.';
COMMENT ON COLUMN iap.sales_reports.lines IS 'Lines of in-app purchases of apps that were known.';
COMMENT ON COLUMN iap.sales_reports.refused IS 'Lines of the file that were refused: something of the day is missing.';
COMMENT ON COLUMN iap.sales_reports.read_by IS 'The database login that read it.';
COMMENT ON COLUMN iap.sales_reports.replaced_at IS 'When a later report of the day took its place; NULL if it counts.';
COMMENT ON TABLE iap.sales IS
    'Units of in-app purchases by day, product, country and price, as Apple''s reports tell them.';
COMMENT ON COLUMN iap.sales.app_sku IS 'The app''s SKU, as the report calls it; empty where it does not say.';
COMMENT ON COLUMN iap.sales.bundle_id IS 'The app; NULL where it was not known, so that the line counts nowhere.';
COMMENT ON COLUMN iap.sales.type IS 'Apple''s Product Type Identifier, such as IA1 or IAY.';
COMMENT ON COLUMN iap.sales.storefront IS 'The country by its code of three letters, as transactions have it.';
COMMENT ON COLUMN iap.sales.price_milliunits IS 'What the customer paid for one unit; NULL if the report does not say.';
COMMENT ON COLUMN iap.sales.proceeds_milliunits IS 'The developer''s part of one unit.';
COMMENT ON COLUMN iap.sales.units IS 'Negative for refunds.';

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
