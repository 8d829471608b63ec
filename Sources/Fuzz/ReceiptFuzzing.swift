import Foundation

@testable import AppStore

/// Feeds the decoders of proofs. Whatever is found valid must say what one of the seeds says: nobody but the simulator
/// has its keys.
struct ReceiptFuzzing {
    private let seeds = ReceiptSeeds()

    func uploads() -> @Sendable ([UInt8]) -> Void {
        let inspector = ReceiptInspector(roots: seeds.roots)
        let genuine = Set(seeds.uploads.compactMap { try? inspector.inspect($0).transactions })
        return { bytes in
            guard let proof = try? inspector.inspect(bytes), proof.signature == .valid else { return }
            precondition(genuine.contains(proof.transactions), "a forged proof is valid")
        }
    }

    func appReceipts() -> @Sendable ([UInt8]) -> Void {
        let verifier = AppReceiptVerifier(roots: seeds.roots)
        let genuine = Set(seeds.appReceipts.compactMap { try? verifier.check($0).contents })
        return { bytes in
            guard let checked = try? verifier.check(bytes), checked.signature == .valid else { return }
            precondition(genuine.contains(checked.contents), "a forged receipt is valid")
        }
    }

    func appReceiptPayloads() -> @Sendable ([UInt8]) -> Void {
        { bytes in _ = try? AppReceipt(payload: bytes).answer }
    }

    func transactionReceipts() -> @Sendable ([UInt8]) -> Void {
        let verifier = TransactionReceiptVerifier(roots: seeds.roots)
        let genuine = Set(seeds.transactionReceipts.compactMap { try? verifier.check($0).receipt.fields })
        return { bytes in
            guard let checked = try? verifier.check(bytes) else { return }
            _ = checked.receipt.answer
            guard checked.signature == .valid else { return }
            precondition(genuine.contains(checked.receipt.fields), "a forged receipt is valid")
        }
    }

    func signedTransactions() -> @Sendable ([UInt8]) -> Void {
        let verifier = JWSVerifier(roots: seeds.roots)
        let expectation = JWSExpectation(bundleID: "com.example.game")
        let genuine = Set(
            seeds.signedTransactions.compactMap { token in
                try? verifier.verify(token, expecting: expectation) as SignedTransaction
            })
        return { bytes in
            guard let transaction: SignedTransaction = try? verifier.verify(bytes, expecting: expectation) else {
                return
            }
            precondition(genuine.contains(transaction), "a forged transaction is valid")
        }
    }

    func notifications() -> @Sendable ([UInt8]) -> Void {
        let verifier = JWSVerifier(roots: seeds.roots)
        let expectation = JWSExpectation(bundleID: "com.example.game")
        let genuine = Set(
            seeds.notifications.compactMap { token in
                try? verifier.content(String(decoding: token, as: UTF8.self), expecting: expectation)
            })
        precondition(genuine.count == seeds.notifications.count, "a seed is not accepted")
        return { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            let content = try? verifier.content(text, expecting: expectation)
            let notification = try? verifier.notification(text, expecting: expectation)
            precondition(content.map(genuine.contains) ?? true, "a forged payload is valid")
            precondition(
                notification.map { content == .notification($0) } ?? true, "a notification is told for something else")
        }
    }

    func signedPayloads() -> @Sendable ([UInt8]) -> Void {
        { bytes in
            guard let object = JSONObject(bytes) else { return }
            _ = try? SignedTransaction(object).transaction()
            _ = SignedRenewalInfo(object)
            _ = SignedAppTransaction(object)
            _ = NotificationPayload(object).map(AppStoreNotification.init)
            _ = SignedKind(object)
        }
    }
}
