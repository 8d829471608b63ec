import CMicroHTTPD
import Dispatch
import Synchronization

/// Connections whose answers are held back. libmicrohttpd keeps a suspended connection until it is resumed, even if its
/// client went away, and needs all of them resumed before the server stops.
final class SuspendedConnections: Sendable {
    private struct State {
        var waiting: Set<UInt> = []
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Suspends the connection for this many seconds.
    func suspend(_ connection: OpaquePointer?, seconds: Double) {
        let address = UInt(bitPattern: connection)
        let isSuspended = state.withLock { state in
            guard !state.isClosed else { return false }
            MHD_suspend_connection(connection)
            state.waiting.insert(address)
            return true
        }
        guard isSuspended else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [weak self] in self?.resume(address) }
    }

    /// Resumes all, and suspends no more.
    func close() {
        state.withLock { state in
            state.isClosed = true
            for address in state.waiting { MHD_resume_connection(OpaquePointer(bitPattern: address)) }
            state.waiting = []
        }
    }

    private func resume(_ address: UInt) {
        state.withLock { state in
            guard state.waiting.remove(address) != nil else { return }
            MHD_resume_connection(OpaquePointer(bitPattern: address))
        }
    }
}
