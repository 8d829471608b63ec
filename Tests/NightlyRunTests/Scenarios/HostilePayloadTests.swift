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
    /// What becomes of the question about an upload.
    private enum Reply: CustomTestStringConvertible {
        case http(Int, String)
        /// The connection breaks.
        case cut

        var testDescription: String {
            switch self {
            case .http(let status, let body): "HTTP \(status) \(body)"
            case .cut: "no answer"
            }
        }
    }

    /// A play before a `verifyReceipt` that answers an upload of `buy ID` as genuine, none as Apple does, and any other
    /// as the test says.
    private func withAnswers<Value>(
        _ reply: @escaping @Sendable (String) -> Reply,
        _ body: (Play) async throws -> Value
    ) async throws -> Value {
        try await TestServer.with({ request, connection in
            let text = Self.uploaded(in: request.body)
            guard !text.isEmpty else { return connection.respond(body: Data(#"{"status":21002}"#.utf8)) }
            guard text.hasPrefix("buy ") else {
                switch reply(text) {
                case .http(let status, let body): return connection.respond(status, body: Data(body.utf8))
                case .cut: return .close
                }
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
    @Test(arguments: [Reply.http(413, ""), .http(400, "<html>"), .http(200, #"{"status":0}"#), .http(500, ""), .cut])
    private func whatAppleChokesOnMakesNobodyBelieveThatAppleWentDown(reply: Reply) async throws {
        try await withAnswers({ _ in reply }) { play in
            let ids = (1...3).map { "100000000000020\($0)" }
            for id in ids { try await play.upload(Self.payload("buy \(id)")) }
            for number in 1...60 { try await play.upload(Self.payload("hostile \(number)"), by: "mallory") }
            let report = try await play.night().report
            #expect(report.receipts.tried == 63)
            #expect(try await play.count("iap.receipts WHERE user_id = 'anna' AND state = 'watched'") == ids.count)
            #expect(try await play.count("iap.white") == ids.count)
            #expect(try await play.count("iap.receipts WHERE user_id = 'mallory' AND attempts = 1") == 60)
        }
    }

    /// A night that has time for few receipts takes those first that met no trouble yet.
    @Test func whatAppleChokedOnBeforeComesLast() async throws {
        try await withAnswers({ _ in .cut }) { play in
            for number in 1...20 { try await play.upload(Self.payload("hostile \(number)"), by: "mallory") }
            let ids = (1...4).map { "100000000000050\($0)" }
            try await play.upload(Self.payload("buy \(ids[0])"))
            _ = try await play.night()
            for id in ids.dropFirst() { try await play.upload(Self.payload("buy \(id)")) }
            let report = try await play.night(2, limit: ids.count).report
            #expect(report.receipts.verified == ids.count && report.beyondLimit == 20)
            #expect(try await play.count("iap.white") == ids.count)
        }
    }

    /// Nothing that Apple would ever call a receipt: it waits for no better answer, and no night ends for it.
    @Test func whatIsNoReceiptAtAllIsGivenUp() async throws {
        try await withAnswers({ _ in .http(500, "") }) { play in
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
        try await withAnswers({ _ in .http(200, #"{"status":21004}"#) }) { play in
            let bought = SimulatedTransaction(
                id: "1000000000000401", productID: "coins.100", purchasedAt: play.began - 90_000)
            try await play.upload(play.receipt([bought], bundleID: Play.foreignBundleID), by: "mallory")
            let (report, findings) = try await play.night()
            #expect(report.outcome == .complete)
            #expect(report.toMend.filter { $0.cause == .refused } == [])
            #expect(findings.suspicions.map(\.kind) == [.foreignBundle])
        }
    }

    /// As where a proxy mixes up answers: Apple's signature says whose the receipt is, and what it holds.
    @Test(arguments: [(Play.foreignBundleID, true), (Play.bundleID, true), (Play.bundleID, false)])
    func anAnswerAgainstApplesSignatureSettlesNothing(bundleID: String, holdsAnother: Bool) async throws {
        let another = """
            {"quantity":"1","product_id":"gems.60","transaction_id":"1000000000000403",\
            "purchase_date_ms":"1700000000000"}
            """
        let answer = """
            {"status":0,"environment":"Production","receipt":{"bundle_id":"\(bundleID)",\
            "in_app":[\(holdsAnother ? another : "")]}}
            """
        try await withAnswers({ _ in .http(200, answer) }) { play in
            let bought = SimulatedTransaction(
                id: "1000000000000402", productID: "gems.60", purchasedAt: play.began - 90_000)
            try await play.upload(play.receipt([bought]))
            let findings = try await play.night().findings
            #expect(findings.unverified.map(\.problem) == [.unreadableAnswer])
            #expect(findings.suspicions.isEmpty)
            #expect(try await play.count("iap.transactions") == 0)
        }
    }

    /// Nobody paid for what is sandbox's: by such an answer a paid purchase would be out of every list, for ever.
    @Test func anAnswerOfTheOtherEnvironmentThanApplesSignatureSettlesNothing() async throws {
        let answer = """
            {"status":0,"environment":"Sandbox","receipt":{"bundle_id":"\(Play.bundleID)",\
            "in_app":[\(Self.row("1000000000000404"))]}}
            """
        try await withAnswers({ _ in .http(200, answer) }) { play in
            let bought = SimulatedTransaction(
                id: "1000000000000404", productID: "gems.60", purchasedAt: play.began - 90_000)
            try await play.upload(play.receipt([bought]))
            let findings = try await play.night().findings
            #expect(findings.unverified.map(\.problem) == [.unreadableAnswer])
            #expect(findings.unverified.first?.detail.contains("Sandbox") == true)
            #expect(try await play.count("iap.transactions") == 0)
        }
    }

    /// As where the list of the receipt's own purchases is cut, or empty beside that of the subscriptions.
    @Test(arguments: ["in_app", "latest_receipt_info"])
    func whatApplesAnswerLacksItsSignatureBrings(list: String) async throws {
        let row = Self.row("1000000000000405")
        let answer = """
            {"status":0,"environment":"Production","receipt":{"in_app":[\(list == "in_app" ? row : "")]},\
            "latest_receipt_info":[\(list == "in_app" ? "" : row)]}
            """
        try await withAnswers({ _ in .http(200, answer) }) { play in
            let bought = ["1000000000000405", "1000000000000406"].map {
                SimulatedTransaction(id: $0, productID: "gems.60", purchasedAt: play.began - 90_000)
            }
            try await play.upload(play.receipt(bought))
            _ = try await play.night()
            #expect(try await play.count("iap.white WHERE source = 'verify_receipt'") == 1)
            #expect(try await play.count("iap.white WHERE source = 'local'") == 1)
            #expect(try await play.count("iap.receipts WHERE signature = 'valid' AND state = 'watched'") == 1)
        }
    }

    private static func row(_ id: String) -> String {
        """
        {"quantity":"1","product_id":"gems.60","transaction_id":"\(id)","purchase_date_ms":"1700000000000"}
        """
    }

    /// Most that hold nothing are genuine all the same, and are given up in time.
    @Test func anEmptyAnswerOfAnEmptyReceiptIsNoContradiction() async throws {
        let answer = #"{"status":0,"environment":"Production","receipt":{"bundle_id":"\#(Play.bundleID)","in_app":[]}}"#
        try await withAnswers({ _ in .http(200, answer) }) { play in
            try await play.upload(play.receipt([]))
            #expect(try await play.night().findings.unusable.map(\.problem) == [.noTransactions])
        }
    }
}
