-- What each role may, and may not.
BEGIN;
-- Of a cluster: it makes types and functions beside statements that read the inbox.
SET LOCAL citus.multi_shard_modify_mode TO 'sequential';
SELECT no_plan();

-- None of them is anything more than a login.
SELECT is_empty(
    $$SELECT rolname FROM pg_roles
    WHERE rolname LIKE 'iap\_%'
        AND (rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls OR NOT rolcanlogin)$$,
    'no role is powerful, and each can log in');
SELECT set_eq(
    $$SELECT rolname::text FROM pg_roles WHERE rolname LIKE 'iap\_%'$$,
    ARRAY['iap_job', 'iap_app', 'iap_support', 'iap_finance', 'iap_privacy', 'iap_import'], 'there are six');
SELECT is_empty(
    $$SELECT FROM pg_authid WHERE rolname LIKE 'iap\_%' AND rolpassword IS NOT NULL$$, 'none comes with a password');
SELECT results_eq(
    $$SELECT member::regrole::text, roleid::regrole::text
    FROM pg_auth_members JOIN pg_roles ON pg_roles.oid = member WHERE rolname LIKE 'iap\_%'$$,
    $$VALUES ('iap_job', 'pg_read_all_stats')$$, 'none is a member of another role, but the job, which sees who waits');
SELECT is_empty(
    $$SELECT FROM pg_class JOIN pg_roles ON pg_roles.oid = relowner WHERE rolname LIKE 'iap\_%'$$, 'none owns a table');

-- Nor is one made such a member: roles.sql grants nothing then.
SET LOCAL citus.enable_ddl_propagation TO off;
CREATE FUNCTION test.with_member(role name, member name) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('GRANT %I TO %I', with_member.role, with_member.member);
    EXECUTE (SELECT substring(text FROM 'DO [$][$].*?\n[$][$];') FROM test.files WHERE name = 'roles.sql');
    RETURN 'granted';
EXCEPTION
    WHEN raise_exception THEN
        RETURN SQLERRM;
END
$$;
CREATE ROLE test_group;
CREATE ROLE test_powerful SUPERUSER;
GRANT test_powerful TO test_group;
SELECT is(
    test.with_member(role, member), format('role %s may do more than it should', member),
    format('%s is no member of %s', member, role))
FROM (
    VALUES
        ('pg_read_all_data', 'iap_finance'), ('pg_execute_server_program', 'iap_job'), ('iap_support', 'iap_app'),
        (current_user, 'iap_privacy'), ('test_group', 'iap_import')) AS made (role, member);
REVOKE test_powerful FROM test_group;
SELECT is(test.with_member('test_group', 'iap_app'), 'granted', 'but of a group that may no more');
-- Nor does one keep what it was granted of the database.
SELECT lives_ok(
    format('GRANT ALL ON DATABASE %I TO iap_app, iap_import', current_database()), 'who is given the whole database');
SELECT is(test.with_member('test_group', 'iap_app'), 'granted', 'and set up once more');
SELECT results_eq(
    $$SELECT role, string_agg(privilege_type, ' ' ORDER BY privilege_type)
    FROM unnest(ARRAY['iap_app', 'iap_import']) AS role
    JOIN pg_database ON datname = current_database()
    JOIN LATERAL aclexplode(datacl) AS acl ON acl.grantee = role::regrole
    GROUP BY role ORDER BY role$$,
    $$VALUES ('iap_app', 'CONNECT'), ('iap_import', 'CONNECT TEMPORARY')$$, 'connects, and makes no schema');
REVOKE test_group FROM iap_app;
SET LOCAL citus.enable_ddl_propagation TO on;

-- Nothing is for everyone.
SELECT is_empty(
    $$SELECT oid::regprocedure FROM pg_proc
    WHERE pronamespace IN ('iap'::regnamespace, 'finance'::regnamespace, 'audit'::regnamespace)
        AND EXISTS (SELECT FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) WHERE grantee = 0)$$,
    'no function is for everyone');
SELECT is_empty(
    $$SELECT oid::regclass FROM pg_class
    WHERE relnamespace IN ('iap'::regnamespace, 'finance'::regnamespace, 'audit'::regnamespace)
        AND EXISTS (SELECT FROM aclexplode(relacl) WHERE grantee = 0)$$, 'no table or view is for everyone');
SELECT is_empty(
    $$SELECT nspname FROM pg_namespace
    WHERE nspname IN ('iap', 'finance', 'audit')
        AND EXISTS (SELECT FROM aclexplode(nspacl) WHERE grantee = 0)$$, 'no schema is for everyone');

-- The exact rights on tables: whatever is not in this list is not granted.
CREATE VIEW test.granted AS
SELECT grantee::regrole::text AS role, pg_class.oid::regclass::text AS relation,
    string_agg(lower(privilege_type), ',' ORDER BY privilege_type) AS rights
FROM pg_class
CROSS JOIN aclexplode(relacl)
WHERE relnamespace IN ('iap'::regnamespace, 'finance'::regnamespace, 'audit'::regnamespace) AND grantee <> relowner
GROUP BY 1, 2;
SELECT results_eq(
    $$SELECT relation, rights FROM test.granted WHERE role = 'iap_job' ORDER BY relation$$,
    $$VALUES
        ('audit.erasures', 'select'), ('audit.frontier', 'select'), ('audit.links', 'select'),
        ('audit.trail', 'select'), ('audit.uncovered', 'select'), ('finance.booking_spans', 'select'),
        ('finance.closings', 'select'),
        ('finance.compared_days', 'select'), ('finance.differences', 'select'), ('finance.journal', 'select'),
        ('finance.proceeds', 'select'), ('finance.purchases', 'select'), ('finance.redeliveries', 'select'),
        ('finance.sold_against_seen', 'select'), ('finance.unexplained', 'select'),
        ('iap.account_tokens', 'select'), ('iap.black', 'select'),
        ('iap.books', 'select'), ('iap.case_takings', 'select'), ('iap.cases', 'insert,select,update'),
        ('iap.claims', 'select'), ('iap.closings', 'select'), ('iap.connections', 'insert,select'),
        ('iap.customers', 'delete,insert,select,update'), ('iap.delivered_orders', 'select'),
        ('iap.delivered_originals', 'insert,select'),
        ('iap.delivery_checks', 'delete,insert,select,update'), ('iap.entitlements', 'select'),
        ('iap.entries', 'select'), ('iap.events', 'insert,select'), ('iap.excluded', 'select'),
        ('iap.handed_notices', 'delete,insert,select'), ('iap.hearings', 'insert,select,update'),
        ('iap.lock_space', 'select'), ('iap.migrations', 'select'),
        ('iap.misdelivered', 'select'), ('iap.moves', 'insert,select'), ('iap.notices', 'insert,select,update'),
        ('iap.orders', 'select'),
        ('iap.paid_prices', 'insert,select,update'), ('iap.positions', 'select'), ('iap.priced', 'select'),
        ('iap.products', 'select'), ('iap.receipt_number', 'usage'), ('iap.receipts', 'insert,select'),
        ('iap.redeliveries', 'insert,select,update'), ('iap.refused_rows', 'select'), ('iap.rehearsal', 'select'),
        ('iap.runs', 'insert,select,update'), ('iap.runs_run_id_seq', 'select'), ('iap.sales', 'insert,select'),
        ('iap.sales_fetches', 'insert,select,update'), ('iap.sales_reports', 'insert,select'),
        ('iap.sales_reports_report_id_seq', 'select'),
        ('iap.sightings', 'insert,select,update'), ('iap.sold_against_seen', 'select'), ('iap.sources', 'select'),
        ('iap.trail', 'usage'), ('iap.transactions', 'insert,select,update'), ('iap.unproved', 'select'),
        ('iap.untaken_originals', 'delete,insert,select'), ('iap.unusual_prices', 'insert,select'),
        ('iap.uploads', 'insert,select'), ('iap.white', 'select')$$,
    'the job''s rights on tables');
SELECT results_eq(
    $$SELECT attrelid::regclass::text, attname::text COLLATE "default"
    FROM pg_attribute CROSS JOIN aclexplode(attacl) AS acl
    WHERE acl.grantee = 'iap_job'::regrole AND acl.privilege_type = 'UPDATE' ORDER BY 1, 2$$,
    $$VALUES
        ('iap.entitlements', 'seal'), ('iap.handed_notices', 'is_final'), ('iap.handed_notices', 'problem'),
        ('iap.handed_notices', 'refused_at'),
        ('iap.receipts', 'attempts'), ('iap.receipts', 'error_code'), ('iap.receipts', 'error_text'),
        ('iap.receipts', 'last_attempt_at'), ('iap.receipts', 'made_at'), ('iap.receipts', 'next_attempt_at'),
        ('iap.receipts', 'seal'), ('iap.receipts', 'signature'), ('iap.receipts', 'state'),
        ('iap.receipts', 'verified_at'), ('iap.sales_reports', 'replaced_at')$$,
    'and on columns');
SELECT results_eq(
    $$SELECT relation, rights FROM test.granted WHERE role = 'iap_import' ORDER BY relation$$,
    $$VALUES
        ('iap.black', 'select'), ('iap.cases', 'select'), ('iap.delivered_originals', 'insert,select'),
        ('iap.delivery_checks', 'insert,select,update'), ('iap.entitlements', 'insert,select,update'),
        ('iap.events', 'insert'), ('iap.excluded', 'select'), ('iap.migrations', 'select'), ('iap.moves', 'insert'),
        ('iap.orders', 'insert,select'), ('iap.products', 'insert,select'), ('iap.receipt_number', 'usage'),
        ('iap.receipts', 'insert'), ('iap.refused_rows', 'delete,insert,select,update'),
        ('iap.source_files', 'delete,insert,select,update'), ('iap.sources', 'delete,insert,select,update'),
        ('iap.trail', 'usage'), ('iap.transactions', 'insert,select,update'), ('iap.untaken_originals', 'insert'),
        ('iap.uploads', 'insert,select'), ('iap.white', 'select')$$,
    'the import''s rights on tables');
SELECT results_eq(
    $$SELECT attrelid::regclass::text, attname::text COLLATE "default"
    FROM pg_attribute CROSS JOIN aclexplode(attacl) AS acl
    WHERE acl.grantee = 'iap_import'::regrole AND acl.privilege_type = 'UPDATE' ORDER BY 1, 2$$,
    $$VALUES
        ('iap.cases', 'assessed_at'), ('iap.cases', 'assessed_run_id'), ('iap.cases', 'closed_as'),
        ('iap.cases', 'closed_at'), ('iap.cases', 'closed_by'), ('iap.cases', 'note'), ('iap.cases', 'state'),
        ('iap.cases', 'told_run_id'), ('iap.orders', 'app_account_token'), ('iap.orders', 'seal'),
        ('iap.products', 'currency'), ('iap.products', 'list_price_milliunits'), ('iap.products', 'name'),
        ('iap.products', 'type'), ('iap.receipts', 'device'), ('iap.receipts', 'next_attempt_at'),
        ('iap.receipts', 'order_id'), ('iap.receipts', 'payload'), ('iap.receipts', 'payload_purged_at'),
        ('iap.receipts', 'seal'), ('iap.receipts', 'state'),
        ('iap.receipts', 'submitted_at'), ('iap.receipts', 'transaction_id'),
        ('iap.receipts', 'uploaded_again_at')$$, 'and on columns');
SELECT set_eq(
    $$SELECT attname::text
    FROM pg_attribute CROSS JOIN aclexplode(attacl) AS acl
    WHERE attrelid = 'iap.moves'::regclass AND acl.grantee = 'iap_import'::regrole AND privilege_type = 'SELECT'$$,
    ARRAY['transaction_id', 'move_id', 'moved_at'], 'of a move it sees when it was');
SELECT is_empty($$SELECT * FROM test.granted WHERE role = 'iap_app'$$, 'the app''s server has none');
SELECT results_eq(
    $$SELECT relation, rights FROM test.granted WHERE role = 'iap_privacy'$$,
    $$VALUES ('iap.migrations', 'select')$$, 'who erases sees nothing');
SELECT is_empty(
    $$SELECT * FROM test.granted WHERE role = 'iap_support' AND (rights <> 'select' OR relation NOT LIKE 'iap.%')$$,
    'support only reads');
SELECT is_empty(
    $$SELECT * FROM test.granted WHERE role = 'iap_finance' AND (rights <> 'select' OR relation NOT LIKE 'finance.%')$$,
    'finance only reads, and only its views');
SELECT results_eq(
    $$SELECT pg_class.oid::regclass::text, grantee::regrole::text
    FROM pg_class CROSS JOIN aclexplode(relacl)
    WHERE relkind = 'S' AND relnamespace = 'iap'::regnamespace AND grantee <> relowner AND privilege_type <> 'SELECT'
    ORDER BY 1, 2$$,
    $$VALUES
        ('iap.receipt_number', 'iap_import'), ('iap.receipt_number', 'iap_job'), ('iap.trail', 'iap_import'),
        ('iap.trail', 'iap_job')$$,
    'only job and import draw numbers of the trail and of receipts');
SELECT results_eq(
    $$SELECT grantee::regrole::text, proname::text COLLATE "default" FROM pg_proc CROSS JOIN aclexplode(proacl)
    WHERE pronamespace = 'iap'::regnamespace AND grantee <> proowner
        -- Made by citus.sql.
        AND proname <> 'orders_never_paid'
    ORDER BY 1, 2$$,
    $$VALUES
        ('iap_app', 'admit'), ('iap_app', 'claim'), ('iap_app', 'delivery_status'), ('iap_app', 'entitle'),
        ('iap_app', 'owed'), ('iap_app', 'register_order'), ('iap_app', 'register_user'),
        ('iap_app', 'revoke_entitlement'), ('iap_app', 'status'), ('iap_app', 'submit_notification'),
        ('iap_app', 'submit_receipt'), ('iap_app', 'take_redeliveries'),
        ('iap_finance', 'booked_on'), ('iap_finance', 'is_balanced'), ('iap_finance', 'is_beyond'),
        ('iap_finance', 'is_of_original'), ('iap_finance', 'lines_of'), ('iap_finance', 'order_mark'),
        ('iap_finance', 'position_of'), ('iap_finance', 'share_of'), ('iap_finance', 'type_by'),
        ('iap_finance', 'worth'),
        ('iap_import', 'amount_of'), ('iap_import', 'cover_superseded'), ('iap_import', 'delivered'),
        ('iap_import', 'enter'), ('iap_import', 'excluded'),
        ('iap_import', 'follow_cases'), ('iap_import', 'import_deliveries'), ('iap_import', 'import_entitlements'),
        ('iap_import', 'imported'), ('iap_import', 'is_delivered_otherwise'), ('iap_import', 'is_end_of_period'),
        ('iap_import', 'is_handed_in_again'), ('iap_import', 'is_new_word'),
        ('iap_import', 'is_of_original'), ('iap_import', 'is_original_delivered'), ('iap_import', 'is_parted'),
        ('iap_import', 'is_period_delivered'), ('iap_import', 'is_said_for_upgrade'),
        ('iap_import', 'is_same_period'), ('iap_import', 'is_same_purchase'),
        ('iap_import', 'keep_entitlement'), ('iap_import', 'kind_of_move'), ('iap_import', 'last_said'),
        ('iap_import', 'log_event'), ('iap_import', 'log_moves'), ('iap_import', 'look_again'),
        ('iap_import', 'move'),
        ('iap_import', 'parted_from'), ('iap_import', 'position_of'),
        ('iap_import', 'present'),
        ('iap_import', 'reaches'), ('iap_import', 'rebooked'), ('iap_import', 'refund_shares'),
        ('iap_import', 'refuse_unseen_cases'),
        ('iap_import', 'release_originals'), ('iap_import', 'revoke_entitlement'), ('iap_import', 'revoke_words'),
        ('iap_import', 'take_corrected'),
        ('iap_import', 'take_imported'), ('iap_import', 'take_orders'), ('iap_import', 'take_originals'),
        ('iap_import', 'type_by'), ('iap_import', 'type_of'), ('iap_import', 'unrefunded'),
        ('iap_import', 'with_shorter'), ('iap_import', 'withdraw_beside'), ('iap_import', 'withdraw_counted_twice'),
        ('iap_import', 'withdraw_restored'),
        ('iap_job', 'add_sightings'), ('iap_job', 'admit_owed'),
        ('iap_job', 'admitted_otherwise'), ('iap_job', 'adopted_for'),
        ('iap_job', 'amount_of'), ('iap_job', 'analyze_grown'),
        ('iap_job', 'asked_after_expiry'), ('iap_job', 'booked'), ('iap_job', 'booked_on'),
        ('iap_job', 'carry_refunds'), ('iap_job', 'carry_reversals'), ('iap_job', 'case_mark'),
        ('iap_job', 'certain_owner'), ('iap_job', 'close_books'), ('iap_job', 'confirm'), ('iap_job', 'connect'),
        ('iap_job', 'corrected'), ('iap_job', 'count_purgeable'), ('iap_job', 'count_refunds_once'),
        ('iap_job', 'count_unpaid_orders'), ('iap_job', 'cover'), ('iap_job', 'cover_entitled'),
        ('iap_job', 'delivered'), ('iap_job', 'end_of_redelivery'), ('iap_job', 'ends_refund'), ('iap_job', 'enter'),
        ('iap_job', 'enter_unlocked'), ('iap_job', 'excluded'), ('iap_job', 'fills_in'),
        ('iap_job', 'follow_cases'),
        ('iap_job', 'granted_after'), ('iap_job', 'hand_in'),
        ('iap_job', 'has_access'), ('iap_job', 'hear'),
        ('iap_job', 'hear_patiently'), ('iap_job', 'heard'), ('iap_job', 'is_another_night'),
        ('iap_job', 'is_balanced'), ('iap_job', 'is_beyond'),
        ('iap_job', 'is_bought_since'), ('iap_job', 'is_confirmation'), ('iap_job', 'is_covered'),
        ('iap_job', 'is_delivered_otherwise'), ('iap_job', 'is_dismissed_otherwise'),
        ('iap_job', 'is_elsewhere'), ('iap_job', 'is_given_up'),
        ('iap_job', 'is_granted'), ('iap_job', 'is_granted_already'), ('iap_job', 'is_granted_elsewhere'),
        ('iap_job', 'is_granted_to_others'),
        ('iap_job', 'is_known_user'),
        ('iap_job', 'is_late_case'), ('iap_job', 'is_later_refund'), ('iap_job', 'is_news'),
        ('iap_job', 'is_of_original'), ('iap_job', 'is_order_used'), ('iap_job', 'is_original_delivered'),
        ('iap_job', 'is_outdated_refund'),
        ('iap_job', 'is_parted'), ('iap_job', 'is_period_delivered'), ('iap_job', 'is_pseudonym'),
        ('iap_job', 'is_refunded_elsewhere'),
        ('iap_job', 'is_refunded_otherwise'), ('iap_job', 'is_same_period'), ('iap_job', 'is_same_purchase'),
        ('iap_job', 'is_same_refund'), ('iap_job', 'is_taken_back'), ('iap_job', 'kind_of_move'),
        ('iap_job', 'known_of_heard'), ('iap_job', 'lines_of'), ('iap_job', 'locked'),
        ('iap_job', 'log_event'), ('iap_job', 'log_moves'),
        ('iap_job', 'looks_back_to'),
        ('iap_job', 'may_not_know'), ('iap_job', 'move'), ('iap_job', 'note_answers'), ('iap_job', 'note_checks'),
        ('iap_job', 'note_customers'), ('iap_job', 'note_entered'), ('iap_job', 'note_hearing'),
        ('iap_job', 'note_prices'),
        ('iap_job', 'order_redeliveries'), ('iap_job', 'other_ids_of'), ('iap_job', 'outcome_otherwise'),
        ('iap_job', 'over_at'),
        ('iap_job', 'owed_again'),
        ('iap_job', 'owners_by_history'), ('iap_job', 'owners_by_token'), ('iap_job', 'owners_of'),
        ('iap_job', 'owners_told'), ('iap_job', 'paid_again'), ('iap_job', 'parted_from'), ('iap_job', 'position_of'),
        ('iap_job', 'postpone_questions'), ('iap_job', 'present'), ('iap_job', 'purge_devices'),
        ('iap_job', 'purge_orders'), ('iap_job', 'purge_payloads'), ('iap_job', 'purgeable_buckets'),
        ('iap_job', 'reaches'), ('iap_job', 'rebooked'), ('iap_job', 'record'), ('iap_job', 'redeliverable_to'),
        ('iap_job', 'refund_as_of'), ('iap_job', 'refund_reversed'),
        ('iap_job', 'refund_shares'), ('iap_job', 'refunded'), ('iap_job', 'refunded_as'),
        ('iap_job', 'refuse_unseen_cases'),
        ('iap_job', 'release_orders'), ('iap_job', 'release_originals'), ('iap_job', 'release_restored'),
        ('iap_job', 'release_unread'), ('iap_job', 'reverse_otherwise'),
        ('iap_job', 'said_for'), ('iap_job', 'settle_redeliveries'), ('iap_job', 'share_of'),
        ('iap_job', 'shorter_said_for'),
        ('iap_job', 'sight_again'), ('iap_job', 'sight_owed'), ('iap_job', 'sightings_of'),
        ('iap_job', 'stand_for_refund'), ('iap_job', 'stands_otherwise'),
        ('iap_job', 'submit_notification'), ('iap_job', 'take_answers'), ('iap_job', 'take_corrected'),
        ('iap_job', 'take_for_delivery'), ('iap_job', 'take_for_entitlement'), ('iap_job', 'take_mended'),
        ('iap_job', 'take_notices'), ('iap_job', 'take_originals'), ('iap_job', 'take_untaken'),
        ('iap_job', 'taken_until'), ('iap_job', 'type_by'),
        ('iap_job', 'type_of'),
        ('iap_job', 'uncover'), ('iap_job', 'unrefunded'), ('iap_job', 'watch_again'),
        ('iap_job', 'white_bought_once'), ('iap_job', 'white_totals'),
        ('iap_job', 'white_turnover'), ('iap_job', 'withdraw_all_restored'), ('iap_job', 'withdraw_counted_twice'),
        ('iap_job', 'worth'),
        ('iap_privacy', 'erase_user'),
        ('iap_support', 'adopt'), ('iap_support', 'decide'), ('iap_support', 'is_given_up'),
        ('iap_support', 'is_known_user'), ('iap_support', 'is_of_original'), ('iap_support', 'note'),
        ('iap_support', 'owners_told'), ('iap_support', 'redeliver'), ('iap_support', 'reopen'),
        ('iap_support', 'resolve'), ('iap_support', 'take'), ('iap_support', 'type_by')$$,
    'the functions that are granted');
SELECT results_eq(
    $$SELECT grantee::regrole::text, proname::text COLLATE "default", count(*)
    FROM pg_proc CROSS JOIN aclexplode(proacl)
    WHERE pronamespace = 'audit'::regnamespace AND grantee <> proowner GROUP BY 1, 2 ORDER BY 1, 2$$,
    $$VALUES
        ('iap_import', 'receipt_seal', 1::bigint), ('iap_import', 'seal', 3),
        ('iap_job', 'block', 1), ('iap_job', 'broken_links', 1), ('iap_job', 'digest', 2), ('iap_job', 'erased_by', 1),
        ('iap_job', 'first_link', 1), ('iap_job', 'receipt_seal', 1), ('iap_job', 'seal', 5),
        ('iap_job', 'wrong_erasures', 1)$$,
    'and those that seal, and look at the chain');

-- Nor does one, or everyone, keep what was granted beyond that: roles.sql takes it back.
CREATE VIEW test.rights AS
SELECT kind, of, part, role, privilege_type, is_grantable
FROM (
    SELECT 'schema', oid::regnamespace::text, '', nspacl FROM pg_namespace WHERE nspname IN ('iap', 'finance', 'audit')
    UNION ALL
    SELECT 'table', oid::regclass::text, '', relacl FROM pg_class
    WHERE relnamespace IN ('iap'::regnamespace, 'finance'::regnamespace, 'audit'::regnamespace)
    UNION ALL
    SELECT 'column', attrelid::regclass::text, attname, attacl
    FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace IN ('iap'::regnamespace, 'finance'::regnamespace, 'audit'::regnamespace)
    UNION ALL
    SELECT 'function', oid::regprocedure::text, '', proacl FROM pg_proc
    WHERE pronamespace IN ('iap'::regnamespace, 'finance'::regnamespace, 'audit'::regnamespace)
        -- Made by citus.sql, which grants it after this.
        AND proname <> 'orders_never_paid'
) AS held (kind, of, part, acl)
CROSS JOIN aclexplode(acl)
CROSS JOIN LATERAL (SELECT CASE grantee WHEN 0 THEN 'everyone' ELSE grantee::regrole::text END AS role) AS named;
SET LOCAL citus.enable_ddl_propagation TO off;
CREATE TABLE test.wanted AS SELECT * FROM test.rights;
SELECT set_eq(
    $$SELECT concat_ws(' ', of, privilege_type, string_agg(role, ' ' ORDER BY role))
    FROM test.wanted WHERE kind = 'schema' AND role LIKE 'iap\_%' GROUP BY of, privilege_type$$,
    ARRAY[
        'audit USAGE iap_import iap_job', 'finance USAGE iap_finance iap_job',
        'iap USAGE iap_app iap_import iap_job iap_privacy iap_support'], 'who may look into which schema');
SELECT set_eq(
    $$SELECT concat_ws(' ', role, of, string_agg(part, ' ' ORDER BY part))
    FROM test.wanted WHERE kind = 'column' AND privilege_type = 'SELECT' AND role <> 'iap_support' GROUP BY role, of$$,
    ARRAY[
        'iap_import iap.moves move_id moved_at transaction_id',
        'iap_import iap.receipts bucket bundle_id device device_purged_at error_code is_erased last_attempt_at '
            'next_attempt_at order_id payload_purged_at payload_sha256 receipt_id seal state submitted_at '
            'transaction_id uploaded_again_at user_id verified_at',
        'iap_import iap.redeliveries bundle_id environment ordered_at taken_at transaction_id tries'],
    'what an import sees of a row');
SELECT results_eq(
    $$SELECT attname::text COLLATE "default" FROM pg_attribute
    WHERE attrelid = 'iap.receipts'::regclass AND attnum > 0 AND NOT attisdropped
        AND NOT has_column_privilege('iap_support', attrelid, attnum, 'SELECT') ORDER BY 1$$,
    ARRAY['made_at', 'payload', 'seal', 'uploaded_again_at', 'uploads_left_out'],
    'and what the desk does not see of a receipt');
SELECT results_eq(
    $$SELECT of FROM test.wanted WHERE kind = 'table' AND role = 'iap_support' ORDER BY of$$,
    ARRAY[
        'iap.account_tokens', 'iap.black', 'iap.case_takings', 'iap.cases', 'iap.claims', 'iap.entitlements',
        'iap.events', 'iap.excluded', 'iap.migrations', 'iap.moves', 'iap.notices', 'iap.orders', 'iap.products',
        'iap.redeliveries', 'iap.runs', 'iap.sightings', 'iap.transactions', 'iap.uploads', 'iap.white'],
    'the desk''s tables');
DO $$
BEGIN
    EXECUTE (
        SELECT string_agg(
            format(
                'GRANT ALL ON SCHEMA %1$I TO %2$s; GRANT ALL ON ALL TABLES IN SCHEMA %1$I TO %2$s; '
                'GRANT ALL ON ALL SEQUENCES IN SCHEMA %1$I TO %2$s; GRANT ALL ON ALL FUNCTIONS IN SCHEMA %1$I TO %2$s',
                schema, 'PUBLIC, iap_job, iap_app, iap_support, iap_finance, iap_privacy, iap_import'),
            '; ')
        FROM unnest(ARRAY['iap', 'finance', 'audit']) AS schema);
END
$$;
GRANT UPDATE (payload) ON iap.receipts TO iap_support;
SELECT is_empty(
    $$SELECT role, kind
    FROM unnest(ARRAY[
        'everyone', 'iap_job', 'iap_app', 'iap_support', 'iap_finance', 'iap_privacy', 'iap_import']) AS role
    CROSS JOIN unnest(ARRAY['schema', 'table', 'function']) AS kind
    EXCEPT
    SELECT role, kind FROM (SELECT * FROM test.rights EXCEPT SELECT * FROM test.wanted) AS beyond$$,
    'where each, and everyone, is granted more');
DO $$
BEGIN
    EXECUTE (SELECT text FROM test.files WHERE name = 'roles.sql');
END
$$;
SELECT set_eq('SELECT * FROM test.rights', 'SELECT * FROM test.wanted', 'each may what it should, and no more');
SET LOCAL citus.enable_ddl_propagation TO on;

-- As they meet it.
SELECT test.is_denied('iap_app', 'SELECT payload FROM iap.receipts');
SELECT test.is_denied('iap_app', 'SELECT transaction_id FROM iap.white');
SELECT test.is_denied('iap_app', 'SELECT count(*) FROM iap.black');
SELECT test.is_denied('iap_app', $$SELECT nextval('iap.receipt_number')$$);
SELECT test.is_denied('iap_app', $$SELECT iap.resolve('1', 'delivered', 'me', 'mine')$$);
SELECT test.is_denied('iap_app', $$SELECT iap.reopen('1', 'me', 'mine')$$);
SELECT test.is_denied('iap_app', $$SELECT iap.delivered(NULL, 'me', NULL, 'claim', now())$$);
SELECT test.is_denied('iap_app', $$SELECT iap.move('{}', 'claimed', 'me', NULL, now())$$);
SELECT test.is_denied('iap_app', $$SELECT iap.enter('{}', NULL, now())$$);
SELECT test.is_denied('iap_app', 'SELECT * FROM finance.deliveries');
SELECT test.is_denied('iap_support', 'SELECT payload FROM iap.receipts');
SELECT test.is_denied('iap_support', 'SELECT * FROM iap.receipts');
SELECT lives_ok(
    $$SELECT test.run_as('iap_support',
    'SELECT count(*) FROM (SELECT user_id, state, error_text FROM iap.receipts) AS r')$$,
    'support sees the rest of a receipt');
SELECT test.is_denied('iap_support', $$SELECT iap.claim('com.example.a', '1', 'me')$$);
SELECT test.is_denied('iap_support', $$SELECT iap.owed_again(NULL)$$);
SELECT test.is_denied('iap_support', $$SELECT iap.move('{}', 'reopened', 'me', NULL, now())$$);
SELECT test.is_denied('iap_support', 'WITH gone AS (DELETE FROM iap.white RETURNING 1) SELECT count(*) FROM gone');
SELECT test.is_denied(
    'iap_support', $$WITH u AS (UPDATE iap.white SET quantity = 9 RETURNING 1) SELECT count(*) FROM u$$);
SELECT test.is_denied('iap_support', 'SELECT * FROM finance.deliveries');
SELECT test.is_denied('iap_import', 'SELECT payload FROM iap.receipts');
SELECT test.is_denied('iap_import', 'WITH gone AS (DELETE FROM iap.black RETURNING 1) SELECT count(*) FROM gone');
SELECT test.is_denied('iap_import', $$SELECT iap.claim('com.example.a', '1', 'me')$$);
SELECT test.is_denied(
    'iap_import', $$WITH u AS (UPDATE iap.black SET user_id = 'x' RETURNING 1) SELECT count(*) FROM u$$);
SELECT test.is_denied(
    'iap_import', $$WITH u AS (UPDATE iap.receipts SET user_id = 'x' RETURNING 1) SELECT count(*) FROM u$$);
SELECT test.is_denied('iap_privacy', 'SELECT user_id FROM iap.black');
SELECT test.is_denied('iap_privacy', $$SELECT iap.resolve('1', 'delivered', 'me', 'mine')$$);
SELECT test.is_denied('iap_privacy', $$SELECT iap.replace_user('ann', 'x', 'y', 1)$$);
SELECT test.is_denied('iap_support', $$SELECT iap.erase_user('ann', 'me')$$);
SELECT test.is_denied('iap_job', $$SELECT iap.erase_user('ann', 'me')$$);
SELECT test.is_denied('iap_support', $$SELECT iap.purge_payloads(1::smallint, now(), 1)$$);
SELECT test.is_denied('iap_finance', 'SELECT user_id FROM iap.black');
SELECT test.is_denied('iap_finance', $$SELECT iap.claim('com.example.a', '1', 'me')$$);
SELECT test.is_denied('iap_finance', $$SELECT iap.resolve('1', 'delivered', 'me', 'mine')$$);
SELECT test.is_denied('iap_finance', $$SELECT iap.reopen('1', 'me', 'mine')$$);
SELECT test.is_denied('iap_job', 'WITH gone AS (DELETE FROM iap.black RETURNING 1) SELECT count(*) FROM gone');
SELECT test.is_denied('iap_job', 'WITH gone AS (DELETE FROM iap.receipts RETURNING 1) SELECT count(*) FROM gone');
SELECT test.is_denied('iap_job', $$WITH u AS (UPDATE iap.black SET user_id = 'x' RETURNING 1) SELECT count(*) FROM u$$);
SELECT test.is_denied(
    'iap_job', $$WITH u AS (UPDATE iap.receipts SET payload = '' RETURNING 1) SELECT count(*) FROM u$$);
SELECT test.is_denied(
    'iap_job', format('WITH gone AS (DELETE FROM %s RETURNING 1) SELECT count(*) FROM gone', relation))
FROM unnest(ARRAY[
    'iap.transactions', 'iap.moves', 'iap.events', 'iap.books', 'iap.sightings', 'iap.delivered_originals', 'iap.cases',
    'iap.runs', 'audit.links', 'audit.erasures', 'audit.frontier']) AS relation;
SELECT test.is_denied(
    'iap_job', format('WITH u AS (UPDATE %s SET %s = %2$s RETURNING 1) SELECT count(*) FROM u', relation, name))
FROM (
    VALUES
        ('iap.moves', 'seal'), ('iap.events', 'seal'), ('iap.books', 'units'), ('iap.claims', 'seal'),
        ('iap.delivered_originals', 'transaction_id'), ('audit.links', 'link'), ('audit.erasures', 'digest'),
        ('audit.frontier', 'upto')
) AS kept (relation, name);
SELECT test.is_denied('iap_job', $$SELECT iap.claim('com.example.a', '1', 'me')$$);
SELECT test.is_denied('iap_job', $$SELECT iap.resolve('1', 'delivered', 'me', 'mine')$$);
SELECT test.is_denied('iap_job', $$SELECT iap.reopen('1', 'me', 'mine')$$);
SELECT test.is_denied('iap_job', $$SELECT iap.decide('1', 'a', 'Production', 'm', 'delivered', 'me', 'mine')$$);
SELECT test.is_denied('iap_app', $$SELECT iap.decide('1', 'a', 'Production', 'm', 'delivered', 'me', 'mine')$$);
SELECT test.is_denied('iap_job', 'SELECT * FROM finance.deliveries');
SELECT test.is_denied('iap_support', 'SELECT * FROM audit.links');
SELECT test.is_denied('iap_app', 'SELECT audit.broken_links()');
SELECT test.is_denied('iap_import', 'SELECT iap.close_books(1)');
SELECT test.is_denied('iap_import', $$SELECT * FROM iap.moves$$);
SELECT test.is_denied('iap_job', 'WITH gone AS (DELETE FROM iap.sales RETURNING 1) SELECT count(*) FROM gone');
SELECT test.is_denied('iap_job', 'WITH u AS (UPDATE iap.sales SET units = 0 RETURNING 1) SELECT count(*) FROM u');
SELECT test.is_denied('iap_finance', 'SELECT * FROM iap.sold_against_seen');
SELECT test.is_denied('iap_import', 'SELECT * FROM iap.sales');

-- A session that hangs gives its locks back. That is set in the database that roles.sql is run in: its copies don't
-- take it along.
SELECT results_eq(
    $$SELECT setrole::regrole::text, setconfig::text COLLATE "default"
    FROM pg_db_role_setting JOIN pg_database ON pg_database.oid = setdatabase
    WHERE datname = 'iap' ORDER BY 1$$,
    $$VALUES
        ('iap_app', '{idle_in_transaction_session_timeout=60s}'),
        ('iap_finance', '{idle_in_transaction_session_timeout=30min}'),
        ('iap_import', '{idle_in_transaction_session_timeout=30min}'),
        ('iap_privacy', '{idle_in_transaction_session_timeout=5min}'),
        ('iap_support', '{idle_in_transaction_session_timeout=5min}')$$, 'sessions that hang are ended');

-- A function with its owner's rights can't be led astray by the caller's search path. The others run under the
-- caller's, with the caller's rights: a dry run puts shadows of the tables in front.
SELECT is_empty(
    $$SELECT oid::regprocedure FROM pg_proc
    WHERE pronamespace IN ('iap'::regnamespace, 'finance'::regnamespace, 'audit'::regnamespace)
        AND (prosecdef OR pronamespace = 'finance'::regnamespace)
        -- An expression's names were looked up when it was made.
        AND prosqlbody IS NULL
        AND NOT coalesce(proconfig && ARRAY['search_path=pg_catalog, pg_temp', 'search_path=pg_catalog, iap, pg_temp'],
            false)$$, 'every function with its owner''s rights, and every one of finance, has a fixed search path');
SELECT set_eq(
    $$SELECT proname::text FROM pg_proc
    WHERE pronamespace IN ('iap'::regnamespace, 'finance'::regnamespace, 'audit'::regnamespace) AND prosecdef
        -- Made by citus.sql.
        AND proname <> 'orders_never_paid'$$,
    ARRAY[
        'submit_receipt', 'submit_notification', 'delivery_status', 'register_user', 'register_order', 'admit', 'claim',
        'entitle', 'revoke_entitlement', 'revoke_words', 'cover_superseded', 'owed', 'status', 'take_redeliveries',
        'redeliver', 'resolve', 'reopen', 'decide', 'adopt', 'take', 'note', 'owners_told', 'close_books',
        'purge_payloads', 'purgeable_buckets', 'purge_devices', 'count_purgeable', 'purge_orders',
        'count_unpaid_orders', 'erase_user', 'analyze_grown', 'release_originals', 'release_orders', 'take_orders',
        'refuse_unseen_cases'],
    'only those that are granted run with their owner''s rights');
CREATE FUNCTION test.shadowed_claim() RETURNS text
LANGUAGE plpgsql SET search_path = public AS $$
DECLARE
    outcome text;
BEGIN
    SET LOCAL ROLE iap_app;
    CREATE TEMPORARY TABLE transactions (transaction_id text, bundle_id text, environment text);
    CREATE TEMPORARY TABLE moves (move_id bigint);
    CREATE TEMPORARY TABLE products (bundle_id text, product_id text, type text);
    CREATE FUNCTION pg_temp.now() RETURNS timestamptz LANGUAGE sql AS $now$ SELECT 'epoch'::timestamptz $now$;
    SET LOCAL search_path = pg_temp, iap, pg_catalog;
    outcome := iap.claim('com.example.a', '1', 'ann');
    RESET ROLE;
    RETURN outcome;
END
$$;
SELECT test.admit('1');
SELECT is(
    test.run_as('iap_app', $$SELECT current_user$$), 'iap_app', 'the tests do run as the role');
SELECT is(test.shadowed_claim(), 'delivered', 'a claim past temporary shadows');
SELECT is((SELECT delivered_at FROM iap.black), now(), 'goes to the real table, at the real time');

SELECT * FROM finish();
ROLLBACK;
