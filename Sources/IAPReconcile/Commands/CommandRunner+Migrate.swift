import Commands
import Foundation
import Job
import Reconciliation

extension CommandRunner {
    /// Brings the schema up to date, or shows the SQL that would do it.
    func migrate(isPrintOnly: Bool, isRehearsal: Bool) async throws -> ExitCode {
        let database = configuration.ownerDatabase ?? configuration.settings.database
        if isPrintOnly {
            StandardOutput.write(try await SchemaUpdate.pendingSQL(database: database))
            return .done
        }
        let applied = try await SchemaUpdate.migrate(database: database, isRehearsal: isRehearsal)
        StandardOutput.write(
            applied.isEmpty
                ? "The schema is up to date.\n"
                : "Applied: \(applied.joined(separator: ", ")).\nNow run sql/roles.sql, which grants what is new.\n")
        if isRehearsal {
            StandardOutput.write("The database is for replays alone: no customer's purchase belongs in it.\n")
        }
        return .done
    }
}
