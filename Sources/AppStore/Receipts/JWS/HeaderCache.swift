import Synchronization

/// Remembers headers that led to a trusted chain. Apple signs with few certificates, and a header is three quarters of
/// a JWS: reading each but once is most of what makes a verification cheap.
final class HeaderCache: Sendable {
    private let capacity: Int
    private let known = Mutex<[Text: JWSHeader]>([:])

    init(capacity: Int = 64) {
        self.capacity = capacity
    }

    /// The header that this text spells.
    func header(_ text: ArraySlice<UInt8>) -> JWSHeader? {
        known.withLock { $0[Text(bytes: text)] }
    }

    /// Headers whose chain failed should not be kept: whoever sends junk fills nothing.
    func keep(_ header: JWSHeader, for text: ArraySlice<UInt8>) {
        known.withLock { known in
            if known.count >= capacity { known.removeAll(keepingCapacity: true) }
            // A copy: a slice would keep all of its JWS.
            known[Text(bytes: ArraySlice(Array(text)))] = header
        }
    }

    /// Hashed at once: an array would be hashed byte by byte, which takes longer than all else here.
    private struct Text: Hashable {
        let bytes: ArraySlice<UInt8>

        func hash(into hasher: inout Hasher) {
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }
}
