import Foundation
import TestSupport
import Testing

/// nghttpx, which speaks TLS, and HTTP/2 if it is to, in front of a test's server.
struct TLSFront: Sendable {
    let port: Int
    private let program: ChildProcess

    static let program = ["/usr/sbin/nghttpx", "/usr/bin/nghttpx", "/usr/local/bin/nghttpx"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }
    static let reason = "needs nghttpx: apt install nghttp2-proxy"

    /// - Parameters:
    ///   - certificate: and its key, in PEM form
    ///   - protocols: those that it offers, in the words of ALPN
    static func with<Value>(
        _ server: TestServer, certificate: (certificate: String, key: String), protocols: String = "h2,http/1.1",
        _ body: (TLSFront) async throws -> Value
    ) async throws -> Value {
        let program = try #require(program, "\(reason)")
        return try await withTemporaryFile(certificate.certificate) { certificateFile in
            try await withTemporaryFile(certificate.key) { keyFile in
                let port = try FreePort.find()
                let arguments = [
                    "--conf=/dev/null", "--frontend=127.0.0.1,\(port)", "--backend=127.0.0.1,\(server.port)",
                    "--single-process", "--workers=1", "--no-ocsp", "--npn-list=\(protocols)",
                    "--accesslog-file=/dev/stdout", "--accesslog-format=$remote_port $alpn $path", keyFile,
                    certificateFile,
                ]
                return try await ChildProcess.with(program, arguments) { child in
                    try await child.waitFor("Listening on 127.0.0.1:\(port)")
                    return try await body(TLSFront(port: port, program: child))
                }
            }
        }
    }

    /// The client's port, and so the connection, of each request that was answered so far.
    var connections: [String] {
        program.outputSoFar.split(separator: "\n").compactMap { $0.split(separator: " ").first.map(String.init) }
    }
}
