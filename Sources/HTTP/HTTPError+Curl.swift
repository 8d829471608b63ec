import CCurl
import Foundation

extension HTTPError {
    /// - Parameter text: libcurl's message, which names a host or a certificate but no URL.
    init(_ code: CURLcode, _ text: String, host: String, seconds: TimeInterval, maximumBytes: Int) {
        self =
            switch code {
            case CURLE_URL_MALFORMAT: .invalidURL(host)
            case CURLE_COULDNT_RESOLVE_HOST: .couldNotResolve(host: host)
            case CURLE_COULDNT_RESOLVE_PROXY: .couldNotConnect(host: host, reason: text)
            // libcurl reports the same error for a handshake that is cut off and for one that can't be agreed on.
            case CURLE_COULDNT_CONNECT, CURLE_SSL_CONNECT_ERROR, CURLE_PROXY:
                .couldNotConnect(host: host, reason: text)
            case CURLE_OPERATION_TIMEDOUT: .timedOut(host: host, afterSeconds: seconds)
            case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
                CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CIPHER:
                .tls("\(host): \(text)")
            case CURLE_FILESIZE_EXCEEDED: .responseTooLarge(limit: maximumBytes)
            // The first is libcurl's code for an answer that doesn't begin like HTTP; the scheme was checked before.
            case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE,
                CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM:
                .connectionLost("\(host): \(text)")
            default: .other(code: Int(code.rawValue), text)
            }
    }
}
