-- The schema after all migrations, as pg_dump shows it. Made by Tests/SQL/run.sh --record-schema.

CREATE SCHEMA audit;

COMMENT ON SCHEMA audit IS 'The chain over the trail, and what makes the seals of the ledger''s rows.';

CREATE SCHEMA finance;

COMMENT ON SCHEMA finance IS 'Views and functions for finance, without personal data beyond the user id. Days are days of UTC.';

CREATE SCHEMA iap;

COMMENT ON SCHEMA iap IS 'iap-reconcile: finds App Store purchases that are paid and not delivered. Amounts are milliunits of a currency.';

CREATE TYPE iap.amount AS (
	milliunits bigint,
	currency text,
	booked_as text
);

CREATE TYPE iap.source AS ENUM (
    'app_server',
    'local',
    'verify_receipt',
    'server_api'
);

COMMENT ON TYPE iap.source IS 'Who vouches for a transaction, from the poorest to the best.';

CREATE TABLE iap.transactions (
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    place text NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    product_type text,
    quantity integer NOT NULL,
    purchased_at timestamp with time zone NOT NULL,
    original_purchased_at timestamp with time zone,
    expires_at timestamp with time zone,
    is_trial boolean NOT NULL,
    web_order_line_item_id text,
    app_account_token text,
    price_milliunits bigint,
    currency text,
    storefront text,
    found_bundle_id text COLLATE pg_catalog."C",
    refunded_at timestamp with time zone,
    refund_reason text,
    refund_run_id bigint,
    refund_reversed_at timestamp with time zone,
    source iap.source NOT NULL,
    verified_at timestamp with time zone NOT NULL,
    booked_milliunits bigint,
    booked_currency text,
    booked_as text NOT NULL,
    entry_id bigint NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    first_run_id bigint,
    admitted_user_id text,
    admitted_receipt_id bigint,
    nights_confirmed integer NOT NULL,
    last_confirmed_at timestamp with time zone,
    user_id text,
    order_id text,
    delivered_by text,
    delivered_at timestamp with time zone,
    reason text,
    excluded_at timestamp with time zone,
    excluded_run_id bigint,
    move_id bigint,
    seal bigint,
    revocation_type text,
    revocation_percentage integer,
    app_transaction_id text,
    refund_told_at timestamp with time zone,
    is_family_shared boolean DEFAULT false NOT NULL,
    CONSTRAINT black_is_delivered CHECK ((((place = 'black'::text) = (delivered_at IS NOT NULL)) AND ((place = 'black'::text) = (delivered_by IS NOT NULL)))),
    CONSTRAINT claim_has_user CHECK (((delivered_by <> 'claim'::text) OR (user_id IS NOT NULL))),
    CONSTRAINT confirmed_at_some_time CHECK (((nights_confirmed > 0) = (last_confirmed_at IS NOT NULL))),
    CONSTRAINT delivered_to_somebody CHECK (((place = 'black'::text) OR ((user_id IS NULL) AND (order_id IS NULL)))),
    CONSTRAINT excluded_has_reason CHECK ((((place = 'excluded'::text) = (reason IS NOT NULL)) AND ((place = 'excluded'::text) = (excluded_at IS NOT NULL)))),
    CONSTRAINT foreign_bundle_is_named CHECK (((reason <> 'foreign_bundle'::text) OR (found_bundle_id IS NOT NULL))),
    CONSTRAINT ids_are_apples CHECK ((((octet_length(transaction_id) >= 1) AND (octet_length(transaction_id) <= 64)) AND ((octet_length(original_transaction_id) >= 1) AND (octet_length(original_transaction_id) <= 64)) AND ((octet_length(product_id) >= 1) AND (octet_length(product_id) <= 255)) AND ((octet_length(bundle_id) >= 1) AND (octet_length(bundle_id) <= 255)) AND ((((transaction_id || original_transaction_id) || product_id) || bundle_id) !~ '[^!-~]'::text))),
    CONSTRAINT owed_is_not_refunded CHECK (((place <> 'white'::text) OR (refunded_at IS NULL))),
    CONSTRAINT price_has_currency CHECK (((price_milliunits IS NULL) = (currency IS NULL))),
    CONSTRAINT quantity_is_of_a_purchase CHECK (((quantity > 0) OR (place = 'excluded'::text))),
    CONSTRAINT refund_reason_has_refund CHECK (((refund_reason IS NULL) OR (refunded_at IS NOT NULL))),
    CONSTRAINT refunded_has_time CHECK (((reason <> 'refunded'::text) OR (refunded_at IS NOT NULL))),
    CONSTRAINT revocation_has_refund CHECK (((refunded_at IS NOT NULL) OR ((revocation_type IS NULL) AND (revocation_percentage IS NULL) AND (refund_told_at IS NULL)))),
    CONSTRAINT run_or_person CHECK (((place <> 'excluded'::text) OR (excluded_run_id IS NOT NULL) OR (reason = ANY (ARRAY['dismissed'::text, 'refunded'::text, 'restored'::text])))),
    CONSTRAINT transactions_booked_as_check CHECK ((booked_as = ANY (ARRAY['apple'::text, 'list'::text, 'trial'::text, 'shared'::text, 'unknown'::text]))),
    CONSTRAINT transactions_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT transactions_delivered_by_check CHECK ((delivered_by = ANY (ARRAY['claim'::text, 'resolved'::text, 'import'::text, 'entitlement'::text]))),
    CONSTRAINT transactions_environment_check CHECK ((environment = ANY (ARRAY['Production'::text, 'Sandbox'::text]))),
    CONSTRAINT transactions_nights_confirmed_check CHECK ((nights_confirmed >= 0)),
    CONSTRAINT transactions_place_check CHECK ((place = ANY (ARRAY['white'::text, 'black'::text, 'excluded'::text]))),
    CONSTRAINT transactions_product_type_check CHECK ((product_type = ANY (ARRAY['consumable'::text, 'non_consumable'::text, 'auto_renewable'::text, 'non_renewing'::text]))),
    CONSTRAINT transactions_reason_check CHECK ((reason = ANY (ARRAY['sandbox'::text, 'foreign_bundle'::text, 'refunded'::text, 'family_shared'::text, 'upgraded'::text, 'invalid_quantity'::text, 'before_start'::text, 'restored'::text, 'dismissed'::text]))),
    CONSTRAINT transactions_revocation_percentage_check CHECK (((revocation_percentage >= 0) AND (revocation_percentage <= 100000))),
    CONSTRAINT unknown_has_no_amount CHECK (((booked_as = 'unknown'::text) = (booked_milliunits IS NULL)))
);

COMMENT ON TABLE iap.transactions IS 'The ledger: one row for each transaction, and in place where it is: white, black or excluded.';

COMMENT ON COLUMN iap.transactions.place IS 'white: owed; black: delivered; excluded: not owed. Changed by the functions of the schema alone.';

COMMENT ON COLUMN iap.transactions.original_transaction_id IS 'The first transaction of a subscription, or of a non-consumable that was restored; else the transaction itself.';

COMMENT ON COLUMN iap.transactions.refunded_at IS 'When Apple refunded it; of black, after the delivery.';

COMMENT ON COLUMN iap.transactions.refund_reversed_at IS 'When Apple took its latest refund back; NULL if it did not.';

COMMENT ON COLUMN iap.transactions.source IS 'Who vouches for what is said of it: the best so far.';

COMMENT ON COLUMN iap.transactions.booked_milliunits IS 'What finance counts it as: the price that Apple told, else the list price when it entered.';

COMMENT ON COLUMN iap.transactions.booked_as IS 'apple: as paid; list: the list price times the quantity; trial: free; shared: nothing, for another paid; unknown: no price is known.';

COMMENT ON COLUMN iap.transactions.entry_id IS 'Its number in the trail.';

COMMENT ON COLUMN iap.transactions.first_run_id IS 'The run that brought it in; NULL where the app''s own server admitted it, or an import took it over.';

COMMENT ON COLUMN iap.transactions.admitted_user_id IS 'The user for whom the app''s own server admitted it.';

COMMENT ON COLUMN iap.transactions.move_id IS 'Its latest move, of iap.moves; NULL where it is as it entered.';

COMMENT ON COLUMN iap.transactions.seal IS 'Of all that decides about money and ownership: see audit.seal.';

COMMENT ON COLUMN iap.transactions.revocation_type IS 'Apple''s word on what kind of refund it is: REFUND_FULL, REFUND_PRORATED, FAMILY_REVOKE; NULL where it says none.';

COMMENT ON COLUMN iap.transactions.revocation_percentage IS 'The share that went back, in thousandths of a percent; NULL where Apple tells of none: then all of it did.';

COMMENT ON COLUMN iap.transactions.app_transaction_id IS 'Apple''s word for the customer''s account in this app: one history has been seen with two, so it is no proof.';

COMMENT ON COLUMN iap.transactions.refund_told_at IS 'When what told of the refund was made, a receipt or an answer: what is older takes none back. NULL where a person said so.';

COMMENT ON COLUMN iap.transactions.is_family_shared IS 'Whether Apple says that the customer has it by Family Sharing, or by a seat of a group or an organization: another paid, and that purchase is another row.';

CREATE TYPE iap.change AS (
	was iap.transactions,
	became iap.transactions
);

COMMENT ON TYPE iap.change IS 'A row of iap.transactions as its writer locked it, and as it shall be.';

CREATE TYPE iap.notice AS (
	number integer,
	transaction_id text COLLATE pg_catalog."C",
	bundle_id text COLLATE pg_catalog."C",
	environment text,
	notice_uuid text COLLATE pg_catalog."C",
	type text,
	subtype text,
	signed_at timestamp with time zone,
	heard_by text,
	sending text,
	attempts integer,
	last_attempt_at timestamp with time zone,
	last_result text,
	consumption_reason text,
	signed_transaction text
);

COMMENT ON TYPE iap.notice IS 'A notice of a batch.';

CREATE TYPE iap."position" AS (
	place text,
	detail text,
	day date,
	refund_day date,
	product_id text,
	units integer,
	milliunits bigint,
	currency text,
	booked_as text
);

COMMENT ON TYPE iap."position" IS 'What the books say of a transaction: its account, day and amount.';

CREATE TYPE iap.recorded AS (
	newly_white bigint[],
	already_white bigint[],
	already_black bigint[],
	excluded bigint[],
	watched bigint[],
	held bigint[],
	locked text[]
);

COMMENT ON TYPE iap.recorded IS 'What became of a batch.';

CREATE TYPE iap.sighted AS (
	numbers integer[],
	receipt_id bigint,
	user_id text,
	order_id text,
	is_named boolean,
	in_receipt boolean,
	uploaded_at timestamp with time zone
);

COMMENT ON TYPE iap.sighted IS 'Transactions of a batch as one receipt showed them.';

CREATE TYPE iap.standing AS (
	number integer,
	transaction_id text,
	quantity integer,
	place text,
	is_new boolean
);

COMMENT ON TYPE iap.standing IS 'Where a transaction of a batch is, and whether the batch brought it into white.';

CREATE TYPE iap.verified AS (
	transaction_id text COLLATE pg_catalog."C",
	bundle_id text COLLATE pg_catalog."C",
	environment text,
	original_transaction_id text COLLATE pg_catalog."C",
	product_id text COLLATE pg_catalog."C",
	product_type text,
	quantity integer,
	purchased_at timestamp with time zone,
	original_purchased_at timestamp with time zone,
	expires_at timestamp with time zone,
	is_trial boolean,
	web_order_line_item_id text,
	app_account_token text,
	price_milliunits bigint,
	currency text,
	storefront text,
	found_bundle_id text COLLATE pg_catalog."C",
	refunded_at timestamp with time zone,
	refund_reason text,
	source iap.source,
	verified_at timestamp with time zone,
	exclusion text,
	user_id text,
	order_id text,
	receipt_id bigint,
	delivered_at timestamp with time zone,
	number integer,
	revocation_type text,
	revocation_percentage integer,
	app_transaction_id text,
	confirmed_at timestamp with time zone,
	made_at timestamp with time zone,
	exclusion_besides text
);

COMMENT ON TYPE iap.verified IS 'What a receipt, an app''s server or an import says of a purchase.';

CREATE TYPE iap.white_totals AS (
	new bigint[],
	claimed bigint[],
	resolved bigint[],
	refunded bigint[],
	closing_white bigint[]
);

CREATE TYPE iap.word AS (
	until timestamp with time zone,
	said_at timestamp with time zone
);

COMMENT ON TYPE iap.word IS 'Until when an app''s server said that it grants something, and when it said so.';

CREATE FUNCTION audit.block(after bigint, upto bigint, late bigint[], without int8multirange, OUT entries bigint, OUT digest bytea) RETURNS record
    LANGUAGE sql STABLE
    SET "TimeZone" TO 'UTC'
    SET "DateStyle" TO 'ISO, YMD'
    AS $_$
    -- By slices of 4,096 numbers, so that millions need little memory.
    SELECT coalesce(sum(entries), 0)::bigint, sha256(coalesce(string_agg(digest, '' ORDER BY slice), ''))
    FROM (
        SELECT number >> 12 AS slice, count(*) AS entries, sha256(string_agg(told, '' ORDER BY number)) AS digest
        FROM (
            SELECT number, told FROM audit.trail WHERE number > $1 AND number <= $2 AND NOT number <@ $4
            UNION ALL
            SELECT number, told FROM audit.trail WHERE number = ANY ($3)
        ) AS covered
        GROUP BY 1
    ) AS slices
$_$;

COMMENT ON FUNCTION audit.block(after bigint, upto bigint, late bigint[], without int8multirange, OUT entries bigint, OUT digest bytea) IS 'How many entries, moves and events lie between two numbers, but for some and with some late ones, and their digest.';

CREATE FUNCTION audit.broken_links() RETURNS SETOF text
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    link    audit.links;
    last    audit.links;
    block   record;
    -- Numbers that a later link covers, or that none does yet.
    without int8multirange;
BEGIN
    SELECT gaps + coalesce((
        SELECT range_agg(int8range(number, number + 1))
        FROM audit.links
        CROSS JOIN LATERAL unnest(late) AS number), '{}')
    INTO without
    FROM audit.frontier;
    last.position := 0;
    -- Whatever has no number of the trail's was slipped in.
    last.upto := -9223372036854775808;
    last.link := audit.first_link();
    FOR link IN SELECT * FROM audit.links ORDER BY position LOOP
        block := audit.block(last.upto, link.upto, link.late, without);
        IF link.position <> last.position + 1 OR link.upto < last.upto OR link.entries <> block.entries
            OR link.link <> sha256(last.link || block.digest)
        THEN
            RETURN NEXT 'run ' || link.run_id;
        END IF;
        last := link;
    END LOOP;
    IF (SELECT upto FROM audit.frontier) <> greatest(last.upto, 0) THEN
        RETURN NEXT 'the end of the chain';
    END IF;
END
$$;

COMMENT ON FUNCTION audit.broken_links() IS 'The runs whose link in the chain does not fit what it covers any more, or the link before.';

CREATE SEQUENCE iap.trail
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

COMMENT ON SEQUENCE iap.trail IS 'The running number of entries, moves and events.';

CREATE TABLE iap.events (
    event_id bigint DEFAULT nextval('iap.trail'::regclass) NOT NULL,
    happened_at timestamp with time zone DEFAULT now() NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    run_id bigint,
    transaction_id text COLLATE pg_catalog."C",
    bundle_id text COLLATE pg_catalog."C",
    environment text,
    details jsonb DEFAULT '{}'::jsonb NOT NULL,
    seal bigint
);

COMMENT ON TABLE iap.events IS 'The audit trail beside iap.moves: rows are added, and never changed or taken away.';

COMMENT ON COLUMN iap.events.actor IS 'The person, the database login or the job that did it.';

COMMENT ON COLUMN iap.events.seal IS 'Of the whole row: see audit.seal.';

CREATE FUNCTION audit.digest(e iap.events) RETURNS bytea
    LANGUAGE sql STABLE
    AS $$
    SELECT sha256(convert_to(
        ROW(
            e.event_id, e.happened_at, e.kind, e.actor, e.run_id, e.transaction_id, e.bundle_id, e.environment,
            e.details)::text,
        'UTF8'))
$$;

COMMENT ON FUNCTION audit.digest(e iap.events) IS 'The SHA-256 of all that an event says.';

CREATE TABLE iap.moves (
    move_id bigint NOT NULL,
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    run_id bigint,
    moved_at timestamp with time zone NOT NULL,
    from_place text NOT NULL,
    to_place text NOT NULL,
    from_detail text,
    to_detail text,
    from_day date NOT NULL,
    to_day date NOT NULL,
    from_refund_day date,
    to_refund_day date,
    from_product_id text NOT NULL COLLATE pg_catalog."C",
    to_product_id text NOT NULL COLLATE pg_catalog."C",
    from_units integer NOT NULL,
    to_units integer NOT NULL,
    from_milliunits bigint,
    to_milliunits bigint,
    from_currency text,
    to_currency text,
    from_booked_as text NOT NULL,
    to_booked_as text NOT NULL,
    details jsonb NOT NULL,
    seal bigint,
    CONSTRAINT moves_kind_check CHECK ((kind = ANY (ARRAY['claimed'::text, 'resolved'::text, 'imported'::text, 'withdrawn'::text, 'refunded'::text, 'refund_reversed'::text, 'released'::text, 'reopened'::text, 'corrected'::text, 'entitled'::text, 'revoked'::text])))
);

COMMENT ON TABLE iap.moves IS 'The log of the ledger: each change of a place, of what finance books, or of the original purchase or period. Rows are added, and never taken away.';

COMMENT ON COLUMN iap.moves.move_id IS 'Its number in the trail.';

COMMENT ON COLUMN iap.moves.kind IS 'claimed: by the app''s server; entitled: covered by what it granted; revoked: what it granted was taken back; resolved: by the support desk; imported; withdrawn: not owed after all; refunded, refund_reversed: by Apple; released: what excluded it is so no more, by Apple''s word or a setting that was mended; reopened: a resolve was taken back; corrected: Apple knows better.';

COMMENT ON COLUMN iap.moves.actor IS 'The person, the database login or the job that did it.';

COMMENT ON COLUMN iap.moves.from_place IS 'Where it was; in from_… what finance booked it as there.';

COMMENT ON COLUMN iap.moves.to_place IS 'Where it went; in to_… what finance books it as there.';

COMMENT ON COLUMN iap.moves.to_detail IS 'black: delivered by what; excluded: the reason.';

COMMENT ON COLUMN iap.moves.to_day IS 'white: of the purchase; black: of the delivery; excluded: of the exclusion or the refund. In UTC.';

COMMENT ON COLUMN iap.moves.details IS 'What else there is to say: user_id, order_id, note …, and of a refund in part the share that went back before and after: from_refund_percentage, to_refund_percentage, in thousandths of a percent; of what was taken for another original purchase, or period, that one: from_original, from_period.';

COMMENT ON COLUMN iap.moves.seal IS 'Of the whole row: see audit.seal.';

CREATE FUNCTION audit.digest(m iap.moves) RETURNS bytea
    LANGUAGE sql STABLE
    AS $$
    SELECT sha256(convert_to(
        ROW(
            m.move_id, m.transaction_id, m.bundle_id, m.environment, m.kind, m.actor, m.run_id, m.moved_at,
            m.from_place,
            m.to_place, m.from_detail, m.to_detail, m.from_day, m.to_day, m.from_refund_day, m.to_refund_day,
            m.from_product_id, m.to_product_id, m.from_units, m.to_units, m.from_milliunits, m.to_milliunits,
            m.from_currency, m.to_currency, m.from_booked_as, m.to_booked_as, m.details)::text,
        'UTF8'))
$$;

COMMENT ON FUNCTION audit.digest(m iap.moves) IS 'The SHA-256 of all that a move says.';

CREATE FUNCTION audit.erased_by(erasure bigint) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT encode(
        sha256(convert_to(
            coalesce(
                string_agg(
                    concat_ws(' ', number, encode(digest, 'hex'), encode(left_as, 'hex')), E'\n' ORDER BY number),
                ''),
            'UTF8')),
        'hex')
    FROM audit.erasures
    WHERE event_id = erasure
$$;

COMMENT ON FUNCTION audit.erased_by(erasure bigint) IS 'The digest of what an erasure changed in moves and events. Its event says it, and the chain covers that: so nobody passes off another change as an erasure.';

CREATE FUNCTION audit.first_link() RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT pg_catalog.sha256('iap-reconcile'::bytea)
$$;

COMMENT ON FUNCTION audit.first_link() IS 'What the first link is linked to.';

CREATE FUNCTION audit.receipt_seal(bucket smallint, receipt_id bigint, bundle_id text, user_id text, payload_sha256 bytea, order_id text, transaction_id text, submitted_at timestamp with time zone, state text, is_erased boolean) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
    SELECT pg_catalog.hash_record_extended(ROW($1, $2, $3, $4, $5, $6, $7, $8, $9, $10), 0)
$_$;

COMMENT ON FUNCTION audit.receipt_seal(bucket smallint, receipt_id bigint, bundle_id text, user_id text, payload_sha256 bytea, order_id text, transaction_id text, submitted_at timestamp with time zone, state text, is_erased boolean) IS 'The seal of a receipt: who handed it in, when and for what, and whether it still waits.';

CREATE TABLE iap.claims (
    claim_id bigint NOT NULL,
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL,
    order_id text,
    outcome text NOT NULL,
    attempted_at timestamp with time zone DEFAULT now() NOT NULL,
    seal bigint,
    CONSTRAINT claims_outcome_check CHECK ((outcome = ANY (ARRAY['delivered'::text, 'already_delivered'::text, 'not_verified'::text, 'wrong_user'::text, 'order_used'::text, 'excluded'::text, 'undecided'::text])))
);

COMMENT ON TABLE iap.claims IS 'Every attempt to claim whose transaction was committed, and its outcome.';

COMMENT ON COLUMN iap.claims.seal IS 'Of the whole attempt: see audit.seal.';

CREATE FUNCTION audit.seal(c iap.claims) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT pg_catalog.hash_record_extended(
        ROW(c.transaction_id, c.bundle_id, c.user_id, c.order_id, c.outcome, c.attempted_at), 0)
$$;

COMMENT ON FUNCTION audit.seal(c iap.claims) IS 'The seal of an attempt to claim.';

CREATE TABLE iap.sightings (
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    bucket smallint NOT NULL,
    receipt_id bigint NOT NULL,
    user_id text,
    order_id text,
    is_named boolean NOT NULL,
    in_receipt boolean DEFAULT true NOT NULL,
    uploaded_at timestamp with time zone NOT NULL,
    first_run_id bigint,
    seal bigint
);

COMMENT ON TABLE iap.sightings IS 'In which receipts each transaction was seen, and who handed them in.';

COMMENT ON COLUMN iap.sightings.is_named IS 'Whether the receipt was uploaded for this very transaction; false when it only rode along.';

COMMENT ON COLUMN iap.sightings.in_receipt IS 'Whether the receipt holds it; else Apple told it of the customer who is known by the receipt.';

COMMENT ON COLUMN iap.sightings.seal IS 'Of who handed it in, and whether for this: see audit.seal.';

CREATE FUNCTION audit.seal(s iap.sightings) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT pg_catalog.hash_record_extended(
        ROW(
            s.transaction_id, s.bundle_id, s.environment, s.bucket, s.receipt_id, s.user_id, s.order_id, s.is_named,
            s.in_receipt, s.uploaded_at, s.first_run_id),
        0)
$$;

COMMENT ON FUNCTION audit.seal(s iap.sightings) IS 'The seal of a sighting.';

CREATE FUNCTION audit.seal(t iap.transactions) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT pg_catalog.hash_record_extended(
        ROW(
            t.transaction_id, t.bundle_id, t.environment, t.place, t.original_transaction_id, t.product_id,
            t.product_type, t.quantity, t.purchased_at, t.is_trial, t.app_account_token, t.price_milliunits,
            t.currency, t.storefront, t.found_bundle_id, t.refunded_at, t.refund_run_id, t.refund_reversed_at,
            CASE t.source
                WHEN 'app_server' THEN 1 WHEN 'local' THEN 2 WHEN 'verify_receipt' THEN 3 WHEN 'server_api' THEN 4
            END,
            t.booked_milliunits, t.booked_currency, t.booked_as, t.entry_id, t.first_seen_at,
            t.first_run_id, t.admitted_user_id, t.admitted_receipt_id, t.user_id, t.order_id, t.delivered_by,
            t.delivered_at, t.reason, t.excluded_at, t.excluded_run_id, t.move_id, t.expires_at, t.refund_reason,
            t.revocation_type, t.app_transaction_id, t.web_order_line_item_id, t.original_purchased_at,
            t.refund_told_at, t.is_family_shared),
        -- In this place it leaves the seals of what is not refunded in part as they were.
        coalesce(t.revocation_percentage + 1, 0))
$$;

COMMENT ON FUNCTION audit.seal(t iap.transactions) IS 'The seal of a transaction, but for the nights that it was confirmed.';

CREATE TABLE iap.uploads (
    bucket smallint NOT NULL,
    receipt_id bigint NOT NULL,
    transaction_id text,
    order_id text,
    first_uploaded_at timestamp with time zone DEFAULT now() NOT NULL,
    last_uploaded_at timestamp with time zone DEFAULT now() NOT NULL,
    times integer DEFAULT 1 NOT NULL,
    seal bigint,
    CONSTRAINT uploads_times_check CHECK ((times > 0))
);

ALTER TABLE ONLY iap.uploads REPLICA IDENTITY FULL;

COMMENT ON TABLE iap.uploads IS 'For what each receipt was uploaded: a row for each pair of transaction and order.';

COMMENT ON COLUMN iap.uploads.seal IS 'Of what it was uploaded for: see audit.seal.';

CREATE FUNCTION audit.seal(u iap.uploads) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT pg_catalog.hash_record_extended(
        ROW(u.bucket, u.receipt_id, u.transaction_id, u.order_id, u.first_uploaded_at), 0)
$$;

COMMENT ON FUNCTION audit.seal(u iap.uploads) IS 'The seal of what a receipt was uploaded for.';

CREATE FUNCTION audit.seal(sealed record) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
BEGIN
    sealed.seal := NULL;
    RETURN pg_catalog.hash_record_extended(sealed, 0);
END
$$;

COMMENT ON FUNCTION audit.seal(sealed record) IS 'The seal of a move, an order or an event, which is of the whole row.';

CREATE FUNCTION audit.wrong_erasures() RETURNS SETOF bigint
    LANGUAGE sql STABLE
    SET "TimeZone" TO 'UTC'
    SET "DateStyle" TO 'ISO, YMD'
    AS $$
    WITH told AS MATERIALIZED (
        SELECT event_id
        FROM iap.events
        WHERE kind = 'erased' AND details ->> 'erasures' = audit.erased_by(event_id)
    )
    SELECT DISTINCT erased.number
    FROM (
        SELECT *, lead(digest) OVER (PARTITION BY number ORDER BY event_id) AS found_later
        FROM audit.erasures
    ) AS erased
    LEFT JOIN iap.moves ON moves.move_id = erased.number
    LEFT JOIN iap.events ON events.event_id = erased.number
    LEFT JOIN told ON told.event_id = erased.event_id
    WHERE told.event_id IS NULL
        OR erased.left_as IS DISTINCT FROM CASE
            WHEN erased.found_later IS NOT NULL THEN erased.found_later
            WHEN moves.move_id IS NOT NULL THEN audit.digest(moves)
            ELSE audit.digest(events)
        END
$$;

COMMENT ON FUNCTION audit.wrong_erasures() IS 'The moves and events that are not what an erasure left, or of whose erasure no event tells, or tells otherwise.';

CREATE FUNCTION finance.ageing(age_days integer) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT CASE
        WHEN age_days <= 1 THEN '0-1'
        WHEN age_days <= 7 THEN '2-7'
        WHEN age_days <= 30 THEN '8-30'
        WHEN age_days <= 90 THEN '31-90'
        ELSE 'over 90'
    END
$$;

COMMENT ON FUNCTION finance.ageing(age_days integer) IS 'The ageing bucket of an age in whole days: 0-1, 2-7, 8-30, 31-90 or over 90.';

CREATE FUNCTION finance.balances_as_of(as_of date) RETURNS TABLE(bundle_id text, currency text, received bigint, owed bigint, delivered bigint, excluded bigint, refunded_after_delivery bigint, owed_amount numeric, delivered_amount numeric, refunded_after_delivery_amount numeric)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT
        bundle_id, currency,
        coalesce(sum(transactions) FILTER (WHERE account IN ('owed', 'delivered', 'excluded')), 0)::bigint,
        coalesce(sum(transactions) FILTER (WHERE account = 'owed'), 0)::bigint,
        coalesce(sum(transactions) FILTER (WHERE account = 'delivered'), 0)::bigint,
        coalesce(sum(transactions) FILTER (WHERE account = 'excluded'), 0)::bigint,
        coalesce(sum(transactions) FILTER (WHERE account = 'refunded'), 0)::bigint,
        coalesce(sum(money) FILTER (WHERE account = 'owed'), nothing)::numeric(20, 3),
        coalesce(sum(money) FILTER (WHERE account = 'delivered'), nothing)::numeric(20, 3),
        coalesce(sum(money) FILTER (WHERE account = 'refunded'), nothing)::numeric(20, 3)
    FROM finance.closed(as_of) AS closed
    JOIN finance.journal ON booked_on <= closed
    -- Without a currency no price is known, and what is owed is not nothing, also where it stands beside free trials.
    CROSS JOIN LATERAL (
        SELECT
            CASE WHEN currency IS NOT NULL THEN 0 END AS nothing,
            CASE WHEN currency IS NOT NULL THEN amount END AS money
    ) AS unpriced
    GROUP BY bundle_id, currency, nothing
    ORDER BY bundle_id, currency
$$;

COMMENT ON FUNCTION finance.balances_as_of(as_of date) IS 'Each app''s accounts at the end of a day that is closed, by currency: all that was ever received is owed, delivered or excluded. The same answer for ever.';

CREATE FUNCTION finance.closed(day date) RETURNS date
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    last date := (SELECT max(closed_through) FROM finance.closings);
BEGIN
    IF day IS NULL THEN
        RAISE EXCEPTION 'as of which day?' USING ERRCODE = 'invalid_parameter_value';
    ELSIF last IS NULL OR day > last THEN
        RAISE EXCEPTION '% is not closed yet', day USING
            ERRCODE = 'object_not_in_prerequisite_state',
            HINT = CASE
                WHEN last IS NULL THEN 'No run has closed its books yet.'
                ELSE format('The last day that is closed is %s; a day is closed by the first run after it.', last)
            END;
    END IF;
    RETURN day;
END
$$;

COMMENT ON FUNCTION finance.closed(day date) IS 'The day itself if it is closed for good; else an error (55000): its answer could still change.';

CREATE FUNCTION finance.deliveries_as_of(as_of date) RETURNS TABLE(delivery_day date, bundle_id text, product_id text, currency text, price_source text, delivered_by text, transactions bigint, units bigint, amount numeric)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT
        day, bundle_id, product_id, currency, price_source, detail, sum(transactions)::bigint, sum(units)::bigint,
        sum(amount)::numeric(20, 3)
    FROM finance.closed(as_of) AS closed
    JOIN finance.journal ON booked_on <= closed
    WHERE account = 'delivered'
    GROUP BY day, bundle_id, product_id, currency, price_source, detail
    HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(amount) <> 0
    ORDER BY day, bundle_id, product_id, currency, price_source, detail
$$;

COMMENT ON FUNCTION finance.deliveries_as_of(as_of date) IS 'finance.deliveries as they were known at the end of a day that is closed: the same answer for ever.';

CREATE FUNCTION finance.pacific_day(moment timestamp with time zone) RETURNS date
    LANGUAGE sql IMMUTABLE
    RETURN ((moment AT TIME ZONE 'America/Los_Angeles'::text))::date;

COMMENT ON FUNCTION finance.pacific_day(moment timestamp with time zone) IS 'The day of a moment as Apple''s sales reports have it: one of Pacific Time.';

CREATE FUNCTION finance.refunds_as_of(as_of date) RETURNS TABLE(refund_day date, bundle_id text, product_id text, refunded text, currency text, price_source text, transactions bigint, units bigint, amount numeric)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT
        day, bundle_id, product_id, CASE account WHEN 'refunded' THEN 'after delivery' ELSE 'before delivery' END,
        currency, price_source, sum(transactions)::bigint, sum(units)::bigint, sum(amount)::numeric(20, 3)
    FROM finance.closed(as_of) AS closed
    JOIN finance.journal ON booked_on <= closed
    WHERE account = 'refunded' OR (account = 'excluded' AND detail = 'refunded')
    GROUP BY day, bundle_id, product_id, account, currency, price_source
    HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(amount) <> 0
    ORDER BY day, bundle_id, product_id, account, currency, price_source
$$;

COMMENT ON FUNCTION finance.refunds_as_of(as_of date) IS 'finance.refunds as they were known at the end of a day that is closed: the same answer for ever.';

CREATE FUNCTION finance.statement(first date, through date) RETURNS TABLE(bundle_id text, product_id text, currency text, opening bigint, opening_amount numeric, entered bigint, entered_amount numeric, delivered bigint, delivered_amount numeric, by_support bigint, redelivered bigint, refunded bigint, refunded_amount numeric, dropped bigint, dropped_amount numeric, closing bigint, closing_amount numeric, refunded_after bigint, refunded_after_amount numeric, reversed bigint, reversed_amount numeric)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    -- Once for all products: they are found by reading all that there ever were.
    WITH done AS MATERIALIZED (
        SELECT bundle_id, product_id, currency, count(*) AS transactions
        FROM finance.redeliveries
        WHERE booked_on BETWEEN first AND through
        GROUP BY bundle_id, product_id, currency
    )
    SELECT
        journal.bundle_id, journal.product_id, journal.currency,
        coalesce(sum(transactions) FILTER (WHERE account = 'owed' AND is_before), 0)::bigint,
        coalesce(sum(money) FILTER (WHERE account = 'owed' AND is_before), nothing)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (WHERE account <> 'refunded' AND NOT is_before), 0)::bigint,
        coalesce(sum(money) FILTER (WHERE account <> 'refunded' AND NOT is_before), nothing)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (WHERE account = 'delivered' AND NOT is_before), 0)::bigint,
        coalesce(sum(money) FILTER (WHERE account = 'delivered' AND NOT is_before), nothing)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (
            WHERE account = 'delivered' AND detail = 'resolved' AND NOT is_before), 0)::bigint,
        coalesce(
            (
                SELECT done.transactions
                FROM done
                WHERE done.bundle_id = journal.bundle_id AND done.product_id = journal.product_id
                    AND done.currency IS NOT DISTINCT FROM journal.currency),
            0),
        coalesce(sum(transactions) FILTER (
            WHERE account = 'excluded' AND detail = 'refunded' AND NOT is_before), 0)::bigint,
        coalesce(sum(money) FILTER (
            WHERE account = 'excluded' AND detail = 'refunded' AND NOT is_before), nothing)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (
            WHERE account = 'excluded' AND detail <> 'refunded' AND NOT is_before), 0)::bigint,
        -- What did not go back of a refund in part is owed no more, either.
        coalesce(sum(money) FILTER (
            WHERE ((account = 'excluded' AND detail <> 'refunded') OR account = 'kept') AND NOT is_before),
            nothing)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (WHERE account = 'owed'), 0)::bigint,
        coalesce(sum(money) FILTER (WHERE account = 'owed'), nothing)::numeric(20, 3),
        coalesce(sum(transactions) FILTER (
            WHERE account = 'refunded' AND detail IS NULL AND NOT is_before), 0)::bigint,
        coalesce(sum(money) FILTER (
            WHERE account = 'refunded' AND detail IS NULL AND NOT is_before), nothing)::numeric(20, 3),
        coalesce(-sum(transactions) FILTER (
            WHERE account = 'refunded' AND detail = 'reversed' AND NOT is_before), 0)::bigint,
        coalesce(-sum(money) FILTER (
            WHERE account = 'refunded' AND detail = 'reversed' AND NOT is_before), nothing)::numeric(20, 3)
    FROM finance.closed(through) AS closed
    JOIN finance.journal ON booked_on <= closed
    CROSS JOIN LATERAL (
        -- Without a currency no price is known, and what is owed is not nothing, also where it stands beside free
        -- trials.
        SELECT
            booked_on < first AS is_before, CASE WHEN journal.currency IS NOT NULL THEN 0 END AS nothing,
            CASE WHEN journal.currency IS NOT NULL THEN amount END AS money
    ) AS span
    GROUP BY journal.bundle_id, journal.product_id, journal.currency, nothing
    HAVING bool_or(NOT is_before) OR sum(transactions) FILTER (WHERE account = 'owed') <> 0
        OR sum(money) FILTER (WHERE account = 'owed') <> 0
        -- Told late, after the month of its delivery was closed.
        OR EXISTS (
            SELECT FROM done
            WHERE done.bundle_id = journal.bundle_id AND done.product_id = journal.product_id
                AND done.currency IS NOT DISTINCT FROM journal.currency)
    ORDER BY journal.bundle_id, journal.product_id, journal.currency
$$;

COMMENT ON FUNCTION finance.statement(first date, through date) IS 'What was booked from a first day through a last that is closed, by app, product and currency. Closing is opening and entered, less delivered, refunded and dropped. The same answer for ever.';

CREATE FUNCTION finance.statement_differences(first date, through date) RETURNS TABLE(difference text, day date, bundle_id text, product_id text, storefront text, transaction_id text, units bigint, currency text, amount numeric, purchased_at timestamp with time zone, first_seen_at timestamp with time zone, booked_on date)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    WITH compared AS MATERIALIZED (
        SELECT day, bundle_id, product_id, storefront, difference
        FROM finance.sold_against_seen
        WHERE day BETWEEN first AND through AND difference <> 0
    )
    SELECT
        'booked in another month', finance.pacific_day(sold_at), bundle_id, product_id, storefront, transaction_id,
        units, currency, amount, purchased_at, first_seen_at, booked_on
    FROM finance.purchases
    WHERE finance.pacific_day(sold_at) BETWEEN first AND through
        -- As a range: where a purchase was booked is looked up once.
        AND NOT daterange(first, through, '[]') @> booked_on AND is_sold
    UNION ALL
    SELECT
        'bought in another month', finance.pacific_day(sold_at), bundle_id, product_id, storefront, transaction_id,
        units, currency, amount, purchased_at, first_seen_at, booked_on
    FROM finance.purchases
    WHERE daterange(first, through, '[]') @> booked_on AND is_sold
        -- By index, and not by when they entered: what was written while a clock was wrong is booked by its number.
        AND entry_id >= (
            SELECT min(first_entry) FROM finance.booking_spans WHERE first_day <= through AND last_day >= first)
        AND entry_id <= (
            SELECT max(last_entry) FROM finance.booking_spans WHERE first_day <= through AND last_day >= first)
        AND finance.pacific_day(sold_at) NOT BETWEEN first AND through
    UNION ALL
    SELECT 'no sales report read', day, bundle_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM (
        SELECT first + told.days AS day, app.bundle_id
        -- Not a moment of each day: some clocks are put forward at midnight.
        FROM generate_series(0, through - first) AS told (days)
        CROSS JOIN (SELECT DISTINCT bundle_id FROM finance.compared_days) AS app
        EXCEPT
        SELECT day, bundle_id FROM finance.compared_days
    ) AS unread
    UNION ALL
    SELECT
        'sold and never seen', day, bundle_id, product_id, storefront, NULL, difference, NULL, NULL, NULL, NULL, NULL
    FROM compared
    WHERE difference > 0
    UNION ALL
    SELECT
        'seen, and more than sold', more.day, bundle_id, product_id, bought.storefront, transaction_id, units,
        bought.currency, amount, purchased_at, first_seen_at, booked_on
    FROM compared AS more
    JOIN finance.purchases AS bought USING (bundle_id, product_id)
    WHERE more.difference < 0 AND bought.is_sold
        AND finance.pacific_day(sold_at) BETWEEN first AND through
        AND finance.pacific_day(sold_at) = more.day
        AND (more.storefront IS NULL OR more.storefront = bought.storefront)
    ORDER BY 1, 2, 3, 4, 5, 6
$$;

COMMENT ON FUNCTION finance.statement_differences(first date, through date) IS 'By which purchases what was booked, what was bought and what Apple sold differ, from a first day through a last: those that were bought in the span and booked outside of it; the other way round; units that Apple sold and nothing ever told of; and each purchase of a day, product and country of which the tables hold more than Apple sold. And the days of which no sales report was read, of each app that reports tell of.';

CREATE FUNCTION finance.statement_proceeds(first date, through date) RETURNS TABLE(bundle_id text, product_id text, currency text, units bigint, proceeds numeric)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT bundle_id, product_id, currency, sum(units)::bigint, sum(amount)::numeric(20, 3)
    FROM finance.proceeds
    WHERE day BETWEEN first AND through
    GROUP BY bundle_id, product_id, currency
    ORDER BY bundle_id, product_id, currency
$$;

COMMENT ON FUNCTION finance.statement_proceeds(first date, through date) IS 'What Apple''s reports say the developer gets of what was sold from a first day of Pacific Time through a last, less what was refunded: a row for each product and currency of its proceeds. Only days whose report was read.';

CREATE FUNCTION finance.statement_sales(first date, through date) RETURNS TABLE(bundle_id text, product_id text, days bigint, units_sold bigint, units_seen bigint, difference bigint, refunds_sold bigint, refunds_seen bigint, refund_difference bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT
        bundle_id, product_id, read.days, sum(units_sold)::bigint, sum(units_seen)::bigint,
        sum(difference)::bigint, sum(refunds_sold)::bigint, sum(refunds_seen)::bigint,
        sum(refund_difference)::bigint
    FROM finance.sold_against_seen
    JOIN (
        SELECT bundle_id, count(*) AS days
        FROM finance.compared_days
        WHERE day BETWEEN first AND through
        GROUP BY bundle_id
    ) AS read USING (bundle_id)
    WHERE day BETWEEN first AND through
    GROUP BY bundle_id, product_id, read.days
    ORDER BY bundle_id, product_id
$$;

COMMENT ON FUNCTION finance.statement_sales(first date, through date) IS 'What Apple''s reports say was sold from a first day of Pacific Time through a last, and what the tables saw of it: a row for each product. Only days whose report was read; days says of how many, for the app.';

CREATE FUNCTION finance.unclaimed_liability_as_of(as_of date) RETURNS TABLE(purchase_day date, bundle_id text, product_id text, currency text, price_source text, age_days integer, ageing text, transactions bigint, units bigint, amount numeric)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT
        day, bundle_id, product_id, currency, price_source, greatest(closed - day, 0),
        finance.ageing(greatest(closed - day, 0)), sum(transactions)::bigint, sum(units)::bigint,
        sum(amount)::numeric(20, 3)
    FROM finance.closed(as_of) AS closed
    JOIN finance.journal ON booked_on <= closed
    WHERE account = 'owed'
    GROUP BY day, bundle_id, product_id, currency, price_source, closed
    HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(amount) <> 0
    ORDER BY day, bundle_id, product_id, currency, price_source
$$;

COMMENT ON FUNCTION finance.unclaimed_liability_as_of(as_of date) IS 'finance.unclaimed_liability as it was known at the end of a day that is closed: the same answer for ever.';

CREATE FUNCTION iap.add_sightings(added iap.sightings[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO sightings AS known
    SELECT * FROM unnest(added)
    ON CONFLICT (transaction_id, bundle_id, environment, bucket, receipt_id) DO UPDATE
    SET is_named = known.is_named OR EXCLUDED.is_named,
        in_receipt = known.in_receipt OR EXCLUDED.in_receipt,
        order_id = coalesce(known.order_id, EXCLUDED.order_id),
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN known.seal = audit.seal(ROW(known.*)::iap.sightings) THEN audit.seal(ROW(
            known.transaction_id, known.bundle_id, known.environment, known.bucket, known.receipt_id, known.user_id,
            coalesce(known.order_id, EXCLUDED.order_id), known.is_named OR EXCLUDED.is_named,
            known.in_receipt OR EXCLUDED.in_receipt, known.uploaded_at, known.first_run_id, NULL)::iap.sightings)
            ELSE known.seal END
    WHERE (EXCLUDED.is_named AND NOT known.is_named)
        OR (EXCLUDED.in_receipt AND NOT known.in_receipt)
        OR (known.order_id IS NULL AND EXCLUDED.order_id IS NOT NULL);
END
$$;

COMMENT ON FUNCTION iap.add_sightings(added iap.sightings[]) IS 'Writes sightings, or adds what they say to those that are known.';

CREATE FUNCTION iap.admit(bundle_id text, environment text, transaction_id text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, user_id text DEFAULT NULL::text, receipt_id bigint DEFAULT NULL::bigint, web_order_line_item_id text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    purchase iap.verified;
    is_new   boolean := false;
    known    iap.transactions;
    change   iap.change;
    whose    text := nullif(admit.user_id, '');
    period   text := iap.period_said(admit.web_order_line_item_id);
    wanted   iap.transactions;
    owed_as  text;
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.limit_waiting();
    purchase.transaction_id := admit.transaction_id;
    purchase.bundle_id := admit.bundle_id;
    purchase.environment := admit.environment;
    purchase.original_transaction_id := admit.original_transaction_id;
    purchase.product_id := admit.product_id;
    purchase.quantity := admit.quantity;
    purchase.purchased_at := admit.purchased_at;
    purchase.is_trial := false;
    purchase.source := 'app_server';
    purchase.verified_at := iap.present();
    purchase.web_order_line_item_id := period;
    purchase.user_id := whose;
    purchase.receipt_id := admit.receipt_id;
    PERFORM iap.require_purchase(purchase);

    known := iap.locked(admit.bundle_id, admit.environment, admit.transaction_id);
    IF known.transaction_id IS NULL THEN
        wanted.transaction_id := admit.transaction_id;
        wanted.bundle_id := admit.bundle_id;
        wanted.environment := admit.environment;
        wanted.original_transaction_id := admit.original_transaction_id;
        wanted.product_id := admit.product_id;
        wanted.web_order_line_item_id := period;
        IF iap.is_delivered_otherwise(wanted) OR iap.is_period_delivered(wanted) THEN
            RETURN 'already_delivered';
        END IF;
        PERFORM iap.require_owed(wanted);
        BEGIN
            PERFORM iap.enter(ARRAY[purchase], NULL, iap.present());
            is_new := true;
        EXCEPTION
            WHEN unique_violation THEN
                known := iap.locked(admit.bundle_id, admit.environment, admit.transaction_id);
                IF known.transaction_id IS NULL THEN
                    RAISE EXCEPTION 'another session admitted transaction % of % meanwhile',
                        admit.transaction_id, admit.bundle_id
                        USING ERRCODE = 'serialization_failure', HINT = 'Try the transaction again.';
                END IF;
        END;
    END IF;
    IF admit.receipt_id IS NOT NULL THEN
        PERFORM iap.sight(
            admit.bundle_id, admit.environment, admit.transaction_id, whose, admit.receipt_id);
    END IF;
    IF is_new THEN
        RETURN 'white';
    ELSIF iap.standing(known) = 'already_delivered' THEN
        -- The period, handed on late, keeps its other ids from being delivered all the same.
        IF known.place = 'black' AND known.web_order_line_item_id IS NULL AND period IS NOT NULL THEN
            change.was := known;
            known.web_order_line_item_id := period;
            change.became := known;
            PERFORM iap.move(ARRAY[change], 'corrected', session_user, NULL, iap.present());
        END IF;
        RETURN 'already_delivered';
    END IF;
    owed_as := iap.owed_as(known);
    IF owed_as IS NOT NULL THEN
        -- Restored: it is owed under its other id, and may be claimed by this one.
        RETURN iap.admit(
            admit.bundle_id, admit.environment, owed_as, admit.original_transaction_id, admit.product_id,
            admit.quantity, admit.purchased_at, admit.user_id, admit.receipt_id, admit.web_order_line_item_id);
    ELSIF known.place = 'excluded' THEN
        RAISE EXCEPTION 'transaction % of % (%) is not owed: it is excluded as %',
            admit.transaction_id, admit.bundle_id, admit.environment, known.reason
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Don''t deliver it.';
    END IF;
    change.was := known;
    -- What Apple told goes before.
    known.web_order_line_item_id := coalesce(known.web_order_line_item_id, period);
    PERFORM iap.require_owed(known);
    IF (known.admitted_user_id IS NULL AND whose IS NOT NULL)
        OR (known.admitted_receipt_id IS NULL AND admit.receipt_id IS NOT NULL)
        OR known.web_order_line_item_id IS DISTINCT FROM (change.was).web_order_line_item_id
    THEN
        known.admitted_user_id := coalesce(known.admitted_user_id, whose);
        known.admitted_receipt_id := coalesce(known.admitted_receipt_id, admit.receipt_id);
        change.became := known;
        PERFORM iap.move(ARRAY[change], 'corrected', session_user, NULL, iap.present());
    END IF;
    RETURN 'already_white';
END
$$;

COMMENT ON FUNCTION iap.admit(bundle_id text, environment text, transaction_id text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, user_id text, receipt_id bigint, web_order_line_item_id text) IS 'Takes a purchase that the app''s server verified itself into the white table: white, already_white or already_delivered. A transaction that is excluded (refunded, dismissed, a sandbox purchase …), or refunded or dismissed under another id, is not owed: that is an error (55000), since no outcome would be true. receipt_id names the uploaded receipt it came with, if any; web_order_line_item_id, of a subscription, is Apple''s id of the period.';

CREATE FUNCTION iap.admit_owed(bundle_id text, environment text, transaction_id text, restored iap.change[], run bigint, at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    t        iap.transactions;
    change   iap.change;
    admitted record;
BEGIN
    SELECT (was).admitted_user_id, (was).admitted_receipt_id INTO admitted
    FROM unnest(restored)
    WHERE (was).admitted_user_id IS NOT NULL
    ORDER BY (was).entry_id
    LIMIT 1;
    IF NOT FOUND THEN
        RETURN true;
    END IF;
    SELECT * INTO t
    FROM transactions
    WHERE transaction_id = admit_owed.transaction_id AND bundle_id = admit_owed.bundle_id
        AND environment = admit_owed.environment AND place = 'white'
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
    ELSIF t.admitted_user_id IS NULL THEN
        change.was := t;
        t.admitted_user_id := admitted.admitted_user_id;
        t.admitted_receipt_id := coalesce(t.admitted_receipt_id, admitted.admitted_receipt_id);
        change.became := t;
        PERFORM iap.move(ARRAY[change], 'corrected', 'iap-reconcile', run, at);
    END IF;
    RETURN true;
END
$$;

COMMENT ON FUNCTION iap.admit_owed(bundle_id text, environment text, transaction_id text, restored iap.change[], run bigint, at timestamp with time zone) IS 'Has a purchase be for whom its app''s server admitted it under another id, of those that are withdrawn for its sake; false where it is white no more, or another session has it.';

CREATE FUNCTION iap.admitted_otherwise(t iap.transactions) RETURNS SETOF text
    LANGUAGE plpgsql STABLE ROWS 1
    AS $$
BEGIN
    IF t.admitted_user_id IS NOT NULL THEN
        RETURN QUERY
        SELECT DISTINCT kin.admitted_user_id
        FROM iap.other_ids_of(t) AS kin
        WHERE kin.admitted_user_id <> t.admitted_user_id;
    END IF;
END
$$;

COMMENT ON FUNCTION iap.admitted_otherwise(t iap.transactions) IS 'For whom else the app''s own server admitted a purchase, under another of its ids: each counts as the purchase, whichever it was told of first.';

CREATE FUNCTION iap.adopt(bundle_id text, signed_transaction text, user_id text, who text, note text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $_$
#variable_conflict use_column
DECLARE
    claims  jsonb := iap.signed_claims(adopt.signed_transaction);
    id      text := claims ->> 'transactionId';
    -- Of several purchases that make up a period, as seats that were added to it, none restores another.
    period  text := CASE
        WHEN claims ->> 'additionalTransactionReason' IS NULL
        THEN iap.period_said(claims ->> 'webOrderLineItemId')
    END;
    wanted  iap.transactions;
    receipt bigint;
    outcome text;
    owed_as text;
BEGIN
    PERFORM iap.commit_durably();
    PERFORM iap.require_bundle_id(adopt.bundle_id);
    PERFORM iap.require_text('user_id', adopt.user_id, 1000);
    PERFORM iap.require_text('who', adopt.who, 1000);
    PERFORM iap.require_text('note', adopt.note, 10000);
    IF id IS NULL OR claims ->> 'bundleId' IS NULL OR claims ->> 'productId' IS NULL
        OR iap.moment_said(claims ->> 'purchaseDate') IS NULL
        -- What the night can't read, must not pass for no refund, or for none that is to come.
        OR (claims ? 'revocationDate' AND iap.moment_said(claims ->> 'revocationDate') IS NULL)
        OR (claims ? 'expiresDate' AND iap.moment_said(claims ->> 'expiresDate') IS NULL)
        OR coalesce(claims ->> 'quantity', '1') !~ '^-?[0-9]{1,9}$'
    THEN
        RAISE EXCEPTION 'signed_transaction is no signed transaction of Apple''s' USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'It is what Look Up Order ID and Get Transaction Info answer, as it was sent.';
    ELSIF claims ->> 'bundleId' <> adopt.bundle_id THEN
        RAISE EXCEPTION 'transaction % is of the app %', id, claims ->> 'bundleId' USING
            ERRCODE = 'invalid_parameter_value';
    ELSIF claims ->> 'inAppOwnershipType' IN ('FAMILY_SHARED', 'ASSIGNED') THEN
        -- Another customer paid, also where it ended with the date of a refund.
        RETURN 'excluded';
    ELSIF claims ? 'revocationDate' THEN
        RETURN 'refunded';
    ELSIF lower(claims ->> 'isUpgraded') IN ('true', '1', 'yes') OR (claims ->> 'quantity')::integer < 1 THEN
        -- What replaced it is owed, or nothing was bought: the night would exclude it.
        RETURN 'excluded';
    END IF;

    -- What Apple signed names a subscription's period, and what is bought once: under another id it may have been
    -- delivered or refunded, whatever the list of products knows of it.
    wanted.transaction_id := id;
    wanted.bundle_id := adopt.bundle_id;
    wanted.environment := claims ->> 'environment';
    wanted.original_transaction_id := coalesce(claims ->> 'originalTransactionId', id);
    wanted.product_id := claims ->> 'productId';
    wanted.web_order_line_item_id := period;
    wanted.product_type := CASE
        WHEN period IS NOT NULL THEN 'auto_renewable' WHEN claims ->> 'type' = 'Non-Consumable' THEN 'non_consumable'
    END;
    IF iap.is_period_delivered(wanted) OR iap.is_delivered_otherwise(wanted) THEN
        RETURN 'already_delivered';
    ELSIF wanted.product_type IS NOT NULL
        AND (iap.is_refunded_otherwise(wanted) OR iap.is_dismissed_otherwise(wanted))
    THEN
        RETURN 'excluded';
    END IF;

    -- Before its receipt, as everyone locks them who locks both.
    PERFORM iap.locked(adopt.bundle_id, wanted.environment, id);
    -- The night verifies it, and learns the price.
    receipt := iap.submit_receipt(adopt.bundle_id, adopt.user_id, adopt.signed_transaction, id);
    BEGIN
        outcome := iap.admit(
            adopt.bundle_id, claims ->> 'environment', id, coalesce(claims ->> 'originalTransactionId', id),
            claims ->> 'productId', coalesce((claims ->> 'quantity')::integer, 1),
            iap.moment_said(claims ->> 'purchaseDate'), adopt.user_id, receipt, period);
    EXCEPTION
        WHEN object_not_in_prerequisite_state THEN
            -- The name stands for its whole class, in which a lock that was not to be had is, too.
            IF SQLSTATE <> '55000' THEN
                RAISE;
            END IF;
            RETURN 'excluded';
    END;
    IF outcome NOT IN ('white', 'already_white') THEN
        RETURN outcome;
    END IF;
    -- Of what was restored it admitted the id under which it is owed: whose that is the desk says.
    wanted := iap.locked(adopt.bundle_id, claims ->> 'environment', id);
    owed_as := iap.owed_as(wanted);
    IF owed_as IS NOT NULL THEN
        wanted := iap.locked(adopt.bundle_id, claims ->> 'environment', owed_as);
    END IF;
    IF adopt.user_id IS DISTINCT FROM iap.adopted_for(wanted) THEN
        PERFORM iap.log_desk(
            'adopted', adopt.who, wanted.transaction_id, adopt.bundle_id, wanted.environment,
            jsonb_build_object('user_id', adopt.user_id, 'note', adopt.note));
    END IF;
    -- The night writes what a grant has delivered before anybody knew of it; until then nobody gives it by hand.
    RETURN CASE WHEN iap.is_granted_already(wanted) THEN 'already_delivered' ELSE outcome END;
END
$_$;

COMMENT ON FUNCTION iap.adopt(bundle_id text, signed_transaction text, user_id text, who text, note text) IS 'Takes a purchase of which no receipt came into the ledger, by what Apple signed, for the user of whom the support desk says that it is theirs. Gives white or already_white, where it can then be resolved and is never delivered again, or already_delivered, excluded or refunded, where nothing is owed.';

CREATE FUNCTION iap.adopted_for(t iap.transactions) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    -- Not by ORDER BY and LIMIT, for which the planner would read the trail from its end.
    RETURN (
        SELECT (array_agg(details ->> 'user_id' ORDER BY event_id DESC))[1]
        FROM iap.events
        WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
            AND kind = 'adopted');
END
$$;

COMMENT ON FUNCTION iap.adopted_for(t iap.transactions) IS 'For whom the support desk adopted a transaction, by its latest word; NULL where it did not.';

CREATE FUNCTION iap.amount_of(price_milliunits bigint, currency text, is_trial boolean, quantity integer, list_price_milliunits bigint, list_currency text, is_family_shared boolean) RETURNS iap.amount
    LANGUAGE sql IMMUTABLE
    AS $_$
    SELECT CASE
        WHEN $7 THEN ROW(0, coalesce($2, $6), 'shared')::iap.amount
        WHEN $1 IS NOT NULL THEN ROW($1, $2, 'apple')::iap.amount
        WHEN $3 THEN ROW(0, $6, 'trial')::iap.amount
        WHEN $5 IS NULL OR $4 < 1 OR $5::numeric * $4 > 1000000000000000 THEN ROW(NULL, $6, 'unknown')::iap.amount
        ELSE ROW($5 * $4, $6, 'list')::iap.amount
    END
$_$;

COMMENT ON FUNCTION iap.amount_of(price_milliunits bigint, currency text, is_trial boolean, quantity integer, list_price_milliunits bigint, list_currency text, is_family_shared boolean) IS 'What finance counts a purchase as: nothing where another paid; what Apple says was paid; nothing for a free trial; else the list price times the quantity, unless nobody can have bought or paid that much.';

CREATE FUNCTION iap.analyze_grown() RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    SET default_statistics_target TO '25'
    AS $$
DECLARE
    grown text[];
    name  text;
BEGIN
    SELECT coalesce(array_agg(relname::text ORDER BY relname), '{}')
    INTO grown
    FROM pg_class AS looked_at
    WHERE relnamespace = 'iap'::regnamespace AND relname IN ('transactions', 'moves', 'sightings', 'cases')
        AND EXISTS (
            SELECT FROM pg_class AS stored
            -- Among years of deliveries what is white is a small part of the ledger, and all that the night looks for.
            WHERE stored.oid IN (looked_at.oid, to_regclass(format('iap.%I', looked_at.relname || '_white')))
                AND pg_relation_size(stored.oid)
                    > (1.2 * stored.relpages + 64) * current_setting('block_size')::bigint);
    FOREACH name IN ARRAY grown LOOP
        -- What is looked at already, or cleaned, is not waited for.
        EXECUTE format('ANALYZE (SKIP_LOCKED) iap.%I', name);
    END LOOP;
    RETURN grown;
END
$$;

COMMENT ON FUNCTION iap.analyze_grown() IS 'Lets the planner look at the tables of the ledger that have grown by a fifth since it looked at them last, or of which the white part has, and says which they are.';

CREATE FUNCTION iap.app_store_opened() RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ SELECT timestamptz '2008-07-10 00:00:00+00' $$;

COMMENT ON FUNCTION iap.app_store_opened() IS 'The day on which the App Store opened: nothing was bought before.';

CREATE FUNCTION iap.apps_of_user(user_id text) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    apps  text[] := '{}';
    place text;
    named text;
    found text[];
BEGIN
    FOR place, named IN
        VALUES
            ('receipts', 'user_id'), ('orders', 'user_id'), ('account_tokens', 'user_id'), ('sightings', 'user_id'),
            ('claims', 'user_id'), ('entitlements', 'user_id'), ('transactions', 'user_id'),
            ('transactions', 'admitted_user_id')
    LOOP
        EXECUTE format('SELECT array_agg(DISTINCT bundle_id) FROM iap.%I WHERE %I = $1', place, named)
        INTO found
        USING apps_of_user.user_id;
        apps := apps || found;
    END LOOP;
    RETURN ARRAY(SELECT DISTINCT app COLLATE "C" FROM unnest(apps) AS app ORDER BY 1);
END
$_$;

COMMENT ON FUNCTION iap.apps_of_user(user_id text) IS 'The apps in which a user did anything: apps that number their users on their own may give two people one id.';

CREATE FUNCTION iap.asked_after_expiry(expires_at timestamp with time zone, at timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN (expires_at > at) THEN (expires_at + '01:00:00'::interval) ELSE NULL::timestamp with time zone END;

COMMENT ON FUNCTION iap.asked_after_expiry(expires_at timestamp with time zone, at timestamp with time zone) IS 'When a subscriber is to be asked about, whose period expires then; NULL where it has expired.';

CREATE FUNCTION iap.await_writers() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    -- Without a lock_timeout a session that hangs would have it wait for ever.
    patience interval := coalesce(
        nullif(current_setting('lock_timeout')::interval, interval '0'), interval '10 seconds');
    since    timestamptz := clock_timestamp();
    writers  text[];
BEGIN
    SELECT array_agg(DISTINCT virtualtransaction) INTO writers
    FROM pg_locks
    WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND relation IN (
            'iap.claims'::regclass, 'iap.transactions'::regclass, 'iap.entitlements'::regclass,
            'iap.orders'::regclass, 'iap.receipts'::regclass, 'iap.account_tokens'::regclass,
            'iap.sightings'::regclass,
            -- On a cluster an upload is written by a worker alone: here it is seen by the number that it drew.
            'iap.receipt_number'::regclass)
        -- What is prepared, and not committed yet, has no session.
        AND mode = 'RowExclusiveLock' AND pid IS DISTINCT FROM pg_backend_pid();
    WHILE EXISTS (
        WITH RECURSIVE behind AS (
            SELECT pg_backend_pid() AS pid
            UNION
            SELECT waiting.pid
            FROM behind
            JOIN pg_locks AS waiting ON NOT waiting.granted AND behind.pid = ANY (pg_blocking_pids(waiting.pid))
        )
        SELECT FROM pg_locks
        WHERE virtualtransaction = ANY (writers) AND (pid IN (SELECT behind.pid FROM behind)) IS NOT TRUE
    ) LOOP
        IF clock_timestamp() > since + patience THEN
            RAISE EXCEPTION 'another session has been writing for more than %', patience USING
                ERRCODE = 'lock_not_available', HINT = 'Erase when it has ended: what it has written is not seen yet.';
        END IF;
        PERFORM pg_sleep(0.01);
    END LOOP;
END
$$;

COMMENT ON FUNCTION iap.await_writers() IS 'Waits, as long as for a lock, or ten seconds, until the sessions have ended their transactions that are writing where users are named, but for those that wait for the caller. Nobody waits for the caller for that.';

CREATE TABLE audit.frontier (
    is_only boolean DEFAULT true NOT NULL,
    upto bigint NOT NULL,
    gaps int8multirange NOT NULL,
    closed_at timestamp with time zone NOT NULL,
    horizon xid8 NOT NULL,
    CONSTRAINT frontier_is_only_check CHECK (is_only)
);

COMMENT ON TABLE audit.frontier IS 'How far the books are closed: one row.';

CREATE TABLE iap.books (
    run_id bigint NOT NULL,
    booked_on date NOT NULL,
    account text NOT NULL,
    day date NOT NULL,
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    currency text,
    price_source text NOT NULL,
    detail text,
    transactions bigint NOT NULL,
    units bigint NOT NULL,
    milliunits numeric,
    CONSTRAINT books_account_check CHECK ((account = ANY (ARRAY['owed'::text, 'delivered'::text, 'excluded'::text, 'refunded'::text, 'kept'::text])))
);

COMMENT ON TABLE iap.books IS 'The closed journal: what each run that closed its books found new of entries and moves, added up. Rows are added, and never changed or taken away.';

CREATE FUNCTION iap.booked(run bigint, closed date, before audit.frontier, upto bigint, gaps int8multirange) RETURNS SETOF iap.books
    LANGUAGE plpgsql STABLE
    AS $$
#variable_conflict use_variable
DECLARE
    as_of timestamptz := (SELECT runs.as_of FROM iap.runs WHERE run_id = run);
BEGIN
    RETURN QUERY
    SELECT *
    FROM (
        SELECT
            run, booked_on, account, line_day, bundle_id, product_id, currency, booked_as, line_detail,
            sum(counted * transactions)::bigint AS transactions, sum(counted * units)::bigint AS units,
            sum(iap.worth(account, line_detail, milliunits, refunded_milliunits)) AS milliunits
        -- Positions are many, and few of them differ in what finance counts: only sums have lines.
        FROM (
            SELECT
                iap.booked_on((at AT TIME ZONE 'UTC')::date, as_of, closed) AS booked_on, place, detail, day,
                refund_day, is_reversal, bundle_id, product_id, currency, booked_as, sum(transactions) AS transactions,
                sum(units) AS units, sum(milliunits) AS milliunits, sum(refunded_milliunits) AS refunded_milliunits
            FROM iap.positions
            WHERE iap.is_beyond(number, before.upto, before.gaps)
                -- The first half says no more than the second, and it is what an index can answer.
                AND number <= upto AND NOT iap.is_beyond(number, upto, gaps)
            GROUP BY 1, place, detail, day, refund_day, is_reversal, bundle_id, product_id, currency, booked_as
        ) AS position
        CROSS JOIN LATERAL iap.lines_of(place, detail, day, refund_day, is_reversal)
        GROUP BY booked_on, account, line_day, bundle_id, product_id, currency, booked_as, line_detail
    ) AS line
    -- What they come to, and not what was paid: of a refund its share alone may have been told anew.
    WHERE transactions <> 0 OR units <> 0 OR milliunits <> 0;
END
$$;

COMMENT ON FUNCTION iap.booked(run bigint, closed date, before audit.frontier, upto bigint, gaps int8multirange) IS 'What a run books of what entered and moved between two frontiers, where the days up to closed were closed before it.';

CREATE FUNCTION iap.booked_on(happened date, as_of timestamp with time zone, closed date) RETURNS date
    LANGUAGE sql IMMUTABLE
    RETURN GREATEST(LEAST(happened, (((as_of AT TIME ZONE 'UTC'::text))::date + 1)), (closed + 1));

COMMENT ON FUNCTION iap.booked_on(happened date, as_of timestamp with time zone, closed date) IS 'The day on which a run books what happened: that day, or the first that was not closed yet; at most the day after the run''s own, for what was written while the clock was ahead is no later than the run that found it.';

CREATE FUNCTION iap.bounded(device jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    bytes integer := octet_length(device::text);
BEGIN
    IF bytes IS NULL OR bytes <= 16384 THEN
        RETURN device;
    END IF;
    RETURN coalesce((
        SELECT jsonb_object_agg(key, value)
        FROM (
            SELECT key, value
            FROM jsonb_each(CASE jsonb_typeof(device) WHEN 'object' THEN device END)
            WHERE octet_length(key) <= 100 AND octet_length(value::text) <= 200
            ORDER BY key
            LIMIT 50
        ) AS short
    ), '{}') || jsonb_build_object('cut', true, 'bytes', bytes);
END
$$;

COMMENT ON FUNCTION iap.bounded(device jsonb) IS 'What a client said of its device, of at most 16 KiB: of more the short fields, and a mark.';

CREATE FUNCTION iap.carry_refunds(run bigint, at timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    known   record;
    told    iap.verified;
    carried bigint := 0;
BEGIN
    PERFORM iap.count_refunds_once(run, at);
    FOR known IN
        SELECT
            restored.transaction_id, restored.refunded_at, restored.refund_reason, restored.revocation_type,
            restored.revocation_percentage, restored.refund_told_at, locked.t
        FROM transactions AS restored
        CROSS JOIN LATERAL (
            -- Of several that were delivered, the one whose refund is known is enough.
            SELECT
                black.transaction_id, black.refunded_at, black.refund_reversed_at, black.refund_told_at,
                black.revocation_type, black.revocation_percentage
            FROM transactions AS black
            WHERE iap.is_of_original(
                    black.transaction_id, black.original_transaction_id, restored.original_transaction_id)
                AND black.bundle_id = restored.bundle_id AND black.environment = restored.environment
                AND black.place = 'black'
                AND iap.is_same_purchase(ROW(restored.*)::iap.transactions, ROW(black.*)::iap.transactions)
            ORDER BY black.refunded_at, black.transaction_id
            LIMIT 1
        ) AS delivered
        CROSS JOIN LATERAL (
            SELECT ROW(black.*)::iap.transactions AS t
            FROM transactions AS black
            WHERE black.transaction_id = delivered.transaction_id AND black.bundle_id = restored.bundle_id
                AND black.environment = restored.environment AND black.place = 'black'
                AND black.refunded_at IS NOT DISTINCT FROM delivered.refunded_at
            FOR UPDATE SKIP LOCKED
        ) AS locked
        WHERE restored.reason IN ('restored', 'dismissed') AND restored.refunded_at IS NOT NULL
            AND restored.refund_run_id IS NOT NULL AND NOT restored.is_family_shared
            AND CASE
                -- Of this id Apple said later that there is none.
                WHEN delivered.refunded_at IS NULL
                THEN (delivered.refund_reversed_at < restored.refunded_at) IS NOT FALSE
                -- Apple may have taken back what was carried, and refunded once more, before a night heard of either.
                WHEN iap.is_later_refund(restored.refunded_at, delivered.refunded_at)
                THEN restored.refund_told_at > delivered.refund_told_at AND iap.is_refunded_elsewhere(locked.t)
                -- What kind of refund it is may be told after it was carried.
                ELSE restored.revocation_type IS NOT NULL
                    AND (restored.revocation_type, restored.revocation_percentage)
                        IS DISTINCT FROM (delivered.revocation_type, delivered.revocation_percentage)
                    AND (delivered.revocation_type IS NULL OR restored.refund_told_at > delivered.refund_told_at)
                    AND iap.is_same_refund(restored.refunded_at, delivered.refunded_at)
            END
    LOOP
        told.refunded_at := known.refunded_at;
        told.refund_reason := known.refund_reason;
        told.revocation_type := known.revocation_type;
        told.revocation_percentage := known.revocation_percentage;
        told.made_at := known.refund_told_at;
        -- Two ids of one purchase may be refunded: the first has told of it.
        CONTINUE WHEN EXISTS (
            SELECT FROM transactions AS black
            WHERE black.transaction_id = (known.t).transaction_id AND black.bundle_id = (known.t).bundle_id
                AND black.environment = (known.t).environment
                AND black.move_id IS DISTINCT FROM (known.t).move_id);
        IF iap.is_later_refund(known.refunded_at, (known.t).refunded_at) THEN
            -- As if a night had come between them: each refund that is carried has a move that says from where.
            PERFORM iap.move(
                ARRAY[ROW(known.t, iap.refund_reversed(known.t, known.refunded_at))::iap.change], NULL,
                'iap-reconcile', run, at);
            known.t := iap.locked((known.t).bundle_id, (known.t).environment, (known.t).transaction_id);
        END IF;
        PERFORM iap.move(
            ARRAY[
                ROW(known.t, iap.refunded(known.t, told, coalesce((known.t).refund_run_id, run)))::iap.change],
            NULL, 'iap-reconcile', run, at, jsonb_build_object('refunded_as', known.transaction_id));
        carried := carried + 1;
    END LOOP;
    IF carried > 0 THEN
        -- What a person called refunded is so by Apple's word now.
        PERFORM iap.count_refunds_once(run, at);
    END IF;
    RETURN carried + iap.carry_reversals(run, at);
END
$$;

COMMENT ON FUNCTION iap.carry_refunds(run bigint, at timestamp with time zone) IS 'Has what was delivered refunded where Apple tells of the refund under another id of the purchase, and that refund reversed where it tells that; says of how many. A refund that Apple tells of the delivered id itself goes first.';

CREATE FUNCTION iap.carry_reversals(run bigint, at timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    known   record;
    carried bigint := 0;
BEGIN
    FOR known IN
        SELECT locked.t, restored.refund_reversed_at
        FROM moves
        CROSS JOIN LATERAL (
            SELECT ROW(black.*)::iap.transactions AS t
            FROM transactions AS black
            WHERE black.transaction_id = moves.transaction_id AND black.bundle_id = moves.bundle_id
                AND black.environment = moves.environment AND black.place = 'black'
                AND black.refund_run_id = moves.run_id
                AND (black.refunded_at AT TIME ZONE 'UTC')::date = moves.to_refund_day
            FOR UPDATE SKIP LOCKED
        ) AS locked
        JOIN transactions AS restored
            ON restored.transaction_id = moves.details ->> 'refunded_as' AND restored.bundle_id = moves.bundle_id
                AND restored.environment = moves.environment
        WHERE moves.details ? 'refunded_as' AND moves.kind = 'refunded' AND restored.refunded_at IS NULL
    LOOP
        PERFORM iap.move(
            ARRAY[ROW(known.t, iap.paid_again(known.t, coalesce(known.refund_reversed_at, at), at))::iap.change], NULL,
            'iap-reconcile', run, at);
        carried := carried + 1;
    END LOOP;
    RETURN carried;
END
$$;

COMMENT ON FUNCTION iap.carry_reversals(run bigint, at timestamp with time zone) IS 'Has refunds that iap.carry_refunds carried to what was delivered reversed, where Apple took them back under the other id of the purchase, and says of how many.';

CREATE FUNCTION iap.case_mark(opened_run_id bigint, opened_at timestamp with time zone, move_id bigint, product_id text, quantity integer, owner_user_ids text[], periods text[]) RETURNS text
    LANGUAGE sql STABLE
    RETURN (("left"(encode(sha256(convert_to((jsonb_build_array(opened_run_id, EXTRACT(epoch FROM opened_at)))::text, 'UTF8'::name)), 'hex'::text), 8) || '-'::text) || "left"(encode(sha256(convert_to((jsonb_build_array(opened_run_id, EXTRACT(epoch FROM opened_at), move_id, product_id, quantity, owner_user_ids, periods))::text, 'UTF8'::name)), 'hex'::text), 8));

COMMENT ON FUNCTION iap.case_mark(opened_run_id bigint, opened_at timestamp with time zone, move_id bigint, product_id text, quantity integer, owner_user_ids text[], periods text[]) IS 'A short mark of a case as a report shows it: of its opening, and of what a decision rests on, which is its transaction''s latest move, what was bought, its owners and its periods.';

CREATE FUNCTION iap.certain_owner(t iap.transactions) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    owners text[] := iap.owners_of(t);
    judged record;
BEGIN
    IF cardinality(owners) > 1
        -- What is taken back was mostly refunded, as Apple will say when it is asked. An old signature that is looked
        -- at again, which counts a night, says nothing of it.
        OR EXISTS (
            SELECT FROM moves
            WHERE moves.transaction_id = t.transaction_id AND moves.bundle_id = t.bundle_id
                AND moves.environment = t.environment AND kind = 'revoked' AND moved_at > t.verified_at)
        -- Of what was granted, and had yet to leave white, no move tells that.
        OR EXISTS (
            SELECT FROM entitlements AS e
            WHERE e.original_transaction_id = t.original_transaction_id AND e.bundle_id = t.bundle_id
                AND e.revoked_at > t.verified_at)
    THEN
        RETURN NULL;
    END IF;
    SELECT owner_user_ids, reasons INTO judged
    FROM cases
    WHERE cases.transaction_id = t.transaction_id AND cases.bundle_id = t.bundle_id
        AND cases.environment = t.environment AND state = 'open';
    IF FOUND THEN
        RETURN CASE
            WHEN cardinality(judged.owner_user_ids) = 1 AND owners <@ judged.owner_user_ids
                AND NOT judged.reasons && ARRAY['owner_ambiguous', 'owner_uncertain']
            THEN judged.owner_user_ids[1]
        END;
    END IF;
    -- What no night has judged yet: token and admission are certain, and an upload for it where nobody else's is known.
    IF t.admitted_user_id IS NULL
        AND NOT EXISTS (SELECT FROM iap.owners_by_token(t.bundle_id, t.app_account_token))
        AND NOT (
            SELECT coalesce(bool_or(is_named) AND bool_and(user_id IS NULL OR user_id = owners[1]), false)
            FROM sightings
            WHERE sightings.transaction_id = t.transaction_id AND sightings.bundle_id = t.bundle_id
                AND sightings.environment = t.environment)
    THEN
        RETURN NULL;
    END IF;
    RETURN owners[1];
END
$$;

COMMENT ON FUNCTION iap.certain_owner(t iap.transactions) IS 'The one user whom a white transaction belongs to, and whom iap.claim gives it to; NULL where more than one may have paid, or nobody is known. The case decides where there is one: it looks at more than a claim does.';

CREATE FUNCTION iap.claim(bundle_id text, transaction_id text, user_id text, order_id text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    t       iap.transactions;
    outcome text;
    at      timestamptz := iap.present();
    who     text := 'claim:' || claim.user_id;
    attempt iap.claims;
    wanted  text := nullif(claim.order_id, '');
    is_ours boolean := true;
    is_new  boolean := false;
    owed_as text;
    type    text;
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_bundle_id(claim.bundle_id);
    PERFORM iap.require_transaction_id('transaction_id', claim.transaction_id);
    PERFORM iap.require_text('user_id', claim.user_id, 1000);
    IF wanted IS NOT NULL THEN
        PERFORM iap.require_text('order_id', wanted, 1000);
    END IF;

    PERFORM iap.meet_grants(claim.bundle_id, claim.transaction_id);
    t := iap.held_for_claim(claim.bundle_id, claim.transaction_id);
    -- Who restores a purchase may hold no other id of it than the one that it was restored under.
    IF t.reason = 'restored' AND iap.standing(t) <> 'already_delivered' AND NOT iap.is_elsewhere(t) THEN
        owed_as := iap.owed_as(t);
        -- A tester's may be owed under an id that is another purchase's in production.
        IF owed_as IS NOT NULL AND t.environment = 'Sandbox' AND EXISTS (
            SELECT FROM iap.transactions AS other
            WHERE other.transaction_id = owed_as AND other.bundle_id = t.bundle_id
                AND other.environment = 'Production')
        THEN
            outcome := 'undecided';
        ELSIF owed_as IS NOT NULL THEN
            RETURN iap.claim(claim.bundle_id, owed_as, claim.user_id, claim.order_id);
        END IF;
    END IF;
    -- An order that is about to be purged as never paid is looked at again before it goes.
    PERFORM FROM iap.orders WHERE order_id = wanted COLLATE "default" AND bundle_id = claim.bundle_id FOR KEY SHARE;
    outcome := coalesce(outcome, iap.claim_outcome(t, claim.user_id, wanted));
    IF outcome IS NULL AND wanted IS NOT NULL THEN
        SELECT order_is.is_ours, order_is.is_new INTO is_ours, is_new FROM iap.take_order(t, wanted) AS order_is;
        IF NOT is_ours THEN
            outcome := 'order_used';
        END IF;
    END IF;
    IF outcome IS NULL THEN
        type := iap.type_of(t);
        outcome := iap.take_for_delivery(t, type);
        IF outcome IS NULL AND type IS DISTINCT FROM 'consumable'
            AND (iap.refunded_meanwhile_as(t) IS NOT NULL OR iap.is_dismissed_otherwise(t))
        THEN
            PERFORM iap.release_originals(ARRAY[ROW(t, t)::iap.change]);
            outcome := 'excluded';
        END IF;
    END IF;
    IF outcome = 'already_delivered' AND t.place = 'white'
        AND (iap.is_delivered_otherwise(t) OR iap.is_period_delivered(t))
    THEN
        PERFORM iap.move(
            ARRAY[ROW(t, iap.excluded(t, 'restored', NULL, at))::iap.change], 'withdrawn', session_user, NULL, at,
            '{}', who);
    END IF;

    attempt.transaction_id := claim.transaction_id;
    attempt.bundle_id := claim.bundle_id;
    attempt.user_id := claim.user_id;
    attempt.order_id := wanted;
    attempt.attempted_at := now();
    attempt.outcome := coalesce(outcome, 'delivered');
    attempt.outcome := iap.note_attempt(attempt, t);
    IF is_new AND attempt.outcome <> 'delivered' THEN
        DELETE FROM iap.delivered_orders WHERE order_id = wanted COLLATE "default" AND bundle_id = t.bundle_id;
    END IF;
    IF attempt.outcome = 'delivered' THEN
        PERFORM iap.move(
            ARRAY[ROW(t, iap.delivered(t, claim.user_id, wanted, 'claim', at))::iap.change], 'claimed',
            session_user, NULL, at, jsonb_build_object('user_id', claim.user_id, 'order_id', wanted), who);
        PERFORM iap.withdraw_restored(t, session_user, at, who);
    END IF;
    RETURN attempt.outcome;
END
$$;

COMMENT ON FUNCTION iap.claim(bundle_id text, transaction_id text, user_id text, order_id text) IS 'Moves one transaction from white to black, in the caller''s transaction, which credits the goods: delivered, or why not: already_delivered, not_verified, wrong_user, order_used by another purchase, excluded, or undecided, which is for the support desk. A restored non-consumable is claimed as the purchase, where that is still owed. Exactly one of any number of concurrent claims gets delivered; the others wait for it to commit or roll back. Credit the goods only on delivered.';

CREATE FUNCTION iap.claim_outcome(t iap.transactions, user_id text, order_id text) RETURNS text
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    owners    text[];
    otherwise text;
BEGIN
    IF iap.standing(t) <> 'white' THEN
        RETURN iap.standing(t);
    END IF;
    otherwise := iap.outcome_otherwise(t);
    IF otherwise IN ('excluded', 'already_delivered') THEN
        RETURN otherwise;
    END IF;
    owners := iap.owners_of(t);
    -- Orders are looked for in the collation that they are sorted by: see iap.receipts_of.
    IF EXISTS (
        SELECT FROM orders
        WHERE orders.order_id = claim_outcome.order_id COLLATE "default" AND orders.bundle_id = t.bundle_id
            AND orders.user_id <> claim_outcome.user_id)
        OR (cardinality(owners) = 1 AND owners[1] <> claim_outcome.user_id)
    THEN
        RETURN 'wrong_user';
    ELSIF iap.is_order_used(t, claim_outcome.order_id) THEN
        RETURN 'order_used';
    ELSIF cardinality(owners) > 1 THEN
        RETURN 'undecided';
    END IF;
    RETURN otherwise;
END
$$;

COMMENT ON FUNCTION iap.claim_outcome(t iap.transactions, user_id text, order_id text) IS 'Why a claim gets nothing; NULL where it may be delivered.';

CREATE FUNCTION iap.close_books(run bigint) RETURNS iap.white_totals
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    SET work_mem TO '64MB'
    AS $$
#variable_conflict use_variable
DECLARE
    before      audit.frontier;
    now_upto    bigint;
    now_gaps    int8multirange;
    now_late    bigint[];
    now_horizon xid8;
    now_oldest  xid8;
    totals      iap.white_totals;
    closed      date;
BEGIN
    -- One run at a time. Which days the one before closed is seen once it has.
    SELECT * INTO before FROM audit.frontier FOR UPDATE;
    SELECT max(closed_through) INTO closed FROM iap.runs;
    WITH seen AS MATERIALIZED (
        SELECT number
        FROM (
            SELECT entry_id AS number FROM iap.transactions
            UNION ALL
            SELECT move_id FROM iap.moves
            UNION ALL
            SELECT event_id FROM iap.events
        ) AS numbered
        WHERE iap.is_beyond(number, before.upto, before.gaps)
    ), gap AS (
        SELECT int8range(number + 1, next) AS gap
        FROM (
            SELECT number, lead(number) OVER (ORDER BY number) AS next
            FROM (
                SELECT number FROM seen WHERE number > before.upto
                UNION ALL
                SELECT before.upto
            ) AS bounded
        ) AS pair
        WHERE next > number + 1
    )
    SELECT
        greatest((SELECT max(number) FROM seen), before.upto),
        coalesce((SELECT range_agg(gap) FROM gap), '{}'),
        coalesce((SELECT array_agg(number ORDER BY number) FROM seen WHERE number <= before.upto), '{}'),
        pg_snapshot_xmax(pg_current_snapshot()), pg_snapshot_xmin(pg_current_snapshot())
    INTO now_upto, now_gaps, now_late, now_horizon, now_oldest;
    -- By what that statement saw, for it saw nothing of what has ended since. A number is drawn a moment before its
    -- transaction is counted among those that run. A horizon in the future is of another server, from which these
    -- tables were restored: there nothing runs any more.
    IF NOT (
        (before.horizon <= now_oldest
            AND before.closed_at < clock_timestamp() - interval '10 minutes')
        OR before.horizon > now_horizon)
    THEN
        now_gaps := now_gaps + before.gaps - (
            SELECT coalesce(range_agg(int8range(number, number + 1)), '{}') FROM unnest(now_late) AS number);
    END IF;

    totals := iap.white_totals(before, now_upto, now_gaps);
    INSERT INTO iap.books SELECT * FROM iap.booked(run, closed, before, now_upto, now_gaps);

    INSERT INTO audit.links (position, run_id, sealed_at, upto, late, entries, link)
    SELECT
        coalesce(last.position, 0) + 1, run, clock_timestamp(), now_upto, now_late, block.entries,
        sha256(coalesce(last.link, audit.first_link()) || block.digest)
    FROM audit.block(before.upto, now_upto, now_late, now_gaps) AS block
    LEFT JOIN (SELECT position, link FROM audit.links ORDER BY position DESC LIMIT 1) AS last ON true;

    -- What was claimed since the sweep began lies behind the frontier from now on.
    PERFORM iap.connect();
    UPDATE audit.frontier SET upto = now_upto, gaps = now_gaps, closed_at = clock_timestamp(),
        horizon = now_horizon;
    UPDATE iap.runs
    SET closed_through = greatest(closed, (as_of AT TIME ZONE 'UTC')::date - 1)
    WHERE run_id = run;
    RETURN totals;
END
$$;

COMMENT ON FUNCTION iap.close_books(run bigint) IS 'Closes the books for a run: adds up for finance what entered and moved since they were closed last, continues the chain over it, closes the days before the run''s own for good, and gives what entered and left white. What other sessions have not committed yet is for the next run.';

CREATE FUNCTION iap.commit_durably() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        -- The least that outlives a crash: it waits for no other server.
        PERFORM set_config('synchronous_commit', 'local', true);
    END IF;
END
$$;

COMMENT ON FUNCTION iap.commit_durably() IS 'Has the caller''s transaction be on disk before its commit is acknowledged, also where a server, a database or a login wants no waiting for that: of what was acknowledged, a crash would forget the last moments. A delivery that is forgotten is made again, and an upload that is forgotten is a lost order.';

CREATE FUNCTION iap.confirm(purchases iap.verified[]) RETURNS iap.standing[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    confirmed iap.standing[];
BEGIN
    WITH held AS MATERIALIZED (
        SELECT
            v.number, v.source, v.verified_at, coalesce(v.confirmed_at, v.verified_at) AS confirmed_at, found.*
        FROM unnest(purchases) AS v
        CROSS JOIN LATERAL (
            SELECT t.transaction_id, t.bundle_id, t.environment
            FROM transactions AS t
            WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id
                AND t.environment = v.environment
                AND iap.is_confirmation(ROW(t.*)::iap.transactions, v::iap.verified)
            FOR UPDATE SKIP LOCKED
        ) AS found
    ), done AS (
        UPDATE transactions AS t
        SET nights_confirmed = t.nights_confirmed + 1, last_confirmed_at = held.confirmed_at,
            verified_at = CASE WHEN held.source = t.source THEN held.verified_at ELSE t.verified_at END
        FROM held
        WHERE t.transaction_id = held.transaction_id AND t.bundle_id = held.bundle_id
            AND t.environment = held.environment
        RETURNING held.number, t.transaction_id, t.quantity, t.place
    )
    SELECT array_agg(ROW(number, transaction_id, quantity, place, false)::iap.standing) INTO confirmed FROM done;
    RETURN coalesce(confirmed, '{}');
END
$$;

COMMENT ON FUNCTION iap.confirm(purchases iap.verified[]) IS 'Counts the night for transactions of which Apple says what it said before, but for those that another session has locked, or changed meanwhile. Says which it counted for.';

CREATE FUNCTION iap.connect() RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    closed audit.frontier := (SELECT frontier FROM audit.frontier);
BEGIN
    INSERT INTO connections (bundle_id, environment, product_type, connected_at)
    SELECT
        delivery.bundle_id, delivery.environment,
        coalesce(iap.type_by(delivery.product_type, delivery.source, products.type), 'unknown'), min(delivery.at)
    FROM (
        SELECT t.bundle_id, t.environment, t.product_id, t.product_type, t.source, moves.moved_at AS at
        FROM moves
        CROSS JOIN LATERAL (
            SELECT * FROM transactions AS found
            WHERE found.transaction_id = moves.transaction_id AND found.bundle_id = moves.bundle_id
                AND found.environment = moves.environment
            OFFSET 0
        ) AS t
        WHERE moves.kind IN ('claimed', 'imported') AND iap.is_beyond(moves.move_id, closed.upto, closed.gaps)
        UNION ALL
        SELECT bundle_id, environment, product_id, product_type, source, first_seen_at
        FROM transactions
        WHERE delivered_by = 'import' AND iap.is_beyond(entry_id, closed.upto, closed.gaps)
    ) AS delivery
    LEFT JOIN products ON products.bundle_id = delivery.bundle_id AND products.product_id = delivery.product_id
    GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3
    ON CONFLICT (bundle_id, environment, product_type) DO NOTHING;
END
$$;

COMMENT ON FUNCTION iap.connect() IS 'Notes which apps have begun to claim purchases of which type, or had deliveries imported, since the books were closed last.';

CREATE FUNCTION iap.corrected(t iap.transactions, v iap.verified) RETURNS iap.transactions
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'auto'
    AS $$
DECLARE
    was iap.transactions := t;
BEGIN
    IF v.source > t.source THEN
        t.original_transaction_id := v.original_transaction_id;
        t.product_id := v.product_id;
        t.purchased_at := v.purchased_at;
        t.is_trial := v.is_trial;
        t.web_order_line_item_id := coalesce(v.web_order_line_item_id, t.web_order_line_item_id);
        IF v.quantity > 0 OR t.place = 'excluded' THEN
            t.quantity := v.quantity;
        END IF;
        IF v.price_milliunits IS NOT NULL THEN
            t.price_milliunits := v.price_milliunits;
            t.currency := v.currency;
        END IF;
    END IF;
    -- A notification may be older than what is known.
    IF v.source > t.source OR (v.source = t.source AND v.verified_at >= t.verified_at) THEN
        t.product_type := coalesce(
            v.product_type, CASE WHEN t.product_id = was.product_id THEN t.product_type END);
        t.expires_at := coalesce(v.expires_at, t.expires_at);
        t.source := v.source;
        t.verified_at := v.verified_at;
    ELSE
        t.product_type := coalesce(t.product_type, v.product_type);
        t.expires_at := coalesce(t.expires_at, v.expires_at);
    END IF;
    t.original_purchased_at := coalesce(t.original_purchased_at, v.original_purchased_at);
    t.web_order_line_item_id := coalesce(t.web_order_line_item_id, v.web_order_line_item_id);
    -- Whose user was erased stays without, however often Apple tells it.
    IF NOT iap.is_pseudonym(coalesce(t.user_id, t.admitted_user_id, '')) THEN
        t.app_account_token := coalesce(t.app_account_token, v.app_account_token);
    END IF;
    t.app_transaction_id := coalesce(t.app_transaction_id, v.app_transaction_id);
    t.storefront := coalesce(t.storefront, v.storefront);
    t.found_bundle_id := coalesce(t.found_bundle_id, v.found_bundle_id);
    IF t.price_milliunits IS NULL THEN
        t.price_milliunits := v.price_milliunits;
        t.currency := v.currency;
    END IF;
    -- Neither an app's server nor an import says so.
    t.is_family_shared := t.is_family_shared OR coalesce(v.exclusion = 'family_shared', false);
    IF (t.price_milliunits, t.currency, t.is_trial, t.product_id, t.quantity, t.is_family_shared)
        IS DISTINCT FROM (
            was.price_milliunits, was.currency, was.is_trial, was.product_id, was.quantity, was.is_family_shared)
    THEN
        t := iap.rebooked(t, was);
    END IF;
    RETURN t;
END
$$;

COMMENT ON FUNCTION iap.corrected(t iap.transactions, v iap.verified) IS 'A transaction with what somebody else says of it: a better source corrects, one as good adds what is newer, a poorer one only fills in what was not known. Booked anew where what was bought or paid is another.';

CREATE FUNCTION iap.count_purgeable(payloads_before timestamp with time zone, devices_before timestamp with time zone, OUT payloads bigint, OUT devices bigint) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM iap.limit_waiting();
    SELECT count(*) INTO payloads
    FROM iap.purgeable
    WHERE payload_purged_at IS NULL AND (is_erased OR last_attempt_at < payloads_before);
    SELECT count(*) INTO devices
    FROM iap.purgeable
    WHERE device IS NOT NULL AND last_attempt_at < devices_before;
END
$$;

COMMENT ON FUNCTION iap.count_purgeable(payloads_before timestamp with time zone, devices_before timestamp with time zone, OUT payloads bigint, OUT devices bigint) IS 'How many payloads and devices a purge would take away.';

CREATE FUNCTION iap.count_refunds_once(run bigint, at timestamp with time zone, corrected iap.transactions[] DEFAULT NULL::iap.transactions[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    since  timestamptz := iap.looks_back_to(at);
    known  record;
    closed record;
BEGIN
    -- Of numbers that it does not see, the planner takes a third of all that ever moved to lie beyond.
    SELECT * INTO closed FROM audit.frontier;
    FOR known IN
        WITH recent AS MATERIALIZED (
            SELECT transaction_id, bundle_id, environment
            FROM moves
            WHERE corrected IS NULL AND iap.is_beyond(move_id, closed.upto, closed.gaps)
                AND kind IN ('imported', 'entitled', 'refunded')
            UNION
            SELECT transaction_id, bundle_id, environment
            FROM transactions
            WHERE corrected IS NULL AND iap.is_beyond(entry_id, closed.upto, closed.gaps) AND delivered_by = 'import'
            UNION
            -- Another session may hold one of both, and no night have come for long.
            SELECT transaction_id, bundle_id, environment
            FROM transactions
            WHERE corrected IS NULL AND place = 'excluded' AND reason = 'refunded'
                AND excluded_at > since
            UNION
            -- However long ago, what was not known to be bought once, and is listed so by now: see iap.type_by.
            SELECT refunded.transaction_id, products.bundle_id, refunded.environment
            FROM products
            CROSS JOIN LATERAL (
                SELECT transaction_id, environment
                FROM transactions AS t
                WHERE t.bundle_id = products.bundle_id AND t.product_id = products.product_id AND t.reason = 'refunded'
                    AND (
                        t.product_type IS NULL
                        OR (t.product_type IN ('consumable', 'non_renewing')
                            AND t.source IN ('app_server', 'verify_receipt')))
                OFFSET 0
            ) AS refunded
            WHERE corrected IS NULL AND products.type = 'non_consumable'
            UNION
            SELECT transaction_id, bundle_id, environment
            FROM unnest(corrected)
        ), told AS MATERIALIZED (
            SELECT t.*
            FROM recent
            CROSS JOIN LATERAL (
                SELECT
                    transaction_id, bundle_id, environment, original_transaction_id, web_order_line_item_id,
                    iap.type_of(ROW(t.*)::iap.transactions) AS product_type, place, reason
                FROM transactions AS t
                WHERE t.transaction_id = recent.transaction_id AND t.bundle_id = recent.bundle_id
                    AND t.environment = recent.environment
                OFFSET 0
            ) AS t
        ), refunded AS MATERIALIZED (
            SELECT transaction_id, bundle_id, environment FROM told WHERE reason = 'refunded'
            UNION
            -- A claim asks whether another id was refunded; who grants, or delivered before, does not. Of two that are
            -- refunded either may have to give way, however long it has been known.
            SELECT period.transaction_id, told.bundle_id, told.environment
            FROM told
            CROSS JOIN LATERAL (
                SELECT transaction_id
                FROM transactions AS period
                WHERE period.original_transaction_id = told.original_transaction_id
                    AND period.web_order_line_item_id = told.web_order_line_item_id
                    AND period.bundle_id = told.bundle_id AND period.environment = told.environment
                    AND starts_with(period.place, 'excluded') AND period.refunded_at IS NOT NULL
                    AND period.web_order_line_item_id IS NOT NULL
                OFFSET 0
            ) AS period
            WHERE told.web_order_line_item_id IS NOT NULL
            UNION
            SELECT kin.transaction_id, told.bundle_id, told.environment
            FROM told
            CROSS JOIN LATERAL (
                SELECT transaction_id
                FROM transactions AS kin
                WHERE iap.is_of_original(
                        kin.transaction_id, kin.original_transaction_id, told.original_transaction_id)
                    AND kin.bundle_id = told.bundle_id AND kin.environment = told.environment
                    AND kin.refunded_at IS NOT NULL
                OFFSET 0
            ) AS kin
            WHERE told.web_order_line_item_id IS NULL
                AND coalesce(told.product_type, 'non_consumable') = 'non_consumable'
        ), found AS (
            SELECT DISTINCT ON (t.transaction_id, t.bundle_id, t.environment)
                t.transaction_id, t.bundle_id, t.environment, stands.transaction_id AS known_as,
                CASE stands.place WHEN 'black' THEN 'delivered_as' ELSE 'refunded_as' END AS how
            FROM refunded
            -- By its key: a join would read all that there is, where next to nothing is refunded.
            CROSS JOIN LATERAL (
                SELECT *
                FROM transactions AS of_it
                WHERE of_it.transaction_id = refunded.transaction_id AND of_it.bundle_id = refunded.bundle_id
                    AND of_it.environment = refunded.environment
                OFFSET 0
            ) AS t
            CROSS JOIN LATERAL (
                SELECT *
                FROM transactions AS same
                WHERE iap.is_of_original(
                        same.transaction_id, same.original_transaction_id, t.original_transaction_id)
                    AND same.bundle_id = t.bundle_id AND same.environment = t.environment
                    AND same.transaction_id <> t.transaction_id
                    AND (
                        same.place = 'black'
                        OR (
                            same.reason = 'refunded'
                            AND (
                                -- A person's word stays, and so Apple's tells of the same money.
                                same.refund_run_id IS NULL
                                OR (same.transaction_id <> same.original_transaction_id, same.transaction_id)
                                    < (t.transaction_id <> t.original_transaction_id, t.transaction_id))))
                    AND iap.is_same_purchase(ROW(t.*)::iap.transactions, ROW(same.*)::iap.transactions)
                OFFSET 0
            ) AS stands
            -- By Apple's word: what a person called refunded, they look after, until Apple tells of it for what was
            -- delivered.
            WHERE t.reason = 'refunded'
                AND (t.refund_run_id IS NOT NULL OR (stands.place = 'black' AND stands.refund_run_id IS NOT NULL))
            ORDER BY
                t.transaction_id, t.bundle_id, t.environment, stands.place <> 'black', stands.transaction_id
        )
        SELECT found.how, found.known_as, locked.t
        FROM found
        CROSS JOIN LATERAL (
            SELECT ROW(refunded.*)::iap.transactions AS t
            FROM transactions AS refunded
            WHERE refunded.transaction_id = found.transaction_id AND refunded.bundle_id = found.bundle_id
                AND refunded.environment = found.environment AND refunded.reason = 'refunded'
            FOR UPDATE SKIP LOCKED
        ) AS locked
    LOOP
        PERFORM iap.move(
            ARRAY[ROW(known.t, iap.excluded(known.t, 'restored', run, at))::iap.change], 'corrected', 'iap-reconcile',
            run, at, jsonb_build_object(known.how, known.known_as));
    END LOOP;
END
$$;

COMMENT ON FUNCTION iap.count_refunds_once(run bigint, at timestamp with time zone, corrected iap.transactions[]) IS 'Has a refund that Apple tells of under another id than the purchase was delivered under, or under two ids, count as one: the other id is restored. So is what a person called refunded, where Apple tells of it for what was delivered. Begins from what was refunded in the week before the books were closed or later, or delivered since then, or is bought once as only the list of products says; or from these alone, of which Apple tells another original or period than was known.';

CREATE FUNCTION iap.count_unpaid_orders(before timestamp with time zone, OUT orders bigint, OUT oldest timestamp with time zone) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM iap.limit_waiting();
    SELECT count(*), min(created_at) INTO orders, oldest FROM iap.unpaid_orders WHERE created_at < before;
END
$$;

COMMENT ON FUNCTION iap.count_unpaid_orders(before timestamp with time zone, OUT orders bigint, OUT oldest timestamp with time zone) IS 'How many orders a purge would take away, and when the oldest of them was opened.';

CREATE FUNCTION iap.cover(changes iap.change[], run bigint, at timestamp with time zone, actor text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    change    iap.change;
    refusal   text;
    delivered iap.change[] := '{}';
    restored  iap.change[] := '{}';
BEGIN
    FOREACH change IN ARRAY coalesce(changes, '{}') LOOP
        refusal := iap.take_for_entitlement(change.was);
        IF refusal IS NULL THEN
            delivered := delivered || change;
        ELSIF refusal = 'already_delivered' THEN
            -- Bought once, and owed once.
            change.became := iap.excluded(change.was, 'restored', run, at);
            restored := restored || change;
        END IF;
    END LOOP;
    IF delivered <> '{}' THEN
        PERFORM iap.move(delivered, 'entitled', actor, run, at, '{}', 'entitlement');
    END IF;
    IF restored <> '{}' THEN
        PERFORM iap.move(restored, 'withdrawn', actor, run, at, '{}', 'entitlement');
    END IF;
    RETURN cardinality(delivered) + cardinality(restored);
END
$$;

COMMENT ON FUNCTION iap.cover(changes iap.change[], run bigint, at timestamp with time zone, actor text) IS 'Writes that purchases were delivered by an entitlement, and says how many left white. A non-consumable, or a period, that was delivered under another id is not owed; what nobody knows the type of is left for a person then, and what another session is about to deliver for the next time.';

CREATE FUNCTION iap.cover_entitled(run bigint, at timestamp with time zone, most integer) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    changes iap.change[];
    reached iap.transactions;
    covered bigint;
BEGIN
    reached.bundle_id := '';
    reached.purchased_at := '-infinity';
    reached.transaction_id := '';
    reached.environment := '';
    -- Page by page, past those that stay.
    LOOP
        changes := iap.granted_after(reached, at, most);
        covered := iap.cover(changes, run, at, 'iap-reconcile');
        EXIT WHEN covered > 0 OR cardinality(changes) < most;
        reached := (changes[cardinality(changes)]).was;
    END LOOP;
    RETURN covered;
END
$$;

COMMENT ON FUNCTION iap.cover_entitled(run bigint, at timestamp with time zone, most integer) IS 'Moves so many periods at most from white to black that an entitlement covers, and says how many: none, where none is left. What another session has locked is left for the next time.';

CREATE TABLE iap.entitlements (
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL,
    entitled_until timestamp with time zone NOT NULL,
    first_granted_at timestamp with time zone NOT NULL,
    granted_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    shorter iap.word[] DEFAULT '{}'::iap.word[] NOT NULL,
    seal bigint
);

COMMENT ON TABLE iap.entitlements IS 'Until when the apps'' servers have granted subscriptions: a row for each original transaction.';

COMMENT ON COLUMN iap.entitlements.seal IS 'Of the whole row: see audit.seal.';

CREATE FUNCTION iap.cover_superseded(words iap.entitlements[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    at      timestamptz := iap.present();
    known   iap.entitlements[];
    changes iap.change[];
BEGIN
    SELECT array_agg(held.e) INTO known
    FROM (
        SELECT ROW(e.*)::iap.entitlements AS e
        FROM entitlements AS e
        JOIN (
            SELECT
                original_transaction_id, bundle_id, min(least(entitled_until, revoked_at)) AS first_end,
                max(least(entitled_until, revoked_at)) AS last_end, bool_or(revoked_at IS NULL) AS goes_on
            FROM unnest(words)
            GROUP BY original_transaction_id, bundle_id
        ) AS said USING (original_transaction_id, bundle_id)
        -- Most rows of a company's table say again what they said the night before.
        WHERE said.first_end <> e.entitled_until OR said.last_end <> e.entitled_until
            OR (e.revoked_at IS NOT NULL AND said.goes_on)
        ORDER BY original_transaction_id, bundle_id
        FOR UPDATE OF e
    ) AS held;
    SELECT array_agg(ROW(t, iap.delivered(t, user_id, NULL, 'entitlement', at))::iap.change) INTO changes
    FROM (
        SELECT ROW(white.*)::iap.transactions AS t, e.user_id
        FROM unnest(known) AS e
        JOIN transactions AS white
            ON iap.is_of_original(
                    white.transaction_id, white.original_transaction_id, e.original_transaction_id)
                AND white.bundle_id = e.bundle_id AND white.place = 'white'
        WHERE iap.is_granted(ROW(white.*)::iap.transactions, ROW(e.*)::iap.entitlements, at)
        ORDER BY white.transaction_id, white.bundle_id, white.environment
        FOR UPDATE OF white SKIP LOCKED
    ) AS held;
    PERFORM iap.cover(changes, NULL, at, session_user);
END
$$;

COMMENT ON FUNCTION iap.cover_superseded(words iap.entitlements[]) IS 'Writes what grants delivered that an import is about to say another word on. The night has yet to do so where the last import was after it, or where it broke off; and the word that comes may be late for what was granted in time.';

CREATE FUNCTION iap.decide(transaction_id text, bundle_id text, environment text, mark text, how text, who text, note text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    t       iap.transactions;
    found   iap.cases;
    present text;
    outcome text;
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_transaction_id('transaction_id', decide.transaction_id);
    PERFORM iap.require_bundle_id(decide.bundle_id);
    PERFORM iap.require_text('who', decide.who, 1000);
    PERFORM iap.require_text('note', decide.note, 10000);
    IF decide.how IS NULL OR decide.how NOT IN ('delivered', 'deliver', 'dismissed', 'refunded') THEN
        RAISE EXCEPTION 'a decision is “delivered”, “deliver”, “dismissed” or “refunded”'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    t := iap.locked_with_periods(decide.bundle_id, decide.environment, decide.transaction_id);
    outcome := iap.standing(t);
    IF outcome <> 'white' THEN
        RETURN CASE
            WHEN t.transaction_id IS NULL THEN 'another_report'
            WHEN decide.how = 'delivered' AND t.delivered_by = 'resolved' THEN 'already'
            WHEN decide.how = 'deliver' AND t.place = 'black' AND iap.redelivery_of(t) IN ('under way', 'redelivered')
            THEN 'already'
            WHEN decide.how = 'refunded' AND t.reason = 'refunded' THEN 'already'
            WHEN decide.how = 'dismissed' AND t.reason = 'dismissed' THEN 'already'
            ELSE outcome
        END;
    END IF;

    SELECT * INTO found
    FROM iap.cases
    WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment;
    IF found.transaction_id IS NULL THEN
        RETURN 'another_report';
    END IF;
    present := iap.case_mark(
        found.opened_run_id, found.opened_at, t.move_id, t.product_id, t.quantity, found.owner_user_ids, found.periods);
    IF split_part(present, '-', 1) IS DISTINCT FROM split_part(decide.mark, '-', 1) THEN
        RETURN 'another_report';
    ELSIF found.state <> 'open' OR present <> decide.mark THEN
        RETURN 'changed_since';
    END IF;

    IF decide.how = 'deliver' THEN
        -- One that will not be made, for others speak for the purchase since, is none.
        IF iap.redelivery_of(t) = 'under way' AND EXISTS (
            SELECT FROM iap.redeliveries AS ordered
            WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
                AND iap.end_of_redelivery(ROW(ordered.*)::iap.redeliveries) IS NULL)
        THEN
            RETURN 'already';
        END IF;
        outcome := iap.redeliver(t.transaction_id, decide.who, decide.note, t.bundle_id, t.environment);
        RETURN CASE outcome WHEN 'redelivery' THEN decide.how ELSE outcome END;
    END IF;
    RETURN iap.resolve(t.transaction_id, decide.how, decide.who, decide.note, t.bundle_id, t.environment);
END
$$;

COMMENT ON FUNCTION iap.decide(transaction_id text, bundle_id text, environment text, mark text, how text, who text, note text) IS 'Ends a case on a decision that was taken before a report, if the case is still as the report''s mark says: how, delivered, dismissed or refunded; with deliver it orders the redelivery. Where the desk has decided so already: already. Otherwise it changes nothing and says why: another_report, where the mark is of no case here; changed_since, where other evidence came since; already_delivered, excluded, and what else iap.resolve and iap.redeliver refuse.';

CREATE FUNCTION iap.delivered(t iap.transactions, user_id text, order_id text, delivered_by text, at timestamp with time zone) RETURNS iap.transactions
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    t.place := 'black';
    t.reason := NULL;
    t.excluded_at := NULL;
    t.excluded_run_id := NULL;
    t.user_id := delivered.user_id;
    t.order_id := delivered.order_id;
    t.delivered_by := delivered.delivered_by;
    t.delivered_at := at;
    RETURN t;
END
$$;

COMMENT ON FUNCTION iap.delivered(t iap.transactions, user_id text, order_id text, delivered_by text, at timestamp with time zone) IS 'A transaction whose goods were delivered: black.';

CREATE FUNCTION iap.delivery_status(bundle_id text, transaction_id text) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM iap.require_bundle_id(delivery_status.bundle_id);
    PERFORM iap.require_transaction_id('transaction_id', delivery_status.transaction_id);
    RETURN CASE
        -- Both environments number their transactions on their own: of one id Apple asks about what was paid.
        WHEN (
            SELECT iap.word_of(ROW(t.*)::iap.transactions)
            FROM iap.transactions AS t
            WHERE t.transaction_id = delivery_status.transaction_id AND t.bundle_id = delivery_status.bundle_id
            ORDER BY t.environment
            LIMIT 1) = 'delivered'
        THEN 'DELIVERED' ELSE 'UNDELIVERED_OTHER'
    END;
END
$$;

COMMENT ON FUNCTION iap.delivery_status(bundle_id text, transaction_id text) IS 'What to answer Apple''s CONSUMPTION_REQUEST with as deliveryStatus: DELIVERED where the goods were delivered, else UNDELIVERED_OTHER.';

CREATE TABLE iap.redeliveries (
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    user_id text NOT NULL,
    run_id bigint,
    ordered_at timestamp with time zone NOT NULL,
    ordered_by text NOT NULL,
    note text,
    tries integer DEFAULT 0 NOT NULL,
    taken_at timestamp with time zone,
    due_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    ended_as text,
    told_run_id bigint,
    CONSTRAINT ended_when_and_how CHECK (((ended_at IS NULL) = (ended_as IS NULL))),
    CONSTRAINT person_says_why CHECK (((run_id IS NULL) = (note IS NOT NULL))),
    CONSTRAINT redeliveries_ended_as_check CHECK ((ended_as = ANY (ARRAY['redelivered'::text, 'delivered'::text, 'not_owed'::text, 'unsure'::text]))),
    CONSTRAINT redeliveries_environment_check CHECK ((environment = ANY (ARRAY['Production'::text, 'Sandbox'::text]))),
    CONSTRAINT redeliveries_tries_check CHECK (((tries >= 0) AND (tries <= 5))),
    CONSTRAINT taken_when_tried CHECK (((tries = 0) = (taken_at IS NULL)))
);

COMMENT ON TABLE iap.redeliveries IS 'What an app''s server shall deliver without the customer: it takes each under a lease, five times at most.';

COMMENT ON COLUMN iap.redeliveries.due_at IS 'From when on it may be taken; while it is leased, the end of the lease.';

COMMENT ON COLUMN iap.redeliveries.ended_as IS 'redelivered: claimed or granted within the lease; delivered: in another way, or later; not_owed: refunded, dismissed …; unsure: it is not certain any more whose it is.';

CREATE FUNCTION iap.end_of_redelivery(r iap.redeliveries) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    t iap.transactions;
BEGIN
    SELECT * INTO t
    FROM transactions
    WHERE transactions.transaction_id = r.transaction_id AND transactions.bundle_id = r.bundle_id
        AND transactions.environment = r.environment;
    RETURN CASE
        -- What comes when the lease is over is as likely the customer's own.
        WHEN t.place = 'black' AND r.tries > 0 AND t.delivered_at <= r.due_at
            AND t.delivered_by IN ('claim', 'entitlement') THEN 'redelivered'
        -- Granted within it, and written by a night, for another session held it then.
        WHEN t.place = 'black' AND t.delivered_by = 'entitlement' AND EXISTS (
            SELECT FROM entitlements AS e
            WHERE e.original_transaction_id = t.original_transaction_id AND e.bundle_id = t.bundle_id
                AND iap.said_for(t, e) BETWEEN r.taken_at AND r.due_at) THEN 'redelivered'
        WHEN t.place = 'black' THEN 'delivered'
        WHEN t.place = 'white' AND iap.redeliverable_to(t) = r.user_id THEN NULL
        -- What another session held when it was granted: granted again, it is written, and nobody has it twice.
        WHEN t.place = 'white' AND iap.outcome_otherwise(t) = 'already_delivered' AND iap.is_granted_already(t)
            AND iap.certain_owner(t) = r.user_id THEN NULL
        WHEN t.place = 'white' THEN 'unsure'
        ELSE 'not_owed'
    END;
END
$$;

COMMENT ON FUNCTION iap.end_of_redelivery(r iap.redeliveries) IS 'How a redelivery has ended, as its transaction''s place says; NULL while it is to be made.';

CREATE FUNCTION iap.end_owed(t iap.transactions, how text, who text, user_id text, order_id text, note text, at timestamp with time zone) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    details     jsonb := jsonb_build_object(
        'as', end_owed.how, 'note', end_owed.note, 'order_id', end_owed.order_id, 'login', session_user);
    type        text := iap.type_of(t);
    taken       text;
    refunded_as text;
    is_new      boolean := false;
BEGIN
    IF iap.is_granted_already(t) AND NOT (type IS NULL AND iap.is_original_delivered(t)) THEN
        -- As a claim finds. The night writes it, but where nobody knows whether it is the same purchase.
        RETURN 'already_delivered';
    END IF;
    IF end_owed.how = 'delivered' AND end_owed.order_id IS NOT NULL THEN
        -- Whatever it was delivered for before: the desk may say otherwise, and a claim may not. Before the original
        -- purchase, as a claim takes them.
        SELECT order_is.is_new INTO is_new FROM iap.take_order(t, end_owed.order_id) AS order_is;
    END IF;
    -- Whatever ends it: who is about to deliver it, or to call it refunded, under another id is waited for.
    taken := iap.take_for_delivery(t, type);
    refunded_as := iap.refunded_meanwhile_as(t);
    IF taken IS NULL AND (end_owed.how <> 'delivered' OR refunded_as IS NOT NULL) THEN
        PERFORM iap.release_originals(ARRAY[ROW(t, t)::iap.change]);
    END IF;
    IF is_new AND (taken = 'already_delivered' OR refunded_as IS NOT NULL) THEN
        DELETE FROM iap.delivered_orders AS ours
        WHERE ours.order_id = end_owed.order_id COLLATE "default" AND ours.bundle_id = t.bundle_id;
    END IF;
    IF end_owed.how = 'delivered' AND refunded_as IS NOT NULL THEN
        -- The night takes it out of white.
        RETURN 'excluded';
    ELSIF taken = 'already_delivered' THEN
        -- Else a refund would count for it beside that of the id under which it was delivered.
        PERFORM iap.move(
            ARRAY[ROW(t, iap.excluded(t, 'restored', NULL, at))::iap.change], 'withdrawn', end_owed.who, NULL, at);
        RETURN 'already_delivered';
    ELSIF end_owed.how = 'refunded' AND refunded_as IS NOT NULL THEN
        -- Apple's word counts, and the money went back once. Here, for of what nobody knows the type of the night
        -- takes nothing out of white; but it has the other id stand for the refund: see iap.release_restored.
        PERFORM iap.move(
            ARRAY[ROW(t, iap.excluded(t, 'restored', NULL, at))::iap.change], 'withdrawn', end_owed.who, NULL, at,
            jsonb_build_object('refunded_as', refunded_as));
        RETURN 'excluded';
    ELSIF end_owed.how <> 'delivered' THEN
        PERFORM iap.move(
            ARRAY[ROW(t, iap.excluded(t, end_owed.how, NULL, at))::iap.change], 'resolved', end_owed.who, NULL, at,
            details);
        IF end_owed.how = 'dismissed' THEN
            PERFORM iap.withdraw_restored(t, end_owed.who, at, end_owed.who, 'dismissed_as');
        END IF;
        RETURN end_owed.how;
    ELSIF taken = 'undecided' THEN
        -- What nobody knows the type of is for the support desk to decide, and this is its decision.
        PERFORM iap.take_originals(ARRAY[t]);
    END IF;
    PERFORM iap.move(
        ARRAY[ROW(t, iap.delivered(t, end_owed.user_id, end_owed.order_id, 'resolved', at))::iap.change], 'resolved',
        end_owed.who, NULL, at, details || jsonb_build_object('user_id', end_owed.user_id));
    PERFORM iap.withdraw_restored(t, end_owed.who, at, end_owed.who);
    RETURN end_owed.how;
END
$$;

COMMENT ON FUNCTION iap.end_owed(t iap.transactions, how text, who text, user_id text, order_id text, note text, at timestamp with time zone) IS 'Ends one white transaction, which the caller has locked, on the word of the support desk, and gives how; or already_delivered, or excluded, where its purchase was delivered, or refunded, under another id, or granted.';

CREATE FUNCTION iap.ends_refund(t iap.transactions, v iap.verified) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    told_at timestamptz := coalesce(v.made_at, v.verified_at);
BEGIN
    -- What a person called refunded, Apple has never refunded. Most are not: for them no statement is run.
    IF t.refund_run_id IS NULL THEN
        RETURN false;
    END IF;
    -- A signature alone takes no refund back: it was signed for another reason. Apple's word does, unless it is from
    -- before the refund, of which a poorer source told; or of a receipt that was made before what told of it, or before
    -- the refund: whenever Apple reads that, it tells what was known when it was made, unless it is the receipt that
    -- told of the refund itself; or a customer's history so soon after Apple told of the refund by itself that it may
    -- not know it yet. Of a refund under another id this one never told.
    RETURN (
            v.source > 'local' AND v.source >= t.source AND v.verified_at > greatest(t.verified_at, t.refunded_at)
            AND (
                told_at < t.refund_told_at
                OR (told_at < t.refunded_at AND told_at IS DISTINCT FROM t.refund_told_at)) IS NOT TRUE
            AND (
                v.made_at IS NOT NULL OR NOT EXISTS (
                    SELECT FROM notices
                    WHERE notices.transaction_id = t.transaction_id AND notices.bundle_id = t.bundle_id
                        AND notices.environment = t.environment AND type IN ('REFUND', 'REVOKE')
                        AND iap.may_not_know(v.verified_at, signed_at)))
            AND NOT iap.is_refunded_elsewhere(t))
        OR EXISTS (
            SELECT FROM notices
            WHERE notices.transaction_id = t.transaction_id AND notices.bundle_id = t.bundle_id
                AND notices.environment = t.environment AND type = 'REFUND_REVERSED' AND signed_at > t.refunded_at);
END
$$;

COMMENT ON FUNCTION iap.ends_refund(t iap.transactions, v iap.verified) IS 'Whether Apple''s refund of a transaction is no more, by a word of Apple''s that tells of none.';

CREATE FUNCTION iap.enter(purchases iap.verified[], run bigint, at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'auto'
    AS $$
BEGIN
    INSERT INTO transactions (
        transaction_id, bundle_id, environment, place, original_transaction_id, product_id, product_type, quantity,
        purchased_at, original_purchased_at, expires_at, is_trial, web_order_line_item_id, app_account_token,
        price_milliunits, currency, storefront, found_bundle_id, refunded_at, refund_reason, refund_run_id, source,
        verified_at, booked_milliunits, booked_currency, booked_as, entry_id, first_seen_at, first_run_id,
        admitted_user_id, admitted_receipt_id, nights_confirmed, last_confirmed_at, user_id, order_id, delivered_by,
        delivered_at, reason, excluded_at, excluded_run_id, revocation_type, revocation_percentage, app_transaction_id,
        refund_told_at, is_family_shared, seal)
    SELECT
        new.transaction_id, new.bundle_id, new.environment, new.place, new.original_transaction_id, new.product_id,
        new.product_type, new.quantity, new.purchased_at, new.original_purchased_at, new.expires_at, new.is_trial,
        new.web_order_line_item_id, new.app_account_token, new.price_milliunits, new.currency, new.storefront,
        new.found_bundle_id, new.refunded_at, new.refund_reason, new.refund_run_id, new.source, new.verified_at,
        new.booked_milliunits, new.booked_currency, new.booked_as, new.entry_id, new.first_seen_at, new.first_run_id,
        new.admitted_user_id, new.admitted_receipt_id, new.nights_confirmed, new.last_confirmed_at, new.user_id,
        new.order_id, new.delivered_by, new.delivered_at, new.reason, new.excluded_at, new.excluded_run_id,
        new.revocation_type, new.revocation_percentage, new.app_transaction_id, new.refund_told_at,
        new.is_family_shared, audit.seal(ROW(new.*)::iap.transactions)
    FROM (
        -- In the order of the table's columns, for its seal.
        SELECT
            v.transaction_id, v.bundle_id, v.environment,
            CASE
                WHEN v.delivered_at IS NOT NULL THEN 'black' WHEN v.exclusion IS NOT NULL THEN 'excluded'
                ELSE 'white'
            END AS place,
            v.original_transaction_id, v.product_id, coalesce(v.product_type, listed.type) AS product_type, v.quantity,
            v.purchased_at, v.original_purchased_at, v.expires_at, v.is_trial, v.web_order_line_item_id,
            v.app_account_token, v.price_milliunits, v.currency, v.storefront, v.found_bundle_id, v.refunded_at,
            CASE WHEN v.refunded_at IS NOT NULL THEN v.refund_reason END AS refund_reason,
            CASE WHEN v.refunded_at IS NOT NULL THEN run END AS refund_run_id,
            NULL::timestamptz AS refund_reversed_at, v.source, v.verified_at,
            (booked.amount).milliunits AS booked_milliunits, (booked.amount).currency AS booked_currency,
            (booked.amount).booked_as,
            nextval('iap.trail') AS entry_id, at AS first_seen_at, run AS first_run_id,
            CASE WHEN v.delivered_at IS NULL THEN v.user_id END AS admitted_user_id,
            v.receipt_id AS admitted_receipt_id,
            CASE WHEN run IS NULL THEN 0 ELSE 1 END AS nights_confirmed,
            CASE WHEN run IS NOT NULL THEN coalesce(v.confirmed_at, v.verified_at) END AS last_confirmed_at,
            CASE WHEN v.delivered_at IS NOT NULL THEN v.user_id END AS user_id,
            CASE WHEN v.delivered_at IS NOT NULL THEN v.order_id END AS order_id,
            CASE WHEN v.delivered_at IS NOT NULL THEN 'import' END AS delivered_by, v.delivered_at,
            CASE WHEN v.delivered_at IS NULL THEN v.exclusion END AS reason,
            CASE WHEN v.delivered_at IS NULL AND v.exclusion IS NOT NULL THEN at END AS excluded_at,
            CASE WHEN v.delivered_at IS NULL AND v.exclusion IS NOT NULL THEN run END AS excluded_run_id,
            NULL::bigint AS move_id, NULL::bigint AS seal,
            CASE WHEN v.refunded_at IS NOT NULL THEN v.revocation_type END AS revocation_type,
            CASE WHEN v.refunded_at IS NOT NULL THEN v.revocation_percentage END AS revocation_percentage,
            v.app_transaction_id,
            CASE WHEN v.refunded_at IS NOT NULL THEN coalesce(v.made_at, v.verified_at) END AS refund_told_at,
            shared.is_family_shared
        FROM unnest(purchases) AS v
        LEFT JOIN products AS listed ON listed.bundle_id = v.bundle_id AND listed.product_id = v.product_id
        CROSS JOIN LATERAL (SELECT coalesce(v.exclusion = 'family_shared', false) AS is_family_shared) AS shared
        CROSS JOIN LATERAL (
            SELECT iap.amount_of(
                v.price_milliunits, v.currency, v.is_trial, v.quantity, listed.list_price_milliunits,
                listed.currency, shared.is_family_shared) AS amount
        ) AS booked
        ORDER BY v.transaction_id, v.bundle_id, v.environment
    ) AS new;
END
$$;

COMMENT ON FUNCTION iap.enter(purchases iap.verified[], run bigint, at timestamp with time zone) IS 'Takes purchases into the ledger that it does not hold: delivered before, not owed, or owed. One that is there, or that another session has entered meanwhile, is a unique_violation.';

CREATE FUNCTION iap.enter_unlocked(purchases iap.verified[], run bigint, at timestamp with time zone) RETURNS integer[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    entered  integer[] := '{}';
    purchase iap.verified;
    patience text := current_setting('lock_timeout');
BEGIN
    PERFORM iap.enter(purchases, run, at);
    RETURN ARRAY(SELECT number FROM unnest(purchases));
EXCEPTION
    WHEN unique_violation THEN
        -- Another session has entered one of them since they were looked for: it is known now.
        RETURN '{}';
    WHEN lock_not_available OR deadlock_detected THEN
        -- Another session enters one of them, and doesn't end: the others need not wait for it.
        PERFORM set_config('lock_timeout', '20ms', true);
        FOREACH purchase IN ARRAY purchases LOOP
            BEGIN
                PERFORM iap.enter(ARRAY[purchase], run, at);
                entered := entered || purchase.number;
            EXCEPTION
                WHEN unique_violation OR lock_not_available OR deadlock_detected THEN NULL;
            END;
        END LOOP;
        PERFORM set_config('lock_timeout', patience, true);
        RETURN entered;
END
$$;

COMMENT ON FUNCTION iap.enter_unlocked(purchases iap.verified[], run bigint, at timestamp with time zone) IS 'iap.enter, without what another session enters at the same time and does not end; nothing where another session has entered any of them. Says the numbers in the batch of what has entered.';

CREATE FUNCTION iap.entitle(bundle_id text, original_transaction_id text, user_id text, until timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    known   iap.entitlements;
    word    iap.entitlements;
    at      timestamptz := iap.present();
    changes iap.change[];
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_bundle_id(entitle.bundle_id);
    PERFORM iap.require_transaction_id('original_transaction_id', entitle.original_transaction_id);
    PERFORM iap.require_text('user_id', entitle.user_id, 1000);
    IF entitle.until IS NULL OR entitle.until = '-infinity' THEN
        RAISE EXCEPTION 'until is missing' USING
            ERRCODE = 'invalid_parameter_value', HINT = 'What was granted for ever has until “infinity”.';
    ELSIF entitle.until < iap.app_store_opened()
        OR (entitle.until >= '10000-01-01 00:00+00' AND entitle.until <> 'infinity')
    THEN
        RAISE EXCEPTION 'until can''t be %', entitle.until USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'Apple tells moments in milliseconds. What was granted for ever has until “infinity”.';
    END IF;

    word := ROW(
        entitle.original_transaction_id, entitle.bundle_id, entitle.user_id, entitle.until, at, at, NULL, '{}',
        NULL)::iap.entitlements;
    word.seal := audit.seal(word);
    INSERT INTO iap.entitlements SELECT word.* ON CONFLICT (original_transaction_id, bundle_id) DO NOTHING;
    IF NOT FOUND THEN
        SELECT * INTO known
        FROM iap.entitlements
        WHERE original_transaction_id = entitle.original_transaction_id AND bundle_id = entitle.bundle_id
        FOR UPDATE;
        word := iap.said_again(known, word);
        IF word IS DISTINCT FROM known THEN
            PERFORM iap.keep_entitlement(known, word);
        END IF;
    END IF;

    -- What the job has seen already. What another session holds is taken by the night, and so is what an import told:
    -- what the word before granted in time is written as by that, for this one may come late for it.
    SELECT array_agg(ROW(t, iap.delivered(t, word.user_id, NULL, 'entitlement', at))::iap.change) INTO changes
    FROM (
        SELECT *
        FROM iap.transactions AS white
        WHERE iap.is_of_original(
                white.transaction_id, white.original_transaction_id, entitle.original_transaction_id)
            AND white.bundle_id = entitle.bundle_id AND white.place = 'white'
            AND (
                iap.is_granted(ROW(white.*)::iap.transactions, word, at, said_at => at)
                OR iap.is_granted(ROW(white.*)::iap.transactions, known, at))
        ORDER BY white.transaction_id, white.bundle_id, white.environment
        FOR UPDATE SKIP LOCKED
    ) AS t;
    PERFORM iap.cover(changes, NULL, at, session_user);
    RETURN word.entitled_until;
END
$$;

COMMENT ON FUNCTION iap.entitle(bundle_id text, original_transaction_id text, user_id text, until timestamp with time zone) IS 'Says until when the app''s server has granted what an original transaction bought, in the caller''s transaction, which grants it; gives until when it is granted now. A later word never shortens: see iap.revoke_entitlement. But it must be said for an upgrade, too, also where that ends sooner than what it replaces. A purchase that is granted for ever has until “infinity”.';

CREATE FUNCTION iap.erase_from_entitlements(user_id text, pseudonym text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    known iap.entitlements;
    word  iap.entitlements;
    rows  bigint := 0;
BEGIN
    FOR known IN SELECT * FROM iap.entitlements AS e WHERE e.user_id = erase_from_entitlements.user_id FOR UPDATE LOOP
        word := known;
        word.user_id := pseudonym;
        PERFORM iap.keep_entitlement(known, word);
        rows := rows + 1;
    END LOOP;
    RETURN rows;
END
$$;

COMMENT ON FUNCTION iap.erase_from_entitlements(user_id text, pseudonym text) IS 'Replaces a user id in what was granted, and says in how many rows.';

CREATE FUNCTION iap.erase_from_redeliveries(user_id text, pseudonym text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    gone    bigint;
    changed bigint;
BEGIN
    -- Nothing can be delivered to nobody. What is owed no more has ended, and the night has yet to tell of it.
    DELETE FROM iap.redeliveries AS open
    USING iap.transactions AS t
    WHERE open.user_id = erase_from_redeliveries.user_id AND open.ended_at IS NULL
        AND t.transaction_id = open.transaction_id AND t.bundle_id = open.bundle_id
        AND t.environment = open.environment AND t.place = 'white';
    GET DIAGNOSTICS gone = ROW_COUNT;
    UPDATE iap.redeliveries AS known
    SET user_id = CASE known.user_id WHEN erase_from_redeliveries.user_id THEN pseudonym ELSE known.user_id END,
        note = iap.without_user(known.note, erase_from_redeliveries.user_id, pseudonym)
    WHERE known.user_id = erase_from_redeliveries.user_id
        OR (
            strpos(known.note, erase_from_redeliveries.user_id) > 0
            AND known.note <> iap.without_user(known.note, erase_from_redeliveries.user_id, pseudonym));
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN gone + changed;
END
$$;

COMMENT ON FUNCTION iap.erase_from_redeliveries(user_id text, pseudonym text) IS 'Takes away what is to be delivered to a user, replaces their id in what has ended and in notes, and says in how many rows.';

CREATE FUNCTION iap.erase_from_trail(user_id text, pseudonym text, erasure bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET "TimeZone" TO 'UTC'
    SET "DateStyle" TO 'ISO, YMD'
    AS $_$
DECLARE
    needle   text := trim(BOTH '"' FROM to_jsonb(erase_from_trail.user_id)::text);
    -- A user may be called as a login is, or as the job: who did all that they did stays in the trail.
    is_login boolean := erase_from_trail.user_id = 'iap-reconcile'
        OR EXISTS (SELECT FROM pg_roles WHERE rolname = erase_from_trail.user_id);
    log      text;
    number   text;
    rows     bigint;
    total    bigint := 0;
BEGIN
    FOR log, number IN VALUES ('moves', 'move_id'), ('events', 'event_id') LOOP
        -- The chain keeps what it covered; beside it stands what is left, unless the row did not fit before.
        EXECUTE format(
            $erase$
            WITH affected AS MATERIALIZED (
                SELECT %2$I AS number, audit.digest(%1$I) AS digest, seal = audit.seal(%1$I) AS fits
                FROM iap.%1$I
                WHERE ((strpos(actor, $1) > 0 AND NOT $5) OR strpos(details::text, $2) > 0)
                    AND (
                        (actor <> iap.without_user(actor, $1, $3) AND NOT $5)
                        OR details <> iap.without_user(details, $1, $3))
            ), changed AS (
                UPDATE iap.%1$I
                SET actor = CASE WHEN $5 THEN actor ELSE iap.without_user(actor, $1, $3) END,
                    details = iap.without_user(details, $1, $3)
                FROM affected
                WHERE %2$I = affected.number
                RETURNING affected.number, affected.digest, audit.digest(%1$I) AS left_as, fits
            )
            INSERT INTO audit.erasures (number, event_id, digest, left_as)
            SELECT number, $4, digest, left_as FROM changed WHERE fits
            -- An erasure may have to look twice.
            ON CONFLICT (number, event_id) DO UPDATE SET left_as = EXCLUDED.left_as
            $erase$, log, number)
        USING erase_from_trail.user_id, needle, pseudonym, erasure, is_login;
        GET DIAGNOSTICS rows = ROW_COUNT;
        total := total + rows;
        EXECUTE format(
            $seal$
            UPDATE iap.%1$I
            SET seal = audit.seal(%1$I)
            FROM audit.erasures
            WHERE erasures.event_id = $1 AND %1$I.%2$I = erasures.number
            $seal$, log, number)
        USING erasure;
    END LOOP;
    RETURN total;
END
$_$;

COMMENT ON FUNCTION iap.erase_from_trail(user_id text, pseudonym text, erasure bigint) IS 'Replaces a user id in moves and events, and says in how many; erasure is the event that will tell of it. What a login of that name did stays told as the login''s.';

CREATE FUNCTION iap.erase_from_transactions(user_id text, pseudonym text, salt text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    changes iap.change[];
    open    iap.white[];
BEGIN
    SELECT array_agg(owed) INTO open FROM iap.open_transactions_of(erase_from_transactions.user_id) AS owed;
    SELECT array_agg(ROW(t, became)::iap.change) INTO changes
    FROM (
        SELECT t, iap.erased(t, erase_from_transactions.user_id, pseudonym, salt) AS became
        FROM (
            SELECT ROW(t.*)::iap.transactions AS t
            FROM iap.transactions AS t
            WHERE t.user_id = erase_from_transactions.user_id OR t.admitted_user_id = erase_from_transactions.user_id
                OR (t.transaction_id, t.bundle_id, t.environment) IN (
                    SELECT owed.transaction_id, owed.bundle_id, owed.environment FROM unnest(open) AS owed)
                -- Wherever it is by now: what was refunded or dismissed may be owed again.
                OR t.app_account_token IN (
                    SELECT orders.app_account_token FROM iap.orders
                    WHERE orders.user_id = erase_from_transactions.user_id
                    UNION
                    SELECT own.app_account_token FROM iap.account_tokens AS own
                    WHERE own.user_id = erase_from_transactions.user_id)
                OR (
                    t.app_account_token IS NOT NULL
                    AND (t.transaction_id, t.bundle_id, t.environment) IN (
                        SELECT seen.transaction_id, seen.bundle_id, seen.environment
                        FROM iap.sightings AS seen
                        WHERE seen.user_id = erase_from_transactions.user_id))
            ORDER BY t.transaction_id, t.bundle_id, t.environment
            FOR UPDATE
        ) AS held
        OFFSET 0
    ) AS looked_at
    WHERE became IS DISTINCT FROM t;
    IF changes IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM iap.move(changes, 'corrected', session_user, NULL, iap.present());
    RETURN cardinality(changes);
END
$$;

COMMENT ON FUNCTION iap.erase_from_transactions(user_id text, pseudonym text, salt text) IS 'Replaces a user id and their tokens in the ledger, and says in how many rows. No place and no amount is another.';

CREATE FUNCTION iap.erase_user(user_id text, who text, even_open boolean DEFAULT false) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    pseudonym text := iap.new_pseudonym();
    salt      text := gen_random_uuid();
    open      text[];
    waiting   bigint;
    arrived   bigint;
    rows      jsonb;
    later     jsonb;
    erasure   bigint;
    details   jsonb;
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.limit_waiting();
    PERFORM iap.require_text('user_id', erase_user.user_id, 1000);
    PERFORM iap.require_text('who', erase_user.who, 1000);
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'a person is erased at isolation level READ COMMITTED' USING
            ERRCODE = 'object_not_in_prerequisite_state', HINT = 'What others write meanwhile is not seen at this one.';
    END IF;
    -- The lock of the nightly job: a run that is under way would write the user down again.
    IF NOT pg_try_advisory_xact_lock((SELECT space FROM iap.lock_space), iap.night_lock()) THEN
        RAISE EXCEPTION 'a run is under way' USING
            ERRCODE = 'lock_not_available', HINT = 'Erase when it has ended: what it has read it would write again.';
    END IF;

    SELECT coalesce(array_agg(transaction_id), '{}') INTO open FROM iap.open_transactions_of(erase_user.user_id);
    SELECT count(*) INTO waiting FROM iap.receipts WHERE user_id = erase_user.user_id AND state = 'waiting';
    IF (cardinality(open) > 0 OR waiting > 0) AND even_open IS NOT TRUE THEN
        RETURN jsonb_build_object('outcome', 'open', 'open', open, 'waiting', waiting);
    END IF;

    -- Drawn under the lock, so that the later of two erasures has the greater number.
    erasure := nextval('iap.trail');
    rows := iap.replace_user(erase_user.user_id, pseudonym, salt, erasure);
    -- What is claimed meanwhile is found in the tables that come last, and was not there when the ledger was read; or
    -- it is not committed yet.
    LOOP
        PERFORM iap.await_writers();
        EXIT WHEN NOT (
            iap.is_known_user(erase_user.user_id)
            OR EXISTS (SELECT FROM iap.claims WHERE user_id = erase_user.user_id)
            -- Of a receipt that was theirs until now.
            OR EXISTS (SELECT FROM iap.sightings WHERE user_id = erase_user.user_id));
        later := iap.replace_user(erase_user.user_id, pseudonym, salt, erasure);
        SELECT jsonb_object_agg(key, first.value::bigint + (later ->> key)::bigint) INTO rows
        FROM jsonb_each_text(rows) AS first;
    END LOOP;
    -- Also what was there before its table was read, and not yet when it was looked for what is open.
    SELECT count(*) INTO arrived FROM iap.receipts WHERE user_id = pseudonym AND state = 'waiting';
    IF even_open IS NOT TRUE AND (arrived > 0 OR EXISTS (SELECT FROM iap.open_transactions_of(pseudonym))) THEN
        RAISE EXCEPTION 'the user has bought something meanwhile' USING
            ERRCODE = 'serialization_failure', HINT = 'Try the transaction again.';
    END IF;
    IF NOT EXISTS (SELECT FROM jsonb_each_text(rows) WHERE value::bigint > 0) THEN
        RETURN jsonb_build_object('outcome', 'unknown');
    END IF;
    details := jsonb_build_object(
        'pseudonym', pseudonym, 'rows', rows, 'open', cardinality(open), 'waiting', waiting, 'login', session_user,
        'erasures', audit.erased_by(erasure));
    INSERT INTO iap.events
    SELECT event.*, audit.seal(ROW(event.*, NULL)::iap.events)
    FROM (
        SELECT erasure, now(), 'erased', erase_user.who, NULL::bigint, NULL::text, NULL::text, NULL::text, details
    ) AS event;
    RETURN jsonb_build_object(
        'outcome', 'erased', 'pseudonym', pseudonym, 'apps', iap.apps_of_user(pseudonym), 'rows', rows, 'open', open,
        'waiting', waiting);
END
$$;

COMMENT ON FUNCTION iap.erase_user(user_id text, who text, even_open boolean) IS 'Erases a person: the user id becomes a pseudonym, the same one everywhere, and their tokens become others, so that amounts, orders and deliveries still add up; devices and payloads go. Gives the outcome: erased, with what was changed, and of which apps; unknown; or open, with the transactions that are paid and not delivered and the number of receipts that are not verified yet: then nothing is changed, unless even_open. What even so is open stays owed, to the pseudonym. It waits for what other sessions are writing, and no claim waits for it but of what is erased.';

CREATE FUNCTION iap.erased(t iap.transactions, user_id text, pseudonym text, salt text) RETURNS iap.transactions
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    -- A token is the user's who registered it, ordered with it, or alone handed the purchase in: on a phone whose users
    -- take turns that may be another's purchase, who has a right to it by the token. Another token stands for it, so
    -- that what it alone said is theirs goes to nobody else, whenever it comes to be owed again.
    IF iap.is_own_token(t.bundle_id, t.app_account_token, erased.user_id)
        OR NOT iap.is_anothers(t, erased.user_id, pseudonym)
    THEN
        -- Of what was only uploaded Apple may yet tell the token: then one stands in its place by now.
        t.app_account_token := iap.erased_token(
            coalesce(
                t.app_account_token,
                CASE WHEN t.user_id IS NULL AND t.admitted_user_id IS NULL THEN t.transaction_id END),
            salt);
    END IF;
    t.user_id := CASE t.user_id WHEN erased.user_id THEN pseudonym ELSE t.user_id END;
    t.admitted_user_id := CASE t.admitted_user_id WHEN erased.user_id THEN pseudonym ELSE t.admitted_user_id END;
    RETURN t;
END
$$;

COMMENT ON FUNCTION iap.erased(t iap.transactions, user_id text, pseudonym text, salt text) IS 'A transaction without a user''s id and tokens.';

CREATE FUNCTION iap.erased_token(app_account_token text, salt text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT left(encode(sha256(convert_to($2 || $1, 'UTF8')), 'hex'), 32)::uuid::text
$_$;

COMMENT ON FUNCTION iap.erased_token(app_account_token text, salt text) IS 'What stands in the place of a person''s token once they are erased, the same one everywhere. The salt is drawn for the erasure, and kept nowhere.';

CREATE FUNCTION iap.excluded(t iap.transactions, reason text, run bigint, at timestamp with time zone) RETURNS iap.transactions
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    t.place := 'excluded';
    t.user_id := NULL;
    t.order_id := NULL;
    t.delivered_by := NULL;
    t.delivered_at := NULL;
    t.reason := excluded.reason;
    t.excluded_at := at;
    t.excluded_run_id := run;
    IF excluded.reason = 'refunded' THEN
        t.refunded_at := coalesce(t.refunded_at, at);
    END IF;
    RETURN t;
END
$$;

COMMENT ON FUNCTION iap.excluded(t iap.transactions, reason text, run bigint, at timestamp with time zone) IS 'A transaction that is not owed. Refunded without a word of Apple''s, it counts as refunded at that moment.';

CREATE FUNCTION iap.fills_in(t iap.transactions, v iap.verified) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT (t.price_milliunits IS NULL AND v.price_milliunits IS NOT NULL)
        OR (t.app_account_token IS NULL AND v.app_account_token IS NOT NULL)
        OR (t.app_transaction_id IS NULL AND v.app_transaction_id IS NOT NULL)
        OR (t.storefront IS NULL AND v.storefront IS NOT NULL)
        OR (t.original_purchased_at IS NULL AND v.original_purchased_at IS NOT NULL)
        OR (t.found_bundle_id IS NULL AND v.found_bundle_id IS NOT NULL)
$$;

COMMENT ON FUNCTION iap.fills_in(t iap.transactions, v iap.verified) IS 'Whether something is said of a transaction that nobody has said before, which also a poorer source may say.';

CREATE FUNCTION iap.follow_cases(changes iap.change[], kind text, who text, run bigint, at timestamp with time zone, note text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM iap.refuse_unseen_cases(changes, at);
    UPDATE cases
    SET state = 'closed', closed_at = at,
        closed_as = CASE
            WHEN (c.became).place = 'black' THEN 'delivered'
            WHEN (c.became).reason IN ('refunded', 'dismissed') THEN (c.became).reason
            ELSE 'withdrawn'
        END,
        closed_by = who, note = follow_cases.note, told_run_id = NULL,
        assessed_at = CASE WHEN run IS NULL THEN cases.assessed_at ELSE at END,
        assessed_run_id = coalesce(run, cases.assessed_run_id)
    FROM unnest(changes) AS c
    WHERE cases.transaction_id = (c.was).transaction_id AND cases.bundle_id = (c.was).bundle_id
        AND cases.environment = (c.was).environment AND cases.state = 'open' AND (c.became).place <> 'white';
    IF kind = 'reopened' THEN
        UPDATE cases
        SET state = 'open', closed_at = NULL, closed_as = NULL, closed_by = NULL, note = NULL, told_run_id = NULL,
            reopened_run_id = 0
        FROM unnest(changes) AS c
        WHERE cases.transaction_id = (c.was).transaction_id AND cases.bundle_id = (c.was).bundle_id
            AND cases.environment = (c.was).environment AND cases.state = 'closed';
    END IF;
END
$$;

COMMENT ON FUNCTION iap.follow_cases(changes iap.change[], kind text, who text, run bigint, at timestamp with time zone, note text) IS 'Closes the cases of what is owed no more, and opens those again whose resolve was taken back.';

CREATE FUNCTION iap.granted_after(reached iap.transactions, at timestamp with time zone, most integer) RETURNS iap.change[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    changes iap.change[];
BEGIN
    SELECT array_agg(ROW(t, iap.delivered(t, user_id, NULL, 'entitlement', at))::iap.change) INTO changes
    FROM (
        SELECT ROW(white.*)::iap.transactions AS t, entitlements.user_id
        FROM transactions AS white
        JOIN entitlements USING (original_transaction_id, bundle_id)
        WHERE white.place = 'white'
            AND iap.is_granted(ROW(white.*)::iap.transactions, entitlements, at)
            AND (white.bundle_id, white.purchased_at, white.transaction_id, white.environment)
                > (reached.bundle_id, reached.purchased_at, reached.transaction_id, reached.environment)
        ORDER BY white.bundle_id, white.purchased_at, white.transaction_id, white.environment
        LIMIT most
        -- Who shortens a grant meanwhile waits until these are black, and finds them.
        FOR UPDATE OF white SKIP LOCKED
        FOR SHARE OF entitlements SKIP LOCKED
    ) AS held;
    RETURN coalesce(changes, '{}');
END
$$;

COMMENT ON FUNCTION iap.granted_after(reached iap.transactions, at timestamp with time zone, most integer) IS 'So many periods at most, after the last of the page before, that leave white because an entitlement covers them; locked.';

CREATE FUNCTION iap.hand_in(numbers integer[], at timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    proof  record;
    upload iap.uploads;
    handed bigint := 0;
BEGIN
    -- A statement a receipt, by its key: the form that also runs where the inbox lies on other servers than the
    -- notices.
    FOR proof IN
        SELECT DISTINCT ON (number)
            transaction_id, bundle_id, environment, notice_uuid, signed_transaction,
            sha256(convert_to(signed_transaction, 'UTF8')) AS digest
        FROM told
        WHERE number = ANY (numbers) AND signed_transaction IS NOT NULL
        ORDER BY number, signed_at DESC
    LOOP
        upload.bucket := get_byte(proof.digest, 0) & 63;
        upload.receipt_id := nextval('iap.receipt_number') * 64 + upload.bucket;
        upload.first_uploaded_at := at;
        INSERT INTO receipts (
            bucket, receipt_id, bundle_id, payload, payload_sha256, submitted_at, next_attempt_at, seal)
        VALUES (
            upload.bucket, upload.receipt_id, proof.bundle_id, proof.signed_transaction, proof.digest, at, at,
            audit.receipt_seal(
                upload.bucket, upload.receipt_id, proof.bundle_id, NULL, proof.digest, NULL, NULL, at, 'waiting',
                false))
        ON CONFLICT (bucket, payload_sha256, bundle_id, user_id) DO NOTHING;
        CONTINUE WHEN NOT FOUND;
        -- For no purchase in particular: nobody uploaded it.
        INSERT INTO uploads (bucket, receipt_id, first_uploaded_at, last_uploaded_at, seal)
        VALUES (upload.bucket, upload.receipt_id, at, at, audit.seal(upload));
        UPDATE notices
        SET receipt_id = upload.receipt_id
        WHERE notices.transaction_id = proof.transaction_id AND notices.bundle_id = proof.bundle_id
            AND notices.environment = proof.environment AND notices.notice_uuid = proof.notice_uuid;
        handed := handed + 1;
    END LOOP;
    RETURN handed;
END
$$;

COMMENT ON FUNCTION iap.hand_in(numbers integer[], at timestamp with time zone) IS 'Puts the signed transactions of these numbers of the batch, which nobody knows, into the inbox as receipts without a user, and says how many were not there yet.';

CREATE FUNCTION iap.has_access(t iap.transactions, at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM entitlements AS e
        WHERE e.original_transaction_id = t.original_transaction_id AND e.bundle_id = t.bundle_id
            AND iap.is_covered(t, ROW(e.*)::iap.entitlements, at));
END
$$;

COMMENT ON FUNCTION iap.has_access(t iap.transactions, at timestamp with time zone) IS 'Whether what the app''s server grants now reaches to the end of a period.';

CREATE FUNCTION iap.hear(numbers integer[], run bigint, at timestamp with time zone, OUT entered integer[], OUT known iap.standing[]) RETURNS record
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    fresh     iap.verified[];
    confirmed iap.verified[];
    news      iap.verified[];
    changes   iap.change[];
    moved     iap.standing[];
BEGIN
    SELECT
        array_agg(v) FILTER (WHERE kind = 'fresh'), array_agg(v) FILTER (WHERE kind = 'confirmed'),
        array_agg(v) FILTER (WHERE kind = 'news'), coalesce(array_agg(standing) FILTER (WHERE kind = 'known'), '{}')
    INTO fresh, confirmed, news, known
    FROM (
        SELECT
            v::iap.verified AS v,
            ROW(v.number, v.transaction_id, t.quantity, t.place, false)::iap.standing AS standing,
            CASE
                WHEN t.place IS NULL THEN 'fresh'
                WHEN iap.is_news(t::iap.transactions, v::iap.verified) IS NOT TRUE THEN 'known'
                WHEN iap.is_confirmation(t::iap.transactions, v::iap.verified) THEN 'confirmed'
                ELSE 'news'
            END AS kind
        FROM heard AS v
        -- By the primary key, whatever the planner knows of the table: in a first night that is nothing.
        LEFT JOIN LATERAL (
            SELECT * FROM transactions AS found
            WHERE found.transaction_id = v.transaction_id AND found.bundle_id = v.bundle_id
                AND found.environment = v.environment
            OFFSET 0
        ) AS t ON true
        WHERE numbers IS NULL OR v.number = ANY (numbers)
        -- Judged once.
        OFFSET 0
    ) AS judged;

    entered := '{}';
    IF fresh IS NOT NULL THEN
        entered := iap.enter_unlocked(fresh, run, at);
    END IF;
    IF confirmed IS NOT NULL THEN
        known := known || iap.confirm(confirmed);
    END IF;
    IF news IS NOT NULL THEN
        SELECT
            array_agg(ROW(t, became)::iap.change) FILTER (WHERE t IS DISTINCT FROM became),
            array_agg(
                ROW(
                    number, (became).transaction_id, (became).quantity, (became).place,
                    (t).place <> 'white' AND (became).place = 'white')::iap.standing)
        INTO changes, moved
        FROM (
            SELECT number, t, iap.heard(t, v, run, at) AS became
            FROM (
                SELECT v.number, v::iap.verified AS v, found.t
                FROM unnest(news) AS v
                CROSS JOIN LATERAL (
                    SELECT ROW(t.*)::iap.transactions AS t
                    FROM transactions AS t
                    WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id
                        AND t.environment = v.environment
                    FOR UPDATE SKIP LOCKED
                ) AS found
            ) AS held
            OFFSET 0
        ) AS judged;
        IF changes IS NOT NULL THEN
            PERFORM iap.move(changes, NULL, 'iap-reconcile', run, at);
        END IF;
        known := known || coalesce(moved, '{}');
    END IF;
END
$$;

COMMENT ON FUNCTION iap.hear(numbers integer[], run bigint, at timestamp with time zone, OUT entered integer[], OUT known iap.standing[]) IS 'Takes what Apple says of purchases into the ledger, of those with these numbers in the batch, or of all: what is new enters, what is known becomes what Apple says of it now. Says where each is, but for what another session has locked.';

CREATE FUNCTION iap.hear_patiently(numbers integer[], run bigint, at timestamp with time zone, OUT entered integer[], OUT known iap.standing[], OUT remaining integer[]) RETURNS record
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    patience text := current_setting('lock_timeout');
    told     record;
BEGIN
    entered := '{}';
    known := '{}';
    remaining := numbers;
    -- A claim, or another batch of the night, holds a transaction for milliseconds: what is locked for longer is left.
    FOR round IN 1 .. 4 LOOP
        told := iap.hear(remaining, run, at);
        entered := entered || told.entered;
        known := known || told.known;
        SELECT array_agg(number) INTO remaining
        FROM heard
        WHERE (numbers IS NULL OR number = ANY (numbers)) AND number <> ALL (entered)
            AND NOT EXISTS (SELECT FROM unnest(known) AS standing WHERE standing.number = heard.number);
        EXIT WHEN remaining IS NULL;
        PERFORM set_config('lock_timeout', '20ms', true), pg_sleep(0.01 * round);
    END LOOP;
    PERFORM set_config('lock_timeout', patience, true);
END
$$;

COMMENT ON FUNCTION iap.hear_patiently(numbers integer[], run bigint, at timestamp with time zone, OUT entered integer[], OUT known iap.standing[], OUT remaining integer[]) IS 'iap.hear, several times while others hold what it needs; says what remains locked.';

CREATE FUNCTION iap.heard(t iap.transactions, v iap.verified, run bigint, at timestamp with time zone) RETURNS iap.transactions
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    was iap.transactions := t;
BEGIN
    IF v.refunded_at IS NOT NULL AND iap.is_outdated_refund(t, v) THEN
        RETURN t;
    END IF;
    t := iap.corrected(t, v);
    IF t.is_family_shared AND NOT was.is_family_shared AND was.refund_run_id IS NOT NULL THEN
        -- A poorer source told that it ended, and not that nobody had paid.
        t := iap.unrefunded(t);
    ELSIF v.refunded_at IS NOT NULL THEN
        -- Of what is shared in a family nobody paid: when that ends, no money goes back.
        IF t.place <> 'white' AND (t.place <> 'black' OR t.is_family_shared IS NOT TRUE) AND (
            -- Of which Apple told nothing yet: it knows when and how much better than the support desk.
            was.refund_run_id IS NULL
            OR iap.is_later_refund(v.refunded_at, was.refunded_at)
            -- Or only of the other id's.
            OR iap.is_refunded_elsewhere(was)
            -- What kind of refund it is may be told later, also by a word that is older: verifyReceipt knows of none.
            OR (v.revocation_type IS NOT NULL
                AND (
                    v.verified_at >= was.verified_at
                    OR (t.revocation_type IS NULL AND iap.is_same_refund(v.refunded_at, t.refunded_at)))
                AND (t.revocation_type, t.revocation_percentage)
                    IS DISTINCT FROM (v.revocation_type, v.revocation_percentage)))
        THEN
            t := iap.refunded(
                t, v, CASE WHEN iap.is_refunded_elsewhere(was) THEN run ELSE coalesce(was.refund_run_id, run) END);
        END IF;
    ELSIF iap.ends_refund(was, v) THEN
        -- By a receipt it was so when that was made: of what came since, Apple may have told before tonight.
        t := iap.paid_again(
            t, CASE WHEN v.made_at > was.refund_told_at THEN v.made_at ELSE v.verified_at END, at);
    ELSIF t.delivered_by = 'entitlement' AND t.refunded_at IS NULL
        AND t.original_transaction_id <> was.original_transaction_id AND iap.is_granted_to_others(was)
    THEN
        -- What was granted for its own original the night finds: see iap.cover_entitled.
        t := iap.owed_again(t);
    ELSIF t.expires_at IS NOT NULL AND iap.reaches(was.expires_at, t.expires_at) IS NOT TRUE
        AND t.delivered_by = 'entitlement' AND t.refunded_at IS NULL AND v.exclusion IS NULL
        AND t.original_transaction_id = was.original_transaction_id AND NOT iap.has_access(t, at)
    THEN
        -- While nobody knew its end, a grant was taken for its own, perhaps one for the billing grace before it: that
        -- does not reach so far. Nor does one that was said before Apple extended the period.
        t := iap.owed_again(t);
    END IF;

    IF t.place = 'white' THEN
        -- What is restored the night withdraws, and knows then for the sake of which id: see iap.withdraw_all_restored.
        -- It can't of what nobody knows the type of.
        IF v.exclusion <> 'restored' OR (
            v.exclusion = 'restored' AND t.web_order_line_item_id IS NULL AND iap.type_of(t) IS NULL)
        THEN
            IF v.refunded_at IS NOT NULL THEN
                t := iap.refunded(t, v, run);
            END IF;
            t := iap.excluded(t, v.exclusion, run, at);
        ELSIF iap.is_another_night(t.last_confirmed_at, coalesce(v.confirmed_at, v.verified_at)) THEN
            t.nights_confirmed := t.nights_confirmed + 1;
            t.last_confirmed_at := coalesce(v.confirmed_at, v.verified_at);
        END IF;
    ELSIF t.reason = 'restored' AND t.refunded_at IS NULL AND v.exclusion IS NULL
        AND t.original_transaction_id = was.original_transaction_id
    THEN
        -- What it was restored from may have been refunded, and be so no more.
        IF NOT iap.stands_otherwise(t) THEN
            t := iap.owed_again(t);
        END IF;
    ELSIF t.place = 'excluded' AND t.refunded_at IS NULL
        AND (
            t.reason IN ('sandbox', 'before_start', 'refunded')
            -- A better source told how many.
            OR (t.reason = 'invalid_quantity' AND t.quantity > 0)
            -- It restored another purchase than Apple knows.
            OR (t.reason = 'restored' AND t.original_transaction_id <> was.original_transaction_id))
        AND v.exclusion IS DISTINCT FROM t.reason
    THEN
        t := CASE
            WHEN v.exclusion IS NULL
                -- Restored as what was refunded with it, of which Apple tells next that it is no more. Until then the
                -- night withdraws it: see iap.withdraw_all_restored.
                OR (t.reason = 'refunded' AND v.exclusion = 'restored' AND NOT iap.stands_otherwise(t))
            THEN iap.owed_again(t)
            ELSE iap.excluded(t, v.exclusion, run, at)
        END;
    ELSIF t.reason = 'sandbox' AND t.refunded_at IS NOT NULL AND v.exclusion IS DISTINCT FROM 'sandbox' THEN
        -- Somebody paid, and has the money back: also by a poorer word, from before the refund.
        t := iap.excluded(
            t, CASE WHEN v.exclusion IN ('foreign_bundle', 'family_shared') THEN v.exclusion ELSE 'refunded' END, run,
            at);
    END IF;
    RETURN t;
END
$$;

COMMENT ON FUNCTION iap.heard(t iap.transactions, v iap.verified, run bigint, at timestamp with time zone) IS 'A transaction as it is by what Apple says of it now: corrected; refunded, or its refund reversed; not owed any more; or owed after all, where only a setting, a refund that is no more, a wrong original or a wrong quantity kept it from that, or a grant that was another purchase''s, or does not reach to the end which Apple tells.';

CREATE FUNCTION iap.held_for_claim(bundle_id text, transaction_id text) RETURNS iap.transactions
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    held iap.transactions;
    t    iap.transactions;
BEGIN
    FOR held IN
        SELECT * FROM iap.transactions
        WHERE transaction_id = held_for_claim.transaction_id AND bundle_id = held_for_claim.bundle_id
        ORDER BY environment
        FOR UPDATE
    LOOP
        IF t.transaction_id IS NULL
            OR (held.place = 'white' AND iap.standing(t) = 'excluded' AND iap.owed_as(t) IS NULL)
        THEN
            t := held;
        END IF;
    END LOOP;
    RETURN t;
END
$$;

COMMENT ON FUNCTION iap.held_for_claim(bundle_id text, transaction_id text) IS 'The transaction that a claim of an id is of, locked; all NULL if there is none. The same id in both environments is two rows: production''s decides, unless nothing of it is owed or delivered, under whatever id, and the other is owed.';

CREATE FUNCTION iap.import_deliveries(deliveries iap.verified[]) RETURNS bigint
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    at        timestamptz := iap.present();
    fresh     iap.verified[];
    changes   iap.change[];
    orders    iap.delivered_orders[];
    once      iap.transactions[];
    restored  iap.transactions[];
BEGIN
    -- What is white or excluded moves; what Apple said of it stays.
    SELECT
        coalesce(array_agg(v::iap.verified) FILTER (WHERE t IS NULL), '{}'),
        array_agg(ROW(t, iap.imported(t, v::iap.verified))::iap.change) FILTER (WHERE (t).place <> 'black')
    INTO fresh, changes
    FROM unnest(deliveries) AS v
    LEFT JOIN LATERAL (
        SELECT ROW(found.*)::iap.transactions AS t
        FROM transactions AS found
        WHERE found.transaction_id = v.transaction_id AND found.bundle_id = v.bundle_id
            AND found.environment = v.environment
        FOR UPDATE
    ) AS held ON true;

    -- A non-consumable, or period of a subscription, is delivered once, whichever of its ids the company kept: the
    -- others are restored. Who is about to deliver it is waited for.
    SELECT array_agg(t::iap.transactions) INTO once
    FROM (
        SELECT entering.*
        FROM unnest(fresh) AS v
        CROSS JOIN LATERAL jsonb_populate_record(NULL::iap.transactions, to_jsonb(v)) AS entering
        UNION ALL
        SELECT (c.was).* FROM unnest(changes) AS c WHERE (c.was).reason IS DISTINCT FROM 'family_shared'
    ) AS t
    LEFT JOIN products USING (bundle_id, product_id)
    WHERE coalesce(iap.type_by(t.product_type, t.source, products.type), 'non_consumable') = 'non_consumable'
        OR t.web_order_line_item_id IS NOT NULL;
    IF once IS NOT NULL THEN
        restored := iap.take_imported(once);
    END IF;
    IF restored IS NOT NULL THEN
        SELECT
            coalesce(
                array_agg(
                    CASE
                        WHEN t.transaction_id IS NULL THEN v::iap.verified
                        ELSE jsonb_populate_record(v::iap.verified, '{"exclusion": "restored", "delivered_at": null}')
                    END),
                '{}')
        INTO fresh
        FROM unnest(fresh) AS v
        LEFT JOIN unnest(restored) AS t USING (transaction_id, bundle_id, environment);
        -- What is white the night withdraws.
        SELECT array_agg(c::iap.change) INTO changes
        FROM unnest(changes) AS c
        LEFT JOIN unnest(restored) AS t
            ON t.transaction_id = (c.was).transaction_id AND t.bundle_id = (c.was).bundle_id
                AND t.environment = (c.was).environment
        WHERE t.transaction_id IS NULL;
    END IF;
    BEGIN
        PERFORM iap.enter(fresh, NULL, at);
    EXCEPTION
        WHEN unique_violation THEN
            RAISE EXCEPTION 'another session entered a transaction of this import meanwhile'
                USING ERRCODE = 'serialization_failure', HINT = 'Try the batch again.';
    END;
    IF changes IS NOT NULL THEN
        PERFORM iap.move(changes, 'imported', session_user, NULL, at, '{}', 'import');
        -- Where the company says it first, Apple's word corrects it, and the move tells. Here Apple's word was first.
        INSERT INTO delivery_checks (transaction_id, bundle_id, environment, finding, checked_at, times)
        SELECT v.transaction_id, v.bundle_id, v.environment, 'other_product', at, 1
        FROM unnest(changes) AS c
        JOIN unnest(deliveries) AS v
            ON v.transaction_id = (c.was).transaction_id AND v.bundle_id = (c.was).bundle_id
                AND v.environment = (c.was).environment
        WHERE v.product_id <> (c.was).product_id AND (c.was).source <> 'app_server'
        ORDER BY v.transaction_id, v.bundle_id, v.environment
        ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
        SET finding = EXCLUDED.finding, checked_at = EXCLUDED.checked_at, next_at = NULL;
    END IF;

    -- An order is delivered once, whoever says so. What was black before has its own already.
    SELECT array_agg(ROW(order_id, bundle_id, original_transaction_id)::iap.delivered_orders) INTO orders
    FROM (
        SELECT order_id, bundle_id, original_transaction_id FROM unnest(fresh)
        UNION ALL
        SELECT (became).order_id, (became).bundle_id, (became).original_transaction_id FROM unnest(changes)
    ) AS black
    WHERE order_id IS NOT NULL;
    IF orders IS NOT NULL THEN
        PERFORM iap.take_orders(orders);
    END IF;

    PERFORM iap.withdraw_beside(deliveries, at);
    -- Of an original and a period it may have got one.
    IF restored IS NOT NULL THEN
        PERFORM iap.release_originals(array_agg(ROW(t, t)::iap.change)) FROM unnest(restored) AS t;
    END IF;
    RETURN cardinality(fresh) + coalesce(cardinality(changes), 0);
END
$$;

COMMENT ON FUNCTION iap.import_deliveries(deliveries iap.verified[]) IS 'Takes what a company delivered before into black, and says how many transactions it took. Of several ids of a non-consumable, or of a period of a subscription, one is black: a new one beside it is restored, and what was known already stays as it is; but beside what may be taken back, this is black, too.';

CREATE FUNCTION iap.import_entitlements(words iap.entitlements[]) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    latest iap.entitlements[];
    taken  bigint;
    word   record;
    became iap.entitlements;
    until  timestamptz;
BEGIN
    PERFORM iap.cover_superseded(words);
    -- What was revoked ended then. A company may keep a row a period: the one that reaches furthest holds.
    SELECT array_agg(furthest::iap.entitlements) INTO latest
    FROM (
        SELECT DISTINCT ON (original_transaction_id, bundle_id)
            original_transaction_id, bundle_id, user_id, entitled_until, first_granted_at, granted_at, revoked_at,
            shorter, seal
        FROM unnest(words) WITH ORDINALITY AS said
        ORDER BY original_transaction_id, bundle_id, least(entitled_until, revoked_at) DESC, ordinality DESC
    ) AS furthest;
    INSERT INTO entitlements AS known
    SELECT granted.*, audit.seal(ROW(granted.*, NULL)::iap.entitlements)
    FROM (
        SELECT
            original_transaction_id, bundle_id, user_id, least(entitled_until, revoked_at), first_granted_at,
            granted_at, revoked_at, shorter
        FROM unnest(latest)
    ) AS granted
    ORDER BY granted.original_transaction_id, granted.bundle_id
    ON CONFLICT (original_transaction_id, bundle_id) DO UPDATE
    SET user_id = EXCLUDED.user_id, entitled_until = EXCLUDED.entitled_until, granted_at = EXCLUDED.granted_at,
        revoked_at = EXCLUDED.revoked_at,
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN known.seal = audit.seal(ROW(known.*)::iap.entitlements) THEN audit.seal(ROW(
            known.original_transaction_id, known.bundle_id, EXCLUDED.user_id, EXCLUDED.entitled_until,
            known.first_granted_at, EXCLUDED.granted_at, EXCLUDED.revoked_at, known.shorter,
            NULL)::iap.entitlements)
            ELSE known.seal END
    WHERE known.entitled_until < EXCLUDED.entitled_until;
    GET DIAGNOSTICS taken = ROW_COUNT;

    -- Of what was revoked, the row that had reached furthest, or was revoked last: down to what the others still grant,
    -- such as the month for which a year was given up.
    FOR word IN
        SELECT original_transaction_id, bundle_id, remaining.entitled_until
        FROM (
            SELECT
                original_transaction_id, bundle_id, max(entitled_until) AS entitled_until,
                max(revoked_at) AS revoked_at
            FROM unnest(words)
            WHERE revoked_at IS NOT NULL
            GROUP BY original_transaction_id, bundle_id
        ) AS revoked
        JOIN (
            SELECT original_transaction_id, bundle_id, least(entitled_until, revoked_at) AS entitled_until
            FROM unnest(latest)
        ) AS remaining USING (original_transaction_id, bundle_id)
        JOIN entitlements AS known USING (original_transaction_id, bundle_id)
        WHERE known.entitled_until > remaining.entitled_until
            -- What was granted since, beyond what was revoked, is another grant. So is what reaches beyond a row that
            -- ended with its period: the row of the next one need not come with it.
            AND (
                revoked.entitled_until >= known.entitled_until
                OR (
                    revoked.revoked_at >= iap.last_said(ROW(known.*)::iap.entitlements)
                    AND NOT (
                        revoked.revoked_at >= revoked.entitled_until
                        AND iap.is_end_of_period(
                            known.bundle_id, known.original_transaction_id, revoked.entitled_until))))
        ORDER BY original_transaction_id, bundle_id
    LOOP
        PERFORM iap.revoke_entitlement(word.bundle_id, word.original_transaction_id, word.entitled_until);
        taken := taken + 1;
    END LOOP;

    -- A row that was revoked beside one that goes on and reaches further, such as of a month of better access within a
    -- year.
    FOR word IN
        SELECT ROW(e.*)::iap.entitlements AS known, revoked.ends
        FROM (
            SELECT
                original_transaction_id, bundle_id,
                array_agg(ROW(entitled_until, revoked_at)::iap.word) AS ends
            FROM (
                SELECT original_transaction_id, bundle_id, entitled_until, max(revoked_at) AS revoked_at
                FROM unnest(words)
                GROUP BY original_transaction_id, bundle_id, entitled_until
                -- Where another row grants as much, that one holds.
                HAVING bool_and(coalesce(revoked_at < entitled_until, false))
            ) AS ended
            GROUP BY original_transaction_id, bundle_id
        ) AS revoked
        JOIN entitlements AS e USING (original_transaction_id, bundle_id)
        WHERE EXISTS (SELECT FROM unnest(e.shorter) AS shorter JOIN unnest(revoked.ends) AS ended USING (until))
        ORDER BY original_transaction_id, bundle_id
        FOR UPDATE OF e
    LOOP
        PERFORM iap.revoke_words(word.known, word.ends);
        taken := taken + 1;
    END LOOP;

    -- As in iap.entitle: a row that reaches less far, and goes on, may be of what was bought since; so may one that the
    -- grant was just taken back to.
    FOR word IN
        SELECT
            ROW(e.*)::iap.entitlements AS known, said.granted_at, shorter.ends, taken.is_back AS is_taken_back_to
        FROM (
            SELECT
                original_transaction_id, bundle_id, granted_at, array_agg(entitled_until) AS ends,
                min(entitled_until) AS shortest
            FROM unnest(words)
            WHERE revoked_at IS NULL AND entitled_until > granted_at
            GROUP BY original_transaction_id, bundle_id, granted_at
        ) AS said
        JOIN entitlements AS e USING (original_transaction_id, bundle_id)
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(DISTINCT ending), '{}') AS ends
            FROM unnest(said.ends) AS ending
            WHERE ending < e.entitled_until AND iap.is_new_word(ROW(e.*)::iap.entitlements, ending)
        ) AS shorter
        CROSS JOIN LATERAL (
            SELECT e.entitled_until = ANY (said.ends) AND e.revoked_at >= said.granted_at
        ) AS taken (is_back)
        -- Most rows of a company's table say again what they said the night before.
        WHERE (said.shortest < e.entitled_until OR e.revoked_at >= said.granted_at)
            AND iap.last_said(ROW(e.*)::iap.entitlements) <= said.granted_at
            AND (taken.is_back OR shorter.ends <> '{}')
        ORDER BY original_transaction_id, bundle_id
        FOR UPDATE OF e
    LOOP
        became := word.known;
        IF word.is_taken_back_to THEN
            became.granted_at := word.granted_at;
        END IF;
        FOREACH until IN ARRAY word.ends LOOP
            became := iap.with_shorter(became, ROW(until, word.granted_at)::iap.word);
        END LOOP;
        PERFORM iap.keep_entitlement(word.known, became);
    END LOOP;
    RETURN taken;
END
$$;

COMMENT ON FUNCTION iap.import_entitlements(words iap.entitlements[]) IS 'Takes what a company''s own tables say was granted, as iap.entitle does: a later word never shortens but where it says that the grant was revoked, and nothing was granted beyond it since. Of several for one original purchase the one that reaches furthest counts. What is covered moves in the night, or before the next word on it.';

CREATE FUNCTION iap.imported(t iap.transactions, v iap.verified) RETURNS iap.transactions
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    was iap.transactions := t;
BEGIN
    -- Excluded for a quantity that can't be: the company knows how many it delivered.
    IF t.quantity < 1 THEN
        t.quantity := v.quantity;
        t := iap.rebooked(t, was);
    END IF;
    -- Of what is shared in a family nobody paid: when that ended, no money went back.
    IF t.is_family_shared THEN
        t := iap.unrefunded(t);
    END IF;
    RETURN iap.delivered(t, v.user_id, v.order_id, 'import', v.delivered_at);
END
$$;

COMMENT ON FUNCTION iap.imported(t iap.transactions, v iap.verified) IS 'A transaction that a company delivered before: black.';

CREATE FUNCTION iap.is_another_night(confirmed_at timestamp with time zone, verified_at timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    -- Half a night: two runs of one night count once, however far cron drifts.
    SELECT confirmed_at IS NULL OR verified_at - confirmed_at >= '12 hours'
$$;

COMMENT ON FUNCTION iap.is_another_night(confirmed_at timestamp with time zone, verified_at timestamp with time zone) IS 'Whether a word of Apple''s confirms a white transaction for one night more than it was confirmed last.';

CREATE FUNCTION iap.is_anothers(t iap.transactions, user_id text, pseudonym text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN coalesce(coalesce(t.user_id, t.admitted_user_id) <> is_anothers.user_id, false)
        OR EXISTS (
            SELECT FROM iap.owners_by_token(t.bundle_id, t.app_account_token) AS owner
            WHERE owner <> is_anothers.user_id)
        OR EXISTS (
            SELECT FROM iap.sightings
            WHERE sightings.transaction_id = t.transaction_id AND sightings.bundle_id = t.bundle_id
                AND sightings.environment = t.environment
                AND sightings.user_id NOT IN (is_anothers.user_id, pseudonym));
END
$$;

COMMENT ON FUNCTION iap.is_anothers(t iap.transactions, user_id text, pseudonym text) IS 'Whether anything but a token that is the user''s own says that a purchase is, or may be, another user''s.';

CREATE TABLE iap.runs (
    run_id bigint NOT NULL,
    as_of timestamp with time zone NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    host text NOT NULL,
    process_id integer NOT NULL,
    program_version text NOT NULL,
    state text DEFAULT 'running'::text NOT NULL,
    exit_code integer,
    reason text,
    receipts_due bigint DEFAULT 0 NOT NULL,
    receipts_verified bigint DEFAULT 0 NOT NULL,
    receipts_try_again bigint DEFAULT 0 NOT NULL,
    receipts_unusable bigint DEFAULT 0 NOT NULL,
    verified bigint[] DEFAULT '{0,0,0}'::bigint[] NOT NULL,
    newly_white bigint[] DEFAULT '{0,0,0}'::bigint[] NOT NULL,
    already_white bigint[] DEFAULT '{0,0,0}'::bigint[] NOT NULL,
    already_black bigint[] DEFAULT '{0,0,0}'::bigint[] NOT NULL,
    excluded bigint[] DEFAULT '{0,0,0}'::bigint[] NOT NULL,
    opening_white bigint[],
    new bigint[],
    claimed bigint[],
    resolved bigint[],
    refunded bigint[],
    closing_white bigint[],
    closing_number bigint,
    closed_through date,
    cases jsonb,
    stages jsonb,
    told jsonb,
    CONSTRAINT books_are_whole CHECK ((num_nulls(opening_white, new, claimed, resolved, refunded, closing_white, closing_number) = ANY (ARRAY[0, 7]))),
    CONSTRAINT complete_has_books CHECK (((state <> 'complete'::text) OR (closing_number IS NOT NULL))),
    CONSTRAINT complete_is_success CHECK (((state <> 'complete'::text) OR (exit_code = 0))),
    CONSTRAINT exit_code_of_finished CHECK (((state = ANY (ARRAY['running'::text, 'abandoned'::text])) OR (exit_code IS NOT NULL))),
    CONSTRAINT finished_when_it_says_so CHECK (((state = 'running'::text) = (finished_at IS NULL))),
    CONSTRAINT reason_when_not_complete CHECK (((state = ANY (ARRAY['running'::text, 'complete'::text])) OR (reason IS NOT NULL))),
    CONSTRAINT runs_state_check CHECK ((state = ANY (ARRAY['running'::text, 'complete'::text, 'ended_early'::text, 'failed'::text, 'abandoned'::text])))
);

COMMENT ON TABLE iap.runs IS 'Every run of the job, with its control totals: transactions, units and hash total.';

COMMENT ON COLUMN iap.runs.as_of IS 'The moment that the run took for the present.';

COMMENT ON COLUMN iap.runs.state IS 'abandoned: killed, as a later run found.';

COMMENT ON COLUMN iap.runs.closing_number IS 'The order of the runs whose books are closed; each opens with the one before.';

COMMENT ON COLUMN iap.runs.closed_through IS 'The last day (UTC) that is closed for good for finance.';

CREATE FUNCTION iap.is_balanced(r iap.runs) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN (((r).verified[1] = ((((r).newly_white[1] + (r).already_white[1]) + (r).already_black[1]) + (r).excluded[1])) AND ((r).verified[2] = ((((r).newly_white[2] + (r).already_white[2]) + (r).already_black[2]) + (r).excluded[2])) AND ((r).verified[3] = ((((r).newly_white[3] # (r).already_white[3]) # (r).already_black[3]) # (r).excluded[3])) AND ((r).closing_white[1] = (((((r).opening_white[1] + (r).new[1]) - (r).claimed[1]) - (r).resolved[1]) - (r).refunded[1])) AND ((r).closing_white[2] = (((((r).opening_white[2] + (r).new[2]) - (r).claimed[2]) - (r).resolved[2]) - (r).refunded[2])) AND ((r).closing_white[3] = (((((r).opening_white[3] # (r).new[3]) # (r).claimed[3]) # (r).resolved[3]) # (r).refunded[3])));

COMMENT ON FUNCTION iap.is_balanced(r iap.runs) IS 'Whether a run found a place for all that it verified, and what entered and left white explains what is in it; NULL where the books are not closed and nothing else is wrong.';

CREATE FUNCTION iap.is_beyond(number bigint, upto bigint, gaps int8multirange) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN ((number > LEAST(upto, (lower(gaps) - 1))) AND ((number > upto) OR (number <@ gaps)));

COMMENT ON FUNCTION iap.is_beyond(number bigint, upto bigint, gaps int8multirange) IS 'Whether an entry, a move or an event lies beyond a frontier.';

CREATE FUNCTION iap.is_bought_since(t iap.transactions, granted_at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN t.purchased_at > granted_at AND EXISTS (
        SELECT FROM transactions AS replaced
        WHERE iap.is_of_original(
                replaced.transaction_id, replaced.original_transaction_id, t.original_transaction_id)
            AND replaced.bundle_id = t.bundle_id AND replaced.environment = t.environment
            AND replaced.product_id <> t.product_id AND replaced.purchased_at < t.purchased_at
            AND (
                replaced.expires_at > t.purchased_at
                -- No period that is paid for is over so soon: the shortest is a trial of three days.
                OR (t.environment = 'Production' AND replaced.purchased_at > t.purchased_at - interval '2 days')
                -- Apple has yet to tell the end of it: a renewal is granted a day ahead at most.
                OR (
                    replaced.expires_at IS NULL AND t.purchased_at > is_bought_since.granted_at + interval '1 day'
                    -- By the next one it was over: the grant was said for that.
                    AND NOT EXISTS (
                        SELECT FROM transactions AS next
                        WHERE iap.is_of_original(
                                next.transaction_id, next.original_transaction_id, t.original_transaction_id)
                            AND next.bundle_id = t.bundle_id AND next.environment = t.environment
                            AND next.purchased_at > replaced.purchased_at
                            AND next.purchased_at <= is_bought_since.granted_at))));
END
$$;

COMMENT ON FUNCTION iap.is_bought_since(t iap.transactions, granted_at timestamp with time zone) IS 'Whether a period is of a product that took another''s place, as an upgrade does, after the grant was said: that reaches over it for the other''s sake, and has not delivered it. A renewal, also into another product, begins where the period before ends, and may have been granted ahead.';

CREATE FUNCTION iap.is_confirmation(t iap.transactions, v iap.verified) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT t.place = 'white' AND t.refund_run_id IS NULL
        AND v.exclusion IS NULL AND v.refunded_at IS NULL
        AND iap.is_another_night(t.last_confirmed_at, coalesce(v.confirmed_at, v.verified_at))
        AND (v.source < t.source OR (v.source = t.source AND v.verified_at >= t.verified_at))
        AND (v.product_type IS NULL OR v.product_type = t.product_type) IS TRUE
        AND (v.expires_at IS NULL OR v.expires_at = t.expires_at) IS TRUE
        AND (v.web_order_line_item_id IS NULL OR t.web_order_line_item_id IS NOT NULL)
        AND NOT iap.fills_in(t, v)
$$;

COMMENT ON FUNCTION iap.is_confirmation(t iap.transactions, v iap.verified) IS 'Whether all that iap.heard makes of a transaction is that it was confirmed one night more.';

CREATE FUNCTION iap.is_covered(t iap.transactions, e iap.entitlements, at timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $_$
    SELECT CASE
        WHEN ($1).expires_at IS NOT NULL THEN iap.reaches(($2).entitled_until, ($1).expires_at)
        -- Apple has yet to tell the end of it. The grant of the period before, which servers stretch over its end, is
        -- none of this one: that is said a day before it at most, and reaches further. The shortest is a trial of three
        -- days. Nor is it known to have no end where nobody knows the type of it; but before an original there is none.
        WHEN (
                ($1).product_type = 'auto_renewable'
                OR (($1).product_type IS NULL AND ($1).transaction_id <> ($1).original_transaction_id))
            AND ($2).entitled_until <> 'infinity'
            THEN iap.said_for($1, $2) > ($1).purchased_at - interval '1 day'
                AND ($2).entitled_until > ($1).purchased_at + interval '2 days'
                AND (($2).revoked_at IS NULL OR ($2).entitled_until > $3)
        -- What has no end of its own was granted, or it was taken back, perhaps from a moment on that lies ahead.
        ELSE ($1).purchased_at < ($2).entitled_until AND (($2).revoked_at IS NULL OR ($2).entitled_until > $3)
    END
$_$;

COMMENT ON FUNCTION iap.is_covered(t iap.transactions, e iap.entitlements, at timestamp with time zone) IS 'Whether what an entitlement grants reaches to the end of a period; where that is not known yet, whether it was said for this period.';

CREATE FUNCTION iap.is_delivered_beside(t iap.transactions) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
    RETURN iap.is_delivered_otherwise(t) OR iap.is_period_delivered(t)
        OR EXISTS (
            SELECT FROM transactions AS same
            WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
                AND same.bundle_id = t.bundle_id AND same.environment = t.environment
                -- By words that no index answers to, as in iap.take_for_delivery.
                AND same.transaction_id <> t.transaction_id AND starts_with(same.place, 'black')
                AND iap.is_same_purchase(t, ROW(same.*)::iap.transactions));
END
$$;

COMMENT ON FUNCTION iap.is_delivered_beside(t iap.transactions) IS 'Whether a purchase was delivered under another id: also as an import tells, or while the list of products called it something else than bought once. Then what was resolved by mistake is not owed again.';

CREATE FUNCTION iap.is_delivered_otherwise(t iap.transactions) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN iap.is_original_delivered(t) AND coalesce(iap.type_of(t) = 'non_consumable', false);
END
$$;

COMMENT ON FUNCTION iap.is_delivered_otherwise(t iap.transactions) IS 'Whether a non-consumable was delivered under another transaction id: bought once, it is owed once.';

CREATE FUNCTION iap.is_dismissed_otherwise(t iap.transactions) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND same.reason = 'dismissed' AND same.refunded_at IS NULL
            AND iap.is_same_purchase(t, ROW(same.*)::iap.transactions));
END
$$;

COMMENT ON FUNCTION iap.is_dismissed_otherwise(t iap.transactions) IS 'Whether the support desk dismissed the purchase under another transaction id, and no money went back.';

CREATE FUNCTION iap.is_elsewhere(t iap.transactions) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM transactions AS other
        WHERE other.transaction_id = t.transaction_id AND other.bundle_id = t.bundle_id
            AND other.environment <> t.environment
            -- What is not owed in production is not to be had by a test of the same id.
            AND (other.place = 'black' OR other.environment = 'Production'));
END
$$;

COMMENT ON FUNCTION iap.is_elsewhere(t iap.transactions) IS 'Whether the id of a transaction decides in the other environment: it was delivered there, or is production''s.';

CREATE FUNCTION iap.is_end_of_period(bundle_id text, original_transaction_id text, until timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
#variable_conflict use_column
BEGIN
    RETURN EXISTS (
        SELECT FROM transactions AS period
        WHERE iap.is_of_original(
                period.transaction_id, period.original_transaction_id, is_end_of_period.original_transaction_id)
            AND period.bundle_id = is_end_of_period.bundle_id
            AND iap.reaches(until, period.expires_at) AND iap.reaches(period.expires_at, until));
END
$$;

COMMENT ON FUNCTION iap.is_end_of_period(bundle_id text, original_transaction_id text, until timestamp with time zone) IS 'Whether a period of an original purchase ends at a moment.';

CREATE FUNCTION iap.is_given_up(r iap.redeliveries) RETURNS boolean
    LANGUAGE sql STABLE
    AS $_$ SELECT ($1).ended_at IS NULL AND ($1).tries = 5 AND ($1).due_at <= now() $_$;

COMMENT ON FUNCTION iap.is_given_up(r iap.redeliveries) IS 'Whether a redelivery was taken as often as it may be, and its last lease is over: it waits for a person.';

CREATE FUNCTION iap.is_granted(t iap.transactions, e iap.entitlements, at timestamp with time zone, said_at timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    AS $_$
    SELECT iap.is_covered($1, $2, $3) AND NOT iap.is_late_case($1, coalesce($4, iap.said_for($1, $2)))
        -- Most were bought before it: no call for each.
        AND (($1).purchased_at <= ($2).granted_at OR NOT iap.is_bought_since($1, iap.said_for($1, $2)))
        AND NOT iap.is_granted_elsewhere($1, iap.said_for($1, $2))
$_$;

COMMENT ON FUNCTION iap.is_granted(t iap.transactions, e iap.entitlements, at timestamp with time zone, said_at timestamp with time zone) IS 'Whether an entitlement delivers a period: it covers it, and was said neither after a case had been made of it nor for what it took the place of, nor in the other environment. said_at is when the server said so last, where it granted no more by that.';

CREATE FUNCTION iap.is_granted_already(t iap.transactions) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM entitlements AS e
        WHERE e.original_transaction_id = t.original_transaction_id AND e.bundle_id = t.bundle_id
            AND iap.is_granted(t, ROW(e.*)::iap.entitlements, iap.present()));
END
$$;

COMMENT ON FUNCTION iap.is_granted_already(t iap.transactions) IS 'Whether a white transaction was delivered by a grant, which the night has yet to write: what Apple told of after it was granted, and what another session held then.';

CREATE FUNCTION iap.is_granted_elsewhere(t iap.transactions, granted_at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM transactions AS other
        WHERE iap.is_of_original(other.transaction_id, other.original_transaction_id, t.original_transaction_id)
            AND other.bundle_id = t.bundle_id AND other.environment <> t.environment
            AND (
                other.environment = 'Production' OR other.delivered_by = 'entitlement'
                -- Also where testers' purchases are not looked at.
                OR (
                    other.purchased_at <= is_granted_elsewhere.granted_at
                    AND is_granted_elsewhere.granted_at < t.purchased_at)));
END
$$;

COMMENT ON FUNCTION iap.is_granted_elsewhere(t iap.transactions, granted_at timestamp with time zone) IS 'Whether a grant, which names no environment, is of the same original in the other one: production''s, where that knows it; a tester''s, where it delivered theirs, or was said when there was only theirs.';

CREATE FUNCTION iap.is_granted_to_others(t iap.transactions) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN coalesce(t.user_id <> t.admitted_user_id, false) OR EXISTS (
        SELECT FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND same.source <> 'app_server');
END
$$;

COMMENT ON FUNCTION iap.is_granted_to_others(t iap.transactions) IS 'Whether the grant that delivered a transaction of a wrong original was another purchase''s: of another user than it was admitted for, or of an original that Apple knows. Else the server meant this one, and erred both times.';

CREATE FUNCTION iap.is_handed_in_again(submitted_at timestamp with time zone, uploaded_again_at timestamp with time zone, at timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $_$ SELECT $3 > greatest($1, $2) + interval '7 days' $_$;

COMMENT ON FUNCTION iap.is_handed_in_again(submitted_at timestamp with time zone, uploaded_again_at timestamp with time zone, at timestamp with time zone) IS 'Whether an upload of a receipt comes a week after the one before that counted, as from who uses the app again.';

CREATE FUNCTION iap.is_known_user(user_id text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
#variable_conflict use_column
BEGIN
    IF EXISTS (SELECT FROM iap.orders WHERE user_id = is_known_user.user_id)
        OR EXISTS (SELECT FROM iap.transactions WHERE user_id = is_known_user.user_id)
        OR EXISTS (SELECT FROM iap.entitlements WHERE user_id = is_known_user.user_id)
        OR EXISTS (SELECT FROM iap.account_tokens WHERE user_id = is_known_user.user_id)
        OR EXISTS (
            SELECT FROM iap.transactions
            WHERE admitted_user_id = is_known_user.user_id AND starts_with(place, 'white'))
    THEN
        RETURN true;
    END IF;
    PERFORM 1 FROM iap.receipts WHERE user_id = is_known_user.user_id LIMIT 1;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION iap.is_known_user(user_id text) IS 'Whether a user ever handed anything in, ordered, was registered, was delivered to, is entitled to anything or is owed what was admitted for them.';

CREATE FUNCTION iap.is_late_case(t iap.transactions, granted_at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN coalesce(iap.over_at(t) <= granted_at, false)
        AND EXISTS (
            SELECT FROM cases
            WHERE cases.periods <> '{}' AND cases.periods @> ARRAY[t.transaction_id]::text[]
                AND cases.bundle_id = t.bundle_id AND cases.environment = t.environment
                -- Where the oldest period was claimed or refunded, its case is closed until a sweep opens one of the
                -- next. What a grant closed it delivered late, and what a sweep withdrew is still white.
                AND (
                    cases.state = 'open'
                    OR (
                        cases.closed_by <> 'entitlement'
                        AND NOT EXISTS (
                            SELECT FROM transactions AS oldest
                            WHERE oldest.transaction_id = cases.transaction_id AND oldest.bundle_id = cases.bundle_id
                                AND oldest.environment = cases.environment AND oldest.place = 'white'))))
        -- What the app's server has taken to deliver late it grants late: after it took it, and before it gave up.
        AND NOT EXISTS (
            SELECT FROM cases
            JOIN redeliveries AS ordered USING (transaction_id, bundle_id, environment)
            WHERE cases.periods <> '{}' AND cases.periods @> ARRAY[t.transaction_id]::text[]
                AND cases.bundle_id = t.bundle_id AND cases.environment = t.environment
                AND ordered.ended_at IS NULL AND ordered.taken_at <= is_late_case.granted_at
                AND NOT iap.is_given_up(ROW(ordered.*)::iap.redeliveries));
END
$$;

COMMENT ON FUNCTION iap.is_late_case(t iap.transactions, granted_at timestamp with time zone) IS 'Whether a period went by without access before it was granted, and was found so: it stays a case, but where that was said while its redelivery was under way.';

CREATE FUNCTION iap.is_later_refund(refunded_at timestamp with time zone, known_at timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $_$
    -- Some of Apple's formats tell of it to the second.
    SELECT $1 >= $2 + interval '1 second'
$_$;

COMMENT ON FUNCTION iap.is_later_refund(refunded_at timestamp with time zone, known_at timestamp with time zone) IS 'Whether Apple refunded a transaction once more than is known: so it took the one that is known back between them, and may tell of that later.';

CREATE FUNCTION iap.is_new_word(known iap.entitlements, until timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    before timestamptz := (SELECT max(said_at) FROM unnest(known.shorter) AS word WHERE word.until = is_new_word.until);
BEGIN
    RETURN before IS NULL OR iap.is_said_for_upgrade(known, until, before);
END
$$;

COMMENT ON FUNCTION iap.is_new_word(known iap.entitlements, until timestamp with time zone) IS 'Whether a word that reaches less far than what is granted was not said before, or is said again for an upgrade.';

CREATE FUNCTION iap.is_news(t iap.transactions, v iap.verified) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT v.source > t.source
        OR (v.refunded_at IS NULL) <> (t.refunded_at IS NULL)
        OR (v.refunded_at IS NOT NULL AND t.refund_run_id IS NULL)
        OR iap.is_later_refund(v.refunded_at, t.refunded_at)
        OR iap.fills_in(t, v)
        OR (t.expires_at IS NULL AND v.expires_at IS NOT NULL)
        -- Apple extended it.
        OR (
            v.source = t.source AND v.verified_at >= t.verified_at
            AND NOT iap.reaches(t.expires_at, v.expires_at))
        -- Of no period are seats that were added to one: a poorer word would name that one.
        OR (v.source = t.source AND t.web_order_line_item_id IS NULL AND v.web_order_line_item_id IS NOT NULL)
        OR (v.exclusion = 'family_shared' AND NOT t.is_family_shared)
        OR (
            v.revocation_type IS NOT NULL
            AND (t.revocation_type, t.revocation_percentage)
                IS DISTINCT FROM (v.revocation_type, v.revocation_percentage))
        OR (
            t.place = 'white'
            AND (
                v.exclusion IS NOT NULL
                OR iap.is_another_night(t.last_confirmed_at, coalesce(v.confirmed_at, v.verified_at))))
        -- Of several signatures the latest tells until when nothing was refunded.
        OR (t.place = 'white' AND t.source = 'local' AND v.source = 'local' AND v.verified_at > t.verified_at)
        OR (t.reason IN ('sandbox', 'before_start') AND v.exclusion IS DISTINCT FROM t.reason)
        OR (t.reason = 'restored' AND t.refunded_at IS NULL AND v.exclusion IS NULL)
        -- It was told of under another id alone.
        OR (v.refunded_at IS NOT NULL AND t.place = 'black' AND iap.is_refunded_elsewhere(t))
$$;

COMMENT ON FUNCTION iap.is_news(t iap.transactions, v iap.verified) IS 'Whether iap.heard can make anything else of a transaction than what it is.';

CREATE FUNCTION iap.is_of_original(transaction_id text, original_transaction_id text, wanted text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $_$
    SELECT ($1 = $3 AND $2 = $3) OR ($2 = $3 AND $2 <> $1)
$_$;

COMMENT ON FUNCTION iap.is_of_original(transaction_id text, original_transaction_id text, wanted text) IS 'Whether a transaction is of an original purchase: in words for which there are indexes, without one entry more for each purchase that is its own original.';

CREATE FUNCTION iap.is_order_used(t iap.transactions, order_id text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    -- Orders are looked for in the collation that they are sorted by: see iap.receipts_of.
    RETURN EXISTS (
        SELECT FROM transactions AS served
        WHERE served.order_id = is_order_used.order_id COLLATE "default" AND served.bundle_id = t.bundle_id
            AND served.place = 'black' AND served.original_transaction_id <> t.original_transaction_id);
END
$$;

COMMENT ON FUNCTION iap.is_order_used(t iap.transactions, order_id text) IS 'Whether another purchase than this one was delivered for an order of the app''s own: an order is used once.';

CREATE FUNCTION iap.is_original_delivered(t iap.transactions) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT
        FROM delivered_originals AS taken
        -- Or it is itself what was named as the original of another: an original has none of its own.
        WHERE taken.original_transaction_id IN (t.original_transaction_id, t.transaction_id)
            AND taken.bundle_id = t.bundle_id AND taken.environment = t.environment
            AND taken.web_order_line_item_id = '' AND taken.transaction_id <> t.transaction_id);
END
$$;

COMMENT ON FUNCTION iap.is_original_delivered(t iap.transactions) IS 'Whether the original purchase was delivered under another transaction id: of a non-consumable, or of what nobody knew the type of.';

CREATE FUNCTION iap.is_outdated_refund(t iap.transactions, v iap.verified) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN iap.refund_as_of(v) <= t.refund_reversed_at OR (
        t.refunded_at IS NULL AND (
            -- What Apple answers of a customer's history holds every refund; of a receipt, only those that came before
            -- it was made.
            (t.source = 'server_api' AND NOT iap.may_not_know(t.verified_at, iap.refund_as_of(v)))
            OR iap.is_taken_back(v)));
END
$$;

COMMENT ON FUNCTION iap.is_outdated_refund(t iap.transactions, v iap.verified) IS 'Whether Apple took a refund back, or knew of none any more, after it told of it: its words come in any order.';

CREATE FUNCTION iap.is_own_token(bundle_id text, app_account_token text, user_id text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    -- By the collation that users and tokens are sorted by: see iap.receipts_of.
    RETURN (
        EXISTS (
            SELECT FROM iap.orders AS own
            WHERE own.user_id = is_own_token.user_id COLLATE "default"
                AND own.app_account_token = is_own_token.app_account_token COLLATE "default")
        OR EXISTS (
            SELECT FROM iap.account_tokens AS own
            WHERE own.user_id = is_own_token.user_id COLLATE "default"
                AND own.app_account_token = is_own_token.app_account_token COLLATE "default"))
        AND NOT EXISTS (
            SELECT FROM iap.owners_by_token(is_own_token.bundle_id, is_own_token.app_account_token) AS owner
            WHERE owner <> is_own_token.user_id);
END
$$;

COMMENT ON FUNCTION iap.is_own_token(bundle_id text, app_account_token text, user_id text) IS 'Whether a user registered a token, or ordered with it, for whatever app, and nobody else did for this one.';

CREATE FUNCTION iap.is_parted(was iap.transactions, became iap.transactions) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $_$
    SELECT ($1).original_transaction_id <> ($2).original_transaction_id
        OR coalesce(($1).web_order_line_item_id <> ($2).web_order_line_item_id, false)
        -- What a family shares was another purchase.
        OR (($2).is_family_shared AND NOT ($1).is_family_shared)
$_$;

COMMENT ON FUNCTION iap.is_parted(was iap.transactions, became iap.transactions) IS 'Whether a transaction is of another original purchase, or period, than was known; or of none of its own, for a family shares it.';

CREATE FUNCTION iap.is_period_delivered(t iap.transactions) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
    -- Of nothing else does Apple name one.
    RETURN t.web_order_line_item_id IS NOT NULL AND EXISTS (
        SELECT
        FROM delivered_originals AS taken
        WHERE taken.original_transaction_id = t.original_transaction_id AND taken.bundle_id = t.bundle_id
            AND taken.environment = t.environment AND taken.web_order_line_item_id = t.web_order_line_item_id
            AND taken.transaction_id <> t.transaction_id);
END
$$;

COMMENT ON FUNCTION iap.is_period_delivered(t iap.transactions) IS 'Whether the period of a subscription was delivered under another transaction id: paid once, it is owed once.';

CREATE FUNCTION iap.is_pseudonym(user_id text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $_$ SELECT $1 ~ '^erased-[0-9a-f]{16}$' $_$;

COMMENT ON FUNCTION iap.is_pseudonym(user_id text) IS 'Whether the person with this id was erased.';

CREATE FUNCTION iap.is_refunded_elsewhere(t iap.transactions) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM moves
        JOIN transactions AS other
            ON other.transaction_id = moves.details ->> 'refunded_as' AND other.bundle_id = moves.bundle_id
                AND other.environment = moves.environment
        WHERE moves.transaction_id = t.transaction_id AND moves.bundle_id = t.bundle_id
            AND moves.environment = t.environment AND moves.kind = 'refunded' AND moves.run_id = t.refund_run_id
            AND other.refund_run_id IS NOT NULL);
END
$$;

COMMENT ON FUNCTION iap.is_refunded_elsewhere(t iap.transactions) IS 'Whether the refund of what was delivered was carried to it from another id of the purchase, under which Apple still tells of it: see iap.carry_refunds.';

CREATE FUNCTION iap.is_refunded_otherwise(t iap.transactions) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$ BEGIN RETURN iap.refunded_as(t) IS NOT NULL; END $$;

COMMENT ON FUNCTION iap.is_refunded_otherwise(t iap.transactions) IS 'Whether iap.refunded_as names another transaction id.';

CREATE FUNCTION iap.is_said_for_upgrade(known iap.entitlements, until timestamp with time zone, since timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM iap.transactions AS white
        WHERE iap.is_of_original(
                white.transaction_id, white.original_transaction_id, known.original_transaction_id)
            AND white.bundle_id = known.bundle_id AND white.place = 'white' AND white.purchased_at > since
            AND white.expires_at <= until AND white.expires_at > until - interval '1 day');
END
$$;

COMMENT ON FUNCTION iap.is_said_for_upgrade(known iap.entitlements, until timestamp with time zone, since timestamp with time zone) IS 'Whether a word that says an end again is of what is owed and was bought since: that ends then, perhaps rounded up to the end of a day.';

CREATE FUNCTION iap.is_same_period(t iap.transactions, same iap.transactions) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $_$
    -- Never by when they began: what is restored may bear another date, and a server may say a date of its own.
    SELECT coalesce(($1).web_order_line_item_id = ($2).web_order_line_item_id, false)
$_$;

COMMENT ON FUNCTION iap.is_same_period(t iap.transactions, same iap.transactions) IS 'Whether two transactions of a subscription are one period, of which one restored the other: as far as Apple told of both.';

CREATE FUNCTION iap.is_same_purchase(t iap.transactions, same iap.transactions) RETURNS boolean
    LANGUAGE sql STABLE
    AS $_$
    SELECT CASE
        WHEN iap.type_of($1) = 'non_consumable'
            THEN ($1).product_id = ($2).product_id OR coalesce(iap.type_of($2) = 'non_consumable', false)
        ELSE iap.is_same_period($1, $2)
    END
        -- What a family shared was another purchase. What has yet to enter is taken for none of that.
        AND coalesce(($1).is_family_shared, false) = coalesce(($2).is_family_shared, false)
$_$;

COMMENT ON FUNCTION iap.is_same_purchase(t iap.transactions, same iap.transactions) IS 'Whether two transactions of one original are one purchase, owed once: a non-consumable, or one period of a subscription.';

CREATE FUNCTION iap.is_same_refund(refunded_at timestamp with time zone, known_at timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $_$
    SELECT $1 > $2 - interval '1 second' AND $1 < $2 + interval '1 second'
$_$;

COMMENT ON FUNCTION iap.is_same_refund(refunded_at timestamp with time zone, known_at timestamp with time zone) IS 'Whether two words of a refund''s time are of one refund: some of Apple''s formats tell it to the second.';

CREATE FUNCTION iap.is_taken_back(v iap.verified) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    -- Apple's answers do not know at once of one that was taken back.
    RETURN EXISTS (
        SELECT FROM notices
        WHERE notices.transaction_id = v.transaction_id AND notices.bundle_id = v.bundle_id
            AND notices.environment = v.environment AND type = 'REFUND_REVERSED' AND signed_at > v.refunded_at
            AND iap.may_not_know(iap.refund_as_of(v), signed_at));
END
$$;

COMMENT ON FUNCTION iap.is_taken_back(v iap.verified) IS 'Whether Apple told by itself that it took a refund back, and what tells of the refund may not know that yet.';

CREATE FUNCTION iap.keep_entitlement(was iap.entitlements, became iap.entitlements) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE iap.entitlements
    SET user_id = became.user_id, entitled_until = became.entitled_until, granted_at = became.granted_at,
        revoked_at = became.revoked_at, shorter = became.shorter,
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN was.seal = audit.seal(was) THEN audit.seal(became) ELSE was.seal END
    WHERE original_transaction_id = was.original_transaction_id AND bundle_id = was.bundle_id;
END
$$;

COMMENT ON FUNCTION iap.keep_entitlement(was iap.entitlements, became iap.entitlements) IS 'Writes an entitlement that its caller has locked.';

CREATE FUNCTION iap.kind_of_move(was iap.transactions, became iap.transactions) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE
        WHEN was.refunded_at IS NULL AND became.refunded_at IS NOT NULL THEN 'refunded'
        WHEN was.refund_run_id IS NOT NULL AND became.refunded_at IS NULL THEN 'refund_reversed'
        WHEN was.place = 'excluded' AND (became.place, became.reason) IS DISTINCT FROM (was.place, was.reason)
            THEN 'released'
        WHEN was.place = 'white' AND became.place <> 'white' THEN 'withdrawn'
        ELSE 'corrected'
    END
$$;

COMMENT ON FUNCTION iap.kind_of_move(was iap.transactions, became iap.transactions) IS 'Why a transaction that Apple told of moved.';

CREATE FUNCTION iap.known_of_heard(OUT known integer[], OUT unknown integer[]) RETURNS record
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
BEGIN
    SELECT
        coalesce(array_agg(v.number) FILTER (WHERE t.found), '{}'),
        coalesce(array_agg(v.number) FILTER (WHERE t.found IS NULL), '{}')
    INTO known, unknown
    FROM heard AS v
    LEFT JOIN LATERAL (
        SELECT true AS found FROM transactions AS t
        WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id AND t.environment = v.environment
        OFFSET 0
    ) AS t ON true;
END
$$;

COMMENT ON FUNCTION iap.known_of_heard(OUT known integer[], OUT unknown integer[]) IS 'Of the batch that is staged in the session''s table heard, the numbers of those that the ledger knows and of the others.';

CREATE FUNCTION iap.last_said(known iap.entitlements) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    AS $_$ SELECT greatest(($1).granted_at, (SELECT max(said_at) FROM unnest(($1).shorter))) $_$;

COMMENT ON FUNCTION iap.last_said(known iap.entitlements) IS 'When the last word was said on an entitlement that told something new.';

CREATE FUNCTION iap.limit_idleness() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF current_setting('idle_in_transaction_session_timeout') = '0' THEN
        PERFORM set_config('idle_in_transaction_session_timeout', '5min', true);
    END IF;
END
$$;

COMMENT ON FUNCTION iap.limit_idleness() IS 'Lets a transaction that is about to lock a purchase, or what others wait for who have locked one, and then hangs, end by itself, also where its login is a member of a role and so without what roles.sql sets for the role.';

CREATE FUNCTION iap.limit_waiting() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    propagated text := current_setting('citus.propagate_set_commands', true);
    patience   text := current_setting('lock_timeout');
BEGIN
    -- One server keeps to it by itself, and workers wait without end for who wants no limit. Once in a transaction is
    -- enough: what was set is told each worker that it comes to.
    IF propagated IS NULL OR patience = coalesce(nullif(current_setting('iap.patience', true), ''), '0') THEN
        RETURN;
    END IF;
    PERFORM set_config('iap.patience', patience, true);
    -- That alone: what else the caller sets is the coordinator's, such as a role that a worker would refuse.
    PERFORM set_config('citus.propagate_set_commands', 'local', true);
    EXECUTE format('SET LOCAL lock_timeout = %L', patience);
    PERFORM set_config('citus.propagate_set_commands', propagated, true);
END
$$;

COMMENT ON FUNCTION iap.limit_waiting() IS 'In a transaction of the caller''s, has a cluster''s workers wait for a lock no longer than the caller would, whom they know only as the tables'' owner where a function works with the owner''s rights.';

CREATE FUNCTION iap.lines_of(place text, detail text, day date, refund_day date, is_reversal boolean) RETURNS TABLE(account text, line_day date, line_detail text, counted integer)
    LANGUAGE sql IMMUTABLE
    BEGIN ATOMIC
 SELECT line.account,
     line.line_day,
     line.line_detail,
     line.counted
    FROM ( VALUES (
                 CASE lines_of.place
                     WHEN 'white'::text THEN 'owed'::text
                     WHEN 'black'::text THEN 'delivered'::text
                     ELSE 'excluded'::text
                 END,lines_of.day,lines_of.detail,1), ('refunded'::text,lines_of.refund_day,
                 CASE
                     WHEN lines_of.is_reversal THEN 'reversed'::text
                     ELSE NULL::text
                 END,1), ('kept'::text,
                 CASE
                     WHEN ((lines_of.place = 'excluded'::text) AND (lines_of.detail = 'refunded'::text)) THEN lines_of.day
                     ELSE NULL::date
                 END,NULL::text,0)) line(account, line_day, line_detail, counted)
   WHERE (line.line_day IS NOT NULL);
END;

COMMENT ON FUNCTION iap.lines_of(place text, detail text, day date, refund_day date, is_reversal boolean) IS 'The accounts of finance that a position stands in, each with its day and detail, and whether the purchase counts there, 1 or 0.';

CREATE FUNCTION iap.locked(bundle_id text, environment text, transaction_id text) RETURNS iap.transactions
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    t iap.transactions;
BEGIN
    SELECT * INTO t
    FROM transactions
    WHERE transaction_id = locked.transaction_id AND bundle_id = locked.bundle_id
        AND environment = locked.environment
    FOR UPDATE;
    RETURN t;
END
$$;

COMMENT ON FUNCTION iap.locked(bundle_id text, environment text, transaction_id text) IS 'A transaction, locked until the session''s transaction ends; all NULL if there is none.';

CREATE FUNCTION iap.locked_with_periods(bundle_id text, environment text, transaction_id text) RETURNS iap.transactions
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM
    FROM iap.transactions
    WHERE transaction_id = ANY (
            ARRAY(
                SELECT unnest(told.periods)
                FROM iap.cases AS told
                WHERE told.transaction_id = locked_with_periods.transaction_id
                    AND told.bundle_id = locked_with_periods.bundle_id
                    AND told.environment = locked_with_periods.environment AND told.state = 'open')
            || locked_with_periods.transaction_id)
        AND bundle_id = locked_with_periods.bundle_id AND environment = locked_with_periods.environment
    ORDER BY transaction_id
    FOR UPDATE;
    RETURN iap.locked(
        locked_with_periods.bundle_id, locked_with_periods.environment, locked_with_periods.transaction_id);
END
$$;

COMMENT ON FUNCTION iap.locked_with_periods(bundle_id text, environment text, transaction_id text) IS 'iap.locked, with the other periods of a subscription that its open case tells of: in the order of their keys, in which a grant locks them too.';

CREATE FUNCTION iap.log_desk(kind text, who text, transaction_id text, bundle_id text, environment text, details jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM iap.log_event(
        kind, who, NULL, iap.present(), details || jsonb_build_object('login', session_user), transaction_id, bundle_id,
        environment);
END
$$;

COMMENT ON FUNCTION iap.log_desk(kind text, who text, transaction_id text, bundle_id text, environment text, details jsonb) IS 'Writes a word of the support desk about a transaction into the audit trail.';

CREATE FUNCTION iap.log_event(kind text, actor text, run_id bigint, happened_at timestamp with time zone, details jsonb, transaction_id text DEFAULT NULL::text, bundle_id text DEFAULT NULL::text, environment text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO events
    SELECT event.*, audit.seal(ROW(event.*, NULL)::iap.events)
    FROM (
        SELECT
            nextval('iap.trail'), log_event.happened_at, log_event.kind, log_event.actor, log_event.run_id,
            log_event.transaction_id, log_event.bundle_id, log_event.environment, log_event.details
    ) AS event;
END
$$;

COMMENT ON FUNCTION iap.log_event(kind text, actor text, run_id bigint, happened_at timestamp with time zone, details jsonb, transaction_id text, bundle_id text, environment text) IS 'Writes an event of a run, an import or the like into the audit trail, or one of a transaction.';

CREATE FUNCTION iap.log_moves(changes iap.change[], kind text, actor text, run bigint, at timestamp with time zone, details jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO moves
    SELECT move.*, audit.seal(ROW(move.*, NULL)::iap.moves)
    FROM (
        SELECT
            (c.became).move_id, (c.became).transaction_id, (c.became).bundle_id, (c.became).environment,
            coalesce(log_moves.kind, iap.kind_of_move(c.was, c.became)), log_moves.actor, run,
            -- Never before its entry, or the move before: a transaction that began before midnight may move what
            -- entered, or moved, after it, and the books have both by their days.
            greatest(at, (c.was).first_seen_at, (
                SELECT latest.moved_at
                FROM moves AS latest
                WHERE latest.transaction_id = (c.was).transaction_id AND latest.move_id = (c.was).move_id)),
            was.place, became.place, was.detail, became.detail,
            was.day, became.day, was.refund_day, became.refund_day,
            was.product_id, became.product_id, was.units, became.units, was.milliunits, became.milliunits,
            was.currency, became.currency, was.booked_as, became.booked_as,
            log_moves.details || iap.refund_shares(c.was, c.became) || iap.parted_from(c.was, c.became)
        FROM unnest(changes) AS c
        CROSS JOIN LATERAL (SELECT (iap.position_of(c.was)).*) AS was
        CROSS JOIN LATERAL (SELECT (iap.position_of(c.became)).*) AS became
        WHERE (c.became).move_id IS DISTINCT FROM (c.was).move_id
    ) AS move;
END
$$;

COMMENT ON FUNCTION iap.log_moves(changes iap.change[], kind text, actor text, run bigint, at timestamp with time zone, details jsonb) IS 'Writes the moves of those changes that have a new number.';

CREATE FUNCTION iap.look_again(bucket smallint, receipt_id bigint, is_for_another boolean, at timestamp with time zone, payload text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    -- A night that has the receipt in hand sees by it that there is more to look at. If that night settles it first,
    -- this waits until it has said so.
    UPDATE iap.receipts SET uploaded_again_at = look_again.at
    WHERE bucket = look_again.bucket AND receipt_id = look_again.receipt_id;

    -- An app hands in the same AppTransaction for years.
    IF look_again.payload IS NOT NULL THEN
        UPDATE iap.receipts SET payload = look_again.payload || '', payload_purged_at = NULL
        WHERE bucket = look_again.bucket AND receipt_id = look_again.receipt_id
            AND payload_purged_at IS NOT NULL AND NOT is_erased AND (look_again.is_for_another OR state = 'unusable');
    END IF;

    UPDATE iap.receipts
    SET state = CASE WHEN verified_at IS NULL THEN 'waiting' ELSE 'watched' END, next_attempt_at = look_again.at,
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE
            WHEN seal = audit.receipt_seal(
                bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at, state,
                is_erased)
            THEN audit.receipt_seal(
                bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at,
                CASE WHEN verified_at IS NULL THEN 'waiting' ELSE 'watched' END, is_erased)
            ELSE seal
        END
    WHERE bucket = look_again.bucket AND receipt_id = look_again.receipt_id
        AND (look_again.is_for_another OR state = 'unusable')
        -- Not by the payload, which an import may not read.
        AND next_attempt_at IS NULL AND payload_purged_at IS NULL AND NOT is_erased
        AND error_code IS DISTINCT FROM 'empty';
END
$$;

COMMENT ON FUNCTION iap.look_again(bucket smallint, receipt_id bigint, is_for_another boolean, at timestamp with time zone, payload text) IS 'What comes of a receipt that is handed in again, for another purchase or order or after a week: its customer is asked about again, as after any upload, and if it is done with, it is verified again. A payload that was purged is kept again.';

CREATE FUNCTION iap.looks_back_to(at timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN least(looks_back_to.at, (SELECT closed_at FROM audit.frontier)) - interval '7 days';
END
$$;

COMMENT ON FUNCTION iap.looks_back_to(at timestamp with time zone) IS 'From when on a night looks again at what nights before may have left, because another session held it.';

CREATE FUNCTION iap.may_not_know(answered_at timestamp with time zone, of_what_was_told_at timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    -- It has been seen to lag by minutes.
    SELECT of_what_was_told_at >= answered_at - interval '1 hour'
$$;

COMMENT ON FUNCTION iap.may_not_know(answered_at timestamp with time zone, of_what_was_told_at timestamp with time zone) IS 'Whether what Apple answers of a customer''s history may not hold yet what Apple told by itself at a moment.';

CREATE FUNCTION iap.may_reopen(t iap.transactions) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    IF t.refunded_at IS NOT NULL AND (t.refund_run_id IS NOT NULL OR t.reason IS DISTINCT FROM 'refunded') THEN
        RETURN false;
    END IF;
    RETURN coalesce(
        t.delivered_by = 'resolved' OR (t.reason IN ('dismissed', 'refunded') AND t.excluded_run_id IS NULL), false);
END
$$;

COMMENT ON FUNCTION iap.may_reopen(t iap.transactions) IS 'Whether the support desk put a transaction where it is, and Apple has not refunded it since: then that can be taken back. Never what a claim delivered.';

CREATE FUNCTION iap.meet_grant(bundle_id text, original_transaction_id text) RETURNS void
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM
    FROM iap.entitlements AS e
    WHERE e.original_transaction_id = meet_grant.original_transaction_id AND e.bundle_id = meet_grant.bundle_id
    FOR SHARE;
    IF NOT FOUND THEN
        INSERT INTO iap.entitlements (
            original_transaction_id, bundle_id, user_id, entitled_until, first_granted_at, granted_at)
        VALUES (
            meet_grant.original_transaction_id, meet_grant.bundle_id, '', '-infinity', '-infinity', '-infinity')
        ON CONFLICT (original_transaction_id, bundle_id) DO NOTHING;
    END IF;
    -- Rolled back at once: who grants waits for nobody who only asks.
    RAISE EXCEPTION USING ERRCODE = 'IAP01', MESSAGE = 'met';
EXCEPTION
    WHEN SQLSTATE 'IAP01' THEN NULL;
END
$$;

COMMENT ON FUNCTION iap.meet_grant(bundle_id text, original_transaction_id text) IS 'Waits for a session that is about to grant what an original transaction bought, and ends with a serialization failure where it was granted after the caller''s snapshot: only a row that is written in its place meets one that is not there yet. Leaves no row and no lock.';

CREATE FUNCTION iap.meet_grants(bundle_id text, transaction_id text) RETURNS void
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM iap.meet_grant(meet_grants.bundle_id, original_transaction_id)
    FROM (
        SELECT DISTINCT t.original_transaction_id
        FROM iap.transactions AS t
        WHERE t.transaction_id = meet_grants.transaction_id AND t.bundle_id = meet_grants.bundle_id
            AND t.place = 'white' AND iap.type_of(ROW(t.*)::iap.transactions) IS DISTINCT FROM 'consumable'
    ) AS asked;
END
$$;

COMMENT ON FUNCTION iap.meet_grants(bundle_id text, transaction_id text) IS 'iap.meet_grant, for what a claim asks for.';

CREATE FUNCTION iap.moment_said(milliseconds text) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT CASE
        -- Longer than any that is one: of what is more yet a number can't be made.
        WHEN length($1) <= 40 AND $1 ~ '^[0-9]+([.][0-9]+)?$' AND trunc($1::numeric) BETWEEN 1 AND 253402300799999
        THEN to_timestamp(trunc($1::numeric) / 1000)
    END
$_$;

COMMENT ON FUNCTION iap.moment_said(milliseconds text) IS 'The moment that Apple says in milliseconds, as a number or a text, as the night reads it: in the years up to 9999, and without a fraction of a millisecond; NULL where it can''t be one.';

CREATE FUNCTION iap.move(changes iap.change[], kind text, actor text, run bigint, at timestamp with time zone, details jsonb DEFAULT '{}'::jsonb, who text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    change    iap.change;
    corrected iap.change[];
    alike     iap.transactions[];
    moved     boolean := false;
    placed    boolean := false;
    returned  boolean := false;
    rows      bigint;
BEGIN
    FOR number IN 1 .. cardinality(changes) LOOP
        change := changes[number];
        IF iap.position_of(change.was) IS DISTINCT FROM iap.position_of(change.became)
            OR (change.was).revocation_percentage IS DISTINCT FROM (change.became).revocation_percentage
            OR iap.is_parted(change.was, change.became)
        THEN
            change.became.move_id := nextval('iap.trail');
            changes[number] := change;
            moved := true;
            placed := placed OR (change.was).place <> (change.became).place;
            returned := returned OR ((change.was).place = 'black' AND (change.became).place <> 'black');
        END IF;
    END LOOP;

    -- Only the row that its caller looked at: whoever holds an older one is told to try again.
    UPDATE transactions AS t
    SET place = n.place, original_transaction_id = n.original_transaction_id, product_id = n.product_id,
        product_type = n.product_type, quantity = n.quantity, purchased_at = n.purchased_at,
        original_purchased_at = n.original_purchased_at, expires_at = n.expires_at, is_trial = n.is_trial,
        web_order_line_item_id = n.web_order_line_item_id, app_account_token = n.app_account_token,
        price_milliunits = n.price_milliunits, currency = n.currency, storefront = n.storefront,
        found_bundle_id = n.found_bundle_id, refunded_at = n.refunded_at, refund_reason = n.refund_reason,
        refund_run_id = n.refund_run_id, refund_told_at = n.refund_told_at,
        refund_reversed_at = n.refund_reversed_at,
        revocation_type = n.revocation_type, revocation_percentage = n.revocation_percentage,
        app_transaction_id = n.app_transaction_id, is_family_shared = n.is_family_shared, source = n.source,
        verified_at = n.verified_at, booked_milliunits = n.booked_milliunits, booked_currency = n.booked_currency,
        booked_as = n.booked_as, admitted_user_id = n.admitted_user_id,
        admitted_receipt_id = n.admitted_receipt_id, nights_confirmed = n.nights_confirmed,
        last_confirmed_at = n.last_confirmed_at, user_id = n.user_id, order_id = n.order_id,
        delivered_by = n.delivered_by, delivered_at = n.delivered_at, reason = n.reason,
        excluded_at = n.excluded_at, excluded_run_id = n.excluded_run_id, move_id = n.move_id,
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN t.seal = audit.seal(c.was) THEN audit.seal(c.became) ELSE t.seal END
    FROM unnest(changes) AS c
    CROSS JOIN LATERAL (SELECT (c.became).*) AS n
    WHERE t.transaction_id = n.transaction_id AND t.bundle_id = n.bundle_id AND t.environment = n.environment
        AND t.place = (c.was).place AND t.seal IS NOT DISTINCT FROM (c.was).seal;
    GET DIAGNOSTICS rows = ROW_COUNT;
    IF rows <> cardinality(changes) THEN
        RAISE EXCEPTION 'could not move a transaction that another session moved meanwhile'
            USING ERRCODE = 'serialization_failure', HINT = 'Try the transaction again.';
    END IF;
    IF moved THEN
        PERFORM iap.log_moves(changes, kind, actor, run, at, details);
    END IF;
    IF returned THEN
        PERFORM iap.release_originals(changes);
        -- What is withdrawn for the sake of another id was delivered for its order under that one.
        IF kind IS DISTINCT FROM 'withdrawn' THEN
            PERFORM iap.release_orders(changes);
        END IF;
    END IF;
    -- What was delivered under another original than Apple knows keeps that one from being delivered again, and the
    -- other no more; and a subscription that an app's server admitted, or a company imported, the period that Apple
    -- tells of. What turns out to be shared in a family keeps none.
    SELECT array_agg(c) FILTER (WHERE (c.became).place = 'black'), array_agg(c.became) INTO corrected, alike
    FROM unnest(changes) AS c
    WHERE (c.was).place = (c.became).place AND ((c.became).place = 'black' OR (c.became).reason = 'refunded')
        AND (
            (c.was).original_transaction_id, (c.was).product_type, (c.was).web_order_line_item_id,
            (c.was).is_family_shared)
            IS DISTINCT FROM (
                (c.became).original_transaction_id, (c.became).product_type, (c.became).web_order_line_item_id,
                (c.became).is_family_shared);
    IF corrected IS NOT NULL THEN
        PERFORM iap.take_corrected(corrected);
        PERFORM iap.withdraw_counted_twice(corrected, actor, run, at);
    END IF;
    -- Under another id the same may have been refunded long ago.
    IF alike IS NOT NULL THEN
        PERFORM iap.count_refunds_once(run, at, alike);
    END IF;
    IF placed THEN
        PERFORM iap.follow_cases(changes, kind, coalesce(who, 'run ' || run, actor), run, at, details ->> 'note');
    END IF;
END
$$;

COMMENT ON FUNCTION iap.move(changes iap.change[], kind text, actor text, run bigint, at timestamp with time zone, details jsonb, who text) IS 'Writes rows that a transition gave, which the caller has locked: seals them, logs those whose place, amount or original is another, and closes or opens their cases. kind says why; NULL where Apple''s word tells.';

CREATE FUNCTION iap.new_pseudonym() RETURNS text
    LANGUAGE sql
    AS $$ SELECT 'erased-' || left(replace(gen_random_uuid()::text, '-', ''), 16) $$;

COMMENT ON FUNCTION iap.new_pseudonym() IS 'What stands in the place of a person''s id once they are erased.';

CREATE FUNCTION iap.night_lock() RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS $$ SELECT 1000 $$;

COMMENT ON FUNCTION iap.night_lock() IS 'The second half of the lock that a night holds, which the job calls LedgerLock.night: beyond the buckets'' numbers.';

CREATE FUNCTION iap.note(transaction_id text, note text, who text, bundle_id text DEFAULT NULL::text, environment text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    place record;
BEGIN
    PERFORM iap.commit_durably();
    PERFORM iap.require_transaction_id('transaction_id', note.transaction_id);
    PERFORM iap.require_text('who', note.who, 1000);
    PERFORM iap.require_text('note', note.note, 10000);
    place := iap.place_of(note.transaction_id, note.bundle_id, note.environment);
    IF place.bundle_id IS NULL THEN
        RETURN 'not_verified';
    END IF;
    PERFORM iap.log_desk(
        'noted', note.who, note.transaction_id, place.bundle_id, place.environment,
        jsonb_build_object('note', note.note));
    RETURN 'noted';
END
$$;

COMMENT ON FUNCTION iap.note(transaction_id text, note text, who text, bundle_id text, environment text) IS 'Writes a comment of the support desk on a transaction into the audit trail, and gives noted; not_verified where nobody knows it. The report and check show it.';

CREATE FUNCTION iap.note_answers(bundle_id text, environment text, customer_ids text[], accounts text[], revisions text[], expiries timestamp with time zone[], every interval, at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    WITH asked AS MATERIALIZED (
        SELECT
            customer_id, account, revision, expires_at,
            account <> (
                SELECT t.app_transaction_id
                FROM customers AS known
                JOIN transactions AS t USING (transaction_id, bundle_id, environment)
                WHERE known.customer_id = asked.customer_id AND known.bundle_id = note_answers.bundle_id
                    AND known.environment = note_answers.environment
            ) AS is_of_another
        FROM unnest(customer_ids, accounts, revisions, expiries) AS asked (customer_id, account, revision, expires_at)
    ), told AS (
        -- By another customer's revision Apple would pass over what this one buys, and by their account this one would
        -- be taken for them, and not be asked about any more.
        SELECT customer_id, own.account, own.revision, own.expires_at
        FROM asked
        LEFT JOIN LATERAL (SELECT account, revision, expires_at WHERE is_of_another IS NOT TRUE) AS own ON true
    ), answered AS MATERIALIZED (
        DELETE FROM customers AS known
        USING told
        WHERE known.customer_id = told.customer_id AND known.bundle_id = note_answers.bundle_id
            AND known.environment = note_answers.environment
        RETURNING
            coalesce(told.account, known.customer_id) AS customer_id, known.transaction_id, known.last_seen_at,
            greatest(known.expires_at, told.expires_at) AS expires_at,
            coalesce(told.revision, known.revision) AS revision
    )
    INSERT INTO customers AS known (
        customer_id, bundle_id, environment, transaction_id, last_seen_at, expires_at, revision, asked_at, next_at)
    SELECT
        customer_id, note_answers.bundle_id, note_answers.environment, transaction_id, last_seen_at, expires_at,
        revision, at, least(at + every, iap.asked_after_expiry(expires_at, at))
    FROM (
        -- Several may be one, by the account that Apple tells: who bought last stands for all.
        SELECT DISTINCT ON (customer_id)
            customer_id, transaction_id, last_seen_at, revision,
            max(expires_at) OVER (PARTITION BY customer_id) AS expires_at
        FROM answered
        ORDER BY customer_id, last_seen_at DESC, transaction_id DESC
    ) AS answered
    ON CONFLICT (customer_id, bundle_id, environment) DO UPDATE
    SET last_seen_at = greatest(known.last_seen_at, EXCLUDED.last_seen_at),
        expires_at = greatest(known.expires_at, EXCLUDED.expires_at), revision = EXCLUDED.revision,
        asked_at = EXCLUDED.asked_at, next_at = EXCLUDED.next_at;
END
$$;

COMMENT ON FUNCTION iap.note_answers(bundle_id text, environment text, customer_ids text[], accounts text[], revisions text[], expiries timestamp with time zone[], every interval, at timestamp with time zone) IS 'Notes that Apple answered for these customers: up to where their histories are known, and when they are due again. Whose appTransactionId it told is known by that from now on; but of an answer with another''s than the purchase bears by which it was asked nothing is noted: it is another customer''s history.';

CREATE FUNCTION iap.note_attempt(attempt iap.claims, t iap.transactions) RETURNS text
    LANGUAGE plpgsql
    AS $$
BEGIN
    LOOP
        -- Of any number of claims of an id one gets this row, in whatever environment and at any isolation level.
        INSERT INTO iap.claims (transaction_id, bundle_id, user_id, order_id, outcome, attempted_at, seal)
        VALUES (
            attempt.transaction_id, attempt.bundle_id, attempt.user_id, attempt.order_id, attempt.outcome,
            attempt.attempted_at, audit.seal(attempt))
        ON CONFLICT (transaction_id, bundle_id) WHERE outcome = 'delivered' DO NOTHING;
        EXIT WHEN FOUND;
        PERFORM iap.release_originals(ARRAY[ROW(t, t)::iap.change]);
        attempt.outcome := 'undecided';
    END LOOP;
    RETURN attempt.outcome;
END
$$;

COMMENT ON FUNCTION iap.note_attempt(attempt iap.claims, t iap.transactions) IS 'Writes an attempt to claim, and gives its outcome: undecided where it would be delivered, and another claim of the id was.';

CREATE FUNCTION iap.note_checks(bundle_id text, environment text, transaction_ids text[], findings text[], tokens text[], at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    WITH answered AS MATERIALIZED (
        SELECT
            told.transaction_id,
            coalesce(
                told.finding,
                CASE WHEN owners <> '{}' AND t.user_id <> ALL (owners) THEN 'another_user' END) AS finding
        FROM unnest(transaction_ids, findings, tokens) AS told (transaction_id, finding, token)
        LEFT JOIN transactions AS t
            ON t.transaction_id = told.transaction_id AND t.bundle_id = note_checks.bundle_id
                AND t.environment = note_checks.environment AND t.place = 'black'
        CROSS JOIN LATERAL (
            SELECT ARRAY(SELECT owner FROM iap.owners_by_token(note_checks.bundle_id, told.token) AS owner) AS owners
        ) AS known
    ), borne_out AS (
        DELETE FROM delivery_checks AS known
        USING answered
        WHERE answered.finding IS NULL AND known.transaction_id = answered.transaction_id
            AND known.bundle_id = note_checks.bundle_id AND known.environment = note_checks.environment
    )
    INSERT INTO delivery_checks AS known (transaction_id, bundle_id, environment, finding, checked_at, times, next_at)
    SELECT
        transaction_id, note_checks.bundle_id, note_checks.environment, finding, at, 1,
        CASE WHEN finding = 'unknown_to_apple' THEN at + interval '20 hours' END
    FROM answered
    WHERE finding IS NOT NULL
    ORDER BY transaction_id
    ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
    SET finding = EXCLUDED.finding, checked_at = EXCLUDED.checked_at,
        times = CASE known.finding WHEN 'unanswered' THEN 1 ELSE known.times + 1 END,
        -- Apple has been seen to know a purchase hours late, and not days.
        next_at = CASE WHEN known.times < 4 THEN EXCLUDED.next_at END;
END
$$;

COMMENT ON FUNCTION iap.note_checks(bundle_id text, environment text, transaction_ids text[], findings text[], tokens text[], at timestamp with time zone) IS 'Notes what Apple answered for these deliveries; a finding that is NULL is that Apple knows the purchase, with its appAccountToken.';

CREATE TABLE iap.hearings (
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    heard_from timestamp with time zone,
    heard_through timestamp with time zone,
    last_signed_at timestamp with time zone,
    heard_at timestamp with time zone,
    problem text,
    noted_upto bigint DEFAULT 0 NOT NULL,
    noted_gaps int8multirange DEFAULT '{}'::int8multirange NOT NULL,
    CONSTRAINT hearings_environment_check CHECK ((environment = ANY (ARRAY['Production'::text, 'Sandbox'::text])))
);

COMMENT ON TABLE iap.hearings IS 'How far Apple''s history of notifications was read, for each app with a key.';

COMMENT ON COLUMN iap.hearings.last_signed_at IS 'When the latest notification that came in any way was signed.';

COMMENT ON COLUMN iap.hearings.problem IS 'Why it could not be read to its end last; NULL where it was.';

COMMENT ON COLUMN iap.hearings.noted_upto IS 'Customers and prices are noted of all that entered the ledger up to this number, but for noted_gaps.';

COMMENT ON COLUMN iap.hearings.noted_gaps IS 'The numbers before it that the books had not seen: of transactions that had not ended, or failed.';

CREATE FUNCTION iap.note_customers(app iap.hearings, closed audit.frontier, every interval, since timestamp with time zone, at timestamp with time zone, again_ids bigint[], again_at timestamp with time zone[]) RETURNS void
    LANGUAGE plpgsql
    SET work_mem TO '64MB'
    AS $$
#variable_conflict use_column
BEGIN
    WITH entered AS (
        SELECT transaction_id, original_transaction_id, app_transaction_id, purchased_at AS seen_at, expires_at
        FROM (
            SELECT *
            FROM transactions
            WHERE iap.is_beyond(entry_id, app.noted_upto, app.noted_gaps)
                AND NOT iap.is_beyond(entry_id, closed.upto, closed.gaps)
            UNION ALL
            -- What was excluded when it entered, and is not any more; it does no harm twice.
            SELECT released.*
            FROM moves
            JOIN transactions AS released USING (transaction_id, bundle_id, environment)
            WHERE moves.from_place = 'excluded' AND iap.is_beyond(moves.move_id, app.noted_upto, app.noted_gaps)
                AND NOT iap.is_beyond(moves.move_id, closed.upto, closed.gaps)
        ) AS entered
        WHERE bundle_id = app.bundle_id AND environment = app.environment
            -- Who has their money back bought of the app, and Apple may take the refund back.
            AND (place <> 'excluded' OR reason = 'refunded')
            -- The next night would forget the others: of an import of past years that is nearly all.
            AND (purchased_at >= since OR purchased_at + every > at OR expires_at > at)
    ), uploaded AS (
        SELECT transaction_id, max(receipt_id) AS receipt_id, max(uploaded_at) AS seen_at
        FROM (
            SELECT transaction_id, bundle_id, environment, receipt_id, uploaded_at
            FROM sightings
            WHERE uploaded_at > note_customers.at - interval '2 days'
            UNION ALL
            SELECT transaction_id, bundle_id, environment, receipt_id, again.uploaded_at
            FROM unnest(again_ids, again_at) AS again (receipt_id, uploaded_at)
            JOIN sightings USING (receipt_id)
        ) AS seen
        WHERE bundle_id = app.bundle_id AND environment = app.environment
        GROUP BY transaction_id
    ), bought AS (
        SELECT
            transaction_id, coalesce(entered.original_transaction_id, known.original_transaction_id)
                AS original_transaction_id,
            coalesce(entered.app_transaction_id, known.app_transaction_id) AS app_transaction_id,
            coalesce(entered.expires_at, known.expires_at) AS expires_at,
            coalesce(entered.seen_at, uploaded.seen_at) AS seen_at, receipt_id
        FROM entered
        FULL JOIN uploaded USING (transaction_id)
        -- Who uploads what was bought long ago uses the app again. By the primary key: the planner would read the whole
        -- ledger.
        LEFT JOIN LATERAL (
            SELECT entry_id, place, reason, t.original_transaction_id, t.app_transaction_id, t.expires_at
            FROM transactions AS t
            WHERE entered.seen_at IS NULL AND t.transaction_id = uploaded.transaction_id
                AND t.bundle_id = app.bundle_id AND t.environment = app.environment
            OFFSET 0
        ) AS known ON true
        WHERE entered.seen_at IS NOT NULL
            OR (
                NOT iap.is_beyond(entry_id, closed.upto, closed.gaps)
                AND (place <> 'excluded' OR reason = 'refunded'))
    ), latest AS (
        SELECT
            transaction_id, original_transaction_id, app_transaction_id, expires_at, seen_at,
            CASE
                WHEN app_transaction_id IS NULL AND expires_at IS NULL
                THEN coalesce(receipt_id, (
                    SELECT max(held.receipt_id)
                    FROM sightings AS held
                    WHERE held.transaction_id = bought.transaction_id AND held.bundle_id = app.bundle_id
                        AND held.environment = app.environment))
            END AS receipt_id
        FROM bought
        -- Looked up once.
        OFFSET 0
    ), named AS (
        SELECT
            coalesce(own_name, min(original_transaction_id)) AS customer_id, max(transaction_id) AS transaction_id,
            max(least(seen_at, at)) AS seen_at, max(expires_at) AS expires_at
        FROM latest
        CROSS JOIN LATERAL (
            SELECT CASE
                WHEN app_transaction_id IS NOT NULL THEN app_transaction_id
                WHEN receipt_id IS NULL THEN original_transaction_id
            END AS own_name
        ) AS named
        GROUP BY own_name, CASE WHEN own_name IS NULL THEN receipt_id END
    )
    INSERT INTO customers AS known (
        customer_id, bundle_id, environment, transaction_id, last_seen_at, expires_at, next_at)
    SELECT
        customer_id, app.bundle_id, app.environment, max(transaction_id), max(seen_at),
        max(expires_at), least(max(seen_at) + every, iap.asked_after_expiry(max(expires_at), at))
    FROM named
    GROUP BY customer_id
    ON CONFLICT (customer_id, bundle_id, environment) DO UPDATE
    SET last_seen_at = greatest(known.last_seen_at, EXCLUDED.last_seen_at),
        expires_at = greatest(known.expires_at, EXCLUDED.expires_at),
        next_at = least(known.next_at, iap.asked_after_expiry(EXCLUDED.expires_at, at))
    WHERE known.last_seen_at < EXCLUDED.last_seen_at OR known.expires_at IS DISTINCT FROM EXCLUDED.expires_at;
END
$$;

COMMENT ON FUNCTION iap.note_customers(app iap.hearings, closed audit.frontier, every interval, since timestamp with time zone, at timestamp with time zone, again_ids bigint[], again_at timestamp with time zone[]) IS 'Notes whose purchases entered the ledger and were closed in the books since the app was noted last, or were uploaded again, but for who was not seen since a moment: they are asked about in so long, and subscribers an hour after their period expires.';

CREATE FUNCTION iap.note_entered(bundle_id text, environment text, every interval, since timestamp with time zone, at timestamp with time zone, again_ids bigint[] DEFAULT '{}'::bigint[], again_at timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    app        iap.hearings;
    closed     audit.frontier;
    has_closed boolean;
BEGIN
    INSERT INTO hearings (bundle_id, environment)
    VALUES (note_entered.bundle_id, note_entered.environment)
    ON CONFLICT (bundle_id, environment) DO NOTHING;
    SELECT * INTO STRICT app
    FROM hearings
    WHERE bundle_id = note_entered.bundle_id AND environment = note_entered.environment
    FOR UPDATE;
    -- What the books had not seen, a later night notes; a number that is lost for ever keeps nothing waiting.
    SELECT * INTO STRICT closed FROM audit.frontier;
    has_closed := (closed.upto, closed.gaps) IS DISTINCT FROM (app.noted_upto, app.noted_gaps);
    IF every IS NOT NULL AND (has_closed OR again_ids <> '{}') THEN
        PERFORM iap.note_customers(app, closed, every, since, at, again_ids, again_at);
    END IF;
    IF has_closed THEN
        PERFORM iap.note_prices(app, closed, at);
        UPDATE hearings
        SET noted_upto = closed.upto, noted_gaps = closed.gaps
        WHERE bundle_id = note_entered.bundle_id AND environment = note_entered.environment;
    END IF;
END
$$;

COMMENT ON FUNCTION iap.note_entered(bundle_id text, environment text, every interval, since timestamp with time zone, at timestamp with time zone, again_ids bigint[], again_at timestamp with time zone[]) IS 'Notes the prices, and where customers are asked about again the customers that were seen since a moment, of what entered the ledger and was closed in the books since the last time: each once. Also the customers of receipts that were handed in again, and when.';

CREATE FUNCTION iap.note_hearing(bundle_id text, environment text, heard_from timestamp with time zone, through timestamp with time zone, signed_at timestamp with time zone, at timestamp with time zone, problem text) RETURNS void
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO hearings AS known (bundle_id, environment, heard_from, heard_through, last_signed_at, heard_at, problem)
    VALUES (
        note_hearing.bundle_id, note_hearing.environment, note_hearing.heard_from, through, signed_at, at,
        note_hearing.problem)
    ON CONFLICT (bundle_id, environment) DO UPDATE
    SET heard_from = least(known.heard_from, EXCLUDED.heard_from),
        heard_through = greatest(known.heard_through, EXCLUDED.heard_through),
        last_signed_at = greatest(known.last_signed_at, EXCLUDED.last_signed_at),
        heard_at = EXCLUDED.heard_at, problem = EXCLUDED.problem;
END
$$;

COMMENT ON FUNCTION iap.note_hearing(bundle_id text, environment text, heard_from timestamp with time zone, through timestamp with time zone, signed_at timestamp with time zone, at timestamp with time zone, problem text) IS 'Notes how far Apple''s history of notifications was read.';

CREATE FUNCTION iap.note_prices(app iap.hearings, closed audit.frontier, at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO paid_prices AS known
    SELECT app.bundle_id, product_id, storefront, month, currency, milliunits, count(*)
    FROM priced
    WHERE iap.is_beyond(entry_id, app.noted_upto, app.noted_gaps)
        AND NOT iap.is_beyond(entry_id, closed.upto, closed.gaps) AND bundle_id = app.bundle_id
    GROUP BY product_id, storefront, month, currency, milliunits
    ON CONFLICT (bundle_id, product_id, storefront, month, currency, milliunits) DO UPDATE
    SET purchases = known.purchases + EXCLUDED.purchases;

    WITH recent AS (
        SELECT product_id, storefront, currency, milliunits, sum(purchases) AS purchases
        FROM paid_prices
        WHERE bundle_id = app.bundle_id AND month >= (at - interval '92 days')::date
        GROUP BY product_id, storefront, currency, milliunits
    ), usual_currency AS (
        SELECT DISTINCT ON (product_id, storefront) product_id, storefront, currency, sum(purchases) AS all_purchases
        FROM recent
        GROUP BY product_id, storefront, currency
        ORDER BY product_id, storefront, sum(purchases) DESC, currency
    ), usual AS (
        -- The median: the lowest price up to which half of the purchases lie.
        SELECT DISTINCT ON (product_id, storefront) product_id, storefront, currency, milliunits
        FROM (
            SELECT
                product_id, storefront, currency, milliunits, all_purchases,
                sum(purchases) OVER (PARTITION BY product_id, storefront, currency ORDER BY milliunits) AS so_far
            FROM recent
            JOIN usual_currency USING (product_id, storefront, currency)
        ) AS ranked
        -- Of fewer nobody can say what is usual.
        WHERE so_far * 2 >= all_purchases AND all_purchases >= 10
        ORDER BY product_id, storefront, milliunits
    )
    INSERT INTO unusual_prices (transaction_id, bundle_id, environment, found_at, usual_milliunits, usual_currency)
    SELECT transaction_id, bundle_id, environment, at, usual.milliunits, usual.currency
    FROM priced
    JOIN usual USING (product_id, storefront)
    WHERE iap.is_beyond(entry_id, app.noted_upto, app.noted_gaps)
        AND NOT iap.is_beyond(entry_id, closed.upto, closed.gaps) AND bundle_id = app.bundle_id
        AND (priced.currency <> usual.currency OR priced.milliunits * 2 < usual.milliunits)
    ON CONFLICT (transaction_id, bundle_id, environment) DO NOTHING;
END
$$;

COMMENT ON FUNCTION iap.note_prices(app iap.hearings, closed audit.frontier, at timestamp with time zone) IS 'Counts what was paid for what entered the ledger and was closed in the books since the app was noted last, and notes what was paid in another currency than is usual for product and storefront, or at less than half of the median of three months.';

CREATE FUNCTION iap.open_for(bundle_id text, user_id text) RETURNS SETOF iap.transactions
    LANGUAGE sql STABLE
    AS $_$
    -- Each by an index of what names the user, in its collation (see iap.receipts_of); iap.owners_of decides which of
    -- these are theirs.
    SELECT t.*
    FROM (
        SELECT w.transaction_id, w.environment
        FROM iap.transactions AS w
        WHERE w.admitted_user_id = $2 COLLATE "default" AND w.bundle_id = $1 AND starts_with(w.place, 'white')
        UNION
        -- What another had admitted under the id that stands for both: see iap.admitted_otherwise.
        SELECT iap.owed_as(ROW(r.*)::iap.transactions), r.environment
        FROM iap.transactions AS r
        WHERE r.admitted_user_id = $2 COLLATE "default" AND r.bundle_id = $1 AND r.reason = 'restored'
        UNION
        SELECT w.transaction_id, w.environment
        FROM (
            SELECT o.app_account_token AS token FROM iap.orders AS o
            WHERE o.user_id = $2 COLLATE "default" AND o.bundle_id = $1 AND o.app_account_token IS NOT NULL
            UNION
            SELECT a.app_account_token FROM iap.account_tokens AS a
            WHERE a.user_id = $2 COLLATE "default" AND a.bundle_id = $1
        ) AS own
        CROSS JOIN LATERAL (
            SELECT found.transaction_id, found.environment
            FROM iap.transactions AS found
            WHERE found.app_account_token = own.token AND found.bundle_id = $1
                AND starts_with(found.place, 'white')
            OFFSET 0
        ) AS w
        UNION
        SELECT s.transaction_id, s.environment
        FROM unnest(iap.receipts_of($1, $2)) AS own (receipt_id)
        CROSS JOIN LATERAL (
            SELECT seen.transaction_id, seen.environment
            FROM iap.sightings AS seen
            WHERE seen.receipt_id = own.receipt_id AND seen.bucket = (own.receipt_id & 63)::smallint
                AND seen.bundle_id = $1
            OFFSET 0
        ) AS s
        UNION
        SELECT c.transaction_id, c.environment
        FROM iap.cases AS c
        WHERE c.owner_user_ids @> ARRAY[$2 COLLATE "default"] AND c.state = 'open' AND c.bundle_id = $1
    ) AS candidate
    CROSS JOIN LATERAL (
        SELECT * FROM iap.transactions AS found
        WHERE found.transaction_id = candidate.transaction_id AND found.bundle_id = $1
            AND found.environment = candidate.environment
        OFFSET 0
    ) AS t
    WHERE t.place = 'white'
$_$;

COMMENT ON FUNCTION iap.open_for(bundle_id text, user_id text) IS 'The white transactions that anything names a user of: an admission, a token, an upload, an order or a case.';

CREATE VIEW iap.white AS
 SELECT transactions.transaction_id,
    transactions.bundle_id,
    transactions.environment,
    transactions.original_transaction_id,
    transactions.product_id,
    transactions.product_type,
    transactions.quantity,
    transactions.purchased_at,
    transactions.original_purchased_at,
    transactions.expires_at,
    transactions.is_trial,
    transactions.web_order_line_item_id,
    transactions.app_account_token,
    transactions.price_milliunits,
    transactions.currency,
    transactions.storefront,
    transactions.booked_milliunits,
    transactions.booked_currency,
    transactions.booked_as,
    transactions.source,
    transactions.verified_at,
    transactions.admitted_user_id,
    transactions.admitted_receipt_id,
    transactions.first_seen_at,
    transactions.first_run_id,
    transactions.nights_confirmed,
    transactions.last_confirmed_at,
    transactions.seal
   FROM iap.transactions
  WHERE (transactions.place = 'white'::text);

COMMENT ON VIEW iap.white IS 'The white table: transactions that Apple says are paid, and nobody has claimed yet. A view of iap.transactions.';

COMMENT ON COLUMN iap.white.booked_milliunits IS 'What finance counts it as: the price that Apple told, else the list price when it entered.';

COMMENT ON COLUMN iap.white.admitted_user_id IS 'The user for whom the app''s own server admitted it.';

COMMENT ON COLUMN iap.white.nights_confirmed IS 'Nights on which Apple confirmed it while nobody claimed it.';

CREATE FUNCTION iap.open_transactions_of(user_id text) RETURNS SETOF iap.white
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $_$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT *
    FROM iap.white
    WHERE white.admitted_user_id = $1
        OR EXISTS (
            SELECT FROM iap.sightings
            WHERE sightings.transaction_id = white.transaction_id AND sightings.bundle_id = white.bundle_id
                AND sightings.environment = white.environment AND sightings.user_id = $1)
        OR EXISTS (
            SELECT FROM iap.cases
            WHERE cases.transaction_id = white.transaction_id AND cases.bundle_id = white.bundle_id
                AND cases.environment = white.environment AND cases.state = 'open'
                AND cases.owner_user_ids @> ARRAY[$1])
        -- And what else iap.owed looks at: tokens, and orders.
        OR (white.transaction_id, white.bundle_id, white.environment) IN (
            SELECT owed.transaction_id, owed.bundle_id, owed.environment
            FROM (SELECT DISTINCT bundle_id FROM iap.white) AS app
            CROSS JOIN LATERAL iap.open_for(app.bundle_id, $1) AS owed)
    ORDER BY white.purchased_at, white.transaction_id;
END
$_$;

COMMENT ON FUNCTION iap.open_transactions_of(user_id text) IS 'What is paid and not delivered, and may be owed to a user.';

CREATE FUNCTION iap.order_mark(bundle_id text, order_id text) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    RETURN hashtextextended(((bundle_id || ' '::text) || order_id), (0)::bigint);

COMMENT ON FUNCTION iap.order_mark(bundle_id text, order_id text) IS 'A hash of which order it is.';

CREATE FUNCTION iap.order_redeliveries(bundle_id text, environment text, run bigint, at timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    ordered bigint;
BEGIN
    WITH told AS MATERIALIZED (
        SELECT unnest(array_remove(numbers || named_id, NULL)) AS id
        FROM refused_rows
        JOIN sources USING (source)
        WHERE sources.kind IN ('delivered', 'entitlements')
    )
    INSERT INTO redeliveries AS known (
        transaction_id, bundle_id, environment, user_id, run_id, ordered_at, ordered_by, due_at)
    SELECT sure.transaction_id, sure.bundle_id, sure.environment, sure.user_id, run, at, 'iap-reconcile', now()
    FROM (
        SELECT t.transaction_id, t.bundle_id, t.environment, iap.redeliverable_to(ROW(t.*)::iap.transactions) AS user_id
        FROM cases
        CROSS JOIN LATERAL (
            SELECT * FROM transactions AS found
            WHERE found.transaction_id = cases.transaction_id AND found.bundle_id = cases.bundle_id
                AND found.environment = cases.environment AND found.place = 'white'
            OFFSET 0
        ) AS t
        WHERE cases.state = 'open' AND cases.likelihood = 'high' AND cases.action = 'deliver'
            AND cases.bundle_id = order_redeliveries.bundle_id AND cases.environment = order_redeliveries.environment
            -- What is under way goes on, also for another period of a subscription, and what was given up waits for a
            -- person.
            AND NOT EXISTS (
                SELECT FROM redeliveries AS under_way
                WHERE under_way.transaction_id = ANY (cases.periods || cases.transaction_id::text)
                    AND under_way.bundle_id = cases.bundle_id AND under_way.environment = cases.environment
                    AND under_way.ended_at IS NULL)
            -- A row of a source that could not be taken may well say that it was delivered.
            AND t.transaction_id NOT IN (SELECT id FROM told)
            AND t.original_transaction_id NOT IN (SELECT id FROM told)
        OFFSET 0
    ) AS sure
    WHERE sure.user_id IS NOT NULL
    ORDER BY sure.transaction_id, sure.bundle_id, sure.environment
    ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
    SET user_id = EXCLUDED.user_id, run_id = EXCLUDED.run_id, ordered_at = EXCLUDED.ordered_at,
        ordered_by = EXCLUDED.ordered_by, note = NULL, tries = 0, taken_at = NULL, due_at = EXCLUDED.due_at,
        ended_at = NULL, ended_as = NULL, told_run_id = NULL
    WHERE known.ended_at IS NOT NULL;
    GET DIAGNOSTICS ordered = ROW_COUNT;
    IF ordered > 0 THEN
        PERFORM pg_notify('iap_redeliveries', order_redeliveries.bundle_id);
    END IF;
    RETURN ordered;
END
$$;

COMMENT ON FUNCTION iap.order_redeliveries(bundle_id text, environment text, run bigint, at timestamp with time zone) IS 'Orders the redelivery of an app''s open cases of high likelihood that are to be delivered and have one certain owner, unless a row of a source that could not be taken tells of them; wakes the app''s server by NOTIFY iap_redeliveries, and says how many are new.';

CREATE TABLE iap.delivered_orders (
    order_id text NOT NULL,
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    original_transaction_id text NOT NULL COLLATE pg_catalog."C"
);

COMMENT ON TABLE iap.delivered_orders IS 'The orders that were delivered, and the original purchase of each.';

CREATE FUNCTION iap.orders_for(t iap.transactions, user_id text, offered iap.delivered_orders[] DEFAULT '{}'::iap.delivered_orders[]) RETURNS text[]
    LANGUAGE plpgsql STABLE
    AS $$
#variable_conflict use_column
BEGIN
    RETURN (
        SELECT coalesce(array_agg(named.order_id ORDER BY named.rank, named.order_id), '{}')
        FROM (
            SELECT every.order_id, min(every.rank) AS rank
            FROM (
                SELECT s.order_id, 1 AS rank
                FROM iap.sightings AS s
                WHERE s.transaction_id = t.transaction_id AND s.bundle_id = t.bundle_id
                    AND s.environment = t.environment
                    AND s.order_id IS NOT NULL
                    -- Not of what Apple told when it was asked about that upload (see iap.owners_of), unless the upload
                    -- holds no purchase.
                    AND (s.in_receipt OR s.is_named OR NOT EXISTS (
                        SELECT FROM iap.sightings AS held
                        WHERE held.receipt_id = s.receipt_id AND held.bucket = s.bucket
                            AND held.bundle_id = s.bundle_id AND (held.in_receipt OR held.is_named)))
                UNION ALL
                SELECT matched.order_id, 1 + matched.rank
                FROM iap.cases AS c
                CROSS JOIN unnest(c.order_ids) WITH ORDINALITY AS matched (order_id, rank)
                WHERE c.transaction_id = t.transaction_id AND c.bundle_id = t.bundle_id
                    AND c.environment = t.environment AND c.state = 'open'
            ) AS every
            GROUP BY every.order_id
        ) AS named
        WHERE NOT EXISTS (
                SELECT FROM iap.orders AS o
                WHERE o.order_id = named.order_id AND o.bundle_id = t.bundle_id AND o.user_id <> orders_for.user_id)
            AND NOT iap.is_order_used(t, named.order_id)
            AND NOT EXISTS (
                SELECT FROM unnest(offered) AS other
                WHERE other.order_id = named.order_id
                    AND other.original_transaction_id <> t.original_transaction_id)
    );
END
$$;

COMMENT ON FUNCTION iap.orders_for(t iap.transactions, user_id text, offered iap.delivered_orders[]) IS 'The app''s own orders that a transaction may pay for, the likeliest first: named with an upload of it, or matched by the night. None of another user''s, none that another purchase was delivered for, and none of those that are offered for another one: an order is used once.';

CREATE FUNCTION iap.other_ids_of(t iap.transactions) RETURNS SETOF iap.transactions
    LANGUAGE plpgsql STABLE ROWS 1
    AS $$
DECLARE
    is_bought_once boolean := coalesce(iap.type_of(t) = 'non_consumable', false);
BEGIN
    -- A consumable has one id.
    IF is_bought_once OR t.web_order_line_item_id IS NOT NULL THEN
        RETURN QUERY
        SELECT kin.*
        FROM transactions AS kin
        WHERE iap.is_of_original(kin.transaction_id, kin.original_transaction_id, t.original_transaction_id)
            AND kin.bundle_id = t.bundle_id AND kin.environment = t.environment
            AND kin.transaction_id <> t.transaction_id AND kin.place <> 'black'
            -- No call for each period of a subscriber of years.
            AND (is_bought_once OR kin.web_order_line_item_id = t.web_order_line_item_id)
            AND iap.is_same_purchase(t, ROW(kin.*)::iap.transactions);
    END IF;
END
$$;

COMMENT ON FUNCTION iap.other_ids_of(t iap.transactions) IS 'The other transactions of a purchase that is owed once: what was restored, or the same period of a subscription.';

CREATE FUNCTION iap.outcome_otherwise(t iap.transactions) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN CASE
        -- Another of the family paid. It is white where its delivery was taken back, until the night hears of it.
        WHEN t.is_family_shared OR iap.is_refunded_otherwise(t) THEN 'excluded'
        WHEN iap.is_delivered_otherwise(t) OR iap.is_period_delivered(t) OR iap.is_granted_already(t)
            THEN 'already_delivered'
        WHEN iap.is_dismissed_otherwise(t) THEN 'excluded'
        WHEN iap.is_elsewhere(t) OR (iap.type_of(t) IS NULL AND iap.is_original_delivered(t)) THEN 'undecided'
    END;
END
$$;

COMMENT ON FUNCTION iap.outcome_otherwise(t iap.transactions) IS 'What a claim of a white transaction gets for the sake of another id of the same purchase, or of a grant: excluded where it was refunded or dismissed, already_delivered, undecided where nobody knows whether it is the same, or where its id is the other environment''s; NULL where there is neither. So also what is owed, redelivered, and told of it.';

CREATE FUNCTION iap.over_at(t iap.transactions) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    -- Of most Apple told the end: no query for each.
    IF t.expires_at IS NOT NULL THEN
        RETURN t.expires_at;
    END IF;
    -- Apple has yet to tell the end of it: by the next one it was over. What is bought once has none, and what restored
    -- it is no next one.
    RETURN (
        SELECT min(later.purchased_at)
        FROM transactions AS later
        WHERE iap.is_of_original(later.transaction_id, later.original_transaction_id, t.original_transaction_id)
            AND later.bundle_id = t.bundle_id AND later.environment = t.environment
            AND later.purchased_at > t.purchased_at
            AND NOT iap.is_same_purchase(t, ROW(later.*)::iap.transactions));
END
$$;

COMMENT ON FUNCTION iap.over_at(t iap.transactions) IS 'When a period was over, or will be, as far as that is known; NULL where it is not.';

CREATE FUNCTION iap.owed(bundle_id text, user_id text, OUT transaction_id text, OUT product_id text, OUT quantity integer, OUT purchased_at timestamp with time zone, OUT order_ids text[], OUT is_certain boolean) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    t         iap.transactions;
    owners    text[];
    otherwise text;
    offered   iap.delivered_orders[] := '{}';
BEGIN
    PERFORM iap.limit_waiting();
    PERFORM iap.require_bundle_id(owed.bundle_id);
    PERFORM iap.require_text('user_id', owed.user_id, 1000);
    FOR t IN
        SELECT * FROM iap.open_for(owed.bundle_id, owed.user_id) AS found
        ORDER BY found.purchased_at, found.transaction_id
    LOOP
        owners := iap.owners_of(t);
        -- Where nobody but the night knows of anybody, its case says whose it is.
        CONTINUE WHEN cardinality(owners) > 0 AND owed.user_id <> ALL (owners);
        otherwise := iap.outcome_otherwise(t);
        CONTINUE WHEN otherwise IN ('excluded', 'already_delivered');
        transaction_id := t.transaction_id;
        product_id := t.product_id;
        quantity := t.quantity;
        purchased_at := t.purchased_at;
        order_ids := iap.orders_for(t, owed.user_id, offered);
        is_certain := otherwise IS NULL AND coalesce(iap.certain_owner(t) = owed.user_id, false);
        -- The likeliest is the one that the caller claims it for.
        IF is_certain AND order_ids <> '{}' THEN
            offered := offered || ROW(order_ids[1], t.bundle_id, t.original_transaction_id)::iap.delivered_orders;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION iap.owed(bundle_id text, user_id text, OUT transaction_id text, OUT product_id text, OUT quantity integer, OUT purchased_at timestamp with time zone, OUT order_ids text[], OUT is_certain boolean) IS 'What is paid and not delivered for a user, the oldest purchase first. Credit what is certain, each in a transaction of its own that claims it by iap.claim; what is not certain may be another user''s.';

CREATE FUNCTION iap.owed_again(t iap.transactions) RETURNS iap.transactions
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    t.place := 'white';
    t.user_id := NULL;
    t.order_id := NULL;
    t.delivered_by := NULL;
    t.delivered_at := NULL;
    t.reason := NULL;
    t.excluded_at := NULL;
    t.excluded_run_id := NULL;
    RETURN iap.unrefunded(t);
END
$$;

COMMENT ON FUNCTION iap.owed_again(t iap.transactions) IS 'A transaction that is owed after all: its setting was mended, its refund reversed, or its resolve taken back.';

CREATE FUNCTION iap.owed_as(t iap.transactions) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN (
        SELECT transaction_id
        FROM transactions
        WHERE t.reason = 'restored'
            AND iap.is_of_original(transaction_id, original_transaction_id, t.original_transaction_id)
            AND bundle_id = t.bundle_id AND environment = t.environment AND product_id = t.product_id
            -- Of a subscription the same period; what is bought once has none.
            AND web_order_line_item_id IS NOT DISTINCT FROM t.web_order_line_item_id AND place = 'white'
            -- What a third id of it was refunded or delivered under is owed under none.
            AND (iap.outcome_otherwise(ROW(transactions.*)::iap.transactions) IN ('excluded', 'already_delivered'))
                IS NOT TRUE
        -- Of several the one that the night has stand for all: see iap.withdraw_all_restored.
        ORDER BY source = 'app_server', transaction_id <> original_transaction_id, transaction_id
        LIMIT 1);
END
$$;

COMMENT ON FUNCTION iap.owed_as(t iap.transactions) IS 'Under which id a restored purchase, or period of a subscription, is still owed: of several one of which Apple told, then the original''s, then the lowest. NULL where it is not.';

CREATE FUNCTION iap.owners_at_desk(t iap.transactions) RETURNS text[]
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN ARRAY(
        SELECT unnest(owner_user_ids)
        FROM cases
        WHERE cases.transaction_id = t.transaction_id AND cases.bundle_id = t.bundle_id
            AND cases.environment = t.environment
        UNION
        SELECT unnest(iap.owners_of(t))
        ORDER BY 1);
END
$$;

COMMENT ON FUNCTION iap.owners_at_desk(t iap.transactions) IS 'For whom anything speaks, where the support desk says to whom it was delivered: who may claim it by what is known now, and the owners that the last night saw.';

CREATE FUNCTION iap.owners_by_history(t iap.transactions, user_id text, receipt_id bigint) RETURNS text[]
    LANGUAGE plpgsql STABLE
    AS $$
#variable_conflict use_column
BEGIN
    RETURN ARRAY(
        SELECT owners_by_history.user_id
        UNION
        (
            SELECT user_id
            FROM sightings
            WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
                AND user_id IS NOT NULL AND in_receipt
            ORDER BY uploaded_at, receipt_id
            LIMIT 1
        )
        UNION
        (
            SELECT user_id
            FROM transactions AS bought
            WHERE app_transaction_id = t.app_transaction_id AND bundle_id = t.bundle_id
                AND environment = t.environment AND place = 'black' AND user_id IS NOT NULL
            LIMIT 10
        )
        UNION
        (
            SELECT delivered.user_id
            FROM sightings AS beside
            CROSS JOIN LATERAL (
                SELECT user_id
                FROM transactions AS found
                WHERE found.transaction_id = beside.transaction_id AND found.bundle_id = beside.bundle_id
                    AND found.environment = beside.environment AND found.place = 'black' AND user_id IS NOT NULL
                OFFSET 0
            ) AS delivered
            WHERE beside.receipt_id = owners_by_history.receipt_id AND in_receipt
            LIMIT 10
        )
    );
END
$$;

COMMENT ON FUNCTION iap.owners_by_history(t iap.transactions, user_id text, receipt_id bigint) IS 'Whose a purchase may be that nobody handed in, and that Apple told of when it was asked about a receipt of this user: a genuine receipt may be somebody else''s. So also to whom other purchases of the customer, or of the receipt, were delivered, and who handed it in later.';

CREATE FUNCTION iap.owners_by_token(bundle_id text, app_account_token text) RETURNS SETOF text
    LANGUAGE sql STABLE
    AS $$
    -- By the collation that tokens are sorted by: see iap.receipts_of. Of whose purchase is asked has that of its ids.
    SELECT user_id FROM iap.orders AS o
    WHERE o.app_account_token = owners_by_token.app_account_token COLLATE "default"
        AND o.bundle_id = owners_by_token.bundle_id
    UNION
    SELECT user_id FROM iap.account_tokens AS a
    WHERE a.app_account_token = owners_by_token.app_account_token COLLATE "default"
        AND a.bundle_id = owners_by_token.bundle_id
$$;

COMMENT ON FUNCTION iap.owners_by_token(bundle_id text, app_account_token text) IS 'Whose an appAccountToken is, as the app''s server said.';

CREATE FUNCTION iap.owners_of(t iap.transactions) RETURNS text[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    owners   text[];
    ordered  record;
    ids      text[];
    tokens   text[];
    admitted text[];
BEGIN
    -- Whoever handed in one of a purchase's ids, or had it admitted for them, did so with the purchase.
    SELECT
        t.transaction_id || coalesce(array_agg(transaction_id), '{}'),
        t.app_account_token || coalesce(array_agg(app_account_token), '{}'),
        t.admitted_user_id || coalesce(array_agg(admitted_user_id), '{}')
    INTO ids, tokens, admitted
    FROM iap.other_ids_of(t);
    SELECT array_agg(DISTINCT user_id) INTO owners
    FROM (
        -- The token that the client set when it was paid.
        SELECT of_token.user_id
        FROM unnest(tokens) AS token
        CROSS JOIN LATERAL iap.owners_by_token(t.bundle_id, token) AS of_token (user_id)
        UNION ALL
        -- For whom the app's own server admitted it.
        SELECT unnest(admitted)
        UNION ALL
        -- To adopt a purchase is to admit it: the server may have done so for another.
        SELECT iap.adopted_for(t) WHERE t.admitted_user_id IS NOT NULL
    ) AS evidence
    WHERE user_id IS NOT NULL;
    -- The order that came with the first upload that named one.
    SELECT orders.user_id, named.uploaded_at INTO ordered
    FROM (
        SELECT order_id, uploaded_at
        FROM sightings
        WHERE transaction_id = ANY (ids) AND bundle_id = t.bundle_id AND environment = t.environment
            AND order_id IS NOT NULL
            -- Not of what Apple told when it was asked about that upload: nobody handed it in for the order.
            AND (in_receipt OR is_named)
            -- Nor an order that was delivered: clients keep one, and name it with what is bought next.
            AND NOT iap.is_order_used(t, order_id)
        ORDER BY uploaded_at, receipt_id
        LIMIT 1
    ) AS named
    JOIN orders ON orders.order_id = named.order_id AND orders.bundle_id = t.bundle_id;
    IF FOUND THEN
        owners := ARRAY(
            SELECT unnest(owners)
            UNION
            SELECT ordered.user_id
            UNION
            (
                -- Somebody else had handed it in for its own sake by then: on a phone whose users take turns, the order
                -- may be of another purchase.
                SELECT user_id
                FROM sightings
                WHERE owners IS NULL AND transaction_id = ANY (ids) AND bundle_id = t.bundle_id
                    AND environment = t.environment AND user_id IS NOT NULL AND is_named
                    AND uploaded_at < ordered.uploaded_at
                ORDER BY uploaded_at, receipt_id
                LIMIT 1
            ));
    END IF;
    IF owners IS NULL THEN
        -- Only what rode along, or was uploaded: then the first to hand it in.
        SELECT CASE
            WHEN is_handed_in OR user_id = handed_in_by THEN ARRAY[user_id]
            ELSE iap.owners_by_history(t, user_id, receipt_id)
        END
        INTO owners
        FROM (
            SELECT
                user_id, receipt_id, uploaded_at, in_receipt OR is_named AS is_handed_in,
                -- Apple may have told of it before, when it was asked about another receipt of theirs.
                first_value(CASE WHEN in_receipt OR is_named THEN user_id END)
                    OVER (ORDER BY in_receipt OR is_named DESC, uploaded_at, receipt_id) AS handed_in_by
            FROM sightings
            WHERE transaction_id = ANY (ids) AND bundle_id = t.bundle_id AND environment = t.environment
                AND user_id IS NOT NULL
        ) AS seen
        ORDER BY uploaded_at, receipt_id
        LIMIT 1;
    END IF;
    RETURN coalesce(owners, '{}');
END
$$;

COMMENT ON FUNCTION iap.owners_of(t iap.transactions) IS 'Who may claim a transaction, by all ids of its purchase. Token, order, admission and the support desk''s adoption decide before anything that rode along, and several where these contradict each other, or an order somebody who had uploaded the purchase for its own sake before; else whoever handed it in first; nobody where nobody is known. An order that another purchase was delivered for says nothing.';

CREATE FUNCTION iap.owners_told(transaction_id text, bundle_id text, environment text) RETURNS text[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN coalesce(
        (
            SELECT iap.owners_at_desk(ROW(t.*)::iap.transactions)
            FROM transactions AS t
            WHERE t.transaction_id = owners_told.transaction_id AND t.bundle_id = owners_told.bundle_id
                AND t.environment = owners_told.environment
        ),
        '{}');
END
$$;

COMMENT ON FUNCTION iap.owners_told(transaction_id text, bundle_id text, environment text) IS 'iap.owners_at_desk of a transaction, as check tells it; nobody where none has the id.';

CREATE FUNCTION iap.paid_again(t iap.transactions, reversed_at timestamp with time zone, at timestamp with time zone) RETURNS iap.transactions
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    t := iap.refund_reversed(t, reversed_at);
    -- Access was taken away with the money, and is owed with it.
    IF t.delivered_by = 'entitlement' AND NOT iap.has_access(t, at) THEN
        t := iap.owed_again(t);
    END IF;
    RETURN t;
END
$$;

COMMENT ON FUNCTION iap.paid_again(t iap.transactions, reversed_at timestamp with time zone, at timestamp with time zone) IS 'A transaction whose refund Apple took back: owed again, where a grant had delivered it that reaches to its end no more.';

CREATE FUNCTION iap.parted_from(was iap.transactions, became iap.transactions) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE WHEN iap.is_parted(was, became)
        THEN jsonb_strip_nulls(jsonb_build_object(
            'from_original', (was).original_transaction_id, 'from_period', (was).web_order_line_item_id))
        ELSE '{}'
    END
$$;

COMMENT ON FUNCTION iap.parted_from(was iap.transactions, became iap.transactions) IS 'What a move says of the original purchase, and period, that a transaction was taken for; nothing where that is right.';

CREATE FUNCTION iap.period_said(web_order_line_item_id text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $_$ SELECT nullif(nullif($1, ''), '0') $_$;

COMMENT ON FUNCTION iap.period_said(web_order_line_item_id text) IS 'A subscription''s period, NULL for what is none: of which some of Apple''s formats say 0.';

CREATE FUNCTION iap.place_of(transaction_id text, wanted_bundle_id text, wanted_environment text, OUT bundle_id text, OUT environment text) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    places bigint;
BEGIN
    SELECT count(*), min(known.bundle_id), min(known.environment) INTO places, place_of.bundle_id, place_of.environment
    FROM iap.transactions AS known
    WHERE known.transaction_id = place_of.transaction_id
        AND known.bundle_id = coalesce(wanted_bundle_id, known.bundle_id)
        AND known.environment = coalesce(wanted_environment, known.environment);
    IF places > 1 THEN
        RAISE EXCEPTION 'transaction % is known in % apps or environments', transaction_id, places
            USING ERRCODE = 'cardinality_violation', HINT = 'Name bundle_id and environment too.';
    END IF;
END
$$;

COMMENT ON FUNCTION iap.place_of(transaction_id text, wanted_bundle_id text, wanted_environment text, OUT bundle_id text, OUT environment text) IS 'The app and environment in which a transaction is known, NULL if in none; it is an error (21000) if several are left by what is wanted.';

CREATE FUNCTION iap.placing_of(t iap.transactions) RETURNS iap.moves
    LANGUAGE sql STABLE
    AS $$
    SELECT *
    FROM iap.moves
    WHERE moves.transaction_id = t.transaction_id AND moves.bundle_id = t.bundle_id
        AND moves.environment = t.environment AND moves.from_place <> moves.to_place
    ORDER BY moves.move_id DESC
    LIMIT 1
$$;

COMMENT ON FUNCTION iap.placing_of(t iap.transactions) IS 'The move that put a transaction where it is.';

CREATE FUNCTION iap.position_of(t iap.transactions) RETURNS iap."position"
    LANGUAGE sql IMMUTABLE
    RETURN ROW((t).place, CASE (t).place WHEN 'black'::text THEN (t).delivered_by WHEN 'excluded'::text THEN (t).reason ELSE NULL::text END, ((CASE WHEN ((t).place = 'white'::text) THEN (t).purchased_at WHEN ((t).place = 'black'::text) THEN (t).delivered_at WHEN ((t).reason = 'refunded'::text) THEN (t).refunded_at ELSE (t).excluded_at END AT TIME ZONE 'UTC'::text))::date, CASE (t).place WHEN 'black'::text THEN (((t).refunded_at AT TIME ZONE 'UTC'::text))::date ELSE NULL::date END, (t).product_id, (t).quantity, (t).booked_milliunits, (t).booked_currency, (t).booked_as)::iap."position";

COMMENT ON FUNCTION iap.position_of(t iap.transactions) IS 'What the books say of a transaction as it is.';

CREATE FUNCTION iap.postpone_questions(bundle_id text, environment text, customer_ids text[], transaction_ids text[], at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    tomorrow timestamptz := postpone_questions.at + interval '20 hours';
BEGIN
    UPDATE customers AS known
    SET next_at = tomorrow
    WHERE known.customer_id = ANY (customer_ids) AND known.bundle_id = postpone_questions.bundle_id
        AND known.environment = postpone_questions.environment;
    INSERT INTO delivery_checks AS known (transaction_id, bundle_id, environment, finding, checked_at, times, next_at)
    SELECT asked.id, postpone_questions.bundle_id, postpone_questions.environment, 'unanswered', at, 1, tomorrow
    FROM unnest(transaction_ids) AS asked (id)
    ORDER BY asked.id
    -- What Apple said of it before still holds.
    ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE SET next_at = EXCLUDED.next_at;
END
$$;

COMMENT ON FUNCTION iap.postpone_questions(bundle_id text, environment text, customer_ids text[], transaction_ids text[], at timestamp with time zone) IS 'Has customers and deliveries asked about another night of which Apple gave no answer that could be used, after those that have been waiting for longer: who is never answered keeps nobody else from it.';

CREATE FUNCTION iap.present() RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION iap.present() IS 'The moment to take for the present: now, or what the nightly job, replaying a night, has set as iap.present, also where it pulls as iap_import. An app''s server can''t set it.';

CREATE FUNCTION iap.purge_devices(bucket smallint, before timestamp with time zone, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
BEGIN
    PERFORM iap.limit_waiting();
    RETURN iap.purge_page_by_page(
        bucket, 'device IS NOT NULL AND last_attempt_at < $2', 'device = NULL, device_purged_at = $3', before, most);
END
$_$;

COMMENT ON FUNCTION iap.purge_devices(bucket smallint, before timestamp with time zone, most integer) IS 'The same for what clients said of their devices, which is then not taken again.';

CREATE FUNCTION iap.purge_orders(since timestamp with time zone, before timestamp with time zone, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    apps   text[];
    unpaid text[];
    purged bigint;
BEGIN
    PERFORM iap.limit_waiting();
    SELECT array_agg(bundle_id), array_agg(order_id) INTO apps, unpaid
    FROM (
        SELECT bundle_id, order_id
        FROM iap.unpaid_orders
        WHERE created_at >= since AND created_at < before
        LIMIT most
    ) AS found;
    -- Who claims for one just now has it locked; who did so since, has named it.
    SELECT array_agg(bundle_id), array_agg(order_id) INTO apps, unpaid
    FROM (
        SELECT bundle_id, order_id
        FROM iap.orders
        JOIN unnest(apps, unpaid) AS found (bundle_id, order_id) USING (bundle_id, order_id)
        ORDER BY order_id, bundle_id
        FOR UPDATE OF orders SKIP LOCKED
    ) AS held;
    WITH gone AS (
        DELETE FROM iap.orders
        USING unnest(apps, unpaid) AS found (bundle_id, order_id)
        WHERE orders.bundle_id = found.bundle_id AND orders.order_id = found.order_id
            AND NOT EXISTS (
                SELECT FROM iap.claims
                WHERE claims.order_id = orders.order_id AND claims.bundle_id = orders.bundle_id)
            AND NOT EXISTS (
                SELECT FROM iap.transactions
                WHERE transactions.order_id = orders.order_id AND transactions.bundle_id = orders.bundle_id)
        RETURNING
            orders.bundle_id, product_id, (created_at AT TIME ZONE 'UTC')::date AS opened_on,
            iap.order_mark(orders.bundle_id, orders.order_id) AS mark
    ), marked AS (
        INSERT INTO iap.purged_order_marks (mark)
        SELECT mark
        FROM gone
        ORDER BY mark
        ON CONFLICT DO NOTHING
        RETURNING mark
    ), counted AS (
        INSERT INTO iap.purged_orders AS known (opened_on, bundle_id, product_id, orders)
        SELECT opened_on, bundle_id, product_id, count(*)
        FROM gone
        JOIN marked USING (mark)
        GROUP BY opened_on, bundle_id, product_id
        ORDER BY bundle_id, product_id, opened_on
        ON CONFLICT (bundle_id, product_id, opened_on) DO UPDATE SET orders = known.orders + EXCLUDED.orders
    )
    SELECT count(*) INTO purged FROM gone;
    RETURN purged;
END
$$;

COMMENT ON FUNCTION iap.purge_orders(since timestamp with time zone, before timestamp with time zone, most integer) IS 'Takes away orders that were opened from a moment until before another and never paid, so many at most, and counts each of them once in iap.purged_orders. Gives how many. What an open case or evidence rests on stays.';

CREATE FUNCTION iap.purge_page_by_page(bucket smallint, wanted text, changes text, before timestamp with time zone, most bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $_$
DECLARE
    at         timestamptz := iap.present();
    reached_at timestamptz := '-infinity';
    reached    bigint := 0;
    page       bigint[];
    free       bigint[];
    purged     bigint := 0;
BEGIN
    -- Past those on which something is open. Whatever is not due any more was tried at some time.
    WHILE purged < most LOOP
        EXECUTE format(
            $page$
            SELECT array_agg(receipt_id), max(last_attempt_at)
            FROM (
                SELECT receipt_id, last_attempt_at
                FROM iap.receipts
                WHERE bucket = $1 AND next_attempt_at IS NULL AND %s AND (last_attempt_at, receipt_id) > ($3, $4)
                ORDER BY last_attempt_at, receipt_id
                LIMIT $5
            ) AS oldest
            $page$, wanted)
        INTO page, reached_at
        USING bucket, before, reached_at, reached, most;
        EXIT WHEN page IS NULL;
        free := (iap.take_purgeable(bucket, page))[:most - purged];
        EXECUTE format('UPDATE iap.receipts SET %s WHERE bucket = $1 AND receipt_id = ANY ($2)', changes)
        USING bucket, free, at;
        purged := purged + cardinality(free);
        reached := page[cardinality(page)];
        EXIT WHEN cardinality(page) < most;
    END LOOP;
    RETURN purged;
END
$_$;

COMMENT ON FUNCTION iap.purge_page_by_page(bucket smallint, wanted text, changes text, before timestamp with time zone, most bigint) IS 'Changes those of a bucket''s receipts that are wanted and on which nothing is open, the oldest first and so many at most, and says how many. What is wanted, of which $2 is before, and the changes, of which $3 is the present, are SQL: each asks a partial index of its own.';

CREATE FUNCTION iap.purge_payloads(bucket smallint, before timestamp with time zone, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    changes text := 'payload = NULL, payload_purged_at = $3';
    purged  bigint;
BEGIN
    PERFORM iap.limit_waiting();
    purged := iap.purge_page_by_page(
        bucket, 'payload_purged_at IS NULL AND last_attempt_at < $2', changes, before, most);
    RETURN purged + iap.purge_page_by_page(
        bucket, 'payload_purged_at IS NULL AND is_erased', changes, before, most - purged);
END
$_$;

COMMENT ON FUNCTION iap.purge_payloads(bucket smallint, before timestamp with time zone, most integer) IS 'Takes away the payloads of receipts of a bucket that were last tried before a moment and on which nothing is open, the oldest first, and so many at most; those of erased users whenever they were tried. Gives how many. The hash stays, by which the same upload is known again.';

CREATE FUNCTION iap.purgeable_buckets(payloads_before timestamp with time zone, devices_before timestamp with time zone) RETURNS smallint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    wanted  smallint;
    old     bigint;
    buckets smallint[] := '{}';
BEGIN
    PERFORM iap.limit_waiting();
    -- One after the other: on a cluster each question goes to one shard.
    FOR wanted IN 0 .. 63 LOOP
        SELECT receipt_id INTO old
        FROM iap.receipts
        WHERE bucket = wanted AND next_attempt_at IS NULL AND payload_purged_at IS NULL
            AND last_attempt_at < payloads_before
        LIMIT 1;
        IF old IS NULL THEN
            SELECT receipt_id INTO old
            FROM iap.receipts
            WHERE bucket = wanted AND next_attempt_at IS NULL AND device IS NOT NULL
                AND last_attempt_at < devices_before
            LIMIT 1;
        END IF;
        IF old IS NULL THEN
            SELECT receipt_id INTO old
            FROM iap.receipts
            WHERE bucket = wanted AND next_attempt_at IS NULL AND payload_purged_at IS NULL AND is_erased
            LIMIT 1;
        END IF;
        IF old IS NOT NULL THEN
            buckets := buckets || wanted;
        END IF;
    END LOOP;
    RETURN buckets;
END
$$;

COMMENT ON FUNCTION iap.purgeable_buckets(payloads_before timestamp with time zone, devices_before timestamp with time zone) IS 'The buckets with receipts that are old enough for a purge, or whose user is erased: on most nights there are none.';

CREATE FUNCTION iap.reaches(entitled_until timestamp with time zone, expires_at timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $_$ SELECT $2 <= $1 + interval '1 minute' $_$;

COMMENT ON FUNCTION iap.reaches(entitled_until timestamp with time zone, expires_at timestamp with time zone) IS 'Whether a grant reaches to the end of a period, give or take a minute: servers keep whole seconds, and Apple tells the same moment some milliseconds apart.';

CREATE FUNCTION iap.rebooked(t iap.transactions, was iap.transactions) RETURNS iap.transactions
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    listed record;
    amount iap.amount;
BEGIN
    SELECT list_price_milliunits AS price, currency, type INTO listed
    FROM products
    WHERE bundle_id = t.bundle_id AND product_id = t.product_id;
    -- What the list says today is no price of a purchase that was booked by it before.
    IF was.booked_as = 'list' AND t.product_id = was.product_id THEN
        listed.price := was.booked_milliunits / was.quantity;
        listed.currency := was.booked_currency;
    END IF;
    amount := iap.amount_of(
        t.price_milliunits, t.currency, t.is_trial, t.quantity, listed.price, listed.currency, t.is_family_shared);
    t.booked_milliunits := amount.milliunits;
    t.booked_currency := amount.currency;
    t.booked_as := amount.booked_as;
    t.product_type := coalesce(t.product_type, listed.type);
    RETURN t;
END
$$;

COMMENT ON FUNCTION iap.rebooked(t iap.transactions, was iap.transactions) IS 'A transaction of which something else was bought or paid than it was booked as.';

CREATE FUNCTION iap.receipts_for(order_id text) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
#variable_conflict use_column
DECLARE
    uploaded bigint[];
BEGIN
    SELECT array_agg(receipt_id) INTO uploaded
    FROM iap.uploads
    WHERE order_id = receipts_for.order_id COLLATE "default";
    RETURN uploaded;
END
$$;

COMMENT ON FUNCTION iap.receipts_for(order_id text) IS 'The receipts that were uploaded for an order.';

CREATE FUNCTION iap.receipts_of(bundle_id text, user_id text) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
#variable_conflict use_column
DECLARE
    placed   text[];
    uploaded bigint[];
BEGIN
    -- Who names the app by a column of a table has all texts here be of its collation, by which no index of users and
    -- orders is sorted.
    SELECT array_agg(order_id) INTO placed
    FROM iap.orders
    WHERE user_id = receipts_of.user_id COLLATE "default" AND bundle_id = receipts_of.bundle_id;
    SELECT array_agg(receipt_id) INTO uploaded
    FROM (
        SELECT receipt_id FROM iap.receipts
        WHERE user_id = receipts_of.user_id COLLATE "default" AND bundle_id = receipts_of.bundle_id
        UNION
        SELECT receipt_id FROM iap.uploads
        WHERE order_id = ANY (placed COLLATE "default")
    ) AS own;
    RETURN uploaded;
END
$$;

COMMENT ON FUNCTION iap.receipts_of(bundle_id text, user_id text) IS 'The receipts that a user uploaded, and those that were uploaded for an order of theirs.';

CREATE FUNCTION iap.record(run bigint, at timestamp with time zone) RETURNS iap.recorded
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    remaining integer[];
    entered   integer[];
    known     iap.standing[];
    restored  integer[];
    owed      integer[];
    total     record;
    recorded  iap.recorded;
BEGIN
    -- What nobody knows yet enters without a refund that Apple took back: of what is known iap.heard judges.
    UPDATE heard AS v
    SET refunded_at = NULL, refund_reason = NULL, revocation_type = NULL, revocation_percentage = NULL,
        exclusion = CASE exclusion WHEN 'refunded' THEN exclusion_besides ELSE exclusion END
    WHERE refunded_at IS NOT NULL AND iap.is_taken_back(ROW(v.*)::iap.verified)
        -- By the primary key: a join may read all that there is.
        AND (
            SELECT t.place
            FROM transactions AS t
            WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id
                AND t.environment = v.environment) IS NULL;
    SELECT * INTO entered, known, remaining FROM iap.hear_patiently(NULL, run, at);

    -- What is new has not been seen in any receipt yet.
    INSERT INTO sightings SELECT * FROM iap.sightings_of(entered, run);
    IF known <> '{}' THEN
        PERFORM iap.sight_again(ARRAY(SELECT number FROM unnest(known)), run);
    END IF;
    SELECT array_agg(number) INTO restored FROM heard WHERE exclusion = 'restored';
    IF restored IS NOT NULL THEN
        PERFORM iap.sight_owed(ARRAY(SELECT told FROM iap.sightings_of(restored, run) AS told));
    END IF;

    FOR total IN
        SELECT
            place, is_new, array_agg(number) AS numbers,
            ARRAY[count(*), sum(quantity), bit_xor(hashtextextended(transaction_id, 0))]::bigint[] AS tally
        FROM (
            SELECT
                number, transaction_id, quantity, CASE WHEN exclusion IS NULL THEN 'white' ELSE 'excluded' END AS place,
                exclusion IS NULL AS is_new
            FROM heard
            WHERE number = ANY (entered)
            UNION ALL
            SELECT number, transaction_id, quantity, place, is_new FROM unnest(known)
        ) AS standing
        GROUP BY place, is_new
    LOOP
        CASE
            WHEN total.is_new AND total.place = 'white' THEN recorded.newly_white := total.tally;
            WHEN total.place = 'white' THEN recorded.already_white := total.tally;
            WHEN total.place = 'black' THEN recorded.already_black := total.tally;
            ELSE recorded.excluded := total.tally;
        END CASE;
        IF total.place = 'white' THEN
            owed := owed || total.numbers;
        END IF;
    END LOOP;
    SELECT
        coalesce(array_agg(DISTINCT receipt_id) FILTER (WHERE number = ANY (owed)), '{}'),
        coalesce(array_agg(DISTINCT receipt_id) FILTER (WHERE number = ANY (remaining)), '{}')
    INTO recorded.watched, recorded.held
    FROM seen
    CROSS JOIN unnest(numbers) AS number;
    SELECT array_agg(transaction_id) INTO recorded.locked FROM heard WHERE number = ANY (remaining);
    RETURN recorded;
END
$$;

COMMENT ON FUNCTION iap.record(run bigint, at timestamp with time zone) IS 'Takes the batch that is staged in the session''s tables heard and seen into the ledger. What another session has locked is left out, one by one.';

CREATE FUNCTION iap.redeliver(transaction_id text, who text, note text, bundle_id text DEFAULT NULL::text, environment text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    place record;
    t     iap.transactions;
    whose text;
    at    timestamptz := iap.present();
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_transaction_id('transaction_id', redeliver.transaction_id);
    PERFORM iap.require_text('who', redeliver.who, 1000);
    PERFORM iap.require_text('note', redeliver.note, 10000);
    place := iap.place_of(redeliver.transaction_id, redeliver.bundle_id, redeliver.environment);
    t := iap.locked(place.bundle_id, place.environment, redeliver.transaction_id);
    IF iap.standing(t) <> 'white' THEN
        RETURN iap.standing(t);
    END IF;
    whose := iap.redeliverable_to(t);
    IF whose IS NULL THEN
        RETURN CASE WHEN cardinality(iap.owners_at_desk(t)) > 1 THEN 'several_owners' ELSE 'owner_uncertain' END;
    END IF;
    INSERT INTO iap.redeliveries AS known (
        transaction_id, bundle_id, environment, user_id, ordered_at, ordered_by, note, due_at)
    VALUES (t.transaction_id, t.bundle_id, t.environment, whose, at, redeliver.who, redeliver.note, now())
    ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
    SET user_id = EXCLUDED.user_id, run_id = NULL, ordered_at = EXCLUDED.ordered_at, ordered_by = EXCLUDED.ordered_by,
        note = EXCLUDED.note, tries = 0, taken_at = NULL,
        -- A server that has taken it may be about to deliver it.
        due_at = CASE WHEN known.ended_at IS NULL THEN greatest(known.due_at, EXCLUDED.due_at) ELSE EXCLUDED.due_at END,
        ended_at = NULL, ended_as = NULL, told_run_id = NULL
    -- So also what was for another user, whose it is not any more: nobody has ended that yet.
    WHERE known.ended_at IS NOT NULL OR iap.is_given_up(ROW(known.*)::iap.redeliveries)
        OR known.user_id <> EXCLUDED.user_id;
    IF FOUND THEN
        PERFORM iap.log_desk(
            'redelivery_ordered', redeliver.who, t.transaction_id, t.bundle_id, t.environment,
            jsonb_build_object('user_id', whose, 'note', redeliver.note));
        PERFORM pg_notify('iap_redeliveries', t.bundle_id);
    END IF;
    RETURN 'redelivery';
END
$$;

COMMENT ON FUNCTION iap.redeliver(transaction_id text, who text, note text, bundle_id text, environment text) IS 'Orders the redelivery of what is owed, on the word of the support desk, and gives redelivery; one that is under way goes on. Where it may not be it changes nothing and says why: already_delivered, excluded, not_verified; several_owners or owner_uncertain, where it is not certain whose it is.';

CREATE FUNCTION iap.redeliverable_to(t iap.transactions) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    owner text;
BEGIN
    IF t.place IS DISTINCT FROM 'white' OR iap.outcome_otherwise(t) IS NOT NULL THEN
        RETURN NULL;
    END IF;
    owner := iap.certain_owner(t);
    -- To a person who was erased nothing can be delivered.
    RETURN CASE WHEN NOT iap.is_pseudonym(owner) THEN owner END;
END
$$;

COMMENT ON FUNCTION iap.redeliverable_to(t iap.transactions) IS 'To whom a transaction may be delivered without the customer: it is white, and they are its one certain owner.';

CREATE FUNCTION iap.redelivery_of(t iap.transactions) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE
        WHEN ended_at IS NOT NULL THEN ended_as
        WHEN iap.is_given_up(ROW(ordered.*)::iap.redeliveries) THEN 'given up'
        ELSE 'under way'
    END
    FROM iap.redeliveries AS ordered
    WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment
$$;

COMMENT ON FUNCTION iap.redelivery_of(t iap.transactions) IS 'How the redelivery of a transaction stands: under way, given up, or as it ended; NULL where none was ordered.';

CREATE FUNCTION iap.refund_as_of(v iap.verified) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    AS $$
    -- From a receipt Apple reads a refund that was taken back since as well, whenever it reads that. What it adds to
    -- the receipt may have come later.
    SELECT greatest(coalesce(v.made_at, v.verified_at), v.refunded_at)
$$;

COMMENT ON FUNCTION iap.refund_as_of(v iap.verified) IS 'When what is told of a refund was so.';

CREATE FUNCTION iap.refund_reversed(t iap.transactions, at timestamp with time zone) RETURNS iap.transactions
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    t := iap.unrefunded(t);
    t.refund_reversed_at := at;
    RETURN t;
END
$$;

COMMENT ON FUNCTION iap.refund_reversed(t iap.transactions, at timestamp with time zone) IS 'A transaction whose refund Apple took back.';

CREATE FUNCTION iap.refund_shares(was iap.transactions, became iap.transactions) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object(
        'from_refund_percentage', (was).revocation_percentage,
        'to_refund_percentage', (became).revocation_percentage))
$$;

COMMENT ON FUNCTION iap.refund_shares(was iap.transactions, became iap.transactions) IS 'What a move says of the shares that went back, in thousandths of a percent; nothing where Apple told of none.';

CREATE FUNCTION iap.refunded(t iap.transactions, v iap.verified, run bigint) RETURNS iap.transactions
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    t.refunded_at := v.refunded_at;
    t.refund_reason := v.refund_reason;
    t.revocation_type := v.revocation_type;
    t.revocation_percentage := v.revocation_percentage;
    t.refund_run_id := run;
    t.refund_told_at := coalesce(v.made_at, v.verified_at);
    t.refund_reversed_at := NULL;
    RETURN t;
END
$$;

COMMENT ON FUNCTION iap.refunded(t iap.transactions, v iap.verified, run bigint) IS 'A transaction that Apple refunded, whole or in part; what was delivered stays delivered.';

CREATE FUNCTION iap.refunded_as(t iap.transactions) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    type text := iap.type_of(t);
BEGIN
    IF type NOT IN ('non_consumable', 'auto_renewable') THEN
        RETURN NULL;
    END IF;
    RETURN (
        SELECT same.transaction_id
        FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND same.place = 'excluded' AND same.refunded_at IS NOT NULL
            -- What a family shared was another purchase.
            AND NOT same.is_family_shared
            AND (
                iap.is_same_purchase(t, ROW(same.*)::iap.transactions)
                -- Then what Apple said of the other id tells: of several ids is what was restored, and what expires.
                OR (type IS NULL AND same.product_id = t.product_id AND coalesce(
                    iap.type_of(ROW(same.*)::iap.transactions) = 'non_consumable',
                    same.expires_at IS NULL AND same.source <> 'app_server')))
        ORDER BY same.reason <> 'refunded', same.transaction_id
        LIMIT 1);
END
$$;

COMMENT ON FUNCTION iap.refunded_as(t iap.transactions) IS 'Under which other transaction id a non-consumable, or period of a subscription, was refunded: then it is owed under none. Of what nobody knows the type of, by what Apple said of the other. NULL where it was not.';

CREATE FUNCTION iap.refunded_meanwhile_as(t iap.transactions) RETURNS text
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        PERFORM
        FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND NOT starts_with(same.place, 'black')
            AND iap.is_same_purchase(t, ROW(same.*)::iap.transactions)
        FOR SHARE SKIP LOCKED;
    END IF;
    RETURN iap.refunded_as(t);
END
$$;

COMMENT ON FUNCTION iap.refunded_meanwhile_as(t iap.transactions) IS 'iap.refunded_as, for who has taken what is delivered once, and so has waited for a session that was about to call it refunded; ends with a serialization failure where another id was moved after the caller''s snapshot.';

CREATE FUNCTION iap.refuse_unseen_cases(changes iap.change[], at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
BEGIN
    IF current_setting('transaction_isolation') IN ('read committed', 'read uncommitted') THEN
        RETURN;
    END IF;
    INSERT INTO cases (
        transaction_id, bundle_id, environment, state, likelihood, reasons, action, owner_user_ids, opened_at,
        opened_run_id, assessed_at, assessed_run_id, closed_at, closed_as, closed_by)
    SELECT
        (c.was).transaction_id, (c.was).bundle_id, (c.was).environment, 'closed', 'low', '{unseen}', '', '{}', at, -1,
        at, -1, at, 'withdrawn', ''
    FROM unnest(changes) AS c
    WHERE (c.became).place <> 'white'
    ON CONFLICT (transaction_id, bundle_id, environment) DO NOTHING;
    DELETE FROM cases
    USING unnest(changes) AS c
    WHERE cases.transaction_id = (c.was).transaction_id AND cases.bundle_id = (c.was).bundle_id
        AND cases.environment = (c.was).environment AND cases.opened_run_id = -1;
END
$$;

COMMENT ON FUNCTION iap.refuse_unseen_cases(changes iap.change[], at timestamp with time zone) IS 'Ends with a serialization failure where a case was opened after the snapshot of its caller, who could not close it: only a row that is written in its place meets it.';

CREATE FUNCTION iap.register_order(bundle_id text, order_id text, user_id text, product_id text, quantity integer DEFAULT 1, app_account_token text DEFAULT NULL::text, created_at timestamp with time zone DEFAULT now()) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    word  iap.orders;
    token text := lower(nullif(register_order.app_account_token, ''));
BEGIN
    -- Who erases has purchases locked, and waits for the person's orders.
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_bundle_id(register_order.bundle_id);
    PERFORM iap.require_product_id(register_order.product_id);
    PERFORM iap.require_text('order_id', register_order.order_id, 1000);
    PERFORM iap.require_text('user_id', register_order.user_id, 1000);
    IF coalesce(register_order.quantity, 0) < 1 THEN
        RAISE EXCEPTION 'an order''s quantity is at least 1' USING ERRCODE = 'invalid_parameter_value';
    END IF;

    PERFORM iap.require_moment('created_at', register_order.created_at);
    PERFORM iap.require_token(token);

    word := ROW(
        register_order.bundle_id, register_order.order_id, register_order.user_id, register_order.product_id,
        register_order.quantity, token, coalesce(register_order.created_at, now()), NULL)::iap.orders;
    word.seal := audit.seal(word);
    INSERT INTO iap.orders AS known SELECT word.*
    ON CONFLICT (bundle_id, order_id) DO UPDATE
    SET app_account_token = coalesce(known.app_account_token, EXCLUDED.app_account_token),
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN known.seal = audit.seal(ROW(known.*)::iap.orders) THEN audit.seal(ROW(
            known.bundle_id, known.order_id, known.user_id, known.product_id, known.quantity,
            coalesce(known.app_account_token, EXCLUDED.app_account_token), known.created_at, NULL)::iap.orders)
            ELSE known.seal END
    WHERE (known.user_id, known.product_id, known.quantity)
        = (EXCLUDED.user_id, EXCLUDED.product_id, EXCLUDED.quantity);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this order is registered already, with another user, product or quantity' USING
            ERRCODE = 'unique_violation', HINT = 'Give every order an id of its own.';
    END IF;
END
$$;

COMMENT ON FUNCTION iap.register_order(bundle_id text, order_id text, user_id text, product_id text, quantity integer, app_account_token text, created_at timestamp with time zone) IS 'Tells of an order of the app''s own, so that a purchase without an order id can be matched with it. Registering the same order again does nothing; the same id for another user, product or quantity is refused.';

CREATE FUNCTION iap.register_user(bundle_id text, user_id text, app_account_token text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    word  iap.account_tokens;
    known iap.account_tokens;
BEGIN
    PERFORM iap.commit_durably();
    PERFORM iap.require_bundle_id(register_user.bundle_id);
    PERFORM iap.require_text('user_id', register_user.user_id, 1000);
    PERFORM iap.require_token(coalesce(app_account_token, ''));
    word := ROW(
        lower(app_account_token), register_user.bundle_id, register_user.user_id, now(), NULL)::iap.account_tokens;
    word.seal := audit.seal(word);
    INSERT INTO iap.account_tokens SELECT word.* ON CONFLICT (app_account_token, bundle_id) DO NOTHING;
    SELECT * INTO known
    FROM iap.account_tokens
    WHERE app_account_token = word.app_account_token AND bundle_id = word.bundle_id;
    IF known.user_id <> word.user_id THEN
        RAISE EXCEPTION 'this token is registered already, for another user' USING
            ERRCODE = 'unique_violation', HINT = 'Give every user a token of their own.';
    END IF;
END
$$;

COMMENT ON FUNCTION iap.register_user(bundle_id text, user_id text, app_account_token text) IS 'Tells whose an appAccountToken is, so that a purchase that bears it names its customer without an order. The same again does nothing; the token of another user is refused.';

CREATE FUNCTION iap.release_orders(changes iap.change[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
BEGIN
    -- In a statement of its own: what another purchase of the subscription was delivered for it meanwhile is seen then.
    PERFORM
    FROM delivered_orders AS taken
    JOIN unnest(changes) AS c ON taken.order_id = (c.was).order_id AND taken.bundle_id = (c.was).bundle_id
    ORDER BY taken.order_id, taken.bundle_id
    FOR UPDATE OF taken;
    DELETE FROM delivered_orders AS taken
    USING unnest(changes) AS c
    WHERE taken.order_id = (c.was).order_id AND taken.bundle_id = (c.was).bundle_id
        AND NOT EXISTS (
            SELECT FROM transactions AS t
            WHERE t.order_id = taken.order_id AND t.bundle_id = taken.bundle_id AND t.place = 'black');
END
$$;

COMMENT ON FUNCTION iap.release_orders(changes iap.change[]) IS 'Gives back the orders for which nothing is delivered any more, so that another purchase can be delivered for them.';

CREATE FUNCTION iap.release_originals(changes iap.change[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
DECLARE
    still iap.transactions[];
BEGIN
    -- Also in a dry run nothing of what is delivered: there the ledger still has it so.
    WITH released AS (
        DELETE FROM delivered_originals AS taken
        USING unnest(changes) AS c
        WHERE taken.original_transaction_id IN ((c.was).original_transaction_id, (c.was).transaction_id)
            AND taken.bundle_id = (c.was).bundle_id AND taken.environment = (c.was).environment
            AND taken.transaction_id = (c.was).transaction_id
            AND EXISTS (
                SELECT FROM transactions AS t
                WHERE t.transaction_id = taken.transaction_id AND t.bundle_id = taken.bundle_id
                    AND t.environment = taken.environment
                    AND (
                        t.place <> 'black' OR t.is_family_shared
                        OR taken.original_transaction_id NOT IN (t.original_transaction_id, t.transaction_id)
                        OR taken.web_order_line_item_id NOT IN ('', coalesce(t.web_order_line_item_id, ''))))
        RETURNING taken.*
    )
    SELECT array_agg(ROW(black.*)::iap.transactions) INTO still
    FROM released
    CROSS JOIN LATERAL (
        SELECT * FROM transactions AS t
        WHERE (
                t.transaction_id = released.original_transaction_id
                OR iap.is_of_original(
                    t.transaction_id, t.original_transaction_id, released.original_transaction_id))
            AND t.bundle_id = released.bundle_id AND t.environment = released.environment AND t.place = 'black'
            AND released.web_order_line_item_id IN ('', t.web_order_line_item_id)
        OFFSET 0
    ) AS black;
    -- What was imported beside it is delivered all the same.
    IF still IS NOT NULL THEN
        PERFORM iap.take_originals(still);
    END IF;
END
$$;

COMMENT ON FUNCTION iap.release_originals(changes iap.change[]) IS 'Gives back the original purchases, and periods, of what was delivered and is no more, or was delivered of another original or period, so that they can be delivered; but for those that were delivered under another id, too.';

CREATE FUNCTION iap.release_restored(run bigint, at timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    since   timestamptz := iap.looks_back_to(at);
    known   record;
    changes iap.change[];
BEGIN
    PERFORM iap.take_untaken(run, at);
    PERFORM iap.reverse_otherwise(run, at);
    -- Those that another session held when the others were withdrawn.
    FOR known IN
        SELECT DISTINCT refunded.bundle_id, refunded.environment, refunded.transaction_id
        FROM moves
        JOIN transactions AS refunded
            ON refunded.transaction_id = moves.details ->> 'refunded_as' AND refunded.bundle_id = moves.bundle_id
                AND refunded.environment = moves.environment
        WHERE moves.details ? 'refunded_as' AND refunded.reason = 'restored' AND refunded.refunded_at IS NOT NULL
    LOOP
        PERFORM iap.stand_for_refund(known.bundle_id, known.environment, known.transaction_id, run, at);
    END LOOP;
    WITH withdrawn AS MATERIALIZED (
        SELECT restored.transaction_id, restored.bundle_id, restored.environment
        FROM moves
        JOIN transactions AS restored USING (transaction_id, bundle_id, environment)
        -- The move that took it out of white: it may have been corrected since. It is never told before the one before.
        WHERE moves.details ? 'refunded_as' AND moves.moved_at >= restored.excluded_at AND restored.reason = 'restored'
        UNION
        -- Or never got there, for the sake of what was taken for the same.
        SELECT kin.transaction_id, parted.bundle_id, parted.environment
        FROM (
            SELECT DISTINCT details ->> 'from_original' AS original_transaction_id, bundle_id, environment
            FROM moves
            WHERE details ? 'from_original' AND moved_at > since
        ) AS parted
        CROSS JOIN LATERAL (
            SELECT transaction_id
            FROM transactions AS kin
            WHERE iap.is_of_original(
                    kin.transaction_id, kin.original_transaction_id, parted.original_transaction_id)
                AND kin.bundle_id = parted.bundle_id AND kin.environment = parted.environment
                AND kin.reason = 'restored'
            OFFSET 0
        ) AS kin
    ), released AS MATERIALIZED (
        -- Once, however many ids of it were withdrawn.
        SELECT DISTINCT ON (
                restored.original_transaction_id, restored.bundle_id, restored.environment,
                restored.web_order_line_item_id)
            restored.transaction_id, restored.bundle_id, restored.environment
        FROM withdrawn
        JOIN transactions AS restored USING (transaction_id, bundle_id, environment)
        WHERE restored.reason = 'restored' AND restored.refunded_at IS NULL AND NOT restored.is_family_shared
            AND NOT EXISTS (
                SELECT FROM transactions AS same
                WHERE iap.is_of_original(
                        same.transaction_id, same.original_transaction_id, restored.original_transaction_id)
                    AND same.bundle_id = restored.bundle_id AND same.environment = restored.environment
                    AND same.transaction_id <> restored.transaction_id
                    AND same.web_order_line_item_id IS NOT DISTINCT FROM restored.web_order_line_item_id
                    AND NOT same.is_family_shared
                    AND (
                        same.place <> 'excluded' OR same.reason = 'dismissed' OR same.refunded_at IS NOT NULL))
            AND NOT EXISTS (
                SELECT FROM delivered_originals AS taken
                WHERE taken.original_transaction_id IN (restored.original_transaction_id, restored.transaction_id)
                    AND taken.bundle_id = restored.bundle_id AND taken.environment = restored.environment
                    AND taken.web_order_line_item_id = coalesce(restored.web_order_line_item_id, ''))
        ORDER BY
            restored.original_transaction_id, restored.bundle_id, restored.environment,
            restored.web_order_line_item_id, restored.transaction_id <> restored.original_transaction_id,
            restored.transaction_id
    )
    SELECT coalesce(array_agg(ROW(locked.t, iap.owed_again(locked.t))::iap.change), '{}') INTO changes
    FROM released
    CROSS JOIN LATERAL (
        SELECT ROW(restored.*)::iap.transactions AS t
        FROM transactions AS restored
        WHERE restored.transaction_id = released.transaction_id AND restored.bundle_id = released.bundle_id
            AND restored.environment = released.environment AND restored.reason = 'restored'
        FOR UPDATE SKIP LOCKED
    ) AS locked;
    IF changes <> '{}' THEN
        PERFORM iap.move(changes, 'released', 'iap-reconcile', run, at);
        PERFORM iap.watch_again(changes);
    END IF;
    RETURN cardinality(changes);
END
$$;

COMMENT ON FUNCTION iap.release_restored(run bigint, at timestamp with time zone) IS 'Has non-consumables, and periods of subscriptions, owed again that were withdrawn for a refund under another id which was reversed, or for the sake of what Apple told lately to be another purchase, each purchase under one id, and says how many.';

CREATE FUNCTION iap.release_unread(bundle_id text, environment text, transaction_ids text[], run bigint, at timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    changes iap.change[];
BEGIN
    SELECT
        array_agg(
            ROW(
                held.t,
                CASE
                    -- Somebody paid, and has the money back.
                    WHEN (held.t).refunded_at IS NOT NULL THEN iap.excluded(held.t, 'refunded', run, at)
                    ELSE iap.owed_again(held.t)
                END)::iap.change)
    INTO changes
    FROM (
        SELECT ROW(t.*)::iap.transactions AS t
        FROM transactions AS t
        WHERE transaction_id = ANY (transaction_ids) AND t.bundle_id = release_unread.bundle_id
            AND t.environment = release_unread.environment AND reason IN ('sandbox', 'before_start')
        FOR UPDATE SKIP LOCKED
    ) AS held;
    IF changes IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM iap.move(changes, 'released', 'iap-reconcile', run, at);
    RETURN cardinality(changes);
END
$$;

COMMENT ON FUNCTION iap.release_unread(bundle_id text, environment text, transaction_ids text[], run bigint, at timestamp with time zone) IS 'Has purchases owed, or refunded as Apple told, that only a setting of their app excluded, which was mended since, and says how many: for those whose receipts can''t be verified again. What another session has locked is left for the next night.';

CREATE FUNCTION iap.reopen(transaction_id text, who text, note text, bundle_id text DEFAULT NULL::text, environment text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    place    record;
    t        iap.transactions;
    was      text;
    at       timestamptz := iap.present();
    restored iap.change[];
    periods  iap.change[];
    changes  iap.change[];
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.limit_waiting();
    PERFORM iap.require_transaction_id('transaction_id', reopen.transaction_id);
    PERFORM iap.require_text('who', reopen.who, 1000);
    PERFORM iap.require_text('note', reopen.note, 10000);

    place := iap.place_of(reopen.transaction_id, reopen.bundle_id, reopen.environment);
    t := iap.locked(place.bundle_id, place.environment, reopen.transaction_id);
    IF t.place = 'white' THEN
        RETURN 'already_white';
    ELSIF t.transaction_id IS NULL OR NOT iap.may_reopen(t) THEN
        RETURN CASE
            WHEN t.refunded_at IS NOT NULL AND t.delivered_by IS DISTINCT FROM 'claim'
                AND t.delivered_by IS DISTINCT FROM 'import' THEN 'refunded'
            ELSE iap.standing(t)
        END;
    ELSIF iap.is_delivered_beside(t) THEN
        RETURN CASE t.place WHEN 'black' THEN 'already_delivered' ELSE 'excluded' END;
    END IF;

    SELECT coalesce(array_agg(ROW(held, iap.owed_again(held))::iap.change), '{}') INTO restored
    FROM (
        -- What left white with it.
        SELECT ROW(kin.*)::iap.transactions AS held
        FROM iap.transactions AS kin
        WHERE EXISTS (
                SELECT
                FROM iap.moves
                WHERE moves.transaction_id = kin.transaction_id AND moves.bundle_id = kin.bundle_id
                    AND moves.environment = kin.environment
                    AND moves.details ->> CASE t.place WHEN 'black' THEN 'delivered_as' ELSE 'dismissed_as' END
                        = t.transaction_id)
            AND iap.is_of_original(kin.transaction_id, kin.original_transaction_id, t.original_transaction_id)
            AND kin.bundle_id = t.bundle_id AND kin.environment = t.environment AND kin.reason = 'restored'
            AND kin.refunded_at IS NULL
        ORDER BY kin.transaction_id
        FOR UPDATE OF kin
    ) AS kin;
    SELECT coalesce(array_agg(ROW(held, iap.owed_again(held))::iap.change), '{}') INTO periods
    FROM (
        -- What the same decision ended with it: the other periods of a subscription's case.
        SELECT ROW(period.*)::iap.transactions AS held
        FROM iap.cases AS told
        JOIN iap.transactions AS period
            ON period.transaction_id = ANY (told.periods) AND period.bundle_id = told.bundle_id
                AND period.environment = told.environment
        -- The moves that put them where they are: what is known of them may have been corrected since.
        CROSS JOIN LATERAL iap.placing_of(ROW(period.*)::iap.transactions) AS ended
        JOIN LATERAL iap.placing_of(t) AS decided
            ON (decided.kind, decided.actor, decided.details ->> 'note')
                = (ended.kind, ended.actor, ended.details ->> 'note')
        WHERE told.transaction_id = t.transaction_id AND told.bundle_id = t.bundle_id
            AND told.environment = t.environment AND period.transaction_id <> t.transaction_id
            AND coalesce(period.delivered_at, period.excluded_at) = coalesce(t.delivered_at, t.excluded_at)
        ORDER BY period.transaction_id
        FOR UPDATE OF period
    ) AS period
    WHERE iap.may_reopen(held) AND NOT iap.is_delivered_beside(held);
    changes := ARRAY[ROW(t, iap.owed_again(t))::iap.change] || restored || periods;
    was := CASE t.place WHEN 'black' THEN 'delivered' ELSE t.reason END;
    -- The decision ended what was ordered before it, which the night has yet to write: nobody has ordered it since.
    UPDATE iap.redeliveries AS ordered
    SET ended_at = at, ended_as = iap.end_of_redelivery(ROW(ordered.*)::iap.redeliveries)
    FROM unnest(changes) AS c
    WHERE ordered.transaction_id = (c.was).transaction_id AND ordered.bundle_id = (c.was).bundle_id
        AND ordered.environment = (c.was).environment AND ordered.ended_at IS NULL;
    PERFORM iap.move(
        changes, 'reopened', reopen.who, NULL, at,
        jsonb_build_object('was', was, 'note', reopen.note, 'login', session_user));
    PERFORM iap.watch_again(changes);
    RETURN 'reopened';
END
$$;

COMMENT ON FUNCTION iap.reopen(transaction_id text, who text, note text, bundle_id text, environment text) IS 'Takes a wrong resolve back: reopened, and the transaction is owed again, as it was before, with the other periods of a subscription that the same decision ended. What a claim delivered stays delivered. Otherwise it changes nothing and says why: already_white, already_delivered, refunded (by Apple, since), excluded or not_verified.';

CREATE FUNCTION iap.replace_user(user_id text, pseudonym text, salt text, erasure bigint) RETURNS jsonb
    LANGUAGE plpgsql
    SET "DateStyle" TO 'ISO, YMD'
    AS $_$
#variable_conflict use_column
DECLARE
    needle  text := trim(BOTH '"' FROM to_jsonb(replace_user.user_id)::text);
    -- What is another's as well stays theirs.
    token   text := 'CASE WHEN iap.is_own_token(bundle_id, app_account_token, $1) '
        'THEN iap.erased_token(app_account_token, $3) ELSE app_account_token END';
    at      timestamptz := now();
    name    text;
    changes text;
    unnamed bigint[];
    slices  smallint[];
    rows    bigint;
    counts  jsonb;
BEGIN
    -- The ledger first: what is the user's there is known by tokens, sightings, orders and cases. Before it what was
    -- granted, as everyone locks them who locks both.
    counts := jsonb_build_object(
        'entitlements', iap.erase_from_entitlements(replace_user.user_id, pseudonym));
    counts := counts || jsonb_build_object(
        'transactions', iap.erase_from_transactions(replace_user.user_id, pseudonym, salt));

    FOR name, changes IN
        VALUES
            ('account_tokens', token), ('orders', token), ('sightings', NULL), ('claims', NULL)
    LOOP
        EXECUTE format(
            $replace$
            UPDATE iap.%1$I
            SET user_id = $2%2$s, seal = CASE
                WHEN seal = audit.seal(%1$I)
                THEN audit.seal(jsonb_populate_record(%1$I, jsonb_build_object('user_id', $2%3$s))) ELSE seal
            END
            WHERE user_id = $1
            $replace$, name, ', app_account_token = ' || changes, ', ''app_account_token'', ' || changes)
        USING replace_user.user_id, pseudonym, salt;
        GET DIAGNOSTICS rows = ROW_COUNT;
        counts := counts || jsonb_build_object(name, rows);
    END LOOP;

    -- Once all else says whose it is.
    unnamed := iap.unnamed_receipts_of(pseudonym);
    slices := ARRAY(SELECT DISTINCT (id & 63)::smallint FROM unnest(unnamed) AS id);
    UPDATE iap.receipts
    SET user_id = CASE WHEN user_id IS NOT NULL THEN pseudonym END, is_erased = true, device = NULL,
        device_purged_at = coalesce(device_purged_at, at),
        payload = CASE WHEN next_attempt_at IS NOT NULL THEN payload END,
        payload_purged_at = CASE WHEN next_attempt_at IS NULL THEN coalesce(payload_purged_at, at) END,
        seal = CASE
            WHEN seal = audit.receipt_seal(
                bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at, state,
                is_erased)
            THEN audit.receipt_seal(
                bucket, receipt_id, bundle_id, CASE WHEN user_id IS NOT NULL THEN pseudonym END, payload_sha256,
                order_id, transaction_id, submitted_at, state, true)
            ELSE seal
        END
    WHERE user_id = replace_user.user_id
        OR (bucket = ANY (slices) AND receipt_id = ANY (unnamed) AND user_id IS NULL AND NOT is_erased);
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('receipts', rows);

    UPDATE iap.cases
    SET owner_user_ids = array_replace(owner_user_ids, replace_user.user_id, pseudonym),
        candidates = iap.without_user(candidates, replace_user.user_id, pseudonym),
        closed_by = CASE
            WHEN closed_by = 'claim:' || replace_user.user_id THEN 'claim:' || pseudonym ELSE closed_by
        END,
        note = iap.without_user(note, replace_user.user_id, pseudonym)
    WHERE owner_user_ids @> ARRAY[replace_user.user_id]
        OR closed_by = 'claim:' || replace_user.user_id
        OR (
            strpos(candidates::text, needle) > 0
            AND candidates <> iap.without_user(candidates, replace_user.user_id, pseudonym))
        OR (
            strpos(note, replace_user.user_id) > 0
            AND note <> iap.without_user(note, replace_user.user_id, pseudonym));
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('cases', rows);
    counts := counts || jsonb_build_object(
        'redeliveries', iap.erase_from_redeliveries(replace_user.user_id, pseudonym));
    -- Of a source's row without an id all numbers are kept, and one may be the user.
    UPDATE iap.refused_rows
    SET numbers = array_remove(numbers, replace_user.user_id COLLATE "C")
    WHERE numbers @> ARRAY[replace_user.user_id COLLATE "C"];
    GET DIAGNOSTICS rows = ROW_COUNT;
    counts := counts || jsonb_build_object('refused_rows', rows);
    RETURN counts || jsonb_build_object(
        'trail', iap.erase_from_trail(replace_user.user_id, pseudonym, erasure));
END
$_$;

COMMENT ON FUNCTION iap.replace_user(user_id text, pseudonym text, salt text, erasure bigint) IS 'Replaces a user id by a pseudonym and their tokens by others wherever they are, takes away what only tells of the person, and gives the number of rows by table; erasure is the event that will tell of it. Most tables are read from end to end: it is asked rarely.';

CREATE FUNCTION iap.require_bundle_id(value text) RETURNS void
    LANGUAGE sql IMMUTABLE
    AS $_$ SELECT iap.require_id('bundle_id', $1, 255) $_$;

COMMENT ON FUNCTION iap.require_bundle_id(value text) IS 'Refuses what can''t be the id of an app.';

CREATE FUNCTION iap.require_id(name text, value text, longest integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF value IS NULL OR octet_length(value) NOT BETWEEN 1 AND longest OR value COLLATE "C" ~ '[^!-~]' THEN
        RAISE EXCEPTION '% is not an id of Apple''s', name USING
            ERRCODE = 'invalid_parameter_value',
            HINT = format('It has 1 to %s visible ASCII characters.', longest);
    END IF;
END
$$;

COMMENT ON FUNCTION iap.require_id(name text, value text, longest integer) IS 'Refuses what can''t be an id of Apple''s, by the rule of the nightly job: visible ASCII, not empty, not too long.';

CREATE FUNCTION iap.require_moment(name text, value timestamp with time zone) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    -- A subscription is renewed up to a day before the period that is bought begins, and clocks differ.
    IF value < iap.app_store_opened() OR value = 'infinity'
        OR (value > greatest(iap.present(), now()) + interval '2 days' AND NOT EXISTS (SELECT FROM iap.rehearsal))
    THEN
        RAISE EXCEPTION '% can''t be %', name, value USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'It lies after the App Store opened, on 2008-07-10, and at most two days ahead.';
    END IF;
END
$$;

COMMENT ON FUNCTION iap.require_moment(name text, value timestamp with time zone) IS 'Refuses a moment at which nothing can have been bought. Where nights are replayed, the future may be.';

CREATE FUNCTION iap.require_owed(t iap.transactions) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    why text := CASE
        WHEN iap.is_refunded_otherwise(t) THEN 'it is refunded under another id'
        WHEN iap.is_dismissed_otherwise(t) THEN 'the support desk dismissed it under another id'
    END;
BEGIN
    IF why IS NOT NULL THEN
        RAISE EXCEPTION 'transaction % of % (%) is not owed: %', t.transaction_id, t.bundle_id, t.environment, why
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Don''t deliver it.';
    END IF;
END
$$;

COMMENT ON FUNCTION iap.require_owed(t iap.transactions) IS 'Refuses what Apple refunded, or the support desk dismissed, under another id of the same purchase.';

CREATE FUNCTION iap.require_product_id(value text) RETURNS void
    LANGUAGE sql IMMUTABLE
    AS $_$ SELECT iap.require_id('product_id', $1, 255) $_$;

COMMENT ON FUNCTION iap.require_product_id(value text) IS 'Refuses what can''t be the id of a product.';

CREATE FUNCTION iap.require_purchase(v iap.verified) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    PERFORM iap.require_bundle_id(v.bundle_id);
    PERFORM iap.require_transaction_id('transaction_id', v.transaction_id);
    PERFORM iap.require_transaction_id('original_transaction_id', v.original_transaction_id);
    PERFORM iap.require_product_id(v.product_id);
    IF v.user_id IS NOT NULL THEN
        PERFORM iap.require_text('user_id', v.user_id, 1000);
    END IF;
    IF v.web_order_line_item_id IS NOT NULL THEN
        PERFORM iap.require_transaction_id('web_order_line_item_id', v.web_order_line_item_id);
    END IF;
    IF v.environment IS NULL OR v.environment NOT IN ('Production', 'Sandbox') THEN
        RAISE EXCEPTION 'environment is “Production” or “Sandbox”' USING ERRCODE = 'invalid_parameter_value';
    ELSIF coalesce(v.quantity, 0) < 1 THEN
        RAISE EXCEPTION 'a purchase''s quantity is at least 1' USING ERRCODE = 'invalid_parameter_value';
    ELSIF v.purchased_at IS NULL THEN
        RAISE EXCEPTION 'purchased_at is missing' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM iap.require_moment('purchased_at', v.purchased_at);
END
$$;

COMMENT ON FUNCTION iap.require_purchase(v iap.verified) IS 'Refuses what an app''s server can''t have verified.';

CREATE FUNCTION iap.require_text(name text, value text, longest integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF value IS NULL OR value = '' THEN
        RAISE EXCEPTION '% is missing', name USING ERRCODE = 'invalid_parameter_value';
    ELSIF octet_length(value) > longest THEN
        RAISE EXCEPTION '% has % bytes', name, octet_length(value) USING
            ERRCODE = 'invalid_parameter_value', HINT = format('It has at most %s.', longest);
    END IF;
END
$$;

COMMENT ON FUNCTION iap.require_text(name text, value text, longest integer) IS 'Refuses a text that is missing, or longer in bytes than an index can hold.';

CREATE FUNCTION iap.require_token(app_account_token text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
BEGIN
    IF app_account_token !~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN
        RAISE EXCEPTION 'app_account_token is no UUID' USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'It is the UUID that the client hands to StoreKit, such as 7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b.';
    END IF;
END
$_$;

COMMENT ON FUNCTION iap.require_token(app_account_token text) IS 'Refuses what can''t be an appAccountToken; NULL is none.';

CREATE FUNCTION iap.require_transaction_id(name text, value text) RETURNS void
    LANGUAGE sql IMMUTABLE
    AS $_$ SELECT iap.require_id($1, $2, 64) $_$;

COMMENT ON FUNCTION iap.require_transaction_id(name text, value text) IS 'Refuses what can''t be Apple''s id of a transaction, or of a subscription''s period.';

CREATE FUNCTION iap.resolve(transaction_id text, how text, who text, note text, bundle_id text DEFAULT NULL::text, environment text DEFAULT NULL::text, user_id text DEFAULT NULL::text, order_id text DEFAULT NULL::text, is_unknown_user boolean DEFAULT false) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    place   record;
    t       iap.transactions;
    told    iap.cases;
    outcome text;
    owed_as text;
    owners  text[];
    whose   text;
    id      text;
    period  iap.transactions;
    at      timestamptz := iap.present();
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.limit_waiting();
    PERFORM iap.require_transaction_id('transaction_id', resolve.transaction_id);
    PERFORM iap.require_text('who', resolve.who, 1000);
    PERFORM iap.require_text('note', resolve.note, 10000);
    resolve.order_id := nullif(resolve.order_id, '');
    IF resolve.order_id IS NOT NULL THEN
        PERFORM iap.require_text('order_id', resolve.order_id, 1000);
    END IF;
    IF resolve.user_id <> '' THEN
        PERFORM iap.require_text('user_id', resolve.user_id, 1000);
    END IF;
    IF resolve.how IS NULL OR resolve.how NOT IN ('delivered', 'dismissed', 'refunded') THEN
        RAISE EXCEPTION 'a case ends as “delivered”, “dismissed” or “refunded”'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    place := iap.place_of(resolve.transaction_id, resolve.bundle_id, resolve.environment);
    t := iap.locked_with_periods(place.bundle_id, place.environment, resolve.transaction_id);
    outcome := iap.standing(t);
    IF outcome = 'excluded' THEN
        -- The customer may name no other id of a purchase than the one that it was restored under.
        owed_as := iap.owed_as(t);
        IF owed_as IS NOT NULL THEN
            RETURN iap.resolve(
                owed_as, resolve.how, resolve.who, resolve.note, place.bundle_id, place.environment, resolve.user_id,
                resolve.order_id, resolve.is_unknown_user);
        END IF;
    END IF;
    IF outcome <> 'white' THEN
        RETURN outcome;
    END IF;
    SELECT * INTO told
    FROM iap.cases
    WHERE transaction_id = t.transaction_id AND bundle_id = t.bundle_id AND environment = t.environment;
    IF resolve.how = 'delivered' THEN
        owners := iap.owners_at_desk(t);
        IF resolve.user_id IS NULL AND cardinality(owners) > 1 THEN
            RETURN 'several_owners';
        ELSIF NOT (
            resolve.user_id IS NULL OR resolve.user_id = ANY (owners)
            OR (resolve.is_unknown_user IS TRUE AND resolve.user_id <> '') OR iap.is_known_user(resolve.user_id))
        THEN
            RETURN 'unknown_user';
        END IF;
        -- Where the night names nobody, or nobody for sure, who may claim it is too little to say that they got it.
        whose := coalesce(
            resolve.user_id,
            CASE WHEN told.owner_user_ids = '{}' OR 'owner_uncertain' = ANY (told.reasons) THEN t.admitted_user_id
                ELSE owners[1] END);
    END IF;
    outcome := iap.end_owed(t, resolve.how, resolve.who, whose, resolve.order_id, resolve.note, at);
    IF outcome = resolve.how AND told.state = 'open' THEN
        -- The others are locked, and were maybe claimed or excluded before that: then they stay as they are.
        FOREACH id IN ARRAY told.periods LOOP
            period := iap.locked(t.bundle_id, t.environment, id);
            CONTINUE WHEN period.place IS DISTINCT FROM 'white';
            -- One account of Apple's may have paid for another user since: theirs becomes a case of its own.
            CONTINUE WHEN resolve.how = 'delivered' AND (
                SELECT bool_and(owner <> whose)
                FROM iap.owners_by_token(t.bundle_id, period.app_account_token) AS owner);
            PERFORM iap.end_owed(
                period, resolve.how, resolve.who, coalesce(whose, period.admitted_user_id),
                resolve.order_id, resolve.note, at);
        END LOOP;
    END IF;
    RETURN outcome;
END
$$;

COMMENT ON FUNCTION iap.resolve(transaction_id text, how text, who text, note text, bundle_id text, environment text, user_id text, order_id text, is_unknown_user boolean) IS 'Ends what is owed on the word of the support desk, and gives how: delivered, dismissed or refunded. The case of a subscription ends with all periods that it tells of, as far as they are still owed; a restored id stands for the id under which its purchase, or period, is owed. Where nothing is owed it changes nothing and says why: already_delivered, excluded or not_verified. Nor where it is not clear to whom it was delivered: several_owners, where anything speaks for more than one and user_id names none; unknown_user, where nobody has ever heard of user_id and is_unknown_user does not say that this is so.';

CREATE FUNCTION iap.reverse_otherwise(run bigint, at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    known  record;
    became iap.transactions;
BEGIN
    FOR known IN
        WITH reversed AS MATERIALIZED (
            SELECT transaction_id, bundle_id, environment, max(signed_at) AS reversed_at
            FROM notices
            WHERE type = 'REFUND_REVERSED'
            GROUP BY transaction_id, bundle_id, environment
        ), paid AS MATERIALIZED (
            SELECT t, reversed_at
            FROM reversed
            CROSS JOIN LATERAL (
                SELECT ROW(of_it.*)::iap.transactions AS t
                FROM transactions AS of_it
                WHERE of_it.transaction_id = reversed.transaction_id AND of_it.bundle_id = reversed.bundle_id
                    AND of_it.environment = reversed.environment AND of_it.refunded_at IS NULL
                OFFSET 0
            ) AS known
        ), refunded AS MATERIALIZED (
            SELECT same.transaction_id, (t).bundle_id, (t).environment, max(reversed_at) AS reversed_at
            FROM paid
            CROSS JOIN LATERAL (
                SELECT transaction_id
                FROM transactions AS same
                WHERE iap.is_of_original(
                        same.transaction_id, same.original_transaction_id, (t).original_transaction_id)
                    AND same.bundle_id = (t).bundle_id AND same.environment = (t).environment
                    AND same.transaction_id <> (t).transaction_id AND same.refund_run_id IS NOT NULL
                    AND same.refunded_at < reversed_at
                    -- What Apple still tells long after that stands.
                    AND iap.may_not_know(greatest(same.refund_told_at, same.refunded_at), reversed_at)
                    AND iap.is_same_purchase(t, ROW(same.*)::iap.transactions)
                OFFSET 0
            ) AS same
            GROUP BY same.transaction_id, (t).bundle_id, (t).environment
        )
        SELECT locked.t, reversed_at
        FROM refunded
        CROSS JOIN LATERAL (
            SELECT ROW(same.*)::iap.transactions AS t
            FROM transactions AS same
            WHERE same.transaction_id = refunded.transaction_id AND same.bundle_id = refunded.bundle_id
                AND same.environment = refunded.environment AND same.refund_run_id IS NOT NULL
                AND same.refunded_at < reversed_at
            FOR UPDATE SKIP LOCKED
        ) AS locked
    LOOP
        became := iap.paid_again(known.t, known.reversed_at, at);
        -- The id of which Apple told is owed.
        IF became.reason = 'refunded' THEN
            became := iap.excluded(became, 'restored', run, at);
        END IF;
        PERFORM iap.move(ARRAY[ROW(known.t, became)::iap.change], NULL, 'iap-reconcile', run, at);
    END LOOP;
END
$$;

COMMENT ON FUNCTION iap.reverse_otherwise(run bigint, at timestamp with time zone) IS 'Has a refund that Apple took back under one id of a purchase be taken back under its others, of which Apple tells nothing by itself: where nobody asks Apple again, they would stay refunded, and keep that one from being owed. What another session has locked is left for the next night.';

CREATE FUNCTION iap.revoke_entitlement(bundle_id text, original_transaction_id text, until timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    known   iap.entitlements;
    word    iap.entitlements;
    at      timestamptz := iap.present();
    ends    timestamptz := coalesce(until, at);
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_bundle_id(revoke_entitlement.bundle_id);
    PERFORM iap.require_transaction_id('original_transaction_id', revoke_entitlement.original_transaction_id);
    IF ends = '-infinity' OR (ends >= '10000-01-01 00:00+00' AND ends <> 'infinity') THEN
        RAISE EXCEPTION 'until can''t be %', ends USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'What was granted by mistake is taken back from its beginning on.';
    END IF;
    PERFORM iap.meet_grant(revoke_entitlement.bundle_id, revoke_entitlement.original_transaction_id);
    SELECT * INTO known
    FROM iap.entitlements
    WHERE original_transaction_id = revoke_entitlement.original_transaction_id
        AND bundle_id = revoke_entitlement.bundle_id
    FOR UPDATE;
    IF NOT FOUND OR (known.entitled_until <= ends AND known.revoked_at IS NULL) THEN
        RETURN known.entitled_until;
    END IF;
    word := known;
    -- Said again, it finds what another session was about to write when it was said first.
    IF known.entitled_until > ends THEN
        word.entitled_until := ends;
        word.revoked_at := at;
        word.shorter := ARRAY(SELECT shorter FROM unnest(known.shorter) AS shorter WHERE shorter.until < ends);
        PERFORM iap.keep_entitlement(known, word);
    END IF;
    PERFORM iap.take_back(word, false, at);
    RETURN word.entitled_until;
END
$$;

COMMENT ON FUNCTION iap.revoke_entitlement(bundle_id text, original_transaction_id text, until timestamp with time zone) IS 'Takes back what was granted, from now or from until on, and gives until when it is granted now; NULL where nothing was. Periods that reach beyond are owed again, unless Apple has refunded them.';

CREATE FUNCTION iap.revoke_words(known iap.entitlements, revoked iap.word[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
DECLARE
    word iap.entitlements := known;
BEGIN
    word.shorter := ARRAY(
        SELECT ROW(least(shorter.until, revoked.said_at), shorter.said_at)::iap.word
        FROM unnest(known.shorter) AS shorter
        LEFT JOIN unnest(revoked) AS revoked USING (until));
    PERFORM iap.keep_entitlement(known, word);
    PERFORM iap.take_back(word, true, iap.present());
END
$$;

COMMENT ON FUNCTION iap.revoke_words(known iap.entitlements, revoked iap.word[]) IS 'Takes back words that reach less far than an entitlement, which its caller has locked, each from a moment on. Upgrades that reach beyond, and were granted by no other word, are owed again, unless Apple has refunded them.';

CREATE FUNCTION iap.said_again(known iap.entitlements, said iap.entitlements) RETURNS iap.entitlements
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    word iap.entitlements := known;
BEGIN
    IF said.entitled_until > known.entitled_until THEN
        word := said;
        word.first_granted_at := known.first_granted_at;
        word.shorter := known.shorter;
    ELSIF said.entitled_until <= said.granted_at THEN
        -- Nothing new; a period that is delivered late ends before what is granted already.
        NULL;
    ELSIF said.entitled_until < known.entitled_until THEN
        -- Perhaps for what was bought since and ends sooner; or it took the place of what was taken back.
        IF known.revoked_at IS NOT NULL OR iap.is_new_word(known, said.entitled_until) THEN
            word := iap.with_shorter(known, ROW(said.entitled_until, said.granted_at)::iap.word);
            word.revoked_at := NULL;
        END IF;
    ELSIF said.entitled_until = 'infinity' OR known.revoked_at IS NOT NULL
        OR iap.is_said_for_upgrade(known, said.entitled_until, known.granted_at)
    THEN
        word.granted_at := said.granted_at;
        word.revoked_at := NULL;
    END IF;
    -- It may have moved to another account. Who was erased does not come back by a word that grants no more.
    IF known.entitled_until = said.entitled_until AND NOT iap.is_pseudonym(known.user_id) THEN
        word.user_id := said.user_id;
    END IF;
    RETURN word;
END
$$;

COMMENT ON FUNCTION iap.said_again(known iap.entitlements, said iap.entitlements) IS 'What is granted once an app''s server has said another word on it: until the later end of both, and as the later word has it where that says something new.';

CREATE FUNCTION iap.said_for(t iap.transactions, e iap.entitlements) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    AS $_$
    -- Most have no shorter word: no call for each.
    SELECT CASE
        WHEN cardinality(($2).shorter) = 0 THEN ($2).granted_at
        ELSE greatest(($2).granted_at, iap.shorter_said_for($1, ($2).shorter))
    END
$_$;

COMMENT ON FUNCTION iap.said_for(t iap.transactions, e iap.entitlements) IS 'When the last word was said that reaches to the end of a period, or where none does, that reaches furthest. Where Apple has yet to tell the end, see iap.is_covered.';

CREATE FUNCTION iap.settle_redeliveries(run bigint, at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    -- What a server is just taking it settles itself.
    WITH held AS MATERIALIZED (
        SELECT * FROM redeliveries WHERE ended_at IS NULL
        ORDER BY transaction_id, bundle_id, environment
        FOR UPDATE SKIP LOCKED
    ), ends AS MATERIALIZED (
        SELECT
            held.transaction_id, held.bundle_id, held.environment,
            iap.end_of_redelivery(ROW(held.*)::iap.redeliveries) AS ended_as
        FROM held
    )
    UPDATE redeliveries
    SET ended_at = at, ended_as = ends.ended_as
    FROM ends
    WHERE ends.ended_as IS NOT NULL AND redeliveries.transaction_id = ends.transaction_id
        AND redeliveries.bundle_id = ends.bundle_id AND redeliveries.environment = ends.environment;
    -- What a run that left no report would have told is told once more.
    UPDATE redeliveries SET told_run_id = run
    FROM runs
    WHERE redeliveries.told_run_id = runs.run_id AND redeliveries.ended_at IS NOT NULL
        AND runs.state IN ('failed', 'abandoned');
    WITH told AS (
        UPDATE redeliveries SET told_run_id = run WHERE ended_at IS NOT NULL AND told_run_id IS NULL
        RETURNING transaction_id, bundle_id, environment, ended_as
    ), delivered AS (
        SELECT told.transaction_id, told.bundle_id, told.environment, delivery.move_id
        FROM told
        CROSS JOIN LATERAL (
            -- The delivery itself: a correction or a refund may have come since.
            SELECT max(moves.move_id) AS move_id
            FROM moves
            WHERE moves.transaction_id = told.transaction_id AND moves.bundle_id = told.bundle_id
                AND moves.environment = told.environment AND moves.to_place = 'black' AND moves.from_place <> 'black'
        ) AS delivery
        WHERE told.ended_as = 'redelivered' AND delivery.move_id IS NOT NULL
    ), along AS (
        -- The other periods of a subscription's case, which the same grant delivered. A claim delivers what it names:
        -- for what else the server claims with it, nobody has asked.
        SELECT delivered.transaction_id, delivered.bundle_id, delivered.environment, delivered.move_id
        FROM delivered
        UNION
        SELECT period.transaction_id, period.bundle_id, period.environment, period.move_id
        FROM delivered
        JOIN cases USING (transaction_id, bundle_id, environment)
        JOIN moves AS granted
            ON granted.transaction_id = delivered.transaction_id AND granted.move_id = delivered.move_id
                AND granted.kind = 'entitled'
        JOIN moves AS period
            ON period.transaction_id = ANY (cases.periods) AND period.bundle_id = delivered.bundle_id
                AND period.environment = delivered.environment AND period.to_place = 'black'
                AND (period.kind, period.actor, period.moved_at) = (granted.kind, granted.actor, granted.moved_at)
    )
    INSERT INTO events
    SELECT event.*, audit.seal(ROW(event.*, NULL)::iap.events)
    FROM (
        SELECT
            nextval('iap.trail'), at, 'redelivered', 'iap-reconcile', run, transaction_id, bundle_id, environment,
            jsonb_build_object('move_id', move_id)
        FROM along
    ) AS event;
END
$$;

COMMENT ON FUNCTION iap.settle_redeliveries(run bigint, at timestamp with time zone) IS 'Ends the redeliveries that have come to their end, for a run to tell of. Of each that the app''s server delivered it writes an event, redelivered, with the move by which it was delivered: what finance counts, and the chain covers.';

CREATE FUNCTION iap.share_of(milliunits bigint, percentage integer) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN (percentage IS NULL) THEN milliunits ELSE (round((((milliunits)::numeric * (percentage)::numeric) / (100000)::numeric)))::bigint END;

COMMENT ON FUNCTION iap.share_of(milliunits bigint, percentage integer) IS 'A share, in thousandths of a percent, of an amount; all of it where none is told.';

CREATE FUNCTION iap.shorter_said_for(t iap.transactions, shorter iap.word[]) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    AS $_$
    SELECT max(said_at)
    FROM unnest($2)
    WHERE CASE
        WHEN ($1).expires_at IS NULL THEN until > ($1).purchased_at + interval '2 days'
        ELSE iap.reaches(until, ($1).expires_at)
    END
$_$;

COMMENT ON FUNCTION iap.shorter_said_for(t iap.transactions, shorter iap.word[]) IS 'When the last of shorter words was said that reaches to the end of a period; NULL where none does.';

CREATE FUNCTION iap.sight(bundle_id text, environment text, transaction_id text, user_id text, receipt_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    slice    smallint := (sight.receipt_id & 63)::smallint;
    handed   record;
    wanted   text;
    is_other boolean;
BEGIN
    -- The inbox is asked by itself: in a cluster it lies on other servers than the ledger.
    SELECT user_id, order_id, submitted_at INTO handed
    FROM receipts
    WHERE bucket = slice AND receipt_id = sight.receipt_id AND bundle_id = sight.bundle_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'receipt % of % is unknown', sight.receipt_id, sight.bundle_id USING
            ERRCODE = 'foreign_key_violation', HINT = 'Name a receipt that iap.submit_receipt gave, or none.';
    END IF;
    SELECT
        (array_agg(order_id ORDER BY first_uploaded_at)
            FILTER (WHERE transaction_id = sight.transaction_id AND order_id IS NOT NULL))[1],
        bool_or(transaction_id IS NOT NULL)
    INTO wanted, is_other
    FROM uploads
    WHERE bucket = slice AND receipt_id = sight.receipt_id;
    INSERT INTO sightings AS known
    SELECT seen.*, audit.seal(ROW(seen.*, NULL)::iap.sightings)
    FROM (
        SELECT
            sight.transaction_id, sight.bundle_id, sight.environment, slice, sight.receipt_id,
            coalesce(handed.user_id, sight.user_id),
            coalesce(wanted, CASE WHEN is_other IS FALSE THEN handed.order_id END), true, true, handed.submitted_at,
            NULL::bigint
    ) AS seen
    ON CONFLICT (transaction_id, bundle_id, environment, bucket, receipt_id) DO UPDATE
    SET is_named = true, user_id = coalesce(known.user_id, EXCLUDED.user_id),
        order_id = coalesce(known.order_id, EXCLUDED.order_id),
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN known.seal = audit.seal(ROW(known.*)::iap.sightings) THEN audit.seal(ROW(
            known.transaction_id, known.bundle_id, known.environment, known.bucket, known.receipt_id,
            coalesce(known.user_id, EXCLUDED.user_id), coalesce(known.order_id, EXCLUDED.order_id), true,
            known.in_receipt, known.uploaded_at, known.first_run_id, NULL)::iap.sightings)
            ELSE known.seal END;
END
$$;

COMMENT ON FUNCTION iap.sight(bundle_id text, environment text, transaction_id text, user_id text, receipt_id bigint) IS 'Remembers that a transaction was seen in a receipt that was uploaded for it, and the order that it was uploaded with.';

CREATE FUNCTION iap.sight_again(numbers integer[], run bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    added iap.sightings[];
BEGIN
    SELECT array_agg(seen::iap.sightings) INTO added
    FROM iap.sightings_of(numbers, run) AS seen
    -- Most say nothing new. A conflict would lock the row all the same, and so write it.
    LEFT JOIN LATERAL (
        SELECT true AS is_told
        FROM sightings AS known
        WHERE known.transaction_id = seen.transaction_id AND known.bundle_id = seen.bundle_id
            AND known.environment = seen.environment AND known.bucket = seen.bucket
            AND known.receipt_id = seen.receipt_id AND (known.is_named OR NOT seen.is_named)
            AND (known.in_receipt OR NOT seen.in_receipt) AND (known.order_id IS NOT NULL OR seen.order_id IS NULL)
        OFFSET 0
    ) AS before ON true
    WHERE before.is_told IS NULL;
    IF added IS NOT NULL THEN
        PERFORM iap.add_sightings(added);
    END IF;
END
$$;

COMMENT ON FUNCTION iap.sight_again(numbers integer[], run bigint) IS 'Remembers in which receipts known transactions were seen, and who handed them in.';

CREATE FUNCTION iap.sight_owed(restored iap.sightings[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    added iap.sightings[];
BEGIN
    SELECT array_agg(ROW(owed.*, audit.seal(ROW(owed.*, NULL)::iap.sightings))::iap.sightings) INTO added
    FROM (
        -- One receipt may hold several of its ids.
        SELECT
            white.transaction_id, bundle_id, environment, seen.bucket, seen.receipt_id, min(seen.user_id),
            min(seen.order_id), bool_or(seen.is_named), bool_or(seen.in_receipt), min(seen.uploaded_at),
            min(seen.first_run_id)
        FROM unnest(restored) AS seen
        JOIN transactions AS t USING (transaction_id, bundle_id, environment)
        CROSS JOIN LATERAL (
            SELECT same.transaction_id
            FROM transactions AS same
            WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
                AND same.bundle_id = t.bundle_id AND same.environment = t.environment
                AND same.product_id = t.product_id
                AND same.web_order_line_item_id IS NOT DISTINCT FROM t.web_order_line_item_id
                -- By words that no index answers to, as in iap.take_for_delivery.
                AND starts_with(same.place, 'white')
            OFFSET 0
        ) AS white
        WHERE t.reason = 'restored'
        GROUP BY white.transaction_id, bundle_id, environment, seen.bucket, seen.receipt_id
    ) AS owed;
    IF added IS NOT NULL THEN
        PERFORM iap.add_sightings(added);
    END IF;
END
$$;

COMMENT ON FUNCTION iap.sight_owed(restored iap.sightings[]) IS 'Remembers who handed in what is owed under another id: these sightings are of ids under which it was restored.';

CREATE FUNCTION iap.sightings_of(numbers integer[], run bigint) RETURNS SETOF iap.sightings
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
BEGIN
    RETURN QUERY
    SELECT sighting.*, audit.seal(ROW(sighting.*, NULL)::iap.sightings)
    FROM (
        SELECT
            heard.transaction_id, heard.bundle_id, heard.environment, (seen.receipt_id & 63)::smallint, seen.receipt_id,
            seen.user_id, seen.order_id, seen.is_named, seen.in_receipt, seen.uploaded_at, run
        FROM seen
        CROSS JOIN unnest(seen.numbers) AS number
        JOIN heard USING (number)
        WHERE number = ANY (sightings_of.numbers)
    ) AS sighting;
END
$$;

COMMENT ON FUNCTION iap.sightings_of(numbers integer[], run bigint) IS 'In which receipts of the batch the transactions of these numbers were seen.';

CREATE FUNCTION iap.signed_claims(signed_transaction text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    body text := translate(split_part(signed_transaction, '.', 2), '-_', '+/');
    said jsonb;
BEGIN
    IF signed_transaction !~ '^[A-Za-z0-9_-]+[.][A-Za-z0-9_-]+[.][A-Za-z0-9_-]+$' THEN
        RETURN NULL;
    END IF;
    said := convert_from(decode(rpad(body, (length(body) + 3) / 4 * 4, '='), 'base64'), 'UTF8')::jsonb;
    RETURN (SELECT jsonb_object_agg(key, value) FROM jsonb_each(said) WHERE value NOT IN ('null', '""'));
EXCEPTION
    -- Or it is nested deeper than anything that Apple signs.
    WHEN data_exception OR statement_too_complex THEN
        RETURN NULL;
END
$_$;

COMMENT ON FUNCTION iap.signed_claims(signed_transaction text) IS 'What a signed transaction (JWS) says, without what is null or empty, which the night takes for not said; NULL where it can''t be one. Whether Apple signed it is looked at by the night.';

CREATE FUNCTION iap.stand_for_refund(bundle_id text, environment text, transaction_id text, run bigint, at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    t iap.transactions;
BEGIN
    SELECT * INTO t
    FROM transactions
    WHERE transaction_id = stand_for_refund.transaction_id AND bundle_id = stand_for_refund.bundle_id
        AND environment = stand_for_refund.environment AND reason = 'restored' AND refunded_at IS NOT NULL
        -- Whoever tells that what a family shares was refunded tells that the sharing ended.
        AND NOT is_family_shared
    FOR UPDATE SKIP LOCKED;
    IF FOUND AND NOT EXISTS (
        SELECT FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND (same.place = 'black' OR same.reason = 'refunded')
            AND iap.is_same_purchase(t, ROW(same.*)::iap.transactions))
    THEN
        PERFORM iap.move(
            ARRAY[ROW(t, iap.excluded(t, 'refunded', run, at))::iap.change], 'corrected', 'iap-reconcile', run, at);
    END IF;
END
$$;

COMMENT ON FUNCTION iap.stand_for_refund(bundle_id text, environment text, transaction_id text, run bigint, at timestamp with time zone) IS 'Has a restored id that Apple refunded stand for its purchase, where that was not delivered and no other id does: else the refund would count nowhere.';

CREATE FUNCTION iap.standing(t iap.transactions) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN CASE
        WHEN t.transaction_id IS NULL THEN 'not_verified'
        WHEN t.place = 'white' THEN 'white'
        WHEN t.place = 'black' THEN 'already_delivered'
        -- What an upgrade took the place of may have been delivered before.
        WHEN t.reason IN ('restored', 'upgraded') AND (
            iap.is_delivered_beside(t)
            -- Of a subscription it was another period, delivered before anybody knew that it was one.
            OR (iap.is_original_delivered(t) AND iap.type_of(t) IS DISTINCT FROM 'auto_renewable'))
            THEN 'already_delivered'
        ELSE 'excluded'
    END;
END
$$;

COMMENT ON FUNCTION iap.standing(t iap.transactions) IS 'Where a transaction stands, for those who ask for it: a restored non-consumable, or period of a subscription, is already delivered if its purchase was, under whatever id; so is a period that was upgraded.';

CREATE FUNCTION iap.stands_otherwise(t iap.transactions) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND NOT same.is_family_shared
            AND (
                same.place <> 'excluded' OR same.reason = 'dismissed'
                OR (t.reason = 'restored' AND same.refunded_at IS NOT NULL)
                -- Of several that are refunded the original will stand for all, or else the lowest id.
                OR (
                    same.reason = 'refunded'
                    AND (same.transaction_id <> same.original_transaction_id, same.transaction_id)
                        < (t.transaction_id <> t.original_transaction_id, t.transaction_id)))
            AND (
                (t.web_order_line_item_id IS NULL AND iap.type_of(t) IS DISTINCT FROM 'auto_renewable')
                OR iap.is_same_period(t, ROW(same.*)::iap.transactions)));
END
$$;

COMMENT ON FUNCTION iap.stands_otherwise(t iap.transactions) IS 'Whether what was bought once, or a period of a subscription, is owed, was delivered or dismissed under another transaction id, or will be where its refund is taken back; of a restored id, also where another is refunded.';

CREATE FUNCTION iap.status(bundle_id text, transaction_id text DEFAULT NULL::text, order_id text DEFAULT NULL::text, OUT place text, OUT case_state text, OUT tell text) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    t iap.transactions;
BEGIN
    PERFORM iap.limit_waiting();
    PERFORM iap.require_bundle_id(status.bundle_id);
    status.transaction_id := nullif(status.transaction_id, '');
    status.order_id := nullif(status.order_id, '');
    IF num_nonnulls(status.transaction_id, status.order_id) <> 1 THEN
        RAISE EXCEPTION 'name a transaction or an order' USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'Such as iap.status(''com.example.game'', order_id => ''order-42'').';
    ELSIF status.order_id IS NULL THEN
        PERFORM iap.require_transaction_id('transaction_id', status.transaction_id);
        SELECT * INTO t
        FROM transactions AS found
        WHERE found.transaction_id = status.transaction_id AND found.bundle_id = status.bundle_id
        -- Both environments number their transactions on their own: who asks means what was paid.
        ORDER BY found.environment
        LIMIT 1;
    ELSE
        PERFORM iap.require_text('order_id', status.order_id, 1000);
        SELECT * INTO t
        FROM iap.transactions_of_order(status.bundle_id, status.order_id) AS found
        ORDER BY
            found.environment, array_position(ARRAY['black', 'white', 'excluded'], found.place), found.purchased_at
        LIMIT 1;
    END IF;
    place := t.place;
    SELECT state INTO case_state
    FROM cases
    WHERE cases.transaction_id = t.transaction_id AND cases.bundle_id = t.bundle_id
        AND cases.environment = t.environment;
    tell := CASE
        WHEN t.transaction_id IS NULL
        THEN iap.word_of_upload(status.bundle_id, status.transaction_id, status.order_id)
        ELSE iap.word_of(t)
    END;
END
$$;

COMMENT ON FUNCTION iap.status(bundle_id text, transaction_id text, order_id text, OUT place text, OUT case_state text, OUT tell text) IS 'How a purchase stands, by its transaction or by the app''s own order: its place (NULL where the ledger does not hold it), whether its case is open or closed (NULL where there is none), and what to tell the customer: “waiting for Apple”, “paid, being delivered”, “delivered”, “not paid” or “unknown”.';

CREATE FUNCTION iap.store_upload(bucket smallint, receipt_id bigint, bundle_id text, user_id text, payload text, payload_sha256 bytea, bytes integer, transaction_id text, order_id text, device jsonb, uploaded_at timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    ends           boolean := store_upload.payload IS NULL;
    number         bigint;
    is_new         boolean := false;
    adds           boolean;
    is_again       boolean;
    is_for_another boolean;
    upload         iap.uploads;
BEGIN
    SELECT
        receipt_id,
        (transaction_id IS NULL AND store_upload.transaction_id IS NOT NULL)
            OR (order_id IS NULL AND store_upload.order_id IS NOT NULL)
            OR (device IS NULL AND store_upload.device IS NOT NULL AND device_purged_at IS NULL),
        known.is_again,
        uploads_left_out = 0 AND known.is_for_another
    INTO number, adds, is_again, is_for_another
    FROM (
        SELECT
            *, iap.is_handed_in_again(submitted_at, uploaded_again_at, store_upload.uploaded_at) AS is_again,
            NOT EXISTS (
                SELECT FROM iap.uploads AS u
                WHERE u.bucket = store_upload.bucket AND u.receipt_id = r.receipt_id
                    AND u.transaction_id IS NOT DISTINCT FROM store_upload.transaction_id
                    AND u.order_id IS NOT DISTINCT FROM store_upload.order_id) AS is_for_another
        FROM iap.receipts AS r
        WHERE bucket = store_upload.bucket AND payload_sha256 = store_upload.payload_sha256
            AND bundle_id = store_upload.bundle_id AND user_id IS NOT DISTINCT FROM store_upload.user_id
    ) AS known;

    -- The usual second upload changes nothing, so it locks nothing that the nightly job waits for.
    IF number IS NULL OR adds THEN
        INSERT INTO iap.receipts AS known (
            bucket, receipt_id, bundle_id, user_id, payload, payload_sha256, order_id, transaction_id, device,
            submitted_at, state, next_attempt_at, payload_purged_at, last_attempt_at, error_code, error_text, seal)
        VALUES (
            store_upload.bucket, store_upload.receipt_id, store_upload.bundle_id, store_upload.user_id,
            store_upload.payload, store_upload.payload_sha256, store_upload.order_id, store_upload.transaction_id,
            store_upload.device, store_upload.uploaded_at, CASE WHEN ends THEN 'unusable' ELSE 'waiting' END,
            CASE WHEN NOT ends THEN store_upload.uploaded_at END, CASE WHEN ends THEN store_upload.uploaded_at END,
            CASE WHEN ends THEN store_upload.uploaded_at END, CASE WHEN ends THEN 'too_large' END,
            CASE WHEN ends THEN format('the client uploaded %s bytes', store_upload.bytes) END,
            audit.receipt_seal(
                store_upload.bucket, store_upload.receipt_id, store_upload.bundle_id, store_upload.user_id,
                store_upload.payload_sha256, store_upload.order_id, store_upload.transaction_id,
                store_upload.uploaded_at, CASE WHEN ends THEN 'unusable' ELSE 'waiting' END, false))
        ON CONFLICT (bucket, payload_sha256, bundle_id, user_id) DO UPDATE
        SET order_id = coalesce(known.order_id, EXCLUDED.order_id),
            transaction_id = coalesce(known.transaction_id, EXCLUDED.transaction_id),
            device = CASE WHEN known.device_purged_at IS NULL THEN coalesce(known.device, EXCLUDED.device) END,
            -- A seal that does not fit stays, for its row was changed by hand.
            seal = CASE
                WHEN known.seal = audit.receipt_seal(
                    known.bucket, known.receipt_id, known.bundle_id, known.user_id, known.payload_sha256,
                    known.order_id, known.transaction_id, known.submitted_at, known.state, known.is_erased)
                THEN audit.receipt_seal(
                    known.bucket, known.receipt_id, known.bundle_id, known.user_id, known.payload_sha256,
                    coalesce(known.order_id, EXCLUDED.order_id),
                    coalesce(known.transaction_id, EXCLUDED.transaction_id), known.submitted_at, known.state,
                    known.is_erased)
                ELSE known.seal
            END
        RETURNING receipt_id INTO number;
        is_new := number = store_upload.receipt_id;
        -- What another session brings at the same moment was not found above.
        is_for_another := coalesce(is_for_another, NOT is_new);
    END IF;

    IF is_again OR is_for_another THEN
        PERFORM iap.look_again(
            store_upload.bucket, number, is_for_another, store_upload.uploaded_at, store_upload.payload);
    END IF;

    upload.bucket := store_upload.bucket;
    upload.receipt_id := number;
    upload.transaction_id := store_upload.transaction_id;
    upload.order_id := store_upload.order_id;
    upload.first_uploaded_at := store_upload.uploaded_at;
    -- Counted no further than a thousand; two uploads at once may bring one more.
    IF NOT is_new
        AND (SELECT count(*) FROM (
            SELECT FROM iap.uploads
            WHERE bucket = store_upload.bucket AND receipt_id = number
            LIMIT 1000) AS purposes) = 1000
        AND NOT EXISTS (
            SELECT FROM iap.uploads
            WHERE bucket = store_upload.bucket AND receipt_id = number
                AND transaction_id IS NOT DISTINCT FROM store_upload.transaction_id
                AND order_id IS NOT DISTINCT FROM store_upload.order_id)
    THEN
        UPDATE iap.receipts SET uploads_left_out = uploads_left_out + 1
        WHERE bucket = store_upload.bucket AND receipt_id = number AND uploads_left_out < 1000000;
        RETURN number;
    END IF;
    INSERT INTO iap.uploads AS known (bucket, receipt_id, transaction_id, order_id, first_uploaded_at, seal)
    VALUES (
        upload.bucket, number, upload.transaction_id, upload.order_id, upload.first_uploaded_at, audit.seal(upload))
    ON CONFLICT (bucket, receipt_id, transaction_id, order_id) DO UPDATE
    SET times = known.times + 1, last_uploaded_at = greatest(known.last_uploaded_at, EXCLUDED.last_uploaded_at);
    RETURN number;
END
$$;

COMMENT ON FUNCTION iap.store_upload(bucket smallint, receipt_id bigint, bundle_id text, user_id text, payload text, payload_sha256 bytea, bytes integer, transaction_id text, order_id text, device jsonb, uploaded_at timestamp with time zone) IS 'What of an upload is written, for iap.submit_receipt: rows of one bucket alone, so that on a cluster it runs where they lie. payload is NULL where it is too large to be kept. receipt_id is given to a receipt that is new.';

CREATE FUNCTION iap.submit_notification(bundle_id text, signed_payload text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM iap.commit_durably();
    PERFORM iap.require_bundle_id(submit_notification.bundle_id);
    IF coalesce(signed_payload, '') = '' THEN
        RAISE EXCEPTION 'signed_payload is missing' USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'It is the text under “signedPayload” of what Apple posted.';
    ELSIF octet_length(signed_payload) > 262144 THEN
        RAISE EXCEPTION 'no notification of Apple''s is as large as % bytes', octet_length(signed_payload) USING
            ERRCODE = 'invalid_parameter_value';
    END IF;
    INSERT INTO iap.handed_notices (payload_sha256, bundle_id, payload, submitted_at)
    VALUES (
        sha256(convert_to(signed_payload, 'UTF8')), submit_notification.bundle_id, signed_payload,
        iap.present())
    ON CONFLICT (payload_sha256, bundle_id) DO NOTHING;
    RETURN 'waiting';
END
$$;

COMMENT ON FUNCTION iap.submit_notification(bundle_id text, signed_payload text) IS 'Stores a notification that Apple posted to the app''s server, to be verified and taken at night, and gives “waiting”. The same again changes nothing.';

CREATE FUNCTION iap.submit_receipt(bundle_id text, user_id text, payload text, transaction_id text DEFAULT NULL::text, order_id text DEFAULT NULL::text, device jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    -- What comes out of a table of the caller's is compressed as that table has it, and would stay so.
    body   text     := coalesce(submit_receipt.payload, '') || '';
    bytes  integer  := octet_length(body);
    whose  text     := nullif(submit_receipt.user_id, '');
    bought text     := nullif(submit_receipt.transaction_id, '');
    wanted text     := nullif(submit_receipt.order_id, '');
    -- Many drivers say NULL so.
    told   jsonb    := nullif(iap.bounded(submit_receipt.device), 'null');
    digest bytea    := sha256(convert_to(body, 'UTF8'));
    slice  smallint := get_byte(digest, 0) & 63;
    fresh  bigint   := nextval('iap.receipt_number') * 64 + slice;
    kept   text     := CASE WHEN bytes <= 16777216 THEN body END;
    number bigint;
BEGIN
    -- Who takes a delivery back, or erases, has purchases locked, and waits for their receipts.
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.limit_waiting();
    PERFORM iap.require_bundle_id(submit_receipt.bundle_id);
    PERFORM iap.require_text(name, value, 1000)
    FROM (
        VALUES
            ('user_id', whose), ('transaction_id', bought),
            ('order_id', wanted)) AS given (name, value)
    WHERE value IS NOT NULL;

    -- FROM it, as a cluster would not send it to where the bucket lies otherwise.
    SELECT stored INTO number
    FROM iap.store_upload(
        slice, fresh, submit_receipt.bundle_id, whose, kept, digest, bytes, bought, wanted, told, now()
    ) AS stored;
    RETURN number;
END
$$;

COMMENT ON FUNCTION iap.submit_receipt(bundle_id text, user_id text, payload text, transaction_id text, order_id text, device jsonb) IS 'Stores what a client uploaded, to be verified at night, and gives its receipt id. The same payload again from the same user of the same app is the same receipt: it counts the upload, adds what was not known, and has a receipt that is done with verified again if it comes for another purchase or order, and one that could not be used also if it comes a week after it last did. A payload that is empty or NULL is stored too, so that support hears of it. user_id is NULL where nobody is logged in; an empty text is NULL everywhere. Of a payload over 16 MiB the hash is kept, and its size; of a device over 16 KiB the short fields; of a receipt''s uploads a thousand purposes.';

CREATE FUNCTION iap.take(transaction_id text, who text, bundle_id text DEFAULT NULL::text, environment text DEFAULT NULL::text, is_freeing boolean DEFAULT false, OUT outcome text, OUT taken_by text, OUT taken_at timestamp with time zone) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    place  record;
    holder record;
    at     timestamptz := iap.present();
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_transaction_id('transaction_id', take.transaction_id);
    PERFORM iap.require_text('who', take.who, 1000);
    place := iap.place_of(take.transaction_id, take.bundle_id, take.environment);
    PERFORM FROM iap.cases AS found
    WHERE found.transaction_id = take.transaction_id AND found.bundle_id = place.bundle_id
        AND found.environment = place.environment AND found.state = 'open'
    FOR UPDATE;
    IF NOT FOUND THEN
        outcome := 'no_open_case';
        RETURN;
    END IF;
    SELECT known.taken_by, known.taken_at INTO holder
    FROM iap.case_takings AS known
    WHERE known.transaction_id = take.transaction_id AND known.bundle_id = place.bundle_id
        AND known.environment = place.environment AND iap.taken_until(known.taken_at) > at;
    IF holder.taken_by <> take.who AND take.is_freeing IS NOT TRUE THEN
        outcome := 'taken_already';
        taken_by := holder.taken_by;
        taken_at := holder.taken_at;
        RETURN;
    END IF;
    IF take.is_freeing THEN
        outcome := 'freed';
        DELETE FROM iap.case_takings AS known
        WHERE known.transaction_id = take.transaction_id AND known.bundle_id = place.bundle_id
            AND known.environment = place.environment;
    ELSE
        outcome := 'taken';
        taken_by := take.who;
        taken_at := coalesce(holder.taken_at, at);
        INSERT INTO iap.case_takings AS known (transaction_id, bundle_id, environment, taken_by, taken_at)
        VALUES (take.transaction_id, place.bundle_id, place.environment, take.who, at)
        ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
        SET taken_by = EXCLUDED.taken_by,
            taken_at = CASE WHEN holder.taken_by IS NULL THEN EXCLUDED.taken_at ELSE known.taken_at END;
    END IF;
    IF outcome = 'freed' OR holder.taken_by IS NULL THEN
        PERFORM iap.log_desk(outcome, take.who, take.transaction_id, place.bundle_id, place.environment, '{}');
    END IF;
END
$$;

COMMENT ON FUNCTION iap.take(transaction_id text, who text, bundle_id text, environment text, is_freeing boolean, OUT outcome text, OUT taken_by text, OUT taken_at timestamp with time zone) IS 'Says that somebody of the support desk is on a case, or not any more: taken, freed, no_open_case, or taken_already, with by whom and since when. After a day the case is free again by itself.';

CREATE FUNCTION iap.take_answers(run bigint, at timestamp with time zone, OUT unknown integer[], OUT locked text[], OUT undecided text[]) RETURNS record
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    held  integer[];
    known integer[];
BEGIN
    SELECT sorted.known, sorted.unknown INTO known, unknown FROM iap.known_of_heard() AS sorted;
    IF known <> '{}' THEN
        SELECT remaining INTO held FROM iap.hear_patiently(known, run, at);
        SELECT array_agg(transaction_id) INTO locked FROM heard WHERE number = ANY (held);
        SELECT array_agg(t.transaction_id) INTO undecided
        FROM heard AS v
        CROSS JOIN LATERAL (
            SELECT transaction_id
            FROM transactions AS found
            WHERE found.transaction_id = v.transaction_id AND found.bundle_id = v.bundle_id
                AND found.environment = v.environment AND found.refund_run_id IS NOT NULL
            OFFSET 0
        ) AS t
        WHERE v.refunded_at IS NULL;
    END IF;
    INSERT INTO notices (
        transaction_id, bundle_id, environment, notice_uuid, type, subtype, signed_at, heard_at, heard_by, first_run_id)
    SELECT transaction_id, bundle_id, environment, notice_uuid, type, subtype, signed_at, at, heard_by, run
    FROM told
    WHERE number = ANY (unknown)
    ORDER BY transaction_id, bundle_id, environment, notice_uuid
    ON CONFLICT (transaction_id, bundle_id, environment, notice_uuid) DO NOTHING;
END
$$;

COMMENT ON FUNCTION iap.take_answers(run bigint, at timestamp with time zone, OUT unknown integer[], OUT locked text[], OUT undecided text[]) IS 'Takes what Apple answered, as it is staged in the session''s tables heard and told: what it says of known transactions changes the ledger. Says the numbers in the batch of the transactions that nobody knows, which another session has locked, and which stay refunded though Apple told of no refund: it may not have known of it yet, or have taken it back, and is to be asked again.';

CREATE FUNCTION iap.take_back(word iap.entitlements, upgrades boolean, at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    changes iap.change[];
BEGIN
    SELECT array_agg(ROW(t, iap.owed_again(t))::iap.change) INTO changes
    FROM (
        SELECT *
        FROM iap.transactions AS black
        WHERE iap.is_of_original(
                black.transaction_id, black.original_transaction_id, word.original_transaction_id)
            AND black.bundle_id = word.bundle_id AND black.delivered_by = 'entitlement'
            AND black.refunded_at IS NULL
            AND CASE
                WHEN upgrades THEN
                    black.purchased_at > word.granted_at
                    AND iap.is_bought_since(
                        ROW(black.*)::iap.transactions, iap.said_for(ROW(black.*)::iap.transactions, word))
                ELSE NOT iap.is_covered(ROW(black.*)::iap.transactions, word, at)
            END
        ORDER BY black.transaction_id, black.bundle_id, black.environment
        FOR UPDATE
    ) AS t;
    IF changes IS NOT NULL THEN
        PERFORM iap.move(
            changes, 'revoked', session_user, NULL, at, jsonb_build_object('user_id', word.user_id), 'entitlement');
    END IF;
END
$$;

COMMENT ON FUNCTION iap.take_back(word iap.entitlements, upgrades boolean, at timestamp with time zone) IS 'Has what an entitlement delivered owed again, unless Apple has refunded it: what it does not reach to the end of any more, or of upgrades those that no word of it grants.';

CREATE FUNCTION iap.take_corrected(changes iap.change[]) RETURNS void
    LANGUAGE plpgsql
    SET lock_timeout TO '20ms'
    AS $$
BEGIN
    PERFORM iap.take_originals(array_agg(became)) FROM unnest(changes);
    PERFORM iap.release_originals(changes);
EXCEPTION
    -- Another session is about to deliver the same, and has the row: iap.take_for_delivery looks beside it.
    WHEN lock_not_available OR deadlock_detected THEN
        INSERT INTO untaken_originals
        SELECT (c.was).transaction_id, (c.was).bundle_id, (c.was).environment, (c.was).original_transaction_id
        FROM unnest(changes) AS c
        ON CONFLICT DO NOTHING;
END
$$;

COMMENT ON FUNCTION iap.take_corrected(changes iap.change[]) IS 'Takes the original purchases, and periods, that Apple tells of for what was delivered, in place of those that it was taken for; where another session is about to deliver the same, and does not end, notes that they are untaken.';

CREATE FUNCTION iap.take_for_delivery(t iap.transactions, type text) RETURNS text
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    is_once   boolean := coalesce(type, 'non_consumable') = 'non_consumable';
    is_period boolean := t.web_order_line_item_id IS NOT NULL;
    own_ids   integer := 1 + (t.transaction_id <> t.original_transaction_id)::integer;
    beside    iap.transactions[];
    taken     bigint;
BEGIN
    IF t.is_family_shared OR NOT (is_once OR is_period) THEN
        RETURN NULL;
    END IF;
    -- An import may have told of another id while what was delivered under a third was being taken back. Who takes that
    -- back just now is waited for: else what they delete would be written anew.
    SELECT array_agg(ROW(black.*)::iap.transactions) INTO beside
    FROM (
        SELECT *
        FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id
            -- By words that no index answers to: the planner would read all of black, where there was none before.
            AND starts_with(same.place, 'black')
            AND (is_once OR iap.is_same_period(t, ROW(same.*)::iap.transactions))
        ORDER BY same.transaction_id
        FOR SHARE
    ) AS black;
    IF beside IS NOT NULL THEN
        PERFORM iap.take_originals(beside);
    END IF;
    PERFORM iap.take_originals(ARRAY[t]);
    -- A row that names what is not delivered yet keeps nobody but others from it.
    SELECT count(*) INTO taken
    FROM delivered_originals AS own
    WHERE own.original_transaction_id IN (t.original_transaction_id, t.transaction_id)
        AND own.bundle_id = t.bundle_id AND own.environment = t.environment
        AND own.transaction_id = t.transaction_id
        AND (
            (is_once AND own.web_order_line_item_id = '')
            OR (
                own.original_transaction_id = t.original_transaction_id
                AND own.web_order_line_item_id = t.web_order_line_item_id));
    IF taken = is_once::integer * own_ids + is_period::integer THEN
        RETURN NULL;
    END IF;
    -- Of several rows it may have got one.
    PERFORM iap.release_originals(ARRAY[ROW(t, t)::iap.change]);
    RETURN CASE WHEN type IS NULL AND NOT iap.is_period_delivered(t) THEN 'undecided' ELSE 'already_delivered' END;
END
$$;

COMMENT ON FUNCTION iap.take_for_delivery(t iap.transactions, type text) IS 'Takes the original purchase of a non-consumable, or the period of a subscription, for its delivery, and gives NULL; or why it can''t be delivered: already_delivered under another id, or undecided where nobody knows whether it is a non-consumable.';

CREATE FUNCTION iap.take_for_entitlement(t iap.transactions) RETURNS text
    LANGUAGE plpgsql
    SET lock_timeout TO '20ms'
    AS $$
BEGIN
    RETURN iap.take_for_delivery(t, iap.type_of(t));
EXCEPTION
    WHEN lock_not_available OR deadlock_detected THEN
        RETURN 'locked';
END
$$;

COMMENT ON FUNCTION iap.take_for_entitlement(t iap.transactions) IS 'iap.take_for_delivery, or locked where another session is about to deliver the same purchase, and does not end.';

CREATE FUNCTION iap.take_imported(once iap.transactions[]) RETURNS iap.transactions[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    mended   iap.transactions[];
    restored iap.transactions[];
BEGIN
    -- Who takes back just now what was delivered under another id is waited for, too. That is written, and not only
    -- locked: who is about to take it back waits, and then sees what is delivered here, or is told to try again.
    UPDATE transactions AS held
    SET delivered_by = held.delivered_by
    FROM (
        SELECT DISTINCT beside.transaction_id, t.bundle_id, t.environment
        FROM unnest(once) AS t
        CROSS JOIN LATERAL (
            SELECT same.transaction_id
            FROM transactions AS same
            WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
                AND same.bundle_id = t.bundle_id AND same.environment = t.environment
                AND same.transaction_id <> t.transaction_id
                AND same.delivered_by IN ('resolved', 'entitlement')
                AND (t.web_order_line_item_id IS NULL OR same.web_order_line_item_id = t.web_order_line_item_id)
            OFFSET 0
        ) AS beside
    ) AS kin
    WHERE held.transaction_id = kin.transaction_id AND held.bundle_id = kin.bundle_id
        AND held.environment = kin.environment AND held.delivered_by IN ('resolved', 'entitlement');
    -- What was delivered while the list of products called it something else than bought once goes before: see
    -- iap.take_mended. The night notes it only where another id is white.
    SELECT array_agg(ROW(black.*)::iap.transactions) INTO mended
    FROM unnest(once) AS t
    CROSS JOIN LATERAL (
        SELECT *
        FROM transactions AS same
        WHERE iap.is_of_original(same.transaction_id, same.original_transaction_id, t.original_transaction_id)
            AND same.bundle_id = t.bundle_id AND same.environment = t.environment
            AND same.transaction_id <> t.transaction_id AND same.product_type IN ('consumable', 'non_renewing')
            -- By words that no index answers to, as in iap.take_for_delivery.
            AND starts_with(same.place, 'black')
            AND iap.is_same_purchase(t::iap.transactions, ROW(same.*)::iap.transactions)
        OFFSET 0
    ) AS black;
    IF mended IS NOT NULL THEN
        PERFORM iap.take_originals(mended);
    END IF;
    PERFORM iap.take_originals(once);
    SELECT array_agg(t) INTO restored
    FROM (
        SELECT
            told::iap.transactions AS t,
            dense_rank() OVER (
                PARTITION BY original_transaction_id, bundle_id, environment, web_order_line_item_id
                ORDER BY transaction_id) AS number
        FROM unnest(once) AS told
    ) AS ids
    WHERE (
            iap.is_delivered_otherwise(t) OR iap.is_period_delivered(t)
            -- Of what nobody knows the type of, a receipt showed which it restores: as in iap.standing.
            OR (
                (t).reason = 'restored' AND iap.is_original_delivered(t) AND iap.type_of(t) IS NULL))
        -- What the support desk or a grant delivered may be taken back, and beside that this stays delivered: the first
        -- id that an import tells of.
        AND (
            number > 1
            OR NOT coalesce(
                (
                    SELECT bool_and(held.delivered_by IN ('resolved', 'entitlement'))
                    FROM transactions AS held
                    WHERE iap.is_of_original(
                            held.transaction_id, held.original_transaction_id, (t).original_transaction_id)
                        AND held.bundle_id = (t).bundle_id AND held.environment = (t).environment
                        AND held.transaction_id <> (t).transaction_id
                        -- By words that no index answers to, as in iap.take_for_delivery.
                        AND starts_with(held.place, 'black')
                        AND (
                            iap.is_same_purchase(t, ROW(held.*)::iap.transactions)
                            OR ((t).web_order_line_item_id IS NULL AND iap.type_of(t) IS NULL))
                ),
                false));
    RETURN restored;
END
$$;

COMMENT ON FUNCTION iap.take_imported(once iap.transactions[]) IS 'Notes that these purchases, which are delivered once, are delivered, and gives those that were delivered under another id before: they are restored. Waits for who is about to deliver them. NULL where there are none.';

CREATE FUNCTION iap.take_mended() RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    delivered iap.transactions[];
BEGIN
    WITH found AS MATERIALIZED (
        SELECT DISTINCT black.transaction_id, black.bundle_id, black.environment
        -- Entered after the list was mended, too, or told of by Apple since.
        FROM iap.white_bought_once() AS white
        CROSS JOIN LATERAL (
            -- In two, for most are their own original, and then only the second is looked up.
            SELECT *
            FROM transactions AS original
            WHERE white.transaction_id <> white.original_transaction_id
                AND original.transaction_id = white.original_transaction_id
                AND original.bundle_id = white.bundle_id AND original.environment = white.environment
                -- By words that no index answers to, as in iap.withdraw_all_restored.
                AND starts_with(original.place, 'black')
            UNION ALL
            SELECT *
            FROM transactions AS restored
            WHERE restored.original_transaction_id = white.original_transaction_id
                AND restored.original_transaction_id <> restored.transaction_id
                AND restored.bundle_id = white.bundle_id AND restored.environment = white.environment
                AND starts_with(restored.place, 'black')
            OFFSET 0
        ) AS black
        WHERE iap.is_same_purchase(ROW(white.*)::iap.transactions, ROW(black.*)::iap.transactions)
            AND NOT EXISTS (
                SELECT FROM delivered_originals AS taken
                WHERE taken.original_transaction_id = white.original_transaction_id
                    AND taken.bundle_id = white.bundle_id AND taken.environment = white.environment
                    AND taken.web_order_line_item_id = '')
    )
    SELECT array_agg(ROW(held.*)::iap.transactions) INTO delivered
    FROM found
    CROSS JOIN LATERAL (
        -- Who takes that back just now would find nothing to release.
        SELECT *
        FROM transactions AS black
        WHERE black.transaction_id = found.transaction_id AND black.bundle_id = found.bundle_id
            AND black.environment = found.environment AND black.place = 'black'
        FOR SHARE SKIP LOCKED
    ) AS held;
    IF delivered IS NOT NULL THEN
        PERFORM iap.take_originals(delivered);
    END IF;
END
$$;

COMMENT ON FUNCTION iap.take_mended() IS 'Has iap.delivered_originals say what was delivered while the list of products called it something else than bought once, where the list was mended since, and another id of it is white.';

CREATE FUNCTION iap.take_notices(run bigint, at timestamp with time zone, OUT fresh bigint, OUT unknown integer[], OUT locked text[], OUT held_since timestamp with time zone) RETURNS record
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    held     integer[];
    known    integer[];
    reversed iap.change[];
BEGIN
    SELECT sorted.known, sorted.unknown INTO known, unknown FROM iap.known_of_heard() AS sorted;
    IF known <> '{}' THEN
        -- It is as good as what is known by now, and older: it only tells what is new. What the app's server alone said
        -- it corrects.
        UPDATE heard
        SET source = CASE
                WHEN t.source = 'app_server' THEN 'local'
                -- A signature alone takes no refund back; Apple's word does, unless it is from before the refund.
                WHEN t.source = 'local' AND heard.refunded_at IS NULL AND heard.verified_at > t.refunded_at
                THEN 'server_api'
                ELSE t.source
            END,
            -- That a refund was taken back counts, whatever told of the refund, and when.
            (verified_at, made_at) = (
                SELECT
                    CASE
                        WHEN is_taken_back THEN greatest(heard.verified_at, t.verified_at + interval '1 microsecond')
                        ELSE heard.verified_at
                    END,
                    CASE WHEN is_taken_back THEN t.refund_told_at ELSE heard.made_at END
                FROM (
                    SELECT heard.refunded_at IS NULL AND EXISTS (
                        SELECT FROM told
                        WHERE told.number = heard.number AND told.type = 'REFUND_REVERSED'
                            AND told.signed_at > t.refunded_at) AS is_taken_back
                ) AS reversed)
        FROM transactions AS t
        WHERE t.transaction_id = heard.transaction_id AND t.bundle_id = heard.bundle_id
            AND t.environment = heard.environment;
        SELECT remaining INTO held FROM iap.hear_patiently(known, run, at);
    END IF;
    SELECT array_agg(DISTINCT transaction_id), min(signed_at) INTO locked, held_since
    FROM told
    WHERE number = ANY (held);

    WITH new AS (
        INSERT INTO notices AS known (
            transaction_id, bundle_id, environment, notice_uuid, type, subtype, signed_at, heard_at, heard_by,
            first_run_id, sending, attempts, last_attempt_at, last_result, consumption_reason)
        SELECT DISTINCT ON (transaction_id, bundle_id, environment, notice_uuid)
            transaction_id, bundle_id, environment, notice_uuid, type, subtype, signed_at, at, heard_by, run, sending,
            attempts, last_attempt_at, last_result, consumption_reason
        FROM told
        WHERE number <> ALL (coalesce(held, '{}'))
        ORDER BY transaction_id, bundle_id, environment, notice_uuid, attempts DESC NULLS LAST
        ON CONFLICT (transaction_id, bundle_id, environment, notice_uuid) DO UPDATE
        SET sending = EXCLUDED.sending, attempts = EXCLUDED.attempts, last_attempt_at = EXCLUDED.last_attempt_at,
            last_result = EXCLUDED.last_result
        WHERE EXCLUDED.sending IS NOT NULL
            AND (known.sending, known.attempts) IS DISTINCT FROM (EXCLUDED.sending, EXCLUDED.attempts)
        RETURNING known.first_run_id = run AND known.heard_at = at AS is_new
    )
    SELECT count(*) FILTER (WHERE is_new) INTO fresh FROM new;

    -- Of another id that was refunded with it Apple tells nothing here. The night takes that refund back, too, unless
    -- Apple told of it later: it verifies anew what holds them.
    SELECT array_agg(ROW(found.t, found.t)::iap.change) INTO reversed
    FROM told
    CROSS JOIN LATERAL (
        SELECT ROW(of_it.*)::iap.transactions AS t
        FROM transactions AS of_it
        WHERE told.type = 'REFUND_REVERSED' AND of_it.transaction_id = told.transaction_id
            AND of_it.bundle_id = told.bundle_id AND of_it.environment = told.environment
        OFFSET 0
    ) AS found
    WHERE EXISTS (
        SELECT FROM transactions AS same
        WHERE iap.is_of_original(
                same.transaction_id, same.original_transaction_id, (found.t).original_transaction_id)
            AND same.bundle_id = told.bundle_id AND same.environment = told.environment
            AND same.transaction_id <> told.transaction_id AND same.refunded_at IS NOT NULL
            AND iap.is_same_purchase(found.t, ROW(same.*)::iap.transactions));
    PERFORM iap.watch_again(reversed, at);
END
$$;

COMMENT ON FUNCTION iap.take_notices(run bigint, at timestamp with time zone, OUT fresh bigint, OUT unknown integer[], OUT locked text[], OUT held_since timestamp with time zone) IS 'Takes the notices that are staged in the session''s tables heard and told: keeps each once, and lets what they tell of known transactions change the ledger. Says how many are new, the numbers in the batch of the transactions that nobody knows, and which another session has locked: their notices are not kept yet, the earliest of which is as old as held_since.';

CREATE FUNCTION iap.take_order(t iap.transactions, order_id text, OUT is_ours boolean, OUT is_new boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO delivered_orders (order_id, bundle_id, original_transaction_id)
    VALUES (take_order.order_id, t.bundle_id, t.original_transaction_id)
    ON CONFLICT DO NOTHING;
    is_new := FOUND;
    -- Written, and not only locked: who is about to give it back waits, and then sees what was delivered for it.
    UPDATE delivered_orders AS taken SET original_transaction_id = taken.original_transaction_id
    WHERE NOT is_new AND taken.order_id = take_order.order_id COLLATE "default" AND taken.bundle_id = t.bundle_id;
    is_ours := is_new OR EXISTS (
        SELECT FROM delivered_orders AS taken
        WHERE taken.order_id = take_order.order_id COLLATE "default" AND taken.bundle_id = t.bundle_id
            AND taken.original_transaction_id = t.original_transaction_id)
        -- Or it was taken for an original that Apple has corrected since.
        OR EXISTS (
            SELECT FROM transactions AS served
            WHERE served.order_id = take_order.order_id COLLATE "default" AND served.bundle_id = t.bundle_id
                AND served.place = 'black' AND served.original_transaction_id = t.original_transaction_id);
END
$$;

COMMENT ON FUNCTION iap.take_order(t iap.transactions, order_id text, OUT is_ours boolean, OUT is_new boolean) IS 'Takes an order for the delivery of a purchase: whether it is this purchase''s, and whether that is new.';

CREATE FUNCTION iap.take_orders(orders iap.delivered_orders[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    AS $$
BEGIN
    -- Of one order that names several purchases, the first is kept. What is taken already is written, and not only
    -- locked: who is about to give it back waits, and then sees what was delivered for it.
    INSERT INTO delivered_orders AS held (order_id, bundle_id, original_transaction_id)
    SELECT order_id, bundle_id, min(original_transaction_id)
    FROM unnest(orders)
    GROUP BY order_id, bundle_id
    ORDER BY order_id, bundle_id
    ON CONFLICT (order_id, bundle_id) DO UPDATE SET original_transaction_id = held.original_transaction_id;
END
$$;

COMMENT ON FUNCTION iap.take_orders(orders iap.delivered_orders[]) IS 'Takes orders for which a company delivered before: each stays the purchase''s that has it.';

CREATE FUNCTION iap.take_originals(delivered iap.transactions[]) RETURNS bigint
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    taken bigint;
BEGIN
    INSERT INTO delivered_originals (
        original_transaction_id, bundle_id, environment, web_order_line_item_id, transaction_id)
    SELECT once.id, t.bundle_id, t.environment, once.period, min(t.transaction_id)
    FROM unnest(delivered) AS t
    LEFT JOIN products USING (bundle_id, product_id)
    CROSS JOIN LATERAL (
        -- By its own id, too: another may name it as its original, though it names one itself.
        SELECT own.id, '' AS period
        FROM (VALUES (t.original_transaction_id), (t.transaction_id)) AS own (id)
        WHERE coalesce(iap.type_by(t.product_type, t.source, products.type), 'non_consumable') = 'non_consumable'
        UNION
        SELECT t.original_transaction_id, t.web_order_line_item_id WHERE t.web_order_line_item_id IS NOT NULL
    ) AS once
    -- What a family shares keeps nobody from what they paid for.
    WHERE t.is_family_shared IS NOT TRUE
    GROUP BY once.id, t.bundle_id, t.environment, once.period
    ORDER BY once.id, t.bundle_id, t.environment, once.period
    ON CONFLICT (original_transaction_id, bundle_id, environment, web_order_line_item_id) DO NOTHING;
    GET DIAGNOSTICS taken = ROW_COUNT;
    RETURN taken;
END
$$;

COMMENT ON FUNCTION iap.take_originals(delivered iap.transactions[]) IS 'Notes that the original purchases of these are delivered, of non-consumables and of what nobody knows the type of, also where that is what these are for others, and the periods of subscriptions; says how many were not before. Waits for another session that is about to note the same.';

CREATE FUNCTION iap.take_purgeable(bucket smallint, receipt_ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    closed bigint[];
    free   bigint[];
BEGIN
    -- As in iap.purgeable, but asked of the ledger alone, about receipts that are at hand.
    SELECT array_agg(receipt_id) INTO closed
    FROM unnest(receipt_ids) AS asked (receipt_id)
    WHERE NOT EXISTS (
        SELECT FROM iap.sightings
        JOIN iap.white USING (transaction_id, bundle_id, environment)
        WHERE sightings.bucket = take_purgeable.bucket AND sightings.receipt_id = asked.receipt_id);
    IF closed IS NULL THEN
        RETURN '{}';
    END IF;
    SELECT coalesce(array_agg(receipt_id), '{}') INTO free
    FROM (
        SELECT receipt_id
        FROM iap.receipts
        WHERE bucket = take_purgeable.bucket AND receipt_id = ANY (closed) AND next_attempt_at IS NULL
        FOR UPDATE SKIP LOCKED
    ) AS mine;
    RETURN free;
END
$$;

COMMENT ON FUNCTION iap.take_purgeable(bucket smallint, receipt_ids bigint[]) IS 'Locks those of a bucket''s receipts on which nothing is open and that no other session has locked, and gives them.';

CREATE FUNCTION iap.take_redeliveries(bundle_id text, most integer DEFAULT 100, lease interval DEFAULT '00:10:00'::interval, OUT transaction_id text, OUT original_transaction_id text, OUT user_id text, OUT product_id text, OUT quantity integer, OUT purchased_at timestamp with time zone, OUT paid_until timestamp with time zone, OUT order_ids text[], OUT try integer, OUT leased_until timestamp with time zone) RETURNS SETOF record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'iap', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    r       iap.redeliveries;
    t       iap.transactions;
    how     text;
    given   integer := 0;
    seen    integer;
    -- What is leased here is not taken again, however short its lease and long the call.
    began   timestamptz := clock_timestamp();
    offered iap.delivered_orders[] := '{}';
BEGIN
    PERFORM iap.commit_durably(), iap.limit_idleness();
    PERFORM iap.require_bundle_id(take_redeliveries.bundle_id);
    IF most IS NULL OR most NOT BETWEEN 1 AND 10000 THEN
        RAISE EXCEPTION 'take 1 to 10000 at once' USING ERRCODE = 'invalid_parameter_value';
    ELSIF lease IS NULL OR lease NOT BETWEEN interval '1 second' AND interval '1 day' THEN
        RAISE EXCEPTION 'a lease is of one second to one day' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    LOOP
        seen := 0;
        FOR r IN
            SELECT *
            FROM iap.redeliveries AS due
            WHERE due.bundle_id = take_redeliveries.bundle_id AND due.ended_at IS NULL AND due.tries < 5
                -- No lease is longer than a day, nor any call: what ends later was taken while the clock was ahead.
                AND (due.due_at <= began OR due.due_at > began + interval '2 days')
            ORDER BY due.due_at, due.transaction_id, due.environment
            LIMIT most - given
            FOR UPDATE SKIP LOCKED
        LOOP
            seen := seen + 1;
            -- A claim, a refund or the support desk may have come first.
            how := iap.end_of_redelivery(r);
            IF how IS NOT NULL THEN
                UPDATE iap.redeliveries AS ended
                SET ended_at = now(), ended_as = how
                WHERE ended.transaction_id = r.transaction_id AND ended.bundle_id = r.bundle_id
                    AND ended.environment = r.environment;
                CONTINUE;
            END IF;
            given := given + 1;
            try := r.tries + 1;
            leased_until := clock_timestamp() + lease;
            UPDATE iap.redeliveries AS taken
            SET tries = taken.tries + 1, taken_at = now(), due_at = take_redeliveries.leased_until
            WHERE taken.transaction_id = r.transaction_id AND taken.bundle_id = r.bundle_id
                AND taken.environment = r.environment;
            SELECT * INTO t
            FROM iap.transactions AS found
            WHERE found.transaction_id = r.transaction_id AND found.bundle_id = r.bundle_id
                AND found.environment = r.environment;
            transaction_id := t.transaction_id;
            original_transaction_id := t.original_transaction_id;
            user_id := r.user_id;
            product_id := t.product_id;
            quantity := t.quantity;
            purchased_at := t.purchased_at;
            -- A subscription's case tells of all its periods: the last one says until when it is paid.
            SELECT max(period.expires_at) INTO paid_until
            FROM iap.transactions AS period
            WHERE period.bundle_id = r.bundle_id AND period.environment = r.environment AND period.place = 'white'
                AND period.transaction_id IN (
                    SELECT r.transaction_id
                    UNION ALL
                    SELECT unnest(periods) FROM iap.cases
                    WHERE cases.transaction_id = r.transaction_id AND cases.bundle_id = r.bundle_id
                        AND cases.environment = r.environment AND cases.state = 'open');
            order_ids := iap.orders_for(t, r.user_id, offered);
            IF order_ids <> '{}' THEN
                offered := offered || ROW(order_ids[1], t.bundle_id, t.original_transaction_id)::iap.delivered_orders;
            END IF;
            RETURN NEXT;
        END LOOP;
        EXIT WHEN seen = 0 OR given = most;
    END LOOP;
END
$$;

COMMENT ON FUNCTION iap.take_redeliveries(bundle_id text, most integer, lease interval, OUT transaction_id text, OUT original_transaction_id text, OUT user_id text, OUT product_id text, OUT quantity integer, OUT purchased_at timestamp with time zone, OUT paid_until timestamp with time zone, OUT order_ids text[], OUT try integer, OUT leased_until timestamp with time zone) IS 'Takes what the app''s server shall deliver without the customer, so many at most: each is the caller''s until its lease ends. Commit, then credit and claim each in one transaction. What is not claimed when its lease ends may be taken again, five times in all. paid_until is of a subscription, for iap.entitle.';

CREATE FUNCTION iap.take_untaken(run bigint, at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    known  record;
    change iap.change;
BEGIN
    FOR known IN
        SELECT untaken.original_transaction_id, locked.t
        FROM untaken_originals AS untaken
        CROSS JOIN LATERAL (
            SELECT ROW(delivered.*)::iap.transactions AS t
            FROM transactions AS delivered
            WHERE delivered.transaction_id = untaken.transaction_id AND delivered.bundle_id = untaken.bundle_id
                AND delivered.environment = untaken.environment
            FOR UPDATE SKIP LOCKED
        ) AS locked
    LOOP
        DELETE FROM untaken_originals AS untaken
        WHERE untaken.transaction_id = (known.t).transaction_id AND untaken.bundle_id = (known.t).bundle_id
            AND untaken.environment = (known.t).environment
            AND untaken.original_transaction_id = known.original_transaction_id;
        change.was := known.t;
        change.was.original_transaction_id := known.original_transaction_id;
        change.became := known.t;
        IF (known.t).place = 'black' THEN
            -- Which notes it again, where another session is in the way again.
            PERFORM iap.take_corrected(ARRAY[change]);
            PERFORM iap.withdraw_counted_twice(ARRAY[change], 'iap-reconcile', run, at);
        ELSE
            PERFORM iap.release_originals(ARRAY[change]);
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION iap.take_untaken(run bigint, at timestamp with time zone) IS 'Has iap.delivered_originals say what Apple told of what was delivered, where another session kept iap.take_corrected from it.';

CREATE FUNCTION iap.taken_until(taken_at timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $_$ SELECT $1 + interval '24 hours' $_$;

COMMENT ON FUNCTION iap.taken_until(taken_at timestamp with time zone) IS 'From when on nobody is on a case any more that somebody took.';

CREATE FUNCTION iap.transactions_of_order(bundle_id text, order_id text) RETURNS SETOF iap.transactions
    LANGUAGE sql STABLE
    AS $_$
    -- In the collation that orders are sorted by: see iap.receipts_of.
    WITH named AS (
        SELECT d.transaction_id, d.environment
        FROM iap.transactions AS d
        WHERE d.order_id = $2 COLLATE "default" AND d.bundle_id = $1
        UNION
        SELECT best.transaction_id, best.environment
        FROM (
            -- Beside the purchase that was uploaded for it a receipt holds, and its customer bought, what was not.
            SELECT
                s.transaction_id, s.environment,
                rank() OVER (ORDER BY s.is_named DESC, s.in_receipt DESC) AS rank
            FROM unnest(iap.receipts_for($2)) AS uploaded (receipt_id)
            CROSS JOIN LATERAL (
                SELECT seen.transaction_id, seen.environment, seen.is_named, seen.in_receipt
                FROM iap.sightings AS seen
                WHERE seen.receipt_id = uploaded.receipt_id AND seen.bucket = (uploaded.receipt_id & 63)::smallint
                    AND seen.bundle_id = $1 AND seen.order_id = $2
                    -- What rode along, and can't be what the order is for: it was delivered for another one, is another
                    -- product, or was bought before the order could be opened that it pays for.
                    AND (seen.is_named OR NOT EXISTS (
                        SELECT FROM iap.transactions AS beside
                        LEFT JOIN iap.orders AS o ON o.order_id = $2 COLLATE "default" AND o.bundle_id = $1
                        WHERE beside.transaction_id = seen.transaction_id AND beside.bundle_id = $1
                            AND beside.environment = seen.environment
                            AND (
                                (beside.place = 'black' AND beside.order_id <> $2)
                                OR beside.product_id <> o.product_id
                                OR beside.purchased_at < o.created_at - interval '2 days')))
                OFFSET 0
            ) AS s
        ) AS best
        WHERE best.rank = 1
        UNION
        SELECT c.transaction_id, c.environment
        FROM iap.cases AS c
        WHERE c.order_ids @> ARRAY[$2 COLLATE "default"] AND c.state = 'open' AND c.bundle_id = $1
    )
    SELECT t.*
    FROM (
        SELECT * FROM named
        UNION ALL
        -- A grant names no order, nor need a claim or the support desk: then what was matched best was delivered. By
        -- the case, for who buys much was delivered much for no order.
        SELECT d.transaction_id, d.environment
        FROM iap.orders AS o
        CROSS JOIN LATERAL (
            SELECT c.transaction_id, c.environment
            FROM iap.cases AS c
            WHERE c.order_ids[1] = $2 COLLATE "default" AND c.bundle_id = $1
            OFFSET 0
        ) AS matched
        CROSS JOIN LATERAL (
            SELECT had.transaction_id, had.environment
            FROM iap.transactions AS had
            WHERE had.transaction_id = matched.transaction_id AND had.bundle_id = $1
                AND had.environment = matched.environment AND had.user_id = o.user_id AND had.place = 'black'
                AND had.order_id IS NULL
            OFFSET 0
        ) AS d
        WHERE o.order_id = $2 COLLATE "default" AND o.bundle_id = $1 AND NOT EXISTS (SELECT FROM named)
    ) AS candidate
    CROSS JOIN LATERAL (
        SELECT * FROM iap.transactions AS found
        WHERE found.transaction_id = candidate.transaction_id AND found.bundle_id = $1
            AND found.environment = candidate.environment
        OFFSET 0
    ) AS t
$_$;

COMMENT ON FUNCTION iap.transactions_of_order(bundle_id text, order_id text) IS 'The purchases that were delivered for an order of the app''s own, uploaded with it and may be what it is for, or matched with it by the night; where there are none, what its user was delivered for no order after it was matched with this one.';

CREATE FUNCTION iap.type_by(product_type text, source iap.source, listed text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $_$
    -- Neither source tells a type: what the row holds is what the list said then.
    SELECT CASE
        WHEN $1 IN ('consumable', 'non_renewing') AND $2 IN ('app_server', 'verify_receipt')
            AND $3 = 'non_consumable'
        THEN $3
        ELSE coalesce($1, $3)
    END
$_$;

COMMENT ON FUNCTION iap.type_by(product_type text, source iap.source, listed text) IS 'The type of a purchase''s product, by what its row holds and what the list of products says today: bought once where the list was mended to say so, since of what is consumed, or does not renew, no two ids are one purchase.';

CREATE FUNCTION iap.type_of(t iap.transactions) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    listed text;
BEGIN
    IF t.product_type NOT IN ('consumable', 'non_renewing') THEN
        RETURN t.product_type;
    END IF;
    -- By itself: with a query among its arguments iap.type_by is a call of its own, of 30 µs.
    SELECT type INTO listed FROM products WHERE bundle_id = t.bundle_id AND product_id = t.product_id;
    RETURN iap.type_by(t.product_type, t.source, listed);
END
$$;

COMMENT ON FUNCTION iap.type_of(t iap.transactions) IS 'The type of the product that was bought: what Apple said, else what the list of products says; NULL where nobody knows it.';

CREATE FUNCTION iap.uncover(run bigint, at timestamp with time zone, most integer) RETURNS bigint
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    since   timestamptz := iap.looks_back_to(at);
    closed  audit.frontier := (SELECT frontier FROM audit.frontier);
    changes iap.change[];
BEGIN
    SELECT coalesce(array_agg(ROW(held.t, iap.owed_again(held.t))::iap.change), '{}') INTO changes
    FROM (
        SELECT locked.t
        FROM (
            SELECT found.transaction_id, found.bundle_id, found.environment
            FROM entitlements AS shortened
            CROSS JOIN LATERAL (
                SELECT black.transaction_id, black.bundle_id, black.environment
                FROM transactions AS black
                WHERE iap.is_of_original(
                        black.transaction_id, black.original_transaction_id, shortened.original_transaction_id)
                    AND black.bundle_id = shortened.bundle_id AND black.delivered_by = 'entitlement'
                    AND black.refunded_at IS NULL
                    AND NOT iap.is_covered(ROW(black.*)::iap.transactions, ROW(shortened.*)::iap.entitlements, at)
                OFFSET 0
            ) AS found
            WHERE shortened.revoked_at IS NOT NULL
                AND greatest(shortened.revoked_at, shortened.entitled_until) > since
            UNION
            -- An upgrade that was heard of before what it took the place of: only now it shows that the grant was none
            -- of the upgrade's.
            SELECT found.transaction_id, found.bundle_id, found.environment
            FROM transactions AS replaced
            JOIN entitlements USING (original_transaction_id, bundle_id)
            CROSS JOIN LATERAL (
                SELECT black.transaction_id, black.bundle_id, black.environment
                FROM transactions AS black
                WHERE iap.is_of_original(
                        black.transaction_id, black.original_transaction_id, replaced.original_transaction_id)
                    AND black.bundle_id = replaced.bundle_id AND black.environment = replaced.environment
                    AND black.delivered_by = 'entitlement' AND black.refunded_at IS NULL
                    AND black.product_id <> replaced.product_id AND black.purchased_at > replaced.purchased_at
                    AND iap.is_bought_since(
                        ROW(black.*)::iap.transactions, iap.said_for(ROW(black.*)::iap.transactions, entitlements))
                OFFSET 0
            ) AS found
            WHERE iap.is_beyond(replaced.entry_id, closed.upto, closed.gaps)
                AND (replaced.expires_at IS NOT NULL OR replaced.product_type = 'auto_renewable')
        ) AS found
        CROSS JOIN LATERAL (
            SELECT ROW(black.*)::iap.transactions AS t
            FROM transactions AS black
            WHERE black.transaction_id = found.transaction_id AND black.bundle_id = found.bundle_id
                AND black.environment = found.environment AND black.delivered_by = 'entitlement'
                AND black.refunded_at IS NULL
            FOR UPDATE SKIP LOCKED
        ) AS locked
        LIMIT most
    ) AS held;
    IF changes <> '{}' THEN
        PERFORM iap.move(changes, 'revoked', 'iap-reconcile', run, at, '{}', 'entitlement');
        PERFORM iap.watch_again(changes);
    END IF;
    RETURN cardinality(changes);
END
$$;

COMMENT ON FUNCTION iap.uncover(run bigint, at timestamp with time zone, most integer) IS 'Moves so many periods at most from black back to white that a grant which was shortened lately does not reach to the end of any more, or that are upgrades and were taken for granted before that was heard of which they took the place of; says how many: none, where none is left. A grant may be shortened while another session writes that it delivered.';

CREATE FUNCTION iap.unnamed_receipts_of(pseudonym text) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN (
        SELECT array_agg(DISTINCT seen.receipt_id)
        FROM iap.transactions AS t
        JOIN iap.sightings AS seen USING (transaction_id, bundle_id, environment)
        WHERE (
                t.user_id = pseudonym OR t.admitted_user_id = pseudonym
                OR t.app_account_token IN (
                    SELECT orders.app_account_token FROM iap.orders WHERE orders.user_id = pseudonym
                    UNION
                    SELECT own.app_account_token FROM iap.account_tokens AS own WHERE own.user_id = pseudonym))
            -- Of another's receipt the next refund is known. Asked of these few receipts alone: as a join it would ask
            -- of every purchase that there is.
            AND NOT EXISTS (
                SELECT FROM iap.sightings AS beside
                JOIN iap.transactions AS other USING (transaction_id, bundle_id, environment)
                WHERE beside.receipt_id = seen.receipt_id AND beside.bucket = seen.bucket
                    AND iap.is_anothers(
                        ROW(other.*)::iap.transactions, unnamed_receipts_of.pseudonym,
                        unnamed_receipts_of.pseudonym)
                OFFSET 0));
END
$$;

COMMENT ON FUNCTION iap.unnamed_receipts_of(pseudonym text) IS 'The receipts in which an erased person''s purchases were seen, and none that may be another''s. Some bear no user: what Apple told by itself, with the token of the account in it, or what was uploaded before a login.';

CREATE FUNCTION iap.unrefunded(t iap.transactions) RETURNS iap.transactions
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    t.refunded_at := NULL;
    t.refund_reason := NULL;
    t.refund_run_id := NULL;
    t.refund_told_at := NULL;
    t.revocation_type := NULL;
    t.revocation_percentage := NULL;
    RETURN t;
END
$$;

COMMENT ON FUNCTION iap.unrefunded(t iap.transactions) IS 'A transaction without its refund.';

CREATE FUNCTION iap.watch_again(changes iap.change[], at timestamp with time zone DEFAULT now()) RETURNS void
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    seen record;
BEGIN
    -- A statement a row, by its key: the form that also runs where the inbox is distributed.
    FOR seen IN
        SELECT DISTINCT found.bucket, found.receipt_id
        FROM unnest(changes) AS c
        JOIN sightings AS found
            ON found.transaction_id = (c.was).transaction_id AND found.bundle_id = (c.was).bundle_id
                AND found.environment = (c.was).environment
        ORDER BY found.bucket, found.receipt_id
    LOOP
        UPDATE receipts
        SET state = 'watched', next_attempt_at = watch_again.at,
            -- A seal that does not fit stays, for its row was changed by hand.
            seal = CASE
                WHEN seal = audit.receipt_seal(
                    bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at,
                    state, is_erased)
                THEN audit.receipt_seal(
                    bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at,
                    'watched', is_erased)
                ELSE seal
            END
        WHERE bucket = seen.bucket AND receipt_id = seen.receipt_id AND state = 'settled' AND payload IS NOT NULL;
    END LOOP;
END
$$;

COMMENT ON FUNCTION iap.watch_again(changes iap.change[], at timestamp with time zone) IS 'Has the receipts in which these transactions were seen, unless they were purged, asked again each night, so that Apple''s refund would be noticed.';

CREATE FUNCTION iap.white_bought_once() RETURNS SETOF iap.transactions
    LANGUAGE sql STABLE
    AS $$
    SELECT *
    FROM transactions
    WHERE place = 'white' AND product_type = 'non_consumable'
    UNION ALL
    -- By what is listed: of other products no row of white is read, however many there are.
    SELECT white.*
    FROM products
    CROSS JOIN LATERAL (
        SELECT *
        FROM transactions AS untold
        WHERE untold.bundle_id = products.bundle_id AND untold.product_id = products.product_id
            AND untold.place = 'white' AND untold.product_type IS NULL
        UNION ALL
        -- So is what was listed as something else, where the list was mended since: see iap.type_by.
        SELECT *
        FROM transactions AS mended
        WHERE mended.bundle_id = products.bundle_id AND mended.product_id = products.product_id
            AND mended.place = 'white' AND mended.product_type IN ('consumable', 'non_renewing')
            AND mended.source IN ('app_server', 'verify_receipt')
        OFFSET 0
    ) AS white
    WHERE products.type = 'non_consumable'
$$;

COMMENT ON FUNCTION iap.white_bought_once() IS 'What is white of products that are bought once: by what its row holds or, where nobody told, by what the list of products says today.';

CREATE FUNCTION iap.white_totals(before audit.frontier, upto bigint, gaps int8multirange) RETURNS iap.white_totals
    LANGUAGE plpgsql STABLE
    AS $$
#variable_conflict use_variable
DECLARE
    totals iap.white_totals := iap.white_turnover(before, upto, gaps);
BEGIN
    -- What the statement sees beyond the frontier is taken off again.
    SELECT
        ARRAY[coalesce(sum(sign), 0), coalesce(sum(sign * units), 0), coalesce(bit_xor(hash), 0)]::bigint[]
    INTO totals.closing_white
    FROM (
        SELECT 1 AS sign, quantity AS units, hashtextextended(transaction_id, 0) AS hash
        FROM transactions
        WHERE place = 'white'
        UNION ALL
        SELECT -1, units, hashtextextended(transaction_id, 0)
        FROM entries
        WHERE place = 'white' AND iap.is_beyond(number, upto, gaps)
        UNION ALL
        SELECT sign, units, hashtextextended(transaction_id, 0)
        FROM moves
        CROSS JOIN LATERAL (VALUES (1, from_place, from_units), (-1, to_place, to_units)) AS side (sign, place, units)
        WHERE place = 'white' AND iap.is_beyond(move_id, upto, gaps)
    ) AS white;
    RETURN totals;
END
$$;

COMMENT ON FUNCTION iap.white_totals(before audit.frontier, upto bigint, gaps int8multirange) IS 'What entered and left white between two frontiers, and what it held at the later one, for which all that came after that is read.';

CREATE FUNCTION iap.white_turnover(before audit.frontier, upto bigint, gaps int8multirange) RETURNS iap.white_totals
    LANGUAGE plpgsql STABLE
    AS $$
#variable_conflict use_variable
DECLARE
    totals  iap.white_totals;
    nothing bigint[] := '{0,0,0}';
BEGIN
    SELECT
        coalesce(max(total) FILTER (WHERE kind = 'new'), nothing),
        coalesce(max(total) FILTER (WHERE kind = 'claimed'), nothing),
        coalesce(max(total) FILTER (WHERE kind = 'resolved'), nothing),
        coalesce(max(total) FILTER (WHERE kind = 'refunded'), nothing)
    INTO totals.new, totals.claimed, totals.resolved, totals.refunded
    FROM (
        SELECT kind, ARRAY[sum(transactions), sum(units), bit_xor(hash)]::bigint[] AS total
        FROM (
            SELECT 'new' AS kind, 1 AS transactions, units, hashtextextended(transaction_id, 0) AS hash, number
            FROM entries
            WHERE place = 'white'
            UNION ALL
            SELECT
                CASE
                    WHEN to_place = 'white' THEN 'new'
                    WHEN to_place = 'black' AND to_detail <> 'resolved' THEN 'claimed'
                    WHEN to_place = 'excluded' AND to_detail = 'refunded' THEN 'refunded'
                    ELSE 'resolved'
                END,
                CASE WHEN from_place = to_place THEN 0 ELSE 1 END,
                CASE
                    WHEN from_place = to_place THEN to_units - from_units WHEN to_place = 'white' THEN to_units
                    ELSE from_units
                END,
                CASE WHEN from_place = to_place THEN 0 ELSE hashtextextended(transaction_id, 0) END,
                move_id
            FROM moves
            WHERE from_place = 'white' OR to_place = 'white'
        ) AS moved
        WHERE iap.is_beyond(number, before.upto, before.gaps)
            -- The first half says no more than the second, and it is what an index can answer.
            AND number <= upto AND NOT iap.is_beyond(number, upto, gaps)
        GROUP BY kind
    ) AS total;
    RETURN totals;
END
$$;

COMMENT ON FUNCTION iap.white_turnover(before audit.frontier, upto bigint, gaps int8multirange) IS 'What entered and left white between two frontiers, and nothing else is read: closing_white is NULL.';

CREATE FUNCTION iap.with_shorter(known iap.entitlements, said iap.word) RETURNS iap.entitlements
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    known.shorter := said || ARRAY(
        SELECT word
        FROM unnest(known.shorter) AS word
        WHERE word.until <> said.until
            -- What ends later grants what it does not. The others are known still when they are said again.
            AND (word.until > said.until OR word.until > said.said_at));
    RETURN known;
END
$$;

COMMENT ON FUNCTION iap.with_shorter(known iap.entitlements, said iap.word) IS 'An entitlement with a word that reaches less far, without those that are over and reach no further.';

CREATE FUNCTION iap.withdraw_all_restored(run bigint, at timestamp with time zone, most integer) RETURNS bigint
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    known record;
    rows  bigint := 0;
BEGIN
    PERFORM iap.take_mended();
    FOR known IN
        WITH restorable AS MATERIALIZED (
            SELECT
                transaction_id, bundle_id, environment, original_transaction_id, product_id, source, '' AS period,
                NULL AS owed_as
            FROM iap.white_bought_once()
            UNION ALL
            -- What is white of subscriptions is mostly many: read once, and not once for each.
            SELECT
                white.transaction_id, bundle_id, white.environment, white.original_transaction_id, product_id,
                white.source, white.web_order_line_item_id,
                first_value(white.transaction_id) OVER (
                    PARTITION BY
                        white.original_transaction_id, white.web_order_line_item_id, bundle_id, white.environment
                    ORDER BY
                        white.source = 'app_server', white.transaction_id <> white.original_transaction_id,
                        white.transaction_id)
            FROM transactions AS white
            LEFT JOIN products USING (bundle_id, product_id)
            WHERE white.place = 'white' AND white.web_order_line_item_id IS NOT NULL
                AND coalesce(white.product_type, products.type) IS DISTINCT FROM 'non_consumable'
        ), held AS MATERIALIZED (
            SELECT found.how, found.known_as, locked.t
            FROM restorable
            CROSS JOIN LATERAL (
                SELECT 'delivered_as' AS how, taken.transaction_id AS known_as
                FROM delivered_originals AS taken
                -- By its own id none but what is bought once is taken.
                WHERE taken.original_transaction_id
                        IN (restorable.original_transaction_id, restorable.transaction_id)
                    AND taken.bundle_id = restorable.bundle_id AND taken.environment = restorable.environment
                    AND taken.web_order_line_item_id = restorable.period
                    AND taken.transaction_id <> restorable.transaction_id
                UNION ALL
                (
                    SELECT
                        CASE WHEN ended.refunded_at IS NULL THEN 'dismissed_as' ELSE 'refunded_as' END,
                        ended.transaction_id
                    FROM (
                        SELECT same.transaction_id, same.refunded_at
                        FROM transactions AS same
                        WHERE restorable.period <> '' AND starts_with(same.place, 'excluded')
                            AND (same.refunded_at IS NOT NULL OR same.reason = 'dismissed')
                            AND same.original_transaction_id = restorable.original_transaction_id
                            AND same.web_order_line_item_id = restorable.period
                            AND same.web_order_line_item_id IS NOT NULL
                            AND same.bundle_id = restorable.bundle_id AND same.environment = restorable.environment
                            AND NOT same.is_family_shared
                        UNION ALL
                        SELECT same.transaction_id, same.refunded_at
                        FROM transactions AS same
                        WHERE restorable.period = '' AND iap.is_of_original(
                                same.transaction_id, same.original_transaction_id, restorable.original_transaction_id)
                            AND same.bundle_id = restorable.bundle_id AND same.environment = restorable.environment
                            AND same.transaction_id <> restorable.transaction_id
                            -- By words that no index answers to, here and below: the planner would read all of what is
                            -- excluded, or white, where there was none before.
                            AND starts_with(same.place, 'excluded')
                            AND (same.refunded_at IS NOT NULL OR same.reason = 'dismissed')
                            AND NOT same.is_family_shared
                            AND (
                                same.product_id = restorable.product_id
                                OR iap.type_of(ROW(same.*)::iap.transactions) = 'non_consumable')
                    ) AS ended
                    -- Apple's word on one id goes before the desk's on another.
                    ORDER BY ended.refunded_at IS NULL
                    LIMIT 1
                )
                UNION ALL
                -- By the id of which Apple told, if it did of one alone; else the original's, or the lowest.
                SELECT 'owed_as', restorable.owed_as
                WHERE restorable.owed_as <> restorable.transaction_id
                UNION ALL
                (
                    SELECT 'owed_as', same.transaction_id
                    FROM transactions AS same
                    WHERE restorable.period = '' AND iap.is_of_original(
                            same.transaction_id, same.original_transaction_id, restorable.original_transaction_id)
                        AND same.bundle_id = restorable.bundle_id AND same.environment = restorable.environment
                        AND starts_with(same.place, 'white') AND same.product_id = restorable.product_id
                        AND same.web_order_line_item_id IS NULL
                        AND (
                            same.source = 'app_server', same.transaction_id <> same.original_transaction_id,
                            same.transaction_id)
                        < (
                            restorable.source = 'app_server',
                            restorable.transaction_id <> restorable.original_transaction_id,
                            restorable.transaction_id)
                    -- The one that stands for all, and so is not withdrawn itself.
                    ORDER BY
                        same.source = 'app_server', same.transaction_id <> same.original_transaction_id,
                        same.transaction_id
                    LIMIT 1
                )
                LIMIT 1
            ) AS found
            CROSS JOIN LATERAL (
                SELECT ROW(white.*)::iap.transactions AS t
                FROM transactions AS white
                WHERE white.transaction_id = restorable.transaction_id AND white.bundle_id = restorable.bundle_id
                    AND white.environment = restorable.environment AND white.place = 'white'
                FOR UPDATE SKIP LOCKED
            ) AS locked
            LIMIT most
        )
        SELECT
            held.how, held.known_as, (held.t).bundle_id, (held.t).environment,
            array_agg(ROW(held.t, iap.excluded(held.t, 'restored', run, at))::iap.change) AS changes
        FROM held
        GROUP BY held.how, held.known_as, (held.t).bundle_id, (held.t).environment
        -- What is owed no more is withdrawn before the others are for its sake.
        ORDER BY held.how = 'owed_as'
    LOOP
        -- Who had it by this id has it by the other.
        CONTINUE WHEN known.how = 'owed_as'
            AND NOT iap.admit_owed(known.bundle_id, known.environment, known.known_as, known.changes, run, at);
        PERFORM iap.move(
            known.changes, 'withdrawn', 'iap-reconcile', run, at, jsonb_build_object(known.how, known.known_as));
        IF known.how = 'owed_as' THEN
            PERFORM iap.sight_owed(
                ARRAY(
                    SELECT ROW(seen.*)::iap.sightings
                    FROM unnest(known.changes) AS c
                    JOIN sightings AS seen
                        ON seen.transaction_id = (c.was).transaction_id AND seen.bundle_id = (c.was).bundle_id
                            AND seen.environment = (c.was).environment));
        END IF;
        IF known.how = 'refunded_as' THEN
            PERFORM iap.stand_for_refund(known.bundle_id, known.environment, known.known_as, run, at);
        END IF;
        rows := rows + cardinality(known.changes);
    END LOOP;
    RETURN rows;
END
$$;

COMMENT ON FUNCTION iap.withdraw_all_restored(run bigint, at timestamp with time zone, most integer) IS 'Takes so many non-consumables and periods of subscriptions at most out of white whose purchase was delivered, refunded or dismissed, or is owed, under another id, and says how many: none, where none is left. What another session has locked is left for the next night.';

CREATE FUNCTION iap.withdraw_beside(deliveries iap.verified[], at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    delivered iap.transactions[];
    purchase  iap.transactions;
BEGIN
    SELECT array_agg(ROW(found.*)::iap.transactions) INTO delivered
    FROM unnest(deliveries) AS v
    CROSS JOIN LATERAL (
        SELECT * FROM transactions AS t
        WHERE t.transaction_id = v.transaction_id AND t.bundle_id = v.bundle_id AND t.environment = v.environment
        OFFSET 0
    ) AS found
    LEFT JOIN products ON products.bundle_id = found.bundle_id AND products.product_id = found.product_id
    WHERE found.place = 'black' AND (
        coalesce(iap.type_by(found.product_type, found.source, products.type), 'non_consumable') = 'non_consumable'
        OR found.web_order_line_item_id IS NOT NULL);
    IF delivered IS NOT NULL THEN
        PERFORM iap.take_originals(delivered);
        FOREACH purchase IN ARRAY delivered LOOP
            PERFORM iap.withdraw_restored(purchase, session_user, at, 'import');
        END LOOP;
    END IF;
END
$$;

COMMENT ON FUNCTION iap.withdraw_beside(deliveries iap.verified[], at timestamp with time zone) IS 'Takes the other transactions of imported purchases out of white: delivered once, each is owed once.';

CREATE FUNCTION iap.withdraw_counted_twice(corrected iap.change[], actor text, run bigint, at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    known record;
BEGIN
    FOR known IN
        SELECT
            taken.transaction_id, (t).delivered_by AS who,
            -- With its refund, from which iap.carry_refunds has the id that stands refunded.
            array_agg(ROW(t, iap.excluded(t, 'restored', run, at))::iap.change) AS changes
        FROM unnest(corrected) AS c
        -- As it is written by now.
        CROSS JOIN LATERAL (
            SELECT ROW(black.*)::iap.transactions AS t
            FROM transactions AS black
            WHERE black.transaction_id = (c.was).transaction_id AND black.bundle_id = (c.was).bundle_id
                AND black.environment = (c.was).environment AND black.delivered_by IN ('entitlement', 'import')
        ) AS told
        JOIN delivered_originals AS taken
            ON taken.original_transaction_id = (t).original_transaction_id AND taken.bundle_id = (t).bundle_id
                AND taken.environment = (t).environment
                AND taken.web_order_line_item_id = coalesce((t).web_order_line_item_id, '')
                AND taken.transaction_id <> (t).transaction_id
        JOIN transactions AS same
            ON same.transaction_id = taken.transaction_id AND same.bundle_id = taken.bundle_id
                AND same.environment = taken.environment
        WHERE same.place = 'black' AND same.original_transaction_id = taken.original_transaction_id
            AND iap.is_same_purchase(t, ROW(same.*)::iap.transactions)
            -- What a company delivered stays so beside what may be taken back.
            AND ((t).delivered_by = 'entitlement' OR same.delivered_by NOT IN ('resolved', 'entitlement'))
        GROUP BY taken.transaction_id, (t).delivered_by
    LOOP
        PERFORM iap.move(
            known.changes, 'withdrawn', actor, run, at, jsonb_build_object('delivered_as', known.transaction_id),
            known.who);
    END LOOP;
END
$$;

COMMENT ON FUNCTION iap.withdraw_counted_twice(corrected iap.change[], actor text, run bigint, at timestamp with time zone) IS 'Takes out of black what a grant delivered, or an import told of, under two ids of one purchase, before it was known to be one: that was delivered once, and stands under the id that has the purchase or the period.';

CREATE FUNCTION iap.withdraw_restored(ended iap.transactions, actor text, at timestamp with time zone, who text, ended_as text DEFAULT 'delivered_as'::text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    changes iap.change[];
BEGIN
    IF ended.web_order_line_item_id IS NULL AND iap.type_of(ended) IS DISTINCT FROM 'non_consumable' THEN
        RETURN;
    END IF;
    -- What another session holds is about to be claimed itself, and will find its original taken.
    SELECT array_agg(ROW(t, iap.excluded(t, 'restored', NULL, at))::iap.change) INTO changes
    FROM (
        SELECT *
        FROM transactions
        WHERE iap.is_of_original(transaction_id, original_transaction_id, ended.original_transaction_id)
            AND bundle_id = ended.bundle_id AND environment = ended.environment
            AND transaction_id <> ended.transaction_id AND place = 'white'
            AND iap.is_same_purchase(ended, ROW(transactions.*)::iap.transactions)
        ORDER BY transaction_id
        FOR UPDATE SKIP LOCKED
    ) AS t;
    IF changes IS NOT NULL THEN
        PERFORM iap.move(
            changes, 'withdrawn', actor, NULL, at, jsonb_build_object(ended_as, ended.transaction_id), who);
    END IF;
END
$$;

COMMENT ON FUNCTION iap.withdraw_restored(ended iap.transactions, actor text, at timestamp with time zone, who text, ended_as text) IS 'After a non-consumable, or a period of a subscription, was delivered or dismissed: takes the other transactions of the same purchase out of white.';

CREATE FUNCTION iap.without_user(details jsonb, user_id text, pseudonym text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN CASE jsonb_typeof(details)
        WHEN 'array' THEN (
            SELECT coalesce(
                jsonb_agg(
                    CASE WHEN element = to_jsonb(user_id) THEN to_jsonb(pseudonym)
                        ELSE iap.without_user(element, user_id, pseudonym) END
                    ORDER BY place),
                '[]')
            FROM jsonb_array_elements(details) WITH ORDINALITY AS item (element, place))
        WHEN 'object' THEN (
            SELECT coalesce(
                jsonb_object_agg(
                    key,
                    CASE
                        WHEN key = 'user_id' AND value = to_jsonb(user_id) THEN to_jsonb(pseudonym)
                        WHEN key = 'note' AND jsonb_typeof(value) = 'string'
                            THEN to_jsonb(iap.without_user(value #>> '{}', user_id, pseudonym))
                        WHEN jsonb_typeof(value) IN ('array', 'object')
                            THEN iap.without_user(value, user_id, pseudonym)
                        ELSE value
                    END),
                '{}')
            FROM jsonb_each(details))
        ELSE details
    END;
END
$$;

COMMENT ON FUNCTION iap.without_user(details jsonb, user_id text, pseudonym text) IS 'The details of an event or a move, or a case''s candidates, with a user id replaced. Lists hold user ids, or objects.';

CREATE FUNCTION iap.without_user(text text, user_id text, pseudonym text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT regexp_replace(
        text,
        -- Read the same whatever a database of old has for standard_conforming_strings. Chinese, Japanese and Korean
        -- leave no space around an id.
        E'((?<![[:alnum:]_-])|(?<=[\\u2E80-\\uFAFF])(?![\\u2E80-\\uFAFF]))'
            || regexp_replace(user_id, '([^[:alnum:]])', E'\\\\\\1', 'g')
            || E'((?![[:alnum:]_-])|(?<![\\u2E80-\\uFAFF])(?=[\\u2E80-\\uFAFF]))',
        pseudonym, 'g')
$$;

COMMENT ON FUNCTION iap.without_user(text text, user_id text, pseudonym text) IS 'What a person wrote, with a user id replaced wherever it stands as a word of its own, or where the script changes as in 用户anna说. An id in Chinese is replaced only where something else stands around it.';

CREATE FUNCTION iap.word_of(t iap.transactions) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN CASE iap.standing(t)
        WHEN 'white' THEN CASE iap.outcome_otherwise(t)
            WHEN 'excluded' THEN CASE
                WHEN iap.is_dismissed_otherwise(t) AND NOT iap.is_refunded_otherwise(t) THEN 'unknown'
                ELSE 'not paid'
            END
            WHEN 'already_delivered' THEN 'delivered'
            ELSE 'paid, being delivered'
        END
        WHEN 'already_delivered' THEN 'delivered'
        WHEN 'excluded' THEN CASE
            WHEN iap.owed_as(t) IS NOT NULL THEN 'paid, being delivered'
            -- A company may have delivered it under another id, whatever is said of this one.
            WHEN t.reason IN ('dismissed', 'before_start', 'refunded') AND iap.is_delivered_beside(t) THEN 'delivered'
            WHEN t.reason IN ('dismissed', 'before_start') THEN 'unknown'
            -- Paid, as the id is that it restores.
            WHEN t.reason = 'restored' AND iap.is_dismissed_otherwise(t) THEN 'unknown'
            ELSE 'not paid'
        END
        ELSE 'unknown'
    END;
END
$$;

COMMENT ON FUNCTION iap.word_of(t iap.transactions) IS 'What to tell the customer of a transaction that the ledger holds.';

CREATE FUNCTION iap.word_of_upload(bundle_id text, transaction_id text, order_id text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
#variable_conflict use_column
DECLARE
    waits  boolean;
    since  timestamptz;
    opened timestamptz;
BEGIN
    SELECT bool_or(receipts.state = 'waiting'), max(uploads.last_uploaded_at) INTO waits, since
    FROM uploads
    JOIN receipts USING (bucket, receipt_id)
    WHERE receipts.bundle_id = word_of_upload.bundle_id
        AND CASE
            WHEN word_of_upload.order_id IS NULL
            THEN uploads.transaction_id = word_of_upload.transaction_id COLLATE "default"
            ELSE uploads.order_id = word_of_upload.order_id COLLATE "default"
        END;
    SELECT created_at INTO opened
    FROM orders
    WHERE orders.order_id = word_of_upload.order_id COLLATE "default" AND orders.bundle_id = word_of_upload.bundle_id;
    RETURN CASE
        WHEN since IS NULL AND opened IS NULL THEN 'unknown'
        -- Two nights: StoreKit may write it into a later receipt, and Apple may tell of it by itself.
        WHEN waits OR greatest(since, opened) > iap.present() - interval '2 days' THEN 'waiting for Apple'
        ELSE 'not paid'
    END;
END
$$;

COMMENT ON FUNCTION iap.word_of_upload(bundle_id text, transaction_id text, order_id text) IS 'What to tell the customer of a purchase that the ledger does not hold: it waits for Apple while an upload of it does, and for two days after the last one, or after the order was opened; then it was not paid.';

CREATE FUNCTION iap.worth(account text, line_detail text, milliunits numeric, refunded_milliunits numeric) RETURNS numeric
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN (account = 'kept'::text) THEN (milliunits - refunded_milliunits) WHEN ((account = 'refunded'::text) OR (line_detail = 'refunded'::text)) THEN refunded_milliunits ELSE milliunits END;

COMMENT ON FUNCTION iap.worth(account text, line_detail text, milliunits numeric, refunded_milliunits numeric) IS 'What a position is worth in an account of finance, by what was paid and the share of it that was refunded.';

CREATE TABLE audit.erasures (
    number bigint NOT NULL,
    event_id bigint NOT NULL,
    digest bytea NOT NULL,
    left_as bytea NOT NULL
);

COMMENT ON TABLE audit.erasures IS 'The moves and events from which persons'' data were erased: the chain keeps what it covered, and the event of each erasure what it left.';

CREATE TABLE audit.links (
    "position" bigint NOT NULL,
    run_id bigint NOT NULL,
    sealed_at timestamp with time zone NOT NULL,
    upto bigint NOT NULL,
    late bigint[] NOT NULL,
    entries bigint NOT NULL,
    link bytea NOT NULL,
    CONSTRAINT links_link_check CHECK ((octet_length(link) = 32)),
    CONSTRAINT links_position_check CHECK (("position" > 0))
);

COMMENT ON TABLE audit.links IS 'The chain over the trail: a link for each run that closed its books. Whoever changes, removes or slips in an entry, a move or an event would have to write all later links anew, and the last one stands in the reports that were sent out.';

COMMENT ON COLUMN audit.links.entries IS 'How many entries, moves and events it covers.';

COMMENT ON COLUMN audit.links.link IS 'The SHA-256 of the link before and of the digests of what it covers.';

CREATE VIEW iap.entries AS
 SELECT t.entry_id AS number,
    t.transaction_id,
    t.bundle_id,
    t.environment,
    t.first_seen_at AS at,
    t.first_run_id AS run_id,
    t.place,
    now.detail,
    now.day,
    now.refund_day,
    t.product_id,
    t.quantity AS units,
    t.booked_milliunits AS milliunits,
    t.booked_currency AS currency,
    t.booked_as,
    t.revocation_percentage AS refund_percentage
   FROM (iap.transactions t
     CROSS JOIN LATERAL ( SELECT (iap.position_of(t.*)).place AS place,
            (iap.position_of(t.*)).detail AS detail,
            (iap.position_of(t.*)).day AS day,
            (iap.position_of(t.*)).refund_day AS refund_day,
            (iap.position_of(t.*)).product_id AS product_id,
            (iap.position_of(t.*)).units AS units,
            (iap.position_of(t.*)).milliunits AS milliunits,
            (iap.position_of(t.*)).currency AS currency,
            (iap.position_of(t.*)).booked_as AS booked_as) now)
  WHERE (t.move_id IS NULL)
UNION ALL
 SELECT t.entry_id AS number,
    t.transaction_id,
    t.bundle_id,
    t.environment,
    t.first_seen_at AS at,
    t.first_run_id AS run_id,
        CASE
            WHEN (move.move_id IS NULL) THEN t.place
            ELSE move.from_place
        END AS place,
        CASE
            WHEN (move.move_id IS NULL) THEN now.detail
            ELSE move.from_detail
        END AS detail,
        CASE
            WHEN (move.move_id IS NULL) THEN now.day
            ELSE move.from_day
        END AS day,
        CASE
            WHEN (move.move_id IS NULL) THEN now.refund_day
            ELSE move.from_refund_day
        END AS refund_day,
        CASE
            WHEN (move.move_id IS NULL) THEN t.product_id
            ELSE move.from_product_id
        END AS product_id,
        CASE
            WHEN (move.move_id IS NULL) THEN t.quantity
            ELSE move.from_units
        END AS units,
        CASE
            WHEN (move.move_id IS NULL) THEN t.booked_milliunits
            ELSE move.from_milliunits
        END AS milliunits,
        CASE
            WHEN (move.move_id IS NULL) THEN t.booked_currency
            ELSE move.from_currency
        END AS currency,
        CASE
            WHEN (move.move_id IS NULL) THEN t.booked_as
            ELSE move.from_booked_as
        END AS booked_as,
        CASE
            WHEN (move.move_id IS NULL) THEN t.revocation_percentage
            ELSE ((move.details ->> 'from_refund_percentage'::text))::integer
        END AS refund_percentage
   FROM ((iap.transactions t
     CROSS JOIN LATERAL ( SELECT (iap.position_of(t.*)).place AS place,
            (iap.position_of(t.*)).detail AS detail,
            (iap.position_of(t.*)).day AS day,
            (iap.position_of(t.*)).refund_day AS refund_day,
            (iap.position_of(t.*)).product_id AS product_id,
            (iap.position_of(t.*)).units AS units,
            (iap.position_of(t.*)).milliunits AS milliunits,
            (iap.position_of(t.*)).currency AS currency,
            (iap.position_of(t.*)).booked_as AS booked_as) now)
     LEFT JOIN LATERAL ( SELECT moves.move_id,
            moves.transaction_id,
            moves.bundle_id,
            moves.environment,
            moves.kind,
            moves.actor,
            moves.run_id,
            moves.moved_at,
            moves.from_place,
            moves.to_place,
            moves.from_detail,
            moves.to_detail,
            moves.from_day,
            moves.to_day,
            moves.from_refund_day,
            moves.to_refund_day,
            moves.from_product_id,
            moves.to_product_id,
            moves.from_units,
            moves.to_units,
            moves.from_milliunits,
            moves.to_milliunits,
            moves.from_currency,
            moves.to_currency,
            moves.from_booked_as,
            moves.to_booked_as,
            moves.details,
            moves.seal
           FROM iap.moves
          WHERE ((moves.transaction_id = t.transaction_id) AND (moves.bundle_id = t.bundle_id) AND (moves.environment = t.environment))
          ORDER BY moves.move_id
         LIMIT 1) move ON (true))
  WHERE (t.move_id IS NOT NULL);

COMMENT ON VIEW iap.entries IS 'How each transaction entered the ledger: as it is, or as its first move found it.';

CREATE VIEW audit.trail AS
 SELECT entries.number,
    convert_to((ROW(entries.number, entries.transaction_id, entries.bundle_id, entries.environment, entries.at, entries.run_id, entries.place, entries.detail, entries.day, entries.refund_day, entries.product_id, entries.units, entries.milliunits, entries.currency, entries.booked_as, entries.refund_percentage))::text, 'UTF8'::name) AS told
   FROM iap.entries
UNION ALL
 SELECT moves.move_id AS number,
    COALESCE(( SELECT e.digest
           FROM audit.erasures e
          WHERE (e.number = moves.move_id)
          ORDER BY e.event_id
         LIMIT 1), audit.digest(moves.*)) AS told
   FROM iap.moves
UNION ALL
 SELECT events.event_id AS number,
    COALESCE(( SELECT e.digest
           FROM audit.erasures e
          WHERE (e.number = events.event_id)
          ORDER BY e.event_id
         LIMIT 1), audit.digest(events.*)) AS told
   FROM iap.events;

COMMENT ON VIEW audit.trail IS 'What the chain covers: entries, moves and events by their number; what an entry says, and the digests of the others.';

CREATE VIEW audit.uncovered AS
 SELECT earlier."position",
    range_agg(int8range(number.number, (number.number + 1))) AS numbers
   FROM ((( SELECT links."position",
            links.late,
            ( SELECT below."position"
                   FROM audit.links below
                  WHERE ((below."position" < links."position") AND (below.upto < ( SELECT min(number_1.number) AS min
                           FROM unnest(links.late) number_1(number))))
                  ORDER BY below."position" DESC
                 LIMIT 1) AS below
           FROM audit.links
          WHERE (links.late <> '{}'::bigint[])) later
     CROSS JOIN LATERAL ( SELECT links."position",
            links.upto
           FROM audit.links
          WHERE ((links."position" < later."position") AND (links."position" > COALESCE(later.below, (0)::bigint)))
         OFFSET 0) earlier)
     CROSS JOIN LATERAL unnest(later.late) number(number))
  WHERE (number.number <= earlier.upto)
  GROUP BY earlier."position";

COMMENT ON VIEW audit.uncovered IS 'The links that had not seen all numbers up to their own, and those that came late to a later link.';

CREATE VIEW iap.closings AS
 SELECT links."position",
    links.run_id,
    runs.as_of,
    runs.closed_through,
    links.upto,
    links.late,
    lag(links.upto, 1, (0)::bigint) OVER (ORDER BY links."position") AS upto_before,
    max(runs.closed_through) OVER (ORDER BY links."position" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS closed_before
   FROM (audit.links
     LEFT JOIN iap.runs USING (run_id));

COMMENT ON VIEW iap.closings IS 'The links of the chain, each with its run, and with the number and the day up to which the books were closed before.';

CREATE VIEW finance.booking_spans AS
 SELECT COALESCE((closings.closed_before + 1), '-infinity'::date) AS first_day,
    COALESCE((GREATEST(((closings.as_of AT TIME ZONE 'UTC'::text))::date, closings.closed_before) + 1), 'infinity'::date) AS last_day,
    LEAST((closings.upto_before + 1), ( SELECT min(number.number) AS min
           FROM unnest(closings.late) number(number))) AS first_entry,
    closings.upto AS last_entry
   FROM iap.closings
UNION ALL
 SELECT COALESCE((( SELECT max(closings.closed_through) AS max
           FROM iap.closings) + 1), '-infinity'::date) AS first_day,
    'infinity'::date AS last_day,
    LEAST((frontier.upto + 1), lower(frontier.gaps)) AS first_entry,
    '9223372036854775807'::bigint AS last_entry
   FROM audit.frontier;

COMMENT ON VIEW finance.booking_spans IS 'Between which numbers the entries of each run that closed its books lie, and on which days it may have booked them.';

COMMENT ON COLUMN finance.booking_spans.first_day IS 'The first day that was not closed before the run.';

COMMENT ON COLUMN finance.booking_spans.last_day IS 'The day after the run''s own, whatever its clock said.';

COMMENT ON COLUMN finance.booking_spans.first_entry IS 'The lowest number of its entries.';

COMMENT ON COLUMN finance.booking_spans.last_entry IS 'The highest.';

CREATE VIEW finance.closings AS
 SELECT runs.run_id,
    runs.as_of,
    runs.closed_through
   FROM iap.runs
  WHERE (runs.closed_through IS NOT NULL);

COMMENT ON VIEW finance.closings IS 'The runs that closed their books, and the days that are closed since.';

COMMENT ON COLUMN finance.closings.run_id IS 'The run.';

COMMENT ON COLUMN finance.closings.as_of IS 'The moment that it took for the present.';

COMMENT ON COLUMN finance.closings.closed_through IS 'The last day that is closed for good: what turns up for it later is booked on a later day.';

CREATE TABLE iap.sales (
    report_id bigint NOT NULL,
    app_sku text NOT NULL,
    bundle_id text COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL,
    storefront text NOT NULL,
    price_milliunits bigint,
    currency text,
    proceeds_milliunits bigint,
    proceeds_currency text,
    units bigint NOT NULL,
    is_refund boolean GENERATED ALWAYS AS ((units < 0)) STORED NOT NULL,
    CONSTRAINT price_has_currency CHECK (
CASE
    WHEN (price_milliunits IS NULL) THEN (currency IS NULL)
    ELSE ((price_milliunits = 0) OR (currency IS NOT NULL))
END),
    CONSTRAINT proceeds_have_currency CHECK (((proceeds_milliunits IS NULL) = (proceeds_currency IS NULL))),
    CONSTRAINT sales_app_sku_check CHECK ((octet_length(app_sku) <= 1000)),
    CONSTRAINT sales_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT sales_price_milliunits_check CHECK ((price_milliunits >= 0)),
    CONSTRAINT sales_proceeds_currency_check CHECK ((proceeds_currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT sales_proceeds_milliunits_check CHECK ((proceeds_milliunits >= 0)),
    CONSTRAINT sales_storefront_check CHECK ((storefront ~ '^[A-Z]{3}$'::text))
);

COMMENT ON TABLE iap.sales IS 'Units of in-app purchases by day, product, country and price, as Apple''s reports tell them.';

COMMENT ON COLUMN iap.sales.app_sku IS 'The app''s SKU, as the report calls it; empty where it does not say.';

COMMENT ON COLUMN iap.sales.bundle_id IS 'The app; NULL where it was not known, so that the line counts nowhere.';

COMMENT ON COLUMN iap.sales.type IS 'Apple''s Product Type Identifier, such as IA1 or IAY.';

COMMENT ON COLUMN iap.sales.storefront IS 'The country by its code of three letters, as transactions have it.';

COMMENT ON COLUMN iap.sales.price_milliunits IS 'What the customer paid for one unit; NULL if the report does not say.';

COMMENT ON COLUMN iap.sales.proceeds_milliunits IS 'The developer''s part of one unit.';

COMMENT ON COLUMN iap.sales.units IS 'Negative for refunds.';

CREATE TABLE iap.sales_reports (
    report_id bigint NOT NULL,
    day date NOT NULL,
    developer text NOT NULL,
    bundle_ids text[] NOT NULL COLLATE pg_catalog."C",
    file text NOT NULL,
    lines bigint NOT NULL,
    refused bigint NOT NULL,
    read_at timestamp with time zone DEFAULT now() NOT NULL,
    read_by text DEFAULT SESSION_USER NOT NULL,
    replaced_at timestamp with time zone,
    CONSTRAINT sales_reports_developer_check CHECK ((octet_length(developer) <= 1000)),
    CONSTRAINT sales_reports_lines_check CHECK ((lines >= 0)),
    CONSTRAINT sales_reports_refused_check CHECK ((refused >= 0))
);

COMMENT ON TABLE iap.sales_reports IS 'The Sales and Trends reports of Apple''s that were read, one for each day and account, and those they replaced.';

COMMENT ON COLUMN iap.sales_reports.day IS 'A day of Pacific Time.';

COMMENT ON COLUMN iap.sales_reports.developer IS 'The account, as the report calls it; empty where it does not say.';

COMMENT ON COLUMN iap.sales_reports.bundle_ids IS 'The apps that it tells of.';

COMMENT ON COLUMN iap.sales_reports.lines IS 'Lines of in-app purchases of apps that were known.';

COMMENT ON COLUMN iap.sales_reports.refused IS 'Lines of the file that were refused: something of the day is missing.';

COMMENT ON COLUMN iap.sales_reports.read_by IS 'The database login that read it.';

COMMENT ON COLUMN iap.sales_reports.replaced_at IS 'When a later report of the day took its place; NULL if it counts.';

CREATE VIEW finance.compared_days AS
 WITH told AS (
         SELECT sales_reports_1.developer,
            bundle_id.bundle_id,
            max(sales_reports_1.day) AS last_day
           FROM (iap.sales_reports sales_reports_1
             CROSS JOIN LATERAL unnest(sales_reports_1.bundle_ids) bundle_id(bundle_id))
          WHERE (sales_reports_1.replaced_at IS NULL)
          GROUP BY sales_reports_1.developer, bundle_id.bundle_id
        )
 SELECT DISTINCT sales_reports.day,
    told.bundle_id
   FROM (iap.sales_reports
     JOIN told USING (developer))
  WHERE ((sales_reports.replaced_at IS NULL) AND ((sales_reports.day <= told.last_day) OR (NOT (EXISTS ( SELECT
           FROM told later
          WHERE ((later.bundle_id = told.bundle_id) AND (later.last_day > told.last_day)))))) AND ((told.bundle_id = ANY (sales_reports.bundle_ids)) OR (NOT (EXISTS ( SELECT
           FROM ((iap.sales unnamed
             JOIN iap.sales named ON ((named.app_sku = unnamed.app_sku)))
             JOIN iap.sales_reports other ON ((other.report_id = named.report_id)))
          WHERE ((unnamed.report_id = sales_reports.report_id) AND (unnamed.bundle_id IS NULL) AND (unnamed.app_sku <> ''::text) AND (named.bundle_id = told.bundle_id) AND (other.developer = sales_reports.developer) AND (other.replaced_at IS NULL)))))));

COMMENT ON VIEW finance.compared_days IS 'The days of which Apple''s sales report was read, for each app that the account''s reports tell of.';

COMMENT ON COLUMN finance.compared_days.day IS 'A day of Pacific Time.';

COMMENT ON COLUMN finance.compared_days.bundle_id IS 'The app.';

CREATE VIEW finance.control_totals AS
 WITH checked AS (
         SELECT runs.run_id,
            runs.as_of,
            runs.started_at,
            runs.finished_at,
            runs.host,
            runs.process_id,
            runs.program_version,
            runs.state,
            runs.exit_code,
            runs.reason,
            runs.receipts_due,
            runs.receipts_verified,
            runs.receipts_try_again,
            runs.receipts_unusable,
            runs.verified,
            runs.newly_white,
            runs.already_white,
            runs.already_black,
            runs.excluded,
            runs.opening_white,
            runs.new,
            runs.claimed,
            runs.resolved,
            runs.refunded,
            runs.closing_white,
            runs.closing_number,
            runs.closed_through,
            runs.cases,
            runs.stages,
            runs.told,
            iap.is_balanced(ROW(runs.run_id, runs.as_of, runs.started_at, runs.finished_at, runs.host, runs.process_id, runs.program_version, runs.state, runs.exit_code, runs.reason, runs.receipts_due, runs.receipts_verified, runs.receipts_try_again, runs.receipts_unusable, runs.verified, runs.newly_white, runs.already_white, runs.already_black, runs.excluded, runs.opening_white, runs.new, runs.claimed, runs.resolved, runs.refunded, runs.closing_white, runs.closing_number, runs.closed_through, runs.cases, runs.stages, runs.told)::iap.runs) AS is_balanced,
            lag(runs.closing_white, 1, '{0,0,0}'::bigint[]) OVER (ORDER BY runs.closing_number) AS closed_before
           FROM iap.runs
        )
 SELECT checked.run_id,
    ((checked.as_of AT TIME ZONE 'UTC'::text))::date AS day,
    checked.started_at,
    checked.state,
    total."position",
    total.total,
    total.figures[1] AS transactions,
    total.figures[2] AS units,
    total.figures[3] AS hash,
    (checked.is_balanced AND (checked.opening_white = checked.closed_before)) AS balances
   FROM (checked
     CROSS JOIN LATERAL ( VALUES (1,'verified'::text,checked.verified), (2,'newly white'::text,checked.newly_white), (3,'already white'::text,checked.already_white), (4,'already black'::text,checked.already_black), (5,'excluded'::text,checked.excluded), (6,'opening white'::text,checked.opening_white), (7,'new'::text,checked.new), (8,'claimed'::text,checked.claimed), (9,'resolved'::text,checked.resolved), (10,'refunded'::text,checked.refunded), (11,'closing white'::text,checked.closing_white)) total("position", total, figures))
  WHERE (checked.state <> 'running'::text);

COMMENT ON VIEW finance.control_totals IS 'What each run counted, eleven rows a run. Verified transactions are newly white, already white, already black or excluded; opening white and new, less claimed, resolved and refunded, is closing white; and each run opens with what the one before closed with.';

COMMENT ON COLUMN finance.control_totals.run_id IS 'The run.';

COMMENT ON COLUMN finance.control_totals.day IS 'The day of the moment that the run took for the present.';

COMMENT ON COLUMN finance.control_totals.started_at IS 'When it started.';

COMMENT ON COLUMN finance.control_totals.state IS 'complete, ended_early, failed, or abandoned: killed, as a later run found.';

COMMENT ON COLUMN finance.control_totals."position" IS 'The row''s place among the eleven.';

COMMENT ON COLUMN finance.control_totals.total IS 'What is counted.';

COMMENT ON COLUMN finance.control_totals.transactions IS 'How many; NULL where the run did not close its books.';

COMMENT ON COLUMN finance.control_totals.units IS 'The quantity, or the sum of quantities.';

COMMENT ON COLUMN finance.control_totals.hash IS 'The exclusive or of a hash of each transaction id: shows one transaction in another''s place.';

COMMENT ON COLUMN finance.control_totals.balances IS 'Whether all of the run''s totals balance; NULL where its books are not closed and nothing else is wrong.';

CREATE VIEW finance.control_totals_by_day AS
 WITH counted AS (
         SELECT control_totals.day,
            control_totals.run_id,
            bool_and(control_totals.balances) AS balances,
            sum(control_totals.transactions) FILTER (WHERE (control_totals.total = 'verified'::text)) AS received,
            sum(control_totals.units) FILTER (WHERE (control_totals.total = 'verified'::text)) AS units,
            sum(control_totals.transactions) FILTER (WHERE (control_totals.total = ANY (ARRAY['newly white'::text, 'already white'::text]))) AS white,
            sum(control_totals.transactions) FILTER (WHERE (control_totals.total = 'newly white'::text)) AS newly_white,
            sum(control_totals.transactions) FILTER (WHERE (control_totals.total = 'already black'::text)) AS black,
            sum(control_totals.transactions) FILTER (WHERE (control_totals.total = 'excluded'::text)) AS excluded
           FROM finance.control_totals
          GROUP BY control_totals.day, control_totals.run_id
        )
 SELECT counted.day,
    count(*) AS runs,
    (sum(counted.received))::bigint AS received,
    (sum(counted.units))::bigint AS units,
    (sum(counted.white))::bigint AS white,
    (sum(counted.newly_white))::bigint AS newly_white,
    (sum(counted.black))::bigint AS black,
    (sum(counted.excluded))::bigint AS excluded,
    ((((sum(counted.received) - sum(counted.white)) - sum(counted.black)) - sum(counted.excluded)))::bigint AS difference,
        CASE
            WHEN ((bool_and(counted.balances) IS FALSE) OR (count(counted.balances) = count(*))) THEN bool_and(counted.balances)
            ELSE NULL::boolean
        END AS balances
   FROM counted
  GROUP BY counted.day;

COMMENT ON VIEW finance.control_totals_by_day IS 'What the runs of each day received from Apple, and where it is: received is white, black and excluded together.';

COMMENT ON COLUMN finance.control_totals_by_day.day IS 'The day of the moment that the runs took for the present.';

COMMENT ON COLUMN finance.control_totals_by_day.runs IS 'How many runs ended, well or not.';

COMMENT ON COLUMN finance.control_totals_by_day.received IS 'Transactions that Apple vouched for in those runs; one that two runs received counts twice.';

COMMENT ON COLUMN finance.control_totals_by_day.units IS 'The quantity, or the sum of quantities.';

COMMENT ON COLUMN finance.control_totals_by_day.white IS 'Of these: paid, and not claimed.';

COMMENT ON COLUMN finance.control_totals_by_day.newly_white IS 'Of the white: for the first time.';

COMMENT ON COLUMN finance.control_totals_by_day.black IS 'Of these: delivered.';

COMMENT ON COLUMN finance.control_totals_by_day.excluded IS 'Of these: not owed.';

COMMENT ON COLUMN finance.control_totals_by_day.difference IS 'Received, less white, black and excluded: 0.';

COMMENT ON COLUMN finance.control_totals_by_day.balances IS 'Whether all totals of all those runs balance; NULL where a run did not close its books and nothing else is wrong.';

CREATE TABLE iap.products (
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL,
    name text NOT NULL,
    list_price_milliunits bigint,
    currency text,
    CONSTRAINT ids_are_apples CHECK ((((octet_length(product_id) >= 1) AND (octet_length(product_id) <= 255)) AND ((octet_length(bundle_id) >= 1) AND (octet_length(bundle_id) <= 255)) AND ((product_id || bundle_id) !~ '[^!-~]'::text))),
    CONSTRAINT list_price_has_currency CHECK (((list_price_milliunits IS NULL) = (currency IS NULL))),
    CONSTRAINT products_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT products_list_price_milliunits_check CHECK ((list_price_milliunits >= 0)),
    CONSTRAINT products_type_check CHECK ((type = ANY (ARRAY['consumable'::text, 'non_consumable'::text, 'auto_renewable'::text, 'non_renewing'::text])))
);

COMMENT ON TABLE iap.products IS 'What the apps sell. Filled by the apps'' owner; a product that is missing is suspicious.';

COMMENT ON COLUMN iap.products.list_price_milliunits IS 'For one unit; used where Apple''s answer has no price.';

CREATE VIEW iap.counted AS
 SELECT transactions.transaction_id,
    transactions.bundle_id,
    transactions.product_id,
    products.name AS product_name,
    transactions.place,
    transactions.purchased_at,
    transactions.quantity AS units,
    transactions.booked_currency AS currency,
    transactions.booked_as AS price_source,
    (((transactions.booked_milliunits)::numeric / 1000.0))::numeric(20,3) AS amount,
    transactions.user_id,
    transactions.order_id,
    transactions.delivered_by,
    transactions.delivered_at,
    transactions.reason,
    transactions.refund_run_id,
    transactions.refunded_at,
    transactions.refund_reason,
    transactions.revocation_type,
    (((COALESCE(transactions.revocation_percentage, 100000))::numeric / 1000.0))::numeric(6,3) AS refund_percent,
    (((iap.share_of(transactions.booked_milliunits, transactions.revocation_percentage))::numeric / 1000.0))::numeric(20,3) AS refunded_amount,
    transactions.app_account_token
   FROM (iap.transactions
     LEFT JOIN iap.products USING (bundle_id, product_id))
  WHERE (transactions.environment = 'Production'::text);

COMMENT ON VIEW iap.counted IS 'The transactions that count for finance, and at what amount.';

CREATE TABLE iap.delivery_checks (
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    finding text NOT NULL,
    checked_at timestamp with time zone NOT NULL,
    times integer NOT NULL,
    next_at timestamp with time zone,
    CONSTRAINT delivery_checks_environment_check CHECK ((environment = ANY (ARRAY['Production'::text, 'Sandbox'::text]))),
    CONSTRAINT delivery_checks_finding_check CHECK ((finding = ANY (ARRAY['unknown_to_apple'::text, 'sandbox'::text, 'another_user'::text, 'account_gone'::text, 'unanswered'::text, 'other_product'::text]))),
    CONSTRAINT delivery_checks_times_check CHECK ((times > 0))
);

COMMENT ON TABLE iap.delivery_checks IS 'What Apple answered when it was asked about a delivery for which only the app''s server vouched, and does not prove it.';

COMMENT ON COLUMN iap.delivery_checks.finding IS 'unknown_to_apple: Apple knows no such purchase of the app; sandbox: it was a tester''s; another_user: it bears the appAccountToken of another user than it was delivered to; account_gone: Apple knows the customer''s account no longer, and so can''t tell; unanswered: it gave no answer that could be used. These two speak against nobody. other_product: an import says that another product was delivered than Apple had sold.';

CREATE VIEW iap.unproved AS
 SELECT found.finding,
    found.found_at,
    t.transaction_id,
    t.bundle_id,
    t.environment,
    t.place,
    t.original_transaction_id,
    t.product_id,
    t.product_type,
    t.quantity,
    t.purchased_at,
    t.original_purchased_at,
    t.expires_at,
    t.is_trial,
    t.web_order_line_item_id,
    t.app_account_token,
    t.price_milliunits,
    t.currency,
    t.storefront,
    t.found_bundle_id,
    t.refunded_at,
    t.refund_reason,
    t.refund_run_id,
    t.refund_reversed_at,
    t.source,
    t.verified_at,
    t.booked_milliunits,
    t.booked_currency,
    t.booked_as,
    t.entry_id,
    t.first_seen_at,
    t.first_run_id,
    t.admitted_user_id,
    t.admitted_receipt_id,
    t.nights_confirmed,
    t.last_confirmed_at,
    t.user_id,
    t.order_id,
    t.delivered_by,
    t.delivered_at,
    t.reason,
    t.excluded_at,
    t.excluded_run_id,
    t.move_id,
    t.seal,
    t.revocation_type,
    t.revocation_percentage,
    t.app_transaction_id,
    t.refund_told_at,
    t.is_family_shared
   FROM (( SELECT delivery_checks.finding,
            delivery_checks.checked_at AS found_at,
            delivery_checks.transaction_id,
            delivery_checks.bundle_id,
            delivery_checks.environment,
            NULL::bigint AS move_id
           FROM iap.delivery_checks
          WHERE (delivery_checks.finding <> ALL (ARRAY['account_gone'::text, 'unanswered'::text]))
        UNION ALL
         SELECT 'other_product'::text,
            moves.moved_at,
            moves.transaction_id,
            moves.bundle_id,
            moves.environment,
            moves.move_id
           FROM iap.moves
          WHERE ((moves.from_place = 'black'::text) AND (moves.to_place = 'black'::text) AND (moves.from_product_id <> moves.to_product_id))
        UNION ALL
         SELECT 'other_quantity'::text,
            moves.moved_at,
            moves.transaction_id,
            moves.bundle_id,
            moves.environment,
            moves.move_id
           FROM iap.moves
          WHERE ((moves.from_place = 'black'::text) AND (moves.to_place = 'black'::text) AND (moves.from_units <> moves.to_units) AND (moves.from_detail <> 'import'::text))
        UNION ALL
         SELECT 'foreign_bundle'::text,
            transactions.delivered_at,
            transactions.transaction_id,
            transactions.bundle_id,
            transactions.environment,
            NULL::bigint
           FROM iap.transactions
          WHERE ((transactions.place = 'black'::text) AND (transactions.found_bundle_id IS NOT NULL))
        UNION ALL
         SELECT 'refunded_before'::text,
            transactions.delivered_at,
            transactions.transaction_id,
            transactions.bundle_id,
            transactions.environment,
            NULL::bigint
           FROM iap.transactions
          WHERE ((transactions.place = 'black'::text) AND (transactions.refunded_at < transactions.delivered_at) AND (transactions.revocation_percentage IS DISTINCT FROM 0))) found
     JOIN iap.transactions t USING (transaction_id, bundle_id, environment))
  WHERE ((t.place = 'black'::text) AND ((found.finding <> ALL (ARRAY['unknown_to_apple'::text, 'sandbox'::text])) OR (t.source = 'app_server'::iap.source)) AND (NOT (EXISTS ( SELECT
           FROM iap.moves again
          WHERE ((again.transaction_id = t.transaction_id) AND (again.bundle_id = t.bundle_id) AND (again.environment = t.environment) AND (again.move_id > found.move_id) AND (again.from_place <> 'black'::text) AND (again.to_place = 'black'::text))))));

COMMENT ON VIEW iap.unproved IS 'Deliveries that Apple''s word does not bear out, and why: unknown_to_apple, sandbox, another_user, other_product and other_quantity (than was delivered), foreign_bundle, refunded_before (the delivery).';

CREATE VIEW finance.delivered_unproved AS
 SELECT found.why,
    found.found_at,
    counted.transaction_id,
    counted.bundle_id,
    counted.product_id,
    counted.product_name,
    counted.user_id,
    counted.order_id,
    counted.units,
    counted.currency,
    counted.price_source,
    counted.amount,
    counted.purchased_at,
    counted.delivered_at,
    counted.refunded_at
   FROM (( SELECT unproved.transaction_id,
            unproved.bundle_id,
            string_agg(DISTINCT unproved.finding, ', '::text ORDER BY unproved.finding) AS why,
            min(unproved.found_at) AS found_at
           FROM iap.unproved
          WHERE (unproved.environment = 'Production'::text)
          GROUP BY unproved.transaction_id, unproved.bundle_id) found
     JOIN iap.counted USING (transaction_id, bundle_id));

COMMENT ON VIEW finance.delivered_unproved IS 'Delivered, and never paid as delivered, as far as Apple says: one row a purchase.';

COMMENT ON COLUMN finance.delivered_unproved.why IS 'unknown_to_apple: Apple knows no such purchase; sandbox: a tester''s; another_user: paid by somebody else; other_product, other_quantity: Apple sold another product, or more or fewer of it; foreign_bundle: the receipt is of another app; refunded_before: the money had gone back when it was delivered. Where several are true, all of them, with commas between.';

COMMENT ON COLUMN finance.delivered_unproved.found_at IS 'When that was found first.';

COMMENT ON COLUMN finance.delivered_unproved.transaction_id IS 'Apple''s id of the purchase.';

COMMENT ON COLUMN finance.delivered_unproved.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.delivered_unproved.product_id IS 'The product.';

COMMENT ON COLUMN finance.delivered_unproved.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.delivered_unproved.user_id IS 'The user who got the goods; NULL if support did not say.';

COMMENT ON COLUMN finance.delivered_unproved.order_id IS 'The app''s own order, if one was named.';

COMMENT ON COLUMN finance.delivered_unproved.units IS 'The quantity, or the sum of quantities.';

COMMENT ON COLUMN finance.delivered_unproved.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.delivered_unproved.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; shared: another paid; unknown: no price is known.';

COMMENT ON COLUMN finance.delivered_unproved.amount IS 'What was delivered is worth, as the books have it.';

COMMENT ON COLUMN finance.delivered_unproved.purchased_at IS 'When it was bought.';

COMMENT ON COLUMN finance.delivered_unproved.delivered_at IS 'When the goods were credited.';

COMMENT ON COLUMN finance.delivered_unproved.refunded_at IS 'When Apple refunded it; NULL if it did not.';

CREATE VIEW finance.deliveries AS
 SELECT ((counted.delivered_at AT TIME ZONE 'UTC'::text))::date AS delivery_day,
    counted.bundle_id,
    counted.product_id,
    counted.product_name,
    counted.currency,
    counted.price_source,
    counted.delivered_by,
    count(*) AS transactions,
    sum(counted.units) AS units,
    (sum(counted.amount))::numeric(20,3) AS amount
   FROM iap.counted
  WHERE (counted.place = 'black'::text)
  GROUP BY (((counted.delivered_at AT TIME ZONE 'UTC'::text))::date), counted.bundle_id, counted.product_id, counted.product_name, counted.currency, counted.price_source, counted.delivered_by;

COMMENT ON VIEW finance.deliveries IS 'What was delivered: the black table by day of delivery, product and currency. Refunded later or not.';

COMMENT ON COLUMN finance.deliveries.delivery_day IS 'The day on which the goods were credited.';

COMMENT ON COLUMN finance.deliveries.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.deliveries.product_id IS 'The product.';

COMMENT ON COLUMN finance.deliveries.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.deliveries.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.deliveries.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; shared: another paid; unknown: no price is known.';

COMMENT ON COLUMN finance.deliveries.delivered_by IS 'claim: by the app''s server; resolved: by the support desk; import: before iap-reconcile was there; entitlement: the app''s server had granted it.';

COMMENT ON COLUMN finance.deliveries.transactions IS 'How many purchases.';

COMMENT ON COLUMN finance.deliveries.units IS 'The quantity, or the sum of quantities.';

COMMENT ON COLUMN finance.deliveries.amount IS 'In units of the currency; NULL where no price is known.';

CREATE VIEW finance.differences AS
 SELECT found.transaction_id,
    found.bundle_id,
    found.environment,
    'nowhere'::text AS difference,
    min(found.first_run_id) AS run_id,
    false AS is_white,
    false AS is_black,
    false AS is_excluded
   FROM iap.sightings found
  WHERE ((found.first_run_id IS NOT NULL) AND (NOT (EXISTS ( SELECT
           FROM iap.transactions
          WHERE ((transactions.transaction_id = found.transaction_id) AND (transactions.bundle_id = found.bundle_id) AND (transactions.environment = found.environment))))))
  GROUP BY found.transaction_id, found.bundle_id, found.environment;

COMMENT ON VIEW finance.differences IS 'Each transaction by which received is not white, black and excluded together. None, when all is well: a row of the ledger is in one place, so this finds only what somebody removed by hand. Looks at the whole ledger, unless a transaction_id is asked for.';

COMMENT ON COLUMN finance.differences.transaction_id IS 'Apple''s id of the purchase.';

COMMENT ON COLUMN finance.differences.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.differences.environment IS 'Production, or Sandbox.';

COMMENT ON COLUMN finance.differences.difference IS 'nowhere: a run received it, and it is in none of the three.';

COMMENT ON COLUMN finance.differences.run_id IS 'The run that received it first.';

COMMENT ON COLUMN finance.differences.is_white IS 'Whether it is in white: false, as is_black and is_excluded are, since what is nowhere is in none of them.';

COMMENT ON COLUMN finance.differences.is_black IS 'Whether it is in black: false.';

COMMENT ON COLUMN finance.differences.is_excluded IS 'Whether it is excluded: false.';

CREATE VIEW finance.journal AS
 SELECT books.booked_on,
    books.run_id,
    books.account,
    books.day,
    books.bundle_id,
    books.product_id,
    books.currency,
    books.price_source,
    books.detail,
    books.transactions,
    books.units,
    ((books.milliunits / 1000.0))::numeric(20,3) AS amount
   FROM iap.books;

COMMENT ON VIEW finance.journal IS 'What entered (above zero) and left (below zero) each account, by the day on which it was booked. Rows are added when a run closes its books, and never changed: up to any day that is closed, an account''s sum is its balance.';

COMMENT ON COLUMN finance.journal.booked_on IS 'The day on which it happened, or the first day that was still open when it turned up; at most the day after the run that found it.';

COMMENT ON COLUMN finance.journal.run_id IS 'The run that closed its books over it.';

COMMENT ON COLUMN finance.journal.account IS 'owed: paid and not claimed; delivered; excluded: not owed; refunded: delivered, and refunded since; kept: money alone, what did not go back of what was refunded in part and never delivered.';

COMMENT ON COLUMN finance.journal.day IS 'owed: of the purchase; delivered: of the delivery; excluded: of the exclusion or the refund; refunded, kept: of the refund.';

COMMENT ON COLUMN finance.journal.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.journal.product_id IS 'The product.';

COMMENT ON COLUMN finance.journal.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.journal.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; shared: another paid; unknown: no price is known.';

COMMENT ON COLUMN finance.journal.detail IS 'delivered: claim, resolved, import or entitlement; excluded: the reason; refunded: reversed where Apple took the refund back; else NULL.';

COMMENT ON COLUMN finance.journal.transactions IS 'How many purchases.';

COMMENT ON COLUMN finance.journal.units IS 'The quantity, or the sum of quantities.';

COMMENT ON COLUMN finance.journal.amount IS 'In units of the currency; NULL where no price is known.';

CREATE TABLE iap.account_tokens (
    app_account_token text NOT NULL,
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL,
    registered_at timestamp with time zone DEFAULT now() NOT NULL,
    seal bigint
);

COMMENT ON TABLE iap.account_tokens IS 'Whose an appAccountToken is, as the apps'' servers said.';

COMMENT ON COLUMN iap.account_tokens.seal IS 'Of the whole row: see audit.seal.';

CREATE TABLE iap.orders (
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    order_id text NOT NULL,
    user_id text NOT NULL,
    product_id text NOT NULL COLLATE pg_catalog."C",
    quantity integer DEFAULT 1 NOT NULL,
    app_account_token text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    seal bigint,
    CONSTRAINT orders_quantity_check CHECK ((quantity > 0))
);

COMMENT ON TABLE iap.orders IS 'The app''s own orders, by which a purchase without an order id can be matched. May be empty.';

COMMENT ON COLUMN iap.orders.app_account_token IS 'The UUID that the client handed to StoreKit with the purchase.';

COMMENT ON COLUMN iap.orders.seal IS 'Of the whole order: see audit.seal.';

CREATE VIEW iap.misdelivered AS
 SELECT black.transaction_id,
    black.bundle_id,
    black.environment,
    black.product_id,
    black.delivered_at,
    black.user_id AS delivered_to,
    COALESCE(orders.user_id, token.user_id, first_upload.user_id) AS likely_bought_by,
        CASE
            WHEN (orders.user_id IS NOT NULL) THEN 'order'::text
            WHEN (token.user_id IS NOT NULL) THEN 'token'::text
            ELSE 'upload'::text
        END AS evidence
   FROM ((((iap.transactions black
     LEFT JOIN LATERAL ( SELECT sightings.order_id
           FROM iap.sightings
          WHERE ((sightings.transaction_id = black.transaction_id) AND (sightings.bundle_id = black.bundle_id) AND (sightings.environment = black.environment) AND sightings.is_named AND (sightings.order_id IS NOT NULL) AND (black.delivered_by = ANY (ARRAY['entitlement'::text, 'import'::text])))
          ORDER BY sightings.uploaded_at, sightings.receipt_id
         LIMIT 1) named ON (true))
     LEFT JOIN iap.orders ON (((orders.bundle_id = black.bundle_id) AND (orders.order_id = COALESCE(black.order_id, named.order_id)) AND (orders.user_id <> black.user_id))))
     LEFT JOIN LATERAL ( SELECT
                CASE
                    WHEN bool_or((named_1.user_id = black.user_id)) THEN black.user_id
                    ELSE min(named_1.user_id)
                END AS user_id
           FROM ( SELECT account_tokens.user_id
                   FROM iap.account_tokens
                  WHERE ((account_tokens.app_account_token = black.app_account_token) AND (account_tokens.bundle_id = black.bundle_id))
                UNION ALL
                 SELECT opened.user_id
                   FROM iap.orders opened
                  WHERE ((opened.app_account_token = black.app_account_token) AND (opened.bundle_id = black.bundle_id))) named_1) token ON (true))
     LEFT JOIN LATERAL ( SELECT sightings.user_id
           FROM iap.sightings
          WHERE ((sightings.transaction_id = black.transaction_id) AND (sightings.bundle_id = black.bundle_id) AND (sightings.environment = black.environment) AND (sightings.user_id IS NOT NULL) AND (sightings.in_receipt OR sightings.is_named) AND (black.delivered_by = 'claim'::text))
          ORDER BY sightings.is_named DESC, sightings.uploaded_at, sightings.receipt_id
         LIMIT 1) first_upload ON (true))
  WHERE ((black.place = 'black'::text) AND (black.delivered_by = ANY (ARRAY['claim'::text, 'entitlement'::text, 'import'::text])) AND (COALESCE(orders.user_id, token.user_id, first_upload.user_id) <> black.user_id));

COMMENT ON VIEW iap.misdelivered IS 'What finance.misdeliveries shows, of testers as well, for the nightly report.';

CREATE VIEW finance.misdeliveries AS
 SELECT ((wrong.delivered_at AT TIME ZONE 'UTC'::text))::date AS delivery_day,
    wrong.bundle_id,
    counted.product_id,
    counted.product_name,
    wrong.transaction_id,
    counted.order_id,
    wrong.delivered_to,
    wrong.likely_bought_by,
    wrong.evidence,
    counted.units,
    counted.currency,
    counted.price_source,
    counted.amount,
    counted.purchased_at,
    wrong.delivered_at,
    counted.refunded_at
   FROM (iap.misdelivered wrong
     JOIN iap.counted USING (transaction_id, bundle_id))
  WHERE (wrong.environment = 'Production'::text);

COMMENT ON VIEW finance.misdeliveries IS 'What was delivered to one user although another''s order was named, it bears another''s token, or another uploaded it first: the one who paid may still want it. Of what was granted or imported, by its token, or the order that was named or that it was uploaded for. Ask for a span of delivered_at: then only those deliveries are looked at.';

COMMENT ON COLUMN finance.misdeliveries.delivery_day IS 'The day on which the goods were credited.';

COMMENT ON COLUMN finance.misdeliveries.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.misdeliveries.product_id IS 'The product.';

COMMENT ON COLUMN finance.misdeliveries.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.misdeliveries.transaction_id IS 'Apple''s id of the purchase.';

COMMENT ON COLUMN finance.misdeliveries.order_id IS 'The app''s own order, if one was named.';

COMMENT ON COLUMN finance.misdeliveries.delivered_to IS 'The user who got the goods.';

COMMENT ON COLUMN finance.misdeliveries.likely_bought_by IS 'The user for whom more speaks.';

COMMENT ON COLUMN finance.misdeliveries.evidence IS 'order: the order that was named is theirs; token: its appAccountToken is; upload: they uploaded it first.';

COMMENT ON COLUMN finance.misdeliveries.units IS 'The quantity, or the sum of quantities.';

COMMENT ON COLUMN finance.misdeliveries.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.misdeliveries.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; shared: another paid; unknown: no price is known.';

COMMENT ON COLUMN finance.misdeliveries.amount IS 'In units of the currency; NULL where no price is known.';

COMMENT ON COLUMN finance.misdeliveries.purchased_at IS 'When it was bought.';

COMMENT ON COLUMN finance.misdeliveries.delivered_at IS 'When the goods were credited.';

COMMENT ON COLUMN finance.misdeliveries.refunded_at IS 'When Apple refunded it; NULL if it did not.';

CREATE VIEW finance.proceeds AS
 SELECT sales_reports.day,
    sales.bundle_id,
    sales.product_id,
    sales.storefront,
    sales.units,
    sales.proceeds_currency AS currency,
    ((((sales.units * sales.proceeds_milliunits))::numeric / 1000.0))::numeric(20,3) AS amount
   FROM (iap.sales
     JOIN iap.sales_reports USING (report_id))
  WHERE ((sales_reports.replaced_at IS NULL) AND (sales.bundle_id IS NOT NULL));

COMMENT ON VIEW finance.proceeds IS 'What Apple''s sales reports say of units and of the developer''s part.';

COMMENT ON COLUMN finance.proceeds.day IS 'A day of Pacific Time.';

COMMENT ON COLUMN finance.proceeds.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.proceeds.product_id IS 'The product.';

COMMENT ON COLUMN finance.proceeds.storefront IS 'The country.';

COMMENT ON COLUMN finance.proceeds.units IS 'Negative for refunds.';

COMMENT ON COLUMN finance.proceeds.currency IS 'Of the amount.';

COMMENT ON COLUMN finance.proceeds.amount IS 'The developer''s part of all the units, negative for refunds; NULL where the report does not say.';

CREATE TABLE iap.delivered_originals (
    original_transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    web_order_line_item_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);

COMMENT ON TABLE iap.delivered_originals IS 'The original purchases of non-consumables, and the periods of subscriptions, that were delivered, and under which transaction id. Of a non-consumable also that id itself, which another may name as its original.';

CREATE VIEW iap.purchases AS
 WITH told AS NOT MATERIALIZED (
         SELECT t.transaction_id,
            t.bundle_id,
            t.environment,
            t.place,
            t.original_transaction_id,
            t.product_id,
            t.product_type,
            t.quantity,
            t.purchased_at,
            t.original_purchased_at,
            t.expires_at,
            t.is_trial,
            t.web_order_line_item_id,
            t.app_account_token,
            t.price_milliunits,
            t.currency,
            t.storefront,
            t.found_bundle_id,
            t.refunded_at,
            t.refund_reason,
            t.refund_run_id,
            t.refund_reversed_at,
            t.source,
            t.verified_at,
            t.booked_milliunits,
            t.booked_currency,
            t.booked_as,
            t.entry_id,
            t.first_seen_at,
            t.first_run_id,
            t.admitted_user_id,
            t.admitted_receipt_id,
            t.nights_confirmed,
            t.last_confirmed_at,
            t.user_id,
            t.order_id,
            t.delivered_by,
            t.delivered_at,
            t.reason,
            t.excluded_at,
            t.excluded_run_id,
            t.move_id,
            t.seal,
            t.revocation_type,
            t.revocation_percentage,
            t.app_transaction_id,
            t.refund_told_at,
            t.is_family_shared,
            t.purchased_at AS sold_at,
            false AS is_restored
           FROM iap.transactions t
          WHERE (NOT ((t.original_transaction_id <> t.transaction_id) AND (t.original_purchased_at IS NOT NULL) AND (t.expires_at IS NULL) AND (t.product_type IS DISTINCT FROM 'auto_renewable'::text)))
        UNION ALL
         SELECT t.transaction_id,
            t.bundle_id,
            t.environment,
            t.place,
            t.original_transaction_id,
            t.product_id,
            t.product_type,
            t.quantity,
            t.purchased_at,
            t.original_purchased_at,
            t.expires_at,
            t.is_trial,
            t.web_order_line_item_id,
            t.app_account_token,
            t.price_milliunits,
            t.currency,
            t.storefront,
            t.found_bundle_id,
            t.refunded_at,
            t.refund_reason,
            t.refund_run_id,
            t.refund_reversed_at,
            t.source,
            t.verified_at,
            t.booked_milliunits,
            t.booked_currency,
            t.booked_as,
            t.entry_id,
            t.first_seen_at,
            t.first_run_id,
            t.admitted_user_id,
            t.admitted_receipt_id,
            t.nights_confirmed,
            t.last_confirmed_at,
            t.user_id,
            t.order_id,
            t.delivered_by,
            t.delivered_at,
            t.reason,
            t.excluded_at,
            t.excluded_run_id,
            t.move_id,
            t.seal,
            t.revocation_type,
            t.revocation_percentage,
            t.app_transaction_id,
            t.refund_told_at,
            t.is_family_shared,
            t.original_purchased_at,
            true
           FROM iap.transactions t
          WHERE ((t.original_transaction_id <> t.transaction_id) AND (t.original_purchased_at IS NOT NULL) AND (t.expires_at IS NULL) AND (t.product_type IS DISTINCT FROM 'auto_renewable'::text))
        )
 SELECT told.transaction_id,
    told.bundle_id,
    told.product_id,
    told.quantity,
    told.booked_milliunits,
    told.booked_currency,
    told.place,
    told.reason,
    told.delivered_by,
    told.storefront,
    told.purchased_at,
    told.sold_at,
    told.refunded_at,
    told.entry_id,
    told.first_seen_at,
    (counted.is_of_app AND
        CASE
            WHEN (iap.type_by(told.product_type, told.source, products.type) = 'non_consumable'::text) THEN ((told.transaction_id = told.original_transaction_id) OR (told.is_restored AND (NOT (EXISTS ( SELECT
               FROM iap.transactions kin
              WHERE (iap.is_of_original(kin.transaction_id, kin.original_transaction_id, told.original_transaction_id) AND (kin.bundle_id = told.bundle_id) AND (kin.environment = told.environment) AND (NOT kin.is_family_shared) AND ((kin.transaction_id = told.original_transaction_id) OR (kin.transaction_id < told.transaction_id))))))))
            ELSE ((told.reason IS DISTINCT FROM 'restored'::text) AND ((told.place <> 'excluded'::text) OR (told.web_order_line_item_id IS NULL) OR (NOT (EXISTS ( SELECT
               FROM iap.transactions kin
              WHERE (iap.is_of_original(kin.transaction_id, kin.original_transaction_id, told.original_transaction_id) AND (kin.web_order_line_item_id = told.web_order_line_item_id) AND (kin.bundle_id = told.bundle_id) AND (kin.environment = told.environment) AND (kin.transaction_id <> told.transaction_id) AND (NOT kin.is_family_shared) AND ((kin.place <> 'excluded'::text) OR ((kin.reason <> ALL (ARRAY['restored'::text, 'sandbox'::text, 'foreign_bundle'::text, 'invalid_quantity'::text])) AND (kin.transaction_id < told.transaction_id)))))))) AND ((told.place <> 'black'::text) OR (told.web_order_line_item_id IS NULL) OR (NOT (EXISTS ( SELECT
               FROM iap.delivered_originals taken
              WHERE ((taken.original_transaction_id = told.original_transaction_id) AND (taken.bundle_id = told.bundle_id) AND (taken.environment = told.environment) AND (taken.web_order_line_item_id = told.web_order_line_item_id) AND (taken.transaction_id <> told.transaction_id)))))))
        END) AS is_sold,
    (counted.is_of_app AND (told.refunded_at IS NOT NULL) AND (told.refund_run_id IS NOT NULL) AND ((told.place = 'black'::text) OR (told.reason = 'refunded'::text) OR (NOT (EXISTS ( SELECT
           FROM iap.transactions kin
          WHERE (iap.is_of_original(kin.transaction_id, kin.original_transaction_id, told.original_transaction_id) AND (NOT (kin.web_order_line_item_id IS DISTINCT FROM told.web_order_line_item_id)) AND ((kin.web_order_line_item_id IS NOT NULL) OR (kin.product_type IS DISTINCT FROM 'auto_renewable'::text)) AND (kin.bundle_id = told.bundle_id) AND (kin.environment = told.environment) AND (kin.transaction_id <> told.transaction_id) AND (NOT kin.is_family_shared) AND ((kin.place = 'black'::text) OR ((kin.refunded_at IS NOT NULL) AND (kin.refund_run_id IS NOT NULL) AND ((kin.reason = 'refunded'::text) OR (kin.transaction_id < told.transaction_id))))))))) AND ((told.place <> 'black'::text) OR (NOT (EXISTS ( SELECT
           FROM (iap.delivered_originals taken
             JOIN iap.transactions kin USING (transaction_id, bundle_id, environment))
          WHERE ((taken.original_transaction_id = told.original_transaction_id) AND (taken.bundle_id = told.bundle_id) AND (taken.environment = told.environment) AND (taken.web_order_line_item_id = COALESCE(told.web_order_line_item_id, ''::text)) AND (taken.transaction_id <> told.transaction_id) AND (kin.place = 'black'::text) AND (kin.refunded_at IS NOT NULL) AND (kin.refund_run_id IS NOT NULL))))))) AS is_refunded
   FROM ((told
     LEFT JOIN iap.products USING (bundle_id, product_id))
     CROSS JOIN LATERAL ( SELECT ((NOT told.is_family_shared) AND (COALESCE(told.reason, ''::text) <> ALL (ARRAY['sandbox'::text, 'foreign_bundle'::text, 'invalid_quantity'::text])) AND (COALESCE(told.found_bundle_id, told.bundle_id) = told.bundle_id)) AS is_of_app) counted)
  WHERE (told.environment = 'Production'::text);

COMMENT ON VIEW iap.purchases IS 'The purchases that count, and whether and when Apple sold and refunded them.';

CREATE VIEW finance.purchases AS
 SELECT purchases.transaction_id,
    purchases.bundle_id,
    purchases.product_id,
    purchases.quantity AS units,
    purchases.booked_currency AS currency,
    (((purchases.booked_milliunits)::numeric / 1000.0))::numeric(20,3) AS amount,
    purchases.place,
    COALESCE(purchases.reason, purchases.delivered_by) AS detail,
    purchases.storefront,
    purchases.purchased_at,
    purchases.sold_at,
    purchases.first_seen_at,
    purchases.is_sold,
    iap.booked_on(((purchases.first_seen_at AT TIME ZONE 'UTC'::text))::date, (( SELECT array_agg(closings.as_of ORDER BY closings."position") AS array_agg
           FROM iap.closings))[reached.closing],
        CASE
            WHEN (reached.closing IS NULL) THEN ( SELECT max(closings.closed_through) AS max
               FROM iap.closings)
            ELSE (( SELECT array_agg(closings.closed_before ORDER BY closings."position") AS array_agg
               FROM iap.closings))[reached.closing]
        END) AS booked_on,
    purchases.entry_id
   FROM (iap.purchases
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN ((purchases.entry_id > ( SELECT frontier.upto
                       FROM audit.frontier)) OR (purchases.entry_id <@ ( SELECT frontier.gaps
                       FROM audit.frontier))) THEN NULL::bigint
                    WHEN (purchases.entry_id <@ ( SELECT range_agg(int8range(number.number, (number.number + 1))) AS range_agg
                       FROM (audit.links
                         CROSS JOIN LATERAL unnest(links.late) number(number)))) THEN ( SELECT min(links."position") AS min
                       FROM audit.links
                      WHERE (purchases.entry_id = ANY (links.late)))
                    ELSE ((1 + width_bucket((purchases.entry_id - 1), ( SELECT array_agg(links.upto ORDER BY links."position") AS array_agg
                       FROM audit.links))))::bigint
                END AS closing) reached);

COMMENT ON VIEW finance.purchases IS 'Each purchase that counts, where it is, when it was bought and when it entered.';

COMMENT ON COLUMN finance.purchases.transaction_id IS 'Apple''s id of the purchase.';

COMMENT ON COLUMN finance.purchases.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.purchases.product_id IS 'The product.';

COMMENT ON COLUMN finance.purchases.units IS 'The quantity.';

COMMENT ON COLUMN finance.purchases.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.purchases.amount IS 'In units of the currency; NULL where no price is known.';

COMMENT ON COLUMN finance.purchases.place IS 'white: owed; black: delivered; excluded: not owed.';

COMMENT ON COLUMN finance.purchases.detail IS 'How it was delivered, or why it is excluded; else NULL.';

COMMENT ON COLUMN finance.purchases.storefront IS 'The country; NULL where Apple did not tell.';

COMMENT ON COLUMN finance.purchases.purchased_at IS 'When it was bought.';

COMMENT ON COLUMN finance.purchases.sold_at IS 'When Apple sold it: of what was restored under another id, when it was first bought.';

COMMENT ON COLUMN finance.purchases.first_seen_at IS 'When it entered the ledger.';

COMMENT ON COLUMN finance.purchases.is_sold IS 'Whether Apple sold it: not what is shared in a family, a tester''s or of another app; what was restored, once.';

COMMENT ON COLUMN finance.purchases.booked_on IS 'The day on which the journal has its entry; of what no run has closed its books over yet, the first day that it may be.';

COMMENT ON COLUMN finance.purchases.entry_id IS 'Its number in the order in which all entered.';

CREATE VIEW finance.redeliveries AS
 SELECT moves.transaction_id,
    moves.bundle_id,
    moves.to_product_id AS product_id,
    moves.to_currency AS currency,
    iap.booked_on(((moves.moved_at AT TIME ZONE 'UTC'::text))::date, told.as_of, told.closed_before) AS booked_on
   FROM ((iap.events
     JOIN iap.moves ON ((moves.move_id = ((events.details ->> 'move_id'::text))::bigint)))
     LEFT JOIN ( SELECT runs.run_id,
            runs.as_of,
            max(runs.closed_through) OVER (ORDER BY runs.run_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS closed_before
           FROM iap.runs) told ON ((told.run_id = events.run_id)))
  WHERE ((events.kind = 'redelivered'::text) AND (moves.environment = 'Production'::text));

COMMENT ON VIEW finance.redeliveries IS 'What the apps'' servers delivered without the customers, once a run has told of it.';

COMMENT ON COLUMN finance.redeliveries.transaction_id IS 'Apple''s id of the purchase.';

COMMENT ON COLUMN finance.redeliveries.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.redeliveries.product_id IS 'The product, as it was known when it was delivered.';

COMMENT ON COLUMN finance.redeliveries.currency IS 'Of its price, as it was known when it was delivered.';

COMMENT ON COLUMN finance.redeliveries.booked_on IS 'The day of its delivery, or the first day that was not closed yet when a run told of it.';

CREATE VIEW finance.refunds AS
 SELECT refund.refund_day,
    refund.bundle_id,
    refund.product_id,
    refund.product_name,
    refund.moment AS refunded,
    refund.currency,
    refund.price_source,
    count(*) AS transactions,
    sum(refund.units) AS units,
    (sum(refund.refunded_amount))::numeric(20,3) AS amount
   FROM ( SELECT counted.transaction_id,
            counted.bundle_id,
            counted.product_id,
            counted.product_name,
            counted.place,
            counted.purchased_at,
            counted.units,
            counted.currency,
            counted.price_source,
            counted.amount,
            counted.user_id,
            counted.order_id,
            counted.delivered_by,
            counted.delivered_at,
            counted.reason,
            counted.refund_run_id,
            counted.refunded_at,
            counted.refund_reason,
            counted.revocation_type,
            counted.refund_percent,
            counted.refunded_amount,
            counted.app_account_token,
            ((counted.refunded_at AT TIME ZONE 'UTC'::text))::date AS refund_day,
                CASE counted.place
                    WHEN 'black'::text THEN 'after delivery'::text
                    ELSE 'before delivery'::text
                END AS moment
           FROM iap.counted
          WHERE ((counted.refunded_at IS NOT NULL) AND ((counted.place = 'black'::text) OR (counted.reason = 'refunded'::text)))) refund
  GROUP BY refund.refund_day, refund.bundle_id, refund.product_id, refund.product_name, refund.moment, refund.currency, refund.price_source;

COMMENT ON VIEW finance.refunds IS 'What was refunded, by day of refund, product and currency.';

COMMENT ON COLUMN finance.refunds.refund_day IS 'The day of the refund.';

COMMENT ON COLUMN finance.refunds.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.refunds.product_id IS 'The product.';

COMMENT ON COLUMN finance.refunds.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.refunds.refunded IS 'before delivery, or after delivery.';

COMMENT ON COLUMN finance.refunds.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.refunds.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; shared: another paid; unknown: no price is known.';

COMMENT ON COLUMN finance.refunds.transactions IS 'How many purchases.';

COMMENT ON COLUMN finance.refunds.units IS 'The quantity, or the sum of quantities.';

COMMENT ON COLUMN finance.refunds.amount IS 'What went back; of refunds in part, those parts.';

CREATE VIEW finance.refunds_after_delivery AS
 SELECT ((counted.refunded_at AT TIME ZONE 'UTC'::text))::date AS refund_day,
    counted.bundle_id,
    counted.product_id,
    counted.product_name,
    counted.transaction_id,
    counted.user_id,
    counted.order_id,
    counted.units,
    counted.currency,
    counted.price_source,
    counted.refunded_amount AS amount,
    counted.purchased_at,
    counted.delivered_at,
    counted.refunded_at,
    counted.refund_reason,
    counted.revocation_type,
    counted.refund_percent,
    counted.amount AS paid
   FROM iap.counted
  WHERE ((counted.place = 'black'::text) AND (counted.refunded_at IS NOT NULL));

COMMENT ON VIEW finance.refunds_after_delivery IS 'What was delivered and is refunded by Apple: the customer has the goods and the money.';

COMMENT ON COLUMN finance.refunds_after_delivery.refund_day IS 'The day of the refund.';

COMMENT ON COLUMN finance.refunds_after_delivery.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.refunds_after_delivery.product_id IS 'The product.';

COMMENT ON COLUMN finance.refunds_after_delivery.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.refunds_after_delivery.transaction_id IS 'Apple''s id of the purchase.';

COMMENT ON COLUMN finance.refunds_after_delivery.user_id IS 'The user who got the goods; NULL if support did not say.';

COMMENT ON COLUMN finance.refunds_after_delivery.order_id IS 'The app''s own order, if one was named.';

COMMENT ON COLUMN finance.refunds_after_delivery.units IS 'The quantity, or the sum of quantities.';

COMMENT ON COLUMN finance.refunds_after_delivery.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.refunds_after_delivery.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; shared: another paid; unknown: no price is known.';

COMMENT ON COLUMN finance.refunds_after_delivery.amount IS 'What went back; of a refund in part, that part.';

COMMENT ON COLUMN finance.refunds_after_delivery.purchased_at IS 'When it was bought.';

COMMENT ON COLUMN finance.refunds_after_delivery.delivered_at IS 'When the goods were credited.';

COMMENT ON COLUMN finance.refunds_after_delivery.refunded_at IS 'When Apple refunded it; NULL if it did not.';

COMMENT ON COLUMN finance.refunds_after_delivery.refund_reason IS 'As Apple gave it; NULL if Apple gave none.';

COMMENT ON COLUMN finance.refunds_after_delivery.revocation_type IS 'REFUND_FULL, REFUND_PRORATED, FAMILY_REVOKE; NULL where Apple did not say.';

COMMENT ON COLUMN finance.refunds_after_delivery.refund_percent IS 'The share that went back, in percent.';

COMMENT ON COLUMN finance.refunds_after_delivery.paid IS 'What was paid.';

CREATE VIEW finance.refunds_before_delivery AS
 SELECT ((counted.refunded_at AT TIME ZONE 'UTC'::text))::date AS refund_day,
    counted.bundle_id,
    counted.product_id,
    counted.product_name,
    counted.transaction_id,
    counted.units,
    counted.currency,
    counted.price_source,
    counted.refunded_amount AS amount,
    counted.purchased_at,
    counted.refunded_at,
    counted.refund_reason,
    (counted.refund_run_id IS NULL) AS is_by_support,
    counted.revocation_type,
    counted.refund_percent,
    counted.amount AS paid
   FROM iap.counted
  WHERE ((counted.place = 'excluded'::text) AND (counted.reason = 'refunded'::text));

COMMENT ON VIEW finance.refunds_before_delivery IS 'What was never delivered and is refunded: the customer has the money back, and nothing is owed.';

COMMENT ON COLUMN finance.refunds_before_delivery.refund_day IS 'The day of the refund.';

COMMENT ON COLUMN finance.refunds_before_delivery.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.refunds_before_delivery.product_id IS 'The product.';

COMMENT ON COLUMN finance.refunds_before_delivery.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.refunds_before_delivery.transaction_id IS 'Apple''s id of the purchase.';

COMMENT ON COLUMN finance.refunds_before_delivery.units IS 'The quantity, or the sum of quantities.';

COMMENT ON COLUMN finance.refunds_before_delivery.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.refunds_before_delivery.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; shared: another paid; unknown: no price is known.';

COMMENT ON COLUMN finance.refunds_before_delivery.amount IS 'What went back; of a refund in part, that part.';

COMMENT ON COLUMN finance.refunds_before_delivery.purchased_at IS 'When it was bought.';

COMMENT ON COLUMN finance.refunds_before_delivery.refunded_at IS 'When Apple refunded it; where the support desk said so, when it did.';

COMMENT ON COLUMN finance.refunds_before_delivery.refund_reason IS 'As Apple gave it; NULL if Apple gave none.';

COMMENT ON COLUMN finance.refunds_before_delivery.is_by_support IS 'Whether it is the support desk that said so.';

COMMENT ON COLUMN finance.refunds_before_delivery.revocation_type IS 'REFUND_FULL, REFUND_PRORATED, FAMILY_REVOKE; NULL where Apple did not say.';

COMMENT ON COLUMN finance.refunds_before_delivery.refund_percent IS 'The share that went back, in percent.';

COMMENT ON COLUMN finance.refunds_before_delivery.paid IS 'What was paid.';

CREATE VIEW iap.sold_against_seen AS
 WITH counted AS (
         SELECT sales_reports.day,
            sales.bundle_id,
            sales.product_id,
            sales.storefront,
                CASE
                    WHEN (sales.units > 0) THEN sales.currency
                    ELSE NULL::text
                END AS currency,
                CASE
                    WHEN ((sales.units > 0) AND (sales.price_milliunits <> 0)) THEN sales.currency
                    ELSE NULL::text
                END AS paid_in,
                CASE
                    WHEN (sales.units > 0) THEN sales.units
                    ELSE (0)::bigint
                END AS sold,
            0 AS seen,
                CASE
                    WHEN (sales.units < 0) THEN (- sales.units)
                    ELSE (0)::bigint
                END AS refunds_sold,
            0 AS refunds_seen,
                CASE
                    WHEN (sales.units > 0) THEN (sales.units * sales.price_milliunits)
                    ELSE (0)::bigint
                END AS milliunits
           FROM (iap.sales
             JOIN iap.sales_reports USING (report_id))
          WHERE (sales_reports.replaced_at IS NULL)
        UNION ALL
         SELECT finance.pacific_day(purchases.sold_at) AS pacific_day,
            purchases.bundle_id,
            purchases.product_id,
            purchases.storefront,
            NULL::text,
            NULL::text,
            0,
            sum(purchases.quantity) AS sum,
            0,
            0,
            0
           FROM iap.purchases
          WHERE purchases.is_sold
          GROUP BY (finance.pacific_day(purchases.sold_at)), purchases.bundle_id, purchases.product_id, purchases.storefront
        UNION ALL
         SELECT finance.pacific_day(purchases.refunded_at) AS pacific_day,
            purchases.bundle_id,
            purchases.product_id,
            purchases.storefront,
            NULL::text,
            NULL::text,
            0,
            0,
            0,
            sum(purchases.quantity) AS sum,
            0
           FROM iap.purchases
          WHERE purchases.is_refunded
          GROUP BY (finance.pacific_day(purchases.refunded_at)), purchases.bundle_id, purchases.product_id, purchases.storefront
        ), placed AS (
         SELECT counted.day,
            counted.bundle_id,
            counted.product_id,
            counted.storefront,
            counted.currency,
            counted.paid_in,
            counted.sold,
            counted.seen,
            counted.refunds_sold,
            counted.refunds_seen,
            counted.milliunits,
            bool_and((counted.storefront IS NOT NULL)) OVER (PARTITION BY counted.day, counted.bundle_id, counted.product_id) AS is_placed
           FROM counted
        )
 SELECT placed.day,
    placed.bundle_id,
    placed.product_id,
        CASE
            WHEN placed.is_placed THEN 'country'::text
            ELSE 'product'::text
        END AS compared_by,
        CASE
            WHEN placed.is_placed THEN placed.storefront
            ELSE NULL::text
        END AS storefront,
    (sum(placed.sold))::bigint AS units_sold,
    (sum(placed.seen))::bigint AS units_seen,
    ((sum(placed.sold) - sum(placed.seen)))::bigint AS difference,
    (sum(placed.refunds_sold))::bigint AS refunds_sold,
    (sum(placed.refunds_seen))::bigint AS refunds_seen,
    ((sum(placed.refunds_sold) - sum(placed.refunds_seen)))::bigint AS refund_difference,
        CASE
            WHEN (COALESCE((min(placed.paid_in) = max(placed.paid_in)), (min(placed.currency) = max(placed.currency))) AND bool_and((placed.milliunits IS NOT NULL))) THEN COALESCE(min(placed.paid_in), min(placed.currency))
            ELSE NULL::text
        END AS currency,
        CASE
            WHEN (COALESCE((min(placed.paid_in) = max(placed.paid_in)), (min(placed.currency) = max(placed.currency))) AND bool_and((placed.milliunits IS NOT NULL))) THEN (sum(placed.milliunits))::bigint
            ELSE NULL::bigint
        END AS milliunits_sold
   FROM (placed
     JOIN finance.compared_days compared ON (((compared.day = placed.day) AND (compared.bundle_id = placed.bundle_id))))
  GROUP BY placed.day, placed.bundle_id, placed.product_id, placed.is_placed,
        CASE
            WHEN placed.is_placed THEN placed.storefront
            ELSE NULL::text
        END;

COMMENT ON VIEW iap.sold_against_seen IS 'What finance.sold_against_seen shows, for the nightly report.';

CREATE VIEW finance.sold_against_seen AS
 SELECT sold.day,
    sold.bundle_id,
    sold.product_id,
    products.name AS product_name,
    sold.compared_by,
    sold.storefront,
    sold.units_sold,
    sold.units_seen,
    sold.difference,
    (sum(sold.difference) OVER (PARTITION BY sold.bundle_id, sold.product_id ORDER BY sold.day RANGE BETWEEN '1 day'::interval PRECEDING AND '1 day'::interval FOLLOWING))::bigint AS difference_around,
    sold.refunds_sold,
    sold.refunds_seen,
    sold.refund_difference,
    sold.currency,
    (((sold.milliunits_sold)::numeric / 1000.0))::numeric(20,3) AS amount_sold
   FROM (iap.sold_against_seen sold
     LEFT JOIN iap.products USING (bundle_id, product_id));

COMMENT ON VIEW finance.sold_against_seen IS 'Units that Apple sold and the tables saw, by day and product: a positive difference is what nothing ever told the server of. Only days whose sales report was read. Seen are the white, black and excluded transactions of production, without family-shared and foreign ones; what was restored counts once, on the day of its first purchase. Days are days of Pacific Time, as Apple''s are.';

COMMENT ON COLUMN finance.sold_against_seen.day IS 'The day of the purchase, or of the refund, in Pacific Time.';

COMMENT ON COLUMN finance.sold_against_seen.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.sold_against_seen.product_id IS 'The product.';

COMMENT ON COLUMN finance.sold_against_seen.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.sold_against_seen.compared_by IS 'country: every transaction of the day and product tells its storefront; product: not all do (verifyReceipt tells none), so all countries are compared together.';

COMMENT ON COLUMN finance.sold_against_seen.storefront IS 'The country; NULL where it is compared by product.';

COMMENT ON COLUMN finance.sold_against_seen.units_sold IS 'Units that Apple''s report says were sold.';

COMMENT ON COLUMN finance.sold_against_seen.units_seen IS 'Units of the transactions that the tables hold.';

COMMENT ON COLUMN finance.sold_against_seen.difference IS 'Sold less seen: above zero, something never came.';

COMMENT ON COLUMN finance.sold_against_seen.difference_around IS 'The product''s difference over this day, the one before and the one after, in all countries: zero where Apple and the receipt put a purchase at midnight on different days.';

COMMENT ON COLUMN finance.sold_against_seen.refunds_sold IS 'Units that Apple''s report says were refunded on the day.';

COMMENT ON COLUMN finance.sold_against_seen.refunds_seen IS 'Units of the transactions that Apple refunded on the day.';

COMMENT ON COLUMN finance.sold_against_seen.refund_difference IS 'Refunds of the report less refunds of the tables.';

COMMENT ON COLUMN finance.sold_against_seen.currency IS 'In which all units sold were paid, but for those that cost nothing; NULL if in several or in none that is known.';

COMMENT ON COLUMN finance.sold_against_seen.amount_sold IS 'What customers paid for the units sold, in that currency; NULL without one.';

CREATE VIEW finance.unclaimed_liability AS
 SELECT purchase.purchase_day,
    counted.bundle_id,
    counted.product_id,
    counted.product_name,
    counted.currency,
    counted.price_source,
    age.age_days,
    finance.ageing(age.age_days) AS ageing,
    count(*) AS transactions,
    sum(counted.units) AS units,
    (sum(counted.amount))::numeric(20,3) AS amount
   FROM ((iap.counted
     CROSS JOIN LATERAL ( SELECT ((counted.purchased_at AT TIME ZONE 'UTC'::text))::date AS purchase_day) purchase)
     CROSS JOIN LATERAL ( SELECT GREATEST((((now() AT TIME ZONE 'UTC'::text))::date - purchase.purchase_day), 0) AS age_days) age)
  WHERE (counted.place = 'white'::text)
  GROUP BY purchase.purchase_day, counted.bundle_id, counted.product_id, counted.product_name, counted.currency, counted.price_source, age.age_days;

COMMENT ON VIEW finance.unclaimed_liability IS 'What customers paid and did not get, as of now: the white table by day of purchase, product and currency.';

COMMENT ON COLUMN finance.unclaimed_liability.purchase_day IS 'The day of the purchase.';

COMMENT ON COLUMN finance.unclaimed_liability.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.unclaimed_liability.product_id IS 'The product.';

COMMENT ON COLUMN finance.unclaimed_liability.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.unclaimed_liability.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.unclaimed_liability.price_source IS 'apple: as paid; list: the list price times the quantity; trial: free; shared: another paid; unknown: no price is known.';

COMMENT ON COLUMN finance.unclaimed_liability.age_days IS 'Whole days from the day of purchase to today.';

COMMENT ON COLUMN finance.unclaimed_liability.ageing IS 'The age in days: 0-1, 2-7, 8-30, 31-90 or over 90.';

COMMENT ON COLUMN finance.unclaimed_liability.transactions IS 'How many purchases.';

COMMENT ON COLUMN finance.unclaimed_liability.units IS 'The quantity, or the sum of quantities.';

COMMENT ON COLUMN finance.unclaimed_liability.amount IS 'In units of the currency; NULL where no price is known.';

CREATE VIEW iap.positions AS
 SELECT "position".number,
    "position".at,
    "position".bundle_id,
    "position".place,
    "position".detail,
    "position".day,
    "position".refund_day,
    "position".is_reversal,
    "position".product_id,
    "position".currency,
    "position".booked_as,
    "position".sign AS transactions,
    ("position".sign * "position".units) AS units,
    ("position".sign * "position".milliunits) AS milliunits,
    ("position".sign * iap.share_of("position".milliunits, "position".refund_percentage)) AS refunded_milliunits
   FROM ( SELECT 1 AS sign,
            entries.number,
            entries.at,
            entries.environment,
            entries.bundle_id,
            entries.place,
            entries.detail,
            entries.day,
            entries.refund_day,
            false AS is_reversal,
            entries.product_id,
            entries.units,
            entries.milliunits,
            entries.currency,
            entries.booked_as,
            entries.refund_percentage
           FROM iap.entries
        UNION ALL
         SELECT '-1'::integer,
            moves.move_id,
            moves.moved_at,
            moves.environment,
            moves.bundle_id,
            moves.from_place,
            moves.from_detail,
            moves.from_day,
            moves.from_refund_day,
            ((moves.from_refund_day IS NOT NULL) AND (moves.to_refund_day IS NULL) AND (moves.kind <> 'withdrawn'::text)),
            moves.from_product_id,
            moves.from_units,
            moves.from_milliunits,
            moves.from_currency,
            moves.from_booked_as,
            ((moves.details ->> 'from_refund_percentage'::text))::integer AS int4
           FROM iap.moves
        UNION ALL
         SELECT 1,
            moves.move_id,
            moves.moved_at,
            moves.environment,
            moves.bundle_id,
            moves.to_place,
            moves.to_detail,
            moves.to_day,
            moves.to_refund_day,
            false,
            moves.to_product_id,
            moves.to_units,
            moves.to_milliunits,
            moves.to_currency,
            moves.to_booked_as,
            ((moves.details ->> 'to_refund_percentage'::text))::integer AS int4
           FROM iap.moves) "position"
  WHERE ("position".environment = 'Production'::text);

COMMENT ON VIEW iap.positions IS 'The positions in the books that each entry and move adds, and those that a move takes away: with a minus.';

CREATE VIEW iap.journal_lines AS
 SELECT positions.number,
    positions.at,
    lines_of.account,
    lines_of.line_day AS day,
    positions.bundle_id,
    positions.product_id,
    positions.currency,
    positions.booked_as,
    lines_of.line_detail AS detail,
    (lines_of.counted * positions.transactions) AS transactions,
    (lines_of.counted * positions.units) AS units,
    (iap.worth(lines_of.account, lines_of.line_detail, (positions.milliunits)::numeric, (positions.refunded_milliunits)::numeric))::bigint AS milliunits
   FROM (iap.positions
     CROSS JOIN LATERAL iap.lines_of(positions.place, positions.detail, positions.day, positions.refund_day, positions.is_reversal) lines_of(account, line_day, line_detail, counted));

COMMENT ON VIEW iap.journal_lines IS 'What each entry and move adds to and takes from the accounts of finance.';

CREATE VIEW finance.unexplained AS
 SELECT line.account,
    line.bundle_id,
    line.product_id,
    line.currency,
    (sum(line.transactions))::bigint AS transactions,
    (sum(line.units))::bigint AS units,
    ((sum(line.milliunits) / 1000.0))::numeric(20,3) AS amount
   FROM ( SELECT line_1.account,
            transactions.bundle_id,
            transactions.product_id,
            transactions.booked_currency AS currency,
                CASE
                    WHEN (line_1.account = 'kept'::text) THEN 0
                    ELSE 1
                END AS transactions,
                CASE
                    WHEN (line_1.account = 'kept'::text) THEN 0
                    ELSE transactions.quantity
                END AS units,
            COALESCE(
                CASE
                    WHEN (line_1.account = 'kept'::text) THEN (transactions.booked_milliunits - iap.share_of(transactions.booked_milliunits, transactions.revocation_percentage))
                    WHEN ((line_1.account = 'refunded'::text) OR ((transactions.place = 'excluded'::text) AND (transactions.reason = 'refunded'::text))) THEN iap.share_of(transactions.booked_milliunits, transactions.revocation_percentage)
                    ELSE transactions.booked_milliunits
                END, (0)::bigint) AS milliunits
           FROM (iap.transactions
             CROSS JOIN LATERAL ( VALUES (
                        CASE transactions.place
                            WHEN 'white'::text THEN 'owed'::text
                            WHEN 'black'::text THEN 'delivered'::text
                            ELSE 'excluded'::text
                        END,true), ('refunded'::text,((transactions.place = 'black'::text) AND (transactions.refunded_at IS NOT NULL))), ('kept'::text,((transactions.place = 'excluded'::text) AND (transactions.reason = 'refunded'::text)))) line_1(account, is_held))
          WHERE ((transactions.environment = 'Production'::text) AND line_1.is_held)
        UNION ALL
         SELECT books.account,
            books.bundle_id,
            books.product_id,
            books.currency,
            (- books.transactions),
            (- books.units),
            (- COALESCE(books.milliunits, (0)::numeric))
           FROM iap.books
        UNION ALL
         SELECT journal_lines.account,
            journal_lines.bundle_id,
            journal_lines.product_id,
            journal_lines.currency,
            (- journal_lines.transactions),
            (- journal_lines.units),
            (- COALESCE(journal_lines.milliunits, (0)::bigint))
           FROM (iap.journal_lines
             CROSS JOIN audit.frontier)
          WHERE iap.is_beyond(journal_lines.number, frontier.upto, frontier.gaps)) line
  GROUP BY line.account, line.bundle_id, line.product_id, line.currency
 HAVING ((sum(line.transactions) <> (0)::numeric) OR (sum(line.units) <> (0)::numeric) OR (sum(line.milliunits) <> (0)::numeric));

COMMENT ON VIEW finance.unexplained IS 'What the ledger holds beyond what the journal and the moves since say. Nothing, when all is well. Looks at the whole ledger.';

COMMENT ON COLUMN finance.unexplained.account IS 'As in the journal.';

COMMENT ON COLUMN finance.unexplained.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.unexplained.product_id IS 'The product.';

COMMENT ON COLUMN finance.unexplained.currency IS 'Of the amount; NULL where no price is known.';

COMMENT ON COLUMN finance.unexplained.transactions IS 'How many purchases more are in the table.';

COMMENT ON COLUMN finance.unexplained.units IS 'How many units more.';

COMMENT ON COLUMN finance.unexplained.amount IS 'How much more, in units of the currency.';

CREATE TABLE iap.cases (
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    likelihood text NOT NULL,
    reasons text[] NOT NULL,
    action text NOT NULL,
    owner_user_ids text[] NOT NULL,
    candidates jsonb DEFAULT '[]'::jsonb NOT NULL,
    order_ids text[] DEFAULT '{}'::text[] NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    opened_run_id bigint NOT NULL,
    assessed_at timestamp with time zone NOT NULL,
    assessed_run_id bigint NOT NULL,
    reopened_run_id bigint,
    closed_at timestamp with time zone,
    closed_as text,
    closed_by text,
    note text,
    told_run_id bigint,
    periods text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT cases_closed_as_check CHECK ((closed_as = ANY (ARRAY['delivered'::text, 'dismissed'::text, 'refunded'::text, 'withdrawn'::text]))),
    CONSTRAINT cases_likelihood_check CHECK ((likelihood = ANY (ARRAY['high'::text, 'medium'::text, 'low'::text]))),
    CONSTRAINT cases_reasons_check CHECK ((cardinality(reasons) > 0)),
    CONSTRAINT cases_state_check CHECK ((state = ANY (ARRAY['open'::text, 'closed'::text]))),
    CONSTRAINT closed_when_and_how CHECK ((((state = 'closed'::text) = (closed_at IS NOT NULL)) AND ((closed_at IS NULL) = (closed_as IS NULL)) AND ((closed_as IS NULL) = (closed_by IS NULL)))),
    CONSTRAINT only_closed_has_note CHECK (((note IS NULL) OR (state = 'closed'::text)))
);

COMMENT ON TABLE iap.cases IS 'White transactions past their grace: likely lost orders, as the last run judged them.';

COMMENT ON COLUMN iap.cases.action IS 'What to do about it. Nobody should deliver it by hand while an open row of iap.redeliveries leaves that to the app''s server.';

COMMENT ON COLUMN iap.cases.owner_user_ids IS 'The likeliest first; one is the owner, none is unknown.';

COMMENT ON COLUMN iap.cases.closed_by IS 'claim:USER, run N, import, or the person who resolved it.';

COMMENT ON COLUMN iap.cases.periods IS 'The paid periods of a subscription without access that the case tells of; empty where it is of one purchase.';

CREATE TABLE iap.receipts (
    bucket smallint NOT NULL,
    receipt_id bigint NOT NULL,
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    user_id text,
    payload text,
    payload_sha256 bytea NOT NULL,
    order_id text,
    transaction_id text,
    device jsonb,
    submitted_at timestamp with time zone DEFAULT now() NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT now(),
    last_attempt_at timestamp with time zone,
    verified_at timestamp with time zone,
    error_code text,
    error_text text,
    signature text,
    made_at timestamp with time zone,
    payload_purged_at timestamp with time zone,
    device_purged_at timestamp with time zone,
    is_erased boolean DEFAULT false NOT NULL,
    seal bigint,
    uploads_left_out integer DEFAULT 0 NOT NULL,
    uploaded_again_at timestamp with time zone,
    CONSTRAINT device_unless_purged CHECK (((device IS NULL) OR (device_purged_at IS NULL))),
    CONSTRAINT due_while_open CHECK (((next_attempt_at IS NOT NULL) = (state = ANY (ARRAY['waiting'::text, 'watched'::text])))),
    CONSTRAINT error_has_text CHECK (((error_code IS NULL) = (error_text IS NULL))),
    CONSTRAINT error_was_met CHECK (((error_code IS NULL) OR (last_attempt_at IS NOT NULL))),
    CONSTRAINT failed_attempts_have_error CHECK (((attempts = 0) OR (error_code IS NOT NULL))),
    CONSTRAINT payload_chooses_bucket CHECK (((get_byte(payload_sha256, 0) & 63) = bucket)),
    CONSTRAINT payload_unless_purged CHECK (((payload IS NULL) = (payload_purged_at IS NOT NULL))),
    CONSTRAINT payload_while_open CHECK (((payload IS NOT NULL) OR (next_attempt_at IS NULL))),
    CONSTRAINT receipt_id_names_bucket CHECK (((receipt_id & (63)::bigint) = bucket)),
    CONSTRAINT receipts_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT receipts_bucket_check CHECK (((bucket >= 0) AND (bucket <= 63))),
    CONSTRAINT receipts_payload_sha256_check CHECK ((octet_length(payload_sha256) = 32)),
    CONSTRAINT receipts_signature_check CHECK ((signature = ANY (ARRAY['valid'::text, 'invalid'::text, 'untrusted'::text, 'absent'::text]))),
    CONSTRAINT receipts_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'watched'::text, 'settled'::text, 'unusable'::text]))),
    CONSTRAINT settled_has_no_error CHECK (((state <> 'settled'::text) OR (error_code IS NULL) OR (error_code = 'transaction_missing'::text))),
    CONSTRAINT unusable_has_reason CHECK (((state <> 'unusable'::text) OR (error_code IS NOT NULL))),
    CONSTRAINT verified_when_it_says_so CHECK (((state <> ALL (ARRAY['watched'::text, 'settled'::text])) OR (verified_at IS NOT NULL)))
);
ALTER TABLE ONLY iap.receipts ALTER COLUMN payload SET COMPRESSION lz4;

COMMENT ON TABLE iap.receipts IS 'The inbox: what clients uploaded as proof of purchase.';

COMMENT ON COLUMN iap.receipts.bucket IS 'The slice of the inbox, by the payload''s hash; one worker owns a slice at a time.';

COMMENT ON COLUMN iap.receipts.receipt_id IS 'A running number times 64, plus the bucket.';

COMMENT ON COLUMN iap.receipts.user_id IS 'Who was logged in; NULL if nobody.';

COMMENT ON COLUMN iap.receipts.payload IS 'App receipt (base64), signed transaction (JWS) or iOS 6 receipt; may be empty; NULL when it was purged.';

COMMENT ON COLUMN iap.receipts.transaction_id IS 'What it was first uploaded for, as the client said; see also iap.uploads.';

COMMENT ON COLUMN iap.receipts.state IS 'waiting: not verified yet; watched: holds white transactions, asked again each night; settled: nothing open; unusable: can''t be verified, see error_code.';

COMMENT ON COLUMN iap.receipts.attempts IS 'Nights in a row on which it met what error_code says.';

COMMENT ON COLUMN iap.receipts.next_attempt_at IS 'From when on the nightly job tries it; NULL if never again.';

COMMENT ON COLUMN iap.receipts.payload_purged_at IS 'When the payload was taken away; see iap.purge_payloads.';

COMMENT ON COLUMN iap.receipts.device_purged_at IS 'When the device was taken away; it is not taken again.';

COMMENT ON COLUMN iap.receipts.is_erased IS 'Whether its user was erased (iap.erase_user): its payload goes as soon as nothing is open on it.';

COMMENT ON COLUMN iap.receipts.seal IS 'Of who handed in what and when, and whether it still waits: see audit.seal.';

COMMENT ON COLUMN iap.receipts.uploads_left_out IS 'How many uploads of it named another purpose beyond the first thousand: those are not kept.';

COMMENT ON COLUMN iap.receipts.uploaded_again_at IS 'When it was last handed in again for another purchase or order, or a week or more after it was before; NULL if it never was.';

CREATE VIEW iap.unpaid_orders AS
 SELECT orders.bundle_id,
    orders.order_id,
    orders.user_id,
    orders.product_id,
    orders.created_at
   FROM ((iap.orders
     LEFT JOIN ( SELECT uploads.order_id,
            uploaded.bundle_id
           FROM (iap.uploads
             JOIN iap.receipts uploaded USING (bucket, receipt_id))) named ON (((named.order_id = orders.order_id) AND (named.bundle_id = orders.bundle_id))))
     LEFT JOIN iap.receipts ON (((receipts.user_id = orders.user_id) AND (receipts.bundle_id = orders.bundle_id) AND (receipts.next_attempt_at IS NOT NULL))))
  WHERE ((named.order_id IS NULL) AND (receipts.receipt_id IS NULL) AND (NOT (EXISTS ( SELECT
           FROM iap.claims
          WHERE ((claims.order_id = orders.order_id) AND (claims.bundle_id = orders.bundle_id))))) AND (NOT (EXISTS ( SELECT
           FROM iap.transactions
          WHERE ((transactions.order_id = orders.order_id) AND (transactions.bundle_id = orders.bundle_id))))) AND (NOT (EXISTS ( SELECT
           FROM iap.transactions
          WHERE ((transactions.user_id = orders.user_id) AND (transactions.bundle_id = orders.bundle_id) AND (transactions.product_id = orders.product_id) AND ((transactions.purchased_at >= (orders.created_at - '30 days'::interval)) AND (transactions.purchased_at <= (orders.created_at + '30 days'::interval))))))) AND (NOT (EXISTS ( SELECT
           FROM iap.transactions
          WHERE ((transactions.app_account_token = orders.app_account_token) AND (transactions.bundle_id = orders.bundle_id) AND starts_with(transactions.place, 'white'::text))))) AND (NOT (EXISTS ( SELECT
           FROM iap.transactions
          WHERE ((transactions.app_account_token = orders.app_account_token) AND (transactions.bundle_id = orders.bundle_id) AND ((transactions.reason = ANY (ARRAY['dismissed'::text, 'refunded'::text])) OR (transactions.delivered_by IS NOT NULL)) AND (transactions.product_id = orders.product_id) AND ((transactions.purchased_at >= (orders.created_at - '30 days'::interval)) AND (transactions.purchased_at <= (orders.created_at + '30 days'::interval))))))) AND (NOT (EXISTS ( SELECT
           FROM iap.transactions
          WHERE ((transactions.admitted_user_id = orders.user_id) AND (transactions.bundle_id = orders.bundle_id) AND starts_with(transactions.place, 'white'::text))))) AND (NOT (EXISTS ( SELECT
           FROM iap.cases
          WHERE ((cases.state = 'open'::text) AND (cases.bundle_id = orders.bundle_id) AND (cases.order_ids @> ARRAY[orders.order_id]))))) AND (NOT (EXISTS ( SELECT
           FROM iap.cases
          WHERE ((cases.state = 'open'::text) AND (cases.bundle_id = orders.bundle_id) AND (cases.owner_user_ids @> ARRAY[orders.user_id]))))));

COMMENT ON VIEW iap.unpaid_orders IS 'Orders that were opened and, as far as anything tells, never paid: no upload, claim or delivery names them, their user got none of the product within 30 days, nothing that is owed bears their token, nor any of the product within 30 days that was delivered to anybody, refunded or dismissed, and nothing of their user is open. Ask for a span of created_at.';

CREATE VIEW iap.orders_never_paid AS
 SELECT unpaid_orders.bundle_id,
    unpaid_orders.order_id,
    unpaid_orders.user_id,
    unpaid_orders.product_id,
    unpaid_orders.created_at
   FROM iap.unpaid_orders;

COMMENT ON VIEW iap.orders_never_paid IS 'iap.unpaid_orders, as finance reads it: in a cluster citus.sql puts a function in its place, for there the tables of a view are read with the rights of who reads it.';

CREATE TABLE iap.purged_order_marks (
    mark bigint NOT NULL
);

COMMENT ON TABLE iap.purged_order_marks IS 'Which orders iap.purged_orders counts, by their marks: none is counted twice.';

CREATE TABLE iap.purged_orders (
    opened_on date NOT NULL,
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    orders bigint NOT NULL,
    CONSTRAINT purged_orders_orders_check CHECK ((orders > 0))
);

COMMENT ON TABLE iap.purged_orders IS 'How many orders were opened, never paid and taken away, by the day on which they were opened.';

COMMENT ON COLUMN iap.purged_orders.opened_on IS 'A day of UTC.';

CREATE VIEW finance.unpaid_orders AS
 SELECT counted.day,
    counted.bundle_id,
    counted.product_id,
    products.name AS product_name,
    (sum(counted.orders))::bigint AS orders,
    (sum(counted.purged))::bigint AS purged
   FROM (( SELECT ((orders_never_paid.created_at AT TIME ZONE 'UTC'::text))::date AS day,
            orders_never_paid.bundle_id,
            orders_never_paid.product_id,
            1 AS orders,
            0 AS purged
           FROM iap.orders_never_paid
          WHERE (NOT (EXISTS ( SELECT
                   FROM iap.purged_order_marks
                  WHERE (purged_order_marks.mark = iap.order_mark(orders_never_paid.bundle_id, orders_never_paid.order_id)))))
        UNION ALL
         SELECT purged_orders.opened_on,
            purged_orders.bundle_id,
            purged_orders.product_id,
            purged_orders.orders,
            purged_orders.orders
           FROM iap.purged_orders) counted
     LEFT JOIN iap.products USING (bundle_id, product_id))
  GROUP BY counted.day, counted.bundle_id, counted.product_id, products.name;

COMMENT ON VIEW finance.unpaid_orders IS 'Orders that were opened and never paid, by the day on which they were opened. Ask for a span of days.';

COMMENT ON COLUMN finance.unpaid_orders.day IS 'The day on which they were opened.';

COMMENT ON COLUMN finance.unpaid_orders.bundle_id IS 'The app.';

COMMENT ON COLUMN finance.unpaid_orders.product_id IS 'The product.';

COMMENT ON COLUMN finance.unpaid_orders.product_name IS 'Its name; NULL if the products do not list it.';

COMMENT ON COLUMN finance.unpaid_orders.orders IS 'How many, whether they are still there or not.';

COMMENT ON COLUMN finance.unpaid_orders.purged IS 'Of these: taken away after their time.';

CREATE VIEW iap.black AS
 SELECT transactions.transaction_id,
    transactions.bundle_id,
    transactions.environment,
    transactions.original_transaction_id,
    transactions.product_id,
    transactions.product_type,
    transactions.quantity,
    transactions.purchased_at,
    transactions.price_milliunits,
    transactions.currency,
    transactions.storefront,
    transactions.booked_milliunits,
    transactions.booked_currency,
    transactions.booked_as,
    transactions.source,
    transactions.first_seen_at,
    transactions.first_run_id,
    transactions.user_id,
    transactions.order_id,
    transactions.delivered_by,
    transactions.delivered_at,
    transactions.refunded_at,
    transactions.refund_reason,
    transactions.refund_run_id,
    transactions.seal
   FROM iap.transactions
  WHERE (transactions.place = 'black'::text);

COMMENT ON VIEW iap.black IS 'The black table: transactions whose goods were delivered, for ever. A view of iap.transactions.';

COMMENT ON COLUMN iap.black.refunded_at IS 'When Apple refunded it after the delivery.';

CREATE TABLE iap.case_takings (
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    taken_by text NOT NULL,
    taken_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE iap.case_takings IS 'Who of the support desk is on which case; after a day nobody is any more.';

ALTER TABLE iap.claims ALTER COLUMN claim_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME iap.claims_claim_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE iap.connections (
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    product_type text NOT NULL,
    connected_at timestamp with time zone NOT NULL,
    CONSTRAINT connections_environment_check CHECK ((environment = ANY (ARRAY['Production'::text, 'Sandbox'::text]))),
    CONSTRAINT connections_product_type_check CHECK ((product_type = ANY (ARRAY['consumable'::text, 'non_consumable'::text, 'auto_renewable'::text, 'non_renewing'::text, 'unknown'::text])))
);

COMMENT ON TABLE iap.connections IS 'Since when an app delivers purchases of a type in a way that the job sees; filled each night. Before that nothing of the type is called lost. Of entitlements their own table tells.';

CREATE TABLE iap.customers (
    customer_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    last_seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    revision text,
    asked_at timestamp with time zone,
    next_at timestamp with time zone NOT NULL,
    CONSTRAINT customers_customer_id_check CHECK (((octet_length(customer_id) >= 1) AND (octet_length(customer_id) <= 64))),
    CONSTRAINT customers_environment_check CHECK ((environment = ANY (ARRAY['Production'::text, 'Sandbox'::text])))
);

COMMENT ON TABLE iap.customers IS 'Whom Apple is asked about again, in apps with “reask”: customers with a purchase or an upload of the last months.';

COMMENT ON COLUMN iap.customers.customer_id IS 'The appTransactionId; where Apple told of none, the original transaction''s id: of a subscription its own, else the lowest of what the latest receipt holds.';

COMMENT ON COLUMN iap.customers.transaction_id IS 'One of the customer''s purchases, by which Apple is asked.';

COMMENT ON COLUMN iap.customers.last_seen_at IS 'When the customer last bought or uploaded something.';

COMMENT ON COLUMN iap.customers.expires_at IS 'When a subscription of theirs expires last, as far as is known.';

COMMENT ON COLUMN iap.customers.revision IS 'Up to where the customer''s history is known: Apple is asked for what changed behind it.';

COMMENT ON COLUMN iap.customers.next_at IS 'When they are due to be asked about.';

CREATE VIEW iap.excluded AS
 SELECT transactions.transaction_id,
    transactions.bundle_id,
    transactions.environment,
    transactions.original_transaction_id,
    transactions.product_id,
    transactions.product_type,
    transactions.quantity,
    transactions.purchased_at,
    transactions.price_milliunits,
    transactions.currency,
    transactions.storefront,
    transactions.booked_milliunits,
    transactions.booked_currency,
    transactions.booked_as,
    transactions.source,
    transactions.verified_at,
    transactions.reason,
        CASE transactions.reason
            WHEN 'foreign_bundle'::text THEN transactions.found_bundle_id
            ELSE NULL::text
        END AS found_bundle_id,
    transactions.refunded_at,
    transactions.refund_reason,
    transactions.excluded_at,
    transactions.excluded_run_id AS run_id,
    transactions.seal
   FROM iap.transactions
  WHERE (transactions.place = 'excluded'::text);

COMMENT ON VIEW iap.excluded IS 'Verified, but not owed, with the reason. A view of iap.transactions.';

COMMENT ON COLUMN iap.excluded.found_bundle_id IS 'The app that the receipt names, where it is another than it came for.';

CREATE TABLE iap.handed_notices (
    payload_sha256 bytea NOT NULL,
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    heard_by text DEFAULT 'app_server'::text NOT NULL,
    payload text NOT NULL,
    submitted_at timestamp with time zone DEFAULT now() NOT NULL,
    problem text,
    refused_at timestamp with time zone,
    is_final boolean DEFAULT false NOT NULL,
    CONSTRAINT handed_notices_check CHECK (((problem IS NULL) = (refused_at IS NULL))),
    CONSTRAINT handed_notices_heard_by_check CHECK ((heard_by = ANY (ARRAY['history'::text, 'app_server'::text]))),
    CONSTRAINT handed_notices_payload_sha256_check CHECK ((octet_length(payload_sha256) = 32))
);

COMMENT ON TABLE iap.handed_notices IS 'Notifications that the apps'' servers handed on, until the night takes them; what it can''t take stays here, of Apple''s history, too.';

CREATE TABLE iap.lock_space (
    is_only boolean DEFAULT true NOT NULL,
    space integer NOT NULL,
    CONSTRAINT lock_space_is_only_check CHECK (is_only)
);

COMMENT ON TABLE iap.lock_space IS 'The first half of the job''s advisory locks: one row.';

CREATE TABLE iap.migrations (
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT migrations_checksum_check CHECK ((checksum ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT migrations_number_check CHECK ((number > 0))
);

COMMENT ON TABLE iap.migrations IS 'The steps of the schema that were applied.';

COMMENT ON COLUMN iap.migrations.checksum IS 'The SHA-256 of the step''s text, in hexadecimal.';

CREATE TABLE iap.notices (
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    notice_uuid text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL,
    subtype text,
    signed_at timestamp with time zone NOT NULL,
    heard_at timestamp with time zone NOT NULL,
    heard_by text NOT NULL,
    first_run_id bigint,
    sending text,
    attempts integer,
    last_attempt_at timestamp with time zone,
    last_result text,
    consumption_reason text,
    receipt_id bigint,
    CONSTRAINT notices_environment_check CHECK ((environment = ANY (ARRAY['Production'::text, 'Sandbox'::text]))),
    CONSTRAINT notices_heard_by_check CHECK ((heard_by = ANY (ARRAY['history'::text, 'app_server'::text, 'file'::text, 'question'::text]))),
    CONSTRAINT notices_notice_uuid_check CHECK (((octet_length(notice_uuid) >= 1) AND (octet_length(notice_uuid) <= 64))),
    CONSTRAINT notices_sending_check CHECK ((sending = ANY (ARRAY['sent'::text, 'retrying'::text, 'failed'::text]))),
    CONSTRAINT notices_transaction_id_check CHECK (((octet_length(transaction_id) >= 1) AND (octet_length(transaction_id) <= 64)))
);

COMMENT ON TABLE iap.notices IS 'What Apple told by itself of a transaction, each notification once. What it changed stands in the ledger.';

COMMENT ON COLUMN iap.notices.type IS 'Apple''s word: ONE_TIME_CHARGE, DID_RENEW, REFUND, CONSUMPTION_REQUEST …';

COMMENT ON COLUMN iap.notices.heard_by IS 'history: Get Notification History; app_server: iap.submit_notification; file: iap-reconcile notices; question: Apple was asked about the customer, and told of a purchase that nobody knew.';

COMMENT ON COLUMN iap.notices.sending IS 'sent: the app''s server took it; retrying: Apple tries again; failed: Apple has given up.';

COMMENT ON COLUMN iap.notices.last_result IS 'Apple''s word on the last attempt, such as TIMED_OUT.';

COMMENT ON COLUMN iap.notices.consumption_reason IS 'Why Apple asks whether it was delivered, in a CONSUMPTION_REQUEST: FULFILLMENT_ISSUE …';

CREATE TABLE iap.paid_prices (
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    product_id text NOT NULL COLLATE pg_catalog."C",
    storefront text NOT NULL,
    month date NOT NULL,
    currency text NOT NULL,
    milliunits bigint NOT NULL,
    purchases bigint NOT NULL
);

COMMENT ON TABLE iap.paid_prices IS 'How often each price was paid for one unit of a product in a storefront, by month: what is usual.';

CREATE VIEW iap.priced AS
 SELECT transactions.entry_id,
    transactions.transaction_id,
    transactions.bundle_id,
    transactions.environment,
    transactions.product_id,
    transactions.storefront,
    transactions.currency,
    (transactions.price_milliunits / transactions.quantity) AS milliunits,
    (date_trunc('month'::text, (transactions.purchased_at AT TIME ZONE 'UTC'::text)))::date AS month
   FROM iap.transactions
  WHERE ((transactions.product_type = ANY (ARRAY['consumable'::text, 'non_consumable'::text, 'non_renewing'::text])) AND (transactions.environment = 'Production'::text) AND (transactions.price_milliunits > 0) AND (transactions.storefront IS NOT NULL) AND (transactions.quantity > 0) AND (transactions.place <> 'excluded'::text));

COMMENT ON VIEW iap.priced IS 'What was paid for one unit, of purchases whose price should be the usual one.';

CREATE VIEW iap.purgeable AS
 SELECT receipts.bucket,
    receipts.receipt_id,
    receipts.last_attempt_at,
    receipts.payload_purged_at,
    receipts.device,
    receipts.is_erased
   FROM (iap.receipts
     LEFT JOIN ( SELECT sightings.bucket,
            sightings.receipt_id
           FROM (iap.sightings
             JOIN iap.white USING (transaction_id, bundle_id, environment))) open ON (((open.receipt_id = receipts.receipt_id) AND (open.bucket = receipts.bucket))))
  WHERE ((receipts.next_attempt_at IS NULL) AND (open.receipt_id IS NULL));

COMMENT ON VIEW iap.purgeable IS 'The receipts on which nothing is open: neither they themselves nor a transaction that was seen in them.';

CREATE SEQUENCE iap.receipt_number
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE iap.refused_rows (
    source text NOT NULL COLLATE pg_catalog."C",
    row_id text NOT NULL COLLATE pg_catalog."C",
    named_id text COLLATE pg_catalog."C",
    numbers text[] DEFAULT '{}'::text[] NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL,
    what text NOT NULL,
    refused_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE iap.refused_rows IS 'Rows of a source that could not be taken, and why; a row goes once it was taken after all.';

CREATE TABLE iap.rehearsal (
    is_only boolean DEFAULT true NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT rehearsal_is_only_check CHECK (is_only)
);

COMMENT ON TABLE iap.rehearsal IS 'One row where the database was made for replays, by iap-reconcile migrate --rehearsal: no customer''s purchase belongs there. Empty everywhere else.';

ALTER TABLE iap.runs ALTER COLUMN run_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME iap.runs_run_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE iap.sales_fetches (
    vendor_number text NOT NULL COLLATE pg_catalog."C",
    day date NOT NULL,
    tried_at timestamp with time zone NOT NULL,
    fetched_at timestamp with time zone,
    lines bigint DEFAULT 0 NOT NULL,
    refused bigint DEFAULT 0 NOT NULL,
    problem text,
    CONSTRAINT sales_fetches_check CHECK (((refused >= 0) AND (refused <= lines))),
    CONSTRAINT sales_fetches_check1 CHECK (((fetched_at IS NULL) OR (problem IS NULL))),
    CONSTRAINT sales_fetches_lines_check CHECK ((lines >= 0)),
    CONSTRAINT sales_fetches_vendor_number_check CHECK ((vendor_number ~ '^[0-9]{1,20}$'::text))
);

COMMENT ON TABLE iap.sales_fetches IS 'What fetching Apple''s sales report of a day came to. A day without a report is asked for each night, for thirty days.';

ALTER TABLE iap.sales_reports ALTER COLUMN report_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME iap.sales_reports_report_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE iap.source_files (
    source text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    size bigint NOT NULL,
    modified_at timestamp with time zone NOT NULL,
    taken_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE iap.source_files IS 'The files of a source that were taken; one that changed is taken again.';

CREATE TABLE iap.sources (
    source text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    definition text NOT NULL,
    watermark text,
    pulled_at timestamp with time zone,
    tried_at timestamp with time zone NOT NULL,
    taken bigint DEFAULT 0 NOT NULL,
    already_there bigint DEFAULT 0 NOT NULL,
    refused bigint DEFAULT 0 NOT NULL,
    problem text,
    CONSTRAINT sources_kind_check CHECK ((kind = ANY (ARRAY['receipts'::text, 'orders'::text, 'delivered'::text, 'entitlements'::text, 'products'::text])))
);

COMMENT ON TABLE iap.sources IS 'What the night pulls from a company''s own database or files, and how far.';

CREATE TABLE iap.untaken_originals (
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    original_transaction_id text NOT NULL COLLATE pg_catalog."C"
);

COMMENT ON TABLE iap.untaken_originals IS 'Delivered transactions of whose original purchase, or period, Apple told what iap.delivered_originals does not say yet. The next night has it say so.';

COMMENT ON COLUMN iap.untaken_originals.original_transaction_id IS 'The original that it was taken for.';

CREATE TABLE iap.unusual_prices (
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    bundle_id text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL,
    found_at timestamp with time zone NOT NULL,
    usual_milliunits bigint NOT NULL,
    usual_currency text NOT NULL,
    CONSTRAINT unusual_prices_environment_check CHECK ((environment = ANY (ARRAY['Production'::text, 'Sandbox'::text])))
);

COMMENT ON TABLE iap.unusual_prices IS 'Purchases that were paid in another currency than is usual for their product and storefront, or at less than half of the usual price.';

ALTER TABLE ONLY audit.erasures
    ADD CONSTRAINT erasures_pkey PRIMARY KEY (number, event_id);

ALTER TABLE ONLY audit.frontier
    ADD CONSTRAINT frontier_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY audit.links
    ADD CONSTRAINT links_pkey PRIMARY KEY ("position");

ALTER TABLE ONLY iap.account_tokens
    ADD CONSTRAINT account_tokens_pkey PRIMARY KEY (app_account_token, bundle_id);

ALTER TABLE ONLY iap.case_takings
    ADD CONSTRAINT case_takings_pkey PRIMARY KEY (transaction_id, bundle_id, environment);

ALTER TABLE ONLY iap.cases
    ADD CONSTRAINT cases_pkey PRIMARY KEY (transaction_id, bundle_id, environment);

ALTER TABLE ONLY iap.claims
    ADD CONSTRAINT claims_pkey PRIMARY KEY (transaction_id, claim_id);

ALTER TABLE ONLY iap.connections
    ADD CONSTRAINT connections_pkey PRIMARY KEY (bundle_id, environment, product_type);

ALTER TABLE ONLY iap.customers
    ADD CONSTRAINT customers_pkey PRIMARY KEY (customer_id, bundle_id, environment);

ALTER TABLE ONLY iap.delivered_orders
    ADD CONSTRAINT delivered_orders_pkey PRIMARY KEY (order_id, bundle_id);

ALTER TABLE ONLY iap.delivered_originals
    ADD CONSTRAINT delivered_originals_pkey PRIMARY KEY (original_transaction_id, bundle_id, environment, web_order_line_item_id);

ALTER TABLE ONLY iap.delivery_checks
    ADD CONSTRAINT delivery_checks_pkey PRIMARY KEY (transaction_id, bundle_id, environment);

ALTER TABLE ONLY iap.entitlements
    ADD CONSTRAINT entitlements_pkey PRIMARY KEY (original_transaction_id, bundle_id);

ALTER TABLE ONLY iap.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY iap.handed_notices
    ADD CONSTRAINT handed_notices_pkey PRIMARY KEY (payload_sha256, bundle_id);

ALTER TABLE ONLY iap.hearings
    ADD CONSTRAINT hearings_pkey PRIMARY KEY (bundle_id, environment);

ALTER TABLE ONLY iap.lock_space
    ADD CONSTRAINT lock_space_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY iap.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (number);

ALTER TABLE ONLY iap.moves
    ADD CONSTRAINT moves_pkey PRIMARY KEY (transaction_id, move_id);

ALTER TABLE ONLY iap.notices
    ADD CONSTRAINT notices_pkey PRIMARY KEY (transaction_id, bundle_id, environment, notice_uuid);

ALTER TABLE ONLY iap.receipts
    ADD CONSTRAINT one_receipt_a_user_and_payload UNIQUE NULLS NOT DISTINCT (bucket, payload_sha256, bundle_id, user_id);

ALTER TABLE ONLY iap.sales
    ADD CONSTRAINT one_row_a_price UNIQUE NULLS NOT DISTINCT (report_id, app_sku, bundle_id, product_id, type, storefront, price_milliunits, currency, proceeds_milliunits, proceeds_currency, is_refund);

ALTER TABLE ONLY iap.books
    ADD CONSTRAINT one_row_a_run_and_figure UNIQUE NULLS NOT DISTINCT (account, booked_on, run_id, day, bundle_id, product_id, currency, price_source, detail);

ALTER TABLE ONLY iap.uploads
    ADD CONSTRAINT one_upload_a_purpose UNIQUE NULLS NOT DISTINCT (bucket, receipt_id, transaction_id, order_id);

ALTER TABLE ONLY iap.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (order_id, bundle_id);

ALTER TABLE ONLY iap.paid_prices
    ADD CONSTRAINT paid_prices_pkey PRIMARY KEY (bundle_id, product_id, storefront, month, currency, milliunits);

ALTER TABLE ONLY iap.products
    ADD CONSTRAINT products_pkey PRIMARY KEY (bundle_id, product_id);

ALTER TABLE ONLY iap.purged_order_marks
    ADD CONSTRAINT purged_order_marks_pkey PRIMARY KEY (mark);

ALTER TABLE ONLY iap.purged_orders
    ADD CONSTRAINT purged_orders_pkey PRIMARY KEY (bundle_id, product_id, opened_on);

ALTER TABLE ONLY iap.receipts
    ADD CONSTRAINT receipts_pkey PRIMARY KEY (bucket, receipt_id);

ALTER TABLE ONLY iap.redeliveries
    ADD CONSTRAINT redeliveries_pkey PRIMARY KEY (transaction_id, bundle_id, environment);

ALTER TABLE ONLY iap.refused_rows
    ADD CONSTRAINT refused_rows_pkey PRIMARY KEY (source, row_id);

ALTER TABLE ONLY iap.rehearsal
    ADD CONSTRAINT rehearsal_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY iap.runs
    ADD CONSTRAINT runs_closing_number_key UNIQUE (closing_number);

ALTER TABLE ONLY iap.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (run_id);

ALTER TABLE ONLY iap.sales_fetches
    ADD CONSTRAINT sales_fetches_pkey PRIMARY KEY (vendor_number, day);

ALTER TABLE ONLY iap.sales_reports
    ADD CONSTRAINT sales_reports_pkey PRIMARY KEY (report_id);

ALTER TABLE ONLY iap.sightings
    ADD CONSTRAINT sightings_pkey PRIMARY KEY (transaction_id, bundle_id, environment, bucket, receipt_id);

ALTER TABLE ONLY iap.source_files
    ADD CONSTRAINT source_files_pkey PRIMARY KEY (source, name);

ALTER TABLE ONLY iap.sources
    ADD CONSTRAINT sources_pkey PRIMARY KEY (source);

ALTER TABLE ONLY iap.transactions
    ADD CONSTRAINT transactions_pkey PRIMARY KEY (transaction_id, bundle_id, environment);

ALTER TABLE ONLY iap.untaken_originals
    ADD CONSTRAINT untaken_originals_pkey PRIMARY KEY (transaction_id, bundle_id, environment, original_transaction_id);

ALTER TABLE ONLY iap.unusual_prices
    ADD CONSTRAINT unusual_prices_pkey PRIMARY KEY (transaction_id, bundle_id, environment);

CREATE INDEX erasures_by_event ON audit.erasures USING btree (event_id);

CREATE INDEX account_tokens_by_user ON iap.account_tokens USING btree (user_id);

CREATE INDEX cases_by_best_order ON iap.cases USING btree ((order_ids[1])) WHERE (order_ids[1] IS NOT NULL);

CREATE INDEX cases_by_candidate ON iap.cases USING gin (candidates jsonb_path_ops) WITH (fastupdate=off) WHERE ((state = 'open'::text) AND (owner_user_ids = '{}'::text[]) AND (candidates <> '[]'::jsonb));

CREATE INDEX cases_by_order ON iap.cases USING gin (order_ids) WITH (fastupdate=off) WHERE (state = 'open'::text);

CREATE INDEX cases_by_owner ON iap.cases USING gin (owner_user_ids) WITH (fastupdate=off) WHERE (state = 'open'::text);

CREATE INDEX cases_by_period ON iap.cases USING gin (periods) WITH (fastupdate=off) WHERE (periods <> '{}'::text[]);

CREATE INDEX cases_open ON iap.cases USING btree (likelihood, opened_at) WHERE (state = 'open'::text);

CREATE INDEX cases_told ON iap.cases USING btree (told_run_id);

CREATE INDEX claims_by_order ON iap.claims USING btree (order_id) WHERE (order_id IS NOT NULL);

CREATE UNIQUE INDEX claims_delivered ON iap.claims USING btree (transaction_id, bundle_id) WHERE (outcome = 'delivered'::text);

CREATE INDEX claims_of_wrong_users ON iap.claims USING btree (attempted_at) WHERE (outcome = 'wrong_user'::text);

CREATE INDEX customers_due ON iap.customers USING btree (bundle_id, environment, next_at);

CREATE INDEX entitlements_by_first_grant ON iap.entitlements USING btree (bundle_id, first_granted_at);

CREATE INDEX entitlements_by_revocation ON iap.entitlements USING btree (GREATEST(revoked_at, entitled_until)) WHERE (revoked_at IS NOT NULL);

CREATE INDEX entitlements_by_user ON iap.entitlements USING btree (user_id);

CREATE INDEX events_by_run ON iap.events USING btree (run_id) WHERE (run_id IS NOT NULL);

CREATE INDEX events_by_transaction ON iap.events USING btree (transaction_id) WHERE (transaction_id IS NOT NULL);

CREATE INDEX events_of_redeliveries ON iap.events USING btree (event_id) WHERE (kind = 'redelivered'::text);

CREATE INDEX events_of_the_desk ON iap.events USING btree (transaction_id) WHERE (kind = ANY (ARRAY['noted'::text, 'adopted'::text]));

CREATE INDEX handed_notices_refused ON iap.handed_notices USING btree (refused_at) WHERE (refused_at IS NOT NULL);

CREATE INDEX handed_notices_waiting ON iap.handed_notices USING btree (submitted_at) WHERE (NOT is_final);

CREATE INDEX moves_by_number ON iap.moves USING btree (move_id);

CREATE INDEX moves_for_refunds ON iap.moves USING btree (transaction_id) WHERE (details ? 'refunded_as'::text);

CREATE INDEX moves_owed_again ON iap.moves USING btree (moved_at) WHERE (kind = ANY (ARRAY['revoked'::text, 'reopened'::text, 'released'::text]));

CREATE INDEX moves_parted ON iap.moves USING btree (moved_at) WHERE (details ? 'from_original'::text);

CREATE INDEX moves_to_other_products ON iap.moves USING btree (moved_at) WHERE ((from_place = 'black'::text) AND (to_place = 'black'::text) AND (from_product_id <> to_product_id));

CREATE INDEX moves_to_other_quantities ON iap.moves USING btree (moved_at) WHERE ((from_place = 'black'::text) AND (to_place = 'black'::text) AND (from_units <> to_units) AND (from_detail <> 'import'::text));

CREATE INDEX notices_by_moment ON iap.notices USING brin (signed_at);

CREATE INDEX notices_of_reversals ON iap.notices USING btree (bundle_id) WHERE (type = 'REFUND_REVERSED'::text);

CREATE INDEX orders_by_age ON iap.orders USING btree (created_at);

CREATE INDEX orders_by_token ON iap.orders USING btree (app_account_token) WHERE (app_account_token IS NOT NULL);

CREATE INDEX orders_by_user ON iap.orders USING btree (user_id, bundle_id, product_id, created_at);

CREATE INDEX receipts_by_user ON iap.receipts USING btree (user_id, bundle_id);

CREATE INDEX receipts_due ON iap.receipts USING btree (bucket, payload_sha256, receipt_id) INCLUDE (next_attempt_at, attempts) WHERE (next_attempt_at IS NOT NULL);

CREATE INDEX receipts_erased ON iap.receipts USING btree (bucket) WHERE (is_erased AND (payload_purged_at IS NULL));

CREATE INDEX receipts_in_trouble ON iap.receipts USING btree (bucket, receipt_id) WHERE (error_code IS NOT NULL);

CREATE INDEX receipts_uploaded_again ON iap.receipts USING btree (uploaded_again_at) WHERE (uploaded_again_at IS NOT NULL);

CREATE INDEX receipts_with_device ON iap.receipts USING btree (bucket, last_attempt_at) WHERE ((next_attempt_at IS NULL) AND (device IS NOT NULL));

CREATE INDEX receipts_with_payload ON iap.receipts USING btree (bucket, last_attempt_at) WHERE ((next_attempt_at IS NULL) AND (payload_purged_at IS NULL));

CREATE INDEX receipts_with_uploads_left_out ON iap.receipts USING btree (bucket, receipt_id) WHERE (uploads_left_out > 0);

CREATE INDEX receipts_without_key ON iap.receipts USING btree (bundle_id) WHERE ((error_code = 'needs_key'::text) AND (next_attempt_at IS NULL) AND (payload IS NOT NULL));

CREATE INDEX redeliveries_due ON iap.redeliveries USING btree (bundle_id, due_at) WHERE ((ended_at IS NULL) AND (tries < 5));

CREATE INDEX redeliveries_open ON iap.redeliveries USING btree (bundle_id) WHERE (ended_at IS NULL);

CREATE INDEX redeliveries_told ON iap.redeliveries USING btree (told_run_id) WHERE (ended_at IS NOT NULL);

CREATE INDEX sales_by_app ON iap.sales USING btree (app_sku, bundle_id);

CREATE UNIQUE INDEX sales_reports_in_force ON iap.sales_reports USING btree (day, developer) WHERE (replaced_at IS NULL);

CREATE INDEX sightings_by_receipt ON iap.sightings USING btree (receipt_id, bucket);

CREATE INDEX sightings_by_upload ON iap.sightings USING brin (uploaded_at);

CREATE INDEX transactions_by_account ON iap.transactions USING btree (app_transaction_id) WHERE (app_transaction_id IS NOT NULL);

CREATE INDEX transactions_by_delivery ON iap.transactions USING btree (delivered_at) WHERE (place = 'black'::text);

CREATE INDEX transactions_by_entry ON iap.transactions USING btree (entry_id);

CREATE INDEX transactions_by_order ON iap.transactions USING btree (order_id, bundle_id) WHERE (order_id IS NOT NULL);

CREATE INDEX transactions_by_original ON iap.transactions USING btree (original_transaction_id) WHERE (original_transaction_id <> transaction_id);

CREATE INDEX transactions_by_pacific_day ON iap.transactions USING brin (finance.pacific_day(purchased_at));

CREATE INDEX transactions_by_reason ON iap.transactions USING btree (reason, excluded_at) WHERE (place = 'excluded'::text);

CREATE INDEX transactions_by_refund ON iap.transactions USING btree (finance.pacific_day(refunded_at)) WHERE (refunded_at IS NOT NULL);

CREATE INDEX transactions_by_user ON iap.transactions USING btree (user_id, bundle_id) WHERE (user_id IS NOT NULL);

CREATE INDEX transactions_ended_periods ON iap.transactions USING btree (original_transaction_id, web_order_line_item_id) WHERE (starts_with(place, 'excluded'::text) AND ((refunded_at IS NOT NULL) OR (reason = 'dismissed'::text)) AND (web_order_line_item_id IS NOT NULL));

CREATE INDEX transactions_excluded_by_setting ON iap.transactions USING btree (bundle_id, environment, purchased_at) WHERE ((reason = ANY (ARRAY['sandbox'::text, 'before_start'::text])) AND ((refunded_at IS NULL) OR (reason = 'sandbox'::text)));

CREATE INDEX transactions_not_owed_by_token ON iap.transactions USING btree (app_account_token, bundle_id) WHERE (((reason = ANY (ARRAY['dismissed'::text, 'refunded'::text])) OR (delivered_by IS NOT NULL)) AND (app_account_token IS NOT NULL));

CREATE INDEX transactions_of_other_apps ON iap.transactions USING btree (delivered_at) WHERE ((place = 'black'::text) AND (found_bundle_id IS NOT NULL));

CREATE INDEX transactions_of_testers ON iap.transactions USING btree (bundle_id, delivered_at) WHERE ((place = 'black'::text) AND (delivered_by = 'claim'::text) AND (environment = 'Sandbox'::text));

CREATE INDEX transactions_refunded_first ON iap.transactions USING btree (delivered_at) WHERE ((place = 'black'::text) AND (refunded_at < delivered_at));

CREATE INDEX transactions_refunded_restorable ON iap.transactions USING btree (bundle_id, product_id) WHERE ((reason = 'refunded'::text) AND ((product_type IS NULL) OR ((product_type = ANY (ARRAY['consumable'::text, 'non_renewing'::text])) AND (source = ANY (ARRAY['app_server'::iap.source, 'verify_receipt'::iap.source])))));

CREATE INDEX transactions_restored_by_admission ON iap.transactions USING btree (admitted_user_id, bundle_id) WHERE ((reason = 'restored'::text) AND (admitted_user_id IS NOT NULL));

CREATE INDEX transactions_restored_by_pacific_day ON iap.transactions USING btree (finance.pacific_day(original_purchased_at)) WHERE ((original_transaction_id <> transaction_id) AND (original_purchased_at IS NOT NULL) AND (expires_at IS NULL) AND (product_type IS DISTINCT FROM 'auto_renewable'::text));

CREATE INDEX transactions_restored_refunded ON iap.transactions USING btree (original_transaction_id) WHERE ((reason = ANY (ARRAY['restored'::text, 'dismissed'::text])) AND (refunded_at IS NOT NULL));

CREATE INDEX transactions_unproved ON iap.transactions USING btree (bundle_id, environment, delivered_at) WHERE ((place = 'black'::text) AND (source = 'app_server'::iap.source) AND (delivered_by = 'claim'::text));

CREATE INDEX transactions_white ON iap.transactions USING btree (bundle_id, purchased_at) WHERE (place = 'white'::text);

CREATE INDEX transactions_white_by_admission ON iap.transactions USING btree (admitted_user_id, bundle_id) WHERE (starts_with(place, 'white'::text) AND (admitted_user_id IS NOT NULL));

CREATE INDEX transactions_white_by_token ON iap.transactions USING btree (app_account_token, bundle_id) WHERE (starts_with(place, 'white'::text) AND (app_account_token IS NOT NULL));

CREATE INDEX transactions_white_periods ON iap.transactions USING btree (original_transaction_id, web_order_line_item_id) WHERE ((place = 'white'::text) AND (web_order_line_item_id IS NOT NULL));

CREATE INDEX transactions_white_restorable ON iap.transactions USING btree (product_type, bundle_id, product_id) WHERE ((place = 'white'::text) AND ((product_type = 'non_consumable'::text) OR (product_type IS NULL) OR ((product_type = ANY (ARRAY['consumable'::text, 'non_renewing'::text])) AND (source = ANY (ARRAY['app_server'::iap.source, 'verify_receipt'::iap.source])))));

CREATE INDEX unusual_prices_by_moment ON iap.unusual_prices USING btree (found_at);

CREATE INDEX uploads_by_order ON iap.uploads USING btree (order_id) WHERE (order_id IS NOT NULL);

CREATE INDEX uploads_by_transaction ON iap.uploads USING btree (transaction_id) WHERE (transaction_id IS NOT NULL);

REVOKE ALL ON FUNCTION audit.block(after bigint, upto bigint, late bigint[], without int8multirange, OUT entries bigint, OUT digest bytea) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.broken_links() FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.digest(e iap.events) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.digest(m iap.moves) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.erased_by(erasure bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.first_link() FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.receipt_seal(bucket smallint, receipt_id bigint, bundle_id text, user_id text, payload_sha256 bytea, order_id text, transaction_id text, submitted_at timestamp with time zone, state text, is_erased boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.seal(c iap.claims) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.seal(s iap.sightings) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.seal(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.seal(u iap.uploads) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.seal(sealed record) FROM PUBLIC;

REVOKE ALL ON FUNCTION audit.wrong_erasures() FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.ageing(age_days integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.balances_as_of(as_of date) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.closed(day date) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.deliveries_as_of(as_of date) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.pacific_day(moment timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.refunds_as_of(as_of date) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.statement(first date, through date) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.statement_differences(first date, through date) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.statement_proceeds(first date, through date) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.statement_sales(first date, through date) FROM PUBLIC;

REVOKE ALL ON FUNCTION finance.unclaimed_liability_as_of(as_of date) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.add_sightings(added iap.sightings[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.admit(bundle_id text, environment text, transaction_id text, original_transaction_id text, product_id text, quantity integer, purchased_at timestamp with time zone, user_id text, receipt_id bigint, web_order_line_item_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.admit_owed(bundle_id text, environment text, transaction_id text, restored iap.change[], run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.admitted_otherwise(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.adopt(bundle_id text, signed_transaction text, user_id text, who text, note text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.adopted_for(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.amount_of(price_milliunits bigint, currency text, is_trial boolean, quantity integer, list_price_milliunits bigint, list_currency text, is_family_shared boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.analyze_grown() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.app_store_opened() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.apps_of_user(user_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.asked_after_expiry(expires_at timestamp with time zone, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.await_writers() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.booked(run bigint, closed date, before audit.frontier, upto bigint, gaps int8multirange) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.booked_on(happened date, as_of timestamp with time zone, closed date) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.bounded(device jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.carry_refunds(run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.carry_reversals(run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.case_mark(opened_run_id bigint, opened_at timestamp with time zone, move_id bigint, product_id text, quantity integer, owner_user_ids text[], periods text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.certain_owner(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.claim(bundle_id text, transaction_id text, user_id text, order_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.claim_outcome(t iap.transactions, user_id text, order_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.close_books(run bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.commit_durably() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.confirm(purchases iap.verified[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.connect() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.corrected(t iap.transactions, v iap.verified) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.count_purgeable(payloads_before timestamp with time zone, devices_before timestamp with time zone, OUT payloads bigint, OUT devices bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.count_refunds_once(run bigint, at timestamp with time zone, corrected iap.transactions[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.count_unpaid_orders(before timestamp with time zone, OUT orders bigint, OUT oldest timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.cover(changes iap.change[], run bigint, at timestamp with time zone, actor text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.cover_entitled(run bigint, at timestamp with time zone, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.cover_superseded(words iap.entitlements[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.decide(transaction_id text, bundle_id text, environment text, mark text, how text, who text, note text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.delivered(t iap.transactions, user_id text, order_id text, delivered_by text, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.delivery_status(bundle_id text, transaction_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.end_of_redelivery(r iap.redeliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.end_owed(t iap.transactions, how text, who text, user_id text, order_id text, note text, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.ends_refund(t iap.transactions, v iap.verified) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.enter(purchases iap.verified[], run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.enter_unlocked(purchases iap.verified[], run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.entitle(bundle_id text, original_transaction_id text, user_id text, until timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.erase_from_entitlements(user_id text, pseudonym text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.erase_from_redeliveries(user_id text, pseudonym text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.erase_from_trail(user_id text, pseudonym text, erasure bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.erase_from_transactions(user_id text, pseudonym text, salt text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.erase_user(user_id text, who text, even_open boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.erased(t iap.transactions, user_id text, pseudonym text, salt text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.erased_token(app_account_token text, salt text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.excluded(t iap.transactions, reason text, run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.fills_in(t iap.transactions, v iap.verified) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.follow_cases(changes iap.change[], kind text, who text, run bigint, at timestamp with time zone, note text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.granted_after(reached iap.transactions, at timestamp with time zone, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.hand_in(numbers integer[], at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.has_access(t iap.transactions, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.hear(numbers integer[], run bigint, at timestamp with time zone, OUT entered integer[], OUT known iap.standing[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.hear_patiently(numbers integer[], run bigint, at timestamp with time zone, OUT entered integer[], OUT known iap.standing[], OUT remaining integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.heard(t iap.transactions, v iap.verified, run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.held_for_claim(bundle_id text, transaction_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.import_deliveries(deliveries iap.verified[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.import_entitlements(words iap.entitlements[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.imported(t iap.transactions, v iap.verified) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_another_night(confirmed_at timestamp with time zone, verified_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_anothers(t iap.transactions, user_id text, pseudonym text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_balanced(r iap.runs) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_beyond(number bigint, upto bigint, gaps int8multirange) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_bought_since(t iap.transactions, granted_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_confirmation(t iap.transactions, v iap.verified) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_covered(t iap.transactions, e iap.entitlements, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_delivered_beside(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_delivered_otherwise(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_dismissed_otherwise(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_elsewhere(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_end_of_period(bundle_id text, original_transaction_id text, until timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_given_up(r iap.redeliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_granted(t iap.transactions, e iap.entitlements, at timestamp with time zone, said_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_granted_already(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_granted_elsewhere(t iap.transactions, granted_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_granted_to_others(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_handed_in_again(submitted_at timestamp with time zone, uploaded_again_at timestamp with time zone, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_known_user(user_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_late_case(t iap.transactions, granted_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_later_refund(refunded_at timestamp with time zone, known_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_new_word(known iap.entitlements, until timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_news(t iap.transactions, v iap.verified) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_of_original(transaction_id text, original_transaction_id text, wanted text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_order_used(t iap.transactions, order_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_original_delivered(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_outdated_refund(t iap.transactions, v iap.verified) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_own_token(bundle_id text, app_account_token text, user_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_parted(was iap.transactions, became iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_period_delivered(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_pseudonym(user_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_refunded_elsewhere(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_refunded_otherwise(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_said_for_upgrade(known iap.entitlements, until timestamp with time zone, since timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_same_period(t iap.transactions, same iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_same_purchase(t iap.transactions, same iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_same_refund(refunded_at timestamp with time zone, known_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.is_taken_back(v iap.verified) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.keep_entitlement(was iap.entitlements, became iap.entitlements) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.kind_of_move(was iap.transactions, became iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.known_of_heard(OUT known integer[], OUT unknown integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.last_said(known iap.entitlements) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.limit_idleness() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.limit_waiting() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.lines_of(place text, detail text, day date, refund_day date, is_reversal boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.locked(bundle_id text, environment text, transaction_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.locked_with_periods(bundle_id text, environment text, transaction_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.log_desk(kind text, who text, transaction_id text, bundle_id text, environment text, details jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.log_event(kind text, actor text, run_id bigint, happened_at timestamp with time zone, details jsonb, transaction_id text, bundle_id text, environment text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.log_moves(changes iap.change[], kind text, actor text, run bigint, at timestamp with time zone, details jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.look_again(bucket smallint, receipt_id bigint, is_for_another boolean, at timestamp with time zone, payload text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.looks_back_to(at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.may_not_know(answered_at timestamp with time zone, of_what_was_told_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.may_reopen(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.meet_grant(bundle_id text, original_transaction_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.meet_grants(bundle_id text, transaction_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.moment_said(milliseconds text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.move(changes iap.change[], kind text, actor text, run bigint, at timestamp with time zone, details jsonb, who text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.new_pseudonym() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.night_lock() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.note(transaction_id text, note text, who text, bundle_id text, environment text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.note_answers(bundle_id text, environment text, customer_ids text[], accounts text[], revisions text[], expiries timestamp with time zone[], every interval, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.note_attempt(attempt iap.claims, t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.note_checks(bundle_id text, environment text, transaction_ids text[], findings text[], tokens text[], at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.note_customers(app iap.hearings, closed audit.frontier, every interval, since timestamp with time zone, at timestamp with time zone, again_ids bigint[], again_at timestamp with time zone[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.note_entered(bundle_id text, environment text, every interval, since timestamp with time zone, at timestamp with time zone, again_ids bigint[], again_at timestamp with time zone[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.note_hearing(bundle_id text, environment text, heard_from timestamp with time zone, through timestamp with time zone, signed_at timestamp with time zone, at timestamp with time zone, problem text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.note_prices(app iap.hearings, closed audit.frontier, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.open_for(bundle_id text, user_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.open_transactions_of(user_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.order_mark(bundle_id text, order_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.order_redeliveries(bundle_id text, environment text, run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.orders_for(t iap.transactions, user_id text, offered iap.delivered_orders[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.other_ids_of(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.outcome_otherwise(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.over_at(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.owed(bundle_id text, user_id text, OUT transaction_id text, OUT product_id text, OUT quantity integer, OUT purchased_at timestamp with time zone, OUT order_ids text[], OUT is_certain boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.owed_again(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.owed_as(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.owners_at_desk(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.owners_by_history(t iap.transactions, user_id text, receipt_id bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.owners_by_token(bundle_id text, app_account_token text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.owners_of(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.owners_told(transaction_id text, bundle_id text, environment text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.paid_again(t iap.transactions, reversed_at timestamp with time zone, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.parted_from(was iap.transactions, became iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.period_said(web_order_line_item_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.place_of(transaction_id text, wanted_bundle_id text, wanted_environment text, OUT bundle_id text, OUT environment text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.placing_of(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.position_of(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.postpone_questions(bundle_id text, environment text, customer_ids text[], transaction_ids text[], at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.present() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.purge_devices(bucket smallint, before timestamp with time zone, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.purge_orders(since timestamp with time zone, before timestamp with time zone, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.purge_page_by_page(bucket smallint, wanted text, changes text, before timestamp with time zone, most bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.purge_payloads(bucket smallint, before timestamp with time zone, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.purgeable_buckets(payloads_before timestamp with time zone, devices_before timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.reaches(entitled_until timestamp with time zone, expires_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.rebooked(t iap.transactions, was iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.receipts_for(order_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.receipts_of(bundle_id text, user_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.record(run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.redeliver(transaction_id text, who text, note text, bundle_id text, environment text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.redeliverable_to(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.redelivery_of(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.refund_as_of(v iap.verified) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.refund_reversed(t iap.transactions, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.refund_shares(was iap.transactions, became iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.refunded(t iap.transactions, v iap.verified, run bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.refunded_as(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.refunded_meanwhile_as(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.refuse_unseen_cases(changes iap.change[], at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.register_order(bundle_id text, order_id text, user_id text, product_id text, quantity integer, app_account_token text, created_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.register_user(bundle_id text, user_id text, app_account_token text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.release_orders(changes iap.change[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.release_originals(changes iap.change[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.release_restored(run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.release_unread(bundle_id text, environment text, transaction_ids text[], run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.reopen(transaction_id text, who text, note text, bundle_id text, environment text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.replace_user(user_id text, pseudonym text, salt text, erasure bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.require_bundle_id(value text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.require_id(name text, value text, longest integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.require_moment(name text, value timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.require_owed(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.require_product_id(value text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.require_purchase(v iap.verified) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.require_text(name text, value text, longest integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.require_token(app_account_token text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.require_transaction_id(name text, value text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.resolve(transaction_id text, how text, who text, note text, bundle_id text, environment text, user_id text, order_id text, is_unknown_user boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.reverse_otherwise(run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.revoke_entitlement(bundle_id text, original_transaction_id text, until timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.revoke_words(known iap.entitlements, revoked iap.word[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.said_again(known iap.entitlements, said iap.entitlements) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.said_for(t iap.transactions, e iap.entitlements) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.settle_redeliveries(run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.share_of(milliunits bigint, percentage integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.shorter_said_for(t iap.transactions, shorter iap.word[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.sight(bundle_id text, environment text, transaction_id text, user_id text, receipt_id bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.sight_again(numbers integer[], run bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.sight_owed(restored iap.sightings[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.sightings_of(numbers integer[], run bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.signed_claims(signed_transaction text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.stand_for_refund(bundle_id text, environment text, transaction_id text, run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.standing(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.stands_otherwise(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.status(bundle_id text, transaction_id text, order_id text, OUT place text, OUT case_state text, OUT tell text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.store_upload(bucket smallint, receipt_id bigint, bundle_id text, user_id text, payload text, payload_sha256 bytea, bytes integer, transaction_id text, order_id text, device jsonb, uploaded_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.submit_notification(bundle_id text, signed_payload text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.submit_receipt(bundle_id text, user_id text, payload text, transaction_id text, order_id text, device jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take(transaction_id text, who text, bundle_id text, environment text, is_freeing boolean, OUT outcome text, OUT taken_by text, OUT taken_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_answers(run bigint, at timestamp with time zone, OUT unknown integer[], OUT locked text[], OUT undecided text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_back(word iap.entitlements, upgrades boolean, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_corrected(changes iap.change[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_for_delivery(t iap.transactions, type text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_for_entitlement(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_imported(once iap.transactions[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_mended() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_notices(run bigint, at timestamp with time zone, OUT fresh bigint, OUT unknown integer[], OUT locked text[], OUT held_since timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_order(t iap.transactions, order_id text, OUT is_ours boolean, OUT is_new boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_orders(orders iap.delivered_orders[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_originals(delivered iap.transactions[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_purgeable(bucket smallint, receipt_ids bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_redeliveries(bundle_id text, most integer, lease interval, OUT transaction_id text, OUT original_transaction_id text, OUT user_id text, OUT product_id text, OUT quantity integer, OUT purchased_at timestamp with time zone, OUT paid_until timestamp with time zone, OUT order_ids text[], OUT try integer, OUT leased_until timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.take_untaken(run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.taken_until(taken_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.transactions_of_order(bundle_id text, order_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.type_by(product_type text, source iap.source, listed text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.type_of(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.uncover(run bigint, at timestamp with time zone, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.unnamed_receipts_of(pseudonym text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.unrefunded(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.watch_again(changes iap.change[], at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.white_bought_once() FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.white_totals(before audit.frontier, upto bigint, gaps int8multirange) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.white_turnover(before audit.frontier, upto bigint, gaps int8multirange) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.with_shorter(known iap.entitlements, said iap.word) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.withdraw_all_restored(run bigint, at timestamp with time zone, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.withdraw_beside(deliveries iap.verified[], at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.withdraw_counted_twice(corrected iap.change[], actor text, run bigint, at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.withdraw_restored(ended iap.transactions, actor text, at timestamp with time zone, who text, ended_as text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.without_user(details jsonb, user_id text, pseudonym text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.without_user(text text, user_id text, pseudonym text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.word_of(t iap.transactions) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.word_of_upload(bundle_id text, transaction_id text, order_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION iap.worth(account text, line_detail text, milliunits numeric, refunded_milliunits numeric) FROM PUBLIC;

