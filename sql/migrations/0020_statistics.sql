-- A night that brings much, before anything else has looked at the tables: the planner takes them for as small as they
-- were then, and reads all of white for each of the kinds of product. The job lets it look again.

CREATE FUNCTION iap.analyze_grown() RETURNS text[]
-- Only their owner may; the name of the table comes from here.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
DECLARE
    grown text[];
    name  text;
BEGIN
    SELECT coalesce(array_agg(relname::text ORDER BY relname), '{}')
    INTO grown
    FROM pg_class
    WHERE relnamespace = 'iap'::regnamespace AND relname IN ('transactions', 'moves', 'sightings', 'cases')
        AND pg_relation_size(oid) > (1.2 * greatest(relpages, 0) + 64) * current_setting('block_size')::bigint;
    FOREACH name IN ARRAY grown LOOP
        -- What is looked at already, or cleaned, is not waited for.
        EXECUTE format('ANALYZE (SKIP_LOCKED) iap.%I', name);
    END LOOP;
    RETURN grown;
END
$$;
COMMENT ON FUNCTION iap.analyze_grown IS
    'Lets the planner look at the tables of the ledger that have grown by a fifth since it looked at them last, and says '
    'which they are.';
REVOKE ALL ON FUNCTION iap.analyze_grown FROM PUBLIC;
