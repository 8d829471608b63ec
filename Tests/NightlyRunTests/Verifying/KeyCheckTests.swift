import Foundation
import Testing
import Verification

/// The keys of the apps are tried before any receipt is touched.
@Suite struct KeyCheckTests {
    /// Apple has been seen to refuse good keys for a moment: no night ends for that.
    @Test func aKeyThatAppleRefusesForAMomentIsGood() async throws {
        let began = Date()
        try await VerificationStage.with(reply: { _ in
            began.timeIntervalSinceNow > -1.5 ? (401, "Unauthenticated") : (404, #"{"errorCode":4040010}"#)
        }) { stage in
            let refused = try await stage.services.checkAccess()
            #expect(refused.isEmpty)
        }
    }

    @Test func aKeyThatAppleRefusesAgainEndsTheNightIfNoAppIsLeft() async throws {
        try await VerificationStage.with(reply: { _ in (401, "Unauthenticated") }) { stage in
            await #expect(throws: UnusableSetting.self) { try await stage.services.checkAccess() }
        }
    }
}
