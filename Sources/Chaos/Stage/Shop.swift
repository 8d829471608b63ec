import AppStoreSimulator
import Foundation
import PostgreSQL

/// What the company of the world keeps in tables of its own beside the world's: what its clients uploaded, and what it
/// credited by hand. The night pulls all of them.
struct Shop {
    let world: World

    private static let uploads = """
        CREATE TABLE company.uploads AS
        SELECT bundle_id, user_id, payload, uploads.transaction_id, uploads.order_id, submitted_at
        FROM iap.receipts
        JOIN iap.uploads USING (bucket, receipt_id);
        """

    /// Fills the tables in the world's database. Every fifth lost order of an app that claims was credited by hand.
    func open(in connection: Connection) async throws {
        try await connection.executeScript(unsafe: Self.uploads)
        let lost = world.truth().lost.filter { $0.bundleID == World.apps.first?.bundleID }
        let credited = lost.enumerated().filter { $0.offset % 5 == 0 }.map(\.element)
        try await connection.execute(
            """
            INSERT INTO company.delivered (
                bundle_id, transaction_id, product_id, quantity, user_id, purchased_at, delivered_at)
            SELECT bundle_id, transaction_id, product_id, 1, user_id, purchased_at, \(Theatre.now - 600)
            FROM unnest(
                \(credited.map(\.bundleID)), \(credited.map(\.transactionID)), \(credited.map(\.productID)),
                \(credited.map(\.userID)), \(credited.map(\.purchasedAt))
            ) AS credited (bundle_id, transaction_id, product_id, user_id, purchased_at)
            """)
    }

    /// The configuration's sections. That of entitlements has no watermark, and so no column for one: every night reads
    /// all of them.
    static func sections(conninfo: String) -> [String: [String: String]] {
        let receipts = (kind: "receipts", query: "SELECT * FROM company.uploads", watermark: "submitted_at")
        var sections = Dictionary(
            uniqueKeysWithValues: (CompanyTables.sources + [receipts]).map { source in
                (
                    "source \(source.kind)",
                    ["conninfo": conninfo, "query": source.query, "watermark": source.watermark]
                )
            })
        sections["source entitlements"] = [
            "conninfo": conninfo,
            "query":
                "SELECT bundle_id, original_transaction_id, user_id, entitled_until, revoked_at FROM company.entitlements",
        ]
        return sections
    }
}
