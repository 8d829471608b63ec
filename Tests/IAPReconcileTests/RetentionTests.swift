import Foundation
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

@testable import IAPReconcile

/// The commands `purge` and `erase`, as an operator and whoever answers for people's data use them.
@Suite struct RetentionTests {
    @Test(arguments: [
        (["erase"], "erase needs one user id"), (["erase", "ann"], "--by WHO is missing: who erases?"),
        (["erase", "ann", "bob", "--by", "dan"], "erase needs one user id"),
        (["erase", "ann", "--by", ""], "--by needs a value"), (["purge", "all"], "unexpected argument “all”"),
        (["purge", "--even-open"], "--even-open is no option of “purge”"),
    ])
    func whatIsMissingIsSaid(arguments: [String], message: String) {
        #expect(throws: UsageError(message)) { try Invocation(arguments: arguments) }
    }

    @Test func itsOptionsAreRead() throws {
        guard case .erase(let erasure) = try Invocation(arguments: ["erase", "ann", "--by", "dan"]).command,
            case .erase(let rehearsal) = try Invocation(
                arguments: ["erase", "--dry-run", "--even-open", "ann", "--by=dan"]
            ).command,
            case .purge(isDryRun: true) = try Invocation(arguments: ["purge", "--dry-run"]).command,
            case .purge(isDryRun: false) = try Invocation(arguments: ["purge"]).command
        else {
            Issue.record("other commands")
            return
        }
        #expect(erasure.userID == "ann" && erasure.by == "dan" && !erasure.isEvenOpen && !erasure.isDryRun)
        #expect(rehearsal.userID == "ann" && rehearsal.isEvenOpen && rehearsal.isDryRun)
    }

    @Test func aUserIsErasedOnlyWhereNothingIsOpenOrEvenSo() async throws {
        try await withScratchDatabase { database in
            let connection = try await database.connect()
            defer { connection.close() }
            try await connection.executeScript(
                unsafe: """
                    SELECT iap.admit('com.example.a', 'Production', '1', '1', 'gems', 1, now(), 'ann');
                    SELECT iap.admit('com.example.a', 'Production', '2', '2', 'gems', 1, now(), 'bob');
                    SELECT iap.claim('com.example.a', '2', 'bob');
                    SELECT iap.submit_receipt('com.example.a', 'ann', 'r');
                    """)
            try await withTemporaryFolder { folder in
                let file = folder.appending(path: "privacy.conf").path(percentEncoded: false)
                try write(
                    """
                    [database]
                    conninfo = \(database.conninfo(as: "iap_job"))
                    privacy_conninfo = \(database.conninfo(as: "iap_privacy"))
                    [decisions]
                    directory = /srv/decisions
                    """, to: file)
                func erase(_ user: String, _ options: String...) async throws -> ChildProcess.Ended {
                    try await ChildProcess.run(
                        ProgramNight.program, ["erase", user, "--by", "dan", "--config", file] + options)
                }
                let nobody = try await erase("zoe")
                #expect(nobody.status == 65)
                #expect(nobody.errors == "iap-reconcile: nothing was changed: no row names this user\n")

                let refused = try await erase("ann")
                #expect(refused.status == 65)
                #expect(refused.output == "")
                #expect(
                    refused.errors.hasPrefix(
                        "iap-reconcile: nothing was changed: 1 purchase is paid and not delivered (1), 1 receipt is "
                            + "not verified yet. First deliver or resolve what is paid and let a night verify what "
                            + "waits, or erase the user --even-open: "))
                let rehearsed = try await erase("ann", "--even-open", "--dry-run")
                #expect(rehearsed.output.hasPrefix("The user of com.example.a would be erased.\n"))
                #expect(try await erase("ann").status == 65)
                let open = try await erase("ann", "--even-open")
                #expect(open.status == 0)
                #expect(
                    open.output.hasSuffix(
                        "  receipts: 1\n  transactions: 1\nStill open: 1 purchase is paid and not delivered (1), 1 receipt is "
                            + "not verified yet.\n"))

                let settled = try await erase("bob")
                #expect(settled.status == 0)
                #expect(settled.output.hasPrefix("The user of com.example.a is erased, and called erased-"))
                #expect(settled.output.hasSuffix("\n  claims: 1\n  trail: 1\n  transactions: 1\n"))
                #expect(settled.errors.contains("reports that were written before still name the user"))
                #expect(settled.errors.contains(" and /srv/decisions/done"))
                #expect(!(open.output + open.errors + settled.output + settled.errors).contains("bob"))
            }
        }
    }

    @Test func theJobMayPurgeAndNotErase() async throws {
        try await withScratchDatabase { database in
            try await withTemporaryFolder { folder in
                let file = folder.appending(path: "job.conf").path(percentEncoded: false)
                try write("[database]\nconninfo = \(database.conninfo(as: "iap_job"))\n", to: file)
                let purged = try await ChildProcess.run(ProgramNight.program, ["purge", "--config", file])
                #expect(purged.status == 0)
                #expect(purged.output == "payloads purged: 0\ndevices purged: 0\n")
                let counted = try await ChildProcess.run(
                    ProgramNight.program, ["purge", "--dry-run", "--config", file])
                #expect(counted.output == "payloads would be purged: 0\ndevices would be purged: 0\n")
                let erased = try await ChildProcess.run(
                    ProgramNight.program, ["erase", "ann", "--by", "dan", "--config", file])
                #expect(erased.status == 77)
                #expect(erased.errors.contains("privacy_conninfo"))
            }
        }
    }
}
