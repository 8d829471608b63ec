-- An app account token is a UUID, and means the same in capital letters: a client's uuidString has them, what Apple signs
-- has not. So it is kept in small ones, on either side.
CREATE OR REPLACE FUNCTION iap.register_order(
    bundle_id text, order_id text, user_id text, product_id text, quantity integer DEFAULT 1,
    app_account_token text DEFAULT NULL, created_at timestamptz DEFAULT now()
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, iap, pg_temp AS $$
#variable_conflict use_column
DECLARE
    is_ours boolean;
    token   text := lower(nullif(register_order.app_account_token, ''));
BEGIN
    PERFORM iap.require_id('bundle_id', register_order.bundle_id, 255);
    PERFORM iap.require_id('product_id', register_order.product_id, 255);
    PERFORM iap.require_text('order_id', register_order.order_id, 1000);
    PERFORM iap.require_text('user_id', register_order.user_id, 1000);
    IF coalesce(register_order.quantity, 0) < 1 THEN
        RAISE EXCEPTION 'an order''s quantity is at least 1' USING ERRCODE = 'invalid_parameter_value';
    END IF;

    PERFORM iap.require_moment('created_at', register_order.created_at);
    IF token !~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN
        RAISE EXCEPTION 'app_account_token is no UUID' USING
            ERRCODE = 'invalid_parameter_value',
            HINT = 'It is the UUID that the client handed to StoreKit, such as 7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b.';
    END IF;

    INSERT INTO iap.orders AS known (
        bundle_id, order_id, user_id, product_id, quantity, app_account_token, created_at)
    VALUES (
        register_order.bundle_id, register_order.order_id, register_order.user_id, register_order.product_id,
        register_order.quantity, token, coalesce(register_order.created_at, now()))
    ON CONFLICT (bundle_id, order_id) DO UPDATE
    SET app_account_token = coalesce(known.app_account_token, EXCLUDED.app_account_token)
    WHERE (known.user_id, known.product_id, known.quantity)
        = (EXCLUDED.user_id, EXCLUDED.product_id, EXCLUDED.quantity);
    is_ours := FOUND;
    UPDATE iap.orders
    SET seal = audit.seal(orders)
    WHERE is_ours AND bundle_id = register_order.bundle_id AND order_id = register_order.order_id;
    IF NOT is_ours THEN
        RAISE EXCEPTION 'this order is registered already, with another user, product or quantity' USING
            ERRCODE = 'unique_violation', HINT = 'Give every order an id of its own.';
    END IF;
END
$$;
