import AppStore
import Reconciliation
import Testing

@testable import Verification

/// What a signed payload that is not accepted counts as. What a setting or a later program may make good is kept: it
/// may be a purchase, or a refund.
@Suite struct JWSErrorTests {
    @Test(
        arguments: [
            (.tooLarge(limit: 1), nil, true), (.notCompact("why"), nil, true), (.malformedHeader("why"), nil, true),
            (.malformedPayload, nil, true), (.algorithm("ES384"), .invalid, false),
            (.malformedSignature("why"), .invalid, true), (.wrongSignature, .invalid, true),
            (.certificateCount(4), .untrusted, false), (.keyNotP256, .untrusted, false),
            (.chain(.untrustedRoot(issuer: "A")), .untrusted, false), (.noSigningDate, .untrusted, true),
            (.notSignedByApple(.xcode), .untrusted, true), (.environment(found: "Moon"), .untrusted, false),
            (.appAppleID(found: 1, expected: 2), .untrusted, false),
            (.bundleID(found: "com.example.other", expected: "com.example.game"), .untrusted, true),
            (.bundleID(found: nil, expected: "com.example.game"), .untrusted, false),
        ] as [(JWSError, OfflineSignature?, Bool)])
    func tellsWhetherItMayBeApplesYet(error: JWSError, signature: OfflineSignature?, isFinal: Bool) {
        #expect(error.signature == signature && error.isFinal == isFinal)
        // Around what it carries is Apple's signature: only another app's purchase stays another's.
        let isOfAnotherApp = if case .bundleID(found: .some, _) = error { true } else { false }
        let nested = JWSError.nested("signedTransactionInfo", error)
        #expect(nested.signature == signature && nested.isFinal == isOfAnotherApp)
    }
}
