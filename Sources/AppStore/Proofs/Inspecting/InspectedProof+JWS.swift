import Foundation

extension InspectedProof {
    /// What a JWS holds and whether its signature is Apple's, for any app and in both of Apple's environments.
    ///
    /// - Throws: where its payload can't be read.
    init(jws text: String, by verifier: JWSVerifier) throws(ReceiptError) {
        let json = try Self.payload(of: text)
        switch JWSContent(json) {
        case .transaction:
            let payload: SignedTransaction = try Self.decoded(json)
            self.init(.jws, .transaction, payload) { () throws(JWSError) in
                _ = try verifier.transaction(text, expecting: .anything)
            }
            add(payload)
        case .renewalInfo:
            let payload: SignedRenewalInfo = try Self.decoded(json)
            self.init(.jws, .renewalInfo, payload) { () throws(JWSError) in
                _ = try verifier.renewalInfo(text, expecting: .anything)
            }
        case .appTransaction:
            let payload: SignedAppTransaction = try Self.decoded(json)
            self.init(.jws, .appTransaction, payload) { () throws(JWSError) in
                _ = try verifier.appTransaction(text, expecting: .anything)
            }
            applicationVersion = payload.applicationVersion
        case .notification:
            let payload: NotificationPayload = try Self.decoded(json)
            self.init(.jws, .notification, payload) { () throws(JWSError) in
                _ = try verifier.notification(text, expecting: .anything)
            }
            if let inner = payload.subject.transaction { add(try Self.decoded(try Self.payload(of: inner))) }
        }
    }

    /// - Parameter verify: verifies the very text that the payload was decoded from
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

    private static func payload(of text: String) throws(ReceiptError) -> Data {
        do {
            return try CompactJWS(text.utf8, limit: ReceiptText.sizeLimit).payload()
        } catch {
            throw .notApples("\(error)")
        }
    }

    private static func decoded<Payload: SignedPayload>(_ json: Data) throws(ReceiptError) -> Payload {
        guard let payload = try? JSONDecoder().decode(Payload.self, from: json) else {
            throw .notApples("\(JWSError.malformedPayload)")
        }
        return payload
    }
}

/// Which of Apple's payloads a JWS holds, told by fields that only one of them has.
private enum JWSContent: String {
    case transaction
    case renewalInfo = "renewal_info"
    case appTransaction = "app_transaction"
    case notification

    private struct Fields: Decodable {
        enum Key: String, CodingKey {
            case notificationType, autoRenewProductId, autoRenewStatus, receiptType, transactionId
        }

        let content: JWSContent

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: Key.self)
            content =
                if fields.contains(.notificationType) {
                    .notification
                } else if fields.contains(.transactionId) {
                    .transaction
                } else if fields.contains(.autoRenewProductId) || fields.contains(.autoRenewStatus) {
                    .renewalInfo
                } else {
                    fields.contains(.receiptType) ? .appTransaction : .transaction
                }
        }
    }

    init(_ json: Data) {
        self = (try? JSONDecoder().decode(Fields.self, from: json))?.content ?? .transaction
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
