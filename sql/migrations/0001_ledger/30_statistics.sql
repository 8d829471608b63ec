-- What the planner must know of tables that grew.

-- A night that brings much, before anything else has looked at the tables: the planner takes them for as small as they
-- were then, and reads all of white for each of the kinds of product. The job lets it look again.
CREATE FUNCTION iap.analyze_grown() RETURNS text[]
-- Only their owner may; the name of the table comes from here. How many rows there are, and how they fall to a few
-- places and products, a quarter of the usual sample tells; the rest autovacuum looks at.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp SET default_statistics_target = 25 AS $$
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
COMMENT ON FUNCTION iap.analyze_grown IS
    'Lets the planner look at the tables of the ledger that have grown by a fifth since it looked at them last, or of '
    'which the white part has, and says which they are.';
