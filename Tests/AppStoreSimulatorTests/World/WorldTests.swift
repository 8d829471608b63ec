import Foundation
import Testing

@testable import AppStoreSimulator
@testable import SimulatedWorld

/// A world of some days with one night at their end.
@Suite struct WorldTests {
    private func world(seed: UInt64 = 7, customers: Int = 400) throws -> World {
        World(try WorldSettings(seed: seed, customers: customers, days: 5, now: testNow))
    }

    @Test func isTheSameForTheSameSeedAlone() throws {
        let first = try world()
        let again = try world()
        let payloads = { (world: World) in world.payloads(of: world.events.uploads.map(\.content)) }
        #expect(payloads(first) == payloads(again))
        #expect(first.truth() == again.truth())
        #expect(first.truth() != (try world(seed: 8)).truth())
    }

    @Test func losesInEveryWay() throws {
        let truth = try world(customers: 3_000).truth()
        let losing: Set<Mishap> = [
            .noCallback, .receivedLater, .nameLost, .severalOrders, .reinstalled, .emptyReceipt, .finishedUndelivered,
            .sharedPhone, .oneOfThree, .passedAround, .refundedLate, .missedRenewal, .lastPeriodLacking, .twentyCopies,
            .rolledBack, .oldReceipt, .signedTransaction, .foreignStorefront, .claimedLate, .ordersAfterwards, .outage,
        ]
        #expect(Set(losing.map(\.rawValue)).subtracting(truth.lost.map(\.scenario)) == [])
        let silent: Set<Mishap> = [
            .unreadable, .deliveredUnfinished, .sandbox, .foreignBundle, .refundedBefore, .refundedAfter, .restored,
            .pending, .twoServers, .familyShared, .accountGone,
        ]
        #expect(Set(silent.map(\.rawValue)).isDisjoint(with: truth.lost.map(\.scenario)))
        #expect(truth.pending > 0)
        #expect(truth.lostWithoutReceipt.contains { $0.scenario == "S09" })
    }

    /// More of what is lost, and no other customers.
    @Test func isDenserWhereAskedTo() throws {
        let dense = World(
            try WorldSettings(seed: 7, customers: 400, days: 5, now: testNow, mishapShare: 0.6))
        #expect(dense.truth().lost.count > 2 * (try world()).truth().lost.count)
        #expect(throws: SimulatorError.self) {
            try WorldSettings(seed: 7, customers: 400, days: 5, now: testNow, mishapShare: 1.1)
        }
    }

    @Test func givesEveryPurchaseAnIDOfItsOwn() throws {
        let ids = try world(customers: 3000).purchases.map(\.transactionID)
        #expect(Set(ids).count == ids.count)
        #expect(Set(ids.map(\.count)) == [16, 18])
    }

    @Test func nothingHappensOutOfItsTime() throws {
        let world = try world()
        let end = world.settings.end
        #expect(end == testNow && world.settings.moment(ofNight: 5) == end)
        for upload in world.events.uploads {
            #expect(upload.at <= end)
            for transaction in upload.receipt?.transactions ?? [] { #expect(transaction.purchasedAt <= upload.at) }
        }
        for claim in world.events.claims {
            let upload = world.events.uploads[claim.upload]
            #expect(claim.at <= end)
            #expect(upload.at <= claim.at)
            #expect(upload.bundleID == claim.bundleID)
        }
        // Apple refunds afterwards as well.
        #expect(world.events.refunds.contains { $0.refund.at > end })
    }

    /// What is lost in the only night is not what would be, had there been others before it.
    @Test func isJudgedByTheNightsThatAreRun() throws {
        let nightly = World(try WorldSettings(seed: 7, customers: 2_000, nights: 5))
        let once = World(
            try WorldSettings(seed: 7, customers: 2_000, days: 5, now: nightly.settings.moment(ofNight: 5)))
        #expect(once.purchases.count == nightly.purchases.count)
        let fates = once.purchases.map(Fates(once).fate)
        #expect(fates.allSatisfy { $0.dueNights.isSubset(of: [5]) })
        let nights = nightly.purchases.map(Fates(nightly).fate).reduce(into: Set<Int>()) { $0.formUnion($1.lostNights) }
        #expect(nights == [1, 2, 3, 4, 5])
        // Bought shortly before a night that is run, and delivered after it.
        let pending = once.purchases.filter { $0.mishap == .pending }
        #expect(pending.allSatisfy { $0.purchasedAt > once.settings.end - WorldTally.grace && !$0.isServed })
        #expect(once.truth().pending >= pending.count { $0.bundleID == WorldApp.game.bundleID })
    }

    @Test func laterPresentMeansLessIsPending() throws {
        let world = try world()
        let patient = world.truth(grace: 10 * 365 * 86_400)
        #expect(patient.lost.isEmpty)
        #expect(patient.pending == world.truth().lost.count + world.truth().pending)
    }

    @Test func truthSurvivesItsFile() throws {
        let truth = try world().truth()
        #expect(try Truth(json: truth.json()) == truth)
    }

    /// Apple refuses a signed transaction, and whatever comes from an account that is gone.
    @Test func someProofsAreNoneForVerifyReceipt() throws {
        let world = try world(customers: 2_000)
        let receipts = world.events.uploads.compactMap(\.receipt)
        let signed = receipts.filter { $0.style == .signedTransaction }
        let gone = receipts.filter { world.events.deletedAccounts.contains($0.account) }
        #expect(!signed.isEmpty && !gone.isEmpty)
        #expect(world.truth().lost.contains { $0.scenario == "S25" })
        let (endpoint, records) = (VerifyReceipt(signer: ReceiptSigner(seed: 7)), world.records)
        for (receipts, status) in [(signed, VerifyReceipt.Status.malformed), (gone, .accountGone)] {
            for payload in world.payloads(of: receipts.map { .receipt($0) }).values {
                #expect(payload.contains(".") == (status == .malformed))
                let request = VerifyReceipt.Request(body: Array(#"{"receipt-data":"\#(payload)"}"#.utf8))
                let answer = endpoint.answer(to: request, at: .production, records: records, now: testNow)
                #expect(answer == VerifyReceipt.refusal(status))
            }
        }
    }

    /// Asks the store for every receipt of the world, as the job would, and finds the lost ones by what it answers.
    @Test func theStoreAnswersForTheWholeWorld() throws {
        let world = try world()
        // Those that let the job see all that they deliver.
        let since = [WorldApp.game.bundleID: world.settings.begin, WorldApp.reader.bundleID: .distantPast]
        let delivered = world.events.claims.filter { $0.kind == .delivered }.map(\.transaction)
        let settled = Set(delivered.map { $0.isAutoRenewable ? $0.id : $0.originalID })
        let granted = Dictionary(grouping: world.events.grants, by: \.originalID)
        let payloads = world.payloads(of: world.events.uploads.map(\.content))
        let records = world.records
        var owed: Set<String> = []
        for upload in world.events.uploads {
            guard let begin = since[upload.bundleID] else { continue }
            for sold in try answer(to: upload, #require(payloads[upload.content]), records) {
                if settled.contains(sold.isAutoRenewable ? sold.id : sold.originalID) { continue }
                if granted[sold.originalID]?.contains(where: { $0.covers(sold) }) ?? false { continue }
                if sold.at >= begin, testNow.timeIntervalSince(sold.at) >= 3_600 { owed.insert(sold.id) }
            }
        }
        let lost = world.truth().lost.filter { since[$0.bundleID] != nil }
        #expect(owed == Set(lost.map(\.transactionID)))
        #expect(lost.count > 10)
    }

    /// What somebody paid for, by Apple's answer to an upload, or by the signed transaction that it is.
    private func answer(to upload: Upload, _ payload: String, _ records: StoreRecords) throws -> [Sold] {
        if let proof = upload.receipt, proof.style == .signedTransaction {
            return proof.transactions.filter { records.refund(of: $0.id, in: .production, at: testNow) == nil }.map {
                Sold(id: $0.id, originalID: $0.originalID, at: $0.purchasedAt, until: $0.expiresAt)
            }
        }
        var request = ["receipt-data": payload]
        request["password"] = records.apps[upload.bundleID]?.sharedSecret
        let asked = VerifyReceipt.Request(body: Array(try JSONSerialization.data(withJSONObject: request)))
        let answer = VerifyReceipt(signer: ReceiptSigner(seed: 7))
            .answer(to: asked, at: .production, records: records, now: testNow)
        let response = Response(status: 200, headers: [:], body: Data(answer))
        guard response.receipt["bundle_id"] as? String ?? upload.bundleID == upload.bundleID else { return [] }
        let flat = response.receipt["bid"] == nil ? [] : [response.receipt]
        return try (response.inApp + response.latest + flat).compactMap(Sold.init)
    }

    /// What later nights bring is not true yet in an earlier one.
    @Test func aNightsTruthIsOfWhatWasBoughtBefore() throws {
        let world = World(try WorldSettings(seed: 7, customers: 400, nights: 6))
        #expect(world.truth(ofNight: 6) == world.truth())
        let earlier = (1...6).map { world.truth(ofNight: $0) }
        for (night, truth) in zip(1..., earlier) {
            #expect(truth.now == world.settings.moment(ofNight: night))
            #expect(truth.lost.allSatisfy { $0.purchasedAt < truth.now })
        }
        for (truth, next) in zip(earlier, earlier.dropFirst()) {
            #expect(truth.purchases < next.purchases && truth.delivered < next.delivered)
        }
        #expect(earlier[0].lost != earlier[5].lost)
    }
}

/// A row of Apple's answer that somebody paid for, and was not paid back.
private struct Sold {
    let id: String
    let originalID: String
    let at: Date
    let until: Date?

    var isAutoRenewable: Bool { until != nil }
}

extension Sold {
    init?(_ row: [String: Any]) throws {
        guard row["cancellation_date_ms"] == nil, row["in_app_ownership_type"] as? String != "FAMILY_SHARED" else {
            return nil
        }
        func moment(_ name: String) -> Date? {
            (row[name] as? String).flatMap(Double.init).map { Date(timeIntervalSince1970: $0 / 1000) }
        }
        id = try #require(row["transaction_id"] as? String)
        originalID = try #require(row["original_transaction_id"] as? String)
        at = try #require(moment("purchase_date_ms"))
        until = moment("expires_date_ms")
    }
}

extension WorldGrant {
    fileprivate func covers(_ sold: Sold) -> Bool {
        guard case .granted(let until, _) = word, let end = sold.until else { return false }
        return end <= until
    }
}

extension World {
    /// Another transaction of the customer who lost this order.
    func otherPurchase(than order: Truth.LostOrder) -> String? {
        purchases.first {
            $0.userID == order.userID && $0.transactionID != order.transactionID && $0.isOwed
        }?.transactionID
    }
}
