-- What was delivered, so that nothing is delivered twice: purchases under several ids, and orders.

-- A non-consumable that was bought once is delivered once, and so is each period of a subscription, under whatever id
-- it is restored: the first to deliver takes this row, whatever the isolation level.
CREATE TABLE iap.delivered_originals (
    original_transaction_id text COLLATE "C" NOT NULL,
    bundle_id               text COLLATE "C" NOT NULL,
    environment             text NOT NULL,
    transaction_id          text COLLATE "C" NOT NULL,
    -- Of a subscription the period; empty for what is bought once.
    web_order_line_item_id  text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (original_transaction_id, bundle_id, environment, web_order_line_item_id)
);

-- What another session, about to deliver the same, kept from being noted there when Apple told of it: see
-- iap.take_untaken.
CREATE TABLE iap.untaken_originals (
    transaction_id          text COLLATE "C" NOT NULL,
    bundle_id               text COLLATE "C" NOT NULL,
    environment             text NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (transaction_id, bundle_id, environment, original_transaction_id)
);

-- An order is delivered once: the first delivery that names it takes this row, whatever the isolation level. The
-- renewals of a subscription may all name the order by which it was bought.
CREATE TABLE iap.delivered_orders (
    order_id                text NOT NULL,
    bundle_id               text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (order_id, bundle_id)
);
COMMENT ON TABLE iap.delivered_orders IS 'The orders that were delivered, and the original purchase of each.';

COMMENT ON TABLE iap.delivered_originals IS
    'The original purchases of non-consumables, and the periods of subscriptions, that were delivered, and under which '
    'transaction id. Of a non-consumable also that id itself, which another may name as its original.';
COMMENT ON TABLE iap.untaken_originals IS
    'Delivered transactions of whose original purchase, or period, Apple told what iap.delivered_originals does not '
    'say yet. The next night has it say so.';
COMMENT ON COLUMN iap.untaken_originals.original_transaction_id IS 'The original that it was taken for.';
