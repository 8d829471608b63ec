import PostgreSQL
import Reconciliation

/// A role that `sql/roles.sql` makes.
public enum LedgerRole: String, CaseIterable, Sendable {
    case job = "iap_job"
    case app = "iap_app"
    case support = "iap_support"
    case finance = "iap_finance"
    case privacy = "iap_privacy"
    case imports = "iap_import"
}

/// What whoever is logged in must be allowed to do, as sql/roles.sql grants it to a role.
extension LedgerSession {
    /// Checks that the login has every right of the job's, so that none is found missing in the middle of a night.
    ///
    /// - Throws: `LedgerError.forbidden` with what is missing.
    public func checkRights() async throws(LedgerError) {
        let missing = try await missingRights(of: .job)
        guard !missing.isEmpty else { return }
        let named = missing.prefix(Self.mostNamed).joined(separator: ", ")
        let others = missing.count - Self.mostNamed
        throw .forbidden("the role lacks \(named)\(others > 0 ? " and \(others.counted("other right"))" : "")")
    }

    private static let mostNamed = 10

    private static let grants = Grant.all(in: rolesScript) + Grant.temporaryTables

    /// What the role may do and the login may not, such as "UPDATE of state on iap.receipts". The schema must be
    /// current.
    public func missingRights(of role: LedgerRole) async throws(LedgerError) -> [String] {
        let grants = Self.grants.filter { $0.role == role.rawValue }
        let schemas = try await missing(grants.filter { $0.kind == .schema })
        // Without the schemas, nothing in them is even found.
        guard schemas.isEmpty else { return schemas }
        return try await missing(grants.filter { $0.kind != .schema })
    }

    private func missing(_ grants: [Grant]) async throws(LedgerError) -> [String] {
        try await translating {
            try await connection.query(
                """
                WITH granted (kind, privilege, column_name, object) AS (
                    SELECT *
                    FROM unnest(
                        \(grants.map(\.kind.rawValue))::text[], \(grants.map(\.privilege))::text[],
                        \(grants.map(\.column))::text[], \(grants.map(\.object))::text[])
                ), \(Self.grantable), looked_up (missing, is_granted) AS MATERIALIZED (
                    -- Otherwise the planner may ask a table about a right that only functions know.
                    \(Self.rights)
                )
                SELECT DISTINCT missing
                FROM looked_up
                WHERE NOT is_granted
                ORDER BY missing
                """
            ).map { try $0.decode("missing", as: String.self) }
        }
    }

    /// What the database has, by the names under which roles.sql grants rights on it.
    private static let grantable: SQL = """
        relations (oid, kind, schema, name) AS (
            SELECT pg_class.oid, relkind, nspname, nspname || '.' || relname
            FROM pg_class
            JOIN pg_namespace ON pg_namespace.oid = relnamespace
            WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
        ), functions (oid, schema, name) AS (
            SELECT pg_proc.oid, nspname, nspname || '.' || proname
            FROM pg_proc
            JOIN pg_namespace ON pg_namespace.oid = pronamespace
            WHERE nspname NOT IN ('pg_catalog', 'information_schema')
        )
        """

    /// Whether the login has each right of `granted`. Each kind of object is joined by an equality: to look at every
    /// pair of a grant and a function takes a night 70 ms.
    private static let rights: SQL = """
        SELECT 'USAGE on ' || object, has_schema_privilege(object, 'USAGE')
        FROM granted
        WHERE kind = 'schema'
        UNION ALL
        SELECT privilege || ' on ' || object, has_database_privilege(current_database(), privilege)
        FROM granted
        WHERE kind = 'database'
        UNION ALL
        SELECT privilege || ' on ' || name, has_table_privilege(oid, privilege)
        FROM granted
        JOIN relations ON name = object
        WHERE granted.kind = 'relation' AND column_name IS NULL
        UNION ALL
        SELECT privilege || ' on ' || name, has_table_privilege(oid, privilege)
        FROM granted
        JOIN relations ON schema = object
        WHERE granted.kind = 'every relation' AND column_name IS NULL AND relations.kind <> 'S'
        UNION ALL
        SELECT
            privilege || ' of ' || column_name || ' on ' || name,
            has_column_privilege(oid, column_name, privilege)
        FROM granted
        JOIN relations ON name = object
        WHERE column_name IS NOT NULL
        UNION ALL
        SELECT privilege || ' on ' || name, has_sequence_privilege(oid, privilege)
        FROM granted
        JOIN relations ON name = object
        WHERE granted.kind = 'sequence'
        UNION ALL
        SELECT privilege || ' on ' || name, has_function_privilege(oid, privilege)
        FROM granted
        JOIN functions ON name = object
        WHERE kind = 'function'
        UNION ALL
        SELECT privilege || ' on ' || oid::regprocedure, has_function_privilege(oid, privilege)
        FROM granted
        JOIN functions ON oid = to_regprocedure(object)
        WHERE kind = 'function' AND object LIKE '%(%'
        UNION ALL
        SELECT privilege || ' on ' || oid::regprocedure, has_function_privilege(oid, privilege)
        FROM granted
        JOIN functions ON schema = object
        WHERE kind = 'every function'
        """
}
