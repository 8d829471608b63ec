import CPostgreSQL

/// One libpq connection: its handle, its socket and the canceller of its statements.
final class Session {
    /// `nil` once the session was closed.
    private(set) var handle: OpaquePointer?
    let socket: Socket
    let canceller: Canceller
    let serverVersion: Int
    let processID: Int32
    let target: String
    private let notices: NoticeReceiver

    /// Takes over a handle that is connected, also if that fails.
    init(_ handle: OpaquePointer, _ settings: ConnectionSettings) throws(PostgreSQLError) {
        do {
            socket = try Socket(PQsocket(handle), patience: settings.replyTimeout)
        } catch {
            PQfinish(handle)
            throw error
        }
        self.handle = handle
        PQsetnonblocking(handle, 1)
        canceller = Canceller(handle)
        serverVersion = Int(PQserverVersion(handle))
        processID = PQbackendPID(handle)
        target = Self.target(of: handle)
        notices = NoticeReceiver(settings.onNotice)
        notices.listen(to: handle)
    }

    deinit { close() }

    private static func target(of handle: OpaquePointer) -> String {
        func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
        let host = "\(text(PQhost(handle))):\(text(PQport(handle)))"
        return "\(text(PQuser(handle))) on \(host), database \(text(PQdb(handle)))"
    }

    func close() {
        guard let handle else { return }
        self.handle = nil
        socket.close()
        PQfinish(handle)
    }

    var isAlive: Bool { handle.map { PQstatus($0) == CONNECTION_OK } ?? false }
}

/// Passes the server's notices on. libpq would print them on standard error.
private final class NoticeReceiver {
    private let receive: (@Sendable (ConnectionSettings.Notice) -> Void)?

    init(_ receive: (@Sendable (ConnectionSettings.Notice) -> Void)?) { self.receive = receive }

    /// Receives the notices of a handle. The session owns both the handle and this object, and frees the handle first,
    /// so the pointer stays valid.
    func listen(to handle: OpaquePointer) {
        let pointer = Unmanaged.passUnretained(self).toOpaque()
        PQsetNoticeReceiver(
            handle,
            { pointer, result in
                guard let pointer, let result else { return }
                Unmanaged<NoticeReceiver>.fromOpaque(pointer).takeUnretainedValue().take(result)
            }, pointer)
    }

    private func take(_ result: OpaquePointer) {
        guard let receive else { return }
        let fields = PostgreSQLError.Fields(result: result)
        receive(ConnectionSettings.Notice(severity: fields.severity ?? "", message: fields.message))
    }
}
