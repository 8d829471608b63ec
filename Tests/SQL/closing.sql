-- What another session commits while the books are closed. Not in one transaction: while it lasted, a run would wait
-- for every number that it does not see. What is committed stays until the database of this test goes.
SELECT no_plan();
CREATE EXTENSION dblink;

SELECT dblink_connect('server', format(
    'host=%s port=%s dbname=%s user=iap_app', split_part(current_setting('unix_socket_directories'), ',', 1),
    current_setting('port'), current_database()));
CREATE FUNCTION test.says(query text) RETURNS text
LANGUAGE sql SET search_path = public AS $$ SELECT said FROM dblink('server', query) AS told (said text) $$;

-- A server is slow to commit a delivery, over whose number a run closes its books.
SELECT dblink_exec('server', 'BEGIN');
SELECT test.says(
    $$SELECT iap.admit('com.example.a', 'Production', '1', '1', 'gems', 1, now(), 'ann')$$),
    test.says($$SELECT iap.claim('com.example.a', '1', 'ann')$$);
SELECT test.admit('2');
SELECT test.close_books();
SELECT isnt((SELECT gaps FROM audit.frontier), '{}', 'a run keeps in mind what it does not see');

-- The next run looks at all that there is, and it commits just then.
UPDATE audit.frontier SET closed_at = closed_at - interval '11 minutes';
ALTER FUNCTION iap.is_beyond RENAME TO is_beyond_by_now;
CREATE FUNCTION iap.is_beyond(number bigint, upto bigint, gaps int8multirange) RETURNS boolean
LANGUAGE plpgsql SET search_path = public AS $$
BEGIN
    IF test.says($q$SELECT pg_current_xact_id_if_assigned() IS NOT NULL$q$)::boolean THEN
        PERFORM dblink_exec('server', 'COMMIT');
    END IF;
    RETURN iap.is_beyond_by_now(number, upto, gaps);
END
$$;
SELECT test.admit('3');
SELECT test.close_books();
SELECT isnt((SELECT gaps FROM audit.frontier), '{}', 'it still keeps that in mind');
SELECT test.close_books();
SELECT is((SELECT gaps FROM audit.frontier), '{}', 'the run after it has it');
SELECT results_eq(
    $$SELECT account, transactions FROM finance.journal WHERE run_id = 3$$,
    $$VALUES ('delivered', 1::bigint)$$, 'and books it');
SELECT is_empty('SELECT account FROM finance.unexplained', 'so that the journal explains the ledger');
SELECT is_empty('SELECT audit.broken_links()', 'and the chain holds');

SELECT dblink_disconnect('server');
SELECT * FROM finish();
