-- What nights left, a line a row, in an order that says nothing of how it came about: for psql. Left out is what hangs on
-- the clock on the wall, and numbers that are drawn in the order in which workers come.
SET timezone = 'UTC';
SELECT format(
    $$WITH content AS MATERIALIZED (SELECT * FROM %1$s)
    -- What an erasure changed is told by a digest, of such numbers, too.
    SELECT %1$L || ' ' || (to_jsonb(content) - %2$L::text[] #- '{details,erasures}')::text FROM content ORDER BY 1$$,
    class.oid::regclass,
    ARRAY[
        'seal', 'move_id', 'entry_id', 'event_id', 'claim_id', 'started_at', 'finished_at', 'process_id', 'stages', 'digest',
        'registered_at', 'made_at', 'definition'] || CASE
            WHEN relname = 'events' THEN ARRAY['happened_at']
            WHEN relname = 'hearings' THEN ARRAY['noted_upto', 'noted_gaps']
            WHEN relname IN ('entries', 'positions', 'journal_lines') THEN ARRAY['number']
            WHEN relname = 'closings' THEN ARRAY['upto', 'upto_before', 'late']
            ELSE '{}'
        END)
FROM pg_class AS class
WHERE relnamespace IN ('iap'::regnamespace, 'finance'::regnamespace) AND relkind IN ('r', 'v')
    AND relname NOT IN ('lock_space', 'migrations', 'handed_notices')
ORDER BY relnamespace::regnamespace::text, relname
\gexec
