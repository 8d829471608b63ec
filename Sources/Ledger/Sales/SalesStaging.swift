import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Makes the session ready to take sales reports. The tables are the session's own, and empty again after each
    /// report.
    public func prepareSales() async throws(LedgerError) {
        try await translating {
            try await connection.executeScript(
                unsafe: """
                    CREATE TEMPORARY TABLE staged_sales (
                        day text NOT NULL, developer text NOT NULL, app_sku text NOT NULL,
                        product_id text COLLATE "C" NOT NULL, type text NOT NULL, storefront text NOT NULL,
                        price_milliunits bigint, currency text, proceeds_milliunits bigint, proceeds_currency text,
                        units bigint NOT NULL, bundle_id text COLLATE "C"
                    );
                    CREATE TEMPORARY TABLE incoming_days (
                        day date, developer text, lines bigint, units_sold bigint, units_refunded bigint,
                        bundle_ids text[] COLLATE "C", standing text
                    );
                    CREATE TEMPORARY TABLE incoming_sales (LIKE iap.sales, day date, developer text);
                    ALTER TABLE incoming_sales DROP COLUMN report_id, DROP COLUMN is_refund;
                    """)
        }
    }

    /// Stages lines of a report; nothing counts before it is taken.
    public func stage(_ sales: [SalesLine]) async throws(LedgerError) {
        let target = CopyTarget(
            table: "staged_sales",
            columns: [
                "day", "developer", "app_sku", "product_id", "type", "storefront", "price_milliunits", "currency",
                "proceeds_milliunits", "proceeds_currency", "units",
            ])
        try await translating {
            let copied = try await connection.copyIn(into: target, rows: sales) { $0.append(to: &$1) }
            guard copied == sales.count else {
                throw LedgerError.failed("staged \(copied) of \(sales.count) lines")
            }
        }
    }

    /// Forgets what was staged of a report that can't be taken.
    public func discardStagedSales() async throws(LedgerError) {
        try await translating {
            try await connection.executeScript(unsafe: "TRUNCATE staged_sales, incoming_days, incoming_sales")
        }
    }
}

extension SalesLine {
    fileprivate func append(to row: inout CopyRow) {
        row.append(day.description)
        row.append(developer)
        row.append(appSKU)
        row.append(productID.text)
        row.append(type)
        row.append(storefront)
        row.append(price?.milliunits ?? (isFree ? 0 : nil))
        row.append(price?.currency.text)
        row.append(proceeds?.milliunits)
        row.append(proceeds?.currency.text)
        row.append(units)
    }
}
