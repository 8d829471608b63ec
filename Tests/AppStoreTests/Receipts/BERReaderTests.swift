import Testing

@testable import AppStore

@Suite struct BERReaderTests {
    private func all(_ bytes: [UInt8]) throws(BERError) -> [[UInt8]] {
        var reader = BERReader(bytes)
        var contents: [[UInt8]] = []
        while !reader.isAtEnd { contents.append(Array(reader.inside(try reader.next()).rest)) }
        return contents
    }

    @Test func readsEveryFormOfLength() throws {
        #expect(try all([0x04, 0x00, 0x04, 0x01, 0xAA]) == [[], [0xAA]])
        #expect(try all([0x04, 0x81, 0x01, 0xAA]) == [[0xAA]])
        #expect(try all([0x04, 0x84, 0x00, 0x00, 0x00, 0x01, 0xAA, 0x05, 0x00]) == [[0xAA], []])
        #expect(try all([0x30, 0x80, 0x04, 0x01, 0xAA, 0x00, 0x00, 0x05, 0x00]) == [[0x04, 0x01, 0xAA], []])
        let nested: [UInt8] = [0x30, 0x80, 0x30, 0x80, 0x04, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00]
        #expect(try all(nested) == [Array(nested[2..<10])])
    }

    @Test(
        arguments: [
            ([0x04], 1, true), ([0x04, 0x02, 0xAA], 3, true), ([0x04, 0x82, 0x01], 3, true),
            ([0x30, 0x80, 0x04, 0x01, 0xAA], 5, true), ([0x30, 0x80, 0x04, 0x01, 0xAA, 0x00], 6, true),
            ([0x04, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], 6, true), ([0x04, 0x85, 0, 0, 0, 0, 1, 0xAA], 0, false),
            ([0x05, 0x00, 0x04, 0x80, 0x00, 0x00], 2, false), ([0x1F, 0x81, 0x01, 0x00], 0, false),
            ([0x04, 0xFF], 0, false),
        ] as [([UInt8], Int, Bool)])
    func saysWhereTheFormatBreaks(bytes: [UInt8], position: Int, isTruncated: Bool) {
        #expect(throws: BERError(position: position, isTruncated: isTruncated)) { try all(bytes) }
    }

    @Test func joinsSegments() throws {
        func octets(_ bytes: [UInt8]) throws(BERError) -> [UInt8] {
            var reader = BERReader(bytes)
            return Array(try reader.octets(of: try reader.next()).rest)
        }
        #expect(try octets([0x04, 0x02, 1, 2]) == [1, 2])
        #expect(try octets([0x24, 0x80, 0x04, 0x01, 1, 0x24, 0x03, 0x04, 0x01, 2, 0x04, 0x01, 3, 0, 0]) == [1, 2, 3])
        #expect(throws: BERError(position: 2, isTruncated: false)) { try octets([0x24, 0x03, 0x02, 0x01, 1]) }
        #expect(throws: BERError(position: 0, isTruncated: false)) { try octets([0x02, 0x01, 1]) }
    }

    /// Levels upon levels must neither overflow the stack nor take long.
    @Test func refusesDeepNesting() {
        let open = Array(repeating: [0x30, 0x80] as [UInt8], count: 100_000).flatMap(\.self)
        #expect(throws: BERError(position: 32, isTruncated: false)) { try all(open) }
        let segments = Array(repeating: [0x24, 0x80] as [UInt8], count: 15).flatMap(\.self)
        var reader = BERReader(segments + [0x04, 0x01, 7] + [UInt8](repeating: 0, count: 30))
        #expect(throws: Never.self) { try reader.octets(of: try reader.next()) }
    }

    @Test func readsIntegers() throws {
        func integer(_ octets: UInt8...) throws(BERError) -> Int64 {
            var reader = BERReader([0x02, UInt8(octets.count)] + octets)
            return try reader.integer()
        }
        #expect(try integer(0x00) == 0)
        #expect(try integer(0x7F) == 127)
        #expect(try integer(0x00, 0xFF) == 255)
        #expect(try integer(0xFF) == -1)
        #expect(try integer(0x07, 0x1A, 0xFD, 0x49, 0x8D, 0x00, 0x00) == 2_000_000_000_000_000)
        #expect(try integer(0x7F, 255, 255, 255, 255, 255, 255, 255) == .max)
        #expect(try integer(0x80, 0, 0, 0, 0, 0, 0, 0) == .min)
        #expect(throws: BERError.self) { try integer() }
        #expect(throws: BERError.self) { try integer(1, 2, 3, 4, 5, 6, 7, 8, 9) }
    }
}
