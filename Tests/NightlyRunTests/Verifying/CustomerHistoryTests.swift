import Foundation
import Reconciliation
import TestSupport
import Testing
import Verification

@testable import AppStoreSimulator

/// What Apple tells of a customer, page by page: what was read counts, and what was not takes nothing away.
@Suite struct CustomerHistoryTests {
    private static let first =
        #"{"signedTransactions":["\#(Signed.transaction("43"))"],"hasMore":true,"revision":"r1"}"#

    /// Answers with the first page, and to the question about the second as the test says.
    private static func before(
        _ second: VerificationStage.Reply
    ) -> @Sendable (ReceivedRequest) -> VerificationStage.Reply {
        { request in request.path.contains("revision=r1") ? second : (200, first) }
    }

    /// An app receipt with these purchases, by their ids and hours of age.
    private static func receipt(
        _ purchases: [(id: String, hoursAgo: Double)], by keys: TestKeys = .usual
    ) -> String {
        let now = Date()
        let receipt = SimulatedReceipt(
            bundleID: VerificationStage.bundleID, createdAt: now,
            transactions: purchases.map {
                SimulatedTransaction(id: $0.id, productID: "gems_100", purchasedAt: now - $0.hoursAgo * 3600)
            })
        let content = AppReceiptPayload.encode(receipt, adamID: 1)
        return Data(SignedDataContainer.sign(content, with: keys.appReceipts, .sha256)).base64EncodedString()
    }

    private func verified(_ judgement: AppVerifier.Judgement) throws -> VerifiedReceipt {
        let receipt: VerifiedReceipt? = if case .verified(let found) = judgement.verdict { found } else { nil }
        return try #require(receipt, "\(judgement.verdict)")
    }

    /// Another night would read the same pages again, and meet the same.
    @Test(arguments: [(404, #"{"errorCode":4040010}"#), (404, #"{"errorCode":4040001}"#), (200, "<html>")])
    func whatWasReadBeforeAPageThatCannotBeReadCounts(status: Int, body: String) async throws {
        try await VerificationStage.with(reply: Self.before((status, body))) { stage in
            let receipt = try verified(try await stage.judge(Signed.transaction("43")))
            #expect(receipt.transactions.map(\.source) == [.serverAPI])
            #expect(
                receipt.unreadable == ["page 2 of the customer's history could not be read; those before were"])
        }
    }

    /// Another night brings the rest.
    @Test func aHistoryInWhoseMiddleAppleIsBusyIsAskedForAgain() async throws {
        try await VerificationStage.with(reply: Self.before((503, ""))) { stage in
            let judgement = try await stage.judge(Signed.transaction("43"))
            #expect(judgement.problem?.problem == .appleUnreachable)
        }
    }

    /// Nothing was learnt of the customer.
    @Test func aHistoryOfWhichNothingCanBeReadIsAskedForAgain() async throws {
        try await VerificationStage.with(reply: { _ in (200, "<html>") }) { stage in
            let judgement = try await stage.judge(Signed.transaction("43"))
            #expect(judgement.problem?.problem == .unreadableAnswer)
        }
    }

    @Test func anEmptyHistoryIsNobodyElses() async throws {
        let page = Signed.page([])
        try await VerificationStage.with(reply: { _ in (200, page) }) { stage in
            let receipt = try verified(try await stage.judge(Signed.transaction("42")))
            #expect(receipt.transactions.map(\.source) == [.local] && receipt.unreadable == [])
        }
    }

    /// What was asked about may stand where it could not be read.
    @Test func aHistoryThatWasNotReadWholeIsNobodyElses() async throws {
        let page = Signed.page([Signed.transaction("43"), Signed.jws("{}", by: .stranger)])
        try await VerificationStage.with(reply: { _ in (200, page) }) { stage in
            let receipt = try verified(try await stage.judge(Signed.transaction("42")))
            #expect(receipt.transactions.map(\.transaction.id.text) == ["42", "43"])
            #expect(receipt.unreadable.count == 1 && receipt.unreadable.first?.contains("customer") == false)
        }
    }

    /// Apple does not know a purchase for hours, and every purchase leads to the same customer. Which of them is a
    /// receipt's first is chance.
    @Test(arguments: 1...4) func theEarliestPurchaseLeadsWhereAppleDoesNotKnowTheFirst(attempt: Int) async throws {
        let refunded = Signed.transaction("42", further: #","revocationDate":\#(Signed.now - 86_400_000)"#)
        let page = Signed.page([refunded])
        try await VerificationStage.with(reply: { request in
            request.path.contains("/history/42?") ? (200, page) : (404, #"{"errorCode":4040010}"#)
        }) { stage in
            let receipt = try verified(
                try await stage.judge(Self.receipt([("44", 1), ("42", 300), ("43", 2)])))
            let told = receipt.transactions.filter { $0.source == .serverAPI }.map(\.transaction)
            #expect(told.map(\.id.text) == ["42"] && told.first?.refundedAt != nil)
            #expect(receipt.transactions.count == 3 && stage.server.received.count <= 2)
        }
    }

    /// Until Apple knows it.
    @Test func theSignatureOfAPurchaseThatAppleDoesNotKnowStands() async throws {
        try await VerificationStage.with(reply: { _ in (404, #"{"errorCode":4040010}"#) }) { stage in
            let receipt = try verified(try await stage.judge(Signed.transaction("42")))
            #expect(receipt.transactions.map(\.source) == [.local] && receipt.unreadable == [])
        }
    }

    /// Else whoever writes a receipt that names somebody's purchase would be told of all that this customer bought.
    @Test func aReceiptThatAppleDidNotSignLeadsToNobodysHistory() async throws {
        let page = Signed.page([Signed.transaction("42"), Signed.transaction("43")])
        try await VerificationStage.with(reply: { request in
            (200, request.path == "/verifyReceipt" ? #"{"status":21003}"# : page)
        }) { stage in
            let judgement = try await stage.judge(Self.receipt([("42", 300)], by: .stranger))
            #expect(judgement.problem?.problem == .notGenuine)
            #expect(stage.server.log.map(\.path) == ["/verifyReceipt"])
        }
    }

    /// `verifyReceipt` may call genuine what this program can't read, and is asked where the app's method leaves it to
    /// the program.
    @Test(arguments: [(VerificationMethod.auto, ["/verifyReceipt"]), (.serverAPI, [])])
    func whatNoSignatureVouchesForIsAskedAboutByTheOtherMeans(
        method: VerificationMethod, asked: [String]
    ) async throws {
        try await VerificationStage.with(method, reply: { _ in (200, #"{"status":21003}"#) }) { stage in
            let judgement = try await stage.judge(Data("no receipt of Apple's".utf8).base64EncodedString())
            #expect(stage.server.log.map(\.path) == asked)
            #expect(judgement.problem?.problem == (method == .auto ? .notGenuine : .malformed))
            // Nobody need be asked about nothing.
            #expect(try await stage.judge("").problem?.problem == .empty)
            #expect(stage.server.log.map(\.path) == asked)
        }
    }
}
