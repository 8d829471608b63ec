import Foundation
import Reconciliation
import TestSupport
import Testing

@testable import Importing

/// Spreadsheets, by Debian's xlsx2csv.
@Suite(.enabled(if: access("/usr/bin/xlsx2csv", X_OK) == 0))
struct SpreadsheetConversionTests {
    /// The lines of a spreadsheet whose first sheet has these rows, in XML.
    private func read(_ rows: String, in folder: URL) async throws -> [String] {
        let file = folder.appending(path: "list.xlsx").path(percentEncoded: false)
        try await ChildProcess.runSuccessfully("/usr/bin/python3", ["-c", Self.writer, file, rows])
        return try await DecisionSheet.read(file, DecisionFiles.vocabulary) { false }.lines.map(\.text)
    }

    /// Makes the smallest file that spreadsheets take, by Python's own zipfile.
    private static let writer = """
        import sys, zipfile
        main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
        package = "http://schemas.openxmlformats.org/package/2006"
        parts = "application/vnd.openxmlformats-officedocument.spreadsheetml"
        with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as book:
            book.writestr("[Content_Types].xml", f'''<Types xmlns="{package}/content-types">
                <Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
                <Override PartName="/xl/workbook.xml" ContentType="{parts}.sheet.main+xml"/>
                <Override PartName="/xl/worksheets/sheet1.xml" ContentType="{parts}.worksheet+xml"/></Types>''')
            book.writestr("_rels/.rels", f'''<Relationships xmlns="{package}/relationships">
                <Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>''')
            book.writestr("xl/_rels/workbook.xml.rels", f'''<Relationships xmlns="{package}/relationships">
                <Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>''')
            book.writestr("xl/workbook.xml", f'''<workbook xmlns="{main}" xmlns:r="{office}">
                <sheets><sheet name="Cases" sheetId="1" r:id="r1"/></sheets></workbook>''')
            with book.open("xl/worksheets/sheet1.xml", "w") as sheet:
                sheet.write(f'<worksheet xmlns="{main}"><sheetData>'.encode())
                if sys.argv[2] == "bomb":
                    sheet.write(b'<row r="1"><c r="A1" t="inlineStr"><is><t>')
                    for _ in range(64): sheet.write(b"x" * (1 << 20))
                    sheet.write(b"</t></is></c></row>")
                else:
                    sheet.write(sys.argv[2].encode())
                sheet.write(b"</sheetData></worksheet>")
        """

    private static func row(_ number: Int, _ cells: String...) -> String {
        let columns = zip("ABC", cells).map { column, cell in
            cell.hasPrefix("<")
                ? "<c r=\"\(column)\(number)\"\(cell.dropFirst())"
                : "<c r=\"\(column)\(number)\" t=\"inlineStr\"><is><t>\(cell)</t></is></c>"
        }
        return "<row r=\"\(number)\">\(columns.joined())</row>"
    }

    @Test func rowsKeepTheirNumbersAndFormulasAreSeen() async throws {
        try await withFolder { folder in
            let formula = "< t=\"str\"><f>\"deliv\"&amp;\"ered\"</f><v>delivered</v></c>"
            let rows = [
                Self.row(1, "case", "decision", "note"), Self.row(2, DecisionFiles.mark(), "delivered", "two\nlines"),
                Self.row(3, DecisionFiles.mark("2"), formula, ""), Self.row(5, DecisionFiles.mark("3"), "已退款", ""),
                Self.row(6, DecisionFiles.mark("4"), "delivered", "< t=\"n\"><f>1+1</f></c>"),
                Self.row(7, DecisionFiles.mark("5"), "delivered", String(repeating: "x", count: 9_000)),
            ].joined()
            let lines = try await read(rows, in: folder)
            #expect(
                lines == [
                    "2 1000000001 delivered two lines", "3 formula", "5 3 refunded", "6 formula",
                    "7 5 delivered " + String(repeating: "x", count: 9_000),
                ])
        }
    }

    /// Whose file it is was looked at before.
    @Test func whatTakesTheNameOfAnOpenedFileIsNotRead() async throws {
        try await withFolder { folder in
            let header = Self.row(1, "case", "decision", "note")
            _ = try await read(header + Self.row(2, DecisionFiles.mark(), "delivered", "anna's"), in: folder)
            let path = folder.appending(path: "list.xlsx").path(percentEncoded: false)
            let opened = try DecisionFile(path, followsLinks: false)
            #expect(unlink(path) == 0)
            let later = try await read(header + Self.row(2, DecisionFiles.mark(), "dismissed", "bob's"), in: folder)
            #expect(later == ["2 1000000001 dismissed bob's"])
            let lines = try await DecisionSheet.read(opened, DecisionFiles.vocabulary) { false }.lines.map(\.text)
            #expect(lines == ["2 1000000001 delivered anna's"])
        }
    }

    /// Who may write to the folder for temporary files can't exchange it, and no night that is killed leaves it there.
    @Test func whatIsConvertedHasNoName() async throws {
        try await withFolder { folder in
            _ = try await read(Self.row(1, "case", "decision", "note"), in: folder)
            let path = folder.appending(path: "list.xlsx").path(percentEncoded: false)
            let converted = try await SpreadsheetConversion(file: try DecisionFile(path)).run { false }
            var status = stat()
            #expect(fstat(converted.fileDescriptor, &status) == 0)
            #expect(status.st_nlink == 0)
            let text = try converted.readToEnd().map { String(decoding: $0, as: UTF8.self) }
            #expect(text?.hasPrefix("case,decision,note") == true)
        }
    }

    @Test func whatIsMadeToExhaustEndsInARefusal() async throws {
        try await withFolder { folder in
            let error = await #expect(throws: DecisionFileError.self) { try await read("bomb", in: folder) }
            #expect(error?.description.contains("a cell holds more than 1 MiB") == true, "\(String(describing: error))")
        }
    }

    /// What fills the folder leaves no room for saying so.
    @Test func aFullFolderIsNamed() throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        #expect(SpreadsheetConversion.lastLine(of: full).hasPrefix("no space is left in /"))
    }

    @Test func whoStopsItIsNotToldThatItTookTooLong() async throws {
        try await withFolder { folder in
            _ = try? await read("bomb", in: folder)
            let file = folder.appending(path: "list.xlsx").path(percentEncoded: false)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await DecisionSheet.read(file, DecisionFiles.vocabulary) { false }
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            await #expect(throws: CancellationError.self) {
                try await DecisionSheet.read(file, DecisionFiles.vocabulary) { true }
            }
        }
    }

    @Test(arguments: [
        (Array("PK\u{3}\u{4}and no more".utf8), "xlsx2csv failed"), ([0xD0, 0xCF, 0x11, 0xE0, 0xA1], "old .xls"),
        ([0xFF, 0xFE, 0x63, 0], "UTF-16"), ([0xFE, 0xFF, 0, 0x63], "UTF-16"),
    ])
    func whatIsNoSpreadsheetIsRefused(bytes: [UInt8], why: String) async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "list.xlsx")
            try Data(bytes).write(to: file)
            let error = await #expect(throws: DecisionFileError.self) {
                try await DecisionSheet.read(file.path(percentEncoded: false), DecisionFiles.vocabulary) { false }
            }
            #expect(error?.description.contains(why) == true, "\(String(describing: error))")
        }
    }

    @Test func whatIsTooLargeIsNotRead() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "list.csv").path(percentEncoded: false)
            #expect(FileManager.default.createFile(atPath: file, contents: Data("case,decision\n".utf8)))
            #expect(truncate(file, 100 << 20) == 0)
            let error = await #expect(throws: DecisionFileError.self) {
                try await DecisionSheet.read(file, DecisionFiles.vocabulary) { false }
            }
            #expect(error?.description.contains("100 MiB") == true)
        }
    }
}
