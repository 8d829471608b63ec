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
        #expect(Patience.outcome(of: .notTried, attempts: 5) == nil)
    }

    @Test func givesAMalformedReceiptThreeNights() {
        let verdict = ReceiptVerdict.problem(.malformed, "21002")
        #expect(Patience.outcome(of: verdict, attempts: 0) == .tryAgain(.malformed, "21002"))
        #expect(Patience.outcome(of: verdict, attempts: 1) == .tryAgain(.malformed, "21002"))
        #expect(Patience.outcome(of: verdict, attempts: 2) == .unusable(.malformed, "21002"))
    }

    @Test func givesAnEmptyReceiptAWeek() {
        let outcomes = (0..<7).map { Patience.outcome(of: genuine([]), attempts: $0) }
        let detail = "genuine, but it holds no purchase"
        #expect(outcomes.dropLast().allSatisfy { $0 == .tryAgain(.noTransactions, detail) })
        #expect(outcomes.last == .unusable(.noTransactions, detail))
    }

    @Test(arguments: [ReceiptProblem.empty, .notGenuine, .accountGone])
    func givesUpAtOnceWhatCanNeverPass(problem: ReceiptProblem) {
        #expect(Patience.outcome(of: .problem(problem, "why"), attempts: 0) == .unusable(problem, "why"))
    }

    @Test(arguments: ReceiptProblem.allCases.filter(\.mayPass))
    func neverGivesUpWhatMayPass(problem: ReceiptProblem) {
        #expect(Patience.outcome(of: .problem(problem, "why"), attempts: 10_000) == .tryAgain(problem, "why"))
    }

    @Test func keepsAReceiptOfWhichSomethingCouldNotBeRead() throws {
        let verdict = genuine([try Sample.transaction()], unreadable: ["row 2 has no product_id", "row 3 neither"])
        #expect(
            Patience.outcome(of: verdict, attempts: 99)
                == .tryAgain(.unreadableAnswer, "row 2 has no product_id (and 1 more)"))
    }

    @Test func settlesWhatIsGenuineAndRead() throws {
        #expect(Patience.outcome(of: genuine([try Sample.transaction()]), attempts: 0) == .verified)
    }
}
