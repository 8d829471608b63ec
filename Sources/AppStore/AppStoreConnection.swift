public import Foundation
public import HTTP

/// The connections over which a run asks Apple, shared by the clients of all its endpoints and apps.
public struct AppStoreConnection: Sendable {
    private let http: HTTPClient

    /// - Parameters:
    ///   - concurrency: the most requests in flight.
    ///   - connectTimeout: seconds in which a connection must be established.
    ///   - timeout: seconds for a request, if an endpoint's settings name none.
    ///   - certificateAuthorities: an additional file of certificate authorities in PEM, for tests and proxies.
    public init(
        concurrency: Int, connectTimeout: TimeInterval, timeout: TimeInterval, certificateAuthorities: String?
    ) throws(HTTPError) {
        http = try HTTPClient(
            HTTPClient.Configuration(
                maximumTransfers: concurrency, connectTimeout: connectTimeout, timeout: timeout,
                certificateAuthorities: certificateAuthorities))
    }

    /// Makes a client of `verifyReceipt` over these connections.
    public func verifyReceipt(_ settings: VerifyReceiptSettings) -> VerifyReceiptClient {
        VerifyReceiptClient(http: http, settings: settings)
    }

    /// Makes a client for a vendor's sales reports over these connections.
    public func salesReports(
        _ settings: SalesReportSettings, credentials: AppStoreConnectCredentials
    ) -> SalesReportClient {
        SalesReportClient(http: http, settings: settings, credentials: credentials)
    }

    /// Makes a client of the App Store Server API over these connections.
    ///
    /// - Parameter verifier: verifies what Apple signs in its answers.
    public func serverAPI(
        _ settings: ServerAPISettings, credentials: ServerAPICredentials, verifier: JWSVerifier
    ) -> ServerAPIClient {
        ServerAPIClient(http: http, settings: settings, credentials: credentials, verifier: verifier)
    }
}
