import Foundation
import PostgreSQL

/// What a night leaves, row by row as text: the ledger's tables and the findings of the latest report, without what may
/// differ between a disturbed night and an undisturbed one.
struct Snapshot: Sendable {
    private(set) var rows: [String: [String]] = [:]

    /// Which run wrote something: after a disturbance it is another.
    private static let runs = [
        "first_run_id", "run_id", "refund_run_id", "opened_run_id", "assessed_run_id", "reopened_run_id", "told_run_id",
        // A hash over those too, and over the order of writing; `verify` checks whether it is right.
        "seal",
    ]
    /// How often and when Apple was asked: for a receipt that waited for the next night, once less and a day later.
    private static let nights = [
        "nights_confirmed", "first_seen_at", "last_confirmed_at", "verified_at", "excluded_at", "opened_at",
        "assessed_at", "last_attempt_at", "next_attempt_at", "attempts", "first_verified_at", "last_verified_at",
    ]
    /// What a report says of its run: how many of the receipts it verified, and what it was the first to find.
    private static let head = ["run", "totals"]
    private static let news = ["is_new", "is_reopened"]

    init() {}

    init(_ connection: Connection, report: String, ofNights: Bool) async throws {
        let passing = Self.runs + (ofNights ? Self.nights : [])
        for table in ["white", "black", "excluded", "sightings", "cases", "orders", "entitlements"] {
            rows[table] = try await Self.rows(of: table, without: passing, connection)
        }
        rows["receipts"] = try await Self.rows(of: "receipts", without: passing + ["payload"], connection)
        try add(report: report, without: Self.news + (ofNights ? Self.nights : []))
    }

    func count(of table: String) -> Int { rows[table]?.count ?? 0 }

    private static func rows(of table: String, without columns: [String], _ connection: Connection) async throws
        -> [String]
    {
        let query: SQL = """
            SELECT (to_jsonb(content) - \(columns)::text[])::text AS content
            FROM \(unsafe: "iap." + table) AS content
            ORDER BY 1
            """
        return try await connection.query(query).compactMap { row in
            let content = Data(try row.decode("content", as: String.self).utf8)
            let row = try JSONSerialization.jsonObject(with: content) as? [String: Any] ?? [:]
            return isOfNobody(row) ? nil : try text(row)
        }.sorted()
    }

    /// Adds each list of a report, in its order.
    private mutating func add(report file: String, without keys: [String]) throws {
        guard let data = FileManager.default.contents(atPath: file),
            let report = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        else { throw Broken("there is no report \(file)") }
        for (name, value) in report where !Self.head.contains(name) {
            let findings = value as? [[String: Any]] ?? []
            rows["report's \(name)"] = try findings.map { finding in
                try Self.text(finding.filter { !keys.contains($0.key) })
            }
        }
    }

    // MARK: Comparing

    /// Keeps only these tables.
    func keeping(_ tables: [String]) -> Snapshot {
        var snapshot = self
        snapshot.rows = rows.filter { tables.contains($0.key) }
        return snapshot
    }

    /// Leaves out what was bought after that moment: an undisturbed night could not know it.
    func leavingOut(boughtAfter moment: Date) throws -> Snapshot {
        var snapshot = self
        for (table, rows) in rows {
            let bought = try objects(of: table).map { row in
                try (row["purchased_at"] as? String).map { try Date($0, strategy: .iso8601) }
            }
            snapshot.rows[table] = zip(rows, bought).compactMap { row, bought in
                bought.map { $0 > moment } ?? false ? nil : row
            }
        }
        return snapshot
    }

    /// Leaves out the refunds of delivered purchases after that moment: if Apple was asked before a refund, and
    /// everything in the receipt was delivered, it is not asked again.
    func leavingOut(deliveredRefundedAfter moment: Date) throws -> Snapshot {
        var snapshot = self
        snapshot.rows["black"] = try objects(of: "black").map { row in
            var row = row
            let refunded = try (row["refunded_at"] as? String).map { try Date($0, strategy: .iso8601) }
            if let refunded, refunded > moment {
                row["refunded_at"] = NSNull()
                row["refund_reason"] = NSNull()
            }
            return try Self.text(row)
        }
        return snapshot
    }

    /// What only the App Store Server API tells of a purchase.
    private static let terms = ["source", "price_milliunits", "currency", "storefront", "booked_as"]

    /// Leaves out the terms of delivered purchases. Apple is asked about those that no receipt has proved by then, and
    /// whether one has depends on the moment, and on what was answered.
    func leavingOutTermsOfDeliveries() throws -> Snapshot {
        var snapshot = self
        snapshot.rows["black"] = try objects(of: "black").map { row in
            try Self.text(row.filter { !Self.terms.contains($0.key) })
        }.sorted()
        return snapshot
    }

    /// Leaves out which of a user's receipts held a case: one in which nothing else was owed on the day when Apple was
    /// first asked is not verified again, and so does not tell what it holds by now.
    func leavingOutReceiptsOfCases() throws -> Snapshot {
        var snapshot = self
        snapshot.rows["report's cases"] = try objects(of: "report's cases").map { row in
            try Self.text(row.filter { !["evidence", "sightings"].contains($0.key) })
        }
        return snapshot
    }

    /// A table's rows, by column.
    func objects(of table: String) throws -> [[String: Any]] {
        try (rows[table] ?? []).map { row in
            guard let object = try JSONSerialization.jsonObject(with: Data(row.utf8)) as? [String: Any] else {
                throw Broken("a row of \(table) is no object")
            }
            return object
        }
    }

    private static func text(_ row: [String: Any]) throws -> String {
        let named = uploaded(row)
        return String(decoding: try JSONSerialization.data(withJSONObject: named, options: .sortedKeys), as: UTF8.self)
    }

    /// Leaves out the receipts of no user. The night hands one in if Apple told of a purchase before its upload was
    /// verified, but not if it was disturbed in between.
    private static func uploaded(_ value: Any) -> Any {
        switch value {
        case let list as [Any]: list.filter { !isOfNobody($0) }.map(uploaded)
        case let row as [String: Any]: row.mapValues(uploaded)
        default: value
        }
    }

    private static func isOfNobody(_ value: Any) -> Bool {
        guard let row = value as? [String: Any], row["receipt_id"] != nil else { return false }
        return row["user_id"] == nil || row["user_id"] is NSNull
    }

    func expectSame(as other: Snapshot) throws {
        let tables = Set(rows.keys).union(other.rows.keys).sorted()
        let differences = tables.flatMap { difference(in: $0, from: other) }
        guard differences.isEmpty else { throw Broken(differences.joined(separator: "\n")) }
    }

    private func difference(in table: String, from other: Snapshot) -> [String] {
        let (mine, others) = (rows[table] ?? [], other.rows[table] ?? [])
        guard mine != others else { return [] }
        let (more, fewer) = (Set(mine).subtracting(others).sorted(), Set(others).subtracting(mine).sorted())
        let head = "\(table): \(mine.count) rows, undisturbed \(others.count)"
        return [more.isEmpty && fewer.isEmpty ? "\(head), in another order" : head]
            + more.prefix(3).map { Self.text(of: $0, among: fewer) }
            + (more.isEmpty ? fewer.prefix(3).map { "  only undisturbed: \($0)" } : [])
    }

    /// The text of a row, with the columns in which it differs from the one of the same name.
    private static func text(of row: String, among others: [String]) -> String {
        let mine = columns(row)
        guard let other = others.lazy.map(columns).first(where: { identity($0) == identity(mine) }) else {
            return "  only here: \(row)"
        }
        let differing = Set(mine.keys).union(other.keys).sorted().filter { mine[$0] != other[$0] }
        return "  \(identity(mine)): "
            + differing.map { "\($0) is \(mine[$0] ?? "missing"), undisturbed \(other[$0] ?? "missing")" }
            .joined(separator: "; ")
    }

    private static func identity(_ columns: [String: String]) -> String {
        ["bundle_id", "environment", "transaction_id", "receipt_id"].compactMap { columns[$0] }.joined(separator: " ")
    }

    private static func columns(_ row: String) -> [String: String] {
        let object = try? JSONSerialization.jsonObject(with: Data(row.utf8)) as? [String: Any]
        return object?.mapValues { "\($0)" } ?? [:]
    }
}
