import Foundation

/// A certificate authority made on the spot by openssl.
public struct CertificateAuthority: Sendable {
    /// In PEM form, as every certificate and key here.
    public let certificate: String
    private let key: String

    private static func newKey(_ curve: String = "prime256v1") -> [String] {
        ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:\(curve)", "-nodes"]
    }

    public static func make() async throws -> CertificateAuthority {
        try await withTemporaryFile("") { key in
            let certificate = try await openssl(
                ["req", "-x509", "-keyout", key, "-days", "2", "-subj", "/CN=Authority of a test"] + newKey())
            return CertificateAuthority(
                certificate: certificate, key: try String(contentsOfFile: key, encoding: .utf8))
        }
    }

    /// A certificate authority below this one.
    ///
    /// - Parameter extensions: beside those of an authority, such as `1.2.3.4=DER:0500`
    public func subordinate(extensions: [String] = []) async throws -> CertificateAuthority {
        let issued = try await issue(
            to: "Subordinate authority of a test", extensions: ["basicConstraints=critical,CA:TRUE"] + extensions)
        return CertificateAuthority(certificate: issued.certificate, key: issued.key)
    }

    /// - Parameters:
    ///   - names: such as `DNS:localhost,IP:127.0.0.1`
    ///   - days: how long it is valid from now on; a negative number makes one that has expired
    public func issue(for names: String, days: Int = 2) async throws -> (certificate: String, key: String) {
        try await issue(
            to: "Server of a test", extensions: ["subjectAltName=\(names)", "basicConstraints=critical,CA:FALSE"],
            days: days)
    }

    /// - Parameters:
    ///   - extensions: one at least, in openssl's words
    ///   - curve: of the key
    public func issue(
        to name: String, extensions: [String], curve: String = "prime256v1", days: Int = 2
    ) async throws -> (certificate: String, key: String) {
        try await withTemporaryFile("") { key in
            let request = try await Self.openssl(
                ["req", "-new", "-keyout", key, "-subj", "/CN=\(name)"] + Self.newKey(curve)
                    + extensions.flatMap { ["-addext", $0] })
            return (try await sign(request, days: days), try String(contentsOfFile: key, encoding: .utf8))
        }
    }

    private func sign(_ request: String, days: Int) async throws -> String {
        try await withTemporaryFile(certificate) { authority in
            try await withTemporaryFile(key) { authorityKey in
                try await Self.openssl(
                    ["x509", "-req", "-CA", authority, "-CAkey", authorityKey, "-days", "\(days)"]
                        + ["-copy_extensions", "copy"], input: request)
            }
        }
    }

    private static func openssl(_ arguments: [String], input: String? = nil) async throws -> String {
        try await ChildProcess.runSuccessfully("/usr/bin/openssl", arguments, input: input)
    }
}
