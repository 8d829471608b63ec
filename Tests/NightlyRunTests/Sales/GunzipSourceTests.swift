@testable import Importing
import AppStoreSimulator
import Testing

/// Compressed files and others, in whatever pieces they come.
@Suite struct GunzipSourceTests {
    private func all(_ bytes: [UInt8], pieces: Int) throws -> [UInt8] {
        let source = GunzipSource(PiecewiseSource(bytes, size: pieces))
        var all: [UInt8] = []
        while try source.read(into: &all) {}
        return all
    }

    private static let text = Array(String(repeating: "SKU\tUnits\n宝石\t1\n", count: 40_000).utf8)

    @Test(arguments: [1, 2, 7, 1000, 1 << 20])
    func whatWasCompressedIsGivenBack(pieces: Int) throws {
        let text = pieces < 100 ? Array(Self.text.prefix(5_000)) : Self.text
        let compressed = try Gzip.compressed(text)
        #expect(compressed.count < text.count / 4)
        #expect(try all(compressed, pieces: pieces) == text)
        #expect(try all(text, pieces: pieces) == text)
    }

    @Test func filesThatWereJoinedAreOne() throws {
        let half = try Gzip.compressed(Array("one ".utf8))
        let other = try Gzip.compressed(Array("two".utf8))
        for pieces in [1, 5, 1000] {
            #expect(String(decoding: try all(half + other, pieces: pieces), as: UTF8.self) == "one two")
            #expect(String(decoding: try all(half + [0, 0, 0], pieces: pieces), as: UTF8.self) == "one ")
        }
    }

    @Test func emptyFilesAreEmpty() throws {
        #expect(try all([], pieces: 1) == [])
        #expect(try all(try Gzip.compressed([]), pieces: 3) == [])
        #expect(try all([0x1F], pieces: 3) == [0x1F])
    }

    @Test func aFileThatIsCutOffIsDamaged() throws {
        let compressed = try Gzip.compressed(Array(Self.text.prefix(5_000)))
        for count in 2..<compressed.count {
            #expect(throws: GunzipSource.Damaged.self) { try all(Array(compressed.prefix(count)), pieces: 64) }
        }
        #expect(throws: GunzipSource.Damaged.self) { try all(compressed + [1, 2, 3], pieces: 64) }
    }

    /// A flipped byte is found by gzip's checksum, wherever it is, or changes nothing of the text.
    @Test func aFlippedByteIsDamageOrNothing() throws {
        let text = Array(Self.text.prefix(600))
        let compressed = try Gzip.compressed(text)
        for place in 2..<compressed.count {
            var broken = compressed
            broken[place] ^= 0x55
            if let found = try? all(broken, pieces: 64) { #expect(found == text) }
        }
    }
}
