public import Foundation

/// Why a chain of certificates is not trusted.
public enum ChainError: Error, Hashable, CustomStringConvertible {
    /// A certificate's validity had ended at that time.
    case expired(certificate: String, at: Date)
    /// A certificate's validity began after that time.
    case notYetValid(certificate: String, at: Date)
    /// The chain ends in none of our roots; `issuer` signed the last certificate that was found.
    case untrustedRoot(issuer: String)
    /// The extension by which Apple marks such certificates is missing.
    case missingMarker(String, certificate: String)
    /// A certificate was not signed by the key of the next one.
    case badSignature(certificate: String)
    /// Something else that the standard forbids, in OpenSSL's words.
    case refused(certificate: String, String)
    /// A certificate's bytes are not one certificate.
    case malformed(MalformedCertificate)

    public var description: String {
        switch self {
        case .expired(let certificate, let date):
            "the certificate “\(certificate)” had expired on \(date.formatted(.iso8601))"
        case .notYetValid(let certificate, let date):
            "the certificate “\(certificate)” was not yet valid on \(date.formatted(.iso8601))"
        case .untrustedRoot(let issuer):
            "the chain ends in “\(issuer)”, which is none of the trusted roots"
        case .missingMarker(let identifier, let certificate):
            "the certificate “\(certificate)” lacks Apple's marker \(identifier)"
        case .badSignature(let certificate):
            "the signature in the certificate “\(certificate)” is wrong"
        case .refused(let certificate, let reason):
            "the certificate “\(certificate)” is refused: \(reason)"
        case .malformed(let error):
            "a certificate \(error)"
        }
    }
}
