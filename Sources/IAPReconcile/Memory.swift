import CMalloc

/// How the program asks the system for memory.
enum Memory {
    /// Keeps the whole program to one heap. By default the GNU C library gives each thread its own, and what the
    /// pool's threads leave behind in one another's is never handed back: the program would grow with the night.
    /// To be called before a second thread begins; see mallopt(3).
    static func keepToOneHeap() {
        _ = mallopt(M_ARENA_MAX, 1)
    }
}
