import COpenSSL
import Foundation

/// What the certificates of a chain must have, beyond what X.509 requires.
struct ChainRequirements: Sendable, Hashable {
    /// Object identifier of an extension that the leaf must have.
    var leafMarker: String?
    /// Object identifier of an extension that the certificate above the leaf must have.
    var intermediateMarker: String?
    /// Requires `intermediateMarker` only below Apple's roots. A user's own root for app receipts may have a chain made
    /// by Apple's documentation of these, which names a marker of the leaf alone.
    var exemptsAddedRoots = false
    /// Accepts certificates signed over SHA-1, as Apple's were for app receipts until 2023.
    var allowsSHA1: Bool

    /// The leaf of app receipts and of signed transactions.
    static let receiptSigning = "1.2.840.113635.100.6.11.1"
    /// Apple Worldwide Developer Relations.
    static let developerRelations = "1.2.840.113635.100.6.2.1"

    static let appReceipt = ChainRequirements(
        leafMarker: receiptSigning, intermediateMarker: developerRelations, exemptsAddedRoots: true,
        allowsSHA1: true)
    static let signedTransaction = ChainRequirements(
        leafMarker: receiptSigning, intermediateMarker: developerRelations, allowsSHA1: false)
}

/// A chain that was verified.
struct VerifiedChain: Sendable {
    /// The certificate whose key signed.
    let leaf: Certificate
    /// Which of our roots the chain ends in.
    let rootName: String
    /// The time in which all certificates of the chain are valid, and so the chain.
    let validity: Range<Date>
}

/// Verification of certificate chains.
enum CertificateChain {
    /// Finds a chain from the leaf to one of the roots that is valid at `date`.
    ///
    /// A leaf that is itself one of the roots is trusted as it is, without markers.
    static func verify(
        leaf: Certificate, intermediates: [Certificate], roots: TrustRoots, at date: Date,
        requirements: ChainRequirements
    ) throws(ChainError) -> VerifiedChain {
        defer { ERR_clear_error() }
        guard let context = X509_STORE_CTX_new(), let candidates = COpenSSL_newCertificates() else {
            throw .refused(certificate: leaf.name, "OpenSSL has no memory")
        }
        defer {
            X509_STORE_CTX_free(context)
            COpenSSL_freeCertificates(candidates)
        }
        for certificate in intermediates { COpenSSL_addCertificate(candidates, certificate.handle) }
        guard X509_STORE_CTX_init(context, roots.store.handle, leaf.handle, candidates) == 1 else {
            throw .refused(certificate: leaf.name, "OpenSSL can't begin")
        }
        set(context, date: date, allowsSHA1: requirements.allowsSHA1)
        // OpenSSL only borrows the certificates and the store, and counts no reference of its own.
        let isVerified = withExtendedLifetime((intermediates, roots)) { X509_verify_cert(context) == 1 }
        guard isVerified else { throw error(of: context, leaf: leaf, at: date) }
        return try verified(leaf, chain(of: context), requirements)
    }

    private static func set(_ context: OpaquePointer, date: Date, allowsSHA1: Bool) {
        let parameters = X509_STORE_CTX_get0_param(context)
        X509_VERIFY_PARAM_set_time(parameters, time_t(date.timeIntervalSince1970.rounded(.down)))
        X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_ANY)
        // Level 1 refuses SHA-1; level 0 leaves the choice of algorithms to whoever trusts the root.
        X509_VERIFY_PARAM_set_auth_level(parameters, allowsSHA1 ? 0 : 1)
    }

    private static func verified(
        _ leaf: Certificate, _ chain: [Certificate], _ requirements: ChainRequirements
    ) throws(ChainError) -> VerifiedChain {
        guard let root = chain.last else { throw .untrustedRoot(issuer: leaf.issuerName) }
        if chain.count > 1 {
            try demand(requirements.leafMarker, of: leaf)
            if !requirements.exemptsAddedRoots || TrustRoots.isApples(root) {
                try demand(requirements.intermediateMarker, of: chain[1])
            }
        }
        let from = chain.map(\.validity.lowerBound).max() ?? leaf.validity.lowerBound
        let until = chain.map(\.validity.upperBound).min() ?? leaf.validity.upperBound
        guard from <= until else { throw .refused(certificate: leaf.name, "its chain was never valid as a whole") }
        return VerifiedChain(leaf: leaf, rootName: root.name, validity: from..<until)
    }

    private static func demand(_ marker: String?, of certificate: Certificate) throws(ChainError) {
        if let marker, !certificate.hasExtension(marker) {
            throw .missingMarker(marker, certificate: certificate.name)
        }
    }

    private static func chain(of context: OpaquePointer) throws(ChainError) -> [Certificate] {
        let found = X509_STORE_CTX_get0_chain(context)
        var chain: [Certificate] = []
        for index in 0..<max(0, COpenSSL_certificateCount(found)) {
            guard let certificate = COpenSSL_certificate(found, index).flatMap(Certificate.init(retaining:)) else {
                throw .malformed(MalformedCertificate("of the chain can't be read"))
            }
            chain.append(certificate)
        }
        return chain
    }

    private static func error(of context: OpaquePointer, leaf: Certificate, at date: Date) -> ChainError {
        let certificate = X509_STORE_CTX_get_current_cert(context).flatMap(Certificate.init(retaining:)) ?? leaf
        let code = X509_STORE_CTX_get_error(context)
        switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED: return .expired(certificate: certificate.name, at: date)
        case X509_V_ERR_CERT_NOT_YET_VALID: return .notYetValid(certificate: certificate.name, at: date)
        case X509_V_ERR_CERT_SIGNATURE_FAILURE: return .badSignature(certificate: certificate.name)
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
            X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            return .untrustedRoot(issuer: certificate.issuerName)
        default:
            let reason = String(cString: X509_verify_cert_error_string(Int(code)))
            return .refused(certificate: certificate.name, reason)
        }
    }
}
