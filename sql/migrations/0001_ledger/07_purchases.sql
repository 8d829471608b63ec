-- What is said of a purchase, and what finance books of it.

-- Time ---------------------------------------------------------------------------------------------------------------

-- In PL/pgSQL, which keeps its plan from call to call.
CREATE FUNCTION iap.present() RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    set_to text := current_setting('iap.present', true);
BEGIN
    IF set_to <> ''
        AND (
            has_table_privilege(session_user, 'iap.runs', 'INSERT')
            OR has_table_privilege(session_user, 'iap.sources', 'INSERT'))
    THEN
        RETURN set_to::timestamptz;
    END IF;
    RETURN now();
END
$$;
COMMENT ON FUNCTION iap.present IS
    'The moment to take for the present: now, or what the nightly job, replaying a night, has set as iap.present, also '
    'where it pulls as iap_import. An app''s server can''t set it.';

CREATE FUNCTION iap.looks_back_to(at timestamptz) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN least(looks_back_to.at, (SELECT closed_at FROM audit.frontier)) - interval '7 days';
END
$$;
COMMENT ON FUNCTION iap.looks_back_to IS
    'From when on a night looks again at what nights before may have left, because another session held it.';

-- What is said of a purchase -----------------------------------------------------------------------------------------

CREATE TYPE iap.verified AS (
    transaction_id          text COLLATE "C",
    bundle_id               text COLLATE "C",
    environment             text,
    original_transaction_id text COLLATE "C",
    product_id              text COLLATE "C",
    product_type            text,
    quantity                integer,
    purchased_at            timestamptz,
    original_purchased_at   timestamptz,
    expires_at              timestamptz,
    is_trial                boolean,
    web_order_line_item_id  text,
    app_account_token       text,
    price_milliunits        bigint,
    currency                text,
    storefront              text,
    found_bundle_id         text COLLATE "C",
    refunded_at             timestamptz,
    refund_reason           text,
    source                  iap.source,
    verified_at             timestamptz,
    -- Why it is not owed; NULL when it is.
    exclusion               text,
    -- For whom it was admitted, and by which receipt; or to whom and when it was delivered before.
    user_id                 text,
    order_id                text,
    receipt_id              bigint,
    delivered_at            timestamptz,
    -- Its number in the batch.
    number                  integer,
    revocation_type         text,
    revocation_percentage   integer,
    app_transaction_id      text,
    -- When it was looked at, where verified_at says when Apple signed it; for a night's confirmation.
    confirmed_at            timestamptz,
    -- When what tells it was made, where verified_at says when Apple read it: a receipt holds no refund that came
    -- later.
    made_at                 timestamptz,
    -- Why it would not be owed without its refund; NULL when it would be.
    exclusion_besides       text
);
COMMENT ON TYPE iap.verified IS 'What a receipt, an app''s server or an import says of a purchase.';

CREATE TYPE iap.change AS (was iap.transactions, became iap.transactions);
COMMENT ON TYPE iap.change IS 'A row of iap.transactions as its writer locked it, and as it shall be.';

-- What finance books -------------------------------------------------------------------------------------------------

CREATE TYPE iap.amount AS (milliunits bigint, currency text, booked_as text);

CREATE FUNCTION iap.amount_of(
    price_milliunits bigint, currency text, is_trial boolean, quantity integer, list_price_milliunits bigint,
    list_currency text, is_family_shared boolean
) RETURNS iap.amount
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN $7 THEN ROW(0, coalesce($2, $6), 'shared')::iap.amount
        WHEN $1 IS NOT NULL THEN ROW($1, $2, 'apple')::iap.amount
        WHEN $3 THEN ROW(0, $6, 'trial')::iap.amount
        WHEN $5 IS NULL OR $4 < 1 OR $5::numeric * $4 > 1000000000000000 THEN ROW(NULL, $6, 'unknown')::iap.amount
        ELSE ROW($5 * $4, $6, 'list')::iap.amount
    END
$$;
COMMENT ON FUNCTION iap.amount_of IS
    'What finance counts a purchase as: nothing where another paid; what Apple says was paid; nothing for a free '
    'trial; else the list price times the quantity, unless nobody can have bought or paid that much.';

CREATE FUNCTION iap.share_of(milliunits bigint, percentage integer) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN CASE
    WHEN percentage IS NULL THEN milliunits ELSE round(milliunits::numeric * percentage / 100000)::bigint
END;
COMMENT ON FUNCTION iap.share_of IS 'A share, in thousandths of a percent, of an amount; all of it where none is told.';

CREATE TYPE iap.position AS (
    place text, detail text, day date, refund_day date, product_id text, units integer, milliunits bigint,
    currency text, booked_as text
);
COMMENT ON TYPE iap.position IS 'What the books say of a transaction: its account, day and amount.';

CREATE FUNCTION iap.position_of(t iap.transactions) RETURNS iap.position
LANGUAGE sql IMMUTABLE
-- Parsed here and now: finance's views call it, and finance may not look into the schema.
RETURN ROW(
    t.place,
    CASE t.place WHEN 'black' THEN t.delivered_by WHEN 'excluded' THEN t.reason END,
    (CASE
        WHEN t.place = 'white' THEN t.purchased_at
        WHEN t.place = 'black' THEN t.delivered_at
        WHEN t.reason = 'refunded' THEN t.refunded_at
        ELSE t.excluded_at
    END AT TIME ZONE 'UTC')::date,
    CASE t.place WHEN 'black' THEN (t.refunded_at AT TIME ZONE 'UTC')::date END,
    t.product_id, t.quantity, t.booked_milliunits, t.booked_currency, t.booked_as)::iap.position;
COMMENT ON FUNCTION iap.position_of IS 'What the books say of a transaction as it is.';
