public import Foundation

/// What a server answered, whatever its status.
public struct HTTPResponse: Sendable {
    public let status: Int
    /// The headers of the final answer, without those of interim (1xx) ones and without trailers.
    public let headers: HTTPHeaders
    public let body: Data
    public let version: HTTPVersion
    /// How long the transfer took, from its start to the last byte; waiting for a free slot is not counted.
    public let seconds: TimeInterval

    public init(
        status: Int, headers: HTTPHeaders = [:], body: Data = Data(), version: HTTPVersion = .http11,
        seconds: TimeInterval = 0
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.version = version
        self.seconds = seconds
    }
}

/// The version of HTTP of an answer.
public enum HTTPVersion: Sendable, Equatable {
    case http10
    case http11
    case http2
    case http3
}
