import Foundation
import TestSupport

/// A certificate authority made on the spot by openssl.
struct CertificateAuthority: Sendable {
    let certificate: String
    private let key: String

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]

    static func make() async throws -> CertificateAuthority {
        let (certificate, key) = try await request(["-subj", "/CN=Authority of a test"])
        return CertificateAuthority(certificate: certificate, key: key)
    }

    /// - Parameter names: such as `DNS:localhost,IP:127.0.0.1`
    func issue(for names: String) async throws -> (certificate: String, key: String) {
        try await withTemporaryFile(certificate) { authority in
            try await withTemporaryFile(key) { authorityKey in
                try await Self.request([
                    "-subj", "/CN=Server of a test", "-CA", authority, "-CAkey", authorityKey,
                    "-addext", "subjectAltName=\(names)", "-addext", "basicConstraints=critical,CA:FALSE",
                ])
            }
        }
    }

    private static func request(_ arguments: [String]) async throws -> (certificate: String, key: String) {
        try await withTemporaryFile("") { key in
            let certificate = try await ChildProcess.runSuccessfully(
                "/usr/bin/openssl", ["req", "-x509", "-keyout", key] + newKey + arguments)
            return (certificate, try String(contentsOfFile: key, encoding: .utf8))
        }
    }
}

/// A file that only we may read, gone when the body ends.
@discardableResult
func withTemporaryFile<Value>(_ text: String, _ body: (String) async throws -> Value) async throws -> Value {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try Data(text.utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    defer { try? FileManager.default.removeItem(at: file) }
    return try await body(file.path)
}
