public import Job
import Ledger

/// How the setup reaches the database: as the owner of what it makes, or an administrator.
public struct OwnerAccess: Sendable {
    let address: DatabaseAddress
    /// The user of this system as whom the server is reached, if it goes by that; `nil` for whoever started the
    /// program.
    let user: SystemUser?

    /// - Parameter text: as libpq understands it, or the database's name alone. By a socket and without a role it is
    ///   reached as `postgres`, and by root as the system's user of the role's name.
    /// - Throws: `JobError.configuration` if it can't be read, or names no database.
    public init(_ text: String) throws(JobError) {
        var address: DatabaseAddress
        do {
            address = try DatabaseAddress(text)
        } catch {
            throw .configuration(error.description)
        }
        guard !address.isService else {
            throw .configuration(
                "Name host and database themselves, not a service: they are written into the configuration.")
        }
        guard let database = address.database, !database.isEmpty else {
            throw .configuration("The connection string names no database (dbname=…).")
        }
        if address.isSocket, address.role == nil { address = address.reached(by: "postgres") }
        self.address = address
        user = address.isSocket ? address.role.flatMap { SystemUser(named: $0) } : nil
    }

    /// As the configuration has it, without a password.
    public var printable: String { address.printable }
    /// Whether the server is reached by a socket on this machine.
    public var isSocket: Bool { address.isSocket }

    var database: String { address.database ?? "" }

    /// A session of the owner's for the body.
    func session<Value>(
        in database: String? = nil, _ body: (LedgerSession) async throws(LedgerError) -> Value
    ) async throws -> Value {
        let reached = database.map { address.beside($0) } ?? address
        func run() async throws -> Value {
            try await withLedger(
                LedgerSettings(database: reached.text), isCurrent: false, explained: { JobError($0) }, body)
        }
        guard let user else { return try await run() }
        return try await user.acting(run)
    }

    /// Why a role can't log in, tried as that user of the system; `nil` if it can.
    static func refusal(of conninfo: String, as user: SystemUser) async throws -> String? {
        try await user.acting {
            do throws(LedgerError) {
                try await LedgerSession.connect(LedgerSettings(database: conninfo)).close()
                return nil
            } catch {
                return error.description
            }
        }
    }
}
