import Foundation
import Reconciliation
import TestSupport
import Testing
import Verification

/// Whether Apple knows a purchase: only a plain word of Apple's counts.
@Suite struct AppleQuestionsTests {
    /// What asking about purchase 42 came to: known, not known, or nothing was learnt.
    private func asked(_ status: Int, _ body: String) async throws -> String {
        try await VerificationStage.with(reply: { _ in (status, body) }) { stage in
            let questions = try #require(stage.services.questions(of: stage.app))
            return switch try await questions.purchase("42", in: .production) {
            case .answer((let found, _)): "knows \(found.transaction.id)"
            case .notKnown: "does not know it"
            case .accountGone: "the account is gone"
            case .unanswered(.problem(let why)): why
            case .unanswered(.unreached(let why)): "Apple was not reached: \(why)"
            case .unanswered(.needsConfiguration), .unanswered(.notTried): "not asked"
            }
        }
    }

    private func refused(_ code: Int) async throws -> String {
        try await asked(code / 10_000, #"{"errorCode":\#(code),"errorMessage":"Apple's words."}"#)
    }

    @Test func knowsWhatAppleSigned() async throws {
        let own = try await asked(200, #"{"signedTransactionInfo":"\#(Signed.transaction("42"))"}"#)
        #expect(own == "knows 42")
        let another = try await asked(200, #"{"signedTransactionInfo":"\#(Signed.transaction("43"))"}"#)
        #expect(another == "Apple answered with another transaction than was asked for")
    }

    @Test(arguments: [4_040_010, 4_000_006])
    func takesApplesWordThatThereIsNoSuchPurchase(code: Int) async throws {
        #expect(try await refused(code) == "does not know it")
    }

    /// The customer has gone, and not what they bought.
    @Test func anAccountThatIsGoneMakesNoPurchaseUnknown() async throws {
        #expect(try await refused(4_040_001) == "the account is gone")
        #expect(try await refused(4_040_005) == "Apple found no such original transaction id (4040005)")
    }

    /// Proxies before Apple's servers answer so, whatever is asked.
    @Test func whoWasNotReachedSaidNothing() async throws {
        for status in [502, 503, 504] { #expect(try await asked(status, "").hasPrefix("Apple was not reached: ")) }
        #expect(try await !asked(500, "").hasPrefix("Apple was not reached: "))
    }

    /// What has gone is asked about no more often than what is there.
    @Test(arguments: [4_040_001, 4_040_005, 4_040_010])
    func aCustomerWhoHasGoneHasNoNews(code: Int) async throws {
        let body = #"{"errorCode":\#(code),"errorMessage":"Apple's words."}"#
        try await VerificationStage.with(reply: { _ in (404, body) }) { stage in
            let questions = try #require(stage.services.questions(of: stage.app))
            let told = try await questions.changes(ofCustomerWith: "42", after: nil, in: .production)
            guard case .notKnown = told else { return #expect(Bool(false), "\(told)") }
        }
    }

    /// A refund of the very moment in which the customer's history is read.
    @Test func whatChangesWhileThePagesAreReadIsAsTheLastOneTells() async throws {
        let refunded = Signed.transaction("42", further: #","revocationDate":\#(Signed.now),"revocationReason":0"#)
        let pages = [
            #"{"signedTransactions":["\#(Signed.transaction("42"))"],"hasMore":true,"revision":"r1"}"#,
            Signed.page([Signed.transaction("43"), refunded]),
        ]
        try await VerificationStage.with(reply: { request in
            (200, pages[request.path.contains("revision=r1") ? 1 : 0])
        }) { stage in
            let questions = try #require(stage.services.questions(of: stage.app))
            let told = try await questions.changes(ofCustomerWith: "42", after: nil, in: .production)
            guard case .answer(let changes) = told else { return #expect(Bool(false), "\(told)") }
            #expect(changes.purchases.map(\.verified.transaction.id.text) == ["42", "43"])
            #expect(changes.purchases.first?.verified.transaction.refundedAt != nil)
            #expect(changes.purchases.first?.proof == refunded)
            #expect(changes.revision == "r")
        }
    }

    /// As from a cache on the way: what it tells was so before the refund.
    @Test func aPageThatComesOnceMoreTakesNothingBack() async throws {
        let refunded = Signed.transaction("42", further: #","revocationDate":\#(Signed.now),"revocationReason":0"#)
        let pages = [
            #"{"signedTransactions":["\#(refunded)"],"hasMore":true,"revision":"r1"}"#,
            Signed.page([Signed.transaction("42", signedAt: Signed.now - 60_000), Signed.transaction("43")]),
        ]
        try await VerificationStage.with(reply: { request in
            (200, pages[request.path.contains("revision=r1") ? 1 : 0])
        }) { stage in
            let questions = try #require(stage.services.questions(of: stage.app))
            let told = try await questions.changes(ofCustomerWith: "42", after: nil, in: .production)
            guard case .answer(let changes) = told else { return #expect(Bool(false), "\(told)") }
            #expect(changes.purchases.map(\.verified.transaction.id.text) == ["42", "43"])
            #expect(changes.purchases.first?.proof == refunded)
            // Signed before all of that, so that only Apple's answer tells of the refund.
            let judgement = try await stage.judge(Signed.transaction("42", signedAt: Signed.now - 120_000))
            guard case .verified(let receipt) = judgement.verdict else { return #expect(Bool(false)) }
            #expect(receipt.transactions.map(\.transaction.id.text) == ["42", "43"])
            #expect(receipt.transactions.first?.transaction.refundedAt != nil)
        }
    }

    /// Apple tells of a purchase on a page after which it says that there is more, and not where.
    @Test func whatStandsOnTheLastPageIsTakenThoughMoreIsWanting() async throws {
        let page = #"{"signedTransactions":["\#(Signed.transaction("43"))"],"hasMore":true,"revision":"r1"}"#
        try await VerificationStage.with(reply: { _ in (200, page) }) { stage in
            let questions = try #require(stage.services.questions(of: stage.app))
            let told = try await questions.changes(ofCustomerWith: "42", after: "r1", in: .production)
            guard case .answer(let changes) = told else { return #expect(Bool(false), "\(told)") }
            #expect(changes.purchases.map(\.verified.transaction.id.text) == ["43"])
        }
    }

    /// The next time begins after it.
    @Test(arguments: [503, 404, 401])
    func whatWasReadIsKeptWhereTheNextPageDoesNotCome(status: Int) async throws {
        let page = #"{"signedTransactions":["\#(Signed.transaction("43"))"],"hasMore":true,"revision":"r1"}"#
        try await VerificationStage.with(reply: { request in
            request.path.contains("revision=r1") ? (status, #"{"errorCode":4040010}"#) : (200, page)
        }) { stage in
            let questions = try #require(stage.services.questions(of: stage.app))
            let told = try await questions.changes(ofCustomerWith: "42", after: nil, in: .production)
            guard case .answer(let changes) = told else { return #expect(Bool(false), "\(told)") }
            #expect(changes.purchases.map(\.verified.transaction.id.text) == ["43"])
            #expect(changes.revision == "r1" && changes.unreadable == [])
        }
    }

    /// Behind the revision Apple would tell of it no more.
    @Test func whatCouldNotBeReadIsAskedForAgain() async throws {
        let page = Signed.page([Signed.transaction("43"), "e30.e30.e30"])
        try await VerificationStage.with(reply: { _ in (200, page) }) { stage in
            let questions = try #require(stage.services.questions(of: stage.app))
            let told = try await questions.changes(ofCustomerWith: "42", after: nil, in: .production)
            guard case .answer(let changes) = told else { return #expect(Bool(false), "\(told)") }
            #expect(changes.purchases.map(\.verified.transaction.id.text) == ["43"])
            #expect(changes.revision == nil && changes.unreadable.count == 1)
        }
    }

    /// With a new revision each time, so that no page is asked for twice. The next time begins where this one ended.
    @Test func aHistoryThatNeverEndsIsReadPieceByPiece() async throws {
        try await VerificationStage.with(reply: { request in
            let isSecond = request.path.contains("revision=r1")
            let page = #"{"signedTransactions":["\#(Signed.transaction(isSecond ? "43" : "42"))"],"hasMore":true,"#
            return (200, page + #""revision":"\#(isSecond ? "r2" : "r1")"}"#)
        }) { stage in
            var app = stage.app
            app.mostHistoryPages = 2
            let questions = try #require(stage.services.questions(of: app))
            let told = try await questions.changes(ofCustomerWith: "42", after: nil, in: .production)
            guard case .answer(let changes) = told else { return #expect(Bool(false), "\(told)") }
            #expect(changes.purchases.map(\.verified.transaction.id.text) == ["42", "43"])
            #expect(changes.revision == "r2" && stage.server.received.count == 2)
        }
    }

    /// Else the customer would count as asked about.
    @Test func whatWasNotAnsweredAtAllIsNoAnswer() async throws {
        try await VerificationStage.with(reply: { _ in (503, "") }) { stage in
            let questions = try #require(stage.services.questions(of: stage.app))
            let told = try await questions.changes(ofCustomerWith: "42", after: nil, in: .production)
            guard case .unanswered(.unreached) = told else { return #expect(Bool(false), "\(told)") }
        }
    }
}
