import Foundation
public import PostgreSQL

/// A test's own database in the shared cluster.
public struct ScratchDatabase: Sendable {
    public let name: String
    public let cluster: ScratchCluster
    /// For each role that may not log in itself, a login that belongs to it.
    let logins: [String: String]

    /// For the superuser.
    public var conninfo: String { cluster.superuserConninfo(database: name) }

    /// For one of the roles of sql/roles.sql, such as `iap_job`.
    public func conninfo(as role: String) -> String {
        cluster.conninfo(user: logins[role] ?? role, database: name)
    }

    /// A session of the superuser.
    public func connect() async throws -> Connection { try await .connect(ConnectionSettings(conninfo)) }

    public func connect(as role: String) async throws -> Connection {
        try await .connect(ConnectionSettings(conninfo(as: role)))
    }

    /// A session of the superuser that holds a table's lock until its transaction ends.
    ///
    /// - Parameter mode: as in `LOCK TABLE … IN … MODE`.
    public func connectLocking(_ table: String, in mode: String = "ACCESS EXCLUSIVE") async throws -> Connection {
        let holder = try await connect()
        try await holder.execute("BEGIN")
        try await holder.execute("LOCK TABLE \(unsafe: table) IN \(unsafe: mode) MODE")
        return holder
    }
}

/// Runs a test in a database of its own, which is dropped afterwards: with all migrations and roles, or empty.
public func withScratchDatabase<Value>(
    empty: Bool = false, _ body: (ScratchDatabase) async throws -> Value
) async throws -> Value {
    let database = try await ScratchDatabase.create(empty: empty)
    do {
        let value = try await body(database)
        try await database.drop()
        return value
    } catch {
        try? await database.drop()
        throw error
    }
}

extension ScratchDatabase {
    /// A database that stays as long as its cluster, for tests to take copies of.
    public static func kept(_ prepare: (ScratchDatabase) async throws -> Void) async throws -> ScratchDatabase {
        let database = try await create(empty: false)
        try await prepare(database)
        return database
    }

    static func create(empty: Bool) async throws -> ScratchDatabase {
        let cluster = try await ScratchCluster.shared()
        let name = newName()
        let template: SchemaTemplate? = if empty { nil } else { try await SchemaTemplate.shared() }
        let admin = try await Connection.connect(ConnectionSettings(cluster.superuserConninfo()))
        defer { admin.close() }
        let source = template == nil ? "template0" : SchemaTemplate.name
        try await admin.execute("CREATE DATABASE \(identifier: name) TEMPLATE \(identifier: source)")
        return ScratchDatabase(name: name, cluster: cluster, logins: template?.logins ?? [:])
    }

    private static func newName() -> String {
        "scratch_" + UUID().uuidString.lowercased().replacing("-", with: "_")
    }

    /// Runs the body with a copy of this database, which is dropped afterwards. Nobody may be connected to this one.
    public func withCopy<Value>(_ body: (ScratchDatabase) async throws -> Value) async throws -> Value {
        let copy = ScratchDatabase(name: Self.newName(), cluster: cluster, logins: logins)
        let admin = try await Connection.connect(ConnectionSettings(cluster.superuserConninfo()))
        defer { admin.close() }
        try await endSessions(by: admin)
        try await admin.execute("CREATE DATABASE \(identifier: copy.name) TEMPLATE \(identifier: name)")
        do {
            let value = try await body(copy)
            try await copy.drop()
            return value
        } catch {
            try? await copy.drop()
            throw error
        }
    }

    func drop() async throws {
        // In a task of its own, so that a cancelled test drops its database too.
        try await Task {
            let admin = try await Connection.connect(ConnectionSettings(cluster.superuserConninfo()))
            defer { admin.close() }
            try await endSessions(by: admin)
            try await admin.execute("DROP DATABASE \(identifier: name) WITH (FORCE)")
        }.value
    }

    /// A backend goes a moment after its connection was closed; on a busy machine that is longer than the five seconds
    /// for which `WITH (FORCE)` waits.
    private func endSessions(by admin: Connection) async throws {
        try await admin.execute(
            """
            SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = \(name)
            """)
    }
}
