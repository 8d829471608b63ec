import Foundation

/// The result of checking an app receipt.
public struct CheckedAppReceipt: Sendable, Hashable {
    public let signature: SignatureStatus
    /// The content of the receipt, or why it can't be read. If the signature is `valid`, it was decoded from the very
    /// octets that were signed; if it can't be read, the signature is never `valid`.
    public let contents: Result<AppReceipt, ReceiptError>
}

/// Checks app receipts against Apple's root certificates, offline.
///
/// A receipt is valid if its one signature is right, its signer's chain to a root held when the receipt was made, and
/// signer and intermediate bear Apple's markers. None of Apple's chains up to 2023 is valid any more, so only the
/// receipt's own date can be used, which is good enough as it is signed, too.
public struct AppReceiptVerifier: Sendable {
    private let chains: ChainVerifier

    /// - Parameter roots: where a chain must end. A receipt signed by a root itself, as Xcode's are, is valid too.
    public init(roots: TrustRoots = .apple) {
        chains = ChainVerifier(roots: roots, requirements: .appReceipt)
    }

    /// Checks a receipt in its binary form.
    ///
    /// - Throws: if there is no PKCS#7 container to check: `empty`, `notPKCS7`, `truncated`, `notApples`.
    public func check(_ bytes: [UInt8]) throws(ReceiptError) -> CheckedAppReceipt {
        guard !bytes.isEmpty else { throw .empty }
        let container = try SignedContainer(bytes)
        switch container.verifiedSignature() {
        case .right(let content, let signer, let certificates):
            let contents = Self.decoded(content)
            return CheckedAppReceipt(
                signature: status(of: contents, signer: signer, certificates: certificates), contents: contents)
        case .wrong(let reason): return try Self.unproven(container, .invalid(reason))
        case .absent: return try Self.unproven(container, .absent)
        }
    }

    private func status(
        of contents: Result<AppReceipt, ReceiptError>, signer: Certificate, certificates: [Certificate]
    ) -> SignatureStatus {
        switch contents {
        case .failure(let error): return .untrusted("\(error)")
        case .success(let receipt):
            guard let date = receipt.creationDate else {
                return .untrusted("the receipt doesn't say when it was made")
            }
            do {
                _ = try chains.verify(leaf: signer, intermediates: certificates, at: date)
                return .valid
            } catch {
                if case .untrustedRoot = error { return .unknownRoot("\(error)") }
                return .untrusted("\(error)")
            }
        }
    }

    /// A receipt whose contents are not signed.
    private static func unproven(
        _ container: borrowing SignedContainer, _ signature: SignatureStatus
    ) throws(ReceiptError) -> CheckedAppReceipt {
        guard let content = container.unverifiedContent else {
            throw .notApples("the container holds no receipt")
        }
        return CheckedAppReceipt(signature: signature, contents: decoded(content))
    }

    private static func decoded(_ content: [UInt8]) -> Result<AppReceipt, ReceiptError> {
        Result { () throws(ReceiptError) in try AppReceipt(payload: content) }
    }
}
