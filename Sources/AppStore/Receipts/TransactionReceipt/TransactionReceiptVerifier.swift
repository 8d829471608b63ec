import COpenSSL
import Foundation

/// The result of checking an iOS 6 style receipt.
public struct CheckedTransactionReceipt: Sendable, Hashable {
    public let signature: SignatureStatus
    public let receipt: TransactionReceipt
}

/// Checks iOS 6 style receipts, of versions 2 and 3, against Apple's root certificate, offline.
///
/// The signature is RSA over the SHA-1 of the version and the content of `purchase-info`. The receipt holds only the
/// signer's certificate; the one between it and the root is compiled in. The chain must have held at the purchase.
public struct TransactionReceiptVerifier: Sendable {
    private let chainsOfVersion2: ChainVerifier
    private let chainsOfVersion3: ChainVerifier
    private static let intermediates: [[UInt8]] = [
        TrustRoots.compiledIn(AppleIntermediateCertificates.iTunesStore).derBytes,
        TrustRoots.compiledIn(AppleIntermediateCertificates.developerRelations).derBytes,
    ]

    /// - Parameter roots: where a chain must end.
    public init(roots: TrustRoots = .apple) {
        chainsOfVersion2 = ChainVerifier(roots: roots, requirements: .transactionReceipt)
        chainsOfVersion3 = ChainVerifier(roots: roots, requirements: .appReceipt)
    }

    /// Checks a receipt in its property-list form.
    ///
    /// - Throws: `empty`, `truncated`, `payloadMalformed`, `notApples`.
    public func check(_ bytes: [UInt8]) throws(ReceiptError) -> CheckedTransactionReceipt {
        guard !bytes.isEmpty else { throw .empty }
        let container = try TransactionReceiptContainer(bytes)
        return CheckedTransactionReceipt(signature: status(of: container), receipt: container.receipt)
    }

    private func status(of container: TransactionReceiptContainer) -> SignatureStatus {
        guard let signature = container.signature else { return .absent }
        guard let signer = try? Certificate(der: signature.certificate) else {
            return .invalid("the signer's certificate can't be read")
        }
        guard signer.verifies(signature.signature, of: [signature.version] + container.purchaseInfo) else {
            return .invalid("the signature is wrong")
        }
        guard let date = container.receipt.purchaseDate else {
            return .untrusted("the receipt doesn't say when the purchase was made")
        }
        let chains = signature.version == 2 ? chainsOfVersion2 : chainsOfVersion3
        do {
            _ = try chains.verify(leaf: signature.certificate, intermediates: Self.intermediates, at: date)
            return .valid
        } catch {
            return .untrusted("\(error)")
        }
    }
}

extension ChainRequirements {
    /// Version 2, signed by the iTunes Store's own certificates, which bear markers of their own.
    fileprivate static let transactionReceipt = ChainRequirements(
        leafMarker: "1.2.840.113635.100.6.5.1", intermediateMarker: "1.2.840.113635.100.6.2.2", allowsSHA1: true)
}

extension Certificate {
    /// Whether this is the signature by the certificate's key over the SHA-1 of the message.
    fileprivate func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        defer { ERR_clear_error() }
        guard let publicKey, let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha1(), nil, publicKey) == 1 else { return false }
        // The key lives as long as the certificate.
        return withExtendedLifetime(self) {
            EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        }
    }
}
