/// Random numbers that depend only on a seed (SplitMix64), so that a world can be made again.
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) {
        state = seed
    }

    /// Makes separate numbers for one part of what the seed describes.
    public init(seed: UInt64, part: String, number: UInt64 = 0) {
        state = Mix.value(seed, StableHash.of(part.utf8), number)
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Mix.finish(state)
    }

    /// Whether an event with this probability (0…1) happens.
    public mutating func happens(_ probability: Double) -> Bool {
        Mix.share(next()) < probability
    }

    /// Picks one of the values.
    public mutating func pick<Values: RandomAccessCollection>(_ values: Values) -> Values.Element {
        values[values.index(values.startIndex, offsetBy: Int(next() % UInt64(values.count)))]
    }
}

/// Mixes numbers into one that looks random and is always the same.
package enum Mix {
    static func finish(_ value: UInt64) -> UInt64 {
        var mixed = value
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    static func value(_ parts: UInt64...) -> UInt64 {
        parts.reduce(0x2545_F491_4F6C_DD1D) { finish($0 ^ $1 &+ 0x9E37_79B9_7F4A_7C15) }
    }

    /// A mixed number as a share: 0 or more, less than 1.
    package static func share(_ mixed: UInt64) -> Double {
        Double(mixed >> 11) * 0x1p-53
    }
}

/// FNV-1a over bytes. `Hasher` would give another value in every process.
package enum StableHash {
    /// The hash, the same in every process and on every machine.
    package static func of(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return hash
    }
}
