import Foundation
import PostgreSQL
import Reconciliation

/// What other tables know of a page of cases: who mentioned them, the app's own orders, to whom their neighbours were
/// delivered, whether later receipts still hold them, and which were cases before. Each is one set-based look-up.
struct CaseContext {
    private var neighbours = CaseNeighbours()

    /// - Parameter tokens: the `appAccountToken` that each case's purchase bears.
    mutating func add(
        to page: inout [CaseFacts], tokens: [String?], from session: LedgerSession, at now: Date
    ) async throws {
        try await session.addMentions(to: &page)
        let notices = try await session.notices(of: page)
        for index in page.indices { notices.add(to: &page[index]) }
        let owners = try await session.tokenOwners(tokens.compactMap(\.self))
        let accounts = try await session.accountUsers(of: page)
        try await neighbours.look(beside: page, in: session)
        // First these, because the orders of such users are looked for, too.
        for index in page.indices {
            let token = tokens[index].map { NameInApp(page[index].key.bundleID.text, $0) }
            page[index].tokenOwners = token.flatMap { owners[$0] }.map { [$0] } ?? []
            page[index].accountUsers = accounts[page[index].key] ?? []
            page[index].companions = neighbours.users(beside: page[index])
        }
        let orders = try await session.orders(for: page, tokens: tokens)
        let used = try await session.usedOrders(for: page)
        let made = try await session.receiptDates(for: page)
        let adopted = try await session.adoptedUsers(of: page)
        let before = try await session.casesBefore(in: page, at: now)
        let admittedOtherwise = try await session.usersAdmittedOtherwise(of: page)
        for index in page.indices {
            orders.add(to: &page[index], token: tokens[index])
            page[index].usedOrderIDs = used[page[index].key] ?? []
            page[index].wasCaseBefore = before.contains(page[index].key)
            page[index].adoptedFor = adopted[page[index].key]
            page[index].admittedOtherwiseFor = admittedOtherwise[page[index].key] ?? []
            page[index].onlyCameWithOthers = neighbours.onlyCameWithOthers(page[index])
            page[index].isMissingLater = made.isMissingLater(page[index])
        }
    }
}

extension LedgerSession {
    /// What an earlier night made a case, if that may matter: the same night may run more than once.
    func casesBefore(in page: [CaseFacts], at now: Date) async throws -> Set<TransactionKey> {
        let young = page.filter { $0.nightsConfirmed <= 1 && $0.age < NoticeSending.retryWindow }
        guard !young.isEmpty else { return [] }
        let rows = try await connection.query(
            """
            SELECT transaction_id, bundle_id, environment
            FROM cases
            WHERE transaction_id = ANY (\(young.map(\.key.id.text))) AND opened_at <= \(now - 12 * 3600)
            """)
        return Set(try rows.map { try TransactionKey($0) })
    }
}
