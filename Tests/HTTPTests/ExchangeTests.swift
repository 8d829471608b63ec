import Foundation
import HTTP
import TestSupport
import Testing

@Suite("One request and its answer")
struct ExchangeTests {
    @Test("A request arrives as it was meant")
    func request() async throws {
        try await TestServer.with({ _, connection in connection.respond() }) { server in
            let client = try HTTPClient(.init(userAgent: "night/1"))
            let body = Data("{\"a\": 1}\u{0}\u{1}".utf8)
            _ = try await client.send(
                HTTPRequest(
                    method: "POST", url: "\(server.url)/verify?a=b%20c",
                    headers: ["Content-Type": "application/json", "X-Empty": "", "Authorization": "Bearer x"],
                    body: body))
            let request = try #require(server.log.first)
            #expect(request.method == "POST")
            #expect(request.path == "/verify?a=b%20c")
            #expect(request.body == body)
            #expect(request.header("Content-Type") == "application/json")
            #expect(request.header("X-Empty") == "")
            #expect(request.header("Authorization") == "Bearer x")
            #expect(request.header("User-Agent") == "night/1")
            #expect(request.header("Host") == "127.0.0.1:\(server.port)")
        }
    }

    @Test("Nothing is sent that nobody asked for: no consent, no compression, no form, no cookie")
    func nothingUnasked() async throws {
        try await TestServer.with({ _, connection in connection.respond(headers: ["Set-Cookie: a=b"]) }) { server in
            let client = try HTTPClient()
            let request = HTTPRequest(method: "POST", url: server.url, body: Data(count: 3_000_000))
            for _ in 0..<2 { _ = try await client.send(request) }
            for name in ["Expect", "Accept-Encoding", "Content-Type", "Cookie", "Upgrade", "Authorization"] {
                #expect(server.log.allSatisfy { $0.header(name) == nil }, "\(name)")
            }
        }
    }

    @Test("An answer's status, headers, body, version and time")
    func response() async throws {
        let body = Data((0...255).map { UInt8($0) })
        let answer: TestServer.Answer = { _, connection in
            connection.respond(201, headers: ["X-One: 1", "Set-Cookie: a", "set-cookie:  b ", "X-Empty:"], body: body)
        }
        try await TestServer.with(answer) { server in
            let response = try await HTTPClient().send(HTTPRequest(url: server.url))
            #expect(response.status == 201)
            #expect(response.headers["x-one"] == "1")
            #expect(response.headers.all("Set-Cookie") == ["a", "b"])
            #expect(response.headers["X-Empty"] == "")
            #expect(response.headers["X-Two"] == nil)
            #expect(response.body == body)
            #expect(response.version == .http11)
            #expect(response.seconds > 0)
        }
    }

    @Test("Every status is an answer", arguments: [204, 304, 400, 401, 404, 429, 500, 503])
    func status(_ status: Int) async throws {
        try await TestServer.with({ _, connection in connection.respond(status) }) { server in
            let response = try await HTTPClient().send(HTTPRequest(url: server.url))
            #expect(response.status == status)
        }
    }

    @Test("A redirect is an answer too, and isn't followed")
    func redirect() async throws {
        let answer: TestServer.Answer = { _, connection in connection.respond(302, headers: ["Location: /other"]) }
        try await TestServer.with(answer) { server in
            let response = try await HTTPClient().send(HTTPRequest(url: server.url))
            #expect(response.status == 302)
            #expect(response.headers["Location"] == "/other")
            #expect(server.log.count == 1)
        }
    }

    @Test("Several megabytes there and back")
    func largeBodies() async throws {
        try await TestServer.with({ request, connection in connection.respond(body: request.body) }) { server in
            let body = Data((0..<8_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
            let response = try await HTTPClient().send(HTTPRequest(method: "POST", url: server.url, body: body))
            #expect(response.body == body)
        }
    }

    @Test("What one request had does not reach the next on the same slot")
    func reuse() async throws {
        try await TestServer.with({ request, connection in connection.respond(body: request.body) }) { server in
            let client = try HTTPClient(.init(maximumTransfers: 1))
            let requests = [
                HTTPRequest(method: "POST", url: server.url + "/1", headers: ["X-Secret": "1"], body: Data("one".utf8)),
                HTTPRequest(url: server.url + "/2"),
                HTTPRequest(method: "PUT", url: server.url + "/3", body: Data("three".utf8)),
                HTTPRequest(method: "POST", url: server.url + "/4"),
                HTTPRequest(method: "DELETE", url: server.url + "/5"),
                HTTPRequest(method: "POST", url: server.url + "/6", body: Data()),
            ]
            var answers: [String] = []
            for request in requests {
                answers.append(String(decoding: try await client.send(request).body, as: UTF8.self))
            }
            #expect(answers == ["one", "", "three", "", "", ""])
            #expect(server.log.map(\.method) == ["POST", "GET", "PUT", "POST", "DELETE", "POST"])
            #expect(server.log.map(\.path) == ["/1", "/2", "/3", "/4", "/5", "/6"])
            #expect(server.log.map { $0.header("X-Secret") } == ["1", nil, nil, nil, nil, nil])
            #expect(server.log.map { $0.header("Content-Length") } == ["3", nil, "5", "0", nil, "0"])
        }
    }

    @Test("HEAD has headers only, and the connection stays in step")
    func head() async throws {
        let answer: TestServer.Answer = { request, connection in
            guard request.method == "HEAD" else { return connection.respond(body: Data("body".utf8)) }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
            return .keepAlive
        }
        try await TestServer.with(answer) { server in
            let client = try HTTPClient()
            let head = try await client.send(HTTPRequest(method: "HEAD", url: server.url))
            #expect(head.body.isEmpty && head.headers["Content-Length"] == "4")
            let next = try await client.send(HTTPRequest(url: server.url))
            #expect(next.body == Data("body".utf8))
            #expect(server.accepted.count == 1)
        }
    }

    @Test("Headers are those of the final answer: of no interim one, and no trailer")
    func interimAnswers() async throws {
        let answer: TestServer.Answer = { _, connection in
            connection.write("HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n")
            connection.write("HTTP/1.1 200 OK\r\nX-Final: 1\r\nTransfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n")
            connection.write("2\r\nab\r\n1\r\nc\r\n0\r\nX-Late: 1\r\n\r\n")
            return .keepAlive
        }
        try await TestServer.with(answer) { server in
            let response = try await HTTPClient().send(HTTPRequest(url: server.url))
            #expect(response.status == 200)
            #expect(response.headers.fields.map(\.name) == ["X-Final", "Transfer-Encoding", "Trailer"])
            #expect(response.body == Data("abc".utf8))
        }
    }

    @Test("An HTTP/1.0 server, whose answer ends with the connection")
    func oldServer() async throws {
        let answer: TestServer.Answer = { _, connection in
            connection.write("HTTP/1.0 200 OK\r\n\r\nall there is")
            return .close
        }
        try await TestServer.with(answer) { server in
            let response = try await HTTPClient().send(HTTPRequest(url: server.url))
            #expect(response.version == .http10)
            #expect(response.body == Data("all there is".utf8))
        }
    }
}
