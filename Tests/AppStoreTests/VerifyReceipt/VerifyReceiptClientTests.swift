import Foundation
import TestSupport
import Testing

@testable import AppStore

@Suite struct VerifyReceiptClientTests: ScriptedStore {
    let time = TestPace()

    private static let genuine = #"{"status":0,"receipt":{"bundle_id":"a","in_app":[\#(row("1"))]}}"#

    @Test func postsTheReceiptAndTheSecret() async throws {
        try await withClient({ _, _ in .json(Self.genuine) }) { client, server in
            let outcome = try await client.verify(receiptData: "AAA/+w==", sharedSecret: "s3cret")
            guard case .genuine(let answer) = outcome else { return #expect(Bool(false), "\(outcome)") }
            #expect(answer.transactions.map(\.transactionID) == ["1"])
            #expect(answer.environment == "Production")
            _ = try await client.verify(receiptData: "BBBB", sharedSecret: nil)
            let requests = server.received
            #expect(requests.map(\.path) == ["production", "production"])
            #expect(requests.map(\.method) == ["POST", "POST"])
            #expect(requests.map(\.contentType) == ["application/json", "application/json"])
            #expect(requests.map { $0.field("receipt-data") } == ["AAA/+w==", "BBBB"])
            #expect(requests.map { $0.field("password") } == ["s3cret", nil])
            #expect(requests.first.map { String(decoding: $0.body, as: UTF8.self) }?.contains("AAA/+w==") == true)
            #expect(
                requests.allSatisfy {
                    String(decoding: $0.body, as: UTF8.self).contains(#""exclude-old-transactions":false"#)
                })
        }
    }

    /// Errors are logged, reported and mailed.
    @Test func hidesTheSecretWhereAnErrorRepeatsIt() async throws {
        let long = String(repeating: "x", count: 100)
        for words in ["password 0123456789abcdef is wrong", long + " password 0123456789abcdef"] {
            try await withClient({ _, _ in .json(#"{"status":-1,"exception":"\#(words)"}"#) }) { client, _ in
                let outcome = try await client.verify(receiptData: "AAAA", sharedSecret: "0123456789abcdef")
                #expect(outcome == .tryAgain(.unknownStatus(-1, exception: nil)))
                let other = try await client.verify(receiptData: "AAAA", sharedSecret: "another")
                guard case .tryAgain(.unknownStatus(-1, let exception?)) = other else {
                    Issue.record("\(other)")
                    return
                }
                #expect(words.hasPrefix(exception))
            }
        }
    }

    @Test func asksSandboxWhereProductionSaysSo() async throws {
        try await withClient({ request, _ in
            request.path == "production" ? .status(21007) : .json(Self.genuine)
        }) { client, server in
            let outcome = try await client.verify(receiptData: "AAAA", sharedSecret: nil)
            guard case .genuine(let answer) = outcome else { return #expect(Bool(false), "\(outcome)") }
            #expect(answer.environment == "Sandbox")
            #expect(server.received.map(\.path) == ["production", "sandbox"])
            #expect(client.statistics.production.requests == 1)
            #expect(client.statistics.sandbox.requests == 1)
        }
    }

    @Test func goesBackToProductionWhereSandboxSaysSo() async throws {
        try await withClient({ request, earlier in
            if request.path == "sandbox" { return .status(21008) }
            return earlier == 0 ? .status(21007) : .status(21010)
        }) { client, server in
            try await expect(.accountGone, of: client)
            #expect(server.received.map(\.path) == ["production", "sandbox", "production"])
        }
    }

    @Test func endsWhereEachNamesTheOther() async throws {
        try await withClient({ request, _ in request.path == "production" ? .status(21007) : .status(21008) }) {
            client, server in
            try await expect(.tryAgain(.noEnvironment), of: client)
            #expect(server.received.map(\.path) == ["production", "sandbox", "production"])
        }
    }

    @Test(arguments: [
        ScriptedServer.Reply.http(503), .http(500, body: "<html>"), .http(429), .json("<html>"), .cut, .status(21005),
        .json(#"{"status":21009,"is-retryable":true}"#), .json(#"{"status":21150,"is_retryable":"1"}"#),
        .json(#"{"status":0,"receipt":{"in_app":[{"#),
    ])
    func triesAgainWhatMayPass(reply: ScriptedServer.Reply) async throws {
        try await withClient({ _, earlier in earlier < 2 ? reply : .status(21003) }) { client, server in
            try await expect(.notGenuine(status: 21003), of: client)
            #expect(server.received.count == 3)
            #expect(time.sleeps == [0.25, 0.5])
            #expect(client.statistics.production.retries == 2)
        }
    }

    @Test(arguments: [21000, 21002, 21003, 21004, 21010, -1, 21001])
    func doesNotRepeatWhatWillNotPassTonight(status: Int) async throws {
        try await withClient({ _, _ in .status(status) }) { client, server in
            _ = try await client.verify(receiptData: "AAAA", sharedSecret: nil)
            #expect(server.received.count == 1)
            #expect(time.sleeps.isEmpty)
        }
    }

    @Test func givesUpForTonightAfterItsAttempts() async throws {
        try await withClient({ _, _ in .http(503) }) { client, server in
            let outcome = try await client.verify(receiptData: "AAAA", sharedSecret: nil)
            #expect(outcome == .tryAgain(.http(503)))
            #expect(server.received.count == 4)
            #expect(time.sleeps.count == 3)
            #expect(client.statistics.production.unanswered == 4)
        }
    }

    @Test(arguments: [("7", 7.0), ("1795230003000", 3), ("Sat, 21 Nov 2026 03:00:30 GMT", 30)])
    func waitsAsLongAsAppleAsks(retryAfter: String, seconds: Double) async throws {
        try await withClient({ _, earlier in
            earlier == 0 ? .http(429, headers: ["Retry-After": retryAfter]) : .status(21003)
        }) { client, _ in
            try await expect(.notGenuine(status: 21003), of: client)
            #expect(time.sleeps == [seconds + 0.25])
            #expect(client.statistics.production.tooManyRequests == 1)
            #expect(client.statistics.production.concurrencyLimit == 4)
        }
    }

    @Test func doesNotWaitForHours() async throws {
        try await withClient({ _, _ in .http(429, headers: ["Retry-After": "86400"]) }) { client, server in
            let outcome = try await client.verify(receiptData: "AAAA", sharedSecret: nil)
            #expect(outcome == .tryAgain(.waitTooLong(http: 429, seconds: 86_400)))
            #expect(server.received.count == 1)
        }
    }

    @Test func timesOut() async throws {
        try await withClient(
            { _, _ in .silence },
            settings: {
                $0.timeout = 0.2
                $0.retries.attempts = 1
            }
        ) { client, _ in
            let outcome = try await client.verify(receiptData: "AAAA", sharedSecret: nil)
            guard case .tryAgain(let why) = outcome else { return #expect(Bool(false), "\(outcome)") }
            #expect(why.isTransport)
            #expect(client.statistics.production.unanswered == 1)
        }
    }

    @Test func endsAtOnceWhenItIsCancelled() async throws {
        try await withClient({ _, _ in .silence }, settings: { $0.timeout = 60 }) { client, server in
            let asking = Task { try await client.verify(receiptData: "AAAA", sharedSecret: nil) }
            try await waitUntil("Apple was asked") { !server.received.isEmpty }
            asking.cancel()
            await #expect(throws: CancellationError.self) { _ = try await asking.value }
        }
    }

    @Test func asksNothingMoreOfAServerThatIsDown() async throws {
        try await withClient(
            { _, _ in .http(503) },
            settings: {
                $0.circuit.unanswered = 3
                $0.retries.attempts = 1
            }
        ) { client, server in
            for _ in 0..<3 {
                try await expect(.tryAgain(.http(503)), of: client)
            }
            #expect(client.isCircuitOpen)
            for _ in 0..<5 { try await expect(.notTried, about: "A", of: client) }
            #expect(server.received.map { $0.field("receipt-data") } == ["AAAA", "AAAA", "AAAA", ""])
        }
    }

    /// What somebody uploads makes the connection break, as often as it is asked about; the server is well.
    @Test(arguments: [ScriptedServer.Reply.cut, .http(500), .json("<html>"), .status(21005)])
    func goesOnWhileWhatFailsIsTheReceiptsFault(reply: ScriptedServer.Reply) async throws {
        try await withClient(
            { request, _ in
                switch request.field("receipt-data") {
                case "": .status(21002)
                case "GOOD": .status(21003)
                default: reply
                }
            },
            settings: {
                $0.circuit.unanswered = 3
                $0.circuit.failed = 3
                $0.retries.attempts = 1
            }
        ) { client, server in
            for number in 0..<20 {
                let outcome = try await client.verify(receiptData: "BAD\(number)", sharedSecret: nil)
                guard case .tryAgain = outcome else { return #expect(Bool(false), "\(outcome)") }
            }
            try await expect(.notGenuine(status: 21003), about: "GOOD", of: client)
            #expect(!client.isCircuitOpen)
            #expect(server.received.count { $0.field("receipt-data") == "" } == 6)
        }
    }

    @Test func asksAgainOnceTheServerIsBack() async throws {
        try await withClient(
            { _, earlier in earlier < 4 ? .http(503) : .status(21003) },
            settings: {
                $0.circuit.unanswered = 3
                $0.retries.attempts = 1
            }
        ) { client, _ in
            for _ in 0..<4 { _ = try await client.verify(receiptData: "AAAA", sharedSecret: nil) }
            #expect(client.isCircuitOpen)
            time.advance(by: 60)
            try await expect(.notGenuine(status: 21003), of: client)
            #expect(!client.isCircuitOpen)
        }
    }

    @Test func goesOnWithProductionWhileSandboxIsDown() async throws {
        try await withClient(
            { request, _ in
                if request.path == "sandbox" { return .http(503) }
                return request.field("receipt-data") == "SAND" ? .status(21007) : .status(21003)
            },
            settings: {
                $0.circuit.unanswered = 2
                $0.retries.attempts = 1
            }
        ) { client, server in
            for _ in 0..<2 { _ = try await client.verify(receiptData: "SAND", sharedSecret: nil) }
            try await expect(.tryAgain(.sandboxDown), about: "SAND", of: client)
            try await expect(.notGenuine(status: 21003), of: client)
            #expect(!client.isCircuitOpen)
            #expect(client.statistics.sandbox.isCircuitOpen)
            let asked = server.received.filter { $0.path == "sandbox" }.map { $0.field("receipt-data") }
            #expect(asked == ["SAND", "SAND", ""])
        }
    }

    @Test func keepsAskingAboutOthersWhileOneReceiptFails() async throws {
        try await withClient(
            { request, _ in request.field("receipt-data") == "BAD" ? .http(500) : .status(21003) },
            settings: {
                $0.circuit.unanswered = 2
                $0.retries.attempts = 50
            }
        ) { client, _ in
            try await expect(.tryAgain(.http(500)), about: "BAD", of: client)
            #expect(!client.isCircuitOpen)
            try await expect(.notGenuine(status: 21003), about: "GOOD", of: client)
        }
    }

    @Test func namesTheAddressThatCannotBe() async throws {
        try await withClient(
            { _, _ in .status(0) },
            settings: { $0.production = "not an address" }
        ) { client, _ in
            let outcome = try await client.verify(receiptData: "AAAA", sharedSecret: "s3cret")
            guard case .needsConfiguration(let text) = outcome else { return #expect(Bool(false), "\(outcome)") }
            #expect(!text.contains("s3cret"))
        }
    }

    @Test func asksManyAtOnceWithinItsLimit() async throws {
        try await withClient({ request, _ in
            .json(#"{"status":0,"receipt":{"bundle_id":"\#(request.field("receipt-data") ?? "")"}}"#)
        }) { client, server in
            try await withThrowingTaskGroup { group in
                for number in 0..<100 {
                    group.addTask { (number, try await client.verify(receiptData: "\(number)", sharedSecret: nil)) }
                }
                for try await (number, outcome) in group {
                    guard case .genuine(let answer) = outcome else { return #expect(Bool(false), "\(outcome)") }
                    #expect(answer.bundleID == "\(number)")
                }
            }
            #expect(server.received.count == 100)
        }
    }
}
