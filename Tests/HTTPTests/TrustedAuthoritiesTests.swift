import Foundation
import TestSupport
import Testing

@testable import HTTP

@Suite("Which certificate authorities are asked")
struct TrustedAuthoritiesTests {
    private static let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

    @Test("The bundle that the environment names, as curl's own command does")
    func environment() throws {
        let named = ["CURL_CA_BUNDLE": "/a.pem", "SSL_CERT_FILE": "/b.pem"]
        #expect(try TrustedAuthorities(further: nil, environment: named) == .bundle(path: "/a.pem"))
        let second = ["CURL_CA_BUNDLE": "", "SSL_CERT_FILE": "/b.pem"]
        #expect(try TrustedAuthorities(further: nil, environment: second) == .bundle(path: "/b.pem"))
    }

    @Test("Without one, the bundle that libcurl was built with")
    func builtIn() throws {
        let authorities = try TrustedAuthorities(further: nil, environment: [:])
        guard case .bundle(let path) = authorities else {
            #expect(authorities == .builtIn)
            return
        }
        #expect(path.hasPrefix("/"))
    }

    @Test("A further file's certificates join the system's, which stay")
    func further() async throws {
        try await withTemporaryFile("system's") { system in
            try await withTemporaryFile(Self.pem) { further in
                let authorities = try TrustedAuthorities(further: further, environment: ["SSL_CERT_FILE": system])
                #expect(authorities == .combined(pem: Data("system's\n\(Self.pem)".utf8)))
            }
        }
    }

    @Test("A further file that isn't there, or holds no certificate, is refused at once")
    func unusable() async throws {
        #expect(throws: HTTPError.tls("the certificate authorities in /nowhere.pem can't be read")) {
            try HTTPClient(.init(certificateAuthorities: "/nowhere.pem"))
        }
        try await withTemporaryFile("no certificate") { file in
            #expect(throws: HTTPError.tls("\(file) holds no certificate in PEM form")) {
                try HTTPClient(.init(certificateAuthorities: file))
            }
        }
    }
}
