import Foundation
import Testing

@testable import AppStore

@Suite struct JWSVerifierTests {
    private let sandbox = JWSExpectation(bundleID: TestPayload.bundleID, environments: [.sandbox])

    /// What the verifier says of the payload when the shared chain has signed it.
    private func verify(
        _ payload: String, header: (TestChain) -> String = { $0.header() }, expecting: JWSExpectation? = nil
    ) async throws -> Result<SignedTransaction, JWSError> {
        let chain = try await TestChain.shared.value
        return try verify(chain.sign(payload, header: header(chain)), with: chain.roots, expecting: expecting)
    }

    private func verify(
        _ jws: String, with roots: TrustRoots, expecting: JWSExpectation? = nil
    ) -> Result<SignedTransaction, JWSError> {
        Result { () throws(JWSError) in
            try JWSVerifier(roots: roots).transaction(jws, expecting: expecting ?? sandbox)
        }
    }

    @Test func acceptsWhatOurRootVouchesFor() async throws {
        let transaction = try await verify(TestPayload.transaction("2000000847061981")).get()
        #expect(transaction.transactionID == "2000000847061981")
        #expect(transaction.environment == "Sandbox")
    }

    @Test func acceptsLineEndsAroundIt() async throws {
        let chain = try await TestChain.shared.value
        let jws = try chain.sign(TestPayload.transaction())
        _ = try verify("\r\n\(jws)\n", with: chain.roots).get()
    }

    @Test(arguments: ["none", "HS256", "ES384", "es256", ""])
    func refusesOtherAlgorithms(alg: String) async throws {
        let result = try await verify(TestPayload.transaction(), header: { $0.header(alg: alg) })
        #expect(result == .failure(.algorithm(alg)))
    }

    @Test func showsNoControlCharacterOfAnAlgorithm() async throws {
        let result = try await verify(
            TestPayload.transaction(), header: { $0.header(alg: #"\u0000HS\u001b[2J"#) })
        guard case .failure(let error) = result else { return #expect(Bool(false)) }
        #expect("\(error)" == "the JWS is signed with “HS[2J”; only ES256 is accepted")
    }

    @Test func refusesHeadersWithoutAlgorithmOrCertificates() async throws {
        #expect(try await verify(TestPayload.transaction(), header: { _ in "{}" }) == .failure(.algorithm("none")))
        #expect(
            try await verify(TestPayload.transaction(), header: { _ in #"{"alg":"ES256"}"# })
                == .failure(.certificateCount(0)))
    }

    @Test(arguments: ["[]", "{", #"{"alg":1}"#, #"{"alg":"ES256","x5c":"MII"}"#])
    func refusesHeadersThatAreNotApples(header: String) async throws {
        guard case .failure(.malformedHeader) = try await verify(TestPayload.transaction(), header: { _ in header })
        else { return #expect(Bool(false)) }
    }

    /// RFC 7515, section 4.1.11: who doesn't understand such an extension must refuse.
    @Test func refusesCriticalExtensions() async throws {
        let result = try await verify(
            TestPayload.transaction(), header: { $0.header(further: #","crit":["exp"]"#) })
        #expect(result == .failure(.malformedHeader("it has critical extensions (crit)")))
    }

    @Test(arguments: [0, 1, 2, 4])
    func refusesOtherThanThreeCertificates(count: Int) async throws {
        let result = try await verify(
            TestPayload.transaction(),
            header: { chain in
                chain.header(certificates: Array((chain.certificates + chain.certificates).prefix(count)))
            })
        #expect(result == .failure(.certificateCount(count)))
    }

    @Test func neverLooksAtTheThirdCertificate() async throws {
        let result = try await verify(
            TestPayload.transaction(),
            header: { $0.header(certificates: Array($0.certificates.prefix(2)) + ["not even base64!"]) })
        _ = try result.get()
    }

    @Test func refusesAForeignRootEvenIfItComesAlong() async throws {
        let foreign = try await TestChain.make()
        let ours = try await TestChain.shared.value
        let result = verify(try foreign.sign(TestPayload.transaction()), with: try ours.roots)
        guard case .failure(.chain(.untrustedRoot)) = result else { return #expect(Bool(false), "\(result)") }
    }

    /// Who signs must be the leaf, not anything else that our root vouches for.
    @Test func refusesAnotherLeafsSignature() async throws {
        let chain = try await TestChain.shared.value
        let other = try await TestChain.make()
        let jws = try other.sign(TestPayload.transaction(), header: chain.header())
        #expect(verify(jws, with: try chain.roots) == .failure(.wrongSignature))
    }

    @Test func refusesALeafWithoutApplesMarker() async throws {
        let chain = try await TestChain.make(leafMarker: false)
        let result = verify(try chain.sign(TestPayload.transaction()), with: try chain.roots)
        guard case .failure(.chain(.missingMarker("1.2.840.113635.100.6.11.1", _))) = result else {
            return #expect(Bool(false), "\(result)")
        }
    }

    @Test func refusesAnIntermediateWithoutApplesMarker() async throws {
        let chain = try await TestChain.make(intermediateMarker: false)
        let result = verify(try chain.sign(TestPayload.transaction()), with: try chain.roots)
        guard case .failure(.chain(.missingMarker("1.2.840.113635.100.6.2.1", _))) = result else {
            return #expect(Bool(false), "\(result)")
        }
    }

    @Test func refusesAKeyOnAnotherCurve() async throws {
        let chain = try await TestChain.make(curve: "secp384r1")
        #expect(verify(try chain.sign(TestPayload.transaction()), with: try chain.roots) == .failure(.keyNotP256))
    }

    @Test func judgesCertificatesWhenItWasSigned() async throws {
        let inAWeek = Date().addingTimeInterval(7 * 86_400)
        let aWeekAgo = Date().addingTimeInterval(-7 * 86_400)
        let late = try await verify(TestPayload.transaction(signedAt: TestPayload.milliseconds(inAWeek)))
        guard case .failure(.chain(.expired)) = late else { return #expect(Bool(false), "\(late)") }
        let early = try await verify(TestPayload.transaction(signedAt: TestPayload.milliseconds(aWeekAgo)))
        guard case .failure(.chain(.notYetValid)) = early else { return #expect(Bool(false), "\(early)") }
    }

    @Test func judgesRememberedCertificatesAtEachDate() async throws {
        let chain = try await TestChain.shared.value
        let verifier = JWSVerifier(roots: try chain.roots)
        let inAWeek = TestPayload.milliseconds(Date().addingTimeInterval(7 * 86_400))
        for _ in 0..<2 {
            _ = try verifier.transaction(try chain.sign(TestPayload.transaction()), expecting: sandbox)
            #expect(throws: JWSError.self) {
                try verifier.transaction(
                    try chain.sign(TestPayload.transaction(signedAt: inAWeek)), expecting: sandbox)
            }
        }
    }

    @Test func refusesAPayloadThatDoesNotSayWhenItWasSigned() async throws {
        #expect(try await verify(TestPayload.transaction(signedAt: nil)) == .failure(.noSigningDate))
    }

    @Test(arguments: ["[]", "\"text\"", "{", "", "{\"transactionId\":}"])
    func refusesAPayloadThatIsNoObject(payload: String) async throws {
        #expect(try await verify(payload) == .failure(.malformedPayload))
    }

    @Test func refusesAnotherApp() async throws {
        #expect(
            try await verify(TestPayload.transaction(bundleID: "com.example.other"))
                == .failure(.bundleID(found: "com.example.other", expected: TestPayload.bundleID)))
    }

    @Test(arguments: ["Production", "Staging", ""])
    func refusesAnotherEnvironment(name: String) async throws {
        #expect(
            try await verify(TestPayload.transaction(environment: name))
                == .failure(.environment(found: name.isEmpty ? nil : name)))
    }

    @Test(arguments: [AppStoreEnvironment.xcode, .localTesting])
    func refusesWhatAnyoneCanSignUnlessAllowed(environment: AppStoreEnvironment) async throws {
        let foreign = try await TestChain.make()
        let jws = try foreign.sign(TestPayload.transaction(environment: environment.rawValue))
        let roots = try await TestChain.shared.value.roots
        #expect(verify(jws, with: roots) == .failure(.notSignedByApple(environment)))
        let allowing = JWSExpectation(bundleID: TestPayload.bundleID, environments: [.sandbox, environment])
        _ = try verify(jws, with: roots, expecting: allowing).get()
        // Allowing these opens no door for a payload that names another environment, or another app.
        let forged = try foreign.sign(TestPayload.transaction(environment: "Sandbox"))
        #expect(throws: JWSError.self) { try verify(forged, with: roots, expecting: allowing).get() }
        let other = try foreign.sign(
            TestPayload.transaction(bundleID: "com.example.other", environment: environment.rawValue))
        #expect(throws: JWSError.self) { try verify(other, with: roots, expecting: allowing).get() }
    }

    @Test func refusesMoreBytesThanTheLimit() async throws {
        let chain = try await TestChain.shared.value
        let jws = try chain.sign(TestPayload.transaction())
        let exact = JWSVerifier(roots: try chain.roots, maximumBytes: jws.utf8.count)
        _ = try exact.transaction(jws, expecting: sandbox)
        let less = JWSVerifier(roots: try chain.roots, maximumBytes: jws.utf8.count - 1)
        #expect(throws: JWSError.tooLarge(limit: jws.utf8.count - 1)) {
            try less.transaction(jws, expecting: sandbox)
        }
    }

    /// The sentences stand in reports and logs.
    @Test(
        arguments: [
            (.tooLarge(limit: 7), "the JWS is larger than 7 bytes"),
            (.notCompact("why"), "not a JWS in compact form: why"),
            (.malformedHeader("why"), "the JWS header is malformed: why"),
            (.algorithm("HS256"), "the JWS is signed with “HS256”; only ES256 is accepted"),
            (.certificateCount(2), "the JWS header has 2 certificates (x5c) in place of three"),
            (.malformedPayload, "the signed payload is not a JSON object"),
            (.noSigningDate, "the signed payload doesn't say when it was signed"),
            (
                .chain(.badSignature(certificate: "A")),
                "the certificates of the JWS are not accepted: the signature in the certificate “A” is wrong"
            ),
            (.keyNotP256, "the certificate's key is not on the curve P-256"),
            (.malformedSignature("why"), "the JWS signature is malformed: why"),
            (.wrongSignature, "the JWS signature is wrong: the contents were changed, or another key signed them"),
            (.bundleID(found: nil, expected: "a.b"), "it is for the app (none), not for a.b"),
            (.appAppleID(found: 1, expected: 2), "it is for the app with App Store id “1”, not for 2"),
            (.environment(found: "Moon"), "it was made in the environment “Moon”, which is not expected here"),
            (
                .notSignedByApple(.xcode),
                "it was made in the environment Xcode, where anyone can sign; the settings don't allow it"
            ),
            (.nested("data", .malformedPayload), "data: the signed payload is not a JSON object"),
        ] as [(JWSError, String)])
    func saysWhatIsWrong(error: JWSError, text: String) {
        #expect(error.description == text)
    }

    @Test func saysWhatIsWrongWithoutThePayload() async throws {
        let secret = TestPayload.transaction("2000000000000042", bundleID: "com.example.other")
        guard case .failure(let error) = try await verify(secret) else { return #expect(Bool(false)) }
        #expect("\(error)" == "it is for the app “com.example.other”, not for com.example.game")
    }
}
