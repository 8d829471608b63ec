public import Foundation

/// What to ask a server for.
public struct HTTPRequest: Sendable {
    /// Such as `GET` or `POST`.
    public var method: String
    /// An absolute `http` or `https` URL, percent-encoded where it must be, without user name and password.
    public var url: String
    public var headers: HTTPHeaders
    /// Sent with its `Content-Length`. Name its `Content-Type` among the headers.
    public var body: Data?
    /// Seconds for the whole transfer, in place of the client's.
    public var timeout: TimeInterval?

    public init(
        method: String = "GET", url: String, headers: HTTPHeaders = [:], body: Data? = nil,
        timeout: TimeInterval? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }
}
