import Foundation
import PostgreSQL
import Reconciliation

/// When receipts were made: those that hold a case, and each user's latest.
struct ReceiptDates {
    fileprivate var made: [Int64: Date] = [:]
    /// By user.
    fileprivate var latest: [NameInApp: Date] = [:]

    /// Whether a user whose receipt held it handed in one that was made after all that hold it.
    func isMissingLater(_ facts: CaseFacts) -> Bool {
        let held = facts.sightings.filter { $0.isInReceipt && made[$0.receiptID] != nil }
        guard let lastHeld = held.compactMap({ made[$0.receiptID] }).max() else { return false }
        return held.contains { sighting in
            guard let user = sighting.userID, let latest = latest[NameInApp(facts.key.bundleID.text, user)]
            else { return false }
            return latest > lastHeld
        }
    }
}

extension LedgerSession {
    func receiptDates(for page: [CaseFacts]) async throws -> ReceiptDates {
        let sightings = page.flatMap { $0.sightings.filter(\.isInReceipt) }
        var dates = ReceiptDates()
        guard !sightings.isEmpty else { return dates }
        // What a dry run found is in the shadow, what earlier nights found in the table.
        for table: SQL in isShadowed ? ["\(stored: .receipts)", "receipts"] : ["\(stored: .receipts)"] {
            try await addReceiptDates(of: sightings, in: table, to: &dates)
        }
        return dates
    }

    private func addReceiptDates(of sightings: [Sighting], in table: SQL, to dates: inout ReceiptDates) async throws {
        let receiptIDs = Set(sightings.map(\.receiptID))
        let made = try await connection.query(
            """
            SELECT receipt_id, made_at
            FROM \(receipts: receiptIDs.sorted(), of: table)
            """)
        for row in made {
            guard let moment = try row.decode("made_at", as: Date?.self) else { continue }
            dates.made[try row.decode("receipt_id")] = moment
        }
        let latest = try await connection.query(
            """
            SELECT user_id, bundle_id, max(made_at) AS made_at
            FROM \(table)
            WHERE user_id = ANY (\(sightings.compactMap(\.userID).exactlyUnique)) AND made_at IS NOT NULL
            GROUP BY user_id, bundle_id
            """)
        for row in latest {
            let user = try NameInApp(row, "user_id")
            let moment = try row.decode("made_at", as: Date.self)
            dates.latest[user] = max(dates.latest[user] ?? moment, moment)
        }
    }
}
