import Foundation
import Reconciliation
import Testing

@Suite struct SightingTests {
    private func sighted(
        _ id: String = "1", refunded: Bool = false, source: Source = .verifyReceipt, at seconds: TimeInterval = 0,
        made: TimeInterval? = nil, _ change: (inout Transaction) throws -> Void = { _ in }
    ) throws -> SightedTransaction {
        var transaction = try Sample.transaction(id)
        transaction.refundedAt = refunded ? Sample.noon : nil
        try change(&transaction)
        return SightedTransaction(
            ScreenedTransaction(
                subject: try Sample.subject(transaction), source: source, verifiedAt: Sample.noon + seconds,
                madeAt: made.map { Sample.noon + $0 }),
            receipt: Sample.receipt())
    }

    @Test func keepsARefundAgainstABetterAndLaterSource() throws {
        let sightings = [
            try sighted(source: .serverAPI, at: 60), try sighted(refunded: true, source: .local),
            try sighted(source: .serverAPI, at: 120),
        ]
        #expect(sightings.heard().transactions == [sightings[1].screened])
    }

    /// Of one source a word may be as old as its signature, and a later one takes its refund back; what stood before the
    /// refund does not.
    @Test(arguments: [Source.local, .serverAPI])
    func hearsTheLaterWordOfOneSourceOnARefund(source: Source) throws {
        let words = [
            try sighted(source: source, at: 0), try sighted(refunded: true, source: source, at: 60),
            try sighted(source: source, at: 120),
        ]
        #expect([words[0], words[1]].heard().transactions == [words[1].screened])
        for order in [[1, 2], [2, 1], [0, 1, 2], [2, 1, 0]] {
            #expect(order.map { words[$0] }.heard().transactions == [words[2].screened])
        }
        let sameTime = [try sighted(source: source, at: 60), words[1]]
        #expect(sameTime.heard().transactions == [words[1].screened])
    }

    /// As the ledger does where it hears of one after the other: else a purchase that is owed again would be kept from
    /// that by what shares its batch, and its receipt settled.
    @Test(arguments: [true, false])
    func aRefundEndsByALaterWordOfABetterSource(isRefundFirst: Bool) throws {
        let refund = try sighted(refunded: true, source: .local, at: 60)
        func heard(_ word: SightedTransaction) -> [ScreenedTransaction] {
            (isRefundFirst ? [refund, word] : [word, refund]).heard().transactions
        }
        for ending in [
            try sighted(at: 7_200, made: 3_600), try sighted(at: 7_200, made: 60),
            try sighted(source: .serverAPI, at: 7_200),
        ] {
            #expect(heard(ending) == [ending.screened])
        }
        // A receipt that was made before, a history that may lag, what is older, and a poorer source end none.
        for other in [
            try sighted(at: 7_200, made: 30), try sighted(source: .serverAPI, at: 1_800), try sighted(at: 30),
            try sighted(source: .appServer, at: 7_200),
        ] {
            #expect(heard(other) == [refund.screened])
        }
    }

    /// Whatever comes first in the batch: the refund was taken back, and the better source tells the rest.
    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]])
    func aRefundThatItsOwnSourceTookBackCountsForNothingBesideAnother(order: [Int]) throws {
        let words = [
            try sighted(refunded: true, source: .local, at: 0), try sighted(source: .local, at: 60),
            try sighted(source: .verifyReceipt, at: 120),
        ]
        #expect(order.map { words[$0] }.heard().transactions == [words[2].screened])
    }

    /// What Apple reads from a receipt that was made before tells of no refund, however late it reads it.
    @Test func aRefundStandsAgainstAnOlderReceiptThatIsReadLater() throws {
        let refund = try sighted(refunded: true, at: 60, made: 30)
        let older = try sighted(at: 120, made: 29), same = try sighted(at: 120, made: 30), asItIs = try sighted(at: 120)
        for order in [[refund, older], [older, refund]] {
            #expect(order.heard().transactions == [refund.screened])
        }
        for word in [same, asItIs] {
            #expect([refund, word].heard().transactions == [word.screened])
            #expect([word, refund].heard().transactions == [word.screened])
        }
    }

    /// A night reads both at one moment.
    @Test func ofTwoReceiptsTheOneThatWasMadeLaterTellsOfARefund() throws {
        let refund = try sighted(refunded: true, at: 60, made: 30)
        for word in [try sighted(at: 60, made: 31), try sighted(at: 60)] {
            #expect([refund, word].heard().transactions == [word.screened])
            #expect([word, refund].heard().transactions == [word.screened])
        }
        // Of what Apple adds to an older receipt, one that was made before the refund knows nothing.
        let added = try sighted(refunded: true, at: 60, made: -20)
        for (refund, word) in [
            (refund, try sighted(at: 60, made: 29)), (refund, try sighted(at: 60, made: 30)),
            (added, try sighted(at: 60, made: -10)),
        ] {
            #expect([refund, word].heard().transactions == [refund.screened])
            #expect([word, refund].heard().transactions == [refund.screened])
        }
    }

    /// However late an older receipt is read, and whoever tells of it.
    @Test func anUpgradeIsNeverTakenBack() throws {
        let upgrade = try sighted(source: .local, at: 60) { $0.isUpgraded = true }
        let later = try sighted(source: .local, at: 120), better = try sighted(source: .verifyReceipt, at: 120)
        for words in [[upgrade, later], [later, upgrade], [upgrade, better], [better, upgrade]] {
            #expect(words.heard().transactions.map(\.exclusion) == [.upgraded])
        }
        let refund = try sighted(refunded: true, source: .local, at: 180)
        for words in [[upgrade, refund], [refund, upgrade]] {
            #expect(words.heard().transactions.map(\.exclusion) == [.refunded])
        }
    }

    /// An app receipt does not say who paid; and a renewal may be signed before it is paid, so that the receipt's word
    /// counts as the later one.
    @Test(arguments: [Source.local, .verifyReceipt])
    func whatSomebodyElseOfTheFamilyPaidForIsNotOwedWhoeverTellsOfIt(source: Source) throws {
        let shared = try sighted(source: .local) { $0.ownership = "FAMILY_SHARED" }
        let silent = try sighted(source: source, at: 60), ended = try sighted(refunded: true, source: source, at: 60)
        for words in [[shared, silent], [silent, shared], [shared, ended], [ended, shared]] {
            let heard = words.heard().transactions
            #expect(heard.map(\.exclusion) == [.familyShared] && heard.map(\.transaction.isFamilyShared) == [true])
        }
        let foreign = ScreenedTransaction(
            subject: try Sample.subject(
                try Sample.transaction("1"), foundBundleID: Sample.bundleID("com.example.other")),
            source: source, verifiedAt: Sample.noon + 60)
        let words = [shared, SightedTransaction(foreign, receipt: Sample.receipt())]
        #expect(words.heard().transactions.map(\.exclusion) == [.foreignBundle])
    }

    /// A signed transaction that came without a word was uploaded for nothing but itself.
    @Test func aProofOfOnePurchaseIsUploadedForIt() throws {
        let screened = try sighted("7").screened
        func isNamed(_ purposes: [InboxReceipt.Purpose], isOwnProof: Bool) -> Bool {
            SightedTransaction(screened, receipt: Sample.receipt(purposes: purposes), isOwnProof: isOwnProof).isNamed
        }
        let other = InboxReceipt.Purpose(transactionID: "8", orderID: nil)
        #expect(isNamed([], isOwnProof: true) && !isNamed([], isOwnProof: false))
        #expect(!isNamed([other], isOwnProof: true))
    }

    @Test func prefersTheBetterSourceThenTheLaterWord() throws {
        let bySource = [try sighted(source: .local, at: 60), try sighted(source: .verifyReceipt)]
        #expect(bySource.heard().transactions == [bySource[1].screened])
        let byTime = [try sighted(at: 60), try sighted(at: 0)]
        #expect(byTime.heard().transactions == [byTime[0].screened])
    }

    @Test func hearsOneOfEachTransactionInTheOrderOfTheirKeys() throws {
        let sightings = try ["3", "2", "1", "3", "2"].map { try sighted($0) }
        let heard = sightings.heard()
        #expect(heard.transactions == [2, 1, 0].map { sightings[$0].screened })
        #expect(heard.numbers == [2, 1, 0, 2, 1])
    }

    /// As the ledger does where it hears of one after the other: what is booked must not hang on who shares a batch.
    @Test(arguments: [true, false])
    func whatOnlyAPoorerSourceTellsIsKept(isPoorerFirst: Bool) throws {
        let poorer = try sighted(source: .local) {
            $0.price = Money(milliunits: 4_990, currency: try #require(CurrencyCode("TRY")))
            $0.storefront = "TUR"
            $0.appAccountToken = "7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b"
            $0.quantity = 9
        }
        let better = try sighted(source: .verifyReceipt, at: 60) { $0.webOrderLineItemID = "42" }
        let heard = try #require((isPoorerFirst ? [poorer, better] : [better, poorer]).heard().transactions.first)
        #expect(heard.source == .verifyReceipt && heard.transaction.quantity == better.screened.transaction.quantity)
        #expect(heard.transaction.price == poorer.screened.transaction.price && heard.transaction.storefront == "TUR")
        #expect(heard.transaction.appAccountToken == poorer.screened.transaction.appAccountToken)
        #expect(heard.transaction.webOrderLineItemID == "42")
    }

    /// Whatever comes first in the batch: of each field the best source's word counts that tells it.
    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
    func eachFieldIsTheBestSourcesThatTellsIt(order: [Int]) throws {
        let currency = try #require(CurrencyCode("TRY"))
        func word(_ text: String?, _ seconds: TimeInterval, of source: Source, _ type: ProductType?) throws
            -> SightedTransaction
        {
            var transaction = try Sample.transaction("1")
            if let text {
                transaction.originalPurchasedAt = Sample.noon + seconds
                transaction.expiresAt = Sample.noon + seconds
                transaction.price = Money(milliunits: Int64(seconds), currency: currency)
                (transaction.webOrderLineItemID, transaction.appAccountToken) = (text, text)
                (transaction.appTransactionID, transaction.storefront) = (text, text)
            }
            return SightedTransaction(
                ScreenedTransaction(
                    subject: try Sample.subject(transaction, productType: type), source: source,
                    verifiedAt: Sample.noon),
                receipt: Sample.receipt())
        }
        let words = [
            try word("poorer", 10, of: .local, .nonRenewing),
            try word("better", 20, of: .verifyReceipt, .autoRenewable), try word(nil, 30, of: .serverAPI, nil),
        ]
        let heard = try #require(order.map { words[$0] }.heard().transactions.first)
        #expect(heard.source == .serverAPI && heard.productType == .autoRenewable)
        #expect(heard.transaction == words[1].screened.transaction)
    }

    /// Else finance would book the whole price as refunded where both words share a batch, and a part where they don't.
    @Test(arguments: [(0.9, 33_333), (0, 33_333), (-0.9, 33_333), (1, nil), (-1, nil)] as [(TimeInterval, Int?)])
    func howMuchOfThePriceWentBackIsKeptFromAPoorerSource(later: TimeInterval, percentage: Int?) throws {
        let signed = try sighted(refunded: true, source: .local) {
            ($0.revocationType, $0.revocationPercentage) = ("REFUND_PRORATED", 33_333)
        }
        let better = try sighted(source: .verifyReceipt, at: 60) { $0.refundedAt = Sample.noon + later }
        for words in [[signed, better], [better, signed]] {
            let heard = try #require(words.heard().transactions.first)
            #expect(heard.source == .verifyReceipt && heard.transaction.refundedAt == Sample.noon + later)
            #expect(heard.transaction.revocationPercentage == percentage)
            #expect(heard.transaction.revocationType == percentage.map { _ in "REFUND_PRORATED" })
        }
        let whole = try sighted(refunded: true, source: .serverAPI) { $0.revocationType = "REFUND_FULL" }
        let heard = try #require([signed, whole].heard().transactions.first)
        #expect(heard.transaction.revocationType == "REFUND_FULL" && heard.transaction.revocationPercentage == nil)
    }

    /// A reversal after its refund, in whatever order Apple's history lists them.
    @Test(arguments: [true, false])
    func ofWhatAppleToldByItselfTheLatestCounts(isRefundFirst: Bool) throws {
        let refund = try sighted(refunded: true, source: .serverAPI, at: 60).screened
        let reversal = try sighted(source: .serverAPI, at: 120).screened
        #expect((isRefundFirst ? [refund, reversal] : [reversal, refund]).latest() == [reversal])
    }

    /// In which the ledger locks its rows.
    @Test func whatAppleToldByItselfIsInTheOrderOfTheKeys() throws {
        let heard = try ["3", "1", "2", "1"].map { try sighted($0).screened }
        #expect(heard.latest().map(\.key.id.text) == ["1", "2", "3"])
    }

    @Test func ordersSourcesFromThePoorestToTheBest() {
        #expect(Source.allCases.shuffled().sorted() == [.appServer, .local, .verifyReceipt, .serverAPI])
    }
}

@Suite struct InboxReceiptTests {
    private let id = "2000000847061981"

    @Test func wasUploadedForTheTransactionItNames() throws {
        let receipt = Sample.receipt(purposes: [.init(transactionID: id, orderID: "o-1")])
        #expect(receipt.isNamed(try Sample.transactionID()))
        #expect(!receipt.isNamed(try Sample.transactionID("2000000847061982")))
        #expect(!Sample.receipt().isNamed(try Sample.transactionID()))
    }

    @Test func givesItsOrderToTheTransactionThatWasNamedWithIt() throws {
        let receipt = Sample.receipt(
            orderID: "o-2",
            purposes: [.init(transactionID: "7", orderID: "o-7"), .init(transactionID: id, orderID: "o-1")])
        #expect(receipt.orderID(for: try Sample.transactionID()) == "o-1")
        #expect(receipt.orderID(for: try Sample.transactionID("8")) == nil)
    }

    @Test func givesTheOrderThatCameWithAnyUploadForIt() throws {
        let receipt = Sample.receipt(
            purposes: [.init(transactionID: id, orderID: nil), .init(transactionID: id, orderID: "o-1")])
        #expect(receipt.orderID(for: try Sample.transactionID()) == "o-1")
    }

    @Test func givesItsOrderToWhateverItHoldsWhenNoTransactionWasNamed() throws {
        let receipt = Sample.receipt(orderID: "o-2", purposes: [.init(transactionID: nil, orderID: "o-2")])
        #expect(receipt.orderID(for: try Sample.transactionID()) == "o-2")
    }
}
