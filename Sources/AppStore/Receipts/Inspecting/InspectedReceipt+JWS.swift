import Foundation

extension InspectedReceipt {
    /// What a JWS holds and whether its signature is Apple's, for any app and in both of Apple's environments.
    ///
    /// - Throws: where its payload can't be read.
    init(jws text: String, by verifier: JWSVerifier) throws(ReceiptError) {
        let object = try Self.payload(of: text)
        switch JWSContent(object) {
        case .transaction:
            let payload: SignedTransaction = try Self.read(object)
            self.init(.jws, .transaction, payload) { () throws(JWSError) in
                _ = try verifier.transaction(text, expecting: .anything)
            }
            add(payload)
        case .renewalInfo:
            let payload: SignedRenewalInfo = try Self.read(object)
            self.init(.jws, .renewalInfo, payload) { () throws(JWSError) in
                _ = try verifier.renewalInfo(text, expecting: .anything)
            }
        case .appTransaction:
            let payload: SignedAppTransaction = try Self.read(object)
            self.init(.jws, .appTransaction, payload) { () throws(JWSError) in
                _ = try verifier.appTransaction(text, expecting: .anything)
            }
            applicationVersion = payload.applicationVersion
        case .notification:
            let payload: NotificationPayload = try Self.read(object)
            self.init(.jws, .notification, payload) { () throws(JWSError) in
                _ = try verifier.notification(text, expecting: .anything)
            }
            if let inner = payload.subject.transaction { add(try Self.read(try Self.payload(of: inner))) }
        }
    }

    /// - Parameter verify: verifies the very text that the payload was read from
    private init(
        _ format: Format, _ content: JWSContent, _ payload: some SignedPayload,
        verify: () throws(JWSError) -> Void
    ) {
        do {
            try verify()
            self.init(format, .valid)
        } catch {
            self.init(format, SignatureStatus(error))
        }
        self.content = content.rawValue
        signedAt = payload.signedDate
        bundleID = payload.app?.bundleID
        environment = payload.environment
    }

    private mutating func add(_ transaction: SignedTransaction) {
        do {
            transactions.append(try transaction.transaction())
        } catch {
            problems.append("\(error)")
        }
    }

    private static func payload(of text: String) throws(ReceiptError) -> JSONObject {
        do throws(JWSError) {
            guard let object = JSONObject(try CompactJWS(text.utf8, limit: ReceiptText.sizeLimit).payload()) else {
                throw .malformedPayload
            }
            return object
        } catch {
            throw .notApples("\(error)")
        }
    }

    private static func read<Payload: SignedPayload>(_ object: JSONObject) throws(ReceiptError) -> Payload {
        guard let payload = Payload(object) else { throw .notApples("\(JWSError.malformedPayload)") }
        return payload
    }
}

/// Which of Apple's payloads a JWS holds, told by fields that only one of them has.
private enum JWSContent: String {
    case transaction
    case renewalInfo = "renewal_info"
    case appTransaction = "app_transaction"
    case notification

    init(_ payload: JSONObject) {
        self =
            if payload.contains("notificationType") {
                .notification
            } else if payload.contains("transactionId") {
                .transaction
            } else if payload.contains("autoRenewProductId") || payload.contains("autoRenewStatus") {
                .renewalInfo
            } else {
                payload.contains("receiptType") ? .appTransaction : .transaction
            }
    }
}

extension SignatureStatus {
    fileprivate init(_ error: JWSError) {
        self =
            switch error.innermost {
            // Right as far as it goes, and nothing that leads to Apple.
            case .chain, .noSigningDate, .notSignedByApple, .environment, .bundleID, .appAppleID:
                .untrusted("\(error)")
            default: .invalid("\(error)")
            }
    }
}

extension JWSError {
    fileprivate var innermost: JWSError {
        if case .nested(_, let error) = self { error.innermost } else { self }
    }
}
