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

            // A client that tries again after all: the claim closes the case.
            try await play.claim(lost)
            let third = try await play.night(3)
            #expect(third.report.cases.total == 0)
            #expect(third.report.cases.closed == [.delivered: 1])
            let kinds = try await play.events(of: lost)
            #expect(kinds == ["case_opened", "claimed"])
        }
    }

    /// What the app's server admitted came in no receipt, so Apple is not asked each night whether it stands.
    @Test func whoWaitedANightIsNotToldToWaitAgain() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000003011", hoursAgo: 2)
            try await play.admit(lost)
            #expect(try await play.night(1).findings.cases.map(\.assessment.action) == [.wait])
            // The same night once more.
            #expect(try await play.night(1).findings.cases.map(\.assessment.action) == [.wait])
            #expect(try await play.night(2).findings.cases.map(\.assessment.action) == [.deliver])
        }
    }

    /// Neither twice, for a claim that comes while the night goes on, nor never, for one that is open all the night.
    @Test func eachClosedCaseIsToldOfOnce() async throws {
        try await withPlay { play in
            let bought = (1...3).map { play.buy("100000000000310\($0)") }
            for one in bought { try await play.upload(play.receipt([one]), for: one) }
            #expect(try await play.night(1).report.cases.total == 3)
            let server = try await play.database.connect(as: "iap_app")
            defer { server.close() }
            try await server.execute("BEGIN")
            _ = try await server.query("SELECT iap.claim(\(Play.bundleID), \(bought[0].id), 'anna')")
            try await play.claim(bought[1])
            // As of a run that has begun and looks at its cases later.
            try await play.administer(
                "UPDATE iap.cases SET closed_at = closed_at + interval '2 days' WHERE state = 'closed'")
            let second = try await play.night(2).report.cases
            #expect(second.total == 2 && second.closed == [.delivered: 1])
            try await server.execute("COMMIT")
            let third = try await play.night(3).report.cases
            #expect(third.total == 1 && third.closed == [.delivered: 1])
            #expect(try await play.night(4).report.cases.closed == [:])
            try await play.claim(bought[2])
            // A run that is killed has told nobody.
            try await play.administer(
                """
                WITH killed AS (
                    INSERT INTO iap.runs (
                        as_of, started_at, finished_at, host, process_id, program_version, state, reason)
                    VALUES (now(), now(), now(), '', 1, '', 'abandoned', 'it was killed')
                    RETURNING run_id)
                UPDATE iap.cases SET told_run_id = killed.run_id
                FROM killed
                WHERE told_run_id IS NULL AND cases.state = 'closed'
                """)
            #expect(try await play.night(5).report.cases.closed == [.delivered: 1])
            #expect(try await play.reportAgain().cases.closed == [.delivered: 1])
        }
    }

    /// A report that was never written has told nobody of its new cases, nor of those that were opened again.
    @Test(arguments: ["failed", "abandoned"])
    func whatARunWithoutAReportOpenedIsNewInTheNext(state: String) async throws {
        try await withPlay { play in
            func loseReport(of night: Int) async throws {
                try await play.administer(
                    """
                    UPDATE iap.runs SET state = \(state), exit_code = 77, reason = 'the disk was full'
                    WHERE run_id = \(Int64(night))
                    """)
            }
            let bought = (1...3).map { play.buy("100000000000330\($0)") }
            for one in bought { try await play.upload(play.receipt([one]), for: one) }
            #expect(try await play.night(1).report.cases.new == 3)
            try await loseReport(of: 1)
            let second = try await play.night(2)
            #expect(second.report.cases.new == 3)
            #expect(second.findings.cases.allSatisfy { $0.isNew })
            #expect(try await play.reportAgain().cases.new == 3)
            let third = try await play.night(3)
            #expect(third.report.cases.new == 0)
            #expect(third.findings.cases.allSatisfy { !$0.isNew })

            try await play.administer("SELECT iap.resolve(\(bought[0].id), 'dismissed', 'sue', 'no answer')")
            #expect(try await play.night(4).report.cases.closed == [.dismissed: 1])
            try await loseReport(of: 4)
            #expect(try await play.night(5).report.cases.closed == [.dismissed: 1])
            try await play.administer("SELECT iap.reopen(\(bought[0].id), 'sue', 'they did')")
            #expect(try await play.night(6).report.cases.reopened == 1)
            try await loseReport(of: 6)
            let seventh = try await play.night(7, isDryRun: true)
            #expect(seventh.report.cases.reopened == 1)
            #expect(try await play.night(7).report.cases.reopened == 1)
            #expect(try await play.night(8).report.cases.reopened == 0)
        }
    }

    /// What was booked by the list of its day keeps that price, and what is unpriced is counted beside it.
    @Test func aCaseCostsWhatIsBooked() async throws {
        try await withPlay { play in
            func list(_ milliunits: Int64, _ currency: String) async throws {
                try await play.administer(
                    """
                    INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
                    VALUES (\(Play.bundleID), 'gems.60', 'consumable', 'Gems', \(milliunits), \(currency))
                    ON CONFLICT (bundle_id, product_id) DO UPDATE
                    SET list_price_milliunits = EXCLUDED.list_price_milliunits, currency = EXCLUDED.currency
                    """)
            }
            try await list(2_199_000_000, "IDR")
            let booked = play.buy("1000000000003201") { $0.price = nil }
            let many = play.buy("1000000000003202") {
                $0.price = nil
                $0.quantity = 2_147_483_647
            }
            for one in [booked, many] { #expect(try await play.admit(one) == "white") }
            try await list(999_000_000, "IDR")
            let night = try await play.night()
            let rupiah = Money(milliunits: 2_199_000_000, currency: try #require(CurrencyCode("IDR")))
            #expect(night.report.cases.money == [rupiah] && night.report.cases.unpriced == 1)
            #expect(night.findings.cases.map(\.price) == [rupiah, nil])
            #expect(night.findings.cases.first?.isListPrice == true)
            let owed: String? = try await play.text(
                "SELECT amount::bigint FROM finance.unclaimed_liability WHERE amount IS NOT NULL")
            #expect(owed == "2199000")
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
