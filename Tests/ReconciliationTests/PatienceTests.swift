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
        #expect(ReceiptTrouble?.some(.init(problem, nights: 1)).nights(meetingNow: problem) == 2)
        #expect(
            ReceiptTrouble?.some(.init(problem, nights: 9)).nights(meetingNow: .malformed)
                == (problem == .malformed ? 10 : 1))
        #expect(ReceiptTrouble?.none.nights(meetingNow: problem) == 1)
    }

    @Test func givesAnEmptyReceiptAWeek() {
        let outcomes = (0..<7).map {
            Patience.outcome(of: genuine([]), after: ReceiptTrouble(.noTransactions, nights: $0))
        }
        let detail = "its list of purchases is empty"
        #expect(outcomes.dropLast().allSatisfy { $0 == .tryAgain(.noTransactions, detail) })
        #expect(outcomes.last == .unusable(.noTransactions, detail))
    }

    @Test(arguments: [
        (ReceiptProblem.contradicted, 3), (.malformed, 3), (.transactionMissing, 3), (.noTransactions, 7),
        (.needsKey, 7), (.accountGone, 3), (.unknownSigner, 30),
    ])
    func givesUpAfterSoManyNightsInARow(problem: ReceiptProblem, nights: Int) {
        let outcomes = (0..<nights).map {
            Patience.outcome(of: .problem(problem, "why"), after: ReceiptTrouble(problem, nights: $0))
        }
        #expect(outcomes.dropLast().allSatisfy { $0 == .tryAgain(problem, "why") })
        #expect(outcomes.last == .unusable(problem, "why"))
        #expect(!problem.mayPass)
    }

    @Test(arguments: [ReceiptProblem.empty, .tooLarge, .notGenuine])
    func givesUpAtOnceWhatCanNeverPass(problem: ReceiptProblem) {
        #expect(problem.nights == 1)
        #expect(Patience.outcome(of: .problem(problem, "why"), after: nil) == .unusable(problem, "why"))
    }

    /// It is Apple's trouble, or the configuration's.
    @Test(arguments: [
        ReceiptProblem.tryAgain, .appleUnreachable, .unreadableAnswer, .needsConfiguration, .unknownApp, .noTurn,
    ])
    func neverGivesUpWhatMayPass(problem: ReceiptProblem) {
        #expect(problem.mayPass)
        let outcome = Patience.outcome(of: .problem(problem, "why"), after: .init(problem, nights: 10_000))
        #expect(outcome == .tryAgain(problem, "why"))
    }

    @Test func keepsAReceiptOfWhichSomethingCouldNotBeRead() throws {
        let verdict = genuine([try Sample.transaction()], unreadable: ["row 2 has no product_id", "row 3 neither"])
        #expect(
            Patience.outcome(of: verdict, after: .init(.unreadableAnswer, nights: 99))
                == .tryAgain(.unreadableAnswer, "row 2 has no product_id (and 1 more)"))
        #expect(
            Patience.outcome(of: genuine([], unreadable: ["in_app is no list"]), after: nil)
                == .tryAgain(.unreadableAnswer, "in_app is no list"))
    }

    @Test func appleHasAnsweredOfAReceiptThatLacksWhatWasBought() {
        #expect(ReceiptProblem.allCases.filter(\.isAnswered) == [.noTransactions, .needsKey, .transactionMissing])
    }

    @Test func settlesWhatIsGenuineAndRead() throws {
        #expect(Patience.outcome(of: genuine([try Sample.transaction()]), after: nil) == .verified)
    }
}
