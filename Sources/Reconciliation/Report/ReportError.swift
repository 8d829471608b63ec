/// Why a receiver of findings could not make its report of them.
public enum ReportError: ForeseenError, Sendable {
    /// The folder can't be made or written to.
    case notWritable(path: String, reason: String)
    /// Writing failed on the way: the disk is full, or the folder vanished.
    case failed(path: String, reason: String)

    public var exitCode: ExitCode { .noPermission }

    public var description: String {
        switch self {
        case .notWritable(let path, let reason):
            "The report directory \(path) can't be written to: \(reason). Create it for this user, or name another."
        case .failed(let path, let reason):
            "The report could not be written to \(path): \(reason)."
        }
    }
}
