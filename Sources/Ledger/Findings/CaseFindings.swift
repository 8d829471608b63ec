public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Hands over every open case, a customer's together. Customers are ordered by their likeliest case, then by their
    /// oldest, and so are the cases of each. Read through a cursor, so that no list of them is held in memory; call it
    /// inside `reading`.
    public func forEachCase(runID: Int64, now: Date, _ body: (ReportedCase) throws -> Void) async throws(LedgerError) {
        try await translating {
            try await connection.execute("DECLARE open_cases NO SCROLL CURSOR FOR \(OpenCases.query)")
            var next = try await nextCases()
            while !next.isEmpty {
                let rows = next
                // Read while the server gets the next.
                async let read = Self.cases(of: rows, runID: runID)
                next = try await nextCases()
                var page = try await read
                try await leaveOutNotices(from: &page)
                try await addDevices(to: &page)
                try await addDeadlines(to: &page)
                try await addDeskWords(to: &page, at: now)
                for reported in page { try body(reported) }
            }
            try await connection.execute("CLOSE open_cases")
        }
    }

    private func nextCases() async throws -> [Row] {
        try await connection.query("FETCH 500 FROM open_cases")
    }

    @concurrent
    private static func cases(of rows: [Row], runID: Int64) async throws -> [ReportedCase] {
        var candidates = KeptCandidates()
        return try rows.map { try ReportedCase($0, runID: runID, &candidates) }
    }

    /// What the clients said of their devices: from the latest receipt of each case that said anything.
    private func addDevices(to page: inout [ReportedCase]) async throws {
        let receiptIDs = Set(page.flatMap { $0.sightings.map(\.receiptID) })
        guard !receiptIDs.isEmpty else { return }
        let rows = try await connection.query(
            """
            SELECT receipt_id, device::text AS device
            FROM \(receipts: receiptIDs.sorted(), of: "\(stored: .receipts)")
            """)
        let said: [Int64: String?] = try rows.values(of: "device", by: "receipt_id")
        let devices = said.compactMapValues(\.self)
        for index in page.indices {
            let latest = page[index].sightings
                .filter { devices[$0.receiptID] != nil }
                .max { ($0.uploadedAt, $0.receiptID) < ($1.uploadedAt, $1.receiptID) }
            page[index].device = latest.flatMap { devices[$0.receiptID] }
        }
    }

    /// By when Apple wants an answer to its latest question whether a purchase was delivered.
    private func addDeadlines(to page: inout [ReportedCase]) async throws {
        let asked = page.filter { $0.assessment.reasons.contains(.askedApple) }.map(\.key.id.text)
        guard !asked.isEmpty else { return }
        let rows = try await connection.query(
            """
            SELECT transaction_id, bundle_id, environment, max(signed_at) AS asked_at
            FROM \(stored: .notices)
            WHERE transaction_id = ANY (\(asked)) AND \(CaseNotices.isQuestion)
            GROUP BY transaction_id, bundle_id, environment
            """)
        var deadlines: [TransactionKey: Date] = [:]
        for row in rows {
            deadlines[try TransactionKey(row)] = NoticeFacts.deadline(askedAt: try row.decode("asked_at"))
        }
        for index in page.indices { page[index].answerAppleBy = deadlines[page[index].key] }
    }

    /// The open cases by number and money.
    public func caseCounts(runID: Int64) async throws(LedgerError) -> CaseCounts {
        let isTold: SQL = "(\(OpenCases.toldRunID)) = \(runID)"
        return try await translating {
            let rows = try await connection.query(
                """
                SELECT
                    cases.likelihood,
                    \(OpenCases.currency) AS currency,
                    count(*) AS cases,
                    count(*) FILTER (WHERE \(isTold) AND \(OpenCases.reopenedRunID) IS NULL) AS new,
                    count(*) FILTER (WHERE \(isTold) AND \(OpenCases.reopenedRunID) IS NOT NULL) AS reopened,
                    sum(\(OpenCases.milliunits))::bigint AS milliunits,
                    count(\(OpenCases.milliunits)) AS priced,
                    min(white.purchased_at) AS oldest
                \(OpenCases.priced)
                GROUP BY 1, 2
                ORDER BY 2, 1
                """)
            var counts = try rows.reduce(into: CaseCounts()) { try $0.add($1) }
            counts.closed = try await closedCases(toldBy: runID)
            return counts
        }
    }

    /// The cases whose closing a run reports, by how they ended.
    private func closedCases(toldBy runID: Int64) async throws -> [CaseEnd: Int] {
        let rows = try await connection.query(
            """
            SELECT closed_as, count(*) AS cases
            FROM cases
            WHERE told_run_id = \(runID) AND state = 'closed'
            GROUP BY closed_as
            """)
        return try Dictionary(
            rows.map { (try $0.word("closed_as"), try $0.decode("cases", as: Int.self)) }, uniquingKeysWith: +)
    }
}

extension CaseCounts {
    fileprivate mutating func add(_ row: Row) throws {
        let count = try row.decode("cases", as: Int.self)
        byLikelihood[try row.word("likelihood"), default: 0] += count
        new += try row.decode("new", as: Int.self)
        reopened += try row.decode("reopened", as: Int.self)
        let oldest = try row.decode("oldest", as: Date.self)
        oldestPurchase = oldestPurchase.map { min($0, oldest) } ?? oldest
        guard let price = try row.money("milliunits", "currency") else {
            unpriced += count
            return
        }
        unpriced += try count - row.decode("priced", as: Int.self)
        if let last = money.last, last.currency == price.currency {
            money[money.count - 1] = Money(
                milliunits: last.milliunits + price.milliunits, currency: price.currency)
        } else {
            money.append(price)
        }
    }
}

extension ReportedCase {
    fileprivate init(_ row: Row, runID: Int64, _ candidates: inout KeptCandidates) throws {
        let isTold = try row.decode("told_run_id", as: Int64?.self) == runID
        let wasOpenedAgain = try row.decode("reopened_run_id", as: Int64?.self) != nil
        self.init(
            key: try TransactionKey(row),
            assessment: try Assessment(row, &candidates),
            originalID: try row.id("original_transaction_id"),
            productID: try row.id("product_id"),
            quantity: Int(try row.decode("quantity", as: Int32.self)),
            purchasedAt: try row.decode("purchased_at"),
            source: try row.word("source"),
            openedAt: try row.decode("opened_at"),
            isNew: isTold && !wasOpenedAgain)
        productName = try row.decode("product_name", as: String?.self)
        productType = try row.wordIfAny("product_type")
        price = try row.money("milliunits", "currency")
        isListPrice = try price != nil && row.decode("is_list_price")
        sightings = try SightingColumns.sightings(row)
        claims = try SightingColumns.claims(row)
        firstVerifiedAt = try row.decode("first_seen_at", as: Date?.self)
        lastVerifiedAt = try row.decode("last_confirmed_at", as: Date?.self)
        standing = try row.decode("standing")
        isReopened = isTold && wasOpenedAgain
        customer = try CustomerCases(row)
        let periods: [TransactionID] = try row.ids("periods")
        if !periods.isEmpty {
            subscription = ReportedSubscription(
                periods: periods, paidUntil: try row.decode("paid_until", as: Date?.self),
                entitledUntil: try row.decode("entitled_until", as: Date?.self))
        }
    }
}

extension Assessment {
    /// An assessment as `cases` keeps it.
    init(_ row: Row) throws {
        var candidates = KeptCandidates()
        try self.init(row, &candidates)
    }

    fileprivate init(_ row: Row, _ candidates: inout KeptCandidates) throws {
        let owners = try row.decode("owner_user_ids", as: [String].self)
        let owner: Owner =
            switch owners.count {
            case 0: .unknown
            case 1: .user(owners[0])
            default: .ambiguous(owners)
            }
        self.init(
            likelihood: try row.word("likelihood"), reasons: try row.words("reasons"), owner: owner,
            candidates: try candidates.read(row),
            orderIDs: try row.decode("matched_order_ids", as: [String].self), action: try row.word("action"))
    }
}

/// The candidates of cases as `cases` keeps them, in JSON. Those of the case before are kept at hand: a customer's
/// cases come together, and have the same.
private struct KeptCandidates {
    private var last: (json: String, candidates: [OwnerCandidate]) = ("[]", [])
    private let decoder = JSONDecoder()

    mutating func read(_ row: Row) throws -> [OwnerCandidate] {
        let json = try row.decode("candidates", as: String.self)
        if json == last.json { return last.candidates }
        do {
            last = (json, try decoder.decode([OwnerCandidate].self, from: Data(json.utf8)))
        } catch {
            throw row.unknown("evidence", in: "candidates")
        }
        return last.candidates
    }
}
