import Synchronization

/// The pauses that were asked for.
final class Pauses: Sendable {
    private let list = Mutex<[Duration]>([])

    var all: [Duration] { list.withLock { $0 } }

    func add(_ pause: Duration) { list.withLock { $0.append(pause) } }
}
