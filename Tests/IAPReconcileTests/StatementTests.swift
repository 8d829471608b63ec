import Foundation
import TestSupport
import Testing

@testable import IAPReconcile

/// The command `statement`, as finance uses it.
@Suite struct StatementTests {
    @Test func aMonthIsPrintedInEveryForm() async throws {
        try await withProgramNight(customers: 60) { night in
            let ended = try await ChildProcess.run(ProgramNight.program, night.run)
            try #require(ended.status == 0, "\(ended.errors)")
            // The world's last day is the 21st of September, and the run closed the day before.
            let open = try await statement(night, [])
            #expect(open.status == 65)
            #expect(open.errors.contains("2026-09-30 is not closed yet"), "\(open.errors)")
            #expect(open.errors.contains("2026-09-20"))

            let early = try await ChildProcess.run(
                ProgramNight.program, ["statement", "2027-11", "--config", night.configuration])
            #expect(early.status == 65)
            #expect(early.errors.contains("No day from 2027-11-01 on is closed yet"), "\(early.errors)")
            #expect(!early.errors.contains("--as-of"))

            let later = try await statement(night, ["--as-of", "2026-10-01"])
            #expect(later.status == 65)
            #expect(later.errors.contains("2026-10-01 lies after the month's end"), "\(later.errors)")

            let asOf = ["--as-of", "2026-09-20"]
            let unknown = try await statement(night, asOf + ["--app", "com.zzz"])
            #expect(unknown.status == 65 && unknown.output == "")
            #expect(unknown.errors.contains("there is no section [app com.zzz]"), "\(unknown.errors)")

            let csv = try await statement(night, asOf)
            #expect(csv.status == 0, "\(csv.errors)")
            #expect(csv.output.hasPrefix("first,through,bundle_id,product_id,currency,opening,opening_amount,entered,"))
            #expect(csv.output.contains("\r\n\r\nfirst,through,bundle_id,product_id,days,units_sold,"))
            #expect(csv.output.contains("\r\n\r\nfirst,through,bundle_id,product_id,currency,units,proceeds\r\n"))
            #expect(csv.output.contains("\r\n\r\nfirst,through,difference,day,bundle_id,"))

            let json = try await statement(night, asOf + ["--format", "json", "--app", "com.example.game"])
            #expect(json.status == 0, "\(json.errors)")
            let told = try #require(
                JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
            #expect(told["through"] as? String == "2026-09-20")
            let rows = try #require(told["liability"] as? [[String: Any]])
            #expect(!rows.isEmpty)
            for row in rows {
                func figure(_ name: String) -> Int { row[name] as? Int ?? -1 }
                #expect(row["bundle_id"] as? String == "com.example.game")
                #expect(
                    figure("opening") + figure("entered") - figure("delivered") - figure("refunded")
                        - figure("dropped") == figure("closing"))
            }
        }
    }

    @Test(arguments: [
        ([], "statement needs one month, such as 2026-10"), (["October"], "“October” is no month such as 2026-10"),
        (["2026-13"], "“2026-13” is no month such as 2026-10"),
        (["2026-10", "--as-of", "today"], "--as-of is a day such as 2026-10-31, not “today”"),
    ])
    func whatIsNoMonthIsSaid(arguments: [String], text: String) throws {
        let error = #expect(throws: UsageError.self) { try Invocation(arguments: ["statement"] + arguments) }
        #expect(error?.description == text)
    }

    /// Its library leaves out what the disk does not take, and says nothing.
    @Test func aSpreadsheetForWhichThereIsNoRoomIsRefused() async throws {
        try await withProgramNight(customers: 60) { night in
            let ended = try await ChildProcess.run(ProgramNight.program, night.run)
            try #require(ended.status == 0, "\(ended.errors)")
            let command = [
                ProgramNight.program, "statement", "2026-09", "--as-of", "2026-09-20", "--format", "xlsx", "--config",
                night.configuration,
            ]
            // No file may have more than 50 KiB: the spreadsheet fits, but not its rows before they are packed.
            let refused = try await ChildProcess.run(
                "/bin/sh", ["-c", #"ulimit -f 100; exec "$@""#, "sh"] + command)
            #expect(refused.status == 77, "\(refused.errors)")
            #expect(refused.output == "")
        }
    }

    private func statement(_ night: ProgramNight, _ options: [String]) async throws -> ChildProcess.Ended {
        try await ChildProcess.run(
            ProgramNight.program, ["statement", "2026-09", "--config", night.configuration] + options)
    }
}
