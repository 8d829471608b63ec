-- What a caller is told outlives a crash of the server, also where its login, the database or the server wants no
-- waiting for the disk.
BEGIN;
SELECT no_plan();

CREATE TABLE test.calls (name text PRIMARY KEY, role name NOT NULL, query text NOT NULL);
INSERT INTO test.calls
VALUES
    ('submit_receipt', 'iap_app', $$SELECT iap.submit_receipt('com.example.a', 'ann', 'x')$$),
    ('submit_notification', 'iap_app', $$SELECT iap.submit_notification('com.example.a', 'x')$$),
    ('register_order', 'iap_app', $$SELECT iap.register_order('com.example.a', 'o', 'ann', 'gems')$$),
    ('register_user', 'iap_app',
        $$SELECT iap.register_user('com.example.a', 'ann', '7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b')$$),
    ('admit', 'iap_app',
        $$SELECT iap.admit('com.example.a', 'Production', '2', '2', 'gems', 1, now(), 'ann')$$),
    ('claim', 'iap_app', $$SELECT iap.claim('com.example.a', '1', 'ann')$$),
    ('entitle', 'iap_app', $$SELECT iap.entitle('com.example.a', '9', 'ann', now() + interval '1 day')$$),
    ('revoke_entitlement', 'iap_app', $$SELECT iap.revoke_entitlement('com.example.a', '9')$$),
    ('take_redeliveries', 'iap_app', $$SELECT count(*) FROM iap.take_redeliveries('com.example.a')$$),
    ('resolve', 'iap_support', $$SELECT iap.resolve('3', 'delivered', 'sue', 'x', user_id => 'ann')$$),
    ('reopen', 'iap_support', $$SELECT iap.reopen('1', 'sue', 'x')$$),
    ('take', 'iap_support', $$SELECT outcome FROM iap.take('3', 'sue')$$),
    ('note', 'iap_support', $$SELECT iap.note('3', 'x', 'sue')$$),
    ('decide', 'iap_support',
        $$SELECT iap.decide('3', 'com.example.a', 'Production', 'mark', 'dismissed', 'sue', 'x')$$),
    ('redeliver', 'iap_support', $$SELECT iap.redeliver('3', 'sue', 'x')$$),
    ('erase_user', 'iap_privacy', $$SELECT iap.erase_user('ann', 'pat')$$);
INSERT INTO test.calls
SELECT
    'adopt', 'iap_support', format(
        'SELECT iap.adopt(%L, %L, %L, %L, %L)', 'com.example.game',
        test.signed(text::jsonb -> 'base' || '{"transactionId": "4", "originalTransactionId": "4"}'), 'ann', 'sue', 'x')
FROM test.files
WHERE name = 'signed_transactions.json';
SELECT set_eq(
    $$SELECT DISTINCT proname::text
    FROM pg_proc
    JOIN unnest(ARRAY['iap_app', 'iap_support', 'iap_privacy']) AS role
        ON has_function_privilege(role, pg_proc.oid, 'EXECUTE')
    WHERE pronamespace = 'iap'::regnamespace AND prosecdef AND provolatile = 'v'$$,
    'SELECT name FROM test.calls', 'all that writes for a caller is called here');

-- How a call leaves its transaction to be committed, whatever comes of it.
CREATE FUNCTION test.committed_by(role name, query text, wanted text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', wanted, true), test.run_as(role, query);
    RETURN current_setting('synchronous_commit');
END
$$;
SELECT test.admit('1'), test.admit('3');
SELECT is(test.committed_by(role, query, 'off'), 'local', name || ' waits for the disk')
FROM test.calls ORDER BY name;
SELECT is(test.committed_by(role, query, wanted), wanted, 'but for no other server unless it is to: ' || wanted)
FROM test.calls
CROSS JOIN unnest(ARRAY['on', 'remote_write', 'remote_apply', 'local']) AS wanted
WHERE name = 'claim';

SELECT * FROM finish();
ROLLBACK;
