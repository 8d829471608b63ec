import Foundation
import Ledger
import Testing

@testable import Job

/// A step is done again, whole, where that may help, and no oftener than it may.
@Suite struct RetryingTests {
    /// How often a step was done and its session regained.
    private struct Attempts {
        var steps = 0
        var regains = 0
        /// Why it was given up.
        var error: String?
    }

    /// - Parameters:
    ///   - errors: what the step meets, time after time, before it succeeds.
    ///   - trouble: what regaining the session meets.
    private func attempts(
        meeting errors: [LedgerError], patience: TimeInterval = 3600, regainMeets trouble: LedgerError? = nil
    ) async -> Attempts {
        var attempts = Attempts()
        do throws(LedgerError) {
            try await retrying(
                patience: patience,
                regain: { (_: String) async throws(LedgerError) in
                    attempts.regains += 1
                    if let trouble { throw trouble }
                },
                { () async throws(LedgerError) in
                    attempts.steps += 1
                    if attempts.steps <= errors.count { throw errors[attempts.steps - 1] }
                })
        } catch {
            attempts.error = error.description
        }
        return attempts
    }

    @Test func waitsForAnotherSessionsLock() async {
        let found = await attempts(meeting: [.conflict("a"), .conflict("b")])
        #expect(found.steps == 3 && found.regains == 0 && found.error == nil)
    }

    /// A statement that brings the server down does not do so all night.
    @Test func followsTheDatabaseThreeTimes() async {
        let three = await attempts(meeting: [.connectionLost("1"), .connectionLost("2"), .connectionLost("3")])
        #expect(three.steps == 4 && three.regains == 3 && three.error == nil)
        let four = await attempts(
            meeting: [.connectionLost("1"), .connectionLost("2"), .connectionLost("3"), .connectionLost("4")])
        #expect(four.steps == 4 && four.regains == 3 && four.error == "4")
    }

    /// Regaining it has its own patience already.
    @Test func givesUpADatabaseThatStaysAway() async {
        let found = await attempts(meeting: [.connectionLost("a")], regainMeets: .connectionLost("b"))
        #expect(found.steps == 1 && found.regains == 1 && found.error == "b")
    }

    @Test(arguments: [LedgerError.conflict("a"), .connectionLost("a")])
    func triesButOnceWithoutPatience(error: LedgerError) async {
        let found = await attempts(meeting: [error], patience: 0)
        #expect(found.steps == 1 && found.regains == 0 && found.error == "a")
    }

    @Test(arguments: [LedgerError.refused("a"), .unfit("a"), .statementStopped("a"), .exhausted("a"), .failed("a")])
    func doesNotRepeatWhatFailsAgain(error: LedgerError) async {
        let found = await attempts(meeting: [error])
        #expect(found.steps == 1 && found.regains == 0 && found.error == "a")
    }

    @Test func repeatsConflictsAlone() async {
        var steps = 0
        let value = try? await retryingConflicts(for: 3600) { () async throws(LedgerError) -> Int in
            steps += 1
            if steps < 3 { throw .conflict("a") }
            return steps
        }
        #expect(value == 3)
        steps = 0
        await #expect(throws: LedgerError.self) {
            try await retryingConflicts { () async throws(LedgerError) in
                steps += 1
                throw .connectionLost("a")
            }
        }
        #expect(steps == 1)
        await #expect(throws: LedgerError.self) {
            try await retryingConflicts(for: 0) { () async throws(LedgerError) in
                steps += 1
                throw .conflict("a")
            }
        }
        #expect(steps == 2)
    }
}
