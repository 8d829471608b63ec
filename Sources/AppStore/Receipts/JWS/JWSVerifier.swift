import Foundation

/// Verifies what Apple signs as a JWS: transactions, renewal info, app transactions and notifications.
///
/// It accepts what Apple's own libraries accept: ES256 with three certificates, the first two of which lead to one of
/// our roots, bear Apple's markers and were valid when the payload was signed; a signature over exactly what was sent;
/// and the app and the environment that the caller expects. Nothing is asked online.
public final class JWSVerifier: Sendable {
    private let chains: ChainVerifier
    private let headers = HeaderCache()
    private let maximumBytes: Int

    /// - Parameters:
    ///   - roots: where a chain must end.
    ///   - maximumBytes: a larger JWS is refused. Apple's have 5 KB, and notifications, which carry others, 20.
    public init(roots: TrustRoots = .apple, maximumBytes: Int = 256 * 1024) {
        chains = ChainVerifier(roots: roots, requirements: .signedTransaction)
        self.maximumBytes = maximumBytes
    }

    /// Verifies a transaction: what a client of StoreKit 2 uploads, and what the App Store Server API answers.
    public func transaction(
        _ jws: String, expecting expectation: JWSExpectation
    ) throws(JWSError) -> SignedTransaction {
        try verify(jws.utf8, expecting: expectation)
    }

    /// Verifies what is known of a subscription's renewal. It names no app, so only its environment is compared.
    public func renewalInfo(
        _ jws: String, expecting expectation: JWSExpectation
    ) throws(JWSError) -> SignedRenewalInfo {
        try verify(jws.utf8, expecting: expectation)
    }

    /// Verifies the download of the app itself.
    public func appTransaction(
        _ jws: String, expecting expectation: JWSExpectation
    ) throws(JWSError) -> SignedAppTransaction {
        try verify(jws.utf8, expecting: expectation)
    }

    /// Verifies a notification of version 2 (`signedPayload`), and what it carries, each by its own signature. If its
    /// transaction is not accepted, the notification is not accepted either. Whatever else is not accepted is left out,
    /// if there is a transaction.
    public func notification(
        _ jws: String, expecting expectation: JWSExpectation
    ) throws(JWSError) -> AppStoreNotification {
        try notification(try verify(jws.utf8, expecting: expectation), expecting: expectation)
    }

    /// Verifies any of these, whichever it is.
    public func content(_ text: String, expecting expectation: JWSExpectation) throws(JWSError) -> SignedContent {
        let jws = try CompactJWS(text.utf8, limit: maximumBytes)
        let object = try Self.object(in: jws)
        switch SignedKind(object) {
        case .transaction: return .transaction(try verify(object, of: jws, expecting: expectation))
        case .renewalInfo: return .renewalInfo(try verify(object, of: jws, expecting: expectation))
        case .appTransaction: return .appTransaction(try verify(object, of: jws, expecting: expectation))
        case .notification:
            let payload: NotificationPayload = try verify(object, of: jws, expecting: expectation)
            return .notification(try notification(payload, expecting: expectation))
        }
    }

    private func notification(
        _ payload: NotificationPayload, expecting expectation: JWSExpectation
    ) throws(JWSError) -> AppStoreNotification {
        var notification = AppStoreNotification(payload)
        notification.transaction = try nested(
            payload.subject.transaction, "signedTransactionInfo", expecting: expectation)
        let isOfPurchase = notification.transaction != nil
        notification.renewalInfo = try nested(
            payload.subject.renewalInfo, "signedRenewalInfo", mayBeLeftOut: isOfPurchase, expecting: expectation)
        notification.appTransaction = try nested(
            payload.subject.appTransaction, "signedAppTransactionInfo", mayBeLeftOut: isOfPurchase,
            expecting: expectation)
        return notification
    }

    private func nested<Payload: SignedPayload>(
        _ jws: String?, _ name: String, mayBeLeftOut: Bool = false, expecting expectation: JWSExpectation
    ) throws(JWSError) -> Payload? {
        guard let jws else { return nil }
        do throws(JWSError) {
            return try verify(jws.utf8, expecting: expectation)
        } catch {
            if mayBeLeftOut { return nil }
            throw .nested(name, error)
        }
    }

    func verify<Payload: SignedPayload>(
        _ text: some Collection<UInt8>, expecting expectation: JWSExpectation
    ) throws(JWSError) -> Payload {
        let jws = try CompactJWS(text, limit: maximumBytes)
        return try verify(try Self.object(in: jws), of: jws, expecting: expectation)
    }

    private static func object(in jws: CompactJWS) throws(JWSError) -> JSONObject {
        guard let object = JSONObject(try jws.payload()) else { throw .malformedPayload }
        return object
    }

    /// - Parameter object: the payload of that very JWS.
    private func verify<Payload: SignedPayload>(
        _ object: JSONObject, of jws: CompactJWS, expecting expectation: JWSExpectation
    ) throws(JWSError) -> Payload {
        guard let payload = Payload(object) else { throw .malformedPayload }
        if let environment = payload.environment.flatMap(AppStoreEnvironment.init), !environment.isSignedByApple {
            guard expectation.environments.contains(environment) else { throw .notSignedByApple(environment) }
        } else {
            try verifySignature(of: jws, signedAt: payload.signedDate)
            try expectation.checkEnvironment(payload.environment)
        }
        try expectation.checkApp(payload.app, environment: payload.environment)
        return payload
    }

    private func verifySignature(of jws: CompactJWS, signedAt date: Date?) throws(JWSError) {
        let known = headers.header(jws.header)
        let header = if let known { known } else { try JWSHeader(try jws.decodedHeader()) }
        guard let date else { throw .noSigningDate }
        let chain = try chain(of: header, at: date)
        guard let key = chain.leaf.publicKey, ES256.isKey(key) else { throw .keyNotP256 }
        if known == nil { headers.keep(header, for: jws.header) }
        let signature = try jws.signature()
        // The certificate owns the key.
        let isValid = withExtendedLifetime(chain) {
            jws.withSigningInput { ES256.isValid(signature, over: $0, key: key) }
        }
        guard isValid else { throw .wrongSignature }
    }

    private func chain(of header: JWSHeader, at date: Date) throws(JWSError) -> VerifiedChain {
        do {
            return try chains.verify(leaf: header.leaf, intermediates: [header.intermediate], at: date)
        } catch {
            throw .chain(error)
        }
    }
}
