import CMalloc
import Foundation

/// How the program treats memory.
enum Memory {
    /// Keeps the whole program to one heap. By default the GNU C library gives each thread its own, and what the
    /// pool's threads leave behind in one another's is never handed back: the program would grow with the night.
    /// To be called before a second thread begins; see mallopt(3).
    static func keepToOneHeap() {
        _ = mallopt(M_ARENA_MAX, 1)
    }

    /// Forbids that a crash leaves a copy of the memory on a disk: shared secrets, keys and passwords are in it.
    static func keepOffDisks() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }
}
