import CCurl
import Foundation

/// The target of a request, once its URL, method and headers are known to be harmless: libcurl sends what it is given,
/// and a line break in it would begin another header.
struct RequestTarget: Sendable {
    /// The host, with the port if the URL names one.
    let host: String
    let isSecure: Bool

    init(_ request: HTTPRequest) throws(HTTPError) {
        guard let parsed = Self.parse(request.url) else { throw .invalidURL(Self.withoutQuery(request.url)) }
        (host, isSecure) = parsed
        guard !request.method.isEmpty, request.method.utf8.allSatisfy(Self.isToken) else {
            throw .invalidRequest("the method is no token of HTTP")
        }
        for field in request.headers.fields { try Self.check(field) }
    }

    private static func parse(_ text: String) -> (host: String, isSecure: Bool)? {
        guard !text.utf8.contains(0), let url = curl_url() else { return nil }
        defer { curl_url_cleanup(url) }
        guard curl_url_set(url, CURLUPART_URL, text, UInt32(CURLU_DISALLOW_USER)) == CURLUE_OK,
            let scheme = part(CURLUPART_SCHEME, of: url), ["http", "https"].contains(scheme),
            let host = part(CURLUPART_HOST, of: url)
        else { return nil }
        return (host + (part(CURLUPART_PORT, of: url).map { ":\($0)" } ?? ""), scheme == "https")
    }

    private static func part(_ part: CURLUPart, of url: OpaquePointer) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(url, part, &text, 0) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }

    /// What may be shown of a URL that can't be parsed: no query, no fragment, no user name and password.
    private static func withoutQuery(_ url: String) -> String {
        let path = url.prefix { $0 != "?" && $0 != "#" }
        guard let end = path.lastIndex(of: "@") else { return String(path) }
        return "…" + path[end...]
    }

    private static func check(_ field: HTTPHeaders.Field) throws(HTTPError) {
        guard !field.name.isEmpty, field.name.utf8.allSatisfy(isToken) else {
            throw .invalidRequest("the name of a header is no token of HTTP")
        }
        guard field.value.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else {
            throw .invalidRequest("the value of header \(field.name) holds a control character")
        }
    }

    /// Whether a token may hold the byte (RFC 9110, section 5.6.2).
    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
