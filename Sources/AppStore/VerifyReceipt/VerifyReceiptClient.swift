import Foundation
public import HTTP

/// Asks Apple's `verifyReceipt` about receipts, many at once, no faster than Apple can bear, and not at all while Apple
/// is down.
public struct VerifyReceiptClient: Sendable {
    private let production: VerifyReceiptEndpoint
    private let sandbox: VerifyReceiptEndpoint
    private let receipts = QuestionCounter()

    /// - Parameters:
    ///   - http: sends the requests; it should allow `settings.concurrency` of them at once to one server.
    ///   - pace: the clocks, the waiting and the random numbers.
    public init(http: HTTPClient, settings: VerifyReceiptSettings = VerifyReceiptSettings(), pace: Pace = .real) {
        production = VerifyReceiptEndpoint(.production, at: settings.production, settings, http: http, pace: pace)
        sandbox = VerifyReceiptEndpoint(.sandbox, at: settings.sandbox, settings, http: http, pace: pace)
    }

    /// Asks Apple about one receipt: production first, and sandbox if production says that the receipt is sandbox's.
    ///
    /// - Parameters:
    ///   - receiptData: the receipt in base64, as the client uploaded it.
    ///   - sharedSecret: the app's shared secret; without it Apple refuses receipts that hold auto-renewable
    ///     subscriptions.
    /// - Throws: `CancellationError` if the task is cancelled while it waits or asks.
    public func verify(
        receiptData: String, sharedSecret: String?
    ) async throws(CancellationError) -> VerifyReceiptOutcome {
        let outcome = try await askProduction(
            VerifyReceiptQuestion(receiptData: receiptData, sharedSecret: sharedSecret, number: receipts.next()))
        guard let sharedSecret, case .tryAgain(let why) = outcome else { return outcome }
        return .tryAgain(why.hiding(sharedSecret))
    }

    /// Whether Apple's production counts as down, so that nothing is sent but a probe now and then.
    public var isCircuitOpen: Bool { production.isCircuitOpen }

    /// What was asked so far, of both endpoints.
    public var statistics: VerifyReceiptStatistics {
        VerifyReceiptStatistics(production: production.statistics, sandbox: sandbox.statistics)
    }

    private func askProduction(
        _ question: VerifyReceiptQuestion
    ) async throws(CancellationError) -> VerifyReceiptOutcome {
        switch try await production.ask(question) {
        case .verdict(.otherEnvironment): return try await askSandbox(question)
        case .verdict(.settled(let outcome)): return outcome
        case .verdict(.failed(let why, _)): return .tryAgain(why)
        case .circuitOpen: return .notTried
        }
    }

    private func askSandbox(
        _ question: VerifyReceiptQuestion
    ) async throws(CancellationError) -> VerifyReceiptOutcome {
        switch try await sandbox.ask(question) {
        case .verdict(.otherEnvironment): try await askProductionAgain(question)
        case .verdict(.settled(let outcome)): outcome
        case .verdict(.failed(let why, _)): .tryAgain(why)
        case .circuitOpen: .tryAgain(.sandboxDown)
        }
    }

    /// Asks production once more, as sandbox referred to it (21008). If production refers to sandbox again, neither is
    /// believed tonight.
    private func askProductionAgain(
        _ question: VerifyReceiptQuestion
    ) async throws(CancellationError) -> VerifyReceiptOutcome {
        switch try await production.ask(question) {
        case .verdict(.settled(let outcome)): outcome
        case .verdict(.failed(let why, _)): .tryAgain(why)
        case .verdict(.otherEnvironment), .circuitOpen: .tryAgain(.noEnvironment)
        }
    }
}
