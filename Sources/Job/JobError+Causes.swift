package import Ledger
public import Reconciliation
package import Verification

extension JobError {
    package init(_ error: LedgerError) {
        self =
            switch error {
            case .unusableSettings(let text):
                .configuration("\(text.sentence) Look at conninfo in [database], and at PG… in the environment.")
            case .connectionLost(let text): .databaseUnavailable(text)
            case .refused(let text), .forbidden(let text): .databaseRefuses(text)
            case .refusedByWorker(let text):
                .databaseRefuses(
                    "A worker does not let the coordinator in: \(text.sentence) Let it in there as this role, by the "
                        + "worker's pg_hba.conf and, with a password, the coordinator's .pgpass.")
            case .noDatabase(let text): .noDatabase("\(text.sentence) Name another in conninfo, or run setup.")
            case .schema(let text): .schemaMismatch(text)
            case .conflict(let text):
                .interrupted(
                    "Another session's lock stays in the way: \(text.sentence) Try again once that session has ended.")
            case .cancelled: .databaseUnavailable("A statement was cancelled.")
            case .statementStopped(let text):
                .databaseUnavailable(
                    "PostgreSQL stopped a statement, and nothing is damaged: \(text.sentence) Run it again, with a longer "
                        + "statement_timeout in [database] where the limit is too low.")
            case .exhausted(let text):
                .databaseUnavailable(
                    "PostgreSQL lacks room, and nothing is damaged: \(text.sentence) Make room on its server, or raise "
                        + "the limit that is named, and run it again.")
            case .forgottenRun(let text): .interrupted(text)
            case .unbalanced: .inconsistent("The control totals don't balance: \(error.description.sentence)")
            case .violated: .inconsistent("\(error.description.sentence) Look with iap-reconcile verify.")
            case .unfit(let text), .failed(let text): .inconsistent(text)
            }
    }

    /// As the other. If the database refuses, it also says which role should have asked, and who grants it a right.
    package init(_ error: LedgerError, workingAs role: LoginRole) {
        switch error {
        case .refused(let text):
            self = .databaseRefuses("\(text); \(role.explanation)")
        case .forbidden(let text):
            self = .databaseRefuses(
                "\(text); run “iap-reconcile setup”, or sql/roles.sql as an administrator, again, and look whose login it "
                    + "is: \(role.explanation)")
        default: self.init(error)
        }
    }

    /// What a database that went away or is full, a lock that stayed or a statement that was stopped means once
    /// something of a night may be booked; `nil` for any other error.
    package init?(interruptedBy error: LedgerError) {
        switch error {
        case .connectionLost, .conflict, .statementStopped, .exhausted:
            self = .interrupted(
                "\(JobError(error).description.sentence) What was not recorded yet waits for the next night.")
        default: return nil
        }
    }

    package init(_ error: UnusableSetting) {
        self = .configuration(error.description)
    }

    /// How the program ends, which the run's row keeps too.
    public var exitCode: ExitCode {
        switch self {
        case .databaseUnavailable, .appleUnavailable: .unavailable
        case .databaseRefuses: .noPermission
        case .noDatabase, .schemaMismatch, .configuration: .configuration
        case .anotherRun, .interrupted: .tryLater
        case .inconsistent: .software
        case .notFound: .dataError
        }
    }
}

extension String {
    /// The text with a full stop at its end, which some texts of PostgreSQL and Apple have already.
    package var sentence: String { last.map { ".!?。".contains($0) } ?? true ? self : self + "." }
}
