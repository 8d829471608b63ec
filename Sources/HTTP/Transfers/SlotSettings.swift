import CCurl
import Foundation

/// The settings that all transfers of a client share.
struct SlotSettings {
    let maximumResponseBytes: Int
    private let connectTimeout: TimeInterval
    private let userAgent: String
    private let authorities: TrustedAuthorities

    init(_ configuration: HTTPClient.Configuration, _ authorities: TrustedAuthorities) {
        maximumResponseBytes = max(0, configuration.maximumResponseBytes)
        connectTimeout = configuration.connectTimeout
        userAgent = configuration.userAgent
        self.authorities = authorities
    }

    func apply(to easy: EasyHandle) throws(HTTPError) {
        try easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
        try easy.set(CURLOPT_USERAGENT, userAgent)
        try easy.set(CURLOPT_NOSIGNAL, 1)
        // A transfer that ends during the lookup of its host's name must not hold up the others.
        try easy.set(CURLOPT_QUICK_EXIT, 1)
        try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(connectTimeout))
        // A proxy's headers are not the server's.
        try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // Ends an answer that announces too much before any of it arrives; what isn't announced is counted.
        try easy.set(CURLOPT_MAXFILESIZE_LARGE, offset: maximumResponseBytes)
        try easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try authorities.apply(to: easy)
    }

    /// At least one millisecond, as 0 means no limit to libcurl.
    static func milliseconds(_ seconds: TimeInterval) -> Int {
        Int(min(max((seconds * 1_000).rounded(), 1), Double(Int32.max)))
    }
}
