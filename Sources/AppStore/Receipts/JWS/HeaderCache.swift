import Synchronization

/// Remembers headers that led to a trusted chain. Apple signs with few certificates, and a header is three quarters of
/// a JWS: reading each only once is most of what makes verification cheap.
final class HeaderCache: Sendable {
    private let capacity: Int
    private let known = Mutex<[Text: JWSHeader]>([:])

    init(capacity: Int = 64) {
        self.capacity = capacity
    }

    /// The remembered header with this text.
    func header(_ text: ArraySlice<UInt8>) -> JWSHeader? {
        known.withLock { $0[Text(bytes: text)] }
    }

    /// Remembers a header. Don't keep one whose chain failed, so that whoever sends junk fills nothing.
    func keep(_ header: JWSHeader, for text: ArraySlice<UInt8>) {
        known.withLock { known in
            if known.count >= capacity { known.removeAll(keepingCapacity: true) }
            // A copy: a slice would keep the whole JWS in memory.
            known[Text(bytes: ArraySlice(Array(text)))] = header
        }
    }

    /// Hashes its bytes at once; an array would hash them one by one, which takes longer than everything else here.
    private struct Text: Hashable {
        let bytes: ArraySlice<UInt8>

        func hash(into hasher: inout Hasher) {
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }
}
