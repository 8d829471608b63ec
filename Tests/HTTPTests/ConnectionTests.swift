import Foundation
import HTTP
import Synchronization
import TestSupport
import Testing

@Suite("Many transfers over few connections")
struct ConnectionTests {
    @Test("Thousands of requests through 64 slots: each gets its own answer, over no more than 64 connections")
    func manyRequests() async throws {
        let answer: TestServer.Answer = { request, connection in
            connection.respond(body: Data(request.path.utf8) + request.body)
        }
        try await TestServer.with(answer) { server in
            let client = try HTTPClient()
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<3_000 {
                    group.addTask {
                        let body = Data("body of \(number)".utf8)
                        let request = HTTPRequest(method: "POST", url: "\(server.url)/\(number)", body: body)
                        return try await client.send(request).body == Data("/\(number)".utf8) + body
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
            #expect(server.received.count == 3_000)
            #expect(server.accepted.count <= 64)
        }
    }

    @Test("No more transfers are in flight than there are slots, and no fewer while others wait")
    func slots() async throws {
        let gate = DispatchSemaphore(value: 0)
        let answer: TestServer.Answer = { _, connection in
            gate.wait()
            return connection.respond()
        }
        try await TestServer.with(answer) { server in
            let client = try HTTPClient(.init(maximumTransfers: 3))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<10 { group.addTask { _ = try await client.send(HTTPRequest(url: server.url)) } }
                for ended in 0..<10 {
                    let inFlight = min(3, 10 - ended)
                    await server.received.reach(ended + inFlight)
                    #expect(server.received.count == ended + inFlight)
                    gate.signal()
                    try await group.next()
                }
            }
            #expect(server.accepted.count == 3)
        }
    }

    @Test("No slots at all count as one", arguments: [0, -5])
    func noSlots(_ maximum: Int) async throws {
        try await TestServer.with({ _, connection in connection.respond() }) { server in
            let client = try HTTPClient(.init(maximumTransfers: maximum))
            #expect(try await client.send(HTTPRequest(url: server.url)).status == 200)
        }
    }

    @Test("One request after the other needs one connection")
    func keptAlive() async throws {
        try await TestServer.with({ _, connection in connection.respond() }) { server in
            let client = try HTTPClient()
            for _ in 0..<100 { _ = try await client.send(HTTPRequest(url: server.url)) }
            #expect(server.accepted.count == 1)
        }
    }

    @Test("A connection that the server closed meanwhile is replaced")
    func closedMeanwhile() async throws {
        try await TestServer.with({ _, connection in connection.respond(then: .close) }) { server in
            let client = try HTTPClient()
            for number in 1...5 {
                let request = HTTPRequest(method: "POST", url: server.url, body: Data("x".utf8))
                #expect(try await client.send(request).status == 200)
                await server.ended.reach(number)
            }
            #expect(server.accepted.count == 5)
            #expect(server.received.count == 5)
        }
    }

    @Test("So is one that the server closes at the very moment of the request")
    func closedAtThatMoment() async throws {
        let answer: TestServer.Answer = { request, connection in
            request.path == "/second" && connection.number == 0 ? .close : connection.respond(body: request.body)
        }
        try await TestServer.with(answer) { server in
            let client = try HTTPClient()
            _ = try await client.send(HTTPRequest(url: server.url + "/first"))
            let body = Data("second".utf8)
            let request = HTTPRequest(method: "POST", url: server.url + "/second", body: body)
            #expect(try await client.send(request).body == body)
            #expect(server.log.map(\.path) == ["/first", "/second", "/second"])
            #expect(server.accepted.count == 2)
        }
    }

    @Test("Two servers at the same time, each over its own connections")
    func twoServers() async throws {
        try await TestServer.with({ _, connection in connection.respond(body: Data("one".utf8)) }) { one in
            try await TestServer.with({ _, connection in connection.respond(body: Data("two".utf8)) }) { two in
                let client = try HTTPClient()
                for _ in 0..<10 {
                    async let first = client.send(HTTPRequest(url: one.url)).body
                    async let second = client.send(HTTPRequest(url: two.url)).body
                    let answers = try await [first, second]
                    #expect(answers == [Data("one".utf8), Data("two".utf8)])
                }
                #expect(one.accepted.count == 1)
                #expect(two.accepted.count == 1)
            }
        }
    }
}
