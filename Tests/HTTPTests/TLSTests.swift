import Foundation
import TestSupport
import Testing

@testable import HTTP

@Suite("Whom TLS trusts", .enabled(if: TLSFront.program != nil, "\(TLSFront.reason)"))
struct TLSTests {
    private static let unknownIssuer = "unable to get local issuer certificate"

    @Test("A further authority is trusted, for each name in the certificate", arguments: ["localhost", "127.0.0.1"])
    func trusted(_ host: String) async throws {
        let authority = try await CertificateAuthority.make()
        let certificate = try await authority.issue(for: "DNS:localhost,IP:127.0.0.1")
        let status = try await send(to: host, certificate, trusting: authority)
        #expect(try status.get() == 200)
    }

    @Test("An authority that nobody named is not")
    func unknownAuthority() async throws {
        let certificate = try await CertificateAuthority.make().issue(for: "DNS:localhost")
        try await expect(Self.unknownIssuer, of: send(to: "localhost", certificate, trusting: nil))
        let other = try await CertificateAuthority.make()
        try await expect(Self.unknownIssuer, of: send(to: "localhost", certificate, trusting: other))
    }

    @Test("Nor is a certificate that has expired")
    func expired() async throws {
        let authority = try await CertificateAuthority.make()
        let certificate = try await authority.issue(for: "DNS:localhost", days: -1)
        try await expect("expired", of: send(to: "localhost", certificate, trusting: authority))
    }

    @Test("Nor one for another host", arguments: ["DNS:example.com,IP:127.0.0.2", "DNS:*.localhost"])
    func otherHost(_ names: String) async throws {
        let authority = try await CertificateAuthority.make()
        let certificate = try await authority.issue(for: names)
        try await expect("subject name", of: send(to: "localhost", certificate, trusting: authority))
        try await expect("subject name", of: send(to: "127.0.0.1", certificate, trusting: authority))
    }

    @Test("A handshake with a server that does not speak TLS is no connection")
    func noTLS() async throws {
        let answer: TestServer.Answer = { _, connection in connection.respond() }
        try await TestServer.with(answer) { server in
            let error = await #expect(throws: HTTPError.self) {
                // The server waits for the end of the request's head, and answers what is none.
                try await HTTPClient().send(HTTPRequest(url: "https://127.0.0.1:\(server.port)/", timeout: 1))
            }
            #expect(error?.isRetryable == true)
        }
    }

    private func send(
        to host: String, _ certificate: (certificate: String, key: String), trusting authority: CertificateAuthority?
    ) async throws -> Result<Int, HTTPError> {
        try await withTemporaryFile(authority?.certificate ?? "") { file in
            try await TestServer.with({ _, connection in connection.respond() }) { server in
                try await TLSFront.with(server, certificate: certificate) { front in
                    let client = try HTTPClient(.init(certificateAuthorities: authority == nil ? nil : file))
                    do throws(HTTPError) {
                        let request = HTTPRequest(url: "https://\(host):\(front.port)/")
                        return .success(try await client.send(request).status)
                    } catch {
                        #expect(server.received.count == 0)
                        return .failure(error)
                    }
                }
            }
        }
    }

    /// Who is distrusted is told, too.
    private func expect(_ distrust: String, of result: Result<Int, HTTPError>) {
        guard case .failure(.tls(let reason)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(reason.contains(distrust))
        #expect(reason.hasPrefix("localhost:") || reason.hasPrefix("127.0.0.1:"), "\(reason)")
    }
}
