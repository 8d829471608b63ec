import Foundation
import Ledger
import PostgreSQL

/// The database that the others are copied from: every migration in its order, then the roles.
struct SchemaTemplate: Sendable {
    static let name = "schema_template"

    let logins: [String: String]

    static func shared() async throws -> SchemaTemplate { try await sharedStart.value }

    private static let sharedStart = Task { try await create() }

    private static func create() async throws -> SchemaTemplate {
        let cluster = try await ScratchCluster.shared()
        let admin = try await Connection.connect(ConnectionSettings(cluster.superuserConninfo()))
        defer { admin.close() }
        try await admin.execute("CREATE DATABASE \(identifier: name) TEMPLATE template0")
        let database = ScratchDatabase(name: name, cluster: cluster, logins: [:])
        let session = try await LedgerSession.connect(LedgerSettings(database: database.conninfo))
        defer { session.close() }
        _ = try await session.migrate()
        _ = try await session.markAsRehearsal()
        let roles = sqlFolder.appending(path: "roles.sql")
        if FileManager.default.fileExists(atPath: roles.path) { try await apply(roles, to: database) }
        return SchemaTemplate(logins: try await makeLogins(admin))
    }

    private static let sqlFolder = PackageRoot.folder.appending(path: "sql")

    /// By psql, which also understands its own commands, should a file hold any.
    private static func apply(_ file: URL, to database: ScratchDatabase) async throws {
        let options = ["-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-d", database.conninfo]
        let sql = try String(contentsOf: file, encoding: .utf8)
        let ended = try await database.cluster.run("psql", options + ["-f", "-"], input: sql)
        guard ended.status == 0 else {
            throw ChildProcess.Failure(description: "\(file.lastPathComponent): \(ended.errors)")
        }
    }

    /// A login for each of our roles that may not log in itself.
    private static func makeLogins(_ admin: Connection) async throws -> [String: String] {
        let roles = try await admin.query(
            "SELECT rolname FROM pg_roles WHERE starts_with(rolname, 'iap_') AND NOT rolcanlogin")
        var logins: [String: String] = [:]
        for row in roles {
            let role: String = try row("rolname")
            let login = "login_of_\(role)"
            try await admin.execute("CREATE ROLE \(identifier: login) LOGIN IN ROLE \(identifier: role)")
            logins[role] = login
        }
        return logins
    }
}
