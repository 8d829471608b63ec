import Foundation
import Glibc

/// A lock on a folder, which ends with its owner, also if that is killed. It is never granted on a file system without
/// locks.
final class FolderLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock; `nil` if the folder can't be locked, or another holds the lock for longer than `patience`.
    ///
    /// - Parameter patience: seconds to wait for another's lock; the thread is blocked meanwhile.
    init?(_ path: String, patience: TimeInterval = 0) {
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        let last = ContinuousClock.now + .seconds(patience)
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard [EINTR, EWOULDBLOCK].contains(errno), ContinuousClock.now < last else {
                close(descriptor)
                return nil
            }
            usleep(10_000)
        }
    }

    deinit { close(descriptor) }
}
