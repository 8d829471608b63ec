import Synchronization

/// Tells the first who asks from all others.
final class Once: Sendable {
    private let isOver = Mutex(false)

    func isFirst() -> Bool {
        isOver.withLock { isOver in
            defer { isOver = true }
            return !isOver
        }
    }
}
