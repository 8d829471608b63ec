import Foundation
import HTTP
import Testing

@testable import AppStore

/// A client of the App Store Server API, a server that follows a test's script, and what that server signs with.
struct ServerAPIStage {
    let client: ServerAPIClient
    let server: ScriptedServer
    let chain: TestChain

    typealias Script = @Sendable (ScriptedServer.Request, Int) -> ScriptedServer.Reply

    /// Runs the body. Paths begin with `production/` or `sandbox/`.
    static func with(
        _ time: TestPace = TestPace(), settings change: (inout ServerAPISettings) -> Void = { _ in },
        script: @escaping @Sendable (TestChain) throws -> Script, _ body: (ServerAPIStage) async throws -> Void
    ) async throws {
        let chain = try await TestChain.shared.value
        let server = try ScriptedServer(try script(chain))
        defer { server.stop() }
        var settings = ServerAPISettings()
        settings.production = server.url("production")
        settings.sandbox = server.url("sandbox/")
        settings.timeout = 10
        settings.concurrency = 8
        change(&settings)
        let client = ServerAPIClient(
            http: try HTTPClient(), settings: settings,
            credentials: ServerAPICredentials(
                AppStoreConnectCredentials(issuerID: "issuer", keyID: "2X9R4HXF34", key: chain.key),
                bundleID: TestPayload.bundleID, appAppleID: 1234),
            verifier: JWSVerifier(roots: try chain.roots), pace: time.pace)
        try await body(ServerAPIStage(client: client, server: server, chain: chain))
    }

    /// The same answer to each request.
    static func with(
        _ time: TestPace = TestPace(), reply: ScriptedServer.Reply, _ body: (ServerAPIStage) async throws -> Void
    ) async throws {
        try await with(time, script: { _ in { _, _ in reply } }, body)
    }

    /// What was asked so far: the environment and what follows it.
    var asked: [String] { server.received.map(\.path) }
}

extension ScriptedServer.Request {
    var isProduction: Bool { path.hasPrefix("production/") }
}

extension ScriptedServer.Reply {
    /// An error of the App Store Server API, with the HTTP status that its code begins with.
    static func apiError(_ code: Int) -> ScriptedServer.Reply {
        .http(code / 10_000, body: #"{"errorCode":\#(code),"errorMessage":"Apple's words."}"#)
    }

    static let unauthorized = ScriptedServer.Reply.http(401, body: "Unauthenticated\n\nRequest ID: X.0.0\n")

    static func transaction(_ jws: String) -> ScriptedServer.Reply {
        .json(#"{"signedTransactionInfo":"\#(jws)"}"#)
    }

    /// A page of Get Transaction History or Get Refund History.
    static func page(_ transactions: [String], revision: String?, hasMore: Bool) -> ScriptedServer.Reply {
        let list = transactions.map { "\"\($0)\"" }.joined(separator: ",")
        let revision = revision.map { #","revision":"\#($0)""# } ?? ""
        return .json(#"{"signedTransactions":[\#(list)],"hasMore":\#(hasMore)\#(revision),"environment":"any"}"#)
    }
}

/// Gathers all that a sequence of pages gives.
func outcomes<Page>(_ pages: ServerAPIPages<Page>) async throws -> [ServerAPIOutcome<Page>] {
    var outcomes: [ServerAPIOutcome<Page>] = []
    for try await outcome in pages { outcomes.append(outcome) }
    return outcomes
}
