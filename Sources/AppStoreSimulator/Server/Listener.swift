import CMicroHTTPD
import Synchronization

/// A request that came over HTTP.
struct Request: Sendable {
    let method: String
    /// Without the query.
    let path: String
    let query: [(name: String, value: String)]
    /// The value of the header with this name.
    let authorization: String?
    let body: [UInt8]
}

/// An HTTP or HTTPS server on a port of 127.0.0.1, with libmicrohttpd and two threads that answer. A delayed answer
/// suspends its connection and holds no thread.
final class Listener: Sendable {
    private let respond: @Sendable (Request) -> Answer
    private let suspended = SuspendedConnections()
    /// The daemon's address while it runs, and its port. The address is a number, as C pointers are not `Sendable`.
    private let running = Mutex<(daemon: UInt, port: UInt16)>((0, 0))

    /// `respond` is called on the server's threads.
    init(respond: @escaping @Sendable (Request) -> Answer) {
        self.respond = respond
    }

    deinit { stop() }

    /// Listens on the port, or on any free one for 0, and returns it.
    func start(port: UInt16, credentials: ServerCredentials? = nil) throws(SimulatorError) -> UInt16 {
        let flags =
            MHD_USE_EPOLL_INTERNAL_THREAD.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
            | (credentials == nil ? 0 : MHD_USE_TLS.rawValue)
        // The daemon is stopped before the listener is released, so the context outlives every callback.
        let context = Unmanaged.passUnretained(self).toOpaque()
        guard
            let daemon = MHD_start_loopback_daemon(
                flags, port, handleRequest, forgetRequest, context, 2, credentials?.keyPEM,
                credentials?.certificatePEM)
        else { throw .cannotListen(port: port, https: credentials != nil) }
        let bound = MHD_get_daemon_port(daemon)
        running.withLock { $0 = (UInt(bitPattern: daemon), bound) }
        return bound
    }

    /// Sends the answers that are held back and closes every connection.
    func stop() {
        let address = running.withLock { running in
            defer { running = (0, 0) }
            return running.daemon
        }
        guard let daemon = OpaquePointer(bitPattern: address) else { return }
        suspended.close()
        MHD_stop_daemon(daemon)
    }

    /// Takes one part of a request; after the last, answers, or suspends the connection until it is time to.
    fileprivate func handle(_ exchange: Exchange, on connection: OpaquePointer?) -> MHD_Result {
        let answer = exchange.answer ?? respond(exchange.request)
        guard exchange.answer == nil, answer.delay > 0 else { return answer.queue(on: connection) }
        exchange.answer = answer
        suspended.suspend(connection, seconds: answer.delay)
        return .YES
    }
}

/// The state of a request in progress. Only the thread that serves its connection touches it.
private final class Exchange {
    private static let mostBytes = 16 * 1024 * 1024
    private let method: String
    private let path: String
    private let query: [(name: String, value: String)]
    private let authorization: String?
    private var body: [UInt8] = []
    var answer: Answer?

    init(method: String, path: String, connection: OpaquePointer?) {
        self.method = method
        self.path = path
        query = connection.map(QueryArguments.of) ?? []
        authorization = MHD_lookup_connection_value(connection, .HEADER_KIND, "Authorization")
            .map { String(cString: $0) }
    }

    var request: Request {
        Request(method: method, path: path, query: query, authorization: authorization, body: body)
    }

    /// Adds a part of the body; returns false if the body grows beyond reason.
    func add(_ part: UnsafeRawBufferPointer) -> Bool {
        body.append(contentsOf: part)
        return body.count <= Self.mostBytes
    }
}

/// The arguments of a request's query, decoded by libmicrohttpd.
private final class QueryArguments {
    private var arguments: [(name: String, value: String)] = []

    static func of(_ connection: OpaquePointer) -> [(name: String, value: String)] {
        let collected = QueryArguments()
        MHD_get_connection_values(
            connection, .GET_ARGUMENT_KIND,
            { context, _, name, value in
                guard let context, let name else { return .NO }
                Unmanaged<QueryArguments>.fromOpaque(context).takeUnretainedValue().arguments
                    .append((String(cString: name), value.map { String(cString: $0) } ?? ""))
                return .YES
            }, Unmanaged.passUnretained(collected).toOpaque())
        return collected.arguments
    }
}

private let handleRequest: MHD_AccessHandlerCallback = { context, connection, path, method, _, part, size, slot in
    guard let context, let path, let method, let size, let slot else { return .NO }
    guard let known = slot.pointee else {
        let exchange = Exchange(
            method: String(cString: method), path: String(cString: path), connection: connection)
        slot.pointee = Unmanaged.passRetained(exchange).toOpaque()
        return .YES
    }
    let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
    if size.pointee > 0 {
        let isTaken = exchange.add(UnsafeRawBufferPointer(start: part, count: size.pointee))
        size.pointee = 0
        return isTaken ? .YES : .NO
    }
    return Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue().handle(exchange, on: connection)
}

private let forgetRequest: MHD_RequestCompletedCallback = { _, _, slot, _ in
    guard let slot, let known = slot.pointee else { return }
    Unmanaged<Exchange>.fromOpaque(known).release()
    slot.pointee = nil
}
