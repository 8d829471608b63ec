import HTTP
import Testing

@testable import AppStore

/// What a server that fails is asked, and when no more.
@Suite struct PacedEndpointTests {
    private let time = TestPace()

    /// Runs the body with a client of a server that always gives the reply.
    private func withClient(
        _ reply: ScriptedServer.Reply, settings change: (inout VerifyReceiptSettings) -> Void,
        _ body: (VerifyReceiptClient, ScriptedServer) async throws -> Void
    ) async throws {
        let server = try ScriptedServer { _, _ in reply }
        defer { server.stop() }
        var settings = VerifyReceiptSettings()
        settings.production = server.url("production")
        settings.sandbox = server.url("sandbox")
        settings.timeout = 10
        change(&settings)
        let http = try HTTPClient(HTTPClient.Configuration())
        try await body(VerifyReceiptClient(http: http, settings: settings, pace: time.pace), server)
    }

    private func expect(
        _ expected: VerifyReceiptOutcome, about receipt: String = "A", of client: VerifyReceiptClient,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let outcome = try await client.verify(receiptData: receipt, sharedSecret: nil)
        #expect(outcome == expected, sourceLocation: sourceLocation)
    }

    @Test func aServerThatAsksForHoursIsDown() async throws {
        try await withClient(
            .http(429, headers: ["Retry-After": "86400"]), settings: { $0.circuit.unanswered = 3 }
        ) { client, server in
            for receipt in ["A", "B", "C"] {
                try await expect(.tryAgain(.waitTooLong(http: 429, seconds: 86_400)), about: receipt, of: client)
            }
            #expect(client.isCircuitOpen)
            try await expect(.notTried, about: "D", of: client)
            #expect(server.received.map { $0.field("receipt-data") } == ["A", "B", "C", ""])
        }
    }

    /// A night with many receipts would otherwise sleep for each of them.
    @Test func nobodyWaitsToAskAServerThatIsDownAgain() async throws {
        try await withClient(.http(503), settings: { $0.circuit.unanswered = 1 }) { client, server in
            try await expect(.tryAgain(.http(503)), of: client)
            #expect(client.isCircuitOpen)
            #expect(server.received.map { $0.field("receipt-data") } == ["A", "A", ""])
            #expect(time.sleeps == [0.25])
        }
    }

    @Test func theControlQuestionIsCounted() async throws {
        try await withClient(
            .http(503),
            settings: {
                $0.circuit.unanswered = 1
                $0.retries.attempts = 1
            }
        ) { client, _ in
            try await expect(.tryAgain(.http(503)), of: client)
            let counts = client.statistics.production
            #expect(counts.requests == 2 && counts.unanswered == 2 && counts.retries == 0)
        }
    }

    @Test func whoIsAskedTooMuchAnswers() async throws {
        try await withClient(.http(429), settings: { $0.retries.attempts = 1 }) { client, _ in
            try await expect(.tryAgain(.http(429)), of: client)
            let counts = client.statistics.production
            #expect(counts.tooManyRequests == 1 && counts.unanswered == 0)
        }
    }
}
