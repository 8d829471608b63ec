import Foundation
public import HTTP

/// Asks the App Store Server API about one app's transactions, no faster than Apple allows, and not at all while Apple
/// is down. What Apple signed in its answers is verified before it is used.
///
/// Production and sandbox number transactions separately, and whoever has an id seldom knows which it is from. So if no
/// environment is named, production is asked first, and then sandbox if production doesn't know the id, or doesn't know
/// the app, as it was never released.
public struct ServerAPIClient: Sendable {
    private let production: ServerAPIEndpoint
    private let sandbox: ServerAPIEndpoint
    private let credentials: ServerAPICredentials
    private let verifier: JWSVerifier
    private let questions = QuestionCounter()

    /// - Parameters:
    ///   - http: sends the requests; it should allow `settings.concurrency` of them at once to one server.
    ///   - verifier: best shared by the clients of all apps, for it remembers chains.
    ///   - pace: the clocks, the waiting and the random numbers.
    public init(
        http: HTTPClient, settings: ServerAPISettings = ServerAPISettings(), credentials: ServerAPICredentials,
        verifier: JWSVerifier, pace: Pace = .real
    ) {
        let token = AppStoreConnectToken(
            credentials.access, for: .app(bundleID: credentials.bundleID), date: pace.date)
        production = ServerAPIEndpoint(
            .production, at: settings.production, settings, token: token, http: http, pace: pace)
        sandbox = ServerAPIEndpoint(.sandbox, at: settings.sandbox, settings, token: token, http: http, pace: pace)
        self.credentials = credentials
        self.verifier = verifier
    }

    /// Whether Apple's production counts as down, so that nothing is sent but a probe now and then.
    public var isCircuitOpen: Bool { production.isCircuitOpen }

    /// What was asked of an environment so far.
    public func statistics(of environment: ServerEnvironment) -> EndpointStatistics {
        endpoint(environment).statistics
    }

    /// Asks, and reads the answer of whichever environment knows the id.
    ///
    /// - Parameters:
    ///   - environment: the only one to ask; `nil` for production and then sandbox.
    ///   - read: decodes a body, verifying what is signed in it.
    func ask<Value: Sendable>(
        _ request: ServerAPIRequest, in environment: ServerEnvironment?,
        read: (Data, ServerAPIReader) throws -> Value
    ) async throws(CancellationError) -> ServerAPIOutcome<Value> {
        let number = questions.next()
        let first = endpoint(environment ?? .production)
        let answer = try await first.ask(request, number: number)
        guard environment == nil, Self.pointsAtSandbox(answer) else { return outcome(of: answer, from: first, read) }
        let second = try await sandbox.ask(request, number: number)
        switch (answer, second) {
        case (_, .circuitOpen): return .tryAgain(.sandboxDown)
        // Production knows the app and its key, so it is production that says that there is no such id.
        case (.verdict(.notFound), .verdict(.unauthorized)), (.verdict(.unknownApp), .verdict(.unauthorized)):
            return outcome(of: answer, from: first, read)
        // Production refuses every key of an app that was never released. It has also been seen to refuse good keys for
        // a moment, and then sandbox's answer does not mean that there is no such id, nor that it is a tester's: sandbox
        // counts on its own.
        case (.verdict(.unauthorized), .verdict(.notFound)), (.verdict(.unauthorized), .verdict(.answered)):
            let again = try await first.ask(request, number: number)
            guard case .verdict(.unauthorized) = again else { return outcome(of: again, from: first, read) }
            return outcome(of: second, from: sandbox, read)
        default: return outcome(of: second, from: sandbox, read)
        }
    }

    private func endpoint(_ environment: ServerEnvironment) -> ServerAPIEndpoint {
        environment == .production ? production : sandbox
    }

    private static func pointsAtSandbox(_ answer: PacedEndpoint<ServerAPIVerdict>.Answer) -> Bool {
        switch answer {
        case .verdict(.notFound(.transactionID)), .verdict(.notFound(.originalTransactionID)),
            .verdict(.unknownApp), .verdict(.unauthorized):
            true
        case .verdict, .circuitOpen:
            false
        }
    }

    private func outcome<Value: Sendable>(
        of answer: PacedEndpoint<ServerAPIVerdict>.Answer, from endpoint: ServerAPIEndpoint,
        _ read: (Data, ServerAPIReader) throws -> Value
    ) -> ServerAPIOutcome<Value> {
        switch answer {
        case .verdict(.answered(let body)):
            let reader = ServerAPIReader(verifier, credentials, endpoint.environment)
            return reader.outcome { try read(body, reader) }
        case .verdict(.notFound(let absence)): return .notFound(absence)
        case .verdict(.unknownApp): return .needsConfiguration(unknownApp)
        case .verdict(.unauthorized): return .needsConfiguration(refused)
        case .verdict(.needsConfiguration(let what)): return .needsConfiguration(what)
        case .verdict(.failed(let why, _)): return .tryAgain(why)
        case .circuitOpen: return .notTried
        }
    }

    private var unknownApp: String {
        """
        Apple knows no app with the bundle id \(credentials.bundleID) (4040003): compare it with App Store Connect, and \
        the key's team with the app's
        """
    }

    /// Apple gives the same answer for each of these.
    private var refused: String {
        """
        Apple refuses the App Store Server API key \(credentials.access.keyID) for \(credentials.bundleID) (HTTP status 401): \
        compare key id, issuer id, key file and bundle id with App Store Connect, and this machine's clock with the time
        """
    }
}
