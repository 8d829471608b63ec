import CCurl
import Foundation

/// The certificate authorities for judging servers: the system's, and those of an additional file.
enum TrustedAuthorities: Sendable, Equatable {
    /// A file that libcurl reads once and keeps.
    case bundle(path: String)
    /// The system's certificates followed by the additional file's: libcurl takes no second file.
    case combined(pem: Data)
    /// Whatever libcurl was built with, if it knows no bundle.
    case builtIn

    /// - Throws: `.tls` if the additional file can't be read or holds no certificate.
    init(
        further: String?, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(HTTPError) {
        let system = try Self.systemBundle(environment)
        guard let further else {
            self = system.map { .bundle(path: $0) } ?? .builtIn
            return
        }
        let known = system.flatMap { FileManager.default.contents(atPath: $0) } ?? Data()
        self = .combined(pem: known + Data("\n".utf8) + (try Self.certificates(further)))
    }

    /// The system's bundle, looked for in the order of curl's own command; last, the one that libcurl was built with.
    private static func systemBundle(_ environment: [String: String]) throws(HTTPError) -> String? {
        for name in ["CURL_CA_BUNDLE", "SSL_CERT_FILE"] {
            if let path = environment[name], !path.isEmpty { return path }
        }
        return try EasyHandle().text(CURLINFO_CAINFO)
    }

    private static func certificates(_ path: String) throws(HTTPError) -> Data {
        guard let pem = FileManager.default.contents(atPath: path) else {
            throw .tls("the certificate authorities in \(path) can't be read")
        }
        guard pem.range(of: Data("-----BEGIN CERTIFICATE-----".utf8)) != nil else {
            throw .tls("\(path) holds no certificate in PEM form")
        }
        return pem
    }

    func apply(to easy: EasyHandle) throws(HTTPError) {
        switch self {
        case .builtIn: break
        case .bundle(let path):
            try easy.set(CURLOPT_CAINFO, path)
            // With a directory as well, libcurl would read the whole bundle again for each connection.
            try easy.set(CURLOPT_CAPATH, nil as String?)
        case .combined(let pem): try easy.set(CURLOPT_CAINFO_BLOB, blob: pem)
        }
    }
}
