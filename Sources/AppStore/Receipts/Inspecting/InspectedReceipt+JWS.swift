import Foundation

extension InspectedReceipt {
    /// Reads a JWS and checks whether its signature is Apple's, for any app and in both of Apple's environments.
    ///
    /// - Throws: if its payload can't be read.
    init(jws text: String, by verifier: JWSVerifier) throws(ReceiptError) {
        let object = try Self.payload(of: text)
        switch SignedKind(object) {
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
            renewalInfo = payload
        case .appTransaction:
            let payload: SignedAppTransaction = try Self.read(object)
            self.init(.jws, .appTransaction, payload) { () throws(JWSError) in
                _ = try verifier.appTransaction(text, expecting: .anything)
            }
            add(payload)
        case .notification:
            let payload: NotificationPayload = try Self.read(object)
            self.init(.jws, .notification, payload) { () throws(JWSError) in
                _ = try verifier.notification(text, expecting: .anything)
            }
            notification = AppStoreNotification(payload)
            if let transaction: SignedTransaction = carried(payload.subject.transaction) { add(transaction) }
            renewalInfo = carried(payload.subject.renewalInfo)
            if let transaction: SignedAppTransaction = carried(payload.subject.appTransaction) { add(transaction) }
        }
    }

    /// - Parameter verify: verifies the very text that the payload was read from.
    private init(
        _ format: Format, _ content: SignedKind, _ payload: some SignedPayload,
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

    private mutating func add(_ transaction: SignedAppTransaction) {
        appTransaction = transaction
        applicationVersion = transaction.applicationVersion
    }

    /// What a notification carries, which is a JWS of its own.
    private mutating func carried<Payload: SignedPayload>(_ jws: String?) -> Payload? {
        guard let jws else { return nil }
        do {
            return try Self.read(try Self.payload(of: jws))
        } catch {
            problems.append("\(error)")
            return nil
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

extension SignatureStatus {
    fileprivate init(_ error: JWSError) {
        self =
            switch error.innermost {
            // The signature is right, but nothing leads to Apple.
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
