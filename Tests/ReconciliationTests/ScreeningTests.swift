import Foundation
import Reconciliation
import Testing

@Suite struct ScreeningTests {
    @Test func owesAPlainPurchase() throws {
        let subject = try Sample.subject(Sample.transaction())
        #expect(Screening.exclusion(of: subject) == nil)
    }

    @Test func excludesAnotherAppsReceipt() throws {
        let transaction = try Sample.transaction()
        let foreign = try Sample.subject(transaction, foundBundleID: Sample.bundleID("com.example.other"))
        let own = try Sample.subject(transaction, foundBundleID: Sample.bundleID())
        #expect(Screening.exclusion(of: foreign) == .foreignBundle)
        #expect(Screening.exclusion(of: own) == nil)
        let found = [foreign, own].map {
            ScreenedTransaction(subject: $0, source: .local, verifiedAt: Sample.noon).foundBundleID
        }
        #expect(found == [try Sample.bundleID("com.example.other"), nil])
    }

    @Test(arguments: Environment.allCases, Environment.allCases)
    func excludesTheOtherEnvironment(of app: Environment, receipt: Environment) throws {
        let subject = try Sample.subject(
            Sample.transaction(), environment: receipt, app: Sample.app(environment: app))
        #expect(Screening.exclusion(of: subject) == (app == receipt ? nil : .sandbox))
    }

    @Test func excludesWhatAppleTookBack() throws {
        var transaction = try Sample.transaction()
        transaction.refundedAt = Sample.noon + 60
        #expect(Screening.exclusion(of: try Sample.subject(transaction)) == .refunded)
    }

    /// Where Apple took the refund back since, that is what it is.
    @Test(arguments: [(false, nil), (true, .upgraded)] as [(Bool, Exclusion?)])
    func saysWhatIsRefundedWouldBeWithoutThat(isUpgraded: Bool, exclusion: Exclusion?) throws {
        var transaction = try Sample.transaction()
        transaction.refundedAt = Sample.noon + 60
        transaction.isUpgraded = isUpgraded
        let screened = ScreenedTransaction(
            subject: try Sample.subject(transaction), source: .local, verifiedAt: Sample.noon)
        #expect(screened.exclusion == .refunded && screened.exclusionBesides == exclusion)
    }

    @Test(arguments: [
        ("FAMILY_SHARED", Exclusion.familyShared), ("ASSIGNED", .familyShared), ("PURCHASED", nil),
        ("LATER_VALUE", nil),
    ])
    func excludesWhatSomebodyElsePaidFor(ownership: String, exclusion: Exclusion?) throws {
        var transaction = try Sample.transaction()
        transaction.ownership = ownership
        #expect(Screening.exclusion(of: try Sample.subject(transaction)) == exclusion)
    }

    /// Nobody gets money back for it, and whoever buys it later is owed it.
    @Test func whatAFamilySharedNoMoreIsNoRefund() throws {
        var transaction = try Sample.transaction()
        transaction.ownership = "FAMILY_SHARED"
        transaction.refundedAt = Sample.noon + 60
        #expect(Screening.exclusion(of: try Sample.subject(transaction)) == .familyShared)
    }

    @Test func excludesWhatAnUpgradeReplaced() throws {
        var transaction = try Sample.transaction()
        transaction.isUpgraded = true
        #expect(Screening.exclusion(of: try Sample.subject(transaction)) == .upgraded)
    }

    @Test(arguments: [(-1, Exclusion.invalidQuantity), (0, .invalidQuantity), (1, nil), (10, nil)])
    func excludesAQuantityBelowOne(quantity: Int, exclusion: Exclusion?) throws {
        var transaction = try Sample.transaction()
        transaction.quantity = quantity
        #expect(Screening.exclusion(of: try Sample.subject(transaction)) == exclusion)
    }

    @Test(arguments: [(-1.0, Exclusion.beforeStart), (0, nil), (1, nil)])
    func excludesWhatWasBoughtBeforeTheRecordsBegin(seconds: TimeInterval, exclusion: Exclusion?) throws {
        var transaction = try Sample.transaction()
        transaction.purchasedAt = Sample.noon + seconds
        let subject = try Sample.subject(transaction, app: Sample.app(since: Sample.noon))
        #expect(Screening.exclusion(of: subject) == exclusion)
    }

    /// A restore dates what was bought once and for all anew; a renewal has its subscription's first date as the original.
    @Test(arguments: [
        (ProductType.nonConsumable, false, Exclusion.beforeStart), (nil, false, .beforeStart), (nil, true, nil),
        (.consumable, false, nil), (.autoRenewable, true, nil), (.nonRenewing, false, nil),
    ])
    func countsARestoredPurchaseFromItsOriginalDate(type: ProductType?, expires: Bool, exclusion: Exclusion?) throws {
        var transaction = try Sample.transaction()
        transaction.originalPurchasedAt = Sample.noon - 86_400
        transaction.expiresAt = expires ? Sample.noon + 86_400 : nil
        let app = try Sample.app(since: Sample.noon)
        #expect(Screening.exclusion(of: try Sample.subject(transaction, app: app, productType: type)) == exclusion)
        transaction.originalPurchasedAt = Sample.noon + 5
        #expect(Screening.exclusion(of: try Sample.subject(transaction, app: app, productType: type)) == nil)
    }

    @Test(arguments: [(false, Exclusion.restored), (true, nil)])
    func excludesAsRestoredWhatNobodyKnowsTheTypeOfUnlessItExpires(expires: Bool, exclusion: Exclusion?) throws {
        var transaction = try Sample.transaction("2", originalID: "1")
        transaction.expiresAt = expires ? Sample.noon + 86_400 : nil
        let subject = try Sample.subject(transaction, productType: nil, isOriginalKnown: true)
        #expect(Screening.exclusion(of: subject) == exclusion)
    }

    @Test(arguments: ProductType.allCases)
    func excludesAsRestoredOnlyWhatKeepsComing(type: ProductType) throws {
        let transaction = try Sample.transaction("2", originalID: "1")
        let known = try Sample.subject(transaction, productType: type, isOriginalKnown: true)
        let unknown = try Sample.subject(transaction, productType: type, isOriginalKnown: false)
        let isRestored = type == .nonConsumable || type == .autoRenewable
        #expect(Screening.exclusion(of: known) == (isRestored ? .restored : nil))
        #expect(Screening.exclusion(of: unknown) == nil)
    }

    @Test func namesTheForeignBundleBeforeEverythingElse() throws {
        var transaction = try Sample.transaction()
        transaction.refundedAt = Sample.noon
        transaction.isUpgraded = true
        let subject = try Sample.subject(
            transaction, environment: .sandbox, foundBundleID: Sample.bundleID("com.example.other"))
        #expect(Screening.exclusion(of: subject) == .foreignBundle)
    }
}
