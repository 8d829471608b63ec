import Foundation
import HTTP
import Testing

@testable import AppStore

@Suite struct SalesReportClientTests {
    private static let gzip = Data([0x1F, 0x8B, 0x08, 0x00])

    private static func refusal(_ status: Int, _ code: String, _ detail: String = "Apple's words.")
        -> ScriptedServer.Reply
    {
        .http(status, body: #"{"errors":[{"status":"\#(status)","code":"\#(code)","detail":"\#(detail)"}]}"#)
    }

    private func withClient(
        _ replies: [ScriptedServer.Reply], attempts: Int = 1,
        _ body: (SalesReportClient, ScriptedServer) async throws -> Void
    ) async throws {
        try await withClient(attempts: attempts, body) { _, number in replies[min(number, replies.count - 1)] }
    }

    private func withClient(
        attempts: Int = 1, _ body: (SalesReportClient, ScriptedServer) async throws -> Void,
        answering script: @escaping @Sendable (ScriptedServer.Request, Int) -> ScriptedServer.Reply
    ) async throws {
        let server = try ScriptedServer(script)
        defer { server.stop() }
        let settings = SalesReportSettings(
            vendorNumber: "85012345", address: server.url("connect"), timeout: 10, retries: Backoff(attempts: attempts))
        let credentials = AppStoreConnectCredentials(
            issuerID: "issuer", keyID: "2X9R4HXF34", key: try await TestChain.shared.value.key)
        try await body(
            SalesReportClient(
                http: try HTTPClient(), settings: settings, credentials: credentials, pace: TestPace().pace), server)
    }

    private func outcome(_ reply: ScriptedServer.Reply) async throws -> SalesReportClient.Outcome {
        var outcome: SalesReportClient.Outcome?
        try await withClient([reply]) { client, _ in outcome = try await client.report(of: "2026-11-20") }
        return try #require(outcome)
    }

    @Test func asksForTheDailySummaryOfADay() async throws {
        try await withClient([.data(Self.gzip)]) { client, server in
            let outcome = try await client.report(of: "2026-11-20")
            #expect(outcome == .report(Self.gzip))
            let request = try #require(server.received.first)
            #expect(request.method == "GET")
            #expect(
                request.path == "connect/v1/salesReports?filter%5Bfrequency%5D=DAILY&filter%5BreportDate%5D=2026-11-20"
                    + "&filter%5BreportSubType%5D=SUMMARY&filter%5BreportType%5D=SALES"
                    + "&filter%5BvendorNumber%5D=85012345")
            let jws = try CompactJWS(try #require(request.authorization).dropFirst("Bearer ".count).utf8, limit: 10_000)
            #expect(!String(decoding: try jws.payload(), as: UTF8.self).contains("bid"))
        }
    }

    @Test(arguments: ["There were no sales for the date specified.", "Report is not available yet."])
    func aDayWithoutAReportIsNoError(detail: String) async throws {
        #expect(try await outcome(Self.refusal(404, "NOT_FOUND", detail)) == .notThere)
    }

    /// What something on the way answers is not Apple's word.
    @Test func aPageOfAnotherServerIsNoAnswer() async throws {
        #expect(try await outcome(.http(404, body: "<html>Not Found</html>")) == .tryAgain(.http(404)))
        #expect(try await outcome(.http(403, body: "<html>Forbidden</html>")) == .tryAgain(.http(403)))
        #expect(try await outcome(Self.refusal(404, "PATH_ERROR")) == .tryAgain(.http(404)))
        guard case .tryAgain(.unreadable) = try await outcome(.http(200, body: "<html>Log in</html>")) else {
            Issue.record("a page was taken for a report")
            return
        }
    }

    @Test(arguments: [
        (401, "NOT_AUTHORIZED", "key_id"), (403, "FORBIDDEN_ERROR", "role Admin, Finance or Sales"),
        (400, "PARAMETER_ERROR.INVALID", "vendor_number"),
    ])
    func whatMustBeMendedIsSaid(status: Int, code: String, word: String) async throws {
        guard case .needsConfiguration(let text) = try await outcome(Self.refusal(status, code)) else {
            Issue.record("\(status) needs no configuration")
            return
        }
        #expect(text.contains(word) && text.contains("\(status)"), "\(text)")
        if status != 401 { #expect(text.hasSuffix(": “Apple's words.”"), "\(text)") }
    }

    @Test(arguments: ["1_1", "1_12"])
    func asksForTheVersionThatAppleNames(version: String) async throws {
        let detail = "Please include the version parameter. The latest version for this report is \(version)."
        let refusal = Self.refusal(400, "PARAMETER_ERROR.INVALID", detail)
        let named = "&filter%5Bversion%5D=\(version)"
        try await withClient { client, server in
            let outcome = try await client.report(of: "2026-11-20")
            #expect(outcome == .report(Self.gzip))
            let paths = server.received.map(\.path)
            #expect(paths.map { $0.contains("version") } == [false, true], "\(paths)")
        } answering: { request, _ in
            request.path.hasSuffix(named) ? .data(Self.gzip) : refusal
        }
        try await withClient([refusal]) { client, server in
            guard case .needsConfiguration(let text) = try await client.report(of: "2026-11-20") else {
                Issue.record("what Apple refuses twice was no trouble")
                return
            }
            #expect(text.contains(detail), "\(text)")
            #expect(server.received.count == 2)
        }
    }

    @Test func asksAgainWhereThatMayHelp() async throws {
        let replies = [.http(503, body: ""), .http(429, body: ""), ScriptedServer.Reply.data(Self.gzip)]
        try await withClient(replies, attempts: 3) { client, server in
            let outcome = try await client.report(of: "2026-11-20")
            #expect(outcome == .report(Self.gzip))
            #expect(server.received.count == 3)
        }
    }
}
