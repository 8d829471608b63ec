import AppStore
public import Foundation

/// How Apple is asked.
public struct AppleSettings: Sendable {
    /// `verifyReceipt` in production and sandbox; other addresses for tests and proxies.
    public var verifyReceiptProduction = VerifyReceiptSettings().production
    public var verifyReceiptSandbox = VerifyReceiptSettings().sandbox
    /// The App Store Server API in production and sandbox, without the path.
    public var serverAPIProduction = ServerAPISettings().production
    public var serverAPISandbox = ServerAPISettings().sandbox
    /// The App Store Connect API, which hands out sales reports, without the path.
    public var appStoreConnect = SalesReportSettings.appStoreConnect
    /// An additional file of certificate authorities in PEM, for tests and proxies.
    public var certificateAuthorities: String?
    /// A file of additional root certificates in which Apple's signatures may end, for tests.
    public var rootCertificates: String?
    /// The most requests in flight.
    public var concurrency = 64
    /// The most requests a second to one endpoint; `nil` for no limit.
    public var requestsPerSecond: Double?
    public var connectTimeout: TimeInterval = 10
    /// Seconds for a whole request.
    public var timeout: TimeInterval = 30
    /// How often one request is tried within a run.
    public var attempts = 4

    public init() {}
}
