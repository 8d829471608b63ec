import Foundation
import Reconciliation
import Testing

@Suite struct PatienceTests {
    private func genuine(_ transactions: [Transaction], unreadable: [String] = []) -> ReceiptVerdict {
        .verified(
            VerifiedReceipt(
                environment: .production, bundleID: nil,
                transactions: transactions.map { VerifiedTransaction($0, source: .verifyReceipt) },
                verifiedAt: Sample.noon, unreadable: unreadable))
    }

    @Test func leavesWhatWasNotTried() {
        #expect(Patience.outcome(of: .notTried, after: .init(.tryAgain, nights: 5)) == nil)
    }

    @Test func givesAMalformedReceiptThreeNights() {
        let verdict = ReceiptVerdict.problem(.malformed, "21002")
        #expect(Patience.outcome(of: verdict, after: nil) == .tryAgain(.malformed, "21002"))
        #expect(Patience.outcome(of: verdict, after: .init(.malformed, nights: 1)) == .tryAgain(.malformed, "21002"))
        #expect(Patience.outcome(of: verdict, after: .init(.malformed, nights: 2)) == .unusable(.malformed, "21002"))
    }

    /// Nights on which Apple was busy say nothing of the receipt.
    @Test(arguments: ReceiptProblem.allCases)
    func countsTheNightsOfOneProblemAlone(problem: ReceiptProblem) {
        let empty = Patience.outcome(of: genuine([]), after: .init(problem, nights: 99))
        let malformed = Patience.outcome(of: .problem(.malformed, "21002"), after: .init(problem, nights: 99))
        let isAwaited = empty == .tryAgain(.noTransactions, "its list of purchases is empty")
        #expect(isAwaited == (problem != .noTransactions))
        #expect((malformed == .tryAgain(.malformed, "21002")) == (problem != .malformed))
    }

    @Test func givesAnEmptyReceiptAWeek() {
        let outcomes = (0..<7).map {
            Patience.outcome(of: genuine([]), after: ReceiptTrouble(.noTransactions, nights: $0))
        }
        let detail = "its list of purchases is empty"
        #expect(outcomes.dropLast().allSatisfy { $0 == .tryAgain(.noTransactions, detail) })
        #expect(outcomes.last == .unusable(.noTransactions, detail))
    }

    @Test func givesAnUnknownSignerThirtyNights() {
        let outcomes = (0..<30).map {
            Patience.outcome(of: .problem(.unknownSigner, "why"), after: ReceiptTrouble(.unknownSigner, nights: $0))
        }
        #expect(outcomes.dropLast().allSatisfy { $0 == .tryAgain(.unknownSigner, "why") })
        #expect(outcomes.last == .unusable(.unknownSigner, "why"))
    }

    @Test(arguments: [ReceiptProblem.empty, .notGenuine, .accountGone])
    func givesUpAtOnceWhatCanNeverPass(problem: ReceiptProblem) {
        #expect(Patience.outcome(of: .problem(problem, "why"), after: nil) == .unusable(problem, "why"))
    }

    @Test(arguments: ReceiptProblem.allCases.filter(\.mayPass))
    func neverGivesUpWhatMayPass(problem: ReceiptProblem) {
        let outcome = Patience.outcome(of: .problem(problem, "why"), after: .init(problem, nights: 10_000))
        #expect(outcome == .tryAgain(problem, "why"))
    }

    @Test func keepsAReceiptOfWhichSomethingCouldNotBeRead() throws {
        let verdict = genuine([try Sample.transaction()], unreadable: ["row 2 has no product_id", "row 3 neither"])
        #expect(
            Patience.outcome(of: verdict, after: .init(.unreadableAnswer, nights: 99))
                == .tryAgain(.unreadableAnswer, "row 2 has no product_id (and 1 more)"))
    }

    @Test func settlesWhatIsGenuineAndRead() throws {
        #expect(Patience.outcome(of: genuine([try Sample.transaction()]), after: nil) == .verified)
    }
}
