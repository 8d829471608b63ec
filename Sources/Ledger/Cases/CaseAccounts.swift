import PostgreSQL
import Reconciliation

extension LedgerSession {
    /// How many users tell enough of an account.
    private static let mostUsersOfAccount = 10

    /// For each case that no user handed in, to whom other purchases of the same `appTransactionId` were delivered.
    func accountUsers(of page: [CaseFacts]) async throws -> [TransactionKey: [String]] {
        let nobodys = page.filter { $0.admittedFor == nil && $0.wasHandedInByNobody }.map(\.key)
        guard !nobodys.isEmpty else { return [:] }
        let accounts = try await connection.query(
            """
            SELECT transaction_id, bundle_id, environment, app_transaction_id
            FROM transactions
            WHERE transaction_id = ANY (\(nobodys.map(\.id.text))) AND app_transaction_id IS NOT NULL
            """)
        guard !accounts.isEmpty else { return [:] }
        let delivered = try await connection.query(
            """
            SELECT app_transaction_id, bundle_id, environment, (array_agg(DISTINCT user_id))[:\(
                Int64(Self.mostUsersOfAccount))] AS user_ids
            FROM \(whole(.transactions)) AS transactions
            WHERE app_transaction_id = ANY (\(try accounts.map { try $0.decode("app_transaction_id", as: String.self) }))
                AND place = 'black' AND user_id IS NOT NULL
            GROUP BY app_transaction_id, bundle_id, environment
            """)
        var users: [Account: [String]] = [:]
        for row in delivered { users[try Account(row)] = try row.decode("user_ids") }
        var found: [TransactionKey: [String]] = [:]
        for row in accounts { found[try TransactionKey(row)] = users[try Account(row)] }
        return found
    }
}

/// What names a customer of Apple's.
private struct Account: Hashable {
    let name: NameInApp
    let environment: Environment

    init(_ row: Row) throws {
        (name, environment) = (try NameInApp(row, "app_transaction_id"), try row.word("environment"))
    }
}
