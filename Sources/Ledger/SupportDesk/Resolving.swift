import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Carries out what the support desk decided; the database writes down who did and why. A case of a subscription is
    /// ended with all periods that it tells of.
    ///
    /// - Throws: `LedgerError.refused` to a role that may not: `iap_support` may.
    public func carryOut(_ resolution: Resolution) async throws(LedgerError) -> ResolutionOutcome {
        try await translating {
            do {
                return try await connection.transaction {
                    let periods = try await otherPeriods(of: resolution)
                    let word = try await connection.only(statement(for: resolution, resolution.transactionID.text))
                        .decode("outcome", as: String.self)
                    if word == "several_owners" { return .severalOwners(try await owners(of: resolution)) }
                    let outcome = try ResolutionOutcome(word, of: resolution.decision)
                    guard case .done = outcome, resolution.decision != .redelivery else { return outcome }
                    for period in periods { _ = try await connection.query(statement(for: resolution, period)) }
                    return outcome
                }
            } catch TransactionError.body(let error as PostgreSQLError, _)
                where error.sqlState == .cardinalityViolation
            {
                return .ambiguous
            }
        }
    }

    /// What else the open case of a subscription tells of.
    private func otherPeriods(of resolution: Resolution) async throws -> [String] {
        try await ofOpenCase("unnest(periods)", resolution).filter { $0 != resolution.transactionID.text }
    }

    private func owners(of resolution: Resolution) async throws -> [String] {
        try await ofOpenCase("unnest(owner_user_ids)", resolution)
    }

    private func ofOpenCase(_ texts: SQL, _ resolution: Resolution) async throws -> [String] {
        try await connection.query(
            """
            SELECT \(texts) AS text
            FROM cases
            WHERE transaction_id = \(resolution.transactionID.text) AND state = 'open'
                AND bundle_id = coalesce(\(resolution.bundleID?.text), bundle_id)
                AND environment = coalesce(\(resolution.environment?.rawValue), environment)
            """
        ).map { try $0.decode("text", as: String.self) }
    }

    private func statement(for resolution: Resolution, _ transactionID: String) -> SQL {
        switch resolution.decision {
        case .reopened:
            """
            SELECT reopen(
                \(transactionID), \(resolution.by), \(resolution.note), \(resolution.bundleID?.text),
                \(resolution.environment?.rawValue)) AS outcome
            """
        case .redelivery:
            """
            SELECT redeliver(
                \(transactionID), \(resolution.by), \(resolution.note), \(resolution.bundleID?.text),
                \(resolution.environment?.rawValue)) AS outcome
            """
        case .delivered, .dismissed, .refunded:
            """
            SELECT resolve(
                \(transactionID), \(resolution.decision.rawValue), \(resolution.by), \(resolution.note),
                \(resolution.bundleID?.text), \(resolution.environment?.rawValue), \(resolution.userID),
                \(resolution.orderID), \(resolution.isUnknownUser)) AS outcome
            """
        }
    }
}

extension SQLState {
    /// Several rows, where one was meant.
    static let cardinalityViolation = SQLState(rawValue: "21000")
}

extension ResolutionOutcome {
    fileprivate init(_ word: String, of decision: Resolution.Decision) throws {
        if word == decision.rawValue {
            self = .done
        } else if let reason = Reason(rawValue: word) {
            self = .unchanged(reason)
        } else {
            throw LedgerError.failed("no outcome of a resolve is called \(word)")
        }
    }
}
