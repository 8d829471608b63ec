import Foundation
import Reconciliation
import Testing

@testable import Commands

/// What `doctor` says of Apple's notifications.
@Suite struct DoctorHearingTests {
    private static let now = Date(timeIntervalSince1970: 1_790_000_000)

    /// The findings of one app, as “verdict: text”, and what each advises.
    private func findings(
        heardHoursAgo: Double = 30, problem: String? = nil, unsent: Int = 0, why: String? = nil, delivered: Int = 0,
        notTaken: [HearingFigures.NotTaken] = []
    ) throws -> (texts: [String], advice: [String?]) {
        let bundleID = try #require(BundleID("com.example.game"))
        let found = Doctor.findings(
            on: HearingFigures(
                bundleID: bundleID, heardThrough: Self.now, lastSignedAt: Self.now - heardHoursAgo * 3600,
                problem: problem, notTaken: notTaken, unsent: unsent, whyUnsent: why, deliveredSince: delivered),
            now: Self.now)
        #expect(found.allSatisfy { $0.name == "notifications of com.example.game" && $0.verdict == .warning })
        return (found.map(\.text), found.map(\.remedy))
    }

    @Test func whatAppleCouldNotSendIsToldWithWhereToLook() throws {
        let (texts, advice) = try findings(unsent: 121, why: "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
        #expect(texts == ["Apple could not send 121 in three days (UNSUCCESSFUL_HTTP_RESPONSE_CODE)"])
        #expect(advice.first??.contains("App Store Server Notifications") == true)
        #expect(try findings(unsent: 1).texts == ["Apple could not send 1 in three days (no reason given)"])
        #expect(try findings().texts == [])
    }

    /// Few deliveries in a day without a notification are no sign, nor is an hour without one.
    @Test func deliveriesThatAppleTellsNothingOfAreTold() throws {
        let (texts, advice) = try findings(delivered: 20)
        #expect(texts == ["none since 2026-09-20T08:13:20Z, and 20 purchases were delivered since"])
        #expect(advice.first??.contains("App Store Server Notifications") == true)
        #expect(try findings(delivered: 19).texts == [])
        #expect(try findings(heardHoursAgo: 1, delivered: 500).texts == [])
    }

    @Test func whatWasNotReadOrNotTakenIsToldByWhereItLies() throws {
        #expect(
            try findings(problem: "The key was revoked.", delivered: 500).texts
                == ["Apple's history was not read to its end: The key was revoked."])
        let (texts, advice) = try findings(notTaken: [
            .init(heardBy: .history, problem: "a value", notices: 2),
            .init(heardBy: .appServer, problem: "another app's", notices: 3),
        ])
        #expect(
            texts == [
                "2 in Apple's history were not taken: a value",
                "3 that the app's server handed on were not taken: another app's",
            ])
        #expect(advice.first??.contains("each night tries them again") == true)
        #expect(advice.last??.contains("iap.submit_notification") == true)
    }
}
