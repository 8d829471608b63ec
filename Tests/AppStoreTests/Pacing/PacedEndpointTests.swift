import Testing

@testable import AppStore

/// What a server that fails is asked, and when no more.
@Suite struct PacedEndpointTests: ScriptedStore {
    let time = TestPace()

    @Test func aServerThatAsksForHoursIsDown() async throws {
        try await withClient(
            { _, _ in .http(429, headers: ["Retry-After": "86400"]) }, settings: { $0.circuit.unanswered = 3 }
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
        try await withClient({ _, _ in .http(503) }, settings: { $0.circuit.unanswered = 1 }) { client, server in
            try await expect(.tryAgain(.http(503)), about: "A", of: client)
            #expect(client.isCircuitOpen)
            #expect(server.received.map { $0.field("receipt-data") } == ["A", "A", ""])
            #expect(time.sleeps == [0.25])
        }
    }

    @Test func theControlQuestionIsCounted() async throws {
        try await withClient(
            { _, _ in .http(503) },
            settings: {
                $0.circuit.unanswered = 1
                $0.retries.attempts = 1
            }
        ) { client, _ in
            try await expect(.tryAgain(.http(503)), about: "A", of: client)
            let counts = client.statistics.production
            #expect(counts.requests == 2 && counts.unanswered == 2 && counts.retries == 0)
        }
    }

    @Test func whoIsAskedTooMuchAnswers() async throws {
        try await withClient({ _, _ in .http(429) }, settings: { $0.retries.attempts = 1 }) { client, _ in
            try await expect(.tryAgain(.http(429)), about: "A", of: client)
            let counts = client.statistics.production
            #expect(counts.tooManyRequests == 1 && counts.unanswered == 0)
        }
    }
}
