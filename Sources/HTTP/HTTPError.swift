public import Foundation

/// Why there is no answer. Its texts hold no query of a URL, no header's value and no body.
public enum HTTPError: Error, Sendable, Equatable {
    /// Not an absolute `http` or `https` URL; shown only up to its path.
    case invalidURL(String)
    /// A method or a header that can't be sent as it is.
    case invalidRequest(String)
    case couldNotResolve(host: String)
    /// The connection or its TLS handshake failed; certificates that aren't trusted are `tls`.
    case couldNotConnect(host: String, reason: String)
    /// Neither connected nor answered in time.
    case timedOut(host: String, afterSeconds: TimeInterval)
    /// The server's certificate isn't trusted, or the certificates to check it with can't be used.
    case tls(String)
    /// More bytes than the limit.
    case responseTooLarge(limit: Int)
    /// The connection ended before the answer was complete, or what came isn't HTTP.
    case connectionLost(String)
    /// The task was cancelled, or the client closed.
    case cancelled
    /// libcurl's code and text.
    case other(code: Int, String)

    /// Whether the same request may well succeed later.
    public var isRetryable: Bool {
        switch self {
        case .couldNotResolve, .couldNotConnect, .timedOut, .connectionLost: true
        case .invalidURL, .invalidRequest, .tls, .responseTooLarge, .cancelled, .other: false
        }
    }
}

extension HTTPError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .invalidURL(let url): "not an absolute http or https URL: \(url)"
        case .invalidRequest(let reason): "the request can't be sent: \(reason)"
        case .couldNotResolve(let host): "the host name \(host) could not be resolved"
        case .couldNotConnect(let host, let reason): "no connection to \(host): \(reason)"
        case .timedOut(let host, let seconds):
            "no complete answer from \(host) in \((seconds * 1_000).rounded() / 1_000) s"
        case .tls(let reason): "TLS: \(reason)"
        case .responseTooLarge(let limit): "the answer has more than \(limit) bytes"
        case .connectionLost(let reason): "the connection was lost: \(reason)"
        case .cancelled: "the request was cancelled"
        case .other(let code, let reason): "curl error \(code): \(reason)"
        }
    }
}
