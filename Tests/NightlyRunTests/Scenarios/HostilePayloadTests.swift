import AppStoreSimulator
import Foundation
import Job
import PostgreSQL
import Reconciliation
import Synchronization
import TestSupport
import Testing
import Verification

/// What one client uploads takes nothing from the others, however Apple answers it.
@Suite struct HostilePayloadTests {
    /// A play before a `verifyReceipt` that answers an upload of `buy ID` as genuine, and any other as the test says.
    private func withAnswers<Value>(
        _ reply: @escaping @Sendable (String) -> (status: Int, body: String),
        _ body: (Play) async throws -> Value
    ) async throws -> Value {
        try await TestServer.with({ request, connection in
            let text = Self.uploaded(in: request.body)
            guard text.hasPrefix("buy ") else {
                let (status, body) = reply(text)
                return connection.respond(status, body: Data(body.utf8))
            }
            let id = text.dropFirst(4)
            return connection.respond(
                body: Data(
                    """
                    {"status":0,"environment":"Production","receipt":{"bundle_id":"\(Play.bundleID)","in_app":[\
                    {"quantity":"1","product_id":"gems.60","transaction_id":"\(id)","original_transaction_id":"\(id)",\
                    "purchase_date_ms":"1700000000000"}]}}
                    """.utf8))
        }) { server in
            try await withPlay(.verifyReceipt) { play in
                var play = play
                play.settings.apple.verifyReceiptProduction = server.url
                play.settings.apple.verifyReceiptSandbox = server.url
                play.settings.apple.attempts = 1
                return try await body(play)
            }
        }
    }

    private static func uploaded(in body: Data) -> String {
        let question = try? JSONDecoder().decode([String: JSONText].self, from: body)
        let bytes = question?["receipt-data"]?.text.flatMap { Data(base64Encoded: $0) } ?? Data()
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The question's values that are text.
    private struct JSONText: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws {
            text = try? decoder.singleValueContainer().decode(String.self)
        }
    }

    private static func payload(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    /// Sixty that Apple's server chokes on, one after the other, and some that it does not.
    @Test(arguments: [(413, ""), (400, "<html>"), (200, #"{"status":0}"#), (500, "")])
    func whatAppleChokesOnMakesNobodyBelieveThatAppleWentDown(status: Int, body: String) async throws {
        try await withAnswers({ _ in (status, body) }) { play in
            let ids = (1...3).map { "100000000000020\($0)" }
            for id in ids { try await play.upload(Self.payload("buy \(id)")) }
            for number in 1...60 { try await play.upload(Self.payload("hostile \(number)"), by: "mallory") }
            var nights = 0
            repeat {
                nights += 1
                _ = try await play.night(nights)
            } while try await play.count("iap.receipts WHERE user_id = 'anna' AND state = 'watched'") < ids.count
                && nights < 9
            // Of a server that fails, the job believes for a night that it is down; what it tried is given up in time.
            #expect(nights <= (status == 500 ? 9 : 1))
            #expect(try await play.count("iap.white") == ids.count)
            if status != 500 {
                let tried: Int = try await play.count("iap.receipts WHERE user_id = 'mallory' AND attempts = 1")
                #expect(tried == 60)
            }
        }
    }

    /// Nothing that Apple would ever call a receipt: it waits for no better answer, and no night ends for it.
    @Test func whatIsNoReceiptAtAllIsGivenUp() async throws {
        try await withAnswers({ _ in (500, "") }) { play in
            try await play.upload(Self.payload("buy 1000000000000301"))
            for number in 1...5 { try await play.upload(Self.payload("junk \(number)"), by: "mallory") }
            for night in 1...3 {
                let (report, findings) = try await play.night(night)
                #expect(report.outcome == .complete, "night \(night): \(report.outcome)")
                #expect(findings.unusable.map(\.problem) == Array(repeating: .malformed, count: 5))
                #expect(findings.unusable.allSatisfy { $0.detail.contains("500") })
                #expect(try await play.count("iap.receipts WHERE state = 'unusable'") == (night < 3 ? 0 : 5))
            }
            #expect(try await play.night(4).report.receipts.due == 1)
        }
    }

    /// Apple asks for the secret of the other app.
    @Test func anotherAppsReceiptIsNotHeldAgainstThisOnesSecret() async throws {
        try await withAnswers({ _ in (200, #"{"status":21004}"#) }) { play in
            let bought = SimulatedTransaction(
                id: "1000000000000401", productID: "coins.100", purchasedAt: play.began - 90_000)
            try await play.upload(play.receipt([bought], bundleID: Play.foreignBundleID), by: "mallory")
            let (report, findings) = try await play.night()
            #expect(report.outcome == .complete)
            #expect(report.toMend.filter { $0.cause == .refused } == [])
            #expect(findings.suspicions.map(\.kind) == [.foreignBundle])
        }
    }
}
