import Testing

@testable import AppStore

@Suite struct CircuitBreakerTests {
    private let thresholds = CircuitBreaker.Thresholds(
        unanswered: 5, failed: 12, share: 0.9, window: 40, coolDown: 60)

    @Test func opensWhenManyReceiptsInARowFindNoServer() {
        var circuit = CircuitBreaker(thresholds)
        for receipt in 0..<4 { circuit.note(.down, receipt: receipt, at: 0) }
        #expect(!circuit.isOpen)
        circuit.note(.down, receipt: 4, at: 0)
        #expect(circuit.isOpen)
        expect([0: false, 1: false], of: &circuit)
    }

    @Test func neverOpensForOneBadReceipt() {
        var circuit = CircuitBreaker(thresholds)
        for _ in 0..<30 { circuit.note(.down, receipt: 7, at: 0) }
        #expect(!circuit.isOpen)
    }

    /// Requests that were in flight when a server went away for a second are sent again in a moment.
    @Test func countsARequestThatFoundNoServerOnceItIsNotSentAgain() {
        var circuit = CircuitBreaker(thresholds)
        let suspicions = (0..<12).filter { circuit.record(.down, receipt: $0, isFinal: false) }
        // They failed all the same.
        #expect(suspicions == [11])
        circuit.settle(by: .up, at: 0)
        #expect((0..<5).filter { circuit.record(.down, receipt: $0, isFinal: true) } == [4])
    }

    @Test func startsCountingAnewAfterASuccess() {
        var circuit = CircuitBreaker(thresholds)
        for round in 0..<20 {
            for receipt in 0..<4 { circuit.note(.down, receipt: round * 10 + receipt, at: 0) }
            circuit.note(.up, receipt: round * 10 + 9, at: 0)
        }
        #expect(!circuit.isOpen)
    }

    @Test func bearsBusyAnswersLongerThanNone() {
        var circuit = CircuitBreaker(thresholds)
        for receipt in 0..<11 { circuit.note(.busy, receipt: receipt, at: 0) }
        #expect(!circuit.isOpen)
        circuit.note(.busy, receipt: 11, at: 0)
        #expect(circuit.isOpen)
    }

    @Test func opensWhenNearlyEverythingFailsForAWhile() {
        var circuit = CircuitBreaker(CircuitBreaker.Thresholds(unanswered: 30, failed: 300, share: 0.9, window: 40))
        for receipt in 0..<60 where !circuit.isOpen {
            circuit.note(receipt % 20 == 0 ? .up : .down, receipt: receipt, at: 0)
        }
        #expect(circuit.isOpen)
    }

    @Test func weighsNoRequestsButTheLast() {
        var circuit = CircuitBreaker(
            CircuitBreaker.Thresholds(unanswered: 30, failed: 300, share: 0.9, window: 20, coolDown: 60))
        // The second time all of the first is forgotten.
        for begun in [0.0, 1000] {
            for _ in 0..<17 { circuit.note(.down, receipt: 1, at: begun) }
            for _ in 0..<20 { circuit.note(.up, receipt: 2, at: begun) }
            for _ in 0..<17 { circuit.note(.down, receipt: 1, at: begun) }
            #expect(!circuit.isOpen)
            circuit.note(.down, receipt: 1, at: begun)
            #expect(circuit.isOpen)
            circuit.note(.up, receipt: 2, at: begun + 100)
            #expect(!circuit.isOpen)
        }
    }

    @Test func staysClosedWhileHalfOfEverythingFails() {
        var circuit = CircuitBreaker(thresholds)
        for receipt in 0..<1000 { circuit.note(receipt % 2 == 0 ? .up : .down, receipt: receipt, at: 0) }
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
        circuit.note(.up, receipt: 50, at: 161)
        #expect(!circuit.isOpen)
        for receipt in 0..<4 { circuit.note(.down, receipt: receipt, at: 162) }
        #expect(!circuit.isOpen)
    }

    /// What failed while it was down says nothing of the server that is back.
    @Test func forgetsTheFailuresBeforeAProbeThatSucceeds() {
        var circuit = CircuitBreaker(
            CircuitBreaker.Thresholds(unanswered: 30, failed: 300, share: 0.9, window: 20, coolDown: 60))
        for _ in 0..<20 { circuit.note(.down, receipt: 1, at: 100) }
        #expect(circuit.isOpen)
        circuit.note(.up, receipt: 2, at: 161)
        for _ in 0..<19 { circuit.note(.down, receipt: 1, at: 162) }
        #expect(!circuit.isOpen)
        circuit.note(.down, receipt: 1, at: 162)
        #expect(circuit.isOpen)
    }

    @Test func staysOpenWhenTheProbeFailsOrNeverReports() {
        var circuit = opened(at: 100)
        expect([160: true], of: &circuit)
        circuit.note(.down, receipt: 50, at: 170)
        expect([219: false, 220: true, 279: false, 280: true], of: &circuit)
    }

    @Test func asksTheControlQuestionOnceBeforeItOpens() {
        var circuit = CircuitBreaker(thresholds)
        let suspicions = (0..<9).filter { circuit.record(.down, receipt: $0) }
        #expect(suspicions == [4])
        #expect(!circuit.isOpen)
        circuit.settle(by: .down, at: 1)
        #expect(circuit.isOpen)
    }

    @Test(arguments: [CircuitBreaker.Sign.busy, .down])
    func opensUnlessTheControlQuestionIsAnswered(control: CircuitBreaker.Sign) {
        var circuit = CircuitBreaker(thresholds)
        for receipt in 0..<12 { circuit.note(.busy, receipt: receipt, at: 0, control: control) }
        #expect(circuit.isOpen)
    }

    /// As many as there are: the server answers, so what fails is the receipts' own.
    @Test(arguments: [CircuitBreaker.Sign.busy, .down])
    func staysClosedWhileTheControlQuestionIsAnswered(sign: CircuitBreaker.Sign) {
        var circuit = CircuitBreaker(thresholds)
        var suspicions: [Int] = []
        for receipt in 0..<100 {
            if circuit.note(sign, receipt: receipt, at: 800, control: .up) { suspicions.append(receipt) }
        }
        #expect(!circuit.isOpen)
        #expect(suspicions.count == (sign == .down ? 20 : 8))
    }

    @Test func believesTheControlQuestionForAWhile() {
        var circuit = CircuitBreaker(thresholds)
        for receipt in 0..<10 { circuit.note(.down, receipt: receipt, at: 100, control: .up) }
        for receipt in 10..<15 { circuit.note(.down, receipt: receipt, at: 1000, control: .up) }
        #expect(!circuit.isOpen)
        for receipt in 15..<19 { circuit.note(.up, receipt: receipt, at: 1000.5) }
        for receipt in 20..<25 { circuit.note(.down, receipt: receipt, at: 1001, control: .up) }
        #expect(circuit.isOpen)
    }

    @Test func forgetsASuspicionOnceAsManyReceiptsAreAnswered() {
        var circuit = CircuitBreaker(thresholds)
        for receipt in 0..<5 { circuit.note(.down, receipt: receipt, at: 100, control: .up) }
        for receipt in 5..<8 { circuit.note(.up, receipt: receipt, at: 200) }
        for receipt in 5..<10 { circuit.note(.down, receipt: receipt, at: 300, control: .up) }
        for receipt in 8..<10 { circuit.note(.up, receipt: receipt, at: 400) }
        for receipt in 10..<15 { circuit.note(.down, receipt: receipt, at: 1001, control: .up) }
        for receipt in 15..<20 { circuit.note(.down, receipt: receipt, at: 1900, control: .up) }
        #expect(!circuit.isOpen)
        for receipt in 20..<25 { circuit.note(.down, receipt: receipt, at: 1902, control: .up) }
        #expect(circuit.isOpen)
    }

    @Test func anAnswerSettlesASuspicionToo() {
        var circuit = CircuitBreaker(thresholds)
        for receipt in 0..<5 { _ = circuit.record(.down, receipt: receipt) }
        _ = circuit.record(.up, receipt: 5)
        circuit.settle(by: .down, at: 30)
        #expect(!circuit.isOpen)
    }

    @Test func raisesADroppedSuspicionAgain() {
        var circuit = CircuitBreaker(thresholds)
        for receipt in 0..<5 { _ = circuit.record(.down, receipt: receipt) }
        circuit.drop()
        #expect(!circuit.isOpen)
        circuit.note(.down, receipt: 5, at: 0)
        #expect(circuit.isOpen)
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
        for receipt in 0..<5 { circuit.note(.down, receipt: receipt, at: now) }
        return circuit
    }
}

extension CircuitBreaker {
    /// Notes how a request ended, and settles a suspicion at once; returns whether there was one.
    @discardableResult
    fileprivate mutating func note(_ sign: Sign, receipt: Int, at now: Double, control: Sign = .down) -> Bool {
        let isSuspected = record(sign, receipt: receipt)
        if isSuspected { settle(by: control, at: now) }
        return isSuspected
    }
}
