import PostgreSQL

/// A cluster: PostgreSQL with Citus, over whose servers `sql/citus.sql` distributes the inbox. The session is with the
/// coordinator, which passes on what it is asked.
extension LedgerSession {
    /// Whether the inbox lies on several servers. Asked once in a session.
    public func isClustered() async throws(LedgerError) -> Bool {
        if let known = hasDistributedInbox { return known }
        let isDistributed = try await translating {
            let hasCitus = try await connection.only(
                "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS is_there"
            ).decode("is_there", as: Bool.self)
            guard hasCitus else { return false }
            return try await connection.only(
                """
                SELECT EXISTS (
                    SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = 'iap.receipts'::regclass
                ) AS is_distributed
                """
            ).decode("is_distributed", as: Bool.self)
        }
        hasDistributedInbox = isDistributed
        return isDistributed
    }

    /// Has what this database transaction writes committed on all servers or on none. Citus does so by itself if it
    /// writes on several workers. With one worker it would commit the receipts before the coordinator commits the
    /// ledger, and a crash between the two would lose what was in them. A COPY always asks for two phases, even of
    /// nothing.
    func commitInTwoPhases() async throws {
        guard try await isClustered() else { return }
        _ = try await connection.copyIn(
            into: CopyTarget(table: "receipts", columns: ["bucket"]), rows: EmptyCollection<Int16>()
        ) { $1.append($0) }
    }

    /// Throws if a server of the inbox is away. The coordinator answers all the same, so a shard of each is asked.
    func reachInbox() async throws {
        guard try await isClustered() else { return }
        _ = try await connection.query("SELECT 1 FROM \(stored: .receipts) LIMIT 1")
    }
}

extension LedgerError {
    /// Whether an internal error (XX000) is Citus' word that it lost a worker in the middle of a transaction: no state
    /// of PostgreSQL's says so.
    static func isLostWorker(_ state: SQLState, _ text: String) -> Bool {
        state.rawValue == "XX000" && text.contains("failure on connection marked as essential")
    }

    /// The worker on which a statement failed, as Citus says it in an error's context. There one looks for a full disk,
    /// or for whose lock is in the way.
    static func worker(of context: String?) -> String? {
        let phrase = "while executing command on "
        let line = context?.split(separator: "\n").first { $0.hasPrefix(phrase) }
        return line.map { String($0.dropFirst(phrase.count)) }
    }

    /// Whether a lost connection is Citus' word that a worker does not let the coordinator in. The state is the same
    /// for a worker that is away, so only the text tells them apart; a worker that says it in another language counts
    /// as away.
    static func isRefusedByWorker(_ text: String) -> Bool {
        text.contains("connection to the remote node ") && refusals.contains { text.contains($0) }
    }

    /// What libpq and PostgreSQL say of a login that stays refused until somebody mends it.
    private static let refusals = [
        "no password supplied", "authentication failed for user", "pg_hba.conf rejects connection",
        "no pg_hba.conf entry", "connection requires a valid client certificate", "is not permitted to log in",
        "permission denied for database",
    ]
}
