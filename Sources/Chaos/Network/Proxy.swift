import Foundation
import Synchronization

/// A TCP proxy on loopback that carries bytes to a server until it is told to do worse. It takes a few connections at a
/// time, each with two threads.
final class Proxy: Sendable {
    enum Server: Sendable {
        case unix(path: String)
        case loopback(port: UInt16)
    }

    /// Handles a connection, numbered from zero, in place of the server; returns false to have it carried.
    typealias Intercept = @Sendable (_ number: Int, _ client: Int32) -> Bool

    private struct State {
        var delay: UInt32 = 0
        var connections: [Carried] = []
        var accepted = 0
    }

    let port: Int
    private let server: Server
    private let intercept: Intercept
    private let listener: Int32
    private let state = Mutex(State())

    init(to server: Server, intercept: @escaping Intercept = { _, _ in false }) throws {
        self.server = server
        self.intercept = intercept
        (listener, port) = try TCP.listen()
        Thread.detachNewThread { [self] in acceptAll() }
    }

    /// Accepts connections until it is stopped.
    private func acceptAll() {
        var client = accept(listener, nil, nil)
        while client >= 0 {
            take(client)
            client = accept(listener, nil, nil)
        }
    }

    /// Stops it and all that it carries.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        cut()
    }

    // MARK: What it does to connections

    /// Ends the present connections, in the middle of whatever they carry.
    func cut() {
        for connection in state.withLock(\.connections) { connection.cut() }
    }

    /// Makes the present connections carry nothing more, without telling either side.
    func stall() {
        for connection in state.withLock(\.connections) { connection.stall() }
    }

    /// Delays every piece by so much from now on.
    func delay(microseconds: UInt32) {
        state.withLock { $0.delay = microseconds }
    }

    private func take(_ client: Int32) {
        let number = state.withLock { state in
            state.accepted += 1
            return state.accepted - 1
        }
        Thread.detachNewThread { [self] in
            if intercept(number, client) {
                close(client)
                return
            }
            guard let upstream = TCP.connect(to: server) else {
                close(client)
                return
            }
            let connection = Carried(client: client, server: upstream)
            state.withLock { $0.connections.append(connection) }
            connection.carry { [self] in state.withLock(\.delay) }
        }
    }
}

/// A connection between a client and a server. Its descriptors stay until the proxy lets go of it: a number that is free
/// again would be somebody else's, whom a late cut would hit.
private final class Carried: Sendable {
    private let client: Int32
    private let server: Int32
    private let isStalled = Atomic(false)

    init(client: Int32, server: Int32) {
        self.client = client
        self.server = server
    }

    deinit {
        for descriptor in [client, server] { close(descriptor) }
    }

    func cut() {
        for descriptor in [client, server] { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    func stall() { isStalled.store(true, ordering: .relaxed) }

    func carry(delay: @escaping @Sendable () -> UInt32) {
        Thread.detachNewThread { [self] in pump(from: server, to: client, delay) }
        pump(from: client, to: server, delay)
    }

    private func pump(from source: Int32, to target: Int32, _ delay: () -> UInt32) {
        var piece = [UInt8](repeating: 0, count: 65_536)
        var count = read(source, &piece, piece.count)
        while count > 0 {
            // What is given to a network that forgot the connection is gone.
            if !isStalled.load(ordering: .relaxed) {
                usleep(delay())
                guard TCP.send(piece.prefix(count), to: target) else { break }
            }
            count = read(source, &piece, piece.count)
        }
        // The other side of a stalled connection never learns that this one has ended.
        if !isStalled.load(ordering: .relaxed) { shutdown(target, Int32(SHUT_WR)) }
    }
}
