import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// The words that the tables take are those of the rules. With one that only the rules know, a night would fail to write
/// it; one that only the tables know, it could not read.
@Suite struct VocabularyTests {
    private static let read: [String: Set<String>] = [
        "iap.cases.closed_as": words(of: CaseEnd.self),
        "iap.cases.likelihood": words(of: Likelihood.self),
        "iap.claims.outcome": words(of: ClaimOutcome.self),
        "iap.connections.environment": words(of: Environment.self),
        // What nobody knows the type of.
        "iap.connections.product_type": words(of: ProductType.self).union(["unknown"]),
        "iap.customers.environment": words(of: Environment.self),
        "iap.delivery_checks.environment": words(of: Environment.self),
        "iap.hearings.environment": words(of: Environment.self),
        "iap.notices.environment": words(of: Environment.self),
        "iap.notices.heard_by": words(of: HeardNotice.Way.self),
        "iap.notices.sending": words(of: NoticeSending.State.self),
        "iap.products.type": words(of: ProductType.self),
        "iap.receipts.signature": words(of: OfflineSignature.self),
        "iap.receipts.state": words(of: ReceiptState.self),
        "iap.redeliveries.environment": words(of: Environment.self),
        "iap.runs.state": words(of: PastRun.State.self),
        "iap.sources.kind": words(of: ImportKind.self),
        "iap.transactions.delivered_by": words(of: DeliveryWay.self),
        "iap.transactions.environment": words(of: Environment.self),
        "iap.transactions.product_type": words(of: ProductType.self),
        // By the support desk.
        "iap.transactions.reason": words(of: Exclusion.self).union(["dismissed"]),
        "iap.unusual_prices.environment": words(of: Environment.self),
    ]

    /// The other columns, whose words no list of the rules is to know, and why not.
    private static let known: [String: String] = [
        "iap.books.account": "only statements of the ledger read it, for finance",
        "iap.cases.state": "only statements read it; whether a case is open is read as whether it has a closing",
        "iap.delivery_checks.finding": "the rules read those of iap.unproved, which are not quite the same",
        "iap.handed_notices.heard_by": "some of the words of iap.notices.heard_by: by these ways a notice can wait",
        "iap.moves.kind": "shown as it is, among the events of a transaction, whose kinds are no list",
        "iap.redeliveries.ended_as": "only statements of the ledger count by it",
        "iap.transactions.booked_as": "only statements of the ledger read it, for finance",
        "iap.transactions.place": "a switch reads it, as each place has columns of its own",
    ]

    /// A column that takes certain words is to be listed above: with the list that reads it, or why none does.
    @Test func theTablesTakeTheWordsOfTheRules() async throws {
        try await withLedger { ledger in
            let connection = try await ledger.database.connect()
            defer { connection.close() }
            let rows = try await connection.query(
                """
                SELECT attrelid::regclass::text || '.' || attname AS name, array_agg(word[1]) AS words
                FROM pg_constraint
                JOIN pg_attribute ON attrelid = conrelid AND conkey = ARRAY[attnum]
                CROSS JOIN regexp_matches(pg_get_constraintdef(pg_constraint.oid), '''([^'']+)''::text', 'g') AS word
                WHERE contype = 'c' AND pg_get_constraintdef(pg_constraint.oid) LIKE '%= ANY (ARRAY[%'
                GROUP BY 1
                """)
            var taken: [String: Set<String>] = [:]
            for row in rows {
                taken[try row.decode("name", as: String.self)] = Set(try row.decode("words", as: [String].self))
            }
            #expect(Set(taken.keys) == Set(Self.read.keys).union(Self.known.keys))
            for (column, words) in Self.read { #expect(taken[column] == words, "\(column)") }
        }
    }

    /// Both compare them: a poorer source never overwrites what a better one said.
    @Test func theTablesRankTheSourcesAsTheRulesDo() async throws {
        try await withLedger { ledger in
            let ranked = try await ledger.value("enum_range(NULL::iap.source)::text[]", as: [String].self)
            #expect(ranked == Source.allCases.map(\.rawValue))
        }
    }
}
