import Testing

@testable import AppStore

@Suite struct CircuitBreakerTests {
    private let thresholds = CircuitBreaker.Thresholds(
        unanswered: 5, failed: 12, share: 0.9, window: 40, coolDown: 60)

    @Test func opensWhenManyReceiptsInARowFindNoServer() {
        var circuit = CircuitBreaker(thresholds)
        for receipt in 0..<4 { circuit.record(.down, receipt: receipt, at: 0) }
        #expect(!circuit.isOpen)
        circuit.record(.down, receipt: 4, at: 0)
        #expect(circuit.isOpen)
        expect([0: false, 1: false], of: &circuit)
    }

    @Test func neverOpensForOneBadReceipt() {
        var circuit = CircuitBreaker(thresholds)
        for _ in 0..<30 { circuit.record(.down, receipt: 7, at: 0) }
        #expect(!circuit.isOpen)
    }

    @Test func startsCountingAnewAfterASuccess() {
        var circuit = CircuitBreaker(thresholds)
        for round in 0..<20 {
            for receipt in 0..<4 { circuit.record(.down, receipt: round * 10 + receipt, at: 0) }
            circuit.record(.up, receipt: round * 10 + 9, at: 0)
        }
        #expect(!circuit.isOpen)
    }

    @Test func bearsBusyAnswersLongerThanNone() {
        var circuit = CircuitBreaker(thresholds)
        for receipt in 0..<11 { circuit.record(.busy, receipt: receipt, at: 0) }
        #expect(!circuit.isOpen)
        circuit.record(.busy, receipt: 11, at: 0)
        #expect(circuit.isOpen)
    }

    @Test func opensWhenNearlyEverythingFailsForAWhile() {
        var circuit = CircuitBreaker(CircuitBreaker.Thresholds(unanswered: 30, failed: 300, share: 0.9, window: 40))
        for receipt in 0..<60 where !circuit.isOpen {
            circuit.record(receipt % 20 == 0 ? .up : .down, receipt: receipt, at: 0)
        }
        #expect(circuit.isOpen)
    }

    @Test func staysClosedWhileHalfOfEverythingFails() {
        var circuit = CircuitBreaker(thresholds)
        for receipt in 0..<1000 { circuit.record(receipt % 2 == 0 ? .up : .down, receipt: receipt, at: 0) }
        #expect(!circuit.isOpen)
    }

    @Test func letsOneProbeThroughAfterCoolingDown() {
        var circuit = opened(at: 100)
        #expect(circuit.refuses(at: 159))
        #expect(!circuit.refuses(at: 160))
        expect([159: false, 160: true, 161: false], of: &circuit)
        #expect(circuit.isOpen)
    }

    @Test func closesWhenTheProbeSucceeds() {
        var circuit = opened(at: 100)
        expect([160: true], of: &circuit)
        circuit.record(.up, receipt: 50, at: 161)
        #expect(!circuit.isOpen)
        for receipt in 0..<4 { circuit.record(.down, receipt: receipt, at: 162) }
        #expect(!circuit.isOpen)
    }

    @Test func staysOpenWhenTheProbeFailsOrNeverReports() {
        var circuit = opened(at: 100)
        expect([160: true], of: &circuit)
        circuit.record(.down, receipt: 50, at: 170)
        expect([219: false, 220: true, 279: false, 280: true], of: &circuit)
    }

    private func expect(
        _ admissions: KeyValuePairs<Double, Bool>, of circuit: inout CircuitBreaker,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for (time, isAdmitted) in admissions {
            let admits = circuit.admits(at: time)
            #expect(admits == isAdmitted, "at \(time)", sourceLocation: sourceLocation)
        }
    }

    private func opened(at now: Double) -> CircuitBreaker {
        var circuit = CircuitBreaker(thresholds)
        for receipt in 0..<5 { circuit.record(.down, receipt: receipt, at: now) }
        return circuit
    }
}
