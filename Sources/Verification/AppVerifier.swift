import AppStore
import Foundation
package import Reconciliation

/// Verifies the payloads of one app, by the method in its configuration.
package struct AppVerifier: Sendable {
    package let settings: AppSettings
    let offline: OfflineVerifier
    let verifyReceipt: VerifyReceiptClient
    /// Set if the app has a key and its method uses it.
    let serverAPI: ServerAPIClient?
    let histories = CustomerHistories()
    /// The run's present moment.
    let now: Date

    /// The result of verifying a payload.
    package struct Judgement: Sendable {
        package var verdict: ReceiptVerdict
        /// The result of checking its signature on this machine, if that was checked.
        package var signature: OfflineSignature?
        /// Whether the payload has none of the forms of Apple's proofs: then its verdict says nothing of Apple, or of a
        /// setting.
        package var isOfNoForm = false

        package init(_ verdict: ReceiptVerdict, _ signature: OfflineSignature? = nil) {
            self.verdict = verdict
            self.signature = signature
        }

        /// The judgement by the signature alone.
        init(_ proof: OfflineReceipt) {
            self.init(proof.verdict, proof.signature)
            isOfNoForm = proof.isOfNoForm
        }

        /// The judgement of a payload that has no form.
        init(malformed text: String) {
            self.init(.problem(.malformed, text))
            isOfNoForm = true
        }
    }

    /// - Parameter users: the users who uploaded it.
    /// - Throws: `CancellationError` if the run was asked to stop.
    package func judge(_ payload: String, of users: [String] = []) async throws(CancellationError) -> Judgement {
        switch settings.verification {
        case .local:
            return Judgement(offline.check(payload, for: settings))
        case .verifyReceipt:
            return try await askVerifyReceipt(payload)
        case .auto, .serverAPI:
            guard let serverAPI else { return try await askVerifyReceipt(payload) }
            return try await ask(serverAPI, payload, users)
        }
    }
}
