import Foundation
import Glibc
import HTTP
import TestSupport
import Testing

@Suite("Limits")
struct LimitTests {
    @Test("A body as large as the limit is whole, one byte more is refused", arguments: [0, 1, 70_000])
    func size(_ limit: Int) async throws {
        let answer: TestServer.Answer = { request, connection in
            connection.respond(body: Data(count: Int(request.path.dropFirst()) ?? 0))
        }
        try await TestServer.with(answer) { server in
            let client = try HTTPClient(.init(maximumResponseBytes: limit))
            #expect(try await client.send(HTTPRequest(url: "\(server.url)/\(limit)")).body.count == limit)
            await #expect(throws: HTTPError.responseTooLarge(limit: limit)) {
                try await client.send(HTTPRequest(url: "\(server.url)/\(limit + 1)"))
            }
            #expect(try await client.send(HTTPRequest(url: "\(server.url)/\(limit)")).body.count == limit)
        }
    }

    @Test(
        "An answer without end is cut off",
        arguments: [
            (head: "Transfer-Encoding: chunked\r\n\r\n", piece: "10\r\n0123456789abcdef\r\n"),
            (head: "\r\n", piece: "0123456789abcdef"),
        ])
    func endlessBody(_ answer: (head: String, piece: String)) async throws {
        try await TestServer.with(Self.endless("HTTP/1.1 200 OK\r\n" + answer.head, answer.piece)) { server in
            let client = try HTTPClient(.init(maximumResponseBytes: 100_000))
            await #expect(throws: HTTPError.responseTooLarge(limit: 100_000)) {
                try await client.send(HTTPRequest(url: server.url))
            }
            await server.ended.reach(1)
        }
    }

    @Test("So are headers without end", arguments: ["X-More: 1\r\n", "\r\nHTTP/1.1 103 Early Hints\r\n"])
    func endlessHeaders(_ piece: String) async throws {
        let head = piece.hasPrefix("X") ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 103 Early Hints\r\n"
        try await TestServer.with(Self.endless(head, piece)) { server in
            await #expect(throws: HTTPError.responseTooLarge(limit: 256 * 1024)) {
                try await HTTPClient().send(HTTPRequest(url: server.url))
            }
        }
    }

    @Test("An answer that does not come is given up; the request's own time-out goes before the client's")
    func noAnswer() async throws {
        try await TestServer.with({ _, connection in connection.staySilent() }) { server in
            let patient = try HTTPClient()
            let error = await #expect(throws: HTTPError.self) {
                try await patient.send(HTTPRequest(url: server.url, timeout: 0.2))
            }
            #expect(Self.isTimeout(error, within: 0.19...20))
            let impatient = try HTTPClient(.init(timeout: 0.2))
            let other = await #expect(throws: HTTPError.self) {
                try await impatient.send(HTTPRequest(url: server.url))
            }
            #expect(Self.isTimeout(other, within: 0.19...20))
            await server.ended.reach(2)
        }
    }

    @Test("A byte now and then does not put off the time-out")
    func trickle() async throws {
        let answer: TestServer.Answer = { _, connection in
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while connection.write("x") { usleep(5_000) }
            return .close
        }
        try await TestServer.with(answer) { server in
            let error = await #expect(throws: HTTPError.self) {
                try await HTTPClient().send(HTTPRequest(url: server.url, timeout: 0.3))
            }
            #expect(Self.isTimeout(error, within: 0.29...20))
        }
    }

    @Test("A time-out of nothing is one, not none", arguments: [0, -1])
    func noTime(_ timeout: TimeInterval) async throws {
        try await TestServer.with({ _, connection in connection.staySilent() }) { server in
            let error = await #expect(throws: HTTPError.self) {
                try await HTTPClient().send(HTTPRequest(url: server.url, timeout: timeout))
            }
            #expect(Self.isTimeout(error, within: 0...20))
        }
    }

    @Test("A connection that does not come about is given up long before the whole transfer would be")
    func connecting() async throws {
        // The kernel answers nobody any more once as many wait to be accepted as the listener allows.
        let (listener, port) = try LoopbackListener.open(backlog: 0)
        var waiting: [Int32] = []
        defer { for descriptor in waiting + [listener] { close(descriptor) } }
        for _ in 0..<4 { waiting.append(try Self.connect(to: port)) }
        let client = try HTTPClient(.init(connectTimeout: 0.3, timeout: 600))
        let error = await #expect(throws: HTTPError.self) {
            try await client.send(HTTPRequest(url: "http://127.0.0.1:\(port)/"))
        }
        #expect(Self.isTimeout(error, within: 0.29...20))
    }

    private static func endless(_ head: String, _ piece: String) -> TestServer.Answer {
        { _, connection in
            connection.write(head)
            let pieces = Data(String(repeating: piece, count: 100).utf8)
            while connection.write(pieces) {}
            return .close
        }
    }

    /// libcurl ends a transfer up to a millisecond early.
    private static func isTimeout(_ error: HTTPError?, within range: ClosedRange<TimeInterval>) -> Bool {
        guard case .timedOut(_, let seconds) = error else { return false }
        return range.contains(seconds)
    }

    /// A connection that is begun, and comes about or not.
    private static func connect(to port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return descriptor
    }
}
