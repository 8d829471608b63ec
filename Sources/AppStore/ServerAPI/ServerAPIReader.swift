import Foundation

/// Reads the answers of one environment, verifying what is signed in them.
struct ServerAPIReader: Sendable {
    private let verifier: JWSVerifier
    private let expectation: JWSExpectation
    let environment: ServerEnvironment

    init(_ verifier: JWSVerifier, _ credentials: ServerAPICredentials, _ environment: ServerEnvironment) {
        self.verifier = verifier
        self.environment = environment
        expectation = JWSExpectation(
            bundleID: credentials.bundleID, appAppleID: credentials.appAppleID,
            environments: [environment == .production ? .production : .sandbox])
    }

    /// The result of reading.
    func outcome<Value: Sendable>(_ read: () throws -> Value) -> ServerAPIOutcome<Value> {
        do {
            return .found(try read())
        } catch let error as UnverifiedPayload {
            return .unverified(error)
        } catch let absence as ServerAPIAbsence {
            return .notFound(absence)
        } catch let error as UnreadableAnswer {
            return .tryAgain(.unreadable(error.text))
        } catch {
            return .tryAgain(.unreadable("it is not the JSON that Apple documents"))
        }
    }

    func decode<Body: Decodable>(_ type: Body.Type, from body: Data) throws -> Body {
        try JSONDecoder().decode(type, from: body)
    }

    func transaction(_ jws: String, at place: @autoclosure () -> String) throws(UnverifiedPayload) -> SignedTransaction
    {
        do throws(JWSError) {
            return try verifier.transaction(jws, expecting: expectation)
        } catch {
            throw UnverifiedPayload(place: place(), error: error)
        }
    }

    func renewalInfo(_ jws: String, at place: @autoclosure () -> String) throws(UnverifiedPayload) -> SignedRenewalInfo
    {
        do throws(JWSError) {
            return try verifier.renewalInfo(jws, expecting: expectation)
        } catch {
            throw UnverifiedPayload(place: place(), error: error)
        }
    }

    func notification(
        _ jws: String, at place: @autoclosure () -> String
    ) throws(UnverifiedPayload) -> AppStoreNotification {
        do throws(JWSError) {
            return try verifier.notification(jws, expecting: expectation)
        } catch {
            throw UnverifiedPayload(place: place(), error: error)
        }
    }

    /// Separates the entries of a list that are Apple's and this app's from the others, and says what is wrong with
    /// those.
    ///
    /// - Throws: if all entries are wrong: then it is not an answer at all.
    func split(
        _ list: [String]?
    ) throws(UnverifiedPayload) -> (proofs: [TransactionProof], unverified: [UnverifiedPayload]) {
        var proofs: [TransactionProof] = []
        var unverified: [UnverifiedPayload] = []
        for (index, jws) in (list ?? []).enumerated() {
            do {
                proofs.append(try proof(jws, at: "signedTransactions[\(index)]"))
            } catch {
                unverified.append(error)
            }
        }
        if proofs.isEmpty, let first = unverified.first { throw first }
        return (proofs, unverified)
    }

    func proof(_ jws: String, at place: @autoclosure () -> String) throws(UnverifiedPayload) -> TransactionProof {
        TransactionProof(transaction: try transaction(jws, at: place()), jws: jws)
    }

    func proofs(_ list: [String]?) throws(UnverifiedPayload) -> [TransactionProof] {
        var proofs: [TransactionProof] = []
        for (index, jws) in (list ?? []).enumerated() {
            proofs.append(try proof(jws, at: "signedTransactions[\(index)]"))
        }
        return proofs
    }
}

/// An answer that is JSON, but not what Apple documents.
struct UnreadableAnswer: Error {
    let text: String
}
