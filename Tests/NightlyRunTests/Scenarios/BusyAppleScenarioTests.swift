import AppStoreSimulator
import Foundation
import Job
import PostgreSQL
import Reconciliation
import Testing
import Verification

/// S10: Apple could not verify a receipt for some nights, which says nothing of the receipt.
@Suite struct BusyAppleScenarioTests {
    /// Plays these nights beside an App Store that is always busy.
    private func endure(
        _ nights: ClosedRange<Int>, _ play: Play, _ check: (Int, Collector) throws -> Void = { _, _ in }
    ) async throws {
        let busy = SimulatedAppStore(seed: 7, faults: try Faults([.unavailable: 1]))
        let addresses = try busy.start()
        defer { busy.stop() }
        var waiting = play
        waiting.settings.apple.verifyReceiptProduction = addresses.productionVerifyReceipt
        waiting.settings.apple.attempts = 1
        for night in nights { try check(night, try await waiting.night(night).findings) }
    }

    @Test func s10AppleWasBusyForThreeNights() async throws {
        try await withPlay(.verifyReceipt) { play in
            let lost = play.buy("1000000000001001")
            let number = try await play.upload(play.receipt([lost]), for: lost)
            try await endure(1...3, play) { night, findings in
                #expect(findings.cases.isEmpty)
                #expect(findings.unverified.map(\.receiptID) == [number])
                #expect(findings.unverified.first?.attempts == night)
            }
            #expect(try await play.night(4).findings.cases.map(\.key.id.text) == [lost.id])
            #expect(try await play.count("iap.white") == 1)
        }
    }

    /// What a receipt was uploaded for may come with Apple's next answers, however long the first was waited for.
    @Test func s10WhatTheReceiptLacksIsStillAwaitedAfterAnOutage() async throws {
        try await withPlay(.verifyReceipt) { play in
            let (held, lacking) = (play.buy("1000000000001003"), play.buy("1000000000001004"))
            try await play.upload(play.receipt([held]), for: lacking)
            #expect(try await play.admit(held) == "white")
            #expect(try await play.claim(held) == "delivered")
            try await endure(1...3, play)
            _ = try await play.night(4)
            #expect(try await play.count("iap.receipts WHERE state = 'watched' AND attempts = 1") == 1)
        }
    }
}
