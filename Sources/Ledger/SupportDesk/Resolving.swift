import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Carries out what the support desk decided; the database writes down who did and why. A case of a subscription is
    /// ended with all periods that it tells of.
    ///
    /// - Throws: `LedgerError.forbidden` to a role that may not: `iap_support` may.
    public func carryOut(_ resolution: Resolution) async throws(LedgerError) -> ResolutionOutcome {
        try await translating {
            do {
                return try await connection.transaction {
                    let word = try await connection.only(statement(for: resolution))
                        .decode("outcome", as: String.self)
                    if word == "several_owners" { return .severalOwners(try await owners(of: resolution)) }
                    let outcome = try ResolutionOutcome(word, of: resolution.decision)
                    guard outcome == .done, case .delivered(to: nil, orderID: _) = resolution.decision,
                        try await isDeliveredToNobody(resolution)
                    else { return outcome }
                    return .deliveredToNobody
                }
            } catch TransactionError.body(let error as PostgreSQLError, _)
                where error.sqlState == .cardinalityViolation
            {
                return .ambiguous
            }
        }
    }

    private func isDeliveredToNobody(_ resolution: Resolution) async throws -> Bool {
        try await connection.query(
            """
            SELECT transaction_id
            FROM black
            WHERE transaction_id = \(resolution.transactionID.text)
                AND bundle_id = coalesce(\(resolution.bundleID?.text), bundle_id)
                AND environment = coalesce(\(resolution.environment?.rawValue), environment)
                AND user_id IS NULL
            """
        ).isEmpty == false
    }

    private func owners(of resolution: Resolution) async throws -> [String] {
        try await connection.query(
            """
            SELECT unnest(owners_told(transaction_id, bundle_id, environment)) AS owner
            FROM white
            WHERE transaction_id = \(resolution.transactionID.text)
                AND bundle_id = coalesce(\(resolution.bundleID?.text), bundle_id)
                AND environment = coalesce(\(resolution.environment?.rawValue), environment)
            """
        ).map { try $0.decode("owner", as: String.self) }
    }

    private func statement(for resolution: Resolution) -> SQL {
        switch resolution.decision {
        case .reopened:
            """
            SELECT reopen(
                \(resolution.transactionID.text), \(resolution.by), \(resolution.note), \(resolution.bundleID?.text),
                \(resolution.environment?.rawValue)) AS outcome
            """
        case .redelivery:
            """
            SELECT redeliver(
                \(resolution.transactionID.text), \(resolution.by), \(resolution.note), \(resolution.bundleID?.text),
                \(resolution.environment?.rawValue)) AS outcome
            """
        case .delivered(let recipient, let orderID): resolve(resolution, recipient, orderID: orderID)
        case .dismissed, .refunded: resolve(resolution)
        }
    }

    private func resolve(
        _ resolution: Resolution, _ recipient: Resolution.Recipient? = nil, orderID: String? = nil
    ) -> SQL {
        """
        SELECT resolve(
            \(resolution.transactionID.text), \(resolution.decision.word), \(resolution.by), \(resolution.note),
            \(resolution.bundleID?.text), \(resolution.environment?.rawValue), \(recipient?.userID), \(orderID),
            \(recipient?.isUnknown ?? false)) AS outcome
        """
    }
}

extension Resolution.Decision {
    /// What the database gives for it once it is carried out; what ends a case is also called so.
    fileprivate var word: String {
        switch self {
        case .delivered: "delivered"
        case .dismissed: "dismissed"
        case .refunded: "refunded"
        case .reopened: "reopened"
        case .redelivery: "redelivery"
        }
    }
}

extension ResolutionOutcome {
    fileprivate init(_ word: String, of decision: Resolution.Decision) throws {
        if word == decision.word {
            self = .done
        } else if let reason = Reason(rawValue: word) {
            self = .unchanged(reason)
        } else {
            throw LedgerError.failed("no outcome of a resolve is called \(word)")
        }
    }
}
