import Ledger

extension JobError {
    init(_ error: LedgerError) {
        self =
            switch error {
            case .connectionLost(let text): .databaseUnavailable(text)
            case .refused(let text): .databaseRefuses(text)
            case .schema(let text): .schemaMismatch(text)
            case .conflict(let text): .databaseUnavailable("another session's lock stays in the way: \(text)")
            case .cancelled: .databaseUnavailable("a statement was cancelled")
            case .unbalanced: .inconsistent("The control totals don't balance: \(error.description)")
            case .violated: .inconsistent("\(error.description). Look with iap-reconcile verify.")
            case .failed(let text): .inconsistent(text)
            }
    }

    /// What the run's row keeps, in the numbers of sysexits.h.
    var exitCode: Int {
        switch self {
        case .databaseUnavailable, .appleUnavailable: 69
        case .databaseRefuses: 77
        case .schemaMismatch, .configuration: 78
        case .anotherRun, .interrupted: 75
        case .inconsistent: 70
        case .notFound: 65
        }
    }
}
