import Foundation
import Reconciliation
import TestSupport
import Testing

@testable import Reporting

@Suite struct StatementTextTests {
    private static let statement = Statement(
        first: CalendarDay("2026-10-01")!, through: CalendarDay("2026-10-31")!,
        closedAt: Date(timeIntervalSince1970: 1_793_500_000),
        liability: StatementTable(
            columns: ["bundle_id", "closing", "closing_amount"],
            rows: [[.text("com.example.game"), .whole(-2), .amount(Decimal(string: "-1.98")!)]]),
        sales: StatementTable(columns: ["product_id"], rows: []),
        proceeds: StatementTable(
            columns: ["currency", "proceeds"],
            rows: [[.text("KWD"), .amount(Decimal(string: "1.255")!)], [.text("JPY"), .amount(160)]]),
        differences: StatementTable(
            columns: ["transaction_id", "units"],
            rows: [[.nothing, .whole(1)], [.text("=1"), .nothing], [.text("2000001234567890"), .nothing]]))

    @Test func figuresBelowZeroAreFiguresAndTextsNoFormulas() {
        #expect(
            StatementText.csv(Self.statement) == """
                first,through,bundle_id,closing,closing_amount\r
                2026-10-01,2026-10-31,com.example.game,-2,-1.98\r
                \r
                first,through,product_id\r
                \r
                first,through,currency,proceeds\r
                2026-10-01,2026-10-31,KWD,1.255\r
                2026-10-01,2026-10-31,JPY,160\r
                \r
                first,through,transaction_id,units\r
                2026-10-01,2026-10-31,,1\r
                2026-10-01,2026-10-31,'=1,\r
                2026-10-01,2026-10-31,'2000001234567890,\r

                """)
    }

    @Test func programsReadNumbers() throws {
        #expect(
            try StatementText.json(Self.statement) == """
                {"differences":[{"units":1},{"transaction_id":"=1"},{"transaction_id":"2000001234567890"}],"first":"2026-10-01","liability":[{"bundle_id":\
                "com.example.game","closing":-2,"closing_amount":-1.98}],"proceeds":[{"currency":"KWD","proceeds":1.255},\
                {"currency":"JPY","proceeds":160}],"sales":[],"through":"2026-10-31"}

                """)
    }

    @Test func aSpreadsheetHasDaysAndMoneyByItsCurrency() async throws {
        let cells = try await written { file in
            """
            import re, sys, zipfile
            book = zipfile.ZipFile("\(file)")
            styles = book.read("xl/styles.xml").decode()
            own = dict(re.findall(r'numFmtId="(\\d+)" formatCode="([^"]+)"', styles))
            looks = re.findall(r'<xf numFmtId="(\\d+)"', styles[styles.index("<cellXfs"):])
            sheet = book.read("xl/worksheets/sheet3.xml").decode()
            for look, value in re.findall(r'<c r="\\w+" s="(\\d+)"><v>([^<]+)</v>', sheet):
                print(value, own.get(looks[int(look)], looks[int(look)]))
            print(re.search(r"<dcterms:created[^>]*>([^<]+)", book.read("docProps/core.xml").decode())[1])
            """
        }
        #expect(
            cells == """
                46296 yyyy-mm-dd
                46326 yyyy-mm-dd
                1.255 #,##0.000
                46296 yyyy-mm-dd
                46326 yyyy-mm-dd
                160 #,##0
                2026-11-01T02:26:40Z

                """)
    }

    /// It is written into a folder for everybody's temporary files.
    @Test func nobodyElseMayReadASpreadsheetWhileItIsWritten() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "statement-\(UUID().uuidString).xlsx")
        defer { try? FileManager.default.removeItem(at: file) }
        let path = file.path(percentEncoded: false)
        let workbook = try Workbook(
            path: path, folder: NSTemporaryDirectory(), title: "", created: Self.statement.closedAt)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o640)
        withExtendedLifetime(workbook) {}
    }

    /// What Python says of the statement's spreadsheet.
    private func written(_ script: (String) -> String) async throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "statement-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "statement.xlsx").path(percentEncoded: false)
        try StatementText.writeSpreadsheet(Self.statement, to: file)
        let ended = try await ChildProcess.run("/usr/bin/python3", ["-c", script(file)])
        #expect(ended.status == 0, "\(ended.errors)")
        return ended.output
    }
}
