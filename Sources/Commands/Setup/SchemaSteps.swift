import Ledger

/// The database itself.
public struct DatabaseStep: SetupStep {
    public let name = "database"
    private let owner: OwnerAccess

    public init(_ owner: OwnerAccess) {
        self.owner = owner
    }

    /// The statement that creates it.
    public func missing() async throws -> [String] {
        let name = owner.database
        let isThere = try await owner.session(in: "postgres") { session async throws(LedgerError) in
            try await session.hasDatabase(name)
        }
        return isThere ? [] : ["CREATE DATABASE \(name) ENCODING 'UTF8' TEMPLATE template0"]
    }

    /// Creates it, in UTF-8.
    public func perform() async throws {
        let name = owner.database
        try await owner.session(in: "postgres") { session async throws(LedgerError) in
            try await session.createDatabase(name)
        }
    }
}

/// The schemas and tables.
public struct SchemaStep: SetupStep {
    public let name = "schema"
    private let owner: OwnerAccess

    public init(_ owner: OwnerAccess) {
        self.owner = owner
    }

    /// The migrations that it has not had.
    ///
    /// - Throws: what `checkSchema` does for a schema that this program can't bring up to date.
    public func missing() async throws -> [String] {
        guard try await DatabaseStep(owner).missing().isEmpty else { return Self.lines(Migration.all) }
        let state = try await owner.session { session async throws(LedgerError) in
            let state = try await session.schemaState()
            switch state {
            case .newer, .changed, .gap: try await session.checkSchema()
            case .missing:
                try await session.checkEncoding()
                try await session.checkNames()
            case .current, .older: break
            }
            return state
        }
        return switch state {
        case .missing: Self.lines(Migration.all)
        case .older(let pending): Self.lines(pending)
        case .current, .newer, .changed, .gap: []
        }
    }

    /// Runs these migrations.
    public func perform() async throws {
        try await owner.session { session async throws(LedgerError) in _ = try await session.migrate() }
    }

    private static func lines(_ pending: [Migration]) -> [String] {
        guard let first = pending.first?.fileName, let last = pending.last?.fileName else { return [] }
        return [pending.count == 1 ? "migration \(first)" : "\(pending.count) migrations, \(first) to \(last)"]
    }
}

/// The roles, each with just what it needs.
public struct RolesStep: SetupStep {
    public let name = "roles"
    private let owner: OwnerAccess

    public init(_ owner: OwnerAccess) {
        self.owner = owner
    }

    /// The file of roles, if one of them is not there, or lacks a right.
    public func missing() async throws -> [String] {
        let roles = LedgerRole.allCases.map(\.rawValue).joined(separator: ", ")
        let line = "sql/roles.sql: \(roles), each with just what it needs"
        guard try await SchemaStep(owner).missing().isEmpty else { return [line] }
        let isLacking = try await owner.session { session async throws(LedgerError) in try await session.lacksGrants() }
        return isLacking ? [line] : []
    }

    /// Creates the roles, and grants each what it needs.
    public func perform() async throws {
        try await owner.session { session async throws(LedgerError) in try await session.grantRoles() }
    }
}
