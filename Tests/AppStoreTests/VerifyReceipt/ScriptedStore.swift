import HTTP
import Testing

@testable import AppStore

/// A suite that asks a server of its own for verdicts, in a time of its own.
protocol ScriptedStore {
    var time: TestPace { get }
}

extension ScriptedStore {
    /// Runs the body with a client of a server that follows the script.
    func withClient(
        _ script: @escaping @Sendable (ScriptedServer.Request, Int) -> ScriptedServer.Reply,
        settings change: (inout VerifyReceiptSettings) -> Void = { _ in },
        _ body: (VerifyReceiptClient, ScriptedServer) async throws -> Void
    ) async throws {
        let server = try ScriptedServer(script)
        defer { server.stop() }
        var settings = VerifyReceiptSettings()
        settings.production = server.url("production")
        settings.sandbox = server.url("sandbox")
        settings.timeout = 10
        settings.concurrency = 8
        change(&settings)
        let http = try HTTPClient(HTTPClient.Configuration())
        try await body(VerifyReceiptClient(http: http, settings: settings, pace: time.pace), server)
    }

    func expect(
        _ expected: VerifyReceiptOutcome, about receipt: String = "AAAA", of client: VerifyReceiptClient,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let outcome = try await client.verify(receiptData: receipt, sharedSecret: nil)
        #expect(outcome == expected, sourceLocation: sourceLocation)
    }
}
