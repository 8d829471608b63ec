import Foundation
import Reconciliation
import Testing

@testable import Reporting

/// What a person at the support desk reads.
@Suite struct EnquiryTextTests {
    private static let purchasedAt = Date(timeIntervalSince1970: 1_790_000_000)

    private func key(_ id: String = "2000000847061981") throws -> TransactionKey {
        TransactionKey(
            id: try #require(TransactionID(id)), bundleID: try #require(BundleID("com.example.game")),
            environment: .production)
    }

    private func transaction(
        _ place: KnownTransaction.Place, id: String = "2000000847061981"
    ) throws -> KnownTransaction {
        KnownTransaction(
            key: try key(id), originalID: try key(id).id, productID: try #require(ProductID("gems.60")),
            productName: "60 Gems", productType: .consumable, quantity: 2, purchasedAt: Self.purchasedAt,
            price: Money(milliunits: 1980, currency: try #require(CurrencyCode("USD"))), isListPrice: true,
            source: .verifyReceipt, place: place)
    }

    private var owed: Owed {
        Owed(
            firstSeenAt: Self.purchasedAt + 7200, verifiedAt: Self.purchasedAt + 90_000, nightsConfirmed: 2,
            admittedFor: nil)
    }

    private func text(_ enquiry: Enquiry, in language: ReportLanguage = .english) throws -> String {
        EnquiryText(timeZone: try #require(TimeZone(identifier: "Asia/Shanghai")), language: language)
            .text(of: enquiry)
    }

    private func lostOrder() throws -> Enquiry {
        var known = try transaction(.white(owed))
        known.sightings = [
            Sighting(
                receiptID: 4711, userID: "anna", orderID: "o-1", isNamed: true, uploadedAt: Self.purchasedAt + 60),
            Sighting(receiptID: 4712, userID: nil, orderID: nil, isNamed: false, uploadedAt: Self.purchasedAt + 120),
        ]
        known.claims = [
            ClaimAttempt(outcome: .notVerified, userID: "anna", orderID: "o-1", attemptedAt: Self.purchasedAt + 61)
        ]
        known.lostOrder = KnownCase(
            assessment: Assessment(
                likelihood: .high, reasons: [.claimFailed], owner: .user("anna"),
                candidates: [OwnerCandidate(userID: "anna", evidence: [.uploaded, .claimed])], orderIDs: ["o-1"],
                action: .deliver),
            openedAt: Self.purchasedAt + 7200, closing: nil)
        known.events = [
            KnownEvent(
                happenedAt: Self.purchasedAt + 8000, kind: "case_opened", actor: "iap-reconcile", runID: 3,
                details: ["reasons": #"["claim_failed", "rode_along"]"#]),
            KnownEvent(
                happenedAt: Self.purchasedAt + 8001, kind: "reopened", actor: "sue", runID: nil,
                details: ["was": "dismissed", "note": "a mistake", "login": "iap_support"]),
            KnownEvent(
                happenedAt: Self.purchasedAt + 8002, kind: "refunded", actor: "iap-reconcile", runID: 4,
                details: [
                    "to_refund_percentage": "33333", "likelihood": "high", "owner_user_ids": #"["anna"]"#,
                    "as": "refunded",
                ]),
        ]
        var enquiry = Enquiry(id: "2000000847061981")
        enquiry.transactions = [known]
        return enquiry
    }

    @Test func aLostOrderIsToldWholly() throws {
        let enquiry = try lostOrder()
        #expect(
            try text(enquiry) == """
                Times are of Asia/Shanghai.

                Transaction 2000000847061981 of com.example.game, Production
                  product      gems.60 (60 Gems), consumable, quantity 2
                  price        1.98 USD (list price)
                  purchased    2026-09-21 22:13:20
                  where        white: paid and not claimed; known since 2026-09-22 00:13:20
                               confirmed on 2 nights, last verified 2026-09-22 23:13:20
                  verified by  Apple, verifyReceipt
                  seen         2026-09-21 22:14:20  receipt 4711 uploaded for it, by anna, order o-1
                               2026-09-21 22:15:20  receipt 4712 uploaded for something else, and it came \
                along, nobody logged in
                  claims       2026-09-21 22:14:21  not verified yet, by anna, order o-1
                  case         high likelihood, opened 2026-09-22 00:13:20
                               The app's server tried to claim it and was refused.
                               anna: uploaded, claimed
                               → Deliver to anna for order o-1.
                  events       2026-09-22 00:26:40  case opened by iap-reconcile in run 3; reasons: claim failed, rode along
                               2026-09-22 00:26:41  reopened by sue; note: a mistake; was: dismissed
                               2026-09-22 00:26:42  refunded by iap-reconcile in run 4; as: refunded; likelihood: high; owner user ids: anna; to refund percentage: 33.333%

                paid, not delivered: deliver to anna for order o-1.

                """)
    }

    @Test func anOrderThatOnlyTheCaseNamesIsNamedInEveryForm() throws {
        var known = try transaction(.white(owed))
        known.lostOrder = KnownCase(
            assessment: Assessment(
                likelihood: .high, reasons: [.orderMatched], owner: .user("anna"),
                candidates: [OwnerCandidate(userID: "anna", evidence: [.uploaded])], orderIDs: ["o-7"],
                action: .deliver),
            openedAt: Self.purchasedAt + 7200, closing: nil)
        var enquiry = Enquiry(id: "2000000847061981")
        enquiry.transactions = [known]
        let told = try text(enquiry)
        #expect(told.contains("One of the app's own orders is what it pays for. (o-7)"))
        #expect(told.contains("→ Deliver to anna for order o-7."))
        #expect(told.contains("paid, not delivered: deliver to anna for order o-7."))
        let json = try EnquiryJSON.text(of: enquiry)
        #expect(json.contains(#""order_ids":["o-7"]"#))
        #expect(json.contains(#""advice":"Deliver to anna for order o-7.""#))
    }

    @Test func whoReadsReportsInChineseReadsItInChinese() throws {
        let told = try text(try lostOrder(), in: .simplifiedChinese)
        #expect(
            told == """
                时间均为 Asia/Shanghai 时区。

                交易 2000000847061981，com.example.game，Production
                  商品      gems.60 (60 Gems)，消耗型，数量 2
                  价格      1.98 USD (标价)
                  付款时间  2026-09-21 22:13:20
                  所在      白表：已付款，未领取；自 2026-09-22 00:13:20 起已知
                            确认了 2 晚，最近一次验证于 2026-09-22 23:13:20
                  验证方式  Apple verifyReceipt
                  见于      2026-09-21 22:14:20  为它上传票据 4711，用户 anna，订单 o-1
                            2026-09-21 22:15:20  为其他购买上传票据 4712，它随票带出，无人登录
                  领取      2026-09-21 22:14:21  尚未验证，用户 anna，订单 o-1
                  漏单      可能性高，2026-09-22 00:13:20 列为漏单
                            应用服务器曾领取，但被拒绝。
                            anna：为它上传，曾领取
                            → 按订单 o-1 发货给 anna。
                  经过      2026-09-22 00:26:40  列为漏单，iap-reconcile，第 3 次运行；原因：领取被拒，随票带出
                            2026-09-22 00:26:41  重新打开，sue；备注：a mistake；原为：无需处理
                            2026-09-22 00:26:42  退款，iap-reconcile，第 4 次运行；处理为：退款；可能性：高；归属用户：anna；退款比例：33.333%

                已付款，未发货：按订单 o-1 发货给 anna。

                """)
    }

    @Test func eachOfSeveralHasItsVerdictAndTheLastLineSumsThemUp() throws {
        let delivery = Delivery(
            userID: "bob", orderID: nil, deliveredBy: .claim, deliveredAt: Self.purchasedAt + 60, refundedAt: nil)
        let sandbox = NotOwed(
            cause: .rule(.sandbox), excludedAt: Self.purchasedAt, refundedAt: nil, foundBundleID: nil)
        var enquiry = Enquiry(id: "7")
        enquiry.transactions = [
            try transaction(.black(delivery), id: "7"), try transaction(.excluded(sandbox), id: "8"),
            try transaction(.white(owed), id: "9"),
        ]
        let lines = try text(enquiry).split(separator: "\n").map(String.init)
        #expect(
            lines.filter { $0.contains("verdict") } == [
                "  verdict      delivered to bob at 2026-09-21 22:14:20",
                "  verdict      not owed: made in the other environment than the app's, where nobody pays",
                "  verdict      paid, not delivered: no run has judged it yet, or nothing of its type is looked at",
            ])
        #expect(lines.last == "3 transactions: 1 not delivered, 1 delivered, 1 other")
    }

    @Test(
        arguments: [
            (
                .delivered(to: nil, at: purchasedAt, refundedAt: purchasedAt + 60),
                "delivered at 2026-09-21 22:13:20, and refunded at 2026-09-21 22:14:20"
            ),
            (
                .pending(until: purchasedAt),
                "paid, not delivered: the client may still claim it; from 2026-09-21 22:13:20 on it counts as lost"
            ),
            (
                .redelivering(
                    OpenRedelivery(
                        userID: "bob", orderedAt: purchasedAt, orderedBy: "iap-reconcile", tries: 0, takenAt: nil)),
                "paid, and left to the app's server to deliver to bob: ordered 2026-09-21 22:13:20 by iap-reconcile, not taken "
                    + "by it yet"
            ),
            (
                .redelivering(
                    OpenRedelivery(
                        userID: "bob", orderedAt: purchasedAt, orderedBy: "sue", tries: 1, takenAt: purchasedAt + 60)),
                "paid, and left to the app's server to deliver to bob: ordered 2026-09-21 22:13:20 by sue, taken by it last "
                    + "2026-09-21 22:14:20"
            ),
            (
                .contested(["ann", "bob"]),
                "paid, not delivered, and since the last night something speaks for others: ann, bob; ask who bought it, and "
                    + "say resolve --user"
            ),
            (.refunded(at: purchasedAt), "refunded at 2026-09-21 22:13:20"),
            (.notOwed(.dismissed), "not owed: dismissed by the support desk"),
            (.waiting, "not verified yet: a receipt for it waits for the night"),
            (
                .unusable(.empty),
                "not verified: The upload was empty. Ask the user to open the app and refresh the receipt."
            ),
            (.unpaidOrder, "not paid as far as is known: no purchase came for this order"),
            (
                .nothingOpen(deliveries: 2, waitingReceipts: 1),
                "no purchase of this user's is known to be open; 2 deliveries listed, 1 receipt waits to be verified"
            ),
            (.notPaid, "not paid as far as Apple knows"),
            (.unknown, "unknown: no purchase, order or user is known by this id"),
        ] as [(DeskVerdict, String)])
    func everyVerdictIsOnePlainLine(verdict: DeskVerdict, line: String) throws {
        let text = EnquiryText(timeZone: try #require(TimeZone(identifier: "Asia/Shanghai")), language: .english)
        #expect(text.sentence(verdict) == line)
        let chinese = EnquiryText(timeZone: .gmt, language: .simplifiedChinese).sentence(verdict)
        #expect(chinese.unicodeScalars.contains { $0.properties.isIdeographic }, "\(chinese)")
    }

    @Test(arguments: [nil, purchasedAt])
    func aRedeliveryThatIsTakenIsNotCalledClaimed(takenAt: Date?) {
        let text = EnquiryText(timeZone: .gmt, language: .simplifiedChinese)
        let sentence = text.sentence(
            .redelivering(
                OpenRedelivery(userID: "bob", orderedAt: Self.purchasedAt, orderedBy: "sue", tries: 1, takenAt: takenAt)
            ))
        #expect(sentence.contains("取走"), "\(sentence)")
        #expect(!sentence.contains("领取"), "\(sentence)")
    }

    @Test func whatNobodyPaidForHereIsNotCalledRefunded() {
        let text = EnquiryText(timeZone: .gmt, language: .english)
        let ended = [.rule(.familyShared), .rule(.upgraded)].map { (cause: NotOwed.Cause) in
            text.cause(
                NotOwed(
                    cause: cause, excludedAt: Self.purchasedAt, refundedAt: Self.purchasedAt + 60, foundBundleID: nil))
        }
        #expect(!ended[0].contains("refunded"), "\(ended[0])")
        #expect(ended[1].hasSuffix("refunded 2026-09-21 14:14:20"), "\(ended[1])")
    }

    @Test func whatClientsSentCanNotMoveTheCursor() throws {
        var enquiry = Enquiry(id: "\u{1B}[2J")
        enquiry.user = KnownUser(deliveries: [], waitingReceipts: 0, watchedReceipts: 0, receipts: 1)
        enquiry.troubledReceipts = [
            KnownReceipt(
                receiptID: 1, bundleID: "b\u{1B}", userID: "\u{1B}]0;x\u{7}", orderID: nil, transactionID: nil,
                device: "{\"model\": \"\\u001b[31m\"}", submittedAt: Self.purchasedAt, state: .unusable, attempts: 1,
                problem: .malformed, detail: "\u{202E}no")
        ]
        let text = try text(enquiry)
        #expect(!text.unicodeScalars.contains { $0.value == 0x1B || $0.value == 7 || $0.value == 0x202E })
        #expect(text.contains("It has been so for 1 night."))
    }

    @Test func programsReadTheSameAsJSON() throws {
        let delivery = Delivery(
            userID: "bob", orderID: "o-1", deliveredBy: .resolved, deliveredAt: Self.purchasedAt + 60,
            refundedAt: nil)
        var enquiry = Enquiry(id: "o-1")
        enquiry.transactions = [try transaction(.black(delivery))]
        #expect(
            try EnquiryJSON.text(of: enquiry) == """
                {"apple_transactions":[],"claims":[],"id":"o-1","is_cut":false,"orders":[],"receipts":[],\
                "sentence":"delivered to bob at 2026-09-21 14:14:20","transactions":[{"bundle_id":"com.example.game",\
                "claims":[],"currency":"USD","delivery":{"delivered_at":"2026-09-21T14:14:20.000Z",\
                "delivered_by":"resolved","order_id":"o-1","user_id":"bob"},"environment":"Production","events":[],\
                "is_list_price":true,"original_transaction_id":"2000000847061981","place":"black",\
                "price_milliunits":1980,"product_id":"gems.60","product_name":"60 Gems","product_type":"consumable",\
                "purchased_at":"2026-09-21T14:13:20.000Z","quantity":2,"sentence":"delivered to bob at \
                2026-09-21 14:14:20","sightings":[],"source":"verify_receipt","transaction_id":"2000000847061981",\
                "verdict":"delivered"}],"verdict":"delivered"}
                """)
    }
}
