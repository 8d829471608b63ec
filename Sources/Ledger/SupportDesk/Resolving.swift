import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Carries out what the support desk decided; the database writes down who did and why.
    ///
    /// - Throws: `LedgerError.refused` to a role that may not: `iap_support` may.
    public func carryOut(_ resolution: Resolution) async throws(LedgerError) -> ResolutionOutcome {
        try await translating {
            do {
                let outcome = try await connection.only(statement(for: resolution))
                    .decode("outcome", as: String.self)
                return try ResolutionOutcome(outcome, of: resolution.decision)
            } catch let error as PostgreSQLError where error.sqlState == .cardinalityViolation {
                return .ambiguous
            }
        }
    }

    private func statement(for resolution: Resolution) -> SQL {
        switch resolution.decision {
        case .reopened:
            """
            SELECT reopen(
                \(resolution.transactionID.text), \(resolution.by), \(resolution.note), \(resolution.bundleID?.text),
                \(resolution.environment?.rawValue)) AS outcome
            """
        case .delivered, .dismissed, .refunded:
            """
            SELECT resolve(
                \(resolution.transactionID.text), \(resolution.decision.rawValue), \(resolution.by), \(resolution.note),
                \(resolution.bundleID?.text), \(resolution.environment?.rawValue), \(resolution.userID),
                \(resolution.orderID)) AS outcome
            """
        }
    }
}

extension SQLState {
    fileprivate static let cardinalityViolation = SQLState(rawValue: "21000")
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
