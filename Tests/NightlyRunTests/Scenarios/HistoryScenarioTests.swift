import Job
@testable import Verification
import AppStore
import AppStoreSimulator
import Foundation
import PostgreSQL
import Reconciliation
import Synchronization
import TestSupport
import Testing

@testable import NightlyRun

/// Each customer's history is asked for once a night, however many uploads lead to it.
@Suite struct HistoryScenarioTests {
    /// Three pages, whether the uploads hold the same transactions or each another one.
    @Test(arguments: [SimulatedReceipt.Style.signedTransaction, .appReceipt])
    func manyUploadsOfOneCustomerAskOnce(style: SimulatedReceipt.Style) async throws {
        try await withPlay(hasKey: true) { play in
            var play = play
            play.settings.batchSize = 10
            let bought = (0..<45).map { play.buy(String(2_000_000_000_000_000 + $0)) }
            for transaction in bought { try await play.upload(play.receipt([transaction], style: style)) }
            let (report, findings) = try await play.night()
            #expect(report.receipts.verified == bought.count)
            #expect(findings.caseIDs == Set(bought.map(\.id)))
            #expect(play.store.counts.byServerAPIEndpoint[.history] == 3)
        }
    }

    /// A shared phone, or somebody with two Apple accounts.
    @Test func twoCustomersOfOneUserAreBothAskedAbout() async throws {
        try await withPlay(hasKey: true) { play in
            let bought = (0..<12).map { number in
                play.buy(String(2_000_000_000_000_000 + number), account: number % 2 == 0 ? "anna" : "bert")
            }
            // In neither's uploads.
            let untold = [play.buy("2000000000000101"), play.buy("2000000000000102", account: "bert")]
            for transaction in bought { try await play.upload(play.receipt([transaction], style: .signedTransaction)) }
            let findings = try await play.night().findings
            #expect(findings.caseIDs == Set((bought + untold).map(\.id)))
        }
    }

    /// Apple does not know a purchase for hours: the receipt's others lead to the same customer.
    @Test(arguments: [true, false])
    func aPurchaseThatAppleDoesNotKnowYetHidesNoOther(isFirst: Bool) async throws {
        try await withPlay(hasKey: true) { play in
            let fresh = SimulatedTransaction(
                id: "2000000000000104", productID: "gems.60", purchasedAt: play.began - 7200)
            let refunded = play.buy("2000000000000103")
            play.store.update { $0.refund(refunded.id, Refund(at: play.began - 3 * 86_400)) }
            let lost = play.buy("2000000000000102", hoursAgo: 300)
            try await play.upload(play.receipt(isFirst ? [fresh, refunded] : [refunded, fresh]), for: fresh)
            #expect(try await play.night().findings.caseIDs == [fresh.id, lost.id])
            #expect(try await play.count("iap.excluded WHERE reason = 'refunded'") == 1)
        }
    }

    /// A genuine receipt is passed around: who uploads it is not who paid for all that Apple tells of its customer.
    @Test(arguments: [true, false])
    func aReceiptThatWasPassedOnMakesNobodyTheOwnerOfWhatElseItsCustomerPaid(isDelivered: Bool) async throws {
        try await withPlay(hasKey: true) { play in
            let passedOn = play.buy("2000000000000201")
            let lost = play.buy("2000000000000202")
            if isDelivered {
                #expect(try await play.admit(passedOn, for: "anna") == "white")
                #expect(try await play.claim(passedOn, for: "anna") == "delivered")
            } else {
                try await play.upload(play.receipt([passedOn], style: .signedTransaction), by: "anna", for: passedOn)
            }
            try await play.upload(
                play.receipt([passedOn], style: .signedTransaction, madeHoursAgo: 0.25), by: "bert", for: passedOn)
            let cases = try await play.night().findings.cases
            let found = try #require(cases.first { $0.key.id.text == lost.id })
            #expect(found.assessment.action == .contact)
            #expect(Set(found.assessment.owner.candidates) == ["anna", "bert"])
            #expect(try await play.claim(lost, for: "bert") == (isDelivered ? "undecided" : "wrong_user"))
        }
    }

    /// A setting to mend, which is told as one, and not that nobody bought anything.
    @Test func anAppThatAppleDoesNotKnowIsASettingToMend() async throws {
        try await TestServer.with({ request, connection in
            guard request.path.contains("/inApps/v2/history/") else { return connection.respond(404) }
            return connection.respond(404, body: Data(#"{"errorCode":4040003,"errorMessage":"App not found."}"#.utf8))
        }) { server in
            try await withPlay(hasKey: true) { play in
                let bought = play.buy("1000000000000031")
                try await play.upload(play.receipt([bought]), for: bought)
                var play = play
                let address = play.settings.apple.serverAPIProduction
                play.settings.apple.serverAPIProduction = server.url
                let report = try await play.night().report
                let setting = try #require(report.toMend.first { $0.cause == .refused })
                #expect(setting.bundleID == Play.bundleID && setting.receipts == 1)
                #expect(setting.detail?.contains("4040003") == true, "\(setting.detail ?? "")")
                guard case .endedEarly(let why) = report.outcome else {
                    Issue.record("the night counts as done")
                    return
                }
                #expect(why.contains("4040003"), "\(why)")
                // Mended, the same receipt is verified.
                play.settings.apple.serverAPIProduction = address
                #expect(try await play.night(2).findings.caseIDs == [bought.id])
            }
        }
    }

    // MARK: What is remembered

    private static func history(_ ids: [String]) throws -> CustomerHistories.Answer {
        .history(
            CustomerHistory(
                try ids.map { id in
                    Transaction(
                        id: try #require(TransactionID(id)), productID: try #require(ProductID("gems")), quantity: 1,
                        purchasedAt: Date(timeIntervalSince1970: 1_700_000_000))
                }))
    }

    private static func ids(_ told: CustomerHistories.Answer) -> [String]? {
        if case .history(let history) = told { history.transactions.map(\.id.text) } else { nil }
    }

    @Test func anEnvironmentSaysNothingOfTheOther() async throws {
        let histories = CustomerHistories()
        let one = [CustomerID.transaction(try #require(TransactionID("1")))]
        let first = try await histories.history(of: one, in: .production, users: []) {
            try! Self.history(["1", "2"])
        }
        #expect(Self.ids(first) == ["1", "2"])
        let second = try await histories.history(of: one, in: .sandbox, users: []) { .notKnown }
        #expect(Self.ids(second) == nil)
    }

    /// Somebody whose purchase Apple doesn't know yet keeps nobody else of the user's waiting for more than an answer.
    @Test func whoLearnsNothingFromTheOneBeforeAsks() async throws {
        let histories = CustomerHistories()
        let asked = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...20 {
                group.addTask {
                    let ids = [TransactionID(String(number))].compactMap(\.self).map(CustomerID.transaction)
                    _ = try await histories.history(of: ids, in: .production, users: ["anna"]) {
                        asked.add()
                        return .notKnown
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(asked.count == 20)
    }

    @Test func whatIsLedToAgainStaysAndTheRestIsForgotten() async throws {
        let histories = CustomerHistories(most: 10)
        var asked: [String] = []
        for number in 1...100 {
            for id in ["anna", String(number)] {
                let key = try #require(TransactionID(id == "anna" ? "999" : id))
                let isAsked = Tally()
                _ = try await histories.history(of: [.transaction(key)], in: .production, users: []) {
                    isAsked.add()
                    return try! Self.history([key.text])
                }
                if isAsked.count > 0 { asked.append(id) }
            }
        }
        #expect(asked.filter { $0 == "anna" }.count == 1)
        #expect(asked.count == 101)
        let forgotten = Tally()
        _ = try await histories.history(
            of: [.transaction(try #require(TransactionID("1")))], in: .production, users: []
        ) {
            forgotten.add()
            return .notKnown
        }
        #expect(forgotten.count == 1)
    }
}

private final class Tally: Sendable {
    private let number = Mutex(0)

    var count: Int { number.withLock { $0 } }

    func add() { number.withLock { $0 += 1 } }
}
