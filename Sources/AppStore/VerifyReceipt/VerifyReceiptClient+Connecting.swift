public import Foundation
public import HTTP

extension VerifyReceiptClient {
    /// A client with connections of its own.
    ///
    /// - Parameters:
    ///   - connectTimeout: seconds until a connection must stand.
    ///   - certificateAuthorities: a further file of certificate authorities in PEM, for tests and proxies.
    public init(
        settings: VerifyReceiptSettings, connectTimeout: TimeInterval, certificateAuthorities: String?
    ) throws(HTTPError) {
        let http = try HTTPClient(
            HTTPClient.Configuration(
                maximumTransfers: settings.concurrency, connectTimeout: connectTimeout, timeout: settings.timeout,
                certificateAuthorities: certificateAuthorities))
        self.init(http: http, settings: settings)
    }
}
