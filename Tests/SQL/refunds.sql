-- Of a refund that the ledger knows, its kind may be told later, and by an older word.
BEGIN;
SELECT plan(12);
SET search_path = iap, test, public;

CREATE FUNCTION pg_temp.held(patch jsonb) RETURNS iap.transactions
LANGUAGE sql AS $$
    SELECT jsonb_populate_record(
        NULL::iap.transactions,
        '{"transaction_id": "1", "bundle_id": "com.example.a", "environment": "Production", "place": "black",
        "original_transaction_id": "1", "product_id": "gold", "product_type": "consumable", "quantity": 1,
        "purchased_at": "2026-03-01T00:00Z", "is_trial": false, "source": "verify_receipt",
        "verified_at": "2026-03-05T19:00Z", "booked_milliunits": 4990, "booked_currency": "USD", "booked_as": "list",
        "entry_id": 1, "first_seen_at": "2026-03-02T19:00Z", "nights_confirmed": 1,
        "last_confirmed_at": "2026-03-02T19:00Z", "user_id": "ann", "delivered_by": "claim",
        "delivered_at": "2026-03-03T08:00Z", "refunded_at": "2026-03-05T13:00Z", "refund_reason": "0",
        "refund_run_id": 4, "seal": 1}' || patch)
$$;
-- A notification of the refund, signed before the night that heard of it from verifyReceipt, and handed on after it.
CREATE FUNCTION pg_temp.told(patch jsonb) RETURNS iap.verified
LANGUAGE sql AS $$
    SELECT jsonb_populate_record(
        NULL::iap.verified,
        '{"number": 1, "transaction_id": "1", "bundle_id": "com.example.a", "environment": "Production",
        "original_transaction_id": "1", "product_id": "gold", "quantity": 1, "purchased_at": "2026-03-01T00:00Z",
        "is_trial": false, "source": "local", "verified_at": "2026-03-05T13:30Z", "refunded_at": "2026-03-05T13:00Z",
        "refund_reason": "0", "revocation_type": "REFUND_PRORATED", "revocation_percentage": 33333,
        "exclusion": "refunded"}' || patch)
$$;
CREATE FUNCTION pg_temp.became(held jsonb, told jsonb) RETURNS iap.transactions
LANGUAGE sql AS $$
    SELECT iap.heard(pg_temp.held(held), pg_temp.told(told), 5, '2026-03-06T19:00Z')
$$;

SELECT ok(iap.is_news(pg_temp.held('{}'), pg_temp.told('{}')), 'an older word of what kind it is says something new');
SELECT results_eq(
    $$SELECT revocation_type, revocation_percentage FROM pg_temp.became('{}', '{}')$$,
    $$VALUES ('REFUND_PRORATED', 33333)$$, 'and is taken');
SELECT results_eq(
    $$SELECT place, refunded_at, refund_run_id, verified_at, source::text FROM pg_temp.became('{}', '{}')$$,
    $$VALUES ('black', '2026-03-05T13:00Z'::timestamptz, 4::bigint, '2026-03-05T19:00Z'::timestamptz,
        'verify_receipt')$$,
    'for the refund that it was, and nothing else of it');
SELECT is(
    (pg_temp.became('{}', '{"refunded_at": "2026-03-04T13:00Z"}')).revocation_type, NULL,
    'of another refund an older word says nothing');
SELECT is(
    (pg_temp.became('{"revocation_type": "REFUND_FULL", "revocation_percentage": 100000}', '{}')).revocation_type,
    'REFUND_FULL', 'nor where the kind is known');
SELECT is(
    (pg_temp.became(
        '{"revocation_type": "REFUND_FULL", "revocation_percentage": 100000}',
        '{"verified_at": "2026-03-05T20:00Z"}')).revocation_type,
    'REFUND_PRORATED', 'a later word corrects it');
SELECT is(
    (pg_temp.became('{}', '{"verified_at": "2026-03-05T20:00Z", "refunded_at": "2026-03-05T19:30Z"}')).refunded_at,
    '2026-03-05T19:30Z'::timestamptz, 'and when it was');
SELECT is(
    (pg_temp.became('{"refund_run_id": null}', '{}')).revocation_type, NULL,
    'what the support desk said is no refund of Apple''s');
SELECT is(
    (pg_temp.became('{"refund_reversed_at": "2026-03-05T14:00Z", "refunded_at": null, "refund_run_id": null}', '{}')).refunded_at,
    NULL, 'a word from before it was reversed says nothing');
SELECT is((pg_temp.became('{}', '{"revocation_type": null, "revocation_percentage": null}')).revocation_type, NULL,
    'a word without a kind gives none');
SELECT is(
    (pg_temp.became(
        '{"place": "excluded", "reason": "refunded", "excluded_at": "2026-03-05T19:00Z", "excluded_run_id": 4,
        "user_id": null, "delivered_by": null, "delivered_at": null}', '{}')).revocation_percentage,
    33333, 'what was never delivered is refunded by its share, too');
SELECT is(
    (pg_temp.became('{}', '{"source": "server_api"}')).revocation_percentage, 33333, 'whoever tells it');

SELECT * FROM finish();
ROLLBACK;
