import COpenSSL

/// A hash function for signatures.
enum Digest {
    case sha1
    case sha256

    /// OpenSSL's object, which lives as long as the program.
    var function: OpaquePointer? {
        switch self {
        case .sha1: EVP_sha1()
        case .sha256: EVP_sha256()
        }
    }

    func callAsFunction(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        demand(EVP_Digest(bytes, bytes.count, &digest, &length, function, nil), "make a digest")
        return Array(digest.prefix(Int(length)))
    }
}
