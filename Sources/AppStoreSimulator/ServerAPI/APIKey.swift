import Foundation

/// A key of the App Store Server API, as from the App Store Connect of the simulator's team.
public struct APIKey: Sendable {
    /// The team's issuer id.
    public static let issuerID = "69a6de7e-8b3c-47e3-a053-5b8c7c11a4d1"
    /// The id of every key.
    public static let keyID = "SIMKEY2026"
    let key: SigningKey

    init(_ key: SigningKey) {
        self.key = key
    }

    /// The private key in PEM form, as in a `.p8` file.
    public var privateKeyPEM: String { key.pem }

    func isGenuine(_ signature: [UInt8], over bytes: [UInt8]) -> Bool {
        key.isGenuine(raw: signature, over: bytes)
    }
}

extension UUID {
    /// Makes an id of version 4 from random numbers.
    init(random: inout SeededRandom) {
        let high = random.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = random.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        self = withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { UUID(uuid: $0.load(as: uuid_t.self)) }
    }
}
