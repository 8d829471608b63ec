import Foundation
import PostgreSQL
import TestSupport
import Testing

/// The command `sales`, as cron runs it.
@Suite struct SalesTests {
    private var program: String { ProgramNight.program }
    private static let header =
        "SKU\tUnits\tBegin Date\tEnd Date\tCountry Code\tParent Identifier\tProduct Type Identifier\n"

    @Test func badInputIsNamed() async throws {
        let none = try await ChildProcess.run(program, ["sales"])
        #expect(none.status == 64)
        #expect(none.errors.contains("a sales report to read is missing; - is standard input"))
        let stray = try await ChildProcess.run(program, ["sales", "x", "--limit", "3"])
        #expect(stray.errors.contains("--limit is no option of “sales”"))
    }

    @Test func itTellsOfEveryLineAndEveryDifference() async throws {
        try await withBooth { configuration, folder in
            let file = folder.appending(path: "S_D.txt").path(percentEncoded: false)
            let sold = "11/20/2026\t11/20/2026\tUS"
            let lines = [
                "gems\t3\t\(sold)\tG\tIA1", "gems\t-1\t\(sold)\tG\tIA1", "G\t9\t\(sold)\tG\t1F",
                "x\t2\t\(sold)\tH\tIAY", "?",
            ]
            try write(Self.header + lines.joined(separator: "\n"), to: file)
            let ended = try await ChildProcess.run(program, ["sales", file, "--config", configuration])
            #expect(ended.status == 65)
            #expect(ended.errors.contains("refused: the line has 1 fields and the header 7"))
            #expect(ended.errors.contains("lines of an app that is not known"))
            #expect(
                ended.output == """
                    day         report  lines  units  refunds  file
                    2026-11-20  new         2      3        1  \(file)
                    \(file): 5 lines: 2 of in-app purchases, 1 of others, 1 of unknown apps, 1 refused (1 malformed)

                    3 units sold, 0 seen: 3 sold and not seen, 0 seen and not sold; 1 refund, 0 seen

                    day         app    product  country  sold  seen  difference  ±1 day  refunds  seen
                    2026-11-20  com.a  gems     USA         3     0          +3      +3        1     0

                    """)
        }
    }

    @Test func aDayWithoutSalesIsEqual() async throws {
        try await withBooth { configuration, _ in
            let lines = "G\t9\t11/20/2026\t11/20/2026\tUS\t \t1F\n"
            let ended = try await ChildProcess.run(
                program, ["sales", "-", "--config", configuration, "--quiet"], input: Self.header + lines)
            #expect(ended.status == 0 && ended.errors == "")
            #expect(
                ended.output == """
                    day         report  lines  units  refunds  file
                    2026-11-20  new         0      0        0  -
                    -: 1 line: 0 of in-app purchases, 1 of others, 0 refused

                    0 units sold, 0 seen; 0 refunds, 0 seen: all equal

                    """)
        }
    }

    @Test func aReportOfAWeekIsRefused() async throws {
        try await withBooth { configuration, _ in
            let line = "gems\t1\t11/16/2026\t11/22/2026\tUS\tG\tIA1\n"
            let ended = try await ChildProcess.run(
                program, ["sales", "-", "--config", configuration], input: Self.header + line)
            #expect(ended.status == 65 && ended.output == "")
            #expect(ended.errors.contains("- is no daily report: line 2 tells of 2026-11-16 to 2026-11-22"))
        }
    }

    @Test(
        arguments: [
            ("", "- is empty: a sales report begins with a header"),
            ("a\tb\n", "- is no Summary Sales report: it has no column SKU, Parent Identifier"),
            ("\u{1F}\u{8B}", "- is no Summary Sales report"),
        ])
    func aFileOfNoUseIsNamed(text: String, message: String) async throws {
        try await withBooth { configuration, _ in
            let ended = try await ChildProcess.run(program, ["sales", "-", "--config", configuration], input: text)
            #expect(ended.status == 65)
            #expect(ended.errors.contains(message), "\(ended.errors)")
        }
    }

    private func withBooth(_ body: (String, URL) async throws -> Void) async throws {
        try await withScratchDatabase { database in
            let owner = try await database.connect()
            try await owner.execute(
                "INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.a', 'gems', 'consumable', 'G')"
            )
            owner.close()
            try await withTemporaryFolder { folder in
                let file = folder.appending(path: "sales.conf").path(percentEncoded: false)
                try write("[database]\nconninfo = \(database.conninfo(as: "iap_job"))\n", to: file)
                try await body(file, folder)
            }
        }
    }
}
