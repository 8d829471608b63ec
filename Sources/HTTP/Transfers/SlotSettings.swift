import CCurl
import Foundation

/// What is the same for every transfer of a client.
final class SlotSettings {
    let maximumResponseBytes: Int
    private let connectTimeout: TimeInterval
    private let userAgent: String
    private let authorities: TrustedAuthorities

    init(_ configuration: HTTPClient.Configuration, _ authorities: TrustedAuthorities) {
        maximumResponseBytes = configuration.maximumResponseBytes
        connectTimeout = configuration.connectTimeout
        userAgent = configuration.userAgent
        self.authorities = authorities
    }

    func apply(to handle: UnsafeMutableRawPointer) {
        curl_easy_setopt_string(handle, CURLOPT_PROTOCOLS_STR, "http,https")
        curl_easy_setopt_string(handle, CURLOPT_USERAGENT, userAgent)
        curl_easy_setopt_long(handle, CURLOPT_NOSIGNAL, 1)
        // A transfer that is cancelled while its host's name is looked up must not hold up the others.
        curl_easy_setopt_long(handle, CURLOPT_QUICK_EXIT, 1)
        curl_easy_setopt_long(handle, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        curl_easy_setopt_long(handle, CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(connectTimeout))
        curl_easy_setopt_long(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        curl_easy_setopt_offset(handle, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(maximumResponseBytes))
        curl_easy_setopt_long(handle, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        trust(handle)
    }

    private func trust(_ handle: UnsafeMutableRawPointer) {
        switch authorities {
        case .builtIn: break
        case .bundle(let path):
            curl_easy_setopt_string(handle, CURLOPT_CAINFO, path)
            // With a folder beside it libcurl would read the whole bundle for each connection.
            curl_easy_setopt_string(handle, CURLOPT_CAPATH, nil)
        case .combined(var pem):
            pem.withUnsafeMutableBytes { bytes in
                var blob = curl_blob(data: bytes.baseAddress, len: bytes.count, flags: UInt32(CURL_BLOB_COPY))
                curl_easy_setopt_blob(handle, CURLOPT_CAINFO_BLOB, &blob)
            }
        }
    }

    /// At least one: libcurl takes nought for no limit.
    static func milliseconds(_ seconds: TimeInterval) -> Int {
        Int((seconds * 1_000).rounded().clamped(to: 1...Double(Int32.max)))
    }
}

extension Double {
    fileprivate func clamped(to range: ClosedRange<Double>) -> Double {
        min(max(self, range.lowerBound), range.upperBound)
    }
}
