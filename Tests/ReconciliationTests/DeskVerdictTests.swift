import Foundation
import Reconciliation
import Testing

/// What the support desk is told of one transaction.
@Suite struct VerdictOfATransactionTests {
    private func verdict(_ place: KnownTransaction.Place, _ lostOrder: KnownCase? = nil) throws -> DeskVerdict {
        var known = try Sample.known(place)
        known.lostOrder = lostOrder
        return DeskVerdict(of: known)
    }

    private func owed(until end: Date? = nil) -> KnownTransaction.Place {
        .white(
            Owed(
                firstSeenAt: Sample.noon, verifiedAt: Sample.noon, nightsConfirmed: 1, admittedFor: nil,
                graceEndsAt: end))
    }

    private func lostOrder(closing: KnownCase.Closing? = nil) throws -> KnownCase {
        KnownCase(
            assessment: Assessment(of: try Sample.facts(sightings: [Sample.sighting("anna")])),
            openedAt: Sample.noon, closing: closing)
    }

    @Test func itIsOwedAsItsOpenCaseSays() throws {
        let open = try lostOrder()
        #expect(try verdict(owed(), open) == .owed(open.assessment))
        #expect(try verdict(owed(until: Sample.noon + 60), open) == .owed(open.assessment))
    }

    @Test func whatTheAppsServerIsToDeliverIsNotForTheDesk() throws {
        var known = try Sample.known(owed())
        known.lostOrder = try lostOrder()
        let redelivery = OpenRedelivery(
            userID: "anna", orderedAt: Sample.noon, orderedBy: "iap-reconcile", tries: 1, takenAt: Sample.noon)
        known.redelivery = redelivery
        #expect(DeskVerdict(of: known) == .redelivering(redelivery))
    }

    /// The case is as the last night judged it.
    @Test func whatSpeaksForAnotherSinceThenIsSaid() throws {
        let open = try lostOrder()
        var known = try Sample.known(owed())
        known.lostOrder = open
        known.owners = ["anna"]
        #expect(DeskVerdict(of: known) == .owed(open.assessment))
        known.owners = ["anna", "bob"]
        #expect(DeskVerdict(of: known) == .contested(["anna", "bob"]))
        known.lostOrder = try lostOrder(
            closing: KnownCase.Closing(how: .dismissed, who: "sam", at: Sample.noon, note: nil))
        #expect(DeskVerdict(of: known) == .owed(nil))
    }

    /// An upload without a user, say, and then the app's server admits it for one.
    @Test func whomTheNightDidNotKnowIsSaid() throws {
        let open = KnownCase(
            assessment: Assessment(of: try Sample.facts()), openedAt: Sample.noon, closing: nil)
        var known = try Sample.known(owed())
        known.lostOrder = open
        #expect(DeskVerdict(of: known) == .owed(open.assessment))
        known.owners = ["bob"]
        #expect(DeskVerdict(of: known) == .contested(["bob"]))
    }

    /// A case that is certainly lost names no uncertain owner: what spoke for them then is nothing new.
    @Test func whomTheNightKnewAndDidNotNameIsToBeAsked() throws {
        let open = KnownCase(
            assessment: Assessment(
                likelihood: .high, reasons: [.neverClaimed, .askedApple, .ownerUncertain], owner: .unknown,
                candidates: [OwnerCandidate(userID: "anna", evidence: [.carried])], action: .contact),
            openedAt: Sample.noon, closing: nil)
        var known = try Sample.known(owed())
        known.lostOrder = open
        known.owners = ["anna"]
        #expect(DeskVerdict(of: known) == .owed(open.assessment))
        known.owners = ["anna", "bob"]
        #expect(DeskVerdict(of: known) == .contested(["anna", "bob"]))
    }

    /// Of several owners the desk is told anyway.
    @Test func whatMayBeOfSeveralIsNotContested() throws {
        let ambiguous = try Sample.facts(sightings: [Sample.sighting("anna"), Sample.sighting("ben", receiptID: 2)])
        let open = KnownCase(assessment: Assessment(of: ambiguous), openedAt: Sample.noon, closing: nil)
        var known = try Sample.known(owed())
        (known.lostOrder, known.owners) = (open, ["bob"])
        #expect(DeskVerdict(of: known) == .owed(open.assessment))
    }

    @Test(arguments: ["anna", nil], [Sample.noon + 60, nil])
    func whatWasDeliveredStaysDelivered(user: String?, refundedAt: Date?) throws {
        let delivery = Delivery(
            userID: user, orderID: nil, deliveredBy: .claim, deliveredAt: Sample.noon, refundedAt: refundedAt)
        #expect(
            try verdict(.black(delivery), try lostOrder())
                == .delivered(to: user, at: Sample.noon, refundedAt: refundedAt))
    }

    /// It was dismissed, say, and is owed again.
    @Test func aClosedCaseSaysNothingOfIt() throws {
        let closed = try lostOrder(
            closing: KnownCase.Closing(how: .dismissed, who: "sam", at: Sample.noon, note: nil))
        #expect(try verdict(owed(), closed) == .owed(nil))
        #expect(try verdict(owed(until: Sample.noon + 60), closed) == .pending(until: Sample.noon + 60))
    }

    @Test(arguments: [NotOwed.Cause.dismissed, .rule(.upgraded), .rule(.beforeStart)])
    func whatAppleRefundedLaterIsRefunded(cause: NotOwed.Cause) throws {
        #expect(try verdict(Sample.excluded(cause)) == .notOwed(cause))
        #expect(try verdict(Sample.excluded(cause, refundedAt: Sample.noon)) == .refunded(at: Sample.noon))
    }

    @Test func aRefundWithoutItsMomentIsOne() throws {
        #expect(try verdict(Sample.excluded(.rule(.refunded))) == .refunded(at: nil))
    }

    /// Apple ends Family Sharing as it ends a purchase; the one who asks paid nothing and gets nothing back.
    @Test(arguments: [Exclusion.familyShared, .sandbox])
    func whatNobodyPaidForHereIsNoRefund(exclusion: Exclusion) throws {
        #expect(
            try verdict(Sample.excluded(.rule(exclusion), refundedAt: Sample.noon)) == .notOwed(.rule(exclusion)))
    }
}

/// What the support desk is told of an id.
@Suite struct VerdictOnAnEnquiryTests {
    private func verdict(_ change: (inout Enquiry) throws -> Void) throws -> DeskVerdict {
        var enquiry = Enquiry(id: "7")
        try change(&enquiry)
        return DeskVerdict(of: enquiry)
    }

    private func told(_ id: String = "7", _ change: (inout Transaction) -> Void = { _ in }) throws -> ApplesTransaction
    {
        var transaction = try Sample.transaction(id)
        change(&transaction)
        return ApplesTransaction(key: try Sample.key(id), transaction: transaction)
    }

    private func answer(_ findings: AppleAnswer.Finding...) throws -> AppleAnswer {
        let bundleID = try Sample.bundleID()
        return .asked(findings.map { AppleAnswer.Answer(bundleID: bundleID, finding: $0) })
    }

    private func receipt(_ state: ReceiptState, _ problem: ReceiptProblem? = nil) -> KnownReceipt {
        KnownReceipt(
            receiptID: 1, bundleID: "com.example.game", userID: "anna", orderID: nil, transactionID: nil, device: nil,
            submittedAt: Sample.noon, state: state, attempts: 0, problem: problem, detail: nil)
    }

    private let user = KnownUser(deliveries: [], waitingReceipts: 2, watchedReceipts: 0, receipts: 2)
    private let order = KnownOrder(
        bundleID: "com.example.game", orderID: "7", userID: "anna", productID: "gems.100", quantity: 1,
        createdAt: Sample.noon)

    @Test func oneTransactionsVerdictIsTheWhole() throws {
        #expect(
            try verdict { $0.transactions = [try Sample.known(Sample.excluded(.dismissed))] } == .notOwed(.dismissed))
    }

    @Test func severalAreCounted() throws {
        let found = try verdict {
            $0.transactions = [
                try Sample.known(Sample.excluded(.dismissed)), try Sample.known(Sample.excluded(.rule(.refunded))),
            ]
            $0.apple = try answer(.found([try told("8"), try told("9")]))
        }
        #expect(found == .several(owed: 2, delivered: 0, refunded: 1, others: 1))
    }

    /// Also what the app's server is to deliver, or what may be another's.
    @Test func whateverIsPaidAndMayBeDeliveredByHandCountsAsOwed() throws {
        func white(until end: Date? = nil) throws -> KnownTransaction {
            try Sample.known(
                .white(
                    Owed(
                        firstSeenAt: Sample.noon, verifiedAt: Sample.noon, nightsConfirmed: 1, admittedFor: nil,
                        graceEndsAt: end)))
        }
        var (redelivered, contested) = (try white(), try white())
        redelivered.redelivery = OpenRedelivery(
            userID: "anna", orderedAt: Sample.noon, orderedBy: "sam", tries: 0, takenAt: nil)
        contested.lostOrder = KnownCase(
            assessment: Assessment(of: try Sample.facts()), openedAt: Sample.noon, closing: nil)
        contested.owners = ["bob"]
        let delivery = Delivery(
            userID: "anna", orderID: nil, deliveredBy: .claim, deliveredAt: Sample.noon, refundedAt: nil)
        let found = try verdict {
            $0.transactions = [
                try white(), redelivered, contested, try white(until: Sample.noon + 60),
                try Sample.known(.black(delivery)),
            ]
        }
        #expect(found == .several(owed: 3, delivered: 1, refunded: 0, others: 1))
    }

    @Test func whatAppleToldOfAndTheLedgerKnowsCountsOnce() throws {
        let found = try verdict {
            $0.transactions = [try Sample.known(Sample.excluded(.dismissed))]
            $0.apple = try answer(.found([try told(Sample.transactionID().text)]))
        }
        #expect(found == .notOwed(.dismissed))
    }

    /// Else the desk is sent to adopt what is refused then.
    @Test func whatNoNightWouldOweIsNotToBeAdopted() throws {
        let revoke: (inout Transaction) -> Void = { $0.refundedAt = Sample.noon }
        let cases: [(DeskVerdict, (inout Transaction) -> Void)] = [
            (.refunded(at: Sample.noon), revoke), (.notOwed(.rule(.familyShared)), { $0.ownership = "FAMILY_SHARED" }),
            (.notOwed(.rule(.familyShared)), { ($0.ownership, $0.refundedAt) = ("FAMILY_SHARED", Sample.noon) }),
            (.notOwed(.rule(.upgraded)), { $0.isUpgraded = true }),
        ]
        for (expected, change) in cases {
            #expect(try verdict { $0.apple = try answer(.found([try told("7", change)])) } == expected)
        }
        let plain = try told()
        #expect(try verdict { $0.apple = try answer(.found([plain])) } == .unseen(plain.transaction))
    }

    @Test func aUserWithoutAnOpenPurchaseIsToldWhatWaits() throws {
        #expect(
            try verdict {
                $0.user = user
                $0.troubledReceipts = [receipt(.waiting)]
            } == .nothingOpen(deliveries: 0, waitingReceipts: 2))
    }

    /// The id may be a user's and an order's at once.
    @Test func whatIsOnItsWayComesBeforeWhatCannotBeUsedAndAnOrderAfterBoth() throws {
        let unusable = receipt(.unusable, .empty)
        #expect(
            try verdict {
                ($0.user, $0.orders) = (user, [order])
                $0.troubledReceipts = [unusable, receipt(.waiting)]
            } == .waiting)
        #expect(try verdict { ($0.orders, $0.troubledReceipts) = ([order], [unusable]) } == .unusable(.empty))
        #expect(try verdict { ($0.user, $0.orders) = (user, [order]) } == .unpaidOrder)
    }

    @Test func itIsNotPaidWhereEachOfApplesAnswersIsNo() throws {
        let no = AppleAnswer.Finding.notFound("no such id")
        #expect(try verdict { $0.apple = try answer(no, no) } == .notPaid)
        #expect(try verdict { $0.apple = try answer(no, .failed("Apple is down")) } == .unknown)
        #expect(try verdict { $0.apple = .asked([]) } == .unknown)
        #expect(try verdict { _ in } == .unknown)
    }

    @Test func nobodyKnowsOfWhatIsUnknownOrNotPaid() {
        #expect(DeskVerdict.unknown.isOfNothing && DeskVerdict.notPaid.isOfNothing)
        #expect(!DeskVerdict.waiting.isOfNothing && !DeskVerdict.unpaidOrder.isOfNothing)
    }
}
