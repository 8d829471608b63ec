import PostgreSQL
import Reconciliation

/// Whom the apps' servers and the support desk name as owners of a page of cases.
extension LedgerSession {
    /// The users for whom the apps' servers registered these tokens, by app and token.
    func tokenOwners(_ tokens: [String]) async throws -> [NameInApp: String] {
        guard !tokens.isEmpty else { return [:] }
        let rows = try await connection.query(
            """
            SELECT bundle_id, app_account_token, user_id
            FROM iap.account_tokens
            WHERE app_account_token = ANY (\(Set(tokens).sorted()))
            """)
        var owners: [NameInApp: String] = [:]
        for row in rows { owners[try NameInApp(row, "app_account_token")] = try row.decode("user_id") }
        return owners
    }

    /// For whom else the apps' servers admitted these cases' purchases, under other ids of theirs.
    func usersAdmittedOtherwise(of page: [CaseFacts]) async throws -> [TransactionKey: [String]] {
        let admitted = page.filter { $0.admittedFor != nil }.map(\.key.id.text)
        guard !admitted.isEmpty else { return [:] }
        let rows = try await connection.query(
            """
            SELECT
                transaction_id, bundle_id, environment,
                iap.admitted_otherwise(ROW(transactions.*)::iap.transactions) AS user_id
            FROM transactions
            WHERE transaction_id = ANY (\(admitted))
            ORDER BY user_id
            """)
        var users: [TransactionKey: [String]] = [:]
        for row in rows { users[try TransactionKey(row), default: []].append(try row.decode("user_id")) }
        return users
    }

    /// The users for whom the support desk adopted these cases' purchases.
    func adoptedUsers(of page: [CaseFacts]) async throws -> [TransactionKey: String] {
        let admitted = page.filter { $0.admittedFor != nil }.map(\.key.id.text)
        guard !admitted.isEmpty else { return [:] }
        let rows = try await connection.query(
            """
            SELECT transaction_id, bundle_id, environment, details ->> 'user_id' AS user_id
            FROM \(stored: .events)
            WHERE transaction_id = ANY (\(admitted)) AND kind = 'adopted'
            ORDER BY event_id
            """)
        var users: [TransactionKey: String] = [:]
        for row in rows { users[try TransactionKey(row)] = try row.decode("user_id", as: String?.self) }
        return users
    }
}
