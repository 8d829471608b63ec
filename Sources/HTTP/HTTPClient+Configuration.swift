public import Foundation

extension HTTPClient {
    /// How a client connects, and its limits. Proxies come from libcurl's environment variables (`https_proxy`,
    /// `no_proxy`).
    public struct Configuration: Sendable {
        /// Transfers in flight at the same time; others wait in order. Less than one counts as one.
        public var maximumTransfers: Int
        /// Seconds in which a connection, TLS handshake included, must be established.
        public var connectTimeout: TimeInterval
        /// Seconds for the whole transfer, once it has a slot.
        public var timeout: TimeInterval
        /// The largest body that is accepted.
        public var maximumResponseBytes: Int
        /// Path of an additional PEM file of certificate authorities, beside the system's.
        public var certificateAuthorities: String?
        public var userAgent: String

        public init(
            maximumTransfers: Int = 64, connectTimeout: TimeInterval = 10, timeout: TimeInterval = 30,
            maximumResponseBytes: Int = 16 * 1024 * 1024, certificateAuthorities: String? = nil,
            userAgent: String = "iap-reconcile"
        ) {
            self.maximumTransfers = maximumTransfers
            self.connectTimeout = connectTimeout
            self.timeout = timeout
            self.maximumResponseBytes = maximumResponseBytes
            self.certificateAuthorities = certificateAuthorities
            self.userAgent = userAgent
        }
    }
}
