@testable import Importing
import AppStoreSimulator
import Ledger
import Reconciliation
import Testing

/// What libcsv makes of records, good and hostile.
@Suite struct CSVRecordTests {
    private func fields(_ record: String) -> [String?]? {
        Array(record.utf8).withUnsafeBytes { CSVRecordReader().fields(of: $0) }
    }

    @Test(
        arguments: [
            ("a,b", ["a", "b"]), ("a,b\r", ["a", "b"]), (" a , b ", [" a ", " b "]), (",", ["", ""]),
            ("\"a\nb\",\"\"\"\"", ["a\nb", "\""]), ("\"\",x", ["", "x"]), ("宝石,💎", ["宝石", "💎"]),
            ("a", ["a"]), ("a,\"b,c\"\r", ["a", "b,c"]),
        ] as [(String, [String])])
    func recordsAreReadAsRFC4180HasThem(record: String, expected: [String]) {
        #expect(fields(record) == expected)
    }

    @Test(arguments: ["a\"b", "\"a\"b", "\"a", "a,\"b\" ", "a\rb", "\"a\"\"", "a,b\"\""])
    func whatRFC4180DoesNotHaveIsRefused(record: String) {
        #expect(fields(record) == nil)
    }

    @Test func whatPostgreSQLCanNotStoreIsNil() {
        let reader = CSVRecordReader()
        let bytes: [UInt8] = Array("a,".utf8) + [0xFF, 0xFE] + Array(",b\0c,\u{7}".utf8)
        #expect(bytes.withUnsafeBytes { reader.fields(of: $0) } == ["a", nil, nil, "\u{7}"])
        // The reader is good for the next record, after an error too.
        #expect(Array("\"".utf8).withUnsafeBytes { reader.fields(of: $0) } == nil)
        #expect(Array("x,y".utf8).withUnsafeBytes { reader.fields(of: $0) } == ["x", "y"])
    }

    @Test func aFieldOfAMegabyteIsRead() {
        let long = String(repeating: "\"\"", count: 1 << 19)
        #expect(fields("\"\(long)\",x")?.first??.utf8.count == 1 << 19)
    }

    /// Every record that can be written is read as it was, whatever stands in it and however the file comes.
    @Test(arguments: 0..<20)
    func whatIsWrittenIsReadAgain(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let letters = Array("ab,\"\n\r\\N {宝💎\u{0301}".unicodeScalars)
        let records = (0..<200).map { _ in
            (0..<Int.random(in: 2...5, using: &random)).map { _ in
                let scalars = (0..<Int.random(in: 0...8, using: &random)).compactMap { _ in
                    letters.randomElement(using: &random)
                }
                return String(String.UnicodeScalarView(scalars))
            }
        }
        let file = records.map { $0.map(quoted).joined(separator: ",") + (seed.isMultiple(of: 2) ? "\n" : "\r\n") }
        var framer = RecordFramer(PiecewiseSource(file.joined().utf8, size: Int(seed) * 13 + 1), limit: 1000)
        framer.isQuoted = true
        let reader = CSVRecordReader()
        var found: [[String?]?] = []
        while let record = try framer.next() {
            guard case .bytes(let range) = record.content else { continue }
            found.append(framer.withBytes(range) { reader.fields(of: $0) })
        }
        #expect(found.count == records.count)
        let wrong = zip(found, records).first { $0 != $1 }
        #expect(wrong == nil, "\(wrong.debugDescription)")
    }

    /// By scalars: a quote and an accent behind it are one character to Swift.
    private func quoted(_ field: String) -> String {
        let scalars = field.unicodeScalars.flatMap { $0 == "\"" ? [$0, $0] : [$0] }
        return "\"" + String(String.UnicodeScalarView(scalars)) + "\""
    }

    /// Flipped, dropped and doubled bytes: each line is taken or refused, in order, and the reader ends.
    @Test(arguments: 0..<40)
    func brokenFilesAreReadToTheirEnd(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        var file = Array("bundle_id,order_id,user_id,product_id,quantity\n".utf8)
        let header = file.count
        for number in 0..<300 { file += Array("com.a,\"o\(number)\",u\(number),gems,1\n".utf8) }
        for _ in 0..<60 {
            let place = Int.random(in: header..<file.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: file[place] = UInt8.random(in: 0...255, using: &random)
            case 1: file.remove(at: place)
            case 2: file.insert(UInt8(ascii: "\""), at: place)
            default: file.insert(UInt8(ascii: "\n"), at: place)
            }
        }
        let lines = file.count { $0 == UInt8(ascii: "\n") } + 1
        let reader = ImportReader(PiecewiseSource(file, size: 61), kind: .orders, file: "-", format: .csv)
        let read = try #require(try await reader.next())
        let numbers = read.batch.lines.map(\.number)
        #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
        #expect(Set(numbers).isDisjoint(with: read.refused.map(\.line)))
        #expect(numbers.count > 150)
        #expect(numbers.count + read.refused.count <= lines)
        #expect(try await reader.next() == nil)
    }
}
