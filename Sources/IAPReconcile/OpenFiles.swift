import Foundation
import Job
import Verification

/// How many files and sockets the program may have open at a time.
enum OpenFiles {
    /// More than any configuration needs, and not so many that a program which it starts, and which closes whatever might
    /// be open, takes long for that.
    private static let mostWanted: rlim_t = 4096
    /// Beside requests and connections: timers and wake-ups, the log, and the files of which a spreadsheet is packed.
    private static let others = 40

    /// Takes as many as whoever started the program allows; see getrlimit(2). Most systems begin with 1024, which are
    /// too few for a thousand requests in flight, and libdispatch ends a program that has none left.
    static func takeAllowed() {
        guard var limit = current, limit.rlim_cur < mostWanted else { return }
        limit.rlim_cur = min(limit.rlim_max, mostWanted)
        _ = setrlimit(resource, &limit)
    }

    /// What is wrong with the settings of a night, where fewer are allowed than they need.
    static func shortage(for settings: JobSettings) -> String? {
        let needed = settings.apple.concurrency + settings.connections + others
        guard let current, current.rlim_cur < rlim_t(needed) else { return nil }
        return """
            concurrency = \(settings.apple.concurrency) and connections = \(settings.connections) need \(needed) open \
            files, and the program may have \(current.rlim_cur)
            """
    }

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    private static var current: rlimit? {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? limit : nil
    }
}
