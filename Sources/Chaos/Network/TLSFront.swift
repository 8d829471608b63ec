import AppStoreSimulator
import Foundation
import TestSupport

/// What may be wrong with a server's certificate.
enum BadCertificate: CaseIterable {
    case expired, ofAnother, ofUnknownAuthority
}

/// nghttpx, which speaks TLS, in front of a store.
enum TLSFront {
    private static let program = ["/usr/sbin/nghttpx", "/usr/bin/nghttpx", "/usr/local/bin/nghttpx"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Passes to the body the store's address and a file with the certificate authority that its client trusts.
    static func with(
        _ bad: BadCertificate, before store: SimulatedAppStore.Addresses,
        _ body: (_ base: String, _ authority: String) async throws -> Void
    ) async throws {
        guard let program else { throw Broken("there is no nghttpx: apt install nghttp2-proxy") }
        let trusted = try await CertificateAuthority.make()
        let signing = bad == .ofUnknownAuthority ? try await CertificateAuthority.make() : trusted
        let issued = try await signing.issue(
            for: bad == .ofAnother ? "DNS:another.example" : "DNS:localhost", days: bad == .expired ? -1 : 2)
        try await withTemporaryFile(trusted.certificate) { authority in
            try await withTemporaryFile(issued.certificate) { certificate in
                try await withTemporaryFile(issued.key) { key in
                    let port = try FreePort.find()
                    let arguments = [
                        "--conf=/dev/null", "--frontend=127.0.0.1,\(port)", "--backend=127.0.0.1,\(store.port)",
                        "--single-process", "--workers=1", "--no-ocsp", key, certificate,
                    ]
                    try await ChildProcess.with(program, arguments) { child in
                        try await child.waitFor("Listening on 127.0.0.1:\(port)")
                        try await body("https://localhost:\(port)", authority)
                    }
                }
            }
        }
    }
}
