import Foundation
import HTTP
import TestSupport
import Testing

@Suite("Servers that are not there, or break off")
struct BrokenAnswerTests {
    @Test("Nobody listens")
    func nobodyListens() async throws {
        let host = "127.0.0.1:\(try FreePort.find())"
        let error = await #expect(throws: HTTPError.self) {
            try await HTTPClient().send(HTTPRequest(url: "http://\(host)/?token=secret"))
        }
        guard case .couldNotConnect(host, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("No host has such a name")
    func unknownHost() async throws {
        // Longer than a name's part may be, so that no name server is asked.
        let host = String(repeating: "a", count: 64) + ".invalid"
        await #expect(throws: HTTPError.couldNotResolve(host: host)) {
            try await HTTPClient().send(HTTPRequest(url: "http://\(host)/"))
        }
    }

    @Test(
        "What is cut off or isn't HTTP is no answer",
        arguments: [
            "",
            "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"status\":",
            "HTTP/1.1 200 OK\r\nContent-Le",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nX-Final: 1\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\nabc\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 2 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
            "HTTP/7.1 200 OK\r\n\r\n",
            "<html>no HTTP here</html>",
            "\u{0}\u{1}\u{2}\r\n\r\n",
        ])
    func broken(_ answer: String) async throws {
        let broken: TestServer.Answer = { _, connection in
            connection.write(answer)
            return .close
        }
        try await TestServer.with(broken) { server in
            let error = await #expect(throws: HTTPError.self) {
                try await HTTPClient().send(HTTPRequest(url: "\(server.url)/?token=secret"))
            }
            guard case .connectionLost(let reason) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(reason.hasPrefix("127.0.0.1:\(server.port): ") && !reason.contains("secret"))
        }
    }

    @Test("One answer that breaks off spoils no other")
    func othersGoOn() async throws {
        let answer: TestServer.Answer = { request, connection in
            guard request.path == "/broken" else { return connection.respond() }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
            return .close
        }
        try await TestServer.with(answer) { server in
            let client = try HTTPClient(.init(maximumTransfers: 4))
            let statuses = await withTaskGroup { group in
                for number in 0..<200 {
                    let path = number.isMultiple(of: 4) ? "/broken" : "/whole"
                    group.addTask { try? await client.send(HTTPRequest(url: server.url + path)).status }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.count { $0 == 200 } == 150)
            #expect(statuses.count { $0 == nil } == 50)
        }
    }
}
