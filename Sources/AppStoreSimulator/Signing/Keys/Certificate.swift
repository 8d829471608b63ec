import COpenSSL

/// An X.509 certificate.
final class Certificate: Sendable {
    /// Safe to share: nothing changes it after it is made, and OpenSSL locks cached fields.
    nonisolated(unsafe) let handle: OpaquePointer
    let der: [UInt8]

    /// Takes ownership of the handle.
    init(_ handle: OpaquePointer) {
        self.handle = handle
        der = OpenSSLBytes.encoding { i2d_X509(handle, $0) }
    }

    deinit { X509_free(handle) }

    var pem: String {
        String(decoding: OpenSSLBytes.writing { demand(PEM_write_bio_X509($0, handle), "write PEM") }, as: UTF8.self)
    }
}
