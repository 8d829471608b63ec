import Foundation
import Glibc
import Synchronization

/// A real HTTP/1.1 server on a free port of loopback, with a thread for each connection. A test's closure writes the
/// answers, well-formed or not.
public final class TestServer: Sendable {
    /// Whether the connection takes another request.
    public enum Ending: Sendable {
        case keepAlive
        case close
    }

    public typealias Answer = @Sendable (ReceivedRequest, TestConnection) -> Ending

    public let port: Int
    /// Connections accepted so far.
    public let accepted = RisingCount()
    /// Connections that ended so far.
    public let ended = RisingCount()
    /// Requests received so far, and what they were.
    public let received = RisingCount()
    private let listener: Int32
    private let answer: Answer
    private let requests = Mutex([ReceivedRequest]())
    private let open = Mutex(Set<Int32>())

    public var url: String { "http://127.0.0.1:\(port)" }
    public var log: [ReceivedRequest] { requests.withLock { $0 } }

    private init(_ answer: @escaping Answer) throws {
        (listener, port) = try LoopbackListener.open(backlog: 256)
        self.answer = answer
        Thread.detachNewThread { self.accept() }
    }

    /// Starts a server, and stops it when the body ends.
    @discardableResult
    public static func with<Value>(
        _ answer: @escaping Answer, _ body: (TestServer) async throws -> Value
    ) async throws -> Value {
        let server = try TestServer(answer)
        defer { server.stop() }
        return try await body(server)
    }

    private func accept() {
        while case let descriptor = Glibc.accept(listener, nil, nil), descriptor >= 0 {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            open.withLock { _ = $0.insert(descriptor) }
            let number = accepted.count
            accepted.increment()
            Thread.detachNewThread { self.serve(TestConnection(descriptor: descriptor, number: number)) }
        }
        close(listener)
    }

    private func serve(_ connection: TestConnection) {
        var ending = Ending.keepAlive
        while ending == .keepAlive, let request = connection.receive() {
            requests.withLock { $0.append(request) }
            received.increment()
            ending = answer(request, connection)
        }
        open.withLock { _ = $0.remove(connection.descriptor) }
        // Ends it even where a program that was started in the meantime holds a copy.
        shutdown(connection.descriptor, Int32(SHUT_RDWR))
        close(connection.descriptor)
        ended.increment()
    }

    private func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        open.withLock { for descriptor in $0 { shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }
}

public enum LoopbackListener {
    /// A socket that listens on a free port.
    public static func open(backlog: Int32) throws -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, backlog) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }
}
