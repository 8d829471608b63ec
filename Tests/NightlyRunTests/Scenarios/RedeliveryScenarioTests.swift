import AppStoreSimulator
import Foundation
import Ledger
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing
import Verification

/// What the night is sure of is delivered by the app's server, without the customer: each once.
@Suite struct RedeliveryScenarioTests {
    private static let app = Play.bundleID

    /// Lost orders of as many users, of which a night has ordered the redelivery; and the app's wallets.
    private func withRedeliveries(
        _ count: Int, _ body: (Play, [SimulatedTransaction]) async throws -> Void
    ) async throws {
        try await withPlay { play in
            var play = play
            play.settings.apps[0].app = Self.redelivering(play.settings.apps[0].app)
            try await play.administer("CREATE TABLE public.credits (transaction_id text, user_id text)")
            try await play.administer("GRANT INSERT ON public.credits TO iap_app")
            var lost: [SimulatedTransaction] = []
            for number in 0..<count {
                let user = "user-\(number)"
                let bought = play.buy("20000000000070\(10 + number)", account: user)
                try await play.upload(play.receipt([bought], account: user), by: user, for: bought)
                lost.append(bought)
            }
            // What may still arrive is not sure on the first night.
            _ = try await play.night()
            let figures = try await play.night(2).report.redeliveries
            #expect(figures.open == count)
            try await body(play, lost)
            #expect(
                try await play.count(
                    "(SELECT FROM public.credits GROUP BY transaction_id HAVING count(*) > 1) AS twice") == 0)
            #expect(try await play.count("finance.unexplained") == 0)
        }
    }

    private static func redelivering(_ app: App) -> App {
        var app = app
        app.redelivery = .high
        return app
    }

    private struct Taken {
        let id: String
        let user: String
    }

    private func take(_ connection: Connection, atMost most: Int = 100) async throws -> [Taken] {
        try await connection.query(
            """
            SELECT transaction_id, user_id
            FROM iap.take_redeliveries(\(Self.app), \(Int32(most)))
            """
        ).map { Taken(id: try $0.decode("transaction_id"), user: try $0.decode("user_id")) }
    }

    /// What a server does with one, as docs/integrate.md has it; the claim's outcome.
    @discardableResult
    private func deliver(_ taken: Taken, _ connection: Connection) async throws -> String {
        try await connection.transaction {
            let outcome = try await claim(taken, connection)
            if outcome == "delivered" { try await credit(taken, connection) }
            return outcome
        }
    }

    private func claim(_ taken: Taken, _ connection: Connection) async throws -> String {
        let rows = try await connection.query(
            "SELECT iap.claim(\(Self.app), \(taken.id), \(taken.user)) AS outcome")
        return try #require(rows.first).decode("outcome")
    }

    private func credit(_ taken: Taken, _ connection: Connection) async throws {
        try await connection.execute("INSERT INTO public.credits VALUES (\(taken.id), \(taken.user))")
    }

    private func onServer<Value>(_ play: Play, _ body: (Connection) async throws -> Value) async throws -> Value {
        let connection = try await play.database.connect(as: "iap_app")
        defer { connection.close() }
        return try await body(connection)
    }

    private func endLeases(_ play: Play) async throws {
        try await play.administer("UPDATE iap.redeliveries SET due_at = now() - interval '1 second'")
    }

    @Test func whatTheNightIsSureOfIsDeliveredAndTold() async throws {
        try await withRedeliveries(2) { play, lost in
            try await onServer(play) { server in
                let taken = try await take(server)
                #expect(Set(taken.map(\.id)) == Set(lost.map(\.id)))
                #expect(try await take(server).isEmpty)
                for one in taken { #expect(try await deliver(one, server) == "delivered") }
            }
            #expect(try await play.night(3).report.redeliveries == RedeliveryFigures(delivered: 2))
            #expect(try await play.reportAgain().redeliveries == RedeliveryFigures(delivered: 2))
            #expect(try await play.night(4).report.redeliveries.isEmpty)
            #expect(try await play.count("iap.black WHERE delivered_by = 'claim'") == 2)
        }
    }

    /// psql prints what it is notified of after each statement.
    @Test func whoListensIsWoken() async throws {
        try await withRedeliveries(1) { play, lost in
            try await play.administer("DELETE FROM iap.redeliveries")
            let printed = try await ChildProcess.runSuccessfully(
                "/usr/bin/psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", play.database.conninfo],
                input: """
                    LISTEN iap_redeliveries;
                    SELECT iap.redeliver('\(lost[0].id)', 'sue', 'ticket 7');
                    SELECT iap.redeliver('\(lost[0].id)', 'sue', 'ticket 7');
                    """)
            let notices = printed.split(separator: "\n").filter { $0.contains("\"iap_redeliveries\"") }
            #expect(notices.count == 1 && notices[0].contains("\"\(Self.app)\""), "\(printed)")
            let taken = try await onServer(play) { server in try await take(server) }
            #expect(taken.count == 1)
            try await play.administer("DELETE FROM iap.redeliveries")
            _ = try await play.night(3)
            #expect(try await play.count("iap.redeliveries") == 1)
        }
    }

    @Test func nothingIsOrderedUnlessTheAppWantsIt() async throws {
        try await withPlay { play in
            let bought = play.buy("2000000000007001")
            try await play.upload(play.receipt([bought]), for: bought)
            _ = try await play.night()
            #expect(try await play.night(2).report.redeliveries.isEmpty)
            #expect(try await play.count("iap.redeliveries") == 0)
        }
    }

    @Test func aDryRunOrdersNothing() async throws {
        try await withRedeliveries(1) { play, _ in
            try await play.administer("DELETE FROM iap.redeliveries")
            var findings = Collector()
            let job = NightlyJob(settings: play.settings, programVersion: "test", log: { _ in }, progress: { _ in })
            _ = try await job.run(
                RunOptions(isDryRun: true, now: play.began + 3 * 86_400), stop: StopSignal(), findings: &findings)
            #expect(try await play.count("iap.redeliveries") == 0)
        }
    }

    /// It credits, and dies before it commits: the claim goes with the credit, and the purchase comes back.
    @Test func aServerThatCrashesBetweenCreditAndCommit() async throws {
        try await withRedeliveries(1) { play, _ in
            let crashing = try await play.database.connect(as: "iap_app")
            let taken = try #require(try await take(crashing).first)
            try await crashing.execute("BEGIN")
            #expect(try await claim(taken, crashing) == "delivered")
            try await credit(taken, crashing)
            crashing.close()
            try await onServer(play) { server in
                #expect(try await take(server).isEmpty)
                try await endLeases(play)
                let again = try #require(try await take(server).first)
                #expect(try await deliver(again, server) == "delivered")
            }
            #expect(try await play.count("public.credits") == 1)
        }
    }

    /// Another takes what it holds on to; then it wakes up, and its claim comes too late.
    @Test func aServerThatHangsOnItsLease() async throws {
        try await withRedeliveries(1) { play, _ in
            try await onServer(play) { hanging in
                let held = try #require(try await take(hanging).first)
                try await endLeases(play)
                try await onServer(play) { server in
                    let again = try #require(try await take(server).first)
                    #expect(try await deliver(again, server) == "delivered")
                }
                #expect(try await deliver(held, hanging) == "already_delivered")
            }
            #expect(try await play.count("public.credits") == 1)
        }
    }

    @Test func theSameTakenTwiceAtOnce() async throws {
        try await withRedeliveries(1) { play, _ in
            var twice: [Taken] = []
            for _ in 1...2 {
                twice += try await onServer(play) { server in try await take(server) }
                try await endLeases(play)
            }
            let outcomes = try await withThrowingTaskGroup(of: String.self) { group in
                for taken in twice {
                    group.addTask {
                        try await onServer(play) { server in try await deliver(taken, server) }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.sorted() == ["already_delivered", "delivered"])
            #expect(try await play.count("public.credits") == 1)
        }
    }

    /// One isolation level after the other, for each taker has a connection of its own.
    @Test(.serialized, arguments: ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
    func eightTakersSideBySide(isolation: String) async throws {
        try await withRedeliveries(24) { play, lost in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await onServer(play) { server in
                            try await server.execute(
                                "SET default_transaction_isolation = \(unsafe: "'\(isolation.lowercased())'")")
                            try await takeAll(server)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await play.count("public.credits") == lost.count)
            #expect(try await play.count("iap.redeliveries WHERE tries <> 1") == 0)
        }
    }

    private func takeAll(_ server: Connection) async throws {
        while true {
            let taken = try await trying { try await take(server, atMost: 3) }
            if taken.isEmpty { return }
            for one in taken { _ = try await trying { try await deliver(one, server) } }
        }
    }

    /// Where another session was faster, the whole transaction is tried again.
    private func trying<Value>(_ body: () async throws -> Value) async throws -> Value {
        while true {
            do {
                return try await body()
            } catch let error as PostgreSQLError where error.sqlState?.rawValue.hasPrefix("40") == true {
            } catch TransactionError.body(let error as PostgreSQLError, _)
                where error.sqlState?.rawValue.hasPrefix("40") == true
            {
            }
        }
    }

    @Test func whatKeepsFailingIsGivenUpUntilAPersonOrdersIt() async throws {
        try await withRedeliveries(1) { play, lost in
            try await onServer(play) { server in
                for _ in 1...5 {
                    #expect(try await take(server).count == 1)
                    try await endLeases(play)
                }
                #expect(try await take(server).isEmpty)
            }
            let figures = try await play.night(3).report.redeliveries
            #expect(figures.failing == 1 && figures.open == 1 && figures.ordered == 0)
            #expect(figures.failures.first?.isGivenUp == true && figures.failures.first?.key.id.text == lost[0].id)
            #expect(try await play.decide(.redelivery, lost[0]) == .done)
            try await onServer(play) { server in
                let taken = try #require(try await take(server).first)
                #expect(try await deliver(taken, server) == "delivered")
            }
        }
    }

    /// The app's server is down for good, say, or was never told to take any: nobody else would give the goods.
    @Test func whatNoServerTakesIsNotWaitedForLongerThanADay() async throws {
        try await withRedeliveries(1) { play, lost in
            let waiting = try await play.night(3)
            #expect(waiting.findings.cases.map { $0.redelivery?.userID } == ["user-0"])
            #expect(waiting.report.redeliveries.failing == 0)
            try await play.administer("UPDATE iap.redeliveries SET due_at = due_at - interval '1 day'")
            let left = try await play.night(4)
            #expect(left.findings.cases.map { $0.redelivery?.userID } == [nil])
            #expect(left.report.redeliveries.failing == 1)
            #expect(left.report.redeliveries.failures.map(\.takenAt) == [nil])
            let assessment = try #require(left.findings.cases.first).assessment
            #expect(try await play.verdict(on: lost[0].id) == .owed(assessment))
            // The server may still come for it, until somebody gives it by hand.
            #expect(try await play.decide(.delivered(), lost[0]) == .done)
            let taken = try await onServer(play) { server in try await take(server) }
            #expect(taken.isEmpty)
        }
    }

    @Test func whatComesFirstEndsIt() async throws {
        try await withRedeliveries(3) { play, lost in
            #expect(try await play.claim(lost[0], for: "user-0") == "delivered")
            _ = try await play.text("SELECT iap.resolve(\(lost[1].id), 'dismissed', 'sue', 'a test')")
            try await play.administer("UPDATE iap.cases SET reasons = '{owner_uncertain}'")
            let taken = try await onServer(play) { server in try await take(server) }
            #expect(taken.isEmpty)
            let refused: [ResolutionOutcome] = [
                .unchanged(.alreadyDelivered), .unchanged(.excluded), .unchanged(.ownerUncertain),
            ]
            for (transaction, outcome) in zip(lost, refused) {
                #expect(try await play.decide(.redelivery, transaction) == outcome)
            }
            let ends = try await play.text(
                "SELECT string_agg(ended_as, ' ' ORDER BY transaction_id) FROM iap.redeliveries")
            #expect(ends == "delivered not_owed unsure")
        }
    }
}
