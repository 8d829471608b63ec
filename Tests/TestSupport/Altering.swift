/// Changes bytes in ways that reach deep into a parser of text; the same ways for the same seed.
public struct Altering {
    /// A generator that gives the same numbers in every run (SplitMix64).
    private struct Seeded: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private let scraps: [[UInt8]]
    private var random: Seeded

    /// - Parameter scraps: what the format may be made of, to be put in where it doesn't belong.
    public init(seed: UInt64, scraps: [String]) {
        self.scraps = scraps.map { Array($0.utf8) }
        random = Seeded(state: seed)
    }

    public mutating func alter(_ original: [UInt8]) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let start = Int.random(in: 0..<max(1, bytes.count), using: &random)
            let end = min(bytes.count, start + Int.random(in: 0...12, using: &random))
            switch Int.random(in: 0..<5, using: &random) {
            case 0: if start < bytes.count { bytes[start] = UInt8.random(in: .min ... .max, using: &random) }
            case 1: bytes.removeSubrange(start..<end)
            case 2: bytes.insert(contentsOf: bytes[start..<end], at: start)
            case 3: bytes.replaceSubrange(start..<end, with: scraps.randomElement(using: &random) ?? [])
            default: if Int.random(in: 0..<10, using: &random) == 0 { bytes.removeSubrange(start...) }
            }
        }
        return bytes
    }
}
