import Foundation

/// A request on its way to the thread that carries it out, with the waiter for its answer.
struct Job: Sendable {
    let identifier: UInt64
    let request: HTTPRequest
    let target: RequestTarget
    let timeout: TimeInterval
    private let continuation: CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>

    init(
        identifier: UInt64, request: HTTPRequest, target: RequestTarget, timeout: TimeInterval,
        continuation: CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>
    ) {
        self.identifier = identifier
        self.request = request
        self.target = target
        self.timeout = timeout
        self.continuation = continuation
    }

    /// Ends the job. Must be called exactly once.
    func end(_ result: Result<HTTPResponse, HTTPError>) {
        continuation.resume(returning: result)
    }
}
