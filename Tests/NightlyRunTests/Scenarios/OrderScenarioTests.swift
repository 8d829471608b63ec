import AppStoreSimulator
import Commands
import Foundation
import Job
import Reconciliation
import Testing

/// An order pays for one purchase, also over nights.
@Suite struct OrderScenarioTests {
    private func only(_ findings: Collector) throws -> ReportedCase {
        #expect(findings.cases.count == 1)
        return try #require(findings.cases.first)
    }

    /// The client names the order of its last purchase again, and the claim is refused for it: it is not what this one
    /// pays for, or the support desk would find it delivered, and give nothing.
    @Test func anOrderThatAnotherPurchaseWasDeliveredForIsNotAdvised() async throws {
        try await withPlay { play in
            try await play.order("o-1", hoursAgo: 300.1)
            let served = play.buy("1000000000004201", hoursAgo: 300)
            let lost = play.buy("1000000000004202")
            try await play.admit(served)
            #expect(try await play.claim(served, order: "o-1") == "delivered")
            try await play.upload(play.receipt([lost]), for: lost, order: "o-1")
            try await play.admit(lost)
            #expect(try await play.claim(lost, order: "o-1") == "order_used")
            let found = try only(try await play.night().findings)
            #expect(found.key.id.text == lost.id)
            #expect(found.assessment.reasons == [.claimFailed])
            #expect(found.assessment.action == .deliver)
            #expect(found.orderIDs == [])
            #expect(try await play.verdict(on: lost.id) == .owed(found.assessment))
        }
    }

    /// The page's command names no order: what the case matched was delivered by it.
    @Test func anOrderThatTheDeskDeliveredWithoutNamingItIsNotMatchedAgain() async throws {
        try await withPlay { play in
            try await play.order("o-1", hoursAgo: 210.1)
            let first = play.buy("1000000000004211", hoursAgo: 210)
            try await play.upload(play.receipt([first]), for: first)
            #expect(try only(try await play.night().findings).orderIDs == ["o-1"])
            #expect(try await play.decide(.delivered(), first) == .done)
            let second = play.buy("1000000000004212")
            try await play.upload(play.receipt([first, second]), for: second)
            let found = try only(try await play.night(2).findings)
            #expect(found.key.id.text == second.id && found.orderIDs == [])
            #expect(found.assessment.reasons == [.neverClaimed])
            let verdict = try await play.verdict(on: "o-1")
            guard case .delivered("anna"?, _, nil) = verdict else {
                Issue.record("\(verdict)")
                return
            }
            #expect(try await play.decide(.reopened, first) == .done)
            let orders = try await play.night(3).findings.cases.map { [$0.key.id.text] + $0.orderIDs }
            #expect(orders == [[first.id, "o-1"], [second.id]])
        }
    }
}
