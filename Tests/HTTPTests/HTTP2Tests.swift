import Foundation
import HTTP
import TestSupport
import Testing

@Suite("HTTP/2", .enabled(if: TLSFront.program != nil, "\(TLSFront.reason)"))
struct HTTP2Tests {
    @Test("Where the server offers HTTP/2, one connection carries many transfers")
    func manyOverOne() async throws {
        try await withFront({ request, connection in connection.respond(body: request.body) }) { _, front, client in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<500 {
                    group.addTask {
                        let body = Data("body of \(number)".utf8)
                        let response = try await client.send(
                            HTTPRequest(method: "POST", url: "https://localhost:\(front.port)/", body: body))
                        return response.version == .http2 && response.body == body
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
            try await Self.wait { front.connections.count == 500 }
            #expect(Set(front.connections).count == 1)
        }
    }

    @Test("Where it does not, the transfers share kept-alive connections")
    func fallback() async throws {
        let answer: TestServer.Answer = { _, connection in connection.respond() }
        try await withFront(answer, protocols: "http/1.1") { _, front, client in
            for _ in 0..<20 {
                let response = try await client.send(HTTPRequest(url: "https://localhost:\(front.port)/"))
                #expect(response.version == .http11)
            }
            try await Self.wait { front.connections.count == 20 }
            #expect(Set(front.connections).count == 1)
        }
    }

    @Test("Several megabytes there and back, at the same time")
    func largeBodies() async throws {
        try await withFront({ request, connection in connection.respond(body: request.body) }) { _, front, client in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in UInt8(0)..<4 {
                    group.addTask {
                        let body = Data(repeating: number, count: 3_000_000)
                        let url = "https://localhost:\(front.port)/"
                        let request = HTTPRequest(method: "POST", url: url, body: body, timeout: 300)
                        return try await client.send(request).body == body
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test("Cancelling one transfer, or cutting off its answer, leaves the others on the connection alone")
    func oneOfMany() async throws {
        let gate = DispatchSemaphore(value: 0)
        let answer: TestServer.Answer = { request, connection in
            if request.path == "/large" { return connection.respond(body: Data(count: 3_000_000)) }
            if request.path == "/silent" { return connection.staySilent() }
            gate.wait()
            return connection.respond(headers: ["X-Name: value"])
        }
        try await withFront(answer, maximumResponseBytes: 2_000_000) { server, front, client in
            let url = "https://localhost:\(front.port)"
            let first = Task { try await client.send(HTTPRequest(url: url + "/first")) }
            let silent = Task { try await client.send(HTTPRequest(url: url + "/silent")) }
            await server.received.reach(2)
            await #expect(throws: HTTPError.responseTooLarge(limit: 2_000_000)) {
                try await client.send(HTTPRequest(url: url + "/large"))
            }
            silent.cancel()
            await #expect(throws: HTTPError.cancelled) { try await silent.value }
            gate.signal()
            let response = try await first.value
            #expect(response.version == .http2)
            #expect(response.headers["x-name"] == "value")
            gate.signal()
            _ = try await client.send(HTTPRequest(url: url + "/last"))
            try await Self.wait { front.connections.count >= 2 }
            #expect(Set(front.connections).count == 1)
        }
    }

    private func withFront(
        _ answer: @escaping TestServer.Answer, protocols: String = "h2,http/1.1",
        maximumResponseBytes: Int = 16 * 1024 * 1024, _ body: (TestServer, TLSFront, HTTPClient) async throws -> Void
    ) async throws {
        let authority = try await CertificateAuthority.make()
        let certificate = try await authority.issue(for: "DNS:localhost")
        try await withTemporaryFile(authority.certificate) { file in
            try await TestServer.with(answer) { server in
                try await TLSFront.with(server, certificate: certificate, protocols: protocols) { front in
                    let client = try HTTPClient(
                        .init(maximumResponseBytes: maximumResponseBytes, certificateAuthorities: file))
                    try await body(server, front, client)
                    await client.close()
                }
            }
        }
    }

    /// nghttpx writes its log after the answer has gone.
    private static func wait(for condition: () -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(20)
        while !condition(), ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(5)) }
    }
}
