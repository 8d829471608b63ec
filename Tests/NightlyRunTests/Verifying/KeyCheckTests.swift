import Synchronization
import Testing
import Verification

/// The keys of the apps are tried before any receipt is touched.
@Suite struct KeyCheckTests {
    /// Apple has been seen to refuse good keys for a moment: no night ends for that.
    @Test func aKeyThatAppleRefusesForAMomentIsGood() async throws {
        let asked = Mutex(0)
        let refused = try await VerificationStage.with(reply: { _ in
            let number = asked.withLock { asked in
                asked += 1
                return asked
            }
            // By production, and by the sandbox: production refuses the key of an app that was never released.
            return number <= 2 ? (401, "Unauthenticated") : (404, #"{"errorCode":4040010}"#)
        }) { try await $0.services.checkAccess() }
        #expect(refused.isEmpty)
    }

    @Test func aKeyThatAppleRefusesAgainEndsTheNightIfNoAppIsLeft() async throws {
        await #expect(throws: UnusableSetting.self) {
            try await VerificationStage.with(reply: { _ in (401, "Unauthenticated") }) {
                try await $0.services.checkAccess()
            }
        }
    }
}
