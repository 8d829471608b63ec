import COpenSSL

/// A private key, and its certificates up to the root, from one file in PEM form.
struct KeyFile: Sendable {
    let key: SigningKey
    /// In the file's order; none where it holds a key alone.
    let certificates: [Certificate]

    /// - Parameter library: as in `SigningKey`.
    init(_ pem: [UInt8], library: OpaquePointer? = nil) {
        key = SigningKey(pem: pem, library: library)
        certificates = OpenSSLBytes.reading(pem) { buffer in
            var certificates: [Certificate] = []
            while let certificate = PEM_read_bio_X509(buffer, nil, nil, nil) {
                certificates.append(Certificate(certificate))
            }
            // That there is no further one is an error to OpenSSL.
            ERR_clear_error()
            return certificates
        }
    }

    var leaf: Certificate { certificates[0] }
    var root: Certificate { certificates[certificates.count - 1] }
}
