import COpenSSL

/// A private key from a file.
final class SigningKey: Sendable {
    /// Safe to share: nothing changes it after it is made, and OpenSSL locks cached fields.
    nonisolated(unsafe) let handle: OpaquePointer
    nonisolated(unsafe) private let library: OpaquePointer?

    /// - Parameter library: OpenSSL's context for the key; `nil` for the one that all share.
    init(pem: [UInt8], library: OpaquePointer? = nil) {
        self.library = library
        handle = OpenSSLBytes.reading(pem) {
            demanded(PEM_read_bio_PrivateKey_ex($0, nil, nil, nil, library, nil), "read a test key")
        }
    }

    deinit { EVP_PKEY_free(handle) }

    /// Signs with PKCS #1 v1.5 or, on a curve, as the two numbers in DER form.
    func signature(over bytes: [UInt8], _ digest: Digest) -> [UInt8] {
        let context = demanded(EVP_MD_CTX_new(), "sign")
        defer { EVP_MD_CTX_free(context) }
        let name = EVP_MD_get0_name(digest.function)
        demand(EVP_DigestSignInit_ex(context, nil, name, library, nil, handle, nil), "begin to sign")
        var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(handle)))
        var length = signature.count
        demand(EVP_DigestSign(context, &signature, &length, bytes, bytes.count), "sign")
        return Array(signature.prefix(length))
    }

    /// Whether this key made a signature in the form of `signature(over:_:)`.
    func isGenuine(_ signature: [UInt8], over bytes: [UInt8], _ digest: Digest) -> Bool {
        let context = demanded(EVP_MD_CTX_new(), "verify")
        defer { EVP_MD_CTX_free(context) }
        let name = EVP_MD_get0_name(digest.function)
        demand(EVP_DigestVerifyInit_ex(context, nil, name, library, nil, handle, nil), "begin to verify")
        let isGenuine = EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
        ERR_clear_error()
        return isGenuine
    }

    /// The key in PKCS #8 form, as in the `.p8` files of App Store Connect.
    var pem: String {
        let text = OpenSSLBytes.writing {
            demand(PEM_write_bio_PKCS8PrivateKey($0, handle, nil, nil, 0, nil, nil), "write PEM")
        }
        return String(decoding: text, as: UTF8.self)
    }
}
