-- The roles of iap-reconcile and what each may do. Run by an administrator after each migration; running it again
-- changes nothing. Give each role a way to log in (a password, a certificate, peer authentication) as is your custom.

DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['iap_job', 'iap_app', 'iap_support', 'iap_finance'] LOOP
        BEGIN
            EXECUTE format(
                'CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS', role_name);
        EXCEPTION
            -- Made before, or by another session at this very moment.
            WHEN duplicate_object OR unique_violation THEN NULL;
        END;
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA iap TO iap_job, iap_app, iap_support;

-- The nightly job. What was delivered is never taken back, and the audit trail only grows.
GRANT SELECT ON ALL TABLES IN SCHEMA iap TO iap_job;
GRANT UPDATE (state, attempts, next_attempt_at, last_attempt_at, verified_at, error_code, error_text)
    ON iap.receipts TO iap_job;
GRANT INSERT, UPDATE, DELETE ON iap.verified, iap.white TO iap_job;
GRANT UPDATE (refunded_at, refund_reason, refund_run_id) ON iap.black TO iap_job;
GRANT INSERT, UPDATE ON iap.excluded, iap.sightings, iap.cases, iap.runs, iap.movements TO iap_job;
GRANT INSERT ON iap.events TO iap_job;
DO $$
BEGIN
    EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO iap_job', current_database());
END
$$;

-- An app's own server: functions, and no table.
GRANT EXECUTE ON FUNCTION iap.submit_receipt, iap.register_order, iap.admit, iap.claim TO iap_app;

-- The support desk: everything but the payloads.
GRANT SELECT ON
    iap.products, iap.orders, iap.uploads, iap.white, iap.black, iap.excluded, iap.sightings, iap.claims, iap.cases,
    iap.runs, iap.events
    TO iap_support;
GRANT SELECT (
    bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, device, submitted_at, state,
    attempts, next_attempt_at, last_attempt_at, verified_at, error_code, error_text)
    ON iap.receipts TO iap_support;
GRANT EXECUTE ON FUNCTION iap.resolve TO iap_support;

-- Finance: their views, and nothing else.
GRANT USAGE ON SCHEMA finance TO iap_finance;
GRANT SELECT ON ALL TABLES IN SCHEMA finance TO iap_finance;
