import Glibc

/// A lock on a folder, which ends with its owner, also where that is killed. A file system that knows no locks grants
/// none.
final class FolderLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock; `nil` where the folder can't be locked, or another holds the lock and it is not waited for.
    init?(_ path: String, isWaiting: Bool = false) {
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        var result: Int32
        repeat { result = flock(descriptor, LOCK_EX | (isWaiting ? 0 : LOCK_NB)) } while result != 0 && errno == EINTR
        guard result == 0 else {
            close(descriptor)
            return nil
        }
    }

    deinit { close(descriptor) }
}
