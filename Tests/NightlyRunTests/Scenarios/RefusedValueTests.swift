import AppStoreSimulator
import Foundation
import Job
import PostgreSQL
import Reconciliation
import TestSupport
import Testing
import Verification

/// What one payload says holds up no other, whatever PostgreSQL refuses of it.
@Suite struct RefusedValueTests {
    @Test(arguments: [true, false])
    func aBatchIsRecordedPayloadByPayloadWhereAValueIsRefused(isWhole: Bool) async throws {
        try await withPlay { play in
            var play = play
            if !isWhole { play.settings.batchSize = 1 }
            try await play.administer("ALTER TABLE iap.transactions ADD CHECK (product_id <> 'gems.refused')")
            let bought = [play.buy("1000000000000101"), play.buy("1000000000000102")]
            let refused = play.buy("1000000000000103", "gems.refused")
            for transaction in bought + [refused] {
                try await play.upload(play.receipt([transaction]), for: transaction)
            }
            #expect(try await play.night(isDryRun: true).report.receipts.verified == 2)

            let (report, findings) = try await play.night()
            #expect(report.receipts.verified == 2 && report.receipts.tryAgain == 1 && report.receipts.left == 0)
            #expect(findings.caseIDs == Set(bought.map(\.id)))
            #expect(findings.unverified.map(\.transactionID) == [refused.id])
            #expect(findings.unverified.first?.problem == .unreadableAnswer)
            #expect(findings.unverified.first?.detail.contains("23514") == true)
            #expect(
                try await play.count(
                    """
                    iap.receipts
                    WHERE state = 'waiting' AND attempts = 1 AND next_attempt_at > last_attempt_at
                        AND error_text LIKE '%23514%'
                    """) == 1)
            try await play.administer("ALTER TABLE iap.transactions DROP CONSTRAINT transactions_product_id_check")
            #expect(try await play.night(2).findings.caseIDs == Set((bought + [refused]).map(\.id)))
        }
    }

    /// As answers and signatures were seen to say.
    @Test(arguments: [
        #","revocationReason":0"#, #","price":9223372036854775807,"currency":"USD""#,
        #","price":-990,"currency":"USD""#,
        #","appAccountToken":"\#((0..<1_000).map { _ in UUID().uuidString }.joined())""#,
        #","storefront":"US\u0000""#,
    ])
    func noValueEndsANight(further: String) async throws {
        try await withPlay(.local) { play in
            let bought = (1...2).map { play.buy("100000000000011\($0)") }
            for transaction in bought {
                try await play.upload(play.receipt([transaction], style: .signedTransaction), for: transaction)
            }
            try await play.upload(Signed.transaction("1000000000000113", further: further))
            let (report, findings) = try await play.night()
            #expect(report.receipts.left == 0)
            #expect(findings.caseIDs.isSuperset(of: bought.map(\.id)))
            _ = try await play.night(2)
        }
    }
}
