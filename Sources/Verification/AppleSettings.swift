public import Foundation

/// How Apple is asked.
public struct AppleSettings: Sendable {
    /// `verifyReceipt` in production and sandbox; other addresses for tests and proxies.
    public var verifyReceiptProduction: String
    public var verifyReceiptSandbox: String
    /// The App Store Server API in production and sandbox, without the path.
    public var serverAPIProduction: String
    public var serverAPISandbox: String
    /// The App Store Connect API, which hands out sales reports, without the path.
    public var appStoreConnect: String
    /// An additional file of certificate authorities in PEM, for tests and proxies.
    public var certificateAuthorities: String?
    /// A file of additional root certificates in which Apple's signatures may end, for tests.
    public var rootCertificates: String?
    /// The most requests in flight.
    public var concurrency: Int
    /// The most requests a second to one endpoint; `nil` for no limit.
    public var requestsPerSecond: Double?
    public var connectTimeout: TimeInterval
    /// Seconds for a whole request.
    public var timeout: TimeInterval
    /// How often one request is tried within a run.
    public var attempts: Int

    public init(
        verifyReceiptProduction: String = "https://buy.itunes.apple.com/verifyReceipt",
        verifyReceiptSandbox: String = "https://sandbox.itunes.apple.com/verifyReceipt",
        serverAPIProduction: String = "https://api.storekit.apple.com",
        serverAPISandbox: String = "https://api.storekit-sandbox.apple.com",
        appStoreConnect: String = "https://api.appstoreconnect.apple.com",
        certificateAuthorities: String? = nil, rootCertificates: String? = nil, concurrency: Int = 64,
        requestsPerSecond: Double? = nil,
        connectTimeout: TimeInterval = 10, timeout: TimeInterval = 30, attempts: Int = 4
    ) {
        self.verifyReceiptProduction = verifyReceiptProduction
        self.verifyReceiptSandbox = verifyReceiptSandbox
        self.serverAPIProduction = serverAPIProduction
        self.serverAPISandbox = serverAPISandbox
        self.appStoreConnect = appStoreConnect
        self.certificateAuthorities = certificateAuthorities
        self.rootCertificates = rootCertificates
        self.concurrency = concurrency
        self.requestsPerSecond = requestsPerSecond
        self.connectTimeout = connectTimeout
        self.timeout = timeout
        self.attempts = attempts
    }
}
