import CMalloc
import Foundation

/// How the program uses memory.
enum Memory {
    /// Keeps the whole program to one heap. By default the GNU C library gives each thread its own, and memory that the
    /// pool's threads leave in one another's heaps is never returned: the program would grow with the night. Call it
    /// before a second thread begins; see mallopt(3).
    static func keepToOneHeap() {
        _ = mallopt(M_ARENA_MAX, 1)
    }

    /// Forbids core dumps: the memory holds shared secrets, keys and passwords.
    static func keepOffDisks() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }
}
