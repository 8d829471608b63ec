import TestSupport

/// Changes that break formats where it hurts: single octets, lengths, parts doubled, dropped, cut off.
enum Mutation {
    /// Lengths and tags that decoders stumble over.
    private static let scraps: [[UInt8]] = [
        [0x80], [0x00, 0x00], [0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x84, 0x7F, 0xFF, 0xFF, 0xFF], [0x81, 0x00], [0xFF],
        [0x24, 0x80], [0x30, 0x80], [0x31, 0x80], [0x04, 0x82, 0xFF], [0x1F, 0x81], [0x02, 0x00], [0x88],
    ]

    static func mutate(_ original: [UInt8], using random: inout SeededNumbers) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
            let start = Int.random(in: 0..<bytes.count, using: &random)
            let end = min(bytes.count, start + Int.random(in: 0...16, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[start] = UInt8.random(in: .min ... .max, using: &random)
            case 1: bytes[start] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2: bytes.removeSubrange(start..<end)
            case 3: bytes.insert(contentsOf: bytes[start..<end], at: start)
            case 4: bytes.replaceSubrange(start..<end, with: scraps.randomElement(using: &random) ?? [])
            default: if Int.random(in: 0..<10, using: &random) == 0 { bytes.removeSubrange(start...) }
            }
        }
        return bytes
    }

    /// Calls the body with the bytes once for each of the bits of some of them, in which that bit is the other.
    static func everyFlippedBit(
        of original: [UInt8], in range: Range<Int>, _ body: ([UInt8], _ byte: Int) throws -> Void
    ) rethrows {
        var bytes = original
        for byte in range {
            for bit in 0..<8 {
                bytes[byte] ^= 1 << bit
                try body(bytes, byte)
                bytes[byte] ^= 1 << bit
            }
        }
    }
}
