import CCurl
import Foundation

/// The certificate authorities that servers are judged by: the system's, and those of a further file.
enum TrustedAuthorities: Sendable {
    /// A file that libcurl reads once and keeps.
    case bundle(path: String)
    /// The system's and the further file's certificates, one after the other: libcurl takes no second file.
    case combined(pem: Data)
    /// As libcurl was built, where it knows no bundle.
    case builtIn

    /// - Throws: `.tls` if the further file can't be read or holds no certificate
    init(further: String?) throws(HTTPError) {
        let system = Self.systemBundle
        guard let further else {
            self = system.map { .bundle(path: $0) } ?? .builtIn
            return
        }
        guard let pem = FileManager.default.contents(atPath: further) else {
            throw .tls("the certificate authorities in \(further) can't be read")
        }
        guard pem.range(of: Data("-----BEGIN CERTIFICATE-----".utf8)) != nil else {
            throw .tls("\(further) holds no certificate in PEM form")
        }
        let known = system.flatMap { FileManager.default.contents(atPath: $0) } ?? Data()
        self = .combined(pem: known + Data("\n".utf8) + pem)
    }

    /// In the order of curl's own command; at last the one that libcurl was built with.
    private static var systemBundle: String? {
        let environment = ProcessInfo.processInfo.environment
        let named = ["CURL_CA_BUNDLE", "SSL_CERT_FILE"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        return named ?? libraryBundle
    }

    private static var libraryBundle: String? {
        guard let handle = curl_easy_init() else { return nil }
        defer { curl_easy_cleanup(handle) }
        var path: UnsafeMutablePointer<CChar>?
        guard curl_easy_getinfo_string(handle, CURLINFO_CAINFO, &path) == CURLE_OK else { return nil }
        return path.map { String(cString: $0) }
    }
}
