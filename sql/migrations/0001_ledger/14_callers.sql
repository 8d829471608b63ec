-- The contract with an app's own server, the only way by which it touches the tables: what its functions take of a
-- caller. They are in `15_uploads.sql`, `16_admission.sql` and `18_claims.sql`.
--
-- Every function of the contract runs with its owner's rights on a fixed search path. Parameters carry the names of the
-- columns they fill; inside, a bare name is the column, and a name qualified with the function's is the parameter.

CREATE FUNCTION iap.require_id(name text, value text, longest integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF value IS NULL OR octet_length(value) NOT BETWEEN 1 AND longest OR value COLLATE "C" ~ '[^!-~]' THEN
        RAISE EXCEPTION '% is not an id of Apple''s', name USING
            ERRCODE = 'invalid_parameter_value',
            HINT = format('It has 1 to %s visible ASCII characters.', longest);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.require_id IS
    'Refuses what can''t be an id of Apple''s, by the rule of the nightly job: visible ASCII, not empty, not too long.';

-- How long Apple's ids are says the ledger itself: see ids_are_apples. These are parts of their statements, and no
-- calls.

CREATE FUNCTION iap.require_transaction_id(name text, value text) RETURNS void
LANGUAGE sql IMMUTABLE AS $$ SELECT iap.require_id($1, $2, 64) $$;
COMMENT ON FUNCTION iap.require_transaction_id IS
    'Refuses what can''t be Apple''s id of a transaction, or of a subscription''s period.';

CREATE FUNCTION iap.require_bundle_id(value text) RETURNS void
LANGUAGE sql IMMUTABLE AS $$ SELECT iap.require_id('bundle_id', $1, 255) $$;
COMMENT ON FUNCTION iap.require_bundle_id IS 'Refuses what can''t be the id of an app.';

CREATE FUNCTION iap.require_product_id(value text) RETURNS void
LANGUAGE sql IMMUTABLE AS $$ SELECT iap.require_id('product_id', $1, 255) $$;
COMMENT ON FUNCTION iap.require_product_id IS 'Refuses what can''t be the id of a product.';

CREATE FUNCTION iap.app_store_opened() RETURNS timestamptz
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$ SELECT timestamptz '2008-07-10 00:00:00+00' $$;
COMMENT ON FUNCTION iap.app_store_opened IS 'The day on which the App Store opened: nothing was bought before.';

CREATE FUNCTION iap.require_moment(name text, value timestamptz) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
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
COMMENT ON FUNCTION iap.require_moment IS
    'Refuses a moment at which nothing can have been bought. Where nights are replayed, the future may be.';

CREATE FUNCTION iap.require_text(name text, value text, longest integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF value IS NULL OR value = '' THEN
        RAISE EXCEPTION '% is missing', name USING ERRCODE = 'invalid_parameter_value';
    ELSIF octet_length(value) > longest THEN
        RAISE EXCEPTION '% has % bytes', name, octet_length(value) USING
            ERRCODE = 'invalid_parameter_value', HINT = format('It has at most %s.', longest);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.require_text IS
    'Refuses a text that is missing, or longer in bytes than an index can hold.';

CREATE FUNCTION iap.limit_idleness() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('idle_in_transaction_session_timeout') = '0' THEN
        PERFORM set_config('idle_in_transaction_session_timeout', '5min', true);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.limit_idleness IS
    'Lets a transaction that is about to lock a purchase, or what others wait for who have locked one, and then hangs, '
    'end by itself, also where its login is a member of a role and so without what roles.sql sets for the role.';

CREATE FUNCTION iap.commit_durably() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        -- The least that outlives a crash: it waits for no other server.
        PERFORM set_config('synchronous_commit', 'local', true);
    END IF;
END
$$;
COMMENT ON FUNCTION iap.commit_durably IS
    'Has the caller''s transaction be on disk before its commit is acknowledged, also where a server, a database or a '
    'login wants no waiting for that: of what was acknowledged, a crash would forget the last moments. A delivery that '
    'is forgotten is made again, and an upload that is forgotten is a lost order.';

CREATE FUNCTION iap.limit_waiting() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
COMMENT ON FUNCTION iap.limit_waiting IS
    'In a transaction of the caller''s, has a cluster''s workers wait for a lock no longer than the caller would, whom '
    'they know only as the tables'' owner where a function works with the owner''s rights.';

CREATE FUNCTION iap.require_token(app_account_token text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF app_account_token !~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN
        RAISE EXCEPTION 'app_account_token is no UUID' USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'It is the UUID that the client hands to StoreKit, such as 7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b.';
    END IF;
END
$$;
COMMENT ON FUNCTION iap.require_token IS 'Refuses what can''t be an appAccountToken; NULL is none.';

CREATE FUNCTION iap.bounded(device jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
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
COMMENT ON FUNCTION iap.bounded IS
    'What a client said of its device, of at most 16 KiB: of more the short fields, and a mark.';
