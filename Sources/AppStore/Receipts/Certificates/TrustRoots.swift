import COpenSSL
import Foundation

/// The certificates in which a chain must end: Apple's own, and those that a user adds.
public struct TrustRoots: Sendable {
    let certificates: [Certificate]
    let store: TrustStore

    /// Apple Inc. Root CA, Apple Root CA - G2 and G3.
    public static let apple = TrustRoots(AppleRootCertificates.all.map(Self.compiledIn))
    /// No roots, for callers that trust only what they add.
    public static let none = TrustRoots([])

    init(_ certificates: [Certificate]) {
        self.certificates = certificates
        store = TrustStore(certificates)
    }

    /// These roots and the certificates of a file, in PEM form (any number) or DER form (one). Each becomes a root,
    /// even if it is not self-signed: a chain may end in it.
    public func adding(contentsOf file: some Collection<UInt8>) throws(MalformedCertificate) -> TrustRoots {
        let bytes = Array(file)
        if let further = try Self.pemCertificates(bytes) { return TrustRoots(certificates + further) }
        do {
            return TrustRoots(certificates + [try Certificate(der: bytes)])
        } catch {
            throw MalformedCertificate("\(error), and holds none in PEM form")
        }
    }

    /// The certificates of a text in PEM form; `nil` if it holds none.
    private static func pemCertificates(_ bytes: [UInt8]) throws(MalformedCertificate) -> [Certificate]? {
        let text = String(decoding: bytes, as: UTF8.self)
        let parts = text.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst()
        guard !parts.isEmpty else { return nil }
        var certificates: [Certificate] = []
        for part in parts {
            guard let end = part.range(of: "-----END CERTIFICATE-----"),
                let der = Data(base64Encoded: String(part[..<end.lowerBound]), options: .ignoreUnknownCharacters)
            else { throw MalformedCertificate("holds a certificate in PEM form that ends too early or is not base64") }
            certificates.append(try Certificate(der: Array(der)))
        }
        return certificates
    }

    /// Whether a root is one of Apple's.
    static func isApples(_ root: Certificate) -> Bool {
        apple.certificates.contains { $0.derBytes == root.derBytes }
    }

    /// A certificate that is part of this program.
    static func compiledIn(_ base64: String) -> Certificate {
        guard let der = Data(base64Encoded: base64, options: .ignoreUnknownCharacters),
            let certificate = try? Certificate(der: Array(der))
        else { fatalError("a certificate that is compiled in can't be read") }
        return certificate
    }
}

/// An OpenSSL store of the certificates in which a chain may end.
final class TrustStore: Sendable {
    /// Safe to share: OpenSSL reads a store under the store's own lock, and it is filled before it is shared.
    nonisolated(unsafe) let handle: OpaquePointer

    init(_ certificates: [Certificate]) {
        guard let handle = X509_STORE_new() else { fatalError("OpenSSL has no memory for a certificate store") }
        self.handle = handle
        for certificate in certificates { X509_STORE_add_cert(handle, certificate.handle) }
        // With this flag a chain may also end in a certificate that isn't self-signed, but only in one of these.
        if !certificates.allSatisfy(\.isSelfIssued) {
            X509_STORE_set_flags(handle, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        }
        ERR_clear_error()
    }

    deinit {
        X509_STORE_free(handle)
    }
}
