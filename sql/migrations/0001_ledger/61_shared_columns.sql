-- What columns of the same name say in all views of finance, unless one says more.
DO $$
DECLARE
    said record;
BEGIN
    FOR said IN
        SELECT attrelid::regclass AS relation, attname AS name, text
        FROM (
            VALUES
                ('amount', 'In units of the currency; NULL where no price is known.'),
                ('bundle_id', 'The app.'),
                ('currency', 'Of the amount; NULL where no price is known.'),
                ('delivered_at', 'When the goods were credited.'),
                ('delivery_day', 'The day on which the goods were credited.'),
                ('order_id', 'The app''s own order, if one was named.'),
                (
                    'price_source',
                    'apple: as paid; list: the list price times the quantity; trial: free; shared: another '
                    'paid; unknown: no price is known.'),
                ('product_id', 'The product.'),
                ('product_name', 'Its name; NULL if the products do not list it.'),
                ('purchased_at', 'When it was bought.'),
                ('refund_day', 'The day of the refund.'),
                ('refund_reason', 'As Apple gave it; NULL if Apple gave none.'),
                ('refunded_at', 'When Apple refunded it; NULL if it did not.'),
                ('run_id', 'The run.'),
                ('transaction_id', 'Apple''s id of the purchase.'),
                ('transactions', 'How many purchases.'),
                ('units', 'The quantity, or the sum of quantities.')
        ) AS shared (name, text)
        JOIN pg_attribute ON attname = shared.name
        JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = 'finance'::regnamespace AND relkind = 'v' AND col_description(attrelid, attnum) IS NULL
    LOOP
        EXECUTE format('COMMENT ON COLUMN %s.%I IS %L', said.relation, said.name, said.text);
    END LOOP;
END
$$;
