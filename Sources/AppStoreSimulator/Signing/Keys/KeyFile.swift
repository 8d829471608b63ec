import COpenSSL

/// A private key, and its certificates up to the root, from one file in PEM form.
struct KeyFile: Sendable {
    let key: SigningKey
    /// In the file's order; empty if the file holds only a key.
    let certificates: [Certificate]

    /// - Parameter library: as in `SigningKey`.
    init(_ pem: [UInt8], library: OpaquePointer? = nil) {
        key = SigningKey(pem: pem, library: library)
        certificates = OpenSSLBytes.reading(pem) { buffer in
            var certificates: [Certificate] = []
            while let certificate = PEM_read_bio_X509(buffer, nil, nil, nil) {
                certificates.append(Certificate(certificate))
            }
            // OpenSSL reports the end of the certificates as an error.
            ERR_clear_error()
            return certificates
        }
    }

    var leaf: Certificate { certificates[0] }
    var root: Certificate { certificates[certificates.count - 1] }
}
