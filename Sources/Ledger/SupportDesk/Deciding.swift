import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Carries out what a line of a report decides, if its case is still as that report showed it.
    ///
    /// - Parameters:
    ///   - who: who decides.
    ///   - note: why.
    ///   - isRehearsal: whether to do everything and roll it back.
    /// - Throws: `LedgerError.forbidden` to a role that may not: `iap_support` may.
    public func carryOut(
        _ line: DecidedLine, by who: String, note: String, isRehearsal: Bool
    ) async throws(LedgerError) -> DecisionOutcome {
        try await translating {
            try await connection.transaction(isRehearsal: isRehearsal) {
                let key = line.mark.key
                let word = try await connection.only(
                    """
                    SELECT decide(
                        \(key.id.text), \(key.bundleID.text), \(key.environment.rawValue), \(line.mark.standing),
                        \(line.decision.rawValue), \(who), \(note)) AS outcome
                    """
                ).decode("outcome", as: String.self)
                return try DecisionOutcome(word, of: line.decision)
            }
        }
    }
}

extension DecisionOutcome {
    fileprivate init(_ word: String, of decision: DeskDecision) throws {
        if word == decision.rawValue {
            self = .done
        } else if word == "already" {
            self = .already
        } else if let refusal = DecisionRefusal(rawValue: word) {
            self = .refused(refusal)
        } else {
            throw LedgerError.failed("no outcome of a decision is called \(word)")
        }
    }
}
