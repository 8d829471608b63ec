import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Erases a user; a rehearsal does all of it and rolls it back.
    ///
    /// - Throws: `LedgerError.conflict` while a run is under way; `LedgerError.forbidden` to a role that may not:
    ///   `iap_privacy` may.
    public func erase(_ erasure: Erasure) async throws(LedgerError) -> ErasureOutcome {
        try await translating {
            try await connection.transaction(isRehearsal: erasure.isDryRun) {
                // It reads whole tables, and waits for the rows that others have in hand.
                try await connection.execute("SET LOCAL lock_timeout = '10s'")
                return try await outcome(of: erasure)
            }
        }
    }

    private func outcome(of erasure: Erasure) async throws -> ErasureOutcome {
        let answer = try await connection.only(
            "SELECT erase_user(\(erasure.userID), \(erasure.by), \(erasure.isEvenOpen))::text AS answer"
        ).decode("answer", as: String.self)
        return try ErasureOutcome(JSONDecoder().decode(ErasureAnswer.self, from: Data(answer.utf8)))
    }
}

/// As `iap.erase_user` answers.
private struct ErasureAnswer: Decodable {
    let outcome: String
    let pseudonym: String?
    let apps: [String]?
    let rows: [String: Int]?
    let open: [String]?
    let waiting: Int?
}

extension ErasureOutcome {
    fileprivate init(_ answer: ErasureAnswer) throws {
        let open = OpenBusiness(transactionIDs: answer.open ?? [], waitingReceipts: answer.waiting ?? 0)
        switch answer.outcome {
        case "unknown": self = .unknown
        case "open": self = .open(open)
        case "erased":
            let rows = (answer.rows ?? [:]).sorted { $0.key < $1.key }.map { Rows(table: $0.key, count: $0.value) }
            self = .erased(pseudonym: answer.pseudonym ?? "", apps: answer.apps ?? [], rows: rows, open: open)
        default: throw LedgerError.failed("no outcome of an erasure is called \(answer.outcome)")
        }
    }
}
