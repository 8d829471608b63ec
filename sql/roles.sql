-- The six roles, each with just what it needs. Run by an administrator after every migration; running it again is
-- harmless, and takes back what is granted beyond it. No role has a password here: give them one, or let
-- pg_hba.conf know them by their system user.
--
--   iap_job      the nightly job
--   iap_app      an app's own server: calls twelve functions and sees no table
--   iap_support  the support desk: reads all but the payloads of receipts, ends cases, and takes that back
--   iap_finance  reads the views in schema finance
--   iap_privacy  erases a person's data on request
--   iap_import   takes over a company's own history: iap-reconcile import, and the sources of a night

-- In a cluster the rights are the coordinator's; citus.sql gives its workers what they need of them, and is run after
-- this.
SET citus.enable_ddl_propagation TO off;

DO $$
DECLARE
    name   text;
    beyond text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'iap_job', 'iap_app', 'iap_support', 'iap_finance', 'iap_privacy', 'iap_import'
    ] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I LOGIN', name);
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL; -- it is there, or was made this very moment
        END;
        IF EXISTS (
            SELECT FROM pg_catalog.pg_roles
            WHERE rolname = name AND (rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls))
        THEN
            RAISE EXCEPTION 'role % may do more than it should', name USING
                HINT = format('ALTER ROLE %I NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS', name);
        END IF;
        -- What another role may, it may as its member. Of the job's, doctor says it where that role owns the tables.
        SELECT string_agg(quote_ident(other.rolname), ', ' ORDER BY other.rolname) INTO beyond
        FROM pg_catalog.pg_roles AS other
        WHERE other.rolname <> name AND pg_has_role(name::name, other.oid, 'MEMBER')
            AND (
                other.rolsuper OR other.rolcreatedb OR other.rolcreaterole OR other.rolreplication
                OR other.rolbypassrls
                OR other.rolname IN (
                    'iap_job', 'iap_app', 'iap_support', 'iap_finance', 'iap_privacy', 'iap_import',
                    'pg_read_all_data', 'pg_write_all_data', 'pg_read_server_files', 'pg_write_server_files',
                    'pg_execute_server_program')
                OR (
                    name <> 'iap_job'
                    AND other.oid = (SELECT nspowner FROM pg_catalog.pg_namespace WHERE nspname = 'iap')));
        IF beyond IS NOT NULL THEN
            RAISE EXCEPTION 'role % may do more than it should', name USING
                HINT = format('It is a member of %s: REVOKE %s FROM %I', beyond, beyond, name);
        END IF;
        EXECUTE format('REVOKE ALL ON DATABASE %I FROM %I', current_database(), name);
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), name);
    END LOOP;
    -- A dry run writes into temporary tables, and an import and a sales report are staged in one.
    EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO iap_job, iap_import', current_database());
END
$$;

REVOKE ALL ON SCHEMA iap, finance, audit
    FROM PUBLIC, iap_job, iap_app, iap_support, iap_finance, iap_privacy, iap_import;
REVOKE ALL ON ALL TABLES IN SCHEMA iap, finance, audit
    FROM PUBLIC, iap_job, iap_app, iap_support, iap_finance, iap_privacy, iap_import;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA iap, finance, audit
    FROM PUBLIC, iap_job, iap_app, iap_support, iap_finance, iap_privacy, iap_import;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA iap, finance, audit
    FROM PUBLIC, iap_job, iap_app, iap_support, iap_finance, iap_privacy, iap_import;

GRANT USAGE ON SCHEMA iap TO iap_job, iap_app, iap_support, iap_privacy, iap_import;
GRANT USAGE ON SCHEMA finance TO iap_finance, iap_job;
GRANT USAGE ON SCHEMA audit TO iap_job, iap_import;

-- The nightly job. It never deletes from the ledger: a purchase only moves. The inbox belongs to the app's server: the
-- job adds what only Apple told, and writes what became of a receipt. Who holds what up is in PostgreSQL's statistics,
-- which it reads.
GRANT pg_read_all_stats TO iap_job;
GRANT SELECT ON
    iap.migrations, iap.products, iap.orders, iap.receipts, iap.uploads, iap.transactions, iap.moves, iap.entries,
    iap.white, iap.black, iap.excluded, iap.sightings, iap.claims, iap.cases, iap.runs, iap.events, iap.books,
    iap.positions, iap.closings, iap.delivered_originals, iap.untaken_originals,
    iap.delivered_orders, iap.lock_space, iap.entitlements, iap.connections, iap.misdelivered,
    iap.sources, iap.refused_rows, iap.rehearsal, iap.notices, iap.hearings, iap.handed_notices, iap.account_tokens,
    iap.customers, iap.delivery_checks, iap.unproved, iap.paid_prices, iap.unusual_prices, iap.priced,
    iap.case_takings, iap.redeliveries
    TO iap_job;
GRANT UPDATE (
    state, attempts, next_attempt_at, last_attempt_at, verified_at, error_code, error_text, signature, made_at, seal)
    ON iap.receipts TO iap_job;
GRANT INSERT, UPDATE ON
    iap.transactions, iap.sightings, iap.cases, iap.runs, iap.notices, iap.hearings, iap.customers,
    iap.delivery_checks, iap.paid_prices, iap.redeliveries
    TO iap_job;
-- What only Apple told goes into the inbox; what an app's server handed on leaves the one of notices.
GRANT INSERT ON iap.receipts, iap.uploads TO iap_job;
GRANT INSERT, UPDATE (problem, refused_at, is_final), DELETE ON iap.handed_notices TO iap_job;
-- It writes no grant, and locks those that it goes by, which takes a right to write something of them.
GRANT UPDATE (seal) ON iap.entitlements TO iap_job;
-- A customer whom Apple came to name is known by that name; a delivery that Apple came to know is proved; an original
-- that was untaken is taken.
GRANT DELETE ON iap.customers, iap.delivery_checks, iap.untaken_originals TO iap_job;
GRANT INSERT ON
    iap.moves, iap.events, iap.delivered_originals, iap.untaken_originals, iap.connections, iap.unusual_prices
    TO iap_job;
GRANT USAGE ON SEQUENCE iap.trail, iap.receipt_number TO iap_job;
-- Which numbers were drawn: a night begins on no sequence that is behind its table.
GRANT SELECT ON SEQUENCE iap.runs_run_id_seq, iap.sales_reports_report_id_seq TO iap_job;
GRANT EXECUTE ON FUNCTION
    -- What is said of a purchase, and where it is.
    iap.amount_of, iap.corrected, iap.delivered, iap.enter, iap.excluded, iap.log_event, iap.owed_again,
    iap.position_of, iap.present, iap.rebooked, iap.refund_reversed, iap.refunded, iap.share_of, iap.unrefunded,
    -- A later word of Apple's.
    iap.ends_refund, iap.has_access, iap.heard, iap.is_another_night, iap.is_granted_to_others, iap.is_later_refund,
    iap.is_outdated_refund, iap.is_refunded_elsewhere, iap.is_same_refund, iap.is_taken_back, iap.may_not_know,
    iap.paid_again, iap.refund_as_of, iap.stands_otherwise,
    -- The writer of moves.
    iap.follow_cases, iap.is_parted, iap.kind_of_move, iap.log_moves, iap.move, iap.parted_from, iap.refund_shares,
    iap.refuse_unseen_cases, iap.release_orders, iap.release_originals,
    -- What is owed once.
    iap.admit_owed, iap.carry_refunds, iap.carry_reversals, iap.count_refunds_once, iap.is_delivered_otherwise,
    iap.is_dismissed_otherwise, iap.is_elsewhere, iap.is_of_original, iap.is_original_delivered,
    iap.is_period_delivered, iap.is_refunded_otherwise, iap.is_same_period, iap.is_same_purchase,
    iap.locked, iap.looks_back_to, iap.other_ids_of, iap.outcome_otherwise, iap.refunded_as, iap.release_restored,
    iap.release_unread, iap.reverse_otherwise,
    iap.stand_for_refund, iap.take_corrected, iap.take_for_delivery, iap.take_mended, iap.take_originals,
    iap.take_untaken, iap.type_by, iap.type_of, iap.white_bought_once, iap.withdraw_all_restored,
    iap.withdraw_counted_twice,
    -- Whose it is, and cases.
    iap.admitted_otherwise, iap.adopted_for, iap.case_mark, iap.certain_owner, iap.is_order_used, iap.owners_by_history,
    iap.owners_of, iap.taken_until, iap.watch_again,
    -- The batch.
    iap.add_sightings, iap.confirm, iap.enter_unlocked, iap.fills_in, iap.hear, iap.hear_patiently,
    iap.is_confirmation, iap.is_news, iap.record, iap.sight_again, iap.sight_owed, iap.sightings_of,
    -- The books.
    iap.booked, iap.booked_on, iap.close_books, iap.is_balanced, iap.is_beyond, iap.lines_of, iap.white_totals,
    iap.white_turnover, iap.worth,
    -- Retention, and erased users.
    iap.count_purgeable, iap.count_unpaid_orders, iap.is_pseudonym, iap.purge_devices, iap.purge_orders,
    iap.purge_payloads, iap.purgeable_buckets,
    -- Entitlements.
    iap.connect, iap.cover, iap.cover_entitled, iap.granted_after, iap.is_bought_since, iap.is_covered,
    iap.is_granted, iap.is_granted_already, iap.is_granted_elsewhere, iap.is_late_case, iap.over_at, iap.reaches,
    iap.said_for, iap.shorter_said_for, iap.take_for_entitlement, iap.uncover,
    -- Notices, and what Apple is asked.
    iap.asked_after_expiry, iap.hand_in, iap.known_of_heard, iap.note_answers, iap.note_checks, iap.note_customers,
    iap.note_entered, iap.note_hearing, iap.note_prices, iap.owners_by_token, iap.postpone_questions,
    iap.submit_notification, iap.take_answers, iap.take_notices,
    -- Redeliveries.
    iap.end_of_redelivery, iap.is_given_up, iap.order_redeliveries, iap.redeliverable_to, iap.settle_redeliveries,
    -- Statistics.
    iap.analyze_grown
    TO iap_job;
GRANT SELECT ON
    audit.links, audit.frontier, audit.erasures, audit.trail, audit.uncovered, finance.differences, finance.unexplained
    TO iap_job;
-- The statement of a month.
GRANT SELECT ON
    finance.booking_spans, finance.closings, finance.compared_days, finance.journal, finance.proceeds,
    finance.purchases, finance.redeliveries, finance.sold_against_seen
    TO iap_job;
GRANT EXECUTE ON FUNCTION
    finance.closed, finance.statement, finance.statement_sales, finance.statement_proceeds,
    finance.statement_differences
    TO iap_job;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA audit TO iap_job;
-- What Apple's sales reports say: a later report takes an earlier one's place, and nothing of either is changed.
GRANT SELECT ON iap.sales_reports, iap.sales, iap.sold_against_seen TO iap_job;
GRANT INSERT, UPDATE (replaced_at) ON iap.sales_reports TO iap_job;
GRANT INSERT ON iap.sales TO iap_job;
GRANT SELECT, INSERT, UPDATE ON iap.sales_fetches TO iap_job;

-- An app's own server.
GRANT EXECUTE ON FUNCTION
    iap.submit_receipt, iap.submit_notification, iap.register_order, iap.register_user, iap.admit, iap.claim,
    iap.entitle, iap.revoke_entitlement, iap.delivery_status, iap.owed, iap.status,
    iap.take_redeliveries
    TO iap_app;

-- The support desk. A payload is the customer's proof of purchase, with which others could claim.
GRANT SELECT ON
    iap.migrations, iap.products, iap.orders, iap.uploads, iap.transactions, iap.moves, iap.white, iap.black,
    iap.excluded, iap.sightings, iap.claims, iap.cases, iap.runs, iap.events, iap.entitlements, iap.notices,
    iap.account_tokens, iap.redeliveries
    TO iap_support;
GRANT EXECUTE ON FUNCTION iap.is_of_original, iap.is_given_up, iap.type_by TO iap_support;
GRANT SELECT (
    bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, device, submitted_at, state,
    attempts, next_attempt_at, last_attempt_at, verified_at, error_code, error_text, signature, payload_purged_at,
    device_purged_at, is_erased)
    ON iap.receipts TO iap_support;
GRANT SELECT ON iap.case_takings TO iap_support;
GRANT EXECUTE ON FUNCTION
    iap.resolve, iap.reopen, iap.decide, iap.redeliver, iap.adopt, iap.take, iap.note
    TO iap_support;
GRANT EXECUTE ON FUNCTION iap.owners_told, iap.is_known_user TO iap_job, iap_support;

-- The import of a company's own history. It adds, and fills in what was not known; what it finds delivered moves to
-- black. It never reads a payload.
GRANT SELECT ON
    iap.migrations, iap.products, iap.orders, iap.uploads, iap.transactions, iap.white, iap.black, iap.excluded,
    iap.cases, iap.delivered_originals, iap.entitlements, iap.sources, iap.source_files, iap.refused_rows
    TO iap_import;
GRANT SELECT (transaction_id, bundle_id, environment, tries, taken_at, ordered_at) ON iap.redeliveries TO iap_import;
GRANT SELECT (transaction_id, move_id, moved_at) ON iap.moves TO iap_import;
GRANT SELECT (
    bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, device, submitted_at,
    uploaded_again_at, state, next_attempt_at, last_attempt_at, verified_at, error_code, is_erased, payload_purged_at,
    device_purged_at, seal)
    ON iap.receipts TO iap_import;
GRANT INSERT ON
    iap.products, iap.orders, iap.receipts, iap.uploads, iap.transactions, iap.moves, iap.delivered_originals,
    iap.untaken_originals, iap.events, iap.entitlements
    TO iap_import;
GRANT UPDATE (type, name, list_price_milliunits, currency) ON iap.products TO iap_import;
GRANT UPDATE (app_account_token, seal) ON iap.orders TO iap_import;
GRANT UPDATE (
    payload, payload_purged_at, order_id, transaction_id, device, submitted_at, uploaded_again_at, state,
    next_attempt_at, seal)
    ON iap.receipts TO iap_import;
GRANT UPDATE ON iap.transactions, iap.entitlements TO iap_import;
GRANT SELECT, INSERT, UPDATE ON iap.delivery_checks TO iap_import;
GRANT INSERT, UPDATE, DELETE ON iap.sources, iap.source_files, iap.refused_rows TO iap_import;
GRANT UPDATE (state, closed_at, closed_as, closed_by, note, told_run_id, assessed_at, assessed_run_id)
    ON iap.cases TO iap_import;
GRANT USAGE ON SEQUENCE iap.receipt_number, iap.trail TO iap_import;
GRANT EXECUTE ON FUNCTION
    -- What is said of a purchase, and where it is.
    iap.amount_of, iap.delivered, iap.enter, iap.excluded, iap.log_event, iap.position_of, iap.present, iap.rebooked,
    iap.unrefunded,
    -- The writer of moves.
    iap.follow_cases, iap.is_parted, iap.kind_of_move, iap.log_moves, iap.move, iap.parted_from, iap.refund_shares,
    iap.refuse_unseen_cases, iap.release_originals,
    -- What is owed once.
    iap.is_delivered_otherwise, iap.is_of_original, iap.is_original_delivered, iap.is_period_delivered,
    iap.is_same_period, iap.is_same_purchase, iap.take_corrected, iap.take_originals, iap.type_by, iap.type_of,
    iap.withdraw_counted_twice, iap.withdraw_restored,
    -- Entitlements.
    iap.cover_superseded, iap.import_entitlements, iap.is_end_of_period, iap.is_new_word, iap.is_said_for_upgrade,
    iap.keep_entitlement, iap.last_said, iap.reaches, iap.revoke_entitlement, iap.revoke_words, iap.with_shorter,
    -- Imports.
    iap.import_deliveries, iap.imported, iap.is_handed_in_again, iap.look_again, iap.take_imported, iap.take_orders,
    iap.withdraw_beside,
    audit.receipt_seal
    TO iap_import;
GRANT EXECUTE ON FUNCTION
    audit.seal(iap.transactions), audit.seal(iap.uploads), audit.seal(record)
    TO iap_import;
-- By which indexes of the ledger know Apple's days.
GRANT EXECUTE ON FUNCTION finance.pacific_day TO iap_import, iap_job;

-- Whoever answers for people's data.
GRANT SELECT ON iap.migrations TO iap_privacy;
GRANT EXECUTE ON FUNCTION iap.erase_user TO iap_privacy;

-- Finance. The functions in a view are called with the rights of who reads it.
GRANT SELECT ON ALL TABLES IN SCHEMA finance TO iap_finance;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA finance TO iap_finance;
GRANT EXECUTE ON FUNCTION
    iap.position_of, iap.is_beyond, iap.share_of, iap.lines_of, iap.worth, iap.booked_on, iap.type_by,
    iap.is_balanced, iap.is_of_original, iap.order_mark
    TO iap_finance;

-- A session of theirs that opens a transaction and hangs gives its locks back: nobody else's order waits for it.
DO $$
DECLARE
    name     text;
    patience text;
BEGIN
    FOR name, patience IN
        VALUES
            ('iap_app', '60s'), ('iap_support', '5min'), ('iap_privacy', '5min'), ('iap_import', '30min'),
            ('iap_finance', '30min')
    LOOP
        EXECUTE format(
            'ALTER ROLE %I IN DATABASE %I SET idle_in_transaction_session_timeout = %L', name, current_database(),
            patience);
    END LOOP;
END
$$;
