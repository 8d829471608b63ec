import Foundation
import Reconciliation
import Testing

@testable import Reporting

@Suite struct StatementTextTests {
    private static let statement = Statement(
        first: CalendarDay("2026-10-01")!, through: CalendarDay("2026-10-31")!,
        liability: StatementTable(
            columns: ["bundle_id", "closing", "closing_amount"],
            rows: [[.text("com.example.game"), .whole(-2), .amount(Decimal(string: "-1.98")!)]]),
        sales: StatementTable(columns: ["product_id"], rows: []),
        proceeds: StatementTable(columns: ["currency", "proceeds"], rows: [[.text("USD"), .amount(Decimal(string: "0.7")!)]]),
        differences: StatementTable(
            columns: ["transaction_id", "units"],
            rows: [[.nothing, .whole(1)], [.text("=1"), .nothing], [.text("2000001234567890"), .nothing]]))

    @Test func figuresBelowZeroAreFiguresAndTextsNoFormulas() {
        #expect(
            StatementText.csv(Self.statement) == """
                bundle_id,closing,closing_amount\r
                com.example.game,-2,-1.98\r
                \r
                product_id\r
                \r
                currency,proceeds\r
                USD,0.7\r
                \r
                transaction_id,units\r
                ,1\r
                '=1,\r
                '2000001234567890,\r

                """)
    }

    @Test func programsReadNumbers() throws {
        #expect(
            try StatementText.json(Self.statement) == """
                {"differences":[{"units":1},{"transaction_id":"=1"},{"transaction_id":"2000001234567890"}],"first":"2026-10-01","liability":[{"bundle_id":\
                "com.example.game","closing":-2,"closing_amount":-1.98}],"proceeds":[{"currency":"USD","proceeds":0.7}],"sales":[],"through":"2026-10-31"}

                """)
    }

    @Test func aSpreadsheetIsWritten() throws {
        try withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try StatementText.writeSpreadsheet(Self.statement, to: "\(folder)/statement.xlsx")
            let bytes = try #require(FileManager.default.contents(atPath: "\(folder)/statement.xlsx"))
            #expect(bytes.starts(with: Data("PK".utf8)))
        }
    }
}
