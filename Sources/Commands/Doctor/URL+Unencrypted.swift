public import Foundation

extension URL {
    /// Whether what is sent there goes over the network, and without TLS.
    public var isUnencryptedBeyondThisHost: Bool {
        guard scheme == "http", let host = host() else { return false }
        return !["localhost", "127.0.0.1", "::1", "[::1]"].contains(host)
    }
}
