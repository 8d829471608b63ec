/// Changes bytes in ways that reach deep into a parser of text; the same ways for the same seed.
public struct Altering {
    private let scraps: [[UInt8]]
    private var random: SeededNumbers

    /// - Parameter scraps: what the format may be made of, to be put in where it doesn't belong.
    public init(seed: UInt64, scraps: [String]) {
        self.scraps = scraps.map { Array($0.utf8) }
        random = SeededNumbers(state: seed)
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
