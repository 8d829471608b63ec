import Foundation
import HTTP
import TestSupport
import Testing

@Suite("Cancelling and closing")
struct CancellationTests {
    @Test("A transfer in flight ends at once, and its connection with it")
    func inFlight() async throws {
        try await TestServer.with({ _, connection in connection.staySilent() }) { server in
            let client = try HTTPClient()
            let task = Task { try await client.send(HTTPRequest(url: server.url)) }
            await server.received.reach(1)
            task.cancel()
            #expect(await outcome(of: task) == .failure(.cancelled))
            await server.ended.reach(1)
        }
    }

    @Test("Those waiting for a slot leave the line, and never reach the server")
    func waiting() async throws {
        let gate = DispatchSemaphore(value: 0)
        let answer: TestServer.Answer = { _, connection in
            gate.wait()
            return connection.respond()
        }
        try await TestServer.with(answer) { server in
            let client = try HTTPClient(.init(maximumTransfers: 1))
            let first = Task { try await client.send(HTTPRequest(url: server.url + "/first")) }
            await server.received.reach(1)
            let others = (0..<50).map { _ in Task { try await client.send(HTTPRequest(url: server.url + "/other")) } }
            for other in others { other.cancel() }
            for other in others { #expect(await outcome(of: other) == .failure(.cancelled)) }
            gate.signal()
            #expect(await outcome(of: first) == .success(200))
            gate.signal()
            #expect(try await client.send(HTTPRequest(url: server.url + "/last")).status == 200)
            #expect(server.log.map(\.path) == ["/first", "/last"])
        }
    }

    @Test("A task that is cancelled already sends nothing")
    func beforehand() async throws {
        try await TestServer.with({ _, connection in connection.respond() }) { server in
            let client = try HTTPClient(.init(maximumTransfers: 1))
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                return try await client.send(HTTPRequest(url: server.url))
            }
            task.cancel()
            #expect(await outcome(of: task) == .failure(.cancelled))
            #expect(try await client.send(HTTPRequest(url: server.url)).status == 200)
        }
    }

    @Test("Cancelled at any moment, each request ends exactly once, and the others go on")
    func storm() async throws {
        try await TestServer.with({ _, connection in connection.respond() }) { server in
            let client = try HTTPClient(.init(maximumTransfers: 8))
            let tasks = (0..<1_000).map { _ in Task { try await client.send(HTTPRequest(url: server.url)) } }
            for (number, task) in tasks.enumerated() where number.isMultiple(of: 2) {
                task.cancel()
                if number.isMultiple(of: 50) { await Task.yield() }
            }
            for (number, task) in tasks.enumerated() {
                let outcome = await outcome(of: task)
                #expect(outcome == .success(200) || (number.isMultiple(of: 2) && outcome == .failure(.cancelled)))
            }
        }
    }

    @Test("Closing ends the transfers in flight and those waiting, and refuses others")
    func close() async throws {
        try await TestServer.with({ _, connection in connection.staySilent() }) { server in
            let client = try HTTPClient(.init(maximumTransfers: 4))
            let tasks = (0..<20).map { _ in Task { try await client.send(HTTPRequest(url: server.url)) } }
            await server.received.reach(4)
            await client.close()
            for task in tasks { #expect(await outcome(of: task) == .failure(.cancelled)) }
            await #expect(throws: HTTPError.cancelled) { try await client.send(HTTPRequest(url: server.url)) }
            await client.close()
            await server.ended.reach(4)
            #expect(server.received.count == 4)
        }
    }

    @Test("Whoever lets go of the client closes its connections")
    func lettingGo() async throws {
        try await TestServer.with({ _, connection in connection.respond() }) { server in
            _ = try await HTTPClient().send(HTTPRequest(url: server.url))
            await server.ended.reach(1)
        }
    }

    private func outcome(of task: Task<HTTPResponse, any Error>) async -> Result<Int, HTTPError> {
        switch await task.result {
        case .success(let response): .success(response.status)
        case .failure(let error as HTTPError): .failure(error)
        case .failure(let error): .failure(.other(code: -1, "\(error)"))
        }
    }
}
