import COpenSSL

/// The random numbers for OpenSSL's signatures on a curve: always the same bytes, so that the same payload has the same
/// signature in every process, and the same world can be made twice. They come from OpenSSL's own source for tests,
/// EVP_RAND-TEST-RAND(7); OpenSSL mixes them with the key and what is signed.
enum RepeatableRandom {
    /// The context for the keys that sign so.
    nonisolated(unsafe) static let library: OpaquePointer = {
        let library = demanded(OSSL_LIB_CTX_new(), "make a context")
        demand(RAND_set_DRBG_type(library, "TEST-RAND", nil, nil, nil), "choose a random source")
        return library
    }()

    /// More than a signature needs; a source that has returned them all fails.
    private static let bytes = [UInt8](repeating: 0x5A, count: 512)

    /// Makes this thread begin with the first byte again.
    static func rewind() {
        var bytes = bytes
        OSSL_RAND_PARAM_TEST_ENTROPY.withCString { name in
            bytes.withUnsafeMutableBytes {
                let parameters = [
                    OSSL_PARAM_construct_octet_string(name, $0.baseAddress, $0.count), OSSL_PARAM_construct_end(),
                ]
                demand(EVP_RAND_CTX_set_params(RAND_get0_private(library), parameters), "rewind a random source")
            }
        }
    }
}
