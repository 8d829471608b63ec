import AppStoreSimulator
import Foundation
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// What becomes of a case from night to night.
@Suite struct CaseLifeTests {
    @Test func aCaseOpensStaysAndEndsByAClaim() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000003001")
            try await play.upload(play.receipt([lost]), for: lost)
            let first = try await play.night(1)
            #expect(first.report.cases.new == 1)
            #expect(first.findings.cases.first?.isNew == true)
            let second = try await play.night(2)
            #expect(second.report.cases.new == 0)
            #expect(second.report.cases.total == 1)
            #expect(second.findings.cases.first?.isNew == false)
            #expect(second.report.history.map(\.cases) == [1, 1])
            #expect(second.report.history.map(\.new) == [1, 0])

            // A client that tries again after all: the claim closes the case, at a time after the last night.
            try await play.claim(lost)
            try await play.administer("UPDATE iap.cases SET closed_at = opened_at + interval '30 hours'")
            let third = try await play.night(3)
            #expect(third.report.cases.total == 0)
            #expect(third.report.cases.closed == [.delivered: 1])
            let kinds = try await play.events(of: lost)
            #expect(kinds == ["case_opened", "claimed"])
        }
    }

    @Test func aCaseThatSupportTakesBackIsOpenAgain() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000003002")
            try await play.upload(play.receipt([lost]), for: lost)
            _ = try await play.night(1)
            for call in [
                "PERFORM iap.resolve('1000000000003002', 'dismissed', 'tom', 'not ours')",
                "PERFORM iap.reopen('1000000000003002', 'tom', 'it is ours')",
            ] { try await play.administer("DO $$ BEGIN \(unsafe: call); END $$") }
            let second = try await play.night(2)
            #expect(second.findings.caseIDs == [lost.id])
            let kinds = try await play.events(of: lost)
            #expect(kinds == ["case_opened", "resolved", "reopened", "case_reopened"])
        }
    }

    @Test func aCaseChangesWhenAnOwnerIsFound() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000003003")
            let payload = play.receipt([lost])
            try await play.upload(payload, by: nil)
            let first = try await play.night(1)
            #expect(first.findings.cases.first?.assessment.owner == .unknown)
            try await play.upload(payload, by: "anna", for: lost)
            let second = try await play.night(2)
            #expect(second.findings.cases.first?.assessment.owner == .user("anna"))
            #expect(
                try await play.events(of: lost).filter { $0.hasPrefix("case_") } == ["case_opened", "case_changed"])
        }
    }
}

extension Play {
    /// The kinds of a transaction's events, in the order in which they were noted.
    fileprivate func events(of transaction: SimulatedTransaction) async throws -> [String] {
        let connection = try await database.connect()
        defer { connection.close() }
        return try await connection.query(
            """
            SELECT kind
            FROM (
                SELECT event_id AS number, kind FROM iap.events WHERE transaction_id = \(transaction.id)
                UNION ALL
                SELECT move_id, kind FROM iap.moves WHERE transaction_id = \(transaction.id)
            ) AS told
            ORDER BY number
            """
        ).map { try $0.decode("kind", as: String.self) }
    }
}
