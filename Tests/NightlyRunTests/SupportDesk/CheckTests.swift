import AppStoreSimulator
import Foundation
import PostgreSQL
import Reconciliation
import Testing

/// What the support desk is told of ids that the ledger knows. Nothing of it asks Apple.
@Suite struct CheckTests {
    @Test func saysEverythingOfALostOrder() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000001")
            let receipt = play.receipt([gems])
            let named = try await play.upload(receipt, for: gems, order: "o-1")
            try await play.upload(receipt, by: "bob")
            try await play.claim(gems, order: "o-1")
            _ = try await play.night()
            let enquiry = try await play.check(gems.id)
            let known = try #require(enquiry.transactions.first)
            #expect(enquiry.transactions.count == 1)
            #expect(known.key.bundleID.text == Play.bundleID)
            #expect(known.purchasedAt == gems.purchasedAt)
            #expect(known.sightings.map(\.userID) == ["anna", "bob"])
            #expect(known.sightings.map(\.isNamed) == [true, false])
            #expect(known.sightings.first?.receiptID == named)
            #expect(known.claims.map(\.outcome) == [.notVerified])
            let assessment = try #require(known.lostOrder?.assessment)
            #expect(assessment.reasons.contains(.claimFailed))
            #expect(DeskVerdict(of: enquiry) == .owed(assessment))
            #expect(enquiry.apple == .notNeeded)
        }
    }

    /// As a cell of a spreadsheet has it, unless it is known as it is.
    @Test func whatIsPastedIsLookedUpAsItIsFirst() async throws {
        try await withPlay { play in
            let (delivered, owed, quoted) = (play.buy("1000000003"), play.buy("1000000004"), play.buy("1000000005"))
            try await play.admit(delivered, for: "bob")
            try await play.claim(delivered, for: "bob")
            try await play.admit(owed, for: "bob ")
            try await play.admit(quoted, for: "'4711")
            _ = try await play.night()
            for (asked, answered) in [
                ("bob", "bob"), ("bob ", "bob "), (" bob", "bob"), ("'4711", "'4711"), (" '\(owed.id)\n", owed.id),
            ] {
                let enquiry = try await play.check(asked)
                #expect(enquiry.id == answered && !DeskVerdict(of: enquiry).isOfNothing, "\(asked)")
            }
            #expect(DeskVerdict(of: try await play.check("'4712")).isOfNothing)
        }
    }

    @Test func saysToWhomAndWhenItWasDelivered() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000002")
            try await play.admit(gems)
            try await play.claim(gems, order: "o-2")
            for id in [gems.id, "o-2"] {
                let enquiry = try await play.check(id)
                guard case .delivered(let user, let date, nil) = DeskVerdict(of: enquiry) else {
                    Issue.record("\(id): \(DeskVerdict(of: enquiry))")
                    continue
                }
                #expect(user == "anna")
                #expect(abs(date.timeIntervalSince(play.began)) < 600)
                #expect(enquiry.transactions.first?.claims.map(\.outcome) == [.delivered])
                #expect(enquiry.transactions.first?.events.map(\.kind) == ["claimed"])
            }
        }
    }

    @Test func anAppsOwnOrderLeadsToItsPurchase() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000003")
            try await play.order("o-3", hoursAgo: 200.1)
            try await play.order("o-4", by: "carl", hoursAgo: 200.1)
            try await play.upload(play.receipt([gems]), for: gems)
            _ = try await play.night()
            let enquiry = try await play.check("o-3")
            #expect(enquiry.orders.map(\.userID) == ["anna"])
            #expect(enquiry.transactions.map(\.key.id.text) == [gems.id])
            #expect(enquiry.transactions.first?.lostOrder?.assessment.orderIDs == ["o-3"])
            #expect(try await play.verdict(on: "o-4") == .unpaidOrder)
            // Which order it was for need not be said of a delivery.
            try await play.claim(gems)
            guard case .delivered(let user, _, nil) = try await play.verdict(on: "o-3") else {
                Issue.record("o-3: \(try await play.verdict(on: "o-3"))")
                return
            }
            #expect(user == "anna")
            #expect(try await play.verdict(on: "o-4") == .unpaidOrder)
        }
    }

    @Test func aUserIsShownWithCasesDeliveriesAndUnusableReceipts() async throws {
        try await withPlay { play in
            let (lost, got) = (play.buy("1000000004"), play.buy("1000000005"))
            try await play.upload(play.receipt([lost]), for: lost)
            try await play.admit(got)
            try await play.claim(got)
            try await play.upload("", device: #"{"model": "iPhone15,2"}"#)
            _ = try await play.night()
            let enquiry = try await play.check("anna")
            #expect(enquiry.transactions.map(\.key.id.text) == [lost.id])
            let user = try #require(enquiry.user)
            #expect(user.deliveries.map(\.key.id.text) == [got.id])
            #expect(user.receipts == 2 && user.watchedReceipts == 1 && user.waitingReceipts == 0)
            #expect(enquiry.troubledReceipts.map(\.problem) == [.empty])
            #expect(enquiry.troubledReceipts.first?.device == #"{"model": "iPhone15,2"}"#)
            guard case .owed = DeskVerdict(of: enquiry) else {
                Issue.record("\(DeskVerdict(of: enquiry))")
                return
            }
            try await play.claim(lost)
            #expect(try await play.verdict(on: "anna") == .nothingOpen(deliveries: 2, waitingReceipts: 0))
        }
    }

    /// Who delivers it by hand meanwhile delivers twice.
    @Test func whatTheAppsServerIsToDeliverIsSaid() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000011")
            try await play.upload(play.receipt([gems]), for: gems)
            _ = try await play.night()
            #expect(try await play.decide(.redelivery, gems) == .done)
            guard case .redelivering(let ordered) = try await play.verdict(on: gems.id) else {
                Issue.record("\(try await play.verdict(on: gems.id))")
                return
            }
            #expect(ordered.userID == "anna" && ordered.orderedBy == "sue" && ordered.takenAt == nil)
            _ = try await play.server("SELECT transaction_id FROM iap.take_redeliveries(\(Play.bundleID))")
            let taken = try await play.check("anna").transactions.first?.redelivery
            #expect(taken?.tries == 1 && taken?.takenAt != nil)
            let reported = try #require(try await play.night(2).findings.cases.first)
            #expect(reported.redelivery?.userID == "anna" && reported.redelivery?.tries == 1)
            try await play.administer("UPDATE iap.redeliveries SET tries = 5, due_at = now() - interval '1 second'")
            guard case .owed = try await play.verdict(on: gems.id) else {
                Issue.record("given up, it is for the desk again")
                return
            }
            try await play.claim(gems)
            guard case .delivered = try await play.verdict(on: gems.id) else {
                Issue.record("it is delivered")
                return
            }
        }
    }

    /// The case tells of last night: what came since counts as well.
    @Test func whatSpeaksForAnotherSinceTheNightIsSaid() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000012")
            try await play.upload(play.receipt([gems]), for: gems)
            _ = try await play.night()
            try await play.admit(gems, for: "bob")
            #expect(try await play.verdict(on: gems.id) == .contested(["anna", "bob"]))
            #expect(try await play.decide(.delivered(), gems) == .severalOwners(["anna", "bob"]))
            #expect(try await play.decide(.redelivery, gems) == .severalOwners(["anna", "bob"]))
            #expect(try await play.decide(.delivered(to: Resolution.Recipient(userID: "bob")), gems) == .done)
        }
    }

    /// Or else the desk would look for a buyer whom the app's server has named meanwhile.
    @Test func whomTheNightDidNotKnowIsSaid() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000016")
            try await play.upload(play.receipt([gems]), by: nil, for: gems)
            #expect(try await play.night().findings.cases.first?.assessment.owner == .unknown)
            try await play.admit(gems, for: "bob")
            #expect(try await play.verdict(on: gems.id) == .contested(["bob"]))
        }
    }

    /// Only the account speaks for her, say, and she told Apple that nothing came: so the case names nobody.
    @Test func whoIsToBeAskedIsShownTheCase() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000017")
            try await play.upload(play.receipt([gems]), by: nil, for: gems)
            _ = try await play.night()
            try await play.administer(
                """
                UPDATE iap.cases SET candidates = '[{"user_id": "gwen", "evidence": ["account"]}]'
                WHERE transaction_id = \(gems.id)
                """)
            let enquiry = try await play.check("gwen")
            #expect(enquiry.transactions.map(\.key.id.text) == [gems.id])
            let assessment = try #require(enquiry.transactions.first?.lostOrder?.assessment)
            #expect(DeskVerdict(of: enquiry) == .owed(assessment))
        }
    }

    @Test func aUserIsKnownByWhateverTheAppsServerTold() async throws {
        try await withPlay(hasKey: true) { play in
            let token = "7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5e"
            let admitted = play.buy("1000000013")
            let borne = play.buy("1000000014") { $0.appAccountToken = token }
            try await play.admit(admitted, for: "carol")
            #expect(try await play.check("carol").transactions.map(\.key.id.text) == [admitted.id])
            _ = try await play.server(
                "SELECT iap.register_user(\(Play.bundleID), 'dave', \(token))")
            #expect(try await play.verdict(on: "dave") == .nothingOpen(deliveries: 0, waitingReceipts: 0))
            try await play.upload(play.receipt([borne]))
            _ = try await play.night()
            #expect(try await play.check("dave").transactions.map(\.key.id.text) == [borne.id])
            try await play.order("o-9", by: "erin", hoursAgo: 300)
            #expect(try await play.verdict(on: "erin") == .nothingOpen(deliveries: 0, waitingReceipts: 0))
            _ = try await play.server(
                "SELECT iap.entitle(\(Play.bundleID), '1000000099', 'fay', now() + interval '1 day')")
            #expect(try await play.verdict(on: "fay") == .nothingOpen(deliveries: 0, waitingReceipts: 0))
        }
    }

    @Test func withinItsGraceItIsNoLoss() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000006", hoursAgo: 0.5)
            try await play.admit(gems)
            let end = gems.purchasedAt + 3600
            let before = try await play.check(gems.id, now: play.began)
            #expect(DeskVerdict(of: before) == .pending(until: end))
            let after = try await play.check(gems.id, now: end)
            #expect(DeskVerdict(of: after) == .owed(nil))
        }
    }

    @Test func aUserIsShownWhatIsWithinItsGrace() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000010", hoursAgo: -0.5)
            try await play.upload(play.receipt([gems]))
            let before = try await play.verdict(on: "anna")
            #expect(before == .nothingOpen(deliveries: 0, waitingReceipts: 1))
            _ = try await play.night()
            #expect(try await play.verdict(on: "anna") == .pending(until: gems.purchasedAt + 3600))
        }
    }

    @Test func aRefundIsARefund() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000007")
            try await play.upload(play.receipt([gems]), for: gems)
            let refundedAt = play.began - 3600
            play.store.update { $0.refund(gems.id, Refund(at: refundedAt)) }
            _ = try await play.night()
            #expect(try await play.verdict(on: gems.id) == .refunded(at: refundedAt))
        }
    }

    @Test func whatCameAndIsNotVerifiedIsSaid() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000008")
            try await play.upload("", for: gems, order: "o-8")
            try await play.claim(gems, order: "o-9")
            #expect(try await play.verdict(on: "o-8") == .waiting)
            let claimed = try await play.check("o-9")
            #expect(claimed.strayClaims.map(\.attempt.outcome) == [.notVerified])
            #expect(claimed.strayClaims.map(\.transactionID) == [gems.id])
            _ = try await play.night()
            #expect(try await play.verdict(on: "o-8") == .unusable(.empty))
        }
    }

    @Test func theSameIDInSeveralPlacesIsShownWholly() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000009")
            try await play.admit(gems)
            try await play.administer(
                """
                SELECT iap.admit(\(Play.bundleID), 'Sandbox', \(gems.id), \(gems.id), 'gems.60', 1, now(), 'anna'),
                    iap.admit('com.example.third', 'Production', \(gems.id), \(gems.id), 'full', 1, now(), 'dora')
                """)
            try await play.administer("SELECT iap.claim('com.example.third', \(gems.id), 'dora')")
            let enquiry = try await play.check(gems.id)
            #expect(Set(enquiry.transactions.map(\.key.environment)) == [.production, .sandbox])
            #expect(Set(enquiry.transactions.map(\.key.bundleID.text)) == [Play.bundleID, "com.example.third"])
            #expect(
                enquiry.transactions.filter { !$0.claims.isEmpty }.map(\.key.bundleID.text) == ["com.example.third"])
            let verdict = DeskVerdict(of: enquiry)
            #expect(verdict == .several(owed: 1, delivered: 1, refunded: 0, others: 1))
        }
    }

    /// Neither the ledger nor Apple: nothing is known, and the command ends as where Apple was not asked.
    @Test func whatAppleDoesNotKnowEitherIsOfNothing() async throws {
        try await withPlay(hasKey: true) { play in
            for id in ["3000000999", "MXXXXXXXXX"] {
                let verdict = DeskVerdict(of: try await play.check(id, askingApple: play.settings))
                #expect(verdict == .notPaid && verdict.isOfNothing)
            }
            let gems = play.buy("3000000998")
            let seen = try await play.check(gems.id, askingApple: play.settings)
            #expect(!DeskVerdict(of: seen).isOfNothing)
        }
    }

    @Test func nobodyKnowsWhatNobodyHandedIn() async throws {
        try await withPlay { play in
            for id in ["who?", "'; DROP TABLE iap.white; --", "什么"] {
                let verdict = try await play.verdict(on: id)
                #expect(verdict == .unknown && verdict.isOfNothing)
            }
        }
    }
}
