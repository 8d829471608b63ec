import Verification
import Commands
import AppStoreSimulator
import Foundation
import Job
import PostgreSQL
import Reconciliation
import Synchronization
import TestSupport
import Testing

/// The scenarios in which it matters by what a purchase is verified.
@Suite struct VerificationScenarioTests {
    @Test func s09FindsInTheCustomersHistoryWhatNoReceiptEverHeld() async throws {
        try await withPlay(hasKey: true) { play in
            let overwritten = play.buy("1000000000000901", hoursAgo: 220)
            let uploaded = play.buy("1000000000000902")
            try await play.upload(play.receipt([uploaded]), for: uploaded)
            let findings = try await play.night().findings
            #expect(findings.caseIDs == [overwritten.id, uploaded.id])
            let found = try #require(findings.cases.first { $0.key.id.text == overwritten.id })
            #expect(found.assessment.reasons == [.neverClaimed, .noReceipt])
            #expect(found.assessment.owner == .user("anna"))
            #expect(found.source == .serverAPI)
            let other = try #require(findings.cases.first { $0.key.id.text == uploaded.id })
            #expect(other.assessment.reasons == [.neverClaimed])
            #expect(other.source == .serverAPI)
        }
    }

    @Test func s09IsBeyondReachWithoutAKey() async throws {
        try await withPlay { play in
            let overwritten = play.buy("1000000000000901", hoursAgo: 220)
            let uploaded = play.buy("1000000000000902")
            try await play.upload(play.receipt([uploaded]), for: uploaded)
            let findings = try await play.night().findings
            #expect(findings.caseIDs == [uploaded.id])
            #expect(!findings.caseIDs.contains(overwritten.id))
        }
    }

    @Test(arguments: [VerificationMethod.verifyReceipt, .local, .auto])
    func aPurchaseThatAReceiptListsTwiceIsOwedOnce(method: VerificationMethod) async throws {
        try await withPlay(method, hasKey: method == .auto) { play in
            let bought = play.buy("1000000000000903")
            try await play.upload(play.receipt([bought, bought]), for: bought)
            let (report, findings) = try await play.night()
            #expect(report.outcome == .complete && report.receipts.verified == 1)
            #expect(findings.caseIDs == [bought.id])
        }
    }

    @Test(arguments: [VerificationMethod.verifyReceipt, .local, .auto])
    func s14ExcludesASandboxReceiptThatWasSentToProduction(method: VerificationMethod) async throws {
        try await withPlay(method, hasKey: method == .auto) { play in
            let test = SimulatedTransaction(
                id: "2000000000000014", productID: "gems.60", purchasedAt: play.began - 90_000)
            try await play.upload(play.receipt([test], environment: .sandbox), for: test)
            let (report, findings) = try await play.night()
            #expect(report.receipts.verified == 1)
            #expect(findings.cases.isEmpty)
            #expect(try await play.count("iap.excluded WHERE reason = 'sandbox'") == 1)
        }
    }

    @Test func s14OwesASandboxPurchaseToAnAppWhoseEnvironmentItIs() async throws {
        try await withPlay { play in
            var play = play
            let app = play.settings.apps[0].app
            play.settings.apps[0].app = App(
                bundleID: app.bundleID, environment: .sandbox, grace: app.grace, since: nil)
            let test = SimulatedTransaction(
                id: "2000000000000014", productID: "gems.60", purchasedAt: play.began - 90_000)
            try await play.upload(play.receipt([test], environment: .sandbox), for: test)
            let real = play.buy("1000000000000014")
            try await play.upload(play.receipt([real]), for: real)
            let findings = try await play.night().findings
            #expect(findings.caseIDs == [test.id])
        }
    }

    @Test(arguments: [VerificationMethod.verifyReceipt, .local, .auto])
    func s24ReadsAnIOS6ReceiptAsOneTransaction(method: VerificationMethod) async throws {
        try await withPlay(method, hasKey: method == .auto) { play in
            let bought = play.buy("1000000000000024")
            try await play.upload(play.receipt([bought], style: .transactionReceipt), for: bought)
            let findings = try await play.night().findings
            #expect(findings.caseIDs == [bought.id])
            let source: Source =
                switch method {
                case .verifyReceipt: .verifyReceipt
                case .local: .local
                case .auto, .serverAPI: .serverAPI
                }
            #expect(findings.cases.first?.source == source)
        }
    }

    @Test(arguments: [(VerificationMethod.auto, false), (.auto, true), (.verifyReceipt, false), (.local, false)])
    func s25TakesASignedTransactionByItsCertificates(method: VerificationMethod, hasKey: Bool) async throws {
        try await withPlay(method, hasKey: hasKey) { play in
            let bought = play.buy("1000000000000025")
            let payload = play.receipt([bought], style: .signedTransaction)
            try await play.upload(payload, for: bought)
            // One letter of its signature changed: nobody signed that.
            try await play.upload(String(payload.dropLast(10)) + "AAAAAAAAAA", by: "mallory", for: bought)
            let findings = try await play.night().findings
            #expect(findings.caseIDs == [bought.id])
            #expect(findings.cases.first?.assessment.owner == .user("anna"))
            #expect(findings.cases.first?.source == (hasKey ? .serverAPI : .local))
            #expect(findings.unusable.map(\.userID) == ["mallory"])
            #expect(findings.unusable.first?.problem == .notGenuine)
            // However old the signature is, each night that finds the purchase unclaimed counts.
            _ = try await play.night(2)
            #expect(try await play.count("iap.white WHERE nights_confirmed = 2") == 1)
        }
    }

    /// What a stranger signed may be Apple's under its next root: it waits, and says nothing of the night. Once the
    /// program knows the root, it is found.
    @Test func whatAnUnknownRootSignedWaitsAndEndsNoNight() async throws {
        try await withPlay(.local, hasKey: false) { play in
            let bought = play.buy("1000000000000026")
            try await play.upload(play.receipt([bought], style: .signedTransaction), for: bought)
            var older = play
            older.settings.apple.rootCertificates = nil
            let night = try await older.night()
            #expect(night.report.outcome == .complete)
            #expect(night.findings.cases.isEmpty)
            #expect(night.findings.unusable.map(\.problem) == [.unknownSigner])
            #expect(try await play.night(2).findings.caseIDs == [bought.id])
        }
    }

    /// `verifyReceipt` tells no price, and a signed transaction does: what is booked does not hang on whether one batch
    /// has both.
    @Test(arguments: [1, 128])
    func thePriceOfASignedTransactionIsBookedBesideAnAppReceipt(batchSize: Int) async throws {
        try await withPlay(.verifyReceipt) { play in
            let bought = play.buy("1000000000000027") {
                $0.price = SimulatedTransaction.Price(milliunits: 4_990, currency: "TRY")
            }
            try await play.upload(play.receipt([bought]), for: bought)
            try await play.upload(play.receipt([bought], style: .signedTransaction), for: bought)
            var small = play
            small.settings.batchSize = batchSize
            _ = try await small.night()
            #expect(
                try await play.count(
                    """
                    iap.transactions
                    WHERE booked_milliunits = 4990 AND booked_currency = 'TRY' AND booked_as = 'apple'
                        AND source = 'verify_receipt'
                    """) == 1)
        }
    }

    /// It names no purchase, and Apple knows whose it is: one that is refunded meanwhile is noticed on a later night.
    @Test func aRenewalInfoLeadsToWhatItsCustomerBought() async throws {
        try await withPlay(hasKey: true) { play in
            let bought = [play.buy("1000000000000032"), play.buy("1000000000000033", hoursAgo: 300)]
            try await play.upload(Signed.renewalInfo(bought[0].id))
            let findings = try await play.night(1).findings
            #expect(findings.caseIDs == [bought[0].id, bought[1].id])
            #expect(findings.cases.allSatisfy { $0.source == .serverAPI && $0.assessment.owner == .user("anna") })
            #expect(findings.cases.allSatisfy { $0.assessment.reasons.contains(.noReceipt) })
            #expect(try await play.count("iap.receipts WHERE state = 'watched'") == 1)
            play.store.update { $0.refund(bought[0].id, Refund(at: play.began - 60)) }
            #expect(try await play.night(2).findings.caseIDs == [bought[1].id])
        }
    }

    @Test func aNotificationIsAReceiptForItsTransaction() async throws {
        try await withPlay(.verifyReceipt) { play in
            let bought = play.buy("1000000000000034")
            let signed = play.receipt([bought], style: .signedTransaction)
            try await play.upload(Signed.notification(carrying: signed), for: bought)
            try await play.upload(Signed.notification("TEST"), by: nil)
            let findings = try await play.night().findings
            #expect(findings.caseIDs == [bought.id])
            #expect(findings.cases.first?.assessment.reasons == [.neverClaimed])
            #expect(findings.cases.first?.source == .local)
            #expect(findings.unusable.map(\.problem) == [.noTransactions])
        }
    }

    /// As a genuine app receipt that holds nothing, and no longer; and a key has it looked at again.
    @Test func whatNamesNoPurchaseIsGivenUpAfterAWeekWithoutAKey() async throws {
        try await withPlay(hasKey: true) { play in
            var play = play
            let key = play.settings.apps[0].serverAPI
            play.settings.apps[0].serverAPI = nil
            let bought = play.buy("1000000000000038")
            try await play.upload(Signed.renewalInfo(bought.id))
            for night in 1...7 {
                let findings = try await play.night(night).findings
                #expect(findings.unusable.map(\.problem) == [.needsKey])
                #expect(findings.unusable.first?.detail.contains("with a key for the App Store Server API") == true)
                let waiting = try await play.count("iap.receipts WHERE state = 'waiting' AND signature = 'valid'")
                #expect(waiting == (night < 7 ? 1 : 0))
            }
            #expect(try await play.count("iap.receipts WHERE state = 'unusable'") == 1)
            #expect(try await play.night(8).report.receipts.tryAgain == 0)
            play.settings.apps[0].serverAPI = key
            #expect(try await play.night(9).findings.caseIDs == [bought.id])
        }
    }

    @Test func aRefundIsNoticedThroughTheServerAPI() async throws {
        try await withPlay(hasKey: true) { play in
            let bought = play.buy("1000000000000026")
            try await play.upload(play.receipt([bought], style: .signedTransaction), for: bought)
            #expect(try await play.night(1).findings.caseIDs == [bought.id])
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 60)) }
            let second = try await play.night(2)
            #expect(second.findings.cases.isEmpty)
            #expect(second.report.totals.refunded.transactions == 1)
        }
    }

    @Test func anotherAppsSignedTransactionIsListedAndNotOwed() async throws {
        try await withPlay(hasKey: true) { play in
            let bought = SimulatedTransaction(
                id: "1000000000000027", productID: "coins.100", purchasedAt: play.began - 90_000)
            let payload = play.receipt([bought], style: .signedTransaction, bundleID: Play.foreignBundleID)
            try await play.upload(payload, for: bought)
            let findings = try await play.night().findings
            #expect(findings.cases.isEmpty)
            #expect(findings.suspicions.map(\.kind) == [.foreignBundle])
        }
    }

    @Test(arguments: ["key", "issuer", "bundle"])
    func aRefusedKeyIsAMatterOfConfigurationAndLeavesTheInboxAlone(wrong: String) async throws {
        try await withPlay(hasKey: true) { play in
            var play = play
            let access = try #require(play.settings.apps[0].serverAPI)
            switch wrong {
            case "key":
                let other = SimulatedAppStore(seed: 7, keys: .stranger)
                play.settings.apps[0].serverAPI = ServerAPIAccess(
                    issuerID: access.issuerID, keyID: access.keyID, key: Secret(other.apiKey.privateKeyPEM))
            case "issuer":
                play.settings.apps[0].serverAPI = ServerAPIAccess(
                    issuerID: UUID().uuidString, keyID: access.keyID, key: access.key)
            default:
                let app = play.settings.apps[0].app
                play.settings.apps[0].app = App(
                    bundleID: try #require(BundleID("com.example.unknown")), environment: .production,
                    grace: app.grace, since: nil)
            }
            let bought = play.buy("1000000000000028")
            try await play.upload(play.receipt([bought]), for: bought)
            await #expect {
                _ = try await play.night()
            } throws: { error in
                guard case .configuration(let text) = error as? JobError else { return false }
                return text.contains("401") && text.contains(access.keyID)
            }
            #expect(try await play.count("iap.receipts WHERE state = 'waiting' AND attempts = 0") == 1)
            #expect(try await play.count("iap.runs") == 0)
            let findings = await Doctor(settings: play.settings).examine()
            let finding = try #require(findings.first { $0.name.hasPrefix("App Store Server API") })
            #expect(finding.verdict == .wrong)
            #expect(finding.remedy?.contains("server_api_key_file") == true)
        }
    }

    /// With a new revision each time, so that no page is asked for twice.
    @Test func aHistoryThatNeverEndsKeepsNoNightGoing() async throws {
        let pages = Mutex(0)
        try await TestServer.with({ request, connection in
            guard request.path.contains("/history/") else { return connection.respond(404) }
            let page = pages.withLock { pages in
                pages += 1
                return pages
            }
            return connection.respond(
                body: Data(#"{"hasMore":true,"revision":"r\#(page)","signedTransactions":[]}"#.utf8))
        }) { server in
            try await withPlay(hasKey: true) { play in
                let bought = play.buy("1000000000000031")
                let number = try await play.upload(play.receipt([bought]), for: bought)
                var play = play
                play.settings.apple.serverAPIProduction = server.url
                play.settings.apps[0].mostHistoryPages = 5
                let (report, findings) = try await play.night()
                #expect(report.receipts.tryAgain == 1)
                #expect(pages.withLock { $0 } == 5)
                // What its signature says counts, and that more is wanting is listed.
                #expect(findings.caseIDs == [bought.id])
                let listed = try #require(findings.unverified.first { $0.receiptID == number })
                #expect(listed.detail.contains("goes on after 5 pages"), "\(listed.detail)")
            }
        }
    }

    @Test func anAnswerAgainstApplesOwnSignatureIsSuspicious() async throws {
        try await withPlay(.verifyReceipt) { play in
            let bought = play.buy("1000000000000029")
            let number = try await play.upload(play.receipt([bought]), for: bought)
            // A store of other keys takes this one's receipts for forged.
            let stranger = SimulatedAppStore(seed: 7, keys: .stranger)
            let addresses = try stranger.start()
            defer { stranger.stop() }
            var play = play
            play.settings.apple.verifyReceiptProduction = addresses.productionVerifyReceipt
            let findings = try await play.night().findings
            #expect(findings.unusable.map(\.problem) == [.contradicted])
            #expect(findings.suspicions.map(\.kind) == [.contradiction])
            #expect(findings.suspicions.first?.subject.receiptID == number)
            #expect(findings.suspicions.first?.subject.transactionID == bought.id)
            #expect(try await play.count("iap.receipts WHERE signature = 'valid' AND state = 'waiting'") == 1)
        }
    }

    @Test func whatAppleSignedIsNeverGivenUpAsMalformed() async throws {
        try await withPlay(.verifyReceipt) { play in
            let bought = play.buy("1000000000000030")
            try await play.upload(play.receipt([bought]), for: bought)
            try await play.upload("bm90IGEgcmVjZWlwdA==", by: "ben")
            // As in Apple's outage of February 2023: 21002 for every receipt.
            let outage = SimulatedAppStore(seed: 7, faults: try Faults([.malformed: 1]))
            let addresses = try outage.start()
            defer { outage.stop() }
            var play = play
            let production = play.settings.apple.verifyReceiptProduction
            play.settings.apple.verifyReceiptProduction = addresses.productionVerifyReceipt
            for night in 1...4 {
                let findings = try await play.night(night).findings
                #expect(findings.unverified.map(\.userID) == ["anna"])
                #expect(findings.unverified.first?.problem == .tryAgain)
                #expect(findings.unverified.first?.detail.contains("signature holds") == true)
                #expect(findings.unusable.map(\.problem) == [.malformed])
            }
            #expect(try await play.count("iap.receipts WHERE state = 'unusable' AND user_id = 'ben'") == 1)
            play.settings.apple.verifyReceiptProduction = production
            #expect(try await play.night(5).findings.caseIDs == [bought.id])
        }
    }

    /// That an account is gone may be said once in error; and only the receipt tells, without a key, what was refunded.
    @Test func whatIsOwedIsAskedAboutOnAfterARefusal() async throws {
        try await withPlay(.verifyReceipt) { play in
            let bought = play.buy("1000000000000032", hoursAgo: 30)
            try await play.upload(play.receipt([bought]), for: bought)
            #expect(try await play.night().findings.caseIDs == [bought.id])
            let refused = try await TestServer.with({ _, connection in
                connection.respond(body: Data(#"{"status":21010}"#.utf8))
            }) { server in
                var refused = play
                refused.settings.apple.verifyReceiptProduction = server.url
                return try await refused.night(2).report.receipts
            }
            #expect(refused.tryAgain == 1)
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 60)) }
            #expect(try await play.night(3).findings.caseIDs == [])
        }
    }

    /// A secret that Apple misses may be another app's; that Apple can't be asked says nothing of whose a receipt is.
    @Test func aReceiptOfAnotherAppWaitsUntilAppleCanBeAsked() async throws {
        try await withPlay(.verifyReceipt) { play in
            let foreign = SimulatedTransaction(
                id: "1000000000000031", productID: "coins.100", purchasedAt: play.began - 90_000)
            try await play.upload(play.receipt([foreign], bundleID: Play.foreignBundleID), for: foreign)
            var unreachable = play
            unreachable.settings.apple.verifyReceiptProduction = "not an address"
            let findings = try await unreachable.night().findings
            #expect(findings.unverified.map(\.problem) == [.needsConfiguration])
            #expect(try await play.count("iap.excluded") == 0)
            _ = try await play.night(2)
            #expect(try await play.count("iap.excluded WHERE reason = 'foreign_bundle'") == 1)
        }
    }

    /// Too few for Apple to count as down: they are due again at once all the same.
    @Test func fewReceiptsThatAppleWasNotReachedForStayDue() async throws {
        try await withPlay(.verifyReceipt) { play in
            let bought = play.buy("1000000000000032")
            try await play.upload(play.receipt([bought]), for: bought)
            play.store.setOutage(true)
            await #expect {
                _ = try await play.night()
            } throws: { error in
                guard case .appleUnavailable = error as? JobError else { return false }
                return true
            }
            play.store.setOutage(false)
            #expect(try await play.night().findings.caseIDs == [bought.id])
        }
    }
}
