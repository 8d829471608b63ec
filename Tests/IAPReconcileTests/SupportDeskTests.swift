import Foundation
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

@testable import IAPReconcile

/// The commands `check` and `resolve`, as a person at the support desk uses them.
@Suite struct SupportDeskTests {
    /// A night, and a configuration of the support desk's own, which names key files that it may not read.
    private func withDesk(_ body: (ProgramNight, @escaping Desk) async throws -> Void) async throws {
        try await withProgramNight(customers: 60) { night in
            let ended = try await ChildProcess.run(ProgramNight.program, night.run)
            try #require(ended.status == 0, "\(ended.errors)")
            let file = night.folder.appending(path: "desk.conf").path(percentEncoded: false)
            try write(
                """
                [database]
                conninfo = host=/nonexistent dbname=x
                support_conninfo = \(night.database.conninfo(as: "iap_support"))
                [app com.example.game]
                shared_secret_file = /nonexistent

                """, to: file)
            try await body(night) { arguments in
                try await ChildProcess.run(ProgramNight.program, arguments + ["--config", file])
            }
        }
    }

    /// The desk's configuration for people who read Chinese.
    private func inChinese(_ night: ProgramNight) throws -> String {
        let folder = night.folder.path(percentEncoded: false)
        let configuration = try String(contentsOfFile: folder + "/desk.conf", encoding: .utf8)
        try write("[report]\nlanguage = zh\n" + configuration, to: folder + "/chinese.conf")
        return folder + "/chinese.conf"
    }

    private typealias Desk = ([String]) async throws -> ChildProcess.Ended

    private func openCase(_ night: ProgramNight) async throws -> String {
        let connection = try await night.database.connect()
        defer { connection.close() }
        let rows = try await connection.query(
            "SELECT transaction_id FROM iap.cases WHERE state = 'open' AND environment = 'Production' ORDER BY 1 LIMIT 1"
        )
        return try #require(rows.first).decode("transaction_id")
    }

    @Test func aCaseIsCheckedResolvedAndReopened() async throws {
        try await withDesk { night, desk in
            let id = try await openCase(night)
            let open = try await desk(["check", id])
            #expect(open.status == 0)
            #expect(open.errors == "")
            #expect(open.output.contains("Transaction \(id) of "))
            #expect(open.output.split(separator: "\n").last?.hasPrefix("paid, not delivered: ") == true)
            let chinese = try await ChildProcess.run(
                ProgramNight.program, ["check", id, "--config", try inChinese(night)])
            #expect(chinese.output.split(separator: "\n").last?.hasPrefix("已付款，未发货：") == true, "\(chinese)")

            let decision = ["resolve", id, "--delivered", "--by", "sue", "--note", "ticket 1", "--user", "anna"]
            let mistyped = try await desk(decision)
            #expect(mistyped.status == 65)
            #expect(mistyped.errors.contains("nobody has heard of the user “anna”"), "\(mistyped.errors)")
            let ordered = try await desk(["resolve", id, "--deliver", "--by", "sue", "--note", "ticket 1"])
            #expect(ordered.status == 0, "\(ordered.errors)")
            #expect(ordered.output == "\(id) is ordered: the app's server delivers it to its owner\n")
            let resolved = try await desk(decision + ["--unknown-user"])
            #expect(resolved.status == 0)
            #expect(resolved.output == "\(id) is delivered\n")
            let delivered = try await desk(["check", id, "--json"])
            #expect(delivered.output.contains(#""verdict":"delivered"}"#))
            #expect(delivered.output.contains(#""note":"ticket 1""#))
            #expect(delivered.output.matches(of: /\n/).count == 1)
            let again = try await desk(["resolve", id, "--refunded", "--by", "sue", "--note", "no"])
            #expect(again.status == 65)
            #expect(again.output == "")
            #expect(again.errors.contains("\(id) is delivered already"))

            let reopened = try await desk(["resolve", id, "--reopen", "--by", "tom", "--note", "it was another"])
            #expect(reopened.status == 0)
            #expect(reopened.output == "\(id) is owed again, as it was before\n")
            let events = try await desk(["check", id])
            #expect(events.output.contains("reopened by tom; note: it was another; was: delivered"))
            let night = try await ChildProcess.run(ProgramNight.program, night.run)
            #expect(night.status == 0, "\(night.errors)")
        }
    }

    @Test func whatNobodyKnowsEndsWith65() async throws {
        try await withDesk { _, desk in
            let unknown = try await desk(["check", "nobody"])
            #expect(unknown.status == 65)
            #expect(unknown.output == "unknown: no purchase, order or user is known by this id\n")
            let invoice = try await desk(["check", "MK5TTTVWJH"])
            #expect(invoice.status == 65)
            #expect(invoice.output.contains("Apple was not asked"))
            #expect(invoice.output.contains("/nonexistent"))
            let resolve = try await desk(["resolve", "1", "--dismissed", "--by", "sue", "--note", "x"])
            #expect(resolve.status == 65)
            #expect(resolve.errors.contains("no verified transaction has the id 1; see iap-reconcile check 1"))
            let note = try await desk(["note", "1", "--by", "sue", "--note", "x", "--app", "com.nope"])
            #expect(note.errors.contains("no verified transaction has the id 1 in com.nope; see"))
        }
    }

    @Test func theJobsOwnRoleMayNotResolve() async throws {
        try await withProgramNight(customers: 8) { night in
            let ended = try await ChildProcess.run(
                ProgramNight.program,
                ["resolve", "1", "--dismissed", "--by", "sue", "--note", "x", "--config", night.configuration])
            #expect(ended.status == 77)
            #expect(ended.errors.contains("support_conninfo"))
        }
    }

    @Test(
        arguments: [
            (["check"], "check needs one id: of a transaction, an invoice, an order or a user"),
            (["check", "1", "2"], "check needs one id: of a transaction, an invoice, an order or a user"),
            (
                ["resolve", "1", "--by", "a", "--note", "b"],
                "resolve needs one of --delivered, --deliver, --dismissed, --refunded and --reopen"
            ),
            (
                ["resolve", "1", "--by", "a", "--note", "b", "--delivered", "--refunded"],
                "resolve needs one of --delivered, --deliver, --dismissed, --refunded and --reopen"
            ),
            (["resolve", "1", "--delivered", "--note", "b"], "--by WHO is missing: who decides?"),
            (["resolve", "1", "--delivered", "--by", "a"], "--note TEXT is missing: why?"),
            (["resolve", "1", "--delivered", "--by", "a", "--note="], "--note needs a value"),
            (["resolve", "a b", "--delivered", "--by", "a", "--note", "b"], "“a b” can't be a transaction id"),
            (
                ["resolve", "1", "--dismissed", "--by", "a", "--note", "b", "--user", "u"],
                "--user and --order say to whom it was delivered; they go with --delivered"
            ),
            (
                ["resolve", "1", "--dismissed", "--by", "a", "--note", "b", "--environment", "Xcode"],
                "--environment is production or sandbox, not “Xcode”"
            ),
        ] as [([String], String)])
    func whatCannotBeUnderstoodIsNamed(arguments: [String], message: String) throws {
        let error = try #require(throws: UsageError.self) { try Invocation(arguments: arguments) }
        #expect(error.description == message)
    }

    @Test func everyPartOfADecisionIsRead() throws {
        let invocation = try Invocation(arguments: [
            "resolve", "42", "--delivered", "--by", "sue", "--note", "by mail", "--user", "anna", "--order", "o-1",
            "--app", "com.example.game", "--environment", "sandbox",
        ])
        guard case .resolve(let resolution) = invocation.command else {
            Issue.record("not a resolve")
            return
        }
        #expect(resolution.transactionID.text == "42")
        #expect(resolution.by == "sue" && resolution.note == "by mail")
        #expect(resolution.decision == .delivered(to: Resolution.Recipient(userID: "anna"), orderID: "o-1"))
        #expect(resolution.bundleID?.text == "com.example.game" && resolution.environment == .sandbox)
    }
}
